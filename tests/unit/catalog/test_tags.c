/* test_tags.c - tags and consumers: the files they become, what is refused, and what holds when a
 * call fails or the power goes. */
#include "tests/unit/catalog/fixture.h"

static struct fx f;
static struct draft d[5]; /* snapshots 1..4 of table t: d[1]..d[4] */

static void four(unsigned kind)
{
    fx_new(&f, kind);
    fx_table(&f, "t");
    for (int i = 1; i <= 4; i++) {
        d[i] = fx_next(&f, i > 1 ? &d[i - 1] : NULL, "u", true);
        d[i].extra = " ,\"newer\": {\"a\" :[1.50,2e3]} ";
        assert_true(fx_answer(&f, "t", &d[i]));
    }
}

static int setup(void **state)
{
    (void)state;
    setenv("TZ", "XYZ-5:45", 1);
    tzset();
    four(0);
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
    four(kind);
}

/* --- calls ------------------------------------------------------------------------------------ */

static int64_t deadline; /* of the next requests; 0: none */

static int turn_create(struct ctx *cx, struct branch *br, void *arg)
{
    cx->deadline_ms = deadline;
    return branch_tag_create(cx, br, arg);
}

static int create(const char *name, int64_t id, const char *retained) /* id -1: the head */
{
    struct ctx cx;
    struct tag_create_in in = {
        .name = str_of(name), .snapshot_id = {id != -1, id}, .time_retained = str_of(retained)};
    fx_begin(&cx);
    return fx_end(&f, &cx, turn_on(&cx, &f, "t", turn_create, &in));
}

static int turn_delete(struct ctx *cx, struct branch *br, void *arg)
{
    cx->deadline_ms = deadline;
    return branch_tag_delete(cx, br, str_of(arg));
}

static int delete (const char *name)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(&f, &cx, turn_on(&cx, &f, "t", turn_delete, (void *)name));
}

static int get(const char *name, struct tag_info *ret) /* ret lives in f.cx */
{
    struct ctx cx;
    struct branch *br;
    struct tag_info t;
    fx_begin(&cx);
    int rc = cat_branch_open(&cx, f.cat, f.w, S("d"), S("t"), &br);
    if (rc == 0) {
        rc = branch_tag_get(&cx, br, str_of(name), &t);
        branch_unref(br);
    }
    if (rc == 0) {
        *ret = t;
        ret->snapshot_json = str_dup(&f.cx.arena, t.snapshot_json);
        ret->time_retained = str_dup(&f.cx.arena, t.time_retained);
    }
    return fx_end(&f, &cx, rc);
}

/* The page as "a,b,". */
static int list(struct page_in in, str *ret)
{
    struct ctx cx;
    struct branch *br;
    struct buf b = {0};
    str *names;
    size_t n = 0;
    fx_begin(&cx);
    int rc = cat_branch_open(&cx, f.cat, f.w, S("d"), S("t"), &br);
    if (rc == 0) {
        rc = branch_tag_names(&cx, br, &in, &names, &n);
        branch_unref(br);
    }
    for (size_t i = 0; rc == 0 && i < n; i++)
        buf_addf(&b, "%.*s,", STR(names[i]));
    *ret = str_dup(&f.cx.arena, buf_str(&b));
    buf_done(&b);
    return fx_end(&f, &cx, rc);
}

static void tags_are(const char *want)
{
    str got;
    OK(&f, list((struct page_in){.limit = 100}, &got));
    SAME(got, str_of(want));
}

static str folder(const char *what)
{
    return fx_text(&f, "%.*s/%s", STR(fx_dir(&f, "t")), what);
}

static bool is_of(const char *name, int n)
{
    struct tag_info t;
    OK(&f, get(name, &t));
    return str_eq(t.snapshot_json, fx_snapshot(&f, &d[n]));
}

/* --- tags ------------------------------------------------------------------------------------- */

