/* duration.h - spans of time as Paimon's options and tag files write them. Pure; any thread. */
#ifndef LATCH_MANIFEST_DURATION_H
#define LATCH_MANIFEST_DURATION_H

#include "proto/base/buf.h"
#include "proto/base/ctx.h"

struct duration { /* never negative */
    int64_t seconds;
    int32_t nanos; /* 0..999999999 */
};

/* "1d", "12 hours", "500" (milliseconds), blanks around the number and the unit. */
bool duration_of_text(str text, struct duration *ret);
/* The same; E_INVAL with a message that begins with `what` and says why not. */
int duration_parse(struct ctx *cx, str text, const char *what, struct duration *ret) WARN_UNUSED;
/* Rounded down; what is longer than INT64_MAX ms is INT64_MAX. */
int64_t duration_ms(const struct duration *d);
/* The shortest text that duration_parse takes back: a number of the largest unit that fits. */
void duration_put(struct buf *b, const struct duration *d);

/* As a JSON number of seconds: what Jackson writes for a Java Duration, "86400.000000000". */
void duration_put_number(struct buf *b, const struct duration *d);
/* From the text of a JSON number of seconds, digits past the ninth cut off. False: negative, or
 * more seconds than int64 holds. */
bool duration_of_number(str number, struct duration *ret);

#endif
