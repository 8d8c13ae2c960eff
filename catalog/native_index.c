/* native_index.c - the index files that are live after a native commit.
 *
 * As Paimon combines them: the vectors of a table without buckets are known by their file, all other index
 * files by partition, bucket and type, and a new one takes the place of the old. Partitions are compared as
 * Java would write them. Source: paimon-core's IndexManifestFileHandler.
 *
 * Thread rule: the branch's strand. Nothing blocks. */
#include "catalog/native_int.h"

#include "proto/base/mem.h"

struct slot { /* of a bucket, or of a file in it */
    size_t at;
    bool met;
};
struct combining {
    struct ctx *cx;
    struct native *nc;
    struct map gone;     /* file -> struct slot of index_gone */
    struct map coming;   /* file -> struct slot of index_add */
    struct map replaced; /* bucket and type -> the same, of those that replace */
    struct slot *slots;
};

static bool by_file(const struct combining *c, str type)
{
    bool known = str_eqz(type, INDEX_TYPE_DV) || str_eqz(type, INDEX_TYPE_HASH);
    return !known || (c->nc->o.unaware && str_eqz(type, INDEX_TYPE_DV));
}

/* A key for the maps: of its partition, bucket and `what`. */
static int key_of(struct combining *c, str partition, int32_t bucket, str what, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    str row;
    TRY(partition_row(c->cx, &c->nc->partitions, partition, &row));
    buf_addf(&b, "%d %zu ", bucket, row.len);
    buf_adds(&b, row);
    buf_adds(&b, what);
    *ret = buf_fail(&b) ? STR_NONE : str_dup(&c->cx->arena, buf_str(&b));
    return ret->p ? 0 : ctx_nomem(c->cx);
}

static int refuse(struct combining *c, const char *code, str name, const char *why)
{
    return ctx_fail(
        c->cx, E_CONFLICT, RES_TABLE, branch_object(c->cx, c->nc->cm.br),
        "%s: the index file \"%.*s\" %s; nothing was committed: read the latest snapshot "
        "and do this again from there",
        code, (int)(name.len > 120 ? 120 : name.len), name.p, why);
}

static int put(struct combining *c, struct map *m, str key, size_t at, str name)
{
    struct slot *s = ARENA_NEW(&c->cx->arena, struct slot);
    if (!s)
        return ctx_nomem(c->cx);
    s->at = at;
    if (map_get(m, key))
        return refuse(c, m == &c->gone ? "file-gone" : "file-twice", name,
                      m == &c->gone ? "is deleted twice" : "comes twice, or its bucket has two");
    return map_put(m, key, s) < 0 ? ctx_nomem(c->cx) : 0;
}

static int note_changes(struct combining *c)
{
    const struct native_files *f = &c->nc->files;
    str key;
    for (size_t i = 0; i < f->n_index_gone; i++) {
        const struct native_place *p = &f->index_gone[i];
        TRY(key_of(c, p->partition, p->bucket, p->name, &key));
        TRY(put(c, &c->gone, key, i, p->name));
    }
    for (size_t i = 0; i < f->n_index_add; i++) {
        const struct index_entry *e = &f->index_add[i];
        TRY(put(c, &c->coming, e->name, i, e->name));
        if (by_file(c, e->type))
            continue;
        TRY(key_of(c, e->partition, e->bucket, e->type, &key));
        TRY(put(c, &c->replaced, key, i, e->name));
    }
    return 0;
}

/* Does an entry of the head stay? */
static int stays(struct combining *c, const struct index_entry *e, bool *ret)
{
    str key;
    TRY(key_of(c, e->partition, e->bucket, e->name, &key));
    struct slot *gone = map_get(&c->gone, key);
    if (gone)
        gone->met = true;
    *ret = !gone;
    if (gone)
        return 0;
    if (!by_file(c, e->type)) {
        TRY(key_of(c, e->partition, e->bucket, e->type, &key));
        *ret = !map_get(&c->replaced, key);
    }
    if (*ret && map_get(&c->coming, e->name))
        return refuse(c, "file-twice", e->name, "is live already");
    return 0;
}

static int combine(struct combining *c)
{
    struct native *nc = c->nc;
    const struct native_head_index *was = &nc->index;
    size_t n = 0;
    nc->index_entries =
        ARENA_ARRAY(&c->cx->arena, struct index_entry, was->n + nc->files.n_index_add + 1);
    if (!nc->index_entries)
        return ctx_nomem(c->cx);
    TRY(note_changes(c));
    for (size_t i = 0; i < was->n; i++) {
        bool keep;
        TRY(stays(c, &was->entries[i], &keep));
        if (keep)
            nc->index_entries[n++] = was->entries[i];
    }
    size_t at = 0;
    void *v;
    str key;
    while (map_next(&c->gone, &at, &key, &v))
        if (!((struct slot *)v)->met)
            return refuse(c, "file-gone", nc->files.index_gone[((struct slot *)v)->at].name,
                          "is deleted and not live");
    for (size_t i = 0; i < nc->files.n_index_add; i++)
        nc->index_entries[n++] = nc->files.index_add[i];
    nc->n_index = n;
    return 0;
}

int native_index(struct ctx *cx, struct native *nc)
{
    struct combining c = {.cx = cx, .nc = nc};
    map_init(&c.gone);
    map_init(&c.coming);
    map_init(&c.replaced);
    int rc = combine(&c);
    map_done(&c.gone);
    map_done(&c.coming);
    map_done(&c.replaced);
    return rc;
}
