/* options_edit.h - a working copy of a table's options, for many changes in one go.
 *
 * Each step costs the same however many options there are. Values that are lists of columns may
 * grow by one name a step. Keys and values that are given are borrowed: they live as long as the
 * context's arena. What the editor holds itself is freed by options_edit_done, so take the result out
 * with options_edit_result first. One thread at a time. */
#ifndef LATCH_MANIFEST_OPTIONS_EDIT_H
#define LATCH_MANIFEST_OPTIONS_EDIT_H

#include "manifest/doc.h"
#include "proto/base/hash.h"

struct option_edit;
struct options_edit {
    struct ctx *cx;
    struct map by_key;       /* option_edit */
    struct option_edit *all; /* with those that were removed */
    size_t n;                /* of those that are set */
};

/* Needs options_edit_done whatever the answer. */
int options_edit_init(struct ctx *cx, const struct kv_list *from,
                      struct options_edit *ret) WARN_UNUSED;
void options_edit_done(struct options_edit *o);
str options_edit_get(const struct options_edit *o,
                     str key); /* STR_NONE: not set; until the next change */
int options_edit_set(struct options_edit *o, str key, str value) WARN_UNUSED;
void options_edit_remove(struct options_edit *o, str key);
/* "a, b,,a" + c -> "a,b,c"; a name that is there already stays where it is. */
int options_edit_list_add(struct options_edit *o, str key, str name) WARN_UNUSED;
/* Takes every `name` out of the list; a list left empty is removed. */
int options_edit_list_remove(struct options_edit *o, str key, str name) WARN_UNUSED;
/* A sorted copy in the arena. */
int options_edit_result(struct options_edit *o, struct kv_list *ret) WARN_UNUSED;

/* Calls fn for each option that is set, in no order. fn must not change options; < 0 ends it. */
int options_edit_each(struct options_edit *o, int (*fn)(void *arg, str key, str value),
                      void *arg) WARN_UNUSED;

#endif
