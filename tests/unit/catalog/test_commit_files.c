/* test_commit_files.c - commits are judged by the files that they name: each of the eight codes refuses
 * what it should through commit_run and leaves nothing behind, and what is right is taken. On io_mem and
 * io_local, with a state in memory, with one that is read anew, and for a table that fits in none. */
#include "tests/unit/catalog/judge_fixture.h"

static enum mode mode;

/* --- bad commits ------------------------------------------------------------------------------ */

static struct draft written(struct draft d) /* nothing of it is written again */
{
    fx_files(&f, "t", &d);
    d.no_files = true;
    return d;
}

#define BAD(name, ...)                                                                             \
    static struct draft name(const struct draft *h)                                                \
    {                                                                                              \
        return COMMIT(h, __VA_ARGS__);                                                             \
    }
#define A file_in("p", "a")
#define C level(file_in("q", "c"), 5)

static struct fx_entry with_rows(struct fx_entry e, int64_t rows)
{
    e.rows = rows;
    return e;
}

static struct fx_entry unwritten(struct fx_entry e, const char *name)
{
    e.no_file = true;
    if (name)
        e.name = str_of(name);
    return e;
}

static struct fx_entry outside(const char *path)
{
    struct fx_entry e = unwritten(file_in("p", "far"), NULL);
    e.external = str_of(path);
    return e;
}

static struct fx_entry of_schema(int64_t id)
{
    struct fx_entry e = file_in("p", fx_text(&f, "of-%d", f.seq).p);
    e.schema_id = id;
    return e;
}

static struct fx_entry of_buckets(const char *dt, const char *name, int32_t n)
{
    struct fx_entry e = file_in(dt, fx_text(&f, "%s-%d", name, f.seq).p);
    e.buckets = n;
    return e;
}

BAD(deletes_never, "COMPACT", del(file_in("p", "never")))
BAD(deletes_elsewhere, "COMPACT", del(file_in("q", "a")))
BAD(deletes_at_old_level, "COMPACT", del(file_in("q", "c")))
BAD(deletes_twice, "COMPACT", del(A), del(A))
BAD(deletes_gone, "COMPACT", del(file_in("q", "x")))
BAD(adds_live, "APPEND", A)
BAD(adds_live_at_a_level, "APPEND", level(A, 3))
BAD(adds_twice, "APPEND", file_in("p", "m"), file_in("p", "m"))
BAD(adds_what_it_deletes, "COMPACT", del(A), A)
BAD(uses_a_name_again, "COMPACT", del(A), with_rows(level(A, 1), 3))
BAD(adds_gone, "APPEND", file_in("q", "x"))
BAD(overwrites_with_gone, "OVERWRITE", del(C), file_in("q", "x"))
BAD(file_is_missing, "APPEND", unwritten(file_in("p", "lost"), NULL))
BAD(all_are_missing, "APPEND", unwritten(file_in("r", "lost"), NULL))
BAD(path_is_outside, "APPEND", outside("file:/elsewhere/far"))
BAD(path_leads_outside, "APPEND", outside("/tmp/../elsewhere/far"))
BAD(path_of_another_kind, "APPEND", outside("s3://bucket/far"))
BAD(name_with_a_slash, "APPEND", unwritten(A, "../bucket-1/n"))
BAD(name_that_is_a_folder, "APPEND", unwritten(A, ".."))
BAD(adds_before_it_deletes, "COMPACT", level(C, 3), del(C))
BAD(schema_of_a_file, "APPEND", of_schema(7))
BAD(other_buckets, "APPEND", of_buckets("p", "w", 8))
BAD(buckets_that_differ, "APPEND", of_buckets("new", "w", 8), of_buckets("new", "v", 4))

static struct draft size_is_wrong(const struct draft *h)
{
    struct draft d = COMMIT(h, "APPEND", file_in("p", fx_text(&f, "short-%d", f.seq).p));
    const struct fx_entry *e = d.entries;
    d = written(d);
    fx_write(
        &f,
        fx_text(&f, "%.*s/%.*sbucket-0/%.*s", STR(fx_dir(&f, "t")), STR(e->folder), STR(e->name)),
        S("not 100 bytes"));
    return d;
}

