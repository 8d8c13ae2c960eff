/* test_schema_change.c - the rules for changes of a schema, and the alter of a table around them: a
 * schema file, then its row, and what a failure or a crash between the two becomes. */
#include "tests/unit/catalog/fixture.h"

#include "catalog/schema_change.h"

static struct fx f;
static struct ctx cx;

static struct schema schema_of(const char *options)
{
    struct schema s;
    const struct json *j;
    char text[2000];
    snprintf(text, sizeof text,
             "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT NOT NULL\"},"
             "{\"id\":1,\"name\":\"p\",\"type\":\"INT NOT NULL\"},"
             "{\"id\":2,\"name\":\"v\",\"type\":\"STRING\"}],\"partitionKeys\":[\"p\"],"
             "\"primaryKeys\":[\"p\",\"k\"],\"options\":%s,\"comment\":\"c\"}",
             options);
    if (json_parse(&cx, str_dup(&cx.arena, str_of(text)), "test", &j) != 0 ||
        schema_decode(&cx, j, "schema", &s) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return s;
}

static int change(struct schema *s, bool snapshots, const char *changes)
{
    const struct json *j;
    ctx_reset_err(&cx);
    if (json_parse(&cx, str_of(changes), "test", &j) != 0)
        fail_msg("%s: %s", changes, cx.err.msg);
    struct table_schema ts = {.schema = *s, .highest_field_id = 2};
    int rc = schema_change_apply(&cx, j, snapshots, S("d.t"), &ts);
    assert_int_equal(cx.err.code, rc);
    assert_int_equal(ts.highest_field_id, 2);
    *s = ts.schema;
    return rc;
}

static const char *set(const char *key, const char *value)
{
    static char z[500];
    snprintf(z, sizeof z, "[{\"action\":\"setOption\",\"key\":\"%s\",\"value\":\"%s\"}]", key,
             value);
    return z;
}

static const char *unset(const char *key)
{
    static char z[500];
    snprintf(z, sizeof z, "[{\"action\":\"removeOption\",\"key\":\"%s\"}]", key);
    return z;
}

#define GOOD(options, snapshots, changes, key, want)                                               \
    do {                                                                                           \
        struct schema s_ = schema_of(options);                                                     \
        if (change(&s_, (snapshots), (changes)) != 0)                                              \
            fail_msg("%s", cx.err.msg);                                                            \
        str got_ = schema_option(&s_, (key));                                                      \
        assert_int_equal(got_.p != NULL, (want) != NULL);                                          \
        SAME(got_, str_of(want));                                                                  \
    } while (0)
#define BAD(options, snapshots, changes, code, part)                                               \
    do {                                                                                           \
        struct schema s_ = schema_of(options);                                                     \
        int rc_ = change(&s_, (snapshots), (changes));                                             \
        if (rc_ != (code) || !strstr(cx.err.msg, (part)))                                          \
            fail_msg("%s: %s", err_name(rc_), cx.err.msg);                                         \
    } while (0)

static void options_are_set_and_removed(void **state)
{
    (void)state;
    for (int snapshots = 0; snapshots < 2; snapshots++) {
        GOOD("{}", snapshots, set("write-only", "true"), "write-only", "true");
        GOOD("{\"write-only\":\"true\"}", snapshots, set("write-only", "false"), "write-only",
             "false");
        GOOD("{\"write-only\":\"true\"}", snapshots, unset("write-only"), "write-only", NULL);
        GOOD("{}", snapshots, unset("write-only"), "write-only", NULL);
        GOOD("{}", snapshots, set("a.b", ""), "a.b", "");
        GOOD("{}", snapshots, "[]", "x", NULL);
    }
    struct schema s = schema_of("{}");
    assert_int_equal(change(&s, true,
                            "[{\"action\":\"setOption\",\"key\":\"a\",\"value\":\"1\"},"
                            "{\"action\":\"removeOption\",\"key\":\"a\"},"
                            "{\"action\":\"setOption\",\"key\":\"b\",\"value\":\"2\"},"
                            "{\"action\":\"updateComment\",\"comment\":\"new\"}]"),
                     0);
    assert_null(schema_option(&s, "a").p);
    SAME(schema_option(&s, "b"), S("2"));
    SAME(s.comment, S("new"));
    assert_int_equal(change(&s, true, "[{\"action\":\"updateComment\",\"comment\":null}]"), 0);
    assert_null(s.comment.p);
    assert_int_equal(change(&s, true, "[{\"action\":\"updateComment\",\"comment\":\"\"}]"), 0);
    assert_non_null(s.comment.p);
}

/* The last one counts, also when it says what was so before all of them. */
static void changes_are_applied_in_their_order(void **state)
{
    (void)state;
    GOOD("{\"a\":\"1\"}", false,
         "[{\"action\":\"setOption\",\"key\":\"a\",\"value\":\"2\"},"
         "{\"action\":\"setOption\",\"key\":\"a\",\"value\":\"1\"}]",
         "a", "1");
    GOOD("{\"a\":\"1\"}", false,
         "[{\"action\":\"removeOption\",\"key\":\"a\"},"
         "{\"action\":\"setOption\",\"key\":\"a\",\"value\":\"1\"}]",
         "a", "1");
}

static void options_that_shape_files_are_fixed_with_snapshots(void **state)
{
    (void)state;
    static const char *const fixed[] = {"bucket-key",
                                        "bucket-function.type",
                                        "data-file.path-directory",
                                        "merge-engine",
                                        "sequence.snapshot-ordering",
                                        "aggregation.remove-record-on-delete",
                                        "partial-update.remove-record-on-delete",
                                        "partial-update.remove-record-on-sequence-group",
                                        "rowkind.field",
                                        "primary-key.nullable",
                                        "dynamic-bucket.initial-buckets",
                                        "force-lookup",
                                        "row-tracking.enabled",
                                        "data-evolution.enabled",
                                        "index-file-in-data-file-dir",
                                        "blob-field",
                                        "blob-descriptor-field",
                                        "blob-view-field",
                                        "pk-clustering-override"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        char part[100];
        snprintf(part, sizeof part, "Change '%s' is not supported yet.", fixed[i]);
        BAD("{}", true, set(fixed[i], "x"), E_UNSUPPORTED, part);
        BAD("{}", true, unset(fixed[i]), E_UNSUPPORTED, part);
        GOOD("{}", false, set(fixed[i], "true"), fixed[i], "true");
    }
    /* The value it has already is no change. */
    GOOD("{\"merge-engine\":\"aggregation\"}", true, set("merge-engine", "aggregation"),
         "merge-engine", "aggregation");
}

static void type_and_path_are_never_changed(void **state)
{
    (void)state;
    for (int snapshots = 0; snapshots < 2; snapshots++) {
        BAD("{}", snapshots, set("type", "format-table"), E_UNSUPPORTED, "Change 'type'");
        BAD("{}", snapshots, unset("type"), E_UNSUPPORTED, "Change 'type'");
        BAD("{}", snapshots, set("path", "/x"), E_UNSUPPORTED, "path");
        BAD("{}", snapshots, set("Path", "/x"), E_UNSUPPORTED, "Path");
        GOOD("{}", snapshots, set("type", "table"), "type", NULL); /* that is what it is */
        GOOD("{}", snapshots, set("type", "TABLE"), "type", NULL);
    }
}

static void keys_given_as_options(void **state)
{
    (void)state;
    /* They live in the schema's lists; the same keys are no change, in any spacing. */
    for (int snapshots = 0; snapshots < 2; snapshots++) {
        GOOD("{}", snapshots, set("primary-key", "p,k"), "primary-key", NULL);
        GOOD("{}", snapshots, set("primary-key", " p , k ,"), "primary-key", NULL);
        GOOD("{}", snapshots, set("partition", "p"), "partition", NULL);
    }
    static const char *const keys[] = {"k,p", "p", "p,k,v", ""};
    for (int i = 0; i < 4; i++) {
        BAD("{}", true, set("primary-key", keys[i]), E_UNSUPPORTED, "Change 'primary-key'");
        BAD("{}", false, set("primary-key", keys[i]), E_INVAL, "both given");
    }
    BAD("{}", true, set("partition", "k"), E_UNSUPPORTED, "Change 'partition'");
    BAD("{}", false, set("partition", "k"), E_INVAL, "both given");
    BAD("{}", true, unset("primary-key"), E_UNSUPPORTED, "Change 'primary-key'");
    GOOD("{}", false, unset("primary-key"), "primary-key", NULL);
}

static void the_primary_key_of_an_empty_table(void **state)
{
    (void)state;
    const char *drop = "[{\"action\":\"dropPrimaryKey\"}]";
    BAD("{}", true, drop, E_UNSUPPORTED, "Cannot drop primary keys on a non-empty table.");
    struct schema s = schema_of("{}");
    assert_int_equal(change(&s, false, drop), 0);
    assert_int_equal(s.primary_keys.n, 0);
    assert_false(schema_field(&s, S("k"))->type->nullable); /* what it made of the columns stays */
    assert_int_equal(change(&s, false, drop), 0);
    assert_int_equal(change(&s, false, set("primary-key", "v, p")), 0); /* another one */
    assert_int_equal(s.primary_keys.n, 2);
    SAME(s.primary_keys.items[0], S("v"));
    assert_null(schema_option(&s, "primary-key").p);
    assert_false(schema_field(&s, S("v"))->type->nullable);
    assert_int_equal(change(&s, false, drop), 0);
    assert_int_equal(change(&s, false, set("primary-key", "nix")), E_INVAL);
}

static void too_many_changes(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_addz(&b, "[{}");
    for (int i = 0; i < SCHEMA_CHANGES_MAX; i++)
        buf_addz(&b, ",{}");
    buf_addz(&b, "]");
    BAD("{}", false, buf_z(&b), E_TOOBIG, "send at most");
    buf_done(&b);
}

static void buckets(void **state)
{
    (void)state;
    GOOD("{\"bucket\":\"4\"}", true, set("bucket", "8"), "bucket", "8");
    GOOD("{\"bucket\":\"-2\"}", true, set("bucket", "8"), "bucket", "8");
    BAD("{}", true, set("bucket", "8"), E_UNSUPPORTED, "when it is -1");
    BAD("{\"bucket\":\"-1\"}", true, set("bucket", "8"), E_UNSUPPORTED, "when it is -1");
    BAD("{\"bucket\":\"4\"}", true, set("bucket", "-1"), E_UNSUPPORTED, "to -1");
    BAD("{\"bucket\":\"4\"}", true, set("bucket", "many"), E_INVAL, "integer");
    BAD("{\"bucket\":\"4\"}", true, unset("bucket"), E_UNSUPPORTED, "Cannot reset bucket.");
    GOOD("{\"bucket\":\"4\"}", false, set("bucket", "-1"), "bucket", "-1");
    GOOD("{\"bucket\":\"4\"}", false, unset("bucket"), "bucket", NULL);
}

static void deletion_vectors(void **state)
{
    (void)state;
    const char *dv = "deletion-vectors.enabled";
    BAD("{}", true, set(dv, "true"), E_UNSUPPORTED, "from false to true");
    BAD("{\"deletion-vectors.enabled\":\"true\"}", true, set(dv, "false"), E_UNSUPPORTED,
        "from true to false");
    BAD("{\"deletion-vectors.enabled\":\"true\"}", true, unset(dv), E_UNSUPPORTED,
        "from true to false");
    GOOD("{}", true, set(dv, "false"), dv, "false");
    GOOD("{\"deletion-vectors.enabled\":\"true\"}", true, set(dv, "TRUE"), dv, "TRUE");
    GOOD("{}", true, unset(dv), dv, NULL);
    GOOD("{\"deletion-vectors.modifiable\":\"true\"}", true, set(dv, "true"), dv, "true");
    GOOD("{}", false, set(dv, "true"), dv, "true");
    /* What a request changes itself does not count: the rules look at the table as it was. */
    BAD("{}", true,
        "[{\"action\":\"setOption\",\"key\":\"deletion-vectors.modifiable\",\"value\":\"true\"},"
        "{\"action\":\"setOption\",\"key\":\"deletion-vectors.enabled\",\"value\":\"true\"}]",
        E_UNSUPPORTED, "from false to true");
}

static void one_way_options(void **state)
{
    (void)state;
    static const char *const keys[] = {"ignore-delete", "ignore-update-before"};
    for (int i = 0; i < 2; i++) {
        char was[100];
        snprintf(was, sizeof was, "{\"%s\":\"true\"}", keys[i]);
        BAD(was, true, set(keys[i], "false"), E_UNSUPPORTED, "from true to false");
        GOOD("{}", true, set(keys[i], "true"), keys[i], "true");
        GOOD(was, false, set(keys[i], "false"), keys[i], "false");
        GOOD(was, true, unset(keys[i]), keys[i], NULL); /* Paimon does not look at this */
    }
}

static void clustering(void **state)
{
    (void)state;
    const char *on = "{\"pk-clustering-override\":\"true\",\"clustering.columns\":\"v\"}";
    BAD(on, true, set("clustering.columns", "k"), E_UNSUPPORTED,
        "Cannot change clustering.columns");
    BAD(on, true, unset("clustering.columns"), E_UNSUPPORTED, "Cannot reset clustering.columns");
    GOOD("{\"clustering.columns\":\"v\"}", true, set("clustering.columns", "k"),
         "clustering.columns", "k");
}

static void other_actions(void **state)
{
    (void)state;
    BAD("{}", false, "[{\"action\":\"explode\"}]", E_INVAL, "explode");
    BAD("{}", false, "[{}]", E_INVAL, "change.action");
    BAD("{}", false, "[{\"action\":5}]", E_INVAL, "change.action");
    BAD("{}", false, "[5]", E_INVAL, "change");
    BAD("{}", false, "[null]", E_INVAL, "change");
    BAD("{}", false, "[{\"action\":\"setOption\"}]", E_INVAL, "change.key");
    BAD("{}", false, "[{\"action\":\"setOption\",\"key\":\"k\"}]", E_INVAL, "change.value");
    BAD("{}", false, "[{\"action\":\"setOption\",\"key\":\"k\",\"value\":5}]", E_INVAL, "value");
    BAD("{}", false, "[{\"action\":\"removeOption\"}]", E_INVAL, "change.key");
    BAD("{}", false, "[{\"action\":\"updateComment\",\"comment\":5}]", E_INVAL, "comment");
}

/* --- the alter of a table --------------------------------------------------------------------- */

#define SET(k, v) "[{\"action\":\"setOption\",\"key\":\"" k "\",\"value\":\"" v "\"}]"

static str option(const char *table, const char *key) /* as GET table has it */
{
    struct table_info in;
    const struct json *j;
    str v;
    char path[] = "schema";
    OK(&f, fx_get(&f, table, &in));
    assert_int_equal(json_parse(&f.cx, in.row.schema_json, "schema", &j), 0);
    assert_int_equal(json_opt_str(&f.cx, json_get(j, "options"), path, key, &v), 0);
    return v;
}

static int64_t schema_id(const char *table)
{
    struct table_info in;
    OK(&f, fx_get(&f, table, &in));
    return in.row.schema_id;
}

static str schema_path(const char *table, int64_t id)
{
    return layout_schema(&f.cx.arena, fx_dir(&f, table), S("main"), id);
}

static struct table_schema file(const char *table, int64_t id)
{
    struct table_schema ts;
    str path = schema_path(table, id);
    assert_int_equal(schema_decode_file(&f.cx, fx_read(&f, path), path, &ts), 0);
    return ts;
}

static void an_alter_writes_a_file_and_its_row(void **state)
{
    (void)state;
    OK(&f, fx_alter(&f, "t", SET("write-only", "true")));
    assert_int_equal(schema_id("t"), 1);
    SAME(option("t", "write-only"), S("true"));
    SAME(option("t", "bucket"), S("1"));
    struct table_schema ts = file("t", 1);
    assert_int_equal(ts.id, 1);
    SAME(schema_option(&ts.schema, "write-only"), S("true"));
    assert_int_equal(ts.schema.n_fields, 2);
    OK(&f, fx_alter(&f, "t", "[{\"action\":\"updateComment\",\"comment\":\"new\"}]"));
    assert_int_equal(schema_id("t"), 2);
    SAME(option("t", "write-only"), S("true"));
    SAME(file("t", 2).schema.comment, S("new"));
    fx_restart(&f);
    assert_int_equal(schema_id("t"), 2);
    FAILS(&f, E_INVAL, RES_NONE, "explode", fx_alter(&f, "t", "[{\"action\":\"explode\"}]"));
    FAILS(&f, E_INVAL, RES_COLUMN, "bucket-key", fx_alter(&f, "t", SET("bucket-key", "nix")));
    assert_int_equal(schema_id("t"), 2);
    assert_false(fx_exists(&f, schema_path("t", 3)));
}

static void snapshots_make_options_fixed(void **state)
{
    (void)state;
    struct draft d = {0};
    OK(&f, fx_alter(&f, "t", SET("merge-engine", "aggregation")));
    fx_grow(&f, "t", &d, 1, true);
    FAILS(&f, E_UNSUPPORTED, RES_NONE, "merge-engine",
          fx_alter(&f, "t", SET("merge-engine", "deduplicate")));
    assert_int_equal(schema_id("t"), 1);
}

static void what_alter_refuses(void **state)
{
    (void)state;
    FAILS(&f, E_NOTFOUND, RES_TABLE, "x", fx_alter(&f, "x", SET("a", "b")));
    f.cat->o.disk_min_free_bytes = INT64_MAX;
    FAILS(&f, E_BUSY, RES_NONE, "disk.min-free", fx_alter(&f, "t", SET("a", "b")));
    f.cat->o.disk_min_free_bytes = 0;
    struct ctx c2;
    fx_begin(&c2);
    c2.deadline_ms = clock_mono_ms() - 1;
    FAILS(&f, E_TIMEOUT, RES_NONE, "nothing was done",
          fx_end(&f, &c2, turn_on(&c2, &f, "t", turn_alter, (void *)fx_json(&f, SET("a", "b")))));
    assert_int_equal(schema_id("t"), 0);
    fx_del(&f, schema_path("t", 0));
    FAILS(&f, E_CORRUPT, RES_TABLE, "schema file 0", fx_alter(&f, "t", SET("a", "b")));
}

static void put_foreign_schema(int64_t id, const char *key, const char *value)
{
    struct buf b = {0};
    struct json_out o;
    struct table_schema ts = file("t", 0);
    ts.id = id;
    assert_int_equal(schema_set_option(&f.cx, &ts.schema, str_of(key), str_of(value)), 0);
    json_out_init(&o, &b);
    schema_encode_file(&o, &ts);
    fx_write(&f, schema_path("t", id), buf_str(&b));
    buf_done(&b);
}

static void foreign_schemas_are_adopted(void **state)
{
    (void)state;
    put_foreign_schema(1, "theirs", "1");
    put_foreign_schema(2, "theirs", "2");
    OK(&f, fx_alter(&f, "t", SET("ours", "x")));
    assert_int_equal(schema_id("t"), 3);
    SAME(option("t", "theirs"), S("2"));
    SAME(option("t", "ours"), S("x"));
    put_foreign_schema(4, "theirs", "4");
    fx_restart(&f); /* a load finds them too */
    assert_int_equal(schema_id("t"), 4);
    SAME(option("t", "theirs"), S("4"));
}

static void what_is_adopted_is_made_durable(void **state)
{
    (void)state;
    fx_done(&f);
    fx_new(&f, FX_MEM);
    fx_table(&f, "t");
    put_foreign_schema(1, "theirs", "1"); /* not synced by its writer */
    fx_restart(&f);
    assert_int_equal(schema_id("t"), 1);
    fx_crash(&f, true);
    assert_int_equal(schema_id("t"), 1);
    struct table_schema ts = file("t", 1);
    SAME(schema_option(&ts.schema, "theirs"), S("1"));
}

static void a_foreign_schema_comes_first(struct fx *fx, enum fx_op op, bool after, str path)
{
    if (op != IO_put_if_absent || after || !memmem(path.p, path.len, "/schema-", 8))
        return;
    fx_hook(fx, NULL, NULL);
    put_foreign_schema(1, "theirs", "1");
}

static void a_lost_race_is_run_again(void **state)
{
    (void)state;
    fx_hook(&f, a_foreign_schema_comes_first, NULL);
    OK(&f, fx_alter(&f, "t", SET("ours", "x")));
    assert_int_equal(schema_id("t"), 2);
    SAME(option("t", "theirs"), S("1"));
    SAME(option("t", "ours"), S("x"));
}

static void unreadable_schemas(void **state)
{
    (void)state;
    struct draft d = {0};
    static const char *const garbage[] = {"{", "", "[]", "{\"version\":99}"};
    fx_grow(&f, "t", &d, 1, true);
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        fx_write(&f, schema_path("t", 1), str_of(garbage[i]));
        fx_restart(&f);
        assert_int_equal(fx_head_id(&f, "t"), d.id); /* reads and commits go on */
        assert_int_equal(schema_id("t"), 0);
        fx_grow(&f, "t", &d, 1, true);
        int rc = fx_alter(&f, "t", SET("a", "b")); /* only changes of the schema wait */
        assert_true(rc == E_CORRUPT || rc == E_UNSUPPORTED);
    }
    put_foreign_schema(1, "x", "y");
    str two = fx_read(&f, schema_path("t", 1));
    fx_write(&f, schema_path("t", 2), two); /* says it is 1 */
    fx_restart(&f);
    assert_int_equal(schema_id("t"), 1);
    FAILS(&f, E_CORRUPT, RES_NONE, "holds schema 1", fx_alter(&f, "t", SET("a", "b")));
    fx_del(&f, schema_path("t", 2));
    OK(&f, fx_alter(&f, "t", SET("a", "b")));
    assert_int_equal(schema_id("t"), 2);
}

