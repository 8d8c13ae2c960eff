/* buf.h - owned, growing bytes with a maximum given at init.
 *
 * The first failure (no memory, over the maximum) sticks: later calls do nothing, and buf_fail()
 * tells. So a writer checks once, at the end. Zero-initialised is a valid empty buffer without a
 * maximum of its own (BUF_MAX). */
#ifndef LATCH_PROTO_BASE_BUF_H
#define LATCH_PROTO_BASE_BUF_H

#include "proto/base/err.h"
#include "proto/base/str.h"

#define BUF_MAX ((size_t)1 << 31)

struct buf {
    char *p;
    size_t len, cap, max;
    int failed; /* 0, E_NOMEM or E_TOOBIG */
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_done(struct buf *b);                /* frees; the buffer is empty and usable again */
void buf_clear(struct buf *b);               /* keeps the memory, forgets failure */
int buf_reserve(struct buf *b, size_t more); /* room for `more` bytes beyond len */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_addc(struct buf *b, char c);
void buf_adds(struct buf *b, str s);
void buf_addz(struct buf *b, const char *z);
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_add_i64(struct buf *b, int64_t v);
static inline str
buf_str(const struct buf *b) /* borrowed until the next call that adds; never absent */
{
    return (str){b->p ? b->p : "", b->len};
}
static inline int buf_fail(const struct buf *b)
{
    return b->failed;
}
const char *buf_z(struct buf *b);               /* NUL-terminated view; NULL if the buffer failed */
char *buf_take(struct buf *b, size_t *ret_len); /* NUL-terminated, caller owns (mem_free); the
                                                * buffer is empty; NULL if it failed or on no memory */

#endif
