/* test_commit.c - a commit's way: base rules, replays, what is missing, races, failures at each
 * step, and a crash at each step. */
#include "tests/unit/catalog/fixture.h"

#include "catalog/meta_read.h"

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

static void again(unsigned kind)
{
    fx_done(&f);
    fx_new(&f, kind);
    fx_table(&f, "t");
}

static void head_is(const struct draft *d)
{
    struct seen s;
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.id, d->id);
    SAME(s.json, fx_snapshot(&f, d));
    SAME(fx_read(&f, fx_snapshot_path(&f, "t", d->id)), s.json); /* byte for byte */
}

static char said[sizeof((struct err_rec *)0)->msg];

/* The commit must fail, and nothing may have happened. */
static void refused(const struct draft *d, int code, enum res res, const char *part)
{
    bool ok = true;
    struct seen before, after;
    OK(&f, fx_head(&f, "t", &before));
    FAILS(&f, code, res, part, fx_commit(&f, "t", d, &ok));
    memcpy(said, f.err.msg, sizeof said);
    OK(&f, fx_head(&f, "t", &after));
    assert_int_equal(before.id, after.id);
    assert_false(fx_exists(&f, fx_snapshot_path(&f, "t", before.id + 1)));
}

static void answered_false(const struct draft *d)
{
    struct seen before, after;
    OK(&f, fx_head(&f, "t", &before));
    assert_false(fx_answer(&f, "t", d));
    OK(&f, fx_head(&f, "t", &after));
    assert_int_equal(before.id, after.id);
    assert_false(fx_exists(&f, fx_snapshot_path(&f, "t", before.id + 1)));
}

/* --- the plain way -------------------------------------------------------------------------------
 */

static void commits_follow_each_other(void **state)
{
    (void)state;
    struct draft d = {0};
    struct seen s;
    fx_grow(&f, "t", &d, 1, true);
    head_is(&d);
    assert_int_equal(fx_peek(&f, "t", &s), PEEK_HEAD);
    assert_int_equal(s.id, 1);
    fx_grow(&f, "t", &d, 4, true);
    head_is(&d);
    fx_snapshots_are(&f, "t", 1, 5);
    SAME(fx_read(&f, layout_latest(&f.cx.arena, fx_dir(&f, "t"), S("main"))), S("5"));
    struct cat_counts c = fx_counts(&f);
    assert_int_equal(c.commits_true, 5);
    assert_int_equal(c.commits_false + c.commits_failed + c.commits_refused, 0);
    assert_int_equal(c.commits_replayed, 0);
    fx_restart(&f);
    head_is(&d);
    fx_grow(&f, "t", &d, 1, true);
    head_is(&d);
    assert_int_equal(fx_counts(&f).adopted, 0);
    assert_int_equal(fx_counts(&f).head_changed, 0);
}

static void the_text_is_kept_as_it_was_sent(void **state)
{
    (void)state;
    struct draft d = fx_next(&f, NULL, "u", true);
    d.extra = " , \"properties\":{\"k\":\"v\"},\"newer\" : [ 1e0, \"\\u00e9\\n\"] ";
    assert_true(fx_answer(&f, "t", &d));
    head_is(&d);
    struct seen s;
    OK(&f, fx_head(&f, "t", &s));
    assert_non_null(memmem(s.body.p, s.body.len, "\"newer\" : [ 1e0", 15));
    fx_restart(&f);
    head_is(&d);
}

static void the_body_of_get_snapshot(void **state)
{
    (void)state;
    static const struct fx_entry two[] = {
        {.rows = 6, .size = 1000, .ms = 99, .name = {"a.orc", 5}},
        {.rows = 4, .size = 234, .ms = 98, .name = {"b.orc", 5}},
    };
    struct draft d = fx_next(&f, NULL, "u", true);
    d.entries = two;
    d.n_entries = 2;
    assert_true(fx_answer(&f, "t", &d));
    struct seen s;
    OK(&f, fx_head(&f, "t", &s));
    SAME(s.body, fx_text(&f,
                         "{\"snapshot\":{\"snapshot\":%.*s,\"recordCount\":10,\"fileSizeInBytes\":"
                         "1234,\"fileCount\":2,\"lastFileCreationTime\":99}}",
                         STR(s.json)));
}

static void the_names_of_the_right_table(void **state)
{
    (void)state;
    bool ok;
    struct draft d = fx_next(&f, NULL, "u", true);
    d.table_id = S("another");
    FAILS(&f, E_NOTFOUND, RES_TABLE, "d.t", fx_commit(&f, "t", &d, &ok));
    d.table_id = fx_row(&f, "t").id;
    assert_true(fx_answer(&f, "t", &d));
    struct draft e = d; /* 404 comes before anything, the replay too */
    e.table_id = S("another");
    FAILS(&f, E_NOTFOUND, RES_TABLE, "d.t", fx_commit(&f, "t", &e, &ok));
}

static void a_snapshot_that_is_none(void **state)
{
    (void)state;
    struct draft d = fx_next(&f, NULL, "u", true);
    d.kind = "MERGE";
    refused(&d, E_INVAL, RES_NONE, "commitKind");
    d = fx_next(&f, NULL, "u", true);
    d.id = 0;
    refused(&d, E_INVAL, RES_NONE, "id");
    d = fx_next(&f, NULL, "u", true);
    snprintf(d.base, sizeof d.base, "../x");
    d.no_files = true;
    refused(&d, E_INVAL, RES_NONE, "baseManifestList");
}

/* Each could be taken and never be loaded again, or kept in memory by the hundred thousand. */
static void snapshots_that_are_too_much(void **state)
{
    (void)state;
    struct draft d = {0}, e;
    static char many[2 * 100001 + 64], user[1100];
    fx_grow(&f, "t", &d, 1, true);
    size_t at = (size_t)snprintf(many, sizeof many, ",\"x\":[0");
    for (int i = 0; i < 100000; i++, at += 2)
        memcpy(many + at, ",0", 2);
    many[at] = ']';
    e = fx_next(&f, &d, "u", true);
    e.extra = many;
    refused(&e, E_TOOBIG, RES_NONE, "more than 100000 values");
    memset(user, 'u', sizeof user - 1);
    e = fx_next(&f, &d, "u", true);
    e.long_user = user;
    refused(&e, E_INVAL, RES_NONE, "commitUser has 1099 bytes");
    head_is(&d);
}

static void a_snapshot_too_large_to_be_read_again(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    f.cat->o.snapshot_max_bytes = 4096;
    char big[5000];
    struct draft e = fx_next(&f, &d, "u", true);
    snprintf(big, sizeof big, ",\"properties\":{\"k\":\"%0*d\"}", 4000, 1);
    e.extra = big;
    refused(&e, E_TOOBIG, RES_NONE, "snapshot.max-size");
    head_is(&d);
    fx_restart(&f);
    f.cat->o.snapshot_max_bytes = 4096;
    head_is(&d);
    fx_grow(&f, "t", &d, 1, true);
}

/* --- the base --------------------------------------------------------------------------------- */

static void the_base_with_uuids(void **state)
{
    (void)state;
    struct draft d = {0}, e;
    e = fx_next(&f, NULL, "u", true);
    e.id = 2;
    answered_false(&e); /* no head: only 1 follows */
    e = fx_next(&f, NULL, "u", true);
    e.has_base = true;
    rand_uuid(e.base_uuid);
    answered_false(&e); /* no head has this uuid */
    fx_grow(&f, "t", &d, 2, true);

    e = fx_next(&f, &d, "u", true);
    e.id = 2;
    answered_false(&e);
    e = fx_next(&f, &d, "u", true);
    e.id = 4;
    answered_false(&e);
    e = fx_next(&f, &d, "u", true);
    rand_uuid(e.base_uuid);
    answered_false(&e);
    e = fx_next(&f, &d, "u", true);
    e.base_uuid[0] = 0; /* given and empty is not null */
    answered_false(&e);
    e = fx_next(&f, &d, "u", true);
    e.has_base = false; /* null although it has a uuid and the head too */
    answered_false(&e);
    assert_int_equal(fx_counts(&f).commits_false, 7);
    e = fx_next(&f, &d, "u", true);
    assert_true(fx_answer(&f, "t", &e));
}

