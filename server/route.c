/* route.c - the routes as a tree of path parts.
 *
 * A node has literal children and at most one parameter child. A match tries the literal child
 * first and falls back to the parameter when that way leads nowhere, so `tables/rename` wins over
 * `tables/{x}` without hiding `tables/{x}/y`. Raw paths are split before they are decoded: a name
 * may hold an encoded slash. Literals are compared decoded too, as clients may encode any byte.
 *
 * Threads: the tree is built once and only read after that. */
#include "server/route.h"

#include "proto/base/assert.h"
#include "proto/base/mem.h"
#include "proto/base/path.h"
#include "server/handler/handlers.h"
#include "server/version.h"

#define PARTS_MAX 16 /* of a path; the longest route has 9 */

const struct route routes[ROUTE_COUNT] = {
#define ROUTE(method, pattern, auth, cap, where, handler)                                          \
    {METHOD_##method, pattern, AUTH_##auth, CAP_##cap, WHERE_##where, handler},
#include "proto/api/routes.def"
#undef ROUTE
};

struct node {
    str part;                  /* literal; unused in a parameter node */
    struct node *first, *next; /* literal children; the next sibling */
    struct node *param;
    const struct route *by_method[METHOD_COUNT];
    char allow[32]; /* "GET, HEAD, POST"; empty: no route ends here */
};
struct router {
    struct arena arena;
    struct node root;
};

const char *route_method_name(enum route_method m)
{
    static const char *const names[] = {"GET", "POST", "DELETE"};
    return names[m];
}

/* --- building --------------------------------------------------------------------------------- */

static struct node *child_for(struct arena *a, struct node *at, str part)
{
    if (part.len && part.p[0] == '{') {
        if (!at->param)
            at->param = ARENA_NEW(a, struct node);
        return at->param;
    }
    for (struct node *n = at->first; n; n = n->next)
        if (str_eq(n->part, part))
            return n;
    struct node *n = ARENA_NEW(a, struct node);
    if (!n)
        return NULL;
    n->part = part;
    n->next = at->first;
    at->first = n;
    return n;
}

static int add(struct ctx *cx, struct router *r, const struct route *route)
{
    struct node *at = &r->root;
    str rest = str_cut(str_of(route->pattern), 1), part;
    size_t params = 0;
    while (str_split(&rest, '/', &part)) {
        at = child_for(&r->arena, at, part);
        if (!at)
            return ctx_nomem(cx);
        params += part.p[0] == '{';
    }
    ASSERT(params <= ROUTE_PARAMS_MAX);
    if (at->by_method[route->method])
        return ctx_fail(cx, E_INTERNAL, RES_NONE, STR_NONE, "two routes for %s %s",
                        route_method_name(route->method), route->pattern);
    at->by_method[route->method] = route;
    bool head = route->method == METHOD_GET && route->auth == AUTH_NONE;
    size_t len = strlen(at->allow);
    snprintf(at->allow + len, sizeof(at->allow) - len, "%s%s%s", len ? ", " : "",
             route_method_name(route->method), head ? ", HEAD" : "");
    return 0;
}

static int build(struct ctx *cx, struct router *r, const struct route *rs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        TRY(add(cx, r, &rs[i]));
    return 0;
}

int router_new(struct ctx *cx, const struct route *rs, size_t n, struct router **ret)
{
    struct router *r = mem_zalloc(sizeof(*r));
    if (!r)
        return ctx_nomem(cx);
    arena_init(&r->arena, (size_t)1 << 20);
    int rc = build(cx, r, rs, n);
    if (rc < 0) {
        router_free(r);
        return rc;
    }
    *ret = r;
    return 0;
}

void router_free(struct router *r)
{
    if (!r)
        return;
    arena_done(&r->arena);
    mem_free(r);
}

/* --- matching --------------------------------------------------------------------------------- */

static bool is_plain(str part)
{
    for (size_t i = 0; i < part.len; i++)
        if (part.p[i] == '%' || part.p[i] == '+' || (unsigned char)part.p[i] >= 0x80)
            return false;
    return true;
}

/* Routes of Paimon's protocol that are not in routes.def. Clients take 404 there for a statement about
 * the database or table in the path; 501 they take for what it is. */
static const char *const paimon_words[] = {
    "grant",
    "permissions",
};

static bool is_paimon(str raw_path)
{
    str rest = raw_path, part;
    for (int n = 0; str_split(&rest, '/', &part); n++)
        for (size_t i = 0; n >= 3 && i < sizeof(paimon_words) / sizeof(paimon_words[0]); i++)
            if (str_eqz(part, paimon_words[i]))
                return true;
    return false;
}

static int unknown_path(struct ctx *cx, str raw_path)
{
    if (str_starts(raw_path, STR_LIT("/v1/")) && is_paimon(raw_path))
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "this part of Paimon's REST protocol is not served by Latch %s; "
                        "/openapi.json lists what is",
                        latch_version());
    return ctx_fail(cx, E_NOTFOUND, RES_NONE, STR_NONE,
                    "there is nothing at %.*s. This is Latch %s, a Paimon REST catalog server: "
                    "set the client's 'uri' to the address alone, without a path; /openapi.json "
                    "lists the routes",
                    (int)(raw_path.len > 200 ? 200 : raw_path.len), raw_path.p, latch_version());
}

/* *ret_n == 0: no route can have such a path. */
static int split(struct ctx *cx, str raw_path, str parts[PARTS_MAX], size_t *ret_n)
{
    *ret_n = 0;
    size_t n = 0;
    if (raw_path.len == 0 || raw_path.p[0] != '/')
        return 0;
    str rest = str_cut(raw_path, 1), part;
    while (str_split(&rest, '/', &part)) {
        if (n == PARTS_MAX || part.len == 0)
            return 0;
        if (is_plain(part))
            parts[n] = part;
        else
            TRY(path_form_decode(cx, part, &parts[n]));
        n++;
    }
    *ret_n = n;
    return 0;
}

/* The node at the end of the parts, where a route ends; depth: parameters met so far. */
static const struct node *walk(const struct node *at, const str *parts, size_t n, str *params)
{
    if (n == 0)
        return at->allow[0] ? at : NULL;
    for (const struct node *c = at->first; c; c = c->next)
        if (str_eq(c->part, *parts)) {
            const struct node *end = walk(c, parts + 1, n - 1, params);
            if (end)
                return end;
        }
    if (!at->param)
        return NULL;
    *params = *parts;
    return walk(at->param, parts + 1, n - 1, params + 1);
}

static const struct route *by_method(const struct node *n, str method)
{
    for (int m = 0; m < METHOD_COUNT; m++)
        if (str_eqz(method, route_method_name((enum route_method)m)))
            return n->by_method[m];
    const struct route *get = n->by_method[METHOD_GET];
    return str_eqz(method, "HEAD") && get && get->auth == AUTH_NONE ? get : NULL;
}

int router_match(struct ctx *cx, const struct router *r, str method, str raw_path,
                 struct route_hit *ret)
{
    str parts[PARTS_MAX];
    size_t n;
    TRY(split(cx, raw_path, parts, &n));
    *ret = (struct route_hit){0};
    const struct node *end = n ? walk(&r->root, parts, n, ret->params) : NULL;
    if (!end)
        return unknown_path(cx, raw_path);
    ret->route = by_method(end, method);
    if (ret->route)
        return 0;
    ret->allow = end->allow;
    return ctx_fail(cx, E_METHOD, RES_NONE, STR_NONE, "%.*s is not allowed here; allowed: %s",
                    STR(method), end->allow);
}
