/* test_dv.c - deletion vectors: files made by Java 1.4.2 (tests/golden/dv/java.tsv), by Java 1.3.1 and 2.1
 * and pypaimon in real tables (samples.tsv, with the ranges of their index manifests), set operations,
 * and hostile bytes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "manifest/crc32.h"
#include "manifest/dv.h"
#include "manifest/roaring_check.h"
#include "tests/unit/manifest/golden.h"

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

static void add_range(struct dv *dv, uint64_t from, uint64_t to)
{
    for (uint64_t p = from; p <= to; p++)
        assert_int_equal(dv_add(dv, p), 0);
}

/* "3-3,7-9", or "every 16 below 65536" */
static struct dv *vector_of(str text)
{
    struct dv *dv = dv_new();
    unsigned long long step, end, from, to;
    char z[400];
    str part;
    assert_non_null(dv);
    snprintf(z, sizeof z, "%.*s", STR(text));
    if (sscanf(z, "every %llu below %llu", &step, &end) == 2) {
        for (uint64_t p = 0; p < end; p += step)
            assert_int_equal(dv_add(dv, p), 0);
        return dv;
    }
    while (text.len && str_split(&text, ',', &part)) {
        snprintf(z, sizeof z, "%.*s", STR(part));
        assert_int_equal(sscanf(z, "%llu-%llu", &from, &to), 2);
        add_range(dv, from, to);
    }
    return dv;
}

static struct dv_range range_of(const str f[4])
{
    return (struct dv_range){.offset = (int32_t)golden_int(f[1]),
                             .length = (int32_t)golden_int(f[2]),
                             .cardinality = golden_int(f[3])};
}

static str dv_bytes(str name)
{
    char path[200];
    snprintf(path, sizeof path, "tests/golden/dv/%.*s", STR(name));
    return golden_file(&cx, path);
}

static void check_positions(const struct dv *dv)
{
    uint64_t at = 0, got[7], seen = 0;
    for (size_t n; (n = dv_positions(dv, at, got, 7)) > 0; at = got[n - 1] + 1) {
        for (size_t i = 0; i < n; i++) {
            assert_true(got[i] >= at && (i == 0 || got[i] > got[i - 1]));
            assert_true(dv_contains(dv, got[i]));
        }
        seen += n;
    }
    assert_true(seen == dv_cardinality(dv));
}

static void check_line(const str f[5])
{
    CLEANUP(dv_freep) struct dv *want = vector_of(f[4]);
    CLEANUP(dv_freep) struct dv *got = NULL;
    CLEANUP(dv_freep) struct dv *part = NULL;
    struct dv_range r = range_of(f);
    str file = dv_bytes(f[0]);
    if (dv_read(&cx, f[0], file, 0, &r, &got) < 0)
        fail_msg("%s", cx.err.msg);
    assert_true(dv_equal(want, got) && dv_cardinality(got) == dv_cardinality(want));
    check_positions(got);
    uint64_t at = (uint64_t)r.offset; /* the slice that a ranged read brings */
    str slice = str_cut(file, (size_t)at);
    slice.len = slice.len < (size_t)r.length + 8 ? slice.len : (size_t)r.length + 8;
    assert_int_equal(dv_read(&cx, f[0], slice, at, &r, &part), 0);
    assert_true(dv_equal(part, got));
}

/* The whole file is walked and written again: the same bytes as Java's. */
static void check_file(str name)
{
    CLEANUP(buf_done) struct buf b = {0};
    str file = dv_bytes(name);
    bool gaps = str_eqz(name, "high.v2"); /* Java writes an empty bitmap for the high word 2 */
    size_t at = 0;
    int rc;
    dv_file_begin(&b);
    for (struct dv_range r;;) {
        CLEANUP(dv_freep) struct dv *dv = NULL;
        struct dv_range made;
        rc = dv_file_next(&cx, name, file, &at, &r, &dv);
        if (rc <= 0)
            break;
        bool wide = memcmp(file.p + r.offset + 4, "\xd1\xd3\x39\x64", 4) == 0;
        assert_int_equal(dv_file_add(&cx, &b, dv, wide ? DV_V2 : DV_V1, &made), 0);
        if (!gaps)
            assert_memory_equal(&made, &r, sizeof r);
    }
    assert_int_equal(rc, 0);
    if (!gaps)
        assert_true(str_eq(buf_str(&b), file));
}

static void read_all(const char *list, size_t want)
{
    str rest = golden_file(&cx, list), f[5], last = STR_NONE;
    size_t n = 0;
    for (size_t k; (k = golden_line(&rest, f, 5)) > 0;) {
        if (k == 5)
            check_line(f);
        if (!str_eq(f[0], last))
            check_file(f[0]);
        last = f[0];
        n += k == 5;
    }
    assert_int_equal(n, want);
    check_file(STR_LIT("empty.v1"));
}

