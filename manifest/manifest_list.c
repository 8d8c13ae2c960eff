/* manifest_list.c - manifest lists <-> structs.
 *
 * Source of the format: paimon-core's ManifestFileMeta and its serializer, and files of three clients.
 * _VERSION is a column like others and always 2. pypaimon 2.1.0 has two columns more, which Java passes
 * over; they are written only when an entry has a value in one. No state; any thread. */
#include "manifest/manifest_list.h"

#define AT(m)    offsetof(struct manifest_file, m)
#define SHOWN(s) (s).len > 120 ? 120 : (int)(s).len, (s).p ? (s).p : ""

/* clang-format off */
static const struct avro_field fields[] = {
    {.name = "_VERSION", .type = AVRO_INT, .at = AT(version)},
    {.name = "_FILE_NAME", .type = AVRO_STRING, .at = AT(name)},
    {.name = "_FILE_SIZE", .type = AVRO_LONG, .at = AT(size)},
    {.name = "_NUM_ADDED_FILES", .type = AVRO_LONG, .at = AT(added)},
    {.name = "_NUM_DELETED_FILES", .type = AVRO_LONG, .at = AT(deleted)},
    {.name = "_PARTITION_STATS", .type = AVRO_RECORD, .record = &raw_stats_record, .at = AT(partition_stats)},
    {.name = "_SCHEMA_ID", .type = AVRO_LONG, .at = AT(schema_id)},
    {.name = "_MIN_BUCKET", .type = AVRO_INT, .optional = true, .at = AT(min_bucket)},
    {.name = "_MAX_BUCKET", .type = AVRO_INT, .optional = true, .at = AT(max_bucket)},
    {.name = "_MIN_LEVEL", .type = AVRO_INT, .optional = true, .at = AT(min_level)},
    {.name = "_MAX_LEVEL", .type = AVRO_INT, .optional = true, .at = AT(max_level)},
    {.name = "_MIN_ROW_ID", .type = AVRO_LONG, .optional = true, .at = AT(min_row_id)},
    {.name = "_MAX_ROW_ID", .type = AVRO_LONG, .optional = true, .at = AT(max_row_id)},
    {.name = "_TOTAL_BUCKETS", .type = AVRO_INT, .optional = true, .extra = true, .at = AT(total_buckets)},
    {.name = "_EXTRA_FILES", .type = AVRO_LIST, .item = ITEM_STRING, .optional = true, .extra = true, .at = AT(extra_files)},
};
/* clang-format on */
const struct avro_record manifest_file_record = {fields, sizeof fields / sizeof *fields,
                                                 sizeof(struct manifest_file)};

static int check(struct ctx *cx, const void *record, str list)
{
    const struct manifest_file *m = record;
    if (m->version != MANIFEST_LIST_VERSION)
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "%.*s is a manifest list of version %d; known is %d", SHOWN(list),
                        m->version, MANIFEST_LIST_VERSION);
    if (m->name.len > 0 && m->size >= 0 && m->added >= 0 && m->deleted >= 0)
        return 0;
    return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                    "%.*s: the manifest \"%.*s\" has no name or a negative size or count",
                    SHOWN(list), SHOWN(m->name));
}

int manifest_list_read(struct ctx *cx, str bytes, str name, struct manifest_file **ret,
                       size_t *ret_n)
{
    void *all;
    TRY(avro_read_checked(cx, bytes, name, &manifest_file_record, check, &all, ret_n));
    *ret = all;
    return 0;
}

static int write_all(struct ctx *cx, struct avro_writer *w, const struct manifest_file *files,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct manifest_file m = files[i];
        m.version = MANIFEST_LIST_VERSION;
        TRY(avro_write_add(cx, w, &m));
    }
    return avro_write_flush(cx, w);
}

int manifest_list_write(struct ctx *cx, const struct manifest_file *files, size_t n,
                        enum codec_kind codec, int level, struct buf *out)
{
    CLEANUP(avro_write_done) struct avro_writer w;
    bool extras = false;
    for (size_t i = 0; i < n; i++)
        extras = extras || files[i].total_buckets.has || files[i].extra_files.has;
    TRY(avro_write_open(cx, &w, &manifest_file_record, extras, codec, level));
    TRY(write_all(cx, &w, files, n));
    buf_adds(out, buf_str(&w.out));
    return buf_fail(out) ? ctx_nomem(cx) : 0;
}
