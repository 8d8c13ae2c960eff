/* store_sqlite_db.c - databases, and how names are listed.
 *
 * A listing is one range of an index on names: it starts at the larger of "behind `after`" and "at
 * `prefix`" and ends before the first name that is above every name with the prefix. Names compare
 * bytewise (memcmp), so "behind x" is "from x and a NUL on", and the end of a prefix is the prefix
 * with its last byte that is not 0xFF made one larger. Without such an end the bound is a blob,
 * which SQLite sorts behind every text. The cost of a page does not depend on how many names there
 * are.
 *
 * Thread rule: reads on the caller's thread, functions named tx_* on the writer's. */
#include "catalog/store/store_sqlite_int.h"

/* --- listing ---------------------------------------------------------------------------------- */

static int behind(struct ctx *cx, str name, str *ret)
{
    char *z = str_dupz(&cx->arena, name); /* its NUL is the one we want */
    if (!z)
        return ctx_nomem(cx);
    *ret = str_n(z, name.len + 1);
    return 0;
}

static int end_of_prefix(struct ctx *cx, str prefix, struct arg *ret)
{
    size_t n = prefix.len;
    while (n && (unsigned char)prefix.p[n - 1] == 0xFF)
        n--;
    *ret = AB("", 0);
    if (n == 0)
        return 0;
    char *z = str_dupz(&cx->arena, str_n(prefix.p, n));
    if (!z)
        return ctx_nomem(cx);
    z[n - 1] = (char)((unsigned char)z[n - 1] + 1);
    *ret = AT(str_n(z, n));
    return 0;
}

int sq_name_range(struct ctx *cx, const struct store_list_in *in, struct name_range *ret)
{
    ret->limit = in->limit > 0 ? in->limit : 0;
    ret->from = in->prefix;
    if (in->after.len && str_cmp(in->after, in->prefix) >= 0)
        TRY(behind(cx, in->after, &ret->from));
    return end_of_prefix(cx, in->prefix, &ret->to);
}

int sq_match_range(struct ctx *cx, const struct name_match *m, str after, struct name_range *ret)
{
    struct store_list_in in = {.after = after, .prefix = m->text};
    struct name_range r;
    str end;
    TRY(sq_name_range(cx, &in, &r));
    if (m->exact) {
        TRY(behind(cx, m->text, &end));
        r.to = AT(end);
    }
    *ret = r;
    return r.to.kind == ARG_BLOB || str_cmp(r.from, r.to.s) < 0;
}

int sq_names_read(struct ctx *cx, struct conn *c, sqlite3_stmt *st, str **ret, size_t *ret_n)
{
    str *names = NULL;
    size_t n = 0, cap = 0;
    int row;
    while ((row = sq_step(cx, c, st)) > 0) {
        names = sq_grow(cx, names, n, &cap, sizeof(*names));
        if (!names)
            return ctx_nomem(cx);
        struct cols cols = sq_cols(cx, st);
        names[n++] = sq_col_str(&cols);
        TRY(sq_cols_end(&cols));
    }
    TRY(row);
    *ret = names;
    *ret_n = n;
    return 0;
}

static const char SQL_LIST[] = "SELECT name FROM databases WHERE warehouse_id = ?1 AND name >= ?2"
                               " AND name < ?3 ORDER BY name LIMIT ?4";

int sq_db_list(struct store *st, struct ctx *cx, int64_t warehouse_id,
               const struct store_list_in *in, str **ret, size_t *ret_n)
{
    struct conn *c;
    struct name_range r;
    STMT q = NULL;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(sq_name_range(cx, in, &r));
    TRY(SQL_OPEN(cx, c, SQL_LIST, &q, AI(warehouse_id), AT(r.from), r.to, AI(r.limit)));
    return sq_names_read(cx, c, q, ret, ret_n);
}

/* --- get -------------------------------------------------------------------------------------- */

static const char SQL_GET[] =
    "SELECT id, warehouse_id, name, dir, owner, created_by, updated_by, created_ms, updated_ms,"
    " options_json FROM databases WHERE warehouse_id = ?1 AND name = ?2";

