/* store_mem_branch.c - branches, outcomes and intents in memory.
 *
 * Outcomes are an array in the order of snapshots: the last of a key counts, rollback cuts the end
 * off, prune the beginning.
 *
 * Thread rule: under `mu`. */
#include "catalog/store/store_mem_int.h"

#include "proto/base/buf.h"
#include "proto/json/json.h"

/* --- intents ---------------------------------------------------------------------------------- */

void sm_intent_free(struct m_intent **in)
{
    if (*in) {
        mem_free((*in)->texts);
        mem_free(*in);
    }
}

int sm_intent_new(struct ctx *cx, const struct intent_row *row, struct m_intent **ret)
{
    FREE_INTENT struct m_intent *in = mem_zalloc(sizeof(*in));
    if (!in)
        return ctx_nomem(cx);
    in->row = *row;
    TRY(sm_own(cx, INTENT_TEXTS(&in->row), &in->texts));
    *ret = in;
    in = NULL;
    return 0;
}

int sm_intent_of_dir(struct ctx *cx, const struct intent_row *row, str dir, struct m_intent **ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    json_obj(&o);
    json_kstr(&o, "dir", dir);
    json_end(&o);
    if (buf_fail(&b))
        return ctx_nomem(cx);
    struct intent_row copy = *row;
    copy.args_json = buf_str(&b);
    return sm_intent_new(cx, &copy, ret);
}

int64_t sm_intent_link(struct store_mem *s, struct m_intent **in)
{
    struct m_intent **at = &s->intents;
    while (*at)
        at = &(*at)->next;
    (*in)->row.id = ++s->last_intent;
    *at = *in;
    *in = NULL;
    return s->last_intent;
}

void sm_intent_unlink(struct m_intent **at)
{
    struct m_intent *in = *at;
    *at = in->next;
    sm_intent_free(&in);
}

struct m_intent **sm_intent_find(struct store_mem *s, int64_t id)
{
    struct m_intent **at = &s->intents;
    while (*at && (*at)->row.id != id)
        at = &(*at)->next;
    return *at ? at : NULL;
}

static struct m_intent *intent_of_branch(struct store_mem *s, str table_id, str branch)
{
    for (struct m_intent *in = s->intents; in; in = in->next)
        if (branch.len && str_eq(in->row.table_id, table_id) && str_eq(in->row.branch, branch))
            return in;
    return NULL;
}

int sm_intent_finish(struct store *st, struct ctx *cx, int64_t id)
{
    LOCKED(st);
    (void)cx;
    struct m_intent **at = sm_intent_find(s, id);
    if (at)
        sm_intent_unlink(at);
    return 0;
}

int sm_intents_open(struct store *st, struct ctx *cx, struct intent_row **ret, size_t *ret_n)
{
    LOCKED(st);
    size_t n = 0, i = 0;
    for (struct m_intent *in = s->intents; in; in = in->next)
        n++;
    struct intent_row *rows = ARENA_ARRAY(&cx->arena, struct intent_row, n);
    if (!rows)
        return ctx_nomem(cx);
    for (struct m_intent *in = s->intents; in; in = in->next) {
        rows[i] = in->row;
        TRY(sm_lend(cx, INTENT_TEXTS(&rows[i])));
        i++;
    }
    *ret = rows;
    *ret_n = n;
    return 0;
}

/* --- branches --------------------------------------------------------------------------------- */

int sm_branch_new(struct ctx *cx, str name, struct m_branch **ret)
{
    struct m_branch *b = mem_zalloc(sizeof(*b));
    if (!b)
        return ctx_nomem(cx);
    b->name = str_heap(name);
    if (!b->name) {
        mem_free(b);
        return ctx_nomem(cx);
    }
    b->schema_id = -1;
    *ret = b;
    return 0;
}

void sm_branch_free(struct m_branch **b)
{
    if (*b) {
        mem_free((*b)->name);
        mem_free((*b)->schema_json);
        mem_free((*b)->texts);
        mem_free((*b)->outcomes);
        sm_parts_free(&(*b)->parts);
        sm_conflicts_free(*b);
        mem_free(*b);
    }
}

struct m_branch **sm_branch_at(struct m_table *t, str name)
{
    struct m_branch **at = &t->branches;
    while (*at && !str_eqz(name, (*at)->name))
        at = &(*at)->next;
    return *at ? at : NULL;
}

int sm_branch_find(struct store_mem *s, struct ctx *cx, str table_id, str branch,
                   struct m_branch **ret)
{
    struct m_table *t;
    TRY(sm_table_find(s, cx, table_id, &t));
    struct m_branch **at = sm_branch_at(t, branch);
    if (!at)
        return ctx_fail(cx, E_NOTFOUND, RES_BRANCH, branch, "branch %.*s does not exist",
                        STR(branch));
    *ret = *at;
    return 0;
}

int sm_head_set(struct ctx *cx, struct m_branch *b, const struct head_row *in)
{
    struct head_row head = *in;
    void *texts;
    TRY(sm_own(cx, HEAD_TEXTS(&head), &texts));
    mem_free(b->texts);
    b->texts = texts;
    b->head = head;
    return 0;
}

