/* test_store.c - the contract of store.h, every assertion against both implementations.
 *
 * What only the SQLite store can show (files, group commit, failures of the disk) is in
 * test_store_sqlite.c. */
#include "tests/unit/catalog/store_fixture.h"

#include "proto/json/json.h"

/* --- the first tenant ------------------------------------------------------------------------- */

static void test_bootstrap(struct env *e)
{
    uint8_t hash[32] = {1, 2, 3, [31] = 9}, other[32] = {1, 2, 3, [31] = 8};
    struct store_bootstrap_in in = {.tenant = S("t\xC3\xA9nant"),
                                    .warehouse = S("w1"),
                                    .root = S("/r"),
                                    .principal = S("root"),
                                    .now_ms = 5};
    memcpy(in.token_hash, hash, 32);
    bool empty = false;
    struct warehouse_row *w;
    struct principal_row p;
    size_t n = 9;
    OK(e, STORE(e->st, is_empty, &e->cx, &empty));
    assert_true(empty);
    OK(e, STORE(e->st, warehouses, &e->cx, &w, &n));
    assert_int_equal(n, 0);
    FAILS(e, E_NOTFOUND, RES_NONE, "", STORE(e->st, token_find, &e->cx, hash, &p));
    OK(e, STORE(e->st, bootstrap, &e->cx, &in));
    OK(e, STORE(e->st, is_empty, &e->cx, &empty));
    assert_false(empty);
    OK(e, STORE(e->st, warehouses, &e->cx, &w, &n));
    assert_int_equal(n, 1);
    SAME(w->tenant, in.tenant);
    SAME(w->name, in.warehouse);
    SAME(w->root, in.root);
    SAME(w->options_json, S("{}"));
    assert_int_equal(w->created_ms, 5);
    OK(e, STORE(e->st, token_find, &e->cx, hash, &p));
    SAME(p.tenant, in.tenant);
    SAME(p.name, in.principal);
    assert_int_equal(p.tenant_id, w->tenant_id);
    assert_int_equal(p.token_expires_ms, 0);
    FAILS(e, E_NOTFOUND, RES_NONE, "", STORE(e->st, token_find, &e->cx, other, &p));
    memcpy(in.token_hash, other, 32);
    FAILS(e, E_EXISTS, RES_NONE, "", STORE(e->st, bootstrap, &e->cx, &in));
    FAILS(e, E_NOTFOUND, RES_NONE, "", STORE(e->st, token_find, &e->cx, other, &p));
    OK(e, STORE(e->st, ping, &e->cx));
}

/* --- databases -------------------------------------------------------------------------------- */

static void test_db_get(struct env *e)
{
    char name255[255];
    for (size_t i = 0; i < 85; i++)
        memcpy(name255 + 3 * i, "\xE2\x82\xAC", 3);
    struct db_row in = {.id = S("id-1"),
                        .warehouse_id = e->wh,
                        .name = str_n(name255, 255),
                        .dir = S("x.db"),
                        .options_json = S("{\"k\":\"\xE2\x82\xAC'\\\"--\"}"),
                        .stamp = {S("own"), S("cre"), STR_NONE, 11, 22}};
    struct audit au = {.at_ms = 1, .action = S("database.create")};
    struct db_row r = {0};
    OK(e, STORE(e->st, db_create, &e->cx, &in, &au));
    OK(e, STORE(e->st, db_get, &e->cx, e->wh, in.name, &r));
    SAME(r.id, in.id);
    SAME(r.name, in.name);
    assert_true(r.name.p != in.name.p);
    SAME(r.dir, in.dir);
    SAME(r.options_json, in.options_json);
    SAME(r.stamp.owner, S("own"));
    SAME(r.stamp.created_by, S("cre"));
    SAME(r.stamp.updated_by, S(""));
    assert_int_equal(r.stamp.created_ms, 11);
    assert_int_equal(r.stamp.updated_ms, 22);
    assert_int_equal(r.warehouse_id, e->wh);
    in.id = S("id-2");
    char z[256] = {0};
    memcpy(z, name255, 255);
    FAILS(e, E_EXISTS, RES_DATABASE, z, STORE(e->st, db_create, &e->cx, &in, &au));
    in.name = S("n2");
    in.warehouse_id = e->wh + 77;
    FAILS(e, E_NOTFOUND, RES_NONE, "", STORE(e->st, db_create, &e->cx, &in, &au));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "n2", STORE(e->st, db_get, &e->cx, e->wh, S("n2"), &r));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "a", STORE(e->st, db_get, &e->cx, e->wh, S("a"), &r));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "", STORE(e->st, db_get, &e->cx, e->wh, STR_NONE, &r));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "id-1",
          STORE(e->st, db_get, &e->cx, e->wh + 1, S("id-1"), &r));
    SAME(r.id, S("id-1")); /* not written on failure */
}

static void test_db_alter(struct env *e)
{
    str id = db_make(e, S("d")), old = S("{\"a\":\"1\"}"), new = S("{\"a\":\"2\"}");
    struct db_row r;
    OK(e, STORE(e->st, db_alter, &e->cx, id, old, new, 99, S("zed"), NULL));
    OK(e, STORE(e->st, db_get, &e->cx, e->wh, S("d"), &r));
    SAME(r.options_json, new);
    SAME(r.stamp.updated_by, S("zed"));
    SAME(r.stamp.created_by, S("ann"));
    assert_int_equal(r.stamp.updated_ms, 99);
    assert_int_equal(r.stamp.created_ms, T0);
    FAILS(e, E_RACE, RES_DATABASE, "db-d",
          STORE(e->st, db_alter, &e->cx, id, old, S("{}"), 100, S("y"), NULL));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "nope",
          STORE(e->st, db_alter, &e->cx, S("nope"), old, new, 100, S("y"), NULL));
    OK(e, STORE(e->st, db_get, &e->cx, e->wh, S("d"), &r));
    SAME(r.options_json, new);
    assert_int_equal(r.stamp.updated_ms, 99);
}

/* The names that a listing gives, joined by a blank. */
static str db_names(struct env *e, str after, str prefix, int64_t limit)
{
    struct store_list_in in = {after, prefix, limit};
    str *names = NULL, all = S("");
    size_t n = 0;
    OK(e, STORE(e->st, db_list, &e->cx, e->wh, &in, &names, &n));
    for (size_t i = 0; i < n; i++)
        all = text(e, "%.*s%s%.*s", STR(all), i ? " " : "", STR(names[i]));
    return all;
}

