/* codec.c - Avro's block compressions: the only includer of zstd, zlib, bzip2 and xz.
 *
 * Source of the format: "Required Codecs" and "Optional Codecs" of the Avro specification; how Java
 * (CodecFactory, which Paimon calls with the option's value) and fastavro write them. deflate is raw,
 * without a zlib header; fastavro leaves three bytes of zlib's checksum behind it. snappy is followed by the big-endian CRC-32 of the text. zstandard frames
 * come with and without a content size and may be several.
 *
 * Unpacking grows the output step by step up to the bound, so that a length that a block merely
 * claims costs nothing. No state but in struct codec; any thread. */
#include "manifest/avro/codec.h"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "manifest/avro/snappy.h"
#include "manifest/crc32.h"
#include "proto/base/assert.h"

#define OUT_FIRST  ((size_t)64 << 10)
#define XZ_MEM_MAX ((uint64_t)128 << 20) /* a decoder's window: enough for xz -9 (65 MiB) */
#define CRC_LEN    4
_Static_assert(BUF_MAX <= UINT32_MAX, "sizes fit the unsigned int of bzip2 and zlib");

static const char *const names[] = {
    [CODEC_NULL] = "null",           [CODEC_DEFLATE] = "deflate", [CODEC_SNAPPY] = "snappy",
    [CODEC_ZSTANDARD] = "zstandard", [CODEC_BZIP2] = "bzip2",     [CODEC_XZ] = "xz",
};

int codec_find(struct ctx *cx, str name, enum codec_kind *ret)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eqz(name, names[i]) || (i == CODEC_NULL && name.len == 0)) {
            *ret = (enum codec_kind)i;
            return 0;
        }
    return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                    "the compression \"%.*s\" is not known; write it with null, deflate, snappy, "
                    "zstandard, bzip2 or xz",
                    name.len > 64 ? 64 : (int)name.len, name.p);
}

enum codec_kind codec_to_write(str option)
{
    if (str_ieq(option, STR_LIT("null")))
        return CODEC_NULL;
    return str_ieq(option, STR_LIT("deflate")) ? CODEC_DEFLATE : CODEC_ZSTANDARD;
}

const char *codec_name(enum codec_kind k)
{
    return names[k];
}

void codec_init(struct codec *c, enum codec_kind kind)
{
    *c = (struct codec){.kind = kind};
}

void codec_done(struct codec *c)
{
    ZSTD_freeCCtx(c->packer);
    ZSTD_freeDCtx(c->unpacker);
    c->packer = c->unpacker = NULL;
}

/* --- unpacking: each answers 0, E_CORRUPT, E_NOMEM, or E_TOOBIG once there are `max` bytes of output
 * and the end is not seen ---------------------------------------------------------------------------- */

/* More room for output: the first time 64 KiB or four times the input, then four times what there
 * was. E_TOOBIG: `max` is used up. */
static int more_room(struct buf *out, size_t in_len, size_t max)
{
    size_t want = out->cap > out->len ? out->cap : out->cap * 4;
    want = want < OUT_FIRST ? OUT_FIRST : want;
    want = out->cap == 0 && want < in_len * 4 ? in_len * 4 : want;
    want = want > max ? max : want;
    if (want <= out->len)
        return E_TOOBIG;
    return buf_reserve(out, want - out->len);
}

static size_t room(const struct buf *out, size_t max)
{
    return (out->cap < max ? out->cap : max) - out->len;
}

/* Whole blocks at once: far faster than a stream, and needs no window of its own. */
static int unpack_zstd(struct codec *c, str in, size_t max, struct buf *out)
{
    if (!c->unpacker && !(c->unpacker = ZSTD_createDCtx()))
        return E_NOMEM;
    for (;;) {
        TRY(more_room(out, in.len, max));
        size_t space = room(out, max);
        size_t n = ZSTD_decompressDCtx(c->unpacker, out->p, space, in.p, in.len);
        if (!ZSTD_isError(n)) {
            out->len = n;
            return 0;
        }
        if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
            return E_NOMEM;
        if (ZSTD_getErrorCode(n) != ZSTD_error_dstSize_tooSmall)
            return E_CORRUPT;
        if (space == max)
            return E_TOOBIG;
        TRY(buf_reserve(out, space > max / 4 ? max : space * 4));
    }
}

static int unpack_deflate(str in, size_t max, struct buf *out)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)in.p, .avail_in = (unsigned)in.len};
    int rc = inflateInit2(&z, -MAX_WBITS), err = 0;
    if (rc != Z_OK)
        return E_NOMEM;
    while (rc == Z_OK && (err = more_room(out, in.len, max)) == 0) {
        z.next_out = (unsigned char *)out->p + out->len;
        z.avail_out = (unsigned)room(out, max);
        rc = inflate(&z, Z_NO_FLUSH);
        out->len = (size_t)((char *)z.next_out - out->p);
        if (rc == Z_BUF_ERROR || (rc == Z_OK && z.avail_in == 0 && z.avail_out > 0))
            rc = Z_DATA_ERROR; /* it ends too early */
    }
    inflateEnd(&z);
    if (err < 0)
        return err;
    if (rc == Z_MEM_ERROR)
        return E_NOMEM;
    return rc == Z_STREAM_END ? 0 : E_CORRUPT;
}

