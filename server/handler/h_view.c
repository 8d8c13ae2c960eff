/* h_view.c - views: list (of a database, of all, with details), create, get, alter, rename, drop.
 * All on a worker.
 *
 * What changes something answers 200 with an empty body, which is what Paimon's clients expect. */
#include "proto/api/api_view.h"
#include "server/handler/handlers.h"
#include "server/server.h"

int h_view_list(struct request *rq)
{
    struct page_in in;
    str *names;
    size_t n;
    TRY(h_page(rq, "viewNamePattern", &in));
    TRY(cat_names(&rq->cx, rq->srv->cat, rq->warehouse, OBJECT_VIEW, rq->params[1], &in, STR_NONE,
                  &names, &n));
    return api_names_encode(&rq->cx, &rq->res.body, "views", names, n, in.limit);
}

int h_view_find(struct request *rq)
{
    struct store_find_in in;
    struct name_pair *pairs;
    size_t n;
    TRY(h_find_page(rq, "viewNamePattern", OBJECT_VIEW, &in));
    TRY(cat_find(&rq->cx, rq->srv->cat, rq->warehouse, &in, &pairs, &n));
    return h_answer_pairs(rq, "views", pairs, n, in.limit);
}

static struct api_view view_of(const struct object_row *row)
{
    return (struct api_view){
        .id = row->id, .name = row->name, .schema_json = row->json, .audit = h_audit(&row->stamp)};
}

int h_view_details(struct request *rq)
{
    struct page_in in;
    struct object_row *rows;
    size_t n;
    TRY(h_page(rq, "viewNamePattern", &in));
    TRY(cat_object_details(&rq->cx, rq->srv->cat, rq->warehouse, OBJECT_VIEW, rq->params[1], &in,
                           &rows, &n));
    struct api_view *views = ARENA_ARRAY(&rq->cx.arena, struct api_view, n + 1);
    if (!views)
        return ctx_nomem(&rq->cx);
    for (size_t i = 0; i < n; i++)
        views[i] = view_of(&rows[i]);
    return api_views_encode(&rq->cx, &rq->res.body, views, n, in.limit);
}

int h_view_create(struct request *rq)
{
    const struct json *body;
    struct api_view_create in;
    TRY(rq_json(rq, &body));
    TRY(api_view_create_decode(&rq->cx, body, rq->params[1], &in));
    return cat_view_create(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], in.name, in.schema);
}

int h_view_get(struct request *rq)
{
    struct object_row row;
    TRY(cat_object_get(&rq->cx, rq->srv->cat, rq->warehouse, OBJECT_VIEW, rq->params[1],
                       rq->params[2], &row));
    struct api_view out = view_of(&row);
    return api_view_encode(&rq->cx, &rq->res.body, &out);
}

int h_view_alter(struct request *rq)
{
    const struct json *body, *changes;
    TRY(rq_json(rq, &body));
    TRY(api_changes_decode(&rq->cx, body, &changes));
    return cat_view_alter(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], rq->params[2],
                          changes);
}

int h_view_rename(struct request *rq)
{
    const struct json *body;
    struct api_view_rename in;
    TRY(rq_json(rq, &body));
    TRY(api_view_rename_decode(&rq->cx, body, &in));
    return cat_view_rename(&rq->cx, rq->srv->cat, rq->warehouse, in.source.database,
                           in.source.object, in.destination.database, in.destination.object);
}

int h_view_drop(struct request *rq)
{
    return cat_object_drop(&rq->cx, rq->srv->cat, rq->warehouse, OBJECT_VIEW, rq->params[1],
                           rq->params[2]);
}
