/* arena.h - memory that lives as long as one request or job.
 *
 * Nothing in it is freed singly; arena_done frees all and runs what arena_defer left, newest first.
 * One thread at a time uses an arena; it crosses threads only together with its ctx. */
#ifndef LATCH_PROTO_BASE_ARENA_H
#define LATCH_PROTO_BASE_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena_defer;
struct arena {
    struct arena_block *head;
    struct arena_defer *defers;
    char *at, *end;
    size_t used, max; /* bytes taken from malloc so far; budget */
};

void arena_init(struct arena *a, size_t max_bytes); /* allocates nothing yet */
void arena_done(struct arena *a);                   /* may be called twice */
/* Right after arena_init: the first n bytes come from the caller, who keeps them alive as long as the
 * arena. They are zeroed and 16-byte aligned, and do not count. */
static inline void arena_seed(struct arena *a, void *p, size_t n)
{
    a->at = p;
    a->end = a->at + n;
}
void *arena_alloc(struct arena *a,
                  size_t n); /* 16-byte aligned, zeroed; NULL: no memory or over budget */
void *arena_array(struct arena *a, size_t size,
                  size_t n); /* as arena_alloc(size * n); NULL when that overflows */
int arena_defer(struct arena *a, void (*fn)(void *),
                void *p); /* on no memory runs fn(p) at once: E_NOMEM */

#define ARENA_NEW(a, T)      ((T *)arena_alloc((a), sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_array((a), sizeof(T), (n)))

#endif
