/* hashindex.h - HASH index files: the hashes of the keys that a dynamic bucket holds.
 *
 * A file is int32s, big endian, in no order, each once as Java writes it (repeated ones are taken). A
 * new file replaces the old one whole, so a hash that is missing from it was lost. Source: paimon-core
 * HashIndexFile and IntFileUtils. The hash of a key is binrow_murmur of its image.
 *
 * Owned by who loaded it; reading from many threads is fine. Nothing here blocks. */
#ifndef LATCH_MANIFEST_HASHINDEX_H
#define LATCH_MANIFEST_HASHINDEX_H

#include "proto/base/buf.h"
#include "proto/base/ctx.h"

struct hashindex {
    uint32_t *v; /* as unsigned numbers, ascending, each once */
    size_t n;
};

/* E_CORRUPT: not a whole number of int32s; or `row_count` (-1: not said) is not how many there are.
 * E_NOMEM. Takes twice the size of the file while it loads. */
int hashindex_load(struct ctx *cx, str name, str file, int64_t row_count,
                   struct hashindex *ret) WARN_UNUSED;
void hashindex_done(struct hashindex *h);
bool hashindex_contains(const struct hashindex *h, uint32_t hash);
/* Is every hash of a in b? If not, one that is not goes to *ret_missing (may be NULL). */
bool hashindex_subset(const struct hashindex *a, const struct hashindex *b, uint32_t *ret_missing);
void hashindex_write(struct buf *b, const struct hashindex *h);

#endif
