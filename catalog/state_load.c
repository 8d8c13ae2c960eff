/* state_load.c - a state from a snapshot's manifests.
 *
 * Base list, then delta list, each manifest read once and gone; entries cancel as in Paimon's scan: a
 * file is live when some entry adds it and none deletes it, whatever the order, so DELETEs are kept by
 * hash until the end (8 bytes each). Added by which snapshot and whom is known for the delta list only.
 *
 * Source: paimon-core's AbstractFileStoreScan (all DELETEs are read first, ADDs are filtered by them)
 * and FileEntry.mergeEntries. Thread rule: any thread that may block; the state is its own until it is
 * given to a strand. */
#include "catalog/table_state_int.h"

#define GONE_ROOM 72 /* bytes that one takes at most, while the ring grows */

struct loading {
    struct table_state *st;
    struct table_filer filer;
    struct id_set dead;
    const struct snapshot *snapshot;
    bool delta; /* the list that is being read */
    uint64_t sum;
};

static void loading_done(struct loading *l)
{
    table_filer_done(&l->filer);
    ids_done(&l->dead);
}

static int entry(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct loading *l = arg;
    struct table_file f;
    TRY(table_file_of(cx, &l->filer, e, &f));
    l->sum += e->kind == FILE_ADD ? f.id : -f.id;
    uint32_t ref = files_find(l->st, &f);
    if (e->kind == FILE_DELETE) {
        if (ref)
            files_remove(l->st, ref);
        if (l->delta)
            TRY(gone_put(cx, l->st, f.id, l->snapshot->id, l->snapshot->commit_user));
        return ids_add(cx, l->st, &l->dead, f.id);
    }
    if (ids_has(&l->dead, f.id))
        return 0;
    if (ref)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "the data file \"%.*s\" is added although it is live",
                        (int)(f.name.len > 120 ? 120 : f.name.len), f.name.p);
    if (l->delta) {
        f.snapshot = l->snapshot->id;
        f.user = l->snapshot->commit_user;
    }
    return files_add(cx, l->st, &f);
}

static int load_manifest(struct ctx *cx, struct loading *l, const struct meta_dir *d,
                         const struct manifest_file *m)
{
    l->sum = 0;
    TRY(meta_manifest(cx, d, m, entry, l));
    TRY(ctx_check_deadline(cx));
    struct state_manifest sm = {m->name, m->size, m->added, m->deleted, l->sum};
    return manifests_keep(cx, l->st, &sm);
}

static int load_list(struct ctx *cx, struct loading *l, const struct meta_dir *d, str name,
                     struct opt_i64 size)
{
    struct manifest_file *m;
    size_t n;
    TRY(meta_list(cx, d, name, size, &m, &n));
    for (size_t i = 0; i < n; i++)
        if (load_manifest(cx, l, d, &m[i]) < 0)
            return cx->err.code == E_TIMEOUT ? cx->err.code
                                             : ctx_prefix(cx, "manifest list %.*s", STR(name));
    return 0;
}

/* What the base list deletes, as much of it as may be remembered, and as fits: it makes no table too
 * large. */
static int note_dead(struct ctx *cx, struct loading *l)
{
    struct table_state *st = l->st;
    size_t used = state_bytes(st), left = used < st->o.max_bytes ? st->o.max_bytes - used : 0;
    size_t n = left / 2 / GONE_ROOM;
    for (size_t i = 0; i < l->dead.cap && n > 0; i++) {
        if (!l->dead.v[i])
            continue;
        TRY(gone_put(cx, st, l->dead.v[i], l->snapshot->id - 1, STR_NONE));
        n--;
    }
    return 0;
}

static int load_all(struct ctx *cx, struct loading *l, const struct meta_dir *d,
                    const struct snapshot *s)
{
    struct table_state *st = l->st;
    TRY(table_filer_init(cx, &l->filer, st->o.partition, st->o.row_ids));
    manifests_begin(st);
    TRY(load_list(cx, l, d, s->base_manifest_list, s->base_size));
    TRY(note_dead(cx, l));
    l->delta = true;
    TRY(load_list(cx, l, d, s->delta_manifest_list, s->delta_size));
    size_t used = state_bytes(st), left = used < st->o.max_bytes ? st->o.max_bytes - used : 0;
    TRY(index_set_load(cx, d, s->index_manifest.len ? s->index_manifest : STR_NONE,
                       &st->partitions_of, left, &st->index));
    state_set_snapshot(st, s->id, s->schema_id, s->total_record_count, s->next_row_id);
    return state_room(cx, st, 0);
}

/* In a context of its own: what lists take is given back. */
static int load(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
                struct table_state *st)
{
    CLEANUP(loading_done) struct loading l = {.st = st, .snapshot = s};
    struct ctx own;
    ctx_init(&own, META_FILE_MAX * 4);
    own.deadline_ms = cx->deadline_ms;
    int rc = load_all(&own, &l, d, s);
    if (rc < 0) {
        cx->err = own.err;
        IGNORE(ctx_prefix(cx, "snapshot %lld", (long long)s->id));
    }
    ctx_done(&own);
    return rc;
}

int state_load(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
               const struct state_opts *o, struct table_state **ret)
{
    CLEANUP(state_freep) struct table_state *st = NULL;
    TRY(state_new(cx, o, &st));
    if (s)
        TRY(load(cx, d, s, st));
    else
        TRY(index_set_load(cx, d, STR_NONE, &st->partitions_of, o->max_bytes, &st->index));
    *ret = st;
    st = NULL;
    return 0;
}
