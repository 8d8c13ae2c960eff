/* str.c - what does not fit in str.h's inline functions: order, search, numbers, UTF-8, copies.
 *
 * All is pure and works on bytes; only the UTF-8 functions know about characters (RFC 3629). The
 * pointer of an empty str may be NULL, so it is never handed to memcmp and its like.
 *
 * Threads: any. */
#include "proto/base/str.h"

#include "proto/base/arena.h"
#include "proto/base/mem.h"

int str_cmp(str a, str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.p, b.p, n) : 0;
    if (order)
        return order < 0 ? -1 : 1;
    return a.len < b.len ? -1 : a.len > b.len;
}

bool str_starts(str s, str prefix)
{
    return s.len >= prefix.len && str_eq(str_n(s.p, prefix.len), prefix);
}

bool str_ends(str s, str suffix)
{
    return s.len >= suffix.len && str_eq(str_cut(s, s.len - suffix.len), suffix);
}

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool str_ieq(str a, str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

ptrdiff_t str_find(str s, char c)
{
    const char *at = s.len ? memchr(s.p, c, s.len) : NULL;
    return at ? at - s.p : -1;
}

static bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

str str_trim(str s)
{
    while (s.len && blank(s.p[s.len - 1]))
        s.len--;
    while (s.len && blank(s.p[0]))
        s = str_cut(s, 1);
    return s;
}

bool str_to_i64(str s, int64_t *ret)
{
    bool negative = s.len && s.p[0] == '-';
    if (negative)
        s = str_cut(s, 1);
    if (s.len == 0)
        return false;
    /* Gathered below zero, where there is room for INT64_MIN. */
    int64_t v = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, s.p[i] - '0', &v))
            return false;
    }
    if (!negative && __builtin_sub_overflow((int64_t)0, v, &v))
        return false;
    *ret = v;
    return true;
}

/* How many bytes a character with this first byte has, and what its second byte may be. The bounds
 * of the second byte are what keeps overlong forms, surrogates and numbers past U+10FFFF out. */
static size_t utf8_lead(unsigned char c, unsigned char *ret_lo, unsigned char *ret_hi)
{
    *ret_lo = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    *ret_hi = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (c < 0x80)
        return 1;
    if (c < 0xC2 || c > 0xF4)
        return 0;
    return c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

size_t str_utf8_char(str s)
{
    if (s.len == 0)
        return 0;
    unsigned char lo, hi;
    size_t n = utf8_lead((unsigned char)s.p[0], &lo, &hi);
    if (n == 0 || n > s.len)
        return 0;
    for (size_t i = 1; i < n; i++, lo = 0x80, hi = 0xBF) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < lo || c > hi)
            return 0;
    }
    return n;
}

bool str_utf8_valid(str s)
{
    while (s.len) {
        size_t n = str_utf8_char(s);
        if (n == 0)
            return false;
        s = str_cut(s, n);
    }
    return true;
}

bool str_split(str *rest, char sep, str *ret_part)
{
    if (!rest->p)
        return false;
    ptrdiff_t at = str_find(*rest, sep);
    if (at < 0) {
        *ret_part = *rest;
        *rest = STR_NONE;
        return true;
    }
    *ret_part = str_n(rest->p, (size_t)at);
    *rest = str_cut(*rest, (size_t)at + 1);
    return true;
}

char *str_dupz(struct arena *a, str s)
{
    if (!s.p || s.len == SIZE_MAX)
        return NULL;
    char *copy = arena_alloc(a, s.len + 1); /* zeroed: the NUL is there */
    if (copy && s.len)
        memcpy(copy, s.p, s.len);
    return copy;
}

str str_dup(struct arena *a, str s)
{
    char *copy = str_dupz(a, s);
    return copy ? str_n(copy, s.len) : STR_NONE;
}

static bool within_char(str s, size_t at)
{
    return at < s.len && ((unsigned char)s.p[at] & 0xC0) == 0x80;
}

str str_shortened(struct arena *a, str s, size_t max)
{
    static const char dots[] = "...";
    size_t room = max > 3 ? max - 3 : 0;
    if (s.len <= max)
        return str_dup(a, s.p ? s : STR_LIT(""));
    size_t head = room - room / 2, tail = s.len - room / 2;
    while (head > 0 && within_char(s, head))
        head--;
    while (within_char(s, tail))
        tail++;
    size_t n_dots = max < 3 ? max : 3;
    char *to = arena_alloc(a, head + n_dots + (s.len - tail) + 1);
    if (!to)
        return STR_NONE;
    memcpy(to, s.p, head);
    memcpy(to + head, dots, n_dots);
    memcpy(to + head + n_dots, s.p + tail, s.len - tail);
    return str_n(to, head + n_dots + (s.len - tail));
}

char *str_heap(str s)
{
    return mem_dup(s.p ? s.p : "", s.len);
}
