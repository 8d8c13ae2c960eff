/* test_store_conflict.c - the contract of store.h about conflict lists, every assertion against both
 * implementations; and what only the SQLite store can show: that a flood leaves no rows behind, and what
 * prune deletes of branches that are gone. */
#include "tests/unit/catalog/store_fixture.h"

#include <sqlite3.h>

/* --- short forms ------------------------------------------------------------------------------ */

static struct store_conflict_in note_in(struct env *e, const char *branch, int key, int64_t ms)
{
    struct store_conflict_in in = {.table_id = S("t"),
                                   .branch = str_of(branch),
                                   .row = {.id = 77,
                                           .first_ms = 5,
                                           .last_ms = ms,
                                           .count = 99,
                                           .code = S("file-gone"),
                                           .snapshot_id = 7,
                                           .principal = S("ann"),
                                           .commit_user = text(e, "user-%d", key),
                                           .kind = S("COMPACT"),
                                           .identifier = INT64_MAX,
                                           .placed = true,
                                           .partition = S("dt=1"),
                                           .bucket = -2,
                                           .file = S("data-1.parquet"),
                                           .other_snapshot = 6,
                                           .other_user = S("bob"),
                                           .message = S("file-gone: it is; do this")},
                                   .keep_max = 1000};
    memcpy(in.key, &key, sizeof key);
    return in;
}

static void note(struct env *e, const char *branch, int key, int64_t ms)
{
    struct store_conflict_in in = note_in(e, branch, key, ms);
    OK(e, STORE(e->st, conflict_note, &e->cx, &in));
}

static struct conflict_row *page(struct env *e, const char *branch, int64_t below, const char *code,
                                 int64_t limit, size_t *ret_n)
{
    struct conflict_row *rows = NULL;
    struct store_conflicts_in in = {.table_id = S("t"),
                                    .branch = str_of(branch),
                                    .below = below,
                                    .code = str_of(code),
                                    .limit = limit};
    OK(e, STORE(e->st, conflict_list, &e->cx, &in, &rows, ret_n));
    return rows;
}

/* Users and counts: "3x1 2x1 1x4". */
static str list_in(struct env *e, const char *branch, int64_t below, const char *code,
                   int64_t limit)
{
    size_t n = 0;
    str all = S("");
    struct conflict_row *rows = page(e, branch, below, code, limit, &n);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || rows[i].id < rows[i - 1].id);
        all = text(e, "%.*s%s%.*sx%lld", STR(all), i ? " " : "",
                   STR(str_cut(rows[i].commit_user, 5)), (long long)rows[i].count);
    }
    return all;
}

static str list(struct env *e, const char *branch)
{
    return list_in(e, branch, 0, "", 1000);
}

static size_t rows_of(struct env *e, const char *branch)
{
    size_t n = 0;
    page(e, branch, 0, "", 100000, &n);
    return n;
}

static void table(struct env *e)
{
    table_make(e, db_make(e, S("d")), S("t"));
}

static const struct schema_set schema_0 = {
    .json = STR_LIT("{}"), .type = STR_LIT("table"), .by = STR_LIT("ann")};

static void branch_make(struct env *e, const char *name)
{
    struct intent_row row = {.table_id = S("t"),
                             .branch = str_of(name),
                             .kind = S("branch-create"),
                             .args_json = S("{}"),
                             .warehouse_id = e->wh};
    struct store_branch_in in = {.table_id = S("t"), .branch = str_of(name)};
    struct head_row none = {0};
    OK(e, STORE(e->st, branch_begin, &e->cx, &row, NULL, &in.intent_id));
    OK(e, STORE(e->st, branch_made, &e->cx, &in, &none, &schema_0));
}

