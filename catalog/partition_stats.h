/* partition_stats.h - the partitions of many manifest entries in two rows: the least and the greatest
 * value of each column, and how many are null.
 *
 * Takes no memory but for the bounds, however many entries there are. Pure; nothing blocks. */
#ifndef LATCH_CATALOG_PARTITION_STATS_H
#define LATCH_CATALOG_PARTITION_STATS_H

#include "manifest/raw_stats.h"

struct partition_stats {
    struct binrow_type type;    /* borrowed types */
    struct binrow_value *row;   /* the last partition, in `last` */
    struct binrow_value *spare; /* room for one row */
    struct stats_column *columns;
    struct buf last;      /* bytes of the last partition */
    struct buf bounds[2]; /* the rows that the bounds point into, and the next ones */
    int at;               /* which of them */
    bool has;             /* there was one */
    bool borrows;         /* some bound points into `last` */
};

/* `t` may be NULL: no partitions. It must live as long as *ret. partition_stats_done in any case.
 * E_NOMEM. */
int partition_stats_init(struct ctx *cx, struct partition_stats *ret,
                         const struct binrow_type *t) WARN_UNUSED;
void partition_stats_done(struct partition_stats *s);
void partition_stats_clear(struct partition_stats *s); /* of no entry again */
/* E_CORRUPT: no row of these columns. E_NOMEM. */
int partition_stats_add(struct ctx *cx, struct partition_stats *s, str partition) WARN_UNUSED;
/* As a manifest list has them, in the context's arena. E_NOMEM. */
int partition_stats_raw(struct ctx *cx, const struct partition_stats *s,
                        struct raw_stats *ret) WARN_UNUSED;
/* May an entry be in one of these partitions, if `raw` is the statistics of its manifest? True also
 * when they cannot be read. */
bool partition_stats_meet(const struct partition_stats *s, const struct raw_stats *raw);

#endif
