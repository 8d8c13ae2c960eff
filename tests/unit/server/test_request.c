/* test_request.c - what handlers read out of a request: query, pages, patterns, tokens. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/json/json.h"
#include "server/auth.h"
#include "server/request.h"

static struct request rq;

static int setup(void **state)
{
    (void)state;
    rq = (struct request){0};
    ctx_init(&rq.cx, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&rq.cx);
    return 0;
}

static str query(const char *text, const char *name)
{
    str v = STR_LIT("unset");
    rq.raw_query = str_of(text);
    ctx_reset_err(&rq.cx);
    assert_int_equal(rq_query(&rq, name, &v), 0);
    return v;
}

static int query_rc(const char *text, const char *name)
{
    str v;
    rq.raw_query = str_of(text);
    ctx_reset_err(&rq.cx);
    return rq_query(&rq, name, &v);
}

static void test_query(void **state)
{
    (void)state;
    assert_true(str_eqz(query("a=1&b=2", "a"), "1"));
    assert_true(str_eqz(query("a=1&b=2", "b"), "2"));
    assert_null(query("a=1&b=2", "c").p);
    assert_null(query("a=1", "A").p);
    assert_null(query("ab=1", "a").p);
    assert_null(query(NULL, "a").p);
    assert_null(query("", "a").p);
    assert_null(query("&&&", "a").p);
    assert_true(str_eqz(query("&&a=1&", "a"), "1"));
    assert_true(str_eqz(query("a=x=y", "a"), "x=y"));
    assert_true(str_eqz(query("a=w+h%2Fx%2B", "a"), "w h/x+"));
    assert_true(str_eqz(query("a=w%20h", "a"), "w h"));
    assert_true(str_eqz(query("%61=1", "a"), "1"));
    assert_true(str_eqz(query("a%3Db=1", "a=b"), "1"));
    assert_true(str_eqz(query("a=1?x", "a"), "1?x"));
}

static void test_absent_is_not_empty(void **state)
{
    (void)state;
    str v = query("a=&b", "a");
    assert_true(v.p != NULL && v.len == 0);
    v = query("a=&b", "b");
    assert_true(v.p != NULL && v.len == 0);
    assert_null(query("a=&b", "c").p);
}

static void test_bad_queries(void **state)
{
    (void)state;
    assert_int_equal(query_rc("a=1&a=1", "a"), E_INVAL);
    assert_non_null(strstr(rq.cx.err.msg, "'a'"));
    assert_int_equal(query_rc("a=1&a", "a"), E_INVAL);
    assert_int_equal(query_rc("a=1&%61=2", "a"), E_INVAL);
    assert_int_equal(query_rc("a=%", "a"), E_INVAL);
    assert_int_equal(query_rc("a=%zz", "a"), E_INVAL);
    assert_int_equal(query_rc("a=%00", "a"), E_INVAL);
    assert_int_equal(query_rc("a=%ff", "a"), E_INVAL);
    assert_int_equal(query_rc("%zz=1", "a"), E_INVAL);
    assert_int_equal(query_rc("b=%zz&a=1", "a"), 0); /* nobody asked for b */
}

static int64_t page(const char *text, str *ret_token)
{
    int64_t limit = -1;
    rq.raw_query = str_of(text);
    ctx_reset_err(&rq.cx);
    int rc = rq_page(&rq, &limit, ret_token);
    return rc < 0 ? rc : limit;
}

static void test_page(void **state)
{
    (void)state;
    str t;
    assert_int_equal(page(NULL, &t), 1000);
    assert_null(t.p);
    assert_int_equal(page("maxResults=7&pageToken=a%20b", &t), 7);
    assert_true(str_eqz(t, "a b"));
    assert_int_equal(page("maxResults=1", &t), 1);
    assert_int_equal(page("maxResults=0", &t), 1000);
    assert_int_equal(page("maxResults=-3", &t), 1000);
    assert_int_equal(page("maxResults=", &t), 1000);
    assert_int_equal(page("maxResults=1000", &t), 1000);
    assert_int_equal(page("maxResults=1001", &t), 1000);
    assert_int_equal(page("maxResults=2147483647", &t), 1000);
    assert_int_equal(page("maxResults=ten", &t), E_INVAL);
    assert_int_equal(page("maxResults=1.5", &t), E_INVAL);
    assert_int_equal(page("maxResults=1%202", &t), E_INVAL);
    assert_int_equal(page("maxResults=1&maxResults=2", &t), E_INVAL);
}

