/* catchup.c - the snapshot files are the truth; this brings what we hold in line with them.
 *
 * Two stats a turn when nothing happened behind our back:
 *  1. the head's file: gone -> forked; changed (inode, size, ctime) -> read it; other content is an
 *     alarm, and the file is believed.
 *  2. snapshot-(head+1): there after a crash between creation and record, or when a file-system
 *     catalog committed. It is adopted if it continues the head, and so on; if not, the branch is
 *     forked: reads go on, changes wait for a person. A file past a gap is never looked at.
 *
 * "Continues" as long as manifests are not read: its total is the head's plus its delta, its two
 * lists are not the head's, and its schema exists. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"

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

/* NULL: it does, as far as the two snapshots tell. Else what is wrong. */
static const char *continues(const struct head *h, const struct snapshot *s)
{
    int64_t total;
    if (__builtin_add_overflow(h ? h->total_records : 0, s->delta_record_count, &total) ||
        total != s->total_record_count)
        return "was written by somebody else and does not continue the head: its total is not the "
               "head's plus its delta; move the file away, or put the head's successor there";
    if (h && (str_eq(s->base_manifest_list, h->base_list) ||
              str_eq(s->delta_manifest_list, h->delta_list)))
        return "was written by somebody else and names the head's own manifest lists; move the "
               "file away";
    return NULL;
}

/* The head becomes what the file says: made durable (its writer may have died before that), shown,
 * recorded. 1: did; 0: the file is gone by now. */
static int take(struct ctx *cx, struct branch *br, const struct snapshot *s, const char *action,
                const struct io_stat *st)
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
    struct commit_pending *p =
        pending_new(cx, action, s, &TOTALS_UNKNOWN, br->head ? br->head->id : 0);
    if (!p)
        return ctx_nomem(cx);
    br->file = file_id_of(st);
    branch_publish(br, head_ref(p->head));
    TRY(branch_record(cx, br, p));
    return 1;
}

static int unreadable_found(struct ctx *cx, struct branch *br, int64_t id)
{
    fork_found(cx, br, id, "cannot be read as a snapshot; move the file away");
    return 0;
}

static int head_gone(struct ctx *cx, struct branch *br)
{
    fork_found(cx, br, br->head->id,
               "is the head and its file is gone; put the file back (what GET snapshot answers "
               "under snapshot.snapshot is its text)");
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
    outcome_ring_forget(&br->recent, h->id - 1);
    return take(cx, br, &s, "snapshot.believe", st);
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

/* Adopts the file after the head. 1: did; 0: there is none, or the branch is forked now. */
static int adopt_next(struct ctx *cx, struct branch *br)
{
    int64_t id = (br->head ? br->head->id : 0) + 1;
    struct io_stat st = {0};
    struct snapshot s = {0};
    int rc = snapshot_stat(cx, br, id, &st);
    if (rc == 0)
        rc = snapshot_load(cx, br, id, &s);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return 0;
    }
    if (unreadable(rc))
        return unreadable_found(cx, br, id);
    TRY(rc);
    bool known;
    TRY(branch_schema_known(cx, br, s.schema_id, &known));
    const char *why = continues(br->head, &s);
    if (!why && !known)
        why = "was written by somebody else and names a schema that does not exist; move the file "
              "away, or put the schema file there";
    if (why) {
        fork_found(cx, br, id, why);
        return 0;
    }
    int taken = take(cx, br, &s, "snapshot.adopt", &st);
    if (taken <= 0)
        return taken;
    COUNT(br->table->cat, adopted);
    log_info("catalog", "snapshot.adopted", LS("table", branch_full_name(cx, br)),
             LI("snapshot", id), LS("uuid", s.uuid));
    return 1;
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
