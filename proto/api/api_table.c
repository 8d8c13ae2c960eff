/* api_table.c - bodies of the table routes: create, register, rename, alter, get, details.
 *
 * Format: Paimon's CreateTableRequest, RegisterTableRequest, ReplaceTableRequest, RenameTableRequest, AlterTableRequest and GetTableResponse.
 * Schemas and schema changes are only checked to be objects here; manifest/schema reads them. The
 * name in an answer is the whole object that was asked for: Java takes the branch to write to from
 * it, and with the bare name would write to main. Pure. */
#include "proto/api/api_table.h"

int api_table_create_decode(struct ctx *cx, const struct json *body, str database,
                            struct api_table_create *ret)
{
    struct api_ident ident;
    const struct json *schema;
    TRY(api_ident_in_decode(cx, body, "identifier", database, &ident));
    TRY(json_want_obj(cx, body, "", "schema", &schema));
    *ret = (struct api_table_create){.name = ident.object, .schema = schema};
    return 0;
}

int api_table_register_decode(struct ctx *cx, const struct json *body, str database,
                              struct api_table_register *ret)
{
    struct api_ident ident;
    str path;
    TRY(api_ident_in_decode(cx, body, "identifier", database, &ident));
    TRY(json_want_str(cx, body, "", "path", &path));
    *ret = (struct api_table_register){.name = ident.object, .path = path};
    return 0;
}

int api_table_replace_decode(struct ctx *cx, const struct json *body,
                             const struct json **ret_schema)
{
    return json_want_obj(cx, body, "", "schema", ret_schema);
}

int api_table_rename_decode(struct ctx *cx, const struct json *body, struct api_table_rename *ret)
{
    struct api_table_rename out;
    TRY(api_ident_decode(cx, body, "source", &out.source));
    TRY(api_ident_decode(cx, body, "destination", &out.destination));
    *ret = out;
    return 0;
}

static int table_put(struct ctx *cx, struct json_out *o, const struct api_table *in)
{
    if (in->schema_json.len == 0)
        return ctx_fail(cx, E_CORRUPT, RES_TABLE, in->object,
                        "the record of table %.*s has no schema; restore the store",
                        API_SHOWN(in->object));
    json_obj(o);
    json_kstr(o, "id", in->id);
    json_kstr(o, "database", in->database);
    json_kstr(o, "name", in->object);
    json_kstr(o, "path", in->path);
    json_kbool(o, "isExternal", in->external);
    json_ki64(o, "schemaId", in->schema_id);
    json_kraw(o, "schema", in->schema_json);
    api_audit_put(o, &in->audit);
    json_end(o);
    return 0;
}

int api_table_encode(struct ctx *cx, struct buf *out, const struct api_table *in)
{
    struct json_out o;
    json_out_init(&o, out);
    TRY(table_put(cx, &o, in));
    return api_out_end(cx, out);
}

int api_table_details_encode(struct ctx *cx, struct buf *out, const struct api_table *in, size_t n,
                             str next)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    json_key(&o, "tableDetails");
    json_arr(&o);
    for (size_t i = 0; i < n; i++)
        TRY(table_put(cx, &o, &in[i]));
    json_end(&o);
    json_kstr(&o, "nextPageToken", next);
    json_end(&o);
    return api_out_end(cx, out);
}
