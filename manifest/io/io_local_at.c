/* io_local_at.c - how io_local touches the file system: open, temporary files, sync, errno.
 *
 * Rules: every open goes through openat2 below a descriptor with RESOLVE_BENEATH | NO_SYMLINKS |
 * NO_MAGICLINKS; an operation on a name holds the directory open and names the last part only. So
 * a client that can write to the warehouse cannot lead us out of it, whatever it does meanwhile.
 * Files and directories are made private (0600, 0700), then get their group and mode, regardless
 * of the umask: nobody sees them with more rights than they end up with.
 *
 * Temporary files are called ".<name>.<uuid>.tmp", which is what Paimon's own clients use and
 * leave out of listings. One that a crash left is swept by whoever looks after the table.
 *
 * Threads: any; nothing here has state. */
#include "manifest/io/io_local_int.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

#include "proto/base/assert.h"
#include "proto/base/inject.h"
#include "proto/base/rand.h"

#define OPEN_TRIES 32 /* EAGAIN: something was renamed while the kernel walked */

static const struct {
    int sys, code;
    const char *advice;
} errnos[] = {
    {ENOENT, E_NOTFOUND, "it or a directory above it does not exist"},
    {ENOTDIR, E_NOTFOUND, "a part of the path is a file, not a directory"},
    {EEXIST, E_EXISTS, "something with that name is there already"},
    {ENOTEMPTY, E_IO, "somebody keeps creating files in it; stop them and try again"},
    {ELOOP, E_INVAL, "symbolic links below the warehouse root are refused; use the real path"},
    {EXDEV, E_INVAL, "the path leaves the warehouse root or its file system"},
    {ENAMETOOLONG, E_INVAL, "a name in it is too long for this file system"},
    {EINVAL, E_INVAL, "the file system refuses such a name"},
    {EISDIR, E_CORRUPT, "a directory stands where a file should be; move it away"},
    {ENOSPC, E_BUSY, "the disk is full; free some space and try again"},
    {EDQUOT, E_BUSY, "the disk quota is used up; free some space and try again"},
    {EMFILE, E_BUSY, "too many open files; raise the limit of open files (ulimit -n)"},
    {ENFILE, E_BUSY, "the system has too many open files; try again later"},
    {ENOMEM, E_NOMEM, "out of memory"},
    {EROFS, E_IO, "the file system is mounted read-only; mount it read-write"},
};

int iol_fail_at(struct ctx *cx, const char *file, int line, const char *what, str path)
{
    int sys = errno;
    path = path.len ? path : STR_LIT(".");
    if (sys == EACCES || sys == EPERM)
        return ctx_fail_errno_at(cx, file, line, E_IO,
                                 "cannot %s \"%.*s\": uid %u, gid %u needs rwx on the directory "
                                 "and rw on the file",
                                 what, STR(path), geteuid(), getegid());
    for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
        if (errnos[i].sys == sys)
            return ctx_fail_errno_at(cx, file, line, errnos[i].code, "cannot %s \"%.*s\": %s", what,
                                     STR(path), errnos[i].advice);
    return ctx_fail_errno_at(cx, file, line, E_IO, "cannot %s \"%.*s\"", what, STR(path));
}

void iol_close(int *fd)
{
    int sys = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = sys;
}

/* --- open ------------------------------------------------------------------------------------- */

