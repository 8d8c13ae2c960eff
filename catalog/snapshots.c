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

int branch_no_snapshot(struct ctx *cx, struct branch *br, int64_t id)
{
    char name[24];
    str full = branch_full_name(cx, br);
    snprintf(name, sizeof name, "%lld", (long long)id);
    return ctx_fail(cx, E_NOTFOUND, RES_SNAPSHOT, str_of(name),
                    "snapshot %s of table %.*s does not exist: it was never made, or it has "
                    "expired",
                    name, STR(full));
}

static int not_there(struct ctx *cx, str version)
{
    ctx_reset_err(cx);
    return ctx_fail(cx, E_NOTFOUND, RES_SNAPSHOT, version,
                    "there is no snapshot '%.*s': give EARLIEST, LATEST, an id that has not "
                    "expired, or a tag's name",
                    STR(version));
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
