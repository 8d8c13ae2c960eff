/* test_rollback.c - back to an older snapshot: what it takes away, what it refuses, and what
 * becomes of it when it fails or the process dies at any step. */
#include "tests/unit/catalog/fixture.h"

static struct fx f;
static struct draft d[8]; /* snapshots 1..6 of table t: d[1]..d[6] */

static void six(unsigned kind)
{
    fx_new(&f, kind);
    fx_table(&f, "t");
    for (int i = 1; i <= 6; i++) {
        d[i] = fx_next(&f, i > 1 ? &d[i - 1] : NULL, "u", true);
        /* Members that the server does not know, and a layout of its own. */
        d[i].extra = " ,\"newer\": {\"a\" :[1.50,2e3]} ";
        d[i].size = 100;
        assert_true(fx_answer(&f, "t", &d[i]));
    }
    str dir = fx_dir(&f, "t");
    assert_int_equal(io_mkdirs(f.io, &f.cx, layout_tag_dir(&f.cx.arena, dir, S("main"))), 0);
    assert_int_equal(io_mkdirs(f.io, &f.cx, layout_changelog_dir(&f.cx.arena, dir, S("main"))), 0);
}

static int setup(void **state)
{
    (void)state;
    six(0);
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
    six(kind);
}

static void tag(const char *name, int n)
{
    struct draft t = d[n];
    t.extra = " ,\"newer\": {\"a\" :[1.50,2e3]} ,\"tagCreateTime\":[2026,1,2,3,4,5,6],"
              "\"tagTimeRetained\":60.000000000";
    fx_write(&f, fx_tag_path(&f, "t", name), fx_snapshot(&f, &t));
}

static str changelog(int64_t id)
{
    return layout_changelog(&f.cx.arena, fx_dir(&f, "t"), S("main"), id);
}

static str hint(const char *name)
{
    return fx_text(&f, "%.*s/%s", STR(fx_dir(&f, "t")), name);
}

/* The branch is at snapshot n of old, in memory, in the store and on disk. */
static void rolled_back_to(int n)
{
    struct seen s;
    struct branch_row row;
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.id, n);
    SAME(s.json, fx_snapshot(&f, &d[n])); /* byte for byte what its writer sent */
    SAME(s.json, fx_read(&f, fx_snapshot_path(&f, "t", n)));
    assert_int_equal(s.totals.file_size_bytes, 100 * n);
    assert_int_equal(fx_peek(&f, "t", &s), PEEK_HEAD);
    assert_int_equal(s.id, n);
    assert_int_equal(STORE(f.st, branch_get, &f.cx, fx_row(&f, "t").id, S("main"), &row), 0);
    assert_int_equal(row.head.id, n);
    SAME(row.head.json, fx_snapshot(&f, &d[n]));
    assert_int_equal(row.open.id, 0);
    fx_snapshots_are(&f, "t", 1, n);
    if (n != 6) /* the hint of a commit is best effort, that of a rollback is not */
        SAME(fx_read(&f, hint("snapshot/LATEST")), fx_text(&f, "%d", n));
    assert_int_equal(fx_counts(&f).head_changed, 0);
    assert_int_equal(fx_counts(&f).forked, 0);
}

/* Commits go on; those that were taken back are not answered with success; a restart changes
 * nothing. */
static void goes_on_from(int n)
{
    for (int i = n + 2; i <= 6; i++)
        assert_false(fx_answer(&f, "t", &d[i]));
    for (int i = 1; i <= n; i++)
        assert_true(fx_answer(&f, "t", &d[i]));
    struct draft e = fx_next(&f, &d[n], "v", true);
    assert_true(fx_answer(&f, "t", &e));
    for (int i = n + 1; i <= 6; i++)
        assert_false(fx_answer(&f, "t", &d[i]));
    fx_restart(&f);
    assert_int_equal(fx_head_id(&f, "t"), n + 1);
    for (int i = n + 1; i <= 6; i++)
        assert_false(fx_answer(&f, "t", &d[i]));
    assert_true(fx_answer(&f, "t", &e));
    fx_snapshots_are(&f, "t", 1, n + 1);
    assert_int_equal(fx_counts(&f).head_changed, 0);
    assert_int_equal(fx_counts(&f).adopted, 0);
}

