/* test_restore.c - which overwrites are restores: what is looked for, what is passed over, and how a
 * commit as rollbackToAsLatest makes it is judged. */
#include "tests/unit/catalog/fixture.h"

#include "catalog/restore.h"
#include "manifest/manifest.h"
#include "proto/base/mem.h"

#define NO_ROW str_n("\0\0\0\0\0\0\0\0\0\0\0\0", 12)
#define ROWS   10 /* of every file */

static struct fx f;
static str dir;
static int serial;

static int setup(void **state)
{
    (void)state;
    fx_new(&f, FX_MEM);
    fx_table(&f, "t");
    dir = fx_dir(&f, "t");
    assert_int_equal(io_mkdirs(f.io, &f.cx, layout_manifest_dir(&f.cx.arena, dir)), 0);
    assert_int_equal(io_mkdirs(f.io, &f.cx, layout_snapshot_dir(&f.cx.arena, dir, STR_LIT("main"))),
                     0);
    assert_int_equal(io_mkdirs(f.io, &f.cx, layout_tag_dir(&f.cx.arena, dir, STR_LIT("main"))), 0);
    serial = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

#define GOOD(expr)                                                                                 \
    do {                                                                                           \
        int good_rc_ = (expr);                                                                     \
        if (good_rc_ != 0)                                                                         \
            fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, err_name(good_rc_), f.cx.err.msg);       \
    } while (0)

/* --- files of a table ------------------------------------------------------------------------- */

struct parts { /* of a snapshot: manifests */
    struct manifest_file v[64];
    size_t n;
};

/* "+a -b": adds a, deletes b. */
static struct manifest_entry r_entry(const char *word)
{
    return (struct manifest_entry){
        .kind = word[0] == '+' ? FILE_ADD : FILE_DELETE,
        .partition = NO_ROW,
        .total_buckets = 1,
        .file = {.name = str_of(word + 1),
                 .size = 100,
                 .row_count = ROWS,
                 .min_key = NO_ROW,
                 .max_key = NO_ROW,
                 .key_stats = {NO_ROW, NO_ROW, {0}},
                 .value_stats = {NO_ROW, NO_ROW, {0}},
                 .extra_files = {.has = true, .items = {"", 0}},
                 .embedded_index = STR_NONE,
                 .external_path = STR_NONE},
    };
}

static struct manifest_file r_manifest(const char *const *words, size_t n)
{
    struct manifest_writer w;
    struct manifest_file meta;
    str bytes;
    GOOD(manifest_write_open(&f.cx, &w, CODEC_ZSTANDARD, 1));
    for (size_t i = 0; i < n; i++) {
        struct manifest_entry e = r_entry(words[i]);
        GOOD(manifest_write_add(&f.cx, &w, &e));
    }
    GOOD(manifest_write_end(&f.cx, &w, &bytes, &meta));
    meta.name = fx_text(&f, "manifest-%d", serial++);
    meta.partition_stats = (struct raw_stats){NO_ROW, NO_ROW, {0}};
    fx_write(&f, layout_manifest(&f.cx.arena, dir, meta.name), bytes);
    manifest_write_done(&w);
    return meta;
}

static str r_list(const struct manifest_file *m, size_t n)
{
    struct buf b = {0};
    str name = fx_text(&f, "manifest-list-%d", serial++);
    GOOD(manifest_list_write(&f.cx, m, n, CODEC_ZSTANDARD, 1, &b));
    fx_write(&f, layout_manifest(&f.cx.arena, dir, name), buf_str(&b));
    buf_done(&b);
    return name;
}

struct made { /* a snapshot */
    struct snapshot s;
    struct parts all; /* base and delta */
    str json;
};

