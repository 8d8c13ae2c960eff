/* partition_text.c - the text of a partition's value (see partition_path.h).
 *
 * Source: paimon-common InternalRowPartitionComputer, Timestamp.toString (java.time.LocalDateTime),
 * the casts to STRING (DateTimeUtils), and java.lang.Character.isWhitespace for what counts as blank.
 * No state; any thread. */
#include "manifest/partition_path.h"

#include "manifest/java_number.h"

#define MS_OF_DAY 86400000
/* Paimon's own date arithmetic overflows a little above; nobody has such a partition. */
#define DAY_MAX 2000000000

static int say_unsupported(struct ctx *cx, const struct data_type *t, const char *why)
{
    return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                    "a partition's value of type %s has no name: %s", types_kind_name(t->kind),
                    why);
}

/* Ends in the code itself, for static checkers. */
#define unsupported(cx, t, why) ctx_code(say_unsupported((cx), (t), (why)), E_UNSUPPORTED)

static int add_date(struct ctx *cx, const struct data_type *t, int64_t day, struct buf *b)
{
    int64_t year;
    int month, of_month;
    if (day > DAY_MAX || day < -DAY_MAX)
        return unsupported(cx, t, "the date is out of range");
    civil_of_day(day, &year, &month, &of_month);
    if (year < 0)
        return unsupported(cx, t, "years below 0 have none");
    buf_addf(b, "%04d-%02d-%02d", (int)(year % 10000), month, of_month);
    return 0;
}

/* 45296070 at precision 3 is 12:34:56.07: digits while there are any, one at least. */
static void add_time(int64_t ms, int32_t precision, struct buf *b)
{
    ms %= MS_OF_DAY;
    ms += ms < 0 ? MS_OF_DAY : 0;
    int part = (int)(ms % 1000);
    buf_addf(b, "%02d:%02d:%02d", (int)(ms / 3600000), (int)(ms / 60000 % 60),
             (int)(ms / 1000 % 60));
    if (precision > 0)
        buf_addc(b, '.');
    for (; precision > 0; precision--) {
        buf_addc(b, (char)('0' + part / 100));
        part = part % 100 * 10;
        if (part == 0)
            break;
    }
}

struct stamp {
    int64_t day, year;
    int month, of_month, hour, minute, second;
    int32_t ns;
};

static bool stamp_of(int64_t ms, int32_t ns, struct stamp *s)
{
    int64_t day = ms / MS_OF_DAY, of_day = ms % MS_OF_DAY;
    if (of_day < 0) {
        day--;
        of_day += MS_OF_DAY;
    }
    if (day > DAY_MAX || day < -DAY_MAX)
        return false;
    *s = (struct stamp){.day = day,
                        .hour = (int)(of_day / 3600000),
                        .minute = (int)(of_day / 60000 % 60),
                        .second = (int)(of_day / 1000 % 60),
                        .ns = (int32_t)(of_day % 1000 * 1000000) + ns};
    civil_of_day(day, &s->year, &s->month, &s->of_month);
    return true;
}

/* LocalDateTime.toString: seconds and fractions only where they are not zero, 3, 6 or 9 digits. */
static void add_stamp_legacy(const struct stamp *s, struct buf *b)
{
    if (s->year > 9999)
        buf_addc(b, '+');
    buf_addf(b, s->year < 0 ? "-%04lld" : "%04lld", (long long)(s->year < 0 ? -s->year : s->year));
    buf_addf(b, "-%02d-%02dT%02d:%02d", s->month, s->of_month, s->hour, s->minute);
    if (s->second == 0 && s->ns == 0)
        return;
    buf_addf(b, ":%02d", s->second);
    if (s->ns % 1000000 == 0 && s->ns > 0)
        buf_addf(b, ".%03d", s->ns / 1000000);
    else if (s->ns % 1000 == 0 && s->ns > 0)
        buf_addf(b, ".%06d", s->ns / 1000);
    else if (s->ns > 0)
        buf_addf(b, ".%09d", s->ns);
}

/* At least `precision` digits of the fraction, more only if they are not zero. */
static void add_fraction(int32_t ns, int32_t precision, struct buf *b)
{
    char digits[16];
    int n = snprintf(digits, sizeof digits, "%09d", ns);
    while (n > precision && digits[n - 1] == '0')
        n--;
    if (n > 0)
        buf_addf(b, ".%.*s", n, digits);
}

