/* test_directives.c - comments that change how a column is stored, and the list options behind them. */
#define ARENA_BYTES (256 << 20)
#include "tests/unit/manifest/fixture.h"

#include "manifest/directives.h"
#include "proto/base/clock.h"
#include "proto/base/mem.h"

#define S(lit) STR_LIT(lit)

static void same(str got, const char *want)
{
    if (!want)
        assert_null(got.p);
    else
        assert_string_equal(str_dupz(&cx.arena, got), want);
}

static struct schema schema_of(const char *type, const char *comment, const char *options)
{
    struct schema s;
    const struct json *v;
    char text[1000];
    snprintf(text, sizeof text,
             "{\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},{\"id\":1,\"name\":\"c\","
             "\"type\":%s,\"description\":\"%s\",\"defaultValue\":\"d\"}],\"options\":%s}",
             type, comment, options);
    if (json_parse(&cx, str_dup(&cx.arena, str_of(text)), "test", &v) != 0 ||
        schema_decode(&cx, v, "schema", &s) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return s;
}

#define FLOATS "{\"type\":\"ARRAY NOT NULL\",\"element\":\"FLOAT\"}"
#define ARR(t) "{\"type\":\"ARRAY\",\"element\":\"" t "\"}"
#define MAP(t) "{\"type\":\"MAP\",\"key\":\"INT\",\"value\":\"" t "\"}"

static const struct good {
    const char *type, *comment, *options;      /* before */
    const char *sql, *left, *option, *columns; /* after */
} good[] = {
    {"\"BYTES\"", "__BLOB_FIELD", "{}", "BLOB", NULL, "blob-field", "c"},
    {"\"BINARY(3) NOT NULL\"", " __BLOB_FIELD ; my pic ", "{}", NULL, NULL, NULL, NULL},
    {"\"BINARY(3) NOT NULL\"", " __BLOB_FIELD; my pic ", "{}", "BLOB NOT NULL", "my pic",
     "blob-field", "c"},
    {"\"BLOB\"", "__BLOB_FIELD;", "{\"blob-field\":\" x,, y,x\"}", "BLOB", NULL, "blob-field",
     "x,y,c"},
    {"\"BYTES\"", "__BLOB_FIELD", "{\"blob-field\":\"c,x\"}", "BLOB", NULL, "blob-field", "c,x"},
    {"\"BYTES\"", "__BLOB_DESCRIPTOR_FIELD; d", "{}", "BLOB", "d", "blob-descriptor-field", "c"},
    {"\"BYTES\"", "__BLOB_DESCRIPTOR_FIELD", "{\"blob.stored-descriptor-fields\":\"old\"}", "BLOB",
     NULL, "blob-descriptor-field", "old,c"},
    {"\"BYTES\"", "__BLOB_DESCRIPTOR_FIELD",
     "{\"blob-descriptor-field\":\"new\",\"blob.stored-descriptor-fields\":\"old\"}", "BLOB", NULL,
     "blob-descriptor-field", "new,c"},
    {"\"BYTES\"", "__BLOB_VIEW_FIELD", "{}", "BLOB", NULL, "blob-view-field", "c"},
    {ARR("BYTES"), "__BLOB_FIELD", "{}", "ARRAY<BLOB>", NULL, "blob-field", "c"},
    {ARR("BINARY(2) NOT NULL"), "__BLOB_FIELD", "{}", "ARRAY<BLOB NOT NULL>", NULL, "blob-field",
     "c"},
    {MAP("BYTES"), "__BLOB_FIELD", "{}", "MAP<INT, BLOB>", NULL, "blob-field", "c"},
    {FLOATS, "__VECTOR_FIELD;3", "{}", "VECTOR<FLOAT, 3> NOT NULL", NULL, "vector-field", "c"},
    {FLOATS, "__VECTOR_FIELD; +128 ; about it", "{}", "VECTOR<FLOAT, 128> NOT NULL", "about it",
     "vector-field", "c"},
};

static void applied(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const struct good *g = &good[i];
        struct schema s = schema_of(g->type, g->comment, g->options);
        int rc = directives_apply(&cx, &s);
        if (!g->sql) { /* a blank before the ';' makes it another word */
            assert_int_equal(rc, E_INVAL);
            ctx_reset_err(&cx);
            continue;
        }
        if (rc != 0)
            fail_msg("%s: %s", g->comment, cx.err.msg);
        same(types_sql_str(&cx.arena, s.fields[1].type), g->sql);
        same(s.fields[1].description, g->left);
        assert_null(s.fields[1].default_value.p);
        assert_int_equal(s.fields[1].id, 1);
        same(schema_option(&s, g->option), g->columns);
        assert_int_equal(s.fields[0].type->kind, TYPE_INT);
    }
    /* With a name of today, the older one stays as it was; else it moves over. */
    struct schema s = schema_of("\"BYTES\"", "__BLOB_DESCRIPTOR_FIELD",
                                "{\"blob.stored-descriptor-fields\":\"old\"}");
    assert_int_equal(directives_apply(&cx, &s), 0);
    assert_null(schema_option(&s, "blob.stored-descriptor-fields").p);
}

