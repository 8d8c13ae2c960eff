/* test_avro.c - container files: every type, every codec, other writers' schemas, hostile bytes. */
#include "tests/fuzz/avro_file.h"
#include "tests/unit/manifest/avro_golden.h"

#include "proto/base/mem.h"

struct inner {
    int64_t id;
    str text;
};
struct outer {
    int32_t i;
    int64_t l;
    struct opt_i64 oi, ol;
    str s, b, os, ob;
    struct avro_list strs, ints, longs, opts;
    struct inner in;
    const struct inner *behind;
    struct avro_array many;
};
#define IN(m)  offsetof(struct inner, m)
#define OUT(m) offsetof(struct outer, m)
static const struct avro_field inner_fields[] = {
    {.name = "id", .type = AVRO_LONG, .at = IN(id)},
    {.name = "text", .type = AVRO_STRING, .optional = true, .at = IN(text)},
};
static const struct avro_record inner_record = {inner_fields, 2, sizeof(struct inner)};
/* clang-format off */
static const struct avro_field outer_fields[] = {
    {.name = "i", .type = AVRO_INT, .at = OUT(i)},
    {.name = "l", .type = AVRO_LONG, .at = OUT(l)},
    {.name = "oi", .type = AVRO_INT, .optional = true, .at = OUT(oi)},
    {.name = "ol", .type = AVRO_LONG, .optional = true, .millis = true, .at = OUT(ol)},
    {.name = "s", .type = AVRO_STRING, .at = OUT(s)},
    {.name = "b", .type = AVRO_BYTES, .at = OUT(b)},
    {.name = "os", .type = AVRO_STRING, .optional = true, .at = OUT(os)},
    {.name = "ob", .type = AVRO_BYTES, .optional = true, .at = OUT(ob)},
    {.name = "strs", .type = AVRO_LIST, .item = ITEM_STRING, .at = OUT(strs)},
    {.name = "ints", .type = AVRO_LIST, .item = ITEM_INT, .optional = true, .at = OUT(ints)},
    {.name = "longs", .type = AVRO_LIST, .item = ITEM_LONG, .optional = true, .at = OUT(longs)},
    {.name = "opts", .type = AVRO_LIST, .item = ITEM_OPT_LONG, .optional = true, .at = OUT(opts)},
    {.name = "in", .type = AVRO_RECORD, .record = &inner_record, .at = OUT(in)},
    {.name = "behind", .type = AVRO_RECORD, .record = &inner_record, .optional = true, .at = OUT(behind)},
    {.name = "many", .type = AVRO_RECORDS, .record = &inner_record, .optional = true, .item_optional = true, .at = OUT(many)},
};
/* clang-format on */
static const struct avro_record outer_record = {outer_fields, COUNT(outer_fields),
                                                sizeof(struct outer)};
/* Of one number, for what is about the container or the schema. */
struct one {
    int64_t v;
};
static const struct avro_field one_fields[] = {{.name = "v", .type = AVRO_LONG, .at = 0}};
static const struct avro_record one_record = {one_fields, 1, sizeof(struct one)};
static const struct avro_field opt_fields[] = {
    {.name = "v", .type = AVRO_LONG, .optional = true, .at = 0}};
static const struct avro_record opt_record = {opt_fields, 1, sizeof(struct opt_i64)};
#define ONE_SCHEMA                                                                                 \
    "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"v\",\"type\":\"long\"}]}"

static struct ctx cx;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 256 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

static void refused(int rc, int code, const char *because)
{
    if (rc != code || cx.err.code != code || !strstr(cx.err.msg, because))
        fail_msg("%s: %s; wanted %s: ..%s..", err_name(rc), cx.err.msg, err_name(code), because);
    ctx_reset_err(&cx);
}

/* --- numbers ---------------------------------------------------------------------------------------------- */

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        int64_t v;
        const char *hex;
    } of[] = {{0, "00"},
              {-1, "01"},
              {1, "02"},
              {-64, "7f"},
              {64, "8001"},
              {8192, "808001"},
              {INT32_MAX, "feffffff0f"},
              {INT32_MIN, "ffffffff0f"},
              {INT64_MAX, "feffffffffffffffff01"},
              {INT64_MIN, "ffffffffffffffffff01"}};
    for (size_t i = 0; i < COUNT(of); i++) {
        char out[AVRO_VARINT];
        int64_t back = 4711;
        size_t n = avro_put(out, of[i].v);
        assert_hex(str_n(out, n), of[i].hex);
        struct avro_in in = {out, out, out + n};
        assert_true(avro_take(&in, &back));
        assert_true(back == of[i].v && in.at == in.end);
        for (size_t cut = 0; cut < n; cut++) {
            in = (struct avro_in){out, out, out + cut};
            assert_false(avro_take(&in, &back));
            assert_ptr_equal(in.at, out);
        }
    }
}

static void test_numbers_that_are_none(void **state)
{
    (void)state;
    static const char *const of[] = {
        "\x80\x00", "\x82\x80\x00",                      /* longer than need be */
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",      /* 65 bits */
        "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"}; /* eleven bytes */
    static const size_t len[] = {2, 3, 10, 11};
    for (size_t i = 0; i < COUNT(of); i++) {
        struct avro_in in = {of[i], of[i], of[i] + len[i]};
        int64_t v;
        assert_false(avro_take(&in, &v));
    }
}

/* --- all types --------------------------------------------------------------------------------------------- */

static void list_of_strs(struct avro_list *l, const char *a, const char *b)
{
    str s[] = {str_of(a), str_of(b)};
    assert_int_equal(avro_list_of_strs(&cx, s, 2, l), 0);
}

