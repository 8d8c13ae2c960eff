/* test_tables.c - databases and tables: made, listed, renamed, dropped; handles: found, counted,
 * evicted; what a crash or a failure in the middle of each leaves behind. */
#include "tests/unit/catalog/fixture.h"

static struct fx f;

static int setup(void **state)
{
    (void)state;
    fx_new(&f, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

/* --- databases -------------------------------------------------------------------------------- */

static int db_get(const char *name, struct database *ret)
{
    struct ctx cx;
    struct database d;
    fx_begin(&cx);
    int rc = cat_db_get(&cx, f.cat, f.w, str_of(name), &d);
    if (rc == 0 && ret) {
        *ret = d;
        ret->location = str_dup(&f.cx.arena, d.location);
        ret->row.id = str_dup(&f.cx.arena, d.row.id);
        ret->row.options_json = str_dup(&f.cx.arena, d.row.options_json);
        ret->row.stamp.owner = str_dup(&f.cx.arena, d.row.stamp.owner);
    }
    return fx_end(&f, &cx, rc);
}

static void a_database_is_made_once(void **state)
{
    (void)state;
    struct database d;
    OK(&f, fx_db(&f, "sales"));
    OK(&f, db_get("sales", &d));
    assert_int_equal(d.row.id.len, UUID_LEN);
    SAME(d.location, fx_text(&f, "file://%s/sales.db", f.root));
    SAME(d.row.options_json, S("{}"));
    SAME(d.row.stamp.owner, S("ann"));
    FAILS(&f, E_EXISTS, RES_DATABASE, "sales", fx_db(&f, "sales"));
    FAILS(&f, E_NOTFOUND, RES_DATABASE, "other", db_get("other", NULL));
    FAILS(&f, E_INVAL, RES_DATABASE, "system", fx_db(&f, "sys"));
    FAILS(&f, E_INVAL, RES_NONE, "database name", fx_db(&f, ""));
    FAILS(&f, E_INVAL, RES_NONE, "database name", fx_db(&f, ".."));
    FAILS(&f, E_INVAL, RES_NONE, "database name", fx_db(&f, ".."));
}

static void database_names_that_are_no_directory_names(void **state)
{
    (void)state;
    struct database a, b;
    OK(&f, fx_db(&f, "a b%"));
    OK(&f, fx_db(&f, "a_b_"));
    OK(&f, db_get("a b%", &a));
    OK(&f, db_get("a_b_", &b));
    assert_null(memchr(a.location.p, '%', a.location.len));
    assert_null(memchr(a.location.p, ' ', a.location.len));
    assert_false(str_eq(a.location, b.location));
}

static int db_alter(const char *removals, const char *updates, struct db_alter_out *ret)
{
    struct ctx cx;
    fx_begin(&cx);
    int rc = cat_db_alter(&cx, f.cat, f.w, S("d"), removals ? fx_json(&f, removals) : NULL,
                          updates ? fx_json(&f, updates) : NULL, ret);
    return fx_end(&f, &cx, rc);
}

static void options_of_a_database_change(void **state)
{
    (void)state;
    struct db_alter_out out;
    struct database d;
    OK(&f, fx_db(&f, "d"));
    OK(&f, db_alter(NULL, "{\"a\":\"1\",\"b\":\"2\"}", &out));
    assert_int_equal(out.n_updated, 2);
    OK(&f, db_alter("[\"a\",\"z\"]", "{\"b\":\"3\",\"c\":\"4\"}", &out));
    assert_int_equal(out.n_removed, 1);
    assert_int_equal(out.n_updated, 2);
    assert_int_equal(out.n_missing, 1);
    OK(&f, db_get("d", &d));
    SAME(d.row.options_json, S("{\"b\":\"3\",\"c\":\"4\"}"));
    FAILS(&f, E_INVAL, RES_DATABASE, "both" + 4, db_alter("[\"b\"]", "{\"b\":\"5\"}", &out));
    OK(&f, db_get("d", &d));
    SAME(d.row.options_json, S("{\"b\":\"3\",\"c\":\"4\"}"));
}

static void alter_once_more(struct fx *fx, enum fx_op op, bool after, str path)
{
    (void)path;
    struct db_alter_out out;
    if (op != ST_db_alter || after)
        return;
    fx_hook(fx, NULL, NULL);
    OK(fx, db_alter(NULL, "{\"other\":\"x\"}", &out));
}

static void two_alters_of_a_database_both_count(void **state)
{
    (void)state;
    struct db_alter_out out;
    struct database d;
    OK(&f, fx_db(&f, "d"));
    fx_hook(&f, alter_once_more, NULL);
    OK(&f, db_alter(NULL, "{\"mine\":\"y\"}", &out));
    OK(&f, db_get("d", &d));
    SAME(d.row.options_json, S("{\"other\":\"x\",\"mine\":\"y\"}"));
}

static int alters_in_between;

static void alter_each_time(struct fx *fx, enum fx_op op, bool after, str path)
{
    (void)path;
    struct db_alter_out out;
    char updates[64];
    if (op != ST_db_alter || after)
        return;
    fx_hook(fx, NULL, NULL);
    snprintf(updates, sizeof updates, "{\"other\":\"%d\"}", ++alters_in_between);
    OK(fx, db_alter(NULL, updates, &out));
    fx_hook(fx, alter_each_time, NULL);
}

static void an_alter_that_always_comes_second_is_told_to_try_again(void **state)
{
    (void)state;
    struct db_alter_out out;
    struct database d;
    alters_in_between = 0;
    OK(&f, fx_db(&f, "d"));
    fx_hook(&f, alter_each_time, NULL);
    FAILS(&f, E_BUSY, RES_DATABASE, "database d at once", db_alter(NULL, "{\"mine\":\"y\"}", &out));
    fx_hook(&f, NULL, NULL);
    assert_true(alters_in_between >= 20);
    OK(&f, db_get("d", &d));
    assert_int_equal(str_find(d.row.options_json, 'm'), -1);
}

static void drop_first(struct fx *fx, enum fx_op op, bool after, str path)
{
    (void)path;
    if ((op != ST_db_drop && op != ST_db_alter) || after)
        return;
    fx_hook(fx, NULL, NULL);
    OK(fx, fx_db_drop(fx, "d"));
}

static void who_loses_the_drop_of_a_database_hears_its_name(void **state)
{
    (void)state;
    struct db_alter_out out;
    OK(&f, fx_db(&f, "d"));
    fx_hook(&f, drop_first, NULL);
    FAILS(&f, E_NOTFOUND, RES_DATABASE, "database d does not exist", fx_db_drop(&f, "d"));
    assert_string_equal(f.err.res_name, "d");
    OK(&f, fx_db(&f, "d"));
    fx_hook(&f, drop_first, NULL);
    FAILS(&f, E_NOTFOUND, RES_DATABASE, "database d does not exist",
          db_alter(NULL, "{\"a\":\"b\"}", &out));
    assert_string_equal(f.err.res_name, "d");
}

static int db_list(const char *after, const char *prefix, bool exact, int64_t limit, str **ret,
                   size_t *ret_n)
{
    struct page_in in = {str_of(after), str_of(prefix), exact, limit};
    return cat_db_list(&f.cx, f.cat, f.w, &in, ret, ret_n);
}

static void databases_are_listed(void **state)
{
    (void)state;
    str *names;
    size_t n;
    OK(&f, fx_db(&f, "b2"));
    OK(&f, fx_db(&f, "a"));
    OK(&f, fx_db(&f, "b1"));
    assert_int_equal(db_list("", "", false, 2, &names, &n), 0);
    assert_int_equal(n, 2);
    SAME(names[0], S("a"));
    SAME(names[1], S("b1"));
    assert_int_equal(db_list("b1", "b", false, 9, &names, &n), 0);
    assert_int_equal(n, 1);
    SAME(names[0], S("b2"));
    assert_int_equal(db_list("", "b1", true, 9, &names, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(db_list("b1", "b1", true, 9, &names, &n), 0); /* was on the page before */
    assert_int_equal(n, 0);
    assert_int_equal(db_list("", "b", true, 9, &names, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(f.cx.err.code, 0);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void a_table_is_made(void **state)
{
    (void)state;
    struct table_info in;
    fx_table(&f, "t");
    OK(&f, fx_get(&f, "t", &in));
    SAME(in.row.dir, S("d.db/t"));
    SAME(in.path, fx_text(&f, "file://%s/d.db/t", f.root));
    assert_int_equal(in.row.schema_id, 0);
    assert_int_equal(in.row.id.len, UUID_LEN);
    SAME(in.row.type, S("table"));
    assert_true(fx_exists(&f, S("d.db/t/schema/schema-0")));
    assert_true(fx_exists(&f, S("d.db/t/snapshot")));
    assert_true(fx_exists(&f, S("d.db/t/manifest")));
    assert_int_equal(fx_intents(&f), 0);
    struct seen s;
    assert_int_equal(fx_peek(&f, "t", NULL), PEEK_ASK);
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.id, 0);
    assert_int_equal(fx_peek(&f, "t", &s), PEEK_EMPTY);
}

static void what_create_refuses(void **state)
{
    (void)state;
    FAILS(&f, E_NOTFOUND, RES_DATABASE, "d", fx_create(&f, "t"));
    fx_table(&f, "t");
    FAILS(&f, E_EXISTS, RES_TABLE, "exists", fx_create(&f, "t"));
    FAILS(&f, E_INVAL, RES_NONE, "table name", fx_create(&f, ".."));
    FAILS(&f, E_INVAL, RES_NONE, "table name", fx_create(&f, ""));
    FAILS(&f, E_INVAL, RES_NONE, "must be an object", fx_create_as(&f, "d", "x", "[]"));
    FAILS(&f, E_INVAL, RES_NONE, "view",
          fx_create_as(&f, "d", "x", "{\"fields\":[],\"options\":{\"type\":\"view\"}}"));
    FAILS(&f, E_INVAL, RES_TABLE, "path",
          fx_create_as(&f, "d", "x", "{\"fields\":[],\"options\":{\"path\":\"/x\"}}"));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "x", fx_get(&f, "x", NULL));
    assert_int_equal(fx_intents(&f), 0);
    assert_int_equal(fx_count(&f, S("d.db")), 1);
}

static void a_name_with_a_dollar_could_never_be_opened(void **state)
{
    (void)state;
    OK(&f, fx_db(&f, "d"));
    FAILS(&f, E_INVAL, RES_TABLE, "$", fx_create(&f, "a$b"));
    FAILS(&f, E_INVAL, RES_TABLE, "$", fx_create(&f, "a$branch_b"));
    OK(&f, fx_create(&f, "t"));
    FAILS(&f, E_INVAL, RES_TABLE, "$", fx_rename(&f, "t", "a$b"));
}

static void objects_that_do_not_exist(void **state)
{
    (void)state;
    struct branch *br;
    fx_table(&f, "t");
    static const char *const none[] = {"x",  "t$snapshots", "t$branch_",           "$branch_b",
                                       "t$", "t$branch_x",  "t$branch_b$snapshots"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        FAILS(&f, E_NOTFOUND, RES_TABLE, "does not exist", fx_branch(&f, none[i], &br));
    OK(&f, fx_branch(&f, "t$branch_main", &br));
    assert_string_equal(br->name, "main");
    branch_unref(br);
    struct ctx cx;
    fx_begin(&cx);
    FAILS(&f, E_NOTFOUND, RES_DATABASE, "nodb",
          fx_end(&f, &cx, cat_branch_open(&cx, f.cat, f.w, S("nodb"), S("t"), &br)));
    char longname[400] = {0};
    memset(longname, 'x', sizeof longname - 1);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "does not exist", fx_branch(&f, longname, &br));
}

static int by_id(str id, struct table_info *ret)
{
    struct ctx cx;
    fx_begin(&cx);
    int rc = cat_table_by_id(&cx, f.cat, f.w, id, ret);
    if (rc == 0)
        ret->row.name = str_dup(&f.cx.arena, ret->row.name);
    return fx_end(&f, &cx, rc);
}

static void a_table_is_found_by_its_id(void **state)
{
    (void)state;
    struct table_info in;
    fx_table(&f, "t");
    str id = fx_row(&f, "t").id;
    OK(&f, by_id(id, &in));
    SAME(in.row.name, S("t"));
    OK(&f, by_id(id, &in)); /* now it is in memory */
    FAILS(&f, E_NOTFOUND, RES_TABLE, "nope", by_id(S("nope"), &in));
    OK(&f, fx_drop(&f, "t"));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "", by_id(id, &in));
}

static void tables_are_listed(void **state)
{
    (void)state;
    str *names;
    size_t n;
    fx_table(&f, "b");
    OK(&f, fx_create(&f, "a"));
    OK(&f, fx_create(&f, "ab"));
    struct page_in in = {.limit = 10};
    assert_int_equal(cat_names(&f.cx, f.cat, f.w, OBJECT_TABLE, S("d"), &in, STR_NONE, &names, &n),
                     0);
    assert_int_equal(n, 3);
    SAME(names[0], S("a"));
    SAME(names[1], S("ab"));
    SAME(names[2], S("b"));
    in = (struct page_in){.after = S("a"), .prefix = S("a"), .limit = 10};
    assert_int_equal(
        cat_names(&f.cx, f.cat, f.w, OBJECT_TABLE, S("d"), &in, S("table"), &names, &n), 0);
    assert_int_equal(n, 1);
    SAME(names[0], S("ab"));
    in = (struct page_in){.prefix = S("a"), .exact = true, .limit = 10};
    assert_int_equal(cat_names(&f.cx, f.cat, f.w, OBJECT_TABLE, S("d"), &in, STR_NONE, &names, &n),
                     0);
    assert_int_equal(n, 1);
    SAME(names[0], S("a"));
    assert_int_equal(cat_names(&f.cx, f.cat, f.w, OBJECT_TABLE, S("d"), &in, S("view"), &names, &n),
                     0);
    assert_int_equal(n, 0);
    in.prefix = S("zz");
    assert_int_equal(cat_names(&f.cx, f.cat, f.w, OBJECT_TABLE, S("d"), &in, STR_NONE, &names, &n),
                     0);
    assert_int_equal(n, 0);
    assert_int_equal(f.cx.err.code, 0);
    assert_int_equal(cat_names(&f.cx, f.cat, f.w, OBJECT_TABLE, S("no"), &in, STR_NONE, &names, &n),
                     E_NOTFOUND);
    assert_int_equal(f.cx.err.res, RES_DATABASE);
    ctx_reset_err(&f.cx);
}

static void rename_moves_the_name_and_nothing_else(void **state)
{
    (void)state;
    struct branch *before, *after;
    struct table_info in;
    struct draft d = {0};
    fx_table(&f, "t");
    fx_grow(&f, "t", &d, 2, true);
    OK(&f, fx_branch(&f, "t", &before));
    OK(&f, fx_rename(&f, "t", "u"));
    OK(&f, fx_branch(&f, "u", &after));
    assert_ptr_equal(before, after);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "d.t", fx_get(&f, "t", NULL));
    assert_int_equal(fx_peek(&f, "t", NULL), PEEK_ASK);
    assert_int_equal(fx_peek(&f, "u", NULL), PEEK_HEAD);
    OK(&f, fx_get(&f, "u", &in));
    SAME(in.row.dir, S("d.db/t"));
    SAME(in.row.name, S("u"));
    fx_grow(&f, "u", &d, 1, true);
    OK(&f, fx_create(&f, "t")); /* the old name is free, its directory is not */
    assert_false(str_eq(fx_dir(&f, "t"), S("d.db/t")));
    assert_int_equal(fx_head_id(&f, "t"), 0);
    assert_int_equal(fx_head_id(&f, "u"), 3);
    str db, name;
    table_names(before->table, &db, &name);
    SAME(name, S("u"));
    branch_unref(before);
    branch_unref(after);
    OK(&f, fx_rename(&f, "u", "v")); /* back and forth keeps working */
    OK(&f, fx_rename(&f, "t", "u"));
    OK(&f, fx_rename(&f, "v", "t"));
    assert_int_equal(fx_head_id(&f, "t"), 3);
    assert_int_equal(fx_head_id(&f, "u"), 0);
}

static void what_rename_refuses(void **state)
{
    (void)state;
    struct ctx cx;
    fx_table(&f, "t");
    OK(&f, fx_create(&f, "u"));
    FAILS(&f, E_EXISTS, RES_TABLE, "u", fx_rename(&f, "t", "u"));
    FAILS(&f, E_EXISTS, RES_TABLE, "t", fx_rename(&f, "t", "t"));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "x", fx_rename(&f, "x", "y"));
    FAILS(&f, E_INVAL, RES_NONE, "table name", fx_rename(&f, "t", ".."));
    fx_begin(&cx);
    FAILS(&f, E_NOTFOUND, RES_DATABASE, "e",
          fx_end(&f, &cx, cat_table_rename(&cx, f.cat, f.w, S("d"), S("t"), S("e"), S("t"))));
    OK(&f, fx_get(&f, "t", NULL));
    OK(&f, fx_get(&f, "u", NULL));
}

static int told(struct branch *br, const char *object, int code, const char *resource)
{
    struct ctx cx;
    fx_begin(&cx);
    int rc = ctx_fail(&cx, code, RES_TABLE, str_of(resource), "cannot write \"/where/it/lives\"");
    return fx_end(&f, &cx, branch_error(&cx, br, S("d"), str_of(object), rc));
}

static void what_fails_on_a_dropped_table_is_told_as_its_drop(void **state)
{
    (void)state;
    struct branch *br;
    fx_table(&f, "t");
    OK(&f, fx_branch(&f, "t", &br));
    FAILS(&f, E_IO, RES_TABLE, "where/it/lives", told(br, "t", E_IO, "t"));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "where/it/lives", told(br, "t", E_NOTFOUND, "t"));
    /* The store says it by id, a moment before the handle knows. */
    FAILS(&f, E_NOTFOUND, RES_TABLE, "table d.asked does not exist",
          told(br, "asked", E_NOTFOUND, br->table->id));
    OK(&f, fx_drop(&f, "t"));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "table d.asked does not exist", told(br, "asked", E_IO, "t"));
    assert_string_equal(f.err.res_name, "asked");
    branch_unref(br);
}

