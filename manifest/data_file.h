/* data_file.h - what a manifest says of one data file (Paimon's DataFileMeta), and which of two
 * entries mean the same file.
 *
 * Keys, partitions and the bounds of statistics are BinaryRows with their arity in front, byte for byte
 * as in the file: equal values may differ in bytes (pypaimon and Java write some nulls differently).
 * Pure; nothing blocks. Whoever fills or reads a struct says who owns what it points to. */
#ifndef LATCH_MANIFEST_DATA_FILE_H
#define LATCH_MANIFEST_DATA_FILE_H

#include "manifest/raw_stats.h"

enum file_source { FILE_FROM_APPEND = 0, FILE_FROM_COMPACT = 1 };

struct data_file {
    str name; /* not empty; not checked to be a path_component: whoever opens the file does */
    int64_t size, row_count; /* >= 0 */
    str min_key, max_key;
    struct raw_stats key_stats, value_stats; /* of the key; of value_stats_cols */
    int64_t min_seq, max_seq, schema_id;
    int32_t level;                /* >= 0 */
    struct avro_list extra_files; /* avro_list_str: names beside the file */
    struct opt_i64 creation_ms;   /* the writer's wall clock as if it were UTC */
    struct opt_i64 delete_row_count;
    str embedded_index;                /* STR_NONE: none */
    struct opt_i64 source;             /* enum file_source; absent before 0.9 */
    struct avro_list value_stats_cols; /* avro_list_str; absent: all columns of the schema */
    str external_path;                 /* where the file really is; STR_NONE: in its bucket */
    struct opt_i64 first_row_id;       /* row tracking */
    struct avro_list write_cols;       /* avro_list_str; absent: all */
    struct avro_list write_col_seqs;   /* avro_list_i64; from 2.1 */
};

extern const struct avro_record data_file_record;

/* Is what was read possible? E_CORRUPT names the member, not the manifest. */
int data_file_check(struct ctx *cx, const struct data_file *f) WARN_UNUSED;

/* Which file a manifest entry means, as Paimon has it: an ADD and a DELETE with equal ids cancel each
 * other. `with_row_id` (tables with row tracking) lets the first row id count as well. The bytes of
 * the partition decide: give the same bytes for the same values. */
bool data_file_same(str partition_a, int32_t bucket_a, const struct data_file *a, str partition_b,
                    int32_t bucket_b, const struct data_file *b, bool with_row_id);
/* Appends bytes that are equal exactly when data_file_same says so. */
void data_file_id(struct buf *out, str partition, int32_t bucket, const struct data_file *f,
                  bool with_row_id);

#endif
