/* h_consumer.c - consumers of a branch: list, reset (which deletes, when no snapshot is given).
 *
 * A reset looks at the head, so it runs on the branch's strand; the list goes to the files, on a
 * worker. */
#include "proto/api/api_consumer.h"
#include "server/handler/handlers.h"
#include "server/server.h"

static int read_page(struct request *rq)
{
    struct h_settled *b = rq->state;
    struct page_in in = {0};
    struct consumer_info *v;
    size_t n;
    TRY(rq_page(rq, &in.limit, &in.after));
    TRY(branch_consumers(&rq->cx, b->br, &in, &v, &n));
    struct api_consumer *out = ARENA_ARRAY(&rq->cx.arena, struct api_consumer, n ? n : 1);
    if (!out)
        return ctx_nomem(&rq->cx);
    for (size_t i = 0; i < n; i++)
        out[i] = (struct api_consumer){v[i].id, v[i].next_snapshot};
    return api_consumers_encode(&rq->cx, &rq->res.body, out, n, in.limit);
}

int h_consumer_list(struct request *rq)
{
    struct h_settled *b = ARENA_NEW(&rq->cx.arena, struct h_settled);
    return b ? h_settle(rq, b, read_page) : ctx_nomem(&rq->cx);
}

struct reset {
    struct branch *br;
    struct api_consumer_reset in; /* its text is in the parsed body */
};

static int reset_turn(struct request *rq)
{
    struct reset *r = rq->state;
    return r->in.has_next ? branch_consumer_reset(&rq->cx, r->br, r->in.id, r->in.next_snapshot)
                          : branch_consumer_delete(&rq->cx, r->br, r->in.id);
}

int h_consumer_reset(struct request *rq)
{
    const struct json *body;
    struct reset *r = ARENA_NEW(&rq->cx.arena, struct reset);
    if (!r)
        return ctx_nomem(&rq->cx);
    TRY(rq_json(rq, &body));
    TRY(api_consumer_reset_decode(&rq->cx, body, &r->in));
    TRY(h_open_branch(rq, &r->br));
    rq->state = r;
    return h_to_strand(rq, r->br, reset_turn);
}
