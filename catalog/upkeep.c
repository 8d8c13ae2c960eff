/* upkeep.c - many manifests become fewer, since not every writer merges them (pypaimon never does).
 *
 *   look     after each commit, from what its facts say of the head's manifests
 *   merge    off the strand: the head's lists, manifest_merge, what it wrote read back
 *   commit   a native commit of kind COMPACT without files, judged like any other (native.c): its base list
 *            is the merged manifests and whatever came after them. If one that was merged is not the
 *            table's any more (a stock writer merged, too), the work is thrown away
 *
 * The job runs on the pool of loads, which ends before that of the strands, so that it can wait for its turn
 * there. What fails is tried again a minute later at the earliest.
 *
 * Source of when and what: manifest_merge.h. Thread rule: see above; `merging` keeps it to one a branch. */
#include "catalog/upkeep.h"

#include <semaphore.h>

#include "catalog/manifest_merge.h"
#include "catalog/native_int.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"

#define ARENA_MAX   ((size_t)256 << 20)
#define DEAD_MAX    ((size_t)64 << 20) /* of memory for what the manifests delete */
#define AGAIN_MS    60000
#define TURNS_MAX   12
#define DEADLINE_MS 600000 /* a merge of the largest table takes seconds */

struct job {
    struct pool_item item; /* first */
    struct branch *br;     /* a reference */
};

/* --- is it time? ------------------------------------------------------------------------------ */

static int merge_opts_of(struct ctx *cx, const struct table_traits *t, struct merge_opts *ret)
{
    TRY(merge_options(cx, &t->schema.options, ret));
    ret->row_ids = t->row_ids;
    ret->max_bytes = DEAD_MAX;
    return 0;
}

static void sizes(const struct fact_manifest *m, size_t n, struct manifest_file *ret)
{
    for (size_t i = 0; i < n; i++)
        ret[i] = (struct manifest_file){
            .name = m[i].name, .size = m[i].size, .added = m[i].added, .deleted = m[i].deleted};
}

static bool due(struct branch *br, const struct table_traits *t, const struct commit_facts *f)
{
    struct ctx cx;
    struct merge_opts o;
    struct meta_write_opts w;
    size_t n = f->n_base + f->n_delta;
    struct manifest_file *m = mem_alloc((n + 1) * sizeof *m);
    bool yes = false;
    if (!m)
        return false;
    sizes(f->base, f->n_base, m);
    sizes(f->delta, f->n_delta, m + f->n_base);
    ctx_init(&cx, 1 << 16);
    if (merge_opts_of(&cx, t, &o) == 0 && native_write_options(&cx, br, t, &w) == 0)
        yes = manifest_merge_due(&o, w.target_size, m, n);
    ctx_done(&cx);
    mem_free(m);
    return yes;
}

/* --- the job ---------------------------------------------------------------------------------- */

struct merging { /* of one job, in its context */
    struct branch *br;
    struct table_traits *traits;
    struct head_lists *lists;
    struct merge_opts merge;
    struct meta_write_opts write;
    struct meta_writer w;
    struct commit_facts *read;
    struct native_merge result;
};

static void merging_done(struct merging *m)
{
    facts_free(m->read);
    head_lists_free(m->lists);
    traits_unref(m->traits);
}

/* What was written, read back: their sums, and what they delete. */
static int read_back(struct ctx *cx, struct merging *m)
{
    struct meta_dir dir = branch_meta_dir(m->br);
    struct native_merge *r = &m->result;
    struct facts_made made = {.base = r->out, .n_base = r->n_out};
    struct facts_opts o = branch_facts_opts(m->br, m->traits);
    struct snapshot none = {.commit_user = STR_NONE};
    CLEANUP(map_done) struct map old;
    size_t n = 0, *which = ARENA_ARRAY(&cx->arena, size_t, r->n_out + 1);
    map_init(&old);
    if (!which)
        return ctx_nomem(cx);
    for (size_t i = 0; i < r->n_in; i++)
        if (map_put(&old, r->in[i].name, m) < 0)
            return ctx_nomem(cx);
    for (size_t i = 0; i < r->n_out; i++)
        if (!map_get(&old, r->out[i].name))
            which[n++] = i;
    TRY(facts_make(cx, &dir, &none, &o, &made, &m->read));
    TRY(facts_read_base(cx, m->read, which, n));
    if (m->read->bad.p)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%.*s", STR(m->read->bad));
    r->read = m->read;
    return 0;
}

