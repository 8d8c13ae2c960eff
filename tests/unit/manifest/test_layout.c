/* test_layout.c - paths of a table's files and what their names mean. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "manifest/layout.h"

#define MAIN STR_LIT("main")
#define L(z) str_of(z)

static struct arena a;

static int setup(void **state)
{
    (void)state;
    arena_init(&a, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_done(&a);
    return 0;
}

static void assert_str(str got, const char *want)
{
    char z[512];
    assert_non_null(got.p);
    assert_true(got.len < sizeof z);
    memcpy(z, got.p, got.len);
    z[got.len] = 0;
    assert_string_equal(z, want);
}

static void test_main_branch(void **state)
{
    (void)state;
    str d = L("db.db/t");
    assert_str(layout_root(&a, d, MAIN), "db.db/t");
    assert_str(layout_schema(&a, d, MAIN, 0), "db.db/t/schema/schema-0");
    assert_str(layout_snapshot(&a, d, MAIN, 17), "db.db/t/snapshot/snapshot-17");
    assert_str(layout_snapshot(&a, d, MAIN, INT64_MAX),
               "db.db/t/snapshot/snapshot-9223372036854775807");
    assert_str(layout_changelog(&a, d, MAIN, 3), "db.db/t/changelog/changelog-3");
    assert_str(layout_latest(&a, d, MAIN), "db.db/t/snapshot/LATEST");
    assert_str(layout_earliest(&a, d, MAIN), "db.db/t/snapshot/EARLIEST");
    assert_str(layout_tag(&a, d, MAIN, L("v1.0")), "db.db/t/tag/tag-v1.0");
    assert_str(layout_consumer(&a, d, MAIN, L("c1")), "db.db/t/consumer/consumer-c1");
    assert_str(layout_manifest(&a, d, L("manifest-list-x-0")),
               "db.db/t/manifest/manifest-list-x-0");
    assert_str(layout_statistics(&a, d, L("stat-x-0")), "db.db/t/statistics/stat-x-0");
    assert_str(layout_schema_dir(&a, d, MAIN), "db.db/t/schema");
    assert_str(layout_snapshot_dir(&a, d, MAIN), "db.db/t/snapshot");
    assert_str(layout_changelog_dir(&a, d, MAIN), "db.db/t/changelog");
    assert_str(layout_tag_dir(&a, d, MAIN), "db.db/t/tag");
    assert_str(layout_consumer_dir(&a, d, MAIN), "db.db/t/consumer");
    assert_str(layout_branch_dir(&a, d), "db.db/t/branch");
    assert_str(layout_manifest_dir(&a, d), "db.db/t/manifest");
    assert_str(layout_index_dir(&a, d), "db.db/t/index");
    assert_str(layout_statistics_dir(&a, d), "db.db/t/statistics");
}

static void test_other_branch(void **state)
{
    (void)state;
    str d = L("t"), b = L("b1");
    assert_false(layout_is_main(b));
    assert_str(layout_root(&a, d, b), "t/branch/branch-b1");
    assert_str(layout_schema(&a, d, b, 2), "t/branch/branch-b1/schema/schema-2");
    assert_str(layout_snapshot(&a, d, b, 1), "t/branch/branch-b1/snapshot/snapshot-1");
    assert_str(layout_latest(&a, d, b), "t/branch/branch-b1/snapshot/LATEST");
    assert_str(layout_tag(&a, d, b, L("x")), "t/branch/branch-b1/tag/tag-x");
    assert_str(layout_consumer(&a, d, b, L("x")), "t/branch/branch-b1/consumer/consumer-x");
    /* What only looks like main is a branch of its own. */
    assert_str(layout_root(&a, d, L("MAIN")), "t/branch/branch-MAIN");
}

static void test_absent_branch_is_main(void **state)
{
    (void)state;
    assert_true(layout_is_main(STR_NONE));
    assert_true(layout_is_main(L("")));
    assert_str(layout_snapshot(&a, L("t"), STR_NONE, 1), "t/snapshot/snapshot-1");
    assert_str(layout_tag_dir(&a, L("t"), L("")), "t/tag");
}

static void test_table_at_the_root(void **state)
{
    (void)state;
    assert_str(layout_root(&a, L(""), MAIN), "");
    assert_str(layout_root(&a, STR_NONE, MAIN), "");
    assert_str(layout_snapshot(&a, L(""), MAIN, 1), "snapshot/snapshot-1");
    assert_str(layout_snapshot(&a, STR_NONE, L("b"), 1), "branch/branch-b/snapshot/snapshot-1");
    assert_str(layout_manifest(&a, L(""), L("m")), "manifest/m");
}

