/* test_strand.c - order, exclusion, bounds, fairness, no memory; assertions on the main thread
 * only. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/mem.h"
#include "proto/base/strand.h"

static struct pool *pool_of(int threads, size_t queue_max)
{
    struct pool *p = NULL;
    struct pool_opts o = {.name = "strand", .threads = threads, .queue_max = queue_max};
    assert_int_equal(pool_new(&o, &p), 0);
    return p;
}

static void wait_idle(struct strand *s)
{
    while (!strand_idle(s))
        usleep(100);
}

struct gate {
    struct strand_task t;
    sem_t entered, open;
};

static void gate_fn(struct strand_task *t)
{
    struct gate *g = (struct gate *)t;
    sem_post(&g->entered);
    sem_wait(&g->open);
}

static void gate_shut(struct gate *g, struct strand *s)
{
    g->t.fn = gate_fn;
    sem_init(&g->entered, 0, 0);
    sem_init(&g->open, 0, 0);
    assert_int_equal(strand_post(s, &g->t), 0);
    sem_wait(&g->entered);
}

struct noted {
    struct strand_task t;
    char strand;
    int n;
};
static struct noted *ran[4000];
static int ran_len; /* not atomic: the strand, or a pool of one thread, is what protects it */

static void note(struct strand_task *t)
{
    ran[ran_len++] = (struct noted *)t;
}

static int post_noted(struct strand *s, struct noted *n, char strand, int number)
{
    *n = (struct noted){.t.fn = note, .strand = strand, .n = number};
    return strand_post(s, &n->t);
}

