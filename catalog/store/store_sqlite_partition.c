/* store_sqlite_partition.c - totals of partitions: kept as commits changed them, folded when needed.
 *
 * A commit adds one row to partition_deltas and touches no totals, so that it costs the same however
 * many partitions it changed. Folding turns the oldest rows into totals and deletes them.
 *
 * Invariants of a branch, F = folded_id (0 without a row in partition_state):
 *  - F >= 0: the rows of partition_deltas are those of the snapshots F+1 .. L without a gap, and
 *    `partitions` are the totals at F. They are known if L, which is F when there are none, is the
 *    head. A commit that would leave a gap makes them unknown.
 *  - F < 0: unknown until they are set; no deltas are kept.
 * So what makes totals unknown - a rollback past F, a commit whose deltas are not known, an option that
 * was switched on late - needs no mark of its own: it is the delta that is missing.
 *
 * Format of `deltas`, in the order that they came in, numbers little-endian: key length u32,
 * spec length u32, records, bytes, files, last file, buckets i64, key, spec.
 *
 * Thread rule: reads on the caller's thread, functions named tx_* and sq_partitions_* on the writer's. */
#include "catalog/store/store_sqlite_int.h"

#include <endian.h>

#include "catalog/store/partition_sum.h"
#include "proto/base/buf.h"

#define DELTA_HEAD (2 * 4 + 5 * 8)

/* --- where a branch is ------------------------------------------------------------------------ */

struct chain {
    int64_t rid, head, folded, last; /* last: L above */
};

/* One statement: all of it is of one moment. */
static const char SQL_CHAIN[] =
    "SELECT b.rid, b.head_id,"
    " coalesce((SELECT s.folded_id FROM partition_state s WHERE s.branch_rid = b.rid), 0),"
    " coalesce((SELECT max(d.snapshot_id) FROM partition_deltas d WHERE d.branch_rid = b.rid), 0)"
    " FROM branches b WHERE b.rid = ?1";
static const char SQL_CHAIN_NAMED[] =
    "SELECT b.rid, b.head_id,"
    " coalesce((SELECT s.folded_id FROM partition_state s WHERE s.branch_rid = b.rid), 0),"
    " coalesce((SELECT max(d.snapshot_id) FROM partition_deltas d WHERE d.branch_rid = b.rid), 0)"
    " FROM tables t JOIN branches b ON b.table_rid = t.rid AND b.name = ?2 WHERE t.id = ?1";

/* 1: it is there. */
static int chain_read(struct conn *c, struct ctx *cx, sqlite3_stmt *q, struct chain *ret)
{
    int row = sq_step(cx, c, q);
    if (row <= 0)
        return row;
    *ret = (struct chain){sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
                          sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3)};
    if (ret->last < ret->folded)
        ret->last = ret->folded;
    return 1;
}

static int chain_of(struct conn *c, struct ctx *cx, str table_id, str branch, struct chain *ret)
{
    {
        STMT q = NULL;
        TRY(SQL_OPEN(cx, c, SQL_CHAIN_NAMED, &q, AT(table_id), AT(branch)));
        int there = chain_read(c, cx, q, ret);
        if (there != 0)
            return there < 0 ? there : 0;
    }
    struct branch_at at;
    TRY(sq_branch_find(c, cx, table_id, branch, &at)); /* says which of the two is gone */
    return ctx_fail(cx, E_INTERNAL, RES_BRANCH, branch, "branch %.*s came and went", STR(branch));
}

static enum partitions_are chain_is(const struct chain *at)
{
    if (at->folded < 0 || at->last < at->head)
        return PARTITIONS_UNKNOWN;
    return at->last > at->folded ? PARTITIONS_MORE : PARTITIONS_KNOWN;
}

static int unknown(struct ctx *cx)
{
    return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                    "the totals of the partitions are not known");
}

/* For changes, which come after all commits. */
static int chain_whole(struct conn *c, struct ctx *cx, str table_id, str branch, struct chain *ret)
{
    TRY(chain_of(c, cx, table_id, branch, ret));
    switch (chain_is(ret)) {
    case PARTITIONS_KNOWN:
        return 0;
    case PARTITIONS_MORE:
        return ctx_fail(cx, E_RACE, RES_BRANCH, branch, "commits came that are not folded in yet");
    case PARTITIONS_UNKNOWN:
        break;
    }
    return unknown(cx);
}

