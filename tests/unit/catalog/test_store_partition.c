/* test_store_partition.c - the contract of store.h about totals of partitions, every assertion against
 * both implementations; and what only the SQLite store can show of it: how many rows it keeps, what a
 * damaged one does, what is swept up. */
#include "tests/unit/catalog/store_fixture.h"

#include <sqlite3.h>

#include "catalog/store/partition_sum.h"
#include "proto/base/mem.h"

/* --- short forms ------------------------------------------------------------------------------ */

static struct partition_delta delta(const char *key, int64_t records, int64_t bytes, int64_t files,
                                    int64_t ms, int64_t buckets)
{
    return (struct partition_delta){str_of(key), S("{\"k\":\"v\"}"), records, bytes, files, ms,
                                    buckets};
}

/* Snapshot head + 1; `d` NULL: nobody says what it did. */
static int commit_told(struct env *e, str table, int64_t epoch, int64_t head, int64_t id,
                       const struct partition_delta *d, size_t n)
{
    struct outcome o = outcome_for(id, T0);
    struct store_commit_in in = {
        .table_id = table,
        .branch = S("main"),
        .expect_epoch = epoch,
        .expect_head_id = head,
        .head = {.id = id, .uuid = S("u"), .json = S("{}"), .recorded_ms = T0 + id},
        .outcome = &o,
        .has_deltas = d != NULL,
        .deltas = d,
        .n_deltas = n,
        .audit = {.at_ms = T0, .principal = S("ann"), .action = S("commit")}};
    return STORE(e->st, commit_record, &e->cx, &in);
}

#define COMMIT(e, head, ...)                                                                       \
    do {                                                                                           \
        const struct partition_delta d_[] = {__VA_ARGS__};                                         \
        OK(e, commit_told((e), S("t"), 0, (head), (head) + 1, d_, N(d_)));                         \
    } while (0)

static enum partitions_are fold_some(struct env *e, int64_t keep, int64_t rows)
{
    enum partitions_are is = PARTITIONS_MORE;
    OK(e, STORE(e->st, partitions_fold, &e->cx, S("t"), S("main"), keep, rows, &is));
    return is;
}

static enum partitions_are fold(struct env *e)
{
    return fold_some(e, 0, 1000000);
}

static str rows_text(struct env *e, const struct partition_row *rows, size_t n)
{
    str all = S("");
    for (size_t i = 0; i < n; i++) {
        const struct partition_delta *s = &rows[i].sum;
        all = text(e, "%.*s%s%.*s=%lld,%lld,%lld,%lld,%lld%s", STR(all), i ? " " : "", STR(s->key),
                   (long long)s->records, (long long)s->file_size_bytes, (long long)s->file_count,
                   (long long)s->last_file_ms, (long long)s->buckets, rows[i].done ? "!" : "");
    }
    return all;
}

static str list_in(struct env *e, str below, str prefix, bool exact, int64_t limit)
{
    struct store_partitions_in in = {.table_id = S("t"),
                                     .branch = S("main"),
                                     .below = below,
                                     .prefix = prefix,
                                     .exact = exact,
                                     .limit = limit};
    struct partition_row *rows = NULL;
    size_t n = 0;
    OK(e, STORE(e->st, partitions_list, &e->cx, &in, &rows, &n));
    return rows_text(e, rows, n);
}

static str list(struct env *e)
{
    return list_in(e, STR_NONE, S(""), false, 1000);
}

static int list_rc(struct env *e)
{
    struct store_partitions_in in = {.table_id = S("t"), .branch = S("main"), .limit = 10};
    struct partition_row *rows;
    size_t n;
    return STORE(e->st, partitions_list, &e->cx, &in, &rows, &n);
}

static struct store_partitions_change change_of(const struct partition_delta *d, size_t n)
{
    return (struct store_partitions_change){.table_id = S("t"),
                                            .branch = S("main"),
                                            .now_ms = T0 + 500,
                                            .by = S("bob"),
                                            .parts = d,
                                            .n = n,
                                            .audit = {.at_ms = T0, .action = S("x")}};
}

/* Keys joined by blanks; the answer has a '+' for each that was there. */
static int change_keys(struct env *e, const char *what, const char *keys, bool strict,
                       const struct partition_delta *stats, size_t n_stats, bool replace,
                       char *ret_there)
{
    struct partition_delta d[16];
    bool there[16] = {false};
    size_t n = 0;
    str rest = str_of(keys), key;
    while (rest.len && str_split(&rest, ' ', &key))
        d[n++] = delta(str_dupz(&e->cx.arena, key), 7, 7, 7, 7, 7);
    struct store_partitions_change ch = change_of(d, n);
    int rc;
    if (what[0] == 'c')
        rc = STORE(e->st, partitions_create, &e->cx, &ch, strict, stats, n_stats, replace, there);
    else if (what[0] == 'd')
        rc = STORE(e->st, partitions_drop, &e->cx, &ch, strict, there);
    else
        rc = STORE(e->st, partitions_mark, &e->cx, &ch);
    for (size_t i = 0; i < n && rc == 0; i++)
        ret_there[i] = there[i] ? '+' : '-';
    ret_there[rc == 0 ? n : 0] = 0;
    return rc;
}

#define CHANGE(e, what, keys, strict, want)                                                        \
    do {                                                                                           \
        char there_[32];                                                                           \
        OK(e, change_keys((e), (what), (keys), (strict), NULL, 0, false, there_));                 \
        assert_string_equal(there_, want);                                                         \
    } while (0)

static void table(struct env *e)
{
    str db = db_make(e, S("d"));
    table_make(e, db, S("t"));
}

