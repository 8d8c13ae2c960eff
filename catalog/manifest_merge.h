/* manifest_merge.h - many manifests into fewer, by Paimon's rules: what a commit does with those that
 * its base had, before it writes its base list.
 *
 * An ADD and the DELETE of the same file go away together; a DELETE whose ADD is in none of the
 * manifests that are merged stays. What is live, and the sum of a state's manifests (table_state.h),
 * are the same before and after. These block on the disk. */
#ifndef LATCH_CATALOG_MANIFEST_MERGE_H
#define LATCH_CATALOG_MANIFEST_MERGE_H

#include "catalog/meta_write.h"

/* Upkeep, for tables whose writers never merge. */
#define MERGE_MANIFESTS_MAX 500 /* more than this, */
#define MERGE_SMALL_MAX     30  /* or so many below the target size, */
#define MERGE_WORTH         15  /* if there would be so many fewer */

struct merge_opts {
    int64_t min_count; /* manifest.merge-min-count */
    int64_t full_size; /* manifest.full-compaction-threshold-size */
    bool row_ids;      /* the table has row tracking */
    size_t max_bytes;  /* of memory for the files that are deleted; what needs more is not merged */
};
/* min_count and full_size as a table's options say; the rest is left alone. E_INVAL. */
int merge_options(struct ctx *cx, const struct kv_list *options,
                  struct merge_opts *ret) WARN_UNUSED;

/* `in` is what the base and the delta list of a snapshot name, in that order. *ret is what its
 * successor's base list is to name: entries of `in` as they are, and new ones, whose files are in the
 * writer's names; in the context's arena. What cannot be merged (see max_bytes; entries that cancel in
 * no order that Paimon knows) stays as it was. E_CORRUPT: a manifest is missing or damaged; E_IO,
 * E_NOMEM, E_BUSY, E_TIMEOUT; then all that it wrote is gone again. */
int manifest_merge(struct ctx *cx, struct meta_writer *w, const struct merge_opts *o,
                   const struct manifest_file *in, size_t n, struct manifest_file **ret,
                   size_t *ret_n) WARN_UNUSED;

/* Is it time, and is it worth a snapshot of its own? Pure. Once merged the answer is no, however large
 * the table is. */
bool manifest_merge_due(const struct merge_opts *o, int64_t target_size,
                        const struct manifest_file *in, size_t n);

#endif
