/* drain.h - how a running server stops. */
#ifndef LATCH_SERVER_DRAIN_H
#define LATCH_SERVER_DRAIN_H

#include <signal.h>

#include "server/server.h"

/* No new connections; new requests on open ones are answered 503; waits until the running ones are
 * answered, drain.timeout at most. From then on the process ends by itself if the rest hangs. Does
 * not return when requests are left: the process ends with 1. A second signal of `stop` cuts it
 * short the same way. (main) */
void drain(struct server *srv, const sigset_t *stop);

#endif
