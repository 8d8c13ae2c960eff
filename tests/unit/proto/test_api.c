/* test_api.c - bodies of Paimon's API: what the real clients send, what nobody may send, and what
 * we answer, byte for byte.
 *
 * The golden bodies were recorded from pypaimon 2.1.0 on the wire ("P", blanks after ':' and ',')
 * and printed by RESTApi.toJson of paimon-bundle 1.4.2 ("j"). Every bad body must give its code,
 * name the member in the message, and leave the result unwritten. */
#include "tests/unit/proto/api_fixture.h"

#include "proto/api/api_commit.h"
#include "proto/api/api_config.h"
#include "proto/api/api_database.h"
#include "proto/api/api_snapshot.h"
#include "proto/api/api_table.h"
#include "proto/base/mem.h"

/* So many bytes of text. */
#define X16  "xxxxxxxxxxxxxxxx"
#define X64  X16 X16 X16 X16
#define X251 X64 X64 X64 X16 X16 X16 "xxxxxxxxxxx"
#define X255 X251 "xxxx"
#define X256 X255 "x"

/* --- what clients send ---------------------------------------------------------------------------
 */

static void database_create_golden(void **state)
{
    (void)state;
    struct api_database_create r;
    assert_int_equal(
        api_database_create_decode(&cx, parse("{\"name\": \"db\", \"options\": null}"), &r),
        0); /* P */
    assert_str(r.name, "db");
    assert_str(r.options_json, "{}");
    assert_int_equal(
        api_database_create_decode(
            &cx, parse("{\"name\": \"db\", \"options\": {\"owner\": \"\\u00fc\"}}"), &r), /* P */
        0);
    assert_str(r.options_json, "{\"owner\": \"\\u00fc\"}"); /* as it was sent */
    assert_int_equal(api_database_create_decode(&cx, parse("{\"name\":\"db\",\"options\":{}}"), &r),
                     0); /* j */
    assert_str(r.options_json, "{}");
    assert_int_equal(api_database_create_decode(&cx, parse("{\"name\":\"Sys\",\"later\":[1]}"), &r),
                     0);
    assert_str(r.name, "Sys");
    assert_int_equal(api_database_create_decode(&cx, parse("{\"name\":\"" X255 "\"}"), &r), 0);
    assert_int_equal(r.name.len, 255);
}

static void database_alter_golden(void **state)
{
    (void)state;
    struct api_database_alter r;
    assert_int_equal(api_database_alter_decode(
                         &cx, parse("{\"removals\": [], \"updates\": {\"a\": \"b\"}}"), &r),
                     0); /* P */
    assert_int_equal(r.removals->n, 0);
    assert_int_equal(r.updates->n, 1);
    assert_str(json_get(r.updates, "a")->s, "b");
    assert_int_equal(api_database_alter_decode(
                         &cx, parse("{\"removals\":[\"a\"],\"updates\":{\"comment\":\"x\"}}"), &r),
                     0); /* j */
    assert_str(r.removals->child->s, "a");
    assert_int_equal(
        api_database_alter_decode(&cx, parse("{\"removals\":null,\"updates\":null}"), &r), 0);
    assert_null(r.removals);
    assert_null(r.updates);
    assert_int_equal(api_database_alter_decode(&cx, parse("{}"), &r), 0);
    assert_null(r.removals);
}

static void table_create_golden(void **state)
{
    (void)state;
    struct api_table_create r;
    const char *p =
        "{\"identifier\": {\"database\": \"db\", \"object\": \"t\"}, \"schema\": {\"fields\": "
        "[{\"id\": 0, \"name\": \"k\", \"type\": \"BIGINT NOT NULL\"}, {\"id\": 1, \"name\": "
        "\"v\", "
        "\"type\": \"STRING\"}, {\"id\": 2, \"name\": \"dt\", \"type\": \"STRING NOT NULL\"}], "
        "\"partitionKeys\": [\"dt\"], \"primaryKeys\": [\"k\", \"dt\"], \"options\": {\"bucket\": "
        "\"1\"}, \"comment\": \"c\\\"m\"}}";
    const char *j =
        "{\"identifier\":{\"database\":\"db\",\"object\":\"t\"},\"schema\":{\"fields\":[{\"id\":0,"
        "\"name\":\"k\",\"type\":\"BIGINT NOT NULL\"},{\"id\":1,\"name\":\"v\",\"type\":\"STRING\","
        "\"description\":\"cmt\"},{\"id\":2,\"name\":\"r\",\"type\":{\"type\":\"ROW\",\"fields\":"
        "[{\"id\":3,\"name\":\"x\",\"type\":\"INT\"}]}}],\"partitionKeys\":[],\"primaryKeys\":"
        "[\"k\"],\"options\":{\"bucket\":\"1\"},\"comment\":\"c\"}}";
    assert_int_equal(api_table_create_decode(&cx, parse(p), STR_LIT("db"), &r), 0);
    assert_str(r.name, "t");
    assert_int_equal(json_get(r.schema, "fields")->n, 3);
    assert_int_equal(api_table_create_decode(&cx, parse(j), STR_LIT("db"), &r), 0);
    assert_str(r.name, "t");
    assert_str(json_get(r.schema, "comment")->s, "c");
}

