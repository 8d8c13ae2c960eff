/* request.c - what handlers ask of their request.
 *
 * Query text is split before it is decoded, and decoded as a form: Java sends a space as %20,
 * Python as '+'. The query of a request is a few parameters, so each look-up walks it.
 *
 * Threads: as the request. */
#include "server/request.h"

#include "proto/base/path.h"
#include "proto/json/json.h"

#define PAGE_MAX 1000

int rq_query(struct request *rq, const char *name, str *ret)
{
    str rest = rq->raw_query, pair, key = STR_NONE, raw = STR_NONE;
    while (str_split(&rest, '&', &pair)) {
        str value = pair, raw_key;
        if (!str_split(&value, '=', &raw_key))
            continue;
        TRY(path_form_decode(&rq->cx, raw_key, &key));
        if (!str_eqz(key, name))
            continue;
        if (raw.p)
            return ctx_fail(&rq->cx, E_INVAL, RES_NONE, STR_NONE,
                            "the query parameter '%s' is given twice; send it once", name);
        raw = value.p ? value : STR_LIT("");
    }
    if (!raw.p) {
        *ret = STR_NONE;
        return 0;
    }
    return path_form_decode(&rq->cx, raw, ret);
}

int rq_page(struct request *rq, int64_t *ret_limit, str *ret_token)
{
    str max = STR_NONE;
    int64_t limit = PAGE_MAX;
    TRY(rq_query(rq, "maxResults", &max));
    if (max.len && !str_to_i64(max, &limit))
        return ctx_fail(&rq->cx, E_INVAL, RES_NONE, STR_NONE,
                        "maxResults is \"%.*s\"; it must be a whole number", STR(max));
    TRY(rq_query(rq, "pageToken", ret_token));
    *ret_limit = rq_limit(limit);
    return 0;
}

int64_t rq_limit(int64_t max_results)
{
    return max_results <= 0 || max_results > PAGE_MAX ? PAGE_MAX : max_results;
}

static int bad_pattern(struct request *rq, const char *name, str pattern)
{
    return ctx_fail(&rq->cx, E_INVAL, RES_NONE, STR_NONE,
                    "%s is \"%.*s\": '%%' may stand at the end only (prefix match); write '\\%%' "
                    "for a percent sign",
                    name, STR(pattern));
}

int rq_pattern(struct request *rq, const char *name, str *ret_prefix, bool *ret_exact)
{
    str pattern = STR_NONE;
    TRY(rq_query(rq, name, &pattern));
    return rq_pattern_of(rq, name, pattern, ret_prefix, ret_exact);
}

int rq_pattern_of(struct request *rq, const char *name, str pattern, str *ret_prefix,
                  bool *ret_exact)
{
    char *out = arena_alloc(&rq->cx.arena, pattern.len + 1);
    if (!out)
        return ctx_nomem(&rq->cx);
    size_t len = 0, i = 0;
    for (; i < pattern.len && pattern.p[i] != '%'; i++) {
        if (pattern.p[i] == '\\' && ++i == pattern.len)
            return ctx_fail(&rq->cx, E_INVAL, RES_NONE, STR_NONE,
                            "%s ends in a single '\\'; write '\\\\' for a backslash", name);
        out[len++] = pattern.p[i];
    }
    *ret_exact = pattern.len > 0 && i == pattern.len;
    for (; i < pattern.len; i++)
        if (pattern.p[i] != '%')
            return bad_pattern(rq, name, pattern);
    *ret_prefix = str_n(out, len);
    return 0;
}

int rq_json(struct request *rq, const struct json **ret)
{
    const struct json *v;
    TRY(json_parse(&rq->cx, rq->body, "request body", &v));
    if (v->type != JSON_OBJECT)
        return ctx_fail(&rq->cx, E_INVAL, RES_NONE, STR_NONE,
                        "the request body must be a JSON object");
    *ret = v;
    return 0;
}
