/* test_log.c - lines as others will grep them, and values that try to forge one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/log.h"

static int fd;
static char text[4 << 20];

static int setup(void **state)
{
    (void)state;
    char path[] = "/tmp/test_log.XXXXXX";
    fd = mkostemp(path, O_APPEND | O_CLOEXEC); /* as a shell's 2>>file */
    unlink(path);
    log_set_fd(fd);
    log_set_level(LOG_DEBUG);
    return fd < 0;
}

static int teardown(void **state)
{
    (void)state;
    log_set_fd(2);
    return close(fd);
}

/* All that was written since the last call; ends in a newline unless empty. */
static const char *written(void)
{
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    assert_true(n >= 0);
    text[n] = 0;
    assert_true(n == 0 || text[n - 1] == '\n');
    assert_int_equal(ftruncate(fd, 0), 0);
    return text;
}

#define TS_LEN (sizeof("ts=2026-11-30T14:48:26.123Z") - 1)

/* The one line without its time. */
static const char *line(void)
{
    const char *all = written();
    assert_true(strlen(all) > TS_LEN && strchr(all, '\n')[1] == 0);
    return all + TS_LEN;
}

static void writes_logfmt(void **state)
{
    (void)state;
    log_info("commit", "commit.done", LZ("table", "db.t"), LI("snapshot", 17), LI("min", INT64_MIN),
             LS("user", str_n("abcdef", 3)));
    assert_string_equal(line(), " lvl=info mod=commit ev=commit.done table=db.t snapshot=17 "
                                "min=-9223372036854775808 user=abc\n");
    log_warn("m", "e.x");
    assert_string_equal(line(), " lvl=warn mod=m ev=e.x\n");
    log_error("m", "e.x");
    assert_string_equal(line(), " lvl=error mod=m ev=e.x\n");
    log_debug("m", "e.x");
    assert_string_equal(line(), " lvl=debug mod=m ev=e.x\n");
}

static int64_t parse_ms(const char *ts)
{
    struct tm t = {0};
    const char *rest = strptime(ts, "ts=%Y-%m-%dT%H:%M:%S", &t);
    assert_non_null(rest);
    assert_int_equal(rest[0], '.');
    assert_int_equal(strspn(rest + 1, "0123456789"), 3);
    assert_int_equal(rest[4], 'Z');
    assert_int_equal(rest[5], ' ');
    return (int64_t)timegm(&t) * 1000 + strtol(rest + 1, NULL, 10);
}

static void writes_the_time(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        clock_wall_shift_ms(0);
        clock_wall_shift_ms(1111111111123 - clock_wall_ms() + i * 51); /* the milliseconds vary */
        int64_t before = clock_wall_ms();
        log_info("m", "e");
        int64_t after = clock_wall_ms();
        const char *all = written();
        int64_t ms = parse_ms(all);
        assert_true(ms >= before && ms <= after);
        assert_true(str_starts(str_of(all), STR_LIT("ts=2005-03-18T0")));
    }
    clock_wall_shift_ms(0);
}

static void quotes_what_needs_it(void **state)
{
    (void)state;
    static const struct {
        str value;
        const char *shown;
    } cases[] = {
        {{"plain", 5}, "plain"},
        {{"a/b:c,d;[e]{f}'g\\", 17}, "a/b:c,d;[e]{f}'g\\"},
        {{"", 0}, "\"\""},
        {{NULL, 0}, "\"\""},
        {{"a b", 3}, "\"a b\""},
        {{"a=b", 3}, "\"a=b\""},
        {{"say \"hi\\\"", 9}, "\"say \\\"hi\\\\\\\"\""},
        {{"a\nts=1 lvl=info ev=fake", 23}, "\"a\\nts=1 lvl=info ev=fake\""},
        {{"\r\t\0\x1b[2J\x7f", 8}, "\"\\r\\t\\x00\\x1b[2J\\x7f\""},
        {{"na\xc3\xafve\xe6\xbc\xa2\xf0\x9f\x98\x80", 13},
         "na\xc3\xafve\xe6\xbc\xa2\xf0\x9f\x98\x80"},
        {{"\xc2\x9b"
          "2J",
          4},
         "\"\\u009b2J\""}, /* an 8-bit CSI */
        {{"\xc2\xa0", 2}, "\xc2\xa0"},
        {{"bad\xff\xc3", 5}, "\"bad\\xff\\xc3\""},
        {{"\xed\xa0\x80", 3}, "\"\\xed\\xa0\\x80\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char want[200];
        log_info("m", "e", LS("v", cases[i].value), LI("n", 1));
        snprintf(want, sizeof(want), " lvl=info mod=m ev=e v=%s n=1\n", cases[i].shown);
        assert_string_equal(line(), want);
    }
}

/* Every byte alone: no line is broken, no byte is a control, the last field stays itself. */
static void no_byte_forges_a_line(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char byte = (char)c;
        log_info("m", "e", LS("v", str_n(&byte, 1)), LI("n", c));
        const char *got = line();
        char end[16];
        snprintf(end, sizeof(end), " n=%d\n", c);
        assert_true(str_ends(str_of(got), str_of(end)));
        for (const char *p = got; *p != '\n'; p++)
            assert_true(*p >= ' ' && *p < 0x7f);
    }
}