static void made_read_deleted(void **state)
{
    (void)state;
    struct tag_info t;
    tags_are("");
    OK(&f, create("now", -1, NULL));
    OK(&f, create("old", 2, "1 d"));
    SAME(fx_read(&f, fx_tag_path(&f, "t", "now")), fx_snapshot(&f, &d[4]));
    OK(&f, get("now", &t));
    SAME(t.snapshot_json, fx_snapshot(&f, &d[4]));
    assert_false(t.has_created);
    assert_null(t.time_retained.p);
    OK(&f, get("old", &t));
    assert_true(t.has_created);
    assert_in_range(t.created_ms, clock_wall_ms() - 60000, clock_wall_ms());
    SAME(t.time_retained, S("1d"));
    str file = fx_read(&f, fx_tag_path(&f, "t", "old"));
    assert_non_null(memmem(file.p, file.len, "\"newer\":{\"a\" :[1.50,2e3]}", 25));
    assert_non_null(memmem(file.p, file.len, "\"tagTimeRetained\":86400.000000000}", 34));
    tags_are("now,old,");
    assert_int_equal(fx_calls(&f, ST_audit_add), 2);
    OK(&f, delete ("now"));
    tags_are("old,");
    FAILS(&f, E_NOTFOUND, RES_TAG, "tag 'now' does not exist", delete ("now"));
    FAILS(&f, E_NOTFOUND, RES_TAG, "tag 'now' does not exist", get("now", &t));
    assert_int_equal(fx_calls(&f, ST_audit_add), 3);
    fx_restart(&f);
    tags_are("old,");
    OK(&f, get("old", &t));
}

static void refused(void **state)
{
    (void)state;
    static const int64_t none[] = {0, -2, 5, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "does not exist", create("x", none[i], NULL));
    assert_string_equal(f.err.res_name, "-9223372036854775808");
    fx_del(&f, fx_snapshot_path(&f, "t", 1));
    FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "snapshot 1", create("x", 1, NULL));
    fx_write(&f, fx_snapshot_path(&f, "t", 2), S("no snapshot"));
    FAILS(&f, E_CORRUPT, RES_NONE, "snapshot-2", create("x", 2, NULL));
    FAILS(&f, E_INVAL, RES_NONE, "timeRetained", create("x", 3, "soon"));
    FAILS(&f, E_INVAL, RES_NONE, "999999999 days", create("x", 3, "1000000000 d"));
    FAILS(&f, E_INVAL, RES_NONE, "name of a tag", create("../x", 3, NULL));
    FAILS(&f, E_INVAL, RES_NONE, "name of a tag", create("", 3, NULL));
    assert_int_equal(fx_count(&f, folder("tag")), 0);
    OK(&f, create("x", 3, NULL));
    FAILS(&f, E_EXISTS, RES_TAG, "tag 'x' already exists", create("x", 3, NULL));
    FAILS(&f, E_EXISTS, RES_TAG, "tag 'x' already exists", create("x", -1, "1d"));
    assert_true(is_of("x", 3));
    deadline = 1;
    FAILS(&f, E_TIMEOUT, RES_NONE, "", create("y", 3, NULL));
    FAILS(&f, E_TIMEOUT, RES_NONE, "", delete ("x"));
    deadline = 0;
    tags_are("x,");
}

static void of_a_table_without_snapshots(void **state)
{
    (void)state;
    fx_done(&f);
    fx_new(&f, 0);
    fx_table(&f, "t");
    FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "no snapshot yet", create("x", -1, NULL));
    assert_string_equal(f.err.res_name, "LATEST");
    FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "snapshot 1", create("x", 1, NULL));
}

static void names_no_tag_has(void **state)
{
    (void)state;
    struct tag_info t;
    char longest[253];
    memset(longest, 'x', 252);
    longest[252] = 0;
    const char *names[] = {"", ".", "..", "a/b", "../snapshot/snapshot-1", longest};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        FAILS(&f, E_NOTFOUND, RES_TAG, "does not exist", get(names[i], &t));
        FAILS(&f, E_NOTFOUND, RES_TAG, "does not exist", delete (names[i]));
    }
    FAILS(&f, E_INVAL, RES_NONE, "name of a tag", create(longest, 1, NULL));
    longest[251] = 0;
    OK(&f, create(longest, 1, "1d"));
    assert_true(fx_exists(&f, fx_tag_path(&f, "t", longest)));
    OK(&f, delete (longest));
}

