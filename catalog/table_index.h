/* table_index.h - what one index manifest says: the index files of a snapshot, and where in them the
 * deletion vector of each data file is.
 *
 * It is made once, off the strand, and never changed; a state and the facts of a commit share it by
 * reference (any thread). An index manifest always lists all that is there, so the next one is another
 * set, and what changed is their difference. */
#ifndef LATCH_CATALOG_TABLE_INDEX_H
#define LATCH_CATALOG_TABLE_INDEX_H

#include "catalog/meta_read.h"
#include "catalog/table_file.h"

struct index_file { /* borrowed from its set */
    str partition;  /* as Java would write it */
    int32_t bucket;
    bool is_vectors, is_hash; /* neither: a global index */
    str type, name, external_path;
    int64_t size, rows;
    uint64_t id;                      /* hash of where it is and what it is called */
    uint64_t content;                 /* hash of all that its entry says */
    uint32_t first_vector, n_vectors; /* in the set */
};
struct index_vector { /* a data file's deletions */
    str data_file;
    const struct index_file *file;
    struct dv_range range; /* for dv_read */
};

struct index_set;
/* NULL name: of a snapshot without an index manifest. `p` is used while it is read. E_CORRUPT (also a
 * file that is not there), E_TOOBIG past max_bytes, E_IO, E_NOMEM. */
int index_set_load(struct ctx *cx, const struct meta_dir *d, str name, struct partitioner *p,
                   size_t max_bytes, struct index_set **ret) WARN_UNUSED;
/* The same of entries that were read. */
int index_set_of(struct ctx *cx, str name, const struct index_entry *e, size_t n,
                 struct partitioner *p, size_t max_bytes, struct index_set **ret) WARN_UNUSED;
struct index_set *index_set_ref(struct index_set *s);
void index_set_unref(struct index_set *s); /* NULL is fine */

str index_set_name(const struct index_set *s); /* of its manifest; STR_NONE: none */
size_t index_set_bytes(const struct index_set *s);
size_t index_set_files(const struct index_set *s);
size_t index_set_vectors(const struct index_set *s);
const struct index_file *index_set_file(const struct index_set *s, size_t i);
/* Vector i, in the order of the manifest; those of a file follow each other. */
struct index_vector index_set_vector(const struct index_set *s, size_t i);

/* The vector of a data file. *at starts at 0; called again it finds others (there should be none). */
bool index_find_vector(const struct index_set *s, str partition, int32_t bucket, str data_file,
                       size_t *at, struct index_vector *ret);
/* The file of this id; NULL: none. */
const struct index_file *index_find_file(const struct index_set *s, uint64_t id);
/* The HASH index of a bucket; *at as above. */
const struct index_file *index_find_hash(const struct index_set *s, str partition, int32_t bucket,
                                         size_t *at);

/* What differs between two sets. *at starts at 0. A file that was rewritten under its name is there
 * twice, once as gone and once as new. */
struct index_change {
    bool added; /* else gone */
    const struct index_file *file;
};
bool index_next_change(const struct index_set *before, const struct index_set *after, size_t *at,
                       struct index_change *ret);
bool index_set_equal(const struct index_set *a, const struct index_set *b); /* but for the name */

#endif
