/* path.c - names as parts of paths.
 *
 * These checks are the first line; the second is io's openat2 with RESOLVE_BENEATH. The form
 * encoding is that of WHATWG's URL standard (5.1, 5.2) as Java's URLEncoder writes it. Names of
 * directories are for people who look at the warehouse, and they must mean the same to every
 * client, hence the small alphabet; that they are unique is the store's business.
 *
 * Pure; any thread. */
#include "proto/base/path.h"

#include <limits.h>

#include "proto/base/hash.h"

#define DIR_NAME_KEEP 200

bool path_component_ok(str name)
{
    return name.len >= 1 && name.len <= PATH_COMPONENT_MAX && str_find(name, '/') < 0 &&
           str_find(name, 0) < 0 && !str_eqz(name, ".") && !str_eqz(name, "..");
}

static int length_and_bytes(struct ctx *cx, str name, const char *what)
{
    if (name.len == 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "the %s is empty; give it 1 to %d bytes",
                        what, PATH_COMPONENT_MAX);
    if (name.len > PATH_COMPONENT_MAX)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "the %s has %zu bytes; at most %d are allowed", what, name.len,
                        PATH_COMPONENT_MAX);
    if (str_find(name, 0) >= 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "the %s holds a NUL byte; remove it",
                        what);
    return 0;
}

int path_component(struct ctx *cx, str name, const char *what)
{
    TRY(length_and_bytes(cx, name, what));
    if (path_component_ok(name))
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "the %s \"%.*s\" must not hold '/' and must not be \".\" or \"..\"", what,
                    STR(name));
}

int path_object_name(struct ctx *cx, str name, const char *what)
{
    TRY(length_and_bytes(cx, name, what));
    if (!str_eqz(name, ".") && !str_eqz(name, ".."))
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "the %s \"%.*s\" must not be \".\" or \"..\"",
                    what, STR(name));
}

/* --- the form encoding ------------------------------------------------------------------------ */

/* The byte that `in` begins with, or -1 for a broken escape. */
static int decode_byte(str in, size_t *ret_taken)
{
    *ret_taken = 1;
    if (in.p[0] == '+')
        return ' ';
    if (in.p[0] != '%')
        return (unsigned char)in.p[0];
    if (in.len < 3 || hex_digit(in.p[1]) < 0 || hex_digit(in.p[2]) < 0)
        return -1;
    *ret_taken = 3;
    return hex_digit(in.p[1]) * 16 + hex_digit(in.p[2]);
}

int path_form_decode(struct ctx *cx, str in, str *ret)
{
    char *out = arena_alloc(&cx->arena, in.len + 1);
    if (!out)
        return ctx_nomem(cx);
    size_t len = 0, taken;
    for (size_t at = 0; at < in.len; at += taken) {
        int c = decode_byte(str_cut(in, at), &taken);
        if (c < 0)
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "broken escape at byte %zu, write %%XX with two hex digits: \"%.*s\"",
                            at, STR(in));
        if (c == 0)
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "NUL at byte %zu of a URL-encoded text; remove it", at);
        out[len++] = (char)c;
    }
    if (!str_utf8_valid(str_n(out, len)))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "a text is not UTF-8 when decoded, encode names as UTF-8: \"%.*s\"",
                        STR(in));
    *ret = str_n(out, len);
    return 0;
}

static bool alnum(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* --- names of directories --------------------------------------------------------------------- */

static bool dir_byte_ok(char c, size_t at)
{
    return alnum(c) || c == '_' || c == '-' || (c == '.' && at > 0);
}

void path_dir_name(struct buf *out, str name)
{
    bool same = name.len > 0 && name.len <= DIR_NAME_KEEP;
    for (size_t i = 0; i < name.len && i < DIR_NAME_KEEP; i++) {
        bool ok = dir_byte_ok(name.p[i], i);
        buf_addc(out, ok ? name.p[i] : '_');
        same = same && ok;
    }
    if (!same)
        buf_addf(out, "-%08x", (uint32_t)(hash64(name.p, name.len) >> 32));
}

/* --- absolute paths --------------------------------------------------------------------------- */

static int bad_path(struct ctx *cx, str in, const char *why)
{
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "a path %s: \"%.*s\"", why, STR(in));
}

int path_absolute(struct ctx *cx, str in, str *ret)
{
    str path = in, part;
    if (str_starts(path, STR_LIT("file:///")))
        path = str_cut(path, 7);
    else if (str_starts(path, STR_LIT("file:/")))
        path = str_cut(path, 5);
    if (path.len == 0 || path.p[0] != '/')
        return bad_path(cx, in, "must be absolute, write /dir or file:/dir");
    if (path.len >= PATH_MAX)
        return bad_path(cx, in, "may have at most 4095 bytes");
    bool slash_only = path.len == 1;
    if (!slash_only && path.p[path.len - 1] == '/')
        path.len--;
    str rest = str_cut(path, 1);
    while (!slash_only && str_split(&rest, '/', &part))
        if (!path_component_ok(part))
            return bad_path(cx, in,
                            "must not have a part that is empty, \".\" or \"..\", has over 255 "
                            "bytes or holds a NUL");
    str copy = str_dup(&cx->arena, path);
    if (!copy.p)
        return ctx_nomem(cx);
    *ret = copy;
    return 0;
}

bool path_within(str root, str path)
{
    if (str_eqz(root, "/"))
        return str_starts(path, root);
    return root.len > 0 && str_starts(path, root) &&
           (path.len == root.len || path.p[root.len] == '/');
}
