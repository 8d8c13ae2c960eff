/* test_snapshot.c - Snapshot JSON: golden files of three clients, every member, hostile ones. */
#define ARENA_BYTES (16 << 20)
#include "tests/unit/manifest/fixture.h"

#include <ftw.h>
#include "manifest/snapshot.h"

static const char minimal[] =
    "{\"version\":3,\"id\":1,\"schemaId\":0,\"baseManifestList\":\"b\",\"deltaManifestList\":\"d\","
    "\"commitUser\":\"u\",\"commitIdentifier\":9223372036854775807,\"commitKind\":\"APPEND\","
    "\"timeMillis\":5,\"totalRecordCount\":7,\"deltaRecordCount\":-2}";

/* `minimal` with its member `key` taken out, and `with` (",\"k\":v") put at the end. */
static const char *variant(const char *without, const char *with)
{
    struct buf b = {0};
    struct json_out o;
    const struct json *v = json_of(minimal);
    json_out_init(&o, &b);
    json_obj(&o);
    JSON_EACH (it, v)
        if (!str_eqz(it->key, without)) {
            json_keys(&o, it->key);
            json_raw(&o, it->raw);
        }
    buf_addz(&b, with);
    json_end(&o);
    return keep(&b);
}

static int decode(const char *text, struct snapshot *ret)
{
    return snapshot_decode(&cx, json_of(text), "snapshot", ret);
}