static void made_by_java(void **state)
{
    (void)state;
    read_all("tests/golden/dv/java.tsv", 29);
}

static void of_real_tables(void **state)
{
    (void)state;
    read_all("tests/golden/dv/samples.tsv", 15);
}

static void sets(void **state)
{
    (void)state;
    CLEANUP(dv_freep) struct dv *a = vector_of(STR_LIT("1-3,4294967295-4294967297"));
    CLEANUP(dv_freep) struct dv *b = vector_of(STR_LIT("2-5,4294967296-4294967299"));
    CLEANUP(dv_freep) struct dv *none = dv_new();
    uint64_t first = 99, n = 99;
    assert_true(dv_lost(a, b, &first, &n));
    assert_true(first == 1 && n == 2); /* 1 and 4294967295 */
    assert_true(dv_lost(b, a, &first, &n));
    assert_true(first == 4 && n == 4);
    assert_false(dv_subset(a, b) || dv_subset(b, a) || dv_equal(a, b));
    assert_true(dv_subset(none, a) && dv_subset(none, none) && dv_subset(a, a));
    assert_false(dv_subset(a, none));
    assert_false(dv_lost(none, a, &first, &n));
    assert_true(n == 0);
    assert_true(dv_lost(a, none, &first, NULL) && first == 1);
    assert_int_equal(dv_or(a, b), 0);
    assert_true(dv_cardinality(a) == 10 && dv_subset(b, a) && !dv_lost(b, a, &first, &n));
    assert_int_equal(dv_or(none, b), 0);
    assert_true(dv_equal(none, b) && !dv_contains(b, 1) && dv_contains(a, 1));
    uint64_t at[20];
    assert_int_equal(dv_positions(b, 5, at, 20), 5);
    assert_true(at[0] == 5 && at[1] == 4294967296 && at[4] == 4294967299);
    assert_int_equal(dv_positions(b, 4294967300, at, 20), 0);
    assert_int_equal(dv_positions(b, 6, at, 2), 2);
    assert_true(dv_contains(b, 2) && !dv_contains(b, (uint64_t)2 << 32 | 2));
}

/* Against a table of flags, with vectors of all shapes. */
static void like_a_table_of_flags(void **state)
{
    (void)state;
    enum { TOP = 200000 };
    static bool x[TOP], y[TOP];
    uint32_t seed = 1;
    for (int round = 0; round < 12; round++) {
        CLEANUP(dv_freep) struct dv *a = dv_new();
        CLEANUP(dv_freep) struct dv *b = dv_new();
        uint64_t lost = 0, first = 0, got_first = 0, got = 0;
        uint32_t sparse = 1 + (uint32_t)round * 7;
        for (uint32_t i = 0; i < TOP; i++) {
            seed = seed * 1664525 + 1013904223;
            x[i] = (round % 3 == 0 ? i / 5000 : seed >> 8) % sparse == 0;
            y[i] = x[i] && (round % 2 || (seed >> 20) % 1000 != 0);
            if (x[i])
                IGNORE(dv_add(a, i));
            if (y[i])
                IGNORE(dv_add(b, i));
            if (x[i] && !y[i] && lost++ == 0)
                first = i;
        }
        assert_true(dv_lost(a, b, &got_first, &got) == (lost > 0));
        assert_true(got == lost && (lost == 0 || got_first == first));
        assert_true(dv_subset(b, a) && dv_subset(a, b) == (lost == 0));
        for (uint32_t i = 0; i < TOP; i += 17)
            assert_true(dv_contains(a, i) == x[i]);
        CLEANUP(buf_done) struct buf file = {0};
        CLEANUP(dv_freep) struct dv *back = NULL;
        struct dv_range r;
        size_t at = 0;
        dv_file_begin(&file);
        assert_int_equal(dv_file_add(&cx, &file, a, round % 2 ? DV_V1 : DV_V2, &r), 0);
        assert_int_equal(dv_file_next(&cx, STR_LIT("f"), buf_str(&file), &at, &r, &back), 1);
        assert_true(dv_equal(a, back));
    }
}

static void limits(void **state)
{
    (void)state;
    CLEANUP(dv_freep) struct dv *dv = dv_new();
    CLEANUP(buf_done) struct buf b = {0};
    struct dv_range r;
    assert_int_equal(dv_add(dv, DV_POSITION_MAX + 1), E_INVAL);
    assert_int_equal(dv_add(dv, DV_V1_POSITION_MAX), 0);
    assert_int_equal(dv_file_add(&cx, &b, dv, DV_V1, &r), 0);
    assert_int_equal(dv_add(dv, DV_V1_POSITION_MAX + 1), 0);
    assert_int_equal(dv_file_add(&cx, &b, dv, DV_V1, &r), E_UNSUPPORTED);
    assert_int_equal(dv_file_add(&cx, &b, dv, DV_V2, &r), 0);
    assert_int_equal(dv_add(dv, DV_POSITION_MAX), 0);
    CLEANUP(buf_done) struct buf small;
    buf_init(&small, 20);
    dv_file_begin(&small);
    assert_int_equal(dv_file_add(&cx, &small, dv, DV_V2, &r), E_TOOBIG);
}

