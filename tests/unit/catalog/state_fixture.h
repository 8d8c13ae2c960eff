/* state_fixture.h - writes the metadata of made-up commits into memory, with manifest/'s own writers, so
 * that states can be loaded and moved forward. Included once by each test program. */
#ifndef LATCH_TESTS_UNIT_CATALOG_STATE_FIXTURE_H
#define LATCH_TESTS_UNIT_CATALOG_STATE_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "catalog/commit_facts.h"
#include "catalog/table_state.h"
#include "manifest/layout.h"

#define UNUSED_FN __attribute__((unused))
#define N(a)      (sizeof(a) / sizeof((a)[0]))
#define T(fn)     cmocka_unit_test_setup_teardown(fn, setup, teardown)
#define EMPTY_ROW str_n("\0\0\0\0\0\0\0\0\0\0\0\0", 12)
#define DIR       STR_LIT("t")

static struct ctx cx;
static struct io *io;
static struct meta_dir dir;
static int serial; /* of names */

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, (size_t)1 << 30);
    assert_int_equal(io_mem_new(&cx, &io), 0);
    assert_int_equal(io_mkdirs(io, &cx, STR_LIT("t/manifest")), 0);
    dir = (struct meta_dir){io, DIR};
    serial = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    io_free(io);
    ctx_done(&cx);
    return 0;
}

static UNUSED_FN str text(const char *fmt, ...)
{
    char b[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(b, sizeof b, fmt, ap);
    va_end(ap);
    str s = str_dup(&cx.arena, str_of(b));
    assert_non_null(s.p);
    return s;
}

#define OK(expr)                                                                                   \
    do {                                                                                           \
        int ok_rc_ = (expr);                                                                       \
        if (ok_rc_ != 0)                                                                           \
            fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, err_name(ok_rc_), cx.err.msg);           \
    } while (0)

static UNUSED_FN void refused_with(int rc, int code, const char *because)
{
    if (rc != code || !strstr(cx.err.msg, because))
        fail_msg("%s: %s; wanted %s: ..%s..", err_name(rc), cx.err.msg, err_name(code), because);
    ctx_reset_err(&cx);
}

/* --- rows ------------------------------------------------------------------------------------- */

static const struct data_type int_type = {.kind = TYPE_INT, .nullable = true};
static const struct data_type *const one_int[] = {&int_type};
static const struct binrow_type INT_ROW = {one_int, 1};

static UNUSED_FN str int_row(int64_t v)
{
    struct buf b = {0};
    struct binrow_value value = {.tag = BV_INT, .i = v};
    binrow_write(&b, &INT_ROW, &value);
    str s = str_dup(&cx.arena, buf_str(&b));
    buf_done(&b);
    return s;
}

static UNUSED_FN struct manifest_entry entry_of(int kind, str partition, int32_t bucket,
                                                int32_t level, str name)
{
    return (struct manifest_entry){
        .kind = kind,
        .partition = partition,
        .bucket = bucket,
        .total_buckets = 4,
        .file = {.name = name,
                 .size = 1000,
                 .row_count = 10,
                 .min_key = int_row(1),
                 .max_key = int_row(9),
                 .min_seq = 1,
                 .max_seq = 10,
                 .level = level,
                 .key_stats = {EMPTY_ROW, EMPTY_ROW, {0}},
                 .value_stats = {EMPTY_ROW, EMPTY_ROW, {0}},
                 .extra_files = {.has = true, .items = {"", 0}},
                 .delete_row_count = {true, 0},
                 .source = {true, FILE_FROM_APPEND},
                 .creation_ms = {true, 1700000000000},
                 .embedded_index = STR_NONE,
                 .external_path = STR_NONE},
    };
}

/* --- files ------------------------------------------------------------------------------------ */

static UNUSED_FN void put_file(str name, str bytes)
{
    str path = layout_manifest(&cx.arena, DIR, name);
    OK(io_write(io, &cx, path, bytes, false));
}