static void a_row_that_fails_after_the_file(void **state)
{
    (void)state;
    static const int codes[] = {E_IO, E_BUSY, E_UNKNOWN};
    for (int i = 0; i < 3; i++) {
        char key[] = "k0";
        key[1] = (char)('0' + i);
        char changes[200];
        snprintf(changes, sizeof changes,
                 "[{\"action\":\"setOption\",\"key\":\"%s\",\"value\":\"v\"}]", key);
        FAIL(&f, .op = ST_table_alter, .code = codes[i]);
        FAILS(&f, E_UNKNOWN, RES_NONE, "read the table again", fx_alter(&f, "t", changes));
        fx_well(&f);
        SAME(option("t", key), S("v")); /* a later read tells */
        assert_int_equal(schema_id("t"), i + 1);
    }
    FAIL(&f, .op = ST_table_alter, .code = E_UNKNOWN, .after = true);
    FAILS(&f, E_UNKNOWN, RES_NONE, "read the table again", fx_alter(&f, "t", SET("z", "v")));
    fx_well(&f);
    SAME(option("t", "z"), S("v"));
    assert_int_equal(schema_id("t"), 4);
    FAIL(&f, .op = IO_put_if_absent, .code = E_UNKNOWN, .after = true);
    FAILS(&f, E_UNKNOWN, RES_NONE, "read the table again", fx_alter(&f, "t", SET("y", "v")));
    fx_well(&f);
    SAME(option("t", "y"), S("v"));
    FAIL(&f, .op = IO_put_if_absent, .code = E_UNKNOWN);
    FAILS(&f, E_UNKNOWN, RES_NONE, "read the table again", fx_alter(&f, "t", SET("x", "v")));
    fx_well(&f);
    assert_null(option("t", "x").p);
    assert_int_equal(schema_id("t"), 5);
    OK(&f, fx_alter(&f, "t", SET("x", "v")));
}

