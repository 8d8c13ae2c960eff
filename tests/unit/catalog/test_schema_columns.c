/* test_schema_columns.c - changes of columns: what each makes of a schema, and what is refused with
 * which code, name and message. The rules are Paimon's; tests/conform/test_alter_java.py compares
 * with Paimon itself. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "catalog/schema_change.h"
#include "proto/base/clock.h"
#include "proto/base/mem.h"

#define SAME(a, z) assert_string_equal(str_dupz(&cx.arena, (a)), (z))

static struct ctx cx;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 512 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

/* JSON with ' for " */
static const struct json *json(const char *text)
{
    const struct json *v = NULL;
    char *p = str_dupz(&cx.arena, str_of(text));
    for (char *c = p; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    if (json_parse(&cx, str_of(p), "test", &v) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return v;
}

/* p INT (partition), k INT (primary key), v INT, r ROW<a INT, b ROW<c STRING>>,
 * l ARRAY<MAP<STRING, ROW<x INT>>>, n ARRAY<INT>; highest id 20 */
#define FIELDS                                                                                     \
    "{'id':0,'name':'p','type':'INT NOT NULL'},{'id':1,'name':'k','type':'INT NOT NULL'},"         \
    "{'id':2,'name':'v','type':'INT'},{'id':3,'name':'r','type':{'type':'ROW','fields':["          \
    "{'id':4,'name':'a','type':'INT'},{'id':5,'name':'b','type':{'type':'ROW','fields':["          \
    "{'id':6,'name':'c','type':'STRING'}]}}]}},"                                                   \
    "{'id':7,'name':'l','type':{'type':'ARRAY','element':{'type':'MAP','key':'STRING','value':"    \
    "{'type':'ROW','fields':[{'id':8,'name':'x','type':'INT'}]}}}},"                               \
    "{'id':9,'name':'n','type':{'type':'ARRAY','element':'INT'}}"

static struct table_schema table(const char *options)
{
    struct table_schema ts = {.highest_field_id = 20};
    char text[4000];
    snprintf(text, sizeof text,
             "{'fields':[" FIELDS "],'partitionKeys':['p'],'primaryKeys':['p','k'],'options':%s}",
             options);
    if (schema_decode(&cx, json(text), "schema", &ts.schema) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return ts;
}

static int apply(struct table_schema *ts, bool snapshots, const char *changes)
{
    struct table_schema before = *ts;
    char text[8000];
    snprintf(text, sizeof text, "[%s]", changes);
    ctx_reset_err(&cx);
    int rc = schema_change_apply(&cx, json(text), snapshots, STR_LIT("d.t"), ts);
    if (rc < 0) {
        assert_true(schema_equal(&before.schema, &ts->schema));
        assert_int_equal(before.highest_field_id, ts->highest_field_id);
    }
    assert_int_equal(cx.err.code, rc);
    return rc;
}

/* "p INT NOT NULL#0, ..." */
static const char *shape(const struct table_schema *ts)
{
    struct buf b = {0};
    for (size_t i = 0; i < ts->schema.n_fields; i++) {
        const struct data_field *f = &ts->schema.fields[i];
        buf_addf(&b, "%s%.*s#%d ", i ? ", " : "", STR(f->name), (int)f->id);
        types_sql(&b, f->type);
    }
    char *z = str_dupz(&cx.arena, buf_str(&b));
    buf_done(&b);
    return z;
}

#define R "r#3 ROW<`a` INT, `b` ROW<`c` STRING>>"
#define L "l#7 ARRAY<MAP<STRING, ROW<`x` INT>>>"
#define N "n#9 ARRAY<INT>"
#define P "p#0 INT NOT NULL"
#define K "k#1 INT NOT NULL"
#define V "v#2 INT"
#define C ", "

#define GOOD(options, changes, want)                                                               \
    do {                                                                                           \
        struct table_schema ts_ = table(options);                                                  \
        if (apply(&ts_, true, changes) != 0)                                                       \
            fail_msg("%s: %s", changes, cx.err.msg);                                               \
        assert_string_equal(shape(&ts_), want);                                                    \
    } while (0)

struct refusal {
    const char *options, *changes;
    int code;
    const char *column; /* RES_COLUMN with this name; NULL: no resource */
    const char *message;
};

static void all_refused(const struct refusal *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct table_schema ts = table(r[i].options);
        int rc = apply(&ts, true, r[i].changes);
        if (rc != r[i].code || strcmp(cx.err.msg, r[i].message) != 0)
            fail_msg("%s: %s %s", r[i].changes, err_name(rc), cx.err.msg);
        assert_int_equal(cx.err.res, r[i].column ? RES_COLUMN : RES_NONE);
        assert_string_equal(cx.err.res_name, r[i].column ? r[i].column : "");
    }
}
#define REFUSED(...)                                                                               \
    do {                                                                                           \
        static const struct refusal list_[] = {__VA_ARGS__};                                       \
        all_refused(list_, sizeof list_ / sizeof *list_);                                          \
    } while (0)

#define ADD(path, type, more)                                                                      \
    "{'action':'addColumn','fieldNames':[" path "],'dataType':" type more "}"
#define MOVE(field, type, ref)                                                                     \
    "{'fieldName':'" field "','type':'" type "','referenceFieldName':" ref "}"
#define RENAME(path, name) "{'action':'renameColumn','fieldNames':[" path "],'newName':'" name "'}"
#define DROP(path)         "{'action':'dropColumn','fieldNames':[" path "]}"
#define TYPE(path, type, keep)                                                                     \
    "{'action':'updateColumnType','fieldNames':[" path "],'newDataType':" type                     \
    ",'keepNullability':" keep "}"
#define NULLABLE(path, yes)                                                                        \
    "{'action':'updateColumnNullability','fieldNames':[" path "],'newNullability':" yes "}"
#define COMMENT(path, text)                                                                        \
    "{'action':'updateColumnComment','fieldNames':[" path "],'newComment':" text "}"
#define DEFAULT(path, text)                                                                        \
    "{'action':'updateColumnDefaultValue','fieldNames':[" path "],'newDefaultValue':" text "}"
#define POSITION(move) "{'action':'updateColumnPosition','move':" move "}"

static void adding(void **state)
{
    (void)state;
    GOOD("{}", ADD("'w'", "'INT'", ""), P C K C V C R C L C N C "w#21 INT");
    GOOD("{}", ADD("'w'", "'INT'", ",'move':" MOVE("w", "FIRST", "null")),
         "w#21 INT" C P C K C V C R C L C N);
    GOOD("{}", ADD("'w'", "'INT'", ",'move':" MOVE("w", "LAST", "null")),
         P C K C V C R C L C N C "w#21 INT");
    GOOD("{}", ADD("'w'", "'INT'", ",'move':" MOVE("w", "AFTER", "'p'")),
         P C "w#21 INT" C K C V C R C L C N);
    GOOD("{}", ADD("'w'", "'INT'", ",'move':" MOVE("w", "BEFORE", "'k'")),
         P C "w#21 INT" C K C V C R C L C N);
    GOOD("{}", ADD("'w'", "'INT'", ",'move':null,'comment':null"),
         P C K C V C R C L C N C "w#21 INT");
    GOOD("{'add-column-before-partition':'true'}",
         ADD("'w'", "'INT'", "") "," ADD("'x'", "'INT'", ""),
         "w#21 INT, x#22 INT, " P C K C V C R C L C N);
    GOOD("{'add-column-before-partition':'true'}",
         ADD("'w'", "'INT'", ",'move':" MOVE("w", "LAST", "null")),
         P C K C V C R C L C N C "w#21 INT");
    /* What was dropped may come again, under a new id. */
    GOOD("{}", DROP("'v'") "," ADD("'v'", "'INT'", ""), P C K C R C L C N C "v#21 INT");
}

static void adding_inside(void **state)
{
    (void)state;
    GOOD("{}", ADD("'r','d'", "'INT'", ""),
         P C K C V C "r#3 ROW<`a` INT, `b` ROW<`c` STRING>, `d` INT>" C L C N);
    GOOD("{'add-column-before-partition':'true'}",
         ADD("'r','b','d'", "'INT'", ",'move':" MOVE("d", "BEFORE", "'c'")),
         P C K C V C "r#3 ROW<`a` INT, `b` ROW<`d` INT, `c` STRING>>" C L C N);
    GOOD("{}", ADD("'l','element','value','y'", "'INT'", ",'move':" MOVE("y", "FIRST", "null")),
         P C K C V C R C "l#7 ARRAY<MAP<STRING, ROW<`y` INT, `x` INT>>>" C N);
    /* Of new nested types all fields are numbered anew, inner ones first. */
    struct table_schema ts = table("{}");
    assert_int_equal(
        apply(&ts, true,
              ADD("'w'",
                  "{'type':'ARRAY','element':{'type':'ROW','fields':["
                  "{'id':0,'name':'a','type':'INT'},{'id':0,'name':'b','type':{'type':'ROW',"
                  "'fields':[{'id':0,'name':'c','type':'INT','description':'d'}]}}]}}",
                  "")),
        0);
    const struct data_field *w = schema_field(&ts.schema, STR_LIT("w"));
    const struct data_type *row = w->type->value;
    assert_int_equal(w->id, 21);
    assert_int_equal(row->fields[0].id, 22);
    assert_int_equal(row->fields[1].type->fields[0].id, 23);
    assert_int_equal(row->fields[1].id, 24);
    SAME(row->fields[1].type->fields[0].description, "d");
    assert_int_equal(ts.highest_field_id, 24);
    assert_int_equal(ts.schema.fields[3].type->fields[0].id, 4); /* others keep theirs */
    /* A level that is new can be reached into at once. */
    assert_int_equal(
        apply(&ts, true,
              ADD("'s'", "{'type':'ROW','fields':[]}", "") "," ADD("'s','e'", "'INT'", "")),
        0);
    assert_int_equal(schema_field(&ts.schema, STR_LIT("s"))->type->fields[0].id, 26);
}

static void adding_refused(void **state)
{
    (void)state;
    REFUSED(
        {"{}", ADD("'w'", "'INT NOT NULL'", ""), E_INVAL, NULL,
         "Column w cannot specify NOT NULL in the d.t table."},
        {"{}", ADD("'r','w'", "'INT NOT NULL'", ""), E_INVAL, NULL,
         "Column r.w cannot specify NOT NULL in the d.t table."},
        {"{}", ADD("'v'", "'INT'", ""), E_EXISTS, "v", "Column v already exists in the d.t table."},
        {"{}", ADD("'r','b'", "'INT'", ""), E_EXISTS, "r.b",
         "Column r.b already exists in the d.t table."},
        {"{}", ADD("'w'", "'INT'", ",'move':" MOVE("w", "AFTER", "'z'")), E_NOTFOUND, "z",
         "Column z does not exist in the d.t table."},
        {"{}", ADD("'r','w'", "'INT'", ",'move':" MOVE("w", "BEFORE", "'v'")), E_NOTFOUND, "v",
         "Column v does not exist in the d.t table."},
        {"{}", ADD("'z','w'", "'INT'", ""), E_NOTFOUND, "z",
         "Column z does not exist in the d.t table."},
        {"{}", ADD("'r','z','w'", "'INT'", ""), E_NOTFOUND, "r.z",
         "Column r.z does not exist in the d.t table."},
        {"{}", ADD("'v','w'", "'INT'", ""), E_NOTFOUND, "v.w",
         "Column v.w does not exist in the d.t table."},
        {"{}", ADD("'n','element'", "'INT'", ""), E_NOTFOUND, "n.element",
         "Column n.element does not exist in the d.t table."},
        {"{}", ADD("'n','element','w'", "'INT'", ""), E_NOTFOUND, "n.element.w",
         "Column n.element.w does not exist in the d.t table."},
        {"{}", ADD("'l','value','element','y'", "'INT'", ""), E_NOTFOUND, "l.value",
         "Column l.value does not exist in the d.t table."},
        {"{}", ADD("'l','element','key','y'", "'INT'", ""), E_UNSUPPORTED, "l.element.key",
         "the key of a MAP cannot be changed; add a new column"},
        {"{}", ADD("' '", "'INT'", ""), E_INVAL, NULL, "the name of a column must not be blank"},
        {"{}", ADD("", "'INT'", ""), E_INVAL, NULL,
         "change.fieldNames has 0 names; it needs 1 to 52"},
        {"{}", ADD("'w'", "'INT'", ",'move':{'type':'UP'}"), E_INVAL, NULL,
         "change.move.type must be FIRST, AFTER, BEFORE or LAST, not \"UP\""},
        {"{}", ADD("'w'", "null", ""), E_INVAL, NULL, "change.dataType is missing"});
    struct table_schema ts = table("{}");
    assert_int_equal(apply(&ts, true, ADD("'w'", "'NIX'", "")), E_INVAL);
    assert_int_equal(apply(&ts, true, "{'action':'addColumn','dataType':'INT'}"), E_INVAL);
    assert_int_equal(apply(&ts, true, "{'action':'addColumn','fieldNames':[5],'dataType':'INT'}"),
                     E_INVAL);
    ts.highest_field_id = FIELD_ID_SYSTEM - 2;
    assert_int_equal(apply(&ts, true, ADD("'w'", "'INT'", "")), 0);
    assert_int_equal(apply(&ts, true, ADD("'x'", "'INT'", "")), E_UNSUPPORTED);
}

static void directives(void **state)
{
    (void)state;
    struct table_schema ts = table("{'blob-field':'b1'}");
    assert_int_equal(
        apply(&ts, true,
              ADD("'w'", "'BYTES'", ",'comment':'__BLOB_FIELD; mine'") "," ADD(
                  "'e'", "{'type':'ARRAY','element':'FLOAT'}", ",'comment':'__VECTOR_FIELD;3'")),
        0);
    const struct data_field *w = schema_field(&ts.schema, STR_LIT("w"));
    assert_int_equal(w->type->kind, TYPE_BLOB);
    SAME(w->description, "mine");
    SAME(schema_option(&ts.schema, "blob-field"), "b1,w");
    SAME(schema_option(&ts.schema, "vector-field"), "e");
    assert_int_equal(schema_field(&ts.schema, STR_LIT("e"))->type->length, 3);
    assert_null(schema_field(&ts.schema, STR_LIT("e"))->description.p);
    assert_int_equal(apply(&ts, true, RENAME("'w'", "x")), E_UNSUPPORTED);
    assert_string_equal(cx.err.msg, "Cannot rename BLOB column: [w]");
    assert_int_equal(apply(&ts, true, TYPE("'w'", "'BYTES'", "false")), E_UNSUPPORTED);
    assert_string_equal(cx.err.msg, "Cannot change column type involving BLOB: [w] BLOB -> BYTES");
    assert_int_equal(apply(&ts, true, DROP("'w'") "," DROP("'e'")), 0);
    SAME(schema_option(&ts.schema, "blob-field"), "b1");
    assert_null(schema_option(&ts.schema, "vector-field").p);
    REFUSED({"{}", ADD("'r','w'", "'BYTES'", ",'comment':'__BLOB_FIELD'"), E_INVAL, NULL,
             "Comment directive cannot be used on a nested column r.w."},
            {"{}", TYPE("'v'", "'BLOB'", "false"), E_UNSUPPORTED, NULL,
             "Cannot change column type involving BLOB: [v] INT -> BLOB"},
            {"{}", COMMENT("'v'", "'__BLOB_FIELD'"), E_INVAL, NULL,
             "Should not alter existing field's type through column directives: __BLOB_FIELD"});
}

static void renaming(void **state)
{
    (void)state;
    GOOD("{}", RENAME("'v'", "w"), P C K C "w#2 INT" C R C L C N);
    GOOD("{}", RENAME("'v'", "w") "," RENAME("'w'", "v"), P C K C V C R C L C N);
    GOOD("{}", RENAME("'r','b','c'", "d"),
         P C K C V C "r#3 ROW<`a` INT, `b` ROW<`d` STRING>>" C L C N);
    GOOD("{}", RENAME("'l','element','value','x'", "y"),
         P C K C V C R C "l#7 ARRAY<MAP<STRING, ROW<`y` INT>>>" C N);
    REFUSED(
        {"{}", RENAME("'p'", "w"), E_UNSUPPORTED, NULL, "Cannot rename partition column: [p]"},
        {"{'pk-btree.index.columns':'n, v'}", RENAME("'v'", "w"), E_UNSUPPORTED, NULL,
         "Cannot rename primary-key index column: [v]"},
        {"{}", RENAME("'z'", "w"), E_NOTFOUND, "z", "Column z does not exist in the d.t table."},
        {"{}", RENAME("'v'", "k"), E_EXISTS, "k", "Column k already exists in the d.t table."},
        {"{}", RENAME("'v'", "v"), E_EXISTS, "v", "Column v already exists in the d.t table."},
        {"{}", RENAME("'r','a'", "b"), E_EXISTS, "r.b",
         "Column r.b already exists in the d.t table."},
        {"{}", RENAME("'r','z'", "b"), E_NOTFOUND, "r.z",
         "Column r.z does not exist in the d.t table."},
        {"{}", RENAME("'n','element'", "w"), E_NOTFOUND, "n.element",
         "Column n.element does not exist in the d.t table."},
        {"{}", RENAME("'v'", ""), E_INVAL, NULL, "the name of a column must not be blank"});
}

static void renamed_elsewhere(void **state)
{
    (void)state;
    struct table_schema ts =
        table("{'bucket-key':'k','sequence.field':'v,n','fields.v.aggregate-function':'sum',"
              "'fields.v.ignore-retract':'true','fields.v,r.sequence-group':'k,v',"
              "'fields.v.unknown':'v','fields.l.nested-key':'v','other':'v',"
              "'fields.vv.distinct':'true'}");
    assert_int_equal(apply(&ts, true, RENAME("'v'", "w") "," RENAME("'k'", "id")), 0);
    const struct schema *s = &ts.schema;
    SAME(s->primary_keys.items[0], "p");
    SAME(s->primary_keys.items[1], "id");
    SAME(schema_option(s, "bucket-key"), "id");
    SAME(schema_option(s, "sequence.field"), "w,n");
    SAME(schema_option(s, "fields.w.aggregate-function"), "sum");
    SAME(schema_option(s, "fields.w.ignore-retract"), "true");
    SAME(schema_option(s, "fields.w,r.sequence-group"), "id,w");
    SAME(schema_option(s, "fields.l.nested-key"), "w");
    SAME(schema_option(s, "fields.v.unknown"), "v");
    SAME(schema_option(s, "other"), "v");
    SAME(schema_option(s, "fields.vv.distinct"), "true");
    assert_int_equal(s->options.n, 9);
    assert_false(schema_field(s, STR_LIT("id"))->type->nullable);
    /* Names that change twice, or change places. */
    ts = table("{'sequence.field':'v','fields.n.distinct':'true','fields.v.distinct':'false'}");
    assert_int_equal(
        apply(&ts, true,
              RENAME("'v'", "t") "," RENAME("'n'", "v") "," RENAME("'t'", "n") "," RENAME(
                  "'k'", "k1") "," RENAME("'k1'", "k2") "," ADD("'k1'", "'INT'", "")),
        0);
    SAME(schema_option(s, "sequence.field"), "n");
    SAME(schema_option(s, "fields.v.distinct"), "true");
    SAME(schema_option(s, "fields.n.distinct"), "false");
    SAME(s->primary_keys.items[1], "k2");
    /* A field inside a column is named nowhere. */
    ts = table("{'sequence.field':'r'}");
    assert_int_equal(apply(&ts, true, RENAME("'r','a'", "z")), 0);
    SAME(schema_option(s, "sequence.field"), "r");
}

static void dropping(void **state)
{
    (void)state;
    GOOD("{}", DROP("'v'"), P C K C R C L C N);
    GOOD("{}", DROP("'r','a'"), P C K C V C "r#3 ROW<`b` ROW<`c` STRING>>" C L C N);
    GOOD("{}", ADD("'l','element','value','y'", "'INT'", "") "," DROP("'l','element','value','x'"),
         P C K C V C R C "l#7 ARRAY<MAP<STRING, ROW<`y` INT>>>" C N);
    REFUSED(
        {"{}", DROP("'p'"), E_UNSUPPORTED, NULL, "Cannot drop partition key or primary key: [p]"},
        {"{}", DROP("'k'"), E_UNSUPPORTED, NULL, "Cannot drop partition key or primary key: [k]"},
        {"{'pk-vector.index.columns':'v'}", DROP("'v'"), E_UNSUPPORTED, NULL,
         "Cannot drop primary-key index column: [v]"},
        {"{}", DROP("'z'"), E_NOTFOUND, "z", "Column z does not exist in the d.t table."},
        {"{}", DROP("'v'") "," DROP("'v'"), E_NOTFOUND, "v",
         "Column v does not exist in the d.t table."},
        {"{}", DROP("'r','b','c'"), E_INVAL, NULL, "Cannot drop all fields in table"},
        {"{}", DROP("'n','element'"), E_NOTFOUND, "n.element",
         "Column n.element does not exist in the d.t table."});
    struct table_schema ts = {.highest_field_id = 0};
    assert_int_equal(
        schema_decode(&cx, json("{'fields':[{'id':0,'name':'a','type':'INT'}]}"), "", &ts.schema),
        0);
    assert_int_equal(apply(&ts, false, DROP("'a'")), E_INVAL);
    assert_string_equal(cx.err.msg, "Cannot drop all fields in table");
}

static void types(void **state)
{
    (void)state;
    GOOD("{}", TYPE("'v'", "'BIGINT'", "false"), P C K C "v#2 BIGINT" C R C L C N);
    GOOD("{}", TYPE("'v'", "'BIGINT NOT NULL'", "true"), P C K C "v#2 BIGINT" C R C L C N);
    GOOD("{}", TYPE("'v'", "'TINYINT'", "false"), P C K C "v#2 TINYINT" C R C L C N);
    GOOD("{}", TYPE("'r','a'", "'BIGINT'", "false"),
         P C K C V C "r#3 ROW<`a` BIGINT, `b` ROW<`c` STRING>>" C L C N);
    GOOD("{}", TYPE("'n','element'", "'BIGINT'", "false"), P C K C V C R C L C "n#9 ARRAY<BIGINT>");
    GOOD("{}", TYPE("'l','element','value','x'", "'BIGINT'", "false"),
         P C K C V C R C "l#7 ARRAY<MAP<STRING, ROW<`x` BIGINT>>>" C N);
    /* ... also where what is replaced was changed inside by the same request */
    GOOD("{}",
         ADD("'l','element','value','y'", "'INT'", "") "," TYPE("'l','element','value'", "'STRING'",
                                                                "false"),
         P C K C V C R C "l#7 ARRAY<MAP<STRING, STRING>>" C N);
    GOOD("{}", ADD("'l','element','value','y'", "'INT'", "") "," TYPE("'l'", "'STRING'", "false"),
         P C K C V C R C "l#7 STRING" C N);
    GOOD("{'alter-column-null-to-not-null.disabled':'false'}",
         TYPE("'v'", "'INT NOT NULL'", "false"), P C K C "v#2 INT NOT NULL" C R C L C N);
    REFUSED(
        {"{}", TYPE("'p'", "'BIGINT'", "false"), E_UNSUPPORTED, NULL,
         "Cannot update partition column: [p]"},
        {"{}", TYPE("'k'", "'BIGINT'", "false"), E_UNSUPPORTED, NULL, "Cannot update primary key"},
        {"{'pk-bitmap.index.columns':'v'}", TYPE("'v'", "'BIGINT'", "false"), E_UNSUPPORTED, NULL,
         "Cannot update type of primary-key index column: [v]"},
        {"{}", TYPE("'v'", "'DATE'", "false"), E_STATE, NULL,
         "Column type v[INT] cannot be converted to DATE without loosing information."},
        {"{'disable-explicit-type-casting':'true'}", TYPE("'v'", "'TINYINT'", "false"), E_STATE,
         NULL, "Column type v[INT] cannot be converted to TINYINT without loosing information."},
        {"{}", ADD("'r','z'", "'INT'", "") "," TYPE("'r'", "'INT'", "false"), E_STATE, NULL,
         "Column type r[ROW<`a` INT, `b` ROW<`c` STRING>, `z` INT>] cannot be converted to INT "
         "without loosing information."},
        {"{}", TYPE("'n','element'", "'DATE'", "false"), E_STATE, NULL,
         "Column type n[INT] cannot be converted to DATE without loosing information."},
        {"{}", TYPE("'v'", "'BIGINT NOT NULL'", "false"), E_UNSUPPORTED, NULL,
         "Cannot update column type from nullable to non nullable for v. You can set table "
         "configuration option 'alter-column-null-to-not-null.disabled' = 'false' to allow "
         "converting null columns to not null"},
        {"{}", TYPE("'z'", "'INT'", "false"), E_NOTFOUND, "z",
         "Column z does not exist in the d.t table."},
        {"{}", DEFAULT("'v'", "'1000'") "," TYPE("'v'", "'TINYINT'", "false"), E_INVAL, NULL,
         "Unsupported default value `1000` for type TINYINT"},
        {"{}", "{'action':'updateColumnType','fieldNames':['v']}", E_INVAL, NULL,
         "change.newDataType is missing"});
}

static void nullability(void **state)
{
    (void)state;
    const char *on = "{'alter-column-null-to-not-null.disabled':'false'}";
    GOOD(on, NULLABLE("'v'", "false"), P C K C "v#2 INT NOT NULL" C R C L C N);
    GOOD(on, NULLABLE("'n','element'", "false"), P C K C V C R C L C "n#9 ARRAY<INT NOT NULL>");
    GOOD(on,
         ADD("'l','element','value','y'", "'INT'", "") "," NULLABLE(
             "'l','element'",
             "false") "," NULLABLE("'l','element','value'",
                                   "false") "," NULLABLE("'l','element','value','x'", "false"),
         P C K C V C R C
         "l#7 ARRAY<MAP<STRING, ROW<`x` INT NOT NULL, `y` INT> NOT NULL> NOT NULL>" C N);
    GOOD(on, NULLABLE("'v'", "false") "," NULLABLE("'v'", "true"), P C K C V C R C L C N);
    GOOD("{}", NULLABLE("'k'", "false"), P C K C V C R C L C N);
    REFUSED({"{}", NULLABLE("'k'", "true"), E_UNSUPPORTED, NULL,
             "Cannot change nullability of primary key"},
            {"{}", NULLABLE("'r','a'", "false"), E_UNSUPPORTED, NULL,
             "Cannot update column type from nullable to non nullable for r.a. You can set table "
             "configuration option 'alter-column-null-to-not-null.disabled' = 'false' to allow "
             "converting null columns to not null"},
            {"{}", NULLABLE("'z'", "true"), E_NOTFOUND, "z",
             "Column z does not exist in the d.t table."});
}

static void comments_and_defaults(void **state)
{
    (void)state;
    struct table_schema ts = table("{}");
    assert_int_equal(apply(&ts, true,
                           COMMENT("'v'", "'one'") "," DEFAULT("'v'", "'7'") "," COMMENT(
                               "'r','b','c'", "'two'") "," DEFAULT("'r','a'", "'8'")),
                     0);
    const struct data_field *f = ts.schema.fields;
    SAME(f[2].description, "one");
    SAME(f[2].default_value, "7");
    SAME(f[3].type->fields[0].default_value, "8");
    SAME(f[3].type->fields[1].type->fields[0].description, "two");
    /* They survive other changes of their column. */
    assert_int_equal(apply(&ts, true, TYPE("'v'", "'BIGINT'", "false") "," RENAME("'v'", "w")), 0);
    SAME(ts.schema.fields[2].description, "one");
    SAME(ts.schema.fields[2].default_value, "7");
    assert_int_equal(apply(&ts, true, COMMENT("'w'", "null") "," DEFAULT("'w'", "null")), 0);
    assert_null(ts.schema.fields[2].description.p);
    assert_null(ts.schema.fields[2].default_value.p);
    REFUSED(
        {"{}", COMMENT("'z'", "'x'"), E_NOTFOUND, "z", "Column z does not exist in the d.t table."},
        {"{}", COMMENT("'n','element'", "'x'"), E_NOTFOUND, "n.element",
         "Column n.element does not exist in the d.t table."},
        {"{}", DEFAULT("'v'", "'x'"), E_INVAL, NULL, "Unsupported default value `x` for type INT"},
        {"{}", DEFAULT("'r','z'", "'1'"), E_NOTFOUND, "r.z",
         "Column r.z does not exist in the d.t table."});
}

static void positions(void **state)
{
    (void)state;
    GOOD("{}", POSITION(MOVE("v", "FIRST", "null")), V C P C K C R C L C N);
    GOOD("{}", POSITION(MOVE("v", "LAST", "null")), P C K C R C L C N C V);
    GOOD("{}", POSITION(MOVE("v", "AFTER", "'p'")), P C V C K C R C L C N);
    GOOD("{}", POSITION(MOVE("p", "AFTER", "'v'")), K C V C P C R C L C N);
    GOOD("{}", POSITION(MOVE("v", "BEFORE", "'p'")), V C P C K C R C L C N);
    GOOD("{}", POSITION(MOVE("p", "BEFORE", "'v'")), K C P C V C R C L C N);
    REFUSED({"{}", POSITION(MOVE("z", "FIRST", "null")), E_INVAL, NULL, "Field name not found: z"},
            {"{}", POSITION(MOVE("v", "AFTER", "'z'")), E_INVAL, NULL,
             "Reference field name not found: z"},
            {"{}", POSITION(MOVE("v", "AFTER", "'v'")), E_UNSUPPORTED, NULL,
             "Cannot move itself for column v"},
            {"{}", POSITION(MOVE("p", "FIRST", "null")), E_UNSUPPORTED, NULL,
             "Cannot move itself for column p"},
            {"{}", POSITION(MOVE("n", "LAST", "null")), E_UNSUPPORTED, NULL,
             "Cannot move itself for column n"});
    struct table_schema ts = table("{}");
    assert_int_equal(apply(&ts, true, "{'action':'updateColumnPosition'}"), E_INVAL);
}

static void deep_paths(void **state)
{
    (void)state;
    struct table_schema ts = table("{}");
    char path[1000] = "'s'", change[2000];
    int rc = apply(&ts, true, ADD("'s'", "{'type':'ROW','fields':[]}", ""));
    int depth = 1;
    while (rc == 0 && depth < 100) {
        depth++;
        snprintf(path + strlen(path), sizeof path - strlen(path), ",'s'");
        snprintf(change, sizeof change,
                 "{'action':'addColumn','fieldNames':[%s],'dataType':{'type':'ROW','fields':[]}}",
                 path);
        rc = apply(&ts, true, change);
    }
    assert_int_equal(rc, E_INVAL);
    assert_int_equal(depth, TYPES_DEPTH_MAX / 3 + 1);
    assert_string_equal(cx.err.res_name, "s");
}

/* n of them; '#' is the number */
static void put_changes(struct buf *b, int n, const char *text)
{
    for (int i = 0; i < n; i++) {
        if (b->len > 1)
            buf_addc(b, ',');
        for (const char *p = text; *p; p++)
            if (*p == '#')
                buf_add_i64(b, i);
            else
                buf_addc(b, *p == '\'' ? '"' : *p);
    }
}

/* Thousands of changes of thousands of columns, at the top and inside: seconds would be far off. */
static void many_changes(void **state)
{
    (void)state;
    const int n = 2500;
    struct buf b = {0};
    struct table_schema ts = table("{'add-column-before-partition':'true'}");
    for (int round = 0; round < 4; round++) {
        buf_clear(&b);
        buf_addc(&b, '[');
        put_changes(&b, n,
                    round == 0   ? ADD("'c#'", "'BYTES'", ",'comment':'__BLOB_FIELD'")
                    : round == 1 ? ADD("'r','c#'", "'INT'", "")
                    : round == 2 ? COMMENT("'r','c#'", "'x'")
                                 : DROP("'c#'"));
        put_changes(&b, n,
                    round == 0   ? "{'action':'setOption','key':'o#','value':'v'}"
                    : round == 1 ? RENAME("'r','c#'", "d#") "," RENAME("'r','d#'", "c#")
                    : round == 2 ? POSITION(MOVE("c#", "LAST", "null"))
                                 : DROP("'r','c#'"));
        buf_addc(&b, ']');
        const struct json *v = NULL;
        int64_t begin = clock_mono_ms();
        assert_int_equal(json_parse(&cx, str_dup(&cx.arena, buf_str(&b)), "test", &v), 0);
        if (schema_change_apply(&cx, v, true, STR_LIT("d.t"), &ts) != 0)
            fail_msg("%d: %s", round, cx.err.msg);
        assert_true(clock_mono_ms() - begin < 5000);
        if (round == 0)
            assert_int_equal(ts.schema.n_fields, n + 6);
    }
    assert_int_equal(ts.schema.n_fields, 6);
    assert_int_equal(schema_field(&ts.schema, STR_LIT("r"))->type->n_fields, 2);
    assert_null(schema_option(&ts.schema, "blob-field").p);
    buf_done(&b);
}

static void out_of_memory(void **state)
{
    (void)state;
    const char *all = "[" ADD("'w'", "'BYTES'", ",'comment':'__BLOB_FIELD'") "," ADD(
        "'r','b','d'", "{'type':'ROW','fields':[{'id':0,'name':'a','type':'INT'}]}",
        "") "," RENAME("'v'",
                       "w2") "," DROP("'n'") "," TYPE("'w2'", "'STRING'",
                                                      "false") "," POSITION(MOVE("w", "FIRST",
                                                                                 "null")) "]";
    struct table_schema ts = table("{'sequence.field':'v','fields.v.distinct':'true'}");
    int rc = E_NOMEM;
    const struct json *v = json(all);
    for (long n = 1; rc != 0; n++) {
        struct ctx c2;
        struct table_schema copy = ts;
        ctx_init(&c2, 64 << 20);
        mem_fail_at(n, 1);
        rc = schema_change_apply(&c2, v, true, STR_LIT("d.t"), &copy);
        mem_fail_at(0, 0);
        assert_true(rc == 0 || rc == E_NOMEM);
        if (rc < 0)
            assert_true(schema_equal(&copy.schema, &ts.schema));
        ctx_done(&c2);
        assert_true(n < 10000);
    }
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(adding),       T(adding_inside),         T(adding_refused), T(directives),
        T(renaming),     T(renamed_elsewhere),     T(dropping),       T(types),
        T(nullability),  T(comments_and_defaults), T(positions),      T(deep_paths),
        T(many_changes), T(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
