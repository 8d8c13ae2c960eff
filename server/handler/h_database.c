/* h_database.c - databases: list, create, get, alter, drop. All on a worker.
 *
 * Create and drop answer 200 with an empty body, which is what Paimon's clients expect. */
#include "proto/api/api_database.h"
#include "server/handler/handlers.h"
#include "server/server.h"

int h_database_list(struct request *rq)
{
    struct page_in in;
    str *names;
    size_t n;
    TRY(h_page(rq, "databaseNamePattern", &in));
    TRY(cat_db_list(&rq->cx, rq->srv->cat, rq->warehouse, &in, &names, &n));
    return api_names_encode(&rq->cx, &rq->res.body, "databases", names, n, in.limit);
}

int h_database_create(struct request *rq)
{
    const struct json *body;
    struct api_database_create in;
    TRY(rq_json(rq, &body));
    TRY(api_database_create_decode(&rq->cx, body, &in));
    return cat_db_create(&rq->cx, rq->srv->cat, rq->warehouse, in.name, in.options_json);
}

int h_database_get(struct request *rq)
{
    struct database db;
    TRY(cat_db_get(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], &db));
    struct api_database out = {.id = db.row.id,
                               .name = db.row.name,
                               .location = db.location,
                               .options_json = db.row.options_json,
                               .audit = h_audit(&db.row.stamp)};
    return api_database_encode(&rq->cx, &rq->res.body, &out);
}

int h_database_alter(struct request *rq)
{
    const struct json *body;
    struct api_database_alter in;
    struct db_alter_out done;
    TRY(rq_json(rq, &body));
    TRY(api_database_alter_decode(&rq->cx, body, &in));
    TRY(cat_db_alter(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], in.removals, in.updates,
                     &done));
    struct api_database_altered out = {.removed = done.removed,
                                       .n_removed = done.n_removed,
                                       .updated = done.updated,
                                       .n_updated = done.n_updated,
                                       .missing = done.missing,
                                       .n_missing = done.n_missing};
    return api_database_altered_encode(&rq->cx, &rq->res.body, &out);
}

int h_database_drop(struct request *rq)
{
    return cat_db_drop(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1]);
}
