/* api_consumer.h - bodies of the consumer routes. */
#ifndef LATCH_PROTO_API_API_CONSUMER_H
#define LATCH_PROTO_API_API_CONSUMER_H

#include "proto/api/api_common.h"

struct api_consumer_reset {
    str id;
    bool has_next; /* else it is to be deleted */
    int64_t next_snapshot;
};
struct api_consumer {
    str id;
    int64_t next_snapshot;
};

int api_consumer_reset_decode(struct ctx *cx, const struct json *body,
                              struct api_consumer_reset *ret) WARN_UNUSED;
int api_consumers_encode(struct ctx *cx, struct buf *out, const struct api_consumer *v, size_t n,
                         int64_t limit) WARN_UNUSED;

#endif
