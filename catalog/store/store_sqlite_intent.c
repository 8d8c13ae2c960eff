/* store_sqlite_intent.c - intents: what was begun and must be finished, also after a crash.
 *
 * A branch has at most one open intent (a unique index says so). Beginning one that rewrites the
 * branch's history makes the epoch go up in the same transaction, so that a commit decided before
 * it cannot be recorded after it. Ids are never used again (AUTOINCREMENT): finishing an intent
 * twice cannot hit a later one.
 *
 * Thread rule: reads on the caller's thread, functions named tx_* on the writer's. */
#include "catalog/store/store_sqlite_int.h"

/* --- reading ---------------------------------------------------------------------------------- */

struct intent_row sq_intent_cols(struct cols *c)
{
    struct intent_row r = {0}; /* `reserves` is not given out */
    r.id = sq_col_i64(c);
    r.kind = sq_col_str(c);
    r.table_id = sq_col_str(c);
    r.branch = sq_col_str(c);
    r.warehouse_id = sq_col_i64(c);
    r.epoch = sq_col_i64(c);
    r.created_ms = sq_col_i64(c);
    r.args_json = sq_col_str(c);
    return r;
}

int sq_intents_read(struct ctx *cx, struct conn *c, sqlite3_stmt *st, struct intent_row **ret,
                    size_t *ret_n)
{
    struct intent_row *rows = NULL;
    size_t n = 0, cap = 0;
    int row;
    while ((row = sq_step(cx, c, st)) > 0) {
        rows = sq_grow(cx, rows, n, &cap, sizeof(*rows));
        if (!rows)
            return ctx_nomem(cx);
        struct cols cols = sq_cols(cx, st);
        rows[n++] = sq_intent_cols(&cols);
        TRY(sq_cols_end(&cols));
    }
    TRY(row);
    *ret = rows;
    *ret_n = n;
    return 0;
}

static const char SQL_OPEN_ALL[] = "SELECT " INTENT_COLS " FROM intents ORDER BY id";

int sq_intents_open(struct store *st, struct ctx *cx, struct intent_row **ret, size_t *ret_n)
{
    struct conn *c;
    STMT q = NULL;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(SQL_OPEN(cx, c, SQL_OPEN_ALL, &q));
    return sq_intents_read(cx, c, q, ret, ret_n);
}

/* --- begin ------------------------------------------------------------------------------------ */

struct begin_io {
    const struct store_intent_in *in;
    int64_t id, epoch;
};

static const char SQL_ADD[] =
    "INSERT INTO intents (kind, table_id, branch, warehouse_id, epoch, created_ms, args_json,"
    " reserves) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
static const char SQL_ADD_DIR[] =
    "INSERT INTO intents (kind, table_id, branch, warehouse_id, epoch, created_ms, args_json)"
    " VALUES (?1, ?2, '', ?3, 0, ?4, json_object('dir', ?5))";
static const char SQL_OF_BRANCH[] =
    "SELECT id FROM intents WHERE table_id = ?1 AND branch = ?2 AND branch <> ''";
static const char SQL_EPOCH[] = "UPDATE branches SET epoch = ?2 WHERE rid = ?1";

int sq_intent_of_dir(struct conn *c, struct ctx *cx, const struct intent_row *in, str dir,
                     int64_t *ret_id)
{
    TRY(SQL_RUN(cx, c, SQL_ADD_DIR, NULL, AT(in->kind), AT(in->table_id), AI(in->warehouse_id),
                AI(in->created_ms), AT(dir)));
    *ret_id = sqlite3_last_insert_rowid(c->db);
    return 0;
}

/* The condition of an intent on a branch; *ret_epoch is the epoch it will carry. */
static int branch_takes(struct conn *c, struct ctx *cx, const struct store_intent_in *in,
                        int64_t *ret_epoch)
{
    const struct intent_row *row = &in->row;
    struct branch_at at;
    int64_t other;
    TRY(sq_branch_find(c, cx, row->table_id, row->branch, &at));
    int busy = SQL_I64(cx, c, SQL_OF_BRANCH, &other, AT(row->table_id), AT(row->branch));
    TRY(busy);
    if (busy)
        return ctx_fail(cx, E_RACE, RES_BRANCH, row->branch,
                        "another operation on branch %.*s is not finished; try again later",
                        STR(row->branch));
    *ret_epoch = at.epoch;
    if (!in->bump_epoch)
        return 0;
    TRY(sq_branch_expect(cx, &at, row->branch, in->expect_epoch, in->expect_head_id));
    *ret_epoch = at.epoch + 1;
    return SQL_RUN(cx, c, SQL_EPOCH, NULL, AI(at.rid), AI(*ret_epoch));
}

