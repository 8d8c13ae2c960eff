/* test_types.c - data types: SQL text and JSON, in and out. */
#include "tests/unit/manifest/fixture.h"

#include "manifest/types.h"
#include "proto/base/mem.h"

static const struct data_type *parse(const char *text)
{
    const struct data_type *t = NULL;
    if (types_parse(&cx, str_of(text), &t) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return t;
}

static const struct data_type *decode(const char *text)
{
    const struct data_type *t = NULL;
    if (types_decode(&cx, json_of(text), &t) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return t;
}

/* The JSON that t is written as, NUL-terminated, in the arena. */
static const char *encode(const struct data_type *t)
{
    struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    types_encode(&o, t);
    return keep(&b);
}

static void refuses(const char *text, const char *because)
{
    const struct data_type *t = NULL;
    ctx_reset_err(&cx);
    if (types_parse(&cx, str_of(text), &t) != E_INVAL)
        fail_msg("\"%s\" was taken", text);
    assert_null(t);
    assert_int_equal(cx.err.code, E_INVAL);
    if (!strstr(cx.err.msg, because))
        fail_msg("\"%s\": the message is: %s", text, cx.err.msg);
}

static void refuses_json(const char *text, const char *because)
{
    const struct data_type *t = NULL;
    const struct json *v = json_of(text);
    ctx_reset_err(&cx);
    if (types_decode(&cx, v, &t) != E_INVAL)
        fail_msg("%s was taken", text);
    assert_null(t);
    if (!strstr(cx.err.msg, because))
        fail_msg("%s: the message is: %s", text, cx.err.msg);
}

/* Each spelling that is taken, and what it is written as. */
static void test_atomic_spellings(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } all[] = {
        {"CHAR", "CHAR(1)"},
        {"CHAR NOT NULL", "CHAR(1) NOT NULL"},
        {"char not null", "CHAR(1) NOT NULL"},
        {"CHAR NULL", "CHAR(1)"},
        {"CHAR(33)", "CHAR(33)"},
        {"CHAR(2147483647)", "CHAR(2147483647)"},
        {"VARCHAR", "VARCHAR(1)"},
        {"VARCHAR(33)", "VARCHAR(33)"},
        {"VARCHAR(2147483647)", "STRING"},
        {"VARCHAR(2147483646)", "VARCHAR(2147483646)"},
        {"STRING", "STRING"},
        {"string NOT NULL", "STRING NOT NULL"},
        {"BOOLEAN", "BOOLEAN"},
        {"BINARY", "BINARY(1)"},
        {"BINARY(33)", "BINARY(33)"},
        {"BINARY(2147483647)", "BINARY(2147483647)"},
        {"VARBINARY", "VARBINARY(1)"},
        {"VARBINARY(33)", "VARBINARY(33)"},
        {"VARBINARY(2147483647)", "BYTES"},
        {"BYTES", "BYTES"},
        {"DECIMAL", "DECIMAL(10, 0)"},
        {"DEC", "DECIMAL(10, 0)"},
        {"NUMERIC", "DECIMAL(10, 0)"},
        {"DECIMAL(5)", "DECIMAL(5, 0)"},
        {"DEC(10, 3)", "DECIMAL(10, 3)"},
        {"NUMERIC(10,3) NOT NULL", "DECIMAL(10, 3) NOT NULL"},
        {"DECIMAL(38,38)", "DECIMAL(38, 38)"},
        {"DECIMAL( 9 , 002 )", "DECIMAL(9, 2)"},
        {"TINYINT", "TINYINT"},
        {"SMALLINT", "SMALLINT"},
        {"INT", "INT"},
        {"INTEGER", "INT"},
        {"BIGINT", "BIGINT"},
        {"FLOAT", "FLOAT"},
        {"DOUBLE", "DOUBLE"},
        {"DOUBLE PRECISION", "DOUBLE"},
        {"double\tprecision\nnot  null", "DOUBLE NOT NULL"},
        {"DATE", "DATE"},
        {"TIME", "TIME(0)"},
        {"TIME(3)", "TIME(3)"},
        {"TIME WITHOUT TIME ZONE", "TIME(0)"},
        {"TIME(9) WITHOUT TIME ZONE NOT NULL", "TIME(9) NOT NULL"},
        {"TIMESTAMP", "TIMESTAMP(6)"},
        {"TIMESTAMP(0)", "TIMESTAMP(0)"},
        {"TIMESTAMP(9) WITHOUT TIME ZONE", "TIMESTAMP(9)"},
        {"TIMESTAMP WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
        {"TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL",
         "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"},
        {"TIMESTAMP WITH LOCAL TIME ZONE(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"},
        {"TIMESTAMP_LTZ", "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
        {"timestamp_ltz(3) not null", "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"},
        {"VARIANT", "VARIANT"},
        {"BLOB", "BLOB"},
        {"BLOB NOT NULL", "BLOB NOT NULL"},
        {"GEOMETRY", "GEOMETRY(OGC:CRS84)"},
        {"geometry(ogc:crs84) NOT NULL", "GEOMETRY(ogc:crs84) NOT NULL"},
        {"GEOMETRY('EPSG:4326')", "GEOMETRY(EPSG:4326)"},
        {"GEOMETRY('4326')", "GEOMETRY('4326')"},
        {"GEOMETRY(`a b`)", "GEOMETRY('a b')"},
        {"GEOMETRY('it''s')", "GEOMETRY('it''s')"},
        {"GEOMETRY('a``b')", "GEOMETRY('a``b')"},
        {"GEOMETRY(int)", "GEOMETRY(int)"},
        {"GEOMETRY('\xC3\xA9')", "GEOMETRY('\xC3\xA9')"},
        {"GEOGRAPHY", "GEOGRAPHY(OGC:CRS84, spherical)"},
        {"GEOGRAPHY(EPSG:4326, karney)", "GEOGRAPHY(EPSG:4326, karney)"},
        {"GEOGRAPHY(x, 'VINCENTY')", "GEOGRAPHY(x, vincenty)"},
        {"GEOGRAPHY(x,Thomas)", "GEOGRAPHY(x, thomas)"},
        {"GEOGRAPHY(x, ANDOYER) NOT NULL", "GEOGRAPHY(x, andoyer) NOT NULL"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct data_type *t = parse(all[i].in);
        char want[128];
        snprintf(want, sizeof want, "\"%s\"", all[i].out);
        assert_string_equal(encode(t), want);
        assert_true(types_equal(t, parse(all[i].out)));
        assert_true(types_equal(t, decode(want)));
    }
}

static void test_values(void **state)
{
    (void)state;
    const struct data_type *t = parse("DECIMAL(18, 3) NOT NULL");
    assert_int_equal(t->kind, TYPE_DECIMAL);
    assert_int_equal(t->precision, 18);
    assert_int_equal(t->scale, 3);
    assert_false(t->nullable);
    t = parse("STRING");
    assert_int_equal(t->kind, TYPE_VARCHAR);
    assert_int_equal(t->length, TYPE_LENGTH_MAX);
    assert_true(t->nullable);
    t = parse("TIMESTAMP(3) WITH LOCAL TIME ZONE");
    assert_int_equal(t->kind, TYPE_TIMESTAMP_LTZ);
    assert_int_equal(t->precision, 3);
    t = parse("GEOGRAPHY(EPSG:4326, karney)");
    assert_int_equal(t->kind, TYPE_GEOGRAPHY);
    assert_true(str_eqz(t->crs, "EPSG:4326"));
    assert_int_equal(t->edges, EDGES_KARNEY);
}

static void test_nested_in_sql(void **state)
{
    (void)state;
    assert_string_equal(encode(parse("VECTOR<FLOAT, 3>")),
                        "{\"type\":\"VECTOR\",\"element\":\"FLOAT\",\"length\":3}");
    assert_string_equal(encode(parse("vector<int not null, 5> NOT NULL")),
                        "{\"type\":\"VECTOR NOT NULL\",\"element\":\"INT NOT NULL\",\"length\":5}");
    assert_string_equal(encode(parse("INT ARRAY")), "{\"type\":\"ARRAY\",\"element\":\"INT\"}");
    assert_string_equal(encode(parse("INT NOT NULL MULTISET NOT NULL")),
                        "{\"type\":\"MULTISET NOT NULL\",\"element\":\"INT NOT NULL\"}");
    assert_string_equal(encode(parse("VECTOR<INT, 2> ARRAY")),
                        "{\"type\":\"ARRAY\",\"element\":{\"type\":\"VECTOR\",\"element\":\"INT\","
                        "\"length\":2}}");
}

static void test_bad_sql(void **state)
{
    (void)state;
    refuses("", "this is no type");
    refuses("   ", "this is no type");
    refuses("INTT", "allowed are BOOLEAN, TINYINT");
    refuses("INTT", "ARRAY, MULTISET, VECTOR, MAP, ROW");
    refuses("NULL", "this is no type");
    refuses("CHAR VARYING", "found \"VARYING\"");
    refuses("INT(4)", "found \"(\"");
    refuses("STRING(4)", "found \"(\"");
    refuses("INT NOT", "expected NULL");
    refuses("INT NULL NULL", "expected nothing more");
    refuses("INT NOT NULL x", "found \"x\"");
    refuses("'INT'", "this is no type");
    refuses("`INT`", "this is no type");
    refuses("33", "this is no type");
    refuses("VARCHAR(test)", "expected the length, found \"test\"");
    refuses("VARCHAR(33333333333)", "the length must be between 1 and 2147483647");
    refuses("VARCHAR(99999999999999999999999999)", "the length must be between 1 and 2147483647");
    refuses("CHAR(0)", "the length must be between 1 and 2147483647");
    refuses("CHAR(-1)", "expected the length, found \"-1\"");
    refuses("BINARY(2147483648)", "the length must be between 1 and 2147483647");
    refuses("CHAR(", "it ends too early");
    refuses("CHAR(3", "it ends too early, expected ')'");
    refuses("CHAR()", "expected the length");
    refuses("CHAR(3,4)", "expected ')'");
    refuses("DECIMAL(0)", "the precision must be between 1 and 38");
    refuses("DECIMAL(39, 2)", "the precision must be between 1 and 38");
    refuses("DECIMAL(9, 10)", "the scale must be between 0 and 9");
    refuses("DECIMAL(9, )", "expected the scale");
    refuses("TIME(10)", "the precision must be between 0 and 9");
    refuses("TIMESTAMP(10)", "the precision must be between 0 and 9");
    refuses("TIMESTAMP_LTZ(10)", "the precision must be between 0 and 9");
    refuses("TIMESTAMP(3) WITH TIME ZONE", "expected LOCAL");
    refuses("TIMESTAMP WITH", "expected LOCAL");
    refuses("TIMESTAMP WITH LOCAL TIME", "expected ZONE");
    refuses("TIMESTAMP(3) WITH LOCAL TIME ZONE(3)", "found \"(\"");
    refuses("TIMESTAMP WITH LOCAL TIME ZONE(10)", "the precision must be between 0 and 9");
    refuses("TIME WITH LOCAL TIME ZONE", "found \"WITH\"");
    refuses("GEOMETRY()", "expected the coordinate reference system");
    refuses("GEOMETRY('')", "must not be empty");
    refuses("GEOMETRY(4326)", "expected the coordinate reference system");
    refuses("GEOMETRY('x", "it ends too early");
    refuses("GEOMETRY(x, karney)", "expected ')'");
    refuses("GEOGRAPHY(x, rhumb)", "spherical, vincenty, thomas, andoyer, karney");
    refuses("ARRAY<INT>", "JSON object, {\"type\":\"ARRAY\"");
    refuses("ROW<a INT>", "JSON object");
    refuses("INT ARRAY ARRAY", "expected nothing more");
    refuses("VECTOR<FLOAT>", "expected ','");
    refuses("VECTOR<FLOAT, 0>", "the length must be between 1");
    refuses("VECTOR<STRING, 3>", "the element of a VECTOR must be one of BOOLEAN");
    refuses("VECTOR<VECTOR<INT, 1>, 1>", "JSON object");
    refuses("INT\xC2\xA0NOT NULL", "this is no type");
}

/* The text is quoted in the message and must not fill it. */
static void test_long_text(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    char *z = mem_alloc(N + 1);
    assert_non_null(z);
    memset(z, 'X', N);
    z[N] = 0;
    refuses(z, "allowed are BOOLEAN");
    memcpy(z, "VECTOR<", 7);
    for (size_t i = 0; i + 7 <= N; i += 7)
        memcpy(z + i, "VECTOR<", 7);
    refuses(z, "JSON object");
    mem_free(z);
}

static void test_nested_json(void **state)
{
    (void)state;
    static const char *const same[] = {
        "{\"type\":\"ARRAY\",\"element\":\"TIMESTAMP(3) WITH LOCAL TIME ZONE\"}",
        "{\"type\":\"ARRAY NOT NULL\",\"element\":\"INT\"}",
        "{\"type\":\"MULTISET\",\"element\":\"INT NOT NULL\"}",
        "{\"type\":\"MAP\",\"key\":\"BIGINT NOT NULL\",\"value\":\"BOOLEAN\"}",
        "{\"type\":\"VECTOR NOT NULL\",\"element\":\"TINYINT NOT NULL\",\"length\":11}",
        "{\"type\":\"ROW\",\"fields\":[]}",
        "{\"type\":\"ROW NOT NULL\",\"fields\":[{\"id\":0,\"name\":\"f0\",\"type\":\"INT NOT "
        "NULL\","
        "\"description\":\"my \\\"comment\\\"\",\"defaultValue\":\"55\"},{\"id\":7,\"name\":\"f1\","
        "\"type\":{\"type\":\"MAP NOT NULL\",\"key\":\"STRING\",\"value\":{\"type\":\"ARRAY\","
        "\"element\":{\"type\":\"ROW\",\"fields\":[{\"id\":8,\"name\":\"x\",\"type\":\"DATE\"}]}}}}"
        "]}",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const struct data_type *t = decode(same[i]);
        assert_string_equal(encode(t), same[i]);
        assert_true(types_equal(t, decode(encode(t))));
    }
    const struct data_type *t = decode(same[3]);
    assert_int_equal(t->kind, TYPE_MAP);
    assert_int_equal(t->key->kind, TYPE_BIGINT);
    assert_false(t->key->nullable);
    assert_int_equal(t->value->kind, TYPE_BOOLEAN);
    t = decode(same[6]);
    assert_int_equal(t->n_fields, 2);
    assert_true(str_eqz(t->fields[0].description, "my \"comment\""));
    assert_true(str_eqz(t->fields[0].default_value, "55"));
    assert_null(t->fields[1].description.p);
}

/* What pypaimon and others write around it. */
static void test_lenient_json(void **state)
{
    (void)state;
    const char *want = "{\"type\":\"ARRAY\",\"element\":\"INT\"}";
    assert_string_equal(
        encode(decode("{\"type\":\"ARRAY\",\"element\":\"INT\",\"nullable\":true}")), want);
    /* The text decides, as in Java. */
    assert_string_equal(
        encode(decode("{\"nullable\":false,\"element\":\"INT\",\"type\":\"ARRAY\"}")), want);
    assert_string_equal(encode(decode("{\"type\":\" array null \",\"element\":\"INT\",\"x\":[1]}")),
                        want);
    const struct data_type *t =
        decode("{\"type\":\"ROW\",\"fields\":[{\"id\":3,\"name\":\"a\",\"type\":\"INT\","
               "\"description\":null,\"defaultValue\":null},{\"id\":4,\"name\":\"b\","
               "\"type\":\"INT\",\"description\":\"\",\"defaultValue\":5}]}");
    assert_null(t->fields[0].description.p);
    assert_null(t->fields[0].default_value.p);
    assert_non_null(t->fields[1].description.p);
    assert_int_equal(t->fields[1].description.len, 0);
    assert_true(str_eqz(t->fields[1].default_value, "5"));
}

static void test_numbering(void **state)
{
    (void)state;
    const struct data_type *t =
        decode("{\"type\":\"ROW\",\"fields\":[{\"name\":\"a\",\"type\":\"INT\"},{\"name\":\"b\","
               "\"id\":null,\"type\":{\"type\":\"ARRAY\",\"element\":{\"type\":\"ROW\",\"fields\":["
               "{\"name\":\"x\",\"type\":\"INT\"},{\"name\":\"y\",\"type\":\"INT\"}]}}},"
               "{\"name\":\"c\",\"type\":\"INT\"}]}");
    assert_int_equal(t->fields[0].id, 0);
    assert_int_equal(t->fields[1].id, 1);
    assert_int_equal(t->fields[1].type->value->fields[0].id, 2);
    assert_int_equal(t->fields[1].type->value->fields[1].id, 3);
    assert_int_equal(t->fields[2].id, 4);
    refuses_json("{\"type\":\"ROW\",\"fields\":[{\"name\":\"a\",\"type\":\"INT\"},"
                 "{\"id\":1,\"name\":\"b\",\"type\":\"INT\"}]}",
                 "1 fields have an id and 1 have none");
    refuses_json(
        "{\"type\":\"ROW\",\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":{\"type\":\"ROW\","
        "\"fields\":[{\"name\":\"x\",\"type\":\"INT\"}]}}]}",
        "1 fields have an id and 1 have none");
}

static void test_bad_json(void **state)
{
    (void)state;
    refuses_json("5", "a type must be a string, or an object for ARRAY");
    refuses_json("null", "a type must be a string");
    refuses_json("[\"INT\"]", "a type must be a string");
    refuses_json("{}", "type is missing");
    refuses_json("{\"type\":5}", "type must be a string");
    refuses_json("{\"type\":\"INT\"}", "an object is for ARRAY, MULTISET, VECTOR, MAP, ROW");
    refuses_json("{\"type\":\"ARRAYS\",\"element\":\"INT\"}", "an object is for ARRAY");
    refuses_json("{\"type\":\"ARRAY NOT\",\"element\":\"INT\"}", "expected NULL");
    refuses_json("{\"type\":\"ARRAY<INT>\",\"element\":\"INT\"}", "expected nothing more");
    refuses_json("{\"type\":\"ARRAY\"}", "\"element\" is missing");
    refuses_json("{\"type\":\"ARRAY\",\"element\":null}", "\"element\" is missing");
    refuses_json("{\"type\":\"ARRAY\",\"element\":\"INTT\"}", "element: type \"INTT\": this is no");
    refuses_json("{\"type\":\"MAP\",\"key\":\"INT\"}", "\"value\" is missing");
    refuses_json("{\"type\":\"MAP\",\"value\":\"INT\"}", "\"key\" is missing");
    refuses_json("{\"type\":\"MAP\",\"key\":\"INT\",\"value\":7}",
                 "value: a type must be a string");
    refuses_json("{\"type\":\"VECTOR\",\"element\":\"INT\"}", "length is missing");
    refuses_json("{\"type\":\"VECTOR\",\"element\":\"INT\",\"length\":0}",
                 "between 1 and 2147483647");
    refuses_json("{\"type\":\"VECTOR\",\"element\":\"INT\",\"length\":2147483648}",
                 "between 1 and");
    refuses_json("{\"type\":\"VECTOR\",\"element\":\"DATE\",\"length\":3}",
                 "of a VECTOR must be one");
    refuses_json("{\"type\":\"ROW\"}", "fields is missing");
    refuses_json("{\"type\":\"ROW\",\"fields\":{}}", "fields must be an array");
    refuses_json("{\"type\":\"ROW\",\"fields\":[7]}", "a field must be an object");
    refuses_json("{\"type\":\"ROW\",\"fields\":[{\"type\":\"INT\"}]}", "name is missing");
    refuses_json("{\"type\":\"ROW\",\"fields\":[{\"name\":\" \\t\",\"type\":\"INT\"}]}", "blank");
    refuses_json("{\"type\":\"ROW\",\"fields\":[{\"name\":\"a\"}]}", "column \"a\"");
    refuses_json("{\"type\":\"ROW\",\"fields\":[{\"name\":\"a\",\"type\":\"INT\",\"id\":-1}]}",
                 "id is -1; it must be between 0 and 2147483647");
    refuses_json(
        "{\"type\":\"ROW\",\"fields\":[{\"name\":\"a\",\"type\":\"INT\",\"id\":2147483648}]}",
        "between 0 and 2147483647");
    refuses_json("{\"type\":\"ROW\",\"fields\":[{\"name\":\"a\",\"type\":\"INT\",\"id\":\"1\"}]}",
                 "id must be an integer");
    refuses_json(
        "{\"type\":\"ROW\",\"fields\":[{\"name\":\"a\",\"type\":\"INT\",\"description\":[]}]}",
        "column \"a\": description must be a string");
    refuses_json("{\"type\":\"ROW\",\"fields\":[{\"name\":\"a\",\"type\":\"INT\"},{\"name\":\"A\","
                 "\"type\":\"INT\"},{\"name\":\"a\",\"type\":\"INT\"}]}",
                 "\"a\" is there twice");
    refuses_json(
        "{\"type\":\"ROW\",\"fields\":[{\"name\":\"a\",\"type\":{\"type\":\"ARRAY\","
        "\"element\":{\"type\":\"ROW\",\"fields\":[{\"name\":\"b\",\"type\":\"FOO\"}]}}}]}",
        "column \"a\": element: column \"b\": type \"FOO\": this is no type");
}

/* n nested arrays around INT. */
static void array_of(struct buf *b, int n)
{
    buf_clear(b);
    for (int i = 0; i < n; i++)
        buf_addz(b, "{\"type\":\"ARRAY\",\"element\":");
    buf_addz(b, "\"INT\"");
    for (int i = 0; i < n; i++)
        buf_addc(b, '}');
}

static void test_depth(void **state)
{
    (void)state;
    struct buf b = {0};
    array_of(&b, TYPES_DEPTH_MAX);
    assert_string_equal(encode(decode(buf_z(&b))), buf_z(&b));
    array_of(&b, TYPES_DEPTH_MAX + 1);
    refuses_json(buf_z(&b), "nested too deep");
    /* A ROW costs three levels; siblings cost nothing. */
    buf_clear(&b);
    for (int i = 0; i < 16; i++)
        buf_addf(&b,
                 "{\"type\":\"ROW\",\"fields\":[{\"id\":%d,\"name\":\"s\",\"type\":\"INT\"},"
                 "{\"id\":%d,\"name\":\"a\",\"type\":",
                 2 * i, 2 * i + 1);
    buf_addz(&b, "\"INT\"");
    for (int i = 0; i < 16; i++)
        buf_addz(&b, "}]}");
    assert_string_equal(encode(decode(buf_z(&b))), buf_z(&b));
    buf_clear(&b);
    for (int i = 0; i < 17; i++)
        buf_addz(&b, "{\"type\":\"ROW\",\"fields\":[{\"name\":\"a\",\"type\":");
    buf_addz(&b, "\"INT\"");
    for (int i = 0; i < 17; i++)
        buf_addz(&b, "}]}");
    refuses_json(buf_z(&b), "nested too deep");
    /* What stands side by side does not add up. */
    buf_clear(&b);
    for (int i = 0; i <= TYPES_DEPTH_MAX; i++)
        buf_addf(&b,
                 "%s{\"id\":%d,\"name\":\"c%d\",\"type\":{\"type\":\"ARRAY\",\"element\":\"INT\"}}",
                 i ? "," : "{\"type\":\"ROW\",\"fields\":[", i, i);
    buf_addz(&b, "]}");
    assert_string_equal(encode(decode(buf_z(&b))), buf_z(&b));
    buf_done(&b);
}

static void test_equal(void **state)
{
    (void)state;
    static const char *const all[] = {
        "\"INT\"",
        "\"INT NOT NULL\"",
        "\"BIGINT\"",
        "\"CHAR(2)\"",
        "\"CHAR(3)\"",
        "\"DECIMAL(9, 2)\"",
        "\"DECIMAL(9, 3)\"",
        "\"DECIMAL(8, 2)\"",
        "\"TIME(3)\"",
        "\"TIMESTAMP(3)\"",
        "\"TIMESTAMP_LTZ(3)\"",
        "\"GEOMETRY(a)\"",
        "\"GEOMETRY(b)\"",
        "\"GEOGRAPHY(a)\"",
        "\"GEOGRAPHY(a, karney)\"",
        "{\"type\":\"ARRAY\",\"element\":\"INT\"}",
        "{\"type\":\"ARRAY\",\"element\":\"BIGINT\"}",
        "{\"type\":\"MULTISET\",\"element\":\"INT\"}",
        "{\"type\":\"VECTOR\",\"element\":\"INT\",\"length\":1}",
        "{\"type\":\"VECTOR\",\"element\":\"INT\",\"length\":2}",
        "{\"type\":\"MAP\",\"key\":\"INT\",\"value\":\"INT\"}",
        "{\"type\":\"MAP\",\"key\":\"BIGINT\",\"value\":\"INT\"}",
        "{\"type\":\"MAP\",\"key\":\"INT\",\"value\":\"BIGINT\"}",
        "{\"type\":\"ROW\",\"fields\":[]}",
        "{\"type\":\"ROW\",\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"}]}",
        "{\"type\":\"ROW\",\"fields\":[{\"id\":1,\"name\":\"a\",\"type\":\"INT\"}]}",
        "{\"type\":\"ROW\",\"fields\":[{\"id\":0,\"name\":\"b\",\"type\":\"INT\"}]}",
        "{\"type\":\"ROW\",\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"DATE\"}]}",
        "{\"type\":\"ROW\",\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\",\"description\":"
        "\"\"}]}",
        "{\"type\":\"ROW\",\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\",\"description\":"
        "\"x\"}]}",
        "{\"type\":\"ROW\",\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\",\"defaultValue\":"
        "\"x\"}]}",
    };
    enum { N = sizeof all / sizeof *all };
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            assert_true(types_equal(decode(all[i]), decode(all[j])) == (i == j));
    assert_true(types_equal(parse("GEOMETRY(epsg:1)"), parse("GEOMETRY('EPSG:1')")));
}

static void test_with_nullable(void **state)
{
    (void)state;
    const struct data_type *t = decode("{\"type\":\"ROW\",\"fields\":[{\"id\":0,\"name\":\"a\","
                                       "\"type\":\"INT\"}]}");
    assert_ptr_equal(types_with_nullable(&cx.arena, t, true), t);
    const struct data_type *n = types_with_nullable(&cx.arena, t, false);
    assert_true(t->nullable); /* the given one is not touched */
    assert_false(n->nullable);
    assert_string_equal(encode(n),
                        "{\"type\":\"ROW NOT NULL\",\"fields\":[{\"id\":0,\"name\":\"a\","
                        "\"type\":\"INT\"}]}");
    assert_true(types_equal(types_with_nullable(&cx.arena, n, true), t));
    struct arena tiny;
    arena_init(&tiny, 1);
    assert_null(types_with_nullable(&tiny, t, false));
    arena_done(&tiny);
}

static void test_contains(void **state)
{
    (void)state;
    const struct data_type *t =
        decode("{\"type\":\"MAP\",\"key\":\"DATE\",\"value\":{\"type\":\"ROW\",\"fields\":["
               "{\"id\":0,\"name\":\"a\",\"type\":{\"type\":\"ARRAY\",\"element\":\"BLOB\"}}]}}");
    assert_true(types_contains(t, TYPE_MAP));
    assert_true(types_contains(t, TYPE_DATE));
    assert_true(types_contains(t, TYPE_BLOB));
    assert_false(types_contains(t, TYPE_INT));
    assert_false(types_contains(parse("INT"), TYPE_BIGINT));
}

static void test_ids(void **state)
{
    (void)state;
    const struct data_field *f;
    size_t n;
    const struct json *v = json_of(
        "[{\"id\":3,\"name\":\"a\",\"type\":{\"type\":\"MAP\",\"key\":{\"type\":\"ROW\","
        "\"fields\":[{\"id\":9,\"name\":\"x\",\"type\":\"INT\"}]},\"value\":{\"type\":\"ROW\","
        "\"fields\":[{\"id\":12,\"name\":\"x\",\"type\":\"INT\"}]}}},"
        "{\"id\":2147483641,\"name\":\"b\",\"type\":\"INT\"}]");
    assert_int_equal(types_decode_fields(&cx, v, "schema.fields", true, &f, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(types_highest_id(f, n), 12); /* Paimon's own do not count */
    assert_int_equal(types_highest_id(f, 0), FIELD_ID_NONE);
    assert_int_equal(types_check_ids(&cx, f, 1), 0);
    assert_int_equal(types_check_ids(&cx, f, 0), 0);
    assert_int_equal(types_check_ids(&cx, f, 2), E_INVAL);
    assert_non_null(strstr(cx.err.msg, "the field id 2147483641 is too high"));
    v = json_of(
        "[{\"id\":3,\"name\":\"a\",\"type\":{\"type\":\"ROW\",\"fields\":[{\"id\":4,\"name\":"
        "\"x\",\"type\":\"INT\"}]}},{\"id\":4,\"name\":\"b\",\"type\":\"INT\"}]");
    assert_int_equal(types_decode_fields(&cx, v, "schema.fields", true, &f, &n), 0);
    assert_int_equal(types_check_ids(&cx, f, n), E_INVAL);
    assert_non_null(strstr(cx.err.msg, "4 is there twice"));
}

static void test_decode_fields(void **state)
{
    (void)state;
    const struct data_field *f;
    size_t n;
    assert_int_equal(types_decode_fields(&cx, json_of("[]"), "p", true, &f, &n), 0);
    assert_int_equal(n, 0);
    const struct json *v =
        json_of("[{\"name\":\"a\",\"type\":\"INT\"},{\"name\":\"b\",\"type\":5}]");
    assert_int_equal(types_decode_fields(&cx, v, "schema.fields", false, &f, &n), E_INVAL);
    assert_non_null(strstr(cx.err.msg, "schema.fields: column \"b\": a type must be"));
    v = json_of("[{\"name\":\"a\",\"type\":\"INT\"}]");
    assert_int_equal(types_decode_fields(&cx, v, "p", true, &f, &n), E_INVAL);
    assert_non_null(strstr(cx.err.msg, "every field needs an id"));
    assert_int_equal(types_decode_fields(&cx, v, "p", false, &f, &n), 0);
    assert_int_equal(f[0].id, 0);
}

static void test_many_fields(void **state)
{
    (void)state;
    enum { N = 20000 };
    const struct data_field *f;
    size_t n;
    struct buf b = {0};
    buf_addc(&b, '[');
    for (int i = 0; i < N; i++)
        buf_addf(&b, "%s{\"id\":%d,\"name\":\"c%d\",\"type\":\"INT\"}", i ? "," : "", N - i, i);
    buf_addc(&b, ']');
    assert_int_equal(types_decode_fields(&cx, json_of(buf_z(&b)), "p", true, &f, &n), 0);
    assert_int_equal(n, N);
    assert_int_equal(types_check_ids(&cx, f, n), 0);
    assert_int_equal(types_highest_id(f, n), N);
    buf_done(&b);
}

static void test_sql_text(void **state)
{
    (void)state;
    struct buf b = {0};
    types_sql(
        &b,
        decode("{\"type\":\"ROW NOT NULL\",\"fields\":[{\"id\":0,\"name\":\"a`b\",\"type\":"
               "{\"type\":\"MAP\",\"key\":\"INT\",\"value\":{\"type\":\"VECTOR\",\"element\":"
               "\"FLOAT\",\"length\":3}},\"description\":\"it's\",\"defaultValue\":\"1\"},"
               "{\"id\":1,\"name\":\"c\",\"type\":{\"type\":\"ARRAY\",\"element\":\"DATE\"}}]}"));
    assert_string_equal(buf_z(&b),
                        "ROW<`a``b` MAP<INT, VECTOR<FLOAT, 3>> COMMENT 'it''s' DEFAULT 1, "
                        "`c` ARRAY<DATE>> NOT NULL");
    buf_done(&b);
    assert_true(str_eqz(types_sql_str(&cx.arena, parse("DEC(9,2)")), "DECIMAL(9, 2)"));
    struct buf name = {0};
    buf_addz(&name, "{\"type\":\"ROW\",\"fields\":[{\"id\":0,\"type\":\"INT\",\"name\":\"");
    for (int i = 0; i < 300; i++)
        buf_addz(&name, "\xC3\xA9");
    buf_addz(&name, "\"}]}");
    str cut = types_sql_str(&cx.arena, decode(buf_z(&name)));
    assert_int_equal(cut.len, 199); /* the character that begins there needs two bytes */
    assert_true(str_utf8_valid(cut));
    buf_done(&name);
}

/* Fails the n-th allocation, whichever it is, until all succeed: an error each time, never less. */
static void test_no_memory(void **state)
{
    (void)state;
    const char *text = "[{\"id\":0,\"name\":\"a\",\"type\":{\"type\":\"ROW\",\"fields\":[{\"id\":1,"
                       "\"name\":\"x\",\"type\":\"GEOMETRY('it''s')\"},{\"id\":2,\"name\":\"y\","
                       "\"type\":\"INT ARRAY\"}]}},{\"id\":3,\"name\":\"b\",\"type\":\"INT\"}]";
    const struct json *v = json_of(text);
    int failures = 0;
    for (size_t max = 0;; max += 64) {
        struct ctx small;
        const struct data_field *f = NULL;
        size_t n = 0;
        ctx_init(&small, max);
        int rc = types_decode_fields(&small, v, "p", true, &f, &n);
        assert_true(rc == 0 || rc == E_NOMEM);
        failures += rc < 0;
        if (rc < 0)
            assert_null(f);
        ctx_done(&small);
        if (rc == 0)
            break;
        assert_true(max < 1 << 20);
    }
    assert_true(failures > 0);
    const struct data_field *f;
    size_t n;
    mem_fail_at(1, 0);
    int rc = types_decode_fields(&cx, v, "p", true, &f, &n);
    mem_fail_at(0, 0);
    assert_true(rc == E_NOMEM || rc == 0);
    assert_int_equal(types_decode_fields(&cx, v, "p", true, &f, &n), 0);
    mem_fail_at(1, 1);
    rc = types_check_ids(&cx, f, n);
    mem_fail_at(0, 0);
    assert_int_equal(rc, E_NOMEM);
    /* A text that could not be written whole fails the document. */
    struct buf b;
    struct json_out o;
    buf_init(&b, 8);
    json_out_init(&o, &b);
    types_encode(&o, f[0].type);
    assert_int_equal(buf_fail(&b), E_TOOBIG);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_atomic_spellings), T(test_values),      T(test_nested_in_sql), T(test_bad_sql),
        T(test_long_text),        T(test_nested_json), T(test_lenient_json),  T(test_numbering),
        T(test_bad_json),         T(test_depth),       T(test_equal),         T(test_with_nullable),
        T(test_contains),         T(test_ids),         T(test_decode_fields), T(test_many_fields),
        T(test_sql_text),         T(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
