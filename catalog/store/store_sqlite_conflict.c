/* store_sqlite_conflict.c - the conflict lists: what was refused, noted, listed, pruned.
 *
 * A client posts a refused commit about ten times, and a job may post it for ever, so a note is an
 * upsert by the key of the refusal. The bound on a branch's rows is kept by each note that makes a new
 * one: between two prunes a flood of refusals would fill the disk. For that it walks the index up to the
 * bound, so the setting has a small maximum.
 *
 * Thread rule: reads and the plan of prune on the caller's thread, the rest on the writer's. */
#include "catalog/store/store_sqlite_int.h"

/* --- note ------------------------------------------------------------------------------------- */

static const char SQL_NOTE[] =
    "INSERT INTO conflicts (branch_rid, key, first_ms, last_ms, count, accepted, snapshot_id,"
    " identifier, placed, bucket, other_snapshot, code, kind, principal, commit_user, partition,"
    " file, other_user, message)"
    " VALUES (?1, ?2, ?3, ?3, 1, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
    " ON CONFLICT (branch_rid, key) DO UPDATE SET last_ms = max(last_ms, excluded.last_ms),"
    " count = count + 1, accepted = excluded.accepted, snapshot_id = excluded.snapshot_id,"
    " kind = excluded.kind, principal = excluded.principal,"
    " other_snapshot = excluded.other_snapshot, other_user = excluded.other_user,"
    " message = excluded.message RETURNING count";
/* NULL, and so nothing, when there are not more than ?2. */
static const char SQL_BOUND[] =
    "DELETE FROM conflicts INDEXED BY conflicts_by_branch WHERE branch_rid = ?1 AND id <="
    " (SELECT id FROM conflicts INDEXED BY conflicts_by_branch WHERE branch_rid = ?1"
    " ORDER BY id DESC LIMIT 1 OFFSET ?2)";

static int tx_note(struct conn *c, struct ctx *cx, void *p)
{
    const struct store_conflict_in *in = p;
    const struct conflict_row *r = &in->row;
    struct branch_at at;
    int64_t count = 0;
    TRY(sq_branch_find(c, cx, in->table_id, in->branch, &at));
    int row = SQL_I64(cx, c, SQL_NOTE, &count, AI(at.rid), AB(in->key, CONFLICT_KEY_LEN),
                      AI(r->last_ms), AI(r->accepted), AI(r->snapshot_id), AI(r->identifier),
                      AI(r->placed), AI(r->bucket), AI(r->other_snapshot), AT(r->code), AT(r->kind),
                      AT(r->principal), AT(r->commit_user), AT(r->partition), AT(r->file),
                      AT(r->other_user), AT(r->message));
    TRY(row);
    ASSERT(row == 1);
    return count == 1 ? SQL_RUN(cx, c, SQL_BOUND, NULL, AI(at.rid), AI(in->keep_max)) : 0;
}

int sq_conflict_note(struct store *st, struct ctx *cx, const struct store_conflict_in *in)
{
    struct store_conflict_in copy = *in;
    ASSERT(in->keep_max > 0);
    return sq_write(sqlite_of(st), cx, tx_note, &copy);
}

/* --- list ------------------------------------------------------------------------------------- */

#define CONFLICT_COLS                                                                              \
    "id, first_ms, last_ms, count, code, accepted, snapshot_id, principal, commit_user, kind,"     \
    " identifier, placed, partition, bucket, file, other_snapshot, other_user, message"

static const char SQL_LIST[] =
    "SELECT " CONFLICT_COLS " FROM conflicts INDEXED BY conflicts_by_branch"
    " WHERE branch_rid = ?1 AND id < ?2 AND (?3 = '' OR code = ?3) ORDER BY id DESC LIMIT ?4";
static const char SQL_GET[] =
    "SELECT " CONFLICT_COLS " FROM conflicts WHERE id = ?1 AND branch_rid = ?2";

static int conflict_cols(struct ctx *cx, sqlite3_stmt *st, struct conflict_row *ret)
{
    struct cols c = sq_cols(cx, st);
    ret->id = sq_col_i64(&c);
    ret->first_ms = sq_col_i64(&c);
    ret->last_ms = sq_col_i64(&c);
    ret->count = sq_col_i64(&c);
    ret->code = sq_col_str(&c);
    ret->accepted = sq_col_i64(&c) != 0;
    ret->snapshot_id = sq_col_i64(&c);
    ret->principal = sq_col_str(&c);
    ret->commit_user = sq_col_str(&c);
    ret->kind = sq_col_str(&c);
    ret->identifier = sq_col_i64(&c);
    ret->placed = sq_col_i64(&c) != 0;
    ret->partition = sq_col_str(&c);
    ret->bucket = (int32_t)sq_col_i64(&c);
    ret->file = sq_col_str(&c);
    ret->other_snapshot = sq_col_i64(&c);
    ret->other_user = sq_col_str(&c);
    ret->message = sq_col_str(&c);
    return sq_cols_end(&c);
}

