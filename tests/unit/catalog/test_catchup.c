/* test_catchup.c - what is on disk becomes what is held: adoption, a head that changed, forks, and
 * how they end. */
#include "tests/unit/catalog/fixture.h"

static struct fx f;

static int setup(void **state)
{
    (void)state;
    fx_new(&f, 0);
    fx_table(&f, "t");
    return 0;
}

static int setup_mem(void **state)
{
    (void)state;
    fx_new(&f, FX_MEM);
    fx_table(&f, "t");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

static void head_is(const struct draft *d)
{
    struct seen s;
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.id, d->id);
    SAME(s.json, fx_snapshot(&f, d));
}

/* No change is taken, reads go on with `d`. */
static void forked_at(const struct draft *d, const char *why)
{
    bool ok;
    struct seen s;
    struct draft e = fx_next(&f, d, "late", d->uuid[0] != 0);
    head_is(d);
    FAILS(&f, E_BUSY, RES_TABLE, why, fx_commit(&f, "t", &e, &ok));
    assert_string_equal(f.err.res_name, "t");
    FAILS(&f, E_BUSY, RES_TABLE, "nothing was done", fx_rollback(&f, "t", 1));
    FAILS(&f, E_BUSY, RES_TABLE, "nothing was done",
          fx_alter(&f, "t", "[{\"action\":\"updateComment\",\"comment\":\"x\"}]"));
    assert_int_equal(fx_peek(&f, "t", &s), PEEK_HEAD);
    assert_int_equal(s.id, d->id);
    head_is(d);
}

static void whole_again(struct draft *d)
{
    head_is(d);
    fx_grow(&f, "t", d, 1, d->uuid[0] != 0);
    head_is(d);
}

/* --- adoption -----------------------------------------------------------------------------------
 */

static void a_foreign_snapshot_is_adopted(void **state)
{
    (void)state;
    struct draft d = {0};
    struct seen s;
    for (int uuid = 0; uuid < 2; uuid++) {
        fx_grow(&f, "t", &d, 1, true);
        struct draft g = fx_next(&f, &d, "foreign", uuid);
        fx_foreign(&f, "t", &g);
        OK(&f, fx_head(&f, "t", &s));
        head_is(&g);
        assert_int_equal(s.totals.file_count, g.id); /* its files tell */
        assert_int_equal(s.totals.file_size_bytes, g.id * 1000);
        assert_int_equal(s.totals.last_file_creation_ms, g.ms);
        assert_true(fx_answer(&f, "t", &g)); /* its outcome is its JSON's */
        assert_true(fx_answer(&f, "t", &d));
        d = g;
    }
    assert_int_equal(fx_counts(&f).adopted, 2);
    fx_restart(&f);
    head_is(&d);
    assert_int_equal(fx_counts(&f).adopted, 0);
    whole_again(&d);
}

static void the_first_snapshot_is_adopted(void **state)
{
    (void)state;
    struct draft d = fx_next(&f, NULL, "foreign", true);
    fx_foreign(&f, "t", &d);
    assert_true(fx_answer(&f, "t", &d));
    whole_again(&d);
    fx_snapshots_are(&f, "t", 1, 2);
}

static void many_are_adopted_in_one_turn(void **state)
{
    (void)state;
    struct draft d = {0}, g[100];
    fx_grow(&f, "t", &d, 1, true);
    for (int i = 0; i < 100; i++) {
        g[i] = fx_next(&f, i ? &g[i - 1] : &d, "foreign", i & 1);
        fx_foreign(&f, "t", &g[i]);
    }
    struct draft e = fx_next(&f, &g[99], "u", true);
    assert_true(fx_answer(&f, "t", &e));
    assert_int_equal(fx_counts(&f).adopted, 100);
    for (int i = 0; i < 100; i += 9)
        assert_true(fx_answer(&f, "t", &g[i]));
    head_is(&e);
}

static void a_commit_on_an_adopted_base(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    struct draft g = fx_next(&f, &d, "foreign", true), stale = fx_next(&f, &d, "u", true);
    fx_foreign(&f, "t", &g);
    assert_false(fx_answer(&f, "t", &stale));
    whole_again(&g);
}

