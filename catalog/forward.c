/* forward.c - main takes over the history of a branch (fast-forward).
 *
 * From the branch's earliest snapshot on main's snapshots, changelogs and tags go and the branch's
 * come; main's schemas become the branch's. What main had before that snapshot stays. A branch without
 * a snapshot changes nothing.
 *
 *   (0) copies of all that will come, durable, in a folder of their own. The branch may be written to,
 *       rolled back, dropped and replaced meanwhile: then nothing is done (E_BUSY)
 *   (1) store: the intent, epoch + 1
 *   (2) files, each step can be repeated: main's own deleted, newest first; the copies written over,
 *       oldest first; LATEST
 *   (3) store: head and schema of the branch, outcomes from there on forgotten, the intent gone
 *
 * Source: Paimon's FileSystemBranchManager.fastForward, which deletes and copies the same files.
 *
 * Thread rule: on main's strand. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/json/json.h"

/* --- (0) -------------------------------------------------------------------------------------- */

struct range {
    int64_t first, last; /* snapshots of the branch */
    struct totals totals;
};

/* What is copied: a branch of this epoch whose directory has this inode. */
struct origin {
    struct range r;
    size_t n; /* snapshots in it */
    int64_t epoch;
    uint64_t ino;
};

static int copy_folder(struct ctx *cx, struct io *io, str from, str to, const struct io_entry *e,
                       size_t n)
{
    struct staged st;
    TRY(io_mkdirs(io, cx, to));
    TRY(stage_room(cx, &st, n));
    for (size_t i = 0; i < n; i++)
        TRY(stage_copy(cx, io, &st, from, e[i].name, to));
    return n ? io_sync(io, cx, st.paths, st.n) : 0;
}

static bool wanted(str name, const struct range *r)
{
    int64_t id;
    str tag;
    if (layout_snapshot_id(name, &id))
        return id >= r->first && id <= r->last;
    return layout_schema_id(name, &id) || layout_tag_name(name, &tag);
}

/* One of the three folders of the branch. */
static int stage_folder(struct ctx *cx, struct branch *main, str from_root, str stage,
                        const char *folder, const struct range *r, size_t *ret_n)
{
    struct io *io = main->table->io;
    struct io_entry *e = NULL;
    size_t n = 0, k = 0;
    str from, to;
    TRY(ctx_text(cx, &from, "%.*s/%s", STR(from_root), folder));
    TRY(ctx_text(cx, &to, "%.*s/%s", STR(stage), folder));
    TRY(branch_files(cx, main, from, &e, &n));
    for (size_t i = 0; i < n; i++)
        if (wanted(e[i].name, r))
            e[k++] = e[i];
    *ret_n = k;
    return copy_folder(cx, io, from, to, e, k);
}

static int moved_on(struct ctx *cx, str from)
{
    ctx_reset_err(cx);
    return ctx_fail(cx, E_BUSY, RES_BRANCH, from,
                    "branch '%.*s' was changed while it was copied, nothing was done; try again",
                    STR(from));
}

/* Is what was copied all of one branch in one state? */
static int origin_check(struct ctx *cx, struct branch *main, str from, const struct origin *o)
{
    struct table *t = main->table;
    struct branch_row row = {0};
    struct io_stat st = {0};
    str root = layout_root(&cx->arena, str_of(t->dir), from);
    int rc = STORE(t->cat->o.store, branch_get, cx, str_of(t->id), from, &row);
    if (rc == 0)
        rc = root.p ? io_stat(t->io, cx, root, &st) : ctx_nomem(cx);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    if (rc == E_NOTFOUND || row.open.id || row.epoch != o->epoch || st.ino != o->ino)
        return moved_on(cx, from);
    return 0;
}

static int stage_all(struct ctx *cx, struct branch *main, str from, str stage,
                     const struct origin *o)
{
    size_t schemas, snapshots, tags;
    str root = layout_root(&cx->arena, str_of(main->table->dir), from);
    if (!root.p)
        return ctx_nomem(cx);
    TRY(stage_folder(cx, main, root, stage, "schema", &o->r, &schemas));
    TRY(stage_folder(cx, main, root, stage, "snapshot", &o->r, &snapshots));
    TRY(stage_folder(cx, main, root, stage, "tag", &o->r, &tags));
    if (schemas == 0 || snapshots != o->n)
        return moved_on(cx, from);
    TRY(origin_check(cx, main, from, o));
    IGNORE(INJECT(FORWARD_STAGED));
    return 0;
}

/* --- (2) -------------------------------------------------------------------------------------- */

