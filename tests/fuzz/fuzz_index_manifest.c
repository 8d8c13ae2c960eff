/* fuzz_index_manifest.c - any bytes as an index manifest, or as the records of one: refused with a
 * message, or read to what is written and read back as the same.
 *
 * 'O' begins a file; any other first byte counts the records whose bytes follow. */
#include "manifest/index_manifest.h"
#include "proto/base/assert.h"
#include "tests/fuzz/avro_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY ((size_t)256 << 20)

static void check_entry(const struct index_entry *e)
{
    ASSERT(e->version == INDEX_MANIFEST_VERSION && e->name.len > 0 && e->size >= 0);
    ASSERT(e->dv.has || e->dv.n == 0);
    for (size_t i = 0; i < e->dv.n; i++)
        ASSERT(e->dv.items[i].data_file.len > 0 && e->dv.items[i].offset >= 0 &&
               e->dv.items[i].length >= 0);
}

static void as_file(str bytes)
{
    struct ctx cx;
    struct index_entry *all, *again;
    struct buf out = {0};
    size_t n, m;
    ctx_init(&cx, MEMORY);
    int rc = index_manifest_read(&cx, bytes, STR_LIT("fuzz"), &all, &n);
    if (rc < 0) {
        ASSERT(rc == E_CORRUPT || rc == E_UNSUPPORTED || rc == E_NOMEM);
        ASSERT(cx.err.code == rc && cx.err.msg[0]);
    } else {
        for (size_t i = 0; i < n; i++)
            check_entry(&all[i]);
        ASSERT(index_manifest_write(&cx, all, n, CODEC_ZSTANDARD, 1, &out) == 0);
        ASSERT(index_manifest_read(&cx, buf_str(&out), STR_LIT("again"), &again, &m) == 0);
        ASSERT(m == n);
        for (size_t i = 0; i < n; i++)
            ASSERT(avro_equal(&index_entry_record, &all[i], &again[i]));
    }
    buf_done(&out);
    ctx_done(&cx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str bytes = str_n((const char *)data, size);
    if (size == 0 || data[0] == 'O') {
        as_file(bytes);
        return 0;
    }
    struct ctx cx;
    struct buf schema = {0};
    ctx_init(&cx, 1 << 20);
    ASSERT(avro_schema_text(&cx, &index_entry_record, false, &schema) == 0);
    struct buf b = avro_file(buf_str(&schema), data[0], str_cut(bytes, 1));
    as_file(buf_str(&b));
    buf_done(&b);
    buf_done(&schema);
    ctx_done(&cx);
    return 0;
}
