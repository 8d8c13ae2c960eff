/* test_branches.c - branches made, dropped, renamed, forwarded, and schemas rolled back: what they do,
 * what they refuse, who is told what while they are under way. What becomes of them when a step fails
 * or the process dies is in test_branches_fail.c. */
#include "tests/unit/catalog/branch_fixture.h"

static struct fx f;
static struct past p;

static int setup(void **state)
{
    (void)state;
    fx_past(&f, 0, &p);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

static void hint_is(const char *branch, const char *name, const char *value)
{
    SAME(fx_read(&f, fx_in(&f, branch, fx_text(&f, "snapshot/%s", name).p)), str_of(value));
}

static bool there(const char *branch, const char *file)
{
    return fx_exists(&f, fx_in(&f, branch, file));
}

static void gone(const char *object)
{
    struct seen s;
    FAILS(&f, E_NOTFOUND, RES_TABLE, object, fx_head(&f, object, &s));
    if (fx_get(&f, object, NULL) != CAT_NEED) /* then a turn tells, as above */
        FAILS(&f, E_NOTFOUND, RES_TABLE, object, fx_get(&f, object, NULL));
    assert_int_equal(fx_peek(&f, object, NULL), PEEK_ASK);
}

/* The head is this draft, byte for byte, for readers, in the store and as a file. */
static void head_is(const char *object, const char *branch, const struct draft *d)
{
    struct seen s;
    struct branch_row row;
    OK(&f, fx_head(&f, object, &s));
    SAME(s.json, fx_snapshot(&f, d));
    assert_int_equal(fx_peek(&f, object, &s), PEEK_HEAD);
    assert_int_equal(s.id, d->id);
    assert_int_equal(STORE(f.st, branch_get, &f.cx, fx_row(&f, "t").id, str_of(branch), &row), 0);
    assert_int_equal(row.head.id, d->id);
    SAME(fx_read(&f, fx_in(&f, branch, fx_text(&f, "snapshot/snapshot-%d", (int)d->id).p)),
         fx_snapshot(&f, d));
}

static int64_t schema_of(const char *object)
{
    struct table_info t;
    OK(&f, fx_get(&f, object, &t));
    return t.row.schema_id;
}

/* --- create ----------------------------------------------------------------------------------- */

static void made_from_a_tag(void **state)
{
    (void)state;
    OK(&f, fx_bcreate(&f, "n", "v3"));
    SAME(fx_names(&f), S("b n "));
    head_is("t$branch_n", "n", &p.m[3]);
    assert_int_equal(schema_of("t$branch_n"), 1);
    assert_true(there("n", "schema/schema-0"));
    assert_true(there("n", "schema/schema-1"));
    assert_false(there("n", "schema/schema-2"));
    assert_false(there("n", "snapshot/snapshot-2"));
    assert_false(there("n", "tag/tag-v1"));
    SAME(fx_read(&f, fx_in(&f, "n", "tag/tag-v3")), fx_read(&f, fx_in(&f, "main", "tag/tag-v3")));
    SAME(fx_read(&f, fx_in(&f, "n", "schema/schema-1")),
         fx_read(&f, fx_in(&f, "main", "schema/schema-1")));
    hint_is("n", "LATEST", "3");
    hint_is("n", "EARLIEST", "3");
    assert_int_equal(fx_count(&f, fx_text(&f, "%.*s/branch", STR(fx_dir(&f, "t")))),
                     2); /* no stage */
    head_is("t", "main", &p.m[5]);
    head_is("t$branch_b", "b", &p.b[6]);
    fx_restart(&f);
    head_is("t$branch_n", "n", &p.m[3]);
}

/* The snapshot had expired; the tag has its text. */
static void made_from_a_tag_that_outlived(void **state)
{
    (void)state;
    for (int i = 1; i <= 4; i++)
        fx_del(&f, fx_snapshot_path(&f, "t", i));
    OK(&f, fx_bcreate(&f, "n", "v3"));
    str text = fx_read(&f, fx_in(&f, "n", "snapshot/snapshot-3"));
    assert_null(memmem(text.p, text.len, "tagCreateTime", 13));
    assert_int_equal(fx_head_id(&f, "t$branch_n"), 3);
}

static void made_without_a_tag(void **state)
{
    (void)state;
    struct seen s;
    struct draft d = {0};
    OK(&f, fx_bcreate(&f, "n", NULL));
    OK(&f, fx_head(&f, "t$branch_n", &s));
    assert_int_equal(s.id, 0);
    assert_int_equal(fx_peek(&f, "t$branch_n", &s), PEEK_EMPTY);
    assert_int_equal(schema_of("t$branch_n"), 3);
    assert_true(there("n", "schema/schema-0"));
    assert_int_equal(fx_count(&f, fx_in(&f, "n", "snapshot")), 0);
    fx_on(&f, "t$branch_n", &d, 2, 3); /* begins with 1 */
    head_is("t$branch_n", "n", &d);
    assert_int_equal(d.id, 2);
}

static void names_that_are_none(void **state)
{
    (void)state;
    char long_name[250];
    memset(long_name, 'a', sizeof long_name);
    long_name[249] = '\0';
    const char *bad[] = {"main", "",   "  ", "12",  "99999999999999999999",
                         "a/b",  "..", ".",  "a$b", long_name};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(fx_bcreate(&f, bad[i], NULL), E_INVAL);
        assert_int_equal(fx_brename(&f, "b", bad[i]), E_INVAL);
    }
    long_name[248] = '\0'; /* branch-<name> is a file's name of 255 bytes */
    OK(&f, fx_bcreate(&f, long_name, NULL));
    OK(&f, fx_bdrop(&f, long_name));
    OK(&f, fx_brename(&f, "b", long_name));
    OK(&f, fx_brename(&f, long_name, "b"));
    SAME(fx_names(&f), S("b "));
    assert_int_equal(fx_intents(&f), 0);
    FAILS(&f, E_INVAL, RES_BRANCH, "main", fx_bdrop(&f, "main"));
    FAILS(&f, E_INVAL, RES_BRANCH, "main", fx_brename(&f, "main", "z"));
    FAILS(&f, E_INVAL, RES_BRANCH, "main", fx_forward(&f, "main"));
}

static size_t handles_of_t(void)
{
    struct branch *main;
    struct ctx cx;
    size_t n = 0;
    fx_begin(&cx);
    assert_int_equal(cat_branch_open(&cx, f.cat, f.w, S("d"), S("t"), &main), 0);
    for (struct branch *br = main->table->branches; br; br = br->next)
        n++;
    branch_unref(main);
    ctx_done(&cx);
    return n;
}

