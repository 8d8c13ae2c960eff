/* api_snapshot.c - bodies of the snapshot list, of one snapshot by version, and of rollback.
 *
 * Format: Paimon's ListSnapshotsResponse, GetVersionSnapshotResponse, RollbackTableRequest with its
 * Instant. Java compares snapshots field by field, so they are given out as the text that the file
 * holds. The list runs from the newest down; its page token is the last id. Pure. */
#include "proto/api/api_snapshot.h"
#include "proto/base/assert.h"
#include "proto/base/path.h"

#define TAG_NAME_MAX (PATH_COMPONENT_MAX - 4) /* its file is called tag-<name> */

static int decode_snapshot_id(struct ctx *cx, const struct json *instant, int64_t *ret)
{
    TRY(json_want_i64(cx, instant, "instant", "snapshotId", ret));
    if (*ret >= 0)
        return 0; /* clients ask for 0 to undo the first snapshot: a 404, not a bad body */
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "instant.snapshotId is %lld; it must be the id of a snapshot (1 or more)",
                    (long long)*ret);
}

static int decode_tag(struct ctx *cx, const struct json *instant, str *ret)
{
    TRY(json_want_str(cx, instant, "instant", "tagName", ret));
    TRY(path_component(cx, *ret, "instant.tagName"));
    if (ret->len <= TAG_NAME_MAX)
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "instant.tagName has %zu bytes; at most %d are allowed", ret->len,
                    TAG_NAME_MAX);
}

static int decode_instant(struct ctx *cx, const struct json *instant, struct api_rollback *out)
{
    str type;
    TRY(json_want_str(cx, instant, "instant", "type", &type));
    if (str_eqz(type, "snapshot"))
        return decode_snapshot_id(cx, instant, &out->snapshot_id);
    if (str_eqz(type, "tag"))
        return decode_tag(cx, instant, &out->tag);
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "instant.type is \"%.*s\"; it must be \"snapshot\" or \"tag\"",
                    API_SHOWN(type));
}

int api_rollback_decode(struct ctx *cx, const struct json *body, struct api_rollback *ret)
{
    struct api_rollback out = {0};
    const struct json *instant;
    TRY(json_want_obj(cx, body, "", "instant", &instant));
    TRY(decode_instant(cx, instant, &out));
    TRY(json_opt_i64(cx, body, "", "fromSnapshot", 0, &out.from_snapshot));
    /* 0 stands for "no guard" further on: a guard that was sent must not turn into none. */
    if (!json_is_null(json_get(body, "fromSnapshot")) && out.from_snapshot < 1)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "fromSnapshot is %lld; it must be the id of a snapshot (1 or more) or null",
                        (long long)out.from_snapshot);
    *ret = out;
    return 0;
}

int api_snapshot_token(struct ctx *cx, str token, int64_t *ret_below)
{
    int64_t id = 0;
    if (token.len > 0 && (!str_to_i64(token, &id) || id < 1))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "pageToken is \"%.*s\"; it must be the nextPageToken of the page before "
                        "(a snapshot id), or be left out",
                        API_SHOWN(token));
    *ret_below = id;
    return 0;
}

int api_snapshots_encode(struct ctx *cx, struct buf *out, const str *jsons, const int64_t *ids,
                         size_t n, int64_t limit)
{
    ASSERT(limit > 0 && n <= (size_t)limit);
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_key(&o, "snapshots");
    json_arr(&o);
    for (size_t i = 0; i < n; i++)
        json_raw(&o, jsons[i]);
    json_end(&o);
    char token[24];
    snprintf(token, sizeof(token), "%lld", n > 0 ? (long long)ids[n - 1] : 0);
    json_kstr(&o, "nextPageToken", n == (size_t)limit ? str_of(token) : STR_NONE);
    json_end(&o);
    return api_out_end(cx, out);
}

int api_snapshot_at_encode(struct ctx *cx, struct buf *out, str json)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_kraw(&o, "snapshot", json);
    json_end(&o);
    return api_out_end(cx, out);
}
