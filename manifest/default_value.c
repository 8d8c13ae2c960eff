/* default_value.c - see default_value.h.
 *
 * Source: paimon-common DefaultValueUtils and the casts from STRING it uses (BinaryStringUtils,
 * DateTimeUtils, StringToArray-, Map- and RowCastRule), which accept more than SQL does: "1.9" is
 * an INT, "t" a BOOLEAN, a bare number a DATE. What overflows a DECIMAL becomes NULL there, so it is
 * accepted here. Narrower than Java in two points: no hexadecimal floats, and a TIMESTAMP names its
 * month and its hour. Recursion follows the type, which is bounded. No state; any thread. */
#include "manifest/default_value.h"

#define SHOWN_MAX    64 /* bytes of a client's text in a message */
#define SHOWN(s)     ((s).len < SHOWN_MAX ? (int)(s).len : SHOWN_MAX), (s).p
#define EXPONENT_MAX 9999

static int reads(struct ctx *cx, const struct data_type *t, str s); /* 1, 0 or an error */

/* --- numbers --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digits(str s, size_t at)
{
    size_t n = 0;
    while (at + n < s.len && is_digit(s.p[at + n]))
        n++;
    return n;
}

static size_t sign(str s)
{
    return s.len > 0 && (s.p[0] == '-' || s.p[0] == '+');
}

/* "-12.9" counts as -12 */
static bool reads_integer(str s, int64_t min, int64_t max)
{
    int64_t v = 0;
    size_t from = sign(s), n = digits(s, from), at = from + n;
    if (s.len == from)
        return false;
    if (at < s.len && (s.p[at] != '.' || at + 1 + digits(s, at + 1) != s.len))
        return false;
    while (n > 1 && s.p[from] == '0') {
        from++;
        n--;
    }
    if (n > 19)
        return false;
    char text[24];
    int len = snprintf(text, sizeof text, "%s%.*s", s.p[0] == '-' ? "-" : "", (int)n, s.p + from);
    return n == 0 || (str_to_i64(str_n(text, (size_t)len), &v) && v >= min && v <= max);
}

/* What is left after [sign] digits [. digits] [e [sign] digits]; absent when it does not begin so. */
static str after_number(str s)
{
    size_t at = sign(s), whole = digits(s, at), part = 0;
    at += whole;
    if (at < s.len && s.p[at] == '.') {
        part = digits(s, at + 1);
        at += 1 + part;
    }
    if (whole + part == 0)
        return STR_NONE;
    if (at < s.len && (s.p[at] == 'e' || s.p[at] == 'E')) {
        str exponent = str_cut(s, at + 1);
        size_t skip = sign(exponent), n = digits(exponent, skip);
        int64_t v;
        if (n == 0 || !str_to_i64(str_n(exponent.p + skip, n), &v) || v > EXPONENT_MAX)
            return STR_NONE;
        at += 1 + skip + n;
    }
    return str_cut(s, at);
}

static bool reads_decimal(str s)
{
    str rest = after_number(s);
    return rest.p && rest.len == 0;
}

static bool reads_real(str s)
{
    s = str_trim(s);
    str rest = after_number(s), word = str_cut(s, sign(s));
    if (str_eqz(word, "NaN") || str_eqz(word, "Infinity"))
        return true;
    return rest.p && (rest.len == 0 || (rest.len == 1 && strchr("fFdD", rest.p[0])));
}

static bool reads_boolean(str s)
{
    static const char *const words[] = {"t", "true", "y", "yes", "1", "f", "false", "n", "no", "0"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_ieq(s, str_of(words[i])))
            return true;
    return false;
}

/* --- dates and times --- */

/* An optional '-' and digits, nothing else. */
static bool is_numeric(str s)
{
    size_t skip = s.len > 0 && s.p[0] == '-';
    return s.len > skip && skip + digits(s, skip) == s.len;
}

/* Digits only, blanks around them. */
static bool small_int(str s, int64_t *ret)
{
    s = str_trim(s);
    return s.len > 0 && digits(s, 0) == s.len && str_to_i64(s, ret) && *ret <= INT32_MAX;
}

static bool is_date(int64_t y, int64_t m, int64_t d)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return y >= 0 && y <= 9999 && m >= 1 && m <= 12 && d >= 1 &&
           d <= days[m - 1] + (m == 2 && leap);
}

/* year[-month[-day]], what follows a blank is left out */
static bool reads_date(str s)
{
    int64_t v[3] = {0, 1, 1};
    str part;
    if (is_numeric(s))
        return reads_integer(s, INT32_MIN, INT32_MAX);
    ptrdiff_t blank = str_find(s, ' ');
    if (blank > 0)
        s.len = (size_t)blank;
    for (int i = 0; i < 3 && s.p; i++) {
        part = s;
        if (i == 2)
            s = STR_NONE; /* the day is all the rest */
        else
            IGNORE(!str_split(&s, '-', &part));
        if (!small_int(part, &v[i]))
            return false;
    }
    return is_date(v[0], v[1], v[2]);
}

