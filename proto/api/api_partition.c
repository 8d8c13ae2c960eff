/* api_partition.c - partitions in and out of Paimon's JSON.
 *
 * Format: Paimon's PartitionStatistics and Partition, CreatePartitionsRequest, DropPartitionsRequest,
 * MarkDonePartitionsRequest, ListPartitionsByNamesRequest and ListPartitionsByFilterRequest with their
 * answers. A spec maps partition keys to texts; whether they are a table's keys is not known here.
 * Members of statistics that an older client does not know are missing and count 0. Pure. */
#include "proto/api/api_partition.h"

static int decode_stat(struct ctx *cx, const struct json *item, const char *path,
                       struct api_stat *ret)
{
    char spec_path[64];
    TRY(json_opt_obj(cx, item, path, "spec", &ret->spec));
    snprintf(spec_path, sizeof(spec_path), "%s.spec", path);
    TRY(json_check_str_map(cx, ret->spec, spec_path));
    TRY(json_opt_i64(cx, item, path, "recordCount", 0, &ret->records));
    TRY(json_opt_i64(cx, item, path, "fileSizeInBytes", 0, &ret->file_size_bytes));
    TRY(json_opt_i64(cx, item, path, "fileCount", 0, &ret->file_count));
    TRY(json_opt_i64(cx, item, path, "lastFileCreationTime", 0, &ret->last_file_ms));
    TRY(json_opt_i64(cx, item, path, "totalBuckets", 0, &ret->buckets));
    if (ret->buckets >= INT32_MIN && ret->buckets <= INT32_MAX)
        return 0; /* Java could not read it back else */
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s.totalBuckets does not fit 32 bits", path);
}

static int decode_stats(struct ctx *cx, const struct json *body, const char *key,
                        struct api_stat **ret, size_t *ret_n)
{
    const struct json *list;
    TRY(json_opt_arr(cx, body, "", key, &list));
    size_t n = list ? list->n : 0, i = 0;
    struct api_stat *stats = ARENA_ARRAY(&cx->arena, struct api_stat, n ? n : 1);
    if (!stats)
        return ctx_nomem(cx);
    for (const struct json *it = list ? list->child : NULL; it; it = it->next) {
        char path[48];
        snprintf(path, sizeof(path), "%s[%zu]", key, i);
        TRY(decode_stat(cx, it, path, &stats[i++]));
    }
    *ret = stats;
    *ret_n = n;
    return 0;
}

static int decode_specs(struct ctx *cx, const struct json *body, const char *key, size_t max,
                        const struct json **ret)
{
    const struct json *specs;
    size_t i = 0;
    TRY(json_want_arr(cx, body, "", key, &specs));
    if (specs->n > max)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "%s has %zu items; at most %zu are taken in one request", key, specs->n,
                        max);
    JSON_EACH (it, specs) {
        char path[48];
        snprintf(path, sizeof(path), "%s[%zu]", key, i++);
        if (it->type != JSON_OBJECT)
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "%s must be an object of partition keys and their values", path);
        TRY(json_check_str_map(cx, it, path));
    }
    *ret = specs;
    return 0;
}

int api_partitions_specs_decode(struct ctx *cx, const struct json *body, size_t max,
                                const struct json **ret)
{
    return decode_specs(cx, body, "specs", max, ret);
}

int api_partitions_create_decode(struct ctx *cx, const struct json *body,
                                 struct api_partitions_create *ret)
{
    struct api_partitions_create out = {0};
    TRY(decode_specs(cx, body, "partitionSpecs", API_PARTITIONS_MAX, &out.specs));
    TRY(json_opt_bool(cx, body, "", "ignoreIfExists", true, &out.ignore_if_exists));
    TRY(json_opt_bool(cx, body, "", "replaceStatistics", false, &out.replace));
    TRY(decode_stats(cx, body, "partitionStatistics", &out.stats, &out.n_stats));
    if (out.n_stats > API_PARTITIONS_MAX)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "partitionStatistics has %zu items; at most %d are taken in one request",
                        out.n_stats, API_PARTITIONS_MAX);
    *ret = out;
    return 0;
}

int api_partitions_drop_decode(struct ctx *cx, const struct json *body,
                               struct api_partitions_drop *ret)
{
    struct api_partitions_drop out;
    TRY(decode_specs(cx, body, "partitionSpecs", API_PARTITIONS_MAX, &out.specs));
    TRY(json_opt_bool(cx, body, "", "ignoreIfNotExists", true, &out.ignore_if_not_exists));
    *ret = out;
    return 0;
}

int api_partitions_filter_decode(struct ctx *cx, const struct json *body,
                                 struct api_partitions_filter *ret)
{
    struct api_partitions_filter out;
    const struct json *predicate;
    str filter;
    TRY(json_opt_str(cx, body, "", "filter", &filter));
    if (filter.len == 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "filter is required: a predicate as JSON text; to list without one use "
                        "GET partitions");
    TRY(json_parse(cx, filter, "filter", &predicate));
    TRY(json_opt_str(cx, body, "", "partitionNamePattern", &out.pattern));
    TRY(json_opt_i64(cx, body, "", "maxResults", 0, &out.max_results));
    TRY(json_opt_str(cx, body, "", "pageToken", &out.token));
    *ret = out;
    return 0;
}

static void put_partition(struct json_out *o, const struct api_partition *p)
{
    json_obj(o);
    json_kraw(o, "spec", p->spec_json);
    json_ki64(o, "recordCount", p->records);
    json_ki64(o, "fileSizeInBytes", p->file_size_bytes);
    json_ki64(o, "fileCount", p->file_count);
    json_ki64(o, "lastFileCreationTime", p->last_file_ms);
    json_ki64(o, "totalBuckets", p->buckets);
    json_kbool(o, "done", p->done);
    json_ki64(o, "createdAt", p->created_ms);
    json_kstr(o, "createdBy", p->created_by);
    json_ki64(o, "updatedAt", p->updated_ms);
    json_kstr(o, "updatedBy", p->updated_by);
    json_end(o);
}

int api_partitions_encode(struct ctx *cx, struct buf *out, const struct api_partition *p, size_t n,
                          str token)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_key(&o, "partitions");
    json_arr(&o);
    for (size_t i = 0; i < n; i++)
        put_partition(&o, &p[i]);
    json_end(&o);
    json_kstr(&o, "nextPageToken", token);
    json_end(&o);
    return api_out_end(cx, out);
}

static void put_specs(struct json_out *o, const char *member, const struct json *specs,
                      const bool *there, bool want)
{
    size_t i = 0;
    json_key(o, member);
    json_arr(o);
    JSON_EACH (it, specs)
        if (there[i++] == want)
            json_raw(o, it->raw);
    json_end(o);
}

int api_partitions_split_encode(struct ctx *cx, struct buf *out, const struct json *specs,
                                const bool *there, const char *yes, const char *no)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    put_specs(&o, yes, specs, there, true);
    put_specs(&o, no, specs, there, false);
    json_end(&o);
    return api_out_end(cx, out);
}
