/* snapshots.c - snapshots that are files: listed and read as the directory has them.
 *
 * Stock clients expire snapshots by deleting files behind our back, so the directory is the truth.
 * What lies above the head is not shown: it was not adopted. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "manifest/tag.h"

static int64_t head_id(struct branch *br)
{
    pthread_mutex_lock(&br->mu);
    int64_t id = br->head ? br->head->id : 0;
    pthread_mutex_unlock(&br->mu);
    return id;
}

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

int branch_ids(struct ctx *cx, struct branch *br, str dir, bool (*parse)(str, int64_t *),
               int64_t above, int64_t up_to, struct ids *ret)
{
    struct io_entry *e = NULL;
    size_t n = 0;
    int rc = dir.p ? io_list(br->table->io, cx, dir, &e, &n) : ctx_nomem(cx);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    ret->n = 0;
    ret->at = ARENA_ARRAY(&cx->arena, int64_t, n ? n : 1);
    if (!ret->at)
        return ctx_nomem(cx);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        int64_t id;
        if (parse(e[i].name, &id) && id > above && id <= up_to)
            ret->at[ret->n++] = id;
    }
    qsort(ret->at, ret->n, sizeof *ret->at, newest_first);
    return 0;
}

/* Of the snapshot files up to the head. */
static int ids_of(struct ctx *cx, struct branch *br, struct ids *ret)
{
    str dir = layout_snapshot_dir(&cx->arena, str_of(br->table->dir), str_of(br->name));
    return branch_ids(cx, br, dir, layout_snapshot_id, 0, head_id(br), ret);
}

int branch_snapshots(struct ctx *cx, struct branch *br, int64_t below, int64_t limit, str **ret,
                     int64_t **ret_ids, size_t *ret_n)
{
    struct ids ids;
    size_t k = 0;
    TRY(ids_of(cx, br, &ids));
    str *texts = ARENA_ARRAY(&cx->arena, str, ids.n ? ids.n : 1);
    if (!texts)
        return ctx_nomem(cx);
    for (size_t i = 0; i < ids.n && (int64_t)k < limit; i++) {
        struct snapshot s;
        if (below > 0 && ids.at[i] >= below)
            continue;
        int rc = snapshot_load(cx, br, ids.at[i], &s);
        if (rc == E_NOTFOUND) { /* expired since it was listed */
            ctx_reset_err(cx);
            continue;
        }
        TRY(rc);
        ids.at[k] = ids.at[i];
        texts[k++] = s.raw;
    }
    *ret = texts;
    *ret_ids = ids.at;
    *ret_n = k;
    return 0;
}

static int not_there(struct ctx *cx, str version)
{
    ctx_reset_err(cx);
    return ctx_fail(cx, E_NOTFOUND, RES_SNAPSHOT, version,
                    "there is no snapshot '%.*s': give EARLIEST, LATEST, an id that has not "
                    "expired, or a tag's name",
                    STR(version));
}

int tag_load(struct ctx *cx, struct branch *br, str tag, struct snapshot *ret)
{
    struct table *t = br->table;
    CLEANUP(buf_done) struct buf b = {0};
    str path = layout_tag(&cx->arena, str_of(t->dir), str_of(br->name), tag);
    int rc = path.p ? io_read(t->io, cx, path, t->cat->o.snapshot_max_bytes, &b) : E_NOTFOUND;
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return ctx_fail(cx, E_NOTFOUND, RES_TAG, tag, "tag '%.*s' does not exist", STR(tag));
    }
    TRY(rc);
    return snapshot_decode_file(cx, buf_str(&b), path, ret);
}

int branch_tags(struct ctx *cx, struct branch *br, struct tags *ret)
{
    struct table *t = br->table;
    struct io_entry *e = NULL;
    size_t n = 0;
    str folder = layout_tag_dir(&cx->arena, str_of(t->dir), str_of(br->name));
    int rc = folder.p ? io_list(t->io, cx, folder, &e, &n) : ctx_nomem(cx);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    struct tags tags = {.at = ARENA_ARRAY(&cx->arena, struct tag_at, n ? n : 1)};
    if (!tags.at)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++) {
        struct tag_at *tag = &tags.at[tags.n];
        if (!layout_tag_name(e[i].name, &tag->name))
            continue;
        rc = tag_load(cx, br, tag->name, &tag->snap);
        if (rc == E_NOMEM || rc == E_IO || rc == E_BUSY)
            return rc;
        if (rc == 0)
            tags.n++;
        else /* no tag, whatever it is: not ours to judge */
            ctx_reset_err(cx);
    }
    *ret = tags;
    return 0;
}

int snapshot_trim(struct ctx *cx, struct snapshot *s)
{
    return tag_trim(cx, s->raw, &s->raw);
}

static int by_tag(struct ctx *cx, struct branch *br, str tag, str *ret_json)
{
    struct snapshot s;
    int rc = tag_load(cx, br, tag, &s);
    if (rc == E_NOTFOUND)
        return not_there(cx, tag);
    TRY(rc);
    TRY(snapshot_trim(cx, &s));
    *ret_json = s.raw;
    return 0;
}

/* Digits without leading zeros, as ids are written. */
static bool is_id(str version, int64_t *ret)
{
    return version.len > 0 && version.p[0] >= '1' && version.p[0] <= '9' &&
           str_to_i64(version, ret);
}

int branch_snapshot_at(struct ctx *cx, struct branch *br, str version, str *ret_json)
{
    int64_t id = 0;
    struct ids ids;
    struct snapshot s;
    bool named = str_eqz(version, "EARLIEST") || str_eqz(version, "LATEST");
    if (!named && !is_id(version, &id))
        return by_tag(cx, br, version, ret_json);
    if (named) {
        TRY(ids_of(cx, br, &ids));
        if (ids.n == 0)
            return not_there(cx, version);
        id = str_eqz(version, "LATEST") ? ids.at[0] : ids.at[ids.n - 1];
    }
    int rc = id <= head_id(br) ? snapshot_load(cx, br, id, &s) : E_NOTFOUND;
    if (rc == E_NOTFOUND)
        return not_there(cx, version);
    TRY(rc);
    *ret_json = s.raw;
    return 0;
}
