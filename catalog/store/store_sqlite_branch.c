/* store_sqlite_branch.c - branches, their heads, and the record of a commit: the hot path.
 *
 * Recording a commit is four statements, each by key: find the branch, set its head on the
 * condition that was checked, add the outcome, add the audit row. An outcome is keyed by the
 * branch's integer rid. Nothing here is indexed by time: old outcomes are the first of their branch
 * (see store_sqlite_prune.c).
 *
 * Thread rule: reads on the caller's thread, functions named tx_* on the writer's. */
#include "catalog/store/store_sqlite_int.h"

/* --- finding a branch ------------------------------------------------------------------------- */

static const char SQL_FIND[] = "SELECT b.rid, b.epoch, b.head_id FROM tables t"
                               " JOIN branches b ON b.table_rid = t.rid AND b.name = ?2"
                               " WHERE t.id = ?1";
static const char SQL_TABLE[] = "SELECT rid FROM tables WHERE id = ?1";

/* Which of the two is not there? */
static int branch_gone(struct conn *c, struct ctx *cx, str table_id, str branch)
{
    int64_t rid;
    int there = SQL_I64(cx, c, SQL_TABLE, &rid, AT(table_id));
    TRY(there);
    if (there)
        return ctx_fail(cx, E_NOTFOUND, RES_BRANCH, branch, "branch %.*s does not exist",
                        STR(branch));
    return ctx_fail(cx, E_NOTFOUND, RES_TABLE, table_id,
                    "the table with id %.*s does not exist (any more)", STR(table_id));
}

int sq_branch_find(struct conn *c, struct ctx *cx, str table_id, str branch, struct branch_at *ret)
{
    {
        STMT q = NULL;
        TRY(SQL_OPEN(cx, c, SQL_FIND, &q, AT(table_id), AT(branch)));
        int row = sq_step(cx, c, q);
        TRY(row);
        if (row) {
            *ret = (struct branch_at){sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
                                      sqlite3_column_int64(q, 2)};
            return 0;
        }
    }
    return branch_gone(c, cx, table_id, branch);
}

int sq_branch_expect(struct ctx *cx, const struct branch_at *at, str branch, int64_t epoch,
                     int64_t head_id)
{
    if (at->epoch == epoch && at->head_id == head_id)
        return 0;
    return ctx_fail(cx, E_RACE, RES_BRANCH, branch,
                    "branch %.*s moved: it is at snapshot %lld in epoch %lld, not at snapshot "
                    "%lld in epoch %lld",
                    STR(branch), (long long)at->head_id, (long long)at->epoch, (long long)head_id,
                    (long long)epoch);
}

/* --- reading one ------------------------------------------------------------------------------ */

static const char SQL_GET[] =
    "SELECT b.epoch, coalesce(s.schema_id, -1), coalesce(s.schema_json, ''), b.head_id,"
    " b.head_uuid, b.head_json, b.head_recorded_ms, b.head_file_ino,"
    " b.head_file_size, b.head_file_ctime_ns, b.total_bytes, b.total_files, b.last_file_ms,"
    " coalesce(i.id, 0), coalesce(i.kind, ''), coalesce(i.table_id, ''), coalesce(i.branch, ''),"
    " coalesce(i.warehouse_id, 0), coalesce(i.epoch, 0), coalesce(i.created_ms, 0),"
    " coalesce(i.args_json, '')"
    " FROM tables t JOIN branches b ON b.table_rid = t.rid AND b.name = ?2"
    " LEFT JOIN schemas s ON s.branch_rid = b.rid"
    " LEFT JOIN intents i ON i.table_id = t.id AND i.branch = b.name AND i.branch <> ''"
    " WHERE t.id = ?1";

static struct totals totals_cols(struct cols *c)
{
    struct totals t;
    t.file_size_bytes = sq_col_i64(c);
    t.file_count = sq_col_i64(c);
    t.last_file_creation_ms = sq_col_i64(c);
    return t;
}

