/* native_files.c - see native_files.h.
 *
 * What a stock writer puts into an entry and the body does not say is filled in as that writer would:
 * a primary-key file's key statistics (readers look at them), the empty rows of an append table, "no
 * statistics" as an empty list of columns.
 *
 * Source: paimon-core's KeyValueDataFileWriter, RowDataFileWriter. Thread rule: none of its own. */
#include "catalog/native_files.h"

#include <time.h>

#include "catalog/native_value.h"
#include "manifest/options.h"
#include "proto/base/clock.h"

#define SCHEMAS_MAX 64 /* older ones that one commit may have statistics of */

struct columns { /* of one schema, by name */
    int64_t id;
    const struct schema *schema;
    struct map by_name; /* -> const struct data_field */
};
struct making {
    struct ctx *cx;
    struct branch *br;
    const struct table_traits *t;
    const struct api_native *in;
    struct binrow_type keys;
    const str *key_names;
    struct binrow_value *low, *high; /* scratch, of keys */
    int64_t buckets;                 /* option bucket */
    int64_t now_ms;                  /* as if it were UTC */
    struct columns schemas[SCHEMAS_MAX];
    size_t n_schemas;
};

static int bad(struct making *m, const char *path, const char *what)
{
    return ctx_fail(m->cx, E_INVAL, RES_NONE, STR_NONE, "%s %s", path, what);
}

static str empty_row(void)
{
    return str_n("\0\0\0\0\0\0\0\0\0\0\0\0", 12);
}

/* Milliseconds since 1970 -> the wall clock of this process, as if it were UTC: what creation times are. */
static int64_t wall_ms(int64_t ms)
{
    time_t s = (time_t)(ms / 1000);
    struct tm tm;
    return localtime_r(&s, &tm) ? ms + tm.tm_gmtoff * 1000 : ms;
}

/* --- keys ------------------------------------------------------------------------------------- */

int native_key_columns(struct ctx *cx, const struct table_traits *t, struct binrow_type *ret,
                       const str **ret_names)
{
    const struct str_list *pk = &t->schema.primary_keys;
    const struct data_type **types = ARENA_ARRAY(&cx->arena, const struct data_type *, pk->n + 1);
    str *names = ARENA_ARRAY(&cx->arena, str, pk->n + 1);
    size_t n = 0;
    if (!types || !names)
        return ctx_nomem(cx);
    for (size_t i = 0; i < pk->n; i++) {
        if (schema_is_key(&t->schema.partition_keys, pk->items[i]))
            continue;
        const struct data_field *f = schema_field(&t->schema, pk->items[i]);
        if (!f)
            return ctx_fail(cx, E_INVAL, RES_COLUMN, pk->items[i],
                            "the primary key '%.*s' is no column of the table", STR(pk->items[i]));
        types[n] = f->type;
        names[n++] = f->name;
    }
    *ret = (struct binrow_type){types, n};
    *ret_names = names;
    return 0;
}

/* Of a file that is sorted by its key only the first column's bounds are known; no key is null. */
static int key_stats(struct ctx *cx, const struct binrow_type *keys, const struct binrow_value *low,
                     const struct binrow_value *high, struct raw_stats *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct simple_stats s;
    struct stats_column *c = ARENA_ARRAY(&cx->arena, struct stats_column, keys->n + 1);
    if (!c)
        return ctx_nomem(cx);
    for (size_t i = 0; i < keys->n; i++)
        c[i] = (struct stats_column){{.tag = BV_NULL}, {.tag = BV_NULL}, 0};
    if (keys->n) {
        c[0].min = low[0];
        c[0].max = high[0];
    }
    TRY(stats_write(cx, keys, c, &b, &s));
    TRY(raw_stats_of(cx, &s, ret));
    ret->min = str_dup(&cx->arena, s.min);
    ret->max = str_dup(&cx->arena, s.max);
    return ret->min.p && ret->max.p ? 0 : ctx_nomem(cx);
}

static int keys_of(struct making *m, const struct api_native_file *f, const char *path,
                   struct data_file *ret)
{
    char sub[64];
    if (m->keys.n == 0 && (f->min_key || f->max_key))
        return bad(m, path, "must have no minKey and no maxKey: the table has no primary key");
    if (m->keys.n > 0) {
        snprintf(sub, sizeof sub, "%s.minKey", path);
        TRY(native_key(m->cx, &m->keys, m->key_names, f->min_key, sub, m->low));
        snprintf(sub, sizeof sub, "%s.maxKey", path);
        TRY(native_key(m->cx, &m->keys, m->key_names, f->max_key, sub, m->high));
        if (binrow_cmp(m->low, m->high, m->keys.n) > 0)
            return bad(m, path, "must have a minKey that is not above its maxKey");
    }
    TRY(native_row(m->cx, &m->keys, m->low, &ret->min_key));
    TRY(native_row(m->cx, &m->keys, m->high, &ret->max_key));
    return key_stats(m->cx, &m->keys, m->low, m->high, &ret->key_stats);
}