static int rollback_to(struct env *e, int64_t head, int64_t epoch, int64_t to)
{
    struct store_intent_in in = {.row = {.table_id = S("t"),
                                         .branch = S("main"),
                                         .kind = S("rollback"),
                                         .args_json = S("{}"),
                                         .warehouse_id = e->wh},
                                 .bump_epoch = true,
                                 .expect_epoch = epoch,
                                 .expect_head_id = head};
    int64_t id, now;
    OK(e, STORE(e->st, intent_begin, &e->cx, &in, &id, &now));
    struct head_row row = {.id = to, .uuid = S("u"), .json = S("{}")};
    struct store_history_in back = {
        .intent_id = id, .table_id = S("t"), .branch = S("main"), .head = &row, .forget_above = to};
    return STORE(e->st, history_finish, &e->cx, &back);
}

/* --- sums ------------------------------------------------------------------------------------- */

static void test_sums(struct env *e)
{
    (void)e;
    struct partition_delta s = delta("a", 5, 50, 2, 100, 4), d = delta("a", -2, -20, 1, 90, 8);
    partition_commit(&s, &d);
    assert_int_equal(s.records, 3);
    assert_int_equal(s.file_size_bytes, 30);
    assert_int_equal(s.file_count, 3);
    assert_int_equal(s.last_file_ms, 100); /* the later one */
    assert_int_equal(s.buckets, 8);        /* the last one */
    partition_unknown(&s);
    partition_commit(&s, &d); /* what nobody measured is replaced */
    assert_int_equal(s.records, -2);
    assert_int_equal(s.file_count, 1);
    assert_int_equal(s.last_file_ms, 90);
    s = delta("a", INT64_MAX - 1, 0, 0, 0, 0);
    d = delta("a", 5, INT64_MIN, 0, 0, 0);
    partition_commit(&s, &d);
    assert_true(s.records == INT64_MAX); /* no wrap */
    assert_true(s.file_size_bytes == INT64_MIN);
    assert_false(partition_empty(&s));
    s = delta("a", 0, -1, 0, 100, 4);
    assert_true(partition_empty(&s));
    s.file_count = 1;
    assert_false(partition_empty(&s));
    s = delta("a", -1, 50, 2, 100, 4);
    d = delta("a", 3, -1, 5, 90, 8);
    partition_report(&s, &d, false);
    assert_int_equal(s.records, 3);          /* was unknown */
    assert_int_equal(s.file_size_bytes, 50); /* not measured */
    assert_int_equal(s.file_count, 7);
    assert_int_equal(s.last_file_ms, 100);
    assert_int_equal(s.buckets, 4); /* never by a report */
    partition_report(&s, &d, true);
    assert_int_equal(s.file_size_bytes, 50);
    assert_int_equal(s.file_count, 5);
    assert_int_equal(s.last_file_ms, 90); /* backwards too */
}

/* --- folding ---------------------------------------------------------------------------------- */

static void test_fold(struct env *e)
{
    table(e);
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S(""));
    COMMIT(e, 0, delta("a", 1, 10, 1, 5, 2), delta("b", 2, 20, 1, 6, 2));
    SAME(list(e), S("")); /* not yet */
    COMMIT(e, 1, delta("b", -2, -20, -1, 0, 2), delta("c", 3, 30, 1, 7, 2));
    COMMIT(e, 2, delta("b", 4, 40, 2, 3, 1), delta("b", 1, 1, 1, 1, 9)); /* twice in one */
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("c=3,30,1,7,2 b=5,41,3,3,9 a=1,10,1,5,2"));
    assert_int_equal(fold(e), PARTITIONS_KNOWN); /* once and no more */
    SAME(list(e), S("c=3,30,1,7,2 b=5,41,3,3,9 a=1,10,1,5,2"));
    COMMIT(e, 3, delta("c", -3, -30, -1, 0, 2), delta("z", 0, 0, 0, 0, 0),
           delta("y", -1, -1, -1, 0, 0));
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("b=5,41,3,3,9 a=1,10,1,5,2")); /* what is not above 0 is gone, or never came */
}

static void test_fold_stamps(struct env *e)
{
    struct partition_row *rows;
    size_t n;
    table(e);
    COMMIT(e, 0, delta("a", 1, 10, 1, 5, 2));
    COMMIT(e, 1, delta("a", 1, 10, 1, 5, 2), delta("b", 1, 1, 1, 1, 1));
    fold(e);
    str keys[] = {S("b"), S("none"), S("a"), S("a")};
    OK(e, STORE(e->st, partitions_find, &e->cx, S("t"), S("main"), keys, N(keys), &rows, &n));
    assert_int_equal(n, 3);
    SAME(rows_text(e, rows, n), S("b=1,1,1,1,1 a=2,20,2,5,2 a=2,20,2,5,2"));
    SAME(rows[1].stamp.created_by, S("ann"));
    SAME(rows[1].stamp.updated_by, S("ann"));
    assert_int_equal(rows[1].stamp.created_ms, T0 + 1);
    assert_int_equal(rows[1].stamp.updated_ms, T0 + 2);
    SAME(rows[1].sum.spec_json, S("{\"k\":\"v\"}"));
    CHANGE(e, "mark", "a none", false, "--");
    CHANGE(e, "mark", "a", false, "-");
    OK(e, STORE(e->st, partitions_find, &e->cx, S("t"), S("main"), keys, N(keys), &rows, &n));
    assert_true(rows[1].done);
    assert_false(rows[0].done);
    SAME(rows[1].stamp.created_by, S("ann"));
    SAME(rows[1].stamp.updated_by, S("bob"));
    assert_int_equal(rows[1].stamp.updated_ms, T0 + 500);
    COMMIT(e, 2, delta("a", 1, 10, 1, 5, 2));
    fold(e);
    SAME(list(e), S("b=1,1,1,1,1 a=3,30,3,5,2!")); /* stays done */
}

