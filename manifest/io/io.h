/* io.h - where bytes live: one warehouse root behind a vtable (io_local, io_mem; object stores later).
 *
 * Paths are relative to the root, '/'-separated, each part a path_component; "" is the root itself.
 * An implementation never leaves the root (io_local: openat2 with RESOLVE_BENEATH | NO_SYMLINKS |
 * NO_MAGICLINKS below a directory fd). Every call may block on the disk. Errors: E_NOTFOUND, E_EXISTS,
 * E_INVAL (a path that is none), E_TOOBIG, E_BUSY (no space: nothing was done), E_IO, E_CORRUPT.
 * Thread-safe; results go to the caller's arena or buf. */
#ifndef LATCH_MANIFEST_IO_IO_H
#define LATCH_MANIFEST_IO_IO_H

#include "proto/base/buf.h"
#include "proto/base/ctx.h"

struct io_stat {
    bool is_dir;
    int64_t size;     /* bytes */
    int64_t mtime_ms; /* wall clock of the file system */
    uint64_t ino;
    int64_t ctime_ns;
};
struct io_entry {
    str name; /* one component */
    bool is_dir;
};
enum io_put_result { IO_PUT_CREATED, IO_PUT_EXISTED };
struct io_new { /* a file whose name nobody else ever gives (it holds a uuid) */
    str path, data;
};
/* What must be durable before another file is there. */
struct io_needs {
    const str *there; /* files that others wrote */
    size_t n_there;
    const struct io_new *make; /* files that are not there yet; in few directories */
    size_t n_make;
};

struct io;
struct io_ops {
    void (*free)(struct io *io);
    /* Whole file into ret (appended); E_TOOBIG past max_bytes. */
    int (*read)(struct io *io, struct ctx *cx, str path, size_t max_bytes, struct buf *ret);
    /* Creates or replaces: temporary file, (sync ? fsync), rename, (sync ? fsync of the directory). */
    int (*write)(struct io *io, struct ctx *cx, str path, str data, bool sync);
    /* Creates the file only if there is none, durably: temporary file, fsync, link, fsync of the
     * directory. IO_PUT_EXISTED when somebody was first (whether theirs is durable only they know;
     * sync() makes it so). E_UNKNOWN when it may or may not exist now.
     * Any other error: it does not exist through us. */
    int (*put_if_absent)(struct io *io, struct ctx *cx, str path, str data,
                         enum io_put_result *ret);
    /* io_put_after, with all that is before the link side by side. May be NULL: io_put_after then takes
     * the calls above and below. */
    int (*put_after)(struct io *io, struct ctx *cx, const struct io_needs *needs, str path,
                     str data, enum io_put_result *ret);
    /* For a few bytes that are only advice (LATEST): written over what is there, not durable, and not
     * atomic for readers. May be NULL: io_hint writes. */
    int (*hint)(struct io *io, struct ctx *cx, str path, str data);
    int (*stat)(struct io *io, struct ctx *cx, str path, struct io_stat *ret);
    /* All entries of a directory, in no order, without "." and ".."; array in cx's arena. */
    int (*list)(struct io *io, struct ctx *cx, str path, struct io_entry **ret, size_t *ret_n);
    int (*del)(struct io *io, struct ctx *cx, str path); /* a file; E_NOTFOUND if there is none */
    /* With parents, durable; existing ones are fine. E_EXISTS: a file is in the way. */
    int (*mkdirs)(struct io *io, struct ctx *cx, str path);
    /* A rename, durable; E_EXISTS if `to` is there; E_UNKNOWN: it may be undone by a power loss. */
    int (*move)(struct io *io, struct ctx *cx, str from, str to);
    int (*remove_tree)(struct io *io, struct ctx *cx,
                       str path); /* all below and itself; gone already is fine */
    /* Makes files that others wrote durable: fdatasync each, then each of their directories once. A
     * path that does not exist: E_NOTFOUND. A path of a directory makes what was created and deleted
     * in it durable (del and remove_tree do not). After E_IO data may be lost although a second try
     * succeeds: the kernel tells of a lost page only once. */
    int (*sync)(struct io *io, struct ctx *cx, const str *paths, size_t n);
    /* Bytes that may still be written. */
    int (*space)(struct io *io, struct ctx *cx, int64_t *ret_free_bytes);
};
struct io {
    const struct io_ops *ops;
};

static inline void io_free(struct io *io)
{
    if (io)
        io->ops->free(io);
}
#define IO_FN(io, fn, ...)                     ((io)->ops->fn((io), __VA_ARGS__))
#define io_read(io, cx, path, max, ret)        IO_FN(io, read, cx, path, max, ret)
#define io_write(io, cx, path, data, sync)     IO_FN(io, write, cx, path, data, sync)
#define io_put_if_absent(io, cx, path, d, ret) IO_FN(io, put_if_absent, cx, path, d, ret)
#define io_stat(io, cx, path, ret)             IO_FN(io, stat, cx, path, ret)
#define io_list(io, cx, path, ret, n)          IO_FN(io, list, cx, path, ret, n)
#define io_del(io, cx, path)                   IO_FN(io, del, cx, path)
#define io_mkdirs(io, cx, path)                IO_FN(io, mkdirs, cx, path)
#define io_move(io, cx, from, to)              IO_FN(io, move, cx, from, to)
#define io_remove_tree(io, cx, path)           IO_FN(io, remove_tree, cx, path)
#define io_sync(io, cx, paths, n)              IO_FN(io, sync, cx, paths, n)
#define io_space(io, cx, ret)                  IO_FN(io, space, cx, ret)

/* For implementations: is it a path as described above? E_INVAL. */
int io_path_check(struct ctx *cx, str path) WARN_UNUSED;

/* put_if_absent of `path`, once all that it needs is there, whole and durable, with its directories.
 * Files to make get their own names at once, and the directories that these are in if there are none;
 * E_EXISTS: one of them is there already. When it answers 0 (also IO_PUT_EXISTED) or E_UNKNOWN they are
 * there and the caller's; after any other error none of them is. E_NOTFOUND: one of `there` is not, or the
 * directory of `path`. */
int io_put_after(struct io *io, struct ctx *cx, const struct io_needs *needs, str path, str data,
                 enum io_put_result *ret) WARN_UNUSED;

static inline int io_hint(struct io *io, struct ctx *cx, str path, str data)
{
    return io->ops->hint ? IO_FN(io, hint, cx, path, data)
                         : IO_FN(io, write, cx, path, data, false);
}

struct pool;
struct io_local_opts {
    str root;           /* absolute; made (with parents) if missing */
    unsigned dir_mode;  /* e.g. 02775, regardless of umask */
    unsigned file_mode; /* e.g. 0664 */
    str group;          /* name or number; empty: leave it */
    struct pool *syncs; /* runs fsyncs side by side; outlives the io; NULL: one after another */
};
/* Probes the root: it must be writable and know link(2) or renameat2(RENAME_NOREPLACE); else E_UNSUPPORTED
 * with a message that names the root. */
int io_local_new(struct ctx *cx, const struct io_local_opts *o, struct io **ret) WARN_UNUSED;
/* In memory, for tests. crash() (io_mem_crash) drops whatever was not synced. */
int io_mem_new(struct ctx *cx, struct io **ret) WARN_UNUSED;
void io_mem_crash(struct io *io);

#endif
