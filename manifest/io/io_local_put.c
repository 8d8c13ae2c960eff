/* io_local_put.c - a file that is made if absent, once all that it needs is durable.
 *
 * The file itself is written under a temporary name and linked to its own, because a name that others
 * wait for must never stand for half a file. What it needs and nobody looks for before (names with a
 * uuid) is made under its own name at once. A crash leaves such
 * a file as it leaves a temporary one, an orphan that nothing names.
 *
 * Invariants: nothing of this call is left when it fails before the link, and only files that were
 * created here (O_EXCL) are removed. Each directory is opened once and synced once; at most OPEN_MAX new
 * files stay open until they are synced, others are opened again for that.
 *
 * O_TMPFILE saves no time that could be measured, and makes the file nameless until the link: where a file
 * system keeps no journal, its link count may then not be on disk when its name is.
 *
 * Threads: any. */
#include "manifest/io/io_local_int.h"

#include "proto/base/inject.h"

#define OPEN_MAX 32

struct folder {
    str path;
    int fd;
};
struct making {
    struct io_local *l;
    const struct io_new *v;
    size_t n, made;
    struct iol_own *own; /* n files, then their directories, then the file that needs them */
    struct folder *dirs; /* of the first n_dirs */
    size_t *dir_of;      /* of each file */
    size_t n_dirs;
    bool keep;
};

static struct io_local *self(struct io *io)
{
    return (struct io_local *)io; /* io is its first member */
}

/* --- the files that it needs ------------------------------------------------------------------ */

static void making_done(struct making *m)
{
    int sys = errno;
    for (size_t i = 0; i < m->made; i++) {
        char name[PATH_COMPONENT_MAX + 1];
        iol_close(&m->own[i].fd);
        iol_name(m->v[i].path, name);
        if (!m->keep)
            unlinkat(m->dirs[m->dir_of[i]].fd, name, 0);
    }
    for (size_t i = 0; i < m->n_dirs; i++)
        iol_close(&m->dirs[i].fd);
    errno = sys;
}

static int making_init(struct ctx *cx, struct making *m, struct io_local *l,
                       const struct io_needs *needs)
{
    size_t n = needs->n_make;
    m->l = l;
    m->v = needs->make;
    m->n = n;
    m->own = ARENA_ARRAY(&cx->arena, struct iol_own, 2 * n + 1);
    m->dirs = ARENA_ARRAY(&cx->arena, struct folder, n + 1);
    m->dir_of = ARENA_ARRAY(&cx->arena, size_t, n + 1);
    return m->own && m->dirs && m->dir_of ? 0 : ctx_nomem(cx);
}

/* The directory of a new file, which is mostly that of the one before. */
static int folder_of(struct making *m, struct ctx *cx, str path, size_t *ret)
{
    str parent = iol_parent(path);
    for (size_t i = m->n_dirs; i-- > 0;)
        if (str_eq(m->dirs[i].path, parent)) {
            *ret = i;
            return 0;
        }
    int fd = iol_open_path(m->l, parent, O_RDONLY | O_DIRECTORY);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        TRY(iol_mkdirs(&m->l->io, cx, parent));
        fd = iol_open_path(m->l, parent, O_RDONLY | O_DIRECTORY);
    }
    if (fd < 0)
        return iol_fail(cx, "create", path);
    *ret = m->n_dirs;
    m->dirs[m->n_dirs++] = (struct folder){parent, fd};
    return 0;
}

static int make_one(struct making *m, struct ctx *cx, const struct io_new *f)
{
    char name[PATH_COMPONENT_MAX + 1];
    size_t at = m->made, dir = 0;
    TRY(io_path_check(cx, f->path));
    if (f->path.len == 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "cannot create the warehouse root itself; name something below it");
    TRY(folder_of(m, cx, f->path, &dir));
    iol_name(f->path, name);
    int fd = iol_open(m->dirs[dir].fd, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW);
    if (fd < 0)
        return iol_fail(cx, "create", f->path);
    m->own[at] = (struct iol_own){.path = f->path, .fd = fd, .how = IOL_DATA};
    m->dir_of[at] = dir;
    m->made++;
    if (iol_own_mode(m->l, fd, m->l->file_mode) < 0)
        return iol_fail(cx, "set group and mode of", f->path);
    if (iol_write_all(fd, f->data) < 0)
        return iol_fail(cx, "write", f->path);
    if (at >= OPEN_MAX)
        iol_close(&m->own[at].fd);
    return 0;
}

