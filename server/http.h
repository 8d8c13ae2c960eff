/* http.h - the process's door: libmicrohttpd behind a few calls.
 *
 * http.c is the only includer of microhttpd.h. It turns bytes on a socket into a struct request,
 * hands that to dispatch.c, and sends what comes back. Its threads never block: whatever may wait
 * runs on a pool while the connection is suspended. */
#ifndef LATCH_SERVER_HTTP_H
#define LATCH_SERVER_HTTP_H

#include "proto/base/ctx.h"

struct MHD_Response;
struct server;
struct http;
struct http_conn;

/* --- prebuilt responses (for h_snapshot) ------------------------------------------------------ */
/* A 200 answer with content type application/json around `body`, which is not copied: it must stay
 * alive and unchanged until the response is freed AND no request still sends it (a request that
 * answers with it must hold what keeps the body alive, e.g. the head, until the request ends).
 * NULL: no memory. (any thread) */
struct MHD_Response *http_shared_response(str body);
/* Gives the maker's reference back; fits head_set_view. NULL is fine. (any thread) */
void http_shared_free(void *response);

/* --- the daemon ------------------------------------------------------------------------------- */
/* Serves srv on a listening socket, which it owns from now on. E_IO. */
int http_start(struct ctx *cx, struct server *srv, int listen_fd, struct http **ret) WARN_UNUSED;
void http_quiesce(struct http *h); /* no new connections; those that are open go on */
/* Closes all connections and frees. No request may be parked (http_counts). NULL is fine. */
void http_stop(struct http *h);

/* From now on nothing is parked any more, so that once `parked` is 0 it stays 0. (any thread) */
void http_cut(struct http *h);

struct http_counts {
    int64_t connections, in_flight, parked, body_bytes;
    int64_t pieces; /* of bodies, since start: does anybody still send? */
};
void http_counts(struct http *h, struct http_counts *ret); /* (any thread) */

/* --- for dispatch.c --------------------------------------------------------------------------- */
/* Suspends the connection: from now on another thread may have the request. E_BUSY once http_cut was
 * called: then it was not suspended. (HTTP thread) */
int http_park(struct http_conn *c) WARN_UNUSED;
/* Gives the request back to its HTTP thread, which goes on where it stopped. The request may be
 * gone when this returns. (any thread) */
void http_unpark(struct http_conn *c);
str http_header(struct http_conn *c,
                const char *name);            /* STR_NONE: absent; lives as long as the request */
int64_t http_body_bytes(struct http_conn *c); /* held by all requests together */

#endif