/* A strand lets go of its branch a moment after its turn. */
static void handles_become(size_t n)
{
    for (int i = 0; i < 5000 && handles_of_t() != n; i++)
        usleep(1000);
    assert_int_equal(handles_of_t(), n);
}

/* However many names are asked for, the table keeps handles of branches only. */
static void what_create_refuses_leaves_no_handle(void **state)
{
    (void)state;
    size_t before = handles_of_t();
    for (int i = 0; i < 20; i++)
        FAILS(&f, E_NOTFOUND, RES_TAG, "'no'", fx_bcreate(&f, fx_text(&f, "n%d", i).p, "no"));
    handles_become(before);
    OK(&f, fx_bcreate(&f, "n1", "v3"));
    handles_become(before + 1);
}

static void what_create_refuses(void **state)
{
    (void)state;
    str before = fx_state(&f);
    FAILS(&f, E_EXISTS, RES_BRANCH, "'b'", fx_bcreate(&f, "b", "v3"));
    assert_string_equal(f.err.res_name, "b");
    FAILS(&f, E_NOTFOUND, RES_TAG, "'no'", fx_bcreate(&f, "n", "no"));
    FAILS(&f, E_NOTFOUND, RES_TAG, "", fx_bcreate(&f, "n", "../../x"));
    fx_put(&f, fx_in(&f, "main", "tag/tag-bad"), S("garbage"));
    FAILS(&f, E_CORRUPT, RES_NONE, "tag-bad", fx_bcreate(&f, "n", "bad"));
    fx_del(&f, fx_in(&f, "main", "tag/tag-bad"));
    /* A directory of somebody else's that is no branch yet. */
    fx_put(&f, fx_in(&f, "n", "x"), S("mine"));
    FAILS(&f, E_EXISTS, RES_BRANCH, "'n'", fx_bcreate(&f, "n", NULL));
    assert_int_equal(io_remove_tree(f.io, &f.cx, fx_in(&f, "n", "x")), 0);
    SAME(fx_names(&f), S("b n "));
    assert_int_equal(io_remove_tree(f.io, &f.cx, layout_root(&f.cx.arena, fx_dir(&f, "t"), S("n"))),
                     0);
    /* A schema that the tag needs is gone. */
    str schema = fx_in(&f, "main", "schema/schema-1"), text = fx_read(&f, schema);
    fx_del(&f, schema);
    FAILS(&f, E_CORRUPT, RES_TABLE, "schema file 1", fx_bcreate(&f, "n", "v3"));
    fx_put(&f, schema, text);
    SAME(fx_state(&f), before);
    assert_int_equal(fx_count(&f, fx_text(&f, "%.*s/branch", STR(fx_dir(&f, "t")))), 1);
}

/* --- commits on branches ---------------------------------------------------------------------- */

static void branches_are_apart(void **state)
{
    (void)state;
    assert_int_equal(p.b[6].id, 6);
    head_is("t$branch_b", "b", &p.b[6]);
    head_is("t", "main", &p.m[5]);
    assert_int_equal(schema_of("t$branch_b"), 2);
    assert_int_equal(schema_of("t"), 3);
    /* Replays: each where it was made, and nowhere else. */
    for (int i = 4; i <= 5; i++) {
        assert_true(fx_answer(&f, "t", &p.m[i]));
        assert_true(fx_answer(&f, "t$branch_b", &p.b[i]));
        assert_false(fx_answer(&f, "t", &p.b[i]));
        assert_false(fx_answer(&f, "t$branch_b", &p.m[i]));
    }
    fx_restart(&f);
    assert_true(fx_answer(&f, "t$branch_b", &p.b[6]));
    assert_false(fx_answer(&f, "t", &p.b[6]));
    /* Main has no schema of number 2 with what b's says, but one of that number: its own. */
    OK(&f, fx_rollback(&f, "t$branch_b", 4));
    assert_false(fx_answer(&f, "t$branch_b", &p.b[6]));
    assert_false(fx_answer(&f, "t$branch_b", &p.m[5]));
    head_is("t", "main", &p.m[5]);
    assert_true(fx_answer(&f, "t", &p.m[5]));
    assert_false(there("b", "tag/tag-bt"));
    assert_true(there("main", "tag/tag-v5"));
}

/* A commit that is ready to take its turn. */
struct ready {
    struct ctx cx;
    struct branch *br;
    struct posted posted;
    struct commit_in in;
};

static void get_ready(struct ready *r, const char *object, const struct draft *d)
{
    *r = (struct ready){0};
    fx_files(&f, "t", d);
    OK(&f, fx_branch(&f, object, &r->br));
    fx_begin(&r->cx);
    r->in = (struct commit_in){.base_uuid = str_of(d->base_uuid)};
    assert_int_equal(json_parse(&r->cx, fx_snapshot(&f, d), "test", &r->in.snapshot), 0);
    assert_int_equal(commit_new(&r->cx, r->br, &r->in, &r->posted.cm), 0);
    assert_int_equal(commit_prepare(&r->cx, r->posted.cm), 0);
}

static int go(struct ready *r)
{
    int rc;
    while ((rc = turn(&r->cx, r->br, turn_commit, &r->posted)) == CAT_NEED)
        assert_int_equal(commit_prepare(&r->cx, r->posted.cm), 0);
    branch_unref(r->br);
    return fx_end(&f, &r->cx, rc);
}

static void in_flight_across_a_drop(void **state)
{
    (void)state;
    for (int again = 0; again < 3; again++) {
        struct ready r;
        struct draft d = fx_step(&f, &p.b[6], 2);
        get_ready(&r, "t$branch_b", &d);
        assert_false(commit_lost(&r.cx, r.posted.cm));
        OK(&f, fx_bdrop(&f, "b"));
        if (again) {
            OK(&f, fx_bcreate(&f, "b", "v3"));
            struct draft e = p.m[3];
            fx_on(&f, "t$branch_b", &e, 3, 1); /* to the same number */
        }
        if (again == 2)
            fx_forward(&f, "b");
        assert_false(commit_lost(&r.cx, r.posted.cm));
        FAILS(&f, E_NOTFOUND, RES_TABLE, "t$branch_b", go(&r));
        assert_false(r.posted.success);
        assert_false(there("b", "snapshot/snapshot-7"));
        teardown(state);
        setup(state);
    }
}

static void in_flight_across_a_rename(void **state)
{
    (void)state;
    struct ready r;
    struct draft d = fx_step(&f, &p.b[6], 2);
    get_ready(&r, "t$branch_b", &d);
    OK(&f, fx_brename(&f, "b", "c"));
    OK(&f, fx_bcreate(&f, "b", "v3"));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t$branch_b", go(&r));
    head_is("t$branch_c", "c", &p.b[6]);
    head_is("t$branch_b", "b", &p.m[3]);
    /* Asked again under the old name: it is no successor of what has that name now. */
    assert_false(fx_answer(&f, "t$branch_b", &d));
    assert_true(fx_answer(&f, "t$branch_c", &d));
    head_is("t$branch_c", "c", &d);
}

