/* test_believe.c - an external table whose head's file is gone: the newest on disk is the head. Rolled back,
 * rewritten and expired in the files; nothing to believe; failures and death at any step.
 *
 * The table lies in the warehouse, where the fixture's failures reach it. */
#include "tests/unit/catalog/fixture.h"

static struct fx f;
static struct draft d[10]; /* what we committed: d[1]..d[5] */

static const char *folder(const char *name)
{
    return fx_text(&f, "%s/d.db/mine%s", f.root, name).p;
}

static void five(unsigned kind)
{
    fx_new(&f, kind);
    OK(&f, fx_db(&f, "d"));
    OK(&f, fx_create_as(
               &f, "d", "t",
               fx_text(&f,
                       "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT NOT NULL\"},{\"id\":1,"
                       "\"name\":\"v\",\"type\":\"STRING\"}],\"partitionKeys\":[],\"primaryKeys\":"
                       "[\"k\"],\"options\":{\"bucket\":\"1\",\"path\":\"%s\"},\"comment\":\"c\"}",
                       folder(""))
                   .p));
    SAME(fx_dir(&f, "t"), S("d.db/mine"));
    for (int i = 1; i <= 5; i++) {
        d[i] =
            fx_next(&f, i > 1 ? &d[i - 1] : NULL, "u", i != 4); /* clients have no uuid up to 1.4 */
        d[i].size = 100;
        assert_true(fx_answer(&f, "t", &d[i]));
    }
}