int sm_branch_expect(struct ctx *cx, const struct m_branch *b, str name, int64_t epoch,
                     int64_t head_id)
{
    if (b->epoch == epoch && b->head.id == head_id)
        return 0;
    return ctx_fail(cx, E_RACE, RES_BRANCH, name,
                    "branch %.*s moved: it is at snapshot %lld in epoch %lld, not at snapshot "
                    "%lld in epoch %lld",
                    STR(name), (long long)b->head.id, (long long)b->epoch, (long long)head_id,
                    (long long)epoch);
}

int sm_branch_get(struct store *st, struct ctx *cx, str table_id, str branch,
                  struct branch_row *ret)
{
    LOCKED(st);
    struct m_branch *b;
    TRY(sm_branch_find(s, cx, table_id, branch, &b));
    struct branch_row row = {.table_id = table_id,
                             .name = branch,
                             .epoch = b->epoch,
                             .head = b->head,
                             .schema_id = b->schema_id,
                             .schema_json = str_of(b->schema_json)};
    struct m_intent *in = intent_of_branch(s, table_id, branch);
    if (in)
        row.open = in->row;
    str *texts[] = {&row.table_id, &row.name, &row.schema_json, NULL};
    TRY(sm_lend(cx, texts));
    TRY(sm_lend(cx, HEAD_TEXTS(&row.head)));
    TRY(sm_lend(cx, INTENT_TEXTS(&row.open)));
    *ret = row;
    return 0;
}

static int outcome_room(struct ctx *cx, struct m_branch *b)
{
    if (b->n < b->cap)
        return 0;
    size_t cap = b->cap ? b->cap * 2 : 8;
    struct outcome *p = mem_realloc(b->outcomes, cap * sizeof(*p));
    if (!p)
        return ctx_nomem(cx);
    b->outcomes = p;
    b->cap = cap;
    return 0;
}

/* There is room. One of the same snapshot is replaced. */
static void outcome_put(struct m_branch *b, const struct outcome *o)
{
    size_t at = b->n;
    while (at && b->outcomes[at - 1].snapshot_id >= o->snapshot_id)
        at--;
    if (at == b->n || b->outcomes[at].snapshot_id != o->snapshot_id) {
        memmove(&b->outcomes[at + 1], &b->outcomes[at], (b->n - at) * sizeof(*o));
        b->n++;
    }
    b->outcomes[at] = *o;
}

int sm_commit_record(struct store *st, struct ctx *cx, const struct store_commit_in *in)
{
    LOCKED(st);
    struct m_branch *b;
    FREE struct m_audit *audit = NULL;
    TRY(sm_branch_find(s, cx, in->table_id, in->branch, &b));
    TRY(sm_branch_expect(cx, b, in->branch, in->expect_epoch, in->expect_head_id));
    TRY(outcome_room(cx, b));
    TRY(sm_audit_new(cx, &in->audit, &audit));
    FREE struct m_deltas *deltas = NULL;
    TRY(sm_deltas_new(cx, in, &deltas));
    int64_t old_head = b->head.id;
    TRY(sm_head_set(cx, b, &in->head));
    sm_parts_commit(&b->parts, old_head, in, &deltas);
    if (in->outcome)
        outcome_put(b, in->outcome);
    sm_audit_link(s, &audit);
    return 0;
}

static int outcome_give(struct ctx *cx, const struct outcome *o, struct outcome *ret)
{
    if (!o)
        return ctx_fail(cx, E_NOTFOUND, RES_NONE, STR_NONE, "no such commit is recorded");
    *ret = *o;
    return 0;
}

int sm_outcome_find(struct store *st, struct ctx *cx, str table_id, str branch,
                    const uint8_t key[OUTCOME_KEY_LEN], struct outcome *ret)
{
    LOCKED(st);
    struct m_branch *b;
    const struct outcome *found = NULL;
    if (sm_branch_find(s, cx, table_id, branch, &b) == 0)
        for (size_t i = 0; i < b->n; i++)
            if (memcmp(b->outcomes[i].key, key, OUTCOME_KEY_LEN) == 0)
                found = &b->outcomes[i];
    return outcome_give(cx, found, ret);
}

int sm_outcome_of(struct store *st, struct ctx *cx, str table_id, str branch, int64_t snapshot_id,
                  struct outcome *ret)
{
    LOCKED(st);
    struct m_branch *b;
    const struct outcome *found = NULL;
    if (sm_branch_find(s, cx, table_id, branch, &b) == 0)
        for (size_t i = 0; i < b->n; i++)
            if (b->outcomes[i].snapshot_id == snapshot_id)
                found = &b->outcomes[i];
    return outcome_give(cx, found, ret);
}

/* --- intents on branches ---------------------------------------------------------------------- */

