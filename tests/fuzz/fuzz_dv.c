/* fuzz_dv.c - any bytes as an index file of deletion vectors. As they are, checksums seldom fit, so the
 * bytes are also taken as one payload in a block made around them. What is taken keeps its promises and
 * is written and read back as the same. */
#include "manifest/crc32.h"
#include "manifest/dv.h"
#include "proto/base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_be(struct buf *b, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_addc(b, (char)(v >> shift));
}

static void write_again(struct ctx *cx, const struct dv *dv)
{
    for (enum dv_version version = DV_V1; version <= DV_V2; version++) {
        CLEANUP(dv_freep) struct dv *back = NULL;
        struct buf b = {0};
        struct dv_range r;
        dv_file_begin(&b);
        int rc = dv_file_add(cx, &b, dv, version, &r);
        ASSERT(rc == 0 || (rc == E_UNSUPPORTED && version == DV_V1));
        if (rc == 0) {
            ASSERT(dv_read(cx, STR_LIT("again"), buf_str(&b), 0, &r, &back) == 0);
            ASSERT(dv_equal(dv, back));
        }
        buf_done(&b);
    }
}

static void check(struct ctx *cx, struct dv *dv)
{
    CLEANUP(dv_freep) struct dv *less = dv_new();
    uint64_t at[64], first = 0, lost = 0;
    size_t n = dv_positions(dv, 0, at, 64);
    ASSERT(less && (n == 64 || n == dv_cardinality(dv)) && n <= dv_cardinality(dv));
    for (size_t i = 0; i < n; i++) {
        ASSERT(dv_contains(dv, at[i]) && (i == 0 || at[i] > at[i - 1]));
        ASSERT(i == 0 || dv_add(less, at[i]) == 0);
    }
    ASSERT(dv_subset(less, dv) && dv_subset(dv, dv));
    ASSERT(dv_lost(dv, less, &first, &lost) == (n > 0));
    ASSERT(n == 0 || (first == at[0] && lost == dv_cardinality(dv) - dv_cardinality(less)));
    write_again(cx, dv);
    ASSERT(dv_or(less, dv) == 0 && dv_equal(less, dv));
}

static void walk(struct ctx *cx, str file)
{
    size_t at = 0;
    int rc = 1;
    while (rc == 1) {
        CLEANUP(dv_freep) struct dv *dv = NULL;
        struct dv_range r;
        rc = dv_file_next(cx, STR_LIT("fuzz"), file, &at, &r, &dv);
        ASSERT(rc == 0 || rc == 1 || (rc == E_CORRUPT && cx->err.msg[0]));
        if (rc == 1)
            check(cx, dv);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ctx cx;
    struct buf b = {0};
    ctx_init(&cx, 16 << 20);
    walk(&cx, str_n((const char *)data, size));
    dv_file_begin(&b);
    add_be(&b, (uint32_t)size);
    buf_add(&b, data, size);
    add_be(&b, crc32_of(data, size));
    walk(&cx, buf_str(&b));
    buf_done(&b);
    ctx_done(&cx);
    return 0;
}
