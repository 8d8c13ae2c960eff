/* index_manifest.c - index manifests <-> structs.
 *
 * Source of the format: paimon-core's IndexManifestEntry, DeletionVectorMeta and GlobalIndexMeta with
 * their serializers, and files of three clients. _VERSION is always 1. Java writes the items of
 * _DELETIONS_VECTORS_RANGES as ["null", record], pypaimon as plain records; both read both. No state;
 * any thread. */
#include "manifest/index_manifest.h"

#include "manifest/manifest.h"

#define RANGE(m)  offsetof(struct index_dv, m)
#define GLOBAL(m) offsetof(struct global_index, m)
#define AT(m)     offsetof(struct index_entry, m)
#define N(a)      (sizeof(a) / sizeof *(a))
#define SHOWN(s)  (s).len > 120 ? 120 : (int)(s).len, (s).p ? (s).p : ""

_Static_assert(sizeof(struct index_dvs) == sizeof(struct avro_array) &&
                   offsetof(struct index_dvs, n) == offsetof(struct avro_array, n) &&
                   offsetof(struct index_dvs, items) == offsetof(struct avro_array, items),
               "index_dvs is an avro_array");

/* clang-format off */
static const struct avro_field range_fields[] = {
    {.name = "f0", .type = AVRO_STRING, .at = RANGE(data_file)},
    {.name = "f1", .type = AVRO_INT, .at = RANGE(offset)},
    {.name = "f2", .type = AVRO_INT, .at = RANGE(length)},
    {.name = "_CARDINALITY", .type = AVRO_LONG, .optional = true, .at = RANGE(cardinality)},
};
static const struct avro_record range_record = {range_fields, N(range_fields), sizeof(struct index_dv)};

static const struct avro_field global_fields[] = {
    {.name = "_ROW_RANGE_START", .type = AVRO_LONG, .at = GLOBAL(first_row)},
    {.name = "_ROW_RANGE_END", .type = AVRO_LONG, .at = GLOBAL(last_row)},
    {.name = "_INDEX_FIELD_ID", .type = AVRO_INT, .at = GLOBAL(field_id)},
    {.name = "_EXTRA_FIELD_IDS", .type = AVRO_LIST, .item = ITEM_INT, .optional = true, .at = GLOBAL(extra_field_ids)},
    {.name = "_INDEX_META", .type = AVRO_BYTES, .optional = true, .at = GLOBAL(meta)},
    {.name = "_SOURCE_META", .type = AVRO_BYTES, .optional = true, .at = GLOBAL(source_meta)},
};
static const struct avro_record global_record = {global_fields, N(global_fields), sizeof(struct global_index)};

static const struct avro_field fields[] = {
    {.name = "_VERSION", .type = AVRO_INT, .at = AT(version)},
    {.name = "_KIND", .type = AVRO_INT, .at = AT(kind)},
    {.name = "_PARTITION", .type = AVRO_BYTES, .at = AT(partition)},
    {.name = "_BUCKET", .type = AVRO_INT, .at = AT(bucket)},
    {.name = "_INDEX_TYPE", .type = AVRO_STRING, .at = AT(type)},
    {.name = "_FILE_NAME", .type = AVRO_STRING, .at = AT(name)},
    {.name = "_FILE_SIZE", .type = AVRO_LONG, .at = AT(size)},
    {.name = "_ROW_COUNT", .type = AVRO_LONG, .at = AT(row_count)},
    {.name = "_DELETIONS_VECTORS_RANGES", .type = AVRO_RECORDS, .record = &range_record, .optional = true,
     .item_optional = true, .at = AT(dv)},
    {.name = "_EXTERNAL_PATH", .type = AVRO_STRING, .optional = true, .at = AT(external_path)},
    {.name = "_GLOBAL_INDEX", .type = AVRO_RECORD, .record = &global_record, .optional = true, .at = AT(global)},
};
/* clang-format on */
const struct avro_record index_entry_record = {fields, N(fields), sizeof(struct index_entry)};

static const char *wrong_range(const struct index_dvs *dv)
{
    for (size_t i = 0; i < dv->n; i++) {
        const struct index_dv *r = &dv->items[i];
        if (r->data_file.len == 0)
            return "a deletion vector without a data file";
        if (r->offset < 0 || r->length < 0 || (r->cardinality.has && r->cardinality.v < 0))
            return "a deletion vector with a negative offset, length or cardinality";
    }
    return NULL;
}

static int check(struct ctx *cx, const void *record, str manifest)
{
    const struct index_entry *e = record;
    if (e->version != INDEX_MANIFEST_VERSION)
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "%.*s is an index manifest of version %d; known is %d", SHOWN(manifest),
                        e->version, INDEX_MANIFEST_VERSION);
    const char *what = e->kind != FILE_ADD && e->kind != FILE_DELETE
                           ? "a _KIND that is neither 0 nor 1"
                       : e->name.len == 0                ? "no name"
                       : e->size < 0 || e->row_count < 0 ? "a negative size or row count"
                                                         : wrong_range(&e->dv);
    if (!what)
        return 0;
    return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%.*s: the index file \"%.*s\" has %s",
                    SHOWN(manifest), SHOWN(e->name), what);
}

int index_manifest_read(struct ctx *cx, str bytes, str name, struct index_entry **ret,
                        size_t *ret_n)
{
    void *all;
    TRY(avro_read_checked(cx, bytes, name, &index_entry_record, check, &all, ret_n));
    *ret = all;
    return 0;
}

static int write_all(struct ctx *cx, struct avro_writer *w, const struct index_entry *entries,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct index_entry e = entries[i];
        e.version = INDEX_MANIFEST_VERSION;
        TRY(avro_write_add(cx, w, &e));
    }
    return avro_write_flush(cx, w);
}

int index_manifest_write(struct ctx *cx, const struct index_entry *entries, size_t n,
                         enum codec_kind codec, int level, struct buf *out)
{
    CLEANUP(avro_write_done) struct avro_writer w;
    TRY(avro_write_open(cx, &w, &index_entry_record, false, codec, level));
    TRY(write_all(cx, &w, entries, n));
    buf_adds(out, buf_str(&w.out));
    return buf_fail(out) ? ctx_nomem(cx) : 0;
}
