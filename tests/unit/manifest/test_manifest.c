/* test_manifest.c - manifests and manifest lists: golden files of three clients and older releases,
 * values, identity, what a list says of a manifest, hostile files. */
#include "manifest/manifest.h"
#include "tests/unit/manifest/avro_golden.h"

#include "proto/base/mem.h"

static struct ctx cx;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 512 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

static struct manifest_entry *entries(const char *path, size_t *ret_n)
{
    struct manifest_entry *e = NULL;
    if (manifest_read(&cx, slurp(&cx, path), str_of(path), &e, ret_n) != 0)
        fail_msg("%s", cx.err.msg);
    return e;
}

static struct manifest_file *list(const char *path, size_t *ret_n)
{
    struct manifest_file *m = NULL;
    if (manifest_list_read(&cx, slurp(&cx, path), str_of(path), &m, ret_n) != 0)
        fail_msg("%s", cx.err.msg);
    return m;
}

/* The one file that the pattern means: names are random, folders are not. */
static const char *only(const char *pattern)
{
    static char path[400];
    glob_t g;
    assert_int_equal(glob(pattern, 0, NULL, &g), 0);
    snprintf(path, sizeof path, "%s", g.gl_pathv[0]);
    globfree(&g);
    return path;
}

static str write_manifest(const struct manifest_entry *e, size_t n, enum codec_kind codec,
                          struct manifest_file *ret_meta)
{
    struct manifest_writer w;
    str bytes;
    assert_int_equal(manifest_write_open(&cx, &w, codec, 1), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(manifest_write_add(&cx, &w, &e[i]), 0);
    assert_int_equal(manifest_write_end(&cx, &w, &bytes, ret_meta), 0);
    assert_true(manifest_size(&w) == bytes.len);
    bytes = str_dup(&cx.arena, bytes);
    manifest_write_done(&w);
    return bytes;
}

static void refused(int rc, int code, const char *because)
{
    if (rc != code || cx.err.code != code || !strstr(cx.err.msg, because))
        fail_msg("%s: %s; wanted %s: ..%s..", err_name(rc), cx.err.msg, err_name(code), because);
    ctx_reset_err(&cx);
}

/* --- golden files ---------------------------------------------------------------------------------------- */

static void manifest_again(const char *path)
{
    struct manifest_entry *a, *b;
    struct manifest_file meta;
    size_t n, m;
    if (strstr(path, "/manifest-list"))
        return;
    a = entries(path, &n);
    assert_true(n > 0);
    str bytes = write_manifest(a, n, CODEC_ZSTANDARD, &meta);
    assert_int_equal(manifest_read(&cx, bytes, STR_LIT("again"), &b, &m), 0);
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++)
        assert_true(avro_equal(&manifest_entry_record, &a[i], &b[i]));
}

static void list_again(const char *path)
{
    struct buf out = {0};
    struct manifest_file *a, *b;
    size_t n, m;
    a = list(path, &n);
    buf_addz(&out, "what is there stays:");
    assert_int_equal(manifest_list_write(&cx, a, n, CODEC_ZSTANDARD, 1, &out), 0);
    str bytes = str_cut(buf_str(&out), 20);
    assert_int_equal(manifest_list_read(&cx, bytes, STR_LIT("again"), &b, &m), 0);
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++)
        assert_true(avro_equal(&manifest_file_record, &a[i], &b[i]));
    buf_done(&out);
}

static void test_golden(void **state)
{
    (void)state;
    assert_int_equal(each_file(GOLDEN "*/*/manifest-*", manifest_again), 63);
    assert_int_equal(each_file(GOLDEN "made-*/manifest-[0-9]*", manifest_again), 3);
    assert_int_equal(each_file(GOLDEN "codecs/manifest-*", manifest_again), 6);
    assert_int_equal(each_file(GOLDEN "*/*/manifest-list-*", list_again), 26);
    assert_int_equal(each_file(GOLDEN "made-*/manifest-list-*", list_again), 1);
}

#define KEY_2                                                                                      \
    "00000001"                                                                                     \
    "0000000000000000"                                                                             \
    "0200000000000000"
#define EMPTY "000000000000000000000000"