static void test_names_that_leave_the_folder(void **state)
{
    (void)state;
    const str bad[] = {L(""),    STR_NONE,  L("."), L(".."),
                       L("a/b"), L("../x"), L("/"), str_n("a\0b", 3)};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(layout_tag(&a, L("t"), MAIN, bad[i]).p);
        assert_null(layout_consumer(&a, L("t"), MAIN, bad[i]).p);
        assert_null(layout_manifest(&a, L("t"), bad[i]).p);
        assert_null(layout_statistics(&a, L("t"), bad[i]).p);
        if (bad[i].len == 0) /* these are main */
            continue;
        assert_null(layout_root(&a, L("t"), bad[i]).p);
        assert_null(layout_snapshot(&a, L("t"), bad[i], 1).p);
        assert_null(layout_schema_dir(&a, L("t"), bad[i]).p);
        assert_null(layout_tag(&a, L("t"), bad[i], L("x")).p);
        assert_null(layout_earliest(&a, L("t"), bad[i]).p);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    struct arena tiny;
    arena_init(&tiny, 1);
    assert_null(layout_root(&tiny, L("t"), MAIN).p);
    assert_null(layout_snapshot(&tiny, L("t"), MAIN, 1).p);
    assert_null(layout_snapshot(&tiny, L("t"), L("b"), 1).p);
    assert_null(layout_manifest(&tiny, L("t"), L("m")).p);
    assert_null(layout_hint_text(&tiny, 1).p);
    arena_done(&tiny);
}

static void test_ids(void **state)
{
    (void)state;
    int64_t id = -7;
    assert_true(layout_snapshot_id(L("snapshot-1"), &id));
    assert_int_equal(id, 1);
    assert_true(layout_snapshot_id(L("snapshot-9223372036854775807"), &id));
    assert_true(id == INT64_MAX);
    assert_true(layout_schema_id(L("schema-0"), &id));
    assert_int_equal(id, 0);
    assert_true(layout_schema_id(L("schema-100"), &id));
    assert_int_equal(id, 100);
    assert_true(layout_changelog_id(L("changelog-12"), &id));
    assert_int_equal(id, 12);
    id = -7;
    const char *bad[] = {"",
                         "snapshot",
                         "snapshot-",
                         "snapshot-0",
                         "snapshot-01",
                         "snapshot-1 ",
                         "snapshot- 1",
                         "snapshot-+1",
                         "snapshot--1",
                         "snapshot-1a",
                         "Snapshot-1",
                         "xsnapshot-1",
                         "snapshot-1.0",
                         "schema-1",
                         "snapshot-0x1",
                         "snapshot-9223372036854775808",
                         ".snapshot-1.tmp",
                         "snapshot-1/2",
                         "LATEST"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(layout_snapshot_id(L(bad[i]), &id));
    assert_false(layout_snapshot_id(str_n("snapshot-1\0", 11), &id));
    assert_false(layout_snapshot_id(STR_NONE, &id));
    assert_false(layout_schema_id(L("schema-00"), &id));
    assert_false(layout_schema_id(L("schema--1"), &id));
    assert_false(layout_changelog_id(L("changelog-0"), &id));
    assert_false(layout_changelog_id(L("changelog-1.2"), &id));
    assert_int_equal(id, -7); /* untouched */
}

static void test_names(void **state)
{
    (void)state;
    str s = STR_NONE;
    assert_true(layout_tag_name(L("tag-v1"), &s));
    assert_str(s, "v1");
    assert_true(layout_tag_name(L("tag-tag-"), &s));
    assert_str(s, "tag-");
    assert_true(layout_branch_name(L("branch-b"), &s));
    assert_str(s, "b");
    assert_true(layout_consumer_name(L("consumer-c"), &s));
    assert_str(s, "c");
    assert_false(layout_tag_name(L("tag-"), &s));
    assert_false(layout_tag_name(L("branch-b"), &s));
    assert_false(layout_branch_name(L("branch"), &s));
}

static void test_temp(void **state)
{
    (void)state;
    assert_true(layout_is_temp(L(".snapshot-3.8a4972cb-d734-451d-9634-6b84db56c262.tmp")));
    assert_true(layout_is_temp(L(".LATEST.8A4972CB-D734-451D-9634-6B84DB56C262.tmp")));
    assert_true(layout_is_temp(L("..8a4972cb.8a4972cb-d734-451d-9634-6b84db56c262.tmp")));
    const char *bad[] = {"",
                         ".tmp",
                         ".snapshot-3.tmp",
                         "snapshot-3.8a4972cb-d734-451d-9634-6b84db56c262.tmp",
                         ".8a4972cb-d734-451d-9634-6b84db56c262.tmp",
                         "..8a4972cb-d734-451d-9634-6b84db56c262.tmp",
                         ".s.8a4972cb-d734-451d-9634-6b84db56c262.tmp2",
                         ".s.8a4972cb-d734-451d-9634-6b84db56c26.tmp",
                         ".s.8a4972cb-d734-451d-9634-6b84db56c26g.tmp",
                         ".s.8a4972cbxd734-451d-9634-6b84db56c262.tmp",
                         ".s8a4972cb-d734-451d-9634-6b84db56c2622.tmp"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(layout_is_temp(L(bad[i])));
}

static void test_hint(void **state)
{
    (void)state;
    assert_str(layout_hint_text(&a, 0), "0");
    assert_str(layout_hint_text(&a, 1234567890123), "1234567890123");
    assert_str(layout_hint_text(&a, INT64_MAX), "9223372036854775807");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_main_branch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_branch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_absent_branch_is_main, setup, teardown),
        cmocka_unit_test_setup_teardown(test_table_at_the_root, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_that_leave_the_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ids, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_temp, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hint, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
