/* state_ids.c - a set of 64-bit hashes, of files or of their names, while a state is loaded: open
 * addressing, 8 bytes a slot, half of them free; 0 stands for a free one and is taken for 1. It may grow
 * as long as it fits beside the state that it is for.
 *
 * Thread rule: whoever loads. */
#include "catalog/table_state_int.h"

#include "proto/base/mem.h"

#define IDS_MIN ((size_t)64)

static size_t slot_of(const struct id_set *s, uint64_t id)
{
    size_t at = (id ^ id >> 32) & (s->cap - 1);
    while (s->v[at] && s->v[at] != id)
        at = (at + 1) & (s->cap - 1);
    return at;
}

bool ids_has(const struct id_set *s, uint64_t id)
{
    return s->cap && s->v[slot_of(s, id ? id : 1)] != 0;
}

size_t ids_bytes_for(size_t n)
{
    size_t cap = IDS_MIN;
    while (n * 2 > cap)
        cap *= 2;
    return cap * sizeof(uint64_t);
}

int ids_add(struct ctx *cx, const struct table_state *st, struct id_set *s, uint64_t id)
{
    if ((s->n + 1) * 2 > s->cap) {
        struct id_set wide = {.cap = s->cap ? s->cap * 2 : IDS_MIN, .n = s->n};
        TRY(state_room(cx, st, wide.cap * sizeof *wide.v));
        wide.v = mem_zalloc(wide.cap * sizeof *wide.v);
        if (!wide.v)
            return ctx_nomem(cx);
        for (size_t i = 0; i < s->cap; i++)
            if (s->v[i])
                wide.v[slot_of(&wide, s->v[i])] = s->v[i];
        mem_free(s->v);
        *s = wide;
    }
    uint64_t *slot = &s->v[slot_of(s, id ? id : 1)];
    s->n += *slot == 0;
    *slot = id ? id : 1;
    return 0;
}

void ids_done(struct id_set *s)
{
    mem_free(s->v);
    *s = (struct id_set){0};
}
