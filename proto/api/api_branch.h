/* api_branch.h - bodies of the branch routes and of rollback-schema. */
#ifndef LATCH_PROTO_API_API_BRANCH_H
#define LATCH_PROTO_API_API_BRANCH_H

#include "proto/api/api_common.h"

struct api_branch_create {
    str name;
    str tag; /* STR_NONE: without one */
};

int api_branch_create_decode(struct ctx *cx, const struct json *body,
                             struct api_branch_create *ret) WARN_UNUSED;
int api_branch_rename_decode(struct ctx *cx, const struct json *body, str *ret_to) WARN_UNUSED;
int api_branches_encode(struct ctx *cx, struct buf *out, const str *names, size_t n) WARN_UNUSED;
int api_rollback_schema_decode(struct ctx *cx, const struct json *body,
                               int64_t *ret_schema_id) WARN_UNUSED;

#endif
