/* h_function.c - functions: list (of a database, of all, with details), create, get, alter, drop.
 * All on a worker.
 *
 * What changes something answers 200 with an empty body, which is what Paimon's clients expect. */
#include "proto/api/api_function.h"
#include "server/handler/handlers.h"
#include "server/server.h"

int h_function_list(struct request *rq)
{
    struct page_in in;
    str *names;
    size_t n;
    TRY(h_page(rq, "functionNamePattern", &in));
    TRY(cat_names(&rq->cx, rq->srv->cat, rq->warehouse, OBJECT_FUNCTION, rq->params[1], &in,
                  STR_NONE, &names, &n));
    return api_names_encode(&rq->cx, &rq->res.body, "functions", names, n, in.limit);
}

int h_function_find(struct request *rq)
{
    struct store_find_in in;
    struct name_pair *pairs;
    size_t n;
    TRY(h_find_page(rq, "functionNamePattern", OBJECT_FUNCTION, &in));
    TRY(cat_find(&rq->cx, rq->srv->cat, rq->warehouse, &in, &pairs, &n));
    return h_answer_pairs(rq, "functions", pairs, n, in.limit);
}

static struct api_function function_of(const struct object_row *row)
{
    return (struct api_function){
        .id = row->id, .name = row->name, .json = row->json, .audit = h_audit(&row->stamp)};
}

int h_function_details(struct request *rq)
{
    struct page_in in;
    struct object_row *rows;
    size_t n;
    TRY(h_page(rq, "functionNamePattern", &in));
    TRY(cat_object_details(&rq->cx, rq->srv->cat, rq->warehouse, OBJECT_FUNCTION, rq->params[1],
                           &in, &rows, &n));
    struct api_function *functions = ARENA_ARRAY(&rq->cx.arena, struct api_function, n + 1);
    if (!functions)
        return ctx_nomem(&rq->cx);
    for (size_t i = 0; i < n; i++)
        functions[i] = function_of(&rows[i]);
    return api_functions_encode(&rq->cx, &rq->res.body, functions, n, in.limit);
}

int h_function_create(struct request *rq)
{
    const struct json *body;
    str name;
    TRY(rq_json(rq, &body));
    TRY(api_function_create_decode(&rq->cx, body, &name));
    return cat_function_create(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], name, body);
}

int h_function_get(struct request *rq)
{
    struct object_row row;
    TRY(cat_object_get(&rq->cx, rq->srv->cat, rq->warehouse, OBJECT_FUNCTION, rq->params[1],
                       rq->params[2], &row));
    struct api_function out = function_of(&row);
    return api_function_encode(&rq->cx, &rq->res.body, &out);
}

int h_function_alter(struct request *rq)
{
    const struct json *body, *changes;
    TRY(rq_json(rq, &body));
    TRY(api_changes_decode(&rq->cx, body, &changes));
    return cat_function_alter(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], rq->params[2],
                              changes);
}

int h_function_drop(struct request *rq)
{
    return cat_object_drop(&rq->cx, rq->srv->cat, rq->warehouse, OBJECT_FUNCTION, rq->params[1],
                           rq->params[2]);
}