static void the_base_without_uuids(void **state)
{
    (void)state;
    struct draft d = {0}, e;
    fx_grow(&f, "t", &d, 2, false); /* a client up to 1.4 */
    e = fx_next(&f, &d, "u", true);
    e.has_base = true; /* an empty one is not that of a head without */
    answered_false(&e);
    e = fx_next(&f, &d, "u", true); /* the head has no uuid: null is taken from anybody */
    assert_false(e.has_base);
    assert_true(fx_answer(&f, "t", &e));
    d = e;
    e = fx_next(&f, &d, "u", false); /* the head has one, the posted has none */
    assert_true(fx_answer(&f, "t", &e));
    d = e;
    e = fx_next(&f, &d, "u", true); /* a base that is not null needs a head with a uuid */
    e.has_base = true;
    rand_uuid(e.base_uuid);
    answered_false(&e);
    e = fx_next(&f, &d, "u", false);
    e.id++;
    answered_false(&e);
}

/* --- replays ---------------------------------------------------------------------------------- */

static void replays(bool uuid)
{
    struct draft d[3];
    for (int i = 0; i < 3; i++) {
        d[i] = fx_next(&f, i ? &d[i - 1] : NULL, "u", uuid);
        d[i].ident = i;
        assert_true(fx_answer(&f, "t", &d[i]));
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            assert_true(fx_answer(&f, "t", &d[i]));
        assert_int_equal(fx_head_id(&f, "t"), 3);
        assert_int_equal(fx_counts(&f).commits_replayed, 3);
        fx_restart(&f);
    }
    for (int i = 0; i < 3; i++) /* the very first thing after a start */
        assert_true(fx_answer(&f, "t", &d[i]));
    struct draft other = d[1];
    if (uuid)
        rand_uuid(other.uuid);
    else
        other.ident = 77;
    answered_false(&other);
    snprintf(other.user, sizeof other.user, "v");
    answered_false(&other);
    fx_snapshots_are(&f, "t", 1, 3);
}

static void replays_with_uuids(void **state)
{
    (void)state;
    replays(true);
}

static void replays_without_uuids(void **state)
{
    (void)state;
    replays(false);
}

static void a_replay_needs_no_files(void **state)
{
    (void)state;
    struct draft d = {0}, e;
    fx_grow(&f, "t", &d, 1, true);
    e = d;
    fx_grow(&f, "t", &d, 1, true);
    fx_del(&f, layout_manifest(&f.cx.arena, fx_dir(&f, "t"), str_of(e.base)));
    e.no_files = true;
    f.cat->o.disk_min_free_bytes = INT64_MAX; /* nor room */
    assert_true(fx_answer(&f, "t", &e));
    fx_restart(&f);
    assert_true(fx_answer(&f, "t", &e));
}

static void prune(void)
{
    struct ctx cx;
    fx_begin(&cx);
    clock_wall_shift_ms((int64_t)90000000);
    OK(&f, fx_end(&f, &cx, catalog_prune(&cx, f.cat)));
    clock_wall_shift_ms(0);
}

static void old_ones_are_known_from_their_files(bool uuid)
{
    struct draft d[40];
    for (int i = 0; i < 40; i++) {
        d[i] = fx_next(&f, i ? &d[i - 1] : NULL, "u", uuid);
        assert_true(fx_answer(&f, "t", &d[i]));
    }
    prune();
    for (int i = 0; i < 40; i++) /* the first 8 are in no ring any more */
        assert_true(fx_answer(&f, "t", &d[i]));
    for (int i = 0; i < 40; i += 13) { /* after a start the branch is not even loaded */
        fx_restart(&f);
        assert_true(fx_answer(&f, "t", &d[i]));
        assert_int_equal(fx_counts(&f).commits_replayed, 1);
    }
    fx_restart(&f);
    struct draft other = d[5];
    snprintf(other.user, sizeof other.user, "v");
    rand_uuid(other.uuid);
    answered_false(&other);
    fx_del(&f, fx_snapshot_path(&f, "t", d[5].id)); /* expired: nobody can know */
    assert_false(fx_answer(&f, "t", &d[5]));
    assert_int_equal(fx_head_id(&f, "t"), 40);
    fx_write(&f, fx_snapshot_path(&f, "t", d[6].id), S("garbage"));
    assert_false(fx_answer(&f, "t", &d[6]));
}

static void old_ones_with_uuids(void **state)
{
    (void)state;
    old_ones_are_known_from_their_files(true);
}

static void old_ones_without_uuids(void **state)
{
    (void)state;
    old_ones_are_known_from_their_files(false);
}

static void a_rolled_back_one_is_forgotten(void **state)
{
    (void)state;
    struct draft d[4];
    for (int i = 0; i < 4; i++) {
        d[i] = fx_next(&f, i ? &d[i - 1] : NULL, "u", true);
        assert_true(fx_answer(&f, "t", &d[i]));
    }
    OK(&f, fx_rollback(&f, "t", 2));
    answered_false(&d[3]); /* 4 does not follow 2 */
    assert_true(fx_answer(&f, "t", &d[0]));
    assert_true(fx_answer(&f, "t", &d[1]));
    struct draft e = fx_next(&f, &d[1], "v", true);
    assert_true(fx_answer(&f, "t", &e));
    answered_false(&d[2]); /* another 3 has its place */
    fx_restart(&f);
    answered_false(&d[2]);
    answered_false(&d[3]);
    assert_true(fx_answer(&f, "t", &e));
    assert_true(fx_answer(&f, "t", &d[1]));
    fx_snapshots_are(&f, "t", 1, 3);
}

/* A rolled back branch: snapshots 1 and 2 of old clients, and *ret_gone, a 3 that is no more. */
static void old_clients_rolled_back(struct draft *ret_gone, struct draft *ret_head)
{
    struct draft d = {0};
    fx_grow(&f, "t", &d, 3, false);
    *ret_gone = d;
    OK(&f, fx_rollback(&f, "t", 2));
    *ret_head = fx_next(&f, fx_back(&d, 2), "w", false);
    assert_true(fx_answer(&f, "t", ret_head)); /* another 3 */
}

static void a_null_base_that_fits_is_taken_after_a_rollback(void **state)
{
    (void)state;
    struct draft gone, d, e;
    old_clients_rolled_back(&gone, &d);
    for (int i = 0; i < 3; i++) { /* its files say that it was made on the head: nobody is asked */
        e = fx_next(&f, &d, fx_text(&f, "u%d", i).p, false);
        assert_true(fx_answer(&f, "t", &e));
        d = e;
    }
    assert_int_equal(fx_counts(&f).commits_false, 0);
    assert_true(fx_answer(&f, "t", &e)); /* replays neither */
    fx_restart(&f);
    assert_true(fx_answer(&f, "t", &e));
}

/* Made on a snapshot that was rolled back: the head has its number, and the base may be null. */
static void a_null_base_that_is_gone_is_false_once_a_user(void **state)
{
    (void)state;
    struct draft gone, d, e;
    old_clients_rolled_back(&gone, &d);
    static const char *const users[] = {"u", "v", ""}; /* the empty user is one too */
    for (int i = 0; i < 3; i++) {
        e = fx_next(&f, &gone, users[i], false);
        answered_false(&e); /* read the head again */
        for (int again = 0; again < 2; again++)
            refused(&e, E_CONFLICT, RES_TABLE, "manifest-bad");
        e = fx_next(&f, &gone, users[i], false); /* once for all that a user does */
        refused(&e, E_CONFLICT, RES_TABLE, "manifest-bad");
    }
    fx_restart(&f); /* each is sent back once more, which is no harm */
    answered_false(&e);
    refused(&e, E_CONFLICT, RES_TABLE, "manifest-bad");
    struct draft g = fx_next(&f, &d, "u", false);
    assert_true(fx_answer(&f, "t", &g));
    OK(&f, fx_rollback(&f, "t", 3)); /* and in each epoch */
    answered_false(&e);
    refused(&e, E_CONFLICT, RES_TABLE, "manifest-bad");
}

/* Without a rollback a null base can only be the head, so what does not fit is the client's mistake;
 * and a base that is named is never in doubt. */
