/* duration.c - Paimon's durations: "30 min", and the decimal seconds that Jackson makes of them.
 *
 * Source of the text form: Paimon's TimeUtils.parseDuration. Blanks are what Java's trim() takes
 * off, all bytes up to the space; the unit's case does not matter; a bare number is milliseconds;
 * the number must fit int64, and so must the seconds it stands for.
 * Source of the number form: DurationSerializer of jackson-datatype-jsr310, which writes seconds
 * with nine digits behind the point, zero as 0.0, and parts of a microsecond in BigDecimal's
 * exponent form (5.00E-7); pypaimon writes Python floats (86400.0, 0.0005, 1e-06). All are read.
 *
 * No state; any thread. */
#include "manifest/duration.h"
#include "manifest/java_text.h"

#define NANOS_PER_SECOND 1000000000
#define TEXT_SHOWN       64
#define EXPONENT_MAX     100000 /* past it a number is zero, or none that is seconds */

static const struct unit {
    int64_t seconds; /* 0: a part of a second */
    int32_t nanos;
    const char *labels[5];
} units[] = {
    {86400, 0, {"d", "day", "days"}},
    {3600, 0, {"h", "hour", "hours"}},
    {60, 0, {"m", "min", "minute", "minutes"}},
    {1, 0, {"s", "sec", "secs", "second", "seconds"}},
    {0, 1000000, {"ms", "milli", "millis", "millisecond", "milliseconds"}},
    {0, 1000, {"micro", "micros", "microsecond", "microseconds", "\xc2\xb5s"}},
    {0, 1, {"ns", "nano", "nanos", "nanosecond", "nanoseconds"}},
};
#define N_UNITS (sizeof units / sizeof *units)
#define MILLIS  (&units[4])

static const struct unit *unit_of(str label)
{
    if (label.len == 0)
        return MILLIS;
    for (size_t i = 0; i < N_UNITS; i++)
        for (size_t k = 0; k < 5 && units[i].labels[k]; k++)
            if (str_ieq(label, str_of(units[i].labels[k])))
                return &units[i];
    return NULL;
}

/* NULL, or why the text is no duration. */
static const char *read_text(str text, struct duration *ret)
{
    str rest = java_trim(text);
    size_t digits = 0;
    int64_t n, seconds;
    while (digits < rest.len && rest.p[digits] >= '0' && rest.p[digits] <= '9')
        digits++;
    if (digits == 0)
        return "it does not start with a number";
    if (!str_to_i64(str_n(rest.p, digits), &n))
        return "the number is too large";
    const struct unit *u = unit_of(java_trim(str_cut(rest, digits)));
    if (!u)
        return "the unit is not known";
    if (u->seconds == 0) {
        int64_t per_second = NANOS_PER_SECOND / u->nanos;
        *ret = (struct duration){n / per_second, (int32_t)(n % per_second) * u->nanos};
        return NULL;
    }
    if (__builtin_mul_overflow(n, u->seconds, &seconds))
        return "the number is too large";
    *ret = (struct duration){seconds, 0};
    return NULL;
}

bool duration_of_text(str text, struct duration *ret)
{
    return !read_text(text, ret);
}

int duration_parse(struct ctx *cx, str text, const char *what, struct duration *ret)
{
    const char *why = read_text(text, ret);
    if (!why)
        return 0;
    int shown = text.len < TEXT_SHOWN ? (int)text.len : TEXT_SHOWN;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "%s is \"%.*s\": %s; write a number and a unit out of d, h, min, s, ms, micro, "
                    "ns, as in 1d or 30 min",
                    what, shown, text.p ? text.p : "", why);
}

int64_t duration_ms(const struct duration *d)
{
    int64_t ms;
    if (__builtin_mul_overflow(d->seconds, 1000, &ms) ||
        __builtin_add_overflow(ms, d->nanos / 1000000, &ms))
        return INT64_MAX;
    return ms;
}

/* The number is put together from two, since of nanoseconds it may have more digits than int64. */
static void put_parts(struct buf *b, const struct duration *d, const struct unit *u)
{
    int width = u->nanos == 1 ? 9 : u->nanos == 1000 ? 6 : 3;
    if (d->seconds > 0)
        buf_addf(b, "%lld%0*d", (long long)d->seconds, width, d->nanos / u->nanos);
    else
        buf_addf(b, "%d", d->nanos / u->nanos);
}

void duration_put(struct buf *b, const struct duration *d)
{
    const struct unit *u = units;
    if (d->seconds == 0 && d->nanos == 0)
        u = &units[3];
    else if (d->nanos == 0)
        while (d->seconds % u->seconds != 0)
            u++;
    else
        for (u = MILLIS; d->nanos % u->nanos != 0;)
            u++;
    if (u->seconds > 0)
        buf_add_i64(b, d->seconds / u->seconds);
    else
        put_parts(b, d, u);
    buf_addz(b, u->labels[0]);
}

void duration_put_number(struct buf *b, const struct duration *d)
{
    if (d->seconds == 0 && d->nanos == 0)
        buf_addz(b, "0.0");
    else
        buf_addf(b, "%lld.%09d", (long long)d->seconds, d->nanos);
}

/* Takes "e-7" off the end of the number. False: not an exponent that can be right. */
static bool take_exponent(str *number, int64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < number->len; i++)
        if (number->p[i] == 'e' || number->p[i] == 'E') {
            str e = str_cut(*number, i + 1);
            if (e.len && e.p[0] == '+')
                e = str_cut(e, 1);
            number->len = i;
            return str_to_i64(e, ret) && *ret <= EXPONENT_MAX && *ret >= -EXPONENT_MAX;
        }
    return true;
}

/* The digit at `at` of the number without its point: zeros go on behind and before it. */
static int digit_at(str whole, str part, int64_t at)
{
    if (at < 0 || (uint64_t)at >= whole.len + part.len)
        return 0;
    size_t i = (size_t)at;
    return (i < whole.len ? whole.p[i] : part.p[i - whole.len]) - '0';
}

bool duration_of_number(str number, struct duration *ret)
{
    struct duration d = {0};
    int64_t exponent;
    if (number.len == 0 || number.p[0] == '-' || !take_exponent(&number, &exponent))
        return false;
    ptrdiff_t point = str_find(number, '.');
    str whole = point < 0 ? number : str_n(number.p, (size_t)point);
    str part = point < 0 ? STR_LIT("") : str_cut(number, (size_t)point + 1);
    int64_t end = (int64_t)whole.len + exponent; /* of the digits that are whole seconds */
    for (int64_t i = 0; i < end; i++)
        if (__builtin_mul_overflow(d.seconds, 10, &d.seconds) ||
            __builtin_add_overflow(d.seconds, digit_at(whole, part, i), &d.seconds))
            return false;
    for (int64_t i = end; i < end + 9; i++)
        d.nanos = d.nanos * 10 + digit_at(whole, part, i);
    *ret = d;
    return true;
}