/* --- statistics ------------------------------------------------------------------------------- */

static int index_columns(struct ctx *cx, struct columns *c)
{
    map_init(&c->by_name);
    for (size_t i = 0; i < c->schema->n_fields; i++)
        if (map_put(&c->by_name, c->schema->fields[i].name, (void *)&c->schema->fields[i]) < 0)
            return ctx_nomem(cx);
    return 0;
}

static int read_schema(struct making *m, int64_t id, const char *path, const struct schema **ret)
{
    struct schema_at at;
    struct table_schema *ts = ARENA_NEW(&m->cx->arena, struct table_schema);
    if (!ts)
        return ctx_nomem(m->cx);
    TRY(schema_of_branch(m->cx, m->br, &at));
    int there = schema_read(m->cx, &at, id, ts);
    TRY(there);
    if (!there)
        return bad(m, path, "must have a schemaId of this table");
    *ret = &ts->schema;
    return 0;
}

static int columns_of(struct making *m, int64_t schema_id, const char *path,
                      const struct columns **ret)
{
    for (size_t i = 0; i < m->n_schemas; i++)
        if (m->schemas[i].id == schema_id) {
            *ret = &m->schemas[i];
            return 0;
        }
    if (m->n_schemas == SCHEMAS_MAX)
        return bad(m, path, "is of one schema too many: 64 are taken in one commit");
    struct columns c = {.id = schema_id, .schema = &m->t->schema};
    if (schema_id != m->t->schema_id)
        TRY(read_schema(m, schema_id, path, &c.schema));
    m->schemas[m->n_schemas] = c;
    TRY(index_columns(m->cx, &m->schemas[m->n_schemas++]));
    *ret = &m->schemas[m->n_schemas - 1];
    return 0;
}

struct stats_in { /* of one file */
    struct making *m;
    const char *path;
    struct binrow_type type;
    const str *names;
    struct map at; /* name -> its stats_column */
    struct stats_column *c;
};

enum bound { MIN, MAX, NULLS };

static int one_stat(struct stats_in *in, const struct json *v, enum bound which)
{
    struct stats_column *c = map_get(&in->at, v->key);
    if (!c)
        return ctx_fail(in->m->cx, E_INVAL, RES_NONE, STR_NONE, "it must be among columns");
    if (which != NULLS)
        return native_value(in->m->cx, in->type.types[c - in->c], v,
                            which == MIN ? &c->min : &c->max);
    if (v->type != JSON_NULL && (v->type != JSON_INT || v->i < 0))
        return ctx_fail(in->m->cx, E_INVAL, RES_NONE, STR_NONE,
                        "a count must be 0 or more, or null");
    c->null_count = v->type == JSON_NULL ? STATS_NULLS_UNKNOWN : v->i;
    return 0;
}

static int each_stat(struct stats_in *in, const struct json *obj, const char *what,
                     enum bound which)
{
    for (const struct json *v = obj ? obj->child : NULL; v; v = v->next)
        if (one_stat(in, v, which) < 0)
            return ctx_prefix(in->m->cx, "%s.valueStats.%s.%.*s", in->path, what, STR(v->key));
    return 0;
}

static int stat_columns(struct stats_in *in, const struct columns *cols, const struct json *names)
{
    struct ctx *cx = in->m->cx;
    const struct data_type **types =
        ARENA_ARRAY(&cx->arena, const struct data_type *, names->n + 1);
    str *name = ARENA_ARRAY(&cx->arena, str, names->n + 1);
    in->c = ARENA_ARRAY(&cx->arena, struct stats_column, names->n + 1);
    if (!types || !name || !in->c)
        return ctx_nomem(cx);
    JSON_EACH (v, names) {
        const struct data_field *f = map_get(&cols->by_name, v->s);
        size_t i = in->type.n;
        if (!f || f->type->kind >= TYPE_VARIANT || map_get(&in->at, v->s))
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "%s.valueStats.columns must be columns of schema %lld that have "
                            "statistics, each once, not '%.*s'",
                            in->path, (long long)cols->id, STR(v->s));
        types[i] = f->type;
        name[i] = f->name;
        in->c[i] = (struct stats_column){{.tag = BV_NULL}, {.tag = BV_NULL}, STATS_NULLS_UNKNOWN};
        if (map_put(&in->at, v->s, &in->c[i]) < 0)
            return ctx_nomem(cx);
        in->type.n++;
    }
    in->type.types = types;
    in->names = name;
    return 0;
}

