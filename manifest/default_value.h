/* default_value.h - can Paimon read the default value of a column as the column's type? Pure. */
#ifndef LATCH_MANIFEST_DEFAULT_VALUE_H
#define LATCH_MANIFEST_DEFAULT_VALUE_H

#include "manifest/types.h"

/* 0 without a default and for one that Paimon casts without an exception; else E_INVAL, in
 * Java's words. */
int default_value_check(struct ctx *cx, const struct data_field *f) WARN_UNUSED;

#endif