static UNUSED_FN struct manifest_file put_manifest(const struct manifest_entry *e, size_t n)
{
    struct manifest_writer w;
    struct manifest_file meta;
    str bytes;
    OK(manifest_write_open(&cx, &w, CODEC_ZSTANDARD, 1));
    for (size_t i = 0; i < n; i++)
        OK(manifest_write_add(&cx, &w, &e[i]));
    OK(manifest_write_end(&cx, &w, &bytes, &meta));
    meta.name = text("manifest-%d", serial++);
    meta.partition_stats = (struct raw_stats){EMPTY_ROW, EMPTY_ROW, {0}};
    put_file(meta.name, bytes);
    manifest_write_done(&w);
    return meta;
}

static UNUSED_FN str put_list(const struct manifest_file *m, size_t n, struct opt_i64 *ret_size)
{
    struct buf b = {0};
    str name = text("manifest-list-%d", serial++);
    OK(manifest_list_write(&cx, m, n, CODEC_ZSTANDARD, 1, &b));
    put_file(name, buf_str(&b));
    *ret_size = (struct opt_i64){true, (int64_t)b.len};
    buf_done(&b);
    return name;
}

static UNUSED_FN str put_index(const struct index_entry *e, size_t n)
{
    struct buf b = {0};
    str name = text("index-manifest-%d", serial++);
    OK(index_manifest_write(&cx, e, n, CODEC_ZSTANDARD, 1, &b));
    put_file(name, buf_str(&b));
    buf_done(&b);
    return name;
}

/* A table as its writers see it: the manifests of the head. */
struct lists {
    struct manifest_file *v;
    size_t n;
};

static UNUSED_FN struct lists lists_with(struct lists l, const struct manifest_file *m, size_t n)
{
    struct manifest_file *v = ARENA_ARRAY(&cx.arena, struct manifest_file, l.n + n + 1);
    assert_non_null(v);
    for (size_t i = 0; i < l.n; i++)
        v[i] = l.v[i];
    for (size_t i = 0; i < n; i++)
        v[l.n + i] = m[i];
    return (struct lists){v, l.n + n};
}

static UNUSED_FN struct snapshot snapshot_of(int64_t id, struct lists base, struct lists delta)
{
    struct snapshot s = {.version = 3,
                         .id = id,
                         .commit_user = text("user-%d", (int)(id % 3)),
                         .commit_identifier = id,
                         .index_manifest = STR_NONE,
                         .uuid = STR_NONE,
                         .statistics = STR_NONE,
                         .changelog_manifest_list = STR_NONE};
    s.base_manifest_list = put_list(base.v, base.n, &s.base_size);
    s.delta_manifest_list = put_list(delta.v, delta.n, &s.delta_size);
    return s;
}

/* --- states ----------------------------------------------------------------------------------- */

static UNUSED_FN struct state_opts state_opts = {.max_bytes = (size_t)1 << 30};

static UNUSED_FN struct table_state *load(const struct snapshot *s)
{
    struct table_state *st = NULL;
    OK(state_load(&cx, &dir, s, &state_opts, &st));
    return st;
}

static UNUSED_FN struct commit_facts *facts_of(const struct snapshot *s,
                                               const struct table_state *st)
{
    struct commit_facts *f = NULL;
    struct facts_opts o = {.partition = state_opts.partition,
                           .row_ids = state_opts.row_ids,
                           .max_bytes = (size_t)256 << 20,
                           .known_index = st ? index_set_name(state_index(st)) : STR_NONE};
    OK(facts_read(&cx, &dir, s, &o, &f));
    return f;
}

/* What conflict_check would ask for: the base manifests that the state does not know. */
static UNUSED_FN void read_unknown(struct commit_facts *f, const struct table_state *st)
{
    for (size_t i = 0; i < f->n_base; i++) {
        struct state_manifest m;
        if (!state_manifest(st, f->base[i].name, &m))
            OK(facts_read_base(&cx, f, &i, 1));
    }
}

static UNUSED_FN void same_state(const struct table_state *a, const struct table_state *b)
{
    struct buf out = {0};
    OK(state_diff(&cx, a, b, 10, &out));
    if (out.len || !state_equal(a, b))
        fail_msg("states differ:\n%.*s", (int)out.len, out.p);
    buf_done(&out);
}

#endif
