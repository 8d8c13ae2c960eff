/* route.h - from a path to the row of routes.def that answers it. */
#ifndef LATCH_SERVER_ROUTE_H
#define LATCH_SERVER_ROUTE_H

#include "server/request.h"

enum route_method { METHOD_GET, METHOD_POST, METHOD_DELETE, METHOD_COUNT };
enum route_auth { AUTH_NONE, AUTH_TOKEN };
enum route_cap { CAP_NO_BODY, CAP_SMALL_BODY, CAP_BIG_BODY };
enum route_where { WHERE_INLINE, WHERE_WORKER };

struct route {
    enum route_method method;
    const char *pattern;
    enum route_auth auth;
    enum route_cap cap;
    enum route_where where;
    int (*handler)(struct request *rq);
};

enum route_id {
#define ROUTE(method, pattern, auth, cap, where, handler) ROUTE_##handler,
#include "proto/api/routes.def"
#undef ROUTE
    ROUTE_COUNT
};
extern const struct route routes[ROUTE_COUNT];
const char *route_method_name(enum route_method m); /* "GET" */

struct router;
/* Of the n routes given (they outlive it). E_NOMEM; E_INTERNAL when two are the same. */
int router_new(struct ctx *cx, const struct route *rs, size_t n, struct router **ret) WARN_UNUSED;
void router_free(struct router *r); /* NULL is fine */

struct route_hit {
    const struct route *route;
    str params[ROUTE_PARAMS_MAX]; /* decoded; in cx's arena or in the path */
    const char *allow;            /* set with E_METHOD; lives as long as the router */
};
/* Splits the raw path at '/', then decodes each part. A literal part wins over a parameter. HEAD is
 * GET where no token is asked for. E_NOTFOUND (unknown, an empty part, a trailing slash), E_METHOD,
 * E_INVAL (a broken escape), E_NOMEM. (any thread) */
int router_match(struct ctx *cx, const struct router *r, str method, str raw_path,
                 struct route_hit *ret) WARN_UNUSED;

#endif
