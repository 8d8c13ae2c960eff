/* path.h - names that become parts of paths, and the encodings around them. Pure; nothing blocks. */
#ifndef LATCH_PROTO_BASE_PATH_H
#define LATCH_PROTO_BASE_PATH_H

#include "proto/base/ctx.h"
#include "proto/base/buf.h"

#define PATH_COMPONENT_MAX 255

/* The one check for each name from a request or a file that becomes part of a path: 1..255 bytes, no '/', no NUL, not
 * "." or "..". E_INVAL with a message that calls the thing `what` ("database name"). */
int path_component(struct ctx *cx, str name, const char *what) WARN_UNUSED;
bool path_component_ok(str name);
/* The same for the name of a database or table, which is no part of a path (its directory is
 * path_dir_name's) and so may hold '/': "a/b" is one name. */
int path_object_name(struct ctx *cx, str name, const char *what) WARN_UNUSED;

/* application/x-www-form-urlencoded, as Paimon's clients encode path segments and query values:
 * '+' is a space, %XX a byte. E_INVAL on a broken escape, on %00 and on what is not UTF-8. */
int path_form_decode(struct ctx *cx, str in, str *ret) WARN_UNUSED; /* ret in cx's arena */

/* A directory name for a database or table `name`: itself when every byte is one of A-Z a-z 0-9 _ - .
 * (not first) and it is at most 200 bytes; else those bytes with the others as '_', cut to 200, and
 * "-" + 8 hex digits of its hash. Never empty, never ".." and without '%' (pypaimon decodes '%' in
 * file URIs, Java does not). Appended to out. */
void path_dir_name(struct buf *out, str name);

/* "a/b/../c", "//", "/./" are refused; the result is absolute without a trailing slash. Accepts
 * "file:///x", "file:/x" and "/x". E_INVAL. ret in cx's arena. */
int path_absolute(struct ctx *cx, str in, str *ret) WARN_UNUSED;
/* Is `path` `root` itself or below it? Both as path_absolute gives them. */
bool path_within(str root, str path);

#endif