static void test_values_of_java(void **state)
{
    (void)state;
    size_t n;
    struct manifest_entry *e =
        entries(GOLDEN "java-2.1/pk_fileindex/manifest-8f6ad088-11ac-4455-8755-3d595c37bff0-0", &n);
    const struct data_file *f = &e->file;
    struct avro_list l = f->value_stats.null_counts;
    struct opt_i64 v;
    assert_int_equal(n, 1);
    assert_true(e->version == 2 && e->kind == FILE_ADD && e->bucket == 0 && e->total_buckets == 1);
    assert_hex(e->partition, EMPTY);
    assert_str(f->name, "data-0ffd48bc-e4c5-4b8f-8052-8d2b658ed9bf-0.parquet");
    assert_true(f->size == 1242 && f->row_count == 1 && f->min_seq == 1 && f->max_seq == 1);
    assert_true(f->schema_id == 1 && f->level == 0 && f->extra_files.has && f->extra_files.n == 0);
    assert_hex(f->min_key, KEY_2);
    assert_hex(f->max_key, KEY_2);
    assert_hex(f->key_stats.min, KEY_2);
    assert_hex(f->value_stats.max, "00000003"
                                   "0000000000000000"
                                   "0200000000000000"
                                   "0200000000000000"
                                   "7800000000000081");
    for (int i = 0; i < 3; i++)
        assert_true(avro_list_opt_i64(&l, &v) && v.has && v.v == 0);
    assert_false(avro_list_opt_i64(&l, &v));
    assert_true(f->creation_ms.has && f->creation_ms.v == 1796040468555);
    assert_true(f->delete_row_count.has && f->delete_row_count.v == 0);
    assert_true(f->embedded_index.len == 63 && memcmp(f->embedded_index.p, "\0\5NN", 4) == 0);
    assert_true(f->source.has && f->source.v == FILE_FROM_APPEND);
    assert_false(f->value_stats_cols.has || f->external_path.p || f->first_row_id.has ||
                 f->write_cols.has || f->write_col_seqs.has);
}

static void test_values_of_python(void **state)
{
    (void)state;
    size_t n;
    struct manifest_entry *e =
        entries(GOLDEN "py/dv_evolution/manifest-4e32e3ec-171e-408b-8e2d-be4469f696b2-0", &n);
    assert_int_equal(n, 1);
    assert_true(e->total_buckets == -1 && e->file.first_row_id.v == 10 && e->file.first_row_id.has);
    assert_true(e->file.value_stats_cols.has && e->file.value_stats_cols.n == 0);
    assert_true(e->file.row_count == 5 && e->file.min_seq == 2);
    struct manifest_file *m =
        list(GOLDEN "py/dv_evolution/manifest-list-7d88a744-a73f-4da7-9065-045bed13a890-0", &n);
    assert_int_equal(n, 2);
    assert_str(m[1].name, "manifest-4e32e3ec-171e-408b-8e2d-be4469f696b2-0");
    assert_true(m[1].size == 2322 && m[1].added == 1 && m[1].deleted == 0);
    assert_true(m[1].min_row_id.v == 10 && m[1].max_row_id.v == 14 && m[1].max_level.has);
    assert_hex(m[1].partition_stats.max, EMPTY);
    assert_false(m[1].total_buckets.has || m[1].extra_files.has);
}

/* A level change: the DELETE comes before the ADD. */
static void test_order_stays(void **state)
{
    (void)state;
    size_t n;
    struct manifest_entry *e =
        entries(GOLDEN "java-2.1/pk_dv64/manifest-33202836-f6be-438c-9373-036b814317e6-1", &n);
    assert_int_equal(n, 2);
    assert_true(e[0].kind == FILE_DELETE && e[0].file.level == 0);
    assert_true(e[1].kind == FILE_ADD && e[1].file.level == 3);
    assert_true(str_eq(e[0].file.name, e[1].file.name));
}

static void test_older_releases(void **state)
{
    (void)state;
    size_t n;
    struct manifest_entry *e = entries(GOLDEN "made-0.9/manifest-0", &n);
    assert_true(n > 0 && e->file.source.has && e->file.delete_row_count.has);
    assert_false(e->file.value_stats_cols.has || e->file.external_path.p ||
                 e->file.first_row_id.has || e->file.write_cols.has);
    struct manifest_file *m = list(GOLDEN "made-1.0/manifest-list-0", &n);
    assert_true(n > 0 && m->added + m->deleted > 0);
    assert_false(m->min_bucket.has || m->max_level.has || m->min_row_id.has);
    struct manifest_entry *later = entries(GOLDEN "made-later/manifest-0", &n);
    assert_true(n > 1 && str_eq(later[0].file.name, e[0].file.name));
}