static struct snapshot good(const char *text)
{
    struct snapshot s;
    if (decode(text, &s) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    return s;
}

static void refuses(const char *text, int code, const char *because)
{
    struct snapshot s = {.id = 4711};
    int rc = decode(text, &s);
    if (rc != code)
        fail_msg("%s: %d %s", text, rc, cx.err.msg);
    assert_int_equal(cx.err.code, code);
    assert_int_equal(s.id, 4711); /* not written */
    if (!strstr(cx.err.msg, because))
        fail_msg("%s: the message is: %s", text, cx.err.msg);
}

static bool opt_equal(struct opt_i64 a, struct opt_i64 b)
{
    return a.has == b.has && a.v == b.v;
}

static bool same_str(str a, str b)
{
    return !a.p == !b.p && str_eq(a, b);
}

static void assert_equal(const struct snapshot *a, const struct snapshot *b)
{
    assert_true(a->version == b->version && a->id == b->id && a->schema_id == b->schema_id);
    assert_true(same_str(a->uuid, b->uuid));
    assert_true(same_str(a->base_manifest_list, b->base_manifest_list));
    assert_true(same_str(a->delta_manifest_list, b->delta_manifest_list));
    assert_true(same_str(a->changelog_manifest_list, b->changelog_manifest_list));
    assert_true(same_str(a->index_manifest, b->index_manifest));
    assert_true(same_str(a->statistics, b->statistics));
    assert_true(opt_equal(a->base_size, b->base_size));
    assert_true(opt_equal(a->delta_size, b->delta_size));
    assert_true(opt_equal(a->changelog_size, b->changelog_size));
    assert_true(same_str(a->commit_user, b->commit_user));
    assert_true(a->commit_identifier == b->commit_identifier);
    assert_int_equal(a->commit_kind, b->commit_kind);
    assert_true(a->time_millis == b->time_millis);
    assert_true(a->total_record_count == b->total_record_count);
    assert_true(a->delta_record_count == b->delta_record_count);
    assert_true(opt_equal(a->changelog_record_count, b->changelog_record_count));
    assert_true(opt_equal(a->watermark, b->watermark));
    assert_true(opt_equal(a->next_row_id, b->next_row_id));
    assert_true(kv_equal(&a->properties, &b->properties));
    assert_true(same_str(a->operation, b->operation));
    assert_true(same_str(a->writer_version, b->writer_version));
    assert_true(snapshot_same(a, b));
}

static str encode(const struct snapshot *s)
{
    struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    snapshot_encode(&o, s);
    return str_of(keep(&b));
}

static int walked;

static int walk(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    if (type != FTW_F || !(strstr(path, "/snapshot/") || strstr(path, "/tag/")))
        return 0;
    struct snapshot a, b;
    str text = slurp(path);
    if (snapshot_decode_file(&cx, text, str_of(path + ftw->base), &a) != 0)
        fail_msg("%s: %s", path, cx.err.msg);
    assert_true(str_eq(a.raw, text)); /* the files have no blanks around them */
    assert_true(a.raw.p != text.p);   /* but do not depend on the caller's buffer */
    assert_int_equal(snapshot_decode_file(&cx, encode(&a), STR_LIT("again"), &b), 0);
    assert_equal(&a, &b);
    walked++;
    return 0;
}

static void test_golden_walk(void **state)
{
    (void)state;
    walked = 0;
    assert_int_equal(nftw("tests/golden/json", walk, 16, FTW_PHYS), 0);
    assert_true(walked >= 20);
}

static void test_golden_java(void **state)
{
    (void)state;
    struct snapshot s;
    str text = slurp("tests/golden/json/java-2.1/pk_cl_input/snapshot/snapshot-1");
    assert_int_equal(snapshot_decode_file(&cx, text, STR_LIT("snapshot-1"), &s), 0);
    assert_int_equal(s.version, 3);
    assert_int_equal(s.id, 1);
    assert_true(str_eqz(s.uuid, "adbaa90b-fd02-4459-927e-d56eca4413bc"));
    assert_true(
        str_eqz(s.changelog_manifest_list, "manifest-list-7b31ebdc-8bbd-4085-9024-8bd45e4ce6c4-2"));
    assert_true(s.changelog_size.has && s.changelog_size.v == 1109);
    assert_true(s.base_size.v == 1006 && s.delta_size.v == 1108);
    assert_int_equal(s.commit_kind, COMMIT_APPEND);
    assert_int_equal(s.commit_identifier, 18);
    assert_true(s.time_millis == 1796040467603);
    assert_true(s.changelog_record_count.has && s.changelog_record_count.v == 2);
    assert_true(s.next_row_id.has && s.next_row_id.v == 0);
    assert_false(s.watermark.has);
    assert_null(s.index_manifest.p);
    assert_true(str_eqz(s.writer_version, "java-2.1-SNAPSHOT-UNKNOWN"));
    /* Java 1.3.1: null for absent, logOffsets, no uuid. */
    text = slurp("tests/golden/json/java-1.3.1/pk_dv32/snapshot/snapshot-10");
    assert_int_equal(snapshot_decode_file(&cx, text, STR_LIT("snapshot-10"), &s), 0);
    assert_null(s.uuid.p);
    assert_null(s.changelog_manifest_list.p);
    assert_int_equal(s.commit_kind, COMMIT_COMPACT);
    assert_int_equal(s.delta_record_count, -4);
    assert_true(s.changelog_record_count.has && s.changelog_record_count.v == 0);
    assert_non_null(s.index_manifest.p);
}

static void test_golden_python(void **state)
{
    (void)state;
    struct snapshot s;
    str text = slurp("tests/golden/json/py/dv_evolution/snapshot/snapshot-4");
    assert_int_equal(snapshot_decode_file(&cx, text, STR_LIT("snapshot-4"), &s), 0);
    assert_true(s.commit_identifier == INT64_MAX);
    assert_int_equal(s.commit_kind, COMMIT_OVERWRITE);
    assert_int_equal(s.next_row_id.v, 15);
    assert_true(str_eqz(s.uuid, "c8a61f08-716d-4c8b-9be7-653a81755aa0"));
    assert_true(str_eqz(s.index_manifest, "index-manifest-921716bb-86c8-4a4a-9136-fb59097acf30"));
}

static void test_minimal(void **state)
{
    (void)state;
    struct snapshot s = good(minimal);
    assert_int_equal(s.id, 1);
    assert_true(s.commit_identifier == INT64_MAX);
    assert_int_equal(s.delta_record_count, -2);
    assert_false(s.base_size.has || s.delta_size.has || s.changelog_size.has);
    assert_false(s.changelog_record_count.has || s.watermark.has || s.next_row_id.has);
    assert_null(s.uuid.p);
    assert_null(s.statistics.p);
    assert_null(s.operation.p);
    assert_int_equal(s.properties.n, 0);
    assert_true(str_eqz(s.raw, minimal));
    assert_true(str_eqz(encode(&s), minimal)); /* the order is Java's */
}

static void test_all_members(void **state)
{
    (void)state;
    const char *text =
        "{\"version\":2,\"uuid\":\"x-1\",\"id\":9,\"schemaId\":4,\"baseManifestList\":\"b\","
        "\"baseManifestListSize\":10,\"deltaManifestList\":\"d\",\"deltaManifestListSize\":0,"
        "\"changelogManifestList\":\"c\",\"changelogManifestListSize\":12,\"indexManifest\":\"i\","
        "\"commitUser\":\"u \xC3\xA9\",\"writerVersion\":\"w\",\"commitIdentifier\":-3,"
        "\"commitKind\":\"ANALYZE\",\"timeMillis\":-1,\"totalRecordCount\":1,\"deltaRecordCount\":"
        "2,"
        "\"changelogRecordCount\":3,\"watermark\":-9223372036854775808,\"statistics\":\"st\","
        "\"properties\":{\"a\":\"1\",\"b\":\"2\"},\"nextRowId\":44,\"operation\":\"MERGE\"}";
    struct snapshot s = good(text);
    assert_true(str_eqz(encode(&s), text));
    assert_true(s.watermark.has && s.watermark.v == INT64_MIN);
    assert_true(s.delta_size.has && s.delta_size.v == 0);
    assert_true(str_eqz(kv_get(&s.properties, "b"), "2"));
    assert_null(kv_get(&s.properties, "c").p);
    assert_true(str_eqz(s.operation, "MERGE"));
    assert_true(str_eqz(s.statistics, "st"));
}

/* Members that nobody here knows are kept in the text, blanks and all. */
static void test_raw(void **state)
{
    (void)state;
    const char *text = variant("", ",\"logOffsets\" : { \"0\":1 }, \"future\": [1.50]");
    struct snapshot s = good(text);
    assert_true(str_eqz(s.raw, text));
    const struct json *v;
    struct buf b = {0};
    buf_addf(&b, "{\"tableId\":null,\"snapshot\": %s ,\"x\":1}", text);
    assert_int_equal(json_parse(&cx, buf_str(&b), "body", &v), 0);
    assert_int_equal(snapshot_decode(&cx, json_get(v, "snapshot"), "snapshot", &s), 0);
    assert_true(str_eqz(s.raw, text));
    buf_done(&b);
}

static void test_null_is_absent(void **state)
{
    (void)state;
    struct snapshot s = good(variant(
        "", ",\"uuid\":null,\"baseManifestListSize\":null,\"changelogManifestList\":null,"
            "\"indexManifest\":null,\"watermark\":null,\"statistics\":null,\"properties\":null,"
            "\"nextRowId\":null,\"operation\":null,\"writerVersion\":null"));
    assert_true(str_eqz(encode(&s), minimal));
}

static void test_required(void **state)
{
    (void)state;
    static const char *const keys[] = {"version",           "id",
                                       "schemaId",          "baseManifestList",
                                       "deltaManifestList", "commitUser",
                                       "commitIdentifier",  "commitKind",
                                       "timeMillis",        "totalRecordCount",
                                       "deltaRecordCount"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char name[64], with[64];
        snprintf(name, sizeof name, "snapshot.%s", keys[i]);
        refuses(variant(keys[i], ""), E_INVAL, name);
        snprintf(with, sizeof with, ",\"%s\":null", keys[i]);
        refuses(variant(keys[i], with), E_INVAL, name);
        snprintf(with, sizeof with, ",\"%s\":[]", keys[i]);
        refuses(variant(keys[i], with), E_INVAL, name);
        snprintf(with, sizeof with, ",\"%s\":true", keys[i]);
        refuses(variant(keys[i], with), E_INVAL, name);
    }
    refuses("[]", E_INVAL, "snapshot must be an object");
    refuses("null", E_INVAL, "snapshot must be an object");
}

static void test_ranges(void **state)
{
    (void)state;
    refuses(variant("id", ",\"id\":0"), E_INVAL, "snapshot.id is 0; it must be between 1 and");
    refuses(variant("id", ",\"id\":-1"), E_INVAL, "snapshot.id is -1");
    refuses(variant("id", ",\"id\":1.5"), E_INVAL, "snapshot.id must be an integer");
    refuses(variant("id", ",\"id\":9223372036854775808"), E_INVAL,
            "snapshot.id must be an integer");
    refuses(variant("id", ",\"id\":\"1\""), E_INVAL, "snapshot.id must be an integer");
    refuses(variant("schemaId", ",\"schemaId\":-1"), E_INVAL, "snapshot.schemaId is -1");
    refuses(variant("version", ",\"version\":0"), E_INVAL, "snapshot.version is 0");
    refuses(variant("version", ",\"version\":4"), E_UNSUPPORTED, "up to version 3");
    refuses(variant("", ",\"baseManifestListSize\":-1"), E_INVAL, "snapshot.baseManifestListSize");
    refuses(variant("", ",\"deltaManifestListSize\":-1"), E_INVAL,
            "snapshot.deltaManifestListSize");
    refuses(variant("", ",\"changelogManifestListSize\":-1"), E_INVAL, "changelogManifestListSize");
    refuses(variant("", ",\"nextRowId\":-1"), E_INVAL, "snapshot.nextRowId is -1");
    refuses(variant("", ",\"watermark\":\"1\""), E_INVAL, "snapshot.watermark must be an integer");
    refuses(variant("commitIdentifier", ",\"commitIdentifier\":9223372036854775808"), E_INVAL,
            "snapshot.commitIdentifier");
    assert_true(good(variant("id", ",\"id\":9223372036854775807")).id == INT64_MAX);
    assert_true(good(variant("totalRecordCount", ",\"totalRecordCount\":-9223372036854775808"))
                    .total_record_count == INT64_MIN);
}

static void test_kinds(void **state)
{
    (void)state;
    static const char *const names[] = {"APPEND", "COMPACT", "OVERWRITE", "ANALYZE"};
    for (size_t i = 0; i < 4; i++) {
        char with[64];
        snprintf(with, sizeof with, ",\"commitKind\":\"%s\"", names[i]);
        struct snapshot s = good(variant("commitKind", with));
        assert_int_equal(s.commit_kind, i);
        assert_string_equal(commit_kind_name(s.commit_kind), names[i]);
    }
    refuses(
        variant("commitKind", ",\"commitKind\":\"append\""), E_INVAL,
        "snapshot.commitKind is \"append\"; it must be one of APPEND, COMPACT, OVERWRITE, ANALYZE");
    refuses(variant("commitKind", ",\"commitKind\":\"\""), E_INVAL, "APPEND, COMPACT");
}

/* These become paths. */
static void test_hostile_names(void **state)
{
    (void)state;
    static const char *const keys[] = {"baseManifestList", "deltaManifestList",
                                       "changelogManifestList", "indexManifest", "statistics"};
    static const char *const bad[] = {"", ".", "..", "../../etc/passwd", "a/b", "/abs", "a/"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        for (size_t j = 0; j < sizeof bad / sizeof *bad; j++) {
            char with[128], name[64];
            snprintf(with, sizeof with, ",\"%s\":\"%s\"", keys[i], bad[j]);
            snprintf(name, sizeof name, "snapshot.%s is \"%s\"", keys[i], bad[j]);
            refuses(variant(keys[i], with), E_INVAL, name);
        }
        char with[512];
        int n = snprintf(with, sizeof with, ",\"%s\":\"", keys[i]);
        memset(with + n, 'x', 256);
        memcpy(with + n + 256, "\"", 2);
        refuses(variant(keys[i], with), E_INVAL, keys[i]);
        memcpy(with + n + 255, "\"", 2); /* 255 bytes are a name */
        good(variant(keys[i], with));
    }
}

static void test_properties(void **state)
{
    (void)state;
    struct snapshot s = good(variant("", ",\"properties\":{\"n\":5,\"b\":true,\"\":\"e\"}"));
    assert_int_equal(s.properties.n, 3);
    assert_true(str_eqz(kv_get(&s.properties, "n"), "5"));
    assert_true(str_eqz(kv_get(&s.properties, "b"), "true"));
    assert_true(str_eqz(kv_get(&s.properties, ""), "e"));
    refuses(variant("", ",\"properties\":[]"), E_INVAL, "snapshot.properties must be an object");
    refuses(variant("", ",\"properties\":{\"a\":null}"), E_INVAL, "snapshot.properties.a must be");
    refuses(variant("", ",\"properties\":{\"a\":{}}"), E_INVAL, "snapshot.properties.a must be");
    assert_int_equal(good(variant("", ",\"properties\":{}")).properties.n, 0);
}

static void test_uuid(void **state)
{
    (void)state;
    refuses(variant("", ",\"uuid\":\"\""), E_INVAL, "snapshot.uuid is empty");
    refuses(variant("", ",\"uuid\":7"), E_INVAL, "snapshot.uuid must be a string");
}

static void test_same(void **state)
{
    (void)state;
    struct snapshot plain = good(minimal), other;
    struct snapshot u1 = good(variant("", ",\"uuid\":\"1\""));
    struct snapshot u2 = good(variant("", ",\"uuid\":\"2\""));
    assert_true(snapshot_same(&plain, &plain));
    assert_true(snapshot_same(&u1, &u1));
    assert_false(snapshot_same(&u1, &u2));
    assert_false(snapshot_same(&u1, &plain)); /* one has it, the other not */
    assert_false(snapshot_same(&plain, &u1));
    /* With a uuid nothing else counts; the same commit may come with other bytes. */
    other = good(variant("timeMillis", ",\"timeMillis\":6,\"uuid\":\"1\""));
    assert_true(snapshot_same(&u1, &other));
    /* Without one, each of these does. */
    static const char *const diffs[][2] = {
        {"id", ",\"id\":2"},
        {"baseManifestList", ",\"baseManifestList\":\"b2\""},
        {"deltaManifestList", ",\"deltaManifestList\":\"d2\""},
        {"commitUser", ",\"commitUser\":\"u2\""},
        {"commitIdentifier", ",\"commitIdentifier\":1"},
    };
    for (size_t i = 0; i < sizeof diffs / sizeof *diffs; i++) {
        other = good(variant(diffs[i][0], diffs[i][1]));
        assert_false(snapshot_same(&plain, &other));
        assert_false(snapshot_same(&other, &plain));
    }
    other = good(variant("timeMillis", ",\"timeMillis\":6"));
    assert_true(snapshot_same(&plain, &other));
}

static void test_bad_files(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x", "{", "[]", "{}", "{\"id\":1}", "null"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct snapshot s = {.id = 4711};
        ctx_reset_err(&cx);
        int rc = snapshot_decode_file(&cx, str_of(bad[i]), STR_LIT("t/snapshot/snapshot-3"), &s);
        assert_int_equal(rc, E_CORRUPT);
        assert_int_equal(cx.err.code, E_CORRUPT);
        assert_int_equal(s.id, 4711);
        assert_int_equal(strncmp(cx.err.msg, "t/snapshot/snapshot-3: ", 23), 0);
    }
    struct snapshot s;
    assert_int_equal(snapshot_decode_file(&cx, STR_NONE, STR_LIT("f"), &s), E_CORRUPT);
    const char *newer = variant("version", ",\"version\":4");
    assert_int_equal(snapshot_decode_file(&cx, str_of(newer), STR_LIT("f"), &s), E_UNSUPPORTED);
    /* Any cut of a good text is refused, and none crashes. */
    for (size_t n = 0; n < sizeof minimal - 1; n++)
        assert_int_equal(snapshot_decode_file(&cx, str_n(minimal, n), STR_LIT("f"), &s), E_CORRUPT);
}

static void test_no_memory(void **state)
{
    (void)state;
    const char *text = variant("", ",\"properties\":{\"a\":\"\\u0041\"}");
    bool failed = false;
    for (size_t max = 0;; max += 64) {
        struct ctx small;
        struct snapshot s = {.id = 4711};
        ctx_init(&small, max);
        int rc = snapshot_decode_file(&small, str_of(text), STR_LIT("f"), &s);
        assert_true(rc == 0 || rc == E_NOMEM);
        assert_true(rc == 0 ? s.id == 1 : s.id == 4711);
        failed |= rc < 0;
        ctx_done(&small);
        if (rc == 0)
            break;
        assert_true(max < 1 << 20);
    }
    assert_true(failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_golden_walk), T(test_golden_java), T(test_golden_python),  T(test_minimal),
        T(test_all_members), T(test_raw),         T(test_null_is_absent), T(test_required),
        T(test_ranges),      T(test_kinds),       T(test_hostile_names),  T(test_properties),
        T(test_uuid),        T(test_same),        T(test_bad_files),      T(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
