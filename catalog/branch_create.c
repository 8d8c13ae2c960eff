/* branch_create.c - a branch is made: its directory appears by one rename.
 *
 *   (1) store: the row, without a head, and the intent: the name is taken
 *   (2) all files in a folder beside it (stage.c), durable, then the rename
 *   (3) store: head and schema, the intent gone
 *
 * A crash before the rename undoes it, one after it ends it. A directory without a row, which a
 * file-system catalog made, is ended the same way when somebody asks for it (branch.c).
 *
 * A branch without a tag begins with the schemas of main and no snapshot; with one, with the tag, its
 * snapshot and the schemas up to its own.
 *
 * Thread rule: on the new branch's strand. What it copies of main are files that change only while an
 * intent of main is open: when main's epoch moved meanwhile, nothing is made (E_BUSY). A table that is
 * dropped meanwhile may leave an empty folder behind under a name that is never used again. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"

#define SNAPSHOT_FILES 4 /* tag, snapshot, two hints */

/* --- (0) what it begins with ----------------------------------------------------------------------------------- */

struct source { /* what the new branch begins with */
    struct snapshot snap;
    bool has_snap;
    str tag, tag_text;
    int64_t schema_id; /* the newest it gets */
    int64_t epoch;     /* of main */
};

static int main_busy(struct ctx *cx, struct branch *main)
{
    ctx_reset_err(cx);
    return ctx_fail(cx, E_BUSY, RES_TABLE, branch_object(cx, main),
                    "the past of the table is being changed, no branch was made; try again");
}

static int main_epoch(struct ctx *cx, struct branch *main, int64_t *ret)
{
    struct branch_row row;
    TRY(STORE(main->table->cat->o.store, branch_get, cx, str_of(main->table->id),
              str_of(main->name), &row));
    if (row.open.id)
        return main_busy(cx, main);
    *ret = row.epoch;
    return 0;
}

/* Is what was copied all of one state of main? */
static int main_check(struct ctx *cx, struct branch *main, const struct source *src)
{
    int64_t epoch;
    TRY(main_epoch(cx, main, &epoch));
    return epoch == src->epoch ? 0 : main_busy(cx, main);
}

/* What was to be copied is not there: since main is being changed, or for good? */
static int not_there(struct ctx *cx, struct branch *main, const struct source *src, int rc)
{
    struct err_rec first = cx->err;
    if (main_check(cx, main, src) == E_BUSY)
        return E_BUSY;
    cx->err = first;
    return rc;
}

/* Its file has the text that its writer gave it; of one that has expired the tag knows most. */
static int tag_snapshot(struct ctx *cx, struct branch *main, struct snapshot *tag)
{
    struct snapshot file;
    int rc = snapshot_load(cx, main, tag->id, &file);
    if (rc == 0 && snapshot_same(&file, tag)) {
        *tag = file;
        return 0;
    }
    if (rc < 0 && rc != E_NOTFOUND && rc != E_CORRUPT)
        return rc;
    ctx_reset_err(cx);
    return snapshot_trim(cx, tag);
}

static int source_find(struct ctx *cx, struct branch *main, str tag, struct source *ret)
{
    struct schema_at at;
    struct table_schema ts;
    *ret = (struct source){.tag = tag, .has_snap = tag.p != NULL};
    TRY(main_epoch(cx, main, &ret->epoch));
    if (tag.p) {
        TRY(tag_load(cx, main, tag, &ret->snap));
        ret->tag_text = ret->snap.raw;
        TRY(tag_snapshot(cx, main, &ret->snap));
        ret->schema_id = ret->snap.schema_id;
        return 0;
    }
    TRY(schema_of_branch(cx, main, &at));
    int rc = schema_newest(cx, &at, &ts);
    TRY(rc);
    if (rc == 0)
        return ctx_fail(cx, E_CORRUPT, RES_TABLE, at.name,
                        "table %.*s has no schema file; put it back before you make a branch",
                        STR(at.name));
    ret->schema_id = ts.id;
    return 0;
}

static int stage_schemas(struct ctx *cx, struct branch *main, str to, int64_t up_to,
                         struct staged *st)
{
    struct table *t = main->table;
    struct ids ids;
    str from = layout_schema_dir(&cx->arena, str_of(t->dir), STR_LIT("main"));
    TRY(branch_ids(cx, main, from, layout_schema_id, -1, up_to, &ids));
    if (ids.n == 0 || ids.at[0] != up_to)
        return ctx_fail(cx, E_CORRUPT, RES_TABLE, STR_NONE,
                        "schema file %lld of the table is gone; put it back before you make a "
                        "branch",
                        (long long)up_to);
    TRY(stage_room(cx, st, ids.n + SNAPSHOT_FILES));
    for (size_t i = ids.n; i-- > 0;) {
        str name;
        TRY(ctx_text(cx, &name, "schema-%lld", (long long)ids.at[i]));
        TRY(stage_copy(cx, t->io, st, from, name, to));
    }
    return 0;
}

