/* test_native.c - native commits: what they write, what they refuse, replays, races, failures at each
 * call and a crash at each step. */
#include "tests/unit/catalog/fixture.h"

#include "tests/unit/catalog/native_fixture.h"

static struct fx f;

static int setup(void **state)
{
    (void)state;
    fx_new(&f, 0);
    fx_table(&f, "t");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

static void again(unsigned kind)
{
    fx_done(&f);
    fx_new(&f, kind);
    fx_table(&f, "t");
}

/* One file of 10 rows in bucket 0 of the fixture's table, keys 1 to 9. */
#define FILE_OF(name, more)                                                                        \
    "{\"bucket\":0,\"fileName\":\"" name                                                           \
    "\",\"fileSize\":100,\"rowCount\":10,\"minKey\":{\"k\":1},"                                    \
    "\"maxKey\":{\"k\":9},\"minSequenceNumber\":1,\"maxSequenceNumber\":10" more "}"
#define ADD(name)       "{\"add\":[" FILE_OF(name, "") "]}"
#define USER(who, rest) "{\"commitUser\":\"" who "\",\"commitIdentifier\":7," rest "}"

static void put(const char *name)
{
    nat_data(&f, "t", fx_text(&f, "bucket-0/%s", name).p, 100);
}

static struct nat commit(const char *body)
{
    struct nat a = {0};
    OK(&f, nat(&f, "t", body, &a));
    assert_false(a.replayed);
    SAME(fx_read(&f, fx_snapshot_path(&f, "t", a.id)), a.json);
    nat_state_right(&f, "t");
    return a;
}

/* Nothing happened: no snapshot, no file. */
static void refuses(int code, const char *part, const char *body)
{
    size_t before = nat_files(&f, "t");
    int64_t head = fx_head_id(&f, "t");
    int rc = nat(&f, "t", body, NULL);
    if (rc != code || !strstr(f.err.msg, part))
        fail_msg("%s: %s, \"%s\"", body, err_name(rc), f.err.msg);
    assert_int_equal(nat_files(&f, "t"), before);
    assert_int_equal(fx_head_id(&f, "t"), head);
}

/* --- what is written -------------------------------------------------------------------------- */

static void the_first_commit(void **state)
{
    (void)state;
    put("a");
    struct nat a =
        commit("{\"watermark\":5,\"properties\":{\"x\":\"y\",\"a\":\"b\"},\"operation\":\"WRITE\","
               "\"add\":[" FILE_OF("a", "") "]}");
    struct snapshot s = nat_snapshot(&f, a.json);
    size_t n;
    assert_int_equal(a.id, 1);
    assert_int_equal(s.id, 1);
    assert_int_equal(s.version, 3);
    assert_int_equal(s.schema_id, 0);
    assert_int_equal(s.commit_kind, COMMIT_APPEND);
    assert_int_equal(s.commit_identifier, INT64_MAX);
    assert_int_equal(s.commit_user.len, 36);
    assert_int_equal(s.uuid.len, 36);
    assert_int_equal(s.total_record_count, 10);
    assert_int_equal(s.delta_record_count, 10);
    assert_true(s.watermark.has && s.watermark.v == 5);
    SAME(kv_get(&s.properties, "x"), S("y"));
    SAME(s.operation, S("WRITE"));
    assert_null(s.index_manifest.p);
    assert_null(s.changelog_manifest_list.p);
    assert_int_equal(nat_files(&f, "t"), 3); /* a manifest, two lists */
    (void)nat_entries(&f, "t", s.base_manifest_list, &n);
    assert_int_equal(n, 0);
    struct manifest_entry *e = nat_entries(&f, "t", s.delta_manifest_list, &n);
    assert_int_equal(n, 1);
    const struct data_file *d = &e[0].file;
    SAME(d->name, S("a"));
    SAME(d->min_key, int_row(&f.cx, 1));
    SAME(d->max_key, int_row(&f.cx, 9));
    SAME(d->key_stats.min, int_row(&f.cx, 1));
    SAME(d->key_stats.max, int_row(&f.cx, 9));
    assert_int_equal(e[0].total_buckets, 1);
    assert_int_equal(d->min_seq, 1);
    assert_int_equal(d->max_seq, 10);
    assert_false(d->delete_row_count.has);
    assert_true(d->value_stats_cols.has);
    assert_int_equal(d->value_stats_cols.n, 0);
    assert_int_equal(d->source.v, FILE_FROM_APPEND);
    int64_t wall = clock_wall_ms();
    assert_true(d->creation_ms.has && llabs((long long)(d->creation_ms.v - wall)) < 50400000);
}

static void one_follows_the_other(void **state)
{
    (void)state;
    size_t n;
    put("a");
    put("b");
    put("c");
    (void)commit("{\"watermark\":9,\"add\":[" FILE_OF("a", "") "]}");
    struct nat b = commit("{\"watermark\":3,\"add\":[" FILE_OF("b", "") "]}");
    struct snapshot s = nat_snapshot(&f, b.json);
    assert_int_equal(s.watermark.v, 9); /* the higher one */
    assert_int_equal(s.total_record_count, 20);
    (void)nat_entries(&f, "t", s.base_manifest_list, &n);
    assert_int_equal(n, 1);
    int reads = fx_calls(&f, IO_read);
    struct nat c = {0};
    OK(&f, nat(&f, "t", ADD("c"), &c));
    assert_int_equal(fx_calls(&f, IO_read), reads); /* of a burst nothing is read */
    s = nat_snapshot(&f, c.json);
    assert_int_equal(s.watermark.v, 9);
    (void)nat_entries(&f, "t", s.base_manifest_list, &n);
    assert_int_equal(n, 2);
    nat_state_right(&f, "t");
}

static void files_go_and_move(void **state)
{
    (void)state;
    size_t n;
    put("a");
    put("b");
    put("c");
    (void)commit("{\"add\":[" FILE_OF("a", "") "," FILE_OF("b", "") "]}");
    struct nat c =
        commit("{\"kind\":\"COMPACT\",\"delete\":[{\"bucket\":0,\"fileName\":\"a\"},"
               "{\"bucket\":0,\"fileName\":\"b\"}],\"add\":[" FILE_OF(
                   "b", ",\"level\":5") "," FILE_OF("c", ",\"level\":3,\"deleteRowCount\":0") "]}");
    struct snapshot s = nat_snapshot(&f, c.json);
    struct manifest_entry *e = nat_entries(&f, "t", s.delta_manifest_list, &n);
    assert_int_equal(n, 4);
    assert_int_equal(e[0].kind, FILE_DELETE); /* first what goes */
    assert_int_equal(e[1].kind, FILE_DELETE);
    SAME(e[0].file.min_key, int_row(&f.cx, 1));
    SAME(e[0].file.key_stats.max, int_row(&f.cx, 9));
    assert_int_equal(e[0].file.row_count, 10);
    assert_int_equal(e[0].file.max_seq, 10);
    assert_int_equal(e[0].total_buckets, 1);
    assert_int_equal(e[2].kind, FILE_ADD);
    assert_int_equal(e[3].file.source.v, FILE_FROM_COMPACT);
    assert_int_equal(s.commit_kind, COMMIT_COMPACT);
    assert_int_equal(s.delta_record_count, 0);
    assert_int_equal(s.total_record_count, 20);
    struct nat d =
        commit("{\"kind\":\"OVERWRITE\",\"delete\":[{\"bucket\":0,\"fileName\":\"c\"}]}");
    s = nat_snapshot(&f, d.json);
    assert_int_equal(s.total_record_count, 10);
    assert_int_equal(s.delta_record_count, -10);
    fx_restart(&f);
    nat_state_right(&f, "t");
}

static void changelogs(void **state)
{
    (void)state;
    size_t n;
    put("a");
    put("ch");
    struct nat a = commit("{\"add\":[" FILE_OF("a", "") "],\"changelog\":[" FILE_OF("ch", "") "]}");
    struct snapshot s = nat_snapshot(&f, a.json);
    assert_true(s.changelog_record_count.has && s.changelog_record_count.v == 10);
    assert_int_equal(s.total_record_count, 10);
    struct manifest_entry *e = nat_entries(&f, "t", s.changelog_manifest_list, &n);
    assert_int_equal(n, 1);
    SAME(e[0].file.name, S("ch"));
    assert_int_equal(nat_files(&f, "t"), 5);
}

static void statistics_stay_while_the_schema_does(void **state)
{
    (void)state;
    struct draft d = fx_next(&f, NULL, "u", true);
    d.statistics = "s-1";
    assert_true(fx_answer(&f, "t", &d));
    struct nat a = commit("{}");
    SAME(nat_snapshot(&f, a.json).statistics, S("s-1"));
    OK(&f, fx_alter(&f, "t", "[{\"action\":\"updateComment\",\"comment\":\"x\"}]"));
    a = commit("{}");
    assert_null(nat_snapshot(&f, a.json).statistics.p);
    assert_int_equal(nat_snapshot(&f, a.json).schema_id, 1);
}

#define INDEX(name, type, more)                                                                    \
    "{\"bucket\":0,\"type\":\"" type "\",\"fileName\":\"" name                                     \
    "\",\"fileSize\":100,\"rowCount\":1" more "}"
#define VECTOR(file)                                                                               \
    ",\"deletionVectors\":[{\"dataFile\":\"" file                                                  \
    "\",\"offset\":1,\"length\":22,\"cardinality\":1}]"

static size_t index_is(const struct nat *a, struct index_entry **ret)
{
    struct snapshot s = nat_snapshot(&f, a->json);
    struct meta_dir d = nat_dir(&f, "t");
    size_t n;
    assert_int_equal(meta_index(&f.cx, &d, s.index_manifest, ret, &n), 0);
    return n;
}

static void index_files(void **state)
{
    (void)state;
    struct index_entry *e;
    put("a");
    nat_data(&f, "t", "index/i1", 100);
    nat_data(&f, "t", "index/i2", 100);
    nat_data(&f, "t", "index/h1", 100);
    struct nat a =
        commit("{\"kind\":\"OVERWRITE\",\"add\":[" FILE_OF("a", "") "],\"index\":{\"add\":[" INDEX(
            "i1", "DELETION_VECTORS", VECTOR("a")) "," INDEX("h1", "HASH", "") "]}}");
    assert_int_equal(index_is(&a, &e), 2);
    SAME(e[0].name, S("i1"));
    assert_int_equal(e[0].dv.n, 1);
    SAME(e[0].dv.items[0].data_file, S("a"));
    assert_int_equal(e[0].dv.items[0].length, 22);
    assert_int_equal(e[0].dv.items[0].cardinality.v, 1);
    str name = nat_snapshot(&f, a.json).index_manifest;
    a = commit("{}");
    SAME(nat_snapshot(&f, a.json).index_manifest, name); /* carried along */
    a = commit("{\"kind\":\"COMPACT\",\"index\":{\"add\":[" INDEX("i2", "DELETION_VECTORS",
                                                                  VECTOR("a")) "]}}");
    assert_int_equal(index_is(&a, &e), 2); /* it took i1's place */
    SAME(e[0].name, S("h1"));
    SAME(e[1].name, S("i2"));
    refuses(E_CONFLICT, "file-gone: the index file \"i1\"",
            "{\"kind\":\"COMPACT\",\"index\":{\"delete\":[{\"bucket\":0,\"fileName\":\"i1\"}]}}");
    refuses(E_CONFLICT, "file-twice: the index file \"h1\"",
            "{\"kind\":\"COMPACT\",\"index\":{\"add\":[" INDEX("h1", "DELETION_VECTORS",
                                                               VECTOR("a")) "]}}");
    a = commit("{\"kind\":\"COMPACT\",\"index\":{\"delete\":[{\"bucket\":0,\"fileName\":\"i2\"},"
               "{\"bucket\":0,\"fileName\":\"h1\"}]}}");
    assert_int_equal(index_is(&a, &e), 0);
    fx_restart(&f);
    nat_state_right(&f, "t");
}

/* --- row tracking ----------------------------------------------------------------------------- */

#define PLAIN(name, rows, more)                                                                    \
    "{\"bucket\":0,\"fileName\":\"" name "\",\"fileSize\":100,\"rowCount\":" rows more "}"

static void row_ids_are_given(void **state)
{
    (void)state;
    size_t n;
    OK(&f,
       fx_create_as(&f, "d", "r",
                    "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT\"}],\"partitionKeys\":[],"
                    "\"primaryKeys\":[],\"options\":{\"row-tracking.enabled\":\"true\"}}"));
    static const char *const files[] = {"a", "b", "v.blob", "c"};
    for (int i = 0; i < 4; i++)
        nat_data(&f, "r", fx_text(&f, "bucket-0/%s", files[i]).p, 100);
    struct nat a = {0};
    OK(&f, nat(&f, "r",
               "{\"add\":[" PLAIN("a", "7", "") "," PLAIN("b", "5", "") "," PLAIN(
                   "v.blob", "5", ",\"writeColumns\":[\"k\"]") "]}",
               &a));
    struct snapshot s = nat_snapshot(&f, a.json);
    struct manifest_entry *e = nat_entries(&f, "r", s.delta_manifest_list, &n);
    assert_int_equal(n, 3);
    assert_int_equal(e[0].file.first_row_id.v, 0);
    assert_int_equal(e[1].file.first_row_id.v, 7);
    assert_int_equal(e[2].file.first_row_id.v, 7); /* beside b */
    assert_int_equal(e[0].total_buckets, -1);
    assert_int_equal(e[0].file.min_seq, 1);
    assert_int_equal(e[0].file.max_seq, 1);
    assert_int_equal(e[0].file.delete_row_count.v, 0);
    assert_true(s.next_row_id.has && s.next_row_id.v == 12);
    nat_state_right(&f, "r");
    OK(&f, nat(&f, "r",
               "{\"kind\":\"COMPACT\",\"delete\":[{\"bucket\":0,\"fileName\":\"a\"},"
               "{\"bucket\":0,\"fileName\":\"b\"},{\"bucket\":0,\"fileName\":\"v.blob\"}],\"add\":"
               "[" PLAIN("c", "12",
                         ",\"firstRowId\":0,\"minSequenceNumber\":1,\"maxSequenceNumber\":1") "]}",
               &a));
    s = nat_snapshot(&f, a.json);
    e = nat_entries(&f, "r", s.delta_manifest_list, &n);
    assert_int_equal(s.next_row_id.v, 12);
    assert_int_equal(e[1].file.first_row_id.v, 7);
    assert_int_equal(e[3].file.first_row_id.v, 0);
    assert_int_equal(e[3].file.min_seq, 1);
    nat_state_right(&f, "r");
    FAILS(&f, E_INVAL, RES_NONE, "must come behind the data file",
          nat(&f, "r", "{\"add\":[" PLAIN("v.blob", "5", "") "]}", NULL));
}

static void sequence_numbers_are_snapshots(void **state)
{
    (void)state;
    size_t n;
    OK(&f,
       fx_create_as(&f, "d", "o",
                    "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT NOT NULL\"}],"
                    "\"partitionKeys\":[],\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"1\","
                    "\"sequence.snapshot-ordering\":\"true\","
                    "\"write.sequence-number-init-mode\":\"snapshot\"}}"));
    nat_data(&f, "o", "bucket-0/a", 100);
    struct nat a = {0};
    OK(&f, nat(&f, "o", "{}", NULL));
    OK(&f, nat(&f, "o", ADD("a"), &a));
    struct snapshot s = nat_snapshot(&f, a.json);
    struct manifest_entry *e = nat_entries(&f, "o", s.delta_manifest_list, &n);
    assert_int_equal(e[0].file.min_seq, 2);
    assert_int_equal(e[0].file.max_seq, 2);
    SAME(kv_get(&s.properties, "sequence.generation.max-sequence-number"), S("2"));
}

/* --- values of columns ------------------------------------------------------------------------ */

static void partitions_keys_and_statistics(void **state)
{
    (void)state;
    size_t n;
    OK(&f, fx_create_as(&f, "d", "p",
                        "{\"fields\":[{\"id\":0,\"name\":\"dt\",\"type\":\"DATE NOT NULL\"},"
                        "{\"id\":1,\"name\":\"a\",\"type\":\"BIGINT NOT NULL\"},"
                        "{\"id\":2,\"name\":\"b\",\"type\":\"VARCHAR(4) NOT NULL\"},"
                        "{\"id\":3,\"name\":\"n\",\"type\":\"DECIMAL(9, 2)\"},"
                        "{\"id\":4,\"name\":\"y\",\"type\":\"VARBINARY(3)\"},"
                        "{\"id\":5,\"name\":\"w\",\"type\":\"DOUBLE\"},"
                        "{\"id\":6,\"name\":\"q\",\"type\":\"BOOLEAN\"}],"
                        "\"partitionKeys\":[\"dt\"],\"primaryKeys\":[\"dt\",\"b\",\"a\"],"
                        "\"options\":{\"bucket\":\"2\",\"partition.legacy-name\":\"false\"}}"));
    nat_data(&f, "p", "dt=2024-01-01/bucket-1/x", 100);
    struct nat a = {0};
    OK(&f,
       nat(&f, "p",
           "{\"add\":[{\"partition\":{\"dt\":\"2024-01-01\"},\"bucket\":1,\"fileName\":\"x\","
           "\"fileSize\":100,\"rowCount\":10,\"minKey\":{\"a\":9223372036854775807,\"b\":\"aa\"},"
           "\"maxKey\":{\"a\":\"-5\",\"b\":\"zz\"},\"minSequenceNumber\":0,\"maxSequenceNumber\":3,"
           "\"valueStats\":{\"columns\":[\"n\",\"y\",\"w\",\"q\"],\"min\":{\"n\":1.5,\"y\":\"AQI="
           "\","
           "\"w\":\"-Infinity\",\"q\":false},\"max\":{\"n\":\"22.25\",\"q\":true},"
           "\"nullCounts\":{\"n\":2}}}]}",
           &a));
    struct snapshot s = nat_snapshot(&f, a.json);
    struct manifest_entry *e = nat_entries(&f, "p", s.delta_manifest_list, &n);
    assert_int_equal(n, 1);
    assert_int_equal(e[0].total_buckets, 2);
    static const struct data_type bigint = {.kind = TYPE_BIGINT}, date = {.kind = TYPE_DATE},
                                  text = {.kind = TYPE_VARCHAR, .length = 4},
                                  dec = {.kind = TYPE_DECIMAL, .precision = 9, .scale = 2},
                                  bin = {.kind = TYPE_VARBINARY, .length = 3},
                                  dbl = {.kind = TYPE_DOUBLE}, boole = {.kind = TYPE_BOOLEAN};
    const struct data_type *part[] = {&date}, *key[] = {&text, &bigint},
                           *stats[] = {&dec, &bin, &dbl, &boole};
    struct binrow_value v[4];
    assert_int_equal(binrow_read(&f.cx, &(struct binrow_type){part, 1}, e[0].partition, v), 0);
    assert_int_equal(v[0].i, 19723);
    assert_int_equal(binrow_read(&f.cx, &(struct binrow_type){key, 2}, e[0].file.min_key, v), 0);
    SAME(v[0].bytes, S("aa"));
    assert_true(v[1].i == INT64_MAX);
    assert_int_equal(binrow_read(&f.cx, &(struct binrow_type){key, 2}, e[0].file.key_stats.max, v),
                     0);
    SAME(v[0].bytes, S("zz"));
    assert_int_equal(v[1].tag, BV_NULL); /* only of the first column are the bounds known */
    assert_int_equal(
        binrow_read(&f.cx, &(struct binrow_type){stats, 4}, e[0].file.value_stats.min, v), 0);
    assert_int_equal((int)v[0].dec, 150);
    SAME(v[1].bytes, S("\1\2"));
    assert_true(v[2].d < -1e300);
    assert_true(v[3].tag == BV_BOOL && !v[3].b);
    assert_int_equal(
        binrow_read(&f.cx, &(struct binrow_type){stats, 4}, e[0].file.value_stats.max, v), 0);
    assert_int_equal((int)v[0].dec, 2225);
    assert_int_equal(v[1].tag, BV_NULL);
    struct avro_list counts = e[0].file.value_stats.null_counts, cols = e[0].file.value_stats_cols;
    struct opt_i64 c;
    str name;
    assert_int_equal(counts.n, 4);
    assert_true(avro_list_opt_i64(&counts, &c) && c.has && c.v == 2);
    assert_true(avro_list_opt_i64(&counts, &c) && !c.has);
    assert_true(avro_list_str(&cols, &name));
    SAME(name, S("n"));
    OK(&f, nat(&f, "p",
               "{\"kind\":\"OVERWRITE\",\"delete\":[{\"partition\":{\"dt\":\"2024-01-01\"},"
               "\"bucket\":1,"
               "\"fileName\":\"x\"}]}",
               &a));
    nat_state_right(&f, "p");
}

static void bodies_that_are_wrong(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"{\"add\":{}}", "add must be an array"},
        {"{\"adds\":[]}", "adds is no member"},
        {"{\"add\":[3]}", "add[0] must be an object"},
        {"{\"kind\":\"ANALYZE\"}", "kind must be one of APPEND, OVERWRITE, COMPACT"},
        {"{\"kind\":\"append\"}", "kind must be one of"},
        {"{\"operation\":\"x\"}", "operation must be one of Paimon"},
        {"{\"commitUser\":\"\"}", "commitUser is empty"},
        {"{\"commitIdentifier\":1.5}", "commitIdentifier"},
        {"{\"properties\":{\"a\":1}}", "properties.a"},
        {"{\"index\":{\"remove\":[]}}", "index.remove is no member"},
        {"{\"delete\":[{\"bucket\":0,\"fileName\":\"a\"}]}", "kind is APPEND"},
        {"{\"index\":{\"delete\":[{\"bucket\":0,\"fileName\":\"a\"}]}}", "kind is APPEND"},
        {"{\"index\":{\"add\":[" INDEX("i", "DELETION_VECTORS", VECTOR("a")) "]}}",
         "kind is APPEND"},
        {"{\"kind\":\"COMPACT\",\"index\":{\"add\":[" INDEX("i", "HASH", VECTOR("a")) "]}}",
         "index.add[0] must have deletionVectors exactly when"},
        {"{\"index\":{\"add\":[" INDEX("i", "BTREE", "") "]}}", "index.add[0] must be of type"},
        {"{\"index\":{\"add\":[" INDEX("a/b", "HASH", "") "]}}",
         "index.add[0] must have a fileName that"},
        {"{\"index\":{\"add\":[" INDEX("i", "DELETION_VECTORS",
                                       ",\"deletionVectors\":[{\"dataFile\":\"a\"}]") "]}}",
         "index.add[0].deletionVectors[0].offset"},
        {"{\"add\":[" FILE_OF("a", "") "," FILE_OF("b", ",\"level\":-1") "]}",
         "add[1].level must be"},
        {"{\"add\":[" FILE_OF("a", ",\"levels\":1") "]}", "add[0].levels is no member"},
        {"{\"add\":[" FILE_OF("", "") "]}", "add[0] must have a fileName"},
        {"{\"add\":[" FILE_OF("a", ",\"deleteRowCount\":11") "]}", "add[0].deleteRowCount must be"},
        {"{\"add\":[" FILE_OF("a", ",\"source\":\"x\"") "]}", "add[0].source must be one of"},
        {"{\"add\":[" FILE_OF("a", ",\"partition\":{\"k\":\"1\"}") "]}",
         "add[0].partition must be left out"},
        {"{\"add\":[" FILE_OF("a", ",\"totalBuckets\":0,\"extraFiles\":[1]") "]}",
         "add[0].extraFiles"},
        {"{\"add\":[{\"bucket\":1,\"fileName\":\"a\",\"fileSize\":1,\"rowCount\":1,"
         "\"minSequenceNumber\":0,\"maxSequenceNumber\":0}]}",
         "add[0] must have a bucket below its totalBuckets"},
        {"{\"add\":[{\"bucket\":0,\"fileName\":\"a\",\"fileSize\":1,\"rowCount\":1}]}",
         "add[0] needs minSequenceNumber"},
        {"{\"add\":[{\"bucket\":0,\"fileName\":\"a\",\"fileSize\":1,\"rowCount\":1,"
         "\"minSequenceNumber\":2,\"maxSequenceNumber\":1}]}",
         "add[0] must have a minSequenceNumber that"},
        {"{\"add\":[{\"bucket\":0,\"fileName\":\"a\",\"fileSize\":1,\"rowCount\":1,"
         "\"minSequenceNumber\":1,\"maxSequenceNumber\":1}]}",
         "add[0].minKey must have exactly these columns: k"},
        {"{\"add\":[{\"bucket\":0,\"fileName\":\"a\",\"fileSize\":1,\"rowCount\":1,"
         "\"minSequenceNumber\":1,\"maxSequenceNumber\":1,\"minKey\":{\"k\":\"x\"}}]}",
         "add[0].minKey.k: "},
        {"{\"add\":[{\"bucket\":0,\"fileName\":\"a\",\"fileSize\":1,\"rowCount\":1,"
         "\"minSequenceNumber\":1,\"maxSequenceNumber\":1,\"minKey\":{\"k\":null}}]}",
         "add[0].minKey.k: a key must not be null"},
        {"{\"add\":[{\"bucket\":0,\"fileName\":\"a\",\"fileSize\":1,\"rowCount\":1,"
         "\"minSequenceNumber\":1,\"maxSequenceNumber\":1,\"minKey\":{\"k\":3},\"maxKey\":{\"k\":2}"
         "}]}",
         "add[0] must have a minKey that is not above"},
        {"{\"add\":[{\"bucket\":0,\"fileName\":\"a\",\"fileSize\":1,\"rowCount\":1,"
         "\"minSequenceNumber\":1,\"maxSequenceNumber\":1,\"minKey\":{\"k\":2147483648},"
         "\"maxKey\":{\"k\":2}}]}",
         "add[0].minKey.k: "},
        {"{\"add\":[{\"bucket\":0,\"fileName\":\"a\",\"fileSize\":1,\"rowCount\":1,"
         "\"minSequenceNumber\":1,\"maxSequenceNumber\":1,\"minKey\":{\"k\":true},"
         "\"maxKey\":{\"k\":2}}]}",
         "add[0].minKey.k: a INT cannot be true"},
        {"{\"add\":[" FILE_OF("a", ",\"valueStats\":{\"columns\":[\"z\"]}") "]}",
         "each once, not 'z'"},
        {"{\"add\":[" FILE_OF("a", ",\"valueStats\":{\"columns\":[\"v\",\"v\"]}") "]}",
         "each once, not 'v'"},
        {"{\"add\":[" FILE_OF("a", ",\"valueStats\":{\"columns\":[\"v\"],\"min\":{\"v\":1}}") "]}",
         "add[0].valueStats.min.v: "},
        {"{\"add\":[" FILE_OF("a", ",\"valueStats\":{\"columns\":[\"v\"],\"max\":{\"k\":1}}") "]}",
         "add[0].valueStats.max.k: it must be among columns"},
        {"{\"add\":[" FILE_OF(
             "a", ",\"valueStats\":{\"columns\":[\"v\"],\"nullCounts\":{\"v\":-1}}") "]}",
         "add[0].valueStats.nullCounts.v: "},
        {"{\"add\":[" FILE_OF("a", ",\"valueStats\":{\"columns\":[\"v\"],\"min\":{\"v\":\"b\"},"
                                   "\"max\":{\"v\":\"a\"}}") "]}",
         "the min of 'v' must not be above its max"},
        {"{\"add\":[" FILE_OF("a", ",\"schemaId\":3,\"valueStats\":{\"columns\":[\"v\"]}") "]}",
         "add[0] must have a schemaId of this table"},
    };
    put("a");
    put("b");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(E_INVAL, bad[i][1], bad[i][0]);
    char user[3000];
    memset(user, 'u', sizeof user);
    snprintf(user + 2000, 100, "\"}");
    memcpy(user, "{\"commitUser\":\"", 15);
    refuses(E_INVAL, "commitUser has", user);
}