/* to NULL: it is dropped. */
static void branch_end(struct env *e, const char *name, const char *to)
{
    int64_t epoch;
    struct store_intent_in begin = {.row = {.table_id = S("t"),
                                            .branch = str_of(name),
                                            .kind = S("x"),
                                            .args_json = S("{}"),
                                            .warehouse_id = e->wh,
                                            .reserves = str_of(to)}};
    struct store_branch_in in = {.table_id = S("t"), .branch = str_of(name)};
    OK(e, STORE(e->st, intent_begin, &e->cx, &begin, &in.intent_id, &epoch));
    if (to)
        OK(e, STORE(e->st, branch_rename, &e->cx, &in, str_of(to)));
    else
        OK(e, STORE(e->st, branch_drop, &e->cx, &in));
}

static int prune_all(struct env *e, int64_t before_ms, int64_t max, int64_t rows_max)
{
    struct store_prune_in in = {.outcomes_per_branch_max = 100000,
                                .conflicts_before_ms = before_ms,
                                .conflicts_per_branch_max = max,
                                .rows_max = rows_max};
    bool more = true;
    int calls = 0;
    for (; more; calls++) {
        OK(e, STORE(e->st, prune, &e->cx, &in, &more));
        assert_true(calls < 1000);
    }
    return calls;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_row(struct env *e)
{
    size_t n;
    struct conflict_row one;
    table(e);
    SAME(list(e, "main"), S(""));
    note(e, "main", 1, T0);
    struct conflict_row *r = page(e, "main", 0, "", 10, &n);
    assert_int_equal(n, 1);
    OK(e, STORE(e->st, conflict_get, &e->cx, S("t"), S("main"), r->id, &one));
    for (int i = 0; i < 2; i++, r = &one) {
        assert_true(r->id > 0);
        assert_int_equal(r->first_ms, T0);
        assert_int_equal(r->last_ms, T0);
        assert_int_equal(r->count, 1);
        SAME(r->code, S("file-gone"));
        assert_false(r->accepted);
        assert_int_equal(r->snapshot_id, 7);
        SAME(r->principal, S("ann"));
        SAME(r->commit_user, S("user-1"));
        SAME(r->kind, S("COMPACT"));
        assert_true(r->identifier == INT64_MAX);
        assert_true(r->placed);
        SAME(r->partition, S("dt=1"));
        assert_int_equal(r->bucket, -2);
        SAME(r->file, S("data-1.parquet"));
        assert_int_equal(r->other_snapshot, 6);
        SAME(r->other_user, S("bob"));
        SAME(r->message, S("file-gone: it is; do this"));
    }
    struct store_conflict_in in = note_in(e, "main", 2, T0);
    in.row.placed = false;
    in.row.accepted = true;
    in.row.partition = in.row.file = in.row.other_user = in.row.principal = STR_NONE;
    OK(e, STORE(e->st, conflict_note, &e->cx, &in));
    r = page(e, "main", 0, "", 1, &n);
    assert_true(r->accepted && !r->placed);
    assert_int_equal(r->partition.len + r->file.len + r->other_user.len + r->principal.len, 0);
}

/* Told again, it is one row still: what is said now, and what was known. */
static void test_repeat(struct env *e)
{
    size_t n;
    table(e);
    note(e, "main", 1, T0 + 5);
    note(e, "main", 2, T0 + 6);
    int64_t id = page(e, "main", 0, "", 10, &n)[1].id;
    struct store_conflict_in in = note_in(e, "main", 1, T0 + 9);
    in.row.accepted = true;
    in.row.snapshot_id = 9;
    in.row.principal = S("cy");
    in.row.kind = S("APPEND");
    in.row.other_snapshot = 8;
    in.row.other_user = S("dora");
    in.row.message = S("another");
    OK(e, STORE(e->st, conflict_note, &e->cx, &in));
    SAME(list(e, "main"), S("2x1 1x2"));
    struct conflict_row r;
    OK(e, STORE(e->st, conflict_get, &e->cx, S("t"), S("main"), id, &r));
    assert_int_equal(r.first_ms, T0 + 5);
    assert_int_equal(r.last_ms, T0 + 9);
    assert_true(r.accepted);
    assert_int_equal(r.snapshot_id, 9);
    SAME(r.principal, S("cy"));
    SAME(r.kind, S("APPEND"));
    assert_int_equal(r.other_snapshot, 8);
    SAME(r.other_user, S("dora"));
    SAME(r.message, S("another"));
    in.row.last_ms = T0; /* of two that were told at once the older may come last */
    OK(e, STORE(e->st, conflict_note, &e->cx, &in));
    OK(e, STORE(e->st, conflict_get, &e->cx, S("t"), S("main"), id, &r));
    assert_int_equal(r.last_ms, T0 + 9);
    assert_int_equal(r.first_ms, T0 + 5);
    assert_int_equal(r.count, 3);
}

static void test_pages(struct env *e)
{
    size_t n;
    table(e);
    for (int i = 1; i <= 5; i++)
        note(e, "main", i, T0 + i);
    struct store_conflict_in in = note_in(e, "main", 6, T0);
    in.row.code = S("file-twice");
    OK(e, STORE(e->st, conflict_note, &e->cx, &in));
    SAME(list(e, "main"), S("6x1 5x1 4x1 3x1 2x1 1x1"));
    struct conflict_row *rows = page(e, "main", 0, "", 2, &n);
    assert_int_equal(n, 2);
    int64_t below = rows[1].id;
    SAME(list_in(e, "main", below, "", 2), S("4x1 3x1"));
    SAME(list_in(e, "main", below, "", 100), S("4x1 3x1 2x1 1x1"));
    SAME(list_in(e, "main", 1, "", 100), S(""));
    SAME(list_in(e, "main", 0, "", 0), S(""));
    SAME(list_in(e, "main", 0, "", -1), S(""));
    SAME(list_in(e, "main", 0, "file-twice", 10), S("6x1"));
    SAME(list_in(e, "main", below, "file-twice", 10), S(""));
    SAME(list_in(e, "main", 0, "file-gone", 2), S("5x1 4x1"));
    SAME(list_in(e, "main", 0, "file", 10), S(""));
}

static void test_not_there(struct env *e)
{
    struct conflict_row *rows, row;
    size_t n;
    table(e);
    struct store_conflict_in in = note_in(e, "no", 1, T0);
    struct store_conflicts_in q = {.table_id = S("t"), .branch = S("no"), .limit = 1};
    FAILS(e, E_NOTFOUND, RES_BRANCH, "no", STORE(e->st, conflict_note, &e->cx, &in));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "no", STORE(e->st, conflict_list, &e->cx, &q, &rows, &n));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "no",
          STORE(e->st, conflict_get, &e->cx, S("t"), S("no"), 1, &row));
    in.table_id = q.table_id = S("x");
    FAILS(e, E_NOTFOUND, RES_TABLE, "x", STORE(e->st, conflict_note, &e->cx, &in));
    FAILS(e, E_NOTFOUND, RES_TABLE, "x", STORE(e->st, conflict_list, &e->cx, &q, &rows, &n));
    note(e, "main", 1, T0);
    int64_t id = page(e, "main", 0, "", 1, &n)->id;
    branch_make(e, "b");
    const int64_t none[] = {id + 1, 0, -id, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < N(none); i++)
        FAILS(e, E_NOTFOUND, RES_CONFLICT, text(e, "%lld", (long long)none[i]).p,
              STORE(e->st, conflict_get, &e->cx, S("t"), S("main"), none[i], &row));
    FAILS(e, E_NOTFOUND, RES_CONFLICT, text(e, "%lld", (long long)id).p,
          STORE(e->st, conflict_get, &e->cx, S("t"), S("b"), id, &row)); /* another branch's */
}

