/* api_error.h - from our error record to what a Paimon client sees.
 *
 * Clients dispatch on the body's `code`, so it always equals the HTTP status, and the message is
 * never empty (pypaimon would show the whole body instead). Pure; any thread. */
#ifndef LATCH_PROTO_API_API_ERROR_H
#define LATCH_PROTO_API_API_ERROR_H

#include "proto/base/buf.h"
#include "proto/base/err.h"

int api_error_status(int code); /* of a negative enum err; 500 for what is no code */
/* Was nothing done, so that the same request may be sent again? Then the answer carries
 * Retry-After. */
bool api_error_retry(int code);
/* Appends {"message":…,"resourceType":…,"resourceName":…,"code":http_status}. */
void api_error_body(struct buf *b, const struct err_rec *e, int http_status);

#endif