static void a_big_property(void **state)
{
    (void)state;
    f.cat->o.snapshot_max_bytes = 600;
    char body[1000];
    memset(body, 'x', sizeof body);
    memcpy(body, "{\"properties\":{\"x\":\"", 20);
    snprintf(body + 500, 10, "\"}}");
    refuses(E_TOOBIG, "snapshot.max-size", body);
}

/* --- what the rules refuse -------------------------------------------------------------------- */

static void rules_refuse(void **state)
{
    (void)state;
    put("a");
    put("b");
    (void)commit(ADD("a"));
    refuses(E_CONFLICT, "file-twice: ", ADD("a"));
    refuses(E_CONFLICT, "file-missing: ", ADD("nowhere"));
    refuses(E_CONFLICT, "file-bad: ",
            "{\"add\":[{\"bucket\":0,\"fileName\":\"b\",\"fileSize\":99,\"rowCount\":10,\"minKey\":"
            "{\"k\":1},"
            "\"maxKey\":{\"k\":9},\"minSequenceNumber\":1,\"maxSequenceNumber\":10}]}");
    refuses(E_CONFLICT, "file-gone: ",
            "{\"kind\":\"OVERWRITE\",\"delete\":[{\"bucket\":0,\"fileName\":\"b\"}]}");
    refuses(E_CONFLICT, "it deletes \"a\" twice",
            "{\"kind\":\"OVERWRITE\",\"delete\":[{\"bucket\":0,\"fileName\":\"a\"},"
            "{\"bucket\":0,\"fileName\":\"a\"}]}");
    refuses(E_CONFLICT, "schema-unknown: ", "{\"add\":[" FILE_OF("b", ",\"schemaId\":4") "]}");
    refuses(E_CONFLICT, "bucket-count: ", "{\"add\":[" FILE_OF("b", ",\"totalBuckets\":2") "]}");
    refuses(E_CONFLICT, "path-outside: ", "{\"add\":[" FILE_OF("../b", "") "]}");
    refuses(E_CONFLICT, "path-outside: ",
            "{\"add\":[" FILE_OF("b", ",\"externalPath\":\"file:/etc/passwd\"") "]}");
    struct cat_counts c = fx_counts(&f);
    assert_int_equal(c.commits_refused, 9);
    struct nat b = commit("{\"kind\":\"COMPACT\",\"delete\":[{\"bucket\":0,\"fileName\":\"a\"}],"
                          "\"add\":[" FILE_OF("b", ",\"level\":1") "]}");
    assert_int_equal(b.id, 2);
    refuses(E_CONFLICT, "file-gone: ",
            "{\"kind\":\"OVERWRITE\",\"delete\":[{\"bucket\":0,\"fileName\":\"a\"}]}");
    refuses(E_CONFLICT, "file-twice: ", ADD("a")); /* it was live once */
}

