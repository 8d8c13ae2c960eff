/* h_native.c - POST /latch/v1/…/commits: a commit by the data files that it adds and deletes; the server
 * writes the metadata and answers the snapshot. Phases as in h_commit.c; a race is never the caller's. */
#include "catalog/native.h"
#include "proto/api/api_native.h"
#include "server/handler/handlers.h"
#include "server/server.h"

struct native_job { /* in the request's arena, like the parsed body that `body` points into */
    struct api_native body;
    struct branch *br;
    struct native *nc;
    struct native_done done;
};

static int prepare(struct request *rq);

static int answer(struct request *rq)
{
    struct native_job *job = rq->state;
    TRY(native_text(&rq->cx, job->nc, &job->done));
    return api_native_encode(&rq->cx, &rq->res.body, job->done.json, job->done.id,
                             job->done.replayed);
}

static int run(struct request *rq)
{
    struct native_job *job = rq->state;
    int rc = native_run(&rq->cx, job->nc, &job->done);
    TRY(rc);
    if (rc == 0 && job->done.json.p)
        return answer(rq);
    rq->next = rc == CAT_NEED ? prepare : answer;
    return STEP_WORKER;
}

static int prepare(struct request *rq)
{
    struct native_job *job = rq->state;
    TRY(native_prepare(&rq->cx, job->nc));
    return h_to_strand(rq, job->br, run);
}

int h_native_commit(struct request *rq)
{
    struct native_job *job = ARENA_NEW(&rq->cx.arena, struct native_job);
    const struct json *body;
    if (!job)
        return ctx_nomem(&rq->cx);
    TRY(h_open_branch(rq, &job->br));
    TRY(rq_json(rq, &body));
    TRY(api_native_decode(&rq->cx, body, &job->body));
    struct native_in in = {.body = &job->body, .answer = &rq->res.body};
    TRY(native_new(&rq->cx, job->br, &in, &job->nc));
    rq->state = job;
    return prepare(rq);
}
