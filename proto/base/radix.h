/* radix.h - sorts of plain unsigned numbers, ascending, in time linear in n. Pure. */
#ifndef LATCH_PROTO_BASE_RADIX_H
#define LATCH_PROTO_BASE_RADIX_H

#include <stddef.h>
#include <stdint.h>

/* `tmp` has room for n, too; what is left in it is of no use. */
void radix_sort_u64(uint64_t *v, uint64_t *tmp, size_t n);
void radix_sort_u32(uint32_t *v, uint32_t *tmp, size_t n);
/* Of sorted numbers: drops repeated ones, returns how many are left. */
size_t unique_u64(uint64_t *v, size_t n);
size_t unique_u32(uint32_t *v, size_t n);

#endif
