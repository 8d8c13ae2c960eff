/* io_local_tree.c - removing a tree that somebody hostile may have made, and may still be changing.
 *
 * Symbolic links are unlinked, never followed: each level is opened from the one above by
 * iol_open. Recursion stops at DEPTH_MAX: what is deeper is renamed into the top of the tree, which
 * is then swept again, so that neither the stack nor the descriptors grow with the tree and every
 * tree can be removed. A directory that does not get empty after SWEEPS passes, because somebody
 * keeps creating files in it, is ENOTEMPTY.
 *
 * Threads: any; two sweeps of one tree help each other. */
#include "manifest/io/io_local_int.h"

#define DEPTH_MAX 32
#define SWEEPS    16

struct sweep {
    int top; /* the directory at the top of the tree; -1 while that is not open */
    bool raised;
};

static int remove_one(struct sweep *s, int dir, const char *name, int depth);

static int sweep_dir(struct sweep *s, int dir, const char *name, int depth)
{
    CLEANUP(iol_dir_close) DIR *d = iol_dir(iol_open(dir, name, O_RDONLY | O_DIRECTORY));
    if (!d) /* gone, or no directory any more: the caller looks again */
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -1;
    if (depth == 0)
        s->top = dirfd(d);
    struct dirent *e;
    while ((e = iol_dir_next(d)))
        if (remove_one(s, dirfd(d), e->d_name, depth + 1) < 0)
            return -1;
    return errno == 0 ? 0 : -1;
}

static int raise_dir(struct sweep *s, int dir, const char *name)
{
    char up[PATH_COMPONENT_MAX + 1];
    iol_temp_name("deep", up);
    s->raised = true;
    return renameat(dir, name, s->top, up) == 0 || errno == ENOENT ? 0 : -1;
}

static int remove_one(struct sweep *s, int dir, const char *name, int depth)
{
    for (int i = 0; i < SWEEPS; i++) {
        if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
            return 0;
        if (errno != EISDIR)
            return -1;
        if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
            return -1;
        if (depth == DEPTH_MAX)
            return raise_dir(s, dir, name);
        if (sweep_dir(s, dir, name, depth) < 0)
            return -1;
        if (depth == 0 && s->raised) { /* progress: there are DEPTH_MAX levels less */
            s->raised = false;
            i = 0;
        }
    }
    errno = ENOTEMPTY;
    return -1;
}

int iol_remove_tree(int dir, const char *name)
{
    struct sweep s = {.top = -1};
    return remove_one(&s, dir, name, 0);
}