static void pages(void **state)
{
    (void)state;
    static const char *const names[] = {"b", "a", "c", "a_1", "a%", "B"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        OK(&f, create(names[i], 1, NULL));
    static const struct {
        struct page_in in;
        const char *want;
    } cases[] = {
        {{.limit = 100}, "B,a,a%,a_1,b,c,"},
        {{.limit = 2}, "B,a,"},
        {{.limit = 6}, "B,a,a%,a_1,b,c,"},
        {{.limit = 2, .after = {"a", 1}}, "a%,a_1,"},
        {{.limit = 9, .after = {"a0", 2}}, "a_1,b,c,"},
        {{.limit = 9, .after = {"c", 1}}, ""},
        {{.limit = 9, .prefix = {"a", 1}}, "a,a%,a_1,"},
        {{.limit = 1, .prefix = {"a", 1}, .after = {"a", 1}}, "a%,"},
        {{.limit = 9, .prefix = {"a_", 2}}, "a_1,"},
        {{.limit = 9, .prefix = {"%", 1}}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        str got;
        OK(&f, list(cases[i].in, &got));
        SAME(got, str_of(cases[i].want));
    }
}

static void files_of_others(void **state)
{
    (void)state;
    struct tag_info t;
    OK(&f, create("x", 4, "1d"));
    fx_write(&f, fx_tag_path(&f, "t", "bad"), S("no tag"));
    assert_int_equal(io_mkdirs(f.io, &f.cx, fx_tag_path(&f, "t", "dir")), 0);
    fx_write(&f, folder("tag/.tag-y.123.tmp"), S("{"));
    fx_write(&f, folder("tag/tag-"), S("{"));
    fx_write(&f, folder("tag/TAG-z"), S("{"));
    tags_are("bad,x,");
    FAILS(&f, E_CORRUPT, RES_NONE, "tag 'bad'", get("bad", &t));
    FAILS(&f, E_CORRUPT, RES_NONE, "tag 'dir'", get("dir", &t));
    FAILS(&f, E_EXISTS, RES_TAG, "bad", create("bad", 1, NULL));
    FAILS(&f, E_EXISTS, RES_TAG, "dir", create("dir", 1, NULL));
    FAILS(&f, E_CORRUPT, RES_NONE, "tag-dir", delete ("dir"));
    OK(&f, delete ("bad"));
    fx_write(&f, fx_tag_path(&f, "t", "x"), fx_snapshot(&f, &d[2]));
    assert_true(is_of("x", 2)); /* replaced */
    fx_del(&f, fx_tag_path(&f, "t", "x"));
    FAILS(&f, E_NOTFOUND, RES_TAG, "'x'", get("x", &t));
}

/* A writer that is not done yet: the file is whole at the third look. */
static void finish_writing(struct fx *fx, enum fx_op op, bool after, str path)
{
    struct ctx cx;
    if (op != IO_read || after || !memmem(path.p, path.len, "tag-x", 5) || ++fx->seq != 3)
        return;
    ctx_init(&cx, 1 << 20);
    assert_int_equal(io_write(fx->io, &cx, path, *(str *)fx->hook_arg, false), 0);
    ctx_done(&cx);
}

static void half_written(void **state)
{
    (void)state;
    OK(&f, create("x", 3, NULL));
    str whole = fx_read(&f, fx_tag_path(&f, "t", "x"));
    fx_write(&f, fx_tag_path(&f, "t", "x"), str_n(whole.p, whole.len / 2));
    f.seq = 0;
    fx_hook(&f, finish_writing, &whole);
    assert_true(is_of("x", 3));
    assert_int_equal(f.seq, 3);
}

static void with_rollback_and_drop(void **state)
{
    (void)state;
    struct tag_info t;
    for (int i = 1; i <= 4; i++)
        OK(&f, create(fx_text(&f, "s%d", i).p, i, i % 2 ? NULL : "1d"));
    OK(&f, fx_rollback(&f, "t", 3));
    tags_are("s1,s2,s3,");
    FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "snapshot 4", create("s4", 4, NULL));
    OK(&f, create("again", -1, NULL));
    assert_true(is_of("again", 3));
    /* Its snapshot expired: it comes back from the tag with all its members. */
    for (int i = 1; i <= 2; i++)
        fx_del(&f, fx_snapshot_path(&f, "t", i));
    OK(&f, fx_rollback_in(&f, "t", (struct rollback_in){.tag = S("s2")}));
    str file = fx_read(&f, fx_snapshot_path(&f, "t", 2));
    assert_non_null(memmem(file.p, file.len, "\"newer\":{\"a\" :[1.50,2e3]}", 25));
    assert_null(memmem(file.p, file.len, "tagCreateTime", 13));
    tags_are("s1,s2,");
    OK(&f, fx_drop(&f, "t"));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "does not exist", get("s1", &t));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "does not exist", create("s9", 1, NULL));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "does not exist", delete ("s1"));
}

