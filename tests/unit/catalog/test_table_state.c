/* test_table_state.c - the live files of a branch: loaded, moved forward, asked, measured. */
#include "tests/unit/catalog/state_fixture.h"

#include "proto/base/clock.h"
#include "proto/base/mem.h"
#include "proto/base/rand.h"

#define PART int_row(7)

static struct table_state *of_entries(const struct manifest_entry *base, size_t n_base,
                                      const struct manifest_entry *delta, size_t n_delta)
{
    struct manifest_file b = put_manifest(base, n_base), d = put_manifest(delta, n_delta);
    struct snapshot s = snapshot_of(3, (struct lists){&b, 1}, (struct lists){&d, 1});
    return load(&s);
}

static struct table_file wanted(const struct manifest_entry *e)
{
    static struct table_filer filer;
    static bool made;
    struct table_file f;
    if (!made)
        OK(table_filer_init(&cx, &filer, state_opts.partition, state_opts.row_ids));
    OK(table_file_of(&cx, &filer, e, &f));
    f.partition = str_dup(&cx.arena, f.partition);
    table_filer_done(&filer);
    return f;
}

/* --- loading ---------------------------------------------------------------------------------- */

static void test_nothing(void **state)
{
    (void)state;
    struct state_cursor at;
    struct state_view v;
    size_t n;
    struct table_state *st = load(NULL);
    assert_int_equal(state_info(st).files, 0);
    assert_int_equal(state_info(st).snapshot_id, 0);
    state_all(st, &at);
    assert_false(state_next(st, &at, &v));
    assert_false(state_find_name(st, PART, 0, STR_LIT("x"), &v));
    assert_int_equal(state_max_seq(st, PART, 0), -1);
    assert_null(state_bucket_counts(st, PART, &n));
    assert_int_equal(n, 0);
    state_free(st);
}

static void test_all_that_is_said_of_a_file(void **state)
{
    (void)state;
    struct state_view v;
    struct manifest_entry e = entry_of(FILE_ADD, PART, -2, 5,
                                       STR_LIT("data--u-0a1b2c3d-0000-4000-8000-0123456789ab-s-1-w-"
                                               "0a1b2c3d-0000-4000-8000-0123456789ab-17.orc.zst"));
    str extra[] = {STR_LIT("a.index"), STR_LIT("b")};
    e.file.size = INT64_MAX;
    e.file.row_count = INT64_MAX;
    e.file.min_seq = INT64_MIN;
    e.file.max_seq = INT64_MAX;
    e.file.schema_id = 300;
    e.file.delete_row_count = (struct opt_i64){true, 3};
    e.file.first_row_id = (struct opt_i64){true, INT64_MAX};
    e.file.source = (struct opt_i64){true, FILE_FROM_COMPACT};
    e.file.creation_ms = (struct opt_i64){true, -5};
    e.file.external_path = STR_LIT("file:/elsewhere/x");
    e.total_buckets = -2;
    OK(avro_list_of_strs(&cx, extra, 2, &e.file.extra_files));
    struct table_state *st = of_entries(NULL, 0, &e, 1);
    assert_true(state_find_name(st, PART, -2, e.file.name, &v));
    assert_true(str_eq(v.f.name, e.file.name) && str_eq(v.f.partition, PART));
    assert_true(v.f.bucket == -2 && v.f.total_buckets == -2 && v.f.level == 5);
    assert_true(v.f.size == INT64_MAX && v.f.rows == INT64_MAX && v.f.schema_id == 300);
    assert_true(v.f.min_seq == INT64_MIN && v.f.max_seq == INT64_MAX);
    assert_true(v.f.delete_rows.has && v.f.delete_rows.v == 3);
    assert_true(v.f.first_row_id.has && v.f.first_row_id.v == INT64_MAX);
    assert_true(v.f.source.has && v.f.source.v == FILE_FROM_COMPACT);
    assert_true(v.f.created_ms.has && v.f.created_ms.v == -5);
    assert_true(str_eq(v.f.external_path, e.file.external_path));
    assert_true(avro_list_eq(&v.f.extra_files, &e.file.extra_files));
    assert_true(str_eq(v.f.min_key, int_row(1)) && str_eq(v.f.max_key, int_row(9)));
    assert_true(v.f.snapshot == 3 && str_eqz(v.f.user, "user-0"));
    state_free(st);
}