static struct outer full(void)
{
    static const struct inner items[] = {{INT64_MIN, {0}}, {-2, {"q", 1}}};
    static const struct inner behind = {77, {"", 0}};
    struct outer o = {.i = INT32_MIN, .l = INT64_MAX, .oi = {true, INT32_MAX}, .ol = {true, -1}};
    o.s = STR_LIT("gr\xc3\xbc\xc3\x9f und etwas");
    o.b = str_n("\0\xff\x80", 3);
    o.os = STR_LIT("");
    o.ob = STR_LIT("x");
    list_of_strs(&o.strs, "a", "");
    assert_int_equal(avro_list_of_i64s(&cx, (int64_t[]){INT32_MAX, -1, 0}, 3, &o.ints), 0);
    assert_int_equal(avro_list_of_i64s(&cx, (int64_t[]){INT64_MIN}, 1, &o.longs), 0);
    assert_int_equal(
        avro_list_of_opts(&cx, (struct opt_i64[]){{false, 0}, {true, 0}, {true, 300}}, 3, &o.opts),
        0);
    o.in = (struct inner){5, STR_LIT("in")};
    o.behind = &behind;
    o.many = (struct avro_array){true, 2, items};
    return o;
}

static void check_full(const struct outer *o)
{
    struct avro_list l = o->strs;
    str s;
    int64_t v;
    struct opt_i64 w;
    assert_true(o->i == INT32_MIN && o->l == INT64_MAX && o->oi.v == INT32_MAX && o->ol.v == -1);
    assert_str(o->s, "gr\xc3\xbc\xc3\x9f und etwas");
    assert_hex(o->b, "00ff80");
    assert_true(o->os.p && o->os.len == 0);
    assert_str(o->ob, "x");
    assert_true(l.has && l.n == 2 && avro_list_str(&l, &s));
    assert_str(s, "a");
    assert_true(avro_list_str(&l, &s) && s.len == 0 && !avro_list_str(&l, &s));
    l = o->ints;
    assert_true(avro_list_i64(&l, &v) && v == INT32_MAX && avro_list_i64(&l, &v) && v == -1);
    assert_true(avro_list_i64(&l, &v) && v == 0 && !avro_list_i64(&l, &v));
    l = o->opts;
    assert_true(avro_list_opt_i64(&l, &w) && !w.has && avro_list_opt_i64(&l, &w) && w.has);
    assert_true(w.v == 0 && avro_list_opt_i64(&l, &w) && w.v == 300 && !avro_list_opt_i64(&l, &w));
    assert_true(o->in.id == 5 && o->behind->id == 77 && o->behind->text.p);
    const struct inner *items = o->many.items;
    assert_true(o->many.n == 2 && items[0].id == INT64_MIN && !items[0].text.p);
    assert_str(items[1].text, "q");
}

