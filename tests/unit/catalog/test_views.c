/* test_views.c - views and functions in the catalog: what is accepted, how it is stored, what each
 * alteration does, who wins when two alter at once. */
#include "tests/unit/catalog/fixture.h"

#define FIELDS  "[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"}]"
#define VIEW(q) "{\"fields\":" FIELDS ",\"query\":\"" q "\",\"dialects\":{},\"options\":{}}"

static struct fx f;

static int setup(void **state)
{
    (void)state;
    fx_new(&f, 0);
    return fx_db(&f, "d");
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

/* --- short forms ------------------------------------------------------------------------------ */

static int view_create(const char *db, const char *name, const char *schema)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(&f, &cx,
                  cat_view_create(&cx, f.cat, f.w, str_of(db), str_of(name), fx_json(&f, schema)));
}

static int function_create(const char *name, const char *function)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(
        &f, &cx, cat_function_create(&cx, f.cat, f.w, S("d"), str_of(name), fx_json(&f, function)));
}

static int view_alter(const char *name, const char *changes)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(&f, &cx,
                  cat_view_alter(&cx, f.cat, f.w, S("d"), str_of(name), fx_json(&f, changes)));
}

static int function_alter(const char *name, const char *changes)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(&f, &cx,
                  cat_function_alter(&cx, f.cat, f.w, S("d"), str_of(name), fx_json(&f, changes)));
}

static int drop(enum object_kind kind, const char *name)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(&f, &cx, cat_object_drop(&cx, f.cat, f.w, kind, S("d"), str_of(name)));
}

static int view_rename(const char *from, const char *to_db, const char *to)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(
        &f, &cx, cat_view_rename(&cx, f.cat, f.w, S("d"), str_of(from), str_of(to_db), str_of(to)));
}

static int get(enum object_kind kind, const char *name, struct object_row *ret)
{
    struct ctx cx;
    struct object_row r;
    fx_begin(&cx);
    int rc = cat_object_get(&cx, f.cat, f.w, kind, S("d"), str_of(name), &r);
    if (rc == 0 && ret) {
        *ret = r;
        ret->id = str_dup(&f.cx.arena, r.id);
        ret->name = str_dup(&f.cx.arena, r.name);
        ret->json = str_dup(&f.cx.arena, r.json);
        ret->stamp.owner = str_dup(&f.cx.arena, r.stamp.owner);
    }
    return fx_end(&f, &cx, rc);
}

static str json_of(enum object_kind kind, const char *name)
{
    struct object_row r = {0};
    OK(&f, get(kind, name, &r));
    return r.json;
}

/* --- views ------------------------------------------------------------------------------------ */

static void a_view_is_kept_as_java_reads_it(void **state)
{
    (void)state;
    struct object_row r;
    OK(&f,
       view_create("d", "v",
                   "{\"query\":\"select \\\"x\\\"\", \"new\":[1], \"comment\":\"\",\"fields\":"
                   "[{\"type\":\"int not null\",\"name\":\"a\",\"id\":7,\"description\":null},"
                   "{\"id\":8,\"name\":\"b\",\"type\":{\"type\":\"ARRAY\",\"element\":\"STRING\","
                   "\"nullable\":true}}],\"options\":{\"k\":\"v\"}}"));
    OK(&f, get(OBJECT_VIEW, "v", &r));
    assert_int_equal(r.id.len, UUID_LEN);
    SAME(r.stamp.owner, S("ann"));
    SAME(r.json,
         S("{\"fields\":[{\"id\":7,\"name\":\"a\",\"type\":\"INT NOT NULL\"},"
           "{\"id\":8,\"name\":\"b\",\"type\":{\"type\":\"ARRAY\",\"element\":\"STRING\"}}],"
           "\"query\":\"select \\\"x\\\"\",\"dialects\":{},\"options\":{\"k\":\"v\"},"
           "\"comment\":\"\"}"));
    OK(&f, view_create("d", "w",
                       "{\"query\":\"q\",\"fields\":[],\"options\":null,\"dialects\":null,"
                       "\"comment\":null}"));
    SAME(json_of(OBJECT_VIEW, "w"),
         S("{\"fields\":[],\"query\":\"q\",\"dialects\":{},\"options\":{}}"));
    FAILS(&f, E_EXISTS, RES_VIEW, "d.v exists", view_create("d", "v", VIEW("q")));
    FAILS(&f, E_NOTFOUND, RES_DATABASE, "no", view_create("no", "v", VIEW("q")));
    FAILS(&f, E_NOTFOUND, RES_VIEW, "d.x", get(OBJECT_VIEW, "x", NULL));
    FAILS(&f, E_NOTFOUND, RES_FUNCTION, "d.v", get(OBJECT_FUNCTION, "v", NULL));
}

