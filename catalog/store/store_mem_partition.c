/* store_mem_partition.c - totals of partitions in memory.
 *
 * A change is made on a copy of all rows that takes the place of the old ones at the end, so that a
 * failure leaves no trace. What `folded` and the log of deltas say is what store_sqlite_partition.c
 * says of its tables.
 *
 * Thread rule: under `mu`. */
#include "catalog/store/store_mem_int.h"

#include "catalog/store/partition_sum.h"

#define PART_TEXTS(r)                                                                              \
    ((str *[]){&(r)->sum.key, &(r)->sum.spec_json, STAMP_TEXTS(&(r)->stamp), NULL})

/* --- the log ---------------------------------------------------------------------------------- */

static size_t texts_of(const struct store_commit_in *in)
{
    size_t n = in->audit.principal.len;
    for (size_t i = 0; i < in->n_deltas; i++)
        n += in->deltas[i].key.len + in->deltas[i].spec_json.len;
    return n;
}

static str put(char **at, str s)
{
    str to = {*at, s.len};
    if (s.len)
        memcpy(*at, s.p, s.len);
    *at += s.len;
    return to;
}

int sm_deltas_new(struct ctx *cx, const struct store_commit_in *in, struct m_deltas **ret)
{
    if (!in->has_deltas)
        return 0;
    size_t rows = in->n_deltas * sizeof(*in->deltas);
    struct m_deltas *d = mem_zalloc(sizeof(*d) + rows + texts_of(in) + 1);
    if (!d)
        return ctx_nomem(cx);
    char *at = (char *)d + sizeof(*d) + rows;
    d->id = in->head.id;
    d->at_ms = in->head.recorded_ms;
    d->by = put(&at, in->audit.principal);
    d->n = in->n_deltas;
    for (size_t i = 0; i < d->n; i++) {
        d->at[i] = in->deltas[i];
        d->at[i].key = put(&at, in->deltas[i].key);
        d->at[i].spec_json = put(&at, in->deltas[i].spec_json);
    }
    *ret = d;
    return 0;
}

static int64_t log_last(const struct m_parts *p)
{
    int64_t last = p->folded;
    for (const struct m_deltas *d = p->log; d; d = d->next)
        last = d->id;
    return last;
}

void sm_parts_cut(struct m_parts *p, int64_t upto_id)
{
    struct m_deltas **at = &p->log;
    while (*at && (*at)->id <= upto_id)
        at = &(*at)->next;
    for (struct m_deltas *d = *at, *next; d; d = next) {
        next = d->next;
        mem_free(d);
    }
    *at = NULL;
    if (p->folded > upto_id)
        p->folded = -1;
}

void sm_parts_commit(struct m_parts *p, int64_t old_head, const struct store_commit_in *in,
                     struct m_deltas **d)
{
    if (in->head.id <= old_head)
        sm_parts_cut(p, in->head.id - 1);
    if (!in->has_deltas || p->folded < 0)
        return;
    int64_t last = log_last(p);
    if (last != in->head.id - 1) {
        if (last > 0)
            sm_parts_cut(p, -1);
        return;
    }
    struct m_deltas **at = &p->log;
    while (*at)
        at = &(*at)->next;
    *at = *d;
    *d = NULL;
}

static enum partitions_are chain_is(const struct m_branch *b)
{
    int64_t last = log_last(&b->parts);
    if (b->parts.folded < 0 || last < b->head.id)
        return PARTITIONS_UNKNOWN;
    return b->parts.log ? PARTITIONS_MORE : PARTITIONS_KNOWN;
}

static int known(struct ctx *cx, const struct m_branch *b)
{
    return chain_is(b) != PARTITIONS_UNKNOWN
               ? 0
               : ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                          "the totals of the partitions are not known");
}

/* --- rows ------------------------------------------------------------------------------------- */

struct rows {
    struct m_part *at;
    size_t n, cap;
};

static void part_done(struct m_part *p)
{
    mem_free(p->texts);
}

static void rows_free(struct rows *r)
{
    for (size_t i = 0; i < r->n; i++)
        part_done(&r->at[i]);
    mem_free(r->at);
}
#define FREE_ROWS CLEANUP(rows_free)

void sm_parts_free(struct m_parts *p)
{
    sm_parts_cut(p, -1);
    struct rows r = {p->rows, p->n, p->n};
    rows_free(&r);
    *p = (struct m_parts){0};
}

/* Where the key is, or belongs. */
static size_t rows_find(const struct rows *r, str key, bool *ret_there)
{
    size_t i = 0;
    while (i < r->n && str_cmp(r->at[i].row.sum.key, key) < 0)
        i++;
    *ret_there = i < r->n && str_eq(r->at[i].row.sum.key, key);
    return i;
}

