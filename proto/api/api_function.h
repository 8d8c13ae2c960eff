/* api_function.h - bodies of the function routes. */
#ifndef LATCH_PROTO_API_API_FUNCTION_H
#define LATCH_PROTO_API_API_FUNCTION_H

#include "proto/api/api_common.h"

struct api_function {
    str id, name;
    str json; /* an object: the members inputParams to comment of Paimon's GetFunctionResponse */
    struct api_audit audit;
};

/* Of a create request; the other members are catalog/function.c's matter. */
int api_function_create_decode(struct ctx *cx, const struct json *body, str *ret_name) WARN_UNUSED;
int api_function_encode(struct ctx *cx, struct buf *out, const struct api_function *in) WARN_UNUSED;
/* {"functionDetails":[functions],"nextPageToken":name of the last if n == limit, else null} */
int api_functions_encode(struct ctx *cx, struct buf *out, const struct api_function *in, size_t n,
                         int64_t limit) WARN_UNUSED;

#endif
