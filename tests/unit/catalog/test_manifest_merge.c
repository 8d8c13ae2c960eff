/* test_manifest_merge.c - manifests that become fewer: what is live and what all come to are the same
 * before and after, in random lives, in tables of three clients, and when something fails.
 *
 * PROP_SEED=n runs that one life, PROP_LIVES=n so many random ones; LATCH_TABLES=dir takes the tables
 * that lie one or two folders below dir as well. */
#include "catalog/manifest_merge.h"
#include "tests/unit/catalog/state_fixture.h"
#include "tests/unit/catalog/fault_io.h"
#include "tests/unit/catalog/table_fixture.h"

#include "proto/base/mem.h"

static struct meta_write_opts opts;
static struct merge_opts rules;
static struct meta_writer writer;

static void begin_writer(void)
{
    opts = (struct meta_write_opts){
        .dir = dir, .partition = &INT_ROW, .codec = CODEC_NULL, .level = 1, .target_size = 8 << 20};
    rules = (struct merge_opts){.min_count = 30, .full_size = 16 << 20, .max_bytes = 1 << 20};
    meta_write_begin(&writer, &opts);
}

static int begin(void **state)
{
    setup(state);
    state_opts.partition = &INT_ROW;
    state_opts.row_ids = false;
    begin_writer();
    return 0;
}
#define M(fn) cmocka_unit_test_setup_teardown(fn, begin, teardown)

static struct manifest_entry file_of(int kind, int64_t part, int no)
{
    return entry_of(kind, int_row(part), no % 3, 0, text("data-%05d.parquet", no));
}

/* One manifest of n entries as Latch writes it. */
static struct manifest_file made(const struct manifest_entry *e, size_t n)
{
    struct manifest_file *m;
    size_t n_m;
    int64_t target = opts.target_size;
    opts.target_size = META_TARGET_MAX;
    OK(meta_write_manifests(&cx, &writer, e, n, &m, &n_m));
    assert_int_equal(n_m, 1);
    opts.target_size = target;
    return *m;
}

static struct manifest_file one(int kind, int64_t part, int no)
{
    struct manifest_entry e = file_of(kind, part, no);
    return made(&e, 1);
}

static struct lists merged(struct lists l)
{
    struct lists out = {0};
    OK(manifest_merge(&cx, &writer, &rules, l.v, l.n, &out.v, &out.n));
    return out;
}

static struct manifest_entry *entries_of(const struct manifest_file *m, size_t *ret_n)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct manifest_entry *e;
    OK(meta_read(&cx, &dir, m->name, (struct opt_i64){true, m->size}, &b));
    OK(manifest_read(&cx, str_dup(&cx.arena, buf_str(&b)), m->name, &e, ret_n));
    return e;
}

static size_t files_there(void)
{
    struct io_entry *e;
    size_t n;
    OK(io_list(io, &cx, STR_LIT("t/manifest"), &e, &n));
    return n;
}

/* What two lists of manifests come to, as readers and as the checks of commits see it. */
static void same_table(struct lists a, struct lists b)
{
    struct lists none = {0};
    struct snapshot s = snapshot_of(1, a, none), t = snapshot_of(1, b, none);
    struct table_state *x = load(&s), *y = load(&t);
    struct state_info i = state_info(x), j = state_info(y);
    CLEANUP(buf_done) struct buf out = {0};
    str rest, line;
    assert_true(i.live_sum == j.live_sum && i.left_over == j.left_over);
    OK(state_diff(&cx, x, y, 10000, &out));
    rest = buf_str(&out);
    while (str_split(&rest, '\n', &line)) {
        bool expected =
            str_find(line, 'm') >= 0 &&
            (str_starts(str_cut(line, (size_t)str_find(line, ':') + 2), STR_LIT("manifests")) ||
             str_starts(str_cut(line, (size_t)str_find(line, ':') + 2),
                        STR_LIT("has the manifest")));
        if (line.len && !expected)
            fail_msg("%.*s", STR(line));
    }
    state_free(x);
    state_free(y);
}

/* --- what cancels ----------------------------------------------------------------------------- */

