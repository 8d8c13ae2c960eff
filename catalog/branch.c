/* branch.c - the start of every turn on a branch's strand.
 *
 * A turn begins in branch_enter, which brings the branch to a state in which a change may be
 * judged:
 *
 *   UNLOADED --branch_load--> loaded --(pending recorded)--(open intent done)--catch up--> ready
 *                                                                                     \--> forked
 *
 * Each arrow can fail (disk, store): the turn then ends with that error, nothing else happened, and
 * the next turn tries again. Readers are served at once (`settled`) as long as no intent is open.
 */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"

#define TEMP_KEEP_MS (3600 * 1000) /* younger ones may belong to a writer that is not us */

int branch_gone(struct ctx *cx, struct branch *br)
{
    str db, name;
    table_names(br->table, &db, &name);
    if (!atomic_load(&br->table->dead))
        name = branch_object(cx, br);
    return ctx_fail(cx, E_NOTFOUND, RES_TABLE, name, "table %.*s.%.*s does not exist", STR(db),
                    STR(name));
}

/* The files of such a table are the clients' own: there are no snapshots to speak of. */
static int branch_unmanaged(struct ctx *cx, struct branch *br)
{
    str full = branch_full_name(cx, br);
    return ctx_fail(cx, E_UNSUPPORTED, RES_TABLE, branch_object(cx, br),
                    "%.*s is no table with snapshots (its option 'type' says so): it has no "
                    "commits, branches and tags",
                    STR(full));
}

int branch_error(struct ctx *cx, struct branch *br, str db, str object, int rc)
{
    struct table *t = br->table;
    /* It is dead, or gone, a moment after the store says so. */
    bool missing =
        rc == E_NOTFOUND && cx->err.res == RES_TABLE && strcmp(cx->err.res_name, t->id) == 0;
    missing |=
        rc == E_NOTFOUND && cx->err.res == RES_BRANCH && strcmp(cx->err.res_name, br->name) == 0;
    if (!missing && !atomic_load(&t->dead) && !atomic_load(&br->gone))
        return rc;
    if (rc == E_UNKNOWN && t->external) /* its files, and what was done to them, stay */
        return rc;
    ctx_reset_err(cx);
    return ctx_fail(cx, E_NOTFOUND, RES_TABLE, object, "table %.*s.%.*s does not exist", STR(db),
                    STR(object));
}

int branch_set_intent(struct branch *br, int64_t id, str kind, str args)
{
    char *k = id ? str_heap(kind) : NULL, *a = id ? str_heap(args) : NULL;
    if (id && (!k || !a)) {
        mem_free(k);
        mem_free(a);
        return E_NOMEM;
    }
    mem_free(br->intent_kind);
    mem_free(br->intent_args);
    br->intent_id = id;
    br->intent_kind = k;
    br->intent_args = a;
    return 0;
}

static void sweep(struct ctx *cx, struct branch *br, str dir, bool (*mine)(str name),
                  int (*del)(struct io *io, struct ctx *cx, str path))
{
    struct io *io = br->table->io;
    struct io_entry *e;
    size_t n;
    int rc = dir.p ? io_list(io, cx, dir, &e, &n) : E_NOMEM;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        CLEANUP(buf_done) struct buf path = {0};
        struct io_stat st;
        if (!mine(e[i].name))
            continue;
        buf_addf(&path, "%.*s/%.*s", STR(dir), STR(e[i].name));
        if (!buf_fail(&path) && io_stat(io, cx, buf_str(&path), &st) == 0 &&
            clock_wall_ms() - st.mtime_ms > TEMP_KEEP_MS)
            IGNORE(del(io, cx, buf_str(&path)));
    }
    ctx_reset_err(cx);
}

static bool is_stage(str name)
{
    return str_starts(name, STR_LIT(BRANCH_STAGE));
}

/* What a crash of ours left: nobody else will remove it. */
static void sweep_temps(struct ctx *cx, struct branch *br)
{
    struct io *io = br->table->io;
    str dir = str_of(br->table->dir);
    str folders[] = {layout_snapshot_dir(&cx->arena, dir, str_of(br->name)),
                     layout_schema_dir(&cx->arena, dir, str_of(br->name)),
                     layout_tag_dir(&cx->arena, dir, str_of(br->name))};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        sweep(cx, br, folders[i], layout_is_temp, io->ops->del);
    if (layout_is_main(str_of(br->name)) && !br->intent_id)
        sweep(cx, br, layout_branch_dir(&cx->arena, dir), is_stage, io->ops->remove_tree);
}

static int head_from_row(struct ctx *cx, const struct head_row *row, struct head **ret)
{
    struct snapshot s;
    *ret = NULL;
    if (row->id == 0)
        return 0;
    TRY(snapshot_decode_file(cx, row->json, STR_LIT("recorded snapshot"), &s));
    *ret = head_new(cx, &s, &row->totals, row->recorded_ms);
    return *ret ? 0 : ctx_nomem(cx);
}

