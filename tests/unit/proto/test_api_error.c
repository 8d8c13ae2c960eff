/* test_api_error.c - error records as Paimon's clients see them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/api/api_error.h"
#include "proto/base/ctx.h"

static void test_status(void **state)
{
    (void)state;
    const int want[][2] = {
        {E_INVAL, 400},   {E_UNAUTH, 401},  {E_DENIED, 403},   {E_NOTFOUND, 404},
        {E_METHOD, 405},  {E_EXISTS, 409},  {E_CONFLICT, 409}, {E_RACE, 409},
        {E_TOOBIG, 413},  {E_BUSY, 503},    {E_TIMEOUT, 503},  {E_UNSUPPORTED, 501},
        {E_IO, 500},      {E_CORRUPT, 500}, {E_NOMEM, 500},    {E_INTERNAL, 500},
        {E_UNKNOWN, 500}, {E_OK, 500},      {1, 500},          {-1000, 500}};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        assert_int_equal(api_error_status(want[i][0]), want[i][1]);
    for (int code = -1; code > -ERR_CODES; code--) /* none was forgotten */
        assert_true(strcmp(err_name(code), "E_?") != 0 && api_error_status(code) >= 400);
}

/* 503 says that nothing was done: an unknown outcome must never be one. */
static void test_retry(void **state)
{
    (void)state;
    for (int code = -1; code > -ERR_CODES; code--)
        assert_int_equal(api_error_retry(code), code == E_BUSY || code == E_TIMEOUT);
}

static void assert_body(const struct err_rec *e, int status, const char *want)
{
    CLEANUP(buf_done) struct buf b = {0};
    api_error_body(&b, e, status);
    assert_string_equal(buf_z(&b), want);
}

static void test_body(void **state)
{
    (void)state;
    struct ctx cx;
    ctx_init(&cx, 1 << 16);
    IGNORE(ctx_fail(&cx, E_NOTFOUND, RES_TABLE, STR_LIT("t\"1"), "table %s is not there", "t\"1"));
    assert_body(&cx.err, 404,
                "{\"message\":\"table t\\\"1 is not there\",\"resourceType\":\"TABLE\","
                "\"resourceName\":\"t\\\"1\",\"code\":404}");
    IGNORE(ctx_fail(&cx, E_INVAL, RES_NONE, STR_NONE, "no"));
    assert_body(&cx.err, 400,
                "{\"message\":\"no\",\"resourceType\":null,\"resourceName\":null,\"code\":400}");
    /* Java formats these two once more. */
    IGNORE(ctx_fail(&cx, E_INVAL, RES_NONE, STR_NONE, "%s", "%d 5%"));
    assert_body(
        &cx.err, 400,
        "{\"message\":\"%%d 5%%\",\"resourceType\":null,\"resourceName\":null,\"code\":400}");
    assert_body(
        &cx.err, 501,
        "{\"message\":\"%%d 5%%\",\"resourceType\":null,\"resourceName\":null,\"code\":501}");
    assert_body(&cx.err, 500,
                "{\"message\":\"%d 5%\",\"resourceType\":null,\"resourceName\":null,\"code\":500}");
    ctx_done(&cx);
}

static void test_message_is_never_empty(void **state)
{
    (void)state;
    struct err_rec e = {.code = E_IO};
    assert_body(&e, 500,
                "{\"message\":\"the server could not do this; its log says why\",\"resourceType\":"
                "null,\"resourceName\":null,\"code\":500}");
    assert_body(&e, 403,
                "{\"message\":\"the request was refused\",\"resourceType\":null,\"resourceName\":"
                "null,\"code\":403}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_retry),
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_message_is_never_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
