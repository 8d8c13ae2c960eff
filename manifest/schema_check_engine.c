/* schema_check_engine.c - options sequence.field, merge-engine, changelog-producer and
 * "fields.<column>.<what>".
 *
 * Source: paimon-core SchemaValidation (validateFieldsPrefix, validateSequenceField,
 * validateMergeFunction, validateForDeletionVectors), PartialUpdateMergeFunction and the
 * aggregators' factories. Each option is looked at once, and each column once: what is known of a
 * column is kept as bits beside it. No state; any thread. */
#include "manifest/java_text.h"
#include "manifest/schema_check_int.h"
#include "proto/base/assert.h"

#define PREFIX STR_LIT("fields.")

enum { IN_GROUP = 1, SEQUENCE = 2, HAS_FUNCTION = 4, KEY = 8, LAST_NON_NULL = 16 };

static bool is(str s, const char *z)
{
    return str_eqz(s, z);
}

/* "fields.a,b.suffix" -> "a,b" */
static bool field_part(str key, const char *suffix, str *ret)
{
    str end = str_of(suffix);
    if (!str_starts(key, PREFIX) || !str_ends(key, end) || key.len < PREFIX.len + end.len + 1)
        return false;
    *ret = str_n(key.p + PREFIX.len, key.len - PREFIX.len - end.len - 1);
    return ret->p[ret->len] == '.';
}

static int no_column(struct check *c, str name, str key)
{
    return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                    "Field %.*s can not be found in table schema; option %.*s names it",
                    SHOWN(name), SHOWN(key));
}

/* --- fields.<columns>.* ----------------------------------------------------------------------- */

/* All that begins with "fields" names columns between its first two points. */
static int check_field_key(struct check *c, str key)
{
    str parts = key, names, name;
    str_split(&parts, '.', &names);
    if (!parts.p || parts.len == 0)
        return REFUSE(c, "option %.*s names no column; it must be fields.<column>.<what>",
                      SHOWN(key));
    str_split(&parts, '.', &names);
    if (is(names, "default-aggregate-function"))
        return 0;
    str rest = java_split_init(names);
    while (java_split(&rest, &name))
        if (!is(name, "default-aggregate-function") && !check_column(c, name))
            return no_column(c, name, key);
    return 0;
}

static int check_field_keys(struct check *c)
{
    for (size_t i = 0; i < c->o->n; i++)
        if (str_starts(c->o->items[i].key, STR_LIT("fields")))
            TRY(check_field_key(c, c->o->items[i].key));
    return 0;
}

/* --- sequence.field --------------------------------------------------------------------------- */

static int check_sequence_column(struct check *c, str name, struct map *seen)
{
    CLEANUP(buf_done) struct buf b = {0};
    size_t at;
    const struct data_field *f = check_column(c, name);
    if (!f)
        return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                        "Sequence field: '%.*s' can not be found in table schema", SHOWN(name));
    buf_addf(&b, "fields.%.*s.aggregate-function", STR(name));
    if (buf_fail(&b))
        return ctx_nomem(c->cx);
    if (kv_find(c->o, buf_str(&b), &at))
        return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                        "Should not define aggregation on sequence field: '%.*s'", SHOWN(name));
    if (map_get(seen, name))
        return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                        "Sequence field '%.*s' is defined repeatedly", SHOWN(name));
    return map_put(seen, f->name, (void *)(uintptr_t)f) < 0 ? ctx_nomem(c->cx) : 0;
}

/* Primary keys that leave out a partition key: a row may move to another partition. */
static bool crosses_partitions(const struct check *c)
{
    for (size_t i = 0; c->keyed && i < c->s->partition_keys.n; i++)
        if (!schema_is_key(&c->s->primary_keys, c->s->partition_keys.items[i]))
            return true;
    return false;
}

int check_sequence(struct check *c)
{
    struct map seen;
    str text = opt_text(c->o, "sequence.field"), name;
    str rest = text.p ? java_split_init(text) : STR_NONE;
    if (!rest.p)
        return 0;
    int rc = 0;
    map_init(&seen);
    while (rc == 0 && java_split(&rest, &name))
        rc = check_sequence_column(c, java_trim(name), &seen);
    map_done(&seen);
    TRY(rc);
    if (is(c->engine, "first-row"))
        return REFUSE(c, "Do not support use sequence field on FIRST_ROW merge engine; remove "
                         "option sequence.field");
    if (crosses_partitions(c))
        return REFUSE(c, "You can not use sequence.field in cross partition update case, that is "
                         "with primary keys that leave out a partition key");
    return 0;
}

