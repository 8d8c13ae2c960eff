/* function.c - functions: parameters, and a definition for each engine that can run it.
 *
 * Stored as the members of Paimon's GetFunctionResponse that the client gives: {"inputParams",
 * "returnParams","deterministic","definitions","options","comment"}, the first two and the comment
 * null when there are none. A definition is kept as it was sent, once it is seen to be one that
 * Java can read: one of another type in a list would make the whole list unreadable. */
#include "catalog/object_int.h"

#include "proto/base/path.h"

static int resources_check(struct ctx *cx, const struct json *arr, const char *path)
{
    size_t i = 0;
    if (arr)
        JSON_EACH (it, arr) {
            char at[160];
            str s;
            snprintf(at, sizeof(at), "%s.fileResources[%zu]", path, i++);
            if (it->type != JSON_OBJECT)
                return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s must be an object", at);
            TRY(json_opt_str(cx, it, at, "resourceType", &s));
            TRY(json_opt_str(cx, it, at, "uri", &s));
        }
    return 0;
}

static int file_check(struct ctx *cx, const struct json *v, const char *path)
{
    static const char *const texts[] = {"language", "className", "functionName"};
    const struct json *resources;
    str s;
    TRY(json_opt_arr(cx, v, path, "fileResources", &resources));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        TRY(json_opt_str(cx, v, path, texts[i], &s));
    return resources_check(cx, resources, path);
}

static int definition_check(struct ctx *cx, const struct json *v, const char *path)
{
    str type, s;
    if (v->type != JSON_OBJECT)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s must be an object", path);
    TRY(json_want_str(cx, v, path, "type", &type));
    if (str_eqz(type, "file"))
        return file_check(cx, v, path);
    bool lambda = str_eqz(type, "lambda");
    if (!lambda && !str_eqz(type, "sql"))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "%s.type is \"%.*s\"; it must be file, sql or lambda", path,
                        (int)(type.len < 64 ? type.len : 64), type.p);
    TRY(json_want_str(cx, v, path, "definition", &s));
    return lambda ? json_want_str(cx, v, path, "language", &s) : 0;
}

const struct object_spec function_spec = {
    .kind = OBJECT_FUNCTION,
    .res = RES_FUNCTION,
    .part_res = RES_DEFINITION,
    .name = "function",
    .part = "definition",
    .parts = "definitions",
    .add = "addDefinition",
    .update = "updateDefinition",
    .drop = "dropDefinition",
    .part_key = "name",
    .part_value = "definition",
    .check_part = definition_check,
    .comment_null = true,
    .created = {"function.create", "function.created"},
    .altered = {"function.alter", "function.altered"},
    .renamed = {"function.rename", "function.renamed"},
    .dropped = {"function.drop", "function.dropped"},
};

/* Paimon's rule, which clients check before they ask: A-Z a-z 0-9 . _ - and at least one letter. */
static int name_check(struct ctx *cx, str name)
{
    bool letter = false;
    TRY(path_object_name(cx, name, "function name"));
    for (size_t i = 0; i < name.len; i++) {
        char ch = name.p[i];
        bool alpha = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
        letter |= alpha;
        if (!alpha && !(ch >= '0' && ch <= '9') && ch != '.' && ch != '_' && ch != '-')
            return ctx_fail(cx, E_INVAL, RES_FUNCTION, name,
                            "a function name is made of letters, digits, '.', '_' and '-' only");
    }
    return letter ? 0
                  : ctx_fail(cx, E_INVAL, RES_FUNCTION, name,
                             "a function name has at least one letter");
}

static int params_put(struct ctx *cx, const struct json *in, const char *key, struct json_out *o)
{
    const struct json *params;
    TRY(json_opt_arr(cx, in, "", key, &params));
    return object_fields_put(cx, params, key, key, o);
}

static int function_text(struct ctx *cx, const struct json *in, struct buf *out)
{
    struct json_out o;
    bool deterministic;
    TRY(json_opt_bool(cx, in, "", "deterministic", false, &deterministic));
    json_out_init(&o, out);
    json_obj(&o);
    TRY(params_put(cx, in, "inputParams", &o));
    TRY(params_put(cx, in, "returnParams", &o));
    json_kbool(&o, "deterministic", deterministic);
    TRY(object_tail(cx, &function_spec, in, "", &o));
    json_end(&o);
    return 0;
}

int cat_function_create(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db,
                        str name, const struct json *function)
{
    CLEANUP(buf_done) struct buf text = {0};
    TRY(object_db_check(cx, c, w, db));
    TRY(name_check(cx, name));
    TRY(function_text(cx, function, &text));
    return object_create(cx, c, w, &function_spec, db, name, &text);
}

int cat_function_alter(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db,
                       str name, const struct json *changes)
{
    return object_alter(cx, c, w, &function_spec, db, name, changes);
}
