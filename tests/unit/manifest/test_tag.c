/* test_tag.c - the members that only a tag's file has: as Java and pypaimon write them, as we do,
 * and what they must not be. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "manifest/snapshot.h"
#include "manifest/tag.h"

#define N(a)    (sizeof(a) / sizeof((a)[0]))
#define CREATED "\"tagCreateTime\":"
#define KEPT    "\"tagTimeRetained\":"

static struct ctx cx;

static void zone(const char *name)
{
    setenv("TZ", name, 1);
    tzset();
}

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 1 << 22);
    zone("UTC");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ctx_done(&cx);
    return 0;
}

static void assert_text(str got, const char *want)
{
    if (!str_eqz(got, want))
        fail_msg("got %.*s, want %s", STR(got), want);
}

static struct tag_extra extra(const char *text)
{
    struct tag_extra x;
    if (tag_extra_decode(&cx, str_of(text), STR_LIT("f"), &x) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return x;
}

static void created(const char *array, int64_t ms)
{
    char text[128];
    snprintf(text, sizeof text, "{" CREATED "%s}", array);
    struct tag_extra x = extra(text);
    assert_true(x.has_created);
    if (x.created_ms != ms)
        fail_msg("%s: %lld, want %lld", array, (long long)x.created_ms, (long long)ms);
    assert_null(x.retained.p);
}

static void create_times(void **state)
{
    (void)state;
    created("[ 2026, 11, 30, 12, 5, 24, 392523137 ]", 1796040324392);
    created("[2026,11,30,12,5,24]", 1796040324000);
    created("[2026,11,30,12,5]", 1796040300000);
    created("[1970,1,1,0,0,0,999999]", 0);
    created("[1970,1,1,0,0,0,1000000]", 1);
    created("[1969,12,31,23,59,59]", -1000);
    created("[2024,2,29,0,0]", 1709164800000);
    created("[2000,2,29,0,0]", 951782400000);
    created("[1,1,1,0,0]", -62135596800000);
    created("[9999,12,31,23,59,59,999999999]", 253402300799999);
}

/* Of an hour that comes twice the first is meant, as with Java. */
static void create_times_with_summer_time(void **state)
{
    (void)state;
    zone("CET-1CEST,M3.5.0,M10.5.0/3");
    created("[2026,7,1,12,0]", 1782900000000);
    created("[2026,12,1,12,0]", 1796122800000);
    created("[2026,10,25,1,30]", 1792884600000);
    created("[2026,10,25,2,30]", 1792888200000); /* still in summer time */
    created("[2026,10,25,3,30]", 1792895400000);
    zone("XYZ+4:30");
    created("[2026,11,30,12,5,24]", 1796040324000 + 16200000);
}

static void no_members(void **state)
{
    (void)state;
    const char *texts[] = {"{}", "{" CREATED "null," KEPT "null}", "{\"x\":[1]}"};
    for (size_t i = 0; i < N(texts); i++) {
        struct tag_extra x = extra(texts[i]);
        assert_false(x.has_created);
        assert_null(x.retained.p);
    }
}

static void retentions(void **state)
{
    (void)state;
    assert_text(extra("{" KEPT "86400.000000000}").retained, "1d");
    assert_text(extra("{" KEPT "86400.0}").retained, "1d");
    assert_text(extra("{" KEPT "0.0}").retained, "0s");
    assert_text(extra("{" KEPT "5.00E-7}").retained, "500ns");
    assert_text(extra("{" KEPT "1e-06}").retained, "1micro");
    assert_text(extra("{" KEPT "9223372036854775807}").retained, "9223372036854775807s");
    assert_text(extra("{" KEPT "\"PT24H\"}").retained, "PT24H");
}

static void damaged(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{" CREATED "1}",
        "{" CREATED "\"2026-01-01T00:00\"}",
        "{" CREATED "{}}",
        "{" CREATED "true}",
        "{" CREATED "[]}",
        "{" CREATED "[2026,1,1,0]}",
        "{" CREATED "[2026,1,1,0,0,0,0,0]}",
        "{" CREATED "[2026,1,1,0,0,null]}",
        "{" CREATED "[2026,1,1,0,0.0]}",
        "{" CREATED "[0,1,1,0,0]}",
        "{" CREATED "[10000,1,1,0,0]}",
        "{" CREATED "[-1,1,1,0,0]}",
        "{" CREATED "[2026,0,1,0,0]}",
        "{" CREATED "[2026,13,1,0,0]}",
        "{" CREATED "[2026,1,0,0,0]}",
        "{" CREATED "[2026,1,32,0,0]}",
        "{" CREATED "[2026,4,31,0,0]}",
        "{" CREATED "[2026,2,29,0,0]}",
        "{" CREATED "[2100,2,29,0,0]}",
        "{" CREATED "[2026,1,1,24,0]}",
        "{" CREATED "[2026,1,1,0,60]}",
        "{" CREATED "[2026,1,1,0,0,60]}",
        "{" CREATED "[2026,1,1,0,0,0,1000000000]}",
        "{" CREATED "[2026,1,1,0,0,0,-1]}",
        "{" CREATED "[9223372036854775807,1,1,0,0]}",
        "{" KEPT "-1}",
        "{" KEPT "1e19}",
        "{" KEPT "true}",
        "{" KEPT "[]}",
        "{" KEPT "{}}",
        "",
        "{",
        "\x01",
    };
    for (size_t i = 0; i < N(bad); i++) {
        struct tag_extra x = {.created_ms = 77};
        if (tag_extra_decode(&cx, str_of(bad[i]), STR_LIT("tag/tag-x"), &x) != E_CORRUPT)
            fail_msg("%s was taken", bad[i]);
        assert_int_equal(x.created_ms, 77);
        assert_non_null(strstr(cx.err.msg, "tag/tag-x"));
        ctx_reset_err(&cx);
    }
}