static void what_does_not_fit_is_refused_at_once(void **state)
{
    (void)state;
    struct draft d[3], e;
    for (int i = 0; i < 3; i++) {
        d[i] = fx_next(&f, i ? &d[i - 1] : NULL, "u", false);
        assert_true(fx_answer(&f, "t", &d[i]));
    }
    e = fx_next(&f, &d[1], "u", false);
    e.id = 4;
    refused(&e, E_CONFLICT, RES_TABLE, "manifest-bad");
    again(0);
    for (int i = 0; i < 3; i++) {
        d[i] = fx_next(&f, i ? &d[i - 1] : NULL, "u", true);
        assert_true(fx_answer(&f, "t", &d[i]));
    }
    OK(&f, fx_rollback(&f, "t", 2));
    e = fx_next(&f, &d[0], "u", true);
    e.id = 3;
    memcpy(e.base_uuid, d[1].uuid, sizeof e.base_uuid);
    refused(&e, E_CONFLICT, RES_TABLE, "manifest-bad");
    assert_int_equal(fx_counts(&f).commits_false, 0);
}

/* What deletion vectors a null base was made on, its base list does not tell. */
static void another_index_is_false_once_after_a_rollback(void **state)
{
    (void)state;
    struct draft gone, d, e;
    old_clients_rolled_back(&gone, &d);
    e = fx_next(&f, &d, "u", false);
    e.index = "i-1";
    answered_false(&e);
    assert_true(fx_answer(&f, "t", &e));
    d = e;
    e = fx_next(&f, &d, "v", false); /* the head's own: no doubt */
    e.index = "i-1";
    assert_true(fx_answer(&f, "t", &e));
    d = e;
    e = fx_next(&f, &d, "w", false); /* none, while the head has one */
    answered_false(&e);
    assert_true(fx_answer(&f, "t", &e));
    d = e;
    e = fx_next(&f, &d, "x", false); /* neither has any */
    assert_true(fx_answer(&f, "t", &e));
}

static void users_are_not_remembered_without_end(void **state)
{
    (void)state;
    struct draft gone, d, e;
    struct branch *br;
    old_clients_rolled_back(&gone, &d);
    OK(&f, fx_branch(&f, "t", &br));
    for (int i = 0; i < 100000; i++) { /* as if so many had come; the strand is idle */
        char name[16];
        int n = snprintf(name, sizeof name, "x%d", i);
        char *own = mem_dup(name, (size_t)n);
        assert_int_equal(map_put(&br->users, str_n(own, (size_t)n), own), 0);
    }
    size_t full = br->users.live;
    e = fx_next(&f, &gone, "u", false);
    bool got = fx_answer(&f, "t", &e);
    size_t after = br->users.live;
    branch_unref(br);
    assert_false(got);
    assert_int_equal(full, 100000);
    assert_int_equal(after, 1); /* forgotten, and then this one */
    refused(&e, E_CONFLICT, RES_TABLE, "manifest-bad");
}

/* --- what it names ---------------------------------------------------------------------------- */

static void missing_files(void **state)
{
    (void)state;
    struct draft d = {0};
    str dir = fx_dir(&f, "t");
    struct arena *a = &f.cx.arena;
    fx_grow(&f, "t", &d, 1, true);
    for (int i = 0; i < 5; i++) {
        struct draft e = fx_next(&f, &d, "u", true);
        e.changelog = "c-1";
        e.index = "i-1";
        e.statistics = "s-1";
        fx_files(&f, "t", &e);
        e.no_files = true;
        str names[] = {
            layout_manifest(a, dir, str_of(e.base)), layout_manifest(a, dir, str_of(e.dlist)),
            layout_manifest(a, dir, str_of(e.changelog)), layout_manifest(a, dir, str_of(e.index)),
            layout_statistics(a, dir, str_of(e.statistics))};
        fx_del(&f, names[i]);
        refused(&e, E_CONFLICT, RES_TABLE, "manifest-bad");
        assert_non_null(strstr(said, fx_text(&f, "%.*s", STR(names[i])).p));
        fx_files(&f, "t", &e); /* once they are there, the same is taken */
        if (i == 4)
            assert_true(fx_answer(&f, "t", &e));
    }
    assert_int_equal(fx_counts(&f).commits_refused, 5);
}

static void what_the_base_named_is_not_asked_again(void **state)
{
    (void)state;
    struct draft d = fx_next(&f, NULL, "u", true);
    d.index = "i-1";
    d.statistics = "s-1";
    assert_true(fx_answer(&f, "t", &d));
    fx_del(&f, layout_manifest(&f.cx.arena, fx_dir(&f, "t"), S("i-1")));
    fx_del(&f, layout_statistics(&f.cx.arena, fx_dir(&f, "t"), S("s-1")));
    struct draft e = fx_next(&f, &d, "u", true);
    fx_files(&f, "t", &e);
    e.no_files = true;
    e.index = "i-1";
    e.statistics = "s-1";
    assert_true(fx_answer(&f, "t", &e));
}

static void an_unknown_schema(void **state)
{
    (void)state;
    struct draft d = fx_next(&f, NULL, "u", true);
    d.schema_id = 1;
    refused(&d, E_CONFLICT, RES_TABLE, "schema-unknown");
    OK(&f,
       fx_alter(&f, "t", "[{\"action\":\"setOption\",\"key\":\"write-only\",\"value\":\"true\"}]"));
    assert_true(fx_answer(&f, "t", &d));
}

static void a_full_disk(void **state)
{
    (void)state;
    struct draft d = fx_next(&f, NULL, "u", true);
    f.cat->o.disk_min_free_bytes = INT64_MAX;
    refused(&d, E_BUSY, RES_NONE, "disk.min-free");
    f.cat->o.disk_min_free_bytes = 0;
    assert_true(fx_answer(&f, "t", &d));
    struct draft e = fx_next(&f, &d, "u", true);
    FAIL(&f, .op = IO_put_if_absent, .code = E_BUSY); /* full after all */
    refused(&e, E_BUSY, RES_NONE, "the test");
    fx_well(&f);
    assert_true(fx_answer(&f, "t", &e));
}

static void a_deadline_that_is_over(void **state)
{
    (void)state;
    struct draft d = fx_next(&f, NULL, "u", true);
    d.deadline_ms = clock_mono_ms() - 1;
    refused(&d, E_TIMEOUT, RES_NONE, "nothing was done");
    d.deadline_ms = clock_mono_ms() + 60000;
    assert_true(fx_answer(&f, "t", &d));
}

/* --- totals
 * ------------------------------------------------------------------------------------------------
 */

static struct totals totals(void)
{
    struct seen s;
    OK(&f, fx_head(&f, "t", &s));
    return s.totals;
}

#define FILE_(n, rows_, size_, ms_)                                                                \
    {                                                                                              \
        .rows = (rows_), .size = (size_), .ms = (ms_), .name = { n, 1 }                            \
    }

static void totals_are_summed(void **state)
{
    (void)state;
    static const struct fx_entry two[] = {FILE_("a", 6, 300, 60), FILE_("b", 4, 200, 70)};
    struct fx_entry gone = two[1];
    gone.del = true;
    struct draft d = fx_next(&f, NULL, "u", true);
    d.entries = two;
    d.n_entries = 2;
    assert_true(fx_answer(&f, "t", &d));
    struct draft e = fx_next(&f, &d, "u", true);
    e.entries = &gone;
    e.n_entries = 1;
    assert_true(fx_answer(&f, "t", &e));
    struct totals t = totals();
    assert_int_equal(t.file_size_bytes, 300);
    assert_int_equal(t.file_count, 1);
    assert_int_equal(t.last_file_creation_ms, 70); /* it does not go back */
    fx_restart(&f);
    t = totals();
    assert_int_equal(t.file_size_bytes, 300);
    assert_int_equal(t.last_file_creation_ms, 70);
    d = fx_next(&f, &e, "u", true);
    assert_true(fx_answer(&f, "t", &d));
    assert_int_equal(totals().file_count, 2);
    OK(&f, fx_rollback(&f, "t", 1)); /* those of the target come back */
    t = totals();
    assert_int_equal(t.file_size_bytes, 500);
    assert_int_equal(t.file_count, 2);
}

