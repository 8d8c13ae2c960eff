/* fixture.h - a context and short forms for tests of the manifest layer.
 *
 * Each test gets a fresh context (T), or the group one (setup and teardown). Included once by each test
 * program. */
#ifndef LATCH_TESTS_UNIT_MANIFEST_FIXTURE_H
#define LATCH_TESTS_UNIT_MANIFEST_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "manifest/types.h"

#define UNUSED_FN __attribute__((unused))
#define N(a)      (sizeof(a) / sizeof((a)[0]))
#define T(fn)     cmocka_unit_test_setup_teardown(fn, setup, teardown)
#ifndef ARENA_BYTES
#define ARENA_BYTES (64 << 20)
#endif

static struct ctx cx;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, ARENA_BYTES);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

static UNUSED_FN const struct json *json_of(const char *text)
{
    const struct json *v = NULL;
    ctx_reset_err(&cx);
    if (json_parse(&cx, str_of(text), "test", &v) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return v;
}

/* From JSON's object or SQL's text. */
static UNUSED_FN const struct data_type *type_of(const char *text)
{
    const struct data_type *t = NULL;
    int rc =
        text[0] == '{' ? types_decode(&cx, json_of(text), &t) : types_parse(&cx, str_of(text), &t);
    if (rc != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return t;
}

/* What was written, in the arena. Ends b. */
static UNUSED_FN char *keep(struct buf *b)
{
    assert_int_equal(buf_fail(b), 0);
    char *z = str_dupz(&cx.arena, buf_str(b));
    buf_done(b);
    assert_non_null(z);
    return z;
}

static UNUSED_FN str slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s: cannot be opened; run from the root of the repository", path);
    char *p = arena_alloc(&cx.arena, 1 << 16);
    assert_non_null(p);
    size_t n = fread(p, 1, 1 << 16, f);
    fclose(f);
    return str_n(p, n);
}

#endif
