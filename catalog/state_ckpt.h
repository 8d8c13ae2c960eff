/* state_ckpt.h - checkpoints: a table state as one file of the data directory, so that a branch that was
 * put out of memory, or a server that starts again, need not read a table's manifests.
 *
 * All that a state knows is in it: live files with the user and the snapshot that added them, files that
 * went lately, manifests with their sums, the index set. It is of one snapshot, by id and a hash of its
 * text, and of the branch's epoch; the caller compares both and goes forward by the snapshots after it.
 * A checkpoint is only ever a shortcut: one that is missing, damaged, of another format or of another
 * kind of table is not repaired but left, and the state is loaded from manifests. */
#ifndef LATCH_CATALOG_STATE_CKPT_H
#define LATCH_CATALOG_STATE_CKPT_H

#include "catalog/table_state.h"

struct ckpt_head {
    int64_t epoch, snapshot_id;
    uint64_t text_hash; /* of the snapshot's text, as given to state_save */
};

/* The bytes of a checkpoint, into an empty `out`, whose maximum bounds them: E_TOOBIG, E_NOMEM. Pure and
 * quick (the memory of the state, once through); on the branch's strand. The state is not broken. */
int state_save(struct ctx *cx, const struct table_state *st, int64_t epoch, uint64_t text_hash,
               struct buf *out) WARN_UNUSED;
/* Puts them where `path` says, by a temporary name beside it: "<path>.tmp", so one at a time for a path.
 * Mode 0600. Blocks. E_IO (nothing changed), E_NOMEM. */
int state_ckpt_write(struct ctx *cx, str path, str bytes) WARN_UNUSED;

/* Blocks; reads all of the file. E_NOTFOUND: there is none; E_CORRUPT: damaged, or written by another
 * version, or with other state_opts (partition columns, row ids); E_TOOBIG: does not fit in o->max_bytes;
 * E_IO, E_NOMEM. After all of them: state_load. */
int state_ckpt_read(struct ctx *cx, str path, const struct state_opts *o,
                    struct ckpt_head *ret_head, struct table_state **ret) WARN_UNUSED;
/* The same of bytes that were read. */
int state_restore(struct ctx *cx, str bytes, const struct state_opts *o, struct ckpt_head *ret_head,
                  struct table_state **ret) WARN_UNUSED;

#endif
