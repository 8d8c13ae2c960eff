/* java_number.h - numbers and dates as Java prints them. Pure; nothing allocates but the buffer. */
#ifndef LATCH_MANIFEST_JAVA_NUMBER_H
#define LATCH_MANIFEST_JAVA_NUMBER_H

#include "proto/base/buf.h"

/* Float.toString and Double.toString of JDK 19 and later: the shortest digits that read back. */
void java_print_float(struct buf *b, float v);
void java_print_double(struct buf *b, double v);
/* BigDecimal.toPlainString of unscaled * 10^-scale; scale >= 0. */
void java_print_decimal(struct buf *b, __int128 unscaled, int32_t scale);

/* The proleptic Gregorian calendar; day 0 is 1970-01-01. */
void civil_of_day(int64_t day, int64_t *ret_year, int *ret_month, int *ret_day);
int64_t day_of_civil(int64_t year, int month, int day);

#endif