/* --- a commit's deltas ------------------------------------------------------------------------ */

static const char SQL_STATE_MAKE[] =
    "INSERT OR IGNORE INTO partition_state (branch_rid, folded_id) VALUES (?1, 0)";
static const char SQL_KEEP[] = "INSERT INTO partition_deltas (branch_rid, snapshot_id, at_ms, by,"
                               " deltas) VALUES (?1, ?2, ?3, ?4, ?5)";
static const char SQL_LOSE[] = "UPDATE partition_state SET folded_id = -1 WHERE branch_rid = ?1"
                               " AND folded_id > ?2";
static const char SQL_FORGET[] =
    "DELETE FROM partition_deltas WHERE branch_rid = ?1 AND snapshot_id > ?2";

static void put32(struct buf *b, size_t v)
{
    uint32_t le = htole32((uint32_t)v);
    buf_add(b, &le, sizeof(le));
}

static void put64(struct buf *b, int64_t v)
{
    uint64_t le = htole64((uint64_t)v);
    buf_add(b, &le, sizeof(le));
}

static void delta_put(struct buf *b, const struct partition_delta *d)
{
    put32(b, d->key.len);
    put32(b, d->spec_json.len);
    put64(b, d->records);
    put64(b, d->file_size_bytes);
    put64(b, d->file_count);
    put64(b, d->last_file_ms);
    put64(b, d->buckets);
    buf_adds(b, d->key);
    buf_adds(b, d->spec_json);
}

static int64_t get64(const char **at)
{
    uint64_t le;
    memcpy(&le, *at, sizeof(le));
    *at += sizeof(le);
    return (int64_t)le64toh(le);
}

static size_t get32(const char **at)
{
    uint32_t le;
    memcpy(&le, *at, sizeof(le));
    *at += sizeof(le);
    return le32toh(le);
}

/* Takes one off *rest; its texts point into it. */
static int delta_get(struct ctx *cx, str *rest, struct partition_delta *ret)
{
    const char *at = rest->p;
    size_t left = rest->len;
    size_t key = left < DELTA_HEAD ? 0 : get32(&at), spec = left < DELTA_HEAD ? 0 : get32(&at);
    if (left < DELTA_HEAD || key > left - DELTA_HEAD || spec > left - DELTA_HEAD - key)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "a row of partition_deltas of the store is damaged");
    ret->records = get64(&at);
    ret->file_size_bytes = get64(&at);
    ret->file_count = get64(&at);
    ret->last_file_ms = get64(&at);
    ret->buckets = get64(&at);
    ret->key = str_n(at, key);
    ret->spec_json = str_n(at + key, spec);
    *rest = str_cut(*rest, DELTA_HEAD + key + spec);
    return 0;
}

static int deltas_keep(struct conn *c, struct ctx *cx, int64_t rid,
                       const struct store_commit_in *in)
{
    CLEANUP(buf_done) struct buf b = {0};
    for (size_t i = 0; i < in->n_deltas; i++)
        delta_put(&b, &in->deltas[i]);
    if (buf_fail(&b))
        return ctx_nomem(cx);
    TRY(SQL_RUN(cx, c, SQL_STATE_MAKE, NULL, AI(rid)));
    return SQL_RUN(cx, c, SQL_KEEP, NULL, AI(rid), AI(in->head.id), AI(in->head.recorded_ms),
                   AT(in->audit.principal), AB(b.p ? b.p : "", b.len));
}

int sq_partitions_cut(struct conn *c, struct ctx *cx, int64_t rid, int64_t upto_id)
{
    TRY(SQL_RUN(cx, c, SQL_LOSE, NULL, AI(rid), AI(upto_id)));
    return SQL_RUN(cx, c, SQL_FORGET, NULL, AI(rid), AI(upto_id));
}

