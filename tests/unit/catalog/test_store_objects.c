/* test_store_objects.c - the part of store.h's contract that is about views, functions and names of
 * every kind, every assertion against both implementations; and what only SQLite can show: that a
 * page of a hundred thousand names is cheap, and that an older store gets what it lacks. */
#include "tests/unit/catalog/store_fixture.h"

#include "catalog/store/store_sqlite_int.h"

/* --- short forms ------------------------------------------------------------------------------ */

static struct object_row object_in(struct env *e, enum object_kind kind, str db, str name)
{
    return (struct object_row){.id = text(e, "%d-%.*s-%.*s", kind, STR(db), STR(name)),
                               .kind = kind,
                               .db_name = db,
                               .warehouse_id = e->wh,
                               .name = name,
                               .json = text(e, "{\"n\":\"%.*s\"}", STR(name)),
                               .stamp = {S("ann"), S("bob"), S("cy"), T0, T0 + 1}};
}

static void make(struct env *e, enum object_kind kind, str db, str name)
{
    struct object_row row = object_in(e, kind, db, name);
    OK(e, STORE(e->st, object_create, &e->cx, &row, NULL));
}

static int get(struct env *e, enum object_kind kind, str db, str name, struct object_row *ret)
{
    return STORE(e->st, object_get, &e->cx, e->wh, kind, db, name, ret);
}

static int renamed(struct env *e, enum object_kind kind, str db, str name, str to_db, str to)
{
    struct store_object_rename_in in = {.warehouse_id = e->wh,
                                        .kind = kind,
                                        .from = {db, name},
                                        .to = {to_db, to},
                                        .now_ms = 77,
                                        .by = S("ren")};
    return STORE(e->st, object_rename, &e->cx, &in, NULL);
}

static int dropped(struct env *e, enum object_kind kind, str db, str name)
{
    return STORE(e->st, object_drop, &e->cx, e->wh, kind, db, name, NULL);
}

/* "db/name db/name" of what is found; 100 without a limit. */
static str found(struct env *e, const struct store_find_in *in)
{
    struct name_pair *p = NULL;
    struct store_find_in here = *in;
    str all = S("");
    size_t n = 9;
    if (here.limit == 0)
        here.limit = 100;
    OK(e, STORE(e->st, find, &e->cx, &here, &p, &n));
    for (size_t i = 0; i < n; i++)
        all = text(e, "%.*s%s%.*s/%.*s", STR(all), i ? " " : "", STR(p[i].db), STR(p[i].name));
    return all;
}
#define FOUND(e, ...) found((e), &(struct store_find_in){.warehouse_id = (e)->wh, __VA_ARGS__})

static str listed(struct env *e, enum object_kind kind, str db, struct name_match m, str after,
                  int64_t limit)
{
    struct store_objects_in in = {.warehouse_id = e->wh,
                                  .kind = kind,
                                  .db = db,
                                  .name = m,
                                  .after = after,
                                  .limit = limit,
                                  .bytes_max = 1 << 20};
    struct object_row *rows = NULL;
    str all = S("");
    size_t n = 9;
    OK(e, STORE(e->st, object_list, &e->cx, &in, &rows, &n));
    for (size_t i = 0; i < n; i++) {
        SAME(rows[i].db_name, db);
        SAME(rows[i].json, text(e, "{\"n\":\"%.*s\"}", STR(rows[i].name)));
        all = text(e, "%.*s%s%.*s", STR(all), i ? " " : "", STR(rows[i].name));
    }
    return all;
}

/* --- views and functions ---------------------------------------------------------------------- */