static int stage_snapshot(struct ctx *cx, struct io *io, str stage, const struct source *src,
                          struct staged *st)
{
    str snapshots, tags, name, id;
    TRY(ctx_text(cx, &snapshots, "%.*s/snapshot", STR(stage)));
    TRY(ctx_text(cx, &tags, "%.*s/tag", STR(stage)));
    TRY(io_mkdirs(io, cx, snapshots));
    if (!src->has_snap)
        return 0;
    TRY(io_mkdirs(io, cx, tags));
    TRY(ctx_text(cx, &name, "tag-%.*s", STR(src->tag)));
    TRY(stage_put(cx, io, st, tags, name, src->tag_text));
    TRY(ctx_text(cx, &name, "snapshot-%lld", (long long)src->snap.id));
    TRY(ctx_text(cx, &id, "%lld", (long long)src->snap.id));
    TRY(stage_put(cx, io, st, snapshots, name, src->snap.raw));
    TRY(stage_put(cx, io, st, snapshots, STR_LIT("EARLIEST"), id));
    return stage_put(cx, io, st, snapshots, STR_LIT("LATEST"), id);
}

/* (2) */
static int files_make(struct ctx *cx, struct branch *br, str stage, const struct source *src)
{
    struct table *t = br->table;
    struct branch *main = t->branches; /* the first, for as long as there is the table */
    struct staged st = {0};
    str schemas, root = branch_root(cx, br);
    if (!root.p)
        return ctx_nomem(cx);
    TRY(ctx_text(cx, &schemas, "%.*s/schema", STR(stage)));
    TRY(io_mkdirs(t->io, cx, schemas));
    TRY(stage_schemas(cx, main, schemas, src->schema_id, &st));
    TRY(stage_snapshot(cx, t->io, stage, src, &st));
    TRY(io_sync(t->io, cx, st.paths, st.n));
    TRY(main_check(cx, main, src));
    IGNORE(INJECT(BRANCH_STAGED));
    TRY(io_move(t->io, cx, stage, root));
    IGNORE(INJECT(BRANCH_MOVED));
    return 0;
}

static int made(struct ctx *cx, struct branch *br, const struct table_schema *ts,
                const struct head_row *head)
{
    struct table *t = br->table;
    str db, name;
    struct schema_set schema = {.id = ts->id};
    struct store_branch_in in = {
        .intent_id = br->intent_id, .table_id = str_of(t->id), .branch = str_of(br->name)};
    TRY(schema_text(cx, &ts->schema, &schema.json));
    table_names(t, &db, &name);
    audit_fill(cx, &in.audit, "branch.made", t->wh, db, name);
    in.audit.detail = str_of(br->name);
    int rc = STORE(t->cat->o.store, branch_made, cx, &in, head, &schema);
    branch_forget(br);
    TRY(rc);
    IGNORE(branch_set_intent(br, 0, STR_NONE, STR_NONE));
    log_info("catalog", "branch.created", LS("table", branch_full_name(cx, br)),
             LI("snapshot", head->id), LS("by", cx->principal), LS("req", cx->request_id));
    return 0;
}

/* A crash, or whoever made the directory, may have left undone what makes it durable. */
static int durable(struct ctx *cx, struct branch *br, int64_t schema_id)
{
    struct arena *a = &cx->arena;
    str dir = str_of(br->table->dir), b = str_of(br->name);
    str snapshots =
        layout_snapshot_dir(a, dir, b); /* commits need it; Paimon makes it with the first */
    str paths[] = {layout_schema(a, dir, b, schema_id), layout_schema_dir(a, dir, b),
                   branch_root(cx, br), layout_branch_dir(a, dir)};
    size_t n = sizeof paths / sizeof *paths;
    for (size_t i = 0; i < n; i++)
        if (!paths[i].p)
            return ctx_nomem(cx);
    TRY(snapshots.p ? io_mkdirs(br->table->io, cx, snapshots) : ctx_nomem(cx));
    return io_sync(br->table->io, cx, paths, n);
}

