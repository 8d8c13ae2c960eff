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
    return ctx_fail(cx, E_NOTFOUND, RES_TABLE, name, "table %.*s.%.*s does not exist", STR(db),
                    STR(name));
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

/* Temporary files of a crash of ours: nobody else will remove them. */
static void sweep_temps(struct ctx *cx, struct branch *br)
{
    struct table *t = br->table;
    struct io_entry *e;
    size_t n;
    str dir = layout_snapshot_dir(&cx->arena, str_of(t->dir), str_of(br->name));
    int rc = io_list(t->wh->io, cx, dir, &e, &n);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        CLEANUP(buf_done) struct buf path = {0};
        struct io_stat st;
        if (!layout_is_temp(e[i].name))
            continue;
        buf_addf(&path, "%.*s/%.*s", STR(dir), STR(e[i].name));
        if (!buf_fail(&path) && io_stat(t->wh->io, cx, buf_str(&path), &st) == 0 &&
            clock_wall_ms() - st.mtime_ms > TEMP_KEEP_MS)
            IGNORE(io_del(t->wh->io, cx, buf_str(&path)));
    }
    ctx_reset_err(cx);
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

static int branch_load(struct ctx *cx, struct branch *br)
{
    struct branch_row row;
    struct head *h;
    int rc = STORE(br->table->cat->o.store, branch_get, cx, str_of(br->table->id), str_of(br->name),
                   &row);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return branch_gone(cx, br);
    }
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
    if (rc < 0) {
        ctx_prefix(cx, "nothing was done: the %s of this table that is under way cannot go on",
                   br->intent_kind);
        return cx->err.code = E_BUSY;
    }
    COUNT(br->table->cat, intents_resumed);
    return 0;
}

int branch_enter(struct ctx *cx, struct branch *br)
{
    if (atomic_load(&br->table->dead))
        return branch_gone(cx, br);
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
    str object = branch_object(cx, br);
    return ctx_fail(cx, E_BUSY, RES_TABLE, object,
                    "table %.*s takes no change: %s; nothing was done", STR(object),
                    br->fork_why ? br->fork_why : "it is forked");
}

int branch_head(struct ctx *cx, struct branch *br, struct head **ret)
{
    TRY(branch_enter(cx, br));
    *ret = br->head ? head_ref(br->head) : NULL;
    return 0;
}
