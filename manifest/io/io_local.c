/* io_local.c - a warehouse root on a local (or mounted) file system: the operations of io.h.
 *
 * Opening, temporary files and syncing are io_local_at.c's, with the rules that keep us below the
 * root; files that are made if absent are io_local_put.c's, removing trees is io_local_tree.c's, the
 * start io_local_new.c's.
 *
 * What is durable when a call returns 0: put_if_absent, write with sync, mkdirs and move. A del or
 * a remove_tree becomes durable with sync() of the directory it was in.
 *
 * Errors after the point of no return (the link, the rename) are E_UNKNOWN; before it nothing
 * happened and the temporary file is removed. Symbolic links below the root are refused, not
 * followed; remove_tree unlinks them.
 *
 * Threads: any. Nothing changes after io_local_new; the file system is the lock. */
#include "manifest/io/io_local_int.h"

#include <sys/statvfs.h>

#include "proto/base/inject.h"
#include "proto/base/mem.h"

#define READ_STEP 4096

static struct io_local *self(struct io *io)
{
    return (struct io_local *)io; /* io is its first member */
}

static void local_free(struct io *io)
{
    iol_close(&self(io)->root);
    mem_free(io);
}

static int wrong_kind(struct ctx *cx, str path, const char *should)
{
    return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                    "\"%.*s\" is not %s; move what is there away", STR(path), should);
}

/* The last part of a path is not looked at by the calls that take a name. */
static int refuse_link(struct ctx *cx, const char *what, str path, const struct iol_place *at)
{
    struct stat st;
    if (fstatat(at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(st.st_mode))
        return 0;
    errno = ELOOP;
    return iol_fail(cx, what, path);
}

/* --- read ------------------------------------------------------------------------------------- */

static int too_big(struct ctx *cx, str path, size_t max)
{
    return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                    "\"%.*s\" is larger than %zu bytes, which is the most that is read", STR(path),
                    max);
}

static int buf_error(struct ctx *cx, str path, const struct buf *b)
{
    return buf_fail(b) == E_NOMEM ? ctx_nomem(cx) : too_big(cx, path, b->max);
}

/* What fstat told, or less if the file shrank. */
static int read_known(struct ctx *cx, str path, int fd, size_t size, struct buf *out)
{
    if (buf_reserve(out, size) < 0)
        return buf_error(cx, path, out);
    while (size) {
        ssize_t n = RETRY(read(fd, out->p + out->len, size));
        if (n < 0)
            return iol_fail(cx, "read", path);
        if (n == 0)
            return 0;
        out->len += (size_t)n;
        size -= (size_t)n;
    }
    return 0;
}

/* What was added since; `room` bytes may still come. */
static int read_grown(struct ctx *cx, str path, int fd, size_t room, size_t max, struct buf *out)
{
    for (;;) {
        char more[READ_STEP];
        ssize_t n = RETRY(read(fd, more, sizeof(more)));
        if (n < 0)
            return iol_fail(cx, "read", path);
        if (n == 0)
            return 0;
        if ((size_t)n > room)
            return too_big(cx, path, max);
        room -= (size_t)n;
        buf_add(out, more, (size_t)n);
        if (buf_fail(out))
            return buf_error(cx, path, out);
    }
}

static int read_fd(struct ctx *cx, str path, int fd, size_t max, struct buf *out)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return iol_fail(cx, "read", path);
    if (!S_ISREG(st.st_mode))
        return wrong_kind(cx, path, "a regular file");
    if ((uint64_t)st.st_size > max)
        return too_big(cx, path, max);
    size_t start = out->len;
    TRY(read_known(cx, path, fd, (size_t)st.st_size, out));
    return read_grown(cx, path, fd, max - (out->len - start), max, out);
}

