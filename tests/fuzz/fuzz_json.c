/* fuzz_json.c - libFuzzer target for proto/json.
 *
 * The input is read as JSON. When it is taken: every promise of json.h about the tree is checked,
 * every value's raw text must read to the same value alone, and the tree written out and read again
 * must be the same tree. The input is also written as one string, which must be valid JSON for any
 * bytes. Getters run over what is there, to see that none trips over an odd tree. */
#include "proto/base/assert.h"
#include "proto/json/json.h"
#include "tests/lib/json_tree.h"

#define ARENA      ((size_t)64 << 20)
#define PAIRS_MAX  200 /* members up to which keys are compared pair by pair */
#define RAW_CHECKS 64  /* values whose raw text is read again, at most */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool inside(str outer, str s)
{
    return s.p >= outer.p && s.p + s.len <= outer.p + outer.len;
}

static void check_text(str s)
{
    ASSERT(s.p && str_utf8_valid(s) && !memchr(s.p, 0, s.len));
}

static void check_value(const struct json *v)
{
    int64_t i;
    switch (v->type) {
    case JSON_NULL:
        ASSERT(str_eqz(v->raw, "null"));
        break;
    case JSON_BOOL:
        ASSERT(str_eqz(v->raw, v->b ? "true" : "false"));
        break;
    case JSON_INT:
        ASSERT(str_to_i64(v->raw, &i) && i == v->i);
        break;
    case JSON_DOUBLE:
        ASSERT(str_eq(v->raw, v->s) && !str_to_i64(v->raw, &i));
        ASSERT(v->d - v->d == 0); /* finite */
        break;
    case JSON_STRING:
        ASSERT(v->raw.len >= v->s.len + 2);
        check_text(v->s);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
}

static void check_keys(const struct json *v)
{
    JSON_EACH (it, v) {
        check_text(it->key);
        if (v->n <= PAIRS_MAX)
            for (const struct json *other = it->next; other; other = other->next)
                ASSERT(!str_eq(it->key, other->key));
    }
}

static void check_tree(const struct json *v, int depth)
{
    size_t n = 0;
    const char *at = v->raw.p;
    check_value(v);
    ASSERT(depth <= JSON_DEPTH_MAX + 1);
    ASSERT(!v->child || v->type == JSON_ARRAY || v->type == JSON_OBJECT);
    if (v->type == JSON_OBJECT)
        check_keys(v);
    JSON_EACH (it, v) {
        ASSERT(it->raw.len > 0 && inside(v->raw, it->raw) && it->raw.p > at);
        at = it->raw.p + it->raw.len;
        check_tree(it, depth + 1);
        n++;
    }
    ASSERT(n == v->n);
}

static void check_same(const struct json *a, const struct json *b)
{
    ASSERT(a->type == b->type && a->n == b->n && a->b == b->b && a->i == b->i);
    ASSERT(str_eq(a->key, b->key) && str_eq(a->s, b->s));
    ASSERT(memcmp(&a->d, &b->d, sizeof(a->d)) == 0);
    const struct json *y = b->child;
    for (const struct json *x = a->child; x; x = x->next, y = y->next) {
        ASSERT(y);
        check_same(x, y);
    }
    ASSERT(!y);
}

static const struct json *must_read(struct ctx *cx, str text)
{
    const struct json *v = NULL;
    ASSERT(json_parse(cx, text, "text of ours", &v) == 0);
    return v;
}

static void check_raw_alone(struct ctx *cx, const struct json *v, int *left)
{
    if (--*left < 0)
        return;
    struct json nameless = *v;
    nameless.key = STR_NONE;
    check_same(&nameless, must_read(cx, v->raw));
    JSON_EACH (it, v)
        check_raw_alone(cx, it, left);
}

static void check_round_trip(struct ctx *cx, const struct json *v)
{
    CLEANUP(buf_done) struct buf b = {0};
    CLEANUP(buf_done) struct buf again = {0};
    struct json_out o;
    json_out_init(&o, &b);
    write_tree(&o, v);
    ASSERT(buf_fail(&b) == 0 && o.depth == 0);
    const struct json *w = must_read(cx, buf_str(&b));
    check_same(v, w);
    json_out_init(&o, &again);
    write_tree(&o, w);
    ASSERT(str_eq(buf_str(&b), buf_str(&again)));
}

static void check_getters(struct ctx *cx, const struct json *v)
{
    static const char *const keys[] = {"", "a", "id"};
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        const struct json *sub = NULL;
        str s = STR_NONE;
        int64_t i = 0;
        bool b = false;
        if (json_want_str(cx, v, "top", keys[k], &s) == 0)
            ASSERT(s.p && str_eq(s, json_get(v, keys[k])->s));
        if (json_want_i64(cx, v, "", keys[k], &i) == 0)
            ASSERT(i == json_get(v, keys[k])->i);
        if (json_opt_obj(cx, v, "", keys[k], &sub) == 0 && sub)
            IGNORE(json_check_str_map(cx, sub, keys[k]));
        if (json_opt_arr(cx, v, "", keys[k], &sub) == 0 && sub)
            IGNORE(json_check_str_arr(cx, sub, keys[k]));
        IGNORE(json_opt_bool(cx, v, "", keys[k], false, &b));
    }
}

static void check_any_string(struct ctx *cx, str bytes)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    json_str(&o, bytes);
    ASSERT(buf_fail(&b) == 0 && str_utf8_valid(buf_str(&b)));
    if (memchr(bytes.p, 0, bytes.len))
        return; /* valid JSON, but the reader takes no NUL */
    const struct json *v = must_read(cx, buf_str(&b));
    ASSERT(v->type == JSON_STRING);
    ASSERT(str_eq(v->s, bytes) == str_utf8_valid(bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = str_n((const char *)data, size);
    const struct json *v = NULL;
    int left = RAW_CHECKS;
    struct ctx cx;
    ctx_init(&cx, ARENA);
    int rc = json_parse(&cx, text, "input", &v);
    ASSERT(rc == cx.err.code && (rc == 0) == (v != NULL));
    if (rc == 0) {
        ASSERT(inside(text, v->raw) && str_utf8_valid(text));
        check_tree(v, 1);
        check_raw_alone(&cx, v, &left);
        check_round_trip(&cx, v);
        check_getters(&cx, v);
    } else {
        ASSERT(rc == E_INVAL && strlen(cx.err.msg) > 0);
    }
    if (size > 0)
        check_any_string(&cx, text);
    ctx_done(&cx);
    return 0;
}
