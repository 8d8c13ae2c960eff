/* intent.c - what touches more than one file or row: written down, done, crossed out.
 *
 * Those in the table below belong to a branch and are finished on its strand by whoever opens the
 * branch first. "create" and "purge" name a directory that must go: a create that did not reach its
 * row, a table that was dropped (purge.c). At start only what has an open intent is touched.
 *
 * Memory for the open intent is taken before it is stored: once it is stored, it must be known here.
 * While it is open readers are not answered. */
#include "catalog/catalog_int.h"

#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"
#include "proto/json/json.h"

#define RESUME_ARENA_MAX ((size_t)256 << 20) /* as much as a request has by default */

static const struct {
    const char *kind;
    int (*finish)(struct ctx *cx, struct branch *br);
} of_branch[] = {
    {"rollback", rollback_finish},
    {"rollback-schema", schema_rollback_finish},
    {"branch-create", branch_create_finish},
    {"branch-drop", branch_drop_finish},
    {"branch-rename", branch_rename_finish},
    {"forward", forward_finish},
    {"replace", replace_finish},
    {"believe", believe_finish},
};

static int (*finisher(str kind))(struct ctx *cx, struct branch *br)
{
    for (size_t i = 0; i < sizeof of_branch / sizeof *of_branch; i++)
        if (str_eqz(kind, of_branch[i].kind))
            return of_branch[i].finish;
    return NULL;
}

int intent_args(struct ctx *cx, struct branch *br, const struct json **ret)
{
    str text = str_dup(&cx->arena, str_of(br->intent_args));
    if (!text.p)
        return ctx_nomem(cx);
    return json_parse(cx, text, "intent", ret);
}

int intent_write(struct ctx *cx, struct branch *br, const char *kind, str args, bool bump_epoch,
                 str reserves, const char *action)
{
    str db, name;
    int64_t id, epoch;
    struct store_intent_in in = {.row = {.table_id = str_of(br->table->id),
                                         .branch = str_of(br->name),
                                         .kind = str_of(kind),
                                         .args_json = args,
                                         .reserves = reserves,
                                         .warehouse_id = br->table->wh->id,
                                         .created_ms = clock_wall_ms()},
                                 .bump_epoch = bump_epoch,
                                 .expect_epoch = atomic_load(&br->epoch),
                                 .expect_head_id = br->head ? br->head->id : 0};
    table_names(br->table, &db, &name);
    audit_fill(cx, &in.audit, action, br->table->wh, db, name);
    if (branch_set_intent(br, -1, in.row.kind, args) < 0)
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
    return 0;
}

int intent_carry_out(struct ctx *cx, struct branch *br)
{
    int rc = intent_finish(cx, br);
    if (rc >= 0 || br->intent_id == 0) /* done, or given up as if it had not begun */
        return rc;
    ctx_prefix(cx, "the %s is begun and will be finished at the next request",
               br->intent_kind ? br->intent_kind : "change");
    return cx->err.code = E_UNKNOWN;
}

int intent_give_up(struct ctx *cx, struct branch *br)
{
    ctx_reset_err(cx);
    TRY(STORE(br->table->cat->o.store, intent_finish, cx, br->intent_id));
    IGNORE(branch_set_intent(br, 0, STR_NONE, STR_NONE));
    return 0;
}

int intent_finish(struct ctx *cx, struct branch *br)
{
    int (*finish)(struct ctx * cx, struct branch * br) = finisher(str_of(br->intent_kind));
    if (finish)
        return finish(cx, br);
    return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                    "this version does not know the open intent '%s' of a table; start the newer "
                    "Latch that wrote it",
                    br->intent_kind);
}

struct resume {
    struct strand_task task;
    struct branch *br;
};

static void resume_run(struct strand_task *task)
{
    struct resume *r = (struct resume *)task;
    struct ctx cx;
    ctx_init(&cx, RESUME_ARENA_MAX);
    int rc = branch_enter(&cx, r->br);
    if (rc < 0 && rc != E_NEED) /* a snapshot to adopt waits for the first request */
        log_warn("catalog", "intent.waits", LS("table", branch_full_name(&cx, r->br)),
                 LZ("err", cx.err.msg));
    ctx_done(&cx);
    branch_unref(r->br);
    mem_free(r);
}

/* Opens the branch, which finishes its intent. What fails now waits for the first request. */
static void resume_branch(struct ctx *cx, struct catalog *c, const struct intent_row *in)
{
    struct warehouse *w = warehouse_by_id(c, in->warehouse_id);
    struct table *t = NULL;
    struct branch *br = NULL;
    struct resume *r = mem_zalloc(sizeof *r);
    int rc = w && r ? table_open_by_id(cx, c, w, in->table_id, &t) : E_NOTFOUND;
    if (rc == 0)
        rc = table_branch(cx, t, in->branch, &br);
    table_unref(t);
    if (rc == 0) {
        r->br = br;
        r->task.fn = resume_run;
        rc = strand_post(&br->strand, &r->task);
    }
    if (rc < 0) {
        log_warn("catalog", "intent.waits", LS("table_id", in->table_id), LZ("err", cx->err.msg));
        branch_unref(br);
        mem_free(r);
        ctx_reset_err(cx);
    }
}

int intents_resume(struct ctx *cx, struct catalog *c)
{
    struct intent_row *rows;
    size_t n;
    TRY(STORE(c->o.store, intents_open, cx, &rows, &n));
    for (size_t i = 0; i < n; i++) {
        log_info("catalog", "intent.resume", LS("kind", rows[i].kind),
                 LS("table_id", rows[i].table_id), LI("intent", rows[i].id));
        if (finisher(rows[i].kind))
            resume_branch(cx, c, &rows[i]);
        else if (!str_eqz(rows[i].kind, "create") && !str_eqz(rows[i].kind, "purge"))
            log_warn("catalog", "intent.waits", LI("intent", rows[i].id),
                     LZ("next", "this version does not know it"));
        else if (purge_post(c, &rows[i]) < 0)
            log_warn("catalog", "intent.waits", LI("intent", rows[i].id),
                     LZ("next", "tried again at the next start"));
    }
    return 0;
}