static void test_create_get(struct env *e)
{
    db_make(e, S("d"));
    struct audit au = {.at_ms = 1, .action = S("view.create"), .object = S("wh/d.v")};
    struct object_row in = object_in(e, OBJECT_VIEW, S("d"), S("v'\xC3\xA9.x")), r = {0};
    in.json = S("{\"q\":\"\xE2\x82\xAC'\\\"--\"}");
    OK(e, STORE(e->st, object_create, &e->cx, &in, &au));
    OK(e, get(e, OBJECT_VIEW, S("d"), in.name, &r));
    SAME(r.id, in.id);
    assert_int_equal(r.kind, OBJECT_VIEW);
    SAME(r.db_name, S("d"));
    SAME(r.name, in.name);
    assert_true(r.name.p != in.name.p);
    SAME(r.json, in.json);
    SAME(r.stamp.owner, S("ann"));
    SAME(r.stamp.created_by, S("bob"));
    SAME(r.stamp.updated_by, S("cy"));
    assert_int_equal(r.stamp.created_ms, T0);
    assert_int_equal(r.stamp.updated_ms, T0 + 1);
    assert_int_equal(r.warehouse_id, e->wh);
    in.id = S("other");
    FAILS(e, E_EXISTS, RES_VIEW, "v'\xC3\xA9.x", STORE(e->st, object_create, &e->cx, &in, &au));
    in.db_name = S("no");
    FAILS(e, E_NOTFOUND, RES_DATABASE, "no", STORE(e->st, object_create, &e->cx, &in, &au));
    in.db_name = S("d");
    in.warehouse_id = e->wh + 1;
    FAILS(e, E_NOTFOUND, RES_DATABASE, "d", STORE(e->st, object_create, &e->cx, &in, &au));
    FAILS(e, E_NOTFOUND, RES_VIEW, "x", get(e, OBJECT_VIEW, S("d"), S("x"), &r));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "D", get(e, OBJECT_VIEW, S("D"), S("x"), &r));
    FAILS(e, E_NOTFOUND, RES_FUNCTION, "x", get(e, OBJECT_FUNCTION, S("d"), S("x"), &r));
}

/* A table, a view and a function may have one name. */
static void test_kinds(struct env *e)
{
    struct object_row r;
    table_make(e, db_make(e, S("d")), S("n"));
    make(e, OBJECT_VIEW, S("d"), S("n"));
    make(e, OBJECT_FUNCTION, S("d"), S("n"));
    OK(e, get(e, OBJECT_VIEW, S("d"), S("n"), &r));
    SAME(r.id, S("1-d-n"));
    OK(e, get(e, OBJECT_FUNCTION, S("d"), S("n"), &r));
    SAME(r.id, S("2-d-n"));
    OK(e, dropped(e, OBJECT_VIEW, S("d"), S("n")));
    FAILS(e, E_NOTFOUND, RES_VIEW, "n", get(e, OBJECT_VIEW, S("d"), S("n"), &r));
    FAILS(e, E_NOTFOUND, RES_VIEW, "n", dropped(e, OBJECT_VIEW, S("d"), S("n")));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "q", dropped(e, OBJECT_VIEW, S("q"), S("n")));
    OK(e, get(e, OBJECT_FUNCTION, S("d"), S("n"), &r));
    SAME(FOUND(e, .kind = OBJECT_TABLE), S("d/n"));
    SAME(FOUND(e, .kind = OBJECT_VIEW), S(""));
    SAME(FOUND(e, .kind = OBJECT_FUNCTION), S("d/n"));
}

static void test_alter(struct env *e)
{
    struct object_row r;
    db_make(e, S("d"));
    make(e, OBJECT_FUNCTION, S("d"), S("f"));
    OK(e, get(e, OBJECT_FUNCTION, S("d"), S("f"), &r));
#define ALTER(kind, id, expect, json)                                                              \
    STORE(e->st, object_alter, &e->cx, (kind), (id), (expect), (json), 99, S("al"), NULL)
    OK(e, ALTER(OBJECT_FUNCTION, r.id, r.json, S("{\"v\":2}")));
    FAILS(e, E_RACE, RES_FUNCTION, "2-d-f", ALTER(OBJECT_FUNCTION, r.id, r.json, S("{\"v\":3}")));
    FAILS(e, E_NOTFOUND, RES_VIEW, "2-d-f", ALTER(OBJECT_VIEW, r.id, S("{\"v\":2}"), S("{}")));
    FAILS(e, E_NOTFOUND, RES_FUNCTION, "no", ALTER(OBJECT_FUNCTION, S("no"), r.json, S("{}")));
    OK(e, get(e, OBJECT_FUNCTION, S("d"), S("f"), &r));
    SAME(r.json, S("{\"v\":2}"));
    SAME(r.stamp.updated_by, S("al"));
    SAME(r.stamp.created_by, S("bob"));
    assert_int_equal(r.stamp.updated_ms, 99);
    assert_int_equal(r.stamp.created_ms, T0);
}

