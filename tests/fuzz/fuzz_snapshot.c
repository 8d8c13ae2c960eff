/* fuzz_snapshot.c - any bytes as a snapshot file: refused with a message, or decoded to what is
 * written and read back as the same. */
#include "manifest/snapshot.h"
#include "proto/base/assert.h"
#include "proto/base/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(str name)
{
    ASSERT(!name.p || path_component_ok(name));
}

static void check(struct ctx *cx, const struct snapshot *s)
{
    struct buf b = {0};
    struct json_out o;
    struct snapshot again;
    ASSERT(s->id >= SNAPSHOT_FIRST_ID && s->schema_id >= 0 && s->raw.len > 0);
    ASSERT(s->base_manifest_list.p && s->delta_manifest_list.p && s->commit_user.p);
    check_name(s->base_manifest_list);
    check_name(s->delta_manifest_list);
    check_name(s->changelog_manifest_list);
    check_name(s->index_manifest);
    check_name(s->statistics);
    json_out_init(&o, &b);
    snapshot_encode(&o, s);
    ASSERT(buf_fail(&b) == 0);
    ASSERT(snapshot_decode_file(cx, buf_str(&b), STR_LIT("again"), &again) == 0);
    ASSERT(snapshot_same(s, &again) && again.id == s->id && again.commit_kind == s->commit_kind);
    ASSERT(again.watermark.has == s->watermark.has && again.watermark.v == s->watermark.v);
    ASSERT(again.total_record_count == s->total_record_count);
    ASSERT(kv_equal(&s->properties, &again.properties));
    buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ctx cx;
    struct snapshot s;
    ctx_init(&cx, 256 << 20);
    int rc = snapshot_decode_file(&cx, str_n((const char *)data, size), STR_LIT("fuzz"), &s);
    if (rc == 0)
        check(&cx, &s);
    else
        ASSERT((rc == E_CORRUPT || rc == E_UNSUPPORTED) && cx.err.code == rc && cx.err.msg[0]);
    ctx_done(&cx);
    return 0;
}
