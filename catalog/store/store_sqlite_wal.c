/* store_sqlite_wal.c - checkpoints: the WAL's pages are folded into the database file.
 *
 * SQLite's own automatic checkpoint would run inside some caller's COMMIT. Here a second thread
 * does it (PASSIVE: it waits for nobody and nobody for it) once a commit leaves the WAL larger than
 * checkpoint_bytes. The writer starts the WAL from the beginning again when all of it is folded in.
 *
 * Under steady load that moment may never come: each PASSIVE run leaves what was committed while it
 * ran. When the WAL has reached twice the limit all the same, the thread therefore asks the writer
 * to fold that small rest between two groups, where nothing can be added. At HARD times the limit
 * (the thread gets no time, or a reader stands still) the writer does it unasked, so that the WAL
 * does not fill the disk. At twice that it waits for the thread or the reader first (RESTART, as long
 * as the connection's busy time-out says): changes stand still a moment rather than outrun the disk.
 *
 * Failures are logged and tried again at the next occasion; the WAL holds everything meanwhile.
 *
 * Thread rule: `folder` is the checkpoint thread's; wal_pages and its neighbours are atomics. */
#include "catalog/store/store_sqlite_int.h"

#include "proto/base/log.h"

#define HARD 8

/* *ret_pages: what the WAL holds. False: it could not be done now, or failed. */
static bool fold(struct store_sqlite *s, sqlite3 *db, int mode, int64_t *ret_pages)
{
    int in_log = 0, folded = 0;
    int sq = sqlite3_wal_checkpoint_v2(db, "main", mode, &in_log, &folded);
    if ((sq & 0xff) != SQLITE_OK && (sq & 0xff) != SQLITE_BUSY) {
        s->counts.failures++;
        log_warn("store", "checkpoint.failed", LZ("why", sqlite3_errmsg(db)), LI("code", sq));
        return false;
    }
    if (sq == SQLITE_OK)
        s->counts.checkpoints++;
    *ret_pages = in_log;
    return sq == SQLITE_OK;
}

static void fold_aside(struct store_sqlite *s)
{
    int64_t in_log;
    if (!fold(s, s->folder.db, SQLITE_CHECKPOINT_PASSIVE, &in_log)) {
        s->fold_at_pages = s->wal_pages + s->checkpoint_pages;
        return;
    }
    if (s->wal_pages >= in_log) /* else it started over meanwhile, and on_commit set the mark */
        s->fold_at_pages = in_log + s->checkpoint_pages;
    if (in_log >= 2 * s->checkpoint_pages)
        s->fold_between = true;
}

void sq_wal_fold_between(struct store_sqlite *s)
{
    if (!s->fold_between && s->wal_pages < s->hard_at_pages)
        return;
    s->fold_between = false;
    s->hard_at_pages = s->wal_pages + s->checkpoint_pages; /* not after each group if it fails */
    int64_t in_log;
    bool must = s->wal_pages >= 2 * HARD * s->checkpoint_pages;
    IGNORE(fold(s, s->writer.db, must ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE,
                &in_log));
}

void sq_wal_fold_last(struct store_sqlite *s)
{
    int64_t in_log;
    IGNORE(fold(s, s->writer.db, SQLITE_CHECKPOINT_TRUNCATE, &in_log));
}

/* After each commit, on the writer thread. */
static int on_commit(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct store_sqlite *s = arg;
    (void)db;
    (void)name;
    if (pages < s->wal_pages) { /* it started over */
        s->fold_at_pages = s->checkpoint_pages;
        s->hard_at_pages = HARD * s->checkpoint_pages;
    }
    s->wal_pages = pages;
    if (pages >= s->fold_at_pages) {
        ASSERT(pthread_mutex_lock(&s->folder_mu) == 0);
        s->folder_wanted = true;
        ASSERT(pthread_cond_signal(&s->folder_cv) == 0);
        ASSERT(pthread_mutex_unlock(&s->folder_mu) == 0);
    }
    return SQLITE_OK;
}

void sq_wal_watch(struct store_sqlite *s)
{
    s->fold_at_pages = s->checkpoint_pages;
    s->hard_at_pages = HARD * s->checkpoint_pages;
    sqlite3_wal_hook(s->writer.db, on_commit, s); /* takes the place of the automatic checkpoint */
}

static void *folder_main(void *arg)
{
    struct store_sqlite *s = arg;
    ASSERT(pthread_mutex_lock(&s->folder_mu) == 0);
    for (;;) {
        while (!s->folder_wanted && !s->folder_stop)
            ASSERT(pthread_cond_wait(&s->folder_cv, &s->folder_mu) == 0);
        if (s->folder_stop)
            break;
        s->folder_wanted = false;
        ASSERT(pthread_mutex_unlock(&s->folder_mu) == 0);
        if (s->wal_pages >= s->fold_at_pages)
            fold_aside(s);
        ASSERT(pthread_mutex_lock(&s->folder_mu) == 0);
    }
    ASSERT(pthread_mutex_unlock(&s->folder_mu) == 0);
    return NULL;
}

int sq_folder_start(struct ctx *cx, struct store_sqlite *s)
{
    TRY(sq_conn_open(cx, &s->folder, s->path, CONN_CHECKPOINT));
    if (sq_thread(&s->folder_thread, "store-wal", folder_main, s) < 0)
        return ctx_fail(cx, E_NOMEM, RES_NONE, STR_NONE,
                        "cannot start the store's checkpoint thread");
    s->folder_runs = true;
    return 0;
}

void sq_folder_stop(struct store_sqlite *s)
{
    if (s->folder_runs) {
        ASSERT(pthread_mutex_lock(&s->folder_mu) == 0);
        s->folder_stop = true;
        ASSERT(pthread_cond_signal(&s->folder_cv) == 0);
        ASSERT(pthread_mutex_unlock(&s->folder_mu) == 0);
        ASSERT(pthread_join(s->folder_thread, NULL) == 0);
        s->folder_runs = false;
    }
    sq_conn_close(&s->folder);
}
