/* rollback.c - a branch goes back to an older snapshot: an intent, file steps, an end.
 *
 *   (1) store: the intent with its target, epoch + 1
 *   (2) files, each step can be repeated: the target's own file if a tag outlived it (and
 *       EARLIEST), LATEST := target, snapshots above it deleted newest first, long-lived changelogs
 *       above it, tags that name a snapshot above it
 *   (3) store: head := target, outcomes above it forgotten, the intent gone
 *
 * Newest first, so that a reader without Latch never sees a gap. While the intent is open readers
 * are not answered and nothing is committed; a failure of (2) or (3) leaves it open and the next
 * turn goes on. Data files stay. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/json/json.h"

/* --- the target ------------------------------------------------------------------------------- */

static int no_snapshot(struct ctx *cx, int64_t id)
{
    char name[24];
    snprintf(name, sizeof name, "%lld", (long long)id);
    return ctx_fail(cx, E_NOTFOUND, RES_SNAPSHOT, str_of(name),
                    "snapshot %lld does not exist: it was never made, or it has expired",
                    (long long)id);
}

/* What is rolled back to. Its `raw` is the text that its file has, or will have. */
struct target {
    struct snapshot snap;
    bool restored; /* the file had expired and comes back from a tag */
};

static int target_find(struct ctx *cx, struct branch *br, const struct rollback_in *in,
                       struct target *ret)
{
    struct snapshot tag, file;
    if (in->tag.p)
        TRY(tag_load(cx, br, in->tag, &tag));
    int64_t id = in->tag.p ? tag.id : in->snapshot_id;
    if (id < 1 || !br->head || id > br->head->id)
        return no_snapshot(cx, id);
    int rc = snapshot_load(cx, br, id, &file);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        if (!in->tag.p)
            return no_snapshot(cx, id);
        TRY(snapshot_trim(cx, &tag)); /* its file has no members of a tag */
        *ret = (struct target){.snap = tag, .restored = true};
        return 0;
    }
    TRY(rc);
    if (in->tag.p && !snapshot_same(&file, &tag))
        return ctx_fail(cx, E_CONFLICT, RES_TAG, in->tag,
                        "tag '%.*s' is of a snapshot %lld that was rolled back, the table has "
                        "another one of that number; roll back by id, or delete the tag",
                        STR(in->tag), (long long)id);
    *ret = (struct target){.snap = file};
    return 0;
}

/* --- (2) -------------------------------------------------------------------------------------- */

static int del_quiet(struct ctx *cx, struct branch *br, str path)
{
    int rc = path.p ? io_del(br->table->wh->io, cx, path) : ctx_nomem(cx);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        rc = 0;
    }
    return rc;
}

static int delete_snapshots(struct ctx *cx, struct branch *br, int64_t target)
{
    str dir = str_of(br->table->dir), b = str_of(br->name);
    struct ids ids;
    TRY(branch_ids(cx, br, layout_snapshot_dir(&cx->arena, dir, b), layout_snapshot_id, target,
                   INT64_MAX, &ids));
    for (size_t i = 0; i < ids.n; i++) {
        TRY(del_quiet(cx, br, layout_snapshot(&cx->arena, dir, b, ids.at[i])));
        IGNORE(INJECT(ROLLBACK_DELETED));
    }
    return 0;
}

/* The hint of the changelog folder follows: the newest that is left, or -1 when none is. */
static int delete_changelogs(struct ctx *cx, struct branch *br, int64_t target)
{
    str dir = str_of(br->table->dir), b = str_of(br->name);
    str folder = layout_changelog_dir(&cx->arena, dir, b);
    struct ids ids;
    size_t n = 0; /* of them above the target: they come first */
    CLEANUP(buf_done) struct buf hint = {0}, text = {0};
    TRY(branch_ids(cx, br, folder, layout_changelog_id, 0, INT64_MAX, &ids));
    while (n < ids.n && ids.at[n] > target)
        n++;
    if (n == 0)
        return 0;
    buf_addf(&hint, "%.*s/LATEST", STR(folder));
    buf_add_i64(&text, n < ids.n ? ids.at[n] : -1);
    if (buf_fail(&hint) || buf_fail(&text))
        return ctx_nomem(cx);
    TRY(io_write(br->table->wh->io, cx, buf_str(&hint), buf_str(&text), false));
    for (size_t i = 0; i < n; i++)
        TRY(del_quiet(cx, br, layout_changelog(&cx->arena, dir, b, ids.at[i])));
    return 0;
}

