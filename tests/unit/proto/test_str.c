/* test_str.c - order, search, numbers, UTF-8, splitting, copies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/base/arena.h"
#include "proto/base/mem.h"
#include "proto/base/str.h"

static void compares_by_bytes_then_length(void **state)
{
    (void)state;
    static const char *const sorted[] = {"", "A", "a", "aa", "ab", "b", "\xc3\xa9", "\xff"};
    int n = (int)(sizeof(sorted) / sizeof(sorted[0]));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            assert_int_equal(str_cmp(str_of(sorted[i]), str_of(sorted[j])), (i > j) - (i < j));
    assert_int_equal(str_cmp(STR_NONE, STR_LIT("")), 0);
    assert_true(str_eq(STR_NONE, STR_LIT("")));
    /* A NUL inside is a byte like others. */
    assert_int_equal(str_cmp(STR_LIT("a\0b"), STR_LIT("a\0c")), -1);
    assert_false(str_eq(STR_LIT("a\0b"), STR_LIT("a")));
}

static void finds_starts_and_ends(void **state)
{
    (void)state;
    str s = STR_LIT("snapshot-17");
    assert_true(str_starts(s, STR_LIT("snapshot-")));
    assert_true(str_starts(s, s));
    assert_true(str_starts(s, STR_NONE));
    assert_false(str_starts(STR_LIT("snap"), s));
    assert_false(str_starts(s, STR_LIT("Snap")));
    assert_true(str_ends(s, STR_LIT("-17")));
    assert_true(str_ends(s, s));
    assert_true(str_ends(STR_NONE, STR_NONE));
    assert_false(str_ends(STR_LIT("17"), s));
    assert_int_equal(str_find(s, '-'), 8);
    assert_int_equal(str_find(s, 'x'), -1);
    assert_int_equal(str_find(STR_NONE, 'x'), -1);
    assert_int_equal(str_find(STR_LIT("a\0b"), 0), 1);
    assert_int_equal(str_find(str_n("abc", 2), 'c'), -1);
    assert_true(str_ieq(STR_LIT("Content-Type"), STR_LIT("content-tYPE")));
    assert_false(str_ieq(STR_LIT("a"), STR_LIT("ab")));
    assert_false(str_ieq(STR_LIT("@"), STR_LIT("`"))); /* differ by the bit of the case only */
    assert_false(str_ieq(STR_LIT("\xc3\x89"), STR_LIT("\xc3\xa9")));
}

static void cuts_and_trims(void **state)
{
    (void)state;
    assert_true(str_eqz(str_cut(STR_LIT("abc"), 1), "bc"));
    assert_int_equal(str_cut(STR_LIT("abc"), 3).len, 0);
    assert_int_equal(str_cut(STR_LIT("abc"), 99).len, 0);
    assert_int_equal(str_cut(STR_NONE, 1).len, 0);
    assert_true(str_eqz(str_trim(STR_LIT(" \t\r\n a b \v\f ")), "a b"));
    assert_int_equal(str_trim(STR_LIT("  \n")).len, 0);
    assert_int_equal(str_trim(STR_NONE).len, 0);
    assert_true(str_eqz(str_trim(STR_LIT("\xc2\xa0x")), "\xc2\xa0x")); /* ASCII blanks only */
}

static void reads_int64(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t v;
    } good[] = {
        {"0", 0},
        {"-0", 0},
        {"007", 7},
        {"-1", -1},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775806", INT64_MAX - 1},
        {"-9223372036854775808", INT64_MIN},
        {"-9223372036854775807", INT64_MIN + 1},
        {"000000000000000000000000000042", 42},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t v = 99;
        assert_true(str_to_i64(str_of(good[i].text), &v));
        assert_int_equal(v, good[i].v);
    }
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "1e3",
                                      "0x1",
                                      "--1",
                                      "1-",
                                      "/",
                                      ":",
                                      "\xd9\xa1",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "92233720368547758070",
                                      "18446744073709551616",
                                      "-92233720368547758080",
                                      "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t v = 99;
        assert_false(str_to_i64(str_of(bad[i]), &v));
        assert_int_equal(v, 99); /* not written on failure */
    }
    int64_t v = 99;
    assert_false(str_to_i64(STR_LIT("1\0"), &v));
    assert_false(str_to_i64(STR_NONE, &v));
    assert_true(str_to_i64(str_n("123", 2), &v)); /* the length rules, not a NUL */
    assert_int_equal(v, 12);
}

