/* upkeep.h - what the server does to a table of its own accord. */
#ifndef LATCH_CATALOG_UPKEEP_H
#define LATCH_CATALOG_UPKEEP_H

#include "catalog/catalog_int.h"

/* After a commit: are the manifests that the head names many enough to be merged? Then a job is begun, one
 * a branch at a time. Cannot fail, does not block. (strand) */
void upkeep_look(struct branch *br, const struct table_traits *t, const struct commit_facts *f);

#endif
