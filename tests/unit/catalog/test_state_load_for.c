/* test_state_load_for.c - a state of one commit's files only, where the table is too large, or was wrong
 * before. What it says of commits in general is in test_prop_state.c. */
#include "tests/unit/catalog/state_fixture.h"

#include "catalog/conflict.h"
#include "proto/base/mem.h"

#define PART  int_row(7)
#define OTHER int_row(8)

static struct table_state *load_for(const struct snapshot *s, struct commit_facts *f)
{
    struct table_state *st = NULL;
    OK(state_load_for(&cx, &dir, s, &state_opts, f, &st));
    assert_true(state_partial(st) && state_serves(st, f));
    return st;
}

static struct snapshot commit_of(const struct manifest_entry *e, size_t n, struct lists base)
{
    struct manifest_file d = put_manifest(e, n);
    return snapshot_of(9, base, (struct lists){&d, 1});
}

static void same_numbers(const struct table_state *a, const struct table_state *b)
{
    struct state_info x = state_info(a), y = state_info(b);
    assert_int_equal(x.files, y.files);
    assert_int_equal(x.rows, y.rows);
    assert_int_equal(x.size_bytes, y.size_bytes);
    assert_int_equal(x.live_sum, y.live_sum);
    assert_int_equal(x.left_over, y.left_over);
    assert_int_equal(x.manifests, y.manifests);
    assert_int_equal(x.total_records, y.total_records);
}

static void test_only_what_is_named_is_kept(void **state)
{
    (void)state;
    struct manifest_entry e[] = {
        entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")), entry_of(FILE_ADD, PART, 0, 3, STR_LIT("b")),
        entry_of(FILE_ADD, PART, 1, 0, STR_LIT("a")), entry_of(FILE_ADD, OTHER, 0, 0, STR_LIT("a")),
        entry_of(FILE_ADD, OTHER, 0, 0, STR_LIT("c"))};
    e[2].total_buckets = 8;
    struct manifest_file m = put_manifest(e, N(e));
    struct snapshot head = snapshot_of(3, (struct lists){0}, (struct lists){&m, 1});
    struct manifest_entry change[] = {e[0]};
    change[0].kind = FILE_DELETE;
    struct snapshot s = commit_of(change, 1, (struct lists){&m, 1});
    struct commit_facts *f = facts_of(&s, NULL);
    struct table_state *whole = load(&head), *part = load_for(&head, f);
    struct state_view v;
    size_t n;
    same_numbers(whole, part);
    assert_true(state_find_name(part, PART, 0, STR_LIT("a"), &v));
    assert_true(v.f.snapshot == 3 && str_eqz(v.f.user, "user-0") && v.f.size == 1000);
    assert_false(state_find_name(part, PART, 0, STR_LIT("b"), &v));
    assert_false(state_find_name(part, PART, 1, STR_LIT("a"), &v));
    assert_false(state_find_name(part, OTHER, 0, STR_LIT("a"), &v));
    const struct bucket_count *c = state_bucket_counts(part, PART, &n);
    assert_true(n == 2 && c[0].total_buckets == 4 && c[0].files == 2);
    assert_true(c[1].total_buckets == 8 && c[1].files == 1);
    assert_null(state_bucket_counts(part, OTHER, &n));
    assert_true(state_info(part).bytes < state_info(whole).bytes);
    state_free(part);
    state_free(whole);
    facts_free(f);
}