static struct draft file_is_a_directory(const struct draft *h)
{
    struct fx_entry e = unwritten(file_in("p", fx_text(&f, "folder-%d", f.seq).p), NULL);
    str path =
        fx_text(&f, "%.*s/%.*sbucket-0/%.*s", STR(fx_dir(&f, "t")), STR(e.folder), STR(e.name));
    assert_int_equal(io_mkdirs(f.io, &f.cx, path), 0);
    return COMMIT(h, "APPEND", e);
}

static struct draft partition_of_another_table(const struct draft *h)
{
    struct fx_entry e = file_in("p", "odd");
    e.partition = FX_EMPTY_ROW;
    return COMMIT(h, "APPEND", e);
}

static struct draft schema_of_the_snapshot(const struct draft *h)
{
    struct draft d = good(h);
    d.schema_id = 7;
    return d;
}

static struct draft base_is_empty(const struct draft *h)
{
    struct draft d = good(h);
    d.own_base = true;
    return d;
}

static struct draft base_is_older(const struct draft *h)
{
    struct draft d = good(fx_back(h, h->id - 1));
    d.id = h->id + 1;
    memcpy(d.base_uuid, h->uuid, sizeof d.base_uuid);
    return d;
}

/* The base list that it should have, and room for one more. */
static struct draft with_bases(const struct draft *h, struct manifest_file **ret)
{
    struct draft d = good(h);
    size_t n = 0;
    for (const struct draft *p = d.prev; p; p = p->prev)
        n++;
    struct manifest_file *m = ARENA_ARRAY(&f.cx.arena, struct manifest_file, n + 1);
    assert_non_null(m);
    size_t at = n;
    for (const struct draft *p = d.prev; p; p = p->prev)
        m[--at] = p->manifest;
    d.own_base = true;
    d.bases = *ret = m;
    d.n_bases = n;
    return d;
}

static struct draft base_has_one_twice(const struct draft *h)
{
    struct manifest_file *m;
    struct draft d = with_bases(h, &m);
    m[d.n_bases++] = m[0];
    return d;
}

static struct draft base_counts_wrongly(const struct draft *h)
{
    struct manifest_file *m;
    struct draft d = with_bases(h, &m);
    m[0].added++;
    return d;
}

static struct draft base_names_what_is_not_there(const struct draft *h)
{
    struct manifest_file *m;
    struct draft d = with_bases(h, &m);
    m[d.n_bases] = m[0];
    m[d.n_bases++].name = S("manifest-nowhere");
    return d;
}

/* Everything that a snapshot may name, one of it spoilt. */
static struct draft spoilt(const struct draft *h, int which, const char *how)
{
    struct draft d = good(h);
    struct manifest_file m;
    d.index = fx_text(&f, "i-%d", d.no).p;
    d.changelog = fx_text(&f, "c-%d", d.no).p;
    assert_non_null(fx_manifest(&f, &d, &m).p);
    str paths[] = {in_manifest(str_of(d.base)), in_manifest(str_of(d.dlist)), in_manifest(m.name),
                   in_manifest(str_of(d.index)), in_manifest(str_of(d.changelog))};
    d = written(d);
    str bytes = fx_read(&f, paths[which]);
    if (!how)
        fx_del(&f, paths[which]);
    else
        fx_write(&f, paths[which], how[0] ? str_of(how) : str_n(bytes.p, bytes.len - 1));
    return d;
}
#define SPOILT(which)                                                                              \
    static struct draft missing_##which(const struct draft *h)                                     \
    {                                                                                              \
        return spoilt(h, which, NULL);                                                             \
    }                                                                                              \
    static struct draft garbage_##which(const struct draft *h)                                     \
    {                                                                                              \
        return spoilt(h, which, "Obj");                                                            \
    }                                                                                              \
    static struct draft cut_##which(const struct draft *h)                                         \
    {                                                                                              \
        return spoilt(h, which, "");                                                               \
    }
