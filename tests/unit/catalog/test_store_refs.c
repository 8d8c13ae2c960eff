/* test_store_refs.c - the contract of store.h about branches as a whole, schemas of branches and tables
 * at paths of their own, against both implementations. */
#include "tests/unit/catalog/store_fixture.h"

#include "proto/base/mem.h"

static const struct head_row no_head;
static const struct schema_set schema_0 = {.id = 0,
                                           .json = STR_LIT("{\"s\":0}"),
                                           .type = STR_LIT("table"),
                                           .now_ms = T0,
                                           .by = STR_LIT("ann")};

static int begin_rc(struct env *e, const char *table, const char *branch, int64_t *ret)
{
    struct intent_row row = {.table_id = str_of(table),
                             .branch = str_of(branch),
                             .kind = S("branch-create"),
                             .args_json = S("{\"stage\":\"x\"}"),
                             .warehouse_id = e->wh,
                             .created_ms = T0};
    struct audit au = {.at_ms = T0, .action = S("branch.create")};
    return STORE(e->st, branch_begin, &e->cx, &row, &au, ret);
}

static int64_t begin(struct env *e, const char *table, const char *branch)
{
    int64_t id = 0;
    OK(e, begin_rc(e, table, branch, &id));
    assert_true(id > 0);
    return id;
}

static struct store_branch_in end_of(int64_t intent, const char *table, const char *branch)
{
    return (struct store_branch_in){.intent_id = intent,
                                    .table_id = str_of(table),
                                    .branch = str_of(branch),
                                    .audit = {.at_ms = T0, .action = S("branch.x")}};
}

static int made_rc(struct env *e, int64_t intent, const char *table, const char *branch,
                   const struct head_row *head)
{
    struct store_branch_in in = end_of(intent, table, branch);
    return STORE(e->st, branch_made, &e->cx, &in, head, &schema_0);
}

static void make(struct env *e, const char *table, const char *branch)
{
    OK(e, made_rc(e, begin(e, table, branch), table, branch, &no_head));
}

static int drop_rc(struct env *e, int64_t intent, const char *table, const char *branch)
{
    struct store_branch_in in = end_of(intent, table, branch);
    return STORE(e->st, branch_drop, &e->cx, &in);
}

static int rename_rc(struct env *e, int64_t intent, const char *table, const char *branch,
                     const char *to)
{
    struct store_branch_in in = end_of(intent, table, branch);
    return STORE(e->st, branch_rename, &e->cx, &in, str_of(to));
}

static int intent_rc(struct env *e, const char *table, const char *branch, const char *to,
                     int64_t *ret)
{
    int64_t epoch;
    struct store_intent_in in = {.row = {.table_id = str_of(table),
                                         .branch = str_of(branch),
                                         .kind = to ? S("branch-rename") : S("branch-drop"),
                                         .args_json = to ? text(e, "{\"to\":\"%s\"}", to) : S("{}"),
                                         .warehouse_id = e->wh,
                                         .reserves = str_of(to)}};
    return STORE(e->st, intent_begin, &e->cx, &in, ret, &epoch);
}

static int64_t intent(struct env *e, const char *table, const char *branch, const char *to)
{
    int64_t id = 0;
    OK(e, intent_rc(e, table, branch, to, &id));
    return id;
}

static int commit_on(struct env *e, const char *table, const char *branch, int64_t epoch,
                     int64_t head)
{
    struct outcome o = outcome_for(head + 1, T0);
    struct store_commit_in in = {
        .table_id = str_of(table),
        .branch = str_of(branch),
        .expect_epoch = epoch,
        .expect_head_id = head,
        .head = {.id = head + 1, .uuid = S("u"), .json = S("{}"), .totals = o.totals},
        .outcome = &o};
    return STORE(e->st, commit_record, &e->cx, &in);
}

static int get_rc(struct env *e, const char *table, const char *branch, struct branch_row *ret)
{
    return STORE(e->st, branch_get, &e->cx, str_of(table), str_of(branch), ret);
}

