/* stats.h - SimpleStats: the least and the greatest value of each column, and how many are null.
 *
 * In manifests they are two serialized rows and an array of counts (the Avro record
 * {_MIN_VALUES, _MAX_VALUES, _NULL_COUNTS}); that is `struct simple_stats`, which borrows. Read, they are
 * values a column. A file's statistics may be there for some columns only (_VALUE_STATS_COLS), and a
 * null bound means that nothing is known (a text that could not be cut) or that all is null; those of a
 * manifest's partitions are always exact. Nothing here blocks. */
#ifndef LATCH_MANIFEST_STATS_H
#define LATCH_MANIFEST_STATS_H

#include "manifest/binrow.h"

#define STATS_NULLS_UNKNOWN (-1)

struct simple_stats {
    str min, max; /* serialized rows */
    const int64_t *null_counts;
    size_t n_null_counts; /* as many as columns, or 0 */
};

struct stats_column {
    struct binrow_value min, max;
    int64_t null_count; /* STATS_NULLS_UNKNOWN */
};

/* ret has room for t->n columns; its values point into the rows. E_CORRUPT: a row that is none, counts
 * for another number of columns or below 0 (other than unknown), a min above its max. */
int stats_read(struct ctx *cx, const struct binrow_type *t, const struct simple_stats *s,
               struct stats_column *ret) WARN_UNUSED;
/* The two rows are appended to `b` (which must stay as it is while *ret is used), counts are in the
 * arena. E_NOMEM, E_TOOBIG. */
int stats_write(struct ctx *cx, const struct binrow_type *t, const struct stats_column *c,
                struct buf *b, struct simple_stats *ret) WARN_UNUSED;

/* Statistics of no row: no bounds, no nulls. */
void stats_begin(struct stats_column *c, size_t n);
/* One more row. Bounds borrow from its values. */
void stats_add_row(struct stats_column *c, const struct binrow_value *row, size_t n);
/* into becomes the statistics of both. `exact`: a null bound stands for "no value", as in those of
 * partitions; else for "not known", and the result knows no more than both. */
void stats_merge(struct stats_column *into, const struct stats_column *other, size_t n, bool exact);

#endif