static int branch_load(struct ctx *cx, struct branch *br);

/* The store does not know it. A directory that a file-system catalog made becomes a branch of ours: the
 * end of a creation that is begun here. */
static int branch_take_in(struct ctx *cx, struct branch *br)
{
    struct table *t = br->table;
    struct audit au;
    struct io_stat st;
    int64_t id;
    str db, name, dir = layout_schema_dir(&cx->arena, str_of(t->dir), str_of(br->name));
    ctx_reset_err(cx);
    if (!dir.p || layout_is_main(str_of(br->name)) || io_stat(t->io, cx, dir, &st) < 0) {
        ctx_reset_err(cx);
        IGNORE(branch_set_intent(br, 0, STR_NONE, STR_NONE)); /* ended with what it was of */
        int rc = branch_gone(cx, br);
        if (!layout_is_main(str_of(br->name)))
            table_branch_gone(br); /* its name is free */
        return rc;
    }
    struct intent_row row = {.table_id = str_of(t->id),
                             .branch = str_of(br->name),
                             .kind = STR_LIT("branch-create"),
                             .args_json = STR_LIT("{}"),
                             .warehouse_id = t->wh->id,
                             .created_ms = clock_wall_ms()};
    table_names(t, &db, &name);
    audit_fill(cx, &au, "branch.adopt", t->wh, db, name);
    au.detail = str_of(br->name);
    int rc = STORE(t->cat->o.store, branch_begin, cx, &row, &au, &id);
    if (rc == E_EXISTS) { /* a branch that is being renamed has this directory */
        ctx_reset_err(cx);
        return branch_gone(cx, br);
    }
    if (rc == E_UNKNOWN) /* of the caller's own request nothing is unknown */
        return cx->err.code = E_BUSY;
    return rc < 0 ? rc : branch_load(cx, br);
}

static int branch_load(struct ctx *cx, struct branch *br)
{
    struct branch_row row;
    struct head *h;
    int rc = STORE(br->table->cat->o.store, branch_get, cx, str_of(br->table->id), str_of(br->name),
                   &row);
    if (rc == E_NOTFOUND)
        return branch_take_in(cx, br);
    TRY(rc);
    TRY(head_from_row(cx, &row.head, &h));
    if (branch_set_intent(br, row.open.id, row.open.kind, row.open.args_json) < 0) {
        head_unref(h);
        return ctx_nomem(cx);
    }
    atomic_store(&br->epoch, row.epoch);
    struct head *old = br->head;
    br->file = (struct file_id){row.head.file_ino, row.head.file_size, row.head.file_ctime_ns};
    pthread_mutex_lock(&br->mu);
    br->head = h; /* not settled yet: shown after the first catch-up */
    pthread_mutex_unlock(&br->mu);
    head_unref(old);
    br->loaded = true;
    branch_traits_forget(br);
    sweep_temps(cx, br);
    return 0;
}

void branch_forget(struct branch *br)
{
    br->loaded = false;
    branch_unsettle(br);
    outcome_ring_forget(&br->recent, 0);
    branch_forget_users(br);
}

/* What was begun comes first; until it is done there is nothing true to say. */
static int finish_open(struct ctx *cx, struct branch *br)
{
    int rc = intent_finish(cx, br);
    if (rc < 0 && br->intent_id) {
        ctx_prefix(cx, "nothing was done: the %s of this table that is under way cannot go on",
                   br->intent_kind);
        return cx->err.code = E_BUSY;
    }
    COUNT(br->table->cat, intents_resumed);
    ctx_reset_err(cx); /* it was given up: that was told to whoever began it */
    if (atomic_load(&br->gone))
        return branch_gone(cx, br);
    return br->loaded ? 0 : branch_load(cx, br);
}

int branch_enter(struct ctx *cx, struct branch *br)
{
    if (atomic_load(&br->table->dead) || atomic_load(&br->gone))
        return branch_gone(cx, br);
    if (!br->table->managed)
        return branch_unmanaged(cx, br);
    if (!br->loaded)
        TRY(branch_load(cx, br));
    if (br->pending)
        TRY(branch_record_pending(cx, br));
    if (br->intent_id)
        TRY(finish_open(cx, br));
    TRY(branch_catch_up(cx, br));
    pthread_mutex_lock(&br->mu);
    br->settled = true;
    pthread_mutex_unlock(&br->mu);
    return 0;
}

int branch_may_change(struct ctx *cx, struct branch *br)
{
    if (!br->forked)
        return 0;
    str full = str_shortened(&cx->arena, branch_full_name(cx, br), 80);
    return ctx_fail(cx, E_BUSY, RES_TABLE, branch_object(cx, br),
                    "table %.*s takes no change, nothing was done: %s", STR(full),
                    br->fork_why ? br->fork_why : "it is forked");
}

int branch_head(struct ctx *cx, struct branch *br, struct head **ret)
{
    TRY(branch_enter(cx, br));
    *ret = br->head ? head_ref(br->head) : NULL;
    return 0;
}