static struct branch_row get(struct env *e, const char *table, const char *branch)
{
    struct branch_row row = {0};
    OK(e, get_rc(e, table, branch, &row));
    return row;
}

static int outcome_rc(struct env *e, const char *table, const char *branch, int64_t id)
{
    struct outcome o, want = outcome_for(id, T0);
    int rc = STORE(e->st, outcome_find, &e->cx, str_of(table), str_of(branch), want.key, &o);
    if (rc == 0)
        assert_int_equal(o.snapshot_id, id);
    ctx_reset_err(&e->cx);
    return rc;
}

static size_t n_intents(struct env *e)
{
    struct intent_row *rows;
    size_t n = 0;
    OK(e, STORE(e->st, intents_open, &e->cx, &rows, &n));
    return n;
}

static void table_t(struct env *e)
{
    table_make(e, db_make(e, S("d")), S("t"));
}

/* --- made ------------------------------------------------------------------------------------- */

static void test_made(struct env *e)
{
    int64_t other;
    struct head_row head = {.id = 7,
                            .uuid = S("uu"),
                            .json = S("{\"id\":7}"),
                            .recorded_ms = T0 + 5,
                            .file_ino = UINT64_MAX,
                            .file_size = 9,
                            .file_ctime_ns = 10,
                            .totals = {-1, -1, -1}};
    table_t(e);
    int64_t id = begin(e, "t", "b");
    struct branch_row row = get(e, "t", "b");
    SAME(row.table_id, S("t"));
    SAME(row.name, S("b"));
    assert_int_equal(row.schema_id, -1);
    assert_int_equal(row.head.id, 0);
    assert_int_equal(row.epoch, 0);
    assert_int_equal(row.open.id, id);
    SAME(row.open.kind, S("branch-create"));
    SAME(row.open.branch, S("b"));
    SAME(row.open.args_json, S("{\"stage\":\"x\"}"));
    assert_int_equal(row.open.warehouse_id, e->wh);
    /* The name is taken, from the begin on and after the end. */
    FAILS(e, E_EXISTS, RES_BRANCH, "b", begin_rc(e, "t", "b", &other));
    assert_int_equal(n_intents(e), 1);
    FAILS(e, E_RACE, RES_BRANCH, "b", intent_rc(e, "t", "b", NULL, &other));
    OK(e, made_rc(e, id, "t", "b", &head));
    FAILS(e, E_EXISTS, RES_BRANCH, "b", begin_rc(e, "t", "b", &other));
    assert_int_equal(n_intents(e), 0);
    row = get(e, "t", "b");
    assert_int_equal(row.open.id, 0);
    assert_int_equal(row.schema_id, 0);
    SAME(row.schema_json, schema_0.json);
    assert_int_equal(row.head.id, 7);
    SAME(row.head.uuid, head.uuid);
    SAME(row.head.json, head.json);
    assert_int_equal(row.head.recorded_ms, T0 + 5);
    assert_true(row.head.file_ino == UINT64_MAX);
    assert_int_equal(row.head.file_size, 9);
    assert_int_equal(row.head.totals.file_count, -1);
    /* main is as it was. */
    assert_int_equal(branch(e, S("t")).head.id, 0);
    SAME(branch(e, S("t")).schema_json, S("{\"fields\":[]}"));
}

static void test_made_not(struct env *e)
{
    int64_t id;
    table_t(e);
    FAILS(e, E_NOTFOUND, RES_TABLE, "no", begin_rc(e, "no", "b", &id));
    FAILS(e, E_EXISTS, RES_BRANCH, "main", begin_rc(e, "t", "main", &id));
    assert_int_equal(n_intents(e), 0);
    id = begin(e, "t", "b");
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", made_rc(e, id + 1, "t", "b", &no_head));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "c", made_rc(e, id, "t", "c", &no_head));
    FAILS(e, E_NOTFOUND, RES_TABLE, "no", made_rc(e, id, "no", "b", &no_head));
    /* An intent of another branch does not end this one. */
    int64_t of_c = begin(e, "t", "c");
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", made_rc(e, of_c, "t", "b", &no_head));
    assert_int_equal(get(e, "t", "b").schema_id, -1);
    assert_int_equal(n_intents(e), 2);
    OK(e, made_rc(e, id, "t", "b", &no_head));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", made_rc(e, id, "t", "b", &no_head)); /* once */
    assert_int_equal(n_intents(e), 1);
}

