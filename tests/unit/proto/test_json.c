/* Tests of proto/json: exact numbers, strict reading, hostile texts, the getters' words, the
 * writer.
 *
 * Every text is copied to a block of exactly its size first, so that ASan sees a read past its end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "proto/base/clock.h"
#include "proto/base/mem.h"
#include "proto/json/json.h"
#include "tests/lib/json_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ARENA    ((size_t)64 << 20)

struct fix {
    struct ctx cx;
    char *text; /* the last text, exactly sized; trees point into it */
    size_t text_len;
};

static int setup(void **state)
{
    struct fix *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    ctx_init(&f->cx, ARENA);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    ctx_done(&f->cx);
    free(f->text);
    free(f);
    return 0;
}

static int parse(struct fix *f, str text, const struct json **ret)
{
    free(f->text);
    f->text = malloc(text.len ? text.len : 1);
    f->text_len = text.len;
    assert_non_null(f->text);
    if (text.len)
        memcpy(f->text, text.p, text.len);
    ctx_done(&f->cx);
    ctx_init(&f->cx, ARENA);
    return json_parse(&f->cx, str_n(f->text, text.len), "request body", ret);
}

static const struct json *good(struct fix *f, str text)
{
    const struct json *v = NULL;
    if (parse(f, text, &v) != 0)
        fail_msg("refused: %.200s: %s", text.p, f->cx.err.msg);
    assert_non_null(v);
    return v;
}

static const struct json *goodz(struct fix *f, const char *text)
{
    return good(f, str_of(text));
}

static void refused(struct fix *f, str text, int code, const char *part)
{
    const struct json *v = (const struct json *)f;
    int rc = parse(f, text, &v);
    if (rc != code || f->cx.err.code != code || !strstr(f->cx.err.msg, part))
        fail_msg("%.200s: answered %d, record %d \"%s\", wanted %d \"%s\"", text.p, rc,
                 f->cx.err.code, f->cx.err.msg, code, part);
    assert_ptr_equal(v, f); /* not written on failure */
}

static void is_str(str got, const char *want)
{
    assert_non_null(got.p);
    if (!str_eqz(got, want))
        fail_msg("\"%.*s\" is not \"%s\"", STR(got), want);
}

static bool inside(const struct fix *f, str s)
{
    return s.p >= f->text && s.p + s.len <= f->text + f->text_len;
}

/* --- values --- */

static void test_each_type(void **state)
{
    struct fix *f = *state;
    const struct json *v = goodz(f, " \t\r\n{\"n\":null,\"t\":true,\"f\":false,\"i\":-7,\"d\":1.50,"
                                    "\"s\":\"x\",\"a\":[1,[2]],\"o\":{\"k\":[]}} \n");
    static const enum json_type types[] = {JSON_NULL,   JSON_BOOL,   JSON_BOOL,  JSON_INT,
                                           JSON_DOUBLE, JSON_STRING, JSON_ARRAY, JSON_OBJECT};
    static const char *const keys[] = {"n", "t", "f", "i", "d", "s", "a", "o"};
    size_t i = 0;
    assert_int_equal(v->type, JSON_OBJECT);
    assert_int_equal(v->n, 8);
    JSON_EACH (it, v) {
        assert_int_equal(it->type, types[i]);
        is_str(it->key, keys[i++]);
    }
    assert_int_equal(i, 8);
    assert_true(json_get(v, "t")->b);
    assert_false(json_get(v, "f")->b);
    assert_int_equal(json_get(v, "i")->i, -7);
    assert_true(json_get(v, "d")->d == 1.5);
    is_str(json_get(v, "d")->s, "1.50");
    is_str(json_get(v, "s")->s, "x");
    assert_int_equal(json_get(v, "a")->n, 2);
    assert_int_equal(json_get(v, "a")->child->next->child->i, 2);
    assert_null(json_get(v, "a")->child->next->next);
    assert_int_equal(json_get(json_get(v, "o"), "k")->n, 0);
    assert_null(json_get(json_get(v, "o"), "k")->child);
}

static void test_raw_is_kept(void **state)
{
    struct fix *f = *state;
    const struct json *v =
        goodz(f, "  { \"a\" : [ 1 ,\t2.0e1 ] , \"\\u0062\":\"x\\ny\",\"c\":{\n} }  ");
    is_str(v->raw, "{ \"a\" : [ 1 ,\t2.0e1 ] , \"\\u0062\":\"x\\ny\",\"c\":{\n} }");
    is_str(json_get(v, "a")->raw, "[ 1 ,\t2.0e1 ]");
    is_str(json_get(v, "a")->child->raw, "1");
    is_str(json_get(v, "a")->child->next->raw, "2.0e1");
    is_str(json_get(v, "b")->raw, "\"x\\ny\"");
    is_str(json_get(v, "b")->s, "x\ny");
    is_str(json_get(v, "c")->raw, "{\n}");
    JSON_EACH (it, v)
        assert_true(inside(f, it->raw));
}

static void test_integers_exact(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } t[] = {
        {"0", 0},
        {"-0", 0},
        {"-1", -1},
        {"9", 9},
        {"9007199254740993", 9007199254740993}, /* 2^53 + 1 */
        {"-9007199254740993", -9007199254740993},
        {"9223372036854775806", INT64_MAX - 1},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807", -INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
    };
    for (size_t i = 0; i < COUNT(t); i++) {
        const struct json *v = goodz(*state, t[i].text);
        assert_int_equal(v->type, JSON_INT);
        assert_true(v->i == t[i].want);
        is_str(v->raw, t[i].text);
    }
}