static int setup(void **state)
{
    (void)state;
    five(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

static void again(unsigned kind)
{
    fx_done(&f);
    five(kind);
}

/* --- clients ---------------------------------------------------------------------------------- */

/* As Java does: newest first. It does not sync either; a power loss of the test is after that. */
static void gone(int64_t above, int64_t up_to)
{
    for (int64_t i = up_to; i > above; i--)
        fx_del(&f, fx_snapshot_path(&f, "t", i));
    str dir = layout_snapshot_dir(&f.cx.arena, fx_dir(&f, "t"), S("main"));
    assert_int_equal(io_sync(f.io, &f.cx, &dir, 1), 0);
}

static struct draft foreign(const struct draft *on)
{
    struct draft n = fx_next(&f, on, "java", false);
    n.size = 7;
    fx_foreign(&f, "t", &n);
    return n;
}

/* --- what must hold --------------------------------------------------------------------------- */

static int turn_check(struct ctx *cx, struct branch *br, void *arg)
{
    void **p = arg;
    (void)br;
    return state_check_run(cx, p[0], p[1]);
}

/* What is in memory is what the files say. */
static void state_is_right(void)
{
    struct ctx cx;
    struct branch *br;
    struct state_check *ck;
    struct state_report r = {0};
    fx_begin(&cx);
    OK(&f, cat_branch_open(&cx, f.cat, f.w, S("d"), S("t"), &br));
    OK(&f, state_check_new(&cx, br, /* compare= */ true, &ck));
    int rc = CAT_NEED;
    for (int i = 0; rc == CAT_NEED; i++) {
        assert_true(i < 10);
        OK(&f, state_check_prepare(&cx, ck));
        rc = turn(&cx, br, turn_check, (void *[]){ck, &r});
    }
    branch_unref(br);
    assert_true(r.compared);
    if (!r.equal)
        fail_msg("%.*s", STR(r.differences));
    OK(&f, fx_end(&f, &cx, rc));
}

static struct branch_row row(void)
{
    struct branch_row r;
    assert_int_equal(STORE(f.st, branch_get, &f.cx, fx_row(&f, "t").id, S("main"), &r), 0);
    return r;
}

/* In memory, in the store and on disk. Size -1: whatever. */
static void head_is(const struct draft *of, int64_t size)
{
    struct seen s;
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.id, of->id);
    SAME(s.json, fx_snapshot(&f, of));
    SAME(s.json, fx_read(&f, fx_snapshot_path(&f, "t", of->id)));
    if (size != -1)
        assert_int_equal(s.totals.file_size_bytes, size);
    assert_int_equal(fx_peek(&f, "t", NULL), PEEK_ASK);
    struct branch_row r = row();
    assert_int_equal(r.head.id, of->id);
    SAME(r.head.json, fx_snapshot(&f, of));
    assert_int_equal(r.open.id, 0);
    assert_int_equal(fx_counts(&f).branches_forked, 0);
}

/* Commits go on: ours, theirs, ours after a restart. */
static void goes_on_from(const struct draft *head)
{
    struct draft e = fx_next(&f, head, "v", head->uuid[0]);
    e.size = 50;
    assert_true(fx_answer(&f, "t", &e));
    state_is_right();
    struct draft g = foreign(&e);
    head_is(&g, -1);
    fx_restart(&f);
    assert_true(fx_answer(&f, "t", &e)); /* asked again */
    struct draft h = fx_next(&f, &g, "v", true);
    assert_true(fx_answer(&f, "t", &h));
    head_is(&h, -1);
    state_is_right();
}

static void is_no_success(const struct draft *of)
{
    bool ok = false;
    struct draft n = *of;
    n.no_files = true;
    int rc = fx_commit(&f, "t", &n, &ok);
    assert_true(rc == 0 || rc == E_CONFLICT);
    assert_false(ok);
}

/* --- rolled back ------------------------------------------------------------------------------ */

static void rolled_back_in_the_files(void **state)
{
    (void)state;
    state_is_right();
    int64_t epoch = row().epoch;
    gone(3, 5);
    head_is(&d[3], 300);
    assert_int_equal(row().epoch, epoch + 1);
    assert_int_equal(fx_counts(&f).believed, 1);
    assert_int_equal(fx_counts(&f).head_changed + fx_counts(&f).forked, 0);
    assert_int_equal(fx_intents(&f), 0);
    fx_snapshots_are(&f, "t", 1, 3);
    state_is_right();
    is_no_success(&d[5]);
    for (int i = 1; i <= 3; i++)
        assert_true(fx_answer(&f, "t", &d[i]));
    goes_on_from(&d[3]);
    is_no_success(&d[4]);
    is_no_success(&d[5]);
    assert_int_equal(fx_counts(&f).believed, 0); /* since the restart */
}

/* The first turn that sees it is a commit's. */
static void a_commit_finds_it(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        gone(3, 5);
        if (restart)
            fx_restart(&f);
        struct draft stale = fx_next(&f, &d[5], "v", true), e = fx_next(&f, &d[3], "v", true);
        is_no_success(restart ? &d[5] : &stale);
        head_is(&d[3], 300);
        assert_true(fx_answer(&f, "t", &e));
        head_is(&e, 1300);
        is_no_success(&d[4]);
        state_is_right();
        again(0);
    }
    gone(2, 5);
    struct draft e = fx_next(&f, &d[2], "v", true);
    assert_true(fx_answer(&f, "t", &e));
    head_is(&e, 1200);
}

/* Our own rollback, when the head is gone. */
static void a_rollback_finds_it(void **state)
{
    (void)state;
    gone(4, 5);
    OK(&f, fx_rollback(&f, "t", 2));
    head_is(&d[2], 200);
    assert_int_equal(fx_counts(&f).believed, 1);
    gone(1, 2);
    FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "snapshot 2", fx_rollback(&f, "t", 2));
    head_is(&d[1], 100);
    goes_on_from(&d[1]);
}

/* Rolled back and committed to: the same numbers, other commits. */
static void another_past_with_the_same_numbers(void **state)
{
    (void)state;
    gone(2, 5);
    struct draft three = foreign(&d[2]), four = foreign(&three);
    head_is(&four, -1);
    state_is_right();
    for (int i = 3; i <= 5; i++)
        is_no_success(&d[i]);
    fx_restart(&f);
    for (int i = 3; i <= 5; i++)
        is_no_success(&d[i]);
    assert_true(fx_answer(&f, "t", &d[1]));
    assert_true(fx_answer(&f, "t", &d[2]));
    head_is(&four, 214);
    goes_on_from(&four);
}

