/* test_commit_sync.c - what is on disk when a snapshot is made, and what memory that runs out leaves.
 *
 * commit.sync: at the creation of a snapshot nothing is unwritten of what it names newly: lists, manifests
 * (of the base list, too), index manifest and index files, statistics; with `all` data files, those beside
 * them, and those of external paths. After a power loss at any moment a snapshot that is there is whole.
 * Each allocation of a commit fails once: the state in memory is right after it, or gone. */
#include "tests/unit/catalog/judge_fixture.h"

static struct draft head;

/* The external root lies in the same io, as its top. */
static void begin(unsigned kind, enum mode mode, enum commit_sync sync)
{
    static const str roots[] = {{"/ext", 4}};
    fx_init(&f, kind);
    f.o.external_roots = roots;
    f.o.n_external_roots = 1;
    f.o.sync = sync;
    table_in(mode, &head);
}

/* --- a commit that names one of everything ---------------------------------------------------- */

struct named {
    str path, bytes;
    bool data; /* written only with `all` */
};

static struct draft everything_new(void)
{
    static struct index_entry x;
    struct fx_entry beside = file_in("new", fx_text(&f, "with-%d", f.seq).p);
    struct fx_entry far = file_in("p", fx_text(&f, "far-%d", f.seq).p);
    beside.extra = fx_text(&f, "with-%d.extra", f.seq);
    far.external = fx_text(&f, "file:/ext/out/%.*s", STR(far.name));
    struct draft d = COMMIT(&head, "APPEND", beside, far);
    struct draft base = merged(&head, fx_text(&f, "merged-%d", f.seq).p, 0);
    x = (struct index_entry){.kind = FILE_ADD,
                             .partition = beside.partition,
                             .type = S("HASH"),
                             .name = fx_text(&f, "hash-%d", f.seq),
                             .size = 8,
                             .row_count = 2,
                             .external_path = STR_NONE};
    d.own_base = true;
    d.bases = base.bases;
    d.n_bases = base.n_bases;
    d.index = fx_text(&f, "i-%d", d.no).p;
    d.index_files = &x;
    d.n_index = 1;
    d.changelog = fx_text(&f, "c-%d", d.no).p;
    d.statistics = fx_text(&f, "s-%d", d.no).p;
    return d;
}

/* What it names, written if need be, as its client has it. */
static struct named *named_by(const struct draft *d, size_t *ret_n)
{
    size_t n, k;
    struct fx_file *file = fx_named(&f, d, &n);
    const struct fx_entry *e = fx_entries(&f, d, &k);
    struct named *v = ARENA_ARRAY(&f.cx.arena, struct named, n + 2);
    assert_non_null(v);
    fx_files(&f, "t", d);
    for (size_t i = 0; i < n; i++) {
        v[i].path = fx_text(&f, "%.*s/%.*s", STR(fx_dir(&f, "t")), STR(file[i].path));
        v[i].data = memmem(file[i].path.p, file[i].path.len, "bucket-", 7) != NULL;
    }
    v[n++].path = in_manifest(d->bases[0].name);
    for (size_t i = 0; i < k; i++)
        if (e[i].external.p) {
            v[n].path = fx_text(&f, "out/%.*s", STR(e[i].name));
            v[n].data = true;
            assert_int_equal(io_mkdirs(f.io, &f.cx, S("out")), 0);
            fx_write(&f, v[n++].path, fx_data(&f, e[i].size));
        }
    for (size_t i = 0; i < n; i++)
        v[i].bytes = fx_read(&f, v[i].path);
    *ret_n = n;
    return v;
}

static void put_back(const struct named *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t cut = v[i].path.len;
        while (v[i].path.p[cut - 1] != '/')
            cut--;
        assert_int_equal(io_mkdirs(f.io, &f.cx, str_n(v[i].path.p, cut - 1)), 0);
        fx_write(&f, v[i].path, v[i].bytes);
    }
}

static void all_whole(const struct named *v, size_t n, enum commit_sync sync)
{
    int seen = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i].data && sync != SYNC_ALL)
            continue;
        seen++;
        if (!fx_exists(&f, v[i].path))
            fail_msg("%.*s is gone", STR(v[i].path));
        if (!str_eq(fx_read(&f, v[i].path), v[i].bytes))
            fail_msg("%.*s has other bytes", STR(v[i].path));
    }
    assert_int_equal(seen, sync == SYNC_ALL ? 11 : 8);
}

