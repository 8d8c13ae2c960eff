/* h_state.c - GET …/state: what is in memory of a branch, compared with its files if asked. */
#include "proto/api/api_state.h"
#include "server/handler/handlers.h"
#include "server/server.h"

static int prepare(struct request *rq);

static int run(struct request *rq)
{
    struct state_report r;
    int rc = state_check_run(&rq->cx, rq->state, &r);
    if (rc == CAT_NEED) {
        rq->next = prepare;
        return STEP_WORKER;
    }
    TRY(rc);
    struct api_state s = {.snapshot_id = r.snapshot_id,
                          .epoch = r.epoch,
                          .forked = r.forked,
                          .in_memory = r.in_memory,
                          .files = r.files,
                          .rows = r.rows,
                          .size_bytes = r.size_bytes,
                          .partitions = r.partitions,
                          .buckets = r.buckets,
                          .manifests = r.manifests,
                          .index_files = r.index_files,
                          .vectors = r.vectors,
                          .memory_bytes = r.memory_bytes,
                          .compared = r.compared,
                          .equal = r.equal,
                          .differences = r.differences};
    return api_state_encode(&rq->cx, &rq->res.body, &s);
}

static int prepare(struct request *rq)
{
    TRY(state_check_prepare(&rq->cx, rq->state));
    return h_to_strand(rq, rq->branch, run);
}

int h_state(struct request *rq)
{
    struct branch *br;
    struct state_check *ck;
    str check;
    TRY(rq_query(rq, "check", &check));
    TRY(h_open_branch(rq, &br));
    TRY(state_check_new(&rq->cx, br, str_eqz(check, "true"), &ck));
    rq->state = ck;
    return prepare(rq);
}
