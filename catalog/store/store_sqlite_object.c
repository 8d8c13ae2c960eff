/* store_sqlite_object.c - views and functions, and the names of every kind of object.
 *
 * A listing of names goes by (database, name), which is the order of two indexes, one inside the
 * other, so a page starts where the last one ended. It is one statement, run twice at most: for the
 * database in whose midst the last page ended, then for those behind it. A pair of names is more
 * than its full name "db.object": both parts may hold a '.', so pairs are compared, never texts
 * that were put together.
 *
 * What changes or gives up a name finds it by name in the transaction itself, so of two who do it
 * at once the second finds nothing.
 *
 * Thread rule: reads on the caller's thread, functions named tx_* on the writer's. */
#include "catalog/store/store_sqlite_int.h"

static str kind_text(enum object_kind k)
{
    ASSERT(k == OBJECT_VIEW || k == OBJECT_FUNCTION);
    return k == OBJECT_VIEW ? STR_LIT("view") : STR_LIT("function");
}

static enum res kind_res(enum object_kind k)
{
    return k == OBJECT_VIEW ? RES_VIEW : RES_FUNCTION;
}

static int db_gone(struct ctx *cx, str name)
{
    return ctx_fail(cx, E_NOTFOUND, RES_DATABASE, name, "database %.*s does not exist", STR(name));
}

static int gone(struct ctx *cx, enum object_kind k, str db, str name)
{
    return ctx_fail(cx, E_NOTFOUND, kind_res(k), name, "%.*s %.*s.%.*s does not exist",
                    STR(kind_text(k)), STR(db), STR(name));
}

/* --- names ------------------------------------------------------------------------------------ */

/* CROSS JOIN keeps the databases outside: the planner shall not think of anything else. */
#define FIND(inner)                                                                                \
    "SELECT d.name, t.name FROM databases d CROSS JOIN " inner " AND t.name >= ?4 AND t.name < ?5" \
    " WHERE d.warehouse_id = ?1 AND d.name >= ?2 AND d.name < ?3"                                  \
    " ORDER BY d.name, t.name LIMIT ?6"

static const char SQL_FIND_TABLES[] = FIND("tables t ON t.db_rid = d.rid");
static const char SQL_FIND_TYPE[] = FIND("tables t ON t.db_rid = d.rid AND t.type = ?7");
static const char SQL_FIND_OBJECTS[] = FIND("objects t ON t.db_rid = d.rid AND t.kind = ?7");

struct pairs {
    struct name_pair *at;
    size_t n, cap;
};

static int pairs_read(struct ctx *cx, struct conn *c, sqlite3_stmt *q, struct pairs *p)
{
    int row;
    while ((row = sq_step(cx, c, q)) > 0) {
        p->at = sq_grow(cx, p->at, p->n, &p->cap, sizeof(*p->at));
        if (!p->at)
            return ctx_nomem(cx);
        struct cols cols = sq_cols(cx, q);
        p->at[p->n].db = sq_col_str(&cols);
        p->at[p->n++].name = sq_col_str(&cols);
        TRY(sq_cols_end(&cols));
    }
    return row;
}

/* Adds to `p` what is in these two ranges, as long as there is room for it. */
static int find_in(struct ctx *cx, struct conn *c, const struct store_find_in *in,
                   const struct name_range *db, const struct name_range *name, struct pairs *p)
{
    STMT q = NULL;
    int64_t w = in->warehouse_id, room = in->limit - (int64_t)p->n;
    if (in->kind == OBJECT_TABLE && in->type.len == 0)
        TRY(SQL_OPEN(cx, c, SQL_FIND_TABLES, &q, AI(w), AT(db->from), db->to, AT(name->from),
                     name->to, AI(room)));
    else if (in->kind == OBJECT_TABLE)
        TRY(SQL_OPEN(cx, c, SQL_FIND_TYPE, &q, AI(w), AT(db->from), db->to, AT(name->from),
                     name->to, AI(room), AT(in->type)));
    else
        TRY(SQL_OPEN(cx, c, SQL_FIND_OBJECTS, &q, AI(w), AT(db->from), db->to, AT(name->from),
                     name->to, AI(room), AT(kind_text(in->kind))));
    return pairs_read(cx, c, q, p);
}