static void test_undone(struct env *e)
{
    struct branch_row row;
    table_t(e);
    OK(e, drop_rc(e, begin(e, "t", "b"), "t", "b"));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", get_rc(e, "t", "b", &row));
    assert_int_equal(n_intents(e), 0);
    make(e, "t", "b");
    assert_int_equal(get(e, "t", "b").schema_id, 0);
}

/* --- dropped, and back ------------------------------------------------------------------------ */

static void test_drop(struct env *e)
{
    struct branch_row row;
    table_t(e);
    make(e, "t", "b");
    make(e, "t", "c");
    OK(e, commit_on(e, "t", "b", 0, 0));
    OK(e, commit_on(e, "t", "b", 0, 1));
    OK(e, commit_on(e, "t", "c", 0, 0));
    int64_t id = intent(e, "t", "b", NULL), other;
    FAILS(e, E_EXISTS, RES_BRANCH, "b",
          begin_rc(e, "t", "b", &other)); /* until its last file is gone */
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", drop_rc(e, id + 1, "t", "b"));
    OK(e, drop_rc(e, id, "t", "b"));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", drop_rc(e, id, "t", "b"));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", get_rc(e, "t", "b", &row));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", commit_on(e, "t", "b", 0, 2));
    assert_int_equal(outcome_rc(e, "t", "b", 1), E_NOTFOUND);
    assert_int_equal(outcome_rc(e, "t", "c", 1), 0);
    /* The same name is another branch: no outcomes, no head, epoch 0. */
    make(e, "t", "b");
    assert_int_equal(outcome_rc(e, "t", "b", 1), E_NOTFOUND);
    assert_int_equal(outcome_rc(e, "t", "b", 2), E_NOTFOUND);
    row = get(e, "t", "b");
    assert_int_equal(row.head.id, 0);
    assert_int_equal(row.epoch, 1); /* who was at the other one is sent back */
    FAILS(e, E_RACE, RES_BRANCH, "b", commit_on(e, "t", "b", 0, 0));
    OK(e, commit_on(e, "t", "b", 1, 0));
    assert_int_equal(outcome_rc(e, "t", "b", 1), 0);
    /* Nor does prune of what is left of the old one touch the new one. */
    struct store_prune_in prune = {.outcomes_before_ms = 0,
                                   .outcomes_per_branch_max = 10,
                                   .audit_before_ms = 0,
                                   .rows_max = 100};
    bool more = true;
    while (more)
        OK(e, STORE(e->st, prune, &e->cx, &prune, &more));
    assert_int_equal(outcome_rc(e, "t", "b", 1), 0);
    assert_int_equal(outcome_rc(e, "t", "c", 1), 0);
}

static void test_drop_of_table(struct env *e)
{
    struct branch_row row;
    struct intent_row purge;
    struct table_named t = {.id = S("t")};
    table_t(e);
    make(e, "t", "b");
    OK(e, commit_on(e, "t", "b", 0, 0));
    intent(e, "t", "b", "z");
    begin(e, "t", "half");
    OK(e, STORE(e->st, table_drop, &e->cx, &t, T0, NULL, &purge));
    assert_true(purge.id > 0);
    assert_int_equal(n_intents(e), 1); /* the purge */
    FAILS(e, E_NOTFOUND, RES_TABLE, "t", get_rc(e, "t", "b", &row));
    int64_t id;
    FAILS(e, E_NOTFOUND, RES_TABLE, "t", begin_rc(e, "t", "b", &id));
    FAILS(e, E_NOTFOUND, RES_TABLE, "t", intent_rc(e, "t", "b", "z", &id));
}