static void ordinary_comments(void **state)
{
    (void)state;
    static const char *const comments[] = {
        "", "x", "BLOB_FIELD", "_BLOB_FIELD", "x __BLOB_FIELD", "__blob_field", "__other"};
    for (size_t i = 0; i < sizeof comments / sizeof *comments; i++) {
        bool is = true;
        struct schema s = schema_of("\"BYTES\"", comments[i], "{}"), was = s;
        assert_int_equal(directives_apply(&cx, &s), 0);
        assert_true(schema_equal(&s, &was));
        assert_int_equal(directive_is(&cx, str_of(comments[i]), &is), 0);
        assert_false(is);
    }
    bool is = true;
    assert_int_equal(directive_is(&cx, STR_NONE, &is), 0);
    assert_false(is);
    assert_int_equal(directive_is(&cx, S("__VECTOR_FIELD;1"), &is), 0);
    assert_true(is);
}

static const struct {
    const char *type, *comment, *message;
} bad[] = {
    {"\"BYTES\"", "__BLOB", "Unsupported BLOB directive in column comment: '__BLOB'."},
    {"\"BYTES\"", "__BLOB_FIELDS",
     "Unsupported BLOB directive in column comment: '__BLOB_FIELDS'."},
    {"\"BYTES\"", "__BLOB_FIELD x", "Unsupported BLOB directive"},
    {"\"INT\"", "__BLOB_FIELD", "but was INT."},
    {ARR("INT"), "__BLOB_FIELD", "but was ARRAY<INT>."},
    {MAP("INT"), "__BLOB_FIELD", "but was MAP<INT, INT>."},
    {ARR("BYTES"), "__BLOB_VIEW_FIELD",
     "Column c declared with 'blob-view-field' must be of BYTES, BINARY or BLOB type, but was "
     "ARRAY<BYTES>. ARRAY<BLOB> is only supported by 'blob-field'."},
    {MAP("BYTES"), "__BLOB_DESCRIPTOR_FIELD", "MAP<X, BLOB> is only supported by 'blob-field'."},
    {"\"BYTES\"", "__VECTOR_FIELD;3",
     "Column c declared with a VECTOR directive must be of ARRAY type, but was BYTES."},
    {FLOATS, "__VECTOR", "Unsupported VECTOR directive in column comment: '__VECTOR'."},
    {FLOATS, "__VECTOR_FIELD", "requires a dimension"},
    {FLOATS, "__VECTOR_FIELD;", "Expected an integer dimension after '__VECTOR_FIELD;'"},
    {FLOATS, "__VECTOR_FIELD;x", "but got: 'x'."},
    {FLOATS, "__VECTOR_FIELD;0", "Vector dimension must be >= 1, but got: 0."},
    {FLOATS, "__VECTOR_FIELD;-1", "but got: -1."},
    {FLOATS, "__VECTOR_FIELD;2147483648", "Expected an integer"},
    {FLOATS, "__VECTOR_FIELD;1.5", "Expected an integer"},
    {ARR("STRING"), "__VECTOR_FIELD;3", "the element of a VECTOR"},
};

static void refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct schema s = schema_of(bad[i].type, bad[i].comment, "{}"), was = s;
        int rc = directives_apply(&cx, &s);
        if (rc != E_INVAL || !strstr(cx.err.msg, bad[i].message))
            fail_msg("%s: %s %s", bad[i].comment, err_name(rc), cx.err.msg);
        assert_true(schema_equal(&s, &was));
        ctx_reset_err(&cx);
    }
}

