/* table_file.h - one data file as the state of a branch and the facts of a commit show it, and the
 * partitions they are in.
 *
 * Two writers may encode one partition in two ways (see binrow.h), so partitions are turned into the
 * one row that Java writes before anything is compared or hashed. Pure; nothing blocks. */
#ifndef LATCH_CATALOG_TABLE_FILE_H
#define LATCH_CATALOG_TABLE_FILE_H

#include "manifest/binrow.h"
#include "manifest/manifest.h"

struct table_file { /* borrowed */
    str partition;  /* as Java would write it */
    int32_t bucket, total_buckets, level;
    str name;
    int64_t size, rows, min_seq, max_seq, schema_id;
    str min_key, max_key;
    struct opt_i64 created_ms, delete_rows, first_row_id, source;
    str external_path;            /* STR_NONE: in its bucket */
    struct avro_list extra_files; /* avro_list_str */
    uint64_t id;      /* hash of all that makes it the same file: files of equal ids are one */
    int64_t snapshot; /* that added it; 0: not known */
    str user;         /* who committed that; STR_NONE: not known */
};

/* The columns that a table is partitioned by: a copy that owns what it needs. */
struct partitioner {
    struct binrow_type type;
    struct binrow_value *values; /* scratch */
    struct buf raw, row;         /* the last one that was turned */
    bool has;
};
/* `t` may be NULL: no partitions. partitioner_done in any case. E_NOMEM. */
int partitioner_init(struct ctx *cx, struct partitioner *p,
                     const struct binrow_type *t) WARN_UNUSED;
void partitioner_done(struct partitioner *p);
/* *ret is good until the next call. E_CORRUPT: no row of these columns. E_NOMEM. */
int partition_row(struct ctx *cx, struct partitioner *p, str raw, str *ret) WARN_UNUSED;

struct table_filer { /* makes table_files of manifest entries, one after the other */
    struct partitioner partitions;
    struct buf id;
    bool with_row_id; /* the table has row tracking */
};
int table_filer_init(struct ctx *cx, struct table_filer *f, const struct binrow_type *t,
                     bool with_row_id) WARN_UNUSED;
void table_filer_done(struct table_filer *f);
/* *ret borrows from the entry and, until the next call, from `f`. E_CORRUPT, E_NOMEM. */
int table_file_of(struct ctx *cx, struct table_filer *f, const struct manifest_entry *e,
                  struct table_file *ret) WARN_UNUSED;

#endif
