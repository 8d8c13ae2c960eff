/* api_table.h - bodies of the table routes. */
#ifndef LATCH_PROTO_API_API_TABLE_H
#define LATCH_PROTO_API_API_TABLE_H

#include "proto/api/api_common.h"

struct api_table_create {
    str name;
    const struct json *schema; /* an object, not looked into */
};
struct api_table_rename {
    struct api_ident source, destination;
};
struct api_table_register {
    str name, path;
};
struct api_table {
    str id, database;
    str object; /* as it was asked for: with "$branch_b" for a branch */
    str path;
    bool external;
    int64_t schema_id;
    str schema_json; /* Paimon's Schema object */
    struct api_audit audit;
};

/* `database` is the path's; the body must name the same. */
int api_table_create_decode(struct ctx *cx, const struct json *body, str database,
                            struct api_table_create *ret) WARN_UNUSED;
int api_table_rename_decode(struct ctx *cx, const struct json *body,
                            struct api_table_rename *ret) WARN_UNUSED;
/* {identifier, path}; `database` is the path's of the request, the body must name the same. */
int api_table_register_decode(struct ctx *cx, const struct json *body, str database,
                              struct api_table_register *ret) WARN_UNUSED;
/* {schema} */
int api_table_replace_decode(struct ctx *cx, const struct json *body,
                             const struct json **ret_schema) WARN_UNUSED;
/* {"tableDetails":[…],"nextPageToken":next}; next STR_NONE: null. */
int api_table_details_encode(struct ctx *cx, struct buf *out, const struct api_table *in, size_t n,
                             str next) WARN_UNUSED;
int api_table_encode(struct ctx *cx, struct buf *out, const struct api_table *in) WARN_UNUSED;

#endif
