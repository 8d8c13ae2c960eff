/* api_consumer.c - a page of consumers, and resetting one.
 *
 * Format: Paimon's ListConsumersResponse, ConsumerInfo and ResetConsumerRequest, where a
 * nextSnapshotId that is null or missing deletes the consumer. Pages as api_common.c says. Pure. */
#include "proto/api/api_consumer.h"
#include "proto/base/assert.h"
#include "proto/base/path.h"

#define CONSUMER_ID_MAX (PATH_COMPONENT_MAX - 9) /* its file is called consumer-<id> */

int api_consumer_reset_decode(struct ctx *cx, const struct json *body,
                              struct api_consumer_reset *ret)
{
    struct api_consumer_reset out = {0};
    TRY(json_want_str(cx, body, "", "consumerId", &out.id));
    TRY(path_component(cx, out.id, "consumerId"));
    if (out.id.len > CONSUMER_ID_MAX)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "consumerId has %zu bytes; at most %d are allowed", out.id.len,
                        CONSUMER_ID_MAX);
    out.has_next = !json_is_null(json_get(body, "nextSnapshotId"));
    TRY(json_opt_i64(cx, body, "", "nextSnapshotId", 0, &out.next_snapshot));
    *ret = out;
    return 0;
}

int api_consumers_encode(struct ctx *cx, struct buf *out, const struct api_consumer *v, size_t n,
                         int64_t limit)
{
    ASSERT(limit > 0 && n <= (size_t)limit);
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_key(&o, "consumers");
    json_arr(&o);
    for (size_t i = 0; i < n; i++) {
        json_obj(&o);
        json_kstr(&o, "consumerId", v[i].id);
        json_ki64(&o, "nextSnapshot", v[i].next_snapshot);
        json_end(&o);
    }
    json_end(&o);
    json_kstr(&o, "nextPageToken", n == (size_t)limit ? v[n - 1].id : STR_NONE);
    json_end(&o);
    return api_out_end(cx, out);
}
