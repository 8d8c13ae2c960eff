/* native_value.h - values of columns, from the JSON of a native commit.
 *
 * A value may be given as a text wherever its type has one (as in a partition spec); numbers for numeric
 * columns, true and false for BOOLEAN, base64 for BINARY and VARBINARY. Pure; results are in the context's
 * arena or borrowed from the JSON. E_INVAL names the member that `path` begins. */
#ifndef LATCH_CATALOG_NATIVE_VALUE_H
#define LATCH_CATALOG_NATIVE_VALUE_H

#include "manifest/binrow.h"
#include "manifest/partition_path.h"
#include "proto/json/json.h"

/* null is BV_NULL. */
int native_value(struct ctx *cx, const struct data_type *t, const struct json *v,
                 struct binrow_value *ret) WARN_UNUSED;
/* An object with exactly these columns, all of them not null, into ret_values. */
int native_key(struct ctx *cx, const struct binrow_type *t, const str *names,
               const struct json *obj, const char *path,
               struct binrow_value *ret_values) WARN_UNUSED;
/* The row of a partition: texts, or null. NULL obj: only for a table without partitions. */
int native_partition(struct ctx *cx, const struct binrow_type *t, const str *names,
                     const struct partition_naming *naming, const struct json *obj,
                     const char *path, str *ret_row) WARN_UNUSED;
/* A row in the context's arena. */
int native_row(struct ctx *cx, const struct binrow_type *t, const struct binrow_value *v,
               str *ret) WARN_UNUSED;

#endif
