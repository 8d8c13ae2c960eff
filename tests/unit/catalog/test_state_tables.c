/* test_state_tables.c - states of tables that three clients wrote: every snapshot is loaded, and forward
 * from each to the next is what a fresh load of the next one gives; each commit passes the rules.
 *
 * LATCH_TABLES=dir takes the tables that lie one or two folders below dir as well. */
#include "catalog/conflict.h"
#include "tests/unit/catalog/state_fixture.h"

#include <glob.h>
#include <stdlib.h>

#include "manifest/schema.h"

#define GOLDEN "tests/golden/tables/"

static int n_snapshots, n_tables;

static str slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s: cannot be opened; run from the root of the repository", path);
    struct buf b = {0};
    char part[4096];
    size_t n;
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        buf_add(&b, part, n);
    fclose(f);
    str s = str_dup(&cx.arena, buf_str(&b));
    buf_done(&b);
    return s;
}

static void copy_manifests(const char *table)
{
    glob_t g;
    char pattern[600];
    snprintf(pattern, sizeof pattern, "%s/manifest/*", table);
    if (glob(pattern, 0, NULL, &g) != 0)
        return;
    for (size_t i = 0; i < g.gl_pathc; i++)
        put_file(str_of(strrchr(g.gl_pathv[i], '/') + 1), slurp(g.gl_pathv[i]));
    globfree(&g);
}

static struct binrow_type partition_of(const char *table, bool *ret_row_ids, const str **ret_names)
{
    char path[600];
    struct table_schema ts;
    snprintf(path, sizeof path, "%s/schema/schema-0", table);
    OK(schema_decode_file(&cx, slurp(path), STR_LIT("schema-0"), &ts));
    size_t n = ts.schema.partition_keys.n;
    const struct data_type **types = (void *)ARENA_ARRAY(&cx.arena, void *, n + 1);
    for (size_t i = 0; i < n; i++)
        types[i] = schema_field(&ts.schema, ts.schema.partition_keys.items[i])->type;
    *ret_row_ids = str_eqz(schema_option(&ts.schema, "row-tracking.enabled"), "true");
    *ret_names = ts.schema.partition_keys.items;
    return (struct binrow_type){types, n};
}

static bool snapshot_at(const char *table, int64_t id, struct snapshot *ret)
{
    char path[600];
    snprintf(path, sizeof path, "%s/snapshot/snapshot-%lld", table, (long long)id);
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    fclose(f);
    OK(snapshot_decode_file(&cx, slurp(path), text("snapshot-%lld", (long long)id), ret));
    return true;
}

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

static void each_table(const char *pattern)
{
    glob_t g;
    if (glob(pattern, 0, NULL, &g) != 0)
        return;
    for (size_t i = 0; i < g.gl_pathc; i++) {
        char table[500];
        snprintf(table, sizeof table, "%.*s",
                 (int)(strlen(g.gl_pathv[i]) - strlen("/snapshot/snapshot-1")), g.gl_pathv[i]);
        one_table(table);
    }
    globfree(&g);
}

static void test_tables(void **state)
{
    (void)state;
    each_table(GOLDEN "*/*/snapshot/snapshot-1");
    assert_int_equal(n_tables, 5);
    assert_int_equal(n_snapshots, 25);
}

static void test_more_tables(void **state)
{
    (void)state;
    const char *more = getenv("LATCH_TABLES");
    char pattern[600];
    if (!more)
        return;
    snprintf(pattern, sizeof pattern, "%s/*/*/snapshot/snapshot-1", more);
    each_table(pattern);
    snprintf(pattern, sizeof pattern, "%s/*/*/*/snapshot/snapshot-1", more);
    each_table(pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables),
                                       cmocka_unit_test(test_more_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
