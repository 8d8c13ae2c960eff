/* view.c - views: a query with its columns, in one or more dialects.
 *
 * Stored as Paimon's ViewSchema, which is also what is answered: {"fields","query","dialects",
 * "options","comment"?}. Fields are written as Java writes them; Java cannot read a view without
 * options, or a column whose description is null. A view and a table may have one name. */
#include "catalog/object_int.h"

#include "proto/base/path.h"

static int query_check(struct ctx *cx, const struct json *v, const char *path)
{
    return v->type == JSON_STRING
               ? 0
               : ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s must be a string: a query", path);
}

const struct object_spec view_spec = {
    .kind = OBJECT_VIEW,
    .res = RES_VIEW,
    .part_res = RES_DIALECT,
    .name = "view",
    .part = "dialect",
    .parts = "dialects",
    .add = "addDialect",
    .update = "updateDialect",
    .drop = "dropDialect",
    .part_key = "dialect",
    .part_value = "query",
    .check_part = query_check,
    .comment_null = false,
    .created = {"view.create", "view.created"},
    .altered = {"view.alter", "view.altered"},
    .renamed = {"view.rename", "view.renamed"},
    .dropped = {"view.drop", "view.dropped"},
};

/* Clients take what is behind a '$' for a branch or a system table before they look for a view. */
static int name_check(struct ctx *cx, str name)
{
    TRY(path_object_name(cx, name, "view name"));
    if (str_find(name, '$') >= 0)
        return ctx_fail(cx, E_INVAL, RES_VIEW, name,
                        "a view name has no '$': it marks branches and system tables");
    return 0;
}

static int view_text(struct ctx *cx, const struct json *schema, struct buf *out)
{
    struct json_out o;
    const struct json *fields;
    str query;
    TRY(json_want_arr(cx, schema, "schema", "fields", &fields));
    TRY(json_want_str(cx, schema, "schema", "query", &query));
    json_out_init(&o, out);
    json_obj(&o);
    TRY(object_fields_put(cx, fields, "schema.fields", "fields", &o));
    json_kraw(&o, "query", json_get(schema, "query")->raw);
    TRY(object_tail(cx, &view_spec, schema, "schema", &o));
    json_end(&o);
    return 0;
}

int cat_view_create(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
                    const struct json *schema)
{
    CLEANUP(buf_done) struct buf text = {0};
    TRY(object_db_check(cx, c, w, db));
    TRY(name_check(cx, name));
    TRY(view_text(cx, schema, &text));
    return object_create(cx, c, w, &view_spec, db, name, &text);
}

int cat_view_alter(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
                   const struct json *changes)
{
    return object_alter(cx, c, w, &view_spec, db, name, changes);
}

int cat_view_rename(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
                    str to_db, str to_name)
{
    TRY(name_check(cx, to_name));
    return object_rename(cx, c, w, &view_spec, &(struct name_pair){db, name},
                         &(struct name_pair){to_db, to_name});
}
