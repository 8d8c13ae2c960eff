/* mem.c - the one file that calls malloc.
 *
 * Every allocation is counted, so that a torture test can run an operation once to learn how many
 * allocations it makes, and then again with each of them failing. Counting costs one relaxed atomic
 * add, on a cache line of its own.
 *
 * Sizes of zero are served as one byte: NULL means "no memory" and nothing else.
 *
 * Threads: any thread may call anything. Which of two threads gets the n-th allocation is up to the
 * scheduler; exactly one of them gets it. */
#include "proto/base/mem.h"

#include <stdbool.h>
#include <stdint.h>

static struct {
    _Alignas(64) long seen; /* all three only through __atomic builtins */
    long fail_at;           /* 0: off */
    int sticky;
} torture;

static bool must_fail(void)
{
    long nth = __atomic_add_fetch(&torture.seen, 1, __ATOMIC_RELAXED);
    long at = __atomic_load_n(&torture.fail_at, __ATOMIC_ACQUIRE);
    if (at == 0)
        return false;
    return nth == at || (nth > at && __atomic_load_n(&torture.sticky, __ATOMIC_RELAXED));
}

long mem_fail_at(long n, int sticky)
{
    __atomic_store_n(&torture.fail_at, 0, __ATOMIC_RELEASE);
    long seen = __atomic_exchange_n(&torture.seen, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&torture.sticky, sticky, __ATOMIC_RELAXED);
    __atomic_store_n(&torture.fail_at, n, __ATOMIC_RELEASE);
    return seen;
}

void *mem_alloc(size_t n)
{
    return must_fail() ? NULL : malloc(n ? n : 1);
}

void *mem_zalloc(size_t n)
{
    return must_fail() ? NULL : calloc(1, n ? n : 1);
}

void *mem_realloc(void *p, size_t n)
{
    return must_fail() ? NULL : realloc(p, n ? n : 1);
}

void mem_free(void *p)
{
    free(p);
}

char *mem_dup(const void *p, size_t n)
{
    if (n == SIZE_MAX)
        return NULL;
    char *copy = mem_alloc(n + 1);
    if (!copy)
        return NULL;
    if (n)
        memcpy(copy, p, n);
    copy[n] = 0;
    return copy;
}