static void assert_pattern(const char *raw, const char *prefix, bool exact)
{
    str p = STR_LIT("unset");
    bool e = !exact;
    rq.raw_query = str_of(raw);
    ctx_reset_err(&rq.cx);
    assert_int_equal(rq_pattern(&rq, "n", &p, &e), 0);
    if (!str_eqz(p, prefix) || e != exact)
        fail_msg("%s: \"%.*s\" exact %d", raw, STR(p), e);
}

static void assert_no_pattern(const char *raw)
{
    str p;
    bool e;
    rq.raw_query = str_of(raw);
    ctx_reset_err(&rq.cx);
    assert_int_equal(rq_pattern(&rq, "n", &p, &e), E_INVAL);
}

static void test_pattern(void **state)
{
    (void)state;
    assert_pattern("", "", false);
    assert_pattern("n=", "", false);
    assert_pattern("n=abc", "abc", true);
    assert_pattern("n=abc%25", "abc", false);
    assert_pattern("n=abc%25%25%25", "abc", false);
    assert_pattern("n=%25", "", false);
    assert_pattern("n=a_c", "a_c", true); /* '_' is a letter like others */
    assert_pattern("n=a%5C%25b", "a%b", true);
    assert_pattern("n=a%5C%25", "a%", true);
    assert_pattern("n=a%5C%5C%25", "a\\", false);
    assert_pattern("n=%5C_", "_", true);
    assert_no_pattern("n=a%25b");
    assert_no_pattern("n=%25b");
    assert_no_pattern("n=a%25b%25");
    assert_no_pattern("n=a%25%5C%25");
    assert_no_pattern("n=a%5C");
}

static void test_json(void **state)
{
    (void)state;
    const struct json *v;
    rq.body = STR_LIT("{\"a\":9223372036854775807}");
    assert_int_equal(rq_json(&rq, &v), 0);
    assert_true(json_get(v, "a")->i == INT64_MAX);
    const char *bad[] = {"", "[]", "null", "{", "{}{}", "\"x\"", "7"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        rq.body = str_of(bad[i]);
        ctx_reset_err(&rq.cx);
        assert_int_equal(rq_json(&rq, &v), E_INVAL);
        assert_non_null(strstr(rq.cx.err.msg, "request body"));
    }
}

static void assert_token(const char *header, const char *token)
{
    str t = STR_NONE;
    bool ok = auth_bearer(str_of(header), &t);
    assert_int_equal(ok, token != NULL);
    if (token)
        assert_true(str_eqz(t, token));
}

static void test_bearer(void **state)
{
    (void)state;
    assert_token("Bearer abc", "abc");
    assert_token("bearer abc", "abc");
    assert_token("BEARER   abc  ", "abc");
    assert_token(" Bearer\tabc", "abc");
    assert_token("Bearer a b", "a b"); /* no token of ours: the store says so */
    assert_token(NULL, NULL);
    assert_token("", NULL);
    assert_token("Bearer", NULL);
    assert_token("Bearer ", NULL);
    assert_token("Bearerabc", NULL);
    assert_token("Basic abc", NULL);
    assert_token("abc", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_query, setup, teardown),
        cmocka_unit_test_setup_teardown(test_absent_is_not_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_queries, setup, teardown),
        cmocka_unit_test_setup_teardown(test_page, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pattern, setup, teardown),
        cmocka_unit_test_setup_teardown(test_json, setup, teardown),
        cmocka_unit_test(test_bearer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
