/* test_api_tag.c - bodies of the tag, consumer, token and auth routes: what is taken, what is not,
 * and the answers byte for byte. */
#include "tests/unit/proto/api_fixture.h"

#include "proto/api/api_access.h"
#include "proto/api/api_consumer.h"
#include "proto/api/api_tag.h"

#define X10  "xxxxxxxxxx"
#define X50  X10 X10 X10 X10 X10
#define X246 X50 X50 X50 X50 X10 X10 X10 X10 "xxxxxx"
#define X251 X246 "xxxxx"

/* The code E_INVAL and a message that names the member. */
static void assert_bad(int rc, const char *text, const char *member)
{
    if (rc != E_INVAL)
        fail_msg("%s: %s", text, err_name(rc));
    if (!strstr(cx.err.msg, member))
        fail_msg("%s: \"%s\" does not name %s", text, cx.err.msg, member);
    ctx_reset_err(&cx);
}

static void tag_create(void **state)
{
    (void)state;
    static const struct {
        const char *body, *name, *retained;
        bool has;
        int64_t id;
    } good[] = {
        /* pypaimon 2.1.0 */
        {"{\"tagName\": \"t1\", \"snapshotId\": null, \"timeRetained\": null}", "t1", NULL, false,
         0},
        {"{\"tagName\":\"t1\",\"snapshotId\":7,\"timeRetained\":\"1d\"}", "t1", "1d", true, 7},
        {"{\"tagName\":\"\\u00e4\"}", "\xc3\xa4", NULL, false, 0},
        {"{\"tagName\":\"x\",\"snapshotId\":0,\"ignoreIfExists\":true}", "x", NULL, true, 0},
        {"{\"tagName\":\"x\",\"snapshotId\":-9223372036854775808}", "x", NULL, true, INT64_MIN},
        {"{\"tagName\":\" a b \",\"timeRetained\":\"\"}", " a b ", "", false, 0},
        {"{\"tagName\":\"123\"}", "123", NULL, false, 0},
        {"{\"tagName\":\"" X251 "\"}", X251, NULL, false, 0},
    };
    for (size_t i = 0; i < N(good); i++) {
        struct api_tag_create r;
        if (api_tag_create_decode(&cx, parse(good[i].body), &r) != 0)
            fail_msg("%s: %s", good[i].body, cx.err.msg);
        assert_str(r.name, good[i].name);
        assert_str(r.time_retained, good[i].retained);
        assert_int_equal(r.has_snapshot_id, good[i].has);
        assert_int_equal(r.snapshot_id, good[i].id);
    }
}

static void tag_create_bad(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"{}", "tagName"},
        {"{\"tagName\":null}", "tagName"},
        {"{\"tagName\":1}", "tagName"},
        {"{\"tagName\":\"\"}", "tagName"},
        {"{\"tagName\":\" \\t\\n\\r\\u001f\"}", "tagName"},
        {"{\"tagName\":\".\"}", "tagName"},
        {"{\"tagName\":\"..\"}", "tagName"},
        {"{\"tagName\":\"a/b\"}", "tagName"},
        {"{\"tagName\":\"../a\"}", "tagName"},
        {"{\"tagName\":\"" X251 "x\"}", "tagName"},
        {"{\"tagName\":\"" X251 X251 "\"}", "tagName"},
        {"{\"tagName\":\"x\",\"snapshotId\":\"1\"}", "snapshotId"},
        {"{\"tagName\":\"x\",\"snapshotId\":1.5}", "snapshotId"},
        {"{\"tagName\":\"x\",\"snapshotId\":9223372036854775808}", "snapshotId"},
        {"{\"tagName\":\"x\",\"timeRetained\":1}", "timeRetained"},
        {"{\"tagName\":\"x\",\"timeRetained\":{}}", "timeRetained"},
    };
    for (size_t i = 0; i < N(bad); i++) {
        struct api_tag_create r = {.snapshot_id = 77};
        assert_bad(api_tag_create_decode(&cx, parse(bad[i][0]), &r), bad[i][0], bad[i][1]);
        assert_int_equal(r.snapshot_id, 77);
    }
}

static void tag_answers(void **state)
{
    (void)state;
    struct api_tag t = {.name = STR_LIT("a\"b"), .snapshot_json = STR_LIT("{ \"id\" : 1 }")};
    assert_int_equal(api_tag_encode(&cx, &out, &t), 0);
    assert_str(buf_str(&out), "{\"tagName\":\"a\\\"b\",\"snapshot\":{ \"id\" : 1 },"
                              "\"tagCreateTime\":null,\"tagTimeRetained\":null}");
    buf_clear(&out);
    t.has_created = true;
    t.created_ms = -1;
    t.time_retained = STR_LIT("1d");
    assert_int_equal(api_tag_encode(&cx, &out, &t), 0);
    assert_str(buf_str(&out), "{\"tagName\":\"a\\\"b\",\"snapshot\":{ \"id\" : 1 },"
                              "\"tagCreateTime\":-1,\"tagTimeRetained\":\"1d\"}");
}

