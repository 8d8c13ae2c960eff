/* test_queue.c - order, bounds, waiting, closing, several producers and consumers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/queue.h"

struct item {
    struct queue_node node;
    int from, n;
};

static int number(const struct queue_node *n)
{
    return ((const struct item *)n)->n;
}

static void takes_oldest_first_up_to_max(void **state)
{
    (void)state;
    struct item it[5];
    struct queue q;
    queue_init(&q, 5);
    for (int i = 0; i < 5; i++) {
        it[i].n = i;
        assert_int_equal(queue_push(&q, &it[i].node), 0);
    }
    struct queue_node *got = queue_take(&q, 2, 0);
    assert_int_equal(number(got), 0);
    assert_int_equal(number(got->next), 1);
    assert_null(got->next->next);
    assert_int_equal(q.len, 3);
    assert_int_equal(queue_push(&q, &it[0].node), 0); /* room again */
    got = queue_take(&q, 100, -1);
    static const int want[] = {2, 3, 4, 0};
    for (int i = 0; i < 4; i++, got = got->next)
        assert_int_equal(number(got), want[i]);
    assert_null(got);
    assert_int_equal(q.len, 0);
    assert_null(queue_take(&q, 1, 0));
    assert_int_equal(queue_push(&q, &it[1].node), 0); /* after it was emptied */
    assert_ptr_equal(queue_take(&q, 1, 0), &it[1].node);
    queue_done(&q);
}

static void refuses_when_full(void **state)
{
    (void)state;
    struct item it[3];
    struct queue q;
    queue_init(&q, 2);
    assert_int_equal(queue_push(&q, &it[0].node), 0);
    assert_int_equal(queue_push(&q, &it[1].node), 0);
    assert_int_equal(queue_push(&q, &it[2].node), E_BUSY);
    assert_ptr_equal(queue_take(&q, 1, 0), &it[0].node);
    assert_int_equal(queue_push(&q, &it[2].node), 0);
    assert_ptr_equal(queue_take(&q, 1, 0), &it[1].node);
    assert_ptr_equal(queue_take(&q, 1, 0), &it[2].node);
    queue_done(&q);
}

static void waits_for_the_time_given(void **state)
{
    (void)state;
    struct queue q;
    queue_init(&q, 2);
    int64_t start = clock_mono_ms();
    assert_null(queue_take(&q, 1, 40));
    assert_in_range(clock_mono_ms() - start, 39, 20000);
    queue_done(&q);
}

static void closing_drains(void **state)
{
    (void)state;
    struct item it[3];
    struct queue q;
    queue_init(&q, 5);
    assert_int_equal(queue_push(&q, &it[0].node), 0);
    assert_int_equal(queue_push(&q, &it[1].node), 0);
    assert_false(queue_closed_and_empty(&q));
    queue_close(&q);
    assert_false(queue_closed_and_empty(&q));
    assert_int_equal(queue_push(&q, &it[2].node), E_BUSY);
    assert_ptr_equal(queue_take(&q, 1, -1), &it[0].node);
    assert_ptr_equal(queue_take(&q, 1, -1), &it[1].node);
    assert_true(queue_closed_and_empty(&q));
    assert_null(queue_take(&q, 1, -1)); /* does not wait for ever */
    queue_close(&q);
    queue_done(&q);
}

struct taker {
    struct queue *q;
    size_t max;
    pthread_t id;
    _Atomic int got;
};

static void *take_until_closed(void *arg)
{
    struct taker *t = arg;
    for (struct queue_node *n; (n = queue_take(t->q, t->max, -1));)
        for (; n; n = n->next)
            t->got++;
    return NULL;
}

static void closing_wakes_all(void **state)
{
    (void)state;
    struct queue q;
    queue_init(&q, 5);
    struct taker t[3];
    for (int i = 0; i < 3; i++) {
        t[i] = (struct taker){.q = &q, .max = 1};
        assert_int_equal(pthread_create(&t[i].id, NULL, take_until_closed, &t[i]), 0);
    }
    usleep(20000); /* so that they wait, most likely; right either way */
    queue_close(&q);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(t[i].id, NULL), 0);
        assert_int_equal(t[i].got, 0);
    }
    queue_done(&q);
}

struct late {
    struct queue *q;
    struct item it;
};

static void *push_late(void *arg)
{
    struct late *l = arg;
    usleep(20000);
    return queue_push(l->q, &l->it.node) == 0 ? l : NULL;
}

static void a_push_wakes_a_taker(void **state)
{
    (void)state;
    struct queue q;
    queue_init(&q, 5);
    struct late l = {.q = &q};
    pthread_t id;
    void *pushed;
    assert_int_equal(pthread_create(&id, NULL, push_late, &l), 0);
    int64_t start = clock_mono_ms();
    assert_ptr_equal(queue_take(&q, 9, 60000), &l.it.node);
    assert_true(clock_mono_ms() - start < 50000);
    assert_int_equal(pthread_join(id, &pushed), 0);
    assert_non_null(pushed);
    queue_done(&q);
}

enum { PRODUCERS = 3, EACH = 3000, CONSUMERS = 2 };
static struct item items[PRODUCERS][EACH];
static _Atomic int taken[PRODUCERS][EACH];
static struct queue shared;

static void *produce(void *arg)
{
    int from = *(int *)arg;
    for (int i = 0; i < EACH; i++) {
        items[from][i].from = from;
        items[from][i].n = i;
        while (queue_push(&shared, &items[from][i].node) == E_BUSY)
            usleep(20);
    }
    return NULL;
}

static void *consume(void *arg)
{
    int last[PRODUCERS] = {-1, -1, -1}, *disorder = arg;
    for (struct queue_node *n; (n = queue_take(&shared, 7, -1));)
        for (; n; n = n->next) {
            const struct item *it = (const struct item *)n;
            taken[it->from][it->n]++;
            *disorder += it->n <= last[it->from];
            last[it->from] = it->n;
        }
    return NULL;
}

static void nothing_is_lost_between_threads(void **state)
{
    (void)state;
    queue_init(&shared, 16);
    pthread_t p[PRODUCERS], c[CONSUMERS];
    int from[PRODUCERS], disorder[CONSUMERS] = {0};
    for (int i = 0; i < CONSUMERS; i++)
        assert_int_equal(pthread_create(&c[i], NULL, consume, &disorder[i]), 0);
    for (int i = 0; i < PRODUCERS; i++) {
        from[i] = i;
        assert_int_equal(pthread_create(&p[i], NULL, produce, &from[i]), 0);
    }
    for (int i = 0; i < PRODUCERS; i++)
        assert_int_equal(pthread_join(p[i], NULL), 0);
    queue_close(&shared);
    for (int i = 0; i < CONSUMERS; i++) {
        assert_int_equal(pthread_join(c[i], NULL), 0);
        assert_int_equal(disorder[i], 0); /* what one taker sees of a producer is in order */
    }
    for (int i = 0; i < PRODUCERS; i++)
        for (int k = 0; k < EACH; k++)
            assert_int_equal(taken[i][k], 1);
    assert_true(queue_closed_and_empty(&shared));
    queue_done(&shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_oldest_first_up_to_max),
        cmocka_unit_test(refuses_when_full),
        cmocka_unit_test(waits_for_the_time_given),
        cmocka_unit_test(closing_drains),
        cmocka_unit_test(closing_wakes_all),
        cmocka_unit_test(a_push_wakes_a_taker),
        cmocka_unit_test(nothing_is_lost_between_threads),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
