/* directives.h - comments that tell Paimon to store a column in another way.
 *
 * "__BLOB_FIELD", "__BLOB_DESCRIPTOR_FIELD", "__BLOB_VIEW_FIELD" (each alone or with "; comment")
 * and "__VECTOR_FIELD;<dimension>" (alone or with "; comment") make BLOB or VECTOR of a column's
 * type and put its name into a table option; the rest of the comment stays. Engines without these
 * types use them. Pure. Errors are E_INVAL. */
#ifndef LATCH_MANIFEST_DIRECTIVES_H
#define LATCH_MANIFEST_DIRECTIVES_H

#include "manifest/options_edit.h"
#include "manifest/schema.h"

/* false: an ordinary comment, or none. E_INVAL for what begins like a directive and is none. */
int directive_is(struct ctx *cx, str comment, bool *ret) WARN_UNUSED;
/* Carries out what the comment of a new column says: its type, comment and the options change.
 * `column` must outlive the editor's arena. ret: was there a directive? */
int directive_apply(struct ctx *cx, struct data_field *column, struct options_edit *options,
                    bool *ret) WARN_UNUSED;
/* The same for all columns of a table that is made. */
int directives_apply(struct ctx *cx, struct schema *s) WARN_UNUSED;
/* Takes a column that is dropped out of the options that directives fill. */
int directive_forget(struct ctx *cx, const struct data_field *column,
                     struct options_edit *options) WARN_UNUSED;

/* Does Paimon keep columns of this type in blob files: BLOB, ARRAY of BLOB, MAP to BLOB? */
bool type_is_blob_file(const struct data_type *t);

#endif