/* A name is as it was, whether it could be packed or not. */
static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {
        "data-0a1b2c3d-0000-4000-8000-0123456789ab-0.parquet",
        "data-0a1b2c3d-0000-4000-8000-0123456789ab-999999999.parquet",
        "data-0a1b2c3d-0000-4000-8000-0123456789ab-1999999999.parquet",
        "data-0a1b2c3d-0000-4000-8000-0123456789ab-00.parquet",
        "data-0a1b2c3d-0000-4000-8000-0123456789ab-01.parquet",
        "data-0A1b2c3d-0000-4000-8000-0123456789ab-1.parquet",
        "data-0a1b2c3d-0000-4000-8000-0123456789ab-",
        "data-0a1b2c3d-0000-4000-8000-0123456789ab",
        "0a1b2c3d-0000-4000-8000-0123456789ab-5",
        "0a1b2c3d-0000-4000-8000-0123456789ab-50a1b2c3d-0000-4000-8000-0123456789ab-6",
        "x",
        "data-zzzzzzzz-0000-4000-8000-0123456789ab-0.parquet",
    };
    struct manifest_entry e[N(names)];
    struct state_view v;
    for (size_t i = 0; i < N(names); i++)
        e[i] = entry_of(FILE_ADD, PART, 0, 0, str_of(names[i]));
    struct table_state *st = of_entries(NULL, 0, e, N(e));
    for (size_t i = 0; i < N(names); i++) {
        assert_true(state_find_name(st, PART, 0, str_of(names[i]), &v));
        assert_true(str_eqz(v.f.name, names[i]));
    }
    assert_false(state_find_name(st, PART, 1, str_of(names[0]), &v));
    assert_false(state_find_name(st, int_row(8), 0, str_of(names[0]), &v));
    state_free(st);
}

static void test_cancels_by_identity_in_any_order(void **state)
{
    (void)state;
    struct state_view v;
    struct manifest_entry base[] = {
        entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")),
        entry_of(FILE_DELETE, PART, 0, 0, STR_LIT("later")),
        entry_of(FILE_ADD, PART, 0, 0, STR_LIT("b")),
        entry_of(FILE_ADD, PART, 0, 0, STR_LIT("c")),
    };
    struct manifest_entry delta[] = {
        entry_of(FILE_DELETE, PART, 0, 0, STR_LIT("a")),
        entry_of(FILE_ADD, PART, 0, 5, STR_LIT("a")),
        entry_of(FILE_ADD, PART, 0, 0, STR_LIT("later")),
        entry_of(FILE_DELETE, PART, 0, 1, STR_LIT("b")), /* another level: not this b */
        entry_of(FILE_DELETE, PART, 1, 0, STR_LIT("c")), /* another bucket */
    };
    struct table_state *st = of_entries(base, N(base), delta, N(delta));
    struct table_file a0 = wanted(&base[0]), a5 = wanted(&delta[1]);
    assert_int_equal(state_info(st).files, 3);
    assert_int_equal(state_info(st).rows, 30);
    assert_false(state_find(st, &a0, &v));
    assert_true(state_find(st, &a5, &v));
    assert_int_equal(v.f.level, 5);
    assert_int_equal(v.f.snapshot, 3);
    assert_true(state_find_name(st, PART, 0, STR_LIT("b"), &v));
    assert_int_equal(v.f.snapshot, 0);
    assert_null(v.f.user.p);
    assert_false(state_find_name(st, PART, 0, STR_LIT("later"), &v));
    assert_true(state_info(st).left_over != 0); /* two DELETEs of what never was */
    state_free(st);
}

