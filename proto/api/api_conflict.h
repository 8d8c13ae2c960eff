/* api_conflict.h - bodies of the conflict routes, which are our own. */
#ifndef LATCH_PROTO_API_API_CONFLICT_H
#define LATCH_PROTO_API_API_CONFLICT_H

#include "proto/api/api_common.h"

struct api_conflict {
    int64_t id;
    str code;
    bool accepted;
    int64_t count, first_ms, last_ms;
    int64_t snapshot_id, identifier;
    str commit_user, kind;
    str principal; /* empty: null */
    bool placed;   /* else partition and bucket are null */
    str partition;
    int64_t bucket;
    str file;               /* empty: null */
    int64_t other_snapshot; /* 0: null, and the user too */
    str other_user;
    str message;
};

/* pageToken of the list: the id of the last page's last item; absent or empty gives 0. */
int api_conflict_token(struct ctx *cx, str token, int64_t *ret_below) WARN_UNUSED;
/* The {id} of a path. E_NOTFOUND (CONFLICT): none can have it. */
int api_conflict_id(struct ctx *cx, str text, int64_t *ret) WARN_UNUSED;
int api_conflict_encode(struct ctx *cx, struct buf *out, const struct api_conflict *c) WARN_UNUSED;
int api_conflicts_encode(struct ctx *cx, struct buf *out, const struct api_conflict *v, size_t n,
                         int64_t limit) WARN_UNUSED;

#endif
