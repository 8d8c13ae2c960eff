/* partition_sum.h - how the totals of one partition change. Pure; every store uses it, so that all
 * count alike. A total below 0 is unknown; a sum that does not fit stays at the end it reached. */
#ifndef LATCH_CATALOG_STORE_PARTITION_SUM_H
#define LATCH_CATALOG_STORE_PARTITION_SUM_H

#include "catalog/store/store.h"

/* All unknown; key and spec_json stay. */
void partition_unknown(struct partition_delta *sum);
/* What a commit did: sums, whose total is replaced if it was unknown; the later file; its buckets. */
void partition_commit(struct partition_delta *sum, const struct partition_delta *d);
bool partition_same(const struct partition_delta *a, const struct partition_delta *b);
/* Did anybody ever measure it? */
bool partition_measured(const struct partition_delta *sum);
/* After a commit that named it: is nothing left of it? */
bool partition_empty(const struct partition_delta *sum);
/* What somebody measured: each member that is known is added, or set. Buckets stay. */
void partition_report(struct partition_delta *sum, const struct partition_delta *d, bool replace);

#endif
