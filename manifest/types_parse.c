/* types_parse.c - reading data types from SQL text and from JSON.
 *
 * Source of what is accepted: paimon-api DataTypeJsonParser and the constructors of
 * org.apache.paimon.types (ranges, defaults); keywords in any case. Wider than Java in one point:
 * "TIMESTAMP WITH LOCAL TIME ZONE(3)", as paimon-rust writes it, is taken for the
 * "TIMESTAMP(3) WITH LOCAL TIME ZONE" that it means. Narrower in two: a lone "TIMESTAMP WITH" and
 * words that only begin like ARRAY, MAP, ... are refused.
 *
 * The text comes from clients and files: nothing is asserted about it. SQL text is read in one pass
 * without recursion (a VECTOR's element is atomic); JSON recurses at most TYPES_DEPTH_MAX levels.
 * No state; any thread. */
#include "manifest/types.h"
#include "manifest/doc.h"
#include <stdarg.h>

#define TEXT_SHOWN    80 /* bytes of a client's text in a message */
#define SHOWN(s)      ((s).len < TEXT_SHOWN ? (int)(s).len : TEXT_SHOWN), (s).p
#define DECIMAL_MAX   38
#define PRECISION_MAX 9
#define ATOMIC_NAMES                                                                               \
    "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), CHAR(n), VARCHAR(n), " \
    "STRING, BINARY(n), VARBINARY(n), BYTES, DATE, TIME(p), TIMESTAMP(p), "                        \
    "TIMESTAMP(p) WITH LOCAL TIME ZONE, VARIANT, BLOB, GEOMETRY(crs), GEOGRAPHY(crs, edges)"
#define NESTED_NAMES "ARRAY, MULTISET, VECTOR, MAP, ROW"

/* --- tokens --- */

enum tok { TOK_END, TOK_WORD, TOK_QUOTED, TOK_INT, TOK_SIGN };

struct sql {
    struct ctx *cx;
    str text;
    size_t at;    /* behind the current token */
    enum tok tok; /* the current token */
    str s;      /* its text; of a quoted one what is between the quotes, doubled ones as they are */
    char quote; /* of a quoted one */
};

static int PRINTF(2, 3) bad(const struct sql *q, const char *fmt, ...)
{
    char why[384];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    return ctx_fail(q->cx, E_INVAL, RES_NONE, STR_NONE, "type \"%.*s\": %s", SHOWN(q->text), why);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
}

static bool is_sign(char c)
{
    return c == '<' || c == '>' || c == '(' || c == ')' || c == ',' || c == '.';
}

/* From the opening quote at q->at to the closing one, or to the end of the text. */
static void next_quoted(struct sql *q)
{
    const char *p = q->text.p;
    size_t from = ++q->at;
    while (q->at < q->text.len) {
        if (p[q->at] != q->quote)
            q->at++;
        else if (q->at + 1 < q->text.len && p[q->at + 1] == q->quote)
            q->at += 2;
        else
            break;
    }
    q->s = str_n(p + from, q->at - from);
    q->at += q->at < q->text.len;
}

static void next(struct sql *q)
{
    const char *p = q->text.p;
    size_t end = q->text.len;
    while (q->at < end && is_blank(p[q->at]))
        q->at++;
    size_t from = q->at;
    if (from == end) {
        q->tok = TOK_END;
    } else if (p[from] == '\'' || p[from] == '`') {
        q->tok = TOK_QUOTED;
        q->quote = p[from];
        next_quoted(q);
        return;
    } else if (is_sign(p[from])) {
        q->tok = TOK_SIGN;
        q->at++;
    } else if (is_digit(p[from])) {
        q->tok = TOK_INT;
        while (q->at < end && is_digit(p[q->at]))
            q->at++;
    } else {
        q->tok = TOK_WORD;
        while (q->at < end && !is_blank(p[q->at]) && !is_sign(p[q->at]))
            q->at++;
    }
    q->s = str_n(p + from, q->at - from);
}

static bool is_word(const struct sql *q, const char *word)
{
    return q->tok == TOK_WORD && str_ieq(q->s, str_of(word));
}

static bool take_word(struct sql *q, const char *word)
{
    bool is = is_word(q, word);
    if (is)
        next(q);
    return is;
}

static bool take_sign(struct sql *q, char c)
{
    bool is = q->tok == TOK_SIGN && q->s.p[0] == c;
    if (is)
        next(q);
    return is;
}

