/* file_evidence.h - where the data files of a commit are, and whether they are there: what
 * conflict_check asks for with need.files. */
#ifndef LATCH_CATALOG_FILE_EVIDENCE_H
#define LATCH_CATALOG_FILE_EVIDENCE_H

#include "catalog/conflict.h"

struct file_layout {    /* of a table */
    str dir;            /* of the table, in its io */
    str path_directory; /* option data-file.path-directory; STR_NONE: not set */
    const str *partition_names;
    struct partition_naming naming;
};
/* The path of a data file that has no external path, in the context's arena. `p` is used. STR_NONE and
 * E_UNSUPPORTED: a partition value that has no text; E_INVAL: a name that is none; E_NOMEM. */
int table_file_path(struct ctx *cx, const struct file_layout *l, struct partitioner *p,
                    const struct table_file *f, str *ret) WARN_UNUSED;

/* Which io an external path is in, and its path there; false: in none (the rule path-outside has
 * spoken). `path` is as path_absolute gives it. */
typedef bool external_fn(void *arg, str path, struct io **ret_io, str *ret_path);

/* Looks at the files that the rules want, one for each of f->entries in *ret (the context's arena).
 * What the disk says of a file is evidence; E_NOMEM and E_TIMEOUT are errors. Blocks on the disk. */
int file_evidence_gather(struct ctx *cx, struct commit_facts *f, const struct conflict_rules *rules,
                         const struct file_layout *l, external_fn *external, void *arg,
                         struct file_evidence **ret) WARN_UNUSED;

#endif
