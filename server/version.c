/* version.c - the one file that knows version and commit.
 *
 * Both come from the Makefile, which rebuilds this file, and only this one, when they change. */
#include "server/version.h"

const char *latch_version(void)
{
    return LATCH_VERSION;
}

const char *latch_commit(void)
{
    return LATCH_COMMIT;
}