/* A DELETE with another bucket count than its ADD has undoes the ADD's count. */
static void test_counts_are_of_live_files(void **state)
{
    (void)state;
    size_t n;
    struct manifest_entry old[] = {entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")),
                                   entry_of(FILE_ADD, PART, 1, 0, STR_LIT("b"))};
    struct manifest_entry delta[] = {old[0], old[1], entry_of(FILE_ADD, PART, 0, 5, STR_LIT("c")),
                                     entry_of(FILE_ADD, PART, 1, 5, STR_LIT("d"))};
    for (size_t i = 0; i < N(delta); i++) {
        delta[i].kind = i < 2 ? FILE_DELETE : FILE_ADD;
        delta[i].total_buckets = 8;
    }
    struct manifest_file a = put_manifest(old, 2), b = put_manifest(delta, 4);
    struct snapshot head = snapshot_of(3, (struct lists){&a, 1}, (struct lists){&b, 1});
    struct manifest_entry more = entry_of(FILE_ADD, PART, 0, 0, STR_LIT("e"));
    struct snapshot s = commit_of(&more, 1, (struct lists){0});
    struct commit_facts *f = facts_of(&s, NULL);
    struct table_state *part = load_for(&head, f);
    const struct bucket_count *c = state_bucket_counts(part, PART, &n);
    assert_true(n == 1 && c[0].total_buckets == 8 && c[0].files == 2);
    state_free(part);
    facts_free(f);
}

/* A table with a DELETE of nothing, and one with a file that was added, deleted and added. */
static void test_tables_that_were_wrong(void **state)
{
    (void)state;
    size_t n;
    struct manifest_entry e[] = {entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")),
                                 entry_of(FILE_DELETE, PART, 0, 0, STR_LIT("no")),
                                 entry_of(FILE_ADD, PART, 0, 0, STR_LIT("b")),
                                 entry_of(FILE_DELETE, PART, 0, 0, STR_LIT("b")),
                                 entry_of(FILE_ADD, PART, 0, 0, STR_LIT("b"))};
    struct manifest_file m = put_manifest(e, N(e));
    struct snapshot head = snapshot_of(3, (struct lists){&m, 1}, (struct lists){0});
    struct manifest_entry more = entry_of(FILE_ADD, PART, 0, 0, STR_LIT("b"));
    struct snapshot s = commit_of(&more, 1, (struct lists){0});
    struct commit_facts *f = facts_of(&s, NULL);
    struct table_state *whole = load(&head), *part = load_for(&head, f);
    struct state_view v;
    same_numbers(whole, part);
    assert_int_not_equal(state_info(part).left_over, 0);
    assert_false(state_find_name(part, PART, 0, STR_LIT("b"), &v));
    assert_true(state_bucket_counts(part, PART, &n)->files == 1 && n == 1);
    state_free(whole);
    state_free(part);
    facts_free(f);
}

/* What the commit's own new base manifests delete is looked for as well. */
static void test_outstanding_deletions_are_named(void **state)
{
    (void)state;
    struct state_view v;
    struct manifest_entry e[] = {entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")),
                                 entry_of(FILE_ADD, PART, 0, 0, STR_LIT("b"))};
    struct manifest_entry gone = e[1];
    gone.kind = FILE_DELETE;
    struct manifest_file m = put_manifest(e, 2), d = put_manifest(&gone, 1);
    struct snapshot head = snapshot_of(3, (struct lists){0}, (struct lists){&m, 1});
    struct snapshot s = commit_of(NULL, 0, lists_with((struct lists){&m, 1}, &d, 1));
    for (int before = 0; before < 2; before++) {
        struct commit_facts *f = facts_of(&s, NULL);
        if (before)
            OK(facts_read_base(&cx, f, &(size_t){1}, 1));
        struct table_state *part = load_for(&head, f);
        if (!before)
            OK(facts_read_base(&cx, f, &(size_t){1}, 1));
        assert_true(f->n_dead == 1 && state_find(part, &f->dead[0].f, &v));
        /* it serves no other commit */
        struct snapshot t = commit_of(NULL, 0, (struct lists){0});
        struct commit_facts *g = facts_of(&t, NULL);
        assert_false(state_serves(part, g));
        facts_free(g);
        state_free(part);
        facts_free(f);
    }
}

