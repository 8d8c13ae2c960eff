/* api_fixture.h - a context, an output buffer and short forms for tests of the bodies in proto/api.
 *
 * Each test gets both fresh (TEST). Included once by each test program. */
#ifndef LATCH_TESTS_UNIT_PROTO_API_FIXTURE_H
#define LATCH_TESTS_UNIT_PROTO_API_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/base/ctx.h"
#include "proto/json/json.h"

#define UNUSED_FN __attribute__((unused))
#define N(a)      (sizeof(a) / sizeof((a)[0]))
#define TEST(fn)  cmocka_unit_test_setup_teardown(fn, setup, teardown)
#ifndef ARENA_BYTES
#define ARENA_BYTES (1 << 20)
#endif

static struct ctx cx;
static struct buf out;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, ARENA_BYTES);
    out = (struct buf){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buf_done(&out);
    ctx_done(&cx);
    return 0;
}

static UNUSED_FN const struct json *parse(const char *text)
{
    const struct json *j = NULL;
    if (json_parse(&cx, str_of(text), "request body", &j) < 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return j;
}

/* want NULL: absent, which "" is not. */
static UNUSED_FN void assert_str(str s, const char *want)
{
    if (!str_eqz(s, want) || (s.p == NULL) != (want == NULL))
        fail_msg("got \"%.*s\" (%s), want \"%s\"", STR(s), s.p ? "there" : "absent",
                 want ? want : "(absent)");
}

/* What was written: JSON, these bytes. The next answer starts anew. */
static UNUSED_FN void assert_out(const char *want)
{
    const struct json *j;
    assert_str(buf_str(&out), want);
    assert_int_equal(json_parse(&cx, buf_str(&out), "answer", &j), 0);
    buf_clear(&out);
}

#endif
