/* h_conflict.c - the conflict list of a branch: a page of it, and one entry. Routes of our own.
 *
 * The list is in the store, so both are answered on a worker and whatever state the branch is in: who
 * asks why a commit was refused is not sent to wait for its turn. */
#include "catalog/conflict_list.h"
#include "proto/api/api_conflict.h"
#include "server/handler/handlers.h"
#include "server/server.h"

static struct api_conflict shown(const struct conflict_row *r)
{
    return (struct api_conflict){.id = r->id,
                                 .code = r->code,
                                 .accepted = r->accepted,
                                 .count = r->count,
                                 .first_ms = r->first_ms,
                                 .last_ms = r->last_ms,
                                 .snapshot_id = r->snapshot_id,
                                 .identifier = r->identifier,
                                 .commit_user = r->commit_user,
                                 .kind = r->kind,
                                 .principal = r->principal,
                                 .placed = r->placed,
                                 .partition = r->partition,
                                 .bucket = r->bucket,
                                 .file = r->file,
                                 .other_snapshot = r->other_snapshot,
                                 .other_user = r->other_user,
                                 .message = r->message};
}

int h_conflict_list(struct request *rq)
{
    struct branch *br;
    struct conflicts_in in = {0};
    struct conflict_row *rows;
    str token;
    size_t n;
    TRY(h_open_branch(rq, &br));
    TRY(rq_page(rq, &in.limit, &token));
    TRY(api_conflict_token(&rq->cx, token, &in.below));
    TRY(rq_query(rq, "code", &in.code));
    TRY(branch_conflicts(&rq->cx, br, &in, &rows, &n));
    struct api_conflict *v = ARENA_ARRAY(&rq->cx.arena, struct api_conflict, n + 1);
    if (!v)
        return ctx_nomem(&rq->cx);
    for (size_t i = 0; i < n; i++)
        v[i] = shown(&rows[i]);
    return api_conflicts_encode(&rq->cx, &rq->res.body, v, n, in.limit);
}

int h_conflict_get(struct request *rq)
{
    struct branch *br;
    struct conflict_row row;
    int64_t id;
    TRY(h_open_branch(rq, &br));
    TRY(api_conflict_id(&rq->cx, rq->params[3], &id));
    TRY(branch_conflict(&rq->cx, br, id, &row));
    struct api_conflict v = shown(&row);
    return api_conflict_encode(&rq->cx, &rq->res.body, &v);
}
