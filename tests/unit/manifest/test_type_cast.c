/* test_type_cast.c - which type may become which. The expected table was printed by Paimon 1.4.2
 * itself (SchemaManager with each pair of types, with and without disable-explicit-type-casting). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "manifest/type_cast.h"

static struct ctx cx;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 64 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

static const struct data_type *type(const char *text)
{
    const struct data_type *t = NULL;
    const struct json *v = NULL;
    int rc = text[0] == '{' ? json_parse(&cx, str_of(text), "test", &v) : 0;
    if (rc == 0)
        rc = v ? types_decode(&cx, v, &t) : types_parse(&cx, str_of(text), &t);
    if (rc != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return t;
}

static const struct row {
    const char *type;
    const char *from; /* i: implicitly, e: explicitly, of the types in the order of the rows */
} rows[] = {
    {"CHAR(3)", "ieeeeeeeeeeee.....e..ee"},
    {"VARCHAR(3)", "iiieeeeeeeeee.....e..ee"},
    {"STRING", "iiieeeeeeeeeeeeee.e..ee"},
    {"BOOLEAN", "eee....eeee............"},
    {"BINARY(3)", "eee.ie................."},
    {"BYTES", "eee.ii................."},
    {"DECIMAL(9, 2)", "eeee..iiiiiii.........."},
    {"TINYINT", "eeee..eieeeee.........."},
    {"SMALLINT", "eeee..eiieeee.........."},
    {"INT", "eeee..eiiieee..ee......"},
    {"BIGINT", "eeee..eiiiiee..ee......"},
    {"FLOAT", "eeee..iiiiiie.........."},
    {"DOUBLE", "eeee..iiiiiii.........."},
    {"DATE", "eee............ie......"},
    {"TIME(3)", "eee............ie......"},
    {"TIMESTAMP(3)", "eee......ee..eeii......"},
    {"TIMESTAMP(3) WITH LOCAL TIME ZONE", "eee......ee..eeii......"},
    {"VARIANT", "......................."},
    {"{\"type\":\"ARRAY\",\"element\":\"INT\"}", "......................."},
    {"{\"type\":\"VECTOR\",\"element\":\"FLOAT\",\"length\":3}", "......................."},
    {"{\"type\":\"MULTISET\",\"element\":\"INT\"}", "......................."},
    {"{\"type\":\"MAP\",\"key\":\"INT\",\"value\":\"INT\"}", "......................."},
    {"{\"type\":\"ROW\",\"fields\":[]}", "......................."},
};
enum { N = sizeof rows / sizeof *rows };

static void every_pair(void **state)
{
    (void)state;
    for (int to = 0; to < N; to++) {
        assert_int_equal(strlen(rows[to].from), N);
        for (int from = 0; from < N; from++) {
            const struct data_type *a = type(rows[from].type), *b = type(rows[to].type);
            char want = rows[to].from[from];
            if (types_may_cast(a, b, false) != (want == 'i') ||
                types_may_cast(a, b, true) != (want != '.'))
                fail_msg("%s to %s is not '%c'", rows[from].type, rows[to].type, want);
        }
    }
}

static void kinds_without_casts(void **state)
{
    (void)state;
    static const char *const none[] = {"BLOB", "GEOMETRY", "GEOGRAPHY"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        for (int k = 0; k < N; k++) {
            assert_false(types_may_cast(type(none[i]), type(rows[k].type), true));
            assert_false(types_may_cast(type(rows[k].type), type(none[i]), true));
            assert_false(types_may_cast(type(none[i]), type(none[i]), true));
        }
}

static void nullability(void **state)
{
    (void)state;
    assert_false(types_may_cast(type("INT"), type("BIGINT NOT NULL"), false));
    assert_true(types_may_cast(type("INT"), type("BIGINT NOT NULL"), true));
    assert_true(types_may_cast(type("INT NOT NULL"), type("BIGINT NOT NULL"), false));
    assert_true(types_may_cast(type("INT NOT NULL"), type("BIGINT"), false));
    /* Dates become exactly STRING. */
    assert_true(types_may_cast(type("DATE NOT NULL"), type("STRING"), true));
    assert_false(types_may_cast(type("DATE NOT NULL"), type("STRING NOT NULL"), true));
    assert_false(types_may_cast(type("DATE"), type("VARCHAR(2147483646)"), true));
    assert_true(types_may_cast(type("INT NOT NULL"), type("STRING NOT NULL"), true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair),
        cmocka_unit_test(kinds_without_casts),
        cmocka_unit_test(nullability),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
