/* doc.h - what the JSON documents of a table (snapshots, schemas) share: lists of string pairs, and
 * taking a document out of a file's bytes. Pure; results are borrowed from the JSON tree. */
#ifndef LATCH_MANIFEST_DOC_H
#define LATCH_MANIFEST_DOC_H

#include "proto/json/json.h"

struct kv {
    str key, value;
};
struct kv_list {
    const struct kv *items; /* by key (str_cmp), each key once */
    size_t n;
};

str kv_get(const struct kv_list *l, const char *key); /* STR_NONE: not there */
/* An object whose values are strings; numbers and booleans are taken as their text, as Java takes
 * them. Absent and null give an empty list. `path` names it in errors. */
int kv_decode(struct ctx *cx, const struct json *obj, const char *path,
              struct kv_list *ret) WARN_UNUSED;
void kv_encode(struct json_out *o, const struct kv_list *l);
/* Where `key` is, or would have to be put; true: it is there. */
bool kv_find(const struct kv_list *l, str key, size_t *ret_at);
bool kv_equal(const struct kv_list *a, const struct kv_list *b);

/* A scalar as text, the way Jackson's asText gives it: strings, numbers, booleans. Absent and null
 * are STR_NONE; arrays and objects E_INVAL. */
int doc_text(struct ctx *cx, const struct json *obj, const char *path, const char *key,
             str *ret) WARN_UNUSED;
/* E_INVAL unless min <= v <= max; `key` names it. */
int doc_range(struct ctx *cx, const char *path, const char *key, int64_t v, int64_t min,
              int64_t max) WARN_UNUSED;

/* Parses the bytes of a file. They are copied into the arena first, so what is decoded lives as
 * long as the context. Then decode, and give the result of both through doc_file_rc: what would be
 * the caller's mistake in a request (E_INVAL, E_TOOBIG) is E_CORRUPT in a file, whose name is put
 * before the message. */
int doc_parse_file(struct ctx *cx, str text, const struct json **ret) WARN_UNUSED;
int doc_file_rc(struct ctx *cx, int rc, str file_name) WARN_UNUSED;

#endif