static int expected(const struct sql *q, const char *what)
{
    if (q->tok == TOK_END)
        return bad(q, "it ends too early, expected %s", what);
    return bad(q, "expected %s, found \"%.*s\"", what, SHOWN(q->s));
}

static int want_word(struct sql *q, const char *word)
{
    return take_word(q, word) ? 0 : expected(q, word);
}

static int want_sign(struct sql *q, char c)
{
    char what[] = {'\'', c, '\'', 0};
    return take_sign(q, c) ? 0 : expected(q, what);
}

static int want_int(struct sql *q, const char *what, int32_t min, int32_t max, int32_t *ret)
{
    int64_t v;
    if (q->tok != TOK_INT)
        return expected(q, what);
    if (!str_to_i64(q->s, &v) || v < min || v > max)
        return bad(q, "%s must be between %d and %d", what, (int)min, (int)max);
    next(q);
    *ret = (int32_t)v;
    return 0;
}

/* --- atomic types --- */

static int parse_length(struct sql *q, struct data_type *t)
{
    t->length = 1;
    if (!take_sign(q, '('))
        return 0;
    TRY(want_int(q, "the length", 1, TYPE_LENGTH_MAX, &t->length));
    return want_sign(q, ')');
}

static int parse_unlimited(struct sql *q, struct data_type *t) /* STRING, BYTES */
{
    (void)q;
    t->length = TYPE_LENGTH_MAX;
    return 0;
}

static int parse_decimal(struct sql *q, struct data_type *t)
{
    t->precision = 10;
    if (!take_sign(q, '('))
        return 0;
    TRY(want_int(q, "the precision", 1, DECIMAL_MAX, &t->precision));
    if (take_sign(q, ','))
        TRY(want_int(q, "the scale", 0, t->precision, &t->scale));
    return want_sign(q, ')');
}

static int parse_double(struct sql *q, struct data_type *t)
{
    (void)t;
    take_word(q, "PRECISION");
    return 0;
}

static int parse_precision(struct sql *q, struct data_type *t)
{
    if (!take_sign(q, '('))
        return 0;
    TRY(want_int(q, "the precision", 0, PRECISION_MAX, &t->precision));
    return want_sign(q, ')');
}

static int parse_time_zone(struct sql *q)
{
    TRY(want_word(q, "TIME"));
    return want_word(q, "ZONE");
}

static int parse_time(struct sql *q, struct data_type *t)
{
    TRY(parse_precision(q, t));
    return take_word(q, "WITHOUT") ? parse_time_zone(q) : 0;
}

static int parse_timestamp(struct sql *q, struct data_type *t)
{
    t->precision = 6;
    bool early = q->tok == TOK_SIGN; /* the precision comes before WITH, as it should */
    TRY(parse_precision(q, t));
    if (take_word(q, "WITHOUT"))
        return parse_time_zone(q);
    if (!take_word(q, "WITH"))
        return 0;
    TRY(want_word(q, "LOCAL"));
    TRY(parse_time_zone(q));
    t->kind = TYPE_TIMESTAMP_LTZ;
    return early ? 0 : parse_precision(q, t);
}

static int parse_timestamp_ltz(struct sql *q, struct data_type *t)
{
    t->precision = 6;
    return parse_precision(q, t);
}

/* A word or quoted text, doubled quotes made one. */
static int want_text(struct sql *q, const char *what, str *ret)
{
    if (q->tok != TOK_WORD && q->tok != TOK_QUOTED)
        return expected(q, what);
    str s = q->s;
    if (q->tok == TOK_QUOTED && str_find(s, q->quote) >= 0) {
        char *p = arena_alloc(&q->cx->arena, s.len);
        size_t n = 0;
        if (!p)
            return ctx_nomem(q->cx);
        for (size_t i = 0; i < s.len; i++) {
            p[n++] = s.p[i];
            i += s.p[i] == q->quote;
        }
        s = str_n(p, n);
    }
    if (s.len == 0)
        return bad(q, "%s must not be empty", what);
    next(q);
    *ret = s;
    return 0;
}

static int parse_edges(struct sql *q, struct data_type *t)
{
    static const char *const names[] = {"SPHERICAL", "VINCENTY", "THOMAS", "ANDOYER", "KARNEY"};
    str s = STR_NONE;
    TRY(want_text(q, "the edge algorithm", &s));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_ieq(s, str_of(names[i]))) {
            t->edges = (enum type_edges)i;
            return 0;
        }
    return bad(q, "the edge algorithm must be one of spherical, vincenty, thomas, andoyer, karney");
}

