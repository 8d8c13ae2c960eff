/* api_snapshot.h - bodies of the snapshot routes and of rollback. The body of GET …/snapshot comes
 * finished from the catalog. */
#ifndef LATCH_PROTO_API_API_SNAPSHOT_H
#define LATCH_PROTO_API_API_SNAPSHOT_H

#include "proto/api/api_common.h"

struct api_rollback {
    str tag;               /* STR_NONE: by snapshot id */
    int64_t snapshot_id;   /* when by id */
    int64_t from_snapshot; /* 0: null, no guard */
};

int api_rollback_decode(struct ctx *cx, const struct json *body,
                        struct api_rollback *ret) WARN_UNUSED;
/* pageToken of the snapshot list: the id of the last page's last item; absent or empty gives 0. */
int api_snapshot_token(struct ctx *cx, str token, int64_t *ret_below) WARN_UNUSED;
/* jsons: n texts of snapshots, ids: theirs, in the order of the page. */
int api_snapshots_encode(struct ctx *cx, struct buf *out, const str *jsons, const int64_t *ids,
                         size_t n, int64_t limit) WARN_UNUSED;
int api_snapshot_at_encode(struct ctx *cx, struct buf *out, str json) WARN_UNUSED;

#endif
