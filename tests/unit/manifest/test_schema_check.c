/* test_schema_check.c - what is refused by a table's options and default values, rule by rule. The
 * same rules run against stock Java in tests/conform/test_validation_java.py. */
#define ARENA_BYTES (256 << 20)
#include "tests/unit/manifest/fixture.h"

#include "manifest/schema.h"
#include "proto/base/clock.h"
#include "proto/base/mem.h"

#define COL(id, name, type) "{\"id\":" #id ",\"name\":\"" name "\",\"type\":" type "}"
/* a INT, b STRING, c BIGINT, d DATE, p STRING, q INT; blob, vec, ts9 and the like where named */
#define COLUMNS                                                                                    \
    COL(0, "a", "\"INT\"")                                                                         \
    "," COL(1, "b", "\"STRING\"") "," COL(2, "c", "\"BIGINT\"") "," COL(                           \
        3, "d", "\"DATE\"") "," COL(4, "p", "\"STRING\"") "," COL(5, "q", "\"INT\"")

struct rule {
    const char *options; /* members of the object, with ' for " */
    const char *keys;    /* "" or members "'primaryKeys':[...]," */
    int code;            /* 0: taken */
    const char *because; /* part of the message */
    const char *more;    /* ",{column}", or NULL */
};

static const char *rule_json(const struct rule *r)
{
    struct buf b = {0};
    buf_addf(&b, "{\"fields\":[" COLUMNS "%s],%s\"options\":{%s}}", r->more ? r->more : "",
             r->keys ? r->keys : "", r->options);
    char *z = keep(&b);
    for (char *p = z; *p; p++)
        if (*p == '\'')
            *p = '"';
    return z;
}

static void check_json(const char *text, int code, const char *because)
{
    struct schema s;
    const struct json *v;
    ctx_reset_err(&cx);
    if (json_parse(&cx, str_of(text), "test", &v) != 0 || schema_decode(&cx, v, "schema", &s) != 0)
        fail_msg("%s: %s", text, cx.err.msg);
    int rc = schema_check_table(&cx, &s);
    if (rc != code || (rc != 0 && !strstr(cx.err.msg, because)))
        fail_msg("%.3000s: %d %s", text, rc, cx.err.msg);
    assert_int_equal(cx.err.code, code);
}

static void run(const struct rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_json(rule_json(&rules[i]), rules[i].code, rules[i].because);
}
#define RUN(rules) run(rules, sizeof rules / sizeof *rules)

#define PK_A     "'primaryKeys':['a'],"
#define PK_AP    "'primaryKeys':['a','p'],"
#define PART_P   "'partitionKeys':['p'],"
#define PART_PQ  "'partitionKeys':['p','q'],"
#define PK_APQ   "'primaryKeys':['a','p','q'],"
#define INVAL    E_INVAL
#define NOT_DONE E_UNSUPPORTED

static void test_values(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"'ignore-delete':'max'", "", INVAL, "value 'max' for key 'ignore-delete'", NULL},
        {"'bucket':'abc'", "", INVAL, "value 'abc' for key 'bucket'", NULL},
        {"'merge-engine':'foo'", "", INVAL, "one of deduplicate partial-update", NULL},
        {"'target-file-size':'1 x'", "", INVAL, "like \"64 mb\"", NULL},
        {"'snapshot.time-retained':'1 fortnight'", "", INVAL, "like \"10 min\"", NULL},
        {"'write-only':'yes'", "", INVAL, "true or false", NULL},
        {"'fields.a.distinct':'x'", "", INVAL, "key 'fields.a.distinct'", NULL},
        {"'whatever.it.is':'x','write-only':'TRUE','target-file-size':'64 MB'", "", 0, "", NULL},
        {"'full-text-index.search-mode':'x'", "", 0, "", NULL},
    };
    RUN(rules);
}

