/* test_store_sqlite.c - what only the store on disk can show: files and their modes, versions and
 * backups, group commit and its failures, checkpoints, plans of queries, many threads.
 *
 * The store's private header is included to look under it: at its reader connections, and through
 * connections of our own at its rows. Time is not measured; where something must not grow, SQLite's
 * own counters say so. */
#include "tests/unit/catalog/store_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "catalog/store/store_sqlite_int.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"

/* --- our own look at the file ----------------------------------------------------------------- */

static sqlite3 *raw_open(const char *path)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, 2000), SQLITE_OK);
    return db;
}

static void raw_exec(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static int64_t raw_i64(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *st;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    int64_t v = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return v;
}

static int64_t file_i64(const char *path, const char *sql)
{
    sqlite3 *db = raw_open(path);
    int64_t v = raw_i64(db, sql);
    sqlite3_close(db);
    return v;
}

static void file_exec(const char *path, const char *sql)
{
    sqlite3 *db = raw_open(path);
    raw_exec(db, sql);
    sqlite3_close(db);
}

static int mode_of(struct env *e, const char *suffix)
{
    struct stat sb;
    str path = text(e, "%s%s", e->path, suffix);
    return stat(path.p, &sb) == 0 ? (int)(sb.st_mode & 07777) : -1;
}

static struct store_counts counts(struct env *e)
{
    struct store_counts c;
    store_sqlite_counts(e->st, &c);
    return c;
}

/* --- files and versions ----------------------------------------------------------------------- */

static void test_modes(void **state)
{
    (void)state;
    struct env e;
    env_dir(&e);
    int fd = open(e.path, O_CREAT | O_WRONLY, 0644); /* somebody was careless */
    assert_true(fd >= 0);
    close(fd);
    OK(&e, env_open(&e));
    env_setup_tenant(&e);
    assert_int_equal(mode_of(&e, ""), 0600);
    assert_int_equal(mode_of(&e, "-wal"), 0600);
    assert_int_equal(mode_of(&e, "-shm"), 0600);
    env_close(&e);
    assert_int_equal(mode_of(&e, ""), 0600);
    assert_int_equal(mode_of(&e, "-wal"), -1); /* a closed store is one file */
    assert_int_equal(mode_of(&e, ".bak-0"), -1);
    env_done(&e);
}

static void test_reopen(void **state)
{
    (void)state;
    struct env e;
    env_sqlite(&e);
    env_setup_tenant(&e);
    struct principal_row p;
    struct table_row t;
    struct outcome o;
    str dir;
    uint8_t hash[32] = {7, 7, 7};
    str db = db_make(&e, S("d\xC3\xA9"));
    table_make(&e, db, S("t"));
    commit(&e, S("t"), 0, T0);
    commit(&e, S("t"), 1, T0 + 1);
    int64_t intent = claim(&e, S("x"), &dir);
    OK(&e, STORE(e.st, intent_finish, &e.cx, intent));
    env_close(&e);
    OK(&e, env_open(&e));
    OK(&e, STORE(e.st, token_find, &e.cx, hash, &p));
    SAME(p.name, S("ann"));
    OK(&e, STORE(e.st, table_get, &e.cx, e.wh, S("d\xC3\xA9"), S("t"), &t));
    SAME(t.id, S("t"));
    assert_int_equal(branch(&e, S("t")).head.id, 2);
    OK(&e, STORE(e.st, outcome_of, &e.cx, S("t"), S("main"), 2, &o));
    assert_int_equal(o.recorded_ms, T0 + 1);
    assert_true(claim(&e, S("x"), &dir) > intent);
    SAME(dir, S("x-2"));
    env_done(&e);
}

#define NOW (sq_migrations[sq_migrations_n - 1].version)

static void test_refused(void **state)
{
    (void)state;
    struct env e;
    env_sqlite(&e);
    env_close(&e);
    file_exec(e.path, "PRAGMA user_version = 777");
    FAILS(&e, E_UNSUPPORTED, RES_NONE, "", env_open(&e));
    assert_int_equal(env_open(&e), E_UNSUPPORTED);
    assert_non_null(strstr(e.cx.err.msg, "newer Latch"));
    assert_non_null(strstr(e.cx.err.msg, "version 777"));
    assert_non_null(strstr(e.cx.err.msg, text(&e, ".bak-%d", NOW).p));
    ctx_reset_err(&e.cx);
    assert_int_equal(file_i64(e.path, "PRAGMA user_version"), 777); /* untouched */
    file_exec(e.path, "PRAGMA user_version = 1; PRAGMA application_id = 5");
    assert_int_equal(env_open(&e), E_UNSUPPORTED);
    assert_non_null(strstr(e.cx.err.msg, "another program"));
    ctx_reset_err(&e.cx);
    FILE *f = fopen(e.path, "w");
    assert_non_null(f);
    for (int i = 0; i < 1000; i++)
        fputs("not a database ", f);
    fclose(f);
    FAILS(&e, E_CORRUPT, RES_NONE, "", env_open(&e));
    snprintf(e.path, sizeof(e.path), "%s/none/latch.db", e.dir);
    FAILS(&e, E_IO, RES_NONE, "", env_open(&e));
    env_done(&e);
}

static int migrate_to(struct env *e, const struct migration *m, size_t n)
{
    struct conn c = {0};
    OK(e, sq_conn_open(&e->cx, &c, e->path, CONN_WRITER));
    int rc = sq_migrate(&e->cx, &c, e->path, m, n);
    assert_true(sqlite3_get_autocommit(c.db));
    sq_conn_close(&c);
    return rc;
}

/* The migrations there are and two more, whose texts are still to come. Their number. */
static size_t later(struct migration m[40])
{
    size_t n = sq_migrations_n;
    assert_true(n + 2 <= 40);
    memcpy(m, sq_migrations, n * sizeof(*m));
    m[n].version = NOW + 1;
    m[n + 1].version = NOW + 2;
    return n + 2;
}

static void test_migration(void **state)
{
    (void)state;
    struct env e;
    env_sqlite(&e);
    env_setup_tenant(&e);
    db_make(&e, S("d"));
    env_close(&e);
    struct migration m[40];
    size_t n = later(m);
    str note = text(&e,
                    "ALTER TABLE databases ADD COLUMN note TEXT NOT NULL DEFAULT 'n';"
                    "PRAGMA user_version = %d;",
                    NOW + 1);
    m[n - 2].sql = note.p;
    m[n - 1].sql =
        text(&e, "CREATE TABLE extra (x); PRAGMA user_version = %d; SELECT no_such_function();",
             NOW + 2)
            .p;
    str bak = text(&e, "%s.bak-%d", e.path, NOW);
    /* One that fails at its end: nothing of it or of the one before it stays. */
    assert_int_equal(migrate_to(&e, m, n), E_INTERNAL);
    assert_non_null(strstr(e.cx.err.msg, "no_such_function"));
    ctx_reset_err(&e.cx);
    assert_int_equal(file_i64(e.path, "PRAGMA user_version"), NOW);
    assert_int_equal(file_i64(e.path, "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'"),
                     0);
    assert_int_equal(file_i64(bak.p, "PRAGMA user_version"), NOW);
    /* Broken references are found before it is too late. */
    m[n - 2].sql = text(&e, "DELETE FROM warehouses; PRAGMA user_version = %d", NOW + 1).p;
    assert_int_equal(migrate_to(&e, m, n - 1), E_CORRUPT);
    ctx_reset_err(&e.cx);
    assert_int_equal(file_i64(e.path, "SELECT count(*) FROM warehouses"), 1);
    /* The right one; the backup of the first try is replaced. */
    assert_int_equal(truncate(bak.p, 0), 0);
    m[n - 2].sql = note.p;
    OK(&e, migrate_to(&e, m, n - 1));
    assert_int_equal(file_i64(e.path, "PRAGMA user_version"), NOW + 1);
    assert_int_equal(file_i64(e.path, "SELECT count(*) FROM databases WHERE note = 'n'"), 1);
    assert_int_equal(mode_of(&e, text(&e, ".bak-%d", NOW).p), 0600);
    assert_int_equal(mode_of(&e, text(&e, ".bak-%d.tmp", NOW).p), -1);
    assert_int_equal(file_i64(bak.p, "SELECT count(*) FROM databases WHERE name = 'd'"), 1);
    /* Put back, it is what this version opens again. */
    FAILS(&e, E_UNSUPPORTED, RES_NONE, "", env_open(&e));
    assert_int_equal(rename(bak.p, e.path), 0);
    OK(&e, env_open(&e));
    struct db_row r;
    OK(&e, STORE(e.st, db_get, &e.cx, e.wh, S("d"), &r));
    env_done(&e);
}

/* What a store of the first version held is what this version reads. */
static void test_migration_of_a_first_store(void **state)
{
    (void)state;
    struct env e;
    struct table_row t;
    env_sqlite(&e);
    env_close(&e);
    assert_int_equal(unlink(e.path), 0);
    OK(&e, migrate_to(&e, sq_migrations, 1));
    file_exec(
        e.path,
        "INSERT INTO tenants VALUES (1, 'acme', 0);"
        "INSERT INTO warehouses VALUES (1, 1, 'wh', '/wh', 0, '{}');"
        "INSERT INTO databases VALUES (1, 'D', 1, 'd', 'd.db', '', '', '', 0, 0, '{}');"
        "INSERT INTO tables VALUES (7, 'T', 1, 't', 'd.db/t', 'table', 3, 'o', 'c', 'u', 1, 2,"
        " '{\"v\":3}');"
        "INSERT INTO branches VALUES (9, 7, 'main', 2, 5, 0, 0, 0, 0, 1, 1, 1, 'u5', '{}')");
    OK(&e, env_open(&e));
    OK(&e, STORE(e.st, table_get, &e.cx, 1, S("d"), S("t"), &t));
    SAME(t.id, S("T"));
    SAME(t.dir, S("d.db/t"));
    SAME(t.external, S(""));
    SAME(t.schema_json, S("{\"v\":3}"));
    assert_int_equal(t.schema_id, 3);
    assert_int_equal(branch(&e, S("T")).head.id, 5);
    assert_int_equal(branch(&e, S("T")).schema_id, 3);
    struct schema_set to = {4, S("{\"v\":4}"), S("table"), 3, S("x")};
    OK(&e, STORE(e.st, table_alter, &e.cx, S("T"), S("main"), 3, &to, NULL));
    OK(&e, STORE(e.st, table_get, &e.cx, 1, S("d"), S("t"), &t));
    assert_int_equal(t.schema_id, 4);
    env_done(&e);
}

/* No backup, no migration. */
static void test_migration_no_backup(void **state)
{
    (void)state;
    struct env e;
    env_sqlite(&e);
    env_close(&e);
    struct migration m[40];
    size_t n = later(m);
    m[n - 2].sql = text(&e, "PRAGMA user_version = %d", NOW + 1).p;
    str bak = text(&e, "%s.bak-%d", e.path, NOW);
    assert_int_equal(mkdir(bak.p, 0700), 0);
    FAILS(&e, E_IO, RES_NONE, "", migrate_to(&e, m, n - 1));
    assert_int_equal(file_i64(e.path, "PRAGMA user_version"), NOW);
    assert_int_equal(mode_of(&e, text(&e, ".bak-%d.tmp", NOW).p), -1);
    assert_int_equal(rmdir(bak.p), 0);
    env_done(&e);
}

/* --- group commit ----------------------------------------------------------------------------- */

struct job {
    pthread_t thread;
    struct store *st;
    struct ctx cx;
    str table;
    int64_t head;
    tx_fn *tx; /* instead of a commit */
    int (*call)(struct job *j);
    int rc;
};

static void *job_main(void *arg)
{
    struct job *j = arg;
    if (j->tx || j->call) {
        j->rc = j->tx ? sq_write(sqlite_of(j->st), &j->cx, j->tx, NULL) : j->call(j);
        return NULL;
    }
    struct outcome o = outcome_for(j->head + 1, T0);
    struct store_commit_in in = {.table_id = j->table,
                                 .branch = S("main"),
                                 .expect_head_id = j->head,
                                 .head = {.id = j->head + 1, .json = S("{}"), .recorded_ms = T0},
                                 .outcome = &o,
                                 .audit = {.at_ms = T0, .action = S("commit")}};
    j->rc = STORE(j->st, commit_record, &j->cx, &in);
    return NULL;
}

static void job_begin(struct env *e, struct job *j)
{
    j->st = e->st;
    ctx_init(&j->cx, 1 << 20);
    assert_int_equal(pthread_create(&j->thread, NULL, job_main, j), 0);
}

static void job_start(struct env *e, struct job *j, str table, int64_t head)
{
    *j = (struct job){.table = table, .head = head};
    job_begin(e, j);
}

static void job_start_tx(struct env *e, struct job *j, tx_fn *tx)
{
    *j = (struct job){.tx = tx};
    job_begin(e, j);
}

static void job_start_call(struct env *e, struct job *j, int (*call)(struct job *), str table,
                           int64_t head)
{
    *j = (struct job){.call = call, .table = table, .head = head};
    job_begin(e, j);
}

static int job_wait(struct job *j)
{
    assert_int_equal(pthread_join(j->thread, NULL), 0);
    assert_int_equal(j->rc, j->cx.err.code);
    ctx_done(&j->cx);
    return j->rc;
}

static int64_t queue_len(struct env *e)
{
    struct queue *q = &sqlite_of(e->st)->queue;
    pthread_mutex_lock(&q->mu);
    int64_t len = (int64_t)q->len;
    pthread_mutex_unlock(&q->mu);
    return len;
}

static void wait_queue(struct env *e, int64_t n)
{
    int64_t until = clock_mono_ms() + 10000;
    /* Counted before it is queued; one of them the writer has in its hands already. */
    while (counts(e).queue_waiting != n || queue_len(e) < n - 1) {
        assert_true(clock_mono_ms() < until);
        usleep(500);
    }
}

static _Atomic bool writer_waits;

static int on_busy(void *arg, int tries)
{
    (void)arg;
    (void)tries;
    writer_waits = true;
    usleep(500);
    return 1;
}

/* A store with tables t0..tn-1 whose writer waits for a lock we hold, with one commit (to t0)
 * already in its hands: what comes now stays in the queue until raw_exec(lock, "COMMIT"). */
static sqlite3 *stall(struct env *e, int tables, size_t queue_max, struct job *first)
{
    env_dir(e);
    struct store_sqlite_opts o = {
        .path = str_of(e->path), .queue_max = queue_max, .checkpoint_bytes = 4 << 20};
    OK(e, store_sqlite_new(&e->cx, &o, &e->st));
    env_setup_tenant(e);
    str db = db_make(e, S("d"));
    for (int i = 0; i < tables; i++)
        table_make(e, db, text(e, "t%d", i));
    sqlite3 *lock = raw_open(e->path);
    raw_exec(lock, "BEGIN IMMEDIATE");
    writer_waits = false; /* it is idle: we may change its connection */
    sqlite3_busy_handler(sqlite_of(e->st)->writer.db, on_busy, NULL);
    job_start(e, first, S("t0"), 0);
    int64_t until = clock_mono_ms() + 10000;
    while (!writer_waits) {
        assert_true(clock_mono_ms() < until);
        usleep(200);
    }
    return lock;
}

static void test_group(void **state)
{
    (void)state;
    enum { N = 40 };
    struct env e;
    struct job first, jobs[N];
    sqlite3 *lock = stall(&e, N + 1, 1000, &first);
    struct store_counts before = counts(&e);
    for (int i = 0; i < N; i++)
        job_start(&e, &jobs[i], text(&e, "t%d", i + 1), 0);
    wait_queue(&e, N);
    raw_exec(lock, "COMMIT");
    assert_int_equal(job_wait(&first), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(job_wait(&jobs[i]), 0);
    struct store_counts after = counts(&e);
    assert_int_equal(after.transactions - before.transactions, N + 1);
    assert_int_equal(after.groups - before.groups, 2);
    assert_int_equal(after.group_max, N);
    assert_int_equal(after.failures, 0);
    for (int i = 0; i <= N; i++)
        assert_int_equal(branch(&e, text(&e, "t%d", i)).head.id, 1);
    sqlite3_close(lock);
    env_done(&e);
}

/* Losers in the middle of a group: races, one that fails late, and one whose turn undoes rows. */
static void test_group_neighbours(void **state)
{
    (void)state;
    struct env e;
    struct job first, jobs[5];
    sqlite3 *lock = stall(&e, 3, 1000, &first);
    job_start(&e, &jobs[0], S("t1"), 0);
    wait_queue(&e, 1);
    job_start(&e, &jobs[1], S("t1"), 0); /* lost to the one before it, in the same group */
    wait_queue(&e, 2);
    job_start(&e, &jobs[2], S("none"), 0);
    wait_queue(&e, 3);
    job_start(&e, &jobs[3], S("t1"), 1); /* sees what its neighbour wrote */
    wait_queue(&e, 4);
    job_start(&e, &jobs[4], S("t2"), 0);
    wait_queue(&e, 5);
    struct store_counts before = counts(&e);
    raw_exec(lock, "COMMIT");
    assert_int_equal(job_wait(&first), 0);
    assert_int_equal(job_wait(&jobs[0]), 0);
    assert_int_equal(job_wait(&jobs[1]), E_RACE);
    assert_int_equal(job_wait(&jobs[2]), E_NOTFOUND);
    assert_int_equal(job_wait(&jobs[3]), 0);
    assert_int_equal(job_wait(&jobs[4]), 0);
    assert_int_equal(counts(&e).groups - before.groups, 2);
    assert_int_equal(branch(&e, S("t1")).head.id, 2);
    assert_int_equal(branch(&e, S("t2")).head.id, 1);
    assert_int_equal(raw_i64(lock, "SELECT count(*) FROM outcomes"), 4);
    assert_int_equal(raw_i64(lock, "SELECT count(*) FROM audit"), 4);
    sqlite3_close(lock);
    env_done(&e);
}

static int tx_half(struct conn *c, struct ctx *cx, void *io)
{
    (void)io;
    static const char SQL[] = "DELETE FROM intents";
    static const char SQL2[] = "INSERT INTO tables (rid) VALUES (1)"; /* NOT NULL says no */
    TRY(SQL_RUN(cx, c, SQL, NULL));
    return SQL_RUN(cx, c, SQL2, NULL);
}

/* One that fails late is undone, and only it. */
static void test_undo(void **state)
{
    (void)state;
    struct env e;
    struct job first, jobs[3];
    str dir;
    sqlite3 *lock = stall(&e, 3, 100, &first);
    raw_exec(lock, "COMMIT");
    assert_int_equal(job_wait(&first), 0);
    claim(&e, S("x"), &dir);
    raw_exec(lock, "BEGIN IMMEDIATE");
    job_start(&e, &jobs[0], S("t1"), 0);
    job_start_tx(&e, &jobs[1], tx_half);
    job_start(&e, &jobs[2], S("t2"), 0);
    raw_exec(lock, "COMMIT");
    assert_int_equal(job_wait(&jobs[0]), 0);
    assert_int_equal(job_wait(&jobs[1]), E_INTERNAL);
    assert_int_equal(job_wait(&jobs[2]), 0);
    assert_int_equal(raw_i64(lock, "SELECT count(*) FROM intents"), 1);
    assert_int_equal(branch(&e, S("t1")).head.id, 1);
    assert_int_equal(branch(&e, S("t2")).head.id, 1);
    sqlite3_close(lock);
    env_done(&e);
}

/* What SQLite does by itself when a statement finds the disk full or no memory. */
static int tx_lost(struct conn *c, struct ctx *cx, void *io)
{
    (void)io;
    TRY(sq_exec(cx, c, "ROLLBACK"));
    return ctx_fail(cx, E_NOMEM, RES_NONE, STR_NONE, "lost it");
}

static void test_transaction_lost(void **state)
{
    (void)state;
    struct env e;
    struct job first, jobs[3];
    sqlite3 *lock = stall(&e, 3, 100, &first);
    job_start(&e, &jobs[0], S("t1"), 0);
    wait_queue(&e, 1);
    job_start_tx(&e, &jobs[1], tx_lost);
    wait_queue(&e, 2);
    job_start(&e, &jobs[2], S("t2"), 0);
    wait_queue(&e, 3);
    raw_exec(lock, "COMMIT");
    assert_int_equal(job_wait(&first), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(job_wait(&jobs[i]), E_IO);
    assert_non_null(strstr(jobs[2].cx.err.msg, "lost it"));
    assert_int_equal(branch(&e, S("t1")).head.id, 0);
    assert_int_equal(branch(&e, S("t2")).head.id, 0);
    OK(&e, commit_rc(&e, S("t2"), 0, 0, T0));
    sqlite3_close(lock);
    env_done(&e);
}

static void test_foreign_lock(void **state)
{
    (void)state;
    struct env e;
    env_sqlite(&e);
    env_setup_tenant(&e);
    table_make(&e, db_make(&e, S("d")), S("t"));
    sqlite3 *lock = raw_open(e.path);
    sqlite3_busy_handler(sqlite_of(e.st)->writer.db, NULL, NULL); /* as after the timeout */
    raw_exec(lock, "BEGIN IMMEDIATE");
    FAILS(&e, E_BUSY, RES_NONE, "", commit_rc(&e, S("t"), 0, 0, T0));
    FAILS(&e, E_BUSY, RES_NONE, "", STORE(e.st, ping, &e.cx));
    assert_int_equal(branch(&e, S("t")).head.id, 0); /* reading goes on */
    raw_exec(lock, "COMMIT");
    commit(&e, S("t"), 0, T0);
    sqlite3_close(lock);
    env_done(&e);
}

static void test_queue_bound(void **state)
{
    (void)state;
    enum { MAX = 6 };
    struct env e;
    struct job first, jobs[MAX], last;
    sqlite3 *lock = stall(&e, MAX + 2, MAX, &first);
    for (int i = 0; i < MAX; i++)
        job_start(&e, &jobs[i], text(&e, "t%d", i + 1), 0);
    wait_queue(&e, MAX);
    job_start(&e, &last, S("t7"), 0);
    assert_int_equal(job_wait(&last), E_BUSY);
    assert_non_null(strstr(last.cx.err.msg, "6 changes waiting"));
    assert_int_equal(counts(&e).queue_waiting, MAX);
    raw_exec(lock, "COMMIT");
    assert_int_equal(job_wait(&first), 0);
    for (int i = 0; i < MAX; i++)
        assert_int_equal(job_wait(&jobs[i]), 0);
    assert_int_equal(branch(&e, S("t7")).head.id, 0);
    OK(&e, commit_rc(&e, S("t7"), 0, 0, T0));
    sqlite3_close(lock);
    env_done(&e);
}

/* --- a commit that fails ---------------------------------------------------------------------- */

static void arm(const char *plan)
{
    if (plan)
        setenv("LATCH_INJECT", plan, 1);
    else
        unsetenv("LATCH_INJECT");
    assert_int_equal(inject_init(), 0);
}

static void test_commit_fails(void **state)
{
    (void)state;
    struct env e;
    struct job first, jobs[3];
    sqlite3 *lock = stall(&e, 3, 100, &first);
    job_start(&e, &jobs[0], S("t1"), 0);
    wait_queue(&e, 1);
    job_start(&e, &jobs[1], S("t1"), 0); /* a race, but against what will be undone */
    wait_queue(&e, 2);
    job_start(&e, &jobs[2], S("t2"), 0);
    wait_queue(&e, 3);
    arm("store.commit=fail:2");
    raw_exec(lock, "COMMIT");
    assert_int_equal(job_wait(&first), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(job_wait(&jobs[i]), E_IO);
    arm(NULL);
    assert_int_equal(counts(&e).failures, 1);
    assert_int_equal(branch(&e, S("t0")).head.id, 1);
    assert_int_equal(branch(&e, S("t1")).head.id, 0);
    assert_int_equal(branch(&e, S("t2")).head.id, 0);
    assert_int_equal(raw_i64(lock, "SELECT count(*) FROM outcomes"), 1);
    OK(&e, commit_rc(&e, S("t1"), 0, 0, T0));
    sqlite3_close(lock);
    env_done(&e);
}

/* The default VFS with a WAL that fails to sync or to grow. Only pMethods is exchanged, so
 * everything else is the real thing. */
static struct {
    _Atomic int pass, fail; /* so many of the next syncs work, and then so many do not */
    _Atomic int full_at;    /* the n-th write from now on finds the disk full */
    const sqlite3_io_methods *real;
    sqlite3_io_methods methods;
    int (*open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *);
    sqlite3_vfs vfs;
} bad;

static int bad_sync(sqlite3_file *f, int flags)
{
    if (bad.pass > 0)
        bad.pass--;
    else if (bad.fail > 0) {
        bad.fail--;
        return SQLITE_IOERR_FSYNC;
    }
    return bad.real->xSync(f, flags);
}

static int bad_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    if (bad.full_at > 0 && --bad.full_at == 0)
        return SQLITE_FULL;
    return bad.real->xWrite(f, p, n, at);
}

static int bad_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out)
{
    int sq = bad.open(v, name, f, flags, out);
    if (sq == SQLITE_OK && (flags & SQLITE_OPEN_WAL)) {
        bad.real = f->pMethods;
        bad.methods = *bad.real;
        bad.methods.xSync = bad_sync;
        bad.methods.xWrite = bad_write;
        f->pMethods = &bad.methods;
    }
    return sq;
}

static void bad_disk(bool on)
{
    if (bad.vfs.zName)
        sqlite3_vfs_unregister(&bad.vfs); /* also what a failed test left */
    bad.pass = bad.fail = bad.full_at = 0;
    if (!on)
        return;
    bad.vfs = *sqlite3_vfs_find("unix");
    bad.vfs.zName = "bad";
    bad.vfs.pNext = NULL;
    bad.open = bad.vfs.xOpen;
    bad.vfs.xOpen = bad_open;
    assert_int_equal(sqlite3_vfs_register(&bad.vfs, 1), SQLITE_OK);
}

static void copy_file(struct env *e, const char *suffix)
{
    char buf[65536];
    str from = text(e, "%s%s", e->path, suffix), to = text(e, "%s.crash%s", e->path, suffix);
    FILE *in = fopen(from.p, "r"), *out = fopen(to.p, "w");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t n; (n = fread(buf, 1, sizeof(buf), in)) > 0;)
        assert_int_equal(fwrite(buf, 1, n, out), n);
    fclose(in);
    fclose(out);
}

/* What a recovery would find if the process died now. */
static int64_t after_crash(struct env *e, const char *sql)
{
    copy_file(e, "");
    copy_file(e, "-wal");
    str path = text(e, "%s.crash", e->path);
    return file_i64(path.p, sql);
}

static const char HEAD_OF_T[] = "SELECT head_id FROM branches";

static void test_sync_fails(void **state)
{
    (void)state;
    struct env e;
    int rc;
    bad_disk(true);
    env_sqlite(&e);
    env_setup_tenant(&e);
    table_make(&e, db_make(&e, S("d")), S("t"));
    commit(&e, S("t"), 0, T0);
    assert_int_equal(after_crash(&e, HEAD_OF_T), 1);
    /* One sync fails: the commit is in the file with its mark, and must be made void. */
    bad.fail = 1;
    FAILS(&e, E_IO, RES_NONE, "", commit_rc(&e, S("t"), 0, 1, T0));
    assert_int_equal(bad.fail, 0);
    assert_int_equal(branch(&e, S("t")).head.id, 1);
    assert_int_equal(after_crash(&e, HEAD_OF_T), 1);
    /* The disk stays bad: nobody can say. Many times, for several fall into one millisecond. */
    for (int i = 0; i < 50; i++) {
        bad.fail = 2;
        FAILS(&e, E_UNKNOWN, RES_NONE, "", commit_rc(&e, S("t"), 0, 1, T0));
        assert_int_equal(bad.fail, 0);
        bad.fail = i % 2;
        rc = STORE(e.st, ping, &e.cx);
        ctx_reset_err(&e.cx);
        assert_int_equal(rc, i % 2 ? E_IO : 0);
    }
    OK(&e, STORE(e.st, ping, &e.cx)); /* any later commit settles it */
    assert_int_equal(branch(&e, S("t")).head.id, 1);
    assert_int_equal(after_crash(&e, HEAD_OF_T), 1);
    assert_int_equal(counts(&e).failures, 1 + 50 + 25);
    commit(&e, S("t"), 1, T0);
    assert_int_equal(after_crash(&e, HEAD_OF_T), 2);
    env_done(&e);
    bad_disk(false);
}

/* Only who would have been told "done" is told that it is not known. */
static void test_sync_fails_group(void **state)
{
    (void)state;
    struct env e;
    struct job first, jobs[2];
    bad_disk(true);
    sqlite3 *lock = stall(&e, 2, 100, &first);
    job_start(&e, &jobs[0], S("t1"), 0);
    wait_queue(&e, 1);
    job_start(&e, &jobs[1], S("t1"), 0);
    wait_queue(&e, 2);
    bad.pass = 1; /* the group of the first */
    bad.fail = 2;
    raw_exec(lock, "COMMIT");
    assert_int_equal(job_wait(&first), 0);
    assert_int_equal(job_wait(&jobs[0]), E_UNKNOWN);
    assert_int_equal(job_wait(&jobs[1]), E_IO);
    assert_int_equal(bad.fail, 0);
    sqlite3_close(lock);
    env_done(&e);
    bad_disk(false);
}

/* The disk is full at each write of a commit in turn: it did not happen, and no crash brings it. */
static void test_disk_full(void **state)
{
    (void)state;
    struct env e;
    int n = 0;
    bad_disk(true);
    env_sqlite(&e);
    env_setup_tenant(&e);
    table_make(&e, db_make(&e, S("d")), S("t"));
    commit(&e, S("t"), 0, T0);
    for (;;) {
        bad.full_at = ++n;
        int rc = commit_rc(&e, S("t"), 0, 1, T0);
        if (rc == 0)
            break;
        bad.full_at = 0;
        FAILS(&e, E_IO, RES_NONE, "", rc);
        assert_int_equal(branch(&e, S("t")).head.id, 1);
        assert_int_equal(after_crash(&e, HEAD_OF_T), 1);
    }
    bad.full_at = 0;
    assert_true(n > 6); /* a header and a page for each of several frames */
    assert_int_equal(after_crash(&e, HEAD_OF_T), 2);
    env_done(&e);
    bad_disk(false);
}

/* That the danger is real: without another commit after it, recovery takes a failed one for good.
 */
static void test_sync_fails_unsettled(void **state)
{
    (void)state;
    struct env e;
    bad_disk(true);
    env_sqlite(&e);
    env_setup_tenant(&e);
    table_make(&e, db_make(&e, S("d")), S("t"));
    sqlite3 *db = raw_open(e.path);
    bad.fail = 1;
    assert_int_equal(sqlite3_exec(db, "UPDATE branches SET head_id = 99", NULL, NULL, NULL),
                     SQLITE_IOERR);
    assert_int_equal(raw_i64(db, HEAD_OF_T), 0);
    assert_int_equal(after_crash(&e, HEAD_OF_T), 99);
    OK(&e, STORE(e.st, ping, &e.cx));
    assert_int_equal(after_crash(&e, HEAD_OF_T), 0);
    sqlite3_close(db);
    env_done(&e);
    bad_disk(false);
}

/* --- checkpoints ------------------------------------------------------------------------------ */

static void test_checkpoint(void **state)
{
    (void)state;
    enum { LIMIT = 128 << 10 };
    struct env e;
    env_dir(&e);
    struct store_sqlite_opts o = {
        .path = str_of(e.path), .queue_max = 10, .checkpoint_bytes = LIMIT};
    OK(&e, store_sqlite_new(&e.cx, &o, &e.st));
    env_setup_tenant(&e);
    table_make(&e, db_make(&e, S("d")), S("t"));
    int64_t wal_max = 0, head = 0, until = clock_mono_ms() + 10000;
    while (counts(&e).wal_bytes <= LIMIT)
        commit(&e, S("t"), head++, T0);
    while (counts(&e).checkpoints == 0) { /* the thread does it without another commit */
        assert_true(clock_mono_ms() < until);
        usleep(500);
    }
    while (head < 1500) {
        commit(&e, S("t"), head++, T0);
        int64_t now = counts(&e).wal_bytes;
        wal_max = now > wal_max ? now : wal_max;
    }
    assert_true(counts(&e).checkpoints >= 2);
    assert_int_equal(counts(&e).failures, 0);
    assert_true(wal_max >= LIMIT);
    /* About 16 KiB a commit: without checkpoints it would be 24 MB. */
    assert_true(wal_max < 24 * LIMIT);
    env_close(&e);
    assert_int_equal(mode_of(&e, "-wal"), -1);
    assert_int_equal(file_i64(e.path, HEAD_OF_T), head);
    env_done(&e);
}

enum { SMALL_PAGES = 20, SMALL = SMALL_PAGES * STORE_PAGE };

/* On the writer thread, whose marks these are. The checkpoint thread, which sleeps so far under its
 * limit, is not woken any more until the WAL starts over. */
static int tx_small_wal(struct conn *c, struct ctx *cx, void *io)
{
    struct store_sqlite *s = io;
    (void)c;
    (void)cx;
    s->checkpoint_pages = SMALL_PAGES;
    s->hard_at_pages = 8 * SMALL_PAGES;
    s->fold_at_pages = INT64_MAX;
    return 0;
}

/* When the thread gets no time the writer sees to it that the WAL stays in bounds. */
static void test_checkpoint_by_writer(void **state)
{
    (void)state;
    struct env e;
    int64_t wal_max = 0, head = 0;
    env_sqlite(&e);
    env_setup_tenant(&e);
    table_make(&e, db_make(&e, S("d")), S("t"));
    OK(&e, sq_write(sqlite_of(e.st), &e.cx, tx_small_wal, sqlite_of(e.st)));
    while (counts(&e).wal_bytes >= wal_max) {
        wal_max = counts(&e).wal_bytes;
        commit(&e, S("t"), head++, T0);
        assert_true(head < 1000);
    }
    assert_true(wal_max >= 8 * SMALL);
    assert_true(wal_max < 10 * SMALL);
    assert_true(counts(&e).wal_bytes < SMALL);
    env_done(&e);
}

/* A reader that stands still keeps the WAL from starting over; nothing fails meanwhile, and when it
 * is gone the WAL shrinks by itself. */
static void test_checkpoint_reader(void **state)
{
    (void)state;
    enum { LIMIT = 32 << 10 };
    struct env e;
    env_dir(&e);
    struct store_sqlite_opts o = {
        .path = str_of(e.path), .queue_max = 10, .checkpoint_bytes = LIMIT};
    OK(&e, store_sqlite_new(&e.cx, &o, &e.st));
    env_setup_tenant(&e);
    table_make(&e, db_make(&e, S("d")), S("t"));
    sqlite3 *db = raw_open(e.path);
    raw_exec(db, "BEGIN");
    assert_int_equal(raw_i64(db, HEAD_OF_T), 0);
    int64_t head = 0;
    while (counts(&e).wal_bytes < 12 * LIMIT) {
        commit(&e, S("t"), head++, T0);
        assert_true(head < 2000);
    }
    assert_int_equal(raw_i64(db, HEAD_OF_T), 0); /* it still sees what it saw */
    raw_exec(db, "COMMIT");
    assert_int_equal(raw_i64(db, HEAD_OF_T), head);
    sqlite3_close(db);
    int64_t until = clock_mono_ms() + 10000;
    while (counts(&e).wal_bytes > 3 * LIMIT) {
        commit(&e, S("t"), head++, T0);
        assert_true(clock_mono_ms() < until);
    }
    assert_int_equal(counts(&e).failures, 0);
    env_done(&e);
}

/* --- large catalogs --------------------------------------------------------------------------- */

static void many_tables(struct env *e, int n)
{
    char sql[600];
    sqlite3 *db = raw_open(e->path);
    snprintf(sql, sizeof(sql),
             "BEGIN; WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c LIMIT %d)"
             " INSERT INTO tables (db_rid, id, name, dir, type, owner, created_by,"
             " updated_by, created_ms, updated_ms) SELECT 1, 'id-' || i,"
             " printf('n%%06d', i), 'd/' || i, iif(i %% 1000, 'table', 'view'),"
             " '', '', '', 0, 0 FROM c",
             n);
    raw_exec(db, sql);
    raw_exec(db, "INSERT INTO branches (table_rid, name, epoch, head_id, head_recorded_ms,"
                 " head_file_ino, head_file_size, head_file_ctime_ns, total_bytes, total_files,"
                 " last_file_ms, head_uuid, head_json) SELECT rid, 'main', 0, 0, 0, 0, 0, 0, 0, 0,"
                 " 0, '', printf('%.*c', 90, 'y') FROM tables");
    raw_exec(db,
             "INSERT INTO schemas SELECT rid, 0, printf('%.*c', 90, 'x') FROM branches; COMMIT");
    sqlite3_close(db);
}

/* Work of all statements of a connection since the last call, in steps of the VM. */
static int64_t vm_steps(struct conn *c)
{
    int64_t n = 0;
    for (size_t i = 0; i < CONN_STMTS; i++)
        if (c->stmts[i].st)
            n += sqlite3_stmt_status(c->stmts[i].st, SQLITE_STMTSTATUS_VM_STEP, 1);
    return n;
}

static struct conn *my_reader(struct env *e)
{
    struct conn *c;
    OK(e, sq_reader(sqlite_of(e->st), &e->cx, &c));
    return c;
}

static void test_pages_are_cheap(void **state)
{
    (void)state;
    struct env e;
    struct name_pair *names;
    size_t n;
    env_sqlite(&e);
    env_setup_tenant(&e);
    db_make(&e, S("d"));
    many_tables(&e, 5000);
    static const struct {
        const char *after, *prefix, *type, *first;
        size_t n;
    } t[] = {
        {"", "", "", "n000001", 10},        {"n004000", "", "", "n004001", 10},
        {"", "n0045", "", "n004500", 10},   {"n00450", "n0045", "", "n004500", 10},
        {"n004995", "", "", "n004996", 5},  {"", "zzz", "", "", 0},
        {"", "", "view", "n001000", 5},     {"n003500", "", "view", "n004000", 2},
        {"n004000", "n004", "view", "", 0}, {"", "n003", "view", "n003000", 1},
    };
    struct conn *c = my_reader(&e);
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        struct store_find_in in =
            tables_of(&e, S("d"), str_of(t[i].after), str_of(t[i].prefix), 10, str_of(t[i].type));
        vm_steps(c);
        OK(&e, STORE(e.st, find, &e.cx, &in, &names, &n));
        assert_int_equal(n, t[i].n);
        if (n)
            SAME(names[0].name, str_of(t[i].first));
        assert_in_range(vm_steps(c), 1, 200); /* and not 5,000 rows */
    }
    struct table_row r;
    OK(&e, STORE(e.st, table_get, &e.cx, e.wh, S("d"), S("n002345"), &r));
    SAME(r.id, S("id-2345"));
    OK(&e, STORE(e.st, table_by_id, &e.cx, e.wh, S("id-777"), &r));
    assert_int_equal(branch(&e, S("id-777")).head.id, 0);
    assert_in_range(vm_steps(c), 1, 400);
    env_done(&e);
}