static void a_table_that_is_damaged(void **state)
{
    (void)state;
    put("a");
    put("b");
    struct nat a = commit(ADD("a"));
    struct snapshot s = nat_snapshot(&f, a.json);
    struct meta_dir d = nat_dir(&f, "t");
    struct manifest_file *m;
    size_t n;
    assert_int_equal(meta_list(&f.cx, &d, s.delta_manifest_list, SIZE_ANY, &m, &n), 0);
    fx_del(&f, layout_manifest(&f.cx.arena, d.dir, m[0].name));
    fx_restart(&f);
    assert_int_equal(nat(&f, "t", ADD("b"), NULL), E_CONFLICT);
    assert_non_null(strstr(f.err.msg, "manifest-bad"));
    fx_del(&f, layout_manifest(&f.cx.arena, d.dir, s.delta_manifest_list));
    fx_restart(&f);
    assert_int_equal(nat(&f, "t", ADD("b"), NULL), E_CONFLICT);
    assert_non_null(strstr(f.err.msg, "manifest-bad"));
}

/* --- replays ---------------------------------------------------------------------------------- */

static void replays(void **state)
{
    (void)state;
    struct nat a = {0}, b = {0};
    put("a");
    put("b");
    put("c");
    OK(&f, nat(&f, "t", USER("job", "\"add\":[" FILE_OF("a", "") "]"), &a));
    size_t files = nat_files(&f, "t");
    for (int i = 0; i < 3; i++) {
        OK(&f, nat(&f, "t", USER("job", "\"add\":[" FILE_OF("a", "") "]"), &b));
        assert_true(b.replayed);
        assert_int_equal(b.id, 1);
        SAME(b.json, a.json);
        if (i == 1)
            fx_restart(&f);
    }
    assert_int_equal(nat_files(&f, "t"), files);
    OK(&f, nat(&f, "t", USER("job", "\"kind\":\"COMPACT\""), &b)); /* another kind */
    assert_int_equal(b.id, 2);
    OK(&f, nat(&f, "t", USER("job2", "\"add\":[" FILE_OF("b", "") "]"), &b)); /* another user */
    assert_int_equal(b.id, 3);
    OK(&f, nat(&f, "t", USER("job", "\"add\":[" FILE_OF("a", "") "]"), &b));
    assert_true(b.replayed); /* not the head any more: from its file */
    SAME(b.json, a.json);
    fx_del(&f, fx_snapshot_path(&f, "t", 1)); /* expired */
    OK(&f, nat(&f, "t", USER("job", "\"add\":[" FILE_OF("a", "") "]"), &b));
    assert_true(b.replayed);
    assert_int_equal(b.id, 1);
    assert_null(b.json.p);
    OK(&f, nat(&f, "t", ADD("c"), &b)); /* of a batch nothing is a replay */
    assert_false(b.replayed);
    refuses(E_CONFLICT, "file-twice", ADD("c"));
    OK(&f, nat(&f, "t", "{\"commitUser\":\"b\"}", &b));
    OK(&f, nat(&f, "t", "{\"commitUser\":\"b\"}", &b));
    assert_true(b.replayed); /* but of one that names itself */
}

