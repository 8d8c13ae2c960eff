/* native_plan.c - what a native commit comes to on the head at hand.
 *
 * DELETEs first, then ADDs (expiry replays a delta by path). With row tracking, or snapshots as the order of
 * writes, the sequence numbers and row ids of new files are the head's to give: as Paimon's
 * FileStoreCommitImpl and RowTrackingCommitUtils do, but that DELETE entries are left as they are.
 *
 * Thread rule: the branch's strand. Nothing blocks. */
#include "catalog/native_int.h"

#include "proto/base/clock.h"
#include "proto/base/mem.h"

#define MAX_SEQUENCE "sequence.generation.max-sequence-number"

/* --- entries ---------------------------------------------------------------------------------- */

static str id_key(const uint64_t *id)
{
    return str_n((const char *)id, sizeof *id);
}

/* 0, or NEED_MORE: its manifest must be read. A file that is not live gets an entry that is refused. */
static int gone_entry(struct ctx *cx, struct native *nc, const struct table_state *st,
                      const struct native_place *p, struct manifest_entry *ret)
{
    struct state_view *v = ARENA_NEW(&cx->arena, struct state_view);
    struct table_file same;
    if (!v)
        return ctx_nomem(cx);
    if (!state_find_name(st, p->partition, p->bucket, p->name, v)) {
        struct table_file none = {.partition = p->partition, .bucket = p->bucket, .name = p->name};
        *ret = (struct manifest_entry){
            .kind = FILE_DELETE,
            .partition = none.partition,
            .bucket = none.bucket,
            .file = {.name = none.name, .embedded_index = STR_NONE, .external_path = STR_NONE}};
        return 0;
    }
    const struct full_entry *full = map_get(&nc->full, id_key(&v->f.id));
    if (full) {
        *ret = full->e;
        ret->kind = FILE_DELETE;
        return 0;
    }
    TRY(native_gone_entry(cx, nc->cm.traits, &v->f, ret));
    TRY(table_file_of(cx, &nc->probe->filer, ret, &same));
    nc->need_full = nc->need_full || same.id != v->f.id;
    return same.id != v->f.id ? NEED_MORE : 0;
}

static int gone_entries(struct ctx *cx, struct native *nc, const struct table_state *st)
{
    int need = 0;
    for (size_t i = 0; i < nc->files.n_gone; i++) {
        int rc = gone_entry(cx, nc, st, &nc->files.gone[i], &nc->delta[i]);
        if (rc < 0)
            return rc;
        need = rc ? rc : need;
    }
    return need;
}

/* --- row tracking ----------------------------------------------------------------------------- */

static bool has_name(struct avro_list l, const char *name, str *ret_first)
{
    str s;
    bool first = true, found = false;
    while (avro_list_str(&l, &s)) {
        if (first)
            *ret_first = s;
        first = false;
        found = found || str_eqz(s, name);
    }
    return found;
}

struct row_ids {
    int64_t start;         /* of the next file with rows of its own */
    int64_t side, vectors; /* of files beside it: blobs (of a column not seen yet), vectors */
    struct map blobs;      /* column -> int64_t, its next blob file's */
};

static int blob_start(struct ctx *cx, struct row_ids *r, str column, int64_t **ret)
{
    int64_t *at = map_get(&r->blobs, column);
    if (!at) {
        at = ARENA_NEW(&cx->arena, int64_t);
        if (!at || map_put(&r->blobs, column.len ? column : STR_LIT("-"), at) < 0)
            return ctx_nomem(cx);
        *at = r->side;
    }
    *ret = at;
    return 0;
}

static int forget_blobs(struct row_ids *r)
{
    map_done(&r->blobs);
    map_init(&r->blobs);
    return 0;
}

static int give_row_id(struct ctx *cx, struct row_ids *r, struct data_file *d, str column)
{
    int64_t *at = &r->start;
    bool vectors = memmem(d->name.p, d->name.len, ".vector.", 8) != NULL;
    if (str_ends(d->name, STR_LIT(".blob")))
        TRY(blob_start(cx, r, column, &at));
    else if (vectors)
        at = &r->vectors;
    if (at != &r->start && *at >= r->start)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "the file \"%.*s\" must come behind the data file whose rows it belongs to",
                        (int)(d->name.len > 120 ? 120 : d->name.len), d->name.p);
    d->first_row_id = (struct opt_i64){true, *at};
    if (at == &r->start) {
        r->side = r->start;
        TRY(forget_blobs(r));
    }
    if (__builtin_add_overflow(*at, d->row_count, at))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "the table has no row ids left");
    return 0;
}

