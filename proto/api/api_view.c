/* api_view.c - bodies of the view routes: create, rename, get, details.
 *
 * Format: Paimon's CreateViewRequest, RenameTableRequest, GetViewResponse and
 * ListViewDetailsResponse. The schema is only checked to be an object here; catalog/view.c reads
 * it. Pure. */
#include "proto/api/api_view.h"
#include "proto/base/assert.h"

int api_view_create_decode(struct ctx *cx, const struct json *body, str database,
                           struct api_view_create *ret)
{
    struct api_ident ident;
    const struct json *schema;
    TRY(api_ident_in_decode(cx, body, "identifier", database, &ident));
    TRY(json_want_obj(cx, body, "", "schema", &schema));
    *ret = (struct api_view_create){.name = ident.object, .schema = schema};
    return 0;
}

int api_view_rename_decode(struct ctx *cx, const struct json *body, struct api_view_rename *ret)
{
    struct api_view_rename out;
    TRY(api_ident_decode(cx, body, "source", &out.source));
    TRY(api_ident_decode(cx, body, "destination", &out.destination));
    *ret = out;
    return 0;
}

static int view_put(struct ctx *cx, struct json_out *o, const struct api_view *in)
{
    if (in->schema_json.len == 0)
        return ctx_fail(cx, E_CORRUPT, RES_VIEW, in->name,
                        "the record of view %.*s has no schema; restore the store",
                        API_SHOWN(in->name));
    json_obj(o);
    json_kstr(o, "id", in->id);
    json_kstr(o, "name", in->name);
    json_kraw(o, "schema", in->schema_json);
    api_audit_put(o, &in->audit);
    json_end(o);
    return 0;
}

int api_view_encode(struct ctx *cx, struct buf *out, const struct api_view *in)
{
    struct json_out o;
    json_out_init(&o, out);
    TRY(view_put(cx, &o, in));
    return api_out_end(cx, out);
}

int api_views_encode(struct ctx *cx, struct buf *out, const struct api_view *in, size_t n,
                     int64_t limit)
{
    ASSERT(limit > 0 && n <= (size_t)limit);
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_key(&o, "viewDetails");
    json_arr(&o);
    for (size_t i = 0; i < n; i++)
        TRY(view_put(cx, &o, &in[i]));
    json_end(&o);
    json_kstr(&o, "nextPageToken", n == (size_t)limit ? in[n - 1].name : STR_NONE);
    json_end(&o);
    return api_out_end(cx, out);
}
