/* h_snapshot.c - what a branch's snapshots are: the latest, a page of them, one by version; and
 * rollback.
 *
 * GET …/snapshot is the busiest route: each commit of each client begins with it. It is answered on
 * the HTTP thread from a response that is built once a head, kept with it (head_view) and shared by
 * all requests. That response borrows the head's bytes, so every request that answers with it holds
 * a reference on the head until libmicrohttpd is done with the request. Only a branch that is not
 * in memory or not settled goes the long way, over a worker and the strand. */
#include "proto/api/api_snapshot.h"
#include "server/handler/handlers.h"
#include "server/http.h"
#include "server/server.h"

/* Clients take 404 with the type SNAPSHOT for "the table is there and empty". */
static int no_snapshot(struct request *rq)
{
    str object = rq->params[2];
    return ctx_fail(&rq->cx, E_NOTFOUND, RES_SNAPSHOT, object,
                    "table %.*s.%.*s has no snapshot yet", API_SHOWN(rq->params[1]),
                    API_SHOWN(object));
}

static void unref(void *h)
{
    head_unref(h);
}

/* Takes the reference on h over. */
static int answer_head(struct request *rq, struct head *h)
{
    if (arena_defer(&rq->cx.arena, unref, h) < 0)
        return ctx_nomem(&rq->cx);
    struct MHD_Response *view = head_view(h);
    if (!view) {
        view = http_shared_response(head_body(h));
        if (!view)
            return ctx_nomem(&rq->cx);
        view = head_set_view(h, view, http_shared_free);
    }
    rq->res.shared = view;
    return STEP_DONE;
}

static int head_turn(struct request *rq)
{
    struct head *h;
    TRY(branch_head(&rq->cx, rq->state, &h));
    return h ? answer_head(rq, h) : no_snapshot(rq);
}

static int open_for_head(struct request *rq)
{
    struct branch *br;
    TRY(h_open_branch(rq, &br));
    rq->state = br;
    return h_to_strand(rq, br, head_turn);
}

int h_snapshot(struct request *rq)
{
    struct head *h;
    switch (cat_head_peek(rq->srv->cat, rq->warehouse, rq->params[1], rq->params[2], &h)) {
    case PEEK_HEAD:
        return answer_head(rq, h);
    case PEEK_EMPTY:
        return no_snapshot(rq);
    case PEEK_ASK:
        break;
    }
    rq->next = open_for_head;
    return STEP_WORKER;
}

/* What is read from files is bounded by the head. */
static int browse(struct request *rq, int (*read)(struct request *rq))
{
    struct h_settled *b = ARENA_NEW(&rq->cx.arena, struct h_settled);
    return b ? h_settle(rq, b, read) : ctx_nomem(&rq->cx);
}

static int read_page(struct request *rq)
{
    struct h_settled *b = rq->state;
    int64_t limit, below, *ids;
    str token, *jsons;
    size_t n;
    TRY(rq_page(rq, &limit, &token));
    TRY(api_snapshot_token(&rq->cx, token, &below));
    TRY(branch_snapshots(&rq->cx, b->br, below, limit, &jsons, &ids, &n));
    return api_snapshots_encode(&rq->cx, &rq->res.body, jsons, ids, n, limit);
}

int h_snapshot_list(struct request *rq)
{
    return browse(rq, read_page);
}

static int read_version(struct request *rq)
{
    struct h_settled *b = rq->state;
    str json;
    TRY(branch_snapshot_at(&rq->cx, b->br, rq->params[3], &json));
    return api_snapshot_at_encode(&rq->cx, &rq->res.body, json);
}

int h_snapshot_at(struct request *rq)
{
    return browse(rq, read_version);
}

struct rollback {
    struct rollback_in in; /* its text is in the parsed body */
    struct branch *br;
};

static int rollback_turn(struct request *rq)
{
    struct rollback *r = rq->state;
    return branch_rollback(&rq->cx, r->br, &r->in);
}

int h_rollback(struct request *rq)
{
    const struct json *body;
    struct api_rollback in;
    struct rollback *r = ARENA_NEW(&rq->cx.arena, struct rollback);
    if (!r)
        return ctx_nomem(&rq->cx);
    TRY(h_open_branch(rq, &r->br));
    TRY(rq_json(rq, &body));
    TRY(api_rollback_decode(&rq->cx, body, &in));
    r->in = (struct rollback_in){
        .snapshot_id = in.snapshot_id, .tag = in.tag, .from_snapshot = in.from_snapshot};
    rq->state = r;
    return h_to_strand(rq, r->br, rollback_turn);
}