static void a_dropped_table_is_gone_with_its_files(void **state)
{
    (void)state;
    struct branch *br;
    struct draft d = {0};
    bool ok;
    fx_table(&f, "t");
    fx_grow(&f, "t", &d, 1, true);
    OK(&f, fx_branch(&f, "t", &br)); /* somebody holds it over the drop */
    str id = fx_row(&f, "t").id;
    OK(&f, fx_drop(&f, "t"));
    assert_int_equal(fx_peek(&f, "t", NULL), PEEK_ASK);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "d.t", fx_get(&f, "t", NULL));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t", fx_drop(&f, "t"));
    assert_true(fx_gone_soon(&f, S("d.db/t")));
    assert_int_equal(fx_intents_soon(&f, 0), 0);
    assert_int_equal(fx_count(&f, S(".latch-trash")), 0);
    struct ctx cx; /* the held handle says so */
    struct head *h;
    fx_begin(&cx);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "d.t", fx_end(&f, &cx, turn(&cx, br, turn_head, &h)));
    fx_begin(&cx);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "d.t", fx_end(&f, &cx, turn(&cx, br, turn_drop, NULL)));
    branch_unref(br);
    /* Under the old name comes another table: another id, another directory, no snapshot. */
    OK(&f, fx_create(&f, "t"));
    assert_false(str_eq(fx_row(&f, "t").id, id));
    assert_false(str_eq(fx_dir(&f, "t"), S("d.db/t")));
    assert_int_equal(fx_head_id(&f, "t"), 0);
    struct draft stale = fx_next(&f, NULL, "u", true);
    stale.table_id = id;
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t", fx_commit(&f, "t", &stale, &ok));
    stale.table_id = fx_row(&f, "t").id;
    assert_true(fx_answer(&f, "t", &stale));
}