/* --- renamed ---------------------------------------------------------------------------------- */

static void test_rename(struct env *e)
{
    struct branch_row row;
    table_t(e);
    make(e, "t", "b");
    OK(e, commit_on(e, "t", "b", 0, 0));
    OK(e, rename_rc(e, intent(e, "t", "b", "c"), "t", "b", "c"));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", get_rc(e, "t", "b", &row));
    row = get(e, "t", "c");
    SAME(row.name, S("c"));
    assert_int_equal(row.head.id, 1);
    assert_int_equal(row.schema_id, 0);
    assert_int_equal(row.open.id, 0);
    assert_int_equal(outcome_rc(e, "t", "c", 1), 0); /* they follow it */
    assert_int_equal(outcome_rc(e, "t", "b", 1), E_NOTFOUND);
    assert_int_equal(row.epoch, 1);
    OK(e, commit_on(e, "t", "c", 1, 1));
    make(e, "t", "b"); /* free again, and another branch */
    assert_int_equal(outcome_rc(e, "t", "b", 1), E_NOTFOUND);
    assert_int_equal(n_intents(e), 0);
}

/* From its begin to its end a rename holds both names. */
static void test_rename_holds_both(struct env *e)
{
    int64_t id, other;
    table_t(e);
    table_make(e, S("db-d"), S("t2"));
    make(e, "t", "b");
    make(e, "t", "x");
    make(e, "t2", "b");
    id = intent(e, "t", "b", "c");
    FAILS(e, E_EXISTS, RES_BRANCH, "c", begin_rc(e, "t", "c", &other));
    FAILS(e, E_EXISTS, RES_BRANCH, "c", intent_rc(e, "t", "x", "c", &other));
    FAILS(e, E_EXISTS, RES_BRANCH, "b", begin_rc(e, "t", "b", &other));
    FAILS(e, E_RACE, RES_BRANCH, "b", intent_rc(e, "t", "b", "d", &other));
    assert_int_equal(n_intents(e), 1);
    make(e, "t", "cc"); /* not names that are like it, not of other tables */
    make(e, "t2", "c");
    OK(e, STORE(e->st, intent_finish, &e->cx, id)); /* given up: free */
    make(e, "t", "c");
    FAILS(e, E_EXISTS, RES_BRANCH, "c", intent_rc(e, "t", "b", "c", &other));
    FAILS(e, E_EXISTS, RES_BRANCH, "b", intent_rc(e, "t", "b", "b", &other));
    FAILS(e, E_EXISTS, RES_BRANCH, "main", intent_rc(e, "t", "b", "main", &other));
    assert_int_equal(n_intents(e), 0);
    assert_int_equal(get(e, "t", "b").open.id, 0);
}

static void test_rename_not(struct env *e)
{
    table_t(e);
    make(e, "t", "b");
    make(e, "t", "c");
    int64_t id = intent(e, "t", "b", "d");
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", rename_rc(e, id + 1, "t", "b", "d"));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "no", rename_rc(e, id, "t", "no", "d"));
    FAILS(e, E_NOTFOUND, RES_TABLE, "no", rename_rc(e, id, "no", "b", "d"));
    OK(e, rename_rc(e, id, "t", "b", "d"));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", rename_rc(e, id, "t", "b", "d"));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "d", rename_rc(e, id, "t", "d", "e"));
}

/* --- the history ends ------------------------------------------------------------------------- */

static struct store_history_in history(int64_t id, const char *branch)
{
    return (struct store_history_in){.intent_id = id,
                                     .table_id = S("t"),
                                     .branch = str_of(branch),
                                     .forget_above = INT64_MAX,
                                     .audit = {.at_ms = T0, .action = S("x")}};
}

static void four(struct env *e)
{
    table_t(e);
    make(e, "t", "b");
    for (int i = 0; i < 4; i++) {
        OK(e, commit_on(e, "t", "b", 0, i));
        commit(e, S("t"), i, T0);
    }
}