int sq_db_get(struct store *st, struct ctx *cx, int64_t warehouse_id, str name, struct db_row *ret)
{
    struct conn *c;
    STMT q = NULL;
    struct db_row r;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(SQL_OPEN(cx, c, SQL_GET, &q, AI(warehouse_id), AT(name)));
    int row = sq_step(cx, c, q);
    TRY(row);
    if (!row)
        return ctx_fail(cx, E_NOTFOUND, RES_DATABASE, name, "database %.*s does not exist",
                        STR(name));
    struct cols cols = sq_cols(cx, q);
    r.id = sq_col_str(&cols);
    r.warehouse_id = sq_col_i64(&cols);
    r.name = sq_col_str(&cols);
    r.dir = sq_col_str(&cols);
    r.stamp.owner = sq_col_str(&cols);
    r.stamp.created_by = sq_col_str(&cols);
    r.stamp.updated_by = sq_col_str(&cols);
    r.stamp.created_ms = sq_col_i64(&cols);
    r.stamp.updated_ms = sq_col_i64(&cols);
    r.options_json = sq_col_str(&cols);
    TRY(sq_cols_end(&cols));
    *ret = r;
    return 0;
}

/* --- create ----------------------------------------------------------------------------------- */

struct create_io {
    const struct db_row *in;
    const struct audit *au;
};

static const char SQL_NAMED[] = "SELECT rid FROM databases WHERE warehouse_id = ?1 AND name = ?2";
static const char SQL_ADD[] =
    "INSERT INTO databases (id, warehouse_id, name, dir, owner, created_by, updated_by,"
    " created_ms, updated_ms, options_json) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

static int tx_create(struct conn *c, struct ctx *cx, void *p)
{
    const struct create_io *io = p;
    const struct db_row *in = io->in;
    int64_t rid;
    int there = SQL_I64(cx, c, SQL_NAMED, &rid, AI(in->warehouse_id), AT(in->name));
    TRY(there);
    if (there)
        return ctx_fail(cx, E_EXISTS, RES_DATABASE, in->name, "database %.*s exists already",
                        STR(in->name));
    TRY(SQL_RUN(cx, c, SQL_ADD, NULL, AT(in->id), AI(in->warehouse_id), AT(in->name), AT(in->dir),
                AT(in->stamp.owner), AT(in->stamp.created_by), AT(in->stamp.updated_by),
                AI(in->stamp.created_ms), AI(in->stamp.updated_ms), AT(in->options_json)));
    return sq_audit_write(c, cx, io->au);
}

int sq_db_create(struct store *st, struct ctx *cx, const struct db_row *in, const struct audit *au)
{
    struct create_io io = {in, au};
    return sq_write(sqlite_of(st), cx, tx_create, &io);
}

/* --- alter ------------------------------------------------------------------------------------ */

struct alter_io {
    str id, expect, options, by;
    int64_t now_ms;
    const struct audit *au;
};

static const char SQL_BY_ID[] = "SELECT rid FROM databases WHERE id = ?1";
static const char SQL_ALTER[] = "UPDATE databases SET options_json = ?3, updated_ms = ?4,"
                                " updated_by = ?5 WHERE id = ?1 AND options_json = ?2";

static int gone(struct ctx *cx, str id)
{
    return ctx_fail(cx, E_NOTFOUND, RES_DATABASE, id,
                    "the database with id %.*s does not exist (any more)", STR(id));
}

static int tx_alter(struct conn *c, struct ctx *cx, void *p)
{
    const struct alter_io *io = p;
    int64_t changed = 0, rid;
    TRY(SQL_RUN(cx, c, SQL_ALTER, &changed, AT(io->id), AT(io->expect), AT(io->options),
                AI(io->now_ms), AT(io->by)));
    if (changed)
        return sq_audit_write(c, cx, io->au);
    int there = SQL_I64(cx, c, SQL_BY_ID, &rid, AT(io->id));
    TRY(there);
    if (!there)
        return gone(cx, io->id);
    return ctx_fail(cx, E_RACE, RES_DATABASE, io->id,
                    "the options of the database changed meanwhile; read them again");
}

int sq_db_alter(struct store *st, struct ctx *cx, str db_id, str expect_options_json,
                str options_json, int64_t now_ms, str by, const struct audit *au)
{
    struct alter_io io = {db_id, expect_options_json, options_json, by, now_ms, au};
    return sq_write(sqlite_of(st), cx, tx_alter, &io);
}

/* --- drop: a fixed number of statements, however many tables there are ------------------------ */

struct drop_io {
    str id;
    int64_t now_ms;
    const struct audit *au;
    struct intent_row *rows;
    size_t n;
};

