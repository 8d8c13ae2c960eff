/* schema_change.c - see schema_change.h: the changes in their order, those of options, comment and
 * key, and what becomes of the schema at the end. Source of the rules: Paimon's SchemaManager
 * (generateTableSchema, checkAlterTableOption, checkResetTableOption) and CoreOptions' immutable
 * options. Paimon answers UnsupportedOperationException for them: 501.
 *
 * The rules look at the schema as it was before the request (`old`), whatever the request changed
 * before. A step costs at most one walk over the columns' pointers, so that thousands of changes of
 * thousands of columns take milliseconds; the deadline is looked at on the way. */
#include "catalog/schema_change.h"

#include "catalog/schema_edit_int.h"

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
    return str_eqz(key, "type") || str_ieq(key, STR_LIT("path"));
}

static int set_option(struct schema_edit *e, const struct json *ch)
{
    size_t at;
    str key, value, old_value = STR_NONE;
    TRY(json_want_str(e->cx, ch, "change", "key", &key));
    TRY(json_want_str(e->cx, ch, "change", "value", &value));
    if (kv_find(&e->old->options, key, &at))
        old_value = e->old->options.items[at].value;
    if (unchanged(e->old, key, old_value,
                  value)) /* a change before this one may have set another */
        return old_value.p ? options_edit_set(&e->options, key, old_value) : 0;
    if (is_frozen(key))
        return not_yet(e->cx, key);
    if (e->has_snapshots)
        TRY(check_set(e->cx, e->old, key, old_value, value));
    return options_edit_set(&e->options, key, value);
}

static int check_remove(struct ctx *cx, const struct schema *old, str key)
{
    if (is_immutable(key))
        return not_yet(cx, key);
    if (str_eqz(key, "bucket"))
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE, "Cannot reset bucket.");
    if (str_eqz(key, "deletion-vectors.enabled"))
        TRY(check_vectors(cx, old, schema_option(old, "deletion-vectors.enabled"),
                          STR_LIT("false")));
    return check_clustering(cx, old, key, "reset");
}

static int remove_option(struct schema_edit *e, const struct json *ch)
{
    str key;
    TRY(json_want_str(e->cx, ch, "change", "key", &key));
    if (str_eqz(key, "type"))
        return not_yet(e->cx, key);
    if (e->has_snapshots)
        TRY(check_remove(e->cx, e->old, key));
    options_edit_remove(&e->options, key);
    return 0;
}

static int drop_primary_key(struct schema_edit *e)
{
    if (e->has_snapshots)
        return ctx_fail(e->cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "Cannot drop primary keys on a non-empty table.");
    e->primary_keys = (struct str_list){0};
    return 0;
}

static int apply_one(struct schema_edit *e, const struct json *ch)
{
    str action;
    bool done;
    TRY(json_want_str(e->cx, ch, "change", "action", &action));
    if (str_eqz(action, "setOption"))
        return set_option(e, ch);
    if (str_eqz(action, "removeOption"))
        return remove_option(e, ch);
    if (str_eqz(action, "updateComment"))
        return json_opt_str(e->cx, ch, "change", "comment", &e->comment);
    if (str_eqz(action, "dropPrimaryKey"))
        return drop_primary_key(e);
    TRY(schema_columns_apply(e, action, ch, &done));
    if (done)
        return 0;
    return ctx_fail(e->cx, E_INVAL, RES_NONE, STR_NONE,
                    "'%.*s' is no schema change; Paimon knows setOption, removeOption, "
                    "updateComment, dropPrimaryKey and changes of columns",
                    STR(action));
}

/* --- begin, end --- */

static bool option_on(const struct schema *s, const char *key, bool dflt)
{
    str v = schema_option(s, key);
    return v.p ? is_true(v) : dflt;
}

static int find_indexed(struct schema_edit *e)
{
    static const char *const keys[] = {"pk-vector.index.columns", "pk-btree.index.columns",
                                       "pk-bitmap.index.columns", "pk-multivalue.index.columns",
                                       "pk-full-text.index.columns"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        str rest = schema_option(e->old, keys[i]), part;
        while (str_split(&rest, ',', &part))
            if (map_put(&e->indexed, str_trim(part), (void *)keys[i]) < 0)
                return ctx_nomem(e->cx);
    }
    return 0;
}

/* Needs edit_done whatever the answer. */
static int edit_init(struct schema_edit *e, const struct schema *old, int32_t highest_id)
{
    e->old = old;
    e->primary_keys = old->primary_keys;
    e->comment = old->comment;
    e->highest_id = highest_id;
    e->null_to_not_null_off = option_on(old, "alter-column-null-to-not-null.disabled", true);
    e->explicit_casts_off = option_on(old, "disable-explicit-type-casting", false);
    e->add_before_partition = option_on(old, "add-column-before-partition", false);
    map_init(&e->indexed);
    renames_init(&e->renames);
    TRY(options_edit_init(e->cx, &old->options, &e->options));
    return find_indexed(e);
}

static void edit_done(struct schema_edit *e)
{
    options_edit_done(&e->options);
    column_tree_done(&e->columns);
    renames_done(&e->renames);
    map_done(&e->indexed);
}

static int edit_result(struct schema_edit *e, struct schema *s)
{
    TRY(renames_in_keys(e->cx, &e->renames, &e->primary_keys));
    TRY(renames_in_options(e->cx, &e->renames, &e->options));
    TRY(options_edit_result(&e->options, &s->options));
    if (e->columns.top)
        TRY(column_tree_result(&e->columns, &s->fields, &s->n_fields));
    s->primary_keys = e->primary_keys;
    schema_set_comment(s, e->comment);
    return schema_settle(e->cx, s);
}

static int apply_all(struct schema_edit *e, const struct json *changes)
{
    size_t n = 0;
    if (changes->n > SCHEMA_CHANGES_MAX)
        return ctx_fail(e->cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "there are %zu changes; send at most %d in one request", changes->n,
                        SCHEMA_CHANGES_MAX);
    JSON_EACH (ch, changes) {
        if (n++ % 64 == 0)
            TRY(ctx_check_deadline(e->cx));
        TRY(apply_one(e, ch));
    }
    return 0;
}

int schema_change_apply(struct ctx *cx, const struct json *changes, bool has_snapshots, str table,
                        struct table_schema *ts)
{
    const struct schema old = ts->schema; /* its arrays are never written to */
    CLEANUP(edit_done)
    struct schema_edit e = {.cx = cx, .has_snapshots = has_snapshots, .table = table};
    struct schema s = old;
    TRY(edit_init(&e, &old, ts->highest_field_id));
    TRY(apply_all(&e, changes));
    TRY(edit_result(&e, &s));
    ts->schema = s;
    ts->highest_field_id = e.highest_id;
    return 0;
}
