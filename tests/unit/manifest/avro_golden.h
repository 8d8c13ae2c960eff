/* avro_golden.h - what the tests of metadata files share: the files of tests/golden/avro. */
#ifndef LATCH_TESTS_AVRO_GOLDEN_H
#define LATCH_TESTS_AVRO_GOLDEN_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>

#include "proto/base/buf.h"
#include "proto/base/ctx.h"

#define GOLDEN   "tests/golden/avro/"
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* A whole file, as long as the context; tests only. */
static inline str slurp(struct ctx *cx, const char *path)
{
    static char part[1 << 16];
    struct buf b = {0};
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot open %s", path);
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        buf_add(&b, part, n);
    fclose(f);
    str s = str_dup(&cx->arena, buf_str(&b));
    buf_done(&b);
    assert_non_null(s.p);
    return s;
}

/* Calls fn for every file that matches, and says how many there were. */
static inline size_t each_file(const char *pattern, void (*fn)(const char *path))
{
    glob_t g;
    assert_int_equal(glob(pattern, 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++)
        fn(g.gl_pathv[i]);
    size_t n = g.gl_pathc;
    globfree(&g);
    return n;
}

static inline void assert_str(str got, const char *want)
{
    if (!str_eqz(got, want))
        fail_msg("got \"%.*s\", want \"%s\"", STR(got), want);
}

static inline void assert_hex(str got, const char *want)
{
    struct buf b = {0};
    for (size_t i = 0; i < got.len; i++)
        buf_addf(&b, "%02x", (unsigned char)got.p[i]);
    assert_str(buf_str(&b), want);
    buf_done(&b);
}

#endif