static void same_as_zstandard(const char *path)
{
    static struct manifest_entry *want;
    static size_t want_n;
    size_t n;
    struct manifest_entry *e = entries(path, &n);
    if (!want) {
        want = e;
        want_n = n;
    }
    assert_true(n == want_n && n > 3);
    for (size_t i = 0; i < n; i++)
        assert_true(avro_equal(&manifest_entry_record, &want[i], &e[i]));
}

static void test_every_codec(void **state)
{
    (void)state;
    assert_int_equal(each_file(GOLDEN "codecs/manifest-*", same_as_zstandard), 6);
}

/* What a list of Java says of a manifest is what our writer collects of its entries. */
static size_t lists_checked;
static void meta_of_list(const char *path)
{
    size_t n, m;
    struct manifest_file *l = list(path, &n);
    for (size_t i = 0; i < n; i++) {
        char at[400];
        struct manifest_file got;
        snprintf(at, sizeof at, "%.*s/%.*s", (int)(strrchr(path, '/') - path), path,
                 STR(l[i].name));
        FILE *f = fopen(at, "rb");
        if (!f)
            continue; /* a part of the table was copied */
        fclose(f);
        struct manifest_entry *e = entries(at, &m);
        assert_int_equal(slurp(&cx, at).len, l[i].size);
        write_manifest(e, m, CODEC_ZSTANDARD, &got);
        struct manifest_file want = l[i];
        if (!want.min_row_id.has) /* Java up to 1.3 did not collect them */
            got.min_row_id = got.max_row_id = want.min_row_id;
        got.name = want.name;
        got.size = want.size;
        got.partition_stats = want.partition_stats;
        got.total_buckets = want.total_buckets; /* pypaimon's own */
        if (!avro_equal(&manifest_file_record, &want, &got))
            fail_msg("%s: what it says of %s differs", path, at);
        lists_checked++;
    }
}

static void test_what_a_list_says(void **state)
{
    (void)state;
    each_file(GOLDEN "*/*/manifest-list-*", meta_of_list);
    assert_true(lists_checked >= 25);
}

static void test_stats(void **state)
{
    (void)state;
    size_t n;
    struct manifest_entry *e = entries(only(GOLDEN "java-2.1/types/manifest-[0-9a-f]*"), &n);
    struct simple_stats s;
    struct raw_stats back;
    assert_int_equal(raw_stats_open(&cx, &e->file.value_stats, &s), 0);
    assert_true(s.n_null_counts == 22 && s.null_counts[0] == 0 && s.null_counts[1] == 1);
    assert_true(str_eq(s.min, e->file.value_stats.min) && str_eq(s.max, e->file.value_stats.max));
    assert_int_equal(raw_stats_of(&cx, &s, &back), 0);
    assert_true(avro_equal(&raw_stats_record, &back, &e->file.value_stats));
    s.null_counts = (int64_t[]){7, STATS_NULLS_UNKNOWN};
    s.n_null_counts = 2;
    assert_int_equal(raw_stats_of(&cx, &s, &back), 0);
    assert_hex(back.null_counts.items, "020e00");
    assert_int_equal(raw_stats_open(&cx, &back, &s), 0);
    assert_true(s.n_null_counts == 2 && s.null_counts[0] == 7);
    assert_true(s.null_counts[1] == STATS_NULLS_UNKNOWN);
    back.null_counts = (struct avro_list){0};
    assert_int_equal(raw_stats_open(&cx, &back, &s), 0);
    assert_int_equal(s.n_null_counts, 0);
}

/* --- writing ----------------------------------------------------------------------------------------------- */

static struct manifest_entry an_entry(void)
{
    struct manifest_entry e = {.kind = FILE_ADD, .bucket = 3, .total_buckets = 8};
    e.partition = str_n("\0\0\0\0\0\0\0\0\0\0\0\0", 12);
    e.file.name = STR_LIT("data-1.parquet");
    e.file.min_key = e.file.max_key = e.partition;
    e.file.key_stats.min = e.file.key_stats.max = e.partition;
    e.file.value_stats = e.file.key_stats;
    e.file.row_count = 10;
    e.file.schema_id = 4;
    e.file.level = 2;
    e.file.extra_files.has = true;
    return e;
}

