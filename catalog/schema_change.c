/* schema_change.c - see schema_change.h. Source of the rules: Paimon's SchemaManager
 * (generateTableSchema, checkAlterTableOption, checkResetTableOption) and CoreOptions' immutable
 * options. Paimon answers UnsupportedOperationException for them: 501.
 *
 * The rules look at the schema as it was before the request (`old`), whatever the request changed
 * before. */
#include "catalog/schema_change.h"

/* Options that decide how files are laid out or merged: fixed once there are files. */
static const char *const immutable[] = {
    "type",
    "bucket-key",
    "bucket-function.type",
    "data-file.path-directory",
    "merge-engine",
    "sequence.snapshot-ordering",
    "aggregation.remove-record-on-delete",
    "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group",
    "rowkind.field",
    "primary-key",
    "primary-key.nullable",
    "partition",
    "dynamic-bucket.initial-buckets",
    "force-lookup",
    "row-tracking.enabled",
    "data-evolution.enabled",
    "index-file-in-data-file-dir",
    "blob-field",
    "blob-descriptor-field",
    "blob-view-field",
    "pk-clustering-override",
};

static bool is_immutable(str key)
{
    for (size_t i = 0; i < sizeof immutable / sizeof *immutable; i++)
        if (str_eqz(key, immutable[i]))
            return true;
    return false;
}

static int not_yet(struct ctx *cx, str key)
{
    return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE, "Change '%.*s' is not supported yet.",
                    STR(key));
}

static int check_bucket(struct ctx *cx, str old_value, str new_value)
{
    int64_t was = -1, now;
    if (!str_to_i64(new_value, &now))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "option 'bucket' must be an integer, not '%.*s'", STR(new_value));
    if (old_value.p && !str_to_i64(old_value, &was))
        was = -1;
    if (was == -1)
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "Cannot change bucket when it is -1.");
    if (now == -1)
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE, "Cannot change bucket to -1.");
    return 0;
}

static bool is_true(str v)
{
    return v.p && str_ieq(v, STR_LIT("true"));
}

static int check_vectors(struct ctx *cx, const struct schema *s, str old_value, str new_value)
{
    bool was = is_true(old_value), now = is_true(new_value);
    if (was == now || is_true(schema_option(s, "deletion-vectors.modifiable")))
        return 0;
    return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                    "Cannot change deletion vectors mode from %s to %s: without a full compaction "
                    "rows would be duplicated; if you are sure, set table option "
                    "'deletion-vectors.modifiable' = 'true' first",
                    was ? "true" : "false", now ? "true" : "false");
}

static int check_clustering(struct ctx *cx, const struct schema *old, str key, const char *what)
{
    if (!str_eqz(key, "clustering.columns") || !schema_option(old, "pk-clustering-override").p)
        return 0;
    return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                    "Cannot %s %.*s when pk-clustering-override enabled.", what, STR(key));
}

static int check_set(struct ctx *cx, const struct schema *old, str key, str old_value,
                     str new_value)
{
    if (is_immutable(key))
        return not_yet(cx, key);
    if (str_eqz(key, "bucket"))
        return check_bucket(cx, old_value, new_value);
    if (str_eqz(key, "deletion-vectors.enabled"))
        return check_vectors(cx, old, old_value, new_value);
    if ((str_eqz(key, "ignore-delete") || str_eqz(key, "ignore-update-before")) &&
        is_true(old_value) && !is_true(new_value))
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "Cannot change %.*s from true to false.", STR(key));
    return check_clustering(cx, old, key, "change");
}

/* "p, k" is the list p k */
static bool names_keys(str text, const struct str_list *keys)
{
    str rest = text, part;
    size_t n = 0;
    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (part.len == 0)
            continue;
        if (n == keys->n || !str_eq(part, keys->items[n]))
            return false;
        n++;
    }
    return n == keys->n;
}

