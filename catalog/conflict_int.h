/* conflict_int.h - between the rules and the words in which they refuse. */
#ifndef LATCH_CATALOG_CONFLICT_INT_H
#define LATCH_CATALOG_CONFLICT_INT_H

#include "catalog/conflict.h"

/* What a rule says besides a negative error. */
enum say { PASS = 0, REFUSED = 1 };

struct check {
    struct ctx *cx;
    const struct table_state *st;
    const struct commit_facts *f;
    const struct conflict_rules *rules;
    const struct conflict_evidence *ev;
    struct verdict *v;
    enum { UNASKED, RESTORE, NO_RESTORE } restore; /* is it one? */
    bool *asked; /* which manifests of the base list are needed; NULL: none */
    enum {
        UNSEEN,
        MISSING,
        SEEN
    } dead_seen;                   /* was the base list looked through for what it deletes? */
    const struct fact_dead **dead; /* f->dead, by id */
};

/* Fills the refusal and answers REFUSED (E_NOMEM). The message is "<code>: [partition, bucket: ]<why>; <do>".
 * `file` may be NULL; `other` is a live file that stands against it, or NULL. */
int refuse(struct check *c, enum conflict_code code, const struct table_file *file,
           const struct table_file *other, const char *what_to_do, const char *why, ...)
    PRINTF(6, 7);

/* A name in a message: long ones lose their middle. */
const char *shown(struct check *c, str s);

#endif
