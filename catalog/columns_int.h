/* columns_int.h - a working copy of a schema's columns, for many changes in one go.
 *
 * The top level and each ROW that a change reaches into are lists whose members are found by name
 * at once; inserting and moving shift pointers. The types themselves are never changed: they are
 * built anew, once, when the result is taken. One thread at a time. */
#ifndef LATCH_CATALOG_COLUMNS_INT_H
#define LATCH_CATALOG_COLUMNS_INT_H

#include "manifest/types.h"
#include "proto/base/hash.h"

struct columns;
struct column {
    struct data_field f;   /* of the ROW below f.type, if `inner` is set, the fields are stale */
    bool mark;             /* the user's; a new column has none */
    struct columns *inner; /* the ROW that f.type is, or has below ARRAYs and MAP values */
};
struct columns {
    struct column **at; /* in the order of the schema */
    size_t n, cap;
    struct map by_name;
    struct columns *next; /* all of a tree */
};
struct column_tree {
    struct ctx *cx;
    struct columns *top, *all;
};

/* Needs column_tree_done whatever the answer. A zeroed tree may be given to it too. */
int column_tree_init(struct ctx *cx, const struct data_field *fields, size_t n,
                     struct column_tree *ret) WARN_UNUSED;
void column_tree_done(struct column_tree *t);
/* New fields in the arena. E_INVAL when types nest too deep now. */
int column_tree_result(const struct column_tree *t, const struct data_field **ret,
                       size_t *ret_n) WARN_UNUSED;

struct column *columns_find(const struct columns *cs, str name); /* NULL: none */
size_t columns_index(const struct columns *cs, const struct column *c);
/* The name must be free; `at` <= n. */
int columns_insert(struct ctx *cx, struct columns *cs, size_t at,
                   const struct data_field *f) WARN_UNUSED;
void columns_remove(struct columns *cs, struct column *c);
void columns_move(struct columns *cs, size_t from, size_t to);
int columns_rename(struct ctx *cx, struct columns *cs, struct column *c, str name) WARN_UNUSED;

/* The ROW at the bottom of f.type, opened; NULL: there is none. */
int column_open(struct column_tree *t, struct column *c, struct columns **ret) WARN_UNUSED;
/* Puts what was changed below into f.type. */
int column_settle(struct ctx *cx, struct column *c) WARN_UNUSED;

#endif
