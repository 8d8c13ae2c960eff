/* duration.h - spans of time as Paimon's options and tag files write them. Pure; any thread. */
#ifndef LATCH_MANIFEST_DURATION_H
#define LATCH_MANIFEST_DURATION_H

#include "proto/base/buf.h"
#include "proto/base/ctx.h"

struct duration { /* never negative */
    int64_t seconds;
    int32_t nanos; /* 0..999999999 */
};

/* "1d", "12 hours", "500" (milliseconds), blanks around the number and the unit. E_INVAL with a
 * message that begins with `what`. */
int duration_parse(struct ctx *cx, str text, const char *what, struct duration *ret) WARN_UNUSED;
/* The shortest text that duration_parse takes back: a number of the largest unit that fits. */
void duration_put(struct buf *b, const struct duration *d);

/* As a JSON number of seconds: what Jackson writes for a Java Duration, "86400.000000000". */
void duration_put_number(struct buf *b, const struct duration *d);
/* From the text of a JSON number of seconds, digits past the ninth cut off. False: negative, or
 * more seconds than int64 holds. */
bool duration_of_number(str number, struct duration *ret);

#endif
