/* store_sqlite_write.c - the writer and its group commit.
 *
 * All changes go through one connection, whose turn (a mutex) one thread has at a time. A caller that
 * finds nothing waiting and the turn free runs its own transaction: waking the writer thread and
 * being woken by it would cost more than the transaction. Else it queues its operation and sleeps;
 * the writer thread takes the turn, then all that wait (at most STORE_GROUP_MAX), runs each in a
 * SAVEPOINT of one transaction, commits once (one fsync for all), then wakes them. While one waits
 * for the disk the next group gathers, so the more callers there are, the more share an fsync;
 * nobody is delayed on purpose.
 *
 * Invariants:
 *  1. An operation answers 0 only after the COMMIT that holds it answered SQLITE_OK (WAL,
 *     synchronous=FULL: the frames are on disk).
 *  2. One that answers an error was rolled back to its savepoint; its neighbours do not notice.
 *  3. When the group as a whole fails, each of it fails, those too that had found an error of their
 *     own: they may have looked at what a neighbour wrote and what is now undone.
 *  4. Nothing of an operation is touched after it was woken: it lives on its caller's stack.
 *
 * What a failed COMMIT means:
 *  - BUSY, CONSTRAINT: found before a byte is written. Nothing happened: E_IO.
 *  - FULL: a write to the WAL failed, and the frame with the commit mark is the last one written
 *    (the default VFS pads nothing behind it: POWERSAFE_OVERWRITE). Nothing happened: E_IO.
 *  - All others (IOERR_FSYNC and its like, NOMEM): SQLite has rolled back its memory, but the
 *    frames may be in the WAL file with their commit mark, as after a failed fsync. While this
 *    process lives they do not count; a recovery after a crash would take them for committed. So
 *    the writer settles it: it commits one small change of its own, which goes over the first of
 *    those frames, and since their checksums are a chain all behind it are void. If that works,
 *    nothing happened (E_IO). If it fails too, only a later look at the file can tell: E_UNKNOWN.
 *    Any later commit that works settles it as well.
 *
 *  5. `waiting` counts operations from before they are queued until their group is done; a caller
 *     goes first only while it is 0, so that nobody is overtaken for long.
 *
 * Threads: sq_write from any; what has the turn may use the connection. The writer allocates in the
 * arenas and sets the error records of callers, which is safe because those sleep meanwhile. */
#include "catalog/store/store_sqlite_int.h"

#include <signal.h>
#include <stdatomic.h>

#include "proto/base/clock.h"
#include "proto/base/inject.h"

struct op {
    struct queue_node node; /* first */
    tx_fn *run;
    void *io;
    struct ctx *cx;
    int rc;
    bool done; /* under mu */
    pthread_mutex_t mu;
    pthread_cond_t cv;
};

static const char SQL_BEGIN[] = "BEGIN IMMEDIATE";
static const char SQL_COMMIT[] = "COMMIT";
static const char SQL_ROLLBACK[] = "ROLLBACK";
static const char SQL_SAVEPOINT[] = "SAVEPOINT op";
static const char SQL_UNDO[] = "ROLLBACK TO op";
static const char SQL_RELEASE[] = "RELEASE op";
static const char SQL_TOUCH[] = "UPDATE alive SET n = n + 1, at_ms = ?1";

static struct op *op_of(struct queue_node *n)
{
    return (struct op *)(void *)n;
}

static bool in_tx(struct store_sqlite *s)
{
    return !sqlite3_get_autocommit(s->writer.db);
}

/* Its own error is for its caller; a negative answer here is the group's: the transaction is gone
 * (SQLite ends it by itself on a full disk, an I/O error, no memory). */
static int op_run(struct store_sqlite *s, struct ctx *cx, struct op *op)
{
    TRY(SQL_RUN(cx, &s->writer, SQL_SAVEPOINT, NULL));
    op->rc = op->run(&s->writer, op->cx, op->io);
    ASSERT(op->rc <= 0);
    if (!in_tx(s))
        return ctx_fail(cx, E_IO, RES_NONE, STR_NONE,
                        "nothing was done: another change in the same transaction failed: %s",
                        op->cx->err.msg);
    if (op->rc < 0)
        TRY(SQL_RUN(cx, &s->writer, SQL_UNDO, NULL));
    return SQL_RUN(cx, &s->writer, SQL_RELEASE, NULL);
}