static void test_other_numbers(void **state)
{
    static const struct {
        const char *text;
        double want;
    } t[] = {
        {"9223372036854775808", 9223372036854775808.0},
        {"-9223372036854775809", -9223372036854775808.0},
        {"100000000000000000000000000000000000000", 1e38},
        {"1.0", 1},
        {"-0.0", 0},
        {"1e0", 1},
        {"1E+2", 100},
        {"25e-1", 2.5},
        {"0.1", 0.1},
        {"0e10", 0},
        {"1.7976931348623157e308", DBL_MAX},
        {"2.2250738585072014e-308", DBL_MIN},
        {"5e-324", 5e-324},
        {"1e-999", 0}, /* too small is nearly right, too large is not */
    };
    for (size_t i = 0; i < COUNT(t); i++) {
        const struct json *v = goodz(*state, t[i].text);
        assert_int_equal(v->type, JSON_DOUBLE);
        assert_true(v->d == t[i].want);
        is_str(v->s, t[i].text);
        is_str(v->raw, t[i].text);
    }
    assert_true(signbit(goodz(*state, "-0.0")->d));
}

static void test_long_numbers(void **state)
{
    char z[1200];
    memset(z, '0', sizeof(z));
    z[0] = '0';
    z[1] = '.';
    z[1099] = '7';
    const struct json *v = good(*state, str_n(z, 1100));
    assert_int_equal(v->type, JSON_DOUBLE);
    assert_true(v->d == 0);
    assert_int_equal(v->s.len, 1100);
    refused(*state, str_n(z, 1101), E_INVAL, "at byte 0: a number has too many digits");
}

static void test_numbers_refused(void **state)
{
    static const struct {
        const char *text, *part;
    } t[] = {
        {"1e999", "at byte 0: a number is out of range"},
        {"[-1e400]", "at byte 1: a number is out of range"},
        {"01", "at byte 0: a number must not start with a needless 0"},
        {"-00", "at byte 1: a number must not start with a needless 0"},
        {"00.5", "needless 0"},
        {"-", "at byte 1: the text ends too early, expected a digit"},
        {"-a", "at byte 1: expected a digit"},
        {"1.", "at byte 2: the text ends too early, expected a digit"},
        {"[1.]", "at byte 3: expected a digit"},
        {"1.e5", "at byte 2: expected a digit"},
        {"1e", "expected a digit"},
        {"1e+", "expected a digit"},
        {"1e+-1", "expected a digit"},
        {".5", "at byte 0: expected a value"},
        {"+1", "at byte 0: expected a value"},
        {"0x10", "at byte 1: nothing may follow the value"},
        {"1_000", "at byte 1: nothing may follow the value"},
        {"NaN", "at byte 0: expected a value"},
        {"Infinity", "expected a value"},
        {"-Infinity", "at byte 1: expected a digit"},
        {"1 2", "at byte 2: nothing may follow the value"},
    };
    for (size_t i = 0; i < COUNT(t); i++)
        refused(*state, str_of(t[i].text), E_INVAL, t[i].part);
}

/* --- strings --- */

static void test_plain_strings_are_borrowed(void **state)
{
    struct fix *f = *state;
    const struct json *v = goodz(f, "{\"key\":\"value\",\"k\\t\":\"v\\\\\",\"\":\"\"}");
    const struct json *a = v->child, *b = a->next, *c = b->next;
    assert_true(inside(f, a->key) && inside(f, a->s));
    is_str(a->key, "key");
    is_str(a->s, "value");
    assert_false(inside(f, b->key) || inside(f, b->s));
    is_str(b->key, "k\t");
    is_str(b->s, "v\\");
    is_str(c->key, "");
    is_str(c->s, "");
}

static void test_strings_accepted(void **state)
{
    static const struct {
        const char *text, *want;
    } t[] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u00E9\\u20ac\"", "A\u00e9\u00e9\u20ac"},
        {"\"\\u0001\\u007f\\u0080\\u07ff\\u0800\\uffff\"",
         "\x01\x7f\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"},
        {"\"\\ud83d\\ude00\"", "\U0001F600"},
        {"\"\\uD800\\uDC00\\uDBFF\\uDFFF\"", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
        {"\"\\ud7ff\\ue000\"", "\xED\x9F\xBF\xEE\x80\x80"},
        {"\"\xC2\x80 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xEF\xBF\xBF \xF0\x90\x80\x80 "
         "\xF4\x8F\xBF\xBF\"",
         "\xC2\x80 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xEF\xBF\xBF \xF0\x90\x80\x80 "
         "\xF4\x8F\xBF\xBF"},
        {"\"\x7f/\"", "\x7f/"},
        {"\"\\\\u0000\"", "\\u0000"},
        {"\"a\\\\\"", "a\\"},
        {"\"\xEF\xBB\xBF\"", "\xEF\xBB\xBF"}, /* U+FEFF inside is a character like any other */
    };
    for (size_t i = 0; i < COUNT(t); i++) {
        const struct json *v = goodz(*state, t[i].text);
        assert_int_equal(v->type, JSON_STRING);
        is_str(v->s, t[i].want);
        is_str(v->raw, t[i].text);
    }
}