/* --- hostile --- */

static void refuse(str file, const struct dv_range *r, const char *what)
{
    CLEANUP(dv_freep) struct dv *dv = NULL;
    ctx_reset_err(&cx);
    int rc = dv_read(&cx, STR_LIT("f"), file, 0, r, &dv);
    if (rc != E_CORRUPT || dv)
        fail_msg("%s: %d", what, rc);
    assert_non_null(strstr(cx.err.msg, "'f', byte"));
}

static void wrong_ranges(void **state)
{
    (void)state;
    str file = dv_bytes(STR_LIT("small.v1")), wide = dv_bytes(STR_LIT("small.v2"));
    CLEANUP(dv_freep) struct dv *dv = NULL;
    static const struct dv_range bad[] = {
        {0, 26, -1},  {1, 25, -1},  {1, 27, -1},         {1, 34, -1},       {2, 26, -1},
        {35, 26, -1}, {1, 26, 2},   {1, -26, -1},        {100, 26, -1},     {84, 26, -1},
        {85, 26, -1}, {-1, 26, -1}, {INT32_MAX, 26, -1}, {1, INT32_MIN, -1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(file, &bad[i], "range");
    refuse(wide, &(struct dv_range){1, 38, -1}, "the length of V1 for V2");
    assert_int_equal(dv_read(&cx, STR_LIT("f"), file, 0, &(struct dv_range){1, 26, -1}, &dv), 0);
    CLEANUP(dv_freep) struct dv *behind = NULL;
    assert_int_equal(
        dv_read(&cx, STR_LIT("f"), str_cut(file, 5), 5, &(struct dv_range){1, 26, 3}, &behind),
        E_CORRUPT);
    assert_int_equal(dv_file_check(&cx, STR_LIT("f"), STR_LIT("")), E_CORRUPT);
    assert_int_equal(dv_file_check(&cx, STR_LIT("f"), STR_LIT("\x02")), E_CORRUPT);
    assert_int_equal(dv_file_check(&cx, STR_LIT("f"), file), 0);
}

/* A block around a payload, with the right size and CRC. */
static void block(struct buf *b, str payload)
{
    char word[4];
    uint32_t parts[2] = {(uint32_t)payload.len, crc32_of(payload.p, payload.len)};
    buf_clear(b);
    buf_addc(b, 1);
    for (size_t k = 0; k < 2; k++) {
        for (int i = 0; i < 4; i++)
            word[i] = (char)(parts[k] >> (24 - 8 * i));
        buf_add(b, word, 4);
        if (k == 0)
            buf_adds(b, payload);
    }
}

static str hex(const char *text)
{
    CLEANUP(buf_done) struct buf packed = {0};
    for (const char *p = text; *p; p++)
        if (*p != ' ')
            buf_addc(&packed, *p);
    return golden_unhex(&cx, buf_str(&packed));
}

static void bad_payloads(void **state)
{
    (void)state;
#define V1 "5e43f2d0 "
#define V2 "d1d33964 "
    static const char *const bad[] = {
        V1,
        "5e43f2d1 3a300000 00000000",
        V1 "3a300000",
        V1 "3a300000 00000000 00",                           /* a byte behind it */
        V1 "3b300000 01 0000 0000 0100 0000",                /* runs end early */
        V1 "3a300000 01000000 0000 0000 10000000",           /* array ends early */
        V1 "3a300000 01000000 0000 0100 10000000 0700 0300", /* not ascending */
        V1 "3a300000 01000000 0000 0100 10000000 0300 0300", /* twice */
        V1 "3a300000 01000000 0000 0100 11000000 0300 0700", /* wrong offset */
        V1 "3a300000 02000000 0000 0000 0000 0000 18000000 1a000000 0300 0700", /* key twice */
        V1 "3a300000 01000100 0000 0000", /* 65537 containers */
        V1 "3a300000 ffffffff 0000 0000",
        V1 "3a300000 01000000 0080 0000 10000000 0000",      /* position 2^31 */
        V1 "3b300000 01 0000 0300 0100 0000 0200",           /* run and count differ */
        V1 "3b300000 01 0000 ffff 0000",                     /* no run at all */
        V1 "3b300000 01 0000 0100 0100 ffff 0100",           /* past its container */
        V1 "3b300000 01 0000 0300 0200 0000 0100 0100 0100", /* runs overlap */
        V1 "3b300000 01 0000 0300 0200 0500 0100 0000 0100", /* runs descend */
        V2 "00000000",
        V2 "0100000000000000",
        V2 "0000000000000000 00",
        V2 "ffffffffffffffff 00000000 3a300000 00000000",
        V2 "0200000000000000 00000000 3a300000 00000000",
        V2 "0100000000000000 ffffff7f 3a300000 00000000", /* high word 2^31-1 */
        V2 "0100000000000000 ffffffff 3a300000 00000000",
        V2 "0200000000000000 01000000 3a300000 00000000 01000000 3a300000 00000000",
        V2 "0200000000000000 01000000 3a300000 00000000 00000000 3a300000 00000000",
    };
    CLEANUP(buf_done) struct buf b = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        str payload = hex(bad[i]);
        bool wide = payload.len > 3 && payload.p[0] == (char)0xd1;
        block(&b, payload);
        struct dv_range r = {1, (int32_t)payload.len + (wide ? 8 : 0), -1};
        refuse(buf_str(&b), &r, bad[i]);
    }
    block(&b,
          hex(V2 "0200000000000000 01000000 3a300000 00000000 02000000 3a300000 01000000 0000 0000 "
                 "10000000 0300"));
    CLEANUP(dv_freep) struct dv *dv = NULL;
    struct dv_range r = {1, (int32_t)b.len - 1, 1};
    assert_int_equal(dv_read(&cx, STR_LIT("f"), buf_str(&b), 0, &r, &dv), 0);
    assert_true(dv_contains(dv, (uint64_t)2 << 32 | 3)); /* the empty bitmap is none */
}

/* Every bit of small files, turned over: the CRC finds it, or a size is wrong. With a right CRC, what is
 * taken must still be a vector that is read back as the same. */
static void every_bit(void **state)
{
    (void)state;
    static const char *const names[] = {"small.v1", "small.v2", "java-1.3.1-pk_dv32-0"};
    for (size_t k = 0; k < 3; k++) {
        str good = dv_bytes(str_of(names[k]));
        size_t size = (size_t)(unsigned char)good.p[4];
        for (size_t bit = 0; bit < (size + 9) * 8; bit++) {
            char *copy = malloc(size + 9);
            assert_non_null(copy);
            memcpy(copy, good.p, size + 9);
            copy[bit / 8] = (char)(copy[bit / 8] ^ (1 << bit % 8));
            CLEANUP(dv_freep) struct dv *dv = NULL;
            struct dv_range r;
            size_t at = 0;
            assert_int_equal(dv_file_next(&cx, STR_LIT("f"), str_n(copy, size + 9), &at, &r, &dv),
                             E_CORRUPT);
            ctx_reset_err(&cx);
            CLEANUP(buf_done) struct buf b = {0};
            block(&b, str_n(copy + 5, size));
            at = 0;
            int rc = dv_file_next(&cx, STR_LIT("f"), buf_str(&b), &at, &r, &dv);
            assert_true(rc == 1 || rc == E_CORRUPT);
            if (rc == 1)
                check_positions(dv);
            free(copy);
        }
    }
}

static void every_prefix(void **state)
{
    (void)state;
    str good = dv_bytes(STR_LIT("edge.v2"));
    for (size_t n = 0; n < good.len; n += n < 200 ? 1 : 97) {
        char *copy = malloc(n ? n : 1);
        assert_non_null(copy);
        memcpy(copy, good.p, n);
        size_t at = 0;
        int rc = 1;
        while (rc == 1) {
            CLEANUP(dv_freep) struct dv *dv = NULL;
            struct dv_range r;
            rc = dv_file_next(&cx, STR_LIT("f"), str_n(copy, n), &at, &r, &dv);
        }
        assert_true(rc == E_CORRUPT || (rc == 0 && at == n));
        free(copy);
    }
}

static void checksums(void **state)
{
    (void)state;
    char all[256];
    for (size_t i = 0; i < 256; i++)
        all[i] = (char)i;
    assert_int_equal(crc32_of("", 0), 0);
    assert_int_equal(crc32_of("123456789", 9), 0xcbf43926);
    assert_int_equal(crc32_of(all, 256), 0x29058c73);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(made_by_java, setup, teardown),
        cmocka_unit_test_setup_teardown(of_real_tables, setup, teardown),
        cmocka_unit_test_setup_teardown(sets, setup, teardown),
        cmocka_unit_test_setup_teardown(like_a_table_of_flags, setup, teardown),
        cmocka_unit_test_setup_teardown(limits, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_payloads, setup, teardown),
        cmocka_unit_test_setup_teardown(every_bit, setup, teardown),
        cmocka_unit_test_setup_teardown(every_prefix, setup, teardown),
        cmocka_unit_test_setup_teardown(checksums, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
