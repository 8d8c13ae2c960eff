/* rand.h - random bytes from the kernel (getrandom). Blocks only before the kernel's pool is ready. */
#ifndef LATCH_PROTO_BASE_RAND_H
#define LATCH_PROTO_BASE_RAND_H

#include <stddef.h>
#include <stdint.h>

void rand_bytes(void *p, size_t n); /* aborts when the kernel has none to give */
uint64_t rand_u64(void);
#define UUID_LEN 36
void rand_uuid(char out[UUID_LEN + 1]);      /* version 4, lower case, NUL-terminated */
void rand_hex(char *out, size_t hex_digits); /* even count, NUL-terminated */

#endif