static void test_meta(void **state)
{
    (void)state;
    struct manifest_entry e[3] = {an_entry(), an_entry(), an_entry()};
    struct manifest_file m;
    e[1].kind = FILE_DELETE;
    e[1].bucket = -2;
    e[1].file.level = 0;
    e[2].file.schema_id = 9;
    e[0].file.first_row_id = (struct opt_i64){true, 100};
    e[1].file.first_row_id = (struct opt_i64){true, 5};
    write_manifest(e, 2, CODEC_NULL, &m);
    assert_true(m.added == 1 && m.deleted == 1 && m.schema_id == 4);
    assert_true(m.min_bucket.v == -2 && m.max_bucket.v == 3 && m.min_level.v == 0 &&
                m.max_level.v == 2);
    assert_true(m.min_row_id.has && m.min_row_id.v == 5 && m.max_row_id.v == 109);
    write_manifest(e, 3, CODEC_NULL, &m); /* the third has no row id: no bounds are known */
    assert_true(m.added == 2 && m.schema_id == 9 && !m.min_row_id.has && !m.max_row_id.has);
    write_manifest(e, 0, CODEC_NULL, &m);
    assert_true(m.added == 0 && m.schema_id == 0 && !m.min_bucket.has && m.size > 0);
    e[0].file.first_row_id.v = INT64_MAX; /* past the end: as if it had none */
    write_manifest(e, 1, CODEC_NULL, &m);
    assert_false(m.max_row_id.has);
}

/* The lists of pypaimon have two columns more; what is in them is not lost, and is not made up. */
static void test_columns_of_python(void **state)
{
    (void)state;
    struct buf with = {0}, without = {0};
    struct manifest_file m = {.name = STR_LIT("manifest-1"), .size = 5}, *back;
    size_t n;
    str names[] = {STR_LIT("side.index")}, s;
    m.partition_stats.min = m.partition_stats.max = STR_LIT("\0\0\0\0");
    assert_int_equal(manifest_list_write(&cx, &m, 1, CODEC_NULL, 1, &without), 0);
    assert_null(memmem(without.p, without.len, "_TOTAL_BUCKETS", 14));
    m.total_buckets = (struct opt_i64){true, 16};
    assert_int_equal(avro_list_of_strs(&cx, names, 1, &m.extra_files), 0);
    assert_int_equal(manifest_list_write(&cx, &m, 1, CODEC_NULL, 1, &with), 0);
    assert_int_equal(manifest_list_read(&cx, buf_str(&with), STR_LIT("f"), &back, &n), 0);
    assert_true(n == 1 && back->total_buckets.v == 16 && back->extra_files.n == 1);
    assert_true(avro_list_str(&back->extra_files, &s));
    assert_str(s, "side.index");
    assert_int_equal(back->version, MANIFEST_LIST_VERSION);
    buf_done(&with);
    buf_done(&without);
}

static void test_stream_and_copy(void **state)
{
    (void)state;
    enum { N = 5000 };
    struct manifest_entry *e = ARENA_ARRAY(&cx.arena, struct manifest_entry, N), kept[2];
    const struct manifest_entry *got;
    struct manifest_reader r;
    struct manifest_file m;
    size_t i = 0;
    for (; i < N; i++) {
        e[i] = an_entry();
        assert_int_equal(ctx_text(&cx, &e[i].file.name, "data-%zu.parquet", i), 0);
    }
    str bytes = write_manifest(e, N, CODEC_ZSTANDARD, &m);
    assert_int_equal(manifest_open(&cx, &r, bytes, STR_LIT("f")), 0);
    size_t before = cx.arena.used;
    int rc;
    for (i = 0; (rc = manifest_next(&cx, &r, &got)) > 0; i++) {
        assert_true(manifest_entry_same(got, &e[i], true));
        if (i == 0 || i == N - 1)
            assert_int_equal(avro_copy(&cx, &manifest_entry_record, got, &kept[i > 0]), 0);
    }
    assert_true(rc == 0 && i == N);
    manifest_done(&r);
    assert_str(kept[0].file.name, "data-0.parquet");
    assert_str(kept[1].file.name, "data-4999.parquet");
    assert_true(cx.arena.used - before < 100000); /* entries cost nothing */
}

