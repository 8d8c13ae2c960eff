/* manifest_merge.c - see manifest_merge.h.
 *
 * Full first: when the manifests that want a change (they delete, or are below the target size) come to
 * full_size bytes, all of them are rewritten, together with those large ones that hold a file which
 * another deletes. Else groups of neighbours that reach the target size become one each, and what is
 * left at the end when there are min_count of them.
 *
 * Manifests are read twice, entry by entry: first the ids of what they delete, then all is written on
 * but for the ADDs of those ids and the DELETEs that met one. So memory goes with the number of
 * DELETEs alone. What Paimon's writers never make (an ADD behind the DELETE of the same file, one
 * DELETE for two ADDs) cannot be cancelled without changing what readers see; such a group stays.
 *
 * Unlike Java, a full merge keeps a DELETE whose ADD is nowhere: the sum of a state's manifests would
 * change. There is none in a table that is right.
 *
 * Source: paimon-core's ManifestFileMerger (1.4.2) and ManifestFileBlockMerger (2.x). Identity:
 * table_file.h. Thread rule: any thread that may block; no state between calls. */
#include "catalog/manifest_merge.h"

#include "catalog/table_file.h"
#include "manifest/options.h"
#include "proto/base/mem.h"

struct dead { /* a file that some manifest deletes */
    uint64_t id;
    uint32_t met;  /* ADDs that were left out and whose DELETE is still to come */
    bool used;     /* the slot */
    bool outlived; /* a DELETE of it was written on: its ADD must not come any more */
};

struct merge {
    struct ctx *cx; /* the caller's: results live there */
    struct meta_writer *w;
    const struct merge_opts *o;
    struct table_filer filer;
    struct dead *dead;
    size_t cap, n_dead;
    uint64_t unmet;                    /* ADDs that were left out and whose DELETE has not come */
    struct partition_stats partitions; /* of what is deleted */
    struct meta_roll roll;
    bool stays;                /* this cannot be merged */
    bool hit;                  /* an ADD whose DELETE is known was seen */
    struct manifest_file *out; /* in the arena */
    size_t n_out, cap_out;
};

/* Bytes of a manifest, as its list says; no more than can be read, so that sums stay small. */
static int64_t size_of(const struct manifest_file *f)
{
    return f->size < (int64_t)META_FILE_MAX ? f->size : (int64_t)META_FILE_MAX;
}

int merge_options(struct ctx *cx, const struct kv_list *options, struct merge_opts *ret)
{
    int64_t count, size;
    TRY(opt_i64(cx, options, "manifest.merge-min-count", &count));
    TRY(opt_i64(cx, options, "manifest.full-compaction-threshold-size", &size));
    if (size == 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "option 'manifest.full-compaction-threshold-size' is 0; it must be above");
    ret->min_count = count;
    ret->full_size = size;
    return 0;
}

/* --- what is deleted -------------------------------------------------------------------------- */

static struct dead *dead_at(const struct dead *v, size_t cap, uint64_t id)
{
    size_t at = (id ^ id >> 32) & (cap - 1);
    while (v[at].used && v[at].id != id)
        at = (at + 1) & (cap - 1);
    return (struct dead *)&v[at];
}

static struct dead *dead_find(const struct merge *m, uint64_t id)
{
    struct dead *d = m->cap ? dead_at(m->dead, m->cap, id) : NULL;
    return d && d->used ? d : NULL;
}

static void dead_clear(struct merge *m)
{
    mem_free(m->dead);
    m->dead = NULL;
    m->cap = m->n_dead = 0;
    m->unmet = 0;
    m->stays = false;
    partition_stats_clear(&m->partitions);
}

/* E_TOOBIG past the bound. */
static int dead_grow(struct ctx *cx, struct merge *m)
{
    size_t cap = m->cap ? m->cap * 2 : 64;
    if (cap * sizeof(struct dead) > m->o->max_bytes)
        return E_TOOBIG;
    struct dead *wide = mem_zalloc(cap * sizeof *wide);
    if (!wide)
        return ctx_nomem(cx);
    for (size_t i = 0; i < m->cap; i++)
        if (m->dead[i].used)
            *dead_at(wide, cap, m->dead[i].id) = m->dead[i];
    mem_free(m->dead);
    m->dead = wide;
    m->cap = cap;
    return 0;
}

static int dead_note(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct merge *m = arg;
    struct table_file f;
    if (e->kind != FILE_DELETE)
        return 0;
    TRY(table_file_of(cx, &m->filer, e, &f));
    TRY(partition_stats_add(cx, &m->partitions, e->partition));
    if ((m->n_dead + 1) * 2 > m->cap) {
        int rc = dead_grow(cx, m);
        m->stays = m->stays || rc == E_TOOBIG;
        TRY(rc);
    }
    struct dead *d = dead_at(m->dead, m->cap, f.id);
    m->n_dead += !d->used;
    d->used = true;
    d->id = f.id;
    return 0;
}

