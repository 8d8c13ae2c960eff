/* test_meta_write.c - files that are written for a snapshot: names, rolling, what lists say of them,
 * and that nothing is left of what fails. */
#include "catalog/meta_write.h"
#include "tests/unit/catalog/state_fixture.h"
#include "tests/unit/catalog/fault_io.h"

#include "proto/base/mem.h"

static struct meta_write_opts opts;

static int begin(void **state)
{
    setup(state);
    opts = (struct meta_write_opts){.dir = dir,
                                    .partition = &INT_ROW,
                                    .codec = CODEC_ZSTANDARD,
                                    .level = 1,
                                    .target_size = 8 << 20};
    return 0;
}
#define W(fn) cmocka_unit_test_setup_teardown(fn, begin, teardown)

static struct manifest_entry add_of(int64_t part, int i)
{
    return entry_of(FILE_ADD, int_row(part), i % 4, i % 3, text("data-%06d.parquet", i));
}

static size_t files_there(void)
{
    struct io_entry *e;
    size_t n;
    OK(io_list(io, &cx, STR_LIT("t/manifest"), &e, &n));
    return n;
}

/* "manifest-list-<uuid>-3" */
static void named(str name, const char *prefix, const struct meta_writer *w, unsigned no)
{
    str want = text("%s%s-%u", prefix, w->uuid, no);
    if (!str_eq(name, want))
        fail_msg("%.*s is not %.*s", STR(name), STR(want));
}

static int64_t bound(str row)
{
    struct binrow_value v;
    OK(binrow_read(&cx, &INT_ROW, row, &v));
    assert_int_equal(v.tag, BV_INT);
    return v.i;
}

/* What a list says of a manifest is what is in it. */
static void says_what_is_there(const struct manifest_file *m)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct manifest_entry *e;
    struct stats_column c;
    struct simple_stats s;
    int64_t n, added = 0, min = INT64_MAX, max = INT64_MIN, nulls = 0, schema = INT64_MIN;
    int32_t bucket = INT32_MIN, level = INT32_MAX;
    OK(meta_read(&cx, &dir, m->name, (struct opt_i64){true, m->size}, &b));
    OK(manifest_read(&cx, buf_str(&b), m->name, &e, (size_t *)&n));
    for (int64_t i = 0; i < n; i++) {
        struct binrow_value v;
        OK(binrow_read(&cx, &INT_ROW, e[i].partition, &v));
        added += e[i].kind == FILE_ADD;
        nulls += v.tag == BV_NULL;
        min = v.tag != BV_NULL && v.i < min ? v.i : min;
        max = v.tag != BV_NULL && v.i > max ? v.i : max;
        bucket = e[i].bucket > bucket ? e[i].bucket : bucket;
        level = e[i].file.level < level ? e[i].file.level : level;
        schema = e[i].file.schema_id > schema ? e[i].file.schema_id : schema;
    }
    assert_int_equal(m->added, added);
    assert_int_equal(m->deleted, n - added);
    assert_true(m->max_bucket.has && m->max_bucket.v == bucket);
    assert_true(m->min_level.has && m->min_level.v == level);
    assert_int_equal(m->schema_id, schema);
    OK(raw_stats_open(&cx, &m->partition_stats, &s));
    OK(stats_read(&cx, &INT_ROW, &s, &c));
    assert_int_equal(c.null_count, nulls);
    if (max == INT64_MIN) {
        assert_int_equal(c.min.tag, BV_NULL);
        assert_int_equal(c.max.tag, BV_NULL);
    } else {
        assert_true(c.min.tag == BV_INT && c.min.i == min);
        assert_true(c.max.tag == BV_INT && c.max.i == max);
    }
}

static void test_manifests(void **state)
{
    (void)state;
    struct meta_writer w;
    struct manifest_file *m;
    size_t n;
    struct manifest_entry e[] = {add_of(7, 1), add_of(7, 2), add_of(-3, 3), add_of(12, 4),
                                 add_of(7, 5)};
    e[1].kind = FILE_DELETE;
    e[2].file.schema_id = 9;
    meta_write_begin(&w, &opts);
    OK(meta_write_manifests(&cx, &w, e, N(e), &m, &n));
    assert_int_equal(n, 1);
    named(m->name, "manifest-", &w, 0);
    says_what_is_there(m);
    assert_int_equal(bound(m->partition_stats.min), -3);
    assert_int_equal(bound(m->partition_stats.max), 12);
    assert_false(m->min_row_id.has);
    assert_int_equal(w.n, 1);
    assert_true(str_eq(w.names[0], m->name));

    OK(meta_write_manifests(&cx, &w, e, 1, &m, &n));
    named(m->name, "manifest-", &w, 1);
    OK(meta_write_manifests(&cx, &w, e, 0, &m, &n));
    assert_int_equal(n, 0);
    assert_int_equal(files_there(), 2);
}