/* Manifests may say what no disk holds, when the files are not asked for their size. */
static void totals_that_cannot_be_known(void **state)
{
    (void)state;
    static const struct fx_entry huge[] = {
        {.rows = 1, .size = INT64_MAX, .ms = 1, .name = {"a", 1}, .no_file = true},
        {.rows = INT64_MAX, .size = INT64_MAX, .ms = INT64_MAX, .name = {"b", 1}, .no_file = true},
        {.rows = INT64_MAX, .size = 1, .ms = INT64_MIN, .name = {"c", 1}, .no_file = true},
    };
    f.cat->o.verify = VERIFY_OFF;
    for (size_t n = 1; n <= 3; n++) {
        struct draft d = {0}, e;
        fx_grow(&f, "t", &d, 1, true);
        assert_int_equal(totals().file_count, 1);
        e = fx_next(&f, &d, "u", true);
        e.entries = huge;
        e.n_entries = n;
        assert_true(fx_answer(&f, "t", &e));
        struct totals t = totals();
        assert_int_equal(t.file_count, -1);
        assert_int_equal(t.file_size_bytes, -1);
        assert_int_equal(t.last_file_creation_ms, -1);
        d = fx_next(&f, &e, "u", true); /* the sum does not fit yet */
        assert_true(fx_answer(&f, "t", &d));
        assert_int_equal(totals().file_count, -1);
        again(0);
        f.cat->o.verify = VERIFY_OFF;
    }
}

/* When the head's are not known they are counted from the live files. */
static void unknown_totals_are_counted_again(void **state)
{
    (void)state;
    static const struct fx_entry huge[] = {
        {.rows = 1, .size = INT64_MAX, .ms = 1, .name = {"a", 1}, .no_file = true},
        {.rows = 1, .size = INT64_MAX, .ms = 1, .name = {"b", 1}, .no_file = true},
    };
    struct fx_entry gone[] = {huge[0], huge[1]};
    struct draft d = {0}, e;
    gone[0].del = gone[1].del = true;
    f.cat->o.verify = VERIFY_OFF;
    fx_grow(&f, "t", &d, 1, true);
    e = fx_next(&f, &d, "u", true);
    e.entries = huge;
    e.n_entries = 2;
    assert_true(fx_answer(&f, "t", &e));
    assert_int_equal(totals().file_count, -1);
    d = fx_next(&f, &e, "u", true);
    d.entries = gone;
    d.n_entries = 2;
    assert_true(fx_answer(&f, "t", &d));
    fx_grow(&f, "t", &d, 1, true);
    struct totals t = totals();
    assert_int_equal(t.file_count, 2);
    assert_int_equal(t.file_size_bytes, 2000);
}

/* Nobody remembers those of a snapshot whose outcome is pruned. They come back when its state is loaded,
 * with the next commit at the latest. */
static void totals_come_back(void **state)
{
    (void)state;
    struct draft d = {0};
    struct ctx cx;
    fx_grow(&f, "t", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true);
    assert_true(fx_answer(&f, "t", &e));
    struct store_prune_in all = {.outcomes_per_branch_max = 1, .rows_max = 100};
    bool more;
    fx_begin(&cx);
    OK(&f, fx_end(&f, &cx, STORE(f.st, prune, &cx, &all, &more)));
    OK(&f, fx_rollback(&f, "t", 1));
    assert_int_equal(totals().file_count, -1);
    assert_int_equal(totals().file_size_bytes, -1);
    assert_int_equal(totals().last_file_creation_ms, -1);
    struct draft lost = fx_next(&f, &d, "u", true); /* judged, so the state is there */
    lost.own_base = true;                           /* its base list is empty */
    refused(&lost, E_CONFLICT, RES_TABLE, "base list");
    assert_int_equal(totals().file_count, 1);
    assert_int_equal(totals().file_size_bytes, 1000);
    assert_int_equal(totals().last_file_creation_ms, d.ms);
    fx_restart(&f); /* the store does not know */
    assert_int_equal(totals().file_count, -1);
    e = fx_next(&f, &d, "u", true);
    if (!fx_answer(&f, "t", &e))
        assert_true(fx_answer(&f, "t", &e)); /* sent back once, after a rollback */
    assert_int_equal(totals().file_count, 2);
    fx_restart(&f);
    assert_int_equal(totals().file_count, 2);
    assert_int_equal(totals().file_size_bytes, 2000);
}

/* --- races
 * ------------------------------------------------------------------------------------------------------
 */

static struct draft rival;
static void (*rival_fn)(void);

static void rival_comes(struct fx *fx, enum fx_op op, bool after, str path)
{
    if (op != IO_put_if_absent || after || !memmem(path.p, path.len, "/snapshot-", 10))
        return;
    fx_hook(fx, NULL, NULL);
    rival_fn();
}

static void rival_writes(void)
{
    fx_foreign(&f, "t", &rival);
}

static void rival_writes_garbage(void)
{
    fx_write(&f, fx_snapshot_path(&f, "t", rival.id), S("{"));
}

static void race(void (*fn)(void))
{
    rival_fn = fn;
    fx_hook(&f, rival_comes, NULL);
}

static void another_was_first(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true);
    rival = fx_next(&f, &d, "rival", true);
    race(rival_writes);
    assert_false(fx_answer(&f, "t", &e));
    head_is(&rival);
    struct cat_counts c = fx_counts(&f);
    assert_int_equal(c.adopted, 1);
    assert_int_equal(c.commits_false, 1);
    assert_int_equal(c.commits_true, 1);
    assert_true(fx_answer(&f, "t", &rival)); /* its writer may ask through us */
    e = fx_next(&f, &rival, "u", true);
    assert_true(fx_answer(&f, "t", &e));
    fx_snapshots_are(&f, "t", 1, 3);
}

static void another_was_first_with_garbage(void **state)
{
    (void)state;
    bool ok;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true);
    rival = fx_next(&f, &d, "rival", true);
    race(rival_writes_garbage);
    assert_false(fx_answer(&f, "t", &e));
    head_is(&d);
    FAILS(&f, E_BUSY, RES_TABLE, "nothing was done", fx_commit(&f, "t", &e, &ok));
    fx_del(&f, fx_snapshot_path(&f, "t", 2));
    assert_true(fx_answer(&f, "t", &e));
}

static void this_very_one_was_first(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    for (int uuid = 1; uuid >= 0; uuid--) { /* as NFS answers a link that worked at the first try */
        rival = fx_next(&f, &d, "u", uuid);
        struct draft e = rival;
        race(rival_writes);
        assert_true(fx_answer(&f, "t", &e));
        head_is(&e);
        d = e;
    }
    fx_snapshots_are(&f, "t", 1, 3);
    fx_restart(&f);
    head_is(&d);
    assert_true(fx_answer(&f, "t", &d));
}

static void one_with_its_uuid_and_other_text_was_first(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    rival = fx_next(&f, &d, "u", true);
    struct draft e = rival;
    rival.extra = ",\"other\":1";
    race(rival_writes);
    assert_true(fx_answer(&f, "t", &e)); /* by its uuid it is this snapshot */
    struct seen s;                       /* and what we say is what the file says */
    OK(&f, fx_head(&f, "t", &s));
    SAME(s.json, fx_read(&f, fx_snapshot_path(&f, "t", 2)));
    fx_restart(&f);
    OK(&f, fx_head(&f, "t", &s));
    SAME(s.json, fx_read(&f, fx_snapshot_path(&f, "t", 2)));
}

static void a_named_file_that_goes_at_the_last_moment(void **state)
{
    (void)state;
    bool ok;
    struct draft d = fx_next(&f, NULL, "u", true);
    FAIL(&f, .op = IO_sync, .code = E_NOTFOUND);
    FAILS(&f, E_CONFLICT, RES_TABLE, "manifest-bad", fx_commit(&f, "t", &d, &ok));
    fx_well(&f);
    assert_int_equal(fx_head_id(&f, "t"), 0);
    assert_true(fx_answer(&f, "t", &d));
}

static void dropped_while_it_waited(void)
{
    fx_drop_in_store(&f, fx_row(&f, "t").id);
}

static void a_table_dropped_under_a_commit(void **state)
{
    (void)state;
    bool ok = false;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true);
    race(dropped_while_it_waited);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "d.t", fx_commit(&f, "t", &e, &ok));
}

/* Each reads the head, makes its successor, posts; on false it starts again. */
struct writer {
    pthread_t id;
    int n, done, falses, errors;
    bool uuid;
};

