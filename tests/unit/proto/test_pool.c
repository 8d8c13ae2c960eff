/* test_pool.c - turns of the lanes, bounds, the end; assertions run on the main thread only. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include "proto/base/mem.h"
#include "proto/base/pool.h"

static struct pool *pool_of(int threads, size_t queue_max, size_t lane_max)
{
    struct pool *p = NULL;
    struct pool_opts o = {
        .name = "twelve-chars", .threads = threads, .queue_max = queue_max, .lane_max = lane_max};
    assert_int_equal(pool_new(&o, &p), 0);
    return p;
}

/* An item that holds its thread until the test lets go. */
struct gate {
    struct pool_item it;
    sem_t entered, open;
};

static void gate_fn(struct pool_item *it)
{
    struct gate *g = (struct gate *)it;
    sem_post(&g->entered);
    sem_wait(&g->open);
}

/* Afterwards one thread of the pool is in the gate and nothing of it waits. */
static void gate_shut(struct gate *g, struct pool *p)
{
    g->it.fn = gate_fn;
    sem_init(&g->entered, 0, 0);
    sem_init(&g->open, 0, 0);
    assert_int_equal(pool_post(p, STR_LIT("gate"), &g->it), 0);
    sem_wait(&g->entered);
}

static void gate_open(struct gate *g)
{
    sem_post(&g->open);
}

/* Items that write down in which order they ran. One thread runs them; read after pool_free. */
struct noted {
    struct pool_item it;
    char lane;
    int n;
};
static struct noted *ran[2000];
static _Atomic int ran_len;

static void note(struct pool_item *it)
{
    ran[ran_len++] = (struct noted *)it;
}

static int post_noted(struct pool *p, struct noted *n, char lane, int number)
{
    *n = (struct noted){.it.fn = note, .lane = lane, .n = number};
    return pool_post(p, str_n(&lane, 1), &n->it); /* the name does not live on */
}