/* 1: there is something to commit; 0: not any more. */
static int merge(struct ctx *cx, struct merging *m, const struct head *h)
{
    struct native_merge *r = &m->result;
    struct manifest_file *out;
    TRY(branch_traits(cx, m->br, &m->traits));
    TRY(merge_opts_of(cx, m->traits, &m->merge));
    TRY(native_write_options(cx, m->br, m->traits, &m->write));
    TRY(head_lists_read(cx, m->br, h, &m->lists));
    if (!manifest_merge_due(&m->merge, m->write.target_size, m->lists->files, m->lists->n))
        return 0;
    meta_write_begin(&m->w, &m->write);
    TRY(manifest_merge(cx, &m->w, &m->merge, m->lists->files, m->lists->n, &out, &r->n_out));
    r->in = m->lists->files;
    r->n_in = m->lists->n;
    r->out = out;
    IGNORE(INJECT(UPKEEP_MERGED));
    return m->w.n > 0;
}

struct turn {
    struct strand_task task; /* first */
    struct ctx *cx;
    struct native *nc;
    struct native_done done;
    int rc;
    sem_t ended;
};

static void on_strand(struct strand_task *task)
{
    struct turn *t = (struct turn *)task;
    t->rc = native_run(t->cx, t->nc, &t->done);
    sem_post(&t->ended);
}

static int take_turn(struct ctx *cx, struct branch *br, struct native *nc)
{
    struct turn t = {.task = {.fn = on_strand}, .cx = cx, .nc = nc};
    sem_init(&t.ended, 0, 0);
    int rc = strand_post(&br->strand, &t.task);
    if (rc == 0) {
        while (sem_wait(&t.ended) < 0) {
        }
        rc = t.rc;
    } else {
        rc = ctx_fail(cx, rc, RES_NONE, STR_NONE, "too many changes wait for their turn");
    }
    sem_destroy(&t.ended);
    return rc;
}

static int commit(struct ctx *cx, struct merging *m)
{
    struct native *nc;
    TRY(read_back(cx, m));
    TRY(native_new_merge(cx, m->br, &m->result, &nc));
    int rc = CAT_NEED;
    for (int i = 0; i < TURNS_MAX && (rc == CAT_NEED || rc == E_NEED); i++) {
        TRY(rc == CAT_NEED ? native_prepare(cx, nc) : branch_gather(cx, m->br));
        rc = take_turn(cx, m->br, nc);
    }
    if (rc == CAT_NEED || rc == E_NEED)
        return ctx_fail(cx, E_BUSY, RES_NONE, STR_NONE, "the table changes too fast");
    return rc;
}

static int merge_and_commit(struct ctx *cx, struct branch *br)
{
    CLEANUP(merging_done) struct merging m = {.br = br};
    struct head *h = head_peek(br);
    int rc = h ? merge(cx, &m, h) : 0;
    head_unref(h);
    if (rc <= 0)
        return rc;
    rc = commit(cx, &m);
    if (rc < 0 && rc != E_UNKNOWN)
        meta_write_undo(&m.w, 0);
    if (rc == 0)
        COUNT(br->table->cat, merges_done);
    return rc;
}

static void job_run(struct pool_item *it)
{
    struct job *j = (struct job *)it;
    struct branch *br = j->br;
    struct ctx cx;
    ctx_init(&cx, ARENA_MAX);
    cx.tenant = str_of(br->table->wh->tenant);
    cx.principal = STR_LIT("latch");
    cx.deadline_ms = clock_mono_ms() + DEADLINE_MS;
    if (!atomic_load(&br->gone) && !atomic_load(&br->table->dead) &&
        merge_and_commit(&cx, br) < 0) {
        COUNT(br->table->cat, merges_given_up);
        atomic_store(&br->merge_after_ms, clock_mono_ms() + AGAIN_MS);
        log_info("catalog", "upkeep.merge_given_up", LS("table", branch_full_name(&cx, br)),
                 LZ("err", cx.err.msg));
    }
    ctx_done(&cx);
    atomic_store(&br->merging, false);
    branch_unref(br);
    mem_free(j);
}

void upkeep_look(struct branch *br, const struct table_traits *t, const struct commit_facts *f)
{
    const struct catalog *c = br->table->cat;
    if (!c->o.upkeep_merge || br->table->external || f->n_base + f->n_delta < MERGE_SMALL_MAX ||
        atomic_load(&br->merging) || clock_mono_ms() < atomic_load(&br->merge_after_ms) ||
        !due(br, t, f) || atomic_exchange(&br->merging, true))
        return;
    struct job *j = mem_zalloc(sizeof *j);
    if (j) {
        j->item.fn = job_run;
        j->br = br;
        branch_ref(br);
        if (pool_post(c->o.loads, str_of(br->table->wh->tenant), &j->item) == 0)
            return;
        branch_unref(br);
        mem_free(j);
    }
    atomic_store(&br->merging, false);
}
