/* hash.h - hashes, and a map from bytes to pointers.
 *
 * hash64 is XXH3 (libxxhash; not for secrets). sha256 is Nettle's. `map` is open addressing over
 * keys that the VALUE keeps alive: the map stores the str as given, so the value (or an arena) must
 * own its bytes. Not thread-safe: the owner locks. */
#ifndef LATCH_PROTO_BASE_HASH_H
#define LATCH_PROTO_BASE_HASH_H

#include "proto/base/err.h"
#include "proto/base/str.h"

uint64_t hash64(const void *p, size_t n);
#define SHA256_LEN 32
void sha256(const void *p, size_t n, uint8_t out[SHA256_LEN]);
static inline int hex_digit(char c) /* its value; -1: none */
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
void hex_encode(const uint8_t *p, size_t n, char *out); /* 2n digits and a NUL */
/* Equal in time that does not depend on where they differ. */
bool secret_eq(const void *a, const void *b, size_t n);

struct map_slot {
    uint64_t hash;
    str key;
    void *value; /* NULL = free or deleted */
    bool used;   /* was ever used since the last rehash */
};
struct map {
    struct map_slot *slots;
    size_t cap, live, used;
};

void map_init(struct map *m);
void map_done(struct map *m);                /* frees the slots, not the values */
void *map_get(const struct map *m, str key); /* NULL: none */
int map_put(struct map *m, str key,
            void *value) WARN_UNUSED;  /* value != NULL; replaces; E_NOMEM leaves it as it was */
void *map_del(struct map *m, str key); /* what was there, or NULL */
/* Walks in no order: *pos starts at 0; false at the end. Do not change the map meanwhile. */
bool map_next(const struct map *m, size_t *pos, str *ret_key, void **ret_value);

#endif
