/* golden.h - for tests: files of tests/golden, their lines and fields, hex, and values as
 * tests/conform/java/BinaryFormats.java writes them. The suite runs in the root of the checkout. */
#ifndef LATCH_TESTS_GOLDEN_H
#define LATCH_TESTS_GOLDEN_H

#include "manifest/binrow.h"
#include "proto/base/hash.h"

/* Kept until the end of the arena. */
static inline str golden_file(struct ctx *cx, const char *path)
{
    CLEANUP(buf_done) struct buf b = {0};
    char part[4096];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s is not there: run from the root of the checkout", path);
    while (f && (n = fread(part, 1, sizeof part, f)) > 0)
        buf_add(&b, part, n);
    if (f)
        fclose(f);
    str kept = str_dup(&cx->arena, buf_str(&b));
    assert_non_null(kept.p);
    return kept;
}

/* The next line, split at tabs into at most `max` fields; 0 at the end. */
static inline size_t golden_line(str *rest, str *fields, size_t max)
{
    str line, one;
    size_t n = 0;
    if (!str_split(rest, '\n', &line) || (line.len == 0 && !rest->p))
        return 0;
    while (n < max && str_split(&line, '\t', &one))
        fields[n++] = one;
    return n;
}

static inline int64_t golden_int(str s)
{
    int64_t v = 0;
    if (!str_to_i64(s, &v))
        fail_msg("'%.*s' is no number", STR(s));
    return v;
}

static inline uint64_t golden_hex_int(str s)
{
    char z[20];
    snprintf(z, sizeof z, "%.*s", STR(s));
    return strtoull(z, NULL, 16);
}

static inline str golden_unhex(struct ctx *cx, str s)
{
    char *p = arena_alloc(&cx->arena, s.len / 2 + 1);
    assert_non_null(p);
    for (size_t i = 0; i + 1 < s.len; i += 2)
        p[i / 2] = (char)golden_hex_int(str_n(s.p + i, 2));
    return str_n(p, s.len / 2);
}

static inline void golden_add_hex(struct buf *b, str s)
{
    for (size_t i = 0; i < s.len; i++)
        buf_addf(b, "%02x", (unsigned char)s.p[i]);
}

static inline void golden_add_i128(struct buf *b, __int128 v)
{
    char digits[48];
    size_t n = sizeof digits;
    unsigned __int128 u = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    do {
        digits[--n] = (char)('0' + (int)(u % 10));
        u /= 10;
    } while (u);
    if (v < 0)
        digits[--n] = '-';
    buf_add(b, digits + n, sizeof digits - n);
}

/* A value as BinaryFormats.text() writes it. */
static inline void golden_add_value(struct buf *b, const struct binrow_value *v)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    switch (v->tag) {
    case BV_NULL:
        buf_addc(b, '~');
        break;
    case BV_BOOL:
        buf_addc(b, v->b ? 't' : 'f');
        break;
    case BV_INT:
        buf_add_i64(b, v->i);
        break;
    case BV_FLOAT:
        memcpy(&narrow, &v->f, sizeof narrow);
        buf_addf(b, "x%08x", narrow);
        break;
    case BV_DOUBLE:
        memcpy(&wide, &v->d, sizeof wide);
        buf_addf(b, "x%016llx", (unsigned long long)wide);
        break;
    case BV_DECIMAL:
        golden_add_i128(b, v->dec);
        break;
    case BV_TIMESTAMP:
        buf_addf(b, "%lld:%d", (long long)v->ts.ms, v->ts.ns);
        break;
    case BV_BYTES:
        buf_addc(b, 'h');
        golden_add_hex(b, v->bytes);
        break;
    case BV_VARIANT:
        buf_addc(b, 'v');
        golden_add_hex(b, v->variant.value);
        buf_addc(b, '.');
        golden_add_hex(b, v->variant.metadata);
        break;
    default:
        buf_addc(b, 'n');
        break;
    }
}

static inline const struct data_type *golden_type(struct ctx *cx, str text)
{
    const struct json *v;
    const struct data_type *t = NULL;
    assert_int_equal(json_parse(cx, text, "type", &v), 0);
    assert_int_equal(types_decode(cx, v, &t), 0);
    return t;
}

/* A JSON list of types. */
static inline struct binrow_type golden_types(struct ctx *cx, str text)
{
    const struct json *v;
    assert_int_equal(json_parse(cx, text, "types", &v), 0);
    size_t n = 0;
    const struct data_type **t = ARENA_ARRAY(&cx->arena, const struct data_type *, text.len + 1);
    assert_non_null(t);
    JSON_EACH (it, v)
        assert_int_equal(types_decode(cx, it, &t[n++]), 0);
    return (struct binrow_type){.types = t, .n = n};
}

/* A row type from SQL texts, NULL behind the last. */
static inline struct binrow_type golden_sql_types(struct ctx *cx, const char *const *texts)
{
    const struct data_type **t = ARENA_ARRAY(&cx->arena, const struct data_type *, 64);
    size_t n = 0;
    assert_non_null(t);
    for (; texts[n]; n++)
        assert_int_equal(types_parse(cx, str_of(texts[n]), &t[n]), 0);
    return (struct binrow_type){.types = t, .n = n};
}

#endif