static bool matches(const struct name_match *m, str name)
{
    return m->exact ? str_eq(name, m->text) : str_starts(name, m->text);
}

/* What is left of the database that the last page ended in. */
static int find_rest(struct ctx *cx, struct conn *c, const struct store_find_in *in,
                     struct pairs *p)
{
    struct name_match this_db = {in->after.db, true};
    struct name_range db = {0}, name = {0};
    if (in->after.db.len == 0 || !matches(&in->db, in->after.db))
        return 0;
    int some = sq_match_range(cx, &in->name, in->after.name, &name);
    if (some <= 0)
        return some;
    TRY(sq_match_range(cx, &this_db, STR_NONE, &db));
    return find_in(cx, c, in, &db, &name, p);
}

int sq_find(struct store *st, struct ctx *cx, const struct store_find_in *in,
            struct name_pair **ret, size_t *ret_n)
{
    struct conn *c;
    struct pairs p = {0};
    struct name_range db = {0}, name = {0};
    TRY(sq_reader(sqlite_of(st), cx, &c));
    if (in->limit > 0)
        TRY(find_rest(cx, c, in, &p));
    int some = sq_match_range(cx, &in->db, in->after.db, &db);
    TRY(some);
    TRY(sq_match_range(cx, &in->name, STR_NONE, &name));
    if (some && (int64_t)p.n < in->limit)
        TRY(find_in(cx, c, in, &db, &name, &p));
    *ret = p.at;
    *ret_n = p.n;
    return 0;
}

/* --- get and list ----------------------------------------------------------------------------- */

#define OBJECT_COLS                                                                                \
    "o.id, d.name, d.warehouse_id, o.name, o.owner, o.created_by, o.updated_by, o.created_ms,"     \
    " o.updated_ms, o.json"

static const char SQL_GET[] = "SELECT " OBJECT_COLS " FROM databases d"
                              " JOIN objects o ON o.db_rid = d.rid AND o.kind = ?4 AND o.name = ?3"
                              " WHERE d.warehouse_id = ?1 AND d.name = ?2";
static const char SQL_LIST[] = "SELECT " OBJECT_COLS " FROM databases d"
                               " CROSS JOIN objects o ON o.db_rid = d.rid AND o.kind = ?3"
                               " AND o.name >= ?4 AND o.name < ?5"
                               " WHERE d.warehouse_id = ?1 AND d.name = ?2"
                               " ORDER BY o.name LIMIT ?6";
static const char SQL_DB_NAMED[] =
    "SELECT rid FROM databases WHERE warehouse_id = ?1 AND name = ?2";

static int object_cols(struct ctx *cx, sqlite3_stmt *st, enum object_kind kind,
                       struct object_row *ret)
{
    struct cols c = sq_cols(cx, st);
    struct object_row r = {.kind = kind};
    r.id = sq_col_str(&c);
    r.db_name = sq_col_str(&c);
    r.warehouse_id = sq_col_i64(&c);
    r.name = sq_col_str(&c);
    r.stamp.owner = sq_col_str(&c);
    r.stamp.created_by = sq_col_str(&c);
    r.stamp.updated_by = sq_col_str(&c);
    r.stamp.created_ms = sq_col_i64(&c);
    r.stamp.updated_ms = sq_col_i64(&c);
    r.json = sq_col_str(&c);
    TRY(sq_cols_end(&c));
    *ret = r;
    return 0;
}

int sq_object_get(struct store *st, struct ctx *cx, int64_t warehouse_id, enum object_kind kind,
                  str db, str name, struct object_row *ret)
{
    struct conn *c;
    int64_t rid;
    STMT q = NULL;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(SQL_OPEN(cx, c, SQL_GET, &q, AI(warehouse_id), AT(db), AT(name), AT(kind_text(kind))));
    int row = sq_step(cx, c, q);
    TRY(row);
    if (row)
        return object_cols(cx, q, kind, ret);
    int there = SQL_I64(cx, c, SQL_DB_NAMED, &rid, AI(warehouse_id), AT(db));
    TRY(there);
    return there ? gone(cx, kind, db, name) : db_gone(cx, db);
}