static void a_database_goes_with_its_tables(void **state)
{
    (void)state;
    struct branch *br;
    struct draft d = {0};
    fx_table(&f, "t");
    OK(&f, fx_create(&f, "u"));
    fx_grow(&f, "t", &d, 1, true);
    OK(&f, fx_branch(&f, "t", &br));
    OK(&f, fx_db_drop(&f, "d"));
    FAILS(&f, E_NOTFOUND, RES_DATABASE, "d", fx_db_drop(&f, "d"));
    FAILS(&f, E_NOTFOUND, RES_DATABASE, "d", fx_get(&f, "t", NULL));
    assert_int_equal(fx_peek(&f, "t", NULL), PEEK_ASK);
    assert_true(fx_gone_soon(&f, S("d.db/t")));
    assert_true(fx_gone_soon(&f, S("d.db/u")));
    assert_true(atomic_load(&br->table->dead));
    branch_unref(br);
    fx_table(&f, "t");
    assert_false(str_eq(fx_dir(&f, "t"), S("d.db/t")));
    assert_int_equal(fx_head_id(&f, "t"), 0);
}

/* --- directories that are not ours ------------------------------------------------------------ */

static void foreign_table(const char *dir, bool empty)
{
    str d = str_of(dir);
    struct arena *a = &f.cx.arena;
    assert_int_equal(io_mkdirs(f.io, &f.cx, layout_schema_dir(a, d, STR_NONE)), 0);
    fx_write(&f, layout_schema(a, d, STR_NONE, 0), S("{\"theirs\":true}"));
    if (empty)
        return;
    assert_int_equal(io_mkdirs(f.io, &f.cx, layout_snapshot_dir(a, d, STR_NONE)), 0);
    fx_write(&f, layout_snapshot(a, d, STR_NONE, 1), S("{}"));
    assert_int_equal(io_mkdirs(f.io, &f.cx, fx_text(&f, "%s/bucket-0", dir)), 0);
    fx_write(&f, fx_text(&f, "%s/bucket-0/data.parquet", dir), S("precious"));
}

static void wait_quiet(void)
{
    for (int i = 0; i < 100; i++)
        usleep(1000);
}

static void a_directory_that_is_there_already_is_left_alone(void **state)
{
    (void)state;
    /* A file-system catalog kept a table of that name in the warehouse. */
    OK(&f, fx_db(&f, "d"));
    foreign_table("d.db/t", false);
    foreign_table("d.db/e", true);
    OK(&f, fx_create(&f, "t"));
    OK(&f, fx_create(&f, "e"));
    assert_false(str_eq(fx_dir(&f, "t"), S("d.db/t")));
    assert_false(str_eq(fx_dir(&f, "e"), S("d.db/e")));
    assert_int_equal(fx_head_id(&f, "t"), 0);
    wait_quiet();
    SAME(fx_read(&f, S("d.db/t/bucket-0/data.parquet")), S("precious"));
    SAME(fx_read(&f, S("d.db/e/schema/schema-0")), S("{\"theirs\":true}"));
    assert_int_equal(fx_intents(&f), 0);
}