/* A base manifest that deletes what is live and adds it again comes to nothing, and is refused. */
static void test_a_live_file_is_deleted_beside_the_sum(void **state)
{
    (void)state;
    struct verdict v;
    struct conflict_rules rules = {.verify = VERIFY_OFF, .partition_names = &(str){"p", 1}};
    struct conflict_evidence ev = {.schemas = (enum schema_seen[]){SCHEMA_THERE}};
    struct manifest_entry e[] = {entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")),
                                 entry_of(FILE_ADD, PART, 0, 0, STR_LIT("b"))};
    struct manifest_entry again[] = {e[1], e[1]};
    again[0].kind = FILE_DELETE;
    struct manifest_file m = put_manifest(e, 2), d = put_manifest(again, 2);
    struct snapshot head = snapshot_of(3, (struct lists){0}, (struct lists){&m, 1});
    struct snapshot s = commit_of(NULL, 0, lists_with((struct lists){&m, 1}, &d, 1));
    struct commit_facts *f = facts_of(&s, NULL);
    struct table_state *part = load_for(&head, f);
    OK(conflict_check(&cx, part, f, &rules, &ev, &v));
    assert_true(v.kind == VERDICT_NEED && v.need.n_manifests == 1);
    OK(facts_read_base(&cx, f, v.need.manifests, 1));
    OK(conflict_check(&cx, part, f, &rules, &ev, &v));
    assert_true(v.kind == VERDICT_REFUSE && v.refusal.code == CONFLICT_MANIFEST_BAD);
    assert_non_null(strstr(v.refusal.message.p, "deletes \"b\", which is live"));
    state_free(part);
    facts_free(f);
}

/* A base manifest that is not there is the facts' matter: the verdict says so. */
static void test_base_that_cannot_be_read(void **state)
{
    (void)state;
    struct manifest_entry e = entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a"));
    struct manifest_file m = put_manifest(&e, 1), lost = m;
    lost.name = STR_LIT("lost");
    struct snapshot head = snapshot_of(3, (struct lists){0}, (struct lists){&m, 1});
    struct snapshot s = commit_of(NULL, 0, (struct lists){&lost, 1});
    struct commit_facts *f = facts_of(&s, NULL);
    struct table_state *part = load_for(&head, f);
    assert_false(f->bad.p);
    OK(facts_read_base(&cx, f, &(size_t){0}, 1));
    assert_non_null(strstr(f->bad.p, "lost does not exist"));
    state_free(part);
    facts_free(f);
}

static void test_deletions_in_parts(void **state)
{
    (void)state;
    enum { MANY = 4000 };
    size_t n;
    struct manifest_entry *e = ARENA_ARRAY(&cx.arena, struct manifest_entry, 2 * MANY);
    for (int i = 0; i < MANY; i++) {
        e[i] = entry_of(FILE_ADD, PART, 0, 0, text("f%d", i));
        e[MANY + i] = e[i];
        e[MANY + i].kind = i < 10 ? FILE_ADD : FILE_DELETE;
        if (i < 10)
            e[MANY + i].file.name = text("g%d", i);
        e[i].total_buckets = i % 5;
    }
    struct manifest_file a = put_manifest(e, MANY), b = put_manifest(e + MANY, MANY);
    struct snapshot head = snapshot_of(3, (struct lists){&a, 1}, (struct lists){&b, 1});
    struct manifest_entry more[] = {e[3], e[20]};
    more[0].kind = FILE_DELETE;
    struct snapshot s = commit_of(more, 2, (struct lists){0});
    struct commit_facts *f = facts_of(&s, NULL);
    struct table_state *whole = load(&head), *part = load_for(&head, f);
    struct state_opts usual = state_opts;
    struct state_view v;
    same_numbers(whole, part);
    state_opts.max_bytes = state_info(part).bytes + 40000; /* of 64 KB and half of that */
    struct table_state *st = load_for(&head, f), *none = NULL;
    same_numbers(whole, st);
    assert_true(state_info(st).bytes == state_info(part).bytes);
    assert_true(state_find_name(st, PART, 0, STR_LIT("f3"), &v));
    assert_false(state_find_name(st, PART, 0, STR_LIT("f20"), &v));
    const struct bucket_count *c = state_bucket_counts(st, PART, &n);
    assert_true(n == 5 && c[3].total_buckets == 3 && c[3].files == 2 && c[4].files == 12);
    state_opts.max_bytes = state_info(part).bytes - 1500;
    refused_with(state_load_for(&cx, &dir, &head, &state_opts, f, &none), E_TOOBIG,
                 "3990 files, does not fit in");
    state_opts = usual;
    state_free(st);
    state_free(part);
    state_free(whole);
    facts_free(f);
}