static void test_bucket(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"'bucket':'0'", PK_A, INVAL, "number of buckets needs to be greater than 0", NULL},
        {"'bucket':'-3'", PK_A, INVAL, "number of buckets needs to be greater than 0", NULL},
        {"'bucket':'-2'", PK_A, 0, "", NULL},
        {"'bucket':'-2'", "", INVAL, "number of buckets needs to be greater than 0", NULL},
        {"'bucket':'-1'", "", 0, "", NULL},
        {"'bucket':'4'", PK_A, 0, "", NULL},
        {"'bucket':'4'", "", INVAL, "You should define a 'bucket-key' for bucketed append", NULL},
        {"'bucket':'4','bucket-key':'b'", "", 0, "", NULL},
        {"'bucket-key':'b'", "", INVAL, "Cannot define 'bucket-key' with bucket = -1", NULL},
        {"'full-compaction.delta-commits':'2'", "", INVAL, "'full-compaction.delta-commits'", NULL},
        {"'full-compaction.delta-commits':'2'", PK_A, 0, "", NULL},
    };
    RUN(rules);
}

static void test_scan(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"'scan.snapshot-id':'1'", "", 0, "", NULL},
        {"'scan.mode':'from-snapshot','scan.tag-name':'t'", "", 0, "", NULL},
        {"'scan.mode':'from-snapshot'", "", INVAL,
         "must set only one key in [scan.snapshot-id,scan.tag-name,scan.watermark]", NULL},
        {"'scan.snapshot-id':'1','scan.tag-name':'t'", "", INVAL, "must set only one key", NULL},
        {"'scan.mode':'from-timestamp'", "", INVAL,
         "only one key in [scan.timestamp-millis,scan.timestamp] when you use from-timestamp",
         NULL},
        {"'scan.mode':'from-timestamp','log.scan.timestamp-millis':'1'", "", 0, "", NULL},
        {"'scan.timestamp':'2020-01-01','scan.tag-name':'t'", "", INVAL,
         "scan.tag-name must be null when you use from-timestamp", NULL},
        {"'scan.mode':'latest','scan.snapshot-id':'1'", "", INVAL,
         "scan.snapshot-id must be null when you use latest for scan.mode", NULL},
        {"'log.scan':'latest','incremental-between':'1,2'", "", INVAL, "incremental-between", NULL},
        {"'incremental-between':'1,2'", "", 0, "", NULL},
        {"'scan.mode':'incremental'", "", INVAL, "only one key in [incremental-between,", NULL},
        {"'scan.mode':'from-snapshot-full','scan.snapshot-id':'1'", "", 0, "", NULL},
        {"'scan.mode':'from-snapshot-full'", "", INVAL, "only one key in [scan.snapshot-id]", NULL},
        {"'scan.file-creation-time-millis':'1'", "", 0, "", NULL},
        {"'scan.creation-time-millis':'1'", "", 0, "", NULL},
        {"'scan.mode':'latest-delta','scan.snapshot-id':'1'", "", 0, "", NULL},
        {"'scan.fallback-branch':'x','scan.primary-branch':'y'", "", INVAL, "Cannot set both",
         NULL},
        {"'scan.fallback-branch':'x','scan.primary-branch':' '", "", 0, "", NULL},
    };
    RUN(rules);
}

static void test_sequence(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"'sequence.field':'c'", PK_A, 0, "", NULL},
        {"'sequence.field':' c , b '", PK_A, 0, "", NULL},
        {"'sequence.field':''", PK_A, INVAL, "Sequence field: '' can not be found", NULL},
        {"'sequence.field':','", PK_A, 0, "", NULL},
        {"'sequence.field':'x'", PK_A, INVAL, "Sequence field: 'x' can not be found", NULL},
        {"'sequence.field':'c, c'", PK_A, INVAL, "'c' is defined repeatedly", NULL},
        {"'sequence.field':'c','fields.c.aggregate-function':'max'", PK_A, INVAL,
         "Should not define aggregation on sequence field: 'c'", NULL},
        {"'sequence.field':'c','merge-engine':'first-row'", PK_A, INVAL,
         "Do not support use sequence field on FIRST_ROW merge engine", NULL},
        {"'sequence.field':'c'", PK_A PART_P, INVAL, "in cross partition update case", NULL},
        {"'sequence.field':'c'", PK_AP PART_P, 0, "", NULL},
    };
    RUN(rules);
}