static void before_the_file_nothing_is_done(void **state)
{
    (void)state;
    static const struct plan plans[] = {{.op = ST_branch_get, .code = E_IO},
                                        {.op = IO_read, .nth = 1, .code = E_IO},
                                        {.op = IO_read, .nth = 2, .code = E_IO},
                                        {.op = IO_put_if_absent, .code = E_IO},
                                        {.op = IO_put_if_absent, .code = E_BUSY}};
    assert_int_equal(fx_head_id(&f, "t"), 0);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        fx_plan(&f, plans[i]);
        FAILS(&f, plans[i].code, RES_NONE, "the test", fx_alter(&f, "t", SET("a", "b")));
        fx_well(&f);
        assert_int_equal(schema_id("t"), 0);
        assert_false(fx_exists(&f, schema_path("t", 1)));
    }
}

static void somebody_else_adopts_it(struct fx *fx, enum fx_op op, bool after, str path)
{
    (void)path;
    if (op != ST_table_alter || after)
        return;
    fx_hook(fx, NULL, NULL);
    struct table_row row = fx_row(fx, "t");
    struct audit au = {0};
    struct ctx c2;
    ctx_init(&c2, 1 << 20);
    struct schema_set to = {1, S("{\"options\":{}}"), S("table"), 1, S("latch")};
    if (STORE(fx->st, table_alter, &c2, row.id, S("main"), 0, &to, &au) < 0)
        abort();
    ctx_done(&c2);
}

