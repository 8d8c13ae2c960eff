/* test_openapi.c - server/openapi.json and routes.def name the same routes, both ways. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>

#include "proto/json/json.h"
#include "server/route.h"

extern const char latch_openapi[]; /* openapi.S */
extern const size_t latch_openapi_len;

static struct ctx cx;
static const struct json *doc;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 1 << 26);
    return json_parse(&cx, str_n(latch_openapi, latch_openapi_len), "openapi.json", &doc);
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

static const struct json *operation(const struct route *r)
{
    char method[16];
    snprintf(method, sizeof(method), "%s", route_method_name(r->method));
    for (char *p = method; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return json_get(json_get(json_get(doc, "paths"), r->pattern), method);
}

static const struct route *route_for(str path, str method)
{
    for (int i = 0; i < ROUTE_COUNT; i++)
        if (str_eqz(path, routes[i].pattern) &&
            str_ieq(method, str_of(route_method_name(routes[i].method))))
            return &routes[i];
    return NULL;
}

static void test_every_route_is_described(void **state)
{
    (void)state;
    for (int i = 0; i < ROUTE_COUNT; i++)
        if (!operation(&routes[i]))
            fail_msg("openapi.json lacks %s %s", route_method_name(routes[i].method),
                     routes[i].pattern);
}

static void test_nothing_else_is_described(void **state)
{
    (void)state;
    size_t n = 0;
    JSON_EACH (path, json_get(doc, "paths")) {
        JSON_EACH (method, path) {
            n++;
            if (!route_for(path->key, method->key))
                fail_msg("routes.def lacks %.*s %.*s", STR(method->key), STR(path->key));
        }
    }
    assert_int_equal(n, ROUTE_COUNT);
}

/* What "#/a/b" points at. */
static const struct json *resolve(str ref)
{
    const struct json *at = doc;
    str rest = str_cut(ref, 2), part;
    while (str_split(&rest, '/', &part))
        at = json_get(at, str_dupz(&cx.arena, part));
    return at;
}

static void check_refs(const struct json *v)
{
    if (v->type == JSON_OBJECT) {
        const struct json *ref = json_get(v, "$ref");
        if (ref && !(str_starts(ref->s, STR_LIT("#/")) && resolve(ref->s)))
            fail_msg("%.*s points at nothing", STR(ref->s));
    }
    if (v->type == JSON_OBJECT || v->type == JSON_ARRAY)
        JSON_EACH (child, v)
            check_refs(child);
}

static void test_references_resolve(void **state)
{
    (void)state;
    check_refs(doc);
}

static const struct json *path_parameter(const struct json *op, str name)
{
    JSON_EACH (p, json_get(op, "parameters")) {
        const struct json *ref = json_get(p, "$ref");
        const struct json *real = ref ? resolve(ref->s) : p;
        if (str_eq(json_get(real, "name")->s, name) && str_eqz(json_get(real, "in")->s, "path"))
            return real;
    }
    return NULL;
}

static void test_path_parameters_are_declared(void **state)
{
    (void)state;
    for (int i = 0; i < ROUTE_COUNT; i++) {
        str rest = str_of(routes[i].pattern), part;
        while (str_split(&rest, '/', &part)) {
            if (part.len == 0 || part.p[0] != '{')
                continue;
            if (!path_parameter(operation(&routes[i]), str_n(part.p + 1, part.len - 2)))
                fail_msg("%s: %.*s is not declared", routes[i].pattern, STR(part));
        }
    }
}

/* Bodies, tokens and the answers that dispatch.c gives follow from the row of routes.def. */
static void test_operations_follow_the_table(void **state)
{
    (void)state;
    for (int i = 0; i < ROUTE_COUNT; i++) {
        const struct json *op = operation(&routes[i]);
        const struct json *answers = json_get(op, "responses");
        assert_non_null(json_get(answers, "200"));
        bool body = routes[i].cap != CAP_NO_BODY;
        assert_int_equal(json_get(op, "requestBody") != NULL, body);
        assert_int_equal(json_get(answers, "413") != NULL, body);
        bool token = routes[i].auth == AUTH_TOKEN;
        assert_int_equal(json_get(answers, "401") != NULL, token);
        assert_int_equal(json_get(op, "security") == NULL, token);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_route_is_described),
        cmocka_unit_test(test_nothing_else_is_described),
        cmocka_unit_test(test_references_resolve),
        cmocka_unit_test(test_path_parameters_are_declared),
        cmocka_unit_test(test_operations_follow_the_table),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
