/* state_slab.c - memory for a million small records: chunks of 1 MB, and a list of free pieces for each
 * size. A reference is 4 bytes instead of 8, a piece has no header, and what is given back is used
 * again by the next record of its size, which the files of one table mostly share.
 *
 * Sizes are in steps of 8 up to 1 KB, then powers of two up to 512 KB. The first chunk grows by
 * doubling, so that a small table takes little. Memory goes back when the state is freed.
 *
 * Thread rule: as the state's. */
#include "catalog/table_state_int.h"

#include "proto/base/assert.h"
#include "proto/base/mem.h"

#define CHUNK       ((size_t)1 << 20)
#define FIRST_CHUNK ((size_t)4096)
#define FINE_MAX    ((size_t)1024)
#define CHUNKS_MAX  ((size_t)1 << 15)

static size_t class_of(size_t n, size_t *ret_size)
{
    if (n <= FINE_MAX) {
        *ret_size = (n + 7) & ~(size_t)7;
        return *ret_size / 8;
    }
    size_t size = FINE_MAX * 2, c = FINE_MAX / 8 + 1;
    for (; size < n; size *= 2)
        c++;
    *ret_size = size;
    ASSERT(c < SLAB_CLASSES);
    return c;
}

static bool new_chunk(struct slab *s)
{
    if (s->n == CHUNKS_MAX)
        return false;
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 4;
        char **v = mem_realloc(s->chunks, cap * sizeof *v);
        if (!v)
            return false;
        s->chunks = v;
        s->cap = cap;
    }
    size_t size = s->n ? CHUNK : FIRST_CHUNK;
    char *p = mem_alloc(size);
    if (!p)
        return false;
    s->at = s->n ? 0 : 8; /* so that no ref is 0 */
    s->chunks[s->n++] = p;
    s->end = size;
    s->bytes += size;
    return true;
}

static bool grow_first(struct slab *s)
{
    char *p = mem_realloc(s->chunks[0], s->end * 2);
    if (!p)
        return false;
    s->chunks[0] = p;
    s->bytes += s->end;
    s->end *= 2;
    return true;
}

uint32_t slab_take(struct slab *s, size_t n)
{
    size_t size, c = class_of(n, &size);
    uint32_t ref = s->free[c];
    if (ref) {
        memcpy(&s->free[c], slab_at(s, ref), sizeof ref);
        return ref;
    }
    while (s->n == 0 || s->at + size > s->end) {
        bool grew = s->n == 1 && s->end < CHUNK ? grow_first(s) : new_chunk(s);
        if (!grew)
            return 0;
    }
    ref = (uint32_t)((s->n - 1) << 17 | s->at >> 3);
    s->at += size;
    return ref;
}

void slab_give(struct slab *s, uint32_t ref, size_t n)
{
    size_t size, c = class_of(n, &size);
    memcpy(slab_at(s, ref), &s->free[c], sizeof ref);
    s->free[c] = ref;
}

void slab_done(struct slab *s)
{
    for (size_t i = 0; i < s->n; i++)
        mem_free(s->chunks[i]);
    mem_free(s->chunks);
    *s = (struct slab){0};
}
