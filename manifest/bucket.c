/* bucket.c - see bucket.h.
 *
 * Source: paimon-core DefaultBucketFunction, ModBucketFunction, HiveBucketFunction and HiveHasher;
 * java.math.BigDecimal.hashCode for decimals. All of Java's int arithmetic wraps, so it is done on
 * uint32_t here. No state; any thread. */
#include "manifest/bucket.h"

#include "proto/base/assert.h"

static int32_t floor_mod(int64_t v, int32_t n)
{
    int64_t m = v % n;
    return (int32_t)(m < 0 ? m + n : m);
}

static uint32_t hash_long(uint64_t v)
{
    return (uint32_t)(v ^ v >> 32);
}

static uint32_t hash_bytes(str s)
{
    uint32_t h = 0;
    for (size_t i = 0; i < s.len; i++) {
        uint32_t c = (unsigned char)s.p[i];
        h = h * 31 + c - (c > 127 ? 256 : 0); /* a byte of Java is signed */
    }
    return h;
}

static uint32_t hash_real(const struct binrow_value *v)
{
    uint64_t wide;
    uint32_t narrow;
    if (v->tag == BV_FLOAT) {
        if (v->f == 0)
            return 0;
        memcpy(&narrow, &v->f, sizeof narrow);
        return v->f != v->f ? 0x7fc00000u : narrow;
    }
    if (v->d == 0)
        return 0;
    memcpy(&wide, &v->d, sizeof wide);
    return hash_long(v->d != v->d ? 0x7ff8000000000000ull : wide);
}

/* BigDecimal.hashCode of the number without zeros at the end of its fraction. */
static uint32_t hash_decimal(__int128 v, int32_t scale)
{
    unsigned __int128 mag = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    uint32_t h = 0;
    if (mag == 0)
        return 0;
    for (; scale > 0 && mag % 10 == 0; scale--)
        mag /= 10;
    for (int shift = 96; shift >= 0; shift -= 32)
        h = h * 31 + (uint32_t)(mag >> shift);
    return 31 * (v < 0 ? -h : h) + (uint32_t)scale;
}

static int hive_field(struct ctx *cx, const struct data_type *t, const struct binrow_value *v,
                      uint32_t *ret)
{
    switch (v->tag) {
    case BV_NULL:
        *ret = 0;
        return 0;
    case BV_BOOL:
        *ret = v->b;
        return 0;
    case BV_INT:
        *ret = t->kind == TYPE_BIGINT ? hash_long((uint64_t)v->i) : (uint32_t)v->i;
        return 0;
    case BV_FLOAT:
    case BV_DOUBLE:
        *ret = hash_real(v);
        return 0;
    case BV_DECIMAL:
        *ret = hash_decimal(v->dec, t->scale);
        return 0;
    case BV_BYTES:
        *ret = hash_bytes(v->bytes);
        return 0;
    default:
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "bucket-function.type hive takes no bucket key of type %s",
                        types_kind_name(t->kind));
    }
}

static int hive(struct ctx *cx, const struct binrow_type *t, const struct binrow_value *v,
                int32_t n_buckets, int32_t *ret)
{
    uint32_t h = 0, one = 0;
    for (size_t i = 0; i < t->n; i++) {
        TRY(hive_field(cx, t->types[i], &v[i], &one));
        h = h * 31 + one;
    }
    *ret = (int32_t)(h & INT32_MAX) % n_buckets;
    return 0;
}

static int mod(struct ctx *cx, const struct binrow_type *t, const struct binrow_value *v,
               int32_t n_buckets, int32_t *ret)
{
    if (t->n != 1 || (t->types[0]->kind != TYPE_INT && t->types[0]->kind != TYPE_BIGINT))
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "bucket-function.type mod takes one bucket key of type INT or BIGINT");
    *ret = v[0].tag == BV_NULL ? 0 : floor_mod(v[0].i, n_buckets);
    return 0;
}

int bucket_of(struct ctx *cx, enum bucket_function f, const struct binrow_type *t,
              const struct binrow_value *v, int32_t n_buckets, enum binrow_form form,
              struct buf *scratch, int32_t *ret)
{
    ASSERT(n_buckets > 0);
    if (f == BUCKET_MOD)
        return mod(cx, t, v, n_buckets, ret);
    if (f == BUCKET_HIVE)
        return hive(cx, t, v, n_buckets, ret);
    buf_clear(scratch);
    binrow_write_image(scratch, t, v, form);
    if (buf_fail(scratch))
        return ctx_fail(cx, buf_fail(scratch), RES_NONE, STR_NONE,
                        "no room for the image of a bucket key");
    int32_t r = (int32_t)binrow_murmur(buf_str(scratch)) % n_buckets;
    *ret = r < 0 ? -r : r;
    return 0;
}