static void test_strings_refused(void **state)
{
    const struct {
        str text;
        const char *part;
    } t[] = {
        {STR_LIT("\"\\u0000\""), "at byte 1: \\u0000 is not allowed in a string"},
        {STR_LIT("{\"a\\u0000\":1}"), "at byte 3: \\u0000 is not allowed in a string"},
        {STR_LIT("\"a\0b\""), "at byte 2: a control character in a string must be escaped"},
        {STR_LIT("\"a\nb\""), "at byte 2: a control character"},
        {STR_LIT("\"\x1f\""), "at byte 1: a control character"},
        {STR_LIT("\"\\\n\""), "at byte 2: a control character"},
        {STR_LIT("\"\\x41\""), "at byte 1: unknown escape"},
        {STR_LIT("\"\\'\""), "unknown escape"},
        {STR_LIT("\"\\\xC3\xA9\""), "at byte 1: unknown escape"},
        {STR_LIT("\"\\u12\""), "at byte 1: \\u must be followed by four hex digits"},
        {STR_LIT("\"\\u12g4\""), "four hex digits"},
        {STR_LIT("\"\\u+123\""), "four hex digits"},
        {STR_LIT("\"\\U0041\""), "unknown escape"},
        {STR_LIT("\"\\ud800\""), "at byte 1: one half of a surrogate pair stands alone"},
        {STR_LIT("\"\\udbff\\n\""), "stands alone"},
        {STR_LIT("\"\\ud800x\\udc00\""), "stands alone"},
        {STR_LIT("\"\\ud800\\ud800\""), "stands alone"},
        {STR_LIT("\"\\ud800\\ue000\""), "stands alone"},
        {STR_LIT("\"\\ud800\\u0041\""), "stands alone"},
        {STR_LIT("\"\\ud800\\udc0\""), "stands alone"},
        {STR_LIT("\"ab\\udc00\""), "at byte 3: one half"},
        {STR_LIT("\"\\udfff\""), "stands alone"},
        {STR_LIT("\"\\udc00\\udc00\""), "at byte 1: one half"},
        {STR_LIT("\"\x80\""), "at byte 1: the bytes are not UTF-8"},
        {STR_LIT("\"\xBF\""), "not UTF-8"},
        {STR_LIT("\"\xC0\x80\""), "not UTF-8"},
        {STR_LIT("\"\xC1\xBF\""), "not UTF-8"},
        {STR_LIT("\"\xC3\""), "not UTF-8"},
        {STR_LIT("\"\xC3"), "not UTF-8"},
        {STR_LIT("\"\xE0\x9F\xBF\""), "not UTF-8"},
        {STR_LIT("\"\xE2\x82\""), "not UTF-8"},
        {STR_LIT("\"\xE2\x82"), "not UTF-8"},
        {STR_LIT("\"\xED\xA0\x80\""), "not UTF-8"}, /* a surrogate */
        {STR_LIT("\"\xED\xBF\xBF\""), "not UTF-8"},
        {STR_LIT("\"\xF0\x8F\xBF\xBF\""), "not UTF-8"},
        {STR_LIT("\"\xF0\x9F\x98\""), "not UTF-8"},
        {STR_LIT("\"\xF4\x90\x80\x80\""), "not UTF-8"},
        {STR_LIT("\"\xF5\x80\x80\x80\""), "not UTF-8"},
        {STR_LIT("\"\xFE\""), "not UTF-8"},
        {STR_LIT("\"\xFF\""), "not UTF-8"},
        {STR_LIT("{\"\xFF\":1}"), "at byte 2: the bytes are not UTF-8"},
        {STR_LIT("\""), "at byte 1: the text ends inside a string"},
        {STR_LIT("\"abc"), "at byte 4: the text ends inside a string"},
        {STR_LIT("\"abc\\"), "at byte 5: the text ends inside a string"},
        {STR_LIT("\"abc\\\""), "at byte 6: the text ends inside a string"},
        {STR_LIT("'a'"), "at byte 0: expected a value"},
    };
    for (size_t i = 0; i < COUNT(t); i++)
        refused(*state, t[i].text, E_INVAL, t[i].part);
}

/* --- structure --- */

static void test_structure_refused(void **state)
{
    const struct {
        str text;
        const char *part;
    } t[] = {
        {STR_LIT(""), "request body is empty"},
        {STR_LIT(" \n\t"),
         "request body is not valid JSON: at byte 3: the text ends too early, expected a value"},
        {STR_LIT("\xEF\xBB\xBF{}"), "at byte 0: a byte order mark; send UTF-8 without it"},
        {STR_LIT("\xEF\xBB\xBF"), "byte order mark"},
        {STR_LIT("\xEF\xBB"), "at byte 0: expected a value"},
        {STR_LIT("\xFF\xFE{\0"), "at byte 0: expected a value"},
        {STR_LIT("\0"), "at byte 0: expected a value"},
        {STR_LIT("{}\0"), "at byte 2: nothing may follow the value"},
        {STR_LIT("{}{}"), "at byte 2: nothing may follow the value"},
        {STR_LIT("[] ]"), "at byte 3: nothing may follow the value"},
        {STR_LIT("null,"), "at byte 4: nothing may follow the value"},
        {STR_LIT("nul"), "at byte 0: expected a value"},
        {STR_LIT("nulL"), "expected a value"},
        {STR_LIT("True"), "expected a value"},
        {STR_LIT("truefalse"), "at byte 4: nothing may follow"},
        {STR_LIT("[1,]"), "at byte 3: expected a value"},
        {STR_LIT("[,1]"), "at byte 1: expected a value"},
        {STR_LIT("[1,,2]"), "at byte 3: expected a value"},
        {STR_LIT("[1 2]"), "at byte 3: expected ',' or ']'"},
        {STR_LIT("[1}"), "at byte 2: expected ',' or ']'"},
        {STR_LIT("[1:2]"), "at byte 2: expected ',' or ']'"},
        {STR_LIT("["), "at byte 1: the text ends too early, expected a value"},
        {STR_LIT("[1"), "at byte 2: the text ends too early, expected ',' or ']'"},
        {STR_LIT("]"), "expected a value"},
        {STR_LIT("}"), "expected a value"},
        {STR_LIT("{"), "at byte 1: the text ends too early, expected a key in double quotes"},
        {STR_LIT("{]"), "at byte 1: expected a key in double quotes"},
        {STR_LIT("{1:2}"), "at byte 1: expected a key in double quotes"},
        {STR_LIT("{a:1}"), "at byte 1: expected a key in double quotes"},
        {STR_LIT("{'a':1}"), "expected a key in double quotes"},
        {STR_LIT("{\"a\":1,}"), "at byte 7: expected a key in double quotes"},
        {STR_LIT("{,}"), "expected a key in double quotes"},
        {STR_LIT("{\"a\"}"), "at byte 4: expected ':'"},
        {STR_LIT("{\"a\" 1}"), "at byte 5: expected ':'"},
        {STR_LIT("{\"a\":}"), "at byte 5: expected a value"},
        {STR_LIT("{\"a\":1 \"b\":2}"), "at byte 7: expected ',' or '}'"},
        {STR_LIT("{\"a\":1]"), "at byte 6: expected ',' or '}'"},
        {STR_LIT("{\"a\":1"), "at byte 6: the text ends too early, expected ',' or '}'"},
        {STR_LIT("[1]//x"), "nothing may follow"},
        {STR_LIT("/* */1"), "expected a value"},
        {STR_LIT("[\v1]"), "at byte 1: expected a value"},
        {STR_LIT("[\xC2\xA0"
                 "1]"),
         "at byte 1: expected a value"},
    };
    for (size_t i = 0; i < COUNT(t); i++)
        refused(*state, t[i].text, E_INVAL, t[i].part);
}

