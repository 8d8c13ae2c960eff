/* layout.c - names of the files below a table root.
 *
 * Source of the names: paimon-core SnapshotManager, SchemaManager, TagManager, BranchManager,
 * ConsumerManager, FileStorePathFactory (checked against tables written by Java 1.3.1, 2.1 and
 * pypaimon 2.1.0). Every path is built by join(), which is also the one place that refuses a name
 * that would leave its folder. No state; any thread. */
#include "manifest/layout.h"
#include "proto/base/assert.h"
#include "proto/base/path.h"
#include "proto/base/rand.h"

#define I64_TEXT_MAX 20 /* digits of INT64_MIN with its sign */

bool layout_is_main(str branch)
{
    return branch.len == 0 || str_eqz(branch, "main");
}

/* dir + "/" + prefix + name; no '/' when dir is the root itself. */
static str join(struct arena *a, str dir, str prefix, str name)
{
    size_t slash = dir.len > 0, len = dir.len + slash + prefix.len + name.len;
    char *p = arena_alloc(a, len + 1);
    if (!p)
        return STR_NONE;
    if (dir.len)
        memcpy(p, dir.p, dir.len);
    if (slash)
        p[dir.len] = '/';
    if (prefix.len)
        memcpy(p + dir.len + slash, prefix.p, prefix.len);
    if (name.len)
        memcpy(p + dir.len + slash + prefix.len, name.p, name.len);
    return str_n(p, len);
}

static str join_name(struct arena *a, str dir, str prefix, str name)
{
    return path_component_ok(name) ? join(a, dir, prefix, name) : STR_NONE;
}

static str join_id(struct arena *a, str dir, str prefix, int64_t id)
{
    char digits[I64_TEXT_MAX + 1];
    ASSERT(id >= 0);
    int n = snprintf(digits, sizeof digits, "%lld", (long long)id);
    return join(a, dir, prefix, str_n(digits, (size_t)n));
}

str layout_root(struct arena *a, str dir, str branch)
{
    if (layout_is_main(branch))
        return str_dup(a, dir.len ? dir : STR_LIT(""));
    return join_name(a, dir, STR_LIT("branch/branch-"), branch);
}

static str branch_dir(struct arena *a, str dir, str branch, str folder)
{
    str root = layout_is_main(branch) ? dir : layout_root(a, dir, branch);
    if (!layout_is_main(branch) && !root.p)
        return STR_NONE;
    return join(a, root, folder, STR_NONE);
}

str layout_schema_dir(struct arena *a, str dir, str branch)
{
    return branch_dir(a, dir, branch, STR_LIT("schema"));
}

str layout_snapshot_dir(struct arena *a, str dir, str branch)
{
    return branch_dir(a, dir, branch, STR_LIT("snapshot"));
}

str layout_changelog_dir(struct arena *a, str dir, str branch)
{
    return branch_dir(a, dir, branch, STR_LIT("changelog"));
}

str layout_tag_dir(struct arena *a, str dir, str branch)
{
    return branch_dir(a, dir, branch, STR_LIT("tag"));
}

str layout_consumer_dir(struct arena *a, str dir, str branch)
{
    return branch_dir(a, dir, branch, STR_LIT("consumer"));
}

str layout_branch_dir(struct arena *a, str dir)
{
    return join(a, dir, STR_LIT("branch"), STR_NONE);
}

str layout_manifest_dir(struct arena *a, str dir)
{
    return join(a, dir, STR_LIT("manifest"), STR_NONE);
}

str layout_index_dir(struct arena *a, str dir)
{
    return join(a, dir, STR_LIT("index"), STR_NONE);
}

str layout_statistics_dir(struct arena *a, str dir)
{
    return join(a, dir, STR_LIT("statistics"), STR_NONE);
}

str layout_schema(struct arena *a, str dir, str branch, int64_t id)
{
    str d = layout_schema_dir(a, dir, branch);
    return d.p ? join_id(a, d, STR_LIT("schema-"), id) : STR_NONE;
}

