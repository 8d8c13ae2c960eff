/* store_sqlite_prune.c - old outcomes, conflicts and audit rows go, a bounded number at a time.
 *
 * The look-out runs on the caller's read-only connection, so that commits do not wait for it; only
 * the deletes go to the writer. Outcomes have no index on time: within a branch they are in the
 * order of snapshots, so what may go is the beginning of the branch, and the walk takes two or
 * three steps for each branch that has outcomes at all. It stops within a branch at the first that
 * stays.
 *
 * Between look-out and delete a rollback may have removed the very rows and commits have made new
 * ones with the same snapshot ids. Each delete therefore also says how young a row may be: those it
 * was made for, never what was recorded after.
 *
 * Thread rule: the plan on the caller's thread, tx_prune on the writer's. */
#include "catalog/store/store_sqlite_int.h"

#define CUTS_MAX 256 /* branches in one call */

struct cut { /* the branch's outcomes up to both bounds */
    int64_t branch_rid, upto_id, upto_ms;
    bool gone;
};
struct plan {
    const struct store_prune_in *in;
    struct conflict_plan conflicts;
    struct cut cuts[CUTS_MAX];
    size_t n;
    int64_t left; /* rows that may still be deleted */
    bool more;
};

static bool full(const struct plan *p)
{
    return p->left == 0 || p->n == CUTS_MAX;
}

/* --- the plan --------------------------------------------------------------------------------- */

static const char SQL_OLDEST[] = "SELECT snapshot_id, recorded_ms FROM outcomes"
                                 " WHERE branch_rid = ?1 ORDER BY snapshot_id LIMIT ?2";
static const char SQL_LAST[] = "SELECT max(snapshot_id) FROM outcomes WHERE branch_rid = ?1";
static const char SQL_COUNT[] = "SELECT count(*) FROM outcomes WHERE branch_rid = ?1";
static const char SQL_NEXT[] = "SELECT branch_rid, snapshot_id, recorded_ms FROM outcomes"
                               " WHERE branch_rid > ?1 ORDER BY branch_rid, snapshot_id LIMIT 1";
static const char SQL_GONE[] = "SELECT rid FROM gone_branches WHERE rid > ?1 ORDER BY rid LIMIT 1";

/* Adds the oldest of a branch: the first `excess`, and those behind them that are too old. */
static int plan_cut(struct plan *p, struct conn *c, struct ctx *cx, struct cut cut, int64_t excess)
{
    STMT q = NULL;
    int64_t rows = 0;
    int row;
    cut.upto_ms = INT64_MIN;
    TRY(SQL_OPEN(cx, c, SQL_OLDEST, &q, AI(cut.branch_rid), AI(p->left)));
    while ((row = sq_step(cx, c, q)) > 0) {
        int64_t ms = sqlite3_column_int64(q, 1);
        if (rows >= excess && ms >= p->in->outcomes_before_ms)
            break;
        rows++;
        cut.upto_id = sqlite3_column_int64(q, 0);
        cut.upto_ms = ms > cut.upto_ms ? ms : cut.upto_ms;
    }
    TRY(row);
    p->left -= rows;
    p->more |= p->left == 0; /* perhaps not, and then the next call finds nothing */
    if (rows || cut.gone)
        p->cuts[p->n++] = cut;
    return 0;
}

static int plan_gone(struct plan *p, struct conn *c, struct ctx *cx)
{
    int64_t rid = INT64_MIN;
    for (;;) {
        int there = SQL_I64(cx, c, SQL_GONE, &rid, AI(rid));
        TRY(there);
        if (!there)
            return 0;
        p->more |= full(p);
        if (full(p))
            return 0;
        struct cut cut = {.branch_rid = rid, .gone = true};
        TRY(plan_cut(p, c, cx, cut, INT64_MAX));
    }
}

static bool planned(const struct plan *p, int64_t rid)
{
    for (size_t i = 0; i < p->n && p->cuts[i].gone; i++)
        if (p->cuts[i].branch_rid == rid)
            return true;
    return false;
}

/* How many the branch has above its maximum. Ids are nearly dense, so it is rarely counted. */
static int excess_of(struct plan *p, struct conn *c, struct ctx *cx, int64_t rid, int64_t first,
                     int64_t *ret)
{
    int64_t last = first, count = 0, max = p->in->outcomes_per_branch_max;
    *ret = 0;
    TRY(SQL_I64(cx, c, SQL_LAST, &last, AI(rid)));
    if (last - first < max)
        return 0;
    TRY(SQL_I64(cx, c, SQL_COUNT, &count, AI(rid)));
    *ret = count > max ? count - max : 0;
    return 0;
}

