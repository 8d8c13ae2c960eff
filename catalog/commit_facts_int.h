/* commit_facts_int.h - between the files that make facts. */
#ifndef LATCH_CATALOG_COMMIT_FACTS_INT_H
#define LATCH_CATALOG_COMMIT_FACTS_INT_H

#include "catalog/commit_facts.h"

/* commit_facts.c: facts that say what `s` itself says; one more entry of its delta; texts into an arena;
 * schema_ids, of what was added. */
int facts_new(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
              const struct facts_opts *o, struct commit_facts **ret) WARN_UNUSED;
int facts_add(struct ctx *cx, struct commit_facts *f, const struct manifest_entry *e) WARN_UNUSED;
int facts_schemas(struct ctx *cx, struct commit_facts *f) WARN_UNUSED;
bool facts_copy(struct arena *a, str *s);
/* What a list says of manifests, none of them read yet, in f's arena. */
int facts_manifests(struct ctx *cx, struct commit_facts *f, const struct manifest_file *m, size_t n,
                    struct fact_manifest **ret) WARN_UNUSED;
int facts_too_big(struct ctx *cx, const struct commit_facts *f);
/* What an entry counts for in the sum of its manifest. */
static inline uint64_t fact_sum(const struct fact *e)
{
    return e->added ? e->f.id : -e->f.id;
}

/* facts_pairs.c: fills level_change, fault and n_added. E_NOMEM. */
int facts_pair(struct ctx *cx, struct commit_facts *f) WARN_UNUSED;

#endif
