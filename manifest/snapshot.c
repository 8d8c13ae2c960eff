/* snapshot.c - decoding and encoding the Snapshot JSON.
 *
 * Source of the format: paimon-api org.apache.paimon.Snapshot and files of Java 1.3.1, 2.1 and
 * pypaimon 2.1.0. Writers differ in what they leave out and what they write as null, so null and
 * absent are the same here. Unknown members (logOffsets of 1.x, tagCreateTime of tags, what a later
 * release adds) are no error: they stay in `raw`.
 *
 * A snapshot comes from a client or from a foreign writer's file. Nothing in it is trusted: the
 * names that become paths are checked here, once. No state; any thread. */
#include "manifest/snapshot.h"
#include "proto/base/assert.h"
#include "proto/base/path.h"

#define NAME_SHOWN 64 /* bytes of a client's text in a message */
#define PATH_SHOWN 128

static const char *const kinds[] = {
    [COMMIT_APPEND] = "APPEND",
    [COMMIT_COMPACT] = "COMPACT",
    [COMMIT_OVERWRITE] = "OVERWRITE",
    [COMMIT_ANALYZE] = "ANALYZE",
};

const char *commit_kind_name(enum commit_kind k)
{
    return kinds[k];
}

/* What every step of the decoding needs. */
struct dec {
    struct ctx *cx;
    const struct json *v;
    const char *path;
};

static int decode_i64(const struct dec *d, const char *key, int64_t min, int64_t max, int64_t *ret)
{
    TRY(json_want_i64(d->cx, d->v, d->path, key, ret));
    return doc_range(d->cx, d->path, key, *ret, min, max);
}

static int decode_opt_i64(const struct dec *d, const char *key, int64_t min, struct opt_i64 *ret)
{
    struct opt_i64 o = {.has = !json_is_null(json_get(d->v, key))};
    TRY(json_opt_i64(d->cx, d->v, d->path, key, 0, &o.v));
    if (o.has)
        TRY(doc_range(d->cx, d->path, key, o.v, min, INT64_MAX));
    *ret = o;
    return 0;
}

static int check_name(const struct dec *d, const char *key, str name)
{
    if (path_component_ok(name))
        return 0;
    int shown = name.len < NAME_SHOWN ? (int)name.len : NAME_SHOWN;
    return ctx_fail(d->cx, E_INVAL, RES_NONE, STR_NONE,
                    "%s.%s is \"%.*s\"; it must be the name of a file, without a folder", d->path,
                    key, shown, name.p);
}

static int decode_name(const struct dec *d, const char *key, str *ret)
{
    TRY(json_want_str(d->cx, d->v, d->path, key, ret));
    return check_name(d, key, *ret);
}

static int decode_opt_name(const struct dec *d, const char *key, str *ret)
{
    TRY(json_opt_str(d->cx, d->v, d->path, key, ret));
    return ret->p ? check_name(d, key, *ret) : 0;
}

static int decode_kind(const struct dec *d, enum commit_kind *ret)
{
    str s;
    TRY(json_want_str(d->cx, d->v, d->path, "commitKind", &s));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_eqz(s, kinds[i])) {
            *ret = (enum commit_kind)i;
            return 0;
        }
    int shown = s.len < NAME_SHOWN ? (int)s.len : NAME_SHOWN;
    return ctx_fail(
        d->cx, E_INVAL, RES_NONE, STR_NONE,
        "%s.commitKind is \"%.*s\"; it must be one of APPEND, COMPACT, OVERWRITE, ANALYZE", d->path,
        shown, s.p);
}

static int decode_version(const struct dec *d, int64_t *ret)
{
    TRY(decode_i64(d, "version", 1, INT32_MAX, ret));
    if (*ret > SNAPSHOT_VERSION)
        return ctx_fail(d->cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "%s.version is %d; this server knows snapshots up to version %d", d->path,
                        (int)*ret, SNAPSHOT_VERSION);
    return 0;
}

/* An empty uuid would make every other snapshot with one look like a repeat of this one. */
static int decode_uuid(const struct dec *d, str *ret)
{
    TRY(json_opt_str(d->cx, d->v, d->path, "uuid", ret));
    if (!ret->p || ret->len > 0)
        return 0;
    return ctx_fail(d->cx, E_INVAL, RES_NONE, STR_NONE,
                    "%s.uuid is empty; send a random UUID or leave it out", d->path);
}

static int decode_files(const struct dec *d, struct snapshot *s)
{
    TRY(decode_name(d, "baseManifestList", &s->base_manifest_list));
    TRY(decode_opt_i64(d, "baseManifestListSize", 0, &s->base_size));
    TRY(decode_name(d, "deltaManifestList", &s->delta_manifest_list));
    TRY(decode_opt_i64(d, "deltaManifestListSize", 0, &s->delta_size));
    TRY(decode_opt_name(d, "changelogManifestList", &s->changelog_manifest_list));
    TRY(decode_opt_i64(d, "changelogManifestListSize", 0, &s->changelog_size));
    TRY(decode_opt_name(d, "indexManifest", &s->index_manifest));
    return decode_opt_name(d, "statistics", &s->statistics);
}