static bool too_many(const struct merge *m, const struct manifest_file *in, size_t n)
{
    size_t left = m->o->max_bytes / (2 * sizeof(struct dead)); /* half of the slots are free */
    for (size_t i = 0; i < n; i++) {
        if ((uint64_t)in[i].deleted > left)
            return true;
        left -= (size_t)in[i].deleted;
    }
    return false;
}

/* Of n manifests; m->stays: they are too many. */
static int dead_collect(struct merge *m, const struct manifest_file *in, size_t n)
{
    dead_clear(m);
    m->stays = too_many(m, in, n);
    for (size_t i = 0; i < n && !m->stays; i++) {
        int rc = in[i].deleted ? meta_manifest(m->cx, &m->w->o->dir, &in[i], dead_note, m) : 0;
        if (m->stays)
            ctx_reset_err(m->cx);
        else
            TRY(rc);
        TRY(ctx_check_deadline(m->cx));
    }
    return 0;
}

/* --- writing on ------------------------------------------------------------------------------- */

/* Does this entry go away? */
static bool cancels(struct merge *m, const struct manifest_entry *e, struct dead *d)
{
    if (e->kind == FILE_ADD) {
        m->stays = m->stays || d->outlived;
        d->met++;
        m->unmet++;
        return true;
    }
    if (d->met == 0) {
        d->outlived = true;
        return false;
    }
    d->met--;
    m->unmet--;
    return true;
}

static int write_on(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct merge *m = arg;
    struct table_file f;
    if (m->cap) {
        TRY(table_file_of(cx, &m->filer, e, &f));
        struct dead *d = dead_find(m, f.id);
        if (d && cancels(m, e, d))
            return 0;
    }
    int rc = meta_roll_add(m->cx, &m->roll, e);
    if (rc < 0)
        cx->err = m->cx->err; /* which meta_manifest hands back */
    return rc;
}

static int rewrite_one(struct merge *m, const struct manifest_file *f)
{
    TRY(meta_manifest(m->cx, &m->w->o->dir, f, write_on, m));
    return ctx_check_deadline(m->cx);
}

static int keep(struct merge *m, const struct manifest_file *f, size_t n)
{
    if (m->n_out + n > m->cap_out) {
        size_t cap = (m->n_out + n) * 2;
        struct manifest_file *wide = ARENA_ARRAY(&m->cx->arena, struct manifest_file, cap);
        if (!wide)
            return ctx_nomem(m->cx);
        for (size_t i = 0; i < m->n_out; i++)
            wide[i] = m->out[i];
        m->out = wide;
        m->cap_out = cap;
    }
    for (size_t i = 0; i < n; i++)
        m->out[m->n_out++] = f[i];
    return 0;
}

/* Rewrites those of n manifests that `which` names; NULL: all. m->stays: nothing came of it. */
static int rewrite(struct merge *m, const struct manifest_file *in, size_t n, const bool *which)
{
    size_t before = m->w->n, made_n = 0;
    struct manifest_file *made = NULL;
    for (size_t i = 0; i < n && !m->stays; i++)
        if (!which || which[i])
            TRY(rewrite_one(m, &in[i]));
    m->stays = m->stays || m->unmet > 0;
    if (!m->stays)
        TRY(meta_roll_end(m->cx, &m->roll, &made, &made_n));
    else
        meta_write_undo(m->w, before);
    return keep(m, made, made_n);
}

static int rewrite_in(struct merge *m, const struct manifest_file *in, size_t n, const bool *which)
{
    int rc = meta_roll_open(m->cx, &m->roll, m->w);
    if (rc == 0)
        rc = rewrite(m, in, n, which);
    meta_roll_done(&m->roll);
    return rc;
}

/* --- neighbours ------------------------------------------------------------------------------- */

static int merge_group(struct merge *m, const struct manifest_file *in, size_t n)
{
    if (n <= 1)
        return keep(m, in, n);
    TRY(dead_collect(m, in, n));
    if (!m->stays)
        TRY(rewrite_in(m, in, n, NULL));
    return m->stays ? keep(m, in, n) : 0;
}

static int merge_neighbours(struct merge *m, const struct manifest_file *in, size_t n)
{
    int64_t size = 0;
    size_t start = 0;
    for (size_t i = 0; i < n; i++) {
        size += size_of(&in[i]);
        if (size >= m->w->o->target_size) {
            TRY(merge_group(m, in + start, i + 1 - start));
            start = i + 1;
            size = 0;
        }
    }
    if ((int64_t)(n - start) >= m->o->min_count)
        return merge_group(m, in + start, n - start);
    return keep(m, in + start, n - start);
}