static void a_directory_that_the_store_would_choose_is_there(void **state)
{
    (void)state;
    fx_table(&f, "t");
    OK(&f, fx_drop(&f, "t"));
    assert_true(fx_gone_soon(&f, S("d.db/t")));
    foreign_table("d.db/t-2", false);
    OK(&f, fx_create(&f, "t"));
    assert_false(str_eq(fx_dir(&f, "t"), S("d.db/t-2")));
    assert_int_equal(fx_head_id(&f, "t"), 0);
    wait_quiet();
    SAME(fx_read(&f, S("d.db/t-2/bucket-0/data.parquet")), S("precious"));
    assert_int_equal(fx_intents(&f), 0);
}

static void a_crash_leaves_no_claim_on_what_is_there(void **state)
{
    (void)state;
    OK(&f, fx_db(&f, "d"));
    foreign_table("d.db/e", true); /* nothing but a schema: it looks like ours */
    fx_die_at(&f, 2);
    assert_true(fx_create(&f, "e") < 0);
    fx_crash(&f, false);
    assert_int_equal(fx_intents_soon(&f, 0), 0);
    SAME(fx_read(&f, S("d.db/e/schema/schema-0")), S("{\"theirs\":true}"));
}

static const char *foreign_at;
static bool foreign_empty;

static void foreign_comes_first(struct fx *fx, enum fx_op op, bool after, str path)
{
    (void)path;
    if (op != IO_put_if_absent || after)
        return;
    fx_hook(fx, NULL, NULL);
    foreign_table(foreign_at, foreign_empty);
}

static void a_foreign_create_at_the_same_moment_is_left_alone(void **state)
{
    (void)state;
    OK(&f, fx_db(&f, "d"));
    for (int empty = 0; empty < 2; empty++) {
        foreign_at = empty ? "d.db/e" : "d.db/t";
        foreign_empty = empty;
        fx_hook(&f, foreign_comes_first, NULL);
        FAILS(&f, E_IO, RES_TABLE, "somebody else", fx_create(&f, empty ? "e" : "t"));
    }
    wait_quiet();
    SAME(fx_read(&f, S("d.db/t/bucket-0/data.parquet")), S("precious"));
    SAME(fx_read(&f, S("d.db/e/schema/schema-0")), S("{\"theirs\":true}"));
    fx_restart(&f);
    wait_quiet();
    SAME(fx_read(&f, S("d.db/t/bucket-0/data.parquet")), S("precious"));
    SAME(fx_read(&f, S("d.db/e/schema/schema-0")), S("{\"theirs\":true}"));
}

static void a_claim_of_a_crash_deletes_no_foreign_table(void **state)
{
    (void)state;
    OK(&f, fx_db(&f, "d"));
    FAIL(&f, .op = IO_mkdirs, .code = E_IO, .sticky = true);
    FAILS(&f, E_IO, RES_NONE, "", fx_create(&f, "t"));
    fx_well(&f);
    fx_close(&f);
    /* As after a crash between the claim and the first directory; then somebody uses the name. */
    str dir;
    int64_t intent;
    assert_int_equal(STORE(f.st, table_claim, &f.cx, 1, S("d.db/x"), 5, &dir, &intent), 0);
    foreign_table("d.db/x", false);
    OK(&f, fx_open(&f));
    assert_int_equal(fx_intents_soon(&f, 0), 0);
    SAME(fx_read(&f, S("d.db/x/bucket-0/data.parquet")), S("precious"));
}

static void a_file_in_the_way_is_no_table(void **state)
{
    (void)state;
    OK(&f, fx_db(&f, "d"));
    assert_int_equal(io_mkdirs(f.io, &f.cx, S("d.db")), 0);
    fx_write(&f, S("d.db/t"), S("a file"));
    OK(&f, fx_create(&f, "t"));
    SAME(fx_read(&f, S("d.db/t")), S("a file"));
    OK(&f, fx_db(&f, "e"));
    fx_write(&f, S("e.db"), S("a file"));
    /* 409 would mean that the table is there, 404 that the database is not. */
    FAILS(&f, E_IO, RES_NONE, "", fx_create_as(&f, "e", "t", FX_SCHEMA));
}

/* --- failures --------------------------------------------------------------------------------- */

static void a_create_that_fails_leaves_nothing(void **state)
{
    (void)state;
    OK(&f, fx_db(&f, "d"));
    static const struct plan plans[] = {
        {.op = ST_table_claim, .code = E_BUSY},      {.op = IO_mkdirs, .nth = 1, .code = E_IO},
        {.op = IO_mkdirs, .nth = 2, .code = E_BUSY}, {.op = IO_mkdirs, .nth = 3, .code = E_IO},
        {.op = IO_put_if_absent, .code = E_BUSY},    {.op = IO_put_if_absent, .code = E_IO},
        {.op = ST_table_create, .code = E_IO},       {.op = ST_table_create, .code = E_BUSY},
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        fx_plan(&f, plans[i]);
        FAILS(&f, plans[i].code, RES_NONE, "the test", fx_create(&f, "t"));
        fx_well(&f);
        assert_int_equal(fx_intents_soon(&f, 0), 0);
        assert_int_equal(fx_count(&f, S("d.db")), 0);
        FAILS(&f, E_NOTFOUND, RES_TABLE, "t", fx_get(&f, "t", NULL));
    }
    OK(&f, fx_create(&f, "t"));
}

static void a_create_that_is_not_durable_is_none(void **state)
{
    (void)state;
    OK(&f, fx_db(&f, "d"));
    /* The schema file may be there; the table is not: "unknown" would be a lie. */
    FAIL(&f, .op = IO_put_if_absent, .code = E_UNKNOWN, .after = true);
    FAILS(&f, E_IO, RES_NONE, "the test", fx_create(&f, "t"));
    fx_well(&f);
    assert_int_equal(fx_intents_soon(&f, 0), 0);
    assert_int_equal(fx_count(&f, S("d.db")), 0);
}

static void a_create_of_which_nobody_knows(void **state)
{
    (void)state;
    OK(&f, fx_db(&f, "d"));
    FAIL(&f, .op = ST_table_create, .code = E_UNKNOWN, .after = true);
    FAILS(&f, E_UNKNOWN, RES_NONE, "the test", fx_create(&f, "t"));
    fx_well(&f);
    OK(&f, fx_get(&f, "t", NULL)); /* it was made; nothing of it was deleted */
    wait_quiet();
    assert_int_equal(fx_head_id(&f, "t"), 0);
    assert_true(fx_exists(&f, S("d.db/t/schema/schema-0")));
    fx_restart(&f);
    assert_true(fx_exists(&f, S("d.db/t/schema/schema-0")));

    FAIL(&f, .op = ST_table_create, .code = E_UNKNOWN);
    FAILS(&f, E_UNKNOWN, RES_NONE, "the test", fx_create(&f, "u"));
    fx_well(&f);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "u", fx_get(&f, "u", NULL));
    fx_restart(&f); /* it was not: the start cleans up */
    assert_int_equal(fx_intents_soon(&f, 0), 0);
    assert_int_equal(fx_count(&f, S("d.db")), 1);
}