static int tx_begin(struct conn *c, struct ctx *cx, void *p)
{
    struct begin_io *io = p;
    const struct intent_row *r = &io->in->row;
    if (r->branch.len)
        TRY(branch_takes(c, cx, io->in, &io->epoch));
    if (r->reserves.len)
        TRY(sq_branch_name_free(c, cx, r->table_id, r->reserves));
    TRY(SQL_RUN(cx, c, SQL_ADD, NULL, AT(r->kind), AT(r->table_id), AT(r->branch),
                AI(r->warehouse_id), AI(io->epoch), AI(r->created_ms), AT(r->args_json),
                AT(r->reserves)));
    io->id = sqlite3_last_insert_rowid(c->db);
    return sq_audit_write(c, cx, &io->in->audit);
}

int sq_intent_begin(struct store *st, struct ctx *cx, const struct store_intent_in *in,
                    int64_t *ret_id, int64_t *ret_epoch)
{
    struct begin_io io = {.in = in};
    ASSERT(!in->bump_epoch || in->row.branch.len);
    TRY(sq_write(sqlite_of(st), cx, tx_begin, &io));
    *ret_id = io.id;
    *ret_epoch = io.epoch;
    return 0;
}

/* --- finish ----------------------------------------------------------------------------------- */

static const char SQL_FINISH[] = "DELETE FROM intents WHERE id = ?1";

static int tx_finish(struct conn *c, struct ctx *cx, void *p)
{
    const int64_t *id = p;
    return SQL_RUN(cx, c, SQL_FINISH, NULL, AI(*id));
}

int sq_intent_finish(struct store *st, struct ctx *cx, int64_t id)
{
    return sq_write(sqlite_of(st), cx, tx_finish, &id);
}

static const char SQL_FINISH_OF[] =
    "DELETE FROM intents WHERE id = ?1 AND table_id = ?2 AND branch = ?3";
static const char SQL_FORGET[] = "DELETE FROM outcomes WHERE branch_rid = ?1 AND snapshot_id > ?2";

int sq_intent_end(struct conn *c, struct ctx *cx, int64_t id, str table_id, str branch,
                  struct branch_at *ret)
{
    int64_t there = 0;
    TRY(sq_branch_find(c, cx, table_id, branch, ret));
    TRY(SQL_RUN(cx, c, SQL_FINISH_OF, &there, AI(id), AT(table_id), AT(branch)));
    return there ? 0
                 : ctx_fail(cx, E_NOTFOUND, RES_BRANCH, branch,
                            "the operation on branch %.*s is not open (any more)", STR(branch));
}

static int tx_history(struct conn *c, struct ctx *cx, void *p)
{
    const struct store_history_in *in = p;
    struct branch_at at;
    TRY(sq_intent_end(c, cx, in->intent_id, in->table_id, in->branch, &at));
    TRY(SQL_RUN(cx, c, SQL_FORGET, NULL, AI(at.rid), AI(in->forget_above)));
    TRY(sq_partitions_cut(c, cx, at.rid, in->forget_above));
    if (in->head)
        TRY(sq_branch_set_head(c, cx, at.rid, in->head));
    if (in->schema) {
        TRY(sq_branch_set_schema(c, cx, at.rid, in->schema));
        TRY(sq_table_altered(c, cx, in->table_id, in->branch, in->schema));
    }
    return sq_audit_write(c, cx, &in->audit);
}

int sq_history_finish(struct store *st, struct ctx *cx, const struct store_history_in *in)
{
    struct store_history_in copy = *in;
    return sq_write(sqlite_of(st), cx, tx_history, &copy);
}