static int parse_geo(struct sql *q, struct data_type *t)
{
    t->crs = STR_LIT("OGC:CRS84");
    if (!take_sign(q, '('))
        return 0;
    TRY(want_text(q, "the coordinate reference system", &t->crs));
    if (t->kind == TYPE_GEOGRAPHY && take_sign(q, ','))
        TRY(parse_edges(q, t));
    return want_sign(q, ')');
}

struct word {
    const char *word;
    enum type_kind kind;
    int (*rest)(struct sql *q, struct data_type *t); /* what may follow the word; NULL: nothing */
};
static const struct word words[] = {
    {"INT", TYPE_INT, NULL},
    {"BIGINT", TYPE_BIGINT, NULL},
    {"STRING", TYPE_VARCHAR, parse_unlimited},
    {"DOUBLE", TYPE_DOUBLE, parse_double},
    {"BOOLEAN", TYPE_BOOLEAN, NULL},
    {"DECIMAL", TYPE_DECIMAL, parse_decimal},
    {"NUMERIC", TYPE_DECIMAL, parse_decimal},
    {"DEC", TYPE_DECIMAL, parse_decimal},
    {"TIMESTAMP", TYPE_TIMESTAMP, parse_timestamp},
    {"TIMESTAMP_LTZ", TYPE_TIMESTAMP_LTZ, parse_timestamp_ltz},
    {"DATE", TYPE_DATE, NULL},
    {"VARCHAR", TYPE_VARCHAR, parse_length},
    {"BYTES", TYPE_VARBINARY, parse_unlimited},
    {"FLOAT", TYPE_FLOAT, NULL},
    {"TINYINT", TYPE_TINYINT, NULL},
    {"SMALLINT", TYPE_SMALLINT, NULL},
    {"INTEGER", TYPE_INT, NULL},
    {"CHAR", TYPE_CHAR, parse_length},
    {"BINARY", TYPE_BINARY, parse_length},
    {"VARBINARY", TYPE_VARBINARY, parse_length},
    {"TIME", TYPE_TIME, parse_time},
    {"VARIANT", TYPE_VARIANT, NULL},
    {"BLOB", TYPE_BLOB, NULL},
    {"GEOMETRY", TYPE_GEOMETRY, parse_geo},
    {"GEOGRAPHY", TYPE_GEOGRAPHY, parse_geo},
};
static const enum type_kind nested[] = {TYPE_ARRAY, TYPE_VECTOR, TYPE_MULTISET, TYPE_MAP, TYPE_ROW};
enum { N_WORDS = sizeof words / sizeof *words, N_NESTED = sizeof nested / sizeof *nested };

static struct data_type *new_type(struct ctx *cx, enum type_kind kind) /* NULL: no memory */
{
    struct data_type *t = ARENA_NEW(&cx->arena, struct data_type);
    if (t) {
        t->kind = kind;
        t->nullable = true;
    }
    return t;
}

static int parse_nullable(struct sql *q, bool *ret)
{
    *ret = true;
    if (take_word(q, "NOT")) {
        *ret = false;
        return want_word(q, "NULL");
    }
    take_word(q, "NULL");
    return 0;
}

static int unknown(const struct sql *q)
{
    for (size_t i = 0; i < N_NESTED; i++)
        if (is_word(q, types_kind_name(nested[i])))
            return bad(q, "%s types are written as a JSON object, {\"type\":\"%s\",...}",
                       types_kind_name(nested[i]), types_kind_name(nested[i]));
    return bad(q, "this is no type; allowed are %s, and objects for %s", ATOMIC_NAMES,
               NESTED_NAMES);
}

static int parse_atomic(struct sql *q, const struct data_type **ret)
{
    const struct word *w = words;
    while (w < words + N_WORDS && !take_word(q, w->word))
        w++;
    if (w == words + N_WORDS)
        return unknown(q);
    struct data_type *t = new_type(q->cx, w->kind);
    if (!t)
        return ctx_nomem(q->cx);
    if (w->rest)
        TRY(w->rest(q, t));
    TRY(parse_nullable(q, &t->nullable));
    *ret = t;
    return 0;
}

int types_check_vector(struct ctx *cx, const struct data_type *t)
{
    enum type_kind k = t->value->kind;
    if (k == TYPE_BOOLEAN || (k >= TYPE_TINYINT && k <= TYPE_DOUBLE))
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "the element of a VECTOR must be one of BOOLEAN, TINYINT, SMALLINT, INT, "
                    "BIGINT, FLOAT, DOUBLE, not %s",
                    types_kind_name(k));
}
_Static_assert(TYPE_DOUBLE - TYPE_TINYINT == 5, "the numbers without a precision stand together");