static void two_creates_of_one_name(struct fx *fx, enum fx_op op, bool after, str path)
{
    (void)path;
    if (op != ST_table_create || after)
        return;
    fx_hook(fx, NULL, NULL);
    OK(fx, fx_create(fx, "t"));
}

static void the_second_of_two_creates_leaves_nothing(void **state)
{
    (void)state;
    OK(&f, fx_db(&f, "d"));
    fx_hook(&f, two_creates_of_one_name, NULL);
    FAILS(&f, E_EXISTS, RES_TABLE, "t", fx_create(&f, "t"));
    assert_int_equal(fx_intents_soon(&f, 0), 0);
    assert_int_equal(fx_count(&f, S("d.db")), 1);
    str dir = fx_dir(&f, "t");
    assert_true(fx_exists(&f, fx_text(&f, "%.*s/schema/schema-0", STR(dir))));
    OK(&f, fx_get(&f, "t", NULL));
}

static void a_full_disk_takes_no_table(void **state)
{
    (void)state;
    OK(&f, fx_db(&f, "d"));
    f.cat->o.disk_min_free_bytes = INT64_MAX;
    FAILS(&f, E_BUSY, RES_NONE, "disk.min-free", fx_create(&f, "t"));
    f.cat->o.disk_min_free_bytes = 0;
    assert_int_equal(fx_count(&f, S("d.db")), 0);
    OK(&f, fx_create(&f, "t"));
}

/* Dies at each changing call of a create, a drop; then starts again. */
static void a_crash_anywhere_in_create(void **state)
{
    for (int power = 0; power < 2; power++) {
        bool lived = false;
        for (long k = 1; !lived; k++) {
            teardown(state);
            fx_new(&f, FX_MEM);
            OK(&f, fx_db(&f, "d"));
            fx_die_at(&f, k);
            int rc = fx_create(&f, "t");
            lived = !fx_dead(&f);
            fx_crash(&f, power);
            assert_int_equal(fx_intents_soon(&f, 0), 0);
            int there = fx_get(&f, "t", NULL);
            if (rc == 0)
                assert_int_equal(there, 0);
            if (there == 0) {
                assert_true(fx_exists(&f, S("d.db/t/schema/schema-0")));
                assert_int_equal(fx_head_id(&f, "t"), 0);
            } else {
                assert_int_equal(there, E_NOTFOUND);
                assert_int_equal(fx_count(&f, S("d.db")), 0);
                OK(&f, fx_create(&f, "t"));
            }
            struct draft d = {0};
            fx_grow(&f, "t", &d, 2, true);
            assert_true(k < 100);
        }
    }
}

static void a_crash_anywhere_in_drop(void **state)
{
    for (int power = 0; power < 2; power++) {
        bool lived = false;
        for (long k = 1; !lived; k++) {
            struct draft d = {0};
            teardown(state);
            fx_new(&f, FX_MEM);
            fx_table(&f, "t");
            fx_grow(&f, "t", &d, 2, true);
            fx_die_at(&f, k);
            int rc = fx_drop(&f, "t");
            for (int i = 0; i < 5000 && !fx_dead(&f) && fx_intents(&f) > 0; i++)
                usleep(1000);
            lived = !fx_dead(&f);
            fx_crash(&f, power);
            assert_int_equal(fx_intents_soon(&f, 0), 0);
            int there = fx_get(&f, "t", NULL);
            if (rc == 0)
                assert_int_equal(there, E_NOTFOUND);
            if (there == 0)
                assert_int_equal(fx_head_id(&f, "t"), 2);
            else
                assert_true(fx_gone_soon(&f, S("d.db/t")));
            if (power)
                assert_int_equal(fx_count(&f, S(".latch-trash")), 0);
            assert_true(k < 100);
        }
    }
}

static void a_drop_of_which_nobody_knows(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_table(&f, "t");
    fx_grow(&f, "t", &d, 1, true);
    FAIL(&f, .op = ST_table_drop, .code = E_UNKNOWN, .after = true);
    FAILS(&f, E_UNKNOWN, RES_NONE, "the test", fx_drop(&f, "t"));
    fx_well(&f);
    /* It was dropped in fact: a later read tells. */
    assert_int_equal(fx_peek(&f, "t", NULL), PEEK_ASK);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t", fx_get(&f, "t", NULL));
    OK(&f, fx_create(&f, "t"));
    assert_int_equal(fx_head_id(&f, "t"), 0);
    fx_restart(&f);
    assert_int_equal(fx_intents_soon(&f, 0), 0);
    assert_true(fx_gone_soon(&f, S("d.db/t")));
    assert_int_equal(fx_head_id(&f, "t"), 0);

    d = (struct draft){0}; /* and when it was not */
    fx_grow(&f, "t", &d, 1, true);
    FAIL(&f, .op = ST_table_drop, .code = E_IO);
    FAILS(&f, E_IO, RES_NONE, "the test", fx_drop(&f, "t"));
    fx_well(&f);
    assert_int_equal(fx_head_id(&f, "t"), 1);
}

static void a_drop_of_a_database_of_which_nobody_knows(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_table(&f, "t");
    fx_grow(&f, "t", &d, 1, true);
    FAIL(&f, .op = ST_db_drop, .code = E_UNKNOWN, .after = true);
    FAILS(&f, E_UNKNOWN, RES_NONE, "the test", fx_db_drop(&f, "d"));
    fx_well(&f);
    assert_int_equal(fx_peek(&f, "t", NULL), PEEK_ASK);
    FAILS(&f, E_NOTFOUND, RES_DATABASE, "d", fx_get(&f, "t", NULL));
    fx_table(&f, "t");
    assert_int_equal(fx_head_id(&f, "t"), 0);
}

static void a_rename_of_which_nobody_knows(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_table(&f, "t");
    fx_grow(&f, "t", &d, 1, true);
    FAIL(&f, .op = ST_table_rename, .code = E_UNKNOWN, .after = true);
    FAILS(&f, E_UNKNOWN, RES_NONE, "the test", fx_rename(&f, "t", "u"));
    fx_well(&f);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t", fx_get(&f, "t", NULL));
    assert_int_equal(fx_head_id(&f, "u"), 1);
    OK(&f, fx_create(&f, "t"));
    assert_int_equal(fx_head_id(&f, "t"), 0);
}

/* --- intents at start ------------------------------------------------------------------------- */

static void only_known_intents_delete_directories(void **state)
{
    (void)state;
    int64_t id, epoch;
    fx_table(&f, "t");
    struct store_intent_in in = {.row = {.kind = S("import"),
                                         .args_json = S("{\"dir\":\"d.db/t\"}"),
                                         .warehouse_id = f.w->id,
                                         .created_ms = 1}};
    assert_int_equal(STORE(f.st, intent_begin, &f.cx, &in, &id, &epoch), 0);
    fx_restart(&f);
    wait_quiet();
    assert_true(fx_exists(&f, S("d.db/t/schema/schema-0")));
    assert_int_equal(fx_intents(&f), 1);
}

static void intents_that_lead_nowhere(void **state)
{
    (void)state;
    int64_t id, epoch;
    struct store_intent_in in = {
        .row = {.kind = S("purge"), .args_json = S("{\"dir\":\"none.db/x\"}"), .warehouse_id = 1}};
    assert_int_equal(STORE(f.st, intent_begin, &f.cx, &in, &id, &epoch), 0);
    in.row.warehouse_id = 99; /* a warehouse that is not there (any more) */
    assert_int_equal(STORE(f.st, intent_begin, &f.cx, &in, &id, &epoch), 0);
    in.row = (struct intent_row){.kind = S("purge"), .args_json = S("{}"), .warehouse_id = 1};
    assert_int_equal(STORE(f.st, intent_begin, &f.cx, &in, &id, &epoch), 0);
    in.row.args_json = S("{\"dir\":\"../../etc\"}");
    assert_int_equal(STORE(f.st, intent_begin, &f.cx, &in, &id, &epoch), 0);
    fx_restart(&f);
    assert_int_equal(fx_intents_soon(&f, 3), 3); /* the first was done */
    fx_table(&f, "t");
}

