/* outcome.h - what was answered to which commit: keys, and the newest ones in memory.
 *
 * A snapshot with a uuid is known by it; one without (clients up to 1.4) by its two list names with
 * commit user and identifier. Only success is remembered: `false` and errors changed nothing. */
#ifndef LATCH_CATALOG_OUTCOME_H
#define LATCH_CATALOG_OUTCOME_H

#include "catalog/store/store.h"
#include "manifest/snapshot.h"

int outcome_key(struct ctx *cx, const struct snapshot *s,
                uint8_t ret[OUTCOME_KEY_LEN]) WARN_UNUSED; /* E_NOMEM */

/* The outcomes recorded by this process on one branch, newest OUTCOME_RING. `seq` counts all that
 * were ever added, so that whoever looked into the store at seq = n knows whether the ring still
 * holds everything after n. Owned by the strand; seq may be read by any thread. */
#define OUTCOME_RING 32
struct outcome_ring {
    struct outcome at[OUTCOME_RING];
    _Atomic int64_t seq;
};
void outcome_ring_add(struct outcome_ring *r, const struct outcome *o);
const struct outcome *outcome_ring_find(const struct outcome_ring *r,
                                        const uint8_t key[OUTCOME_KEY_LEN]);
bool outcome_ring_covers(const struct outcome_ring *r, int64_t since_seq);
/* After a rollback to `snapshot_id`: what came later is forgotten, and seq moves past everything a
 * reader may have seen, so that each must look again. */
void outcome_ring_forget(struct outcome_ring *r, int64_t above_snapshot_id);

#endif
