/* test_duration.c - texts and numbers of durations: what Paimon takes, what it refuses, and that
 * what we write is taken back as the same. */
#define ARENA_BYTES (1 << 20)
#include "tests/unit/manifest/fixture.h"

#include "manifest/duration.h"
#include "proto/base/rand.h"

static void texts_are_taken(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
        int32_t nanos;
    } good[] = {
        {"0", 0, 0},
        {"1", 0, 1000000},
        {"1999", 1, 999000000},
        {"1d", 86400, 0},
        {"1 DAY", 86400, 0},
        {"2days", 172800, 0},
        {"3h", 10800, 0},
        {"3 Hours", 10800, 0},
        {"3hour", 10800, 0},
        {"4m", 240, 0},
        {"4min", 240, 0},
        {"4minute", 240, 0},
        {"4 minutes", 240, 0},
        {"5s", 5, 0},
        {"5sec", 5, 0},
        {"5secs", 5, 0},
        {"5 second", 5, 0},
        {"5 seconds", 5, 0},
        {"1500ms", 1, 500000000},
        {"6milli", 0, 6000000},
        {"6millis", 0, 6000000},
        {"6millisecond", 0, 6000000},
        {"6milliseconds", 0, 6000000},
        {"7\xc2\xb5s", 0, 7000},
        {"7\xc2\xb5S", 0, 7000},
        {"7micro", 0, 7000},
        {"7micros", 0, 7000},
        {"7microsecond", 0, 7000},
        {"1000001microseconds", 1, 1000},
        {"8ns", 0, 8},
        {"8nano", 0, 8},
        {"8nanos", 0, 8},
        {"8nanosecond", 0, 8},
        {"1000000009 nanoseconds", 1, 9},
        {" \t\r\n\x01 12 \x1f\n h \x02", 43200, 0},
        {"0007s", 7, 0},
        {"9223372036854775807s", INT64_MAX, 0},
        {"9223372036854775807", INT64_MAX / 1000, 807000000},
        {"9223372036854775807ns", 9223372036, 854775807},
        {"106751991167300d", 106751991167300 * 86400, 0},
    };
    for (size_t i = 0; i < N(good); i++) {
        struct duration d = {-1, -1};
        if (duration_parse(&cx, str_of(good[i].text), "x", &d) != 0)
            fail_msg("%s: %s", good[i].text, cx.err.msg);
        assert_int_equal(d.seconds, good[i].seconds);
        assert_int_equal(d.nanos, good[i].nanos);
    }
}

static void texts_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      " ",
                                      "\x01",
                                      "d",
                                      " d",
                                      "-1d",
                                      "+1d",
                                      "1.5d",
                                      "1,5 d",
                                      "1w",
                                      "1 y",
                                      "1 day s",
                                      "1d1h",
                                      "1d 1h",
                                      "1dd",
                                      "PT24H",
                                      "0x10",
                                      "1e3",
                                      "1\xce\xbcs", /* another mu */
                                      "1\xb5s",
                                      "1\xc2\xa0s", /* a blank that trim() leaves */
                                      "\xd9\xa1s",  /* a digit, but not ASCII */
                                      "9223372036854775808",
                                      "9223372036854775808ns",
                                      "153722867280912931m",
                                      "2562047788015216h",
                                      "106751991167301d",
                                      "99999999999999999999999999999999d"};
    for (size_t i = 0; i < N(bad); i++) {
        struct duration d = {-1, -1};
        if (duration_parse(&cx, str_of(bad[i]), "timeRetained", &d) != E_INVAL)
            fail_msg("'%s' was taken", bad[i]);
        assert_int_equal(d.seconds, -1);
        assert_non_null(strstr(cx.err.msg, "timeRetained is \""));
        ctx_reset_err(&cx);
    }
    struct duration d;
    assert_int_equal(duration_parse(&cx, STR_NONE, "x", &d), E_INVAL);
    ctx_reset_err(&cx);
    /* As Java's trim() has it. */
    assert_int_equal(duration_parse(&cx, str_n("1\0d", 3), "x", &d), 0);
    assert_int_equal(d.seconds, 86400);
}

static void assert_put(struct duration d, const char *text, const char *number)
{
    struct buf b = {0};
    duration_put(&b, &d);
    assert_string_equal(buf_z(&b), text);
    buf_clear(&b);
    duration_put_number(&b, &d);
    assert_string_equal(buf_z(&b), number);
    buf_done(&b);
}