/* --- identity ------------------------------------------------------------------------------------------------ */

static bool ids_equal(const struct manifest_entry *a, const struct manifest_entry *b, bool rows)
{
    struct buf x = {0}, y = {0};
    data_file_id(&x, a->partition, a->bucket, &a->file, rows);
    data_file_id(&y, b->partition, b->bucket, &b->file, rows);
    bool equal = str_eq(buf_str(&x), buf_str(&y));
    buf_done(&x);
    buf_done(&y);
    return equal;
}

static void test_identity(void **state)
{
    (void)state;
    struct manifest_entry a = an_entry(), b;
    str one[] = {STR_LIT("ab")}, two[] = {STR_LIT("a"), STR_LIT("b")};
#define SAME(change)                                                                               \
    b = a;                                                                                         \
    change;                                                                                        \
    assert_true(manifest_entry_same(&a, &b, false) && ids_equal(&a, &b, false))
#define OTHER(change)                                                                              \
    b = a;                                                                                         \
    change;                                                                                        \
    assert_false(manifest_entry_same(&a, &b, false) || ids_equal(&a, &b, false))
    SAME((void)0);
    SAME(b.kind = FILE_DELETE);
    SAME(b.total_buckets = 1);
    SAME(b.file.size = 77);
    SAME(b.file.max_seq = 77);
    SAME(b.file.first_row_id.has = true);
    OTHER(b.bucket = 4);
    OTHER(b.file.level = 1);
    OTHER(b.file.name = STR_LIT("data-2.parquet"));
    OTHER(b.partition = str_n("\0\0\0\1\0\0\0\0\0\0\0\0", 12));
    OTHER(assert_int_equal(avro_list_of_strs(&cx, one, 1, &b.file.extra_files), 0));
    OTHER(b.file.embedded_index = STR_LIT(""));
    OTHER(b.file.external_path = STR_LIT("file:/x"));
    b = a;
    assert_int_equal(avro_list_of_strs(&cx, one, 1, &a.file.extra_files), 0);
    assert_int_equal(avro_list_of_strs(&cx, two, 2, &b.file.extra_files), 0);
    assert_false(manifest_entry_same(&a, &b, false) || ids_equal(&a, &b, false));
    b = a;
    b.file.first_row_id = (struct opt_i64){true, 0};
    assert_false(manifest_entry_same(&a, &b, true) || ids_equal(&a, &b, true));
    a.file.first_row_id = (struct opt_i64){true, 0};
    assert_true(manifest_entry_same(&a, &b, true) && ids_equal(&a, &b, true));
    b.file.first_row_id.v = 1;
    assert_false(manifest_entry_same(&a, &b, true) || ids_equal(&a, &b, true));
}

/* --- what is refused -------------------------------------------------------------------------------------------- */

static int read_raw(const struct avro_record *rec, const void *record)
{
    struct avro_writer w;
    struct manifest_entry *e;
    struct manifest_file *f;
    size_t n;
    assert_int_equal(avro_write_open(&cx, &w, rec, false, CODEC_NULL, 1), 0);
    assert_int_equal(avro_write_add(&cx, &w, record), 0);
    assert_int_equal(avro_write_flush(&cx, &w), 0);
    str bytes = str_dup(&cx.arena, buf_str(&w.out));
    avro_write_done(&w);
    if (rec == &manifest_file_record)
        return manifest_list_read(&cx, bytes, STR_LIT("the-list"), &f, &n);
    return manifest_read(&cx, bytes, STR_LIT("the-manifest"), &e, &n);
}

