/* test_options.c - the list of options, and how their texts are read. */
#define ARENA_BYTES (1 << 20)
#include "tests/unit/manifest/fixture.h"

#include "manifest/java_text.h"
#include "manifest/options.h"

/* Up to two options "key", "value" in the order of their keys. */
static struct kv items[2];

static struct kv_list set(const char *k1, const char *v1, const char *k2, const char *v2)
{
    struct kv_list l = {items, 0};
    if (k1)
        items[l.n++] = (struct kv){str_of(k1), str_of(v1)};
    if (k2)
        items[l.n++] = (struct kv){str_of(k2), str_of(v2)};
    return l;
}

static struct kv_list one(const char *key, const char *value)
{
    return set(key, value, NULL, NULL);
}

/* --- the list --------------------------------------------------------------------------------- */

static const char *const keys[] = {
#define OPT(where, key, type, dflt, values) key,
#include "manifest/options.def"
};

static const struct {
    const char *key, *other;
} formers[] = {
#define OPT_WAS(key, other) {key, other},
#include "manifest/options.def"
};

static void test_list(void **state)
{
    (void)state;
    size_t n = sizeof keys / sizeof *keys;
    assert_true(n > 300);
    for (size_t i = 0; i < n; i++) {
        const struct option *o = opt_find(str_of(keys[i]));
        assert_non_null(o);
        assert_true(str_eqz(o->key, keys[i]));
        if (i > 0 && str_cmp(str_of(keys[i - 1]), str_of(keys[i])) >= 0)
            fail_msg("options.def: %s is not behind %s", keys[i], keys[i - 1]);
        assert_true((o->type == OPT_TYPE_ENUM) == (o->values.p != NULL));
        if (o->dflt.p && opt_check_value(&cx, o, o->key, o->dflt) != 0)
            fail_msg("the default of %s: %s", keys[i], cx.err.msg);
    }
    for (size_t i = 0; i < sizeof formers / sizeof *formers; i++) {
        const struct option *o = opt_find(str_of(formers[i].other));
        assert_non_null(opt_find(str_of(formers[i].key)));
        assert_non_null(o);
        assert_true(str_eqz(o->key, formers[i].key) || str_eqz(o->key, formers[i].other));
    }
}

static void test_find(void **state)
{
    (void)state;
    assert_null(opt_find(STR_LIT("")));
    assert_null(opt_find(STR_LIT("nope")));
    assert_null(opt_find(STR_LIT("Bucket"))); /* keys have their case */
    assert_null(opt_find(STR_LIT("fields.")));
    assert_null(opt_find(STR_LIT("fields.distinct")));
    assert_null(opt_find(STR_LIT("fields.a.b")));
    assert_null(opt_find(STR_LIT("field.a.distinct")));
    assert_int_equal(opt_find(STR_LIT("fields.a.distinct"))->type, OPT_TYPE_BOOL);
    assert_int_equal(opt_find(STR_LIT("fields.a,b.c.count-limit"))->type, OPT_TYPE_INT);
    assert_int_equal(opt_find(STR_LIT("fields.default-aggregate-function"))->type, OPT_TYPE_STRING);
    assert_true(str_eqz(opt_find(STR_LIT("log.scan"))->key, "scan.mode"));
    assert_true(str_eqz(opt_find(STR_LIT("file.compression"))->key, "file.compression"));
}

/* The key counts, then its former names in their order. */
static void test_former_names(void **state)
{
    (void)state;
    bool b = false;
    struct kv_list o = one("deduplicate.ignore-delete", "true");
    assert_int_equal(opt_bool(&cx, &o, "ignore-delete", &b), 0);
    assert_true(b);
    assert_true(str_eqz(opt_text(&o, "ignore-delete"), "true"));
    o = set("deduplicate.ignore-delete", "true", "first-row.ignore-delete", "false");
    assert_int_equal(opt_bool(&cx, &o, "ignore-delete", &b), 0);
    assert_false(b);
    o = set("first-row.ignore-delete", "max", "ignore-delete", "true");
    assert_int_equal(opt_bool(&cx, &o, "ignore-delete", &b), 0);
    assert_true(b);
    assert_int_equal(opt_check_all(&cx, &o), 0); /* nobody reads the wrong one */
    o = one("first-row.ignore-delete", "max");
    assert_int_equal(opt_check_all(&cx, &o), E_INVAL);
    assert_non_null(strstr(cx.err.msg, "value 'max' for key 'first-row.ignore-delete'"));
    o = one("x", "y");
    assert_null(opt_text(&o, "ignore-delete").p);
}