/* Snapshots in their order, so that what is there never has a gap above the oldest. */
static int by_id(const void *a, const void *b)
{
    int64_t x = 0, y = 0;
    const struct io_entry *p = a, *q = b;
    if (layout_snapshot_id(p->name, &x) && layout_snapshot_id(q->name, &y))
        return x < y ? -1 : x > y;
    return str_cmp(p->name, q->name);
}

static int unstage_folder(struct ctx *cx, struct branch *main, str stage, const char *folder)
{
    struct table *t = main->table;
    struct io_entry *e = NULL;
    struct staged st;
    size_t n;
    str from, to;
    TRY(ctx_text(cx, &from, "%.*s/%s", STR(stage), folder));
    TRY(ctx_text(cx, &to, "%s/%s", t->dir, folder));
    TRY(branch_files(cx, main, from, &e, &n));
    if (n == 0)
        return 0;
    qsort(e, n, sizeof *e, by_id);
    TRY(io_mkdirs(t->io, cx, to));
    TRY(stage_room(cx, &st, n));
    for (size_t i = 0; i < n; i++)
        TRY(stage_copy(cx, t->io, &st, from, e[i].name, to));
    return io_sync(t->io, cx, st.paths, st.n);
}

/* Schemas above the branch's newest are main's own, and main's past does not use them. */
static int schemas_over(struct ctx *cx, struct branch *main, str stage, struct table_schema *ret)
{
    struct table *t = main->table;
    struct schema_at at = {.w = t->wh, .io = t->io, .dir = stage, .branch = STR_LIT("main")};
    str folder = layout_schema_dir(&cx->arena, str_of(t->dir), STR_LIT("main"));
    struct ids above;
    int rc = schema_newest(cx, &at, ret);
    TRY(rc);
    if (rc == 0 || !folder.p)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "the branch has no schema file");
    TRY(unstage_folder(cx, main, stage, "schema"));
    TRY(branch_ids(cx, main, folder, layout_schema_id, ret->id, INT64_MAX, &above));
    for (size_t i = 0; i < above.n; i++) {
        str path = layout_schema(&cx->arena, str_of(t->dir), STR_LIT("main"), above.at[i]);
        TRY(path.p ? io_del(t->io, cx, path) : ctx_nomem(cx));
    }
    return above.n ? io_sync(t->io, cx, &folder, 1) : 0;
}

/* What is left of main when its own newer snapshots are gone; 0: nothing. */
static int hint_before(struct ctx *cx, struct branch *main, int64_t first, int64_t *ret_left)
{
    str dir = str_of(main->table->dir), b = str_of(main->name);
    struct ids ids;
    TRY(branch_ids(cx, main, layout_snapshot_dir(&cx->arena, dir, b), layout_snapshot_id, 0,
                   first - 1, &ids));
    *ret_left = ids.n ? ids.at[0] : 0;
    return ids.n ? history_hint(cx, main, layout_latest(&cx->arena, dir, b), ids.at[0]) : 0;
}

static int files(struct ctx *cx, struct branch *main, str stage, const struct range *r,
                 struct table_schema *ret_schema)
{
    str dir = str_of(main->table->dir), b = str_of(main->name);
    int64_t left;
    TRY(hint_before(cx, main, r->first, &left));
    TRY(history_delete_tags(cx, main, r->first - 1));
    TRY(history_delete_changelogs(cx, main, r->first - 1));
    TRY(history_delete_snapshots(cx, main, r->first - 1));
    TRY(history_sync(cx, main));
    IGNORE(INJECT(FORWARD_DELETED));
    TRY(schemas_over(cx, main, stage, ret_schema));
    TRY(unstage_folder(cx, main, stage, "snapshot"));
    TRY(unstage_folder(cx, main, stage, "tag"));
    if (left == 0)
        TRY(history_hint(cx, main, layout_earliest(&cx->arena, dir, b), r->first));
    TRY(history_hint(cx, main, layout_latest(&cx->arena, dir, b), r->last));
    IGNORE(INJECT(FORWARD_FILES));
    return 0;
}

/* --- (3) -------------------------------------------------------------------------------------- */

static int apply(struct ctx *cx, struct branch *main, const struct range *r,
                 const struct table_schema *ts)
{
    struct snapshot head;
    struct schema_set schema = {.id = ts->id,
                                .type = type_of(&ts->schema),
                                .now_ms = clock_wall_ms(),
                                .by = cx->principal.len ? cx->principal : STR_LIT("latch")};
    TRY(schema_text(cx, &ts->schema, &schema.json));
    TRY(snapshot_load(cx, main, r->last, &head));
    return history_apply(cx, main, &head, &r->totals, r->first - 1, &schema, "branch.forwarded");
}

