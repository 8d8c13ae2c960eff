/* test_schema.c - schemas: create requests, golden files of three clients, what is refused. */
#include "tests/unit/manifest/fixture.h"

#include <ftw.h>
#include "manifest/schema.h"
#include "proto/base/mem.h"

/* A schema with columns a INT, b STRING NOT NULL, c {type}, and `rest` (",\"k\":v") behind them. */
#define FIELDS                                                                                     \
    "\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},"                                      \
    "{\"id\":1,\"name\":\"b\",\"type\":\"STRING NOT NULL\"},"                                      \
    "{\"id\":2,\"name\":\"c\",\"type\":\"DATE\"}]"
#define SCHEMA(rest) "{" FIELDS rest "}"
#define OPTIONS(o)   SCHEMA(",\"options\":{" o "}")

static int decode(const char *text, struct schema *ret)
{
    return schema_decode(&cx, json_of(text), "schema", ret);
}

static struct schema good(const char *text)
{
    struct schema s;
    if (decode(text, &s) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return s;
}

static void refuses(const char *text, const char *because)
{
    struct schema s = {.n_fields = 4711};
    int rc = decode(text, &s);
    if (rc != E_INVAL)
        fail_msg("%s: %d %s", text, rc, cx.err.msg);
    assert_int_equal(s.n_fields, 4711); /* not written */
    if (!strstr(cx.err.msg, because))
        fail_msg("%s: the message is: %s", text, cx.err.msg);
}

static void check_refuses(const char *text, int code, const char *because)
{
    struct schema s = good(text);
    int rc = schema_check_table(&cx, &s);
    if (rc != code)
        fail_msg("%s: %d %s", text, rc, cx.err.msg);
    assert_int_equal(cx.err.code, code);
    if (!strstr(cx.err.msg, because))
        fail_msg("%s: the message is: %s", text, cx.err.msg);
}

static void check_takes(const char *text)
{
    struct schema s = good(text);
    if (schema_check_table(&cx, &s) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
}

static const char *encode(const struct schema *s)
{
    struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    schema_encode(&o, s);
    return keep(&b);
}

static const char *encode_file(const struct table_schema *ts)
{
    struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    schema_encode_file(&o, ts);
    return keep(&b);
}

static struct table_schema good_file(const char *text)
{
    struct table_schema ts;
    if (schema_decode_file(&cx, str_of(text), STR_LIT("schema-0"), &ts) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return ts;
}

static void assert_list(const struct str_list *l, const char *want) /* "a,b" */
{
    struct buf b = {0};
    for (size_t i = 0; i < l->n; i++) {
        buf_addz(&b, i ? "," : "");
        buf_adds(&b, l->items[i]);
    }
    assert_string_equal(buf_z(&b), want);
    buf_done(&b);
}

/* --- golden files --- */

static int walked;

static int walk(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    if (type != FTW_F || !strstr(path, "/schema/"))
        return 0;
    struct table_schema a, b;
    if (schema_decode_file(&cx, slurp(path), str_of(path + ftw->base), &a) != 0)
        fail_msg("%s: %s", path, cx.err.msg);
    const char *text = encode_file(&a);
    assert_int_equal(schema_decode_file(&cx, str_of(text), STR_LIT("again"), &b), 0);
    assert_true(schema_equal(&a.schema, &b.schema));
    assert_true(a.version == b.version && a.id == b.id && a.time_millis == b.time_millis &&
                a.highest_field_id == b.highest_field_id);
    assert_string_equal(encode_file(&b), text);
    assert_null(strstr(text, "null"));
    assert_int_equal(schema_check_table(&cx, &a.schema), 0);
    /* As a create request it gives the same schema. */
    struct schema s = good(encode(&a.schema));
    assert_true(schema_equal(&s, &a.schema));
    walked++;
    return 0;
}

static void test_golden_walk(void **state)
{
    (void)state;
    walked = 0;
    assert_int_equal(nftw("tests/golden/json", walk, 16, FTW_PHYS), 0);
    assert_true(walked >= 10);
}

/* What Java wrote comes out in the same bytes, but for the blanks and the order of the options. */
static void test_golden_java(void **state)
{
    (void)state;
    struct table_schema ts;
    str text = slurp("tests/golden/json/java-2.1/types/schema/schema-0");
    assert_int_equal(schema_decode_file(&cx, text, STR_LIT("schema-0"), &ts), 0);
    struct buf b = {0};
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        quoted ^= text.p[i] == '"';
        if (quoted || !strchr(" \n", text.p[i]))
            buf_addc(&b, text.p[i]);
    }
    assert_string_equal(encode_file(&ts), keep(&b));
    assert_int_equal(ts.version, 3);
    assert_int_equal(ts.id, 0);
    assert_int_equal(ts.highest_field_id, 26);
    assert_true(ts.time_millis == 1796040467304);
    assert_int_equal(ts.schema.n_fields, 25);
    assert_list(&ts.schema.primary_keys, "k");
    assert_list(&ts.schema.partition_keys, "");
    assert_true(str_eqz(schema_option(&ts.schema, "bucket"), "1"));
    const struct data_field *st = schema_field(&ts.schema, STR_LIT("st"));
    assert_int_equal(st->type->kind, TYPE_ROW);
    assert_int_equal(st->type->fields[1].id, 26);
    text = slurp("tests/golden/json/java-2.1/pk_fileindex/schema/schema-1");
    assert_int_equal(schema_decode_file(&cx, text, STR_LIT("schema-1"), &ts), 0);
    assert_int_equal(ts.id, 1);
    assert_true(str_eqz(schema_option(&ts.schema, "snapshot.time-retained"), "2 h"));
}

static void test_golden_python(void **state)
{
    (void)state;
    struct table_schema ts;
    str text = slurp("tests/golden/json/py/types/schema/schema-0");
    assert_int_equal(schema_decode_file(&cx, text, STR_LIT("schema-0"), &ts), 0);
    assert_null(ts.schema.comment.p); /* "comment": null is no comment */
    assert_null(strstr(encode_file(&ts), "comment"));
    assert_null(strstr(encode(&ts.schema), "comment"));
    assert_null(strstr(encode_file(&ts), "nullable"));
    const struct data_field *f = schema_field(&ts.schema, STR_LIT("ltz3"));
    assert_int_equal(f->type->kind, TYPE_TIMESTAMP_LTZ);
    assert_non_null(strstr(encode_file(&ts), "\"TIMESTAMP(3) WITH LOCAL TIME ZONE\""));
    f = schema_field(&ts.schema, STR_LIT("mp"));
    assert_false(f->type->key->nullable);
    assert_int_equal(ts.highest_field_id, 22);
}

/* --- create requests --- */

static void test_decode(void **state)
{
    (void)state;
    struct schema s =
        good("{\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\",\"description\":\"d\"},"
             "{\"id\":1,\"name\":\"b\",\"type\":\"STRING\",\"defaultValue\":\"x\"}],"
             "\"partitionKeys\":[\"a\"],\"primaryKeys\":[\"b\",\"a\"],"
             "\"options\":{\"bucket\":\"2\",\"a\":\"\"},\"comment\":\"hello\",\"unknown\":{}}");
    assert_string_equal(
        encode(&s),
        "{\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT NOT NULL\",\"description\":\"d\"},"
        "{\"id\":1,\"name\":\"b\",\"type\":\"STRING NOT NULL\",\"defaultValue\":\"x\"}],"
        "\"partitionKeys\":[\"a\"],\"primaryKeys\":[\"b\",\"a\"],"
        "\"options\":{\"a\":\"\",\"bucket\":\"2\"},\"comment\":\"hello\"}");
    assert_int_equal(schema_check_table(&cx, &s), 0);
}

/* What clients leave out; options, partitionKeys and primaryKeys are always written. */
static void test_absent(void **state)
{
    (void)state;
    static const char *const all[] = {
        "{\"fields\":[]}",
        "{\"fields\":[],\"partitionKeys\":null,\"primaryKeys\":null,\"options\":null,"
        "\"comment\":null}",
        "{\"fields\":[],\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{}}",
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct schema s = good(all[i]);
        assert_null(s.comment.p);
        assert_string_equal(
            encode(&s), "{\"fields\":[],\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{}}");
        assert_int_equal(schema_first(&s, 1).highest_field_id, FIELD_ID_NONE);
        assert_int_equal(schema_check_table(&cx, &s), 0);
    }
    struct schema s = good("{\"fields\":[],\"comment\":\"\"}");
    assert_non_null(s.comment.p); /* empty is a comment */
    assert_non_null(strstr(encode(&s), "\"comment\":\"\""));
    s = good("{\"fields\":[],\"comment\":\"null\"}");
    assert_true(str_eqz(s.comment, "null"));
}

static void test_key_options(void **state)
{
    (void)state;
    struct schema s = good(OPTIONS("\"primary-key\":\" a , b,,\",\"partition\":\"a\",\"x\":\"y\""));
    assert_list(&s.primary_keys, "a,b");
    assert_list(&s.partition_keys, "a");
    assert_null(schema_option(&s, "primary-key").p);
    assert_null(schema_option(&s, "partition").p);
    assert_true(str_eqz(schema_option(&s, "x"), "y"));
    assert_false(schema_field(&s, STR_LIT("a"))->type->nullable);
    s = good(OPTIONS("\"primary-key\":\"\",\"partition\":\" ,\""));
    assert_list(&s.primary_keys, "");
    assert_list(&s.partition_keys, "");
    assert_int_equal(s.options.n, 0);
    refuses(SCHEMA(",\"primaryKeys\":[\"a\"],\"options\":{\"primary-key\":\"a\"}"),
            "primaryKeys and the option primary-key are both given");
    refuses(SCHEMA(",\"partitionKeys\":[\"a\"],\"options\":{\"partition\":\"\"}"),
            "partitionKeys and the option partition are both given");
    refuses(OPTIONS("\"primary-key\":\"nope\""), "\"nope\", which is not among the fields");
    refuses(OPTIONS("\"partition\":\"a,a\""), "the partition keys name the column \"a\" twice");
}

static void test_key_nullability(void **state)
{
    (void)state;
    struct schema s = good(SCHEMA(",\"primaryKeys\":[\"a\"]"));
    assert_false(schema_field(&s, STR_LIT("a"))->type->nullable);
    assert_true(schema_field(&s, STR_LIT("c"))->type->nullable);
    s = good(
        SCHEMA(",\"primaryKeys\":[\"a\",\"b\"],\"options\":{\"primary-key.nullable\":\"TRUE\"}"));
    assert_true(schema_field(&s, STR_LIT("a"))->type->nullable);
    assert_true(schema_field(&s, STR_LIT("b"))->type->nullable); /* it was NOT NULL */
    s = good(SCHEMA(",\"primaryKeys\":[\"a\"],\"options\":{\"primary-key.nullable\":false}"));
    assert_false(schema_field(&s, STR_LIT("a"))->type->nullable);
    /* Partition keys alone stay as they are. */
    s = good(SCHEMA(",\"partitionKeys\":[\"a\"]"));
    assert_true(schema_field(&s, STR_LIT("a"))->type->nullable);
    refuses(SCHEMA(",\"primaryKeys\":[\"a\"],\"options\":{\"primary-key.nullable\":\"yes\"}"),
            "'yes' for key 'primary-key.nullable': it must be true or false");
}

static void test_keys(void **state)
{
    (void)state;
    refuses(SCHEMA(",\"primaryKeys\":[\"a\",\"b\",\"a\"]"),
            "the primary keys name the column \"a\" tw");
    refuses(SCHEMA(",\"primaryKeys\":[\"a\",\"z\"]"), "\"z\", which is not among the fields");
    refuses(SCHEMA(",\"primaryKeys\":[\"0\"]"), "\"0\", which is not among the fields");
    refuses(SCHEMA(",\"primaryKeys\":[\"A\"]"), "\"A\", which is not among the fields");
    refuses(SCHEMA(",\"partitionKeys\":[\"\"]"), "the partition keys name the column \"\"");
    refuses("{\"fields\":[],\"partitionKeys\":[\"a\"]}", "not among the fields");
    assert_int_equal(cx.err.res, RES_COLUMN);
    assert_string_equal(cx.err.res_name, "a");
    struct buf b = {0};
    buf_addz(&b, "{" FIELDS ",\"primaryKeys\":[");
    for (int i = 0; i < SCHEMA_KEYS_MAX + 1; i++)
        buf_addf(&b, "%s\"k%d\"", i ? "," : "", i);
    buf_addz(&b, "]}");
    refuses(keep(&b), "there are 1025 primary keys; at most 1024 are taken");
}

static void test_fields(void **state)
{
    (void)state;
    refuses("{\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},"
            "{\"id\":1,\"name\":\"a\",\"type\":\"DATE\"}]}",
            "column names must be unique, \"a\" is there twice");
    refuses("{\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},"
            "{\"id\":0,\"name\":\"b\",\"type\":\"DATE\"}]}",
            "field ids must be unique, 0 is there twice");
    refuses("{\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":{\"type\":\"ROW\",\"fields\":["
            "{\"id\":1,\"name\":\"x\",\"type\":\"INT\"}]}},{\"id\":1,\"name\":\"b\","
            "\"type\":\"DATE\"}]}",
            "field ids must be unique, 1 is there twice");
    refuses("{\"fields\":[{\"id\":1073741823,\"name\":\"a\",\"type\":\"INT\"}]}",
            "the field id 1073741823 is too high");
    good("{\"fields\":[{\"id\":1073741822,\"name\":\"a\",\"type\":\"INT\"}]}");
    refuses("{\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},"
            "{\"name\":\"b\",\"type\":\"DATE\"}]}",
            "1 fields have an id and 1 have none");
    refuses("{\"fields\":[{\"id\":0,\"name\":\"v\",\"type\":\"TEXT\"}]}",
            "schema.fields: column \"v\": type \"TEXT\": this is no type; allowed are BOOLEAN");
    refuses("{\"fields\":[{\"id\":0,\"name\":\"\",\"type\":\"INT\"}]}",
            "field.name must not be blank");
    struct schema s =
        good("{\"fields\":[{\"name\":\"a\",\"type\":{\"type\":\"ROW\",\"fields\":["
             "{\"name\":\"x\",\"type\":\"INT\"}]}},{\"name\":\"b\",\"type\":\"INT\"}]}");
    assert_int_equal(s.fields[0].id, 0);
    assert_int_equal(s.fields[0].type->fields[0].id, 1);
    assert_int_equal(s.fields[1].id, 2);
    struct table_schema ts = schema_first(&s, 77);
    assert_int_equal(ts.highest_field_id, 2);
    assert_string_equal(
        encode_file(&ts),
        "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":"
        "{\"type\":\"ROW\",\"fields\":[{\"id\":1,\"name\":\"x\",\"type\":\"INT\"}]}},"
        "{\"id\":2,\"name\":\"b\",\"type\":\"INT\"}],\"highestFieldId\":2,"
        "\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{},\"timeMillis\":77}");
}

static void test_bad_members(void **state)
{
    (void)state;
    refuses("[]", "schema must be an object");
    refuses("{}", "schema.fields is missing");
    refuses("{\"fields\":null}", "schema.fields must be an array");
    refuses("{\"fields\":{}}", "schema.fields must be an array");
    refuses(SCHEMA(",\"partitionKeys\":\"a\""), "schema.partitionKeys must be an array");
    refuses(SCHEMA(",\"primaryKeys\":[1]"), "schema.primaryKeys[0] must be a string");
    refuses(SCHEMA(",\"primaryKeys\":[null]"), "schema.primaryKeys[0] must be a string");
    refuses(SCHEMA(",\"options\":[]"), "schema.options must be an object");
    refuses(OPTIONS("\"x\":null"), "schema.options.x must be a string");
    refuses(OPTIONS("\"x\":[]"), "schema.options.x must be a string");
    refuses(SCHEMA(",\"comment\":{}"), "schema.comment must be a string");
}

/* --- options --- */

static void test_option_values(void **state)
{
    (void)state;
    struct schema s = good(OPTIONS("\"bucket\":1,\"t\":true,\"d\":1.50,\"e\":\"\""));
    assert_true(str_eqz(schema_option(&s, "bucket"), "1"));
    assert_true(str_eqz(schema_option(&s, "t"), "true"));
    assert_true(str_eqz(schema_option(&s, "d"), "1.50"));
    assert_non_null(schema_option(&s, "e").p);
    assert_null(schema_option(&s, "f").p);
}

static void test_path_option(void **state)
{
    (void)state;
    struct schema s = good(OPTIONS("\"path\":\"/x/y\",\"z\":\"1\""));
    assert_true(str_eqz(s.path, "/x/y"));
    assert_null(schema_option(&s, "path").p);
    assert_null(strstr(encode(&s), "/x/y"));
    struct table_schema ts = schema_first(&s, 0);
    assert_null(strstr(encode_file(&ts), "/x/y"));
    assert_null(good(SCHEMA("")).path.p);
    ts = good_file(
        "{\"version\":3,\"id\":0,\"fields\":[],\"highestFieldId\":-1,\"partitionKeys\":[],"
        "\"primaryKeys\":[],\"options\":{\"path\":\"/old\"}}");
    assert_true(str_eqz(ts.schema.path, "/old"));
    assert_int_equal(ts.schema.options.n, 0);
}

static void test_change_options(void **state)
{
    (void)state;
    struct schema s = good(OPTIONS("\"b\":\"1\",\"d\":\"2\"")), before = s;
    assert_int_equal(schema_set_option(&cx, &s, STR_LIT("a"), STR_LIT("3")), 0);
    assert_int_equal(schema_set_option(&cx, &s, STR_LIT("c"), STR_LIT("4")), 0);
    assert_int_equal(schema_set_option(&cx, &s, STR_LIT("e"), STR_LIT("5")), 0);
    assert_int_equal(schema_set_option(&cx, &s, STR_LIT("b"), STR_LIT("")), 0);
    assert_non_null(strstr(encode(&s),
                           "\"options\":{\"a\":\"3\",\"b\":\"\",\"c\":\"4\",\"d\":\"2\","
                           "\"e\":\"5\"}"));
    assert_int_equal(schema_remove_option(&cx, &s, STR_LIT("a")), 0);
    assert_int_equal(schema_remove_option(&cx, &s, STR_LIT("d")), 0);
    assert_int_equal(schema_remove_option(&cx, &s, STR_LIT("e")), 0);
    assert_int_equal(schema_remove_option(&cx, &s, STR_LIT("nope")), 0);
    assert_non_null(strstr(encode(&s), "\"options\":{\"b\":\"\",\"c\":\"4\"}"));
    assert_non_null(
        strstr(encode(&before), "\"options\":{\"b\":\"1\",\"d\":\"2\"}")); /* untouched */
    assert_int_equal(schema_remove_option(&cx, &s, STR_LIT("b")), 0);
    assert_int_equal(schema_remove_option(&cx, &s, STR_LIT("c")), 0);
    assert_int_equal(s.options.n, 0);
    schema_set_comment(&s, STR_LIT("x"));
    assert_non_null(strstr(encode(&s), "\"comment\":\"x\""));
    schema_set_comment(&s, STR_NONE);
    assert_null(strstr(encode(&s), "comment"));
}

static void test_equal(void **state)
{
    (void)state;
    static const char *const all[] = {
        SCHEMA(""),
        SCHEMA(",\"partitionKeys\":[\"a\"]"),
        SCHEMA(",\"partitionKeys\":[\"a\",\"c\"]"),
        SCHEMA(",\"partitionKeys\":[\"c\",\"a\"]"),
        SCHEMA(",\"primaryKeys\":[\"b\"]"),
        SCHEMA(",\"comment\":\"\""),
        SCHEMA(",\"comment\":\"x\""),
        OPTIONS("\"x\":\"1\""),
        OPTIONS("\"x\":\"2\""),
        OPTIONS("\"y\":\"1\""),
        "{\"fields\":[]}",
        "{\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"}]}",
        "{\"fields\":[{\"id\":5,\"name\":\"a\",\"type\":\"INT\"}]}",
    };
    enum { N = sizeof all / sizeof *all };
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            struct schema a = good(all[i]), b = good(all[j]);
            assert_true(schema_equal(&a, &b) == (i == j));
        }
    struct schema a = good(OPTIONS("\"x\":\"1\",\"y\":\"2\"")),
                  b = good(OPTIONS("\"y\":\"2\",\"x\":1"));
    assert_true(schema_equal(&a, &b));
}

