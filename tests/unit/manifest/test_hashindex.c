/* test_hashindex.c - HASH index files of Java and pypaimon (tests/golden/hashindex), and set questions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "manifest/hashindex.h"
#include "proto/base/mem.h"
#include "tests/unit/manifest/golden.h"

static struct ctx cx;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 16 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

static void of_real_tables(void **state)
{
    (void)state;
    str rest = golden_file(&cx, "tests/golden/hashindex/samples.tsv"), f[3], one;
    size_t files = 0;
    for (; golden_line(&rest, f, 3) == 3; files++) {
        CLEANUP(hashindex_done) struct hashindex h = {0};
        char path[200];
        size_t n = 0;
        snprintf(path, sizeof path, "tests/golden/hashindex/%.*s", STR(f[0]));
        str file = golden_file(&cx, path);
        assert_int_equal(hashindex_load(&cx, f[0], file, golden_int(f[1]), &h), 0);
        for (; str_split(&f[2], ',', &one); n++) {
            uint32_t v = (uint32_t)golden_hex_int(one);
            assert_true(hashindex_contains(&h, v));
            assert_false(hashindex_contains(&h, v + 1));
        }
        assert_int_equal(n, h.n);
    }
    assert_int_equal(files, 4);
}

/* Java's file of 5 keys holds all that pypaimon's two buckets hold, but one. */
static void subsets(void **state)
{
    (void)state;
    CLEANUP(hashindex_done) struct hashindex java = {0}, a = {0}, b = {0}, none = {0};
    uint32_t missing = 0;
    str j = golden_file(&cx, "tests/golden/hashindex/java-2.1-pk_dynamic-0");
    str p = golden_file(&cx, "tests/golden/hashindex/py-pk_dynamic-0");
    str q = golden_file(&cx, "tests/golden/hashindex/py-pk_dynamic-1");
    assert_int_equal(hashindex_load(&cx, STR_LIT("j"), j, -1, &java), 0);
    assert_int_equal(hashindex_load(&cx, STR_LIT("p"), p, -1, &a), 0);
    assert_int_equal(hashindex_load(&cx, STR_LIT("q"), q, -1, &b), 0);
    assert_int_equal(hashindex_load(&cx, STR_LIT("0"), STR_LIT(""), 0, &none), 0);
    assert_true(hashindex_subset(&b, &java, &missing));
    assert_false(hashindex_subset(&a, &java, &missing));
    assert_int_equal(missing, 0x32323de8);
    assert_false(hashindex_subset(&java, &b, NULL));
    assert_true(hashindex_subset(&none, &a, NULL) && hashindex_subset(&none, &none, NULL));
    assert_false(hashindex_subset(&a, &none, &missing));
    assert_false(hashindex_contains(&none, 0));
}

static void bad_files(void **state)
{
    (void)state;
    struct hashindex h = {.n = 77};
    assert_int_equal(hashindex_load(&cx, STR_LIT("f"), STR_LIT("abc"), -1, &h), E_CORRUPT);
    assert_non_null(strstr(cx.err.msg, "'f', byte 0"));
    assert_int_equal(hashindex_load(&cx, STR_LIT("f"), STR_LIT("abcde"), -1, &h), E_CORRUPT);
    assert_int_equal(hashindex_load(&cx, STR_LIT("f"), STR_LIT("abcd"), 2, &h), E_CORRUPT);
    assert_int_equal(hashindex_load(&cx, STR_LIT("f"), STR_LIT("abcd"), 0, &h), E_CORRUPT);
    assert_int_equal(h.n, 77);
}

static void many(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf file = {0}, again = {0};
    CLEANUP(hashindex_done) struct hashindex h = {0}, back = {0};
    uint32_t seed = 5;
    for (size_t i = 0; i < 50000; i++) { /* unsorted, some twice */
        seed = seed * 1664525 + 1013904223;
        uint32_t v = i % 10 ? seed : seed >> 20;
        char p[4] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};
        buf_add(&file, p, 4);
    }
    assert_int_equal(hashindex_load(&cx, STR_LIT("f"), buf_str(&file), 50000, &h), 0);
    assert_true(h.n < 50000 && h.n > 45000);
    for (size_t i = 1; i < h.n; i++)
        assert_true(h.v[i - 1] < h.v[i]);
    hashindex_write(&again, &h);
    assert_int_equal(again.len, h.n * 4);
    assert_int_equal(hashindex_load(&cx, STR_LIT("f"), buf_str(&again), (int64_t)h.n, &back), 0);
    assert_true(hashindex_subset(&h, &back, NULL) && hashindex_subset(&back, &h, NULL));
    for (long n = 1; n <= 2; n++) {
        struct hashindex none = {0};
        mem_fail_at(n, 0);
        int rc = hashindex_load(&cx, STR_LIT("f"), buf_str(&again), -1, &none);
        mem_fail_at(0, 0);
        assert_int_equal(rc, E_NOMEM);
        assert_null(none.v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_real_tables, setup, teardown),
        cmocka_unit_test_setup_teardown(subsets, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_files, setup, teardown),
        cmocka_unit_test_setup_teardown(many, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
