/* test_binrow.c - rows, their order, hashes and buckets, against what stock Java 1.4.2 makes of the same
 * values (tests/golden/binrow, kept honest by tests/conform/test_binrow.py), and hostile rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "manifest/binrow.h"
#include "manifest/bucket.h"
#include "tests/unit/manifest/golden.h"

#define VALUES_MAX 200

static struct ctx cx;
static struct buf scratch;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 256 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    buf_done(&scratch);
    return 0;
}

static void expect_bucket(enum bucket_function f, const struct binrow_type *t,
                          const struct binrow_value *v, int32_t n, str want)
{
    int32_t got = -1;
    int rc = bucket_of(&cx, f, t, v, n, BINROW_JAVA, &scratch, &got);
    if (str_eqz(want, "-") || str_eqz(want, "unsup")) {
        assert_int_equal(rc, E_UNSUPPORTED);
    } else {
        assert_int_equal(rc, 0);
        assert_int_equal(got, golden_int(want));
    }
}

/* Buckets of Java are over its own image: NaNs that differ in bits have another there than by value. */
static bool has_nan(const struct binrow_value *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((v[i].tag == BV_FLOAT && v[i].f != v[i].f) ||
            (v[i].tag == BV_DOUBLE && v[i].d != v[i].d))
            return true;
    return false;
}

static void check_row(const str f[11])
{
    CLEANUP(buf_done) struct buf b = {0};
    struct binrow_type t = golden_types(&cx, f[0]);
    struct binrow_value v[VALUES_MAX], again[VALUES_MAX];
    str row = golden_unhex(&cx, f[2]);
    uint64_t hash = 0, other = 0;
    assert_true(t.n < VALUES_MAX);
    if (binrow_read(&cx, &t, row, v) < 0)
        fail_msg("%.*s: %s", STR(f[2]), cx.err.msg);
    for (size_t i = 0; i < t.n; i++) {
        if (i > 0)
            buf_addc(&b, '|');
        golden_add_value(&b, &v[i]);
    }
    if (!str_eq(buf_str(&b), f[1]))
        fail_msg("%.*s: read as %.*s, not as %.*s", STR(f[2]), STR(buf_str(&b)), STR(f[1]));
    buf_clear(&b);
    binrow_write(&b, &t, v);
    assert_int_equal(buf_fail(&b), 0);
    assert_int_equal(binrow_murmur(str_cut(row, 4)), golden_hex_int(f[3]));
    assert_int_equal(binrow_read(&cx, &t, buf_str(&b), again), 0);
    assert_int_equal(binrow_cmp(v, again, t.n), 0);
    assert_int_equal(binrow_hash(&t, v, &scratch, &hash), 0);
    assert_int_equal(binrow_hash(&t, again, &scratch, &other), 0);
    assert_true(hash == other);
    if (has_nan(v, t.n))
        return;
    if (!str_eq(buf_str(&b), row)) {
        CLEANUP(buf_done) struct buf hex = {0};
        golden_add_hex(&hex, buf_str(&b));
        fail_msg("written as %.*s, not as %.*s", STR(buf_str(&hex)), STR(f[2]));
    }
    static const int32_t counts[] = {2, 7, 16};
    for (size_t i = 0; i < 3; i++)
        expect_bucket(BUCKET_DEFAULT, &t, v, counts[i], f[4 + i]);
    expect_bucket(BUCKET_HIVE, &t, v, 7, f[7]);
    expect_bucket(BUCKET_MOD, &t, v, 7, f[8]);
}

static void rows_of_java(void **state)
{
    (void)state;
    str rest = golden_file(&cx, "tests/golden/binrow/rows.tsv"), f[11];
    size_t n = 0;
    while (golden_line(&rest, f, 11) == 11) {
        check_row(f);
        n++;
    }
    assert_true(n > 300);
}