/* --- what Paimon refuses in tables with data files --- */

#define ONE(name, type) "{\"fields\":[{\"id\":90,\"name\":\"" name "\",\"type\":" type "}]}"
#define ROW_OF(type)                                                                               \
    "{\"type\":\"ROW\",\"fields\":["                                                               \
    "{\"id\":9,\"name\":\"x\",\"type\":" type "}]}"
#define ARRAY_OF(type)     "{\"type\":\"ARRAY\",\"element\":" type "}"
#define MAP_OF(key, value) "{\"type\":\"MAP\",\"key\":" key ",\"value\":" value "}"

static void test_reserved_names(void **state)
{
    (void)state;
    check_refuses(ONE("_SEQUENCE_NUMBER", "\"INT\""), E_INVAL, "rename the column");
    check_refuses(ONE("_VALUE_KIND", "\"INT\""), E_INVAL, "rename the column");
    check_refuses(ONE("_LEVEL", "\"INT\""), E_INVAL, "rename the column");
    check_refuses(ONE("_ROW_ID", "\"INT\""), E_INVAL, "rename the column");
    check_refuses(ONE("rowkind", "\"INT\""), E_INVAL, "\"rowkind\" itself");
    check_refuses(ONE("_KEY_", "\"INT\""), E_INVAL, "begin with _KEY_");
    check_refuses(ONE("_KEY_id", "\"INT\""), E_INVAL, "begin with _KEY_");
    check_takes(ONE("ROWKIND", "\"INT\""));
    check_takes(ONE("_KEY", "\"INT\""));
    check_takes(ONE("_level", "\"INT\""));
}

