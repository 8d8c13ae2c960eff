/* commit_prepare.c - step 4a: what a commit needs to know that does not depend on the branch's order.
 *
 * The verdict does not rest on anything seen here that may have changed: what can change is named in
 * `struct evidence` with the epoch and the count of outcomes it was seen at. What files say does not
 * change. May run again, when a turn says that it needs more.
 *
 * Thread rule: any thread that may block; one at a time has a commit. */
#include "catalog/commit_int.h"
#include "catalog/restore.h"

#include "manifest/layout.h"
#include "proto/base/inject.h"

/* The store knows the recent ones, the files the older. */
int commit_look_back(struct ctx *cx, struct commit *cm)
{
    struct branch *br = cm->br;
    struct outcome o;

    int64_t epoch = atomic_load(&br->epoch);
    if (epoch != cm->ev.epoch) /* other snapshots are kept now */
        cm->ev.restore = (struct restore_sums){0};
    cm->ev.epoch = epoch;
    cm->ev.seq = atomic_load_explicit(&br->recent.seq, memory_order_acquire);
    int rc = STORE(br->table->cat->o.store, outcome_find, cx, str_of(br->table->id),
                   str_of(br->name), cm->key, &o);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    cm->ev.known = rc == 0;
    cm->ev.known_id = rc == 0 ? o.snapshot_id : 0;
    ctx_reset_err(cx);
    cm->ev.looked = true;
    cm->ev.file_looked = false;
    return 0;
}

/* Ids up to the head whose outcome is not recorded any more: the file tells, while it exists. */
static int look_into_file(struct ctx *cx, struct commit *cm, const struct head *h)
{
    struct snapshot there;
    if (cm->ev.known || !h)
        return 0;
    cm->ev.file_looked = true;
    if (cm->snap.id > h->id)
        return 0;
    int rc = snapshot_load(cx, cm->br, cm->snap.id, &there);
    if (rc == 0)
        cm->ev.known = snapshot_same(&cm->snap, &there);
    else if (rc != E_NOTFOUND && rc != E_CORRUPT)
        return rc;
    ctx_reset_err(cx);
    return 0;
}

int commit_traits(struct ctx *cx, struct commit *cm)
{
    if (!cm->traits)
        TRY(branch_traits(cx, cm->br, &cm->traits));
    return branch_rules(cx, cm->br, cm->traits, &cm->rules);
}

static int read_facts(struct ctx *cx, struct commit *cm, const struct head *h)
{
    struct branch *br = cm->br;
    struct meta_dir dir = branch_meta_dir(br);
    TRY(commit_traits(cx, cm));
    struct facts_opts o = branch_facts_opts(br, cm->traits);
    o.known_index = h && h->index_manifest.len ? h->index_manifest : STR_NONE;
    return facts_read(cx, &dir, &cm->snap, &o, &cm->facts);
}

/* What the last verdict asked for, of what is not read anyhow. */
static int read_needed(struct ctx *cx, struct commit *cm)
{
    struct need need = cm->need;
    cm->need = (struct need){0};
    TRY(facts_read_base(cx, cm->facts, need.manifests, need.n_manifests));
    if (need.restore)
        TRY(restore_gather(cx, cm->br, cm->facts, &cm->ev.restore));
    return need.index ? facts_read_index(cx, cm->facts) : 0;
}

/* Of a table too large for a state: what is live of the files that the commit is about. */
static int read_partial(struct ctx *cx, struct commit *cm, const struct head *h)
{
    if (!atomic_load(&cm->br->streaming) || (cm->partial && cm->partial_text == head_text(h)))
        return 0;
    state_free(cm->partial);
    cm->partial = NULL;
    cm->damage = STR_NONE;
    int rc = branch_state_for(cx, cm->br, h, cm->facts, &cm->partial);
    if (rc == E_CORRUPT || rc == E_UNSUPPORTED) {
        cm->damage = str_dup(&cx->arena, str_of(cx->err.msg));
        if (!cm->damage.p)
            return ctx_nomem(cx);
        ctx_reset_err(cx);
        rc = 0;
    }
    TRY(rc);
    cm->partial_text = head_text(h);
    return 0;
}

static int look_at_statistics(struct ctx *cx, struct commit *cm, const struct head *h)
{
    struct table *t = cm->br->table;
    struct io_stat st;
    cm->ev.missing = STR_NONE;
    if (!cm->snap.statistics.len || (h && str_eq(cm->snap.statistics, h->statistics)))
        return 0;
    str path = layout_statistics(&cx->arena, str_of(t->dir), cm->snap.statistics);
    int rc = path.p ? io_stat(t->io, cx, path, &st) : ctx_nomem(cx);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    if (rc == E_NOTFOUND || st.is_dir)
        cm->ev.missing = path;
    ctx_reset_err(cx);
    return 0;
}

int commit_gather(struct ctx *cx, struct commit *cm, const struct head *h)
{
    struct branch *br = cm->br;
    TRY(read_needed(cx, cm));
    TRY(branch_schemas_seen(cx, br, cm->facts, &cm->ev.schemas));
    if (!cm->ev.files)
        TRY(branch_file_evidence(cx, br, cm->traits, cm->facts, &cm->ev.files));
    return read_partial(cx, cm, h);
}

/* Nobody has looked at it since the start: a branch that others made in the files has no schema that we
 * know before its first turn takes it in. */
static bool unseen(struct branch *br)
{
    pthread_mutex_lock(&br->mu);
    bool is = !br->settled && !br->head;
    pthread_mutex_unlock(&br->mu);
    return is;
}

static int gather(struct ctx *cx, struct commit *cm, const struct head *h)
{
    bool first = unseen(cm->br);
    TRY(warehouse_space(cx, cm->br->table->wh));
    int rc = cm->facts ? 0 : read_facts(cx, cm, h);
    if (rc == E_NOTFOUND && first) { /* the turn says what there is, and asks again */
        ctx_reset_err(cx);
        return 0;
    }
    TRY(rc);
    TRY(look_at_statistics(cx, cm, h));
    if (!cm->facts->bad.p)
        TRY(commit_gather(cx, cm, h));
    cm->ev.gathered = true;
    return 0;
}

/* Is it the head's successor, made on the head? */
bool commit_base_right(const struct commit *cm, const struct head *h)
{
    const struct snapshot *s = &cm->snap;
    if (s->id != (h ? h->id : 0) + 1)
        return false;
    if (cm->in.base_uuid.p)
        return h && h->uuid.len > 0 && str_eq(cm->in.base_uuid, h->uuid);
    return !h || h->uuid.len == 0 || s->uuid.len == 0;
}

int commit_prepare(struct ctx *cx, struct commit *cm)
{
    TRY(commit_look_back(cx, cm));
    struct head *h = head_peek(cm->br);
    int rc = look_into_file(cx, cm, h);
    /* A base that has moved already is answered false; nothing else about it matters. A branch
     * that is not loaded yet may have any head. */
    if (rc == 0 && !cm->ev.known && (!h || commit_base_right(cm, h)))
        rc = gather(cx, cm, h);
    head_unref(h);
    IGNORE(INJECT(COMMIT_PREPARED));
    return rc;
}
