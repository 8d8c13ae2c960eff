/* schema_check_format.c - file formats: is it one of Paimon's, and can it hold the columns?
 *
 * Source: paimon-format *FileFormat.validateDataFields, AvroSchemaConverter, OrcTypeUtil; Paimon's
 * SchemaValidation for BLOB, VECTOR and the geospatial types. BLOB columns go to files of their
 * own, unless they are descriptors, and VECTOR columns do with option vector.file.format; all
 * others go to files of file.format. What a format of some line of Paimon can hold, it may hold
 * here. No state; any thread. */
#include "manifest/java_text.h"
#include "manifest/schema_check_int.h"

enum verdict { FITS, UNKNOWN_TYPE, TOO_PRECISE };

/* Does it go to a file of its own? A BLOB in an ARRAY or MAP does from 2.0 on. */
static bool in_blob_file(const struct data_type *t, bool is_inline)
{
    if (t->kind == TYPE_ARRAY || t->kind == TYPE_MAP)
        return t->value->kind == TYPE_BLOB;
    return t->kind == TYPE_BLOB && !is_inline;
}

static bool geospatial(const struct data_type *t)
{
    return types_contains(t, TYPE_GEOMETRY) || types_contains(t, TYPE_GEOGRAPHY);
}

/* --- types by format -------------------------------------------------------------------------- */

static enum verdict in_avro(const struct data_type *t)
{
    switch (t->kind) {
    case TYPE_VARIANT:
        return UNKNOWN_TYPE;
    case TYPE_TIME:
        return t->precision > 3 ? TOO_PRECISE : FITS;
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return t->precision > 6 ? TOO_PRECISE : FITS;
    default:
        return FITS;
    }
}

static enum verdict in_orc(const struct data_type *t)
{
    return t->kind == TYPE_VARIANT || t->kind == TYPE_VECTOR || t->kind == TYPE_BLOB ? UNKNOWN_TYPE
                                                                                     : FITS;
}

static enum verdict in_csv(const struct data_type *t)
{
    return t->kind >= TYPE_VARIANT ? UNKNOWN_TYPE : FITS;
}

static enum verdict in_json(const struct data_type *t)
{
    bool known = t->kind < TYPE_VARIANT || t->kind == TYPE_ARRAY || t->kind == TYPE_VECTOR ||
                 t->kind == TYPE_MAP || t->kind == TYPE_ROW;
    return known ? FITS : UNKNOWN_TYPE;
}

static const struct format {
    const char *name;
    enum verdict (*of)(const struct data_type *t); /* NULL: all types, or not known to all lines */
    bool nested;                                   /* does it look into nested types? */
} formats[] = {
    {"parquet", NULL, false}, {"orc", in_orc, true},    {"avro", in_avro, true},
    {"csv", in_csv, false},   {"json", in_json, false}, {"text", NULL, false},
    {"blob", NULL, false},    {"lance", NULL, false},   {"mosaic", NULL, false},
    {"row", NULL, false},     {"vortex", NULL, false},
};

static const struct format *find_format(str name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (str_ieq(name, str_of(formats[i].name)))
            return &formats[i];
    return NULL;
}

/* As deep as types go, which is limited. */
static enum verdict judge(const struct format *f, const struct data_type *t)
{
    enum verdict v = f->of(t);
    if (!f->nested)
        return v;
    if (v == FITS && t->key)
        v = judge(f, t->key);
    if (v == FITS && t->value)
        v = judge(f, t->value);
    for (size_t i = 0; v == FITS && i < t->n_fields; i++)
        v = judge(f, t->fields[i].type);
    return v;
}

static int check_type(struct check *c, const struct format *f, const struct data_field *col)
{
    enum verdict v = f->of ? judge(f, col->type) : FITS;
    if (v == FITS)
        return 0;
    str sql = types_sql_str(&c->cx->arena, col->type);
    if (v == UNKNOWN_TYPE)
        return ctx_fail(c->cx, E_UNSUPPORTED, RES_COLUMN, col->name,
                        "files of format %s cannot hold the type %.*s of column \"%.*s\"; use "
                        "another file.format",
                        f->name, STR(sql), SHOWN(col->name));
    return ctx_fail(c->cx, E_INVAL, RES_COLUMN, col->name,
                    "column \"%.*s\" has the type %.*s, but Avro supports a precision up to 3 for "
                    "TIME and up to 6 for TIMESTAMP; lower it or use another file.format",
                    SHOWN(col->name), STR(sql));
}

