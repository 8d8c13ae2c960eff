/* schema_change.h - applies the changes of an alter request to a schema. Pure.
 *
 * Rules and messages are those of Paimon's SchemaManager. Actions served: setOption, removeOption,
 * updateComment. Any other known action is E_UNSUPPORTED, an unknown one E_INVAL. */
#ifndef LATCH_CATALOG_SCHEMA_CHANGE_H
#define LATCH_CATALOG_SCHEMA_CHANGE_H

#include "manifest/schema.h"

/* `changes`: an array of objects with an `action`. has_snapshots: options that shape data files may
 * not change any more. E_INVAL, E_UNSUPPORTED. */
int schema_change_apply(struct ctx *cx, const struct json *changes, bool has_snapshots,
                        struct schema *s) WARN_UNUSED;

#endif