static int too_many(struct ctx *cx, size_t bytes_max)
{
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "the answer is larger than %zu bytes; ask for fewer items with maxResults",
                    bytes_max);
}

/* The size of a row is looked at before it is copied. */
static int objects_read(struct ctx *cx, struct conn *c, sqlite3_stmt *q,
                        const struct store_objects_in *in, struct object_row **ret, size_t *ret_n)
{
    struct object_row *rows = NULL;
    size_t n = 0, cap = 0, bytes = 0;
    int row;
    while ((row = sq_step(cx, c, q)) > 0) {
        bytes += (size_t)sqlite3_column_bytes(q, sqlite3_column_count(q) - 1);
        if (bytes > in->bytes_max)
            return too_many(cx, in->bytes_max);
        rows = sq_grow(cx, rows, n, &cap, sizeof(*rows));
        if (!rows)
            return ctx_nomem(cx);
        TRY(object_cols(cx, q, in->kind, &rows[n++]));
    }
    TRY(row);
    *ret = rows;
    *ret_n = n;
    return 0;
}

int sq_object_list(struct store *st, struct ctx *cx, const struct store_objects_in *in,
                   struct object_row **ret, size_t *ret_n)
{
    struct conn *c;
    struct name_range r = {0};
    STMT q = NULL;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(sq_match_range(cx, &in->name, in->after, &r));
    TRY(SQL_OPEN(cx, c, SQL_LIST, &q, AI(in->warehouse_id), AT(in->db), AT(kind_text(in->kind)),
                 AT(r.from), r.to, AI(in->limit > 0 ? in->limit : 0)));
    return objects_read(cx, c, q, in, ret, ret_n);
}

/* --- create ----------------------------------------------------------------------------------- */

struct create_io {
    const struct object_row *in;
    const struct audit *au;
};

static const char SQL_NAMED[] =
    "SELECT rid FROM objects WHERE db_rid = ?1 AND kind = ?2 AND name = ?3";
static const char SQL_ADD[] =
    "INSERT INTO objects (db_rid, id, kind, name, owner, created_by, updated_by, created_ms,"
    " updated_ms, json) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

static int db_find(struct conn *c, struct ctx *cx, int64_t warehouse_id, str name, int64_t *ret)
{
    int there = SQL_I64(cx, c, SQL_DB_NAMED, ret, AI(warehouse_id), AT(name));
    TRY(there);
    return there ? 0 : db_gone(cx, name);
}

static int name_free(struct conn *c, struct ctx *cx, enum object_kind kind, int64_t db_rid, str db,
                     str name)
{
    int64_t rid;
    int there = SQL_I64(cx, c, SQL_NAMED, &rid, AI(db_rid), AT(kind_text(kind)), AT(name));
    TRY(there);
    return there ? ctx_fail(cx, E_EXISTS, kind_res(kind), name, "%.*s %.*s.%.*s exists already",
                            STR(kind_text(kind)), STR(db), STR(name))
                 : 0;
}

static int tx_create(struct conn *c, struct ctx *cx, void *p)
{
    const struct create_io *io = p;
    const struct object_row *in = io->in;
    int64_t db = 0;
    TRY(db_find(c, cx, in->warehouse_id, in->db_name, &db));
    TRY(name_free(c, cx, in->kind, db, in->db_name, in->name));
    TRY(SQL_RUN(cx, c, SQL_ADD, NULL, AI(db), AT(in->id), AT(kind_text(in->kind)), AT(in->name),
                AT(in->stamp.owner), AT(in->stamp.created_by), AT(in->stamp.updated_by),
                AI(in->stamp.created_ms), AI(in->stamp.updated_ms), AT(in->json)));
    return sq_audit_write(c, cx, io->au);
}

int sq_object_create(struct store *st, struct ctx *cx, const struct object_row *in,
                     const struct audit *au)
{
    struct create_io io = {in, au};
    return sq_write(sqlite_of(st), cx, tx_create, &io);
}

/* --- alter ------------------------------------------------------------------------------------ */

struct alter_io {
    enum object_kind kind;
    str id, expect, json, by;
    int64_t now_ms;
    const struct audit *au;
};

