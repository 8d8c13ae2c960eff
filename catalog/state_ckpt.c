/* state_ckpt.c - the file of a checkpoint: see state_ckpt.h.
 *
 * It lies in the data directory, a plain local disk. It is written beside its place, brought to the disk
 * and renamed, so that what is there is whole or old; its hash tells what a crash did all the same. The
 * directory is not synced: a rename that is lost costs a load from manifests, and nothing else.
 *
 * Thread rule: any that may block; one writer for a path. */
#include "catalog/state_ckpt.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/state_ckpt_int.h"
#include "proto/base/assert.h"
#include "proto/base/hash.h"
#include "proto/base/inject.h"
#include "proto/base/mem.h"

void ckpt_seal(char *p, size_t n)
{
    struct ckpt_fixed h;
    ASSERT(n >= sizeof h);
    memcpy(&h, p, sizeof h);
    memcpy(h.magic, CKPT_MAGIC, sizeof h.magic);
    h.version = CKPT_VERSION;
    h.length = n;
    h.check = hash64(p + CKPT_CHECKED, n - CKPT_CHECKED);
    memcpy(p, &h, sizeof h);
}

uint64_t ckpt_opts_hash(const struct state_opts *o)
{
    size_t n = o->partition ? o->partition->n : 0;
    uint64_t h[6] = {n, o->row_ids};
    uint64_t all = hash64(h, sizeof h);
    for (size_t i = 0; i < n; i++) {
        const struct data_type *t = o->partition->types[i];
        h[0] = all;
        h[1] = t->kind;
        h[2] = (uint64_t)t->length;
        h[3] = (uint64_t)t->precision;
        h[4] = (uint64_t)t->scale;
        all = hash64(h, sizeof h);
    }
    return all;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static bool write_all(int fd, str data)
{
    for (size_t at = 0; at < data.len;) {
        ssize_t n = write(fd, data.p + at, data.len - at);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static int write_new(struct ctx *cx, const char *path, str bytes)
{
    IGNORE(unlink(path)); /* left by a crash, perhaps with another mode */
    CLEANUP(fd_close)
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return ctx_fail_errno(cx, E_IO, "cannot create %s", path);
    if (!write_all(fd, bytes) || fdatasync(fd) < 0)
        return ctx_fail_errno(cx, E_IO, "cannot write %s", path);
    return 0;
}

int state_ckpt_write(struct ctx *cx, str path, str bytes)
{
    CLEANUP(buf_done) struct buf to = {0}, tmp = {0};
    buf_adds(&to, path);
    buf_addf(&tmp, "%.*s.tmp", STR(path));
    const char *at = buf_z(&to), *beside = buf_z(&tmp);
    if (!at || !beside)
        return ctx_nomem(cx);
    int rc = write_new(cx, beside, bytes);
    IGNORE(INJECT(CKPT_WRITTEN));
    if (rc == 0 && rename(beside, at) < 0)
        rc = ctx_fail_errno(cx, E_IO, "cannot rename %s to %s", beside, at);
    if (rc < 0)
        IGNORE(unlink(beside));
    IGNORE(INJECT(CKPT_RENAMED));
    return rc;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int read_all(struct ctx *cx, int fd, const char *path, struct buf *ret)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return ctx_fail_errno(cx, E_IO, "cannot read %s", path);
    if (!S_ISREG(st.st_mode))
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%s is no file", path);
    /* It is shorter than the state was in memory. */
    if (buf_reserve(ret, (size_t)st.st_size) == E_TOOBIG)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE, "%s has more than %zu bytes", path,
                        ret->max);
    if (buf_fail(ret))
        return ctx_nomem(cx);
    while (ret->len < (size_t)st.st_size) {
        ssize_t n = read(fd, ret->p + ret->len, (size_t)st.st_size - ret->len);
        if (n < 0 && errno != EINTR)
            return ctx_fail_errno(cx, E_IO, "cannot read %s", path);
        if (n == 0)
            break;
        ret->len += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int state_ckpt_read(struct ctx *cx, str path, const struct state_opts *o,
                    struct ckpt_head *ret_head, struct table_state **ret)
{
    CLEANUP(buf_done) struct buf name = {0}, bytes = {0};
    buf_adds(&name, path);
    const char *at = buf_z(&name);
    if (!at)
        return ctx_nomem(cx);
    CLEANUP(fd_close) int fd = open(at, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return ctx_fail(cx, E_NOTFOUND, RES_NONE, STR_NONE, "%s does not exist", at);
    if (fd < 0)
        return ctx_fail_errno(cx, errno == ELOOP ? E_CORRUPT : E_IO, "cannot read %s", at);
    buf_init(&bytes, o->max_bytes);
    TRY(read_all(cx, fd, at, &bytes));
    int rc = state_restore(cx, buf_str(&bytes), o, ret_head, ret);
    return rc < 0 && rc != E_NOMEM ? ctx_prefix(cx, "%s", at) : rc;
}