static int track(struct ctx *cx, struct native *nc, struct row_ids *r)
{
    for (size_t i = nc->files.n_gone; i < nc->n_delta; i++) {
        struct data_file *d = &nc->delta[i].file;
        str column = STR_NONE;
        if (d->min_seq == 0)
            d->min_seq = d->max_seq = nc->cm.snap.id;
        else if (d->max_seq == 0)
            d->max_seq = nc->cm.snap.id;
        bool has = d->first_row_id.has || has_name(d->write_cols, "_ROW_ID", &column);
        if (!has && d->source.v == FILE_FROM_APPEND)
            TRY(give_row_id(cx, r, d, column));
    }
    return 0;
}

static int row_ids(struct ctx *cx, struct native *nc)
{
    struct snapshot *s = &nc->cm.snap;
    int64_t first = nc->head.next_row_id.v;
    struct row_ids r = {.start = first, .side = first, .vectors = first};
    s->next_row_id = nc->head.next_row_id;
    if (!nc->cm.traits->row_ids)
        return 0;
    map_init(&r.blobs);
    int rc = track(cx, nc, &r);
    map_done(&r.blobs);
    s->next_row_id = (struct opt_i64){true, r.start};
    return rc;
}

static void order_by_snapshot(struct native *nc)
{
    if (!nc->o.snapshot_ordering || nc->cm.snap.commit_kind == COMMIT_COMPACT)
        return;
    for (size_t i = nc->files.n_gone; i < nc->n_delta; i++)
        nc->delta[i].file.min_seq = nc->delta[i].file.max_seq = nc->cm.snap.id;
}

/* --- the snapshot ----------------------------------------------------------------------------- */

static int counts(struct ctx *cx, struct native *nc)
{
    struct snapshot *s = &nc->cm.snap;
    int64_t delta = 0, changes = 0;
    bool over = false;
    for (size_t i = 0; i < nc->n_delta; i++) {
        int64_t rows = nc->delta[i].file.row_count;
        over |= nc->delta[i].kind == FILE_ADD ? __builtin_add_overflow(delta, rows, &delta)
                                              : __builtin_sub_overflow(delta, rows, &delta);
    }
    for (size_t i = 0; i < nc->files.n_changelog; i++)
        over |= __builtin_add_overflow(changes, nc->files.changelog[i].file.row_count, &changes);
    s->delta_record_count = delta;
    over |= __builtin_add_overflow(nc->head.total_record_count, delta, &s->total_record_count);
    s->changelog_record_count = (struct opt_i64){nc->files.n_changelog > 0, changes};
    return over ? ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "the rows do not fit 64 bits") : 0;
}

/* The highest sequence number that there is; INT64_MIN: not known, the next stock commit finds it. */
static int64_t max_sequence(struct native *nc, const struct table_state *st)
{
    str was = kv_get(&nc->head.properties, MAX_SEQUENCE);
    int64_t max = INT64_MIN;
    struct state_cursor at;
    struct state_view v;
    if (was.p && !str_to_i64(was, &max))
        return INT64_MIN;
    if (!was.p && nc->head.id) {
        if (st == nc->cm.partial)
            return INT64_MIN;
        state_all(st, &at);
        while (state_next(st, &at, &v))
            max = v.f.max_seq > max ? v.f.max_seq : max;
    }
    for (size_t i = nc->files.n_gone; i < nc->n_delta; i++)
        max = nc->delta[i].file.max_seq > max ? nc->delta[i].file.max_seq : max;
    return max;
}

static int properties(struct ctx *cx, struct native *nc, const struct table_state *st)
{
    struct kv_list given = {0}, *to = &nc->cm.snap.properties;
    const struct api_native *body = nc->in.body;
    int64_t max = nc->o.max_sequence ? max_sequence(nc, st) : INT64_MIN;
    size_t at;
    if (body)
        TRY(kv_decode(cx, body->properties, "properties", &given));
    *to = given;
    if (max == INT64_MIN)
        return 0;
    bool there = kv_find(&given, STR_LIT(MAX_SEQUENCE), &at);
    struct kv *wide = ARENA_ARRAY(&cx->arena, struct kv, given.n + 1);
    if (!wide)
        return ctx_nomem(cx);
    for (size_t i = 0; i < given.n; i++)
        wide[i + (i >= at && !there)] = given.items[i];
    wide[at].key = STR_LIT(MAX_SEQUENCE);
    TRY(ctx_text(cx, &wide[at].value, "%lld", (long long)max));
    *to = (struct kv_list){wide, given.n + !there};
    return 0;
}

