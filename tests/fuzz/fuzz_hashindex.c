/* fuzz_hashindex.c - any bytes as a HASH index file, cut in two at the first byte's place: both halves
 * answer as a plain search through the bytes does. */
#include "manifest/hashindex.h"
#include "proto/base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t word(str s, size_t i)
{
    const unsigned char *p = (const unsigned char *)s.p + 4 * i;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool has(str s, uint32_t v)
{
    for (size_t i = 0; i < s.len / 4; i++)
        if (word(s, i) == v)
            return true;
    return false;
}

static bool all_in(str a, str b)
{
    for (size_t i = 0; i < a.len / 4; i++)
        if (!has(b, word(a, i)))
            return false;
    return true;
}

static int load(struct ctx *cx, str s, struct hashindex *ret)
{
    int rc = hashindex_load(cx, STR_LIT("fuzz"), s, -1, ret);
    ASSERT(rc == (s.len % 4 ? E_CORRUPT : 0));
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hashindex x = {0}, y = {0};
    struct ctx cx;
    uint32_t missing = 0;
    if (size < 1 || size > 4000)
        return 0;
    ctx_init(&cx, 1 << 20);
    str rest = str_n((const char *)data + 1, size - 1);
    size_t cut = (size_t)data[0] * 4 < rest.len ? (size_t)data[0] * 4 : rest.len;
    str a = str_n(rest.p, cut), b = str_cut(rest, cut);
    if (load(&cx, a, &x) == 0 && load(&cx, b, &y) == 0) {
        ASSERT(hashindex_subset(&x, &y, &missing) == all_in(a, b));
        ASSERT(all_in(a, b) || (has(a, missing) && !has(b, missing)));
        for (size_t i = 0; i < a.len / 4; i++)
            ASSERT(hashindex_contains(&x, word(a, i)) &&
                   hashindex_contains(&y, word(a, i)) == has(b, word(a, i)));
    }
    hashindex_done(&x);
    hashindex_done(&y);
    ctx_done(&cx);
    return 0;
}