/* A handle that was opened before the drop makes nothing come back. */
static int drop_then_create(struct ctx *cx, struct branch *br, void *arg)
{
    TRY(table_drop(cx, br, STR_NONE, STR_NONE));
    return branch_tag_create(cx, br, arg);
}

static void not_after_a_drop(void **state)
{
    (void)state;
    struct ctx cx;
    struct tag_create_in in = {.name = S("x"), .snapshot_id = {true, 1}};
    str dir = fx_dir(&f, "t");
    fx_begin(&cx);
    int rc = fx_end(&f, &cx, turn_on(&cx, &f, "t", drop_then_create, &in));
    assert_int_equal(rc, E_NOTFOUND);
    assert_true(fx_gone_soon(&f, dir));
}

static void forked(const char *why)
{
    struct tag_info t;
    FAILS(&f, E_BUSY, RES_TABLE, "takes no change", create("y", 1, NULL));
    FAILS(&f, E_BUSY, RES_TABLE, why, create("y", 1, NULL));
    FAILS(&f, E_BUSY, RES_TABLE, "takes no change", delete ("x"));
    OK(&f, get("x", &t));
    tags_are("x,");
}

static void nothing_on_a_forked_branch(void **state)
{
    (void)state;
    str dir = fx_dir(&f, "t");
    OK(&f, create("x", 4, NULL));
    struct draft odd = fx_next(&f, &d[4], "foreign", true);
    odd.prev = NULL; /* its base list leaves out what is live */
    fx_foreign(&f, "t", &odd);
    forked("base list");
    struct draft next = fx_next(&f, &d[4], "foreign", true);
    str list = layout_manifest(&f.cx.arena, dir, str_of(next.dlist));
    fx_foreign(&f, "t", &next);
    str bytes = fx_read(&f, list);
    fx_del(&f, list);
    forked("manifest-bad");
    fx_write(&f, list, bytes);
    OK(&f, create("y", 5, NULL));
    tags_are("x,y,");
}

/* --- failures --------------------------------------------------------------------------------- */

static void each_call_fails_once(void **state)
{
    (void)state;
    static const enum fx_op ops[] = {IO_put_if_absent, IO_mkdirs, IO_del,       IO_sync,
                                     IO_read,          IO_list,   ST_audit_add, IO_stat};
    int failed = 0;
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (int after = 0; after < 2; after++)
            for (int nth = 1; nth < 20; nth++) {
                struct tag_info t;
                str got;
                again(FX_MEM);
                FAIL(&f, .op = ops[o], .nth = nth, .code = E_IO, .after = after);
                int made = create("x", 2, "1d"), there = get("x", &t);
                int listed = list((struct page_in){.limit = 9}, &got), gone = delete ("x");
                int hits = f.plans[0].hits;
                fx_well(&f);
                bool any = made < 0 || there < 0 || listed < 0 || gone < 0;
                failed += any;
                OK(&f, list((struct page_in){.limit = 9}, &got));
                if (gone == 0)
                    SAME(got, S(""));
                if (made == 0 && there == 0)
                    SAME(t.time_retained, S("1d"));
                if (str_eqz(got, "x,")) { /* then whole */
                    OK(&f, get("x", &t));
                    SAME(t.time_retained, S("1d"));
                }
                if (hits < nth)
                    break;
                assert_true(any || ops[o] == ST_audit_add);
            }
    assert_true(failed >= 12);
}