static void in_flight_across_a_forward(void **state)
{
    (void)state;
    struct ready on_main, on_b;
    struct draft m = fx_step(&f, &p.m[5], 1), b = fx_step(&f, &p.b[6], 2);
    get_ready(&on_main, "t", &m);
    get_ready(&on_b, "t$branch_b", &b);
    OK(&f, fx_forward(&f, "b"));
    assert_int_equal(go(&on_main), 0);
    assert_false(on_main.posted.success);
    assert_int_equal(go(&on_b), 0);
    assert_true(on_b.posted.success);
    head_is("t", "main", &p.b[6]);
    head_is("t$branch_b", "b", &b);
}

/* --- drop ------------------------------------------------------------------------------------- */

static void dropped(void **state)
{
    (void)state;
    str dir = fx_dir(&f, "t");
    OK(&f, fx_bdrop(&f, "b"));
    gone("t$branch_b");
    SAME(fx_names(&f), S(""));
    assert_int_equal(fx_count(&f, fx_text(&f, "%.*s/branch", STR(dir))), 0);
    FAILS(&f, E_NOTFOUND, RES_BRANCH, "'b'", fx_bdrop(&f, "b"));
    assert_string_equal(f.err.res_name, "b");
    head_is("t", "main", &p.m[5]);
    OK(&f, fx_bcreate(&f, "b", "v1"));
    head_is("t$branch_b", "b", &p.m[1]);
    assert_false(fx_answer(&f, "t$branch_b", &p.b[4])); /* of the one before */
    struct draft d = p.m[1];
    fx_on(&f, "t$branch_b", &d, 2, 0);
    fx_restart(&f);
    head_is("t$branch_b", "b", &d);
    OK(&f, fx_bdrop(&f, "b"));
    fx_restart(&f);
    gone("t$branch_b");
}

static void a_handle_of_one_that_is_gone(void **state)
{
    (void)state;
    struct branch *br;
    struct ctx cx;
    struct head *h;
    str to = S("z");
    OK(&f, fx_branch(&f, "t$branch_b", &br));
    OK(&f, fx_bdrop(&f, "b"));
    OK(&f, fx_bcreate(&f, "b", "v1"));
    fx_begin(&cx);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t$branch_b", fx_end(&f, &cx, turn(&cx, br, turn_head, &h)));
    fx_begin(&cx);
    FAILS(&f, E_NOTFOUND, RES_BRANCH, "'b'", fx_end(&f, &cx, turn(&cx, br, turn_bdrop, NULL)));
    fx_begin(&cx);
    FAILS(&f, E_NOTFOUND, RES_BRANCH, "'b'", fx_end(&f, &cx, turn(&cx, br, turn_brename, &to)));
    branch_unref(br);
    head_is("t$branch_b", "b", &p.m[1]);
    OK(&f, fx_drop(&f, "t"));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t", fx_bdrop(&f, "b"));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t", fx_bcreate(&f, "b", NULL));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t", fx_forward(&f, "b"));
}

/* --- rename ----------------------------------------------------------------------------------- */

static void renamed(void **state)
{
    (void)state;
    OK(&f, fx_brename(&f, "b", "c"));
    gone("t$branch_b");
    SAME(fx_names(&f), S("c "));
    head_is("t$branch_c", "c", &p.b[6]);
    assert_int_equal(schema_of("t$branch_c"), 2);
    assert_true(fx_answer(&f, "t$branch_c", &p.b[5])); /* its outcomes came with it */
    struct draft d = p.b[6];
    fx_on(&f, "t$branch_c", &d, 1, 2);
    FAILS(&f, E_NOTFOUND, RES_BRANCH, "'b'", fx_brename(&f, "b", "x"));
    OK(&f, fx_brename(&f, "c", "b")); /* and back */
    head_is("t$branch_b", "b", &d);
    gone("t$branch_c");
    fx_restart(&f);
    head_is("t$branch_b", "b", &d);
    assert_true(fx_answer(&f, "t$branch_b", &d));
}

static void targets_that_are_taken(void **state)
{
    (void)state;
    OK(&f, fx_bcreate(&f, "n", NULL));
    str before = fx_state(&f);
    FAILS(&f, E_EXISTS, RES_BRANCH, "branch n", fx_brename(&f, "b", "n"));
    assert_string_equal(f.err.res_name, "n");
    FAILS(&f, E_EXISTS, RES_BRANCH, "branch b", fx_brename(&f, "b", "b"));
    SAME(fx_state(&f), before);
    /* A directory of somebody else's. */
    fx_put(&f, fx_in(&f, "c", "schema/x"), S("mine"));
    FAILS(&f, E_EXISTS, RES_BRANCH, "'c'", fx_brename(&f, "b", "c"));
    assert_string_equal(f.err.res_name, "c");
    assert_int_equal(fx_intents(&f), 0);
    SAME(fx_read(&f, fx_in(&f, "c", "schema/x")), S("mine"));
    head_is("t$branch_b", "b", &p.b[6]);
    struct draft d = p.b[6];
    fx_on(&f, "t$branch_b", &d, 1, 2);
}

/* --- while it is under way -------------------------------------------------------------------- */

static struct {
    enum fx_op op;
    bool after;
    const char *path; /* part of it; NULL: any */
    int skip;         /* so many of them first */
    int (*act)(struct ctx *cx);
    atomic_int rc, hits;
    atomic_bool in; /* what it does itself is not watched */
} spy;

static void spying(struct fx *fx, enum fx_op op, bool after, str path)
{
    if (spy.in || op != spy.op || after != spy.after ||
        (spy.path && !memmem(path.p, path.len, spy.path, strlen(spy.path))) ||
        spy.hits++ != spy.skip)
        return;
    struct ctx cx;
    spy.in = true;
    fx_begin(&cx);
    spy.rc = spy.act(&cx);
    ctx_done(&cx);
    spy.in = false;
    (void)fx;
}

static void watch(enum fx_op op, bool after, const char *path, int skip, int (*act)(struct ctx *cx))
{
    spy.op = op;
    spy.after = after;
    spy.path = path;
    spy.skip = skip;
    spy.act = act;
    spy.rc = 1000;
    spy.hits = 0;
    spy.in = false;
    fx_hook(&f, spying, NULL);
}

