/* object_int.h - what views and functions have in common: only view.c, function.c and object.c
 * include it.
 *
 * Both are one JSON object in the store. It has "options" and a comment, and named parts (a view's
 * dialects, a function's definitions) that are added, updated and dropped one by one; all other
 * members stay as they were created. */
#ifndef LATCH_CATALOG_OBJECT_INT_H
#define LATCH_CATALOG_OBJECT_INT_H

#include "catalog/catalog_int.h"
#include "proto/json/json.h"

#define OBJECT_JSON_MAX ((size_t)4 << 20) /* bytes of one object; alterations could add up */

struct object_spec {
    enum object_kind kind;
    enum res res, part_res;
    const char *name;                  /* "view" */
    const char *part, *parts;          /* "dialect"; the member that holds them */
    const char *add, *update, *drop;   /* actions of a change */
    const char *part_key, *part_value; /* members of such a change */
    int (*check_part)(struct ctx *cx, const struct json *v, const char *path); /* E_INVAL */
    bool comment_null; /* no comment is written as null, else not at all */
    struct {
        const char *audit, *event;
    } created, altered, renamed, dropped;
};
extern const struct object_spec view_spec, function_spec;

/* What the JSON of a new object ends in: parts, options and comment as the client gave them; the
 * object is still open. */
int object_tail(struct ctx *cx, const struct object_spec *s, const struct json *in,
                const char *path, struct json_out *o) WARN_UNUSED;
/* `json` is the text of an object whose writing may have failed. */
int object_create(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                  const struct object_spec *s, str db, str name,
                  const struct buf *json) WARN_UNUSED;
int object_alter(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                 const struct object_spec *s, str db, str name,
                 const struct json *changes) WARN_UNUSED;
int object_rename(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                  const struct object_spec *s, const struct name_pair *from,
                  const struct name_pair *to) WARN_UNUSED;
/* The database must be there: 404 before anything else. */
int object_db_check(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                    str db) WARN_UNUSED;
/* An array of columns in Paimon's own text; NULL gives null. */
int object_fields_put(struct ctx *cx, const struct json *arr, const char *path, const char *key,
                      struct json_out *o) WARN_UNUSED;

#endif
