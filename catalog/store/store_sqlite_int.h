/* store_sqlite_int.h - what the files of store_sqlite share. The only includer of sqlite3.h.
 *
 *   store_sqlite.c          open, close, the table of operations
 *   store_sqlite_conn.c     a connection, its cached statements, values in and out, SQLite's errors
 *   store_sqlite_read.c     one read-only connection for each thread that reads
 *   store_sqlite_write.c    the writer thread: group commit
 *   store_sqlite_wal.c      the checkpoint thread: folds the WAL into the database
 *   store_sqlite_migrate.c  versions of the schema
 *   store_sqlite_{admin,db,table,object,branch,ref,intent,prune,partition,conflict}.c   the operations
 *
 * An operation that reads runs on the caller's thread with its read-only connection. One that
 * changes is a function of type tx_fn that the writer thread runs inside its transaction while the
 * caller waits; until it has run, nothing of the caller's is touched by anyone else, so a tx_fn may
 * read the caller's structs, allocate in its arena and set its error record. Results go to the
 * caller's own outputs only after the transaction is durable. */
#ifndef LATCH_CATALOG_STORE_STORE_SQLITE_INT_H
#define LATCH_CATALOG_STORE_STORE_SQLITE_INT_H

#include <pthread.h>
#include <sqlite3.h>

#include "catalog/store/store.h"
#include "proto/base/assert.h"
#include "proto/base/queue.h"

#define STORE_GROUP_MAX 256        /* transactions in one commit */
#define STORE_APP_ID    0x4C544348 /* "LTCH", PRAGMA application_id */
#define STORE_PAGE      4096       /* bytes of a page, SQLite's default, for sizes told and given */

/* --- a connection (store_sqlite_conn.c) ------------------------------------------------------- */

#define CONN_STMTS 256 /* a power of two, above the number of statements there are */

enum conn_kind { CONN_READER, CONN_WRITER, CONN_CHECKPOINT };
struct conn {
    sqlite3 *db; /* NULL: not open */
    struct {
        const char *sql; /* the key: the address of a static text */
        sqlite3_stmt *st;
    } stmts[CONN_STMTS];
};

int sq_conn_open(struct ctx *cx, struct conn *c, const char *path, enum conn_kind kind) WARN_UNUSED;
void sq_conn_close(struct conn *c); /* one that is not open is fine */
/* The error of the last call on `c`, whose result code was `sq`. Always negative. */
int sq_fail(struct ctx *cx, struct conn *c, int sq);
int sq_exec(struct ctx *cx, struct conn *c, const char *script) WARN_UNUSED; /* no results */

/* Values for the ?1, ?2, ... of a statement. Texts and blobs are bound without a copy
 * (SQLITE_STATIC): they live until the statement is reset, which is before the caller goes on. */
enum arg_kind { ARG_END, ARG_I64, ARG_TEXT, ARG_BLOB };
struct arg {
    enum arg_kind kind;
    str s; /* an absent text is bound as an empty one */
    int64_t i;
};
#define AI(v)    ((struct arg){ARG_I64, STR_NONE, (int64_t)(v)})
#define AT(v)    ((struct arg){ARG_TEXT, (v), 0})
#define AB(p, n) ((struct arg){ARG_BLOB, {(const char *)(p), (n)}, 0})
#define A_END    ((struct arg){ARG_END, STR_NONE, 0})
/* The first is there only for the comma behind it: cppcheck does not know __VA_OPT__. */
#define ARGS(...) ((const struct arg[]){A_END, ##__VA_ARGS__, A_END} + 1)

/* A statement ready to step, from the cache. `sql` must be a static text. Declare the pointer with
 * STMT so that it is reset on every way out. */
#define STMT CLEANUP(sq_reset) sqlite3_stmt *
void sq_reset(sqlite3_stmt **st);
int sq_stmt(struct ctx *cx, struct conn *c, const char *sql, const struct arg *args,
            sqlite3_stmt **ret) WARN_UNUSED;