/* What the lists of snapshot h hold, as its successor's base list has it. */
static int manifests_of(struct ctx *cx, const struct head *h, struct manifest_file *ret, size_t cap,
                        size_t *ret_n)
{
    str names[] = {h->base_list, h->delta_list};
    *ret_n = 0;
    for (int k = 0; k < 2; k++) {
        struct manifest_file *m;
        size_t n;
        TRY(meta_list(cx, &(struct meta_dir){f.io, S("d.db/t")}, names[k], SIZE_ANY, &m, &n));
        assert_true(*ret_n + n <= cap);
        for (size_t i = 0; i < n; i++)
            ret[(*ret_n)++] = m[i];
    }
    return 0;
}

/* The files of a commit that adds one file of one row on h: lists b-, d-, manifest m-, file f-. */
static int write_files(struct ctx *cx, const struct head *h, const char *uuid)
{
    struct manifest_file m[64], own;
    struct fx_entry e = {.rows = 1, .size = 1};
    char path[4][200];
    size_t n = 0;
    if (h)
        TRY(manifests_of(cx, h, m, 64, &n));
    for (int k = 0; k < 4; k++)
        snprintf(path[k], sizeof path[k], "d.db/t/%s/%c-%s", k == 3 ? "bucket-0" : "manifest",
                 "bdmf"[k], uuid);
    e.name = str_dup(&cx->arena, str_of(strrchr(path[3], '/') + 1));
    str manifest = manifest_of(cx, &e, 1, str_of(strrchr(path[2], '/') + 1), &own);
    str bytes[] = {list_of(cx, m, n), list_of(cx, &own, 1), manifest, S("x")};
    TRY(io_mkdirs(f.io, cx, S("d.db/t/bucket-0")));
    for (int k = 0; k < 4; k++)
        TRY(io_write(f.io, cx, str_of(path[k]), bytes[k], false));
    return 0;
}

/* No fixture helpers that allocate in f.cx here: each writer has its own context. */
static bool write_one(struct writer *w, int i)
{
    struct ctx cx;
    struct head *h = NULL;
    char uuid[UUID_LEN + 1], text[1200], base[UUID_LEN + 1];
    bool ok = false;
    fx_begin(&cx);
    int rc = turn_on(&cx, &f, "t", turn_head, &h);
    rand_uuid(uuid);
    base[0] = 0;
    if (h && h->uuid.len)
        snprintf(base, sizeof base, "%.*s", STR(h->uuid));
    char member[64] = "";
    if (w->uuid)
        snprintf(member, sizeof member, "\"uuid\":\"%s\",", uuid);
    snprintf(text, sizeof text,
             "{\"version\":3,\"id\":%lld,\"schemaId\":0,%s\"baseManifestList\":\"b-%s\","
             "\"deltaManifestList\":\"d-%s\",\"commitUser\":\"w%d\",\"commitIdentifier\":%d,"
             "\"commitKind\":\"APPEND\",\"timeMillis\":1,\"totalRecordCount\":%lld,"
             "\"deltaRecordCount\":1}",
             h ? (long long)h->id + 1 : 1, member, uuid, uuid, w->n, i,
             h ? (long long)h->total_records + 1 : 1);
    if (rc == 0)
        rc = write_files(&cx, h, uuid);
    head_unref(h);
    struct commit_in in = {.base_uuid = w->uuid && base[0] ? str_of(base) : STR_NONE};
    if (rc == 0)
        rc = json_parse(&cx, str_of(text), "test", &in.snapshot);
    if (rc == 0) {
        struct branch *br;
        struct posted p = {0};
        rc = cat_branch_open(&cx, f.cat, f.w, S("d"), S("t"), &br);
        if (rc == 0) {
            rc = commit_new(&cx, br, &in, &p.cm);
            for (int turns = 0; rc == 0 && turns < 10; turns++) {
                rc = commit_prepare(&cx, p.cm);
                if (rc == 0)
                    rc = turn(&cx, br, turn_commit, &p);
                if (rc != CAT_NEED)
                    break;
                rc = 0;
            }
            branch_unref(br);
        }
        ok = p.success;
    }
    if (rc != 0)
        w->errors++;
    else if (!ok)
        w->falses++;
    ctx_done(&cx);
    return ok;
}

static void *writer_run(void *arg)
{
    struct writer *w = arg;
    while (w->done < 8 && w->errors == 0 && w->falses < 10000)
        w->done += write_one(w, w->done);
    return NULL;
}

static void writers_race(bool uuid)
{
    struct writer w[5] = {0};
    int falses = 0;
    for (int i = 0; i < 5; i++) {
        w[i] = (struct writer){.n = i, .uuid = uuid};
        pthread_create(&w[i].id, NULL, writer_run, &w[i]);
    }
    for (int i = 0; i < 5; i++) {
        pthread_join(w[i].id, NULL);
        assert_int_equal(w[i].errors, 0);
        assert_int_equal(w[i].done, 8);
        falses += w[i].falses;
    }
    assert_int_equal(fx_head_id(&f, "t"), 40);
    fx_snapshots_are(&f, "t", 1, 40);
    struct cat_counts c = fx_counts(&f);
    assert_int_equal(c.commits_true, 40);
    assert_int_equal(c.commits_false, falses);
    assert_int_equal(c.adopted, 0);
    for (int i = 1; i <= 40; i++) { /* each of theirs exactly once */
        str text = fx_read(&f, fx_snapshot_path(&f, "t", i));
        struct snapshot s, o;
        assert_int_equal(snapshot_decode_file(&f.cx, text, S("x"), &s), 0);
        assert_int_equal(s.total_record_count, i);
        for (int k = 1; k < i; k++) {
            text = fx_read(&f, fx_snapshot_path(&f, "t", k));
            assert_int_equal(snapshot_decode_file(&f.cx, text, S("x"), &o), 0);
            assert_false(str_eq(o.delta_manifest_list, s.delta_manifest_list));
        }
    }
}

static void writers_with_uuids(void **state)
{
    (void)state;
    writers_race(true);
}

static void writers_without_uuids(void **state)
{
    (void)state;
    writers_race(false);
}

/* --- failures
 * --------------------------------------------------------------------------------------------------------
 */

/* The commit of a successor of *d fails by this plan, and nothing was done; the same goes through
 * afterwards. false: the plan came to nothing before 5. */
static bool fails_before_5(struct draft *d, struct plan p)
{
    bool ok = false;
    struct draft e = fx_next(&f, d, "u", true);
    fx_files(&f, "t", &e);
    e.no_files = true;
    fx_plan(&f, p);
    int rc = fx_commit(&f, "t", &e, &ok);
    bool hit = rc != 0;
    if (hit) {
        assert_int_equal(rc, p.code);
        assert_non_null(strstr(f.err.msg, "the test"));
        assert_false(ok);
        fx_well(&f);
        head_is(d);
        assert_false(fx_exists(&f, fx_snapshot_path(&f, "t", d->id + 1)));
    }
    fx_well(&f);
    assert_true(fx_answer(&f, "t", &e));
    *d = e;
    return hit;
}