/* What pypaimon writes: the same values, its bytes in its form, and its buckets. */
static void rows_of_python(void **state)
{
    (void)state;
    str rest = golden_file(&cx, "tests/golden/binrow/python.tsv"), f[5];
    size_t n = 0;
    for (; golden_line(&rest, f, 5) == 5; n++) {
        CLEANUP(buf_done) struct buf b = {0};
        struct binrow_type t = golden_types(&cx, f[0]);
        struct binrow_value v[VALUES_MAX], java[VALUES_MAX];
        str row = golden_unhex(&cx, f[2]);
        int32_t bucket = -1;
        assert_int_equal(binrow_read(&cx, &t, row, v), 0);
        for (size_t i = 0; i < t.n; i++) {
            if (i > 0)
                buf_addc(&b, '|');
            golden_add_value(&b, &v[i]);
        }
        if (!str_eq(buf_str(&b), f[1]))
            fail_msg("%.*s: read as %.*s, not as %.*s", STR(f[2]), STR(buf_str(&b)), STR(f[1]));
        buf_clear(&b);
        binrow_write_image(&b, &t, v, BINROW_PYTHON);
        if (!str_eq(buf_str(&b), str_cut(row, 4)))
            fail_msg("%.*s is written in another way", STR(f[2]));
        assert_int_equal(binrow_murmur(buf_str(&b)), golden_hex_int(f[3]));
        assert_int_equal(bucket_of(&cx, BUCKET_DEFAULT, &t, v, 7, BINROW_PYTHON, &scratch, &bucket),
                         0);
        assert_int_equal(bucket, golden_int(f[4]));
        buf_clear(&b);
        binrow_write(&b, &t, v);
        assert_int_equal(binrow_read(&cx, &t, buf_str(&b), java), 0);
        assert_int_equal(binrow_cmp(v, java, t.n), 0);
    }
    assert_true(n >= 30);
}

/* "INT 1", "(STRING long,BIGINT 5)" -> the types; the value is read from the bytes. */
static const char *const *vector_types(str name)
{
    static const char *const two[][3] = {
        {"INT", "STRING", NULL}, {"STRING", "BIGINT", NULL}, {"INT", "INT", NULL}};
    static const char *one[2];
    static char text[40];
    if (str_starts(name, STR_LIT("(INT 1,S")))
        return two[0];
    if (str_starts(name, STR_LIT("(STRING")))
        return two[1];
    if (str_starts(name, STR_LIT("(INT null")))
        return two[2];
    ptrdiff_t blank = str_find(name, ' ');
    snprintf(text, sizeof text, "%.*s", (int)(blank < 0 ? (ptrdiff_t)name.len : blank), name.p);
    one[0] = text;
    return one;
}

static void bucket_vectors(void **state)
{
    (void)state;
    str rest = golden_file(&cx, "tests/golden/binrow/bucket-vectors.tsv"), f[8];
    size_t n = 0;
    golden_line(&rest, f, 8);
    for (; golden_line(&rest, f, 8) == 8; n++) {
        struct binrow_type t = golden_sql_types(&cx, vector_types(f[0]));
        struct binrow_value v[2];
        str row = golden_unhex(&cx, f[1]);
        assert_int_equal(binrow_read(&cx, &t, row, v), 0);
        assert_int_equal(binrow_murmur(str_cut(row, 4)), golden_hex_int(str_cut(f[2], 2)));
        static const int32_t counts[] = {2, 7, 16};
        for (size_t i = 0; i < 3; i++)
            expect_bucket(BUCKET_DEFAULT, &t, v, counts[i], f[3 + i]);
        expect_bucket(BUCKET_HIVE, &t, v, 7, f[6]);
        expect_bucket(BUCKET_MOD, &t, v, 7, f[7]);
    }
    assert_int_equal(n, 31);
}

static str hex(const char *text)
{
    char packed[512];
    size_t n = 0;
    for (const char *p = text; *p; p++)
        if (*p != ' ')
            packed[n++] = *p;
    return golden_unhex(&cx, str_n(packed, n));
}

