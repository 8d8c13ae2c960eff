/* h_config.c - GET /v1/config: which warehouse a client gets, and under which prefix.
 *
 * Clients name the warehouse once, when they open a catalog; from then on its prefix stands in
 * every path. Inline: warehouses are in memory. */
#include "proto/api/api_config.h"
#include "server/handler/handlers.h"
#include "server/server.h"

int h_config(struct request *rq)
{
    const struct warehouse *w;
    str name;
    TRY(rq_query(rq, "warehouse", &name));
    TRY(cat_warehouse_find(&rq->cx, rq->srv->cat, rq->who, name, &w));
    return api_config_encode(&rq->cx, &rq->res.body, warehouse_options(w), warehouse_prefix(w));
}
