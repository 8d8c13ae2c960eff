/* test_path.c - names, form encoding, directory names and absolute paths, mostly hostile ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/base/mem.h"
#include "proto/base/path.h"

static int setup(void **state)
{
    static struct ctx cx;
    ctx_init(&cx, 1 << 20);
    *state = &cx;
    return 0;
}

static int teardown(void **state)
{
    ctx_done(*state);
    return 0;
}

static void components(void **state)
{
    struct ctx *cx = *state;
    char longest[256];
    memset(longest, 'x', sizeof(longest));
    const str good[] = {STR_LIT("a"),        STR_LIT("..."),     STR_LIT(".a"),     STR_LIT("a.."),
                        STR_LIT(" "),        STR_LIT("a\\b"),    STR_LIT("%2e%2e"), STR_LIT("..\n"),
                        STR_LIT("\xc3\xa9"), str_n(longest, 255)};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(path_component_ok(good[i]));
        assert_int_equal(path_component(cx, good[i], "table name"), 0);
        assert_int_equal(cx->err.code, 0);
    }
    const str bad[] = {STR_NONE,         STR_LIT(""),        STR_LIT("."),   STR_LIT(".."),
                       STR_LIT("/"),     STR_LIT("a/b"),     STR_LIT("/a"),  STR_LIT("a/"),
                       STR_LIT("../x"),  STR_LIT("\0"),      STR_LIT("a\0"), STR_LIT("..\0"),
                       STR_LIT("a\0/b"), str_n(longest, 256)};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(path_component_ok(bad[i]));
        ctx_reset_err(cx);
        assert_int_equal(path_component(cx, bad[i], "table name"), E_INVAL);
        /* The name of a table becomes no part of a path: there '/' is a byte like others. */
        bool slash = str_find(bad[i], '/') >= 0 && bad[i].len <= PATH_COMPONENT_MAX &&
                     str_find(bad[i], 0) < 0;
        assert_int_equal(path_object_name(cx, bad[i], "table name"), slash ? 0 : E_INVAL);
        assert_int_equal(cx->err.code, E_INVAL);
        assert_non_null(strstr(cx->err.msg, "table name"));
    }
}

static void form_decodes(void **state)
{
    struct ctx *cx = *state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"a+b", "a b"},
        {"a%2Bb", "a+b"},
        {"a%2bb%20c", "a+b c"},
        {"%C3%A9%f0%9F%98%80", "\xc3\xa9\xf0\x9f\x98\x80"},
        {"\xc3\xa9", "\xc3\xa9"}, /* unescaped UTF-8 is taken as it is */
        {"\xc3%A9", "\xc3\xa9"},
        {"%2E%2e%2F", "../"}, /* decoding is not checking */
        {"100%25", "100%"},
        {"%2525", "%25"}, /* once, not twice */
        {"*-._~!'()", "*-._~!'()"},
        {"%01%7F", "\x01\x7f"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        str out = STR_NONE;
        assert_int_equal(path_form_decode(cx, str_of(cases[i].in), &out), 0);
        assert_non_null(out.p);
        assert_int_equal(out.len, strlen(cases[i].out));
        assert_memory_equal(out.p, cases[i].out, out.len);
    }
}

static void form_decode_refuses(void **state)
{
    struct ctx *cx = *state;
    const str bad[] = {
        STR_LIT("%"),      STR_LIT("a%"),        STR_LIT("%4"),        STR_LIT("%4%"),
        STR_LIT("%G1"),    STR_LIT("%1g"),       STR_LIT("%-1"),       STR_LIT("% 1"),
        STR_LIT("%u0041"), STR_LIT("%%41"),      STR_LIT("%00"),       STR_LIT("a%00b"),
        STR_LIT("a\0b"),   STR_LIT("%FF"),       STR_LIT("%C3"),       STR_LIT("%C3+"),
        STR_LIT("%C0%AF"), STR_LIT("%E0%80%AF"), STR_LIT("%ED%A0%80"), STR_LIT("%F4%90%80%80"),
        STR_LIT("\xff"),   str_n("%41", 2),
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        str out = STR_LIT("untouched");
        ctx_reset_err(cx);
        assert_int_equal(path_form_decode(cx, bad[i], &out), E_INVAL);
        assert_true(str_eqz(out, "untouched"));
        assert_true(strlen(cx->err.msg) > 10);
        assert_true(str_utf8_valid(str_of(cx->err.msg)));
    }
    str out;
    ctx_done(cx); /* no block with room is left */
    mem_fail_at(1, 0);
    assert_int_equal(path_form_decode(cx, STR_LIT("x"), &out), E_NOMEM);
    mem_fail_at(0, 0);
}

