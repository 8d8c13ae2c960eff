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
#include "proto/base/inject.h"
#include "proto/json/json.h"

/* --- the target ------------------------------------------------------------------------------- */

/* What is rolled back to. Its `raw` is the text that its file has, or will have. */
struct target {
    struct snapshot snap;
    bool restored; /* the file had expired and comes back from a tag */
};

/* A snapshot that has expired may live on in a tag. */
static int tag_of_id(struct ctx *cx, struct branch *br, int64_t id, struct snapshot *ret)
{
    struct tags tags;
    TRY(branch_tags(cx, br, &tags));
    for (size_t i = 0; i < tags.n; i++)
        if (tags.at[i].snap.id == id) {
            *ret = tags.at[i].snap;
            return 0;
        }
    return branch_no_snapshot(cx, br, id);
}

static int target_find(struct ctx *cx, struct branch *br, const struct rollback_in *in,
                       struct target *ret)
{
    struct snapshot tag, file;
    if (in->tag.p)
        TRY(tag_load(cx, br, in->tag, &tag));
    int64_t id = in->tag.p ? tag.id : in->snapshot_id;
    if (id < 1 || !br->head || id > br->head->id)
        return branch_no_snapshot(cx, br, id);
    int rc = snapshot_load(cx, br, id, &file);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        if (!in->tag.p)
            TRY(tag_of_id(cx, br, id, &tag));
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

static int files(struct ctx *cx, struct branch *br, const struct target *to)
{
    struct table *t = br->table;
    str dir = str_of(t->dir), b = str_of(br->name);
    int64_t id = to->snap.id;
    enum io_put_result put;
    str path = layout_snapshot(&cx->arena, dir, b, id);
    if (!path.p)
        return ctx_nomem(cx);
    TRY(io_put_if_absent(t->io, cx, path, to->snap.raw, &put));
    if (put == IO_PUT_CREATED || to->restored) /* it had expired: it is the earliest now */
        TRY(history_hint(cx, br, layout_earliest(&cx->arena, dir, b), id));
    TRY(history_hint(cx, br, layout_latest(&cx->arena, dir, b), id));
    IGNORE(INJECT(ROLLBACK_HINTED));
    TRY(history_delete_snapshots(cx, br, id));
    TRY(history_delete_changelogs(cx, br, id));
    TRY(history_delete_tags(cx, br, id));
    TRY(history_sync(cx, br));
    IGNORE(INJECT(ROLLBACK_FILES));
    return 0;
}

/* --- (3) -------------------------------------------------------------------------------------- */

int rollback_finish(struct ctx *cx, struct branch *br)
{
    const struct json *args, *snap;
    struct target to = {0};
    TRY(intent_args(cx, br, &args));
    TRY(json_want_obj(cx, args, "", "snapshot", &snap));
    TRY(json_opt_bool(cx, args, "", "restored", false, &to.restored));
    TRY(snapshot_decode(cx, snap, "snapshot", &to.snap));
    TRY(files(cx, br, &to));
    TRY(history_apply(cx, br, &to.snap, NULL, to.snap.id, NULL, "rollback.done"));
    COUNT(br->table->cat, rollbacks);
    return 0;
}

/* --- (1) -------------------------------------------------------------------------------------- */

static int begin(struct ctx *cx, struct branch *br, const struct target *to)
{
    CLEANUP(buf_done) struct buf args = {0};
    struct json_out o;
    json_out_init(&o, &args);
    json_obj(&o);
    json_kraw(&o, "snapshot", to->snap.raw);
    json_kbool(&o, "restored", to->restored);
    json_end(&o);
    if (buf_fail(&args))
        return ctx_nomem(cx);
    return intent_write(cx, br, "rollback", buf_str(&args), /* bump_epoch= */ true, STR_NONE,
                        "rollback");
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
    TRY(begin(cx, br, &to));
    IGNORE(INJECT(ROLLBACK_INTENT));
    return intent_carry_out(cx, br);
}
