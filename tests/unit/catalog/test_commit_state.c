/* test_commit_state.c - the state that commits are judged by comes and goes: it is read once for all who
 * miss it, again when the head moved meanwhile, not when a disk fails or a file of the head is gone, and
 * makes room for others. Whatever happens, what is answered is right. */
#include "tests/unit/catalog/judge_fixture.h"

static struct draft head;
static enum mode mode;

static void begin(enum mode m)
{
    mode = m;
    judged_table(FX_MEM, m, &head);
}

static int setup(void **state)
{
    (void)state;
    begin(COLD);
    return 0;
}

static int setup_streamed(void **state)
{
    (void)state;
    begin(STREAM);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

/* --- read once -------------------------------------------------------------------------------- */

struct committer {
    pthread_t id;
    str object, text, base;
    bool success;
    int rc;
};

static void *committer_run(void *arg)
{
    struct committer *c = arg;
    struct ctx cx;
    fx_begin(&cx);
    struct commit_in in = {.base_uuid = c->base};
    c->rc = json_parse(&cx, c->text, "test", &in.snapshot);
    if (c->rc == 0)
        c->rc = post(&cx, &f, c->object.p, &in, &c->success);
    ctx_done(&cx);
    return NULL;
}

static atomic_int reads;

static void count_reads(struct fx *fx, enum fx_op op, bool after, str path)
{
    const char *wanted = fx->hook_arg;
    if (op == IO_read && !after && memmem(path.p, path.len, wanted, strlen(wanted)))
        atomic_fetch_add(&reads, 1);
    if (op == IO_read && !after)
        usleep(1000); /* so that the others come meanwhile */
}

#define COMMITTERS 16
static void at_once(struct committer *c)
{
    int done = 0;
    for (int i = 0; i < COMMITTERS; i++) {
        struct draft d = good(&head);
        fx_files(&f, "t", &d);
        c[i] = (struct committer){
            .object = S("t"), .text = fx_snapshot(&f, &d), .base = fx_text(&f, "%s", d.base_uuid)};
    }
    for (int i = 0; i < COMMITTERS; i++)
        assert_int_equal(pthread_create(&c[i].id, NULL, committer_run, &c[i]), 0);
    for (int i = 0; i < COMMITTERS; i++)
        pthread_join(c[i].id, NULL);
    fx_well(&f);
    for (int i = 0; i < COMMITTERS; i++) {
        assert_int_equal(c[i].rc, 0);
        done += c[i].success;
    }
    assert_int_equal(done, 1);
    assert_int_equal(fx_head_id(&f, "t"), head.id + 1);
}

static void many_miss_it_and_it_is_read_once(void **state)
{
    (void)state;
    struct committer c[COMMITTERS];
    fx_restart(&f);
    atomic_store(&reads, 0);
    fx_hook(&f, count_reads, (void *)"manifest-101"); /* of snapshot 1: no commit's own */
    at_once(c);
    assert_int_equal(reads, 1);
    assert_int_equal(fx_counts(&f).states_loaded, 1);
    assert_true(state_is_right("t"));
}

static void many_whose_table_fits_in_none(void **state)
{
    (void)state;
    struct committer c[COMMITTERS];
    fx_restart(&f);
    at_once(c);
    assert_int_equal(fx_counts(&f).states_loaded, 0);
    assert_true(fx_counts(&f).states_streamed > 0);
    assert_false(state_is_right("t"));
}

/* --- the head moves while it is read ---------------------------------------------------------- */

static struct {
    const char *path; /* NULL: it is done */
    int (*act)(struct ctx *cx);
    int rc;
} at;

static void act_at(struct fx *fx, enum fx_op op, bool after, str path)
{
    (void)fx;
    if (op != IO_read || after || !at.path || !memmem(path.p, path.len, at.path, strlen(at.path)))
        return;
    struct ctx cx;
    at.path = NULL;
    fx_begin(&cx);
    at.rc = at.act(&cx);
    ctx_done(&cx);
}

static void then_do(const char *path, int (*act)(struct ctx *cx))
{
    fx_restart(&f);
    at.path = path;
    at.act = act;
    at.rc = 1;
    fx_hook(&f, act_at, NULL);
}

static int roll_back(struct ctx *cx)
{
    struct rollback_in in = {.snapshot_id = head.id - 1};
    return turn_on(cx, &f, "t", turn_rollback, &in);
}

static struct draft rival;
static int replace_head(struct ctx *cx)
{
    (void)cx;
    fx_foreign(&f, "t", &rival);
    return 0;
}

static void the_head_is_rolled_back_meanwhile(void **state)
{
    (void)state;
    take("t", &head, good(&head));
    struct draft d = good(&head), back = *fx_back(&head, 2), e = good(&back);
    fx_files(&f, "t", &d);
    then_do("manifest-101", roll_back);
    assert_false(fx_answer(&f, "t", &d));
    assert_int_equal(at.rc, 0);
    fx_well(&f);
    assert_int_equal(fx_head_id(&f, "t"), 2);
    head = back;
    take("t", &head, e);
    assert_int_equal(state_is_right("t"), mode != STREAM);
}

static void the_head_is_another_meanwhile(void **state)
{
    (void)state;
    take("t", &head, good(&head));
    rival = good(fx_back(&head, 2)); /* of the head's number */
    struct draft d = good(&head);
    fx_files(&f, "t", &d);
    then_do("manifest-101", replace_head);
    assert_false(fx_answer(&f, "t", &d));
    assert_int_equal(at.rc, 0);
    fx_well(&f);
    take("t", &rival, good(&rival));
    assert_int_equal(state_is_right("t"), mode != STREAM);
    assert_int_equal(fx_counts(&f).head_changed, 1);
}

/* The next snapshot comes while the state is read: it is adopted, and the commit is too late. */
static void somebody_commits_in_the_files_meanwhile(void **state)
{
    (void)state;
    rival = good(&head);
    struct draft d = good(&head);
    fx_files(&f, "t", &d);
    then_do("manifest-101", replace_head);
    assert_false(fx_answer(&f, "t", &d));
    fx_well(&f);
    assert_int_equal(fx_counts(&f).adopted, 1);
    take("t", &rival, good(&rival));
    assert_int_equal(state_is_right("t"), mode != STREAM);
}

/* --- what cannot be read ---------------------------------------------------------------------- */

/* The head names one of each. */
static size_t heads_files(str ret[6])
{
    struct draft d = good(&head);
    d.index = "i-head";
    assert_true(fx_answer(&f, "t", &d));
    head = d;
    struct manifest_file own;
    assert_non_null(fx_manifest(&f, &head, &own).p);
    ret[0] = in_manifest(str_of(head.base));
    ret[1] = in_manifest(str_of(head.dlist));
    ret[2] = in_manifest(S("manifest-101"));
    ret[3] = in_manifest(S("manifest-102"));
    ret[4] = in_manifest(own.name);
    ret[5] = in_manifest(S("i-head"));
    return 6;
}

static struct draft next_with_index(void) /* the head's is not in doubt */
{
    struct draft d = good(&head);
    d.index = "i-head";
    fx_files(&f, "t", &d);
    d.no_files = true;
    return d;
}

static void a_disk_that_fails_does_nothing(void **state)
{
    (void)state;
    static const int codes[] = {E_IO, E_NOMEM, E_BUSY};
    str paths[6];
    size_t n = heads_files(paths);
    for (size_t i = 0; i < n * 3; i++) {
        bool ok = true;
        struct draft d = next_with_index();
        str before = everything("t");
        fx_restart(&f);
        FAIL(&f, .op = IO_read, .code = codes[i % 3], .path = paths[i / 3].p);
        FAILS(&f, codes[i % 3], RES_NONE, "the test", fx_commit(&f, "t", &d, &ok));
        fx_well(&f);
        SAME(everything("t"), before);
        take("t", &head, d);
        assert_int_equal(state_is_right("t"), mode != STREAM);
        d = good(fx_back(&head, head.id - 1)); /* so that the paths are the head's again */
        OK(&f, fx_rollback(&f, "t", head.id - 1));
        head = *fx_back(&head, head.id - 1);
    }
    assert_int_equal(fx_counts(&f).forked, 0);
}

static void a_damaged_head_is_told_and_heals(void **state)
{
    (void)state;
    str paths[6];
    size_t n = heads_files(paths);
    for (size_t i = 0; i < n * 3; i++) {
        str path = paths[i / 3], bytes = fx_read(&f, path);
        struct draft d = next_with_index();
        fx_restart(&f);
        if (i % 3 == 0)
            fx_del(&f, path);
        else
            fx_write(&f, path, i % 3 == 1 ? S("") : str_n(bytes.p, bytes.len - 1));
        refused("t", &d, "manifest-bad", "the table itself is damaged");
        assert_non_null(strstr(said, strrchr(path.p, '/') + 1)); /* which */
        assert_int_equal(fx_head_id(&f, "t"), head.id);          /* readers are served */
        fx_write(&f, path, bytes);
        assert_true(fx_answer(&f, "t", &d)); /* no restart is needed */
        assert_int_equal(state_is_right("t"), mode != STREAM);
        OK(&f, fx_rollback(&f, "t", head.id));
    }
    assert_int_equal(fx_counts(&f).forked, 0);
}

/* Then nobody can say whether the next snapshot continues it: no change is taken until the file is back. */
static void a_foreign_snapshot_after_a_damaged_head(void **state)
{
    (void)state;
    str path = in_manifest(S("manifest-101")), bytes = fx_read(&f, path);
    struct draft g = good(&head), d = good(&g);
    bool ok;
    fx_foreign(&f, "t", &g);
    fx_del(&f, path);
    for (int i = 0; i < 2; i++) {
        if (i > 0 || mode != STREAM) /* a state in memory would not see it */
            fx_restart(&f);
        assert_int_equal(fx_head_id(&f, "t"), head.id); /* readers are served */
        FAILS(&f, E_BUSY, RES_TABLE, "cannot be compared with the head",
              fx_commit(&f, "t", &d, &ok));
        assert_non_null(strstr(f.err.msg, "manifest-101"));
        assert_int_equal(fx_counts(&f).forked, 1);
    }
    fx_write(&f, path, bytes);
    assert_int_equal(fx_head_id(&f, "t"), g.id);
    take("t", &g, d);
    assert_int_equal(state_is_right("t"), mode != STREAM);
}

/* In memory it is whole: who goes on does not need the file. */
static void a_state_in_memory_does_not_see_it(void **state)
{
    (void)state;
    fx_del(&f, in_manifest(S("manifest-101")));
    take("t", &head, good(&head));
    OK(&f, fx_rollback(&f, "t", 2));
    struct draft d = good(fx_back(&head, 2));
    refused("t", &d, "manifest-bad", "manifest-101");
}

/* --- room ------------------------------------------------------------------------------------- */

static uint64_t rng;
static size_t draw(size_t n)
{
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(rng >> 33) % n;
}

#define TABLES 5
static void in_random_order(int steps, bool streamed)
{
    struct draft of[TABLES] = {0};
    const char *names[TABLES] = {"t0", "t1", "t2", "t3", "t4"};
    for (int i = 0; i < TABLES; i++) {
        OK(&f, fx_create_as(&f, "d", names[i], PARTITIONED));
        two_snapshots(names[i], &of[i]);
    }
    for (int i = 0; i < steps; i++) {
        size_t t = draw(TABLES);
        struct draft d = good(&of[t]);
        switch (draw(6)) {
        case 0:
            d = COMMIT(&of[t], "COMPACT", del(file_in("q", "x")), file_in("p", "other"));
            refused(names[t], &d, "file-gone", "\"x\"");
            break;
        case 1:
            if (of[t].id < 4)
                break;
            OK(&f, fx_rollback(&f, names[t], of[t].id - 1));
            of[t] = *fx_back(&of[t], of[t].id - 1);
            break;
        case 2:
            fx_foreign(&f, names[t], &d);
            of[t] = d;
            break;
        default:
            take(names[t], &of[t], d);
        }
        assert_int_equal(fx_head_id(&f, names[t]), of[t].id);
        for (int k = 0; k < TABLES; k++)
            assert_true(!streamed || !state_is_right(names[k]));
        for (int k = 0; k < TABLES && !streamed; k++)
            IGNORE(state_is_right(names[k]));
    }
}

static void states_make_room_for_each_other(void **state)
{
    (void)state;
    rng = rand_u64();
    print_message("seed %llu\n", (unsigned long long)rng);
    fx_done(&f);
    fx_init(&f, FX_MEM);
    fillers = 0;
    f.o.state_memory = 1;
    f.o.tables_max = 3; /* and handles go, too */
    OK(&f, fx_open(&f));
    OK(&f, fx_db(&f, "d"));
    in_random_order(150, false);
    for (int i = 0; i < 2000 && fx_counts(&f).states > 1; i++)
        usleep(1000);
    struct cat_counts c = fx_counts(&f);
    assert_true(c.states <= 1); /* the one that was used last */
    /* A state also goes with its handle, whichever comes first. */
    assert_true(c.states_evicted > 0 && c.states_evicted + c.tables_evicted > 10);
    assert_int_equal(c.forked, 0);
}

static void tables_that_are_read_through_each_time(void **state)
{
    (void)state;
    rng = rand_u64();
    print_message("seed %llu\n", (unsigned long long)rng);
    in_random_order(60, true);
    struct cat_counts c = fx_counts(&f);
    assert_true(c.states_streamed > 30);
    assert_int_equal(c.states_loaded, TABLES + 1); /* of the tables without a snapshot */
    assert_int_equal(c.forked, 0);
}

/* A table grows past what a state may have, and is small again. */
static void a_table_that_grows_too_large(void **state)
{
    (void)state;
    fx_done(&f);
    begin(WARM);
    f.o.state_table_max = 24 << 10;
    fx_restart(&f);
    bool there = true;
    static struct fx_entry big[400];
    size_t n = 0;
    while (there) {
        size_t from = n;
        for (; n < from + 40; n++)
            big[n] = file_in("p", fx_text(&f, "big-%d", (int)n).p);
        assert_true(n <= 360);
        take("t", &head, commit_of(&head, "APPEND", big + from, n - from));
        take("t", &head, good(&head));
        there = state_is_right("t");
    }
    assert_true(n > 40);
    assert_true(fx_counts(&f).states_streamed > 0);
    for (size_t i = 0; i < n; i++)
        big[i].del = true;
    struct draft d = commit_of(&head, "COMPACT", big, 1);
    d.id--; /* not on the head */
    assert_false(fx_answer(&f, "t", &d));
    for (size_t i = 0; i < n; i += 20) /* all at once need a state of their own size */
        take("t", &head, commit_of(&head, "OVERWRITE", big + i, 20));
    d = commit_of(&head, "COMPACT", big, 1);
    refused("t", &d, "file-gone", "big-0");
    take("t", &head, good(&head));
    take("t", &head, merged(&head, "merged", 0)); /* else all those are read again */
    fx_restart(&f);
    take("t", &head, good(&head));
    assert_true(state_is_right("t")); /* it fits again */
}

/* --- snapshots of others, of a table that fits in no state ------------------------------------ */

static void foreign_snapshots_are_read_through(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct draft g = good(&head);
        fx_foreign(&f, "t", &g);
        assert_int_equal(fx_head_id(&f, "t"), g.id);
        head = g;
        take("t", &head, good(&head));
    }
    struct draft g = good(&head);
    fx_foreign(&f, "t", &g);
    fx_restart(&f);
    assert_int_equal(fx_head_id(&f, "t"), g.id);
    head = g;
    assert_int_equal(fx_counts(&f).forked, 0);
    assert_false(state_is_right("t"));
}

