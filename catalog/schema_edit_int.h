/* schema_edit_int.h - a schema while the changes of one request are applied to it; shared by the
 * files schema_change.c (options, keys, the order of things), schema_columns.c (changes of columns)
 * and schema_renames.c (what a renamed column is called elsewhere). */
#ifndef LATCH_CATALOG_SCHEMA_EDIT_INT_H
#define LATCH_CATALOG_SCHEMA_EDIT_INT_H

#include "catalog/columns_int.h"
#include "manifest/options_edit.h"
#include "manifest/schema.h"

/* Old names of columns to new ones, over all renames of a request (a to b, then b to c: a to c). */
struct renames {
    struct map by_old, by_new; /* values: struct rename */
};
void renames_init(struct renames *r);
void renames_done(struct renames *r);
int renames_note(struct ctx *cx, struct renames *r, str from, str to) WARN_UNUSED;
str renames_get(const struct renames *r, str name); /* the name itself where it did not change */
int renames_in_keys(struct ctx *cx, const struct renames *r, struct str_list *keys) WARN_UNUSED;
int renames_in_options(struct ctx *cx, const struct renames *r,
                       struct options_edit *options) WARN_UNUSED;

struct schema_edit {
    struct ctx *cx;
    const struct schema *old; /* most rules look at the schema as it was */
    bool has_snapshots;
    str table; /* "db.t", for messages */

    struct options_edit options;
    struct column_tree columns; /* empty until a column is changed */
    struct renames renames;
    struct str_list primary_keys;
    str comment;
    int32_t highest_id;

    bool null_to_not_null_off, explicit_casts_off, add_before_partition; /* table options */
    struct map indexed; /* columns of primary-key indexes */
};

/* Carries out an action on columns; *ret false: it is none. */
int schema_columns_apply(struct schema_edit *e, str action, const struct json *change,
                         bool *ret) WARN_UNUSED;

#endif
