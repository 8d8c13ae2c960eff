/* auth.h - who sends this request, and may they use the warehouse it names. */
#ifndef LATCH_SERVER_AUTH_H
#define LATCH_SERVER_AUTH_H

#include "server/request.h"

enum { AUTH_ASK = 1 }; /* the token is not known in memory: auth_load, on a worker */

/* "Bearer abc" (the scheme in any case) -> "abc". False: no such header, or no token in it. */
bool auth_bearer(str header, str *ret_token);
int auth_peek(struct request *rq)
    WARN_UNUSED; /* sets rq->who: 0, AUTH_ASK, E_UNAUTH; never blocks */
int auth_load(struct request *rq) WARN_UNUSED; /* the same from the store: 0 or an error; blocks */
int auth_warehouse(struct request *rq)
    WARN_UNUSED; /* sets rq->warehouse if the route has a {prefix}: E_NOTFOUND */

#endif
