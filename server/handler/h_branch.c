/* h_branch.c - branches of a table: list, create, drop, rename, forward; and rollback-schema, which
 * any branch may be asked for.
 *
 * The table of the path is named without a branch: its branches are the table's, whichever one asks.
 * Create, drop and rename run on the strand of the branch they name, forward on main's. Forward settles
 * the branch first, so that it sees the branch's newest commit. */
#include "proto/api/api_branch.h"
#include "server/handler/handlers.h"
#include "server/server.h"

int h_branch_list(struct request *rq)
{
    struct branch *br;
    str *names;
    size_t n;
    TRY(h_open_branch(rq, &br));
    TRY(cat_branch_list(&rq->cx, br, &names, &n));
    return api_branches_encode(&rq->cx, &rq->res.body, names, n);
}

struct job {
    struct branch *main, *br;
    struct api_branch_create in;
    str to;
    int64_t schema_id;
};

static int job_new(struct request *rq, struct job **ret)
{
    struct job *j = ARENA_NEW(&rq->cx.arena, struct job);
    if (!j)
        return ctx_nomem(&rq->cx);
    rq->state = j;
    *ret = j;
    return 0;
}

static int create_open(struct request *rq);

static int create_turn(struct request *rq)
{
    struct job *j = rq->state;
    int rc = branch_create(&rq->cx, j->br, j->in.tag);
    if (rc != CAT_NEED)
        return rc;
    rq->next = create_open;
    return STEP_WORKER;
}

static int create_open(struct request *rq)
{
    struct job *j = rq->state;
    TRY(ctx_check_deadline(&rq->cx));
    TRY(cat_branch_new(&rq->cx, j->main, j->in.name, &j->br));
    TRY(branch_defer_unref(&rq->cx, j->br));
    return h_to_strand(rq, j->br, create_turn);
}

int h_branch_create(struct request *rq)
{
    const struct json *body;
    struct job *j;
    TRY(job_new(rq, &j));
    TRY(h_open_main(rq, &j->main));
    TRY(rq_json(rq, &body));
    TRY(api_branch_create_decode(&rq->cx, body, &j->in));
    return create_open(rq);
}

/* The branch that {branch} names, once main is open. */
static int open_named(struct request *rq, struct job *j)
{
    TRY(cat_branch_of(&rq->cx, j->main, rq->params[3], &j->br));
    return branch_defer_unref(&rq->cx, j->br);
}

static int drop_turn(struct request *rq)
{
    struct job *j = rq->state;
    return branch_drop(&rq->cx, j->br);
}

int h_branch_drop(struct request *rq)
{
    struct job *j;
    TRY(job_new(rq, &j));
    TRY(h_open_main(rq, &j->main));
    TRY(open_named(rq, j));
    return h_to_strand(rq, j->br, drop_turn);
}

static int rename_turn(struct request *rq)
{
    struct job *j = rq->state;
    return branch_rename(&rq->cx, j->br, j->to);
}

int h_branch_rename(struct request *rq)
{
    const struct json *body;
    struct job *j;
    TRY(job_new(rq, &j));
    TRY(h_open_main(rq, &j->main));
    TRY(rq_json(rq, &body));
    TRY(api_branch_rename_decode(&rq->cx, body, &j->to));
    TRY(open_named(rq, j));
    return h_to_strand(rq, j->br, rename_turn);
}

static int forward_turn(struct request *rq)
{
    struct job *j = rq->state;
    return branch_forward(&rq->cx, j->main, rq->params[3]);
}

static int forward_next(struct request *rq)
{
    struct job *j = rq->state;
    return h_to_strand(rq, j->main, forward_turn);
}

static int forward_settle(struct request *rq)
{
    struct job *j = rq->state;
    TRY(branch_settle(&rq->cx, j->br));
    rq->next = forward_next;
    return STEP_WORKER;
}

int h_branch_forward(struct request *rq)
{
    const struct json *body; /* an object without members that matter */
    struct job *j;
    TRY(job_new(rq, &j));
    TRY(h_open_main(rq, &j->main));
    TRY(rq_json(rq, &body));
    TRY(open_named(rq, j));
    return h_to_strand(rq, j->br, forward_settle);
}

static int rollback_schema_turn(struct request *rq)
{
    struct job *j = rq->state;
    return branch_rollback_schema(&rq->cx, j->br, j->schema_id);
}

int h_rollback_schema(struct request *rq)
{
    const struct json *body;
    struct job *j;
    TRY(job_new(rq, &j));
    TRY(h_open_branch(rq, &j->br));
    TRY(rq_json(rq, &body));
    TRY(api_rollback_schema_decode(&rq->cx, body, &j->schema_id));
    return h_to_strand(rq, j->br, rollback_schema_turn);
}
