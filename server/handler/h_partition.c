/* h_partition.c - GET …/partitions: says that the totals of partitions are not known here.
 *
 * 501 is an answer of the protocol: clients then list the partitions from the manifests. A table
 * that does not exist is 404 all the same. On a worker. */
#include "server/handler/handlers.h"
#include "server/server.h"

int h_partition_list(struct request *rq)
{
    struct table_info t;
    str object = rq->params[2];
    TRY(cat_table_get(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], object, &t));
    return ctx_fail(&rq->cx, E_UNSUPPORTED, RES_TABLE, object,
                    "this server keeps no totals of partitions; list them from the manifests, as "
                    "Paimon's clients do");
}