/* A little at a time, oldest first, a commit as a whole; the newest are left when asked. */
static void test_fold_bounds(struct env *e)
{
    table(e);
    for (int64_t i = 0; i < 5; i++)
        COMMIT(e, i, delta("a", 1, 1, 1, i, 0), delta(i % 2 ? "b" : "c", 1, 1, 1, i, 0));
    assert_int_equal(fold_some(e, 5, 100), PARTITIONS_MORE);
    SAME(list(e), S(""));
    assert_int_equal(fold_some(e, 0, 1), PARTITIONS_MORE);
    SAME(list(e), S("c=1,1,1,0,0 a=1,1,1,0,0"));
    assert_int_equal(fold_some(e, 2, 100), PARTITIONS_MORE);
    SAME(list(e), S("c=2,2,2,2,0 b=1,1,1,1,0 a=3,3,3,2,0"));
    assert_int_equal(fold_some(e, 2, 100), PARTITIONS_MORE);
    SAME(list(e), S("c=2,2,2,2,0 b=1,1,1,1,0 a=3,3,3,2,0"));
    assert_int_equal(fold_some(e, 1, 100), PARTITIONS_MORE);
    assert_int_equal(fold_some(e, 0, 100), PARTITIONS_KNOWN);
    SAME(list(e), S("c=3,3,3,4,0 b=2,2,2,3,0 a=5,5,5,4,0"));
}

/* --- what makes totals unknown ------------------------------------------------------------------ */

static void test_unknown(struct env *e)
{
    struct partition_row *rows;
    size_t n;
    char there[32];
    str key = S("a");
    table(e);
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1));
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    OK(e, commit_told(e, S("t"), 0, 1, 2, NULL, 0));
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
    FAILS(e, E_UNSUPPORTED, RES_NONE, "", list_rc(e));
    FAILS(e, E_UNSUPPORTED, RES_NONE, "",
          STORE(e->st, partitions_find, &e->cx, S("t"), S("main"), &key, 1, &rows, &n));
    FAILS(e, E_UNSUPPORTED, RES_NONE, "",
          change_keys(e, "create", "x", false, NULL, 0, false, there));
    FAILS(e, E_UNSUPPORTED, RES_NONE, "",
          change_keys(e, "drop", "x", false, NULL, 0, false, there));
    FAILS(e, E_UNSUPPORTED, RES_NONE, "",
          change_keys(e, "mark", "x", false, NULL, 0, false, there));
    COMMIT(e, 2, delta("a", 1, 1, 1, 1, 1)); /* what comes after a gap does not help */
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
    OK(e, rollback_to(e, 3, 0, 1)); /* nor does it help to go back: it is lost by now */
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
}

/* The totals were on time to see that they are unknown only when something came after. */
static void test_unknown_is_taken_back(struct env *e)
{
    table(e);
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1));
    OK(e, commit_told(e, S("t"), 0, 1, 2, NULL, 0));
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
    OK(e, rollback_to(e, 2, 0, 1));
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("a=1,1,1,1,1"));
}

/* A table whose first commits nobody told of. */
static void test_late(struct env *e)
{
    table(e);
    OK(e, commit_told(e, S("t"), 0, 0, 1, NULL, 0));
    COMMIT(e, 1, delta("a", 1, 1, 1, 1, 1));
    COMMIT(e, 2, delta("a", 1, 1, 1, 1, 1));
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
    FAILS(e, E_UNSUPPORTED, RES_NONE, "", list_rc(e));
}

/* An empty commit tells that nothing happened. */
static void test_empty_commit(struct env *e)
{
    struct partition_delta none;
    table(e);
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1));
    OK(e, commit_told(e, S("t"), 0, 1, 2, &none, 0));
    COMMIT(e, 2, delta("a", 1, 1, 1, 1, 1));
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("a=2,2,2,1,1"));
}

static void test_rollback(struct env *e)
{
    table(e);
    for (int64_t i = 0; i < 6; i++)
        COMMIT(e, i, delta("a", 1, 1, 1, i, 1), delta(i > 3 ? "late" : "early", 1, 1, 1, 1, 1));
    assert_int_equal(fold_some(e, 4, 100), PARTITIONS_MORE); /* up to 2 */
    OK(e, rollback_to(e, 6, 0, 4));
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("early=4,4,4,1,1 a=4,4,4,3,1"));
    struct partition_delta d = delta("a", 10, 10, 10, 10, 10);
    OK(e, commit_told(e, S("t"), 1, 4, 5, &d, 1)); /* another snapshot 5 */
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("early=4,4,4,1,1 a=14,14,14,10,10"));
    OK(e, rollback_to(e, 5, 1, 4)); /* past what is folded */
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
    OK(e, commit_told(e, S("t"), 2, 4, 5, &d, 1));
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
}

/* Another history above snapshot `above`, as after a forward; no head: only the schema changed. */
static int history(struct env *e, int64_t head, int64_t epoch, const struct head_row *to,
                   int64_t above)
{
    struct store_intent_in in = {.row = {.table_id = S("t"),
                                         .branch = S("main"),
                                         .kind = S("forward"),
                                         .args_json = S("{}"),
                                         .warehouse_id = e->wh},
                                 .bump_epoch = true,
                                 .expect_epoch = epoch,
                                 .expect_head_id = head};
    int64_t id, now;
    OK(e, STORE(e->st, intent_begin, &e->cx, &in, &id, &now));
    struct store_history_in end = {.intent_id = id,
                                   .table_id = S("t"),
                                   .branch = S("main"),
                                   .head = to,
                                   .forget_above = above};
    return STORE(e->st, history_finish, &e->cx, &end);
}

static void test_history(struct env *e)
{
    table(e);
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1));
    OK(e, history(e, 1, 0, NULL, INT64_MAX)); /* of a schema */
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("a=1,1,1,1,1"));
    struct head_row to = {.id = 4, .uuid = S("u"), .json = S("{}")};
    OK(e, history(e, 1, 1, &to, 1)); /* snapshots 2 to 4 come from another branch */
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
    struct partition_delta d = delta("a", 1, 1, 1, 1, 1);
    OK(e, commit_told(e, S("t"), 2, 4, 5, &d, 1));
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
}