static void test_rename(struct env *e)
{
    struct object_row r;
    db_make(e, S("d"));
    db_make(e, S("e"));
    make(e, OBJECT_VIEW, S("d"), S("a"));
    make(e, OBJECT_VIEW, S("d"), S("b"));
    make(e, OBJECT_FUNCTION, S("e"), S("b"));
    FAILS(e, E_EXISTS, RES_VIEW, "b", renamed(e, OBJECT_VIEW, S("d"), S("a"), S("d"), S("b")));
    FAILS(e, E_EXISTS, RES_VIEW, "a", renamed(e, OBJECT_VIEW, S("d"), S("a"), S("d"), S("a")));
    FAILS(e, E_NOTFOUND, RES_VIEW, "c", renamed(e, OBJECT_VIEW, S("d"), S("c"), S("d"), S("b")));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "x",
          renamed(e, OBJECT_VIEW, S("x"), S("a"), S("d"), S("c")));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "x",
          renamed(e, OBJECT_VIEW, S("d"), S("a"), S("x"), S("c")));
    OK(e, renamed(e, OBJECT_VIEW, S("d"), S("a"), S("e"), S("b"))); /* a function has it too */
    FAILS(e, E_NOTFOUND, RES_VIEW, "a", get(e, OBJECT_VIEW, S("d"), S("a"), &r));
    OK(e, get(e, OBJECT_VIEW, S("e"), S("b"), &r));
    SAME(r.id, S("1-d-a"));
    SAME(r.db_name, S("e"));
    SAME(r.stamp.updated_by, S("ren"));
    assert_int_equal(r.stamp.updated_ms, 77);
    SAME(FOUND(e, .kind = OBJECT_VIEW), S("d/b e/b"));
    struct object_row again = object_in(e, OBJECT_VIEW, S("d"), S("a"));
    again.id = S("again");
    OK(e, STORE(e->st, object_create, &e->cx, &again, NULL)); /* the old name is free */
}

static void test_db_drop(struct env *e)
{
    struct intent_row *purges;
    struct object_row r;
    size_t n;
    str d = db_make(e, S("d"));
    db_make(e, S("e"));
    make(e, OBJECT_VIEW, S("d"), S("v"));
    make(e, OBJECT_FUNCTION, S("d"), S("f"));
    make(e, OBJECT_VIEW, S("e"), S("v"));
    OK(e, STORE(e->st, db_drop, &e->cx, d, T0, NULL, &purges, &n));
    assert_int_equal(n, 0);
    FAILS(e, E_NOTFOUND, RES_DATABASE, "d", get(e, OBJECT_VIEW, S("d"), S("v"), &r));
    SAME(FOUND(e, .kind = OBJECT_VIEW), S("e/v"));
    SAME(FOUND(e, .kind = OBJECT_FUNCTION), S(""));
    db_make(e, S("d")); /* of that name again: it has none of the old ones */
    FAILS(e, E_NOTFOUND, RES_VIEW, "v", get(e, OBJECT_VIEW, S("d"), S("v"), &r));
}