/* What follows a value in quotes, by the rules a reader of logfmt goes by. */
static const char *past_quotes(const char *p)
{
    assert_int_equal(*p, '"');
    for (p++; *p != '"'; p++) {
        assert_true(*p != 0);
        p += *p == '\\';
    }
    return p + 1;
}

static void cuts_long_lines(void **state)
{
    (void)state;
    static char longish[3 * PIPE_BUF];
    /* Lengths around the cap, with pieces of 1, 2 (quote), 4 (escape, UTF-8) bytes. */
    static const char *const pieces[] = {"a", "\"", "\x01", "\xf0\x9f\x98\x80", " "};
    for (size_t k = 0; k < sizeof(pieces) / sizeof(pieces[0]); k++) {
        size_t step = strlen(pieces[k]);
        for (size_t n = PIPE_BUF / 5; n < PIPE_BUF + 10; n += n < PIPE_BUF - 120 ? 97 : 1) {
            size_t len = n % 4; /* so that the cap falls on each byte of a piece */
            memset(longish, 'a', len);
            for (; len + step <= n; len += step)
                memcpy(longish + len, pieces[k], step);
            log_info("m", "e", LS("v", str_n(longish, len)), LI("n", 7));
            const char *all = written();
            size_t got = strlen(all);
            assert_true(got <= PIPE_BUF);
            assert_ptr_equal(strchr(all, '\n'), all + got - 1);
            bool cut = str_ends(str_of(all), STR_LIT(" cut=1\n"));
            assert_true(cut || str_ends(str_of(all), STR_LIT(" n=7\n")));
            assert_true(!cut || got > PIPE_BUF - 32); /* not cut without need */
            assert_true(str_utf8_valid(str_of(all)));
            const char *value = all + TS_LEN + strlen(" lvl=info mod=m ev=e v=");
            if (*value == '"') {
                const char *after = past_quotes(value);
                assert_true(str_eqz(STR_LIT(" n=7\n"), after) ||
                            str_eqz(STR_LIT(" cut=1\n"), after) ||
                            str_eqz(STR_LIT(" n=7 cut=1\n"), after));
            }
        }
    }
    log_info("m", "e", LS("v", str_n(longish, sizeof(longish))));
    assert_true(strlen(written()) <= PIPE_BUF);
}

static void keeps_levels(void **state)
{
    (void)state;
    for (int set = LOG_DEBUG; set <= LOG_ERROR; set++) {
        log_set_level((enum log_level)set);
        for (int lvl = LOG_DEBUG; lvl <= LOG_ERROR; lvl++) {
            assert_int_equal(log_on((enum log_level)lvl), lvl >= set);
            LOG_AT((enum log_level)lvl, "m", "e");
            assert_int_equal(strlen(written()) > 0, lvl >= set);
        }
    }
}

static void leaves_errno_alone(void **state)
{
    (void)state;
    log_set_fd(-1);
    errno = ERANGE;
    log_info("m", "e"); /* the write fails */
    assert_int_equal(errno, ERANGE);
}

enum { THREADS = 4, LINES = 400 };

static void *write_lines(void *arg)
{
    char filler[200];
    memset(filler, 'a' + *(int *)arg, sizeof(filler));
    for (int i = 0; i < LINES; i++)
        log_info("m", "e", LI("t", *(int *)arg), LI("i", i),
                 LS("f", str_n(filler, sizeof(filler))));
    return NULL;
}

static void lines_of_threads_do_not_mix(void **state)
{
    (void)state;
    pthread_t ids[THREADS];
    int numbers[THREADS], next[THREADS] = {0};
    for (int t = 0; t < THREADS; t++) {
        numbers[t] = t;
        assert_int_equal(pthread_create(&ids[t], NULL, write_lines, &numbers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(ids[t], NULL), 0);
    str rest = str_of(written()), one;
    int lines = 0;
    while (str_split(&rest, '\n', &one) && one.len) {
        int t, i, at = 0;
        assert_true(one.len > TS_LEN);
        assert_int_equal(sscanf(one.p + TS_LEN, " lvl=info mod=m ev=e t=%d i=%d f=%n", &t, &i, &at),
                         2);
        assert_true(t >= 0 && t < THREADS);
        assert_int_equal(i, next[t]++); /* each thread's lines are whole and in order */
        assert_int_equal(one.len, TS_LEN + (size_t)at + 200);
        for (size_t k = TS_LEN + (size_t)at; k < one.len; k++)
            assert_int_equal(one.p[k], 'a' + t);
        lines++;
    }
    assert_int_equal(lines, THREADS * LINES);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(writes_logfmt),        T(writes_the_time),
        T(quotes_what_needs_it), T(no_byte_forges_a_line),
        T(cuts_long_lines),      T(keeps_levels),
        T(leaves_errno_alone),   T(lines_of_threads_do_not_mix),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
