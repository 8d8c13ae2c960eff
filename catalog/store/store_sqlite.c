/* store_sqlite.c - the store in one SQLite file: open and close.
 *
 * The file and what SQLite puts beside it (-wal, -shm) are 0600: it holds hashes of tokens. The
 * order of opening is the order of trust: the file's mode, then whose file it is and its version,
 * and only then is anything written to it. Closing runs backwards: what is queued is committed, the
 * readers go, the WAL is folded in and emptied, so a closed store is one file.
 *
 * One process at a time: the daemon holds its data directory's lock. A shell or backup that opens
 * the file beside it is fine and at worst makes a change wait.
 *
 * Thread rule: store_sqlite_new and free on one thread while no other is in the store. */
#include "catalog/store/store_sqlite_int.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/mem.h"

static void sq_free(struct store *st)
{
    struct store_sqlite *s = sqlite_of(st);
    if (!s)
        return;
    sq_writer_stop(s);
    sq_folder_stop(s);
    sq_readers_done(s);
    if (s->writer.db)
        sq_wal_fold_last(s);
    sq_conn_close(&s->writer);
    if (s->folder_ready) {
        ASSERT(pthread_cond_destroy(&s->folder_cv) == 0);
        ASSERT(pthread_mutex_destroy(&s->folder_mu) == 0);
    }
    if (s->queue_ready) {
        queue_done(&s->queue);
        ASSERT(pthread_mutex_destroy(&s->turn) == 0);
    }
    mem_free(s->path);
    mem_free(s);
}

static void sq_freep(struct store_sqlite **s)
{
    if (*s)
        sq_free(&(*s)->base);
}

static const struct store_ops sqlite_ops = {
    .free = sq_free,
    .ping = sq_ping,
    .bootstrap = sq_bootstrap,
    .is_empty = sq_is_empty,
    .warehouses = sq_warehouses,
    .token_find = sq_token_find,
    .db_create = sq_db_create,
    .db_get = sq_db_get,
    .db_list = sq_db_list,
    .db_alter = sq_db_alter,
    .db_drop = sq_db_drop,
    .table_claim = sq_table_claim,
    .table_create = sq_table_create,
    .table_place = sq_table_place,
    .table_get = sq_table_get,
    .table_by_id = sq_table_by_id,
    .table_rename = sq_table_rename,
    .table_alter = sq_table_alter,
    .table_drop = sq_table_drop,
    .find = sq_find,
    .object_create = sq_object_create,
    .object_get = sq_object_get,
    .object_list = sq_object_list,
    .object_alter = sq_object_alter,
    .object_rename = sq_object_rename,
    .object_drop = sq_object_drop,
    .branch_get = sq_branch_get,
    .commit_record = sq_commit_record,
    .outcome_find = sq_outcome_find,
    .outcome_of = sq_outcome_of,
    .intent_begin = sq_intent_begin,
    .intent_finish = sq_intent_finish,
    .history_finish = sq_history_finish,
    .branch_begin = sq_branch_begin,
    .branch_made = sq_branch_made,
    .branch_drop = sq_branch_drop,
    .branch_rename = sq_branch_rename,
    .intents_open = sq_intents_open,
    .partitions_fold = sq_partitions_fold,
    .partitions_set = sq_partitions_set,
    .partitions_list = sq_partitions_list,
    .partitions_find = sq_partitions_find,
    .partitions_create = sq_partitions_create,
    .partitions_drop = sq_partitions_drop,
    .partitions_mark = sq_partitions_mark,
    .partitions_tidy = sq_partitions_tidy,
    .conflict_note = sq_conflict_note,
    .conflict_list = sq_conflict_list,
    .conflict_get = sq_conflict_get,
    .audit_add = sq_audit_add,
    .prune = sq_prune,
};

/* Before SQLite opens the file: closing a descriptor of it would drop SQLite's locks. */
static int file_mode(struct ctx *cx, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return ctx_fail_errno(cx, E_IO, "cannot open the store's file %s", path);
    int rc = fchmod(fd, 0600) == 0
                 ? 0
                 : ctx_fail_errno(cx, E_IO, "cannot make the store's file %s private", path);
    close(fd);
    return rc;
}

static int wal_on(struct ctx *cx, struct store_sqlite *s)
{
    static const char SQL_WAL[] = "PRAGMA journal_mode = WAL";
    STMT st = NULL;
    TRY(SQL_OPEN(cx, &s->writer, SQL_WAL, &st));
    int row = sq_step(cx, &s->writer, st);
    TRY(row);
    if (row == 0 || !str_eqz(str_of((const char *)sqlite3_column_text(st, 0)), "wal"))
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "the file system of %s has no shared memory for SQLite's WAL; put the "
                        "data directory on a local disk",
                        s->path);
    return 0;
}

/* A failed step is undone by the caller through sq_free, which takes a half-built store. */
static int open_all(struct ctx *cx, struct store_sqlite *s)
{
    TRY(file_mode(cx, s->path));
    TRY(sq_conn_open(cx, &s->writer, s->path, CONN_WRITER));
    TRY(sq_migrate(cx, &s->writer, s->path, sq_migrations, sq_migrations_n));
    TRY(wal_on(cx, s));
    TRY(sq_exec(cx, &s->writer, "PRAGMA foreign_keys = ON"));
    sq_wal_watch(s);
    TRY(sq_readers_init(cx, s));
    TRY(sq_folder_start(cx, s));
    return sq_writer_start(cx, s);
}

int store_sqlite_new(struct ctx *cx, const struct store_sqlite_opts *o, struct store **ret)
{
    ASSERT(o->queue_max > 0 && o->checkpoint_bytes > 0);
    CLEANUP(sq_freep) struct store_sqlite *s = mem_zalloc(sizeof(*s));
    if (!s)
        return ctx_nomem(cx);
    s->base.ops = &sqlite_ops;
    s->path = mem_dup(o->path.p, o->path.len);
    if (!s->path)
        return ctx_nomem(cx);
    s->checkpoint_pages = o->checkpoint_bytes / STORE_PAGE + 1;
    queue_init(&s->queue, o->queue_max);
    ASSERT(pthread_mutex_init(&s->turn, NULL) == 0);
    s->queue_ready = true;
    ASSERT(pthread_mutex_init(&s->folder_mu, NULL) == 0);
    ASSERT(pthread_cond_init(&s->folder_cv, NULL) == 0);
    s->folder_ready = true;
    TRY(open_all(cx, s));
    *ret = &s->base;
    s = NULL;
    return 0;
}

void store_sqlite_counts(struct store *st, struct store_counts *ret)
{
    struct store_sqlite *s = sqlite_of(st);
    ASSERT(st->ops == &sqlite_ops);
    *ret = (struct store_counts){
        .transactions = s->counts.transactions,
        .groups = s->counts.groups,
        .group_max = s->counts.group_max,
        .checkpoints = s->counts.checkpoints,
        .failures = s->counts.failures,
        .queue_waiting = s->waiting,
        .wal_bytes = s->wal_pages * STORE_PAGE,
    };
}