static void test_history_nothing(struct env *e)
{
    four(e);
    struct store_history_in in = history(intent(e, "t", "b", NULL), "b");
    OK(e, STORE(e->st, history_finish, &e->cx, &in));
    assert_int_equal(get(e, "t", "b").head.id, 4);
    assert_int_equal(get(e, "t", "b").schema_id, 0);
    assert_int_equal(outcome_rc(e, "t", "b", 4), 0);
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", STORE(e->st, history_finish, &e->cx, &in));
    in.intent_id = 0;
    FAILS(e, E_NOTFOUND, RES_BRANCH, "b", STORE(e->st, history_finish, &e->cx, &in));
    in.branch = S("no");
    FAILS(e, E_NOTFOUND, RES_BRANCH, "no", STORE(e->st, history_finish, &e->cx, &in));
}

static void test_history_head(struct env *e)
{
    struct head_row head = {.id = 2, .uuid = S("u2"), .json = S("{2}"), .totals = {5, 6, 7}};
    four(e);
    struct store_history_in in = history(intent(e, "t", "b", NULL), "b");
    in.head = &head;
    in.forget_above = 2;
    OK(e, STORE(e->st, history_finish, &e->cx, &in));
    struct branch_row row = get(e, "t", "b");
    assert_int_equal(row.head.id, 2);
    SAME(row.head.json, S("{2}"));
    assert_int_equal(row.head.totals.file_count, 6);
    assert_int_equal(row.schema_id, 0);
    assert_int_equal(outcome_rc(e, "t", "b", 2), 0);
    assert_int_equal(outcome_rc(e, "t", "b", 3), E_NOTFOUND);
    assert_int_equal(outcome_rc(e, "t", "b", 4), E_NOTFOUND);
    assert_int_equal(outcome_rc(e, "t", "main", 4), 0); /* of this branch only */
    assert_int_equal(branch(e, S("t")).head.id, 4);
}

static void test_history_schema(struct env *e)
{
    struct table_row row;
    struct schema_set to = {.id = 3,
                            .json = S("{\"s\":3}"),
                            .type = S("object-table"),
                            .now_ms = T0 + 9,
                            .by = S("eve")};
    four(e);
    struct store_history_in in = history(intent(e, "t", "b", NULL), "b");
    in.schema = &to;
    OK(e, STORE(e->st, history_finish, &e->cx, &in));
    assert_int_equal(get(e, "t", "b").schema_id, 3);
    SAME(get(e, "t", "b").schema_json, to.json);
    assert_int_equal(get(e, "t", "b").head.id, 4);
    OK(e, STORE(e->st, table_by_id, &e->cx, e->wh, S("t"), &row));
    assert_int_equal(row.schema_id, 0); /* main's, and so is the type */
    SAME(row.type, S("table"));
    SAME(row.stamp.updated_by, S("eve"));
    assert_int_equal(row.stamp.updated_ms, T0 + 9);
    in = history(intent(e, "t", "main", NULL), "main");
    in.schema = &to;
    OK(e, STORE(e->st, history_finish, &e->cx, &in));
    OK(e, STORE(e->st, table_by_id, &e->cx, e->wh, S("t"), &row));
    assert_int_equal(row.schema_id, 3);
    SAME(row.schema_json, to.json);
    SAME(row.type, S("object-table"));
}