static void a_file_past_a_gap_is_not_looked_at(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true);
    struct draft past = fx_next(&f, &e, "foreign", true);
    fx_foreign(&f, "t", &past); /* 3, while there is no 2 */
    head_is(&d);
    fx_restart(&f);
    head_is(&d);
    assert_true(fx_answer(&f, "t", &e));
    assert_int_equal(fx_counts(&f).adopted, 0);
    head_is(&past); /* the gap is closed, and it was made on this very 2 */
    assert_int_equal(fx_counts(&f).adopted, 1);
}

static void a_file_past_a_gap_that_does_not_fit(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    struct draft g = fx_next(&f, &d, "foreign", true);
    struct draft past = fx_next(&f, &g, "foreign", true);
    fx_foreign(&f, "t", &past); /* made on another 2 */
    struct draft e = fx_next(&f, &d, "u", true);
    assert_true(fx_answer(&f, "t", &e));
    forked_at(&e, "does not continue");
}

static void adopted_after_a_crash_between_5_and_6(void **state)
{
    (void)state;
    bool ok;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 2, true);
    struct draft e = fx_next(&f, &d, "u", true);
    FAIL(&f, .op = ST_commit_record, .code = E_IO);
    FAILS(&f, E_UNKNOWN, RES_NONE, "may be", fx_commit(&f, "t", &e, &ok));
    fx_crash(&f, false);
    head_is(&e);
    assert_int_equal(fx_counts(&f).adopted, 1);
    assert_true(fx_answer(&f, "t", &e));
    whole_again(&e);
}

static str in_table(str path)
{
    return fx_text(&f, "%.*s/%.*s", STR(fx_dir(&f, "t")), STR(path));
}

/* Commits through us stand on it, so its lists and manifests must be there after a power loss, too. */
static void what_is_adopted_is_made_durable(void **state)
{
    (void)state;
    static const enum commit_sync sync[] = {SYNC_METADATA, SYNC_ALL};
    for (int i = 0; i < 2; i++) {
        struct draft d = {0};
        size_t n;
        fx_done(&f);
        fx_init(&f, FX_MEM);
        f.o.sync = sync[i];
        OK(&f, fx_open(&f));
        fx_table(&f, "t");
        fx_grow(&f, "t", &d, 1, true);
        struct draft g = fx_next(&f, &d, "foreign", true);
        g.index = "i-1";
        g.statistics = "s-1";
        fx_foreign(&f, "t", &g); /* never synced by its writer */
        struct fx_file *named = fx_named(&f, &g, &n);
        for (size_t k = 0; k < n; k++)
            named[k].bytes = fx_read(&f, in_table(named[k].path));
        head_is(&g);
        fx_crash(&f, true);
        head_is(&g);
        assert_int_equal(fx_counts(&f).forked, 0);
        SAME(fx_read(&f, fx_snapshot_path(&f, "t", 2)), fx_snapshot(&f, &g));
        for (size_t k = 0; k < n; k++)
            if (sync[i] == SYNC_ALL || !memmem(named[k].path.p, named[k].path.len, "bucket-", 7))
                SAME(fx_read(&f, in_table(named[k].path)), named[k].bytes);
        whole_again(&g);
    }
}

