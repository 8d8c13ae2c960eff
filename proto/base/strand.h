/* strand.h - one FIFO of work, at most one thread in it at a time, run by a pool.
 *
 * Every branch has a strand: its changes run one after another without a lock. It is for speed and
 * fairness; safety rests on put-if-absent and the epoch condition of the store.
 *
 * Tasks are embedded in the caller's struct, like pool items. At most `max` wait; past that
 * strand_post answers E_BUSY. A strand runs up to STRAND_BATCH tasks a turn, then goes back to the
 * end of its lane. A task may free itself but never the strand it runs on: that is looked at once
 * more after the last task. The owner frees it when strand_idle says so. strand_done needs an idle strand (no waiting task, none running). */
#ifndef LATCH_PROTO_BASE_STRAND_H
#define LATCH_PROTO_BASE_STRAND_H

#include <pthread.h>
#include "proto/base/pool.h"

#define STRAND_BATCH 16

struct strand_task {
    void (*fn)(
        struct strand_task *t); /* runs on the strand, outside all locks; may free the task */
    struct strand_task *next;   /* the strand's */
};
struct strand {
    struct pool_item turn; /* first: the pool gives it back to us */
    pthread_mutex_t mu;
    struct strand_task *head, *tail;
    size_t waiting, max;
    bool running; /* a turn is queued or running */
    struct pool *pool;
    str lane; /* kept alive by the owner */
    void *owner;
    void (*keep)(void *owner), (*drop)(void *owner); /* NULL: the owner outlives all tasks */
};

void strand_init(struct strand *s, struct pool *p, str lane, size_t max);
/* Before the first task. `drop` may free the owner and the strand in it. */
void strand_owner(struct strand *s, void *owner, void (*keep)(void *), void (*drop)(void *));
void strand_done(struct strand *s);
int strand_post(struct strand *s, struct strand_task *t) WARN_UNUSED; /* E_BUSY: full; E_NOMEM */
/* As strand_post, but an idle strand runs the task at once, on this thread, before it answers: waking
 * another thread would cost more than most tasks. What others post meanwhile goes to the pool. */
int strand_run(struct strand *s, struct strand_task *t) WARN_UNUSED;
bool strand_idle(struct strand *s);
bool strand_waits(struct strand *s); /* is there a task that has not begun? */

#endif