static void a_loader_adopts_the_file_first(void **state)
{
    (void)state;
    fx_hook(&f, somebody_else_adopts_it, NULL);
    OK(&f, fx_alter(&f, "t", SET("a", "b"))); /* it did happen */
    assert_int_equal(fx_row(&f, "t").schema_id, 1);
}

static void dropped_between_file_and_row(struct fx *fx, enum fx_op op, bool after, str path)
{
    (void)path;
    if (op != ST_table_alter || after)
        return;
    fx_hook(fx, NULL, NULL);
    fx_drop_in_store(fx, fx_row(fx, "t").id);
}

static void a_table_dropped_under_an_alter(void **state)
{
    (void)state;
    fx_hook(&f, dropped_between_file_and_row, NULL);
    FAILS(&f, E_NOTFOUND, RES_TABLE, "d.t", fx_alter(&f, "t", SET("a", "b")));
}

static void a_crash_anywhere_in_an_alter(void **state)
{
    (void)state;
    for (int power = 0; power < 2; power++) {
        bool lived = false;
        for (long k = 1; !lived; k++) {
            fx_done(&f);
            fx_new(&f, FX_MEM);
            fx_table(&f, "t");
            OK(&f, fx_alter(&f, "t", SET("a", "0")));
            fx_die_at(&f, k);
            int rc = fx_alter(&f, "t", SET("a", "1"));
            lived = !fx_dead(&f);
            fx_crash(&f, power);
            int64_t id = schema_id("t");
            assert_true(id == 1 || id == 2);
            if (rc == 0)
                assert_int_equal(id, 2);
            else if (rc != E_UNKNOWN)
                assert_int_equal(id, 1);
            assert_int_equal(fx_exists(&f, schema_path("t", 2)), id == 2);
            SAME(option("t", "a"), id == 2 ? S("1") : S("0"));
            OK(&f, fx_alter(&f, "t", SET("a", "2")));
            assert_int_equal(schema_id("t"), id + 1);
            assert_true(k < 30);
        }
    }
}

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, (size_t)64 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