static void test_fields(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"'fields.x.distinct':'true'", "", INVAL, "Field x can not be found in table schema", NULL},
        {"'fields.a,x.sequence-group':'b'", "", INVAL, "Field x can not be found", NULL},
        {"'fields.a,b.anything':'b'", "", 0, "", NULL},
        {"'fields':'b'", "", INVAL, "names no column", NULL},
        {"'fields..':'b'", "", INVAL, "can not be found", NULL},
        {"'fieldsy.x':'b'", "", INVAL, "Field x can not be found", NULL},
        {"'fields.default-aggregate-function':'foo'", "", 0, "", NULL}, /* nothing merges */
        {"'fields.b.aggregate-function':'foo'", PK_A, 0, "", NULL},
    };
    RUN(rules);
}

#define AGG "'merge-engine':'aggregation',"
#define PUP "'merge-engine':'partial-update',"

static void test_engines(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {AGG "'fields.b.aggregate-function':'foo'", PK_A, INVAL, "no aggregate function of", NULL},
        {AGG "'fields.b.aggregate-function':'rbm64'", PK_A, 0, "", NULL},
        {AGG "'fields.default-aggregate-function':'foo'", PK_A, INVAL, "no aggregate function",
         NULL},
        {AGG "'fields.default-aggregate-function':'sum'", PK_A, 0, "", NULL},
        {PUP "'fields.default-aggregate-function':'last_non_null_value'", PK_A, 0, "", NULL},
        {PUP "'fields.b.aggregate-function':'max'", PK_A, INVAL, "not found for field b", NULL},
        {PUP "'fields.a.aggregate-function':'max'", PK_A, 0, "", NULL},
        {PUP "'fields.b.aggregate-function':'max','fields.c.sequence-group':'b'", PK_A, 0, "",
         NULL},
        {PUP "'fields.default-aggregate-function':'max','fields.c.sequence-group':'b'", PK_A, INVAL,
         "Must use sequence group for aggregation functions but not found for field d", NULL},
        {PUP "'fields.default-aggregate-function':'max','fields.c.sequence-group':'b,d,p,q'", PK_A,
         0, "", NULL},
        {PUP "'fields.c.sequence-group':'x'", PK_A, INVAL, "Field x can not be found", NULL},
        {PUP "'fields.c.sequence-group':'b','fields.d.sequence-group':'b'", PK_A, INVAL,
         "Field b is defined repeatedly by multiple groups", NULL},
        {PUP "'ignore-delete':'true','partial-update.remove-record-on-delete':'true'", PK_A, INVAL,
         "ignore-delete and partial-update.remove-record-on-delete have conflicting", NULL},
        {PUP "'fields.c.sequence-group':'b','partial-update.remove-record-on-delete':'true'", PK_A,
         INVAL, "sequence-group and partial-update.remove-record-on-delete", NULL},
        {PUP "'ignore-delete':'true','partial-update.remove-record-on-sequence-group':'c'", PK_A,
         INVAL, "ignore-delete and partial-update.remove-record-on-sequence-group", NULL},
        {PUP "'fields.c.sequence-group':'b','partial-update.remove-record-on-sequence-group':'b'",
         PK_A, INVAL, "must be part of sequence groups", NULL},
        {PUP "'fields.c.sequence-group':'b','partial-update.remove-record-on-sequence-group':'c'",
         PK_A, 0, "", NULL},
        {PUP "'fields.b.aggregate-function':'max'", "", 0, "", NULL}, /* no keys: not merged */
    };
    RUN(rules);
}

