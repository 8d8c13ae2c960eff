/* h_tag.c - tags of a branch: list, create, get, delete.
 *
 * Create and delete have an order with the branch's commits and rollbacks, so they run on its strand,
 * and answer 200 with an empty body. Reading goes to the files, on a worker, once the branch is
 * settled: a rollback that a crash left open may have tags still to take away. */
#include "proto/api/api_tag.h"
#include "server/handler/handlers.h"
#include "server/server.h"

static int browse(struct request *rq, int (*read)(struct request *rq))
{
    struct h_settled *b = ARENA_NEW(&rq->cx.arena, struct h_settled);
    return b ? h_settle(rq, b, read) : ctx_nomem(&rq->cx);
}

static int read_names(struct request *rq)
{
    struct h_settled *b = rq->state;
    struct page_in in = {0};
    str *names;
    size_t n;
    TRY(rq_page(rq, &in.limit, &in.after));
    TRY(rq_query(rq, "tagNamePrefix", &in.prefix));
    TRY(branch_tag_names(&rq->cx, b->br, &in, &names, &n));
    return api_names_encode(&rq->cx, &rq->res.body, "tags", names, n, in.limit);
}

int h_tag_list(struct request *rq)
{
    return browse(rq, read_names);
}

static int read_tag(struct request *rq)
{
    struct h_settled *b = rq->state;
    struct tag_info t;
    str name = rq->params[3];
    TRY(branch_tag_get(&rq->cx, b->br, name, &t));
    struct api_tag out = {.name = name,
                          .snapshot_json = t.snapshot_json,
                          .has_created = t.has_created,
                          .created_ms = t.created_ms,
                          .time_retained = t.time_retained};
    return api_tag_encode(&rq->cx, &rq->res.body, &out);
}

int h_tag_get(struct request *rq)
{
    return browse(rq, read_tag);
}

struct create {
    struct branch *br;
    struct tag_create_in in; /* its text is in the parsed body */
};

static int create_turn(struct request *rq)
{
    struct create *c = rq->state;
    return branch_tag_create(&rq->cx, c->br, &c->in);
}

int h_tag_create(struct request *rq)
{
    const struct json *body;
    struct api_tag_create in;
    struct create *c = ARENA_NEW(&rq->cx.arena, struct create);
    if (!c)
        return ctx_nomem(&rq->cx);
    TRY(rq_json(rq, &body));
    TRY(api_tag_create_decode(&rq->cx, body, &in));
    TRY(h_open_branch(rq, &c->br));
    c->in = (struct tag_create_in){.name = in.name,
                                   .snapshot_id = {in.has_snapshot_id, in.snapshot_id},
                                   .time_retained = in.time_retained};
    rq->state = c;
    return h_to_strand(rq, c->br, create_turn);
}

static int delete_turn(struct request *rq)
{
    return branch_tag_delete(&rq->cx, rq->state, rq->params[3]);
}

int h_tag_delete(struct request *rq)
{
    struct branch *br;
    TRY(h_open_branch(rq, &br));
    rq->state = br;
    return h_to_strand(rq, br, delete_turn);
}
