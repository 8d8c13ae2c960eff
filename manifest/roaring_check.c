/* roaring_check.c - see roaring_check.h.
 *
 * CRoaring 0.2 reads whatever it is given as long as the lengths fit: unsorted arrays, overlapping
 * runs and wrong counts become bitmaps whose later use may read outside. So each container is looked
 * at here first, in one pass over the bytes.
 *
 * Source: RoaringFormatSpec. Little endian:
 *   cookie 12346, int32 containers              no runs, offsets follow the keys
 *   cookie 12347 | containers-1 << 16, a bit a container "is runs"; offsets only from 4 containers on
 *   a container's key (16 bits, ascending) and count-1 (16 bits), then the offsets (int32 each),
 *   then the containers: runs (count, then start and length-1 each), up to 4096 values an array, above
 *   a bitset of 8 KiB.
 * No state; any thread. */
#include "manifest/roaring_check.h"

#define COOKIE_PLAIN    12346
#define COOKIE_RUNS     12347
#define OFFSETS_FROM    4
#define ARRAY_MAX       4096
#define BITSET_BYTES    8192
#define CONTAINERS_MAX  65536
#define CONTAINER_RANGE 65536

struct walk {
    str b;
    size_t at;
    const char *why;
};

static bool wrong(struct walk *w, const char *why)
{
    w->why = why;
    return false;
}

static uint32_t get16(const struct walk *w, size_t at)
{
    return (uint32_t)(unsigned char)w->b.p[at] | (uint32_t)(unsigned char)w->b.p[at + 1] << 8;
}

static uint32_t get32(const struct walk *w, size_t at)
{
    return get16(w, at) | get16(w, at + 2) << 16;
}

static bool need(struct walk *w, size_t n)
{
    return n <= w->b.len - w->at || wrong(w, "the bitmap ends too early");
}

static bool check_runs(struct walk *w, uint32_t count)
{
    uint32_t values = 0, next = 0; /* the first value that a run may begin with */
    if (!need(w, 2))
        return false;
    uint32_t n = get16(w, w->at);
    w->at += 2;
    if (!need(w, (size_t)n * 4))
        return false;
    for (uint32_t i = 0; i < n; i++, w->at += 4) {
        uint32_t start = get16(w, w->at), more = get16(w, w->at + 2);
        if (start < next || start + more >= CONTAINER_RANGE)
            return wrong(w, "runs overlap, touch or leave their container");
        values += more + 1;
        next = start + more + 2; /* runs that touch are one */
    }
    return values == count || wrong(w, "runs and their count differ");
}

static bool check_array(struct walk *w, uint32_t count)
{
    uint32_t last = 0;
    if (!need(w, (size_t)count * 2))
        return false;
    for (uint32_t i = 0; i < count; i++, w->at += 2) {
        uint32_t v = get16(w, w->at);
        if (i > 0 && v <= last)
            return wrong(w, "an array is not ascending");
        last = v;
    }
    return true;
}

static bool check_bitset(struct walk *w, uint32_t count)
{
    uint32_t values = 0;
    if (!need(w, BITSET_BYTES))
        return false;
    for (uint32_t i = 0; i < BITSET_BYTES; i++) {
        unsigned char c = (unsigned char)w->b.p[w->at + i];
        values += (uint32_t)__builtin_popcount(c);
    }
    w->at += BITSET_BYTES;
    return values == count || wrong(w, "a bitset and its count differ");
}

struct header {
    uint32_t n;
    size_t run_bits, keys,
        offsets; /* where they begin; 0: none (there is always a cookie before) */
};

static bool read_header(struct walk *w, struct header *h)
{
    if (!need(w, 4))
        return false;
    uint32_t cookie = get32(w, 0);
    bool runs = (cookie & 0xffff) == COOKIE_RUNS;
    *h = (struct header){0};
    w->at = 4;
    if (runs) {
        h->n = (cookie >> 16) + 1;
        h->run_bits = w->at;
        if (!need(w, (h->n + 7) / 8))
            return false;
        w->at += (h->n + 7) / 8;
    } else {
        if (cookie != COOKIE_PLAIN)
            return wrong(w, "no Roaring cookie");
        if (!need(w, 4))
            return false;
        h->n = get32(w, 4);
        w->at = 8;
    }
    if (h->n > CONTAINERS_MAX)
        return wrong(w, "too many containers");
    h->keys = w->at;
    bool offsets = !runs || h->n >= OFFSETS_FROM;
    if (!need(w, (size_t)h->n * (offsets ? 8 : 4)))
        return false;
    h->offsets = offsets ? h->keys + (size_t)h->n * 4 : 0;
    w->at += (size_t)h->n * (offsets ? 8 : 4);
    return true;
}

static bool check_container(struct walk *w, const struct header *h, uint32_t i, uint32_t *ret_count)
{
    uint32_t count = get16(w, h->keys + (size_t)i * 4 + 2) + 1;
    bool runs = h->run_bits && (w->b.p[h->run_bits + i / 8] >> (i % 8) & 1);
    if (h->offsets && get32(w, h->offsets + (size_t)i * 4) != w->at)
        return wrong(w, "a container is not where its offset says");
    *ret_count = count;
    if (runs)
        return check_runs(w, count);
    return count <= ARRAY_MAX ? check_array(w, count) : check_bitset(w, count);
}

static bool check_all(struct walk *w, struct roaring_info *ret)
{
    struct header h;
    uint32_t last = 0, count = 0;
    if (!read_header(w, &h))
        return false;
    for (uint32_t i = 0; i < h.n; i++) {
        uint32_t key = get16(w, h.keys + (size_t)i * 4);
        if (i > 0 && key <= last)
            return wrong(w, "the keys are not ascending");
        if (!check_container(w, &h, i, &count))
            return false;
        last = key;
        ret->values += count;
    }
    ret->size = w->at;
    return true;
}

bool roaring_check(str bytes, struct roaring_info *ret, const char **ret_why, size_t *ret_at)
{
    struct walk w = {.b = bytes};
    struct roaring_info info = {0};
    if (!check_all(&w, &info)) {
        *ret_why = w.why;
        *ret_at = w.at;
        return false;
    }
    *ret = info;
    return true;
}
