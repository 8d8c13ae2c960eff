/* test_default_value.c - which texts Paimon reads as a type. */
#include "tests/unit/manifest/fixture.h"

#include "manifest/default_value.h"

static int check_type(const struct data_type *t, str text)
{
    struct data_field f = {.name = STR_LIT("c"), .type = t, .default_value = text};
    return default_value_check(&cx, &f);
}

static int check(const char *type, const char *text)
{
    ctx_reset_err(&cx);
    return check_type(type_of(type), str_of(text));
}

#define INTS "{\"type\":\"ARRAY\",\"element\":\"INT\"}"
#define MAP  "{\"type\":\"MAP\",\"key\":\"STRING\",\"value\":\"INT\"}"
#define ROW                                                                                        \
    "{\"type\":\"ROW\",\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},"                    \
    "{\"id\":1,\"name\":\"b\",\"type\":" INTS "}]}"

static const struct {
    const char *type, *good[24], *bad[24]; /* each up to the first NULL */
} cases[] = {
    {"STRING", {"", "x", "'x'", "''"}, {"'"}},
    {"CHAR(2)", {"", "long text", "abcdef"}, {"'"}},
    {"BINARY(2)", {"", "abc"}, {0}},
    {"BOOLEAN",
     {"t", "TRUE", "y", "Yes", "1", "f", "False", "n", "NO", "0", "'true'", "true", "T", "yes", "Y",
      "no", "'f'"},
     {"", "2", "on", " true", "tr", "off"}},
    {"TINYINT",
     {"0", "127", "-128", "+5", "1.9", "1.", ".5", "-.", "00000000000000000000007"},
     {"", "128", "-129", "-", "+", "1e2", "a", "1 ", " 1", "1.5.5", "1.a"}},
    {"SMALLINT", {"32767", "-32768"}, {"32768", "-32769"}},
    {"INT",
     {"2147483647", "-2147483648", "'7'", "0", "-1", "+1", "1.9", ".5", ".", "-."},
     {"2147483648", "-2147483649", "x", "''", "", "+", "-", "1.x", " 1", "1e3", "0x1", "'"}},
    {"BIGINT",
     {"9223372036854775807", "-9223372036854775808"},
     {"9223372036854775808", "-9223372036854775809", "99999999999999999999999"}},
    {"DECIMAL(4, 2)",
     {"1", "-1.5", "+.5", "5.", "1e3", "1E-3", "123456789"},
     {"", ".", "1 ", "x", "1e", "--1", "1,5", "NaN"}},
    {"DOUBLE",
     {"1", " 1.5 ", "NaN", "-Infinity", "1e300", "1.5f", "2D", " 1e3 ", "1f"},
     {"", "x", "1x", "1.5ff", "infinity", "1,5", "1e"}},
    {"DATE",
     {"2024-02-29", "2024-2-9", "2024-2", "-5", "19000", "2024-01-01 10:00:00", "0000-1-1",
      "2020-01-31", "2020-1-1", "2020", "2020-02", "2020-02-29", "18000", "2020-01-01 10:00:00",
      " 2020 - 01"},
     {"", "2023-02-29", "2024-13-01", "2024-00-10", "x", "2024-01-32", "2024-04-31", "10000-1-1",
      "2024-01-01T10:00", "2024-1-1-1", "2021-02-29", "2020-04-31", "2020-13-01", "2020-00-01",
      "2020-01-00", "10000-01-01", "2020-01-01T10:00", "99999999999", "-2020-01-01"}},
    {"TIME(0)",
     {"10:00:00", "10:00", "10", "10:00:00.123", "86399999", "1:2:3+01:00", "1:2-3", "10:15",
      "25:99:99", "10:00:00+08:00", "10+8", "86400000"},
     {"", "x", "10:x", "10:00:00:00", ":", "10:00+08:00", "10:00:00+", "99999999999"}},
    {"TIMESTAMP(3)",
     {"2024-01-01", "2024-01-01 10:00:00", "2024-1-1 1:1:1.123456789", "2024-01-01T10:00",
      "2024-01-01T10:00:59.", "1700000000000", "-1", "2020-01-01", "2020-1-1",
      "2020-01-01 10:00:00", "2020-01-01 1:2:3.123456789", "2020-02-31", "+12345-01-01",
      "2020-01-01 24:00:00", "1600000000000", "2020", "2020-01-01T10:00", "2020-01-01T10:00:00.5"},
     {"",
      "2024-01-01 10:00",
      "2024-13-01",
      "2024-01-01 25:00:00",
      "24-01-01",
      "x",
      "2024-01-01 10:00:00.1234567890",
      "2024-01-01x",
      "2024-01-01 10:00:00 ",
      "2020-01",
      "2020-13-01",
      "2020-01-32",
      "2020-00-01",
      "0000-01-01",
      "12345-01-01",
      "2020-01-01 10:00",
      "2020-01-01 24:00:01",
      "2020-01-01 10:60:00",
      "2020-01-01 10:00:60",
      "2020-01-01 10:00:00.1234567891",
      "2020-01-01 10:00:00Z",
      " 2020-01-01",
      "2020-01-01 ",
      "99999999999999999999"}},
    {"TIMESTAMP(4)", {"2024-01-01", "2020-01-01"}, {"1700000000000", "1600000000000"}},
    {"TIMESTAMP(3) WITH LOCAL TIME ZONE", {"2024-01-01 10:00:00"}, {"1700000000000", ""}},
    {INTS,
     {"[]", "ARRAY()", "[1, 2]", "array(1,2)", " [ 1 , null ] ", "[1,,2]", "[ ]", "'[1]'", "[1,2]",
      "ARRAY(1)", "array ( 1 )"},
     {"", "1", "[x]", "[1", "1]", "ARRAY 1", "ARRAY", "[[1]]", "[", "(1)", "1,2", "ARRAY[1]"}},
    {MAP,
     {"{}", "MAP()", "{a -> 1}", "{a->1, b -> null}", "map('a', 1)", "NULL", "{\"a,b\" -> 1}",
      "{a -> 1, b->2}", "MAP(a,1)", "map()", "{a -> null}"},
     {"", "{a}", "{a -> x}", "{-> 1}", "{a ->}", "MAP(a)", "{a -> 1", "[a -> 1]", "x",
      "{a -> 1 -> 2}"}},
    {ROW,
     {"{}", "STRUCT()", "{1, [2, 3]}", "struct(null, null)", "{ }", "{1, []}"},
     {"", "{1}", "{1, [x]}", "{1, [2], 3}", "(1, [2])"}},
    {"VARIANT", {0}, {"1", "", "null"}},
    {"BLOB", {0}, {"1", ""}},
    {"{\"type\":\"ARRAY\",\"element\":\"VARIANT\"}", {0}, {"[]"}},
    {"{\"type\":\"MULTISET\",\"element\":\"INT\"}", {0}, {"{}"}},
    {"FLOAT", {".5"}, {"nan"}},
    {"DECIMAL(3, 1)",
     {"1", "1.25", "99999", "1e2", "1E+2", ".5", "5.", "-1"},
     {"", ".", "1e", " 1", "--1", "0x1", "1e99999999999"}},
    {"TIMESTAMP(6) WITH LOCAL TIME ZONE", {"2020-01-01 10:00:00"}, {"1600000000000"}},
    {"BINARY(1)", {"abc"}, {"'"}},
    {"{\"type\":\"ARRAY\",\"element\":{\"type\":\"ARRAY\",\"element\":\"INT\"}}",
     {"[[1,2],[3]]", "[[]]"},
     {"[1]", "[[1,x]]"}},
    {"{\"type\":\"ROW\",\"fields\":[{\"id\":7,\"name\":\"y\",\"type\":\"INT\"}]}",
     {"{1}", "{}", "STRUCT(1)", "{null}"},
     {"", "1", "{x}", "{1,2}", "STRUCT(1"}},
    {"INT MULTISET", {0}, {"1", "{}"}},
    {"VARIANT ARRAY", {0}, {"[]"}},
};

static void texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(check(cases[i].type, NULL), 0); /* no default */
        for (int k = 0; k < 24 && cases[i].good[k]; k++)
            if (check(cases[i].type, cases[i].good[k]) != 0)
                fail_msg("'%s': %s", cases[i].good[k], cx.err.msg);
        for (int k = 0; k < 24 && cases[i].bad[k]; k++)
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
    const struct data_type *t = type_of(INTS);
    assert_non_null(p);
    memset(p, '[', n);
    assert_int_equal(check_type(t, str_n(p, n)), E_INVAL);
    for (size_t i = 0; i + 3 <= n; i += 3)
        memcpy(p + i, "[1,", 3);
    p[n - 1] = ']';
    assert_int_equal(check_type(t, str_n(p, n)), E_INVAL);
    memset(p, '1', n);
    assert_int_equal(check("BIGINT", p), E_INVAL);
    assert_int_equal(check("DECIMAL(5, 0)", p), 0);
    for (size_t i = 0; i < n; i++)
        p[i] = i % 2 ? ',' : '1';
    p[0] = '[';
    p[n - 1] = ']';
    assert_int_equal(check_type(t, str_n(p, n)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(long_texts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
