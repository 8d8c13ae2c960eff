/* mem.h - the only door to malloc, so that tests can make the n-th allocation fail.
 * NULL means no memory and is handled by the caller (E_NOMEM). */
#ifndef LATCH_PROTO_BASE_MEM_H
#define LATCH_PROTO_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t n);              /* uninitialised */
void *mem_zalloc(size_t n);             /* zeroed */
void *mem_realloc(void *p, size_t n);   /* p stays valid when it answers NULL */
void mem_free(void *p);                 /* NULL is fine */
char *mem_dup(const void *p, size_t n); /* n bytes and a NUL; to be freed with mem_free */

/* For tests: let the n-th allocation from now on (1 = the next) answer NULL, and, if `sticky`, all
 * later ones too. 0 switches it off. Returns how many allocations were seen since the last call. */
long mem_fail_at(long n, int sticky);

#endif
