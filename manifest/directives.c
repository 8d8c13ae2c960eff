/* directives.c - see directives.h. Source: paimon-core ColumnDirectiveUtils (rules, messages) and
 * CoreOptions (blob-field, blob-descriptor-field with its older name, blob-view-field,
 * vector-field). A column that a directive changed has no default value, as in Java. No state; any
 * thread. */
#include "manifest/directives.h"

#define BLOB_FIELD       "__BLOB_FIELD"
#define BLOB_DESCRIPTOR  "__BLOB_DESCRIPTOR_FIELD"
#define BLOB_VIEW        "__BLOB_VIEW_FIELD"
#define VECTOR_FIELD     "__VECTOR_FIELD"
#define OLDER_DESCRIPTOR "blob.stored-descriptor-fields"
#define SHOWN_MAX        64 /* bytes of a client's text in a message */
#define SHOWN(s)         ((s).len < SHOWN_MAX ? (int)(s).len : SHOWN_MAX), (s).p

static const struct kind {
    const char *marker, *option;
    const char *older; /* a former name of the option, whose value moves over; NULL: none */
} kinds[] = {
    {BLOB_VIEW, "blob-view-field", NULL},
    {BLOB_DESCRIPTOR, "blob-descriptor-field", OLDER_DESCRIPTOR},
    {BLOB_FIELD, "blob-field", NULL},
    {VECTOR_FIELD, "vector-field", NULL},
};
enum { KIND_BLOB_FIELD = 2, KIND_VECTOR = 3, N_KINDS = sizeof kinds / sizeof *kinds };

struct directive {
    const struct kind *kind; /* NULL: none */
    str comment;             /* what stays; STR_NONE: nothing */
    int32_t dimension;       /* of a VECTOR */
};

static str none_if_empty(str s)
{
    s = str_trim(s);
    return s.len > 0 ? s : STR_NONE;
}

/* What follows the marker and its ';'; false: this is another marker. */
static bool match(const struct kind *k, str comment, str *ret_rest)
{
    size_t n = strlen(k->marker);
    if (!str_starts(comment, str_of(k->marker)))
        return false;
    if (comment.len > n && comment.p[n] != ';')
        return false;
    *ret_rest = comment.len > n ? str_cut(comment, n + 1) : STR_NONE;
    return true;
}

static int parse_dimension(struct ctx *cx, str text, int32_t *ret)
{
    int64_t n;
    str digits = text.len > 1 && text.p[0] == '+' ? str_cut(text, 1) : text;
    if (!str_to_i64(digits, &n) || n < INT32_MIN || n > INT32_MAX)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "Expected an integer dimension after '" VECTOR_FIELD ";', but got: '%.*s'.",
                        SHOWN(text));
    if (n < 1)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "Vector dimension must be >= 1, but got: %d.", (int)n);
    *ret = (int32_t)n;
    return 0;
}

static int parse_vector(struct ctx *cx, str comment, struct directive *d)
{
    str rest, dimension;
    if (!match(&kinds[KIND_VECTOR], comment, &rest))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "Unsupported VECTOR directive in column comment: '%.*s'. Supported "
                        "directive is '" VECTOR_FIELD "'.",
                        SHOWN(comment));
    if (!rest.p)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "VECTOR directive '%.*s' requires a dimension, e.g. '" VECTOR_FIELD
                        ";128' or '" VECTOR_FIELD ";128; my comment'.",
                        SHOWN(comment));
    IGNORE(!str_split(&rest, ';', &dimension));
    d->kind = &kinds[KIND_VECTOR];
    d->comment = none_if_empty(rest);
    return parse_dimension(cx, str_trim(dimension), &d->dimension);
}

static int parse(struct ctx *cx, str comment, struct directive *d)
{
    str rest;
    *d = (struct directive){0};
    comment = str_trim(comment);
    if (str_starts(comment, STR_LIT("__VECTOR")))
        return parse_vector(cx, comment, d);
    if (!str_starts(comment, STR_LIT("__BLOB")))
        return 0;
    for (size_t i = 0; i < KIND_VECTOR; i++)
        if (match(&kinds[i], comment, &rest)) {
            d->kind = &kinds[i];
            d->comment = none_if_empty(rest);
            return 0;
        }
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "Unsupported BLOB directive in column comment: '%.*s'. Supported directives "
                    "are '" BLOB_FIELD "', '" BLOB_DESCRIPTOR "' and '" BLOB_VIEW "'.",
                    SHOWN(comment));
}

int directive_is(struct ctx *cx, str comment, bool *ret)
{
    struct directive d;
    TRY(parse(cx, comment, &d));
    *ret = d.kind != NULL;
    return 0;
}

/* --- types --- */

bool type_is_blob_file(const struct data_type *t)
{
    if (t->kind == TYPE_ARRAY || t->kind == TYPE_MAP)
        t = t->value;
    return t->kind == TYPE_BLOB;
}

static bool is_bytes(const struct data_type *t)
{
    return t->kind == TYPE_BINARY || t->kind == TYPE_VARBINARY || t->kind == TYPE_BLOB;
}

static int make_vector(struct ctx *cx, const struct directive *d, const struct data_field *f,
                       struct data_type *ret)
{
    if (f->type->kind != TYPE_ARRAY)
        return ctx_fail(cx, E_INVAL, RES_COLUMN, f->name,
                        "Column %.*s declared with a VECTOR directive must be of ARRAY type, but "
                        "was %.*s.",
                        SHOWN(f->name), STR(types_sql_str(&cx->arena, f->type)));
    *ret = (struct data_type){.kind = TYPE_VECTOR,
                              .nullable = f->type->nullable,
                              .length = d->dimension,
                              .value = f->type->value};
    return types_check_vector(cx, ret);
}

