/* dv_file.c - the blocks of an index file of deletion vectors (dv.h says what they look like).
 *
 * Source: paimon-core DeletionVector.read, BitmapDeletionVector, Bitmap64DeletionVector,
 * OptimizedRoaringBitmap64 and DeletionFileWriter. Stricter than Java, which does not look at the CRC
 * and takes bytes behind a bitmap. No state; any thread. */
#include "manifest/crc32.h"
#include "manifest/dv_int.h"
#include "manifest/roaring_check.h"

#define VERSION   1
#define FRAME     8           /* size before the payload, CRC behind it */
#define MAGIC_V1  0x5e43f2d0u /* big endian */
#define MAGIC_V2  0x6439d3d1u /* little endian */
#define V2_HEADER 12          /* magic and count */

struct block {
    struct ctx *cx;
    str name;
    uint64_t at; /* of the payload in the file */
};

static int say_corrupt(const struct block *k, size_t at, const char *why)
{
    return ctx_fail(k->cx, E_CORRUPT, RES_NONE, STR_NONE, "deletion vectors '%.*s', byte %llu: %s",
                    STR(k->name), (unsigned long long)(k->at + at), why);
}

/* Ends in the code itself, for static checkers. */
#define corrupt(k, at, why) ctx_code(say_corrupt((k), (at), (why)), E_CORRUPT)