static int decode_commit(const struct dec *d, struct snapshot *s)
{
    TRY(json_want_str(d->cx, d->v, d->path, "commitUser", &s->commit_user));
    TRY(json_want_i64(d->cx, d->v, d->path, "commitIdentifier", &s->commit_identifier));
    TRY(decode_kind(d, &s->commit_kind));
    TRY(json_want_i64(d->cx, d->v, d->path, "timeMillis", &s->time_millis));
    TRY(json_opt_str(d->cx, d->v, d->path, "operation", &s->operation));
    return json_opt_str(d->cx, d->v, d->path, "writerVersion", &s->writer_version);
}

static int decode_counts(const struct dec *d, struct snapshot *s)
{
    TRY(json_want_i64(d->cx, d->v, d->path, "totalRecordCount", &s->total_record_count));
    TRY(json_want_i64(d->cx, d->v, d->path, "deltaRecordCount", &s->delta_record_count));
    TRY(decode_opt_i64(d, "changelogRecordCount", INT64_MIN, &s->changelog_record_count));
    TRY(decode_opt_i64(d, "watermark", INT64_MIN, &s->watermark));
    return decode_opt_i64(d, "nextRowId", 0, &s->next_row_id);
}

static int decode_properties(const struct dec *d, struct kv_list *ret)
{
    char path[PATH_SHOWN];
    snprintf(path, sizeof path, "%s.properties", d->path);
    return kv_decode(d->cx, json_get(d->v, "properties"), path, ret);
}

int snapshot_decode(struct ctx *cx, const struct json *v, const char *path, struct snapshot *ret)
{
    struct dec d = {cx, v, path};
    struct snapshot s = {.raw = v->raw};
    if (v->type != JSON_OBJECT)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s must be an object", path);
    TRY(decode_version(&d, &s.version));
    TRY(decode_i64(&d, "id", SNAPSHOT_FIRST_ID, INT64_MAX, &s.id));
    TRY(decode_i64(&d, "schemaId", 0, INT64_MAX, &s.schema_id));
    TRY(decode_uuid(&d, &s.uuid));
    TRY(decode_files(&d, &s));
    TRY(decode_commit(&d, &s));
    TRY(decode_counts(&d, &s));
    TRY(decode_properties(&d, &s.properties));
    *ret = s;
    return 0;
}

int snapshot_decode_file(struct ctx *cx, str text, str file_name, struct snapshot *ret)
{
    const struct json *v;
    int rc = doc_parse_file(cx, text, &v);
    if (rc == 0)
        rc = snapshot_decode(cx, v, "snapshot", ret);
    return doc_file_rc(cx, rc, file_name);
}

/* --- writing --- */

static void put_str(struct json_out *o, const char *key, str s)
{
    if (s.p)
        json_kstr(o, key, s);
}

static void put_i64(struct json_out *o, const char *key, struct opt_i64 v)
{
    if (v.has)
        json_ki64(o, key, v.v);
}

static void put_files(struct json_out *o, const struct snapshot *s)
{
    json_kstr(o, "baseManifestList", s->base_manifest_list);
    put_i64(o, "baseManifestListSize", s->base_size);
    json_kstr(o, "deltaManifestList", s->delta_manifest_list);
    put_i64(o, "deltaManifestListSize", s->delta_size);
    put_str(o, "changelogManifestList", s->changelog_manifest_list);
    put_i64(o, "changelogManifestListSize", s->changelog_size);
    put_str(o, "indexManifest", s->index_manifest);
}

void snapshot_encode(struct json_out *o, const struct snapshot *s)
{
    ASSERT(s->id >= SNAPSHOT_FIRST_ID && s->base_manifest_list.p && s->delta_manifest_list.p &&
           s->commit_user.p);
    json_obj(o);
    json_ki64(o, "version", s->version);
    put_str(o, "uuid", s->uuid);
    json_ki64(o, "id", s->id);
    json_ki64(o, "schemaId", s->schema_id);
    put_files(o, s);
    json_kstr(o, "commitUser", s->commit_user);
    put_str(o, "writerVersion", s->writer_version);
    json_ki64(o, "commitIdentifier", s->commit_identifier);
    json_kstr(o, "commitKind", str_of(kinds[s->commit_kind]));
    json_ki64(o, "timeMillis", s->time_millis);
    json_ki64(o, "totalRecordCount", s->total_record_count);
    json_ki64(o, "deltaRecordCount", s->delta_record_count);
    put_i64(o, "changelogRecordCount", s->changelog_record_count);
    put_i64(o, "watermark", s->watermark);
    put_str(o, "statistics", s->statistics);
    if (s->properties.n > 0) {
        json_key(o, "properties");
        kv_encode(o, &s->properties);
    }
    put_i64(o, "nextRowId", s->next_row_id);
    put_str(o, "operation", s->operation);
    json_end(o);
}

bool snapshot_same(const struct snapshot *a, const struct snapshot *b)
{
    if (a->uuid.p || b->uuid.p)
        return a->uuid.p && b->uuid.p && str_eq(a->uuid, b->uuid);
    return a->id == b->id && a->commit_identifier == b->commit_identifier &&
           str_eq(a->base_manifest_list, b->base_manifest_list) &&
           str_eq(a->delta_manifest_list, b->delta_manifest_list) &&
           str_eq(a->commit_user, b->commit_user);
}
