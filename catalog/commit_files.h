/* commit_files.h - where the files are that a commit names, and which of them are new with it: those must
 * be on disk before its snapshot is (commit.sync). */
#ifndef LATCH_CATALOG_COMMIT_FILES_H
#define LATCH_CATALOG_COMMIT_FILES_H

#include "catalog/catalog_int.h"

struct new_files { /* in the context's arena; paths are below their io */
    str *own;      /* in the table's io */
    size_t n_own;
    struct {
        struct io *io;
        str path;
    } * elsewhere; /* external paths */
    size_t n_elsewhere;
};
enum {
    NEW_DATA = 1, /* the data files, too */
    NEW_SKIP_ODD =
        2, /* what has no path, a name with a slash, is left out, not an error: of others' commits */
};
/* Lists, manifests, index files and statistics that `s` names and the head does not. `st` is the state at
 * the head: NULL: not known, then nothing that an index manifest names is left out. Pure but for memory. */
int commit_new_files(struct ctx *cx, struct branch *br, const struct table_traits *traits,
                     const struct snapshot *s, struct commit_facts *f, const struct table_state *st,
                     unsigned what, struct new_files *ret) WARN_UNUSED;

/* What conflict_check may know of the table; roots are in the context's arena. */
int branch_rules(struct ctx *cx, struct branch *br, const struct table_traits *traits,
                 struct conflict_rules *ret) WARN_UNUSED;
/* Are the data files there that the commit adds? See file_evidence_gather. (any thread that may block) */
int branch_file_evidence(struct ctx *cx, struct branch *br, const struct table_traits *traits,
                         struct commit_facts *f, struct file_evidence **ret) WARN_UNUSED;

#endif
