/* test_state_ckpt.c - checkpoints of a state: what is in them comes back, and nothing else is taken. */
#include "tests/unit/catalog/state_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include "catalog/state_ckpt.h"
#include "catalog/state_ckpt_int.h"
#include "proto/base/hash.h"
#include "proto/base/mem.h"
#include "proto/base/rand.h"

#define PART  int_row(7)
#define UUID  "0a1b2c3d-0000-4000-8000-0123456789ab"
#define EPOCH 5
#define HASH  UINT64_C(0xfedcba9876543210)

static const struct state_gone nobody = {0};

/* --- a state with all that there can be ------------------------------------------------------- */

static struct manifest_entry odd_entry(void)
{
    struct manifest_entry e = entry_of(
        FILE_ADD, int_row(-1), -2, 5, STR_LIT("data--u-" UUID "-s-1-w-" UUID "-999999999.orc.zst"));
    str extra[] = {STR_LIT("a.index"), STR_LIT("b")};
    e.file.size = INT64_MAX;
    e.file.row_count = INT64_MAX;
    e.file.min_seq = INT64_MIN;
    e.file.max_seq = INT64_MAX;
    e.file.max_key = e.file.min_key;
    e.file.schema_id = 300;
    e.file.delete_row_count = (struct opt_i64){true, 3};
    e.file.first_row_id = (struct opt_i64){true, INT64_MAX};
    e.file.source = (struct opt_i64){true, FILE_FROM_COMPACT};
    e.file.creation_ms = (struct opt_i64){true, -5};
    e.file.external_path = STR_LIT("file:/elsewhere/x");
    e.total_buckets = -2;
    OK(avro_list_of_strs(&cx, extra, 2, &e.file.extra_files));
    return e;
}

static str odd_index(void)
{
    static const struct index_dv dvs[] = {{{"f1", 2}, 1, 20, {true, 3}},
                                          {{"f2", 2}, INT32_MAX, INT32_MAX, {false, 0}}};
    struct global_index g = {.first_row = 5, .last_row = 9, .field_id = 3, .meta = STR_LIT("m")};
    struct index_entry e[] = {
        {.partition = PART, .type = STR_LIT(INDEX_TYPE_DV), .name = STR_LIT("dv"), .size = 7},
        {.partition = PART, .bucket = 3, .type = STR_LIT(INDEX_TYPE_HASH), .name = STR_LIT("hash")},
        {.partition = PART, .bucket = -1, .type = STR_LIT("btree"), .name = STR_LIT("global")},
    };
    e[0].dv = (struct index_dvs){true, 2, dvs};
    e[1].external_path = STR_LIT("file:/elsewhere/hash");
    e[2].global = &g;
    return put_index(e, N(e));
}

/* Two commits: the second deletes a file of the first, so that somebody is remembered. */
static struct table_state *odd_state(void)
{
    struct manifest_entry e[] = {entry_of(FILE_ADD, PART, 0, 0, STR_LIT("data-" UUID "-7.parquet")),
                                 entry_of(FILE_ADD, PART, 0, 0, STR_LIT("gone")),
                                 entry_of(FILE_ADD, PART, 0, 1, STR_LIT("plain")),
                                 entry_of(FILE_ADD, PART, 1, 0, STR_LIT("data-" UUID "-0.parquet")),
                                 odd_entry()};
    struct manifest_entry gone = e[1], more = entry_of(FILE_ADD, PART, 2, 0, STR_LIT("more"));
    gone.kind = FILE_DELETE;
    more.file.creation_ms = (struct opt_i64){true, 1700000000001};
    more.total_buckets = 8;
    struct manifest_entry second[] = {gone, more};
    struct manifest_file a = put_manifest(e, N(e)), b = put_manifest(second, N(second));
    struct snapshot s1 = snapshot_of(1, (struct lists){0}, (struct lists){&a, 1}),
                    s2 = snapshot_of(2, (struct lists){&a, 1}, (struct lists){&b, 1});
    s2.index_manifest = odd_index();
    s2.next_row_id = (struct opt_i64){true, 77};
    s2.total_record_count = 60;
    s2.schema_id = 4;
    struct table_state *st = load(&s1);
    struct commit_facts *f = facts_of(&s2, st);
    OK(state_apply(&cx, st, f));
    facts_free(f);
    return st;
}

