/* queue.h - a bounded queue between threads: many producers, one or more consumers, blocking take.
 *
 * For threads that own a resource (the store's writer): producers hand in pointers, the consumer
 * takes all that is there at once. Thread-safe. */
#ifndef LATCH_PROTO_BASE_QUEUE_H
#define LATCH_PROTO_BASE_QUEUE_H

#include <pthread.h>
#include "proto/base/err.h"

struct queue_node {
    struct queue_node *next;
};
struct queue {
    pthread_mutex_t mu;
    pthread_cond_t more;
    struct queue_node *head, *tail;
    size_t len, max;
    bool closed;
};

void queue_init(struct queue *q, size_t max);
void queue_done(struct queue *q);
int queue_push(struct queue *q,
               struct queue_node *n) WARN_UNUSED; /* E_BUSY: full or closed; never blocks */
/* Waits until something is there (or `timeout_ms` passed; < 0: for ever), then takes up to `max`
 * nodes, oldest first, linked by next. NULL: time is up, or closed and empty. */
struct queue_node *queue_take(struct queue *q, size_t max, int64_t timeout_ms);
void queue_close(struct queue *q); /* no more pushes; takers drain what is left */
bool queue_closed_and_empty(struct queue *q);

#endif
