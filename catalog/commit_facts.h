/* commit_facts.h - what one posted snapshot says, read off its lists, manifests and index manifest:
 * the evidence that conflict_check judges by, and what state_apply goes forward by.
 *
 * Read off the strand, by any thread that may block. Facts depend on the files alone, not on any
 * state, so they stay right while the head moves. Of the base list only the names are read at first;
 * conflict_check says which of its manifests no state knows, and facts_read_base reads those. The same
 * with the index manifest, which is not read when it is the one that the caller's head has.
 *
 * What is missing or damaged is no error: it is `bad`, in words, and the verdict is `manifest-bad`. */
#ifndef LATCH_CATALOG_COMMIT_FACTS_H
#define LATCH_CATALOG_COMMIT_FACTS_H

#include "catalog/table_index.h"
#include "catalog/table_state.h"

enum fact_fault { /* what is wrong with an entry whatever is live; of entries of one name, in order */
                  FAULT_NONE,
                  FAULT_ORDER, /* an ADD before the DELETE of its name: expiry would remove the live file */
                  FAULT_ADD_TWICE,  /* a second ADD of the name */
                  FAULT_GONE_TWICE, /* a second DELETE of the name, at the same level */
                  FAULT_SAME_AGAIN, /* an ADD of what it just deleted: readers would take it for deleted */
                  FAULT_REUSED, /* an ADD of a deleted name, with another size or number of rows */
};
struct fact {          /* one entry of the delta list, in its order */
    bool added;        /* else deleted */
    bool level_change; /* one of a pair, DELETE and ADD: the same file at another level */
    enum fact_fault fault;
    struct table_file f;
};
struct fact_manifest {
    str name;
    int64_t size, added, deleted; /* as the list says */
    bool read;                    /* its entries were: sum is known */
    uint64_t sum;                 /* see table_state.h */
};
struct fact_dead {       /* a DELETE in a manifest of the base list that was read */
    struct table_file f; /* what its identity needs; no keys */
    size_t manifest;     /* in base */
};

struct commit_facts {
    struct arena arena; /* owns what follows */
    struct arena more;  /* what facts_read_base added */
    struct meta_dir dir;
    struct table_filer filer;
    size_t max_bytes;
    bool too_big_is_bad;
    int64_t id, schema_id, identifier, total_records;
    struct opt_i64 next_row_id;
    enum commit_kind kind;
    str user, base_list, delta_list, index_name; /* index_name: STR_NONE: it has none */
    str bad;                                     /* STR_NONE: all is there and whole */
    struct fact *entries;
    size_t n_entries, n_added; /* n_added: without level changes */
    size_t cap_entries, cap_dead;
    struct fact_manifest *base, *delta, *changelog;
    size_t n_base, n_delta, n_changelog;
    int64_t *schema_ids; /* of the snapshot and of what it adds, ascending, each once */
    size_t n_schema_ids;
    struct index_set *index; /* NULL: not read, it is the one the caller has */
    struct fact_dead *dead;
    size_t n_dead;
};

struct facts_opts {
    const struct binrow_type *partition; /* NULL: not partitioned */
    bool row_ids;
    size_t max_bytes;    /* of memory; what needs more is E_TOOBIG */
    bool too_big_is_bad; /* nobody is there to commit less: what does not fit is `bad` */
    str known_index;     /* the head's index manifest: not read again; STR_NONE: none */
};
/* E_TOOBIG, E_IO, E_NOMEM, E_TIMEOUT: nothing is known. facts_free in the end. */
int facts_read(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
               const struct facts_opts *o, struct commit_facts **ret) WARN_UNUSED;
/* Reads those base manifests; `which` are numbers in base. What cannot be read goes to f->bad. */
int facts_read_base(struct ctx *cx, struct commit_facts *f, const size_t *which,
                    size_t n) WARN_UNUSED;
/* The same of what we are about to write. Nothing is read: the base is what `base` names, and of those
 * manifests only the ones that `read` has read are known (it must outlive *ret). */
struct facts_made {
    const struct manifest_entry *entries; /* of the delta, in order */
    size_t n;
    const struct manifest_file *base;
    size_t n_base;
    const struct commit_facts *read; /* NULL: none */
    struct index_set *index; /* NULL: it is the one that the head has. A reference is taken */
};
int facts_make(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
               const struct facts_opts *o, const struct facts_made *in,
               struct commit_facts **ret) WARN_UNUSED;
/* It was written: the names of lists and manifests; `delta` has the entries, in order. E_NOMEM, E_TOOBIG */
int facts_made_names(struct ctx *cx, struct commit_facts *f, const struct snapshot *s,
                     const struct manifest_file *delta, size_t n_delta,
                     const struct manifest_file *changelog, size_t n_changelog) WARN_UNUSED;
int facts_read_index(struct ctx *cx, struct commit_facts *f) WARN_UNUSED;
void facts_free(struct commit_facts *f); /* NULL is fine */
static inline void facts_freep(struct commit_facts **f)
{
    facts_free(*f);
}

#endif