static void test_alter_by_branch(struct env *e)
{
    struct table_row row;
    struct schema_set to = {
        .id = 1, .json = S("{\"s\":1}"), .type = S("x"), .now_ms = T0 + 9, .by = S("eve")};
    table_t(e);
    make(e, "t", "b");
    FAILS(e, E_RACE, RES_TABLE, "t",
          STORE(e->st, table_alter, &e->cx, S("t"), S("b"), 1, &to, NULL));
    FAILS(e, E_NOTFOUND, RES_BRANCH, "c",
          STORE(e->st, table_alter, &e->cx, S("t"), S("c"), 0, &to, NULL));
    FAILS(e, E_NOTFOUND, RES_TABLE, "u",
          STORE(e->st, table_alter, &e->cx, S("u"), S("b"), 0, &to, NULL));
    begin(e, "t", "half");
    FAILS(e, E_RACE, RES_TABLE, "t",
          STORE(e->st, table_alter, &e->cx, S("t"), S("half"), 0, &to, NULL));
    OK(e, STORE(e->st, table_alter, &e->cx, S("t"), S("b"), 0, &to, NULL));
    assert_int_equal(get(e, "t", "b").schema_id, 1);
    OK(e, STORE(e->st, table_get, &e->cx, e->wh, S("d"), S("t"), &row));
    assert_int_equal(row.schema_id, 0);
    SAME(row.schema_json, S("{\"fields\":[]}"));
    SAME(row.type, S("table"));
    SAME(row.stamp.updated_by, S("eve"));
    FAILS(e, E_RACE, RES_TABLE, "t",
          STORE(e->st, table_alter, &e->cx, S("t"), S("b"), 0, &to, NULL));
    OK(e, STORE(e->st, table_alter, &e->cx, S("t"), S("main"), 0, &to, NULL));
    OK(e, STORE(e->st, table_get, &e->cx, e->wh, S("d"), S("t"), &row));
    SAME(row.type, S("x"));
}

/* --- tables at paths of their own ------------------------------------------------------------- */

static int external_rc(struct env *e, const char *name, const char *path, const char *dir,
                       const struct head_row *head)
{
    struct table_row row = table_in(e, S("db-d"), str_of(name), str_of(name));
    row.external = str_of(path);
    row.dir = str_of(dir);
    int asked = STORE(e->st, table_place, &e->cx, &row);
    ctx_reset_err(&e->cx);
    int rc = STORE(e->st, table_create, &e->cx, &row, 0, head, NULL);
    if (rc == 0 || rc == E_CONFLICT)
        assert_int_equal(asked, rc); /* to ask first tells the same */
    return rc;
}

static void drop(struct env *e, const char *name, bool purged)
{
    struct intent_row purge = {.id = 99};
    struct table_named t = {.id = str_of(name)};
    OK(e, STORE(e->st, table_drop, &e->cx, &t, T0, NULL, &purge));
    assert_int_equal(purge.id > 0, purged);
}

static void test_external(struct env *e)
{
    struct table_row row;
    struct head_row head = {.id = 5, .uuid = S("u5"), .json = S("{5}"), .totals = {-1, -1, -1}};
    db_make(e, S("d"));
    OK(e, external_rc(e, "t", "/ext/a/t", "", &head));
    OK(e, STORE(e->st, table_by_id, &e->cx, e->wh, S("t"), &row));
    SAME(row.external, S("/ext/a/t"));
    SAME(row.dir, S(""));
    assert_int_equal(branch(e, S("t")).head.id, 5);
    SAME(branch(e, S("t")).head.json, S("{5}"));
    assert_int_equal(branch(e, S("t")).epoch, 0);
    assert_int_equal(commit_rc(e, S("t"), 0, 0, T0), E_RACE);
    ctx_reset_err(&e->cx);
    commit(e, S("t"), 5, T0);
    static const char *const near[] = {"/ext/a/t", "/ext/a/t/x", "/ext/a/t/x/y", "/ext/a", "/ext"};
    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        FAILS(e, E_CONFLICT, RES_TABLE, "u", external_rc(e, "u", near[i], "", NULL));
    OK(e, external_rc(e, "u", "/ext/a/tt", "", NULL)); /* the name is like it, no more */
    OK(e, external_rc(e, "v", "/ext/a%b_", "", NULL));
    OK(e, external_rc(e, "w", "/ext/aXbY", "", NULL)); /* no pattern */
    assert_int_equal(branch(e, S("u")).head.id, 0);
    FAILS(e, E_EXISTS, RES_TABLE, "u", external_rc(e, "u", "/ext/z", "", NULL));
    /* A new name changes nothing about where it lies. */
    struct table_named named = {S("t"), S("d"), S("t")};
    OK(e, STORE(e->st, table_rename, &e->cx, &named, e->wh, S("d"), S("t9"), T0, S("ann"), NULL));
    FAILS(e, E_CONFLICT, RES_TABLE, "n", external_rc(e, "n", "/ext/a/t/x", "", NULL));
    FAILS(e, E_CONFLICT, RES_TABLE, "n", external_rc(e, "n", "/ext/a/t", "", NULL));
    /* Dropped: it is free, and its files are nobody's to delete. */
    drop(e, "t", false);
    assert_int_equal(n_intents(e), 0);
    OK(e, external_rc(e, "n", "/ext/a/t/x", "", NULL));
    FAILS(e, E_CONFLICT, RES_TABLE, "m", external_rc(e, "m", "/ext/a/t", "", NULL));
}

