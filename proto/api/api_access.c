/* api_access.c - what a client may do with a table's data: the token for its files, the rules of a
 * query.
 *
 * Format: Paimon's GetTableTokenResponse (whose options clients lay over those of the catalog to
 * reach the files) and AuthTableQueryRequest/Response (where absent members mean no rules; pypaimon
 * refuses blank ones). Pure. */
#include "proto/api/api_access.h"

int api_auth_decode(struct ctx *cx, const struct json *body, const struct json **ret_select)
{
    const struct json *select;
    TRY(json_opt_arr(cx, body, "", "select", &select));
    if (select)
        TRY(json_check_str_arr(cx, select, "select"));
    *ret_select = select;
    return 0;
}

int api_auth_encode(struct ctx *cx, struct buf *out)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_end(&o);
    return api_out_end(cx, out);
}

int api_token_encode(struct ctx *cx, struct buf *out, int64_t expires_ms)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_key(&o, "token");
    json_obj(&o);
    json_end(&o);
    json_ki64(&o, "expiresAtMillis", expires_ms);
    json_end(&o);
    return api_out_end(cx, out);
}
