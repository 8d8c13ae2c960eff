/* test_buf.c - growing, the maximum, failure that sticks, formats and numbers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/base/buf.h"
#include "proto/base/mem.h"

static void grows_from_zero(void **state)
{
    (void)state;
    struct buf b = {0};
    assert_string_equal(buf_z(&b), "");
    assert_non_null(buf_str(&b).p); /* empty, never absent */
    assert_int_equal(buf_str(&b).len, 0);
    buf_add(&b, NULL, 0);
    for (int i = 0; i < 10000; i++)
        buf_addc(&b, (char)('a' + i % 26));
    buf_addz(&b, "|");
    buf_adds(&b, str_n("xyz", 2));
    buf_adds(&b, STR_NONE);
    assert_int_equal(buf_fail(&b), 0);
    assert_int_equal(b.len, 10003);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(b.p[i], 'a' + i % 26);
    assert_string_equal(buf_z(&b) + 10000, "|xy");
    buf_clear(&b);
    assert_string_equal(buf_z(&b), "");
    assert_true(b.cap >= 10003);
    buf_done(&b);
    assert_null(b.p);
    buf_addz(&b, "again");
    assert_string_equal(buf_z(&b), "again");
    buf_done(&b);
}

static void refuses_past_the_maximum(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 10);
    buf_addz(&b, "0123456789");
    assert_int_equal(buf_fail(&b), 0); /* exactly full is fine */
    assert_string_equal(buf_z(&b), "0123456789");
    buf_addc(&b, 'x');
    assert_int_equal(buf_fail(&b), E_TOOBIG);
    assert_null(buf_z(&b));
    assert_int_equal(b.len, 10);
    buf_clear(&b);
    assert_int_equal(buf_fail(&b), 0);
    buf_addz(&b, "0123456789x"); /* as a whole or not at all */
    assert_int_equal(b.len, 0);
    buf_addc(&b, 'y'); /* would fit, but the failure sticks */
    buf_addf(&b, "%d", 1);
    buf_add_i64(&b, 1);
    assert_int_equal(b.len, 0);
    assert_int_equal(buf_reserve(&b, 1), E_TOOBIG);
    size_t n = 77;
    assert_null(buf_take(&b, &n));
    assert_int_equal(n, 77);
    assert_int_equal(buf_fail(&b), 0);               /* empty again, */
    assert_int_equal(buf_reserve(&b, 11), E_TOOBIG); /* with the same maximum */
    buf_done(&b);
    assert_int_equal(buf_reserve(&b, SIZE_MAX), E_TOOBIG);
    buf_done(&b);
    struct buf unlimited = {0};
    assert_int_equal(buf_reserve(&unlimited, BUF_MAX + 1), E_TOOBIG);
    assert_null(unlimited.p);
    buf_done(&unlimited);
}

static void reserves(void **state)
{
    (void)state;
    struct buf b = {0};
    assert_int_equal(buf_reserve(&b, 1000), 0);
    const char *p = b.p;
    for (int i = 0; i < 1000; i++)
        buf_addc(&b, 'x');
    assert_ptr_equal(b.p, p); /* what was reserved is there without a move */
    assert_int_equal(buf_reserve(&b, 0), 0);
    buf_done(&b);
}

static void formats(void **state)
{
    (void)state;
    /* Around the size of the first block, where the second try starts. */
    for (int width = 55; width <= 70; width++) {
        struct buf b = {0};
        buf_addf(&b, "<%*d>", width, 42);
        assert_int_equal(b.len, width + 2);
        assert_int_equal(b.p[0], '<');
        assert_string_equal(buf_z(&b) + width - 1, "42>");
        buf_done(&b);
    }
    struct buf b;
    buf_init(&b, 8);
    buf_addf(&b, "%s", "");
    assert_int_equal(buf_fail(&b), 0);
    buf_addf(&b, "%.*s", STR(STR_LIT("12345678")));
    assert_string_equal(buf_z(&b), "12345678");
    buf_addf(&b, "%s", "");
    assert_int_equal(buf_fail(&b), 0);
    buf_addf(&b, "%d", 9);
    assert_int_equal(buf_fail(&b), E_TOOBIG);
    assert_int_equal(b.len, 8);
    buf_done(&b);
}

static void writes_numbers(void **state)
{
    (void)state;
    static const struct {
        int64_t v;
        const char *text;
    } cases[] = {
        {0, "0"},
        {7, "7"},
        {10, "10"},
        {-1, "-1"},
        {1234567890123, "1234567890123"},
        {INT64_MAX, "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
        {INT64_MIN + 1, "-9223372036854775807"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf b = {0};
        buf_add_i64(&b, cases[i].v);
        assert_string_equal(buf_z(&b), cases[i].text);
        buf_done(&b);
    }
}

static void is_taken(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_addz(&b, "mine");
    size_t n = 0;
    char *p = buf_take(&b, &n);
    assert_string_equal(p, "mine");
    assert_int_equal(n, 4);
    assert_null(b.p);
    assert_int_equal(b.len, 0);
    mem_free(p);
    p = buf_take(&b, &n); /* nothing was added: an empty text, not a failure */
    assert_string_equal(p, "");
    assert_int_equal(n, 0);
    mem_free(p);
}

static void add_some(struct buf *b)
{
    for (int i = 0; i < 50; i++)
        buf_addf(b, "%d %s,", i, "some text to make it grow");
    buf_add_i64(b, -5);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    struct buf whole = {0};
    mem_fail_at(0, 0);
    add_some(&whole);
    long allocations = mem_fail_at(0, 0);
    assert_true(allocations > 2);
    for (long n = 1; n <= allocations; n++) {
        struct buf b = {0};
        mem_fail_at(n, 0); /* only this one: later ones would work, but the failure sticks */
        add_some(&b);
        mem_fail_at(0, 0);
        assert_int_equal(buf_fail(&b), E_NOMEM);
        assert_null(buf_z(&b));
        assert_true(b.len < whole.len);
        if (b.len)
            assert_memory_equal(b.p, whole.p, b.len); /* a prefix */
        buf_done(&b);
    }
    buf_done(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_from_zero),
        cmocka_unit_test(refuses_past_the_maximum),
        cmocka_unit_test(reserves),
        cmocka_unit_test(formats),
        cmocka_unit_test(writes_numbers),
        cmocka_unit_test(is_taken),
        cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
