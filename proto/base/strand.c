/* strand.c - one FIFO that a pool runs, one thread at a time.
 *
 * `running` is true from the moment a turn is handed to the pool until a turn finds no task left.
 * Only who sets it posts the turn, so there is at most one turn, and that is the exclusion.
 *
 * The first turn is posted under mu: when the pool refuses, the task was never in the list. mu is
 * taken before the pool's lock, never the other way round (the pool runs us outside its lock).
 *
 * After the last look at the list under mu a turn touches the strand no more: its owner may free it
 * once strand_idle says so. The same after a turn was handed to the pool. A counted owner is held
 * exactly while `running`, and dropped as the very last thing.
 *
 * strand_run is a turn of one task on the caller's thread; what gathered meanwhile is the pool's.
 *
 * Threads: any may post; tasks run on the pool's, or in strand_run. */
#include "proto/base/strand.h"

#include "proto/base/assert.h"

static void lock(struct strand *s)
{
    ASSERT(pthread_mutex_lock(&s->mu) == 0);
}

static void unlock(struct strand *s)
{
    ASSERT(pthread_mutex_unlock(&s->mu) == 0);
}

/* NULL: none is left, and the strand is idle from here on. */
static struct strand_task *take(struct strand *s)
{
    lock(s);
    struct strand_task *t = s->head;
    if (t) {
        s->head = t->next;
        if (!s->head)
            s->tail = NULL;
        s->waiting--;
    } else {
        s->running = false;
    }
    unlock(s);
    return t;
}

static void run_turn(struct pool_item *it)
{
    struct strand *s = (struct strand *)it; /* the turn is its first member */
    void *owner = s->owner;
    void (*drop)(void *) = s->drop;
    for (;;) {
        for (int i = 0; i < STRAND_BATCH; i++) {
            struct strand_task *t = take(s);
            if (!t) {
                if (drop)
                    drop(owner); /* s may be gone now */
                return;
            }
            t->fn(t);
        }
        /* To the end of the lane. Without memory for that the next batch runs right here. */
        if (pool_post_forced(s->pool, s->lane, &s->turn) == 0)
            return;
    }
}

void strand_init(struct strand *s, struct pool *p, str lane, size_t max)
{
    _Static_assert(offsetof(struct strand, turn) == 0, "run_turn casts");
    *s = (struct strand){.turn.fn = run_turn, .max = max, .pool = p, .lane = lane};
    ASSERT(pthread_mutex_init(&s->mu, NULL) == 0);
}

void strand_owner(struct strand *s, void *owner, void (*keep)(void *), void (*drop)(void *))
{
    s->owner = owner;
    s->keep = keep;
    s->drop = drop;
}

void strand_done(struct strand *s)
{
    ASSERT(strand_idle(s));
    ASSERT(pthread_mutex_destroy(&s->mu) == 0);
}

int strand_post(struct strand *s, struct strand_task *t)
{
    ASSERT(t->fn != NULL);
    lock(s);
    int rc = s->waiting >= s->max ? E_BUSY : 0;
    if (rc == 0 && !s->running)
        rc = pool_post(s->pool, s->lane, &s->turn);
    if (rc == 0) {
        if (!s->running && s->keep)
            s->keep(s->owner);
        s->running = true;
        t->next = NULL;
        if (s->tail)
            s->tail->next = t;
        else
            s->head = t;
        s->tail = t;
        s->waiting++;
    }
    unlock(s);
    return rc;
}

/* Is it ours to run now? */
static bool seize(struct strand *s)
{
    lock(s);
    bool idle = !s->running;
    if (idle && s->keep)
        s->keep(s->owner);
    s->running = true;
    unlock(s);
    return idle;
}

int strand_run(struct strand *s, struct strand_task *t)
{
    ASSERT(t->fn != NULL);
    if (!seize(s))
        return strand_post(s, t);
    void *owner = s->owner;
    void (*drop)(void *) = s->drop;
    t->fn(t);
    lock(s);
    bool more = s->head != NULL;
    s->running = more;
    unlock(s);
    if (more && pool_post_forced(s->pool, s->lane, &s->turn) < 0)
        run_turn(&s->turn); /* no memory for the pool: here, then */
    else if (!more && drop)
        drop(owner);
    return 0;
}

bool strand_idle(struct strand *s)
{
    lock(s);
    bool idle = !s->running;
    ASSERT(!idle || !s->head);
    unlock(s);
    return idle;
}

bool strand_waits(struct strand *s)
{
    lock(s);
    bool waits = s->head != NULL;
    unlock(s);
    return waits;
}
