/* test_branches_fail.c - each operation on branches dies or fails at each of its steps.
 *
 * After a death and a start the table is what it was or what the operation makes of it, as a whole, and
 * the operation asked again does what is left. After a failure the answer is honest: only an answer that
 * says so may leave the new state, and the next request heals. */
#include "tests/unit/catalog/branch_fixture.h"

static struct fx f;
static struct past p;
static bool made; /* f is to be closed */

static void fresh(unsigned kind)
{
    if (made)
        fx_done(&f);
    made = true;
    fx_past(&f, kind, &p);
}

static int teardown(void **state)
{
    (void)state;
    if (made)
        fx_done(&f);
    made = false;
    return 0;
}

/* --- the operations --------------------------------------------------------------------------- */

static int create_tag(void)
{
    return fx_bcreate(&f, "n", "v3");
}
static int create_plain(void)
{
    return fx_bcreate(&f, "n", NULL);
}
static int drop(void)
{
    return fx_bdrop(&f, "b");
}
static int rename_b(void)
{
    return fx_brename(&f, "b", "c");
}
static int forward(void)
{
    return fx_forward(&f, "b");
}
static int schema_back(void)
{
    return fx_schema_back(&f, "t", 1);
}
static void by_somebody_else(void) /* what a file-system catalog makes */
{
    for (int i = 0; i <= 1; i++) {
        str name = fx_text(&f, "schema/schema-%d", i);
        if (!fx_exists(&f, fx_in(&f, "x", name.p)))
            fx_put(&f, fx_in(&f, "x", name.p), fx_read(&f, fx_in(&f, "main", name.p)));
    }
    if (!fx_exists(&f, fx_in(&f, "x", "snapshot/snapshot-4")))
        fx_put(&f, fx_in(&f, "x", "snapshot/snapshot-4"), fx_snapshot(&f, &p.m[4]));
}
static int take_in(void)
{
    struct seen s;
    by_somebody_else();
    return fx_head(&f, "t$branch_x", &s);
}

static const struct operation {
    const char *name;
    int (*run)(void);
    int again; /* what it answers when it was done before */
} operations[] = {
    {"create from a tag", create_tag, E_EXISTS},
    {"create", create_plain, E_EXISTS},
    {"drop", drop, E_NOTFOUND},
    {"rename", rename_b, E_NOTFOUND},
    {"forward", forward, 0},
    {"rollback-schema", schema_back, 0},
    {"take in", take_in, 0},
};
#define N_OPERATIONS (sizeof operations / sizeof *operations)

static str before, after; /* the two states; in heap of their own */
static char *before_mem, *after_mem;

static str keep(char **mem, str s)
{
    free(*mem);
    *mem = malloc(s.len + 1);
    assert_non_null(*mem);
    memcpy(*mem, s.p, s.len);
    return str_n(*mem, s.len);
}

static void learn(const struct operation *op, unsigned kind)
{
    fresh(kind);
    if (op->run == take_in) { /* looking at all of it takes it in */
        OK(&f, op->run());
        before = after = keep(&after_mem, fx_state(&f));
        return;
    }
    before = keep(&before_mem, fx_state(&f));
    OK(&f, op->run());
    after = keep(&after_mem, fx_state(&f));
    assert_false(str_eq(before, after));
}

/* Of two states, which; anything else fails. */
static bool is_after(const struct operation *op, const char *what, long n, int rc)
{
    str now = fx_state(&f);
    if (str_eq(now, after))
        return true;
    if (!str_eq(now, before)) {
        fprintf(stderr, "%s, %s %ld, answer %s (%s):\n%.*s\nis neither\n%.*s\nnor\n%.*s\n",
                op->name, what, n, err_name(rc), f.err.msg, STR(now), STR(before), STR(after));
        fail();
    }
    return false;
}

static int run_patiently(const struct operation *op)
{
    int rc = op->run();
    for (int i = 0; rc == E_BUSY && i < 2000; i++) {
        usleep(1000);
        rc = op->run();
    }
    return rc;
}

/* The table works: main and a branch take commits, a name can be given and taken. */
static void works(const struct operation *op)
{
    struct draft m = op->run == forward ? p.b[6] : p.m[5], n = p.m[1];
    fx_on(&f, "t", &m, 1, 1);
    if (op->run == create_tag || op->run == create_plain)
        OK(&f, fx_bdrop(&f, "n"));
    OK(&f, fx_bcreate(&f, "n", "v1"));
    fx_on(&f, "t$branch_n", &n, 2, 0);
    OK(&f, fx_brename(&f, "n", op->run == take_in ? "q" : "x"));
    assert_int_equal(fx_head_id(&f, op->run == take_in ? "t$branch_q" : "t$branch_x"), 3);
    assert_int_equal(fx_counts(&f).forked, 0);
    assert_int_equal(fx_counts(&f).head_changed, 0);
}

/* The operation once more: it does what is left to do. */
static void once_more(const struct operation *op, bool done)
{
    int rc = run_patiently(op);
    assert_int_equal(rc, done ? op->again : 0);
    SAME(fx_state(&f), after);
}