static void test_drop_many(void **state)
{
    (void)state;
    struct env e;
    struct intent_row *purges = NULL;
    size_t n = 0;
    env_sqlite(&e);
    env_setup_tenant(&e);
    str db = db_make(&e, S("d"));
    many_tables(&e, 10000);
    commit(&e, S("id-5"), 0, T0);
    struct conn *writer = &sqlite_of(e.st)->writer; /* idle while nothing is queued */
    vm_steps(writer);
    struct store_counts before = counts(&e);
    OK(&e, STORE(e.st, db_drop, &e.cx, db, T0, NULL, &purges, &n));
    assert_int_equal(n, 10000);
    SAME(purges[9999].args_json, S("{\"dir\":\"d/10000\"}"));
    assert_int_equal(counts(&e).transactions - before.transactions, 1);
    assert_in_range(vm_steps(writer), 10000, 10000 * 300); /* a fixed number for each table */
    assert_int_equal(file_i64(e.path, "SELECT count(*) FROM tables"), 0);
    assert_int_equal(file_i64(e.path, "SELECT count(*) FROM branches"), 0);
    assert_int_equal(file_i64(e.path, "SELECT count(*) FROM intents"), 10000);
    assert_int_equal(file_i64(e.path, "SELECT count(*) FROM gone_branches"), 1);
    env_done(&e);
}