static void goes_on(const struct draft *d)
{
    struct draft h = *d, e;
    assert_int_equal(fx_head_id(&f, "t"), d->id);
    e = good(&h);
    e.index = d->index;
    e.index_files = d->index_files;
    e.n_index = d->n_index;
    take("t", &h, e);
    state_is_right("t");
}

/* --- power ------------------------------------------------------------------------------------ */

static void dies(struct fx *fx, enum fx_op op, bool after, str path)
{
    if (op != IO_put_if_absent || !after || !memmem(path.p, path.len, "/snapshot-", 10))
        return;
    pthread_mutex_lock(&fx->mu);
    fx->dead = true;
    pthread_mutex_unlock(&fx->mu);
}

/* Power is lost right when the snapshot was made, and when its commit was answered. */
static void lost_power(unsigned kind, enum mode mode, enum commit_sync sync, bool at_once)
{
    bool ok = false;
    size_t n;
    begin(kind, mode, sync);
    struct draft d = everything_new();
    struct named *v = named_by(&d, &n);
    d.no_files = true;
    if (mode == COLD)
        fx_restart(&f);
    if (at_once)
        fx_hook(&f, dies, NULL);
    int rc = fx_commit(&f, "t", &d, &ok);
    assert_int_equal(rc, at_once ? E_UNKNOWN : 0);
    assert_int_equal(ok, !at_once);
    fx_crash(&f, true);
    all_whole(v, n, sync);
    put_back(v, n);
    assert_true(fx_answer(&f, "t", &d));
    goes_on(&d);
    fx_done(&f);
}

static void nothing_named_is_unwritten(void **state)
{
    (void)state;
    static const unsigned kinds[] = {FX_MEM, FX_MEM | FX_PUT_AFTER, FX_MEM | FX_SQLITE};
    for (int k = 0; k < 3; k++)
        for (enum mode m = WARM; m <= STREAM; m++)
            for (int once = 0; once < 2; once++) {
                lost_power(kinds[k], m, SYNC_METADATA, once);
                lost_power(kinds[k], m, SYNC_ALL, once);
            }
}

/* At each call that changes something. */
static void at_each_moment(enum mode mode, enum commit_sync sync)
{
    bool lived = false;
    for (long k = 1; !lived; k++) {
        bool ok = false;
        size_t n;
        begin(FX_MEM, mode, sync);
        struct draft d = everything_new();
        struct named *v = named_by(&d, &n);
        d.no_files = true;
        fx_die_at(&f, k);
        int rc = fx_commit(&f, "t", &d, &ok);
        lived = !fx_dead(&f);
        fx_crash(&f, true);
        int64_t id = fx_head_id(&f, "t");
        assert_true(id == d.id || id == d.id - 1);
        if (id == d.id)
            all_whole(v, n, sync);
        else
            assert_true(rc != 0);
        if (rc == 0)
            assert_true(ok && id == d.id);
        put_back(v, n);
        assert_true(fx_answer(&f, "t", &d));
        goes_on(&d);
        fx_done(&f);
        assert_true(k < 60);
    }
}

static void power_is_lost_at_any_moment(void **state)
{
    (void)state;
    at_each_moment(WARM, SYNC_METADATA);
    at_each_moment(WARM, SYNC_ALL);
    at_each_moment(STREAM, SYNC_ALL);
}

