/* store_mem.c - the store in memory, for tests: lists, one mutex, nothing survives.
 *
 * It is the plain reading of store.h that the SQLite store is compared with, so it is written to be
 * seen to be right and not to be fast. Lists are searched from the front.
 *
 * Invariants: a method first checks and allocates all it needs, then changes the lists by steps
 * that cannot fail; so a failure leaves no trace. A row owns its texts in one block (`texts`); rows
 * given out are copies in the caller's arena.
 *
 * Thread rule: every method holds `mu` from end to end. */
#include "catalog/store/store_mem_int.h"

/* --- texts and locks -------------------------------------------------------------------------- */

static size_t texts_size(str **fields)
{
    size_t n = 1;
    for (; *fields; fields++)
        n += (*fields)->len + 1;
    return n;
}

static void texts_move(char *to, str **fields)
{
    for (; *fields; fields++) {
        str *s = *fields;
        if (s->len)
            memcpy(to, s->p, s->len);
        to[s->len] = 0;
        s->p = to;
        to += s->len + 1;
    }
}

/* Copies the texts into a block of their own and points the fields there. */
int sm_own(struct ctx *cx, str **fields, void **ret_block)
{
    char *to = mem_alloc(texts_size(fields));
    if (!to)
        return ctx_nomem(cx);
    texts_move(to, fields);
    *ret_block = to;
    return 0;
}

int sm_lend(struct ctx *cx, str **fields)
{
    char *to = arena_alloc(&cx->arena, texts_size(fields));
    if (!to)
        return ctx_nomem(cx);
    texts_move(to, fields);
    return 0;
}

void sm_freep(void *p)
{
    void **at = p;
    mem_free(*at);
}

void sm_unlock(struct store_mem **s)
{
    ASSERT(pthread_mutex_unlock(&(*s)->mu) == 0);
}

struct store_mem *sm_lock(struct store *st)
{
    struct store_mem *s = (struct store_mem *)(void *)st;
    ASSERT(pthread_mutex_lock(&s->mu) == 0);
    return s;
}

/* --- audit ------------------------------------------------------------------------------------ */

int sm_audit_new(struct ctx *cx, const struct audit *au, struct m_audit **ret)
{
    if (!au || au->action.len == 0)
        return 0;
    *ret = mem_zalloc(sizeof(**ret));
    if (!*ret)
        return ctx_nomem(cx);
    (*ret)->at_ms = au->at_ms;
    return 0;
}

void sm_audit_link(struct store_mem *s, struct m_audit **au)
{
    if (!*au)
        return;
    (*au)->next = s->audits;
    s->audits = *au;
    *au = NULL;
}

int sm_audit_add(struct store *st, struct ctx *cx, const struct audit *au)
{
    LOCKED(st);
    FREE struct m_audit *row = NULL;
    TRY(sm_audit_new(cx, au, &row));
    sm_audit_link(s, &row);
    return 0;
}

/* --- the first tenant ------------------------------------------------------------------------- */

int sm_ping(struct store *st, struct ctx *cx)
{
    (void)st;
    (void)cx;
    return 0;
}

int sm_bootstrap(struct store *st, struct ctx *cx, const struct store_bootstrap_in *in)
{
    LOCKED(st);
    if (s->set_up)
        return ctx_fail(cx, E_EXISTS, RES_NONE, STR_NONE,
                        "the store has a tenant already; it can be set up only while it is empty");
    s->warehouse = (struct warehouse_row){.id = 1,
                                          .tenant_id = 1,
                                          .tenant = in->tenant,
                                          .name = in->warehouse,
                                          .root = in->root,
                                          .options_json = STR_LIT("{}"),
                                          .created_ms = in->now_ms};
    s->principal = (struct principal_row){
        .id = 1, .tenant_id = 1, .tenant = in->tenant, .name = in->principal};
    memcpy(s->token_hash, in->token_hash, sizeof(s->token_hash));
    TRY(sm_own(cx, SETUP_TEXTS(s), &s->texts));
    s->set_up = true;
    return 0;
}

int sm_is_empty(struct store *st, struct ctx *cx, bool *ret)
{
    LOCKED(st);
    (void)cx;
    *ret = !s->set_up;
    return 0;
}

