/* test_keyset.c - key sets against a plain search, their bound on memory, no memory; and the sorts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/base/keyset.h"
#include "proto/base/mem.h"
#include "proto/base/radix.h"

static uint64_t seed = 1;

static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void fill(struct keyset *s, size_t n, uint64_t step, uint64_t from)
{
    for (size_t i = 0; i < n; i++) /* 7919 is prime to the counts used here: all of them, mixed */
        assert_int_equal(keyset_add(s, from + (i * 7919 % n) * step), 0);
    assert_int_equal(keyset_seal(s), 0);
}

static void sorts(void **state)
{
    (void)state;
    static uint64_t v[5000], tmp[5000];
    static uint32_t w[5000], tmp32[5000];
    static const size_t counts[] = {0, 1, 2, 32, 33, 256, 5000};
    for (size_t k = 0; k < 7 * 4; k++) {
        size_t n = counts[k % 7];
        uint64_t sum = 0, after = 0;
        for (size_t i = 0; i < n; i++) { /* wide, few different, high bytes only, all equal */
            v[i] = k / 7 == 0 ? next() : k / 7 == 1 ? next() % 10 : k / 7 == 2 ? next() << 56 : 9;
            w[i] = (uint32_t)v[i];
            sum += v[i];
        }
        radix_sort_u64(v, tmp, n);
        radix_sort_u32(w, tmp32, n);
        for (size_t i = 0; i < n; i++) {
            after += v[i];
            assert_true(i == 0 || (v[i - 1] <= v[i] && w[i - 1] <= w[i]));
        }
        assert_true(sum == after);
        size_t left = unique_u64(v, n);
        assert_true(left <= n && (n == 0) == (left == 0));
        for (size_t i = 1; i < left; i++)
            assert_true(v[i - 1] < v[i]);
        left = unique_u32(w, n);
        for (size_t i = 1; i < left; i++)
            assert_true(w[i - 1] < w[i]);
    }
}

static void empty(void **state)
{
    (void)state;
    struct keyset a, b;
    uint64_t hash = 7;
    keyset_init(&a, 10);
    keyset_init(&b, 10);
    assert_false(keyset_contains(&a, 0) || keyset_common(&a, &b, &hash));
    assert_true(keyset_subset(&a, &b));
    assert_int_equal(keyset_union(&a, &b), 0);
    assert_int_equal(keyset_seal(&a), 0);
    assert_true(keyset_size(&a) == 0 && keyset_bytes(&a) == 0 && hash == 7);
    assert_int_equal(keyset_add(&b, UINT64_MAX), 0);
    assert_int_equal(keyset_add(&b, 0), 0);
    assert_int_equal(keyset_seal(&b), 0);
    assert_true(keyset_contains(&b, 0) && keyset_contains(&b, UINT64_MAX) &&
                !keyset_contains(&b, 1));
    assert_true(keyset_subset(&a, &b) && !keyset_subset(&b, &a));
    assert_int_equal(keyset_union(&a, &b), 0);
    assert_int_equal(keyset_size(&a), 2);
    keyset_done(&a);
    keyset_done(&b);
}

static void common(void **state)
{
    (void)state;
    struct keyset big, small, odd;
    uint64_t hash = 0;
    keyset_init(&big, 100000);
    keyset_init(&small, 100);
    keyset_init(&odd, 100000);
    fill(&big, 50000, 2, 0);
    fill(&odd, 50000, 2, 1);
    assert_false(keyset_common(&big, &odd, &hash) || keyset_common(&odd, &big, NULL));
    fill(&small, 3, 49999, 1); /* 1, 50000, 99999 */
    assert_true(keyset_common(&big, &small, &hash) && hash == 50000);
    assert_true(keyset_common(&small, &big, &hash) && hash == 50000);
    assert_true(keyset_common(&small, &odd, &hash) && hash == 1);
    assert_false(keyset_subset(&small, &big));
    assert_true(keyset_subset(&small, &small) && keyset_subset(&big, &big));
    assert_int_equal(keyset_add(&big, 99999), 0);
    assert_int_equal(keyset_add(&big, 1), 0);
    assert_int_equal(keyset_seal(&big), 0);
    assert_true(keyset_subset(&small, &big) && keyset_size(&big) == 50002);
    keyset_done(&big);
    keyset_done(&small);
    keyset_done(&odd);
}

