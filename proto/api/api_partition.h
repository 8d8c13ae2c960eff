/* api_partition.h - bodies of the partition routes. */
#ifndef LATCH_PROTO_API_API_PARTITION_H
#define LATCH_PROTO_API_API_PARTITION_H

#include "proto/api/api_common.h"

#define API_PARTITIONS_MAX       10000 /* in one request that creates, drops or marks them */
#define API_PARTITIONS_NAMED_MAX 1000  /* in one that asks for them; clients keep to it too */

struct api_stat {            /* of one partition */
    const struct json *spec; /* an object of strings; NULL: none was given */
    int64_t records, file_size_bytes, file_count, last_file_ms, buckets;
};
struct api_partitions_create {
    const struct json *specs; /* an array of objects of strings, here and below */
    bool ignore_if_exists, replace;
    struct api_stat *stats;
    size_t n_stats;
};
int api_partitions_create_decode(struct ctx *cx, const struct json *body,
                                 struct api_partitions_create *ret) WARN_UNUSED;
struct api_partitions_drop {
    const struct json *specs;
    bool ignore_if_not_exists;
};
int api_partitions_drop_decode(struct ctx *cx, const struct json *body,
                               struct api_partitions_drop *ret) WARN_UNUSED;
/* Of mark and of list-by-names: the member `specs`, `max` of them at most. */
int api_partitions_specs_decode(struct ctx *cx, const struct json *body, size_t max,
                                const struct json **ret) WARN_UNUSED;
struct api_partitions_filter {
    str pattern, token;  /* STR_NONE: not given */
    int64_t max_results; /* 0: not given */
};
/* The filter itself is only looked at: an answer may hold more than what it matches. */
int api_partitions_filter_decode(struct ctx *cx, const struct json *body,
                                 struct api_partitions_filter *ret) WARN_UNUSED;

struct api_partition {
    str spec_json;
    int64_t records, file_size_bytes, file_count, last_file_ms, buckets;
    bool done;
    int64_t created_ms, updated_ms;
    str created_by, updated_by;
};
/* `token`: STR_NONE writes null. */
int api_partitions_encode(struct ctx *cx, struct buf *out, const struct api_partition *p, size_t n,
                          str token) WARN_UNUSED;
/* {"<yes>":[the specs whose there[i] is set],"<no>":[the others]} */
int api_partitions_split_encode(struct ctx *cx, struct buf *out, const struct json *specs,
                                const bool *there, const char *yes, const char *no) WARN_UNUSED;

#endif
