/* commit_make.c - steps 5 to 7: a commit that was judged becomes the snapshot after the head.
 *
 * Invariants
 *  - Step 5 is the commit. After it the head in memory is the new one, whatever 6 does.
 *  - All memory that 6 needs is taken before 5.
 *
 * Thread rule: the branch's strand. */
#include "catalog/commit_int.h"
#include "catalog/upkeep.h"

#include "manifest/layout.h"
#include "proto/base/hash.h"
#include "proto/base/inject.h"

/* The name was taken between catch-up and link: catch up again, then see whether that was us. By
 * this very text (NFS may tell so of our own link) it is CREATED, with its statistics. */
static int somebody_was_first(struct ctx *cx, struct commit *cm, str path)
{
    struct branch *br = cm->br;
    struct snapshot there;
    int rc = snapshot_load(cx, br, cm->snap.id, &there);
    if (rc == 0 && str_eq(cm->snap.raw, there.raw)) {
        rc = io_sync(br->table->io, cx, &path, 1);
        return rc < 0 ? (cx->err.code = E_UNKNOWN) : CREATED;
    }
    if (rc < 0 && rc != E_CORRUPT && rc != E_NOTFOUND) /* whose it is cannot be told */
        return cx->err.code = E_UNKNOWN;
    bool same = rc == 0 && snapshot_same(&cm->snap, &there);
    ctx_reset_err(cx);
    rc = branch_catch_up(cx, br);
    /* It is ours, and told as such: it must not end in "nothing was done". */
    if (rc == E_NEED && same)
        rc = branch_gather(cx, br) < 0 ? E_IO : branch_catch_up(cx, br);
    if (rc < 0)
        return same ? (cx->err.code = E_UNKNOWN) : rc;
    return outcome_ring_find(&br->recent, cm->key) ? ADOPTED : LOST;
}

/* Takes those that are still to be made off the list. */
static int leave_out(struct ctx *cx, const struct commit *cm, struct new_files *nf)
{
    CLEANUP(map_done) struct map made;
    size_t n = 0;
    map_init(&made);
    for (size_t i = 0; i < cm->n_make; i++)
        if (map_put(&made, cm->make[i].path, nf) < 0)
            return ctx_nomem(cx);
    for (size_t i = 0; i < nf->n_own; i++)
        if (!map_get(&made, nf->own[i]))
            nf->own[n++] = nf->own[i];
    nf->n_own = n;
    return 0;
}

/* What io_put_after is to care for; of what is elsewhere this is done here. */
static int find_needs(struct ctx *cx, struct commit *cm, struct io_needs *ret)
{
    struct branch *br = cm->br;
    enum commit_sync sync = br->table->cat->o.sync;
    struct new_files nf = {0};
    *ret = (struct io_needs){.make = cm->make, .n_make = cm->n_make};
    if (sync == SYNC_OFF)
        return 0;
    TRY(commit_new_files(cx, br, cm->traits, &cm->snap, cm->facts,
                         br->state ? br->state : cm->partial, sync == SYNC_ALL ? NEW_DATA : 0,
                         &nf));
    if (cm->n_make)
        TRY(leave_out(cx, cm, &nf));
    ret->there = nf.own;
    ret->n_there = nf.n_own;
    for (size_t i = 0; i < nf.n_elsewhere; i++)
        TRY(io_sync(nf.elsewhere[i].io, cx, &nf.elsewhere[i].path, 1));
    return 0;
}

/* 5. An enum made, or an error; E_UNKNOWN: the file may be there. */
static int create(struct ctx *cx, struct commit *cm)
{
    struct branch *br = cm->br;
    struct table *t = br->table;
    enum io_put_result put;
    str path = layout_snapshot(&cx->arena, str_of(t->dir), str_of(br->name), cm->snap.id);
    struct io_needs needs;

    if (!path.p)
        return ctx_nomem(cx);
    TRY(find_needs(cx, cm, &needs));
    int rc = io_put_after(t->io, cx, &needs, path, cm->snap.raw, &put);
    cm->made = rc == 0 || rc == E_UNKNOWN;
    TRY(rc);
    return put == IO_PUT_CREATED ? CREATED : somebody_was_first(cx, cm, path);
}

/* A file or directory that was there a moment ago: the table was dropped, or somebody cleans. */
static int create_checked(struct ctx *cx, struct commit *cm)
{
    int rc = create(cx, cm);
    if (rc != E_NOTFOUND)
        return rc;
    if (atomic_load(&cm->br->table->dead)) {
        ctx_reset_err(cx);
        return branch_gone(cx, cm->br);
    }
    struct verdict v;
    str why, what = str_shortened(&cx->arena, str_of(cx->err.msg), REASON_SHOWN);
    if (!what.p)
        return ctx_nomem(cx);
    TRY(ctx_text(cx, &why,
                 "manifest-bad: a file that the commit names is gone (%.*s); nothing was "
                 "committed: write it again",
                 STR(what)));
    commit_manifest_bad(cx, &v, why);
    return commit_refused(cx, cm, &v.refusal);
}

static int perhaps(struct ctx *cx, struct commit *cm)
{
    after_create_failed(cx, cm->br);
    ctx_prefix(cx, "snapshot %lld may be committed, read the latest snapshot to find out",
               (long long)cm->snap.id);
    return cx->err.code = E_UNKNOWN;
}

/* 6 and 7, once the file is there. */
static int make_known(struct ctx *cx, struct commit *cm, struct commit_pending *p)
{
    struct branch *br = cm->br;
    IGNORE(INJECT(COMMIT_CREATED));
    branch_file_seen(cx, br, cm->snap.id);
    branch_publish(br, head_ref(p->head));
    branch_state_forward(cx, br, cm->facts);
    int rc = branch_record(cx, br, p);
    /* The table was dropped: there is nothing left to commit to. An external one's files stay, and with
     * them the snapshot. */
    if (rc == E_NOTFOUND && br->table->external) {
        ctx_prefix(cx, "snapshot %lld is in the files of the table", (long long)cm->snap.id);
        return cx->err.code = E_UNKNOWN;
    }
    if (rc == E_NOTFOUND)
        return rc;
    if (rc < 0)
        return perhaps(cx, cm);
    IGNORE(INJECT(COMMIT_RECORDED));
    branch_hint(cx, br);
    upkeep_look(br, cm->traits, cm->facts);
    IGNORE(INJECT(COMMIT_HINTED));
    return 0;
}

/* The disk said no a moment ago, or that it does not know: the next turn looks. */
static int make_unsure(struct ctx *cx, struct commit *cm, struct commit_pending *p)
{
    p->unsure = true;
    cm->br->pending = p;
    branch_unsettle(cm->br);
    return perhaps(cx, cm);
}

int commit_make(struct ctx *cx, struct commit *cm)
{
    struct branch *br = cm->br;
    struct totals tot = totals_after(br, cm->facts);
    struct commit_pending *p =
        pending_new(cx, "commit", &cm->snap, &tot, br->head ? br->head->id : 0);
    if (!p)
        return ctx_nomem(cx);
    int rc = commit_deltas(cx, br, cm->facts, p);
    if (rc == 0)
        rc = create_checked(cx, cm);
    if (rc == CREATED) {
        TRY(make_known(cx, cm, p));
        return CREATED;
    }
    if (rc == E_UNKNOWN && !br->pending)
        return make_unsure(cx, cm, p);
    pending_free(p);
    return rc;
}