static int rows_insert(struct ctx *cx, struct rows *r, size_t i, const struct partition_row *row)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 8;
        struct m_part *at = mem_realloc(r->at, cap * sizeof(*at));
        if (!at)
            return ctx_nomem(cx);
        r->at = at;
        r->cap = cap;
    }
    struct m_part p = {.row = *row};
    TRY(sm_own(cx, PART_TEXTS(&p.row), &p.texts));
    memmove(&r->at[i + 1], &r->at[i], (r->n - i) * sizeof(*r->at));
    r->at[i] = p;
    r->n++;
    return 0;
}

static void rows_remove(struct rows *r, size_t i)
{
    part_done(&r->at[i]);
    r->n--;
    memmove(&r->at[i], &r->at[i + 1], (r->n - i) * sizeof(*r->at));
}

/* The sums of a row; its texts stay, but for who did it. */
static int rows_set(struct ctx *cx, struct rows *r, size_t i, const struct partition_row *row)
{
    struct m_part p = {.row = *row};
    TRY(sm_own(cx, PART_TEXTS(&p.row), &p.texts));
    part_done(&r->at[i]);
    r->at[i] = p;
    return 0;
}

static int rows_copy(struct ctx *cx, const struct m_parts *p, struct rows *ret)
{
    for (size_t i = 0; i < p->n; i++)
        TRY(rows_insert(cx, ret, i, &p->rows[i].row));
    return 0;
}

/* The copy takes the place of the rows, which are freed with `r`. */
static void rows_swap(struct m_parts *p, struct rows *r)
{
    struct rows old = {p->rows, p->n, p->n};
    p->rows = r->at;
    p->n = r->n;
    *r = old;
}

/* --- folding ---------------------------------------------------------------------------------- */

static int fold_delta(struct ctx *cx, struct rows *r, const struct m_deltas *of,
                      const struct partition_delta *d)
{
    bool there;
    size_t i = rows_find(r, d->key, &there);
    struct partition_row row = {.sum = *d,
                                .stamp = {.created_by = of->by, .created_ms = of->at_ms}};
    if (there) {
        row = r->at[i].row;
        partition_commit(&row.sum, d);
    }
    row.stamp.updated_by = of->by;
    row.stamp.updated_ms = of->at_ms;
    if (!partition_empty(&row.sum))
        return there ? rows_set(cx, r, i, &row) : rows_insert(cx, r, i, &row);
    if (there)
        rows_remove(r, i);
    return 0;
}

static int fold(struct ctx *cx, struct m_parts *p, int64_t keep, int64_t rows_max)
{
    FREE_ROWS struct rows r = {0};
    int64_t upto = log_last(p) - keep, done = 0, folded = p->folded;
    TRY(rows_copy(cx, p, &r));
    for (const struct m_deltas *d = p->log; d && d->id <= upto && done < rows_max; d = d->next) {
        for (size_t i = 0; i < d->n; i++)
            TRY(fold_delta(cx, &r, d, &d->at[i]));
        done += (int64_t)d->n + 1;
        folded = d->id;
    }
    rows_swap(p, &r);
    p->folded = folded;
    while (p->log && p->log->id <= folded) {
        struct m_deltas *d = p->log;
        p->log = d->next;
        mem_free(d);
    }
    return 0;
}

int sm_partitions_fold(struct store *st, struct ctx *cx, str table_id, str branch, int64_t keep,
                       int64_t rows_max, enum partitions_are *ret)
{
    LOCKED(st);
    struct m_branch *b;
    ASSERT(keep >= 0 && rows_max > 0);
    TRY(sm_branch_find(s, cx, table_id, branch, &b));
    if (chain_is(b) == PARTITIONS_MORE)
        TRY(fold(cx, &b->parts, keep, rows_max));
    *ret = chain_is(b);
    return 0;
}

int sm_partitions_tidy(struct store *st, struct ctx *cx, int64_t keep, int64_t rows_max,
                       bool *ret_more)
{
    LOCKED(st);
    bool more = false;
    ASSERT(keep > 0 && rows_max > 0);
    for (struct m_table *t = s->tables; t; t = t->next)
        for (struct m_branch *b = t->branches; b && !more; b = b->next) {
            struct m_parts *p = &b->parts;
            if (log_last(p) - p->folded <= 2 * keep || p->folded < 0)
                continue;
            TRY(fold(cx, p, keep, rows_max));
            more = true;
        }
    *ret_more = more;
    return 0;
}

/* --- setting ---------------------------------------------------------------------------------- */

