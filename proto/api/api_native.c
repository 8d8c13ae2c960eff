/* api_native.c - see api_native.h. Every error names the member. Pure. */
#include "proto/api/api_native.h"

#include "proto/api/api_common.h"

#define PATH_LEN 48

/* --- members ---------------------------------------------------------------------------------- */

static int only(struct ctx *cx, const struct json *obj, const char *path, const char *const *names)
{
    JSON_EACH (it, obj) {
        const char *const *n = names;
        while (*n && !str_eqz(it->key, *n))
            n++;
        if (!*n)
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "%s%s%.*s is no member of a commit's body; leave it out", path,
                            *path ? "." : "", API_SHOWN(it->key));
    }
    return 0;
}

static int number(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                  struct api_number *ret)
{
    ret->has = !json_is_null(json_get(obj, key));
    return json_opt_i64(cx, obj, path, key, 0, &ret->v);
}

static int in_range(struct ctx *cx, const char *path, const char *key, int64_t v, int64_t min,
                    int64_t max)
{
    if (v >= min && v <= max)
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s.%s must be from %lld to %lld, not %lld",
                    path, key, (long long)min, (long long)max, (long long)v);
}

/* With a default if it may be absent; NULL: it must be there. */
static int int32(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                 const int32_t *dflt, int32_t min, int32_t *ret)
{
    int64_t v;
    TRY(dflt ? json_opt_i64(cx, obj, path, key, *dflt, &v) : json_want_i64(cx, obj, path, key, &v));
    TRY(in_range(cx, path, key, v, min, INT32_MAX));
    *ret = (int32_t)v;
    return 0;
}

static int count(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                 int64_t *ret)
{
    TRY(json_want_i64(cx, obj, path, key, ret));
    return in_range(cx, path, key, *ret, 0, INT64_MAX);
}

static int texts(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                 const struct json **ret)
{
    char sub[PATH_LEN + 32];
    TRY(json_opt_arr(cx, obj, path, key, ret));
    snprintf(sub, sizeof sub, "%s.%s", path, key);
    return json_check_str_arr(cx, *ret, sub);
}

static bool among(str v, const char *const *words)
{
    while (*words && !str_eqz(v, *words))
        words++;
    return *words != NULL;
}

static int one_of(struct ctx *cx, const char *path, const char *key, str v,
                  const char *const *words)
{
    CLEANUP(buf_done) struct buf all = {0};
    if (among(v, words))
        return 0;
    for (const char *const *w = words; *w; w++)
        buf_addf(&all, "%s%s", w == words ? "" : ", ", *w);
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s%s%s must be one of %.*s, not \"%.*s\"",
                    path, *path ? "." : "", key, STR(buf_str(&all)), API_SHOWN(v));
}

/* --- files ------------------------------------------------------------------------------------ */

static int stats(struct ctx *cx, const struct json *v, const char *path,
                 struct api_native_file *ret)
{
    static const char *const known[] = {"columns", "min", "max", "nullCounts", NULL};
    char sub[PATH_LEN + 16];
    TRY(json_opt_obj(cx, v, path, "valueStats", &ret->stats));
    snprintf(sub, sizeof sub, "%s.valueStats", path);
    if (!ret->stats)
        return 0;
    TRY(only(cx, ret->stats, sub, known));
    TRY(json_want_arr(cx, ret->stats, sub, "columns", &ret->stats_columns));
    TRY(texts(cx, ret->stats, sub, "columns", &ret->stats_columns));
    TRY(json_opt_obj(cx, ret->stats, sub, "min", &ret->stats_min));
    TRY(json_opt_obj(cx, ret->stats, sub, "max", &ret->stats_max));
    return json_opt_obj(cx, ret->stats, sub, "nullCounts", &ret->stats_nulls);
}

static int file_numbers(struct ctx *cx, const struct json *v, const char *path,
                        struct api_native_file *ret)
{
    static const int32_t level_0 = 0;
    TRY(int32(cx, v, path, "bucket", NULL, -2, &ret->bucket));
    TRY(int32(cx, v, path, "level", &level_0, 0, &ret->level));
    TRY(number(cx, v, path, "totalBuckets", &ret->total_buckets));
    TRY(in_range(cx, path, "totalBuckets", ret->total_buckets.v, -2, INT32_MAX));
    TRY(count(cx, v, path, "fileSize", &ret->size));
    TRY(count(cx, v, path, "rowCount", &ret->rows));
    TRY(number(cx, v, path, "minSequenceNumber", &ret->min_seq));
    TRY(number(cx, v, path, "maxSequenceNumber", &ret->max_seq));
    TRY(number(cx, v, path, "schemaId", &ret->schema_id));
    TRY(in_range(cx, path, "schemaId", ret->schema_id.v, 0, INT64_MAX));
    TRY(number(cx, v, path, "deleteRowCount", &ret->delete_rows));
    TRY(in_range(cx, path, "deleteRowCount", ret->delete_rows.v, 0, ret->rows));
    TRY(number(cx, v, path, "firstRowId", &ret->first_row_id));
    TRY(in_range(cx, path, "firstRowId", ret->first_row_id.v, 0, INT64_MAX - ret->rows));
    return number(cx, v, path, "creationTime", &ret->created_ms);
}

