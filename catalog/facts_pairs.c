/* facts_pairs.c - which entries of a delta list are of one file name, and what they mean together.
 *
 * DELETE then ADD of one name, of equal size and rows, at two levels, is the same file moved (Paimon
 * calls it an upgrade). Everything else that names a file more than once is a fault, since a data file
 * is written once and readers, expiry and other writers each take such a list for something else.
 *
 * Entries are sorted by a hash of partition, bucket and name and then by place, so a list that names one
 * file a million times costs no more than another. Pure. */
#include "catalog/commit_facts_int.h"

#include <stdlib.h>

#include "proto/base/hash.h"
#include "proto/base/mem.h"

struct named {
    uint64_t hash;
    size_t i; /* in entries */
};

static uint64_t name_hash(const struct table_file *f)
{
    uint64_t h[3] = {hash64(f->partition.p, f->partition.len), (uint64_t)(int64_t)f->bucket,
                     hash64(f->name.p, f->name.len)};
    return hash64(h, sizeof h);
}

static int by_name_then_place(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

/* What entry b is after the entry a of the same name, which is the last before it. */
static void follow(struct fact *a, struct fact *b)
{
    if (a->added && b->added)
        b->fault = FAULT_ADD_TWICE;
    else if (a->added)
        a->fault = FAULT_ORDER;
    else if (!b->added)
        b->fault = a->f.level == b->f.level ? FAULT_GONE_TWICE : FAULT_NONE;
    else if (a->f.level == b->f.level)
        b->fault = FAULT_SAME_AGAIN;
    else if (a->f.size != b->f.size || a->f.rows != b->f.rows)
        b->fault = FAULT_REUSED;
    else
        a->level_change = b->level_change = true;
}

int facts_pair(struct ctx *cx, struct commit_facts *f)
{
    struct named *v = mem_alloc((f->n_entries + 1) * sizeof *v);
    if (!v)
        return ctx_nomem(cx);
    for (size_t i = 0; i < f->n_entries; i++)
        v[i] = (struct named){name_hash(&f->entries[i].f), i};
    qsort(v, f->n_entries, sizeof *v, by_name_then_place);
    for (size_t i = 1; i < f->n_entries; i++)
        if (v[i].hash == v[i - 1].hash)
            follow(&f->entries[v[i - 1].i], &f->entries[v[i].i]);
    mem_free(v);
    for (size_t i = 0; i < f->n_entries; i++)
        f->n_added += f->entries[i].added && !f->entries[i].level_change;
    return 0;
}