int sq_partitions_lose(struct conn *c, struct ctx *cx, int64_t rid)
{
    return sq_partitions_cut(c, cx, rid, -1);
}

static int chain_by_rid(struct conn *c, struct ctx *cx, int64_t rid, struct chain *ret)
{
    STMT q = NULL;
    TRY(SQL_OPEN(cx, c, SQL_CHAIN, &q, AI(rid)));
    return chain_read(c, cx, q, ret);
}

/* `old_head`: before this commit. A snapshot that is recorded again has other content: what its
 * first writer told is void. */
int sq_partitions_commit(struct conn *c, struct ctx *cx, int64_t rid, int64_t old_head,
                         const struct store_commit_in *in)
{
    struct chain at = {0};
    if (in->head.id <= old_head)
        TRY(sq_partitions_cut(c, cx, rid, in->head.id - 1));
    if (!in->has_deltas)
        return 0;
    int there = chain_by_rid(c, cx, rid, &at);
    TRY(there);
    ASSERT(there);
    if (at.folded < 0)
        return 0;
    if (at.last == in->head.id - 1)
        return deltas_keep(c, cx, rid, in);
    return at.last > 0 ? sq_partitions_lose(c, cx, rid) : 0; /* else there is nothing to lose */
}

/* --- rows ------------------------------------------------------------------------------------- */

static const char SQL_SUM[] = "SELECT records, bytes, files, last_file_ms, buckets FROM partitions"
                              " WHERE branch_rid = ?1 AND key = ?2";
static const char SQL_SET[] = "UPDATE partitions SET records = ?3, bytes = ?4, files = ?5,"
                              " last_file_ms = ?6, buckets = ?7, updated_ms = ?8, updated_by = ?9"
                              " WHERE branch_rid = ?1 AND key = ?2";
static const char SQL_MAKE[] =
    "INSERT OR IGNORE INTO partitions (branch_rid, key, records, bytes, files, last_file_ms,"
    " buckets, updated_ms, updated_by, created_ms, created_by, done, spec_json)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?8, ?9, 0, ?10)";
static const char SQL_UNMAKE[] = "DELETE FROM partitions WHERE branch_rid = ?1 AND key = ?2";

/* Who changes rows, and when. */
struct hand {
    int64_t rid, at_ms;
    str by;
};

/* 1: it is there; its sums are in *ret, whose texts stay as they are. */
static int sum_read(struct conn *c, struct ctx *cx, int64_t rid, struct partition_delta *ret)
{
    STMT q = NULL;
    TRY(SQL_OPEN(cx, c, SQL_SUM, &q, AI(rid), AT(ret->key)));
    int row = sq_step(cx, c, q);
    if (row <= 0)
        return row;
    ret->records = sqlite3_column_int64(q, 0);
    ret->file_size_bytes = sqlite3_column_int64(q, 1);
    ret->file_count = sqlite3_column_int64(q, 2);
    ret->last_file_ms = sqlite3_column_int64(q, 3);
    ret->buckets = sqlite3_column_int64(q, 4);
    return 1;
}

#define SUM_ARGS(h, s)                                                                             \
    AI((h)->rid), AT((s)->key), AI((s)->records), AI((s)->file_size_bytes), AI((s)->file_count),   \
        AI((s)->last_file_ms), AI((s)->buckets), AI((h)->at_ms), AT((h)->by)

static int sum_write(struct conn *c, struct ctx *cx, const struct hand *h,
                     const struct partition_delta *s)
{
    return SQL_RUN(cx, c, SQL_SET, NULL, SUM_ARGS(h, s));
}

static int sum_make(struct conn *c, struct ctx *cx, const struct hand *h,
                    const struct partition_delta *s, int64_t *ret_made)
{
    return SQL_RUN(cx, c, SQL_MAKE, ret_made, SUM_ARGS(h, s), AT(s->spec_json));
}

/* --- folding ---------------------------------------------------------------------------------- */

static const char SQL_OLDEST[] = "SELECT at_ms, by, deltas FROM partition_deltas"
                                 " WHERE branch_rid = ?1 AND snapshot_id = ?2";
static const char SQL_FOLDED[] = "DELETE FROM partition_deltas WHERE branch_rid = ?1"
                                 " AND snapshot_id <= ?2";
