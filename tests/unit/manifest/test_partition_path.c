/* test_partition_path.c - names of partitions against stock Java 1.4.2 (tests/golden/binrow), back again,
 * and what is no partition. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "manifest/java_number.h"
#include "manifest/partition_path.h"
#include "tests/unit/manifest/golden.h"

#define COLUMNS_MAX 200
#define N(a)        (sizeof(a) / sizeof((a)[0]))

static struct ctx cx;
static const struct partition_naming old_names = {STR_LIT("__DEFAULT_PARTITION__"), true};
static const struct partition_naming new_names = {STR_LIT("__DEFAULT_PARTITION__"), false};

static int setup(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    ctx_init(&cx, 256 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

static str *names(size_t n)
{
    str *all = ARENA_ARRAY(&cx.arena, str, n + 1);
    assert_non_null(all);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ctx_text(&cx, &all[i], "k%zu", i), 0);
    return all;
}

/* A name that stands for null or for blanks reads back as null, so only then may it differ. */
static bool same_or_default(const struct binrow_value *v, const struct binrow_value *back, str text,
                            const struct data_type *t)
{
    if (str_eq(text, old_names.default_name))
        return back->tag == BV_NULL;
    if (str_starts(text,
                   STR_LIT("0000-01-01 "))) /* the year 10000 loses its first digit, in Java too */
        return v->ts.ms == 253402300800000;
    if (t->kind == TYPE_TIMESTAMP || t->kind == TYPE_TIMESTAMP_LTZ) /* cut to the precision */
        return back->tag == BV_TIMESTAMP && back->ts.ms == v->ts.ms && back->ts.ns <= v->ts.ns;
    if (t->kind == TYPE_TIME) /* likewise */
        return back->tag == BV_INT && back->i <= v->i && back->i + 1000 > v->i;
    return binrow_cmp_value(v, back) == 0;
}

static void check_path(const struct binrow_type *t, const struct binrow_value *v, str want,
                       const struct partition_naming *naming)
{
    CLEANUP(buf_done) struct buf b = {0};
    str texts[COLUMNS_MAX], *cols = names(t->n);
    int rc = partition_path_write(&cx, t, cols, v, naming, &b);
    if (str_eqz(want, "-")) { /* Java's is another one each time, or it threw */
        assert_int_equal(rc, E_UNSUPPORTED);
        return;
    }
    if (rc < 0)
        fail_msg("%.*s: %s", STR(want), cx.err.msg);
    if (!str_eq(buf_str(&b), want))
        fail_msg("%.*s, not %.*s", STR(buf_str(&b)), STR(want));
    if (partition_path_split(&cx, buf_str(&b), cols, t->n, texts) < 0)
        fail_msg("%s", cx.err.msg);
    for (size_t i = 0; i < t->n; i++) {
        struct binrow_value back;
        if (partition_value_parse(&cx, t->types[i], texts[i], naming, &back) < 0)
            fail_msg("%s", cx.err.msg);
        if (!same_or_default(&v[i], &back, texts[i], t->types[i]))
            fail_msg("%.*s is read as another value", STR(texts[i]));
    }
}

/* Nothing but bytes can fail for its value alone: a null in such a column has a name. */
static bool without_name(const struct binrow_type *t, const struct binrow_value *v, str want)
{
    bool bytes = false, set = false;
    for (size_t i = 0; i < t->n; i++) {
        enum type_kind k = t->types[i]->kind;
        bool odd = k == TYPE_BINARY || k == TYPE_VARBINARY || k >= TYPE_VARIANT;
        bytes |= odd;
        set |= odd && v[i].tag != BV_NULL;
    }
    return str_eqz(want, "-") && bytes && !set;
}

static void names_of_java(void **state)
{
    (void)state;
    str rest = golden_file(&cx, "tests/golden/binrow/rows.tsv"), f[11];
    size_t n = 0;
    while (golden_line(&rest, f, 11) == 11) {
        struct binrow_type t = golden_types(&cx, f[0]);
        struct binrow_value v[COLUMNS_MAX];
        assert_int_equal(binrow_read(&cx, &t, golden_unhex(&cx, f[2]), v), 0);
        if (!without_name(&t, v, f[9]))
            check_path(&t, v, f[9], &old_names);
        if (!without_name(&t, v, f[10]))
            check_path(&t, v, f[10], &new_names);
        n++;
    }
    assert_true(n > 300);
}

/* What only we read: legacy names of timestamps, as later lines of Paimon do. */
static bool ours(const struct data_type *t, str text)
{
    return t->kind == TYPE_TIMESTAMP && str_find(text, 'T') > 0;
}