static enum partitions_are fold_branch(struct env *e, const char *branch)
{
    enum partitions_are is = PARTITIONS_MORE;
    OK(e, STORE(e->st, partitions_fold, &e->cx, S("t"), str_of(branch), 0, 100, &is));
    return is;
}

static int64_t branch_begin(struct env *e, const char *name)
{
    struct intent_row row = {.table_id = S("t"),
                             .branch = str_of(name),
                             .kind = S("branch-create"),
                             .args_json = S("{}"),
                             .warehouse_id = e->wh};
    int64_t id;
    OK(e, STORE(e->st, branch_begin, &e->cx, &row, NULL, &id));
    return id;
}

static void branch_make(struct env *e, const char *name, int64_t head)
{
    struct store_branch_in in = {branch_begin(e, name), S("t"), str_of(name), {0}};
    struct head_row row = {.id = head, .uuid = S("u"), .json = S("{}")};
    struct schema_set schema = {.id = 0, .json = S("{}"), .type = S("table"), .by = S("ann")};
    OK(e, STORE(e->st, branch_made, &e->cx, &in, &row, &schema));
}

static int64_t branch_intent(struct env *e, const char *name)
{
    struct store_intent_in in = {.row = {.table_id = S("t"),
                                         .branch = str_of(name),
                                         .kind = S("x"),
                                         .args_json = S("{}"),
                                         .warehouse_id = e->wh}};
    int64_t id, epoch;
    OK(e, STORE(e->st, intent_begin, &e->cx, &in, &id, &epoch));
    return id;
}

static bool tidy(struct env *e, int64_t keep, int64_t rows)
{
    bool more = false;
    OK(e, STORE(e->st, partitions_tidy, &e->cx, keep, rows, &more));
    return more;
}

/* Each branch has its own; they go with it to another name and not to a branch that has its name. */
static void test_branches(struct env *e)
{
    struct partition_row *rows;
    size_t n;
    str keys[] = {S("a"), S("m")};
    struct partition_delta d = delta("a", 1, 1, 1, 1, 1);
    table(e);
    COMMIT(e, 0, delta("m", 1, 1, 1, 1, 1));
    branch_make(e, "dev", 0);
    branch_make(e, "old", 7); /* from a tag: who knows what is in it? */
    assert_int_equal(fold_branch(e, "dev"), PARTITIONS_KNOWN);
    assert_int_equal(fold_branch(e, "old"), PARTITIONS_UNKNOWN);
    struct store_commit_in in = {.table_id = S("t"),
                                 .branch = S("dev"),
                                 .head = {.id = 1, .uuid = S("u"), .json = S("{}")},
                                 .has_deltas = true,
                                 .deltas = &d,
                                 .n_deltas = 1};
    OK(e, STORE(e->st, commit_record, &e->cx, &in));
    assert_int_equal(fold_branch(e, "dev"), PARTITIONS_KNOWN);
    struct store_branch_in ren = {branch_intent(e, "dev"), S("t"), S("dev"), {0}};
    OK(e, STORE(e->st, branch_rename, &e->cx, &ren, S("new")));
    branch_make(e, "dev", 0);
    OK(e, STORE(e->st, partitions_find, &e->cx, S("t"), S("new"), keys, 2, &rows, &n));
    SAME(rows_text(e, rows, n), S("a=1,1,1,1,1"));
    OK(e, STORE(e->st, partitions_find, &e->cx, S("t"), S("dev"), keys, 2, &rows, &n));
    SAME(rows_text(e, rows, n), S(""));
    struct store_branch_in drop = {branch_intent(e, "new"), S("t"), S("new"), {0}};
    OK(e, STORE(e->st, branch_drop, &e->cx, &drop));
    branch_make(e, "new", 0);
    assert_int_equal(fold_branch(e, "new"), PARTITIONS_KNOWN);
    while (tidy(e, 100, 100)) {
    }
    OK(e, STORE(e->st, partitions_find, &e->cx, S("t"), S("new"), keys, 2, &rows, &n));
    SAME(rows_text(e, rows, n), S(""));
    fold(e);
    SAME(list(e), S("m=1,1,1,1,1"));
}

/* The head's file turned out to hold something else: what its commit told is void. */
static void test_recorded_again(struct env *e)
{
    table(e);
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1));
    COMMIT(e, 1, delta("a", 5, 5, 5, 5, 5));
    OK(e, commit_told(e, S("t"), 0, 2, 2, NULL, 0));
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
    OK(e, rollback_to(e, 2, 0, 1));
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("a=1,1,1,1,1"));
    OK(e, commit_told(e, S("t"), 1, 1, 1, NULL, 0)); /* of what is folded */
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
}

/* A record that is refused leaves nothing. */
static void test_race(struct env *e)
{
    struct partition_delta d = delta("a", 1, 1, 1, 1, 1);
    table(e);
    COMMIT(e, 0, d);
    FAILS(e, E_RACE, RES_BRANCH, "main", commit_told(e, S("t"), 0, 0, 1, &d, 1));
    FAILS(e, E_RACE, RES_BRANCH, "main", commit_told(e, S("t"), 9, 1, 2, &d, 1));
    FAILS(e, E_NOTFOUND, RES_TABLE, "none", commit_told(e, S("none"), 0, 0, 1, &d, 1));
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("a=1,1,1,1,1"));
    enum partitions_are is;
    FAILS(e, E_NOTFOUND, RES_TABLE, "none",
          STORE(e->st, partitions_fold, &e->cx, S("none"), S("main"), 0, 1, &is));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "dev",
          STORE(e->st, partitions_fold, &e->cx, S("t"), S("dev"), 0, 1, &is));
}

/* --- setting ---------------------------------------------------------------------------------- */

