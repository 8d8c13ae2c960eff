/* manifest_list.h - manifest lists: which manifests a snapshot consists of (Paimon's
 * ManifestFileMeta). Base, delta and changelog lists have the same format.
 *
 * Pure; nothing blocks. */
#ifndef LATCH_MANIFEST_MANIFEST_LIST_H
#define LATCH_MANIFEST_MANIFEST_LIST_H

#include "manifest/data_file.h"

#define MANIFEST_LIST_VERSION 2

struct manifest_file {
    int32_t version;                  /* MANIFEST_LIST_VERSION; writing sets it */
    str name;                         /* not empty; not checked to be a path_component */
    int64_t size;                     /* bytes of the manifest: compare before reading it */
    int64_t added, deleted;           /* entries */
    struct raw_stats partition_stats; /* over all entries */
    int64_t schema_id;                /* the highest of its files */
    /* Over all entries; absent: not known (written before 1.1; row ids before 1.4, or a file has none). */
    struct opt_i64 min_bucket, max_bucket, min_level, max_level, min_row_id, max_row_id;
    /* Only pypaimon's; kept when a list is written again. */
    struct opt_i64 total_buckets;
    struct avro_list extra_files; /* avro_list_str */
};

extern const struct avro_record manifest_file_record;

/* All entries, in the context's arena together with what they point to. `name` is the file's, for
 * messages. E_CORRUPT, E_UNSUPPORTED (another version), E_NOMEM. */
int manifest_list_read(struct ctx *cx, str bytes, str name, struct manifest_file **ret,
                       size_t *ret_n) WARN_UNUSED;
/* Appends the file to *out. A list without entries is a file as well. E_NOMEM, E_TOOBIG. */
int manifest_list_write(struct ctx *cx, const struct manifest_file *files, size_t n,
                        enum codec_kind codec, int level, struct buf *out) WARN_UNUSED;

#endif