static int fx_setup(void **state)
{
    (void)state;
    fx_new(&f, 0);
    fx_table(&f, "t");
    return 0;
}

static int fx_teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

int main(void)
{
#define P(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
#define T(fn) cmocka_unit_test_setup_teardown(fn, fx_setup, fx_teardown)
    const struct CMUnitTest tests[] = {
        P(options_are_set_and_removed),
        P(changes_are_applied_in_their_order),
        P(options_that_shape_files_are_fixed_with_snapshots),
        P(type_and_path_are_never_changed),
        P(keys_given_as_options),
        P(buckets),
        P(deletion_vectors),
        P(one_way_options),
        P(clustering),
        P(the_primary_key_of_an_empty_table),
        P(other_actions),
        P(too_many_changes),
        T(an_alter_writes_a_file_and_its_row),
        T(snapshots_make_options_fixed),
        T(what_alter_refuses),
        T(foreign_schemas_are_adopted),
        T(what_is_adopted_is_made_durable),
        T(a_lost_race_is_run_again),
        T(unreadable_schemas),
        T(a_row_that_fails_after_the_file),
        T(before_the_file_nothing_is_done),
        T(a_loader_adopts_the_file_first),
        T(a_table_dropped_under_an_alter),
        T(a_crash_anywhere_in_an_alter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
