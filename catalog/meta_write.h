/* meta_write.h - writes what a snapshot consists of below <table>/manifest: manifests, manifest lists
 * and index manifests, under the names that Paimon would give them.
 *
 * Nothing is synced: a commit syncs all that is new at once. A writer that holds keeps its files in memory
 * instead, META_HOLD_MAX bytes of them, for io_put_after to make (meta_write_held, then meta_write_made).
 * Names never clash (each writer has a uuid), so what was written may be taken back at any time before a
 * snapshot names it. These block on the disk; one thread at a time uses a writer. */
#ifndef LATCH_CATALOG_META_WRITE_H
#define LATCH_CATALOG_META_WRITE_H

#include "catalog/meta_read.h"
#include "catalog/partition_stats.h"
#include "manifest/doc.h"
#include "proto/base/rand.h"

#define META_TARGET_MAX ((int64_t)64 << 20) /* bytes; a greater target size is taken as this */
#define META_HOLD_MAX   ((size_t)1 << 20)

struct meta_write_opts {
    struct meta_dir dir;
    const struct binrow_type *partition; /* NULL: not partitioned */
    enum codec_kind codec;
    int level;           /* zstandard's */
    int64_t target_size; /* bytes at which a manifest ends */
};
/* codec, level and target_size as a table's options say; the rest is left alone. E_INVAL names the
 * option. */
int meta_write_options(struct ctx *cx, const struct kv_list *options,
                       struct meta_write_opts *ret) WARN_UNUSED;

struct meta_writer {
    const struct meta_write_opts *o; /* borrowed, with all that it points to */
    char uuid[UUID_LEN + 1];
    unsigned manifests, lists, indexes; /* numbers that were given */
    str *names;                         /* of all that was written, in the context's arena */
    struct io_new *files;               /* the same ones; data.p == NULL: it is on disk */
    size_t n, cap;
    bool hold;
    size_t held; /* bytes */
};
void meta_write_begin(struct meta_writer *w, const struct meta_write_opts *o);
/* Deletes what was written after the first `keep` names, forgets what is held. Best effort: what cannot be
 * deleted is an orphan. */
void meta_write_undo(struct meta_writer *w, size_t keep);
/* What is held, in the context's arena. E_NOMEM */
int meta_write_held(struct ctx *cx, const struct meta_writer *w, struct io_new **ret,
                    size_t *ret_n) WARN_UNUSED;
void meta_write_made(struct meta_writer *w); /* what was held is on disk now */

/* E_NOMEM, E_TOOBIG, E_IO, E_BUSY (no space). Of what fails in the middle nothing is left. Results are
 * in the context's arena, as are the names: one context from begin to the end. */
int meta_write_list(struct ctx *cx, struct meta_writer *w, const struct manifest_file *files,
                    size_t n, str *ret_name, int64_t *ret_size) WARN_UNUSED;
int meta_write_index(struct ctx *cx, struct meta_writer *w, const struct index_entry *entries,
                     size_t n, str *ret_name) WARN_UNUSED;
/* What the next one will be called. E_NOMEM */
int meta_index_name(struct ctx *cx, const struct meta_writer *w, str *ret) WARN_UNUSED;
/* As many manifests as it takes; none for no entries. */
int meta_write_manifests(struct ctx *cx, struct meta_writer *w, const struct manifest_entry *e,
                         size_t n, struct manifest_file **ret, size_t *ret_n) WARN_UNUSED;

/* The same, entry by entry. meta_roll_done in any case; what was written before a failure is the
 * caller's to undo. */
struct meta_roll {
    struct meta_writer *w;
    struct manifest_writer file; /* the one that is being filled */
    bool open;
    int64_t entries; /* of it */
    struct partition_stats stats;
    struct manifest_file *files; /* those that ended; in the context's arena */
    size_t n, cap;
};
int meta_roll_open(struct ctx *cx, struct meta_roll *r, struct meta_writer *w) WARN_UNUSED;
/* E_CORRUPT: its partition is no row of the table's. */
int meta_roll_add(struct ctx *cx, struct meta_roll *r, const struct manifest_entry *e) WARN_UNUSED;
int meta_roll_end(struct ctx *cx, struct meta_roll *r, struct manifest_file **ret,
                  size_t *ret_n) WARN_UNUSED;
void meta_roll_done(struct meta_roll *r);

#endif