static void a_rollback_forgets(void **state)
{
    (void)state;
    struct nat a = {0};
    put("a");
    OK(&f, nat(&f, "t", "{}", NULL));
    OK(&f, nat(&f, "t", USER("job", "\"add\":[" FILE_OF("a", "") "]"), &a));
    assert_int_equal(a.id, 2);
    OK(&f, fx_rollback(&f, "t", 1));
    OK(&f, nat(&f, "t", USER("job", "\"add\":[" FILE_OF("a", "") "]"), &a));
    assert_false(a.replayed);
    assert_int_equal(a.id, 2);
    nat_state_right(&f, "t");
}

/* --- races ------------------------------------------------------------------------------------ */

static struct draft rival;

static void rival_comes(struct fx *fx, enum fx_op op, bool after, str path)
{
    if (op != IO_put_if_absent || after || !memmem(path.p, path.len, "snapshot-", 9))
        return;
    fx_hook(fx, NULL, NULL);
    fx_foreign(fx, "t", &rival);
}

static void somebody_else_was_first(void **state)
{
    (void)state;
    struct draft d = {0};
    struct nat a = {0};
    put("a");
    fx_grow(&f, "t", &d, 1, true);
    rival = fx_next(&f, &d, "rival", true);
    fx_hook(&f, rival_comes, NULL);
    OK(&f, nat(&f, "t", ADD("a"), &a));
    assert_int_equal(a.id, 3);
    assert_false(a.replayed);
    struct snapshot s = nat_snapshot(&f, a.json);
    size_t n;
    (void)nat_entries(&f, "t", s.base_manifest_list, &n);
    assert_int_equal(n, 2);
    assert_int_equal(s.total_record_count, 30);
    nat_state_right(&f, "t");
    /* 2 stock commits with 3 files each, and ours; what lost is gone again */
    assert_int_equal(nat_files(&f, "t"), 9);
    fx_snapshots_are(&f, "t", 1, 3);
}

