/* store_sqlite_migrate.c - from the version of the schema that is there to the one we need.
 *
 * PRAGMA user_version counts the migrations a database has had; each migration text sets it at its
 * end. All that are missing run in one transaction: the database has the old schema or the new one.
 * Before that the old one is copied to <path>.bak-<version>, whole or not at all (VACUUM INTO a
 * temporary name, fsync, rename), so that going back to the older Latch is putting that file back.
 * A new database (version 0, nothing in it) needs no copy.
 *
 * Foreign keys are off meanwhile, since a migration may have to rebuild a table, and are checked as
 * a whole before the COMMIT.
 *
 * Thread rule: on the opener's thread, before the writer starts. */
#include "catalog/store/store_sqlite_int.h"

#include <fcntl.h>
#include <unistd.h>

#include "proto/base/buf.h"

/* migrations.S */
extern const char store_migration_0001[], store_migration_0002[], store_migration_0003[],
    store_migration_0004[], store_migration_0005[];

const struct migration sq_migrations[] = {
    {1, store_migration_0001}, {2, store_migration_0002}, {3, store_migration_0003},
    {4, store_migration_0004}, {5, store_migration_0005},
};
const size_t sq_migrations_n = sizeof(sq_migrations) / sizeof(sq_migrations[0]);

static const char SQL_VERSION[] = "PRAGMA user_version";
static const char SQL_APP_ID[] = "PRAGMA application_id";
static const char SQL_OBJECTS[] = "SELECT count(*) FROM sqlite_schema";
static const char SQL_BROKEN_KEYS[] = "SELECT count(*) FROM pragma_foreign_key_check";
static const char SQL_BACKUP[] = "VACUUM INTO ?1";

static void fd_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* An empty file that only we can read: SQLite would make it 0644. */
static int file_make(struct ctx *cx, const char *path)
{
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return fd < 0 ? ctx_fail_errno(cx, E_IO, "cannot write %s", path) : 0;
}

static int file_sync(struct ctx *cx, const char *path, int flags)
{
    CLEANUP(fd_close) int fd = open(path, flags | O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        return ctx_fail_errno(cx, E_IO, "cannot sync %s", path);
    return 0;
}

static int dir_sync(struct ctx *cx, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return file_sync(cx, ".", O_DIRECTORY);
    char *dir = str_dupz(&cx->arena, str_n(path, slash == path ? 1 : (size_t)(slash - path)));
    return dir ? file_sync(cx, dir, O_DIRECTORY) : ctx_nomem(cx);
}

static int backup_to(struct ctx *cx, struct conn *c, const char *tmp, const char *bak)
{
    TRY(file_make(cx, tmp));
    TRY(SQL_RUN(cx, c, SQL_BACKUP, NULL, AT(str_of(tmp))));
    TRY(file_sync(cx, tmp, 0));
    if (rename(tmp, bak) < 0)
        return ctx_fail_errno(cx, E_IO, "cannot rename %s to %s", tmp, bak);
    return dir_sync(cx, bak);
}

static int backup(struct ctx *cx, struct conn *c, const char *path, int64_t version)
{
    CLEANUP(buf_done) struct buf bak = {0};
    CLEANUP(buf_done) struct buf tmp = {0};
    buf_addf(&bak, "%s.bak-%lld", path, (long long)version);
    buf_addf(&tmp, "%s.bak-%lld.tmp", path, (long long)version);
    const char *to = buf_z(&bak), *by = buf_z(&tmp);
    if (!to || !by)
        return ctx_nomem(cx);
    int rc = backup_to(cx, c, by, to);
    if (rc < 0) {
        unlink(by);
        return ctx_prefix(cx, "the store needs a newer schema and could not be copied first");
    }
    return 0;
}

static int step(struct ctx *cx, struct conn *c, const struct migration *m)
{
    int64_t now = 0;
    TRY(sq_exec(cx, c, m->sql));
    TRY(SQL_I64(cx, c, SQL_VERSION, &now));
    ASSERT(now == m->version);
    return 0;
}

static int all_steps(struct ctx *cx, struct conn *c, const struct migration *m, size_t n,
                     int64_t from)
{
    TRY(sq_exec(cx, c, "BEGIN IMMEDIATE"));
    for (size_t i = 0; i < n; i++)
        if (m[i].version > from)
            TRY(step(cx, c, &m[i]));
    int64_t broken = 0;
    TRY(SQL_I64(cx, c, SQL_BROKEN_KEYS, &broken));
    if (broken)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "%lld rows of the store refer to rows that are not there",
                        (long long)broken);
    return sq_exec(cx, c, "COMMIT");
}

/* Is it ours, and not newer than we are? */
static int check(struct ctx *cx, struct conn *c, const char *path, int newest, int64_t *ret_version)
{
    int64_t version = 0, app = 0, objects = 0;
    TRY(SQL_I64(cx, c, SQL_VERSION, &version));
    TRY(SQL_I64(cx, c, SQL_APP_ID, &app));
    TRY(SQL_I64(cx, c, SQL_OBJECTS, &objects));
    if (app != STORE_APP_ID && (app || version || objects))
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "%s is a database of another program; name another data directory", path);
    if (version > newest)
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "%s was written by a newer Latch (schema version %lld, this one knows "
                        "versions up to %d); start that Latch again, or put the backup "
                        "%s.bak-%d back",
                        path, (long long)version, newest, path, newest);
    *ret_version = version;
    return 0;
}

int sq_migrate(struct ctx *cx, struct conn *c, const char *path, const struct migration *m,
               size_t n)
{
    int64_t version = 0;
    ASSERT(n > 0);
    TRY(check(cx, c, path, m[n - 1].version, &version));
    if (version == m[n - 1].version)
        return 0;
    if (version > 0)
        TRY(backup(cx, c, path, version));
    TRY(sq_exec(cx, c, "PRAGMA foreign_keys = OFF"));
    int rc = all_steps(cx, c, m, n, version);
    if (rc < 0 && !sqlite3_get_autocommit(c->db))
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
    return rc < 0 ? ctx_prefix(cx, "migrating the store from version %lld", (long long)version) : 0;
}
