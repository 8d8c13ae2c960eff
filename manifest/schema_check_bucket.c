/* schema_check_bucket.c - options bucket and bucket-key.
 *
 * Source: paimon-core SchemaValidation.validateBucket, paimon-api TableSchema. bucket is a number
 * of buckets, -1 (dynamic, or none without primary keys) or -2 (postponed, primary keys only).
 * No state; any thread. */
#include "manifest/java_text.h"
#include "manifest/schema_check_int.h"

static int check_bucket_column(struct check *c, str name)
{
    const struct data_field *f = check_column(c, name);
    if (!f)
        return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                        "option bucket-key names \"%.*s\", which is no column; give columns "
                        "separated by ',' without blanks",
                        SHOWN(name));
    if (schema_is_key(&c->s->partition_keys, name))
        return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                        "option bucket-key names the partition key \"%.*s\"; leave it out",
                        SHOWN(name));
    if (c->s->primary_keys.n > 0 && !schema_is_key(&c->s->primary_keys, name))
        return ctx_fail(c->cx, E_INVAL, RES_COLUMN, name,
                        "option bucket-key names \"%.*s\", which is no primary key; a table with "
                        "primary keys takes its bucket keys from them",
                        SHOWN(name));
    if (f->type->kind >= TYPE_ARRAY && f->type->kind != TYPE_VECTOR)
        return ctx_fail(
            c->cx, E_INVAL, RES_COLUMN, name,
            "option bucket-key names \"%.*s\" of the nested type %s; use another column",
            SHOWN(name), types_kind_name(f->type->kind));
    return 0;
}

/* With primary keys Java does not mind a column that is there twice. */
static int check_bucket_keys(struct check *c, str rest, struct map *seen)
{
    str part;
    while (java_split(&rest, &part)) {
        if (seen->live >= SCHEMA_KEYS_MAX)
            return REFUSE(c, "option bucket-key names more than %d columns", SCHEMA_KEYS_MAX);
        TRY(check_bucket_column(c, part));
        if (!c->keyed && map_get(seen, part))
            return REFUSE(c, "option bucket-key names the column \"%.*s\" twice", SHOWN(part));
        if (map_put(seen, part, c) < 0)
            return ctx_nomem(c->cx);
    }
    return 0;
}

/* As Java splits it: blanks count, commas at the end do not. */
static int check_bucket_key(struct check *c, size_t *ret_n)
{
    struct map seen;
    str text = opt_text(c->o, "bucket-key");
    str rest = str_trim(text).len > 0 ? java_split_init(text) : STR_NONE;
    map_init(&seen);
    int rc = check_bucket_keys(c, rest, &seen);
    *ret_n = seen.live;
    map_done(&seen);
    return rc;
}

int check_bucket(struct check *c)
{
    size_t n_keys = 0;
    TRY(check_bucket_key(c, &n_keys));
    if (c->bucket == -1 && check_set(c, "bucket-key"))
        return REFUSE(c, "Cannot define 'bucket-key' with bucket = -1; remove option bucket-key or "
                         "set option bucket to the number of buckets");
    if (c->bucket == -1 && !c->keyed && check_set(c, "full-compaction.delta-commits"))
        return REFUSE(c, "a table without primary keys and with bucket = -1 does not support "
                         "'full-compaction.delta-commits'; remove that option");
    if (c->bucket < 1 && c->bucket != -1 && !(c->bucket == -2 && c->keyed))
        return REFUSE(c,
                      "option bucket is %lld, but the number of buckets needs to be greater than "
                      "0, or -1%s",
                      (long long)c->bucket, c->keyed ? ", or -2 to postpone it" : "");
    if (c->bucket > 0 && !c->keyed && n_keys == 0)
        return REFUSE(c, "You should define a 'bucket-key' for bucketed append mode, that is with "
                         "option bucket > 0 and no primary keys; set it or remove option bucket");
    return 0;
}
