/* datadir.c - the data directory and who may use it.
 *
 * The directory is 0711: clients of other users walk through it to the default warehouse, and see
 * nothing else. Everything in it is made with umask 077 (0600, 0700); the warehouse sets its modes
 * itself.
 *
 * The lock is flock(2) on latch.lock, which the kernel drops when the process ends, however it
 * ends. The file holds the pid for people; it is never removed, because a second daemon may have it
 * open.
 *
 * Threads: main, at start and end. */
#include "server/datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/buf.h"
#include "proto/base/log.h"

/* Like mkdir -p. *ret_made: the last one was missing. */
static int make_dirs(struct ctx *cx, str path, bool *ret_made)
{
    char *z = str_dupz(&cx->arena, path);
    if (!z)
        return ctx_nomem(cx);
    *ret_made = false;
    for (char *p = z + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        if (mkdir(z, 0755) < 0 && errno != EEXIST)
            return ctx_fail_errno(cx, E_IO, "cannot make the directory %s (setting data-dir)", z);
        *p = '/';
    }
    if (mkdir(z, 0711) == 0)
        *ret_made = true;
    else if (errno != EEXIST)
        return ctx_fail_errno(cx, E_IO, "cannot make the directory %s (setting data-dir)", z);
    return 0;
}

static int check_mode(struct ctx *cx, const struct datadir *d, bool made)
{
    struct stat st;
    if (made && fchmod(d->dir_fd, 0711) < 0)
        return ctx_fail_errno(cx, E_IO, "cannot set the mode of %.*s", STR(d->path));
    if (fstat(d->dir_fd, &st) < 0)
        return ctx_fail_errno(cx, E_IO, "cannot stat %.*s", STR(d->path));
    if (st.st_mode & 022)
        log_warn("datadir", "datadir.writable_by_others", LS("path", d->path),
                 LZ("msg", "others may replace the store; chmod it to 0711"));
    return 0;
}

static int locked(struct ctx *cx, const struct datadir *d)
{
    char pid[32];
    ssize_t n = pread(d->lock_fd, pid, sizeof(pid), 0);
    str text = str_trim(str_n(pid, n < 0 ? 0 : (size_t)n));
    return ctx_fail(cx, E_BUSY, RES_NONE, STR_NONE,
                    "the data directory %.*s is in use by the process %.*s; stop that one, or give "
                    "this one its own --data-dir",
                    STR(d->path), STR(text));
}

static int lock(struct ctx *cx, struct datadir *d)
{
    d->lock_fd = openat(d->dir_fd, "latch.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (d->lock_fd < 0)
        return ctx_fail_errno(cx, E_IO, "cannot open %.*s/latch.lock", STR(d->path));
    if (flock(d->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return locked(cx, d);
        return ctx_fail_errno(cx, E_IO, "cannot lock %.*s/latch.lock", STR(d->path));
    }
    char pid[32];
    int n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    if (ftruncate(d->lock_fd, 0) < 0 || pwrite(d->lock_fd, pid, (size_t)n, 0) != n)
        return ctx_fail_errno(cx, E_IO, "cannot write %.*s/latch.lock", STR(d->path));
    return 0;
}

static int open_dir(struct ctx *cx, str path, struct datadir *d)
{
    bool made = false;
    char real[PATH_MAX];
    TRY(make_dirs(cx, path, &made));
    if (!realpath(str_dupz(&cx->arena, path), real))
        return ctx_fail_errno(cx, E_IO, "cannot resolve %.*s (setting data-dir)", STR(path));
    d->path = str_dup(&cx->arena, str_of(real));
    if (!d->path.p)
        return ctx_nomem(cx);
    d->dir_fd = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->dir_fd < 0)
        return ctx_fail_errno(cx, E_IO, "cannot open %s (setting data-dir)", real);
    TRY(check_mode(cx, d, made));
    umask(077);
    return lock(cx, d);
}

int datadir_open(struct ctx *cx, str path, struct datadir *ret)
{
    struct datadir d = {.dir_fd = -1, .lock_fd = -1};
    int rc = open_dir(cx, path, &d);
    if (rc < 0) {
        datadir_close(&d);
        return rc;
    }
    *ret = d;
    return 0;
}

void datadir_close(struct datadir *d)
{
    if (d->lock_fd >= 0)
        close(d->lock_fd);
    if (d->dir_fd >= 0)
        close(d->dir_fd);
    d->lock_fd = d->dir_fd = -1;
}

int datadir_path(struct ctx *cx, const struct datadir *d, const char *name, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    buf_addf(&b, "%.*s/%s", STR(d->path), name);
    *ret = str_dup(&cx->arena, buf_str(&b));
    return buf_fail(&b) < 0 || !ret->p ? ctx_nomem(cx) : 0;
}

/* --- files ------------------------------------------------------------------------------------ */

static int write_all(struct ctx *cx, const char *path, str data, unsigned mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0)
        return ctx_fail_errno(cx, E_IO, "cannot create %s", path);
    bool ok = fchmod(fd, mode) == 0;
    for (size_t at = 0; ok && at < data.len;) {
        ssize_t n = write(fd, data.p + at, data.len - at);
        ok = n > 0 || (n < 0 && errno == EINTR);
        at += n > 0 ? (size_t)n : 0;
    }
    ok = ok && fsync(fd) == 0;
    int rc = ok ? 0 : ctx_fail_errno(cx, E_IO, "cannot write %s", path);
    close(fd);
    return rc;
}

static int sync_parent(struct ctx *cx, str path)
{
    char *copy = str_dupz(&cx->arena, path);
    if (!copy)
        return ctx_nomem(cx);
    const char *dir = dirname(copy);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd >= 0 && fsync(fd) == 0 ? 0 : ctx_fail_errno(cx, E_IO, "cannot sync %s", dir);
    if (fd >= 0)
        close(fd);
    return rc;
}

int file_replace(struct ctx *cx, str path, str data, unsigned mode)
{
    CLEANUP(buf_done) struct buf tmp = {0};
    buf_addf(&tmp, "%.*s.%ld.tmp", STR(path), (long)getpid());
    const char *from = buf_z(&tmp), *to = str_dupz(&cx->arena, path);
    if (!from || !to)
        return ctx_nomem(cx);
    int rc = write_all(cx, from, data, mode);
    if (rc == 0 && rename(from, to) < 0)
        rc = ctx_fail_errno(cx, E_IO, "cannot rename %s to %s", from, to);
    if (rc < 0) {
        unlink(from);
        return rc;
    }
    return sync_parent(cx, path);
}
