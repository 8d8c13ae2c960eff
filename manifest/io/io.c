/* io.c - what every implementation of io.h checks first: that a path is one.
 *
 * Paths come from clients and from files that clients wrote. Each part passes the one check for
 * names (path_component_ok), so "..", "//" and "/x" never reach an implementation; io_local lets
 * the kernel check the same once more (openat2).
 *
 * Pure; any thread. */
#include "manifest/io/io.h"

#include <limits.h>

#include "proto/base/path.h"

int io_path_check(struct ctx *cx, str path)
{
    if (path.len >= PATH_MAX)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "a path of %zu bytes is too long; at most %d are allowed", path.len,
                        PATH_MAX - 1);
    str rest = path, part;
    while (path.len && str_split(&rest, '/', &part))
        if (!path_component_ok(part))
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "the path \"%.*s\" has a part that is empty, \".\", \"..\", too long "
                            "or holds a NUL; name it relative to the warehouse root, without",
                            STR(path));
    return 0;
}
