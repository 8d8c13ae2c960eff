/* h_access.c - GET …/token and POST …/auth: how a client gets at a table's data.
 *
 * The files of a warehouse lie where clients reach them with options of their own, so a token
 * carries none, and there are no rules for rows or columns: both answers are the protocol's "nothing
 * to add", once the table was seen to be there. Clients ask for a token again when less than an hour
 * of it is left, and would do so for each file if it were shorter. */
#include "proto/api/api_access.h"
#include "proto/base/clock.h"
#include "server/handler/handlers.h"
#include "server/server.h"

#define TOKEN_MS ((int64_t)24 * 3600 * 1000)

static int table_must_be(struct request *rq)
{
    struct table_info t;
    return cat_table_get(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], rq->params[2], &t);
}

int h_table_token(struct request *rq)
{
    TRY(table_must_be(rq));
    return api_token_encode(&rq->cx, &rq->res.body, clock_wall_ms() + TOKEN_MS);
}

int h_table_auth(struct request *rq)
{
    const struct json *body, *select;
    TRY(rq_json(rq, &body));
    TRY(api_auth_decode(&rq->cx, body, &select));
    TRY(table_must_be(rq));
    return api_auth_encode(&rq->cx, &rq->res.body);
}
