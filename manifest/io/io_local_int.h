/* io_local_int.h - what the files of io_local share; nobody else includes it.
 *
 * Functions answer 0 (or a descriptor) and -1 with errno, unless they take a ctx: then an error
 * code, with the record set. Paths passed io_path_check before. */
#ifndef LATCH_MANIFEST_IO_IO_LOCAL_INT_H
#define LATCH_MANIFEST_IO_IO_LOCAL_INT_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manifest/io/io.h"
#include "proto/base/path.h"
#include "proto/base/pool.h"

#define GID_NONE ((gid_t)-1)

struct io_local {
    struct io io; /* first */
    int root;     /* O_PATH */
    mode_t dir_mode, file_mode;
    gid_t gid;      /* GID_NONE: files keep the group that the system gives them */
    bool has_links; /* link(2) creates a name exclusively; else renameat2(RENAME_NOREPLACE) does */
    struct pool *syncs;      /* NULL: one after another */
    _Atomic int64_t sync_us; /* mean of the last fsyncs */
};

/* A name in a directory that is held open, so that nothing above it matters any more. */
struct iol_place {
    int dir; /* readable: it can be synced; -1: none */
    char name[PATH_COMPONENT_MAX + 1];
};

/* A file that has no name of its own yet. iol_temp_done removes it unless name is "". */
struct iol_temp {
    int dir; /* borrowed from the place */
    int fd;
    char name[PATH_COMPONENT_MAX + 1];
};

extern const struct io_ops iol_ops; /* io_local.c */

#define RETRY(expr)                                                                                \
    __extension__({                                                                                \
        __typeof__(expr) retry_;                                                                   \
        do {                                                                                       \
            retry_ = (expr);                                                                       \
        } while (retry_ < 0 && errno == EINTR);                                                    \
        retry_;                                                                                    \
    })

/* The table from errno to error code. `what` is a verb: "cannot <what> <path>: advice". */
int iol_fail_at(struct ctx *cx, const char *file, int line, const char *what, str path);
#define iol_fail(cx, what, path) iol_fail_at(cx, __FILE__, __LINE__, what, path)
/* E_UNKNOWN: the change was made, its directory could not be synced (errno). */
#define iol_unknown(cx, path)                                                                      \
    ctx_fail_errno(cx, E_UNKNOWN,                                                                  \
                   "%.*s was changed but the disk did not confirm it, so a power loss may undo "   \
                   "it; read it again to know",                                                    \
                   STR(path))

void iol_close(int *fd); /* for CLEANUP; keeps errno; -1 is fine */

/* The only way to open: below `dir`, no symbolic link anywhere. New files get 0600. */
int iol_open(int dir, const char *rel, uint64_t flags);
int iol_open_path(const struct io_local *l, str path, uint64_t flags); /* "" is the root */

int iol_place_find(const struct io_local *l, str path, struct iol_place *ret);
/* As iol_place_find, with io_path_check before; "" is E_INVAL. */
int iol_place_open(const struct io_local *l, struct ctx *cx, const char *what, str path,
                   struct iol_place *ret);
void iol_place_done(struct iol_place *at);
str iol_parent(str path);                                  /* "" for a path of one part */
void iol_name(str path, char ret[PATH_COMPONENT_MAX + 1]); /* its last part */

int iol_own_mode(const struct io_local *l, int fd, mode_t mode); /* group, then mode */
int iol_write_all(int fd, str data);
/* 1: made, with its mode, and durable; 0: something was there; -1: not made. */
int iol_make_dir(const struct io_local *l, int dir, const char *name);

void iol_temp_name(const char *name, char ret[PATH_COMPONENT_MAX + 1]);
int iol_temp_new(const struct io_local *l, struct ctx *cx, const struct iol_place *at, str path,
                 str data, struct iol_temp *ret);
void iol_temp_done(struct iol_temp *t);

int iol_sync_file(int fd);
int iol_sync_data(int fd); /* also of a directory */
int iol_sync_dir(int fd);

enum iol_how { IOL_DATA, IOL_DIR, IOL_FILE };
struct iol_own { /* something that the caller has open */
    str path;
    int fd; /* -1: closed again, it is opened at `path` */
    enum iol_how how;
};
/* Makes the files at `paths` and their directories durable, and with them what the caller has open (IOL_DATA
 * first); all side by side (io_local_sync.c). */
int iol_sync_all(struct io_local *l, struct ctx *cx, const str *paths, size_t n,
                 const struct iol_own *own, size_t n_own) WARN_UNUSED;

/* io_local_put.c */
int iol_put_after(struct io *io, struct ctx *cx, const struct io_needs *needs, str path, str data,
                  enum io_put_result *ret) WARN_UNUSED;
int iol_put_if_absent(struct io *io, struct ctx *cx, str path, str data,
                      enum io_put_result *ret) WARN_UNUSED;
int iol_mkdirs(struct io *io, struct ctx *cx, str path) WARN_UNUSED; /* io_local.c */

DIR *iol_dir(int fd); /* takes the descriptor, also when it answers NULL */
void iol_dir_close(DIR **d);
struct dirent *iol_dir_next(DIR *d); /* without "." and ".."; NULL and errno 0 at the end */

/* Removes a file, a link or a tree. Gone already is fine. */
int iol_remove_tree(int dir, const char *name);

#endif