/* Of BYTES, of ARRAY of BYTES, of MAP to BYTES; the latter two in blob-field only. */
static int make_blob(struct ctx *cx, const struct directive *d, const struct data_field *f,
                     struct data_type *ret)
{
    const struct data_type *t = f->type;
    bool nests = t->kind == TYPE_ARRAY || t->kind == TYPE_MAP;
    if (nests && d->kind != &kinds[KIND_BLOB_FIELD])
        return ctx_fail(cx, E_INVAL, RES_COLUMN, f->name,
                        "Column %.*s declared with '%s' must be of BYTES, BINARY or BLOB type, but "
                        "was %.*s. %s is only supported by 'blob-field'.",
                        SHOWN(f->name), d->kind->option, STR(types_sql_str(&cx->arena, t)),
                        t->kind == TYPE_ARRAY ? "ARRAY<BLOB>" : "MAP<X, BLOB>");
    if (!is_bytes(nests ? t->value : t))
        return ctx_fail(cx, E_INVAL, RES_COLUMN, f->name,
                        "Column %.*s declared with a BLOB directive must be of BYTES, BINARY, "
                        "BLOB, ARRAY<BYTES>, ARRAY<BINARY> or ARRAY<BLOB> type, or a supported "
                        "MAP<X, BYTES/BINARY/BLOB> type, but was %.*s.",
                        SHOWN(f->name), STR(types_sql_str(&cx->arena, t)));
    struct data_type *blob = nests ? ARENA_NEW(&cx->arena, struct data_type) : ret;
    if (!blob)
        return ctx_nomem(cx);
    *ret = *t;
    *blob =
        (struct data_type){.kind = TYPE_BLOB, .nullable = nests ? t->value->nullable : t->nullable};
    if (nests)
        ret->value = blob;
    return 0;
}

/* --- carrying it out --- */

static int note(const struct kind *k, str column, struct options_edit *options)
{
    if (k->older && options_edit_get(options, str_of(k->option)).len == 0) {
        str moved = options_edit_get(options, str_of(k->older));
        if (moved.len > 0) {
            moved = str_dup(&options->cx->arena, moved); /* it may go with the option */
            TRY(moved.p ? options_edit_set(options, str_of(k->option), moved)
                        : ctx_nomem(options->cx));
        }
        options_edit_remove(options, str_of(k->older));
    }
    return options_edit_list_add(options, str_of(k->option), column);
}

int directive_apply(struct ctx *cx, struct data_field *f, struct options_edit *options, bool *ret)
{
    struct directive d;
    *ret = false;
    TRY(parse(cx, f->description, &d));
    if (!d.kind)
        return 0;
    struct data_type *t = ARENA_NEW(&cx->arena, struct data_type);
    if (!t)
        return ctx_nomem(cx);
    bool vector = d.kind == &kinds[KIND_VECTOR];
    TRY(vector ? make_vector(cx, &d, f, t) : make_blob(cx, &d, f, t));
    TRY(note(d.kind, f->name, options));
    f->type = t;
    f->description = d.comment;
    f->default_value = STR_NONE;
    *ret = true;
    return 0;
}

static bool none_begins_like_one(const struct schema *s)
{
    for (size_t i = 0; i < s->n_fields; i++)
        if (str_starts(str_trim(s->fields[i].description), STR_LIT("__")))
            return false;
    return true;
}

int directives_apply(struct ctx *cx, struct schema *s)
{
    bool applied;
    if (none_begins_like_one(s))
        return 0;
    struct data_field *fields = ARENA_ARRAY(&cx->arena, struct data_field, s->n_fields);
    if (!fields)
        return ctx_nomem(cx);
    CLEANUP(options_edit_done) struct options_edit options;
    TRY(options_edit_init(cx, &s->options, &options));
    for (size_t i = 0; i < s->n_fields; i++) {
        fields[i] = s->fields[i];
        TRY(directive_apply(cx, &fields[i], &options, &applied));
    }
    TRY(options_edit_result(&options, &s->options));
    s->fields = fields;
    return 0;
}

/* --- dropping --- */

static int forget_option(struct ctx *cx, str column, const char *suffix, const char *prefix,
                         struct options_edit *options)
{
    CLEANUP(buf_done) struct buf key = {0};
    buf_addf(&key, "%s.%.*s.%s", prefix, STR(column), suffix);
    if (buf_fail(&key))
        return ctx_nomem(cx);
    options_edit_remove(options, buf_str(&key));
    return 0;
}

int directive_forget(struct ctx *cx, const struct data_field *f, struct options_edit *options)
{
    static const char *const of_map[] = {"map.storage-layout", "map.shared-shredding.max-columns",
                                         "map.shared-shredding.column-placement-policy"};
    bool blob = type_is_blob_file(f->type), vector = f->type->kind == TYPE_VECTOR;
    for (size_t i = 0; i < N_KINDS; i++) {
        if (!(i == KIND_VECTOR ? vector : blob))
            continue;
        TRY(options_edit_list_remove(options, str_of(kinds[i].option), f->name));
        if (kinds[i].older)
            TRY(options_edit_list_remove(options, str_of(kinds[i].older), f->name));
    }
    if (vector)
        return forget_option(cx, f->name, "vector-dim", "field", options);
    if (f->type->kind != TYPE_MAP || blob)
        return 0;
    for (size_t i = 0; i < sizeof of_map / sizeof *of_map; i++)
        TRY(forget_option(cx, f->name, of_map[i], "fields", options));
    return 0;
}