static void forgotten(void **state)
{
    (void)state;
    struct options_edit o;
    struct schema s = schema_of(
        FLOATS, "",
        "{\"vector-field\":\"c, x\",\"field.c.vector-dim\":\"3\",\"blob-field\":\"c\","
        "\"blob.stored-descriptor-fields\":\"x,c,y\",\"fields.c.map.storage-layout\":\"k\","
        "\"fields.c.distinct\":\"true\"}");
    struct data_field f = s.fields[1];
    struct data_type vector = {.kind = TYPE_VECTOR}, blob = {.kind = TYPE_BLOB},
                     map = {.kind = TYPE_MAP};
    map.value = &vector;
    assert_int_equal(options_edit_init(&cx, &s.options, &o), 0);
    assert_int_equal(directive_forget(&cx, &f, &o), 0); /* an ARRAY is in none of them */
    assert_int_equal(o.n, 6);
    f.type = &vector;
    assert_int_equal(directive_forget(&cx, &f, &o), 0);
    same(options_edit_get(&o, S("vector-field")), "x");
    same(options_edit_get(&o, S("field.c.vector-dim")), NULL);
    same(options_edit_get(&o, S("blob-field")), "c");
    f.type = &blob;
    assert_int_equal(directive_forget(&cx, &f, &o), 0);
    same(options_edit_get(&o, S("blob-field")), NULL);
    same(options_edit_get(&o, S("blob.stored-descriptor-fields")), "x,y");
    f.type = &map;
    assert_int_equal(directive_forget(&cx, &f, &o), 0);
    same(options_edit_get(&o, S("fields.c.map.storage-layout")), NULL);
    same(options_edit_get(&o, S("fields.c.distinct")), "true");
    assert_int_equal(o.n, 3);
    /* The older name's list moves over also when it was edited before. */
    f.type = &vector;
    f.description = S("__BLOB_DESCRIPTOR_FIELD");
    struct data_type bytes = {.kind = TYPE_VARBINARY, .length = 1};
    bool applied_one = false;
    f.type = &bytes;
    assert_int_equal(directive_apply(&cx, &f, &o, &applied_one), 0);
    assert_true(applied_one);
    same(options_edit_get(&o, S("blob-descriptor-field")), "x,y,c");
    same(options_edit_get(&o, S("blob.stored-descriptor-fields")), NULL);
    options_edit_done(&o);
}

/* --- the editor ------------------------------------------------------------------------------- */

static void edited_options(void **state)
{
    (void)state;
    struct options_edit o;
    struct kv_list l, from = {(const struct kv[]){{S("a"), S("1")}, {S("l"), S("x")}}, 2};
    assert_int_equal(options_edit_init(&cx, &from, &o), 0);
    assert_int_equal(options_edit_set(&o, S("b"), S("")), 0);
    options_edit_remove(&o, S("a"));
    options_edit_remove(&o, S("nix"));
    assert_int_equal(options_edit_list_add(&o, S("l"), S("y")), 0);
    same(options_edit_get(&o, S("l")), "x,y");
    assert_int_equal(options_edit_set(&o, S("l"), S("z")), 0); /* ends the list */
    assert_int_equal(options_edit_list_add(&o, S("l"), S("x")), 0);
    assert_int_equal(options_edit_list_add(&o, S("new"), S("n")), 0);
    assert_int_equal(options_edit_list_remove(&o, S("new"), S("other")), 0);
    assert_int_equal(options_edit_list_remove(&o, S("nix"), S("n")), 0);
    assert_int_equal(options_edit_list_remove(&o, S("b"), S("n")), 0);
    assert_int_equal(options_edit_result(&o, &l), 0);
    options_edit_done(&o);
    assert_int_equal(l.n, 3); /* sorted, and its own */
    same(l.items[0].key, "b");
    same(l.items[0].value, "");
    same(l.items[1].value, "z,x");
    same(l.items[2].value, "n");
    assert_int_equal(options_edit_init(&cx, &(struct kv_list){0}, &o), 0);
    assert_int_equal(options_edit_result(&o, &l), 0);
    assert_int_equal(l.n, 0);
    options_edit_done(&o);
}

static void many_columns(void **state)
{
    (void)state;
    const size_t n = 20000;
    struct schema s = schema_of("\"BYTES\"", "", "{}");
    struct data_field *fields = ARENA_ARRAY(&cx.arena, struct data_field, n);
    for (size_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "column%zu", i);
        fields[i] = s.fields[1];
        fields[i].name = str_dup(&cx.arena, str_of(name));
        fields[i].description = S("__BLOB_FIELD");
    }
    s.fields = fields;
    s.n_fields = n;
    int64_t begin = clock_mono_ms();
    assert_int_equal(directives_apply(&cx, &s), 0);
    assert_true(clock_mono_ms() - begin < 5000);
    assert_true(str_ends(schema_option(&s, "blob-field"), S("column19998,column19999")));
}

static void out_of_memory(void **state)
{
    (void)state;
    int rc = E_NOMEM;
    for (long n = 1; rc != 0; n++) {
        struct ctx c2;
        struct schema s = schema_of(ARR("BYTES"), "__BLOB_FIELD; x", "{\"blob-field\":\"q\"}"),
                      was = s;
        ctx_init(&c2, 1 << 20);
        mem_fail_at(n, 1);
        rc = directives_apply(&c2, &s);
        mem_fail_at(0, 0);
        assert_true(rc == 0 || (rc == E_NOMEM && schema_equal(&s, &was)));
        ctx_done(&c2);
        assert_true(n < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(applied),        cmocka_unit_test(ordinary_comments),
        cmocka_unit_test(refused),        cmocka_unit_test(forgotten),
        cmocka_unit_test(edited_options), cmocka_unit_test(many_columns),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