static void test_external_in_warehouse(struct env *e)
{
    str dir;
    db_make(e, S("d"));
    claim(e, S("d.db/mine"), &dir);
    FAILS(e, E_CONFLICT, RES_TABLE, "t",
          external_rc(e, "t", "/data/wh/d.db/mine", "d.db/mine", NULL));
    OK(e, external_rc(e, "t", "/data/wh/d.db/t", "d.db/t", NULL));
    claim(e, S("d.db/t"), &dir); /* its directory is never another table's */
    SAME(dir, S("d.db/t-2"));
    FAILS(e, E_CONFLICT, RES_TABLE, "u", external_rc(e, "u", "/data/wh/d.db/t", "d.db/t", NULL));
    drop(e, "t", false);
    claim(e, S("d.db/t"), &dir);
    SAME(dir, S("d.db/t-3"));
    OK(e, external_rc(e, "again", "/data/wh/d.db/t", "d.db/t", NULL)); /* its files stayed */
    /* The directory of a table that is being deleted is not free yet. */
    struct intent_row purge;
    table_make(e, db_make(e, S("d2")), S("gone"));
    struct table_row gone;
    OK(e, STORE(e->st, table_by_id, &e->cx, e->wh, S("gone"), &gone));
    struct table_named named = {S("gone"), STR_NONE, STR_NONE};
    OK(e, STORE(e->st, table_drop, &e->cx, &named, T0, NULL, &purge));
    str there = text(e, "/data/wh/%.*s", STR(gone.dir));
    FAILS(e, E_CONFLICT, RES_TABLE, "u", external_rc(e, "u", there.p, gone.dir.p, NULL));
    OK(e, STORE(e->st, intent_finish, &e->cx, purge.id));
    OK(e, external_rc(e, "u2", there.p, gone.dir.p, NULL));
    /* What was refused claimed nothing. */
    OK(e, external_rc(e, "u", "/data/wh/one", "one", NULL));
    FAILS(e, E_CONFLICT, RES_TABLE, "v", external_rc(e, "v", "/data/wh/one/v", "one/v", NULL));
    claim(e, S("one/v"), &dir);
    SAME(dir, S("one/v"));
}

static void test_db_drop_leaves_external(struct env *e)
{
    struct intent_row *rows;
    size_t n = 9;
    str dir, db = db_make(e, S("d"));
    table_make(e, db, S("in1"));
    OK(e, external_rc(e, "out1", "/ext/1", "", NULL));
    OK(e, external_rc(e, "out2", "/data/wh/d.db/2", "d.db/2", NULL));
    table_make(e, db, S("in2"));
    OK(e, STORE(e->st, db_drop, &e->cx, db, T0, NULL, &rows, &n));
    assert_int_equal(n, 4); /* all are told, so that nobody goes on with one of them */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(rows[i].id, 0);
        assert_true(str_eq(rows[i].table_id, S("out1")) || str_eq(rows[i].table_id, S("out2")));
    }
    assert_false(str_eq(rows[0].table_id, rows[1].table_id));
    for (size_t i = 2; i < n; i++) {
        assert_true(rows[i].id > 0);
        SAME(rows[i].kind, S("purge"));
        SAME(rows[i].args_json, i > 2 ? S("{\"dir\":\"d/in2\"}") : S("{\"dir\":\"d/in1\"}"));
    }
    assert_int_equal(n_intents(e), 2);
    db_make(e, S("d"));
    OK(e, external_rc(e, "new", "/ext/1", "", NULL)); /* free */
    claim(e, S("d.db/2"), &dir);
    SAME(dir, S("d.db/2-2"));
}

