/* crc32.c - see crc32.h. Eight tables of 256 words, so that eight bytes are taken at a time; they are
 * made once, by whoever comes first. Source: the definition in RFC 1952, section 8. Any thread. */
#include "manifest/crc32.h"

#include <pthread.h>

static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int t = 1; t < 8; t++)
            table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 255];
}

uint32_t crc32_of(const void *p, size_t n)
{
    const uint8_t *at = p;
    uint32_t c = UINT32_MAX;
    pthread_once(&once, make_tables);
    for (; n >= 8; n -= 8, at += 8) {
        c ^= (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        c = table[7][c & 255] ^ table[6][c >> 8 & 255] ^ table[5][c >> 16 & 255] ^
            table[4][c >> 24] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^
            table[0][at[7]];
    }
    for (; n > 0; n--)
        c = c >> 8 ^ table[0][(c ^ *at++) & 255];
    return ~c;
}
