/* clock.c - the two clocks of the kernel, in milliseconds.
 *
 * The shift is for tests that need a day to pass; it touches the wall clock only, since everything
 * that waits uses the monotonic one.
 *
 * Threads: any. */
#include "proto/base/clock.h"

#include <errno.h>

#include "proto/base/assert.h"

static int64_t wall_shift_ms; /* only through __atomic builtins */

static int64_t read_us(clockid_t id)
{
    struct timespec t;
    ASSERT(clock_gettime(id, &t) == 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_wall_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000 + __atomic_load_n(&wall_shift_ms, __ATOMIC_RELAXED);
}

int64_t clock_mono_ms(void)
{
    return read_us(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_mono_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

void clock_sleep_ms(int64_t ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR) {
    }
}

void clock_wall_shift_ms(int64_t by)
{
    __atomic_store_n(&wall_shift_ms, by, __ATOMIC_RELAXED);
}