/* --- death ------------------------------------------------------------------------------------ */

static void dies_anywhere(unsigned kind, bool power, const struct operation *op)
{
    bool lived = false;
    long k;
    learn(op, kind);
    for (k = 1; !lived; k++) {
        fresh(kind);
        fx_die_at(&f, k);
        int rc = op->run();
        lived = !fx_dead(&f);
        fx_crash(&f, power);
        assert_int_equal(fx_intents_soon(&f, 0), 0); /* the start goes on with it, unasked */
        bool done = is_after(op, "dead at", k, rc);
        if (rc == 0)
            assert_true(done);
        else if (rc != E_UNKNOWN && op->run != take_in)
            assert_false(done);
        once_more(op, done);
        if (power && f.kind & FX_MEM)
            io_mem_crash(f.io); /* once more, after the end */
        SAME(fx_state(&f), after);
        works(op);
        assert_true(k < 200);
    }
    assert_true(k > 4);
}

static void a_crash_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OPERATIONS; i++)
        dies_anywhere(FX_MEM, false, &operations[i]);
}

static void a_power_loss_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OPERATIONS; i++)
        dies_anywhere(FX_MEM, true, &operations[i]);
}

static void a_power_loss_with_sqlite(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OPERATIONS; i++)
        if (operations[i].run != create_plain)
            dies_anywhere(FX_MEM | FX_SQLITE, true, &operations[i]);
}

/* It dies, and what the start resumes dies too. */
static void a_crash_in_the_recovery(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        const struct operation *op = &operations[i];
        bool lived = false;
        learn(op, FX_MEM);
        for (long k = 1; !lived; k += 2)
            for (long j = 1; j < 12; j += 3) {
                fresh(FX_MEM);
                fx_die_at(&f, k);
                int rc = op->run();
                lived = !fx_dead(&f);
                fx_crash(&f, true);
                fx_die_at(&f, j);
                struct seen s;
                IGNORE(fx_head(&f, "t", &s));
                IGNORE(fx_head(&f, "t$branch_n", &s));
                IGNORE(fx_head(&f, "t$branch_b", &s));
                fx_crash(&f, true);
                once_more(op, is_after(op, "dead twice at", k, rc));
            }
    }
}

/* A real process, really killed, at each named point. */
static void killed_at_each_point(void **state)
{
    (void)state;
    static const struct {
        const char *point;
        int (*run)(void);
    } at[] = {{"branch.intent", create_tag},   {"branch.staged", create_tag},
              {"branch.moved", create_tag},    {"branch.intent", drop},
              {"branch.away", drop},           {"branch.intent", rename_b},
              {"branch.moved", rename_b},      {"forward.staged", forward},
              {"forward.intent", forward},     {"forward.deleted", forward},
              {"forward.files", forward},      {"schema.intent", schema_back},
              {"schema.deleted", schema_back}, {"schema.files", schema_back},
              {"rollback.deleted:2", forward}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        const struct operation *op = operations;
        while (op->run != at[i].run)
            op++;
        learn(op, FX_SQLITE);
        fresh(FX_SQLITE);
        fx_close(&f);
        STORE(f.st, free);
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            const char *colon = strchr(at[i].point, ':');
            char arm[64];
            snprintf(arm, sizeof arm, "%.*s=kill%s",
                     colon ? (int)(colon - at[i].point) : (int)strlen(at[i].point), at[i].point,
                     colon ? colon : "");
            setenv("LATCH_INJECT", arm, 1);
            if (inject_init() != 0)
                _exit(1);
            fx_store_open(&f);
            if (fx_open(&f) != 0)
                _exit(2);
            _exit(op->run() == 0 ? 3 : 4);
        }
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
            fail_msg("%s: %s was not come to", op->name, at[i].point);
        fx_store_open(&f);
        OK(&f, fx_open(&f));
        assert_int_equal(fx_intents_soon(&f, 0), 0);
        once_more(op, is_after(op, at[i].point, 0, 0));
        works(op);
    }
}

/* --- failures --------------------------------------------------------------------------------- */

struct failure {
    int code;
    bool after; /* it worked all the same */
};

/* What a call may answer by its contract. */
static bool may_fail(enum fx_op op, const struct failure *fail)
{
    bool changes = op_changes(op), store = op >= ST_ping;
    if (fail->code == E_UNKNOWN)
        return (store && changes) || op == IO_move || op == IO_put_if_absent;
    if (!fail->after)
        return true;
    return !store && changes && op != IO_move && op != IO_put_if_absent;
}

/* An answer other than "unknown" leaves all as it was. Whoever asks next finds it healed: half the time
 * a reader, half the time the same operation. */
