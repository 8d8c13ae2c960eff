/* bootstrap.h - the first start on an empty data directory: tenant, warehouse, principal, token. */
#ifndef LATCH_SERVER_BOOTSTRAP_H
#define LATCH_SERVER_BOOTSTRAP_H

#include "catalog/catalog.h"
#include "server/config.h"
#include "server/datadir.h"

#define BOOTSTRAP_TOKEN_VARIABLE "LATCH_BOOTSTRAP_TOKEN"

struct bootstrap_out {
    bool made;      /* this was the first start */
    str token_file; /* where the generated token is; empty: it came from the variable */
};
/* Does nothing when the store has a tenant already. Takes LATCH_BOOTSTRAP_TOKEN out of the
 * environment, which no child needs. E_INVAL (a token that is too short, a root that is no path),
 * E_IO. Blocks. */
int bootstrap(struct ctx *cx, const struct config *c, const struct datadir *d, struct store *st,
              struct bootstrap_out *ret) WARN_UNUSED;
/* Can a token be sent in a header, and is it long enough not to be guessed? */
bool bootstrap_token_ok(str token);
/* What a person pastes into clients to reach `url`; never the token itself. */
void bootstrap_paste(struct buf *b, const struct config *c, const struct bootstrap_out *o, str url);

#endif