SPOILT(0) /* base list */
SPOILT(1) /* delta list */
SPOILT(2) /* its manifest */
SPOILT(3) /* index manifest */
SPOILT(4) /* changelog list */

/* An index file of this name, or elsewhere. */
static struct draft with_index_file(const struct draft *h, const char *name, const char *external)
{
    struct draft d = good(h);
    struct index_entry *x = ARENA_NEW(&f.cx.arena, struct index_entry);
    assert_non_null(x);
    *x = (struct index_entry){.kind = FILE_ADD,
                              .partition = d.entries[0].partition,
                              .type = S("HASH"),
                              .name = str_of(name),
                              .size = 8,
                              .row_count = 2,
                              .external_path = external ? str_of(external) : STR_NONE};
    d.index = fx_text(&f, "i-%d", d.no).p;
    d.index_files = x;
    d.n_index = 1;
    return d;
}

static struct draft written_but_its_index(struct draft d)
{
    struct draft without = d;
    without.n_index = 0;
    fx_files(&f, "t", &without);
    fx_write(&f, in_manifest(str_of(d.index)), index_of(&f.cx, d.index_files, d.n_index));
    d.no_files = true;
    return d;
}

static struct draft index_name_leads_outside(const struct draft *h)
{
    return written_but_its_index(with_index_file(h, "../../other/i", NULL));
}

static struct draft index_is_outside(const struct draft *h)
{
    return written_but_its_index(with_index_file(h, "i", "file:/elsewhere/i"));
}

static struct draft statistics_are_missing(const struct draft *h)
{
    struct draft d = good(h);
    d.statistics = "s-1";
    d = written(d);
    fx_del(&f, layout_statistics(&f.cx.arena, fx_dir(&f, "t"), S("s-1")));
    return d;
}

#define ALWAYS(code, part, make)                                                                   \
    {                                                                                              \
        code, part, make, false                                                                    \
    }
#define WARM_ONLY(code, part, make)                                                                \
    {                                                                                              \
        code, part, make, true                                                                     \
    }
