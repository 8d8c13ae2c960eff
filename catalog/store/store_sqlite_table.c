/* store_sqlite_table.c - tables: the directory claimed for one, its row, its names.
 *
 * A directory name is given out once per warehouse, for ever (used_dirs), because rows and caches
 * of a dropped table may outlive it. The row of the wanted name remembers the next number to try,
 * so creating and dropping one name ten thousand times does not make the search longer.
 *
 * Dropping is bounded: the table's own rows go, its outcomes and conflicts are left to prune (gone_branches).
 *
 * Thread rule: reads on the caller's thread, functions named tx_* on the writer's. */
#include "catalog/store/store_sqlite_int.h"

#include "proto/base/buf.h"

/* --- claim ------------------------------------------------------------------------------------ */

struct claim_io {
    int64_t warehouse_id, now_ms;
    str base, dir;
    int64_t intent;
};

static const char SQL_NEXT[] = "SELECT next FROM used_dirs WHERE warehouse_id = ?1 AND dir = ?2";
static const char SQL_USE[] =
    "INSERT OR IGNORE INTO used_dirs (warehouse_id, dir, next) VALUES (?1, ?2, 2)";
static const char SQL_SET_NEXT[] =
    "UPDATE used_dirs SET next = ?3 WHERE warehouse_id = ?1 AND dir = ?2";

/* base-n with the first n from *n on that is free; others may have asked for such a name as base.
 */
static int claim_numbered(struct conn *c, struct ctx *cx, struct claim_io *io, int64_t *n)
{
    CLEANUP(buf_done) struct buf b = {0};
    for (;; (*n)++) {
        int64_t added = 0;
        buf_clear(&b);
        buf_adds(&b, io->base);
        buf_addc(&b, '-');
        buf_add_i64(&b, *n);
        if (buf_fail(&b))
            return ctx_nomem(cx);
        TRY(SQL_RUN(cx, c, SQL_USE, &added, AI(io->warehouse_id), AT(buf_str(&b))));
        if (added)
            break;
    }
    io->dir = str_dup(&cx->arena, buf_str(&b));
    return io->dir.p ? 0 : ctx_nomem(cx);
}

static int claim_dir(struct conn *c, struct ctx *cx, struct claim_io *io)
{
    int64_t n;
    int used = SQL_I64(cx, c, SQL_NEXT, &n, AI(io->warehouse_id), AT(io->base));
    TRY(used);
    if (!used) {
        io->dir = io->base;
        return SQL_RUN(cx, c, SQL_USE, NULL, AI(io->warehouse_id), AT(io->base));
    }
    TRY(claim_numbered(c, cx, io, &n));
    return SQL_RUN(cx, c, SQL_SET_NEXT, NULL, AI(io->warehouse_id), AT(io->base), AI(n + 1));
}

static int tx_claim(struct conn *c, struct ctx *cx, void *p)
{
    struct claim_io *io = p;
    struct intent_row create = {
        .kind = STR_LIT("create"), .warehouse_id = io->warehouse_id, .created_ms = io->now_ms};
    TRY(claim_dir(c, cx, io));
    return sq_intent_of_dir(c, cx, &create, io->dir, &io->intent);
}

int sq_table_claim(struct store *st, struct ctx *cx, int64_t warehouse_id, str base, int64_t now_ms,
                   str *ret_dir, int64_t *ret_intent)
{
    struct claim_io io = {.warehouse_id = warehouse_id, .now_ms = now_ms};
    io.base = str_dup(&cx->arena, base);
    if (!io.base.p)
        return ctx_nomem(cx);
    TRY(sq_write(sqlite_of(st), cx, tx_claim, &io));
    *ret_dir = io.dir;
    *ret_intent = io.intent;
    return 0;
}

/* --- create ----------------------------------------------------------------------------------- */

struct create_io {
    const struct table_row *in;
    int64_t intent;
    const struct head_row *head;
    const struct audit *au;
};

static const char SQL_DB[] = "SELECT rid FROM databases WHERE id = ?1";
static const char SQL_NAMED[] = "SELECT rid FROM tables WHERE db_rid = ?1 AND name = ?2";
static const char SQL_ADD[] =
    "INSERT INTO tables (db_rid, id, name, dir, external, type, owner, created_by, updated_by,"
    " created_ms, updated_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
static const char SQL_FINISH[] = "DELETE FROM intents WHERE id = ?1";

static int db_gone(struct ctx *cx, str name)
{
    return ctx_fail(cx, E_NOTFOUND, RES_DATABASE, name, "database %.*s does not exist", STR(name));
}