static void lanes_take_turns(void **state)
{
    (void)state;
    static struct noted a[4], b[2], c[3];
    ran_len = 0;
    struct pool *p = pool_of(1, 100, 0);
    struct gate g;
    gate_shut(&g, p);
    for (int i = 0; i < 4; i++)
        assert_int_equal(post_noted(p, &a[i], 'a', i), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(post_noted(p, &b[i], 'b', i), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(post_noted(p, &c[i], 'c', i), 0);
    assert_int_equal(pool_waiting(p), 9);
    gate_open(&g);
    pool_free(p);
    static const char want[] = "a0b0c0a1b1c1a2c2a3";
    assert_int_equal(ran_len, 9);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(ran[i]->lane, want[2 * i]);
        assert_int_equal(ran[i]->n, want[2 * i + 1] - '0');
    }
}

static void a_full_lane_does_not_delay_another(void **state)
{
    (void)state;
    static struct noted busy[100], quiet;
    ran_len = 0;
    struct pool *p = pool_of(1, 1000, 0);
    struct gate g;
    gate_shut(&g, p);
    for (int i = 0; i < 100; i++)
        assert_int_equal(post_noted(p, &busy[i], 'b', i), 0);
    assert_int_equal(post_noted(p, &quiet, 'q', 0), 0);
    gate_open(&g);
    pool_free(p);
    assert_int_equal(ran_len, 101);
    assert_ptr_equal(ran[1], &quiet); /* 100 came before it, one runs before it */
    for (int i = 0; i < 100; i++)
        assert_int_equal(ran[i + (i > 0)]->n, i);
}

static void keeps_its_bounds(void **state)
{
    (void)state;
    static struct noted n[10];
    ran_len = 0;
    struct pool *p = pool_of(1, 4, 2);
    struct gate g;
    gate_shut(&g, p);
    assert_int_equal(pool_waiting(p), 0); /* what runs does not wait */
    assert_int_equal(post_noted(p, &n[0], 'a', 0), 0);
    assert_int_equal(post_noted(p, &n[1], 'a', 1), 0);
    assert_int_equal(post_noted(p, &n[2], 'a', 2), E_BUSY); /* the lane's bound */
    assert_int_equal(post_noted(p, &n[3], 'b', 3), 0);
    assert_int_equal(post_noted(p, &n[4], 'c', 4), 0);
    assert_int_equal(post_noted(p, &n[5], 'd', 5), E_BUSY); /* that of all */
    assert_int_equal(post_noted(p, &n[6], 'b', 6), E_BUSY);
    n[7] = (struct noted){.it.fn = note, .lane = 'a', .n = 7};
    assert_int_equal(pool_post_forced(p, STR_LIT("a"), &n[7].it), 0); /* above both */
    assert_int_equal(pool_waiting(p), 5);
    gate_open(&g);
    pool_free(p);
    assert_int_equal(ran_len, 5);
    static const int want[] = {0, 3, 4, 1, 7};
    for (int i = 0; i < 5; i++)
        assert_int_equal(ran[i]->n, want[i]);
}

static void takes_nothing_without_memory(void **state)
{
    (void)state;
    static struct noted n[3];
    ran_len = 0;
    struct pool *p = pool_of(1, 10, 0);
    struct gate g;
    gate_shut(&g, p);
    mem_fail_at(1, 1);
    assert_int_equal(post_noted(p, &n[0], 'a', 0), E_NOMEM);
    assert_int_equal(pool_post_forced(p, STR_LIT("a"), &n[0].it), E_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(pool_waiting(p), 0);
    assert_int_equal(post_noted(p, &n[1], 'a', 1), 0);
    mem_fail_at(1, 1);
    assert_int_equal(post_noted(p, &n[2], 'a', 2), 0); /* a lane that is there needs no memory */
    mem_fail_at(0, 0);
    gate_open(&g);
    pool_free(p);
    assert_int_equal(ran_len, 2);
    struct pool_opts o = {.name = "x", .threads = 1, .queue_max = 1};
    p = NULL;
    mem_fail_at(1, 0);
    assert_int_equal(pool_new(&o, &p), E_NOMEM);
    mem_fail_at(0, 0);
    assert_null(p);
    pool_free(NULL);
}

static str tenant(int i)
{
    static char name[32];
    return str_n(name, (size_t)snprintf(name, sizeof(name), "tenant-%d", i));
}

/* Many names that differ, also within one chain of the table; asan sees a lane that is not freed.
 */
static void names_come_and_go(void **state)
{
    (void)state;
    enum { NAMES = 2000 };
    static struct noted n[NAMES];
    ran_len = 0;
    struct pool *p = pool_of(1, 2 * NAMES, 1);
    struct gate g;
    gate_shut(&g, p);
    for (int i = 0; i < NAMES; i++) {
        n[i] = (struct noted){.it.fn = note, .n = i};
        assert_int_equal(pool_post(p, tenant(i), &n[i].it), 0);
    }
    struct pool_item extra = {.fn = note};
    for (int i = 0; i < NAMES; i++) /* each lane is found again under its name, and full */
        assert_int_equal(pool_post(p, tenant(i), &extra), E_BUSY);
    gate_open(&g);
    pool_free(p);
    assert_int_equal(ran_len, NAMES);
    for (int i = 0; i < NAMES; i++)
        assert_int_equal(ran[i]->n, i);
}

struct look {
    struct pool_item it;
    char name[16];
    sigset_t mask;
};

static void look_around(struct pool_item *it)
{
    struct look *l = (struct look *)it;
    pthread_getname_np(pthread_self(), l->name, sizeof(l->name));
    pthread_sigmask(SIG_SETMASK, NULL, &l->mask);
}

static void threads_have_names_and_no_signals(void **state)
{
    (void)state;
    sigset_t none, before, after;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, &before);
    struct pool *p = pool_of(1, 10, 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    struct gate g;
    gate_shut(&g, p);
    struct look l = {.it.fn = look_around};
    assert_int_equal(pool_post(p, STR_NONE, &l.it), 0); /* the empty name is a lane too */
    gate_open(&g);
    pool_free(p);
    assert_string_equal(l.name, "twelve-chars-0");
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPIPE, SIGCHLD};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        assert_int_equal(sigismember(&l.mask, signals[i]), 1);
        assert_int_equal(sigismember(&after, signals[i]), 0); /* ours are as they were */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* An item that posts from inside the pool while pool_free waits. */
struct inner {
    struct pool_item it, next, refused;
    struct pool *p;
    sem_t entered, go;
    int rc_forced, rc_plain, ran_next;
};

static void inner_next(struct pool_item *it)
{
    struct inner *in = (struct inner *)((char *)it - offsetof(struct inner, next));
    in->ran_next++;
}

static void inner_fn(struct pool_item *it)
{
    struct inner *in = (struct inner *)it;
    sem_post(&in->entered);
    do { /* until pool_free has begun */
        in->rc_plain = pool_post(in->p, STR_LIT("other"), &in->refused);
        if (in->rc_plain == 0)
            sem_wait(&in->go);
    } while (in->rc_plain == 0);
    in->rc_forced = pool_post_forced(in->p, STR_LIT("other"), &in->next);
}

static void let_go(struct pool_item *it)
{
    struct inner *in = (struct inner *)((char *)it - offsetof(struct inner, refused));
    sem_post(&in->go);
}

static void the_end_runs_what_was_taken(void **state)
{
    (void)state;
    static struct noted n[200];
    ran_len = 0;
    struct pool *p = pool_of(2, 1000, 0);
    struct inner in = {.it.fn = inner_fn, .next.fn = inner_next, .refused.fn = let_go, .p = p};
    sem_init(&in.entered, 0, 0);
    sem_init(&in.go, 0, 0);
    assert_int_equal(pool_post(p, STR_LIT("a"), &in.it), 0);
    sem_wait(&in.entered);
    for (int i = 0; i < 200; i++) /* one thread is in inner_fn, the other runs these */
        assert_int_equal(post_noted(p, &n[i], 'a', i), 0);
    pool_free(p);
    assert_int_equal(ran_len, 200);
    assert_int_equal(in.rc_plain, E_BUSY);
    assert_int_equal(in.rc_forced, 0);
    assert_int_equal(in.ran_next, 1);
}

enum { POSTERS = 4, EACH = 2000 };
struct poster {
    struct pool *p;
    int number;
    long refused;
};
static _Atomic long sum;

static void add_and_free(struct pool_item *it)
{
    sum++;
    mem_free(it);
}

static void *post_many(void *arg)
{
    struct poster *me = arg;
    for (int i = 0; i < EACH; i++) {
        struct pool_item *it = mem_zalloc(sizeof(*it));
        it->fn = add_and_free;
        char lane[8];
        int len = snprintf(lane, sizeof(lane), "%d", (i + me->number) % 7);
        if (pool_post(me->p, str_n(lane, (size_t)len), it) < 0) {
            me->refused++;
            mem_free(it);
        }
    }
    return NULL;
}

static void nothing_is_lost_or_run_twice(void **state)
{
    (void)state;
    sum = 0;
    struct pool *p = pool_of(3, 64, 32);
    pthread_t ids[POSTERS];
    struct poster posters[POSTERS];
    long refused = 0;
    for (int t = 0; t < POSTERS; t++) {
        posters[t] = (struct poster){.p = p, .number = t};
        assert_int_equal(pthread_create(&ids[t], NULL, post_many, &posters[t]), 0);
    }
    for (int t = 0; t < POSTERS; t++) {
        assert_int_equal(pthread_join(ids[t], NULL), 0);
        refused += posters[t].refused;
    }
    assert_true(pool_waiting(p) <= 64);
    pool_free(p);
    assert_int_equal(sum + refused, POSTERS * EACH);
    assert_true(sum > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_take_turns),
        cmocka_unit_test(a_full_lane_does_not_delay_another),
        cmocka_unit_test(keeps_its_bounds),
        cmocka_unit_test(takes_nothing_without_memory),
        cmocka_unit_test(names_come_and_go),
        cmocka_unit_test(threads_have_names_and_no_signals),
        cmocka_unit_test(the_end_runs_what_was_taken),
        cmocka_unit_test(nothing_is_lost_or_run_twice),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