static void the_shortest_text(void **state)
{
    (void)state;
    assert_put((struct duration){0, 0}, "0s", "0.0");
    assert_put((struct duration){86400, 0}, "1d", "86400.000000000");
    assert_put((struct duration){86399, 0}, "86399s", "86399.000000000");
    assert_put((struct duration){90000, 0}, "25h", "90000.000000000");
    assert_put((struct duration){5400, 0}, "90m", "5400.000000000");
    assert_put((struct duration){1, 0}, "1s", "1.000000000");
    assert_put((struct duration){1, 500000000}, "1500ms", "1.500000000");
    assert_put((struct duration){0, 1000}, "1micro", "0.000001000");
    assert_put((struct duration){3, 1000}, "3000001micro", "3.000001000");
    assert_put((struct duration){86400, 1}, "86400000000001ns", "86400.000000001");
    assert_put((struct duration){0, 1}, "1ns", "0.000000001");
    assert_put((struct duration){INT64_MAX, 0}, "9223372036854775807s",
               "9223372036854775807.000000000");
    assert_put((struct duration){INT64_MAX, 1}, "9223372036854775807000000001ns",
               "9223372036854775807.000000001");
}

static void numbers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
        int32_t nanos;
    } good[] = {
        {"0", 0, 0},
        {"0.0", 0, 0},
        {"86400.000000000", 86400, 0},
        {"86400", 86400, 0},
        {"86400.0", 86400, 0},
        {"0.5", 0, 500000000},
        {"0.0005", 0, 500000},
        {"1e-06", 0, 1000},
        {"5.00E-7", 0, 500},
        {"1E-9", 0, 1},
        {"1e-10", 0, 0},
        {"1e-99999", 0, 0},
        {"1.9999999999", 1, 999999999},
        {"1.5e3", 1500, 0},
        {"1.23456e2", 123, 456000000},
        {"123456e-3", 123, 456000000},
        {"1E+3", 1000, 0},
        {"0e99999", 0, 0},
        {"9223372036854775807", INT64_MAX, 0},
        {"9223372036854775807.999999999", INT64_MAX, 999999999},
        {"9.223372036854775807e18", INT64_MAX, 0},
    };
    static const char *const bad[] = {"",
                                      "-1",
                                      "-0.0",
                                      "-1e-9",
                                      "9223372036854775808",
                                      "1e19",
                                      "1e300",
                                      "1e99999",
                                      "1e100001",
                                      "1e-100001",
                                      "1e99999999999999999999",
                                      "99999999999999999999999999999.5"};
    for (size_t i = 0; i < N(good); i++) {
        struct duration d = {-1, -1};
        if (!duration_of_number(str_of(good[i].text), &d))
            fail_msg("%s was refused", good[i].text);
        if (d.seconds != good[i].seconds || d.nanos != good[i].nanos)
            fail_msg("%s: %lld %d", good[i].text, (long long)d.seconds, d.nanos);
    }
    for (size_t i = 0; i < N(bad); i++) {
        struct duration d = {-1, -1};
        if (duration_of_number(str_of(bad[i]), &d))
            fail_msg("'%s' was taken", bad[i]);
        assert_int_equal(d.seconds, -1);
    }
}

static void assert_same(const struct duration *a, const struct duration *b, const char *text)
{
    if (a->seconds != b->seconds || a->nanos != b->nanos)
        fail_msg("%s: %lld.%09d", text, (long long)b->seconds, b->nanos);
}

static void there_and_back(void **state)
{
    (void)state;
    static const int64_t steps[] = {1, 60, 3600, 86400};
    static const int32_t parts[] = {0, 1, 1000, 1000000};
    struct buf b = {0};
    for (uint64_t i = 0; i < 20000; i++) {
        struct duration d = {(int64_t)(rand_u64() % 100000) * steps[i % 4],
                             (int32_t)(rand_u64() % 1000) * parts[i / 4 % 4]};
        struct duration back;
        buf_clear(&b);
        duration_put(&b, &d);
        assert_int_equal(duration_parse(&cx, buf_str(&b), "x", &back), 0);
        assert_same(&d, &back, buf_z(&b));
        buf_clear(&b);
        duration_put_number(&b, &d);
        assert_true(duration_of_number(buf_str(&b), &back));
        assert_same(&d, &back, buf_z(&b));
    }
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(texts_are_taken), T(texts_are_refused),
                                       T(the_shortest_text), T(numbers_are_read),
                                       T(there_and_back)};
    return cmocka_run_group_tests_name("duration", tests, NULL, NULL);
}
