/* table_state_int.h - between the files that make up a state.
 *
 *   state_slab.c    memory of the records, in chunks
 *   state_record.c  a live file <-> its packed record; texts that many share
 *   state_files.c   records by bucket and by name; partitions, their bucket counts
 *   state_gone.c    files that went lately
 *   table_state.c   the whole: info, manifests, look-ups
 *   state_load.c    from a snapshot's manifests
 *   state_load_for.c of one commit's files only
 *   state_ids.c     sets of hashes while one is loaded
 *   state_apply.c   forward by one commit
 *   state_save.c    to the bytes of a checkpoint
 *   state_restore.c from them
 *   state_ckpt.c    the checkpoint's file
 *   state_diff.c    two states compared */
#ifndef LATCH_CATALOG_TABLE_STATE_INT_H
#define LATCH_CATALOG_TABLE_STATE_INT_H

#include "catalog/table_state.h"
#include "proto/base/hash.h"

/* --- state_slab.c ----------------------------------------------------------------------------- */
/* A ref is an offset in units of 8 bytes over all chunks; 0 is none. */
#define SLAB_CLASSES 142
#define SLAB_MAX     ((size_t)1 << 19) /* bytes of one piece */
struct slab {
    char **chunks;
    size_t n, cap;
    size_t at, end; /* bytes, of the last chunk */
    size_t bytes;   /* held */
    uint32_t free[SLAB_CLASSES];
};
uint32_t slab_take(struct slab *s,
                   size_t n); /* 0: no memory, or all refs are used; n <= SLAB_MAX */
void slab_give(struct slab *s, uint32_t ref, size_t n);
void slab_done(struct slab *s);
static inline void *slab_at(const struct slab *s, uint32_t ref)
{
    return s->chunks[ref >> 17] + ((size_t)(ref & ((1u << 17) - 1)) << 3);
}

/* --- state_record.c --------------------------------------------------------------------------- */
struct shared { /* a text that many records have: users, parts of names, partitions */
    uint32_t refs, no;
    struct bucket_count *counts; /* of a partition */
    uint32_t n_counts, cap_counts;
    size_t len;
    char p[];
};
struct shared_set {
    struct map by_text;
    struct shared **v; /* by number; NULL: free */
    uint32_t n, cap, spare;
    uint32_t *spares; /* numbers to use again */
    size_t bytes;
};
/* One more reference; NULL: no memory. */
struct shared *shared_take(struct shared_set *s, str text);
void shared_give(struct shared_set *s, struct shared *t);
struct shared *shared_find(const struct shared_set *s, str text);
/* From a checkpoint: the text with the next number and no reference yet; STR_NONE: a number that is
 * free. E_CORRUPT: it is there already; E_NOMEM. */
int shared_put_next(struct shared_set *s, str text) WARN_UNUSED;
void shared_done(struct shared_set *s);

struct record {
    uint64_t id;
    uint32_t next, prev; /* of its bucket */
    uint32_t bucket;
    uint32_t len; /* of the whole record */
    unsigned char body[];
};
enum { /* flags in front of its body, see state_record.c */
       HAS_USER = 1,
       HAS_CREATED = 2,
       HAS_DELETE_ROWS = 4,
       HAS_ROW_ID = 8,
       HAS_SOURCE = 16,
       HAS_EXTERNAL = 32,
       HAS_EXTRA = 64,
       NAME_PACKED = 128,
       ONE_KEY = 256,
};
#define RECORD_FLAGS    511u
#define UUID_TEXT       36
#define NAME_NUMBER_MAX 999999999u /* of a packed name */
/* Packs all of f but partition and bucket; takes references on shared texts. */
int record_pack(struct ctx *cx, struct table_state *st, const struct table_file *f,
                struct buf *out) WARN_UNUSED;
void record_unpack(const struct table_state *st, const struct record *r, struct state_view *ret);
void record_release(struct table_state *st, const struct record *r); /* of its shared texts */

/* --- state_files.c ---------------------------------------------------------------------------- */
struct refs_slot {
    uint32_t v; /* a ref or a number; 0: free */
    uint32_t hash;
};
struct refs { /* open addressing; a look-up that finds nothing touches nothing but the table */
    struct refs_slot *v;
    size_t cap, n;
};
int refs_room(struct refs *t) WARN_UNUSED;
void refs_put(struct refs *t, uint32_t hash, uint32_t v); /* after refs_room */
void refs_remove(struct refs *t, uint32_t hash, uint32_t v);
/* Walks what may be of this hash: from refs_start, by refs_step, until the slot's v is 0. */
static inline size_t refs_start(const struct refs *t, uint32_t hash)
{
    return hash & (t->cap - 1);
}
static inline size_t refs_step(const struct refs *t, size_t at)
{
    return (at + 1) & (t->cap - 1);
}