#define SPOILT_CASES(which)                                                                        \
    {"manifest-bad", "", missing_##which}, {"manifest-bad", "", garbage_##which},                  \
    {                                                                                              \
        "manifest-bad", "", cut_##which                                                            \
    }

static const struct bad {
    const char *code, *part;
    struct draft (*make)(const struct draft *head);
    bool warm; /* only a state that went forward by it knows */
} bad[] = {
    ALWAYS("file-gone", "\"never\"", deletes_never),
    ALWAYS("file-gone", "partition dt=q", deletes_elsewhere),
    ALWAYS("file-gone", "moved it to level 5", deletes_at_old_level),
    ALWAYS("file-gone", "twice", deletes_twice),
    ALWAYS("file-gone", "\"x\"", deletes_gone),
    WARM_ONLY("file-gone", "(snapshot 2 of commit user \"u\")", deletes_gone),
    ALWAYS("file-twice", "live already at level 0", adds_live),
    ALWAYS("file-twice", "live already at level 0", adds_live_at_a_level),
    ALWAYS("file-twice", "twice", adds_twice),
    ALWAYS("file-twice", "same level", adds_what_it_deletes),
    ALWAYS("file-twice", "another size or number of rows", uses_a_name_again),
    WARM_ONLY("file-twice", "committed before", adds_gone),
    WARM_ONLY("file-twice", "it adds \"x\"", overwrites_with_gone),
    ALWAYS("file-missing", "\"lost\"", file_is_missing),
    ALWAYS("file-missing", "partition dt=r", all_are_missing),
    ALWAYS("file-bad", "with 100 bytes, but the file has 13", size_is_wrong),
    ALWAYS("file-bad", "directory", file_is_a_directory),
    ALWAYS("path-outside", "\"file:/elsewhere/far\"", path_is_outside),
    ALWAYS("path-outside", "", path_leads_outside),
    ALWAYS("path-outside", "", path_of_another_kind),
    ALWAYS("path-outside", "no name of a file", name_with_a_slash),
    ALWAYS("path-outside", "no name of a file", name_that_is_a_folder),
    ALWAYS("path-outside", "no name of a file", index_name_leads_outside),
    ALWAYS("path-outside", "\"file:/elsewhere/i\"", index_is_outside),
    ALWAYS("manifest-bad", "before it deletes it", adds_before_it_deletes),
    ALWAYS("manifest-bad", "partition", partition_of_another_table),
    ALWAYS("manifest-bad", "is empty, but", base_is_empty),
    ALWAYS("manifest-bad", "does not come to the live files", base_is_older),
    ALWAYS("manifest-bad", "does not come to the live files", base_has_one_twice),
    ALWAYS("manifest-bad", "something else of the manifest", base_counts_wrongly),
    ALWAYS("manifest-bad", "manifest-nowhere", base_names_what_is_not_there),
    ALWAYS("manifest-bad", "s-1", statistics_are_missing),
    ALWAYS("manifest-bad", "", missing_0),
    ALWAYS("manifest-bad", "", garbage_0),
    ALWAYS("manifest-bad", "", cut_0),
    ALWAYS("manifest-bad", "", missing_1),
    ALWAYS("manifest-bad", "", garbage_1),
    ALWAYS("manifest-bad", "", cut_1),
    ALWAYS("manifest-bad", "", missing_2),
    ALWAYS("manifest-bad", "", garbage_2),
    ALWAYS("manifest-bad", "", cut_2),
    ALWAYS("manifest-bad", "", missing_3),
    ALWAYS("manifest-bad", "", garbage_3),
    ALWAYS("manifest-bad", "", cut_3),
    ALWAYS("manifest-bad", "", missing_4),
    ALWAYS("manifest-bad", "", garbage_4),
    ALWAYS("manifest-bad", "", cut_4),
    ALWAYS("schema-unknown", "schema 7 does not exist", schema_of_the_snapshot),
    ALWAYS("schema-unknown", "was written with schema 7", schema_of_a_file),
    ALWAYS("bucket-count", "for 8 buckets, the partition's live files have 4", other_buckets),
    ALWAYS("bucket-count", "for 4", buckets_that_differ),
};

/* A state in memory in WARM and COLD, none for a table that is streamed. */
static void state_is_there(void)
{
    struct cat_counts c = fx_counts(&f);
    assert_int_equal(state_is_right("t"), mode != STREAM);
    assert_int_equal(c.states, mode != STREAM);
    if (mode == STREAM)
        assert_true(c.states_streamed > 0);
}

static void all_are_refused(unsigned kind, enum mode m)
{
    struct draft head;
    mode = m;
    judged_table(kind, mode, &head);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (bad[i].warm && mode != WARM)
            continue;
        if (mode == COLD)
            fx_restart(&f);
        struct draft d = bad[i].make(&head);
        refused("t", &d, bad[i].code, bad[i].part);
        if (mode == COLD)
            fx_restart(&f);
        take("t", &head, good(&head));
        state_is_there();
    }
    assert_int_equal(fx_counts(&f).forked, 0);
    fx_restart(&f);
    assert_int_equal(fx_head_id(&f, "t"), head.id);
    fx_done(&f);
}