/* --- the plain way ---------------------------------------------------------------------------- */

static void back_by_id(void **state)
{
    (void)state;
    OK(&f, fx_rollback(&f, "t", 3));
    rolled_back_to(3);
    assert_int_equal(fx_counts(&f).rollbacks, 1);
    fx_restart(&f);
    rolled_back_to(3);
    goes_on_from(3);
}

static void back_to_the_first(void **state)
{
    (void)state;
    OK(&f, fx_rollback(&f, "t", 1));
    rolled_back_to(1);
    goes_on_from(1);
}

static void back_to_where_it_is(void **state)
{
    (void)state;
    tag("new", 6);
    OK(&f, fx_rollback(&f, "t", 6));
    assert_int_equal(fx_counts(&f).rollbacks, 0);
    assert_int_equal(fx_calls(&f, ST_intent_begin), 0);
    assert_true(fx_exists(&f, fx_tag_path(&f, "t", "new")));
    rolled_back_to(6);
}

static void back_by_tag(void **state)
{
    (void)state;
    tag("v2", 2);
    OK(&f, fx_rollback_in(&f, "t", (struct rollback_in){.tag = S("v2")}));
    rolled_back_to(2);
    assert_true(fx_exists(&f, fx_tag_path(&f, "t", "v2")));
    goes_on_from(2);
}

static void again_and_again(void **state)
{
    (void)state;
    OK(&f, fx_rollback(&f, "t", 5));
    OK(&f, fx_rollback(&f, "t", 4));
    OK(&f, fx_rollback(&f, "t", 2));
    rolled_back_to(2);
    assert_int_equal(fx_counts(&f).rollbacks, 3);
    goes_on_from(2);
}

/* The file of the tag's snapshot had expired: it comes back, and EARLIEST with it. */
static void expire_up_to(int n)
{
    for (int i = 1; i <= n; i++)
        fx_del(&f, fx_snapshot_path(&f, "t", i));
    fx_write(&f, hint("snapshot/EARLIEST"), fx_text(&f, "%d", n + 1));
}

static void restored_at(int n)
{
    struct seen s;
    struct snapshot file;
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.id, n);
    SAME(s.json, fx_read(&f, fx_snapshot_path(&f, "t", n)));
    assert_null(memmem(s.json.p, s.json.len, "tagCreateTime", 13));
    assert_int_equal(snapshot_decode_file(&f.cx, s.json, S("x"), &file), 0);
    SAME(file.uuid, str_of(d[n].uuid));
    fx_snapshots_are(&f, "t", n, n);
    SAME(fx_read(&f, hint("snapshot/LATEST")), fx_text(&f, "%d", n));
    SAME(fx_read(&f, hint("snapshot/EARLIEST")), fx_text(&f, "%d", n));
    assert_int_equal(fx_counts(&f).head_changed, 0);
}

static void back_by_tag_to_an_expired_snapshot(void **state)
{
    (void)state;
    tag("v2", 2);
    expire_up_to(4);
    OK(&f, fx_rollback_in(&f, "t", (struct rollback_in){.tag = S("v2")}));
    restored_at(2);
    assert_true(fx_answer(&f, "t", &d[2]));
    fx_restart(&f);
    restored_at(2);
    struct draft e = fx_next(&f, &d[2], "v", true);
    assert_true(fx_answer(&f, "t", &e));
}

/* --- what goes with it ------------------------------------------------------------------------ */

