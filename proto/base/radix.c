/* radix.c - least significant byte first: one pass that counts the bytes of all places, then one pass a
 * place that moves; places where all bytes are the same are left out. A short list is sorted by
 * insertion, which beats the counting. The passes swap the two arrays, so an odd number of them ends
 * with a copy. No state; any thread. */
#include "proto/base/radix.h"

#include <string.h>

#define SHORT 32
#define BYTES 256

#define DEFINE_SORT(T, NAME, UNIQUE)                                                               \
    static void NAME##_short(T *v, size_t n)                                                       \
    {                                                                                              \
        for (size_t i = 1; i < n; i++) {                                                           \
            T one = v[i];                                                                          \
            size_t k = i;                                                                          \
            for (; k > 0 && v[k - 1] > one; k--)                                                   \
                v[k] = v[k - 1];                                                                   \
            v[k] = one;                                                                            \
        }                                                                                          \
    }                                                                                              \
    static void NAME##_pass(const T *from, T *to, size_t n, size_t place, const size_t *counts)    \
    {                                                                                              \
        size_t at[BYTES], sum = 0;                                                                 \
        for (size_t i = 0; i < BYTES; i++) {                                                       \
            at[i] = sum;                                                                           \
            sum += counts[i];                                                                      \
        }                                                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            to[at[from[i] >> (8 * place) & 255]++] = from[i];                                      \
    }                                                                                              \
    void NAME(T *v, T *tmp, size_t n)                                                              \
    {                                                                                              \
        size_t counts[sizeof(T)][BYTES] = {0};                                                     \
        T *from = v, *to = tmp;                                                                    \
        if (n <= SHORT) {                                                                          \
            NAME##_short(v, n);                                                                    \
            return;                                                                                \
        }                                                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            for (size_t p = 0; p < sizeof(T); p++)                                                 \
                counts[p][v[i] >> (8 * p) & 255]++;                                                \
        for (size_t p = 0; p < sizeof(T); p++) {                                                   \
            if (counts[p][v[0] >> (8 * p) & 255] == n)                                             \
                continue;                                                                          \
            NAME##_pass(from, to, n, p, counts[p]);                                                \
            T *swap = from;                                                                        \
            from = to;                                                                             \
            to = swap;                                                                             \
        }                                                                                          \
        if (from != v)                                                                             \
            memcpy(v, from, n * sizeof(T));                                                        \
    }                                                                                              \
    size_t UNIQUE(T *v, size_t n)                                                                  \
    {                                                                                              \
        size_t left = n > 0;                                                                       \
        for (size_t i = 1; i < n; i++)                                                             \
            if (v[i] != v[left - 1])                                                               \
                v[left++] = v[i];                                                                  \
        return left;                                                                               \
    }

DEFINE_SORT(uint64_t, radix_sort_u64, unique_u64)
DEFINE_SORT(uint32_t, radix_sort_u32, unique_u32)