static void test_impossible_entries(void **state)
{
    (void)state;
    struct manifest_entry e;
#define ENTRY(change, code, because)                                                               \
    e = an_entry();                                                                                \
    e.version = MANIFEST_VERSION;                                                                  \
    change;                                                                                        \
    refused(read_raw(&manifest_entry_record, &e), code, because)
    ENTRY(e.version = 3, E_UNSUPPORTED, "the-manifest is a manifest of version 3; known is 2");
    ENTRY(e.kind = 2, E_CORRUPT, "the-manifest: the entry of \"data-1.parquet\" has a _KIND");
    ENTRY(e.kind = -1, E_CORRUPT, "a _KIND");
    ENTRY(e.file.name = STR_LIT(""), E_CORRUPT, "has no name");
    ENTRY(e.file.size = -1, E_CORRUPT,
          "the data file \"data-1.parquet\" has a negative _FILE_SIZE");
    ENTRY(e.file.row_count = INT64_MIN, E_CORRUPT, "a negative _ROW_COUNT");
    ENTRY(e.file.level = -1, E_CORRUPT, "a negative _LEVEL");
    ENTRY(((void)(e.file.source = (struct opt_i64){true, 2})), E_CORRUPT, "_FILE_SOURCE");
    e = an_entry();
    e.version = MANIFEST_VERSION;
    assert_int_equal(read_raw(&manifest_entry_record, &e), 0);
}

static void test_impossible_lists(void **state)
{
    (void)state;
    struct manifest_file m;
#define FILE_OF(change, code, because)                                                             \
    m = (struct manifest_file){.version = MANIFEST_LIST_VERSION, .name = STR_LIT("m")};            \
    change;                                                                                        \
    refused(read_raw(&manifest_file_record, &m), code, because)
    FILE_OF(m.version = 1, E_UNSUPPORTED, "the-list is a manifest list of version 1; known is 2");
    FILE_OF(m.name = STR_LIT(""), E_CORRUPT, "the-list: the manifest \"\" has no name");
    FILE_OF(m.size = -1, E_CORRUPT, "the-list: the manifest \"m\"");
    FILE_OF(m.added = -1, E_CORRUPT, "negative size or count");
    FILE_OF(m.deleted = -1, E_CORRUPT, "negative size or count");
}

static void test_wrong_kind_of_file(void **state)
{
    (void)state;
    struct manifest_entry *e;
    struct manifest_file *m;
    size_t n;
    str bytes = slurp(&cx, only(GOLDEN "java-2.1/pk_part/manifest-list-*"));
    refused(manifest_read(&cx, bytes, STR_LIT("f"), &e, &n), E_CORRUPT,
            "f: avro.schema has no field _KIND: it is another kind of file");
    bytes = slurp(&cx, only(GOLDEN "java-2.1/pk_part/manifest-[0-9a-f]*"));
    refused(manifest_list_read(&cx, bytes, STR_LIT("f"), &m, &n), E_CORRUPT,
            "f: avro.schema has no field _FILE_NAME");
}

static void test_damage(void **state)
{
    (void)state;
    str good = slurp(&cx, only(GOLDEN "java-2.1/pk_part/manifest-[0-9a-f]*"));
    size_t n;
    struct manifest_entry *e;
    struct manifest_reader r;
    assert_int_equal(manifest_open(&cx, &r, good, STR_LIT("f")), 0);
    size_t header = r.avro.pos;
    manifest_done(&r);
    for (size_t cut = 0; cut < good.len; cut++) {
        struct ctx one;
        char *copy = mem_dup(good.p, cut);
        ctx_init(&one, 16 << 20);
        int rc = manifest_read(&one, str_n(copy, cut), STR_LIT("f"), &e, &n);
        assert_true(cut == header ? rc == 0 && n == 0 : rc == E_CORRUPT && one.err.msg[0] == 'f');
        ctx_done(&one);
        mem_free(copy);
    }
    for (size_t at = 0; at < good.len; at++) {
        struct ctx one;
        char *copy = mem_dup(good.p, good.len);
        copy[at] = (char)~copy[at];
        ctx_init(&one, 16 << 20);
        int rc = manifest_read(&one, str_n(copy, good.len), STR_LIT("f"), &e, &n);
        assert_true(rc == 0 || rc == E_CORRUPT || rc == E_UNSUPPORTED);
        ctx_done(&one);
        mem_free(copy);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_golden),
        T(test_values_of_java),
        T(test_values_of_python),
        T(test_order_stays),
        T(test_older_releases),
        T(test_every_codec),
        T(test_what_a_list_says),
        T(test_stats),
        T(test_meta),
        T(test_columns_of_python),
        T(test_stream_and_copy),
        T(test_identity),
        T(test_impossible_entries),
        T(test_impossible_lists),
        T(test_wrong_kind_of_file),
        T(test_damage),
    };
    return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