static void table_rename_golden(void **state)
{
    (void)state;
    struct api_table_rename r;
    assert_int_equal(
        api_table_rename_decode(&cx,
                                parse("{\"source\":{\"database\":\"db\",\"object\":\"t\"},"
                                      "\"destination\":{\"database\":\"db2\",\"object\":\"t2\"}}"),
                                &r),
        0); /* j; P the same with blanks */
    assert_str(r.source.database, "db");
    assert_str(r.source.object, "t");
    assert_str(r.destination.database, "db2");
    assert_str(r.destination.object, "t2");
}

static void table_alter_golden(void **state)
{
    (void)state;
    const struct json *r;
    const char *p = "{\"changes\": [{\"key\": \"a\", \"value\": \"b\", \"action\": \"setOption\"}, "
                    "{\"fieldNames\": [\"z\"], \"dataType\": \"INT\", \"comment\": null, \"move\": "
                    "null, \"action\": \"addColumn\"}, {\"fieldNames\": [\"v\"], \"action\": "
                    "\"dropColumn\"}]}";
    const char *j = "{\"changes\":[{\"action\":\"setOption\",\"key\":\"a\",\"value\":\"b\"},"
                    "{\"action\":\"addColumn\",\"fieldNames\":[\"z\"],\"dataType\":\"INT\","
                    "\"comment\":null,\"move\":null},{\"action\":\"dropColumn\",\"fieldNames\":"
                    "[\"v\"]}]}";
    assert_int_equal(api_changes_decode(&cx, parse(p), &r), 0);
    assert_int_equal(r->n, 3);
    assert_str(json_get(r->child->next, "action")->s, "addColumn");
    assert_int_equal(api_changes_decode(&cx, parse(j), &r), 0);
    assert_str(json_get(r->child->next->next, "action")->s, "dropColumn");
    assert_int_equal(api_changes_decode(&cx, parse("{\"changes\":[]}"), &r), 0);
    assert_int_equal(r->n, 0);
}

/* As pypaimon 2.1.0 posted it (baseSnapshotUuid comes last). */
#define P_SNAPSHOT                                                                                 \
    "{\"version\": 3, \"id\": 1, \"schemaId\": 0, \"baseManifestList\": "                          \
    "\"manifest-list-d3d41200-32fa-453c-a751-66ea74150e4b-0\", \"deltaManifestList\": "            \
    "\"manifest-list-d3d41200-32fa-453c-a751-66ea74150e4b-1\", \"totalRecordCount\": 2, "          \
    "\"deltaRecordCount\": 2, \"commitUser\": \"142a3895-b653-4887-b150-1e99ad6b6ec9\", "          \
    "\"commitIdentifier\": 9223372036854775807, \"commitKind\": \"APPEND\", \"timeMillis\": "      \
    "1796050878720, \"baseManifestListSize\": 1234, \"deltaManifestListSize\": 1352, \"uuid\": "   \
    "\"d0fa35b1-84a9-4b86-835c-133853014330\", \"writerVersion\": \"python-2.1.0-3a5ffe78\"}"

static void commit_golden_p(void **state)
{
    (void)state;
    struct api_commit r;
    const char *body =
        "{\"tableId\": \"11111111-1111-1111-1111-111111111111\", \"snapshot\": " P_SNAPSHOT
        ", \"statistics\": [{\"spec\": {\"dt\": \"x\"}, \"recordCount\": 1, \"fileSizeInBytes\": "
        "1895, \"fileCount\": 1, \"lastFileCreationTime\": 1796050878000, \"totalBuckets\": 1}, "
        "{\"spec\": {\"dt\": \"y\"}, \"recordCount\": 1, \"fileSizeInBytes\": 1896, \"fileCount\": "
        "1, \"lastFileCreationTime\": 1796050877000, \"totalBuckets\": 1}], \"baseSnapshotUuid\": "
        "null}";
    assert_int_equal(api_commit_decode(&cx, parse(body), &r), 0);
    assert_str(r.table_id, "11111111-1111-1111-1111-111111111111");
    assert_str(r.base_uuid, NULL);
    assert_str(r.snapshot->raw, P_SNAPSHOT); /* as it was sent, to the byte */
    assert_int_equal(json_get(r.snapshot, "commitIdentifier")->i, INT64_MAX);
}