static void watermark(struct native *nc)
{
    const struct api_native *body = nc->in.body;
    struct opt_i64 *w = &nc->cm.snap.watermark;
    *w = nc->head.watermark;
    if (body && body->watermark.has && (!w->has || body->watermark.v > w->v))
        *w = (struct opt_i64){true, body->watermark.v};
}

static int index_set(struct ctx *cx, struct native *nc)
{
    struct snapshot *s = &nc->cm.snap;
    index_set_unref(nc->index_set);
    nc->index_set = NULL;
    s->index_manifest = nc->head.index_manifest;
    if (!native_changes_index(nc))
        return 0;
    TRY(native_index(cx, nc));
    TRY(meta_index_name(cx, &nc->w, &s->index_manifest));
    return index_set_of(cx, s->index_manifest, nc->index_entries, nc->n_index, &nc->partitions,
                        nc->cm.br->table->cat->o.facts_max_bytes, &nc->index_set);
}

static int head_of(struct ctx *cx, struct native *nc)
{
    const struct head *h = nc->cm.br->head;
    nc->head = (struct snapshot){0};
    return h ? snapshot_decode_file(cx, h->json, STR_LIT("head"), &nc->head) : 0;
}

int native_plan(struct ctx *cx, struct native *nc, const struct table_state *st)
{
    struct snapshot *s = &nc->cm.snap;
    TRY(head_of(cx, nc));
    s->id = nc->head.id + 1;
    s->schema_id = nc->cm.traits->schema_id;
    s->time_millis = clock_wall_ms();
    s->statistics =
        nc->head.id && nc->head.schema_id == s->schema_id ? nc->head.statistics : STR_NONE;
    nc->n_delta = nc->files.n_gone + nc->files.n_add;
    nc->delta = ARENA_ARRAY(&cx->arena, struct manifest_entry, nc->n_delta + 1);
    if (!nc->delta)
        return ctx_nomem(cx);
    for (size_t i = 0; i < nc->files.n_add; i++)
        nc->delta[nc->files.n_gone + i] = nc->files.add[i];
    int rc = gone_entries(cx, nc, st);
    if (rc != 0)
        return rc;
    TRY(row_ids(cx, nc));
    order_by_snapshot(nc);
    watermark(nc);
    TRY(counts(cx, nc));
    TRY(properties(cx, nc, st));
    return index_set(cx, nc);
}

/* --- the base --------------------------------------------------------------------------------- */

static int names_of(struct ctx *cx, const struct manifest_file *f, size_t n, struct map *ret)
{
    map_init(ret);
    for (size_t i = 0; i < n; i++)
        if (map_put(ret, f[i].name, (void *)&f[i]) < 0)
            return ctx_nomem(cx);
    return 0;
}

/* What was merged, then whatever of the head's lists it did not know. */
static int merged_base(struct ctx *cx, struct native *nc, const struct head_lists *l)
{
    CLEANUP(map_done) struct map before, now;
    const struct native_merge *m = nc->merge;
    struct manifest_file *v = ARENA_ARRAY(&cx->arena, struct manifest_file, l->n + m->n_out + 1);
    size_t n = 0;
    map_init(&now);
    TRY(names_of(cx, m->in, m->n_in, &before));
    TRY(names_of(cx, l->files, l->n, &now));
    if (!v)
        return ctx_nomem(cx);
    for (size_t i = 0; i < m->n_in; i++)
        if (!map_get(&now, m->in[i].name))
            return 0;
    for (size_t i = 0; i < m->n_out; i++)
        v[n++] = m->out[i];
    for (size_t i = 0; i < l->n; i++)
        if (!map_get(&before, l->files[i].name))
            v[n++] = l->files[i];
    nc->base = v;
    nc->n_base = n;
    return 1;
}

int native_base(struct ctx *cx, struct native *nc, const struct head_lists *l)
{
    if (nc->merge)
        return merged_base(cx, nc, l);
    nc->base = l->files;
    nc->n_base = l->n;
    return 1;
}
