/* test_outcome.c - keys of outcomes, and the ring of the newest ones. */
#include "tests/unit/catalog/fixture.h"

static struct ctx cx;

static struct snapshot snap(const char *uuid, const char *base, const char *delta, const char *user,
                            int64_t ident)
{
    return (struct snapshot){.id = 1,
                             .uuid = str_of(uuid),
                             .base_manifest_list = str_of(base),
                             .delta_manifest_list = str_of(delta),
                             .commit_user = str_of(user),
                             .commit_identifier = ident};
}

static bool same(struct snapshot a, struct snapshot b)
{
    uint8_t ka[OUTCOME_KEY_LEN], kb[OUTCOME_KEY_LEN];
    assert_int_equal(outcome_key(&cx, &a, ka), 0);
    assert_int_equal(outcome_key(&cx, &b, kb), 0);
    return memcmp(ka, kb, sizeof ka) == 0;
}

static void a_uuid_alone_decides(void **state)
{
    (void)state;
    assert_true(same(snap("x", "b", "d", "u", 1), snap("x", "c", "e", "v", 2)));
    assert_false(same(snap("x", "b", "d", "u", 1), snap("y", "b", "d", "u", 1)));
}

static void without_one_names_user_and_identifier_decide(void **state)
{
    (void)state;
    struct snapshot s = snap(NULL, "b", "d", "u", 1);
    assert_true(same(s, snap(NULL, "b", "d", "u", 1)));
    assert_true(same(s, snap("", "b", "d", "u", 1)));
    assert_false(same(s, snap(NULL, "B", "d", "u", 1)));
    assert_false(same(s, snap(NULL, "b", "D", "u", 1)));
    assert_false(same(s, snap(NULL, "b", "d", "U", 1)));
    assert_false(same(s, snap(NULL, "b", "d", "u", 2)));
    struct snapshot other_id = s;
    other_id.id = 9; /* clients post the same commit again under the next number */
    assert_true(same(s, other_id));
}

static void parts_do_not_run_together(void **state)
{
    (void)state;
    assert_false(same(snap(NULL, "ab", "c", "u", 1), snap(NULL, "a", "bc", "u", 1)));
    assert_false(same(snap(NULL, "a", "bc", "u", 1), snap(NULL, "a", "b", "cu", 1)));
    assert_false(same(snap(NULL, "a", "", "u", 1), snap(NULL, "", "a", "u", 1)));
}

static void a_uuid_is_no_list_of_names(void **state)
{
    (void)state;
    /* A uuid that holds the very bytes of the other kind of key. */
    char text[64] = {1, 0, 0, 0, 0, 0, 0, 0, 'b', 1, 0, 0, 0, 0, 0, 0, 0, 'd'};
    struct snapshot u = snap(NULL, "b", "d", "", 0);
    u.uuid = str_n(text, 18);
    assert_false(same(u, snap(NULL, "b", "d", "", 0)));
}

static void no_memory_is_said(void **state)
{
    (void)state;
    struct snapshot s = snap("x", "b", "d", "u", 1);
    uint8_t key[OUTCOME_KEY_LEN];
    mem_fail_at(1, 1);
    int rc = outcome_key(&cx, &s, key);
    mem_fail_at(0, 0);
    assert_int_equal(rc, E_NOMEM);
    assert_int_equal(cx.err.code, E_NOMEM);
    ctx_reset_err(&cx);
}

/* --- the ring --------------------------------------------------------------------------------- */

static struct outcome out(int64_t id)
{
    struct outcome o = {.snapshot_id = id};
    memcpy(o.key, &id, sizeof id);
    return o;
}

static const struct outcome *find(const struct outcome_ring *r, int64_t id)
{
    struct outcome o = out(id);
    return outcome_ring_find(r, o.key);
}

static void the_ring_keeps_the_newest(void **state)
{
    (void)state;
    struct outcome_ring r = {0};
    assert_null(find(&r, 0)); /* a key of zeros is not found in an empty ring */
    for (int64_t id = 1; id <= 100; id++) {
        struct outcome o = out(id);
        outcome_ring_add(&r, &o);
        for (int64_t k = 1; k <= id; k++) {
            const struct outcome *at = find(&r, k);
            assert_int_equal(at != NULL, k > id - OUTCOME_RING);
            if (at)
                assert_int_equal(at->snapshot_id, k);
        }
    }
}

static void covers_means_nothing_was_lost(void **state)
{
    (void)state;
    struct outcome_ring r = {0};
    assert_true(outcome_ring_covers(&r, 0));
    for (int64_t id = 1; id <= 100; id++) {
        struct outcome o = out(id);
        outcome_ring_add(&r, &o);
        for (int64_t since = 0; since <= id; since++) {
            bool all = true; /* are all that came after `since` still there? */
            for (int64_t k = since + 1; k <= id; k++)
                all = all && find(&r, k);
            assert_int_equal(outcome_ring_covers(&r, since), all);
        }
    }
}

static void forget_takes_what_is_above_and_sends_all_to_look_again(void **state)
{
    (void)state;
    struct outcome_ring r = {0};
    for (int64_t id = 1; id <= 10; id++) {
        struct outcome o = out(id);
        outcome_ring_add(&r, &o);
    }
    int64_t seq = r.seq;
    outcome_ring_forget(&r, 6);
    for (int64_t id = 1; id <= 10; id++)
        assert_int_equal(find(&r, id) != NULL, id <= 6);
    for (int64_t since = 0; since <= seq; since++)
        assert_false(outcome_ring_covers(&r, since));
    seq = r.seq;
    assert_true(outcome_ring_covers(&r, seq));
    /* A new 7 is another one than the old 7, and the count goes on from here. */
    struct outcome o = out(77);
    o.snapshot_id = 7;
    outcome_ring_add(&r, &o);
    assert_int_equal(find(&r, 77)->snapshot_id, 7);
    assert_null(find(&r, 7));
    assert_true(outcome_ring_covers(&r, seq));
}

static void forget_all(void **state)
{
    (void)state;
    struct outcome_ring r = {0};
    for (int64_t id = 1; id <= 50; id++) {
        struct outcome o = out(id);
        outcome_ring_add(&r, &o);
    }
    outcome_ring_forget(&r, 0);
    for (int64_t id = 1; id <= 50; id++)
        assert_null(find(&r, id));
}

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uuid_alone_decides),
        cmocka_unit_test(without_one_names_user_and_identifier_decide),
        cmocka_unit_test(parts_do_not_run_together),
        cmocka_unit_test(a_uuid_is_no_list_of_names),
        cmocka_unit_test(no_memory_is_said),
        cmocka_unit_test(the_ring_keeps_the_newest),
        cmocka_unit_test(covers_means_nothing_was_lost),
        cmocka_unit_test(forget_takes_what_is_above_and_sends_all_to_look_again),
        cmocka_unit_test(forget_all),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
