/* ctx.h - what every call carries: memory, deadline, who asks, and the error record.
 *
 * One ctx a request or job. It moves between threads with the work, never shared. */
#ifndef LATCH_PROTO_BASE_CTX_H
#define LATCH_PROTO_BASE_CTX_H

#include "proto/base/arena.h"
#include "proto/base/err.h"

struct ctx {
    struct arena arena;
    struct err_rec err;
    int64_t
        deadline_ms; /* clock_mono_ms() scale; 0 = none. Checked before the point of no return */
    str request_id;  /* borrowed; for logs, audit, x-request-id */
    str tenant;      /* borrowed; name of the tenant the work is for */
    str principal;   /* borrowed; who asks */
};

void ctx_init(struct ctx *cx, size_t arena_max_bytes);
void ctx_done(struct ctx *cx);
void ctx_reset_err(struct ctx *cx);

/* Set the record and return the code, so that a caller writes `return ctx_fail(...)`. The macros end
 * in the code itself, so that static checkers see which it is; it is evaluated twice. */
static inline int ctx_code(int rc, int code)
{
    (void)rc;
    return code;
}
int ctx_fail_at(struct ctx *cx, const char *file, int line, int code, enum res r, str name,
                const char *fmt, ...) PRINTF(7, 8);
#define ctx_fail(cx, code, r, name, ...)                                                           \
    ctx_code(ctx_fail_at(cx, __FILE__, __LINE__, code, r, name, __VA_ARGS__), (code))
/* The system said no: keeps errno, appends its text. */
#define ctx_fail_errno(cx, code, ...)                                                              \
    ctx_code(ctx_fail_errno_at(cx, __FILE__, __LINE__, code, __VA_ARGS__), (code))
int ctx_fail_errno_at(struct ctx *cx, const char *file, int line, int code, const char *fmt, ...)
    PRINTF(5, 6);
#define ctx_nomem(cx)                                                                              \
    ctx_fail(cx, E_NOMEM, RES_NONE, STR_NONE, "out of memory; try again with less")
/* Puts "context: " before the message; the code stays. Returns the code. */
int ctx_prefix(struct ctx *cx, const char *fmt, ...) PRINTF(2, 3);
int ctx_text(struct ctx *cx, str *ret, const char *fmt, ...)
    PRINTF(3, 4);                       /* in the arena; E_NOMEM */
int ctx_check_deadline(struct ctx *cx); /* 0 or E_TIMEOUT with a message */

#endif
