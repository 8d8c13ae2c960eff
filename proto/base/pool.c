/* pool.c - threads, and lanes of waiting work taken in turn.
 *
 * A lane exists only while it has waiting items: it is made by the first item and freed with the
 * last, so names that come and go for years leave nothing behind. Lanes are in two lists: a ring in
 * which the threads take turns (head = next), and a chain of a hash table that finds a lane by
 * name. The lane is the only thing a post allocates.
 *
 * Invariants, under mu: a lane is in the ring and in its chain exactly while len > 0; waiting is
 * the sum of all len. When `stopping` is set only forced work comes in, and threads leave when
 * nothing waits: work that is running may still force its next turn in, and its own thread takes
 * that.
 *
 * Threads: all state is under mu, a leaf lock: no function of others runs under it. The pool's
 * threads block all signals; those are for the main thread. */
#include "proto/base/pool.h"

#include <pthread.h>
#include <signal.h>

#include "proto/base/assert.h"
#include "proto/base/hash.h"
#include "proto/base/mem.h"

#define CHAINS       256
#define NAME_LEN_MAX 12

struct lane {
    struct lane *next;  /* in the ring */
    struct lane *chain; /* in the table */
    struct pool_item *head, *tail;
    size_t len;
    size_t name_len;
    char name[];
};

struct pool {
    pthread_mutex_t mu;
    pthread_cond_t more;
    struct lane *first, *last; /* the ring */
    struct lane *chains[CHAINS];
    size_t waiting, queue_max, lane_max;
    bool stopping;
    int threads; /* that were started */
    pthread_t ids[];
};

static void lock(struct pool *p)
{
    ASSERT(pthread_mutex_lock(&p->mu) == 0);
}

static void unlock(struct pool *p)
{
    ASSERT(pthread_mutex_unlock(&p->mu) == 0);
}

/* --- lanes, all under mu ---------------------------------------------------------------------- */

/* The place that points to the lane, or to NULL where a new one goes. */
static struct lane **lane_place(struct pool *p, str name)
{
    struct lane **at = &p->chains[hash64(name.p, name.len) % CHAINS];
    while (*at && !str_eq(str_n((*at)->name, (*at)->name_len), name))
        at = &(*at)->chain;
    return at;
}

static void ring_append(struct pool *p, struct lane *l)
{
    l->next = NULL;
    if (p->last)
        p->last->next = l;
    else
        p->first = l;
    p->last = l;
}

static struct lane *ring_take(struct pool *p)
{
    struct lane *l = p->first;
    p->first = l->next;
    if (!p->first)
        p->last = NULL;
    return l;
}

static struct lane *lane_new(str name)
{
    struct lane *l = mem_zalloc(sizeof(*l) + name.len);
    if (!l)
        return NULL;
    l->name_len = name.len;
    if (name.len)
        memcpy(l->name, name.p, name.len);
    return l;
}

static int put(struct pool *p, str name, struct pool_item *it, bool forced)
{
    if (!forced && (p->stopping || p->waiting >= p->queue_max))
        return E_BUSY;
    struct lane **place = lane_place(p, name);
    struct lane *l = *place;
    if (!forced && l && l->len >= p->lane_max)
        return E_BUSY;
    if (!l) {
        l = lane_new(name);
        if (!l)
            return E_NOMEM;
        *place = l;
        ring_append(p, l);
    }
    it->next = NULL;
    if (l->tail)
        l->tail->next = it;
    else
        l->head = it;
    l->tail = it;
    l->len++;
    p->waiting++;
    return 0;
}

/* The oldest item of the lane whose turn it is; something must be waiting. */
static struct pool_item *take(struct pool *p)
{
    struct lane *l = ring_take(p);
    struct pool_item *it = l->head;
    l->head = it->next;
    l->len--;
    p->waiting--;
    if (l->len) {
        ring_append(p, l);
        return it;
    }
    struct lane **place = lane_place(p, str_n(l->name, l->name_len));
    ASSERT(*place == l);
    *place = l->chain;
    mem_free(l);
    return it;
}

/* --- threads ---------------------------------------------------------------------------------- */

static void *work(void *arg)
{
    struct pool *p = arg;
    lock(p);
    for (;;) {
        while (p->waiting == 0 && !p->stopping)
            ASSERT(pthread_cond_wait(&p->more, &p->mu) == 0);
        if (p->waiting == 0)
            break;
        struct pool_item *it = take(p);
        unlock(p);
        it->fn(it);
        lock(p);
    }
    unlock(p);
    return NULL;
}

/* Threads inherit the mask of their maker, so there is no moment at which one takes a signal. */
static int start_threads(struct pool *p, const struct pool_opts *o)
{
    sigset_t all, before;
    sigfillset(&all);
    ASSERT(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    while (p->threads < o->threads && pthread_create(&p->ids[p->threads], NULL, work, p) == 0) {
        char name[16];
        if (snprintf(name, sizeof(name), "%.*s-%d", NAME_LEN_MAX, o->name, p->threads % 100) > 0)
            IGNORE(pthread_setname_np(p->ids[p->threads], name));
        p->threads++;
    }
    ASSERT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return p->threads == o->threads ? 0 : E_NOMEM;
}

int pool_new(const struct pool_opts *o, struct pool **ret)
{
    ASSERT(o->threads > 0 && o->queue_max > 0 && strlen(o->name) <= NAME_LEN_MAX);
    struct pool *p = mem_zalloc(sizeof(*p) + (size_t)o->threads * sizeof(p->ids[0]));
    if (!p)
        return E_NOMEM;
    p->queue_max = o->queue_max;
    p->lane_max = o->lane_max ? o->lane_max : o->queue_max;
    ASSERT(pthread_mutex_init(&p->mu, NULL) == 0);
    ASSERT(pthread_cond_init(&p->more, NULL) == 0);
    int rc = start_threads(p, o);
    if (rc < 0) {
        pool_free(p);
        return rc;
    }
    *ret = p;
    return 0;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    lock(p);
    p->stopping = true;
    ASSERT(pthread_cond_broadcast(&p->more) == 0);
    unlock(p);
    for (int i = 0; i < p->threads; i++)
        ASSERT(pthread_join(p->ids[i], NULL) == 0);
    ASSERT(p->waiting == 0 && !p->first);
    ASSERT(pthread_cond_destroy(&p->more) == 0);
    ASSERT(pthread_mutex_destroy(&p->mu) == 0);
    mem_free(p);
}

static int post(struct pool *p, str lane, struct pool_item *it, bool forced)
{
    ASSERT(it->fn != NULL);
    lock(p);
    int rc = put(p, lane, it, forced);
    if (rc == 0)
        ASSERT(pthread_cond_signal(&p->more) == 0);
    unlock(p);
    return rc;
}

int pool_post(struct pool *p, str lane, struct pool_item *it)
{
    return post(p, lane, it, false);
}

int pool_post_forced(struct pool *p, str lane, struct pool_item *it)
{
    return post(p, lane, it, true);
}

size_t pool_waiting(struct pool *p)
{
    lock(p);
    size_t n = p->waiting;
    unlock(p);
    return n;
}
