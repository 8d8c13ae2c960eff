/* h_commit.c - POST …/commit: a client asks for its snapshot to become the next one of a branch.
 *
 * Phases: decode, commit_lost and commit_prepare on a worker, commit_run on the branch's strand, and back to the
 * worker as often as commit_run asks (CAT_NEED). A lost race is 200 {"success":false}; clients then
 * build on the new head and post again. `false` and 4xx are said only when nothing happened. */
#include "proto/api/api_commit.h"
#include "server/handler/handlers.h"
#include "server/server.h"

struct commit_job { /* in the request's arena, like the parsed body that `in` points into */
    struct commit_in in;
    struct branch *br;
    struct commit *cm;
};

static int prepare(struct request *rq);

static int run(struct request *rq)
{
    struct commit_job *job = rq->state;
    bool success;
    int rc = commit_run(&rq->cx, job->cm, &success);
    if (rc < 0)
        return rc;
    if (rc == CAT_NEED) {
        rq->next = prepare;
        return STEP_WORKER;
    }
    return api_commit_encode(&rq->cx, &rq->res.body, success);
}

static int prepare(struct request *rq)
{
    struct commit_job *job = rq->state;
    if (commit_lost(&rq->cx, job->cm))
        return api_commit_encode(&rq->cx, &rq->res.body, false);
    TRY(commit_prepare(&rq->cx, job->cm));
    return h_to_strand(rq, job->br, run);
}

static int decode(struct request *rq, struct commit_in *ret)
{
    const struct json *body;
    struct api_commit in;
    TRY(rq_json(rq, &body));
    TRY(api_commit_decode(&rq->cx, body, &in));
    *ret = (struct commit_in){
        .table_id = in.table_id,
        .base_uuid = in.base_uuid,
        .snapshot = in.snapshot,
    };
    return 0;
}

int h_commit(struct request *rq)
{
    struct commit_job *job = ARENA_NEW(&rq->cx.arena, struct commit_job);
    /* Room for the answer is taken now: no failure may come between a commit and its answer. */
    if (!job || buf_reserve(&rq->res.body, API_COMMIT_ANSWER_MAX) < 0)
        return ctx_nomem(&rq->cx);
    TRY(h_open_branch(rq,
                      &job->br)); /* first: a table that is not there is 404 whatever the body */
    TRY(decode(rq, &job->in));
    TRY(commit_new(&rq->cx, job->br, &job->in, &job->cm));
    rq->state = job;
    return prepare(rq);
}