/* hour[:minute[:second[.fraction]]][+-hour[:minute]] */
static bool reads_time(str s)
{
    int64_t v;
    if (is_numeric(s))
        return reads_integer(s, INT32_MIN, INT32_MAX);
    ptrdiff_t zone = str_find(s, '-');
    zone = zone < 0 ? str_find(s, '+') : zone;
    str clock = zone < 0 ? s : str_n(s.p, (size_t)zone), part;
    str offset = zone < 0 ? STR_NONE : str_cut(s, (size_t)zone + 1);
    for (int i = 0; i < 3 && clock.p; i++) {
        if (i == 2) { /* seconds are all the rest */
            ptrdiff_t dot = str_find(clock, '.');
            part = dot < 0 ? clock : str_n(clock.p, (size_t)dot);
            clock = STR_NONE;
        } else {
            IGNORE(!str_split(&clock, ':', &part));
        }
        if (!small_int(part, &v))
            return false;
    }
    for (int i = 0; i < 2 && offset.p; i++) {
        part = offset;
        if (i == 1)
            offset = STR_NONE;
        else
            IGNORE(!str_split(&offset, ':', &part));
        if (!small_int(part, &v))
            return false;
    }
    return true;
}

/* One or two digits off *s, within the range. */
static bool take_two(str *s, int min, int max)
{
    size_t n = digits(*s, 0);
    int v = 0;
    if (n < 1 || n > 2)
        return false;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + (s->p[i] - '0');
    *s = str_cut(*s, n);
    return v >= min && v <= max;
}

static bool take_char(str *s, char c)
{
    if (s->len == 0 || s->p[0] != c)
        return false;
    *s = str_cut(*s, 1);
    return true;
}

static bool take_seconds(str *s)
{
    if (!take_two(s, 0, 59))
        return false;
    if (take_char(s, '.')) {
        size_t n = digits(*s, 0);
        *s = str_cut(*s, n);
        return n <= 9;
    }
    return true;
}

/* yyyy-M-d[ H:m:s[.f]] or yyyy-M-d[TH:m[:s[.f]]] */
static bool reads_timestamp_text(str s)
{
    if (digits(s, 0) != 4)
        return false;
    s = str_cut(s, 4);
    if (!take_char(&s, '-') || !take_two(&s, 1, 12) || !take_char(&s, '-') || !take_two(&s, 1, 31))
        return false;
    if (s.len == 0)
        return true;
    bool blank = take_char(&s, ' ');
    if ((!blank && !take_char(&s, 'T')) || !take_two(&s, 0, 23) || !take_char(&s, ':') ||
        !take_two(&s, 0, 59))
        return false;
    if (!blank && s.len == 0)
        return true;
    return take_char(&s, ':') && take_seconds(&s) && s.len == 0;
}

static bool reads_timestamp(const struct data_type *t, str s)
{
    if (t->kind == TYPE_TIMESTAMP && is_numeric(s)) /* since the epoch, in the type's own unit */
        return t->precision % 3 == 0 && reads_integer(s, INT64_MIN, INT64_MAX);
    return reads_timestamp_text(s);
}

/* --- nested types --- */

/* "[a]" or "ARRAY(a)" -> a */
static bool inside(str s, char open, char close, const char *word, str *ret)
{
    size_t n = strlen(word);
    s = str_trim(s);
    if (s.len >= 2 && s.p[0] == open && s.p[s.len - 1] == close) {
        *ret = str_trim(str_n(s.p + 1, s.len - 2));
        return true;
    }
    if (s.len < n + 2 || !str_ieq(str_n(s.p, n), str_of(word)) || s.p[s.len - 1] != ')')
        return false;
    s = str_trim(str_n(s.p + n, s.len - n - 1));
    if (s.len == 0 || s.p[0] != '(')
        return false;
    *ret = str_trim(str_cut(s, 1));
    return true;
}

/* The next part of a list, up to a comma outside of quotes and brackets; empty ones are left out.
 * False at the end. */
static bool next_part(str *rest, str *ret)
{
    size_t depth = 0, i = 0;
    bool quoted = false, escaped = false;
    while (rest->len > 0 && rest->p[0] == ',')
        *rest = str_cut(*rest, 1);
    if (rest->len == 0)
        return false;
    for (; i < rest->len; i++) {
        char c = rest->p[i];
        if (escaped)
            escaped = false;
        else if (c == '\\')
            escaped = true;
        else if (c == '"')
            quoted = !quoted;
        else if (quoted)
            continue;
        else if (c == '[' || c == '{' || c == '(')
            depth++;
        else if (c == ']' || c == '}' || c == ')')
            depth -= depth > 0;
        else if (c == ',' && depth == 0)
            break;
    }
    *ret = str_trim(str_n(rest->p, i));
    *rest = str_cut(*rest, i);
    return true;
}

