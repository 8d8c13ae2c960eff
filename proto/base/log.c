/* log.c - logfmt lines.
 *
 * A line is built on the stack and handed to the kernel in one write(2). It is at most PIPE_BUF
 * bytes, the size up to which the kernel keeps writes to a pipe whole (a container's stderr is a
 * pipe). A line that would be longer ends early, at a whole character, with ` cut=1`.
 *
 * A value is put in quotes when it is empty or has a blank, '"', '=', a control character or bytes
 * that are not UTF-8 in it. Inside quotes '"' and '\' are escaped, and so are the controls of ASCII
 * and of Latin-1 (terminals obey U+009B). Other UTF-8 stays as it is.
 *
 * A failed write is dropped: there is nobody left to tell.
 *
 * Threads: any; level and descriptor are atomics. */
#include "proto/base/log.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <unistd.h>

#include "proto/base/clock.h"

#define TAIL "\" cut=1\n" /* room for it is always kept */

static int log_level = LOG_INFO; /* these two only through __atomic builtins */
static int log_fd = STDERR_FILENO;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

struct line {
    size_t len;
    bool cut;
    char text[PIPE_BUF];
};

void log_set_level(enum log_level lvl)
{
    __atomic_store_n(&log_level, (int)lvl, __ATOMIC_RELAXED);
}

bool log_on(enum log_level lvl)
{
    return (int)lvl >= __atomic_load_n(&log_level, __ATOMIC_RELAXED);
}

void log_set_fd(int fd)
{
    __atomic_store_n(&log_fd, fd, __ATOMIC_RELAXED);
}

/* All of `n` bytes or, from the first piece that does not fit on, nothing. */
static void put(struct line *l, const char *p, size_t n)
{
    if (n > sizeof(l->text) - sizeof(TAIL) - l->len)
        l->cut = true;
    if (l->cut)
        return;
    memcpy(l->text + l->len, p, n);
    l->len += n;
}

PRINTF(2, 3) static void putf(struct line *l, const char *fmt, ...)
{
    char text[64];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n > 0)
        put(l, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* U+0080 to U+009F are C2 80 to C2 9F. */
static bool is_control(str s, size_t n)
{
    unsigned char c = (unsigned char)s.p[0];
    return n == 0 || (n == 1 && (c < ' ' || c == 0x7F)) ||
           (n == 2 && c == 0xC2 && (unsigned char)s.p[1] < 0xA0);
}

static bool needs_quotes(str s)
{
    if (s.len == 0)
        return true;
    while (s.len) {
        size_t n = str_utf8_char(s);
        if (is_control(s, n) || s.p[0] == ' ' || s.p[0] == '"' || s.p[0] == '=')
            return true;
        s = str_cut(s, n);
    }
    return false;
}

static void put_escaped(struct line *l, str s, size_t n)
{
    unsigned char c = (unsigned char)s.p[0];
    if (c == '\n')
        put(l, "\\n", 2);
    else if (c == '\r')
        put(l, "\\r", 2);
    else if (c == '\t')
        put(l, "\\t", 2);
    else if (n == 2)
        putf(l, "\\u00%02x", (unsigned char)s.p[1]);
    else
        putf(l, "\\x%02x", c);
}

static void put_value(struct line *l, str s)
{
    if (!needs_quotes(s)) {
        while (s.len && !l->cut) {
            size_t n = str_utf8_char(s);
            put(l, s.p, n);
            s = str_cut(s, n);
        }
        return;
    }
    put(l, "\"", 1);
    if (l->cut)
        return;
    while (s.len && !l->cut) {
        size_t n = str_utf8_char(s);
        if (is_control(s, n))
            put_escaped(l, s, n);
        else if (s.p[0] == '"' || s.p[0] == '\\')
            put(l, s.p[0] == '"' ? "\\\"" : "\\\\", 2);
        else
            put(l, s.p, n);
        s = str_cut(s, n ? n : 1);
    }
    put(l, "\"", 1);
    if (l->cut) /* TAIL has room for it */
        l->text[l->len++] = '"';
}

static void put_time(struct line *l)
{
    int64_t ms = clock_wall_ms();
    time_t sec = (time_t)(ms / 1000);
    struct tm t;
    gmtime_r(&sec, &t);
    putf(l, "ts=%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
         t.tm_hour, t.tm_min, t.tm_sec, (int)(ms % 1000));
}

static void put_field(struct line *l, const struct log_field *f)
{
    size_t before = l->len;
    put(l, " ", 1);
    put(l, f->key, strlen(f->key));
    put(l, "=", 1);
    size_t value_at = l->len;
    if (f->kind == LOG_INT)
        putf(l, "%lld", (long long)f->i);
    else
        put_value(l, f->s);
    if (l->cut && l->len == value_at) /* a key without a value says nothing */
        l->len = before;
}

static void emit(const struct line *l)
{
    int saved = errno;
    int fd = __atomic_load_n(&log_fd, __ATOMIC_RELAXED);
    for (size_t at = 0; at < l->len;) {
        ssize_t n = write(fd, l->text + at, l->len - at);
        if (n > 0)
            at += (size_t)n;
        else if (n == 0 || errno != EINTR)
            break;
    }
    errno = saved;
}

void log_write(enum log_level lvl, const char *mod, const char *ev, const struct log_field *fields)
{
    struct line l;
    l.len = 0;
    l.cut = false;
    put_time(&l);
    putf(&l, " lvl=%s", level_names[lvl]);
    put_field(&l, &LZ("mod", mod));
    put_field(&l, &LZ("ev", ev));
    for (; fields->kind != LOG_END && !l.cut; fields++)
        put_field(&l, fields);
    const char *end = l.cut ? " cut=1\n" : "\n";
    memcpy(l.text + l.len, end, strlen(end));
    l.len += strlen(end);
    emit(&l);
}