static void test_producer(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"'changelog-producer':'input'", "", NOT_DONE,
         "Can not set changelog-producer on table without primary keys", NULL},
        {"'changelog-producer':'None'", "", 0, "", NULL},
        {"'changelog-producer':'lookup'", PK_A, 0, "", NULL},
        {"'changelog-producer':'lookup','streaming-read-overwrite':'true'", PK_A, NOT_DONE,
         "Cannot set streaming-read-overwrite to true when changelog producer is lookup", NULL},
        {"'changelog-producer':'input','streaming-read-overwrite':'true'", PK_A, 0, "", NULL},
        {"'streaming-read-overwrite':'true'", "", INVAL, "streaming-read-append-overwrite", NULL},
        {"'changelog-producer':'input','merge-engine':'first-row'", PK_A, INVAL,
         "Only support 'none' and 'lookup' changelog-producer on FIRST_ROW merge engine", NULL},
        {"'changelog-producer':'lookup','merge-engine':'first-row'", PK_A, 0, "", NULL},
        {"'changelog-producer':'full-compaction','deletion-vectors.enabled':'true'", PK_A, INVAL,
         "Deletion vectors mode is only supported for NONE/INPUT/LOOKUP", NULL},
        {"'merge-engine':'first-row','deletion-vectors.enabled':'true'", PK_A, INVAL,
         "First row merge engine does not need deletion vectors", NULL},
        {"'deletion-vectors.enabled':'true'", PK_A, 0, "", NULL},
    };
    RUN(rules);
}

static void test_retention(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"'snapshot.num-retained.min':'0'", "", INVAL, "min should be at least 1", NULL},
        {"'snapshot.num-retained.max':'9'", "", INVAL,
         "snapshot.num-retained.min should not be larger than snapshot.num-retained.max", NULL},
        {"'snapshot.num-retained.max':'10'", "", 0, "", NULL},
        {"'changelog.num-retained.min':'-1'", "", INVAL, "changelog.num-retained.min should", NULL},
        {"'changelog.num-retained.max':'5'", "", INVAL, "changelog.num-retained.max", NULL},
        {"'changelog.num-retained.max':'5','changelog.num-retained.min':'5'", "", 0, "", NULL},
    };
    RUN(rules);
}

#define BLOB      "," COL(6, "blob", "\"BLOB\"")
#define VEC       "," COL(6, "vec", "\"VECTOR<FLOAT, 3>\"")
#define TRACK     "'row-tracking.enabled':'true',"
#define EVOLVE    TRACK "'data-evolution.enabled':'true'"
#define ONLY_BLOB "{\"fields\":[" COL(0, "blob", "\"BLOB\"") "],\"options\":{"

static void test_formats(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"'file.format':'foo'", "", INVAL, "no file format of that name", NULL},
        {"'file.format':''", "", INVAL, "no file format of that name", NULL},
        {"'file.format':'ORC'", "", 0, "", NULL},
        {"'file.format':'vortex'", "", 0, "", NULL},
        {"'file.format':'avro'", "", INVAL, "Avro supports a precision",
         "," COL(6, "t", "\"TIMESTAMP(9)\"")},
        {"'file.format':'avro'", "", INVAL, "Avro supports a precision",
         "," COL(6, "t", "{\"type\":\"ARRAY\",\"element\":\"TIME(4)\"}")},
        {"'file.format':'avro'", "", 0, "", "," COL(6, "t", "\"TIMESTAMP(6)\"")},
        {"'file.format':'orc'", "", NOT_DONE, "cannot hold the type VARIANT",
         "," COL(6, "v", "\"VARIANT\"")},
        {"'file.format':'avro'", "", NOT_DONE, "cannot hold the type VARIANT",
         "," COL(6, "v", "\"VARIANT\"")},
        {"'file.format':'csv'", "", NOT_DONE, "cannot hold the type ARRAY",
         "," COL(6, "v", "\"INT ARRAY\"")},
        {"'file.format':'json'", "", NOT_DONE, "cannot hold the type MULTISET",
         "," COL(6, "v", "\"INT MULTISET\"")},
        {"'file.format':'text'", "", INVAL, "Text format only supports a single string", NULL},
        {"'file.format':'orc'", "", INVAL, "require 'file.format'='parquet'",
         "," COL(6, "g", "\"GEOMETRY\"")},
        {"", "", 0, "", "," COL(6, "g", "\"GEOMETRY\"")},
        {"", "", 0, "", VEC},
        {"'vector-field':'vec'", "", 0, "", VEC},
        {"'vector-field':'x'", "", INVAL, "specified as vector-field are unknown", VEC},
        {"'vector-field':'a'", "", INVAL, "so the type must be vector, but it is INT", VEC},
        {"'vector.file.format':'json'", "", INVAL, "with vector-store file format", VEC},
        {"'vector.file.format':'json'," EVOLVE, "", 0, "", VEC},
        {"'vector.file.format':'foo'," EVOLVE, "", INVAL, "vector.file.format is 'foo'", VEC},
        {"'vector.file.format':'orc'," EVOLVE, "", NOT_DONE, "cannot hold the type VECTOR", VEC},
    };
    RUN(rules);
}

