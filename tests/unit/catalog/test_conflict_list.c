/* test_conflict_list.c - from a verdict to the list: what a row says, what makes two posts one row, who
 * waits for whom, what is lost when, and that the one who is refused never notices. */
#include "tests/unit/catalog/branch_fixture.h"

#include <errno.h>

#include "catalog/conflict_list.h"

static struct fx f;

static int setup(void **state)
{
    (void)state;
    fx_new(&f, 0);
    fx_table(&f, "t");
    return 0;
}

static int setup_sqlite(void **state)
{
    (void)state;
    fx_new(&f, FX_SQLITE);
    fx_table(&f, "t");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

/* --- short forms ------------------------------------------------------------------------------ */

static struct snapshot snap(const char *user)
{
    return (struct snapshot){.id = 5,
                             .commit_user = str_of(user),
                             .commit_identifier = INT64_MAX,
                             .commit_kind = COMMIT_COMPACT};
}

static const struct refusal gone = {.code = CONFLICT_FILE_GONE,
                                    .partition = STR_LIT("dt=1"),
                                    .bucket = 3,
                                    .file = STR_LIT("data-1"),
                                    .other_snapshot = 4,
                                    .other_user = STR_LIT("bob"),
                                    .message = STR_LIT("file-gone: it is; read again")};
static const struct refusal bad = {.code = CONFLICT_MANIFEST_BAD,
                                   .bucket = 9, /* means nothing */
                                   .other_user = STR_LIT("x"),
                                   .message = STR_LIT("manifest-bad: so it is")};

static void record_on(const char *object, const struct refusal *r, const struct snapshot *s,
                      bool accepted)
{
    struct ctx cx;
    struct branch *br;
    OK(&f, fx_branch(&f, object, &br));
    fx_begin(&cx);
    conflict_record(&cx, br, r, s, accepted);
    assert_int_equal(cx.err.code, 0);
    assert_int_equal(fx_end(&f, &cx, 0), 0);
    branch_unref(br);
}

static void record(const struct refusal *r, const char *user)
{
    struct snapshot s = snap(user);
    record_on("t", r, &s, false);
}

/* Rows live in f.cx. */
static int list_rc(const char *object, struct conflicts_in in, struct conflict_row **ret, size_t *n)
{
    struct branch *br;
    OK(&f, fx_branch(&f, object, &br));
    int rc = branch_conflicts(&f.cx, br, &in, ret, n);
    branch_unref(br);
    f.err = f.cx.err;
    ctx_reset_err(&f.cx);
    return rc;
}

static struct conflict_row *list(const char *object, size_t want)
{
    struct conflict_row *rows;
    size_t n = 0;
    OK(&f, list_rc(object, (struct conflicts_in){.limit = 10000}, &rows, &n));
    assert_int_equal(n, want);
    return rows;
}

static struct conflict_counts counts(void)
{
    struct conflict_counts c;
    conflict_counts(f.cat, &c);
    return c;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void a_row_says_what_was_said(void **state)
{
    (void)state;
    int64_t before = clock_wall_ms();
    record(&gone, "writer");
    struct conflict_row *r = list("t", 1), one = {0};
    struct branch *br;
    OK(&f, fx_branch(&f, "t", &br));
    assert_int_equal(branch_conflict(&f.cx, br, r->id, &one), 0);
    for (int i = 0; i < 2; i++, r = &one) {
        assert_in_range(r->last_ms, before, clock_wall_ms());
        assert_int_equal(r->first_ms, r->last_ms);
        assert_int_equal(r->count, 1);
        SAME(r->code, S("file-gone"));
        assert_false(r->accepted);
        assert_int_equal(r->snapshot_id, 5);
        SAME(r->principal, S("ann"));
        SAME(r->commit_user, S("writer"));
        SAME(r->kind, S("COMPACT"));
        assert_true(r->identifier == INT64_MAX && r->placed);
        SAME(r->partition, S("dt=1"));
        assert_int_equal(r->bucket, 3);
        SAME(r->file, S("data-1"));
        assert_int_equal(r->other_snapshot, 4);
        SAME(r->other_user, S("bob"));
        SAME(r->message, S("file-gone: it is; read again"));
    }
    assert_int_equal(branch_conflict(&f.cx, br, one.id + 1, &one), E_NOTFOUND);
    assert_int_equal(f.cx.err.res, RES_CONFLICT);
    ctx_reset_err(&f.cx);
    branch_unref(br);
    struct snapshot s = snap("writer");
    record_on("t", &bad, &s, true);
    r = list("t", 2);
    assert_true(r->accepted && !r->placed);
    assert_int_equal(r->bucket, 0);
    assert_int_equal(r->file.len + r->other_user.len, 0);
    struct refusal whole = gone;
    whole.partition = S(""); /* of a table without partitions */
    record(&whole, "writer");
    r = list("t", 3);
    assert_true(r->placed && r->partition.len == 0 && r->bucket == 3);
}

/* The record of an error that is there stays there: the commit's answer is made of it. */
static void the_error_record_is_left_alone(void **state)
{
    (void)state;
    struct ctx cx;
    struct branch *br;
    struct snapshot s = snap("u");
    OK(&f, fx_branch(&f, "t", &br));
    for (long nth = 0; nth < 8; nth++) {
        fx_begin(&cx);
        int rc = ctx_fail(&cx, E_CONFLICT, RES_TABLE, S("t"), "what the client is told");
        if (nth == 7)
            FAIL(&f, .op = ST_conflict_note, .code = E_IO, .sticky = true);
        mem_fail_at(nth < 7 ? nth : 0, 0);
        conflict_record(&cx, br, &gone, &s, false);
        mem_fail_at(0, 0);
        list("t", 1); /* what was queued is written */
        assert_string_equal(cx.err.msg, "what the client is told");
        assert_int_equal(cx.err.res, RES_TABLE);
        fx_end(&f, &cx, rc);
    }
    branch_unref(br);
    int64_t listed = list("t", 1)->count, lost = fx_counts(&f).conflicts_lost;
    assert_true(lost >= 2); /* at least the first allocation and the store */
    assert_int_equal(listed + lost, 8);
    assert_int_equal(counts().refused[CONFLICT_FILE_GONE], 8); /* counted all the same */
}

static void long_texts_are_cut_between_characters(void **state)
{
    (void)state;
    char *text = mem_alloc(10001);
    for (size_t i = 0; i < 10001; i += 3)
        memcpy(text + i, "\xE2\x82\xAC", i + 3 <= 10001 ? 3 : 10001 - i);
    struct refusal r = gone;
    struct snapshot s = snap("u");
    r.partition = r.file = r.message = r.other_user = s.commit_user = str_n(text, 9999);
    record_on("t", &r, &s, false);
    struct conflict_row *row = list("t", 1);
    const str all[] = {row->partition, row->file, row->message, row->other_user, row->commit_user};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_in_range(all[i].len, 200, 2000);
        assert_true(str_utf8_valid(all[i]));
    }
    s.commit_user.len -= 3; /* another user, though what is kept of it is the same */
    record_on("t", &r, &s, false);
    list("t", 2);
    mem_free(text);
}

/* --- one row a refusal ------------------------------------------------------------------------ */

static void a_post_that_is_repeated_is_one_row(void **state)
{
    (void)state;
    struct snapshot s = snap("u");
    for (int i = 0; i < 10; i++) {
        struct refusal r = gone;
        s.id = 5 + i; /* rebuilt on what has come since, with new lists */
        s.base_manifest_list = fx_text(&f, "list-%d", i);
        r.other_snapshot = 4 + i;
        r.message = fx_text(&f, "try %d", i);
        record_on("t", &r, &s, i == 9);
    }
    struct conflict_row *row = list("t", 1);
    assert_int_equal(row->count, 10);
    assert_int_equal(row->snapshot_id, 14);
    assert_int_equal(row->other_snapshot, 13);
    assert_true(row->accepted);
    SAME(row->message, S("try 9"));
}

static void another_refusal_is_another_row(void **state)
{
    (void)state;
    struct refusal r = gone;
    struct snapshot s = snap("u");
    size_t n = 0;
#define ONE_MORE                                                                                   \
    do {                                                                                           \
        record_on("t", &r, &s, false);                                                             \
        list("t", ++n);                                                                            \
    } while (0)
    ONE_MORE;
    r.code = CONFLICT_FILE_TWICE;
    ONE_MORE;
    r.bucket++;
    ONE_MORE;
    r.file = S("data-2");
    ONE_MORE;
    r.file = STR_NONE;
    ONE_MORE;
    r.partition = S("dt=2");
    ONE_MORE;
    r.partition = S("");
    ONE_MORE;
    r.partition = STR_NONE;
    ONE_MORE;
    s.commit_user = S("u2");
    ONE_MORE;
    s.commit_user = S("u");
    s.commit_identifier = 7;
    ONE_MORE;
    r.partition = S("a");
    r.file = S("bc");
    ONE_MORE;
    r.partition = S("ab");
    r.file = S("c");
    ONE_MORE;
    r.partition = STR_NONE;
    ONE_MORE;
    r.bucket = 77; /* of no bucket: not looked at */
    record_on("t", &r, &s, false);
    assert_int_equal(list("t", n)->count, 2);
}

/* --- lists ------------------------------------------------------------------------------------ */

static void pages_and_codes(void **state)
{
    (void)state;
    struct conflict_row *rows;
    size_t n;
    for (int i = 0; i < 7; i++)
        record(i % 2 ? &gone : &bad, fx_text(&f, "u%d", i).p);
    rows = list("t", 7);
    SAME(rows[0].commit_user, S("u6"));
    SAME(rows[6].commit_user, S("u0"));
    OK(&f, list_rc("t", (struct conflicts_in){.below = rows[2].id, .code = S(""), .limit = 2},
                   &rows, &n));
    assert_int_equal(n, 2);
    SAME(rows[0].commit_user, S("u3"));
    OK(&f, list_rc("t", (struct conflicts_in){.code = S("file-gone"), .limit = 9}, &rows, &n));
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++)
        SAME(rows[i].code, S("file-gone"));
    for (int i = 0; i < CONFLICT_CODES; i++)
        OK(&f, list_rc("t",
                       (struct conflicts_in){.code = str_of(conflict_word((enum conflict_code)i)),
                                             .limit = 1},
                       &rows, &n));
    FAILS(&f, E_INVAL, RES_NONE, "file-gone, file-twice",
          list_rc("t", (struct conflicts_in){.code = S("file"), .limit = 9}, &rows, &n));
}

