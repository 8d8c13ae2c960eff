/* test_state_tables.c - states of tables that three clients wrote: every snapshot is loaded, and forward
 * from each to the next is what a fresh load of the next one gives; each commit passes the rules.
 *
 * LATCH_TABLES=dir takes the tables that lie one or two folders below dir as well. */
#include "catalog/conflict.h"
#include "tests/unit/catalog/state_fixture.h"

#include "tests/unit/catalog/table_fixture.h"

static int n_snapshots, n_tables;

/* As a commit that is posted. */
static void passes(const struct table_state *st, struct commit_facts *f, const str *names)
{
    struct conflict_rules rules = {.verify = VERIFY_OFF,
                                   .partition_names = names,
                                   .naming = {STR_LIT("__DEFAULT_PARTITION__"), true}};
    enum schema_seen *there = ARENA_ARRAY(&cx.arena, enum schema_seen, f->n_schema_ids + 1);
    struct conflict_evidence ev = {.schemas = there};
    struct verdict v;
    for (size_t i = 0; i < f->n_schema_ids; i++)
        there[i] = SCHEMA_THERE;
    OK(conflict_check(&cx, st, f, &rules, &ev, &v));
    if (v.kind == VERDICT_NEED) {
        assert_true(v.need.n_manifests > 0);
        OK(facts_read_base(&cx, f, v.need.manifests, v.need.n_manifests));
        OK(conflict_check(&cx, st, f, &rules, &ev, &v));
    }
    if (v.kind != VERDICT_OK)
        fail_msg("snapshot %lld: %.*s", (long long)f->id, STR(v.refusal.message));
}

static int64_t rows_of(const struct table_state *st)
{
    return state_info(st).rows;
}

static void one_table(const char *table)
{
    void *none = NULL;
    struct snapshot s;
    const str *names;
    setup(&none);
    copy_manifests(table);
    struct binrow_type row = partition_of(table, &state_opts.row_ids, &names);
    state_opts.partition = &row;
    struct table_state *st = NULL;
    for (int64_t id = 1; id < 100; id++) {
        if (!snapshot_at(table, id, &s))
            continue;
        struct table_state *fresh = load(&s);
        assert_int_equal(rows_of(fresh), s.total_record_count);
        assert_int_equal(state_info(fresh).left_over, 0);
        if (!st)
            st = id == 1 ? load(NULL) : NULL;
        if (st) {
            struct commit_facts *f = facts_of(&s, st);
            if (f->bad.p)
                fail_msg("%s: %.*s", table, STR(f->bad));
            passes(st, f, names);
            OK(state_apply(&cx, st, f));
            same_state(st, fresh);
            facts_free(f);
            state_free(fresh);
        } else {
            st = fresh;
        }
        n_snapshots++;
    }
    assert_non_null(st);
    print_message("%s: %zu files, %zu vectors\n", table, state_info(st).files,
                  index_set_vectors(state_index(st)));
    n_tables++;
    state_free(st);
    teardown(&none);
}

static void test_tables(void **state)
{
    (void)state;
    each_table(GOLDEN "*/*/snapshot/snapshot-1", one_table);
    assert_int_equal(n_tables, 5);
    assert_int_equal(n_snapshots, 25);
}

static void test_more_tables(void **state)
{
    (void)state;
    each_other_table(one_table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables),
                                       cmocka_unit_test(test_more_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