str layout_snapshot(struct arena *a, str dir, str branch, int64_t id)
{
    str d = layout_snapshot_dir(a, dir, branch);
    return d.p ? join_id(a, d, STR_LIT("snapshot-"), id) : STR_NONE;
}

str layout_changelog(struct arena *a, str dir, str branch, int64_t id)
{
    str d = layout_changelog_dir(a, dir, branch);
    return d.p ? join_id(a, d, STR_LIT("changelog-"), id) : STR_NONE;
}

str layout_latest(struct arena *a, str dir, str branch)
{
    return branch_dir(a, dir, branch, STR_LIT("snapshot/LATEST"));
}

str layout_earliest(struct arena *a, str dir, str branch)
{
    return branch_dir(a, dir, branch, STR_LIT("snapshot/EARLIEST"));
}

str layout_tag(struct arena *a, str dir, str branch, str name)
{
    str d = layout_tag_dir(a, dir, branch);
    return d.p ? join_name(a, d, STR_LIT("tag-"), name) : STR_NONE;
}

str layout_consumer(struct arena *a, str dir, str branch, str id)
{
    str d = layout_consumer_dir(a, dir, branch);
    return d.p ? join_name(a, d, STR_LIT("consumer-"), id) : STR_NONE;
}

str layout_manifest(struct arena *a, str dir, str name)
{
    return join_name(a, dir, STR_LIT("manifest/"), name);
}

str layout_statistics(struct arena *a, str dir, str name)
{
    return join_name(a, dir, STR_LIT("statistics/"), name);
}

/* --- names back to what they mean --- */

static bool id_after(str name, str prefix, int64_t min, int64_t *ret)
{
    int64_t id;
    if (!str_starts(name, prefix))
        return false;
    str digits = str_cut(name, prefix.len);
    if (digits.len == 0 || digits.p[0] < '0' || digits.p[0] > '9')
        return false;
    if (digits.p[0] == '0' && digits.len > 1)
        return false;
    if (!str_to_i64(digits, &id) || id < min)
        return false;
    *ret = id;
    return true;
}

bool layout_snapshot_id(str file_name, int64_t *ret)
{
    return id_after(file_name, STR_LIT("snapshot-"), 1, ret);
}

bool layout_schema_id(str file_name, int64_t *ret)
{
    return id_after(file_name, STR_LIT("schema-"), 0, ret);
}

bool layout_changelog_id(str file_name, int64_t *ret)
{
    return id_after(file_name, STR_LIT("changelog-"), 1, ret);
}

static bool name_after(str name, str prefix, str *ret)
{
    if (!str_starts(name, prefix) || name.len == prefix.len)
        return false;
    *ret = str_cut(name, prefix.len);
    return true;
}

bool layout_tag_name(str file_name, str *ret)
{
    return name_after(file_name, STR_LIT("tag-"), ret);
}

bool layout_branch_name(str file_name, str *ret)
{
    return name_after(file_name, STR_LIT("branch-"), ret);
}

bool layout_consumer_name(str file_name, str *ret)
{
    return name_after(file_name, STR_LIT("consumer-"), ret);
}

static bool is_uuid(str s)
{
    if (s.len != UUID_LEN)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (dash ? c != '-' : !hex)
            return false;
    }
    return true;
}

bool layout_is_temp(str file_name)
{
    const str suffix = STR_LIT(".tmp");
    size_t tail = 1 + UUID_LEN + suffix.len; /* ".<uuid>.tmp" */
    if (file_name.len < 2 + tail || file_name.p[0] != '.' || !str_ends(file_name, suffix))
        return false;
    str last = str_cut(file_name, file_name.len - tail);
    return last.p[0] == '.' && is_uuid(str_n(last.p + 1, UUID_LEN));
}

str layout_hint_text(struct arena *a, int64_t id)
{
    return join_id(a, STR_NONE, STR_NONE, id);
}
