/* partition_parse.c - the value that a partition's text stands for (see partition_path.h).
 *
 * Source: paimon-common TypeUtils.castFromString, BinaryStringUtils (toBoolean, toDate, toTime,
 * toTimestamp) and DateTimeUtils; java.math.BigDecimal and java.time's parser for what they accept:
 * a day that the month does not have becomes its last one in a timestamp, but not in a DATE; 24:00:00
 * is the next day. No state; any thread. */
#include "manifest/java_number.h"
#include "manifest/java_text.h"
#include "manifest/partition_path.h"

#define MS_OF_DAY    86400000
#define DIGITS_MAX   38
#define EXPONENT_MAX 1000000 /* BigDecimal's own limit is 2^31; a number that far is 0 or too big */
#define SHOWN(s)     ((s).len < 100 ? (int)(s).len : 100), (s).p

static int none(struct ctx *cx, const struct data_type *t, str s)
{
    return ctx_fail(cx, E_INVAL, RES_PARTITION, s,
                    "'%.*s' is no value of type %.*s; give one of that type", SHOWN(s),
                    STR(types_sql_str(&cx->arena, t)));
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes 1..max digits off *s. */
static bool take_digits(str *s, size_t max, int64_t *ret)
{
    size_t n = 0;
    int64_t v = 0;
    while (n < s->len && n < max && is_digit(s->p[n]))
        v = v * 10 + (s->p[n++] - '0');
    *s = str_cut(*s, n);
    *ret = v;
    return n > 0;
}

static bool take_char(str *s, char c)
{
    if (s->len == 0 || s->p[0] != c)
        return false;
    *s = str_cut(*s, 1);
    return true;
}

/* --- BOOLEAN, numbers --- */

static bool parse_bool(str s, bool *ret)
{
    static const char *const yes[] = {"t", "true", "y", "yes", "1"};
    static const char *const no[] = {"f", "false", "n", "no", "0"};
    for (size_t i = 0; i < 5; i++) {
        *ret = str_ieq(s, str_of(yes[i]));
        if (*ret || str_ieq(s, str_of(no[i])))
            return true;
    }
    return false;
}

static bool parse_int(enum type_kind k, str s, int64_t *ret)
{
    switch (k) {
    case TYPE_TINYINT:
        return java_int(s, INT8_MIN, INT8_MAX, ret);
    case TYPE_SMALLINT:
        return java_int(s, INT16_MIN, INT16_MAX, ret);
    case TYPE_BIGINT:
        return java_int(s, INT64_MIN, INT64_MAX, ret);
    default:
        return java_int(s, INT32_MIN, INT32_MAX, ret);
    }
}

static int parse_real(struct ctx *cx, const struct data_type *t, str s, struct binrow_value *ret)
{
    if (!java_is_double(s))
        return none(cx, t, s);
    char *z = str_dupz(&cx->arena, java_trim(s));
    if (!z)
        return ctx_nomem(cx);
    if (t->kind == TYPE_FLOAT)
        ret->f = strtof(z, NULL);
    else
        ret->d = strtod(z, NULL);
    return 0;
}

/* "-12.5e3" as its digits: v * 10^exponent. Digits past those that any type has are left out. */
struct decimal {
    bool minus, seen;
    unsigned __int128 v;
    int digits;       /* of v, zeros in front left out */
    int64_t exponent; /* of its last digit */
    int first_lost;   /* the first digit left out; -1: none */
};

static void decimal_digit(struct decimal *d, char c, bool fraction)
{
    d->seen = true;
    if (d->digits >= DIGITS_MAX) { /* no type has more */
        d->first_lost = d->first_lost < 0 ? c - '0' : d->first_lost;
        d->exponent += !fraction;
        return;
    }
    d->v = d->v * 10 + (unsigned)(c - '0');
    d->digits += d->v != 0;
    d->exponent -= fraction;
}

static bool scan_decimal(str s, struct decimal *d)
{
    int64_t e = 0;
    bool fraction = false;
    *d = (struct decimal){.first_lost = -1, .minus = s.len > 0 && s.p[0] == '-'};
    if (!take_char(&s, '-'))
        take_char(&s, '+');
    for (; s.len > 0 && (is_digit(s.p[0]) || (s.p[0] == '.' && !fraction)); s = str_cut(s, 1)) {
        if (s.p[0] == '.')
            fraction = true;
        else
            decimal_digit(d, s.p[0], fraction);
    }
    if (s.len > 0 && (take_char(&s, 'e') || take_char(&s, 'E'))) {
        if (!java_int(s, -EXPONENT_MAX, EXPONENT_MAX, &e))
            return false;
        s.len = 0;
    }
    d->exponent += e;
    return d->seen && s.len == 0;
}

/* Half up to `scale` places behind the point; false if it has more than `precision` digits then. */
static bool round_decimal(struct decimal *d, int32_t precision, int32_t scale, __int128 *ret)
{
    int64_t shift = d->exponent + scale;
    unsigned __int128 v = d->v, top = 1;
    int lost = d->first_lost >= 0 ? d->first_lost : 0;
    if (v == 0)
        shift = 0;
    for (int32_t i = 0; i < precision; i++)
        top *= 10;
    for (; shift < 0 && v > 0; shift++, v /= 10)
        lost = (int)(v % 10);
    if (shift < 0)
        lost = 0;
    v += lost >= 5;
    for (; shift > 0; shift--) {
        if (v >= top / 10)
            return false;
        v *= 10;
    }
    if (v >= top)
        return false;
    *ret = d->minus ? -(__int128)v : (__int128)v;
    return true;
}

/* --- dates and times --- */

static int month_days(int64_t year, int64_t month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

static bool part_int(str s, int64_t *ret)
{
    s = java_trim(s);
    return s.len > 0 && is_digit(s.p[0]) && java_int(s, 0, INT32_MAX, ret);
}

/* A number of days, or "2024", "2024-3", "2024-3-4", with a time behind that is ignored. */
static bool parse_date(str s, int64_t *ret)
{
    int64_t part[3] = {0, 1, 1};
    str rest = s, one;
    if (java_int(s, INT32_MIN, INT32_MAX, ret))
        return s.p[0] != '+';
    ptrdiff_t blank = str_find(s, ' ');
    if (blank > 0)
        rest.len = (size_t)blank;
    for (size_t i = 0; i < 3 && rest.p; i++) {
        if (i == 2) {
            one = rest;
            rest = STR_NONE;
        } else if (!str_split(&rest, '-', &one)) {
            return false;
        }
        if (!part_int(one, &part[i]))
            return false;
    }
    if (part[0] > 9999 || part[1] < 1 || part[1] > 12 || part[2] < 1 ||
        part[2] > month_days(part[0], part[1]))
        return false;
    *ret = day_of_civil(part[0], (int)part[1], (int)part[2]);
    return true;
}

/* Three digits, the third rounded by the fourth; what is no digit counts as 0. */
static int64_t parse_ms(str s)
{
    int64_t v = 0;
    for (size_t i = 0; i < 3; i++)
        v = v * 10 + (i < s.len && is_digit(s.p[i]) ? s.p[i] - '0' : 0);
    return v + (s.len > 3 && s.p[3] >= '5');
}

/* A number of milliseconds, or "10", "10:48", "10:48:07", "10:48:07.123". */
static bool parse_time(str s, int64_t *ret)
{
    int64_t part[3] = {0}, ms = 0;
    str rest = s, one;
    if (java_int(s, INT32_MIN, INT32_MAX, ret))
        return s.p[0] != '+';
    for (size_t i = 0; i < 3 && rest.p; i++) {
        if (i == 2) {
            one = rest;
            rest = STR_NONE;
            ptrdiff_t dot = str_find(one, '.');
            if (dot >= 0) {
                ms = parse_ms(java_trim(str_cut(one, (size_t)dot + 1)));
                one.len = (size_t)dot;
            }
        } else if (!str_split(&rest, ':', &one)) {
            return false;
        }
        if (!part_int(one, &part[i]))
            return false;
    }
    ms += part[0] * 3600000 + part[1] * 60000 + part[2] * 1000;
    *ret = ms;
    return ms <= INT32_MAX;
}

/* "2024-3-4", " 10:48:07", ".123456789"; and as java.time prints it: a T, no seconds, a signed year. */
static bool scan_stamp(str s, int64_t part[7])
{
    bool signed_year = s.len > 0 && (s.p[0] == '+' || s.p[0] == '-');
    bool minus = signed_year && s.p[0] == '-';
    s = str_cut(s, signed_year);
    size_t before = s.len;
    if (!take_digits(&s, signed_year ? 9 : 4, &part[0]) || before - s.len < 4 ||
        !take_char(&s, '-') || !take_digits(&s, 2, &part[1]) || !take_char(&s, '-') ||
        !take_digits(&s, 2, &part[2]))
        return false;
    part[0] = minus ? -part[0] : part[0];
    if (s.len == 0)
        return true;
    bool iso = s.p[0] == 'T';
    if ((!take_char(&s, ' ') && !take_char(&s, 'T')) || !take_digits(&s, 2, &part[3]) ||
        !take_char(&s, ':') || !take_digits(&s, 2, &part[4]))
        return false;
    if (iso && s.len == 0)
        return true;
    if (!take_char(&s, ':') || !take_digits(&s, 2, &part[5]))
        return false;
    if (s.len == 0 || !take_char(&s, '.'))
        return s.len == 0;
    size_t n = s.len;
    if (n > 0 && !take_digits(&s, 9, &part[6]))
        return false;
    for (size_t i = n; i < 9; i++)
        part[6] *= 10;
    return s.len == 0;
}

/* Digits of a second that the type does not have are cut off. */
static int64_t cut_ns(int64_t ns, int32_t precision)
{
    int64_t unit = 1;
    for (int32_t i = precision; i < 9; i++)
        unit *= 10;
    return ns - ns % unit;
}

static bool local_to_utc(int64_t *seconds)
{
    time_t utc = *seconds;
    struct tm tm;
    if (!gmtime_r(&utc, &tm))
        return false;
    tm.tm_isdst = -1;
    utc = mktime(&tm);
    *seconds = utc;
    return true;
}

static bool stamp_from_number(str s, int32_t precision, struct binrow_value *ret)
{
    int64_t v = 0, unit = precision == 9 ? 1000000 : 1000;
    if (!java_int(s, INT64_MIN, INT64_MAX, &v) || s.p[0] == '+')
        return false;
    switch (precision) {
    case 0:
        ret->ts.ns = 0;
        return !__builtin_mul_overflow(v, 1000, &ret->ts.ms);
    case 3:
        ret->ts.ms = v;
        ret->ts.ns = 0;
        return true;
    case 6:
    case 9: /* towards the past, where Java makes a negative rest that it then cannot write */
        ret->ts.ms = v / unit - (v % unit < 0);
        ret->ts.ns = (int32_t)((v - ret->ts.ms * unit) * (1000000 / unit));
        return true;
    default:
        return false;
    }
}

static bool parse_timestamp(const struct data_type *t, str s, struct binrow_value *ret)
{
    int64_t p[7] = {0};
    if (t->kind == TYPE_TIMESTAMP && stamp_from_number(s, t->precision, ret))
        return true;
    if (!scan_stamp(s, p) || p[1] < 1 || p[1] > 12 || p[2] < 1 || p[2] > 31)
        return false;
    if (p[3] > 24 || p[4] > 59 || p[5] > 59 || (p[3] == 24 && p[4] + p[5] + p[6] > 0))
        return false;
    int last = month_days(p[0] < 0 ? p[0] % 400 + 400 : p[0], p[1]);
    int64_t day = day_of_civil(p[0], (int)p[1], (int)(p[2] < last ? p[2] : last));
    int64_t seconds = day * 86400 + p[3] * 3600 + p[4] * 60 + p[5];
    if (t->kind == TYPE_TIMESTAMP_LTZ && !local_to_utc(&seconds))
        return false;
    int64_t ns = cut_ns(p[6], t->precision);
    ret->ts.ms = seconds * 1000 + ns / 1000000;
    ret->ts.ns = (int32_t)(ns % 1000000);
    return true;
}

/* --- texts, and all of them --- */

static bool text_fits(const struct data_type *t, str s)
{
    size_t units = 0;
    for (size_t n; s.len > 0; s = str_cut(s, n), units++) {
        n = str_utf8_char(s);
        if (n == 0)
            return false;
    }
    return t->length == TYPE_LENGTH_MAX || units <= (size_t)t->length;
}

static bool parse_int_like(const struct data_type *t, str s, int64_t *ret)
{
    if (t->kind == TYPE_DATE)
        return parse_date(s, ret);
    return t->kind == TYPE_TIME ? parse_time(s, ret) : parse_int(t->kind, s, ret);
}

static bool parse_decimal(const struct data_type *t, str s, __int128 *ret)
{
    struct decimal d;
    return scan_decimal(s, &d) && round_decimal(&d, t->precision, t->scale, ret);
}

static int parse_value(struct ctx *cx, const struct data_type *t, str s, struct binrow_value *v)
{
    bool ok = false;
    switch (v->tag) {
    case BV_BOOL:
        ok = parse_bool(s, &v->b);
        break;
    case BV_INT:
        ok = parse_int_like(t, s, &v->i);
        break;
    case BV_FLOAT:
    case BV_DOUBLE:
        return parse_real(cx, t, s, v);
    case BV_DECIMAL:
        ok = parse_decimal(t, s, &v->dec);
        break;
    case BV_TIMESTAMP:
        ok = parse_timestamp(t, s, v);
        break;
    default:
        ok = t->kind == TYPE_BINARY || (t->kind == TYPE_VARBINARY && s.len <= (size_t)t->length) ||
             ((t->kind == TYPE_CHAR || t->kind == TYPE_VARCHAR) && text_fits(t, s));
        v->bytes = s;
        break;
    }
    return ok ? 0 : none(cx, t, s);
}

int partition_value_parse(struct ctx *cx, const struct data_type *t, str text,
                          const struct partition_naming *naming, struct binrow_value *ret)
{
    struct binrow_value v = {.tag = BV_NULL};
    if (!str_eq(text, naming->default_name)) {
        v.tag = binrow_tag_of(t);
        if (v.tag >= BV_VARIANT || t->kind >= TYPE_VARIANT)
            return ctx_fail(cx, E_UNSUPPORTED, RES_PARTITION, text,
                            "no partition has a column of type %s", types_kind_name(t->kind));
        TRY(parse_value(cx, t, text, &v));
    }
    *ret = v;
    return 0;
}
