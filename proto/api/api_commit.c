/* api_commit.c - bodies of POST …/commit: the commit a client asks for, and the answer.
 *
 * Format: Paimon's CommitTableRequest with its PartitionStatistics, and CommitTableResponse. The
 * snapshot stays the client's text; manifest/snapshot reads it. Clients up to 1.4 send no
 * baseSnapshotUuid. Counts in the statistics are deltas and may be negative; members that an older
 * client does not know are missing and count 0. Pure. */
#include "proto/api/api_commit.h"

/* One count of one partition, added to *sum. */
static int add_count(struct ctx *cx, size_t i, const char *key, int64_t v, int64_t *sum)
{
    if (__builtin_add_overflow(*sum, v, sum))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "statistics[%zu].%s: the sum over all partitions does not fit 64 bits", i,
                        key);
    return 0;
}

static int add_stat(struct ctx *cx, size_t i, const struct api_stat *p, struct api_stats *s)
{
    TRY(add_count(cx, i, "recordCount", p->records, &s->records));
    TRY(add_count(cx, i, "fileSizeInBytes", p->file_size_bytes, &s->file_size_bytes));
    TRY(add_count(cx, i, "fileCount", p->file_count, &s->file_count));
    if (p->last_file_ms > s->last_file_creation_ms)
        s->last_file_creation_ms = p->last_file_ms;
    return 0;
}

static int decode_stats(struct ctx *cx, const struct json *body, struct api_commit *out)
{
    struct api_stats s = {0};
    TRY(api_stats_decode(cx, body, "statistics", &out->partitions, &out->n_partitions, &s.known));
    for (size_t i = 0; i < out->n_partitions; i++)
        TRY(add_stat(cx, i, &out->partitions[i], &s));
    out->stats = s;
    return 0;
}

int api_commit_decode(struct ctx *cx, const struct json *body, struct api_commit *ret)
{
    struct api_commit out;
    TRY(json_opt_str(cx, body, "", "tableId", &out.table_id));
    TRY(json_opt_str(cx, body, "", "baseSnapshotUuid", &out.base_uuid));
    TRY(json_want_obj(cx, body, "", "snapshot", &out.snapshot));
    TRY(decode_stats(cx, body, &out));
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