#define SIX(fn)                                                                                    \
    static void fn##_mem(void **state)                                                             \
    {                                                                                              \
        (void)state;                                                                               \
        fn(FX_MEM, WARM);                                                                          \
    }                                                                                              \
    static void fn##_local(void **state)                                                           \
    {                                                                                              \
        (void)state;                                                                               \
        fn(0, WARM);                                                                               \
    }                                                                                              \
    static void fn##_cold_mem(void **state)                                                        \
    {                                                                                              \
        (void)state;                                                                               \
        fn(FX_MEM, COLD);                                                                          \
    }                                                                                              \
    static void fn##_cold_local(void **state)                                                      \
    {                                                                                              \
        (void)state;                                                                               \
        fn(FX_SQLITE | FX_PUT_AFTER, COLD);                                                        \
    }                                                                                              \
    static void fn##_streamed_mem(void **state)                                                    \
    {                                                                                              \
        (void)state;                                                                               \
        fn(FX_MEM, STREAM);                                                                        \
    }                                                                                              \
    static void fn##_streamed_local(void **state)                                                  \
    {                                                                                              \
        (void)state;                                                                               \
        fn(0, STREAM);                                                                             \
    }
SIX(all_are_refused)

/* --- good commits ----------------------------------------------------------------------------- */

static void is_live(const char *dt, const char *name, int32_t at)
{
    struct branch *br;
    struct state_view v;
    struct fx_entry e = file_in(dt, name);
    if (mode == STREAM)
        return;
    OK(&f, fx_branch(&f, "t", &br));
    bool live = br->state && state_find_name(br->state, e.partition, 0, e.name, &v);
    branch_unref(br);
    assert_int_equal(live, at >= 0);
    if (live)
        assert_int_equal(v.f.level, at);
}

static void step(struct draft *head, struct draft d)
{
    if (mode == COLD)
        fx_restart(&f);
    take("t", head, d);
    state_is_there();
}

static void counts_are(int64_t files, int64_t bytes)
{
    struct seen s;
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.totals.file_count, files + (int64_t)fillers);
    assert_int_equal(s.totals.file_size_bytes, bytes + (int64_t)fillers);
}

static void what_is_right_is_taken(unsigned kind, enum mode m)
{
    struct draft h;
    mode = m;
    judged_table(kind, mode, &h);
    struct fx_entry b = file_in("p", "b"), r = of_buckets("p", "wide", 8);
    counts_are(3, 300);
    step(&h, COMMIT(&h, "COMPACT", del(A), level(A, 4))); /* a level change */
    is_live("p", "a", 4);
    counts_are(3, 300);
    step(&h, COMMIT(&h, "COMPACT", del(level(A, 4)), level(A, 2), del(b), file_in("p", "b2")));
    is_live("p", "a", 2);
    is_live("p", "b", -1);
    is_live("p", "b2", 0);
    counts_are(3, 300);
    step(&h, COMMIT(&h, "OVERWRITE", del(C))); /* the drop of partition q */
    is_live("q", "c", -1);
    counts_are(2, 200);
    struct draft d = COMMIT(&h, "APPEND", of_buckets("p", "wide", 8));
    refused("t", &d, "bucket-count", "for 8 buckets");
    step(&h, COMMIT(&h, "OVERWRITE", del(level(A, 2)), del(file_in("p", "b2")), r)); /* a rescale */
    counts_are(1, 100);
    d = good(&h);
    refused("t", &d, "bucket-count", "for 4 buckets");
    step(&h, COMMIT(&h, "APPEND", of_buckets("p", "wider", 8), file_in("q", "q2")));
    counts_are(3, 300);
    d = COMMIT(&h, "ANALYZE", file_in("q", "none"));
    d.n_entries = 0; /* nothing but statistics */
    d.statistics = "s-1";
    step(&h, d);
    counts_are(3, 300);
    step(&h, COMMIT(&h, "OVERWRITE", del(r), file_in("p", "four"))); /* and back again */
    d = with_index_file(&h, "hash-1", NULL);
    d.n_entries = 0; /* of p there are files for 4 and for 8 buckets now */
    d.delta = 0;
    step(&h, d);
    fx_restart(&f);
    assert_int_equal(fx_head_id(&f, "t"), h.id);
    counts_are(3, 300);
    fx_done(&f);
}
SIX(what_is_right_is_taken)

/* --- what is read ----------------------------------------------------------------------------- */