static void save(const struct table_state *st, struct buf *out)
{
    buf_init(out, (size_t)1 << 30);
    OK(state_save(&cx, st, EPOCH, HASH, out));
}

static struct table_state *restore(const struct buf *b)
{
    struct table_state *st = NULL;
    struct ckpt_head h = {0};
    OK(state_restore(&cx, buf_str(b), &state_opts, &h, &st));
    assert_int_equal(h.epoch, EPOCH);
    assert_int_equal(h.text_hash, HASH);
    assert_int_equal(h.snapshot_id, state_info(st).snapshot_id);
    return st;
}

/* What state_equal leaves out. */
static void same_memories(const struct table_state *a, const struct table_state *b)
{
    struct state_cursor at;
    struct state_view v, w;
    state_all(a, &at);
    while (state_next(a, &at, &v)) {
        assert_true(state_find(b, &v.f, &w));
        assert_true(v.f.snapshot == w.f.snapshot && !v.f.user.p == !w.f.user.p);
        assert_true(str_eq(v.f.user, w.f.user));
    }
}

static void test_all_comes_back(void **state)
{
    (void)state;
    struct buf b, again;
    struct state_view v;
    struct state_gone g = nobody;
    struct table_state *st = odd_state();
    save(st, &b);
    struct table_state *back = restore(&b);
    same_state(st, back);
    same_memories(st, back);
    assert_true(state_find_gone(back, PART, 0, STR_LIT("gone"), &g));
    assert_true(g.snapshot == 2 && str_eqz(g.user, "user-2"));
    assert_false(state_find_gone(back, PART, 0, STR_LIT("plain"), &g));
    struct manifest_entry odd = odd_entry();
    assert_true(state_find_name(back, odd.partition, -2, odd.file.name, &v));
    assert_true(v.f.first_row_id.v == INT64_MAX && v.f.min_seq == INT64_MIN && v.f.level == 5);
    assert_true(avro_list_eq(&v.f.extra_files, &odd.file.extra_files));
    assert_true(str_eq(v.f.external_path, odd.file.external_path));
    assert_true(state_find_name(back, PART, 2, STR_LIT("more"), &v));
    assert_true(v.f.snapshot == 2 && str_eqz(v.f.user, "user-2"));
    struct state_info i = state_info(back);
    assert_true(i.snapshot_id == 2 && i.schema_id == 4 && i.total_records == 60);
    assert_true(i.next_row_id.has && i.next_row_id.v == 77);
    assert_true(i.files == 5 && i.manifests == 2 && i.left_over == 0);
    assert_true(str_eq(index_set_name(state_index(back)), index_set_name(state_index(st))));
    assert_true(index_set_equal(state_index(st), state_index(back)));
    assert_int_equal(index_set_vectors(state_index(back)), 2);
    struct index_vector x;
    size_t step = 0, hash_step = 0;
    assert_true(index_find_vector(state_index(back), PART, 0, STR_LIT("f2"), &step, &x));
    assert_true(x.range.offset == INT32_MAX && x.range.cardinality == -1);
    assert_non_null(index_find_hash(state_index(back), PART, 3, &hash_step));
    save(back, &again);
    assert_int_equal(again.len, b.len);
    buf_done(&again);
    buf_done(&b);
    state_free(back);
    state_free(st);
}

