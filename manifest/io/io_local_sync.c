/* io_local_sync.c - fsyncs side by side.
 *
 * A commit makes several files and directories durable. One after another each waits for a journal
 * commit and a flush of the disk; at the same time they share both (measured on ext4: two lists,
 * their directory and the snapshot's temporary file in 55 % of the time). So all descriptors are
 * opened and their writing started first, then each fsync goes to the pool; the caller's thread
 * takes what the pool refuses, and the last one. On a disk that is fast and idle an fsync takes less
 * than waking a thread for it (0.15 ms against 0.2 ms and more here), so the pool is used only while
 * the mean of the last ones is above WORTH_US.
 *
 * A group lives on the caller's stack: the caller leaves only when `left` is 0, which the last one
 * sets under mu. */
#include "manifest/io/io_local_int.h"

#include <pthread.h>

#include "proto/base/clock.h"
#include "proto/base/mem.h"

#define BATCH    64   /* descriptors that are open at a time */
#define WORTH_US 1000 /* an fsync that takes longer is worth a thread */
#define MEAN_OF  8    /* fsyncs, about, that the mean remembers */

struct group {
    struct io_local *l;
    pthread_mutex_t mu;
    pthread_cond_t done;
    size_t left;
};

struct job {
    struct pool_item item; /* first: the pool gives it back to us */
    struct group *g;
    str path; /* for errors */
    int fd;
    bool borrowed; /* fd is the caller's */
    enum iol_how how;
    int err; /* errno; 0: it is durable */
};

struct jobs {
    struct job *v;
    size_t n;
};

static void jobs_done(struct jobs *js)
{
    mem_free(js->v);
}

/* --- what there is to sync -------------------------------------------------------------------- */

static void add(struct jobs *js, str path, enum iol_how how)
{
    js->v[js->n++] = (struct job){.path = path, .fd = -1, .how = how};
}

static int order(const void *a, const void *b)
{
    return str_cmp(((const struct job *)a)->path, ((const struct job *)b)->path);
}

static bool has_dir(const struct iol_own *own, size_t n, str path)
{
    for (size_t i = n; i-- > 0 && own[i].how != IOL_DATA;) /* they are behind all files, and few */
        if (own[i].how == IOL_DIR && str_eq(own[i].path, path))
            return true;
    return false;
}

/* The files, then each of their directories once, but for those that the caller has open. */
static void collect(struct jobs *js, const str *paths, size_t n, const struct iol_own *own,
                    size_t n_own)
{
    for (size_t i = 0; i < n; i++)
        add(js, paths[i], IOL_DATA);
    for (size_t i = 0; i < n; i++)
        add(js, iol_parent(paths[i]), IOL_DIR);
    if (n)
        qsort(js->v + n, n, sizeof(*js->v), order);
    js->n = n;
    str last = STR_NONE;
    for (size_t i = n; i < 2 * n; i++) {
        bool again = i > n && str_eq(js->v[i].path, last);
        last = js->v[i].path;
        if (!again && !has_dir(own, n_own, last))
            js->v[js->n++] = js->v[i];
    }
    for (size_t i = 0; i < n_own; i++)
        js->v[js->n++] = (struct job){
            .path = own[i].path, .fd = own[i].fd, .borrowed = own[i].fd >= 0, .how = own[i].how};
}

static int open_one(struct io_local *l, struct ctx *cx, struct job *j)
{
    struct stat st;
    j->fd = iol_open_path(l, j->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (j->fd < 0 || fstat(j->fd, &st) < 0)
        return iol_fail(cx, j->how == IOL_DIR ? "sync the directory" : "sync", j->path);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "\"%.*s\" is no regular file or directory", STR(j->path));
    /* Only starts the writing, so that all files are written side by side. */
    if (S_ISREG(st.st_mode))
        IGNORE(sync_file_range(j->fd, 0, 0, SYNC_FILE_RANGE_WRITE));
    return 0;
}

/* --- doing it --------------------------------------------------------------------------------- */

/* Races lose a sample, which does no harm. */
static void remember(struct io_local *l, int64_t us)
{
    int64_t mean = atomic_load_explicit(&l->sync_us, memory_order_relaxed);
    atomic_store_explicit(&l->sync_us, mean + (us - mean) / MEAN_OF, memory_order_relaxed);
}

static void run(struct pool_item *it)
{
    struct job *j = (struct job *)it;
    struct group *g = j->g;
    int64_t start = clock_mono_us();
    int rc = j->how == IOL_DATA  ? iol_sync_data(j->fd)
             : j->how == IOL_DIR ? iol_sync_dir(j->fd)
                                 : iol_sync_file(j->fd);
    j->err = rc < 0 ? errno : 0;
    remember(g->l, clock_mono_us() - start);
    pthread_mutex_lock(&g->mu);
    if (--g->left == 0)
        pthread_cond_signal(&g->done);
    pthread_mutex_unlock(&g->mu);
}

static int run_batch(struct io_local *l, struct ctx *cx, struct job *v, size_t n)
{
    struct group g = {l, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, n};
    bool alone = !l->syncs || atomic_load_explicit(&l->sync_us, memory_order_relaxed) < WORTH_US;
    for (size_t i = 0; i < n; i++) {
        v[i].item.fn = run;
        v[i].g = &g;
        bool last = i + 1 == n;
        if (last || alone || pool_post(l->syncs, STR_LIT("sync"), &v[i].item) < 0)
            run(&v[i].item);
    }
    pthread_mutex_lock(&g.mu);
    while (g.left > 0)
        pthread_cond_wait(&g.done, &g.mu);
    pthread_mutex_unlock(&g.mu);
    for (size_t i = 0; i < n; i++) {
        errno = v[i].err;
        if (errno)
            return iol_fail(cx, v[i].how == IOL_DIR ? "sync the directory" : "sync", v[i].path);
    }
    return 0;
}

static int sync_batch(struct io_local *l, struct ctx *cx, struct job *v, size_t n)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (!v[i].borrowed)
            rc = open_one(l, cx, &v[i]);
    if (rc == 0 && n > 0)
        rc = run_batch(l, cx, v, n);
    for (size_t i = 0; i < n; i++)
        if (!v[i].borrowed)
            iol_close(&v[i].fd);
    return rc;
}

int iol_sync_all(struct io_local *l, struct ctx *cx, const str *paths, size_t n,
                 const struct iol_own *own, size_t n_own)
{
    CLEANUP(jobs_done) struct jobs js = {.v = mem_zalloc((2 * n + n_own + 1) * sizeof(*js.v))};
    if (!js.v)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++)
        TRY(io_path_check(cx, paths[i]));
    collect(&js, paths, n, own, n_own);
    for (size_t i = 0; i < js.n; i += BATCH)
        TRY(sync_batch(l, cx, js.v + i, js.n - i < BATCH ? js.n - i : BATCH));
    return 0;
}