static void texts_of_java(void **state)
{
    (void)state;
    str rest = golden_file(&cx, "tests/golden/binrow/texts.tsv"), f[3];
    size_t n = 0;
    for (; golden_line(&rest, f, 3) == 3; n++) {
        CLEANUP(buf_done) struct buf b = {0};
        const struct data_type *t = golden_type(&cx, f[0]);
        str text = golden_unhex(&cx, f[1]);
        struct binrow_value v;
        int rc = partition_value_parse(&cx, t, text, &old_names, &v);
        bool none = str_eqz(f[2], "!") || str_eqz(f[2], "~"); /* too many digits: null in Java */
        if (rc == 0)
            golden_add_value(&b, &v);
        if (none ? rc != E_INVAL && !ours(t, text) : rc != 0 || !str_eq(buf_str(&b), f[2]))
            fail_msg("%.*s '%.*s': %.*s (%d), in Java %.*s", STR(f[0]), STR(text), STR(buf_str(&b)),
                     rc, STR(f[2]));
    }
    assert_true(n > 200);
}

static void expect_read(const char *type, const char *text, const char *want)
{
    CLEANUP(buf_done) struct buf b = {0};
    const struct data_type *t;
    struct binrow_value v;
    assert_int_equal(types_parse(&cx, str_of(type), &t), 0);
    int rc = partition_value_parse(&cx, t, str_of(text), &new_names, &v);
    if (!want) {
        assert_int_equal(rc, E_INVAL);
        return;
    }
    assert_int_equal(rc, 0);
    golden_add_value(&b, &v);
    assert_string_equal(buf_z(&b), want);
}

static void more_texts(void **state)
{
    (void)state;
    expect_read("TIMESTAMP(6)", "2024-03-04T10:48", "1709549280000:0");
    expect_read("TIMESTAMP(6)", "2024-03-04T10:48:07.123456", "1709549287123:456000");
    expect_read("TIMESTAMP(6)", "+10000-01-01T00:00", "253402300800000:0");
    expect_read("TIMESTAMP(6)", "-0001-12-31T00:00", "-62167305600000:0");
    expect_read("TIMESTAMP(6)", "2024-03-04 10:48", NULL);
    expect_read("TIMESTAMP(6)", "2024-03-04T", NULL);
    expect_read("TIMESTAMP(6)", "2024-03-04 10:48:07.12x", NULL);
    expect_read("TIMESTAMP(6)", "-1709549287123456", "-1709549287124:544000");
    expect_read("DATE", "__DEFAULT_PARTITION__", "~");
    expect_read("STRING", "__DEFAULT_PARTITION__", "~");
    expect_read("DECIMAL(38, 0)", "340282366920938463463374607431768211456", NULL);
    expect_read("DECIMAL(38, 0)",
                "0000000000000000000000000000000000000000000000000000000000000000000000000000012",
                "12");
    expect_read("DECIMAL(38, 38)", "0.12345678901234567890123456789012345678499999",
                "12345678901234567890123456789012345678");
    expect_read("DECIMAL(38, 38)", "0.123456789012345678901234567890123456785",
                "12345678901234567890123456789012345679");
    expect_read("DECIMAL(5, 0)", "1e1000000", NULL);
    expect_read("DECIMAL(5, 0)", "1e-1000000", "0");
    expect_read("DECIMAL(5, 0)", "1e1000001", NULL);
    expect_read("STRING", "\xff", NULL);
}

static void unreadable_types(void **state)
{
    (void)state;
    static const char *const types[] = {"INT ARRAY", "VARIANT", "BLOB"};
    for (size_t i = 0; i < N(types); i++) {
        const struct data_type *t;
        struct binrow_value v = {.tag = BV_NULL};
        CLEANUP(buf_done) struct buf b = {0};
        assert_int_equal(types_parse(&cx, str_of(types[i]), &t), 0);
        assert_int_equal(partition_value_parse(&cx, t, STR_LIT("1"), &new_names, &v),
                         E_UNSUPPORTED);
        v.tag = binrow_tag_of(t);
        assert_int_equal(partition_text(&cx, t, &v, &new_names, &b), E_UNSUPPORTED);
    }
}

static void out_of_range(void **state)
{
    (void)state;
    static const char *const types[] = {"DATE", "TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE",
                                        NULL};
    struct binrow_type t = golden_sql_types(&cx, types);
    struct binrow_value day = {.tag = BV_INT, .i = INT32_MAX}, old = {.tag = BV_INT, .i = -719529};
    struct binrow_value far = {.tag = BV_TIMESTAMP, .ts.ms = INT64_MIN};
    struct binrow_value end = {.tag = BV_TIMESTAMP, .ts.ms = INT64_MAX};
    CLEANUP(buf_done) struct buf b = {0};
    assert_int_equal(partition_text(&cx, t.types[0], &day, &new_names, &b), E_UNSUPPORTED);
    assert_int_equal(partition_text(&cx, t.types[0], &old, &new_names, &b), E_UNSUPPORTED);
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(partition_text(&cx, t.types[i], &far, &new_names, &b), E_UNSUPPORTED);
        assert_int_equal(partition_text(&cx, t.types[i], &end, &old_names, &b), E_UNSUPPORTED);
        assert_int_equal(partition_text(&cx, t.types[i], &end, &new_names, &b), E_UNSUPPORTED);
    }
    assert_int_equal(b.len, 0);
    assert_int_equal(partition_text(&cx, t.types[0], &day, &old_names, &b), 0);
    assert_string_equal(buf_z(&b), "2147483647");
}