static void foreign_snapshots_that_do_not_fit(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct draft g = good(&head);
        bool ok;
        if (i == 0)
            g.own_base = true;
        if (i == 1)
            g = COMMIT(&head, "COMPACT", del(file_in("p", "never")));
        if (i == 2)
            g = COMMIT(&head, "APPEND", file_in("p", "a"));
        fx_foreign(&f, "t", &g);
        if (i == 3)
            fx_write(&f, in_manifest(str_of(g.dlist)), S("garbage"));
        assert_int_equal(fx_head_id(&f, "t"), head.id);
        struct draft d = good(&head);
        FAILS(&f, E_BUSY, RES_TABLE, "does not continue the head", fx_commit(&f, "t", &d, &ok));
        fx_restart(&f);
        FAILS(&f, E_BUSY, RES_TABLE, "does not continue the head", fx_commit(&f, "t", &d, &ok));
        fx_del(&f, fx_snapshot_path(&f, "t", g.id));
        take("t", &head, d);
    }
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
#define BOTH(fn)                                                                                   \
    T(fn), (struct CMUnitTest)                                                                     \
    {                                                                                              \
#fn "_streamed", fn, setup_streamed, teardown, NULL                                        \
    }
#define M(fn) cmocka_unit_test_setup_teardown(fn, setup_streamed, teardown)
    const struct CMUnitTest tests[] = {
        T(many_miss_it_and_it_is_read_once),
        M(many_whose_table_fits_in_none),
        BOTH(the_head_is_rolled_back_meanwhile),
        BOTH(the_head_is_another_meanwhile),
        BOTH(somebody_commits_in_the_files_meanwhile),
        BOTH(a_disk_that_fails_does_nothing),
        BOTH(a_damaged_head_is_told_and_heals),
        BOTH(a_foreign_snapshot_after_a_damaged_head),
        T(a_state_in_memory_does_not_see_it),
        T(states_make_room_for_each_other),
        M(tables_that_are_read_through_each_time),
        T(a_table_that_grows_too_large),
        M(foreign_snapshots_are_read_through),
        M(foreign_snapshots_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