static str nested(char *z, int depth, const char *open, const char *core, const char *close)
{
    char *p = z;
    for (int i = 0; i < depth; i++)
        p = mempcpy(p, open, strlen(open));
    p = mempcpy(p, core, strlen(core));
    for (int i = 0; i < depth; i++)
        p = mempcpy(p, close, strlen(close));
    return str_n(z, (size_t)(p - z));
}

static void test_depth(void **state)
{
    char z[8192];
    int depth = 0;
    for (const struct json *v = good(*state, nested(z, 64, "[", "", "]")); v; v = v->child)
        depth++;
    assert_int_equal(depth, 64);
    depth = 0;
    for (const struct json *v = good(*state, nested(z, 64, "{\"a\":", "7", "}")); v; v = v->child) {
        assert_int_equal(v->type, depth < 64 ? JSON_OBJECT : JSON_INT);
        depth++;
    }
    assert_int_equal(depth, 65);
    refused(*state, nested(z, 65, "[", "", "]"), E_INVAL,
            "at byte 64: arrays and objects are nested too deep");
    refused(*state, nested(z, 65, "{\"a\":", "7", "}"), E_INVAL, "at byte 320: arrays and objects");
    refused(*state, nested(z, 33, "[{\"a\":", "7", "}]"), E_INVAL, "nested too deep");
    refused(*state, nested(z, 8000, "[", "", ""), E_INVAL, "nested too deep");

    /* What was closed does not count. */
    char row[8192 + 200], *p = row;
    *p++ = '[';
    for (int i = 0; i < 60; i++) {
        str s = nested(z, 63, "[", "", "]");
        p = mempcpy(p, s.p, s.len);
        *p++ = i < 59 ? ',' : ']';
    }
    assert_int_equal(good(*state, str_n(row, (size_t)(p - row)))->n, 60);
}

/* An object of n members whose keys are `prefix` and a number; the member `again` (if >= 0) has the
 * key of member `first`. */
static void big_object(struct buf *b, int n, const char *prefix, int first, int again)
{
    buf_clear(b);
    for (int i = 0; i < n; i++)
        buf_addf(b, "%s\"%s%d\":%d", i ? "," : "{", prefix, i == again ? first : i, i);
    buf_addc(b, '}');
    assert_int_equal(buf_fail(b), 0);
}

static void test_duplicate_keys_small(void **state)
{
    CLEANUP(buf_done) struct buf b = {0};
    static const int pairs[][2] = {{0, 1}, {0, -1}, {-2, -1}, {1, -2}};
    for (int n = 4; n <= 40; n++) {
        big_object(&b, n, "k", 0, -1);
        assert_int_equal(good(*state, buf_str(&b))->n, n);
        for (size_t i = 0; i < COUNT(pairs); i++) {
            int first = pairs[i][0] < 0 ? n + pairs[i][0] : pairs[i][0];
            int again = pairs[i][1] < 0 ? n + pairs[i][1] : pairs[i][1];
            char part[64];
            big_object(&b, n, "k", first, again);
            (void)snprintf(part, sizeof(part), "the key \"k%d\" is there twice", first);
            refused(*state, buf_str(&b), E_INVAL, part);
        }
    }
}

static void test_duplicate_keys_forms(void **state)
{
    refused(
        *state, STR_LIT("{\"a\":1,\"b\":2,\"a\":3}"), E_INVAL,
        "request body is not valid JSON: at byte 17: the key \"a\" is there twice in one object");
    refused(*state, STR_LIT("{\"a\":1,\"\\u0061\":2}"), E_INVAL, "the key \"a\" is there twice");
    refused(*state, STR_LIT("{\"\":1,\"\":2}"), E_INVAL, "the key \"\" is there twice");
    refused(*state, STR_LIT("[{\"x\":{\"a\":1,\"a\":1}}]"), E_INVAL, "at byte 17: the key \"a\"");
    const struct json *v = goodz(*state, "{\"a\":{\"a\":{\"a\":[{\"a\":1},{\"a\":2}]}},\"A\":1}");
    assert_int_equal(v->n, 2);

    /* A long key is cut in the message. */
    CLEANUP(buf_done) struct buf b = {0};
    char key[201];
    memset(key, 'k', 200);
    key[200] = 0;
    buf_addf(&b, "{\"%s\":1,\"%s\":1}", key, key);
    key[64] = 0;
    strncat(key, "\" is there twice", 20);
    refused(*state, buf_str(&b), E_INVAL, key);
}

static void test_duplicate_keys_large(void **state)
{
    CLEANUP(buf_done) struct buf b = {0};
    int64_t start = clock_mono_ms();
    big_object(&b, 100000, "a-long-common-prefix-of-all-the-keys-", 0, -1);
    const struct json *v = good(*state, buf_str(&b));
    assert_int_equal(v->n, 100000);
    assert_int_equal(json_get(v, "a-long-common-prefix-of-all-the-keys-99999")->i, 99999);
    big_object(&b, 100000, "k", 3, 99999);
    str text = buf_str(&b);
    char part[64];
    (void)snprintf(part, sizeof(part), "at byte %zu: the key \"k3\" is there twice",
                   text.len - strlen("99999}"));
    refused(*state, text, E_INVAL, part);
    /* Pair by pair, these would be 10^10 comparisons. */
    assert_true(clock_mono_ms() - start < 5000);
}

