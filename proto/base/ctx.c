/* ctx.c - the context's life and its error record.
 *
 * What the record holds goes to clients as JSON and to logs: texts are cut at character boundaries
 * and bytes that are not UTF-8 become '?', so both are always valid UTF-8. A message is formatted
 * aside first, because its arguments may point into the record it replaces.
 *
 * Threads: one at a time; a ctx moves with its work. */
#include "proto/base/ctx.h"

#include <errno.h>
#include <stdarg.h>

#include "proto/base/assert.h"
#include "proto/base/clock.h"

void ctx_init(struct ctx *cx, size_t arena_max_bytes)
{
    *cx = (struct ctx){0};
    arena_init(&cx->arena, arena_max_bytes);
}

void ctx_done(struct ctx *cx)
{
    arena_done(&cx->arena);
}

void ctx_reset_err(struct ctx *cx)
{
    cx->err = (struct err_rec){0};
}

/* Copies what fits of `s` with a NUL, never half a character. */
static void put_text(char *dst, size_t cap, str s)
{
    size_t len = 0;
    while (s.len) {
        size_t n = str_utf8_char(s);
        size_t step = n ? n : 1;
        if (len + step >= cap)
            break;
        if (n)
            memcpy(dst + len, s.p, n);
        else
            dst[len] = '?';
        len += step;
        s = str_cut(s, step);
    }
    dst[len] = 0;
}

/* Room for a whole message and a little more, so that the cut is made by put_text. */
struct text {
    char z[sizeof(((struct err_rec *)0)->msg) + 8];
};

PRINTF(1, 0) static struct text text_of(const char *fmt, va_list ap)
{
    struct text t;
    if (vsnprintf(t.z, sizeof(t.z), fmt, ap) < 0)
        t.z[0] = 0;
    return t;
}

static int set(struct ctx *cx, const char *file, int line, int code, const char *msg)
{
    ASSERT(code < 0 && code > -ERR_CODES);
    cx->err.code = code;
    cx->err.file = file;
    cx->err.line = line;
    put_text(cx->err.msg, sizeof(cx->err.msg), str_of(msg));
    return code;
}

int ctx_fail_at(struct ctx *cx, const char *file, int line, int code, enum res r, str name,
                const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct text t = text_of(fmt, ap);
    va_end(ap);
    char kept[sizeof(cx->err.res_name)]; /* `name` may be the record's own */
    put_text(kept, sizeof(kept), name);
    ctx_reset_err(cx);
    cx->err.res = r;
    memcpy(cx->err.res_name, kept, sizeof(kept));
    return set(cx, file, line, code, t.z);
}

int ctx_fail_errno_at(struct ctx *cx, const char *file, int line, int code, const char *fmt, ...)
{
    int sys = errno;
    va_list ap;
    va_start(ap, fmt);
    struct text t = text_of(fmt, ap);
    va_end(ap);
    const char *why = strerrordesc_np(sys);
    why = why ? why : "unknown error";
    char msg[sizeof(cx->err.msg)];
    put_text(msg, sizeof(msg) - strlen(why) - 2, str_of(t.z)); /* the reason is never cut off */
    size_t len = strlen(msg);
    snprintf(msg + len, sizeof(msg) - len, ": %s", why);
    ctx_reset_err(cx);
    cx->err.sys_errno = sys;
    errno = sys;
    return set(cx, file, line, code, msg);
}

int ctx_prefix(struct ctx *cx, const char *fmt, ...)
{
    ASSERT(cx->err.code < 0);
    va_list ap;
    va_start(ap, fmt);
    struct text t = text_of(fmt, ap);
    va_end(ap);
    char msg[sizeof(t.z) + sizeof(cx->err.msg)];
    if (snprintf(msg, sizeof(msg), "%s: %s", t.z, cx->err.msg) >= 0)
        put_text(cx->err.msg, sizeof(cx->err.msg), str_of(msg));
    return cx->err.code;
}

int ctx_text(struct ctx *cx, str *ret, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *z = n < 0 ? NULL : arena_alloc(&cx->arena, (size_t)n + 1);
    if (z)
        vsnprintf(z, (size_t)n + 1, fmt, again);
    va_end(again);
    if (!z)
        return ctx_nomem(cx);
    *ret = str_n(z, (size_t)n);
    return 0;
}

int ctx_check_deadline(struct ctx *cx)
{
    if (cx->deadline_ms == 0 || clock_mono_ms() < cx->deadline_ms)
        return 0;
    return ctx_fail(cx, E_TIMEOUT, RES_NONE, STR_NONE,
                    "the time for this request is over and nothing was done; try again later");
}