static int local_read(struct io *io, struct ctx *cx, str path, size_t max_bytes, struct buf *ret)
{
    TRY(io_path_check(cx, path));
    /* O_NONBLOCK: a FIFO with that name must not hang us. */
    CLEANUP(iol_close) int fd = iol_open_path(self(io), path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return iol_fail(cx, "read", path);
    size_t len = ret->len;
    int rc = read_fd(cx, path, fd, max_bytes, ret);
    if (rc < 0)
        ret->len = len;
    return rc;
}

/* --- write ------------------------------------------------------------------------------------ */

static int local_write(struct io *io, struct ctx *cx, str path, str data, bool sync)
{
    CLEANUP(iol_place_done) struct iol_place at = {.dir = -1};
    TRY(iol_place_open(self(io), cx, "write", path, &at));
    TRY(refuse_link(cx, "write", path, &at));
    CLEANUP(iol_temp_done) struct iol_temp t = {.fd = -1};
    TRY(iol_temp_new(self(io), cx, &at, path, data, &t));
    if (sync && iol_sync_file(t.fd) < 0)
        return iol_fail(cx, "sync", path);
    int fd = t.fd;
    t.fd = -1;
    if (close(fd) < 0 && errno != EINTR) /* NFS tells here that a write failed */
        return iol_fail(cx, "write", path);
    if (RETRY(renameat(at.dir, t.name, at.dir, at.name)) < 0)
        return iol_fail(cx, "replace", path);
    t.name[0] = 0;
    return sync && iol_sync_dir(at.dir) < 0 ? iol_unknown(cx, path) : 0;
}

/* Replacing by rename costs as much as all the rest of a commit (ext4 allocates and flushes the new
 * file); a dozen bytes written over a dozen bytes cost nothing. What cannot be written over (it is not
 * there, or somebody else's) is replaced. */
static int local_hint(struct io *io, struct ctx *cx, str path, str data)
{
    TRY(io_path_check(cx, path));
    CLEANUP(iol_close) int fd = iol_open_path(self(io), path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)data.len ||
        INJECT(IO_WRITE) || RETRY(pwrite(fd, data.p, data.len, 0)) != (ssize_t)data.len)
        return local_write(io, cx, path, data, false);
    return 0;
}

static int local_sync(struct io *io, struct ctx *cx, const str *paths, size_t n)
{
    return iol_sync_all(self(io), cx, paths, n, NULL, 0);
}

/* --- stat and list ---------------------------------------------------------------------------- */

static int local_stat(struct io *io, struct ctx *cx, str path, struct io_stat *ret)
{
    TRY(io_path_check(cx, path));
    CLEANUP(iol_close) int fd = iol_open_path(self(io), path, O_PATH);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return iol_fail(cx, "look at", path);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return wrong_kind(cx, path, "a regular file or a directory");
    *ret = (struct io_stat){
        .is_dir = S_ISDIR(st.st_mode),
        .size = st.st_size,
        .mtime_ms = st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000,
        .ino = st.st_ino,
        .ctime_ns = st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec,
    };
    return 0;
}

struct listing {
    struct io_entry *v; /* from mem.h: it grows; the result is copied to the arena */
    size_t n, cap;
};

static void listing_done(struct listing *ls)
{
    mem_free(ls->v);
}

static int list_nomem(struct ctx *cx, str path)
{
    return ctx_fail(cx, E_NOMEM, RES_NONE, STR_NONE,
                    "listing \"%.*s\" takes more memory than one request may use", STR(path));
}

/* 1: a directory, 0: something else, -1: gone meanwhile. */
static int entry_is_dir(int dir, const struct dirent *e)
{
    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    struct stat st;
    if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? -1 : 0;
    return S_ISDIR(st.st_mode);
}

static int listing_add(struct listing *ls, struct ctx *cx, str path, int dir,
                       const struct dirent *e)
{
    int is_dir = entry_is_dir(dir, e);
    if (is_dir < 0)
        return 0;
    if (ls->n == ls->cap) {
        size_t cap = ls->cap ? ls->cap * 2 : 64;
        struct io_entry *v = mem_realloc(ls->v, cap * sizeof(*v));
        if (!v)
            return list_nomem(cx, path);
        ls->v = v;
        ls->cap = cap;
    }
    str name = str_dup(&cx->arena, str_of(e->d_name));
    if (!name.p)
        return list_nomem(cx, path);
    ls->v[ls->n++] = (struct io_entry){.name = name, .is_dir = is_dir};
    return 0;
}

