/* binrow_order.c - comparing and hashing rows (see binrow.h).
 *
 * Source: Paimon's generated key comparators (nulls first, Float.compare and Double.compare, unsigned
 * bytes), MurmurHashUtils. No state; any thread. */
#include "manifest/binrow_int.h"
#include "proto/base/assert.h"
#include "proto/base/hash.h"

#define CMP(a, b) (((a) > (b)) - ((a) < (b)))

/* Java's Double.compare: what < and > leave open is decided by the bits. */
static int cmp_real(double a, double b)
{
    int64_t x, y;
    if (a < b)
        return -1;
    if (a > b)
        return 1;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x = a != a ? (int64_t)NAN_DOUBLE : x;
    y = b != b ? (int64_t)NAN_DOUBLE : y;
    return CMP(x, y);
}

int binrow_cmp_value(const struct binrow_value *a, const struct binrow_value *b)
{
    int c;
    if (a->tag == BV_NULL || b->tag == BV_NULL)
        return (a->tag != BV_NULL) - (b->tag != BV_NULL);
    ASSERT(a->tag == b->tag);
    switch (a->tag) {
    case BV_BOOL:
        return CMP(a->b, b->b);
    case BV_INT:
        return CMP(a->i, b->i);
    case BV_FLOAT:
        return cmp_real((double)a->f, (double)b->f);
    case BV_DOUBLE:
        return cmp_real(a->d, b->d);
    case BV_DECIMAL:
        return CMP(a->dec, b->dec);
    case BV_TIMESTAMP:
        c = CMP(a->ts.ms, b->ts.ms);
        return c ? c : CMP(a->ts.ns, b->ts.ns);
    case BV_VARIANT:
        c = str_cmp(a->variant.value, b->variant.value);
        return c ? c : str_cmp(a->variant.metadata, b->variant.metadata);
    default:
        return str_cmp(a->bytes, b->bytes);
    }
}

int binrow_cmp(const struct binrow_value *a, const struct binrow_value *b, size_t n)
{
    int c = 0;
    for (size_t i = 0; i < n && c == 0; i++)
        c = binrow_cmp_value(&a[i], &b[i]);
    return c;
}

int binrow_same(struct ctx *cx, const struct binrow_type *t, str a, str b, bool *ret)
{
    if (str_eq(a, b)) {
        *ret = true;
        return 0;
    }
    struct binrow_value *v = ARENA_ARRAY(&cx->arena, struct binrow_value, 2 * t->n + 1);
    if (!v)
        return ctx_nomem(cx);
    TRY(binrow_read(cx, t, a, v));
    TRY(binrow_read(cx, t, b, v + t->n));
    *ret = binrow_cmp(v, v + t->n, t->n) == 0;
    return 0;
}

int binrow_hash(const struct binrow_type *t, const struct binrow_value *v, struct buf *scratch,
                uint64_t *ret)
{
    buf_clear(scratch);
    binrow_write_image(scratch, t, v, BINROW_JAVA);
    TRY(buf_fail(scratch));
    *ret = hash64(scratch->p, scratch->len);
    return 0;
}

static uint32_t rotl(uint32_t v, int n)
{
    return v << n | v >> (32 - n);
}

uint32_t binrow_murmur(str image)
{
    uint32_t h = 42;
    for (size_t i = 0; i + 4 <= image.len; i += 4) {
        uint32_t k = (uint32_t)binrow_load_le(image.p + i, 4);
        h ^= rotl(k * 0xcc9e2d51u, 15) * 0x1b873593u;
        h = rotl(h, 13) * 5 + 0xe6546b64u;
    }
    h ^= (uint32_t)image.len;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}
