/* test_index_manifest.c - index manifests: golden files of three clients, values, hostile files. */
#include "manifest/index_manifest.h"
#include "manifest/manifest.h"
#include "tests/unit/manifest/avro_golden.h"

#include "proto/base/mem.h"

static struct ctx cx;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 64 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

static struct index_entry *entries(const char *path, size_t *ret_n)
{
    struct index_entry *e = NULL;
    if (index_manifest_read(&cx, slurp(&cx, path), str_of(path), &e, ret_n) != 0)
        fail_msg("%s", cx.err.msg);
    return e;
}

static str written(const struct index_entry *e, size_t n, enum codec_kind codec)
{
    struct buf out = {0};
    assert_int_equal(index_manifest_write(&cx, e, n, codec, 1, &out), 0);
    str s = str_dup(&cx.arena, buf_str(&out));
    buf_done(&out);
    return s;
}

static void refused(int rc, int code, const char *because)
{
    if (rc != code || cx.err.code != code || !strstr(cx.err.msg, because))
        fail_msg("%s: %s; wanted %s: ..%s..", err_name(rc), cx.err.msg, err_name(code), because);
    ctx_reset_err(&cx);
}

static void again(const char *path)
{
    struct index_entry *a, *b;
    size_t n, m;
    a = entries(path, &n);
    assert_true(n > 0);
    assert_int_equal(
        index_manifest_read(&cx, written(a, n, CODEC_ZSTANDARD), STR_LIT("again"), &b, &m), 0);
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++)
        assert_true(avro_equal(&index_entry_record, &a[i], &b[i]));
}

static void test_golden(void **state)
{
    (void)state;
    assert_int_equal(each_file(GOLDEN "*/*/index-manifest-*", again), 11);
    assert_int_equal(each_file(GOLDEN "made-*/index-manifest-*", again), 1);
}

static void test_values_of_java(void **state)
{
    (void)state;
    size_t n;
    struct index_entry *e = entries(
        GOLDEN "java-2.1/pk_dv64/index-manifest-004f9f78-0fd5-4d05-8ec4-f74fc5ec4a04-0", &n);
    assert_int_equal(n, 1);
    assert_true(e->version == 1 && e->kind == FILE_ADD && e->bucket == 0);
    assert_hex(e->partition, "000000000000000000000000");
    assert_str(e->type, INDEX_TYPE_DV);
    assert_str(e->name, "index-b2066948-56d4-443f-b23e-d3bcbf60724d-0");
    assert_true(e->size == 47 && e->row_count == 1 && e->dv.has && e->dv.n == 1);
    assert_str(e->dv.items->data_file, "data-4240c615-ca35-4c38-b11f-07c48c34080b-0.parquet");
    assert_true(e->dv.items->offset == 1 && e->dv.items->length == 46);
    assert_true(e->dv.items->cardinality.has && e->dv.items->cardinality.v == 3);
    assert_true(!e->external_path.p && !e->global);
    struct dv_range r = index_dv_range(e->dv.items);
    assert_true(r.offset == 1 && r.length == 46 && r.cardinality == 3);
    /* An index file that holds no vector any more. */
    e = entries(GOLDEN "java-2.1/pk_dv64/index-manifest-0ebc0ea3-8e6c-44ff-9c1f-e1eff84b7402-0",
                &n);
    assert_true(n == 1 && e->dv.has && e->dv.n == 0 && e->size == 1);
}

static void test_values_of_python(void **state)
{
    (void)state;
    size_t n;
    struct index_entry *e =
        entries(GOLDEN "py/dv_evolution/index-manifest-921716bb-86c8-4a4a-9136-fb59097acf30", &n);
    assert_true(n == 1 && e->dv.n == 2);
    assert_str(e->dv.items[1].data_file, "data-dc42d7d5-790d-477b-bb59-13eec21e194b-0.parquet");
    assert_true(e->dv.items[1].offset == 31 && e->dv.items[1].length == 26);
    glob_t g;
    assert_int_equal(glob(GOLDEN "py/pk_dynamic/index-manifest-*", 0, NULL, &g), 0);
    e = entries(g.gl_pathv[0], &n);
    globfree(&g);
    assert_true(n > 0 && !e->dv.has && !e->global);
    assert_str(e->type, INDEX_TYPE_HASH);
}

static struct index_entry an_entry(void)
{
    static const struct index_dv ranges[] = {{{"a", 1}, 1, 22, {true, 7}}, {{"b", 1}, 31, 24, {0}}};
    struct index_entry e = {.version = 1, .kind = FILE_ADD, .size = 60, .row_count = 2};
    e.partition = str_n("\0\0\0\0", 4);
    e.type = STR_LIT(INDEX_TYPE_DV);
    e.name = STR_LIT("index-1");
    e.dv = (struct index_dvs){true, 2, ranges};
    return e;
}