static const char SQL_SET_FOLDED[] =
    "UPDATE partition_state SET folded_id = ?2 WHERE branch_rid = ?1";

static int fold_delta(struct conn *c, struct ctx *cx, const struct hand *h,
                      const struct partition_delta *d)
{
    struct partition_delta sum = *d;
    int there = sum_read(c, cx, h->rid, &sum);
    TRY(there);
    if (there)
        partition_commit(&sum, d);
    if (!partition_empty(&sum))
        return there ? sum_write(c, cx, h, &sum) : sum_make(c, cx, h, &sum, NULL);
    return there ? SQL_RUN(cx, c, SQL_UNMAKE, NULL, AI(h->rid), AT(d->key)) : 0;
}

static int fold_commit(struct conn *c, struct ctx *cx, int64_t rid, int64_t id, int64_t *rows)
{
    STMT q = NULL;
    TRY(SQL_OPEN(cx, c, SQL_OLDEST, &q, AI(rid), AI(id)));
    int row = sq_step(cx, c, q);
    TRY(row);
    ASSERT(row == 1);
    struct hand h = {.rid = rid, .at_ms = sqlite3_column_int64(q, 0)};
    h.by = str_n((const char *)sqlite3_column_text(q, 1), (size_t)sqlite3_column_bytes(q, 1));
    const char *p = sqlite3_column_blob(q, 2);
    str rest = str_n(p, (size_t)sqlite3_column_bytes(q, 2));
    *rows += 1;
    while (rest.len) {
        struct partition_delta d;
        TRY(delta_get(cx, &rest, &d));
        TRY(fold_delta(c, cx, &h, &d));
        *rows += 1;
    }
    return 0;
}

struct fold_io {
    str table_id, branch; /* table_id.p == NULL: by rid */
    int64_t rid, keep, rows_max;
    enum partitions_are is;
};

/* Of the commits that are not among the newest `keep`, the oldest, up to rows_max changes. */
static int fold_some(struct conn *c, struct ctx *cx, struct chain *at, int64_t keep,
                     int64_t rows_max)
{
    int64_t rows = 0, from = at->folded;
    while (at->folded < at->last - keep && rows < rows_max) {
        TRY(fold_commit(c, cx, at->rid, at->folded + 1, &rows));
        at->folded++;
    }
    if (at->folded == from)
        return 0;
    TRY(SQL_RUN(cx, c, SQL_FOLDED, NULL, AI(at->rid), AI(at->folded)));
    return SQL_RUN(cx, c, SQL_SET_FOLDED, NULL, AI(at->rid), AI(at->folded));
}

static int tx_fold(struct conn *c, struct ctx *cx, void *p)
{
    struct fold_io *io = p;
    struct chain at = {0};
    if (io->table_id.p) {
        TRY(chain_of(c, cx, io->table_id, io->branch, &at));
    } else {
        int there = chain_by_rid(c, cx, io->rid, &at);
        if (there <= 0)
            return there;
    }
    if (at.folded >= 0)
        TRY(fold_some(c, cx, &at, io->keep, io->rows_max));
    io->is = chain_is(&at);
    return 0;
}

int sq_partitions_fold(struct store *st, struct ctx *cx, str table_id, str branch, int64_t keep,
                       int64_t rows_max, enum partitions_are *ret)
{
    struct conn *c;
    struct chain at;
    ASSERT(keep >= 0 && rows_max > 0);
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(chain_of(c, cx, table_id, branch, &at));
    struct fold_io io = {
        .table_id = table_id, .branch = branch, .keep = keep, .rows_max = rows_max};
    io.is = chain_is(&at);
    if (io.is == PARTITIONS_MORE && at.last - at.folded > keep)
        TRY(sq_write(sqlite_of(st), cx, tx_fold, &io));
    *ret = io.is;
    return 0;
}

/* --- setting ---------------------------------------------------------------------------------- */

/* Rows that somebody measured once, in the order of keys. */
static const char SQL_MEASURED[] = "SELECT key FROM partitions WHERE branch_rid = ?1"
                                   " AND (records >= 0 OR bytes >= 0 OR files >= 0) ORDER BY key";

