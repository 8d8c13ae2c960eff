/* test_default_value.c - which texts Paimon reads as a type. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "manifest/default_value.h"

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

static int check(const char *type, const char *text)
{
    const struct data_type *t = NULL;
    const struct json *v = NULL;
    ctx_reset_err(&cx);
    int rc = type[0] == '{' ? json_parse(&cx, str_of(type), "test", &v) : 0;
    if (rc == 0)
        rc = v ? types_decode(&cx, v, &t) : types_parse(&cx, str_of(type), &t);
    if (rc != 0)
        fail_msg("%s: %s", type, cx.err.msg);
    return default_value_check(&cx, t, str_of(text));
}

#define INTS "{\"type\":\"ARRAY\",\"element\":\"INT\"}"
#define MAP  "{\"type\":\"MAP\",\"key\":\"STRING\",\"value\":\"INT\"}"
#define ROW                                                                                        \
    "{\"type\":\"ROW\",\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},"                    \
    "{\"id\":1,\"name\":\"b\",\"type\":" INTS "}]}"

static const struct {
    const char *type, *good[16], *bad[16]; /* each up to the first NULL */
} cases[] = {
    {"STRING", {"", "x", "'x'", "''"}, {"'"}},
    {"CHAR(2)", {"", "long text"}, {0}},
    {"BINARY(2)", {"", "abc"}, {0}},
    {"BOOLEAN",
     {"t", "TRUE", "y", "Yes", "1", "f", "False", "n", "NO", "0", "'true'"},
     {"", "2", "on", " true", "tr"}},
    {"TINYINT",
     {"0", "127", "-128", "+5", "1.9", "1.", ".5", "-.", "00000000000000000000007"},
     {"", "128", "-129", "-", "+", "1e2", "a", "1 ", " 1", "1.5.5", "1.a"}},
    {"SMALLINT", {"32767", "-32768"}, {"32768", "-32769"}},
    {"INT", {"2147483647", "-2147483648", "'7'"}, {"2147483648", "-2147483649", "x", "''"}},
    {"BIGINT",
     {"9223372036854775807", "-9223372036854775808"},
     {"9223372036854775808", "-9223372036854775809", "99999999999999999999999"}},
    {"DECIMAL(4, 2)",
     {"1", "-1.5", "+.5", "5.", "1e3", "1E-3", "123456789"},
     {"", ".", "1 ", "x", "1e", "--1", "1,5", "NaN"}},
    {"DOUBLE",
     {"1", " 1.5 ", "NaN", "-Infinity", "1e300", "1.5f", "2D"},
     {"", "x", "1x", "1.5ff", "infinity", "1,5"}},
    {"DATE",
     {"2024-02-29", "2024-2-9", "2024-2", "-5", "19000", "2024-01-01 10:00:00", "0000-1-1"},
     {"", "2023-02-29", "2024-13-01", "2024-00-10", "x", "2024-01-32", "2024-04-31", "10000-1-1",
      "2024-01-01T10:00", "2024-1-1-1"}},
    {"TIME(0)",
     {"10:00:00", "10:00", "10", "10:00:00.123", "86399999", "1:2:3+01:00", "1:2-3"},
     {"", "x", "10:x", "10:00:00:00", ":"}},
    {"TIMESTAMP(3)",
     {"2024-01-01", "2024-01-01 10:00:00", "2024-1-1 1:1:1.123456789", "2024-01-01T10:00",
      "2024-01-01T10:00:59.", "1700000000000", "-1"},
     {"", "2024-01-01 10:00", "2024-13-01", "2024-01-01 25:00:00", "24-01-01", "x",
      "2024-01-01 10:00:00.1234567890", "2024-01-01x", "2024-01-01 10:00:00 "}},
    {"TIMESTAMP(4)", {"2024-01-01"}, {"1700000000000"}},
    {"TIMESTAMP(3) WITH LOCAL TIME ZONE", {"2024-01-01 10:00:00"}, {"1700000000000", ""}},
    {INTS,
     {"[]", "ARRAY()", "[1, 2]", "array(1,2)", " [ 1 , null ] ", "[1,,2]", "[ ]", "'[1]'"},
     {"", "1", "[x]", "[1", "1]", "ARRAY 1", "ARRAY", "[[1]]", "[", "(1)"}},
    {MAP,
     {"{}", "MAP()", "{a -> 1}", "{a->1, b -> null}", "map('a', 1)", "NULL", "{\"a,b\" -> 1}"},
     {"", "{a}", "{a -> x}", "{-> 1}", "{a ->}", "MAP(a)", "{a -> 1", "[a -> 1]"}},
    {ROW,
     {"{}", "STRUCT()", "{1, [2, 3]}", "struct(null, null)", "{ }", "{1, []}"},
     {"", "{1}", "{1, [x]}", "{1, [2], 3}", "(1, [2])"}},
    {"VARIANT", {0}, {"1", "", "null"}},
    {"BLOB", {0}, {"1", ""}},
    {"{\"type\":\"ARRAY\",\"element\":\"VARIANT\"}", {0}, {"[]"}},
    {"{\"type\":\"MULTISET\",\"element\":\"INT\"}", {0}, {"{}"}},
};

static void texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(check(cases[i].type, NULL), 0); /* no default */
        for (int k = 0; k < 16 && cases[i].good[k]; k++)
            if (check(cases[i].type, cases[i].good[k]) != 0)
                fail_msg("'%s': %s", cases[i].good[k], cx.err.msg);
        for (int k = 0; k < 16 && cases[i].bad[k]; k++)
            if (check(cases[i].type, cases[i].bad[k]) != E_INVAL)
                fail_msg("'%s' is a %s", cases[i].bad[k], cases[i].type);
    }
    assert_int_equal(check("INT NOT NULL", "x"), E_INVAL);
    assert_string_equal(cx.err.msg, "Unsupported default value `x` for type INT NOT NULL");
}

static void long_texts(void **state)
{
    (void)state;
    size_t n = 1 << 20;
    char *p = arena_alloc(&cx.arena, n + 1);
    const struct data_type *t = NULL;
    const struct json *v = NULL;
    assert_non_null(p);
    assert_int_equal(json_parse(&cx, STR_LIT(INTS), "test", &v), 0);
    assert_int_equal(types_decode(&cx, v, &t), 0);
    memset(p, '[', n);
    assert_int_equal(default_value_check(&cx, t, str_n(p, n)), E_INVAL);
    memset(p, '1', n);
    assert_int_equal(check("BIGINT", p), E_INVAL);
    assert_int_equal(check("DECIMAL(5, 0)", p), 0);
    for (size_t i = 0; i < n; i++)
        p[i] = i % 2 ? ',' : '1';
    p[0] = '[';
    p[n - 1] = ']';
    assert_int_equal(default_value_check(&cx, t, str_n(p, n)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(long_texts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