static const char *dir_name(struct buf *b, str name)
{
    buf_clear(b);
    path_dir_name(b, name);
    return buf_z(b);
}

static void dir_names(void **state)
{
    (void)state;
    struct buf b = {0};
    static const char *const same[] = {"a", "orders", "A-z_0.9", "-", "_", "a..b", "a.", "x-2"};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        assert_string_equal(dir_name(&b, str_of(same[i])), same[i]);
    /* Pinned: directories of tables that exist carry these names. */
    assert_string_equal(dir_name(&b, STR_LIT("")), "-2d068005");
    assert_string_equal(dir_name(&b, STR_LIT("a b")), "a_b-8044f8a6");
    assert_string_equal(dir_name(&b, STR_LIT("..")), "_.-482c6323");
    assert_string_equal(dir_name(&b, STR_LIT("caf\xc3\xa9")), "caf__-4c83dbd5");
    buf_done(&b);
}

static void dir_names_are_safe_and_differ(void **state)
{
    (void)state;
    struct buf b = {0}, other = {0};
    const str names[] = {
        STR_LIT(""),
        STR_LIT("."),
        STR_LIT(".."),
        STR_LIT("..."),
        STR_LIT(".hidden"),
        STR_LIT("a/b"),
        STR_LIT("a%2Fb"),
        STR_LIT("a b"),
        STR_LIT("a_b"),
        STR_LIT("a\0b"),
        STR_LIT("a\nb"),
        STR_LIT("a\\b"),
        STR_LIT("\xff"),
        STR_LIT("\xc3\xa9"),
        STR_LIT("%"),
        STR_LIT("/"),
        STR_LIT("../../etc/passwd"),
    };
    size_t n = sizeof(names) / sizeof(names[0]);
    for (size_t i = 0; i < n; i++) {
        str got = str_of(dir_name(&b, names[i]));
        assert_true(path_component_ok(got));
        assert_true(got.p[0] != '.');
        assert_int_equal(
            strspn(got.p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."),
            got.len);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(got.p, dir_name(&other, names[k]));
    }
    char text[260];
    memset(text, 'd', sizeof(text));
    assert_int_equal(strlen(dir_name(&b, str_n(text, 200))), 200);
    assert_memory_equal(b.p, text, 200);
    assert_int_equal(strlen(dir_name(&b, str_n(text, 201))), 209);
    assert_memory_equal(b.p, text, 200);
    assert_int_equal(b.p[200], '-');
    assert_int_equal(strlen(dir_name(&other, str_n(text, 202))), 209);
    assert_string_not_equal(buf_z(&b), buf_z(&other));
    buf_clear(&b);
    buf_addz(&b, "db/");
    path_dir_name(&b, STR_LIT("t")); /* appends */
    assert_string_equal(buf_z(&b), "db/t");
    buf_done(&b);
    buf_done(&other);
}

static void absolute_paths(void **state)
{
    struct ctx *cx = *state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"/x", "/x"},
        {"/x/", "/x"},
        {"/a/b/c", "/a/b/c"},
        {"file:/a/b", "/a/b"},
        {"file:///a/b/", "/a/b"},
        {"/", "/"},
        {"file:/", "/"},
        {"file:///", "/"},
        {"/a%20b", "/a%20b"}, /* left alone: Java does not decode it */
        {"/a..b/.c/...", "/a..b/.c/..."},
        {"/file:/x", "/file:/x"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        str out = STR_NONE;
        assert_int_equal(path_absolute(cx, str_of(cases[i].in), &out), 0);
        assert_true(str_eqz(out, cases[i].out));
        assert_int_equal(out.p[out.len], 0);
    }
    char text[5000];
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < sizeof(text); i += 2)
        text[i] = '/';
    str out;
    assert_int_equal(path_absolute(cx, str_n(text, 4094), &out), 0);
    assert_int_equal(out.len, 4094);
    assert_int_equal(path_absolute(cx, str_n(text, 4096), &out), E_INVAL);
    ctx_done(cx);
    mem_fail_at(1, 1);
    assert_int_equal(path_absolute(cx, STR_LIT("/x"), &out), E_NOMEM);
    mem_fail_at(0, 0);
}

