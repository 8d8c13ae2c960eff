/* binrow_int.h - what reading, writing and hashing a row share. */
#ifndef LATCH_MANIFEST_BINROW_INT_H
#define LATCH_MANIFEST_BINROW_INT_H

#include "manifest/binrow.h"

#define SLOT          8
#define ARITY_SIZE    4
#define INLINE_MAX    7           /* longer texts go to the variable part */
#define DECIMAL_SLOT  16          /* always reserved for a big decimal */
#define DECIMAL_SMALL 18          /* up to so many digits a decimal is a long */
#define STAMP_SMALL   3           /* up to this precision a timestamp is milliseconds */
#define NAN_FLOAT     0x7fc00000u /* the one NaN that is written and hashed */
#define NAN_DOUBLE    0x7ff8000000000000ull

static inline size_t binrow_null_bytes(size_t n)
{
    return (n + 63 + 8) / 64 * 8;
}

static inline size_t binrow_fixed_size(size_t n)
{
    return binrow_null_bytes(n) + n * SLOT;
}

static inline uint64_t binrow_load_le(const char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)(unsigned char)p[i] << (8 * i);
    return v;
}

/* Bytes of a number that fills the low end of its slot. */
static inline size_t binrow_int_width(enum type_kind k)
{
    switch (k) {
    case TYPE_TINYINT:
        return 1;
    case TYPE_SMALLINT:
        return 2;
    case TYPE_BIGINT:
        return 8;
    default:
        return 4;
    }
}

#endif
