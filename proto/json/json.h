/* json.h - JSON in and out, exact: every int64 stays what it was, every value keeps its bytes.
 *
 * Reading: one strict pass (RFC 8259, UTF-8, depth <= JSON_DEPTH_MAX, values <= JSON_NODES_MAX, no
 * duplicate keys, no lone surrogates, no NUL in a key or a string, no byte order mark) that builds
 * a tree of nodes in the context's arena and records the byte range of every value. Integers within
 * int64 stay exact (commitIdentifier is 9223372036854775807 in every batch commit); any other
 * number is kept as a double and as its text. A number too large for a double is refused. Nodes
 * point into the text that was parsed where they can: keep it alive as long as the tree.
 *
 * Every getter names the member in its error ("snapshot.id must be an integer"), code E_INVAL. */
#ifndef LATCH_PROTO_JSON_JSON_H
#define LATCH_PROTO_JSON_JSON_H

#include "proto/base/buf.h"
#include "proto/base/ctx.h"

#define JSON_DEPTH_MAX 64
#define JSON_NODES_MAX 4000000

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_DOUBLE,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json {
    enum json_type type;
    bool b;
    str key; /* unescaped; set for members of an object */
    str s;   /* JSON_STRING: unescaped text; JSON_DOUBLE: the number as written */
    int64_t i;
    double d;
    str raw;                   /* the bytes of this value exactly as they came */
    size_t n;                  /* children */
    struct json *child, *next; /* in the order of the text */
};
#define JSON_EACH(it, parent) for (const struct json *it = (parent)->child; it; it = it->next)

/* The whole text must be one value. E_INVAL with line-free position ("at byte 17: ..."), E_TOOBIG,
 * E_NOMEM. `what` names the text in the message ("request body"). */
int json_parse(struct ctx *cx, str text, const char *what, const struct json **ret) WARN_UNUSED;

/* Here and in the getters obj may be NULL: it has no members (so optional objects can be chained).
 * Member by name (case-sensitive); NULL when absent. A JSON null is a node of type JSON_NULL. */
const struct json *json_get(const struct json *obj, const char *key);
bool json_is_null(const struct json *v); /* absent or null */

/* Required members: E_INVAL when absent, null or of another type. `path` in messages is path of obj
 * + key; pass "" for the top. Strings are borrowed from the tree. */
int json_want_str(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                  str *ret) WARN_UNUSED;
int json_want_i64(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                  int64_t *ret) WARN_UNUSED;
int json_want_obj(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                  const struct json **ret) WARN_UNUSED;
int json_want_arr(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                  const struct json **ret) WARN_UNUSED;
/* Optional members: absent or null gives STR_NONE, dflt or NULL, another type E_INVAL. */
int json_opt_str(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                 str *ret) WARN_UNUSED;
int json_opt_i64(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                 int64_t dflt, int64_t *ret) WARN_UNUSED;
int json_opt_bool(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                  bool dflt, bool *ret) WARN_UNUSED;
int json_opt_obj(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                 const struct json **ret) WARN_UNUSED;
int json_opt_arr(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                 const struct json **ret) WARN_UNUSED;
/* Every value of `obj` must be a string / every item of `arr` too. */
int json_check_str_map(struct ctx *cx, const struct json *obj, const char *path) WARN_UNUSED;
int json_check_str_arr(struct ctx *cx, const struct json *arr, const char *path) WARN_UNUSED;

/* Writing: straight into a buf; commas are put where they belong. Check buf_fail at the end. Usage:
 *   struct json_out o; json_out_init(&o, &buf);
 *   json_obj(&o); json_key(&o, "name"); json_str(&o, name); json_end(&o); */
struct json_out {
    struct buf *b;
    uint64_t is_obj, has_item; /* a bit a depth */
    int depth;
    bool after_key;
};
void json_out_init(struct json_out *o, struct buf *b);
void json_obj(struct json_out *o);
void json_arr(struct json_out *o);
void json_end(struct json_out *o); /* closes the innermost */
void json_key(struct json_out *o, const char *key);
void json_keys(struct json_out *o, str key); /* a key that is not a literal: escaped */
void json_str(struct json_out *o, str s);    /* s.p == NULL writes null */
void json_i64(struct json_out *o, int64_t v);
void json_bool(struct json_out *o, bool v);
void json_null(struct json_out *o);
void json_raw(struct json_out *o, str raw); /* a valid JSON value, written as it is */
/* The members of an object that has no blank at either end, into the innermost object. */
void json_members(struct json_out *o, str raw_obj);
/* Short forms for members. */
void json_kstr(struct json_out *o, const char *key, str s);
void json_ki64(struct json_out *o, const char *key, int64_t v);
void json_kbool(struct json_out *o, const char *key, bool v);
void json_kraw(struct json_out *o, const char *key, str raw);

#endif
