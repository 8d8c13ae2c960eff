/* store_sqlite_ref.c - branches as a whole: made, dropped, renamed; each is the beginning or the end
 * of an intent of that branch.
 *
 * The row is there from the first step of a creation to the last of a drop, and the intent of a rename
 * reserves the new name beside the old one, so a name is never given to two. A branch keeps its rid, and with it its outcomes, through a rename; one that is made under
 * a name that was free again has a new rid.
 *
 * Thread rule: functions named tx_* on the writer's thread. */
#include "catalog/store/store_sqlite_int.h"

static const char SQL_TABLE[] = "SELECT rid FROM tables WHERE id = ?1";
static const char SQL_TAKEN[] =
    "SELECT 1 FROM tables t JOIN branches b ON b.table_rid = t.rid AND b.name = ?2 WHERE t.id = ?1"
    " UNION ALL SELECT 1 FROM intents WHERE table_id = ?1 AND reserves = ?2 AND reserves <> ''";
static const char SQL_ADD_INTENT[] =
    "INSERT INTO intents (kind, table_id, branch, warehouse_id, epoch, created_ms, args_json)"
    " VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6)";

int sq_branch_name_free(struct conn *c, struct ctx *cx, str table_id, str name)
{
    int64_t one;
    int taken = SQL_I64(cx, c, SQL_TAKEN, &one, AT(table_id), AT(name));
    TRY(taken);
    return taken ? ctx_fail(cx, E_EXISTS, RES_BRANCH, name, "branch %.*s exists already", STR(name))
                 : 0;
}

/* --- make ------------------------------------------------------------------------------------- */

struct begin_io {
    const struct intent_row *row;
    const struct audit *au;
    int64_t id;
};

static int tx_begin(struct conn *c, struct ctx *cx, void *p)
{
    struct begin_io *io = p;
    const struct intent_row *r = io->row;
    int64_t table = 0, rid;
    int there = SQL_I64(cx, c, SQL_TABLE, &table, AT(r->table_id));
    TRY(there);
    if (!there)
        return ctx_fail(cx, E_NOTFOUND, RES_TABLE, r->table_id,
                        "the table with id %.*s does not exist (any more)", STR(r->table_id));
    TRY(sq_branch_name_free(c, cx, r->table_id, r->branch));
    TRY(sq_branch_add(c, cx, table, r->branch, &rid));
    TRY(SQL_RUN(cx, c, SQL_ADD_INTENT, NULL, AT(r->kind), AT(r->table_id), AT(r->branch),
                AI(r->warehouse_id), AI(r->created_ms), AT(r->args_json)));
    io->id = sqlite3_last_insert_rowid(c->db);
    return sq_audit_write(c, cx, io->au);
}

int sq_branch_begin(struct store *st, struct ctx *cx, const struct intent_row *row,
                    const struct audit *au, int64_t *ret_id)
{
    struct begin_io io = {.row = row, .au = au};
    TRY(sq_write(sqlite_of(st), cx, tx_begin, &io));
    *ret_id = io.id;
    return 0;
}

struct made_io {
    const struct store_branch_in *in;
    const struct head_row *head;
    const struct schema_set *schema;
};

static int tx_made(struct conn *c, struct ctx *cx, void *p)
{
    const struct made_io *io = p;
    struct branch_at at;
    TRY(sq_intent_end(c, cx, io->in->intent_id, io->in->table_id, io->in->branch, &at));
    TRY(sq_branch_set_head(c, cx, at.rid, io->head));
    TRY(sq_branch_set_schema(c, cx, at.rid, io->schema));
    return sq_audit_write(c, cx, &io->in->audit);
}

int sq_branch_made(struct store *st, struct ctx *cx, const struct store_branch_in *in,
                   const struct head_row *head, const struct schema_set *schema)
{
    struct made_io io = {in, head, schema};
    return sq_write(sqlite_of(st), cx, tx_made, &io);
}

/* --- drop ------------------------------------------------------------------------------------- */

static const char SQL_NAME_GONE[] =
    "UPDATE tables SET names_gone = names_gone + 1 WHERE rid = (SELECT b.table_rid FROM branches b"
    " JOIN schemas s ON s.branch_rid = b.rid WHERE b.rid = ?1)"; /* not of one that was never made */
static const char SQL_GONE[] = "INSERT INTO gone_branches (rid) SELECT ?1"
                               " WHERE EXISTS (SELECT 1 FROM outcomes WHERE branch_rid = ?1)"
                               " OR EXISTS (SELECT 1 FROM conflicts WHERE branch_rid = ?1)";
static const char SQL_DROP_SCHEMA[] = "DELETE FROM schemas WHERE branch_rid = ?1";
static const char SQL_DROP[] = "DELETE FROM branches WHERE rid = ?1";

static int tx_drop(struct conn *c, struct ctx *cx, void *p)
{
    const struct store_branch_in *in = p;
    struct branch_at at;
    TRY(sq_intent_end(c, cx, in->intent_id, in->table_id, in->branch, &at));
    TRY(SQL_RUN(cx, c, SQL_NAME_GONE, NULL, AI(at.rid)));
    TRY(SQL_RUN(cx, c, SQL_GONE, NULL, AI(at.rid)));
    TRY(SQL_RUN(cx, c, SQL_DROP_SCHEMA, NULL, AI(at.rid)));
    TRY(SQL_RUN(cx, c, SQL_DROP, NULL, AI(at.rid)));
    return sq_audit_write(c, cx, &in->audit);
}

int sq_branch_drop(struct store *st, struct ctx *cx, const struct store_branch_in *in)
{
    struct store_branch_in copy = *in;
    return sq_write(sqlite_of(st), cx, tx_drop, &copy);
}

/* --- rename ----------------------------------------------------------------------------------- */

struct rename_io {
    const struct store_branch_in *in;
    str to;
};

static const char SQL_RENAME[] =
    "UPDATE branches SET name = ?2, epoch = epoch + (SELECT names_gone FROM tables"
    " WHERE rid = branches.table_rid) WHERE rid = ?1";

static int tx_rename(struct conn *c, struct ctx *cx, void *p)
{
    const struct rename_io *io = p;
    struct branch_at at;
    TRY(sq_intent_end(c, cx, io->in->intent_id, io->in->table_id, io->in->branch, &at));
    TRY(SQL_RUN(cx, c, SQL_NAME_GONE, NULL, AI(at.rid)));
    TRY(SQL_RUN(cx, c, SQL_RENAME, NULL, AI(at.rid), AT(io->to)));
    return sq_audit_write(c, cx, &io->in->audit);
}

int sq_branch_rename(struct store *st, struct ctx *cx, const struct store_branch_in *in, str to)
{
    struct rename_io io = {in, to};
    return sq_write(sqlite_of(st), cx, tx_rename, &io);
}