static void an_adoption_that_fails_is_done_again(void **state)
{
    (void)state;
    struct draft d = {0};
    struct seen s;
    bool ok;
    fx_grow(&f, "t", &d, 1, true);
    static const struct plan plans[] = {
        {.op = ST_commit_record, .code = E_IO},
        {.op = ST_commit_record, .code = E_UNKNOWN},
        {.op = IO_sync, .code = E_IO},
        {.op = IO_read, .code = E_IO},
        {.op = IO_stat, .nth = 2, .code = E_IO},
        {.op = IO_stat, .nth = 3, .code = E_IO},
        {.op = ST_commit_record, .after = true, .code = E_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        struct draft g = fx_next(&f, &d, "foreign", true), e = fx_next(&f, &g, "u", true);
        fx_foreign(&f, "t", &g);
        fx_plan(&f, plans[i]);
        int rc = fx_head(&f, "t", &s);
        /* The reader's call did nothing, so nothing of it is unknown. */
        assert_true(rc == E_IO || rc == E_BUSY);
        fx_well(&f);
        if (i & 1)
            fx_crash(&f, false);
        head_is(&g);
        d = g;
        fx_plan(&f, plans[i]);
        g = fx_next(&f, &d, "foreign", true);
        fx_foreign(&f, "t", &g);
        e = fx_next(&f, &g, "u", true);
        rc = fx_commit(&f, "t", &e, &ok);
        assert_true(rc == E_IO || rc == E_BUSY);
        fx_well(&f);
        assert_true(fx_answer(&f, "t", &e));
        d = e;
    }
    assert_int_equal(fx_counts(&f).forked, 0);
    fx_snapshots_are(&f, "t", 1, d.id);
}

static void a_file_that_goes_while_it_is_adopted(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    static const struct plan plans[] = {{.op = IO_read, .code = E_NOTFOUND, .path = "/snapshot-"},
                                        {.op = IO_sync, .code = E_NOTFOUND, .path = "/snapshot-"}};
    for (int i = 0; i < 2; i++) {
        struct draft g = fx_next(&f, &d, "foreign", true);
        fx_foreign(&f, "t", &g);
        fx_plan(&f, plans[i]);
        head_is(&d); /* as if it had not been there */
        fx_well(&f);
        head_is(&g);
        d = g;
    }
}

/* --- the head's file -------------------------------------------------------------------------- */

static void a_touched_head_is_the_same(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 2, true);
    str path = fx_snapshot_path(&f, "t", 2);
    fx_write(&f, path, fx_read(&f, path)); /* a new inode */
    int reads = fx_calls(&f, IO_read);
    head_is(&d);
    assert_int_equal(fx_calls(&f, IO_read), reads + 1);
    head_is(&d);
    assert_int_equal(fx_calls(&f, IO_read), reads + 1); /* looked at once */
    fx_write(&f, path, fx_text(&f, " \n%.*s\n", STR(fx_read(&f, path))));
    head_is(&d); /* blanks around it are none of its text */
    struct cat_counts c = fx_counts(&f);
    assert_int_equal(c.head_changed, 0);
    assert_int_equal(c.forked, 0);
    struct seen s;
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.totals.file_count, 2);
    fx_restart(&f);
    whole_again(&d);
    assert_int_equal(fx_counts(&f).head_changed, 0);
}

static void another_head_is_believed(void **state)
{
    (void)state;
    struct draft d = {0}, old;
    struct seen s;
    fx_grow(&f, "t", &d, 2, true);
    old = d;
    d = fx_next(&f, fx_back(&d, 1), "foreign", true);
    fx_foreign(&f, "t", &d); /* a local rename replaces a file */
    head_is(&d);
    assert_int_equal(fx_counts(&f).head_changed, 1);
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.totals.file_count, -1);
    /* The commit that was answered true is no more, and that is what its writer is told. */
    assert_false(fx_answer(&f, "t", &old));
    assert_true(fx_answer(&f, "t", &d));
    fx_restart(&f);
    head_is(&d);
    assert_int_equal(fx_counts(&f).head_changed, 0);
    assert_false(fx_answer(&f, "t", &old));
    assert_true(fx_answer(&f, "t", &d));
    whole_again(&d);
}

static void the_head_is_gone_and_put_back(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 2, true);
    str path = fx_snapshot_path(&f, "t", 2), text = fx_read(&f, path);
    fx_del(&f, path);
    forked_at(&d, "its file is gone");
    forked_at(&d, "its file is gone");
    assert_int_equal(fx_counts(&f).forked, 1);   /* one alarm a fork */
    struct draft e = fx_next(&f, &d, "u", true); /* a gap hides this */
    fx_foreign(&f, "t", &e);
    forked_at(&d, "its file is gone");
    fx_restart(&f);
    forked_at(&d, "its file is gone");
    fx_write(&f, path, text);
    head_is(&e); /* whole: the next one is adopted */
    whole_again(&e);
    assert_int_equal(fx_counts(&f).head_changed, 0);
}

