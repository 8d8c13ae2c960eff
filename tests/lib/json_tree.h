/* json_tree.h - for tests and fuzzers: writes a tree that was read, without its blanks and escapes. */
#ifndef LATCH_TESTS_LIB_JSON_TREE_H
#define LATCH_TESTS_LIB_JSON_TREE_H

#include "proto/json/json.h"

static inline void write_tree(struct json_out *o, const struct json *v)
{
    switch (v->type) {
    case JSON_NULL:
        json_null(o);
        break;
    case JSON_BOOL:
        json_bool(o, v->b);
        break;
    case JSON_INT:
        json_i64(o, v->i);
        break;
    case JSON_DOUBLE:
        json_raw(o, v->s);
        break;
    case JSON_STRING:
        json_str(o, v->s);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        (v->type == JSON_OBJECT ? json_obj : json_arr)(o);
        JSON_EACH (it, v) {
            if (v->type == JSON_OBJECT)
                json_keys(o, it->key);
            write_tree(o, it);
        }
        json_end(o);
        break;
    }
}

#endif
