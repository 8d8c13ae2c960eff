/* test_api_partition.c - bodies of the partition routes: what clients send, what nobody may send, and
 * what we answer, byte for byte. */
#define ARENA_BYTES (1 << 24)
#include "tests/unit/proto/api_fixture.h"

#include "proto/api/api_partition.h"

static void create(void **state)
{
    (void)state;
    struct api_partitions_create r;
    /* pypaimon 2.1.0 */
    assert_int_equal(
        api_partitions_create_decode(
            &cx, parse("{\"partitionSpecs\": [{\"dt\": \"a\"}], \"ignoreIfExists\": true}"), &r),
        0);
    assert_int_equal(r.specs->n, 1);
    assert_true(r.ignore_if_exists);
    assert_false(r.replace);
    assert_int_equal(r.n_stats, 0);
    /* Java 2.1 */
    assert_int_equal(
        api_partitions_create_decode(
            &cx,
            parse("{\"partitionSpecs\":[],\"ignoreIfExists\":false,\"partitionStatistics\":[{"
                  "\"spec\":"
                  "{\"dt\":\"a\"},\"recordCount\":3,\"fileSizeInBytes\":-1,\"fileCount\":1,"
                  "\"lastFileCreationTime\":1000,\"totalBuckets\":-1},{}],\"replaceStatistics\":"
                  "true}"),
            &r),
        0);
    assert_false(r.ignore_if_exists);
    assert_true(r.replace);
    assert_int_equal(r.n_stats, 2);
    assert_int_equal(r.stats[0].records, 3);
    assert_int_equal(r.stats[0].file_size_bytes, -1);
    assert_int_equal(r.stats[0].file_count, 1);
    assert_int_equal(r.stats[0].last_file_ms, 1000);
    assert_int_equal(r.stats[0].buckets, -1);
    assert_int_equal(r.stats[0].spec->n, 1);
    assert_null(r.stats[1].spec);
    assert_int_equal(api_partitions_create_decode(
                         &cx,
                         parse("{\"partitionSpecs\":[],\"ignoreIfExists\":null,"
                               "\"partitionStatistics\":null,\"replaceStatistics\":null}"),
                         &r),
                     0);
    assert_true(r.ignore_if_exists && !r.replace);
}

static void drop_specs_filter(void **state)
{
    (void)state;
    struct api_partitions_drop d;
    struct api_partitions_filter fl;
    const struct json *specs;
    assert_int_equal(api_partitions_drop_decode(&cx, parse("{\"partitionSpecs\":[{}]}"), &d), 0);
    assert_true(d.ignore_if_not_exists);
    assert_int_equal(api_partitions_drop_decode(
                         &cx, parse("{\"partitionSpecs\":[],\"ignoreIfNotExists\":false}"), &d),
                     0);
    assert_false(d.ignore_if_not_exists);
    assert_int_equal(api_partitions_specs_decode(&cx, parse("{\"specs\":[{},{}]}"), 2, &specs), 0);
    assert_int_equal(specs->n, 2);
    assert_int_equal(api_partitions_specs_decode(&cx, parse("{\"specs\":[{},{}]}"), 1, &specs),
                     E_INVAL);
    assert_non_null(strstr(cx.err.msg, "at most 1"));
    ctx_reset_err(&cx);
    assert_int_equal(
        api_partitions_filter_decode(&cx,
                                     parse("{\"filter\":\"{\\\"a\\\":1}\",\"partitionNamePattern\":"
                                           "\"dt%\",\"maxResults\":7,\"pageToken\":\"t\"}"),
                                     &fl),
        0);
    assert_true(str_eqz(fl.pattern, "dt%") && str_eqz(fl.token, "t") && fl.max_results == 7);
    assert_int_equal(api_partitions_filter_decode(&cx, parse("{\"filter\":\"null\"}"), &fl), 0);
    assert_true(!fl.pattern.p && !fl.token.p && fl.max_results == 0);
}