static void tags_above_go(void **state)
{
    (void)state;
    tag("v2", 2);
    tag("v3", 3);
    tag("v4", 4);
    tag("v6", 6);
    str garbage = fx_tag_path(&f, "t", "garbage"), folder = fx_tag_path(&f, "t", "folder");
    fx_write(&f, garbage, S("no tag"));
    assert_int_equal(io_mkdirs(f.io, &f.cx, folder), 0);
    str link = fx_tag_path(&f, "t", "link");
    assert_int_equal(symlink("tag-v6", fx_text(&f, "%s/%.*s", f.root, STR(link)).p), 0);
    char *big = malloc(3 << 20);
    memset(big, ' ', 3 << 20);
    str huge = fx_tag_path(&f, "t", "huge");
    fx_write(&f, huge, str_n(big, 3 << 20));
    free(big);
    OK(&f, fx_rollback(&f, "t", 3));
    rolled_back_to(3);
    assert_true(fx_exists(&f, fx_tag_path(&f, "t", "v2")));
    assert_true(fx_exists(&f, fx_tag_path(&f, "t", "v3")));
    assert_false(fx_exists(&f, fx_tag_path(&f, "t", "v4")));
    assert_false(fx_exists(&f, fx_tag_path(&f, "t", "v6")));
    assert_true(fx_exists(&f, garbage)); /* not ours to judge */
    assert_true(fx_exists(&f, folder));
    assert_true(fx_exists(&f, huge));
}

static void changelogs_above_go(void **state)
{
    (void)state;
    for (int i = 1; i <= 5; i++)
        fx_write(&f, changelog(i), fx_snapshot(&f, &d[i]));
    fx_write(&f, hint("changelog/LATEST"), S("5"));
    fx_write(&f, hint("changelog/EARLIEST"), S("1"));
    OK(&f, fx_rollback(&f, "t", 3));
    for (int i = 1; i <= 5; i++)
        assert_int_equal(fx_exists(&f, changelog(i)), i <= 3);
    SAME(fx_read(&f, hint("changelog/LATEST")), S("3"));
    rolled_back_to(3);
    OK(&f, fx_rollback(&f, "t", 2));
    SAME(fx_read(&f, hint("changelog/LATEST")), S("2"));
}

static void all_changelogs_go(void **state)
{
    (void)state;
    fx_write(&f, changelog(4), fx_snapshot(&f, &d[4]));
    fx_write(&f, changelog(5), fx_snapshot(&f, &d[5]));
    fx_write(&f, hint("changelog/LATEST"), S("5"));
    OK(&f, fx_rollback(&f, "t", 2));
    assert_false(fx_exists(&f, changelog(4)));
    assert_false(fx_exists(&f, changelog(5)));
    SAME(fx_read(&f, hint("changelog/LATEST")), S("-1"));
}

static void files_above_that_nobody_adopted_go(void **state)
{
    (void)state;
    struct draft past = fx_next(&f, &d[6], "foreign", true);
    past.id = 9;
    fx_foreign(&f, "t", &past);
    OK(&f, fx_rollback(&f, "t", 5));
    rolled_back_to(5);
}

static void gaps_of_expiry_are_no_trouble(void **state)
{
    (void)state;
    fx_del(&f, fx_snapshot_path(&f, "t", 1));
    fx_del(&f, fx_snapshot_path(&f, "t", 4));
    OK(&f, fx_rollback(&f, "t", 3));
    struct seen s;
    OK(&f, fx_head(&f, "t", &s));
    SAME(s.json, fx_snapshot(&f, &d[3]));
    fx_snapshots_are(&f, "t", 2, 3);
}

static void without_tag_and_changelog_folders(void **state)
{
    (void)state;
    str dir = fx_dir(&f, "t");
    assert_int_equal(io_remove_tree(f.io, &f.cx, layout_tag_dir(&f.cx.arena, dir, S("main"))), 0);
    assert_int_equal(io_remove_tree(f.io, &f.cx, layout_changelog_dir(&f.cx.arena, dir, S("main"))),
                     0);
    OK(&f, fx_rollback(&f, "t", 3));
    rolled_back_to(3);
}

/* --- what it refuses -------------------------------------------------------------------------- */