static int set_at(struct env *e, int64_t epoch, int64_t head, struct partition_delta *d, size_t n)
{
    struct store_partitions_set in = {.table_id = S("t"),
                                      .branch = S("main"),
                                      .expect_epoch = epoch,
                                      .expect_head_id = head,
                                      .now_ms = T0 + 700,
                                      .by = S("eve"),
                                      .sums = d,
                                      .n = n};
    return STORE(e->st, partitions_set, &e->cx, &in);
}

static void test_set(struct env *e)
{
    table(e);
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1), delta("b", 2, 2, 2, 2, 2), delta("c", 3, 3, 3, 3, 3),
           delta("e", 0, 0, 1, 0, 0));
    OK(e, commit_told(e, S("t"), 0, 1, 2, NULL, 0));
    COMMIT(e, 2, delta("a", 1, 1, 1, 1, 1));
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
    struct partition_delta d[] = {delta("b", 20, 20, 20, 20, 20), delta("d", 4, 4, 4, 4, 4)};
    OK(e, set_at(e, 0, 3, d, N(d)));
    SAME(list(e), S("d=4,4,4,4,4 b=20,20,20,20,20")); /* at once, nothing is left to fold */
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("d=4,4,4,4,4 b=20,20,20,20,20"));
    COMMIT(e, 3, delta("a", 1, 1, 1, 1, 1), delta("b", 1, 1, 1, 1, 1)); /* goes on from there */
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("d=4,4,4,4,4 b=21,21,21,20,1 a=1,1,1,1,1"));
    OK(e, rollback_to(e, 4, 0, 3)); /* what is folded includes 4 */
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN);
    OK(e, set_at(e, 1, 3, d, 1));
    SAME(list(e), S("b=20,20,20,20,20"));
    OK(e, set_at(e, 1, 3, NULL, 0));
    SAME(list(e), S(""));
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
}

/* Known or not, folded or not: it says how things are at that head. */
static void test_set_over_deltas(struct env *e)
{
    struct partition_delta d = delta("a", 9, 9, 9, 9, 9);
    table(e);
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1));
    fold(e);
    COMMIT(e, 1, delta("b", 1, 1, 1, 1, 1));
    OK(e, set_at(e, 0, 2, &d, 1));
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("a=9,9,9,9,9"));
    OK(e, rollback_to(e, 2, 0, 1));
    assert_int_equal(fold(e), PARTITIONS_UNKNOWN); /* it was of 2 */
}

static void test_set_races(struct env *e)
{
    struct partition_delta d = delta("a", 9, 9, 9, 9, 9);
    table(e);
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1));
    fold(e);
    FAILS(e, E_RACE, RES_BRANCH, "main", set_at(e, 0, 0, &d, 1));
    FAILS(e, E_RACE, RES_BRANCH, "main", set_at(e, 1, 1, &d, 1));
    SAME(list(e), S("a=1,1,1,1,1"));
    struct store_partitions_set in = {.table_id = S("none"), .branch = S("main")};
    FAILS(e, E_NOTFOUND, RES_TABLE, "none", STORE(e->st, partitions_set, &e->cx, &in));
    in = (struct store_partitions_set){.table_id = S("t"), .branch = S("dev")};
    FAILS(e, E_NOTFOUND, RES_BRANCH, "dev", STORE(e->st, partitions_set, &e->cx, &in));
}

static void test_set_keeps(struct env *e)
{
    struct partition_row *rows;
    size_t n;
    str keys[] = {S("a"), S("b"), S("n"), S("r")};
    struct partition_delta d[] = {delta("a", 1, 1, 1, 1, 1), delta("b", 7, 7, 7, 7, 7),
                                  delta("n", 5, 5, 5, 5, 5)};
    table(e);
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1), delta("b", 2, 2, 2, 2, 2));
    fold(e);
    CHANGE(e, "create", "m r", false, "--");
    struct partition_delta m = delta("m", 0, -1, -1, -1, -1); /* somebody measured it */
    char there[32];
    OK(e, change_keys(e, "create", "", false, &m, 1, true, there));
    CHANGE(e, "mark", "b r", false, "--");
    OK(e, set_at(e, 0, 1, d, N(d)));
    SAME(list(e), S("r=-1,-1,-1,-1,-1! n=5,5,5,5,5 b=7,7,7,7,7! a=1,1,1,1,1"));
    OK(e, STORE(e->st, partitions_find, &e->cx, S("t"), S("main"), keys, N(keys), &rows, &n));
    assert_int_equal(n, 4);
    const struct {
        const char *created_by, *updated_by;
        int64_t created_ms, updated_ms;
    } want[] = {{"ann", "ann", T0 + 1, T0 + 1}, /* the same numbers: not touched */
                {"ann", "eve", T0 + 1, T0 + 700},
                {"eve", "eve", T0 + 700, T0 + 700},
                {"bob", "bob", T0 + 500, T0 + 500}};
    for (size_t i = 0; i < n; i++) {
        SAME(rows[i].stamp.created_by, str_of(want[i].created_by));
        SAME(rows[i].stamp.updated_by, str_of(want[i].updated_by));
        assert_int_equal(rows[i].stamp.created_ms, want[i].created_ms);
        assert_int_equal(rows[i].stamp.updated_ms, want[i].updated_ms);
        SAME(rows[i].sum.spec_json, S("{\"k\":\"v\"}"));
    }
}

/* --- listing ---------------------------------------------------------------------------------- */