/* As many as were rolled back, or more: the head's file is there, and another. */
static void as_many_as_were_rolled_back(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        int64_t epoch = row().epoch;
        gone(2, 5);
        struct draft n = d[2];
        for (int i = 3; i <= 5 + more; i++)
            n = foreign(&n);
        is_no_success(&d[4]);
        head_is(&n, -1);
        assert_int_equal(row().epoch, epoch + 1);
        assert_int_equal(fx_counts(&f).head_changed, 1);
        assert_int_equal(fx_counts(&f).believed, 1);
        assert_int_equal(fx_counts(&f).adopted, 0);
        fx_restart(&f);
        for (int i = 3; i <= 5; i++)
            is_no_success(&d[i]);
        assert_true(fx_answer(&f, "t", &d[1]));
        assert_true(fx_answer(&f, "t", &d[2]));
        state_is_right();
        goes_on_from(&n);
        again(0);
    }
}

/* --- forward ---------------------------------------------------------------------------------- */

static void forward_past_the_head(void **state)
{
    (void)state;
    struct draft n = d[5];
    for (int i = 6; i <= 9; i++)
        n = foreign(&n);
    gone(0, 7);
    head_is(&n, -1);
    assert_int_equal(fx_counts(&f).believed, 1);
    assert_int_equal(fx_counts(&f).adopted, 0);
    fx_snapshots_are(&f, "t", 8, 9);
    state_is_right();
    head_is(&n, 528);
    for (int i = 1; i <= 5; i++) /* what is recorded and was not rolled back was a success */
        assert_true(fx_answer(&f, "t", &d[i]));
    goes_on_from(&n);
}

/* The head expired, but not the one after it. */
static void forward_with_the_next_there(void **state)
{
    (void)state;
    struct draft six = foreign(&d[5]), seven = foreign(&six);
    gone(0, 5);
    head_is(&seven, -1);
    goes_on_from(&seven);
}

/* --- nothing to believe ----------------------------------------------------------------------- */

static void stays_as_it_was(const char *why)
{
    struct seen s;
    struct draft e = fx_next(&f, &d[5], "v", true);
    bool ok;
    e.no_files = true;
    int64_t epoch = row().epoch;
    for (int i = 0; i < 2; i++) {
        OK(&f, fx_head(&f, "t", &s));
        SAME(s.json, fx_snapshot(&f, &d[5])); /* with which a person can repair it */
        FAILS(&f, E_BUSY, RES_TABLE, why, fx_commit(&f, "t", &e, &ok));
        FAILS(&f, E_BUSY, RES_TABLE, "is the head and its file is gone", fx_rollback(&f, "t", 2));
        assert_int_equal(fx_counts(&f).branches_forked, 1);
        assert_int_equal(fx_counts(&f).believed, 0);
        assert_int_equal(row().epoch, epoch);
        assert_int_equal(row().head.id, 5);
        assert_int_equal(row().open.id, 0);
        if (i == 0)
            fx_restart(&f);
    }
}

static void nothing_can_be_seen(void **state)
{
    (void)state;
    static const char *const away[] = {"/snapshot", ""};
    for (int i = 0; i < 2; i++) {
        const char *to = fx_text(&f, "%s/away", f.root).p;
        assert_int_equal(rename(folder(away[i]), to), 0);
        stays_as_it_was("no snapshot");
        assert_int_equal(rename(to, folder(away[i])), 0);
        head_is(&d[5], 500);
    }
    const char *to = fx_text(&f, "%s/away", f.root).p;
    assert_int_equal(rename(folder("/snapshot"), to), 0);
    assert_int_equal(mkdir(folder("/snapshot"), 0777), 0); /* a mount point */
    stays_as_it_was("no snapshot");
    assert_int_equal(rmdir(folder("/snapshot")), 0);
    assert_int_equal(rename(to, folder("/snapshot")), 0);
    gone(3, 5); /* and it was another disk than before */
    head_is(&d[3], 300);
    goes_on_from(&d[3]);
}