int branch_create_finish(struct ctx *cx, struct branch *br)
{
    struct table *t = br->table;
    struct table_schema ts;
    struct head_row head;
    str stage;
    struct schema_at at = {
        .w = t->wh, .io = t->io, .dir = str_of(t->dir), .branch = str_of(br->name)};
    int rc = schema_newest(cx, &at, &ts);
    TRY(rc);
    if (rc > 0) {
        TRY(durable(cx, br, ts.id));
        TRY(head_import(cx, t->cat, t->io, at.dir, at.branch, &head));
        return made(cx, br, &ts, &head);
    }
    TRY(stage_of_intent(cx, br, &stage));
    if (stage.p)
        TRY(io_remove_tree(t->io, cx, stage));
    TRY(branch_unmade(cx, br, "branch.undone"));
    return branch_missing(cx, str_of(br->name));
}

/* (1) */
static int begin(struct ctx *cx, struct branch *br, str args)
{
    struct table *t = br->table;
    struct audit au;
    int64_t id;
    str db, name;
    struct intent_row row = {.table_id = str_of(t->id),
                             .branch = str_of(br->name),
                             .kind = STR_LIT("branch-create"),
                             .args_json = args,
                             .warehouse_id = t->wh->id,
                             .created_ms = clock_wall_ms()};
    table_names(t, &db, &name);
    audit_fill(cx, &au, "branch.create", t->wh, db, name);
    au.detail = str_of(br->name);
    if (branch_set_intent(br, -1, row.kind, args) < 0)
        return ctx_nomem(cx);
    int rc = STORE(t->cat->o.store, branch_begin, cx, &row, &au, &id);
    if (rc < 0) {
        IGNORE(branch_set_intent(br, 0, STR_NONE, STR_NONE));
        return rc;
    }
    br->intent_id = id;
    IGNORE(INJECT(BRANCH_INTENT));
    return 0;
}

static int create(struct ctx *cx, struct branch *br, const struct source *src)
{
    str folder, args, stage;
    TRY(stage_args(cx, &folder, &args));
    TRY(stage_path(cx, br->table, folder, &stage));
    TRY(begin(cx, br, args));
    int rc = files_make(cx, br, stage, src);
    if (rc == 0 || rc == E_UNKNOWN)
        return rc == 0 ? intent_carry_out(cx, br) : rc;
    struct err_rec first = cx->err;
    ctx_reset_err(cx);
    if (io_remove_tree(br->table->io, cx, stage) < 0 || branch_unmade(cx, br, "branch.undone") < 0)
        log_warn("catalog", "branch.waits", LS("table", branch_full_name(cx, br)),
                 LZ("err", cx->err.msg));
    cx->err = first;
    if (rc == E_EXISTS) /* a directory that somebody else made meanwhile */
        return branch_exists(cx, str_of(br->name));
    if (rc == E_NOTFOUND || rc == E_CORRUPT)
        rc = not_there(cx, br->table->branches, src, rc);
    return rc == E_NOTFOUND ? (cx->err.code = E_IO) : rc;
}

/* Has it a row already? An open creation of it, which a crash left, is ended first. */
static int row_there(struct ctx *cx, struct branch *br, bool *ret)
{
    struct branch_row row;
    int rc = STORE(br->table->cat->o.store, branch_get, cx, str_of(br->table->id), str_of(br->name),
                   &row);
    if (rc == 0 && row.open.id) {
        IGNORE(branch_enter(cx, br));
        ctx_reset_err(cx);
    }
    *ret = rc == 0;
    if (rc == E_NOTFOUND && cx->err.res == RES_BRANCH) {
        ctx_reset_err(cx);
        return 0;
    }
    return rc;
}

int branch_create(struct ctx *cx, struct branch *br, str tag)
{
    struct table *t = br->table;
    struct source src;
    bool there;
    TRY(ctx_check_deadline(cx));
    if (atomic_load(&t->dead))
        return branch_gone(cx, t->branches);
    if (atomic_load(&br->gone))
        return CAT_NEED;
    TRY(row_there(cx, br, &there));
    if (atomic_load(&br->gone))
        return CAT_NEED;
    if (there)
        return branch_exists(cx, str_of(br->name));
    int rc = source_find(cx, t->branches, tag, &src);
    if (rc == E_CORRUPT)
        rc = not_there(cx, t->branches, &src, rc);
    if (rc == 0)
        rc = warehouse_space(cx, t->wh);
    if (rc < 0) { /* nothing has this name: the handle must not stay with the table for ever */
        table_branch_gone(br);
        return rc;
    }
    rc = create(cx, br, &src);
    branch_forget(br);
    return rc;
}

int cat_branch_new(struct ctx *cx, struct branch *main, str name, struct branch **ret)
{
    if (!main->table->managed)
        return branch_enter(cx, main); /* says why not */
    TRY(branch_name_check(cx, name));
    return table_branch_make(cx, main->table, name, ret);
}