static void test_key_types(void **state)
{
    (void)state;
#define KEYED(keys, type)                                                                          \
    "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":" type "},{\"id\":1,\"name\":\"o\",\"type\":"  \
    "\"INT\"}],\"" keys "\":[\"k\"]}"
    check_refuses(KEYED("primaryKeys", ARRAY_OF("\"INT\"")), E_UNSUPPORTED,
                  "the primary key \"k\" is of type ARRAY");
    check_refuses(KEYED("partitionKeys", MAP_OF("\"INT\"", "\"INT\"")), E_UNSUPPORTED,
                  "the partition key \"k\" is of type MAP");
    check_refuses(KEYED("primaryKeys", ROW_OF("\"INT\"")), E_UNSUPPORTED, "of type ROW");
    check_refuses(KEYED("primaryKeys", "\"INT MULTISET\""), E_UNSUPPORTED, "of type MULTISET");
    check_refuses(KEYED("primaryKeys", "\"VECTOR<INT, 2>\""), E_UNSUPPORTED, "of type VECTOR");
    check_refuses(KEYED("primaryKeys", "\"VARIANT\""), E_UNSUPPORTED, "of type VARIANT");
    check_refuses(KEYED("partitionKeys", "\"GEOMETRY\""), E_UNSUPPORTED, "of type GEOMETRY");
    check_refuses(KEYED("primaryKeys", "\"GEOGRAPHY\""), E_UNSUPPORTED, "of type GEOGRAPHY");
    static const char *const fine[] = {
        KEYED("primaryKeys", "\"CHAR(3)\""),   KEYED("primaryKeys", "\"STRING\""),
        KEYED("primaryKeys", "\"BOOLEAN\""),   KEYED("primaryKeys", "\"BYTES\""),
        KEYED("primaryKeys", "\"DECIMAL\""),   KEYED("primaryKeys", "\"DOUBLE\""),
        KEYED("partitionKeys", "\"DATE\""),    KEYED("partitionKeys", "\"TIME\""),
        KEYED("primaryKeys", "\"TIMESTAMP\""), KEYED("primaryKeys", "\"TIMESTAMP_LTZ\""),
    };
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        check_takes(fine[i]);
}

