/* catalog.c - the catalog as a whole: opened once, closed once, counted, pruned. */
#include "catalog/catalog_int.h"
#include "catalog/conflict_list.h"

#include "proto/base/clock.h"
#include "proto/base/mem.h"

static int options_copy(struct ctx *cx, struct catalog *c, const struct catalog_opts *o)
{
    c->o = *o;
    c->suffix = str_heap(o->database_suffix);
    c->group = str_heap(o->group);
    c->data_dir = str_heap(o->data_dir);
    c->state_dir = str_heap(o->state_dir);
    if (!c->suffix || !c->group || !c->data_dir || !c->state_dir)
        return ctx_nomem(cx);
    c->o.database_suffix = str_n(c->suffix, o->database_suffix.len);
    c->o.group = str_n(c->group, o->group.len);
    return 0;
}

int catalog_open(struct ctx *cx, const struct catalog_opts *o, struct catalog **ret)
{
    struct catalog *c = mem_zalloc(sizeof *c);
    if (!c)
        return ctx_nomem(cx);
    pthread_rwlock_init(&c->mu, NULL);
    pthread_rwlock_init(&c->tokens_mu, NULL);
    states_init(c);
    map_init(&c->by_prefix);
    map_init(&c->by_name);
    map_init(&c->by_id);
    map_init(&c->tokens);
    int rc = options_copy(cx, c, o);
    if (rc == 0)
        rc = conflict_notes_new(cx, c, &c->conflicts);
    if (rc == 0)
        rc = states_dir_make(cx, c);
    if (rc == 0)
        rc = places_open(cx, c);
    if (rc == 0)
        rc = warehouses_load(cx, c);
    if (rc == 0)
        rc = intents_resume(cx, c);
    if (rc < 0) {
        catalog_close(c);
        return rc;
    }
    *ret = c;
    return 0;
}

void catalog_close(struct catalog *c)
{
    if (!c)
        return;
    states_close(c);
    conflict_notes_free(c->conflicts);
    tables_free(c);
    tokens_free(c);
    warehouses_free(c);
    places_close(c);
    pthread_rwlock_destroy(&c->mu);
    pthread_rwlock_destroy(&c->tokens_mu);
    mem_free(c->suffix);
    mem_free(c->group);
    mem_free(c->data_dir);
    mem_free(c->state_dir);
    mem_free(c);
}

void catalog_counts(struct catalog *c, struct cat_counts *ret)
{
#define X(name, help) ret->name = atomic_load_explicit(&c->n.name, memory_order_relaxed);
    CAT_COUNTS(X)
#undef X
    ret->branches_forked = atomic_load(&c->n_forked);
    pthread_mutex_lock(&c->states.mu);
    ret->states = (int64_t)c->states.n;
    ret->state_bytes = (int64_t)c->states.bytes;
    pthread_mutex_unlock(&c->states.mu);
    pthread_rwlock_rdlock(&c->mu);
    ret->tables_cached = (int64_t)c->n_tables;
    pthread_rwlock_unlock(&c->mu);
}

int catalog_ready(struct ctx *cx, struct catalog *c)
{
    TRY(STORE(c->o.store, ping, cx));
    for (size_t i = 0; i < c->n_warehouses; i++)
        TRY(warehouse_space(cx, c->warehouses[i]));
    return 0;
}

int catalog_prune(struct ctx *cx, struct catalog *c)
{
    int64_t now = clock_wall_ms();
    struct store_prune_in in = {.outcomes_before_ms = now - c->o.outcome_keep_ms,
                                .outcomes_per_branch_max = c->o.outcome_max,
                                .audit_before_ms = now - c->o.audit_keep_ms,
                                .conflicts_before_ms = now - c->o.conflict_keep_ms,
                                .conflicts_per_branch_max = c->o.conflict_max,
                                .rows_max = 2000};
    bool more = true;
    while (more)
        TRY(STORE(c->o.store, prune, cx, &in, &more));
    states_tidy(c);
    return partitions_tidy(cx, c);
}

void audit_fill(struct ctx *cx, struct audit *au, const char *action, const struct warehouse *w,
                str db, str object)
{
    CLEANUP(buf_done) struct buf b = {0};
    buf_addf(&b, "%s/%.*s", w->name, STR(db));
    if (object.len)
        buf_addf(&b, ".%.*s", STR(object));
    *au = (struct audit){.at_ms = clock_wall_ms(),
                         .tenant = str_of(w->tenant),
                         .principal = cx->principal,
                         .request_id = cx->request_id,
                         .action = str_of(action),
                         .object = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b))};
}