/* --- texts ------------------------------------------------------------------------------------ */

struct text {
    const char *text;
    int64_t value;
};
#define NO INT64_MIN

static void check_i64(const char *key, const struct text *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct kv_list o = one(key, t[i].text);
        int64_t v = 4711;
        bool time = opt_find(str_of(key))->type == OPT_TYPE_DURATION;
        int rc = time ? opt_duration_ms(&cx, &o, key, &v) : opt_i64(&cx, &o, key, &v);
        if (rc != (t[i].value == NO ? E_INVAL : 0) || (rc == 0 && v != t[i].value))
            fail_msg("%s = \"%s\": %d, %lld", key, t[i].text, rc, (long long)v);
        assert_int_equal(opt_check_all(&cx, &o), rc);
    }
}
#define CHECK_I64(key, t) check_i64(key, t, sizeof t / sizeof *t)

static void test_numbers(void **state)
{
    (void)state;
    static const struct text ints[] = {
        {"0", 0},
        {"-7", -7},
        {"+7", 7},
        {"007", 7},
        {"2147483647", INT32_MAX},
        {"-2147483648", INT32_MIN},
        {"2147483648", NO},
        {"-2147483649", NO},
        {"", NO},
        {"-", NO},
        {"+", NO},
        {" 1", NO},
        {"1 ", NO},
        {"1.0", NO},
        {"0x1", NO},
        {"--1", NO},
        {"1_0", NO},
        {"abc", NO},
    };
    static const struct text longs[] = {
        {"9223372036854775807", INT64_MAX}, {"9223372036854775808", NO},
        {"-9223372036854775809", NO},       {"-9223372036854775807", -INT64_MAX},
        {"99999999999999999999999", NO},
    };
    CHECK_I64("bucket", ints);
    CHECK_I64("scan.snapshot-id", longs);
    struct kv_list o = one("scan.snapshot-id", "-9223372036854775808");
    int64_t v = 0;
    assert_int_equal(opt_i64(&cx, &o, "scan.snapshot-id", &v), 0);
    assert_true(v == INT64_MIN);
    o = one("x", "");
    assert_int_equal(opt_i64(&cx, &o, "bucket", &v), 0); /* the default */
    assert_int_equal(v, -1);
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct text sizes[] = {
        {"64 mb", 64 << 20},
        {"64MB", 64 << 20},
        {"1g", 1 << 30},
        {" 5 k ", 5 << 10},
        {"10", 10},
        {"10 bytes", 10},
        {"2 kibibytes", 2 << 10},
        {"1 T", INT64_C(1) << 40},
        {"8388607 t", INT64_C(8388607) << 40},
        {"8388608 t", NO},
        {"-1", NO},
        {"1.5 g", NO},
        {"1 pb", NO},
        {"", NO},
        {" ", NO},
        {"mb", NO},
        {"9223372036854775808", NO},
        {"1 m b", NO},
    };
    CHECK_I64("target-file-size", sizes);
}

static void test_durations(void **state)
{
    (void)state;
    static const struct text durations[] = {
        {"1 d", 86400000},
        {"10min", 600000},
        {"5", 5},
        {"2 H", 7200000},
        {"3 m", 180000},
        {"1 sec", 1000},
        {"1secs", 1000},
        {"4 millis", 4},
        {"1500 micro", 1},
        {"1 \xc2\xb5s", 0},
        {"1999999 ns", 1},
        {" 1 day ", 86400000},
        {"0 days", 0},
        {"1 week", NO},
        {"", NO},
        {"d", NO},
        {"-1 s", NO},
        {"1.5 h", NO},
        {"9223372036854775807 s", INT64_MAX},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775808", NO},
        {"9223372036854775807 d", NO}, /* Java counts seconds in 64 bits */
    };
    CHECK_I64("snapshot.time-retained", durations);
}

static void check_text(const char *key, const char *const *texts, int want)
{
    for (; *texts; texts++) {
        struct kv_list o = one(key, *texts);
        if (opt_check_all(&cx, &o) != want)
            fail_msg("%s = \"%s\": not %d: %s", key, *texts, want, cx.err.msg);
    }
}