static int file(struct ctx *cx, const struct json *v, const char *path, void *at)
{
    static const char *const known[] = {"partition",
                                        "bucket",
                                        "totalBuckets",
                                        "fileName",
                                        "fileSize",
                                        "rowCount",
                                        "minKey",
                                        "maxKey",
                                        "minSequenceNumber",
                                        "maxSequenceNumber",
                                        "schemaId",
                                        "level",
                                        "deleteRowCount",
                                        "extraFiles",
                                        "externalPath",
                                        "firstRowId",
                                        "valueStats",
                                        "writeColumns",
                                        "source",
                                        "creationTime",
                                        NULL};
    static const char *const sources[] = {"APPEND", "COMPACT", NULL};
    struct api_native_file *ret = at;
    TRY(only(cx, v, path, known));
    TRY(json_opt_obj(cx, v, path, "partition", &ret->partition));
    TRY(json_want_str(cx, v, path, "fileName", &ret->name));
    TRY(file_numbers(cx, v, path, ret));
    TRY(json_opt_obj(cx, v, path, "minKey", &ret->min_key));
    TRY(json_opt_obj(cx, v, path, "maxKey", &ret->max_key));
    TRY(texts(cx, v, path, "extraFiles", &ret->extra_files));
    TRY(texts(cx, v, path, "writeColumns", &ret->write_columns));
    TRY(json_opt_str(cx, v, path, "externalPath", &ret->external_path));
    TRY(json_opt_str(cx, v, path, "source", &ret->source));
    if (ret->source.p)
        TRY(one_of(cx, path, "source", ret->source, sources));
    return stats(cx, v, path, ret);
}

static int gone(struct ctx *cx, const struct json *v, const char *path, void *at)
{
    static const char *const known[] = {"partition", "bucket", "fileName", NULL};
    struct api_native_gone *ret = at;
    TRY(only(cx, v, path, known));
    TRY(json_opt_obj(cx, v, path, "partition", &ret->partition));
    TRY(int32(cx, v, path, "bucket", NULL, -2, &ret->bucket));
    return json_want_str(cx, v, path, "fileName", &ret->name);
}

/* --- index files ------------------------------------------------------------------------------ */

static int vector(struct ctx *cx, const struct json *v, const char *path)
{
    static const char *const known[] = {"dataFile", "offset", "length", "cardinality", NULL};
    struct api_number n;
    int32_t i;
    str s;
    if (v->type != JSON_OBJECT)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s must be an object", path);
    TRY(only(cx, v, path, known));
    TRY(json_want_str(cx, v, path, "dataFile", &s));
    TRY(int32(cx, v, path, "offset", NULL, 0, &i));
    TRY(int32(cx, v, path, "length", NULL, 0, &i));
    TRY(number(cx, v, path, "cardinality", &n));
    return in_range(cx, path, "cardinality", n.v, 0, INT64_MAX);
}

struct api_native_vector api_native_vector_of(const struct json *v)
{
    const struct json *n = json_get(v, "cardinality");
    return (struct api_native_vector){
        .data_file = json_get(v, "dataFile")->s,
        .offset = (int32_t)json_get(v, "offset")->i,
        .length = (int32_t)json_get(v, "length")->i,
        .cardinality = {!json_is_null(n), json_is_null(n) ? 0 : n->i}};
}