/* Numbers of texts that went, nobody's files, nothing at all. */
static void test_states_with_holes(void **state)
{
    (void)state;
    struct buf b;
    struct table_state *st = load(NULL);
    save(st, &b);
    struct table_state *back = restore(&b);
    same_state(st, back);
    state_free(back);
    state_free(st);
    buf_done(&b);
    enum { MANY = 20 };
    struct manifest_entry e[MANY], gone[MANY];
    for (int i = 0; i < MANY; i++)
        e[i] = entry_of(FILE_ADD, int_row(i), i % 3, 0, text("pre%d-" UUID "-1.suf%d", i, i));
    memcpy(gone, e, sizeof e);
    for (int i = 0; i < MANY; i++)
        gone[i].kind = FILE_DELETE;
    struct manifest_file a = put_manifest(e, MANY), d = put_manifest(gone + 1, MANY - 2);
    struct snapshot s1 = snapshot_of(1, (struct lists){0}, (struct lists){&a, 1}),
                    s2 = snapshot_of(2, (struct lists){&a, 1}, (struct lists){&d, 1});
    st = load(&s1);
    struct commit_facts *f = facts_of(&s2, st);
    OK(state_apply(&cx, st, f));
    facts_free(f);
    save(st, &b);
    back = restore(&b);
    same_state(st, back);
    same_memories(st, back);
    assert_int_equal(state_info(back).files, 2);
    assert_int_equal(state_info(back).partitions, 2);
    buf_done(&b);
    state_free(back);
    state_free(st);
}

/* With less to remember now, the newest are. */
static void test_fewer_are_remembered(void **state)
{
    (void)state;
    struct buf b;
    struct state_gone g;
    enum { MANY = 10 };
    struct manifest_entry e[MANY], gone[MANY];
    for (int i = 0; i < MANY; i++) {
        gone[i] = e[i] = entry_of(FILE_ADD, PART, 0, 0, text("f%d", i));
        gone[i].kind = FILE_DELETE;
    }
    struct manifest_file a = put_manifest(e, MANY), d = put_manifest(gone, MANY);
    struct snapshot s1 = snapshot_of(1, (struct lists){0}, (struct lists){&a, 1}),
                    s2 = snapshot_of(2, (struct lists){&a, 1}, (struct lists){&d, 1});
    struct table_state *st = load(&s1);
    struct commit_facts *f = facts_of(&s2, st);
    OK(state_apply(&cx, st, f));
    facts_free(f);
    save(st, &b);
    size_t usual = state_opts.gone_max;
    state_opts.gone_max = 3;
    struct table_state *back = restore(&b);
    assert_true(state_find_gone(back, PART, 0, STR_LIT("f9"), &g));
    assert_true(state_find_gone(back, PART, 0, STR_LIT("f7"), &g));
    assert_false(state_find_gone(back, PART, 0, STR_LIT("f6"), &g));
    state_free(back);
    state_opts.gone_max = 0;
    back = restore(&b);
    assert_false(state_find_gone(back, PART, 0, STR_LIT("f9"), &g));
    same_state(st, back);
    state_free(back);
    state_opts.gone_max = usual;
    state_free(st);
    buf_done(&b);
}

static void test_newest_and_size(void **state)
{
    (void)state;
    struct table_state *st = load(NULL);
    assert_false(state_newest_ms(st).has);
    assert_int_equal(state_info(st).size_bytes, 0);
    state_free(st);
    struct manifest_entry e[] = {entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")),
                                 entry_of(FILE_ADD, PART, 1, 0, STR_LIT("b")),
                                 entry_of(FILE_ADD, PART, 2, 0, STR_LIT("c"))};
    e[0].file.creation_ms.has = false;
    e[1].file.creation_ms.v = -9;
    e[2].file.creation_ms.v = -7;
    e[2].file.size = 23;
    struct manifest_file m = put_manifest(e, 3);
    struct snapshot s = snapshot_of(1, (struct lists){0}, (struct lists){&m, 1});
    st = load(&s);
    assert_true(state_newest_ms(st).has && state_newest_ms(st).v == -7);
    assert_int_equal(state_info(st).size_bytes, 2023);
    state_free(st);
    st = odd_state();
    assert_true(state_newest_ms(st).v == 1700000000001);
    state_free(st);
}

/* --- damage ----------------------------------------------------------------------------------- */