static void commit_golden_java(void **state)
{
    (void)state;
    struct api_commit r;
    const char *j = "{\"tableId\":null,\"snapshot\":{\"version\":3,\"id\":1,\"schemaId\":0,"
                    "\"baseManifestList\":\"manifest-list-a-0\",\"deltaManifestList\":"
                    "\"manifest-list-a-1\",\"commitUser\":\"u\",\"commitIdentifier\":"
                    "9223372036854775807,\"commitKind\":\"APPEND\",\"timeMillis\":1700000000000,"
                    "\"totalRecordCount\":2,\"deltaRecordCount\":2},\"statistics\":[]}";
    assert_int_equal(api_commit_decode(&cx, parse(j), &r), 0);
    assert_str(r.table_id, NULL);
    assert_str(r.base_uuid, NULL); /* 1.4.2 does not know it */
    assert_int_equal(r.snapshot->n, 11);
    /* 2.1: with a base, and a member we do not know. */
    assert_int_equal(api_commit_decode(&cx,
                                       parse("{\"tableId\":\"i\",\"baseSnapshotUuid\":\"u-1\","
                                             "\"snapshot\":{},\"statistics\":[],\"later\":{}}"),
                                       &r),
                     0);
    assert_str(r.table_id, "i");
    assert_str(r.base_uuid, "u-1");
}

/* They are no reason to refuse a commit. */
static void commit_statistics(void **state)
{
    (void)state;
    static const char *const any[] = {"null",
                                      "[]",
                                      "{}",
                                      "7",
                                      "[null,7,{}]",
                                      "[{\"spec\":[]},{\"spec\":{\"dt\":1}}]",
                                      "[{\"recordCount\":\"1\"},{\"recordCount\":1e99}]",
                                      "[{\"totalBuckets\":2147483648}]",
                                      "[{\"fileCount\":9223372036854775807},{\"fileCount\":1}]"};
    for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
        struct api_commit r;
        char body[200];
        snprintf(body, sizeof body, "{\"tableId\":\"i\",\"statistics\":%s,\"snapshot\":{\"a\":1}}",
                 any[i]);
        assert_int_equal(api_commit_decode(&cx, parse(body), &r), 0);
        assert_str(r.table_id, "i");
        assert_str(r.base_uuid, NULL);
        assert_str(r.snapshot->raw, "{\"a\":1}");
    }
}

#define BACK(i) "{\"instant\":" i "}"

static void rollback_golden(void **state)
{
    (void)state;
    struct api_rollback r;
    assert_int_equal(
        api_rollback_decode(&cx,
                            parse("{\"instant\": {\"type\": \"snapshot\", \"snapshotId\": 3}, "
                                  "\"fromSnapshot\": null}"), /* P */
                            &r),
        0);
    assert_int_equal(r.snapshot_id, 3);
    assert_str(r.tag, NULL);
    assert_int_equal(r.from_snapshot, 0);
    assert_int_equal(api_rollback_decode(
                         &cx, parse("{\"instant\":{\"type\":\"snapshot\",\"snapshotId\":3}}"), &r),
                     0); /* j */
    assert_int_equal(r.from_snapshot, 0);
    assert_int_equal(api_rollback_decode(&cx,
                                         parse("{\"instant\":{\"type\":\"tag\",\"tagName\":\"v1\"},"
                                               "\"fromSnapshot\":5}"),
                                         &r),
                     0); /* j, P */
    assert_str(r.tag, "v1");
    assert_int_equal(r.from_snapshot, 5);
    const char *longest = BACK("{\"type\":\"tag\",\"tagName\":\"" X251 "\"}");
    assert_int_equal(api_rollback_decode(&cx, parse(longest), &r), 0);
    assert_int_equal(r.tag.len, 251);
    /* After a conflict with the first snapshot of a table clients ask for 0: a 404, not a bad body.
     */
    assert_int_equal(api_rollback_decode(&cx,
                                         parse("{\"instant\":{\"type\":\"snapshot\",\"snapshotId\":"
                                               "0},\"fromSnapshot\":1}"),
                                         &r),
                     0);
    assert_int_equal(r.snapshot_id, 0);
    assert_str(r.tag, NULL);
}

