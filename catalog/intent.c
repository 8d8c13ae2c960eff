/* intent.c - what touches more than one file or row: written down, done, crossed out.
 *
 * Kinds: "rollback" belongs to a branch and is finished on its strand by whoever opens the branch
 * first (rollback.c). "create" and "purge" name a directory that must go: a create that did not
 * reach its row, a table that was dropped (purge.c). At start only what has an open intent is
 * touched. */
#include "catalog/catalog_int.h"

#include "proto/base/log.h"
#include "proto/base/mem.h"

#define RESUME_ARENA_MAX ((size_t)256 << 20) /* as much as a request has by default */

int intent_finish(struct ctx *cx, struct branch *br)
{
    if (str_eqz(STR_LIT("rollback"), br->intent_kind))
        return rollback_finish(cx, br);
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
    if (branch_enter(&cx, r->br) < 0)
        log_warn("catalog", "intent.waits", LS("table", branch_object(&cx, r->br)),
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
    if (rc == 0) {
        r->br = br;
        r->task.fn = resume_run;
        rc = strand_post(&br->strand, &r->task);
    }
    if (rc < 0) {
        log_warn("catalog", "intent.waits", LS("table_id", in->table_id), LZ("err", cx->err.msg));
        table_unref(t);
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
        if (str_eqz(rows[i].kind, "rollback"))
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
