/* state_save.c - a state to the bytes of a checkpoint; the format is in state_ckpt_int.h.
 *
 * It runs on a branch's strand, so a file costs a copy of its packed record and little more: records are
 * walked bucket by bucket and written as they are, numbers of shared texts stay what they are, and what
 * can be counted again from the records (sums of buckets, counts of partitions) is not written.
 *
 * Thread rule: as the state's. Pure. */
#include "catalog/state_ckpt.h"
#include "catalog/table_index_int.h"
#include "catalog/table_state_int.h"

#include "proto/base/assert.h"

void ckpt_add_u(struct buf *b, uint64_t v)
{
    char *p = ckpt_room(b, CKPT_VARINT);
    if (p)
        ckpt_upto(b, ckpt_put_u(p, v));
}

void ckpt_add_i(struct buf *b, int64_t v)
{
    char *p = ckpt_room(b, CKPT_VARINT);
    if (p)
        ckpt_upto(b, ckpt_put_i(p, v));
}

void ckpt_add_u64(struct buf *b, uint64_t v)
{
    buf_add(b, &v, sizeof v);
}

void ckpt_add_str(struct buf *b, str s)
{
    ckpt_add_u(b, s.p ? s.len + 1 : 0);
    buf_adds(b, s);
}

static void add_texts(struct buf *b, const struct shared_set *s)
{
    ckpt_add_u(b, s->n);
    for (uint32_t i = 0; i < s->n; i++)
        ckpt_add_str(b, s->v[i] ? str_n(s->v[i]->p, s->v[i]->len) : STR_NONE);
}

static void add_record(struct buf *b, const struct record *r)
{
    size_t n = r->len - offsetof(struct record, body);
    char *p = ckpt_room(b, n + sizeof r->id + CKPT_VARINT);
    if (!p)
        return;
    p = ckpt_put_u64(p, r->id);
    p = ckpt_put_u(p, n);
    ckpt_upto(b, ckpt_put_bytes(p, r->body, n));
}

static void add_buckets(struct buf *b, const struct table_state *st)
{
    ckpt_add_u(b, st->live_buckets);
    for (uint32_t i = 1; i < st->n_buckets && !buf_fail(b); i++) {
        const struct bucket *k = &st->buckets[i];
        const struct record *r;
        if (!k->partition)
            continue;
        ckpt_add_u(b, k->partition->no);
        ckpt_add_i(b, k->bucket);
        ckpt_add_u(b, k->n);
        for (uint32_t ref = k->first; ref; ref = r->next) {
            r = slab_at(&st->slab, ref);
            /* the walk is the price: ask for the next before this one is copied */
            if (r->next)
                __builtin_prefetch(slab_at(&st->slab, r->next));
            add_record(b, r);
        }
    }
}

static void add_gone(struct buf *b, const struct gone *g)
{
    ckpt_add_u(b, g->n);
    for (size_t i = 0; i < g->n; i++) {
        const struct gone_file *f = &g->v[(g->first + i) % g->cap];
        ckpt_add_u64(b, f->place);
        ckpt_add_i(b, f->snapshot);
        ckpt_add_u(b, f->user ? f->user->no + UINT64_C(1) : 0);
    }
}

/* Those of older lists may still be held: not of this snapshot. */
static void add_manifests(struct buf *b, const struct table_state *st)
{
    size_t pos = 0, n = 0;
    void *v;
    str name;
    while (map_next(&st->manifests, &pos, &name, &v))
        n += ((struct manifest_in *)v)->stamp == st->stamp;
    ckpt_add_u(b, n);
    for (pos = 0; map_next(&st->manifests, &pos, &name, &v);) {
        const struct manifest_in *m = v;
        if (m->stamp != st->stamp)
            continue;
        ckpt_add_str(b, name);
        ckpt_add_i(b, m->size);
        ckpt_add_i(b, m->added);
        ckpt_add_i(b, m->deleted);
        ckpt_add_u64(b, m->sum);
    }
}

static struct ckpt_fixed fixed_of(const struct table_state *st, int64_t epoch, uint64_t text_hash)
{
    return (struct ckpt_fixed){
        .epoch = epoch,
        .snapshot_id = st->snapshot_id,
        .text_hash = text_hash,
        .opts = ckpt_opts_hash(&st->o),
        .schema_id = st->schema_id,
        .total_records = st->total_records,
        .has_next_row_id = st->next_row_id.has,
        .next_row_id = st->next_row_id.has ? st->next_row_id.v : 0,
        .files = st->n_files,
        .rows = (uint64_t)st->rows,
        .size = (uint64_t)st->size,
        .live_sum = st->live_sum,
    };
}

int state_save(struct ctx *cx, const struct table_state *st, int64_t epoch, uint64_t text_hash,
               struct buf *out)
{
    struct ckpt_fixed fixed = fixed_of(st, epoch, text_hash);
    size_t guess = st->slab.bytes + index_set_bytes(st->index);
    ASSERT(!st->broken && !st->partial && out->len == 0);
    /* growing by doubling would copy all of it again */
    if (guess <= out->max && buf_reserve(out, guess) == E_NOMEM)
        return ctx_nomem(cx);
    buf_add(out, &fixed, sizeof fixed);
    add_texts(out, &st->users);
    add_texts(out, &st->name_parts);
    add_texts(out, &st->partitions);
    add_buckets(out, st);
    add_gone(out, &st->gone);
    add_manifests(out, st);
    index_set_save(st->index, out);
    if (buf_fail(out) == E_TOOBIG)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "the checkpoint of %zu live files takes more than %zu bytes", st->n_files,
                        out->max);
    if (buf_fail(out))
        return ctx_nomem(cx);
    ckpt_seal(out->p, out->len);
    return 0;
}