static void test_primary_key_rules(void **state)
{
    (void)state;
    check_refuses(SCHEMA(",\"primaryKeys\":[\"a\"],\"partitionKeys\":[\"a\"]"), E_INVAL,
                  "only partition columns");
    check_refuses(SCHEMA(",\"primaryKeys\":[\"a\",\"b\"],\"partitionKeys\":[\"b\",\"a\",\"c\"]"),
                  E_INVAL, "only partition columns");
    check_takes(SCHEMA(",\"primaryKeys\":[\"a\",\"b\"],\"partitionKeys\":[\"a\"]"));
    check_takes(SCHEMA(",\"primaryKeys\":[\"b\"],\"partitionKeys\":[\"a\"]")); /* cross partition */
    check_refuses(OPTIONS("\"primary-key.nullable\":\"true\""), E_INVAL,
                  "only for tables with primary");
    check_takes(OPTIONS("\"primary-key.nullable\":\"false\""));
    check_takes(SCHEMA(",\"primaryKeys\":[\"a\"],\"options\":{\"primary-key.nullable\":\"true\"}"));
}

static void test_bucket_key(void **state)
{
    (void)state;
#define BUCKET_KEY(k) OPTIONS("\"bucket\":\"2\",\"bucket-key\":\"" k "\"")
    check_takes(BUCKET_KEY("a"));
    check_takes(BUCKET_KEY("a,c"));
    check_takes(BUCKET_KEY("a,,"));
    check_refuses(BUCKET_KEY(""), E_INVAL, "You should define a 'bucket-key'");
    check_refuses(BUCKET_KEY(" "), E_INVAL, "You should define a 'bucket-key'");
    check_refuses(BUCKET_KEY(","), E_INVAL, "You should define a 'bucket-key'");
    check_refuses(BUCKET_KEY("a,a"), E_INVAL, "the column \"a\" twice");
    check_refuses(OPTIONS("\"bucket-key\":\"\""), E_INVAL, "Cannot define 'bucket-key'");
    check_refuses(BUCKET_KEY("z"), E_INVAL, "\"z\", which is no column");
    check_refuses(BUCKET_KEY("a, c"), E_INVAL, "\" c\", which is no column");
    check_refuses(BUCKET_KEY("a,,c"), E_INVAL, "\"\", which is no column");
#define BUCKET "\"options\":{\"bucket\":\"2\",\"bucket-key\":"
    check_refuses(SCHEMA(",\"partitionKeys\":[\"a\"]," BUCKET "\"a\"}"), E_INVAL,
                  "the partition key \"a\"");
    check_refuses(SCHEMA(",\"primaryKeys\":[\"a\"]," BUCKET "\"c\"}"), E_INVAL,
                  "\"c\", which is no primary key");
    check_takes(SCHEMA(",\"primaryKeys\":[\"a\",\"b\"]," BUCKET "\"b\"}"));
    check_takes(SCHEMA(",\"primaryKeys\":[\"a\",\"b\"]," BUCKET "\"b,b\"}"));
    check_takes(SCHEMA(",\"primaryKeys\":[\"a\",\"b\"]," BUCKET "\",\"}"));
    check_refuses("{\"fields\":[{\"id\":0,\"name\":\"l\",\"type\":" ARRAY_OF("\"INT\"") "}]," BUCKET
                                                                                        "\"l\"}}",
                  E_INVAL, "of the nested type ARRAY");
    struct buf b = {0};
    buf_addz(&b, "{\"fields\":[");
    for (int i = 0; i <= SCHEMA_KEYS_MAX; i++)
        buf_addf(&b, "%s{\"id\":%d,\"name\":\"c%d\",\"type\":\"INT\"}", i ? "," : "", i, i);
    buf_addz(&b, "]," BUCKET "\"");
    for (int i = 0; i <= SCHEMA_KEYS_MAX; i++)
        buf_addf(&b, "c%d,", i);
    buf_addz(&b, "\"}}");
    check_refuses(keep(&b), E_INVAL, "more than 1024 columns");
}