static int index_file(struct ctx *cx, const struct json *v, const char *path, void *at)
{
    static const char *const known[] = {"partition",       "bucket",       "type",
                                        "fileName",        "fileSize",     "rowCount",
                                        "deletionVectors", "externalPath", NULL};
    struct api_native_index *ret = at;
    size_t i = 0;
    TRY(only(cx, v, path, known));
    TRY(json_opt_obj(cx, v, path, "partition", &ret->partition));
    TRY(int32(cx, v, path, "bucket", NULL, -2, &ret->bucket));
    TRY(json_want_str(cx, v, path, "type", &ret->type));
    TRY(json_want_str(cx, v, path, "fileName", &ret->name));
    TRY(count(cx, v, path, "fileSize", &ret->size));
    TRY(count(cx, v, path, "rowCount", &ret->rows));
    TRY(json_opt_str(cx, v, path, "externalPath", &ret->external_path));
    TRY(json_opt_arr(cx, v, path, "deletionVectors", &ret->vectors));
    for (const struct json *it = ret->vectors ? ret->vectors->child : NULL; it; it = it->next) {
        char sub[PATH_LEN + 40];
        snprintf(sub, sizeof sub, "%s.deletionVectors[%zu]", path, i++);
        TRY(vector(cx, it, sub));
    }
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

typedef int item_fn(struct ctx *cx, const struct json *v, const char *path, void *at);

/* obj[key], an array of objects, into an array of structs of this size. */
static int list(struct ctx *cx, const struct json *obj, const char *path, const char *key,
                item_fn *fn, size_t size, void **ret, size_t *ret_n)
{
    const struct json *arr;
    char at[PATH_LEN];
    size_t i = 0;
    TRY(json_opt_arr(cx, obj, path, key, &arr));
    char *v = arena_array(&cx->arena, size, arr ? arr->n + 1 : 1);
    if (!v)
        return ctx_nomem(cx);
    for (const struct json *it = arr ? arr->child : NULL; it; it = it->next, i++) {
        snprintf(at, sizeof at, "%s%s%s[%zu]", path, *path ? "." : "", key, i);
        if (it->type != JSON_OBJECT)
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s must be an object", at);
        TRY(fn(cx, it, at, v + i * size));
    }
    *ret = v;
    *ret_n = i;
    return 0;
}
static int lists(struct ctx *cx, const struct json *body, struct api_native *ret)
{
    static const char *const known[] = {"add", "delete", NULL};
    const struct json *index;
    TRY(list(cx, body, "", "add", file, sizeof *ret->add, (void **)&ret->add, &ret->n_add));
    TRY(list(cx, body, "", "changelog", file, sizeof *ret->changelog, (void **)&ret->changelog,
             &ret->n_changelog));
    TRY(list(cx, body, "", "delete", gone, sizeof *ret->gone, (void **)&ret->gone, &ret->n_gone));
    TRY(json_opt_obj(cx, body, "", "index", &index));
    if (index)
        TRY(only(cx, index, "index", known));
    TRY(list(cx, index, "index", "add", index_file, sizeof *ret->index_add,
             (void **)&ret->index_add, &ret->n_index_add));
    return list(cx, index, "index", "delete", gone, sizeof *ret->index_gone,
                (void **)&ret->index_gone, &ret->n_index_gone);
}

static int words(struct ctx *cx, const struct json *body, struct api_native *ret)
{
    static const char *const kinds[] = {"APPEND", "OVERWRITE", "COMPACT", NULL};
    static const char *const operations[] = {"WRITE",
                                             "OVERWRITE",
                                             "DELETE",
                                             "TRUNCATE",
                                             "UPDATE",
                                             "MERGE",
                                             "CREATE_TABLE_AS_SELECT",
                                             "REPLACE_TABLE_AS_SELECT",
                                             "CREATE_OR_REPLACE_TABLE_AS_SELECT",
                                             NULL};
    TRY(json_opt_str(cx, body, "", "commitUser", &ret->user));
    if (ret->user.p && ret->user.len == 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "commitUser is empty; leave it out");
    TRY(json_opt_i64(cx, body, "", "commitIdentifier", API_NATIVE_BATCH_IDENTIFIER,
                     &ret->identifier));
    TRY(json_opt_str(cx, body, "", "kind", &ret->kind));
    ret->kind = ret->kind.p ? ret->kind : STR_LIT("APPEND");
    TRY(one_of(cx, "", "kind", ret->kind, kinds));
    TRY(json_opt_str(cx, body, "", "operation", &ret->operation));
    if (ret->operation.p && !among(ret->operation, operations))
        return ctx_fail(
            cx, E_INVAL, RES_NONE, STR_NONE,
            "operation must be one of Paimon's, as WRITE, DELETE or MERGE (/openapi.json "
            "lists them), not \"%.*s\"",
            API_SHOWN(ret->operation));
    return 0;
}

int api_native_decode(struct ctx *cx, const struct json *body, struct api_native *ret)
{
    static const char *const known[] = {
        "commitUser", "commitIdentifier", "kind",      "operation", "watermark", "properties",
        "add",        "delete",           "changelog", "index",     NULL};
    struct api_native out = {0};
    TRY(only(cx, body, "", known));
    TRY(words(cx, body, &out));
    TRY(number(cx, body, "", "watermark", &out.watermark));
    TRY(json_opt_obj(cx, body, "", "properties", &out.properties));
    TRY(json_check_str_map(cx, out.properties, "properties"));
    TRY(lists(cx, body, &out));
    *ret = out;
    return 0;
}

int api_native_encode(struct ctx *cx, struct buf *out, str snapshot, int64_t id, bool replayed)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    if (snapshot.p) {
        json_kraw(&o, "snapshot", snapshot);
    } else {
        json_key(&o, "snapshot");
        json_obj(&o);
        json_ki64(&o, "id", id);
        json_end(&o);
    }
    json_kbool(&o, "replayed", replayed);
    json_end(&o);
    return api_out_end(cx, out);
}