/* --- handles
 * --------------------------------------------------------------------------------------------------
 */

static void few_handles(size_t max)
{
    teardown(NULL);
    fx_init(&f, 0);
    f.o.tables_max = max;
    OK(&f, fx_open(&f));
}

static const char *tname(int i)
{
    static char z[16];
    snprintf(z, sizeof z, "t%d", i);
    return z;
}

static void handles_are_evicted_and_come_back(void **state)
{
    (void)state;
    struct draft d[8] = {0};
    few_handles(2);
    fx_table(&f, "t0");
    for (int i = 1; i < 8; i++)
        OK(&f, fx_create(&f, tname(i)));
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 8; i++) {
            fx_grow(&f, tname(i), &d[i], 1 + (i & 1), true);
            assert_true(fx_counts(&f).tables_cached <= 3);
        }
    for (int i = 0; i < 8; i++)
        assert_int_equal(fx_head_id(&f, tname(i)), d[i].id);
    struct cat_counts c = fx_counts(&f);
    assert_true(c.tables_evicted > 10);
    assert_int_equal(c.tables_loaded - c.tables_evicted, c.tables_cached);
}

/* A handle keeps the names it had, since readers may hold them: not without end. */
static void a_handle_does_not_grow_by_renames(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_table(&f, "a");
    fx_grow(&f, "a", &d, 1, true);
    /* It is given up when nobody holds it; on a busy machine the last turn often still does. */
    for (int i = 0; i < 300 || (fx_counts(&f).tables_loaded < 3 && i < 5000) || i % 2; i++) {
        OK(&f, fx_rename(&f, i % 2 ? "b" : "a", i % 2 ? "a" : "b"));
        assert_int_equal(fx_head_id(&f, i % 2 ? "a" : "b"), 1);
    }
    struct table *t;
    struct ctx cx;
    fx_begin(&cx);
    assert_int_equal(table_open(&cx, f.cat, f.w, S("d"), S("a"), &t), 0);
    int names = t->n_names;
    table_unref(t);
    assert_int_equal(fx_end(&f, &cx, 0), 0);
    /* 64, and as many as came while the last turn of its strand still held it. */
    assert_true(names < 128);
    assert_true(fx_counts(&f).tables_loaded >= 3);
    fx_grow(&f, "a", &d, 1, true);
}

static void a_held_handle_is_not_evicted(void **state)
{
    (void)state;
    struct branch *held, *again;
    few_handles(1);
    fx_table(&f, "t0");
    for (int i = 1; i < 6; i++)
        OK(&f, fx_create(&f, tname(i)));
    OK(&f, fx_branch(&f, "t0", &held));
    for (int round = 0; round < 3; round++)
        for (int i = 1; i < 6; i++)
            assert_int_equal(fx_head_id(&f, tname(i)), 0);
    OK(&f, fx_branch(&f, "t0", &again));
    assert_ptr_equal(held, again);
    branch_unref(held);
    branch_unref(again);
}

static void the_cache_shrinks_again(void **state)
{
    (void)state;
    struct branch *held[20];
    few_handles(3);
    fx_table(&f, "t0");
    for (int i = 1; i < 20; i++)
        OK(&f, fx_create(&f, tname(i)));
    for (int i = 0; i < 20; i++)
        OK(&f, fx_branch(&f, tname(i), &held[i]));
    assert_int_equal(fx_counts(&f).tables_cached, 20);
    for (int i = 0; i < 20; i++)
        branch_unref(held[i]);
    for (int i = 0; i < 20; i++) {
        OK(&f, fx_create(&f, fx_text(&f, "n%d", i).p));
        assert_int_equal(fx_head_id(&f, fx_text(&f, "n%d", i).p), 0);
    }
    assert_true(fx_counts(&f).tables_cached <= 4);
}

static void unfinished_work_is_not_evicted(void **state)
{
    (void)state;
    struct draft d = {0};
    bool ok;
    few_handles(1);
    fx_table(&f, "t0");
    for (int i = 1; i < 6; i++)
        OK(&f, fx_create(&f, tname(i)));
    fx_grow(&f, "t0", &d, 1, true);
    struct draft e = fx_next(&f, &d, "u", true);
    FAIL(&f, .op = ST_commit_record, .code = E_IO);
    FAILS(&f, E_UNKNOWN, RES_NONE, "may be committed", fx_commit(&f, "t0", &e, &ok));
    fx_well(&f);
    for (int round = 0; round < 3; round++)
        for (int i = 1; i < 6; i++)
            assert_int_equal(fx_head_id(&f, tname(i)), 0);
    struct seen s; /* the head in memory is the new one all the time */
    assert_int_equal(fx_peek(&f, "t0", &s), PEEK_HEAD);
    assert_int_equal(s.id, 2);
    assert_int_equal(fx_counts(&f).adopted, 0);
    assert_true(fx_answer(&f, "t0", &e));
    assert_int_equal(fx_counts(&f).adopted, 0);
}

/* --- races, made exact ------------------------------------------------------------------------ */

struct gate { /* a thread stops at a call until it is let through */
    enum fx_op op;
    bool after;
    pthread_t thread; /* only this one stops */
    bool armed;
    sem_t reached, go;
};

static void gate_hook(struct fx *fx, enum fx_op op, bool after, str path)
{
    struct gate *g = fx->hook_arg;
    (void)path;
    if (op != g->op || after != g->after ||
        !__atomic_exchange_n(&g->armed, false, __ATOMIC_SEQ_CST))
        return;
    sem_post(&g->reached);
    while (sem_wait(&g->go) < 0) {
    }
}

static void gate_set(struct gate *g, enum fx_op op, bool after)
{
    *g = (struct gate){.op = op, .after = after, .armed = true};
    sem_init(&g->reached, 0, 0);
    sem_init(&g->go, 0, 0);
    fx_hook(&f, gate_hook, g);
}

struct job { /* one call on a thread of its own */
    pthread_t id;
    int kind;
    const char *a, *b;
    int rc;
    struct table *t;
    char tid[UUID_LEN + 1];
};
enum { JOB_RENAME, JOB_DROP, JOB_DB_DROP, JOB_OPEN };

static void *job_run(void *arg)
{
    struct job *j = arg;
    struct ctx cx;
    fx_begin(&cx);
    if (j->kind == JOB_RENAME)
        j->rc = cat_table_rename(&cx, f.cat, f.w, S("d"), str_of(j->a), S("d"), str_of(j->b));
    else if (j->kind == JOB_DROP)
        j->rc = turn_on(&cx, &f, j->a, turn_drop, (void *)j->a);
    else if (j->kind == JOB_DB_DROP)
        j->rc = cat_db_drop(&cx, f.cat, f.w, str_of(j->a));
    else
        j->rc = table_open(&cx, f.cat, f.w, S("d"), str_of(j->a), &j->t);
    ctx_done(&cx);
    return NULL;
}

static void job_start(struct job *j)
{
    assert_int_equal(pthread_create(&j->id, NULL, job_run, j), 0);
}

static int job_end(struct job *j)
{
    assert_int_equal(pthread_join(j->id, NULL), 0);
    fx_hook(&f, NULL, NULL); /* the gate is gone with the test */
    return j->rc;
}