static str written(const struct avro_record *rec, const void *records, size_t n,
                   enum codec_kind codec)
{
    struct avro_writer w;
    assert_int_equal(avro_write_open(&cx, &w, rec, true, codec, 1), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(avro_write_add(&cx, &w, (const char *)records + i * rec->size), 0);
    assert_int_equal(avro_write_flush(&cx, &w), 0);
    assert_int_equal(avro_write_flush(&cx, &w), 0);
    str s = str_dup(&cx.arena, buf_str(&w.out));
    avro_write_done(&w);
    return s;
}

static void test_all_types(void **state)
{
    (void)state;
    static const enum codec_kind codecs[] = {CODEC_NULL, CODEC_DEFLATE, CODEC_ZSTANDARD};
    struct outer in[3] = {full(), {0}, full()};
    in[1].strs.has = true; /* not optional: always there */
    for (size_t c = 0; c < COUNT(codecs); c++) {
        void *all;
        size_t n;
        str file = written(&outer_record, in, 3, codecs[c]);
        assert_int_equal(avro_read_all(&cx, file, STR_LIT("f"), &outer_record, &all, &n), 0);
        struct outer *o = all, copy;
        assert_int_equal(n, 3);
        for (size_t i = 0; i < n; i++)
            assert_true(avro_equal(&outer_record, &in[i], &o[i]));
        check_full(&o[0]);
        check_full(&o[2]);
        assert_false(o[1].oi.has || o[1].ol.has || o[1].os.p || o[1].ob.p || o[1].ints.has ||
                     o[1].opts.has || o[1].behind || o[1].many.has);
        assert_true(o[1].s.len == 0 && o[1].strs.n == 0);
        assert_int_equal(avro_copy(&cx, &outer_record, &o[0], &copy), 0);
        check_full(&copy);
        assert_true(copy.s.p != o[0].s.p && copy.behind != o[0].behind &&
                    copy.many.items != o[0].many.items && copy.strs.items.p != o[0].strs.items.p);
    }
}

static void test_difference_is_seen(void **state)
{
    (void)state;
    struct outer a = full(), b;
    struct inner other[2];
    memcpy(other, a.many.items, sizeof other);
    other[1].id++;
#define DIFFERS(change)                                                                            \
    b = a;                                                                                         \
    change;                                                                                        \
    assert_false(avro_equal(&outer_record, &a, &b))
    DIFFERS(b.i++);
    DIFFERS(b.l--);
    DIFFERS(b.oi.v--);
    DIFFERS(b.ol.has = false);
    DIFFERS(b.s = STR_LIT(""));
    DIFFERS(b.os = STR_NONE);
    DIFFERS(b.ob = STR_LIT("y"));
    DIFFERS(b.strs.n--);
    DIFFERS(list_of_strs(&b.strs, "", "a"));
    DIFFERS(b.opts.has = false);
    DIFFERS(b.in.id++);
    DIFFERS(b.behind = NULL);
    DIFFERS(b.behind = &a.in);
    DIFFERS(b.many.n--);
    DIFFERS(b.many.items = other);
    b = a;
    assert_true(avro_equal(&outer_record, &a, &b));
}

/* --- other writers' schemas ---------------------------------------------------------------------------------- */

static str field_schema(const char *fields)
{
    str s;
    assert_int_equal(
        ctx_text(&cx, &s, "{\"type\":\"record\",\"name\":\"r\",\"fields\":[%s]}", fields), 0);
    return s;
}

static int read_with(const struct avro_record *want, str schema, const char *data, size_t len,
                     void *ret)
{
    struct buf b = avro_file(schema, 1, str_n(data, len));
    void *all = NULL;
    size_t n;
    int rc =
        avro_read_all(&cx, str_dup(&cx.arena, buf_str(&b)), STR_LIT("the-file"), want, &all, &n);
    buf_done(&b);
    if (rc == 0) {
        assert_int_equal(n, 1);
        memcpy(ret, all, want->size);
    }
    return rc;
}
#define READ(want, fields, data, ret)                                                              \
    read_with(want, field_schema(fields), data, sizeof(data) - 1, ret)

#define F(name, type) "{\"name\":\"" name "\",\"type\":" type "}"

static void test_unknown_fields_are_skipped(void **state)
{
    (void)state;
    struct one o;
    static const char
        fields[] = F("a",
                     "\"null\"") "," F("b",
                                       "\"boolean\"") "," F("c",
                                                            "\"float"
                                                            "\"") "," F("d",
                                                                        "\"double\"") "," F("e", "{"
                                                                                                 "\"type\":\"fixed\",\"name\":\"x.fx\",\"size\":3}") "," F("f", "{\"type\":\"enum\",\"name\":\"en\",\"symbols\":[\"A\",\"B\"]}") "," F("g", "{\"type\":\"map\",\"values\":\"x.fx\"}") "," F("h", "{\"type\":\"array\",\"items\":[\"null\","
                                                                                                                                                                                                                                                                                                 "\"string\",\"en\"]}") "," F("j",
                                                                                                                                                                                                                                                                                                                              "[\"null\",{"
                                                                                                                                                                                                                                                                                                                              "\"type\":"
                                                                                                                                                                                                                                                                                                                              "\"record\","
                                                                                                                                                                                                                                                                                                                              "\"name\":"
                                                                                                                                                                                                                                                                                                                              "\"in\","
                                                                                                                                                                                                                                                                                                                              "\"namespace\""
                                                                                                                                                                                                                                                                                                                              ":\"n.s\","
                                                                                                                                                                                                                                                                                                                              "\"fields\":"
                                                                                                                                                                                                                                                                                                                              "[" F(
                                                                                                                                                                                                                                                                                                                                  "q",
                                                                                                                                                                                                                                                                                                                                  "{"
                                                                                                                                                                                                                                                                                                                                  "\""
                                                                                                                                                                                                                                                                                                                                  "ty"
                                                                                                                                                                                                                                                                                                                                  "pe"
                                                                                                                                                                                                                                                                                                                                  "\""
                                                                                                                                                                                                                                                                                                                                  ":"
                                                                                                                                                                                                                                                                                                                                  "\""
                                                                                                                                                                                                                                                                                                                                  "ar"
                                                                                                                                                                                                                                                                                                                                  "ra"
                                                                                                                                                                                                                                                                                                                                  "y"
                                                                                                                                                                                                                                                                                                                                  "\""
                                                                                                                                                                                                                                                                                                                                  ","
                                                                                                                                                                                                                                                                                                                                  "\""
                                                                                                                                                                                                                                                                                                                                  "it"
                                                                                                                                                                                                                                                                                                                                  "em"
                                                                                                                                                                                                                                                                                                                                  "s"
                                                                                                                                                                                                                                                                                                                                  "\""
                                                                                                                                                                                                                                                                                                                                  ":"
                                                                                                                                                                                                                                                                                                                                  "\""
                                                                                                                                                                                                                                                                                                                                  "in"
                                                                                                                                                                                                                                                                                                                                  "t"
                                                                                                                                                                                                                                                                                                                                  "\""
                                                                                                                                                                                                                                                                                                                                  "}") "," F("w", "[\"null\""
                                                                                                                                                                                                                                                                                                                                                  ",\"long\""
                                                                                                                                                                                                                                                                                                                                                  "]") "]}]") "," F("v", "{\"type\":\"long\",\"logicalType\":\"x\"}") "," F("z", "\"n.s.in\"") "," F("y",
                                                                                                                                                                                                                                                                                                                                                                                                                                                     "{\"type\":\"bytes\"}");
    static const char data[] = "\x01"
                               "\0\0\0\0"
                               "\0\0\0\0\0\0\0\0"
                               "abc"
                               "\x02" /* a to f */
                               "\x01\x0a\x02k"
                               "abc"
                               "\x02\x02m"
                               "def"
                               "\0" /* g: -1, 5 bytes */
                               "\x06\0\x02\x02s\x04\x02"
                               "\0" /* h: null, "s", B */
                               "\x02"
                               "\x04\x02\x04"
                               "\0"
                               "\0"           /* j */
                               "\xf2\xc0\x01" /* v */
                               "\0"
                               "\x02\x01"
                               "\x04xx";
    assert_int_equal(READ(&one_record, fields, data, &o), 0);
    assert_true(o.v == 12345);
}

static void test_types_that_fit(void **state)
{
    (void)state;
    struct one o;
    struct opt_i64 v = {true, 1};
    struct outer w;
    assert_int_equal(READ(&one_record, F("v", "\"int\""), "\x0e", &o), 0);
    assert_true(o.v == 7);
    assert_int_equal(READ(&one_record, F("v", "[\"null\",\"long\"]"), "\x02\x0e", &o), 0);
    assert_true(o.v == 7);
    refused(READ(&one_record, F("v", "[\"null\",\"long\"]"), "\0", &o), E_CORRUPT,
            "the-file: the block at byte 111: the field v is wrong at byte 1");
    assert_int_equal(READ(&opt_record, F("v", "[\"long\",\"null\"]"), "\0\x0e", &v), 0);
    assert_true(v.has && v.v == 7);
    assert_int_equal(READ(&opt_record, F("v", "[\"long\",\"null\"]"), "\x02", &v), 0);
    assert_false(v.has);
    assert_int_equal(READ(&opt_record, F("v", "\"long\""), "\x0e", &v), 0);
    assert_true(v.has && v.v == 7);
    assert_int_equal(READ(&opt_record, F("other", "\"int\""), "\x0e", &v), 0);
    assert_false(v.has);
    static const struct avro_field text = {.name = "s", .type = AVRO_STRING, .at = OUT(s)};
    static const struct avro_record texts = {&text, 1, sizeof(struct outer)};
    assert_int_equal(READ(&texts, F("s", "\"bytes\""), "\x04hi", &w), 0);
    assert_str(w.s, "hi");
    refused(READ(&texts, F("s", "\"bytes\""), "\x04h\xff", &w), E_CORRUPT, "the field s is wrong");
}

/* The whole schema may be a union of null and the record, as pypaimon-rust writes it. */
static void test_union_of_null_and_the_record(void **state)
{
    (void)state;
    struct one o;
    str rec = field_schema(F("v", "\"long\"")), first, second, only, three;
    assert_int_equal(ctx_text(&cx, &first, "[\"null\",%.*s]", STR(rec)), 0);
    assert_int_equal(ctx_text(&cx, &second, "[%.*s,\"null\"]", STR(rec)), 0);
    assert_int_equal(ctx_text(&cx, &only, "[%.*s]", STR(rec)), 0);
    assert_int_equal(ctx_text(&cx, &three, "[\"null\",%.*s,\"long\"]", STR(rec)), 0);
    assert_int_equal(read_with(&one_record, first, "\x02\x0e", 2, &o), 0);
    assert_true(o.v == 7);
    assert_int_equal(read_with(&one_record, second, "\0\x0e", 2, &o), 0);
    assert_true(o.v == 7);
    refused(read_with(&one_record, first, "\0\0", 2, &o), E_CORRUPT,
            "the record at byte 1 is null");
    refused(read_with(&one_record, first, "\x04\x0e", 2, &o), E_CORRUPT, "the record at byte 1 is");
    refused(read_with(&one_record, second, "\x02\0", 2, &o), E_CORRUPT, "the record at byte 1 is");
    refused(read_with(&one_record, only, "\0\x0e", 2, &o), E_CORRUPT, "is of a union");
    refused(read_with(&one_record, three, "\x02\x0e", 2, &o), E_CORRUPT, "is of a union");
}

static void test_types_that_do_not_fit(void **state)
{
    (void)state;
    struct one o;
    struct outer w;
    static const char *const types[] = {"\"string\"",
                                        "\"double\"",
                                        "[\"null\",\"string\"]",
                                        "[\"long\",\"int\"]",
                                        "[\"long\"]",
                                        "\"null\"",
                                        "{\"type\":\"array\",\"items\":\"long\"}"};
    for (size_t i = 0; i < COUNT(types); i++) {
        char f[200];
        snprintf(f, sizeof f, F("v", "%s"), types[i]);
        refused(read_with(&one_record, field_schema(f), "\0\0\0\0", 4, &o), E_UNSUPPORTED,
                "the field v has a type that does not fit");
    }
    refused(READ(&one_record, F("w", "\"long\""), "\0", &o), E_CORRUPT,
            "the-file: avro.schema has no field v: it is another kind of file");
    static const struct avro_field f[] = {
        {.name = "strs", .type = AVRO_LIST, .item = ITEM_STRING, .at = OUT(strs)},
        {.name = "many",
         .type = AVRO_RECORDS,
         .record = &inner_record,
         .optional = true,
         .at = OUT(many)},
        {.name = "behind",
         .type = AVRO_RECORD,
         .record = &inner_record,
         .optional = true,
         .at = OUT(behind)},
    };
    static const struct avro_record rec = {f, 3, sizeof(struct outer)};
    refused(READ(&rec, F("strs", "{\"type\":\"array\",\"items\":\"long\"}"), "\0", &w),
            E_UNSUPPORTED, "the field strs");
    refused(READ(&rec,
                 F("strs", "{\"type\":\"array\",\"items\":\"string\"}") "," F("many", "\"long\""),
                 "\0\0", &w),
            E_UNSUPPORTED, "the field many");
    refused(READ(&rec,
                 F("strs", "{\"type\":\"array\",\"items\":\"string\"}") "," F(
                     "many", "{\"type\":\"array\",\"items\":\"long\"}"),
                 "\0\0", &w),
            E_UNSUPPORTED, "the field many");
    refused(READ(&rec,
                 F("strs", "{\"type\":\"array\",\"items\":\"string\"}") "," F("behind", "\"int\""),
                 "\0\0", &w),
            E_UNSUPPORTED, "the field behind");
}

static void test_schemas_that_are_none(void **state)
{
    (void)state;
    struct one o;
    static const struct {
        const char *fields, *because;
        int code;
    } of[] = {
        {F("v", "\"lang\""), "the type \"lang\" is not known", E_CORRUPT},
        {F("v", "\"long\"") "," F("v", "\"int\""), "the field \"v\" is there twice", E_CORRUPT},
        {F("v", "[]"), "a union has no types", E_CORRUPT},
        {F("v", "17"), "a type is neither", E_CORRUPT},
        {F("v", "{\"typ\":1}"), "has no \"type\"", E_CORRUPT},
        {F("v", "{\"type\":\"array\"}"), "does not say of what", E_CORRUPT},
        {F("v", "{\"type\":\"fixed\",\"name\":\"f\"}"), "has no size", E_CORRUPT},
        {F("v", "{\"type\":\"fixed\",\"name\":\"f\",\"size\":-1}"), "has no size", E_CORRUPT},
        {F("v", "{\"type\":\"enum\",\"name\":\"f\",\"symbols\":[]}"), "has no symbols", E_CORRUPT},
        {F("v", "{\"type\":\"enum\",\"symbols\":[\"a\"]}"), "a type has no name", E_CORRUPT},
        {F("v", "{\"type\":\"fixed\",\"name\":\"r\",\"size\":1}"), "declared twice", E_CORRUPT},
        {"{\"name\":\"v\"}", "a field has no name or no type", E_CORRUPT},
        {"5", "a field has no name or no type", E_CORRUPT},
        {F("w", "{\"type\":\"record\",\"name\":\"x\"}"), "a record has no fields", E_CORRUPT},
        {F("v", "\"r\""), "the type \"r\" contains itself", E_UNSUPPORTED},
        {F("v", "[\"null\",{\"type\":\"array\",\"items\":\"r\"}]"), "contains itself",
         E_UNSUPPORTED},
        {F("w", "{\"type\":\"array\",\"items\":\"null\"}"), "items without bytes", E_UNSUPPORTED},
        {F("w", "{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"e\",\"fields\":[" F(
                    "n", "\"null\"") "]}}"),
         "items without bytes", E_UNSUPPORTED},
        {"", "no field v", E_CORRUPT},
        {F("v", "\"long\"") "}", "avro.schema", E_CORRUPT},
    };
    for (size_t i = 0; i < COUNT(of); i++)
        refused(read_with(&one_record, field_schema(of[i].fields), "\0\0", 2, &o), of[i].code,
                of[i].because);
    refused(read_with(&one_record, STR_LIT("\"long\""), "\0", 1, &o), E_CORRUPT, "not of a record");
    refused(read_with(&opt_record, field_schema(""), "", 0, &o), E_UNSUPPORTED,
            "records without bytes");
}

/* Types that refer to others twice each: sixty of them would be 2^60 values. */
static void test_schema_bombs(void **state)
{
    (void)state;
    struct buf b = {0};
    struct one o;
    buf_addz(&b,
             F("v", "\"long\"") "," F("a0", "{\"type\":\"record\",\"name\":\"t0\",\"fields\":[]}"));
    for (int i = 1; i < 60; i++)
        buf_addf(&b,
                 "," F("a%d", "{\"type\":\"record\",\"name\":\"t%d\",\"fields\":[" F(
                                  "x", "\"t%d\"") "," F("y", "\"t%d\"") "]}"),
                 i, i, i - 1, i - 1);
    assert_int_equal(read_with(&one_record, field_schema(buf_z(&b)), "\x0e", 1, &o), 0);
    assert_true(o.v == 7);
    for (int i = 60; i < 80; i++)
        buf_addf(&b,
                 "," F("a%d",
                       "{\"type\":\"record\",\"name\":\"t%d\",\"fields\":[" F("x", "\"t%d\"") "]}"),
                 i, i, i - 1);
    refused(read_with(&one_record, field_schema(buf_z(&b)), "\x0e", 1, &o), E_UNSUPPORTED,
            "more than 64 deep");
    buf_clear(&b);
    buf_addz(&b, F("v", "\"long\""));
    for (int i = 0; i < 1001; i++)
        buf_addf(&b, "," F("a%d", "\"int\""), i);
    refused(read_with(&one_record, field_schema(buf_z(&b)), "\x0e", 1, &o), E_UNSUPPORTED,
            "more than 1000 fields");
    buf_clear(&b);
    buf_addz(&b, F("v", "\"long\""));
    for (int i = 0; i < 600; i++)
        buf_addf(&b, "," F("a%d", "{\"type\":\"fixed\",\"name\":\"f%d\",\"size\":0}"), i, i);
    refused(read_with(&one_record, field_schema(buf_z(&b)), "\x0e", 1, &o), E_UNSUPPORTED,
            "more than 500 types with names");
    buf_clear(&b);
    buf_addz(&b, F("v", "\"long\"") ",{\"name\":\"u\",\"type\":[\"null\"");
    for (int i = 0; i < 10001; i++)
        buf_addz(&b, ",\"int\"");
    buf_addz(&b, "]}");
    refused(read_with(&one_record, field_schema(buf_z(&b)), "\x0e", 1, &o), E_UNSUPPORTED,
            "more than 10000 types");
    buf_clear(&b);
    for (size_t i = 0; i <= AVRO_SCHEMA_MAX; i++)
        buf_addc(&b, ' ');
    refused(read_with(&one_record, buf_str(&b), "", 0, &o), E_UNSUPPORTED, "avro.schema has 10485");
    buf_done(&b);
}

/* --- lists of other encodings ---------------------------------------------------------------------------------- */

#define STRS F("strs", "{\"type\":\"array\",\"items\":\"string\"}")

static void test_odd_lists(void **state)
{
    (void)state;
    static const struct avro_field f[] = {
        {.name = "strs", .type = AVRO_LIST, .item = ITEM_STRING, .at = OUT(strs)},
        {.name = "opts",
         .type = AVRO_LIST,
         .item = ITEM_OPT_LONG,
         .optional = true,
         .at = OUT(opts)},
        {.name = "ints", .type = AVRO_LIST, .item = ITEM_INT, .optional = true, .at = OUT(ints)},
    };
    static const struct avro_record rec = {f, 3, sizeof(struct outer)};
    struct outer a, b;
    assert_int_equal(READ(&rec, STRS, "\x04\x02x\x04yz\0", &a), 0);
    assert_hex(a.strs.items, "027804797a");
    static const char two[] = "\x02\x02x\x02\x04yz\0", sized[] = "\x03\x0a\x02x\x04yz\0";
    assert_int_equal(READ(&rec, STRS, two, &b), 0);
    assert_true(avro_list_eq(&a.strs, &b.strs));
    assert_int_equal(READ(&rec, STRS, sized, &b), 0);
    assert_true(avro_list_eq(&a.strs, &b.strs));
    assert_int_equal(READ(&rec, F("strs", "{\"type\":\"array\",\"items\":[\"null\",\"string\"]}"),
                          "\x04\x02\x02x\x02\x04yz\0", &b),
                     0);
    assert_true(avro_list_eq(&a.strs, &b.strs));
    refused(READ(&rec, F("strs", "{\"type\":\"array\",\"items\":[\"null\",\"string\"]}"),
                 "\x02\0\0", &b),
            E_CORRUPT, "the field strs is wrong");
    assert_int_equal(READ(&rec, STRS "," F("opts", "{\"type\":\"array\",\"items\":\"long\"}"),
                          "\0\x04\x02\x0e\0", &b),
                     0);
    assert_hex(b.opts.items, "0202020e");
    assert_int_equal(READ(&rec,
                          STRS "," F("opts", "{\"type\":\"array\",\"items\":[\"long\",\"null\"]}"),
                          "\0\x04\0\x0e\x02\0", &b),
                     0);
    assert_hex(b.opts.items, "020e00");
    assert_int_equal(READ(&rec, STRS "," F("ints", "{\"type\":\"array\",\"items\":\"long\"}"),
                          "\0\x02\xfe\xff\xff\xff\x0f\0", &b),
                     0);
    refused(READ(&rec, STRS "," F("ints", "{\"type\":\"array\",\"items\":\"long\"}"),
                 "\0\x02\x80\x80\x80\x80\x10\0", &b),
            E_CORRUPT, "the field ints is wrong");
}

static void test_lists_that_are_none(void **state)
{
    (void)state;
    static const struct avro_field f[] = {
        {.name = "strs", .type = AVRO_LIST, .item = ITEM_STRING, .at = OUT(strs)}};
    static const struct avro_record rec = {f, 1, sizeof(struct outer)};
    struct outer a;
    refused(READ(&rec, STRS, "\x02\x04x\0", &a), E_CORRUPT, "the field strs is wrong"); /* short */
    refused(READ(&rec, STRS, "\x02\x03x\0", &a), E_CORRUPT,
            "the field strs is wrong");                                               /* -2 long */
    refused(READ(&rec, STRS, "\x02\x02x", &a), E_CORRUPT, "the field strs is wrong"); /* no end */
    refused(READ(&rec, STRS, "\x02\x02\xff\0", &a), E_CORRUPT,
            "the field strs is wrong"); /* no text */
    refused(READ(&rec, STRS, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\0", &a), E_CORRUPT, "strs");
    refused(READ(&rec, STRS, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0", &a), E_CORRUPT, "strs");
    refused(READ(&rec, STRS, "\x03\x01\x02x\0", &a), E_CORRUPT, "strs"); /* bytes: -1 */
    refused(READ(&rec, STRS, "\0\0", &a), E_CORRUPT, "1 bytes follow its last record");
}

static void test_odd_records(void **state)
{
    (void)state;
    static const struct avro_field f[] = {{.name = "many",
                                           .type = AVRO_RECORDS,
                                           .record = &inner_record,
                                           .optional = true,
                                           .at = OUT(many)}};
    static const struct avro_record rec = {f, 1, sizeof(struct outer)};
#define MANY(items) F("many", "{\"type\":\"array\",\"items\":" items "}")
#define INNER       "{\"type\":\"record\",\"name\":\"i\",\"fields\":[" F("id", "\"int\"") "]}"
    struct outer a;
    assert_int_equal(READ(&rec, MANY(INNER), "\x02\x0e\x01\x02\x10\x02\x12\0", &a), 0);
    const struct inner *items = a.many.items;
    assert_true(a.many.n == 3 && items[0].id == 7 && items[1].id == 8 && items[2].id == 9);
    assert_null(items[2].text.p);
    assert_int_equal(READ(&rec, MANY("[" INNER ",\"null\"]"), "\x02\0\x0e\0", &a), 0);
    refused(READ(&rec, MANY("[" INNER ",\"null\"]"), "\x02\x02\0", &a), E_CORRUPT,
            "the field many");
    refused(READ(&rec, MANY(INNER), "\x80\x01\x0e\0", &a), E_CORRUPT, "the field many");
    refused(READ(&rec, MANY(INNER), "\x02\x80\x80\x80\x80\x10\0", &a), E_CORRUPT, "the field id");
}

/* --- the container ------------------------------------------------------------------------------------------------ */

static void test_blocks(void **state)
{
    (void)state;
    struct one *in = ARENA_ARRAY(&cx.arena, struct one, 40000);
    struct avro_reader r;
    struct one got = {0};
    int64_t i = 0, blocks = 0;
    size_t at = 0;
    for (int64_t k = 0; k < 40000; k++)
        in[k].v = k * 1000003;
    str file = written(&one_record, in, 40000, CODEC_ZSTANDARD);
    assert_int_equal(avro_read_open(&cx, &r, file, STR_LIT("f"), &one_record, false), 0);
    int rc;
    while ((rc = avro_read_next(&cx, &r, &got)) > 0) {
        assert_true(got.v == in[i++].v);
        blocks += r.block_at != at;
        at = r.block_at;
        /* A block ends with the record that makes it 64000 bytes. */
        assert_true(r.end - r.start < (ptrdiff_t)AVRO_BLOCK_SIZE + AVRO_VARINT);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(avro_read_next(&cx, &r, &got), 0);
    assert_true(i == 40000 && blocks == 4);
    avro_read_done(&r);
    avro_read_done(&r);
}

static void test_no_records(void **state)
{
    (void)state;
    void *all;
    size_t n = 7;
    str file = written(&one_record, NULL, 0, CODEC_ZSTANDARD);
    assert_int_equal(avro_read_all(&cx, file, STR_LIT("f"), &one_record, &all, &n), 0);
    assert_int_equal(n, 0);
}

static int read_one(str file)
{
    void *all;
    size_t n;
    return avro_read_all(&cx, file, STR_LIT("the-file"), &one_record, &all, &n);
}

static str with_block(const char *block, size_t len)
{
    struct buf b = avro_file(STR_LIT(ONE_SCHEMA), 1, STR_LIT("\x0e"));
    b.len -= 16 + 3; /* that block */
    buf_add(&b, block, len);
    buf_add(&b, "0123456789abcdef", 16);
    str s = str_dup(&cx.arena, buf_str(&b));
    buf_done(&b);
    return s;
}
#define BLOCK(z) with_block(z, sizeof(z) - 1)

static void test_files_that_are_none(void **state)
{
    (void)state;
    refused(read_one(STR_LIT("")), E_CORRUPT, "the-file: the file is empty");
    refused(read_one(STR_LIT("Obj")), E_CORRUPT, "the-file: it is no Avro file");
    refused(read_one(STR_LIT("PAR1....PAR1")), E_CORRUPT, "it is no Avro file");
    refused(read_one(STR_LIT("Obj\1")), E_CORRUPT, "the header ends at byte 4");
    refused(read_one(STR_LIT("Obj\1\0")), E_CORRUPT, "the header ends at byte 5");
    refused(read_one(STR_LIT("Obj\1\0"
                             "0123456789abcdef")),
            E_CORRUPT, "has no avro.schema");
    refused(read_one(STR_LIT("Obj\1\xd4\x0f"
                             "0123456789abcdef")),
            E_CORRUPT, "too many entries");
    assert_int_equal(read_one(BLOCK("\x02\x02\x0e")), 0);
    refused(read_one(BLOCK("\0\0")), E_CORRUPT,
            "the-file: the block at byte 102: it has no count of records");
    refused(read_one(BLOCK("\x01\x02\x0e")), E_CORRUPT, "no count of records");
    refused(read_one(BLOCK("\x02\x04\x0e")), E_CORRUPT, "it is cut off");
    refused(read_one(BLOCK("\x02\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x0e")), E_CORRUPT,
            "cut off");
    refused(read_one(BLOCK("\x02\0\x0e")), E_CORRUPT, "does not end with the file's sync marker");
    refused(read_one(BLOCK("\x04\x02\x0e")), E_CORRUPT, "it has 1 bytes for 2 records");
    refused(read_one(BLOCK("\x02\x04\x0e\x0e")), E_CORRUPT, "1 bytes follow its last record");
    refused(read_one(BLOCK("\x02\x02\x80")), E_CORRUPT, "the field v is wrong at byte 0");
    struct buf b = {0};
    buf_addz(&b, "Obj\1");
    avro_add_long(&b, 2);
    avro_add_bytes(&b, STR_LIT("avro.codec"));
    avro_add_bytes(&b, STR_LIT("lz4"));
    avro_add_bytes(&b, STR_LIT("avro.schema"));
    avro_add_bytes(&b, STR_LIT(ONE_SCHEMA));
    avro_add_long(&b, 0);
    buf_addz(&b, "0123456789abcdef");
    refused(read_one(buf_str(&b)), E_UNSUPPORTED, "the compression \"lz4\" is not known");
    buf_done(&b);
}

/* Cut anywhere but between blocks it is refused; with any byte changed it is read or refused, and no
 * sanitizer has anything to say. */
static void test_damage(void **state)
{
    (void)state;
    struct outer in[2] = {full(), full()};
    static const enum codec_kind codecs[] = {CODEC_NULL, CODEC_DEFLATE, CODEC_ZSTANDARD};
    for (size_t c = 0; c < COUNT(codecs); c++) {
        str file = written(&outer_record, in, 2, codecs[c]);
        size_t refusals = 0, n;
        void *all;
        struct ctx one;
        struct avro_reader r;
        assert_int_equal(avro_read_open(&cx, &r, file, STR_LIT("f"), &outer_record, false), 0);
        size_t header = r.pos;
        avro_read_done(&r);
        for (size_t cut = 0; cut < file.len; cut++) {
            char *copy = mem_dup(file.p, cut);
            ctx_init(&one, 16 << 20);
            int rc = avro_read_all(&one, str_n(copy, cut), STR_LIT("f"), &outer_record, &all, &n);
            if (rc != (cut == header ? 0 : E_CORRUPT))
                fail_msg("cut at %zu of %zu: %s %s", cut, file.len, err_name(rc), one.err.msg);
            ctx_done(&one);
            mem_free(copy);
        }
        for (size_t at = 0; at < file.len; at++)
            for (int bit = 0; bit < 8; bit += 3) {
                char *copy = mem_dup(file.p, file.len);
                copy[at] = (char)(copy[at] ^ (1 << bit));
                ctx_init(&one, 16 << 20);
                int rc = avro_read_all(&one, str_n(copy, file.len), STR_LIT("f"), &outer_record,
                                       &all, &n);
                assert_true(rc == 0 ||
                            ((rc == E_CORRUPT || rc == E_UNSUPPORTED) && one.err.msg[0]));
                refusals += rc < 0;
                ctx_done(&one);
                mem_free(copy);
            }
        assert_true(refusals > file.len);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    struct outer in[2] = {full(), full()};
    str file = written(&outer_record, in, 2, CODEC_DEFLATE);
    for (long n = 1;; n++) {
        struct ctx one;
        void *all;
        size_t count;
        ctx_init(&one, 16 << 20);
        mem_fail_at(n, 1);
        int rc = avro_read_all(&one, file, STR_LIT("f"), &outer_record, &all, &count);
        mem_fail_at(0, 0);
        assert_true(rc == 0 || (rc == E_NOMEM && one.err.code == E_NOMEM));
        ctx_done(&one);
        if (rc == 0) {
            assert_true(n > 2);
            break;
        }
    }
    for (long n = 1;; n++) {
        struct avro_writer w;
        mem_fail_at(n, 1);
        int rc = avro_write_open(&cx, &w, &outer_record, false, CODEC_DEFLATE, 1);
        rc = rc < 0 ? rc : avro_write_add(&cx, &w, &in[0]);
        rc = rc < 0 ? rc : avro_write_flush(&cx, &w);
        mem_fail_at(0, 0);
        assert_true(rc == 0 || rc == E_NOMEM);
        avro_write_done(&w);
        if (rc == 0) {
            assert_true(n > 3);
            break;
        }
    }
    struct ctx small;
    void *all;
    size_t count;
    ctx_init(&small, 2000); /* the arena's budget counts too */
    assert_int_equal(avro_read_all(&small, file, STR_LIT("f"), &outer_record, &all, &count),
                     E_NOMEM);
    ctx_done(&small);
    ctx_reset_err(&cx);
}

/* --- codecs ---------------------------------------------------------------------------------------------------------- */

static str vector(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "tests/fuzz/corpus/avro/block-%s", name);
    return str_cut(slurp(&cx, path), 1);
}

static bool is_text(str s) /* of the vectors: made by zlib, bz2, lzma and cramjam of Python */
{
    bool ok = s.len == 9 * 200 + 256;
    for (size_t i = 0; ok && i < s.len; i++)
        ok = s.p[i] == (i < 1800 ? "manifest-"[i % 9] : (char)(i - 1800));
    return ok;
}

static void test_codecs(void **state)
{
    (void)state;
    static const char *const names[] = {"deflate", "snappy", "zstandard", "bzip2", "xz"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct codec c;
        enum codec_kind kind;
        struct buf out = {0};
        str packed = vector(names[i]);
        assert_int_equal(codec_find(&cx, str_of(names[i]), &kind), 0);
        assert_string_equal(codec_name(kind), names[i]);
        codec_init(&c, kind);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(codec_unpack(&cx, &c, packed, 2056, &out), 0);
            assert_true(is_text(buf_str(&out)));
        }
        refused(codec_unpack(&cx, &c, packed, 2055, &out), E_CORRUPT,
                "unpack to more than 2055 bytes");
        for (size_t cut = 0; cut < packed.len; cut++) {
            int rc = codec_unpack(&cx, &c, str_n(packed.p, cut), 1 << 20, &out);
            if (rc != E_CORRUPT && !(kind == CODEC_DEFLATE && cut + 3 >= packed.len))
                if (!(kind == CODEC_ZSTANDARD && cut == 0 && out.len == 0))
                    fail_msg("%s cut at %zu: %s", names[i], cut, err_name(rc));
        }
        buf_done(&out);
        codec_done(&c);
        codec_done(&c);
    }
    ctx_reset_err(&cx);
}

static void test_pack(void **state)
{
    (void)state;
    static const enum codec_kind kinds[] = {CODEC_NULL, CODEC_DEFLATE, CODEC_ZSTANDARD};
    for (size_t i = 0; i < COUNT(kinds); i++)
        for (size_t n = 0; n < 300000; n = n * 7 + 1) {
            struct codec c;
            struct buf text = {0}, packed = {0}, back = {0};
            for (size_t k = 0; k < n; k++)
                buf_addc(&text, (char)(k * k >> 5));
            codec_init(&c, kinds[i]);
            buf_addz(&packed, "x");
            assert_int_equal(codec_pack(&cx, &c, 1, buf_str(&text), &packed), 0);
            str block = str_cut(buf_str(&packed), 1);
            assert_int_equal(codec_unpack(&cx, &c, block, n, &back), 0);
            assert_true(str_eq(buf_str(&text), buf_str(&back)));
            codec_done(&c);
            buf_done(&text);
            buf_done(&packed);
            buf_done(&back);
        }
    assert_int_equal(codec_to_write(STR_LIT("zstd")), CODEC_ZSTANDARD);
    assert_int_equal(codec_to_write(STR_LIT("snappy")), CODEC_ZSTANDARD);
    assert_int_equal(codec_to_write(STR_LIT("NULL")), CODEC_NULL);
    assert_int_equal(codec_to_write(STR_LIT("deflate")), CODEC_DEFLATE);
    assert_int_equal(codec_to_write(STR_NONE), CODEC_ZSTANDARD);
}

static int unpack_snappy(const char *p, size_t n, struct buf *out)
{
    struct buf b = {0};
    struct codec c;
    codec_init(&c, CODEC_SNAPPY);
    buf_add(&b, p, n);
    buf_add(&b, "\xff\xff\xff\xff", 4);
    int rc = codec_unpack(&cx, &c, buf_str(&b), 1 << 20, out);
    buf_done(&b);
    return rc;
}

static void test_snappy(void **state)
{
    (void)state;
    /* ff ff ff ff is its own CRC-32. */
    static const struct {
        const char *p;
        size_t n;
        bool ok;
    } of[] = {
        {"\x04\x0c\xff\xff\xff\xff", 6, true},       /* literal */
        {"\x04\xf0\x03\xff\xff\xff\xff", 7, true},   /* its length in one byte */
        {"\x04\xf4\x03\0\xff\xff\xff\xff", 8, true}, /* in two */
        {"\x04\0\xff\x0a\x01\0", 6, true},           /* copy of 3 from 1 back, 2 bytes */
        {"\x04\0\xff\x0b\x01\0\0\0", 8, true},       /* the same, 4 bytes */
        {"\x04\0\xff\x0a\x02\0", 6, false},          /* from before the text */
        {"\x04\0\xff\x0a\0\0", 6, false},            /* from where it stands */
        {"\x04\0\xff\x0e\x01\0", 6, false},          /* more than was said */
        {"\x05\x0c\xff\xff\xff\xff", 6, false},      /* less than was said */
        {"\x04\x0c\xff\xff\xff", 5, false},          /* literal cut off */
        {"\x04\0\xff\x0a\x01", 5, false},            /* copy cut off */
        {"\x04\xfc\xff\xff\xff\xff\xff\xff\xff\xff", 10, false}, /* a literal of 2^32 */
        {"\xff\xff\xff\xff\xff\x01\0", 7, false},                /* a length of 6 bytes */
        {"\x81\x80\x40\0", 4, false},                            /* a MiB of 1 byte */
        {"", 0, false},
    };
    struct buf out = {0};
    for (size_t i = 0; i < COUNT(of); i++) {
        int rc = unpack_snappy(of[i].p, of[i].n, &out);
        if (rc != (of[i].ok ? 0 : E_CORRUPT))
            fail_msg("case %zu: %s", i, err_name(rc));
        if (of[i].ok)
            assert_hex(buf_str(&out), "ffffffff");
    }
    refused(unpack_snappy("\x04\x0c"
                          "abcd",
                          6, &out),
            E_CORRUPT, "are not snappy"); /* its CRC */
    buf_done(&out);
}

/* A megabyte of zeros a block: what comes of it is bounded, whatever it says. */
static void test_bomb(void **state)
{
    (void)state;
    struct codec c;
    struct buf zeros = {0}, packed = {0}, out = {0};
    buf_reserve(&zeros, AVRO_BLOCK_MAX + 1);
    memset(zeros.p, 0, AVRO_BLOCK_MAX + 1);
    zeros.len = AVRO_BLOCK_MAX + 1;
    codec_init(&c, CODEC_ZSTANDARD);
    assert_int_equal(codec_pack(&cx, &c, 1, buf_str(&zeros), &packed), 0);
    assert_true(packed.len < 10000);
    buf_init(&out, AVRO_BLOCK_MAX + 1);
    refused(codec_unpack(&cx, &c, buf_str(&packed), AVRO_BLOCK_MAX, &out), E_CORRUPT,
            "unpack to more than 67108864 bytes");
    assert_true(out.cap <= AVRO_BLOCK_MAX + 1);
    codec_done(&c);
    buf_done(&zeros);
    buf_done(&packed);
    buf_done(&out);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_numbers),
        T(test_numbers_that_are_none),
        T(test_all_types),
        T(test_difference_is_seen),
        T(test_unknown_fields_are_skipped),
        T(test_types_that_fit),
        T(test_union_of_null_and_the_record),
        T(test_types_that_do_not_fit),
        T(test_schemas_that_are_none),
        T(test_schema_bombs),
        T(test_odd_lists),
        T(test_lists_that_are_none),
        T(test_odd_records),
        T(test_blocks),
        T(test_no_records),
        T(test_files_that_are_none),
        T(test_damage),
        T(test_no_memory),
        T(test_codecs),
        T(test_pack),
        T(test_snappy),
        T(test_bomb),
    };
    return cmocka_run_group_tests_name("avro", tests, NULL, NULL);
}