static int local_list(struct io *io, struct ctx *cx, str path, struct io_entry **ret, size_t *ret_n)
{
    TRY(io_path_check(cx, path));
    CLEANUP(iol_dir_close)
    DIR *d = iol_dir(iol_open_path(self(io), path, O_RDONLY | O_DIRECTORY));
    if (!d)
        return iol_fail(cx, "list", path);
    CLEANUP(listing_done) struct listing ls = {0};
    struct dirent *e;
    while ((e = iol_dir_next(d)))
        TRY(listing_add(&ls, cx, path, dirfd(d), e));
    if (errno)
        return iol_fail(cx, "list", path);
    struct io_entry *v = NULL;
    if (ls.n) {
        v = ARENA_ARRAY(&cx->arena, struct io_entry, ls.n);
        if (!v)
            return list_nomem(cx, path);
        memcpy(v, ls.v, ls.n * sizeof(*v));
    }
    *ret = v;
    *ret_n = ls.n;
    return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

static int local_del(struct io *io, struct ctx *cx, str path)
{
    CLEANUP(iol_place_done) struct iol_place at = {.dir = -1};
    TRY(iol_place_open(self(io), cx, "delete", path, &at));
    TRY(refuse_link(cx, "delete", path, &at));
    return RETRY(unlinkat(at.dir, at.name, 0)) < 0 ? iol_fail(cx, "delete", path) : 0;
}

int iol_mkdirs(struct io *io, struct ctx *cx, str path)
{
    TRY(io_path_check(cx, path));
    CLEANUP(iol_close) int dir = iol_open_path(self(io), path, O_PATH | O_DIRECTORY);
    if (dir >= 0) /* mostly it is there */
        return 0;
    dir = iol_open(self(io)->root, ".", O_PATH | O_DIRECTORY);
    str rest = path, part;
    while (dir >= 0 && str_split(&rest, '/', &part)) {
        char name[PATH_COMPONENT_MAX + 1];
        memcpy(name, part.p, part.len);
        name[part.len] = 0;
        int made = iol_make_dir(self(io), dir, name);
        int next = made < 0 ? -1 : iol_open(dir, name, O_PATH | O_DIRECTORY);
        if (next < 0 && errno == ENOTDIR)
            errno = EEXIST; /* a file is in the way, which is no E_NOTFOUND here */
        iol_close(&dir);
        dir = next;
    }
    return dir < 0 ? iol_fail(cx, "make the directory", path) : 0;
}

/* For file systems without RENAME_NOREPLACE (NFS). A directory cannot replace anything but an empty
 * directory; a file is linked, which replaces nothing, then loses its old name. */
static int rename_without_flag(const struct iol_place *from, const struct iol_place *to)
{
    struct stat st;
    if (fstatat(from->dir, from->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (!S_ISDIR(st.st_mode)) {
        if (RETRY(linkat(from->dir, from->name, to->dir, to->name, 0)) < 0)
            return -1;
        return RETRY(unlinkat(from->dir, from->name, 0));
    }
    if (fstatat(to->dir, to->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return errno == ENOENT ? RETRY(renameat(from->dir, from->name, to->dir, to->name)) : -1;
}

static int rename_new(const struct iol_place *from, const struct iol_place *to)
{
    if (RETRY(renameat2(from->dir, from->name, to->dir, to->name, RENAME_NOREPLACE)) == 0)
        return 0;
    bool unknown_flag = errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
    return unknown_flag ? rename_without_flag(from, to) : -1;
}

static int local_move(struct io *io, struct ctx *cx, str from, str to)
{
    CLEANUP(iol_place_done) struct iol_place f = {.dir = -1};
    CLEANUP(iol_place_done) struct iol_place t = {.dir = -1};
    TRY(iol_place_open(self(io), cx, "move", from, &f));
    TRY(iol_place_open(self(io), cx, "move something to", to, &t));
    TRY(refuse_link(cx, "move", from, &f));
    if (rename_new(&f, &t) < 0)
        return iol_fail(cx, errno == EEXIST ? "move something to" : "move",
                        errno == EEXIST ? to : from);
    bool same = str_eq(iol_parent(from), iol_parent(to));
    if (iol_sync_dir(t.dir) < 0 || (!same && iol_sync_dir(f.dir) < 0))
        return iol_unknown(cx, to);
    return 0;
}

static int local_remove_tree(struct io *io, struct ctx *cx, str path)
{
    TRY(io_path_check(cx, path));
    if (path.len == 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "the warehouse root itself is never removed");
    CLEANUP(iol_place_done) struct iol_place at = {.dir = -1};
    if (iol_place_find(self(io), path, &at) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : iol_fail(cx, "remove", path);
    return iol_remove_tree(at.dir, at.name) < 0 ? iol_fail(cx, "remove", path) : 0;
}

static int local_space(struct io *io, struct ctx *cx, int64_t *ret_free_bytes)
{
    struct statvfs v;
    if (RETRY(fstatvfs(self(io)->root, &v)) < 0)
        return iol_fail(cx, "ask for the free space of", STR_NONE);
    int64_t bytes;
    if (__builtin_mul_overflow(v.f_bavail, v.f_frsize, &bytes))
        bytes = INT64_MAX;
    *ret_free_bytes = bytes;
    return 0;
}

const struct io_ops iol_ops = {
    .free = local_free,
    .read = local_read,
    .write = local_write,
    .put_if_absent = iol_put_if_absent,
    .put_after = iol_put_after,
    .hint = local_hint,
    .stat = local_stat,
    .list = local_list,
    .del = local_del,
    .mkdirs = iol_mkdirs,
    .move = local_move,
    .remove_tree = local_remove_tree,
    .sync = local_sync,
    .space = local_space,
};
