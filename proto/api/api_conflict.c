/* api_conflict.c - a page of conflicts, and one.
 *
 * The format is ours: members are named as Paimon names its own (commitUser, snapshotId, times in
 * milliseconds), each is always there, and what does not apply is null. The list runs from the newest
 * down; its page token is the last id. Pure. */
#include "proto/api/api_conflict.h"
#include "proto/base/assert.h"

int api_conflict_token(struct ctx *cx, str token, int64_t *ret_below)
{
    int64_t id = 0;
    if (token.len > 0 && (!str_to_i64(token, &id) || id < 1))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "pageToken is \"%.*s\"; it must be the nextPageToken of the page before "
                        "(the id of a conflict), or be left out",
                        API_SHOWN(token));
    *ret_below = id;
    return 0;
}

int api_conflict_id(struct ctx *cx, str text, int64_t *ret)
{
    int64_t id = 0;
    if (!str_to_i64(text, &id) || id < 1)
        return ctx_fail(cx, E_NOTFOUND, RES_CONFLICT, text,
                        "no conflict has the id \"%.*s\"; ids are whole numbers above 0",
                        API_SHOWN(text));
    *ret = id;
    return 0;
}

static void put_place(struct json_out *o, const struct api_conflict *c)
{
    json_kstr(o, "partition", c->placed ? c->partition : STR_NONE);
    json_key(o, "bucket");
    if (c->placed)
        json_i64(o, c->bucket);
    else
        json_null(o);
    json_kstr(o, "file", c->file.len ? c->file : STR_NONE);
}

static void put_other(struct json_out *o, const struct api_conflict *c)
{
    json_key(o, "otherSnapshotId");
    if (c->other_snapshot)
        json_i64(o, c->other_snapshot);
    else
        json_null(o);
    json_kstr(o, "otherCommitUser", c->other_snapshot ? c->other_user : STR_NONE);
}

static void put(struct json_out *o, const struct api_conflict *c)
{
    json_obj(o);
    json_ki64(o, "id", c->id);
    json_kstr(o, "code", c->code);
    json_kbool(o, "accepted", c->accepted);
    json_ki64(o, "count", c->count);
    json_ki64(o, "firstTimeMillis", c->first_ms);
    json_ki64(o, "lastTimeMillis", c->last_ms);
    json_ki64(o, "snapshotId", c->snapshot_id);
    json_kstr(o, "commitUser", c->commit_user);
    json_ki64(o, "commitIdentifier", c->identifier);
    json_kstr(o, "commitKind", c->kind);
    json_kstr(o, "principal", c->principal.len ? c->principal : STR_NONE);
    put_place(o, c);
    put_other(o, c);
    json_kstr(o, "message", c->message);
    json_end(o);
}

int api_conflict_encode(struct ctx *cx, struct buf *out, const struct api_conflict *c)
{
    struct json_out o;
    json_out_init(&o, out);
    put(&o, c);
    return api_out_end(cx, out);
}

int api_conflicts_encode(struct ctx *cx, struct buf *out, const struct api_conflict *v, size_t n,
                         int64_t limit)
{
    ASSERT(limit > 0 && n <= (size_t)limit);
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_key(&o, "conflicts");
    json_arr(&o);
    for (size_t i = 0; i < n; i++)
        put(&o, &v[i]);
    json_end(&o);
    char token[24];
    snprintf(token, sizeof(token), "%lld", n > 0 ? (long long)v[n - 1].id : 0);
    json_kstr(&o, "nextPageToken", n == (size_t)limit ? str_of(token) : STR_NONE);
    json_end(&o);
    return api_out_end(cx, out);
}