/* Those of them that `in` does not name, in the context's arena. */
static int find_gone(struct conn *c, struct ctx *cx, int64_t rid,
                     const struct store_partitions_set *in, str **ret, size_t *ret_n)
{
    STMT q = NULL;
    str *keys = NULL;
    size_t n = 0, cap = 0, at = 0;
    int row;
    TRY(SQL_OPEN(cx, c, SQL_MEASURED, &q, AI(rid)));
    while ((row = sq_step(cx, c, q)) > 0) {
        struct cols cols = sq_cols(cx, q);
        str key = sq_col_str(&cols);
        TRY(sq_cols_end(&cols));
        while (at < in->n && str_cmp(in->sums[at].key, key) < 0)
            at++;
        if (at < in->n && str_eq(in->sums[at].key, key))
            continue;
        keys = sq_grow(cx, keys, n, &cap, sizeof(*keys));
        if (!keys)
            return ctx_nomem(cx);
        keys[n++] = key;
    }
    *ret = keys;
    *ret_n = n;
    return row;
}

static int set_rows(struct conn *c, struct ctx *cx, const struct hand *h,
                    const struct store_partitions_set *in)
{
    str *gone = NULL;
    size_t n = 0;
    TRY(find_gone(c, cx, h->rid, in, &gone, &n));
    for (size_t i = 0; i < n; i++)
        TRY(SQL_RUN(cx, c, SQL_UNMAKE, NULL, AI(h->rid), AT(gone[i])));
    for (size_t i = 0; i < in->n; i++) {
        struct partition_delta was = {.key = in->sums[i].key};
        int there = sum_read(c, cx, h->rid, &was);
        TRY(there);
        if (!there)
            TRY(sum_make(c, cx, h, &in->sums[i], NULL));
        else if (!partition_same(&was, &in->sums[i]))
            TRY(sum_write(c, cx, h, &in->sums[i]));
    }
    return 0;
}

static int tx_set(struct conn *c, struct ctx *cx, void *p)
{
    const struct store_partitions_set *in = p;
    struct branch_at at;
    TRY(sq_branch_find(c, cx, in->table_id, in->branch, &at));
    TRY(sq_branch_expect(cx, &at, in->branch, in->expect_epoch, in->expect_head_id));
    struct hand h = {.rid = at.rid, .at_ms = in->now_ms, .by = in->by};
    TRY(set_rows(c, cx, &h, in));
    TRY(SQL_RUN(cx, c, SQL_FORGET, NULL, AI(at.rid), AI(-1)));
    TRY(SQL_RUN(cx, c, SQL_STATE_MAKE, NULL, AI(at.rid)));
    return SQL_RUN(cx, c, SQL_SET_FOLDED, NULL, AI(at.rid), AI(at.head_id));
}

int sq_partitions_set(struct store *st, struct ctx *cx, const struct store_partitions_set *in)
{
    struct store_partitions_set copy = *in;
    return sq_write(sqlite_of(st), cx, tx_set, &copy);
}

/* --- reading ---------------------------------------------------------------------------------- */

#define PART_COLS                                                                                  \
    "key, records, bytes, files, last_file_ms, buckets, done, created_ms, updated_ms, created_by," \
    " updated_by, spec_json"
static const char SQL_LIST[] = "SELECT " PART_COLS " FROM partitions WHERE branch_rid = ?1"
                               " AND key >= ?2 AND key < ?3 ORDER BY key DESC LIMIT ?4";
static const char SQL_BY_KEY[] =
    "SELECT " PART_COLS " FROM partitions WHERE branch_rid = ?1 AND key = ?2";