/* --- all -------------------------------------------------------------------------------------- */

static bool must_change(const struct merge *m, const struct manifest_file *f)
{
    return f->deleted > 0 || f->size < m->w->o->target_size;
}

static int look(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct merge *m = arg;
    struct table_file f;
    TRY(table_file_of(cx, &m->filer, e, &f));
    m->hit = m->hit || dead_find(m, f.id);
    return 0;
}

/* Does this large manifest, which only adds, hold a file that another deletes? */
static int holds_dead(struct merge *m, const struct manifest_file *f, bool *ret)
{
    m->hit = false;
    if (m->n_dead > 0 && partition_stats_meet(&m->partitions, &f->partition_stats))
        TRY(meta_manifest(m->cx, &m->w->o->dir, f, look, m));
    *ret = m->hit;
    return ctx_check_deadline(m->cx);
}

/* Which of all are to be rewritten; the others stay, in front. */
static int choose(struct merge *m, const struct manifest_file *in, size_t n, bool *ret,
                  size_t *ret_n)
{
    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        ret[i] = must_change(m, &in[i]);
        if (!ret[i])
            TRY(holds_dead(m, &in[i], &ret[i]));
        *ret_n += ret[i];
    }
    for (size_t i = 0; i < n; i++)
        if (!ret[i])
            TRY(keep(m, &in[i], 1));
    return 0;
}

static int rewrite_all(struct merge *m, const struct manifest_file *in, size_t n)
{
    size_t chosen;
    bool *which = ARENA_ARRAY(&m->cx->arena, bool, n + 1);
    if (!which)
        return ctx_nomem(m->cx);
    TRY(choose(m, in, n, which, &chosen));
    m->stays = chosen <= 1;
    return m->stays ? 0 : rewrite_in(m, in, n, which);
}

/* *ret: it was done. */
static int merge_all(struct merge *m, const struct manifest_file *in, size_t n, bool *ret)
{
    int64_t size = 0;
    for (size_t i = 0; i < n; i++)
        if (must_change(m, &in[i]))
            size += size_of(&in[i]);
    *ret = false;
    if (size < m->o->full_size)
        return 0;
    TRY(dead_collect(m, in, n));
    if (!m->stays)
        TRY(rewrite_all(m, in, n));
    *ret = !m->stays;
    if (m->stays)
        m->n_out = 0;
    return 0;
}

static int merge(struct merge *m, const struct manifest_file *in, size_t n)
{
    bool done;
    TRY(table_filer_init(m->cx, &m->filer, m->w->o->partition, m->o->row_ids));
    TRY(partition_stats_init(m->cx, &m->partitions, m->w->o->partition));
    TRY(merge_all(m, in, n, &done));
    return done ? 0 : merge_neighbours(m, in, n);
}

int manifest_merge(struct ctx *cx, struct meta_writer *w, const struct merge_opts *o,
                   const struct manifest_file *in, size_t n, struct manifest_file **ret,
                   size_t *ret_n)
{
    struct merge m = {.cx = cx, .w = w, .o = o};
    size_t before = w->n;
    int rc = merge(&m, in, n);
    mem_free(m.dead);
    table_filer_done(&m.filer);
    partition_stats_done(&m.partitions);
    if (rc < 0) {
        meta_write_undo(w, before);
        return rc;
    }
    *ret = m.out;
    *ret_n = m.n_out;
    return 0;
}

/* --- upkeep ----------------------------------------------------------------------------------- */

/* How many a group of neighbours becomes: a new manifest ends a little after the target size. */
static size_t left_of(int64_t size, size_t n, int64_t target)
{
    return n > 1 ? 1 + (size_t)(size / target) : n;
}

/* How many there would be after a merge of neighbours in which nothing cancels. */
static size_t left_after(const struct merge_opts *o, int64_t target, const struct manifest_file *in,
                         size_t n)
{
    int64_t size = 0;
    size_t left = 0, start = 0;
    for (size_t i = 0; i < n; i++) {
        size += size_of(&in[i]);
        if (size < target)
            continue;
        left += left_of(size, i + 1 - start, target);
        start = i + 1;
        size = 0;
    }
    size_t rest = n - start;
    return left + ((int64_t)rest >= o->min_count ? left_of(size, rest, target) : rest);
}

bool manifest_merge_due(const struct merge_opts *o, int64_t target_size,
                        const struct manifest_file *in, size_t n)
{
    int64_t target = target_size > 0 ? target_size : 1;
    size_t small = 0;
    for (size_t i = 0; i < n; i++)
        small += in[i].size < target;
    if (n <= MERGE_MANIFESTS_MAX && small < MERGE_SMALL_MAX)
        return false;
    return left_after(o, target, in, n) + MERGE_WORTH <= n;
}