static void the_head_is_garbage(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 2, true);
    str path = fx_snapshot_path(&f, "t", 2), text = fx_read(&f, path);
    char *big = malloc(3 << 20);
    memset(big, ' ', 3 << 20);
    const str garbage[] = {S(""),
                           S("{"),
                           S("[]"),
                           S("{\"version\":3}"),
                           S("null"),
                           str_n(big, 3 << 20),
                           fx_text(&f, "%.*s x", STR(text)),
                           fx_read(&f, fx_snapshot_path(&f, "t", 1))}; /* another's text */
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        fx_write(&f, path, garbage[i]);
        forked_at(&d, "damaged");
        fx_write(&f, path, text);
        head_is(&d);
    }
    free(big);
    fx_del(&f, path);
    assert_int_equal(io_mkdirs(f.io, &f.cx, path), 0); /* a folder */
    forked_at(&d, "damaged");
    assert_int_equal(io_remove_tree(f.io, &f.cx, path), 0);
    fx_write(&f, path, text);
    whole_again(&d);
}

static str real(str path)
{
    return fx_text(&f, "%s/%.*s", f.root, STR(path));
}

static void links_and_pipes_are_no_snapshots(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 2, true);
    str two = fx_snapshot_path(&f, "t", 2), three = fx_snapshot_path(&f, "t", 3);
    str text = fx_read(&f, two);
    assert_int_equal(symlink("snapshot-2", real(three).p), 0);
    forked_at(&d, "cannot be read");
    unlink(real(three).p);
    assert_int_equal(mkfifo(real(three).p, 0600), 0);
    forked_at(&d, "cannot be read");
    unlink(real(three).p);
    head_is(&d);
    unlink(real(two).p);
    assert_int_equal(symlink("snapshot-1", real(two).p), 0);
    forked_at(&d, "damaged");
    unlink(real(two).p);
    fx_write(&f, two, text);
    whole_again(&d);
}

/* --- forks ------------------------------------------------------------------------------------ */

static str below_manifest(const char *name)
{
    return layout_manifest(&f.cx.arena, fx_dir(&f, "t"), str_of(name));
}

/* A file of rows and bytes that a draft adds when it says nothing else. */
static struct fx_entry file_of(const struct draft *d)
{
    size_t n;
    struct fx_entry e = fx_entries(&f, d, &n)[0];
    assert_int_equal(n, 1);
    return e;
}

static void base_is_empty(struct draft *g, const struct draft *d)
{
    (void)d;
    g->prev = NULL;
}

static void base_is_older(struct draft *g, const struct draft *d)
{
    g->prev = fx_next(&f, fx_back(d, d->id - 1), "x", true).prev;
}

static void lists_are_the_heads(struct draft *g, const struct draft *d)
{
    snprintf(g->base, sizeof g->base, "%s", d->base);
    snprintf(g->dlist, sizeof g->dlist, "%s", d->dlist);
}

static void deletes_what_is_not_there(struct draft *g, const struct draft *d)
{
    static struct fx_entry e;
    e = file_of(d);
    e.name = S("never.orc");
    e.del = true;
    g->entries = &e;
    g->n_entries = 1;
}

static void deletes_it_at_another_level(struct draft *g, const struct draft *d)
{
    static struct fx_entry e;
    e = file_of(d);
    e.level = 3;
    e.del = true;
    g->entries = &e;
    g->n_entries = 1;
}

static void adds_what_is_there(struct draft *g, const struct draft *d)
{
    static struct fx_entry e;
    e = file_of(d);
    g->entries = &e;
    g->n_entries = 1;
}

static void schema_is_unknown(struct draft *g, const struct draft *d)
{
    (void)d;
    g->schema_id = 5;
}

static void number_is_another(struct draft *g, const struct draft *d)
{
    (void)d;
    g->id = 7;
}

static void what_does_not_continue_the_head(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(struct draft *g, const struct draft *d);
        const char *why;
    } v[] = {{base_is_empty, "is empty, but"},
             {base_is_older, "does not come to the live files"},
             {lists_are_the_heads, "which is live already"},
             {deletes_what_is_not_there, "file-gone"},
             {deletes_it_at_another_level, "file-gone"},
             {adds_what_is_there, "file-twice"},
             {schema_is_unknown, "schema-unknown"},
             {number_is_another, "cannot be read"}};
    struct draft d = {0};
    fx_grow(&f, "t", &d, 2, true);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        struct draft g = fx_next(&f, &d, "foreign", true);
        str path = fx_snapshot_path(&f, "t", d.id + 1);
        v[i].spoil(&g, &d);
        fx_files(&f, "t", &g);
        fx_write(&f, path, fx_snapshot(&f, &g));
        forked_at(&d, v[i].why);
        fx_restart(&f);
        forked_at(&d, v[i].why);
        fx_del(&f, path);
        whole_again(&d);
    }
}

