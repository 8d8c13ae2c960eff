/* hashindex.c - see hashindex.h. A sorted array: loading is one pass and a radix sort, questions are a
 * binary search or one walk over both. */
#include "manifest/hashindex.h"

#include "proto/base/mem.h"
#include "proto/base/radix.h"

#define WIDTH sizeof(uint32_t)

static uint32_t get_be(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static int check(struct ctx *cx, str name, str file, int64_t row_count)
{
    if (file.len % WIDTH != 0)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "hash index '%.*s', byte %zu: its %zu bytes are no whole number of hashes",
                        STR(name), file.len - file.len % WIDTH, file.len);
    if (row_count >= 0 && (uint64_t)row_count != file.len / WIDTH)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "hash index '%.*s' has %zu hashes, the index manifest says %lld", STR(name),
                        file.len / WIDTH, (long long)row_count);
    return 0;
}

int hashindex_load(struct ctx *cx, str name, str file, int64_t row_count, struct hashindex *ret)
{
    TRY(check(cx, name, file, row_count));
    size_t n = file.len / WIDTH;
    uint32_t *v = mem_alloc(n * WIDTH), *tmp = mem_alloc(n * WIDTH);
    if (!v || !tmp) {
        mem_free(v);
        mem_free(tmp);
        return ctx_nomem(cx);
    }
    for (size_t i = 0; i < n; i++)
        v[i] = get_be(file.p + i * WIDTH);
    radix_sort_u32(v, tmp, n);
    mem_free(tmp);
    *ret = (struct hashindex){.v = v, .n = unique_u32(v, n)};
    return 0;
}

void hashindex_done(struct hashindex *h)
{
    mem_free(h->v);
    *h = (struct hashindex){0};
}

bool hashindex_contains(const struct hashindex *h, uint32_t hash)
{
    size_t low = 0, high = h->n;
    while (low < high) {
        size_t half = low + (high - low) / 2;
        if (h->v[half] < hash)
            low = half + 1;
        else
            high = half;
    }
    return low < h->n && h->v[low] == hash;
}

bool hashindex_subset(const struct hashindex *a, const struct hashindex *b, uint32_t *ret_missing)
{
    size_t k = 0;
    for (size_t i = 0; i < a->n; i++) {
        while (k < b->n && b->v[k] < a->v[i])
            k++;
        if (k < b->n && b->v[k] == a->v[i])
            continue;
        if (ret_missing)
            *ret_missing = a->v[i];
        return false;
    }
    return true;
}

void hashindex_write(struct buf *b, const struct hashindex *h)
{
    if (buf_reserve(b, h->n * WIDTH) < 0)
        return;
    for (size_t i = 0; i < h->n; i++) {
        char p[WIDTH] = {(char)(h->v[i] >> 24), (char)(h->v[i] >> 16), (char)(h->v[i] >> 8),
                         (char)h->v[i]};
        buf_add(b, p, sizeof p);
    }
}
