/* arena.c - bump allocation in blocks from mem.h.
 *
 * Blocks start at 4 KiB and double up to 64 KiB; a request that does not fit in a fresh block of
 * that size gets one of its own, put behind the current block so that the room left there is still
 * used. Memory is zeroed by calloc and never reused, so it needs no clearing here.
 *
 * Invariants: at <= end, both inside the first block or both NULL; every answer is 16-byte aligned
 * (block headers are 16 bytes, sizes are rounded up); used <= max.
 *
 * Threads: one at a time, as its ctx. */
#include "proto/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/assert.h"
#include "proto/base/err.h"
#include "proto/base/mem.h"

#define ALIGN     ((size_t)16)
#define BLOCK_MIN ((size_t)4096)
#define BLOCK_MAX ((size_t)65536)

struct arena_block {
    _Alignas(16) struct arena_block *next;
    size_t size; /* with this header */
};
_Static_assert(sizeof(struct arena_block) % 16 == 0, "what follows the header is aligned");

struct arena_defer {
    void (*fn)(void *);
    void *p;
    struct arena_defer *next;
};

void arena_init(struct arena *a, size_t max_bytes)
{
    *a = (struct arena){.max = max_bytes};
}

void arena_done(struct arena *a)
{
    /* A deferred function may use the arena, and even defer more. */
    while (a->defers) {
        struct arena_defer *d = a->defers;
        a->defers = d->next;
        d->fn(d->p);
    }
    for (struct arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        mem_free(b);
    }
    arena_init(a, a->max);
}

static struct arena_block *block_new(struct arena *a, size_t size)
{
    if (size > a->max - a->used)
        return NULL;
    struct arena_block *b = mem_zalloc(size);
    if (!b)
        return NULL;
    b->size = size;
    a->used += size;
    return b;
}

static void *alloc_own_block(struct arena *a, size_t n)
{
    struct arena_block *b = block_new(a, sizeof(*b) + n);
    if (!b)
        return NULL;
    if (a->head) {
        b->next = a->head->next;
        a->head->next = b;
    } else {
        a->head = b;
        a->at = a->end = (char *)b + b->size;
    }
    return b + 1;
}

/* The next block's size: doubled, but not past what the budget has left. */
static size_t next_size(const struct arena *a)
{
    size_t size = a->used < BLOCK_MIN ? BLOCK_MIN : a->used;
    size = size > BLOCK_MAX ? BLOCK_MAX : size;
    size_t left = (a->max - a->used) & ~(ALIGN - 1);
    return size < left ? size : left;
}

void *arena_alloc(struct arena *a, size_t n)
{
    if (n > SIZE_MAX / 2)
        return NULL;
    n = n ? (n + ALIGN - 1) & ~(ALIGN - 1) : ALIGN;
    if (n > (size_t)(a->end - a->at)) {
        size_t size = next_size(a);
        if (n + sizeof(struct arena_block) > size)
            return alloc_own_block(a, n);
        struct arena_block *b = block_new(a, size);
        if (!b)
            return NULL;
        b->next = a->head;
        a->head = b;
        a->at = (char *)(b + 1);
        a->end = (char *)b + size;
    }
    void *p = a->at;
    a->at += n;
    DASSERT(((uintptr_t)p & (ALIGN - 1)) == 0 && a->at <= a->end);
    return p;
}

void *arena_array(struct arena *a, size_t size, size_t n)
{
    size_t all;
    return __builtin_mul_overflow(size, n, &all) ? NULL : arena_alloc(a, all);
}

int arena_defer(struct arena *a, void (*fn)(void *), void *p)
{
    struct arena_defer *d = ARENA_NEW(a, struct arena_defer);
    if (!d) {
        fn(p);
        return E_NOMEM;
    }
    *d = (struct arena_defer){.fn = fn, .p = p, .next = a->defers};
    a->defers = d;
    return 0;
}