static void views_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *schema, *says;
    } bad[] = {
        {"{\"query\":\"q\"}", "schema.fields"},
        {"{\"fields\":{},\"query\":\"q\"}", "schema.fields"},
        {"{\"fields\":[]}", "schema.query"},
        {"{\"fields\":[],\"query\":1}", "schema.query"},
        {"{\"fields\":[],\"query\":null}", "schema.query"},
        {"{\"fields\":[1],\"query\":\"q\"}", "a field must be an object"},
        {"{\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INTT\"}],\"query\":\"q\"}", "INTT"},
        {"{\"fields\":[],\"query\":\"q\",\"dialects\":[]}", "schema.dialects"},
        {"{\"fields\":[],\"query\":\"q\",\"dialects\":{\"s\":1}}", "schema.dialects.s"},
        {"{\"fields\":[],\"query\":\"q\",\"dialects\":{\"s\":null}}", "schema.dialects.s"},
        {"{\"fields\":[],\"query\":\"q\",\"options\":{\"o\":1}}", "schema.options"},
        {"{\"fields\":[],\"query\":\"q\",\"comment\":1}", "schema.comment"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        FAILS(&f, E_INVAL, RES_NONE, bad[i].says, view_create("d", "v", bad[i].schema));
    FAILS(&f, E_INVAL, RES_COLUMN, "unique",
          view_create("d", "v",
                      "{\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},{\"id\":1,"
                      "\"name\":\"a\",\"type\":\"INT\"}],\"query\":\"q\"}"));
    FAILS(&f, E_INVAL, RES_VIEW, "'$'", view_create("d", "v$x", VIEW("q")));
    FAILS(&f, E_INVAL, RES_NONE, "view name", view_create("d", "", VIEW("q")));
    FAILS(&f, E_INVAL, RES_NONE, "view name", view_create("d", "..", VIEW("q")));
    FAILS(&f, E_NOTFOUND, RES_VIEW, "", get(OBJECT_VIEW, "v", NULL));
    assert_int_equal(fx_calls(&f, ST_object_create), 0);
}

static void alterations_of_a_view(void **state)
{
    (void)state;
#define AROUND(dialects, options, end)                                                             \
    S("{\"fields\":" FIELDS ",\"query\":\"q\",\"dialects\":" dialects ",\"options\":" options end  \
      "}")
    OK(&f, view_create("d", "v", VIEW("q")));
    OK(&f, view_alter("v", "[]"));
    SAME(json_of(OBJECT_VIEW, "v"), AROUND("{}", "{}", ""));
    OK(&f, view_alter("v", "[{\"action\":\"setOption\",\"key\":\"k\",\"value\":\"1\"},"
                           "{\"action\":\"updateComment\",\"comment\":\"c\"},"
                           "{\"action\":\"addDialect\",\"dialect\":\"spark\",\"query\":\"s\"},"
                           "{\"action\":\"addDialect\",\"dialect\":\"flink\",\"query\":\"f\"}]"));
    SAME(json_of(OBJECT_VIEW, "v"),
         AROUND("{\"spark\":\"s\",\"flink\":\"f\"}", "{\"k\":\"1\"}", ",\"comment\":\"c\""));
    /* In their order: what one adds the next may change. */
    OK(&f, view_alter("v", "[{\"action\":\"dropDialect\",\"dialect\":\"spark\"},"
                           "{\"action\":\"addDialect\",\"dialect\":\"spark\",\"query\":\"s2\"},"
                           "{\"action\":\"updateDialect\",\"dialect\":\"spark\",\"query\":\"s3\"},"
                           "{\"action\":\"removeOption\",\"key\":\"k\"},"
                           "{\"action\":\"removeOption\",\"key\":\"never\"},"
                           "{\"action\":\"updateComment\",\"comment\":null}]"));
    SAME(json_of(OBJECT_VIEW, "v"), AROUND("{\"spark\":\"s3\",\"flink\":\"f\"}", "{}", ""));
    static const struct {
        const char *change;
        int code;
        enum res res;
        const char *says;
    } bad[] = {
        {"{\"action\":\"addDialect\",\"dialect\":\"flink\",\"query\":\"x\"}", E_EXISTS, RES_DIALECT,
         "flink"},
        {"{\"action\":\"updateDialect\",\"dialect\":\"trino\",\"query\":\"x\"}", E_NOTFOUND,
         RES_DIALECT, "trino"},
        {"{\"action\":\"dropDialect\",\"dialect\":\"trino\"}", E_NOTFOUND, RES_DIALECT, "trino"},
        {"{\"action\":\"addDialect\",\"query\":\"x\"}", E_INVAL, RES_NONE, "changes[1].dialect"},
        {"{\"action\":\"addDialect\",\"dialect\":\"n\"}", E_INVAL, RES_NONE, "changes[1].query"},
        {"{\"action\":\"addDialect\",\"dialect\":\"n\",\"query\":{}}", E_INVAL, RES_NONE,
         "changes[1].query"},
        {"{\"action\":\"setOption\",\"key\":\"k\"}", E_INVAL, RES_NONE, "changes[1].value"},
        {"{\"action\":\"removeOption\"}", E_INVAL, RES_NONE, "changes[1].key"},
        {"{\"action\":\"updateComment\",\"comment\":1}", E_INVAL, RES_NONE, "changes[1].comment"},
        {"{\"action\":\"addDefinition\",\"name\":\"n\"}", E_INVAL, RES_NONE, "addDefinition"},
        {"{}", E_INVAL, RES_NONE, "changes[1].action"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) { /* all or nothing */
        str all = fx_text(&f, "[{\"action\":\"setOption\",\"key\":\"z\",\"value\":\"1\"},%s]",
                          bad[i].change);
        FAILS(&f, bad[i].code, bad[i].res, bad[i].says, view_alter("v", all.p));
    }
    SAME(json_of(OBJECT_VIEW, "v"), AROUND("{\"spark\":\"s3\",\"flink\":\"f\"}", "{}", ""));
    FAILS(&f, E_NOTFOUND, RES_VIEW, "d.no", view_alter("no", "[]"));
}

static void renamed_and_dropped(void **state)
{
    (void)state;
    struct object_row a, b;
    OK(&f, fx_db(&f, "e"));
    OK(&f, view_create("d", "v", VIEW("q")));
    OK(&f, view_create("d", "w", VIEW("q")));
    OK(&f, get(OBJECT_VIEW, "v", &a));
    FAILS(&f, E_EXISTS, RES_VIEW, "w", view_rename("v", "d", "w"));
    FAILS(&f, E_NOTFOUND, RES_VIEW, "x", view_rename("x", "d", "y"));
    FAILS(&f, E_NOTFOUND, RES_DATABASE, "no", view_rename("v", "no", "y"));
    FAILS(&f, E_INVAL, RES_VIEW, "'$'", view_rename("v", "d", "y$z"));
    OK(&f, view_rename("v", "d", "x"));
    OK(&f, get(OBJECT_VIEW, "x", &b));
    SAME(a.id, b.id);
    SAME(a.json, b.json);
    OK(&f, view_rename("x", "e", "w"));
    FAILS(&f, E_NOTFOUND, RES_VIEW, "d.x", drop(OBJECT_VIEW, "x"));
    OK(&f, drop(OBJECT_VIEW, "w"));
    FAILS(&f, E_NOTFOUND, RES_VIEW, "d.w", drop(OBJECT_VIEW, "w"));
    FAILS(&f, E_NOTFOUND, RES_FUNCTION, "d.w", drop(OBJECT_FUNCTION, "w"));
}

/* Neither of a table and a view hides the other. */
static void a_view_may_be_called_like_a_table(void **state)
{
    (void)state;
    struct table_info t;
    OK(&f, fx_create(&f, "n"));
    OK(&f, view_create("d", "n", VIEW("q")));
    OK(&f, view_create("d", "m", VIEW("q")));
    OK(&f, fx_create(&f, "m"));
    OK(&f, fx_drop(&f, "n"));
    OK(&f, get(OBJECT_VIEW, "n", NULL));
    OK(&f, drop(OBJECT_VIEW, "m"));
    OK(&f, fx_get(&f, "m", &t));
    OK(&f, fx_db_drop(&f, "d"));
    FAILS(&f, E_NOTFOUND, RES_DATABASE, "d", get(OBJECT_VIEW, "n", NULL));
}

/* --- functions -------------------------------------------------------------------------------- */

#define FILE_DEF                                                                                   \
    "{\"type\":\"file\",\"fileResources\":[{\"resourceType\":\"jar\",\"uri\":\"/a.jar\"}],"        \
    "\"language\":\"java\",\"className\":\"C\",\"functionName\":null,\"later\":{\"x\":1}}"

static void a_function_is_kept_as_it_was_sent(void **state)
{
    (void)state;
    OK(&f, function_create("f.1_a-b",
                           "{\"name\":\"x\",\"inputParams\":[{\"id\":0,\"name\":\"l\",\"type\":"
                           "\"DOUBLE\",\"description\":null}],\"deterministic\":true,"
                           "\"definitions\":{\"flink\": " FILE_DEF ",\"s\":{\"definition\":\"l*2\","
                           "\"type\":\"sql\"},\"l\":{\"type\":\"lambda\",\"definition\":\"x\","
                           "\"language\":\"java\"}},\"comment\":\"c\",\"options\":{\"o\":\"1\"}}"));
    SAME(json_of(OBJECT_FUNCTION, "f.1_a-b"),
         S("{\"inputParams\":[{\"id\":0,\"name\":\"l\",\"type\":\"DOUBLE\"}],\"returnParams\":null,"
           "\"deterministic\":true,\"definitions\":{\"flink\": " FILE_DEF ",\"s\":{\"definition\":"
           "\"l*2\",\"type\":\"sql\"},\"l\":{\"type\":\"lambda\",\"definition\":\"x\",\"language\":"
           "\"java\"}},\"options\":{\"o\":\"1\"},\"comment\":\"c\"}"));
    OK(&f, function_create("g", "{}"));
    SAME(json_of(OBJECT_FUNCTION, "g"),
         S("{\"inputParams\":null,\"returnParams\":null,\"deterministic\":false,"
           "\"definitions\":{},\"options\":{},\"comment\":null}"));
    FAILS(&f, E_EXISTS, RES_FUNCTION, "d.g exists", function_create("g", "{}"));
}

static void functions_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *function, *says;
    } bad[] = {
        {"{\"inputParams\":{}}", "inputParams"},
        {"{\"returnParams\":[{\"id\":0,\"name\":\"a\"}]}", "returnParams: column"},
        {"{\"deterministic\":\"yes\"}", "deterministic"},
        {"{\"definitions\":[]}", "definitions"},
        {"{\"definitions\":{\"a\":null}}", "definitions.a"},
        {"{\"definitions\":{\"a\":\"sql\"}}", "definitions.a"},
        {"{\"definitions\":{\"a\":{}}}", "definitions.a.type"},
        {"{\"definitions\":{\"a\":{\"type\":\"wasm\"}}}", "file, sql or lambda"},
        {"{\"definitions\":{\"a\":{\"type\":\"sql\"}}}", "definitions.a.definition"},
        {"{\"definitions\":{\"a\":{\"type\":\"lambda\",\"definition\":\"x\"}}}",
         "definitions.a.language"},
        {"{\"definitions\":{\"a\":{\"type\":\"file\",\"fileResources\":{}}}}",
         "definitions.a.fileResources"},
        {"{\"definitions\":{\"a\":{\"type\":\"file\",\"fileResources\":[1]}}}", "fileResources[0]"},
        {"{\"definitions\":{\"a\":{\"type\":\"file\",\"fileResources\":[{\"uri\":1}]}}}",
         "fileResources[0].uri"},
        {"{\"definitions\":{\"a\":{\"type\":\"file\",\"className\":1}}}",
         "definitions.a.className"},
        {"{\"options\":{\"a\":null}}", "options"},
        {"{\"comment\":[]}", "comment"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        FAILS(&f, E_INVAL, RES_NONE, bad[i].says, function_create("f", bad[i].function));
    static const char *const names[] = {"123", "_-", "a/b", "a b", "a$b", "a*", "na\xC3\xAFve"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        FAILS(&f, E_INVAL, RES_FUNCTION, "function name", function_create(names[i], "{}"));
    assert_int_equal(fx_calls(&f, ST_object_create), 0);
}

static void alterations_of_a_function(void **state)
{
    (void)state;
    OK(&f, function_create("f", "{\"deterministic\":true}"));
    OK(&f,
       function_alter("f", "[{\"action\":\"addDefinition\",\"name\":\"sql\",\"definition\":"
                           "{\"type\":\"sql\",\"definition\":\"1\"}},"
                           "{\"action\":\"addDefinition\",\"name\":\"fl\",\"definition\":" FILE_DEF
                           "},{\"action\":\"updateDefinition\",\"name\":\"sql\",\"definition\":"
                           "{\"type\":\"sql\",\"definition\":\"2\"}},"
                           "{\"action\":\"updateComment\",\"comment\":\"c\"},"
                           "{\"action\":\"setOption\",\"key\":\"a\\\"b\",\"value\":\"v\\n\"}]"));
    SAME(json_of(OBJECT_FUNCTION, "f"),
         S("{\"inputParams\":null,\"returnParams\":null,\"deterministic\":true,\"definitions\":{"
           "\"sql\":{\"type\":\"sql\",\"definition\":\"2\"},\"fl\":" FILE_DEF "},\"options\":{"
           "\"a\\\"b\":\"v\\n\"},\"comment\":\"c\"}"));
    FAILS(&f, E_EXISTS, RES_DEFINITION, "sql",
          function_alter("f", "[{\"action\":\"addDefinition\",\"name\":\"sql\",\"definition\":"
                              "{\"type\":\"sql\",\"definition\":\"1\"}}]"));
    FAILS(&f, E_NOTFOUND, RES_DEFINITION, "no",
          function_alter("f", "[{\"action\":\"updateDefinition\",\"name\":\"no\",\"definition\":"
                              "{\"type\":\"sql\",\"definition\":\"1\"}}]"));
    FAILS(&f, E_INVAL, RES_NONE, "changes[0].definition.type",
          function_alter("f", "[{\"action\":\"updateDefinition\",\"name\":\"sql\",\"definition\":"
                              "{\"type\":\"rust\"}}]"));
    FAILS(
        &f, E_INVAL, RES_NONE, "changes[0].definition",
        function_alter("f", "[{\"action\":\"addDefinition\",\"name\":\"x\",\"definition\":null}]"));
    OK(&f, function_alter("f", "[{\"action\":\"dropDefinition\",\"name\":\"fl\"},"
                               "{\"action\":\"updateComment\"}]"));
    FAILS(&f, E_NOTFOUND, RES_DEFINITION, "fl",
          function_alter("f", "[{\"action\":\"dropDefinition\",\"name\":\"fl\"}]"));
    SAME(json_of(OBJECT_FUNCTION, "f"),
         S("{\"inputParams\":null,\"returnParams\":null,\"deterministic\":true,\"definitions\":{"
           "\"sql\":{\"type\":\"sql\",\"definition\":\"2\"}},\"options\":{\"a\\\"b\":\"v\\n\"},"
           "\"comment\":null}"));
}

/* --- at once, and too much -------------------------------------------------------------------- */

static int races; /* how many alterations come in between */

static void in_between(struct fx *x, enum fx_op op, bool after, str path)
{
    (void)path;
    if (op != ST_object_alter || after || races == 0)
        return;
    races--;
    x->hook = NULL; /* this one has nobody in between */
    OK(x, view_alter(
              "v",
              fx_text(x, "[{\"action\":\"setOption\",\"key\":\"r%d\",\"value\":\"\"}]", races).p));
    x->hook = in_between;
}

static void who_alters_at_once_loses_nothing(void **state)
{
    (void)state;
    OK(&f, view_create("d", "v", VIEW("q")));
    races = 3;
    fx_hook(&f, in_between, NULL);
    OK(&f, view_alter("v", "[{\"action\":\"setOption\",\"key\":\"mine\",\"value\":\"\"}]"));
    fx_well(&f);
    str json = json_of(OBJECT_VIEW, "v");
    static const char *const keys[] = {"r0", "r1", "r2", "mine"};
    for (size_t i = 0; i < 4; i++)
        assert_non_null(memmem(json.p, json.len, keys[i], strlen(keys[i])));
    races = 1000;
    fx_hook(&f, in_between, NULL);
    FAILS(&f, E_BUSY, RES_VIEW, "try again",
          view_alter("v", "[{\"action\":\"setOption\",\"key\":\"late\",\"value\":\"\"}]"));
    fx_well(&f);
    json = json_of(OBJECT_VIEW, "v");
    assert_null(memmem(json.p, json.len, "late", 4));
}

static void drop_in_between(struct fx *x, enum fx_op op, bool after, str path)
{
    (void)path;
    if (op != ST_object_alter || after)
        return;
    x->hook = NULL;
    OK(x, drop(OBJECT_VIEW, "v"));
}

static void altered_while_it_is_dropped(void **state)
{
    (void)state;
    OK(&f, view_create("d", "v", VIEW("q")));
    fx_hook(&f, drop_in_between, NULL);
    FAILS(&f, E_NOTFOUND, RES_VIEW, "d.v", view_alter("v", "[]"));
}

static void what_the_store_says_is_what_is_answered(void **state)
{
    (void)state;
    OK(&f, view_create("d", "v", VIEW("q")));
    FAIL(&f, .op = ST_object_alter, .code = E_UNKNOWN, .after = true);
    FAILS(&f, E_UNKNOWN, RES_NONE, "",
          view_alter("v", "[{\"action\":\"updateComment\",\"comment\":\"c\"}]"));
    FAIL(&f, .op = ST_object_create, .code = E_IO);
    FAILS(&f, E_IO, RES_NONE, "", view_create("d", "w", VIEW("q")));
    FAIL(&f, .op = ST_object_drop, .code = E_BUSY);
    FAILS(&f, E_BUSY, RES_NONE, "", drop(OBJECT_VIEW, "v"));
    fx_well(&f);
    assert_non_null(strstr(json_of(OBJECT_VIEW, "v").p, "\"comment\":\"c\""));
}

/* Alterations cannot add up without end. */
static void one_object_has_a_largest_size(void **state)
{
    (void)state;
    static char change[(1 << 20) + 128];
    int rc = 0, i = 0;
    OK(&f, view_create("d", "v", VIEW("q")));
    for (; rc == 0 && i < 9; i++) {
        int n = snprintf(change, sizeof(change),
                         "[{\"action\":\"setOption\",\"key\":\"k%d\",\"value\":\"", i);
        memset(change + n, 'x', 1 << 20);
        snprintf(change + n + (1 << 20), 8, "\"}]");
        rc = view_alter("v", change);
    }
    assert_int_equal(i, 4); /* three fit into 4 MiB */
    FAILS(&f, E_TOOBIG, RES_VIEW, "smaller", rc);
}

/* A long list of changes takes no longer than it is. */
static void many_changes_are_quick(void **state)
{
    (void)state;
    enum { N = 20000 };
    CLEANUP(buf_done) struct buf b = {0};
    buf_addc(&b, '[');
    for (int i = 0; i < N; i++)
        buf_addf(&b, "%s{\"action\":\"addDialect\",\"dialect\":\"d%d\",\"query\":\"q\"}",
                 i ? "," : "", i);
    buf_addc(&b, ']');
    OK(&f, view_create("d", "v", VIEW("q")));
    int64_t t0 = clock_mono_ms();
    OK(&f, view_alter("v", buf_z(&b)));
    assert_in_range(clock_mono_ms() - t0, 0, 5000);
    FAILS(&f, E_EXISTS, RES_DIALECT, "d0", view_alter("v", buf_z(&b)));
}

/* --- lists ------------------------------------------------------------------------------------ */

static void names_and_details(void **state)
{
    (void)state;
    str *names;
    struct object_row *rows;
    struct name_pair *pairs;
    size_t n;
    OK(&f, fx_db(&f, "e"));
    OK(&f, view_create("d", "b", VIEW("1")));
    OK(&f, view_create("d", "a", VIEW("2")));
    OK(&f, view_create("e", "a", VIEW("3")));
    OK(&f, function_create("fn", "{}"));
    struct page_in in = {.limit = 10};
    assert_int_equal(cat_names(&f.cx, f.cat, f.w, OBJECT_VIEW, S("d"), &in, STR_NONE, &names, &n),
                     0);
    assert_int_equal(n, 2);
    SAME(names[0], S("a"));
    assert_int_equal(cat_names(&f.cx, f.cat, f.w, OBJECT_VIEW, S("no"), &in, STR_NONE, &names, &n),
                     E_NOTFOUND);
    assert_int_equal(f.cx.err.res, RES_DATABASE);
    ctx_reset_err(&f.cx);
    in.after = S("a");
    assert_int_equal(cat_object_details(&f.cx, f.cat, f.w, OBJECT_VIEW, S("d"), &in, &rows, &n), 0);
    assert_int_equal(n, 1);
    SAME(rows[0].name, S("b"));
    assert_non_null(strstr(rows[0].json.p, "\"query\":\"1\""));
    assert_int_equal(cat_object_details(&f.cx, f.cat, f.w, OBJECT_VIEW, S("no"), &in, &rows, &n),
                     E_NOTFOUND);
    ctx_reset_err(&f.cx);
    struct store_find_in fi = {.kind = OBJECT_VIEW, .limit = 10, .after = {S("d"), S("a")}};
    assert_int_equal(cat_find(&f.cx, f.cat, f.w, &fi, &pairs, &n), 0);
    assert_int_equal(n, 2);
    SAME(pairs[0].name, S("b"));
    SAME(pairs[1].db, S("e"));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_view_is_kept_as_java_reads_it),
        T(views_that_are_refused),
        T(alterations_of_a_view),
        T(renamed_and_dropped),
        T(a_view_may_be_called_like_a_table),
        T(a_function_is_kept_as_it_was_sent),
        T(functions_that_are_refused),
        T(alterations_of_a_function),
        T(who_alters_at_once_loses_nothing),
        T(altered_while_it_is_dropped),
        T(what_the_store_says_is_what_is_answered),
        T(one_object_has_a_largest_size),
        T(many_changes_are_quick),
        T(names_and_details),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
