/* dispatch.c - a request's way: stopping? route, token, warehouse, size, then the handler's phases.
 *
 *   rq_on_head  ->  [auth_load on a worker]  ->  body  ->  rq_on_end  ->  handler
 *   handler: STEP_DONE | STEP_WORKER: rq->next on the tenant's lane | STEP_STRAND: rq->next on
 * rq->strand | E_NEED of a turn: branch_gather on the branch's loads, then rq->next on rq->strand again
 *
 * The order is part of the contract: 404 and 405 for paths that are not ours, then 401 before
 * anything the caller could learn from, then 404 for the warehouse, then 413 and 503.
 *
 * Invariants: exactly one of rq_fail and finish runs for a request, once; it logs and counts. A
 * request is parked before it is posted, because the pool may be done with it before post returns;
 * after a post that worked it belongs to another thread and is not touched here.
 *
 * Errors are logged here and nowhere else: 500s as errors, 503s as warnings (one a second at most,
 * as they come in floods), all others at debug, since they are the caller's. */
#include "server/dispatch.h"

#include <inttypes.h>

#include "proto/api/api_error.h"
#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/rand.h"
#include "server/auth.h"
#include "server/http.h"
#include "server/server.h"

#define REQUEST_ID_MAX 64
#define GATHERS_MAX    3  /* off the strand; then a turn reads what it misses itself */
#define TURNS_MAX      16 /* that miss something while the head stays where it is */

/* --- request ids ------------------------------------------------------------------------------ */

static bool id_ok(str s)
{
    if (s.len < 1 || s.len > REQUEST_ID_MAX)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.' || c == ':';
        if (!ok)
            return false;
    }
    return true;
}

/* Unique in this process by the counter, and between processes by the random part. */
static str mint(struct ctx *cx)
{
    static _Atomic uint64_t counter, start;
    uint64_t first = atomic_load_explicit(&start, memory_order_relaxed);
    if (first == 0) {
        uint64_t mine = rand_u64() | 1;
        if (atomic_compare_exchange_strong(&start, &first, mine))
            first = mine;
    }
    char text[REQUEST_ID_MAX];
    int n = snprintf(text, sizeof(text), "%016" PRIx64 "-%" PRIu64, first,
                     (uint64_t)atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed) + 1);
    str id = str_dup(&cx->arena, str_n(text, (size_t)n));
    return id.p ? id : STR_LIT("none");
}

/* Not made before somebody needs it: the busiest answer goes without. */
static void need_request_id(struct request *rq)
{
    if (rq->cx.request_id.len)
        return;
    str given = http_header(rq->http, "X-Request-Id");
    rq->cx.request_id = id_ok(given) ? given : mint(&rq->cx);
}

/* --- the end of a request --------------------------------------------------------------------- */

static bool may_log_busy(void)
{
    static _Atomic int64_t last_ms;
    int64_t now = clock_mono_ms(), last = atomic_load_explicit(&last_ms, memory_order_relaxed);
    return now - last >= 1000 && atomic_compare_exchange_strong(&last_ms, &last, now);
}

static void log_failure(struct request *rq, int code, int status)
{
    bool ours = status >= 500 && status != 501 && code != E_STATE;
    enum log_level lvl = status == 503 ? LOG_WARN : ours ? LOG_ERROR : LOG_DEBUG;
    if (!log_on(lvl) || (status == 503 && !log_on(LOG_DEBUG) && !may_log_busy()))
        return;
    const struct err_rec *e = &rq->cx.err;
    LOG_AT(lvl, "http", "http.failed", LZ("code", err_name(code)), LI("status", status),
           LS("method", rq->method), LS("path", rq->raw_path), LZ("msg", e->msg),
           LI("errno", e->sys_errno), LZ("file", e->file ? e->file : ""), LI("line", e->line),
           LS("tenant", rq->cx.tenant), LS("principal", rq->cx.principal),
           LS("req", rq->cx.request_id));
}

/* Counts and logs the answer, whatever it is. */
static void finish(struct request *rq)
{
    if (!rq->res.status)
        rq->res.status = 200;
    if (!rq->res.shared)
        need_request_id(rq);
    int64_t us = clock_mono_us() - rq->start_us;
    metrics_request(rq->srv->metrics, rq->route ? (int)(rq->route - routes) : -1, rq->res.status,
                    us);
    enum log_level lvl = srv_config(rq->srv)->log_access ? LOG_INFO : LOG_DEBUG;
    if (!log_on(lvl))
        return;
    need_request_id(rq);
    LOG_AT(lvl, "http", "http.request", LS("method", rq->method), LS("path", rq->raw_path),
           LS("query", rq->raw_query), LI("status", rq->res.status), LI("us", us),
           LI("in", rq->body.len), LI("out", rq->res.body.len), LS("tenant", rq->cx.tenant),
           LS("principal", rq->cx.principal), LS("req", rq->cx.request_id));
}