static void test_too_many_values(void **state)
{
    struct fix *f = *state;
#ifdef __SANITIZE_THREAD__
    skip(); /* 13 seconds, and no thread is in it */
#endif
    CLEANUP(buf_done) struct buf b = {0};
    size_t over = JSON_NODES_MAX; /* items; the array itself is one more value */
    assert_int_equal(buf_reserve(&b, 2 * over + 2), 0);
    buf_addc(&b, '[');
    for (size_t i = 0; i < over; i++)
        buf_adds(&b, i + 1 < over ? STR_LIT("0,") : STR_LIT("0]"));
    assert_int_equal(buf_fail(&b), 0);
    const struct json *v = NULL;
    ctx_done(&f->cx);
    ctx_init(&f->cx, (size_t)1 << 30);
    assert_int_equal(json_parse(&f->cx, buf_str(&b), "request body", &v), E_TOOBIG);
    assert_non_null(strstr(f->cx.err.msg, "request body has more than 4000000 JSON values"));
    assert_null(v);
    ctx_done(&f->cx);
    ctx_init(&f->cx, (size_t)1 << 30);
    b.p[b.len - 3] = ']'; /* one item less: "...,0]" becomes "...]0]" */
    assert_int_equal(json_parse(&f->cx, str_n(b.p, b.len - 2), "request body", &v), 0);
    assert_int_equal(v->n, over - 1);
}

/* --- hostile: every cut and every byte of a valid text --- */

static const char sample[] = "{\"tableId\":\"4b5f\\u00e9\\ud83d\\ude00\",\"snapshot\":{\"version\":"
                             "3,\"id\":9223372036854775807,"
                             "\"x\":-1.5e+3,\"watermark\":null,\"properties\":{\"k\":"
                             "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"},"
                             "\"list\":[true,false,[],{},[1,[2,\"\"]],0.25]},\"statistics\":[{"
                             "\"spec\":{\"dt\":\"2024-01-01\"}}]}";

static void test_each_prefix_is_refused(void **state)
{
    size_t len = sizeof(sample) - 1;
    assert_int_equal(good(*state, STR_LIT(sample))->n, 3);
    refused(*state, STR_NONE, E_INVAL, "request body is empty");
    for (size_t i = 1; i < len; i++)
        refused(*state, str_n(sample, i), E_INVAL, "request body is not valid JSON: at byte ");
}

static void test_each_byte_changed(void **state)
{
    struct fix *f = *state;
    char z[sizeof(sample) - 1];
    const struct json *v;
    size_t accepted = 0, tried = 0;
    for (size_t i = 0; i < sizeof(z); i++)
        for (int c = 0; c < 256; c++) {
            memcpy(z, sample, sizeof(z));
            z[i] = (char)c;
            int rc = parse(f, str_n(z, sizeof(z)), &v);
            assert_true(rc == 0 || (rc == E_INVAL && strstr(f->cx.err.msg, "at byte ")));
            accepted += rc == 0;
            tried++;
        }
    /* Letters of strings and digits may change; far from all may. */
    assert_in_range(accepted, tried / 10, tried / 2);
}

/* --- memory --- */

static void test_budget(void **state)
{
    struct fix *f = *state;
    CLEANUP(buf_done) struct buf b = {0};
    const struct json *v = NULL;
    big_object(&b, 10000, "k", 0, -1);
    ctx_done(&f->cx);
    ctx_init(&f->cx, 100000);
    assert_int_equal(json_parse(&f->cx, buf_str(&b), "request body", &v), E_NOMEM);
    assert_null(v);
    ctx_done(&f->cx);
    ctx_init(&f->cx, 100000);
    buf_clear(&b);
    buf_addc(&b, '"');
    for (int i = 0; i < 200000; i++)
        buf_addc(&b, 'x');
    buf_adds(&b, STR_LIT("\\n\"")); /* no room to unescape it */
    assert_int_equal(json_parse(&f->cx, buf_str(&b), "request body", &v), E_NOMEM);
    b.p[b.len - 3] = b.p[b.len - 2] = 'x'; /* without escapes it needs none */
    ctx_reset_err(&f->cx);
    assert_int_equal(json_parse(&f->cx, buf_str(&b), "request body", &v), 0);
    assert_int_equal(v->s.len, 200002);
}

static void test_each_allocation_fails(void **state)
{
    struct fix *f = *state;
    CLEANUP(buf_done) struct buf b = {0};
    const struct json *v = NULL;
    long n = 0;
    int rc;
    big_object(&b, 2000, "k", 0, -1);
    do {
        ctx_done(&f->cx);
        ctx_init(&f->cx, ARENA);
        v = NULL;
        (void)mem_fail_at(++n, 0);
        rc = json_parse(&f->cx, buf_str(&b), "request body", &v);
        (void)mem_fail_at(0, 0);
        if (rc != 0) {
            assert_int_equal(rc, E_NOMEM);
            assert_int_equal(f->cx.err.code, E_NOMEM);
            assert_null(v);
        }
    } while (rc != 0);
    assert_in_range(n, 3, 10000); /* the arena's blocks and the array of keys at least */
    assert_int_equal(v->n, 2000);
}

/* --- getters --- */

#define SAYS(f, call, text)                                                                        \
    do {                                                                                           \
        ctx_reset_err(&(f)->cx);                                                                   \
        assert_int_equal((call), E_INVAL);                                                         \
        assert_int_equal((f)->cx.err.code, E_INVAL);                                               \
        assert_string_equal((f)->cx.err.msg, (text));                                              \
    } while (0)

static const char members[] =
    "{\"s\":\"text\",\"i\":9223372036854775807,\"d\":1.5,\"b\":true,"
    "\"z\":null,\"o\":{\"k\":\"v\"},\"a\":[\"x\",\"y\"],\"big\":9223372036854775808}";

