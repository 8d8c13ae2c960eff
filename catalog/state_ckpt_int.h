/* state_ckpt_int.h - the format of a checkpoint, between those who write and read it.
 *
 *   struct ckpt_fixed
 *   texts       users, parts of names, partitions: how many numbers, each its text or none
 *   buckets     how many, each: number of the partition, bucket, how many files, the files:
 *               id (8 bytes), length and body of the packed record (state_record.c)
 *   gone        how many, oldest first, each: place (8 bytes), snapshot, number of the user + 1
 *   manifests   how many, each: name, size, added, deleted, sum (8 bytes)
 *   index set   table_index_save.c
 *
 * Numbers are of variable length, 7 bits a byte, signed ones as zigzag; a text is its length and its
 * bytes, one that may be absent its length + 1 or 0. What has a fixed length is in the order of the
 * machine: a file from another kind of machine has another version. */
#ifndef LATCH_CATALOG_STATE_CKPT_INT_H
#define LATCH_CATALOG_STATE_CKPT_INT_H

#include <stddef.h>

#include "proto/base/buf.h"
#include "proto/base/ctx.h"

#define CKPT_MAGIC   "latch-st"
#define CKPT_VERSION 1

struct ckpt_fixed {
    char magic[8];
    uint64_t version, length; /* of the file */
    uint64_t check;           /* hash64 of all that follows */
    int64_t epoch, snapshot_id;
    uint64_t text_hash, opts;
    int64_t schema_id, total_records, has_next_row_id, next_row_id;
    uint64_t files, rows, size, live_sum;
};
_Static_assert(sizeof(struct ckpt_fixed) == 16 * 8, "no holes");
#define CKPT_CHECKED (offsetof(struct ckpt_fixed, check) + sizeof(uint64_t)) /* from here on */

/* Sets magic, version, length and check; n is at least a ckpt_fixed. */
void ckpt_seal(char *p, size_t n);
struct state_opts;
uint64_t ckpt_opts_hash(const struct state_opts *o); /* of what a state depends on */

/* --- writing: room is reserved first, then put without asking --------------------------------- */

#define CKPT_VARINT 10

static inline char *ckpt_put_u(char *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (char)(v | 0x80);
    *p++ = (char)v;
    return p;
}
static inline char *ckpt_put_i(char *p, int64_t v)
{
    return ckpt_put_u(p, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}
static inline char *ckpt_put_u64(char *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}
static inline char *ckpt_put_bytes(char *p, const void *v, size_t n)
{
    if (n)
        memcpy(p, v, n);
    return p + n;
}
/* Where n more bytes fit; NULL: the buffer has failed. */
static inline char *ckpt_room(struct buf *b, size_t n)
{
    return buf_reserve(b, n) < 0 ? NULL : b->p + b->len;
}
static inline void ckpt_upto(struct buf *b, const char *p)
{
    b->len = (size_t)(p - b->p);
}
void ckpt_add_u(struct buf *b, uint64_t v);
void ckpt_add_i(struct buf *b, int64_t v);
void ckpt_add_u64(struct buf *b, uint64_t v);
void ckpt_add_str(struct buf *b, str s); /* may be absent */

/* --- reading: what is wrong sticks ------------------------------------------------------------ */

struct ckpt_in {
    const unsigned char *at, *end;
    bool bad;
};

static inline uint64_t ckpt_u(struct ckpt_in *in)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70 && in->at < in->end; shift += 7) {
        unsigned char c = *in->at++;
        if (shift == 63 && c > 1)
            break;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80))
            return v;
    }
    in->bad = true;
    return 0;
}
static inline int64_t ckpt_i(struct ckpt_in *in)
{
    uint64_t v = ckpt_u(in);
    return (int64_t)(v >> 1 ^ -(v & 1));
}
static inline int32_t ckpt_i32(struct ckpt_in *in)
{
    int64_t v = ckpt_i(in);
    in->bad = in->bad || v < INT32_MIN || v > INT32_MAX;
    return (int32_t)v;
}
/* A number of at most max. */
static inline uint64_t ckpt_max(struct ckpt_in *in, uint64_t max)
{
    uint64_t v = ckpt_u(in);
    in->bad = in->bad || v > max;
    return in->bad ? 0 : v;
}
static inline uint64_t ckpt_u64(struct ckpt_in *in)
{
    uint64_t v = 0;
    if ((size_t)(in->end - in->at) < sizeof v) {
        in->bad = true;
        return 0;
    }
    memcpy(&v, in->at, sizeof v);
    in->at += sizeof v;
    return v;
}
str ckpt_bytes(struct ckpt_in *in, size_t n);
str ckpt_str(struct ckpt_in *in); /* may be absent */
/* How many things follow, each of at least `each` bytes. */
size_t ckpt_count(struct ckpt_in *in, size_t each);

#endif