static void test_pairs_cancel(void **state)
{
    (void)state;
    struct manifest_file in[] = {
        one(FILE_ADD, 1, 1),    one(FILE_ADD, 1, 2),
        one(FILE_DELETE, 1, 1), one(FILE_DELETE, 9, 7), /* its ADD is elsewhere */
        one(FILE_ADD, 2, 3),
    };
    struct lists l = {in, N(in)}, out;
    out = merged(l); /* too few */
    assert_int_equal(out.n, 5);
    assert_true(str_eq(out.v[4].name, in[4].name));
    size_t before = files_there();
    rules.min_count = 5;
    out = merged(l);
    assert_int_equal(out.n, 1);
    assert_int_equal(files_there(), before + 1);
    assert_true(str_eq(writer.names[writer.n - 1], out.v->name));
    assert_int_equal(out.v->added, 2);
    assert_int_equal(out.v->deleted, 1);
    size_t n;
    struct manifest_entry *e = entries_of(out.v, &n);
    assert_true(str_eqz(e[0].file.name, "data-00002.parquet") && e[0].kind == FILE_ADD);
    assert_true(str_eqz(e[1].file.name, "data-00007.parquet") && e[1].kind == FILE_DELETE);
    assert_true(str_eqz(e[2].file.name, "data-00003.parquet"));
    same_table(l, out);
}

static void test_all_cancel(void **state)
{
    (void)state;
    struct manifest_file in[] = {one(FILE_ADD, 1, 1), one(FILE_DELETE, 1, 1)};
    rules.min_count = 1;
    struct lists out = merged((struct lists){in, 2});
    assert_int_equal(out.n, 0);
    assert_int_equal(files_there(), 2);
    out = merged((struct lists){in, 1}); /* one alone stays */
    assert_int_equal(out.n, 1);
    assert_true(str_eq(out.v->name, in->name));
    out = merged((struct lists){in, 0});
    assert_int_equal(out.n, 0);
}

/* Level, index files, row ids: what makes it another file. */
static void test_identity(void **state)
{
    (void)state;
    struct manifest_entry e[] = {file_of(FILE_ADD, 1, 1), file_of(FILE_DELETE, 1, 1)};
    rules.min_count = 2;
    e[0].file.first_row_id = (struct opt_i64){true, 0};
    e[1].file.first_row_id = (struct opt_i64){true, 10};
    struct manifest_file in[] = {made(&e[0], 1), made(&e[1], 1)};
    assert_int_equal(merged((struct lists){in, 2}).n, 0);
    rules.row_ids = true;
    assert_int_equal(merged((struct lists){in, 2}).n, 1);
    rules.row_ids = false;
    e[1].file.level = 5;
    in[1] = made(&e[1], 1);
    assert_int_equal(merged((struct lists){in, 2}).n, 1);
}

/* Two clients, two encodings of one null. */
static void test_partitions_by_value(void **state)
{
    (void)state;
    static const struct data_type type = {
        .kind = TYPE_DECIMAL, .nullable = true, .precision = 30, .scale = 5};
    static const struct data_type *const types[] = {&type};
    static const struct binrow_type row = {types, 1};
    struct binrow_value null = {.tag = BV_NULL};
    struct buf java = {0}, python = {0};
    struct manifest_entry e[] = {file_of(FILE_ADD, 1, 1), file_of(FILE_DELETE, 1, 1)};
    buf_add(&java, "\0\0\0\1", 4);
    buf_add(&python, "\0\0\0\1", 4);
    binrow_write_image(&java, &row, &null, BINROW_JAVA);
    binrow_write_image(&python, &row, &null, BINROW_PYTHON);
    assert_false(str_eq(buf_str(&java), buf_str(&python)));
    e[0].partition = buf_str(&python);
    e[1].partition = buf_str(&java);
    opts.partition = &row;
    rules.min_count = 2;
    struct manifest_file in[] = {made(&e[0], 1), made(&e[1], 1)};
    assert_int_equal(merged((struct lists){in, 2}).n, 0);
    in[1] = made(&e[0], 1); /* an ADD is written as it came */
    e[1].kind = FILE_ADD;
    e[1].file.name = STR_LIT("other");
    in[0] = made(&e[1], 1);
    struct lists out = merged((struct lists){in, 2});
    size_t n;
    struct manifest_entry *back = entries_of(out.v, &n);
    assert_int_equal(n, 2);
    assert_true(str_eq(back[0].partition, buf_str(&java)));
    assert_true(str_eq(back[1].partition, buf_str(&python)));
    buf_done(&java);
    buf_done(&python);
}