void rq_fail(struct request *rq, int code)
{
    ASSERT(code < 0);
    struct response *res = &rq->res;
    if (rq->cx.err.code != code) /* a code without a record, or with another's */
        IGNORE(ctx_fail(&rq->cx, code, RES_NONE, STR_NONE, "the server could not do this (%s)",
                        err_name(code)));
    const char *allow = res->allow;
    buf_done(&res->body);
    *res = (struct response){.status = api_error_status(code), .allow = allow};
    if (api_error_retry(code))
        res->retry_after_s = 1;
    need_request_id(rq);
    api_error_body(&res->body, &rq->cx.err, res->status);
    log_failure(rq, code, res->status);
    finish(rq);
}

/* --- phases ----------------------------------------------------------------------------------- */

static str lane_of(const struct request *rq)
{
    return rq->cx.tenant.len ? rq->cx.tenant : STR_LIT("-");
}

static enum rq_verdict answer(struct request *rq, int rc);

/* In a pool: the answer is there, or the request went on to its next phase. */
static void unpark_when_done(struct request *rq, enum rq_verdict v)
{
    if (v == RQ_ANSWER)
        http_unpark(rq->http);
}

static void on_worker(struct pool_item *it)
{
    struct request *rq = (struct request *)((char *)it - offsetof(struct request, item));
    int rc = ctx_check_deadline(&rq->cx);
    unpark_when_done(rq, answer(rq, rc < 0 ? rc : rq->next(rq)));
}

/* A turn missed something. Each snapshot that is adopted takes one such turn, and they may be many. */
static void missed(struct request *rq)
{
    uint64_t at = branch_version(branch_of_strand(rq->strand));
    rq->stuck = at == rq->missed_at ? rq->stuck + 1 : 0;
    rq->missed_at = at;
    rq->gathers++;
}

/* A turn. It keeps its place when what it misses was read a few times and was too old each time. */
static int turn(struct request *rq)
{
    int rc = ctx_check_deadline(&rq->cx);
    if (rc == 0)
        rc = rq->next(rq);
    while (rc == E_NEED && rq->gathers >= GATHERS_MAX && rq->stuck < TURNS_MAX) {
        missed(rq);
        rc = ctx_check_deadline(&rq->cx);
        if (rc == 0)
            rc = branch_gather(&rq->cx, branch_of_strand(rq->strand));
        if (rc == 0)
            rc = rq->next(rq);
    }
    return rc;
}

static void on_strand(struct strand_task *t)
{
    struct request *rq = (struct request *)((char *)t - offsetof(struct request, task));
    unpark_when_done(rq, answer(rq, turn(rq)));
}

static void on_loads(struct strand_task *t)
{
    struct request *rq = (struct request *)((char *)t - offsetof(struct request, task));
    int rc = branch_gather(&rq->cx, branch_of_strand(rq->strand));
    unpark_when_done(rq, answer(rq, rc < 0 ? rc : STEP_STRAND));
}

static int full(struct request *rq, int rc)
{
    if (rc != E_BUSY)
        return ctx_nomem(&rq->cx);
    return ctx_fail(&rq->cx, E_BUSY, RES_NONE, STR_NONE, "%s and nothing was done; try again",
                    srv_draining(rq->srv) ? "the server is stopping"
                                          : "too many requests are waiting");
}

/* A change of an idle branch runs on the worker that prepared it, as long as half of the workers stay
 * free for readers. The request may be gone when this returns. */
static int post_strand(struct request *rq)
{
    struct server *srv = rq->srv;
    int64_t most = srv_config(srv)->worker_threads / 2;
    bool here = atomic_fetch_add_explicit(&srv->inline_turns, 1, memory_order_relaxed) < most;
    rq->task.fn = on_strand;
    int rc = here ? strand_run(rq->strand, &rq->task) : strand_post(rq->strand, &rq->task);
    atomic_fetch_sub_explicit(&srv->inline_turns, 1, memory_order_relaxed);
    return rc;
}

/* What the turn misses is read where nobody's turn waits for it. */
static int post_loads(struct request *rq)
{
    missed(rq);
    rq->task.fn = on_loads;
    return strand_post(branch_loads(branch_of_strand(rq->strand)), &rq->task);
}

/* On no room the caller still has the request. From a strand it is not a new request any more, so
 * the bounds do not count. */
static int post(struct request *rq, int step)
{
    ASSERT(rq->next &&
           (step != STEP_STRAND || (rq->strand && rq->parked))); /* not an HTTP thread */
    bool admitted = rq->parked;
    if (!rq->parked) {
        need_request_id(rq);
        TRY(http_park(rq->http));
        rq->parked = true;
    }
    if (step == STEP_STRAND)
        return post_strand(rq);
    rq->item.fn = on_worker;
    return admitted ? pool_post_forced(rq->srv->workers, lane_of(rq), &rq->item)
                    : pool_post(rq->srv->workers, lane_of(rq), &rq->item);
}

/* The handler is done, but its answer did not fit into memory. Never a 413 or 503: it may be about
 * a change that was made. */
static int no_room(struct request *rq)
{
    return ctx_fail(&rq->cx, E_NOMEM, RES_NONE, STR_NONE,
                    "there is no memory for the answer; ask for less at a time (maxResults)");
}