static int part_cols(struct ctx *cx, sqlite3_stmt *st, struct partition_row *ret)
{
    struct cols c = sq_cols(cx, st);
    *ret = (struct partition_row){0};
    ret->sum.key = sq_col_str(&c);
    ret->sum.records = sq_col_i64(&c);
    ret->sum.file_size_bytes = sq_col_i64(&c);
    ret->sum.file_count = sq_col_i64(&c);
    ret->sum.last_file_ms = sq_col_i64(&c);
    ret->sum.buckets = sq_col_i64(&c);
    ret->done = sq_col_i64(&c) != 0;
    ret->stamp.created_ms = sq_col_i64(&c);
    ret->stamp.updated_ms = sq_col_i64(&c);
    ret->stamp.created_by = sq_col_str(&c);
    ret->stamp.updated_by = sq_col_str(&c);
    ret->sum.spec_json = sq_col_str(&c);
    return sq_cols_end(&c);
}

/* The rows that are left of a statement. */
static int parts_read(struct conn *c, struct ctx *cx, sqlite3_stmt *q, struct partition_row **rows,
                      size_t *n, size_t *cap)
{
    int row;
    while ((row = sq_step(cx, c, q)) > 0) {
        *rows = sq_grow(cx, *rows, *n, cap, sizeof(**rows));
        if (!*rows)
            return ctx_nomem(cx);
        TRY(part_cols(cx, q, &(*rows)[*n]));
        (*n)++;
    }
    return row;
}

static int chain_known(struct conn *c, struct ctx *cx, str table_id, str branch, struct chain *ret)
{
    TRY(chain_of(c, cx, table_id, branch, ret));
    return chain_is(ret) == PARTITIONS_UNKNOWN ? unknown(cx) : 0;
}

/* The end of the range: the end of the prefix or `below`, whichever comes first. */
static struct arg range_end(struct arg end, str below)
{
    bool none = below.len == 0 || (end.kind == ARG_TEXT && str_cmp(end.s, below) <= 0);
    return none ? end : AT(below);
}

int sq_partitions_list(struct store *st, struct ctx *cx, const struct store_partitions_in *in,
                       struct partition_row **ret, size_t *ret_n)
{
    struct conn *c;
    struct chain at;
    struct partition_row *rows = NULL;
    size_t n = 0, cap = 0;
    struct name_range r;
    struct store_list_in names = {.prefix = in->prefix, .limit = in->limit};
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(chain_known(c, cx, in->table_id, in->branch, &at));
    TRY(sq_name_range(cx, &names, &r));
    bool hidden = in->below.len && str_cmp(in->prefix, in->below) >= 0;
    STMT q = NULL;
    if (in->exact)
        TRY(SQL_OPEN(cx, c, SQL_BY_KEY, &q, AI(at.rid), AT(in->prefix)));
    else
        TRY(SQL_OPEN(cx, c, SQL_LIST, &q, AI(at.rid), AT(r.from), range_end(r.to, in->below),
                     AI(r.limit)));
    if (r.limit > 0 && !(in->exact && hidden))
        TRY(parts_read(c, cx, q, &rows, &n, &cap));
    *ret = rows;
    *ret_n = n;
    return 0;
}

int sq_partitions_find(struct store *st, struct ctx *cx, str table_id, str branch, const str *keys,
                       size_t n_keys, struct partition_row **ret, size_t *ret_n)
{
    struct conn *c;
    struct chain at;
    struct partition_row *rows = NULL;
    size_t n = 0, cap = 0;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(chain_known(c, cx, table_id, branch, &at));
    for (size_t i = 0; i < n_keys; i++) {
        STMT q = NULL;
        TRY(SQL_OPEN(cx, c, SQL_BY_KEY, &q, AI(at.rid), AT(keys[i])));
        TRY(parts_read(c, cx, q, &rows, &n, &cap));
    }
    *ret = rows;
    *ret_n = n;
    return 0;
}

/* --- changes ---------------------------------------------------------------------------------- */

struct change_io {
    const struct store_partitions_change *in;
    const struct partition_delta *stats;
    size_t n_stats;
    bool strict, replace;
    bool *there;
};

static struct hand hand_of(const struct chain *at, const struct store_partitions_change *in)
{
    return (struct hand){.rid = at->rid, .at_ms = in->now_ms, .by = in->by};
}