/* One name, created and dropped ten thousand times, and as often by somebody as a name of its own.
 */
static void test_claim_many(void **state)
{
    (void)state;
    struct env e;
    str dir;
    env_sqlite(&e);
    env_setup_tenant(&e);
    file_exec(e.path,
              "WITH RECURSIVE c(i) AS (VALUES (2) UNION ALL SELECT i + 1 FROM c LIMIT 10000)"
              " INSERT INTO used_dirs SELECT 1, 'd/t-' || i, 2 FROM c;"
              "INSERT INTO used_dirs VALUES (1, 'd/t', 5000)");
    claim(&e, S("d/t"), &dir);
    SAME(dir, S("d/t-10002"));
    struct conn *writer = &sqlite_of(e.st)->writer;
    vm_steps(writer);
    claim(&e, S("d/t"), &dir);
    SAME(dir, S("d/t-10003"));
    assert_in_range(vm_steps(writer), 1, 300);
    env_done(&e);
}

/* --- prune ------------------------------------------------------------------------------------ */

static const char OUTCOMES[] = "SELECT count(*) FROM outcomes";

static void test_prune_gone(void **state)
{
    (void)state;
    struct env e;
    struct intent_row purge;
    bool more;
    int calls = 0;
    env_sqlite(&e);
    env_setup_tenant(&e);
    str db = db_make(&e, S("d"));
    table_make(&e, db, S("t"));
    table_make(&e, db, S("keep"));
    table_make(&e, db, S("none"));
    for (int64_t i = 0; i < 25; i++)
        commit(&e, S("t"), i, T0);
    commit(&e, S("keep"), 0, T0);
    OK(&e, STORE(e.st, table_drop, &e.cx, &(struct table_named){.id = S("t")}, T0, NULL, &purge));
    OK(&e,
       STORE(e.st, table_drop, &e.cx, &(struct table_named){.id = S("none")}, T0, NULL, &purge));
    assert_int_equal(file_i64(e.path, OUTCOMES), 26); /* not in the drop itself */
    assert_int_equal(file_i64(e.path, "SELECT count(*) FROM gone_branches"), 1);
    table_make(&e, db, S("t"));
    commit(&e, S("t"), 0, T0);
    struct store_prune_in in = {.outcomes_per_branch_max = 100, .rows_max = 10};
    do {
        int64_t before = file_i64(e.path, OUTCOMES);
        OK(&e, STORE(e.st, prune, &e.cx, &in, &more));
        assert_true(before - file_i64(e.path, OUTCOMES) <= 10);
        assert_true(++calls < 10);
    } while (more);
    assert_int_equal(calls, 3);
    assert_int_equal(file_i64(e.path, OUTCOMES), 2);
    assert_int_equal(file_i64(e.path, "SELECT count(*) FROM gone_branches"), 0);
    struct store_counts c = counts(&e);
    OK(&e, STORE(e.st, prune, &e.cx, &in, &more));
    assert_false(more);
    assert_int_equal(counts(&e).transactions, c.transactions); /* nothing to do: no write at all */
    env_done(&e);
}