static void the_deadline(void **state)
{
    (void)state;
    put("a");
    int rc = nat_by(&f, "t", ADD("a"), 1, NULL);
    assert_int_equal(rc, E_TIMEOUT);
    assert_int_equal(nat_files(&f, "t"), 0);
}

static void the_schema_changes_between(void **state)
{
    (void)state;
    put("a");
    (void)commit("{}");
    OK(&f, fx_alter(&f, "t",
                    "[{\"action\":\"addColumn\",\"fieldNames\":[\"z\"],\"dataType\":\"INT\"}]"));
    struct nat a = commit(
        "{\"add\":[" FILE_OF("a", ",\"schemaId\":0,\"valueStats\":{\"columns\":[\"v\"]}") "]}");
    assert_int_equal(nat_snapshot(&f, a.json).schema_id, 1);
}

/* --- a table too large for a state ------------------------------------------------------------ */

static void a_table_too_large(void **state)
{
    (void)state;
    struct nat a = {0};
    struct cat_counts before;
    put("x");
    put("y");
    struct buf b = {0};
    for (int i = 0; i < 400; i++) {
        put(fx_text(&f, "f%d", i).p);
        buf_addf(&b, "%s" FILE_OF("f%d", ""), i ? "," : "{\"add\":[", i);
    }
    buf_addz(&b, "]}");
    OK(&f, nat(&f, "t", buf_z(&b), &a));
    buf_done(&b);
    f.o.state_table_max = 20000;
    fx_restart(&f);
    OK(&f, nat(&f, "t", ADD("x"), &a));
    OK(&f, nat(&f, "t",
               "{\"kind\":\"COMPACT\",\"delete\":[{\"bucket\":0,\"fileName\":\"f0\"}],\"add\":"
               "[" FILE_OF("y", ",\"level\":5") "]}",
               &a));
    before = fx_counts(&f);
    assert_true(before.states_streamed >= 2);
    assert_int_equal(before.states, 0);
    refuses(E_CONFLICT, "file-gone",
            "{\"kind\":\"OVERWRITE\",\"delete\":[{\"bucket\":0,\"fileName\":\"f0\"}]}");
    refuses(E_CONFLICT, "file-twice", ADD("x"));
    f.o.state_table_max = 1 << 20;
    fx_restart(&f);
    assert_int_equal(a.id, 3);
    nat_state_right(&f, "t");
}