static void knows_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t first;
    } good[] = {
        {"a", 1},
        {"\x7f", 1},
        {"\xc2\x80", 2},         /* U+0080 */
        {"\xdf\xbf", 2},         /* U+07FF */
        {"\xe0\xa0\x80", 3},     /* U+0800 */
        {"\xed\x9f\xbf", 3},     /* U+D7FF, the last before the surrogates */
        {"\xee\x80\x80", 3},     /* U+E000, the first after them */
        {"\xef\xbf\xbf", 3},     /* U+FFFF */
        {"\xf0\x90\x80\x80", 4}, /* U+10000 */
        {"\xf4\x8f\xbf\xbf", 4}, /* U+10FFFF */
        {"\xe6\xbc\xa2\xe5\xad\x97", 3},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(str_utf8_valid(str_of(good[i].text)));
        assert_int_equal(str_utf8_char(str_of(good[i].text)), good[i].first);
    }
    assert_true(str_utf8_valid(STR_NONE));
    assert_true(str_utf8_valid(STR_LIT("a\0b")));
    assert_int_equal(str_utf8_char(STR_NONE), 0);
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc3",
        "\xc3(",
        "\xff",
        "\xfe",
        "\xc0\x80",
        "\xc1\xbf",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xf0\x80\x80\x80", /* overlong */
        "\xf0\x8f\xbf\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xed\xa0\xbd\xed\xb8\x80", /* surrogates */
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf8\x88\x80\x80\x80", /* past U+10FFFF */
        "\xe6\xbc",
        "\xf0\x9f\x98",
        "\xe6(\xa2",
        "\xe6\xbc(",
        "\xf0\x9f\x98(" /* cut short */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(str_utf8_valid(str_of(bad[i])));
        assert_int_equal(str_utf8_char(str_of(bad[i])), 0);
    }
    assert_false(str_utf8_valid(STR_LIT("good until\xc3")));
    assert_false(str_utf8_valid(str_n("\xe6\xbc\xa2", 2))); /* what follows is not looked at */
}

/* Each number below 0x10000 in both forms: valid when it is a character and not overlong. */
static void knows_every_two_and_three_byte_form(void **state)
{
    (void)state;
    for (unsigned cp = 0; cp < 0x10000; cp++) {
        char three[] = {(char)(0xE0 | cp >> 12), (char)(0x80 | (cp >> 6 & 63)),
                        (char)(0x80 | (cp & 63))};
        bool ok = cp >= 0x800 && (cp < 0xD800 || cp > 0xDFFF);
        assert_int_equal(str_utf8_valid(str_n(three, 3)), ok);
        if (cp < 0x800) {
            char two[] = {(char)(0xC0 | cp >> 6), (char)(0x80 | (cp & 63))};
            assert_int_equal(str_utf8_valid(str_n(two, 2)), cp >= 0x80);
        }
    }
}

static void splits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *parts[4];
    } cases[] = {
        {"a,b,c", {"a", "b", "c"}}, {"a", {"a"}},      {"", {""}},
        {"a,", {"a", ""}},          {",a", {"", "a"}}, {",,", {"", "", ""}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        str rest = str_of(cases[i].text), part;
        for (int k = 0; cases[i].parts[k]; k++) {
            assert_true(str_split(&rest, ',', &part));
            assert_true(str_eqz(part, cases[i].parts[k]));
        }
        assert_false(str_split(&rest, ',', &part));
        assert_null(rest.p);
    }
    str none = STR_NONE, part;
    assert_false(str_split(&none, ',', &part));
}

static void copies(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    char text[] = "hello";
    str copy = str_dup(&a, str_n(text, 4));
    text[0] = 'J';
    assert_int_equal(copy.len, 4);
    assert_string_equal(copy.p, "hell");
    assert_string_equal(str_dupz(&a, str_n(text, 5)), "Jello");
    copy = str_dup(&a, STR_LIT(""));
    assert_non_null(copy.p); /* empty stays empty, */
    assert_int_equal(copy.len, 0);
    assert_null(str_dup(&a, STR_NONE).p); /* absent stays absent */
    assert_null(str_dupz(&a, STR_NONE));
    arena_done(&a);
    mem_fail_at(1, 0);
    assert_null(str_dup(&a, STR_LIT("x")).p);
    mem_fail_at(0, 0);
    arena_done(&a);
}

static void shortened_to(struct arena *a, const char *s, size_t max, const char *want)
{
    str got = str_shortened(a, str_of(s), max);
    assert_non_null(got.p);
    assert_string_equal(got.p, want);
    assert_int_equal(got.len, strlen(want));
    assert_true(got.len <= max);
}

static void leaves_out_the_middle(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    shortened_to(&a, "0123456789", 10, "0123456789");
    shortened_to(&a, "0123456789", 9, "012...789");
    shortened_to(&a, "0123456789", 8, "012...89");
    shortened_to(&a, "0123456789", 5, "0...9");
    shortened_to(&a, "0123456789", 4, "0...");
    shortened_to(&a, "0123456789", 3, "...");
    shortened_to(&a, "0123456789", 2, "..");
    shortened_to(&a, "0123456789", 0, "");
    shortened_to(&a, "", 0, "");
    /* characters of 2 and 3 bytes stay whole */
    shortened_to(&a, "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", 9, "\u00e9...\u00e9");
    shortened_to(&a, "\u20ac\u20ac\u20ac\u20ac\u20ac", 12, "\u20ac...\u20ac");
    shortened_to(&a, "\u20ac\u20ac\u20ac\u20ac\u20ac", 7, "...");
    assert_string_equal(str_shortened(&a, STR_NONE, 5).p, "");
    arena_done(&a);
    mem_fail_at(1, 0);
    assert_null(str_shortened(&a, STR_LIT("0123456789"), 5).p);
    mem_fail_at(0, 0);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compares_by_bytes_then_length),
        cmocka_unit_test(finds_starts_and_ends),
        cmocka_unit_test(cuts_and_trims),
        cmocka_unit_test(reads_int64),
        cmocka_unit_test(knows_utf8),
        cmocka_unit_test(knows_every_two_and_three_byte_form),
        cmocka_unit_test(splits),
        cmocka_unit_test(copies),
        cmocka_unit_test(leaves_out_the_middle),
    };
    return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