static int read_c(struct ctx *cx)
{
    struct head *h = NULL;
    int rc = turn_on(cx, &f, "t$branch_c", turn_head, &h);
    head_unref(h);
    return rc;
}
static int make_c(struct ctx *cx)
{
    return do_create(cx, &f, "c", "v1");
}
static int rename_n_to_b(struct ctx *cx)
{
    return do_rename(cx, &f, "n", "b");
}
static int get_c(struct ctx *cx)
{
    struct table_info t;
    return cat_table_get(cx, f.cat, f.w, S("d"), S("t$branch_c"), &t);
}
static int rename_n_to_c(struct ctx *cx)
{
    return do_rename(cx, &f, "n", "c");
}
static int drop_b(struct ctx *cx)
{
    return do_drop(cx, &f, "b");
}
static int replace_b(struct ctx *cx)
{
    int rc = do_drop(cx, &f, "b");
    return rc < 0 ? rc : do_rename(cx, &f, "n", "b");
}
static int roll_b_back_and_on(struct ctx *cx)
{
    struct rollback_in in = {.snapshot_id = 4};
    struct draft d = p.b[4];
    int rc = turn_on(cx, &f, "t$branch_b", turn_rollback, &in);
    if (rc == 0)
        fx_on(&f, "t$branch_b", &d, 2, 1);
    return rc;
}
static int rename_b_and_back(struct ctx *cx)
{
    int rc = do_rename(cx, &f, "b", "x");
    return rc < 0 ? rc : do_rename(cx, &f, "x", "b");
}
static int forward_b(struct ctx *cx)
{
    return do_forward(cx, &f, "b");
}
static int roll_b_back(struct ctx *cx)
{
    struct rollback_in in = {.snapshot_id = 4};
    return turn_on(cx, &f, "t$branch_b", turn_rollback, &in);
}
/* The directory has its new name, the store does not know: nobody takes it for a branch of its own. */
static void a_rename_is_seen_half_done(void **state)
{
    (void)state;
    int (*const acts[])(struct ctx *) = {read_c, make_c, rename_n_to_c};
    for (size_t i = 0; i < 3; i++) {
        teardown(state);
        setup(state);
        OK(&f, fx_bcreate(&f, "n", NULL));
        watch(IO_move, true, "branch-b", 0, acts[i]);
        OK(&f, fx_brename(&f, "b", "c"));
        fx_well(&f);
        assert_int_equal(spy.rc, acts[i] == read_c ? E_NOTFOUND : E_EXISTS);
        head_is("t$branch_c", "c", &p.b[6]);
        assert_true(fx_answer(&f, "t$branch_c", &p.b[5]));
        gone("t$branch_b");
        SAME(fx_names(&f), S("c n "));
        assert_int_equal(fx_intents(&f), 0);
    }
}

/* The name is not free before the last file of the old one is gone. */
static void a_drop_is_seen_half_done(void **state)
{
    (void)state;
    OK(&f, fx_bcreate(&f, "n", "v3"));
    for (int i = 0; i < 2; i++) {
        watch(IO_remove_tree, i, ".latch-", 1, rename_n_to_b);
        OK(&f, fx_bdrop(&f, "b"));
        fx_well(&f);
        assert_int_equal(spy.rc, E_EXISTS);
        OK(&f, fx_bcreate(&f, "b", "v3"));
        head_is("t$branch_b", "b", &p.m[3]);
        assert_int_equal(fx_intents(&f), 0);
    }
}

static void a_create_is_seen_half_done(void **state)
{
    (void)state;
    watch(IO_move, true, ".latch-", 0, get_c); /* its files are there */
    OK(&f, fx_bcreate(&f, "c", "v3"));
    fx_well(&f);
    assert_int_equal(spy.rc, CAT_NEED); /* it waits for the turn that makes it */
    head_is("t$branch_c", "c", &p.m[3]);
    OK(&f, fx_bdrop(&f, "c"));
    OK(&f, fx_bcreate(&f, "n", NULL));
    watch(IO_move, false, ".latch-", 0, rename_n_to_c);
    OK(&f, fx_bcreate(&f, "c", "v3"));
    fx_well(&f);
    assert_int_equal(spy.rc, E_EXISTS);
    SAME(fx_names(&f), S("b c n "));
    head_is("t$branch_c", "c", &p.m[3]);
}

static int schemas_back(struct ctx *cx)
{
    return do_schema(cx, &f, "t", 1);
}
static int roll_back_main(struct ctx *cx)
{
    struct rollback_in in = {.snapshot_id = 2};
    return turn_on(cx, &f, "t", turn_rollback, &in);
}

/* Main's past changes while it is copied: the new branch has it as it was or there is none. */
static void main_moves_while_it_is_copied(void **state)
{
    (void)state;
    static int (*const acts[])(struct ctx *) = {schemas_back, roll_back_main, forward_b};
    static const struct {
        enum fx_op op;
        const char *path;
    } at[] = {{IO_list, "t/schema"},
              {IO_read, "t/schema/schema-0"},
              {IO_read, "t/schema/schema-3"},
              {IO_sync, "schema-0"},
              {IO_read, "tag-v3"},
              {IO_move, ".latch-"}};
    int busy = 0;
    for (size_t a = 0; a < 3; a++)
        for (size_t i = 0; i < sizeof at / sizeof *at; i++)
            for (int skip = 0; skip < 4; skip++) {
                fx_done(&f);
                fx_past(&f, FX_MEM, &p); /* a past on a disk takes half a second */
                watch(at[i].op, skip & 1, at[i].path, skip / 2, acts[a]);
                int rc = fx_bcreate(&f, "n", at[i].op == IO_read && skip < 2 ? "v3" : NULL);
                fx_well(&f);
                if (spy.rc == 1000)
                    continue;
                assert_int_equal(spy.rc, 0);
                if (rc != 0) {
                    busy++;
                    if (rc != E_BUSY && rc != E_NOTFOUND) /* the tag went */
                        fail_msg("%s: %s", err_name(rc), f.err.msg);
                    gone("t$branch_n");
                    OK(&f, fx_bcreate(&f, "n", NULL));
                    continue;
                }
                for (int k = 0; k <= schema_of("t$branch_n"); k++)
                    assert_true(there("n", fx_text(&f, "schema/schema-%d", k).p));
                IGNORE(fx_head_id(&f, "t$branch_n"));
                assert_int_equal(fx_intents(&f), 0);
            }
    assert_true(busy > 5);
}

/* A directory that somebody else makes while ours is put together. */
static int make_dir_c(struct ctx *cx)
{
    str path = S("d.db/t/branch/branch-c");
    return io_mkdirs(f.io, cx, path);
}

