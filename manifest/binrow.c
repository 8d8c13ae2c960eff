/* binrow.c - reading rows (see binrow.h); binrow_write.c and binrow_order.c do the rest.
 *
 * Source of the format: paimon-common BinaryRow, AbstractBinaryWriter and MemorySegmentUtils;
 * pypaimon's generic_row.py for what it does otherwise.
 *
 * The reader trusts no byte: each item must lie in the variable part, and all items together may not
 * be longer than it, so that rows whose fields share bytes cannot grow when they are written again.
 * What Java would throw at, or silently read as null (a decimal of too many digits), is E_CORRUPT. No
 * state; any thread. */
#include <stdarg.h>

#include "manifest/binrow_int.h"

#define NS_OF_MS 1000000

enum binrow_tag binrow_tag_of(const struct data_type *t)
{
    switch (t->kind) {
    case TYPE_BOOLEAN:
        return BV_BOOL;
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
    case TYPE_INT:
    case TYPE_BIGINT:
    case TYPE_DATE:
    case TYPE_TIME:
        return BV_INT;
    case TYPE_FLOAT:
        return BV_FLOAT;
    case TYPE_DOUBLE:
        return BV_DOUBLE;
    case TYPE_DECIMAL:
        return BV_DECIMAL;
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return BV_TIMESTAMP;
    case TYPE_VARIANT:
        return BV_VARIANT;
    case TYPE_ARRAY:
    case TYPE_VECTOR:
    case TYPE_MULTISET:
    case TYPE_MAP:
    case TYPE_ROW:
        return BV_NESTED;
    default:
        return BV_BYTES;
    }
}

struct reader {
    struct ctx *cx;
    str image;
    size_t fixed; /* where the variable part begins */
    size_t left;  /* bytes that items may still have */
};

/* Bytes in messages are those of the serialized row. Ends in the code itself, for static checkers. */
#define CORRUPT(r, at, ...) ctx_code(corrupt((r)->cx, (at), __VA_ARGS__), E_CORRUPT)

PRINTF(3, 4) static int corrupt(struct ctx *cx, size_t at, const char *fmt, ...)
{
    char what[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "BinaryRow, byte %zu: %s", ARITY_SIZE + at,
                    what);
}

/* An item of the variable part. */
static int item(struct reader *r, size_t slot, size_t off, size_t len, str *ret)
{
    size_t size = r->image.len;
    if (off < r->fixed || off > size || len > size - off)
        return CORRUPT(r, slot, "an item at %zu of %zu bytes lies outside of %zu..%zu", off, len,
                       r->fixed, size);
    if (len > r->left)
        return CORRUPT(r, slot, "the items are longer together than the row");
    r->left -= len;
    *ret = str_n(r->image.p + off, len);
    return 0;
}

static int read_bytes(struct reader *r, size_t at, str *ret)
{
    uint64_t slot = binrow_load_le(r->image.p + at, SLOT);
    size_t len = (size_t)(slot >> 56 & 0x7f);
    if (!(slot >> 63))
        return item(r, at, (size_t)(slot >> 32), (size_t)(slot & UINT32_MAX), ret);
    if (len > INLINE_MAX)
        return CORRUPT(r, at, "a text of %zu bytes does not fit into its slot", len);
    *ret = str_n(r->image.p + at, len);
    return 0;
}

static int read_item(struct reader *r, size_t at, str *ret)
{
    uint64_t slot = binrow_load_le(r->image.p + at, SLOT);
    return item(r, at, (size_t)(slot >> 32), (size_t)(slot & UINT32_MAX), ret);
}

static __int128 power_of_ten(int32_t n)
{
    __int128 v = 1;
    while (n-- > 0)
        v *= 10;
    return v;
}

static int read_decimal(struct reader *r, const struct data_type *t, size_t at, __int128 *ret)
{
    __int128 v = (int64_t)binrow_load_le(r->image.p + at, SLOT), top = power_of_ten(t->precision);
    if (t->precision > DECIMAL_SMALL) {
        str b;
        TRY(read_item(r, at, &b));
        if (b.len == 0 || b.len > DECIMAL_SLOT)
            return CORRUPT(r, at, "a decimal of %zu bytes", b.len);
        unsigned __int128 u = b.p[0] < 0 ? ~(unsigned __int128)0 : 0;
        for (size_t i = 0; i < b.len; i++)
            u = u << 8 | (unsigned char)b.p[i];
        v = (__int128)u;
    }
    if (v <= -top || v >= top)
        return CORRUPT(r, at, "a decimal of more than %d digits", t->precision);
    *ret = v;
    return 0;
}