int sq_conflict_list(struct store *st, struct ctx *cx, const struct store_conflicts_in *in,
                     struct conflict_row **ret, size_t *ret_n)
{
    struct conn *c;
    struct branch_at at;
    STMT q = NULL;
    struct conflict_row *rows = NULL;
    size_t n = 0, cap = 0;
    int row;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(sq_branch_find(c, cx, in->table_id, in->branch, &at));
    TRY(SQL_OPEN(cx, c, SQL_LIST, &q, AI(at.rid), AI(in->below ? in->below : INT64_MAX),
                 AT(in->code), AI(in->limit > 0 ? in->limit : 0)));
    while ((row = sq_step(cx, c, q)) > 0) {
        rows = sq_grow(cx, rows, n, &cap, sizeof(*rows));
        if (!rows)
            return ctx_nomem(cx);
        TRY(conflict_cols(cx, q, &rows[n++]));
    }
    TRY(row);
    *ret = rows;
    *ret_n = n;
    return 0;
}

static int conflict_gone(struct ctx *cx, int64_t id)
{
    char name[24];
    snprintf(name, sizeof(name), "%lld", (long long)id);
    return ctx_fail(cx, E_NOTFOUND, RES_CONFLICT, str_of(name),
                    "conflict %s is not on this list (any more)", name);
}

int sq_conflict_get(struct store *st, struct ctx *cx, str table_id, str branch, int64_t id,
                    struct conflict_row *ret)
{
    struct conn *c;
    struct branch_at at;
    struct conflict_row r;
    STMT q = NULL;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(sq_branch_find(c, cx, table_id, branch, &at));
    TRY(SQL_OPEN(cx, c, SQL_GET, &q, AI(id), AI(at.rid)));
    int row = sq_step(cx, c, q);
    TRY(row);
    if (!row)
        return conflict_gone(cx, id);
    TRY(conflict_cols(cx, q, &r));
    *ret = r;
    return 0;
}

/* --- prune ------------------------------------------------------------------------------------ */

static const char SQL_OLD[] = "SELECT 1 FROM conflicts WHERE last_ms < ?1 LIMIT 1";
static const char SQL_NEXT[] =
    "SELECT branch_rid FROM conflicts WHERE branch_rid > ?1 ORDER BY branch_rid LIMIT 1";
static const char SQL_SURPLUS[] = "SELECT id FROM conflicts INDEXED BY conflicts_by_branch"
                                  " WHERE branch_rid = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2";

/* Notes keep the bound, so there is a surplus only when the setting became less. */
int sq_conflicts_plan(struct conn *c, struct ctx *cx, const struct store_prune_in *in,
                      struct conflict_plan *ret)
{
    int64_t one, rid = INT64_MIN, id;
    int row;
    ret->before_ms = in->conflicts_before_ms;
    int old = SQL_I64(cx, c, SQL_OLD, &one, AI(in->conflicts_before_ms));
    TRY(old);
    ret->old = old;
    while ((row = SQL_I64(cx, c, SQL_NEXT, &rid, AI(rid))) > 0) {
        int surplus = SQL_I64(cx, c, SQL_SURPLUS, &id, AI(rid), AI(in->conflicts_per_branch_max));
        TRY(surplus);
        if (!surplus)
            continue;
        ret->more = ret->n == CONFLICT_CUTS_MAX;
        if (ret->more)
            return 0;
        ret->cuts[ret->n].branch_rid = rid;
        ret->cuts[ret->n++].upto_id = id;
    }
    return row;
}

static const char SQL_DELETE_OLD[] =
    "DELETE FROM conflicts WHERE id IN"
    " (SELECT id FROM conflicts WHERE last_ms < ?1 ORDER BY last_ms LIMIT ?2)";
static const char SQL_DELETE_UPTO[] =
    "DELETE FROM conflicts WHERE id IN (SELECT id FROM conflicts"
    " INDEXED BY conflicts_by_branch WHERE branch_rid = ?1 AND id <= ?2 ORDER BY id LIMIT ?3)";

int sq_conflicts_prune(struct conn *c, struct ctx *cx, const struct conflict_plan *p, int64_t *left)
{
    int64_t n = 0;
    if (p->old)
        TRY(SQL_RUN(cx, c, SQL_DELETE_OLD, &n, AI(p->before_ms), AI(*left)));
    *left -= n;
    for (size_t i = 0; i < p->n; i++) {
        TRY(SQL_RUN(cx, c, SQL_DELETE_UPTO, &n, AI(p->cuts[i].branch_rid), AI(p->cuts[i].upto_id),
                    AI(*left)));
        *left -= n;
    }
    return 0;
}

int sq_conflicts_sweep(struct conn *c, struct ctx *cx, int64_t rid, int64_t *left)
{
    int64_t n = 0;
    TRY(SQL_RUN(cx, c, SQL_DELETE_UPTO, &n, AI(rid), AI(INT64_MAX), AI(*left)));
    *left -= n;
    return 0;
}