static void a_directory_that_comes_in_between(void **state)
{
    (void)state;
    watch(IO_move, false, ".latch-", 0, make_dir_c);
    FAILS(&f, E_EXISTS, RES_BRANCH, "'c'", fx_bcreate(&f, "c", "v3"));
    fx_well(&f);
    assert_int_equal(fx_intents(&f), 0);
    gone("t$branch_c");
    watch(IO_move, false, "branch-b", 0, make_dir_c);
    FAILS(&f, E_EXISTS, RES_BRANCH, "'c'", fx_brename(&f, "b", "c"));
    fx_well(&f);
    head_is("t$branch_b", "b", &p.b[6]);
    assert_int_equal(fx_intents(&f), 0);
}

/* --- forward ---------------------------------------------------------------------------------- */

static void forwarded(void **state)
{
    (void)state;
    struct seen s;
    OK(&f, fx_forward(&f, "b"));
    head_is("t", "main", &p.b[6]);
    OK(&f, fx_head(&f, "t", &s));
    struct seen b;
    OK(&f, fx_head(&f, "t$branch_b", &b));
    assert_int_equal(s.totals.file_size_bytes, b.totals.file_size_bytes); /* not main's old ones */
    /* What main had before 3 stays; from there on it is the branch's. */
    for (int i = 1; i <= 6; i++)
        SAME(fx_read(&f, fx_snapshot_path(&f, "t", i)), fx_snapshot(&f, i < 3 ? &p.m[i] : &p.b[i]));
    fx_snapshots_are(&f, "t", 1, 6);
    hint_is("main", "LATEST", "6");
    assert_true(there("main", "tag/tag-v1"));
    assert_true(there("main", "tag/tag-v3")); /* the branch's, of 3 */
    assert_false(there("main", "tag/tag-v5"));
    assert_true(there("main", "tag/tag-bt"));
    assert_true(there("main", "changelog/changelog-2"));
    assert_false(there("main", "changelog/changelog-4"));
    assert_int_equal(schema_of("t"), 2);
    for (int i = 0; i <= 2; i++)
        SAME(fx_read(&f, fx_in(&f, "main", fx_text(&f, "schema/schema-%d", i).p)),
             fx_read(&f, fx_in(&f, "b", fx_text(&f, "schema/schema-%d", i).p)));
    assert_false(there("main", "schema/schema-3"));
    assert_int_equal(fx_count(&f, fx_text(&f, "%.*s/branch", STR(fx_dir(&f, "t")))), 1);
    /* The branch goes on by itself, and so does main. */
    head_is("t$branch_b", "b", &p.b[6]);
    assert_false(fx_answer(&f, "t", &p.m[4]));
    assert_false(fx_answer(&f, "t", &p.m[5]));
    assert_true(fx_answer(&f, "t", &p.m[2]));
    assert_true(fx_answer(&f, "t", &p.b[6]));
    struct draft m = p.b[6], n = p.b[6];
    fx_on(&f, "t", &m, 2, 2);
    fx_on(&f, "t$branch_b", &n, 1, 2);
    fx_restart(&f);
    head_is("t", "main", &m);
    head_is("t$branch_b", "b", &n);
    assert_false(fx_answer(&f, "t", &p.m[5]));
    assert_int_equal(fx_counts(&f).head_changed, 0);
    assert_int_equal(fx_counts(&f).adopted, 0);
    /* And once more: main's two go. */
    fx_set(&f, "t$branch_b", "more");
    fx_on(&f, "t$branch_b", &n, 2, 3);
    OK(&f, fx_forward(&f, "b"));
    head_is("t", "main", &n);
    assert_int_equal(n.id, 9);
    fx_snapshots_are(&f, "t", 1, 9);
    assert_false(fx_answer(&f, "t", &m));
    assert_int_equal(schema_of("t"), 3);
    OK(&f, fx_forward(&f, "b")); /* nothing new: as it was */
    head_is("t", "main", &n);
}

/* What is known of the files is the branch's, not main's own of that number. */
static void the_totals_are_the_branchs(void **state)
{
    (void)state;
    struct seen s;
    struct draft m = fx_step(&f, &p.m[5], 1), n = {0};
    m.size = 7000;
    assert_true(fx_answer(&f, "t", &m));
    fx_on(&f, "t", &m, 2, 1);
    OK(&f, fx_forward(&f, "b"));
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.id, 6);
    assert_int_equal(s.totals.file_size_bytes, 600); /* it began at a tag, and was counted */
    OK(&f, fx_bcreate(&f, "n", NULL));
    for (int i = 0; i < 2; i++) {
        struct draft d = fx_step(&f, n.id ? &n : NULL, 2);
        d.size = 7;
        assert_true(fx_answer(&f, "t$branch_n", &d));
        n = d;
    }
    OK(&f, fx_forward(&f, "n"));
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.totals.file_size_bytes, 14); /* of main's own 2 it was 200 */
    fx_restart(&f);
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.totals.file_size_bytes, 14);
    fx_on(&f, "t", &n, 1, 2);
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.totals.file_size_bytes, 114);
}

/* Of a branch that began without a tag: nothing of main's own stays. */
static void forwarded_from_the_first_on(void **state)
{
    (void)state;
    struct draft d = {0};
    OK(&f, fx_bcreate(&f, "n", NULL));
    str before = fx_state(&f);
    OK(&f, fx_forward(&f, "n")); /* without a snapshot it changes nothing */
    SAME(fx_state(&f), before);
    fx_on(&f, "t$branch_n", &d, 2, 3);
    for (int i = 1; i <= 2; i++) /* main's own expired, and its hint says so */
        fx_del(&f, fx_snapshot_path(&f, "t", i));
    fx_put(&f, fx_in(&f, "main", "snapshot/EARLIEST"), S("3"));
    OK(&f, fx_forward(&f, "n"));
    head_is("t", "main", &d);
    fx_snapshots_are(&f, "t", 1, 2);
    hint_is("main", "EARLIEST", "1");
    hint_is("main", "LATEST", "2");
    assert_false(there("main", "tag/tag-v1"));
    assert_false(there("main", "changelog/changelog-2"));
    assert_int_equal(schema_of("t"), 3);
    fx_restart(&f);
    head_is("t", "main", &d);
    assert_int_equal(fx_counts(&f).forked, 0);
}

static void what_forward_refuses(void **state)
{
    (void)state;
    FAILS(&f, E_NOTFOUND, RES_BRANCH, "'no'", fx_forward(&f, "no"));
    assert_string_equal(f.err.res_name, "no");
    str before = fx_state(&f);
    str path = fx_in(&f, "b", "snapshot/snapshot-6"), text = fx_read(&f, path);
    fx_del(&f, path);
    FAILS(&f, E_BUSY, RES_BRANCH, "snapshot 6", fx_forward(&f, "b"));
    fx_put(&f, path, text);
    SAME(fx_state(&f), before);
    /* A newest commit that was made in the files is taken along. */
    struct draft d = fx_step(&f, &p.b[6], 2);
    fx_files(&f, "t", &d);
    fx_put(&f, fx_in(&f, "b", "snapshot/snapshot-7"), fx_snapshot(&f, &d));
    OK(&f, fx_forward(&f, "b"));
    head_is("t", "main", &d);
}

