/* table_alter.c - the schema of a table, or of a branch of it, is changed.
 *
 * Create schema-N if absent, then the row (schema_file.c). When the row fails after the file, the
 * answer is "unknown" and the next reader adopts the file. Tables whose files are the clients' own have
 * no schema file: there the row is all.
 *
 * Thread rule: on the branch's strand. */
#include "catalog/catalog_int.h"

#include "catalog/schema_change.h"
#include "manifest/layout.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/json/json.h"

/* schema-<id> may be there without its row: whoever reads the table next looks. */
static int alter_unsure(struct ctx *cx, struct branch *br, int64_t id)
{
    atomic_store(&br->schema_behind, true);
    ctx_prefix(cx, "schema %lld may be in force, read the table again to find out", (long long)id);
    return cx->err.code = E_UNKNOWN;
}

static int record(struct ctx *cx, const struct schema_at *at, const struct table_schema *ts)
{
    struct audit au;
    struct schema_set to = {
        .id = ts->id, .type = type_of(&ts->schema), .now_ms = ts->time_millis, .by = cx->principal};
    TRY(schema_text(cx, &ts->schema, &to.json));
    audit_fill(cx, &au, "table.alter", at->w, at->db, at->name);
    if (!layout_is_main(at->branch))
        au.detail = at->branch;
    return STORE(at->w->cat->o.store, table_alter, cx, at->table_id, at->branch, at->id, &to, &au);
}

/* The row of a schema whose file is there. */
static int record_file(struct ctx *cx, struct branch *br, const struct schema_at *at,
                       const struct table_schema *ts)
{
    struct schema_at now;
    int rc = record(cx, at, ts);
    if (rc == E_RACE) { /* somebody who loaded the table found the file first */
        ctx_reset_err(cx);
        rc = schema_of_branch(cx, br, &now);
        if (rc == 0 && now.id < ts->id)
            rc = ctx_fail(cx, E_INTERNAL, RES_TABLE, at->name, "the store has an older schema");
    }
    if (rc == E_NOTFOUND && !br->table->external) { /* dropped meanwhile, and its files go */
        ctx_reset_err(cx);
        return branch_gone(cx, br);
    }
    return rc < 0 ? alter_unsure(cx, br, ts->id) : 0;
}

static int change(struct ctx *cx, struct branch *br, const struct json *changes, int64_t id,
                  struct table_schema *ts)
{
    bool has_snapshots = br->table->managed && br->head;
    TRY(schema_change_apply(cx, changes, has_snapshots, branch_full_name(cx, br), ts));
    ts->id = id;
    ts->time_millis = clock_wall_ms();
    return 0;
}

static int alter_once(struct ctx *cx, struct branch *br, const struct json *changes, bool *ret_done)
{
    struct schema_at at;
    struct table_schema ts;
    enum io_put_result put;

    TRY(schema_of_branch(cx, br, &at));
    TRY(schema_catch_up(cx, &at));
    int rc = schema_read(cx, &at, at.id, &ts);
    TRY(rc);
    if (rc == 0)
        return ctx_fail(cx, E_CORRUPT, RES_TABLE, at.name,
                        "schema file %lld of table %.*s is gone; put it back before you alter it",
                        (long long)at.id, STR(at.name));
    TRY(change(cx, br, changes, at.id + 1, &ts));
    TRY(schema_check_table(cx, &ts.schema));
    rc = schema_put(cx, &at, &ts, &put);
    if (rc == E_UNKNOWN)
        return alter_unsure(cx, br, ts.id);
    TRY(rc);
    *ret_done = put == IO_PUT_CREATED;
    if (!*ret_done) /* somebody else's file: adopt it and apply the changes to it */
        return 0;
    IGNORE(INJECT(ALTER_SCHEMA));
    return record_file(cx, br, &at, &ts);
}

static int alter_files(struct ctx *cx, struct branch *br, const struct json *changes)
{
    bool done = false;
    TRY(branch_enter(cx, br));
    TRY(branch_may_change(cx, br));
    TRY(warehouse_space(cx, br->table->wh));
    for (int attempt = 0; !done && attempt < 10; attempt++)
        TRY(alter_once(cx, br, changes, &done));
    if (!done)
        return ctx_fail(cx, E_BUSY, RES_TABLE, branch_object(cx, br),
                        "somebody else writes schema files of this table all the time; try again");
    return 0;
}

static int alter_row(struct ctx *cx, struct branch *br, const struct json *changes)
{
    struct schema_at at;
    const struct json *old;
    struct table_schema ts = {.version = SCHEMA_VERSION};
    if (atomic_load(&br->table->dead))
        return branch_gone(cx, br);
    int rc = schema_of_branch(cx, br, &at);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return branch_gone(cx, br);
    }
    TRY(rc);
    TRY(json_parse(cx, at.json, "schema", &old));
    TRY(schema_decode(cx, old, "schema", &ts.schema));
    ts.highest_field_id = types_highest_id(ts.schema.fields, ts.schema.n_fields);
    TRY(change(cx, br, changes, at.id + 1, &ts));
    rc = record(cx, &at, &ts);
    return rc == E_RACE ? (cx->err.code = E_BUSY) : rc;
}

int table_alter(struct ctx *cx, struct branch *br, const struct json *changes)
{
    TRY(ctx_check_deadline(cx));
    int rc = br->table->managed ? alter_files(cx, br, changes) : alter_row(cx, br, changes);
    branch_traits_forget(br); /* also after an error: what is recorded by then is not known */
    TRY(rc);
    log_info("catalog", "table.altered", LS("table", branch_full_name(cx, br)),
             LS("by", cx->principal), LS("req", cx->request_id));
    return 0;
}