static void snapshot_tokens(void **state)
{
    (void)state;
    int64_t below;
    assert_int_equal(api_snapshot_token(&cx, STR_NONE, &below), 0);
    assert_int_equal(below, 0);
    assert_int_equal(api_snapshot_token(&cx, STR_LIT(""), &below), 0);
    assert_int_equal(below, 0);
    assert_int_equal(api_snapshot_token(&cx, STR_LIT("9223372036854775807"), &below), 0);
    assert_int_equal(below, INT64_MAX);
    static const char *const bad[] = {"0", "-1", "x", "1x", " 1", "1.0", "9223372036854775808"};
    for (size_t i = 0; i < N(bad); i++) {
        below = 77;
        assert_int_equal(api_snapshot_token(&cx, str_of(bad[i]), &below), E_INVAL);
        assert_non_null(strstr(cx.err.msg, "pageToken is \""));
        assert_non_null(strstr(cx.err.msg, bad[i]));
        assert_int_equal(below, 77);
    }
}

/* --- what nobody may send ------------------------------------------------------------------------
 */

enum what { DB_CREATE, DB_ALTER, T_CREATE, T_RENAME, T_ALTER, COMMIT, ROLLBACK };

struct bad {
    enum what what;
    const char *body, *piece; /* of the message */
};

#define IDENT(i) "{\"identifier\":" i ",\"schema\":{}}"
#define DB_T     "{\"database\":\"db\",\"object\":\"t\"}"

