/* api_function.c - bodies of the function routes: create, get, details.
 *
 * Format: Paimon's CreateFunctionRequest, GetFunctionResponse and ListFunctionDetailsResponse. An
 * answer is the stored object with members before and behind it. Pure. */
#include "proto/api/api_function.h"
#include "proto/base/assert.h"

int api_function_create_decode(struct ctx *cx, const struct json *body, str *ret_name)
{
    return json_want_str(cx, body, "", "name", ret_name);
}

static int function_put(struct ctx *cx, struct json_out *o, const struct api_function *in)
{
    if (!str_starts(in->json, STR_LIT("{")) || !str_ends(in->json, STR_LIT("}")))
        return ctx_fail(cx, E_CORRUPT, RES_FUNCTION, in->name,
                        "the record of function %.*s is no object; restore the store",
                        API_SHOWN(in->name));
    json_obj(o);
    json_kstr(o, "uuid", in->id);
    json_kstr(o, "name", in->name);
    json_members(o, in->json);
    api_audit_put(o, &in->audit);
    json_end(o);
    return 0;
}

int api_function_encode(struct ctx *cx, struct buf *out, const struct api_function *in)
{
    struct json_out o;
    json_out_init(&o, out);
    TRY(function_put(cx, &o, in));
    return api_out_end(cx, out);
}

int api_functions_encode(struct ctx *cx, struct buf *out, const struct api_function *in, size_t n,
                         int64_t limit)
{
    ASSERT(limit > 0 && n <= (size_t)limit);
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_key(&o, "functionDetails");
    json_arr(&o);
    for (size_t i = 0; i < n; i++)
        TRY(function_put(cx, &o, &in[i]));
    json_end(&o);
    json_kstr(&o, "nextPageToken", n == (size_t)limit ? in[n - 1].name : STR_NONE);
    json_end(&o);
    return api_out_end(cx, out);
}
