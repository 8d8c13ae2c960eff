/* fuzz_manifest.c - any bytes as a manifest or a manifest list, or as the records of one: refused with
 * a message, or read to what is written and read back as the same.
 *
 * The first byte says which: 'O' begins a file, tried as both; 'm' and 'l' are followed by a byte that
 * counts the records and their bytes. */
#include "manifest/manifest.h"
#include "proto/base/assert.h"
#include "tests/fuzz/avro_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY ((size_t)256 << 20)

static void refused(const struct ctx *cx, int rc)
{
    ASSERT(rc == E_CORRUPT || rc == E_UNSUPPORTED || rc == E_NOMEM);
    ASSERT(cx->err.code == rc && cx->err.msg[0]);
}

static void check_entry(const struct manifest_entry *e)
{
    struct buf id = {0}, other = {0};
    struct manifest_entry moved = *e;
    ASSERT(e->version == MANIFEST_VERSION && (e->kind == FILE_ADD || e->kind == FILE_DELETE));
    ASSERT(e->file.name.len > 0 && e->file.size >= 0 && e->file.row_count >= 0);
    ASSERT(manifest_entry_same(e, e, true));
    moved.file.level ^= 1;
    ASSERT(!manifest_entry_same(e, &moved, false));
    data_file_id(&id, e->partition, e->bucket, &e->file, false);
    data_file_id(&other, moved.partition, moved.bucket, &moved.file, false);
    ASSERT(buf_fail(&id) == 0 && !str_eq(buf_str(&id), buf_str(&other)));
    buf_done(&id);
    buf_done(&other);
}

static void as_manifest(str bytes)
{
    struct ctx cx;
    struct manifest_entry *all, *again;
    struct manifest_writer w;
    struct manifest_file meta;
    size_t n, m;
    str file;
    ctx_init(&cx, MEMORY);
    int rc = manifest_read(&cx, bytes, STR_LIT("fuzz"), &all, &n);
    if (rc < 0) {
        refused(&cx, rc);
        ctx_done(&cx);
        return;
    }
    ASSERT(manifest_write_open(&cx, &w, CODEC_ZSTANDARD, 1) == 0);
    for (size_t i = 0; i < n; i++) {
        check_entry(&all[i]);
        ASSERT(manifest_write_add(&cx, &w, &all[i]) == 0);
    }
    ASSERT(manifest_write_end(&cx, &w, &file, &meta) == 0);
    ASSERT(meta.added + meta.deleted == (int64_t)n && meta.size == (int64_t)file.len);
    ASSERT(manifest_read(&cx, file, STR_LIT("again"), &again, &m) == 0 && m == n);
    for (size_t i = 0; i < n; i++)
        ASSERT(avro_equal(&manifest_entry_record, &all[i], &again[i]));
    manifest_write_done(&w);
    ctx_done(&cx);
}

static void as_list(str bytes)
{
    struct ctx cx;
    struct manifest_file *all, *again;
    struct buf out = {0};
    size_t n, m;
    ctx_init(&cx, MEMORY);
    int rc = manifest_list_read(&cx, bytes, STR_LIT("fuzz"), &all, &n);
    if (rc < 0) {
        refused(&cx, rc);
    } else {
        ASSERT(manifest_list_write(&cx, all, n, CODEC_DEFLATE, 1, &out) == 0);
        ASSERT(manifest_list_read(&cx, buf_str(&out), STR_LIT("again"), &again, &m) == 0 && m == n);
        for (size_t i = 0; i < n; i++)
            ASSERT(avro_equal(&manifest_file_record, &all[i], &again[i]));
    }
    buf_done(&out);
    ctx_done(&cx);
}

static void as_records(const struct avro_record *rec, str bytes, void (*then)(str))
{
    struct ctx cx;
    struct buf schema = {0};
    ctx_init(&cx, 1 << 20);
    ASSERT(avro_schema_text(&cx, rec, true, &schema) == 0);
    struct buf b = avro_file(buf_str(&schema), (unsigned char)bytes.p[0], str_cut(bytes, 1));
    then(buf_str(&b));
    buf_done(&b);
    buf_done(&schema);
    ctx_done(&cx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str bytes = str_n((const char *)data, size);
    if (size > 1 && data[0] == 'm') {
        as_records(&manifest_entry_record, str_cut(bytes, 1), as_manifest);
    } else if (size > 1 && data[0] == 'l') {
        as_records(&manifest_file_record, str_cut(bytes, 1), as_list);
    } else {
        as_manifest(bytes);
        as_list(bytes);
    }
    return 0;
}
