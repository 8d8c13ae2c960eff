/* table_state.c - a state as a whole: what it is of, the manifests of its snapshot, walks.
 *
 * Thread rule: the branch's strand, or whoever loaded it and has not given it away yet. */
#include "catalog/table_state_int.h"

#include "proto/base/assert.h"
#include "proto/base/mem.h"

int state_new(struct ctx *cx, const struct state_opts *o, struct table_state **ret)
{
    struct table_state *st = mem_zalloc(sizeof *st);
    if (!st)
        return ctx_nomem(cx);
    st->o = *o;
    map_init(&st->users.by_text);
    map_init(&st->name_parts.by_text);
    map_init(&st->partitions.by_text);
    map_init(&st->manifests);
    if (partitioner_init(cx, &st->partitions_of, o->partition) < 0) {
        state_free(st);
        return E_NOMEM;
    }
    st->o.partition = &st->partitions_of.type;
    *ret = st;
    return 0;
}

static void manifests_done(struct table_state *st)
{
    size_t pos = 0;
    void *m;
    str name;
    while (map_next(&st->manifests, &pos, &name, &m))
        mem_free(m);
    map_done(&st->manifests);
}

void state_free(struct table_state *st)
{
    if (!st)
        return;
    gone_done(st);
    files_done(st);
    manifests_done(st);
    index_set_unref(st->index);
    partitioner_done(&st->partitions_of);
    buf_done(&st->scratch);
    mem_free(st);
}

bool state_broken(const struct table_state *st)
{
    return st->broken;
}

size_t state_bytes(const struct table_state *st)
{
    return sizeof *st + files_bytes(st) + gone_bytes(st) + st->scratch.cap + st->manifest_bytes +
           st->manifests.cap * sizeof(struct map_slot) +
           (st->index ? index_set_bytes(st->index) : 0);
}

int state_room(struct ctx *cx, const struct table_state *st, size_t more)
{
    if (state_bytes(st) + more <= st->o.max_bytes)
        return 0;
    return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                    "%zu live files take more than %zu bytes of memory", st->n_files,
                    st->o.max_bytes);
}

struct state_info state_info(const struct table_state *st)
{
    return (struct state_info){
        .snapshot_id = st->snapshot_id,
        .schema_id = st->schema_id,
        .total_records = st->total_records,
        .next_row_id = st->next_row_id,
        .files = st->n_files,
        .partitions = st->partitions.n - st->partitions.spare,
        .buckets = st->live_buckets,
        .manifests = st->manifests.live,
        .rows = st->rows,
        .size_bytes = st->size,
        .bytes = state_bytes(st),
        .live_sum = st->live_sum,
        .left_over = st->manifest_sum - st->live_sum,
    };
}

const struct index_set *state_index(const struct table_state *st)
{
    return st->index;
}

const struct state_opts *state_options(const struct table_state *st)
{
    return &st->o;
}

void state_set_snapshot(struct table_state *st, int64_t id, int64_t schema_id,
                        int64_t total_records, struct opt_i64 next_row_id)
{
    st->snapshot_id = id;
    st->schema_id = schema_id;
    st->total_records = total_records;
    st->next_row_id = next_row_id;
}

/* --- manifests -------------------------------------------------------------------------------- */

struct manifest_in *manifest_of(const struct table_state *st, str name)
{
    return map_get(&st->manifests, name);
}

bool state_manifest(const struct table_state *st, str name, struct state_manifest *ret)
{
    const struct manifest_in *m = manifest_of(st, name);
    if (!m || m->stamp != st->stamp)
        return false;
    *ret = (struct state_manifest){str_n(m->name, m->len), m->size, m->added, m->deleted, m->sum};
    return true;
}

void manifests_begin(struct table_state *st)
{
    st->stamp++;
    st->manifest_sum = 0;
}

int manifests_keep(struct ctx *cx, struct table_state *st, const struct state_manifest *m)
{
    struct manifest_in *in = manifest_of(st, m->name);
    if (!in) {
        size_t bytes = sizeof *in + m->name.len + 1;
        TRY(state_room(cx, st, bytes));
        in = mem_zalloc(bytes);
        if (!in)
            return ctx_nomem(cx);
        memcpy(in->name, m->name.p, m->name.len);
        in->len = m->name.len;
        if (map_put(&st->manifests, str_n(in->name, in->len), in) < 0) {
            mem_free(in);
            return ctx_nomem(cx);
        }
        st->manifest_bytes += bytes;
    }
    in->size = m->size;
    in->added = m->added;
    in->deleted = m->deleted;
    in->sum = m->sum;
    in->stamp = st->stamp;
    st->manifest_sum += m->sum;
    return 0;
}

/* The map may not change while it is walked. */
void manifests_end(struct table_state *st)
{
    size_t pos = 0, old = 0;
    void *v;
    str name;
    while (map_next(&st->manifests, &pos, &name, &v))
        old += ((struct manifest_in *)v)->stamp != st->stamp;
    if (old == 0)
        return;
    struct manifest_in **gone = mem_alloc(old * sizeof *gone);
    if (!gone)
        return; /* they stay for now; their stamp says that they are not of this snapshot */
    pos = old = 0;
    while (map_next(&st->manifests, &pos, &name, &v))
        if (((struct manifest_in *)v)->stamp != st->stamp)
            gone[old++] = v;
    for (size_t i = 0; i < old; i++) {
        st->manifest_bytes -= sizeof *gone[i] + gone[i]->len + 1;
        map_del(&st->manifests, str_n(gone[i]->name, gone[i]->len));
        mem_free(gone[i]);
    }
    mem_free(gone);
}

/* --- walks ------------------------------------------------------------------------------------ */

bool state_find(const struct table_state *st, const struct table_file *f, struct state_view *ret)
{
    uint32_t ref = files_find(st, f);
    if (ref)
        record_unpack(st, slab_at(&st->slab, ref), ret);
    return ref != 0;
}

void state_all(const struct table_state *st, struct state_cursor *ret)
{
    (void)st;
    *ret = (struct state_cursor){.file = 0, .bucket = 1, .level = LEVEL_ANY};
}

void state_bucket(const struct table_state *st, str partition, int32_t bucket, int32_t level,
                  struct state_cursor *ret)
{
    uint32_t b = bucket_find(st, partition, bucket);
    *ret = (struct state_cursor){
        .file = b ? st->buckets[b].first : 0, .bucket = UINT32_MAX, .level = level};
}

bool state_next(const struct table_state *st, struct state_cursor *at, struct state_view *ret)
{
    for (;;) {
        while (!at->file && at->bucket < st->n_buckets)
            at->file = st->buckets[at->bucket++].first;
        if (!at->file)
            return false;
        const struct record *r = slab_at(&st->slab, at->file);
        at->file = r->next;
        record_unpack(st, r, ret);
        if (at->level == LEVEL_ANY || ret->f.level == at->level)
            return true;
    }
}

struct opt_i64 state_newest_ms(const struct table_state *st)
{
    struct opt_i64 newest = {0};
    struct state_cursor at;
    struct state_view v;
    state_all(st, &at);
    while (state_next(st, &at, &v))
        if (v.f.created_ms.has && (!newest.has || v.f.created_ms.v > newest.v))
            newest = v.f.created_ms;
    return newest;
}
