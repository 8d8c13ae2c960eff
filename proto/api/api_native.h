/* api_native.h - bodies of POST /latch/v1/…/commits: a commit by the files that it adds and deletes; the
 * server writes all metadata.
 *
 * It is made to be written by hand, so a member that is not known is refused: a typing error must not
 * become a commit that lacks something. Values of columns stay JSON here; manifest types say what they
 * must be (catalog/native_files). */
#ifndef LATCH_PROTO_API_API_NATIVE_H
#define LATCH_PROTO_API_API_NATIVE_H

#include "proto/json/json.h"

#define API_NATIVE_BATCH_IDENTIFIER INT64_MAX /* of a commit that is the only one of its user */

struct api_number { /* one that may be absent */
    bool has;
    int64_t v;
};
struct api_native_file {
    const struct json *partition; /* object of texts; NULL: none */
    int32_t bucket, level;
    struct api_number total_buckets;
    str name;
    int64_t size, rows;
    const struct json *min_key, *max_key; /* objects, column -> value; NULL: not given */
    struct api_number min_seq, max_seq, schema_id, delete_rows, first_row_id, created_ms;
    const struct json *extra_files;   /* array of strings; NULL: none */
    const struct json *write_columns; /* likewise; NULL: all */
    str external_path, source;        /* STR_NONE: not given */
    const struct json *stats;         /* object; NULL: none */
    const struct json *stats_columns, *stats_min, *stats_max, *stats_nulls;
};
struct api_native_gone { /* of a data file or an index file */
    const struct json *partition;
    int32_t bucket;
    str name;
};
struct api_native_index {
    const struct json *partition;
    int32_t bucket;
    str type, name, external_path;
    int64_t size, rows;
    const struct json *vectors; /* array of objects, checked; NULL: none */
};
struct api_native_vector {
    str data_file;
    int32_t offset, length;
    struct api_number cardinality;
};
/* Item `v` of `vectors`. */
struct api_native_vector api_native_vector_of(const struct json *v);

struct api_native {
    str user; /* STR_NONE: the server makes one */
    int64_t identifier;
    str kind, operation; /* operation STR_NONE: none */
    struct api_number watermark;
    const struct json *properties; /* object of strings; NULL: none */
    struct api_native_file *add, *changelog;
    struct api_native_gone *gone, *index_gone;
    struct api_native_index *index_add;
    size_t n_add, n_changelog, n_gone, n_index_gone, n_index_add;
};
int api_native_decode(struct ctx *cx, const struct json *body, struct api_native *ret) WARN_UNUSED;

#define API_NATIVE_ANSWER_MORE 64 /* bytes beside the snapshot */
/* `snapshot`: its JSON; STR_NONE: only its id is known any more. With room reserved it cannot fail. */
int api_native_encode(struct ctx *cx, struct buf *out, str snapshot, int64_t id,
                      bool replayed) WARN_UNUSED;

#endif
