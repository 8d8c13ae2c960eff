/* test_arena.c - alignment, zeroing, the budget, deferred functions; and mem.h's torture hook. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/base/arena.h"
#include "proto/base/err.h"
#include "proto/base/mem.h"

static void gives_aligned_zeroed_separate_memory(void **state)
{
    (void)state;
    enum { N = 2000 };
    struct arena a;
    arena_init(&a, 64 << 20);
    assert_int_equal(a.used, 0);
    unsigned char *p[N];
    size_t asked = 0;
    for (size_t i = 0; i < N; i++) {
        size_t n = i * 7 % 300 + (i % 97 == 0 ? 20000 : 0) + (i % 501 == 0 ? 200000 : 0);
        p[i] = arena_alloc(&a, n);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(p[i][k], 0);
        memset(p[i], (int)(i & 0xFF) | 1, n);
        asked += n;
    }
    for (size_t i = 0; i < N; i++) { /* nobody wrote over anybody */
        size_t n = i * 7 % 300 + (i % 97 == 0 ? 20000 : 0) + (i % 501 == 0 ? 200000 : 0);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(p[i][k], (int)(i & 0xFF) | 1);
    }
    assert_true(a.used >= asked && a.used < asked * 2);
    arena_done(&a);
    assert_int_equal(a.used, 0);
    arena_done(&a);
    assert_non_null(arena_alloc(&a, 1)); /* usable again */
    arena_done(&a);
}

static void keeps_the_budget(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 10000);
    size_t got = 0;
    while (arena_alloc(&a, 100))
        got += 112;
    assert_true(a.used <= 10000);
    assert_true(got > 9000); /* and lets most of it be used */
    arena_done(&a);
    assert_null(arena_alloc(&a, 10000)); /* the header does not fit any more */
    assert_non_null(arena_alloc(&a, 9984 - 16));
    assert_null(arena_alloc(&a, 16));
    assert_true(a.used <= 10000);
    arena_done(&a);
    arena_init(&a, 0);
    assert_null(arena_alloc(&a, 0));
    arena_done(&a);
}

static void uses_the_rest_of_a_block_after_a_big_one(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    char *small = arena_alloc(&a, 16);
    assert_non_null(arena_alloc(&a, 500000));
    assert_ptr_equal(arena_alloc(&a, 16), small + 16);
    arena_done(&a);
}

static void refuses_sizes_that_overflow(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, SIZE_MAX);
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX - 15));
    assert_null(arena_alloc(&a, SIZE_MAX / 2 + 1));
    volatile size_t many = SIZE_MAX / 8 + 2; /* times 8 wraps to 8 */
    assert_null(ARENA_ARRAY(&a, uint64_t, many));
    assert_int_equal(a.used, 0);
    uint64_t *ok = ARENA_ARRAY(&a, uint64_t, 3);
    assert_non_null(ok);
    ok[2] = 1;
    assert_non_null(ARENA_ARRAY(&a, uint64_t, 0));
    arena_done(&a);
}

static char letters[] = "123xz"; /* what a deferred function is given: one of these */
static char order[8];
static size_t order_len;
static struct arena *late;

static void note(void *p)
{
    order[order_len++] = *(const char *)p;
}

static void note_and_defer(void *p)
{
    note(p);
    assert_int_equal(arena_defer(late, note, &letters[4]), 0);
}

static void runs_deferred_newest_first_once(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    order_len = 0;
    late = &a;
    assert_int_equal(arena_defer(&a, note, &letters[0]), 0);
    assert_int_equal(arena_defer(&a, note_and_defer, &letters[1]), 0);
    assert_int_equal(arena_defer(&a, note, &letters[2]), 0);
    assert_int_equal(order_len, 0);
    arena_done(&a);
    arena_done(&a);
    assert_int_equal(order_len, 4);
    assert_memory_equal(order, "32z1", 4);
}

static void runs_a_deferred_at_once_without_memory(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    order_len = 0;
    mem_fail_at(1, 0);
    assert_int_equal(arena_defer(&a, note, &letters[3]), E_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(order_len, 1);
    arena_done(&a);
    assert_int_equal(order_len, 1); /* not a second time */
}

static void survives_no_memory(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    assert_non_null(arena_alloc(&a, 16));
    size_t used = a.used;
    mem_fail_at(1, 1);
    assert_null(arena_alloc(&a, 100000));
    assert_int_equal(a.used, used);
    assert_non_null(arena_alloc(&a, 16)); /* the block still has room */
    mem_fail_at(0, 0);
    assert_non_null(arena_alloc(&a, 100000));
    arena_done(&a);
}

static void mem_fails_the_nth(void **state)
{
    (void)state;
    void *p[6];
    mem_fail_at(3, 0);
    for (int i = 0; i < 6; i++) {
        p[i] = mem_alloc(8);
        assert_int_equal(p[i] == NULL, i == 2);
        mem_free(p[i]);
    }
    assert_int_equal(mem_fail_at(2, 1), 6);
    char *kept = mem_dup("abc", 2);
    assert_string_equal(kept, "ab");
    assert_null(mem_realloc(kept, 100)); /* kept stays valid */
    assert_null(mem_zalloc(8));
    assert_null(mem_dup("x", 1));
    assert_string_equal(kept, "ab");
    assert_int_equal(mem_fail_at(0, 0), 4);
    kept = mem_realloc(kept, 100);
    assert_string_equal(kept, "ab");
    mem_free(kept);
    assert_int_equal(mem_fail_at(0, 0), 1); /* counted though nothing is armed */
}

static void mem_of_zero_bytes_is_not_null(void **state)
{
    (void)state;
    void *p = mem_alloc(0), *q = mem_zalloc(0);
    char *d = mem_dup(NULL, 0);
    assert_non_null(p);
    assert_non_null(q);
    assert_string_equal(d, "");
    p = mem_realloc(p, 0);
    assert_non_null(p);
    mem_free(p);
    mem_free(q);
    mem_free(d);
    mem_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_aligned_zeroed_separate_memory),
        cmocka_unit_test(keeps_the_budget),
        cmocka_unit_test(uses_the_rest_of_a_block_after_a_big_one),
        cmocka_unit_test(refuses_sizes_that_overflow),
        cmocka_unit_test(runs_deferred_newest_first_once),
        cmocka_unit_test(runs_a_deferred_at_once_without_memory),
        cmocka_unit_test(survives_no_memory),
        cmocka_unit_test(mem_fails_the_nth),
        cmocka_unit_test(mem_of_zero_bytes_is_not_null),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
