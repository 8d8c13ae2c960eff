/* schema_change.h - applies the changes of an alter request to a schema. Pure.
 *
 * Rules, their order and messages are those of Paimon's SchemaManager; all its actions are served.
 * An action that is not known is E_INVAL. */
#ifndef LATCH_CATALOG_SCHEMA_CHANGE_H
#define LATCH_CATALOG_SCHEMA_CHANGE_H

#include "manifest/schema.h"

#define SCHEMA_CHANGES_MAX 10000 /* in one request */

/* `changes`: an array of objects with an `action`, applied in their order. has_snapshots: what
 * shapes data files may not change any more. `table` is for messages. Changes ts->schema and
 * ts->highest_field_id, both or (on failure) none; the caller checks the schema as a whole
 * (schema_check_table). What it borrows from `changes` must outlive it.
 * E_INVAL, E_UNSUPPORTED, E_STATE; E_NOTFOUND and E_EXISTS name a column; E_TOOBIG, E_TIMEOUT. */
int schema_change_apply(struct ctx *cx, const struct json *changes, bool has_snapshots, str table,
                        struct table_schema *ts) WARN_UNUSED;

#endif
