/* test_metrics.c - counting requests, and the Prometheus text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "catalog/conflict_list.h"
#include "server/metrics.h"
#include "server/route.h"

static struct ctx cx;
static struct metrics *m;
static struct buf out;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 1 << 20);
    out = (struct buf){0};
    return metrics_new(&cx, &m);
}

static int teardown(void **state)
{
    (void)state;
    metrics_free(m);
    buf_done(&out);
    ctx_done(&cx);
    return 0;
}

static const char *text(void)
{
    buf_done(&out);
    metrics_write_requests(m, &out);
    return buf_z(&out);
}

static void assert_line(const char *line)
{
    char with_ends[512];
    snprintf(with_ends, sizeof(with_ends), "\n%s\n", line);
    if (!strstr(text(), with_ends))
        fail_msg("no line %s in:\n%s", line, text());
}

static void test_empty(void **state)
{
    (void)state;
    assert_null(strstr(text(), "{"));
    assert_non_null(strstr(text(), "# TYPE latch_http_requests_total counter\n"));
    assert_non_null(strstr(text(), "# TYPE latch_http_request_seconds histogram\n"));
}

static void test_classes(void **state)
{
    (void)state;
    metrics_request(m, ROUTE_h_commit, 200, 10);
    metrics_request(m, ROUTE_h_commit, 200, 10);
    metrics_request(m, ROUTE_h_commit, 409, 10);
    metrics_request(m, ROUTE_h_commit, 503, 10);
    metrics_request(m, ROUTE_h_healthz, 200, 10);
    assert_int_equal(metrics_requests(m, ROUTE_h_commit, 2), 2);
    assert_int_equal(metrics_requests(m, ROUTE_h_commit, 4), 1);
    assert_int_equal(metrics_requests(m, ROUTE_h_commit, 5), 1);
    assert_int_equal(metrics_requests(m, ROUTE_h_commit, 1), 0);
    assert_int_equal(metrics_requests(m, ROUTE_h_healthz, 2), 1);
    assert_line("latch_http_requests_total{route=\"/healthz\",method=\"GET\",status=\"2xx\"} 1");
    assert_line(
        "latch_http_requests_total{route=\"/v1/{prefix}/databases/{database}/tables/{table}/"
        "commit\",method=\"POST\",status=\"2xx\"} 2");
    assert_null(strstr(text(), "status=\"1xx\""));
}

static void test_unknown_paths_are_one_cell(void **state)
{
    (void)state;
    metrics_request(m, -1, 404, 10);
    metrics_request(m, ROUTE_COUNT + 7, 404, 10);
    assert_int_equal(metrics_requests(m, -1, 4), 2);
    assert_line("latch_http_requests_total{route=\"none\",method=\"\",status=\"4xx\"} 2");
}

/* A bound belongs to its bucket, and buckets are cumulative. */
static void test_histogram(void **state)
{
    (void)state;
    int64_t us[] = {0, 250, 251, 30000000, 30000001};
    for (size_t i = 0; i < sizeof(us) / sizeof(us[0]); i++)
        metrics_request(m, ROUTE_h_healthz, 200, us[i]);
#define L(rest) "latch_http_request_seconds_" rest
#define WHO     "route=\"/healthz\",method=\"GET\""
    assert_line(L("bucket{" WHO ",le=\"0.00025\"} 2"));
    assert_line(L("bucket{" WHO ",le=\"0.0005\"} 3"));
    assert_line(L("bucket{" WHO ",le=\"10\"} 3"));
    assert_line(L("bucket{" WHO ",le=\"30\"} 4"));
    assert_line(L("bucket{" WHO ",le=\"+Inf\"} 5"));
    assert_line(L("count{" WHO "} 5"));
    assert_line(L("sum{" WHO "} 60.000502"));
}

/* Each name is declared once, before its samples, and all samples of a name stand together. */
static void test_text_is_well_formed(void **state)
{
    (void)state;
    for (int i = 0; i < ROUTE_COUNT; i++)
        metrics_request(m, i, 200, 1000);
    str rest = str_of(text()), line, family = STR_NONE;
    int families = 0;
    while (str_split(&rest, '\n', &line)) {
        if (str_starts(line, STR_LIT("# TYPE "))) {
            str words = str_cut(line, 7);
            assert_true(str_split(&words, ' ', &family));
            families++;
        } else if (line.len && line.p[0] != '#') {
            assert_true(str_starts(line, family));
            size_t end = line.len;
            while (end > 0 && line.p[end - 1] != '}')
                end--;
            assert_true(end > 0 && end + 1 < line.len && line.p[end] == ' ');
        }
    }
    assert_int_equal(families, 2);
}

/* Every code is there from the start; only listed ones are apart. */
static void test_conflicts(void **state)
{
    (void)state;
    struct conflict_counts n = {0};
    metrics_write_conflicts(&n, &out);
    for (int i = 0; i < CONFLICT_CODES; i++) {
        char line[128];
        const char *word = conflict_word((enum conflict_code)i);
        snprintf(line, sizeof(line), "\nlatch_conflicts_total{code=\"%s\"} 0\n", word);
        assert_non_null(strstr(buf_z(&out), line));
        snprintf(line, sizeof(line), "\nlatch_conflicts_accepted_total{code=\"%s\"} 0\n", word);
        assert_non_null(strstr(buf_z(&out), line));
    }
    buf_clear(&out);
    n.refused[CONFLICT_FILE_GONE] = 3;
    n.accepted[CONFLICT_FILE_GONE] = 4;
    n.accepted[CONFLICT_BUCKET_COUNT] = 5;
    metrics_write_conflicts(&n, &out);
    const char *const lines[] = {"# TYPE latch_conflicts_total counter\n",
                                 "# TYPE latch_conflicts_accepted_total counter\n",
                                 "\nlatch_conflicts_total{code=\"file-gone\"} 3\n",
                                 "\nlatch_conflicts_total{code=\"bucket-count\"} 0\n",
                                 "\nlatch_conflicts_accepted_total{code=\"file-gone\"} 4\n",
                                 "\nlatch_conflicts_accepted_total{code=\"bucket-count\"} 5\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (!strstr(buf_z(&out), lines[i]))
            fail_msg("no line %s in:\n%s", lines[i], buf_z(&out));
}

#define THREADS 4
#define TIMES   20000

static void *count(void *arg)
{
    (void)arg;
    for (int i = 0; i < TIMES; i++)
        metrics_request(m, ROUTE_h_snapshot, 200, 3);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, count, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(metrics_requests(m, ROUTE_h_snapshot, 2), THREADS * TIMES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_classes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_paths_are_one_cell, setup, teardown),
        cmocka_unit_test_setup_teardown(test_histogram, setup, teardown),
        cmocka_unit_test_setup_teardown(test_text_is_well_formed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_conflicts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