static void each_branch_has_its_own(void **state)
{
    (void)state;
    struct snapshot s = snap("u");
    OK(&f, fx_bcreate(&f, "b", NULL));
    record(&gone, "u");
    record_on("t$branch_b", &gone, &s, false);
    record_on("t$branch_b", &bad, &s, false);
    list("t", 1);
    int64_t id = list("t$branch_b", 2)->id;
    OK(&f, fx_brename(&f, "b", "c"));
    assert_int_equal(list("t$branch_c", 2)->id, id);
    OK(&f, fx_rename(&f, "t", "t2"));
    assert_int_equal(list("t2$branch_c", 2)->id, id);
    list("t2", 1);
    record_on("t2$branch_c", &gone, &s, false); /* the same refusal under its new names */
    assert_int_equal(list("t2$branch_c", 2)[1].count, 2);
    OK(&f, fx_rename(&f, "t2", "t"));
    OK(&f, fx_bdrop(&f, "c"));
    OK(&f, fx_bcreate(&f, "c", NULL));
    list("t$branch_c", 0);
}

static void counted_by_code(void **state)
{
    (void)state;
    struct conflict_counts c = counts();
    struct snapshot s = snap("u");
    for (int i = 0; i < CONFLICT_CODES; i++)
        assert_int_equal(c.refused[i] + c.accepted[i], 0);
    for (int i = 0; i < CONFLICT_CODES; i++) {
        struct refusal r = gone;
        r.code = (enum conflict_code)i;
        for (int k = 0; k <= i; k++)
            record_on("t", &r, &s, false);
        record_on("t", &r, &s, true);
    }
    c = counts();
    for (int i = 0; i < CONFLICT_CODES; i++) {
        assert_int_equal(c.refused[i], i + 1);
        assert_int_equal(c.accepted[i], 1);
    }
    assert_int_equal(fx_counts(&f).conflicts_lost, 0);
}