/* Whatever becomes of the branch while it is copied: main has all of it or nothing. */
static void the_branch_moves_while_it_is_copied(void **state)
{
    (void)state;
    static int (*const acts[])(struct ctx *) = {drop_b, replace_b, roll_b_back, roll_b_back_and_on,
                                                rename_b_and_back};
    static const struct {
        enum fx_op op;
        bool after;
        const char *path;
    } at[] = {{IO_list, false, "branch-b/schema"},   {IO_list, true, "branch-b/schema"},
              {IO_list, false, "branch-b/snapshot"}, {IO_list, false, "branch-b/tag"},
              {IO_read, false, "snapshot-5"},        {IO_list, true, "branch-b/tag"},
              {IO_sync, true, "/tag/tag-bt"}};
    int hits = 0;
    for (size_t a = 0; a < sizeof acts / sizeof *acts; a++)
        for (size_t i = 0; i < sizeof at / sizeof *at; i++)
            for (int skip = 0; skip < 2; skip++) {
                fx_done(&f);
                fx_past(&f, FX_MEM, &p);
                OK(&f, fx_bcreate(&f, "n", "v3"));
                struct draft n[7] = {[3] = p.m[3]};
                for (int k = 4; k <= 6; k++) {
                    n[k] = n[k - 1];
                    fx_on(&f, "t$branch_n", &n[k], 1, 1);
                }
                assert_int_equal(fx_head_id(&f, "t"), 5);
                watch(at[i].op, at[i].after, at[i].path, skip, acts[a]);
                int rc = fx_forward(&f, "b");
                fx_well(&f);
                if (spy.rc == 1000)
                    continue;
                hits++;
                assert_int_equal(spy.rc, 0);
                if (rc == E_BUSY) {
                    head_is("t", "main", &p.m[5]);
                    for (int k = 1; k <= 5; k++)
                        SAME(fx_read(&f, fx_snapshot_path(&f, "t", k)), fx_snapshot(&f, &p.m[k]));
                    assert_int_equal(schema_of("t"), 3);
                    assert_true(there("main", "tag/tag-v5"));
                } else {
                    OK(&f, rc); /* then each is the successor of the one before */
                    int64_t last = fx_head_id(&f, "t");
                    str before = fx_read(&f, fx_snapshot_path(&f, "t", 3));
                    SAME(before, fx_snapshot(&f, &p.m[3]));
                    str of_b = fx_read(&f, fx_snapshot_path(&f, "t", 4));
                    bool old = str_eq(of_b, fx_snapshot(&f, &p.b[4]));
                    for (int k = 4; k <= last && (!old || acts[a] != roll_b_back_and_on); k++)
                        SAME(fx_read(&f, fx_snapshot_path(&f, "t", k)),
                             fx_snapshot(&f, old ? &p.b[k] : &n[k]));
                    if (acts[a] == roll_b_back_and_on) {
                        bool five = str_eq(fx_read(&f, fx_snapshot_path(&f, "t", 5)),
                                           fx_snapshot(&f, &p.b[5]));
                        bool six = str_eq(fx_read(&f, fx_snapshot_path(&f, "t", 6)),
                                          fx_snapshot(&f, &p.b[6]));
                        assert_int_equal(five, six);
                    }
                }
                assert_int_equal(fx_intents(&f), 0);
                assert_int_equal(fx_counts(&f).forked, 0);
            }
    assert_true(hits > 20);
}

/* --- schemas back ----------------------------------------------------------------------------- */

static void schemas_go_back(void **state)
{
    (void)state;
    OK(&f, fx_schema_back(&f, "t", 1));
    assert_int_equal(schema_of("t"), 1);
    assert_false(there("main", "schema/schema-2"));
    assert_false(there("main", "schema/schema-3"));
    head_is("t", "main", &p.m[5]);
    assert_int_equal(schema_of("t$branch_b"), 2); /* its own */
    assert_true(fx_answer(&f, "t", &p.m[5]));
    struct draft d = p.m[5];
    fx_on(&f, "t", &d, 1, 1);
    fx_set(&f, "t", "again"); /* number 2 comes back, as another one */
    assert_int_equal(schema_of("t"), 2);
    fx_on(&f, "t", &d, 1, 2);
    FAILS(&f, E_STATE, RES_NONE, "schema 2 is still referenced", fx_schema_back(&f, "t", 1));
    OK(&f, fx_schema_back(&f, "t", 2)); /* where it is */
    fx_restart(&f);
    assert_int_equal(schema_of("t"), 2);
    head_is("t", "main", &d);
}

static void schemas_of_a_branch_go_back(void **state)
{
    (void)state;
    FAILS(&f, E_STATE, RES_NONE, "schema 2 is still", fx_schema_back(&f, "t$branch_b", 1));
    OK(&f, fx_rollback(&f, "t$branch_b", 5));
    OK(&f, fx_schema_back(&f, "t$branch_b", 1));
    assert_int_equal(schema_of("t$branch_b"), 1);
    assert_false(there("b", "schema/schema-2"));
    assert_int_equal(schema_of("t"), 3);
    assert_true(there("main", "schema/schema-3"));
}

static void schemas_that_are_used(void **state)
{
    (void)state;
    FAILS(&f, E_STATE, RES_NONE, "schema 1 is still referenced", fx_schema_back(&f, "t", 0));
    struct draft used = p.m[1];
    used.schema_id = 2;
    fx_tag(&f, "main", "v1", &used);
    FAILS(&f, E_STATE, RES_NONE, "schema 2 is still referenced", fx_schema_back(&f, "t", 1));
    fx_tag(&f, "main", "v1", &p.m[1]);
    used.schema_id = 3;
    fx_put(&f, fx_in(&f, "main", "changelog/changelog-2"), fx_snapshot(&f, &used));
    FAILS(&f, E_STATE, RES_NONE, "schema 3 is still referenced", fx_schema_back(&f, "t", 1));
    fx_put(&f, fx_in(&f, "main", "changelog/changelog-2"), fx_snapshot(&f, &p.m[2]));
    str garbled = fx_snapshot_path(&f, "t", 2), text = fx_read(&f, garbled);
    fx_put(&f, garbled, S("who knows what it uses"));
    FAILS(&f, E_CORRUPT, RES_NONE, "snapshot-2", fx_schema_back(&f, "t", 1));
    fx_put(&f, garbled, text);
    static const int64_t none[] = {4, -1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < 4; i++)
        FAILS(&f, E_STATE, RES_NONE, "does not exist", fx_schema_back(&f, "t", none[i]));
    assert_int_equal(fx_calls(&f, ST_history_finish), 0);
    assert_int_equal(schema_of("t"), 3);
    assert_int_equal(fx_schema_back(&f, "t$branch_no", 0), E_NOTFOUND);
}

