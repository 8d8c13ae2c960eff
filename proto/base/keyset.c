/* keyset.c - one array: filled at the end, then sorted.
 *
 * Invariants: n <= cap <= max + max / 2; sealed: ascending, each once, n <= max. When the array is
 * full it is sorted and repeated keys go; as at least a third of it must be free then, each key takes
 * part in a constant number of sorts on average.
 *
 * Questions about two sets walk the smaller one and search in the bigger one from where the last
 * search ended, by doubling steps: linear when they are alike, logarithmic when not.
 *
 * Threads: see the header. */
#include "proto/base/keyset.h"

#include <string.h>

#include "proto/base/assert.h"
#include "proto/base/mem.h"
#include "proto/base/radix.h"

#define CAP_MIN ((size_t)256)

void keyset_init(struct keyset *s, size_t max_keys)
{
    ASSERT(max_keys < SIZE_MAX / 16);
    *s = (struct keyset){.max = max_keys, .sealed = true};
}

void keyset_done(struct keyset *s)
{
    mem_free(s->v);
    keyset_init(s, s->max);
}

static size_t limit(const struct keyset *s)
{
    return s->max + s->max / 2 + 1;
}

static int sort(struct keyset *s)
{
    uint64_t *tmp = mem_alloc(s->n * sizeof *tmp);
    if (!tmp)
        return E_NOMEM;
    radix_sort_u64(s->v, tmp, s->n);
    s->n = unique_u64(s->v, s->n);
    mem_free(tmp);
    return 0;
}

static int grow(struct keyset *s)
{
    size_t cap = s->cap * 2 < CAP_MIN ? CAP_MIN : s->cap * 2;
    cap = cap > limit(s) ? limit(s) : cap;
    uint64_t *v = mem_realloc(s->v, cap * sizeof *v);
    if (!v)
        return E_NOMEM;
    s->v = v;
    s->cap = cap;
    return 0;
}

int keyset_add(struct keyset *s, uint64_t hash)
{
    if (s->n == s->cap) {
        if (s->cap < limit(s)) {
            TRY(grow(s));
        } else {
            TRY(sort(s));
            if (s->n > s->max) /* for good: the next call finds the same */
                return E_TOOBIG;
        }
    }
    s->v[s->n++] = hash;
    s->sealed = false;
    return 0;
}

int keyset_seal(struct keyset *s)
{
    if (s->sealed)
        return 0;
    TRY(sort(s));
    if (s->n > s->max)
        return E_TOOBIG;
    s->sealed = true;
    return 0;
}

int keyset_set_sorted(struct keyset *s, const uint64_t *v, size_t n)
{
    if (n > s->max)
        return E_TOOBIG;
    for (size_t i = 1; i < n; i++)
        if (v[i] <= v[i - 1])
            return E_INVAL;
    uint64_t *copy = mem_alloc(n * sizeof *copy);
    if (!copy)
        return E_NOMEM;
    if (n)
        memcpy(copy, v, n * sizeof *copy);
    mem_free(s->v);
    *s = (struct keyset){.v = copy, .n = n, .cap = n, .max = s->max, .sealed = true};
    return 0;
}

static size_t merge(const struct keyset *a, const struct keyset *b, uint64_t *to)
{
    size_t i = 0, k = 0, n = 0;
    while (i < a->n && k < b->n) {
        uint64_t x = a->v[i], y = b->v[k];
        to[n++] = x < y ? x : y;
        i += x <= y;
        k += y <= x;
    }
    for (; i < a->n; i++)
        to[n++] = a->v[i];
    for (; k < b->n; k++)
        to[n++] = b->v[k];
    return n;
}

int keyset_union(struct keyset *s, const struct keyset *other)
{
    ASSERT(s->sealed && other->sealed);
    if (other->n == 0)
        return 0;
    size_t cap = s->n + other->n; /* in an array of its own: s stays whole until it fits */
    uint64_t *v = mem_alloc(cap * sizeof *v);
    if (!v)
        return E_NOMEM;
    size_t n = merge(s, other, v);
    if (n > s->max) {
        mem_free(v);
        return E_TOOBIG;
    }
    if (n < cap) { /* smaller: if that fails, the bigger one is as good, but not within the bound */
        uint64_t *fit = mem_realloc(v, n * sizeof *v);
        if (!fit) {
            mem_free(v);
            return E_NOMEM;
        }
        v = fit;
    }
    mem_free(s->v);
    s->v = v;
    s->n = s->cap = n;
    return 0;
}

/* The first place in s from `from` on that is not below hash. */
static size_t seek(const struct keyset *s, size_t from, uint64_t hash)
{
    size_t step = 1, low = from;
    while (low + step < s->n && s->v[low + step] < hash) {
        low += step;
        step *= 2;
    }
    size_t high = low + step < s->n ? low + step : s->n;
    while (low < high) {
        size_t half = low + (high - low) / 2;
        if (s->v[half] < hash)
            low = half + 1;
        else
            high = half;
    }
    return low;
}

bool keyset_contains(const struct keyset *s, uint64_t hash)
{
    ASSERT(s->sealed);
    size_t at = seek(s, 0, hash);
    return at < s->n && s->v[at] == hash;
}

bool keyset_common(const struct keyset *a, const struct keyset *b, uint64_t *ret_hash)
{
    ASSERT(a->sealed && b->sealed);
    const struct keyset *small = a->n <= b->n ? a : b, *big = small == a ? b : a;
    size_t at = 0;
    for (size_t i = 0; i < small->n; i++) {
        at = seek(big, at, small->v[i]);
        if (at == big->n)
            return false;
        if (big->v[at] == small->v[i]) {
            if (ret_hash)
                *ret_hash = small->v[i];
            return true;
        }
    }
    return false;
}

bool keyset_subset(const struct keyset *a, const struct keyset *b)
{
    ASSERT(a->sealed && b->sealed);
    size_t at = 0;
    if (a->n > b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        at = seek(b, at, a->v[i]);
        if (at == b->n || b->v[at] != a->v[i])
            return false;
    }
    return true;
}
