/* java_text.h - text as Java's library reads it: where Paimon says Integer.parseInt, trim() or
 * split(), so do we. Pure; nothing allocates or blocks. */
#ifndef LATCH_MANIFEST_JAVA_TEXT_H
#define LATCH_MANIFEST_JAVA_TEXT_H

#include "proto/base/str.h"

str java_trim(str s); /* String.trim: all bytes up to the blank off at both ends */
/* Integer.parseInt, Long.parseLong: a sign, then decimal digits and nothing else, within the range.
 * Digits of other scripts, which Java takes too, are not known here. */
bool java_int(str s, int64_t min, int64_t max, int64_t *ret);
/* Would Double.parseDouble take it? ("1e3", " .5f ", "NaN", "0x1p3") */
bool java_is_double(str s);
/* Takes the part up to the next comma off *rest, as split(",") counts parts: empty ones at the end
 * are none, but the empty text has one. Start with java_split_init. False at the end. */
str java_split_init(str text);
bool java_split(str *rest, str *ret_part);

#endif
