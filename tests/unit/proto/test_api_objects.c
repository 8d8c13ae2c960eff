/* test_api_objects.c - bodies of the view and function routes, and pages over all databases. */
#include "tests/unit/proto/api_fixture.h"

#include "proto/api/api_function.h"
#include "proto/api/api_view.h"
#include "proto/base/mem.h"

#define L(s) STR_LIT(s)

/* --- what clients send ------------------------------------------------------------------------ */

static void view_bodies(void **state)
{
    (void)state;
    struct api_view_create c;
    struct api_view_rename r;
    /* As RESTApi.toJson of paimon-bundle 1.4.2 prints it. */
    const char *body =
        "{\"identifier\":{\"database\":\"db\",\"object\":\"v.1\"},\"schema\":{\"fields\":[{\"id\":"
        "0,"
        "\"name\":\"a\",\"type\":\"INT\"}],\"query\":\"SELECT 1\",\"dialects\":{},\"options\":{}}}";
    assert_int_equal(api_view_create_decode(&cx, parse(body), L("db"), &c), 0);
    assert_str(c.name, "v.1");
    assert_int_equal(c.schema->n, 4);
    assert_int_equal(
        api_view_rename_decode(&cx,
                               parse("{\"source\":{\"database\":\"a\",\"object\":\"b\"},"
                                     "\"destination\":{\"database\":\"c\",\"object\":\"d\"}}"),
                               &r),
        0);
    assert_str(r.source.database, "a");
    assert_str(r.source.object, "b");
    assert_str(r.destination.database, "c");
    assert_str(r.destination.object, "d");
}

