/* rand.c - random bytes from getrandom(2), and the texts made of them.
 *
 * No generator of our own and no state: tokens and ids come from here, and a process that cannot
 * get random bytes must not go on.
 *
 * Threads: any. */
#include "proto/base/rand.h"

#include <errno.h>
#include <sys/random.h>

#include "proto/base/assert.h"
#include "proto/base/hash.h"

void rand_bytes(void *p, size_t n)
{
    char *at = p;
    while (n) {
        ssize_t got = getrandom(at, n, 0);
        ASSERT(got > 0 || (got < 0 && errno == EINTR));
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
}

uint64_t rand_u64(void)
{
    uint64_t v;
    rand_bytes(&v, sizeof(v));
    return v;
}

void rand_uuid(char out[UUID_LEN + 1])
{
    uint8_t b[16];
    rand_bytes(b, sizeof(b));
    b[6] = (uint8_t)((b[6] & 0x0F) | 0x40); /* RFC 9562: version 4, */
    b[8] = (uint8_t)((b[8] & 0x3F) | 0x80); /* variant 10 */
    static const uint8_t group_bytes[] = {4, 2, 2, 2, 6};
    const uint8_t *at = b;
    for (size_t g = 0; g < sizeof(group_bytes); g++) {
        if (g)
            *out++ = '-';
        hex_encode(at, group_bytes[g], out);
        at += group_bytes[g];
        out += 2 * group_bytes[g];
    }
}

void rand_hex(char *out, size_t hex_digits)
{
    ASSERT(hex_digits % 2 == 0);
    uint8_t b[32];
    *out = 0;
    for (size_t left = hex_digits / 2; left;) {
        size_t n = left < sizeof(b) ? left : sizeof(b);
        rand_bytes(b, n);
        hex_encode(b, n, out);
        out += 2 * n;
        left -= n;
    }
}