#define SQL_OPEN(cx, c, sql, ret, ...) sq_stmt((cx), (c), (sql), ARGS(__VA_ARGS__), (ret))
/* 1: a row is there; 0: no more; negative: failed. */
int sq_step(struct ctx *cx, struct conn *c, sqlite3_stmt *st) WARN_UNUSED;
/* Runs a statement that gives no rows; *ret_changes (may be NULL) is the number of rows changed. */
int sq_run(struct ctx *cx, struct conn *c, const char *sql, const struct arg *args,
           int64_t *ret_changes) WARN_UNUSED;
#define SQL_RUN(cx, c, sql, ret_changes, ...)                                                      \
    sq_run((cx), (c), (sql), ARGS(__VA_ARGS__), (ret_changes))
/* The first column of the first row as a number: 1, or 0 when there is no row. */
int sq_i64(struct ctx *cx, struct conn *c, const char *sql, const struct arg *args,
           int64_t *ret) WARN_UNUSED;
#define SQL_I64(cx, c, sql, ret, ...) sq_i64((cx), (c), (sql), ARGS(__VA_ARGS__), (ret))

/* Columns of the current row, left to right. Texts are copied into cx's arena. The first failure
 * sticks and sq_cols_end answers it; sq_cols_end also asserts that all columns were taken. */
struct cols {
    struct ctx *cx;
    sqlite3_stmt *st;
    int at;
    int failed;
};
struct cols sq_cols(struct ctx *cx, sqlite3_stmt *st);
str sq_col_str(struct cols *c);
int64_t sq_col_i64(struct cols *c);
void sq_col_blob(struct cols *c, uint8_t *ret, size_t n); /* another length: E_CORRUPT */
int sq_cols_end(struct cols *c) WARN_UNUSED;

/* A growing array in an arena. */
void *sq_grow(struct ctx *cx, void *old, size_t n, size_t *cap, size_t item_size);

/* --- the store -------------------------------------------------------------------------------- */

struct reader;
struct store_sqlite {
    struct store base; /* first */
    char *path;        /* NUL-terminated, ours */
    int64_t checkpoint_pages;

    struct queue queue; /* of struct op, for the writer */
    struct conn
        writer; /* whose turn it is; the opener's before the writer starts and after it ended */
    pthread_mutex_t turn;
    _Atomic int64_t waiting; /* operations that are queued or in a group of the writer thread */
    pthread_t writer_thread;
    bool queue_ready, writer_runs;

    pthread_key_t reader_key;
    pthread_mutex_t readers_mu; /* guards the list; taken alone */
    struct reader *readers;
    bool readers_ready;

    struct conn folder; /* the checkpoint thread's */
    pthread_t folder_thread;
    pthread_mutex_t folder_mu; /* guards the next two; taken alone */
    pthread_cond_t folder_cv;
    bool folder_wanted, folder_stop;
    bool folder_ready, folder_runs;
    _Atomic int64_t wal_pages;     /* in the WAL as of the last commit */
    _Atomic int64_t fold_at_pages; /* wake the checkpoint thread above this */
    _Atomic bool fold_between;     /* the writer shall finish a checkpoint between two groups */
    int64_t hard_at_pages;         /* under the turn: folds unasked above this */

    struct {
        _Atomic int64_t transactions, groups, group_max, checkpoints, failures;
    } counts;
};
static inline struct store_sqlite *sqlite_of(struct store *st)
{
    return (struct store_sqlite *)(void *)st;
}

/* store_sqlite_read.c */
int sq_readers_init(struct ctx *cx, struct store_sqlite *s) WARN_UNUSED;
void sq_readers_done(struct store_sqlite *s);
size_t sq_readers_count(struct store_sqlite *s);
int sq_reader(struct store_sqlite *s, struct ctx *cx, struct conn **ret) WARN_UNUSED;

/* store_sqlite_write.c */
typedef int tx_fn(struct conn *c, struct ctx *cx, void *io);
int sq_writer_start(struct ctx *cx, struct store_sqlite *s) WARN_UNUSED;
void sq_writer_stop(struct store_sqlite *s); /* runs what is queued first */
/* Hands `run` to the writer and waits. 0: it answered 0 and is durable. */
int sq_write(struct store_sqlite *s, struct ctx *cx, tx_fn *run, void *io) WARN_UNUSED;