static void test_no_partitions_and_nulls(void **state)
{
    (void)state;
    struct meta_writer w;
    struct manifest_file *m;
    size_t n;
    struct manifest_entry e = add_of(0, 1);
    struct buf b = {0};
    struct binrow_value null = {.tag = BV_NULL};
    binrow_write(&b, &INT_ROW, &null);
    struct manifest_entry two[] = {add_of(5, 1), add_of(5, 2)};
    two[0].partition = two[1].partition = buf_str(&b);
    meta_write_begin(&w, &opts);
    OK(meta_write_manifests(&cx, &w, two, 2, &m, &n));
    says_what_is_there(m);
    two[1].partition = int_row(4);
    OK(meta_write_manifests(&cx, &w, two, 2, &m, &n));
    says_what_is_there(m);
    buf_done(&b);

    opts.partition = NULL;
    e.partition = EMPTY_ROW;
    OK(meta_write_manifests(&cx, &w, &e, 1, &m, &n));
    assert_true(str_eq(m->partition_stats.min, EMPTY_ROW));
    assert_true(str_eq(m->partition_stats.max, EMPTY_ROW));
    assert_true(m->partition_stats.null_counts.has && m->partition_stats.null_counts.n == 0);
    e.partition = int_row(1); /* of another table */
    refused_with(meta_write_manifests(&cx, &w, &e, 1, &m, &n), E_CORRUPT, "partition");
    assert_int_equal(files_there(), 3);
}

/* Bounds of texts, which borrow, in partitions that come and go. */
static void test_bounds_of_texts(void **state)
{
    (void)state;
    static const struct data_type type = {.kind = TYPE_VARCHAR, .nullable = true, .length = 100};
    static const struct data_type *const types[] = {&type, &int_type};
    static const struct binrow_type row = {types, 2};
    static const char *const texts[] = {"the middle of all texts", "zebras at the very end", "m",
                                        "a first and long text"};
    struct partition_stats s;
    struct raw_stats raw;
    struct binrow_value v[2];
    OK(partition_stats_init(&cx, &s, &row));
    for (int i = 0; i < 400; i++) {
        struct buf b = {0};
        v[0] = (struct binrow_value){.tag = BV_BYTES, .bytes = str_of(texts[i % 4])};
        v[1] = (struct binrow_value){.tag = i % 10 ? BV_INT : BV_NULL, .i = i};
        binrow_write(&b, &row, v);
        OK(partition_stats_add(&cx, &s, buf_str(&b)));
        memset(b.p, 0xee, b.len);
        buf_done(&b);
    }
    OK(partition_stats_raw(&cx, &s, &raw));
    OK(binrow_read(&cx, &row, raw.min, v));
    assert_true(str_eqz(v[0].bytes, texts[3]) && v[1].i == 1);
    OK(binrow_read(&cx, &row, raw.max, v));
    assert_true(str_eqz(v[0].bytes, texts[1]) && v[1].i == 399);
    struct avro_list counts = raw.null_counts;
    struct opt_i64 c;
    assert_true(avro_list_opt_i64(&counts, &c) && c.has && c.v == 0);
    assert_true(avro_list_opt_i64(&counts, &c) && c.has && c.v == 40);
    partition_stats_done(&s);
}

/* Manifests end at the first thousand that is past the target size. */
static void test_rolls(void **state)
{
    (void)state;
    enum { ALL = 7500 };
    struct meta_writer w;
    struct manifest_file *m;
    size_t n;
    struct manifest_entry *e = ARENA_ARRAY(&cx.arena, struct manifest_entry, ALL);
    for (int i = 0; i < ALL; i++)
        e[i] = add_of(i / 100, i);
    opts.target_size = 1;
    meta_write_begin(&w, &opts);
    OK(meta_write_manifests(&cx, &w, e, ALL, &m, &n));
    assert_int_equal(n, 8);
    for (size_t i = 0; i < n; i++) {
        named(m[i].name, "manifest-", &w, (unsigned)i);
        assert_int_equal(m[i].added, i < 7 ? 1000 : 500);
        assert_int_equal(bound(m[i].partition_stats.min), (int64_t)i * 10);
        assert_int_equal(bound(m[i].partition_stats.max), (int64_t)i * 10 + (i < 7 ? 9 : 4));
        says_what_is_there(&m[i]);
    }
    opts.codec = CODEC_NULL;
    opts.target_size = 400000;
    OK(meta_write_manifests(&cx, &w, e, ALL, &m, &n));
    assert_true(n > 1 && n < 8);
    for (size_t i = 0; i + 1 < n; i++)
        assert_true(m[i].size >= opts.target_size && m[i].added % 1000 == 0);
    opts.target_size = META_TARGET_MAX;
    OK(meta_write_manifests(&cx, &w, e, ALL, &m, &n));
    assert_int_equal(n, 1);
}

