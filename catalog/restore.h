/* restore.h - what an OVERWRITE may be a restore of: does it end with exactly the files and the index
 * manifest of a snapshot or tag that is kept? Paimon's rollbackToAsLatest makes such commits; they add
 * files again that were deleted, which no other commit may.
 *
 * Such a commit has the index manifest (by name) and the number of records of what it restores, so only
 * snapshots and tags with both are looked into. Their live files are known by one sum (table_state.h),
 * which conflict_check compares with what the commit comes to. */
#ifndef LATCH_CATALOG_RESTORE_H
#define LATCH_CATALOG_RESTORE_H

#include "catalog/conflict.h"

/* Snapshots of the history, newest first, whose JSON is looked at; all tags are. What was deleted before
 * is not remembered (conflict.history), and who adds it again need be no restore. */
#define RESTORE_LOOK_MAX ((size_t)1000)
/* Of those that fit, newest first, whose manifests are read. They are snapshots between two that changed
 * the number of records, so compactions; manifests that two of them share are read once. */
#define RESTORE_TARGETS_MAX ((size_t)16)

struct branch;
/* Asked for by need.restore. *ret is known, and in the context's arena; what is damaged or goes meanwhile
 * is passed over. Blocks, as long as reading the manifests of a whole table may take. E_IO, E_NOMEM,
 * E_TIMEOUT. */
int restore_gather(struct ctx *cx, struct branch *br, const struct commit_facts *f,
                   struct restore_sums *ret) WARN_UNUSED;

#endif