static const struct bad bads[] = {
    {DB_CREATE, "[]", "must be an object, not an array"},
    {DB_CREATE, "\"db\"", "must be an object, not a string"},
    {DB_CREATE, "{}", "name is missing; it must be a string"},
    {DB_CREATE, "{\"Name\":\"db\"}", "name is missing"},
    {DB_CREATE, "{\"name\":null}", "name must be a string, not null"},
    {DB_CREATE, "{\"name\":7}", "name must be a string, not an integer"},
    {DB_CREATE, "{\"name\":[\"db\"]}", "name must be a string, not an array"},
    {DB_CREATE, "{\"name\":\"\"}", "name is empty; give it 1 to 255 bytes"},
    {DB_CREATE, "{\"name\":\"" X256 "\"}", "name has 256 bytes; at most 255"},
    {DB_CREATE, "{\"name\":\"..\"}", "name \"..\" must not be"},
    {DB_CREATE, "{\"name\":\"\\u002e\\u002e\"}", "name \"..\" must not"},
    {DB_CREATE, "{\"name\":\".\"}", "name \".\" must not"},
    {DB_CREATE, "{\"name\":\"sys\"}", "name must not be \"sys\""},
    {DB_CREATE, "{\"name\":\"db\",\"options\":[]}", "options must be an object, not an array"},
    {DB_CREATE, "{\"name\":\"db\",\"options\":\"\"}", "options must be an object, not a string"},
    {DB_CREATE, "{\"name\":\"db\",\"options\":false}", "options must be an object, not a boolean"},
    {DB_CREATE, "{\"name\":\"db\",\"options\":{\"a\":1}}",
     "options.a must be a string, not an int"},
    {DB_CREATE, "{\"name\":\"db\",\"options\":{\"b\":null}}",
     "options.b must be a string, not null"},
    {DB_CREATE, "{\"name\":\"db\",\"options\":{\"b\":\"x\",\"c\":{}}}",
     "options.c must be a string"},

    {DB_ALTER, "7", "must be an object, not an integer"},
    {DB_ALTER, "{\"removals\":{}}", "removals must be an array, not an object"},
    {DB_ALTER, "{\"removals\":\"a\"}", "removals must be an array, not a string"},
    {DB_ALTER, "{\"removals\":[\"a\",1]}", "removals[1] must be a string, not an integer"},
    {DB_ALTER, "{\"removals\":[null]}", "removals[0] must be a string, not null"},
    {DB_ALTER, "{\"updates\":[]}", "updates must be an object, not an array"},
    {DB_ALTER, "{\"removals\":[],\"updates\":\"a=b\"}", "updates must be an object, not a string"},
    {DB_ALTER, "{\"updates\":{\"a\":true}}", "updates.a must be a string, not a boolean"},

    {T_CREATE, "{\"schema\":{}}", "identifier is missing; it must be an object"},
    {T_CREATE, IDENT("null"), "identifier must be an object, not null"},
    {T_CREATE, IDENT("\"db.t\""), "identifier must be an object, not a string"},
    {T_CREATE, IDENT("{\"object\":\"t\"}"), "identifier.database is missing"},
    {T_CREATE, IDENT("{\"database\":\"db\"}"), "identifier.object is missing"},
    {T_CREATE, IDENT("{\"database\":1,\"object\":\"t\"}"), "identifier.database must be a string"},
    {T_CREATE, IDENT("{\"database\":\"db\",\"object\":null}"),
     "identifier.object must be a string"},
    {T_CREATE, IDENT("{\"database\":\"\",\"object\":\"t\"}"), "identifier.database is empty"},
    {T_CREATE, IDENT("{\"database\":\"db\",\"object\":\"\"}"), "identifier.object is empty"},
    {T_CREATE, IDENT("{\"database\":\"db2\",\"object\":\"t\"}"),
     "identifier.database is \"db2\", but the path names database \"db\""},
    {T_CREATE, IDENT("{\"database\":\"DB\",\"object\":\"t\"}"), "they must be the same"},
    {T_CREATE, IDENT("{\"database\":\"db\",\"object\":\"" X256 "\"}"),
     "identifier.object has 256 bytes"},
    {T_CREATE, IDENT("{\"database\":\"db\",\"object\":\"..\"}"), "identifier.object \"..\""},
    {T_CREATE, IDENT("{\"database\":\"db\",\"object\":\"..\"}"), "identifier.object \"..\""},
    {T_CREATE, IDENT("{\"database\":\"db\",\"object\":\"t$files\"}"),
     "identifier.object \"t$files\" must not contain '$'"},
    {T_CREATE, IDENT("{\"database\":\"db\",\"object\":\"t$branch_b\"}"), "must not contain '$'"},
    {T_CREATE, IDENT("{\"database\":\"db\",\"object\":\"$\"}"), "use a name without it"},
    {T_CREATE, "{\"identifier\":" DB_T "}", "schema is missing; it must be an object"},
    {T_CREATE, "{\"identifier\":" DB_T ",\"schema\":null}", "schema must be an object, not null"},
    {T_CREATE, "{\"identifier\":" DB_T ",\"schema\":[]}", "schema must be an object, not an array"},

    {T_RENAME, "{}", "source is missing; it must be an object"},
    {T_RENAME, "{\"source\":" DB_T "}", "destination is missing; it must be an object"},
    {T_RENAME, "{\"source\":[],\"destination\":" DB_T "}", "source must be an object"},
    {T_RENAME, "{\"source\":" DB_T ",\"destination\":\"db.t2\"}", "destination must be an object"},
    {T_RENAME, "{\"source\":" DB_T ",\"destination\":{\"database\":\"db\"}}",
     "destination.object is missing"},
    {T_RENAME, "{\"source\":" DB_T ",\"destination\":{\"object\":\"t\"}}",
     "destination.database is missing"},
    {T_RENAME,
     "{\"source\":{\"database\":\"db\",\"object\":\"t$branch_b\"},\"destination\":" DB_T "}",
     "source.object \"t$branch_b\" must not contain '$'"},
    {T_RENAME, "{\"source\":" DB_T ",\"destination\":{\"database\":\"db\",\"object\":\"t$x\"}}",
     "destination.object \"t$x\" must not contain '$'"},
    {T_RENAME, "{\"source\":" DB_T ",\"destination\":{\"database\":\"db\",\"object\":\"..\"}}",
     "destination.object \"..\" must not be"},
    {T_RENAME, "{\"source\":" DB_T ",\"destination\":{\"database\":\"" X256 "\",\"object\":\"t\"}}",
     "destination.database has 256 bytes"},

    {T_ALTER, "{}", "changes is missing; it must be an array"},
    {T_ALTER, "{\"changes\":null}", "changes must be an array, not null"},
    {T_ALTER, "{\"changes\":{\"action\":\"setOption\"}}",
     "changes must be an array, not an object"},
    {T_ALTER, "{\"changes\":[\"setOption\"]}", "changes[0] must be an object, not a string"},
    {T_ALTER, "{\"changes\":[null]}", "changes[0] must be an object, not null"},
    {T_ALTER, "{\"changes\":[{\"action\":\"setOption\"},{}]}", "changes[1].action is missing"},
    {T_ALTER, "{\"changes\":[{\"action\":3}]}", "changes[0].action must be a string"},

    {COMMIT, "[]", "must be an object, not an array"},
    {COMMIT, "{}", "snapshot is missing; it must be an object"},
    {COMMIT, "{\"snapshot\":null}", "snapshot must be an object, not null"},
    {COMMIT, "{\"snapshot\":\"{}\"}", "snapshot must be an object, not a string"},
    {COMMIT, "{\"snapshot\":{},\"tableId\":1}", "tableId must be a string, not an integer"},
    {COMMIT, "{\"snapshot\":{},\"baseSnapshotUuid\":{}}", "baseSnapshotUuid must be a string"},

    {ROLLBACK, "{}", "instant is missing; it must be an object"},
    {ROLLBACK, BACK("null"), "instant must be an object, not null"},
    {ROLLBACK, BACK("3"), "instant must be an object, not an integer"},
    {ROLLBACK, BACK("{\"snapshotId\":3}"), "instant.type is missing; it must be a string"},
    {ROLLBACK, BACK("{\"type\":3}"), "instant.type must be a string"},
    {ROLLBACK, BACK("{\"type\":\"branch\"}"),
     "instant.type is \"branch\"; it must be \"snapshot\" or \"tag\""},
    {ROLLBACK, BACK("{\"type\":\"SNAPSHOT\",\"snapshotId\":3}"), "instant.type is \"SNAPSHOT\""},
    {ROLLBACK, BACK("{\"type\":\"snapshot\"}"), "instant.snapshotId is missing"},
    {ROLLBACK, BACK("{\"type\":\"snapshot\",\"tagName\":\"v1\"}"), "instant.snapshotId is missing"},
    {ROLLBACK, BACK("{\"type\":\"snapshot\",\"snapshotId\":\"3\"}"),
     "instant.snapshotId must be an integer, not a string"},
    {ROLLBACK, BACK("{\"type\":\"snapshot\",\"snapshotId\":null}"),
     "instant.snapshotId must be an"},
    {ROLLBACK, BACK("{\"type\":\"snapshot\",\"snapshotId\":-1}"),
     "instant.snapshotId is -1; it must be the id of a snapshot (1 or more)"},
    {ROLLBACK, BACK("{\"type\":\"tag\"}"), "instant.tagName is missing"},
    {ROLLBACK, BACK("{\"type\":\"tag\",\"tagName\":1}"), "instant.tagName must be a string"},
    {ROLLBACK, BACK("{\"type\":\"tag\",\"tagName\":\"\"}"), "instant.tagName is empty"},
    {ROLLBACK, BACK("{\"type\":\"tag\",\"tagName\":\"../v\"}"), "instant.tagName \"../v\""},
    {ROLLBACK, BACK("{\"type\":\"tag\",\"tagName\":\"" X256 "\"}"),
     "instant.tagName has 256 bytes"},
    {ROLLBACK, BACK("{\"type\":\"tag\",\"tagName\":\"" X255 "\"}"),
     "instant.tagName has 255 bytes; at most 251 are allowed"},
    {ROLLBACK, "{\"instant\":{\"type\":\"snapshot\",\"snapshotId\":3},\"fromSnapshot\":\"5\"}",
     "fromSnapshot must be an integer, not a string"},
    {ROLLBACK, "{\"instant\":{\"type\":\"snapshot\",\"snapshotId\":3},\"fromSnapshot\":0}",
     "fromSnapshot is 0; it must be the id of a snapshot"},
    {ROLLBACK, "{\"instant\":{\"type\":\"snapshot\",\"snapshotId\":3},\"fromSnapshot\":-2}",
     "fromSnapshot is -2"},
};
_Static_assert(N(bads) >= 60, "the table of bad bodies shrank");