static void test_errors_name_the_file(void **state)
{
    (void)state;
    struct table_state *st = NULL;
    struct manifest_entry e[] = {entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")),
                                 entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a"))};
    struct manifest_file m = put_manifest(e, 1), twice = put_manifest(e, 2), lies = m, small = m,
                         none = m, up = m;
    lies.added = 2;
    small.size--;
    none.name = STR_LIT("manifest-none");
    up.name = STR_LIT("../x");
    const struct {
        struct manifest_file m;
        const char *because;
    } cases[] = {
        {twice, "manifest-1: the data file \"a\" is added although it is live"},
        {lies, "manifest-0 adds 1 files and deletes 0, its list says 2 and 0"},
        {small, "t/manifest/manifest-0 has"},
        {none, "t/manifest/manifest-none does not exist"},
        {up, "\"../x\" is no name of a file"},
    };
    for (size_t i = 0; i < N(cases); i++) {
        struct snapshot s =
            snapshot_of(1, (struct lists){0}, (struct lists){(void *)&cases[i].m, 1});
        refused_with(state_load(&cx, &dir, &s, &state_opts, &st), E_CORRUPT, cases[i].because);
    }
    struct snapshot s = snapshot_of(1, (struct lists){0}, (struct lists){&m, 1});
    s.index_manifest = STR_LIT("index-manifest-none");
    refused_with(state_load(&cx, &dir, &s, &state_opts, &st), E_CORRUPT, "index-manifest-none");
    s = snapshot_of(1, (struct lists){0}, (struct lists){&m, 1});
    put_file(s.base_manifest_list, STR_LIT("Obj\1nonsense"));
    s.base_size.has = false;
    refused_with(state_load(&cx, &dir, &s, &state_opts, &st), E_CORRUPT, "manifest-list");
    e[0].partition = EMPTY_ROW; /* no column, the table has one */
    m = put_manifest(e, 1);
    s = snapshot_of(1, (struct lists){0}, (struct lists){&m, 1});
    refused_with(state_load(&cx, &dir, &s, &state_opts, &st), E_CORRUPT, "its partition");
}

static void test_a_cap_on_memory(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    struct manifest_entry *e = ARENA_ARRAY(&cx.arena, struct manifest_entry, MANY);
    for (int i = 0; i < MANY; i++)
        e[i] = entry_of(FILE_ADD, PART, i % 7, 0, text("file-%d", i));
    struct manifest_file m = put_manifest(e, MANY);
    struct snapshot s = snapshot_of(1, (struct lists){0}, (struct lists){&m, 1});
    struct state_opts o = state_opts;
    struct table_state *st = NULL;
    o.max_bytes = 100000;
    refused_with(state_load(&cx, &dir, &s, &o, &st), E_TOOBIG, "live files take more than 100000");
    o.max_bytes = 1 << 20;
    OK(state_load(&cx, &dir, &s, &o, &st));
    assert_true(state_info(st).bytes <= o.max_bytes);
    state_free(st);
}

/* --- asking ----------------------------------------------------------------------------------- */

static void test_buckets(void **state)
{
    (void)state;
    struct manifest_entry e[6];
    for (int i = 0; i < 6; i++) {
        e[i] = entry_of(FILE_ADD, int_row(i / 4), 0, i % 3, text("f%d", i));
        e[i].file.max_seq = 100 + i;
        e[i].total_buckets = i == 5 ? 8 : 4;
    }
    struct table_state *st = of_entries(NULL, 0, e, 6);
    struct state_cursor at;
    struct state_view v;
    size_t n;
    int found = 0;
    state_bucket(st, int_row(0), 0, 0, &at); /* level 0 */
    while (state_next(st, &at, &v)) {
        assert_int_equal(v.f.level, 0);
        found++;
    }
    assert_int_equal(found, 2);
    state_bucket(st, int_row(0), 0, LEVEL_ANY, &at);
    for (found = 0; state_next(st, &at, &v); found++)
        ;
    assert_int_equal(found, 4);
    assert_int_equal(state_max_seq(st, int_row(0), 0), 103);
    assert_int_equal(state_max_seq(st, int_row(1), 0), 105);
    assert_int_equal(state_max_seq(st, int_row(1), 1), -1);
    const struct bucket_count *c = state_bucket_counts(st, int_row(1), &n);
    assert_int_equal(n, 2);
    assert_true(c[0].total_buckets == 4 && c[0].files == 1);
    assert_true(c[1].total_buckets == 8 && c[1].files == 1);
    assert_int_equal(state_info(st).buckets, 2);
    assert_int_equal(state_info(st).partitions, 2);
    state_free(st);
}

static void test_the_highest_sequence_falls(void **state)
{
    (void)state;
    struct manifest_entry e[] = {entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")),
                                 entry_of(FILE_ADD, PART, 0, 0, STR_LIT("b"))};
    e[1].file.max_seq = 50;
    struct manifest_file b = put_manifest(e, 2);
    struct snapshot s = snapshot_of(1, (struct lists){0}, (struct lists){&b, 1});
    struct table_state *st = load(&s);
    assert_int_equal(state_max_seq(st, PART, 0), 50);
    e[1].kind = FILE_DELETE;
    struct manifest_file d = put_manifest(&e[1], 1);
    s = snapshot_of(2, (struct lists){&b, 1}, (struct lists){&d, 1});
    struct commit_facts *f = facts_of(&s, st);
    OK(state_apply(&cx, st, f));
    assert_int_equal(state_max_seq(st, PART, 0), 10);
    facts_free(f);
    state_free(st);
}

static const struct data_type stamp_type = {
    .kind = TYPE_TIMESTAMP, .nullable = true, .precision = 6};

/* pypaimon reserves no room for a null timestamp: other bytes, one partition. */
static void test_partitions_by_value(void **state)
{
    (void)state;
    const struct data_type *types[] = {&stamp_type};
    const struct binrow_type row = {types, 1};
    struct binrow_value null = {.tag = BV_NULL};
    struct buf java = {0}, python = {0};
    binrow_write_image(&python, &row, &null, BINROW_PYTHON);
    binrow_write(&java, &row, &null);
    str ja = str_dup(&cx.arena, buf_str(&java)), py;
    char *p = arena_alloc(&cx.arena, python.len + 4);
    p[3] = 1;
    memcpy(p + 4, python.p, python.len);
    py = str_n(p, python.len + 4);
    assert_false(str_eq(py, ja));
    state_opts.partition = &row;
    struct manifest_entry a = entry_of(FILE_ADD, ja, 0, 0, STR_LIT("a")),
                          d = entry_of(FILE_DELETE, py, 0, 0, STR_LIT("a")),
                          b = entry_of(FILE_ADD, py, 0, 0, STR_LIT("b"));
    struct manifest_entry delta[] = {d, b};
    struct table_state *st = of_entries(&a, 1, delta, 2);
    struct state_view v;
    assert_int_equal(state_info(st).files, 1);
    assert_int_equal(state_info(st).left_over, 0);
    assert_true(state_find_name(st, ja, 0, STR_LIT("b"), &v));
    state_free(st);
    buf_done(&java);
    buf_done(&python);
    state_opts.partition = &INT_ROW;
}

static void test_row_ids_count_when_asked(void **state)
{
    (void)state;
    struct manifest_entry a = entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")), d = a;
    a.file.first_row_id = (struct opt_i64){true, 5};
    d.kind = FILE_DELETE;
    struct table_state *st = of_entries(&a, 1, &d, 1);
    assert_int_equal(state_info(st).files, 0);
    state_free(st);
    state_opts.row_ids = true;
    st = of_entries(&a, 1, &d, 1);
    assert_int_equal(state_info(st).files, 1);
    state_free(st);
    state_opts.row_ids = false;
}

static void test_vectors_and_hash_indexes(void **state)
{
    (void)state;
    struct index_dv r[] = {{STR_LIT("a"), 1, 26, {true, 3}}, {STR_LIT("b"), 35, 26, {0}}};
    struct index_entry e[] = {
        {.partition = PART,
         .bucket = 0,
         .type = STR_LIT(INDEX_TYPE_DV),
         .name = STR_LIT("i0"),
         .size = 70,
         .row_count = 2,
         .dv = {true, 2, r}},
        {.partition = PART,
         .bucket = 1,
         .type = STR_LIT(INDEX_TYPE_DV),
         .name = STR_LIT("i1"),
         .size = 70,
         .row_count = 1,
         .dv = {true, 1, r}},
        {.partition = PART,
         .bucket = 1,
         .type = STR_LIT(INDEX_TYPE_HASH),
         .name = STR_LIT("h1"),
         .size = 8,
         .row_count = 2},
    };
    struct manifest_entry f = entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a"));
    struct manifest_file m = put_manifest(&f, 1);
    struct snapshot s = snapshot_of(1, (struct lists){0}, (struct lists){&m, 1});
    s.index_manifest = put_index(e, 3);
    struct table_state *st = load(&s);
    const struct index_set *set = state_index(st);
    struct index_vector v;
    size_t at = 0;
    assert_true(index_find_vector(set, PART, 0, STR_LIT("b"), &at, &v));
    assert_true(v.range.offset == 35 && v.range.length == 26 && v.range.cardinality == -1);
    assert_true(str_eqz(v.file->name, "i0"));
    assert_false(index_find_vector(set, PART, 0, STR_LIT("b"), &at, &v));
    at = 0;
    assert_true(index_find_vector(set, PART, 1, STR_LIT("a"), &at, &v));
    assert_true(v.range.cardinality == 3 && str_eqz(v.file->name, "i1"));
    at = 0;
    assert_false(index_find_vector(set, int_row(1), 1, STR_LIT("a"), &at, &v));
    at = 0;
    assert_true(str_eqz(index_find_hash(set, PART, 1, &at)->name, "h1"));
    at = 0;
    assert_null(index_find_hash(set, PART, 0, &at));

    r[0].length = 30; /* i0 under its name, other contents; h1 gone; h2 new */
    e[2].name = STR_LIT("h2");
    s = snapshot_of(2, (struct lists){&m, 1}, (struct lists){0});
    s.index_manifest = put_index(e, 3);
    struct commit_facts *facts = facts_of(&s, st);
    struct index_change c;
    char seen[64] = "";
    at = 0;
    while (index_next_change(set, facts->index, &at, &c)) {
        strncat(seen, c.added ? "+" : "-", 2);
        strncat(seen, c.file->name.p, c.file->name.len);
    }
    assert_string_equal(seen, "-i0-i1-h1+i0+i1+h2");
    OK(state_apply(&cx, st, facts));
    at = 0;
    assert_true(str_eqz(index_find_hash(state_index(st), PART, 1, &at)->name, "h2"));
    facts_free(facts);
    state_free(st);
}

/* --- forward ---------------------------------------------------------------------------------- */

static void test_what_does_not_go_on_changes_nothing(void **state)
{
    (void)state;
    struct manifest_entry a = entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")),
                          b = entry_of(FILE_ADD, PART, 0, 0, STR_LIT("b")),
                          gone = entry_of(FILE_DELETE, PART, 0, 0, STR_LIT("x"));
    struct manifest_file ma = put_manifest(&a, 1), mb = put_manifest(&b, 1),
                         mg = put_manifest(&gone, 1);
    struct lists la = {&ma, 1}, lb = {&mb, 1}, lg = {&mg, 1}, none = {0};
    struct snapshot s1 = snapshot_of(1, none, la);
    struct table_state *st = load(&s1), *fresh = load(&s1);
    const struct {
        int64_t id;
        struct lists base, delta;
        const char *because;
    } cases[] = {
        {2, la, lg, "deletes a file that is not live, \"x\""},
        {2, la, la, "adds a file that is live, \"a\""},
        {2, none, lb, "is based on other files"},
        {2, lists_with(la, &ma, 1), lb, "is based on other files"},
        {1, la, lb, "has the id of an older one"},
        {2, lb, none, "names a manifest that was not read, \"manifest-1\""},
    };
    for (size_t i = 0; i < N(cases); i++) {
        struct snapshot s = snapshot_of(cases[i].id, cases[i].base, cases[i].delta);
        struct commit_facts *f = facts_of(&s, st);
        refused_with(state_apply(&cx, st, f), E_CORRUPT, cases[i].because);
        assert_false(state_broken(st));
        same_state(st, fresh);
        facts_free(f);
    }
    struct snapshot s = snapshot_of(2, la, lb);
    struct commit_facts *f = facts_of(&s, st);
    OK(state_apply(&cx, st, f));
    assert_int_equal(state_info(st).files, 2);
    facts_free(f);
    state_free(st);
    state_free(fresh);
}

/* Adds or deletes `name` in snapshot id, on top of whatever is there. */
static void change_in(struct table_state *st, struct lists *head, int64_t id, int kind, str name)
{
    struct manifest_entry e = entry_of(kind, PART, 0, 0, name);
    struct manifest_file d = put_manifest(&e, 1);
    struct snapshot s = snapshot_of(id, *head, (struct lists){&d, 1});
    struct commit_facts *f = facts_of(&s, st);
    OK(state_apply(&cx, st, f));
    facts_free(f);
    *head = lists_with(*head, &d, 1);
}

static void test_who_deleted(void **state)
{
    (void)state;
    enum { MANY = 200, KEPT = 100 };
    struct manifest_entry *e = ARENA_ARRAY(&cx.arena, struct manifest_entry, MANY);
    struct state_gone g;
    for (int i = 0; i < MANY; i++)
        e[i] = entry_of(FILE_ADD, PART, 0, 0, text("f%d", i));
    struct manifest_file m = put_manifest(e, MANY);
    struct lists head = {&m, 1};
    struct snapshot s = snapshot_of(1, (struct lists){0}, head);
    state_opts.gone_max = KEPT;
    struct table_state *st = load(&s);
    state_opts.gone_max = 0;
    for (int i = 0; i < MANY; i++) {
        change_in(st, &head, 2 + i, FILE_DELETE, text("f%d", i));
        int from = i < KEPT ? 0 : i - KEPT + 1;
        for (int j = 0; j < MANY; j += 7) {
            bool found = state_find_gone(st, PART, 0, text("f%d", j), &g);
            assert_true(found == (j >= from && j <= i));
            assert_true(!found ||
                        (g.snapshot == 2 + j && str_eq(g.user, text("user-%d", (2 + j) % 3))));
        }
    }
    assert_false(state_find_gone(st, PART, 1, STR_LIT("f199"), &g));
    state_forget_gone(st, 200);
    assert_false(state_find_gone(st, PART, 0, STR_LIT("f198"), &g));
    assert_true(state_find_gone(st, PART, 0, STR_LIT("f199"), &g));
    change_in(st, &head, 300, FILE_ADD, STR_LIT("f199"));
    change_in(st, &head, 301, FILE_DELETE, STR_LIT("f199")); /* the last time counts */
    assert_true(state_find_gone(st, PART, 0, STR_LIT("f199"), &g));
    assert_int_equal(g.snapshot, 301);
    state_free(st);
}

/* Files come and go, each with a name that shares nothing with the others: nothing stays behind. */
static void test_memory_is_used_again(void **state)
{
    (void)state;
    struct lists head = {0};
    size_t early = 0;
    struct table_state *st = load(NULL);
    for (int i = 0; i < 300; i++) {
        str name = text("pre%04d-0a1b2c3d-0000-4000-8000-0123456789ab-1.suf%04d", i, i);
        change_in(st, &head, 2 * i + 1, FILE_ADD, name);
        change_in(st, &head, 2 * i + 2, FILE_DELETE, name);
        head.n = 0; /* all merged away */
        if (i == 100)
            early = state_info(st).bytes;
    }
    assert_int_equal(state_info(st).files, 0);
    assert_int_equal(state_info(st).buckets, 0);
    assert_int_equal(state_info(st).partitions, 0);
    assert_true(state_info(st).bytes <= early + 16); /* names of manifests grow by a digit */
    state_free(st);
}

/* The n-th allocation fails, for every n: no leak, no crash, and broken is said. */
static void test_no_memory(void **state)
{
    (void)state;
    struct manifest_entry e[] = {entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")),
                                 entry_of(FILE_ADD, int_row(3), 2, 1, STR_LIT("b"))};
    struct manifest_entry change[] = {e[0], e[1]};
    change[0].kind = FILE_DELETE;
    struct manifest_file a = put_manifest(e, 1), b = put_manifest(change, 2);
    struct snapshot s1 = snapshot_of(1, (struct lists){0}, (struct lists){&a, 1}),
                    s2 = snapshot_of(2, (struct lists){&a, 1}, (struct lists){&b, 1});
    struct facts_opts o = {.partition = state_opts.partition, .max_bytes = 1 << 20};
    int done = 0;
    state_opts.gone_max = 10;
    for (long n = 1; n < 2000 && !done; n++) {
        struct table_state *st = NULL;
        struct commit_facts *f = NULL;
        ctx_reset_err(&cx);
        mem_fail_at(n, 0);
        int rc = state_load(&cx, &dir, &s1, &state_opts, &st);
        if (rc == 0)
            rc = facts_read(&cx, &dir, &s2, &o, &f);
        if (rc == 0)
            rc = state_apply(&cx, st, f);
        mem_fail_at(0, 0);
        if (rc != 0 && rc != E_NOMEM && rc != E_TOOBIG && rc != E_IO)
            fail_msg("allocation %ld: %s %s", n, err_name(rc), cx.err.msg);
        if (rc == 0) {
            assert_int_equal(state_info(st).files, 1);
            done = n > 20;
        }
        facts_free(f);
        state_free(st);
    }
    state_opts.gone_max = 0;
    assert_true(done);
}

/* --- measured --------------------------------------------------------------------------------- */

static void uuid_name(char *out, size_t n, int i)
{
    char id[UUID_LEN + 1];
    rand_uuid(id);
    snprintf(out, n, "data-%s-%d.parquet", id, i % 10);
}

static void measure(int many, int buckets, bool texts, size_t most)
{
    struct manifest_writer w;
    struct manifest_file m;
    str bytes;
    OK(manifest_write_open(&cx, &w, CODEC_ZSTANDARD, 1));
    for (int i = 0; i < many; i++) {
        char name[80];
        uuid_name(name, sizeof name, i);
        struct manifest_entry e =
            entry_of(FILE_ADD, int_row(i / 50000), i % buckets, i % 6, str_of(name));
        if (texts) {
            e.file.min_key = text("\1xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx%d", i);
            e.file.max_key = text("\1xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx%d", i + 7);
        }
        e.file.size = 100000 + i * 37;
        e.file.row_count = 1000 + i;
        e.file.min_seq = 1000000 + i;
        e.file.max_seq = 1001000 + i;
        OK(manifest_write_add(&cx, &w, &e));
    }
    OK(manifest_write_end(&cx, &w, &bytes, &m));
    m.name = text("manifest-%d", serial++);
    m.partition_stats = (struct raw_stats){EMPTY_ROW, EMPTY_ROW, {0}};
    put_file(m.name, bytes);
    manifest_write_done(&w);
    struct snapshot s = snapshot_of(1, (struct lists){0}, (struct lists){&m, 1});
    int64_t before = clock_mono_ms();
    struct table_state *st = load(&s);
    int64_t ms = clock_mono_ms() - before;
    size_t each = state_info(st).bytes / (size_t)many;
    assert_int_equal(state_info(st).files, many);
    print_message("%d files in %d buckets%s: %zu bytes a file, loaded in %lld ms\n", many, buckets,
                  texts ? ", keys of 42 bytes" : "", each, (long long)ms);
    if (each > most)
        fail_msg("%zu bytes a file; at most %zu", each, most);
    state_free(st);
}

static void test_bytes_a_file(void **state)
{
    (void)state;
    measure(200000, 1000, false, 150);
    measure(200000, 1, false, 150);
    measure(200000, 1000, true, 200);
    measure(100000, 50000, false, 250);
}

static void test_bytes_a_vector(void **state)
{
    (void)state;
    enum { FILES = 1000, EACH = 50 };
    struct index_entry *x = ARENA_ARRAY(&cx.arena, struct index_entry, FILES);
    for (int i = 0; i < FILES; i++) {
        struct index_dv *r = ARENA_ARRAY(&cx.arena, struct index_dv, EACH);
        for (int j = 0; j < EACH; j++) {
            char name[80];
            uuid_name(name, sizeof name, j);
            r[j] = (struct index_dv){str_dup(&cx.arena, str_of(name)), 1 + j * 30, 22, {true, 4}};
        }
        x[i] = (struct index_entry){.partition = PART,
                                    .bucket = i,
                                    .type = STR_LIT(INDEX_TYPE_DV),
                                    .name = text("index-%d", i),
                                    .size = 1501,
                                    .row_count = EACH,
                                    .dv = {true, EACH, r}};
    }
    struct snapshot s = snapshot_of(1, (struct lists){0}, (struct lists){0});
    s.index_manifest = put_index(x, FILES);
    struct table_state *st = load(&s);
    size_t each = index_set_bytes(state_index(st)) / (FILES * EACH);
    print_message("%zu vectors: %zu bytes each\n", index_set_vectors(state_index(st)), each);
    assert_int_equal(index_set_vectors(state_index(st)), FILES * EACH);
    assert_true(each <= 150);
    state_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_nothing),
        T(test_all_that_is_said_of_a_file),
        T(test_names),
        T(test_cancels_by_identity_in_any_order),
        T(test_errors_name_the_file),
        T(test_a_cap_on_memory),
        T(test_buckets),
        T(test_the_highest_sequence_falls),
        T(test_partitions_by_value),
        T(test_row_ids_count_when_asked),
        T(test_vectors_and_hash_indexes),
        T(test_what_does_not_go_on_changes_nothing),
        T(test_who_deleted),
        T(test_memory_is_used_again),
        T(test_no_memory),
        T(test_bytes_a_file),
        T(test_bytes_a_vector),
    };
    state_opts.partition = &INT_ROW;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
