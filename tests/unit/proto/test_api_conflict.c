/* test_api_conflict.c - bodies of the conflict routes: ids and tokens, and the answers byte for byte. */
#include "tests/unit/proto/api_fixture.h"

#include "proto/api/api_conflict.h"

static void ids_and_tokens(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "0", "-1", "x", "1x", " 1", "1.0", "9223372036854775808", "99999999999999999999999999"};
    int64_t id = 77;
    assert_int_equal(api_conflict_token(&cx, STR_NONE, &id), 0);
    assert_int_equal(id, 0);
    id = 77;
    assert_int_equal(api_conflict_token(&cx, STR_LIT(""), &id), 0);
    assert_int_equal(id, 0);
    assert_int_equal(api_conflict_token(&cx, STR_LIT("12"), &id), 0);
    assert_int_equal(id, 12);
    assert_int_equal(api_conflict_id(&cx, STR_LIT("9223372036854775807"), &id), 0);
    assert_true(id == INT64_MAX);
    for (size_t i = 0; i < N(bad); i++) {
        id = 77;
        assert_int_equal(api_conflict_token(&cx, str_of(bad[i]), &id), E_INVAL);
        assert_non_null(strstr(cx.err.msg, "pageToken"));
        ctx_reset_err(&cx);
        assert_int_equal(api_conflict_id(&cx, str_of(bad[i]), &id), E_NOTFOUND);
        assert_int_equal(cx.err.res, RES_CONFLICT);
        assert_string_equal(cx.err.res_name, bad[i]);
        ctx_reset_err(&cx);
        assert_int_equal(id, 77);
    }
    assert_int_equal(api_conflict_id(&cx, STR_LIT(""), &id), E_NOTFOUND);
    ctx_reset_err(&cx);
}

#define FULL                                                                                       \
    "{\"id\":7,\"code\":\"file-gone\",\"accepted\":true,\"count\":10,\"firstTimeMillis\":1,"       \
    "\"lastTimeMillis\":2,\"snapshotId\":3,\"commitUser\":\"u\\\"\",\"commitIdentifier\":"         \
    "9223372036854775807,\"commitKind\":\"COMPACT\",\"principal\":\"ann\",\"partition\":"          \
    "\"dt=1\",\"bucket\":-2,\"file\":\"f\",\"otherSnapshotId\":2,\"otherCommitUser\":\"\","        \
    "\"message\":\"m\xEF\xBF\xBD\"}"
#define BARE                                                                                       \
    "{\"id\":6,\"code\":\"manifest-bad\",\"accepted\":false,\"count\":1,\"firstTimeMillis\":0,"    \
    "\"lastTimeMillis\":0,\"snapshotId\":1,\"commitUser\":\"\",\"commitIdentifier\":-1,"           \
    "\"commitKind\":\"APPEND\",\"principal\":null,\"partition\":null,\"bucket\":null,"             \
    "\"file\":null,\"otherSnapshotId\":null,\"otherCommitUser\":null,\"message\":\"\"}"

static const struct api_conflict two[] = {
    {.id = 7,
     .code = STR_LIT("file-gone"),
     .accepted = true,
     .count = 10,
     .first_ms = 1,
     .last_ms = 2,
     .snapshot_id = 3,
     .identifier = INT64_MAX,
     .commit_user = STR_LIT("u\""),
     .kind = STR_LIT("COMPACT"),
     .principal = STR_LIT("ann"),
     .placed = true,
     .partition = STR_LIT("dt=1"),
     .bucket = -2,
     .file = STR_LIT("f"),
     .other_snapshot = 2,
     .other_user = STR_LIT(""),
     .message = STR_LIT("m\xff")},
    {.id = 6,
     .code = STR_LIT("manifest-bad"),
     .count = 1,
     .snapshot_id = 1,
     .identifier = -1,
     .commit_user = STR_LIT(""),
     .kind = STR_LIT("APPEND"),
     .principal = STR_LIT(""),
     .partition = STR_LIT("not placed"),
     .bucket = 5,
     .file = STR_LIT(""),
     .other_user = STR_LIT("nobody"),
     .message = STR_LIT("")},
};

static void one(void **state)
{
    (void)state;
    assert_int_equal(api_conflict_encode(&cx, &out, &two[0]), 0);
    assert_string_equal(buf_z(&out), FULL);
    buf_clear(&out);
    assert_int_equal(api_conflict_encode(&cx, &out, &two[1]), 0);
    assert_string_equal(buf_z(&out), BARE);
}

static void page(void **state)
{
    (void)state;
    assert_int_equal(api_conflicts_encode(&cx, &out, two, 2, 3), 0);
    assert_string_equal(buf_z(&out), "{\"conflicts\":[" FULL "," BARE "],\"nextPageToken\":null}");
    buf_clear(&out);
    assert_int_equal(api_conflicts_encode(&cx, &out, two, 1, 1), 0);
    assert_string_equal(buf_z(&out), "{\"conflicts\":[" FULL "],\"nextPageToken\":\"7\"}");
    buf_clear(&out);
    assert_int_equal(api_conflicts_encode(&cx, &out, two, 0, 1), 0);
    assert_string_equal(buf_z(&out), "{\"conflicts\":[],\"nextPageToken\":null}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(ids_and_tokens), TEST(one), TEST(page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
