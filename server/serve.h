/* serve.h - `latch serve`: the daemon from its first line of log to its last. */
#ifndef LATCH_SERVER_SERVE_H
#define LATCH_SERVER_SERVE_H

/* argv: after the subcommand. Returns the exit code: 0 after a drain, 1 when it could not start or
 * not finish, 2 for wrong settings. */
int serve(int argc, const char *const *argv);

#endif