static void test_list(struct env *e)
{
    table(e);
    COMMIT(e, 0, delta("d=1/h=1", 1, 0, 0, 0, 0), delta("d=1/h=2", 2, 0, 0, 0, 0),
           delta("d=10/h=1", 3, 0, 0, 0, 0), delta("d=2", 4, 0, 0, 0, 0),
           delta("d=\xC3\xA9", 5, 0, 0, 0, 0), delta("", 6, 0, 0, 0, 0));
    fold(e);
#define LISTS(want, ...) SAME(list_in(e, __VA_ARGS__), S(want))
    LISTS("d=\xC3\xA9=5,0,0,0,0 d=2=4,0,0,0,0", STR_NONE, S(""), false, 2);
    LISTS("d=10/h=1=3,0,0,0,0 d=1/h=2=2,0,0,0,0", S("d=2"), S(""), false, 2);
    LISTS("d=1/h=1=1,0,0,0,0 =6,0,0,0,0", S("d=1/h=2"), S(""), false, 2);
    LISTS("", STR_NONE, S(""), false, 0);
    LISTS("d=10/h=1=3,0,0,0,0 d=1/h=2=2,0,0,0,0 d=1/h=1=1,0,0,0,0", STR_NONE, S("d=1"), false, 9);
    LISTS("d=1/h=2=2,0,0,0,0 d=1/h=1=1,0,0,0,0", STR_NONE, S("d=1/"), false, 9);
    LISTS("d=1/h=1=1,0,0,0,0", S("d=1/h=2"), S("d=1/"), false, 9);
    LISTS("d=1/h=2=2,0,0,0,0 d=1/h=1=1,0,0,0,0", S("zzz"), S("d=1/"), false, 9);
    LISTS("", S("c"), S("d=1/"), false, 9);
    LISTS("", STR_NONE, S("d=3"), false, 9);
    LISTS("d=2=4,0,0,0,0", STR_NONE, S("d=2"), true, 9);
    LISTS("", S("d=2"), S("d=2"), true, 9); /* it was on the page before */
    LISTS("d=2=4,0,0,0,0", S("d=20"), S("d=2"), true, 9);
    LISTS("", STR_NONE, S("d=1/h"), true, 9);
    LISTS("=6,0,0,0,0", STR_NONE, S(""), true, 9);
#undef LISTS
}

/* --- changes ---------------------------------------------------------------------------------- */

static void test_create(struct env *e)
{
    char there[32] = "untouched";
    table(e);
    CHANGE(e, "create", "b a", false, "--");
    CHANGE(e, "create", "a c c", false, "+-+");
    SAME(list(e), S("c=-1,-1,-1,-1,-1 b=-1,-1,-1,-1,-1 a=-1,-1,-1,-1,-1"));
    FAILS(e, E_EXISTS, RES_PARTITION, "b",
          change_keys(e, "create", "x b y", true, NULL, 0, false, there));
    FAILS(e, E_EXISTS, RES_PARTITION, "x",
          change_keys(e, "create", "x x", true, NULL, 0, false, there));
    SAME(list(e), S("c=-1,-1,-1,-1,-1 b=-1,-1,-1,-1,-1 a=-1,-1,-1,-1,-1"));
    CHANGE(e, "create", "x", true, "-");
    CHANGE(e, "create", "", true, "");
    /* A commit replaces what is unknown; one that takes all away removes it; others are not touched. */
    COMMIT(e, 0, delta("a", 5, 50, 1, 9, 3), delta("b", -1, 0, -1, 0, 3));
    fold(e);
    SAME(list(e), S("x=-1,-1,-1,-1,-1 c=-1,-1,-1,-1,-1 a=5,50,1,9,3"));
}

static void test_create_order(struct env *e)
{
    char there[32];
    table(e);
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1));
    const char *what[] = {"create", "drop", "mark"};
    for (size_t i = 0; i < N(what); i++)
        FAILS(e, E_RACE, RES_BRANCH, "main",
              change_keys(e, what[i], "a", false, NULL, 0, false, there));
    fold(e);
    CHANGE(e, "create", "a b", false, "+-");
    CHANGE(e, "drop", "a", false, "+");
    COMMIT(e, 1, delta("a", 1, 1, 1, 1, 1)); /* comes again with the next commit */
    fold(e);
    SAME(list(e), S("b=-1,-1,-1,-1,-1 a=1,1,1,1,1"));
}

static void reports(struct env *e, const char *keys, bool replace, struct partition_delta a,
                    struct partition_delta b)
{
    char there[32];
    struct partition_delta d[] = {a, b};
    OK(e, change_keys(e, "create", keys, false, d, b.key.len ? 2 : 1, replace, there));
}

static void test_report(struct env *e)
{
    struct partition_delta none = {0};
    table(e);
    reports(e, "a", false, delta("a", 3, 300, 1, 1000, 5), none);
    SAME(list(e), S("a=3,300,1,1000,-1")); /* made and measured at once */
    reports(e, "a", false, delta("a", 4, 400, 2, 500, 5), none);
    SAME(list(e), S("a=7,700,3,1000,-1"));
    reports(e, "a", false, delta("a", -1, 100, -1, -1, 5), none);
    SAME(list(e), S("a=7,800,3,1000,-1"));
    reports(e, "a", true, delta("a", 5, 500, 1, 700, 5), none);
    SAME(list(e), S("a=5,500,1,700,-1"));
    reports(e, "a", true, delta("a", -1, 900, -1, -1, -1), none);
    SAME(list(e), S("a=5,900,1,700,-1"));
    reports(e, "a", false, delta("a", 1, 1, 1, 1, 1), delta("gone", 1, 1, 1, 1, 1));
    SAME(list(e), S("a=5,900,1,700,-1")); /* all or none */
    reports(e, "b", false, delta("a", 1, 1, 1, 1, 1), delta("b", 2, 2, 2, 2, 2));
    SAME(list(e), S("b=2,2,2,2,-1 a=6,901,2,700,-1"));
    reports(e, "", false, delta("b", 2, 2, 2, 2, 2), delta("b", 3, 3, 3, 3, 3));
    SAME(list(e), S("b=7,7,7,3,-1 a=6,901,2,700,-1")); /* named twice: one after the other */
    COMMIT(e, 0, delta("b", 1, 1, 1, 1, 8));
    fold(e);
    reports(e, "", true, delta("b", 0, 0, 0, 0, 9), none);
    SAME(list(e), S("b=0,0,0,0,8 a=6,901,2,700,-1")); /* a report removes none */
}

