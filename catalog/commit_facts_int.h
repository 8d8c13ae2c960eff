/* commit_facts_int.h - between the files that make facts. */
#ifndef LATCH_CATALOG_COMMIT_FACTS_INT_H
#define LATCH_CATALOG_COMMIT_FACTS_INT_H

#include "catalog/commit_facts.h"

/* facts_pairs.c: fills level_change, fault and n_added. E_NOMEM. */
int facts_pair(struct ctx *cx, struct commit_facts *f) WARN_UNUSED;

#endif