static void targets_that_are_none(void **state)
{
    (void)state;
    static const int64_t ids[] = {7, 0, -1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "does not exist", fx_rollback(&f, "t", ids[i]));
    assert_string_equal(f.err.res_name, "9223372036854775807");
    fx_del(&f, fx_snapshot_path(&f, "t", 2));
    FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "snapshot 2", fx_rollback(&f, "t", 2));
    FAILS(&f, E_NOTFOUND, RES_TAG, "tag 'no'",
          fx_rollback_in(&f, "t", (struct rollback_in){.tag = S("no")}));
    assert_string_equal(f.err.res_name, "no");
    FAILS(&f, E_NOTFOUND, RES_TAG, "tag",
          fx_rollback_in(&f, "t", (struct rollback_in){.tag = S("../v")}));
    FAILS(&f, E_NOTFOUND, RES_TAG, "tag",
          fx_rollback_in(&f, "t", (struct rollback_in){.tag = S("")}));
    fx_write(&f, fx_tag_path(&f, "t", "bad"), S("garbage"));
    FAILS(&f, E_CORRUPT, RES_NONE, "tag-bad",
          fx_rollback_in(&f, "t", (struct rollback_in){.tag = S("bad")}));
    fx_write(&f, fx_snapshot_path(&f, "t", 3), S("garbage"));
    FAILS(&f, E_CORRUPT, RES_NONE, "snapshot-3", fx_rollback(&f, "t", 3));
    assert_int_equal(fx_calls(&f, ST_intent_begin), 0);
    assert_int_equal(fx_head_id(&f, "t"), 6);
    struct seen s;
    fx_table(&f, "empty");
    FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "snapshot 1", fx_rollback(&f, "empty", 1));
    OK(&f, fx_head(&f, "empty", &s));
}

static void the_guard(void **state)
{
    (void)state;
    struct rollback_in in = {.snapshot_id = 5, .from_snapshot = 5};
    FAILS(&f, E_CONFLICT, RES_NONE, "Latest snapshot 6 is not 5", fx_rollback_in(&f, "t", in));
    assert_int_equal(fx_head_id(&f, "t"), 6);
    in.from_snapshot = 6;
    OK(&f, fx_rollback_in(&f, "t", in));
    rolled_back_to(5);
    FAILS(&f, E_CONFLICT, RES_NONE, "Latest snapshot 5 is not 6", fx_rollback_in(&f, "t", in));
}

static void a_tag_of_another_history(void **state)
{
    (void)state;
    tag("old", 4);
    OK(&f, fx_rollback(&f, "t", 3));
    struct draft e = fx_next(&f, &d[3], "v", true);
    assert_true(fx_answer(&f, "t", &e)); /* another 4 */
    struct draft g = fx_next(&f, &e, "v", true);
    assert_true(fx_answer(&f, "t", &g));
    tag("old", 4); /* written again by a client that knows no better */
    FAILS(&f, E_CONFLICT, RES_TAG, "rolled back",
          fx_rollback_in(&f, "t", (struct rollback_in){.tag = S("old")}));
    assert_int_equal(fx_head_id(&f, "t"), 5);
    tag("above", 6);
    FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "snapshot 6",
          fx_rollback_in(&f, "t", (struct rollback_in){.tag = S("above")}));
}

static void a_deadline_that_is_over(void **state)
{
    (void)state;
    struct ctx cx;
    struct rollback_in in = {.snapshot_id = 3};
    fx_begin(&cx);
    cx.deadline_ms = clock_mono_ms() - 1;
    FAILS(&f, E_TIMEOUT, RES_NONE, "nothing was done",
          fx_end(&f, &cx, turn_on(&cx, &f, "t", turn_rollback, &in)));
    rolled_back_to(6);
}

static void a_dropped_table(void **state)
{
    (void)state;
    struct branch *br;
    struct ctx cx;
    struct rollback_in in = {.snapshot_id = 3};
    OK(&f, fx_branch(&f, "t", &br));
    OK(&f, fx_drop(&f, "t"));
    fx_begin(&cx);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "d.t", fx_end(&f, &cx, turn(&cx, br, turn_rollback, &in)));
    branch_unref(br);
}

