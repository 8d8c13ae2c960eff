/* api_state.h - body of GET …/state, a route of our own. */
#ifndef LATCH_PROTO_API_API_STATE_H
#define LATCH_PROTO_API_API_STATE_H

#include "proto/api/api_common.h"

struct api_state {
    int64_t snapshot_id; /* 0: null */
    int64_t epoch;
    bool forked, in_memory; /* not in memory: what follows is null */
    int64_t files, rows, size_bytes, partitions, buckets, manifests, index_files, vectors;
    int64_t memory_bytes;
    bool compared; /* else the rest is null */
    bool equal;
    str differences; /* lines */
};
int api_state_encode(struct ctx *cx, struct buf *out, const struct api_state *s) WARN_UNUSED;

#endif