static void test_blob(void **state)
{
    (void)state;
    check_refuses(ONE("b", "\"BLOB\""), E_INVAL, "Data evolution config must enabled");
    check_takes(ONE("b", ARRAY_OF("\"BLOB\"")));
    check_takes(ONE("b", MAP_OF("\"INT\"", "\"BLOB\"")));
    check_refuses(ONE("b", ROW_OF("\"BLOB\"")), E_INVAL, "column \"b\" has the type ROW<`x` BLOB>");
    check_refuses(ONE("b", ARRAY_OF(ARRAY_OF("\"BLOB\""))), E_INVAL, "a BLOB may only be");
    check_refuses(ONE("b", MAP_OF("\"BLOB\"", "\"INT\"")), E_INVAL, "a BLOB may only be");
    check_refuses(ONE("b", MAP_OF("\"INT\"", ARRAY_OF("\"BLOB\""))), E_INVAL, "a BLOB may only be");
    check_refuses(ONE("b", "\"BLOB MULTISET\""), E_INVAL, "a BLOB may only be");
}

/* --- files --- */

#define FILE_OF(head, tail)                                                                        \
    "{" head FIELDS ",\"highestFieldId\":9,\"partitionKeys\":[],\"primaryKeys\":[]"                \
    ",\"options\":{}" tail "}"

