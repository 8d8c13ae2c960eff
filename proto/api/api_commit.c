/* api_commit.c - bodies of POST …/commit: the commit a client asks for, and the answer.
 *
 * Format: Paimon's CommitTableRequest with its PartitionStatistics, and CommitTableResponse. The
 * snapshot stays the client's text; manifest/snapshot reads it. Clients up to 1.4 send no
 * baseSnapshotUuid. Counts in the statistics are deltas and may be negative; members that an older
 * client does not know are missing and count 0. Pure. */
#include "proto/api/api_commit.h"

/* The member `key` of one partition's statistics, added to *sum. */
static int add_count(struct ctx *cx, const struct json *item, const char *path, const char *key,
                     int64_t *sum)
{
    int64_t v;
    TRY(json_opt_i64(cx, item, path, key, 0, &v));
    if (__builtin_add_overflow(*sum, v, sum))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "%s.%s: the sum over all partitions does not fit 64 bits", path, key);
    return 0;
}

static int add_stats(struct ctx *cx, const struct json *item, const char *path, struct api_stats *s)
{
    const struct json *spec;
    int64_t newest, buckets;
    char spec_path[64];
    TRY(json_opt_obj(cx, item, path, "spec", &spec));
    snprintf(spec_path, sizeof(spec_path), "%s.spec", path);
    TRY(json_check_str_map(cx, spec, spec_path));
    TRY(add_count(cx, item, path, "recordCount", &s->records));
    TRY(add_count(cx, item, path, "fileSizeInBytes", &s->file_size_bytes));
    TRY(add_count(cx, item, path, "fileCount", &s->file_count));
    TRY(json_opt_i64(cx, item, path, "lastFileCreationTime", 0, &newest));
    TRY(json_opt_i64(cx, item, path, "totalBuckets", 0, &buckets));
    if (newest > s->last_file_creation_ms)
        s->last_file_creation_ms = newest;
    return 0;
}

static int decode_stats(struct ctx *cx, const struct json *body, struct api_stats *ret)
{
    const struct json *list;
    struct api_stats s = {0};
    size_t i = 0;
    TRY(json_opt_arr(cx, body, "", "statistics", &list));
    for (const struct json *it = list ? list->child : NULL; it; it = it->next) {
        char path[48];
        snprintf(path, sizeof(path), "statistics[%zu]", i++);
        TRY(add_stats(cx, it, path, &s));
    }
    s.known = list != NULL;
    *ret = s;
    return 0;
}

int api_commit_decode(struct ctx *cx, const struct json *body, struct api_commit *ret)
{
    struct api_commit out;
    TRY(json_opt_str(cx, body, "", "tableId", &out.table_id));
    TRY(json_opt_str(cx, body, "", "baseSnapshotUuid", &out.base_uuid));
    TRY(json_want_obj(cx, body, "", "snapshot", &out.snapshot));
    TRY(decode_stats(cx, body, &out.stats));
    *ret = out;
    return 0;
}

int api_commit_encode(struct ctx *cx, struct buf *out, bool success)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_kbool(&o, "success", success);
    json_end(&o);
    return api_out_end(cx, out);
}