static void test_drop(struct env *e)
{
    char there[32];
    table(e);
    CHANGE(e, "create", "a b c", false, "---");
    FAILS(e, E_NOTFOUND, RES_PARTITION, "x",
          change_keys(e, "drop", "a x b", true, NULL, 0, false, there));
    SAME(list(e), S("c=-1,-1,-1,-1,-1 b=-1,-1,-1,-1,-1 a=-1,-1,-1,-1,-1"));
    CHANGE(e, "drop", "a x a", false, "+-+");
    CHANGE(e, "drop", "b", true, "+");
    CHANGE(e, "drop", "a b", false, "--");
    SAME(list(e), S("c=-1,-1,-1,-1,-1"));
}

static void test_mark(struct env *e)
{
    table(e);
    CHANGE(e, "create", "d=1/h=1 d=1/h=2 d=10/h=1 d=2/h=1", false, "----");
    CHANGE(e, "mark", "d=1/ d=2/h=1 d=3/", false, "---");
    SAME(list(e), S("d=2/h=1=-1,-1,-1,-1,-1! d=10/h=1=-1,-1,-1,-1,-1 d=1/h=2=-1,-1,-1,-1,-1! "
                    "d=1/h=1=-1,-1,-1,-1,-1!"));
    CHANGE(e, "drop", "d=2/h=1", false, "+");
    CHANGE(e, "create", "d=2/h=1", false, "-");
    SAME(list_in(e, STR_NONE, S("d=2"), false, 9), S("d=2/h=1=-1,-1,-1,-1,-1")); /* a new one */
}

/* --- the rest --------------------------------------------------------------------------------- */

static void test_tidy(struct env *e)
{
    table(e);
    assert_false(tidy(e, 2, 100));
    for (int64_t i = 0; i < 4; i++)
        COMMIT(e, i, delta("a", 1, 1, 1, 1, 1));
    assert_false(tidy(e, 2, 100));
    SAME(list(e), S(""));
    COMMIT(e, 4, delta("a", 1, 1, 1, 1, 1));
    assert_true(tidy(e, 2, 100));
    SAME(list(e), S("a=3,3,3,1,1"));
    assert_false(tidy(e, 2, 100));
    OK(e, rollback_to(e, 5, 0, 3)); /* the two newest were left */
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S("a=3,3,3,1,1"));
}

/* Two tables do not see each other's; a dropped one's are never somebody else's. */
static void test_drop_table(struct env *e)
{
    struct intent_row purge;
    str db = db_make(e, S("d"));
    table_make(e, db, S("t"));
    table_make(e, db, S("u"));
    struct partition_delta d = delta("a", 9, 9, 9, 9, 9);
    OK(e, commit_told(e, S("u"), 0, 0, 1, &d, 1));
    CHANGE(e, "create", "b c d e", false, "----");
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1));
    COMMIT(e, 1, delta("a", 1, 1, 1, 1, 1));
    fold(e);
    COMMIT(e, 2, delta("a", 1, 1, 1, 1, 1));
    COMMIT(e, 3, delta("a", 1, 1, 1, 1, 1));
    struct table_named t = {.id = S("t")};
    OK(e, STORE(e->st, table_drop, &e->cx, &t, T0, NULL, &purge));
    FAILS(e, E_NOTFOUND, RES_TABLE, "t", list_rc(e));
    table_make(e, db, S("t"));
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    SAME(list(e), S(""));
    for (int i = 0; i < 20 && tidy(e, 100, 2); i++) {
    }
    assert_false(tidy(e, 100, 2));
    SAME(list(e), S(""));
    enum partitions_are is;
    OK(e, STORE(e->st, partitions_fold, &e->cx, S("u"), S("main"), 0, 10, &is));
    assert_int_equal(is, PARTITIONS_KNOWN);
}

/* Without memory nothing happens, wherever it runs out. */
static void test_no_memory(struct env *e)
{
    char there[32];
    table(e);
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1), delta("b", 1, 1, 1, 1, 1));
    int rc = E_NOMEM;
    for (long n = 1; rc == E_NOMEM; n++) {
        enum partitions_are is;
        mem_fail_at(n, 0);
        rc = STORE(e->st, partitions_fold, &e->cx, S("t"), S("main"), 0, 100, &is);
        mem_fail_at(0, 0);
        assert_true(rc == 0 || rc == E_NOMEM || rc == E_IO);
        if (rc < 0)
            ctx_reset_err(&e->cx);
    }
    SAME(list(e), S("b=1,1,1,1,1 a=1,1,1,1,1"));
    rc = E_NOMEM;
    for (long n = 1; rc == E_NOMEM; n++) {
        mem_fail_at(n, 0);
        rc = change_keys(e, "create", "c d", true, NULL, 0, false, there);
        mem_fail_at(0, 0);
        if (rc < 0)
            ctx_reset_err(&e->cx);
    }
    assert_int_equal(rc, 0);
    SAME(list(e), S("d=-1,-1,-1,-1,-1 c=-1,-1,-1,-1,-1 b=1,1,1,1,1 a=1,1,1,1,1"));
    struct partition_delta d[] = {delta("b", 2, 2, 2, 2, 2), delta("z", 3, 3, 3, 3, 3)};
    rc = E_NOMEM;
    for (long n = 1; rc == E_NOMEM; n++) {
        SAME(list(e), S("d=-1,-1,-1,-1,-1 c=-1,-1,-1,-1,-1 b=1,1,1,1,1 a=1,1,1,1,1"));
        mem_fail_at(n, 0);
        rc = set_at(e, 0, 1, d, N(d));
        mem_fail_at(0, 0);
        if (rc < 0)
            ctx_reset_err(&e->cx);
    }
    assert_int_equal(rc, 0);
    SAME(list(e), S("z=3,3,3,3,3 d=-1,-1,-1,-1,-1 c=-1,-1,-1,-1,-1 b=2,2,2,2,2"));
}