int sm_intent_begin(struct store *st, struct ctx *cx, const struct store_intent_in *in,
                    int64_t *ret_id, int64_t *ret_epoch)
{
    LOCKED(st);
    struct m_branch *b = NULL;
    struct intent_row row = in->row;
    FREE struct m_audit *audit = NULL;
    FREE_INTENT struct m_intent *intent = NULL;
    ASSERT(!in->bump_epoch || row.branch.len);
    row.epoch = 0;
    if (row.branch.len) {
        TRY(sm_branch_find(s, cx, row.table_id, row.branch, &b));
        if (intent_of_branch(s, row.table_id, row.branch))
            return ctx_fail(cx, E_RACE, RES_BRANCH, row.branch,
                            "another operation on branch %.*s is not finished; try again later",
                            STR(row.branch));
        if (in->bump_epoch)
            TRY(sm_branch_expect(cx, b, row.branch, in->expect_epoch, in->expect_head_id));
        row.epoch = b->epoch + in->bump_epoch;
    }
    if (row.reserves.len)
        TRY(sm_branch_name_free(s, cx, row.table_id, row.reserves));
    TRY(sm_audit_new(cx, &in->audit, &audit));
    TRY(sm_intent_new(cx, &row, &intent));
    if (b)
        b->epoch = row.epoch;
    *ret_id = sm_intent_link(s, &intent);
    *ret_epoch = row.epoch;
    sm_audit_link(s, &audit);
    return 0;
}

int sm_intent_of(struct store_mem *s, struct ctx *cx, int64_t id, str table_id, str branch,
                 struct m_intent ***ret)
{
    struct m_intent **at = sm_intent_find(s, id);
    if (!at || !str_eq((*at)->row.table_id, table_id) || !str_eq((*at)->row.branch, branch))
        return ctx_fail(cx, E_NOTFOUND, RES_BRANCH, branch,
                        "the operation on branch %.*s is not open (any more)", STR(branch));
    *ret = at;
    return 0;
}

/* Everything that can fail comes before the first change. */
static int history_schema(struct store_mem *s, struct ctx *cx, const struct store_history_in *in,
                          struct m_branch *b)
{
    struct m_table *t;
    struct m_altered altered;
    if (!in->schema)
        return 0;
    TRY(sm_table_find(s, cx, in->table_id, &t));
    char *json = str_heap(in->schema->json);
    int rc = json ? sm_table_altered(cx, t, in->branch, in->schema, &altered) : ctx_nomem(cx);
    if (rc < 0) {
        mem_free(json);
        return rc;
    }
    sm_table_altered_put(t, &altered);
    mem_free(b->schema_json);
    b->schema_json = json;
    b->schema_id = in->schema->id;
    return 0;
}

int sm_history_finish(struct store *st, struct ctx *cx, const struct store_history_in *in)
{
    LOCKED(st);
    struct m_branch *b;
    struct m_intent **at;
    FREE struct m_audit *audit = NULL;
    FREE void *texts = NULL;
    TRY(sm_branch_find(s, cx, in->table_id, in->branch, &b));
    TRY(sm_intent_of(s, cx, in->intent_id, in->table_id, in->branch, &at));
    TRY(sm_audit_new(cx, &in->audit, &audit));
    struct head_row head = in->head ? *in->head : b->head;
    TRY(sm_own(cx, HEAD_TEXTS(&head), &texts));
    TRY(history_schema(s, cx, in, b));
    mem_free(b->texts);
    b->texts = texts;
    b->head = head;
    texts = NULL;
    while (b->n && b->outcomes[b->n - 1].snapshot_id > in->forget_above)
        b->n--;
    sm_parts_cut(&b->parts, in->forget_above);
    sm_intent_unlink(at);
    sm_audit_link(s, &audit);
    return 0;
}

/* --- prune ------------------------------------------------------------------------------------ */

static void prune_branch(struct m_branch *b, const struct store_prune_in *in, int64_t *left,
                         bool *more)
{
    size_t n = 0, max = (size_t)in->outcomes_per_branch_max;
    while (n < b->n && (b->n - n > max || b->outcomes[n].recorded_ms < in->outcomes_before_ms)) {
        if (*left == 0) {
            *more = true;
            break;
        }
        (*left)--;
        n++;
    }
    if (n)
        memmove(b->outcomes, b->outcomes + n, (b->n - n) * sizeof(*b->outcomes));
    b->n -= n;
}

int sm_prune(struct store *st, struct ctx *cx, const struct store_prune_in *in, bool *ret_more)
{
    LOCKED(st);
    (void)cx;
    int64_t left = in->rows_max;
    bool more = false;
    ASSERT(in->rows_max > 0 && in->outcomes_per_branch_max >= 0 &&
           in->conflicts_per_branch_max >= 0);
    for (struct m_table *t = s->tables; t; t = t->next)
        for (struct m_branch *b = t->branches; b; b = b->next)
            prune_branch(b, in, &left, &more);
    for (struct m_table *t = s->tables; t; t = t->next)
        for (struct m_branch *b = t->branches; b; b = b->next)
            more |= sm_conflicts_prune(b, in, &left);
    for (struct m_audit **at = &s->audits; *at;) {
        struct m_audit *au = *at;
        if (au->at_ms >= in->audit_before_ms || left == 0) {
            more |= au->at_ms < in->audit_before_ms;
            at = &au->next;
            continue;
        }
        *at = au->next;
        mem_free(au);
        left--;
    }
    *ret_more = more;
    return 0;
}