/* A branch that is gone is counted once. */
static void test_prune_gone_and_old(void **state)
{
    (void)state;
    struct env e;
    bool more = true;
    env_sqlite(&e);
    env_setup_tenant(&e);
    file_exec(e.path, "WITH RECURSIVE c(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM c LIMIT 12)"
                      " INSERT INTO outcomes SELECT i / 6, i, randomblob(20), 0, 0, 0, 0 FROM c;"
                      "INSERT INTO gone_branches VALUES (0)");
    struct store_prune_in in = {
        .outcomes_before_ms = 1, .outcomes_per_branch_max = 99, .rows_max = 15};
    OK(&e, STORE(e.st, prune, &e.cx, &in, &more));
    assert_false(more);
    assert_int_equal(file_i64(e.path, OUTCOMES), 0);
    env_done(&e);
}

static int call_prune(struct job *j)
{
    bool more;
    struct store_prune_in in = {
        .outcomes_before_ms = T0 + 1, .outcomes_per_branch_max = 100, .rows_max = 100};
    return STORE(j->st, prune, &j->cx, &in, &more);
}

static int call_rollback(struct job *j)
{
    struct head_row head = {.id = 0, .json = S("{}")};
    struct store_history_in in = {
        .intent_id = j->head, .table_id = j->table, .branch = S("main"), .head = &head};
    return STORE(j->st, history_finish, &j->cx, &in);
}