/* Is it so already? Keys live in lists of their own, and the type has a default. */
static bool unchanged(const struct schema *old, str key, str old_value, str new_value)
{
    if (str_eqz(key, "type"))
        return str_ieq(new_value, old_value.p ? old_value : STR_LIT("table"));
    if (old_value.p)
        return str_eq(old_value, new_value);
    if (str_eqz(key, "primary-key"))
        return names_keys(new_value, &old->primary_keys);
    return str_eqz(key, "partition") && names_keys(new_value, &old->partition_keys);
}

/* Never changed, with or without snapshots. */
static bool is_frozen(str key)
{
    return str_eqz(key, "type") || str_ieq(key, STR_LIT("path")) || str_eqz(key, "primary-key") ||
           str_eqz(key, "partition");
}

static int set_option(struct ctx *cx, const struct json *ch, bool has_snapshots,
                      const struct schema *old, struct schema *s)
{
    str key, value;
    TRY(json_want_str(cx, ch, "change", "key", &key));
    TRY(json_want_str(cx, ch, "change", "value", &value));
    char *key_z = str_dupz(&cx->arena, key);
    if (!key_z)
        return ctx_nomem(cx);
    str old_value = schema_option(old, key_z);
    if (unchanged(old, key, old_value, value)) /* a change before this one may have set another */
        return old_value.p ? schema_set_option(cx, s, key, old_value) : 0;
    if (is_frozen(key))
        return not_yet(cx, key);
    if (has_snapshots)
        TRY(check_set(cx, old, key, old_value, value));
    return schema_set_option(cx, s, key, value);
}

static int remove_option(struct ctx *cx, const struct json *ch, bool has_snapshots,
                         const struct schema *old, struct schema *s)
{
    str key;
    TRY(json_want_str(cx, ch, "change", "key", &key));
    if (str_eqz(key, "type") || (has_snapshots && is_immutable(key)))
        return not_yet(cx, key);
    if (has_snapshots && str_eqz(key, "bucket"))
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE, "Cannot reset bucket.");
    if (has_snapshots && str_eqz(key, "deletion-vectors.enabled"))
        TRY(check_vectors(cx, old, schema_option(old, "deletion-vectors.enabled"),
                          STR_LIT("false")));
    if (has_snapshots)
        TRY(check_clustering(cx, old, key, "reset"));
    return schema_remove_option(cx, s, key);
}

static int update_comment(struct ctx *cx, const struct json *ch, struct schema *s)
{
    str comment;
    TRY(json_opt_str(cx, ch, "change", "comment", &comment));
    schema_set_comment(s, comment);
    return 0;
}

/* Known to Paimon, changes of columns and keys. */
static const char *const column_actions[] = {
    "addColumn",
    "renameColumn",
    "dropColumn",
    "updateColumnType",
    "updateColumnNullability",
    "updateColumnComment",
    "updateColumnDefaultValue",
    "updateColumnPosition",
    "dropPrimaryKey",
};

static int other_action(struct ctx *cx, str action)
{
    for (size_t i = 0; i < sizeof column_actions / sizeof *column_actions; i++)
        if (str_eqz(action, column_actions[i]))
            return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                            "schema change '%.*s' is not served by this version of Latch; options "
                            "and comments can be changed",
                            STR(action));
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "'%.*s' is no schema change; Paimon knows setOption, removeOption, "
                    "updateComment and changes of columns",
                    STR(action));
}

static int apply_one(struct ctx *cx, const struct json *ch, bool has_snapshots,
                     const struct schema *old, struct schema *s)
{
    str action;
    TRY(json_want_str(cx, ch, "change", "action", &action));
    if (str_eqz(action, "setOption"))
        return set_option(cx, ch, has_snapshots, old, s);
    if (str_eqz(action, "removeOption"))
        return remove_option(cx, ch, has_snapshots, old, s);
    if (str_eqz(action, "updateComment"))
        return update_comment(cx, ch, s);
    return other_action(cx, action);
}

int schema_change_apply(struct ctx *cx, const struct json *changes, bool has_snapshots,
                        struct schema *s)
{
    const struct schema old = *s; /* its arrays are never written to */
    JSON_EACH (ch, changes)
        TRY(apply_one(cx, ch, has_snapshots, &old, s));
    return 0;
}