static void test_list(struct env *e)
{
    static const char *const names[] = {"b", "ab", "a", "Z", "a!", "abc", "a_", "\xC3\xA9"};
    struct name_match all = {0}, a = {S("a"), false}, just_a = {S("a"), true};
    db_make(e, S("d"));
    db_make(e, S("other"));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        make(e, OBJECT_VIEW, S("d"), str_of(names[i]));
    make(e, OBJECT_VIEW, S("other"), S("elsewhere"));
    make(e, OBJECT_FUNCTION, S("d"), S("f"));
    SAME(listed(e, OBJECT_VIEW, S("d"), all, STR_NONE, 99), S("Z a a! a_ ab abc b \xC3\xA9"));
    SAME(listed(e, OBJECT_VIEW, S("d"), all, S("a!"), 2), S("a_ ab"));
    SAME(listed(e, OBJECT_VIEW, S("d"), all, S("aa"), 2), S("ab abc")); /* there is none */
    SAME(listed(e, OBJECT_VIEW, S("d"), a, S("ab"), 9), S("abc"));
    SAME(listed(e, OBJECT_VIEW, S("d"), a, S("b"), 9), S(""));
    SAME(listed(e, OBJECT_VIEW, S("d"), just_a, STR_NONE, 9), S("a"));
    SAME(listed(e, OBJECT_VIEW, S("d"), just_a, S("a"), 9), S(""));
    SAME(listed(e, OBJECT_VIEW, S("d"), just_a, S("Z"), 9), S("a"));
    SAME(listed(e, OBJECT_VIEW, S("d"), all, STR_NONE, 0), S(""));
    SAME(listed(e, OBJECT_VIEW, S("gone"), all, STR_NONE, 9), S(""));
    SAME(listed(e, OBJECT_FUNCTION, S("d"), all, STR_NONE, 9), S("f"));
}

static void test_list_too_large(struct env *e)
{
    struct object_row *rows = NULL;
    size_t n = 9;
    db_make(e, S("d"));
    make(e, OBJECT_VIEW, S("d"), S("a")); /* 9 bytes of JSON */
    make(e, OBJECT_VIEW, S("d"), S("b"));
    struct store_objects_in in = {
        .warehouse_id = e->wh, .kind = OBJECT_VIEW, .db = S("d"), .limit = 10, .bytes_max = 17};
    FAILS(e, E_INVAL, RES_NONE, "", STORE(e->st, object_list, &e->cx, &in, &rows, &n));
    assert_int_equal(STORE(e->st, object_list, &e->cx, &in, &rows, &n), E_INVAL);
    assert_non_null(strstr(e->cx.err.msg, "maxResults"));
    ctx_reset_err(&e->cx);
    assert_null(rows);
    in.limit = 1;
    OK(e, STORE(e->st, object_list, &e->cx, &in, &rows, &n));
    assert_int_equal(n, 1);
    in.limit = 10;
    in.bytes_max = 18;
    OK(e, STORE(e->st, object_list, &e->cx, &in, &rows, &n));
    assert_int_equal(n, 2);
}

/* --- names in all databases ------------------------------------------------------------------- */

static void three_databases(struct env *e, enum object_kind kind)
{
    static const char *const pairs[][2] = {{"a", "x"},   {"a", "y"},    {"a", "b.c"}, {"a.b", "c"},
                                           {"a.b", "x"}, {"a-b", "x"},  {"b", "x"},   {"b", "xx"},
                                           {"b", "y"},   {"b", "y\x7F"}};
    static const char *const dbs[] = {"a", "a.b", "a-b", "b", "empty"};
    for (size_t i = 0; i < sizeof(dbs) / sizeof(dbs[0]); i++)
        db_make(e, str_of(dbs[i]));
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        str db = str_of(pairs[i][0]), name = str_of(pairs[i][1]);
        if (kind == OBJECT_TABLE) {
            str id = text(e, "t%zu", i);
            struct table_row row = table_in(e, text(e, "db-%.*s", STR(db)), name, id);
            OK(e, STORE(e->st, table_create, &e->cx, &row, 0, NULL, NULL));
        } else {
            make(e, kind, db, name);
        }
    }
}

