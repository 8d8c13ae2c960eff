/* api_common.c - names, identifiers, audit members and pages of names in the bodies of Paimon's
 * API.
 *
 * Format: Paimon's Identifier and paged responses. A page that is exactly as long as was asked for
 * carries a token even if it is the last one, because Paimon's own tests need that; an empty page
 * never does, because pypaimon would ask for ever.
 *
 * Pure: no state, safe on any thread. */
#include "proto/api/api_common.h"
#include "proto/base/assert.h"
#include "proto/base/path.h"

int api_table_name_check(struct ctx *cx, str name, const char *member)
{
    TRY(path_object_name(cx, name, member));
    if (str_find(name, '$') < 0)
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "%s \"%.*s\" must not contain '$': clients write branches as t$branch_b and "
                    "system tables as t$files; use a name without it",
                    member, API_SHOWN(name));
}

int api_ident_decode(struct ctx *cx, const struct json *body, const char *key,
                     struct api_ident *ret)
{
    const struct json *ident;
    struct api_ident out;
    char member[64];
    TRY(json_want_obj(cx, body, "", key, &ident));
    TRY(json_want_str(cx, ident, key, "database", &out.database));
    TRY(json_want_str(cx, ident, key, "object", &out.object));
    snprintf(member, sizeof(member), "%s.database", key);
    TRY(path_object_name(cx, out.database, member));
    snprintf(member, sizeof(member), "%s.object", key);
    TRY(api_table_name_check(cx, out.object, member));
    *ret = out;
    return 0;
}

int api_ident_in_decode(struct ctx *cx, const struct json *body, const char *key, str database,
                        struct api_ident *ret)
{
    struct api_ident ident;
    TRY(api_ident_decode(cx, body, key, &ident));
    if (!str_eq(ident.database, database))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "%s.database is \"%.*s\", but the path names database \"%.*s\"; they must "
                        "be the same",
                        key, API_SHOWN(ident.database), API_SHOWN(database));
    *ret = ident;
    return 0;
}

int api_changes_decode(struct ctx *cx, const struct json *body, const struct json **ret)
{
    const struct json *changes;
    size_t i = 0;
    TRY(json_want_arr(cx, body, "", "changes", &changes));
    JSON_EACH (it, changes) {
        char path[48];
        str action;
        snprintf(path, sizeof(path), "changes[%zu]", i++);
        TRY(json_want_str(cx, it, path, "action", &action));
    }
    *ret = changes;
    return 0;
}

void api_audit_put(struct json_out *o, const struct api_audit *a)
{
    json_kstr(o, "owner", a->owner);
    json_ki64(o, "createdAt", a->created_ms);
    json_kstr(o, "createdBy", a->created_by);
    json_ki64(o, "updatedAt", a->updated_ms);
    json_kstr(o, "updatedBy", a->updated_by);
}

void api_strs_put(struct json_out *o, const char *member, const str *v, size_t n)
{
    json_key(o, member);
    json_arr(o);
    for (size_t i = 0; i < n; i++)
        json_str(o, v[i]);
    json_end(o);
}

int api_names_encode(struct ctx *cx, struct buf *out, const char *member, const str *names,
                     size_t n, int64_t limit)
{
    ASSERT(limit > 0 && n <= (size_t)limit);
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    api_strs_put(&o, member, names, n);
    json_kstr(&o, "nextPageToken", n == (size_t)limit ? names[n - 1] : STR_NONE);
    json_end(&o);
    return api_out_end(cx, out);
}

/* --- pages over all databases ----------------------------------------------------------------- */

/* "d.o"; ".<length of d>.d.o" when d holds a '.': no other token begins with one. */
static int ident_token(struct ctx *cx, const struct api_ident *id, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    if (str_find(id->database, '.') >= 0)
        buf_addf(&b, ".%zu.", id->database.len);
    buf_adds(&b, id->database);
    buf_addc(&b, '.');
    buf_adds(&b, id->object);
    str s = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    if (!s.p)
        return ctx_nomem(cx);
    *ret = s;
    return 0;
}

int api_idents_encode(struct ctx *cx, struct buf *out, const char *member,
                      const struct api_ident *idents, size_t n, int64_t limit)
{
    ASSERT(limit > 0 && n <= (size_t)limit);
    struct json_out o;
    str token = STR_NONE;
    if (n == (size_t)limit)
        TRY(ident_token(cx, &idents[n - 1], &token));
    json_out_init(&o, out);
    json_obj(&o);
    json_key(&o, member);
    json_arr(&o);
    for (size_t i = 0; i < n; i++) {
        json_obj(&o);
        json_kstr(&o, "database", idents[i].database);
        json_kstr(&o, "object", idents[i].object);
        json_end(&o);
    }
    json_end(&o);
    json_kstr(&o, "nextPageToken", token);
    json_end(&o);
    return api_out_end(cx, out);
}

static int bad_token(struct ctx *cx)
{
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "pageToken is none that this server gave out; send the nextPageToken of the "
                    "page before, or none for the first page");
}

int api_ident_token(struct ctx *cx, str token, struct api_ident *ret)
{
    str rest = token, digits;
    int64_t len = 0;
    if (!str_starts(token, STR_LIT("."))) {
        ptrdiff_t dot = str_find(token, '.');
        *ret = dot < 0 ? (struct api_ident){token, STR_NONE}
                       : (struct api_ident){str_n(token.p, (size_t)dot),
                                            str_cut(token, (size_t)dot + 1)};
        return 0;
    }
    rest = str_cut(rest, 1);
    if (!str_split(&rest, '.', &digits) || !str_to_i64(digits, &len) || len <= 0 || !rest.p ||
        rest.len <= (size_t)len || rest.p[len] != '.')
        return bad_token(cx);
    *ret = (struct api_ident){str_n(rest.p, (size_t)len), str_cut(rest, (size_t)len + 1)};
    return 0;
}

int api_out_end(struct ctx *cx, const struct buf *out)
{
    int rc = buf_fail(out);
    if (rc == 0)
        return 0;
    if (rc == E_TOOBIG) /* of the answer, not of what the client sent: no 413 */
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "the answer is larger than %zu bytes; ask for fewer items with maxResults",
                        out->max ? out->max : BUF_MAX);
    return ctx_nomem(cx);
}
