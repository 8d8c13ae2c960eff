/* state_load_for.c - a state of one commit's files only, for a table that is too large to hold.
 *
 * The manifests are read twice. First those that delete anything, for the ids of what was deleted; then
 * all, and an ADD that no DELETE names is a live file, as in state_load.c. It is counted, and its id
 * goes into the sum of the live files; it is kept only if the commit names a file of its name, and its
 * bucket count only if the commit names its partition. Counts are of live files and not of ADDs less
 * DELETEs, since a DELETE may say another bucket count than the ADD that it undoes (a partition that is
 * compacted after a rescale).
 *
 * Deletions that do not fit in memory at once are taken in slices of their ids, each with two such
 * readings. So memory is that of the commit, the names of the manifests, the index set, and what is left
 * of max_bytes for deletions. What is not seen here and is seen by state_load: a file that was added
 * twice (E_CORRUPT there), unless the commit names it.
 *
 * Thread rule: any that may block; the facts are read only. */
#include "catalog/commit_facts.h"
#include "catalog/table_state_int.h"

#include "proto/base/mem.h"

#define SLICES_MAX 64 /* of readings; past it the table is too large for its max_bytes */

struct streaming {
    struct table_state *st;
    const struct commit_facts *f;
    const struct snapshot *snapshot;
    struct table_filer filer;
    struct id_set dead, named; /* ids; places and ids of what the facts name */
    struct manifest_file *m;   /* base list, then delta list */
    size_t n, n_base;
    uint64_t slice, slices;
    bool delta; /* is the manifest that is being read of the delta list? */
    uint64_t sum;
};

static void streaming_done(struct streaming *l)
{
    table_filer_done(&l->filer);
    ids_done(&l->dead);
    ids_done(&l->named);
}

/* --- what the commit names -------------------------------------------------------------------- */

static int name_file(struct ctx *cx, struct streaming *l, const struct table_file *f)
{
    return ids_add(cx, l->st, &l->named, state_place(f->partition, f->bucket, f->name));
}

/* Whether a partition has files or not, the state holds it, for their counts. */
static int hold_partition(struct ctx *cx, struct streaming *l, str partition)
{
    struct shared *p = shared_take(&l->st->partitions, partition);
    if (!p)
        return ctx_nomem(cx);
    if (p->refs > 1)
        shared_give(&l->st->partitions, p);
    return 0;
}

static int outstanding(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct streaming *l = arg;
    struct table_file f;
    if (e->kind != FILE_DELETE)
        return 0;
    TRY(table_file_of(cx, &l->filer, e, &f));
    return name_file(cx, l, &f);
}

/* Base manifests that this snapshot does not have will be read into the facts, if they were not yet.
 * What is wrong with one is said there. */
static int name_new_base(struct ctx *cx, struct streaming *l, const struct map *known,
                         const struct meta_dir *d)
{
    for (size_t i = 0; i < l->f->n_base; i++) {
        const struct fact_manifest *b = &l->f->base[i];
        struct manifest_file m = {
            .name = b->name, .size = b->size, .added = b->added, .deleted = b->deleted};
        if (b->read || map_get(known, b->name))
            continue;
        int rc = meta_manifest(cx, d, &m, outstanding, l);
        if (rc == E_CORRUPT)
            ctx_reset_err(cx);
        else if (rc < 0)
            return rc;
        TRY(ctx_check_deadline(cx));
    }
    return 0;
}

static int name_all(struct ctx *cx, struct streaming *l, const struct meta_dir *d)
{
    CLEANUP(map_done) struct map known;
    map_init(&known);
    for (size_t i = 0; i < l->f->n_entries; i++) {
        TRY(hold_partition(cx, l, l->f->entries[i].f.partition));
        TRY(name_file(cx, l, &l->f->entries[i].f));
        TRY(ids_add(cx, l->st, &l->named, l->f->entries[i].f.id));
    }
    for (size_t i = 0; i < l->f->n_dead; i++)
        TRY(name_file(cx, l, &l->f->dead[i].f));
    for (size_t i = 0; i < l->n; i++)
        if (map_put(&known, l->m[i].name, &l->m[i]) < 0)
            return ctx_nomem(cx);
    return name_new_base(cx, l, &known, d);
}

/* --- entries ---------------------------------------------------------------------------------- */

static bool of_slice(const struct streaming *l, uint64_t id)
{
    return l->slices == 1 || (id >> 20) % l->slices == l->slice;
}

static int deleted(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct streaming *l = arg;
    struct table_file f;
    if (e->kind != FILE_DELETE)
        return 0;
    TRY(table_file_of(cx, &l->filer, e, &f));
    if (!of_slice(l, f.id))
        return 0;
    if (ids_has(&l->named, f.id)) /* by whom is known of the delta list only, as in state_load.c */
        TRY(gone_put(cx, l->st, f.id, l->snapshot->id - !l->delta,
                     l->delta ? l->snapshot->commit_user : STR_NONE));
    return ids_add(cx, l->st, &l->dead, f.id);
}

static int keep(struct ctx *cx, struct streaming *l, struct table_file *f)
{
    if (files_find(l->st, f))
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "the data file \"%.*s\" is added although it is live",
                        (int)(f->name.len > 120 ? 120 : f->name.len), f->name.p);
    if (l->delta) {
        f->snapshot = l->snapshot->id;
        f->user = l->snapshot->commit_user;
    }
    return files_add(cx, l->st, f);
}

