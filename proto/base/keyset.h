/* keyset.h - an exact set of 64-bit hashes of keys, with a bound on its memory.
 *
 * First it is filled (keyset_add, in any order, repeated ones too), then sealed (sorted, each once);
 * only a sealed set answers questions. Adding to a sealed set opens it again. What goes in are the
 * hashes of binrow_hash, so that equal keys meet whoever encoded them; two different keys may share a
 * hash with a probability of n*m / 2^64.
 *
 * Owned by whoever made it; a sealed one may be read by many threads. Nothing here blocks. */
#ifndef LATCH_PROTO_BASE_KEYSET_H
#define LATCH_PROTO_BASE_KEYSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/err.h"

struct keyset {
    uint64_t *v;
    size_t n, cap;
    size_t max; /* keys; while it is filled there is room for half as many again */
    bool sealed;
};

void keyset_init(struct keyset *s, size_t max_keys); /* an empty, sealed one; allocates nothing */
void keyset_done(struct keyset *s);
/* E_TOOBIG: more than max different keys; E_NOMEM. The set is as it was, but for what was repeated. */
int keyset_add(struct keyset *s, uint64_t hash) WARN_UNUSED;
/* Sorts what was added since. E_TOOBIG, E_NOMEM (it needs a second array for the time). */
int keyset_seal(struct keyset *s) WARN_UNUSED;
/* A sorted list, each once, as a client sends it: copied. E_INVAL if it is not, E_TOOBIG, E_NOMEM;
 * the set is then as it was. */
int keyset_set_sorted(struct keyset *s, const uint64_t *v, size_t n) WARN_UNUSED;
/* s becomes the union; both sealed, and s sealed after it. E_TOOBIG or E_NOMEM leave s as it was. */
int keyset_union(struct keyset *s, const struct keyset *other) WARN_UNUSED;

/* All below need sealed sets. */
bool keyset_contains(const struct keyset *s, uint64_t hash);
/* Have a and b a key in common? The smallest such goes to *ret_hash (may be NULL). O(small * log big)
 * if one is much smaller, else O(a + b). */
bool keyset_common(const struct keyset *a, const struct keyset *b, uint64_t *ret_hash);
bool keyset_subset(const struct keyset *a, const struct keyset *b); /* all of a in b */
static inline size_t keyset_size(const struct keyset *s)
{
    return s->n;
}
static inline size_t keyset_bytes(const struct keyset *s) /* of memory */
{
    return s->cap * sizeof(*s->v);
}

#endif
