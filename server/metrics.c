/* metrics.c - counters of requests, and everything that is counted anywhere as Prometheus text.
 *
 * A route has one cell a status class and one a histogram bucket; a request adds to three cells
 * with relaxed atomics and nothing else, since the busiest route is inline. Buckets are stored
 * apart and summed when they are read, so le="…" lines are cumulative as Prometheus wants them.
 * Routes that were never asked for are left out: thirty routes of zeros help nobody.
 *
 * Format: https://prometheus.io/docs/instrumenting/exposition_formats/ (text, 0.0.4).
 * Threads: any. */
#include "server/metrics.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "catalog/conflict_list.h"
#include "proto/base/clock.h"
#include "proto/base/mem.h"
#include "server/server.h"
#include "server/version.h"

/* Upper bounds of the buckets; one more holds the rest. */
static const int64_t bounds_us[] = {250,     500,     1000,     2500,    5000,   10000,
                                    25000,   50000,   100000,   250000,  500000, 1000000,
                                    2500000, 5000000, 10000000, 30000000};
#define BUCKETS (sizeof(bounds_us) / sizeof(bounds_us[0]) + 1)
#define CLASSES 5

struct cell {
    _Atomic int64_t by_class[CLASSES];
    _Atomic int64_t buckets[BUCKETS];
    _Atomic int64_t sum_us;
};
struct metrics {
    struct cell cells[ROUTE_COUNT + 1]; /* the last one: paths that are no route */
};

int metrics_new(struct ctx *cx, struct metrics **ret)
{
    struct metrics *m = mem_zalloc(sizeof(*m));
    if (!m)
        return ctx_nomem(cx);
    *ret = m;
    return 0;
}

void metrics_free(struct metrics *m)
{
    mem_free(m);
}

static void add(_Atomic int64_t *cell, int64_t by)
{
    atomic_fetch_add_explicit(cell, by, memory_order_relaxed);
}

static int64_t get(const _Atomic int64_t *cell)
{
    return atomic_load_explicit(cell, memory_order_relaxed);
}

static size_t bucket_of(int64_t us)
{
    size_t i = 0;
    while (i < BUCKETS - 1 && us > bounds_us[i])
        i++;
    return i;
}

static int cell_of(int route)
{
    return route >= 0 && route < ROUTE_COUNT ? route : ROUTE_COUNT;
}

void metrics_request(struct metrics *m, int route, int status, int64_t us)
{
    struct cell *c = &m->cells[cell_of(route)];
    int class = status / 100;
    add(&c->by_class[class >= 1 && class <= CLASSES ? class - 1 : CLASSES - 1], 1);
    add(&c->buckets[bucket_of(us)], 1);
    add(&c->sum_us, us);
}

