/* meta_read.c - see meta_read.h. Manifests are read in a context of their own, so that reading ten
 * thousand of them takes no more memory than the largest. No state; any thread that may block. */
#include "catalog/meta_read.h"

#include "manifest/layout.h"
#include "proto/base/path.h"

#define SHOWN(s)    (int)((s).len > 120 ? 120 : (s).len), ((s).p ? (s).p : "")
#define ENTRY_ARENA ((size_t)64 << 20)

/* Whatever is wrong with the bytes is one thing to whoever named the file. */
static int damaged(struct ctx *cx, int rc)
{
    if (rc == E_UNSUPPORTED || rc == E_TOOBIG) {
        cx->err.code = E_CORRUPT;
        return E_CORRUPT;
    }
    return rc;
}

int meta_read(struct ctx *cx, const struct meta_dir *d, str name, struct opt_i64 size,
              struct buf *ret)
{
    if (!path_component_ok(name))
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "\"%.*s\" is no name of a file",
                        SHOWN(name));
    str path = layout_manifest(&cx->arena, d->dir, name);
    if (!path.p)
        return ctx_nomem(cx);
    buf_init(ret, META_FILE_MAX);
    int rc = io_read(d->io, cx, path, META_FILE_MAX, ret);
    if (rc == E_NOTFOUND)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%.*s does not exist", SHOWN(path));
    if (rc == E_TOOBIG)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%.*s has more than %zu bytes",
                        SHOWN(path), META_FILE_MAX);
    TRY(rc);
    if (size.has && size.v != (int64_t)ret->len)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "%.*s has %zu bytes, what names it says %lld", SHOWN(path), ret->len,
                        (long long)size.v);
    return 0;
}

int meta_list(struct ctx *cx, const struct meta_dir *d, str name, struct opt_i64 size,
              struct manifest_file **ret, size_t *ret_n)
{
    CLEANUP(buf_done) struct buf b = {0};
    TRY(meta_read(cx, d, name, size, &b));
    return damaged(cx, manifest_list_read(cx, buf_str(&b), name, ret, ret_n));
}

int meta_index(struct ctx *cx, const struct meta_dir *d, str name, struct index_entry **ret,
               size_t *ret_n)
{
    CLEANUP(buf_done) struct buf b = {0};
    TRY(meta_read(cx, d, name, SIZE_ANY, &b));
    TRY(damaged(cx, index_manifest_read(cx, buf_str(&b), name, ret, ret_n)));
    for (size_t i = 0; i < *ret_n; i++)
        if ((*ret)[i].kind != FILE_ADD)
            return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                            "%.*s: the entry of \"%.*s\" is a DELETE; an index manifest lists what "
                            "is there",
                            SHOWN(name), SHOWN((*ret)[i].name));
    return 0;
}

struct count {
    int64_t added, deleted;
};

static int each_entry(struct ctx *cx, struct manifest_reader *r, meta_entry_fn *fn, void *arg,
                      struct count *n)
{
    const struct manifest_entry *e;
    int rc;
    while ((rc = manifest_next(cx, r, &e)) > 0) {
        n->added += e->kind == FILE_ADD;
        n->deleted += e->kind == FILE_DELETE;
        rc = fn(cx, arg, e);
        if (rc < 0)
            return rc == E_CORRUPT ? ctx_prefix(cx, "%.*s", SHOWN(r->avro.name)) : rc;
    }
    return damaged(cx, rc);
}

static int manifest_in(struct ctx *cx, const struct meta_dir *d, const struct manifest_file *m,
                       meta_entry_fn *fn, void *arg)
{
    CLEANUP(buf_done) struct buf b = {0};
    CLEANUP(manifest_done) struct manifest_reader r = {0};
    struct count n = {0};
    TRY(meta_read(cx, d, m->name, (struct opt_i64){true, m->size}, &b));
    TRY(damaged(cx, manifest_open(cx, &r, buf_str(&b), m->name)));
    TRY(each_entry(cx, &r, fn, arg, &n));
    /* Java passes over manifests without deletions when it looks for deletions. */
    if (n.added != m->added || n.deleted != m->deleted)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "%.*s adds %lld files and deletes %lld, its list says %lld and %lld",
                        SHOWN(m->name), (long long)n.added, (long long)n.deleted,
                        (long long)m->added, (long long)m->deleted);
    return 0;
}

int meta_manifest(struct ctx *cx, const struct meta_dir *d, const struct manifest_file *m,
                  meta_entry_fn *fn, void *arg)
{
    struct ctx own;
    ctx_init(&own, ENTRY_ARENA);
    own.deadline_ms = cx->deadline_ms;
    int rc = manifest_in(&own, d, m, fn, arg);
    if (rc < 0)
        cx->err = own.err;
    ctx_done(&own);
    return rc;
}
