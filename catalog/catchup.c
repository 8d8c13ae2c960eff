/* catchup.c - the snapshot files are the truth; this brings what we hold in line with them.
 *
 * Two stats a turn when nothing happened behind our back:
 *  1. the head's file: gone -> forked, or believe.c if the table is external; changed (inode, size,
 *     ctime) -> read it; other content is an alarm, and the file is believed (likewise).
 *  2. snapshot-(head+1): there after a crash between creation and record, or when a file-system
 *     catalog committed. It is adopted if it continues the head, and so on; if not, the branch is
 *     forked: reads go on, changes wait for a person. A file past a gap is never looked at.
 *
 * "Continues" means: all that it names is there, its base list comes to exactly the head's live files,
 * its delta can be applied to them, and its schemas exist. That takes the state of the head and the facts
 * of the snapshot, which are read off the strand (E_NEED). What else the rules have against it is only
 * listed: whoever wrote it did not ask. */
#include "catalog/commit_files.h"
#include "catalog/conflict_list.h"

#include "manifest/layout.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"

#define WHAT_SHOWN 220 /* bytes of why it does not continue the head; what to do stands behind it */

struct file_id file_id_of(const struct io_stat *st)
{
    return (struct file_id){st->ino, st->size, st->ctime_ns};
}

bool file_id_eq(const struct file_id *a, const struct file_id *b)
{
    return a->ino == b->ino && a->size == b->size && a->ctime_ns == b->ctime_ns;
}

static int snapshot_stat(struct ctx *cx, struct branch *br, int64_t id, struct io_stat *ret)
{
    struct table *t = br->table;
    str path = layout_snapshot(&cx->arena, str_of(t->dir), str_of(br->name), id);
    return path.p ? io_stat(t->io, cx, path, ret) : ctx_nomem(cx);
}

/* What cannot be a snapshot: no JSON, too large, a folder, a link. Trying again does not help. */
static bool unreadable(int rc)
{
    return rc == E_CORRUPT || rc == E_TOOBIG || rc == E_INVAL || rc == E_UNSUPPORTED;
}

void branch_file_seen(struct ctx *cx, struct branch *br, int64_t id)
{
    struct io_stat st = {0};
    if (snapshot_stat(cx, br, id, &st) < 0)
        ctx_reset_err(cx); /* an identity that fits nothing: the next turn reads the file */
    br->file = file_id_of(&st);
}

int snapshot_load(struct ctx *cx, struct branch *br, int64_t id, struct snapshot *ret)
{
    struct table *t = br->table;
    CLEANUP(buf_done) struct buf b = {0};
    struct snapshot s;
    str path = layout_snapshot(&cx->arena, str_of(t->dir), str_of(br->name), id);
    if (!path.p)
        return ctx_nomem(cx);
    int rc = io_read(t->io, cx, path, t->cat->o.snapshot_max_bytes, &b);
    if (rc == 0)
        rc = snapshot_decode_file(cx, buf_str(&b), path, &s);
    if (unreadable(rc)) /* E_UNSUPPORTED too: the version of a later Paimon */
        return cx->err.code = E_CORRUPT;
    if (rc != 0)
        return rc;
    if (s.id != id)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%.*s holds snapshot %lld", STR(path),
                        (long long)s.id);
    *ret = s;
    return 0;
}

/* From here on no change is taken, until a later turn finds the reason gone. */
static void fork_found(struct ctx *cx, struct branch *br, int64_t id, const char *why)
{
    CLEANUP(buf_done) struct buf b = {0};
    buf_addf(&b, "snapshot-%lld %s", (long long)id, why);
    mem_free(br->fork_why);
    br->fork_why = buf_take(&b, NULL);
    br->forked = true;
    ctx_reset_err(cx);
}