static void not_taken(str bytes, int code, const char *because)
{
    struct table_state *st = NULL;
    struct ckpt_head h;
    refused_with(state_restore(&cx, bytes, &state_opts, &h, &st), code, because);
    assert_null(st);
}

static void test_any_flip_is_seen(void **state)
{
    (void)state;
    struct buf b;
    struct table_state *st = odd_state();
    save(st, &b);
    for (size_t i = 0; i < b.len * 8; i++) {
        b.p[i / 8] = (char)(b.p[i / 8] ^ 1 << i % 8);
        not_taken(buf_str(&b), E_CORRUPT, "it");
        b.p[i / 8] = (char)(b.p[i / 8] ^ 1 << i % 8);
    }
    for (size_t n = 0; n < b.len; n++)
        not_taken(str_n(b.p, n), E_CORRUPT, "it");
    buf_addc(&b, 0);
    not_taken(buf_str(&b), E_CORRUPT, "not those that were written");
    b.len--;
    state_free(restore(&b));
    buf_done(&b);
    state_free(st);
}

/* A file that was made to look whole, each byte in turn another: refused, or a state that works. */
static void test_what_the_hash_lets_through(void **state)
{
    (void)state;
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    struct buf b;
    struct table_state *st = odd_state();
    size_t refused = 0, taken = 0;
    save(st, &b);
    for (size_t i = CKPT_CHECKED; i < b.len; i++)
        for (size_t k = 0; k <= N(values); k++) {
            struct table_state *back = NULL;
            struct ckpt_head h;
            char was = b.p[i];
            b.p[i] = k < N(values) ? (char)values[k] : (char)(was + 1);
            ckpt_seal(b.p, b.len);
            int rc = state_restore(&cx, buf_str(&b), &state_opts, &h, &back);
            if (rc != 0 && rc != E_CORRUPT && rc != E_TOOBIG)
                fail_msg("byte %zu: %s %s", i, err_name(rc), cx.err.msg);
            refused += rc < 0;
            taken += rc == 0;
            ctx_reset_err(&cx);
            state_free(back);
            b.p[i] = was;
        }
    assert_true(refused > 500 && taken > 500);
    for (size_t n = sizeof(struct ckpt_fixed); n < b.len; n++) {
        struct buf part;
        buf_init(&part, b.len);
        buf_add(&part, b.p, n);
        ckpt_seal(part.p, n);
        not_taken(buf_str(&part), E_CORRUPT, "");
        buf_done(&part);
    }
    buf_done(&b);
    state_free(st);
}

static struct ckpt_fixed *fixed_of(struct buf *b)
{
    return (struct ckpt_fixed *)(void *)b->p;
}

static void test_heads(void **state)
{
    (void)state;
    struct buf b;
    struct table_state *st = odd_state();
    struct ckpt_head h;
    save(st, &b);
    struct ckpt_fixed was = *fixed_of(&b);
    struct {
        uint64_t *at;
        const char *because;
    } counts[] = {{&fixed_of(&b)->files, "not those that it counts"},
                  {&fixed_of(&b)->rows, "not those that it counts"},
                  {&fixed_of(&b)->size, "not those that it counts"},
                  {&fixed_of(&b)->live_sum, "not those that it counts"},
                  {&fixed_of(&b)->opts, "other partition columns"}};
    for (size_t i = 0; i < N(counts); i++) {
        ++*counts[i].at;
        ckpt_seal(b.p, b.len);
        not_taken(buf_str(&b), E_CORRUPT, counts[i].because);
        *fixed_of(&b) = was;
    }
    fixed_of(&b)->files = UINT64_MAX / 2;
    ckpt_seal(b.p, b.len);
    not_taken(buf_str(&b), E_CORRUPT, "fewer files than it says");
    *fixed_of(&b) = was;
    fixed_of(&b)->version++;
    not_taken(buf_str(&b), E_CORRUPT, "no checkpoint of this version");
    *fixed_of(&b) = was;
    struct state_opts o = state_opts;
    struct table_state *back = NULL;
    o.row_ids = true;
    refused_with(state_restore(&cx, buf_str(&b), &o, &h, &back), E_CORRUPT, "row ids");
    o = state_opts;
    o.partition = NULL;
    refused_with(state_restore(&cx, buf_str(&b), &o, &h, &back), E_CORRUPT, "partition columns");
    static const struct data_type big = {.kind = TYPE_BIGINT, .nullable = true};
    static const struct data_type *const one_big[] = {&big};
    static const struct binrow_type BIG_ROW = {one_big, 1};
    o.partition = &BIG_ROW;
    refused_with(state_restore(&cx, buf_str(&b), &o, &h, &back), E_CORRUPT, "partition columns");
    buf_done(&b);
    state_free(st);
}

