/* test_stats.c - statistics: read, written, collected from rows, merged; and wrong ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "manifest/stats.h"
#include "tests/unit/manifest/golden.h"

static struct ctx cx;
static struct binrow_type two;

static int setup(void **state)
{
    (void)state;
    static const char *const types[] = {"STRING", "TIMESTAMP(6)", NULL};
    ctx_init(&cx, 16 << 20);
    two = golden_sql_types(&cx, types);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

static struct binrow_value text(const char *z)
{
    return z ? (struct binrow_value){.tag = BV_BYTES, .bytes = str_of(z)}
             : (struct binrow_value){.tag = BV_NULL};
}

static struct binrow_value stamp(int64_t ms)
{
    return ms < 0 ? (struct binrow_value){.tag = BV_NULL}
                  : (struct binrow_value){.tag = BV_TIMESTAMP, .ts.ms = ms};
}

static void expect(const struct stats_column *c, const char *min, const char *max, int64_t nulls)
{
    struct binrow_value a = text(min), b = text(max);
    assert_int_equal(binrow_cmp_value(&c->min, &a), 0);
    assert_int_equal(binrow_cmp_value(&c->max, &b), 0);
    assert_int_equal(c->null_count, nulls);
}

static void collected(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {{"m", 5}, {NULL, 3}, {"z", -1}, {"a", -1}, {NULL, 9}};
    CLEANUP(buf_done) struct buf b = {0};
    struct stats_column c[2], back[2];
    struct simple_stats s;
    stats_begin(c, 2);
    expect(&c[0], NULL, NULL, 0);
    for (size_t i = 0; i < 5; i++) {
        struct binrow_value row[] = {text(rows[i].text), stamp(rows[i].ms)};
        stats_add_row(c, row, 2);
    }
    expect(&c[0], "a", "z", 2);
    assert_int_equal(c[1].null_count, 2);
    assert_true(c[1].min.ts.ms == 3 && c[1].max.ts.ms == 9);
    assert_int_equal(stats_write(&cx, &two, c, &b, &s), 0);
    assert_int_equal(s.n_null_counts, 2);
    assert_int_equal(stats_read(&cx, &two, &s, back), 0);
    expect(&back[0], "a", "z", 2);
    assert_true(back[1].min.ts.ms == 3 && back[1].max.ts.ms == 9 && back[1].null_count == 2);
}

static void merged(void **state)
{
    (void)state;
    struct stats_column a = {.min = text("c"), .max = text("m"), .null_count = 1};
    struct stats_column b = {.min = text("b"), .max = text("d"), .null_count = 2};
    struct stats_column nothing = {.null_count = 7};
    struct stats_column to = a;
    stats_merge(&to, &b, 1, false);
    expect(&to, "b", "m", 3);
    to = a;
    stats_merge(&to, &nothing, 1, true);
    expect(&to, "c", "m", 8);
    to = nothing;
    stats_merge(&to, &a, 1, true);
    expect(&to, "c", "m", 8);
    to = a;
    stats_merge(&to, &nothing, 1, false);
    expect(&to, NULL, NULL, 8);
    to = nothing;
    stats_merge(&to, &a, 1, false);
    expect(&to, NULL, NULL, 8);
    to = (struct stats_column){.min = text("x"), .null_count = STATS_NULLS_UNKNOWN};
    stats_merge(&to, &a, 1, false); /* a max that could not be cut: only that is unknown */
    expect(&to, "c", NULL, STATS_NULLS_UNKNOWN);
    to = (struct stats_column){.null_count = INT64_MAX};
    stats_merge(&to, &a, 1, true);
    assert_int_equal(to.null_count, STATS_NULLS_UNKNOWN);
    struct binrow_value null = text(NULL);
    stats_add_row(&to, &null, 1);
    assert_int_equal(to.null_count, STATS_NULLS_UNKNOWN);
}

static void without_columns(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf b = {0};
    struct binrow_type none = {0};
    struct simple_stats s;
    struct stats_column c[1];
    assert_int_equal(stats_write(&cx, &none, NULL, &b, &s), 0);
    assert_true(s.n_null_counts == 0 && s.min.len == 12 && str_eq(s.min, s.max));
    assert_int_equal(stats_read(&cx, &none, &s, c), 0);
}

static void wrong(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf b = {0}, small;
    struct stats_column c[2] = {{.min = text("a"), .max = text("b")}, {.null_count = -1}}, got[2];
    struct simple_stats s;
    assert_int_equal(stats_write(&cx, &two, c, &b, &s), 0);
    assert_int_equal(stats_read(&cx, &two, &s, got), 0);
    assert_int_equal(got[1].null_count, STATS_NULLS_UNKNOWN);
    struct simple_stats bad = s;
    bad.n_null_counts = 1;
    assert_int_equal(stats_read(&cx, &two, &bad, got), E_CORRUPT);
    bad = s;
    bad.null_counts = (const int64_t[]){-2, 0};
    assert_int_equal(stats_read(&cx, &two, &bad, got), E_CORRUPT);
    bad = s;
    bad.min = s.max;
    bad.max = s.min;
    assert_int_equal(stats_read(&cx, &two, &bad, got), E_CORRUPT);
    bad = s;
    bad.max.len -= 9; /* the room of a null, and a byte */
    assert_int_equal(stats_read(&cx, &two, &bad, got), E_CORRUPT);
    bad = s;
    bad.n_null_counts = 0; /* none at all is fine */
    assert_int_equal(stats_read(&cx, &two, &bad, got), 0);
    assert_int_equal(got[0].null_count, STATS_NULLS_UNKNOWN);
    buf_init(&small, 10);
    assert_int_equal(stats_write(&cx, &two, c, &small, &s), E_TOOBIG);
    buf_done(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(collected, setup, teardown),
        cmocka_unit_test_setup_teardown(merged, setup, teardown),
        cmocka_unit_test_setup_teardown(without_columns, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