static int create_rows(struct conn *c, struct ctx *cx, const struct hand *h, struct change_io *io)
{
    for (size_t i = 0; i < io->in->n; i++) {
        struct partition_delta d = io->in->parts[i];
        int64_t made = 0;
        partition_unknown(&d);
        TRY(sum_make(c, cx, h, &d, &made));
        io->there[i] = made == 0;
        if (io->strict && made == 0)
            return ctx_fail(cx, E_EXISTS, RES_PARTITION, d.key, "Partition %.*s already exists.",
                            STR(d.key));
    }
    return 0;
}

/* All or nothing: who sends a report again would count twice the half that was taken. */
static int create_stats(struct conn *c, struct ctx *cx, const struct hand *h,
                        const struct change_io *io)
{
    for (size_t i = 0; i < io->n_stats; i++) {
        struct partition_delta sum = io->stats[i];
        int there = sum_read(c, cx, h->rid, &sum);
        if (there <= 0)
            return there;
    }
    for (size_t i = 0; i < io->n_stats; i++) {
        struct partition_delta sum = io->stats[i];
        TRY(sum_read(c, cx, h->rid, &sum));
        partition_report(&sum, &io->stats[i], io->replace);
        TRY(sum_write(c, cx, h, &sum));
    }
    return 0;
}

static int tx_create(struct conn *c, struct ctx *cx, void *p)
{
    struct change_io *io = p;
    struct chain at;
    TRY(chain_whole(c, cx, io->in->table_id, io->in->branch, &at));
    struct hand h = hand_of(&at, io->in);
    TRY(SQL_RUN(cx, c, SQL_STATE_MAKE, NULL, AI(at.rid)));
    TRY(create_rows(c, cx, &h, io));
    TRY(create_stats(c, cx, &h, io));
    return sq_audit_write(c, cx, &io->in->audit);
}

/* Runs `tx` with room for what it finds, which is given out only when it is durable. */
static int change(struct store *st, struct ctx *cx, tx_fn *tx, struct change_io *io,
                  bool *ret_there)
{
    size_t n = io->in->n;
    io->there = ARENA_ARRAY(&cx->arena, bool, n ? n : 1);
    if (!io->there)
        return ctx_nomem(cx);
    TRY(sq_write(sqlite_of(st), cx, tx, io));
    if (n)
        memcpy(ret_there, io->there, n * sizeof(*ret_there));
    return 0;
}

int sq_partitions_create(struct store *st, struct ctx *cx, const struct store_partitions_change *in,
                         bool strict, const struct partition_delta *stats, size_t n_stats,
                         bool replace, bool *ret_there)
{
    struct change_io io = {
        .in = in, .stats = stats, .n_stats = n_stats, .strict = strict, .replace = replace};
    return change(st, cx, tx_create, &io, ret_there);
}

static const char SQL_THERE[] = "SELECT 1 FROM partitions WHERE branch_rid = ?1 AND key = ?2";

static int tx_drop(struct conn *c, struct ctx *cx, void *p)
{
    struct change_io *io = p;
    struct chain at;
    TRY(chain_whole(c, cx, io->in->table_id, io->in->branch, &at));
    for (size_t i = 0; i < io->in->n; i++) {
        str key = io->in->parts[i].key;
        int64_t one;
        int there = SQL_I64(cx, c, SQL_THERE, &one, AI(at.rid), AT(key));
        TRY(there);
        io->there[i] = there;
        if (io->strict && !there)
            return ctx_fail(cx, E_NOTFOUND, RES_PARTITION, key, "Partition %.*s does not exist.",
                            STR(key));
    }
    for (size_t i = 0; i < io->in->n; i++)
        TRY(SQL_RUN(cx, c, SQL_UNMAKE, NULL, AI(at.rid), AT(io->in->parts[i].key)));
    return sq_audit_write(c, cx, &io->in->audit);
}

int sq_partitions_drop(struct store *st, struct ctx *cx, const struct store_partitions_change *in,
                       bool strict, bool *ret_there)
{
    struct change_io io = {.in = in, .strict = strict};
    return change(st, cx, tx_drop, &io, ret_there);
}

static const char SQL_MARK[] = "UPDATE partitions SET done = 1, updated_ms = ?4, updated_by = ?5"
                               " WHERE branch_rid = ?1 AND key >= ?2 AND key <= ?3 AND done = 0";
