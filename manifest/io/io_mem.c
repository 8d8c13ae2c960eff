/* io_mem.c - a warehouse in memory, for tests: what io_local does, and what a power loss leaves.
 *
 * Like a disk, it knows two states. A file's bytes never change (a write makes a new file under the
 * old name); `durable` says whether they were synced. A directory's entry holds two files: `live`
 * is what the name stands for now, `disk` what it stands for after a power loss. Syncing a
 * directory copies live to disk for all its entries; io_mem_crash copies disk to live. So an
 * unsynced file is gone (its entry was not synced) or empty (somebody else synced the directory),
 * and an unsynced deletion is undone.
 *
 * Invariants: an entry whose two sides differ is in its directory's list of dirty ones; an entry
 * without both sides is freed. Nodes live until the end, because a crash may bring any of them
 * back. The fault points of io_local (inject.h) are here too, in the same order.
 *
 * Threads: any; one mutex around every call. */
#include "manifest/io/io.h"
#include "proto/base/assert.h"

#include <pthread.h>

#include "proto/base/clock.h"
#include "proto/base/hash.h"
#include "proto/base/inject.h"
#include "proto/base/mem.h"

#define FREE_BYTES ((int64_t)1 << 40)

struct entry {
    char *name;
    struct node *live, *disk;
    bool dirty;
    struct entry *next_dirty;
};
struct node {
    struct node *next; /* of all */
    bool is_dir, durable;
    char *data;
    size_t len;
    uint64_t ino;
    int64_t mtime_ms, ctime_ns;
    struct map entries; /* of a directory */
    struct entry *dirty;
};
struct io_mem {
    struct io io; /* first */
    pthread_mutex_t mu;
    struct node *all;
    struct node *root;
    uint64_t made; /* nodes so far */
};

static struct io_mem *lock(struct io *io)
{
    struct io_mem *m = (struct io_mem *)io; /* io is its first member */
    pthread_mutex_lock(&m->mu);
    return m;
}

static void unlock(struct io_mem **m)
{
    pthread_mutex_unlock(&(*m)->mu);
}

/* --- nodes and entries ------------------------------------------------------------------------ */

static struct node *node_new(struct io_mem *m, bool is_dir, str data)
{
    struct node *n = mem_zalloc(sizeof(*n));
    char *copy = n ? mem_dup(data.p, data.len) : NULL;
    if (!copy) {
        mem_free(n);
        return NULL;
    }
    map_init(&n->entries);
    n->is_dir = is_dir;
    n->data = copy;
    n->len = data.len;
    n->ino = ++m->made;
    n->mtime_ms = clock_wall_ms();
    n->ctime_ns = n->mtime_ms * 1000000 + (int64_t)(n->ino % 1000000);
    n->next = m->all;
    m->all = n;
    return n;
}

static void entry_free(struct entry *e)
{
    if (e)
        mem_free(e->name);
    mem_free(e);
}

static void node_free(struct node *n)
{
    size_t pos = 0;
    str name;
    void *e;
    while (map_next(&n->entries, &pos, &name, &e))
        entry_free(e);
    map_done(&n->entries);
    mem_free(n->data);
    mem_free(n);
}

static struct node *get(const struct node *dir, str name)
{
    struct entry *e = map_get(&dir->entries, name);
    return e ? e->live : NULL;
}

static struct entry *entry_add(struct node *dir, str name)
{
    struct entry *e = mem_zalloc(sizeof(*e));
    if (e)
        e->name = mem_dup(name.p, name.len);
    if (!e || !e->name || map_put(&dir->entries, str_n(e->name, name.len), e) < 0) {
        entry_free(e);
        return NULL;
    }
    return e;
}

/* n == NULL takes the name away, which needs no memory. */
static int set(struct ctx *cx, struct node *dir, str name, struct node *n)
{
    struct entry *e = map_get(&dir->entries, name);
    if (!e)
        e = entry_add(dir, name);
    if (!e)
        return ctx_nomem(cx);
    e->live = n;
    if (!e->dirty) {
        e->dirty = true;
        e->next_dirty = dir->dirty;
        dir->dirty = e;
    }
    return 0;
}