/* With commit.verify-files less is asked; the other rules stay. */
static void less_is_verified(void **state)
{
    (void)state;
    struct draft h, d;
    static const enum verify_files verify[] = {VERIFY_OFF, VERIFY_EXISTS, VERIFY_SIZE};
    for (int i = 0; i < 3; i++) {
        judged_table(FX_MEM, WARM, &h);
        f.cat->o.verify = verify[i];
        d = size_is_wrong(&h);
        if (verify[i] == VERIFY_SIZE)
            refused("t", &d, "file-bad", "13");
        else
            take("t", &h, d);
        d = file_is_missing(&h);
        if (verify[i] != VERIFY_OFF)
            refused("t", &d, "file-missing", "lost");
        else
            take("t", &h, d);
        d = path_is_outside(&h);
        refused("t", &d, "path-outside", "elsewhere");
        d = adds_live(&h);
        refused("t", &d, "file-twice", "live already");
        take("t", &h, good(&h));
        fx_done(&f);
    }
}

static void a_commit_that_says_too_much(void **state)
{
    (void)state;
    struct draft h, d;
    bool ok;
    judged_table(FX_MEM, WARM, &h);
    f.cat->o.facts_max_bytes = 128 << 10;
    static struct fx_entry many[1500];
    for (int i = 0; i < 1500; i++)
        many[i] = file_in("p", fx_text(&f, "many-%d", i).p);
    d = commit_of(&h, "APPEND", many, 1500);
    str before = everything("t");
    FAILS(&f, E_TOOBIG, RES_NONE, "commit less at once", fx_commit(&f, "t", &d, &ok));
    SAME(everything("t"), before);
    f.cat->o.facts_max_bytes = 64 << 20;
    take("t", &h, d);
    assert_true(state_is_right("t"));
    fx_done(&f);
}

static void merged_manifests(unsigned kind, enum mode m)
{
    struct draft h, d;
    mode = m;
    judged_table(kind, mode, &h);
    for (int i = 0; i < 3; i++)
        step(&h, good(&h));
    if (mode == COLD)
        fx_restart(&f);
    d = merged(&h, "merged-short", 1);
    refused("t", &d, "manifest-bad", "does not come to the live files");
    int needs = f.needs;
    step(&h, merged(&h, "merged-1", 0));
    if (mode == WARM) /* once, to read the new manifest */
        assert_int_equal(f.needs, needs + 1);
    step(&h, merged(&h, "merged-2", 0));
    needs = f.needs;
    step(&h, good(&h)); /* the manifests of before, which no list named for a while */
    if (mode == WARM)
        assert_int_equal(f.needs, needs + 1);
    needs = f.needs;
    step(&h, good(&h));
    if (mode == WARM)
        assert_int_equal(f.needs, needs);
    /* A new manifest that comes to the same only because it deletes what is live. */
    struct manifest_file own, *bases;
    struct fx_entry tricks[] = {del(A), A};
    d = with_bases(&h, &bases);
    fx_write(&f, in_manifest(S("tricks")), manifest_of(&f.cx, tricks, 2, S("tricks"), &own));
    bases[d.n_bases++] = own;
    refused("t", &d, "manifest-bad", "which is live");
    step(&h, good(&h));
    fx_restart(&f);
    step(&h, good(&h));
    fx_done(&f);
}
SIX(merged_manifests)

int main(void)
{
#define ALL(fn)                                                                                    \
    cmocka_unit_test(fn##_mem), cmocka_unit_test(fn##_local), cmocka_unit_test(fn##_cold_mem),     \
        cmocka_unit_test(fn##_cold_local), cmocka_unit_test(fn##_streamed_mem),                    \
        cmocka_unit_test(fn##_streamed_local)
    const struct CMUnitTest tests[] = {
        ALL(all_are_refused),
        ALL(what_is_right_is_taken),
        ALL(merged_manifests),
        cmocka_unit_test(less_is_verified),
        cmocka_unit_test(a_commit_that_says_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
