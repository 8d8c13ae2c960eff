/* native_int.h - one native commit on its way, between
 *   native.c        its steps
 *   native_plan.c   what it comes to on the head at hand: entries, counts, the snapshot
 *   native_index.c  the index files that are live after it
 *   native_write.c  its files */
#ifndef LATCH_CATALOG_NATIVE_INT_H
#define LATCH_CATALOG_NATIVE_INT_H

#include "catalog/commit_int.h"
#include "catalog/head_lists.h"
#include "catalog/meta_write.h"
#include "catalog/native.h"
#include "catalog/native_files.h"

struct native_options { /* of the table */
    struct meta_write_opts write;
    bool unaware;           /* no buckets, no primary key: deletion vectors are listed by file */
    bool snapshot_ordering; /* sequence numbers are snapshot ids */
    bool max_sequence;      /* a property of each snapshot tells the highest one */
};
/* Merged manifests take the place of others; everything else of the base stays. */
struct native_merge {
    const struct manifest_file *in, *out; /* before and after; most may be the same */
    size_t n_in, n_out;
    const struct commit_facts *read; /* facts whose base is `out`, read back */
};
struct native_head_index { /* the index manifest of the head, as prepare read it */
    bool read;
    str name; /* STR_NONE: the head had none */
    struct index_entry *entries;
    size_t n;
};

struct full_entry { /* of a file that goes; in the request's arena */
    uint64_t id;
    struct manifest_entry e;
};

struct native {
    struct commit cm;
    struct native_in in;
    struct native_options o;
    struct native_files files;
    const struct native_merge *merge; /* NULL: none */

    /* of prepare: */
    struct commit_facts *probe;     /* what the files of the body say, whatever the head is */
    struct head_lists *lists;       /* of the head of then; NULL: not read */
    struct native_head_index index; /* if index files change */
    struct map full;                /* id, as bytes -> struct full_entry */
    bool need_full;                 /* a state's record is not enough for some of them */
    struct partitioner partitions;
    bool has_partitions;

    /* of the turn: */
    struct meta_writer w;
    struct snapshot head; /* decoded; id 0: there is none */
    const struct manifest_file *base;
    struct manifest_entry *delta; /* those that go, then those that come, as in files */
    struct index_entry *index_entries;
    struct index_set *index_set; /* NULL: the head's stays */
    size_t n_base, n_delta, n_index;
    struct manifest_file *delta_files, *changelog_files;
    size_t n_delta_files, n_changelog_files;
};

static inline bool native_changes_index(const struct native *nc)
{
    return nc->files.n_index_add + nc->files.n_index_gone > 0;
}

/* --- native.c --------------------------------------------------------------------------------- */
/* A commit without a body that puts merged manifests in the place of others. What `m` points to must stay.
 * native_run then says E_RACE when one of m->in is not the table's any more. */
int native_new_merge(struct ctx *cx, struct branch *br, const struct native_merge *m,
                     struct native **ret) WARN_UNUSED;
/* What a table's options say of the files that we write. */
int native_write_options(struct ctx *cx, struct branch *br, const struct table_traits *t,
                         struct meta_write_opts *ret) WARN_UNUSED;

/* --- native_plan.c ---------------------------------------------------------------------------- */
/* All of nc that depends on the head, and cm.snap but for the names of lists. GO_ON; NEED_MORE: entries of
 * files that go must be read. (strand) */
int native_plan(struct ctx *cx, struct native *nc, const struct table_state *st) WARN_UNUSED;
/* Base list after a merge: 1; 0: it cannot be had any more, a manifest that was merged is gone. */
int native_base(struct ctx *cx, struct native *nc, const struct head_lists *l) WARN_UNUSED;

/* --- native_index.c --------------------------------------------------------------------------- */
/* Fills index_entries from those of the head. E_CONFLICT: a file that goes is not there, one that comes is. */
int native_index(struct ctx *cx, struct native *nc) WARN_UNUSED;

/* --- native_write.c --------------------------------------------------------------------------- */
/* Writes all but the snapshot, or leaves it in cm.make, names it in cm.snap and cm.facts, encodes cm.snap.
 * Of what fails nothing is left. (strand) */
int native_write(struct ctx *cx, struct native *nc) WARN_UNUSED;

#endif
