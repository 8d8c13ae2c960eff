/* store_sqlite_conn.c - one SQLite connection, its statements, values in and out, its errors.
 *
 * A statement is prepared on its first use and kept for the life of the connection, in a table
 * keyed by the address of its text; texts are static, so nothing that came from a request is ever
 * part of SQL. Every user resets its statement on the way out (STMT): a SELECT that is not reset
 * would hold a read mark in the WAL and with it every checkpoint, and bindings are not copies.
 *
 * Memory: SQLite's own allocator, and small page caches, because there is a connection for each
 * worker thread. Its statistics are switched off: they put a global lock around each malloc.
 *
 * Threads: a connection belongs to one thread at a time (SQLITE_OPEN_NOMUTEX). */
#include "catalog/store/store_sqlite_int.h"

#include <errno.h>

#define BUSY_TIMEOUT_MS 5000 /* only a foreign process (a backup, a shell) makes us wait */

static const char PRAGMAS_READER[] = "PRAGMA cache_size = -512; PRAGMA mmap_size = 0;"
                                     "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;"
                                     "PRAGMA query_only = ON;";
/* temp_store: what is kept to undo a large operation stays in memory, so that a container without a
 * writable /tmp works. secure_delete is on in Debian's build and writes each freed page once more;
 * nothing here is a secret in clear. */
static const char PRAGMAS_WRITER[] = "PRAGMA cache_size = -4096; PRAGMA mmap_size = 0;"
                                     "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;"
                                     "PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF;"
                                     "PRAGMA journal_size_limit = 67108864;";
static const char PRAGMAS_CHECKPOINT[] = "PRAGMA cache_size = -64; PRAGMA mmap_size = 0;"
                                         "PRAGMA synchronous = FULL;";