static int branch_cols(struct ctx *cx, sqlite3_stmt *st, struct branch_row *ret)
{
    struct cols c = sq_cols(cx, st);
    ret->epoch = sq_col_i64(&c);
    ret->schema_id = sq_col_i64(&c);
    ret->schema_json = sq_col_str(&c);
    ret->head.id = sq_col_i64(&c);
    ret->head.uuid = sq_col_str(&c);
    ret->head.json = sq_col_str(&c);
    ret->head.recorded_ms = sq_col_i64(&c);
    ret->head.file_ino = (uint64_t)sq_col_i64(&c);
    ret->head.file_size = sq_col_i64(&c);
    ret->head.file_ctime_ns = sq_col_i64(&c);
    ret->head.totals = totals_cols(&c);
    ret->open = sq_intent_cols(&c);
    return sq_cols_end(&c);
}

int sq_branch_get(struct store *st, struct ctx *cx, str table_id, str branch,
                  struct branch_row *ret)
{
    struct conn *c;
    struct branch_row r;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    STMT q = NULL;
    TRY(SQL_OPEN(cx, c, SQL_GET, &q, AT(table_id), AT(branch)));
    int row = sq_step(cx, c, q);
    TRY(row);
    if (!row)
        return branch_gone(c, cx, table_id, branch);
    TRY(branch_cols(cx, q, &r));
    r.table_id = str_dup(&cx->arena, table_id);
    r.name = str_dup(&cx->arena, branch);
    if (!r.table_id.p || !r.name.p)
        return ctx_nomem(cx);
    *ret = r;
    return 0;
}

/* --- writing one, inside a transaction --------------------------------------------------------- */

static const char SQL_ADD[] =
    "INSERT INTO branches (table_rid, name, epoch, head_id, head_recorded_ms, head_file_ino,"
    " head_file_size, head_file_ctime_ns, total_bytes, total_files, last_file_ms, head_uuid,"
    " head_json) VALUES (?1, ?2, (SELECT names_gone FROM tables WHERE rid = ?1), 0, 0, 0, 0, 0, 0, "
    "0,"
    " 0, '', '')";
static const char SQL_SET_SCHEMA[] =
    "INSERT OR REPLACE INTO schemas (branch_rid, schema_id, schema_json) VALUES (?1, ?2, ?3)";

int sq_branch_add(struct conn *c, struct ctx *cx, int64_t table_rid, str name, int64_t *ret_rid)
{
    TRY(SQL_RUN(cx, c, SQL_ADD, NULL, AI(table_rid), AT(name)));
    *ret_rid = sqlite3_last_insert_rowid(c->db);
    return 0;
}

int sq_branch_set_schema(struct conn *c, struct ctx *cx, int64_t rid, const struct schema_set *s)
{
    return SQL_RUN(cx, c, SQL_SET_SCHEMA, NULL, AI(rid), AI(s->id), AT(s->json));
}

/* --- the record of a commit ------------------------------------------------------------------- */

static const char SQL_SET_HEAD[] =
    "UPDATE branches SET head_id = ?2, head_uuid = ?3, head_json = ?4, head_recorded_ms = ?5,"
    " head_file_ino = ?6, head_file_size = ?7, head_file_ctime_ns = ?8, total_bytes = ?9,"
    " total_files = ?10, last_file_ms = ?11 WHERE rid = ?1";
static const char SQL_OUTCOME[] =
    "INSERT OR REPLACE INTO outcomes (branch_rid, snapshot_id, key, recorded_ms, total_bytes,"
    " total_files, last_file_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

int sq_branch_set_head(struct conn *c, struct ctx *cx, int64_t rid, const struct head_row *h)
{
    const struct totals *t = &h->totals;
    return SQL_RUN(cx, c, SQL_SET_HEAD, NULL, AI(rid), AI(h->id), AT(h->uuid), AT(h->json),
                   AI(h->recorded_ms), AI(h->file_ino), AI(h->file_size), AI(h->file_ctime_ns),
                   AI(t->file_size_bytes), AI(t->file_count), AI(t->last_file_creation_ms));
}

