/* str.h - borrowed text: a pointer and a length.
 *
 * A str owns nothing and is never assumed to end in NUL. Whoever stores one says in a comment who
 * keeps the bytes alive (an arena, a heap object, a literal). Nothing here blocks or allocates,
 * except str_dup*, which take an arena. */
#ifndef LATCH_PROTO_BASE_STR_H
#define LATCH_PROTO_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct str {
    const char *p;
    size_t len;
} str;

struct arena;

#define STR_LIT(s) ((str){(s), sizeof(s) - 1}) /* of a literal */
#define STR_NONE   ((str){NULL, 0})            /* "absent", as opposed to empty: p is NULL */
#define STR(s)     (int)((s).len), ((s).p ? (s).p : "") /* for "%.*s" */

static inline str str_of(const char *z) /* NUL-terminated; NULL gives STR_NONE */
{
    return z ? (str){z, strlen(z)} : STR_NONE;
}
static inline str str_n(const char *p, size_t len)
{
    return (str){p, len};
}
static inline bool str_eq(str a, str b) /* by bytes; an absent one equals an empty one */
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}
static inline bool str_eqz(str a, const char *z)
{
    return str_eq(a, str_of(z));
}
static inline str str_cut(str s, size_t from) /* the rest from `from` on; empty past the end */
{
    return from >= s.len ? (str){s.p + s.len, 0} : (str){s.p + from, s.len - from};
}

int str_cmp(str a, str b); /* bytes, then length: the order of every listing */
bool str_starts(str s, str prefix);
bool str_ends(str s, str suffix);
bool str_ieq(str a, str b);           /* ASCII case ignored */
ptrdiff_t str_find(str s, char c);    /* index of the first, or -1 */
str str_trim(str s);                  /* ASCII blanks at both ends off */
bool str_to_i64(str s, int64_t *ret); /* decimal, optional '-', the whole text, in range */
bool str_utf8_valid(str s);           /* strict: no surrogates, no overlong forms */
size_t str_utf8_char(str s);          /* bytes of the first character; 0: none or not valid */
/* Takes the text up to the next `sep` off *rest. False when *rest is used up (p == NULL). */
bool str_split(str *rest, char sep, str *ret_part);

/* Copies into the arena, with a NUL behind the text; NULL / p == NULL on no memory. A copy of an
 * absent str is absent: ask first where that may come. */
str str_dup(struct arena *a, str s);
char *str_dupz(struct arena *a, str s);
/* At most max bytes: as it is, or what is in its middle left out, "begi...end"; never half a character of
 * valid UTF-8. With a NUL behind it; p == NULL: no memory. */
str str_shortened(struct arena *a, str s, size_t max);
/* On the heap, with a NUL behind it, to be freed with mem_free; absent becomes "". NULL: no memory. */
char *str_heap(str s);

#endif