/* What Paimon's writers never make is not touched. */
static void test_odd_ones_stay(void **state)
{
    (void)state;
    struct manifest_file again[] = {one(FILE_DELETE, 1, 1), one(FILE_ADD, 1, 1)},
                         twice[] = {one(FILE_ADD, 1, 1), one(FILE_ADD, 1, 1),
                                    one(FILE_DELETE, 1, 1)},
                         gone[] = {one(FILE_ADD, 1, 1), one(FILE_DELETE, 1, 1),
                                   one(FILE_DELETE, 1, 1)};
    size_t before = files_there(), names = writer.n;
    for (int full = 0; full < 2; full++) {
        struct lists out;
        rules.min_count = full ? 100 : 2;
        rules.full_size = full ? 1 : 1 << 30;
        out = merged((struct lists){again, 2});
        assert_true(out.n == 2 && str_eq(out.v[0].name, again[0].name));
        out = merged((struct lists){twice, 3});
        assert_true(out.n == 3 && str_eq(out.v[2].name, twice[2].name));
        assert_int_equal(files_there(), before);
        assert_int_equal(writer.n, names);
        out = merged((struct lists){gone, 3}); /* the second DELETE is still there */
        assert_int_equal(out.n, 1);
        assert_true(out.v->added == 0 && out.v->deleted == 1);
        same_table((struct lists){gone, 3}, out);
        before = files_there();
        names = writer.n;
    }
}

/* --- which are merged ------------------------------------------------------------------------- */

static void test_groups(void **state)
{
    (void)state;
    struct manifest_file in[10];
    for (int i = 0; i < 10; i++)
        in[i] = one(FILE_ADD, 1, i);
    struct lists l = {in, 10}, out;
    opts.target_size = 3 * in[0].size;
    out = merged(l); /* three groups of three, one left */
    assert_int_equal(out.n, 4);
    for (int i = 0; i < 3; i++)
        assert_int_equal(out.v[i].added, 3);
    assert_true(str_eq(out.v[3].name, in[9].name));
    same_table(l, out);
    opts.target_size = 3 * in[0].size + 1; /* of four */
    out = merged(l);
    assert_int_equal(out.n, 4);
    assert_int_equal(out.v[1].added, 4);
    assert_true(str_eq(out.v[2].name, in[8].name));
    opts.target_size = in[0].size; /* none is small */
    out = merged(l);
    assert_int_equal(out.n, 10);
    opts.target_size = 1 << 20;
    rules.min_count = 11;
    assert_int_equal(merged(l).n, 10);
    rules.min_count = 10;
    assert_int_equal(merged(l).n, 1);
    rules.min_count = -5;
    assert_int_equal(merged(l).n, 1);
}

static struct manifest_file large(int64_t part, int from)
{
    struct manifest_entry e[100];
    for (int i = 0; i < 100; i++)
        e[i] = file_of(FILE_ADD, part, from + i);
    return made(e, 100);
}

static void test_full(void **state)
{
    (void)state;
    struct fault_io f = fault_io_of(io);
    struct manifest_file in[] = {large(1, 100),
                                 large(2, 200),
                                 large(3, 300),
                                 one(FILE_ADD, 1, 1),
                                 one(FILE_DELETE, 2, 205),
                                 one(FILE_DELETE, 3, 1)};
    struct lists l = {in, N(in)}, out;
    opts.dir.io = &f.io;
    opts.target_size = in[0].size;
    rules.full_size = in[3].size + in[4].size + in[5].size + 1;
    rules.min_count = 100;
    assert_int_equal(merged(l).n, 6);
    assert_int_equal(f.reads, 0);
    rules.full_size--;
    out = merged(l);
    /* The first is no partition's of what is deleted, so it is never read. The third might be, and is
     * not; the DELETE of what is nowhere stays. */
    assert_int_equal(f.reads, 2 + 2 + 4);
    assert_int_equal(out.n, 3);
    assert_true(str_eq(out.v[0].name, in[0].name));
    assert_true(str_eq(out.v[1].name, in[2].name));
    assert_int_equal(out.v[2].added, 100);
    assert_int_equal(out.v[2].deleted, 1);
    same_table(l, out);
    /* Statistics that are none do not hide a manifest. */
    in[1].partition_stats.min = in[1].partition_stats.max = EMPTY_ROW;
    struct lists again = merged(l);
    assert_int_equal(again.n, 3);
    same_table(out, again);
}