/* 1: *ret is the next branch with outcomes, and its first one. */
static int next_branch(struct conn *c, struct ctx *cx, int64_t after, int64_t ret[3])
{
    STMT q = NULL;
    TRY(SQL_OPEN(cx, c, SQL_NEXT, &q, AI(after)));
    int row = sq_step(cx, c, q);
    for (int i = 0; row > 0 && i < 3; i++)
        ret[i] = sqlite3_column_int64(q, i);
    return row;
}

static int plan_old(struct plan *p, struct conn *c, struct ctx *cx)
{
    int64_t at[3] = {INT64_MIN}; /* branch, its first snapshot, when that was recorded */
    int row;
    while ((row = next_branch(c, cx, at[0], at)) > 0) {
        int64_t excess = 0;
        if (planned(p, at[0]))
            continue;
        TRY(excess_of(p, c, cx, at[0], at[1], &excess));
        if (excess == 0 && at[2] >= p->in->outcomes_before_ms)
            continue;
        p->more |= full(p);
        if (full(p))
            return 0;
        struct cut cut = {.branch_rid = at[0]};
        TRY(plan_cut(p, c, cx, cut, excess));
    }
    return row;
}

/* --- the deletes ------------------------------------------------------------------------------ */

static const char SQL_DELETE[] = "DELETE FROM outcomes WHERE branch_rid = ?1"
                                 " AND snapshot_id <= ?2 AND recorded_ms <= ?3";
static const char SQL_GONE_DONE[] =
    "DELETE FROM gone_branches WHERE rid = ?1"
    " AND NOT EXISTS (SELECT 1 FROM outcomes WHERE branch_rid = ?1)"
    " AND NOT EXISTS (SELECT 1 FROM conflicts WHERE branch_rid = ?1)";
static const char SQL_DELETE_AUDIT[] =
    "DELETE FROM audit WHERE (at_ms, n) IN"
    " (SELECT at_ms, n FROM audit WHERE at_ms < ?1 ORDER BY at_ms, n LIMIT ?2)";
static const char SQL_OLD_AUDIT[] = "SELECT 1 FROM audit WHERE at_ms < ?1 LIMIT 1";

static int tx_prune(struct conn *c, struct ctx *cx, void *io)
{
    struct plan *p = io;
    int64_t one, before_ms = p->in->audit_before_ms;
    for (size_t i = 0; i < p->n; i++) {
        const struct cut *cut = &p->cuts[i];
        TRY(SQL_RUN(cx, c, SQL_DELETE, NULL, AI(cut->branch_rid), AI(cut->upto_id),
                    AI(cut->upto_ms)));
        if (!cut->gone)
            continue;
        TRY(sq_conflicts_sweep(c, cx, cut->branch_rid, &p->left));
        TRY(SQL_RUN(cx, c, SQL_GONE_DONE, NULL, AI(cut->branch_rid)));
    }
    TRY(sq_conflicts_prune(c, cx, &p->conflicts, &p->left));
    p->more |= p->conflicts.more || p->left == 0;
    TRY(SQL_RUN(cx, c, SQL_DELETE_AUDIT, NULL, AI(before_ms), AI(p->left)));
    int old = SQL_I64(cx, c, SQL_OLD_AUDIT, &one, AI(before_ms));
    TRY(old);
    p->more |= old;
    return 0;
}

int sq_prune(struct store *st, struct ctx *cx, const struct store_prune_in *in, bool *ret_more)
{
    struct conn *c;
    int64_t one;
    ASSERT(in->rows_max > 0 && in->outcomes_per_branch_max >= 0 &&
           in->conflicts_per_branch_max >= 0);
    struct plan *p = ARENA_NEW(&cx->arena, struct plan);
    if (!p)
        return ctx_nomem(cx);
    p->in = in;
    p->left = in->rows_max;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(plan_gone(p, c, cx));
    TRY(plan_old(p, c, cx));
    int old = SQL_I64(cx, c, SQL_OLD_AUDIT, &one, AI(in->audit_before_ms));
    TRY(old);
    TRY(sq_conflicts_plan(c, cx, in, &p->conflicts));
    if (p->n || old || p->conflicts.old || p->conflicts.n)
        TRY(sq_write(sqlite_of(st), cx, tx_prune, p));
    *ret_more = p->more;
    return 0;
}