static int make_all(struct making *m, struct ctx *cx)
{
    for (size_t i = 0; i < m->n; i++)
        TRY(make_one(m, cx, &m->v[i]));
    return 0;
}

static int sync_needs(struct making *m, struct ctx *cx, const struct io_needs *needs, str path,
                      const struct iol_temp *t)
{
    size_t n = m->n;
    for (size_t i = 0; i < m->n_dirs; i++)
        m->own[n++] =
            (struct iol_own){.path = m->dirs[i].path, .fd = m->dirs[i].fd, .how = IOL_DIR};
    m->own[n++] = (struct iol_own){.path = path, .fd = t->fd, .how = IOL_FILE};
    return iol_sync_all(m->l, cx, needs->there, needs->n_there, m->own, n);
}

/* --- the file --------------------------------------------------------------------------------- */

/* Does the name stand for our file? 1, 0, or -1: cannot tell. */
static int is_ours(const struct iol_place *at, const struct iol_temp *t)
{
    struct stat mine, there;
    if (fstat(t->fd, &mine) < 0)
        return -1;
    if (fstatat(at->dir, at->name, &there, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -1;
    return mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/* Gives the temporary file its name, if that is free. */
static int publish(const struct io_local *l, struct ctx *cx, str path, const struct iol_place *at,
                   struct iol_temp *t, enum io_put_result *ret)
{
    int rc = l->has_links ? RETRY(linkat(t->dir, t->name, at->dir, at->name, 0))
                          : RETRY(renameat2(t->dir, t->name, at->dir, at->name, RENAME_NOREPLACE));
    *ret = IO_PUT_CREATED;
    if (rc < 0) {
        /* NFS may lose the answer, or ask again and be told EEXIST because of its first try. So
         * the names decide, not what the call said. */
        int sys = errno, ours = is_ours(at, t);
        if (ours < 0)
            return iol_unknown(cx, path);
        errno = sys;
        if (ours == 0 && sys != EEXIST)
            return iol_fail(cx, "create", path);
        if (ours == 0)
            *ret = IO_PUT_EXISTED;
    }
    if (*ret == IO_PUT_CREATED && !l->has_links)
        t->name[0] = 0;
    return 0;
}

static int put_fail_injected(struct ctx *cx, str path)
{
    errno = EIO;
    return iol_fail(cx, "create", path);
}

/* Up to the link. */
static int put(struct making *m, struct ctx *cx, const struct io_needs *needs, str path, str data,
               const struct iol_place *at, struct iol_temp *t, enum io_put_result *ret)
{
    TRY(make_all(m, cx));
    TRY(iol_temp_new(m->l, cx, at, path, data, t));
    if (INJECT(PUT_WRITTEN))
        return put_fail_injected(cx, path);
    TRY(sync_needs(m, cx, needs, path, t));
    if (INJECT(PUT_SYNCED))
        return put_fail_injected(cx, path);
    int rc = publish(m->l, cx, path, at, t, ret);
    m->keep = rc == 0 || rc == E_UNKNOWN;
    return rc;
}

int iol_put_after(struct io *io, struct ctx *cx, const struct io_needs *needs, str path, str data,
                  enum io_put_result *ret)
{
    CLEANUP(iol_place_done) struct iol_place at = {.dir = -1};
    TRY(iol_place_open(self(io), cx, "create", path, &at));
    CLEANUP(making_done) struct making m = {0};
    TRY(making_init(cx, &m, self(io), needs));
    CLEANUP(iol_temp_done) struct iol_temp t = {.fd = -1};
    enum io_put_result made = IO_PUT_EXISTED;
    TRY(put(&m, cx, needs, path, data, &at, &t, &made));
    bool lost = made == IO_PUT_CREATED && INJECT(PUT_LINKED);
    iol_temp_done(&t);
    if (lost)
        errno = EIO;
    if (lost || (made == IO_PUT_CREATED && iol_sync_dir(at.dir) < 0))
        return iol_unknown(cx, path);
    *ret = made;
    return 0;
}

int iol_put_if_absent(struct io *io, struct ctx *cx, str path, str data, enum io_put_result *ret)
{
    static const struct io_needs nothing;
    return iol_put_after(io, cx, &nothing, path, data, ret);
}