static int read_timestamp(struct reader *r, const struct data_type *t, size_t at,
                          struct binrow_value *ret)
{
    uint64_t slot = binrow_load_le(r->image.p + at, SLOT);
    ret->ts.ms = (int64_t)slot;
    ret->ts.ns = 0;
    if (t->precision <= STAMP_SMALL)
        return 0;
    str b;
    TRY(item(r, at, (size_t)(slot >> 32), SLOT, &b));
    if ((slot & UINT32_MAX) >= NS_OF_MS)
        return CORRUPT(r, at, "a timestamp with %u ns in a millisecond",
                       (unsigned)(slot & UINT32_MAX));
    ret->ts.ms = (int64_t)binrow_load_le(b.p, SLOT);
    ret->ts.ns = (int32_t)(slot & UINT32_MAX);
    return 0;
}

static int read_variant(struct reader *r, size_t at, struct binrow_value *ret)
{
    str b;
    TRY(read_item(r, at, &b));
    size_t value = b.len >= 4 ? (size_t)binrow_load_le(b.p, 4) : SIZE_MAX;
    if (b.len < 4 || value > b.len - 4)
        return CORRUPT(r, at, "a variant whose value is longer than itself");
    ret->variant.value = str_n(b.p + 4, value);
    ret->variant.metadata = str_cut(b, 4 + value);
    return 0;
}

static int64_t sign_extend(uint64_t v, size_t width)
{
    unsigned unused = (unsigned)(64 - 8 * width);
    return (int64_t)(v << unused) >> unused;
}

static void read_real(const char *p, bool single, struct binrow_value *ret)
{
    if (single) {
        uint32_t bits = (uint32_t)binrow_load_le(p, 4);
        memcpy(&ret->f, &bits, sizeof ret->f);
        if (ret->f != ret->f) {
            bits = NAN_FLOAT;
            memcpy(&ret->f, &bits, sizeof ret->f);
        }
    } else {
        uint64_t bits = binrow_load_le(p, 8);
        memcpy(&ret->d, &bits, sizeof ret->d);
        if (ret->d != ret->d) {
            bits = NAN_DOUBLE;
            memcpy(&ret->d, &bits, sizeof ret->d);
        }
    }
}

static int read_value(struct reader *r, const struct data_type *t, size_t at,
                      struct binrow_value *ret)
{
    ret->tag = binrow_tag_of(t);
    switch (ret->tag) {
    case BV_BOOL:
        ret->b = r->image.p[at] != 0;
        return 0;
    case BV_INT:
        ret->i = sign_extend(binrow_load_le(r->image.p + at, SLOT), binrow_int_width(t->kind));
        return 0;
    case BV_FLOAT:
    case BV_DOUBLE:
        read_real(r->image.p + at, ret->tag == BV_FLOAT, ret);
        return 0;
    case BV_DECIMAL:
        return read_decimal(r, t, at, &ret->dec);
    case BV_TIMESTAMP:
        return read_timestamp(r, t, at, ret);
    case BV_BYTES:
        return read_bytes(r, at, &ret->bytes);
    case BV_VARIANT:
        return read_variant(r, at, ret);
    default:
        return read_item(r, at, &ret->bytes);
    }
}

int binrow_arity(struct ctx *cx, str row, size_t *ret_n)
{
    if (row.len < ARITY_SIZE + SLOT)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "a BinaryRow of %zu bytes; the shortest one has %d", row.len,
                        ARITY_SIZE + SLOT);
    size_t n = 0;
    for (size_t i = 0; i < ARITY_SIZE; i++)
        n = n << 8 | (unsigned char)row.p[i];
    if (n > INT32_MAX || binrow_fixed_size(n) > row.len - ARITY_SIZE)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "a BinaryRow of %zu bytes cannot hold the %zu fields it names", row.len, n);
    *ret_n = n;
    return 0;
}

int binrow_read(struct ctx *cx, const struct binrow_type *t, str row,
                struct binrow_value *ret_values)
{
    size_t n = 0;
    TRY(binrow_arity(cx, row, &n));
    if (n != t->n)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "a BinaryRow of %zu fields where %zu are expected", n, t->n);
    str image = str_cut(row, ARITY_SIZE);
    size_t fixed = binrow_fixed_size(n), slots = binrow_null_bytes(n);
    struct reader r = {.cx = cx, .image = image, .fixed = fixed, .left = image.len - fixed};
    for (size_t i = 0; i < n; i++) {
        struct binrow_value v = {.tag = BV_NULL};
        size_t bit = i + 8;
        if (!(image.p[bit / 8] >> (bit % 8) & 1))
            TRY(read_value(&r, t->types[i], slots + i * SLOT, &v));
        ret_values[i] = v;
    }
    return 0;
}