static int name_free(struct conn *c, struct ctx *cx, int64_t db_rid, str name)
{
    int64_t rid;
    int there = SQL_I64(cx, c, SQL_NAMED, &rid, AI(db_rid), AT(name));
    TRY(there);
    return there ? ctx_fail(cx, E_EXISTS, RES_TABLE, name, "table %.*s exists already", STR(name))
                 : 0;
}

/* Whoever removed the claim may be deleting the directory. */
static int claim_used(struct conn *c, struct ctx *cx, const struct create_io *io)
{
    int64_t removed = 0;
    if (io->intent == 0)
        return 0;
    TRY(SQL_RUN(cx, c, SQL_FINISH, &removed, AI(io->intent)));
    return removed ? 0
                   : ctx_fail(cx, E_RACE, RES_TABLE, io->in->name,
                              "the directory claimed for table %.*s was given up meanwhile; "
                              "create the table again",
                              STR(io->in->name));
}

/* A table that lies in, around or at ?1. */
static const char SQL_NEAR[] = "SELECT 1 FROM tables WHERE external <> '' AND (external = ?1"
                               " OR substr(?1, 1, length(external) + 1) = external || '/'"
                               " OR substr(external, 1, length(?1) + 1) = ?1 || '/') LIMIT 1";
/* Who has the directory ?2 of warehouse ?1 now: a table, or one that is being made or deleted. */
static const char SQL_LIVES[] =
    "SELECT 1 FROM tables t JOIN databases d ON d.rid = t.db_rid AND d.warehouse_id = ?1"
    " WHERE t.dir = ?2 AND t.dir <> ''"
    " UNION ALL SELECT 1 FROM intents WHERE warehouse_id = ?1 AND branch = ''"
    " AND args_json = json_object('dir', ?2)";

static int lies_there(struct ctx *cx, const struct table_row *in)
{
    return ctx_fail(cx, E_CONFLICT, RES_TABLE, in->name,
                    "%.*s is, holds or lies in the directory of another table; two tables cannot "
                    "share files, choose another path or drop the other table first",
                    STR(in->external));
}

/* Is the directory of an external table its own? */
static int place_free(struct conn *c, struct ctx *cx, const struct table_row *in)
{
    int64_t one;
    if (!in->external.len)
        return 0;
    int there = SQL_I64(cx, c, SQL_NEAR, &one, AT(in->external));
    TRY(there);
    if (!there && in->dir.len)
        there = SQL_I64(cx, c, SQL_LIVES, &one, AI(in->warehouse_id), AT(in->dir));
    TRY(there);
    return there ? lies_there(cx, in) : 0;
}

static int place_take(struct conn *c, struct ctx *cx, const struct table_row *in)
{
    TRY(place_free(c, cx, in));
    if (!in->external.len || !in->dir.len)
        return 0;
    return SQL_RUN(cx, c, SQL_USE, NULL, AI(in->warehouse_id), AT(in->dir));
}

int sq_table_place(struct store *st, struct ctx *cx, const struct table_row *in)
{
    struct conn *c;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    return place_free(c, cx, in);
}

static int main_make(struct conn *c, struct ctx *cx, const struct create_io *io)
{
    static const struct head_row none;
    const struct table_row *in = io->in;
    struct schema_set schema = {.id = in->schema_id, .json = in->schema_json};
    int64_t branch;
    TRY(sq_branch_add(c, cx, sqlite3_last_insert_rowid(c->db), STR_LIT("main"), &branch));
    TRY(sq_branch_set_head(c, cx, branch, io->head ? io->head : &none));
    return sq_branch_set_schema(c, cx, branch, &schema);
}

static int tx_create(struct conn *c, struct ctx *cx, void *p)
{
    const struct create_io *io = p;
    const struct table_row *in = io->in;
    int64_t db = 0;
    int there = SQL_I64(cx, c, SQL_DB, &db, AT(in->db_id));
    TRY(there);
    if (!there)
        return db_gone(cx, in->db_name);
    TRY(name_free(c, cx, db, in->name));
    TRY(claim_used(c, cx, io));
    TRY(place_take(c, cx, in));
    TRY(SQL_RUN(cx, c, SQL_ADD, NULL, AI(db), AT(in->id), AT(in->name), AT(in->dir),
                AT(in->external), AT(in->type), AT(in->stamp.owner), AT(in->stamp.created_by),
                AT(in->stamp.updated_by), AI(in->stamp.created_ms), AI(in->stamp.updated_ms)));
    TRY(main_make(c, cx, io));
    return sq_audit_write(c, cx, io->au);
}

