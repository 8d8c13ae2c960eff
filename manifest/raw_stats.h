/* raw_stats.h - SimpleStats as they are in manifests and lists: two serialized rows and counts of nulls.
 *
 * A manifest holds a hundred thousand of them and few are looked at, so the counts stay as they came;
 * stats.h reads values out of them. Pure; nothing blocks. */
#ifndef LATCH_MANIFEST_RAW_STATS_H
#define LATCH_MANIFEST_RAW_STATS_H

#include "manifest/avro/avro.h"
#include "manifest/stats.h"

struct raw_stats {
    str min, max;                 /* BinaryRows with their arity in front */
    struct avro_list null_counts; /* avro_list_opt_i64; may be absent */
};

extern const struct avro_record raw_stats_record;

/* As stats.h takes them: counts in the context's arena, those that are null STATS_NULLS_UNKNOWN. The rows
 * are borrowed. E_NOMEM. */
int raw_stats_open(struct ctx *cx, const struct raw_stats *r, struct simple_stats *ret) WARN_UNUSED;
/* And back; counts that are STATS_NULLS_UNKNOWN become null. Without counts the list is empty, as in
 * files without statistics. E_NOMEM. */
int raw_stats_of(struct ctx *cx, const struct simple_stats *s, struct raw_stats *ret) WARN_UNUSED;

#endif