static void test_caps(void **state)
{
    (void)state;
    struct buf b;
    struct ckpt_head h;
    struct table_state *st = odd_state(), *back = NULL;
    save(st, &b);
    size_t n = b.len;
    for (size_t max = 1; max < n; max += 37) {
        struct buf small;
        buf_init(&small, max);
        refused_with(state_save(&cx, st, 0, 0, &small), E_TOOBIG, "the checkpoint of 5 live files");
        buf_done(&small);
    }
    struct state_opts o = state_opts;
    o.max_bytes = state_info(st).bytes - 3000;
    refused_with(state_restore(&cx, buf_str(&b), &o, &h, &back), E_TOOBIG, "bytes");
    buf_done(&b);
    state_free(st);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct buf b, out;
    struct ckpt_head h;
    struct table_state *st = odd_state();
    save(st, &b);
    int done = 0;
    for (long n = 1; n < 1000 && !done; n++) {
        struct table_state *back = NULL;
        buf_init(&out, (size_t)1 << 20);
        ctx_reset_err(&cx);
        mem_fail_at(n, 0);
        int rc = state_restore(&cx, buf_str(&b), &state_opts, &h, &back);
        if (rc == 0)
            rc = state_save(&cx, back, EPOCH, HASH, &out);
        mem_fail_at(0, 0);
        if (rc != 0 && rc != E_NOMEM)
            fail_msg("allocation %ld: %s %s", n, err_name(rc), cx.err.msg);
        done = rc == 0 && n > 20;
        state_free(back);
        buf_done(&out);
    }
    assert_true(done);
    buf_done(&b);
    state_free(st);
}

/* --- files ------------------------------------------------------------------------------------ */

static char folder[] = "/tmp/latch-ckpt-XXXXXX";

static str path_of(const char *name)
{
    return text("%s/%s", folder, name);
}

static void test_a_file(void **state)
{
    (void)state;
    struct buf b;
    struct ckpt_head h;
    struct table_state *st = odd_state(), *back = NULL;
    struct stat at;
    assert_non_null(mkdtemp(folder));
    str path = path_of("x.ckpt");
    refused_with(state_ckpt_read(&cx, path, &state_opts, &h, &back), E_NOTFOUND, "x.ckpt does not");
    save(st, &b);
    assert_int_equal(symlink("/nowhere", path_of("x.ckpt.tmp").p), 0); /* what a crash left */
    OK(state_ckpt_write(&cx, path, STR_LIT("an older one")));
    refused_with(state_ckpt_read(&cx, path, &state_opts, &h, &back), E_CORRUPT,
                 "x.ckpt: it is too short");
    OK(state_ckpt_write(&cx, path, buf_str(&b)));
    assert_int_equal(lstat(path.p, &at), 0);
    assert_true(S_ISREG(at.st_mode) && (at.st_mode & 07777) == 0600);
    assert_int_equal(at.st_size, b.len);
    assert_int_not_equal(lstat(path_of("x.ckpt.tmp").p, &at), 0);
    OK(state_ckpt_read(&cx, path, &state_opts, &h, &back));
    assert_true(h.epoch == EPOCH && h.text_hash == HASH && h.snapshot_id == 2);
    same_state(st, back);
    state_free(back);
    struct state_opts small = state_opts;
    small.max_bytes = b.len - 1;
    refused_with(state_ckpt_read(&cx, path, &small, &h, &back), E_TOOBIG, "x.ckpt has more than");
    refused_with(state_ckpt_write(&cx, path_of("no/x"), buf_str(&b)), E_IO, "cannot create");
    assert_int_equal(mkdir(path_of("dir").p, 0700), 0);
    refused_with(state_ckpt_write(&cx, path_of("dir"), buf_str(&b)), E_IO, "cannot rename");
    assert_int_not_equal(lstat(path_of("dir.tmp").p, &at), 0);
    refused_with(state_ckpt_read(&cx, path_of("dir"), &state_opts, &h, &back), E_CORRUPT,
                 "no file");
    assert_int_equal(symlink(path.p, path_of("link").p), 0);
    refused_with(state_ckpt_read(&cx, path_of("link"), &state_opts, &h, &back), E_CORRUPT,
                 "cannot read");
    assert_int_equal(unlink(path_of("link").p), 0);
    assert_int_equal(rmdir(path_of("dir").p), 0);
    assert_int_equal(unlink(path.p), 0);
    assert_int_equal(rmdir(folder), 0);
    buf_done(&b);
    state_free(st);
}