static void runs_in_order(void **state)
{
    (void)state;
    enum { N = 1000 };
    static struct noted n[N];
    ran_len = 0;
    struct pool *p = pool_of(3, 10);
    struct strand s;
    strand_init(&s, p, STR_LIT("t"), N);
    assert_true(strand_idle(&s));
    for (int i = 0; i < N; i++)
        assert_int_equal(post_noted(&s, &n[i], 's', i), 0);
    wait_idle(&s);
    strand_done(&s);
    assert_int_equal(ran_len, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(ran[i]->n, i);
    pool_free(p);
}

enum { POSTERS = 4, EACH = 1000, STRANDS = 2 };
struct shared {
    struct strand s;
    _Atomic int inside;
    _Atomic int overlaps;
    long count;        /* not atomic: tsan would see two tasks at once */
    int next[POSTERS]; /* each poster's tasks in its own order */
    int out_of_order;
};
struct step {
    struct strand_task t;
    struct shared *sh;
    int poster, n;
};
static struct shared shared[STRANDS];

static void step_fn(struct strand_task *t)
{
    struct step *st = (struct step *)t;
    struct shared *sh = st->sh;
    if (sh->inside++ != 0)
        sh->overlaps++;
    sh->count++;
    if (sh->next[st->poster]++ != st->n)
        sh->out_of_order++;
    sh->inside--;
    mem_free(st);
}

static void *post_steps(void *arg)
{
    int poster = *(int *)arg;
    for (int i = 0; i < EACH; i++)
        for (int k = 0; k < STRANDS; k++) {
            struct step *st = mem_zalloc(sizeof(*st));
            *st = (struct step){.t.fn = step_fn, .sh = &shared[k], .poster = poster, .n = i};
            /* Every other one takes the short way: at once, when the strand is idle. */
            while ((i % 2 ? strand_run : strand_post)(&shared[k].s, &st->t) == E_BUSY)
                usleep(50); /* the strand is short on purpose: its bound is met often */
        }
    return NULL;
}

static void excludes_under_many_posters(void **state)
{
    (void)state;
    struct pool *p = pool_of(3, 4);
    memset(shared, 0, sizeof(shared));
    for (int k = 0; k < STRANDS; k++)
        strand_init(&shared[k].s, p, STR_LIT("t"), 50);
    pthread_t ids[POSTERS];
    int numbers[POSTERS];
    for (int t = 0; t < POSTERS; t++) {
        numbers[t] = t;
        assert_int_equal(pthread_create(&ids[t], NULL, post_steps, &numbers[t]), 0);
    }
    for (int t = 0; t < POSTERS; t++)
        assert_int_equal(pthread_join(ids[t], NULL), 0);
    for (int k = 0; k < STRANDS; k++) {
        wait_idle(&shared[k].s);
        strand_done(&shared[k].s);
        assert_int_equal(shared[k].count, POSTERS * EACH);
        assert_int_equal(shared[k].overlaps, 0);
        assert_int_equal(shared[k].out_of_order, 0);
    }
    pool_free(p);
}

static void keeps_its_bound(void **state)
{
    (void)state;
    static struct noted n[5];
    ran_len = 0;
    struct pool *p = pool_of(1, 10);
    struct strand s;
    strand_init(&s, p, STR_LIT("t"), 3);
    struct gate g;
    gate_shut(&g, &s);
    assert_false(strand_idle(&s));
    for (int i = 0; i < 3; i++) /* the running one does not count */
        assert_int_equal(post_noted(&s, &n[i], 's', i), 0);
    assert_int_equal(post_noted(&s, &n[3], 's', 3), E_BUSY);
    sem_post(&g.open);
    wait_idle(&s);
    assert_int_equal(ran_len, 3);
    assert_int_equal(post_noted(&s, &n[4], 's', 4), 0);
    wait_idle(&s);
    assert_int_equal(ran_len, 4);
    assert_int_equal(ran[3]->n, 4);
    strand_done(&s);
    pool_free(p);
}

static void a_busy_pool_takes_no_task(void **state)
{
    (void)state;
    static struct noted n[3];
    ran_len = 0;
    struct pool *p = pool_of(1, 1);
    struct strand holder, full, s;
    strand_init(&holder, p, STR_LIT("h"), 9);
    strand_init(&full, p, STR_LIT("f"), 9);
    strand_init(&s, p, STR_LIT("t"), 9);
    struct gate g;
    gate_shut(&g, &holder);
    mem_fail_at(1, 1);
    assert_int_equal(post_noted(&s, &n[0], 's', 0), E_NOMEM); /* of the pool's lane */
    mem_fail_at(0, 0);
    assert_true(strand_idle(&s));
    assert_int_equal(post_noted(&full, &n[1], 'f', 1), 0); /* fills the pool's queue */
    assert_int_equal(post_noted(&s, &n[0], 's', 0), E_BUSY);
    assert_true(strand_idle(&s));
    assert_int_equal(s.waiting, 0);
    sem_post(&g.open);
    wait_idle(&holder);
    wait_idle(&full);
    assert_int_equal(post_noted(&s, &n[2], 's', 2), 0); /* the strand was not spoilt */
    wait_idle(&s);
    assert_int_equal(ran_len, 2);
    assert_ptr_equal(ran[0], &n[1]);
    assert_ptr_equal(ran[1], &n[2]);
    strand_done(&holder);
    strand_done(&full);
    strand_done(&s);
    pool_free(p);
}

static void yields_after_a_batch(void **state)
{
    (void)state;
    enum { N = 40 };
    static struct noted a[N], b;
    ran_len = 0;
    struct pool *p = pool_of(1, 10);
    struct strand hold, sa, sb;
    strand_init(&hold, p, STR_LIT("h"), 1);
    strand_init(&sa, p, STR_LIT("a"), N);
    strand_init(&sb, p, STR_LIT("b"), N);
    struct gate g;
    gate_shut(&g, &hold);
    for (int i = 0; i < N; i++)
        assert_int_equal(post_noted(&sa, &a[i], 'a', i), 0);
    assert_int_equal(post_noted(&sb, &b, 'b', 0), 0);
    assert_int_equal(pool_waiting(p), 2); /* one turn a strand, however many tasks */
    sem_post(&g.open);
    wait_idle(&sa);
    wait_idle(&sb);
    wait_idle(&hold);
    assert_int_equal(ran_len, N + 1);
    assert_ptr_equal(ran[STRAND_BATCH], &b);
    for (int i = 0; i < N; i++)
        assert_ptr_equal(ran[i + (i >= STRAND_BATCH)], &a[i]);
    strand_done(&hold);
    strand_done(&sa);
    strand_done(&sb);
    pool_free(p);
}

static void no_memory_for_a_turn_loses_nothing(void **state)
{
    (void)state;
    enum { N = 5 * STRAND_BATCH };
    static struct noted n[N];
    ran_len = 0;
    struct pool *p = pool_of(1, 10);
    struct strand s;
    strand_init(&s, p, STR_LIT("t"), N);
    struct gate g;
    gate_shut(&g, &s);
    for (int i = 0; i < N; i++)
        assert_int_equal(post_noted(&s, &n[i], 's', i), 0);
    mem_fail_at(1, 1); /* its lane is gone while it runs, so each further turn needs a new one */
    sem_post(&g.open);
    wait_idle(&s);
    assert_true(mem_fail_at(0, 0) >= 4); /* the turns were tried for */
    assert_int_equal(ran_len, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(ran[i]->n, i);
    strand_done(&s);
    pool_free(p);
}

/* A task that posts the next one on its own strand, and frees itself. */
struct chain {
    struct strand_task t;
    struct strand *s;
    int left;
    int *ret_ran;
};

static void chain_fn(struct strand_task *t)
{
    struct chain *c = (struct chain *)t;
    ++*c->ret_ran;
    if (c->left) {
        struct chain *next = mem_zalloc(sizeof(*next));
        *next = *c;
        next->left--;
        if (strand_post(c->s, &next->t) < 0)
            mem_free(next);
    }
    mem_free(c);
}

static void tasks_post_and_free_themselves(void **state)
{
    (void)state;
    struct pool *p = pool_of(2, 1);
    struct strand s;
    strand_init(&s, p, STR_LIT("t"), 1);
    int count = 0;
    struct chain *c = mem_zalloc(sizeof(*c));
    *c = (struct chain){.t.fn = chain_fn, .s = &s, .left = 99, .ret_ran = &count};
    assert_int_equal(strand_post(&s, &c->t), 0);
    wait_idle(&s);
    strand_done(&s);
    pool_free(p);
    assert_int_equal(count, 100);
}

/* The owner frees the strand the moment it is idle: a turn that still looked at it would be seen by
 * asan and tsan. */
static void may_be_freed_when_idle(void **state)
{
    (void)state;
    struct pool *p = pool_of(2, 10);
    for (int round = 0; round < 300; round++) {
        static struct noted n[3];
        ran_len = 0;
        struct strand *s = mem_alloc(sizeof(*s));
        strand_init(s, p, STR_LIT("t"), 3);
        for (int i = 0; i < 3; i++)
            assert_int_equal(post_noted(s, &n[i], 's', i), 0);
        while (!strand_idle(s)) {
        }
        strand_done(s);
        assert_int_equal(ran_len, 3);
        memset(s, 0xAA, sizeof(*s));
        mem_free(s);
    }
    pool_free(p);
}

static void done_of_a_busy_one_is_a_bug(void **state)
{
    (void)state;
    pid_t pid = fork(); /* no other thread is alive here */
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        IGNORE(close(STDERR_FILENO));
        struct pool *p = NULL;
        struct pool_opts o = {.name = "strand", .threads = 1, .queue_max = 9};
        struct strand s;
        if (pool_new(&o, &p) < 0)
            _exit(2);
        strand_init(&s, p, STR_LIT("t"), 3);
        struct gate g = {.t.fn = gate_fn};
        sem_init(&g.entered, 0, 0);
        sem_init(&g.open, 0, 0);
        if (strand_post(&s, &g.t) < 0)
            _exit(3);
        strand_done(&s);
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* --- at once, on the caller's thread ---------------------------------------------------------- */

struct where {
    struct strand_task t;
    pthread_t thread;
    struct strand *s;
    struct noted *then; /* posted while it runs */
};

static void note_where(struct strand_task *t)
{
    struct where *w = (struct where *)t;
    w->thread = pthread_self();
    if (w->then && post_noted(w->s, w->then, 's', 7) < 0)
        w->then = NULL;
}

static _Atomic int owners;
static void own(void *o)
{
    (void)o;
    owners++;
}
static void disown(void *o)
{
    (void)o;
    owners--;
}

static void an_idle_one_runs_here(void **state)
{
    (void)state;
    struct pool *p = pool_of(1, 10);
    struct strand s;
    struct noted n;
    ran_len = 0;
    owners = 0;
    strand_init(&s, p, STR_LIT("t"), 3);
    strand_owner(&s, &s, own, disown);
    struct where w = {.t.fn = note_where, .s = &s};
    assert_int_equal(strand_run(&s, &w.t), 0);
    assert_true(pthread_equal(w.thread, pthread_self()));
    assert_true(strand_idle(&s));
    assert_int_equal(owners, 0);
    w.then = &n; /* what comes meanwhile is the pool's */
    assert_int_equal(strand_run(&s, &w.t), 0);
    assert_non_null(w.then);
    wait_idle(&s);
    while (owners) /* dropped after the last look at the strand */
        usleep(100);
    assert_int_equal(ran_len, 1);
    struct gate g; /* a busy one: as a post */
    gate_shut(&g, &s);
    w.then = NULL;
    assert_int_equal(strand_run(&s, &w.t), 0);
    sem_post(&g.open);
    wait_idle(&s);
    assert_false(pthread_equal(w.thread, pthread_self()));
    while (owners)
        usleep(100);
    strand_done(&s);
    pool_free(p);
}

/* The pool cannot take the rest: it runs here, and nothing is lost. */
static void no_memory_after_a_run(void **state)
{
    (void)state;
    struct pool *p = pool_of(1, 10);
    struct strand s;
    struct noted n;
    ran_len = 0;
    strand_init(&s, p, STR_LIT("t"), 3);
    struct where w = {.t.fn = note_where, .s = &s, .then = &n};
    mem_fail_at(1, 1);
    assert_int_equal(strand_run(&s, &w.t), 0);
    mem_fail_at(0, 0);
    assert_int_equal(ran_len, 1);
    assert_true(strand_idle(&s));
    strand_done(&s);
    pool_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(done_of_a_busy_one_is_a_bug),
        cmocka_unit_test(runs_in_order),
        cmocka_unit_test(excludes_under_many_posters),
        cmocka_unit_test(keeps_its_bound),
        cmocka_unit_test(a_busy_pool_takes_no_task),
        cmocka_unit_test(yields_after_a_batch),
        cmocka_unit_test(no_memory_for_a_turn_loses_nothing),
        cmocka_unit_test(tasks_post_and_free_themselves),
        cmocka_unit_test(may_be_freed_when_idle),
        cmocka_unit_test(an_idle_one_runs_here),
        cmocka_unit_test(no_memory_after_a_run),
    };
    return cmocka_run_group_tests_name("strand", tests, NULL, NULL);
}