static struct made r_snapshot(int64_t id, const struct made *before, int64_t total,
                              const char *index, struct manifest_file delta)
{
    struct made m = {.all = before ? before->all : (struct parts){.n = 0}};
    str base = r_list(m.all.v, m.all.n), list = r_list(&delta, 1);
    m.all.v[m.all.n++] = delta;
    m.json = fx_text(&f,
                     "{\"version\":3,\"id\":%lld,\"schemaId\":0,\"baseManifestList\":\"%.*s\","
                     "\"deltaManifestList\":\"%.*s\",%s%s%s\"commitUser\":\"u\","
                     "\"commitIdentifier\":1,\"commitKind\":\"OVERWRITE\",\"timeMillis\":1,"
                     "\"totalRecordCount\":%lld,\"deltaRecordCount\":0}",
                     (long long)id, STR(base), STR(list), index ? "\"indexManifest\":\"" : "",
                     index ? index : "", index ? "\"," : "", (long long)total);
    GOOD(snapshot_decode_file(&f.cx, m.json, STR_LIT("test"), &m.s));
    return m;
}
#define MANIFEST(...)                                                                              \
    r_manifest((const char *const[]){__VA_ARGS__},                                                 \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void keep(const struct made *m)
{
    fx_write(&f, fx_snapshot_path(&f, "t", m->s.id), m->json);
}

static void tag(const struct made *m, const char *name)
{
    fx_write(&f, fx_tag_path(&f, "t", name), m->json);
}

static uint64_t id_of(const char *name)
{
    struct table_filer filer;
    struct table_file t;
    struct manifest_entry e = r_entry(fx_text(&f, "+%s", name).p);
    GOOD(table_filer_init(&f.cx, &filer, NULL, false));
    GOOD(table_file_of(&f.cx, &filer, &e, &t));
    table_filer_done(&filer);
    return t.id;
}

static struct commit_facts *r_facts(const struct made *m)
{
    struct commit_facts *facts = NULL;
    struct meta_dir d = {&f.bio, dir};
    struct facts_opts o = {.max_bytes = 1 << 24, .known_index = m->s.index_manifest};
    GOOD(facts_read(&f.cx, &d, &m->s, &o, &facts));
    assert_false(facts->bad.p);
    return facts;
}

/* In a context of its own, as a request has it; sums go to the test's. */
static int gather(const struct made *m, struct restore_sums *ret)
{
    struct ctx cx;
    struct branch *br;
    struct commit_facts *facts = r_facts(m);
    fx_begin(&cx);
    int rc = cat_branch_open(&cx, f.cat, f.w, S("d"), S("t"), &br);
    if (rc == 0) {
        rc = restore_gather(&cx, br, facts, ret);
        branch_unref(br);
    }
    if (rc == 0) {
        uint64_t *v = ARENA_ARRAY(&f.cx.arena, uint64_t, ret->n + 1);
        if (ret->n)
            memcpy(v, ret->v, ret->n * sizeof *v);
        ret->v = v;
    }
    facts_free(facts);
    return fx_end(&f, &cx, rc);
}

static struct restore_sums found(const struct made *m)
{
    struct restore_sums r = {0};
    OK(&f, gather(m, &r));
    assert_true(r.known);
    return r;
}

/* --- which are looked into -------------------------------------------------------------------- */

/* 1: a b, 2: compacted to c, 3: d with fewer rows, 4: restores what has 20 rows. */
static struct made s1, s2, s3, s4;

static void four(void)
{
    s1 = r_snapshot(1, NULL, 20, NULL, MANIFEST("+a", "+b"));
    s2 = r_snapshot(2, &s1, 20, NULL, MANIFEST("-a", "-b", "+c"));
    s3 = r_snapshot(3, &s2, 10, NULL, MANIFEST("-c", "+d"));
    s4 = r_snapshot(4, &s3, 20, NULL, MANIFEST("-d", "+c"));
}

static void test_snapshots_and_tags(void **state)
{
    (void)state;
    four();
    keep(&s1);
    keep(&s2);
    keep(&s3);
    struct restore_sums r = found(&s4);
    assert_int_equal(r.n, 2); /* newest first */
    assert_true(r.v[0] == id_of("c") && r.v[1] == id_of("a") + id_of("b"));
    tag(&s2, "again"); /* is the snapshot */
    assert_int_equal(found(&s4).n, 2);
    fx_del(&f, fx_snapshot_path(&f, "t", 1));
    assert_int_equal(found(&s4).n, 1);
    tag(&s1, "old"); /* outlives its snapshot */
    r = found(&s4);
    assert_true(r.n == 2 && r.v[1] == id_of("a") + id_of("b"));
    keep(&s4); /* is there when a commit is tried again, but is no past */
    assert_int_equal(found(&s4).n, 2);
    s4.s.commit_kind = COMMIT_APPEND; /* no restore, and nobody looks */
    int before = fx_calls(&f, IO_list);
    assert_int_equal(found(&s4).n, 0);
    assert_int_equal(fx_calls(&f, IO_list), before);
}

static void test_index_manifest_and_rows_must_be_the_same(void **state)
{
    (void)state;
    struct manifest_file m = MANIFEST("+a");
    s1 = r_snapshot(1, NULL, 20, "i1", m);
    s2 = r_snapshot(2, NULL, 20, "i2", m);
    s3 = r_snapshot(3, NULL, 30, "i2", m);
    struct made none = r_snapshot(4, NULL, 20, NULL, m);
    keep(&s1);
    keep(&s2);
    keep(&s3);
    keep(&none);
    static const struct {
        const char *index;
        int64_t rows;
        size_t n;
    } t[] = {{"i1", 20, 1}, {"i2", 20, 1}, {"i2", 30, 1}, {"i1", 30, 0},
             {NULL, 20, 1}, {NULL, 30, 0}, {"i", 20, 0}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct made c = r_snapshot(5, NULL, t[i].rows, t[i].index, m);
        assert_int_equal(found(&c).n, t[i].n);
    }
}

static void test_what_cannot_be_read_is_passed_over(void **state)
{
    (void)state;
    four();
    keep(&s1);
    keep(&s2);
    fx_write(&f, fx_snapshot_path(&f, "t", 3), S("{half"));
    fx_write(&f, fx_tag_path(&f, "t", "bad"), S(""));
    tag(&s3, "other");
    fx_del(&f, layout_manifest(&f.cx.arena, dir, s2.s.delta_manifest_list));
    struct restore_sums r = found(&s4);
    assert_true(r.n == 1 && r.v[0] == id_of("a") + id_of("b"));
    fx_write(&f, layout_manifest(&f.cx.arena, dir, s1.all.v[0].name), S("no manifest"));
    assert_int_equal(found(&s4).n, 0);
}

static void test_newest_and_no_more(void **state)
{
    (void)state;
    struct restore_sums r = {0};
    struct made m[40];
    for (int i = 0; i < 40;
         i++) { /* each snapshot adds a file, says the statistics nothing of it */
        m[i] =
            r_snapshot(i + 1, i ? &m[i - 1] : NULL, 20, NULL, MANIFEST(fx_text(&f, "+f%d", i).p));
        keep(&m[i]);
    }
    struct made c = r_snapshot(41, &m[39], 20, NULL, MANIFEST("+x"));
    found(&c); /* opens the table */
    int before = fx_calls(&f, IO_read);
    r = found(&c);
    int reads = fx_calls(&f, IO_read) - before;
    assert_int_equal(r.n, RESTORE_TARGETS_MAX);
    uint64_t sum = 0;
    for (int i = 0; i < 40; i++) {
        sum += id_of(fx_text(&f, "f%d", i).p);
        if (39 - i < (int)RESTORE_TARGETS_MAX)
            assert_true(r.v[39 - i] == sum);
    }
    /* the commit's own 3 files, 40 snapshots, two lists each of 16, 40 manifests once */
    assert_int_equal(reads, 3 + 40 + 2 * (int)RESTORE_TARGETS_MAX + 40);
}

/* --- what goes wrong -------------------------------------------------------------------------- */

static void test_failures(void **state)
{
    (void)state;
    struct restore_sums r;
    four();
    keep(&s2);
    tag(&s1, "t");
    FAIL(&f, .op = IO_read, .code = E_IO, .path = "snapshot-2");
    FAILS(&f, E_IO, RES_NONE, "fail", gather(&s4, &r));
    fx_well(&f);
    FAIL(&f, .op = IO_read, .code = E_IO, .path = "tag-t");
    FAILS(&f, E_IO, RES_NONE, "fail", gather(&s4, &r));
    fx_well(&f);
    FAIL(&f, .op = IO_list, .code = E_IO, .path = "tag");
    FAILS(&f, E_IO, RES_NONE, "fail", gather(&s4, &r));
    fx_well(&f);
    assert_int_equal(found(&s4).n, 2);
}

static void test_no_memory(void **state)
{
    (void)state;
    four();
    keep(&s2);
    tag(&s1, "t");
    struct branch *br;
    struct ctx cx;
    int done = 0;
    OK(&f, fx_branch(&f, "t", &br));
    for (long n = 1; n < 3000 && !done; n++) {
        struct restore_sums r = {0};
        struct commit_facts *facts = r_facts(&s4);
        ctx_init(&cx, 1 << 20);
        mem_fail_at(n, 0);
        int rc = restore_gather(&cx, br, facts, &r);
        mem_fail_at(0, 0);
        if (rc != 0 && rc != E_NOMEM && rc != E_IO)
            fail_msg("allocation %ld: %s %s", n, err_name(rc), cx.err.msg);
        assert_true(rc < 0 || r.n == 2);
        done = rc == 0 && n > 20;
        facts_free(facts);
        ctx_done(&cx);
    }
    assert_true(done);
    branch_unref(br);
}

/* --- judged ----------------------------------------------------------------------------------- */

static struct table_state *state_at_3(void)
{
    struct table_state *st = NULL;
    struct meta_dir d = {f.io, dir};
    struct state_opts o = {.max_bytes = 1 << 24, .gone_max = 10};
    struct commit_facts *facts = r_facts(&s3);
    GOOD(state_load(&f.cx, &d, &s2.s, &o, &st));
    GOOD(state_apply(&f.cx, st, facts));
    facts_free(facts);
    return st;
}

static struct verdict judge(const struct table_state *st, const struct made *m,
                            struct conflict_evidence *ev)
{
    struct verdict v;
    struct conflict_rules rules = {.verify = VERIFY_SIZE};
    struct commit_facts *facts = r_facts(m);
    struct file_evidence *files =
        ARENA_ARRAY(&f.cx.arena, struct file_evidence, facts->n_entries + 1);
    for (size_t i = 0; i < facts->n_entries; i++)
        files[i] = (struct file_evidence){FILE_THERE, 100, STR_NONE};
    static const enum schema_seen schemas[] = {SCHEMA_THERE};
    ev->files = files;
    ev->schemas = schemas;
    GOOD(conflict_check(&f.cx, st, facts, &rules, ev, &v));
    if (v.kind == VERDICT_NEED && v.need.n_manifests) {
        GOOD(facts_read_base(&f.cx, facts, v.need.manifests, v.need.n_manifests));
        GOOD(conflict_check(&f.cx, st, facts, &rules, ev, &v));
    }
    v.refusal.message = v.kind == VERDICT_REFUSE ? v.refusal.message : STR_NONE;
    facts_free(facts);
    return v;
}

/* As Java makes it: all that was live in one new manifest, then what differs. */
static struct made as_latest(const struct made *target, struct manifest_file delta)
{
    struct made live = {.all = {.v = {MANIFEST("+d")}, .n = 1}};
    return r_snapshot(4, &live, target->s.total_record_count, NULL, delta);
}

static void test_a_restore_is_taken(void **state)
{
    (void)state;
    four();
    keep(&s2);
    keep(&s3);
    struct table_state *st = state_at_3();
    struct conflict_evidence ev = {0};
    struct made m = as_latest(&s2, MANIFEST("-d", "+c"));
    struct verdict v = judge(st, &m, &ev);
    assert_true(v.kind == VERDICT_NEED && v.need.restore);
    ev.restore = found(&m);
    v = judge(st, &m, &ev);
    if (v.kind != VERDICT_OK)
        fail_msg("refused: %.*s", STR(v.refusal.message));
    m = as_latest(&s2, MANIFEST("-d", "+c", "+e")); /* one file more is no restore */
    v = judge(st, &m, &ev);
    assert_true(v.kind == VERDICT_REFUSE && v.refusal.code == CONFLICT_FILE_TWICE);
    fx_del(&f, fx_snapshot_path(&f, "t", 2)); /* nor what nobody keeps */
    m = as_latest(&s2, MANIFEST("-d", "+c"));
    ev.restore = found(&m);
    v = judge(st, &m, &ev);
    assert_true(v.kind == VERDICT_REFUSE && v.refusal.code == CONFLICT_FILE_TWICE);
    tag(&s2, "kept");
    ev.restore = found(&m);
    assert_int_equal(judge(st, &m, &ev).kind, VERDICT_OK);
    state_free(st);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_snapshots_and_tags),
        T(test_index_manifest_and_rows_must_be_the_same),
        T(test_what_cannot_be_read_is_passed_over),
        T(test_newest_and_no_more),
        T(test_failures),
        T(test_no_memory),
        T(test_a_restore_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