static void rollback(struct store_sqlite *s, struct ctx *cx)
{
    if (in_tx(s))
        IGNORE(SQL_RUN(cx, &s->writer, SQL_ROLLBACK, NULL));
    ASSERT(!in_tx(s)); /* a ROLLBACK that reports an error has rolled back all the same */
}

/* See above: makes sure that what a failed COMMIT left in the WAL file is void. */
static bool settle(struct store_sqlite *s)
{
    struct ctx cx;
    ctx_init(&cx, 0);
    int rc = SQL_RUN(&cx, &s->writer, SQL_BEGIN, NULL);
    if (rc == 0)
        rc = SQL_RUN(&cx, &s->writer, SQL_TOUCH, NULL, AI(clock_wall_ms()));
    if (rc == 0)
        rc = SQL_RUN(&cx, &s->writer, SQL_COMMIT, NULL);
    rollback(s, &cx);
    ctx_done(&cx);
    return rc == 0;
}

/* See above: no frame with a commit mark was written. */
static bool unmarked(int sq)
{
    return sq == SQLITE_BUSY || sq == SQLITE_CONSTRAINT || sq == SQLITE_FULL;
}

static int group_commit(struct store_sqlite *s, struct ctx *cx)
{
    if (INJECT(STORE_COMMIT))
        return ctx_fail(cx, E_IO, RES_NONE, STR_NONE,
                        "nothing was done: the store could not commit (injected)");
    STMT st = NULL;
    TRY(SQL_OPEN(cx, &s->writer, SQL_COMMIT, &st));
    int sq = sqlite3_step(st);
    if (sq == SQLITE_DONE)
        return 0;
    IGNORE(sq_fail(cx, &s->writer, sq)); /* now, while SQLite still has the text */
    sq_reset(&st);
    st = NULL;
    rollback(s, &(struct ctx){0});
    if (unmarked(sq & 0xff) || settle(s))
        return ctx_fail(cx, E_IO, RES_NONE, STR_NONE, "nothing was done: %s", cx->err.msg);
    return ctx_fail(cx, E_UNKNOWN, RES_NONE, STR_NONE,
                    "it is not known whether the change is stored: %s", cx->err.msg);
}

static int group_try(struct store_sqlite *s, struct ctx *cx, struct op *first)
{
    TRY(SQL_RUN(cx, &s->writer, SQL_BEGIN, NULL));
    for (struct op *op = first; op; op = op_of(op->node.next))
        TRY(op_run(s, cx, op));
    return group_commit(s, cx);
}

/* What an operation answers when its group failed: E_UNKNOWN only instead of 0. */
static int op_group_failed(struct op *op, const struct err_rec *why)
{
    int code = why->code == E_UNKNOWN && op->rc < 0 ? E_IO : why->code;
    return ctx_fail(op->cx, code, RES_NONE, STR_NONE, "%s", why->msg);
}

static void op_wake(struct op *op)
{
    ASSERT(pthread_mutex_lock(&op->mu) == 0);
    op->done = true;
    ASSERT(pthread_cond_signal(&op->cv) == 0);
    ASSERT(pthread_mutex_unlock(&op->mu) == 0);
}

static void group_count(struct store_sqlite *s, int rc, int64_t n)
{
    if (rc < 0) {
        s->counts.failures++;
        return;
    }
    s->counts.groups++;
    s->counts.transactions += n;
    if (n > s->counts.group_max)
        s->counts.group_max = n;
}

/* `queued`: how many of them are in s->waiting. They are not once they are woken: who is answered
 * must not find the queue full of himself. */