/* --- failures
 * -------------------------------------------------------------------------------------------------
 */

static void before_the_intent_nothing_is_done(void **state)
{
    (void)state;
    static const struct plan plans[] = {{.op = IO_read, .code = E_IO},
                                        {.op = ST_intent_begin, .code = E_IO},
                                        {.op = ST_intent_begin, .code = E_BUSY}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        fx_plan(&f, plans[i]);
        FAILS(&f, plans[i].code, RES_NONE, "the test", fx_rollback(&f, "t", 3));
        fx_well(&f);
        rolled_back_to(6);
    }
    FAIL(&f, .op = ST_intent_begin, .code = E_RACE);
    FAILS(&f, E_BUSY, RES_NONE, "the test", fx_rollback(&f, "t", 3));
    fx_well(&f);
    rolled_back_to(6);
    FAIL(&f, .op = ST_intent_begin, .code = E_UNKNOWN); /* unknown, and it was not stored */
    FAILS(&f, E_UNKNOWN, RES_NONE, "the test", fx_rollback(&f, "t", 3));
    assert_int_equal(fx_peek(&f, "t", NULL), PEEK_ASK);
    fx_well(&f);
    rolled_back_to(6);
    assert_true(fx_answer(&f, "t", &d[6]));
    struct draft e = fx_next(&f, &d[6], "v", true);
    assert_true(fx_answer(&f, "t", &e));
}

static void an_intent_of_which_nobody_knows(void **state)
{
    (void)state;
    FAIL(&f, .op = ST_intent_begin, .code = E_UNKNOWN, .after = true); /* it was stored */
    FAILS(&f, E_UNKNOWN, RES_NONE, "the test", fx_rollback(&f, "t", 3));
    fx_well(&f);
    assert_int_equal(fx_peek(&f, "t", NULL), PEEK_ASK);
    assert_false(fx_answer(&f, "t", &d[6])); /* the ring does not remember it for ever */
    rolled_back_to(3);
    goes_on_from(3);
}

static void an_end_of_which_nobody_knows(void **state)
{
    (void)state;
    for (int after = 0; after < 2; after++) {
        FAIL(&f, .op = ST_history_finish, .code = E_UNKNOWN, .after = after);
        FAILS(&f, E_UNKNOWN, RES_NONE, "begun", fx_rollback(&f, "t", 3 - after));
        fx_well(&f);
        assert_int_equal(fx_peek(&f, "t", NULL), PEEK_ASK);
        assert_false(fx_answer(&f, "t", &d[6]));
        rolled_back_to(3 - after);
    }
    goes_on_from(2);
}

/* Each changing call of the rollback fails once; the intent stays open; nothing is answered or
 * taken meanwhile; the next turn finishes it. */