static int unpack_bzip2(str in, size_t max, struct buf *out)
{
    bz_stream z = {.next_in = (char *)(uintptr_t)in.p, .avail_in = (unsigned)in.len};
    int rc = BZ2_bzDecompressInit(&z, 0, 0), err = 0;
    if (rc != BZ_OK)
        return E_NOMEM;
    while (rc == BZ_OK && (err = more_room(out, in.len, max)) == 0) {
        z.next_out = out->p + out->len;
        z.avail_out = (unsigned)room(out, max);
        rc = BZ2_bzDecompress(&z);
        out->len = (size_t)(z.next_out - out->p);
        if (rc == BZ_OK && z.avail_in == 0 && z.avail_out > 0)
            rc = BZ_DATA_ERROR; /* it ends too early */
    }
    bool all = z.avail_in == 0;
    BZ2_bzDecompressEnd(&z);
    if (err < 0)
        return err;
    if (rc == BZ_MEM_ERROR)
        return E_NOMEM;
    return rc == BZ_STREAM_END && all ? 0 : E_CORRUPT;
}

static int unpack_xz(str in, size_t max, struct buf *out)
{
    lzma_stream z = LZMA_STREAM_INIT;
    lzma_ret rc = lzma_stream_decoder(&z, XZ_MEM_MAX, 0);
    int err = 0;
    if (rc != LZMA_OK)
        return E_NOMEM;
    z.next_in = (const uint8_t *)in.p;
    z.avail_in = in.len;
    while (rc == LZMA_OK && (err = more_room(out, in.len, max)) == 0) {
        z.next_out = (uint8_t *)out->p + out->len;
        z.avail_out = room(out, max);
        rc = lzma_code(&z, LZMA_FINISH);
        out->len = (size_t)((char *)z.next_out - out->p);
        if (rc == LZMA_OK && z.avail_out > 0)
            rc = LZMA_DATA_ERROR; /* it ends too early */
    }
    bool all = z.avail_in == 0;
    lzma_end(&z);
    if (err < 0)
        return err;
    if (rc == LZMA_MEM_ERROR)
        return E_NOMEM;
    return rc == LZMA_STREAM_END && all ? 0 : E_CORRUPT;
}

static int unpack_snappy(str in, size_t max, struct buf *out)
{
    if (in.len < CRC_LEN)
        return E_CORRUPT;
    const unsigned char *crc = (const unsigned char *)in.p + in.len - CRC_LEN;
    TRY(snappy_unpack(str_n(in.p, in.len - CRC_LEN), max, out));
    uint32_t want =
        (uint32_t)crc[0] << 24 | (uint32_t)crc[1] << 16 | (uint32_t)crc[2] << 8 | crc[3];
    return crc32_of(out->p, out->len) == want ? 0 : E_CORRUPT;
}

static int unpack(struct codec *c, str in, size_t max, struct buf *out)
{
    switch (c->kind) {
    case CODEC_DEFLATE:
        return unpack_deflate(in, max, out);
    case CODEC_SNAPPY:
        return unpack_snappy(in, max, out);
    case CODEC_ZSTANDARD:
        return unpack_zstd(c, in, max, out);
    case CODEC_BZIP2:
        return unpack_bzip2(in, max, out);
    case CODEC_XZ:
        return unpack_xz(in, max, out);
    case CODEC_NULL:
        break;
    }
    if (in.len >= max)
        return E_TOOBIG;
    buf_adds(out, in);
    return buf_fail(out);
}

int codec_unpack(struct ctx *cx, struct codec *c, str in, size_t max, struct buf *out)
{
    buf_clear(out);
    if (in.len > BUF_MAX || max >= BUF_MAX)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%zu bytes are too many", in.len);
    /* With room for one byte more, a decoder that has all its output can still come to its end. */
    int rc = unpack(c, in, max + 1, out);
    ASSERT(rc < 0 || out->len <= max + 1);
    if (rc == 0 && out->len > max)
        rc = E_TOOBIG;
    if (rc == E_NOMEM)
        return ctx_nomem(cx);
    if (rc == E_TOOBIG)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "%zu bytes of %s unpack to more than %zu bytes", in.len,
                        codec_name(c->kind), max);
    if (rc < 0)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%zu bytes are not %s, or damaged",
                        in.len, codec_name(c->kind));
    return 0;
}

/* --- packing -------------------------------------------------------------------------------------- */

static int pack_zstd(struct codec *c, int level, str in, struct buf *out)
{
    if (!c->packer && !(c->packer = ZSTD_createCCtx()))
        return E_NOMEM;
    TRY(buf_reserve(out, ZSTD_compressBound(in.len)));
    size_t n =
        ZSTD_compressCCtx(c->packer, out->p + out->len, out->cap - out->len, in.p, in.len, level);
    if (ZSTD_isError(n))
        return E_NOMEM; /* nothing else is left to go wrong */
    out->len += n;
    return 0;
}

static int pack_deflate(str in, struct buf *out)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)in.p, .avail_in = (unsigned)in.len};
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return E_NOMEM;
    int rc = buf_reserve(out, deflateBound(&z, in.len));
    if (rc == 0) {
        z.next_out = (unsigned char *)out->p + out->len;
        z.avail_out = (unsigned)(out->cap - out->len);
        ASSERT(deflate(&z, Z_FINISH) == Z_STREAM_END);
        out->len = (size_t)((char *)z.next_out - out->p);
    }
    deflateEnd(&z);
    return rc;
}

int codec_pack(struct ctx *cx, struct codec *c, int level, str in, struct buf *out)
{
    int rc;
    ASSERT(c->kind == CODEC_NULL || c->kind == CODEC_DEFLATE || c->kind == CODEC_ZSTANDARD);
    if (c->kind == CODEC_ZSTANDARD) {
        rc = pack_zstd(c, level, in, out);
    } else if (c->kind == CODEC_DEFLATE) {
        rc = pack_deflate(in, out);
    } else {
        buf_adds(out, in);
        rc = buf_fail(out);
    }
    if (rc == E_TOOBIG)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE, "a file would be over 2 GiB");
    return rc < 0 ? ctx_nomem(cx) : 0;
}