static void test_blobs(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"", "", INVAL, "Data evolution config must enabled for table with BLOB", BLOB},
        {EVOLVE, "", 0, "", BLOB},
        {EVOLVE, "'partitionKeys':['blob'],", INVAL, "can not be part of partition keys", BLOB},
        {"", PK_A, 0, "", BLOB},
        {"", "'primaryKeys':['blob'],", INVAL, "can not be part of primary keys", BLOB},
        {"'sequence.field':'blob'", PK_A, INVAL, "can not be part of sequence fields", BLOB},
        {AGG "'x':'y'", PK_A, INVAL, "Primary-key managed BLOB tables only support", BLOB},
        {"'changelog-producer':'input'", PK_A, INVAL, "Primary-key managed BLOB tables", BLOB},
        {"'changelog-producer':'input','blob-descriptor-field':'blob'", PK_A, 0, "", BLOB},
        {"'blob-descriptor-field':'a'," EVOLVE, "", INVAL, "must be a BLOB field", BLOB},
        {"'blob.stored-descriptor-fields':' blob ,, '," EVOLVE, "", 0, "", BLOB},
    };
    RUN(rules);
    check_json(ONLY_BLOB "\"row-tracking.enabled\":\"true\",\"data-evolution.enabled\":\"true\"}}",
               E_INVAL, "must have other normal columns");
}

static void test_columns_named(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"'record-level.time-field':'c'", "", 0, "", NULL},
        {"'record-level.time-field':'x'", "", INVAL, "Can not find time field x", NULL},
        {"'record-level.time-field':'b'", "", INVAL, "should be one of INT, BIGINT, or TIMESTAMP",
         NULL},
        {"'rowkind.field':'b'", "", 0, "", NULL},
        {"'rowkind.field':'x'", "", INVAL, "Rowkind field: 'x' can not be found", NULL},
        {"'table-read.sequence-number.enabled':'true'", "", INVAL, "for non-primary-key", NULL},
        {"'table-read.sequence-number.enabled':'true'", PK_A, 0, "", NULL},
    };
    RUN(rules);
}

#define CLUSTER "'clustering.incremental':'true'"
#define BUCKET  ",'bucket':'2','bucket-key':'b'"

static void test_tracking(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {TRACK "'x':'y'", PK_A, INVAL, "Cannot define primary-key for row tracking table", NULL},
        {TRACK "'x':'y'" BUCKET, "", INVAL, "it only support bucket = -1", NULL},
        {TRACK "'x':'y'", "", 0, "", NULL},
        {"'data-evolution.enabled':'true'", "", INVAL, "enabled with row-tracking.enabled", NULL},
        {EVOLVE "," CLUSTER, "", INVAL, "must disabled with clustering.incremental", NULL},
        {EVOLVE ",'deletion-vectors.enabled':'true'", "", 0, "", NULL},
        {CLUSTER, "", 0, "", NULL},
        {CLUSTER, PK_A, INVAL, "Cannot define primary-key for incremental clustering table", NULL},
        {CLUSTER BUCKET, "", INVAL, "bucket-append-ordered must be false", NULL},
        {CLUSTER BUCKET ",'bucket-append-ordered':'false'", "", 0, "", NULL},
        {CLUSTER BUCKET ",'bucket-append-ordered':'false','deletion-vectors.enabled':'true'", "",
         INVAL, "Cannot enable deletion-vectors for incremental clustering table", NULL},
    };
    RUN(rules);
}