static void each_step_fails_once(void **state)
{
    (void)state;
    static const enum fx_op ops[] = {IO_put_if_absent, IO_write,          IO_del,
                                     IO_sync,          ST_history_finish, ST_outcome_of,
                                     IO_list,          IO_stat,           IO_read};
    int hit = 0;
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        for (int nth = 1; nth < 40; nth++) {
            struct seen s;
            bool ok;
            again(0);
            tag("v4", 4);
            tag("v2", 2);
            fx_write(&f, changelog(2), fx_snapshot(&f, &d[2]));
            fx_write(&f, changelog(4), fx_snapshot(&f, &d[4]));
            FAIL(&f, .op = ops[o], .nth = nth, .code = E_IO, .sticky = true);
            int rc = fx_rollback(&f, "t", 3);
            if (rc == 0) {
                fx_well(&f);
                rolled_back_to(3);
                assert_false(fx_exists(&f, fx_tag_path(&f, "t", "v4")));
                break;
            }
            if (rc == E_UNKNOWN) {
                hit++;
                assert_non_null(strstr(f.err.msg, "begun"));
                assert_int_equal(fx_intents(&f), 1);
                assert_int_equal(fx_peek(&f, "t", &s), PEEK_ASK);
                struct draft e = fx_next(&f, &d[3], "v", true);
                FAILS(&f, E_BUSY, RES_NONE, "nothing was done", fx_head(&f, "t", &s));
                int tried = fx_commit(&f, "t", &e, &ok);
                assert_true(tried == E_BUSY || (tried == E_IO && ops[o] == IO_read));
                FAILS(&f, E_BUSY, RES_NONE, "nothing was done", fx_rollback(&f, "t", 2));
                assert_int_equal(fx_peek(&f, "t", &s), PEEK_ASK);
                fx_well(&f);
                if (nth & 1)
                    fx_restart(&f); /* then the start finishes it */
                rolled_back_to(3);
                assert_false(fx_exists(&f, fx_tag_path(&f, "t", "v4")));
                assert_true(fx_exists(&f, fx_tag_path(&f, "t", "v2")));
                assert_false(fx_exists(&f, changelog(4)));
                assert_true(fx_exists(&f, changelog(2)));
                SAME(fx_read(&f, hint("changelog/LATEST")), S("2"));
            } else { /* before the intent */
                fx_well(&f);
                assert_int_equal(fx_intents(&f), 0);
                rolled_back_to(6);
            }
        }
    }
    assert_true(hit > 15);
}

static void an_expired_target_and_a_failure_at_each_step(void **state)
{
    (void)state;
    for (int k = 1;; k++) {
        again(FX_MEM);
        tag("v2", 2);
        expire_up_to(4);
        fx_die_at(&f, k);
        int rc = fx_rollback_in(&f, "t", (struct rollback_in){.tag = S("v2")});
        bool lived = !fx_dead(&f);
        fx_crash(&f, k & 1);
        int64_t id = fx_head_id(&f, "t");
        if (k == 1)
            assert_int_equal(id, 6);
        else
            restored_at(2);
        if (rc == 0)
            assert_int_equal(id, 2);
        if (lived)
            break;
        assert_true(k < 60);
    }
}

/* Dies at each changing call. Then it is as it was, or it is done. */
static void a_crash_anywhere(unsigned kind, bool power)
{
    bool lived = false;
    for (long k = 1; !lived; k++) {
        again(kind);
        tag("v4", 4);
        tag("v2", 2);
        fx_write(&f, changelog(4), fx_snapshot(&f, &d[4]));
        str folders[] = {fx_tag_path(&f, "t", "v4"), fx_tag_path(&f, "t", "v2"), changelog(4)};
        assert_int_equal(io_sync(f.io, &f.cx, folders, 3), 0);
        fx_die_at(&f, k);
        int rc = fx_rollback(&f, "t", 3);
        lived = !fx_dead(&f);
        fx_crash(&f, power);
        int64_t id = fx_head_id(&f, "t");
        if (rc == 0)
            assert_int_equal(id, 3);
        else if (rc != E_UNKNOWN)
            assert_int_equal(id, 6);
        assert_true(id == 3 || id == 6);
        rolled_back_to((int)id);
        assert_int_equal(fx_exists(&f, fx_tag_path(&f, "t", "v4")), id == 6);
        assert_int_equal(fx_exists(&f, changelog(4)), id == 6);
        assert_true(fx_exists(&f, fx_tag_path(&f, "t", "v2")));
        if (id == 3) {
            if (power)
                io_mem_crash(f.io); /* once more, after the end */
            rolled_back_to(3);
            goes_on_from(3);
        }
        assert_true(k < 60);
    }
}

static void a_crash_anywhere_in_a_rollback(void **state)
{
    (void)state;
    a_crash_anywhere(FX_MEM, false);
}

static void a_power_loss_anywhere_in_a_rollback(void **state)
{
    (void)state;
    a_crash_anywhere(FX_MEM, true);
}

static void a_crash_with_sqlite(void **state)
{
    (void)state;
    a_crash_anywhere(FX_MEM | FX_SQLITE, true);
}

