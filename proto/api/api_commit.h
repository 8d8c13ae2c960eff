/* api_commit.h - bodies of POST …/commit. */
#ifndef LATCH_PROTO_API_API_COMMIT_H
#define LATCH_PROTO_API_API_COMMIT_H

#include "proto/api/api_partition.h"

struct api_stats {                                /* over all partitions of the commit */
    int64_t records, file_size_bytes, file_count; /* sums of deltas: may be negative */
    int64_t last_file_creation_ms;                /* the newest; 0: no partition told one */
    bool known;                                   /* false: the client sent no statistics */
};
struct api_commit {
    str table_id;                /* STR_NONE: null */
    str base_uuid;               /* STR_NONE: null */
    const struct json *snapshot; /* an object, not looked into */
    struct api_stats stats;
    struct api_stat *partitions; /* the same one by one, as they came; none when it is not known */
    size_t n_partitions;
};

int api_commit_decode(struct ctx *cx, const struct json *body, struct api_commit *ret) WARN_UNUSED;

#define API_COMMIT_ANSWER_MAX 32 /* bytes: with so many reserved in `out`, encoding cannot fail */
int api_commit_encode(struct ctx *cx, struct buf *out, bool success) WARN_UNUSED;

#endif
