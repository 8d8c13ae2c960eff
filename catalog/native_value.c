/* native_value.c - see native_value.h. Thread rule: none of its own. */
#include "catalog/native_value.h"

static int wrong(struct ctx *cx, const struct data_type *t, const char *want)
{
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "a %s must be %s", types_kind_name(t->kind),
                    want);
}

/* --- base64 ----------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* RFC 4648, with its padding. */
static int base64(struct ctx *cx, const struct data_type *t, str s, str *ret)
{
    char *out = arena_alloc(&cx->arena, s.len / 4 * 3 + 1);
    size_t n = 0;
    if (!out)
        return ctx_nomem(cx);
    for (size_t i = 0; i < s.len; i += 4) {
        uint32_t word = 0;
        int pad = 0;
        for (size_t k = 0; k < 4; k++) {
            char c = i + k < s.len ? s.p[i + k] : '!';
            int d = digit_of(c);
            pad += c == '=' && k >= 2 && i + 4 == s.len;
            if (d < 0 && c != '=')
                return wrong(cx, t, "base64, in a string");
            if ((d < 0 && !pad) || (d >= 0 && pad))
                return wrong(cx, t, "base64, in a string");
            word = word << 6 | (uint32_t)(d < 0 ? 0 : d);
        }
        for (int k = 0; k < 3 - pad; k++)
            out[n++] = (char)(word >> (16 - 8 * k));
    }
    *ret = str_n(out, n);
    return 0;
}

/* --- one value -------------------------------------------------------------------------------- */

static int from_text(struct ctx *cx, const struct data_type *t, str text, struct binrow_value *ret)
{
    /* No JSON string is that: it stands for null. */
    static const struct partition_naming naming = {.default_name = {"\xff", 1}};
    int rc = partition_value_parse(cx, t, text, &naming, ret);
    if (rc == E_UNSUPPORTED)
        cx->err.code = E_INVAL;
    return rc == E_UNSUPPORTED ? E_INVAL : rc;
}

static int bytes(struct ctx *cx, const struct data_type *t, const struct json *v,
                 struct binrow_value *ret)
{
    *ret = (struct binrow_value){.tag = BV_BYTES};
    if (v->type != JSON_STRING)
        return wrong(cx, t, "base64, in a string");
    TRY(base64(cx, t, v->s, &ret->bytes));
    if (ret->bytes.len > (size_t)t->length)
        return wrong(cx, t, "no longer than its type");
    return 0;
}

int native_value(struct ctx *cx, const struct data_type *t, const struct json *v,
                 struct binrow_value *ret)
{
    *ret = (struct binrow_value){.tag = BV_NULL};
    switch (v->type) {
    case JSON_NULL:
        return 0;
    case JSON_BOOL:
        if (t->kind != TYPE_BOOLEAN)
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "a %s cannot be true or false",
                            types_kind_name(t->kind));
        *ret = (struct binrow_value){.tag = BV_BOOL, .b = v->b};
        return 0;
    case JSON_INT:
    case JSON_DOUBLE:
        if (t->kind == TYPE_CHAR || t->kind == TYPE_VARCHAR)
            return wrong(cx, t, "a string");
        if (t->kind != TYPE_BINARY && t->kind != TYPE_VARBINARY)
            return from_text(cx, t, v->raw, ret);
        return bytes(cx, t, v, ret);
    case JSON_STRING:
        if (t->kind == TYPE_BINARY || t->kind == TYPE_VARBINARY)
            return bytes(cx, t, v, ret);
        return from_text(cx, t, v->s, ret);
    default:
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "a value must be a string, a number, true, false or null");
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

int native_row(struct ctx *cx, const struct binrow_type *t, const struct binrow_value *v, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    binrow_write(&b, t, v);
    *ret = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    return ret->p ? 0 : ctx_nomem(cx);
}

static const struct json *member(const struct json *obj, str name)
{
    JSON_EACH (it, obj)
        if (str_eq(it->key, name))
            return it;
    return NULL;
}

/* Are the members of obj these columns? Keys of an object differ, so the number tells of the rest. */
static int columns(struct ctx *cx, const struct binrow_type *t, const str *names,
                   const struct json *obj, const char *path)
{
    CLEANUP(buf_done) struct buf all = {0};
    size_t found = 0;
    for (size_t i = 0; i < t->n; i++) {
        found += obj && member(obj, names[i]) != NULL;
        if (all.len < 200)
            buf_addf(&all, "%s%.*s", i ? ", " : "", STR(names[i]));
    }
    if (found == t->n && (obj ? obj->n : 0) == t->n)
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    t->n ? "%s must have exactly these columns: %.*s"
                         : "%s must be left out: there are no such columns%.*s",
                    path, STR(buf_str(&all)));
}

int native_key(struct ctx *cx, const struct binrow_type *t, const str *names,
               const struct json *obj, const char *path, struct binrow_value *ret_values)
{
    TRY(columns(cx, t, names, obj, path));
    for (size_t i = 0; i < t->n; i++) {
        const struct json *v = member(obj, names[i]);
        int rc = native_value(cx, t->types[i], v, &ret_values[i]);
        if (rc == 0 && ret_values[i].tag == BV_NULL)
            rc = ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "a key must not be null");
        if (rc < 0)
            return ctx_prefix(cx, "%s.%.*s", path, STR(names[i]));
    }
    return 0;
}

static int partition_values(struct ctx *cx, const struct binrow_type *t, const str *names,
                            const struct partition_naming *naming, const struct json *obj,
                            const char *path, struct binrow_value *ret_values)
{
    TRY(columns(cx, t, names, obj, path));
    for (size_t i = 0; i < t->n; i++) {
        const struct json *v = member(obj, names[i]);
        int rc = 0;
        ret_values[i] = (struct binrow_value){.tag = BV_NULL};
        if (v->type == JSON_STRING)
            rc = partition_value_parse(cx, t->types[i], v->s, naming, &ret_values[i]);
        else if (v->type != JSON_NULL)
            rc = ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                          "the value of a partition must be a text, as in a partition spec");
        if (rc < 0)
            return ctx_prefix(cx, "%s.%.*s", path, STR(names[i]));
    }
    return 0;
}

int native_partition(struct ctx *cx, const struct binrow_type *t, const str *names,
                     const struct partition_naming *naming, const struct json *obj,
                     const char *path, str *ret_row)
{
    struct binrow_value *v = ARENA_ARRAY(&cx->arena, struct binrow_value, t->n + 1);
    if (!v)
        return ctx_nomem(cx);
    TRY(partition_values(cx, t, names, naming, obj, path, v));
    return native_row(cx, t, v, ret_row);
}