static str table_names(struct env *e, str db, str after, str prefix, int64_t limit, str type)
{
    struct store_find_in in = tables_of(e, db, after, prefix, limit, type);
    struct name_pair *names = NULL;
    str all = S("");
    size_t n = 0;
    OK(e, STORE(e->st, find, &e->cx, &in, &names, &n));
    for (size_t i = 0; i < n; i++) {
        SAME(names[i].db, db);
        all = text(e, "%.*s%s%.*s", STR(all), i ? " " : "", STR(names[i].name));
    }
    return all;
}

static void test_list(struct env *e)
{
    static const char *const names[] = {"b",
                                        "ab",
                                        "a",
                                        "\xC3\xA9",
                                        "Z",
                                        "a!",
                                        "abc",
                                        "a%",
                                        "a_",
                                        "\xF4\x8F\xBF\xBF",
                                        "\xF4\x8F\xBF\xBFx",
                                        "B"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        db_make(e, str_of(names[i]));
    SAME(db_names(e, STR_NONE, STR_NONE, 100),
         S("B Z a a! a% a_ ab abc b \xC3\xA9 \xF4\x8F\xBF\xBF \xF4\x8F\xBF\xBFx"));
    SAME(db_names(e, STR_NONE, STR_NONE, 3), S("B Z a"));
    SAME(db_names(e, S("a"), STR_NONE, 3), S("a! a% a_"));
    SAME(db_names(e, S("a^"), STR_NONE, 2), S("a_ ab"));
    SAME(db_names(e, S("\xF4\x8F\xBF\xBFx"), STR_NONE, 5), S(""));
    SAME(db_names(e, STR_NONE, STR_NONE, 0), S(""));
    SAME(db_names(e, STR_NONE, STR_NONE, -1), S(""));
    SAME(db_names(e, STR_NONE, STR_NONE, INT64_MAX), db_names(e, STR_NONE, STR_NONE, 12));
    SAME(db_names(e, STR_NONE, S("a"), 100), S("a a! a% a_ ab abc"));
    SAME(db_names(e, S("a"), S("a"), 2), S("a! a%"));
    SAME(db_names(e, S("Z"), S("a"), 2), S("a a!")); /* `after` before the prefix */
    SAME(db_names(e, S("az"), S("a"), 2), S(""));    /* behind all of it */
    SAME(db_names(e, S("b"), S("a"), 2), S(""));
    SAME(db_names(e, STR_NONE, S("a%"), 9), S("a%")); /* no wildcards */
    SAME(db_names(e, STR_NONE, S("a_"), 9), S("a_"));
    SAME(db_names(e, STR_NONE, S("ab"), 9), S("ab abc"));
    SAME(db_names(e, STR_NONE, S("A"), 9), S(""));
    SAME(db_names(e, STR_NONE, S("\xF4\x8F\xBF\xBF"), 9), S("\xF4\x8F\xBF\xBF \xF4\x8F\xBF\xBFx"));
    SAME(db_names(e, STR_NONE, S("\xFF\xFF"), 9), S(""));
    SAME(db_names(e, STR_NONE, S("' OR 1=1 --"), 9), S(""));
    struct store_list_in all = {STR_NONE, STR_NONE, 9};
    str *got;
    size_t n = 9;
    OK(e, STORE(e->st, db_list, &e->cx, e->wh + 1, &all, &got, &n));
    assert_int_equal(n, 0);
}

/* Pages of every size put together are the whole list. */
static void test_list_pages(struct env *e)
{
    str db = db_make(e, S("d"));
    for (int i = 0; i < 30; i++)
        table_make(e, db, text(e, "t%02d", i * 7 % 30));
    for (int64_t limit = 1; limit <= 31; limit++) {
        struct store_find_in in = tables_of(e, S("d"), STR_NONE, STR_NONE, limit, STR_NONE);
        int seen = 0;
        for (;;) {
            struct name_pair *names;
            size_t n;
            OK(e, STORE(e->st, find, &e->cx, &in, &names, &n));
            assert_true((int64_t)n <= limit);
            for (size_t i = 0; i < n; i++)
                SAME(names[i].name, text(e, "t%02d", seen++));
            if (n == 0)
                break;
            in.after = names[n - 1];
        }
        assert_int_equal(seen, 30);
    }
}

static void test_table_list_type(struct env *e)
{
    str db = db_make(e, S("d")), other = db_make(e, S("o"));
    struct table_row row = table_in(e, db, S("f1"), S("1"));
    row.type = S("format-table");
    OK(e, STORE(e->st, table_create, &e->cx, &row, 0, NULL, NULL));
    row = table_in(e, db, S("f2"), S("2"));
    row.type = S("format-table");
    OK(e, STORE(e->st, table_create, &e->cx, &row, 0, NULL, NULL));
    table_make(e, db, S("a"));
    table_make(e, db, S("z"));
    table_make(e, other, S("elsewhere"));
    SAME(table_names(e, S("d"), STR_NONE, STR_NONE, 9, STR_NONE), S("a f1 f2 z"));
    SAME(table_names(e, S("d"), STR_NONE, STR_NONE, 9, S("format-table")), S("f1 f2"));
    SAME(table_names(e, S("d"), S("f1"), STR_NONE, 9, S("format-table")), S("f2"));
    SAME(table_names(e, S("d"), STR_NONE, S("f"), 1, S("format-table")), S("f1"));
    SAME(table_names(e, S("d"), STR_NONE, S("f"), 9, S("table")), S(""));
    SAME(table_names(e, S("d"), STR_NONE, STR_NONE, 9, S("view")), S(""));
    SAME(table_names(e, S("gone"), STR_NONE, STR_NONE, 9, STR_NONE), S(""));
    struct schema_set to = {1, S("{}"), S("format-table"), 1, S("x")};
    OK(e, STORE(e->st, table_alter, &e->cx, S("a"), S("main"), 0, &to, NULL));
    SAME(table_names(e, S("d"), STR_NONE, STR_NONE, 9, S("format-table")), S("a f1 f2"));
}

/* --- directories ------------------------------------------------------------------------------ */

static str args_dir(struct env *e, str args)
{
    const struct json *v;
    str dir;
    OK(e, json_parse(&e->cx, args, "args", &v));
    OK(e, json_want_str(&e->cx, v, "", "dir", &dir));
    assert_int_equal(v->n, 1);
    return dir;
}

static void test_claim(struct env *e)
{
    str dir;
    claim(e, S("d.db/t"), &dir);
    SAME(dir, S("d.db/t"));
    claim(e, S("d.db/t-3"), &dir); /* somebody's own name is in the way later */
    SAME(dir, S("d.db/t-3"));
    claim(e, S("d.db/t"), &dir);
    SAME(dir, S("d.db/t-2"));
    claim(e, S("d.db/t"), &dir);
    SAME(dir, S("d.db/t-4"));
    claim(e, S("d.db/t-3"), &dir);
    SAME(dir, S("d.db/t-3-2"));
    claim(e, S("d.db/t-2"), &dir); /* given out as a number, not as a name */
    SAME(dir, S("d.db/t-2-2"));
    claim(e, S("d.db/T"), &dir);
    SAME(dir, S("d.db/T"));
    for (int i = 5; i < 40; i++) {
        claim(e, S("d.db/t"), &dir);
        SAME(dir, text(e, "d.db/t-%d", i));
    }
    int64_t intent = 5;
    dir = S("as it was");
    FAILS(e, E_NOTFOUND, RES_NONE, "",
          STORE(e->st, table_claim, &e->cx, e->wh + 1, S("x"), T0, &dir, &intent));
    SAME(dir, S("as it was"));
    assert_int_equal(intent, 5);
}

static void test_claim_intent(struct env *e)
{
    str strange = S("d.db/we \"ird\"\\ \x01\n\xE2\x82\xAC"), dir;
    int64_t id = claim(e, strange, &dir), id2;
    SAME(dir, strange);
    struct intent_row *rows;
    size_t n;
    OK(e, STORE(e->st, intents_open, &e->cx, &rows, &n));
    assert_int_equal(n, 1);
    assert_int_equal(rows[0].id, id);
    SAME(rows[0].kind, S("create"));
    SAME(rows[0].table_id, S(""));
    SAME(rows[0].branch, S(""));
    assert_int_equal(rows[0].warehouse_id, e->wh);
    assert_int_equal(rows[0].epoch, 0);
    assert_int_equal(rows[0].created_ms, T0);
    SAME(args_dir(e, rows[0].args_json), strange);
    OK(e, STORE(e->st, intent_finish, &e->cx, id));
    id2 = claim(e, strange, &dir); /* the claim was given up; its name is used for ever */
    SAME(dir, text(e, "%.*s-2", STR(strange)));
    assert_true(id2 > id); /* and so is the intent's id */
}

/* --- tables ----------------------------------------------------------------------------------- */

static void test_table_create(struct env *e)
{
    str db = db_make(e, S("d")), dir;
    int64_t intent = claim(e, S("d.db/t"), &dir);
    struct table_row in = table_in(e, db, S("t'\xC3\xA9"), S("id-1")), r = {0};
    struct audit au = {.at_ms = 1, .action = S("table.create"), .object = S("wh/d.t")};
    in.dir = dir;
    in.schema_id = 3;
    OK(e, STORE(e->st, table_create, &e->cx, &in, intent, NULL, &au));
    OK(e, STORE(e->st, table_get, &e->cx, e->wh, S("d"), in.name, &r));
    SAME(r.id, in.id);
    SAME(r.db_id, db);
    SAME(r.db_name, S("d"));
    SAME(r.name, in.name);
    SAME(r.dir, dir);
    SAME(r.schema_json, in.schema_json);
    SAME(r.type, S("table"));
    SAME(r.stamp.owner, S("ann"));
    SAME(r.stamp.created_by, S("bob"));
    SAME(r.stamp.updated_by, S("cy"));
    assert_int_equal(r.schema_id, 3);
    assert_int_equal(r.stamp.created_ms, T0);
    assert_int_equal(r.stamp.updated_ms, T0 + 1);
    assert_int_equal(r.warehouse_id, e->wh);
    struct table_row by_id;
    OK(e, STORE(e->st, table_by_id, &e->cx, e->wh, S("id-1"), &by_id));
    SAME(by_id.name, in.name);
    SAME(by_id.db_name, S("d"));
    struct intent_row *rows;
    size_t n;
    OK(e, STORE(e->st, intents_open, &e->cx, &rows, &n));
    assert_int_equal(n, 0);
    struct branch_row b = branch(e, S("id-1"));
    SAME(b.name, S("main"));
    SAME(b.table_id, S("id-1"));
    assert_int_equal(b.epoch, 0);
    assert_int_equal(b.head.id, 0);
    SAME(b.head.uuid, S(""));
    assert_int_equal(b.head.totals.file_count, 0);
    assert_int_equal(b.open.id, 0);
}

static void test_table_errors(struct env *e)
{
    str db = db_make(e, S("d")), dir;
    struct table_row in = table_in(e, db, S("t"), S("id-1")), r = {0};
    OK(e, STORE(e->st, table_create, &e->cx, &in, 0, NULL, NULL));
    in.id = S("id-2");
    int64_t intent = claim(e, S("x"), &dir);
    FAILS(e, E_EXISTS, RES_TABLE, "t", STORE(e->st, table_create, &e->cx, &in, intent, NULL, NULL));
    struct intent_row *rows;
    size_t n;
    OK(e, STORE(e->st, intents_open, &e->cx, &rows, &n));
    assert_int_equal(n, 1); /* nothing was done: the claim stands */
    in.db_id = S("nope");
    FAILS(e, E_NOTFOUND, RES_DATABASE, "the-db",
          STORE(e->st, table_create, &e->cx, &in, intent, NULL, NULL));
    in.db_id = db;
    in.name = S("t2");
    OK(e, STORE(e->st, intent_finish, &e->cx, intent));
    FAILS(e, E_RACE, RES_TABLE, "t2", STORE(e->st, table_create, &e->cx, &in, intent, NULL, NULL));
    FAILS(e, E_NOTFOUND, RES_TABLE, "t2",
          STORE(e->st, table_get, &e->cx, e->wh, S("d"), S("t2"), &r));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "D",
          STORE(e->st, table_get, &e->cx, e->wh, S("D"), S("t"), &r));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "d",
          STORE(e->st, table_get, &e->cx, e->wh + 1, S("d"), S("t"), &r));
    FAILS(e, E_NOTFOUND, RES_TABLE, "id-2",
          STORE(e->st, table_by_id, &e->cx, e->wh, S("id-2"), &r));
    FAILS(e, E_NOTFOUND, RES_TABLE, "id-1",
          STORE(e->st, table_by_id, &e->cx, e->wh + 1, S("id-1"), &r));
    assert_null(r.id.p);
}

