/* table_fixture.h - tables that clients wrote, below tests/golden: their metadata into memory. Included
 * once by a test program, after state_fixture.h. */
#ifndef LATCH_TESTS_UNIT_CATALOG_TABLE_FIXTURE_H
#define LATCH_TESTS_UNIT_CATALOG_TABLE_FIXTURE_H

#include <glob.h>
#include <stdlib.h>

#include "manifest/schema.h"

#define GOLDEN "tests/golden/tables/"

static UNUSED_FN str slurp(const char *path)
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

static UNUSED_FN void copy_manifests(const char *table)
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

static UNUSED_FN struct binrow_type partition_of(const char *table, bool *ret_row_ids,
                                                 const str **ret_names)
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

static UNUSED_FN bool snapshot_at(const char *table, int64_t id, struct snapshot *ret)
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

typedef void table_fn(const char *table);

/* `pattern` ends in /snapshot/snapshot-1 */
static UNUSED_FN void each_table(const char *pattern, table_fn *fn)
{
    glob_t g;
    if (glob(pattern, 0, NULL, &g) != 0)
        return;
    for (size_t i = 0; i < g.gl_pathc; i++) {
        char table[500];
        snprintf(table, sizeof table, "%.*s",
                 (int)(strlen(g.gl_pathv[i]) - strlen("/snapshot/snapshot-1")), g.gl_pathv[i]);
        fn(table);
    }
    globfree(&g);
}

/* Those below LATCH_TABLES. */
static UNUSED_FN void each_other_table(table_fn *fn)
{
    const char *more = getenv("LATCH_TABLES");
    char pattern[600];
    if (!more)
        return;
    snprintf(pattern, sizeof pattern, "%s/*/*/snapshot/snapshot-1", more);
    each_table(pattern, fn);
    snprintf(pattern, sizeof pattern, "%s/*/*/*/snapshot/snapshot-1", more);
    each_table(pattern, fn);
}

#endif