/* Makes both sides of every entry equal: what is live goes to disk, or the disk's side is back. */
static void settle(struct node *dir, bool crash)
{
    struct entry *e = dir->dirty, *next;
    dir->dirty = NULL;
    for (; e; e = next) {
        next = e->next_dirty;
        e->dirty = false;
        if (crash)
            e->live = e->disk;
        else
            e->disk = e->live;
        if (!e->live) {
            map_del(&dir->entries, str_of(e->name));
            entry_free(e);
        }
    }
}

static int sync_dir(struct node *dir)
{
    if (INJECT(IO_FSYNC))
        return E_IO;
    settle(dir, false);
    return 0;
}

static int sync_file(struct node *n)
{
    if (INJECT(IO_FSYNC))
        return E_IO;
    n->durable = true;
    return 0;
}

/* --- paths and errors ------------------------------------------------------------------------- */

static int fail(struct ctx *cx, int code, str path, const char *why)
{
    return ctx_fail(cx, code, RES_NONE, STR_NONE, "\"%.*s\": %s", STR(path), why);
}

static int missing(struct ctx *cx, str path)
{
    return fail(cx, E_NOTFOUND, path, "it or a directory above it does not exist");
}

static int sync_failed(struct ctx *cx, str path, int code)
{
    return fail(cx, code, path, "the sync failed");
}

static struct node *walk(struct io_mem *m, str path)
{
    struct node *n = m->root;
    str rest = path, part;
    while (n && path.len && str_split(&rest, '/', &part))
        n = n->is_dir ? get(n, part) : NULL;
    return n;
}

static int find(struct io_mem *m, struct ctx *cx, str path, struct node **ret)
{
    TRY(io_path_check(cx, path));
    struct node *n = walk(m, path);
    if (!n)
        return missing(cx, path);
    *ret = n;
    return 0;
}

static str last_part(str path)
{
    size_t at = path.len;
    while (at > 0 && path.p[at - 1] != '/')
        at--;
    return str_cut(path, at);
}

static str parent_path(str path)
{
    size_t name = last_part(path).len;
    return str_n(path.p, name < path.len ? path.len - name - 1 : 0);
}

static int find_parent(struct io_mem *m, struct ctx *cx, str path, struct node **ret, str *ret_name)
{
    TRY(io_path_check(cx, path));
    if (path.len == 0)
        return fail(cx, E_INVAL, path, "name something below the warehouse root");
    struct node *dir = walk(m, parent_path(path));
    if (!dir || !dir->is_dir)
        return missing(cx, path);
    *ret = dir;
    *ret_name = last_part(path);
    return 0;
}

/* --- the operations --------------------------------------------------------------------------- */

static void mem_io_free(struct io *io)
{
    struct io_mem *m = (struct io_mem *)io;
    for (struct node *n = m->all, *next; n; n = next) {
        next = n->next;
        node_free(n);
    }
    pthread_mutex_destroy(&m->mu);
    mem_free(m);
}

static int mem_io_read(struct io *io, struct ctx *cx, str path, size_t max_bytes, struct buf *ret)
{
    CLEANUP(unlock) struct io_mem *m = lock(io);
    struct node *n;
    TRY(find(m, cx, path, &n));
    if (n->is_dir)
        return fail(cx, E_CORRUPT, path, "it is not a regular file");
    if (n->len > max_bytes)
        return fail(cx, E_TOOBIG, path, "it is larger than what may be read");
    buf_add(ret, n->data, n->len);
    return buf_fail(ret) ? fail(cx, buf_fail(ret), path, "it does not fit in the buffer") : 0;
}

static int new_file(struct io_mem *m, struct ctx *cx, str path, str data, struct node **ret)
{
    if (data.len && INJECT(IO_WRITE))
        return fail(cx, E_BUSY, path, "the disk is full; free some space and try again");
    struct node *n = node_new(m, false, data);
    if (!n)
        return ctx_nomem(cx);
    *ret = n;
    return 0;
}