static void assert_encode(const char *snapshot, const struct duration *d, int64_t ms,
                          const char *want)
{
    str got;
    assert_int_equal(tag_encode(&cx, str_of(snapshot), d, ms, &got), 0);
    assert_text(got, want);
}

static void written(void **state)
{
    (void)state;
    static const struct duration day = {86400, 0}, none = {0, 0}, micro = {0, 1000};
    /* For ever: the very text. */
    assert_encode(" { \"id\" : 1 } ", NULL, 0, " { \"id\" : 1 } ");
    assert_encode("{\"id\":1,\"x\":{\"y\":[1.50,2e3]}}", &day, 1796040324392,
                  "{\"id\":1,\"x\":{\"y\":[1.50,2e3]}," CREATED
                  "[2026,11,30,12,5,24,392000000]," KEPT "86400.000000000}");
    assert_encode("{}", &none, 1796040324000, "{" CREATED "[2026,11,30,12,5,24]," KEPT "0.0}");
    assert_encode("{}", &micro, 1796040300000,
                  "{" CREATED "[2026,11,30,12,5]," KEPT "0.000001000}");
    assert_encode("{}", &day, 1796040300007,
                  "{" CREATED "[2026,11,30,12,5,0,7000000]," KEPT "86400.000000000}");
    /* What a snapshot has under these names is not a tag's. */
    assert_encode("{\"a\\u00e4\":1," CREATED "7,\"b\":\"\\u0041\"," KEPT "8}", NULL, 0,
                  "{\"a\xc3\xa4\":1,\"b\":\"\\u0041\"}");
    assert_encode("{" CREATED "7,\"b\":9223372036854775808}", &day, 1796040300000,
                  "{\"b\":9223372036854775808," CREATED "[2026,11,30,12,5]," KEPT
                  "86400.000000000}");
    zone("XYZ-5:45");
    assert_encode("{}", &none, 1796040324000, "{" CREATED "[2026,11,30,17,50,24]," KEPT "0.0}");
}

static const char java_tag[] =
    "{\n  \"version\" : 3,\n  \"id\" : 3,\n  \"schemaId\" : 0,\n"
    "  \"baseManifestList\" : \"manifest-list-a-0\",\n  \"baseManifestListSize\" : 1037,\n"
    "  \"deltaManifestList\" : \"manifest-list-a-1\",\n  \"changelogManifestList\" : null,\n"
    "  \"commitUser\" : \"u\",\n  \"commitIdentifier\" : 9223372036854775807,\n"
    "  \"commitKind\" : \"APPEND\",\n  \"timeMillis\" : 1796040323424,\n"
    "  \"logOffsets\" : { },\n  \"totalRecordCount\" : 10,\n  \"deltaRecordCount\" : 2,\n"
    "  \"tagCreateTime\" : [ 2026, 11, 30, 12, 5, 24, 392523137 ],\n"
    "  \"tagTimeRetained\" : 86400.000000000\n}";

static void trimmed(void **state)
{
    (void)state;
    str got;
    struct snapshot tag, snap;
    assert_int_equal(tag_trim(&cx, str_of(java_tag), &got), 0);
    assert_null(memmem(got.p, got.len, "tagCreateTime", 13));
    assert_null(memmem(got.p, got.len, "tagTimeRetained", 15));
    assert_non_null(memmem(got.p, got.len, "\"logOffsets\":{ }", 16));
    assert_int_equal(snapshot_decode_file(&cx, str_of(java_tag), STR_LIT("a"), &tag), 0);
    assert_int_equal(snapshot_decode_file(&cx, got, STR_LIT("b"), &snap), 0);
    assert_true(snapshot_same(&tag, &snap));
    assert_int_equal(snap.commit_identifier, INT64_MAX);
    str again;
    assert_int_equal(tag_trim(&cx, got, &again), 0);
    assert_true(again.p == got.p && again.len == got.len); /* nothing to take out */
    assert_int_equal(tag_trim(&cx, STR_LIT("{\"id\":1"), &again), E_INVAL);
}

/* What we write is what we read, in any zone. */
static void there_and_back(void **state)
{
    (void)state;
    const char *zones[] = {"UTC", "CET-1CEST,M3.5.0,M10.5.0/3", "XYZ+9:30", "XYZ-14"};
    for (size_t z = 0; z < N(zones); z++) {
        zone(zones[z]);
        for (int64_t ms = 1700000000000; ms < 1740000000000; ms += 3456789123) {
            struct duration d = {ms % 100000, 0};
            struct tag_extra x;
            str text;
            assert_int_equal(tag_encode(&cx, STR_LIT("{}"), &d, ms, &text), 0);
            assert_int_equal(tag_extra_decode(&cx, text, STR_LIT("f"), &x), 0);
            assert_int_equal(x.created_ms, ms);
        }
    }
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {T(create_times), T(create_times_with_summer_time),
                                       T(no_members),   T(retentions),
                                       T(damaged),      T(written),
                                       T(trimmed),      T(there_and_back)};
    return cmocka_run_group_tests_name("tag", tests, NULL, NULL);
}