static int delete_tags(struct ctx *cx, struct branch *br, int64_t target)
{
    struct table *t = br->table;
    str dir = str_of(t->dir), b = str_of(br->name);
    str folder = layout_tag_dir(&cx->arena, dir, b);
    struct io_entry *e;
    size_t n;
    int rc = folder.p ? io_list(t->wh->io, cx, folder, &e, &n) : ctx_nomem(cx);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return 0;
    }
    TRY(rc);
    for (size_t i = 0; i < n; i++) {
        str tag;
        struct snapshot s;
        if (!layout_tag_name(e[i].name, &tag))
            continue;
        rc = tag_load(cx, br, tag, &s);
        if (rc == E_NOMEM || rc == E_IO || rc == E_BUSY)
            return rc;
        if (rc < 0) { /* no tag, whatever it is: not ours to judge */
            ctx_reset_err(cx);
            continue;
        }
        if (s.id > target)
            TRY(del_quiet(cx, br, layout_tag(&cx->arena, dir, b, tag)));
    }
    return 0;
}

static int hint_write(struct ctx *cx, struct branch *br, str path, int64_t id)
{
    str text = layout_hint_text(&cx->arena, id);
    if (!path.p || !text.p)
        return ctx_nomem(cx);
    return io_write(br->table->wh->io, cx, path, text, /* sync= */ true);
}

/* Before the intent goes: a deletion that a power loss takes back would be adopted as a commit. */
static int deletions_sync(struct ctx *cx, struct branch *br)
{
    str dir = str_of(br->table->dir), b = str_of(br->name);
    str folders[] = {layout_snapshot_dir(&cx->arena, dir, b),
                     layout_changelog_dir(&cx->arena, dir, b), layout_tag_dir(&cx->arena, dir, b)};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int rc = folders[i].p ? io_sync(br->table->wh->io, cx, &folders[i], 1) : ctx_nomem(cx);
        if (rc == E_NOTFOUND) /* most tables have no changelogs and no tags */
            ctx_reset_err(cx);
        else
            TRY(rc);
    }
    return 0;
}

static int files(struct ctx *cx, struct branch *br, const struct target *to)
{
    struct table *t = br->table;
    str dir = str_of(t->dir), b = str_of(br->name);
    int64_t id = to->snap.id;
    enum io_put_result put;
    str path = layout_snapshot(&cx->arena, dir, b, id);
    if (!path.p)
        return ctx_nomem(cx);
    TRY(io_put_if_absent(t->wh->io, cx, path, to->snap.raw, &put));
    if (put == IO_PUT_CREATED || to->restored) /* it had expired: it is the earliest now */
        TRY(hint_write(cx, br, layout_earliest(&cx->arena, dir, b), id));
    TRY(hint_write(cx, br, layout_latest(&cx->arena, dir, b), id));
    IGNORE(INJECT(ROLLBACK_HINTED));
    TRY(delete_snapshots(cx, br, id));
    TRY(delete_changelogs(cx, br, id));
    TRY(delete_tags(cx, br, id));
    TRY(deletions_sync(cx, br));
    IGNORE(INJECT(ROLLBACK_FILES));
    return 0;
}

/* --- (3) -------------------------------------------------------------------------------------- */

static int totals_of(struct ctx *cx, struct branch *br, int64_t id, struct totals *ret)
{
    struct outcome o;
    int rc = STORE(br->table->cat->o.store, outcome_of, cx, str_of(br->table->id), str_of(br->name),
                   id, &o);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    *ret = rc == 0 ? o.totals : TOTALS_UNKNOWN;
    return 0;
}

static int target_identity(struct ctx *cx, struct branch *br, int64_t id, struct file_id *ret)
{
    struct io_stat st;
    str path = layout_snapshot(&cx->arena, str_of(br->table->dir), str_of(br->name), id);
    if (!path.p)
        return ctx_nomem(cx);
    TRY(io_stat(br->table->wh->io, cx, path, &st));
    *ret = file_id_of(&st);
    return 0;
}