int sq_table_create(struct store *st, struct ctx *cx, const struct table_row *in, int64_t intent_id,
                    const struct head_row *head, const struct audit *au)
{
    struct create_io io = {in, intent_id, head, au};
    return sq_write(sqlite_of(st), cx, tx_create, &io);
}

/* --- get -------------------------------------------------------------------------------------- */

#define TABLE_COLS                                                                                 \
    "t.id, d.id, d.name, d.warehouse_id, t.name, t.dir, t.external, s.schema_id, t.type, t.owner," \
    " t.created_by, t.updated_by, t.created_ms, t.updated_ms, s.schema_json"
#define JOIN_SCHEMA                                                                                \
    " JOIN branches b ON b.table_rid = t.rid AND b.name = 'main'"                                  \
    " JOIN schemas s ON s.branch_rid = b.rid"

static const char SQL_GET[] = "SELECT " TABLE_COLS " FROM databases d"
                              " JOIN tables t ON t.db_rid = d.rid AND t.name = ?3" JOIN_SCHEMA
                              " WHERE d.warehouse_id = ?1 AND d.name = ?2";
static const char SQL_BY_ID[] =
    "SELECT " TABLE_COLS " FROM tables t"
    " JOIN databases d ON d.rid = t.db_rid AND d.warehouse_id = ?1" JOIN_SCHEMA " WHERE t.id = ?2";
static const char SQL_DB_NAMED[] =
    "SELECT rid FROM databases WHERE warehouse_id = ?1 AND name = ?2";

static int table_cols(struct ctx *cx, sqlite3_stmt *st, struct table_row *ret)
{
    struct cols c = sq_cols(cx, st);
    struct table_row r;
    r.id = sq_col_str(&c);
    r.db_id = sq_col_str(&c);
    r.db_name = sq_col_str(&c);
    r.warehouse_id = sq_col_i64(&c);
    r.name = sq_col_str(&c);
    r.dir = sq_col_str(&c);
    r.external = sq_col_str(&c);
    r.schema_id = sq_col_i64(&c);
    r.type = sq_col_str(&c);
    r.stamp.owner = sq_col_str(&c);
    r.stamp.created_by = sq_col_str(&c);
    r.stamp.updated_by = sq_col_str(&c);
    r.stamp.created_ms = sq_col_i64(&c);
    r.stamp.updated_ms = sq_col_i64(&c);
    r.schema_json = sq_col_str(&c);
    TRY(sq_cols_end(&c));
    *ret = r;
    return 0;
}

static int table_gone(struct ctx *cx, str id)
{
    return ctx_fail(cx, E_NOTFOUND, RES_TABLE, id,
                    "the table with id %.*s does not exist (any more)", STR(id));
}

int sq_table_get(struct store *st, struct ctx *cx, int64_t warehouse_id, str db, str name,
                 struct table_row *ret)
{
    struct conn *c;
    int64_t rid;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    STMT q = NULL;
    TRY(SQL_OPEN(cx, c, SQL_GET, &q, AI(warehouse_id), AT(db), AT(name)));
    int row = sq_step(cx, c, q);
    TRY(row);
    if (row)
        return table_cols(cx, q, ret);
    int there = SQL_I64(cx, c, SQL_DB_NAMED, &rid, AI(warehouse_id), AT(db));
    TRY(there);
    if (!there)
        return db_gone(cx, db);
    return ctx_fail(cx, E_NOTFOUND, RES_TABLE, name, "table %.*s.%.*s does not exist", STR(db),
                    STR(name));
}

int sq_table_by_id(struct store *st, struct ctx *cx, int64_t warehouse_id, str id,
                   struct table_row *ret)
{
    struct conn *c;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    STMT q = NULL;
    TRY(SQL_OPEN(cx, c, SQL_BY_ID, &q, AI(warehouse_id), AT(id)));
    int row = sq_step(cx, c, q);
    TRY(row);
    return row ? table_cols(cx, q, ret) : table_gone(cx, id);
}

/* --- rename ----------------------------------------------------------------------------------- */

struct rename_io {
    const struct table_named *t;
    str to_db, to_name, by;
    int64_t warehouse_id, now_ms;
    const struct audit *au;
};

static const char SQL_IN_WAREHOUSE[] =
    "SELECT t.rid FROM tables t JOIN databases d ON d.rid = t.db_rid AND d.warehouse_id = ?1"
    " WHERE t.id = ?2";
