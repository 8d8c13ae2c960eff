/* buf.c - growing bytes.
 *
 * Invariants: when p is set, cap + 1 bytes are allocated, so that a NUL fits behind the text
 * without growing; len <= cap <= max. After a failure nothing is added until buf_clear or buf_done,
 * so what is there is a prefix of what was meant.
 *
 * Threads: one at a time. */
#include "proto/base/buf.h"

#include <stdarg.h>

#include "proto/base/assert.h"
#include "proto/base/mem.h"

#define CAP_MIN ((size_t)64)

static size_t limit(const struct buf *b)
{
    return b->max ? b->max : BUF_MAX;
}

void buf_init(struct buf *b, size_t max_bytes)
{
    *b = (struct buf){.max = max_bytes};
}

void buf_done(struct buf *b)
{
    mem_free(b->p);
    buf_init(b, b->max);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = 0;
}

static int fail(struct buf *b, int code)
{
    b->failed = code;
    return code;
}

int buf_reserve(struct buf *b, size_t more)
{
    if (b->failed)
        return b->failed;
    if (more <= b->cap - b->len && b->p)
        return 0;
    size_t max = limit(b);
    if (more > max - b->len)
        return fail(b, E_TOOBIG);
    size_t cap = b->cap > max / 2 ? max : b->cap * 2;
    cap = cap < CAP_MIN && CAP_MIN <= max ? CAP_MIN : cap;
    cap = cap < b->len + more ? b->len + more : cap;
    char *p = mem_realloc(b->p, cap + 1);
    if (!p)
        return fail(b, E_NOMEM);
    b->p = p;
    b->cap = cap;
    return 0;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (n == 0 || buf_reserve(b, n) < 0)
        return;
    memcpy(b->p + b->len, p, n);
    b->len += n;
}

void buf_addc(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_adds(struct buf *b, str s)
{
    buf_add(b, s.p, s.len);
}

void buf_addz(struct buf *b, const char *z)
{
    buf_add(b, z, strlen(z));
}

PRINTF(2, 0) static size_t format(struct buf *b, const char *fmt, va_list ap)
{
    int n = vsnprintf(b->p + b->len, b->cap - b->len + 1, fmt, ap);
    return n < 0 ? SIZE_MAX : (size_t)n;
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    if (buf_reserve(b, 0) < 0)
        return;
    va_list ap;
    va_start(ap, fmt);
    size_t n = format(b, fmt, ap);
    va_end(ap);
    if (n > b->cap - b->len) { /* the first try told the size */
        if (buf_reserve(b, n) < 0)
            return;
        va_start(ap, fmt);
        size_t again = format(b, fmt, ap);
        va_end(ap);
        ASSERT(again == n);
    }
    b->len += n;
}

void buf_add_i64(struct buf *b, int64_t v)
{
    char digits[20]; /* -9223372036854775808 */
    char *at = digits + sizeof(digits);
    uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do {
        *--at = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0)
        *--at = '-';
    buf_add(b, at, (size_t)(digits + sizeof(digits) - at));
}

const char *buf_z(struct buf *b)
{
    if (b->failed)
        return NULL;
    if (!b->p)
        return "";
    b->p[b->len] = 0;
    return b->p;
}

char *buf_take(struct buf *b, size_t *ret_len)
{
    if (buf_reserve(b, 0) < 0) {
        buf_done(b);
        return NULL;
    }
    char *p = b->p;
    p[b->len] = 0;
    if (ret_len)
        *ret_len = b->len;
    buf_init(b, b->max);
    return p;
}