static void test_get(void **state)
{
    const struct json *v = goodz(*state, members);
    assert_int_equal(json_get(v, "i")->i, INT64_MAX);
    assert_int_equal(json_get(v, "z")->type, JSON_NULL);
    assert_null(json_get(v, "S"));
    assert_null(json_get(v, ""));
    assert_null(json_get(v, "k"));
    assert_null(json_get(NULL, "s"));
    assert_null(json_get(json_get(v, "a"), "s"));
    assert_null(json_get(json_get(v, "a"), ""));
    assert_true(json_is_null(NULL));
    assert_true(json_is_null(json_get(v, "z")));
    assert_false(json_is_null(json_get(v, "b")));
}

static void test_want(void **state)
{
    struct fix *f = *state;
    struct ctx *cx = &f->cx;
    const struct json *v = goodz(f, members), *sub = NULL;
    str s = STR_NONE;
    int64_t i = 0;
    assert_int_equal(json_want_str(cx, v, "", "s", &s), 0);
    is_str(s, "text");
    assert_int_equal(json_want_i64(cx, v, "", "i", &i), 0);
    assert_int_equal(i, INT64_MAX);
    assert_int_equal(json_want_obj(cx, v, "", "o", &sub), 0);
    is_str(sub->child->key, "k");
    assert_int_equal(json_want_arr(cx, v, "", "a", &sub), 0);
    assert_int_equal(sub->n, 2);
    assert_int_equal(cx->err.code, 0);
}

static void test_want_says(void **state)
{
    struct fix *f = *state;
    struct ctx *cx = &f->cx;
    const struct json *v = goodz(f, members), *sub = v;
    str s = STR_LIT("kept");
    int64_t i = 42;
    SAYS(f, json_want_str(cx, v, "", "no", &s), "no is missing; it must be a string");
    SAYS(f, json_want_str(cx, v, "snapshot", "no", &s),
         "snapshot.no is missing; it must be a string");
    SAYS(f, json_want_str(cx, v, "a.b[3]", "z", &s), "a.b[3].z must be a string, not null");
    SAYS(f, json_want_str(cx, v, "", "i", &s), "i must be a string, not an integer");
    SAYS(f, json_want_i64(cx, v, "snapshot", "s", &i),
         "snapshot.s must be an integer, not a string");
    SAYS(f, json_want_i64(cx, v, "", "d", &i),
         "d must be an integer, not a number that is not a 64-bit integer");
    SAYS(f, json_want_i64(cx, v, "", "big", &i),
         "big must be an integer, not a number that is not a 64-bit integer");
    SAYS(f, json_want_i64(cx, v, "", "z", &i), "z must be an integer, not null");
    SAYS(f, json_want_i64(cx, v, "", "no", &i), "no is missing; it must be an integer");
    SAYS(f, json_want_obj(cx, v, "", "a", &sub), "a must be an object, not an array");
    SAYS(f, json_want_obj(cx, v, "", "no", &sub), "no is missing; it must be an object");
    SAYS(f, json_want_arr(cx, v, "", "o", &sub), "o must be an array, not an object");
    SAYS(f, json_want_arr(cx, v, "x", "b", &sub), "x.b must be an array, not a boolean");
    SAYS(f, json_want_arr(cx, v, "", "no", &sub), "no is missing; it must be an array");
    SAYS(f, json_want_str(cx, json_get(v, "a"), "", "s", &s),
         "the JSON value must be an object, not an array");
    SAYS(f, json_want_str(cx, json_get(v, "s"), "top.s", "s", &s),
         "top.s must be an object, not a string");
    SAYS(f, json_want_str(cx, NULL, "o", "s", &s), "o.s is missing; it must be a string");
    is_str(s, "kept");
    assert_int_equal(i, 42);
    assert_ptr_equal(sub, v);
}

static void test_opt(void **state)
{
    struct fix *f = *state;
    struct ctx *cx = &f->cx;
    const struct json *v = goodz(f, members), *sub = v;
    static const char *const absent[] = {"no", "z"};
    str s;
    int64_t i;
    bool b;
    assert_int_equal(json_opt_str(cx, v, "", "s", &s), 0);
    is_str(s, "text");
    assert_int_equal(json_opt_i64(cx, v, "", "i", 5, &i), 0);
    assert_int_equal(i, INT64_MAX);
    assert_int_equal(json_opt_bool(cx, v, "", "b", false, &b), 0);
    assert_true(b);
    assert_int_equal(json_opt_obj(cx, v, "", "o", &sub), 0);
    assert_ptr_equal(sub, json_get(v, "o"));
    assert_int_equal(json_opt_arr(cx, v, "", "a", &sub), 0);
    assert_ptr_equal(sub, json_get(v, "a"));
    for (size_t k = 0; k < COUNT(absent); k++) {
        s = STR_LIT("x");
        assert_int_equal(json_opt_str(cx, v, "", absent[k], &s), 0);
        assert_null(s.p);
        assert_int_equal(json_opt_i64(cx, v, "", absent[k], -5, &i), 0);
        assert_int_equal(i, -5);
        assert_int_equal(json_opt_bool(cx, v, "", absent[k], true, &b), 0);
        assert_true(b);
        assert_int_equal(json_opt_bool(cx, v, "", absent[k], false, &b), 0);
        assert_false(b);
        sub = v;
        assert_int_equal(json_opt_obj(cx, v, "", absent[k], &sub), 0);
        assert_null(sub);
        sub = v;
        assert_int_equal(json_opt_arr(cx, v, "", absent[k], &sub), 0);
        assert_null(sub);
    }
    assert_int_equal(json_opt_i64(cx, NULL, "", "i", 9, &i), 0);
    assert_int_equal(i, 9);
}

