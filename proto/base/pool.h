/* pool.h - a bounded pool of threads with fair lanes.
 *
 * Work is handed in on a lane (one a tenant). The pool takes one item from each lane in turn, so a
 * busy tenant cannot starve another. The total number of waiting items and those of one lane are
 * bounded; past that pool_post answers E_BUSY and nothing was taken.
 *
 * An item is embedded in the caller's struct and must live until its function runs. `fn` runs
 * outside all locks, cannot fail (outcomes travel in the caller's struct), and may free the item.
 * Thread-safe. pool_post never blocks. While pool_free waits, pool_post answers E_BUSY. */
#ifndef LATCH_PROTO_BASE_POOL_H
#define LATCH_PROTO_BASE_POOL_H

#include "proto/base/err.h"

struct pool;
struct pool_item {
    void (*fn)(struct pool_item *it);
    struct pool_item *next; /* the pool's */
};
struct pool_opts {
    const char *name; /* of the threads, at most 12 characters; a literal */
    int threads;
    size_t queue_max; /* waiting items in all */
    size_t lane_max;  /* waiting items of one lane; 0 = queue_max */
};

int pool_new(const struct pool_opts *o, struct pool **ret);
/* Runs what is queued, then stops the threads and frees. NULL is fine. Call it from outside the pool. */
void pool_free(struct pool *p);
int pool_post(struct pool *p, str lane, struct pool_item *it) WARN_UNUSED; /* E_BUSY, E_NOMEM */
/* As pool_post, but above the bounds (for work that was admitted before, like a strand's next turn). */
int pool_post_forced(struct pool *p, str lane, struct pool_item *it) WARN_UNUSED; /* E_NOMEM */
size_t pool_waiting(struct pool *p);

#endif
