/* data_file.c - the fields of a data file's metadata, and its identity.
 *
 * Source of the format: paimon-core's DataFileMeta, schemas of files by Java 1.3.1 and
 * 2.1 and pypaimon 2.1.0; FileEntry.Identifier for what makes a file the same. Every release only
 * added fields at the end that may be null: _FILE_SOURCE in 0.9, _VALUE_STATS_COLS and _EXTERNAL_PATH
 * in 1.0, _FIRST_ROW_ID and _WRITE_COLS in 1.3, _WRITE_COLS_SEQUENCES in 2.1. What is written has all
 * of them; older clients pass over what they do not know. No state; any thread. */
#include "manifest/data_file.h"

#include "proto/base/assert.h"

#define FILE_(m)    offsetof(struct data_file, m)
#define RECORD(f_s) (sizeof(f_s) / sizeof *(f_s))
#define SHOWN(s)    (s).len > 120 ? 120 : (int)(s).len, (s).p ? (s).p : ""

/* clang-format off */
static const struct avro_field file_fields[] = {
    {.name = "_FILE_NAME", .type = AVRO_STRING, .at = FILE_(name)},
    {.name = "_FILE_SIZE", .type = AVRO_LONG, .at = FILE_(size)},
    {.name = "_ROW_COUNT", .type = AVRO_LONG, .at = FILE_(row_count)},
    {.name = "_MIN_KEY", .type = AVRO_BYTES, .at = FILE_(min_key)},
    {.name = "_MAX_KEY", .type = AVRO_BYTES, .at = FILE_(max_key)},
    {.name = "_KEY_STATS", .type = AVRO_RECORD, .record = &raw_stats_record, .at = FILE_(key_stats)},
    {.name = "_VALUE_STATS", .type = AVRO_RECORD, .record = &raw_stats_record, .at = FILE_(value_stats)},
    {.name = "_MIN_SEQUENCE_NUMBER", .type = AVRO_LONG, .at = FILE_(min_seq)},
    {.name = "_MAX_SEQUENCE_NUMBER", .type = AVRO_LONG, .at = FILE_(max_seq)},
    {.name = "_SCHEMA_ID", .type = AVRO_LONG, .at = FILE_(schema_id)},
    {.name = "_LEVEL", .type = AVRO_INT, .at = FILE_(level)},
    {.name = "_EXTRA_FILES", .type = AVRO_LIST, .item = ITEM_STRING, .at = FILE_(extra_files)},
    {.name = "_CREATION_TIME", .type = AVRO_LONG, .optional = true, .millis = true, .at = FILE_(creation_ms)},
    {.name = "_DELETE_ROW_COUNT", .type = AVRO_LONG, .optional = true, .at = FILE_(delete_row_count)},
    {.name = "_EMBEDDED_FILE_INDEX", .type = AVRO_BYTES, .optional = true, .at = FILE_(embedded_index)},
    {.name = "_FILE_SOURCE", .type = AVRO_INT, .optional = true, .at = FILE_(source)},
    {.name = "_VALUE_STATS_COLS", .type = AVRO_LIST, .item = ITEM_STRING, .optional = true, .at = FILE_(value_stats_cols)},
    {.name = "_EXTERNAL_PATH", .type = AVRO_STRING, .optional = true, .at = FILE_(external_path)},
    {.name = "_FIRST_ROW_ID", .type = AVRO_LONG, .optional = true, .at = FILE_(first_row_id)},
    {.name = "_WRITE_COLS", .type = AVRO_LIST, .item = ITEM_STRING, .optional = true, .at = FILE_(write_cols)},
    {.name = "_WRITE_COLS_SEQUENCES", .type = AVRO_LIST, .item = ITEM_LONG, .optional = true, .at = FILE_(write_col_seqs)},
};
/* clang-format on */
const struct avro_record data_file_record = {file_fields, RECORD(file_fields),
                                             sizeof(struct data_file)};

int data_file_check(struct ctx *cx, const struct data_file *f)
{
    const char *what =
        f->name.len == 0   ? "no name"
        : f->size < 0      ? "a negative _FILE_SIZE"
        : f->row_count < 0 ? "a negative _ROW_COUNT"
        : f->level < 0     ? "a negative _LEVEL"
        : f->source.has && (f->source.v < FILE_FROM_APPEND || f->source.v > FILE_FROM_COMPACT)
            ? "a _FILE_SOURCE that is neither 0 nor 1"
            : NULL;
    if (!what)
        return 0;
    return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "the data file \"%.*s\" has %s",
                    SHOWN(f->name), what);
}

/* --- identity ------------------------------------------------------------------------------------------- */

static bool text_same(str a, str b)
{
    return a.p && b.p ? str_eq(a, b) : a.p == b.p;
}

bool data_file_same(str partition_a, int32_t bucket_a, const struct data_file *a, str partition_b,
                    int32_t bucket_b, const struct data_file *b, bool with_row_id)
{
    if (!str_eq(a->name, b->name) || bucket_a != bucket_b || a->level != b->level ||
        !str_eq(partition_a, partition_b))
        return false;
    if (with_row_id && (a->first_row_id.has != b->first_row_id.has ||
                        (a->first_row_id.has && a->first_row_id.v != b->first_row_id.v)))
        return false;
    return a->extra_files.n == b->extra_files.n &&
           str_eq(a->extra_files.items, b->extra_files.items) &&
           text_same(a->embedded_index, b->embedded_index) &&
           text_same(a->external_path, b->external_path);
}

static void add_number(struct buf *out, int64_t v)
{
    buf_add(out, &v, sizeof v);
}

static void add_text(struct buf *out, str s)
{
    add_number(out, s.p ? (int64_t)s.len : -1);
    buf_adds(out, s);
}

void data_file_id(struct buf *out, str partition, int32_t bucket, const struct data_file *f,
                  bool with_row_id)
{
    add_text(out, f->name);
    add_number(out, (int64_t)((uint64_t)(uint32_t)bucket << 32 | (uint32_t)f->level));
    add_number(out, (int64_t)partition.len); /* absent and empty are one */
    buf_adds(out, partition);
    add_number(out, f->extra_files.n);
    add_number(out, (int64_t)f->extra_files.items.len);
    buf_adds(out, f->extra_files.items);
    add_text(out, f->embedded_index);
    add_text(out, f->external_path);
    if (with_row_id) {
        add_number(out, f->first_row_id.has);
        add_number(out, f->first_row_id.has ? f->first_row_id.v : 0);
    }
}