union any {
    struct api_database_create a;
    struct api_database_alter b;
    struct api_table_create c;
    struct api_table_rename d;
    const struct json *e;
    struct api_commit f;
    struct api_rollback g;
    unsigned char bytes[256];
};

static int decode(const struct bad *t, union any *r)
{
    const struct json *body = parse(t->body);
    switch (t->what) {
    case DB_CREATE:
        return api_database_create_decode(&cx, body, &r->a);
    case DB_ALTER:
        return api_database_alter_decode(&cx, body, &r->b);
    case T_CREATE:
        return api_table_create_decode(&cx, body, STR_LIT("db"), &r->c);
    case T_RENAME:
        return api_table_rename_decode(&cx, body, &r->d);
    case T_ALTER:
        return api_changes_decode(&cx, body, &r->e);
    case COMMIT:
        return api_commit_decode(&cx, body, &r->f);
    case ROLLBACK:
        return api_rollback_decode(&cx, body, &r->g);
    }
    return 0;
}

static void bad_bodies(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(bads); i++) {
        union any r;
        memset(r.bytes, 0xA5, sizeof(r.bytes));
        ctx_reset_err(&cx);
        int rc = decode(&bads[i], &r);
        if (rc != E_INVAL || cx.err.code != E_INVAL)
            fail_msg("%s: got %s", bads[i].body, err_name(rc));
        if (!strstr(cx.err.msg, bads[i].piece))
            fail_msg("%s: \"%s\" does not say \"%s\"", bads[i].body, cx.err.msg, bads[i].piece);
        for (size_t k = 0; k < sizeof(r.bytes); k++)
            if (r.bytes[k] != 0xA5)
                fail_msg("%s: the result was written at byte %zu", bads[i].body, k);
    }
}

