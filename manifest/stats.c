/* stats.c - see stats.h. Source: paimon-core SimpleStats, SimpleStatsCollector and
 * SimpleStatsConverter. No state; any thread. */
#include "manifest/stats.h"

static int bad_counts(struct ctx *cx, const struct binrow_type *t, const struct simple_stats *s)
{
    if (s->n_null_counts != 0 && s->n_null_counts != t->n)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "statistics with %zu counts of nulls for %zu columns", s->n_null_counts,
                        t->n);
    for (size_t i = 0; i < s->n_null_counts; i++)
        if (s->null_counts[i] < STATS_NULLS_UNKNOWN)
            return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                            "statistics with %lld nulls in column %zu",
                            (long long)s->null_counts[i], i);
    return 0;
}

static bool has_both(const struct stats_column *c)
{
    return c->min.tag != BV_NULL && c->max.tag != BV_NULL;
}

int stats_read(struct ctx *cx, const struct binrow_type *t, const struct simple_stats *s,
               struct stats_column *ret)
{
    TRY(bad_counts(cx, t, s));
    struct binrow_value *v = ARENA_ARRAY(&cx->arena, struct binrow_value, 2 * t->n + 1);
    if (!v)
        return ctx_nomem(cx);
    TRY(binrow_read(cx, t, s->min, v));
    TRY(binrow_read(cx, t, s->max, v + t->n));
    for (size_t i = 0; i < t->n; i++) {
        struct stats_column c = {.min = v[i], .max = v[t->n + i]};
        c.null_count = s->n_null_counts ? s->null_counts[i] : STATS_NULLS_UNKNOWN;
        if (has_both(&c) && binrow_cmp_value(&c.min, &c.max) > 0)
            return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                            "statistics whose least value of column %zu is above the greatest", i);
        ret[i] = c;
    }
    return 0;
}

int stats_write(struct ctx *cx, const struct binrow_type *t, const struct stats_column *c,
                struct buf *b, struct simple_stats *ret)
{
    struct binrow_value *v = ARENA_ARRAY(&cx->arena, struct binrow_value, t->n + 1);
    int64_t *counts = ARENA_ARRAY(&cx->arena, int64_t, t->n + 1);
    size_t start = b->len;
    if (!v || !counts)
        return ctx_nomem(cx);
    for (size_t i = 0; i < t->n; i++) {
        v[i] = c[i].min;
        counts[i] = c[i].null_count;
    }
    binrow_write(b, t, v);
    size_t middle = b->len;
    for (size_t i = 0; i < t->n; i++)
        v[i] = c[i].max;
    binrow_write(b, t, v);
    if (buf_fail(b))
        return ctx_fail(cx, buf_fail(b), RES_NONE, STR_NONE, "no room for statistics");
    *ret = (struct simple_stats){.min = str_n(b->p + start, middle - start),
                                 .max = str_n(b->p + middle, b->len - middle),
                                 .null_counts = counts,
                                 .n_null_counts = t->n};
    return 0;
}

void stats_begin(struct stats_column *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = (struct stats_column){.min = {.tag = BV_NULL}, .max = {.tag = BV_NULL}};
}

static void widen(struct stats_column *c, const struct binrow_value *min,
                  const struct binrow_value *max)
{
    if (min->tag != BV_NULL && (c->min.tag == BV_NULL || binrow_cmp_value(min, &c->min) < 0))
        c->min = *min;
    if (max->tag != BV_NULL && (c->max.tag == BV_NULL || binrow_cmp_value(max, &c->max) > 0))
        c->max = *max;
}

void stats_add_row(struct stats_column *c, const struct binrow_value *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        widen(&c[i], &row[i], &row[i]);
        if (row[i].tag == BV_NULL && c[i].null_count != STATS_NULLS_UNKNOWN)
            c[i].null_count++;
    }
}

static int64_t add_counts(int64_t a, int64_t b)
{
    int64_t sum;
    if (a == STATS_NULLS_UNKNOWN || b == STATS_NULLS_UNKNOWN || __builtin_add_overflow(a, b, &sum))
        return STATS_NULLS_UNKNOWN;
    return sum;
}

void stats_merge(struct stats_column *into, const struct stats_column *other, size_t n, bool exact)
{
    static const struct binrow_value unknown = {.tag = BV_NULL};
    for (size_t i = 0; i < n; i++) {
        struct stats_column *c = &into[i];
        bool no_min = c->min.tag == BV_NULL || other[i].min.tag == BV_NULL;
        bool no_max = c->max.tag == BV_NULL || other[i].max.tag == BV_NULL;
        widen(c, &other[i].min, &other[i].max);
        if (!exact && no_min)
            c->min = unknown;
        if (!exact && no_max)
            c->max = unknown;
        c->null_count = add_counts(c->null_count, other[i].null_count);
    }
}
