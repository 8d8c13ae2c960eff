/* bucket.h - which bucket a row belongs to, by the table's option bucket-function.type.
 *
 * Pure, apart from the scratch buffer, which is overwritten. */
#ifndef LATCH_MANIFEST_BUCKET_H
#define LATCH_MANIFEST_BUCKET_H

#include "manifest/binrow.h"

enum bucket_function { BUCKET_DEFAULT, BUCKET_MOD, BUCKET_HIVE };

/* `t` and `v` are the bucket key, n_buckets > 0. `form`: how its writer lays nulls out; it changes
 * the answer of BUCKET_DEFAULT for a null big DECIMAL or TIMESTAMP only. pypaimon knows
 * BUCKET_DEFAULT alone and writes by it whatever the option says.
 * E_UNSUPPORTED when the function takes no key of such types; E_NOMEM, E_TOOBIG. */
int bucket_of(struct ctx *cx, enum bucket_function f, const struct binrow_type *t,
              const struct binrow_value *v, int32_t n_buckets, enum binrow_form form,
              struct buf *scratch, int32_t *ret) WARN_UNUSED;

#endif