static int call_recommit(struct job *j)
{
    struct outcome o = outcome_for(1, T0 + 500);
    struct store_commit_in in = {.table_id = j->table,
                                 .branch = S("main"),
                                 .expect_epoch = 1,
                                 .head = {.id = 1, .json = S("{}")},
                                 .outcome = &o};
    return STORE(j->st, commit_record, &j->cx, &in);
}

/* Prune looks; then a rollback forgets those outcomes and a commit makes a new one with the same
 * snapshot id; then prune deletes. The new one stays. */
static void test_prune_race(void **state)
{
    (void)state;
    struct env e;
    struct job first, jobs[3];
    struct outcome o;
    int64_t intent, epoch;
    sqlite3 *lock = stall(&e, 2, 100, &first);
    raw_exec(lock, "COMMIT");
    assert_int_equal(job_wait(&first), 0);
    for (int64_t i = 0; i < 3; i++)
        commit(&e, S("t1"), i, T0);
    struct store_intent_in begin = {
        .row = {.table_id = S("t1"), .branch = S("main")}, .bump_epoch = true, .expect_head_id = 3};
    OK(&e, STORE(e.st, intent_begin, &e.cx, &begin, &intent, &epoch));
    writer_waits = false;
    raw_exec(lock, "BEGIN IMMEDIATE");
    job_start(&e, &first, S("t0"), 1);
    while (!writer_waits)
        usleep(200);
    job_start_call(&e, &jobs[0], call_rollback, S("t1"), intent);
    wait_queue(&e, 1);
    job_start_call(&e, &jobs[1], call_recommit, S("t1"), 0);
    wait_queue(&e, 2);
    job_start_call(&e, &jobs[2], call_prune, S("t1"),
                   0); /* sees the old ones: nothing is done yet */
    wait_queue(&e, 3);
    raw_exec(lock, "COMMIT");
    assert_int_equal(job_wait(&first), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(job_wait(&jobs[i]), 0);
    OK(&e, STORE(e.st, outcome_of, &e.cx, S("t1"), S("main"), 1, &o));
    assert_int_equal(o.recorded_ms, T0 + 500);
    sqlite3_close(lock);
    env_done(&e);
}

/* More branches than one call looks at, and that finding nothing is cheap. */
static void test_prune_many(void **state)
{
    (void)state;
    struct env e;
    bool more = true;
    int calls = 0;
    env_sqlite(&e);
    env_setup_tenant(&e);
    file_exec(e.path,
              "WITH RECURSIVE c(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM c LIMIT 6000)"
              " INSERT INTO outcomes SELECT i / 10, i % 10, randomblob(20), i % 10, 0, 0, 0 FROM c;"
              "INSERT INTO gone_branches SELECT i FROM (WITH RECURSIVE c(i) AS (VALUES (0) UNION"
              " ALL SELECT i + 1 FROM c LIMIT 300) SELECT i FROM c)");
    struct store_prune_in in = {
        .outcomes_before_ms = 4, .outcomes_per_branch_max = 5, .rows_max = 1000000};
    while (more) {
        OK(&e, STORE(e.st, prune, &e.cx, &in, &more));
        assert_true(++calls < 10);
    }
    assert_int_equal(calls, 3); /* 300 gone, 300 with 5 too many: 256 a call */
    assert_int_equal(file_i64(e.path, OUTCOMES), 300 * 5);
    assert_int_equal(file_i64(e.path, "SELECT min(snapshot_id) FROM outcomes"), 5);
    assert_int_equal(file_i64(e.path, "SELECT min(branch_rid) FROM outcomes"), 300);
    struct conn *c = my_reader(&e);
    vm_steps(c);
    OK(&e, STORE(e.st, prune, &e.cx, &in, &more));
    assert_in_range(vm_steps(c), 1, 300 * 60);
    env_done(&e);
}

/* --- many threads ----------------------------------------------------------------------------- */

enum { THREADS = 8, TABLES = 12, COMMITS = 40 };

struct worker {
    pthread_t thread;
    struct store *st;
    int64_t wh;
    int nr;
    int64_t won;       /* commits to the shared table */
    const char *wrong; /* what was not as it should be */
    char msg[512];
};

static int try_shared(struct worker *w, struct ctx *cx)
{
    struct branch_row b;
    TRY(STORE(w->st, branch_get, cx, S("shared"), S("main"), &b));
    struct outcome o = outcome_for(b.head.id + 1, T0);
    o.key[OUTCOME_KEY_LEN - 1] = (uint8_t)w->nr;
    struct store_commit_in in = {.table_id = S("shared"),
                                 .branch = S("main"),
                                 .expect_head_id = b.head.id,
                                 .head = {.id = b.head.id + 1, .json = S("{}"), .recorded_ms = T0},
                                 .outcome = &o,
                                 .audit = {.at_ms = T0, .action = S("commit")}};
    int rc = STORE(w->st, commit_record, cx, &in);
    if (rc == E_RACE) {
        ctx_reset_err(cx);
        return 0;
    }
    w->won += rc == 0;
    return rc;
}

/* Create, read back what was just answered, list, sometimes drop. */
static int own_table(struct worker *w, struct ctx *cx, int i)
{
    char name[32];
    snprintf(name, sizeof(name), "w%d-%02d", w->nr, i);
    int64_t intent = 0;
    str dir;
    struct name_pair *names;
    size_t n;
    struct table_row got;
    struct intent_row purge;
    struct store_find_in page = {
        .warehouse_id = w->wh, .db = {S("d"), true}, .name = {str_n(name, 3), false}, .limit = 100};
    TRY(STORE(w->st, table_claim, cx, w->wh, S("same"), T0, &dir, &intent));
    struct table_row row = {.id = str_of(name),
                            .db_id = S("db-d"),
                            .name = str_of(name),
                            .dir = dir,
                            .schema_json = S("{}"),
                            .type = S("table")};
    TRY(STORE(w->st, table_create, cx, &row, intent, NULL, NULL));
    TRY(STORE(w->st, table_get, cx, w->wh, S("d"), row.name, &got));
    w->wrong = str_eq(got.dir, dir) ? w->wrong : "a table is not in the directory it claimed";
    TRY(STORE(w->st, find, cx, &page, &names, &n));
    w->wrong = n && str_eq(names[n - 1].name, row.name) ? w->wrong : "a new table is not listed";
    if (i % 3 == 0)
        TRY(STORE(w->st, table_drop, cx, &(struct table_named){.id = row.id}, T0, NULL, &purge));
    return 0;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct ctx cx;
    ctx_init(&cx, 16 << 20);
    int rc = 0;
    for (int i = 0; i < COMMITS && rc == 0; i++) {
        if (i < TABLES)
            rc = own_table(w, &cx, i);
        if (rc == 0)
            rc = try_shared(w, &cx);
    }
    if (rc < 0) {
        memcpy(w->msg, cx.err.msg, sizeof(w->msg));
        w->wrong = w->msg;
    }
    ctx_done(&cx);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct env e;
    struct worker w[THREADS];
    env_dir(&e);
    struct store_sqlite_opts o = {
        .path = str_of(e.path), .queue_max = 100, .checkpoint_bytes = 64 << 10};
    OK(&e, store_sqlite_new(&e.cx, &o, &e.st));
    env_setup_tenant(&e);
    str db = db_make(&e, S("d"));
    table_make(&e, db, S("shared"));
    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct worker){.st = e.st, .wh = e.wh, .nr = i};
        assert_int_equal(pthread_create(&w[i].thread, NULL, worker_main, &w[i]), 0);
    }
    int64_t won = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);
        if (w[i].wrong)
            fail_msg("thread %d: %s", i, w[i].wrong);
        won += w[i].won;
    }
    assert_int_equal(branch(&e, S("shared")).head.id, won);
    assert_int_equal(file_i64(e.path, OUTCOMES), won);
    assert_int_equal(file_i64(e.path, "SELECT count(*) FROM tables"),
                     1 + THREADS * (TABLES - (TABLES + 2) / 3));
    assert_int_equal(file_i64(e.path, "SELECT count(DISTINCT dir) FROM used_dirs"),
                     THREADS * TABLES);
    struct store_counts c = counts(&e);
    assert_true(c.groups <= c.transactions);
    assert_int_equal(c.failures, 0);
    assert_int_equal(sq_readers_count(sqlite_of(e.st)),
                     1); /* ours; the threads took theirs along */
    env_done(&e);
}