enum what { CREATE, DROP, SPECS, FILTER };
static const struct {
    enum what what;
    const char *body, *part; /* of the message */
} bad[] = {
    {CREATE, "{}", "partitionSpecs is missing"},
    {CREATE, "{\"partitionSpecs\":null}", "partitionSpecs"},
    {CREATE, "{\"partitionSpecs\":{}}", "partitionSpecs must be an array"},
    {CREATE, "{\"partitionSpecs\":[[]]}", "partitionSpecs[0] must be an object"},
    {CREATE, "{\"partitionSpecs\":[{},null]}", "partitionSpecs[1] must be an object"},
    {CREATE, "{\"partitionSpecs\":[{\"dt\":1}]}", "partitionSpecs[0].dt must be a string"},
    {CREATE, "{\"partitionSpecs\":[{\"dt\":null}]}", "partitionSpecs[0].dt must be a string"},
    {CREATE, "{\"partitionSpecs\":[],\"ignoreIfExists\":1}", "ignoreIfExists must be"},
    {CREATE, "{\"partitionSpecs\":[],\"replaceStatistics\":\"x\"}", "replaceStatistics must be"},
    {CREATE, "{\"partitionSpecs\":[],\"partitionStatistics\":{}}", "partitionStatistics must be"},
    {CREATE, "{\"partitionSpecs\":[],\"partitionStatistics\":[1]}",
     "partitionStatistics[0] must be"},
    {CREATE, "{\"partitionSpecs\":[],\"partitionStatistics\":[{\"spec\":{\"a\":1}}]}",
     "partitionStatistics[0].spec.a must be a string"},
    {DROP, "{}", "partitionSpecs"},
    {DROP, "{\"partitionSpecs\":[],\"ignoreIfNotExists\":\"\"}", "ignoreIfNotExists must be"},
    {SPECS, "{}", "specs"},
    {SPECS, "{\"specs\":\"dt\"}", "specs must be an array"},
    {SPECS, "{\"specs\":[\"dt\"]}", "specs[0] must be an object"},
    {FILTER, "{}", "filter is required"},
    {FILTER, "{\"filter\":\"\"}", "filter is required"},
    {FILTER, "{\"filter\":null}", "filter is required"},
    {FILTER, "{\"filter\":{}}", "filter must be a string"},
    {FILTER, "{\"filter\":\"dt = 1\"}", "filter"},
    {FILTER, "{\"filter\":\"{}\",\"maxResults\":\"1\"}", "maxResults must be"},
    {FILTER, "{\"filter\":\"{}\",\"maxResults\":1.5}", "maxResults must be"},
    {FILTER, "{\"filter\":\"{}\",\"pageToken\":1}", "pageToken must be"},
    {FILTER, "{\"filter\":\"{}\",\"partitionNamePattern\":[]}", "partitionNamePattern must be"},
    {CREATE, "{\"partitionSpecs\":[],\"partitionStatistics\":[{},{\"totalBuckets\":2147483648}]}",
     "partitionStatistics[1].totalBuckets does not fit"},
    {CREATE, "{\"partitionSpecs\":[],\"partitionStatistics\":[{\"totalBuckets\":-2147483649}]}",
     "partitionStatistics[0].totalBuckets does not fit"},
    {CREATE, "{\"partitionSpecs\":[],\"partitionStatistics\":[{},null]}",
     "partitionStatistics[1] must be an object"},
    {CREATE, "{\"partitionSpecs\":[],\"partitionStatistics\":[{\"recordCount\":1.0}]}",
     "partitionStatistics[0].recordCount must be an integer"},
    {CREATE, "{\"partitionSpecs\":[],\"partitionStatistics\":[{\"fileCount\":[]}]}",
     "partitionStatistics[0].fileCount must be an integer"},
    {CREATE, "{\"partitionSpecs\":[],\"partitionStatistics\":[{\"fileSizeInBytes\":true}]}",
     "partitionStatistics[0].fileSizeInBytes must be"},
    {CREATE, "{\"partitionSpecs\":[],\"partitionStatistics\":[{\"lastFileCreationTime\":\"\"}]}",
     "partitionStatistics[0].lastFileCreationTime must be"},
    {CREATE, "{\"partitionSpecs\":[],\"partitionStatistics\":[{\"spec\":[]}]}",
     "partitionStatistics[0].spec must be an object"},
    {CREATE, "{\"partitionSpecs\":[],\"partitionStatistics\":[{\"spec\":{\"dt\":1}}]}",
     "partitionStatistics[0].spec.dt must be a string"},
};

static int decode(enum what what, const struct json *body)
{
    struct api_partitions_create c;
    struct api_partitions_drop d;
    struct api_partitions_filter fl;
    const struct json *specs;
    switch (what) {
    case CREATE:
        return api_partitions_create_decode(&cx, body, &c);
    case DROP:
        return api_partitions_drop_decode(&cx, body, &d);
    case SPECS:
        return api_partitions_specs_decode(&cx, body, 1000, &specs);
    case FILTER:
        break;
    }
    return api_partitions_filter_decode(&cx, body, &fl);
}

static void bad_bodies(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(bad); i++) {
        int rc = decode(bad[i].what, parse(bad[i].body));
        if (rc != E_INVAL || !strstr(cx.err.msg, bad[i].part))
            fail_msg("%s: %s, \"%s\"", bad[i].body, err_name(rc), cx.err.msg);
        ctx_reset_err(&cx);
    }
}

static void answers(void **state)
{
    (void)state;
    bool there[] = {true, false, true};
    const struct json *specs = parse("[{\"a\":\"1\"},{\"a\": \"2\"},{}]");
    struct api_partition p = {.spec_json = STR_LIT("{\"a\":\"1\"}"),
                              .records = 1,
                              .file_size_bytes = INT64_MAX,
                              .file_count = -1,
                              .last_file_ms = 4,
                              .buckets = 5,
                              .done = true,
                              .created_ms = 6,
                              .updated_ms = 7,
                              .created_by = STR_LIT("x\"y"),
                              .updated_by = STR_LIT("")};
    assert_int_equal(api_partitions_encode(&cx, &out, &p, 1, STR_LIT("a=1")), 0);
    assert_string_equal(
        buf_z(&out), "{\"partitions\":[{\"spec\":{\"a\":\"1\"},\"recordCount\":1,"
                     "\"fileSizeInBytes\":9223372036854775807,\"fileCount\":-1,"
                     "\"lastFileCreationTime\":4,\"totalBuckets\":5,\"done\":true,\"createdAt\":6,"
                     "\"createdBy\":\"x\\\"y\",\"updatedAt\":7,\"updatedBy\":\"\"}],"
                     "\"nextPageToken\":\"a=1\"}");
    buf_clear(&out);
    assert_int_equal(api_partitions_encode(&cx, &out, NULL, 0, STR_NONE), 0);
    assert_string_equal(buf_z(&out), "{\"partitions\":[],\"nextPageToken\":null}");
    buf_clear(&out);
    assert_int_equal(api_partitions_split_encode(&cx, &out, specs, there, "yes", "no"), 0);
    assert_string_equal(buf_z(&out), "{\"yes\":[{\"a\":\"1\"},{}],\"no\":[{\"a\": \"2\"}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(create),
        TEST(drop_specs_filter),
        TEST(bad_bodies),
        TEST(answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
