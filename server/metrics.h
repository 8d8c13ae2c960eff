/* metrics.h - what the process counts about requests, and the text of /metrics. */
#ifndef LATCH_SERVER_METRICS_H
#define LATCH_SERVER_METRICS_H

#include "proto/base/buf.h"
#include "proto/base/ctx.h"

struct server;
struct conflict_counts; /* catalog/conflict_list.h */
struct metrics;

int metrics_new(struct ctx *cx, struct metrics **ret) WARN_UNUSED;
void metrics_free(struct metrics *m); /* NULL is fine */
/* One answered request. route: enum route_id, or -1 for a path that is none of ours. (any thread)
 */
void metrics_request(struct metrics *m, int route, int status, int64_t us);
/* Requests of a route that were answered with a status of class 1 to 5 ("2xx"). (any thread) */
int64_t metrics_requests(const struct metrics *m, int route, int class);
/* The requests part alone, the conflicts part, and the whole of /metrics (blocks a little: reads /proc). */
void metrics_write_requests(const struct metrics *m, struct buf *b);
void metrics_write_conflicts(const struct conflict_counts *n, struct buf *b);
void metrics_write(struct server *srv, struct buf *b);

#endif