static int add_timestamp(struct ctx *cx, const struct data_type *t, const struct binrow_value *v,
                         bool legacy, struct buf *b)
{
    struct stamp s;
    int64_t ms = v->ts.ms;
    if (t->kind == TYPE_TIMESTAMP_LTZ && !legacy) {
        time_t seconds = ms / 1000 - (ms % 1000 < 0);
        struct tm local;
        if (!localtime_r(&seconds, &local) ||
            __builtin_add_overflow(ms, local.tm_gmtoff * 1000, &ms))
            return unsupported(cx, t, "the time is out of range");
    }
    if (!stamp_of(ms, v->ts.ns, &s))
        return unsupported(cx, t, "the time is out of range");
    if (legacy) {
        add_stamp_legacy(&s, b);
        return 0;
    }
    TRY(add_date(cx, t, s.day, b));
    buf_addf(b, " %02d:%02d:%02d", s.hour, s.minute, s.second);
    add_fraction(s.ns, t->precision, b);
    return 0;
}

static int add_bytes(struct ctx *cx, const struct data_type *t, str bytes, bool legacy,
                     struct buf *b)
{
    bool text = t->kind == TYPE_CHAR || t->kind == TYPE_VARCHAR;
    bool binary = t->kind == TYPE_BINARY || t->kind == TYPE_VARBINARY;
    if (!text && !binary)
        return unsupported(cx, t, "Paimon has no text for this type");
    if (!text && legacy)
        return unsupported(cx, t,
                           "legacy names of bytes differ each time; set "
                           "partition.legacy-name to false");
    if (!str_utf8_valid(bytes))
        return unsupported(cx, t, "it is not valid UTF-8");
    buf_adds(b, bytes);
    return 0;
}

static int add_text(struct ctx *cx, const struct data_type *t, const struct binrow_value *v,
                    bool legacy, struct buf *b)
{
    switch (v->tag) {
    case BV_NULL:
        return 0;
    case BV_BOOL:
        buf_addz(b, v->b ? "true" : "false");
        return 0;
    case BV_INT:
        if (t->kind == TYPE_DATE && !legacy)
            return add_date(cx, t, v->i, b);
        if (t->kind == TYPE_TIME && !legacy)
            add_time(v->i, t->precision, b);
        else
            buf_add_i64(b, v->i);
        return 0;
    case BV_FLOAT:
        java_print_float(b, v->f);
        return 0;
    case BV_DOUBLE:
        java_print_double(b, v->d);
        return 0;
    case BV_DECIMAL:
        java_print_decimal(b, v->dec, t->scale);
        return 0;
    case BV_TIMESTAMP:
        return add_timestamp(cx, t, v, legacy, b);
    case BV_BYTES:
        return add_bytes(cx, t, v->bytes, legacy, b);
    default:
        return unsupported(cx, t, "Paimon has no text for this type");
    }
}

/* Unicode's separators, without those that do not break a line, and the blanks of ASCII. */
static bool is_blank(uint32_t c)
{
    return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f) || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a && c != 0x2007) || c == 0x2028 || c == 0x2029 ||
           c == 0x205f || c == 0x3000;
}

static bool all_blank(str s)
{
    while (s.len > 0) {
        size_t n = str_utf8_char(s);
        unsigned char first = (unsigned char)s.p[0];
        uint32_t c = n == 3 ? first & 0x0fu : first; /* no blank has two or four bytes */
        for (size_t i = 1; i < n; i++)
            c = c << 6 | ((unsigned char)s.p[i] & 0x3fu);
        if ((n != 1 && n != 3) || !is_blank(c))
            return false;
        s = str_cut(s, n);
    }
    return true;
}

int partition_text(struct ctx *cx, const struct data_type *t, const struct binrow_value *v,
                   const struct partition_naming *naming, struct buf *b)
{
    size_t from = b->len;
    TRY(add_text(cx, t, v, naming->legacy, b));
    if (buf_fail(b))
        return ctx_fail(cx, buf_fail(b), RES_NONE, STR_NONE, "no room for a partition's name");
    if (all_blank(str_cut(buf_str(b), from))) {
        b->len = from;
        buf_adds(b, naming->default_name);
    }
    return 0;
}
