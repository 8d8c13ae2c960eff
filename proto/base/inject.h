/* inject.h - named points at which a test may stop, kill, delay or fail the process.
 *
 * Compiled in always (one relaxed load of a flag when nothing is armed). Armed by the variable
 * LATCH_INJECT = "point=action[:n][,point=action…]" where action is
 *   kill      SIGKILL to ourselves at the n-th hit (default the first)
 *   fail      inject() answers true at the n-th hit only (the caller then behaves as if the call
 *             after it had failed);  fail-all: at the n-th and every later one
 *   sleep<ms> waits at the n-th hit and every later one, e.g. sleep200
 * With LATCH_INJECT_COUNT=FILE, the hits of every point are appended to FILE at exit and before a
 * kill as "point hits" lines, so that a test can show a point that was never hit.
 * The points are listed in inject.def: a name that is not there does not compile. */
#ifndef LATCH_PROTO_BASE_INJECT_H
#define LATCH_PROTO_BASE_INJECT_H

#include <stdbool.h>

enum inject_point {
#define INJECT_POINT(id, name, what) INJ_##id,
#include "proto/base/inject.def"
#undef INJECT_POINT
    INJ_COUNT
};

int inject_init(void);   /* reads the environment; E_INVAL for an unknown name or action */
void inject_flush(void); /* writes the hits (at exit) */
const char *inject_name(enum inject_point p);
bool inject_hit(enum inject_point p); /* use the macro */
extern _Atomic bool inject_armed;
#define INJECT(id)                                                                                 \
    (__atomic_load_n((const bool *)&inject_armed, __ATOMIC_RELAXED) && inject_hit(INJ_##id))

#endif
