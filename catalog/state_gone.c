/* state_gone.c - the files that went lately: whose commit deleted them.
 *
 * It names the other one in a refusal, and knows a file that is posted a second time after it was
 * compacted away. A ring of at most gone_max entries of 24 bytes, in the order of their snapshots; the
 * oldest makes room for the newest. What is not remembered is not refused.
 *
 * An entry is found by one hash: of partition, bucket and name for a deletion that was seen, or a file's
 * id for one at a level change and for those that a loaded state found in its manifests, where it cannot
 * be seen what a DELETE was for.
 *
 * Thread rule: as the state's. */
#include "catalog/table_state_int.h"

#include "proto/base/mem.h"

#define RING_MIN ((size_t)64)

uint64_t state_place(str partition, int32_t bucket, str name)
{
    uint64_t h[3] = {hash64(partition.p, partition.len), (uint64_t)(int64_t)bucket,
                     hash64(name.p, name.len)};
    return hash64(h, sizeof h);
}

static void drop_oldest(struct table_state *st)
{
    struct gone *g = &st->gone;
    struct gone_file *f = &g->v[g->first];
    refs_remove(&g->by_place, (uint32_t)f->place, (uint32_t)g->first + 1);
    if (f->user)
        shared_give(&st->users, f->user);
    g->first = (g->first + 1) % g->cap;
    g->n--;
}

/* A wider ring that begins at 0. */
static bool widen(struct table_state *st)
{
    struct gone *g = &st->gone, wide = {.n = g->n, .cap = g->cap ? g->cap * 2 : RING_MIN};
    if (wide.cap > st->o.gone_max)
        wide.cap = st->o.gone_max;
    wide.v = mem_alloc(wide.cap * sizeof *wide.v);
    if (!wide.v)
        return false;
    for (size_t i = 0; i < g->n; i++)
        wide.v[i] = g->v[(g->first + i) % g->cap];
    struct gone old = *g;
    *g = wide;
    for (size_t i = 0; i < wide.n; i++) {
        if (refs_room(&g->by_place) < 0) {
            mem_free(wide.v);
            mem_free(g->by_place.v);
            *g = old;
            return false;
        }
        refs_put(&g->by_place, (uint32_t)g->v[i].place, (uint32_t)i + 1);
    }
    mem_free(old.v);
    mem_free(old.by_place.v);
    return true;
}

int gone_note(struct ctx *cx, struct table_state *st, const struct table_file *f, int64_t snapshot,
              str user)
{
    if (st->o.gone_max == 0)
        return 0;
    return gone_put(cx, st, state_place(f->partition, f->bucket, f->name), snapshot, user);
}

int gone_put(struct ctx *cx, struct table_state *st, uint64_t place, int64_t snapshot, str user)
{
    struct gone *g = &st->gone;
    if (st->o.gone_max == 0)
        return 0;
    if (g->n == st->o.gone_max)
        drop_oldest(st);
    if ((g->n == g->cap && !widen(st)) || refs_room(&g->by_place) < 0)
        return ctx_nomem(cx);
    struct shared *who = user.p ? shared_take(&st->users, user) : NULL;
    if (user.p && !who)
        return ctx_nomem(cx);
    size_t at = (g->first + g->n++) % g->cap;
    g->v[at] = (struct gone_file){place, snapshot, who};
    refs_put(&g->by_place, (uint32_t)g->v[at].place, (uint32_t)at + 1);
    return 0;
}

static bool find(const struct table_state *st, uint64_t place, struct state_gone *ret)
{
    const struct refs *t = &st->gone.by_place;
    bool found = false;
    if (t->cap == 0)
        return false;
    for (size_t at = refs_start(t, (uint32_t)place); t->v[at].v; at = refs_step(t, at)) {
        const struct gone_file *f = &st->gone.v[t->v[at].v - 1];
        if (f->place != place || (found && f->snapshot < ret->snapshot))
            continue;
        *ret =
            (struct state_gone){f->snapshot, f->user ? str_n(f->user->p, f->user->len) : STR_NONE};
        found = true;
    }
    return found;
}

bool state_find_gone(const struct table_state *st, str partition, int32_t bucket, str name,
                     struct state_gone *ret)
{
    return find(st, state_place(partition, bucket, name), ret);
}

bool state_find_deleted(const struct table_state *st, const struct table_file *f,
                        struct state_gone *ret)
{
    return find(st, f->id, ret);
}

void state_forget_gone(struct table_state *st, int64_t up_to)
{
    while (st->gone.n && st->gone.v[st->gone.first].snapshot <= up_to)
        drop_oldest(st);
}

size_t gone_bytes(const struct table_state *st)
{
    return st->gone.cap * sizeof *st->gone.v + st->gone.by_place.cap * sizeof *st->gone.by_place.v;
}

void gone_done(struct table_state *st)
{
    mem_free(st->gone.v);
    mem_free(st->gone.by_place.v);
}