/* However many come, a branch keeps the newest; others do not notice. */
static void test_bound(struct env *e)
{
    table(e);
    branch_make(e, "b");
    note(e, "b", 1, T0);
    for (int i = 1; i <= 20; i++) {
        struct store_conflict_in in = note_in(e, "main", i, T0);
        in.keep_max = 3;
        OK(e, STORE(e->st, conflict_note, &e->cx, &in));
        assert_int_equal(rows_of(e, "main"), i < 3 ? i : 3);
    }
    SAME(list(e, "main"), S("20x1 19x1 18x1"));
    struct store_conflict_in in = note_in(e, "main", 18, T0);
    in.keep_max = 3;
    OK(e, STORE(e->st, conflict_note, &e->cx, &in)); /* a repeat pushes nothing out */
    SAME(list(e, "main"), S("20x1 19x1 18x2"));
    in = note_in(e, "main", 1, T0); /* one that was pushed out is a new one */
    in.keep_max = 1;
    OK(e, STORE(e->st, conflict_note, &e->cx, &in));
    SAME(list(e, "main"), S("1x1"));
    SAME(list(e, "b"), S("1x1"));
}

static void test_branches(struct env *e)
{
    struct intent_row purge;
    size_t n;
    table(e);
    branch_make(e, "b");
    note(e, "main", 1, T0);
    note(e, "b", 1, T0); /* the same key, of another branch */
    note(e, "b", 2, T0);
    SAME(list(e, "main"), S("1x1"));
    SAME(list(e, "b"), S("2x1 1x1"));
    int64_t id = page(e, "b", 0, "", 1, &n)->id;
    branch_end(e, "b", "c");
    SAME(list(e, "c"), S("2x1 1x1"));
    note(e, "c", 2, T0);
    SAME(list(e, "c"), S("2x2 1x1"));
    assert_int_equal(page(e, "c", 0, "", 1, &n)->id, id);
    branch_make(e, "b"); /* another one of the name */
    SAME(list(e, "b"), S(""));
    branch_end(e, "c", NULL);
    branch_make(e, "c");
    SAME(list(e, "c"), S(""));
    OK(e, STORE(e->st, table_drop, &e->cx, &(struct table_named){.id = S("t")}, T0, NULL, &purge));
    struct conflict_row row;
    FAILS(e, E_NOTFOUND, RES_TABLE, "t",
          STORE(e->st, conflict_get, &e->cx, S("t"), S("main"), id, &row));
    struct db_row db;
    OK(e, STORE(e->st, db_get, &e->cx, e->wh, S("d"), &db));
    table_make(e, db.id, S("t"));
    SAME(list(e, "main"), S(""));
    note(e, "main", 1, T0);
    assert_true(page(e, "main", 0, "", 1, &n)->id > id); /* ids do not come back */
}

