/* server.h - the process: what is made at start, shared by all threads, and torn down at the end.
 *
 * Made by serve.c before the first request and freed after the last one; in between only `config`
 * and `draining` change. */
#ifndef LATCH_SERVER_SERVER_H
#define LATCH_SERVER_SERVER_H

#include <stdatomic.h>

#include "catalog/catalog.h"
#include "server/config.h"
#include "server/http.h"
#include "server/metrics.h"
#include "server/route.h"

struct server {
    _Atomic(const struct config *) config; /* replaced by SIGHUP; old ones stay to the end */
    struct store *store;
    struct catalog *cat;
    struct pool *workers, *loads, *strands, *background, *syncs;
    struct router *router;
    struct metrics *metrics;
    _Atomic(struct http *) http;  /* requests come before it is known here */
    _Atomic int64_t inline_turns; /* strand turns that run on workers now */
    _Atomic bool draining;
    int64_t start_wall_ms;
};

/* The settings of this moment; valid until the process ends. (any thread) */
static inline const struct config *srv_config(struct server *srv)
{
    return atomic_load_explicit(&srv->config, memory_order_acquire);
}
static inline bool srv_draining(struct server *srv)
{
    return atomic_load(&srv->draining); /* in one order with http.c's in_flight: see drain.c */
}

#endif