static int want_format(struct check *c, const char *key, const struct format **ret)
{
    str name = opt_text(c->o, key);
    *ret = find_format(name.p ? name : STR_LIT("parquet"));
    if (*ret)
        return 0;
    return REFUSE(c,
                  "option %s is '%.*s', and Paimon has no file format of that name; use parquet, "
                  "orc, avro, csv, json, text, lance, mosaic, row or vortex",
                  key, SHOWN(name));
}

/* --- BLOB ------------------------------------------------------------------------------------- */

/* Is `name` in the list that an option gives? The lists are walked once for each BLOB column, so
 * BLOB columns are marked by the list instead. */
static int mark_inline(struct check *c, const char *key, bool must_be_blob, bool *is_inline)
{
    str text = opt_text(c->o, key), name;
    str rest = text.p ? java_split_init(text) : STR_NONE;
    while (java_split(&rest, &name)) {
        name = java_trim(name);
        const struct data_field *f = name.len ? check_column(c, name) : NULL;
        if (f && f->type->kind == TYPE_BLOB)
            is_inline[f - c->s->fields] = true;
        else if (name.len && must_be_blob)
            return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                            "Field '%.*s' in '%s' must be a BLOB field in table schema",
                            SHOWN(name), key);
    }
    return 0;
}

static int refuse_blob_in(struct check *c, str name, const char *what)
{
    return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                    "The BLOB type column \"%.*s\" can not be part of %s; use another column",
                    SHOWN(name), what);
}

static bool list_has(const struct kv_list *o, const char *key, str name)
{
    str text = opt_text(o, key), part;
    str rest = text.p ? java_split_init(text) : STR_NONE;
    while (java_split(&rest, &part))
        if (str_eq(java_trim(part), name))
            return true;
    return false;
}

/* A BLOB that lives in blob files of a table with primary keys. */
static int check_managed_blob(struct check *c, str name)
{
    bool engine_ok = str_eqz(c->engine, "deduplicate") || str_eqz(c->engine, "partial-update") ||
                     str_eqz(c->engine, "first-row");
    if (schema_is_key(&c->s->primary_keys, name))
        return refuse_blob_in(c, name, "primary keys");
    if (list_has(c->o, "sequence.field", name))
        return refuse_blob_in(c, name, "sequence fields");
    if (!engine_ok || !str_eqz(c->producer, "none") || check_set(c, "data-file.external-paths") ||
        check_on(c, "pk-clustering-override"))
        return REFUSE(c, "Primary-key managed BLOB tables only support the deduplicate, "
                         "partial-update or first-row merge engine and changelog-producer 'none', "
                         "without data-file.external-paths and pk-clustering-override");
    return 0;
}

/* The first managed one tells about options; of the others only the keys could be wrong. */
static int check_keyed_blobs(struct check *c, const bool *is_inline)
{
    size_t n = 0;
    for (size_t i = 0; i < c->s->n_fields; i++) {
        const struct data_field *f = &c->s->fields[i];
        if (f->type->kind != TYPE_BLOB || is_inline[i])
            continue;
        if (n++ == 0)
            TRY(check_managed_blob(c, f->name));
        else if (schema_is_key(&c->s->primary_keys, f->name))
            return refuse_blob_in(c, f->name, "primary keys");
    }
    return 0;
}