static const char SQL_BY_ID[] = "SELECT rid FROM objects WHERE id = ?1 AND kind = ?2";
static const char SQL_ALTER[] = "UPDATE objects SET json = ?4, updated_ms = ?5, updated_by = ?6"
                                " WHERE id = ?1 AND kind = ?2 AND json = ?3";

static int tx_alter(struct conn *c, struct ctx *cx, void *p)
{
    const struct alter_io *io = p;
    str kind = kind_text(io->kind);
    int64_t changed = 0, rid;
    TRY(SQL_RUN(cx, c, SQL_ALTER, &changed, AT(io->id), AT(kind), AT(io->expect), AT(io->json),
                AI(io->now_ms), AT(io->by)));
    if (changed)
        return sq_audit_write(c, cx, io->au);
    int there = SQL_I64(cx, c, SQL_BY_ID, &rid, AT(io->id), AT(kind));
    TRY(there);
    if (!there)
        return ctx_fail(cx, E_NOTFOUND, kind_res(io->kind), io->id,
                        "the %.*s with id %.*s does not exist (any more)", STR(kind), STR(io->id));
    return ctx_fail(cx, E_RACE, kind_res(io->kind), io->id,
                    "the %.*s changed meanwhile; read it again", STR(kind));
}

int sq_object_alter(struct store *st, struct ctx *cx, enum object_kind kind, str id,
                    str expect_json, str json, int64_t now_ms, str by, const struct audit *au)
{
    struct alter_io io = {kind, id, expect_json, json, by, now_ms, au};
    return sq_write(sqlite_of(st), cx, tx_alter, &io);
}

/* --- rename and drop -------------------------------------------------------------------------- */

struct rename_io {
    const struct store_object_rename_in *in;
    const struct audit *au;
};

static const char SQL_RENAME[] = "UPDATE objects SET db_rid = ?2, name = ?3, updated_ms = ?4,"
                                 " updated_by = ?5 WHERE rid = ?1";
static const char SQL_DROP[] = "DELETE FROM objects WHERE rid = ?1";

static int object_find(struct conn *c, struct ctx *cx, int64_t warehouse_id, enum object_kind kind,
                       str db, str name, int64_t *ret)
{
    int64_t db_rid = 0;
    TRY(db_find(c, cx, warehouse_id, db, &db_rid));
    int there = SQL_I64(cx, c, SQL_NAMED, ret, AI(db_rid), AT(kind_text(kind)), AT(name));
    TRY(there);
    return there ? 0 : gone(cx, kind, db, name);
}

static int tx_rename(struct conn *c, struct ctx *cx, void *p)
{
    const struct rename_io *io = p;
    const struct store_object_rename_in *in = io->in;
    int64_t rid = 0, db = 0;
    TRY(object_find(c, cx, in->warehouse_id, in->kind, in->from.db, in->from.name, &rid));
    TRY(db_find(c, cx, in->warehouse_id, in->to.db, &db));
    TRY(name_free(c, cx, in->kind, db, in->to.db, in->to.name));
    TRY(SQL_RUN(cx, c, SQL_RENAME, NULL, AI(rid), AI(db), AT(in->to.name), AI(in->now_ms),
                AT(in->by)));
    return sq_audit_write(c, cx, io->au);
}

int sq_object_rename(struct store *st, struct ctx *cx, const struct store_object_rename_in *in,
                     const struct audit *au)
{
    struct rename_io io = {in, au};
    return sq_write(sqlite_of(st), cx, tx_rename, &io);
}

struct drop_io {
    int64_t warehouse_id;
    enum object_kind kind;
    str db, name;
    const struct audit *au;
};

static int tx_drop(struct conn *c, struct ctx *cx, void *p)
{
    const struct drop_io *io = p;
    int64_t rid = 0;
    TRY(object_find(c, cx, io->warehouse_id, io->kind, io->db, io->name, &rid));
    TRY(SQL_RUN(cx, c, SQL_DROP, NULL, AI(rid)));
    return sq_audit_write(c, cx, io->au);
}

int sq_object_drop(struct store *st, struct ctx *cx, int64_t warehouse_id, enum object_kind kind,
                   str db, str name, const struct audit *au)
{
    struct drop_io io = {warehouse_id, kind, db, name, au};
    return sq_write(sqlite_of(st), cx, tx_drop, &io);
}
