/* default_value.c - see default_value.h.
 *
 * Source: paimon-common DefaultValueUtils, the StringTo*CastRule classes, BinaryStringUtils and
 * DateTimeUtils; java.time's DateTimeFormatter for timestamps. Paimon is lenient in places, and so
 * are we: texts are cut to the length of CHAR and BINARY, a DECIMAL that does not fit becomes NULL,
 * a TIME knows no 24 hours, an INT may be "1.5". Recursion goes as deep as the type, which is
 * limited, and each level works on a part of its parent's text. No state; any thread. */
#include "manifest/default_value.h"
#include "manifest/java_text.h"

#define SHOWN_MAX 64 /* bytes of a client's text in a message */
#define SHOWN(s)  ((s).len < SHOWN_MAX ? (int)(s).len : SHOWN_MAX), (s).p

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool all_digits(str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_digit(s.p[i]))
            return false;
    return s.len > 0;
}

/* What Paimon calls numeric: a date or a time that is a count. */
static bool is_count(str s)
{
    return all_digits(s.len > 0 && s.p[0] == '-' ? str_cut(s, 1) : s);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* A whole number; digits behind a point are allowed and do not count. */
static bool is_whole(str s, int64_t min, int64_t max)
{
    ptrdiff_t point = str_find(s, '.');
    str whole = point < 0 ? s : str_n(s.p, (size_t)point);
    str fraction = point < 0 ? STR_LIT("") : str_cut(s, (size_t)point + 1);
    int64_t v;
    if (fraction.len > 0 && !all_digits(fraction))
        return false;
    if (point >= 0 && (whole.len == 0 || str_eqz(whole, "-") || str_eqz(whole, "+")))
        return true; /* ".5" and "-." are zero */
    return java_int(whole, min, max, &v);
}

/* new BigDecimal(text): no blanks, an exponent of 32 bits. */
static bool is_decimal(str s)
{
    int64_t exp = 0;
    size_t e = 0;
    while (e < s.len && s.p[e] != 'e' && s.p[e] != 'E')
        e++;
    if (e < s.len && !java_int(str_cut(s, e + 1), INT32_MIN, INT32_MAX, &exp))
        return false;
    str digits = str_n(s.p, e);
    if (digits.len > 0 && (digits.p[0] == '-' || digits.p[0] == '+'))
        digits = str_cut(digits, 1);
    ptrdiff_t point = str_find(digits, '.');
    str before = point < 0 ? digits : str_n(digits.p, (size_t)point);
    str after = point < 0 ? STR_LIT("") : str_cut(digits, (size_t)point + 1);
    return before.len + after.len > 0 && (before.len == 0 || all_digits(before)) &&
           (after.len == 0 || all_digits(after));
}

static bool is_boolean(str s)
{
    static const char *const words[] = {"t", "true", "y", "yes", "1", "f", "false", "n", "no", "0"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_ieq(s, str_of(words[i])))
            return true;
    return false;
}

/* --- dates and times -------------------------------------------------------------------------- */

static bool part_int(str s, int64_t *ret) /* blanks around it are fine */
{
    s = java_trim(s);
    return all_digits(s) && java_int(s, 0, INT32_MAX, ret);
}

static bool date_exists(int64_t y, int64_t m, int64_t d)
{
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (y > 9999 || m < 1 || m > 12 || d < 1)
        return false;
    bool leap = y % 400 == 0 || (y % 4 == 0 && y % 100 != 0);
    return d <= days[m - 1] + (m == 2 && leap);
}

/* "2020", "2020-1", "2020-01-31", the latter with anything behind a blank; or days since 1970. */
static bool is_date(str s)
{
    int64_t n[3] = {0, 1, 1};
    if (is_count(s))
        return is_whole(s, INT32_MIN, INT32_MAX);
    ptrdiff_t blank = str_find(s, ' ');
    str rest = blank > 0 ? str_n(s.p, (size_t)blank) : s;
    for (int i = 0; i < 3 && rest.p; i++) {
        ptrdiff_t hyphen = i < 2 ? str_find(rest, '-') : -1;
        str part = hyphen < 0 ? rest : str_n(rest.p, (size_t)hyphen);
        rest = hyphen < 0 ? STR_NONE : str_cut(rest, (size_t)hyphen + 1);
        if (!part_int(part, &n[i]))
            return false;
    }
    return date_exists(n[0], n[1], n[2]);
}

static bool is_zone(str s) /* "8", "08:00" */
{
    int64_t n;
    ptrdiff_t colon = str_find(s, ':');
    if (colon < 0)
        return part_int(s, &n);
    return part_int(str_n(s.p, (size_t)colon), &n) && part_int(str_cut(s, (size_t)colon + 1), &n);
}

/* "10", "10:15", "10:15:30.123+08:00"; a zone takes seconds, and what is behind the point is not
 * looked at. */
static bool is_time(str s)
{
    int64_t n;
    if (is_count(s))
        return is_whole(s, INT32_MIN, INT32_MAX);
    ptrdiff_t sign = str_find(s, '-');
    if (sign < 0)
        sign = str_find(s, '+');
    if (sign >= 0 && !is_zone(str_cut(s, (size_t)sign + 1)))
        return false;
    str rest = sign < 0 ? s : str_n(s.p, (size_t)sign);
    size_t colons = 0;
    for (str r = rest; str_find(r, ':') >= 0; colons++)
        r = str_cut(r, (size_t)str_find(r, ':') + 1);
    if (sign >= 0 && colons < 2 && str_find(str_cut(s, (size_t)sign), ':') >= 0)
        return false; /* Java takes the zone's colon for one of the time */
    for (int i = 0; i < 3; i++) {
        ptrdiff_t end = str_find(rest, i < 2 ? ':' : '.');
        if (!part_int(end < 0 ? rest : str_n(rest.p, (size_t)end), &n))
            return false;
        if (end < 0 || i == 2)
            return true;
        rest = str_cut(rest, (size_t)end + 1);
    }
    return true;
}

/* A field of java.time's pattern "[MM][M]": two digits, then a number that must be the same; either
 * may be missing. False when a number is there that is out of range. */
static bool stamp_field(str *s, int64_t min, int64_t max)
{
    int64_t two = -1, n = 0;
    size_t at = 0;
    if (s->len >= 2 && is_digit(s->p[0]) && is_digit(s->p[1])) {
        two = (s->p[0] - '0') * 10 + s->p[1] - '0';
        *s = str_cut(*s, 2);
    }
    if (s->len > 0 && s->p[0] == '-') /* a number below zero: not the same, or out of range */
        return two >= 0 ? two >= min && two <= max : s->len < 2 || !is_digit(s->p[1]);
    for (; at < s->len && at < 18 && is_digit(s->p[at]); at++)
        n = n * 10 + s->p[at] - '0';
    if (at > 0 && (two < 0 || two == n)) {
        *s = str_cut(*s, at);
        two = n;
    }
    return two < 0 || (two >= min && two <= max);
}

static bool stamp_char(str *s, char c)
{
    if (s->len == 0 || s->p[0] != c)
        return false;
    *s = str_cut(*s, 1);
    return true;
}

static bool stamp_year(str *s)
{
    int64_t year;
    size_t n = 0;
    bool plus = stamp_char(s, '+');
    while (n < s->len && n < 19 && is_digit(s->p[n]))
        n++;
    bool ok = (plus ? n > 4 : n == 4) && java_int(str_n(s->p, n), 1, 999999999, &year);
    *s = str_cut(*s, n);
    return ok;
}

static void stamp_fraction(str *s)
{
    if (stamp_char(s, '.'))
        for (int i = 0; i < 9 && s->len > 0 && is_digit(s->p[0]); i++)
            *s = str_cut(*s, 1);
}

/* " 10:15:30.5"; with a T in front the seconds may be missing. */
static bool stamp_time(str s)
{
    bool t = s.p[0] == 'T';
    str rest = str_cut(s, 1);
    if (!t && (str_eqz(rest, "24:00:00") || str_starts(rest, STR_LIT("24:00:00."))))
        return true; /* the one hour 24; only zeros should follow, which is not worth a look */
    if (!stamp_field(&rest, 0, t ? 24 : 23) || !stamp_char(&rest, ':') ||
        !stamp_field(&rest, 0, 59))
        return false;
    if (t && rest.len == 0)
        return true;
    if (!stamp_char(&rest, ':') || !stamp_field(&rest, 0, 59))
        return false;
    stamp_fraction(&rest);
    return rest.len == 0;
}

/* "2020-1-31", "2020-01-31 10:15:30.123"; the 31st of a shorter month is its last day. */
static bool is_stamp(str s)
{
    if (!stamp_year(&s) || !stamp_char(&s, '-') || !stamp_field(&s, 1, 12) ||
        !stamp_char(&s, '-') || !stamp_field(&s, 1, 31))
        return false;
    return s.len == 0 || ((s.p[0] == ' ' || s.p[0] == 'T') && stamp_time(s));
}

static bool is_timestamp(const struct data_type *t, str s)
{
    if (t->kind == TYPE_TIMESTAMP && is_count(s)) /* counted since 1970, in the type's unit */
        return t->precision % 3 == 0 && is_whole(s, INT64_MIN, INT64_MAX);
    return is_stamp(s);
}

/* --- nested values ---------------------------------------------------------------------------- */

static bool castable(const struct data_type *t, str s);

/* "[...]" or "ARRAY(...)" -> what is inside, trimmed. */
static bool unwrap(str s, char open, char close, const char *fn, str *ret)
{
    str name = str_of(fn);
    if (s.len > name.len && str_ieq(str_n(s.p, name.len), name)) {
        s = java_trim(str_cut(s, name.len));
        open = '(';
        close = ')';
    }
    if (s.len < 2 || s.p[0] != open || s.p[s.len - 1] != close)
        return false;
    *ret = java_trim(str_n(s.p + 1, s.len - 2));
    return true;
}

/* The next element: up to a comma outside of brackets and quotes. Empty ones do not count. */
static bool next_element(str *rest, str *ret)
{
    size_t depth = 0, i;
    bool quoted = false;
    while (rest->len > 0 && rest->p[0] == ',')
        *rest = str_cut(*rest, 1);
    if (rest->len == 0)
        return false;
    for (i = 0; i < rest->len; i++) {
        char c = rest->p[i];
        if (c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{' || c == '('))
            depth++;
        else if (!quoted && depth > 0 && (c == ']' || c == '}' || c == ')'))
            depth--;
        else if (!quoted && depth == 0 && c == ',')
            break;
    }
    i = i < rest->len ? i : rest->len;
    *ret = java_trim(str_n(rest->p, i));
    *rest = str_cut(*rest, i);
    return true;
}

static bool element_ok(const struct data_type *t, str s)
{
    return str_eqz(s, "null") || castable(t, s);
}

static bool is_array(const struct data_type *t, str s)
{
    str rest, el;
    if (!unwrap(java_trim(s), '[', ']', "ARRAY", &rest))
        return false;
    while (next_element(&rest, &el))
        if (!element_ok(t->value, el))
            return false;
    return true;
}

static bool is_row(const struct data_type *t, str s)
{
    str rest, el;
    size_t n = 0;
    if (!unwrap(java_trim(s), '{', '}', "STRUCT", &rest))
        return false;
    for (; next_element(&rest, &el); n++)
        if (n >= t->n_fields || !element_ok(t->fields[n].type, el))
            return false;
    return n == 0 || n == t->n_fields;
}

/* "k -> v": the arrow is the first that is not at the very start. */
static bool is_entry(const struct data_type *t, str s)
{
    for (size_t i = 1; i + 1 < s.len; i++)
        if (s.p[i] == '-' && s.p[i + 1] == '>') {
            str v = str_cut(s, i + 2);
            return v.len > 0 && element_ok(t->key, java_trim(str_n(s.p, i))) &&
                   element_ok(t->value, java_trim(v));
        }
    return false;
}

static bool is_map(const struct data_type *t, str s)
{
    str rest, el;
    size_t n = 0;
    s = java_trim(s);
    if (str_ieq(s, STR_LIT("null")))
        return true;
    if (!unwrap(s, '{', '}', "MAP", &rest))
        return false;
    if (str_find(rest, '"') >= 0 || str_find(rest, '\\') >= 0)
        return true; /* what quotes mean differs between versions */
    bool pairs = s.p[0] == '{';
    for (; next_element(&rest, &el); n++)
        if (pairs ? !is_entry(t, el) : !element_ok(n % 2 ? t->value : t->key, el))
            return false;
    return pairs || n % 2 == 0;
}

/* --- all types -------------------------------------------------------------------------------- */

static bool castable_plain(const struct data_type *t, str s)
{
    switch (t->kind) {
    case TYPE_BOOLEAN:
        return is_boolean(s);
    case TYPE_TINYINT:
        return is_whole(s, INT8_MIN, INT8_MAX);
    case TYPE_SMALLINT:
        return is_whole(s, INT16_MIN, INT16_MAX);
    case TYPE_INT:
        return is_whole(s, INT32_MIN, INT32_MAX);
    case TYPE_BIGINT:
        return is_whole(s, INT64_MIN, INT64_MAX);
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        return java_is_double(s);
    case TYPE_DECIMAL:
        return is_decimal(s);
    default:
        return true; /* CHAR VARCHAR BINARY VARBINARY */
    }
}

static bool castable(const struct data_type *t, str s)
{
    switch (t->kind) {
    case TYPE_DATE:
        return is_date(s);
    case TYPE_TIME:
        return is_time(s);
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return is_timestamp(t, s);
    case TYPE_ARRAY:
        return is_array(t, s);
    case TYPE_MAP:
        return is_map(t, s);
    case TYPE_ROW:
        return is_row(t, s);
    default:
        return castable_plain(t, s);
    }
}

/* Kinds that no text can be cast to, wherever they are in the type. */
static bool has_uncastable(const struct data_type *t)
{
    static const enum type_kind none[] = {TYPE_VARIANT,   TYPE_BLOB,   TYPE_GEOMETRY,
                                          TYPE_GEOGRAPHY, TYPE_VECTOR, TYPE_MULTISET};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (types_contains(t, none[i]))
            return true;
    return false;
}

int default_value_check(struct ctx *cx, const struct data_field *f)
{
    str v = f->default_value;
    if (!v.p)
        return 0;
    bool ok = !has_uncastable(f->type);
    if (ok && v.len > 0 && v.p[0] == '\'' && v.p[v.len - 1] == '\'') {
        ok = v.len > 1;
        v = ok ? str_n(v.p + 1, v.len - 2) : v;
    }
    if (ok && castable(f->type, v))
        return 0;
    str sql = types_sql_str(&cx->arena, f->type);
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "Unsupported default value `%.*s` for type %.*s", SHOWN(f->default_value),
                    STR(sql));
}
