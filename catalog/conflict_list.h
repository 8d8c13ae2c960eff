/* conflict_list.h - the conflict list of a branch: what was refused there, or accepted against a rule.
 *
 * Whoever judges says so here; the list is read by the routes of our own API. Counted at once, written
 * in the background, read with everything that was said before the question. */
#ifndef LATCH_CATALOG_CONFLICT_LIST_H
#define LATCH_CATALOG_CONFLICT_LIST_H

#include "catalog/catalog.h"
#include "catalog/conflict.h"
#include "manifest/snapshot.h"

/* Counts, logs and lists. It cannot fail and leaves cx's error record alone: what cannot be listed is
 * logged. accepted: `s` became the head all the same. Texts are copied. (any) */
void conflict_record(struct ctx *cx, struct branch *br, const struct refusal *r,
                     const struct snapshot *s, bool accepted);

struct conflicts_in {
    int64_t below; /* only ids less than this; 0: from the newest */
    str code;      /* a word of conflict_word; empty: all */
    int64_t limit;
};
/* Newest first. E_INVAL: there is no such code. (worker) */
int branch_conflicts(struct ctx *cx, struct branch *br, const struct conflicts_in *in,
                     struct conflict_row **ret, size_t *ret_n) WARN_UNUSED;
/* E_NOTFOUND (CONFLICT). (worker) */
int branch_conflict(struct ctx *cx, struct branch *br, int64_t id,
                    struct conflict_row *ret) WARN_UNUSED;

struct conflict_counts { /* since start */
    int64_t refused[CONFLICT_CODES], accepted[CONFLICT_CODES];
};
void conflict_counts(struct catalog *c, struct conflict_counts *ret); /* (any) */

/* For catalog.c: what is kept between a verdict and the list. */
struct conflict_notes;
int conflict_notes_new(struct ctx *cx, struct catalog *c, struct conflict_notes **ret) WARN_UNUSED;
/* Writes what still waits. The store is open, nothing of it is in a pool. NULL is fine. */
void conflict_notes_free(struct conflict_notes *n);

#endif