static void unknown_is_said(void **state)
{
    (void)state;
    FAIL(&f, .op = IO_put_if_absent, .code = E_UNKNOWN, .after = true, .path = "tag-x");
    FAILS(&f, E_UNKNOWN, RES_NONE, "may have been made", create("x", 2, NULL));
    fx_well(&f);
    assert_true(is_of("x", 2));
    FAIL(&f, .op = IO_sync, .code = E_IO, .path = "tag");
    FAILS(&f, E_UNKNOWN, RES_NONE, "may be back", delete ("x"));
    fx_well(&f);
    FAILS(&f, E_NOTFOUND, RES_TAG, "'x'", delete ("x"));
}

static void power_loss(void **state)
{
    (void)state;
    again(FX_MEM);
    OK(&f, create("x", 2, "1d"));
    OK(&f, create("y", 2, NULL));
    fx_crash(&f, true);
    tags_are("x,y,");
    OK(&f, delete ("x"));
    fx_crash(&f, true);
    tags_are("y,");
}

/* --- consumers -------------------------------------------------------------------------------- */

struct reset {
    const char *id;
    int64_t next; /* NONE: delete */
};
#define NONE INT64_MIN

static int turn_reset(struct ctx *cx, struct branch *br, void *arg)
{
    struct reset *r = arg;
    cx->deadline_ms = deadline;
    return r->next == NONE ? branch_consumer_delete(cx, br, str_of(r->id))
                           : branch_consumer_reset(cx, br, str_of(r->id), r->next);
}

static int reset(const char *id, int64_t next)
{
    struct ctx cx;
    struct reset r = {id, next};
    fx_begin(&cx);
    return fx_end(&f, &cx, turn_on(&cx, &f, "t", turn_reset, &r));
}

/* The page as "a=1,b=2,". */
static int consumers(struct page_in in, str *ret)
{
    struct ctx cx;
    struct branch *br;
    struct buf b = {0};
    struct consumer_info *v;
    size_t n = 0;
    fx_begin(&cx);
    int rc = cat_branch_open(&cx, f.cat, f.w, S("d"), S("t"), &br);
    if (rc == 0) {
        rc = branch_consumers(&cx, br, &in, &v, &n);
        branch_unref(br);
    }
    for (size_t i = 0; rc == 0 && i < n; i++)
        buf_addf(&b, "%.*s=%lld,", STR(v[i].id), (long long)v[i].next_snapshot);
    *ret = str_dup(&f.cx.arena, buf_str(&b));
    buf_done(&b);
    return fx_end(&f, &cx, rc);
}

static void consumers_are(const char *want)
{
    str got;
    OK(&f, consumers((struct page_in){.limit = 100}, &got));
    SAME(got, str_of(want));
}

static str consumer_path(const char *id)
{
    return fx_text(&f, "%.*s/consumer/consumer-%s", STR(fx_dir(&f, "t")), id);
}

static void consumers_reset_and_deleted(void **state)
{
    (void)state;
    consumers_are("");
    OK(&f, reset("b", NONE)); /* gone already is fine */
    assert_int_equal(fx_count(&f, folder("consumer")), 0);
    OK(&f, reset("b", 2));
    OK(&f, reset("a", 5)); /* the one to come */
    SAME(fx_read(&f, consumer_path("b")), S("{\"nextSnapshot\":2}"));
    fx_write(&f, consumer_path("java"), S("{\n  \"nextSnapshot\" : 77\n}"));
    consumers_are("a=5,b=2,java=77,");
    OK(&f, reset("java", 1));
    OK(&f, reset("b", NONE));
    consumers_are("a=5,java=1,");
    static const int64_t none[] = {0, -1, 6, INT64_MAX, INT64_MIN + 1};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "does not exist", reset("a", none[i]));
    fx_del(&f, fx_snapshot_path(&f, "t", 1));
    FAILS(&f, E_NOTFOUND, RES_SNAPSHOT, "snapshot 1", reset("a", 1));
    FAILS(&f, E_INVAL, RES_NONE, "id of a consumer", reset("../x", 2));
    FAILS(&f, E_INVAL, RES_NONE, "id of a consumer", reset("..", NONE));
    deadline = 1;
    FAILS(&f, E_TIMEOUT, RES_NONE, "", reset("a", 2));
    FAILS(&f, E_TIMEOUT, RES_NONE, "", reset("a", NONE));
    deadline = 0;
    consumers_are("a=5,java=1,");
}