/* --- partial-update --------------------------------------------------------------------------- */

static uint8_t *bits_of(struct check *c, uint8_t *bits, str name)
{
    const struct data_field *f = check_column(c, name);
    return f ? &bits[f - c->s->fields] : NULL;
}

/* fields.<sequence columns>.sequence-group = <columns that follow them> */
static int check_group(struct check *c, str names, const struct kv *it, uint8_t *bits)
{
    str name, rest = java_split_init(names);
    uint8_t *b;
    while (java_split(&rest, &name)) {
        if (!(b = bits_of(c, bits, name)))
            return no_column(c, name, it->key);
        *b |= SEQUENCE;
    }
    rest = java_split_init(it->value);
    while (java_split(&rest, &name)) {
        if (!(b = bits_of(c, bits, name)))
            return no_column(c, name, it->key);
        if (*b & IN_GROUP)
            return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                            "Field %.*s is defined repeatedly by multiple groups: %.*s",
                            SHOWN(name), SHOWN(it->key));
        *b |= IN_GROUP;
    }
    return 0;
}

static int check_groups(struct check *c, uint8_t *bits, bool *ret_any)
{
    str names;
    *ret_any = false;
    for (size_t i = 0; i < c->o->n; i++) {
        if (!field_part(c->o->items[i].key, "sequence-group", &names))
            continue;
        TRY(check_group(c, names, &c->o->items[i], bits));
        *ret_any = true;
    }
    return 0;
}

static int check_remove_group(struct check *c, uint8_t *bits)
{
    const char *key = "partial-update.remove-record-on-sequence-group";
    str text = opt_text(c->o, key), name;
    str rest = text.p ? java_split_init(text) : STR_NONE;
    while (java_split(&rest, &name)) {
        const uint8_t *b = bits_of(c, bits, name);
        if (!b || !(*b & SEQUENCE))
            return REFUSE(c, "field '%.*s' defined in '%s' option must be part of sequence groups",
                          SHOWN(name), key);
    }
    return 0;
}

static int check_removals(struct check *c, bool groups)
{
    bool on_delete = check_on(c, "partial-update.remove-record-on-delete");
    bool ignore = check_on(c, "ignore-delete");
    bool on_group = check_set(c, "partial-update.remove-record-on-sequence-group");
    const char *a = ignore ? "ignore-delete" : "sequence-group";
    if ((on_delete && ignore) || (on_group && ignore) || (on_delete && groups))
        return REFUSE(c,
                      "%s and %s have conflicting behavior so should not be enabled at the same "
                      "time",
                      a,
                      on_delete ? "partial-update.remove-record-on-delete"
                                : "partial-update.remove-record-on-sequence-group");
    return 0;
}

/* Outside of a sequence group only last_non_null_value keeps its meaning. */
static int check_group_functions(struct check *c, const uint8_t *bits)
{
    str dflt = opt_text(c->o, "fields.default-aggregate-function");
    bool dflt_free = !dflt.p || is(dflt, "last_non_null_value");
    for (size_t i = 0; i < c->s->n_fields; i++) {
        str name = c->s->fields[i].name;
        if (bits[i] & (SEQUENCE | IN_GROUP | KEY | LAST_NON_NULL))
            continue;
        if ((bits[i] & HAS_FUNCTION) || !dflt_free)
            return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                            "Must use sequence group for aggregation functions but not found for "
                            "field %.*s",
                            SHOWN(name));
    }
    return 0;
}

static int check_partial_update(struct check *c, uint8_t *bits)
{
    bool groups;
    TRY(check_groups(c, bits, &groups));
    TRY(check_group_functions(c, bits));
    TRY(check_removals(c, groups));
    return check_remove_group(c, bits);
}

/* --- aggregate functions ---------------------------------------------------------------------- */