/* Its counts are its own affair, and its data files, too: nobody asked us before they were named. */
static void what_a_foreign_snapshot_may_say(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 2, true);
    for (int i = 0; i < 5; i++) {
        struct draft g = fx_next(&f, &d, "foreign", true);
        struct fx_entry e = {.rows = 10, .size = 1000, .name = fx_text(&f, "own-%d.orc", i)};
        g.entries = &e;
        g.n_entries = 1;
        if (i == 0)
            g.total += 4711;
        if (i == 1)
            g.delta = -1;
        if (i == 2)
            g.delta = INT64_MAX, g.total = INT64_MIN;
        if (i == 3)
            e.no_file = true;
        if (i == 4)
            e.buckets = 7;
        fx_foreign(&f, "t", &g);
        head_is(&g);
        struct seen s;
        OK(&f, fx_head(&f, "t", &s));
        assert_int_equal(s.totals.file_count, g.id);
        d = g;
        d.entries = ARENA_NEW(&f.cx.arena, struct fx_entry);
        *(struct fx_entry *)d.entries = e;
    }
    assert_int_equal(fx_counts(&f).adopted, 5);
    assert_int_equal(fx_counts(&f).forked, 0);
    struct draft e = fx_next(&f, &d, "u", true);
    static struct fx_entry seven = {.rows = 10, .size = 10, .buckets = 7, .name = {"seven.orc", 9}};
    e.entries = &seven;
    e.n_entries = 1;
    whole_again((assert_true(fx_answer(&f, "t", &e)), &e));
}

/* Metadata that a share shows late, or that somebody puts back. */
static void a_fork_heals_when_its_files_come(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    for (int i = 0; i < 5; i++) {
        struct draft g = fx_next(&f, &d, "foreign", true);
        struct manifest_file m;
        g.index = fx_text(&f, "i-%d", i).p;
        g.changelog = fx_text(&f, "c-%d", i).p;
        assert_non_null(fx_manifest(&f, &g, &m).p);
        str paths[] = {below_manifest(g.base), below_manifest(g.dlist),
                       layout_manifest(&f.cx.arena, fx_dir(&f, "t"), m.name),
                       below_manifest(g.index), below_manifest(g.changelog)};
        fx_foreign(&f, "t", &g);
        str bytes = fx_read(&f, paths[i]);
        fx_del(&f, paths[i]);
        forked_at(&d, "manifest-bad");
        fx_write(&f, paths[i], S("garbage"));
        forked_at(&d, "manifest-bad");
        fx_write(&f, paths[i], str_n(bytes.p, bytes.len - 1)); /* half of it */
        forked_at(&d, "manifest-bad");
        fx_restart(&f);
        forked_at(&d, "manifest-bad");
        fx_write(&f, paths[i], bytes);
        head_is(&g);
        whole_again(&g);
        d = g;
    }
}

static void a_fork_heals_when_the_schema_comes(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    struct draft g = fx_next(&f, &d, "foreign", true);
    g.schema_id = 1;
    fx_foreign(&f, "t", &g);
    forked_at(&d, "schema 1 does not exist");
    str dir = fx_dir(&f, "t");
    str one = fx_read(&f, layout_schema(&f.cx.arena, dir, S("main"), 0));
    fx_write(&f, layout_schema(&f.cx.arena, dir, S("main"), 1), one);
    head_is(&g);
    whole_again(&g);
    assert_int_equal(fx_counts(&f).forked, 1);
}

