/* type_cast.h - may a column of one type become one of another? Pure. */
#ifndef LATCH_MANIFEST_TYPE_CAST_H
#define LATCH_MANIFEST_TYPE_CAST_H

#include "manifest/types.h"

/* Whether Paimon reads data written as `from` back as `to`. Implicit casts lose nothing that Paimon
 * counts as loss; `explicit_too` adds those that may (BIGINT to INT, STRING to DATE, ...). Without
 * it a nullable type never becomes NOT NULL. Not every type may become itself: Paimon has no rule
 * for BOOLEAN to BOOLEAN, DATE to DATE, or for nested types. */
bool types_may_cast(const struct data_type *from, const struct data_type *to, bool explicit_too);

#endif
