/* auth.c - bearer tokens of requests.
 *
 * A refused token is answered before anything else is looked at, the body's size among them: who
 * has no business here learns nothing but the routes, which are public. A warehouse of another
 * tenant does not exist for this one.
 *
 * Threads: as the request. */
#include "server/auth.h"

#include "server/http.h"
#include "server/server.h"

#define SCHEME "bearer"

bool auth_bearer(str header, str *ret_token)
{
    header = str_trim(header);
    size_t n = strlen(SCHEME);
    if (header.len <= n || !str_ieq(str_n(header.p, n), STR_LIT(SCHEME)) ||
        (header.p[n] != ' ' && header.p[n] != '\t'))
        return false;
    *ret_token = str_trim(str_cut(header, n));
    return ret_token->len > 0;
}

static int token_of(struct request *rq, str *ret)
{
    if (auth_bearer(http_header(rq->http, "Authorization"), ret))
        return 0;
    return ctx_fail(&rq->cx, E_UNAUTH, RES_NONE, STR_NONE,
                    "this request has no bearer token; set the catalog options 'token.provider' = "
                    "'bear' and 'token'");
}

static void accept(struct request *rq, const struct principal *who)
{
    rq->who = who;
    rq->cx.tenant = str_of(who->tenant);
    rq->cx.principal = str_of(who->name);
}

int auth_peek(struct request *rq)
{
    str token = STR_NONE;
    TRY(token_of(rq, &token));
    const struct principal *who = cat_token_peek(rq->srv->cat, token);
    if (!who)
        return AUTH_ASK;
    accept(rq, who);
    return 0;
}

int auth_load(struct request *rq)
{
    str token = STR_NONE;
    const struct principal *who;
    TRY(token_of(rq, &token));
    TRY(cat_token_load(&rq->cx, rq->srv->cat, token, &who));
    accept(rq, who);
    return 0;
}

int auth_warehouse(struct request *rq)
{
    if (!strstr(rq->route->pattern, "/{prefix}/"))
        return 0;
    rq->warehouse = cat_warehouse(rq->srv->cat, rq->who, rq->params[0]);
    if (rq->warehouse)
        return 0;
    return ctx_fail(&rq->cx, E_NOTFOUND, RES_NONE, STR_NONE,
                    "there is no warehouse \"%.*s\" for this token; the client learns its prefix "
                    "from /v1/config and its option 'warehouse', do not set 'prefix' by hand",
                    STR(rq->params[0]));
}