static void find_kind(struct env *e, enum object_kind k)
{
    struct name_match a = {S("a"), false}, just_a = {S("a"), true}, x = {S("x"), false},
                      just_x = {S("x"), true};
    three_databases(e, k);
    SAME(FOUND(e, .kind = k), S("a/b.c a/x a/y a-b/x a.b/c a.b/x b/x b/xx b/y b/y\x7F"));
    SAME(FOUND(e, .kind = k, .db = a), S("a/b.c a/x a/y a-b/x a.b/c a.b/x"));
    SAME(FOUND(e, .kind = k, .db = just_a), S("a/b.c a/x a/y"));
    SAME(FOUND(e, .kind = k, .name = x), S("a/x a-b/x a.b/x b/x b/xx"));
    SAME(FOUND(e, .kind = k, .name = just_x), S("a/x a-b/x a.b/x b/x"));
    SAME(FOUND(e, .kind = k, .db = just_a, .name = just_x), S("a/x"));
    SAME(FOUND(e, .kind = k, .db = {S("z"), false}), S(""));
    SAME(FOUND(e, .kind = k, .db = {S("empty"), true}), S(""));
    SAME(FOUND(e, .kind = k, .db = {S("no"), true}), S(""));
    SAME(FOUND(e, .kind = k, .db = {S("' OR 1=1 --"), true}), S(""));
    /* Both have the full name a.b.c, and they are two. */
    SAME(FOUND(e, .kind = k, .after = {S("a"), S("b.c")}, .limit = 1), S("a/x"));
    SAME(FOUND(e, .kind = k, .after = {S("a.b"), S("c")}, .limit = 1), S("a.b/x"));
    /* A lower bound, not a look-up. */
    SAME(FOUND(e, .kind = k, .after = {S("a"), S("z")}, .limit = 1), S("a-b/x"));
    SAME(FOUND(e, .kind = k, .after = {S("a,"), S("z")}, .limit = 1), S("a-b/x"));
    SAME(FOUND(e, .kind = k, .after = {S("a"), STR_NONE}, .limit = 2), S("a/b.c a/x"));
    SAME(FOUND(e, .kind = k, .after = {S("empty"), S("q")}), S(""));
    SAME(FOUND(e, .kind = k, .after = {S("b"), S("y\x7F")}), S(""));
    SAME(FOUND(e, .kind = k, .after = {S("b"), S("xx")}, .db = a), S(""));
    SAME(FOUND(e, .kind = k, .after = {S("0"), S("0")}, .db = just_a, .limit = 1), S("a/b.c"));
    SAME(FOUND(e, .kind = k, .after = {S("a"), S("w")}, .name = x), S("a/x a-b/x a.b/x b/x b/xx"));
    SAME(FOUND(e, .kind = k, .after = {S("a"), S("xx")}, .name = just_x), S("a-b/x a.b/x b/x"));
    SAME(FOUND(e, .kind = k, .limit = -1), S(""));
    SAME(FOUND(e, .kind = k, .limit = INT64_MAX, .name = just_x), S("a/x a-b/x a.b/x b/x"));
    struct store_find_in none = {.warehouse_id = e->wh, .kind = k};
    struct name_pair *p;
    size_t n = 9;
    OK(e, STORE(e->st, find, &e->cx, &none, &p, &n));
    assert_int_equal(n, 0);
    struct store_find_in elsewhere = {.warehouse_id = e->wh + 1, .kind = k, .limit = 9};
    SAME(found(e, &elsewhere), S(""));
}

static void test_find_tables(struct env *e)
{
    find_kind(e, OBJECT_TABLE);
    struct table_row row = table_in(e, S("db-b"), S("obj"), S("o1"));
    row.type = S("object-table");
    OK(e, STORE(e->st, table_create, &e->cx, &row, 0, NULL, NULL));
    SAME(FOUND(e, .kind = OBJECT_TABLE, .type = S("object-table")), S("b/obj"));
    SAME(FOUND(e, .kind = OBJECT_TABLE, .type = S("table"), .db = {S("b"), true}),
         S("b/x b/xx b/y b/y\x7F"));
    SAME(FOUND(e, .kind = OBJECT_TABLE, .type = S("table"), .after = {S("b"), S("y")}),
         S("b/y\x7F"));
}

static void test_find_views(struct env *e)
{
    find_kind(e, OBJECT_VIEW);
    SAME(FOUND(e, .kind = OBJECT_FUNCTION), S(""));
}

static void test_find_functions(struct env *e)
{
    find_kind(e, OBJECT_FUNCTION);
}