static void sqlite_setup(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static int code_of(int sq)
{
    switch (sq & 0xff) {
    case SQLITE_NOMEM:
        return E_NOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return E_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return E_CORRUPT;
    case SQLITE_TOOBIG:
        return E_TOOBIG;
    case SQLITE_CONSTRAINT:
        return sq == SQLITE_CONSTRAINT_FOREIGNKEY ? E_NOTFOUND : E_INTERNAL;
    case SQLITE_ERROR:
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
        return E_INTERNAL;
    default:
        return E_IO;
    }
}

static const char *advice_of(int code)
{
    switch (code) {
    case E_BUSY:
        return "another process holds the store's lock; nothing was done, try again";
    case E_CORRUPT:
        return "the store's file is damaged; stop Latch and put a backup back";
    case E_TOOBIG:
        return "a value is too large for the store";
    case E_NOTFOUND:
        return "it belongs to something that does not exist (any more)";
    case E_INTERNAL:
        return "the store refused a statement";
    default:
        return "the store cannot read or write its file";
    }
}

int sq_fail(struct ctx *cx, struct conn *c, int sq)
{
    int code = code_of(sq), sys = c->db ? sqlite3_system_errno(c->db) : 0;
    if (code == E_NOMEM)
        return ctx_nomem(cx);
    const char *file = c->db ? sqlite3_db_filename(c->db, "main") : NULL;
    const char *why = c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(sq);
    if (code == E_IO && sys) {
        errno = sys;
        return ctx_fail_errno(cx, code, "%s %s (SQLite %d: %s)", advice_of(code), file ? file : "",
                              sq, why);
    }
    return ctx_fail(cx, code, RES_NONE, STR_NONE, "%s (%s, SQLite %d: %s)", advice_of(code),
                    file ? file : "", sq, why);
}

int sq_exec(struct ctx *cx, struct conn *c, const char *script)
{
    int sq = sqlite3_exec(c->db, script, NULL, NULL, NULL);
    return sq == SQLITE_OK ? 0 : sq_fail(cx, c, sq);
}

int sq_conn_open(struct ctx *cx, struct conn *c, const char *path, enum conn_kind kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ASSERT(pthread_once(&once, sqlite_setup) == 0);
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    flags |= kind == CONN_READER ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    flags |= kind == CONN_WRITER ? SQLITE_OPEN_CREATE : 0;
    int sq = sqlite3_open_v2(path, &c->db, flags, NULL);
    if (sq == SQLITE_OK)
        sq = sqlite3_busy_timeout(c->db, BUSY_TIMEOUT_MS);
    int rc = sq == SQLITE_OK ? 0 : sq_fail(cx, c, sq);
    if (rc == 0)
        rc = sq_exec(cx, c,
                     kind == CONN_READER   ? PRAGMAS_READER
                     : kind == CONN_WRITER ? PRAGMAS_WRITER
                                           : PRAGMAS_CHECKPOINT);
    if (rc < 0)
        sq_conn_close(c);
    return rc;
}

void sq_conn_close(struct conn *c)
{
    for (size_t i = 0; i < CONN_STMTS; i++)
        sqlite3_finalize(c->stmts[i].st);
    ASSERT(sqlite3_close(c->db) == SQLITE_OK); /* else a statement was not in the table */
    *c = (struct conn){0};
}

static int stmt_cached(struct ctx *cx, struct conn *c, const char *sql, sqlite3_stmt **ret)
{
    size_t at = (size_t)(((uintptr_t)sql * UINT64_C(0x9E3779B97F4A7C15)) >> 56) % CONN_STMTS;
    size_t tried = 0;
    while (c->stmts[at].sql && c->stmts[at].sql != sql) {
        at = (at + 1) % CONN_STMTS;
        ASSERT(++tried < CONN_STMTS);
    }
    if (!c->stmts[at].sql) {
        int sq =
            sqlite3_prepare_v3(c->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &c->stmts[at].st, NULL);
        if (sq != SQLITE_OK)
            return sq_fail(cx, c, sq);
        c->stmts[at].sql = sql;
    }
    *ret = c->stmts[at].st;
    return 0;
}

static int bind_one(sqlite3_stmt *st, int at, const struct arg *a)
{
    const char *p = a->s.p ? a->s.p : "";
    switch (a->kind) {
    case ARG_I64:
        return sqlite3_bind_int64(st, at, a->i);
    case ARG_TEXT:
        return sqlite3_bind_text64(st, at, p, a->s.len, SQLITE_STATIC, SQLITE_UTF8);
    case ARG_BLOB:
        return sqlite3_bind_blob64(st, at, p, a->s.len, SQLITE_STATIC);
    case ARG_END:
        break;
    }
    return SQLITE_MISUSE;
}

void sq_reset(sqlite3_stmt **st)
{
    if (*st) {
        sqlite3_reset(*st); /* answers the error of the last step, which was reported then */
        sqlite3_clear_bindings(*st);
    }
}

int sq_stmt(struct ctx *cx, struct conn *c, const char *sql, const struct arg *args,
            sqlite3_stmt **ret)
{
    STMT st = NULL;
    TRY(stmt_cached(cx, c, sql, &st));
    ASSERT(!sqlite3_stmt_busy(st)); /* an operation does not use one statement twice at a time */
    int n = 0;
    for (; args[n].kind != ARG_END; n++) {
        int sq = bind_one(st, n + 1, &args[n]);
        if (sq != SQLITE_OK)
            return sq_fail(cx, c, sq);
    }
    ASSERT(n == sqlite3_bind_parameter_count(st));
    *ret = st;
    st = NULL;
    return 0;
}

int sq_step(struct ctx *cx, struct conn *c, sqlite3_stmt *st)
{
    int sq = sqlite3_step(st);
    if (sq == SQLITE_ROW || sq == SQLITE_DONE)
        return sq == SQLITE_ROW;
    return sq_fail(cx, c, sq);
}

int sq_run(struct ctx *cx, struct conn *c, const char *sql, const struct arg *args,
           int64_t *ret_changes)
{
    STMT st = NULL;
    TRY(sq_stmt(cx, c, sql, args, &st));
    int row = sq_step(cx, c, st);
    TRY(row);
    ASSERT(row == 0);
    if (ret_changes)
        *ret_changes = sqlite3_changes64(c->db);
    return 0;
}

int sq_i64(struct ctx *cx, struct conn *c, const char *sql, const struct arg *args, int64_t *ret)
{
    STMT st = NULL;
    TRY(sq_stmt(cx, c, sql, args, &st));
    int row = sq_step(cx, c, st);
    TRY(row);
    if (row)
        *ret = sqlite3_column_int64(st, 0);
    return row;
}

struct cols sq_cols(struct ctx *cx, sqlite3_stmt *st)
{
    return (struct cols){.cx = cx, .st = st};
}

str sq_col_str(struct cols *c)
{
    const char *p = (const char *)sqlite3_column_text(c->st, c->at);
    size_t n = (size_t)sqlite3_column_bytes(c->st, c->at);
    c->at++;
    str copy = str_dup(&c->cx->arena, str_n(p, n));
    if (!copy.p)
        c->failed = E_NOMEM;
    return copy;
}

int64_t sq_col_i64(struct cols *c)
{
    return sqlite3_column_int64(c->st, c->at++);
}

void sq_col_blob(struct cols *c, uint8_t *ret, size_t n)
{
    const void *p = sqlite3_column_blob(c->st, c->at);
    size_t have = (size_t)sqlite3_column_bytes(c->st, c->at);
    c->at++;
    if (p && have == n)
        memcpy(ret, p, n);
    else
        c->failed = have == n || sqlite3_errcode(sqlite3_db_handle(c->st)) == SQLITE_NOMEM
                        ? E_NOMEM
                        : E_CORRUPT; /* the schema checks lengths: the file was tampered with */
}

int sq_cols_end(struct cols *c)
{
    ASSERT(c->at == sqlite3_column_count(c->st));
    if (c->failed == E_NOMEM)
        return ctx_nomem(c->cx);
    if (c->failed)
        return ctx_fail(c->cx, E_CORRUPT, RES_NONE, STR_NONE, "%s", advice_of(E_CORRUPT));
    return 0;
}

void *sq_grow(struct ctx *cx, void *old, size_t n, size_t *cap, size_t item_size)
{
    if (n < *cap)
        return old;
    size_t more = *cap ? *cap * 2 : 16;
    void *p = arena_array(&cx->arena, item_size, more);
    if (!p)
        return NULL;
    if (n)
        memcpy(p, old, n * item_size);
    *cap = more;
    return p;
}