/* VECTOR<element, length>; the word is taken. */
static int parse_vector(struct sql *q, const struct data_type **ret)
{
    struct data_type *t = new_type(q->cx, TYPE_VECTOR);
    if (!t)
        return ctx_nomem(q->cx);
    TRY(want_sign(q, '<'));
    TRY(parse_atomic(q, &t->value));
    TRY(types_check_vector(q->cx, t));
    TRY(want_sign(q, ','));
    TRY(want_int(q, "the length", 1, TYPE_LENGTH_MAX, &t->length));
    TRY(want_sign(q, '>'));
    TRY(parse_nullable(q, &t->nullable));
    *ret = t;
    return 0;
}

/* "INT ARRAY", "INT NOT NULL MULTISET": the suffix makes t the element. */
static int parse_suffix(struct sql *q, const struct data_type *t, const struct data_type **ret)
{
    bool array = is_word(q, "ARRAY");
    *ret = t;
    if (!array && !is_word(q, "MULTISET"))
        return 0;
    struct data_type *outer = new_type(q->cx, array ? TYPE_ARRAY : TYPE_MULTISET);
    if (!outer)
        return ctx_nomem(q->cx);
    next(q);
    outer->value = t;
    *ret = outer;
    return parse_nullable(q, &outer->nullable);
}

int types_parse(struct ctx *cx, str text, const struct data_type **ret)
{
    struct sql q = {.cx = cx, .text = text};
    const struct data_type *t = NULL;
    next(&q);
    if (take_word(&q, "VECTOR"))
        TRY(parse_vector(&q, &t));
    else
        TRY(parse_atomic(&q, &t));
    TRY(parse_suffix(&q, t, &t));
    if (q.tok != TOK_END)
        return expected(&q, "nothing more");
    *ret = t;
    return 0;
}

/* --- JSON --- */

struct dec {
    struct ctx *cx;
    int depth;                  /* JSON levels above */
    int32_t next_id;            /* of the next field without one */
    size_t with_id, without_id; /* fields seen */
};

static int decode_type(struct dec *d, const struct json *v, const struct data_type **ret);

/* "ARRAY", "ARRAY NOT NULL", ... */
static int decode_head(struct dec *d, const struct json *v, struct data_type **ret)
{
    str head;
    TRY(json_want_str(d->cx, v, "", "type", &head));
    struct sql q = {.cx = d->cx, .text = head};
    next(&q);
    for (size_t i = 0; i < N_NESTED; i++) {
        if (!take_word(&q, types_kind_name(nested[i])))
            continue;
        struct data_type *t = new_type(d->cx, nested[i]);
        if (!t)
            return ctx_nomem(d->cx);
        TRY(parse_nullable(&q, &t->nullable));
        *ret = t;
        return q.tok == TOK_END ? 0 : expected(&q, "nothing more");
    }
    return bad(&q, "an object is for %s; other types are written as a string", NESTED_NAMES);
}

static int decode_child(struct dec *d, const struct json *v, const char *key,
                        const struct data_type **ret)
{
    const struct json *child = json_get(v, key);
    if (json_is_null(child))
        return ctx_fail(d->cx, E_INVAL, RES_NONE, STR_NONE, "the member \"%s\" is missing", key);
    return decode_type(d, child, ret) < 0 ? ctx_prefix(d->cx, "%s", key) : 0;
}

static int decode_id(struct dec *d, const struct json *v, int32_t *ret)
{
    int64_t id;
    if (json_is_null(json_get(v, "id"))) {
        d->without_id++;
        *ret = d->next_id++;
        return 0;
    }
    TRY(json_want_i64(d->cx, v, "", "id", &id));
    TRY(doc_range(d->cx, "", "id", id, 0, INT32_MAX));
    d->with_id++;
    *ret = (int32_t)id;
    return 0;
}

static int decode_field_rest(struct dec *d, const struct json *v, struct data_field *f)
{
    TRY(decode_id(d, v, &f->id));
    TRY(doc_text(d->cx, v, "", "description", &f->description));
    TRY(doc_text(d->cx, v, "", "defaultValue", &f->default_value));
    const struct json *type = json_get(v, "type");
    if (json_is_null(type))
        return ctx_fail(d->cx, E_INVAL, RES_NONE, STR_NONE, "the member \"type\" is missing");
    return decode_type(d, type, &f->type);
}