static void test_prune_age(struct env *e)
{
    table(e);
    for (int i = 1; i <= 20; i++)
        note(e, "main", i, T0 + i);
    note(e, "main", 3, T0 + 100); /* old, but it was posted again */
    assert_int_equal(prune_all(e, T0 + 1, 1000, 100), 1);
    assert_int_equal(rows_of(e, "main"), 20);
    assert_in_range(prune_all(e, T0 + 18, 1000, 5), 4, 5); /* 16 rows, 5 a call */
    SAME(list(e, "main"), S("20x1 19x1 18x1 3x2"));
    prune_all(e, T0 + 1000, 1000, 100);
    SAME(list(e, "main"), S(""));
}

static void test_prune_number(struct env *e)
{
    table(e);
    branch_make(e, "b");
    for (int i = 1; i <= 9; i++) {
        note(e, "main", i, T0);
        note(e, "b", i, T0);
    }
    assert_int_equal(prune_all(e, 0, 9, 100), 1);
    assert_int_equal(rows_of(e, "main") + rows_of(e, "b"), 18);
    assert_in_range(prune_all(e, 0, 2, 4), 4, 5); /* 7 of each, 4 a call */
    SAME(list(e, "main"), S("9x1 8x1"));
    SAME(list(e, "b"), S("9x1 8x1"));
    prune_all(e, 0, 0, 100);
    SAME(list(e, "b"), S(""));
}

static bool all_there(struct env *e, size_t want)
{
    ctx_reset_err(&e->cx);
    return rows_of(e, "main") == want;
}

