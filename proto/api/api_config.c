/* api_config.c - the body of GET /v1/config, which a client asks for once, when it opens a catalog.
 *
 * Format: Paimon's ConfigResponse. The client merges defaults, its own options and overrides, in
 * this order. The prefix stands in the overrides so that it wins over one that the client set: it
 * names the tenant and the warehouse, and the server knows no other. Warehouse options are
 * defaults: the client may have better ones. Pure. */
#include "proto/api/api_config.h"

int api_config_encode(struct ctx *cx, struct buf *out, str options_json, str prefix)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_kraw(&o, "defaults", options_json.len ? options_json : STR_LIT("{}"));
    json_key(&o, "overrides");
    json_obj(&o);
    json_kstr(&o, "prefix", prefix);
    json_end(&o);
    json_end(&o);
    return api_out_end(cx, out);
}