/* --- failures --------------------------------------------------------------------------------- */

#define BODY                                                                                       \
    USER(                                                                                          \
        "job",                                                                                     \
        "\"kind\":\"OVERWRITE\",\"delete\":[{\"bucket\":0,\"fileName\":\"a\"}],\"add\":[" FILE_OF( \
            "b",                                                                                   \
            "") "],\"changelog\":[" FILE_OF("ch",                                                  \
                                            "") "],\"index\":{\"add\":[" INDEX("i1",               \
                                                                               "DELETION_VECTORS", \
                                                                               VECTOR("b")) "]}")

static void prepare_table(unsigned kind)
{
    again(kind);
    put("a");
    put("b");
    put("ch");
    nat_data(&f, "t", "index/i1", 100);
    OK(&f, nat(&f, "t", ADD("a"), NULL));
}

/* What was asked for is there once, and the table goes on. */
static void settles(void)
{
    struct nat a = {0};
    OK(&f, nat(&f, "t", BODY, &a));
    assert_int_equal(a.id, 2);
    struct snapshot s = nat_snapshot(&f, a.json);
    assert_int_equal(s.total_record_count, 10);
    nat_state_right(&f, "t");
    OK(&f, nat(&f, "t", BODY, &a));
    assert_true(a.replayed);
    OK(&f, nat(&f, "t", "{}", &a));
    assert_int_equal(a.id, 3);
    fx_snapshots_are(&f, "t", 1, 3);
    fx_restart(&f);
    nat_state_right(&f, "t");
}

