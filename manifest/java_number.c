/* java_number.c - see java_number.h.
 *
 * Source: the documentation of Float.toString, Double.toString and BigDecimal.toPlainString. printf
 * with growing precision finds the shortest digits; it runs in the C locale, as the server does.
 * Calendar: years begin in March, in eras of 400 years (146097 days). No state; any thread. */
#include "manifest/java_number.h"

/* v is finite and above 0. Its digits without point in `digits`, at least two as Java does it; the
 * value is d.ddd * 10^exponent. */
static int shortest(double v, bool single, char digits[20], int *ret_exponent)
{
    char text[40];
    int n = 0;
    for (int precision = 1; precision <= 16; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, v);
        if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
            break;
    }
    const char *p = text;
    for (; *p != 'e'; p++)
        if (*p != '.')
            digits[n++] = *p;
    *ret_exponent = (int)strtol(p + 1, NULL, 10);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = 0;
    return n;
}

static void print_real(struct buf *b, double v, bool single)
{
    char digits[20];
    int exponent = 0;
    if (v != v) {
        buf_addz(b, "NaN");
        return;
    }
    if (__builtin_signbit(v))
        buf_addc(b, '-');
    v = __builtin_fabs(v);
    if (v == 0 || __builtin_isinf(v)) {
        buf_addz(b, v == 0 ? "0.0" : "Infinity");
        return;
    }
    int n = shortest(v, single, digits, &exponent);
    if (exponent < -3 || exponent >= 7) { /* 1.5E10 */
        buf_addf(b, "%c.%sE%d", digits[0], n > 1 ? digits + 1 : "0", exponent);
        return;
    }
    if (exponent < 0) { /* 0.0015 */
        buf_addf(b, "0.%.*s%s", -exponent - 1, "00", digits);
        return;
    }
    for (int i = 0; i <= exponent || i < n; i++) { /* 15.0, 1.5 */
        buf_addc(b, i < n ? digits[i] : '0');
        if (i == exponent) {
            buf_addc(b, '.');
            if (i + 1 >= n)
                buf_addc(b, '0');
        }
    }
}

void java_print_float(struct buf *b, float v)
{
    print_real(b, (double)v, true);
}

void java_print_double(struct buf *b, double v)
{
    print_real(b, v, false);
}

void java_print_decimal(struct buf *b, __int128 unscaled, int32_t scale)
{
    char digits[48]; /* the last first; 39 for the widest number */
    unsigned __int128 mag =
        unscaled < 0 ? -(unsigned __int128)unscaled : (unsigned __int128)unscaled;
    int n = 0;
    while (mag > 0 || n <= scale) {
        digits[n++] = (char)('0' + (int)(mag % 10));
        mag /= 10;
    }
    if (unscaled < 0)
        buf_addc(b, '-');
    while (n-- > 0) {
        buf_addc(b, digits[n]);
        if (n == scale && n > 0)
            buf_addc(b, '.');
    }
}

#define ERA_DAYS    146097
#define ERA_YEARS   400
#define MARCH_SHIFT 719468 /* days from 0000-03-01 to 1970-01-01 */

void civil_of_day(int64_t day, int64_t *ret_year, int *ret_month, int *ret_day)
{
    int64_t z = day + MARCH_SHIFT;
    int64_t era = (z >= 0 ? z : z - (ERA_DAYS - 1)) / ERA_DAYS;
    int64_t of_era = z - era * ERA_DAYS;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* 0 is March */
    *ret_day = (int)(of_year - (153 * month + 2) / 5 + 1);
    *ret_month = (int)(month < 10 ? month + 3 : month - 9);
    *ret_year = year + era * ERA_YEARS + (*ret_month <= 2);
}

int64_t day_of_civil(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - (ERA_YEARS - 1)) / ERA_YEARS;
    int64_t of_era = year - era * ERA_YEARS;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - MARCH_SHIFT;
}