static void test_full_of_one_is_none(void **state)
{
    (void)state;
    struct manifest_file in[] = {large(1, 100), large(1, 200), one(FILE_ADD, 1, 1)};
    opts.target_size = in[0].size;
    rules.full_size = 1;
    size_t before = files_there();
    struct lists out = merged((struct lists){in, 3});
    assert_int_equal(out.n, 3);
    assert_int_equal(files_there(), before);
    rules.full_size = INT64_MAX;
    in[0].size = in[1].size =
        INT64_MAX; /* no sum of sizes overflows; they are alone in their groups */
    assert_int_equal(merged((struct lists){in, 3}).n, 3);
}

static void test_bounded(void **state)
{
    (void)state;
    struct manifest_entry e[200];
    for (int i = 0; i < 200; i++)
        e[i] = file_of(FILE_DELETE, 1, i);
    struct manifest_file in[] = {made(e, 100), made(e + 100, 100)}, lies[] = {in[0], in[1]};
    struct lists l = {in, 2};
    rules.min_count = 2;
    rules.max_bytes = 100 * 64;
    struct lists out = merged(l);
    assert_int_equal(out.n, 2);
    rules.full_size = 1;
    assert_int_equal(merged(l).n, 2);
    rules.max_bytes = 1 << 20;
    assert_int_equal(merged(l).n, 1);
    rules.max_bytes = 60 * 48; /* the list says less than there is: bounded, then found out */
    lies[0].deleted = lies[1].deleted = 1;
    assert_int_equal(merged((struct lists){lies, 2}).n, 2);
    rules.max_bytes = 1 << 20;
    refused_with(manifest_merge(&cx, &writer, &rules, lies, 2, &out.v, &out.n), E_CORRUPT,
                 "its list says");
}

static void test_options(void **state)
{
    (void)state;
    struct kv_list none = {0};
    OK(merge_options(&cx, &none, &rules));
    assert_int_equal(rules.min_count, 30);
    assert_int_equal(rules.full_size, 16 << 20);
    const struct kv some[] = {{STR_LIT("manifest.full-compaction-threshold-size"), STR_LIT("1 mb")},
                              {STR_LIT("manifest.merge-min-count"), STR_LIT("4")}};
    OK(merge_options(&cx, &(struct kv_list){some, 2}, &rules));
    assert_int_equal(rules.min_count, 4);
    assert_int_equal(rules.full_size, 1 << 20);
    const struct kv zero[] = {{STR_LIT("manifest.full-compaction-threshold-size"), STR_LIT("0")}};
    refused_with(merge_options(&cx, &(struct kv_list){zero, 1}, &rules), E_INVAL,
                 "manifest.full-compaction-threshold-size");
    assert_int_equal(rules.min_count, 4);
}

static struct manifest_file sized(int64_t size)
{
    return (struct manifest_file){.name = STR_LIT("m"), .size = size};
}

static bool due(const struct manifest_file *m, size_t n)
{
    return manifest_merge_due(&rules, 1000, m, n);
}

static void test_due(void **state)
{
    (void)state;
    struct manifest_file m[1200];
    for (size_t i = 0; i < N(m); i++)
        m[i] = sized(10);
    assert_false(due(m, 29));
    assert_true(due(m, 30));
    for (size_t i = 0; i < N(m); i++)
        m[i] = sized(999); /* small, but two of them make two */
    assert_false(due(m, 400));
    assert_false(due(m, 1200));
    for (size_t i = 0; i < N(m); i++)
        m[i] = sized(i % 2 ? 1000 : 300); /* what is left of a merge */
    assert_false(due(m, 1200));
    for (size_t i = 0; i < N(m); i++)
        m[i] = sized(1000);
    assert_false(due(m, 1200));
    for (size_t i = 0; i < 40; i++)
        m[600 + i] = sized(20);
    assert_true(due(m, 1200));
    assert_true(due(m, 640));
    rules.min_count = 100; /* as the table wants it */
    assert_false(due(m, 640));
    for (size_t i = 0; i < N(m); i++)
        m[i] = sized(INT64_MAX);
    assert_false(due(m, 1200));
}

/* --- random lives ----------------------------------------------------------------------------- */

static uint64_t rng;

static unsigned any(unsigned n) /* 0..n-1 */
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (unsigned)(rng >> 20) % n;
}

static bool chance(unsigned percent)
{
    return any(100) < percent;
}

struct life {
    struct manifest_entry live[20000]; /* ADDs; kind FILE_DELETE: gone */
    size_t n;
    struct lists head;
};