static void a_crash_anywhere(unsigned kind, bool power)
{
    bool lived = false;
    for (long k = 1; !lived; k++) {
        struct nat a = {0};
        prepare_table(kind);
        fx_die_at(&f, k);
        int rc = nat(&f, "t", BODY, &a);
        lived = !fx_dead(&f);
        fx_crash(&f, power);
        if (power) { /* the client's machine lost nothing */
            put("a");
            put("b");
            put("ch");
            nat_data(&f, "t", "index/i1", 100);
        }
        int64_t id = fx_head_id(&f, "t");
        assert_true(id == 1 || id == 2);
        if (rc == 0)
            assert_int_equal(id, 2);
        else if (rc != E_UNKNOWN)
            assert_int_equal(id, 1);
        settles();
        assert_true(k < 60);
    }
}

static void a_crash_anywhere_in_a_commit(void **state)
{
    (void)state;
    a_crash_anywhere(0, false);
    a_crash_anywhere(FX_PUT_AFTER, false);
    a_crash_anywhere(FX_SQLITE, false);
}

static void a_power_loss_anywhere_in_a_commit(void **state)
{
    (void)state;
    a_crash_anywhere(FX_MEM, true);
}

/* Each call of each kind fails once, before or after it took effect. */
static void faults_anywhere(unsigned kind)
{
    for (int op = 0; op < OP_COUNT; op++)
        for (int after = 0; after < 2; after++)
            for (int nth = 1;; nth++) {
                struct nat a = {0};
                prepare_table(kind);
                size_t files = nat_files(&f, "t");
                /* of a file that may be there io.h says so */
                int code = op == IO_put_if_absent && after ? E_UNKNOWN : E_IO;
                FAIL(&f, .op = (enum fx_op)op, .nth = nth, .code = code, .after = after != 0);
                int rc = nat(&f, "t", BODY, &a);
                bool hit = f.plans[0].hits >= nth;
                fx_well(&f);
                if (rc < 0 && rc != E_UNKNOWN && op != IO_del && !(op == IO_write && after))
                    assert_int_equal(nat_files(&f, "t"), files);
                if (rc < 0 && rc != E_UNKNOWN)
                    assert_int_equal(fx_head_id(&f, "t"), 1);
                settles();
                if (!hit)
                    break;
                assert_true(nth < 60);
            }
}

static void a_fault_anywhere(void **state)
{
    (void)state;
    faults_anywhere(0);
    faults_anywhere(FX_PUT_AFTER);
}

static void inject(const char *plan)
{
    setenv("LATCH_INJECT", plan, 1);
    assert_int_equal(inject_init(), 0);
}

/* Each write and each fsync of the disk fails once: no file of a commit that failed is left. */
static void a_disk_fault_anywhere(void **state)
{
    (void)state;
    static const char *const points[] = {"io.write", "io.fsync", "put.written", "put.synced",
                                         "put.linked"};
    for (size_t i = 0; i < 5; i++)
        for (int nth = 1;; nth++) {
            struct nat a = {0};
            prepare_table(FX_PUT_AFTER);
            size_t files = nat_files(&f, "t");
            inject(fx_text(&f, "%s=fail:%d", points[i], nth).p);
            int rc = nat(&f, "t", BODY, &a);
            inject("");
            fx_well(&f);
            if (rc == 0) {
                assert_true(nth > (i == 0 ? 6 : i == 1 ? 9 : 1));
                settles();
                break;
            }
            assert_true(rc == E_IO || rc == E_BUSY || rc == E_UNKNOWN);
            if (rc != E_UNKNOWN) {
                assert_int_equal(nat_files(&f, "t"), files);
                assert_int_equal(fx_head_id(&f, "t"), 1);
            }
            settles();
            assert_true(nth < 60);
        }
}

/* Without syncs the files are written as they come; with them they are made with the snapshot. */
static void files_unsynced(void **state)
{
    (void)state;
    prepare_table(FX_PUT_AFTER);
    int writes = fx_calls(&f, IO_write);
    assert_true(writes < 3); /* LATEST, once */
    f.cat->o.sync = SYNC_OFF;
    struct nat a = {0};
    OK(&f, nat(&f, "t", BODY, &a));
    assert_true(fx_calls(&f, IO_write) - writes >= 6);
    f.cat->o.sync = SYNC_METADATA;
    nat_state_right(&f, "t");
    settles();
}

/* --- entries that a state does not keep whole -------------------------------------------------- */

static void an_embedded_index(void **state)
{
    (void)state;
    struct draft d = fx_next(&f, NULL, "u", true);
    struct ctx *cx = &f.cx;
    fx_files(&f, "t", &d);
    /* The manifest once more, with an index in its entry. */
    struct fx_entry e = {
        .rows = 10, .size = 1000, .ms = 5000, .name = fx_text(&f, "data-%d-0.orc", d.no)};
    struct manifest_entry m = entry_of(cx, &e);
    struct manifest_writer w;
    struct manifest_file meta;
    str bytes;
    m.file.embedded_index = S("an index");
    assert_int_equal(manifest_write_open(cx, &w, CODEC_NULL, 1), 0);
    assert_int_equal(manifest_write_add(cx, &w, &m), 0);
    assert_int_equal(manifest_write_end(cx, &w, &bytes, &meta), 0);
    meta.name = fx_text(&f, "manifest-%d", d.no);
    meta.size = (int64_t)bytes.len;
    meta.partition_stats = (struct raw_stats){FX_EMPTY_ROW, FX_EMPTY_ROW, {0}};
    struct arena *a = &f.cx.arena;
    fx_write(&f, layout_manifest(a, fx_dir(&f, "t"), meta.name), bytes);
    manifest_write_done(&w);
    fx_write(&f, layout_manifest(a, fx_dir(&f, "t"), str_of(d.dlist)), list_of(cx, &meta, 1));
    d.no_files = true;
    assert_true(fx_answer(&f, "t", &d));
    struct nat n = commit(
        fx_text(&f, "{\"kind\":\"OVERWRITE\",\"delete\":[{\"bucket\":0,\"fileName\":\"%.*s\"}]}",
                STR(e.name))
            .p);
    size_t k;
    struct manifest_entry *g =
        nat_entries(&f, "t", nat_snapshot(&f, n.json).delta_manifest_list, &k);
    assert_int_equal(k, 1);
    assert_int_equal(g[0].kind, FILE_DELETE);
    SAME(g[0].file.embedded_index, S("an index"));
    assert_int_equal(nat_snapshot(&f, n.json).total_record_count, 0);
}

