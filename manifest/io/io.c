/* io.c - what every implementation of io.h checks first: that a path is one; put_after for those that
 * have none of their own.
 *
 * Paths come from clients and from files that clients wrote. Each part passes the one check for
 * names (path_component_ok), so "..", "//" and "/x" never reach an implementation; io_local lets
 * the kernel check the same once more (openat2).
 *
 * Any thread. */
#include "manifest/io/io.h"

#include <limits.h>

#include "proto/base/path.h"

int io_path_check(struct ctx *cx, str path)
{
    if (path.len >= PATH_MAX)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "a path of %zu bytes is too long; at most %d are allowed", path.len,
                        PATH_MAX - 1);
    str rest = path, part;
    while (path.len && str_split(&rest, '/', &part))
        if (!path_component_ok(part))
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "the path \"%.*s\" has a part that is empty, \".\", \"..\", too long "
                            "or holds a NUL; name it relative to the warehouse root, without",
                            STR(path));
    return 0;
}

/* --- put_after by other calls ----------------------------------------------------------------- */

static str parent_of(str path)
{
    const char *slash = path.len ? memrchr(path.p, '/', path.len) : NULL;
    return str_n(path.p, slash ? (size_t)(slash - path.p) : 0);
}

static int make_one(struct io *io, struct ctx *cx, const struct io_new *f)
{
    int rc = io_write(io, cx, f->path, f->data, false);
    if (rc != E_NOTFOUND)
        return rc;
    TRY(io_mkdirs(io, cx, parent_of(f->path)));
    ctx_reset_err(cx);
    return io_write(io, cx, f->path, f->data, false);
}

static int must_be_new(struct io *io, struct ctx *cx, str path)
{
    struct io_stat st;
    int rc = io_stat(io, cx, path, &st);
    if (rc == 0)
        return ctx_fail(cx, E_EXISTS, RES_NONE, STR_NONE,
                        "cannot create \"%.*s\": something with that name is there already",
                        STR(path));
    if (rc == E_NOTFOUND)
        ctx_reset_err(cx);
    return rc == E_NOTFOUND ? 0 : rc;
}

/* *ret_made counts those that are there, or half there. */
static int make_all(struct io *io, struct ctx *cx, const struct io_needs *needs, size_t *ret_made)
{
    str *paths = ARENA_ARRAY(&cx->arena, str, needs->n_make + 1);
    if (!paths)
        return ctx_nomem(cx);
    for (size_t i = 0; i < needs->n_make; i++) {
        paths[i] = needs->make[i].path;
        TRY(must_be_new(io, cx, paths[i]));
        *ret_made = i + 1;
        TRY(make_one(io, cx, &needs->make[i]));
    }
    return io_sync(io, cx, paths, needs->n_make);
}

/* In a context of its own: the caller's error stays. */
static void unmake(struct io *io, const struct io_needs *needs, size_t made)
{
    for (size_t i = 0; i < made; i++) {
        struct ctx own;
        ctx_init(&own, (size_t)1 << 16);
        IGNORE(io_del(io, &own, needs->make[i].path));
        ctx_done(&own);
    }
}

int io_put_after(struct io *io, struct ctx *cx, const struct io_needs *needs, str path, str data,
                 enum io_put_result *ret)
{
    if (io->ops->put_after)
        return IO_FN(io, put_after, cx, needs, path, data, ret);
    size_t made = 0;
    int rc = make_all(io, cx, needs, &made);
    if (rc == 0)
        rc = io_sync(io, cx, needs->there, needs->n_there);
    if (rc == 0)
        rc = io_put_if_absent(io, cx, path, data, ret);
    if (rc < 0 && rc != E_UNKNOWN)
        unmake(io, needs, made);
    return rc;
}
