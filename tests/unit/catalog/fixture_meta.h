/* fixture_meta.h - what the commits of the fixture name: true lists, manifests, index manifests, and
 * the data files themselves, written by manifest/'s own writers.
 *
 * A draft knows the draft that it follows, so its base list is what that one's base and delta lists hold.
 * By default a commit adds one file, of the rows and bytes that the draft says; `entries` says
 * otherwise. All is made anew from the draft whenever it is asked for, so a draft may be changed until
 * the next one follows it. Included by fixture.h. */
#ifndef LATCH_TESTS_UNIT_CATALOG_FIXTURE_META_H
#define LATCH_TESTS_UNIT_CATALOG_FIXTURE_META_H

#include "manifest/binrow.h"
#include "manifest/index_manifest.h"
#include "manifest/manifest.h"
#include "manifest/partition_path.h"

#define FX_EMPTY_ROW str_n("\0\0\0\0\0\0\0\0\0\0\0\0", 12)
#define FX_SIZE_MAX  65536 /* of a data file that is written */

struct fx_entry { /* of a manifest */
    bool del;
    str partition, folder; /* BinaryRow, "dt=a/"; not set: not partitioned */
    int32_t bucket, level, buckets;
    int64_t rows, size, ms, schema_id;
    str name, external; /* external not set: none */
    str extra;          /* one extra file beside it; not set: none */
    bool no_file;       /* the data file is not written */
};

/* --- rows ------------------------------------------------------------------------------------- */

static str row_of(struct ctx *cx, const struct binrow_type *t, const struct binrow_value *v)
{
    struct buf b = {0};
    binrow_write(&b, t, v);
    str s = str_dup(&cx->arena, buf_str(&b));
    assert_int_equal(buf_fail(&b), 0);
    buf_done(&b);
    return s;
}

static str int_row(struct ctx *cx, int64_t v)
{
    static const struct data_type t = {.kind = TYPE_INT, .nullable = true};
    static const struct data_type *const types[] = {&t};
    struct binrow_value value = {.tag = BV_INT, .i = v};
    return row_of(cx, &(struct binrow_type){types, 1}, &value);
}

/* A partition of n columns, all STRING. */
__attribute__((unused)) static void fx_partition(struct ctx *cx, const str *names,
                                                 const str *values, size_t n, struct fx_entry *ret)
{
    static const struct data_type t = {
        .kind = TYPE_VARCHAR, .nullable = true, .length = TYPE_LENGTH_MAX};
    static const struct data_type *const types[] = {&t, &t, &t};
    struct binrow_value v[3];
    struct binrow_type row = {types, n};
    struct partition_naming naming = {STR_LIT("__DEFAULT_PARTITION__"), true};
    struct buf b = {0};
    assert_true(n <= 3);
    for (size_t i = 0; i < n; i++)
        v[i] = (struct binrow_value){.tag = BV_BYTES, .bytes = values[i]};
    assert_int_equal(partition_path_write(cx, &row, names, v, &naming, &b), 0);
    ret->partition = row_of(cx, &row, v);
    ret->folder = str_dup(&cx->arena, buf_str(&b));
    buf_done(&b);
}

/* --- bytes ------------------------------------------------------------------------------------ */

static struct manifest_entry entry_of(struct ctx *cx, const struct fx_entry *e)
{
    bool external = e->external.p != NULL;
    struct avro_list extra = {.has = true, .items = {"", 0}};
    if (e->extra.p)
        assert_int_equal(avro_list_of_strs(cx, &e->extra, 1, &extra), 0);
    return (struct manifest_entry){.kind = e->del ? FILE_DELETE : FILE_ADD,
                                   .partition = e->partition.p ? e->partition : FX_EMPTY_ROW,
                                   .bucket = e->bucket,
                                   .total_buckets = e->buckets ? e->buckets : 1,
                                   .file = {.name = e->name,
                                            .size = e->size,
                                            .row_count = e->rows,
                                            .min_key = int_row(cx, 1),
                                            .max_key = int_row(cx, 9),
                                            .min_seq = 1,
                                            .max_seq = 10,
                                            .schema_id = e->schema_id,
                                            .level = e->level,
                                            .key_stats = {FX_EMPTY_ROW, FX_EMPTY_ROW, {0}},
                                            .value_stats = {FX_EMPTY_ROW, FX_EMPTY_ROW, {0}},
                                            .extra_files = extra,
                                            .delete_row_count = {true, 0},
                                            .source = {true, FILE_FROM_APPEND},
                                            .creation_ms = {true, e->ms},
                                            .embedded_index = STR_NONE,
                                            .external_path = external ? e->external : STR_NONE}};
}

/* A manifest of these entries, and what its list says of it. */
static str manifest_of(struct ctx *cx, const struct fx_entry *e, size_t n, str name,
                       struct manifest_file *ret)
{
    struct manifest_writer w;
    str bytes = STR_NONE;
    int rc = manifest_write_open(cx, &w, CODEC_NULL, 1);
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct manifest_entry m = entry_of(cx, &e[i]);
        rc = manifest_write_add(cx, &w, &m);
    }
    if (rc == 0)
        rc = manifest_write_end(cx, &w, &bytes, ret);
    assert_int_equal(rc, 0);
    ret->name = name;
    ret->size = (int64_t)bytes.len;
    ret->partition_stats = (struct raw_stats){FX_EMPTY_ROW, FX_EMPTY_ROW, {0}};
    bytes = str_dup(&cx->arena, bytes);
    manifest_write_done(&w);
    return bytes;
}

static str list_of(struct ctx *cx, const struct manifest_file *m, size_t n)
{
    struct buf b = {0};
    assert_int_equal(manifest_list_write(cx, m, n, CODEC_NULL, 1, &b), 0);
    str s = str_dup(&cx->arena, buf_str(&b));
    buf_done(&b);
    return s;
}

static str index_of(struct ctx *cx, const struct index_entry *e, size_t n)
{
    struct buf b = {0};
    assert_int_equal(index_manifest_write(cx, e, n, CODEC_NULL, 1, &b), 0);
    str s = str_dup(&cx->arena, buf_str(&b));
    buf_done(&b);
    return s;
}

#endif
