/* api_view.h - bodies of the view routes. */
#ifndef LATCH_PROTO_API_API_VIEW_H
#define LATCH_PROTO_API_API_VIEW_H

#include "proto/api/api_common.h"

struct api_view_create {
    str name;
    const struct json *schema; /* an object, not looked into */
};
struct api_view_rename {
    struct api_ident source, destination;
};
struct api_view {
    str id, name;
    str schema_json; /* Paimon's ViewSchema object */
    struct api_audit audit;
};

/* `database` is the path's; the body must name the same. */
int api_view_create_decode(struct ctx *cx, const struct json *body, str database,
                           struct api_view_create *ret) WARN_UNUSED;
int api_view_rename_decode(struct ctx *cx, const struct json *body,
                           struct api_view_rename *ret) WARN_UNUSED;
int api_view_encode(struct ctx *cx, struct buf *out, const struct api_view *in) WARN_UNUSED;
/* {"viewDetails":[views],"nextPageToken":name of the last if n == limit, else null} */
int api_views_encode(struct ctx *cx, struct buf *out, const struct api_view *in, size_t n,
                     int64_t limit) WARN_UNUSED;

#endif