static void a_disk_that_fails_is_no_fork(void **state)
{
    (void)state;
    struct draft d = {0};
    struct seen s;
    fx_grow(&f, "t", &d, 1, true);
    struct draft g = fx_next(&f, &d, "foreign", true);
    fx_foreign(&f, "t", &g);
    FAIL(&f, .op = IO_stat, .path = "/schema/", .code = E_IO);
    FAILS(&f, E_IO, RES_NONE, "the test", fx_head(&f, "t", &s));
    fx_well(&f);
    assert_int_equal(fx_counts(&f).forked, 0);
    head_is(&g);
}

static void unreadable_next_files(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    str path = fx_snapshot_path(&f, "t", 2);
    char *big = malloc(3 << 20);
    memset(big, ' ', 3 << 20);
    const str garbage[] = {S(""), S("{}"), str_n(big, 3 << 20), S("{\"version\":99,\"id\":2}"),
                           S("\xff\xfe")};
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        fx_write(&f, path, garbage[i]);
        forked_at(&d, "cannot be read");
        fx_restart(&f);
        forked_at(&d, "cannot be read");
    }
    free(big);
    fx_del(&f, path);
    assert_int_equal(io_mkdirs(f.io, &f.cx, path), 0);
    forked_at(&d, "cannot be read");
    assert_int_equal(io_remove_tree(f.io, &f.cx, path), 0);
    whole_again(&d);
}

static void replays_are_answered_while_forked(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 2, true);
    fx_write(&f, fx_snapshot_path(&f, "t", 3), S("{"));
    forked_at(&d, "cannot be read");
    assert_true(fx_answer(&f, "t", &d));
}

static void a_fork_does_not_keep_a_table_from_being_dropped(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 2, true);
    fx_write(&f, fx_snapshot_path(&f, "t", 3), S("{"));
    forked_at(&d, "cannot be read");
    OK(&f, fx_drop(&f, "t"));
}

/* --- temporary files of a crash --------------------------------------------------------------- */

static void old_temporary_files_are_swept(void **state)
{
    (void)state;
    static const char *const folders[] = {"snapshot", "schema", "tag"};
    struct draft d = {0};
    str temp[3], other[3];
    fx_grow(&f, "t", &d, 1, true);
    for (int i = 0; i < 3; i++) {
        str dir = fx_text(&f, "%.*s/%s", STR(fx_dir(&f, "t")), folders[i]);
        char uuid[UUID_LEN + 1];
        rand_uuid(uuid);
        temp[i] = fx_text(&f, "%.*s/.%s-2.%s.tmp", STR(dir), folders[i], uuid);
        other[i] = fx_text(&f, "%.*s/notes.txt", STR(dir));
        assert_int_equal(io_mkdirs(f.io, &f.cx, dir), 0);
        fx_write(&f, temp[i], S("half"));
        fx_write(&f, other[i], S("mine"));
    }
    fx_restart(&f);
    head_is(&d);
    for (int i = 0; i < 3; i++)
        assert_true(fx_exists(&f, temp[i])); /* a foreign writer may be at it */
    fx_restart(&f);
    clock_wall_shift_ms(2 * 3600 * 1000);
    head_is(&d);
    clock_wall_shift_ms(0);
    for (int i = 0; i < 3; i++) {
        assert_false(fx_exists(&f, temp[i]));
        assert_true(fx_exists(&f, other[i]));
    }
}

/* --- what readers of files see ---------------------------------------------------------------- */

static int snapshots(int64_t below, int64_t limit, str **ret, int64_t **ids, size_t *n)
{
    struct branch *br;
    struct seen s;
    OK(&f, fx_head(&f, "t", &s));
    OK(&f, fx_branch(&f, "t", &br));
    int rc = branch_snapshots(&f.cx, br, below, limit, ret, ids, n);
    branch_unref(br);
    assert_int_equal(f.cx.err.code, rc);
    return rc;
}

static int at(const char *version, str *ret)
{
    struct branch *br;
    struct ctx cx;
    struct seen s;
    str json = STR_NONE;
    OK(&f, fx_head(&f, "t", &s));
    OK(&f, fx_branch(&f, "t", &br));
    fx_begin(&cx);
    int rc = branch_snapshot_at(&cx, br, str_of(version), &json);
    branch_unref(br);
    if (rc == 0)
        *ret = str_dup(&f.cx.arena, json);
    return fx_end(&f, &cx, rc);
}

