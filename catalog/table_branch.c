/* table_branch.c - the branches of a table handle: made, found, counted, named.
 *
 * Invariants
 *  - A branch is in its table's list, main first, until it is gone and nobody holds it.
 *  - A reference on a branch is one on its table too, and so is a queued turn of its strand. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/assert.h"
#include "proto/base/mem.h"
#include "proto/base/path.h"

void branch_ref(struct branch *br)
{
    atomic_fetch_add(&br->table->refs, 1);
    pthread_mutex_lock(&br->table->mu);
    br->refs++;
    pthread_mutex_unlock(&br->table->mu);
}

/* catalog.states.mu is held and the branch has a state: neither it nor its table is freed meanwhile. */
bool branch_try_ref(struct branch *br)
{
    struct table *t = br->table;
    pthread_mutex_lock(&t->mu);
    int refs = atomic_load(&br->gone) ? 0 : atomic_load(&t->refs);
    while (refs > 0 && !atomic_compare_exchange_weak(&t->refs, &refs, refs + 1))
        ;
    if (refs > 0)
        br->refs++;
    pthread_mutex_unlock(&t->mu);
    return refs > 0;
}

static void strand_keep(void *owner)
{
    branch_ref(owner);
}

static void strand_drop(void *owner)
{
    branch_unref(owner);
}

struct branch *table_branch_new(struct table *t, str name)
{
    struct branch *br = mem_zalloc(sizeof *br);
    if (!br)
        return NULL;
    br->name = str_heap(name);
    if (!br->name) {
        mem_free(br);
        return NULL;
    }
    br->table = t;
    pthread_mutex_init(&br->mu, NULL);
    map_init(&br->users);
    strand_init(&br->strand, t->cat->o.strands, str_of(t->wh->tenant), t->cat->o.strand_max);
    strand_owner(&br->strand, br, strand_keep, strand_drop);
    strand_init(&br->loads, t->cat->o.loads, str_of(t->wh->tenant), t->cat->o.strand_max);
    strand_owner(&br->loads, br, strand_keep, strand_drop);
    return br;
}

void branch_forget_users(struct branch *br)
{
    size_t pos = 0;
    str key;
    void *v;
    while (map_next(&br->users, &pos, &key, &v))
        mem_free(v);
    map_done(&br->users);
    map_init(&br->users);
}

void table_branch_free(struct branch *br)
{
    strand_done(&br->strand);
    strand_done(&br->loads);
    state_keep_now(br);
    branch_state_drop(br);
    arrival_free(br->arrival);
    traits_unref(br->traits);
    if (br->forked)
        atomic_fetch_sub(&br->table->cat->n_forked, 1);
    pending_free(br->pending);
    head_unref(br->head);
    branch_forget_users(br);
    map_done(&br->users);
    mem_free(br->intent_kind);
    mem_free(br->intent_args);
    mem_free(br->fork_why);
    mem_free(br->name);
    pthread_mutex_destroy(&br->mu);
    mem_free(br);
}

/* With a reference. table.mu is held. */
static struct branch *branch_named(struct table *t, str name)
{
    struct branch *br = t->branches;
    while (br && (atomic_load(&br->gone) || !str_eqz(name, br->name)))
        br = br->next;
    if (br) {
        br->refs++;
        atomic_fetch_add(&t->refs, 1);
    }
    return br;
}

struct branch *table_branch_find(struct table *t, str name)
{
    pthread_mutex_lock(&t->mu);
    struct branch *br = branch_named(t, name);
    pthread_mutex_unlock(&t->mu);
    return br;
}

int table_branch_make(struct ctx *cx, struct table *t, str name, struct branch **ret)
{
    struct branch *fresh = table_branch_new(t, name);
    if (!fresh)
        return ctx_nomem(cx);
    pthread_mutex_lock(&t->mu);
    struct branch *br = branch_named(t, name);
    if (!br) {
        ASSERT(t->branches); /* main, and it stays first */
        fresh->next = t->branches->next;
        t->branches->next = br = fresh;
        br->refs++;
        atomic_fetch_add(&t->refs, 1);
    }
    pthread_mutex_unlock(&t->mu);
    if (br != fresh)
        table_branch_free(fresh);
    *ret = br;
    return 0;
}