int forward_finish(struct ctx *cx, struct branch *main)
{
    const struct json *args;
    struct table_schema ts;
    struct range r = {0};
    str stage;
    TRY(intent_args(cx, main, &args));
    TRY(json_want_i64(cx, args, "", "first", &r.first));
    TRY(json_want_i64(cx, args, "", "last", &r.last));
    TRY(json_opt_i64(cx, args, "", "bytes", -1, &r.totals.file_size_bytes));
    TRY(json_opt_i64(cx, args, "", "files", -1, &r.totals.file_count));
    TRY(json_opt_i64(cx, args, "", "lastFileMs", -1, &r.totals.last_file_creation_ms));
    TRY(stage_of_intent(cx, main, &stage));
    if (!stage.p)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "a forward names no folder");
    TRY(files(cx, main, stage, &r, &ts));
    TRY(apply(cx, main, &r, &ts));
    if (io_remove_tree(main->table->io, cx, stage) < 0)
        ctx_reset_err(cx); /* swept when the table is opened next */
    return 0;
}

/* --- (1) -------------------------------------------------------------------------------------- */

static int origin_find(struct ctx *cx, struct branch *main, str from, struct origin *ret)
{
    struct table *t = main->table;
    struct branch_row row;
    struct io_stat st = {0};
    struct ids ids;
    str root = layout_root(&cx->arena, str_of(t->dir), from);
    str folder = layout_snapshot_dir(&cx->arena, str_of(t->dir), from);
    int rc = STORE(t->cat->o.store, branch_get, cx, str_of(t->id), from, &row);
    if (rc == E_NOTFOUND)
        return branch_missing(cx, from);
    TRY(rc);
    if (row.open.id) /* it was settled a moment ago */
        return moved_on(cx, from);
    rc = root.p ? io_stat(t->io, cx, root, &st) : ctx_nomem(cx);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    TRY(branch_ids(cx, main, folder, layout_snapshot_id, 0, row.head.id, &ids));
    int64_t last = ids.n ? ids.at[0] : 0;
    if (rc == E_NOTFOUND || last != row.head.id)
        return ctx_fail(cx, E_BUSY, RES_BRANCH, from,
                        "branch '%.*s' is at snapshot %lld, whose file is not there; put it back",
                        STR(from), (long long)row.head.id);
    *ret = (struct origin){.r = {ids.n ? ids.at[ids.n - 1] : 0, last, row.head.totals},
                           .n = ids.n,
                           .epoch = row.epoch,
                           .ino = st.ino};
    return 0;
}

static int forward_args(struct ctx *cx, str stage, const struct range *r, str *ret)
{
    const struct totals *t = &r->totals;
    return ctx_text(cx, ret,
                    "{\"stage\":\"%.*s\",\"first\":%lld,\"last\":%lld,\"bytes\":%lld,"
                    "\"files\":%lld,\"lastFileMs\":%lld}",
                    STR(stage), (long long)r->first, (long long)r->last,
                    (long long)t->file_size_bytes, (long long)t->file_count,
                    (long long)t->last_file_creation_ms);
}

int branch_forward(struct ctx *cx, struct branch *main, str from)
{
    struct origin o = {0};
    str name, stage, args;
    TRY(ctx_check_deadline(cx));
    TRY(branch_enter(cx, main));
    TRY(branch_may_change(cx, main));
    TRY(origin_find(cx, main, from, &o));
    if (o.r.last == 0)
        return 0;
    TRY(warehouse_space(cx, main->table->wh));
    TRY(stage_args(cx, &name, &args));
    TRY(stage_path(cx, main->table, name, &stage));
    TRY(forward_args(cx, name, &o.r, &args));
    int rc = stage_all(cx, main, from, stage, &o);
    if (rc == 0)
        rc = intent_write(cx, main, "forward", args, /* bump_epoch= */ true, STR_NONE,
                          "branch.forward");
    if (rc < 0) { /* the copies of an intent that may be there are left to it */
        struct err_rec first = cx->err;
        if (rc != E_UNKNOWN)
            IGNORE(io_remove_tree(main->table->io, cx, stage));
        cx->err = first;
        return rc == E_NOTFOUND ? moved_on(cx, from) : rc; /* a file went while we copied */
    }
    IGNORE(INJECT(FORWARD_INTENT));
    return intent_carry_out(cx, main);
}