static void test_opt_says(void **state)
{
    struct fix *f = *state;
    struct ctx *cx = &f->cx;
    const struct json *v = goodz(f, members), *sub = v;
    str s = STR_LIT("kept");
    int64_t i = 42;
    bool b = true;
    SAYS(f, json_opt_str(cx, v, "", "b", &s), "b must be a string, not a boolean");
    SAYS(f, json_opt_i64(cx, v, "p", "d", 1, &i),
         "p.d must be an integer, not a number that is not a 64-bit integer");
    SAYS(f, json_opt_bool(cx, v, "p", "s", false, &b), "p.s must be a boolean, not a string");
    SAYS(f, json_opt_bool(cx, v, "p", "i", false, &b), "p.i must be a boolean, not an integer");
    SAYS(f, json_opt_obj(cx, v, "p.q", "s", &sub), "p.q.s must be an object, not a string");
    SAYS(f, json_opt_arr(cx, v, "", "i", &sub), "i must be an array, not an integer");
    SAYS(f, json_opt_arr(cx, json_get(v, "i"), "", "i", &sub),
         "the JSON value must be an object, not an integer");
    is_str(s, "kept");
    assert_int_equal(i, 42);
    assert_true(b);
    assert_ptr_equal(sub, v);
}

static void test_checks(void **state)
{
    struct fix *f = *state;
    struct ctx *cx = &f->cx;
    const struct json *v =
        goodz(f, "{\"ok\":{\"a\":\"1\",\"b\":\"\"},\"e\":{},\"bad\":{\"a\":\"1\",\"b.c\":2},"
                 "\"nul\":{\"a\":null},"
                 "\"arr\":[\"x\",\"y\"],\"earr\":[],\"badarr\":[\"x\",\"y\",{}]}");
    assert_int_equal(json_check_str_map(cx, json_get(v, "ok"), "ok"), 0);
    assert_int_equal(json_check_str_map(cx, json_get(v, "e"), "e"), 0);
    assert_int_equal(json_check_str_map(cx, NULL, "e"), 0);
    assert_int_equal(json_check_str_arr(cx, json_get(v, "arr"), "arr"), 0);
    assert_int_equal(json_check_str_arr(cx, json_get(v, "earr"), "earr"), 0);
    assert_int_equal(json_check_str_arr(cx, NULL, "earr"), 0);
    SAYS(f, json_check_str_map(cx, json_get(v, "bad"), "options"),
         "options.b.c must be a string, not an integer");
    SAYS(f, json_check_str_map(cx, json_get(v, "nul"), "options"),
         "options.a must be a string, not null");
    SAYS(f, json_check_str_map(cx, json_get(v, "bad"), ""), "b.c must be a string, not an integer");
    SAYS(f, json_check_str_map(cx, json_get(v, "arr"), "options"),
         "options must be an object, not an array");
    SAYS(f, json_check_str_arr(cx, json_get(v, "badarr"), "keys"),
         "keys[2] must be a string, not an object");
    SAYS(f, json_check_str_arr(cx, json_get(v, "ok"), "keys"),
         "keys must be an array, not an object");
    v = goodz(f, "{\"0123456789012345678901234567890123456789012345678901234567890123456789\":1}");
    SAYS(f, json_check_str_map(cx, v, ""), /* a client's key is cut at 64 bytes */
         "0123456789012345678901234567890123456789012345678901234567890123 must be a string, "
         "not an integer");
}

/* --- writing --- */

static void test_write_shape(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    json_obj(&o);
    json_kstr(&o, "s", STR_LIT("x"));
    json_kstr(&o, "none", STR_NONE);
    json_kstr(&o, "empty", STR_LIT(""));
    json_ki64(&o, "max", INT64_MAX);
    json_ki64(&o, "min", INT64_MIN);
    json_kbool(&o, "t", true);
    json_kbool(&o, "f", false);
    json_kraw(&o, "raw", STR_LIT("[1.50, {}]"));
    json_key(&o, "arr");
    json_arr(&o);
    json_i64(&o, 0);
    json_str(&o, STR_LIT("y"));
    json_null(&o);
    json_bool(&o, true);
    json_raw(&o, STR_LIT("1e5"));
    json_arr(&o);
    json_end(&o);
    json_obj(&o);
    json_end(&o);
    json_obj(&o);
    json_keys(&o, STR_LIT("a\"\n"));
    json_obj(&o);
    json_key(&o, "");
    json_null(&o);
    json_end(&o);
    json_end(&o);
    json_end(&o);
    json_ki64(&o, "last", -1);
    json_end(&o);
    assert_int_equal(buf_fail(&b), 0);
    assert_int_equal(o.depth, 0);
    is_str(buf_str(&b),
           "{\"s\":\"x\",\"none\":null,\"empty\":\"\",\"max\":9223372036854775807,"
           "\"min\":-9223372036854775808,\"t\":true,\"f\":false,\"raw\":[1.50, {}],"
           "\"arr\":[0,\"y\",null,true,1e5,[],{},{\"a\\\"\\n\":{\"\":null}}],\"last\":-1}");
}

