/* head_lists.h - which manifests the snapshot at the head names: its base list, then its delta list, read.
 *
 * A native commit needs them to write its own base list. They are read off the strand; after a commit of
 * ours the branch keeps them, so that a burst of such commits reads no list. */
#ifndef LATCH_CATALOG_HEAD_LISTS_H
#define LATCH_CATALOG_HEAD_LISTS_H

#include "catalog/catalog_int.h"

struct head_lists {
    uint64_t text; /* of the head that they are of, see head_text */
    struct ctx own;
    struct manifest_file *files; /* in own, with all that they point to */
    size_t n, cap;
};
/* NULL h: no snapshot, no manifests. E_CORRUPT names the file. (any thread that may block) */
int head_lists_read(struct ctx *cx, struct branch *br, const struct head *h,
                    struct head_lists **ret) WARN_UNUSED;
void head_lists_free(struct head_lists *l); /* NULL is fine */
static inline void head_lists_freep(struct head_lists **l)
{
    head_lists_free(*l);
}

/* Those that the branch keeps for its head; NULL: none. (strand) */
const struct head_lists *branch_lists(const struct branch *br);
/* The head is one of ours now: what it names is `base`, then `delta`. `before` was the head's text until
 * then. Best effort. (strand) */
void branch_lists_forward(struct branch *br, uint64_t before, const struct manifest_file *base,
                          size_t n_base, const struct manifest_file *delta, size_t n_delta);
void branch_lists_drop(struct branch *br); /* (strand, or nobody holds it) */

#endif