/* A real process, really killed, at each named point. */
static void killed_at_each_point(void **state)
{
    (void)state;
    static const char *const points[] = {"rollback.intent",    "rollback.hinted",
                                         "rollback.deleted",   "rollback.deleted:2",
                                         "rollback.deleted:3", "rollback.files"};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        again(FX_SQLITE);
        tag("v4", 4);
        /* The child must own its threads: what is open here is closed first. */
        fx_close(&f);
        STORE(f.st, free);
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            const char *colon = strchr(points[i], ':');
            char arm[64];
            snprintf(arm, sizeof arm, "%.*s=kill%s",
                     colon ? (int)(colon - points[i]) : (int)strlen(points[i]), points[i],
                     colon ? colon : "");
            setenv("LATCH_INJECT", arm, 1);
            if (inject_init() != 0)
                _exit(1);
            fx_store_open(&f);
            if (fx_open(&f) != 0)
                _exit(2);
            _exit(fx_rollback(&f, "t", 3) == 0 ? 3 : 4);
        }
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGKILL);
        fx_store_open(&f);
        OK(&f, fx_open(&f));
        assert_int_equal(fx_intents_soon(&f, 0), 0); /* the start finishes it, unasked */
        rolled_back_to(3);
        assert_false(fx_exists(&f, fx_tag_path(&f, "t", "v4")));
        assert_int_equal(fx_counts(&f).intents_resumed, 1);
        goes_on_from(3);
    }
}

/* --- an open intent at start ------------------------------------------------------------------ */

static void leave_open(void)
{
    FAIL(&f, .op = ST_history_finish, .code = E_IO, .sticky = true);
    FAILS(&f, E_UNKNOWN, RES_NONE, "begun", fx_rollback(&f, "t", 3));
}

static void the_start_cannot_finish_it_yet(void **state)
{
    (void)state;
    struct seen s;
    leave_open();
    fx_close(&f); /* the store still fails */
    OK(&f, fx_open(&f));
    FAILS(&f, E_BUSY, RES_NONE, "nothing was done", fx_head(&f, "t", &s));
    assert_int_equal(fx_intents(&f), 1);
    fx_well(&f);
    rolled_back_to(3); /* the first request does */
}

static void an_intent_of_a_dropped_table(void **state)
{
    (void)state;
    leave_open();
    fx_well(&f);
    fx_close(&f);
    struct table_row row;
    assert_int_equal(STORE(f.st, table_get, &f.cx, 1, S("d"), S("t"), &row), 0);
    fx_drop_in_store(&f, row.id);
    OK(&f, fx_open(&f));
    assert_int_equal(fx_intents_soon(&f, 0), 0);
    assert_true(fx_gone_soon(&f, S("d.db/t")));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t", fx_get(&f, "t", NULL));
}

static void dropped_while_it_is_open(void **state)
{
    (void)state;
    leave_open();
    OK(&f, fx_drop(&f, "t"));
    fx_well(&f);
    assert_int_equal(fx_intents_soon(&f, 0), 0);
    fx_restart(&f);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t", fx_get(&f, "t", NULL));
}

static void an_open_intent_is_not_evicted(void **state)
{
    (void)state;
    struct seen s;
    f.cat->o.tables_max = 1;
    leave_open();
    for (int i = 0; i < 6; i++) {
        const char *name = fx_text(&f, "x%d", i).p;
        OK(&f, fx_create(&f, name));
        OK(&f, fx_head(&f, name, &s));
        OK(&f, fx_head(&f, name, &s));
    }
    fx_well(&f);
    int loads = fx_calls(&f, ST_table_get);
    rolled_back_to(3);
    assert_int_equal(fx_counts(&f).intents_resumed, 1);
    IGNORE(loads);
}

