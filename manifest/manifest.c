/* manifest.c - manifests <-> structs.
 *
 * Source of the format: paimon-core's ManifestEntry, its serializer and ManifestAvroWriter (for what a
 * list says of a manifest), and files of three clients. Java 2.1 wants exactly these six columns, in
 * this order, without unions; older ones and pypaimon go by name. _VERSION is always 2. No state; any
 * thread. */
#include "manifest/manifest.h"

#include "proto/base/assert.h"

#define AT(m)    offsetof(struct manifest_entry, m)
#define SHOWN(s) (s).len > 120 ? 120 : (int)(s).len, (s).p ? (s).p : ""

/* clang-format off */
static const struct avro_field fields[] = {
    {.name = "_VERSION", .type = AVRO_INT, .at = AT(version)},
    {.name = "_KIND", .type = AVRO_INT, .at = AT(kind)},
    {.name = "_PARTITION", .type = AVRO_BYTES, .at = AT(partition)},
    {.name = "_BUCKET", .type = AVRO_INT, .at = AT(bucket)},
    {.name = "_TOTAL_BUCKETS", .type = AVRO_INT, .at = AT(total_buckets)},
    {.name = "_FILE", .type = AVRO_RECORD, .record = &data_file_record, .at = AT(file)},
};
/* clang-format on */
const struct avro_record manifest_entry_record = {fields, sizeof fields / sizeof *fields,
                                                  sizeof(struct manifest_entry)};

/* --- reading --------------------------------------------------------------------------------------------- */

static int check(struct ctx *cx, const void *record, str name)
{
    const struct manifest_entry *e = record;
    if (e->version != MANIFEST_VERSION)
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "%.*s is a manifest of version %d; known is %d", SHOWN(name), e->version,
                        MANIFEST_VERSION);
    int rc = 0;
    if (e->kind != FILE_ADD && e->kind != FILE_DELETE)
        rc = ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                      "the entry of \"%.*s\" has a _KIND that is neither 0 nor 1",
                      SHOWN(e->file.name));
    else
        rc = data_file_check(cx, &e->file);
    return rc < 0 ? ctx_prefix(cx, "%.*s", SHOWN(name)) : 0;
}

int manifest_open(struct ctx *cx, struct manifest_reader *r, str bytes, str name)
{
    r->entry = (struct manifest_entry){0};
    return avro_read_open(cx, &r->avro, bytes, name, &manifest_entry_record, false);
}

int manifest_next(struct ctx *cx, struct manifest_reader *r, const struct manifest_entry **ret)
{
    int rc = avro_read_next(cx, &r->avro, &r->entry);
    if (rc <= 0)
        return rc;
    TRY(check(cx, &r->entry, r->avro.name));
    *ret = &r->entry;
    return 1;
}

void manifest_done(struct manifest_reader *r)
{
    avro_read_done(&r->avro);
}

int manifest_read(struct ctx *cx, str bytes, str name, struct manifest_entry **ret, size_t *ret_n)
{
    void *all;
    TRY(avro_read_checked(cx, bytes, name, &manifest_entry_record, check, &all, ret_n));
    *ret = all;
    return 0;
}

/* --- writing --------------------------------------------------------------------------------------------- */

int manifest_write_open(struct ctx *cx, struct manifest_writer *w, enum codec_kind codec, int level)
{
    w->meta = (struct manifest_file){.version = MANIFEST_LIST_VERSION, .schema_id = INT64_MIN};
    w->no_row_ids = false;
    return avro_write_open(cx, &w->avro, &manifest_entry_record, false, codec, level);
}

static void widen(struct opt_i64 *min, struct opt_i64 *max, int64_t low, int64_t high)
{
    if (!min->has || low < min->v)
        *min = (struct opt_i64){true, low};
    if (!max->has || high > max->v)
        *max = (struct opt_i64){true, high};
}

static void collect(struct manifest_writer *w, const struct manifest_entry *e)
{
    struct manifest_file *m = &w->meta;
    m->added += e->kind == FILE_ADD;
    m->deleted += e->kind == FILE_DELETE;
    if (e->file.schema_id > m->schema_id)
        m->schema_id = e->file.schema_id;
    widen(&m->min_bucket, &m->max_bucket, e->bucket, e->bucket);
    widen(&m->min_level, &m->max_level, e->file.level, e->file.level);
    int64_t first = e->file.first_row_id.v, last;
    if (!e->file.first_row_id.has || __builtin_add_overflow(first, e->file.row_count - 1, &last))
        w->no_row_ids = true;
    else
        widen(&m->min_row_id, &m->max_row_id, first, last);
}

int manifest_write_add(struct ctx *cx, struct manifest_writer *w, const struct manifest_entry *e)
{
    ASSERT(e->kind == FILE_ADD || e->kind == FILE_DELETE);
    struct manifest_entry as_written = *e;
    as_written.version = MANIFEST_VERSION;
    TRY(avro_write_add(cx, &w->avro, &as_written));
    collect(w, e);
    return 0;
}

size_t manifest_size(const struct manifest_writer *w)
{
    return w->avro.out.len;
}

int manifest_write_end(struct ctx *cx, struct manifest_writer *w, str *ret_bytes,
                       struct manifest_file *ret_meta)
{
    TRY(avro_write_flush(cx, &w->avro));
    struct manifest_file m = w->meta;
    if (w->no_row_ids)
        m.min_row_id = m.max_row_id = (struct opt_i64){0};
    if (w->avro.records == 0)
        m.schema_id = 0;
    m.size = (int64_t)w->avro.out.len;
    *ret_bytes = buf_str(&w->avro.out);
    *ret_meta = m;
    return 0;
}

void manifest_write_done(struct manifest_writer *w)
{
    avro_write_done(&w->avro);
}