/* Has somebody else made a directory for such a branch? Opening it takes it in. */
static int branch_found(struct ctx *cx, struct table *t, str name, struct branch **ret)
{
    struct io_stat st;
    str dir = t->managed && path_component_ok(name)
                  ? layout_schema_dir(&cx->arena, str_of(t->dir), name)
                  : STR_NONE;
    if (!dir.p || io_stat(t->io, cx, dir, &st) < 0 || !st.is_dir)
        return ctx_fail(cx, E_NOTFOUND, RES_BRANCH, name, "branch %.*s does not exist", STR(name));
    return table_branch_make(cx, t, name, ret);
}

int table_branch(struct ctx *cx, struct table *t, str name, struct branch **ret)
{
    struct branch_row row;
    struct branch *br = table_branch_find(t, name);
    if (br) {
        *ret = br;
        return 0;
    }
    int rc = STORE(t->cat->o.store, branch_get, cx, str_of(t->id), name, &row);
    if (rc == E_NOTFOUND && cx->err.res == RES_BRANCH) {
        ctx_reset_err(cx);
        return branch_found(cx, t, name, ret);
    }
    return rc < 0 ? rc : table_branch_make(cx, t, name, ret);
}

void table_branch_gone(struct branch *br)
{
    atomic_store(&br->gone, true);
    state_unkeep(br);
}

static int no_such_object(struct ctx *cx, str db, str object)
{
    return ctx_fail(cx, E_NOTFOUND, RES_TABLE, object, "table %.*s.%.*s does not exist", STR(db),
                    STR(object));
}

int cat_branch_open(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db,
                    str object, struct branch **ret)
{
    str name, branch;
    struct table *t;
    if (!object_split(object, &name, &branch))
        return no_such_object(cx, db, object);
    TRY(table_open(cx, c, w, db, name, &t));
    int rc = table_branch(cx, t, branch, ret);
    table_unref(t);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return no_such_object(cx, db, object);
    }
    return rc;
}

/* The last reference on a branch that is gone frees it; others stay in the table's list. */
void branch_unref(struct branch *br)
{
    if (!br)
        return;
    struct table *t = br->table;
    pthread_mutex_lock(&t->mu);
    bool last = --br->refs == 0 && atomic_load(&br->gone);
    for (struct branch **at = &t->branches; last && *at; at = &(*at)->next)
        if (*at == br) {
            *at = br->next;
            break;
        }
    pthread_mutex_unlock(&t->mu);
    if (last)
        table_branch_free(br);
    table_unref(t);
}

static void unref_deferred(void *br)
{
    branch_unref(br);
}

int branch_defer_unref(struct ctx *cx, struct branch *br)
{
    return arena_defer(&cx->arena, unref_deferred, br) < 0 ? ctx_nomem(cx) : 0;
}

struct strand *branch_strand(struct branch *br)
{
    return &br->strand;
}

struct strand *branch_loads(struct branch *br)
{
    return &br->loads;
}

struct branch *branch_of_strand(struct strand *s)
{
    return s->owner;
}

str branch_object(struct ctx *cx, struct branch *br)
{
    str db, name;
    CLEANUP(buf_done) struct buf b = {0};
    table_names(br->table, &db, &name);
    buf_adds(&b, name);
    if (!layout_is_main(str_of(br->name)))
        buf_addf(&b, "$branch_%s", br->name);
    str s = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    return s.p ? s : STR_LIT("table");
}

str branch_full_name(struct ctx *cx, struct branch *br)
{
    str db, name, object = branch_object(cx, br);
    CLEANUP(buf_done) struct buf b = {0};
    table_names(br->table, &db, &name);
    buf_addf(&b, "%.*s.%.*s", STR(db), STR(object));
    str s = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    return s.p ? s : STR_LIT("table");
}
