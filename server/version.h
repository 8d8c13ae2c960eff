/* version.h - what this binary is. */
#ifndef LATCH_SERVER_VERSION_H
#define LATCH_SERVER_VERSION_H

const char *latch_version(void); /* "0.1.0" */
const char *
latch_commit(void); /* twelve hex digits of the commit it was built from, or "unknown" */

#endif
