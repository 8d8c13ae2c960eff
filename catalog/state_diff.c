/* state_diff.c - what differs between two states, for tests and for people. Pure. */
#include "catalog/table_state_int.h"

struct diff {
    const struct table_state *a, *b;
    struct buf *out; /* NULL: is there a difference at all? */
    size_t left;     /* lines that may still be written */
    bool any;
};

static bool opt_eq(struct opt_i64 a, struct opt_i64 b)
{
    return a.has == b.has && (!a.has || a.v == b.v);
}

static bool text_eq(str a, str b)
{
    return a.p && b.p ? str_eq(a, b) : !a.p && !b.p;
}

static bool same_file(const struct table_file *a, const struct table_file *b)
{
    return a->id == b->id && str_eq(a->partition, b->partition) && a->bucket == b->bucket &&
           a->total_buckets == b->total_buckets && a->level == b->level &&
           str_eq(a->name, b->name) && a->size == b->size && a->rows == b->rows &&
           a->min_seq == b->min_seq && a->max_seq == b->max_seq && a->schema_id == b->schema_id &&
           str_eq(a->min_key, b->min_key) && str_eq(a->max_key, b->max_key) &&
           opt_eq(a->created_ms, b->created_ms) && opt_eq(a->delete_rows, b->delete_rows) &&
           opt_eq(a->first_row_id, b->first_row_id) && opt_eq(a->source, b->source) &&
           text_eq(a->external_path, b->external_path) &&
           avro_list_eq(&a->extra_files, &b->extra_files);
}

static void line(struct diff *d, const char *side, const char *what, str name, int64_t x, int64_t y)
{
    d->any = true;
    if (!d->out || d->left == 0)
        return;
    d->left--;
    buf_addf(d->out, "%s: %s %.*s %lld %lld\n", side, what, STR(name), (long long)x, (long long)y);
}

static void number(struct diff *d, const char *what, int64_t x, int64_t y)
{
    if (x != y)
        line(d, "both", what, STR_NONE, x, y);
}

static bool enough(const struct diff *d)
{
    return d->any && (!d->out || d->left == 0);
}

static void files(struct diff *d, const struct table_state *a, const struct table_state *b,
                  const char *side)
{
    struct state_cursor at;
    struct state_view v, w;
    state_all(a, &at);
    while (!enough(d) && state_next(a, &at, &v))
        if (!state_find(b, &v.f, &w))
            line(d, side, "has the file", v.f.name, v.f.bucket, v.f.level);
        else if (!same_file(&v.f, &w.f))
            line(d, side, "says something else of the file", v.f.name, v.f.bucket, v.f.level);
}

static void manifests(struct diff *d, const struct table_state *a, const struct table_state *b,
                      const char *side)
{
    size_t pos = 0;
    void *p;
    str name;
    while (!enough(d) && map_next(&a->manifests, &pos, &name, &p)) {
        struct state_manifest x, y;
        if (!state_manifest(a, name, &x))
            continue;
        if (!state_manifest(b, name, &y) || x.size != y.size || x.added != y.added ||
            x.deleted != y.deleted || x.sum != y.sum)
            line(d, side, "has the manifest", name, x.added, x.deleted);
    }
}

static void buckets(struct diff *d, struct table_state *a, struct table_state *b)
{
    for (uint32_t i = 1; i < a->n_buckets && !enough(d); i++) {
        const struct bucket *x = &a->buckets[i];
        size_t n, m;
        if (!x->partition)
            continue;
        str row = str_n(x->partition->p, x->partition->len);
        const struct bucket_count *c = state_bucket_counts(a, row, &n),
                                  *e = state_bucket_counts(b, row, &m);
        if (n != m || (n && memcmp(c, e, n * sizeof *c) != 0))
            line(d, "both", "bucket counts of a partition", STR_NONE, (int64_t)n, (int64_t)m);
        number(d, "highest sequence of a bucket", state_max_seq(a, row, x->bucket),
               state_max_seq(b, row, x->bucket));
    }
}

static void compare(struct diff *d)
{
    struct state_info x = state_info(d->a), y = state_info(d->b);
    number(d, "snapshot", x.snapshot_id, y.snapshot_id);
    number(d, "schema", x.schema_id, y.schema_id);
    number(d, "total records", x.total_records, y.total_records);
    number(d, "next row id", x.next_row_id.has ? x.next_row_id.v : -1,
           y.next_row_id.has ? y.next_row_id.v : -1);
    number(d, "files", (int64_t)x.files, (int64_t)y.files);
    number(d, "partitions", (int64_t)x.partitions, (int64_t)y.partitions);
    number(d, "buckets", (int64_t)x.buckets, (int64_t)y.buckets);
    number(d, "manifests", (int64_t)x.manifests, (int64_t)y.manifests);
    number(d, "rows", x.rows, y.rows);
    number(d, "bytes of files", x.size_bytes, y.size_bytes);
    number(d, "sum of live files", (int64_t)x.live_sum, (int64_t)y.live_sum);
    number(d, "left over in manifests", (int64_t)x.left_over, (int64_t)y.left_over);
    if (!index_set_equal(d->a->index, d->b->index))
        line(d, "both", "index manifests differ:", index_set_name(d->a->index), 0, 0);
    files(d, d->a, d->b, "only the first");
    files(d, d->b, d->a, "only the second");
    manifests(d, d->a, d->b, "only the first");
    manifests(d, d->b, d->a, "only the second");
    /* It fills in what is known of a bucket's highest number, no more. */
    buckets(d, (struct table_state *)d->a, (struct table_state *)d->b);
}

int state_diff(struct ctx *cx, const struct table_state *a, const struct table_state *b,
               size_t max_lines, struct buf *out)
{
    struct diff d = {a, b, out, max_lines, false};
    compare(&d);
    return buf_fail(out) ? ctx_nomem(cx) : 0;
}

bool state_equal(const struct table_state *a, const struct table_state *b)
{
    struct diff d = {a, b, NULL, 0, false};
    compare(&d);
    return !d.any;
}