static int check_function(struct check *c, str key, str name)
{
    static const char *const known[] = {"bool_and",
                                        "bool_or",
                                        "collect",
                                        "first_non_null_value",
                                        "first_not_null_value",
                                        "first_value",
                                        "hll_sketch",
                                        "last_non_null_value",
                                        "last_value",
                                        "listagg",
                                        "max",
                                        "merge_map",
                                        "merge_map_with_keytime",
                                        "min",
                                        "nested_partial_update",
                                        "nested_update",
                                        "primary-key",
                                        "product",
                                        "rbm32",
                                        "rbm64",
                                        "sum",
                                        "theta_sketch"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is(name, known[i]))
            return 0;
    return REFUSE(c,
                  "option %.*s is '%.*s', and Paimon has no aggregate function of that name; use "
                  "sum, max, min, last_value, last_non_null_value, first_value, listagg, bool_and, "
                  "bool_or, collect or another of its functions",
                  SHOWN(key), SHOWN(name));
}

/* The functions that options give to columns. */
static int check_functions(struct check *c, uint8_t *bits)
{
    const char *dflt = "fields.default-aggregate-function";
    str name;
    ASSERT(bits);
    for (size_t i = 0; i < c->o->n; i++) {
        const struct kv *it = &c->o->items[i];
        uint8_t *b;
        if (!field_part(it->key, "aggregate-function", &name) || !(b = bits_of(c, bits, name)))
            continue;
        *b |= HAS_FUNCTION | (is(it->value, "last_non_null_value") ? LAST_NON_NULL : 0);
        TRY(check_function(c, it->key, it->value));
    }
    if (!check_set(c, dflt))
        return 0;
    for (size_t i = 0; i < c->s->n_fields; i++)
        if (!(bits[i] & HAS_FUNCTION)) /* a default that no column uses is not looked at */
            return check_function(c, str_of(dflt), opt_text(c->o, dflt));
    return 0;
}

static int check_keyed_engine(struct check *c)
{
    if (!is(c->engine, "partial-update") && !is(c->engine, "aggregation"))
        return 0;
    uint8_t *bits = ARENA_ARRAY(&c->cx->arena, uint8_t, c->s->n_fields + 1);
    if (!bits)
        return ctx_nomem(c->cx);
    memset(bits, 0, c->s->n_fields + 1);
    for (size_t i = 0; i < c->s->primary_keys.n; i++) {
        uint8_t *b = bits_of(c, bits, c->s->primary_keys.items[i]);
        if (b)
            *b |= KEY;
    }
    TRY(check_functions(c, bits));
    return is(c->engine, "partial-update") ? check_partial_update(c, bits) : 0;
}

int check_engine(struct check *c)
{
    TRY(check_field_keys(c));
    return c->keyed ? check_keyed_engine(c) : 0;
}

/* --- changelog-producer ----------------------------------------------------------------------- */

int check_producer(struct check *c)
{
    bool doubles = is(c->producer, "full-compaction") || is(c->producer, "lookup");
    bool overwrite = check_on(c, "streaming-read-overwrite");
    if (!c->keyed && !is(c->producer, "none"))
        return UNSUPPORTED(c, "Can not set changelog-producer on table without primary keys, "
                              "please define primary keys");
    if (overwrite && doubles)
        return UNSUPPORTED(c,
                           "Cannot set streaming-read-overwrite to true when changelog producer is "
                           "%.*s because it will read duplicated changes",
                           STR(c->producer));
    if (overwrite && !c->keyed)
        return REFUSE(c, "Doesn't support streaming read the changes from overwrite when the "
                         "primary keys are not defined; use streaming-read-append-overwrite");
    if (is(c->engine, "first-row") && !is(c->producer, "none") && !is(c->producer, "lookup"))
        return REFUSE(c,
                      "Only support 'none' and 'lookup' changelog-producer on FIRST_ROW merge "
                      "engine, not '%.*s'",
                      STR(c->producer));
    if (c->vectors && is(c->producer, "full-compaction"))
        return REFUSE(c, "Deletion vectors mode is only supported for NONE/INPUT/LOOKUP changelog "
                         "producer; change option changelog-producer");
    if (c->vectors && is(c->engine, "first-row") && !check_on(c, "pk-clustering-override"))
        return REFUSE(c, "First row merge engine does not need deletion vectors; remove option "
                         "deletion-vectors.enabled");
    return 0;
}