static void test_file_versions(void **state)
{
    (void)state;
    struct table_schema ts = good_file(FILE_OF("\"id\":4,", ""));
    assert_int_equal(ts.version, 1); /* none is 0.7 */
    assert_int_equal(ts.id, 4);
    assert_int_equal(ts.highest_field_id, 9);
    assert_int_equal(ts.time_millis, 0);
    assert_true(str_eqz(schema_option(&ts.schema, "bucket"), "1"));
    assert_true(str_eqz(schema_option(&ts.schema, "file.format"), "orc"));
    assert_non_null(strstr(encode_file(&ts), "{\"version\":3,\"id\":4,"));
    ts = good_file(FILE_OF("\"version\":2,\"id\":4,", ""));
    assert_null(schema_option(&ts.schema, "bucket").p);
    assert_true(str_eqz(schema_option(&ts.schema, "file.format"), "orc"));
    ts = good_file(FILE_OF("\"version\":3,\"id\":4,", ",\"timeMillis\":null"));
    assert_int_equal(ts.schema.options.n, 0);
    ts = good_file("{\"version\":1,\"id\":0," FIELDS ",\"highestFieldId\":2,\"options\":"
                   "{\"bucket\":\"7\",\"file.format\":\"avro\"}}");
    assert_true(str_eqz(schema_option(&ts.schema, "bucket"), "7"));
    assert_true(str_eqz(schema_option(&ts.schema, "file.format"), "avro"));
    struct table_schema none = {.id = 4711};
    assert_int_equal(schema_decode_file(&cx, STR_LIT(FILE_OF("\"version\":4,\"id\":4,", "")),
                                        STR_LIT("t/schema/schema-4"), &none),
                     E_UNSUPPORTED);
    assert_int_equal(none.id, 4711);
    assert_string_equal(
        cx.err.msg,
        "t/schema/schema-4: schema.version is 4; this server knows schemas up to version 3");
}