/* store_sqlite_wal.c */
int sq_folder_start(struct ctx *cx, struct store_sqlite *s) WARN_UNUSED;
void sq_folder_stop(struct store_sqlite *s);
void sq_wal_watch(struct store_sqlite *s);        /* makes the writer's commits wake the folder */
void sq_wal_fold_between(struct store_sqlite *s); /* on the writer thread, outside a transaction */
void sq_wal_fold_last(struct store_sqlite *s);    /* on close, when nobody reads any more */

/* store_sqlite_migrate.c */
struct migration {
    int version; /* that the text leaves in PRAGMA user_version */
    const char *sql;
};
extern const struct migration sq_migrations[];
extern const size_t sq_migrations_n;
/* Brings the database up to the last of the `n` migrations, which are sorted. */
int sq_migrate(struct ctx *cx, struct conn *c, const char *path, const struct migration *m,
               size_t n) WARN_UNUSED;

/* Threads of the store leave all signals to others. */
int sq_thread(pthread_t *ret, const char *name, void *(*fn)(void *), void *arg);

/* --- shared by operations --------------------------------------------------------------------- */

int sq_audit_write(struct conn *c, struct ctx *cx, const struct audit *au); /* in a transaction */
/* Opens an intent of no branch with args {"dir":dir} (store_sqlite_intent.c). */
int sq_intent_of_dir(struct conn *c, struct ctx *cx, const struct intent_row *in, str dir,
                     int64_t *ret_id);
int sq_intents_read(struct ctx *cx, struct conn *c, sqlite3_stmt *st, struct intent_row **ret,
                    size_t *ret_n);
#define INTENT_COLS "id, kind, table_id, branch, warehouse_id, epoch, created_ms, args_json"
struct intent_row sq_intent_cols(struct cols *c); /* INTENT_COLS */

/* A branch as a transaction sees it (store_sqlite_branch.c). */
struct branch_at {
    int64_t rid, epoch, head_id;
};
int sq_branch_find(struct conn *c, struct ctx *cx, str table_id, str branch,
                   struct branch_at *ret) WARN_UNUSED; /* E_NOTFOUND: the table or the branch */
int sq_branch_expect(struct ctx *cx, const struct branch_at *at, str branch, int64_t epoch,
                     int64_t head_id) WARN_UNUSED; /* E_RACE */
int sq_branch_set_head(struct conn *c, struct ctx *cx, int64_t rid,
                       const struct head_row *h) WARN_UNUSED;
int sq_branch_set_schema(struct conn *c, struct ctx *cx, int64_t rid,
                         const struct schema_set *s) WARN_UNUSED; /* its id and text */
int sq_branch_add(struct conn *c, struct ctx *cx, int64_t table_rid, str name,
                  int64_t *ret_rid) WARN_UNUSED; /* without head and schema */
/* E_EXISTS when a branch of this table has the name, or an open intent holds it. */
int sq_branch_name_free(struct conn *c, struct ctx *cx, str table_id, str name) WARN_UNUSED;
/* Takes the open intent `id` of the branch away. E_NOTFOUND: there is none, or no branch. */
int sq_intent_end(struct conn *c, struct ctx *cx, int64_t id, str table_id, str branch,
                  struct branch_at *ret) WARN_UNUSED;
/* What a change of a branch's schema changes in the table's own row. */
int sq_table_altered(struct conn *c, struct ctx *cx, str id, str branch,
                     const struct schema_set *to) WARN_UNUSED;

/* What becomes of the totals of partitions (store_sqlite_partition.c), inside a transaction: after a
 * commit; after the branch went back to `upto_id`; when its history became another. */
int sq_partitions_commit(struct conn *c, struct ctx *cx, int64_t rid, int64_t old_head,
                         const struct store_commit_in *in) WARN_UNUSED;
int sq_partitions_cut(struct conn *c, struct ctx *cx, int64_t rid, int64_t upto_id) WARN_UNUSED;
int sq_partitions_lose(struct conn *c, struct ctx *cx, int64_t rid) WARN_UNUSED;

