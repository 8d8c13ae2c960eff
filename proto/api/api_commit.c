/* api_commit.c - bodies of POST …/commit: the commit a client asks for, and the answer.
 *
 * Format: Paimon's CommitTableRequest and CommitTableResponse. The snapshot stays the client's text;
 * manifest/snapshot reads it. Clients up to 1.4 send no baseSnapshotUuid. The member `statistics`, what
 * the client says that the commit did to partitions, is not looked at: its files say the same, and what
 * is wrong with it is no reason to refuse the commit. Pure. */
#include "proto/api/api_commit.h"

int api_commit_decode(struct ctx *cx, const struct json *body, struct api_commit *ret)
{
    struct api_commit out;
    TRY(json_opt_str(cx, body, "", "tableId", &out.table_id));
    TRY(json_opt_str(cx, body, "", "baseSnapshotUuid", &out.base_uuid));
    TRY(json_want_obj(cx, body, "", "snapshot", &out.snapshot));
    *ret = out;
    return 0;
}

int api_commit_encode(struct ctx *cx, struct buf *out, bool success)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_kbool(&o, "success", success);
    json_end(&o);
    return api_out_end(cx, out);
}
