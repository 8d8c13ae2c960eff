/* api_access.h - bodies of GET …/token and POST …/auth. */
#ifndef LATCH_PROTO_API_API_ACCESS_H
#define LATCH_PROTO_API_API_ACCESS_H

#include "proto/api/api_common.h"

/* The columns a query reads: an array of strings. NULL: all of them. */
int api_auth_decode(struct ctx *cx, const struct json *body,
                    const struct json **ret_select) WARN_UNUSED;
/* No row filter and no column masking. */
int api_auth_encode(struct ctx *cx, struct buf *out) WARN_UNUSED;
/* A token without options for the client's file access. */
int api_token_encode(struct ctx *cx, struct buf *out, int64_t expires_ms) WARN_UNUSED;

#endif
