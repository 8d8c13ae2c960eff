/* h_ops.c - for those who run the server: is it alive, can it serve, what does it count, what does
 * it offer.
 *
 * /healthz says only that the process answers: a restart would not cure a full disk. /readyz asks
 * the store and the warehouses, on a worker, and says 503 while the server stops, so that a load
 * balancer sends new clients elsewhere. Neither needs a token; their answers name no paths of ours
 * beyond what catalog_ready reports. */
#include "proto/base/clock.h"
#include "proto/json/json.h"
#include "server/handler/handlers.h"
#include "server/server.h"

#define READY_MS 1000
#include "server/version.h"

extern const char latch_openapi[]; /* openapi.S */
extern const size_t latch_openapi_len;

int h_healthz(struct request *rq)
{
    struct json_out o;
    json_out_init(&o, &rq->res.body);
    json_obj(&o);
    json_kstr(&o, "status", STR_LIT("ok"));
    json_kstr(&o, "version", str_of(latch_version()));
    json_end(&o);
    return STEP_DONE;
}

static void write_ready(struct buf *b, const char *problem)
{
    struct json_out o;
    json_out_init(&o, b);
    json_obj(&o);
    json_kbool(&o, "ready", problem == NULL);
    json_key(&o, "problems");
    json_arr(&o);
    if (problem)
        json_str(&o, str_of(problem));
    json_end(&o);
    json_end(&o);
}

/* The question costs a durable transaction and needs no token, so a yes is good for READY_MS. */
static int ready(struct request *rq)
{
    static _Atomic int64_t ok_until_ms;
    if (clock_mono_ms() < atomic_load(&ok_until_ms))
        return 0;
    TRY(catalog_ready(&rq->cx, rq->srv->cat));
    atomic_store(&ok_until_ms, clock_mono_ms() + READY_MS);
    return 0;
}

int h_readyz(struct request *rq)
{
    const char *problem = NULL;
    if (srv_draining(rq->srv))
        problem = "the server is stopping";
    else if (ready(rq) < 0)
        problem = rq->cx.err.msg;
    write_ready(&rq->res.body, problem);
    if (problem) {
        rq->res.status = 503;
        rq->res.retry_after_s = 1;
    }
    return STEP_DONE;
}

int h_metrics(struct request *rq)
{
    metrics_write(rq->srv, &rq->res.body);
    rq->res.content_type = "text/plain; version=0.0.4; charset=utf-8";
    return STEP_DONE;
}

int h_openapi(struct request *rq)
{
    buf_add(&rq->res.body, latch_openapi, latch_openapi_len);
    return STEP_DONE;
}
