/* table_index_int.h - what an index set is made of, for the files that make one:
 *
 *   table_index.c       from the entries of an index manifest; asking it
 *   table_index_save.c  to the bytes of a checkpoint and back */
#ifndef LATCH_CATALOG_TABLE_INDEX_INT_H
#define LATCH_CATALOG_TABLE_INDEX_INT_H

#include <stdatomic.h>

#include "catalog/state_ckpt_int.h"
#include "catalog/table_index.h"

struct vector {
    uint32_t name_at, name_len, file;
    struct dv_range range;
};
struct hashed {
    uint64_t hash;
    size_t i;
};
struct lookup { /* sorted by hash, then i */
    struct hashed *v;
    size_t n;
};
struct index_set {
    atomic_int refs;
    str name;
    struct index_file *files;
    struct vector *vectors;
    size_t n_files, n_vectors, bytes;
    struct lookup by_vector, by_file, by_bucket;
    struct buf text;
};

static inline void index_set_unrefp(struct index_set **s)
{
    index_set_unref(*s);
}

/* An empty one with room for so many. E_TOOBIG, E_NOMEM. */
int index_set_new(struct ctx *cx, str name, size_t files, size_t vectors, size_t max_bytes,
                  struct index_set **ret) WARN_UNUSED;
/* Texts move while their block grows: until the set is finished a str holds its offset + 1. What fails
 * sticks to s->text. */
str index_text_add(struct index_set *s, str t);
/* All is in it. */
void index_set_finish(struct index_set *s);
uint64_t index_file_id(const struct index_file *f);

/* Appends all of it; failures stick to the buffer. */
void index_set_save(const struct index_set *s, struct buf *out);
/* E_CORRUPT, E_TOOBIG, E_NOMEM. `p` turns partitions, which must be as it writes them. */
int index_set_restore(struct ctx *cx, struct ckpt_in *in, struct partitioner *p, size_t max_bytes,
                      struct index_set **ret) WARN_UNUSED;

#endif
