/* schema_file.c - the schema files of a branch: a file schema-N is a commit point like a snapshot.
 *
 * Create schema-N if absent, then the row. Newer files than the row, from a crash in between or from a
 * client that writes them itself, are adopted before anything is decided, one after the other: a file
 * past a gap is never looked at.
 *
 * Thread rule: any thread that may block. Two that adopt at once do the same; the store takes one. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/json/json.h"

#define SCHEMA_FILE_MAX ((size_t)64 << 20)

str type_of(const struct schema *s)
{
    str type = schema_option(s, "type");
    return type.len ? type : STR_LIT("table");
}

/* Paimon's TableType. Of those that are not managed the catalog keeps the schema, and the files are
 * the clients' own. */
bool type_managed(str type)
{
    static const char *const others[] = {"format-table", "object-table", "lance-table",
                                         "iceberg-table"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (str_ieq(type, str_of(others[i])))
            return false;
    return true;
}

int schema_text(struct ctx *cx, const struct schema *s, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    schema_encode(&o, s);
    str text = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    if (!text.p)
        return ctx_nomem(cx);
    *ret = text;
    return 0;
}

static int path_of(struct ctx *cx, const struct schema_at *at, int64_t id, str *ret)
{
    str path = layout_schema(&cx->arena, at->dir, at->branch, id);
    if (!path.p)
        return ctx_nomem(cx);
    *ret = path;
    return 0;
}

int schema_put(struct ctx *cx, const struct schema_at *at, const struct table_schema *ts,
               enum io_put_result *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    str path;
    TRY(path_of(cx, at, ts->id, &path));
    json_out_init(&o, &b);
    schema_encode_file(&o, ts);
    if (buf_fail(&b))
        return ctx_nomem(cx);
    return io_put_if_absent(at->io, cx, path, buf_str(&b), ret);
}

int schema_read(struct ctx *cx, const struct schema_at *at, int64_t id, struct table_schema *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    str path;
    TRY(path_of(cx, at, id, &path));
    int rc = io_read(at->io, cx, path, SCHEMA_FILE_MAX, &b);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return 0;
    }
    TRY(rc);
    TRY(schema_decode_file(cx, buf_str(&b), path, ret));
    if (ret->id != id)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%.*s holds schema %lld", STR(path),
                        (long long)ret->id);
    return 1;
}

int schema_newest(struct ctx *cx, const struct schema_at *at, struct table_schema *ret)
{
    struct io_entry *e = NULL;
    size_t n = 0;
    int64_t newest = -1, id;
    str dir = layout_schema_dir(&cx->arena, at->dir, at->branch);
    int rc = dir.p ? io_list(at->io, cx, dir, &e, &n) : ctx_nomem(cx);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return 0;
    }
    TRY(rc);
    for (size_t i = 0; i < n; i++)
        if (layout_schema_id(e[i].name, &id) && id > newest)
            newest = id;
    return newest < 0 ? 0 : schema_read(cx, at, newest, ret);
}

/* --- adopting --------------------------------------------------------------------------------- */

/* What the store says by now. */
static int at_reload(struct ctx *cx, struct schema_at *at)
{
    struct branch_row row;
    TRY(STORE(at->w->cat->o.store, branch_get, cx, at->table_id, at->branch, &row));
    at->id = row.schema_id;
    at->json = row.schema_json;
    return 0;
}

static int adopt(struct ctx *cx, struct schema_at *at, const struct table_schema *ts)
{
    struct audit au;
    str path;
    struct schema_set to = {.id = ts->id,
                            .type = type_of(&ts->schema),
                            .now_ms = clock_wall_ms(),
                            .by = STR_LIT("latch")};
    TRY(path_of(cx, at, ts->id, &path));
    TRY(io_sync(at->io, cx, &path, 1)); /* whoever made it may have died before it was on disk */
    TRY(schema_text(cx, &ts->schema, &to.json));
    audit_fill(cx, &au, "schema.adopt", at->w, at->db, at->name);
    int rc =
        STORE(at->w->cat->o.store, table_alter, cx, at->table_id, at->branch, at->id, &to, &au);
    if (rc < 0 && rc != E_RACE) /* of the caller's own request nothing is unknown */
        return rc == E_UNKNOWN ? (cx->err.code = E_BUSY) : rc;
    ctx_reset_err(cx);
    TRY(at_reload(cx, at));
    log_info("catalog", "schema.adopted", LS("db", at->db), LS("table", at->name),
             LS("branch", at->branch), LI("schema", at->id));
    return 0;
}

int schema_catch_up(struct ctx *cx, struct schema_at *at)
{
    for (;;) {
        struct table_schema ts;
        int rc = at->id < 0 ? 0 : schema_read(cx, at, at->id + 1, &ts);
        if (rc <= 0)
            return rc;
        TRY(adopt(cx, at, &ts));
    }
}

int schema_load(struct ctx *cx, struct schema_at *at)
{
    int rc = schema_catch_up(cx, at);
    if (rc != E_CORRUPT && rc != E_UNSUPPORTED && rc != E_TOOBIG && rc != E_INVAL)
        return rc;
    log_warn("catalog", "schema.unreadable", LS("db", at->db), LS("table", at->name),
             LS("branch", at->branch), LZ("err", cx->err.msg));
    ctx_reset_err(cx);
    return 0;
}

/* --- whose ------------------------------------------------------------------------------------ */

void schema_of_row(const struct warehouse *w, const struct place *pl, const struct table_row *row,
                   struct schema_at *ret)
{
    *ret = (struct schema_at){.w = w,
                              .io = pl->io,
                              .dir = pl->dir,
                              .branch = STR_LIT("main"),
                              .table_id = row->id,
                              .db = row->db_name,
                              .name = row->name,
                              .id = row->schema_id,
                              .json = row->schema_json};
}

int schema_of_branch(struct ctx *cx, struct branch *br, struct schema_at *ret)
{
    struct table *t = br->table;
    struct schema_at at = {.w = t->wh,
                           .io = t->io,
                           .dir = str_of(t->dir),
                           .branch = str_of(br->name),
                           .table_id = str_of(t->id)};
    table_names(t, &at.db, &at.name);
    TRY(at_reload(cx, &at));
    *ret = at;
    return 0;
}
