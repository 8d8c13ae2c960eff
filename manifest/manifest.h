/* manifest.h - manifests: entries that add a data file to a table or delete one.
 *
 * Reading is a stream over the bytes of a file, since a manifest may hold a hundred thousand entries;
 * nothing is allocated for an entry. Pure; nothing blocks. One thread at a time. */
#ifndef LATCH_MANIFEST_MANIFEST_H
#define LATCH_MANIFEST_MANIFEST_H

#include "manifest/manifest_list.h"

#define MANIFEST_VERSION 2

enum file_kind { FILE_ADD = 0, FILE_DELETE = 1 };

struct manifest_entry {
    int32_t version; /* MANIFEST_VERSION; writing sets it */
    int32_t kind;    /* enum file_kind */
    str partition;   /* BinaryRow with its arity in front */
    int32_t bucket;
    int32_t total_buckets; /* N: fixed; -1: dynamic or unaware; -2: postpone; 0: not known */
    struct data_file file;
};

extern const struct avro_record manifest_entry_record;

struct manifest_reader {
    struct avro_reader avro;
    struct manifest_entry entry;
};

/* `bytes` must outlive the reader; `name` is the file's, for messages. E_CORRUPT, E_UNSUPPORTED,
 * E_NOMEM. manifest_done in any case, also after a failure. */
int manifest_open(struct ctx *cx, struct manifest_reader *r, str bytes, str name) WARN_UNUSED;
/* 1: *ret is the next entry, good until the next call (avro_copy keeps one); 0: there are no more. */
int manifest_next(struct ctx *cx, struct manifest_reader *r,
                  const struct manifest_entry **ret) WARN_UNUSED;
void manifest_done(struct manifest_reader *r);
/* All entries of a small one, in the context's arena together with what they point to. */
int manifest_read(struct ctx *cx, str bytes, str name, struct manifest_entry **ret,
                  size_t *ret_n) WARN_UNUSED;

/* Writes one file; when it is long enough, which manifest_size tells, the caller ends it and opens the
 * next. */
struct manifest_writer {
    struct avro_writer avro;
    struct manifest_file meta; /* of what was added so far; not set: name, size, partition_stats */
    bool no_row_ids;           /* an entry had none */
};
/* manifest_write_done in any case. E_NOMEM. */
int manifest_write_open(struct ctx *cx, struct manifest_writer *w, enum codec_kind codec,
                        int level) WARN_UNUSED;
int manifest_write_add(struct ctx *cx, struct manifest_writer *w,
                       const struct manifest_entry *e) WARN_UNUSED; /* E_NOMEM, E_TOOBIG */
/* Bytes of the file so far, without those that wait for their block to fill: what Java compares with
 * `manifest.target-file-size`, every 1000 entries. */
size_t manifest_size(const struct manifest_writer *w);
/* Ends the file: *ret_bytes is all of it, borrowed until manifest_write_done. *ret_meta is what its list
 * says of it, without name and partition_stats (zero: they need the table's types) and without
 * pypaimon's columns. */
int manifest_write_end(struct ctx *cx, struct manifest_writer *w, str *ret_bytes,
                       struct manifest_file *ret_meta) WARN_UNUSED;
void manifest_write_done(struct manifest_writer *w);

/* Of the same file? See data_file_same. */
static inline bool manifest_entry_same(const struct manifest_entry *a,
                                       const struct manifest_entry *b, bool with_row_id)
{
    return data_file_same(a->partition, a->bucket, &a->file, b->partition, b->bucket, &b->file,
                          with_row_id);
}

#endif
