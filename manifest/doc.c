/* doc.c - lists of string pairs in JSON, scalars as text, and documents out of files.
 *
 * Java reads these maps into Map<String, String> with Jackson, which turns numbers and booleans
 * into their text; pypaimon sends what its user wrote ({"bucket": 1}). So both are taken, and
 * written back as strings. No state; any thread. */
#include "manifest/doc.h"

#define KEY_SHOWN 64 /* bytes of a client's key in a message */
#define SHOWN(s)  ((s).len < KEY_SHOWN ? (int)(s).len : KEY_SHOWN), (s).p

bool kv_find(const struct kv_list *l, str key, size_t *ret_at)
{
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = str_cmp(l->items[mid].key, key);
        if (c == 0) {
            *ret_at = mid;
            return true;
        }
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    *ret_at = low;
    return false;
}

str kv_get(const struct kv_list *l, const char *key)
{
    size_t at;
    return kv_find(l, str_of(key), &at) ? l->items[at].value : STR_NONE;
}

/* False: it is no scalar, or null. */
static bool scalar_text(const struct json *v, str *ret)
{
    bool is = v->type == JSON_STRING || v->type == JSON_INT || v->type == JSON_DOUBLE ||
              v->type == JSON_BOOL;
    if (is)
        *ret = v->type == JSON_STRING ? v->s : v->raw;
    return is;
}

int doc_text(struct ctx *cx, const struct json *obj, const char *path, const char *key, str *ret)
{
    const struct json *v = json_get(obj, key);
    if (json_is_null(v))
        *ret = STR_NONE;
    else if (!scalar_text(v, ret))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s%s%s must be a string", path,
                        *path ? "." : "", key);
    return 0;
}

int doc_range(struct ctx *cx, const char *path, const char *key, int64_t v, int64_t min,
              int64_t max)
{
    if (v >= min && v <= max)
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "%s%s%s is %lld; it must be between %lld and %lld", path, *path ? "." : "", key,
                    (long long)v, (long long)min, (long long)max);
}

static int by_key(const void *pa, const void *pb)
{
    return str_cmp(((const struct kv *)pa)->key, ((const struct kv *)pb)->key);
}

int kv_decode(struct ctx *cx, const struct json *obj, const char *path, struct kv_list *ret)
{
    if (json_is_null(obj)) {
        *ret = (struct kv_list){0};
        return 0;
    }
    if (obj->type != JSON_OBJECT)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s must be an object of strings", path);
    struct kv *items = ARENA_ARRAY(&cx->arena, struct kv, obj->n);
    size_t n = 0;
    if (!items && obj->n > 0)
        return ctx_nomem(cx);
    JSON_EACH (it, obj) {
        items[n].key = it->key;
        if (!scalar_text(it, &items[n].value))
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "%s.%.*s must be a string; leave the key out to have no value", path,
                            SHOWN(it->key));
        n++;
    }
    if (n > 1)
        qsort(items, n, sizeof *items, by_key);
    *ret = (struct kv_list){items, n};
    return 0;
}

void kv_encode(struct json_out *o, const struct kv_list *l)
{
    json_obj(o);
    for (size_t i = 0; i < l->n; i++) {
        json_keys(o, l->items[i].key);
        json_str(o, l->items[i].value);
    }
    json_end(o);
}

bool kv_equal(const struct kv_list *a, const struct kv_list *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!str_eq(a->items[i].key, b->items[i].key) ||
            !str_eq(a->items[i].value, b->items[i].value))
            return false;
    return true;
}

int doc_parse_file(struct ctx *cx, str text, const struct json **ret)
{
    str copy = str_dup(&cx->arena, text.len ? text : STR_LIT(""));
    if (!copy.p)
        return ctx_nomem(cx);
    return json_parse(cx, copy, "the file", ret);
}

int doc_file_rc(struct ctx *cx, int rc, str file_name)
{
    if (rc >= 0)
        return rc;
    if (rc == E_INVAL || rc == E_TOOBIG) {
        cx->err.code = E_CORRUPT;
        rc = E_CORRUPT;
    }
    IGNORE(ctx_prefix(cx, "%.*s", STR(file_name)));
    return rc;
}
