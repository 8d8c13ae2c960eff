/* native_files.h - the files that a native commit names, as entries of manifests and index manifests.
 *
 * What depends on the head of the branch is not decided here: DELETE entries are made from the table's state
 * on the commit's turn (native_gone_entry), as are sequence numbers and row ids that Paimon assigns. */
#ifndef LATCH_CATALOG_NATIVE_FILES_H
#define LATCH_CATALOG_NATIVE_FILES_H

#include "catalog/catalog_int.h"
#include "manifest/index_manifest.h"
#include "proto/api/api_native.h"

struct native_place { /* of a file that goes */
    str partition;    /* a row, as Java would write it */
    int32_t bucket;
    str name;
};
struct native_files { /* in the context's arena */
    struct manifest_entry *add, *changelog;
    struct native_place *gone, *index_gone;
    struct index_entry *index_add;
    size_t n_add, n_changelog, n_gone, n_index_gone, n_index_add;
};
/* E_INVAL names the member. Reads schema files when statistics are of older schemas. (any thread that may
 * block) */
int native_files_of(struct ctx *cx, struct branch *br, const struct table_traits *t,
                    const struct api_native *in, struct native_files *ret) WARN_UNUSED;

/* The DELETE entry of a live file. It borrows from f. What a state does not keep is left out: statistics,
 * and an embedded index, which is part of the file's identity: see whether the ids are the same. */
int native_gone_entry(struct ctx *cx, const struct table_traits *t, const struct table_file *f,
                      struct manifest_entry *ret) WARN_UNUSED;
/* The columns of the key that files are sorted by: primary keys that are no partition keys. n = 0: an append
 * table. In the context's arena. */
int native_key_columns(struct ctx *cx, const struct table_traits *t, struct binrow_type *ret,
                       const str **ret_names) WARN_UNUSED;

#endif