/* What cannot be written is no commit. */
static void a_sync_that_fails(void **state)
{
    (void)state;
    begin(FX_MEM, WARM, SYNC_ALL);
    static const char *const paths[] = {"out/far", "manifest"};
    for (int i = 0; i < 2; i++) {
        bool ok = true;
        size_t n;
        struct draft d = everything_new();
        struct named *v = named_by(&d, &n);
        d.no_files = true;
        str before = everything("t");
        FAIL(&f, .op = IO_sync, .code = E_IO, .path = paths[i]);
        FAILS(&f, E_IO, RES_NONE, "the test", fx_commit(&f, "t", &d, &ok));
        fx_well(&f);
        SAME(everything("t"), before);
        assert_true(state_is_right("t"));
        assert_true(fx_answer(&f, "t", &d));
        fx_crash(&f, true);
        all_whole(v, n, SYNC_ALL);
        goes_on(&d);
        OK(&f, fx_rollback(&f, "t", head.id));
    }
    fx_done(&f);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Whatever came of it: the state is right, or gone, and the commit can be made or is. */
static void after_no_memory(const struct draft *d, int rc, bool ok)
{
    fx_well(&f);
    bool there = fx_exists(&f, fx_snapshot_path(&f, "t", d->id));
    if (rc == 0)
        assert_int_equal(ok, there);
    else if (rc != E_UNKNOWN)
        assert_false(there);
    int64_t id = fx_head_id(&f, "t"); /* what is unsure is settled */
    assert_int_equal(id, there ? d->id : d->id - 1);
    state_is_right("t");
}

/* The table as it was, with its state in memory: a refusal reads it and changes nothing. */
static void as_before(enum mode mode)
{
    bool ok;
    struct draft d = COMMIT(&head, "COMPACT", del(file_in("p", "never")));
    OK(&f, fx_rollback(&f, "t", head.id));
    if (mode != WARM)
        return;
    FAILS(&f, E_CONFLICT, RES_TABLE, "file-gone", fx_commit(&f, "t", &d, &ok));
    assert_true(state_is_right("t"));
}

static void no_memory(enum mode mode)
{
    int failed = 0;
    begin(FX_MEM, mode, SYNC_ALL);
    for (long n = 1;; n++) {
        bool ok = false;
        struct ctx cx;
        struct draft d = n % 5 ? good(&head) : everything_new();
        size_t k;
        if (n % 5 == 0)
            IGNORE(named_by(&d, &k));
        fx_files(&f, "t", &d);
        d.no_files = true;
        struct commit_in in = {.base_uuid = str_of(d.base_uuid)};
        assert_int_equal(json_parse(&f.cx, fx_snapshot(&f, &d), "test", &in.snapshot), 0);
        if (mode == COLD)
            fx_restart(&f);
        fx_begin(&cx);
        mem_fail_at(n, (n & 3) == 3);
        int rc = post(&cx, &f, "t", &in, &ok);
        long seen = mem_fail_at(0, 0);
        rc = fx_end(&f, &cx, rc);
        failed += rc != 0;
        after_no_memory(&d, rc, ok);
        if (!fx_exists(&f, fx_snapshot_path(&f, "t", d.id))) {
            assert_true(fx_answer(&f, "t", &d));
            assert_int_equal(state_is_right("t"), mode != STREAM);
        }
        as_before(mode);
        if (seen < n && n % 5)
            break;
        assert_true(n < 3000);
    }
    assert_true(failed > 50);
    assert_int_equal(fx_counts(&f).forked, 0);
    fx_done(&f);
}

static void no_memory_with_a_state(void **state)
{
    (void)state;
    no_memory(WARM);
}

static void no_memory_while_it_is_read(void **state)
{
    (void)state;
    no_memory(COLD);
}

static void no_memory_of_a_streamed_table(void **state)
{
    (void)state;
    no_memory(STREAM);
}

static void no_memory_while_one_is_adopted(enum mode mode)
{
    int failed = 0;
    begin(FX_MEM, mode, SYNC_ALL);
    for (long n = 1;; n++) {
        struct ctx cx;
        struct head *h = NULL;
        struct draft g = good(&head);
        fx_foreign(&f, "t", &g);
        if (n % 2 == 0)
            fx_restart(&f);
        fx_begin(&cx);
        mem_fail_at(n, (n & 3) == 3);
        int rc = turn_on(&cx, &f, "t", turn_head, &h);
        long seen = mem_fail_at(0, 0);
        head_unref(h);
        rc = fx_end(&f, &cx, rc);
        failed += rc != 0;
        state_is_right("t");
        fx_well(&f);
        assert_int_equal(fx_head_id(&f, "t"), g.id);
        struct draft d = good(&g);
        assert_true(fx_answer(&f, "t", &d));
        assert_int_equal(state_is_right("t"), mode != STREAM);
        as_before(mode);
        if (seen < n && n % 2 == 0)
            break;
        assert_true(n < 3000);
    }
    assert_true(failed > 50);
    assert_int_equal(fx_counts(&f).forked, 0);
    fx_done(&f);
}

static void no_memory_to_adopt(void **state)
{
    (void)state;
    no_memory_while_one_is_adopted(WARM);
    no_memory_while_one_is_adopted(STREAM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_named_is_unwritten),
        cmocka_unit_test(power_is_lost_at_any_moment),
        cmocka_unit_test(a_sync_that_fails),
        cmocka_unit_test(no_memory_with_a_state),
        cmocka_unit_test(no_memory_while_it_is_read),
        cmocka_unit_test(no_memory_of_a_streamed_table),
        cmocka_unit_test(no_memory_to_adopt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
