/* test_ctx.c - the error record, names of codes, the deadline, the clock; and ASSERT's last words.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/ctx.h"

static int setup(void **state)
{
    static struct ctx cx;
    ctx_init(&cx, 1 << 20);
    *state = &cx;
    return 0;
}

static int teardown(void **state)
{
    ctx_done(*state);
    return 0;
}

static void starts_empty(void **state)
{
    struct ctx *cx = *state;
    assert_int_equal(cx->err.code, 0);
    assert_string_equal(cx->err.msg, "");
    assert_int_equal(cx->deadline_ms, 0);
    assert_null(cx->request_id.p);
    assert_int_equal(cx->arena.max, 1 << 20);
}

static void records_a_failure(void **state)
{
    struct ctx *cx = *state;
    int line = __LINE__ + 1;
    int rc = ctx_fail(cx, E_NOTFOUND, RES_TABLE, STR_LIT("t\xc3\xa9"), "no table %s, %d", "x", 3);
    assert_int_equal(rc, E_NOTFOUND);
    assert_int_equal(cx->err.code, E_NOTFOUND);
    assert_int_equal(cx->err.res, RES_TABLE);
    assert_string_equal(cx->err.res_name, "t\xc3\xa9");
    assert_string_equal(cx->err.msg, "no table x, 3");
    assert_int_equal(cx->err.sys_errno, 0);
    assert_int_equal(cx->err.line, line);
    assert_non_null(strstr(cx->err.file, "test_ctx.c"));
    /* The next failure replaces all of it. */
    assert_int_equal(ctx_nomem(cx), E_NOMEM);
    assert_int_equal(cx->err.res, RES_NONE);
    assert_string_equal(cx->err.res_name, "");
    ctx_reset_err(cx);
    assert_int_equal(cx->err.code, 0);
    assert_string_equal(cx->err.msg, "");
}

static void may_read_the_record_it_replaces(void **state)
{
    struct ctx *cx = *state;
    ctx_fail(cx, E_IO, RES_TABLE, STR_LIT("orders"), "the disk is full");
    int rc = ctx_fail(cx, E_UNKNOWN, RES_TABLE, str_of(cx->err.res_name),
                      "it may have happened: %s", cx->err.msg);
    assert_int_equal(rc, E_UNKNOWN);
    assert_string_equal(cx->err.res_name, "orders");
    assert_string_equal(cx->err.msg, "it may have happened: the disk is full");
}

static void keeps_errno(void **state)
{
    struct ctx *cx = *state;
    errno = ENOSPC;
    assert_int_equal(ctx_fail_errno(cx, E_IO, "write of %s failed", "snapshot-3"), E_IO);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(cx->err.sys_errno, ENOSPC);
    assert_string_equal(cx->err.msg, "write of snapshot-3 failed: No space left on device");
    errno = 99999;
    ctx_fail_errno(cx, E_IO, "odd");
    assert_string_equal(cx->err.msg, "odd: unknown error");
    char longish[2000];
    memset(longish, 'p', sizeof(longish) - 1);
    longish[sizeof(longish) - 1] = 0;
    errno = EACCES;
    ctx_fail_errno(cx, E_IO, "open %s", longish);
    assert_int_equal(strlen(cx->err.msg), sizeof(cx->err.msg) - 1);
    assert_true(str_ends(str_of(cx->err.msg), STR_LIT("ppp: Permission denied")));
}

static void puts_context_before(void **state)
{
    struct ctx *cx = *state;
    ctx_fail(cx, E_CORRUPT, RES_SNAPSHOT, STR_LIT("3"), "no member \"id\"");
    assert_int_equal(ctx_prefix(cx, "snapshot-%d", 3), E_CORRUPT);
    assert_int_equal(ctx_prefix(cx, "table t"), E_CORRUPT);
    assert_string_equal(cx->err.msg, "table t: snapshot-3: no member \"id\"");
    assert_int_equal(cx->err.res, RES_SNAPSHOT);
    for (int i = 0; i < 100; i++)
        ctx_prefix(cx, "again and again");
    assert_int_equal(cx->err.code, E_CORRUPT);
    assert_true(strlen(cx->err.msg) < sizeof(cx->err.msg));
    assert_true(str_starts(str_of(cx->err.msg), STR_LIT("again and again: again")));
}

/* Whatever the length, the cut never leaves half a character behind. */
static void cuts_at_characters(void **state)
{
    struct ctx *cx = *state;
    char text[1024];
    for (size_t lead = 0; lead < 4; lead++) {
        memset(text, 'a', lead);
        for (size_t at = lead; at + 4 < sizeof(text); at += 4)
            memcpy(text + at, "\xf0\x9f\x98\x80", 5);
        ctx_fail(cx, E_INVAL, RES_DATABASE, str_of(text), "%s", text);
        assert_true(str_utf8_valid(str_of(cx->err.msg)));
        assert_true(str_utf8_valid(str_of(cx->err.res_name)));
        assert_null(strchr(cx->err.msg, '?')); /* nothing was mangled either */
        assert_int_equal(strlen(cx->err.msg), lead + (511 - lead) / 4 * 4);
        assert_int_equal(strlen(cx->err.res_name), lead + (255 - lead) / 4 * 4);
    }
}