#define RENAME_AS(table_id, as_db, as_name, wh, to_db, to_name)                                    \
    STORE(e->st, table_rename, &e->cx,                                                             \
          (&(struct table_named){.id = S(table_id), .db = (as_db), .name = (as_name)}), (wh),      \
          S(to_db), S(to_name), 77, S("ren"), NULL)
#define RENAME(table_id, wh, to_db, to_name)                                                       \
    RENAME_AS(table_id, STR_NONE, STR_NONE, wh, to_db, to_name)

static void test_table_rename(struct env *e)
{
    str d = db_make(e, S("d"));
    db_make(e, S("e"));
    struct table_row r;
    table_make(e, d, S("t"));
    table_make(e, d, S("u"));
    commit(e, S("t"), 0, T0);
    FAILS(e, E_EXISTS, RES_TABLE, "t", RENAME("t", e->wh, "d", "t"));
    FAILS(e, E_EXISTS, RES_TABLE, "u", RENAME("t", e->wh, "d", "u"));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "f", RENAME("t", e->wh, "f", "x"));
    FAILS(e, E_NOTFOUND, RES_TABLE, "gone", RENAME("gone", e->wh, "d", "x"));
    FAILS(e, E_NOTFOUND, RES_TABLE, "t", RENAME("t", e->wh + 1, "d", "x"));
    OK(e, STORE(e->st, table_get, &e->cx, e->wh, S("d"), S("t"), &r));
    assert_int_equal(r.stamp.updated_ms, T0 + 1);
    OK(e, RENAME("t", e->wh, "e", "u"));
    FAILS(e, E_NOTFOUND, RES_TABLE, "t",
          STORE(e->st, table_get, &e->cx, e->wh, S("d"), S("t"), &r));
    OK(e, STORE(e->st, table_get, &e->cx, e->wh, S("e"), S("u"), &r));
    SAME(r.id, S("t"));
    SAME(r.dir, S("d/t"));
    SAME(r.db_id, S("db-e"));
    SAME(r.db_name, S("e"));
    SAME(r.stamp.updated_by, S("ren"));
    assert_int_equal(r.stamp.updated_ms, 77);
    assert_int_equal(branch(e, S("t")).head.id, 1);
    table_make(e, d, S("t2"));
    OK(e, RENAME("t2", e->wh, "d", "t")); /* the old name is free */
    SAME(table_names(e, S("d"), STR_NONE, STR_NONE, 9, STR_NONE), S("t u"));
}