static void nothing_is_done_before_5(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    static const struct plan plans[] = {
        {.op = ST_outcome_find, .code = E_IO},
        {.op = ST_outcome_find, .code = E_BUSY},
        {.op = IO_sync, .code = E_IO},
        {.op = IO_put_if_absent, .code = E_IO},
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        assert_true(fails_before_5(&d, plans[i]));
    /* Two stats of catch-up, a schema, a data file; two lists and a manifest. */
    static const struct plan each[] = {{.op = IO_stat, .code = E_IO},
                                       {.op = IO_read, .code = E_IO}};
    for (int i = 0; i < 2; i++) {
        int n = 0;
        struct plan p = each[i];
        do
            p.nth = ++n;
        while (fails_before_5(&d, p));
        assert_int_equal(n - 1, i == 0 ? 4 : 3);
    }
    assert_int_equal(fx_counts(&f).errors_after_create, 0);
}

static void a_load_that_fails_is_done_again(void **state)
{
    (void)state;
    struct draft d = {0};
    struct seen s;
    fx_grow(&f, "t", &d, 1, true);
    fx_restart(&f);
    FAIL(&f, .op = ST_branch_get, .code = E_IO);
    FAILS(&f, E_IO, RES_NONE, "the test", fx_head(&f, "t", &s));
    fx_well(&f);
    head_is(&d);
}

static void the_store_fails_after_the_file(void **state)
{
    (void)state;
    bool ok = true;
    struct draft d = {0};
    struct seen s;
    fx_grow(&f, "t", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true);
    FAIL(&f, .op = ST_commit_record, .code = E_IO);
    FAILS(&f, E_UNKNOWN, RES_NONE, "snapshot 2 may be committed", fx_commit(&f, "t", &e, &ok));
    assert_int_equal(fx_peek(&f, "t", &s), PEEK_HEAD); /* readers see it: it is durable */
    assert_int_equal(s.id, 2);
    fx_well(&f);
    assert_true(fx_answer(&f, "t", &e)); /* the replay answers true, the record was made */
    head_is(&e);
    assert_int_equal(fx_counts(&f).errors_after_create, 1);
    assert_int_equal(fx_counts(&f).adopted, 0);
    assert_int_equal(totals().file_count, 2); /* with its statistics */
    fx_restart(&f);
    head_is(&e);
    assert_int_equal(totals().file_count, 2);
    assert_true(fx_answer(&f, "t", &e));
    fx_snapshots_are(&f, "t", 1, 2);
}

static void no_change_is_taken_until_the_record_is_made(void **state)
{
    (void)state;
    bool ok;
    struct draft d = {0};
    struct seen s;
    fx_grow(&f, "t", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true), g = fx_next(&f, &e, "v", true);
    FAIL(&f, .op = ST_commit_record, .code = E_IO, .sticky = true);
    FAILS(&f, E_UNKNOWN, RES_NONE, "may be committed", fx_commit(&f, "t", &e, &ok));
    for (int i = 0; i < 3; i++) {
        atomic_store(&f.cat->last_after_create_ms, 0); /* else the process would end */
        FAILS(&f, E_BUSY, RES_NONE, "nothing was done", fx_commit(&f, "t", &g, &ok));
        atomic_store(&f.cat->last_after_create_ms, 0);
        FAILS(&f, E_BUSY, RES_NONE, "nothing was done", fx_rollback(&f, "t", 1));
        assert_int_equal(fx_peek(&f, "t", &s), PEEK_HEAD);
        assert_int_equal(s.id, 2);
    }
    fx_well(&f);
    assert_true(fx_answer(&f, "t", &g));
    assert_true(fx_answer(&f, "t", &e));
    head_is(&g);
}

static void a_record_of_which_nobody_knows(void **state)
{
    (void)state;
    bool ok;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true);
    FAIL(&f, .op = ST_commit_record, .code = E_UNKNOWN, .after = true); /* it was made */
    FAILS(&f, E_UNKNOWN, RES_NONE, "may be committed", fx_commit(&f, "t", &e, &ok));
    fx_well(&f);
    assert_true(fx_answer(&f, "t", &e));
    head_is(&e);
    d = e;
    fx_grow(&f, "t", &d, 1, true);
    fx_snapshots_are(&f, "t", 1, 3);
}

static void a_store_that_is_busy_is_asked_again(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    for (int i = 0; i < 3; i++) {
        struct draft e = fx_next(&f, &d, "u", true);
        FAIL(&f, .op = ST_commit_record, .nth = 1, .code = E_BUSY);
        FAIL(&f, .op = ST_commit_record, .nth = 2, .code = E_BUSY);
        assert_true(fx_answer(&f, "t", &e)); /* its queue was full: that is no I/O error */
        fx_well(&f);
        d = e;
    }
    assert_int_equal(fx_counts(&f).errors_after_create, 0);
}

static void the_link_is_not_durable(void **state)
{
    (void)state;
    bool ok;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true);
    FAIL(&f, .op = IO_put_if_absent, .code = E_UNKNOWN, .after = true);
    FAILS(&f, E_UNKNOWN, RES_NONE, "may be committed", fx_commit(&f, "t", &e, &ok));
    assert_int_equal(fx_peek(&f, "t", NULL),
                     PEEK_ASK); /* neither head is shown until it is known */
    int syncs = fx_calls(&f, IO_sync);
    fx_well(&f);
    head_is(&e); /* the next turn makes sure of it, then records it */
    assert_true(fx_calls(&f, IO_sync) > syncs);
    assert_true(fx_answer(&f, "t", &e));
    assert_int_equal(fx_counts(&f).adopted, 0);
    assert_int_equal(totals().file_count, 2);
    fx_restart(&f);
    head_is(&e);
}

static void the_link_was_not_made(void **state)
{
    (void)state;
    bool ok;
    struct draft d = {0};
    struct seen s;
    fx_grow(&f, "t", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true);
    FAIL(&f, .op = IO_put_if_absent, .code = E_UNKNOWN); /* unknown, and it did not happen */
    FAILS(&f, E_UNKNOWN, RES_NONE, "may be committed", fx_commit(&f, "t", &e, &ok));
    fx_well(&f);
    if (fx_peek(&f, "t", &s) == PEEK_HEAD) /* nobody is shown what is not there */
        assert_int_equal(s.id, 1);
    head_is(&d);
    fx_grow(&f, "t", &d, 1, true);
    head_is(&d);
    fx_snapshots_are(&f, "t", 1, 2);
}

static void the_link_was_not_made_and_another_came(void **state)
{
    (void)state;
    bool ok;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true);
    FAIL(&f, .op = IO_put_if_absent, .code = E_UNKNOWN);
    FAILS(&f, E_UNKNOWN, RES_NONE, "may be committed", fx_commit(&f, "t", &e, &ok));
    fx_well(&f);
    rival = fx_next(&f, &d, "rival", true);
    fx_foreign(&f, "t", &rival);
    head_is(&rival);
    assert_false(fx_answer(&f, "t", &e));
    assert_true(fx_answer(&f, "t", &rival));
    fx_snapshots_are(&f, "t", 1, 2);
}

static void the_link_is_looked_for_and_the_disk_fails(void **state)
{
    (void)state;
    bool ok;
    struct draft d = {0};
    struct seen s;
    fx_grow(&f, "t", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true);
    FAIL(&f, .op = IO_put_if_absent, .code = E_UNKNOWN, .after = true);
    FAIL(&f, .op = IO_sync, .nth = 2, .code = E_IO, .sticky = true);
    FAILS(&f, E_UNKNOWN, RES_NONE, "may be committed", fx_commit(&f, "t", &e, &ok));
    atomic_store(&f.cat->last_after_create_ms, 0);
    FAILS(&f, E_BUSY, RES_NONE, "nothing was done", fx_head(&f, "t", &s));
    fx_well(&f);
    head_is(&e);
    assert_true(fx_answer(&f, "t", &e));
}

/* With the real io: the third fsync of a commit is that of the directory (after the lists'). */
static void inject(const char *what)
{
    if (what)
        setenv("LATCH_INJECT", what, 1);
    else
        unsetenv("LATCH_INJECT");
    assert_int_equal(inject_init(), 0);
}

static void each_fsync_fails_once(void **state)
{
    (void)state;
    struct draft d = {0};
    int unknown = 0, failed = 0;
    again(FX_PUT_AFTER);
    fx_grow(&f, "t", &d, 1, true);
    for (int n = 1; n < 20; n++) {
        bool ok = false;
        struct draft e = fx_next(&f, &d, "u", true);
        fx_files(&f, "t", &e);
        e.no_files = true;
        fx_restart(&f);
        head_is(&d);
        inject(fx_text(&f, "io.fsync=fail:%d", n).p);
        int rc = fx_commit(&f, "t", &e, &ok);
        inject(NULL);
        fx_well(&f);
        unknown += rc == E_UNKNOWN;
        failed += rc < 0 && rc != E_UNKNOWN;
        if (rc == E_UNKNOWN)
            assert_true(fx_exists(&f, fx_snapshot_path(&f, "t", e.id)));
        else if (rc < 0)
            assert_false(fx_exists(&f, fx_snapshot_path(&f, "t", e.id)));
        assert_true(fx_answer(&f, "t", &e));
        head_is(&e);
        d = e;
    }
    assert_int_equal(unknown, 1);
    assert_true(failed >= 3);
    fx_snapshots_are(&f, "t", 1, 20);
}

