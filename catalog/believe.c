/* believe.c - an external table whose head's file is gone, or another: what a reader sees is the table.
 *
 * Clients commit to such tables, roll them back and expire their snapshots in the files, without asking.
 * So a head that is gone was rolled back, or was expired after commits that nobody saw here; one that is
 * another was rolled back and its number used again. The newest snapshot on disk is the head then. History is rewritten: an intent with epoch + 1, as for a rollback,
 * but no file is touched:
 *
 *   (1) store: the intent with the snapshot, epoch + 1
 *   (2) store: head := the snapshot, outcomes of what is no more forgotten, the intent gone
 *
 * Where nothing can be read there is nothing to believe: a disk that is not mounted rolls no table back.
 * If the snapshot is no longer on disk at (2) the intent is given up, and the next turn looks again.
 *
 * Thread rule: on the branch's strand. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/log.h"
#include "proto/json/json.h"

#define LOOKS          3 /* the newest may go between the listing and the reading */
#define STEP_ARENA_MAX ((size_t)64 << 20)

/* --- (1) -------------------------------------------------------------------------------------- */

static int newest(struct ctx *cx, struct branch *br, struct head_row *ret)
{
    struct table *t = br->table;
    int rc = E_NOTFOUND;
    for (int i = 0; i < LOOKS && rc == E_NOTFOUND; i++) {
        ctx_reset_err(cx);
        rc = head_import(cx, t->cat, t->io, str_of(t->dir), str_of(br->name), ret);
    }
    return rc;
}

static int begin(struct ctx *cx, struct branch *br, str snapshot)
{
    CLEANUP(buf_done) struct buf args = {0};
    struct json_out o;
    json_out_init(&o, &args);
    json_obj(&o);
    json_kraw(&o, "snapshot", snapshot);
    json_end(&o);
    if (buf_fail(&args))
        return ctx_nomem(cx);
    return intent_write(cx, br, "believe", buf_str(&args), /* bump_epoch= */ true, STR_NONE,
                        "snapshot.believe");
}

int branch_believe(struct ctx *cx, struct branch *br, str *ret_why)
{
    struct head_row found;
    int rc = newest(cx, br, &found);
    if (rc == E_NOMEM)
        return rc;
    if (rc < 0 || found.id == 0) {
        TRY(ctx_text(cx, ret_why, "%s", rc < 0 ? cx->err.msg : "its folder has no snapshot"));
        ctx_reset_err(cx);
        return 0;
    }
    TRY(begin(cx, br, found.json));
    TRY(intent_carry_out(cx, br));
    return 1;
}

/* --- (2) -------------------------------------------------------------------------------------- */

/* Is snapshot-<id> on disk the one that was recorded? Also when that cannot be told any more, since one of
 * the two is gone. */
static int same_as_recorded(struct ctx *cx, struct branch *br, int64_t id, bool *ret,
                            struct totals *ret_totals)
{
    struct snapshot s;
    struct outcome o;
    uint8_t key[OUTCOME_KEY_LEN];
    *ret = true;
    int rc = snapshot_load(cx, br, id, &s);
    if (rc == 0)
        rc = STORE(br->table->cat->o.store, outcome_of, cx, str_of(br->table->id), str_of(br->name),
                   id, &o);
    if (rc == E_NOTFOUND || rc == E_CORRUPT) {
        ctx_reset_err(cx);
        return 0;
    }
    TRY(rc);
    TRY(outcome_key(cx, &s, key));
    *ret = memcmp(key, o.key, sizeof key) == 0;
    if (*ret)
        *ret_totals = o.totals;
    return 0;
}

/* Down to which snapshot the past is another one. *ret_totals: of `id`, if it was recorded. */
static int same_up_to(struct ctx *cx, struct branch *br, int64_t id, int64_t *ret,
                      struct totals *ret_totals)
{
    int64_t at = br->head && br->head->id < id ? br->head->id : id;
    *ret_totals = TOTALS_UNKNOWN;
    for (bool same = false; at > 0; at--) {
        struct ctx own; /* however many others committed */
        struct totals tot = TOTALS_UNKNOWN;
        ctx_init(&own, STEP_ARENA_MAX);
        int rc = same_as_recorded(&own, br, at, &same, &tot);
        if (rc < 0)
            cx->err = own.err;
        ctx_done(&own);
        TRY(rc);
        if (same && at == id)
            *ret_totals = tot;
        if (same)
            break;
    }
    *ret = at;
    return 0;
}

/* The identity of its file, from before it was read; false: it has another text by now, or is gone. */
static int still_there(struct ctx *cx, struct branch *br, const struct snapshot *to,
                       struct file_id *ret_file, bool *ret)
{
    struct table *t = br->table;
    struct snapshot s;
    struct io_stat st = {0};
    str path = layout_snapshot(&cx->arena, str_of(t->dir), str_of(br->name), to->id);
    int rc = path.p ? io_stat(t->io, cx, path, &st) : ctx_nomem(cx);
    if (rc == 0)
        rc = snapshot_load(cx, br, to->id, &s);
    *ret_file = file_id_of(&st);
    *ret = rc == 0 && str_eq(s.raw, to->raw);
    if (rc == E_NOTFOUND || rc == E_CORRUPT) {
        ctx_reset_err(cx);
        rc = 0;
    }
    return rc;
}

static int changed_again(struct ctx *cx, struct branch *br)
{
    TRY(intent_give_up(cx, br));
    return ctx_fail(cx, E_BUSY, RES_TABLE, branch_object(cx, br),
                    "somebody rewrites the snapshots of this table in its files right now; nothing "
                    "was done, try again");
}

int believe_finish(struct ctx *cx, struct branch *br)
{
    const struct json *args, *snap;
    struct snapshot to;
    struct file_id file;
    struct totals tot;
    int64_t old = br->head ? br->head->id : 0, same;
    bool there;
    TRY(intent_args(cx, br, &args));
    TRY(json_want_obj(cx, args, "", "snapshot", &snap));
    TRY(snapshot_decode(cx, snap, "snapshot", &to));
    TRY(still_there(cx, br, &to, &file, &there));
    if (!there)
        return changed_again(cx, br);
    TRY(same_up_to(cx, br, to.id, &same, &tot));
    TRY(history_apply(cx, br, &to, &tot, same, NULL, "snapshot.believe.done"));
    br->file = file; /* what changed since then is looked at */
    COUNT(br->table->cat, believed);
    log_warn("catalog", "head.believed", LS("table", branch_full_name(cx, br)),
             LI("snapshot", to.id), LS("uuid", to.uuid), LI("snapshot_before", old),
             LI("same_up_to", same),
             LZ("next", "the newest snapshot of the files is the head, since clients commit to "
                        "external tables in the files"));
    return 0;
}
