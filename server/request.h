/* server/request.h - one HTTP request on its way: read, routed, worked on, answered.
 *
 * Life: made when the URI is known (http.c), freed when libmicrohttpd says the request is over. A
 * handler phase runs where routes.def says; it answers STEP_DONE with rq->res filled, or says where
 * `rq->next` is to run. A negative code becomes Paimon's error body (api_error). A request is
 * touched by one thread at a time: HTTP thread -> (suspended) worker -> strand -> HTTP thread.
 *
 * Rules for handlers: at most 40 lines: decode (proto/api), one cat_* call, encode. No SQL, no file
 * I/O. INLINE phases never block. */
#ifndef LATCH_SERVER_REQUEST_H
#define LATCH_SERVER_REQUEST_H

#include "catalog/catalog.h"
#include "proto/base/buf.h"
#include "proto/base/ctx.h"

struct server; /* server/server.h */
struct route;  /* server/route.h */
struct MHD_Connection;
struct MHD_Response;

enum step { STEP_DONE = 0, STEP_WORKER = 1, STEP_STRAND = 2 }; /* negative: an error code */

#define ROUTE_PARAMS_MAX 4

struct response {
    int status;               /* 200 unless set */
    const char *content_type; /* "application/json" unless set */
    struct buf body;          /* may stay empty */
    int retry_after_s;        /* 0: no header */
    const char *allow;        /* for 405 */
    struct MHD_Response
        *shared; /* a prebuilt one, referenced by whoever keeps it; body is unused */
};

struct request {
    struct ctx cx;
    struct server *srv;
    const struct route *route;
    str method;    /* "GET" */
    str raw_path;  /* as on the wire, without the query; lives as long as the request */
    str raw_query; /* without '?' */
    str params[ROUTE_PARAMS_MAX]; /* decoded {…} segments of the route, in its order */
    str body;                     /* whole, once the handler runs */
    const struct principal *who;  /* NULL on routes without a token */
    const struct warehouse
        *warehouse; /* resolved from {prefix}, when the route has one (always params[0] then) */
    struct response res;
    /* Between phases. */
    int (*next)(struct request *rq); /* what runs after STEP_WORKER / STEP_STRAND */
    struct strand *strand;           /* for STEP_STRAND; kept alive by a reference in the arena */
    struct branch *branch; /* of params[1] and [2], once it is open; likewise kept alive */
    void *state;           /* the handler's */
    int64_t start_us;
    /* dispatch.c's own */
    struct pool_item item;   /* its place in a pool's queue */
    struct strand_task task; /* its place on a strand */
    int gathers;             /* how often a turn answered E_NEED, */
    int stuck;               /* at this head, in a row */
    uint64_t missed_at;      /* branch_version */
    bool parked;             /* the connection is suspended, a pool has the request */
    bool auth_loaded;        /* cat_token_load was asked; auth_rc is its answer */
    int auth_rc;
    /* http.c's own */
    struct http_conn *http;
};

/* Query parameter, form-decoded: *ret.p == NULL when absent. E_INVAL on broken escapes or when
 * given twice. */
int rq_query(struct request *rq, const char *name, str *ret) WARN_UNUSED;
/* maxResults and pageToken: default and cap 1000; missing, 0 or negative = the default; not a
 * number = E_INVAL. */
int rq_page(struct request *rq, int64_t *ret_limit, str *ret_token) WARN_UNUSED;
int64_t rq_limit(int64_t max_results); /* the same rule for one that came in a body */
/* Paimon's name patterns: `%` only as a trailing run, `\` escapes, no `%` = exact, `_` literal.
 * Absent or empty: prefix "" (everything). E_INVAL. */
int rq_pattern(struct request *rq, const char *name, str *ret_prefix, bool *ret_exact) WARN_UNUSED;
/* The same of a pattern that came in a body as member `name`. */
int rq_pattern_of(struct request *rq, const char *name, str pattern, str *ret_prefix,
                  bool *ret_exact) WARN_UNUSED;
/* Parses the body as a JSON object. */
int rq_json(struct request *rq, const struct json **ret) WARN_UNUSED;

#endif