static void consumers_that_cannot_be_read(void **state)
{
    (void)state;
    OK(&f, reset("b", 1));
    OK(&f, reset("d", 2));
    OK(&f, reset("f", 3));
    static const char *const bad[] = {"",
                                      "{",
                                      "{}",
                                      "[]",
                                      "{\"nextSnapshot\":\"1\"}",
                                      "{\"nextSnapshot\":1.5}",
                                      "{\"nextSnapshot\":null}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fx_write(&f, consumer_path(fx_text(&f, "c%zu", i).p), str_of(bad[i]));
    char *huge = mem_zalloc(1 << 20);
    memset(huge, ' ', 1 << 20);
    fx_write(&f, consumer_path("a"), str_n(huge, 1 << 20));
    mem_free(huge);
    assert_int_equal(io_mkdirs(f.io, &f.cx, consumer_path("dir")), 0);
    consumers_are("b=1,d=2,f=3,");
    str got;
    OK(&f, consumers((struct page_in){.limit = 2}, &got));
    SAME(got, S("b=1,d=2,"));
    OK(&f, consumers((struct page_in){.limit = 2, .after = S("b")}, &got));
    SAME(got, S("d=2,f=3,"));
    OK(&f, reset("c0", 4));
    OK(&f, reset("c1", NONE));
    FAILS(&f, E_CORRUPT, RES_NONE, "consumer-dir", reset("dir", 1));
    FAILS(&f, E_CORRUPT, RES_NONE, "consumer-dir", reset("dir", NONE));
    consumers_are("b=1,c0=4,d=2,f=3,");
}

static void consumers_fail(void **state)
{
    (void)state;
    static const enum fx_op ops[] = {IO_write, IO_mkdirs, IO_del, IO_sync, IO_list, IO_read};
    int failed = 0;
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (int nth = 1; nth < 20; nth++) {
            str got;
            again(FX_MEM);
            FAIL(&f, .op = ops[o], .nth = nth, .code = E_IO);
            int made = reset("c", 2), listed = consumers((struct page_in){.limit = 9}, &got);
            if (made == 0 && listed == 0)
                SAME(got, S("c=2,"));
            int gone = reset("c", NONE), hits = f.plans[0].hits;
            fx_well(&f);
            failed += made < 0 || listed < 0 || gone < 0;
            OK(&f, consumers((struct page_in){.limit = 9}, &got));
            if (gone == 0 || gone == E_UNKNOWN)
                SAME(got, S(""));
            if (hits < nth)
                break;
            assert_true(made < 0 || listed < 0 || gone < 0);
        }
    assert_true(failed >= 6);
    again(FX_MEM);
    OK(&f, reset("c", 2));
    OK(&f, reset("c", 3));
    fx_crash(&f, true);
    consumers_are("c=3,");
    OK(&f, reset("c", NONE));
    fx_crash(&f, true);
    consumers_are("");
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {T(made_read_deleted),
                                       T(refused),
                                       T(of_a_table_without_snapshots),
                                       T(names_no_tag_has),
                                       T(pages),
                                       T(files_of_others),
                                       T(half_written),
                                       T(with_rollback_and_drop),
                                       T(not_after_a_drop),
                                       T(nothing_on_a_forked_branch),
                                       T(each_call_fails_once),
                                       T(unknown_is_said),
                                       T(power_loss),
                                       T(consumers_reset_and_deleted),
                                       T(consumers_that_cannot_be_read),
                                       T(consumers_fail)};
    return cmocka_run_group_tests_name("tags", tests, NULL, NULL);
}