static void local_zone(void **state)
{
    (void)state;
    static const char *const types[] = {"TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(3)", NULL};
    struct binrow_type t = golden_sql_types(&cx, types);
    struct binrow_value v = {.tag = BV_TIMESTAMP, .ts.ms = 1709549287123}, back;
    CLEANUP(buf_done) struct buf b = {0};
    setenv("TZ", "XXX-5:30", 1); /* 5:30 ahead, without a database of zones */
    tzset();
    assert_int_equal(partition_text(&cx, t.types[0], &v, &new_names, &b), 0);
    assert_string_equal(buf_z(&b), "2024-03-04 16:18:07.123");
    assert_int_equal(partition_value_parse(&cx, t.types[0], buf_str(&b), &new_names, &back), 0);
    assert_int_equal(binrow_cmp_value(&v, &back), 0);
    buf_clear(&b);
    assert_int_equal(partition_text(&cx, t.types[1], &v, &new_names, &b), 0);
    assert_string_equal(buf_z(&b), "2024-03-04 10:48:07.123");
}

static void escapes(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"a b", "a b"},
        {"a/b", "a%2Fb"},
        {"%", "%25"},
        {"x=y", "x%3Dy"},
        {"\x01\x1f\x7f", "%01%1F%7F"},
        {"\xc3\xa9", "\xc3\xa9"},
        {"a:b?", "a%3Ab%3F"},
    };
    for (size_t i = 0; i < N(pairs); i++) {
        CLEANUP(buf_done) struct buf b = {0};
        partition_escape(&b, str_of(pairs[i][0]));
        assert_string_equal(buf_z(&b), pairs[i][1]);
        assert_true(str_eqz(partition_unescape(&cx, buf_str(&b)), pairs[i][0]));
    }
    assert_true(str_eqz(partition_unescape(&cx, STR_LIT("%")), "%"));
    assert_true(str_eqz(partition_unescape(&cx, STR_LIT("%4")), "%4"));
    assert_true(str_eqz(partition_unescape(&cx, STR_LIT("%4g%zz%41")), "%4g%zzA"));
    assert_true(str_eqz(partition_unescape(&cx, STR_LIT("%e9%2f")), "\xc3\xa9/"));
}

static void splits(void **state)
{
    (void)state;
    const str cols[] = {STR_LIT("a b"), STR_LIT("c=d")};
    str texts[2];
    static const char *const bad[] = {"",
                                      "a b=1",
                                      "a b=1/",
                                      "a b=1/c%3Dd=2/x=3",
                                      "c%3Dd=2/a b=1",
                                      "a b=/c%3Dd=2",
                                      "=1/c%3Dd=2",
                                      "a b=1//c%3Dd=2",
                                      "a b=1/c%3Dd=2//"};
    assert_int_equal(partition_path_split(&cx, STR_LIT("a b=x%2Fy/c%3Dd==="), cols, 2, texts), 0);
    assert_true(str_eqz(texts[0], "x/y") && str_eqz(texts[1], "=="));
    for (size_t i = 0; i < N(bad); i++)
        if (partition_path_split(&cx, str_of(bad[i]), cols, 2, texts) != E_INVAL)
            fail_msg("'%s' was taken", bad[i]);
    assert_int_equal(partition_path_split(&cx, STR_LIT(""), cols, 0, texts), 0);
    assert_int_equal(partition_path_split(&cx, STR_LIT("x=1"), cols, 0, texts), E_INVAL);
}

static void calendar(void **state)
{
    (void)state;
    for (int64_t day = -4000000; day <= 4000000; day += 37) {
        int64_t year;
        int month, of_month;
        civil_of_day(day, &year, &month, &of_month);
        assert_true(month >= 1 && month <= 12 && of_month >= 1 && of_month <= 31);
        assert_int_equal(day_of_civil(year, month, of_month), day);
    }
    assert_int_equal(day_of_civil(1970, 1, 1), 0);
    assert_int_equal(day_of_civil(2000, 2, 29), 11016);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_of_java, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_of_java, setup, teardown),
        cmocka_unit_test_setup_teardown(more_texts, setup, teardown),
        cmocka_unit_test_setup_teardown(unreadable_types, setup, teardown),
        cmocka_unit_test_setup_teardown(out_of_range, setup, teardown),
        cmocka_unit_test_setup_teardown(local_zone, setup, teardown),
        cmocka_unit_test_setup_teardown(escapes, setup, teardown),
        cmocka_unit_test_setup_teardown(splits, setup, teardown),
        cmocka_unit_test_setup_teardown(calendar, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