static void test_table_alter(struct env *e)
{
    struct table_row r;
    table_make(e, db_make(e, S("d")), S("t"));
    struct schema_set to = {1, S("{\"v\":1}"), S("obj"), 55, S("al")};
    struct schema_set late = {1, S("{\"v\":2}"), S("x"), 56, S("b")};
    OK(e, STORE(e->st, table_alter, &e->cx, S("t"), S("main"), 0, &to, NULL));
    FAILS(e, E_RACE, RES_TABLE, "t",
          STORE(e->st, table_alter, &e->cx, S("t"), S("main"), 0, &late, NULL));
    FAILS(e, E_NOTFOUND, RES_TABLE, "q",
          STORE(e->st, table_alter, &e->cx, S("q"), S("main"), 0, &late, NULL));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b",
          STORE(e->st, table_alter, &e->cx, S("t"), S("b"), 0, &late, NULL));
    OK(e, STORE(e->st, table_by_id, &e->cx, e->wh, S("t"), &r));
    assert_int_equal(r.schema_id, 1);
    SAME(r.schema_json, S("{\"v\":1}"));
    SAME(r.type, S("obj"));
    SAME(r.stamp.updated_by, S("al"));
    SAME(r.stamp.created_by, S("bob"));
    assert_int_equal(r.stamp.updated_ms, 55);
}

static int begin(struct env *e, str table, int64_t epoch, int64_t head, int64_t *id,
                 int64_t *ret_epoch)
{
    struct store_intent_in in = {.row = {.table_id = table,
                                         .branch = S("main"),
                                         .kind = S("rollback"),
                                         .args_json = S("{\"to\":1}"),
                                         .warehouse_id = e->wh,
                                         .id = 999,
                                         .epoch = 999,
                                         .created_ms = 42},
                                 .bump_epoch = true,
                                 .expect_epoch = epoch,
                                 .expect_head_id = head,
                                 .audit = {.at_ms = 1, .action = S("rollback")}};
    return STORE(e->st, intent_begin, &e->cx, &in, id, ret_epoch);
}

/* Who asked by a name that the table has no more, asked for another table. */
static void test_table_named(struct env *e)
{
    str d = db_make(e, S("d"));
    struct intent_row purge;
    db_make(e, S("e"));
    table_make(e, d, S("t"));
    FAILS(e, E_NOTFOUND, RES_TABLE, "x", RENAME_AS("t", S("d"), S("x"), e->wh, "d", "y"));
    FAILS(e, E_NOTFOUND, RES_TABLE, "t", RENAME_AS("t", S("e"), S("t"), e->wh, "d", "y"));
    OK(e, RENAME_AS("t", S("d"), S("t"), e->wh, "d", "y"));
    FAILS(e, E_NOTFOUND, RES_TABLE, "t", RENAME_AS("t", S("d"), S("t"), e->wh, "d", "z"));
    struct table_named old = {S("t"), S("d"), S("t")}, now = {S("t"), S("d"), S("y")};
    FAILS(e, E_NOTFOUND, RES_TABLE, "t", STORE(e->st, table_drop, &e->cx, &old, T0, NULL, &purge));
    OK(e, STORE(e->st, table_drop, &e->cx, &now, T0, NULL, &purge));
    /* Who comes second hears the name that was asked for, not the id behind it. */
    FAILS(e, E_NOTFOUND, RES_TABLE, "y", STORE(e->st, table_drop, &e->cx, &now, T0, NULL, &purge));
    FAILS(e, E_NOTFOUND, RES_TABLE, "y", RENAME_AS("t", S("d"), S("y"), e->wh, "d", "z"));
}