int64_t metrics_requests(const struct metrics *m, int route, int class)
{
    return get(&m->cells[cell_of(route)].by_class[class - 1]);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one(struct buf *b, const char *name, const char *type, const char *help, int64_t v)
{
    head(b, name, type, help);
    buf_addf(b, "%s %lld\n", name, (long long)v);
}

static void gauge(struct buf *b, const char *name, const char *help, int64_t v)
{
    one(b, name, "gauge", help, v);
}

static void counter(struct buf *b, const char *name, const char *help, int64_t v)
{
    one(b, name, "counter", help, v);
}

static void labels(struct buf *b, int i)
{
    if (i == ROUTE_COUNT)
        buf_addz(b, "route=\"none\",method=\"\"");
    else
        buf_addf(b, "route=\"%s\",method=\"%s\"", routes[i].pattern,
                 route_method_name(routes[i].method));
}

static void write_classes(const struct cell *c, int i, struct buf *b)
{
    for (int k = 0; k < CLASSES; k++) {
        int64_t n = get(&c->by_class[k]);
        if (n == 0)
            continue;
        buf_addz(b, "latch_http_requests_total{");
        labels(b, i);
        buf_addf(b, ",status=\"%dxx\"} %lld\n", k + 1, (long long)n);
    }
}

static void write_histogram(const struct cell *c, int i, struct buf *b)
{
    int64_t sum_us = get(&c->sum_us), n = 0; /* the sum first: never more than n requests' */
    for (size_t k = 0; k < BUCKETS; k++) {
        n += get(&c->buckets[k]);
        buf_addz(b, "latch_http_request_seconds_bucket{");
        labels(b, i);
        if (k < BUCKETS - 1)
            buf_addf(b, ",le=\"%g\"} %lld\n", (double)bounds_us[k] / 1e6, (long long)n);
        else
            buf_addf(b, ",le=\"+Inf\"} %lld\n", (long long)n);
    }
    buf_addz(b, "latch_http_request_seconds_sum{");
    labels(b, i);
    buf_addf(b, "} %.6f\nlatch_http_request_seconds_count{", (double)sum_us / 1e6);
    labels(b, i);
    buf_addf(b, "} %lld\n", (long long)n);
}

static bool was_asked(const struct cell *c)
{
    for (size_t k = 0; k < BUCKETS; k++)
        if (get(&c->buckets[k]) != 0)
            return true;
    return false;
}

void metrics_write_requests(const struct metrics *m, struct buf *b)
{
    head(b, "latch_http_requests_total", "counter", "requests answered, by route and status class");
    for (int i = 0; i <= ROUTE_COUNT; i++)
        write_classes(&m->cells[i], i, b);
    head(b, "latch_http_request_seconds", "histogram",
         "time from a request's headers to its answer being ready");
    for (int i = 0; i <= ROUTE_COUNT; i++)
        if (was_asked(&m->cells[i]))
            write_histogram(&m->cells[i], i, b);
}

static void write_http(struct server *srv, struct buf *b)
{
    struct http_counts n = {0};
    struct http *h = atomic_load(&srv->http);
    if (h)
        http_counts(h, &n);
    gauge(b, "latch_http_connections", "open connections", n.connections);
    gauge(b, "latch_http_in_flight", "requests that have no complete answer yet", n.in_flight);
    gauge(b, "latch_http_parked", "requests that wait for a worker or a strand", n.parked);
    gauge(b, "latch_http_body_bytes", "bytes of request bodies held", n.body_bytes);
    head(b, "latch_queue_waiting", "gauge", "items that wait in a pool's queue");
    struct {
        const char *name;
        struct pool *pool;
    } pools[] = {
        {"workers", srv->workers},       {"strands", srv->strands}, {"loads", srv->loads},
        {"background", srv->background}, {"syncs", srv->syncs},
    };
    for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
        if (pools[i].pool)
            buf_addf(b, "latch_queue_waiting{pool=\"%s\"} %zu\n", pools[i].name,
                     pool_waiting(pools[i].pool));
    gauge(b, "latch_draining", "1 while the server stops", srv_draining(srv));
}

static void write_catalog(struct server *srv, struct buf *b)
{
    struct cat_counts n;
    catalog_counts(srv->cat, &n);
#define X(name, help) counter(b, "latch_" #name "_total", help, n.name);
    CAT_COUNTS(X)
#undef X
    gauge(b, "latch_tables_cached", "table handles in memory", n.tables_cached);
    gauge(b, "latch_states", "branches whose live files are in memory", n.states);
    gauge(b, "latch_state_bytes", "memory that these take", n.state_bytes);
    gauge(b, "latch_branches_forked",
          "branches in memory that take no change until their files are right", n.branches_forked);
}

/* All codes from the start: who watches for a rise must not miss the first. */
static void write_codes(const int64_t *n, const char *name, const char *help, struct buf *b)
{
    head(b, name, "counter", help);
    for (int i = 0; i < CONFLICT_CODES; i++)
        buf_addf(b, "%s{code=\"%s\"} %lld\n", name, conflict_word((enum conflict_code)i),
                 (long long)n[i]);
}

void metrics_write_conflicts(const struct conflict_counts *n, struct buf *b)
{
    write_codes(n->refused, "latch_conflicts_total", "commits refused, by what was found", b);
    write_codes(n->accepted, "latch_conflicts_accepted_total",
                "snapshots accepted although that was found: they are only listed", b);
}

static void write_conflicts(struct server *srv, struct buf *b)
{
    struct conflict_counts n;
    conflict_counts(srv->cat, &n);
    metrics_write_conflicts(&n, b);
}

static void write_store(struct server *srv, struct buf *b)
{
    struct store_counts n;
    store_sqlite_counts(srv->store, &n);
    counter(b, "latch_store_transactions_total", "transactions of the store", n.transactions);
    counter(b, "latch_store_groups_total", "database commits that made them durable", n.groups);
    gauge(b, "latch_store_group_max", "most transactions in one of those", n.group_max);
    counter(b, "latch_store_checkpoints_total", "checkpoints of the store's log", n.checkpoints);
    counter(b, "latch_store_failures_total", "transactions that failed in the database",
            n.failures);
    gauge(b, "latch_store_queue_waiting", "transactions that wait for the writer", n.queue_waiting);
    gauge(b, "latch_store_wal_bytes", "size of the store's log", n.wal_bytes);
}

/* --- the process ------------------------------------------------------------------------------ */

static str read_proc(const char *path, char *text, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, cap);
    if (fd >= 0)
        close(fd);
    return str_n(text, n < 0 ? 0 : (size_t)n);
}

/* The number behind "key: " in a /proc file; -1 when it is not there (some containers hide them).
 */
static int64_t proc_number(str text, const char *key)
{
    str line;
    while (str_split(&text, '\n', &line)) {
        int64_t v;
        if (str_starts(line, str_of(key)) && str_to_i64(str_trim(str_cut(line, strlen(key))), &v))
            return v;
    }
    return -1;
}

static int64_t resident_bytes(void)
{
    char text[256];
    str rest = read_proc("/proc/self/statm", text, sizeof(text)), part;
    int64_t pages;
    if (!str_split(&rest, ' ', &part) || !str_split(&rest, ' ', &part) || !str_to_i64(part, &pages))
        return -1;
    return pages * sysconf(_SC_PAGESIZE);
}

static int64_t open_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    if (!d)
        return -1;
    int64_t n = -3; /* ".", ".." and this very directory */
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void write_process(struct server *srv, struct buf *b)
{
    char text[1024];
    str io = read_proc("/proc/self/io", text, sizeof(text));
    int64_t up_ms = clock_wall_ms() - srv->start_wall_ms;
    head(b, "latch_build_info", "gauge", "what runs here");
    buf_addf(b, "latch_build_info{version=\"%s\",commit=\"%s\"} 1\n", latch_version(),
             latch_commit());
    gauge(b, "process_start_time_seconds", "start of the process since 1970",
          srv->start_wall_ms / 1000);
    gauge(b, "latch_uptime_seconds", "seconds since the start", up_ms / 1000);
    gauge(b, "process_resident_memory_bytes", "resident memory", resident_bytes());
    gauge(b, "process_open_fds", "open file descriptors", open_fds());
    counter(b, "latch_process_read_bytes_total", "bytes read from disks",
            proc_number(io, "read_bytes:"));
    counter(b, "latch_process_written_bytes_total", "bytes written to disks",
            proc_number(io, "write_bytes:"));
}

void metrics_write(struct server *srv, struct buf *b)
{
    metrics_write_requests(srv->metrics, b);
    write_http(srv, b);
    write_catalog(srv, b);
    write_conflicts(srv, b);
    write_store(srv, b);
    write_process(srv, b);
}