static const char SQL_NAMES[] = "SELECT d.name, t.name FROM tables t"
                                " JOIN databases d ON d.rid = t.db_rid WHERE t.id = ?1";
static const char SQL_RENAME[] = "UPDATE tables SET db_rid = ?2, name = ?3, updated_ms = ?4,"
                                 " updated_by = ?5 WHERE rid = ?1";

/* Has the table the name that it was asked for by? */
static int still_named(struct conn *c, struct ctx *cx, const struct table_named *t)
{
    if (!t->db.p)
        return 0;
    STMT q = NULL;
    TRY(SQL_OPEN(cx, c, SQL_NAMES, &q, AT(t->id)));
    int row = sq_step(cx, c, q);
    TRY(row);
    struct cols cols = sq_cols(cx, q);
    str db = row ? sq_col_str(&cols) : STR_NONE, name = row ? sq_col_str(&cols) : STR_NONE;
    TRY(row ? sq_cols_end(&cols) : 0);
    if (!row || !str_eq(db, t->db) || !str_eq(name, t->name))
        return ctx_fail(cx, E_NOTFOUND, RES_TABLE, t->name, "table %.*s.%.*s does not exist",
                        STR(t->db), STR(t->name));
    return 0;
}

static int tx_rename(struct conn *c, struct ctx *cx, void *p)
{
    const struct rename_io *io = p;
    int64_t rid = 0, db = 0;
    TRY(still_named(c, cx, io->t));
    int there = SQL_I64(cx, c, SQL_IN_WAREHOUSE, &rid, AI(io->warehouse_id), AT(io->t->id));
    TRY(there);
    if (!there)
        return table_gone(cx, io->t->id);
    there = SQL_I64(cx, c, SQL_DB_NAMED, &db, AI(io->warehouse_id), AT(io->to_db));
    TRY(there);
    if (!there)
        return db_gone(cx, io->to_db);
    TRY(name_free(c, cx, db, io->to_name));
    TRY(SQL_RUN(cx, c, SQL_RENAME, NULL, AI(rid), AI(db), AT(io->to_name), AI(io->now_ms),
                AT(io->by)));
    return sq_audit_write(c, cx, io->au);
}

int sq_table_rename(struct store *st, struct ctx *cx, const struct table_named *t,
                    int64_t warehouse_id, str to_db, str to_name, int64_t now_ms, str by,
                    const struct audit *au)
{
    struct rename_io io = {t, to_db, to_name, by, warehouse_id, now_ms, au};
    return sq_write(sqlite_of(st), cx, tx_rename, &io);
}

/* --- alter ------------------------------------------------------------------------------------ */

struct alter_io {
    str id, branch;
    int64_t expect;
    const struct schema_set *to;
    const struct audit *au;
};

static const char SQL_SCHEMA_ID[] = "SELECT schema_id FROM schemas WHERE branch_rid = ?1";
static const char SQL_ALTERED[] =
    "UPDATE tables SET updated_ms = ?2, updated_by = ?3 WHERE id = ?1";
static const char SQL_TYPE[] = "UPDATE tables SET type = ?2 WHERE id = ?1";

int sq_table_altered(struct conn *c, struct ctx *cx, str id, str branch,
                     const struct schema_set *to)
{
    TRY(SQL_RUN(cx, c, SQL_ALTERED, NULL, AT(id), AI(to->now_ms), AT(to->by)));
    return str_eqz(branch, "main") ? SQL_RUN(cx, c, SQL_TYPE, NULL, AT(id), AT(to->type)) : 0;
}

static int tx_alter(struct conn *c, struct ctx *cx, void *p)
{
    const struct alter_io *io = p;
    struct branch_at at;
    int64_t now = -1;
    TRY(sq_branch_find(c, cx, io->id, io->branch, &at));
    int there = SQL_I64(cx, c, SQL_SCHEMA_ID, &now, AI(at.rid));
    TRY(there);
    if (now != io->expect)
        return ctx_fail(cx, E_RACE, RES_TABLE, io->id,
                        "the table's schema is %lld by now, not %lld; read it again",
                        (long long)now, (long long)io->expect);
    TRY(sq_branch_set_schema(c, cx, at.rid, io->to));
    TRY(sq_table_altered(c, cx, io->id, io->branch, io->to));
    return sq_audit_write(c, cx, io->au);
}

