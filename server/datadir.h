/* datadir.h - the data directory: made, locked by one daemon, and the small files beside the store.
 */
#ifndef LATCH_SERVER_DATADIR_H
#define LATCH_SERVER_DATADIR_H

#include "proto/base/ctx.h"

struct datadir {
    str path; /* absolute, without links; in the arena of the cx it was opened with */
    int dir_fd, lock_fd;
};
/* Makes the directory (0711) if it is missing and locks it. E_BUSY: another daemon has it; the
 * message names its pid. E_IO, E_INVAL. Sets the process's umask to 077. */
int datadir_open(struct ctx *cx, str path, struct datadir *ret) WARN_UNUSED;
void datadir_close(struct datadir *d);
/* path/name, in cx's arena. */
int datadir_path(struct ctx *cx, const struct datadir *d, const char *name, str *ret) WARN_UNUSED;

/* Creates or replaces a file by rename, durably. E_IO. */
int file_replace(struct ctx *cx, str path, str data, unsigned mode) WARN_UNUSED;

#endif