/* Out with what was measured and is not named. */
static void rows_keep(struct rows *r, const struct store_partitions_set *in)
{
    for (size_t i = r->n; i-- > 0;) {
        const struct partition_delta *s = &r->at[i].row.sum;
        bool stays = !partition_measured(s);
        for (size_t k = 0; k < in->n && !stays; k++)
            stays = str_eq(in->sums[k].key, s->key);
        if (!stays)
            rows_remove(r, i);
    }
}

static int rows_put(struct ctx *cx, struct rows *r, const struct store_partitions_set *in,
                    const struct partition_delta *d)
{
    bool there;
    size_t i = rows_find(r, d->key, &there);
    struct partition_row row = {.sum = *d,
                                .stamp = {.created_by = in->by, .created_ms = in->now_ms}};
    if (there && partition_same(&r->at[i].row.sum, d))
        return 0;
    if (there) {
        row = r->at[i].row;
        str key = row.sum.key, spec = row.sum.spec_json;
        row.sum = *d;
        row.sum.key = key;
        row.sum.spec_json = spec;
    }
    row.stamp.updated_by = in->by;
    row.stamp.updated_ms = in->now_ms;
    return there ? rows_set(cx, r, i, &row) : rows_insert(cx, r, i, &row);
}

int sm_partitions_set(struct store *st, struct ctx *cx, const struct store_partitions_set *in)
{
    LOCKED(st);
    FREE_ROWS struct rows r = {0};
    struct m_branch *b;
    TRY(sm_branch_find(s, cx, in->table_id, in->branch, &b));
    TRY(sm_branch_expect(cx, b, in->branch, in->expect_epoch, in->expect_head_id));
    TRY(rows_copy(cx, &b->parts, &r));
    rows_keep(&r, in);
    for (size_t i = 0; i < in->n; i++)
        TRY(rows_put(cx, &r, in, &in->sums[i]));
    sm_parts_cut(&b->parts, -1);
    rows_swap(&b->parts, &r);
    b->parts.folded = b->head.id;
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int give(struct ctx *cx, const struct m_part *p, struct partition_row *to)
{
    *to = p->row;
    return sm_lend(cx, PART_TEXTS(to));
}

static bool listed(const struct store_partitions_in *in, str key)
{
    if (in->below.len && str_cmp(key, in->below) >= 0)
        return false;
    return in->exact ? str_eq(key, in->prefix) : str_starts(key, in->prefix);
}

int sm_partitions_list(struct store *st, struct ctx *cx, const struct store_partitions_in *in,
                       struct partition_row **ret, size_t *ret_n)
{
    LOCKED(st);
    struct m_branch *b;
    size_t n = 0, limit = in->limit > 0 ? (size_t)in->limit : 0;
    TRY(sm_branch_find(s, cx, in->table_id, in->branch, &b));
    TRY(known(cx, b));
    struct partition_row *rows = ARENA_ARRAY(&cx->arena, struct partition_row, b->parts.n + 1);
    if (!rows)
        return ctx_nomem(cx);
    for (size_t i = b->parts.n; i-- > 0 && n < limit;)
        if (listed(in, b->parts.rows[i].row.sum.key))
            TRY(give(cx, &b->parts.rows[i], &rows[n++]));
    *ret = rows;
    *ret_n = n;
    return 0;
}

int sm_partitions_find(struct store *st, struct ctx *cx, str table_id, str branch, const str *keys,
                       size_t n_keys, struct partition_row **ret, size_t *ret_n)
{
    LOCKED(st);
    struct m_branch *b;
    size_t n = 0;
    TRY(sm_branch_find(s, cx, table_id, branch, &b));
    TRY(known(cx, b));
    struct partition_row *rows = ARENA_ARRAY(&cx->arena, struct partition_row, n_keys + 1);
    if (!rows)
        return ctx_nomem(cx);
    struct rows all = {b->parts.rows, b->parts.n, b->parts.n};
    for (size_t i = 0; i < n_keys; i++) {
        bool there;
        size_t at = rows_find(&all, keys[i], &there);
        if (there)
            TRY(give(cx, &all.at[at], &rows[n++]));
    }
    *ret = rows;
    *ret_n = n;
    return 0;
}

/* --- changes ---------------------------------------------------------------------------------- */

/* What a change works on; audit and rows take effect in change_done. */
struct change {
    struct m_branch *b;
    struct rows r;
    struct m_audit *audit;
};
static void change_free(struct change *ch)
{
    rows_free(&ch->r);
    mem_free(ch->audit);
}

static int change_begin(struct store_mem *s, struct ctx *cx,
                        const struct store_partitions_change *in, struct change *ret)
{
    TRY(sm_branch_find(s, cx, in->table_id, in->branch, &ret->b));
    TRY(known(cx, ret->b));
    if (ret->b->parts.log)
        return ctx_fail(cx, E_RACE, RES_BRANCH, in->branch,
                        "commits came that are not folded in yet");
    TRY(sm_audit_new(cx, &in->audit, &ret->audit));
    return rows_copy(cx, &ret->b->parts, &ret->r);
}

static int change_done(struct store_mem *s, struct change *ch)
{
    rows_swap(&ch->b->parts, &ch->r);
    sm_audit_link(s, &ch->audit);
    return 0;
}

static int create_stats(struct ctx *cx, struct rows *r, const struct store_partitions_change *in,
                        const struct partition_delta *stats, size_t n, bool replace)
{
    bool there = true;
    for (size_t i = 0; i < n && there; i++)
        rows_find(r, stats[i].key, &there);
    for (size_t i = 0; i < n && there; i++) {
        size_t at = rows_find(r, stats[i].key, &there);
        struct partition_row row = r->at[at].row;
        partition_report(&row.sum, &stats[i], replace);
        row.stamp.updated_by = in->by;
        row.stamp.updated_ms = in->now_ms;
        TRY(rows_set(cx, r, at, &row));
    }
    return 0;
}

int sm_partitions_create(struct store *st, struct ctx *cx, const struct store_partitions_change *in,
                         bool strict, const struct partition_delta *stats, size_t n_stats,
                         bool replace, bool *ret_there)
{
    LOCKED(st);
    CLEANUP(change_free) struct change ch = {0};
    TRY(change_begin(s, cx, in, &ch));
    bool *there = ARENA_ARRAY(&cx->arena, bool, in->n + 1);
    if (!there)
        return ctx_nomem(cx);
    for (size_t i = 0; i < in->n; i++) {
        struct partition_row row = {.sum = in->parts[i],
                                    .stamp = {.created_by = in->by,
                                              .updated_by = in->by,
                                              .created_ms = in->now_ms,
                                              .updated_ms = in->now_ms}};
        partition_unknown(&row.sum);
        size_t at = rows_find(&ch.r, row.sum.key, &there[i]);
        if (there[i] && strict)
            return ctx_fail(cx, E_EXISTS, RES_PARTITION, row.sum.key,
                            "Partition %.*s already exists.", STR(row.sum.key));
        if (!there[i])
            TRY(rows_insert(cx, &ch.r, at, &row));
    }
    TRY(create_stats(cx, &ch.r, in, stats, n_stats, replace));
    memcpy(ret_there, there, in->n * sizeof(*there));
    return change_done(s, &ch);
}

int sm_partitions_drop(struct store *st, struct ctx *cx, const struct store_partitions_change *in,
                       bool strict, bool *ret_there)
{
    LOCKED(st);
    CLEANUP(change_free) struct change ch = {0};
    TRY(change_begin(s, cx, in, &ch));
    bool *there = ARENA_ARRAY(&cx->arena, bool, in->n + 1);
    if (!there)
        return ctx_nomem(cx);
    for (size_t i = 0; i < in->n; i++) {
        str key = in->parts[i].key;
        rows_find(&ch.r, key, &there[i]);
        if (!there[i] && strict)
            return ctx_fail(cx, E_NOTFOUND, RES_PARTITION, key, "Partition %.*s does not exist.",
                            STR(key));
    }
    for (size_t i = 0; i < in->n; i++) {
        bool still; /* not, if it was named before */
        size_t at = rows_find(&ch.r, in->parts[i].key, &still);
        if (still)
            rows_remove(&ch.r, at);
    }
    memcpy(ret_there, there, in->n * sizeof(*there));
    return change_done(s, &ch);
}

static bool marked(const struct store_partitions_change *in, str key)
{
    for (size_t i = 0; i < in->n; i++) {
        str k = in->parts[i].key;
        if (str_eq(key, k) || (str_ends(k, STR_LIT("/")) && str_starts(key, k)))
            return true;
    }
    return false;
}

int sm_partitions_mark(struct store *st, struct ctx *cx, const struct store_partitions_change *in)
{
    LOCKED(st);
    CLEANUP(change_free) struct change ch = {0};
    TRY(change_begin(s, cx, in, &ch));
    for (size_t i = 0; i < ch.r.n; i++) {
        struct partition_row row = ch.r.at[i].row;
        if (row.done || !marked(in, row.sum.key))
            continue;
        row.done = true;
        row.stamp.updated_by = in->by;
        row.stamp.updated_ms = in->now_ms;
        TRY(rows_set(cx, &ch.r, i, &row));
    }
    return change_done(s, &ch);
}