/* Ten thousand partitions: a page costs a page. */
static void test_many(struct env *e)
{
    enum { MANY = 3000 };
    struct partition_delta *d = ARENA_ARRAY(&e->cx.arena, struct partition_delta, MANY);
    table(e);
    for (int i = 0; i < MANY; i++)
        d[i] = delta(text(e, "p=%06d", (i * 7919) % MANY).p, 1, 1, 1, 1, 1);
    OK(e, commit_told(e, S("t"), 0, 0, 1, d, MANY));
    assert_int_equal(fold(e), PARTITIONS_KNOWN);
    struct store_partitions_in in = {.table_id = S("t"), .branch = S("main"), .limit = 1000};
    int left = MANY;
    for (;;) {
        struct partition_row *rows;
        size_t n;
        OK(e, STORE(e->st, partitions_list, &e->cx, &in, &rows, &n));
        for (size_t i = 0; i < n; i++)
            SAME(rows[i].sum.key, text(e, "p=%06d", --left));
        if (n < 1000)
            break;
        in.below = rows[n - 1].sum.key;
    }
    assert_int_equal(left, 0);
    for (int i = 0; i < MANY; i++) /* every second one goes */
        d[i] = delta(text(e, "p=%06d", 2 * i).p, 2, 2, 2, 2, 2);
    OK(e, set_at(e, 0, 1, d, MANY));
    in.below = STR_NONE;
    left = MANY;
    for (;;) {
        struct partition_row *rows;
        size_t n;
        OK(e, STORE(e->st, partitions_list, &e->cx, &in, &rows, &n));
        for (size_t i = 0; i < n; i++) {
            left--;
            SAME(rows[i].sum.key, text(e, "p=%06d", 2 * left));
            assert_int_equal(rows[i].sum.records, 2);
        }
        if (n < 1000)
            break;
        in.below = rows[n - 1].sum.key;
    }
    assert_int_equal(left, 0);
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

/* A row a commit until it is folded, none after; nothing of a table that is gone. */
static void test_rows(struct env *e)
{
    struct intent_row purge;
    table(e);
    for (int64_t i = 0; i < 3; i++)
        COMMIT(e, i, delta("a", 1, 1, 1, 1, 1), delta("b", 1, 1, 1, 1, 1));
    assert_int_equal(count(e, "SELECT count(*) FROM partition_deltas"), 3);
    fold(e);
    assert_int_equal(count(e, "SELECT count(*) FROM partition_deltas"), 0);
    assert_int_equal(count(e, "SELECT folded_id FROM partition_state"), 3);
    OK(e, commit_told(e, S("t"), 0, 3, 4, NULL, 0));
    COMMIT(e, 4, delta("a", 1, 1, 1, 1, 1));
    COMMIT(e, 5, delta("a", 1, 1, 1, 1, 1));
    assert_int_equal(count(e, "SELECT count(*) FROM partition_deltas"), 0); /* they serve nobody */
    assert_int_equal(count(e, "SELECT folded_id FROM partition_state"), -1);
    struct table_named t = {.id = S("t")};
    OK(e, STORE(e->st, table_drop, &e->cx, &t, T0, NULL, &purge));
    assert_true(tidy(e, 100, 1));
    assert_true(tidy(e, 100, 1));
    assert_true(tidy(e, 100, 1));
    assert_false(tidy(e, 100, 1));
    assert_int_equal(count(e, "SELECT count(*) FROM partitions"), 0);
    assert_int_equal(count(e, "SELECT count(*) FROM partition_state"), 0);
}

static void test_damaged(struct env *e)
{
    const char *bad[] = {"x'00'",
                         "x'FFFFFFFF00000000'",
                         "zeroblob(47)",
                         "x'01000000' || zeroblob(44)",
                         "zeroblob(48) || x'01'",
                         "x'FFFFFFFFFFFFFFFF' || zeroblob(40)"};
    char sql[200];
    table(e);
    COMMIT(e, 0, delta("a", 1, 1, 1, 1, 1));
    for (size_t i = 0; i < N(bad); i++) {
        enum partitions_are is;
        snprintf(sql, sizeof(sql),
                 "UPDATE partition_deltas SET deltas = CAST(%s AS BLOB) RETURNING 1", bad[i]);
        assert_int_equal(count(e, sql), 1);
        FAILS(e, E_CORRUPT, RES_NONE, "",
              STORE(e->st, partitions_fold, &e->cx, S("t"), S("main"), 0, 10, &is));
        SAME(list(e), S(""));
    }
}

/* --- all -------------------------------------------------------------------------------------- */

static const struct store_test tests[] = {
    TEST(test_sums),
    TEST(test_fold),
    TEST(test_fold_stamps),
    TEST(test_fold_bounds),
    TEST(test_unknown),
    TEST(test_unknown_is_taken_back),
    TEST(test_late),
    TEST(test_empty_commit),
    TEST(test_rollback),
    TEST(test_recorded_again),
    TEST(test_history),
    TEST(test_branches),
    TEST(test_race),
    TEST(test_set),
    TEST(test_set_over_deltas),
    TEST(test_set_races),
    TEST(test_set_keeps),
    TEST(test_list),
    TEST(test_create),
    TEST(test_create_order),
    TEST(test_report),
    TEST(test_drop),
    TEST(test_mark),
    TEST(test_tidy),
    TEST(test_drop_table),
    TEST(test_no_memory),
    TEST(test_many),
    TEST_SQLITE(test_rows),
    TEST_SQLITE(test_damaged),
};

int main(void)
{
    return store_tests_run("store_partition", tests, N(tests), NULL, 0);
}