/* What a phase returned: an answer, or the next phase. */
static enum rq_verdict answer(struct request *rq, int rc)
{
    if (rc == STEP_WORKER || rc == STEP_STRAND ||
        (rc == E_NEED && rq->strand && rq->stuck < TURNS_MAX)) {
        rc = rc == E_NEED ? post_loads(rq) : post(rq, rc);
        if (rc == 0)
            return RQ_PARKED;
        rc = full(rq, rc);
    }
    if (rc == E_NEED)
        rc = ctx_fail(&rq->cx, E_BUSY, RES_NONE, STR_NONE,
                      "the table moves faster than its files can be read; nothing was done, try "
                      "again");
    if (rc == STEP_DONE && buf_fail(&rq->res.body) < 0)
        rc = no_room(rq);
    if (rc < 0 && rq->branch)
        rc = branch_error(&rq->cx, rq->branch, rq->params[1], rq->params[2], rc);
    if (rc < 0)
        rq_fail(rq, rc);
    else
        finish(rq);
    return RQ_ANSWER;
}

/* --- the head --------------------------------------------------------------------------------- */

size_t rq_body_max(const struct request *rq)
{
    const struct config *c = srv_config(rq->srv);
    bool big = rq->route && rq->route->cap == CAP_BIG_BODY;
    return (size_t)(big ? c->body_max : c->body_max_small);
}

bool rq_takes_body(const struct request *rq)
{
    return rq->route->cap != CAP_NO_BODY;
}

static int check_draining(struct request *rq)
{
    if (!srv_draining(rq->srv) || rq->route == &routes[ROUTE_h_healthz])
        return 0;
    return ctx_fail(&rq->cx, E_BUSY, RES_NONE, STR_NONE,
                    "the server is stopping and nothing was done; try again");
}

static int find_route(struct request *rq)
{
    struct route_hit hit;
    int rc = router_match(&rq->cx, rq->srv->router, rq->method, rq->raw_path, &hit);
    if (rc == E_METHOD)
        rq->res.allow = hit.allow;
    TRY(rc);
    rq->route = hit.route;
    memcpy(rq->params, hit.params, sizeof(rq->params));
    return 0;
}

static int check_size(struct request *rq, int64_t content_length)
{
    size_t max = rq_body_max(rq);
    if (content_length > (int64_t)max)
        return ctx_fail(&rq->cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "the body has %lld bytes; at most %zu are taken here (%s)",
                        (long long)content_length, max,
                        rq->route->cap == CAP_BIG_BODY ? "http.body-max" : "http.body-max-small");
    if (content_length > 0 &&
        http_body_bytes(rq->http) + content_length > srv_config(rq->srv)->inflight_max)
        return ctx_fail(&rq->cx, E_BUSY, RES_NONE, STR_NONE,
                        "the server holds too many request bodies and did nothing; try again");
    return 0;
}

/* Back on the HTTP thread the answer is in auth_rc. */
static void on_auth_worker(struct pool_item *it)
{
    struct request *rq = (struct request *)((char *)it - offsetof(struct request, item));
    rq->auth_rc = auth_load(rq);
    rq->auth_loaded = true;
    http_unpark(rq->http);
}

/* 0, AUTH_ASK (then the request was posted), or an error. */
static int authenticate(struct request *rq)
{
    if (rq->auth_loaded)
        return rq->auth_rc;
    int rc = auth_peek(rq);
    if (rc != AUTH_ASK)
        return rc;
    need_request_id(rq);
    rc = http_park(rq->http);
    if (rc < 0)
        return full(rq, rc);
    rq->item.fn = on_auth_worker;
    rc = pool_post(rq->srv->workers, STR_LIT("-"), &rq->item);
    if (rc == 0)
        return AUTH_ASK;
    rq->auth_loaded = true;
    rq->auth_rc = full(rq, rc);
    http_unpark(rq->http);
    return AUTH_ASK;
}

static int check_head(struct request *rq, int64_t content_length)
{
    if (!rq->route) {
        TRY(find_route(rq));
        TRY(check_draining(rq));
    }
    if (rq->route->auth == AUTH_TOKEN) {
        int rc = authenticate(rq);
        if (rc != 0)
            return rc;
        TRY(auth_warehouse(rq));
    }
    return check_size(rq, content_length);
}

enum rq_verdict rq_on_head(struct request *rq, int64_t content_length)
{
    int rc = check_head(rq, content_length);
    if (rc == AUTH_ASK)
        return RQ_PARKED;
    if (rc == 0)
        return RQ_READ;
    rq_fail(rq, rc);
    return RQ_ANSWER;
}

enum rq_verdict rq_on_end(struct request *rq)
{
    const struct config *c = srv_config(rq->srv);
    bool reads = rq->route->method == METHOD_GET;
    rq->cx.deadline_ms = clock_mono_ms() + (reads ? c->request_timeout_ms : c->commit_timeout_ms);
    if (rq->route->where == WHERE_INLINE)
        return answer(rq, rq->route->handler(rq));
    rq->next = rq->route->handler;
    return answer(rq, STEP_WORKER);
}