static void lost_answers_of_link(void **state)
{
    (void)state;
    struct draft d = {0};
    bool ok;
    fx_grow(&f, "t", &d, 1, true);
    static const char *const points[] = {"put.written=fail", "put.synced=fail", "put.linked=fail",
                                         "io.write=fail"};
    for (int i = 0; i < 4; i++) {
        struct draft e = fx_next(&f, &d, "u", true);
        fx_files(&f, "t", &e);
        e.no_files = true;
        inject(points[i]);
        int rc = fx_commit(&f, "t", &e, &ok);
        inject(NULL);
        assert_int_equal(rc, i == 2 ? E_UNKNOWN : i == 3 ? E_BUSY : E_IO);
        fx_well(&f);
        assert_true(fx_answer(&f, "t", &e));
        d = e;
    }
    fx_snapshots_are(&f, "t", 1, 5);
}

static void the_hint_does_not_matter(void **state)
{
    (void)state;
    struct draft d = {0};
    FAIL(&f, .op = IO_write, .code = E_IO, .sticky = true);
    d = fx_next(&f, NULL, "u", true);
    assert_true(fx_answer(&f, "t", &d));
    head_is(&d);
}

/* The second I/O error after a snapshot was created within a minute ends the process. */
static void the_process_gives_up(void **state)
{
    (void)state;
    fflush(NULL);
    fx_done(&f);
    pid_t pid = fork();
    if (pid == 0) {
        bool ok;
        struct draft d = {0};
        fx_new(&f, 0);
        fx_table(&f, "t");
        fx_grow(&f, "t", &d, 1, true);
        struct draft e = fx_next(&f, &d, "u", true);
        FAIL(&f, .op = ST_commit_record, .code = E_IO, .sticky = true);
        if (fx_commit(&f, "t", &e, &ok) != E_UNKNOWN)
            _exit(1);
        nftw(f.root, rm_one, 16, FTW_DEPTH | FTW_PHYS);
        nftw(f.data, rm_one, 16, FTW_DEPTH | FTW_PHYS);
        e.no_files = true;
        IGNORE(fx_commit(&f, "t", &e, &ok));
        _exit(2);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 74);
    fx_new(&f, 0);
}

/* --- power
 * ---------------------------------------------------------------------------------------------------------
 */

static void nothing_named_is_unwritten(void **state)
{
    (void)state;
    struct draft d = fx_next(&f, NULL, "u", true);
    d.index = "i-1";
    d.changelog = "c-1";
    d.statistics = "s-1";
    assert_true(fx_answer(&f, "t", &d));
    struct arena *a = &f.cx.arena;
    str dir = fx_dir(&f, "t"), names[] = {str_of(d.base), str_of(d.dlist), S("i-1"), S("c-1")};
    str before[4];
    for (int i = 0; i < 4; i++)
        before[i] = fx_read(&f, layout_manifest(a, dir, names[i]));
    fx_crash(&f, true);
    SAME(fx_read(&f, layout_manifest(a, dir, str_of(d.base))), before[0]);
    SAME(fx_read(&f, layout_manifest(a, dir, str_of(d.dlist))), before[1]);
    SAME(fx_read(&f, layout_manifest(a, dir, S("i-1"))), before[2]);
    SAME(fx_read(&f, layout_manifest(a, dir, S("c-1"))), before[3]);
    SAME(fx_read(&f, layout_statistics(a, dir, S("s-1"))), S("statistics"));
    head_is(&d);
}

static void sync_off_asks_nothing(void **state)
{
    (void)state;
    f.cat->o.sync = SYNC_OFF;
    struct draft d = fx_next(&f, NULL, "u", true);
    int before = fx_calls(&f, IO_sync);
    assert_true(fx_answer(&f, "t", &d));
    assert_int_equal(fx_calls(&f, IO_sync), before);
}

/* Dies at each changing call of a commit. What was acknowledged is there; what was not is there or
 * not, as a whole; the client's next try settles it and it exists once. */
static void a_crash_anywhere(unsigned kind, bool power)
{
    bool lived = false;
    for (long k = 1; !lived; k++) {
        bool ok = false;
        struct draft d = {0};
        again(kind);
        fx_grow(&f, "t", &d, 2, true);
        struct draft e = fx_next(&f, &d, "u", true);
        fx_files(&f, "t", &e);
        fx_die_at(&f, k);
        e.no_files = true;
        int rc = fx_commit(&f, "t", &e, &ok);
        lived = !fx_dead(&f);
        fx_crash(&f, power);
        int64_t id = fx_head_id(&f, "t");
        assert_true(id == 2 || id == 3);
        if (rc == 0) {
            assert_true(ok);
            assert_int_equal(id, 3);
        } else if (rc != E_UNKNOWN) {
            assert_int_equal(id, 2);
        }
        fx_snapshots_are(&f, "t", 1, id);
        if (power)
            fx_files(&f, "t", &e); /* the client's machine lost nothing */
        assert_true(fx_answer(&f, "t", &e));
        head_is(&e);
        fx_restart(&f);
        head_is(&e);
        assert_true(fx_answer(&f, "t", &e));
        fx_grow(&f, "t", &e, 1, true);
        fx_snapshots_are(&f, "t", 1, 4);
        assert_true(k < 50);
    }
}

static void a_crash_anywhere_in_a_commit(void **state)
{
    (void)state;
    a_crash_anywhere(FX_MEM, false);
}

static void a_power_loss_anywhere_in_a_commit(void **state)
{
    (void)state;
    a_crash_anywhere(FX_MEM, true);
}

static void a_crash_with_sqlite(void **state)
{
    (void)state;
    a_crash_anywhere(FX_MEM | FX_SQLITE, true);
}

/* Lets each allocation of a commit fail. The contexts of the test take from the same source, so the
 * n-th may be anywhere on the way; what is checked holds wherever it is. */
static void no_memory_anywhere_in_a_commit(void **state)
{
    (void)state;
    struct draft d = {0};
    int unknown = 0;
    fx_grow(&f, "t", &d, 2, true);
    for (long n = 1;; n++) {
        bool ok = false;
        struct draft e = fx_next(&f, &d, "u", true);
        fx_files(&f, "t", &e);
        struct commit_in in = {.base_uuid = str_of(e.base_uuid)};
        assert_int_equal(json_parse(&f.cx, fx_snapshot(&f, &e), "test", &in.snapshot), 0);
        if (n % 3 == 0)
            fx_restart(&f); /* with the load of the branch */
        struct ctx cx;
        fx_begin(&cx);
        mem_fail_at(n, n & 1);
        int rc = post(&cx, &f, "t", &in, &ok);
        long seen = mem_fail_at(0, 0);
        rc = fx_end(&f, &cx, rc);
        fx_well(&f);
        bool there = fx_exists(&f, fx_snapshot_path(&f, "t", e.id));
        unknown += rc == E_UNKNOWN;
        if (rc == 0)
            assert_int_equal(ok, there);
        else if (rc != E_UNKNOWN)
            assert_false(there);
        e.no_files = true;
        assert_true(fx_answer(&f, "t", &e));
        head_is(&e);
        d = e;
        if (seen < n && n % 3)
            break;
        assert_true(n < 2000);
    }
    assert_true(unknown > 0);
    fx_snapshots_are(&f, "t", 1, d.id);
}

/* --- evidence
 * ---------------------------------------------------------------------------------------------------
 */