static void absolute_paths_refused(void **state)
{
    struct ctx *cx = *state;
    char component[300];
    memset(component, 'x', sizeof(component));
    component[0] = '/';
    const str bad[] = {
        STR_NONE,
        STR_LIT(""),
        STR_LIT("x"),
        STR_LIT("x/y"),
        STR_LIT("./x"),
        STR_LIT("../x"),
        STR_LIT("~"),
        STR_LIT("//"),
        STR_LIT("//x"),
        STR_LIT("/x//"),
        STR_LIT("/x//y"),
        STR_LIT("/."),
        STR_LIT("/.."),
        STR_LIT("/../"),
        STR_LIT("/./"),
        STR_LIT("/a/./b"),
        STR_LIT("/a/../b"),
        STR_LIT("/a/b/../c"),
        STR_LIT("/a/.."),
        STR_LIT("/a/../"),
        STR_LIT("/a\0b"),
        STR_LIT("/a/..\0/b"),
        STR_LIT("file:"),
        STR_LIT("file:x"),
        STR_LIT("file://"),
        STR_LIT("file://host/x"),
        STR_LIT("file:////x"),
        STR_LIT("file:/../x"),
        STR_LIT("file:///../x"),
        STR_LIT("file:/a/../b"),
        STR_LIT("FILE:/x"),
        STR_LIT("s3://bucket/x"),
        STR_LIT("hdfs:/x"),
        STR_LIT(" /x"),
        str_n(component, 257),
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        str out = STR_LIT("untouched");
        ctx_reset_err(cx);
        assert_int_equal(path_absolute(cx, bad[i], &out), E_INVAL);
        assert_true(str_eqz(out, "untouched"));
        assert_true(str_starts(str_of(cx->err.msg), STR_LIT("a path m")));
    }
    str out;
    assert_int_equal(path_absolute(cx, str_n(component, 256), &out), 0);
}

static void within(void **state)
{
    (void)state;
    assert_true(path_within(STR_LIT("/a/b"), STR_LIT("/a/b")));
    assert_true(path_within(STR_LIT("/a/b"), STR_LIT("/a/b/c")));
    assert_false(path_within(STR_LIT("/a/b"), STR_LIT("/a/bc")));
    assert_false(path_within(STR_LIT("/a/b"), STR_LIT("/a")));
    assert_false(path_within(STR_LIT("/a/b"), STR_LIT("/a/c/b")));
    assert_false(path_within(STR_LIT("/a/b"), STR_LIT("/x/a/b")));
    assert_true(path_within(STR_LIT("/"), STR_LIT("/a")));
    assert_true(path_within(STR_LIT("/"), STR_LIT("/")));
    assert_false(path_within(STR_LIT("/a"), STR_LIT("/")));
    assert_false(path_within(STR_NONE, STR_LIT("/a"))); /* no root holds nothing */
    assert_false(path_within(STR_LIT(""), STR_LIT("")));
    assert_false(path_within(STR_LIT("/"), STR_LIT("")));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(components),
        T(form_decodes),
        T(form_decode_refuses),
        T(dir_names),
        T(dir_names_are_safe_and_differ),
        T(absolute_paths),
        T(absolute_paths_refused),
        T(within),
    };
    return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