static int check_blob_table(struct check *c, const bool *is_inline)
{
    size_t n = 0;
    for (size_t i = 0; i < c->s->n_fields; i++)
        n += c->s->fields[i].type->kind == TYPE_BLOB;
    if (n == 0)
        return 0;
    if (!c->keyed && !check_on(c, "data-evolution.enabled"))
        return REFUSE(c, "Data evolution config must enabled for table with BLOB type column; set "
                         "the options row-tracking.enabled and data-evolution.enabled to true");
    if (n == c->s->n_fields)
        return REFUSE(c, "Table with BLOB type column must have other normal columns; add one");
    for (size_t i = 0; i < c->s->partition_keys.n; i++) {
        const struct data_field *f = check_column(c, c->s->partition_keys.items[i]);
        if (f && f->type->kind == TYPE_BLOB)
            return refuse_blob_in(c, f->name, "partition keys");
    }
    return c->keyed ? check_keyed_blobs(c, is_inline) : 0;
}

/* --- VECTOR and shapes ------------------------------------------------------------------------ */

static int check_vector_option(struct check *c)
{
    str text = java_trim(opt_text(c->o, "vector-field")), name;
    str rest = text.len ? java_split_init(text) : STR_NONE;
    while (java_split(&rest, &name)) {
        const struct data_field *f = check_column(c, name);
        if (!f)
            return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                            "Some of the columns specified as vector-field are unknown: '%.*s'",
                            SHOWN(name));
        if (f->type->kind != TYPE_VECTOR)
            return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                            "Field name[%.*s] is configured as vector-field so the type must be "
                            "vector, but it is %s",
                            SHOWN(name), types_kind_name(f->type->kind));
    }
    return 0;
}

static int check_vector_files(struct check *c)
{
    const struct format *f;
    if (!check_set(c, "vector.file.format"))
        return 0;
    TRY(want_format(c, "vector.file.format", &f));
    if (!check_on(c, "data-evolution.enabled"))
        return REFUSE(c, "Data evolution config must enabled for table with vector-store file "
                         "format; remove option vector.file.format or set data-evolution.enabled");
    for (size_t i = 0; i < c->s->n_fields; i++)
        if (c->s->fields[i].type->kind == TYPE_VECTOR)
            TRY(check_type(c, f, &c->s->fields[i]));
    return 0;
}

static int check_geospatial(struct check *c, const struct format *f)
{
    for (size_t i = 0; i < c->s->n_fields; i++) {
        const struct data_field *col = &c->s->fields[i];
        if (!geospatial(col->type))
            continue;
        if (strcmp(f->name, "parquet") != 0)
            return ctx_fail(c->cx, E_INVAL, RES_COLUMN, col->name,
                            "Geometry and geography columns require 'file.format'='parquet', but "
                            "was '%s'",
                            f->name);
    }
    return 0;
}

static int check_text(struct check *c, const struct format *f)
{
    const struct data_field *first = c->s->fields;
    if (strcmp(f->name, "text") != 0 || c->s->n_fields == 1)
        return 0;
    if (c->s->n_fields > 1 && first->type->kind == TYPE_VARCHAR &&
        first->type->length == TYPE_LENGTH_MAX && first->type->nullable)
        return 0;
    return REFUSE(c, "Text format only supports a single string column");
}

int check_format(struct check *c)
{
    const struct format *f;
    bool vectors_apart = check_set(c, "vector.file.format");
    bool *is_inline = ARENA_ARRAY(&c->cx->arena, bool, c->s->n_fields + 1);
    if (!is_inline)
        return ctx_nomem(c->cx);
    memset(is_inline, 0, c->s->n_fields + 1);
    TRY(want_format(c, "file.format", &f));
    TRY(check_geospatial(c, f));
    TRY(mark_inline(c, "blob-descriptor-field", true, is_inline));
    TRY(mark_inline(c, "blob-view-field", false, is_inline));
    for (size_t i = 0; i < c->s->n_fields; i++) {
        const struct data_type *t = c->s->fields[i].type;
        bool apart = in_blob_file(t, is_inline[i]) || (t->kind == TYPE_VECTOR && vectors_apart);
        if (!apart)
            TRY(check_type(c, f, &c->s->fields[i]));
    }
    TRY(check_text(c, f));
    TRY(check_vector_option(c));
    TRY(check_vector_files(c));
    return check_blob_table(c, is_inline);
}
