/* fuzz_avro.c - any bytes as an Avro file, as a schema with a block, or as a block of each codec:
 * refused with a message, or read to what is written, read back and copied as the same.
 *
 * The first byte says which: 0 to 5 a codec, 's' schema NUL count-byte data, else the whole is a file. */
#include "proto/base/assert.h"
#include "tests/fuzz/avro_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct inner {
    int64_t id;
    str text;
    struct opt_i64 cardinality;
};
struct outer {
    int32_t version;
    int64_t n;
    struct opt_i64 i, l;
    str s, b, os, ob;
    struct avro_list strs, ints, longs, opts;
    struct inner in;
    const struct inner *behind;
    struct avro_array many;
};
#define IN(m)  offsetof(struct inner, m)
#define OUT(m) offsetof(struct outer, m)
#define N(a)   (sizeof(a) / sizeof *(a))
static const struct avro_field inner_fields[] = {
    {.name = "id", .type = AVRO_LONG, .at = IN(id)},
    {.name = "text", .type = AVRO_STRING, .optional = true, .at = IN(text)},
    {.name = "card", .type = AVRO_LONG, .optional = true, .at = IN(cardinality)},
};
static const struct avro_record inner_record = {inner_fields, N(inner_fields),
                                                sizeof(struct inner)};
static const struct avro_field outer_fields[] = {
    {.name = "v", .type = AVRO_INT, .at = OUT(version)},
    {.name = "n", .type = AVRO_LONG, .at = OUT(n)},
    {.name = "i", .type = AVRO_INT, .optional = true, .at = OUT(i)},
    {.name = "l", .type = AVRO_LONG, .optional = true, .at = OUT(l)},
    {.name = "s", .type = AVRO_STRING, .at = OUT(s)},
    {.name = "b", .type = AVRO_BYTES, .at = OUT(b)},
    {.name = "os", .type = AVRO_STRING, .optional = true, .at = OUT(os)},
    {.name = "ob", .type = AVRO_BYTES, .optional = true, .at = OUT(ob)},
    {.name = "strs", .type = AVRO_LIST, .item = ITEM_STRING, .at = OUT(strs)},
    {.name = "ints", .type = AVRO_LIST, .item = ITEM_INT, .optional = true, .at = OUT(ints)},
    {.name = "longs", .type = AVRO_LIST, .item = ITEM_LONG, .optional = true, .at = OUT(longs)},
    {.name = "opts", .type = AVRO_LIST, .item = ITEM_OPT_LONG, .optional = true, .at = OUT(opts)},
    {.name = "in", .type = AVRO_RECORD, .record = &inner_record, .at = OUT(in)},
    {.name = "behind",
     .type = AVRO_RECORD,
     .record = &inner_record,
     .optional = true,
     .at = OUT(behind)},
    {.name = "many",
     .type = AVRO_RECORDS,
     .record = &inner_record,
     .optional = true,
     .at = OUT(many)},
};
static const struct avro_record outer_record = {outer_fields, N(outer_fields),
                                                sizeof(struct outer)};

static void refused(const struct ctx *cx, int rc)
{
    ASSERT(rc == E_CORRUPT || rc == E_UNSUPPORTED || rc == E_NOMEM);
    ASSERT(cx->err.code == rc && cx->err.msg[0]);
}

static void walk(const struct outer *o)
{
    struct avro_list l = o->strs;
    str s;
    int64_t v;
    struct opt_i64 w;
    while (avro_list_str(&l, &s))
        ASSERT(str_utf8_valid(s));
    for (l = o->ints; avro_list_i64(&l, &v);)
        ASSERT(v >= INT32_MIN && v <= INT32_MAX);
    for (l = o->longs; avro_list_i64(&l, &v);)
        continue;
    for (l = o->opts; avro_list_opt_i64(&l, &w);)
        ASSERT(w.has || w.v == 0);
    ASSERT(l.n == 0 && l.items.len == 0);
}

/* Written and read again, each record is the same. */
static void round_trip(struct ctx *cx, const struct outer *all, size_t n)
{
    struct avro_writer w;
    void *again;
    size_t m;
    ASSERT(avro_write_open(cx, &w, &outer_record, false, CODEC_NULL, 1) == 0);
    for (size_t i = 0; i < n; i++) {
        struct outer copy;
        walk(&all[i]);
        ASSERT(avro_copy(cx, &outer_record, &all[i], &copy) == 0);
        ASSERT(avro_equal(&outer_record, &all[i], &copy));
        ASSERT(avro_write_add(cx, &w, &all[i]) == 0);
    }
    ASSERT(avro_write_flush(cx, &w) == 0);
    ASSERT(avro_read_all(cx, buf_str(&w.out), STR_LIT("again"), &outer_record, &again, &m) == 0);
    ASSERT(m == n);
    for (size_t i = 0; i < n; i++)
        ASSERT(avro_equal(&outer_record, &all[i], (const struct outer *)again + i));
    avro_write_done(&w);
}

static void as_file(str bytes)
{
    struct ctx cx;
    void *all;
    size_t n;
    ctx_init(&cx, 64 << 20);
    int rc = avro_read_all(&cx, bytes, STR_LIT("fuzz"), &outer_record, &all, &n);
    if (rc < 0) {
        refused(&cx, rc);
    } else {
        struct ctx other;
        ctx_init(&other, 512 << 20);
        round_trip(&other, all, n);
        ctx_done(&other);
    }
    ctx_done(&cx);
}

static void as_schema(str bytes)
{
    ptrdiff_t end = str_find(bytes, 0);
    if (end < 0 || (size_t)end + 1 >= bytes.len)
        return;
    struct buf b = avro_file(str_n(bytes.p, (size_t)end), (unsigned char)bytes.p[end + 1],
                             str_cut(bytes, (size_t)end + 2));
    as_file(buf_str(&b));
    buf_done(&b);
}

static void as_block(enum codec_kind kind, str bytes)
{
    struct ctx cx;
    struct codec c;
    struct buf out = {0}, packed = {0}, again = {0};
    ctx_init(&cx, 1 << 20);
    codec_init(&c, kind);
    int rc = codec_unpack(&cx, &c, bytes, 1 << 20, &out);
    if (rc < 0)
        refused(&cx, rc);
    else if (kind == CODEC_NULL || kind == CODEC_DEFLATE || kind == CODEC_ZSTANDARD) {
        ASSERT(codec_pack(&cx, &c, 1, buf_str(&out), &packed) == 0);
        ASSERT(codec_unpack(&cx, &c, buf_str(&packed), out.len, &again) == 0);
        ASSERT(str_eq(buf_str(&out), buf_str(&again)));
    }
    buf_done(&out);
    buf_done(&packed);
    buf_done(&again);
    codec_done(&c);
    ctx_done(&cx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str bytes = str_n((const char *)data, size);
    if (size > 0 && data[0] <= CODEC_XZ)
        as_block((enum codec_kind)data[0], str_cut(bytes, 1));
    else if (size > 0 && data[0] == 's')
        as_schema(str_cut(bytes, 1));
    else
        as_file(bytes);
    return 0;
}