/* Nothing in a file is made better than it is, only the counter that new ids are taken from. */
static void test_file_as_it_is(void **state)
{
    (void)state;
    struct table_schema ts = good_file(
        "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT\"},{\"id\":1,"
        "\"name\":\"r\",\"type\":{\"type\":\"ROW\",\"fields\":[{\"id\":1,\"name\":\"x\",\"type\":"
        "\"INT\"},{\"id\":7,\"name\":\"y\",\"type\":\"INT\"}]}}],\"highestFieldId\":1,"
        "\"partitionKeys\":[],\"primaryKeys\":[\"k\"],\"options\":{\"primary-key\":\"x\"},"
        "\"comment\":\"c\",\"timeMillis\":5,\"later\":1}");
    assert_true(schema_field(&ts.schema, STR_LIT("k"))->type->nullable);
    assert_true(str_eqz(schema_option(&ts.schema, "primary-key"), "x"));
    assert_int_equal(ts.schema.fields[1].type->fields[0].id, 1); /* twice, and kept */
    assert_int_equal(ts.highest_field_id, 7);
    assert_true(str_eqz(ts.schema.comment, "c"));
}

static void test_bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *because;
    } bad[] = {
        {"", "the file is empty"},
        {"{", "the file is not valid JSON"},
        {"[]", "schema must be an object"},
        {"{}", "schema.fields is missing"},
        {FILE_OF("\"version\":0,\"id\":1,", ""), "schema.version is 0"},
        {FILE_OF("", ""), "schema.id is missing"},
        {FILE_OF("\"id\":-1,", ""), "schema.id is -1"},
        {FILE_OF("\"id\":\"0\",", ""), "schema.id must be an integer"},
        {"{\"id\":0," FIELDS "}", "schema.highestFieldId is missing"},
        {"{\"id\":0," FIELDS ",\"highestFieldId\":-2}", "schema.highestFieldId is -2"},
        {"{\"id\":0," FIELDS ",\"highestFieldId\":2147483648}",
         "schema.highestFieldId is 2147483648"},
        {"{\"id\":0,\"fields\":[{\"name\":\"a\",\"type\":\"INT\"}],\"highestFieldId\":0}",
         "every field needs an id"},
        {"{\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"?\"}],\"highestFieldId\":0}",
         "column \"a\": type \"?\": this is no type"},
        {"{\"id\":0," FIELDS ",\"highestFieldId\":2,\"primaryKeys\":[\"z\"]}",
         "\"z\", which is not"},
        {"{\"id\":0," FIELDS ",\"highestFieldId\":2,\"partitionKeys\":[\"a\",\"a\"]}",
         "\"a\" twice"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct table_schema ts = {.id = 4711};
        ctx_reset_err(&cx);
        int rc = schema_decode_file(&cx, str_of(bad[i].text), STR_LIT("t/schema/schema-1"), &ts);
        if (rc != E_CORRUPT || !strstr(cx.err.msg, bad[i].because))
            fail_msg("%s: %d %s", bad[i].text, rc, cx.err.msg);
        assert_int_equal(cx.err.code, E_CORRUPT);
        assert_int_equal(ts.id, 4711);
        assert_int_equal(strncmp(cx.err.msg, "t/schema/schema-1: ", 19), 0);
    }
    static const char whole[] = FILE_OF("\"id\":4,", "");
    struct table_schema ts;
    for (size_t n = 0; n < sizeof whole - 1; n++)
        assert_int_equal(schema_decode_file(&cx, str_n(whole, n), STR_LIT("f"), &ts), E_CORRUPT);
}