/* What pypaimon writes otherwise is the same value. */
static void python_and_java_are_equal(void **state)
{
    (void)state;
    static const struct {
        const char *types[3], *java, *python;
    } pairs[] = {
        {{"DECIMAL(30, 5)"},
         "00000001 0001000000000000 0000000010000000 00000000000000000000000000000000",
         "00000001 0001000000000000 0000000000000000"},
        {{"TIMESTAMP(6)"},
         "00000001 0001000000000000 0000000010000000 0000000000000000",
         "00000001 0001000000000000 0000000000000000"},
        {{"DECIMAL(30, 5)"},
         "00000001 0000000000000000 0100000010000000 80000000000000000000000000000000",
         "00000001 0000000000000000 0200000010000000 ff800000000000000000000000000000"},
        {{"TIMESTAMP(6)", "STRING"},
         "00000002 0001000000000000 0000000018000000 6100000000000081 0000000000000000",
         "00000002 0001000000000000 0000000000000000 6100000000000081"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct binrow_type t = golden_sql_types(&cx, pairs[i].types);
        struct binrow_value a[2], b[2];
        uint64_t x = 1, y = 2;
        bool same = false;
        str java = hex(pairs[i].java), python = hex(pairs[i].python);
        assert_int_equal(binrow_read(&cx, &t, java, a), 0);
        assert_int_equal(binrow_read(&cx, &t, python, b), 0);
        assert_int_equal(binrow_cmp(a, b, t.n), 0);
        assert_int_equal(binrow_same(&cx, &t, java, python, &same), 0);
        assert_true(same);
        assert_int_equal(binrow_hash(&t, a, &scratch, &x), 0);
        assert_int_equal(binrow_hash(&t, b, &scratch, &y), 0);
        assert_true(x == y);
        buf_clear(&scratch);
        binrow_write_image(&scratch, &t, a, BINROW_PYTHON);
        assert_true(str_eq(buf_str(&scratch), str_cut(python, 4)));
        int32_t bucket = -1;
        assert_int_equal(
            bucket_of(&cx, BUCKET_DEFAULT, &t, b, 1009, BINROW_PYTHON, &scratch, &bucket), 0);
        int32_t want = (int32_t)binrow_murmur(str_cut(python, 4)) % 1009;
        assert_int_equal(bucket, want < 0 ? -want : want);
    }
}

static struct binrow_value real(double d)
{
    return (struct binrow_value){.tag = BV_DOUBLE, .d = d};
}

static struct binrow_value text(const char *z)
{
    return (struct binrow_value){.tag = BV_BYTES, .bytes = str_of(z)};
}

static void order_of_keys(void **state)
{
    (void)state;
    struct binrow_value null = {.tag = BV_NULL};
    struct binrow_value no = {.tag = BV_BOOL, .b = false}, yes = {.tag = BV_BOOL, .b = true};
    struct binrow_value early = {.tag = BV_TIMESTAMP, .ts = {.ms = -1, .ns = 999999}};
    struct binrow_value late = {.tag = BV_TIMESTAMP, .ts = {.ms = 0, .ns = 0}};
    struct binrow_value big = {.tag = BV_DECIMAL, .dec = (__int128)1 << 100};
    struct binrow_value small = {.tag = BV_DECIMAL, .dec = -((__int128)1 << 100)};
    struct binrow_value ascending[][2] = {
        {null, no},
        {no, yes},
        {early, late},
        {small, big},
        {text(""), text("a")},
        {text("a"), text("a\x01")},
        {text("\x7f"), text("\xc3\xa9")},
        {real(-__builtin_inf()), real(-1)},
        {real(-0.0), real(0.0)},
        {real(__builtin_inf()), real(__builtin_nan(""))},
        {{.tag = BV_INT, .i = INT64_MIN}, {.tag = BV_INT, .i = INT64_MAX}},
        {{.tag = BV_FLOAT, .f = -0.0f}, {.tag = BV_FLOAT, .f = 0.0f}},
    };
    for (size_t i = 0; i < sizeof ascending / sizeof *ascending; i++) {
        assert_true(binrow_cmp_value(&ascending[i][0], &ascending[i][1]) < 0);
        assert_true(binrow_cmp_value(&ascending[i][1], &ascending[i][0]) > 0);
        assert_int_equal(binrow_cmp_value(&ascending[i][1], &ascending[i][1]), 0);
    }
    struct binrow_value negative_nan = real(-__builtin_nan("")), nan = real(__builtin_nan(""));
    assert_int_equal(binrow_cmp_value(&negative_nan, &nan), 0);
    struct binrow_value a[] = {no, text("b")}, b[] = {yes, text("a")};
    assert_true(binrow_cmp(a, b, 2) < 0);
    assert_int_equal(binrow_cmp(a, b, 0), 0);
}

static void differs(void **state)
{
    (void)state;
    static const char *const types[] = {"STRING", "INT", NULL};
    struct binrow_type t = golden_sql_types(&cx, types);
    struct binrow_value v[3][2] = {{text("ab"), {.tag = BV_INT, .i = 1}},
                                   {text("abc"), {.tag = BV_INT, .i = 1}},
                                   {text("ab"), {.tag = BV_NULL}}};
    uint64_t h[3] = {0};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(binrow_hash(&t, v[i], &scratch, &h[i]), 0);
    assert_true(h[0] != h[1] && h[0] != h[2] && h[1] != h[2]);
    CLEANUP(buf_done) struct buf a = {0}, b = {0};
    bool same = true;
    binrow_write(&a, &t, v[0]);
    binrow_write(&b, &t, v[1]);
    assert_int_equal(binrow_same(&cx, &t, buf_str(&a), buf_str(&b), &same), 0);
    assert_false(same);
}

/* Row kind, unused bits and unused bytes of slots do not count. */
static void leftovers_do_not_count(void **state)
{
    (void)state;
    static const char *const types[] = {"TINYINT", "BOOLEAN", "INT", NULL};
    struct binrow_type t = golden_sql_types(&cx, types);
    struct binrow_value v[3];
    bool same = false;
    str clean = hex("00000003 0000000000000000 ff00000000000000 0100000000000000 0700000000000000");
    str dirty = hex("00000003 0370000000000080 ffaaaaaaaaaaaaaa 02bbbbbbbbbbbbbb 07000000cccccccc");
    dirty.p = memcpy(arena_alloc(&cx.arena, dirty.len), dirty.p, dirty.len);
    ((char *)(uintptr_t)dirty.p)[5] = (char)0xf8; /* bits of fields 3..7, which are not there */
    assert_int_equal(binrow_same(&cx, &t, clean, dirty, &same), 0);
    assert_true(same);
    assert_int_equal(binrow_read(&cx, &t, dirty, v), 0);
    assert_int_equal(v[0].i, -1);
    assert_true(v[1].b);
    assert_int_equal(v[2].i, 7);
}

static void hostile_rows(void **state)
{
    (void)state;
    static const struct {
        const char *types[3], *row;
    } bad[] = {
        {{"INT"}, ""},
        {{"INT"}, "00000001 00000000000000"},
        {{"INT"}, "00000001 0000000000000000 00000000000000"},
        {{"INT"}, "00000002 0000000000000000 0000000000000000 0000000000000000"},
        {{"INT"}, "00000000 0000000000000000 0000000000000000"},
        {{"INT"}, "ffffffff 0000000000000000 0000000000000000"},
        {{"INT"}, "7fffffff 0000000000000000 0000000000000000"},
        {{"STRING"}, "00000001 0000000000000000 0800000010000000"}, /* at the end */
        {{"STRING"}, "00000001 0000000000000000 0800000008000000 3132333435363738"}, /* in slots */
        {{"STRING"}, "00000001 0000000000000000 0900000010000000 3132333435363738"},
        {{"STRING"}, "00000001 0000000000000000 0800000011000000 3132333435363738"},
        {{"STRING"}, "00000001 0000000000000000 ffffffff10000000 3132333435363738"},
        {{"STRING"}, "00000001 0000000000000000 08000000ffffff7f 3132333435363738"},
        {{"STRING"}, "00000001 0000000000000000 0000000000000088"}, /* 8 bytes inline */
        {{"STRING"}, "00000001 0000000000000000 00000000000000ff"},
        {{"STRING", "STRING"}, /* both fields are the same bytes */
         "00000002 0000000000000000 0800000018000000 0800000018000000 3132333435363738"},
        {{"DECIMAL(5, 2)"}, "00000001 0000000000000000 a086010000000000"}, /* 100000 */
        {{"DECIMAL(5, 2)"}, "00000001 0000000000000000 6079feffffffffff"}, /* -100000 */
        {{"DECIMAL(20, 0)"},
         "00000001 0000000000000000 0000000010000000 00000000000000000000000000000000"},
        {{"DECIMAL(20, 0)"},
         "00000001 0000000000000000 1100000010000000 "
         "000000000000000000000000000000000000000000000000"},
        {{"DECIMAL(20, 0)"},
         "00000001 0000000000000000 1000000010000000 7fffffffffffffffffffffffffffffff"},
        {{"DECIMAL(38, 0)"},
         "00000001 0000000000000000 1000000010000000 80000000000000000000000000000000"},
        {{"TIMESTAMP(6)"},
         "00000001 0000000000000000 40420f0010000000 0000000000000000"}, /* 10^6 ns */
        {{"TIMESTAMP(6)"}, "00000001 0000000000000000 0000000010000000 00000000000000"},
        {{"TIMESTAMP(6)"}, "00000001 0000000000000000 0000000000000000 0000000000000000"},
        {{"VARIANT"}, "00000001 0000000000000000 0300000010000000 0000000000000000"},
        {{"VARIANT"}, "00000001 0000000000000000 0800000010000000 0500000000000000"},
        {{"VARIANT"}, "00000001 0000000000000000 0800000010000000 ffffffff00000000"},
        {{"INT ARRAY"}, "00000001 0000000000000000 0900000010000000 0000000000000000"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct binrow_type t = golden_sql_types(&cx, bad[i].types);
        struct binrow_value v[2];
        ctx_reset_err(&cx);
        if (binrow_read(&cx, &t, hex(bad[i].row), v) != E_CORRUPT)
            fail_msg("%s: %s was taken", bad[i].types[0], bad[i].row);
        assert_true(strlen(cx.err.msg) > 10);
    }
}

static void every_prefix_of_a_row(void **state)
{
    (void)state;
    str rest = golden_file(&cx, "tests/golden/binrow/rows.tsv"), f[11];
    struct binrow_value v[VALUES_MAX], all[VALUES_MAX];
    for (size_t k = 0; golden_line(&rest, f, 11) == 11; k++) {
        if (k % 7)
            continue;
        struct binrow_type t = golden_types(&cx, f[0]);
        str row = golden_unhex(&cx, f[2]);
        assert_int_equal(binrow_read(&cx, &t, row, all), 0);
        for (size_t n = 0; n < row.len; n++) { /* what is cut may be room of nulls, and padding */
            char *copy = malloc(n ? n : 1);    /* so that the sanitizer sees a byte too far */
            assert_non_null(copy);
            memcpy(copy, row.p, n);
            int rc = binrow_read(&cx, &t, str_n(copy, n), v);
            assert_true(rc == E_CORRUPT || (rc == 0 && binrow_cmp(v, all, t.n) == 0));
            free(copy);
        }
    }
}

static void no_memory(void **state)
{
    (void)state;
    static const char *const types[] = {"STRING", NULL};
    struct binrow_type t = golden_sql_types(&cx, types);
    struct binrow_value v = text("a text of more than seven bytes");
    CLEANUP(buf_done) struct buf b;
    uint64_t h = 7;
    int32_t bucket = 7;
    buf_init(&b, 30);
    assert_int_equal(binrow_hash(&t, &v, &b, &h), E_TOOBIG);
    buf_clear(&b);
    assert_int_equal(bucket_of(&cx, BUCKET_DEFAULT, &t, &v, 3, BINROW_JAVA, &b, &bucket), E_TOOBIG);
    buf_clear(&b);
    binrow_write(&b, &t, &v);
    assert_int_equal(buf_fail(&b), E_TOOBIG);
    assert_true(h == 7 && bucket == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_of_java, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_of_python, setup, teardown),
        cmocka_unit_test_setup_teardown(bucket_vectors, setup, teardown),
        cmocka_unit_test_setup_teardown(python_and_java_are_equal, setup, teardown),
        cmocka_unit_test_setup_teardown(order_of_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(differs, setup, teardown),
        cmocka_unit_test_setup_teardown(leftovers_do_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(hostile_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(every_prefix_of_a_row, setup, teardown),
        cmocka_unit_test_setup_teardown(no_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