/* --- measured --------------------------------------------------------------------------------- */

static struct snapshot many_files(int many, int buckets)
{
    struct manifest_writer w;
    struct manifest_file m;
    str bytes;
    OK(manifest_write_open(&cx, &w, CODEC_ZSTANDARD, 1));
    for (int i = 0; i < many; i++) {
        char id[UUID_LEN + 1], name[80];
        rand_uuid(id);
        snprintf(name, sizeof name, "data-%s-%d.parquet", id, i % 10);
        struct manifest_entry e =
            entry_of(FILE_ADD, int_row(i / 50000), i % buckets, i % 6, str_of(name));
        e.file.size = 100000 + i * 37;
        e.file.min_seq = 1000000 + i;
        e.file.max_seq = 1001000 + i;
        OK(manifest_write_add(&cx, &w, &e));
    }
    OK(manifest_write_end(&cx, &w, &bytes, &m));
    m.name = text("manifest-%d", serial++);
    m.partition_stats = (struct raw_stats){EMPTY_ROW, EMPTY_ROW, {0}};
    put_file(m.name, bytes);
    manifest_write_done(&w);
    return snapshot_of(1, (struct lists){0}, (struct lists){&m, 1});
}

static int64_t cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* CKPT_FILES=1000000 in a release build gives the numbers that count. */
static void test_speed(void **state)
{
    (void)state;
    int64_t many = 100000;
    if (getenv("CKPT_FILES"))
        assert_true(str_to_i64(str_of(getenv("CKPT_FILES")), &many));
    int buckets[] = {1, 1000};
    for (size_t i = 0; i < N(buckets); i++) {
        struct buf b;
        struct snapshot s = many_files((int)many, buckets[i]);
        int64_t t0 = cpu_us();
        struct table_state *st = load(&s);
        int64_t t1 = cpu_us();
        save(st, &b);
        int64_t t2 = cpu_us();
        struct table_state *back = restore(&b);
        int64_t t3 = cpu_us();
        print_message("%lld files in %d buckets: %zu bytes each; million files a second: load "
                      "%.2f, save %.2f, restore %.2f\n",
                      (long long)many, buckets[i], b.len / (size_t)many,
                      (double)many / (double)(t1 - t0), (double)many / (double)(t2 - t1),
                      (double)many / (double)(t3 - t2));
        assert_true(b.len < state_info(st).bytes);
        same_state(st, back);
        state_free(back);
        state_free(st);
        buf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_all_comes_back),
        T(test_states_with_holes),
        T(test_fewer_are_remembered),
        T(test_newest_and_size),
        T(test_any_flip_is_seen),
        T(test_what_the_hash_lets_through),
        T(test_heads),
        T(test_caps),
        T(test_no_memory),
        T(test_a_file),
        T(test_speed),
    };
    state_opts.partition = &INT_ROW;
    state_opts.gone_max = 50;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
