/* dispatch.h - what happens to a request between its bytes and its answer. */
#ifndef LATCH_SERVER_DISPATCH_H
#define LATCH_SERVER_DISPATCH_H

#include "server/request.h"

enum rq_verdict {
    RQ_READ,   /* go on: read the body, then rq_on_end */
    RQ_PARKED, /* another thread has it; http_unpark will follow, then ask again */
    RQ_ANSWER, /* rq->res is the answer */
};
/* The headers are there: draining, route, token, warehouse, size. content_length < 0: not told.
 * After RQ_PARKED it is called once more. (HTTP thread) */
enum rq_verdict rq_on_head(struct request *rq, int64_t content_length);
/* rq->body is whole. RQ_PARKED: the answer is in rq->res when http_unpark was called. (HTTP thread)
 */
enum rq_verdict rq_on_end(struct request *rq);
/* Makes `code` (its record is in rq->cx) the answer; logs and counts it. (the thread that has rq)
 */
void rq_fail(struct request *rq, int code);
size_t rq_body_max(const struct request *rq); /* of its route */
bool rq_takes_body(const struct request *rq); /* else a body is read and dropped */

#endif