/* A thread that outlives the store: the store's end closes its connection, the thread's end finds
 * nothing to close. Under ASan and TSan this shows what it should. */
struct lodger {
    struct store *st;
    pthread_barrier_t *step;
    int rc;
};

static void *lodger_main(void *arg)
{
    struct lodger *l = arg;
    struct ctx cx;
    bool empty;
    ctx_init(&cx, 1 << 16);
    l->rc = STORE(l->st, is_empty, &cx, &empty);
    ctx_done(&cx);
    pthread_barrier_wait(l->step); /* it has read */
    pthread_barrier_wait(l->step); /* the store is gone */
    return NULL;
}

static void test_thread_outlives(void **state)
{
    (void)state;
    struct env e;
    pthread_t thread;
    pthread_barrier_t step;
    env_sqlite(&e);
    assert_int_equal(pthread_barrier_init(&step, NULL, 2), 0);
    struct lodger l = {.st = e.st, .step = &step, .rc = 1};
    assert_int_equal(pthread_create(&thread, NULL, lodger_main, &l), 0);
    pthread_barrier_wait(&step);
    assert_int_equal(sq_readers_count(sqlite_of(e.st)), 1);
    env_close(&e);
    pthread_barrier_wait(&step);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(l.rc, 0);
    assert_int_equal(mode_of(&e, "-wal"), -1); /* its connection did not keep the WAL there */
    pthread_barrier_destroy(&step);
    env_done(&e);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_reopen),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_migration),
        cmocka_unit_test(test_migration_of_a_first_store),
        cmocka_unit_test(test_migration_no_backup),
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_group_neighbours),
        cmocka_unit_test(test_undo),
        cmocka_unit_test(test_transaction_lost),
        cmocka_unit_test(test_foreign_lock),
        cmocka_unit_test(test_queue_bound),
        cmocka_unit_test(test_commit_fails),
        cmocka_unit_test(test_sync_fails),
        cmocka_unit_test(test_sync_fails_group),
        cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_sync_fails_unsettled),
        cmocka_unit_test(test_checkpoint),
        cmocka_unit_test(test_checkpoint_by_writer),
        cmocka_unit_test(test_checkpoint_reader),
        cmocka_unit_test(test_pages_are_cheap),
        cmocka_unit_test(test_drop_many),
        cmocka_unit_test(test_claim_many),
        cmocka_unit_test(test_prune_gone),
        cmocka_unit_test(test_prune_gone_and_old),
        cmocka_unit_test(test_prune_race),
        cmocka_unit_test(test_prune_many),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_thread_outlives),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