#define OVERRIDE "'pk-clustering-override':'true','clustering.columns':'b'"
#define VECTORS  ",'deletion-vectors.enabled':'true'"

static void test_override(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {OVERRIDE VECTORS, PK_A, 0, "", NULL},
        {"'pk-clustering-override':'true'" VECTORS, PK_A, INVAL, "'clustering.columns'", NULL},
        {"'pk-clustering-override':'true','sink.clustering.by-columns':'b'" VECTORS, PK_A, 0, "",
         NULL},
        {OVERRIDE, PK_A, NOT_DONE, "Cannot support deletion-vectors disabled", NULL},
        {OVERRIDE ",'merge-engine':'first-row'", PK_A, 0, "", NULL},
        {OVERRIDE VECTORS ",'record-level.expire-time':'1 d'", PK_A, NOT_DONE, "record level",
         NULL},
        {OVERRIDE VECTORS ",'merge-engine':'aggregation'", PK_A, NOT_DONE, "merge engine", NULL},
        {OVERRIDE VECTORS ",'sequence.field':'c'", PK_A, NOT_DONE, "sequence field", NULL},
        {OVERRIDE VECTORS ",'changelog-producer':'lookup'", PK_A, NOT_DONE, "changelog", NULL},
        {OVERRIDE VECTORS ",'changelog-producer':'input'", PK_A, 0, "", NULL},
    };
    RUN(rules);
}

#define CHAIN   "'chain-table.enabled':'true','sequence.field':'c'"
#define PATTERN ",'partition.timestamp-pattern':'$p'"
#define FORMAT  ",'partition.timestamp-formatter':'yyyy'"
#define WHOLE   CHAIN PATTERN FORMAT ",'bucket':'2'"
#define TAIL(k) ",'chain-table.chain-partition-keys':'" k "'"

static void test_chain(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {WHOLE, PK_AP PART_P, 0, "", NULL},
        {CHAIN, "", INVAL, "Primary key is required for chain table", NULL},
        {CHAIN, PK_A, INVAL, "Chain table must be partition table", NULL},
        {CHAIN, PK_AP PART_P, INVAL, "Bucket number must be greater than 0 for chain table", NULL},
        {CHAIN ",'bucket':'2'", PK_AP PART_P, INVAL, "Partition timestamp pattern", NULL},
        {CHAIN PATTERN ",'bucket':'2'", PK_AP PART_P, INVAL, "timestamp formatter", NULL},
        {WHOLE ",'changelog-producer':'lookup'", PK_AP PART_P, INVAL, "must be none or input",
         NULL},
        {WHOLE VECTORS, PK_AP PART_P, 0, "", NULL},
        {WHOLE VECTORS ",'merge-engine':'aggregation'", PK_AP PART_P, INVAL, "deduplicate", NULL},
        {WHOLE TAIL("q"), PK_APQ PART_PQ, 0, "", NULL},
        {WHOLE TAIL(" p , q"), PK_APQ PART_PQ, 0, "", NULL},
        {WHOLE TAIL("p"), PK_APQ PART_PQ, INVAL, "must be a contiguous suffix", NULL},
        {WHOLE TAIL("a,p,q"), PK_APQ PART_PQ, INVAL, "must be a contiguous suffix", NULL},
        {WHOLE TAIL(","), PK_APQ PART_PQ, INVAL, "must not be empty", NULL},
        {WHOLE TAIL(" "), PK_APQ PART_PQ, 0, "", NULL},
    };
    RUN(rules);
}

/* --- default values (which: test_default_value.c) ----------------------------------------------- */

static void test_default(void **state)
{
    (void)state;
#define COL_X(value)                                                                               \
    "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT\"},{\"id\":1,\"name\":\"x\","            \
    "\"type\":\"INT\",\"defaultValue\":\"" value "\"}]}"
    check_json(COL_X("1"), 0, "");
    check_json(COL_X("y"), E_INVAL,
               "give column \"x\" a default value that can be cast to its type: Unsupported "
               "default value `y` for "
               "type INT");
}