static void test_no_memory(struct env *e)
{
    struct conflict_row *rows, row;
    size_t n;
    table(e);
    struct store_conflict_in in = note_in(e, "main", 1, T0);
    in.row.commit_user = S("user-1"); /* the arena is emptied between tries */
    for (size_t done = 0; done < 2; done++) {
        int rc = E_NOMEM;
        for (long nth = 1; rc == E_NOMEM; nth++) { /* SQLite has memory of its own */
            mem_fail_at(nth, 0);
            rc = STORE(e->st, conflict_note, &e->cx, &in);
            mem_fail_at(0, 0);
            if (rc == E_NOMEM)
                assert_true(all_there(e, done));
        }
        OK(e, rc);
    }
    SAME(list(e, "main"), S("1x2"));
    struct store_conflicts_in q = {.table_id = S("t"), .branch = S("main"), .limit = 10};
    TORTURE(e, STORE(e->st, conflict_list, &e->cx, &q, &rows, &n), true);
    assert_int_equal(n, 1);
    int64_t id = rows->id;
    TORTURE(e, STORE(e->st, conflict_get, &e->cx, S("t"), S("main"), id, &row), true);
    SAME(row.other_user, S("bob"));
}

/* --- SQLite only ------------------------------------------------------------------------------ */

static int64_t count(struct env *e, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open(e->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    int64_t n = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : -1;
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}

static const char ROWS[] = "SELECT count(*) FROM conflicts";
static const char GONE[] = "SELECT count(*) FROM gone_branches";

/* The rows of what was dropped go with prune, a bounded number a call, whether it had outcomes or not. */
static void test_prune_gone(struct env *e)
{
    struct intent_row *purges, purge;
    size_t n;
    bool more = true;
    int calls = 0;
    table(e);
    branch_make(e, "b");
    for (int i = 1; i <= 25; i++)
        note(e, "b", i, T0);
    note(e, "main", 1, T0);
    branch_end(e, "b", NULL);
    assert_int_equal(count(e, ROWS), 26); /* not in the drop itself */
    assert_int_equal(count(e, GONE), 1);
    struct store_prune_in in = {
        .outcomes_per_branch_max = 100, .conflicts_per_branch_max = 100, .rows_max = 10};
    while (more) {
        int64_t before = count(e, ROWS);
        OK(e, STORE(e->st, prune, &e->cx, &in, &more));
        assert_true(before - count(e, ROWS) <= 10);
        assert_true(++calls < 10);
    }
    assert_int_equal(calls, 3);
    assert_int_equal(count(e, ROWS), 1);
    assert_int_equal(count(e, GONE), 0);
    for (int64_t i = 0; i < 4; i++)
        commit(e, S("t"), i, T0);
    OK(e, STORE(e->st, table_drop, &e->cx, &(struct table_named){.id = S("t")}, T0, NULL, &purge));
    in.rows_max = 4; /* the outcomes, and only then the conflict */
    OK(e, STORE(e->st, prune, &e->cx, &in, &more));
    assert_true(more);
    assert_int_equal(count(e, ROWS) + count(e, GONE), 2);
    OK(e, STORE(e->st, prune, &e->cx, &in, &more));
    assert_int_equal(count(e, ROWS) + count(e, GONE), 0);
    struct db_row db;
    OK(e, STORE(e->st, db_get, &e->cx, e->wh, S("d"), &db));
    table_make(e, db.id, S("t"));
    note(e, "main", 1, T0);
    OK(e, STORE(e->st, db_drop, &e->cx, db.id, T0, NULL, &purges, &n));
    assert_int_equal(count(e, GONE), 1);
    OK(e, STORE(e->st, prune, &e->cx, &in, &more));
    assert_int_equal(count(e, ROWS) + count(e, GONE), 0);
}

/* --- all -------------------------------------------------------------------------------------- */

static const struct store_test tests[] = {
    TEST(test_row),       TEST(test_repeat),
    TEST(test_pages),     TEST(test_not_there),
    TEST(test_bound),     TEST(test_branches),
    TEST(test_prune_age), TEST(test_prune_number),
    TEST(test_no_memory), TEST_SQLITE(test_prune_gone),
};

int main(void)
{
    return store_tests_run("store_conflict", tests, N(tests), NULL, 0);
}
