/* partition_stats.c - see partition_stats.h.
 *
 * Bounds borrow from the row that was added last until the next one comes; then those that still do
 * move into a buffer of their own. Entries of one partition follow each other in manifests, so most
 * calls compare a few bytes.
 *
 * Source: paimon-core's ManifestFile (SimpleStatsCollector over the partitions of all entries, both
 * kinds) and PartitionPredicate.fromMultiple (a manifest is passed over by its bounds). Thread rule:
 * one thread at a time. */
#include "catalog/partition_stats.h"

#include "proto/base/mem.h"

#define ROW_MAX ((size_t)64 << 20) /* bytes of two rows of bounds */

int partition_stats_init(struct ctx *cx, struct partition_stats *ret, const struct binrow_type *t)
{
    struct partition_stats s = {.type = t ? *t : (struct binrow_type){0}};
    size_t n = s.type.n;
    s.row = mem_alloc((2 * n + 1) * sizeof *s.row);
    s.columns = mem_zalloc((n + 1) * sizeof *s.columns);
    s.spare = s.row ? s.row + n : NULL;
    buf_init(&s.last, ROW_MAX);
    buf_init(&s.bounds[0], ROW_MAX);
    buf_init(&s.bounds[1], ROW_MAX);
    if (s.columns)
        stats_begin(s.columns, n);
    *ret = s;
    return s.row && s.columns ? 0 : ctx_nomem(cx);
}

void partition_stats_done(struct partition_stats *s)
{
    mem_free(s->row);
    mem_free(s->columns);
    buf_done(&s->last);
    buf_done(&s->bounds[0]);
    buf_done(&s->bounds[1]);
    *s = (struct partition_stats){0};
}

void partition_stats_clear(struct partition_stats *s)
{
    stats_begin(s->columns, s->type.n);
    s->has = s->borrows = false;
}

/* Both rows of bounds, into b. */
static void write_bounds(const struct partition_stats *s, struct buf *b, size_t *ret_middle)
{
    size_t n = s->type.n;
    for (size_t i = 0; i < n; i++)
        s->spare[i] = s->columns[i].min;
    binrow_write(b, &s->type, s->spare);
    *ret_middle = b->len;
    for (size_t i = 0; i < n; i++)
        s->spare[i] = s->columns[i].max;
    binrow_write(b, &s->type, s->spare);
}

static int move_bounds(struct ctx *cx, struct partition_stats *s)
{
    struct buf *b = &s->bounds[!s->at];
    size_t middle;
    buf_clear(b);
    write_bounds(s, b, &middle);
    if (buf_fail(b))
        return ctx_fail(cx, buf_fail(b), RES_NONE, STR_NONE, "no room for bounds of partitions");
    TRY(binrow_read(cx, &s->type, str_n(b->p, middle), s->spare));
    for (size_t i = 0; i < s->type.n; i++)
        s->columns[i].min = s->spare[i];
    TRY(binrow_read(cx, &s->type, str_cut(buf_str(b), middle), s->spare));
    for (size_t i = 0; i < s->type.n; i++)
        s->columns[i].max = s->spare[i];
    s->at = !s->at;
    s->borrows = false;
    return 0;
}

static int next_row(struct ctx *cx, struct partition_stats *s, str partition)
{
    if (s->borrows)
        TRY(move_bounds(cx, s));
    s->has = false;
    buf_clear(&s->last);
    buf_adds(&s->last, partition);
    if (buf_fail(&s->last))
        return ctx_nomem(cx);
    TRY(binrow_read(cx, &s->type, buf_str(&s->last), s->row));
    s->has = true;
    return 0;
}

int partition_stats_add(struct ctx *cx, struct partition_stats *s, str partition)
{
    if (!s->has || !str_eq(partition, buf_str(&s->last))) {
        if (next_row(cx, s, partition) < 0)
            return ctx_prefix(cx, "its partition");
        s->borrows = true;
    }
    stats_add_row(s->columns, s->row, s->type.n);
    return 0;
}

int partition_stats_raw(struct ctx *cx, const struct partition_stats *s, struct raw_stats *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct simple_stats simple;
    struct raw_stats raw;
    TRY(stats_write(cx, &s->type, s->columns, &b, &simple));
    TRY(raw_stats_of(cx, &simple, &raw));
    raw.min = str_dup(&cx->arena, raw.min);
    raw.max = str_dup(&cx->arena, raw.max);
    if (!raw.min.p || !raw.max.p)
        return ctx_nomem(cx);
    *ret = raw;
    return 0;
}

/* Java gives no bounds to columns of bytes: what is not known may be anything. */
static bool column_meets(const struct stats_column *mine, const struct stats_column *its)
{
    if (mine->null_count != 0 && its->null_count != 0)
        return true;
    if (mine->min.tag == BV_NULL)
        return false;
    if (its->min.tag == BV_NULL || its->max.tag == BV_NULL)
        return true;
    return binrow_cmp_value(&mine->min, &its->max) <= 0 &&
           binrow_cmp_value(&its->min, &mine->max) <= 0;
}

static bool meet(struct ctx *cx, const struct partition_stats *s, const struct raw_stats *raw)
{
    struct simple_stats simple;
    struct stats_column *its = ARENA_ARRAY(&cx->arena, struct stats_column, s->type.n + 1);
    if (!its || raw_stats_open(cx, raw, &simple) < 0 || stats_read(cx, &s->type, &simple, its) < 0)
        return true;
    for (size_t i = 0; i < s->type.n; i++)
        if (!column_meets(&s->columns[i], &its[i]))
            return false;
    return true;
}

bool partition_stats_meet(const struct partition_stats *s, const struct raw_stats *raw)
{
    struct ctx own;
    ctx_init(&own, ROW_MAX);
    bool yes = s->has && meet(&own, s, raw);
    ctx_done(&own);
    return yes;
}
