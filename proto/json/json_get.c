/* json_get.c - getters over the tree of json.c: a member by its key, of the type that is wanted.
 *
 * What is wrong is said with the member's path. Nothing is kept; a tree is read-only, so any thread. */
#include "proto/json/json_int.h"

const struct json *json_get(const struct json *obj, const char *key)
{
    str k = str_of(key);
    if (!obj || obj->type != JSON_OBJECT)
        return NULL;
    JSON_EACH (it, obj)
        if (str_eq(it->key, k))
            return it;
    return NULL;
}

bool json_is_null(const struct json *v)
{
    return !v || v->type == JSON_NULL;
}

static const char *type_name(enum json_type t)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",        [JSON_BOOL] = "a boolean",
        [JSON_INT] = "an integer",   [JSON_DOUBLE] = "a number that is not a 64-bit integer",
        [JSON_STRING] = "a string",  [JSON_ARRAY] = "an array",
        [JSON_OBJECT] = "an object",
    };
    return names[t];
}

/* Says that the member `key` of `path` is not of the type it must have. */
static int wrong_type(struct ctx *cx, const char *path, str key, enum json_type want,
                      enum json_type got)
{
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s%s%.*s must be %s, not %s", path,
                    *path ? "." : "", SHOWN(key), type_name(want), type_name(got));
}

static int check_type(struct ctx *cx, const struct json *v, const char *path, enum json_type want)
{
    if (!v || v->type == want)
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s must be %s, not %s",
                    *path ? path : "the JSON value", type_name(want), type_name(v->type));
}

/* The member, of the type; NULL when absent or null. */
static int opt(struct ctx *cx, const struct json *obj, const char *path, const char *key,
               enum json_type type, const struct json **ret)
{
    TRY(check_type(cx, obj, path, JSON_OBJECT));
    const struct json *v = json_get(obj, key);
    if (json_is_null(v))
        v = NULL;
    else if (v->type != type)
        return wrong_type(cx, path, str_of(key), type, v->type);
    *ret = v;
    return 0;
}

static int want(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                enum json_type type, const struct json **ret)
{
    const struct json *v;
    TRY(opt(cx, obj, path, key, type, &v));
    if (v) {
        *ret = v;
        return 0;
    }
    if (json_get(obj, key))
        return wrong_type(cx, path, str_of(key), type, JSON_NULL);
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s%s%s is missing; it must be %s", path,
                    *path ? "." : "", key, type_name(type));
}

int json_want_str(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                  str *ret)
{
    const struct json *v;
    TRY(want(cx, obj, path, key, JSON_STRING, &v));
    *ret = v->s;
    return 0;
}

int json_want_i64(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                  int64_t *ret)
{
    const struct json *v;
    TRY(want(cx, obj, path, key, JSON_INT, &v));
    *ret = v->i;
    return 0;
}

int json_want_obj(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                  const struct json **ret)
{
    return want(cx, obj, path, key, JSON_OBJECT, ret);
}

int json_want_arr(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                  const struct json **ret)
{
    return want(cx, obj, path, key, JSON_ARRAY, ret);
}

int json_opt_str(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                 str *ret)
{
    const struct json *v;
    TRY(opt(cx, obj, path, key, JSON_STRING, &v));
    *ret = v ? v->s : STR_NONE;
    return 0;
}

int json_opt_i64(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                 int64_t dflt, int64_t *ret)
{
    const struct json *v;
    TRY(opt(cx, obj, path, key, JSON_INT, &v));
    *ret = v ? v->i : dflt;
    return 0;
}

int json_opt_bool(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                  bool dflt, bool *ret)
{
    const struct json *v;
    TRY(opt(cx, obj, path, key, JSON_BOOL, &v));
    *ret = v ? v->b : dflt;
    return 0;
}

int json_opt_obj(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                 const struct json **ret)
{
    return opt(cx, obj, path, key, JSON_OBJECT, ret);
}

int json_opt_arr(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                 const struct json **ret)
{
    return opt(cx, obj, path, key, JSON_ARRAY, ret);
}

int json_check_str_map(struct ctx *cx, const struct json *obj, const char *path)
{
    TRY(check_type(cx, obj, path, JSON_OBJECT));
    for (const struct json *it = obj ? obj->child : NULL; it; it = it->next)
        if (it->type != JSON_STRING)
            return wrong_type(cx, path, it->key, JSON_STRING, it->type);
    return 0;
}

int json_check_str_arr(struct ctx *cx, const struct json *arr, const char *path)
{
    size_t i = 0;
    TRY(check_type(cx, arr, path, JSON_ARRAY));
    for (const struct json *it = arr ? arr->child : NULL; it; it = it->next, i++)
        if (it->type != JSON_STRING)
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s[%zu] must be a string, not %s",
                            path, i, type_name(it->type));
    return 0;
}