static const char SQL_MARK_BELOW[] =
    "UPDATE partitions SET done = 1, updated_ms = ?4, updated_by = ?5"
    " WHERE branch_rid = ?1 AND key >= ?2 AND key < ?3 AND done = 0";

static int tx_mark(struct conn *c, struct ctx *cx, void *p)
{
    const struct store_partitions_change *in = p;
    struct chain at;
    TRY(chain_whole(c, cx, in->table_id, in->branch, &at));
    for (size_t i = 0; i < in->n; i++) {
        str key = in->parts[i].key;
        struct name_range r;
        struct store_list_in below = {.prefix = key};
        TRY(sq_name_range(cx, &below, &r));
        if (str_ends(key, STR_LIT("/")))
            TRY(SQL_RUN(cx, c, SQL_MARK_BELOW, NULL, AI(at.rid), AT(key), r.to, AI(in->now_ms),
                        AT(in->by)));
        else
            TRY(SQL_RUN(cx, c, SQL_MARK, NULL, AI(at.rid), AT(key), AT(key), AI(in->now_ms),
                        AT(in->by)));
    }
    return sq_audit_write(c, cx, &in->audit);
}

int sq_partitions_mark(struct store *st, struct ctx *cx, const struct store_partitions_change *in)
{
    struct store_partitions_change copy = *in;
    return sq_write(sqlite_of(st), cx, tx_mark, &copy);
}

/* --- in the background ------------------------------------------------------------------------ */

static const char SQL_ORPHAN[] = "SELECT s.branch_rid FROM partition_state s"
                                 " WHERE NOT EXISTS (SELECT 1 FROM branches b"
                                 " WHERE b.rid = s.branch_rid) LIMIT 1";
static const char SQL_BACKLOG[] = "SELECT branch_rid FROM partition_deltas GROUP BY branch_rid"
                                  " HAVING count(*) > ?1 LIMIT 1";
static const char SQL_SWEEP[] = "DELETE FROM partitions WHERE branch_rid = ?1 AND key IN"
                                " (SELECT key FROM partitions WHERE branch_rid = ?1 LIMIT ?2)";
static const char SQL_SWEEP_DELTAS[] =
    "DELETE FROM partition_deltas WHERE branch_rid = ?1 AND snapshot_id IN"
    " (SELECT snapshot_id FROM partition_deltas WHERE branch_rid = ?1 LIMIT ?2)";
static const char SQL_STATE_UNMAKE[] = "DELETE FROM partition_state WHERE branch_rid = ?1";

/* The row in partition_state goes last: by it the rest is found. */
static int tx_sweep(struct conn *c, struct ctx *cx, void *p)
{
    const struct fold_io *io = p;
    int64_t n = 0, m = 0;
    TRY(SQL_RUN(cx, c, SQL_SWEEP, &n, AI(io->rid), AI(io->rows_max)));
    if (n < io->rows_max)
        TRY(SQL_RUN(cx, c, SQL_SWEEP_DELTAS, &m, AI(io->rid), AI(io->rows_max - n)));
    return n + m < io->rows_max ? SQL_RUN(cx, c, SQL_STATE_UNMAKE, NULL, AI(io->rid)) : 0;
}

int sq_partitions_tidy(struct store *st, struct ctx *cx, int64_t keep, int64_t rows_max,
                       bool *ret_more)
{
    struct conn *c;
    struct fold_io io = {.table_id = STR_NONE, .keep = keep, .rows_max = rows_max};
    ASSERT(keep > 0 && rows_max > 0);
    TRY(sq_reader(sqlite_of(st), cx, &c));
    int there = SQL_I64(cx, c, SQL_ORPHAN, &io.rid);
    TRY(there);
    tx_fn *tx = tx_sweep;
    if (!there) {
        tx = tx_fold;
        there = SQL_I64(cx, c, SQL_BACKLOG, &io.rid, AI(2 * keep));
        TRY(there);
    }
    if (there)
        TRY(sq_write(sqlite_of(st), cx, tx, &io));
    *ret_more = there;
    return 0;
}