/* --- what we answer --------------------------------------------------------------------------- */

static const struct api_audit audit = {.owner = STR_LIT("root"),
                                       .created_by = STR_LIT("ann"),
                                       .updated_by = STR_LIT("bob"),
                                       .created_ms = 1700000000000,
                                       .updated_ms = 1700000000001};
#define AUDIT                                                                                      \
    "\"owner\":\"root\",\"createdAt\":1700000000000,\"createdBy\":\"ann\","                        \
    "\"updatedAt\":1700000000001,\"updatedBy\":\"bob\""

static void config_body(void **state)
{
    (void)state;
    assert_int_equal(api_config_encode(&cx, &out, STR_LIT("{\"io-cache.enabled\":\"true\"}"),
                                       STR_LIT("acme.w\"h")),
                     0);
    assert_out("{\"defaults\":{\"io-cache.enabled\":\"true\"},"
               "\"overrides\":{\"prefix\":\"acme.w\\\"h\"}}");
    buf_clear(&out);
    assert_int_equal(api_config_encode(&cx, &out, STR_LIT(""), STR_LIT("a.b")), 0);
    assert_out("{\"defaults\":{},\"overrides\":{\"prefix\":\"a.b\"}}");
}

static void database_body(void **state)
{
    (void)state;
    struct api_database db = {.id = STR_LIT("id-1"),
                              .name = STR_LIT("d\"\xC3\xBC"),
                              .location = STR_LIT("file:///w/d.db"),
                              .options_json = STR_LIT("{\"comment\": \"x\"}"),
                              .audit = audit};
    assert_int_equal(api_database_encode(&cx, &out, &db), 0);
    assert_out("{\"id\":\"id-1\",\"name\":\"d\\\"\xC3\xBC\",\"location\":\"file:///w/d.db\","
               "\"options\":{\"comment\": \"x\"}," AUDIT "}");
    buf_clear(&out);
    db.options_json = STR_NONE; /* Java fails without options */
    db.audit = (struct api_audit){0};
    assert_int_equal(api_database_encode(&cx, &out, &db), 0);
    assert_out("{\"id\":\"id-1\",\"name\":\"d\\\"\xC3\xBC\",\"location\":\"file:///w/d.db\","
               "\"options\":{},\"owner\":null,\"createdAt\":0,\"createdBy\":null,\"updatedAt\":0,"
               "\"updatedBy\":null}");
}

static void database_altered_body(void **state)
{
    (void)state;
    const str removed[] = {STR_LIT("a"), STR_LIT("b")}, missing[] = {STR_LIT("c\n")};
    struct api_database_altered in = {
        .removed = removed, .n_removed = 2, .missing = missing, .n_missing = 1};
    assert_int_equal(api_database_altered_encode(&cx, &out, &in), 0);
    assert_out("{\"removed\":[\"a\",\"b\"],\"updated\":[],\"missing\":[\"c\\n\"]}");
}

static void table_body(void **state)
{
    (void)state;
    struct api_table t = {.id = STR_LIT("id-1"),
                          .database = STR_LIT("db"),
                          .object = STR_LIT("t$branch_b"),
                          .path = STR_LIT("file:///w/db.db/t"),
                          .schema_id = 12,
                          .schema_json = STR_LIT("{\"fields\":[]}"),
                          .audit = audit};
    assert_int_equal(api_table_encode(&cx, &out, &t), 0);
    assert_out("{\"id\":\"id-1\",\"database\":\"db\",\"name\":\"t$branch_b\","
               "\"path\":\"file:///w/db.db/t\",\"isExternal\":false,\"schemaId\":12,"
               "\"schema\":{\"fields\":[]}," AUDIT "}");
    buf_clear(&out);
    t.schema_json = STR_LIT("");
    assert_int_equal(api_table_encode(&cx, &out, &t), E_CORRUPT);
    assert_int_equal(cx.err.res, RES_TABLE);
    assert_int_equal(out.len, 0);
}