static void test_no_memory(void **state)
{
    (void)state;
    const char *text =
        SCHEMA(",\"options\":{\"primary-key\":\"a,b\",\"path\":\"/p\",\"partition\":\"a\"}");
    bool failed = false;
    for (size_t max = 0;; max += 64) {
        struct ctx small;
        struct schema s = {.n_fields = 4711};
        const struct json *v;
        ctx_init(&small, max);
        int rc = json_parse(&small, str_of(text), "test", &v);
        if (rc == 0)
            rc = schema_decode(&small, v, "schema", &s);
        assert_true(rc == 0 || rc == E_NOMEM);
        assert_true(s.n_fields == (rc == 0 ? 3u : 4711u));
        failed |= rc < 0;
        ctx_done(&small);
        if (rc == 0)
            break;
        assert_true(max < 1 << 20);
    }
    assert_true(failed);
    /* And the allocations outside the arena. */
    for (long n = 1;; n++) {
        struct ctx small;
        struct table_schema ts;
        ctx_init(&small, 1 << 20);
        mem_fail_at(n, 0);
        int rc = schema_decode_file(
            &small, STR_LIT("{\"id\":0," FIELDS ",\"highestFieldId\":2,\"primaryKeys\":[\"a\"]}"),
            STR_LIT("f"), &ts);
        mem_fail_at(0, 0);
        ctx_done(&small);
        assert_true(rc == 0 || rc == E_NOMEM);
        if (rc == 0)
            break;
        assert_true(n < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_golden_walk),
        T(test_golden_java),
        T(test_golden_python),
        T(test_decode),
        T(test_absent),
        T(test_key_options),
        T(test_key_nullability),
        T(test_keys),
        T(test_fields),
        T(test_bad_members),
        T(test_option_values),
        T(test_path_option),
        T(test_change_options),
        T(test_equal),
        T(test_reserved_names),
        T(test_key_types),
        T(test_primary_key_rules),
        T(test_bucket_key),
        T(test_blob),
        T(test_file_versions),
        T(test_file_as_it_is),
        T(test_bad_files),
        T(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