static void judge(const struct operation *op, int rc, const char *what, int nth, bool reader)
{
    fx_well(&f);
    bool done = false;
    if (rc == E_UNKNOWN ? reader : true) {
        done = is_after(op, what, nth, rc);
        if (rc == 0)
            assert_true(done);
        if (rc < 0 && rc != E_UNKNOWN && done && op->run != take_in)
            fail_msg("%s, %s %d: the answer was %s (%s), but it was done", op->name, what, nth,
                     err_name(rc), f.err.msg);
        once_more(op, done);
    } else {
        rc = run_patiently(op);
        if (rc != 0 && rc != op->again)
            fail_msg("%s, %s %d, again: %s: %s", op->name, what, nth, err_name(rc), f.err.msg);
        SAME(fx_state(&f), after);
    }
    if (nth == 1)
        works(op);
}

static int fails_at(const struct operation *op, enum fx_op call, int nth,
                    const struct failure *fail, bool sticky, bool reader)
{
    char what[64];
    fresh(FX_MEM);
    FAIL(&f, .op = call, .nth = nth, .code = fail->code, .after = fail->after, .sticky = sticky);
    int rc = op->run();
    int hits = f.plans[0].hits;
    if (hits < nth)
        return 0;
    snprintf(what, sizeof what, "%s %d%s of call %d, number", err_name(fail->code), fail->after,
             sticky ? " and all later ones" : "", call);
    if (sticky && rc == 0)
        return 1; /* it did not need it */
    judge(op, rc, what, nth, reader);
    return 1;
}

static void a_failure_anywhere(void **state)
{
    (void)state;
    static const struct failure failures[] = {{E_IO, false},     {E_BUSY, false},
                                              {E_NOMEM, false},  {E_UNKNOWN, false},
                                              {E_UNKNOWN, true}, {E_IO, true}};
    int total = 0, turns = 0;
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        learn(&operations[i], FX_MEM);
        for (enum fx_op call = 0; call < OP_COUNT; call++)
            for (size_t k = 0; k < sizeof failures / sizeof *failures; k++)
                for (int nth = 1; may_fail(call, &failures[k]); nth += 1 + nth / 4) {
                    if (!fails_at(&operations[i], call, nth, &failures[k], false, turns++ & 1))
                        break;
                    total++;
                }
    }
    assert_true(total > 300);
}

/* The disk or the store is gone for good until somebody helps. */
static void a_failure_that_stays(void **state)
{
    (void)state;
    static const struct failure fail = {E_IO, false};
    int turns = 0;
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        learn(&operations[i], FX_MEM);
        for (enum fx_op call = 0; call < OP_COUNT; call++)
            for (int nth = 1; op_changes(call); nth++)
                if (!fails_at(&operations[i], call, nth, &fail, true, turns++ & 1))
                    break;
    }
}

static void inject(const char *what)
{
    if (what)
        setenv("LATCH_INJECT", what, 1);
    else
        unsetenv("LATCH_INJECT");
    assert_int_equal(inject_init(), 0);
}

/* A rename, a link, a deletion took effect and may be lost. What was healed since is there for good. */
static void an_fsync_that_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        const struct operation *op = &operations[i];
        int fine = 0;
        learn(op, FX_MEM);
        for (int n = 1; fine < 8; n++) {
            fresh(FX_MEM);
            if (op->run == take_in)
                by_somebody_else();
            inject(fx_text(&f, "io.fsync=fail:%d", n).p);
            int rc = op->run();
            inject(NULL);
            fine = rc == 0 ? fine + 1 : 0;
            bool done = is_after(op, "fsync", n, rc);
            if (rc == 0)
                assert_true(done);
            else if (rc != E_UNKNOWN && op->run != take_in)
                assert_false(done);
            fx_crash(&f, true);
            SAME(fx_state(&f), done ? after : before);
            once_more(op, done);
            assert_true(n < 100);
        }
    }
}

static void no_memory_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        const struct operation *op = &operations[i];
        learn(op, FX_MEM);
        for (long n = 1;; n += 1 + n / 12) {
            fresh(FX_MEM);
            if (op->run == take_in)
                break; /* it writes by itself */
            mem_fail_at(n, n & 1);
            struct ctx cx;
            fx_begin(&cx);
            int rc = op->run == create_tag     ? do_create(&cx, &f, "n", "v3")
                     : op->run == create_plain ? do_create(&cx, &f, "n", NULL)
                     : op->run == drop         ? do_drop(&cx, &f, "b")
                     : op->run == rename_b     ? do_rename(&cx, &f, "b", "c")
                     : op->run == forward      ? do_forward(&cx, &f, "b")
                                               : do_schema(&cx, &f, "t", 1);
            long seen = mem_fail_at(0, 0);
            rc = fx_end(&f, &cx, rc);
            judge(op, rc, "no memory at", 2 + (int)n, n & 1);
            if (seen < n)
                break;
            assert_true(n < 4000);
        }
    }
}

int main(void)
{
#define T(fn) cmocka_unit_test_teardown(fn, teardown)
    const struct CMUnitTest tests[] = {
        T(a_crash_anywhere),        T(a_power_loss_anywhere), T(a_power_loss_with_sqlite),
        T(a_crash_in_the_recovery), T(killed_at_each_point),  T(a_failure_anywhere),
        T(a_failure_that_stays),    T(an_fsync_that_fails),   T(no_memory_anywhere),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    free(before_mem);
    free(after_mem);
    return rc;
}