static void what_was_seen_too_early_is_seen_again(void **state)
{
    (void)state;
    struct draft d = {0}, e;
    struct branch *br;
    struct ctx cx;
    struct posted p = {0};
    fx_grow(&f, "t", &d, 1, true);
    e = fx_next(&f, &d, "u", true);
    /* One request prepares, then waits; its twin does it; then 40 others come. */
    OK(&f, fx_branch(&f, "t", &br));
    fx_begin(&cx);
    struct commit_in in = {.base_uuid = str_of(e.base_uuid)};
    assert_int_equal(json_parse(&cx, fx_snapshot(&f, &e), "test", &in.snapshot), 0);
    assert_int_equal(commit_new(&cx, br, &in, &p.cm), 0);
    fx_files(&f, "t", &e);
    assert_int_equal(commit_prepare(&cx, p.cm), 0);
    assert_true(fx_answer(&f, "t", &e));
    d = e;
    fx_grow(&f, "t", &d, 40, true);
    assert_int_equal(turn(&cx, br, turn_commit, &p), CAT_NEED);
    assert_int_equal(commit_prepare(&cx, p.cm), 0);
    assert_int_equal(turn(&cx, br, turn_commit, &p), 0);
    assert_true(p.success);
    assert_int_equal(fx_end(&f, &cx, 0), 0);

    /* Evidence from before a rollback: known then, forgotten now. */
    fx_begin(&cx);
    p = (struct posted){0};
    assert_int_equal(json_parse(&cx, fx_snapshot(&f, &e), "test", &in.snapshot), 0);
    assert_int_equal(commit_new(&cx, br, &in, &p.cm), 0);
    assert_int_equal(commit_prepare(&cx, p.cm), 0);
    OK(&f, fx_rollback(&f, "t", 1));
    struct draft g = fx_next(&f, fx_back(&d, 1), "v", true);
    assert_true(fx_answer(&f, "t", &g));
    int rc, turns = 0;
    while ((rc = turn(&cx, br, turn_commit, &p)) == CAT_NEED && turns++ < 5)
        assert_int_equal(commit_prepare(&cx, p.cm), 0);
    assert_int_equal(rc, 0);
    assert_false(p.success);
    assert_int_equal(fx_end(&f, &cx, 0), 0);
    branch_unref(br);
    head_is(&g);
}

static void the_third_time_it_looks_on_its_turn(void **state)
{
    (void)state;
    struct draft d = {0}, e;
    struct branch *br;
    struct ctx cx;
    struct posted p = {0};
    fx_grow(&f, "t", &d, 1, true);
    e = fx_next(&f, &d, "u", true);
    fx_files(&f, "t", &e);
    OK(&f, fx_branch(&f, "t", &br));
    fx_begin(&cx);
    struct commit_in in = {.base_uuid = str_of(e.base_uuid)};
    assert_int_equal(json_parse(&cx, fx_snapshot(&f, &e), "test", &in.snapshot), 0);
    assert_int_equal(commit_new(&cx, br, &in, &p.cm), 0);
    /* Never prepared. */
    assert_int_equal(turn(&cx, br, turn_commit, &p), CAT_NEED);
    assert_int_equal(turn(&cx, br, turn_commit, &p), CAT_NEED);
    assert_int_equal(turn(&cx, br, turn_commit, &p), 0);
    assert_true(p.success);
    assert_int_equal(fx_end(&f, &cx, 0), 0);
    branch_unref(br);
    head_is(&e);
}

/* Is the race plainly lost for d, with this table id? */
static bool lost(const struct draft *d, str table_id)
{
    struct branch *br;
    struct ctx cx;
    struct posted p = {0};
    OK(&f, fx_branch(&f, "t", &br));
    fx_begin(&cx);
    struct commit_in in = {.table_id = table_id,
                           .base_uuid = d->has_base ? str_of(d->base_uuid) : STR_NONE};
    assert_int_equal(json_parse(&cx, fx_snapshot(&f, d), "test", &in.snapshot), 0);
    assert_int_equal(commit_new(&cx, br, &in, &p.cm), 0);
    bool res = commit_lost(&cx, p.cm);
    assert_int_equal(fx_end(&f, &cx, 0), 0);
    branch_unref(br);
    return res;
}

/* Of another table's commit nothing more is looked at. */
static void not_for_this_table(const char *snapshot)
{
    struct branch *br;
    struct ctx cx;
    struct posted p = {0};
    OK(&f, fx_branch(&f, "t", &br));
    fx_begin(&cx);
    struct commit_in in = {.table_id = S("another table")};
    assert_int_equal(json_parse(&cx, str_of(snapshot), "test", &in.snapshot), 0);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t", fx_end(&f, &cx, commit_new(&cx, br, &in, &p.cm)));
    branch_unref(br);
}

static void plainly_lost(bool uuid)
{
    struct draft first = {0}, mine, other, next;
    fx_grow(&f, "t", &first, 2, uuid);
    mine = fx_next(&f, &first, "u", uuid);
    other = fx_next(&f, &first, "v", uuid);
    assert_false(lost(&mine, STR_NONE)); /* the number is free */
    int64_t before = fx_counts(&f).commits_false;
    assert_true(fx_answer(&f, "t", &mine));
    assert_true(lost(&other, STR_NONE));
    assert_true(lost(&other, fx_row(&f, "t").id));
    assert_int_equal(fx_counts(&f).commits_false, before + 2);
    assert_false(lost(&mine, STR_NONE)); /* a repeat of the head itself */
    not_for_this_table("{}");
    assert_false(lost(&first, STR_NONE));     /* below the head: the past must be asked */
    assert_false(fx_answer(&f, "t", &other)); /* and the long way says the same */
    next = fx_next(&f, &mine, "u", uuid);
    assert_false(lost(&next, STR_NONE));
}

static void a_race_that_is_plainly_lost(void **state)
{
    (void)state;
    plainly_lost(true);
}

static void the_same_without_uuids(void **state)
{
    (void)state;
    plainly_lost(false);
}

/* While nobody knows what the head is, nothing is plain. */
static void an_unsettled_head_decides_no_race(void **state)
{
    (void)state;
    struct draft d = {0}, other;
    struct branch *br;
    fx_grow(&f, "t", &d, 1, true);
    other = fx_next(&f, NULL, "v", true);
    OK(&f, fx_branch(&f, "t", &br));
    assert_true(lost(&other, STR_NONE));
    branch_unsettle(br);
    assert_false(lost(&other, STR_NONE));
    branch_unref(br);
    OK(&f, fx_drop(&f, "t"));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
#define M(fn) cmocka_unit_test_setup_teardown(fn, setup_mem, teardown)
    const struct CMUnitTest tests[] = {
        T(commits_follow_each_other),
        T(the_text_is_kept_as_it_was_sent),
        T(the_body_of_get_snapshot),
        T(the_names_of_the_right_table),
        T(a_snapshot_that_is_none),
        T(a_snapshot_too_large_to_be_read_again),
        T(snapshots_that_are_too_much),
        T(the_base_with_uuids),
        T(the_base_without_uuids),
        T(replays_with_uuids),
        T(replays_without_uuids),
        T(a_replay_needs_no_files),
        M(old_ones_with_uuids),
        M(old_ones_without_uuids),
        T(a_rolled_back_one_is_forgotten),
        T(a_null_base_that_fits_is_taken_after_a_rollback),
        T(a_null_base_that_is_gone_is_false_once_a_user),
        T(what_does_not_fit_is_refused_at_once),
        T(another_index_is_false_once_after_a_rollback),
        T(users_are_not_remembered_without_end),
        T(missing_files),
        T(what_the_base_named_is_not_asked_again),
        T(an_unknown_schema),
        T(a_full_disk),
        T(a_deadline_that_is_over),
        T(totals_are_summed),
        T(totals_that_cannot_be_known),
        T(unknown_totals_are_counted_again),
        T(totals_come_back),
        T(another_was_first),
        T(another_was_first_with_garbage),
        T(this_very_one_was_first),
        T(one_with_its_uuid_and_other_text_was_first),
        T(a_named_file_that_goes_at_the_last_moment),
        T(a_table_dropped_under_a_commit),
        T(writers_with_uuids),
        T(writers_without_uuids),
        T(nothing_is_done_before_5),
        T(a_load_that_fails_is_done_again),
        T(the_store_fails_after_the_file),
        T(no_change_is_taken_until_the_record_is_made),
        T(a_record_of_which_nobody_knows),
        T(a_store_that_is_busy_is_asked_again),
        T(the_link_is_not_durable),
        T(the_link_was_not_made),
        T(the_link_was_not_made_and_another_came),
        T(the_link_is_looked_for_and_the_disk_fails),
        T(each_fsync_fails_once),
        T(lost_answers_of_link),
        T(the_hint_does_not_matter),
        T(the_process_gives_up),
        M(nothing_named_is_unwritten),
        T(sync_off_asks_nothing),
        M(a_crash_anywhere_in_a_commit),
        M(a_power_loss_anywhere_in_a_commit),
        M(a_crash_with_sqlite),
        M(no_memory_anywhere_in_a_commit),
        T(what_was_seen_too_early_is_seen_again),
        T(the_third_time_it_looks_on_its_turn),
        T(a_race_that_is_plainly_lost),
        T(the_same_without_uuids),
        T(an_unsettled_head_decides_no_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