static void test_table_drop(struct env *e)
{
    str db = db_make(e, S("d"));
    struct intent_row purge, *rows;
    struct branch_row b;
    struct outcome o;
    int64_t id, epoch;
    size_t n;
    table_make(e, db, S("t"));
    commit(e, S("t"), 0, T0);
    OK(e, begin(e, S("t"), 0, 1, &id, &epoch));
    OK(e, STORE(e->st, table_drop, &e->cx, &(struct table_named){.id = S("t")}, 88, NULL, &purge));
    SAME(purge.kind, S("purge"));
    SAME(purge.table_id, S("t"));
    SAME(purge.branch, S(""));
    SAME(args_dir(e, purge.args_json), S("d/t"));
    assert_int_equal(purge.warehouse_id, e->wh);
    assert_int_equal(purge.created_ms, 88);
    OK(e, STORE(e->st, intents_open, &e->cx, &rows, &n));
    assert_int_equal(n, 1); /* the rollback went with its branch */
    assert_int_equal(rows[0].id, purge.id);
    SAME(rows[0].args_json, purge.args_json);
    FAILS(e, E_NOTFOUND, RES_TABLE, "t", STORE(e->st, branch_get, &e->cx, S("t"), S("main"), &b));
    FAILS(e, E_NOTFOUND, RES_TABLE, "t", commit_rc(e, S("t"), 1, 1, T0));
    FAILS(e, E_NOTFOUND, RES_NONE, "", STORE(e->st, outcome_of, &e->cx, S("t"), S("main"), 1, &o));
    FAILS(e, E_NOTFOUND, RES_TABLE, "t",
          STORE(e->st, table_drop, &e->cx, &(struct table_named){.id = S("t")}, 1, NULL, &purge));
    SAME(table_names(e, db, STR_NONE, STR_NONE, 9, STR_NONE), S(""));
    /* A new table of the same id and name knows nothing of the old one. */
    table_make(e, db, S("t"));
    assert_int_equal(branch(e, S("t")).head.id, 0);
    assert_int_equal(branch(e, S("t")).open.id, 0);
    FAILS(e, E_NOTFOUND, RES_NONE, "", STORE(e->st, outcome_of, &e->cx, S("t"), S("main"), 1, &o));
}

static void test_db_drop(struct env *e)
{
    str d = db_make(e, S("d")), k = db_make(e, S("keep"));
    struct intent_row *purges = NULL, *rows;
    struct db_row r;
    struct table_row t;
    struct outcome o;
    int64_t id, epoch;
    size_t n = 0, open = 0;
    for (int i = 0; i < 20; i++)
        table_make(e, d, text(e, "t%02d", (i * 7) % 20));
    table_make(e, k, S("mine"));
    commit(e, S("t03"), 0, T0);
    commit(e, S("mine"), 0, T0);
    OK(e, begin(e, S("t04"), 0, 0, &id, &epoch));
    OK(e, begin(e, S("mine"), 0, 1, &id, &epoch));
    OK(e, STORE(e->st, db_drop, &e->cx, d, 66, NULL, &purges, &n));
    assert_int_equal(n, 20);
    OK(e, STORE(e->st, intents_open, &e->cx, &rows, &open));
    assert_int_equal(open, 21);
    assert_int_equal(rows[0].id, id);
    for (size_t i = 0; i < n; i++) {
        str name = text(e, "t%02zu", i);
        SAME(purges[i].kind, S("purge"));
        SAME(purges[i].table_id, name);
        SAME(args_dir(e, purges[i].args_json), text(e, "d/%.*s", STR(name)));
        assert_int_equal(purges[i].warehouse_id, e->wh);
        assert_int_equal(purges[i].created_ms, 66);
        assert_int_equal(purges[i].id, rows[i + 1].id);
        FAILS(e, E_NOTFOUND, RES_TABLE, name.p, STORE(e->st, table_by_id, &e->cx, e->wh, name, &t));
    }
    FAILS(e, E_NOTFOUND, RES_DATABASE, "d", STORE(e->st, db_get, &e->cx, e->wh, S("d"), &r));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "d",
          STORE(e->st, table_get, &e->cx, e->wh, S("d"), S("t01"), &t));
    FAILS(e, E_NOTFOUND, RES_DATABASE, "db-d",
          STORE(e->st, db_drop, &e->cx, d, 67, NULL, &purges, &n));
    OK(e, STORE(e->st, outcome_of, &e->cx, S("mine"), S("main"), 1, &o));
    assert_int_equal(branch(e, S("mine")).open.id, id);
    OK(e, STORE(e->st, db_drop, &e->cx, db_make(e, S("void")), 67, NULL, &purges, &n));
    assert_int_equal(n, 0);
}

/* --- commits ---------------------------------------------------------------------------------- */

static void test_commit_head(struct env *e)
{
    table_make(e, db_make(e, S("d")), S("t"));
    char json[4096];
    memset(json, 'x', sizeof(json));
    memcpy(json, "{\"a\":\"\xE2\x82\xAC", 9);
    struct store_commit_in in = {.table_id = S("t"),
                                 .branch = S("main"),
                                 .head = {.id = 1,
                                          .uuid = STR_NONE,
                                          .json = str_n(json, sizeof(json)),
                                          .recorded_ms = INT64_MAX,
                                          .file_ino = UINT64_MAX - 1,
                                          .file_size = 4096,
                                          .file_ctime_ns = INT64_MIN,
                                          .totals = {-1, INT64_MAX, -1}}};
    OK(e, STORE(e->st, commit_record, &e->cx, &in));
    struct branch_row b = branch(e, S("t"));
    assert_int_equal(b.head.id, 1);
    SAME(b.head.uuid, S(""));
    SAME(b.head.json, in.head.json);
    assert_true(b.head.recorded_ms == INT64_MAX);
    assert_true(b.head.file_ino == UINT64_MAX - 1);
    assert_int_equal(b.head.file_size, 4096);
    assert_true(b.head.file_ctime_ns == INT64_MIN);
    assert_int_equal(b.head.totals.file_size_bytes, -1);
    assert_true(b.head.totals.file_count == INT64_MAX);
    assert_int_equal(b.head.totals.last_file_creation_ms, -1);
    struct outcome o;
    FAILS(e, E_NOTFOUND, RES_NONE, "", STORE(e->st, outcome_of, &e->cx, S("t"), S("main"), 1, &o));
}

static void test_commit_race(struct env *e)
{
    table_make(e, db_make(e, S("d")), S("t"));
    struct outcome o;
    commit(e, S("t"), 0, T0);
    commit(e, S("t"), 1, T0 + 1);
    FAILS(e, E_RACE, RES_BRANCH, "main", commit_rc(e, S("t"), 0, 1, T0 + 2));
    FAILS(e, E_RACE, RES_BRANCH, "main", commit_rc(e, S("t"), 0, 3, T0 + 2));
    FAILS(e, E_RACE, RES_BRANCH, "main", commit_rc(e, S("t"), 1, 2, T0 + 2));
    FAILS(e, E_NOTFOUND, RES_TABLE, "u", commit_rc(e, S("u"), 0, 2, T0 + 2));
    assert_int_equal(branch(e, S("t")).head.id, 2);
    assert_int_equal(branch(e, S("t")).head.recorded_ms, T0 + 1);
    OK(e, STORE(e->st, outcome_of, &e->cx, S("t"), S("main"), 2, &o));
    assert_int_equal(o.recorded_ms, T0 + 1);
    FAILS(e, E_NOTFOUND, RES_NONE, "", STORE(e->st, outcome_of, &e->cx, S("t"), S("main"), 4, &o));
    struct store_commit_in in = {.table_id = S("t"), .branch = S("dev"), .head = {.id = 1}};
    FAILS(e, E_NOTFOUND, RES_BRANCH, "dev", STORE(e->st, commit_record, &e->cx, &in));
    struct branch_row b;
    FAILS(e, E_NOTFOUND, RES_BRANCH, "dev", STORE(e->st, branch_get, &e->cx, S("t"), S("dev"), &b));
}