static void group(struct store_sqlite *s, struct op *first, int64_t queued)
{
    struct ctx cx; /* the group's own error */
    ctx_init(&cx, 0);
    int rc = group_try(s, &cx, first);
    if (rc < 0)
        rollback(s, &(struct ctx){0});
    int64_t n = 0;
    for (struct op *op = first; op; op = op_of(op->node.next))
        n++;
    group_count(s, rc, n);
    atomic_fetch_sub(&s->waiting, queued);
    for (struct op *op = first, *next; op; op = next) {
        next = op_of(op->node.next);
        if (rc < 0)
            op->rc = op_group_failed(op, &cx.err);
        op_wake(op);
    }
    ctx_done(&cx);
}

/* What waits, oldest first: `first` was taken before the turn came. */
static int64_t gather(struct store_sqlite *s, struct queue_node *first)
{
    int64_t n = 1;
    first->next = queue_take(&s->queue, STORE_GROUP_MAX - 1, 0);
    for (struct queue_node *at = first->next; at; at = at->next)
        n++;
    return n;
}

static void *writer_main(void *arg)
{
    struct store_sqlite *s = arg;
    struct queue_node *first;
    while ((first = queue_take(&s->queue, 1, -1))) {
        ASSERT(pthread_mutex_lock(&s->turn) == 0);
        int64_t n = gather(s, first);
        group(s, op_of(first), n);
        sq_wal_fold_between(s);
        ASSERT(pthread_mutex_unlock(&s->turn) == 0);
    }
    return NULL;
}

/* True: it was done here. */
static bool run_here(struct store_sqlite *s, struct op *op)
{
    if (atomic_load(&s->waiting) > 0 || pthread_mutex_trylock(&s->turn) != 0)
        return false;
    bool first = atomic_load(&s->waiting) == 0;
    if (first) {
        group(s, op, 0);
        sq_wal_fold_between(s);
    }
    ASSERT(pthread_mutex_unlock(&s->turn) == 0);
    return first;
}

int sq_thread(pthread_t *ret, const char *name, void *(*fn)(void *), void *arg)
{
    sigset_t all, old;
    sigfillset(&all);
    ASSERT(pthread_sigmask(SIG_SETMASK, &all, &old) == 0);
    int sys = pthread_create(ret, NULL, fn, arg);
    ASSERT(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
    if (sys != 0)
        return E_NOMEM;
    pthread_setname_np(*ret, name); /* best effort */
    return 0;
}

int sq_writer_start(struct ctx *cx, struct store_sqlite *s)
{
    if (sq_thread(&s->writer_thread, "store-writer", writer_main, s) < 0)
        return ctx_fail(cx, E_NOMEM, RES_NONE, STR_NONE, "cannot start the store's writer thread");
    s->writer_runs = true;
    return 0;
}

void sq_writer_stop(struct store_sqlite *s)
{
    if (!s->writer_runs)
        return;
    queue_close(&s->queue);
    ASSERT(pthread_join(s->writer_thread, NULL) == 0);
    s->writer_runs = false;
}

static int push(struct store_sqlite *s, struct op *op)
{
    bool room = atomic_fetch_add(&s->waiting, 1) < (int64_t)s->queue.max;
    int rc = room ? queue_push(&s->queue, &op->node) : E_BUSY;
    if (rc < 0)
        atomic_fetch_sub(&s->waiting, 1);
    return rc;
}

int sq_write(struct store_sqlite *s, struct ctx *cx, tx_fn *run, void *io)
{
    struct op op = {.run = run, .io = io, .cx = cx};
    ASSERT(pthread_mutex_init(&op.mu, NULL) == 0 && pthread_cond_init(&op.cv, NULL) == 0);
    if (run_here(s, &op)) {
        ASSERT(op.done);
    } else if (push(s, &op) == 0) {
        ASSERT(pthread_mutex_lock(&op.mu) == 0);
        while (!op.done)
            ASSERT(pthread_cond_wait(&op.cv, &op.mu) == 0);
        ASSERT(pthread_mutex_unlock(&op.mu) == 0);
    } else {
        op.rc = ctx_fail(cx, E_BUSY, RES_NONE, STR_NONE,
                         "the store has %zu changes waiting and takes no more; nothing was done, "
                         "try again in a moment",
                         s->queue.max);
    }
    ASSERT(pthread_cond_destroy(&op.cv) == 0 && pthread_mutex_destroy(&op.mu) == 0);
    return op.rc;
}
