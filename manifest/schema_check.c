/* schema_check.c - what Paimon refuses in the schema of a table with data files: the order of the
 * rules, and those about names and keys.
 *
 * Source: paimon-core SchemaValidation.validateTableSchema and the constructor of paimon-api's
 * TableSchema; a table that breaks one of these rules cannot be opened by Java. E_UNSUPPORTED where
 * Java throws UnsupportedOperationException, else E_INVAL. First every option is read by its type,
 * so the rules behind it meet no wrong text. What only some lines of Paimon refuse is accepted.
 * Time is linear in columns and options, as lookups go through a map. No state; any thread. */
#include "manifest/default_value.h"
#include "manifest/schema_check_int.h"
#include "proto/base/assert.h"

const struct data_field *check_column(const struct check *c, str name)
{
    return map_get(&c->columns, name);
}

bool check_on(const struct check *c, const char *key)
{
    bool on = false;
    ASSERT(opt_find(str_of(key))->where == OPT_WHERE_BOTH); /* else its text was not looked at */
    int rc = opt_bool(c->cx, c->o, key, &on);
    ASSERT(rc == 0);
    return on;
}

bool check_set(const struct check *c, const char *key)
{
    return opt_text(c->o, key).p != NULL;
}

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
    TRY(opt_bool(cx, &s->options, "primary-key.nullable", &nullable));
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

static int check_columns(struct ctx *cx, const struct schema *s)
{
    for (size_t i = 0; i < s->n_fields; i++) {
        TRY(check_name(cx, s->fields[i].name));
        TRY(check_blob(cx, &s->fields[i]));
    }
    TRY(check_key_types(cx, s, &s->partition_keys, "partition"));
    TRY(check_key_types(cx, s, &s->primary_keys, "primary"));
    return check_primary(cx, s);
}

static int check_begin(struct check *c)
{
    for (size_t i = c->s->n_fields; i-- > 0;) { /* of two equal names the first counts */
        if (map_put(&c->columns, c->s->fields[i].name, (void *)(uintptr_t)&c->s->fields[i]) < 0)
            return ctx_nomem(c->cx);
    }
    TRY(opt_check_all(c->cx, c->o));
    c->keyed = c->s->primary_keys.n > 0;
    c->vectors = check_on(c, "deletion-vectors.enabled");
    TRY(opt_i64(c->cx, c->o, "bucket", &c->bucket));
    TRY(opt_enum(c->cx, c->o, "merge-engine", &c->engine));
    return opt_enum(c->cx, c->o, "changelog-producer", &c->producer);
}

static int check_defaults(struct check *c)
{
    for (size_t i = 0; i < c->s->n_fields; i++) {
        const struct data_field *f = &c->s->fields[i];
        if (default_value_check(c->cx, f) < 0)
            return ctx_prefix(c->cx,
                              "give column \"%.*s\" a default value that can be cast to its type",
                              SHOWN(f->name));
    }
    return 0;
}

static int check_rules(struct check *c)
{
    TRY(check_begin(c));
    TRY(check_bucket(c));
    TRY(check_scan(c));
    TRY(check_sequence(c));
    TRY(check_engine(c));
    TRY(check_producer(c));
    TRY(check_format(c));
    TRY(check_features(c));
    return check_defaults(c);
}

int schema_check_table(struct ctx *cx, const struct schema *s)
{
    struct check c = {.cx = cx, .s = s, .o = &s->options};
    TRY(check_columns(cx, s));
    map_init(&c.columns);
    int rc = check_rules(&c);
    map_done(&c.columns);
    return rc;
}