static uint32_t get_be(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static uint32_t get_le(const char *p)
{
    return __builtin_bswap32(get_be(p));
}

static void put_be(char *p, uint32_t v)
{
    for (int i = 3; i >= 0; i--, v >>= 8)
        p[i] = (char)v;
}

static void add_le(struct buf *b, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        buf_addc(b, (char)(v >> (8 * i)));
}

/* --- reading --- */

static bool fits_v1(const struct dv *dv)
{
    uint64_t one;
    return dv_positions(dv, DV_V1_POSITION_MAX + 1, &one, 1) == 0;
}

/* One bitmap at `at` of the payload, which it may not leave. */
static int take_bitmap(const struct block *k, str payload, size_t *at, uint32_t high, struct dv *dv)
{
    struct roaring_info info;
    const char *why;
    size_t bad;
    str bytes = str_cut(payload, *at);
    if (!roaring_check(bytes, &info, &why, &bad))
        return corrupt(k, *at + bad, why);
    if (dv_take_bitmap(dv, high, str_n(bytes.p, info.size)) < 0)
        return ctx_nomem(k->cx);
    *at += info.size;
    return 0;
}

static int take_wide(const struct block *k, str payload, size_t *at, struct dv *dv)
{
    if (payload.len < V2_HEADER)
        return corrupt(k, 0, "the vector is too short");
    uint64_t n = get_le(payload.p + 4) | (uint64_t)get_le(payload.p + 8) << 32;
    int64_t last = -1;
    *at = V2_HEADER;
    for (uint64_t i = 0; i < n; i++) {
        if (payload.len - *at < 4)
            return corrupt(k, *at, "there are fewer bitmaps than it says");
        uint32_t high = get_le(payload.p + *at);
        if (high >= INT32_MAX || (int64_t)high <= last)
            return corrupt(k, *at, "high words do not ascend or are too large");
        *at += 4;
        TRY(take_bitmap(k, payload, at, high, dv));
        last = high;
    }
    return 0;
}

static int take_payload(const struct block *k, str payload, bool wide, struct dv **ret)
{
    CLEANUP(dv_freep) struct dv *dv = dv_new();
    size_t at = 4;
    if (!dv)
        return ctx_nomem(k->cx);
    TRY(wide ? take_wide(k, payload, &at, dv) : take_bitmap(k, payload, &at, 0, dv));
    if (at != payload.len)
        return corrupt(k, at, "bytes behind the vector");
    if (!wide && !fits_v1(dv))
        return corrupt(k, 0, "a position past 2^31-1");
    *ret = dv;
    dv = NULL;
    return 0;
}

/* The payload of a block at the start of `bytes`, with the right CRC and a known magic. */
static int open_block(struct block *k, str bytes, str *ret_payload, bool *ret_wide)
{
    if (bytes.len < FRAME + 4)
        return corrupt(k, 0, "the file ends too early");
    size_t size = get_be(bytes.p);
    if (size < 4 || size > INT32_MAX || size > bytes.len - FRAME)
        return corrupt(k, 0, "the vector's size is wrong or the file ends too early");
    str payload = str_n(bytes.p + 4, size);
    *ret_wide = get_le(payload.p) == MAGIC_V2;
    if (!*ret_wide && get_be(payload.p) != MAGIC_V1)
        return corrupt(k, 4, "neither of the magic numbers of deletion vectors");
    if (crc32_of(payload.p, size) != get_be(payload.p + size))
        return corrupt(k, 4 + size, "the checksum is wrong");
    k->at += 4;
    *ret_payload = payload;
    return 0;
}

int dv_read(struct ctx *cx, str name, str bytes, uint64_t at, const struct dv_range *range,
            struct dv **ret)
{
    CLEANUP(dv_freep) struct dv *dv = NULL;
    struct block k = {.cx = cx, .name = name, .at = at};
    str payload;
    bool wide = false;
    if (range->offset < 1 || range->length < 4 || (uint64_t)range->offset < at ||
        (uint64_t)range->offset - at > bytes.len)
        return corrupt(&k, 0, "the index manifest points outside of the file");
    k.at = (uint64_t)range->offset;
    TRY(open_block(&k, str_cut(bytes, (size_t)((uint64_t)range->offset - at)), &payload, &wide));
    if ((uint64_t)range->length != payload.len + (wide ? FRAME : 0))
        return corrupt(&k, 0, "the length in the index manifest is another");
    TRY(take_payload(&k, payload, wide, &dv));
    if (range->cardinality >= 0 && (uint64_t)range->cardinality != dv_cardinality(dv))
        return corrupt(&k, 0, "the cardinality in the index manifest is another");
    *ret = dv;
    dv = NULL;
    return 0;
}

int dv_file_check(struct ctx *cx, str name, str file)
{
    struct block k = {.cx = cx, .name = name};
    if (file.len < 1 || file.p[0] != VERSION)
        return corrupt(&k, 0, "the version of the file is not 1");
    return 0;
}

int dv_file_next(struct ctx *cx, str name, str file, size_t *at, struct dv_range *ret_range,
                 struct dv **ret)
{
    CLEANUP(dv_freep) struct dv *dv = NULL;
    str payload;
    bool wide = false;
    if (*at == 0) {
        TRY(dv_file_check(cx, name, file));
        *at = 1;
    }
    if (*at == file.len)
        return 0;
    struct block k = {.cx = cx, .name = name, .at = *at};
    if (*at > INT32_MAX)
        return corrupt(&k, 0, "a vector past what an offset can say");
    TRY(open_block(&k, str_cut(file, *at), &payload, &wide));
    TRY(take_payload(&k, payload, wide, &dv));
    *ret_range = (struct dv_range){.offset = (int32_t)*at,
                                   .length = (int32_t)(payload.len + (wide ? FRAME : 0)),
                                   .cardinality = (int64_t)dv_cardinality(dv)};
    *at += FRAME + payload.len;
    *ret = dv;
    dv = NULL;
    return 1;
}

/* --- writing --- */

void dv_file_begin(struct buf *b)
{
    buf_addc(b, VERSION);
}

static int put_payload(const struct dv *dv, enum dv_version version, struct buf *b)
{
    char magic[4];
    size_t n = dv_bitmap_count(dv);
    if (version == DV_V1) {
        put_be(magic, MAGIC_V1);
        buf_add(b, magic, sizeof magic);
        return dv_put_bitmap(dv, 0, b);
    }
    add_le(b, MAGIC_V2, 4);
    add_le(b, n, 8);
    for (size_t i = 0; i < n; i++) {
        add_le(b, dv_high(dv, i), 4);
        TRY(dv_put_bitmap(dv, i, b));
    }
    return 0;
}

int dv_file_add(struct ctx *cx, struct buf *b, const struct dv *dv, enum dv_version version,
                struct dv_range *ret)
{
    size_t start = b->len;
    char word[4] = {0};
    if (version == DV_V1 && !fits_v1(dv))
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "a deletion vector of version 1 holds no position past 2^31-1; set "
                        "deletion-vectors.bitmap64");
    buf_add(b, word, sizeof word);
    int rc = put_payload(dv, version, b);
    size_t size = b->len - start - sizeof word;
    if (rc == 0 && buf_fail(b) == 0) {
        put_be(b->p + start, (uint32_t)size);
        put_be(word, crc32_of(b->p + start + sizeof word, size));
        buf_add(b, word, sizeof word);
    }
    rc = rc < 0 ? rc : buf_fail(b);
    if (rc == 0 && (start > INT32_MAX || size + FRAME > INT32_MAX))
        rc = E_TOOBIG;
    if (rc < 0)
        return ctx_fail(cx, rc, RES_NONE, STR_NONE, "no room for a deletion vector");
    *ret = (struct dv_range){.offset = (int32_t)start,
                             .length = (int32_t)(size + (version == DV_V2 ? FRAME : 0)),
                             .cardinality = (int64_t)dv_cardinality(dv)};
    return 0;
}
