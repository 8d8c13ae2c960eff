/* handlers.c - steps that several handlers share: pages, and the way from a path to a branch.
 *
 * The reference on a branch rides in the request's arena, so the strand that hangs in it outlives
 * every phase of the request. Nothing is kept here. */
#include "server/handler/handlers.h"
#include "server/server.h"

int h_page(struct request *rq, const char *pattern, struct page_in *ret)
{
    struct page_in in;
    TRY(rq_page(rq, &in.limit, &in.after));
    TRY(rq_pattern(rq, pattern, &in.prefix, &in.exact));
    *ret = in;
    return 0;
}

int h_find_page(struct request *rq, const char *pattern, enum object_kind kind,
                struct store_find_in *ret)
{
    struct store_find_in in = {.kind = kind};
    struct api_ident after;
    str token;
    TRY(rq_page(rq, &in.limit, &token));
    TRY(api_ident_token(&rq->cx, token, &after));
    TRY(rq_pattern(rq, "databaseNamePattern", &in.db.text, &in.db.exact));
    TRY(rq_pattern(rq, pattern, &in.name.text, &in.name.exact));
    in.after = (struct name_pair){after.database, after.object};
    *ret = in;
    return 0;
}

int h_answer_pairs(struct request *rq, const char *member, const struct name_pair *pairs, size_t n,
                   int64_t limit)
{
    struct api_ident *idents = ARENA_ARRAY(&rq->cx.arena, struct api_ident, n + 1);
    if (!idents)
        return ctx_nomem(&rq->cx);
    for (size_t i = 0; i < n; i++)
        idents[i] = (struct api_ident){pairs[i].db, pairs[i].name};
    return api_idents_encode(&rq->cx, &rq->res.body, member, idents, n, limit);
}

struct api_audit h_audit(const struct stamp *s)
{
    return (struct api_audit){.owner = s->owner,
                              .created_by = s->created_by,
                              .updated_by = s->updated_by,
                              .created_ms = s->created_ms,
                              .updated_ms = s->updated_ms};
}

int h_open_branch(struct request *rq, struct branch **ret)
{
    struct branch *br;
    TRY(cat_branch_open(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], rq->params[2], &br));
    TRY(branch_defer_unref(&rq->cx, br));
    rq->branch = br;
    *ret = br;
    return 0;
}

int h_open_main(struct request *rq, struct branch **ret)
{
    str object = rq->params[2];
    TRY(h_open_branch(rq, ret));
    if (str_find(object, '$') < 0 || str_ends(object, STR_LIT("$branch_main")))
        return 0;
    return ctx_fail(&rq->cx, E_UNSUPPORTED, RES_TABLE, object,
                    "%.*s names a branch; this can only be done to the table itself",
                    API_SHOWN(object));
}

static int settle_turn(struct request *rq)
{
    struct h_settled *s = rq->state;
    struct head *h;
    TRY(branch_head(&rq->cx, s->br, &h));
    head_unref(h);
    rq->next = s->read;
    return STEP_WORKER;
}

int h_settle(struct request *rq, struct h_settled *s, int (*read)(struct request *rq))
{
    struct head *h = NULL;
    TRY(h_open_branch(rq, &s->br));
    s->read = read;
    rq->state = s;
    enum peek there = cat_head_peek(rq->srv->cat, rq->warehouse, rq->params[1], rq->params[2], &h);
    head_unref(h);
    return there == PEEK_ASK ? h_to_strand(rq, s->br, settle_turn) : read(rq);
}

int h_to_strand(struct request *rq, struct branch *br, int (*next)(struct request *rq))
{
    rq->strand = branch_strand(br);
    rq->next = next;
    return STEP_STRAND;
}