/* A table that an older version made with a wrong option: taking the option away mends it. */
static void test_mended(void **state)
{
    (void)state;
    static const struct rule r = {"'ignore-delete':'max','x':'y'", PK_A, 0, "", NULL};
    const struct json *v;
    struct schema s;
    assert_int_equal(json_parse(&cx, str_of(rule_json(&r)), "test", &v), 0);
    assert_int_equal(schema_decode(&cx, v, "schema", &s), 0);
    assert_int_equal(schema_check_table(&cx, &s), E_INVAL);
    assert_int_equal(schema_remove_option(&cx, &s, STR_LIT("x")), 0);
    assert_int_equal(schema_check_table(&cx, &s), E_INVAL); /* the result is judged */
    assert_int_equal(schema_remove_option(&cx, &s, STR_LIT("ignore-delete")), 0);
    assert_int_equal(schema_check_table(&cx, &s), 0);
}

/* --- limits ----------------------------------------------------------------------------------- */

/* 10,000 columns with defaults, and thousands of options that name them. */
static void test_wide(void **state)
{
    (void)state;
    enum { N = 10000 };
    struct buf b = {0};
    buf_addz(&b, "{\"fields\":[");
    for (int i = 0; i < N; i++)
        buf_addf(&b, "%s{\"id\":%d,\"name\":\"c%d\",\"type\":\"INT\",\"defaultValue\":\"%d\"}",
                 i ? "," : "", i, i, i);
    buf_addz(&b, "],\"primaryKeys\":[\"c0\"],\"options\":{\"merge-engine\":\"partial-update\"");
    for (int i = 2; i < N; i += 2)
        buf_addf(&b,
                 ",\"fields.c%d.sequence-group\":\"c%d\",\"fields.c%d.aggregate-function\":\"max\"",
                 i, i + 1, i + 1);
    buf_addz(&b, ",\"sequence.field\":\"c1");
    for (int i = 2; i < N; i += 2)
        buf_addf(&b, ",c%d", i);
    buf_addz(&b, "\"}}");
    const struct json *v;
    struct schema s;
    assert_int_equal(json_parse(&cx, str_of(buf_z(&b)), "test", &v), 0);
    assert_int_equal(schema_decode(&cx, v, "schema", &s), 0);
    int64_t start = clock_mono_ms();
    if (schema_check_table(&cx, &s) != 0)
        fail_msg("%s", cx.err.msg);
    assert_true(clock_mono_ms() - start < 2000); /* some ms; a quadratic walk takes much longer */
    buf_done(&b);
}

static void test_no_memory(void **state)
{
    (void)state;
    static const struct rule r = {
        PUP "'fields.b.aggregate-function':'max','fields.c.sequence-group':'b','bucket':'2',"
            "'bucket-key':'a','sequence.field':'d'",
        PK_A, 0, "", NULL};
    struct schema s;
    const struct json *v;
    assert_int_equal(json_parse(&cx, str_of(rule_json(&r)), "test", &v), 0);
    assert_int_equal(schema_decode(&cx, v, "schema", &s), 0);
    bool failed = false;
    for (long n = 1;; n++) {
        struct ctx small;
        ctx_init(&small, 1 << 20);
        mem_fail_at(n, 0);
        int rc = schema_check_table(&small, &s);
        mem_fail_at(0, 0);
        ctx_done(&small);
        assert_true(rc == 0 || rc == E_NOMEM);
        if (rc == 0)
            break;
        failed = true;
        assert_true(n < 1000);
    }
    assert_true(failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_values),   T(test_bucket),    T(test_scan),          T(test_sequence),
        T(test_fields),   T(test_engines),   T(test_producer),      T(test_retention),
        T(test_formats),  T(test_blobs),     T(test_columns_named), T(test_tracking),
        T(test_override), T(test_chain),     T(test_default),       T(test_mended),
        T(test_wide),     T(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
