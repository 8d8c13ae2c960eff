/* clock.h - time. Wall time only for what people read; everything that waits uses the monotonic one.
 * Tests may shift the wall clock with clock_wall_shift_ms. */
#ifndef LATCH_PROTO_BASE_CLOCK_H
#define LATCH_PROTO_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_wall_ms(void); /* since 1970, UTC */
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
void clock_sleep_ms(int64_t ms); /* the whole time, whatever signals come */
void clock_wall_shift_ms(
    int64_t by); /* tests only; 0: no shift, a second call replaces the first */

#endif