static void pages_of_names(void **state)
{
    (void)state;
    const str names[] = {STR_LIT("a"), STR_LIT("b\"")};
    assert_int_equal(api_names_encode(&cx, &out, "tables", names, 2, 3), 0);
    assert_out("{\"tables\":[\"a\",\"b\\\"\"],\"nextPageToken\":null}");
    buf_clear(&out);
    assert_int_equal(api_names_encode(&cx, &out, "tables", names, 2, 2), 0); /* exactly full */
    assert_out("{\"tables\":[\"a\",\"b\\\"\"],\"nextPageToken\":\"b\\\"\"}");
    buf_clear(&out);
    assert_int_equal(api_names_encode(&cx, &out, "databases", names, 1, 1), 0);
    assert_out("{\"databases\":[\"a\"],\"nextPageToken\":\"a\"}");
    buf_clear(&out);
    assert_int_equal(api_names_encode(&cx, &out, "databases", NULL, 0, 1000), 0);
    assert_out("{\"databases\":[],\"nextPageToken\":null}"); /* no token: pypaimon would loop */
}

static void snapshot_bodies(void **state)
{
    (void)state;
    const str jsons[] = {STR_LIT("{\"id\": 9}"), STR_LIT("{\n  \"id\" : 8\n}")};
    const int64_t ids[] = {9, 8};
    assert_int_equal(api_snapshots_encode(&cx, &out, jsons, ids, 2, 2), 0);
    assert_out("{\"snapshots\":[{\"id\": 9},{\n  \"id\" : 8\n}],\"nextPageToken\":\"8\"}");
    buf_clear(&out);
    assert_int_equal(api_snapshots_encode(&cx, &out, jsons, ids, 2, 3), 0);
    assert_out("{\"snapshots\":[{\"id\": 9},{\n  \"id\" : 8\n}],\"nextPageToken\":null}");
    buf_clear(&out);
    assert_int_equal(api_snapshots_encode(&cx, &out, NULL, NULL, 0, 1), 0);
    assert_out("{\"snapshots\":[],\"nextPageToken\":null}");
    buf_clear(&out);
    assert_int_equal(api_snapshot_at_encode(&cx, &out, jsons[0]), 0);
    assert_out("{\"snapshot\":{\"id\": 9}}");
}

static void commit_answers(void **state)
{
    (void)state;
    assert_int_equal(api_commit_encode(&cx, &out, true), 0);
    assert_out("{\"success\":true}");
    buf_done(&out);
    /* With the room reserved, an answer needs no memory any more. */
    assert_int_equal(buf_reserve(&out, API_COMMIT_ANSWER_MAX), 0);
    mem_fail_at(1, 1);
    int rc = api_commit_encode(&cx, &out, false);
    long seen = mem_fail_at(0, 0);
    assert_int_equal(rc, 0);
    assert_int_equal(seen, 0);
    assert_out("{\"success\":false}");
    assert_true(out.len <= API_COMMIT_ANSWER_MAX);
}

static void answers_that_do_not_fit(void **state)
{
    (void)state;
    const str names[] = {STR_LIT("0123456789"), STR_LIT("0123456789")};
    buf_init(&out, 20);
    assert_int_equal(api_names_encode(&cx, &out, "tables", names, 2, 2), E_INVAL);
    assert_non_null(
        strstr(cx.err.msg, "larger than 20 bytes; ask for fewer items with maxResults"));
    buf_done(&out);
    buf_init(&out, 1 << 20);
    mem_fail_at(1, 1);
    int rc = api_names_encode(&cx, &out, "tables", names, 2, 2);
    mem_fail_at(0, 0);
    assert_int_equal(rc, E_NOMEM);
    assert_int_equal(cx.err.code, E_NOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(database_create_golden),
                                       TEST(database_alter_golden),
                                       TEST(table_create_golden),
                                       TEST(table_rename_golden),
                                       TEST(table_alter_golden),
                                       TEST(commit_golden_p),
                                       TEST(commit_golden_java),
                                       TEST(commit_statistics),
                                       TEST(rollback_golden),
                                       TEST(snapshot_tokens),
                                       TEST(bad_bodies),
                                       TEST(config_body),
                                       TEST(database_body),
                                       TEST(database_altered_body),
                                       TEST(table_body),
                                       TEST(pages_of_names),
                                       TEST(snapshot_bodies),
                                       TEST(commit_answers),
                                       TEST(answers_that_do_not_fit)};
    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