static int mem_io_write(struct io *io, struct ctx *cx, str path, str data, bool sync)
{
    CLEANUP(unlock) struct io_mem *m = lock(io);
    struct node *dir, *n, *old;
    str name;
    TRY(find_parent(m, cx, path, &dir, &name));
    TRY(new_file(m, cx, path, data, &n));
    if (sync && sync_file(n) < 0)
        return sync_failed(cx, path, E_IO);
    old = get(dir, name);
    if (old && old->is_dir)
        return fail(cx, E_CORRUPT, path, "a directory stands where a file should be");
    TRY(set(cx, dir, name, n));
    return sync && sync_dir(dir) < 0 ? sync_failed(cx, path, E_UNKNOWN) : 0;
}

static int mem_io_put(struct io *io, struct ctx *cx, str path, str data, enum io_put_result *ret)
{
    CLEANUP(unlock) struct io_mem *m = lock(io);
    struct node *dir, *n;
    str name;
    TRY(find_parent(m, cx, path, &dir, &name));
    TRY(new_file(m, cx, path, data, &n));
    if (INJECT(PUT_WRITTEN) || sync_file(n) < 0 || INJECT(PUT_SYNCED))
        return sync_failed(cx, path, E_IO);
    if (get(dir, name)) {
        *ret = IO_PUT_EXISTED;
        return 0;
    }
    TRY(set(cx, dir, name, n));
    if (INJECT(PUT_LINKED) || sync_dir(dir) < 0)
        return sync_failed(cx, path, E_UNKNOWN);
    *ret = IO_PUT_CREATED;
    return 0;
}

static int mem_io_stat(struct io *io, struct ctx *cx, str path, struct io_stat *ret)
{
    CLEANUP(unlock) struct io_mem *m = lock(io);
    struct node *n;
    TRY(find(m, cx, path, &n));
    *ret = (struct io_stat){.is_dir = n->is_dir,
                            .size = (int64_t)n->len,
                            .mtime_ms = n->mtime_ms,
                            .ino = n->ino,
                            .ctime_ns = n->ctime_ns};
    return 0;
}

static int mem_io_list(struct io *io, struct ctx *cx, str path, struct io_entry **ret,
                       size_t *ret_n)
{
    CLEANUP(unlock) struct io_mem *m = lock(io);
    struct node *dir;
    TRY(find(m, cx, path, &dir));
    if (!dir->is_dir)
        return missing(cx, path);
    struct io_entry *v = NULL;
    size_t n = 0, pos = 0;
    if (dir->entries.live) {
        v = ARENA_ARRAY(&cx->arena, struct io_entry, dir->entries.live);
        if (!v)
            return ctx_nomem(cx);
    }
    str name;
    void *value;
    while (map_next(&dir->entries, &pos, &name, &value)) {
        const struct entry *e = value;
        if (!e->live)
            continue;
        ASSERT(v != NULL);
        v[n] = (struct io_entry){.name = str_dup(&cx->arena, name), .is_dir = e->live->is_dir};
        if (!v[n++].name.p)
            return ctx_nomem(cx);
    }
    *ret = v;
    *ret_n = n;
    return 0;
}

static int mem_io_del(struct io *io, struct ctx *cx, str path)
{
    CLEANUP(unlock) struct io_mem *m = lock(io);
    struct node *dir;
    str name;
    TRY(find_parent(m, cx, path, &dir, &name));
    struct node *n = get(dir, name);
    if (!n)
        return missing(cx, path);
    if (n->is_dir)
        return fail(cx, E_CORRUPT, path, "a directory stands where a file should be");
    return set(cx, dir, name, NULL);
}

static int mem_io_mkdirs(struct io *io, struct ctx *cx, str path)
{
    CLEANUP(unlock) struct io_mem *m = lock(io);
    TRY(io_path_check(cx, path));
    struct node *dir = m->root;
    str rest = path, part;
    while (path.len && str_split(&rest, '/', &part)) {
        struct node *n = get(dir, part);
        if (n && !n->is_dir)
            return fail(cx, E_EXISTS, path, "a file is in the way");
        if (!n) {
            n = node_new(m, true, STR_LIT(""));
            if (!n)
                return ctx_nomem(cx);
            TRY(set(cx, dir, part, n));
            if (sync_dir(dir) < 0) {
                TRY(set(cx, dir, part, NULL));
                return sync_failed(cx, path, E_IO);
            }
        }
        dir = n;
    }
    return 0;
}

