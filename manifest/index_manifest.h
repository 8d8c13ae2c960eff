/* index_manifest.h - index manifests: the index files of a snapshot (Paimon's IndexManifestEntry):
 * deletion vectors, hashes of dynamic buckets, global indexes. It always lists all that are live.
 *
 * Pure; nothing blocks. */
#ifndef LATCH_MANIFEST_INDEX_MANIFEST_H
#define LATCH_MANIFEST_INDEX_MANIFEST_H

#include "manifest/avro/avro.h"
#include "manifest/dv.h"

#define INDEX_MANIFEST_VERSION 1
#define INDEX_TYPE_DV          "DELETION_VECTORS"
#define INDEX_TYPE_HASH        "HASH"

/* Where in an index file the vector of one data file is. */
struct index_dv {
    str data_file;
    int32_t offset; /* of its length word; >= 0 */
    int32_t length; /* >= 0; 32-bit vectors without the 8 bytes around them, 64-bit ones with */
    struct opt_i64 cardinality; /* positions; absent from old writers */
};
static inline struct dv_range index_dv_range(const struct index_dv *v) /* for dv_read */
{
    return (struct dv_range){v->offset, v->length, v->cardinality.has ? v->cardinality.v : -1};
}
struct index_dvs { /* in the order of the index file, which readers of 1.x rely on */
    bool has;
    size_t n;
    const struct index_dv *items;
};

struct global_index { /* row tracking, from 1.4 */
    int64_t first_row, last_row;
    int32_t field_id;
    struct avro_list extra_field_ids; /* avro_list_i64; may be absent */
    str meta, source_meta;            /* STR_NONE: none */
};

struct index_entry {
    int32_t version; /* INDEX_MANIFEST_VERSION; writing sets it */
    int32_t kind;    /* enum file_kind of manifest.h; a file holds only FILE_ADD */
    str partition;   /* BinaryRow with its arity in front */
    int32_t bucket;
    str type;                /* INDEX_TYPE_..., or the name of a global index */
    str name;                /* not empty; not checked to be a path_component */
    int64_t size, row_count; /* >= 0 */
    struct index_dvs dv;     /* INDEX_TYPE_DV only */
    str external_path;       /* STR_NONE: in the index folder, or beside the bucket's files */
    const struct global_index *global; /* NULL: not a global one */
};

extern const struct avro_record index_entry_record;

/* All entries, in the context's arena together with what they point to. `name` is the file's, for
 * messages. E_CORRUPT, E_UNSUPPORTED (another version), E_NOMEM. */
int index_manifest_read(struct ctx *cx, str bytes, str name, struct index_entry **ret,
                        size_t *ret_n) WARN_UNUSED;
/* Appends the file to *out. E_NOMEM, E_TOOBIG. */
int index_manifest_write(struct ctx *cx, const struct index_entry *entries, size_t n,
                         enum codec_kind codec, int level, struct buf *out) WARN_UNUSED;

#endif