static void test_all_members(void **state)
{
    (void)state;
    struct global_index g = {.first_row = 5, .last_row = INT64_MAX, .field_id = 3};
    struct index_entry e[2] = {an_entry(), an_entry()}, *back;
    struct avro_list l;
    size_t n;
    int64_t v;
    assert_int_equal(avro_list_of_i64s(&cx, (int64_t[]){4, 2147483647}, 2, &g.extra_field_ids), 0);
    g.meta = STR_LIT("");
    e[1].type = STR_LIT("btree");
    e[1].dv = (struct index_dvs){0};
    e[1].external_path = STR_LIT("s3://b/index-1");
    e[1].global = &g;
    str bytes = written(e, 2, CODEC_DEFLATE);
    assert_int_equal(index_manifest_read(&cx, bytes, STR_LIT("f"), &back, &n), 0);
    assert_int_equal(n, 2);
    assert_true(avro_equal(&index_entry_record, &e[0], &back[0]));
    assert_true(avro_equal(&index_entry_record, &e[1], &back[1]));
    assert_true(back[0].dv.items[0].cardinality.v == 7 && !back[0].dv.items[1].cardinality.has);
    const struct global_index *b = back[1].global;
    assert_true(b && b->first_row == 5 && b->last_row == INT64_MAX && b->field_id == 3);
    assert_true(b->meta.p && b->meta.len == 0 && !b->source_meta.p);
    l = b->extra_field_ids;
    assert_true(avro_list_i64(&l, &v) && v == 4 && avro_list_i64(&l, &v) && v == 2147483647);
    assert_str(back[1].external_path, "s3://b/index-1");
}

static int read_raw(const struct index_entry *e)
{
    struct avro_writer w;
    struct index_entry *back;
    size_t n;
    assert_int_equal(avro_write_open(&cx, &w, &index_entry_record, false, CODEC_NULL, 1), 0);
    assert_int_equal(avro_write_add(&cx, &w, e), 0);
    assert_int_equal(avro_write_flush(&cx, &w), 0);
    str bytes = str_dup(&cx.arena, buf_str(&w.out));
    avro_write_done(&w);
    return index_manifest_read(&cx, bytes, STR_LIT("the-file"), &back, &n);
}

static void test_impossible_entries(void **state)
{
    (void)state;
    struct index_dv r[2];
    struct index_entry e;
#define ENTRY(change, code, because)                                                               \
    e = an_entry();                                                                                \
    memcpy(r, e.dv.items, sizeof r);                                                               \
    e.dv.items = r;                                                                                \
    change;                                                                                        \
    refused(read_raw(&e), code, because)
    ENTRY(e.version = 2, E_UNSUPPORTED, "the-file is an index manifest of version 2; known is 1");
    ENTRY(e.kind = 7, E_CORRUPT, "the-file: the index file \"index-1\" has a _KIND");
    ENTRY(e.name = STR_LIT(""), E_CORRUPT, "has no name");
    ENTRY(e.size = -1, E_CORRUPT, "a negative size or row count");
    ENTRY(e.row_count = -1, E_CORRUPT, "a negative size or row count");
    ENTRY(r[1].data_file = STR_LIT(""), E_CORRUPT, "a deletion vector without a data file");
    ENTRY(r[1].offset = -1, E_CORRUPT, "a deletion vector with a negative offset");
    ENTRY(r[0].length = INT32_MIN, E_CORRUPT, "a deletion vector with a negative offset");
    ENTRY(r[0].cardinality.v = -1, E_CORRUPT, "a deletion vector with a negative offset");
    e = an_entry();
    assert_int_equal(read_raw(&e), 0);
}

static void test_damage(void **state)
{
    (void)state;
    struct index_entry in = an_entry(), *e;
    str good = written(&in, 1, CODEC_NULL);
    size_t n;
    for (size_t at = 0; at < good.len; at++)
        for (int way = 0; way < 3; way++) {
            struct ctx one;
            char *copy = mem_dup(good.p, good.len);
            size_t len = way == 0 ? at : good.len;
            copy[at] = (char)(way == 1 ? ~copy[at] : way == 2 ? copy[at] ^ 1 : copy[at]);
            ctx_init(&one, 16 << 20);
            int rc = index_manifest_read(&one, str_n(copy, len), STR_LIT("f"), &e, &n);
            assert_true(rc == 0 || rc == E_CORRUPT || rc == E_UNSUPPORTED);
            ctx_done(&one);
            mem_free(copy);
        }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_golden),      T(test_values_of_java),     T(test_values_of_python),
        T(test_all_members), T(test_impossible_entries), T(test_damage),
    };
    return cmocka_run_group_tests_name("index_manifest", tests, NULL, NULL);
}