static void test_write_strings(void **state)
{
    (void)state;
    const struct {
        str in;
        const char *want;
    } t[] = {
        {STR_LIT("plain /~\x7f"), "\"plain /~\x7f\""},
        {STR_LIT("\"\\"), "\"\\\"\\\\\""},
        {STR_LIT("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
        {STR_LIT("\x01\x1f\0z"), "\"\\u0001\\u001f\\u0000z\""},
        {STR_LIT("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
         "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {STR_LIT("a\xFF"), "\"a\xEF\xBF\xBD\""},
        {STR_LIT("\x80z"), "\"\xEF\xBF\xBDz\""},
        {STR_LIT("\xC3"), "\"\xEF\xBF\xBD\""},
        {STR_LIT("\xC3\""), "\"\xEF\xBF\xBD\\\"\""},
        {STR_LIT("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {STR_LIT("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {STR_LIT("\xC0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
    };
    for (size_t i = 0; i < COUNT(t); i++) {
        CLEANUP(buf_done) struct buf b = {0};
        struct json_out o;
        json_out_init(&o, &b);
        json_str(&o, t[i].in);
        assert_int_equal(buf_fail(&b), 0);
        is_str(buf_str(&b), t[i].want);
    }
}

/* Whatever pair of bytes is written, the reader takes it; valid UTF-8 comes back as it was. */
static void test_write_any_bytes(void **state)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    char z[2];
    for (int c = 1; c < 256; c++)
        for (int d = 1; d < 256; d++) {
            z[0] = (char)c;
            z[1] = (char)d;
            buf_clear(&b);
            json_out_init(&o, &b);
            json_str(&o, str_n(z, 2));
            const struct json *v = good(*state, buf_str(&b));
            if (str_utf8_valid(str_n(z, 2)))
                assert_true(str_eq(v->s, str_n(z, 2)));
            else
                assert_non_null(memmem(v->s.p, v->s.len, "\xEF\xBF\xBD", 3));
        }
}

static void test_write_depth(void **state)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    for (int i = 0; i < JSON_DEPTH_MAX; i++) {
        if (i % 2 == 0) {
            json_arr(&o);
            json_i64(&o, i);
        } else {
            json_obj(&o);
            json_ki64(&o, "i", i);
            json_key(&o, "next");
        }
    }
    json_null(&o);
    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        json_end(&o);
    assert_int_equal(buf_fail(&b), 0);
    const struct json *v = good(*state, buf_str(&b));
    for (int i = 0; i < JSON_DEPTH_MAX; i++, v = v->child->next) {
        assert_int_equal(v->type, i % 2 == 0 ? JSON_ARRAY : JSON_OBJECT);
        assert_int_equal(v->n, 2);
        assert_int_equal(v->child->i, i);
    }
    assert_int_equal(v->type, JSON_NULL);
}

static void test_write_full_buffer(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf b;
    struct json_out o;
    buf_init(&b, 20);
    json_out_init(&o, &b);
    json_arr(&o);
    for (int i = 0; i < 100; i++)
        json_str(&o, STR_LIT("abc"));
    json_end(&o);
    assert_int_equal(buf_fail(&b), E_TOOBIG);
    assert_true(b.len <= 20);
}

static void test_round_trip(void **state)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    write_tree(&o,
               goodz(*state, " { \"a\\/\\u00e9\" : [ 1 , -0 , 1.50E+1 , 9223372036854775808 ] ,\n"
                             "\"b\" : { \"\" : \"\\ud83d\\ude00\\u0001\\\"\" } , \"c\" : [ "
                             "null,true,false ,{ },[ ] ] } "));
    assert_int_equal(buf_fail(&b), 0);
    is_str(buf_str(&b), "{\"a/\u00e9\":[1,0,1.50E+1,9223372036854775808],"
                        "\"b\":{\"\":\"\U0001F600\\u0001\\\"\"},\"c\":[null,true,false,{},[]]}");
    /* What the writer wrote comes back byte for byte. */
    CLEANUP(buf_done) struct buf again = {0};
    json_out_init(&o, &again);
    write_tree(&o, good(*state, buf_str(&b)));
    assert_true(str_eq(buf_str(&b), buf_str(&again)));
}

/* Wrong use of the writer is a bug of ours: it must stop the process, not write broken JSON. */
static void value_without_key(struct json_out *o)
{
    json_obj(o);
    json_i64(o, 1);
}
static void key_in_array(struct json_out *o)
{
    json_arr(o);
    json_key(o, "k");
}
static void key_at_top(struct json_out *o)
{
    json_key(o, "k");
}
static void key_twice(struct json_out *o)
{
    json_obj(o);
    json_key(o, "k");
    json_key(o, "l");
}
static void end_after_key(struct json_out *o)
{
    json_obj(o);
    json_key(o, "k");
    json_end(o);
}
static void end_at_top(struct json_out *o)
{
    json_end(o);
}
static void empty_raw(struct json_out *o)
{
    json_raw(o, STR_NONE);
}
static void too_deep(struct json_out *o)
{
    for (int i = 0; i < JSON_DEPTH_MAX + 1; i++)
        json_arr(o);
}

static bool aborts(void (*fn)(struct json_out *))
{
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        CLEANUP(buf_done) struct buf b = {0};
        struct json_out o;
        (void)signal(SIGABRT, SIG_DFL); /* cmocka's would go on with the next test */
        if (!freopen("/dev/null", "w", stderr))
            _exit(3);
        json_out_init(&o, &b);
        fn(&o);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void well_used(struct json_out *o)
{
    json_arr(o);
    json_end(o);
}

static void test_write_misuse_aborts(void **state)
{
    (void)state;
    assert_false(aborts(well_used));
    assert_true(aborts(value_without_key));
    assert_true(aborts(key_in_array));
    assert_true(aborts(key_at_top));
    assert_true(aborts(key_twice));
    assert_true(aborts(end_after_key));
    assert_true(aborts(end_at_top));
    assert_true(aborts(empty_raw));
    assert_true(aborts(too_deep));
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_each_type),
        T(test_raw_is_kept),
        T(test_integers_exact),
        T(test_other_numbers),
        T(test_long_numbers),
        T(test_numbers_refused),
        T(test_plain_strings_are_borrowed),
        T(test_strings_accepted),
        T(test_strings_refused),
        T(test_structure_refused),
        T(test_depth),
        T(test_duplicate_keys_small),
        T(test_duplicate_keys_forms),
        T(test_duplicate_keys_large),
        T(test_too_many_values),
        T(test_each_prefix_is_refused),
        T(test_each_byte_changed),
        T(test_budget),
        T(test_each_allocation_fails),
        T(test_get),
        T(test_want),
        T(test_want_says),
        T(test_opt),
        T(test_opt_says),
        T(test_checks),
        T(test_write_shape),
        T(test_write_strings),
        T(test_write_any_bytes),
        T(test_write_depth),
        T(test_write_full_buffer),
        T(test_round_trip),
        T(test_write_misuse_aborts),
    };
    return cmocka_run_group_tests_name("proto/json", tests, NULL, NULL);
}