static int outcome_add(struct conn *c, struct ctx *cx, int64_t rid, const struct outcome *o)
{
    const struct totals *t = &o->totals;
    return SQL_RUN(cx, c, SQL_OUTCOME, NULL, AI(rid), AI(o->snapshot_id),
                   AB(o->key, OUTCOME_KEY_LEN), AI(o->recorded_ms), AI(t->file_size_bytes),
                   AI(t->file_count), AI(t->last_file_creation_ms));
}

static int tx_commit(struct conn *c, struct ctx *cx, void *p)
{
    const struct store_commit_in *in = p;
    struct branch_at at;
    TRY(sq_branch_find(c, cx, in->table_id, in->branch, &at));
    TRY(sq_branch_expect(cx, &at, in->branch, in->expect_epoch, in->expect_head_id));
    TRY(sq_branch_set_head(c, cx, at.rid, &in->head));
    if (in->outcome)
        TRY(outcome_add(c, cx, at.rid, in->outcome));
    TRY(sq_partitions_commit(c, cx, at.rid, at.head_id, in));
    return sq_audit_write(c, cx, &in->audit);
}

int sq_commit_record(struct store *st, struct ctx *cx, const struct store_commit_in *in)
{
    struct store_commit_in copy = *in;
    return sq_write(sqlite_of(st), cx, tx_commit, &copy);
}

/* --- outcomes --------------------------------------------------------------------------------- */

#define OUTCOME_COLS                                                                               \
    "o.key, o.snapshot_id, o.recorded_ms, o.total_bytes, o.total_files, o.last_file_ms"
#define OUTCOME_FROM                                                                               \
    " FROM tables t JOIN branches b ON b.table_rid = t.rid AND b.name = ?2"                        \
    " JOIN outcomes o ON o.branch_rid = b.rid"

static const char SQL_BY_KEY[] =
    "SELECT " OUTCOME_COLS OUTCOME_FROM " AND o.key = ?3 WHERE t.id = ?1"
    " ORDER BY o.snapshot_id DESC LIMIT 1";
static const char SQL_BY_SNAPSHOT[] =
    "SELECT " OUTCOME_COLS OUTCOME_FROM " AND o.snapshot_id = ?3 WHERE t.id = ?1";

static int outcome_read(struct conn *c, struct ctx *cx, sqlite3_stmt *st, struct outcome *ret)
{
    struct outcome o;
    int row = sq_step(cx, c, st);
    TRY(row);
    if (!row)
        return ctx_fail(cx, E_NOTFOUND, RES_NONE, STR_NONE, "no such commit is recorded");
    struct cols cols = sq_cols(cx, st);
    sq_col_blob(&cols, o.key, sizeof(o.key));
    o.snapshot_id = sq_col_i64(&cols);
    o.recorded_ms = sq_col_i64(&cols);
    o.totals = totals_cols(&cols);
    TRY(sq_cols_end(&cols));
    *ret = o;
    return 0;
}

int sq_outcome_find(struct store *st, struct ctx *cx, str table_id, str branch,
                    const uint8_t key[OUTCOME_KEY_LEN], struct outcome *ret)
{
    struct conn *c;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    STMT q = NULL;
    TRY(SQL_OPEN(cx, c, SQL_BY_KEY, &q, AT(table_id), AT(branch), AB(key, OUTCOME_KEY_LEN)));
    return outcome_read(c, cx, q, ret);
}

int sq_outcome_of(struct store *st, struct ctx *cx, str table_id, str branch, int64_t snapshot_id,
                  struct outcome *ret)
{
    struct conn *c;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    STMT q = NULL;
    TRY(SQL_OPEN(cx, c, SQL_BY_SNAPSHOT, &q, AT(table_id), AT(branch), AI(snapshot_id)));
    return outcome_read(c, cx, q, ret);
}