/* --- bounds ----------------------------------------------------------------------------------- */

static void old_ones_and_too_many_go(void **state)
{
    (void)state;
    struct ctx cx;
    fx_close(&f);
    f.o.conflict_max = 5;
    f.o.conflict_keep_ms = 60000;
    OK(&f, fx_open(&f));
    for (int i = 0; i < 9; i++)
        record(&gone, fx_text(&f, "u%d", i).p);
    SAME(list("t", 5)[4].commit_user, S("u4"));
    clock_wall_shift_ms(50000);
    record(&gone, "u5"); /* once more */
    clock_wall_shift_ms(70000);
    fx_begin(&cx);
    OK(&f, fx_end(&f, &cx, catalog_prune(&cx, f.cat)));
    clock_wall_shift_ms(0);
    SAME(list("t", 1)->commit_user, S("u5"));
    fx_close(&f);
    f.o.conflict_max = 1;
    OK(&f, fx_open(&f));
    record(&gone, "u6");
    SAME(list("t", 1)->commit_user, S("u6"));
}

/* --- who waits for whom ----------------------------------------------------------------------- */

/* The store's writes of notes stand still as long as the gate is shut. */
static struct {
    pthread_mutex_t mu;
    pthread_cond_t cv;
    bool shut;
    int inside;
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};