static void what_is_there_is_no_head(void **state)
{
    (void)state;
    str four = fx_snapshot_path(&f, "t", 4), three = fx_snapshot_path(&f, "t", 3);
    gone(4, 5);
    fx_write(&f, four, S("garbage"));
    stays_as_it_was("snapshot-4");
    fx_write(&f, four, fx_snapshot(&f, &d[3]));
    stays_as_it_was("holds snapshot 3");
    fx_write(&f, four, fx_snapshot(&f, &d[4]));
    fx_del(&f, three);
    stays_as_it_was("missing");
    fx_write(&f, three, fx_snapshot(&f, &d[3]));
    head_is(&d[4], 400);
    goes_on_from(&d[4]);
}

static void a_folder_that_cannot_be_listed(void **state)
{
    (void)state;
    struct seen s;
    gone(3, 5);
    FAIL(&f, .op = IO_list, .code = E_IO, .sticky = true, .path = "snapshot");
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.id, 5);
    assert_int_equal(fx_counts(&f).branches_forked, 1);
    fx_well(&f);
    head_is(&d[3], 300);
}

static void tables_of_ours_wait_for_a_person(void **state)
{
    (void)state;
    struct draft last = {0};
    struct seen s;
    OK(&f, fx_create(&f, "own"));
    fx_grow(&f, "own", &last, 3, true);
    fx_del(&f, fx_snapshot_path(&f, "own", 3));
    FAILS(&f, E_BUSY, RES_TABLE, "put the file back", fx_rollback(&f, "own", 1));
    OK(&f, fx_head(&f, "own", &s));
    assert_int_equal(s.id, 3);
    assert_int_equal(fx_counts(&f).believed, 0);
    assert_int_equal(fx_counts(&f).branches_forked, 1);
}

/* --- death and failures ----------------------------------------------------------------------- */

static void a_crash_anywhere(void **state)
{
    (void)state;
    for (int power = 0; power < 2; power++) {
        bool lived = false;
        long k = 1;
        for (; !lived; k++) {
            again(FX_MEM | (k & 1 ? FX_SQLITE : 0));
            int64_t epoch = row().epoch;
            gone(3, 5);
            fx_die_at(&f, k);
            struct seen s = {0};
            int rc = fx_head(&f, "t", &s);
            lived = !fx_dead(&f);
            if (lived)
                assert_int_equal(s.id, 3);
            else /* the old head while there is nothing to believe */
                assert_true(rc < 0 || s.id == 5);
            fx_crash(&f, power);
            head_is(&d[3], 300);
            assert_int_equal(row().epoch, epoch + 1);
            is_no_success(&d[5]);
            goes_on_from(&d[3]);
            assert_int_equal(fx_intents(&f), 0);
            assert_true(k < 20);
        }
        assert_true(k > 3); /* the sync, the intent, its end */
    }
}

static void a_failure_anywhere(void **state)
{
    (void)state;
    static const int codes[] = {E_IO, E_BUSY, E_NOMEM, E_UNKNOWN};
    int hits = 0;
    for (enum fx_op op = 0; op < OP_COUNT; op++)
        for (size_t c = 0; c < 4; c++)
            for (int nth = 1;; nth++) {
                struct seen s = {0};
                if (codes[c] == E_UNKNOWN && op != ST_intent_begin && op != ST_history_finish)
                    break;
                again(FX_MEM);
                gone(3, 5);
                FAIL(&f, .op = op, .nth = nth, .code = codes[c], .after = nth & 1 && c == 3);
                int rc = fx_head(&f, "t", &s);
                bool hit = f.plans[0].hits >= nth;
                fx_well(&f);
                if (!hit)
                    break;
                hits++;
                assert_true(rc == 0 || rc == codes[c] || rc == E_BUSY);
                if (rc == 0)
                    assert_true(s.id == 3 || s.id == 5);
                head_is(&d[3], 300);
                is_no_success(&d[5]);
                state_is_right();
            }
    assert_true(hits > 15);
}

