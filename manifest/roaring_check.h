/* roaring_check.h - is it a Roaring bitmap in the portable form, and where does it end? Pure. */
#ifndef LATCH_MANIFEST_ROARING_CHECK_H
#define LATCH_MANIFEST_ROARING_CHECK_H

#include "proto/base/str.h"

struct roaring_info {
    size_t size;     /* bytes that it takes of the text */
    uint64_t values; /* how many it has */
};

/* False: *ret_why says what is wrong (a literal) and *ret_at at which byte. Bytes behind it are fine. */
bool roaring_check(str bytes, struct roaring_info *ret, const char **ret_why, size_t *ret_at);

#endif