static void at_gate(struct fx *fx, enum fx_op op, bool after, str path)
{
    (void)fx;
    (void)path;
    if (op != ST_conflict_note || after)
        return;
    pthread_mutex_lock(&gate.mu);
    gate.inside++;
    pthread_cond_broadcast(&gate.cv);
    while (gate.shut)
        pthread_cond_wait(&gate.cv, &gate.mu);
    gate.inside--;
    pthread_mutex_unlock(&gate.mu);
}

static void gate_shut(void)
{
    gate.shut = true;
    fx_hook(&f, at_gate, NULL);
}

static void gate_open(void)
{
    pthread_mutex_lock(&gate.mu);
    gate.shut = false;
    pthread_cond_broadcast(&gate.cv);
    pthread_mutex_unlock(&gate.mu);
}

static void gate_wait(int n)
{
    pthread_mutex_lock(&gate.mu);
    while (gate.inside < n)
        pthread_cond_wait(&gate.cv, &gate.mu);
    pthread_mutex_unlock(&gate.mu);
}

static int turn_record(struct ctx *cx, struct branch *br, void *arg)
{
    struct snapshot s = snap("on-strand");
    conflict_record(cx, br, arg, &s, false);
    return 0;
}

static void the_branch_goes_on_while_the_store_stands_still(void **state)
{
    (void)state;
    struct ctx cx;
    struct draft last = {0};
    gate_shut();
    fx_begin(&cx);
    OK(&f, fx_end(&f, &cx, turn_on(&cx, &f, "t", turn_record, (void *)&gone)));
    gate_wait(1);
    fx_grow(&f, "t", &last, 3, true);
    assert_int_equal(fx_head_id(&f, "t"), 3);
    gate_open();
    list("t", 1);
}

static void *reader(void *arg)
{
    struct ctx cx;
    struct branch *br;
    struct conflict_row *rows;
    struct conflicts_in in = {.limit = 100};
    size_t n = 0;
    fx_begin(&cx);
    if (cat_branch_open(&cx, f.cat, f.w, S("d"), S("t"), &br) == 0) {
        if (branch_conflicts(&cx, br, &in, &rows, &n) < 0)
            n = 0;
        branch_unref(br);
    }
    ctx_done(&cx);
    *(size_t *)arg = n;
    return NULL;
}

/* Who was refused and asks finds the row, though others are writing it. */
static void a_reader_waits_for_what_was_said_before(void **state)
{
    (void)state;
    pthread_t th;
    size_t seen = 0;
    gate_shut();
    record(&gone, "a");
    gate_wait(1); /* the background has it */
    record(&gone, "b");
    assert_int_equal(pthread_create(&th, NULL, reader, &seen), 0);
    usleep(20000);
    assert_int_equal(pthread_tryjoin_np(th, NULL), EBUSY);
    record(&gone, "c"); /* which is behind its question */
    gate_open();
    assert_int_equal(pthread_join(th, NULL), 0);
    assert_in_range(seen, 2, 3);
    list("t", 3);
}