int iol_open(int dir, const char *rel, uint64_t flags)
{
    struct open_how how = {
        .flags = flags | O_CLOEXEC,
        .mode = flags & O_CREAT ? 0600 : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    for (int i = 0;; i++) {
        long fd = syscall(SYS_openat2, dir, rel, &how, sizeof(how));
        if (fd >= 0 || (errno != EINTR && (errno != EAGAIN || i >= OPEN_TRIES)))
            return (int)fd;
    }
}

int iol_open_path(const struct io_local *l, str path, uint64_t flags)
{
    ASSERT(path.len < PATH_MAX);
    if (path.len == 0)
        return iol_open(l->root, ".", flags);
    char rel[PATH_MAX];
    memcpy(rel, path.p, path.len);
    rel[path.len] = 0;
    return iol_open(l->root, rel, flags);
}

static size_t last_part(str path)
{
    const char *slash = path.len ? memrchr(path.p, '/', path.len) : NULL;
    return slash ? (size_t)(slash - path.p) + 1 : 0;
}

str iol_parent(str path)
{
    size_t at = last_part(path);
    return str_n(path.p, at ? at - 1 : 0);
}

void iol_name(str path, char ret[PATH_COMPONENT_MAX + 1])
{
    str name = str_cut(path, last_part(path));
    ASSERT(path_component_ok(name));
    memcpy(ret, name.p, name.len);
    ret[name.len] = 0;
}

int iol_place_find(const struct io_local *l, str path, struct iol_place *ret)
{
    iol_name(path, ret->name);
    int dir = iol_open_path(l, iol_parent(path), O_RDONLY | O_DIRECTORY);
    if (dir < 0)
        return -1;
    ret->dir = dir;
    return 0;
}

int iol_place_open(const struct io_local *l, struct ctx *cx, const char *what, str path,
                   struct iol_place *ret)
{
    TRY(io_path_check(cx, path));
    if (path.len == 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "cannot %s the warehouse root itself; name something below it", what);
    return iol_place_find(l, path, ret) < 0 ? iol_fail(cx, what, path) : 0;
}

void iol_place_done(struct iol_place *at)
{
    iol_close(&at->dir);
}

/* --- sync ------------------------------------------------------------------------------------- */

static bool sync_refused(void)
{
    if (!INJECT(IO_FSYNC))
        return false;
    errno = EIO;
    return true;
}

int iol_sync_file(int fd)
{
    return sync_refused() ? -1 : RETRY(fsync(fd));
}

/* EINVAL: a file system (CIFS) that has no such call for directories; it does what it can. */
static int where_it_exists(int rc)
{
    return rc < 0 && errno == EINVAL ? 0 : rc;
}

int iol_sync_data(int fd)
{
    return sync_refused() ? -1 : where_it_exists(RETRY(fdatasync(fd)));
}

int iol_sync_dir(int fd)
{
    return where_it_exists(iol_sync_file(fd));
}

/* --- files and directories of ours ------------------------------------------------------------ */

int iol_own_mode(const struct io_local *l, int fd, mode_t mode)
{
    /* The group first: changing it may clear the set-group-ID bit. */
    if (l->gid != GID_NONE && RETRY(fchown(fd, (uid_t)-1, l->gid)) < 0)
        return -1;
    return RETRY(fchmod(fd, mode));
}

static int sync_entry(int dir)
{
    CLEANUP(iol_close) int parent = iol_open(dir, ".", O_RDONLY | O_DIRECTORY);
    return parent < 0 ? -1 : iol_sync_dir(parent);
}

static int finish_dir(const struct io_local *l, int dir, const char *name)
{
    CLEANUP(iol_close) int fd = iol_open(dir, name, O_RDONLY | O_DIRECTORY);
    if (fd < 0 || iol_own_mode(l, fd, l->dir_mode) < 0)
        return -1;
    return sync_entry(dir);
}

int iol_make_dir(const struct io_local *l, int dir, const char *name)
{
    if (RETRY(mkdirat(dir, name, 0700)) < 0)
        return errno == EEXIST ? sync_entry(dir) : -1; /* whoever made it may not have synced it */
    if (finish_dir(l, dir, name) == 0)
        return 1;
    int sys = errno;
    unlinkat(dir, name, AT_REMOVEDIR);
    errno = sys;
    return -1;
}

void iol_temp_name(const char *name, char ret[PATH_COMPONENT_MAX + 1])
{
    char uuid[UUID_LEN + 1];
    rand_uuid(uuid);
    size_t len = strlen(name), max = PATH_COMPONENT_MAX - UUID_LEN - 6; /* ".", "." and ".tmp" */
    if (len > max)
        for (len = max; len > 0 && ((unsigned char)name[len] & 0xC0) == 0x80;)
            len--; /* some file systems insist on whole UTF-8 characters */
    int n = snprintf(ret, PATH_COMPONENT_MAX + 1, ".%.*s.%s.tmp", (int)len, name, uuid);
    ASSERT(n > 0 && n <= PATH_COMPONENT_MAX);
}

int iol_write_all(int fd, str data)
{
    while (data.len) {
        if (INJECT(IO_WRITE)) {
            errno = ENOSPC;
            return -1;
        }
        ssize_t n = RETRY(write(fd, data.p, data.len));
        if (n < 0)
            return -1;
        data = str_cut(data, (size_t)n);
    }
    return 0;
}

int iol_temp_new(const struct io_local *l, struct ctx *cx, const struct iol_place *at, str path,
                 str data, struct iol_temp *ret)
{
    char name[PATH_COMPONENT_MAX + 1];
    iol_temp_name(at->name, name);
    int fd = iol_open(at->dir, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW);
    if (fd < 0)
        return iol_fail(cx, "create a file for", path);
    *ret = (struct iol_temp){.dir = at->dir, .fd = fd};
    memcpy(ret->name, name, sizeof(name));
    if (iol_own_mode(l, fd, l->file_mode) < 0)
        return iol_fail(cx, "set group and mode of", path);
    return iol_write_all(fd, data) < 0 ? iol_fail(cx, "write", path) : 0;
}

void iol_temp_done(struct iol_temp *t)
{
    int sys = errno;
    if (t->name[0])
        unlinkat(t->dir, t->name, 0);
    t->name[0] = 0;
    errno = sys;
    iol_close(&t->fd);
}

/* --- directories that are read ---------------------------------------------------------------- */

DIR *iol_dir(int fd)
{
    if (fd < 0)
        return NULL;
    DIR *d = fdopendir(fd);
    if (!d)
        iol_close(&fd);
    return d;
}

void iol_dir_close(DIR **d)
{
    int sys = errno;
    if (*d)
        closedir(*d);
    *d = NULL;
    errno = sys;
}

struct dirent *iol_dir_next(DIR *d)
{
    for (;;) {
        errno = 0;
        struct dirent *e = readdir(d);
        if (!e && errno == EINTR)
            continue;
        if (!e || (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0))
            return e;
    }
}
