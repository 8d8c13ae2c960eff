/* api_tag.c - creating a tag, and a tag as it is answered.
 *
 * Format: Paimon's CreateTagRequest and GetTagResponse. The snapshot is given out as the text that
 * the tag's file holds, without the members that only tags have. A tag's name is part of a file's
 * name; Paimon itself wants it not to be blank. Pure. */
#include "proto/api/api_tag.h"
#include "proto/base/path.h"

#define TAG_NAME_MAX (PATH_COMPONENT_MAX - 4) /* its file is called tag-<name> */

static bool is_blank(str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] > ' ')
            return false;
    return true;
}

static int name_check(struct ctx *cx, str name)
{
    if (is_blank(name))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "tagName must not be blank");
    TRY(path_component(cx, name, "tagName"));
    if (name.len <= TAG_NAME_MAX)
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "tagName has %zu bytes; at most %d are allowed", name.len, TAG_NAME_MAX);
}

int api_tag_create_decode(struct ctx *cx, const struct json *body, struct api_tag_create *ret)
{
    struct api_tag_create out = {0};
    TRY(json_want_str(cx, body, "", "tagName", &out.name));
    TRY(name_check(cx, out.name));
    out.has_snapshot_id = !json_is_null(json_get(body, "snapshotId"));
    TRY(json_opt_i64(cx, body, "", "snapshotId", 0, &out.snapshot_id));
    TRY(json_opt_str(cx, body, "", "timeRetained", &out.time_retained));
    *ret = out;
    return 0;
}

int api_tag_encode(struct ctx *cx, struct buf *out, const struct api_tag *t)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_kstr(&o, "tagName", t->name);
    json_kraw(&o, "snapshot", t->snapshot_json);
    json_key(&o, "tagCreateTime");
    if (t->has_created)
        json_i64(&o, t->created_ms);
    else
        json_null(&o);
    json_kstr(&o, "tagTimeRetained", t->time_retained);
    json_end(&o);
    return api_out_end(cx, out);
}