struct gone_file {
    uint64_t place; /* hash of partition, bucket and name */
    int64_t snapshot;
    struct shared *user; /* NULL: not known */
};
struct gone { /* a ring: n of them from `first` on */
    struct gone_file *v;
    size_t first, n, cap;
    struct refs by_place; /* index + 1 */
};

struct bucket {               /* one that has files */
    struct shared *partition; /* NULL: not used */
    int32_t bucket;
    uint32_t first, n;
    int64_t max_seq;
    bool max_known;
};

struct manifest_in {
    int64_t size, added, deleted;
    uint64_t sum;
    uint64_t stamp; /* the list that named it last */
    size_t len;
    char name[];
};

struct table_state {
    struct state_opts o;
    struct partitioner partitions_of; /* owns what o.partition points to */
    struct slab slab;
    struct shared_set users, name_parts, partitions;
    struct bucket *buckets; /* [0] is not used */
    uint32_t n_buckets, cap_buckets, live_buckets;
    uint32_t *spare_buckets; /* as many as cap_buckets */
    uint32_t n_spare;
    struct refs by_name, by_bucket;
    struct gone gone;
    struct buf scratch;
    size_t n_files;
    int64_t rows, size;
    uint64_t live_sum, manifest_sum, stamp;
    struct map manifests; /* name -> struct manifest_in */
    size_t manifest_bytes;
    struct index_set *index;
    int64_t snapshot_id, schema_id, total_records;
    struct opt_i64 next_row_id;
    bool broken;
    bool partial; /* of the files of one commit only: see state_load_for */
    uint64_t for_facts;
};

/* E_NOMEM, E_TOOBIG: the state is as it was. */
int files_add(struct ctx *cx, struct table_state *st, const struct table_file *f) WARN_UNUSED;
/* It is live, but not kept: into the sums and, if its partition is held, into that one's counts. */
int files_count_only(struct ctx *cx, struct table_state *st,
                     const struct table_file *f) WARN_UNUSED;
uint32_t files_find(const struct table_state *st, const struct table_file *f); /* by id; 0: none */
void files_remove(struct table_state *st, uint32_t ref);
/* From a checkpoint: room for n files in all; a bucket (E_CORRUPT: it is there already); a record that
 * holds id, length and body. E_NOMEM, E_TOOBIG, E_CORRUPT. */
int files_reserve(struct ctx *cx, struct table_state *st, size_t n) WARN_UNUSED;
int files_put_bucket(struct ctx *cx, struct table_state *st, str partition, int32_t bucket,
                     uint32_t *ret) WARN_UNUSED;
int files_put_record(struct ctx *cx, struct table_state *st, uint32_t bucket,
                     uint32_t ref) WARN_UNUSED;
void files_done(struct table_state *st);
size_t files_bytes(const struct table_state *st);
uint32_t bucket_find(const struct table_state *st, str partition, int32_t bucket); /* 0: none */

/* --- state_gone.c ----------------------------------------------------------------------------- */
uint64_t state_place(str partition, int32_t bucket, str name); /* a hash */
int gone_note(struct ctx *cx, struct table_state *st, const struct table_file *f, int64_t snapshot,
              str user) WARN_UNUSED;
int gone_put(struct ctx *cx, struct table_state *st, uint64_t place, int64_t snapshot,
             str user) WARN_UNUSED; /* the same, by place */
size_t gone_bytes(const struct table_state *st);
void gone_done(struct table_state *st);

/* --- state_ids.c ------------------------------------------------------------------------------ */
struct id_set {
    uint64_t *v;
    size_t cap, n;
};
int ids_add(struct ctx *cx, const struct table_state *st, struct id_set *s,
            uint64_t id) WARN_UNUSED; /* E_NOMEM, E_TOOBIG */
bool ids_has(const struct id_set *s, uint64_t id);
size_t ids_bytes_for(size_t n); /* of memory, that so many take */
void ids_done(struct id_set *s);

/* --- table_state.c ---------------------------------------------------------------------------- */
int state_new(struct ctx *cx, const struct state_opts *o, struct table_state **ret) WARN_UNUSED;
size_t state_bytes(const struct table_state *st);
/* Before it grows by `more`: E_TOOBIG. */
int state_room(struct ctx *cx, const struct table_state *st, size_t more) WARN_UNUSED;
struct manifest_in *manifest_of(const struct table_state *st, str name);
/* The lists of a snapshot: manifests_begin, one manifests_keep each, manifests_end drops the others. */
void manifests_begin(struct table_state *st);
int manifests_keep(struct ctx *cx, struct table_state *st,
                   const struct state_manifest *m) WARN_UNUSED;
void manifests_end(struct table_state *st);
void state_set_snapshot(struct table_state *st, int64_t id, int64_t schema_id,
                        int64_t total_records, struct opt_i64 next_row_id);

#endif
