/* test_route.c - from raw paths to routes and parameters. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "server/route.h"
#include "server/version.h"

static struct ctx cx;
static struct router *r;
static struct route_hit hit;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 1 << 20);
    return router_new(&cx, routes, ROUTE_COUNT, &r);
}

static int teardown(void **state)
{
    (void)state;
    router_free(r);
    ctx_done(&cx);
    return 0;
}

static int match(const char *method, const char *path)
{
    ctx_reset_err(&cx);
    return router_match(&cx, r, str_of(method), str_of(path), &hit);
}

static void assert_route(const char *method, const char *path, int id)
{
    assert_int_equal(match(method, path), 0);
    assert_ptr_equal(hit.route, &routes[id]);
}

static void assert_param(int i, const char *value)
{
    if (!str_eqz(hit.params[i], value))
        fail_msg("parameter %d is \"%.*s\", not \"%s\"", i, STR(hit.params[i]), value);
}

/* Each pattern, with its parameters filled in, finds its own row. */
static void test_every_row(void **state)
{
    (void)state;
    for (int i = 0; i < ROUTE_COUNT; i++) {
        char path[256];
        size_t n = 0;
        for (const char *p = routes[i].pattern; *p; p++)
            if (*p != '{' && *p != '}')
                path[n++] = *p;
        path[n] = 0;
        assert_route(route_method_name(routes[i].method), path, i);
    }
}

static void test_parameters(void **state)
{
    (void)state;
    assert_route("GET", "/v1/a.b/databases/d+1/tables/t%24branch_x/snapshots/12",
                 ROUTE_h_snapshot_at);
    assert_param(0, "a.b");
    assert_param(1, "d 1");
    assert_param(2, "t$branch_x");
    assert_param(3, "12");
    assert_route("GET", "/v1/p/databases/d/tables/t~*%7E", ROUTE_h_table_get);
    assert_param(2, "t~*~");
    assert_route("GET", "/v1/p/databases/%C3%A4/tables/\xc3\xa4", ROUTE_h_table_get);
    assert_param(1, "\xc3\xa4");
    assert_param(2, "\xc3\xa4");
}

/* Split first, decode later: an encoded slash is part of a name. */
static void test_encoded_slash(void **state)
{
    (void)state;
    assert_route("GET", "/v1/p/databases/a%2Fb", ROUTE_h_database_get);
    assert_param(1, "a/b");
    assert_route("GET", "/v1/p/databases/a%2Ftables", ROUTE_h_database_get);
    assert_param(1, "a/tables");
    assert_route("GET", "/v1/p/databases/%2E%2E", ROUTE_h_database_get);
    assert_param(1, "..");
}

static void test_literals_are_compared_decoded(void **state)
{
    (void)state;
    assert_route("GET", "/v%31/p/d%61tabases", ROUTE_h_database_list);
    assert_int_equal(match("GET", "/V1/p/databases"), E_NOTFOUND);
    assert_int_equal(match("GET", "/v1/p/Databases"), E_NOTFOUND);
}

static void test_static_wins(void **state)
{
    (void)state;
    assert_route("POST", "/v1/p/tables/rename", ROUTE_h_table_rename);
    assert_route("GET", "/v1/p/tables/id/rename", ROUTE_h_table_by_id);
    assert_route("GET", "/v1/p/databases/databases", ROUTE_h_database_get);
    assert_route("GET", "/v1/p/databases/d/tables/snapshot", ROUTE_h_table_get);
    assert_route("GET", "/v1/config", ROUTE_h_config);
    assert_route("GET", "/v1/config/databases", ROUTE_h_database_list); /* "config" as a prefix */
    assert_param(0, "config");
}

/* The literal is tried first, but its dead end does not hide the parameter. */
static void test_falls_back_to_the_parameter(void **state)
{
    (void)state;
    static const struct route own[] = {
        {.method = METHOD_GET, .pattern = "/a/b/c"},
        {.method = METHOD_GET, .pattern = "/a/{x}/d"},
        {.method = METHOD_GET, .pattern = "/{y}/b/e"},
        {.method = METHOD_POST, .pattern = "/a/{x}"},
        {.method = METHOD_GET, .pattern = "/a/b"},
    };
    struct router *mine;
    assert_int_equal(router_new(&cx, own, 5, &mine), 0);
    assert_int_equal(router_match(&cx, mine, STR_LIT("GET"), STR_LIT("/a/b/c"), &hit), 0);
    assert_ptr_equal(hit.route, &own[0]);
    assert_int_equal(router_match(&cx, mine, STR_LIT("GET"), STR_LIT("/a/b/d"), &hit), 0);
    assert_ptr_equal(hit.route, &own[1]);
    assert_param(0, "b");
    assert_int_equal(router_match(&cx, mine, STR_LIT("GET"), STR_LIT("/a/b/e"), &hit), 0);
    assert_ptr_equal(hit.route, &own[2]);
    assert_param(0, "a");
    assert_int_equal(router_match(&cx, mine, STR_LIT("POST"), STR_LIT("/a/b"), &hit), E_METHOD);
    assert_string_equal(hit.allow, "GET, HEAD");
    assert_int_equal(router_match(&cx, mine, STR_LIT("POST"), STR_LIT("/a/c"), &hit), 0);
    router_free(mine);
}

static void test_twice_is_refused(void **state)
{
    (void)state;
    static const struct route own[] = {
        {.method = METHOD_GET, .pattern = "/a/{x}"},
        {.method = METHOD_GET, .pattern = "/a/{y}"},
    };
    struct router *mine;
    assert_int_equal(router_new(&cx, own, 2, &mine), E_INTERNAL);
}