static void test_outcomes(struct env *e)
{
    str db = db_make(e, S("d"));
    table_make(e, db, S("t"));
    table_make(e, db, S("u"));
    struct outcome want = outcome_for(1, T0), got = {0}, o2;
    for (int64_t i = 0; i < 5; i++)
        commit(e, S("t"), i, T0 + i);
    OK(e, STORE(e->st, outcome_find, &e->cx, S("t"), S("main"), want.key, &got));
    assert_int_equal(got.snapshot_id, 1);
    assert_int_equal(got.recorded_ms, T0);
    assert_memory_equal(got.key, want.key, OUTCOME_KEY_LEN);
    assert_int_equal(got.totals.file_size_bytes, 10);
    assert_int_equal(got.totals.file_count, 1);
    assert_int_equal(got.totals.last_file_creation_ms, T0);
    OK(e, STORE(e->st, outcome_of, &e->cx, S("t"), S("main"), 4, &o2));
    want = outcome_for(4, T0);
    assert_memory_equal(o2.key, want.key, OUTCOME_KEY_LEN);
    want.key[OUTCOME_KEY_LEN - 1] ^= 1;
    FAILS(e, E_NOTFOUND, RES_NONE, "",
          STORE(e->st, outcome_find, &e->cx, S("t"), S("main"), want.key, &got));
    assert_int_equal(got.snapshot_id, 1); /* not written on failure */
    want.key[OUTCOME_KEY_LEN - 1] ^= 1;
    FAILS(e, E_NOTFOUND, RES_NONE, "",
          STORE(e->st, outcome_find, &e->cx, S("u"), S("main"), want.key, &got));
    FAILS(e, E_NOTFOUND, RES_NONE, "",
          STORE(e->st, outcome_find, &e->cx, S("t"), S("dev"), want.key, &got));
    FAILS(e, E_NOTFOUND, RES_NONE, "",
          STORE(e->st, outcome_find, &e->cx, S("none"), S("main"), want.key, &got));
}

/* A snapshot that is recorded again, and a key that comes again. */
static void test_outcome_again(struct env *e)
{
    table_make(e, db_make(e, S("d")), S("t"));
    struct outcome o = outcome_for(1, T0), got;
    struct store_commit_in in = {
        .table_id = S("t"), .branch = S("main"), .head = {.id = 1, .json = S("{}")}, .outcome = &o};
    OK(e, STORE(e->st, commit_record, &e->cx, &in));
    o.key[10] = 1;
    o.recorded_ms = T0 + 9;
    in.expect_head_id = 1;
    OK(e, STORE(e->st, commit_record, &e->cx, &in)); /* the file of snapshot 1 had changed */
    OK(e, STORE(e->st, outcome_of, &e->cx, S("t"), S("main"), 1, &got));
    assert_int_equal(got.recorded_ms, T0 + 9);
    assert_memory_equal(got.key, o.key, OUTCOME_KEY_LEN);
    struct outcome old = outcome_for(1, T0);
    FAILS(e, E_NOTFOUND, RES_NONE, "",
          STORE(e->st, outcome_find, &e->cx, S("t"), S("main"), old.key, &got));
    o.snapshot_id = 7;
    in.head.id = 7;
    OK(e, STORE(e->st, commit_record, &e->cx, &in));
    OK(e, STORE(e->st, outcome_find, &e->cx, S("t"), S("main"), o.key, &got));
    assert_int_equal(got.snapshot_id, 7); /* the newest of a key */
    OK(e, STORE(e->st, outcome_of, &e->cx, S("t"), S("main"), 1, &got));
    assert_memory_equal(got.key, o.key, OUTCOME_KEY_LEN);
}

/* --- intents and rollback --------------------------------------------------------------------- */

static void test_intent(struct env *e)
{
    table_make(e, db_make(e, S("d")), S("t"));
    commit(e, S("t"), 0, T0);
    int64_t id = 0, epoch = 0, id2 = 5, epoch2 = 5;
    FAILS(e, E_RACE, RES_BRANCH, "main", begin(e, S("t"), 1, 1, &id2, &epoch2));
    FAILS(e, E_RACE, RES_BRANCH, "main", begin(e, S("t"), 0, 2, &id2, &epoch2));
    FAILS(e, E_NOTFOUND, RES_TABLE, "u", begin(e, S("u"), 0, 1, &id2, &epoch2));
    assert_int_equal(branch(e, S("t")).epoch, 0);
    OK(e, begin(e, S("t"), 0, 1, &id, &epoch));
    assert_int_equal(epoch, 1);
    struct branch_row b = branch(e, S("t"));
    assert_int_equal(b.epoch, 1);
    assert_int_equal(b.open.id, id);
    assert_int_equal(b.open.epoch, 1);
    assert_int_equal(b.open.created_ms, 42);
    assert_int_equal(b.open.warehouse_id, e->wh);
    SAME(b.open.kind, S("rollback"));
    SAME(b.open.table_id, S("t"));
    SAME(b.open.branch, S("main"));
    SAME(b.open.args_json, S("{\"to\":1}"));
    FAILS(e, E_RACE, RES_BRANCH, "main", commit_rc(e, S("t"), 0, 1, T0)); /* decided before it */
    FAILS(e, E_RACE, RES_BRANCH, "main", begin(e, S("t"), 1, 1, &id2, &epoch2));
    assert_int_equal(id2, 5);
    assert_int_equal(epoch2, 5);
    OK(e, STORE(e->st, intent_finish, &e->cx, id));
    OK(e, STORE(e->st, intent_finish, &e->cx, id));
    OK(e, STORE(e->st, intent_finish, &e->cx, INT64_MAX));
    assert_int_equal(branch(e, S("t")).open.id, 0);
    assert_int_equal(branch(e, S("t")).epoch, 1);
    OK(e, begin(e, S("t"), 1, 1, &id2, &epoch2));
    assert_int_equal(epoch2, 2);
    assert_true(id2 > id);
}