static void test_other_types(void **state)
{
    (void)state;
    static const char *const bools[] = {"true", "TRUE", "fAlse", NULL};
    static const char *const no_bools[] = {"", "1", "yes", " true", "true ", "t", NULL};
    static const char *const doubles[] = {"1",         "0.5",     " 1e3 ", ".5", "5.",
                                          "-Infinity", "NaN",     "+1E-3", "1f", "2D",
                                          "0x1.8p3",   "0x.8P-1", "1e400", NULL};
    static const char *const no_doubles[] = {"",    ".",    "1e", "infinity", "0x1", "1,5", "+-1",
                                             "1ff", "0xp1", "e5", "- 1",      "x",   NULL};
    static const char *const maps[] = {"", "0:avro", "0:avro,3:orc", "0:'a,b:c'", NULL};
    static const char *const no_maps[] = {"0", "0:a:b", "0:avro,orc", NULL};
    static const char *const engines[] = {"deduplicate", "Partial-Update", "FIRST-ROW", NULL};
    static const char *const no_engines[] = {"",  "foo", "dedup", "first_row", "deduplicate ",
                                             "-", NULL};
    static const char *const any[] = {"", "\xc3\xa9", "zstd", NULL};
    static const char *const newer[] = {"latest-delta", NULL}; /* one of 2.1 */
    check_text("write-only", bools, 0);
    check_text("write-only", no_bools, E_INVAL);
    check_text("compaction.delete-ratio-threshold", doubles, 0);
    check_text("compaction.delete-ratio-threshold", no_doubles, E_INVAL);
    check_text("lookup.hash-load-factor", no_doubles, E_INVAL);
    check_text("file.format.per.level", maps, 0);
    check_text("file.format.per.level", no_maps, E_INVAL);
    check_text("merge-engine", engines, 0);
    check_text("merge-engine", no_engines, E_INVAL);
    check_text("file.compression", any, 0);
    check_text("nobody.knows", any, 0);
    check_text("global-index.search-mode", any, 0); /* 1.4 does not know it */
    check_text("fields.a.ignore-retract", no_bools, E_INVAL);
    check_text("fields.a.map.storage-layout", any, 0);
    check_text("scan.mode", newer, 0);
    check_text("scan.mode", no_engines, E_INVAL);
}

static void test_enum_and_messages(void **state)
{
    (void)state;
    str v = STR_NONE;
    bool b;
    struct kv_list o = one("changelog-producer", "Full-Compaction");
    assert_int_equal(opt_enum(&cx, &o, "changelog-producer", &v), 0);
    assert_true(str_eqz(v, "full-compaction"));
    assert_int_equal(opt_enum(&cx, &o, "merge-engine", &v), 0);
    assert_true(str_eqz(v, "deduplicate"));
    o = one("merge-engine", "foo");
    assert_int_equal(opt_enum(&cx, &o, "merge-engine", &v), E_INVAL);
    assert_string_equal(cx.err.msg,
                        "Could not parse value 'foo' for key 'merge-engine': it must be one of "
                        "deduplicate partial-update aggregation first-row");
    assert_true(str_eqz(v, "deduplicate")); /* not written */
    o = one("write-only", "max");
    b = true;
    assert_int_equal(opt_bool(&cx, &o, "write-only", &b), E_INVAL);
    assert_true(b);
    assert_non_null(strstr(cx.err.msg, "true or false"));
    char longer[301];
    memset(longer, 'x', sizeof longer - 1);
    longer[300] = 0;
    o = one("bucket", longer);
    assert_int_equal(opt_check_all(&cx, &o), E_INVAL);
    assert_non_null(strstr(cx.err.msg, "a whole number from -2147483648 to 2147483647"));
}

static size_t parts(const char *text)
{
    str part, rest = java_split_init(str_of(text));
    size_t n = 0;
    while (java_split(&rest, &part))
        n++;
    return n;
}

static void test_split(void **state)
{
    (void)state;
    assert_int_equal(parts(""), 1);
    assert_int_equal(parts("a"), 1);
    assert_int_equal(parts(","), 0);
    assert_int_equal(parts(",,"), 0);
    assert_int_equal(parts("a,,"), 1);
    assert_int_equal(parts(",a"), 2);
    assert_int_equal(parts("a,,b"), 3);
    assert_true(str_eqz(java_trim(STR_LIT("\t\n a b\x01 ")), "a b"));
    assert_int_equal(java_trim(STR_LIT("  ")).len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_list),  T(test_find),      T(test_former_names), T(test_numbers),
        T(test_sizes), T(test_durations), T(test_other_types),  T(test_enum_and_messages),
        T(test_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