/* --- no memory -------------------------------------------------------------------------------- */

/* It happened or it did not; nothing half. */
static void test_no_memory(struct env *e)
{
    struct head_row head = {.id = 5, .uuid = S("u5"), .json = S("{5}")};
    table_t(e);
    for (int op = 0; op < 3; op++) {
        for (long nth = 1;; nth++) {
            const char *b = text(e, "b%d-%ld", op, nth).p, *to = text(e, "to%d-%ld", op, nth).p;
            int64_t id = begin(e, "t", b);
            if (op > 0)
                OK(e, made_rc(e, id, "t", b, &head));
            id = op == 0 ? id : intent(e, "t", b, op == 2 ? to : NULL);
            mem_fail_at(nth, false);
            int rc = op == 0   ? made_rc(e, id, "t", b, &head)
                     : op == 1 ? drop_rc(e, id, "t", b)
                               : rename_rc(e, id, "t", b, to);
            long seen = mem_fail_at(0, false);
            ctx_reset_err(&e->cx);
            struct branch_row row = {0};
            int there = get_rc(e, "t", b, &row);
            ctx_reset_err(&e->cx);
            if (rc == 0 && op == 0)
                assert_int_equal(row.head.id, 5);
            else if (rc == 0)
                assert_int_equal(there, E_NOTFOUND);
            else
                assert_true(there == 0 && row.open.id == id && row.schema_id == (op ? 0 : -1));
            if (seen < nth)
                break;
            assert_true(nth < 200);
        }
    }
}

static void test_no_memory_in_history(struct env *e)
{
    struct head_row head = {.id = 2, .uuid = S("u2"), .json = S("{2}")};
    struct schema_set to = {
        .id = 3, .json = S("{\"s\":3}"), .type = S("x"), .now_ms = T0 + 9, .by = S("eve")};
    four(e);
    for (long nth = 1;; nth++) {
        const char *b = text(e, "h%ld", nth).p;
        make(e, "t", b);
        OK(e, commit_on(e, "t", b, 0, 0));
        struct store_history_in in = history(intent(e, "t", b, NULL), b);
        in.head = &head;
        in.schema = &to;
        in.forget_above = 0;
        mem_fail_at(nth, false);
        int rc = STORE(e->st, history_finish, &e->cx, &in);
        long seen = mem_fail_at(0, false);
        ctx_reset_err(&e->cx);
        struct branch_row row = get(e, "t", b);
        assert_int_equal(row.head.id, rc == 0 ? 2 : 1);
        assert_int_equal(row.schema_id, rc == 0 ? 3 : 0);
        assert_int_equal(row.open.id, rc == 0 ? 0 : in.intent_id);
        assert_int_equal(outcome_rc(e, "t", b, 1), rc == 0 ? E_NOTFOUND : 0);
        if (seen < nth)
            break;
        assert_true(nth < 200);
    }
}

static const struct store_test tests[] = {
    TEST(test_made),
    TEST(test_made_not),
    TEST(test_undone),
    TEST(test_drop),
    TEST(test_drop_of_table),
    TEST(test_rename),
    TEST(test_rename_holds_both),
    TEST(test_rename_not),
    TEST(test_history_nothing),
    TEST(test_history_head),
    TEST(test_history_schema),
    TEST(test_alter_by_branch),
    TEST(test_external),
    TEST(test_external_in_warehouse),
    TEST(test_db_drop_leaves_external),
    TEST(test_no_memory),
    TEST(test_no_memory_in_history),
};

int main(void)
{
    return store_tests_run("store_refs", tests, N(tests), NULL, 0);
}