/* What prune does to conflict lists (store_sqlite_conflict.c): the look-out, on the caller's thread; then,
 * in the transaction, at most *left rows of what it found, and of a branch that is gone. */
#define CONFLICT_CUTS_MAX 64 /* branches in one call */
struct conflict_plan {
    int64_t before_ms;
    bool old;  /* there is one before that */
    bool more; /* than there was room for */
    size_t n;
    struct {
        int64_t branch_rid, upto_id;
    } cuts[CONFLICT_CUTS_MAX];
};
int sq_conflicts_plan(struct conn *c, struct ctx *cx, const struct store_prune_in *in,
                      struct conflict_plan *ret) WARN_UNUSED;
int sq_conflicts_prune(struct conn *c, struct ctx *cx, const struct conflict_plan *p,
                       int64_t *left) WARN_UNUSED;
int sq_conflicts_sweep(struct conn *c, struct ctx *cx, int64_t rid, int64_t *left) WARN_UNUSED;

/* Where a listing starts and ends in the order of names, see store_sqlite_db.c. */
struct name_range {
    str from;      /* inclusive */
    struct arg to; /* exclusive */
    int64_t limit;
};
int sq_name_range(struct ctx *cx, const struct store_list_in *in, struct name_range *ret);
/* The names that match and are behind `after` (from the start if that is empty). 1: there can be
 * some. No limit is set. */
int sq_match_range(struct ctx *cx, const struct name_match *m, str after, struct name_range *ret);
int sq_names_read(struct ctx *cx, struct conn *c, sqlite3_stmt *st, str **ret, size_t *ret_n);

/* The operations, for the table in store_sqlite.c. */
int sq_ping(struct store *st, struct ctx *cx);
int sq_bootstrap(struct store *st, struct ctx *cx, const struct store_bootstrap_in *in);
int sq_is_empty(struct store *st, struct ctx *cx, bool *ret);
int sq_warehouses(struct store *st, struct ctx *cx, struct warehouse_row **ret, size_t *ret_n);
int sq_token_find(struct store *st, struct ctx *cx, const uint8_t hash[32],
                  struct principal_row *ret);
int sq_audit_add(struct store *st, struct ctx *cx, const struct audit *au);
int sq_prune(struct store *st, struct ctx *cx, const struct store_prune_in *in, bool *ret_more);
int sq_db_create(struct store *st, struct ctx *cx, const struct db_row *in, const struct audit *au);
int sq_db_get(struct store *st, struct ctx *cx, int64_t warehouse_id, str name, struct db_row *ret);
int sq_db_list(struct store *st, struct ctx *cx, int64_t warehouse_id,
               const struct store_list_in *in, str **ret, size_t *ret_n);
int sq_db_alter(struct store *st, struct ctx *cx, str db_id, str expect_options_json,
                str options_json, int64_t now_ms, str by, const struct audit *au);
int sq_db_drop(struct store *st, struct ctx *cx, str db_id, int64_t now_ms, const struct audit *au,
               struct intent_row **ret, size_t *ret_n);
int sq_table_claim(struct store *st, struct ctx *cx, int64_t warehouse_id, str base, int64_t now_ms,
                   str *ret_dir, int64_t *ret_intent);
int sq_table_create(struct store *st, struct ctx *cx, const struct table_row *in, int64_t intent_id,
                    const struct head_row *head, const struct audit *au);
int sq_table_place(struct store *st, struct ctx *cx, const struct table_row *in);
int sq_table_get(struct store *st, struct ctx *cx, int64_t warehouse_id, str db, str name,
                 struct table_row *ret);
int sq_table_by_id(struct store *st, struct ctx *cx, int64_t warehouse_id, str id,
                   struct table_row *ret);
int sq_table_rename(struct store *st, struct ctx *cx, const struct table_named *t,
                    int64_t warehouse_id, str to_db, str to_name, int64_t now_ms, str by,
                    const struct audit *au);
int sq_table_alter(struct store *st, struct ctx *cx, str id, str branch, int64_t expect_schema_id,
                   const struct schema_set *to, const struct audit *au);
int sq_table_drop(struct store *st, struct ctx *cx, const struct table_named *t, int64_t now_ms,
                  const struct audit *au, struct intent_row *ret);
