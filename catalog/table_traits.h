/* table_traits.h - what commits, states and checks must know of a table's schema: how it is partitioned,
 * where its files are, what is allowed.
 *
 * Made once from the schema that the store has, then immutable and shared by reference (any thread). What
 * is here cannot be altered in Paimon once the table has files, but for options of its paths. */
#ifndef LATCH_CATALOG_TABLE_TRAITS_H
#define LATCH_CATALOG_TABLE_TRAITS_H

#include <stdatomic.h>

#include "catalog/conflict.h"
#include "catalog/file_evidence.h"
#include "manifest/schema.h"

struct table_traits {
    atomic_int refs;
    struct ctx own; /* the memory of what follows */
    struct schema schema;
    int64_t schema_id;
    struct binrow_type partition; /* n = 0: not partitioned */
    const str *partition_names;
    struct partition_naming naming;
    bool row_ids; /* row tracking: the first row id is part of a file's identity */
    bool index_in_data_dir;
    bool partition_totals; /* option metastore.partitioned-table: the catalog keeps them */
    str path_directory;    /* option data-file.path-directory; STR_NONE: not set */
};

/* From a recorded schema, a Schema object of Paimon. *ret has one reference. E_INVAL, E_UNSUPPORTED,
 * E_NOMEM. */
int traits_new(struct ctx *cx, str schema_json, int64_t schema_id,
               struct table_traits **ret) WARN_UNUSED;
struct table_traits *traits_ref(struct table_traits *t);
void traits_unref(struct table_traits *t); /* NULL is fine */

/* The columns of a partition, as state_opts and facts_opts take them. */
static inline const struct binrow_type *traits_partition(const struct table_traits *t)
{
    return t->partition.n ? &t->partition : NULL;
}
struct file_layout traits_layout(const struct table_traits *t, str dir);

#endif