static void step(struct life *l)
{
    struct manifest_entry e[3000];
    size_t n = 0;
    for (unsigned k = any(6); k-- > 0 && l->n;) {
        struct manifest_entry *old = &l->live[any((unsigned)l->n)];
        if (old->kind == FILE_DELETE && !chance(2)) /* rarely: deleted twice */
            continue;
        e[n] = *old;
        e[n++].kind = old->kind = FILE_DELETE;
        if (chance(10) && old->file.level < 5) { /* up */
            old->kind = FILE_ADD;
            old->file.level++;
            e[n++] = *old;
        }
    }
    unsigned adds = chance(3) ? 1000 + any(1200) : any(8);
    if (l->n + adds >= N(l->live))
        adds = 0;
    for (unsigned i = 0; i < adds; i++) {
        struct manifest_entry a = file_of(FILE_ADD, any(5), serial++);
        a.file.level = (int32_t)any(3);
        if (chance(5))
            a.file.embedded_index = STR_LIT("index");
        e[n++] = l->live[l->n++] = a;
    }
    if (chance(1)) /* of what never was */
        e[n++] = file_of(FILE_DELETE, any(5), serial++);
    if (n == 0)
        return;
    size_t cut = n > 1 && chance(20) ? 1 + any((unsigned)n - 1) : n;
    struct manifest_file m[2] = {made(e, cut)};
    if (cut < n)
        m[1] = made(e + cut, n - cut);
    l->head = lists_with(l->head, m, cut < n ? 2 : 1);
}

static void merge_step(struct life *l, size_t *saved)
{
    opts.codec = chance(50) ? CODEC_NULL : CODEC_ZSTANDARD;
    opts.target_size = 1 + any(chance(50) ? 20000 : 400000);
    rules.min_count = 1 + any(40);
    rules.full_size = chance(40) ? 1 + any(200000) : INT64_MAX;
    rules.max_bytes = chance(90) ? 1 << 20 : any(20000);
    struct lists out = merged(l->head);
    same_table(l->head, out);
    *saved += l->head.n > out.n ? l->head.n - out.n : 0;
    if (chance(80))
        l->head = out;
}

static void one_life(uint64_t seed)
{
    void *none = NULL;
    size_t saved = 0;
    begin(&none);
    struct life *l = mem_zalloc(sizeof *l);
    print_message("PROP_SEED=%llu\n", (unsigned long long)seed);
    rng = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 150; i++) {
        step(l);
        if (chance(10))
            merge_step(l, &saved);
    }
    assert_true(saved > 0);
    mem_free(l);
    teardown(&none);
}

static void test_lives(void **state)
{
    (void)state;
    const char *seed = getenv("PROP_SEED"), *many = getenv("PROP_LIVES");
    int64_t n = 0;
    if (seed && str_to_i64(str_of(seed), &n)) {
        one_life((uint64_t)n);
        return;
    }
    if (many && str_to_i64(str_of(many), &n)) {
        while (n-- > 0)
            one_life(rand_u64() >> 20);
        return;
    }
    for (uint64_t s = 1; s <= 5; s++)
        one_life(s);
    one_life(rand_u64() >> 20);
}

/* --- tables of others ------------------------------------------------------------------------- */

static struct lists lists_of(const struct snapshot *s)
{
    struct manifest_file *base, *delta;
    size_t n, m;
    OK(meta_list(&cx, &dir, s->base_manifest_list, s->base_size, &base, &n));
    OK(meta_list(&cx, &dir, s->delta_manifest_list, s->delta_size, &delta, &m));
    return lists_with(lists_with((struct lists){0}, base, n), delta, m);
}

static int n_snapshots, n_tables, n_fewer;

static void one_table(const char *table)
{
    void *none = NULL;
    struct snapshot s;
    const str *names;
    begin(&none);
    copy_manifests(table);
    struct binrow_type row = partition_of(table, &state_opts.row_ids, &names);
    opts.partition = state_opts.partition = &row;
    rules.row_ids = state_opts.row_ids;
    for (int64_t id = 1; id < 100; id++) {
        if (!snapshot_at(table, id, &s))
            continue;
        struct lists l = lists_of(&s), out;
        rules.min_count = 1;
        rules.full_size = INT64_MAX;
        out = merged(l);
        assert_int_equal(out.n, 1);
        same_table(l, out);
        n_fewer += out.n < l.n;
        rules.full_size = 1;
        rules.min_count = 1000;
        out = merged(l);
        same_table(l, out);
        for (size_t i = 0; i < out.n; i++)
            assert_true(l.n == 1 || out.v[i].deleted == 0);
        n_snapshots++;
    }
    n_tables++;
    teardown(&none);
}