static void gate_wait(struct gate *g)
{
    while (sem_wait(&g->reached) < 0) {
    }
}

static void renames_that_overtake_each_other(void **state)
{
    (void)state;
    struct gate g;
    struct draft d = {0};
    fx_table(&f, "x");
    fx_grow(&f, "x", &d, 1, true);
    gate_set(&g, ST_table_rename, true);
    struct job first = {.kind = JOB_RENAME, .a = "x", .b = "y"};
    job_start(&first);
    gate_wait(&g);
    OK(&f, fx_rename(&f, "y", "z")); /* the second is done before the first tells anybody */
    sem_post(&g.go);
    assert_int_equal(job_end(&first), 0);
    assert_int_equal(fx_peek(&f, "y", NULL), PEEK_ASK);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "y", fx_get(&f, "y", NULL));
    OK(&f, fx_create(&f, "y"));
    assert_int_equal(fx_head_id(&f, "y"), 0);
    assert_int_equal(fx_head_id(&f, "z"), 1);
    struct table_info in;
    OK(&f, fx_get(&f, "z", &in));
    SAME(in.row.name, S("z"));
}

/* The name was given up in the store; nobody in memory knows yet; somebody takes it. */
static void a_name_is_new_as_soon_as_it_is_taken(int kind)
{
    struct gate g;
    struct draft d = {0};
    fx_table(&f, "x");
    fx_grow(&f, "x", &d, 1, true);
    str old = fx_row(&f, "x").id;
    gate_set(&g,
             kind == JOB_RENAME ? ST_table_rename
             : kind == JOB_DROP ? ST_table_drop
                                : ST_db_drop,
             true);
    struct job j = {.kind = kind, .a = kind == JOB_DB_DROP ? "d" : "x", .b = "y"};
    job_start(&j);
    gate_wait(&g);
    fx_table(&f, "x");
    assert_int_equal(fx_peek(&f, "x", NULL), PEEK_ASK);
    struct table_info in;
    OK(&f, fx_get(&f, "x", &in));
    assert_false(str_eq(in.row.id, old));
    assert_int_equal(fx_head_id(&f, "x"), 0);
    struct draft e = fx_next(&f, NULL, "u", true);
    assert_true(fx_answer(&f, "x", &e));
    sem_post(&g.go);
    assert_int_equal(job_end(&j), 0);
    assert_int_equal(fx_head_id(&f, "x"), 1);
    struct seen s;
    assert_int_equal(fx_peek(&f, "x", &s), PEEK_HEAD);
    SAME(s.uuid, str_of(e.uuid));
    OK(&f, fx_get(&f, "x", &in));
    assert_false(str_eq(in.row.id, old));
}

static void a_name_taken_after_a_rename(void **state)
{
    (void)state;
    a_name_is_new_as_soon_as_it_is_taken(JOB_RENAME);
    assert_int_equal(fx_head_id(&f, "y"), 1);
}

static void a_name_taken_after_a_drop(void **state)
{
    (void)state;
    a_name_is_new_as_soon_as_it_is_taken(JOB_DROP);
}

static void a_name_taken_after_a_drop_of_the_database(void **state)
{
    (void)state;
    a_name_is_new_as_soon_as_it_is_taken(JOB_DB_DROP);
}

static void a_loader_that_read_an_old_row(void **state)
{
    (void)state;
    struct gate g;
    fx_table(&f, "x");
    OK(&f, fx_create(&f, "k"));
    fx_restart(&f);
    gate_set(&g, ST_table_get, true); /* the loader has the row of x in its hands */
    struct job j = {.kind = JOB_OPEN, .a = "x"};
    job_start(&j);
    gate_wait(&g);
    fx_hook(&f, NULL, NULL);
    OK(&f, fx_rename(&f, "x", "y"));
    sem_post(&g.go);
    assert_int_equal(job_end(&j), E_NOTFOUND);
    assert_int_equal(fx_peek(&f, "x", NULL), PEEK_ASK);
    OK(&f, fx_get(&f, "y", NULL));

    fx_restart(&f);
    gate_set(&g, ST_table_get, true);
    j = (struct job){.kind = JOB_OPEN, .a = "k"};
    job_start(&j);
    gate_wait(&g);
    fx_hook(&f, NULL, NULL);
    OK(&f, fx_drop(&f, "k"));
    OK(&f, fx_create(&f, "k"));
    str id = fx_row(&f, "k").id;
    sem_post(&g.go);
    assert_int_equal(job_end(&j), 0);
    SAME(str_of(j.t->id), id);
    table_unref(j.t);
}

static void two_loaders_of_one_table(void **state)
{
    (void)state;
    struct gate g;
    struct branch *br;
    fx_table(&f, "x");
    fx_restart(&f);
    gate_set(&g, ST_table_get, true);
    struct job j = {.kind = JOB_OPEN, .a = "x"};
    job_start(&j);
    gate_wait(&g);
    OK(&f, fx_branch(&f, "x", &br));
    sem_post(&g.go);
    assert_int_equal(job_end(&j), 0);
    assert_ptr_equal(j.t, br->table);
    table_unref(j.t);
    branch_unref(br);
    assert_int_equal(fx_counts(&f).tables_loaded, 1);
}

static void a_turn_holds_its_table(void **state)
{
    (void)state;
    struct gate g;
    fx_table(&f, "x");
    gate_set(&g, ST_table_drop, true);
    struct job j = {.kind = JOB_DROP, .a = "x"};
    job_start(&j);
    gate_wait(&g);
    OK(&f, fx_db_drop(&f, "d")); /* forgets the handle whose strand is running */
    sem_post(&g.go);
    assert_int_equal(job_end(&j), 0);
}

/* --- races, left to chance -------------------------------------------------------------------- */

#define CROWD    6
#define NAMES    4
#define HELD_MAX 64

static struct {
    pthread_mutex_t mu;
    struct {
        char id[UUID_LEN + 1];
        const struct table *t;
        int n;
    } held[HELD_MAX];
    _Atomic long twins, wrong, opens, ddl;
    _Atomic bool stop;
} crowd;

/* Two handles of one id at one time are what must never be. */
static void note(const struct table *t, int by)
{
    pthread_mutex_lock(&crowd.mu);
    int at = -1, room = -1;
    for (int i = 0; i < HELD_MAX; i++) {
        if (crowd.held[i].n && strcmp(crowd.held[i].id, t->id) == 0)
            at = i;
        if (!crowd.held[i].n)
            room = i;
    }
    if (at < 0) {
        at = room;
        memcpy(crowd.held[at].id, t->id, sizeof crowd.held[at].id);
        crowd.held[at].t = t;
    }
    if (crowd.held[at].t != t)
        crowd.twins++;
    crowd.held[at].n += by;
    pthread_mutex_unlock(&crowd.mu);
}

static void *opener(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    while (!crowd.stop) {
        struct ctx cx;
        struct table *t;
        char name[8];
        snprintf(name, sizeof name, "n%d", rand_r(&seed) % NAMES);
        fx_begin(&cx);
        int rc = table_open(&cx, f.cat, f.w, S("d"), str_of(name), &t);
        if (rc == 0) {
            struct branch *br = NULL;
            struct head *h = NULL;
            note(t, 1);
            if (table_branch(&cx, t, S("main"), &br) < 0)
                crowd.wrong++;
            rc = br ? turn(&cx, br, turn_head, &h) : 0;
            if (rc < 0 && rc != E_NOTFOUND)
                crowd.wrong++;
            head_unref(h);
            note(t, -1);
            branch_unref(br);
            table_unref(t);
            crowd.opens++;
        } else if (rc != E_NOTFOUND && rc != E_BUSY) {
            crowd.wrong++;
        }
        ctx_done(&cx);
    }
    return NULL;
}