/* Files that clients wrote themselves go too. */
static void schemas_that_clients_wrote(void **state)
{
    (void)state;
    str text = fx_read(&f, fx_in(&f, "main", "schema/schema-3"));
    struct buf b = {0};
    const char *id = memmem(text.p, text.len, "\"id\":3", 6);
    assert_non_null(id);
    buf_adds(&b, str_n(text.p, (size_t)(id - text.p)));
    buf_addf(&b, "\"id\":4%.*s", (int)(text.len - (size_t)(id - text.p) - 6), id + 6);
    fx_put(&f, fx_in(&f, "main", "schema/schema-4"), buf_str(&b));
    buf_done(&b);
    fx_put(&f, fx_in(&f, "main", "schema/schema-9"), S("past a gap"));
    fx_put(&f, fx_in(&f, "main", "schema/other"), S("mine"));
    OK(&f, fx_schema_back(&f, "t", 1));
    for (int i = 0; i <= 9; i++)
        assert_int_equal(there("main", fx_text(&f, "schema/schema-%d", i).p), i <= 1);
    assert_true(there("main", "schema/other"));
    assert_int_equal(schema_of("t"), 1);
}

/* The target goes between the decision and the deed: the table must not stop for good. */
static int del_schema_1(struct ctx *cx)
{
    return io_del(f.io, cx, S("d.db/t/schema/schema-1"));
}

static void a_target_that_goes_meanwhile(void **state)
{
    (void)state;
    watch(ST_intent_begin, true, NULL, 0, del_schema_1);
    FAILS(&f, E_STATE, RES_NONE, "does not exist", fx_schema_back(&f, "t", 1));
    fx_well(&f);
    assert_int_equal(fx_intents(&f), 0);
    assert_true(there("main", "schema/schema-3"));
    assert_int_equal(fx_head_id(&f, "t"), 5);
}

/* --- branches that others made ---------------------------------------------------------------- */

static void foreign_branch(const char *name, bool snapshots)
{
    for (int i = 0; i <= 1; i++)
        fx_put(&f, fx_in(&f, name, fx_text(&f, "schema/schema-%d", i).p),
               fx_read(&f, fx_in(&f, "main", fx_text(&f, "schema/schema-%d", i).p)));
    for (int i = 3; snapshots && i <= 5; i++)
        fx_put(&f, fx_in(&f, name, fx_text(&f, "snapshot/snapshot-%d", i).p),
               fx_snapshot(&f, &p.m[i]));
}

static void taken_in(void **state)
{
    (void)state;
    foreign_branch("x", true);
    foreign_branch("n", false);
    SAME(fx_names(&f), S("b n x "));
    head_is("t$branch_x", "x", &p.m[5]);
    assert_int_equal(schema_of("t$branch_x"), 1);
    assert_int_equal(fx_head_id(&f, "t$branch_n"), 0);
    assert_int_equal(fx_intents(&f), 0);
    struct draft d = p.m[5], e = {0};
    assert_true(fx_answer(&f, "t$branch_x", &p.m[4])); /* the file tells */
    fx_on(&f, "t$branch_x", &d, 1, 1);
    fx_on(&f, "t$branch_n", &e, 1, 1);
    fx_restart(&f);
    head_is("t$branch_x", "x", &d);
    FAILS(&f, E_EXISTS, RES_BRANCH, "'x'", fx_bcreate(&f, "x", NULL));
    OK(&f, fx_bdrop(&f, "x"));
    OK(&f, fx_brename(&f, "n", "x"));
    head_is("t$branch_x", "x", &e);
}

/* Whatever is asked of it first. */
static void taken_in_by_any_request(void **state)
{
    (void)state;
    foreign_branch("x", true);
    OK(&f, fx_bdrop(&f, "x"));
    assert_false(there("x", "schema/schema-0"));
    foreign_branch("x", true);
    OK(&f, fx_brename(&f, "x", "n"));
    head_is("t$branch_n", "n", &p.m[5]);
    OK(&f, fx_bdrop(&f, "n"));
    foreign_branch("x", true);
    OK(&f, fx_forward(&f, "x"));
    head_is("t", "main", &p.m[5]);
    OK(&f, fx_bdrop(&f, "x"));
    foreign_branch("x", true);
    assert_int_equal(fx_get(&f, "t$branch_x", NULL), CAT_NEED);
    assert_int_equal(fx_head_id(&f, "t$branch_x"), 5);
    OK(&f, fx_get(&f, "t$branch_x", NULL));
    OK(&f, fx_bdrop(&f, "x"));
    foreign_branch("x", true);
    struct draft d = fx_step(&f, &p.m[5], 1);
    assert_true(fx_answer(&f, "t$branch_x", &d));
    OK(&f, fx_bdrop(&f, "x"));
    foreign_branch("x", true);
    FAILS(&f, E_EXISTS, RES_BRANCH, "'x'", fx_bcreate(&f, "x", "v1"));
    SAME(fx_read(&f, fx_in(&f, "x", "snapshot/snapshot-5")), fx_snapshot(&f, &p.m[5]));
    head_is("t$branch_x", "x", &p.m[5]);
    assert_int_equal(fx_intents(&f), 0);
}

static void directories_that_are_no_branches(void **state)
{
    (void)state;
    fx_put(&f, S("d.db/t/branch/other/schema/schema-0"), S("x"));
    fx_put(&f, S("d.db/t/branch/branch-file"), S("x"));
    fx_put(&f, fx_in(&f, "x", "schema/nothing"), S("x"));
    gone("t$branch_file");
    gone("t$branch_other");
    gone("t$branch_..");
    gone("t$branch_x");
    gone("t$branch_x");
    assert_int_equal(fx_intents(&f), 0);
    OK(&f, fx_bcreate(&f, "other", NULL));
    /* A gap: somebody is at work, nothing is guessed, and it heals. */
    foreign_branch("n", true);
    fx_del(&f, fx_in(&f, "n", "snapshot/snapshot-4"));
    struct seen s;
    FAILS(&f, E_BUSY, RES_NONE, "missing", fx_head(&f, "t$branch_n", &s));
    fx_put(&f, fx_in(&f, "n", "snapshot/snapshot-4"), fx_snapshot(&f, &p.m[4]));
    head_is("t$branch_n", "n", &p.m[5]);
    assert_int_equal(fx_intents(&f), 0);
}

