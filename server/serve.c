/* serve.c - the daemon: what is made in which order, and taken down in the reverse one.
 *
 *   settings, data directory (lock), socket, store, first start, pools, catalog, HTTP, ready file
 *   ... signals ...
 *   ready file away, drain, HTTP, workers, strands, background, catalog, store, lock
 *
 * Strands are fed by workers and feed the background pool, hence the order of the pools.
 *
 * Main blocks the signals it handles before any thread exists, so all threads block them, and takes
 * them with sigtimedwait: no handler runs in the middle of anything. Between signals main has one
 * other job, to hand catalog_prune to the background pool every few minutes. */
#include "server/serve.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "server/bootstrap.h"
#include "server/datadir.h"
#include "server/drain.h"
#include "server/listen.h"
#include "server/server.h"
#include "server/version.h"

#define MAIN_ARENA     ((size_t)1 << 30) /* of what lives as long as the process */
#define PRUNE_SECONDS  300
#define PRUNE_ARENA    ((size_t)64 << 20)
#define FDS_OF_OURS    256 /* files beside connections */
#define BACKGROUND     2   /* threads */
#define BACKGROUND_MAX 100000
#define SYNC_MAX       1024 /* fsyncs that wait for a thread; past it the caller does its own */

struct process {
    struct server srv;
    struct config *config; /* the newest, as srv.config */
    struct config_in in;
    struct datadir dir;
    int listen_fd; /* until http.c has it */
    str ready_file;
    struct ctx cx;
    struct pool_item prune;
    _Atomic bool pruning;
    sigset_t signals;
};

/* --- the process's own limits ----------------------------------------------------------------- */

static void raise_fd_limit(const struct config *c)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0)
        return;
    l.rlim_cur = l.rlim_max;
    IGNORE(setrlimit(RLIMIT_NOFILE, &l));
    if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < (rlim_t)c->connections_max + FDS_OF_OURS)
        log_warn("server", "server.few_files", LI("limit", l.rlim_cur),
                 LI("http.connections-max", c->connections_max),
                 LZ("msg", "raise the limit of open files (ulimit -n) or lower the setting"));
}