static void snapshots_are_listed_from_the_files(void **state)
{
    (void)state;
    struct draft d[6];
    str *texts, one;
    int64_t *ids;
    size_t n;
    assert_int_equal(snapshots(0, 10, &texts, &ids, &n), 0);
    assert_int_equal(n, 0);
    FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "EARLIEST", at("EARLIEST", &one));
    FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "LATEST", at("LATEST", &one));
    for (int i = 0; i < 5; i++) {
        d[i] = fx_next(&f, i ? &d[i - 1] : NULL, "u", true);
        assert_true(fx_answer(&f, "t", &d[i]));
    }
    d[5] = fx_next(&f, &d[4], "u", true);
    d[5].prev = NULL;           /* its base list is empty */
    fx_foreign(&f, "t", &d[5]); /* above the head, not adopted: not shown */
    assert_int_equal(snapshots(0, 10, &texts, &ids, &n), 0);
    assert_int_equal(n, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ids[i], 5 - i);
        SAME(texts[i], fx_snapshot(&f, &d[4 - i]));
    }
    assert_int_equal(snapshots(4, 2, &texts, &ids, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(ids[0], 3);
    OK(&f, at("LATEST", &one));
    SAME(one, fx_snapshot(&f, &d[4]));
    OK(&f, at("EARLIEST", &one));
    SAME(one, fx_snapshot(&f, &d[0]));
    fx_del(&f, fx_snapshot_path(&f, "t", 1)); /* expired behind our back */
    fx_del(&f, fx_snapshot_path(&f, "t", 2));
    assert_int_equal(snapshots(0, 10, &texts, &ids, &n), 0);
    assert_int_equal(n, 3);
    OK(&f, at("EARLIEST", &one));
    SAME(one, fx_snapshot(&f, &d[2]));
    OK(&f, at("4", &one));
    SAME(one, fx_snapshot(&f, &d[3]));
    static const char *const none[] = {"1", "6",  "0",  "-1", "99999999999999999999",
                                       "",  "no", "..", "a/b"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "there is no snapshot", at(none[i], &one));
    /* By a tag: without the tag's own members. */
    assert_int_equal(io_mkdirs(f.io, &f.cx, fx_text(&f, "%.*s/tag", STR(fx_dir(&f, "t")))), 0);
    struct draft tag = d[1];
    tag.extra = ",\"tagCreateTime\":[2026,1,1],\"tagTimeRetained\":5.0";
    fx_write(&f, fx_tag_path(&f, "t", "v1"), fx_snapshot(&f, &tag));
    OK(&f, at("v1", &one));
    assert_null(memmem(one.p, one.len, "tagCreateTime", 13));
    struct snapshot s;
    assert_int_equal(snapshot_decode_file(&f.cx, one, S("x"), &s), 0);
    SAME(s.uuid, str_of(d[1].uuid));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
#define M(fn) cmocka_unit_test_setup_teardown(fn, setup_mem, teardown)
    const struct CMUnitTest tests[] = {
        T(a_foreign_snapshot_is_adopted),
        T(the_first_snapshot_is_adopted),
        T(many_are_adopted_in_one_turn),
        T(a_commit_on_an_adopted_base),
        T(a_file_past_a_gap_is_not_looked_at),
        T(a_file_past_a_gap_that_does_not_fit),
        M(adopted_after_a_crash_between_5_and_6),
        M(what_is_adopted_is_made_durable),
        M(an_adoption_that_fails_is_done_again),
        T(a_file_that_goes_while_it_is_adopted),
        T(a_touched_head_is_the_same),
        T(another_head_is_believed),
        T(the_head_is_gone_and_put_back),
        T(the_head_is_garbage),
        T(links_and_pipes_are_no_snapshots),
        T(what_does_not_continue_the_head),
        T(what_a_foreign_snapshot_may_say),
        T(a_fork_heals_when_its_files_come),
        T(a_fork_heals_when_the_schema_comes),
        T(a_disk_that_fails_is_no_fork),
        T(unreadable_next_files),
        T(replays_are_answered_while_forked),
        T(a_fork_does_not_keep_a_table_from_being_dropped),
        T(old_temporary_files_are_swept),
        T(snapshots_are_listed_from_the_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
