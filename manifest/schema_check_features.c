/* schema_check_features.c - what a table must have for row tracking, clustering, chains, expiry and
 * the like.
 *
 * Source: paimon-core SchemaValidation: validateRowTracking, validateIncrementalClustering,
 * validateChainTable, validatePkClusteringOverride, validateFallbackBranch and the single rules of
 * validateTableSchema. No state; any thread. */
#include "manifest/java_text.h"
#include "manifest/schema_check_int.h"

/* --- how many snapshots and changelogs stay --------------------------------------------------- */

static int check_retained(struct check *c, const char *min_key, int64_t min, const char *max_key,
                          int64_t max)
{
    if (min <= 0)
        return REFUSE(c, "%s should be at least 1, and is %lld", min_key, (long long)min);
    if (min > max)
        return REFUSE(c, "%s should not be larger than %s, and is %lld against %lld", min_key,
                      max_key, (long long)min, (long long)max);
    return 0;
}

static int check_retention(struct check *c)
{
    const char *smin = "snapshot.num-retained.min", *smax = "snapshot.num-retained.max";
    const char *cmin = "changelog.num-retained.min", *cmax = "changelog.num-retained.max";
    int64_t min, max;
    TRY(opt_i64(c->cx, c->o, smin, &min));
    TRY(opt_i64(c->cx, c->o, smax, &max));
    TRY(check_retained(c, smin, min, smax, max));
    if (check_set(c, cmin))
        TRY(opt_i64(c->cx, c->o, cmin, &min));
    if (check_set(c, cmax))
        TRY(opt_i64(c->cx, c->o, cmax, &max));
    return check_retained(c, cmin, min, cmax, max);
}

/* --- options that name a column --------------------------------------------------------------- */

static int check_named_columns(struct check *c)
{
    str time = opt_text(c->o, "record-level.time-field"), kind = opt_text(c->o, "rowkind.field");
    const struct data_field *f = time.p ? check_column(c, time) : NULL;
    if (time.p && !f)
        return ctx_fail(c->cx, E_INVAL, RES_COLUMN, time,
                        "Can not find time field %.*s for record level expire", SHOWN(time));
    if (f && f->type->kind != TYPE_INT && f->type->kind != TYPE_BIGINT &&
        f->type->kind != TYPE_TIMESTAMP && f->type->kind != TYPE_TIMESTAMP_LTZ)
        return ctx_fail(c->cx, E_INVAL, RES_COLUMN, time,
                        "The record level time field type should be one of INT, BIGINT, or "
                        "TIMESTAMP, but field type is %s",
                        types_kind_name(f->type->kind));
    if (kind.p && !check_column(c, kind))
        return ctx_fail(c->cx, E_INVAL, RES_COLUMN, kind,
                        "Rowkind field: '%.*s' can not be found in table schema", SHOWN(kind));
    return 0;
}

static int check_branches(struct check *c)
{
    if (java_trim(opt_text(c->o, "scan.fallback-branch")).len > 0 &&
        java_trim(opt_text(c->o, "scan.primary-branch")).len > 0)
        return REFUSE(c, "Cannot set both 'scan.fallback-branch' and 'scan.primary-branch' at the "
                         "same time; remove one of them");
    return 0;
}

/* --- row tracking, clustering ----------------------------------------------------------------- */

static int check_tracking(struct check *c)
{
    bool tracking = check_on(c, "row-tracking.enabled");
    if (tracking && c->keyed)
        return REFUSE(c, "Cannot define primary-key for row tracking table");
    if (tracking && c->bucket != -1)
        return REFUSE(c,
                      "Cannot define bucket for row tracking table, it only support bucket = -1");
    if (!check_on(c, "data-evolution.enabled"))
        return 0;
    if (!tracking)
        return REFUSE(c, "Data evolution config must enabled with row-tracking.enabled");
    if (check_on(c, "clustering.incremental"))
        return REFUSE(c, "Data evolution config must disabled with clustering.incremental");
    return 0;
}