/* In a MAP quotes, and escaped characters with their '\', are dropped. */
static int unquoted(struct ctx *cx, str s, str *ret)
{
    char *p = arena_alloc(&cx->arena, s.len + 1);
    size_t n = 0;
    if (!p)
        return ctx_nomem(cx);
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '\\')
            i++;
        else if (s.p[i] != '"')
            p[n++] = s.p[i];
    }
    *ret = str_trim(str_n(p, n));
    return 0;
}

static int reads_part(struct ctx *cx, const struct data_type *t, str s)
{
    return str_eqz(s, "null") ? 1 : reads(cx, t, s);
}

static int reads_array(struct ctx *cx, const struct data_type *t, str s)
{
    str part;
    if (!inside(s, '[', ']', "ARRAY", &s))
        return 0;
    while (next_part(&s, &part)) {
        int rc = reads_part(cx, t->value, part);
        if (rc <= 0)
            return rc;
    }
    return 1;
}

static int reads_entry(struct ctx *cx, const struct data_type *t, str s)
{
    for (size_t i = 1; i + 2 < s.len; i++) {
        if (s.p[i] != '-' || s.p[i + 1] != '>')
            continue;
        int rc = reads_part(cx, t->key, str_trim(str_n(s.p, i)));
        return rc <= 0 ? rc : reads_part(cx, t->value, str_trim(str_cut(s, i + 2)));
    }
    return 0;
}

static int reads_map(struct ctx *cx, const struct data_type *t, str s)
{
    str whole = str_trim(s), part;
    size_t n = 0;
    if (str_ieq(whole, STR_LIT("null")))
        return 1;
    if (!inside(s, '{', '}', "MAP", &s))
        return 0;
    bool arrows = whole.p[0] == '{';
    for (; next_part(&s, &part); n++) {
        TRY(unquoted(cx, part, &part));
        int rc =
            arrows ? reads_entry(cx, t, part) : reads_part(cx, n % 2 ? t->value : t->key, part);
        if (rc <= 0)
            return rc;
    }
    return arrows || n % 2 == 0;
}

static int reads_row(struct ctx *cx, const struct data_type *t, str s)
{
    str part;
    size_t n = 0;
    if (!inside(s, '{', '}', "STRUCT", &s))
        return 0;
    if (s.len == 0)
        return 1;
    for (; next_part(&s, &part); n++) {
        int rc = n < t->n_fields ? reads_part(cx, t->fields[n].type, part) : 0;
        if (rc <= 0)
            return rc;
    }
    return n == t->n_fields;
}

/* --- */

/* Is there a cast from STRING at all, down to what is nested? */
static bool castable(const struct data_type *t)
{
    switch (t->kind) {
    case TYPE_VARIANT:
    case TYPE_BLOB:
    case TYPE_GEOMETRY:
    case TYPE_GEOGRAPHY:
    case TYPE_VECTOR:
    case TYPE_MULTISET:
        return false;
    default:
        break;
    }
    for (size_t i = 0; i < t->n_fields; i++)
        if (!castable(t->fields[i].type))
            return false;
    return (!t->key || castable(t->key)) && (!t->value || castable(t->value));
}

static int reads(struct ctx *cx, const struct data_type *t, str s)
{
    switch (t->kind) {
    case TYPE_BOOLEAN:
        return reads_boolean(s);
    case TYPE_DECIMAL:
        return reads_decimal(s);
    case TYPE_TINYINT:
        return reads_integer(s, INT8_MIN, INT8_MAX);
    case TYPE_SMALLINT:
        return reads_integer(s, INT16_MIN, INT16_MAX);
    case TYPE_INT:
        return reads_integer(s, INT32_MIN, INT32_MAX);
    case TYPE_BIGINT:
        return reads_integer(s, INT64_MIN, INT64_MAX);
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        return reads_real(s);
    case TYPE_DATE:
        return reads_date(s);
    case TYPE_TIME:
        return reads_time(s);
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return reads_timestamp(t, s);
    case TYPE_ARRAY:
        return reads_array(cx, t, s);
    case TYPE_MAP:
        return reads_map(cx, t, s);
    case TYPE_ROW:
        return reads_row(cx, t, s);
    default:
        return t->kind <= TYPE_VARBINARY; /* any text is */
    }
}
_Static_assert(TYPE_VARBINARY < TYPE_DECIMAL && TYPE_BOOLEAN < TYPE_VARBINARY,
               "texts and bytes come first");

int default_value_check(struct ctx *cx, const struct data_type *t, str text)
{
    str s = text;
    int rc = 0;
    if (!text.p)
        return 0;
    bool quoted = s.len > 0 && s.p[0] == '\'' && s.p[s.len - 1] == '\'';
    if (quoted && s.len > 1)
        s = str_n(s.p + 1, s.len - 2);
    if (castable(t) && (!quoted || text.len > 1))
        rc = reads(cx, t, s);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "Unsupported default value `%.*s` for type %.*s", SHOWN(text),
                    STR(types_sql_str(&cx->arena, t)));
}