static void consumer_reset(void **state)
{
    (void)state;
    struct api_consumer_reset r;
    assert_int_equal(
        api_consumer_reset_decode(&cx, parse("{\"consumerId\":\"c\",\"nextSnapshotId\":3}"), &r),
        0);
    assert_str(r.id, "c");
    assert_true(r.has_next);
    assert_int_equal(r.next_snapshot, 3);
    static const char *const deletes[] = {"{\"consumerId\":\"c\",\"nextSnapshotId\":null}",
                                          "{\"consumerId\":\"c\"}"};
    for (size_t i = 0; i < N(deletes); i++) {
        assert_int_equal(api_consumer_reset_decode(&cx, parse(deletes[i]), &r), 0);
        assert_false(r.has_next);
    }
    assert_int_equal(api_consumer_reset_decode(&cx, parse("{\"consumerId\":\"" X246 "\"}"), &r), 0);
    static const char *const bad[][2] = {
        {"{}", "consumerId"},
        {"{\"consumerId\":null}", "consumerId"},
        {"{\"consumerId\":1}", "consumerId"},
        {"{\"consumerId\":\"\"}", "consumerId"},
        {"{\"consumerId\":\"..\"}", "consumerId"},
        {"{\"consumerId\":\"a/b\"}", "consumerId"},
        {"{\"consumerId\":\"" X246 "x\"}", "consumerId"},
        {"{\"consumerId\":\"c\",\"nextSnapshotId\":\"1\"}", "nextSnapshotId"},
        {"{\"consumerId\":\"c\",\"nextSnapshotId\":1.5}", "nextSnapshotId"},
        {"{\"consumerId\":\"c\",\"nextSnapshotId\":true}", "nextSnapshotId"},
        {"{\"consumerId\":\"c\",\"nextSnapshotId\":9223372036854775808}", "nextSnapshotId"},
    };
    for (size_t i = 0; i < N(bad); i++) {
        r.next_snapshot = 77;
        assert_bad(api_consumer_reset_decode(&cx, parse(bad[i][0]), &r), bad[i][0], bad[i][1]);
        assert_int_equal(r.next_snapshot, 77);
    }
}

static void consumer_answers(void **state)
{
    (void)state;
    static const struct api_consumer v[] = {{{"a", 1}, 1}, {{"b", 1}, INT64_MAX}};
    static const struct {
        size_t n;
        int64_t limit;
        const char *want;
    } pages[] = {
        {0, 10, "{\"consumers\":[],\"nextPageToken\":null}"},
        {1, 1,
         "{\"consumers\":[{\"consumerId\":\"a\",\"nextSnapshot\":1}],\"nextPageToken\":\"a\"}"},
        {2, 3,
         "{\"consumers\":[{\"consumerId\":\"a\",\"nextSnapshot\":1},{\"consumerId\":\"b\","
         "\"nextSnapshot\":9223372036854775807}],\"nextPageToken\":null}"},
    };
    for (size_t i = 0; i < N(pages); i++) {
        buf_clear(&out);
        assert_int_equal(api_consumers_encode(&cx, &out, v, pages[i].n, pages[i].limit), 0);
        assert_str(buf_str(&out), pages[i].want);
    }
}

static void access_bodies(void **state)
{
    (void)state;
    const struct json *select;
    static const char *const all[] = {"{}", "{\"select\": null}"};
    for (size_t i = 0; i < N(all); i++) {
        assert_int_equal(api_auth_decode(&cx, parse(all[i]), &select), 0);
        assert_null(select);
    }
    assert_int_equal(api_auth_decode(&cx, parse("{\"select\": [\"a\", \"b\"]}"), &select), 0);
    assert_int_equal(select->n, 2);
    static const char *const bad[] = {"{\"select\":\"a\"}", "{\"select\":[1]}",
                                      "{\"select\":[null]}", "{\"select\":{}}", "{\"select\":1}"};
    for (size_t i = 0; i < N(bad); i++)
        assert_bad(api_auth_decode(&cx, parse(bad[i]), &select), bad[i], "select");
    assert_int_equal(api_auth_encode(&cx, &out), 0);
    assert_str(buf_str(&out), "{}");
    buf_clear(&out);
    assert_int_equal(api_token_encode(&cx, &out, 1796040323424), 0);
    assert_str(buf_str(&out), "{\"token\":{},\"expiresAtMillis\":1796040323424}");
}

static void answers_that_do_not_fit(void **state)
{
    (void)state;
    struct api_tag t = {.name = STR_LIT("a"), .snapshot_json = STR_LIT("{}")};
    static const struct api_consumer v[] = {{{"a", 1}, 1}};
    buf_init(&out, 16);
    assert_int_equal(api_tag_encode(&cx, &out, &t), E_INVAL);
    buf_done(&out);
    buf_init(&out, 16);
    assert_int_equal(api_consumers_encode(&cx, &out, v, 1, 2), E_INVAL);
    buf_done(&out);
    buf_init(&out, 16);
    assert_int_equal(api_token_encode(&cx, &out, 1), E_INVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(tag_create),
                                       TEST(tag_create_bad),
                                       TEST(tag_answers),
                                       TEST(consumer_reset),
                                       TEST(consumer_answers),
                                       TEST(access_bodies),
                                       TEST(answers_that_do_not_fit)};
    return cmocka_run_group_tests_name("api_tag", tests, NULL, NULL);
}