/* --- while it goes on ------------------------------------------------------------------------- */

static bool rewrite;
static enum fx_op when;

static void goes_further(struct fx *fx, enum fx_op op, bool after, str path)
{
    (void)path;
    if (op != when || !after)
        return;
    str three = layout_snapshot(&fx->cx.arena, S("d.db/mine"), S("main"), 3);
    struct draft other = d[3];
    snprintf(other.user, sizeof other.user, "java");
    if (rewrite)
        assert_int_equal(io_write(fx->io, &fx->cx, three, fx_snapshot(fx, &other), false), 0);
    else
        assert_int_equal(io_del(fx->io, &fx->cx, three), 0);
}

static void the_files_change_meanwhile(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct seen s;
        rewrite = i == 1;
        when = ST_intent_begin;
        again(0);
        gone(3, 5);
        fx_hook(&f, goes_further, NULL);
        FAILS(&f, E_BUSY, RES_TABLE, "rewrites the snapshots", fx_head(&f, "t", &s));
        fx_hook(&f, NULL, NULL);
        assert_int_equal(row().open.id, 0);
        assert_int_equal(row().head.id, 5);
        if (rewrite) {
            struct draft other = d[3];
            snprintf(other.user, sizeof other.user, "java");
            head_is(&other, -1);
        } else {
            head_is(&d[2], 200);
            goes_on_from(&d[2]);
        }
    }
}

/* After it was read: the next turn sees it. */
static void the_files_change_a_moment_later(void **state)
{
    (void)state;
    struct seen s;
    struct draft other = d[3];
    snprintf(other.user, sizeof other.user, "java");
    rewrite = true;
    when = ST_outcome_of;
    gone(3, 5);
    fx_hook(&f, goes_further, NULL);
    OK(&f, fx_head(&f, "t", &s));
    fx_hook(&f, NULL, NULL);
    SAME(s.json, fx_snapshot(&f, &d[3]));
    head_is(&other, -1);
}

/* Begun, and the process died; the disk is not there when it starts again. */
static void a_disk_that_went_meanwhile(void **state)
{
    (void)state;
    struct seen s;
    const char *to = fx_text(&f, "%s/away", f.root).p;
    gone(3, 5);
    FAIL(&f, .op = ST_history_finish, .code = E_IO);
    assert_true(fx_head(&f, "t", &s) < 0);
    fx_well(&f);
    assert_int_equal(fx_intents(&f), 1);
    assert_int_equal(rename(folder("/snapshot"), to), 0);
    fx_restart(&f);
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.id, 5);
    assert_int_equal(fx_counts(&f).branches_forked, 1);
    assert_int_equal(fx_intents(&f), 0);
    assert_int_equal(rename(to, folder("/snapshot")), 0);
    head_is(&d[3], 300);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(rolled_back_in_the_files),
        T(a_commit_finds_it),
        T(a_rollback_finds_it),
        T(another_past_with_the_same_numbers),
        T(as_many_as_were_rolled_back),
        T(forward_past_the_head),
        T(forward_with_the_next_there),
        T(nothing_can_be_seen),
        T(what_is_there_is_no_head),
        T(a_folder_that_cannot_be_listed),
        T(tables_of_ours_wait_for_a_person),
        T(a_crash_anywhere),
        T(a_failure_anywhere),
        T(the_files_change_meanwhile),
        T(the_files_change_a_moment_later),
        T(a_disk_that_went_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