static void test_methods(void **state)
{
    (void)state;
    assert_int_equal(match("PUT", "/v1/config"), E_METHOD);
    assert_string_equal(hit.allow, "GET");
    assert_int_equal(match("PATCH", "/v1/p/databases/d"), E_METHOD);
    assert_string_equal(hit.allow, "GET, POST, DELETE");
    assert_int_equal(match("get", "/v1/config"), E_METHOD); /* methods have a case */
    assert_int_equal(match("", "/v1/config"), E_METHOD);
    assert_int_equal(match("DELETE", "/v1/p/databases/d/tables/t/commit"), E_METHOD);
    assert_string_equal(hit.allow, "POST");
}

static void test_head(void **state)
{
    (void)state;
    assert_route("HEAD", "/healthz", ROUTE_h_healthz);
    assert_route("HEAD", "/readyz", ROUTE_h_readyz);
    assert_int_equal(match("HEAD", "/v1/config"), E_METHOD);
    assert_string_equal(hit.allow, "GET");
    assert_int_equal(match("POST", "/healthz"), E_METHOD);
    assert_string_equal(hit.allow, "GET, HEAD");
}

static void test_unknown(void **state)
{
    (void)state;
    const char *paths[] = {"/",
                           "//",
                           "",
                           "v1/config",
                           "*",
                           "/v1",
                           "/v1/",
                           "/v1/config/",
                           "//v1/config",
                           "/v1//databases",
                           "/v1/p/databases/",
                           "/v1/p/databases//",
                           "/v1/p/databases//tables",
                           "/v1/p/databases/d/tables/t/snapshots/1/2",
                           "/v1/p/databases/d/tables/t/nope",
                           "/v1/p/tables/",
                           "/v1/p/tables/id",
                           "/healthz/x",
                           "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a",
                           "/api/v1/config"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (match("GET", paths[i]) != E_NOTFOUND)
            fail_msg("%s: %d", paths[i], match("GET", paths[i]));
    /* Of Paimon's protocol, but not served: a 404 would say that the table is missing. */
    const char *unserved[] = {"/v1/p/permissions/grant", "/v1/p/permissions"};
    for (size_t i = 0; i < sizeof(unserved) / sizeof(unserved[0]); i++)
        assert_int_equal(match("POST", unserved[i]), E_UNSUPPORTED);
    assert_int_equal(match("GET", "/v1/views"), E_NOTFOUND);
    assert_int_equal(match("GET", "/tags/v1/x/y"), E_NOTFOUND);
    assert_int_equal(router_match(&cx, r, STR_LIT("GET"), STR_NONE, &hit), E_NOTFOUND);
    assert_int_equal(match("GET", "/api/v1/config"), E_NOTFOUND);
    assert_non_null(strstr(cx.err.msg, "Paimon REST"));
    assert_non_null(strstr(cx.err.msg, latch_version()));
    assert_non_null(strstr(cx.err.msg, "/api/v1/config"));
    assert_int_equal(match("BREW", "/nope"), E_NOTFOUND); /* not 405: there is nothing */
}

static void test_broken_escapes(void **state)
{
    (void)state;
    const char *paths[] = {"/v1/p/databases/%",      "/v1/p/databases/%2",  "/v1/p/databases/%zz",
                           "/v1/p/databases/a%00b",  "/v1/p/databases/%ff", "/v1/p/databases/\xff",
                           "/v1/%ed%a0%80/databases"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (match("GET", paths[i]) != E_INVAL)
            fail_msg("%s: %d", paths[i], match("GET", paths[i]));
}

/* Whose warehouse it is is asked of the first parameter, for each route that has {prefix}; what is below
 * it is of no use to who has no token. */
static void test_prefix(void **state)
{
    (void)state;
    int own = 0;
    for (int i = 0; i < ROUTE_COUNT; i++) {
        const char *first = strchr(routes[i].pattern, '{');
        if (!first)
            continue;
        if (strncmp(first, "{prefix}/", 9) != 0 || first[-1] != '/')
            fail_msg("%s does not begin with {prefix}", routes[i].pattern);
        assert_int_equal(routes[i].auth, AUTH_TOKEN);
        own += strncmp(routes[i].pattern, "/latch/v1/{prefix}/", 19) == 0;
    }
    assert_true(own >= 2);
    assert_route("GET", "/latch/v1/a.b/databases/d/tables/t/conflicts", ROUTE_h_conflict_list);
    assert_param(0, "a.b");
    assert_param(2, "t");
    assert_route("GET", "/latch/v1/a.b/databases/d/tables/t%24branch_x/conflicts/12",
                 ROUTE_h_conflict_get);
    assert_param(2, "t$branch_x");
    assert_param(3, "12");
    assert_int_equal(match("GET", "/v1/a.b/databases/d/tables/t/conflicts"), E_NOTFOUND);
    assert_int_equal(match("GET", "/latch/a.b/databases/d/tables/t/conflicts"), E_NOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_row, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parameters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_encoded_slash, setup, teardown),
        cmocka_unit_test_setup_teardown(test_literals_are_compared_decoded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_static_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(test_falls_back_to_the_parameter, setup, teardown),
        cmocka_unit_test_setup_teardown(test_twice_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_methods, setup, teardown),
        cmocka_unit_test_setup_teardown(test_head, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broken_escapes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_prefix, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
