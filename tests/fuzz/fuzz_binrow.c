/* fuzz_binrow.c - any bytes as a row: the first picks the types, the rest is the serialized row. It is
 * refused, or is read, written by Java's rules, and read back as the same; its name as a partition, if it
 * has one, splits into as many parts. Then the bytes as a path and as the text of a value. */
#include "manifest/binrow.h"
#include "manifest/bucket.h"
#include "manifest/partition_path.h"
#include "manifest/stats.h"
#include "proto/base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const kinds[] = {"INT",
                                    "STRING",
                                    "DECIMAL(38, 10)",
                                    "TIMESTAMP(9)",
                                    "BIGINT",
                                    "TINYINT",
                                    "BOOLEAN",
                                    "DECIMAL(9, 2)",
                                    "DATE",
                                    "TIMESTAMP(3)",
                                    "BYTES",
                                    "TIME(3)",
                                    "DOUBLE",
                                    "FLOAT",
                                    "VARIANT",
                                    "INT ARRAY",
                                    "SMALLINT",
                                    "CHAR(3)",
                                    "BINARY(4)",
                                    "DECIMAL(19, 0)",
                                    "VARCHAR(10)",
                                    "TIMESTAMP(6) WITH LOCAL TIME ZONE"};
enum { KINDS = sizeof kinds / sizeof *kinds, COLUMNS_MAX = 80 };

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void check_text(struct ctx *cx, const struct data_type *t, str text)
{
    static const struct partition_naming naming = {STR_LIT("__DEFAULT_PARTITION__"), false};
    struct buf b = {0};
    struct binrow_value v, again;
    int rc = partition_value_parse(cx, t, text, &naming, &v);
    ASSERT(rc == 0 || rc == E_INVAL || rc == E_UNSUPPORTED);
    if (rc == 0 && partition_text(cx, t, &v, &naming, &b) == 0 && t->kind == TYPE_DECIMAL) {
        ASSERT(partition_value_parse(cx, t, buf_str(&b), &naming, &again) == 0);
        ASSERT(binrow_cmp_value(&v, &again) == 0);
    }
    buf_done(&b);
}

static void check_name(struct ctx *cx, const struct binrow_type *t, const struct binrow_value *v)
{
    static const struct partition_naming naming[] = {{STR_LIT("none"), true},
                                                     {STR_LIT("none"), false}};
    str names[COLUMNS_MAX], texts[COLUMNS_MAX];
    for (size_t i = 0; i < t->n; i++)
        names[i] = STR_LIT("a=/%b");
    for (size_t k = 0; k < 2; k++) {
        struct buf b = {0};
        int rc = partition_path_write(cx, t, names, v, &naming[k], &b);
        ASSERT(rc == 0 || rc == E_UNSUPPORTED);
        if (rc == 0)
            ASSERT(partition_path_split(cx, buf_str(&b), names, t->n, texts) == 0);
        buf_done(&b);
    }
}

static void check_row(struct ctx *cx, const struct binrow_type *t, const struct binrow_value *v,
                      size_t size)
{
    struct binrow_value again[COLUMNS_MAX];
    struct buf b = {0}, scratch = {0};
    struct stats_column stats[COLUMNS_MAX];
    struct simple_stats s;
    uint64_t x = 0, y = 1;
    int32_t bucket = -1;
    binrow_write(&b, t, v);
    ASSERT(buf_fail(&b) == 0 && b.len <= 8 + 2 * size + 24 * t->n);
    ASSERT(binrow_read(cx, t, buf_str(&b), again) == 0);
    ASSERT(binrow_cmp(v, again, t->n) == 0);
    ASSERT(binrow_hash(t, v, &scratch, &x) == 0 && binrow_hash(t, again, &scratch, &y) == 0);
    ASSERT(x == y);
    for (enum bucket_function f = BUCKET_DEFAULT; f <= BUCKET_HIVE; f++) {
        int rc = bucket_of(cx, f, t, v, 7, BINROW_PYTHON, &scratch, &bucket);
        ASSERT(rc == E_UNSUPPORTED || (rc == 0 && bucket >= 0 && bucket < 7));
    }
    stats_begin(stats, t->n);
    stats_add_row(stats, v, t->n);
    stats_add_row(stats, again, t->n);
    buf_clear(&scratch);
    ASSERT(stats_write(cx, t, stats, &scratch, &s) == 0);
    ASSERT(stats_read(cx, t, &s, stats) == 0);
    buf_done(&scratch);
    check_name(cx, t, v);
    buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct data_type *types[COLUMNS_MAX];
    struct binrow_value v[COLUMNS_MAX];
    struct binrow_type t = {.types = types};
    struct ctx cx;
    size_t n = size > 0 ? min(data[0] % COLUMNS_MAX, size - 1) : 0;
    ctx_init(&cx, 64 << 20);
    for (; t.n < n; t.n++)
        ASSERT(types_parse(&cx, str_of(kinds[data[1 + t.n] % KINDS]), &types[t.n]) == 0);
    str rest = size > 0 ? str_n((const char *)data + 1 + n, size - 1 - n) : STR_LIT("");
    int rc = binrow_read(&cx, &t, rest, v);
    ASSERT(rc == 0 || (rc == E_CORRUPT && cx.err.msg[0]));
    if (rc == 0)
        check_row(&cx, &t, v, rest.len);
    for (size_t i = 0; i < t.n && i < 3; i++)
        check_text(&cx, types[i], rest);
    str name = STR_LIT("k"), text;
    IGNORE(partition_path_split(&cx, rest, &name, 1, &text));
    ctx_done(&cx);
    return 0;
}
