/* api_database.c - bodies of the database routes: create, get, alter.
 *
 * Format: Paimon's CreateDatabaseRequest, AlterDatabaseRequest, AlterDatabaseResponse and
 * GetDatabaseResponse. pypaimon sends null for no options; Java fails on an answer without them.
 * The options go through as the client wrote them. A database called "sys" is refused: clients
 * answer for that name themselves and would never ask us for what is in it. Pure. */
#include "proto/api/api_database.h"
#include "proto/base/path.h"

int api_database_create_decode(struct ctx *cx, const struct json *body,
                               struct api_database_create *ret)
{
    const struct json *options;
    str name;
    TRY(json_want_str(cx, body, "", "name", &name));
    TRY(path_object_name(cx, name, "name"));
    if (str_eqz(name, "sys"))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "name must not be \"sys\": clients keep it for the system database; use "
                        "another database name");
    TRY(json_opt_obj(cx, body, "", "options", &options));
    TRY(json_check_str_map(cx, options, "options"));
    *ret = (struct api_database_create){.name = name,
                                        .options_json = options ? options->raw : STR_LIT("{}")};
    return 0;
}

int api_database_alter_decode(struct ctx *cx, const struct json *body,
                              struct api_database_alter *ret)
{
    struct api_database_alter out;
    TRY(json_opt_arr(cx, body, "", "removals", &out.removals));
    TRY(json_check_str_arr(cx, out.removals, "removals"));
    TRY(json_opt_obj(cx, body, "", "updates", &out.updates));
    TRY(json_check_str_map(cx, out.updates, "updates"));
    *ret = out;
    return 0;
}

int api_database_altered_encode(struct ctx *cx, struct buf *out,
                                const struct api_database_altered *in)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    api_strs_put(&o, "removed", in->removed, in->n_removed);
    api_strs_put(&o, "updated", in->updated, in->n_updated);
    api_strs_put(&o, "missing", in->missing, in->n_missing);
    json_end(&o);
    return api_out_end(cx, out);
}

int api_database_encode(struct ctx *cx, struct buf *out, const struct api_database *in)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_kstr(&o, "id", in->id);
    json_kstr(&o, "name", in->name);
    json_kstr(&o, "location", in->location);
    json_kraw(&o, "options", in->options_json.len ? in->options_json : STR_LIT("{}"));
    api_audit_put(&o, &in->audit);
    json_end(&o);
    return api_out_end(cx, out);
}