static void *renamer(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    while (!crowd.stop) {
        struct ctx cx;
        char a[8], b[8];
        snprintf(a, sizeof a, "n%d", rand_r(&seed) % NAMES);
        snprintf(b, sizeof b, "n%d", rand_r(&seed) % NAMES);
        fx_begin(&cx);
        int what = rand_r(&seed) % 4, rc;
        if (what < 2)
            rc = cat_table_rename(&cx, f.cat, f.w, S("d"), str_of(a), S("d"), str_of(b));
        else if (what == 2)
            rc = turn_on(&cx, &f, a, turn_drop, a);
        else
            rc = cat_table_create(&cx, f.cat, f.w, S("d"), str_of(a), fx_json(&f, FX_SCHEMA));
        if (rc < 0 && rc != E_NOTFOUND && rc != E_EXISTS && rc != E_BUSY)
            crowd.wrong++;
        ctx_done(&cx);
        crowd.ddl++;
    }
    return NULL;
}

static void *renamer_of_its_own_json(void *arg)
{
    return renamer(arg);
}

static void names_and_handles_in_a_crowd(void **state)
{
    (void)state;
    pthread_t ids[CROWD + 1];
    few_handles(2);
    fx_table(&f, "n0");
    OK(&f, fx_create(&f, "n1"));
    pthread_mutex_init(&crowd.mu, NULL);
    crowd.stop = false;
    for (int i = 0; i < CROWD; i++)
        pthread_create(&ids[i], NULL, opener, (void *)(uintptr_t)(i + 1));
    pthread_create(&ids[CROWD], NULL, renamer_of_its_own_json, (void *)(uintptr_t)77);
    usleep(700000);
    crowd.stop = true;
    for (int i = 0; i <= CROWD; i++)
        pthread_join(ids[i], NULL);
    print_message("opens %ld, changes %ld\n", crowd.opens, crowd.ddl);
    assert_int_equal(crowd.twins, 0);
    assert_int_equal(crowd.wrong, 0);
    assert_true(crowd.opens > 20 && crowd.ddl > 5);
    for (int i = 0; i < NAMES; i++) { /* no stale name is left */
        char name[16];
        struct table_row row;
        struct table *t;
        snprintf(name, sizeof name, "n%d", i);
        int in_store = STORE(f.st, table_get, &f.cx, f.w->id, S("d"), str_of(name), &row);
        ctx_reset_err(&f.cx);
        int rc = table_open(&f.cx, f.cat, f.w, S("d"), str_of(name), &t);
        ctx_reset_err(&f.cx);
        assert_int_equal(rc, in_store);
        if (rc == 0) {
            SAME(str_of(t->id), row.id);
            table_unref(t);
        }
    }
    pthread_mutex_destroy(&crowd.mu);
}

/* --- the whole
 * ----------------------------------------------------------------------------------------------------------
 */

static void ready_says_what_is_wrong(void **state)
{
    (void)state;
    struct ctx cx;
    fx_begin(&cx);
    OK(&f, fx_end(&f, &cx, catalog_ready(&cx, f.cat)));
    FAIL(&f, .op = ST_ping, .code = E_IO);
    fx_begin(&cx);
    FAILS(&f, E_IO, RES_NONE, "the test", fx_end(&f, &cx, catalog_ready(&cx, f.cat)));
    fx_well(&f);
    f.cat->o.disk_min_free_bytes = INT64_MAX;
    fx_begin(&cx);
    FAILS(&f, E_BUSY, RES_NONE, "disk.min-free", fx_end(&f, &cx, catalog_ready(&cx, f.cat)));
}

static void an_open_that_fails_leaves_nothing(void **state)
{
    (void)state;
    fx_close(&f);
    FAIL(&f, .op = ST_warehouses, .code = E_IO);
    FAILS(&f, E_IO, RES_NONE, "the test", fx_open(&f));
    pool_free(f.strands);
    pool_free(f.bg);
    f.n_plans = 0;
    FAIL(&f, .op = ST_intents_open, .code = E_IO);
    FAILS(&f, E_IO, RES_NONE, "the test", fx_open(&f));
    pool_free(f.strands);
    pool_free(f.bg);
    f.n_plans = 0;
    for (long n = 1;; n++) { /* no memory */
        mem_fail_at(n, 0);
        f.cat = NULL;
        struct ctx cx;
        fx_begin(&cx);
        struct pool_opts s = {.name = "strand", .threads = 1, .queue_max = 1000};
        mem_fail_at(0, 0);
        assert_int_equal(pool_new(&s, &f.strands), 0);
        assert_int_equal(pool_new(&s, &f.bg), 0);
        f.o.strands = f.strands;
        f.o.background = f.bg;
        mem_fail_at(n, 0);
        int rc = fx_end(&f, &cx, catalog_open(&cx, &f.o, &f.cat));
        mem_fail_at(0, 0);
        if (rc == 0)
            break;
        assert_int_equal(rc, E_NOMEM);
        pool_free(f.strands);
        pool_free(f.bg);
        assert_true(n < 1000);
    }
    fx_close(&f);
    OK(&f, fx_open(&f));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_database_is_made_once),
        T(database_names_that_are_no_directory_names),
        T(options_of_a_database_change),
        T(two_alters_of_a_database_both_count),
        T(an_alter_that_always_comes_second_is_told_to_try_again),
        T(who_loses_the_drop_of_a_database_hears_its_name),
        T(databases_are_listed),
        T(a_table_is_made),
        T(what_create_refuses),
        T(a_name_with_a_dollar_could_never_be_opened),
        T(objects_that_do_not_exist),
        T(a_table_is_found_by_its_id),
        T(tables_are_listed),
        T(rename_moves_the_name_and_nothing_else),
        T(what_rename_refuses),
        T(what_fails_on_a_dropped_table_is_told_as_its_drop),
        T(a_dropped_table_is_gone_with_its_files),
        T(a_database_goes_with_its_tables),
        T(a_directory_that_is_there_already_is_left_alone),
        T(a_directory_that_the_store_would_choose_is_there),
        T(a_crash_leaves_no_claim_on_what_is_there),
        T(a_foreign_create_at_the_same_moment_is_left_alone),
        T(a_claim_of_a_crash_deletes_no_foreign_table),
        T(a_file_in_the_way_is_no_table),
        T(a_create_that_fails_leaves_nothing),
        T(a_create_that_is_not_durable_is_none),
        T(a_create_of_which_nobody_knows),
        T(the_second_of_two_creates_leaves_nothing),
        T(a_full_disk_takes_no_table),
        T(a_crash_anywhere_in_create),
        T(a_crash_anywhere_in_drop),
        T(a_drop_of_which_nobody_knows),
        T(a_drop_of_a_database_of_which_nobody_knows),
        T(a_rename_of_which_nobody_knows),
        T(only_known_intents_delete_directories),
        T(intents_that_lead_nowhere),
        T(handles_are_evicted_and_come_back),
        T(a_held_handle_is_not_evicted),
        T(the_cache_shrinks_again),
        T(unfinished_work_is_not_evicted),
        T(renames_that_overtake_each_other),
        T(a_handle_does_not_grow_by_renames),
        T(a_name_taken_after_a_rename),
        T(a_name_taken_after_a_drop),
        T(a_name_taken_after_a_drop_of_the_database),
        T(a_loader_that_read_an_old_row),
        T(two_loaders_of_one_table),
        T(a_turn_holds_its_table),
        T(names_and_handles_in_a_crowd),
        T(ready_says_what_is_wrong),
        T(an_open_that_fails_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