int sm_warehouses(struct store *st, struct ctx *cx, struct warehouse_row **ret, size_t *ret_n)
{
    LOCKED(st);
    struct warehouse_row *row = ARENA_NEW(&cx->arena, struct warehouse_row);
    if (!row)
        return ctx_nomem(cx);
    if (s->set_up)
        *row = s->warehouse;
    str *texts[] = {&row->tenant, &row->name, &row->root, &row->options_json, NULL};
    TRY(sm_lend(cx, texts));
    *ret = row;
    *ret_n = s->set_up;
    return 0;
}

int sm_token_find(struct store *st, struct ctx *cx, const uint8_t hash[32],
                  struct principal_row *ret)
{
    LOCKED(st);
    if (!s->set_up || !secret_eq(hash, s->token_hash, sizeof(s->token_hash)))
        return ctx_fail(cx, E_NOTFOUND, RES_NONE, STR_NONE, "no such token");
    struct principal_row row = s->principal;
    str *texts[] = {&row.tenant, &row.name, NULL};
    TRY(sm_lend(cx, texts));
    *ret = row;
    return 0;
}

int sm_want_warehouse(struct store_mem *s, struct ctx *cx, int64_t id)
{
    if (s->set_up && s->warehouse.id == id)
        return 0;
    return ctx_fail(cx, E_NOTFOUND, RES_NONE, STR_NONE, "warehouse %lld does not exist",
                    (long long)id);
}

/* --- life ------------------------------------------------------------------------------------- */

static void sm_free(struct store *st)
{
    struct store_mem *s = (struct store_mem *)(void *)st;
    if (!s)
        return;
    while (s->tables)
        sm_table_unlink(s, s->tables);
    sm_objects_unlink(s, NULL);
    for (struct m_db *db = s->dbs, *next; db; db = next) {
        next = db->next;
        sm_db_free(&db);
    }
    while (s->intents)
        sm_intent_unlink(&s->intents);
    for (struct m_audit *au = s->audits, *next; au; au = next) {
        next = au->next;
        mem_free(au);
    }
    sm_dirs_free(&s->dirs);
    mem_free(s->texts);
    ASSERT(pthread_mutex_destroy(&s->mu) == 0);
    mem_free(s);
}

static const struct store_ops mem_ops = {
    .free = sm_free,
    .ping = sm_ping,
    .bootstrap = sm_bootstrap,
    .is_empty = sm_is_empty,
    .warehouses = sm_warehouses,
    .token_find = sm_token_find,
    .db_create = sm_db_create,
    .db_get = sm_db_get,
    .db_list = sm_db_list,
    .db_alter = sm_db_alter,
    .db_drop = sm_db_drop,
    .table_claim = sm_table_claim,
    .table_create = sm_table_create,
    .table_place = sm_table_place,
    .table_get = sm_table_get,
    .table_by_id = sm_table_by_id,
    .table_rename = sm_table_rename,
    .table_alter = sm_table_alter,
    .table_drop = sm_table_drop,
    .find = sm_find,
    .object_create = sm_object_create,
    .object_get = sm_object_get,
    .object_list = sm_object_list,
    .object_alter = sm_object_alter,
    .object_rename = sm_object_rename,
    .object_drop = sm_object_drop,
    .branch_get = sm_branch_get,
    .commit_record = sm_commit_record,
    .outcome_find = sm_outcome_find,
    .outcome_of = sm_outcome_of,
    .intent_begin = sm_intent_begin,
    .intent_finish = sm_intent_finish,
    .history_finish = sm_history_finish,
    .branch_begin = sm_branch_begin,
    .branch_made = sm_branch_made,
    .branch_drop = sm_branch_drop,
    .branch_rename = sm_branch_rename,
    .intents_open = sm_intents_open,
    .partitions_fold = sm_partitions_fold,
    .partitions_set = sm_partitions_set,
    .partitions_list = sm_partitions_list,
    .partitions_find = sm_partitions_find,
    .partitions_create = sm_partitions_create,
    .partitions_drop = sm_partitions_drop,
    .partitions_mark = sm_partitions_mark,
    .partitions_tidy = sm_partitions_tidy,
    .conflict_note = sm_conflict_note,
    .conflict_list = sm_conflict_list,
    .conflict_get = sm_conflict_get,
    .audit_add = sm_audit_add,
    .prune = sm_prune,
};

int store_mem_new(struct ctx *cx, struct store **ret)
{
    struct store_mem *s = mem_zalloc(sizeof(*s));
    if (!s)
        return ctx_nomem(cx);
    s->base.ops = &mem_ops;
    map_init(&s->dirs);
    ASSERT(pthread_mutex_init(&s->mu, NULL) == 0);
    *ret = &s->base;
    return 0;
}
