/* api_commit.h - bodies of POST …/commit. */
#ifndef LATCH_PROTO_API_API_COMMIT_H
#define LATCH_PROTO_API_API_COMMIT_H

#include "proto/api/api_common.h"

struct api_commit {
    str table_id;                /* STR_NONE: null */
    str base_uuid;               /* STR_NONE: null */
    const struct json *snapshot; /* an object, not looked into */
};

int api_commit_decode(struct ctx *cx, const struct json *body, struct api_commit *ret) WARN_UNUSED;

#define API_COMMIT_ANSWER_MAX 32 /* bytes: with so many reserved in `out`, encoding cannot fail */
int api_commit_encode(struct ctx *cx, struct buf *out, bool success) WARN_UNUSED;

#endif
