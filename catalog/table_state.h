/* table_state.h - what is live in one branch at one snapshot: data files by partition and bucket,
 * index files and deletion vectors, and the manifests that say so.
 *
 * A state belongs to the branch's strand: one thread at a time, no locks. It goes forward by
 * state_apply; after a rollback, a forward or a failure in the middle it is loaded again. Only
 * state_load blocks on the disk.
 *
 * Sums. A manifest is a signed set of files (ADD +1, DELETE -1), and what a snapshot's manifests come
 * to together must be its live files, each once. Of every manifest that the snapshot's lists name the
 * state keeps the sum of its entries' signed 64-bit hashes, so "these manifests account for exactly
 * these files" is one comparison, whoever merged what into which: a live ADD that nobody holds any
 * more, an outstanding DELETE whose ADD stayed behind, an entry that is there twice all show. */
#ifndef LATCH_CATALOG_TABLE_STATE_H
#define LATCH_CATALOG_TABLE_STATE_H

#include "catalog/table_index.h"
#include "manifest/snapshot.h"
#include "proto/base/path.h"

struct table_state;
struct commit_facts;

struct state_opts {
    const struct binrow_type *partition; /* copied; NULL: not partitioned */
    bool row_ids;     /* row tracking: the first row id is part of a file's identity */
    size_t max_bytes; /* of memory */
    size_t gone_max;  /* how many files that it saw go it remembers; 0: none */
};

/* The state at `s`; NULL: the branch has no snapshot. E_CORRUPT: a list, manifest or index manifest is
 * missing or damaged, or together they are no table (the message names the file); E_TOOBIG: it does not
 * fit; E_IO, E_NOMEM, E_TIMEOUT. */
int state_load(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
               const struct state_opts *o, struct table_state **ret) WARN_UNUSED;
/* What the state at `s` says of one commit, for a table that is too large to hold: reads all manifests
 * but keeps, of the files, those whose names the facts mention, now or after facts_read_base of base
 * manifests that `s` does not have. Sums, numbers of files, rows and bytes, manifests and index set are
 * those of the whole; bucket counts are there for the partitions of the commit's entries. conflict_check
 * of these facts says the same as with state_load's; nothing else may be asked of it: no walks, no
 * state_apply, no state_save (asserted). Blocks, for as long as reading nearly all manifests twice takes;
 * errors as state_load's, and E_TOOBIG if what the manifests delete, 16 bytes each, does not fit in parts. */
int state_load_for(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
                   const struct state_opts *o, const struct commit_facts *f,
                   struct table_state **ret) WARN_UNUSED;
bool state_partial(const struct table_state *st);
/* May these facts be judged by it? A whole state serves all. */
bool state_serves(const struct table_state *st, const struct commit_facts *f);
void state_free(struct table_state *st); /* NULL is fine */
static inline void state_freep(struct table_state **st)
{
    state_free(*st);
}

/* Forward by one snapshot. E_CORRUPT: it does not go on from this state (the id, a file that is deleted
 * and not live or added and live, a base list that is not what is live); the state is as it was. After
 * E_NOMEM and E_TOOBIG it may be half way: state_broken, free it and load it again. */
int state_apply(struct ctx *cx, struct table_state *st, const struct commit_facts *f) WARN_UNUSED;
bool state_broken(const struct table_state *st);

/* --- the whole -------------------------------------------------------------------------------- */

struct state_info {
    int64_t snapshot_id; /* 0: none yet */
    int64_t schema_id, total_records;
    struct opt_i64 next_row_id;
    size_t files, partitions, buckets, manifests;
    int64_t rows;       /* of the live files, deleted ones included */
    int64_t size_bytes; /* of the live files */
    size_t bytes;       /* of memory, all told */
    uint64_t live_sum;  /* of the live files */
    uint64_t
        left_over; /* what the manifests come to beyond that; 0 unless they were wrong before */
};
struct state_info state_info(const struct table_state *st);
const struct index_set *state_index(const struct table_state *st);
const struct state_opts *state_options(const struct table_state *st);

struct state_manifest {
    str name;
    int64_t size, added, deleted; /* as its list says */
    uint64_t sum;
};
/* A manifest that the lists of this snapshot name. */
bool state_manifest(const struct table_state *st, str name, struct state_manifest *ret);

/* --- files ------------------------------------------------------------------------------------ */

struct state_view { /* f borrows from the state, until it changes, and from the view itself */
    struct table_file f;
    char name[PATH_COMPONENT_MAX + 1];
};
/* Is this very file live (identity, f->id)? */
bool state_find(const struct table_state *st, const struct table_file *f, struct state_view *ret);
/* The live file of this name in a bucket, at whatever level. */
bool state_find_name(const struct table_state *st, str partition, int32_t bucket, str name,
                     struct state_view *ret);

/* Who deleted the file of this name (a level change is no deletion), if it was not long ago and by a
 * commit that this state went forward by: a loaded state remembers none. */
struct state_gone {
    int64_t snapshot;
    str user; /* STR_NONE: not known, and then snapshot is not either */
};
bool state_find_gone(const struct table_state *st, str partition, int32_t bucket, str name,
                     struct state_gone *ret);
/* Did somebody delete this very file, at this level, be it for another level? A loaded state knows what
 * its manifests say. Readers take such a file for deleted as long as they do, whatever adds it again. */
bool state_find_deleted(const struct table_state *st, const struct table_file *f,
                        struct state_gone *ret);
void state_forget_gone(struct table_state *st,
                       int64_t up_to); /* what snapshots up to this deleted */

/* Walks files, in no order; the state must not change meanwhile. */
struct state_cursor {
    uint32_t file, bucket;
    int32_t level;
};
#define LEVEL_ANY (-1)
void state_all(const struct table_state *st, struct state_cursor *ret);
void state_bucket(const struct table_state *st, str partition, int32_t bucket, int32_t level,
                  struct state_cursor *ret);
bool state_next(const struct table_state *st, struct state_cursor *at, struct state_view *ret);

/* The highest max_seq of a bucket's files; -1: it has none. */
int64_t state_max_seq(struct table_state *st, str partition, int32_t bucket);
/* When the youngest of the live files was written, as its writer says; a walk over all. */
struct opt_i64 state_newest_ms(const struct table_state *st);
struct bucket_count {
    int32_t total_buckets;
    uint32_t files;
};
#define BUCKET_COUNTS_MAX 1024 /* different ones in one partition */
/* How many buckets the files of a partition say that it has, ascending. */
const struct bucket_count *state_bucket_counts(const struct table_state *st, str partition,
                                               size_t *ret_n);

/* --- for tests and debugging ------------------------------------------------------------------ */

/* Lines that say what differs, at most max_lines; nothing: the same. Who added a file, and when, does
 * not count (a loaded state knows less), nor which of its two lists names a manifest. */
int state_diff(struct ctx *cx, const struct table_state *a, const struct table_state *b,
               size_t max_lines, struct buf *out) WARN_UNUSED;
bool state_equal(const struct table_state *a, const struct table_state *b);

#endif