/* Pages of every size put together are the whole list. */
static void test_find_pages(struct env *e)
{
    three_databases(e, OBJECT_TABLE);
    str all = FOUND(e, .kind = OBJECT_TABLE);
    for (int64_t limit = 1; limit <= 12; limit++) {
        struct store_find_in in = {.warehouse_id = e->wh, .kind = OBJECT_TABLE, .limit = limit};
        struct name_pair *p;
        size_t n = 1;
        str got = S("");
        while (n) {
            OK(e, STORE(e->st, find, &e->cx, &in, &p, &n));
            assert_true((int64_t)n <= limit);
            for (size_t i = 0; i < n; i++)
                got = text(e, "%.*s%s%.*s/%.*s", STR(got), got.len ? " " : "", STR(p[i].db),
                           STR(p[i].name));
            if (n)
                in.after = p[n - 1];
        }
        SAME(got, all);
    }
}

/* --- no memory -------------------------------------------------------------------------------- */

static size_t views(struct env *e)
{
    struct store_find_in in = {.warehouse_id = e->wh, .kind = OBJECT_VIEW, .limit = 9};
    struct name_pair *p;
    size_t n;
    ctx_reset_err(&e->cx);
    OK(e, STORE(e->st, find, &e->cx, &in, &p, &n));
    return n;
}

static void test_no_memory(struct env *e)
{
    struct audit au = {.at_ms = 1, .action = S("a")};
    struct object_row row = {.id = S("id"),
                             .kind = OBJECT_VIEW,
                             .db_name = S("d"),
                             .warehouse_id = e->wh,
                             .name = S("v"),
                             .json = S("{\"a\":1}")};
    struct object_row got, *rows;
    struct name_pair *pairs;
    size_t n;
    db_make(e, S("d"));
    if (e->path[0]) /* SQLite takes nothing through mem.h for a change */
        OK(e, STORE(e->st, object_create, &e->cx, &row, &au));
    else
        TORTURE(e, STORE(e->st, object_create, &e->cx, &row, &au), views(e) == 0);
    TORTURE(e, get(e, OBJECT_VIEW, S("d"), S("v"), &got), true);
    struct store_find_in fi = {.warehouse_id = e->wh, .kind = OBJECT_VIEW, .limit = 9};
    TORTURE(e, STORE(e->st, find, &e->cx, &fi, &pairs, &n), true);
    struct store_objects_in oi = {
        .warehouse_id = e->wh, .kind = OBJECT_VIEW, .db = S("d"), .limit = 9, .bytes_max = 999};
    TORTURE(e, STORE(e->st, object_list, &e->cx, &oi, &rows, &n), true);
    OK(e,
       STORE(e->st, object_alter, &e->cx, OBJECT_VIEW, S("id"), row.json, S("{}"), 1, S("x"), &au));
    OK(e, get(e, OBJECT_VIEW, S("d"), S("v"), &got));
    SAME(got.json, S("{}"));
    OK(e, dropped(e, OBJECT_VIEW, S("d"), S("v")));
    assert_int_equal(views(e), 0);
}

/* --- SQLite only ------------------------------------------------------------------------------ */

static void exec(struct env *e, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(e->path, &db), SQLITE_OK);
    char *msg = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &msg) != SQLITE_OK)
        fail_msg("%s", msg);
    sqlite3_close(db);
}

/* Virtual machine steps of a connection since the last call. */
static int64_t vm_steps(struct conn *c)
{
    int64_t n = 0;
    for (size_t i = 0; i < CONN_STMTS; i++)
        if (c->stmts[i].st)
            n += sqlite3_stmt_status(c->stmts[i].st, SQLITE_STMTSTATUS_VM_STEP, 1);
    return n;
}

