/* hash.c - XXH3, SHA-256, hex, and the map. The only includer of xxhash.h and of Nettle.
 *
 * hash64 is the same on every machine and in every run (names of directories come from it). The map
 * mixes a random seed of the process in, so that a client cannot choose keys that all collide.
 *
 * The map is open addressing with linear probing over a power of two of slots. A deleted slot keeps
 * `used`, so that probing goes on past it; it is taken again by a later put. Invariants: live <=
 * used; used * 4 <= cap * 3, so there is always a free slot at which probing ends.
 *
 * Threads: the functions are pure; a map belongs to whoever locks it. */
#include "proto/base/hash.h"

#include <pthread.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <xxhash.h>

#include "proto/base/assert.h"
#include "proto/base/mem.h"
#include "proto/base/rand.h"

#define MAP_CAP_MIN ((size_t)16)

uint64_t hash64(const void *p, size_t n)
{
    return XXH3_64bits(n ? p : "", n);
}

void sha256(const void *p, size_t n, uint8_t out[SHA256_LEN])
{
    _Static_assert(SHA256_LEN == SHA256_DIGEST_SIZE, "Nettle's size is ours");
    struct sha256_ctx s;
    sha256_init(&s);
    if (n)
        sha256_update(&s, n, p);
    sha256_digest(&s, SHA256_LEN, out);
}

void hex_encode(const uint8_t *p, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++) {
        *out++ = "0123456789abcdef"[p[i] >> 4];
        *out++ = "0123456789abcdef"[p[i] & 15];
    }
    *out = 0;
}

bool secret_eq(const void *a, const void *b, size_t n)
{
    return n == 0 || memeql_sec(a, b, n);
}

static uint64_t map_seed;
static pthread_once_t map_seed_once = PTHREAD_ONCE_INIT;

static void map_seed_make(void)
{
    map_seed = rand_u64();
}

static uint64_t map_hash(str key)
{
    ASSERT(pthread_once(&map_seed_once, map_seed_make) == 0);
    return XXH3_64bits_withSeed(key.len ? key.p : "", key.len, map_seed);
}

void map_init(struct map *m)
{
    *m = (struct map){0};
}

void map_done(struct map *m)
{
    mem_free(m->slots);
    map_init(m);
}

/* The slot that holds `key`, else NULL and in *ret_room the slot a put may take (NULL without
 * slots). */
static struct map_slot *find(const struct map *m, str key, uint64_t hash,
                             struct map_slot **ret_room)
{
    *ret_room = NULL;
    if (m->cap == 0)
        return NULL;
    for (size_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        struct map_slot *s = &m->slots[i];
        if (!s->value && !*ret_room)
            *ret_room = s;
        if (!s->used)
            return NULL;
        if (s->value && s->hash == hash && str_eq(s->key, key))
            return s;
    }
}

/* Moves all that lives to new slots, at most half full with one more key in them. */
static int rehash(struct map *m)
{
    size_t cap = MAP_CAP_MIN;
    while (cap < (m->live + 1) * 2)
        cap *= 2;
    struct map_slot *slots = mem_zalloc(cap * sizeof(*slots));
    if (!slots)
        return E_NOMEM;
    for (size_t i = 0; i < m->cap; i++) {
        if (!m->slots[i].value)
            continue;
        size_t at = m->slots[i].hash & (cap - 1);
        while (slots[at].used)
            at = (at + 1) & (cap - 1);
        slots[at] = m->slots[i];
    }
    mem_free(m->slots);
    m->slots = slots;
    m->cap = cap;
    m->used = m->live;
    return 0;
}

void *map_get(const struct map *m, str key)
{
    struct map_slot *room;
    struct map_slot *s = m->live ? find(m, key, map_hash(key), &room) : NULL;
    return s ? s->value : NULL;
}

int map_put(struct map *m, str key, void *value)
{
    ASSERT(value != NULL);
    uint64_t hash = map_hash(key);
    struct map_slot *room;
    struct map_slot *s = find(m, key, hash, &room);
    if (s) { /* the old value owned the old key's bytes: both are replaced */
        s->key = key;
        s->value = value;
        return 0;
    }
    if (!room || (!room->used && (m->used + 1) * 4 > m->cap * 3)) {
        TRY(rehash(m));
        find(m, key, hash, &room);
    }
    m->used += !room->used;
    m->live++;
    *room = (struct map_slot){.hash = hash, .key = key, .value = value, .used = true};
    return 0;
}

void *map_del(struct map *m, str key)
{
    struct map_slot *room;
    struct map_slot *s = m->live ? find(m, key, map_hash(key), &room) : NULL;
    if (!s)
        return NULL;
    void *value = s->value;
    *s = (struct map_slot){.used = true};
    m->live--;
    return value;
}

bool map_next(const struct map *m, size_t *pos, str *ret_key, void **ret_value)
{
    while (*pos < m->cap) {
        const struct map_slot *s = &m->slots[(*pos)++];
        if (s->value) {
            *ret_key = s->key;
            *ret_value = s->value;
            return true;
        }
    }
    return false;
}