static void test_intent_plain(struct env *e)
{
    table_make(e, db_make(e, S("d")), S("t"));
    struct store_intent_in in = {
        .row = {
            .kind = S("purge"), .args_json = S("[]"), .warehouse_id = e->wh, .table_id = S("q")}};
    int64_t a, b, c, epoch = 9;
    OK(e, STORE(e->st, intent_begin, &e->cx, &in, &a, &epoch));
    assert_int_equal(epoch, 0);
    OK(e,
       STORE(e->st, intent_begin, &e->cx, &in, &b, &epoch)); /* of no branch: as many as wanted */
    in.row.table_id = S("t");
    in.row.branch = S("main");
    OK(e, STORE(e->st, intent_begin, &e->cx, &in, &c, &epoch)); /* without raising the epoch */
    assert_int_equal(epoch, 0);
    assert_int_equal(branch(e, S("t")).epoch, 0);
    assert_int_equal(branch(e, S("t")).open.id, c);
    in.row.branch = S("dev");
    FAILS(e, E_NOTFOUND, RES_BRANCH, "dev", STORE(e->st, intent_begin, &e->cx, &in, &c, &epoch));
    struct intent_row *rows;
    size_t n;
    OK(e, STORE(e->st, intent_finish, &e->cx, b));
    OK(e, STORE(e->st, intents_open, &e->cx, &rows, &n));
    assert_int_equal(n, 2);
    assert_int_equal(rows[0].id, a);
    assert_int_equal(rows[1].id, c);
    SAME(rows[0].args_json, S("[]"));
}

static void test_rollback(struct env *e)
{
    str db = db_make(e, S("d"));
    table_make(e, db, S("t"));
    table_make(e, db, S("u"));
    struct outcome o;
    int64_t id, epoch, other;
    for (int64_t i = 0; i < 6; i++) {
        commit(e, S("t"), i, T0 + i);
        commit(e, S("u"), i, T0 + i);
    }
    OK(e, begin(e, S("t"), 0, 6, &id, &epoch));
    OK(e, begin(e, S("u"), 0, 6, &other, &epoch));
    struct head_row head = {.id = 2,
                            .uuid = S("two"),
                            .json = S("{\"id\":2}"),
                            .recorded_ms = T0 + 50,
                            .file_ino = 8,
                            .totals = {5, 6, 7}};
    struct store_history_in in = {.intent_id = other,
                                  .table_id = S("t"),
                                  .branch = S("main"),
                                  .head = &head,
                                  .forget_above = 2,
                                  .audit = {.at_ms = 1, .action = S("rollback")}};
    FAILS(e, E_NOTFOUND, RES_BRANCH, "main", STORE(e->st, history_finish, &e->cx, &in));
    assert_int_equal(branch(e, S("t")).head.id, 6);
    in.intent_id = id;
    OK(e, STORE(e->st, history_finish, &e->cx, &in));
    struct branch_row b = branch(e, S("t"));
    assert_int_equal(b.epoch, 1);
    assert_int_equal(b.open.id, 0);
    assert_int_equal(b.head.id, 2);
    assert_int_equal(b.head.file_ino, 8);
    assert_int_equal(b.head.totals.file_count, 6);
    SAME(b.head.uuid, S("two"));
    SAME(b.head.json, S("{\"id\":2}"));
    for (int64_t i = 1; i <= 6; i++) {
        struct outcome k = outcome_for(i, 0);
        if (i <= 2)
            OK(e, STORE(e->st, outcome_find, &e->cx, S("t"), S("main"), k.key, &o));
        else
            FAILS(e, E_NOTFOUND, RES_NONE, "",
                  STORE(e->st, outcome_find, &e->cx, S("t"), S("main"), k.key, &o));
        OK(e, STORE(e->st, outcome_find, &e->cx, S("u"), S("main"), k.key, &o));
    }
    OK(e, commit_rc(e, S("t"), 1, 2, T0 + 60)); /* snapshot 3 once more */
    FAILS(e, E_NOTFOUND, RES_BRANCH, "main", STORE(e->st, history_finish, &e->cx, &in));
    assert_int_equal(branch(e, S("t")).head.id, 3);
    in.table_id = S("gone");
    FAILS(e, E_NOTFOUND, RES_TABLE, "gone", STORE(e->st, history_finish, &e->cx, &in));
    assert_int_equal(branch(e, S("u")).open.id, other);
}

/* --- prune and audit -------------------------------------------------------------------------- */

/* Calls prune until there is no more; returns how often. */
static int prune_all(struct env *e, struct store_prune_in in)
{
    bool more = true;
    int calls = 0;
    while (more) {
        OK(e, STORE(e->st, prune, &e->cx, &in, &more));
        assert_true(++calls < 100);
    }
    return calls;
}

static int64_t outcomes_left(struct env *e, str table, int64_t *ret_first)
{
    int64_t n = 0;
    struct outcome o;
    *ret_first = 0;
    for (int64_t i = 1; i <= 40; i++) {
        int rc = STORE(e->st, outcome_of, &e->cx, table, S("main"), i, &o);
        ctx_reset_err(&e->cx);
        if (rc == 0 && n++ == 0)
            *ret_first = i;
    }
    return n;
}

static void test_prune(struct env *e)
{
    str db = db_make(e, S("d"));
    const char *names[] = {"t", "u", "v"};
    int64_t first;
    for (size_t t = 0; t < 3; t++) {
        table_make(e, db, str_of(names[t]));
        for (int64_t i = 0; i < 20; i++)
            commit(e, str_of(names[t]), i, T0 + i * 10);
    }
    struct store_prune_in in = {.outcomes_before_ms = T0,
                                .outcomes_per_branch_max = 20,
                                .audit_before_ms = T0,
                                .rows_max = 1000};
    assert_int_equal(prune_all(e, in), 1);
    assert_int_equal(outcomes_left(e, S("t"), &first), 20);
    in.outcomes_before_ms = T0 + 50; /* those of snapshots 1..5 go */
    assert_int_equal(prune_all(e, in), 1);
    assert_int_equal(outcomes_left(e, S("t"), &first), 15);
    assert_int_equal(first, 6);
    in.outcomes_per_branch_max = 9;
    assert_int_equal(prune_all(e, in), 1);
    assert_int_equal(outcomes_left(e, S("u"), &first), 9);
    assert_int_equal(first, 12);
    in.outcomes_per_branch_max = 2; /* 7 of each of 3 branches, 4 a call */
    in.rows_max = 4;
    bool more = false;
    OK(e, STORE(e->st, prune, &e->cx, &in, &more));
    assert_true(more);
    int64_t left = 0;
    for (size_t t = 0; t < 3; t++)
        left += outcomes_left(e, str_of(names[t]), &first);
    assert_int_equal(left, 27 - 4);
    assert_true(prune_all(e, in) >= 5);
    for (size_t t = 0; t < 3; t++) {
        assert_int_equal(outcomes_left(e, str_of(names[t]), &first), 2);
        assert_int_equal(first, 19);
        assert_int_equal(branch(e, str_of(names[t])).head.id, 20);
    }
    in.audit_before_ms = T0 + 100; /* 10 rows of each branch, 4 a call */
    assert_in_range(prune_all(e, in), 8, 9);
    assert_int_equal(prune_all(e, in), 1);
    in.outcomes_per_branch_max = 0;
    prune_all(e, in);
    assert_int_equal(outcomes_left(e, S("v"), &first), 0);
}