static int decode_field(struct dec *d, const struct json *v, struct data_field *f)
{
    if (v->type != JSON_OBJECT)
        return ctx_fail(d->cx, E_INVAL, RES_NONE, STR_NONE, "a field must be an object");
    TRY(json_want_str(d->cx, v, "field", "name", &f->name));
    if (str_trim(f->name).len == 0)
        return ctx_fail(d->cx, E_INVAL, RES_NONE, STR_NONE, "field.name must not be blank");
    return decode_field_rest(d, v, f) < 0 ? ctx_prefix(d->cx, "column \"%.*s\"", SHOWN(f->name))
                                          : 0;
}

static int decode_fields(struct dec *d, const struct json *arr, const struct data_field **ret,
                         size_t *ret_n)
{
    struct data_field *fields = ARENA_ARRAY(&d->cx->arena, struct data_field, arr->n);
    size_t n = 0;
    if (!fields && arr->n > 0)
        return ctx_nomem(d->cx);
    JSON_EACH (it, arr)
        TRY(decode_field(d, it, &fields[n++]));
    TRY(types_check_names(d->cx, fields, n));
    *ret = fields;
    *ret_n = n;
    return 0;
}

static int decode_vector(struct dec *d, const struct json *v, struct data_type *t)
{
    int64_t length;
    TRY(decode_child(d, v, "element", &t->value));
    TRY(types_check_vector(d->cx, t));
    TRY(json_want_i64(d->cx, v, "", "length", &length));
    TRY(doc_range(d->cx, "", "length", length, 1, TYPE_LENGTH_MAX));
    t->length = (int32_t)length;
    return 0;
}

static int decode_nested(struct dec *d, const struct json *v, struct data_type *t)
{
    const struct json *arr;
    switch (t->kind) {
    case TYPE_ROW:
        TRY(json_want_arr(d->cx, v, "", "fields", &arr));
        return decode_fields(d, arr, &t->fields, &t->n_fields);
    case TYPE_MAP:
        TRY(decode_child(d, v, "key", &t->key));
        return decode_child(d, v, "value", &t->value);
    case TYPE_VECTOR:
        return decode_vector(d, v, t);
    default:
        return decode_child(d, v, "element", &t->value);
    }
}

static int decode_type(struct dec *d, const struct json *v, const struct data_type **ret)
{
    struct data_type *t = NULL;
    if (v->type == JSON_STRING)
        return types_parse(d->cx, v->s, ret);
    if (v->type != JSON_OBJECT)
        return ctx_fail(d->cx, E_INVAL, RES_NONE, STR_NONE,
                        "a type must be a string, or an object for %s", NESTED_NAMES);
    TRY(decode_head(d, v, &t));
    int levels = t->kind == TYPE_ROW ? 3 : 1;
    if (d->depth + levels > TYPES_DEPTH_MAX)
        return ctx_fail(d->cx, E_INVAL, RES_NONE, STR_NONE,
                        "types are nested too deep; flatten the column");
    d->depth += levels;
    TRY(decode_nested(d, v, t));
    d->depth -= levels;
    *ret = t;
    return 0;
}

static int check_id_mix(const struct dec *d)
{
    if (d->with_id == 0 || d->without_id == 0)
        return 0;
    return ctx_fail(d->cx, E_INVAL, RES_NONE, STR_NONE,
                    "%zu fields have an id and %zu have none; give one to each field, those of "
                    "nested types included, or to none",
                    d->with_id, d->without_id);
}

int types_decode(struct ctx *cx, const struct json *v, const struct data_type **ret)
{
    struct dec d = {.cx = cx};
    const struct data_type *t = NULL;
    TRY(decode_type(&d, v, &t));
    TRY(check_id_mix(&d));
    *ret = t;
    return 0;
}

int types_decode_fields(struct ctx *cx, const struct json *arr, const char *path, bool need_ids,
                        const struct data_field **ret, size_t *ret_n)
{
    struct dec d = {.cx = cx};
    const struct data_field *fields = NULL;
    size_t n = 0;
    if (decode_fields(&d, arr, &fields, &n) < 0)
        return ctx_prefix(cx, "%s", path);
    TRY(check_id_mix(&d));
    if (need_ids && d.without_id > 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s: every field needs an id", path);
    *ret = fields;
    *ret_n = n;
    return 0;
}