static int apply(struct ctx *cx, struct branch *br, const struct snapshot *target)
{
    struct store_rollback_in in = {
        .intent_id = br->intent_id, .table_id = str_of(br->table->id), .branch = str_of(br->name)};
    struct totals tot;
    str db, name;
    TRY(totals_of(cx, br, target->id, &tot));
    TRY(target_identity(cx, br, target->id, &br->file));
    struct head *h = head_new(cx, target, &tot, clock_wall_ms());
    if (!h)
        return ctx_nomem(cx);
    head_row_fill(h, &br->file, &in.head);
    table_names(br->table, &db, &name);
    audit_fill(cx, &in.audit, "rollback.done", br->table->wh, db, name);
    int rc = STORE(br->table->cat->o.store, rollback_finish, cx, &in);
    if (rc < 0) { /* done or not: the store knows */
        head_unref(h);
        branch_forget(br);
        return rc;
    }
    IGNORE(branch_set_intent(br, 0, STR_NONE, STR_NONE));
    outcome_ring_forget(&br->recent, target->id);
    branch_forget_users(br);
    branch_publish(br, h);
    COUNT(br->table->cat, rollbacks);
    log_info("catalog", "rollback.done", LS("table", branch_object(cx, br)),
             LI("snapshot", target->id), LS("by", cx->principal), LS("req", cx->request_id));
    return 0;
}

int rollback_finish(struct ctx *cx, struct branch *br)
{
    const struct json *args, *snap;
    struct target to = {0};
    str text = str_dup(&cx->arena, str_of(br->intent_args));
    if (!text.p)
        return ctx_nomem(cx);
    TRY(json_parse(cx, text, "rollback intent", &args));
    TRY(json_want_obj(cx, args, "", "snapshot", &snap));
    TRY(json_opt_bool(cx, args, "", "restored", false, &to.restored));
    TRY(snapshot_decode(cx, snap, "snapshot", &to.snap));
    TRY(files(cx, br, &to));
    return apply(cx, br, &to.snap);
}

/* --- (1) -------------------------------------------------------------------------------------- */

static int intent_write(struct ctx *cx, struct branch *br, const struct target *to)
{
    CLEANUP(buf_done) struct buf args = {0};
    struct json_out o;
    str db, name;
    int64_t id, epoch;

    json_out_init(&o, &args);
    json_obj(&o);
    json_kraw(&o, "snapshot", to->snap.raw);
    json_kbool(&o, "restored", to->restored);
    json_end(&o);
    if (buf_fail(&args))
        return ctx_nomem(cx);
    struct store_intent_in in = {.row = {.table_id = str_of(br->table->id),
                                         .branch = str_of(br->name),
                                         .kind = STR_LIT("rollback"),
                                         .args_json = buf_str(&args),
                                         .warehouse_id = br->table->wh->id,
                                         .created_ms = clock_wall_ms()},
                                 .bump_epoch = true,
                                 .expect_epoch = atomic_load(&br->epoch),
                                 .expect_head_id = br->head->id};
    table_names(br->table, &db, &name);
    audit_fill(cx, &in.audit, "rollback", br->table->wh, db, name);
    /* Memory for the open intent first: once it is stored, it must be known here. */
    if (branch_set_intent(br, -1, in.row.kind, in.row.args_json) < 0)
        return ctx_nomem(cx);
    branch_unsettle(br);
    int rc = STORE(br->table->cat->o.store, intent_begin, cx, &in, &id, &epoch);
    if (rc < 0) { /* stored or not: load the branch again and see */
        IGNORE(branch_set_intent(br, 0, STR_NONE, STR_NONE));
        branch_forget(br);
        return rc == E_RACE ? (cx->err.code = E_BUSY) : rc; /* somebody else is at it */
    }
    br->intent_id = id;
    atomic_store(&br->epoch, epoch);
    IGNORE(INJECT(ROLLBACK_INTENT));
    return 0;
}

int branch_rollback(struct ctx *cx, struct branch *br, const struct rollback_in *in)
{
    struct target to = {0};
    TRY(ctx_check_deadline(cx));
    TRY(branch_enter(cx, br));
    TRY(branch_may_change(cx, br));
    int64_t latest = br->head ? br->head->id : 0;
    if (in->from_snapshot != 0 && in->from_snapshot != latest)
        return ctx_fail(cx, E_CONFLICT, RES_NONE, STR_NONE, "Latest snapshot %lld is not %lld",
                        (long long)latest, (long long)in->from_snapshot);
    TRY(target_find(cx, br, in, &to));
    if (to.snap.id == latest) /* nothing above it, nothing to do */
        return 0;
    TRY(intent_write(cx, br, &to));
    int rc = rollback_finish(cx, br);
    if (rc < 0) {
        ctx_prefix(cx, "the rollback is begun and will be finished at the next request");
        return cx->err.code = E_UNKNOWN;
    }
    return 0;
}
