/* api_branch.c - bodies of the branch routes and of rollback-schema.
 *
 * Format: Paimon's CreateBranchRequest, RenameBranchRequest, ListBranchesResponse (no pages) and
 * RollbackSchemaRequest. What a name may be is the catalog's to say. Pure. */
#include "proto/api/api_branch.h"

int api_branch_create_decode(struct ctx *cx, const struct json *body, struct api_branch_create *ret)
{
    struct api_branch_create out;
    TRY(json_want_str(cx, body, "", "branch", &out.name));
    TRY(json_opt_str(cx, body, "", "fromTag", &out.tag));
    *ret = out;
    return 0;
}

int api_branch_rename_decode(struct ctx *cx, const struct json *body, str *ret_to)
{
    return json_want_str(cx, body, "", "toBranch", ret_to);
}

int api_branches_encode(struct ctx *cx, struct buf *out, const str *names, size_t n)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    api_strs_put(&o, "branches", names, n);
    json_end(&o);
    return api_out_end(cx, out);
}

int api_rollback_schema_decode(struct ctx *cx, const struct json *body, int64_t *ret_schema_id)
{
    return json_want_i64(cx, body, "", "schemaId", ret_schema_id);
}