static void test_lists_and_indexes(void **state)
{
    (void)state;
    struct meta_writer w;
    struct manifest_file *m, *back;
    struct index_entry x = {.partition = int_row(1),
                            .type = STR_LIT(INDEX_TYPE_HASH),
                            .name = STR_LIT("index-1"),
                            .size = 8,
                            .row_count = 2,
                            .external_path = STR_NONE},
                       *xs;
    struct manifest_entry e = add_of(1, 1);
    size_t n, n_back;
    int64_t size;
    str list, index;
    meta_write_begin(&w, &opts);
    OK(meta_write_manifests(&cx, &w, &e, 1, &m, &n));
    OK(meta_write_list(&cx, &w, m, n, &list, &size));
    named(list, "manifest-list-", &w, 0);
    OK(meta_list(&cx, &dir, list, (struct opt_i64){true, size}, &back, &n_back));
    assert_int_equal(n_back, 1);
    assert_true(avro_equal(&manifest_file_record, m, back));
    OK(meta_write_list(&cx, &w, m, 0, &list, &size));
    named(list, "manifest-list-", &w, 1);
    OK(meta_list(&cx, &dir, list, (struct opt_i64){true, size}, &back, &n_back));
    assert_int_equal(n_back, 0);
    OK(meta_write_index(&cx, &w, &x, 1, &index));
    named(index, "index-manifest-", &w, 0);
    OK(meta_index(&cx, &dir, index, &xs, &n_back));
    assert_int_equal(n_back, 1);
    assert_true(str_eqz(xs->name, "index-1"));
    assert_int_equal(w.n, 4);
    assert_int_equal(files_there(), 4);
    struct meta_writer other;
    meta_write_begin(&other, &opts);
    assert_string_not_equal(w.uuid, other.uuid);

    meta_write_undo(&w, 1);
    assert_int_equal(files_there(), 1);
    assert_int_equal(w.n, 1);
    meta_write_undo(&w, 1);
    meta_write_undo(&w, 5);
    assert_int_equal(files_there(), 1);
    meta_write_undo(&w, 0);
    assert_int_equal(files_there(), 0);
}

static void test_held(void **state)
{
    (void)state;
    struct meta_writer w;
    struct manifest_file *m, *back;
    struct manifest_entry e = add_of(1, 1);
    struct io_new *held;
    size_t n, n_held, n_back;
    int64_t size;
    str list;
    meta_write_begin(&w, &opts);
    w.hold = true;
    OK(meta_write_manifests(&cx, &w, &e, 1, &m, &n));
    OK(meta_write_list(&cx, &w, m, n, &list, &size));
    assert_int_equal(files_there(), 0);
    OK(meta_write_held(&cx, &w, &held, &n_held));
    assert_int_equal(n_held, 2);
    assert_int_equal(held[1].data.len, size);
    assert_int_equal(w.held, held[0].data.len + held[1].data.len);

    /* What is only held is not deleted: that would be another's. */
    OK(io_write(io, &cx, held[1].path, STR_LIT("another's"), false));
    meta_write_undo(&w, 1);
    assert_int_equal(files_there(), 1);
    assert_int_equal(w.held, held[0].data.len);
    OK(io_del(io, &cx, held[1].path));

    w.held = META_HOLD_MAX - 10; /* no room for more */
    OK(meta_write_list(&cx, &w, m, n, &list, &size));
    assert_int_equal(files_there(), 1);
    OK(meta_list(&cx, &dir, list, (struct opt_i64){true, size}, &back, &n_back));
    assert_int_equal(n_back, 1);
    OK(meta_write_held(&cx, &w, &held, &n_held));
    assert_int_equal(n_held, 1);

    OK(io_write(io, &cx, held[0].path, held[0].data, false));
    meta_write_made(&w);
    assert_int_equal(w.held, 0);
    OK(meta_write_held(&cx, &w, &held, &n_held));
    assert_int_equal(n_held, 0);
    assert_int_equal(files_there(), 2);
    meta_write_undo(&w, 0);
    assert_int_equal(files_there(), 0);
}

static void test_makes_the_folder(void **state)
{
    (void)state;
    struct meta_writer w;
    str list;
    int64_t size;
    OK(io_remove_tree(io, &cx, STR_LIT("t/manifest")));
    meta_write_begin(&w, &opts);
    OK(meta_write_list(&cx, &w, NULL, 0, &list, &size));
    assert_int_equal(cx.err.code, 0);
    assert_int_equal(files_there(), 1);
}