static void test_audit(struct env *e)
{
    struct audit au = {.at_ms = T0,
                       .tenant = S("acme"),
                       .principal = S("ann"),
                       .request_id = S("r-1"),
                       .action = S("denied"),
                       .object = S("wh/d.t"),
                       .detail = S("{\"why\":\"\xE2\x82\xAC\"}")};
    struct audit none = {.at_ms = T0};
    struct store_prune_in in = {
        .outcomes_per_branch_max = 10, .audit_before_ms = T0 + 1, .rows_max = 2};
    for (int i = 0; i < 5; i++)
        OK(e, STORE(e->st, audit_add, &e->cx, &au)); /* all in one millisecond */
    for (int i = 0; i < 5; i++)
        OK(e, STORE(e->st, audit_add, &e->cx, &none));
    assert_in_range(prune_all(e, in), 3, 3);
}

/* --- no memory -------------------------------------------------------------------------------- */

static size_t open_intents(struct env *e)
{
    struct intent_row *rows;
    size_t n = 0;
    ctx_reset_err(&e->cx);
    OK(e, STORE(e->st, intents_open, &e->cx, &rows, &n));
    return n;
}

static int table_there(struct env *e, str name)
{
    struct table_row r;
    ctx_reset_err(&e->cx);
    int rc = STORE(e->st, table_get, &e->cx, e->wh, S("d"), name, &r);
    ctx_reset_err(&e->cx);
    return rc;
}

static void test_no_memory(struct env *e)
{
    str db = S("db-d"), dir;
    int64_t intent, epoch;
    struct audit au = {.at_ms = 1, .action = S("a")};
    struct table_row row = {.id = S("t"),
                            .db_id = db,
                            .db_name = S("d"),
                            .name = S("t"),
                            .dir = S("d.db/t"),
                            .schema_json = S("{}"),
                            .type = S("table")};
    struct table_row got;
    struct db_row dbr;
    struct branch_row b;
    struct intent_row purge, *purges;
    size_t n;
    db_make(e, S("d"));
    TORTURE(e, STORE(e->st, table_claim, &e->cx, e->wh, S("d.db/t"), T0, &dir, &intent),
            open_intents(e) == 0);
    SAME(dir, S("d.db/t")); /* no try used the name up */
    OK(e, STORE(e->st, table_create, &e->cx, &row, intent, NULL, &au));
    TORTURE(e, STORE(e->st, table_get, &e->cx, e->wh, S("d"), S("t"), &got), true);
    TORTURE(e, STORE(e->st, db_get, &e->cx, e->wh, S("d"), &dbr), true);
    TORTURE(e, STORE(e->st, branch_get, &e->cx, S("t"), S("main"), &b), true);
    commit(e, S("t"), 0, T0);
    OK(e, begin(e, S("t"), 0, 1, &intent, &epoch));
    TORTURE(e,
            STORE(e->st, table_drop, &e->cx, &(struct table_named){.id = S("t")}, T0, &au, &purge),
            table_there(e, S("t")) == 0 && open_intents(e) == 1);
    assert_int_equal(open_intents(e), 1);
    row.id = row.name = S("t2");
    OK(e, STORE(e->st, table_create, &e->cx, &row, 0, NULL, &au));
    TORTURE(e, STORE(e->st, db_drop, &e->cx, db, T0, &au, &purges, &n),
            table_there(e, S("t2")) == 0 && open_intents(e) == 1);
    assert_int_equal(open_intents(e), 2);
}

/* An answer that does not fit the caller's budget changes nothing, and the next one is served. */
static void test_small_arena(struct env *e)
{
    str db = db_make(e, S("d"));
    struct intent_row *purges;
    struct store_find_in in = tables_of(e, S("d"), STR_NONE, STR_NONE, 1000, STR_NONE);
    struct name_pair *names;
    size_t n;
    for (int i = 0; i < 200; i++)
        table_make(e, db, text(e, "t%d", i));
    struct ctx small;
    ctx_init(&small, 4096);
    assert_int_equal(STORE(e->st, find, &small, &in, &names, &n), E_NOMEM);
    assert_int_equal(small.err.code, E_NOMEM);
    assert_int_equal(STORE(e->st, db_drop, &small, db, T0, NULL, &purges, &n), E_NOMEM);
    ctx_done(&small);
    OK(e, STORE(e->st, find, &e->cx, &in, &names, &n));
    assert_int_equal(n, 200);
    assert_int_equal(open_intents(e), 0);
}

/* --- running them all twice ------------------------------------------------------------------- */

static const struct store_test tests[] = {
    TEST_BARE(test_bootstrap), TEST(test_db_get),       TEST(test_db_alter),
    TEST(test_list),           TEST(test_list_pages),   TEST(test_table_list_type),
    TEST(test_claim),          TEST(test_claim_intent), TEST(test_table_create),
    TEST(test_table_errors),   TEST(test_table_rename), TEST(test_table_alter),
    TEST(test_table_drop),     TEST(test_table_named),  TEST(test_db_drop),
    TEST(test_commit_head),    TEST(test_commit_race),  TEST(test_outcomes),
    TEST(test_outcome_again),  TEST(test_intent),       TEST(test_intent_plain),
    TEST(test_rollback),       TEST(test_prune),        TEST(test_audit),
    TEST(test_no_memory),      TEST(test_small_arena),
};

int main(void)
{
    return store_tests_run("store", tests, N(tests), NULL, 0);
}
