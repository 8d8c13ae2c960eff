/* api_tag.h - bodies of the tag routes. The list is api_names_encode's. */
#ifndef LATCH_PROTO_API_API_TAG_H
#define LATCH_PROTO_API_API_TAG_H

#include "proto/api/api_common.h"

struct api_tag_create {
    str name;
    bool has_snapshot_id; /* else the latest */
    int64_t snapshot_id;  /* any number: one that no snapshot has is a 404, not a bad body */
    str time_retained;    /* STR_NONE: for ever; any text */
};
struct api_tag {
    str name, snapshot_json;
    bool has_created;
    int64_t created_ms;
    str time_retained; /* STR_NONE: for ever */
};

int api_tag_create_decode(struct ctx *cx, const struct json *body,
                          struct api_tag_create *ret) WARN_UNUSED;
int api_tag_encode(struct ctx *cx, struct buf *out, const struct api_tag *t) WARN_UNUSED;

#endif