static int added(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct streaming *l = arg;
    struct table_file f;
    TRY(table_file_of(cx, &l->filer, e, &f));
    if (l->slice == 0)
        l->sum += e->kind == FILE_ADD ? f.id : -f.id;
    if (e->kind == FILE_DELETE || !of_slice(l, f.id) || ids_has(&l->dead, f.id))
        return 0;
    if (ids_has(&l->named, state_place(f.partition, f.bucket, f.name)))
        return keep(cx, l, &f);
    return files_count_only(cx, l->st, &f);
}

/* --- manifests -------------------------------------------------------------------------------- */

static int lists(struct ctx *cx, struct streaming *l, const struct meta_dir *d)
{
    const struct snapshot *s = l->snapshot;
    struct manifest_file *base, *delta;
    size_t n_delta;
    TRY(meta_list(cx, d, s->base_manifest_list, s->base_size, &base, &l->n_base));
    TRY(meta_list(cx, d, s->delta_manifest_list, s->delta_size, &delta, &n_delta));
    l->n = l->n_base + n_delta;
    l->m = ARENA_ARRAY(&cx->arena, struct manifest_file, l->n + 1);
    if (!l->m)
        return ctx_nomem(cx);
    for (size_t i = 0; i < l->n; i++)
        l->m[i] = i < l->n_base ? base[i] : delta[i - l->n_base];
    return 0;
}

static int each_manifest(struct ctx *cx, struct streaming *l, const struct meta_dir *d,
                         meta_entry_fn *fn)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct manifest_file *m = &l->m[i];
        if (fn == deleted && m->deleted == 0)
            continue; /* true: the other reading counts them */
        l->delta = i >= l->n_base;
        l->sum = 0;
        TRY(meta_manifest(cx, d, m, fn, l));
        TRY(ctx_check_deadline(cx));
        struct state_manifest sm = {m->name, m->size, m->added, m->deleted, l->sum};
        if (fn == added && l->slice == 0)
            TRY(manifests_keep(cx, l->st, &sm));
    }
    return 0;
}

/* In how many slices the deletions fit, when a set that grows needs the old one beside it. */
static int slice(struct ctx *cx, struct streaming *l)
{
    size_t used = state_bytes(l->st) + l->named.cap * sizeof *l->named.v;
    size_t left = used < l->st->o.max_bytes ? l->st->o.max_bytes - used : 0;
    uint64_t n = 0;
    for (size_t i = 0; i < l->n; i++) /* what its list says, which may be anything */
        n += l->m[i].deleted > UINT32_MAX ? UINT32_MAX : (uint64_t)l->m[i].deleted;
    for (l->slices = 1; ids_bytes_for(n / l->slices * 9 / 8) > left / 2; l->slices *= 2)
        if (l->slices == SLICES_MAX)
            return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                            "what its manifests delete, %llu files, does not fit in %zu bytes of "
                            "memory in %d parts",
                            (unsigned long long)n, left, SLICES_MAX);
    return 0;
}

static int stream(struct ctx *cx, struct streaming *l, const struct meta_dir *d)
{
    struct table_state *st = l->st;
    const struct snapshot *s = l->snapshot;
    TRY(table_filer_init(cx, &l->filer, st->o.partition, st->o.row_ids));
    TRY(lists(cx, l, d));
    TRY(name_all(cx, l, d));
    manifests_begin(st);
    size_t used = state_bytes(st), left = used < st->o.max_bytes ? st->o.max_bytes - used : 0;
    TRY(index_set_load(cx, d, s->index_manifest.len ? s->index_manifest : STR_NONE,
                       &st->partitions_of, left, &st->index));
    TRY(slice(cx, l));
    for (l->slice = 0; l->slice < l->slices; l->slice++) {
        ids_done(&l->dead);
        TRY(each_manifest(cx, l, d, deleted));
        TRY(each_manifest(cx, l, d, added));
    }
    state_set_snapshot(st, s->id, s->schema_id, s->total_record_count, s->next_row_id);
    return state_room(cx, st, 0);
}

/* In a context of its own: what lists take is given back. */
static int load(struct ctx *cx, const struct meta_dir *d, struct streaming *l)
{
    struct ctx own;
    ctx_init(&own, META_FILE_MAX * 4);
    own.deadline_ms = cx->deadline_ms;
    int rc = stream(&own, l, d);
    if (rc < 0) {
        cx->err = own.err;
        IGNORE(ctx_prefix(cx, "snapshot %lld", (long long)l->snapshot->id));
    }
    ctx_done(&own);
    return rc;
}

/* Lists are written once, so their names tell one commit from all others. */
static uint64_t name_of(const struct commit_facts *f)
{
    uint64_t h[2] = {hash64(f->delta_list.p, f->delta_list.len),
                     hash64(f->base_list.p, f->base_list.len)};
    return hash64(h, sizeof h);
}

int state_load_for(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
                   const struct state_opts *o, const struct commit_facts *f,
                   struct table_state **ret)
{
    if (!s)
        return state_load(cx, d, NULL, o, ret);
    CLEANUP(state_freep) struct table_state *st = NULL;
    TRY(state_new(cx, o, &st));
    CLEANUP(streaming_done) struct streaming l = {.st = st, .f = f, .snapshot = s};
    TRY(load(cx, d, &l));
    st->partial = true;
    st->for_facts = name_of(f);
    *ret = st;
    st = NULL;
    return 0;
}

bool state_partial(const struct table_state *st)
{
    return st->partial;
}

bool state_serves(const struct table_state *st, const struct commit_facts *f)
{
    return !st->partial || st->for_facts == name_of(f);
}
