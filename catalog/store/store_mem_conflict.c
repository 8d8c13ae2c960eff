/* store_mem_conflict.c - conflict lists in memory.
 *
 * Thread rule: under `mu`. */
#include "catalog/store/store_mem_int.h"

static void conflict_free(struct m_conflict **c)
{
    if (*c) {
        mem_free((*c)->texts);
        mem_free(*c);
    }
}

static void cut(struct m_conflict **at)
{
    struct m_conflict *c = *at;
    *at = c->next;
    conflict_free(&c);
}

void sm_conflicts_free(struct m_branch *b)
{
    while (b->conflicts)
        cut(&b->conflicts);
}

/* --- note ------------------------------------------------------------------------------------- */

/* All but the newest `max`. */
static void keep(struct m_branch *b, int64_t max)
{
    struct m_conflict **at = &b->conflicts;
    for (; *at && max > 0; max--)
        at = &(*at)->next;
    while (*at)
        cut(at);
}

static void repeat(struct m_conflict *c, struct m_conflict *by)
{
    struct conflict_row row = by->row;
    row.id = c->row.id;
    row.first_ms = c->row.first_ms;
    row.last_ms = c->row.last_ms > row.last_ms ? c->row.last_ms : row.last_ms;
    row.count = c->row.count + 1;
    mem_free(c->texts);
    c->texts = by->texts;
    by->texts = NULL;
    c->row = row;
}

int sm_conflict_note(struct store *st, struct ctx *cx, const struct store_conflict_in *in)
{
    LOCKED(st);
    struct m_branch *b;
    ASSERT(in->keep_max > 0);
    TRY(sm_branch_find(s, cx, in->table_id, in->branch, &b));
    CLEANUP(conflict_free) struct m_conflict *c = mem_zalloc(sizeof(*c));
    if (!c)
        return ctx_nomem(cx);
    c->row = in->row;
    memcpy(c->key, in->key, sizeof(c->key));
    TRY(sm_own(cx, CONFLICT_TEXTS(&c->row), &c->texts));
    for (struct m_conflict *old = b->conflicts; old; old = old->next)
        if (memcmp(old->key, c->key, sizeof(c->key)) == 0) {
            repeat(old, c);
            return 0;
        }
    c->row.id = ++s->last_conflict;
    c->row.first_ms = c->row.last_ms;
    c->row.count = 1;
    c->next = b->conflicts;
    b->conflicts = c;
    c = NULL;
    keep(b, in->keep_max);
    return 0;
}

/* --- list ------------------------------------------------------------------------------------- */

int sm_conflict_list(struct store *st, struct ctx *cx, const struct store_conflicts_in *in,
                     struct conflict_row **ret, size_t *ret_n)
{
    LOCKED(st);
    struct m_branch *b;
    size_t n = 0, k = 0;
    TRY(sm_branch_find(s, cx, in->table_id, in->branch, &b));
    for (struct m_conflict *c = b->conflicts; c; c = c->next)
        n++;
    struct conflict_row *rows = ARENA_ARRAY(&cx->arena, struct conflict_row, n + 1);
    if (!rows)
        return ctx_nomem(cx);
    for (struct m_conflict *c = b->conflicts; c && (int64_t)k < in->limit; c = c->next) {
        if ((in->below && c->row.id >= in->below) ||
            (in->code.len && !str_eq(in->code, c->row.code)))
            continue;
        rows[k] = c->row;
        TRY(sm_lend(cx, CONFLICT_TEXTS(&rows[k])));
        k++;
    }
    *ret = rows;
    *ret_n = k;
    return 0;
}

static int conflict_gone(struct ctx *cx, int64_t id)
{
    char name[24];
    snprintf(name, sizeof(name), "%lld", (long long)id);
    return ctx_fail(cx, E_NOTFOUND, RES_CONFLICT, str_of(name),
                    "conflict %s is not on this list (any more)", name);
}

int sm_conflict_get(struct store *st, struct ctx *cx, str table_id, str branch, int64_t id,
                    struct conflict_row *ret)
{
    LOCKED(st);
    struct m_branch *b;
    TRY(sm_branch_find(s, cx, table_id, branch, &b));
    struct m_conflict *c = b->conflicts;
    while (c && c->row.id != id)
        c = c->next;
    if (!c)
        return conflict_gone(cx, id);
    struct conflict_row row = c->row;
    TRY(sm_lend(cx, CONFLICT_TEXTS(&row)));
    *ret = row;
    return 0;
}

/* --- prune ------------------------------------------------------------------------------------ */

bool sm_conflicts_prune(struct m_branch *b, const struct store_prune_in *in, int64_t *left)
{
    int64_t n = 0;
    bool more = false;
    for (struct m_conflict **at = &b->conflicts; *at;) {
        bool go =
            n++ >= in->conflicts_per_branch_max || (*at)->row.last_ms < in->conflicts_before_ms;
        more |= go && *left == 0;
        if (!go || *left == 0) {
            at = &(*at)->next;
            continue;
        }
        cut(at);
        (*left)--;
    }
    return more;
}
