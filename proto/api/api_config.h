/* api_config.h - the body of GET /v1/config. */
#ifndef LATCH_PROTO_API_API_CONFIG_H
#define LATCH_PROTO_API_API_CONFIG_H

#include "proto/api/api_common.h"

/* options_json: a JSON object of strings, or empty for none. */
int api_config_encode(struct ctx *cx, struct buf *out, str options_json, str prefix) WARN_UNUSED;

#endif
