/* dv.h - deletion vectors: which rows of a data file are deleted, and the index files that hold them.
 *
 * An index file is one byte 1, then blocks [int32 big endian size][payload][CRC-32 of the payload, big
 * endian]. A payload is one of
 *   V1  magic 5e43f2d0 + a Roaring bitmap in its portable form; positions up to 2^31-1
 *   V2  magic d1d33964 + int64 count + count * (int32 high word, Roaring bitmap), little endian
 * The index manifest says where a block is; its length is `size` for V1 and `size + 8` for V2. A file
 * may hold blocks of both. A file without vectors is that one byte.
 *
 * Bytes are checked whole before CRoaring sees them: CRC, every container's bounds, order and count.
 * Errors are E_CORRUPT (with the byte where), E_NOMEM, E_TOOBIG, E_UNSUPPORTED.
 *
 * A dv is owned by who made it (dv_free). Reading one from many threads is fine, changing it is not.
 * Nothing here blocks. CRoaring allocates on its own, not through mem.h, and does not survive a failed
 * allocation in all places: bound what is read (a vector takes about its payload's size). */
#ifndef LATCH_MANIFEST_DV_H
#define LATCH_MANIFEST_DV_H

#include "proto/base/buf.h"
#include "proto/base/ctx.h"

enum dv_version { DV_V1 = 1, DV_V2 = 2 };

#define DV_V1_POSITION_MAX ((uint64_t)INT32_MAX)
/* As in Java: high words up to 2^31-2. */
#define DV_POSITION_MAX (((uint64_t)(INT32_MAX - 1) << 32) | 0x80000000u)

struct dv;

/* Where a block is, as an index manifest has it. */
struct dv_range {
    int32_t offset, length;
    int64_t cardinality; /* -1: not said */
};

struct dv *dv_new(void); /* empty; NULL: no memory */
void dv_free(struct dv *dv);
static inline void dv_freep(struct dv **dv)
{
    dv_free(*dv);
}
int dv_add(struct dv *dv, uint64_t position) WARN_UNUSED; /* E_NOMEM; E_INVAL above the maximum */
int dv_or(struct dv *dv, const struct dv *other) WARN_UNUSED; /* dv becomes the union */

uint64_t dv_cardinality(const struct dv *dv);
bool dv_contains(const struct dv *dv, uint64_t position);
/* Is every position of a in b? "No position was lost" is dv_subset(before, after). */
bool dv_subset(const struct dv *a, const struct dv *b);
bool dv_equal(const struct dv *a, const struct dv *b);
/* The first position of `before` that `after` has not; false: there is none. *ret_n (may be NULL) is
 * how many there are. */
bool dv_lost(const struct dv *before, const struct dv *after, uint64_t *ret_first, uint64_t *ret_n);
/* Up to `cap` positions from `from` on, ascending; returns how many. Go on from the last one + 1. */
size_t dv_positions(const struct dv *dv, uint64_t from, uint64_t *ret, size_t cap);

/* The vector at a range of an index file. `bytes` is a part of the file that begins at byte `at` of it
 * and reaches to offset + length + 8 or to its end. `name` is for messages. A cardinality that the
 * range names must be right. */
int dv_read(struct ctx *cx, str name, str bytes, uint64_t at, const struct dv_range *range,
            struct dv **ret) WARN_UNUSED;
/* Is it an index file at all? (its first byte) */
int dv_file_check(struct ctx *cx, str name, str file) WARN_UNUSED;
/* Walks a whole file: *at starts at 0; 1: one more vector, which the caller owns, and its range; 0: the
 * end. */
int dv_file_next(struct ctx *cx, str name, str file, size_t *at, struct dv_range *ret_range,
                 struct dv **ret) WARN_UNUSED;

/* Writes an index file: dv_file_begin, then a vector after the other, the bytes as Java writes them
 * (run-length encoded where that is shorter; a V2 vector has no empty bitmaps for unused high words).
 * E_UNSUPPORTED: a position that V1 cannot hold; E_TOOBIG: past what an offset can say. `b` holds
 * nothing but the file. */
void dv_file_begin(struct buf *b);
int dv_file_add(struct ctx *cx, struct buf *b, const struct dv *dv, enum dv_version version,
                struct dv_range *ret) WARN_UNUSED;

#endif