static void block_signals(sigset_t *ret)
{
    sigemptyset(ret);
    sigaddset(ret, SIGTERM);
    sigaddset(ret, SIGINT);
    sigaddset(ret, SIGHUP);
    pthread_sigmask(SIG_BLOCK, ret, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* --- start ------------------------------------------------------------------------------------ */

static int open_store(struct process *p, const struct config *c)
{
    str path;
    TRY(datadir_path(&p->cx, &p->dir, "latch.db", &path));
    struct store_sqlite_opts o = {.path = path,
                                  .queue_max = (size_t)c->store_queue_max,
                                  .checkpoint_bytes = c->checkpoint_size};
    return store_sqlite_new(&p->cx, &o, &p->srv.store);
}

static int make_pool(struct ctx *cx, const char *name, int64_t threads, int64_t max,
                     int64_t lane_max, struct pool **ret)
{
    struct pool_opts o = {.name = name,
                          .threads = (int)threads,
                          .queue_max = (size_t)max,
                          .lane_max = (size_t)lane_max};
    int rc = pool_new(&o, ret);
    return rc < 0 ? ctx_fail(cx, rc, RES_NONE, STR_NONE,
                             "cannot start the threads \"%s\"; is the limit "
                             "of processes (ulimit -u) too low?",
                             name)
                  : 0;
}

/* A strand has at most one turn in the pool, and branches are bounded by catalog.tables-max. */
static int make_pools(struct process *p, const struct config *c)
{
    struct server *srv = &p->srv;
    TRY(make_pool(&p->cx, "background", BACKGROUND, BACKGROUND_MAX, 0, &srv->background));
    TRY(make_pool(&p->cx, "sync", c->sync_threads, SYNC_MAX, 0, &srv->syncs));
    TRY(make_pool(&p->cx, "load", c->load_threads, c->tables_max, 0, &srv->loads));
    TRY(make_pool(&p->cx, "strand", c->strand_threads, c->tables_max, 0, &srv->strands));
    return make_pool(&p->cx, "worker", c->worker_threads, c->queue_max, c->queue_tenant_max,
                     &srv->workers);
}

/* "/a, /b" */
static int split_roots(struct ctx *cx, str text, str **ret, size_t *ret_n)
{
    size_t max = 1, n = 0;
    for (size_t i = 0; i < text.len; i++)
        max += text.p[i] == ',';
    str rest = text, part, *roots = ARENA_ARRAY(&cx->arena, str, max);
    if (!roots)
        return ctx_nomem(cx);
    while (str_split(&rest, ',', &part))
        if (str_trim(part).len)
            roots[n++] = str_trim(part);
    *ret = roots;
    *ret_n = n;
    return 0;
}

static int open_catalog(struct process *p, const struct config *c)
{
    str *roots, state_dir;
    size_t n_roots;
    TRY(datadir_path(&p->cx, &p->dir, "state", &state_dir));
    TRY(split_roots(&p->cx, c->external_roots, &roots, &n_roots));
    struct catalog_opts o = {.store = p->srv.store,
                             .strands = p->srv.strands,
                             .loads = p->srv.loads,
                             .background = p->srv.background,
                             .syncs = p->srv.syncs,
                             .strand_max = (size_t)c->commit_queue_max,
                             .tables_max = (size_t)c->tables_max,
                             .sync = (enum commit_sync)c->commit_sync,
                             .database_suffix = c->database_suffix,
                             .external_roots = roots,
                             .n_external_roots = n_roots,
                             .dir_mode = (unsigned)c->dir_mode,
                             .file_mode = (unsigned)c->file_mode,
                             .group = c->group,
                             .data_dir = p->dir.path,
                             .disk_min_free_bytes = c->disk_min_free,
                             .outcome_keep_ms = c->outcome_keep_ms,
                             .outcome_max = c->outcome_max,
                             .audit_keep_ms = c->audit_keep_ms,
                             .snapshot_max_bytes = (size_t)c->snapshot_max,
                             .verify = (enum verify_files)c->verify_files,
                             .state_memory = (size_t)c->state_memory,
                             .state_table_max = (size_t)c->state_table_max,
                             .state_dir = state_dir,
                             .state_keep_min = (size_t)c->state_keep_min,
                             .state_keep_commits = c->state_keep_commits,
                             .state_keep_bytes = c->state_keep_bytes,
                             .history_snapshots = c->history_snapshots,
                             .state_gone_max = (size_t)c->state_gone_max,
                             .facts_max_bytes = (size_t)c->commit_memory,
                             .upkeep_merge = c->upkeep_merge != 0,
                             .conflict_keep_ms = c->conflict_keep_ms,
                             .conflict_max = c->conflict_max};
    return catalog_open(&p->cx, &o, &p->srv.cat);
}

static int ready_path(struct process *p, const struct config *c)
{
    p->ready_file = c->ready_file;
    if (!c->ready_file.len)
        return 0;
    char *z = str_dupz(&p->cx.arena, c->ready_file);
    if (!z)
        return ctx_nomem(&p->cx);
    if (unlink(z) < 0 && errno != ENOENT) /* of a process that was killed */
        return ctx_fail_errno(&p->cx, E_IO, "cannot remove the old ready file %s", z);
    return 0;
}

static int start_http(struct process *p)
{
    TRY(router_new(&p->cx, routes, ROUTE_COUNT, &p->srv.router));
    TRY(metrics_new(&p->cx, &p->srv.metrics));
    int fd = p->listen_fd;
    p->listen_fd = -1; /* http_start's, also when it fails */
    struct http *h;
    TRY(http_start(&p->cx, &p->srv, fd, &h));
    atomic_store(&p->srv.http, h);
    return 0;
}

static int announce(struct process *p, const struct config *c, const struct bootstrap_out *first,
                    str url)
{
    CLEANUP(buf_done) struct buf text = {0};
    buf_addf(&text, "%.*s\n", STR(url));
    if (p->ready_file.len)
        TRY(file_replace(&p->cx, p->ready_file, buf_str(&text), 0644));
    log_info("server", "server.ready", LS("url", url), LS("data_dir", p->dir.path),
             LS("ready_file", p->ready_file));
    if (!first->made)
        return 0;
    buf_clear(&text);
    bootstrap_paste(&text, c, first, url);
    IGNORE(write(STDERR_FILENO, text.p, text.len) < 0);
    return 0;
}

static int start(struct process *p)
{
    const struct config *c = p->config;
    struct bootstrap_out first;
    CLEANUP(buf_done) struct buf url = {0};
    TRY(datadir_open(&p->cx, c->data_dir, &p->dir));
    TRY(ready_path(p, c));
    TRY(listen_open(&p->cx, c->listen, &p->listen_fd,
                    &url)); /* before the first start leaves a trace */
    TRY(open_store(p, c));
    TRY(bootstrap(&p->cx, c, &p->dir, p->srv.store, &first));
    TRY(make_pools(p, c));
    TRY(open_catalog(p, c));
    TRY(start_http(p));
    return announce(p, c, &first, buf_str(&url));
}

/* --- run -------------------------------------------------------------------------------------- */

static void run_prune(struct pool_item *it)
{
    struct process *p = (struct process *)((char *)it - offsetof(struct process, prune));
    struct ctx cx;
    ctx_init(&cx, PRUNE_ARENA);
    if (catalog_prune(&cx, p->srv.cat) < 0)
        log_warn("server", "prune.failed", LZ("msg", cx.err.msg));
    ctx_done(&cx);
    atomic_store(&p->pruning, false);
}

static void post_prune(struct process *p)
{
    if (atomic_exchange(&p->pruning, true)) /* the last one still runs */
        return;
    p->prune.fn = run_prune;
    if (pool_post(p->srv.background, STR_LIT("-"), &p->prune) < 0)
        atomic_store(&p->pruning, false);
}

static void apply(struct process *p, struct config *c)
{
    p->config = c;
    atomic_store_explicit(&p->srv.config, c, memory_order_release);
    log_set_level((enum log_level)c->log_level);
}

static void reload(struct process *p)
{
    struct ctx cx;
    struct config *c;
    ctx_init(&cx, (size_t)MIB);
    if (config_reload(&cx, &p->in, p->config, &c) == 0) {
        apply(p, c);
        log_info("server", "server.reloaded");
    } else {
        log_error("server", "server.reload_failed", LZ("msg", cx.err.msg),
                  LZ("next", "the settings stay as they were"));
    }
    ctx_done(&cx);
}

/* Until SIGTERM or SIGINT. */
static void run(struct process *p)
{
    const struct timespec pause = {.tv_sec = PRUNE_SECONDS};
    for (;;) {
        siginfo_t info;
        int sig = sigtimedwait(&p->signals, &info, &pause);
        if (sig == SIGTERM || sig == SIGINT) {
            log_info("server", "server.signal", LI("signal", sig), LI("from_pid", info.si_pid));
            return;
        }
        if (sig == SIGHUP)
            reload(p);
        else if (sig < 0 && errno == EAGAIN)
            post_prune(p);
    }
}

/* --- stop ------------------------------------------------------------------------------------- */

static void remove_ready_file(struct process *p)
{
    char *z = p->ready_file.len ? str_dupz(&p->cx.arena, p->ready_file) : NULL;
    if (z)
        IGNORE(unlink(z) < 0);
}

/* Takes down what start made, as far as it came. */
static void stop(struct process *p)
{
    struct server *srv = &p->srv;
    http_stop(srv->http);
    if (p->listen_fd >= 0)
        close(p->listen_fd);
    pool_free(srv->workers);
    pool_free(srv->loads);
    pool_free(srv->strands);
    pool_free(srv->background);
    catalog_close(srv->cat);
    pool_free(srv->syncs);
    if (srv->store)
        srv->store->ops->free(srv->store);
    router_free(srv->router);
    metrics_free(srv->metrics);
    datadir_close(&p->dir);
}

static int run_and_stop(struct process *p)
{
    int rc = start(p);
    if (rc < 0) {
        log_error("server", "server.failed", LZ("code", err_name(rc)), LZ("msg", p->cx.err.msg));
        remove_ready_file(p);
        if (p->srv.http)
            drain(&p->srv, &p->signals);
        stop(p);
        return 1;
    }
    run(p);
    remove_ready_file(p);
    drain(&p->srv, &p->signals);
    stop(p);
    log_info("server", "server.stopped");
    return 0;
}

static int print_help(void)
{
    CLEANUP(buf_done) struct buf b = {0};
    config_help(&b);
    return fwrite(b.p, 1, b.len, stdout) == b.len ? 0 : 1;
}

static bool wants_help(int argc, const char *const *argv)
{
    return argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
}

int serve(int argc, const char *const *argv)
{
    if (wants_help(argc, argv))
        return print_help();
    static struct process p = {.dir = {.dir_fd = -1, .lock_fd = -1}, .listen_fd = -1};
    p.in = (struct config_in){argv, argc, (const char *const *)environ};
    p.srv.start_wall_ms = clock_wall_ms();
    block_signals(&p.signals);
    mallopt(M_ARENA_MAX, 2);
    ctx_init(&p.cx, MAIN_ARENA);
    int code = 2;
    if (config_load(&p.cx, &p.in, &p.config) < 0) {
        fprintf(stderr, "latch: %s\n", p.cx.err.msg);
    } else if (inject_init() < 0) {
        fprintf(stderr, "latch: LATCH_INJECT names an unknown point or action\n");
    } else {
        apply(&p, p.config);
        log_info("server", "server.start", LZ("version", latch_version()),
                 LZ("commit", latch_commit()), LI("pid", getpid()));
        config_log(p.config);
        raise_fd_limit(p.config);
        code = run_and_stop(&p);
    }
    ctx_done(&p.cx);
    config_free(p.config);
    inject_flush();
    return code;
}
