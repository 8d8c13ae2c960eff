/* listen.h - the socket that requests come in on. */
#ifndef LATCH_SERVER_LISTEN_H
#define LATCH_SERVER_LISTEN_H

#include "proto/base/buf.h"
#include "proto/base/ctx.h"

/* "HOST:PORT" -> parts; "[::1]:0" gives "::1". Borrowed from the text. E_INVAL. */
int listen_parse(struct ctx *cx, str hostport, str *ret_host, str *ret_port) WARN_UNUSED;
/* Binds and listens; appends the base URL that clients use ("http://127.0.0.1:8181"; the real port,
 * and the loopback address where it listens on all). E_INVAL, E_IO. Blocks if the host is a name.
 */
int listen_open(struct ctx *cx, str hostport, int *ret_fd, struct buf *ret_url) WARN_UNUSED;

#endif