static const char SQL_LAST_INTENT[] = "SELECT coalesce(max(id), 0) FROM intents";
static const char SQL_PURGE_ALL[] =
    "INSERT INTO intents (kind, table_id, branch, warehouse_id, epoch, created_ms, args_json)"
    " SELECT 'purge', t.id, '', d.warehouse_id, 0, ?2, json_object('dir', t.dir)"
    " FROM databases d JOIN tables t ON t.db_rid = d.rid WHERE d.rid = ?1 AND t.external = ''"
    " ORDER BY t.name";
static const char SQL_PURGES[] =
    "SELECT " INTENT_COLS " FROM intents WHERE id > ?1 UNION ALL"
    " SELECT 0, '', id, '', 0, 0, 0, '' FROM tables WHERE db_rid = ?2 AND external <> ''"
    " ORDER BY id";
static const char SQL_DROP_INTENTS[] = "DELETE FROM intents WHERE branch <> ''"
                                       " AND table_id IN (SELECT id FROM tables WHERE db_rid = ?1)";
static const char SQL_GONE[] = "INSERT INTO gone_branches (rid) SELECT b.rid FROM tables t"
                               " JOIN branches b ON b.table_rid = t.rid WHERE t.db_rid = ?1"
                               " AND (EXISTS (SELECT 1 FROM outcomes o WHERE o.branch_rid = b.rid)"
                               " OR EXISTS (SELECT 1 FROM conflicts c"
                               " WHERE c.branch_rid = b.rid))";
static const char SQL_DROP_SCHEMAS[] =
    "DELETE FROM schemas WHERE branch_rid IN (SELECT b.rid FROM tables t"
    " JOIN branches b ON b.table_rid = t.rid WHERE t.db_rid = ?1)";
static const char SQL_DROP_BRANCHES[] =
    "DELETE FROM branches WHERE table_rid IN (SELECT rid FROM tables WHERE db_rid = ?1)";
static const char SQL_DROP_TABLES[] = "DELETE FROM tables WHERE db_rid = ?1";
static const char SQL_DROP_OBJECTS[] = "DELETE FROM objects WHERE db_rid = ?1";
static const char SQL_DROP[] = "DELETE FROM databases WHERE rid = ?1";

static int purge_tables(struct conn *c, struct ctx *cx, int64_t rid, struct drop_io *io)
{
    int64_t last = 0;
    STMT q = NULL;
    TRY(SQL_I64(cx, c, SQL_LAST_INTENT, &last));
    TRY(SQL_RUN(cx, c, SQL_PURGE_ALL, NULL, AI(rid), AI(io->now_ms)));
    TRY(SQL_OPEN(cx, c, SQL_PURGES, &q, AI(last), AI(rid)));
    return sq_intents_read(cx, c, q, &io->rows, &io->n);
}

static int tx_drop(struct conn *c, struct ctx *cx, void *p)
{
    struct drop_io *io = p;
    int64_t rid;
    int there = SQL_I64(cx, c, SQL_BY_ID, &rid, AT(io->id));
    TRY(there);
    if (!there)
        return gone(cx, io->id);
    TRY(purge_tables(c, cx, rid, io));
    TRY(SQL_RUN(cx, c, SQL_DROP_INTENTS, NULL, AI(rid)));
    TRY(SQL_RUN(cx, c, SQL_GONE, NULL, AI(rid)));
    TRY(SQL_RUN(cx, c, SQL_DROP_SCHEMAS, NULL, AI(rid)));
    TRY(SQL_RUN(cx, c, SQL_DROP_BRANCHES, NULL, AI(rid)));
    TRY(SQL_RUN(cx, c, SQL_DROP_TABLES, NULL, AI(rid)));
    TRY(SQL_RUN(cx, c, SQL_DROP_OBJECTS, NULL, AI(rid)));
    TRY(SQL_RUN(cx, c, SQL_DROP, NULL, AI(rid)));
    return sq_audit_write(c, cx, io->au);
}

int sq_db_drop(struct store *st, struct ctx *cx, str db_id, int64_t now_ms, const struct audit *au,
               struct intent_row **ret, size_t *ret_n)
{
    struct drop_io io = {.id = db_id, .now_ms = now_ms, .au = au};
    TRY(sq_write(sqlite_of(st), cx, tx_drop, &io));
    *ret = io.rows;
    *ret_n = io.n;
    return 0;
}