static void an_intent_of_a_newer_version(void **state)
{
    (void)state;
    struct seen s;
    int64_t id, epoch;
    struct store_intent_in in = {.row = {.table_id = fx_row(&f, "t").id,
                                         .branch = S("main"),
                                         .kind = S("teleport"),
                                         .args_json = S("{}"),
                                         .warehouse_id = f.w->id},
                                 .bump_epoch = true,
                                 .expect_head_id = 6};
    assert_int_equal(STORE(f.st, intent_begin, &f.cx, &in, &id, &epoch), 0);
    fx_restart(&f);
    int rc = fx_head(&f, "t", &s);
    assert_true(rc == E_BUSY || rc == E_UNSUPPORTED);
    assert_non_null(strstr(f.err.msg, "teleport"));
    assert_int_equal(fx_intents(&f), 1);
    OK(&f, fx_create(&f, "other")); /* only this table */
}

static void commits_that_wait_during_a_rollback(void **state)
{
    (void)state;
    /* A commit that was prepared before the rollback and comes after it. */
    struct branch *br;
    struct ctx cx;
    struct posted p = {0};
    struct draft e = fx_next(&f, &d[6], "v", true);
    fx_files(&f, "t", &e);
    OK(&f, fx_branch(&f, "t", &br));
    fx_begin(&cx);
    struct commit_in in = {.base_uuid = str_of(e.base_uuid)};
    assert_int_equal(json_parse(&cx, fx_snapshot(&f, &e), "test", &in.snapshot), 0);
    assert_int_equal(commit_new(&cx, br, &in, &p.cm), 0);
    assert_int_equal(commit_prepare(&cx, p.cm), 0);
    OK(&f, fx_rollback(&f, "t", 3));
    int rc;
    while ((rc = turn(&cx, br, turn_commit, &p)) == CAT_NEED)
        assert_int_equal(commit_prepare(&cx, p.cm), 0);
    assert_int_equal(rc, 0);
    assert_false(p.success);
    assert_int_equal(fx_end(&f, &cx, 0), 0);
    branch_unref(br);
    rolled_back_to(3);
}

/* Lets each allocation of a rollback fail. */
static void no_memory_anywhere(void **state)
{
    (void)state;
    for (long n = 1;; n += 1 + n / 40) {
        again(FX_MEM);
        struct ctx cx;
        struct rollback_in in = {.snapshot_id = 3};
        fx_begin(&cx);
        mem_fail_at(n, n & 1);
        int rc = turn_on(&cx, &f, "t", turn_rollback, &in);
        long seen = mem_fail_at(0, 0);
        rc = fx_end(&f, &cx, rc);
        int64_t id = fx_head_id(&f, "t");
        if (rc == 0)
            assert_int_equal(id, 3);
        else if (rc != E_UNKNOWN)
            assert_int_equal(id, 6);
        rolled_back_to((int)id);
        if (seen < n)
            break;
        assert_true(n < 2000);
    }
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(back_by_id),
        T(back_to_the_first),
        T(back_to_where_it_is),
        T(back_by_tag),
        T(again_and_again),
        T(back_by_tag_to_an_expired_snapshot),
        T(tags_above_go),
        T(changelogs_above_go),
        T(all_changelogs_go),
        T(files_above_that_nobody_adopted_go),
        T(gaps_of_expiry_are_no_trouble),
        T(without_tag_and_changelog_folders),
        T(targets_that_are_none),
        T(the_guard),
        T(a_tag_of_another_history),
        T(a_deadline_that_is_over),
        T(a_dropped_table),
        T(before_the_intent_nothing_is_done),
        T(an_intent_of_which_nobody_knows),
        T(an_end_of_which_nobody_knows),
        T(each_step_fails_once),
        T(an_expired_target_and_a_failure_at_each_step),
        T(a_crash_anywhere_in_a_rollback),
        T(a_power_loss_anywhere_in_a_rollback),
        T(a_crash_with_sqlite),
        T(killed_at_each_point),
        T(the_start_cannot_finish_it_yet),
        T(an_intent_of_a_dropped_table),
        T(dropped_while_it_is_open),
        T(an_open_intent_is_not_evicted),
        T(an_intent_of_a_newer_version),
        T(commits_that_wait_during_a_rollback),
        T(no_memory_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
