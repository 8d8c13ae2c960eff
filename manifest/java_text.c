/* java_text.c - see java_text.h. Source: the documentation of java.lang String, Integer, Long and
 * Double. No state; any thread. */
#include "manifest/java_text.h"

str java_trim(str s)
{
    while (s.len > 0 && (unsigned char)s.p[0] <= ' ')
        s = str_cut(s, 1);
    while (s.len > 0 && (unsigned char)s.p[s.len - 1] <= ' ')
        s.len--;
    return s;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool java_int(str s, int64_t min, int64_t max, int64_t *ret)
{
    bool minus = s.len > 0 && s.p[0] == '-';
    int64_t v = 0;
    if (minus || (s.len > 0 && s.p[0] == '+'))
        s = str_cut(s, 1);
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) { /* below zero all the way: the smallest has no opposite */
        if (!is_digit(s.p[i]) || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_sub_overflow(v, s.p[i] - '0', &v))
            return false;
    }
    if (!minus && __builtin_sub_overflow(0, v, &v))
        return false;
    if (v < min || v > max)
        return false;
    *ret = v;
    return true;
}

/* --- floating point --------------------------------------------------------------------------- */

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static size_t run_of(str *s, bool (*is)(char))
{
    size_t n = 0;
    while (n < s->len && is(s->p[n]))
        n++;
    *s = str_cut(*s, n);
    return n;
}

static bool skip(str *s, char lower, char upper)
{
    if (s->len == 0 || (s->p[0] != lower && s->p[0] != upper))
        return false;
    *s = str_cut(*s, 1);
    return true;
}

/* "12", "1.", ".5": digits on one side of the point at least. */
static bool mantissa(str *s, bool (*is)(char))
{
    size_t before = run_of(s, is), after = 0;
    if (skip(s, '.', '.'))
        after = run_of(s, is);
    return before + after > 0;
}

static bool exponent(str *s)
{
    if (!skip(s, '+', '+'))
        skip(s, '-', '-');
    return run_of(s, is_digit) > 0;
}

bool java_is_double(str s)
{
    s = java_trim(s);
    if (!skip(&s, '+', '+'))
        skip(&s, '-', '-');
    if (str_eqz(s, "NaN") || str_eqz(s, "Infinity"))
        return true;
    if (s.len > 2 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'X')) {
        s = str_cut(s, 2);
        if (!mantissa(&s, is_hex) || !skip(&s, 'p', 'P') || !exponent(&s))
            return false;
    } else {
        if (!mantissa(&s, is_digit))
            return false;
        if (skip(&s, 'e', 'E') && !exponent(&s))
            return false;
    }
    if (!skip(&s, 'f', 'F'))
        skip(&s, 'd', 'D');
    return s.len == 0;
}

/* --- lists ------------------------------------------------------------------------------------ */

str java_split_init(str text)
{
    if (text.len == 0)
        return STR_LIT("");
    while (text.len > 0 && text.p[text.len - 1] == ',')
        text.len--;
    return text.len ? text : STR_NONE;
}

bool java_split(str *rest, str *ret_part)
{
    return str_split(rest, ',', ret_part);
}