static void like_a_plain_search(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        bool in[2][300] = {{0}};
        struct keyset s[2], both;
        size_t want_first = 300, sizes[2] = {0}, n_union = 0;
        bool subset = true;
        uint64_t hash = 0;
        for (int k = 0; k < 2; k++) {
            keyset_init(&s[k], 300);
            for (uint64_t n = next() % (k ? 400 : 40); n > 0; n--) {
                uint64_t v = next() % 300;
                in[k][v] = true;
                assert_int_equal(keyset_add(&s[k], v), 0);
            }
            assert_int_equal(keyset_seal(&s[k]), 0);
        }
        for (size_t i = 300; i-- > 0;) {
            want_first = in[0][i] && in[1][i] ? i : want_first;
            subset = subset && (!in[0][i] || in[1][i]);
            sizes[0] += in[0][i];
            sizes[1] += in[1][i];
            n_union += in[0][i] || in[1][i];
            assert_true(keyset_contains(&s[1], i) == in[1][i]);
        }
        assert_true(keyset_size(&s[0]) == sizes[0] && keyset_size(&s[1]) == sizes[1]);
        assert_true(keyset_common(&s[0], &s[1], &hash) == (want_first < 300));
        assert_true(want_first == 300 || hash == want_first);
        assert_true(keyset_subset(&s[0], &s[1]) == subset);
        keyset_init(&both, 300);
        assert_int_equal(keyset_union(&both, &s[0]), 0);
        assert_int_equal(keyset_union(&both, &s[1]), 0);
        assert_int_equal(keyset_size(&both), n_union);
        assert_true(keyset_subset(&s[0], &both) && keyset_subset(&s[1], &both));
        keyset_done(&both);
        keyset_done(&s[0]);
        keyset_done(&s[1]);
    }
}

static void bounded(void **state)
{
    (void)state;
    struct keyset s, other;
    keyset_init(&s, 1000);
    keyset_init(&other, 1000);
    for (uint64_t i = 0; i < 100000; i++) /* many, but few different */
        assert_int_equal(keyset_add(&s, i % 1000), 0);
    assert_int_equal(keyset_seal(&s), 0);
    assert_true(keyset_size(&s) == 1000 && keyset_bytes(&s) <= 1501 * 8);
    int rc = 0;
    for (uint64_t i = 1000; i < 1600 && rc == 0; i++)
        rc = keyset_add(&s, i);
    assert_int_equal(rc, E_TOOBIG);
    assert_true(keyset_bytes(&s) <= 1501 * 8);
    assert_int_equal(keyset_seal(&s), E_TOOBIG);
    keyset_done(&s);
    fill(&s, 600, 2, 0);
    fill(&other, 600, 2, 1);
    assert_int_equal(keyset_union(&s, &other), E_TOOBIG);
    assert_true(keyset_size(&s) == 600 && keyset_contains(&s, 2) && !keyset_contains(&s, 1));
    keyset_done(&other);
    fill(&other, 600, 1, 0); /* 300 of them are there already */
    assert_int_equal(keyset_union(&s, &other), 0);
    assert_true(keyset_size(&s) == 900 && keyset_bytes(&s) == 900 * 8);
    keyset_done(&s);
    keyset_done(&other);
}

static void sorted_lists(void **state)
{
    (void)state;
    static const uint64_t good[] = {1, 5, UINT64_MAX}, same[] = {1, 1}, down[] = {2, 1};
    struct keyset s;
    keyset_init(&s, 3);
    assert_int_equal(keyset_set_sorted(&s, good, 3), 0);
    assert_int_equal(keyset_set_sorted(&s, same, 2), E_INVAL);
    assert_int_equal(keyset_set_sorted(&s, down, 2), E_INVAL);
    assert_int_equal(keyset_set_sorted(&s, (const uint64_t[]){1, 2, 3, 4}, 4), E_TOOBIG);
    assert_true(keyset_size(&s) == 3 && keyset_contains(&s, 5));
    assert_int_equal(keyset_set_sorted(&s, NULL, 0), 0);
    assert_int_equal(keyset_size(&s), 0);
    keyset_done(&s);
}

static void no_memory(void **state)
{
    (void)state;
    struct keyset s, other;
    keyset_init(&s, 10000);
    keyset_init(&other, 10000);
    mem_fail_at(1, 0);
    assert_int_equal(keyset_add(&s, 1), E_NOMEM);
    fill(&s, 1000, 1, 0);
    fill(&other, 1000, 1, 5000);
    mem_fail_at(1, 0);
    assert_int_equal(keyset_union(&s, &other), E_NOMEM);
    mem_fail_at(1, 0);
    assert_int_equal(keyset_set_sorted(&s, (const uint64_t[]){1}, 1), E_NOMEM);
    assert_int_equal(keyset_size(&s), 1000);
    assert_int_equal(keyset_add(&s, 77777), 0);
    mem_fail_at(1, 0);
    assert_int_equal(keyset_seal(&s), E_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(keyset_seal(&s), 0);
    assert_true(keyset_contains(&s, 77777) && keyset_size(&s) == 1001);
    keyset_done(&s);
    keyset_done(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts),     cmocka_unit_test(empty),
        cmocka_unit_test(common),    cmocka_unit_test(like_a_plain_search),
        cmocka_unit_test(bounded),   cmocka_unit_test(sorted_lists),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
