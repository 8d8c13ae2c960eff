/* test_replace.c - a table becomes another one: what it writes, what it refuses, somebody else at the same
 * time, failures at each call and a crash at each step. */
#include "tests/unit/catalog/fixture.h"

#include "tests/unit/catalog/native_fixture.h"

static struct fx f;

#define NEW_SCHEMA                                                                                 \
    "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"BIGINT NOT NULL\"},"                         \
    "{\"id\":1,\"name\":\"w\",\"type\":\"DOUBLE\"}],\"partitionKeys\":[],\"primaryKeys\":[\"k\"]," \
    "\"options\":{\"bucket\":\"4\"}}"

static int setup(void **state)
{
    (void)state;
    fx_new(&f, 0);
    fx_table(&f, "t");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

static int turn_replace(struct ctx *cx, struct branch *br, void *arg)
{
    (void)br;
    return replace_run(cx, arg);
}

static int way(struct ctx *cx, struct branch *br, const struct json *schema)
{
    struct replace *rp;
    TRY(replace_new(cx, br, schema, &rp));
    for (int turns = 1;; turns++) {
        TRY(replace_prepare(cx, rp));
        int rc = turn(cx, br, turn_replace, rp);
        if (rc != CAT_NEED)
            return rc;
        assert_true(turns < 10);
    }
}

static int replace(const char *table, const char *schema)
{
    struct ctx cx;
    struct branch *br = NULL;
    fx_begin(&cx);
    int rc = cat_branch_open(&cx, f.cat, f.w, S("d"), str_of(table), &br);
    if (rc == 0)
        rc = way(&cx, br, fx_json(&f, schema));
    rc = fx_end(&f, &cx, rc);
    if (br)
        branch_unref(br);
    return rc;
}

static str schema_of(int64_t *ret_id)
{
    struct table_info t = {0};
    OK(&f, fx_get(&f, "t", &t));
    *ret_id = t.row.schema_id;
    return t.row.schema_json;
}

/* All or nothing: is it the new table? */
static bool replaced(int64_t head_before)
{
    int64_t schema, id = fx_head_id(&f, "t");
    str json = schema_of(&schema);
    bool yes = memmem(json.p, json.len, "\"w\"", 3) != NULL;
    assert_int_equal(schema, yes ? 1 : 0);
    assert_int_equal(id, head_before ? head_before + yes : 0);
    str dir = fx_dir(&f, "t");
    assert_int_equal(fx_exists(&f, fx_text(&f, "%.*s/schema/schema-1", STR(dir))), yes);
    assert_int_equal(fx_intents(&f), 0);
    return yes;
}

static void the_new_table_is_used(void)
{
    struct nat a = {0};
    nat_data(&f, "t", "bucket-3/x", 100);
    OK(&f, nat(&f, "t",
               "{\"add\":[{\"bucket\":3,\"fileName\":\"x\",\"fileSize\":100,\"rowCount\":5,"
               "\"minKey\":{\"k\":1},\"maxKey\":{\"k\":5},\"minSequenceNumber\":0,"
               "\"maxSequenceNumber\":4}]}",
               &a));
    struct snapshot s = nat_snapshot(&f, a.json);
    assert_int_equal(s.total_record_count, 5);
    assert_int_equal(s.schema_id, 1);
    nat_state_right(&f, "t");
    fx_restart(&f);
    nat_state_right(&f, "t");
}

static void an_empty_snapshot_and_a_schema(void **state)
{
    (void)state;
    struct draft d = {0};
    struct seen s;
    size_t n;
    fx_grow(&f, "t", &d, 3, true);
    OK(&f, replace("t", NEW_SCHEMA));
    assert_true(replaced(3));
    OK(&f, fx_head(&f, "t", &s));
    struct snapshot now = nat_snapshot(&f, s.json);
    assert_int_equal(now.commit_kind, COMMIT_OVERWRITE);
    assert_int_equal(now.total_record_count, 0);
    assert_int_equal(now.delta_record_count, -30);
    assert_int_equal(now.schema_id, 0);
    assert_int_equal(s.totals.file_count, 0);
    assert_int_equal(s.totals.file_size_bytes, 0);
    struct manifest_entry *e = nat_entries(&f, "t", now.delta_manifest_list, &n);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(e[i].kind, FILE_DELETE);
    nat_state_right(&f, "t");
    SAME(fx_read(&f, fx_snapshot_path(&f, "t", 3)), fx_snapshot(&f, &d)); /* still there */
    the_new_table_is_used();
    /* Once more, with files that were compacted away in between. */
    OK(&f, nat(&f, "t", "{\"kind\":\"OVERWRITE\",\"delete\":[{\"bucket\":3,\"fileName\":\"x\"}]}",
               NULL));
    OK(&f, replace("t", NEW_SCHEMA));
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(nat_snapshot(&f, s.json).delta_record_count, 0);
    nat_state_right(&f, "t");
}

static void a_table_without_snapshots(void **state)
{
    (void)state;
    OK(&f, replace("t", NEW_SCHEMA));
    assert_true(replaced(0));
    the_new_table_is_used();
}

static void what_is_refused(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    FAILS(&f, E_UNSUPPORTED, RES_TABLE, "partition keys",
          replace(
              "t",
              "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT\"}],\"partitionKeys\":[\"k\"],"
              "\"primaryKeys\":[],\"options\":{}}"));
    FAILS(&f, E_UNSUPPORTED, RES_TABLE, "type 'table'",
          replace("t",
                  "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT\"}],\"partitionKeys\":[],"
                  "\"primaryKeys\":[],\"options\":{\"type\":\"format-table\"}}"));
    assert_int_equal(replace("t", "{\"fields\":[],\"partitionKeys\":[\"z\"],\"primaryKeys\":[],"
                                  "\"options\":{}}"),
                     E_INVAL);
    assert_false(replaced(1));
    OK(&f,
       fx_create_as(
           &f, "d", "p",
           "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT\"},{\"id\":1,\"name\":\"dt\","
           "\"type\":\"STRING\"}],\"partitionKeys\":[\"dt\"],\"primaryKeys\":[],\"options\":{}}"));
    FAILS(
        &f, E_UNSUPPORTED, RES_TABLE, "partition keys",
        replace(
            "p",
            "{\"fields\":[{\"id\":0,\"name\":\"dt\",\"type\":\"INT\"}],\"partitionKeys\":[\"dt\"],"
            "\"primaryKeys\":[],\"options\":{}}"));
    OK(&f,
       replace(
           "p",
           "{\"fields\":[{\"id\":0,\"name\":\"dt\",\"type\":\"STRING\"},{\"id\":1,\"name\":\"z\","
           "\"type\":\"STRING\"}],\"partitionKeys\":[\"dt\"],\"primaryKeys\":[],\"options\":{}}"));
}

static struct draft rival;

static void rival_comes(struct fx *fx, enum fx_op op, bool after, str path)
{
    if (op != IO_put_if_absent || after || !memmem(path.p, path.len, "snapshot-", 9))
        return;
    fx_hook(fx, NULL, NULL);
    fx_foreign(fx, "t", &rival);
}

static void somebody_else_was_first(void **state)
{
    (void)state;
    struct draft d = {0};
    fx_grow(&f, "t", &d, 1, true);
    rival = fx_next(&f, &d, "rival", true);
    fx_hook(&f, rival_comes, NULL);
    FAILS(&f, E_BUSY, RES_TABLE, "nothing was replaced", replace("t", NEW_SCHEMA));
    assert_int_equal(fx_head_id(&f, "t"), 2);
    assert_false(replaced(2));
    OK(&f, replace("t", NEW_SCHEMA));
    assert_true(replaced(2));
}

static void prepare_table(unsigned kind)
{
    struct draft d = {0};
    fx_done(&f);
    fx_new(&f, kind);
    fx_table(&f, "t");
    fx_grow(&f, "t", &d, 2, true);
}

static void a_crash_anywhere(unsigned kind, bool power)
{
    bool lived = false;
    for (long k = 1; !lived; k++) {
        prepare_table(kind);
        fx_die_at(&f, k);
        int rc = replace("t", NEW_SCHEMA);
        lived = !fx_dead(&f);
        fx_crash(&f, power);
        (void)fx_head_id(&f, "t");
        (void)fx_intents_soon(&f, 0);
        bool yes = replaced(2);
        if (rc == 0)
            assert_true(yes);
        else if (rc != E_UNKNOWN)
            assert_false(yes);
        nat_state_right(&f, "t");
        if (!yes)
            OK(&f, replace("t", NEW_SCHEMA));
        the_new_table_is_used();
        assert_true(k < 60);
    }
}

static void a_crash_at_each_step(void **state)
{
    (void)state;
    a_crash_anywhere(0, false);
    a_crash_anywhere(FX_SQLITE | FX_PUT_AFTER, false);
}

static void a_power_loss_at_each_step(void **state)
{
    (void)state;
    a_crash_anywhere(FX_MEM, true);
}

static void a_fault_anywhere(void **state)
{
    (void)state;
    for (int op = 0; op < OP_COUNT; op++)
        for (int after = 0; after < 2; after++)
            for (int nth = 1;; nth++) {
                prepare_table(0);
                /* of what may have happened io.h and store.h say so */
                bool unknown = after && (op == IO_put_if_absent || op > IO_space);
                int code = unknown ? E_UNKNOWN : E_IO;
                FAIL(&f, .op = (enum fx_op)op, .nth = nth, .code = code, .after = after != 0);
                int rc = replace("t", NEW_SCHEMA);
                bool hit = f.plans[0].hits >= nth;
                fx_well(&f);
                bool yes = replaced(2);
                if (rc == 0)
                    assert_true(yes);
                else if (rc != E_UNKNOWN)
                    assert_false(yes);
                nat_state_right(&f, "t");
                if (!yes)
                    OK(&f, replace("t", NEW_SCHEMA));
                the_new_table_is_used();
                if (!hit)
                    break;
                assert_true(nth < 60);
            }
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(an_empty_snapshot_and_a_schema),
        T(a_table_without_snapshots),
        T(what_is_refused),
        T(somebody_else_was_first),
        T(a_crash_at_each_step),
        T(a_power_loss_at_each_step),
        T(a_fault_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