/* --- eviction --------------------------------------------------------------------------------- */

static void evicted(void)
{
    f.cat->o.tables_max = 1;
    int64_t before = fx_counts(&f).tables_evicted;
    for (int i = 0; i < 8; i++) {
        const char *name = fx_text(&f, "e%d-%d", (int)before, i).p;
        OK(&f, fx_create(&f, name));
        IGNORE(fx_head_id(&f, name));
        IGNORE(fx_head_id(&f, name));
    }
    assert_true(fx_counts(&f).tables_evicted > before);
}

static void handles_go_and_come_back(void **state)
{
    (void)state;
    OK(&f, fx_bcreate(&f, "n", "v3"));
    evicted();
    head_is("t$branch_n", "n", &p.m[3]);
    OK(&f, fx_brename(&f, "n", "c"));
    evicted();
    gone("t$branch_n");
    head_is("t$branch_c", "c", &p.m[3]);
    OK(&f, fx_bdrop(&f, "c"));
    evicted();
    gone("t$branch_c");
    OK(&f, fx_forward(&f, "b"));
    evicted();
    head_is("t", "main", &p.b[6]);
    assert_false(fx_answer(&f, "t", &p.m[5]));
    fx_set(&f, "t", "z");
    OK(&f, fx_schema_back(&f, "t", 2));
    evicted();
    assert_int_equal(schema_of("t"), 2);
    assert_int_equal(fx_intents(&f), 0);
}

/* --- a crowd ---------------------------------------------------------------------------------- */

static struct {
    atomic_int acked, made, dropped, renamed, forwarded;
    atomic_bool stop;
} crowd;

static int any_of(const int *codes, size_t n, int rc)
{
    for (size_t i = 0; i < n; i++)
        if (rc == codes[i])
            return 0;
    return rc;
}

/* What each is told is one of what may be told. */
static void *crowd_run(void *arg)
{
    static const char *const names[] = {"b", "c", "n"};
    static const int fine[] = {0, E_EXISTS, E_NOTFOUND, E_BUSY};
    unsigned seed = (unsigned)(uintptr_t)arg;
    while (!atomic_load(&crowd.stop)) {
        struct ctx cx;
        const char *a = names[(unsigned)rand_r(&seed) % 3], *b = names[(unsigned)rand_r(&seed) % 3];
        struct head *h = NULL;
        char object[32];
        int rc = 0, what = rand_r(&seed) % 12;
        snprintf(object, sizeof object, "t$branch_%s", a);
        fx_begin(&cx);
        if (what < 3 && (rc = do_create(&cx, &f, a, what ? "v3" : NULL)) == 0)
            atomic_fetch_add(&crowd.made, 1);
        else if (what >= 3 && what < 5 && (rc = do_drop(&cx, &f, a)) == 0)
            atomic_fetch_add(&crowd.dropped, 1);
        else if (what >= 5 && what < 8 && (rc = do_rename(&cx, &f, a, b)) == 0)
            atomic_fetch_add(&crowd.renamed, 1);
        else if (what == 8 && (rc = do_forward(&cx, &f, a)) == 0)
            atomic_fetch_add(&crowd.forwarded, 1);
        else if (what > 8)
            rc = turn_on(&cx, &f, object, turn_head, &h);
        head_unref(h);
        if (any_of(fine, 4, rc)) {
            fprintf(stderr, "operation %d of %s, %s: %s: %s\n", what, a, b, err_name(rc),
                    cx.err.msg);
            abort();
        }
        ctx_done(&cx);
    }
    return NULL;
}

/* Has each kind of change been made a few times? */
static bool crowd_busy(void)
{
    return atomic_load(&crowd.made) > 3 && atomic_load(&crowd.dropped) > 3 &&
           atomic_load(&crowd.renamed) > 3 && atomic_load(&crowd.forwarded) > 0;
}

/* Counts what the store and the disk have: they must agree in the end, and each branch must work. */
static void names_in_a_crowd(void **state)
{
    (void)state;
    pthread_t th[4];
    memset(&crowd, 0, sizeof crowd);
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&th[i], NULL, crowd_run, (void *)(i + 1)), 0);
    usleep(1500 * 1000);
    for (int i = 0; i < 600 && !crowd_busy(); i++) /* a busy machine takes longer */
        usleep(100 * 1000);
    atomic_store(&crowd.stop, true);
    for (int i = 0; i < 4; i++)
        pthread_join(th[i], NULL);
    assert_true(crowd_busy());
    assert_int_equal(fx_intents_soon(&f, 0), 0);
    static const char *const names[] = {"b", "c", "n"};
    for (int i = 0; i < 3; i++) {
        struct branch_row row;
        struct seen s;
        const char *object = fx_text(&f, "t$branch_%s", names[i]).p;
        int in_store = STORE(f.st, branch_get, &f.cx, fx_row(&f, "t").id, str_of(names[i]), &row);
        ctx_reset_err(&f.cx);
        int rc = fx_head(&f, object, &s);
        assert_int_equal(rc, in_store);
        assert_int_equal(there(names[i], "schema/schema-0"), rc == 0);
        if (rc == 0)
            OK(&f, fx_bdrop(&f, names[i]));
        OK(&f, fx_bcreate(&f, names[i], "v3"));
        head_is(object, names[i], &p.m[3]);
    }
    assert_int_equal(fx_counts(&f).forked, 0);
    assert_int_equal(fx_counts(&f).head_changed, 0);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(made_from_a_tag),
        T(made_from_a_tag_that_outlived),
        T(made_without_a_tag),
        T(names_that_are_none),
        T(what_create_refuses),
        T(what_create_refuses_leaves_no_handle),
        T(branches_are_apart),
        T(in_flight_across_a_drop),
        T(in_flight_across_a_rename),
        T(in_flight_across_a_forward),
        T(dropped),
        T(a_handle_of_one_that_is_gone),
        T(renamed),
        T(targets_that_are_taken),
        T(a_rename_is_seen_half_done),
        T(a_drop_is_seen_half_done),
        T(a_create_is_seen_half_done),
        T(main_moves_while_it_is_copied),
        T(a_directory_that_comes_in_between),
        T(forwarded),
        T(the_totals_are_the_branchs),
        T(forwarded_from_the_first_on),
        T(what_forward_refuses),
        T(the_branch_moves_while_it_is_copied),
        T(schemas_go_back),
        T(schemas_of_a_branch_go_back),
        T(schemas_that_are_used),
        T(schemas_that_clients_wrote),
        T(a_target_that_goes_meanwhile),
        T(taken_in),
        T(taken_in_by_any_request),
        T(directories_that_are_no_branches),
        T(handles_go_and_come_back),
        T(names_in_a_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
