/* config_value.h - one value of a setting: text <-> number, and the words that describe its type.
 */
#ifndef LATCH_SERVER_CONFIG_VALUE_H
#define LATCH_SERVER_CONFIG_VALUE_H

#include "proto/base/buf.h"
#include "server/config.h"

/* A value of any type; str for STR and PATH (borrowed from `text`), else a number (BOOL: 0 or 1).
 */
struct value {
    str s;
    int64_t i;
};
/* E_INVAL with a message that says what is allowed; it begins with the key and names no source. */
int value_parse(struct ctx *cx, const struct setting *s, str text, struct value *ret) WARN_UNUSED;
/* Appends a number as people write it for this type: "64MiB", "30s", "02775", "metadata". */
void value_format(struct buf *b, const struct setting *s, int64_t v);
/* Appends what is allowed: "1 to 64", "off, metadata", "4KiB to 1GiB". */
void value_allowed(struct buf *b, const struct setting *s);

#endif