static void test_what_is_damaged(void **state)
{
    (void)state;
    struct manifest_entry e[] = {entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")),
                                 entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a"))};
    struct manifest_file m = put_manifest(e, 2), lie = m;
    struct snapshot s = commit_of(e, 1, (struct lists){0});
    struct commit_facts *f = facts_of(&s, NULL);
    struct table_state *st = NULL;
    struct snapshot head = snapshot_of(3, (struct lists){0}, (struct lists){&m, 1});
    refused_with(state_load_for(&cx, &dir, &head, &state_opts, f, &st), E_CORRUPT,
                 "\"a\" is added although it is live");
    lie.deleted = 5;
    head = snapshot_of(3, (struct lists){0}, (struct lists){&lie, 1});
    refused_with(state_load_for(&cx, &dir, &head, &state_opts, f, &st), E_CORRUPT, "its list says");
    lie.deleted = INT64_MAX;
    head = snapshot_of(3, (struct lists){0}, (struct lists){&lie, 1});
    refused_with(state_load_for(&cx, &dir, &head, &state_opts, f, &st), E_TOOBIG, "does not fit");
    lie.added = 1;
    lie.deleted = 0;
    head = snapshot_of(3, (struct lists){0}, (struct lists){&lie, 1});
    refused_with(state_load_for(&cx, &dir, &head, &state_opts, f, &st), E_CORRUPT, "snapshot 3");
    lie.name = STR_LIT("nowhere");
    head = snapshot_of(3, (struct lists){0}, (struct lists){&lie, 1});
    refused_with(state_load_for(&cx, &dir, &head, &state_opts, f, &st), E_CORRUPT,
                 "does not exist");
    assert_null(st);
    facts_free(f);
    f = facts_of(&s, NULL); /* no snapshot: nothing is live, and that is all of it */
    OK(state_load_for(&cx, &dir, NULL, &state_opts, f, &st));
    assert_true(!state_partial(st) && state_info(st).files == 0);
    state_free(st);
    facts_free(f);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct manifest_entry e[] = {entry_of(FILE_ADD, PART, 0, 0, STR_LIT("a")),
                                 entry_of(FILE_ADD, OTHER, 0, 0, STR_LIT("b")),
                                 entry_of(FILE_DELETE, OTHER, 0, 0, STR_LIT("c"))};
    struct manifest_entry gone = e[0];
    gone.kind = FILE_DELETE;
    struct manifest_file m = put_manifest(e, 3), d = put_manifest(&gone, 1);
    struct snapshot head = snapshot_of(3, (struct lists){&m, 1}, (struct lists){0});
    struct snapshot s = commit_of(&gone, 1, lists_with((struct lists){&m, 1}, &d, 1));
    int done = 0;
    for (long n = 1; n < 2000 && !done; n++) {
        struct table_state *st = NULL;
        struct commit_facts *f = facts_of(&s, NULL);
        ctx_reset_err(&cx);
        mem_fail_at(n, 0);
        int rc = state_load_for(&cx, &dir, &head, &state_opts, f, &st);
        mem_fail_at(0, 0);
        if (rc != 0 && rc != E_NOMEM && rc != E_TOOBIG && rc != E_IO)
            fail_msg("allocation %ld: %s %s", n, err_name(rc), cx.err.msg);
        done = rc == 0 && n > 20;
        assert_true(rc < 0 || state_info(st).files == 2);
        state_free(st);
        facts_free(f);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_only_what_is_named_is_kept),
        T(test_counts_are_of_live_files),
        T(test_tables_that_were_wrong),
        T(test_outstanding_deletions_are_named),
        T(test_deletions_in_parts),
        T(test_what_is_damaged),
        T(test_no_memory),
        T(test_base_that_cannot_be_read),
        T(test_a_live_file_is_deleted_beside_the_sum),
    };
    state_opts.partition = &INT_ROW;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