/* --- upkeep ----------------------------------------------------------------------------------- */

static bool upkeep_idle(void)
{
    struct branch *br;
    OK(&f, fx_branch(&f, "t", &br));
    bool idle = !atomic_load(&br->merging);
    branch_unref(br);
    return idle;
}

static void wait_for_upkeep(void)
{
    for (int i = 0; i < 5000 && !upkeep_idle(); i++)
        usleep(1000);
    assert_true(upkeep_idle());
}

/* So many commits of one file each, named from `first` on. */
static void many(int first, int n)
{
    for (int i = first; i < first + n; i++) {
        put(fx_text(&f, "f%d", i).p);
        OK(&f, nat(&f, "t", fx_text(&f, "{\"add\":[" FILE_OF("f%d", "") "]}", i).p, NULL));
    }
}

static void with_upkeep(unsigned kind)
{
    fx_done(&f);
    fx_init(&f, kind);
    f.o.upkeep_merge = true;
    OK(&f, fx_open(&f));
    fx_table(&f, "t");
}

static struct snapshot head_now(void)
{
    struct seen s;
    OK(&f, fx_head(&f, "t", &s));
    return nat_snapshot(&f, s.json);
}

static void many_manifests_are_merged(void **state)
{
    (void)state;
    size_t n;
    with_upkeep(0);
    many(0, 29);
    wait_for_upkeep();
    assert_int_equal(fx_head_id(&f, "t"), 29);
    many(29, 1);
    wait_for_upkeep();
    struct snapshot s = head_now();
    assert_int_equal(s.id, 31);
    assert_int_equal(s.commit_kind, COMMIT_COMPACT);
    SAME(s.commit_user, S("latch-upkeep"));
    assert_int_equal(s.total_record_count, 300);
    assert_int_equal(s.delta_record_count, 0);
    struct meta_dir d = nat_dir(&f, "t");
    struct manifest_file *m;
    assert_int_equal(meta_list(&f.cx, &d, s.base_manifest_list, SIZE_ANY, &m, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(m[0].added, 30);
    (void)nat_entries(&f, "t", s.delta_manifest_list, &n);
    assert_int_equal(n, 0);
    nat_state_right(&f, "t");
    int reads = fx_calls(&f, IO_read);
    many(30, 1); /* the branch has the new lists */
    assert_int_equal(fx_calls(&f, IO_read), reads);
    assert_int_equal(fx_head_id(&f, "t"), 32);
    struct cat_counts c = fx_counts(&f);
    assert_int_equal(c.merges_done, 1);
    assert_int_equal(c.merges_given_up, 0);
    refuses(E_CONFLICT, "file-twice", ADD("f3"));
    fx_restart(&f);
    nat_state_right(&f, "t");
}

static void commits_while_it_merges(struct fx *fx, enum fx_op op, bool after, str path)
{
    if (op != IO_write || after || !memmem(path.p, path.len, "manifest/manifest-list", 22))
        return;
    (void)fx;
    usleep(3000);
}

/* Others go on meanwhile: what came after is kept as it is. */
static void merged_among_commits(void **state)
{
    (void)state;
    with_upkeep(0);
    many(0, 29);
    fx_hook(&f, commits_while_it_merges, NULL);
    many(29, 40);
    fx_hook(&f, NULL, NULL);
    wait_for_upkeep();
    many(69, 1);
    wait_for_upkeep();
    struct snapshot s = head_now();
    struct cat_counts c = fx_counts(&f);
    assert_true(c.merges_done >= 1);
    assert_int_equal(s.total_record_count, 700);
    assert_int_equal(s.id, 70 + c.merges_done);
    nat_state_right(&f, "t");
}

/* It fails, at whatever call: nothing is lost, and nothing of it is left. */
static void a_merge_that_fails(void **state)
{
    (void)state;
    for (int nth = 1; nth < 4; nth++)
        for (int op = 0; op < 2; op++) {
            with_upkeep(0);
            many(0, 29);
            put("f29");
            /* 3 writes are the commit's; the merge writes one, its commit two lists */
            FAIL(&f, .op = op ? IO_write : IO_read, .nth = op ? 3 + nth : nth, .code = E_IO,
                 .sticky = true);
            int rc = nat(&f, "t", ADD("f29"), NULL);
            wait_for_upkeep();
            fx_well(&f);
            struct cat_counts c = fx_counts(&f);
            if (rc == 0) {
                assert_int_equal(c.merges_given_up, 1);
                assert_int_equal(fx_head_id(&f, "t"), 30);
                assert_int_equal(nat_files(&f, "t"), 90);
            }
            many(30, 1);
            wait_for_upkeep(); /* not tried again so soon */
            nat_state_right(&f, "t");
            assert_int_equal(fx_counts(&f).merges_done, 0);
        }
}

static void a_merge_that_dies(void **state)
{
    (void)state;
    for (int k = 1; k < 14; k++) {
        with_upkeep(0);
        many(0, 29);
        put("f29");
        fx_die_at(&f, 6 + k); /* the commit takes about six */
        IGNORE(nat(&f, "t", ADD("f29"), NULL));
        wait_for_upkeep();
        fx_crash(&f, false);
        int64_t id = fx_head_id(&f, "t");
        assert_true(id >= 29 && id <= 31);
        nat_state_right(&f, "t");
        many(40, 2);
        wait_for_upkeep();
        nat_state_right(&f, "t");
    }
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(the_first_commit),
        T(one_follows_the_other),
        T(files_go_and_move),
        T(changelogs),
        T(statistics_stay_while_the_schema_does),
        T(index_files),
        T(row_ids_are_given),
        T(sequence_numbers_are_snapshots),
        T(partitions_keys_and_statistics),
        T(bodies_that_are_wrong),
        T(a_big_property),
        T(rules_refuse),
        T(a_table_that_is_damaged),
        T(replays),
        T(a_rollback_forgets),
        T(somebody_else_was_first),
        T(the_deadline),
        T(the_schema_changes_between),
        T(a_table_too_large),
        T(an_embedded_index),
        T(many_manifests_are_merged),
        T(merged_among_commits),
        T(a_merge_that_fails),
        T(a_merge_that_dies),
        T(a_fault_anywhere),
        T(a_disk_fault_anywhere),
        T(files_unsynced),
        T(a_crash_anywhere_in_a_commit),
        T(a_power_loss_anywhere_in_a_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