static void test_tables(void **state)
{
    (void)state;
    each_table(GOLDEN "*/*/snapshot/snapshot-1", one_table);
    assert_int_equal(n_tables, 5);
    assert_int_equal(n_snapshots, 25);
    assert_true(n_fewer > 15);
    each_other_table(one_table);
}

/* --- failures --------------------------------------------------------------------------------- */

/* A life in which both kinds of merge have something to do. */
static struct lists busy(void)
{
    struct lists l = {0};
    struct manifest_file m = large(1, 1000);
    l = lists_with(l, &m, 1);
    for (int i = 0; i < 12; i++) {
        m = i % 3 ? one(FILE_ADD, 1, i) : one(FILE_DELETE, 1, 1000 + i);
        l = lists_with(l, &m, 1);
    }
    opts.target_size = 3 * m.size;
    rules.min_count = 2;
    return l;
}

static void test_failures_leave_nothing(void **state)
{
    (void)state;
    struct fault_io f = fault_io_of(io);
    struct lists l = busy(), out;
    size_t before = files_there(), names = writer.n;
    int failed = 0;
    opts.dir.io = &f.io;
    for (int full = 0; full < 2; full++)
        for (int kind = 0; kind < 3; kind++)
            for (int at = 1; at < 100; at++) {
                f.read_in = kind == 0 ? at : 0;
                f.write_in = kind == 0 ? 0 : at;
                f.after = kind == 2;
                rules.full_size = full ? 1 : INT64_MAX;
                int rc = manifest_merge(&cx, &writer, &rules, l.v, l.n, &out.v, &out.n);
                bool done = f.read_in > 0 || f.write_in > 0;
                assert_int_equal(rc, done ? 0 : E_IO);
                if (done)
                    meta_write_undo(&writer, names);
                assert_int_equal(files_there(), before);
                assert_int_equal(writer.n, names);
                ctx_reset_err(&cx);
                failed += !done;
                if (done)
                    break;
            }
    assert_true(failed > 20);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct lists l = busy(), out;
    size_t before = files_there(), names = writer.n;
    for (int full = 0; full < 2; full++) {
        bool done = false;
        rules.full_size = full ? 1 : INT64_MAX;
        for (long n = 1; n < 5000 && !done; n++) {
            mem_fail_at(n, 0);
            int rc = manifest_merge(&cx, &writer, &rules, l.v, l.n, &out.v, &out.n);
            mem_fail_at(0, 0);
            if (rc != 0 && rc != E_NOMEM && rc != E_TOOBIG && rc != E_IO)
                fail_msg("allocation %ld: %s %s", n, err_name(rc), cx.err.msg);
            done = rc == 0 && n > 100;
            if (rc == 0) {
                size_t now = files_there();
                same_table(l, out);
                before += files_there() - now; /* its lists */
                meta_write_undo(&writer, names);
            }
            assert_int_equal(files_there(), before);
            assert_int_equal(writer.n, names);
            ctx_reset_err(&cx);
        }
        assert_true(done);
    }
}

static void test_missing(void **state)
{
    (void)state;
    struct lists l = busy(), out;
    OK(io_del(io, &cx, layout_manifest(&cx.arena, DIR, l.v[9].name)));
    size_t before = files_there();
    for (int full = 0; full < 2; full++) {
        rules.full_size = full ? 1 : INT64_MAX;
        refused_with(manifest_merge(&cx, &writer, &rules, l.v, l.n, &out.v, &out.n), E_CORRUPT,
                     "does not exist");
        assert_int_equal(files_there(), before);
    }
    cx.deadline_ms = 1;
    rules.full_size = INT64_MAX;
    refused_with(manifest_merge(&cx, &writer, &rules, l.v, l.n, &out.v, &out.n), E_TIMEOUT, "");
    cx.deadline_ms = 0;
    assert_int_equal(files_there(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        M(test_pairs_cancel),
        M(test_all_cancel),
        M(test_identity),
        M(test_partitions_by_value),
        M(test_odd_ones_stay),
        M(test_groups),
        M(test_full),
        M(test_full_of_one_is_none),
        M(test_bounded),
        M(test_options),
        M(test_due),
        M(test_failures_leave_nothing),
        M(test_no_memory),
        M(test_missing),
        cmocka_unit_test(test_lives),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