static void test_options(void **state)
{
    (void)state;
    struct meta_write_opts o = opts;
    struct kv_list none = {0};
    OK(meta_write_options(&cx, &none, &o));
    assert_int_equal(o.codec, CODEC_ZSTANDARD);
    assert_int_equal(o.level, 1);
    assert_int_equal(o.target_size, 8 << 20);
    assert_ptr_equal(o.partition, &INT_ROW);
    const struct kv all[] = {{STR_LIT("file.compression.zstd-level"), STR_LIT("7")},
                             {STR_LIT("manifest.compression"), STR_LIT("deflate")},
                             {STR_LIT("manifest.target-file-size"), STR_LIT("3 kb")}};
    OK(meta_write_options(&cx, &(struct kv_list){all, 3}, &o));
    assert_int_equal(o.codec, CODEC_DEFLATE);
    assert_int_equal(o.level, 7);
    assert_int_equal(o.target_size, 3072);
    const struct kv huge[] = {{STR_LIT("manifest.target-file-size"), STR_LIT("8000 tb")}};
    OK(meta_write_options(&cx, &(struct kv_list){huge, 1}, &o));
    assert_int_equal(o.target_size, META_TARGET_MAX);
    const struct kv wrong[] = {{STR_LIT("manifest.target-file-size"), STR_LIT("much")}};
    refused_with(meta_write_options(&cx, &(struct kv_list){wrong, 1}, &o), E_INVAL,
                 "manifest.target-file-size");
    assert_int_equal(o.target_size, META_TARGET_MAX);
}

/* --- failures --------------------------------------------------------------------------------- */

static int write_all(struct meta_writer *w, const struct manifest_entry *e, size_t n)
{
    struct manifest_file *m;
    struct index_entry x = {.partition = int_row(1),
                            .type = STR_LIT(INDEX_TYPE_HASH),
                            .name = STR_LIT("index-1"),
                            .external_path = STR_NONE};
    size_t n_m;
    str name;
    int64_t size;
    TRY(meta_write_manifests(&cx, w, e, n, &m, &n_m));
    TRY(meta_write_list(&cx, w, m, n_m, &name, &size));
    return meta_write_index(&cx, w, &x, 1, &name);
}

static void test_failed_writes_leave_nothing(void **state)
{
    (void)state;
    struct fault_io f = fault_io_of(io);
    struct manifest_entry *e = ARENA_ARRAY(&cx.arena, struct manifest_entry, 3500);
    for (int i = 0; i < 3500; i++)
        e[i] = add_of(i / 100, i);
    opts.dir.io = &f.io;
    opts.target_size = 1;
    for (int after = 0; after < 2; after++)
        for (int at = 1; at <= 7; at++) {
            struct meta_writer w;
            f.write_in = at;
            f.after = after;
            meta_write_begin(&w, &opts);
            int rc = write_all(&w, e, 3500);
            assert_int_equal(rc, at <= 6 ? E_IO : 0);
            if (at <= 6)
                assert_string_equal(cx.err.msg, "made to fail");
            /* of manifests all go; what was written before them is the caller's */
            assert_int_equal(w.n, at <= 4 ? 0 : at == 5 ? 4 : at == 6 ? 5 : 6);
            assert_int_equal(files_there(), w.n);
            meta_write_undo(&w, 0);
            assert_int_equal(files_there(), 0);
            ctx_reset_err(&cx);
        }
}

static void test_no_memory_leaves_nothing(void **state)
{
    (void)state;
    struct manifest_entry e[] = {add_of(1, 1), add_of(2, 2)};
    bool done = false;
    for (long n = 1; n < 2000 && !done; n++) {
        struct meta_writer w;
        meta_write_begin(&w, &opts);
        mem_fail_at(n, 0);
        int rc = write_all(&w, e, 2);
        mem_fail_at(0, 0);
        if (rc != 0 && rc != E_NOMEM && rc != E_TOOBIG && rc != E_IO)
            fail_msg("allocation %ld: %s %s", n, err_name(rc), cx.err.msg);
        meta_write_undo(&w, 0);
        assert_int_equal(files_there(), 0);
        ctx_reset_err(&cx);
        done = rc == 0 && n > 20;
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        W(test_manifests),
        W(test_no_partitions_and_nulls),
        W(test_bounds_of_texts),
        W(test_rolls),
        W(test_lists_and_indexes),
        W(test_held),
        W(test_makes_the_folder),
        W(test_options),
        W(test_failed_writes_leave_nothing),
        W(test_no_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