static void bad_view_bodies(void **state)
{
    (void)state;
    static const struct {
        const char *body, *says;
    } bad[] = {
        {"{}", "identifier is missing"},
        {"{\"identifier\":{\"database\":\"db\",\"object\":\"v\"}}", "schema is missing"},
        {"{\"identifier\":{\"database\":\"db\",\"object\":\"v\"},\"schema\":\"x\"}",
         "schema must be"},
        {"{\"identifier\":{\"database\":\"db\",\"object\":\"v\"},\"schema\":null}",
         "schema must be"},
        {"{\"identifier\":{\"database\":\"o\",\"object\":\"v\"},\"schema\":{}}",
         "identifier.database is \"o\", but the path names database \"db\""},
        {"{\"identifier\":{\"database\":\"db\",\"object\":\"v$a\"},\"schema\":{}}", "'$'"},
        {"{\"identifier\":{\"database\":\"db\",\"object\":\"\"},\"schema\":{}}",
         "identifier.object is empty"},
    };
    for (size_t i = 0; i < N(bad); i++) {
        struct api_view_create c = {.name = L("as it was")};
        assert_int_equal(api_view_create_decode(&cx, parse(bad[i].body), L("db"), &c), E_INVAL);
        if (!strstr(cx.err.msg, bad[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", bad[i].body, cx.err.msg, bad[i].says);
        assert_str(c.name, "as it was");
    }
}

static void function_bodies(void **state)
{
    (void)state;
    str name = L("as it was");
    assert_int_equal(api_function_create_decode(&cx, parse("{}"), &name), E_INVAL);
    assert_non_null(strstr(cx.err.msg, "name is missing"));
    assert_int_equal(api_function_create_decode(&cx, parse("{\"name\":null}"), &name), E_INVAL);
    assert_int_equal(api_function_create_decode(&cx, parse("{\"name\":7}"), &name), E_INVAL);
    assert_str(name, "as it was");
    assert_int_equal(api_function_create_decode(&cx, parse("{\"x\":{},\"name\":\"f.1\"}"), &name),
                     0);
    assert_str(name, "f.1");
}

/* --- what we answer --------------------------------------------------------------------------- */

#define AUDIT                                                                                      \
    "\"owner\":\"o\",\"createdAt\":1,\"createdBy\":\"c\",\"updatedAt\":2,\"updatedBy\":\"u\""
static const struct api_audit audit = {L("o"), L("c"), L("u"), 1, 2};

static void view_answers(void **state)
{
    (void)state;
    struct api_view v[] = {{L("i"), L("v\""), L("{\"fields\":[]}"), audit},
                           {L("j"), L("w"), L("{\"query\":\"q\"}"), audit}};
#define V0 "{\"id\":\"i\",\"name\":\"v\\\"\",\"schema\":{\"fields\":[]}," AUDIT "}"
#define V1 "{\"id\":\"j\",\"name\":\"w\",\"schema\":{\"query\":\"q\"}," AUDIT "}"
    assert_int_equal(api_view_encode(&cx, &out, &v[0]), 0);
    assert_out(V0);
    assert_int_equal(api_views_encode(&cx, &out, v, 2, 3), 0);
    assert_out("{\"viewDetails\":[" V0 "," V1 "],\"nextPageToken\":null}");
    assert_int_equal(api_views_encode(&cx, &out, v, 2, 2), 0);
    assert_out("{\"viewDetails\":[" V0 "," V1 "],\"nextPageToken\":\"w\"}");
    assert_int_equal(api_views_encode(&cx, &out, NULL, 0, 2), 0);
    assert_out("{\"viewDetails\":[],\"nextPageToken\":null}");
    v[1].schema_json = STR_NONE;
    assert_int_equal(api_views_encode(&cx, &out, v, 2, 2), E_CORRUPT);
    assert_int_equal(cx.err.res, RES_VIEW);
}

static void function_answers(void **state)
{
    (void)state;
    struct api_function f[] = {{L("i"), L("f"), L("{\"inputParams\":null,\"options\":{}}"), audit},
                               {L("j"), L("g"), L("{}"), audit}};
#define F0 "{\"uuid\":\"i\",\"name\":\"f\",\"inputParams\":null,\"options\":{}," AUDIT "}"
#define F1 "{\"uuid\":\"j\",\"name\":\"g\"," AUDIT "}"
    assert_int_equal(api_function_encode(&cx, &out, &f[0]), 0);
    assert_out(F0);
    assert_int_equal(api_functions_encode(&cx, &out, f, 2, 3), 0);
    assert_out("{\"functionDetails\":[" F0 "," F1 "],\"nextPageToken\":null}");
    assert_int_equal(api_functions_encode(&cx, &out, f, 1, 1), 0);
    assert_out("{\"functionDetails\":[" F0 "],\"nextPageToken\":\"f\"}");
    const str broken[] = {STR_NONE, L(""), L("x"), L("{"), L("}"), L("[]"), L("{]")};
    for (size_t i = 0; i < N(broken); i++) {
        f[0].json = broken[i];
        assert_int_equal(api_function_encode(&cx, &out, &f[0]), E_CORRUPT);
        assert_int_equal(cx.err.res, RES_FUNCTION);
        buf_clear(&out);
    }
}

/* --- pages over all databases ----------------------------------------------------------------- */

static void pages_of_identifiers(void **state)
{
    (void)state;
    struct api_ident id[] = {{L("d"), L("t.1")}, {L("a.b"), L("c")}};
    assert_int_equal(api_idents_encode(&cx, &out, "tables", id, 2, 3), 0);
    assert_out("{\"tables\":[{\"database\":\"d\",\"object\":\"t.1\"},"
               "{\"database\":\"a.b\",\"object\":\"c\"}],\"nextPageToken\":null}");
    assert_int_equal(api_idents_encode(&cx, &out, "views", id, 1, 1), 0);
    assert_out("{\"views\":[{\"database\":\"d\",\"object\":\"t.1\"}],\"nextPageToken\":\"d.t.1\"}");
    assert_int_equal(api_idents_encode(&cx, &out, "views", &id[1], 1, 1), 0);
    assert_out(
        "{\"views\":[{\"database\":\"a.b\",\"object\":\"c\"}],\"nextPageToken\":\".3.a.b.c\"}");
    assert_int_equal(api_idents_encode(&cx, &out, "functions", NULL, 0, 1), 0);
    assert_out("{\"functions\":[],\"nextPageToken\":null}");
}

/* Every pair comes back from its own token, those of one full name too. */
static void tokens_of_identifiers(void **state)
{
    (void)state;
    static const struct api_ident ids[] = {
        {L("d"), L("t")},      {L("a"), L("b.c")}, {L("a.b"), L("c")},
        {L("."), L(".")},      {L(".h"), L("t")},  {L("a."), L(".b")},
        {L("..3.x"), L("3.")}, {L("1"), L("2.3")}, {L("\xC3\xA9.x"), L("\xC3\xA9")},
        {L("d "), L(" t+%")},
    };
    for (size_t i = 0; i < N(ids); i++) {
        struct api_ident back;
        const struct json *j;
        str token;
        buf_clear(&out);
        assert_int_equal(api_idents_encode(&cx, &out, "x", &ids[i], 1, 1), 0);
        assert_int_equal(json_parse(&cx, buf_str(&out), "answer", &j), 0);
        assert_int_equal(json_want_str(&cx, j, "", "nextPageToken", &token), 0);
        assert_int_equal(api_ident_token(&cx, token, &back), 0);
        if (!str_eq(back.database, ids[i].database) || !str_eq(back.object, ids[i].object))
            fail_msg("%.*s: \"%.*s\" \"%.*s\"", STR(token), STR(back.database), STR(back.object));
    }
}

static void tokens_that_clients_make(void **state)
{
    (void)state;
    struct api_ident id;
    assert_int_equal(api_ident_token(&cx, STR_NONE, &id), 0);
    assert_int_equal(id.database.len + id.object.len, 0);
    assert_int_equal(api_ident_token(&cx, L(""), &id), 0);
    assert_int_equal(id.database.len + id.object.len, 0);
    assert_int_equal(api_ident_token(&cx, L("db"), &id), 0);
    assert_str(id.database, "db");
    assert_int_equal(id.object.len, 0);
    assert_int_equal(api_ident_token(&cx, L("db."), &id), 0);
    assert_str(id.database, "db");
    assert_int_equal(id.object.len, 0);
    assert_int_equal(api_ident_token(&cx, L("db.f.na_me-01"), &id), 0);
    assert_str(id.database, "db");
    assert_str(id.object, "f.na_me-01");
    static const str bad[] = {L("."),
                              L(".."),
                              L(".x.y"),
                              L(".3"),
                              L(".3."),
                              L(".3.a.b"),
                              L(".4.a.b."),
                              L(".0.x"),
                              L(".-1.a.b"),
                              L(".3.abcd"),
                              L(".99999999999999999999.a.b"),
                              L(".9223372036854775807.a.b")};
    for (size_t i = 0; i < N(bad); i++) {
        if (api_ident_token(&cx, bad[i], &id) != E_INVAL)
            fail_msg("%.*s", STR(bad[i]));
        assert_non_null(strstr(cx.err.msg, "pageToken"));
    }
}

static void answers_that_do_not_fit(void **state)
{
    (void)state;
    struct api_ident id = {L("database"), L("table")};
    struct api_view v = {L("i"), L("v"), L("{}"), audit};
    struct api_function f = {L("i"), L("v"), L("{}"), audit};
    buf_init(&out, 20);
    assert_int_equal(api_idents_encode(&cx, &out, "tables", &id, 1, 2), E_INVAL);
    assert_non_null(strstr(cx.err.msg, "maxResults"));
    buf_clear(&out);
    assert_int_equal(api_views_encode(&cx, &out, &v, 1, 2), E_INVAL);
    buf_clear(&out);
    assert_int_equal(api_functions_encode(&cx, &out, &f, 1, 2), E_INVAL);
    buf_done(&out);
    mem_fail_at(1, 1);
    int rc = api_idents_encode(&cx, &out, "tables", &id, 1, 1);
    mem_fail_at(0, 0);
    assert_int_equal(rc, E_NOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(view_bodies),           TEST(bad_view_bodies),          TEST(function_bodies),
        TEST(view_answers),          TEST(function_answers),         TEST(pages_of_identifiers),
        TEST(tokens_of_identifiers), TEST(tokens_that_clients_make), TEST(answers_that_do_not_fit),
    };
    return cmocka_run_group_tests_name("api_objects", tests, NULL, NULL);
}