static int mem_io_move(struct io *io, struct ctx *cx, str from, str to)
{
    CLEANUP(unlock) struct io_mem *m = lock(io);
    struct node *fdir, *tdir;
    str fname, tname;
    TRY(find_parent(m, cx, from, &fdir, &fname));
    TRY(find_parent(m, cx, to, &tdir, &tname));
    struct node *n = get(fdir, fname);
    if (!n)
        return missing(cx, from);
    if (get(tdir, tname))
        return fail(cx, E_EXISTS, to, "something with that name is there already");
    if (n->is_dir && to.len > from.len && str_starts(to, from) && to.p[from.len] == '/')
        return fail(cx, E_INVAL, to, "a directory cannot be moved into itself");
    TRY(set(cx, tdir, tname, n));
    TRY(set(cx, fdir, fname, NULL));
    n->ctime_ns++;
    if (sync_dir(tdir) < 0 || (fdir != tdir && sync_dir(fdir) < 0))
        return sync_failed(cx, to, E_UNKNOWN);
    return 0;
}

static int mem_io_remove_tree(struct io *io, struct ctx *cx, str path)
{
    CLEANUP(unlock) struct io_mem *m = lock(io);
    TRY(io_path_check(cx, path));
    if (path.len == 0)
        return fail(cx, E_INVAL, path, "the warehouse root itself is never removed");
    struct node *dir = walk(m, parent_path(path));
    if (!dir || !get(dir, last_part(path)))
        return 0;
    return set(cx, dir, last_part(path), NULL);
}

static int mem_io_sync(struct io *io, struct ctx *cx, const str *paths, size_t n)
{
    CLEANUP(unlock) struct io_mem *m = lock(io);
    struct node *f;
    for (size_t i = 0; i < n; i++)
        TRY(find(m, cx, paths[i], &f));
    for (size_t i = 0; i < n; i++) {
        TRY(find(m, cx, paths[i], &f));
        if ((f->is_dir ? sync_dir(f) : sync_file(f)) < 0)
            return sync_failed(cx, paths[i], E_IO);
    }
    for (size_t i = 0; i < n; i++) {
        TRY(find(m, cx, parent_path(paths[i]), &f));
        if (sync_dir(f) < 0)
            return sync_failed(cx, paths[i], E_IO);
    }
    return 0;
}

static int mem_io_space(struct io *io, struct ctx *cx, int64_t *ret_free_bytes)
{
    (void)io;
    (void)cx;
    *ret_free_bytes = FREE_BYTES;
    return 0;
}

static const struct io_ops mem_ops = {
    .free = mem_io_free,
    .read = mem_io_read,
    .write = mem_io_write,
    .put_if_absent = mem_io_put,
    .stat = mem_io_stat,
    .list = mem_io_list,
    .del = mem_io_del,
    .mkdirs = mem_io_mkdirs,
    .move = mem_io_move,
    .remove_tree = mem_io_remove_tree,
    .sync = mem_io_sync,
    .space = mem_io_space,
};

int io_mem_new(struct ctx *cx, struct io **ret)
{
    struct io_mem *m = mem_zalloc(sizeof(*m));
    if (!m)
        return ctx_nomem(cx);
    m->io.ops = &mem_ops;
    pthread_mutex_init(&m->mu, NULL);
    m->root = node_new(m, true, STR_LIT(""));
    if (!m->root) {
        mem_io_free(&m->io);
        return ctx_nomem(cx);
    }
    *ret = &m->io;
    return 0;
}

void io_mem_crash(struct io *io)
{
    CLEANUP(unlock) struct io_mem *m = lock(io);
    for (struct node *n = m->all; n; n = n->next) {
        settle(n, true);
        if (!n->is_dir && !n->durable)
            n->len = 0;
    }
}