int sq_table_alter(struct store *st, struct ctx *cx, str id, str branch, int64_t expect_schema_id,
                   const struct schema_set *to, const struct audit *au)
{
    struct alter_io io = {id, branch, expect_schema_id, to, au};
    return sq_write(sqlite_of(st), cx, tx_alter, &io);
}

/* --- drop ------------------------------------------------------------------------------------- */

struct drop_io {
    const struct table_named *t;
    int64_t now_ms;
    const struct audit *au;
    struct intent_row purge;
};

static const char SQL_WHAT[] = "SELECT t.rid, d.warehouse_id, t.dir, t.external <> '' FROM tables t"
                               " JOIN databases d ON d.rid = t.db_rid WHERE t.id = ?1";
static const char SQL_DROP_INTENTS[] = "DELETE FROM intents WHERE table_id = ?1 AND branch <> ''";
static const char SQL_GONE[] =
    "INSERT INTO gone_branches (rid) SELECT b.rid FROM branches b WHERE b.table_rid = ?1"
    " AND (EXISTS (SELECT 1 FROM outcomes o WHERE o.branch_rid = b.rid)"
    " OR EXISTS (SELECT 1 FROM conflicts c WHERE c.branch_rid = b.rid))";
static const char SQL_DROP_SCHEMAS[] =
    "DELETE FROM schemas WHERE branch_rid IN (SELECT rid FROM branches WHERE table_rid = ?1)";
static const char SQL_DROP_BRANCHES[] = "DELETE FROM branches WHERE table_rid = ?1";
static const char SQL_DROP[] = "DELETE FROM tables WHERE rid = ?1";
static const char SQL_PURGE[] = "SELECT " INTENT_COLS " FROM intents WHERE id = ?1";

/* *ret_dir is STR_NONE when the files stay. */
static int drop_find(struct conn *c, struct ctx *cx, struct drop_io *io, int64_t *ret_rid,
                     str *ret_dir)
{
    STMT q = NULL;
    TRY(SQL_OPEN(cx, c, SQL_WHAT, &q, AT(io->t->id)));
    int row = sq_step(cx, c, q);
    TRY(row);
    if (!row)
        return table_gone(cx, io->t->id);
    struct cols cols = sq_cols(cx, q);
    *ret_rid = sq_col_i64(&cols);
    io->purge.warehouse_id = sq_col_i64(&cols);
    str dir = sq_col_str(&cols);
    *ret_dir = sq_col_i64(&cols) ? STR_NONE : dir;
    return sq_cols_end(&cols);
}

static int drop_purge(struct conn *c, struct ctx *cx, struct drop_io *io, str dir)
{
    int64_t id = 0;
    STMT q = NULL;
    io->purge.kind = STR_LIT("purge");
    io->purge.table_id = io->t->id;
    io->purge.created_ms = io->now_ms;
    TRY(sq_intent_of_dir(c, cx, &io->purge, dir, &id));
    TRY(SQL_OPEN(cx, c, SQL_PURGE, &q, AI(id)));
    int row = sq_step(cx, c, q);
    TRY(row);
    ASSERT(row == 1);
    struct cols cols = sq_cols(cx, q);
    io->purge = sq_intent_cols(&cols);
    return sq_cols_end(&cols);
}

static int tx_drop(struct conn *c, struct ctx *cx, void *p)
{
    struct drop_io *io = p;
    int64_t rid = 0;
    str dir;
    TRY(still_named(c, cx, io->t));
    TRY(drop_find(c, cx, io, &rid, &dir));
    TRY(SQL_RUN(cx, c, SQL_DROP_INTENTS, NULL, AT(io->t->id)));
    if (dir.p)
        TRY(drop_purge(c, cx, io, dir));
    TRY(SQL_RUN(cx, c, SQL_GONE, NULL, AI(rid)));
    TRY(SQL_RUN(cx, c, SQL_DROP_SCHEMAS, NULL, AI(rid)));
    TRY(SQL_RUN(cx, c, SQL_DROP_BRANCHES, NULL, AI(rid)));
    TRY(SQL_RUN(cx, c, SQL_DROP, NULL, AI(rid)));
    return sq_audit_write(c, cx, io->au);
}

int sq_table_drop(struct store *st, struct ctx *cx, const struct table_named *t, int64_t now_ms,
                  const struct audit *au, struct intent_row *ret)
{
    struct drop_io io = {.t = t, .now_ms = now_ms, .au = au};
    TRY(sq_write(sqlite_of(st), cx, tx_drop, &io));
    *ret = io.purge;
    return 0;
}
