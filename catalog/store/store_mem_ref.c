/* store_mem_ref.c - branches as a whole, in memory: made, dropped, renamed.
 *
 * Thread rule: under `mu`. */
#include "catalog/store/store_mem_int.h"

int sm_branch_name_free(struct store_mem *s, struct ctx *cx, str table_id, str name)
{
    struct m_table *t;
    TRY(sm_table_find(s, cx, table_id, &t));
    bool taken = sm_branch_at(t, name) != NULL;
    for (struct m_intent *in = s->intents; in; in = in->next)
        taken |= str_eq(in->row.table_id, table_id) && str_eq(in->row.reserves, name);
    return taken ? ctx_fail(cx, E_EXISTS, RES_BRANCH, name, "branch %.*s exists already", STR(name))
                 : 0;
}

int sm_branch_begin(struct store *st, struct ctx *cx, const struct intent_row *row,
                    const struct audit *au, int64_t *ret_id)
{
    LOCKED(st);
    struct m_table *t;
    FREE struct m_audit *audit = NULL;
    FREE_INTENT struct m_intent *intent = NULL;
    TRY(sm_table_find(s, cx, row->table_id, &t));
    TRY(sm_branch_name_free(s, cx, row->table_id, row->branch));
    struct intent_row copy = *row;
    copy.epoch = 0;
    TRY(sm_audit_new(cx, au, &audit));
    TRY(sm_intent_new(cx, &copy, &intent));
    struct m_branch *b;
    TRY(sm_branch_new(cx, row->branch, &b));
    b->epoch = t->names_gone;
    b->next = t->branches;
    t->branches = b;
    *ret_id = sm_intent_link(s, &intent);
    sm_audit_link(s, &audit);
    return 0;
}

int sm_branch_made(struct store *st, struct ctx *cx, const struct store_branch_in *in,
                   const struct head_row *head, const struct schema_set *schema)
{
    LOCKED(st);
    struct m_branch *b;
    struct m_intent **at;
    FREE struct m_audit *audit = NULL;
    TRY(sm_branch_find(s, cx, in->table_id, in->branch, &b));
    TRY(sm_intent_of(s, cx, in->intent_id, in->table_id, in->branch, &at));
    TRY(sm_audit_new(cx, &in->audit, &audit));
    FREE char *json = str_heap(schema->json);
    if (!json)
        return ctx_nomem(cx);
    TRY(sm_head_set(cx, b, head));
    mem_free(b->schema_json);
    b->schema_json = json;
    json = NULL;
    b->schema_id = schema->id;
    sm_intent_unlink(at);
    sm_audit_link(s, &audit);
    return 0;
}

int sm_branch_drop(struct store *st, struct ctx *cx, const struct store_branch_in *in)
{
    LOCKED(st);
    struct m_table *t;
    struct m_branch *b;
    struct m_intent **at;
    FREE struct m_audit *audit = NULL;
    TRY(sm_branch_find(s, cx, in->table_id, in->branch, &b));
    TRY(sm_intent_of(s, cx, in->intent_id, in->table_id, in->branch, &at));
    TRY(sm_table_find(s, cx, in->table_id, &t));
    TRY(sm_audit_new(cx, &in->audit, &audit));
    t->names_gone += b->schema_json != NULL; /* not of one that was never made */
    *sm_branch_at(t, in->branch) = b->next;
    sm_branch_free(&b);
    sm_intent_unlink(at);
    sm_audit_link(s, &audit);
    return 0;
}

int sm_branch_rename(struct store *st, struct ctx *cx, const struct store_branch_in *in, str to)
{
    LOCKED(st);
    struct m_table *t;
    struct m_branch *b;
    struct m_intent **at;
    FREE struct m_audit *audit = NULL;
    TRY(sm_branch_find(s, cx, in->table_id, in->branch, &b));
    TRY(sm_intent_of(s, cx, in->intent_id, in->table_id, in->branch, &at));
    TRY(sm_table_find(s, cx, in->table_id, &t));
    TRY(sm_audit_new(cx, &in->audit, &audit));
    char *name = str_heap(to);
    if (!name)
        return ctx_nomem(cx);
    t->names_gone++;
    b->epoch += t->names_gone;
    mem_free(b->name);
    b->name = name;
    sm_intent_unlink(at);
    sm_audit_link(s, &audit);
    return 0;
}