/* 100,000 tables in 100 databases: a page costs its own rows and a few databases. */
static void test_pages_are_cheap(void **state)
{
    (void)state;
    struct env e;
    struct conn *c;
    env_sqlite(&e);
    env_setup_tenant(&e);
    exec(&e, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)"
             " INSERT INTO databases SELECT i + 1, 'db' || i, 1, printf('d%02d', i), 'x', '', '',"
             " '', 0, 0, '{}' FROM n;"
             "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)"
             " INSERT INTO tables (rid, id, db_rid, name, dir, type, owner, created_by, updated_by,"
             " created_ms, updated_ms) SELECT i + 1, 'id' || i, i / 1000 + 1,"
             " printf('t%03d', i % 1000), 'x', 'table', '', '', '', 0, 0 FROM n;"
             "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)"
             " INSERT INTO objects SELECT i + 1, 'id' || i, i / 1000 + 1, 'view',"
             " printf('t%03d', i % 1000), '', '', '', 0, 0, '{}' FROM n;");
    static const struct {
        const char *after_db, *after_name, *db, *name, *first;
        size_t n;
        int steps_max;
    } t[] = {
        {"", "", "", "", "d00/t000", 10, 400},
        {"d98", "t995", "", "", "d98/t996", 10, 600},
        {"d50", "t500", "", "", "d50/t501", 10, 400},
        {"d50", "t999", "", "", "d51/t000", 10, 400},
        {"", "", "d7", "", "d70/t000", 10, 400},
        {"d74", "t998", "d7", "t99", "d74/t999", 10, 600},
        {"", "", "", "t5000", "", 0, 6000}, /* a look into each of the 100 databases */
        {"", "", "d99", "zz", "", 0, 400},
    };
    OK(&e, sq_reader(sqlite_of(e.st), &e.cx, &c));
    for (int kind = OBJECT_TABLE; kind <= OBJECT_VIEW; kind++)
        for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
            struct store_find_in in = {.warehouse_id = e.wh,
                                       .kind = (enum object_kind)kind,
                                       .db = {str_of(t[i].db), false},
                                       .name = {str_of(t[i].name), false},
                                       .after = {str_of(t[i].after_db), str_of(t[i].after_name)},
                                       .limit = 10};
            struct name_pair *p;
            size_t n;
            vm_steps(c);
            OK(&e, STORE(e.st, find, &e.cx, &in, &p, &n));
            assert_int_equal(n, t[i].n);
            if (n)
                SAME(text(&e, "%.*s/%.*s", STR(p[0].db), STR(p[0].name)), str_of(t[i].first));
            assert_in_range(vm_steps(c), 1, t[i].steps_max);
        }
    env_done(&e);
}

/* A store of the first version gets what it lacks and loses nothing. */
static void test_first_version(void **state)
{
    (void)state;
    struct env e;
    struct conn c = {0};
    struct db_row r;
    env_dir(&e);
    OK(&e, sq_conn_open(&e.cx, &c, e.path, CONN_WRITER));
    OK(&e, sq_migrate(&e.cx, &c, e.path, sq_migrations, 1));
    OK(&e,
       sq_exec(&e.cx, &c,
               "INSERT INTO tenants VALUES (1, 't', 0);"
               "INSERT INTO warehouses VALUES (1, 1, 'w', '/r', 0, '{}');"
               "INSERT INTO databases VALUES (1, 'i', 1, 'd', 'd.db', '', '', '', 0, 0, '{}')"));
    sq_conn_close(&c);
    OK(&e, env_open(&e));
    e.wh = 1;
    OK(&e, STORE(e.st, db_get, &e.cx, 1, S("d"), &r));
    make(&e, OBJECT_VIEW, S("d"), S("v"));
    SAME(FOUND(&e, .kind = OBJECT_VIEW), S("d/v"));
    env_close(&e);
    OK(&e, env_open(&e));
    SAME(FOUND(&e, .kind = OBJECT_VIEW), S("d/v"));
    env_done(&e);
}

/* --- running them all twice ------------------------------------------------------------------- */

static const struct store_test tests[] = {
    TEST(test_create_get),     TEST(test_kinds),       TEST(test_alter),
    TEST(test_rename),         TEST(test_db_drop),     TEST(test_list),
    TEST(test_list_too_large), TEST(test_find_tables), TEST(test_find_views),
    TEST(test_find_functions), TEST(test_find_pages),  TEST(test_no_memory),
};

int main(void)
{
    const struct CMUnitTest alone[] = {cmocka_unit_test(test_pages_are_cheap),
                                       cmocka_unit_test(test_first_version)};
    return store_tests_run("store_objects", tests, N(tests), alone, N(alone));
}