static int stats_encode(struct stats_in *in, struct data_file *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct ctx *cx = in->m->cx;
    struct simple_stats s;
    for (size_t i = 0; i < in->type.n; i++)
        if (in->c[i].min.tag != BV_NULL && in->c[i].max.tag != BV_NULL &&
            binrow_cmp_value(&in->c[i].min, &in->c[i].max) > 0)
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "%s.valueStats: the min of '%.*s' must not be above its max", in->path,
                            STR(in->names[i]));
    TRY(stats_write(cx, &in->type, in->c, &b, &s));
    TRY(raw_stats_of(cx, &s, &ret->value_stats));
    ret->value_stats.min = str_dup(&cx->arena, s.min);
    ret->value_stats.max = str_dup(&cx->arena, s.max);
    if (!ret->value_stats.min.p || !ret->value_stats.max.p)
        return ctx_nomem(cx);
    return avro_list_of_strs(cx, in->names, in->type.n, &ret->value_stats_cols);
}

static int stats_read_in(struct stats_in *in, const struct api_native_file *f,
                         struct data_file *ret)
{
    const struct columns *cols = NULL;
    TRY(columns_of(in->m, ret->schema_id, in->path, &cols));
    TRY(stat_columns(in, cols, f->stats_columns));
    TRY(each_stat(in, f->stats_min, "min", MIN));
    TRY(each_stat(in, f->stats_max, "max", MAX));
    TRY(each_stat(in, f->stats_nulls, "nullCounts", NULLS));
    return stats_encode(in, ret);
}

static int value_stats(struct making *m, const struct api_native_file *f, const char *path,
                       struct data_file *ret)
{
    struct stats_in in = {.m = m, .path = path};
    ret->value_stats =
        (struct raw_stats){empty_row(), empty_row(), {.has = true, .items = {"", 0}}};
    if (!f->stats)
        return avro_list_of_strs(m->cx, NULL, 0, &ret->value_stats_cols);
    map_init(&in.at);
    int rc = stats_read_in(&in, f, ret);
    map_done(&in.at);
    return rc;
}

/* --- data files ------------------------------------------------------------------------------- */

static int texts(struct ctx *cx, const struct json *arr, struct avro_list *ret)
{
    str *v = ARENA_ARRAY(&cx->arena, str, arr ? arr->n + 1 : 1);
    size_t n = 0;
    if (!v)
        return ctx_nomem(cx);
    for (const struct json *it = arr ? arr->child : NULL; it; it = it->next)
        v[n++] = it->s;
    return avro_list_of_strs(cx, v, n, ret);
}

static int bucket_of_file(struct making *m, const struct api_native_file *f, const char *path,
                          struct manifest_entry *ret)
{
    ret->bucket = f->bucket;
    ret->total_buckets = (int32_t)(f->total_buckets.has ? f->total_buckets.v : m->buckets);
    if (ret->total_buckets > 0 && f->bucket >= 0 && f->bucket >= ret->total_buckets)
        return bad(m, path, "must have a bucket below its totalBuckets");
    if (ret->total_buckets > 0 && f->bucket == -2) /* postponed, whatever the option became */
        return bad(m, path, "is of bucket -2; its totalBuckets must be -2");
    if (f->bucket == -1)
        return bad(m, path,
                   "must not have bucket -1: files of a table without buckets are in bucket 0");
    if (m->buckets == -1 && m->keys.n == 0 && f->bucket != 0)
        return bad(m, path, "must have bucket 0: the table has no buckets");
    return 0;
}

static int numbers(struct making *m, const struct api_native_file *f, const char *path,
                   struct data_file *ret)
{
    bool compact = f->source.p ? str_eqz(f->source, "COMPACT") : str_eqz(m->in->kind, "COMPACT");
    if (m->keys.n > 0 && !(f->min_seq.has && f->max_seq.has))
        return bad(m, path,
                   "needs minSequenceNumber and maxSequenceNumber: the table has a "
                   "primary key");
    ret->min_seq = f->min_seq.v;
    ret->max_seq = f->max_seq.has ? f->max_seq.v : f->min_seq.v;
    if (ret->min_seq > ret->max_seq)
        return bad(m, path,
                   "must have a minSequenceNumber that is not above its maxSequenceNumber");
    ret->schema_id = f->schema_id.has ? f->schema_id.v : m->t->schema_id;
    ret->level = f->level;
    ret->source = (struct opt_i64){true, compact ? FILE_FROM_COMPACT : FILE_FROM_APPEND};
    ret->creation_ms =
        (struct opt_i64){true, f->created_ms.has ? wall_ms(f->created_ms.v) : m->now_ms};
    ret->delete_row_count =
        (struct opt_i64){f->delete_rows.has || m->keys.n == 0, f->delete_rows.v};
    ret->first_row_id = (struct opt_i64){f->first_row_id.has, f->first_row_id.v};
    return 0;
}