static void what_does_not_fit_the_queue_is_lost_and_said(void **state)
{
    (void)state;
    enum { MANY = 1200 };
    gate_shut();
    record(&gone, "first");
    gate_wait(1);
    for (int i = 0; i < MANY; i++)
        record(&gone, fx_text(&f, "u%d", i).p);
    int64_t lost = fx_counts(&f).conflicts_lost;
    assert_int_equal(lost, MANY - 1000);
    gate_open();
    SAME(list("t", 1000)->commit_user, S("u999")); /* conflict_max */
    assert_int_equal(fx_counts(&f).conflicts_lost, lost);
    record(&gone, "again"); /* and it goes on */
    SAME(list("t", 1000)->commit_user, S("again"));
    assert_int_equal(counts().refused[CONFLICT_FILE_GONE], MANY + 2);
}

static void it_is_written_without_a_reader(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) /* more than one turn */
        record(&gone, fx_text(&f, "u%d", i).p);
    for (int i = 0; i < 5000 && fx_calls(&f, ST_conflict_note) < 200; i++)
        usleep(1000);
    assert_int_equal(fx_calls(&f, ST_conflict_note), 200);
    list("t", 200);
    assert_int_equal(fx_calls(&f, ST_conflict_note), 200);
}

static void the_end_of_the_process_loses_nothing(void **state)
{
    (void)state;
    gate_shut();
    record(&gone, "first");
    gate_wait(1);
    for (int i = 0; i < 100; i++)
        record(&gone, fx_text(&f, "u%d", i).p);
    gate_open();
    fx_restart(&f);
    list("t", 101);
}

static void a_table_that_is_dropped_meanwhile(void **state)
{
    (void)state;
    gate_shut();
    record(&gone, "a");
    gate_wait(1);
    record(&gone, "b");
    OK(&f, fx_drop(&f, "t"));
    gate_open();
    for (int i = 0; i < 5000 && fx_calls(&f, ST_conflict_note) < 2; i++)
        usleep(1000);
    assert_int_equal(fx_calls(&f, ST_conflict_note), 2);
    assert_int_equal(fx_counts(&f).conflicts_lost, 0); /* there is no list that lacks it */
    OK(&f, fx_create(&f, "t"));
    list("t", 0);
}

enum { THREADS = 4, EACH = 150 };

static void *recorder(void *arg)
{
    struct ctx cx;
    struct branch *br;
    char user[16];
    size_t n;
    fx_begin(&cx);
    if (cat_branch_open(&cx, f.cat, f.w, S("d"), S("t"), &br) < 0)
        abort();
    for (int i = 0; i < EACH; i++) {
        snprintf(user, sizeof user, "u%d", i % 10);
        struct snapshot s = snap(user);
        conflict_record(&cx, br, &gone, &s, false);
        if (i % 25 == 0)
            reader(&n);
    }
    branch_unref(br);
    ctx_done(&cx);
    return arg;
}

static void many_at_once(void **state)
{
    (void)state;
    pthread_t th[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&th[i], NULL, recorder, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(th[i], NULL);
    struct conflict_row *rows = list("t", 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(rows[i].count, THREADS * EACH / 10);
    assert_int_equal(fx_counts(&f).conflicts_lost, 0);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_row_says_what_was_said),
        T(the_error_record_is_left_alone),
        T(long_texts_are_cut_between_characters),
        T(a_post_that_is_repeated_is_one_row),
        T(another_refusal_is_another_row),
        T(pages_and_codes),
        T(each_branch_has_its_own),
        T(counted_by_code),
        T(old_ones_and_too_many_go),
        T(the_branch_goes_on_while_the_store_stands_still),
        T(a_reader_waits_for_what_was_said_before),
        T(what_does_not_fit_the_queue_is_lost_and_said),
        T(it_is_written_without_a_reader),
        T(the_end_of_the_process_loses_nothing),
        T(a_table_that_is_dropped_meanwhile),
        T(many_at_once),
        cmocka_unit_test_setup_teardown(many_at_once, setup_sqlite, teardown),
        cmocka_unit_test_setup_teardown(the_end_of_the_process_loses_nothing, setup_sqlite,
                                        teardown),
    };
    return cmocka_run_group_tests_name("conflict_list", tests, NULL, NULL);
}