static void makes_texts_valid_utf8(void **state)
{
    struct ctx *cx = *state;
    ctx_fail(cx, E_INVAL, RES_TABLE, STR_LIT("a\xff\xc3(\xed\xa0\x80"), "bad name \"%s\"",
             "\xff\xc3\xa9");
    assert_string_equal(cx->err.res_name, "a?\?(???");
    assert_string_equal(cx->err.msg, "bad name \"?\xc3\xa9\"");
    char name[300];
    memset(name, 'n', sizeof(name));
    ctx_fail(cx, E_INVAL, RES_TABLE, str_n(name, 255), "x");
    assert_int_equal(strlen(cx->err.res_name), 255); /* every name that is allowed fits */
    ctx_fail(cx, E_INVAL, RES_TABLE, str_n(name, 300), "x");
    assert_int_equal(strlen(cx->err.res_name), 255);
}

static void keeps_deadlines(void **state)
{
    struct ctx *cx = *state;
    assert_int_equal(ctx_check_deadline(cx), 0);
    cx->deadline_ms = clock_mono_ms() + 60000;
    assert_int_equal(ctx_check_deadline(cx), 0);
    assert_int_equal(cx->err.code, 0);
    cx->deadline_ms = clock_mono_ms();
    assert_int_equal(ctx_check_deadline(cx), E_TIMEOUT);
    assert_int_equal(cx->err.code, E_TIMEOUT);
    assert_true(strlen(cx->err.msg) > 0);
}

static void has_two_clocks(void **state)
{
    (void)state;
    int64_t wall = clock_wall_ms(), mono = clock_mono_ms(), us = clock_mono_us();
    assert_in_range((time_t)(wall / 1000), time(NULL) - 5, time(NULL) + 1);
    clock_wall_shift_ms(86400000);
    assert_in_range(clock_wall_ms() - wall, 86400000, 86400000 + 60000);
    assert_in_range(clock_mono_ms() - mono, 0, 60000); /* not shifted */
    clock_wall_shift_ms(0);
    assert_in_range(clock_wall_ms() - wall, 0, 60000);
    assert_in_range(us / 1000 - mono, 0, 1000);
}

static void names_codes_and_resources(void **state)
{
    (void)state;
    assert_string_equal(err_name(0), "E_OK");
    assert_string_equal(err_name(E_INVAL), "E_INVAL");
    assert_string_equal(err_name(E_NOMEM), "E_NOMEM");
    assert_string_equal(err_name(E_UNKNOWN), "E_UNKNOWN");
    assert_string_equal(err_name(-ERR_CODES), "E_?");
    assert_string_equal(err_name(1), "E_?");
    assert_string_equal(err_name(INT32_MIN), "E_?");
    for (int a = 0; a > -ERR_CODES; a--)
        for (int b = 0; b > a; b--)
            assert_string_not_equal(err_name(a), err_name(b));
    assert_null(res_name(RES_NONE));
    assert_string_equal(res_name(RES_DATABASE), "DATABASE");
    assert_string_equal(res_name(RES_PARTITION), "PARTITION");
    assert_string_equal(res_name(RES_DEFINITION), "DEFINITION");
    assert_string_equal(res_name(RES_CONFLICT), "CONFLICT");
    assert_null(res_name((enum res)(RES_CONFLICT + 1)));
}

static void assert_says_where_and_aborts(void **state)
{
    (void)state;
    ASSERT(1 + 1 == 2);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(fds[1], STDERR_FILENO);
        ASSERT(strlen("ab") == 3);
        _exit(0);
    }
    close(fds[1]);
    char text[8192];
    size_t len = 0;
    for (ssize_t n; (n = read(fds[0], text + len, sizeof(text) - 1 - len)) > 0;)
        len += (size_t)n;
    text[len] = 0;
    close(fds[0]);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    char *end = strchr(text, '\n');
    assert_non_null(end);
    assert_true(strlen(end) > 10); /* the stack */
    *end = 0;
    assert_non_null(strstr(text, "ev=assert.fail expr=\"strlen('ab') == 3\""));
    assert_non_null(strstr(text, "test_ctx.c:"));
    assert_non_null(strstr(text, "fn=assert_says_where_and_aborts"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(starts_empty),
        T(records_a_failure),
        T(may_read_the_record_it_replaces),
        T(keeps_errno),
        T(puts_context_before),
        T(cuts_at_characters),
        T(makes_texts_valid_utf8),
        T(keeps_deadlines),
        cmocka_unit_test(has_two_clocks),
        cmocka_unit_test(names_codes_and_resources),
        cmocka_unit_test(assert_says_where_and_aborts),
    };
    return cmocka_run_group_tests_name("ctx", tests, NULL, NULL);
}
