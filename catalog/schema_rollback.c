/* schema_rollback.c - a branch goes back to an older schema: newer schema files go, if nothing uses them.
 *
 *   (1) store: the intent with the target
 *   (2) schema files above it deleted, newest first, durable
 *   (3) store: the schema's row, the intent gone
 *
 * Refused when a snapshot, tag or long-lived changelog names a newer schema. Commits have an order with
 * it, so none can begin to use one meanwhile.
 *
 * Source: Paimon's SchemaManager.rollbackTo. Thread rule: on the branch's strand. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/json/json.h"

/* --- who uses a newer one --------------------------------------------------------------------- */

/* The schema that this snapshot or changelog names; 0 when it has expired since it was listed. Read with
 * memory of its own, since there may be many. */
static int schema_in(struct ctx *cx, struct branch *br, str path, int64_t *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct ctx one;
    struct snapshot s = {0};
    ctx_init(&one, cx->arena.max);
    int rc = io_read(br->table->io, &one, path, br->table->cat->o.snapshot_max_bytes, &b);
    if (rc == 0)
        rc = snapshot_decode_file(&one, buf_str(&b), path, &s);
    else if (rc == E_NOTFOUND)
        rc = 0;
    if (rc < 0)
        cx->err = one.err;
    *ret = s.schema_id;
    ctx_done(&one);
    return rc;
}

/* The newest schema that a file of this folder names. */
static int newest_used(struct ctx *cx, struct branch *br, str folder, const char *prefix,
                       bool (*parse)(str, int64_t *), int64_t *max)
{
    struct ids ids;
    TRY(branch_ids(cx, br, folder, parse, 0, INT64_MAX, &ids));
    for (size_t i = 0; i < ids.n; i++) {
        int64_t schema;
        str path;
        TRY(ctx_text(cx, &path, "%.*s/%s%lld", STR(folder), prefix, (long long)ids.at[i]));
        TRY(schema_in(cx, br, path, &schema));
        *max = schema > *max ? schema : *max;
    }
    return 0;
}

static int newest_in_use(struct ctx *cx, struct branch *br, int64_t *ret)
{
    str dir = str_of(br->table->dir), b = str_of(br->name);
    str snapshots = layout_snapshot_dir(&cx->arena, dir, b);
    str changelogs = layout_changelog_dir(&cx->arena, dir, b);
    struct tags tags;
    *ret = br->head ? br->head->schema_id : 0;
    if (!snapshots.p || !changelogs.p)
        return ctx_nomem(cx);
    TRY(newest_used(cx, br, snapshots, "snapshot-", layout_snapshot_id, ret));
    TRY(newest_used(cx, br, changelogs, "changelog-", layout_changelog_id, ret));
    TRY(branch_tags(cx, br, &tags));
    for (size_t i = 0; i < tags.n; i++)
        *ret = tags.at[i].schema_id > *ret ? tags.at[i].schema_id : *ret;
    return 0;
}

/* --- (2), (3) --------------------------------------------------------------------------------- */

static int files(struct ctx *cx, struct branch *br, int64_t target)
{
    struct io *io = br->table->io;
    str dir = str_of(br->table->dir), b = str_of(br->name);
    str folder = layout_schema_dir(&cx->arena, dir, b);
    struct ids ids;
    TRY(branch_ids(cx, br, folder, layout_schema_id, target, INT64_MAX, &ids));
    for (size_t i = 0; i < ids.n; i++) {
        str path = layout_schema(&cx->arena, dir, b, ids.at[i]);
        int rc = path.p ? io_del(io, cx, path) : ctx_nomem(cx);
        if (rc < 0 && rc != E_NOTFOUND)
            return rc;
        ctx_reset_err(cx);
        IGNORE(INJECT(SCHEMA_DELETED));
    }
    TRY(io_sync(io, cx, &folder, 1));
    IGNORE(INJECT(SCHEMA_FILES));
    return 0;
}

static int no_target(struct ctx *cx, int64_t id)
{
    ctx_reset_err(cx);
    return ctx_fail(cx, E_STATE, RES_NONE, STR_NONE,
                    "schema %lld does not exist, so nothing was rolled back; give the id of a "
                    "schema that the table has",
                    (long long)id);
}

int schema_rollback_finish(struct ctx *cx, struct branch *br)
{
    const struct json *args;
    struct schema_at at;
    struct table_schema ts;
    int64_t target;
    TRY(intent_args(cx, br, &args));
    TRY(json_want_i64(cx, args, "", "schemaId", &target));
    TRY(schema_of_branch(cx, br, &at));
    int rc = schema_read(cx, &at, target, &ts);
    TRY(rc);
    if (rc == 0) { /* somebody took it away since; to wait for it would stop the table for good */
        TRY(intent_give_up(cx, br));
        return no_target(cx, target);
    }
    struct schema_set schema = {.id = ts.id,
                                .type = type_of(&ts.schema),
                                .now_ms = clock_wall_ms(),
                                .by = cx->principal.len ? cx->principal : STR_LIT("latch")};
    TRY(schema_text(cx, &ts.schema, &schema.json));
    TRY(files(cx, br, target));
    return history_apply(cx, br, NULL, NULL, INT64_MAX, &schema, "schema.rolled-back");
}

/* --- (1) -------------------------------------------------------------------------------------- */

int branch_rollback_schema(struct ctx *cx, struct branch *br, int64_t target)
{
    struct schema_at at;
    int64_t used;
    str args;
    bool known;
    TRY(ctx_check_deadline(cx));
    TRY(branch_enter(cx, br));
    TRY(branch_may_change(cx, br));
    TRY(schema_of_branch(cx, br, &at));
    TRY(schema_catch_up(cx, &at));
    branch_traits_forget(br);
    known = target >= 0;
    if (known)
        TRY(branch_schema_known(cx, br, target, &known));
    if (!known)
        return no_target(cx, target);
    TRY(newest_in_use(cx, br, &used));
    if (used > target)
        return ctx_fail(cx, E_STATE, RES_NONE, STR_NONE,
                        "Cannot rollback to schema %lld, schema %lld is still referenced by "
                        "snapshots/tags/changelogs.",
                        (long long)target, (long long)used);
    if (target == at.id)
        return 0;
    TRY(ctx_text(cx, &args, "{\"schemaId\":%lld}", (long long)target));
    TRY(intent_write(cx, br, "rollback-schema", args, /* bump_epoch= */ true, STR_NONE,
                     "rollback-schema"));
    IGNORE(INJECT(SCHEMA_INTENT));
    return intent_carry_out(cx, br);
}