int sq_find(struct store *st, struct ctx *cx, const struct store_find_in *in,
            struct name_pair **ret, size_t *ret_n);
int sq_object_create(struct store *st, struct ctx *cx, const struct object_row *in,
                     const struct audit *au);
int sq_object_get(struct store *st, struct ctx *cx, int64_t warehouse_id, enum object_kind kind,
                  str db, str name, struct object_row *ret);
int sq_object_list(struct store *st, struct ctx *cx, const struct store_objects_in *in,
                   struct object_row **ret, size_t *ret_n);
int sq_object_alter(struct store *st, struct ctx *cx, enum object_kind kind, str id,
                    str expect_json, str json, int64_t now_ms, str by, const struct audit *au);
int sq_object_rename(struct store *st, struct ctx *cx, const struct store_object_rename_in *in,
                     const struct audit *au);
int sq_object_drop(struct store *st, struct ctx *cx, int64_t warehouse_id, enum object_kind kind,
                   str db, str name, const struct audit *au);
int sq_branch_get(struct store *st, struct ctx *cx, str table_id, str branch,
                  struct branch_row *ret);
int sq_commit_record(struct store *st, struct ctx *cx, const struct store_commit_in *in);
int sq_outcome_find(struct store *st, struct ctx *cx, str table_id, str branch,
                    const uint8_t key[OUTCOME_KEY_LEN], struct outcome *ret);
int sq_outcome_of(struct store *st, struct ctx *cx, str table_id, str branch, int64_t snapshot_id,
                  struct outcome *ret);
int sq_intent_begin(struct store *st, struct ctx *cx, const struct store_intent_in *in,
                    int64_t *ret_id, int64_t *ret_epoch);
int sq_intent_finish(struct store *st, struct ctx *cx, int64_t id);
int sq_history_finish(struct store *st, struct ctx *cx, const struct store_history_in *in);
int sq_branch_begin(struct store *st, struct ctx *cx, const struct intent_row *row,
                    const struct audit *au, int64_t *ret_id);
int sq_branch_made(struct store *st, struct ctx *cx, const struct store_branch_in *in,
                   const struct head_row *head, const struct schema_set *schema);
int sq_branch_drop(struct store *st, struct ctx *cx, const struct store_branch_in *in);
int sq_branch_rename(struct store *st, struct ctx *cx, const struct store_branch_in *in, str to);
int sq_intents_open(struct store *st, struct ctx *cx, struct intent_row **ret, size_t *ret_n);
int sq_partitions_fold(struct store *st, struct ctx *cx, str table_id, str branch, int64_t keep,
                       int64_t rows_max, enum partitions_are *ret);
int sq_partitions_set(struct store *st, struct ctx *cx, const struct store_partitions_set *in);
int sq_partitions_list(struct store *st, struct ctx *cx, const struct store_partitions_in *in,
                       struct partition_row **ret, size_t *ret_n);
int sq_partitions_find(struct store *st, struct ctx *cx, str table_id, str branch, const str *keys,
                       size_t n, struct partition_row **ret, size_t *ret_n);
int sq_partitions_create(struct store *st, struct ctx *cx, const struct store_partitions_change *in,
                         bool strict, const struct partition_delta *stats, size_t n_stats,
                         bool replace, bool *ret_there);
int sq_partitions_drop(struct store *st, struct ctx *cx, const struct store_partitions_change *in,
                       bool strict, bool *ret_there);
int sq_partitions_mark(struct store *st, struct ctx *cx, const struct store_partitions_change *in);
int sq_partitions_tidy(struct store *st, struct ctx *cx, int64_t keep, int64_t rows_max,
                       bool *ret_more);
int sq_conflict_note(struct store *st, struct ctx *cx, const struct store_conflict_in *in);
int sq_conflict_list(struct store *st, struct ctx *cx, const struct store_conflicts_in *in,
                     struct conflict_row **ret, size_t *ret_n);
int sq_conflict_get(struct store *st, struct ctx *cx, str table_id, str branch, int64_t id,
                    struct conflict_row *ret);

#endif
