/* restore.c - see restore.h.
 *
 * Snapshots and tags are files that stock clients write and expire behind our back, so the folders are
 * read each time. A sum of a manifest is kept for the time of one call.
 *
 * Source: paimon-core's FileStoreCommitImpl.rollbackToAsLatest: the snapshot it writes has the schema,
 * index manifest and total record count of its target; its delta deletes what the target has not, then
 * adds what only the target has, files at another level among both.
 * Thread rule: any that may block. */
#include "catalog/restore.h"

#include <stdlib.h>

#include "catalog/catalog_int.h"
#include "manifest/layout.h"

struct target { /* texts in the caller's arena */
    int64_t id;
    str base, delta;
    struct opt_i64 base_size, delta_size;
};
struct search {
    struct ctx *cx;
    struct branch *br;
    const struct commit_facts *f;
    struct target *v;
    size_t n;
    struct table_filer filer;
    struct map sums; /* name of a manifest -> uint64_t, both in the arena */
};

static void search_done(struct search *s)
{
    table_filer_done(&s->filer);
    map_done(&s->sums);
}

/* Failures that say nothing about the file. */
static bool fatal(int rc)
{
    return rc == E_NOMEM || rc == E_IO || rc == E_BUSY || rc == E_TIMEOUT;
}

/* --- which ------------------------------------------------------------------------------------ */

static bool fits(const struct commit_facts *f, const struct snapshot *s)
{
    return s->total_record_count == f->total_records && str_eq(s->index_manifest, f->index_name);
}

static int add(struct search *w, const struct snapshot *s)
{
    struct target t = {.id = s->id, .base_size = s->base_size, .delta_size = s->delta_size};
    t.base = str_dup(&w->cx->arena, s->base_manifest_list);
    t.delta = str_dup(&w->cx->arena, s->delta_manifest_list);
    if (!t.base.p || !t.delta.p)
        return ctx_nomem(w->cx);
    w->v[w->n++] = t;
    return 0;
}

/* A tag, or, without a name, a snapshot; in a context of its own, so that however many there are, they
 * take no more memory than one. */
static int look(struct search *w, str tag, int64_t id)
{
    struct ctx own;
    struct snapshot s;
    ctx_init(&own, w->cx->arena.max);
    own.deadline_ms = w->cx->deadline_ms;
    int rc = ctx_check_deadline(&own);
    if (rc == 0)
        rc = tag.p ? tag_load(&own, w->br, tag, &s) : snapshot_load(&own, w->br, id, &s);
    if (rc == 0 && fits(w->f, &s)) {
        rc = add(w, &s);
    } else if (fatal(rc)) {
        w->cx->err = own.err;
    } else {
        rc = 0; /* expired since it was listed, damaged, or another */
    }
    ctx_done(&own);
    return rc;
}

static int by_age(const void *a, const void *b)
{
    const struct target *x = a, *y = b;
    if (x->id != y->id)
        return x->id > y->id ? -1 : 1;
    return str_cmp(x->delta, y->delta);
}

static int find(struct search *w)
{
    struct ctx *cx = w->cx;
    struct ids ids;
    struct io_entry *e;
    size_t n, k = 0;
    str dir = str_of(w->br->table->dir), branch = str_of(w->br->name), tag;
    TRY(branch_ids(cx, w->br, layout_snapshot_dir(&cx->arena, dir, branch), layout_snapshot_id, 0,
                   w->f->id - 1, &ids));
    TRY(branch_files(cx, w->br, layout_tag_dir(&cx->arena, dir, branch), &e, &n));
    ids.n = ids.n < RESTORE_LOOK_MAX ? ids.n : RESTORE_LOOK_MAX;
    w->v = ARENA_ARRAY(&cx->arena, struct target, ids.n + n + 1);
    if (!w->v)
        return ctx_nomem(cx);
    for (size_t i = 0; i < ids.n; i++)
        TRY(look(w, STR_NONE, ids.at[i]));
    for (size_t i = 0; i < n; i++)
        if (layout_tag_name(e[i].name, &tag))
            TRY(look(w, tag, 0));
    qsort(w->v, w->n, sizeof *w->v, by_age);
    for (size_t i = 0; i < w->n; i++) /* a snapshot and its tags are one */
        if (k == 0 || !str_eq(w->v[k - 1].delta, w->v[i].delta))
            w->v[k++] = w->v[i];
    w->n = k < RESTORE_TARGETS_MAX ? k : RESTORE_TARGETS_MAX;
    return 0;
}

/* --- what they come to ------------------------------------------------------------------------ */

struct adding {
    struct table_filer *filer;
    uint64_t sum;
};

static int entry(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct adding *a = arg;
    struct table_file f;
    TRY(table_file_of(cx, a->filer, e, &f));
    a->sum += e->kind == FILE_ADD ? f.id : -f.id;
    return 0;
}

static int add_manifest(struct ctx *own, struct search *w, const struct manifest_file *m,
                        uint64_t *sum)
{
    uint64_t *known = map_get(&w->sums, m->name);
    if (!known) {
        struct adding a = {&w->filer, 0};
        TRY(meta_manifest(own, &w->f->dir, m, entry, &a));
        TRY(ctx_check_deadline(own));
        str name = str_dup(&w->cx->arena, m->name);
        known = ARENA_NEW(&w->cx->arena, uint64_t);
        if (!name.p || !known || map_put(&w->sums, name, known) < 0)
            return ctx_nomem(own);
        *known = a.sum;
    }
    *sum += *known;
    return 0;
}

static int add_list(struct ctx *own, struct search *w, str name, struct opt_i64 size, uint64_t *sum)
{
    struct manifest_file *m;
    size_t n;
    TRY(meta_list(own, &w->f->dir, name, size, &m, &n));
    for (size_t i = 0; i < n; i++)
        TRY(add_manifest(own, w, &m[i], sum));
    return 0;
}

/* 1: *ret is its sum; 0: its files are not all there any more. */
static int sum_of(struct search *w, const struct target *t, uint64_t *ret)
{
    struct ctx own;
    uint64_t sum = 0;
    ctx_init(&own, META_FILE_MAX * 2);
    own.deadline_ms = w->cx->deadline_ms;
    int rc = add_list(&own, w, t->base, t->base_size, &sum);
    if (rc == 0)
        rc = add_list(&own, w, t->delta, t->delta_size, &sum);
    if (fatal(rc))
        w->cx->err = own.err;
    ctx_done(&own);
    if (fatal(rc))
        return rc;
    *ret = sum;
    return rc == 0;
}

static int gather(struct search *w, struct restore_sums *ret)
{
    struct ctx *cx = w->cx;
    size_t n = 0;
    TRY(table_filer_init(cx, &w->filer, &w->f->filer.partitions.type, w->f->filer.with_row_id));
    TRY(find(w));
    uint64_t *v = ARENA_ARRAY(&cx->arena, uint64_t, w->n + 1);
    if (!v)
        return ctx_nomem(cx);
    for (size_t i = 0; i < w->n; i++) {
        int rc = sum_of(w, &w->v[i], &v[n]);
        TRY(rc);
        n += (size_t)rc;
    }
    *ret = (struct restore_sums){.known = true, .v = v, .n = n};
    return 0;
}

int restore_gather(struct ctx *cx, struct branch *br, const struct commit_facts *f,
                   struct restore_sums *ret)
{
    *ret = (struct restore_sums){.known = true};
    if (f->kind != COMMIT_OVERWRITE)
        return 0;
    CLEANUP(search_done) struct search w = {.cx = cx, .br = br, .f = f};
    map_init(&w.sums);
    return gather(&w, ret);
}
