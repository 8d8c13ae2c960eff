/* raw_stats.c - see raw_stats.h. Source of the format: paimon-core's SimpleStats. No state; any thread. */
#include "manifest/raw_stats.h"

static const struct avro_field fields[] = {
    {.name = "_MIN_VALUES", .type = AVRO_BYTES, .at = offsetof(struct raw_stats, min)},
    {.name = "_MAX_VALUES", .type = AVRO_BYTES, .at = offsetof(struct raw_stats, max)},
    {.name = "_NULL_COUNTS",
     .type = AVRO_LIST,
     .item = ITEM_OPT_LONG,
     .optional = true,
     .at = offsetof(struct raw_stats, null_counts)},
};
const struct avro_record raw_stats_record = {fields, sizeof fields / sizeof *fields,
                                             sizeof(struct raw_stats)};

int raw_stats_open(struct ctx *cx, const struct raw_stats *r, struct simple_stats *ret)
{
    struct avro_list l = r->null_counts;
    int64_t *counts = ARENA_ARRAY(&cx->arena, int64_t, l.n);
    struct opt_i64 v;
    if (!counts && l.n > 0)
        return ctx_nomem(cx);
    for (size_t i = 0; avro_list_opt_i64(&l, &v); i++)
        counts[i] = v.has ? v.v : STATS_NULLS_UNKNOWN;
    *ret = (struct simple_stats){r->min, r->max, counts, r->null_counts.n};
    return 0;
}

int raw_stats_of(struct ctx *cx, const struct simple_stats *s, struct raw_stats *ret)
{
    struct opt_i64 *counts = ARENA_ARRAY(&cx->arena, struct opt_i64, s->n_null_counts);
    struct raw_stats r = {.min = s->min, .max = s->max};
    if (!counts && s->n_null_counts > 0)
        return ctx_nomem(cx);
    for (size_t i = 0; i < s->n_null_counts; i++)
        if (s->null_counts[i] != STATS_NULLS_UNKNOWN)
            counts[i] = (struct opt_i64){true, s->null_counts[i]};
    TRY(avro_list_of_opts(cx, counts, s->n_null_counts, &r.null_counts));
    *ret = r;
    return 0;
}