int branch_schema_known(struct ctx *cx, struct branch *br, int64_t schema_id, bool *ret)
{
    struct table *t = br->table;
    struct io_stat st;
    str path = layout_schema(&cx->arena, str_of(t->dir), str_of(br->name), schema_id);
    int rc = path.p ? io_stat(t->io, cx, path, &st) : ctx_nomem(cx);
    *ret = rc == 0;
    if (rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    return 0;
}

/* --- does it continue the head? ---------------------------------------------------------------- */

struct newcomer { /* the snapshot after the head, and what is known of it */
    struct snapshot snap;
    struct commit_facts *facts;
    struct table_state *partial; /* of a table too large for a state */
    struct table_traits *traits;
    struct verdict verdict;
};

static void newcomer_done(struct newcomer *n)
{
    facts_free(n->facts);
    state_free(n->partial);
    traits_unref(n->traits);
}

/* E_NEED until facts and state are there. E_CORRUPT: the head's own files. */
static int known(struct ctx *cx, struct branch *br, struct newcomer *n, struct table_state **ret)
{
    int rc = branch_state(cx, br, ret);
    if (rc == E_CORRUPT || rc == E_NEED)
        return rc;
    TRY(rc);
    if (!branch_next_take(br, text_of(n->snap.raw), &n->facts, &n->partial))
        return E_NEED;
    if (rc == STATE_STREAM && !n->partial && !n->facts->bad.p)
        return E_NEED;
    if (rc == STATE_STREAM)
        *ret = n->partial;
    return 0;
}

/* The schemas that it names, one answer each. */
int branch_schemas_seen(struct ctx *cx, struct branch *br, const struct commit_facts *f,
                        enum schema_seen **ret)
{
    enum schema_seen *seen = ARENA_ARRAY(&cx->arena, enum schema_seen, f->n_schema_ids + 1);
    if (!seen)
        return ctx_nomem(cx);
    for (size_t i = 0; i < f->n_schema_ids; i++) {
        bool there;
        TRY(branch_schema_known(cx, br, f->schema_ids[i], &there));
        seen[i] = there ? SCHEMA_THERE : SCHEMA_ABSENT;
    }
    *ret = seen;
    return 0;
}

/* Would readers see a table after it? */
static bool breaks(enum conflict_code code)
{
    return code == CONFLICT_MANIFEST_BAD || code == CONFLICT_FILE_GONE ||
           code == CONFLICT_FILE_TWICE || code == CONFLICT_SCHEMA_UNKNOWN;
}

static int judge(struct ctx *cx, struct branch *br, struct newcomer *n,
                 const struct table_state *st)
{
    struct conflict_evidence ev = {.restore = {.known = true, .assumed = true}};
    struct conflict_rules rules;
    enum schema_seen *seen = NULL;
    TRY(branch_traits(cx, br, &n->traits));
    TRY(branch_rules(cx, br, n->traits, &rules));
    rules.verify = VERIFY_OFF; /* its writer has told others already that they are there */
    if (!n->facts->bad.p)
        TRY(branch_schemas_seen(cx, br, n->facts, &seen));
    ev.schemas = seen;
    return conflict_check(cx, st, n->facts, &rules, &ev, &n->verdict);
}

/* *ret_why: what is wrong, NULL if it continues the head. */
static int continues(struct ctx *cx, struct branch *br, struct newcomer *n, const char **ret_why)
{
    struct table_state *st;
    str why = STR_NONE;
    *ret_why = NULL;
    int rc = known(cx, br, n, &st);
    if (rc == E_CORRUPT) {
        TRY(ctx_text(cx, &why, "cannot be compared with the head: %s", cx->err.msg));
        ctx_reset_err(cx);
        *ret_why = why.p;
        return 0;
    }
    TRY(rc);
    TRY(judge(cx, br, n, st));
    bool need = n->verdict.kind == VERDICT_NEED;
    atomic_store(&br->next_dead, need && n->verdict.need.n_manifests);
    if (need)
        return E_NEED;
    if (n->verdict.kind == VERDICT_REFUSE && breaks(n->verdict.refusal.code)) {
        str what = str_shortened(&cx->arena, n->verdict.refusal.what, WHAT_SHOWN);
        if (!what.p)
            return ctx_nomem(cx);
        TRY(ctx_text(cx, &why,
                     "was written by somebody else and does not continue the head (%.*s); move the "
                     "file away, or put the head's successor there",
                     STR(what)));
        *ret_why = why.p;
    }
    return 0;
}

static int sync_quiet(struct ctx *cx, struct io *io, str path)
{
    ctx_reset_err(cx);
    int rc = io_sync(io, cx, &path, 1);
    if (rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    return 0;
}

/* What it names, since its writer may have died before that was durable. What is not there by now is not
 * our doing: readers find out. */
static int make_durable(struct ctx *cx, struct branch *br, struct newcomer *n)
{
    struct table *t = br->table;
    struct new_files nf;
    if (t->cat->o.sync == SYNC_OFF)
        return 0;
    unsigned what = NEW_SKIP_ODD | (t->cat->o.sync == SYNC_ALL ? NEW_DATA : 0);
    TRY(commit_new_files(cx, br, n->traits, &n->snap, n->facts, br->state ? br->state : n->partial,
                         what, &nf));
    int rc = io_sync(t->io, cx, nf.own, nf.n_own);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    for (size_t i = 0; rc == E_NOTFOUND && i < nf.n_own; i++)
        TRY(sync_quiet(cx, t->io, nf.own[i]));
    for (size_t i = 0; i < nf.n_elsewhere; i++)
        TRY(sync_quiet(cx, nf.elsewhere[i].io, nf.elsewhere[i].path));
    return 0;
}

/* The head becomes what the file says: made durable (its writer may have died before that), shown,
 * recorded. 1: did; 0: the file is gone by now. */
static int take(struct ctx *cx, struct branch *br, const struct snapshot *s, const char *action,
                const struct io_stat *st, const struct commit_facts *f)
{
    struct table *t = br->table;
    str path = layout_snapshot(&cx->arena, str_of(t->dir), str_of(br->name), s->id);
    if (!path.p)
        return ctx_nomem(cx);
    int rc = io_sync(t->io, cx, &path, 1);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return 0;
    }
    TRY(rc);
    struct totals tot = f ? totals_after(br, f) : TOTALS_UNKNOWN;
    struct commit_pending *p = pending_new(cx, action, s, &tot, br->head ? br->head->id : 0);
    if (!p)
        return ctx_nomem(cx);
    rc = f ? commit_deltas(cx, br, f, p) : 0;
    if (rc < 0) {
        pending_free(p);
        return rc;
    }
    br->file = file_id_of(st);
    branch_publish(br, head_ref(p->head));
    if (f)
        branch_state_forward(cx, br, f);
    else
        branch_state_drop(br);
    TRY(branch_record(cx, br, p));
    return 1;
}

static int unreadable_found(struct ctx *cx, struct branch *br, int64_t id)
{
    fork_found(cx, br, id, "cannot be read as a snapshot; move the file away");
    return 0;
}

/* The files of an external table are the clients' to change: what they come to is believed, if there is
 * anything. */
static int head_gone(struct ctx *cx, struct branch *br)
{
    static const char back[] = "put the file back (what GET snapshot answers under "
                               "snapshot.snapshot is its text)";
    str why = STR_NONE, text;
    int believed = br->table->external ? branch_believe(cx, br, &why) : 0;
    if (believed != 0)
        return believed < 0 ? believed : 0;
    if (why.p) {
        why = str_shortened(&cx->arena, why, WHAT_SHOWN);
        if (!why.p)
            return ctx_nomem(cx);
        TRY(ctx_text(cx, &text,
                     "is the head and its file is gone, and no other can be the head (%.*s); %s",
                     STR(why), back));
    } else {
        TRY(ctx_text(cx, &text, "is the head and its file is gone; %s", back));
    }
    fork_found(cx, br, br->head->id, text.p);
    return 0;
}

static int head_damaged(struct ctx *cx, struct branch *br)
{
    fork_found(cx, br, br->head->id, "is the head and was damaged; put the file back");
    return 0;
}

/* The file of the head is another than the one recorded. What was answered to the commit that wrote
 * the old one is forgotten. */
static int head_changed(struct ctx *cx, struct branch *br, const struct io_stat *st)
{
    struct head *h = br->head;
    struct snapshot s = {0};
    int rc = snapshot_load(cx, br, h->id, &s);
    if (rc == E_NOTFOUND)
        return head_gone(cx, br);
    if (rc == E_CORRUPT)
        return head_damaged(cx, br);
    TRY(rc);
    if (str_eq(s.raw, h->json)) { /* touched, copied, restored: the same */
        br->file = file_id_of(st);
        return 0;
    }
    COUNT(br->table->cat, head_changed);
    log_warn("catalog", "head.changed", LS("table", branch_full_name(cx, br)),
             LI("snapshot", h->id), LS("uuid", s.uuid), LS("uuid_before", h->uuid));
    if (br->table->external) { /* rolled back and committed to: what is before it may be new, too */
        str why;
        int believed = branch_believe(cx, br, &why);
        if (believed != 0)
            return believed < 0 ? believed : 0;
    }
    outcome_ring_forget(&br->recent, h->id - 1);
    return take(cx, br, &s, "snapshot.believe", st, NULL);
}

static int head_check(struct ctx *cx, struct branch *br)
{
    struct io_stat st = {0};
    if (!br->head)
        return 0;
    int rc = snapshot_stat(cx, br, br->head->id, &st);
    if (rc == E_NOTFOUND)
        return head_gone(cx, br);
    if (unreadable(rc))
        return head_damaged(cx, br);
    TRY(rc);
    struct file_id f = file_id_of(&st);
    return file_id_eq(&f, &br->file) ? 0 : head_changed(cx, br, &st);
}

/* Nobody posted it, least of all whoever came by now; and there is nothing to do about it. */
static void list_it(struct ctx *cx, struct branch *br, const struct newcomer *n)
{
    struct refusal r = n->verdict.refusal;
    str who = cx->principal;
    r.message = r.what;
    cx->principal = STR_NONE;
    conflict_record(cx, br, &r, &n->snap, /* accepted= */ true);
    cx->principal = who;
}

/* The newcomer is there and can be read. */
static int adopt(struct ctx *cx, struct branch *br, struct newcomer *n, const struct io_stat *st)
{
    const char *why;
    TRY(continues(cx, br, n, &why));
    if (why) {
        fork_found(cx, br, n->snap.id, why);
        return 0;
    }
    TRY(make_durable(cx, br, n));
    int taken = take(cx, br, &n->snap, "snapshot.adopt", st, n->facts);
    if (taken <= 0)
        return taken;
    COUNT(br->table->cat, adopted);
    if (n->verdict.kind == VERDICT_REFUSE)
        list_it(cx, br, n);
    log_info("catalog", "snapshot.adopted", LS("table", branch_full_name(cx, br)),
             LI("snapshot", n->snap.id), LS("uuid", n->snap.uuid));
    return 1;
}

/* Adopts the file after the head. 1: did; 0: there is none, or the branch is forked now. */
static int adopt_next(struct ctx *cx, struct branch *br)
{
    int64_t id = (br->head ? br->head->id : 0) + 1;
    struct io_stat st = {0};
    CLEANUP(newcomer_done) struct newcomer n = {0};
    int rc = snapshot_stat(cx, br, id, &st);
    if (rc == 0)
        rc = snapshot_load(cx, br, id, &n.snap);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return 0;
    }
    if (unreadable(rc))
        return unreadable_found(cx, br, id);
    TRY(rc);
    return adopt(cx, br, &n, &st);
}

int branch_catch_up(struct ctx *cx, struct branch *br)
{
    bool was = br->forked;
    br->forked = false;
    int rc = head_check(cx, br);
    while (rc >= 0 && !br->forked) {
        rc = adopt_next(cx, br);
        if (rc == 0)
            break;
    }
    if (rc < 0) {
        br->forked = was;
        /* What is unknown is whether somebody else's snapshot is recorded; the caller's request has
         * done nothing. */
        return rc == E_UNKNOWN ? (cx->err.code = E_BUSY) : rc;
    }
    if (br->forked == was)
        return 0;
    log_warn("catalog", was ? "branch.whole" : "branch.forked",
             LS("table", branch_full_name(cx, br)), LZ("why", was ? "" : br->fork_why));
    atomic_fetch_add(&br->table->cat->n_forked, was ? -1 : 1);
    if (!was)
        COUNT(br->table->cat, forked);
    return 0;
}