static int check_clustering(struct check *c)
{
    if (!check_on(c, "clustering.incremental"))
        return 0;
    if (c->keyed)
        return REFUSE(c, "Cannot define primary-key for incremental clustering table");
    if (c->bucket != -1 && check_on(c, "bucket-append-ordered"))
        return REFUSE(c, "bucket-append-ordered must be false for incremental clustering table "
                         "with option bucket");
    if (c->bucket != -1 && c->vectors)
        return REFUSE(c, "Cannot enable deletion-vectors for incremental clustering table which "
                         "bucket is not -1");
    return 0;
}

/* pk-clustering-override: files are sorted by columns that are not the key. */
static int check_override(struct check *c)
{
    bool first_row = str_eqz(c->engine, "first-row");
    const char *what = NULL;
    if (!check_on(c, "pk-clustering-override"))
        return 0;
    if (opt_text(c->o, "clustering.columns").len == 0)
        return REFUSE(c, "Cannot support 'pk-clustering-override' mode without "
                         "'clustering.columns'; set that option");
    if (!c->vectors && !first_row)
        what = "deletion-vectors disabled";
    else if (check_set(c, "record-level.expire-time"))
        what = "record level expire time enabled";
    else if (!str_eqz(c->engine, "deduplicate") && !first_row)
        what = "this merge engine";
    else if (check_set(c, "sequence.field"))
        what = "sequence field";
    else if (!str_eqz(c->producer, "none") && !str_eqz(c->producer, "input"))
        what = "this changelog producer";
    if (what)
        return UNSUPPORTED(c, "Cannot support %s in 'pk-clustering-override' mode", what);
    return 0;
}

/* --- chain tables ----------------------------------------------------------------------------- */

/* chain-table.chain-partition-keys are the last of the partition keys, in their order. */
static int check_chain_keys(struct check *c)
{
    str text = java_trim(opt_text(c->o, "chain-table.chain-partition-keys")), name;
    const struct str_list *keys = &c->s->partition_keys;
    str rest = text.len ? java_split_init(text) : STR_NONE;
    size_t n = 0;
    if (text.len == 0)
        return 0;
    for (str r = rest; java_split(&r, &name);)
        n++;
    if (n == 0)
        return REFUSE(c, "chain-table.chain-partition-keys must not be empty; remove it");
    bool ok = n <= keys->n;
    for (size_t at = keys->n - n; ok && java_split(&rest, &name); at++)
        ok = str_eq(java_trim(name), keys->items[at]);
    if (!ok)
        return REFUSE(c, "chain-table.chain-partition-keys must be a contiguous suffix of the "
                         "table's partition keys");
    return 0;
}

static int check_chain(struct check *c)
{
    if (!check_on(c, "chain-table.enabled"))
        return 0;
    if (!c->keyed)
        return REFUSE(c, "Primary key is required for chain table");
    if (c->s->partition_keys.n == 0)
        return REFUSE(c, "Chain table must be partition table");
    if (c->bucket <= 0)
        return REFUSE(c, "Bucket number must be greater than 0 for chain table");
    if (!str_eqz(c->producer, "none") && !str_eqz(c->producer, "input"))
        return REFUSE(c, "Changelog producer must be none or input for chain table");
    if (c->vectors && !str_eqz(c->engine, "deduplicate"))
        return REFUSE(c, "Chain tables only support deletion vectors with the deduplicate merge "
                         "engine");
    if (!check_set(c, "partition.timestamp-pattern"))
        return REFUSE(c, "Partition timestamp pattern is required for chain table");
    if (!check_set(c, "partition.timestamp-formatter"))
        return REFUSE(c, "Partition timestamp formatter is required for chain table");
    return check_chain_keys(c);
}

int check_features(struct check *c)
{
    TRY(check_retention(c));
    TRY(check_named_columns(c));
    TRY(check_branches(c));
    TRY(check_tracking(c));
    TRY(check_clustering(c));
    TRY(check_chain(c));
    if (!c->keyed && check_on(c, "table-read.sequence-number.enabled"))
        return REFUSE(c, "Cannot enable 'table-read.sequence-number.enabled' for non-primary-key "
                         "table; remove it or define primary keys");
    return check_override(c);
}
