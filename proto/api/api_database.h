/* api_database.h - bodies of the database routes. */
#ifndef LATCH_PROTO_API_API_DATABASE_H
#define LATCH_PROTO_API_API_DATABASE_H

#include "proto/api/api_common.h"

struct api_database_create {
    str name;
    str options_json; /* a JSON object of strings, "{}" when none were sent */
};
struct api_database_alter {
    const struct json *removals; /* array of strings; NULL: none */
    const struct json *updates;  /* object of strings; NULL: none */
};
struct api_database_altered {
    const str *removed, *updated, *missing;
    size_t n_removed, n_updated, n_missing;
};
struct api_database {
    str id, name, location;
    str options_json; /* empty: none */
    struct api_audit audit;
};

int api_database_create_decode(struct ctx *cx, const struct json *body,
                               struct api_database_create *ret) WARN_UNUSED;
int api_database_alter_decode(struct ctx *cx, const struct json *body,
                              struct api_database_alter *ret) WARN_UNUSED;
int api_database_altered_encode(struct ctx *cx, struct buf *out,
                                const struct api_database_altered *in) WARN_UNUSED;
int api_database_encode(struct ctx *cx, struct buf *out, const struct api_database *in) WARN_UNUSED;

#endif