static int file_entry(struct making *m, const struct api_native_file *f, const char *path,
                      struct manifest_entry *ret)
{
    const struct table_traits *t = m->t;
    char sub[64];
    *ret = (struct manifest_entry){.kind = FILE_ADD,
                                   .file = {.name = f->name,
                                            .size = f->size,
                                            .row_count = f->rows,
                                            .embedded_index = STR_NONE,
                                            .external_path = f->external_path}};
    if (f->name.len == 0)
        return bad(m, path, "must have a fileName");
    snprintf(sub, sizeof sub, "%s.partition", path);
    TRY(native_partition(m->cx, &t->partition, t->partition_names, &t->naming, f->partition, sub,
                         &ret->partition));
    TRY(bucket_of_file(m, f, path, ret));
    TRY(numbers(m, f, path, &ret->file));
    TRY(keys_of(m, f, path, &ret->file));
    TRY(value_stats(m, f, path, &ret->file));
    TRY(texts(m->cx, f->extra_files, &ret->file.extra_files));
    if (f->write_columns)
        TRY(texts(m->cx, f->write_columns, &ret->file.write_cols));
    return data_file_check(m->cx, &ret->file) < 0 ? (m->cx->err.code = E_INVAL) : 0;
}

static int files(struct making *m, const struct api_native_file *f, size_t n, const char *what,
                 struct manifest_entry **ret)
{
    struct manifest_entry *e = ARENA_ARRAY(&m->cx->arena, struct manifest_entry, n + 1);
    if (!e)
        return ctx_nomem(m->cx);
    for (size_t i = 0; i < n; i++) {
        char path[48];
        snprintf(path, sizeof path, "%s[%zu]", what, i);
        TRY(file_entry(m, &f[i], path, &e[i]));
    }
    *ret = e;
    return 0;
}

static int places(struct making *m, const struct api_native_gone *g, size_t n, const char *what,
                  struct native_place **ret)
{
    const struct table_traits *t = m->t;
    struct native_place *p = ARENA_ARRAY(&m->cx->arena, struct native_place, n + 1);
    if (!p)
        return ctx_nomem(m->cx);
    for (size_t i = 0; i < n; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s[%zu].partition", what, i);
        p[i] = (struct native_place){.bucket = g[i].bucket, .name = g[i].name};
        TRY(native_partition(m->cx, &t->partition, t->partition_names, &t->naming, g[i].partition,
                             path, &p[i].partition));
    }
    *ret = p;
    return 0;
}

/* --- index files ------------------------------------------------------------------------------ */

static int vectors(struct making *m, const struct json *arr, struct index_dvs *ret)
{
    struct index_dv *v = ARENA_ARRAY(&m->cx->arena, struct index_dv, arr->n + 1);
    size_t n = 0;
    if (!v)
        return ctx_nomem(m->cx);
    JSON_EACH (it, arr) {
        struct api_native_vector x = api_native_vector_of(it);
        v[n++] = (struct index_dv){
            x.data_file, x.offset, x.length, {x.cardinality.has, x.cardinality.v}};
    }
    *ret = (struct index_dvs){.has = true, .n = n, .items = v};
    return 0;
}

static int index_entry(struct making *m, const struct api_native_index *x, const char *path,
                       struct index_entry *ret)
{
    const struct table_traits *t = m->t;
    char sub[64];
    bool dv = str_eqz(x->type, INDEX_TYPE_DV);
    *ret = (struct index_entry){.kind = FILE_ADD,
                                .bucket = x->bucket,
                                .type = x->type,
                                .name = x->name,
                                .size = x->size,
                                .row_count = x->rows,
                                .external_path = x->external_path};
    if (!dv && !str_eqz(x->type, INDEX_TYPE_HASH))
        return bad(m, path, "must be of type " INDEX_TYPE_DV " or " INDEX_TYPE_HASH);
    if (dv != (x->vectors != NULL))
        return bad(m, path, "must have deletionVectors exactly when its type is " INDEX_TYPE_DV);
    if (!path_component_ok(x->name))
        return bad(m, path, "must have a fileName that is a name, not a path");
    snprintf(sub, sizeof sub, "%s.partition", path);
    TRY(native_partition(m->cx, &t->partition, t->partition_names, &t->naming, x->partition, sub,
                         &ret->partition));
    return dv ? vectors(m, x->vectors, &ret->dv) : 0;
}

