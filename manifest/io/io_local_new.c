/* io_local_new.c - opening a warehouse root: make it, check the options, find out what it can do.
 *
 * The root belongs to the administrator and may be reached through symbolic links, so this file
 * walks to it with plain openat; everything below it goes through iol_open. The probe creates,
 * links and removes files the way a commit will, so that a warehouse that cannot work is refused
 * here, with a message for the administrator, and not at the first commit.
 *
 * Threads: none yet. */
#include "manifest/io/io_local_int.h"

#include <grp.h>

#include "proto/base/mem.h"

#define GROUP_BUF_MAX ((size_t)1 << 20)

static void drop(struct io_local **l)
{
    if (*l)
        io_free(&(*l)->io);
}

/* --- options ---------------------------------------------------------------------------------- */

static int check_modes(struct ctx *cx, const struct io_local_opts *o)
{
    if (o->dir_mode > 07777 || (o->dir_mode & 0700) != 0700)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "directory mode %o does not work; the owner needs rwx, as in 2775",
                        o->dir_mode);
    if (o->file_mode > 0777 || (o->file_mode & 0600) != 0600)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "file mode %o does not work; the owner needs rw, as in 0664", o->file_mode);
    return 0;
}

/* 1: found, 0: no such name, else an error. */
static int group_by_name(struct ctx *cx, const char *name, gid_t *ret)
{
    for (size_t size = 1024; size <= GROUP_BUF_MAX; size *= 2) {
        char *text = mem_alloc(size);
        if (!text)
            return ctx_nomem(cx);
        struct group g, *found = NULL;
        int sys;
        do {
            sys = getgrnam_r(name, &g, text, size, &found);
        } while (sys == EINTR);
        if (found)
            *ret = found->gr_gid;
        mem_free(text);
        if (sys != ERANGE)
            return found ? 1 : 0;
    }
    return 0;
}

static int find_group(struct ctx *cx, str group, gid_t *ret)
{
    *ret = GID_NONE;
    if (group.len == 0)
        return 0;
    char *name = str_dupz(&cx->arena, group);
    if (!name)
        return ctx_nomem(cx);
    int found = strlen(name) == group.len ? group_by_name(cx, name, ret) : 0;
    if (found != 0)
        return found < 0 ? found : 0;
    int64_t number;
    if (!str_to_i64(group, &number) || number < 0 || number >= (int64_t)GID_NONE)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "there is no group \"%.*s\"; name one of this system, or its number",
                        STR(group));
    *ret = (gid_t)number;
    return 0;
}

/* --- the root --------------------------------------------------------------------------------- */

static int step(const struct io_local *l, int dir, const char *name)
{
    int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    int next = RETRY(openat(dir, name, flags));
    if (next >= 0 || errno != ENOENT)
        return next;
    return iol_make_dir(l, dir, name) < 0 ? -1 : RETRY(openat(dir, name, flags));
}

static int open_root(struct io_local *l, struct ctx *cx, str root)
{
    CLEANUP(iol_close) int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return iol_fail(cx, "open", STR_LIT("/"));
    str rest = str_cut(root, 1), part;
    while (root.len > 1 && str_split(&rest, '/', &part)) {
        char name[PATH_COMPONENT_MAX + 1];
        memcpy(name, part.p, part.len);
        name[part.len] = 0;
        int next = step(l, dir, name);
        if (next < 0) /* name the directory that it was about */
            return iol_fail(cx, "open or create the warehouse directory",
                            str_n(root.p, (size_t)(part.p + part.len - root.p)));
        iol_close(&dir);
        dir = next;
    }
    l->root = dir;
    dir = -1;
    return 0;
}

/* --- the probe -------------------------------------------------------------------------------- */

static bool not_supported(int sys)
{
    return sys == EPERM || sys == EOPNOTSUPP || sys == EMLINK || sys == ENOSYS || sys == EINVAL;
}

static int probe_links(struct io_local *l, struct ctx *cx, struct iol_temp *t, str root)
{
    char other[PATH_COMPONENT_MAX + 1];
    iol_temp_name("latch-probe", other);
    if (RETRY(linkat(t->dir, t->name, t->dir, other, 0)) == 0) {
        struct stat st = {0};
        int got = fstat(t->fd, &st);
        unlinkat(t->dir, other, 0);
        l->has_links = got == 0 && st.st_nlink == 2;
    } else if (!not_supported(errno)) {
        return iol_fail(cx, "make a hard link in", root);
    }
    if (l->has_links)
        return 0;
    if (RETRY(renameat2(t->dir, t->name, t->dir, other, RENAME_NOREPLACE)) < 0)
        return ctx_fail_errno(cx, E_UNSUPPORTED,
                              "the file system of \"%.*s\" knows neither hard links nor "
                              "renameat2(RENAME_NOREPLACE), one of which a warehouse needs to "
                              "create a file exactly once; use ext4, xfs, btrfs, tmpfs or NFS",
                              STR(root));
    memcpy(t->name, other, sizeof(other));
    return 0;
}

static int probe(struct io_local *l, struct ctx *cx, str root)
{
    CLEANUP(iol_place_done) struct iol_place at = {.dir = -1, .name = "latch-probe"};
    at.dir = iol_open(l->root, ".", O_RDONLY | O_DIRECTORY);
    if (at.dir < 0 && (errno == ENOSYS || errno == EPERM))
        return ctx_fail_errno(cx, E_UNSUPPORTED,
                              "cannot open \"%.*s\" with openat2; it takes Linux 5.6 or newer, "
                              "and a container's seccomp profile that allows it",
                              STR(root));
    if (at.dir < 0)
        return iol_fail(cx, "open the warehouse directory", root);
    CLEANUP(iol_temp_done) struct iol_temp t = {.fd = -1};
    TRY(iol_temp_new(l, cx, &at, root, STR_LIT("probe"), &t));
    return probe_links(l, cx, &t, root);
}

int io_local_new(struct ctx *cx, const struct io_local_opts *o, struct io **ret)
{
    str root;
    TRY(path_absolute(cx, o->root, &root));
    TRY(check_modes(cx, o));
    CLEANUP(drop) struct io_local *l = mem_zalloc(sizeof(*l));
    if (!l)
        return ctx_nomem(cx);
    *l = (struct io_local){.io.ops = &iol_ops, .root = -1};
    l->dir_mode = o->dir_mode;
    l->file_mode = o->file_mode;
    l->syncs = o->syncs;
    TRY(find_group(cx, o->group, &l->gid));
    TRY(open_root(l, cx, root));
    TRY(probe(l, cx, root));
    *ret = &l->io;
    l = NULL;
    return 0;
}
