/* schema_check.c - what Paimon refuses in the schema of a table with data files.
 *
 * Source: paimon-core SchemaValidation.validateTableSchema and the constructor of paimon-api's
 * TableSchema, as far as columns, types and keys decide it; a table that breaks one of these rules
 * cannot be opened by Java. E_UNSUPPORTED where Java throws UnsupportedOperationException, else
 * E_INVAL. No state; any thread. */
#include "manifest/schema.h"

#define SHOWN_MAX 64 /* bytes of a client's text in a message */
#define SHOWN(s)  ((s).len < SHOWN_MAX ? (int)(s).len : SHOWN_MAX), (s).p

static int check_name(struct ctx *cx, str name)
{
    static const char *const taken[] = {"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind",
                                        "_ROW_ID"};
    bool bad = str_starts(name, STR_LIT("_KEY_"));
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        bad |= str_eqz(name, taken[i]);
    if (!bad)
        return 0;
    return ctx_fail(
        cx, E_INVAL, RES_COLUMN, name,
        "Paimon uses the column name \"%.*s\" itself (as _SEQUENCE_NUMBER, _VALUE_KIND, "
        "_LEVEL, _ROW_ID, rowkind and all that begin with _KEY_); rename the column",
        SHOWN(name));
}

/* BLOB stands alone, in an ARRAY or as the value of a MAP, at the top level. */
static int check_blob(struct ctx *cx, const struct data_field *f)
{
    const struct data_type *t = f->type, *inner = t;
    if (t->kind == TYPE_ARRAY || t->kind == TYPE_MAP)
        inner = t->value;
    if (inner->kind == TYPE_BLOB || !types_contains(t, TYPE_BLOB))
        return 0;
    str sql = types_sql_str(&cx->arena, t);
    return ctx_fail(
        cx, E_INVAL, RES_COLUMN, f->name,
        "column \"%.*s\" has the type %.*s; a BLOB may only be a column, the element of "
        "an ARRAY column or the value of a MAP column",
        SHOWN(f->name), STR(sql));
}

static bool key_type_ok(enum type_kind k)
{
    return k < TYPE_ARRAY && k != TYPE_VARIANT && k != TYPE_GEOMETRY && k != TYPE_GEOGRAPHY;
}

static int check_key_types(struct ctx *cx, const struct schema *s, const struct str_list *keys,
                           const char *what)
{
    for (size_t i = 0; i < keys->n; i++) {
        const struct data_field *f = schema_field(s, keys->items[i]);
        if (!f)
            return ctx_fail(cx, E_INVAL, RES_COLUMN, keys->items[i],
                            "the %s key \"%.*s\" is not among the fields", what,
                            SHOWN(keys->items[i]));
        if (!key_type_ok(f->type->kind))
            return ctx_fail(cx, E_UNSUPPORTED, RES_COLUMN, f->name,
                            "the %s key \"%.*s\" is of type %s, which no key may have; use another "
                            "column",
                            what, SHOWN(f->name), types_kind_name(f->type->kind));
    }
    return 0;
}

static int check_primary(struct ctx *cx, const struct schema *s)
{
    bool nullable = false;
    TRY(schema_option_bool(cx, s, "primary-key.nullable", false, &nullable));
    if (nullable && s->primary_keys.n == 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "option primary-key.nullable is only for tables with primary keys; remove "
                        "it or name primary keys");
    for (size_t i = 0; i < s->primary_keys.n; i++)
        if (!schema_is_key(&s->partition_keys, s->primary_keys.items[i]))
            return 0;
    if (s->primary_keys.n == 0)
        return 0;
    return ctx_fail(
        cx, E_INVAL, RES_NONE, STR_NONE,
        "the primary key has only partition columns, so a partition could hold one row; "
        "add a column that is no partition key");
}

static int check_bucket_column(struct ctx *cx, const struct schema *s, str name)
{
    const struct data_field *f = schema_field(s, name);
    if (!f)
        return ctx_fail(cx, E_INVAL, RES_COLUMN, name,
                        "option bucket-key names \"%.*s\", which is no column; give columns "
                        "separated by ',' without blanks",
                        SHOWN(name));
    if (schema_is_key(&s->partition_keys, name))
        return ctx_fail(cx, E_INVAL, RES_COLUMN, name,
                        "option bucket-key names the partition key \"%.*s\"; leave it out",
                        SHOWN(name));
    if (s->primary_keys.n > 0 && !schema_is_key(&s->primary_keys, name))
        return ctx_fail(cx, E_INVAL, RES_COLUMN, name,
                        "option bucket-key names \"%.*s\", which is no primary key; a table with "
                        "primary keys takes its bucket keys from them",
                        SHOWN(name));
    if (f->type->kind >= TYPE_ARRAY && f->type->kind != TYPE_VECTOR)
        return ctx_fail(
            cx, E_INVAL, RES_COLUMN, name,
            "option bucket-key names \"%.*s\" of the nested type %s; use another column",
            SHOWN(name), types_kind_name(f->type->kind));
    return 0;
}

/* As Java splits it: blanks count, commas at the end do not. */
static int check_bucket_key(struct ctx *cx, const struct schema *s)
{
    str rest = schema_option(s, "bucket-key"), part;
    if (str_trim(rest).len == 0)
        return 0;
    while (rest.len > 0 && rest.p[rest.len - 1] == ',')
        rest.len--;
    if (rest.len == 0)
        return 0;
    for (size_t n = 1; str_split(&rest, ',', &part); n++) {
        if (n > SCHEMA_KEYS_MAX)
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "option bucket-key names more than %d columns", SCHEMA_KEYS_MAX);
        TRY(check_bucket_column(cx, s, part));
    }
    return 0;
}

int schema_check_table(struct ctx *cx, const struct schema *s)
{
    for (size_t i = 0; i < s->n_fields; i++) {
        TRY(check_name(cx, s->fields[i].name));
        TRY(check_blob(cx, &s->fields[i]));
    }
    TRY(check_key_types(cx, s, &s->partition_keys, "partition"));
    TRY(check_key_types(cx, s, &s->primary_keys, "primary"));
    TRY(check_primary(cx, s));
    return check_bucket_key(cx, s);
}
