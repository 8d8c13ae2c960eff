/* file_evidence.c - see file_evidence.h.
 *
 * Each file is looked at in a context of its own, so that a hundred thousand of them take no memory but
 * their answers. A disk that does not answer is no reason to refuse for ever, so it is an error; a file
 * that is no file, or that may not be looked at, is what the client must mend.
 *
 * Source: paimon-core's FileStorePathFactory and DataFilePathFactory. Any thread that may block. */
#include "catalog/file_evidence.h"

#include <errno.h>

#define BUCKET_POSTPONE (-2)

static int partition_path(struct ctx *cx, const struct file_layout *l, struct partitioner *p,
                          str partition, struct buf *b)
{
    TRY(binrow_read(cx, &p->type, partition, p->values));
    p->has = false; /* its scratch was used */
    return partition_path_write(cx, &p->type, l->partition_names, p->values, &l->naming, b);
}

int table_file_path(struct ctx *cx, const struct file_layout *l, struct partitioner *p,
                    const struct table_file *f, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    TRY(path_component(cx, f->name, "name of a data file"));
    if (l->dir.len)
        buf_addf(&b, "%.*s/", STR(l->dir));
    if (l->path_directory.len)
        buf_addf(&b, "%.*s/", STR(l->path_directory));
    TRY(partition_path(cx, l, p, f->partition, &b));
    if (f->bucket == BUCKET_POSTPONE)
        buf_addz(&b, "bucket-postpone/");
    else
        buf_addf(&b, "bucket-%d/", f->bucket);
    buf_adds(&b, f->name);
    *ret = str_dup(&cx->arena, buf_str(&b));
    return buf_fail(&b) || !ret->p ? ctx_nomem(cx) : 0;
}

struct gathering {
    struct commit_facts *f;
    const struct file_layout *l;
    external_fn *external;
    void *arg;
};

static int place_of(struct ctx *cx, struct gathering *g, const struct table_file *f,
                    struct io **ret_io, str *ret_path)
{
    str path;
    *ret_io = g->f->dir.io;
    if (!f->external_path.p)
        return table_file_path(cx, g->l, &g->f->filer.partitions, f, ret_path);
    TRY(path_absolute(cx, f->external_path, &path));
    if (g->external && g->external(g->arg, path, ret_io, ret_path))
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "it is in no directory of this server");
}

static int look(struct ctx *cx, struct gathering *g, const struct table_file *f,
                struct file_evidence *ret)
{
    struct io *io;
    struct io_stat st;
    str path;
    TRY(place_of(cx, g, f, &io, &path));
    TRY(io_stat(io, cx, path, &st));
    if (st.is_dir)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "it is a directory");
    *ret = (struct file_evidence){.seen = FILE_THERE, .size = st.size};
    return 0;
}

/* What we may not look at is the client's to mend; a disk that fails is not. */
static bool nothing_known(int rc, int sys_errno)
{
    bool forbidden = sys_errno == EACCES || sys_errno == EPERM;
    return rc == E_NOMEM || rc == E_TIMEOUT || rc == E_BUSY || (rc == E_IO && !forbidden);
}

static int look_in_own(struct ctx *cx, struct gathering *g, const struct table_file *f,
                       struct file_evidence *ret)
{
    struct ctx own;
    int rc;
    ctx_init(&own, (size_t)1 << 20);
    rc = look(&own, g, f, ret);
    if (rc == E_NOTFOUND) {
        *ret = (struct file_evidence){.seen = FILE_MISSING};
        rc = 0;
    } else if (nothing_known(rc, own.err.sys_errno)) {
        cx->err = own.err;
    } else if (rc < 0) {
        *ret = (struct file_evidence){.seen = FILE_UNREADABLE,
                                      .why = str_dup(&cx->arena, str_of(own.err.msg))};
        rc = ret->why.p ? 0 : ctx_nomem(cx);
    }
    ctx_done(&own);
    return rc;
}

int file_evidence_gather(struct ctx *cx, struct commit_facts *f, const struct conflict_rules *rules,
                         const struct file_layout *l, external_fn *external, void *arg,
                         struct file_evidence **ret)
{
    struct gathering g = {f, l, external, arg};
    struct file_evidence *v = ARENA_ARRAY(&cx->arena, struct file_evidence, f->n_entries + 1);
    if (!v)
        return ctx_nomem(cx);
    for (size_t i = 0; i < f->n_entries; i++) {
        if (!conflict_wants_file(rules, &f->entries[i]))
            continue;
        TRY(look_in_own(cx, &g, &f->entries[i].f, &v[i]));
        if (i % 64 == 0)
            TRY(ctx_check_deadline(cx));
    }
    *ret = v;
    return 0;
}
