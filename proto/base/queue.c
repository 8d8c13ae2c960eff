/* queue.c - a bounded list of nodes under one lock and one condition.
 *
 * Invariants, under mu: head and tail are both set or both NULL; len counts the nodes; len <= max.
 * A consumer that leaves nodes behind wakes the next one, so that no push is missed when several
 * wait. Waiting is on the monotonic clock: a wall clock that is set does not stretch a timeout.
 *
 * Threads: any; queue_done when nobody is in it any more. */
#include "proto/base/queue.h"

#include <errno.h>

#include "proto/base/assert.h"
#include "proto/base/clock.h"

static void lock(struct queue *q)
{
    ASSERT(pthread_mutex_lock(&q->mu) == 0);
}

static void unlock(struct queue *q)
{
    ASSERT(pthread_mutex_unlock(&q->mu) == 0);
}

void queue_init(struct queue *q, size_t max)
{
    *q = (struct queue){.max = max};
    pthread_condattr_t attr;
    ASSERT(pthread_condattr_init(&attr) == 0);
    ASSERT(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
    ASSERT(pthread_cond_init(&q->more, &attr) == 0);
    ASSERT(pthread_condattr_destroy(&attr) == 0);
    ASSERT(pthread_mutex_init(&q->mu, NULL) == 0);
}

void queue_done(struct queue *q)
{
    ASSERT(pthread_cond_destroy(&q->more) == 0);
    ASSERT(pthread_mutex_destroy(&q->mu) == 0);
}

int queue_push(struct queue *q, struct queue_node *n)
{
    lock(q);
    int rc = q->closed || q->len >= q->max ? E_BUSY : 0;
    if (rc == 0) {
        n->next = NULL;
        if (q->tail)
            q->tail->next = n;
        else
            q->head = n;
        q->tail = n;
        q->len++;
        ASSERT(pthread_cond_signal(&q->more) == 0);
    }
    unlock(q);
    return rc;
}

/* Under mu: waits until there is a node, no more will come, or the time is up. */
static void await(struct queue *q, int64_t timeout_ms)
{
    int64_t until_ms = timeout_ms < 0 ? 0 : clock_mono_ms() + timeout_ms;
    struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};
    while (!q->head && !q->closed) {
        int rc = timeout_ms < 0 ? pthread_cond_wait(&q->more, &q->mu)
                                : pthread_cond_timedwait(&q->more, &q->mu, &until);
        if (rc == ETIMEDOUT)
            return;
        ASSERT(rc == 0);
    }
}

struct queue_node *queue_take(struct queue *q, size_t max, int64_t timeout_ms)
{
    ASSERT(max > 0);
    lock(q);
    await(q, timeout_ms);
    struct queue_node *first = q->head, *last = first;
    size_t n = first != NULL;
    while (last && last->next && n < max) {
        last = last->next;
        n++;
    }
    if (last) {
        q->head = last->next;
        last->next = NULL;
        q->len -= n;
    }
    if (!q->head)
        q->tail = NULL;
    else
        ASSERT(pthread_cond_signal(&q->more) == 0);
    unlock(q);
    return first;
}

void queue_close(struct queue *q)
{
    lock(q);
    q->closed = true;
    ASSERT(pthread_cond_broadcast(&q->more) == 0);
    unlock(q);
}

bool queue_closed_and_empty(struct queue *q)
{
    lock(q);
    bool all_done = q->closed && !q->head;
    unlock(q);
    return all_done;
}