static int indexes(struct making *m, struct index_entry **ret)
{
    size_t n = m->in->n_index_add;
    struct index_entry *e = ARENA_ARRAY(&m->cx->arena, struct index_entry, n + 1);
    if (!e)
        return ctx_nomem(m->cx);
    for (size_t i = 0; i < n; i++) {
        char path[48];
        snprintf(path, sizeof path, "index.add[%zu]", i);
        TRY(index_entry(m, &m->in->index_add[i], path, &e[i]));
    }
    *ret = e;
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int make(struct making *m, struct native_files *ret)
{
    const struct api_native *in = m->in;
    TRY(native_key_columns(m->cx, m->t, &m->keys, &m->key_names));
    m->low = ARENA_ARRAY(&m->cx->arena, struct binrow_value, m->keys.n + 1);
    m->high = ARENA_ARRAY(&m->cx->arena, struct binrow_value, m->keys.n + 1);
    if (!m->low || !m->high)
        return ctx_nomem(m->cx);
    TRY(opt_i64(m->cx, &m->t->schema.options, "bucket", &m->buckets));
    TRY(files(m, in->add, in->n_add, "add", &ret->add));
    TRY(files(m, in->changelog, in->n_changelog, "changelog", &ret->changelog));
    TRY(places(m, in->gone, in->n_gone, "delete", &ret->gone));
    TRY(places(m, in->index_gone, in->n_index_gone, "index.delete", &ret->index_gone));
    return indexes(m, &ret->index_add);
}

int native_files_of(struct ctx *cx, struct branch *br, const struct table_traits *t,
                    const struct api_native *in, struct native_files *ret)
{
    struct making m = {.cx = cx, .br = br, .t = t, .in = in, .now_ms = wall_ms(clock_wall_ms())};
    *ret = (struct native_files){.n_add = in->n_add,
                                 .n_changelog = in->n_changelog,
                                 .n_gone = in->n_gone,
                                 .n_index_gone = in->n_index_gone,
                                 .n_index_add = in->n_index_add};
    int rc = make(&m, ret);
    for (size_t i = 0; i < m.n_schemas; i++)
        map_done(&m.schemas[i].by_name);
    return rc;
}

/* --- what goes -------------------------------------------------------------------------------- */

static int key_stats_of_rows(struct ctx *cx, const struct binrow_type *keys, str low, str high,
                             struct raw_stats *ret)
{
    struct binrow_value *l = ARENA_ARRAY(&cx->arena, struct binrow_value, keys->n + 1);
    struct binrow_value *h = ARENA_ARRAY(&cx->arena, struct binrow_value, keys->n + 1);
    if (!l || !h)
        return ctx_nomem(cx);
    TRY(binrow_read(cx, keys, low, l));
    TRY(binrow_read(cx, keys, high, h));
    return key_stats(cx, keys, l, h, ret);
}

int native_gone_entry(struct ctx *cx, const struct table_traits *t, const struct table_file *f,
                      struct manifest_entry *ret)
{
    struct binrow_type keys;
    const str *names;
    *ret = (struct manifest_entry){.kind = FILE_DELETE,
                                   .partition = f->partition,
                                   .bucket = f->bucket,
                                   .total_buckets = f->total_buckets,
                                   .file = {.name = f->name,
                                            .size = f->size,
                                            .row_count = f->rows,
                                            .min_key = f->min_key,
                                            .max_key = f->max_key,
                                            .min_seq = f->min_seq,
                                            .max_seq = f->max_seq,
                                            .schema_id = f->schema_id,
                                            .level = f->level,
                                            .extra_files = f->extra_files,
                                            .creation_ms = f->created_ms,
                                            .delete_row_count = f->delete_rows,
                                            .embedded_index = STR_NONE,
                                            .source = f->source,
                                            .external_path = f->external_path,
                                            .first_row_id = f->first_row_id}};
    struct data_file *d = &ret->file;
    d->extra_files.has = true;
    d->value_stats = (struct raw_stats){empty_row(), empty_row(), {.has = true, .items = {"", 0}}};
    TRY(avro_list_of_strs(cx, NULL, 0, &d->value_stats_cols));
    TRY(native_key_columns(cx, t, &keys, &names));
    return key_stats_of_rows(cx, &keys, f->min_key, f->max_key, &d->key_stats);
}
