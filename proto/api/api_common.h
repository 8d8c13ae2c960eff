/* api_common.h - what the bodies of several resources share: names, identifiers, audit members,
 * pages.
 *
 * Decoders take a parsed body and borrow from its tree: keep it alive. They tolerate members they
 * do not know and answer E_INVAL, with the member's name in the message, for everything else that
 * is not as paimon-rest says. Encoders append one JSON value to `out`; E_NOMEM, and E_INVAL when
 * the answer is larger than `out` may grow. Nothing here blocks or keeps state. */
#ifndef LATCH_PROTO_API_API_COMMON_H
#define LATCH_PROTO_API_API_COMMON_H

#include "proto/json/json.h"

#define API_SHOWN_MAX 64 /* bytes of a client's text that a message repeats */
#define API_SHOWN(s)  (int)((s).len < API_SHOWN_MAX ? (s).len : API_SHOWN_MAX), ((s).p ? (s).p : "")

struct api_ident { /* Paimon's Identifier; `object` is the table's bare name here */
    str database, object;
};
struct api_audit {
    str owner, created_by, updated_by;
    int64_t created_ms, updated_ms;
};

/* The member `key`: {"database","object"}, both fit to be names, the object without '$'. */
int api_ident_decode(struct ctx *cx, const struct json *body, const char *key,
                     struct api_ident *ret) WARN_UNUSED;
/* The same; the database must be `database`, which is the path's. */
int api_ident_in_decode(struct ctx *cx, const struct json *body, const char *key, str database,
                        struct api_ident *ret) WARN_UNUSED;
/* Member `changes`: an array of objects that have an `action`. */
int api_changes_decode(struct ctx *cx, const struct json *body,
                       const struct json **ret) WARN_UNUSED;
/* A name for a new table: a path component without '$'. `member` is what the message calls it. */
int api_table_name_check(struct ctx *cx, str name, const char *member) WARN_UNUSED;

void api_audit_put(struct json_out *o, const struct api_audit *a);
void api_strs_put(struct json_out *o, const char *member, const str *v, size_t n);
/* {"<member>":[names],"nextPageToken":last name if n == limit, else null} */
int api_names_encode(struct ctx *cx, struct buf *out, const char *member, const str *names,
                     size_t n, int64_t limit) WARN_UNUSED;
/* {"<member>":[{"database","object"}],"nextPageToken":of the last if n == limit, else null}. The token
 * is "database.object", or, for a database whose name holds a '.', one that api_ident_token can tell
 * apart from "a.b" + "c" and "a" + "b.c". */
int api_idents_encode(struct ctx *cx, struct buf *out, const char *member,
                      const struct api_ident *idents, size_t n, int64_t limit) WARN_UNUSED;
/* The pair that a pageToken names; clients also make "database.object" themselves. A token without a '.'
 * is before all of that database. Absent or empty gives an empty pair. */
int api_ident_token(struct ctx *cx, str token, struct api_ident *ret) WARN_UNUSED;
/* 0, or what went wrong while `out` was written. */
int api_out_end(struct ctx *cx, const struct buf *out) WARN_UNUSED;

#endif
