/* table.c - table handles: one a table id in the process, found by name, counted, evicted.
 *
 * Invariants
 *  - by_id is the truth: no two handles of one id ever exist, since a branch's strand lives in one.
 *  - by_name is a shortcut past the store. A loader reads ddl_seq, then the store, and inserts only
 *    if ddl_seq is unchanged. Whoever changes a name marks the warehouse (names_changing: by_name
 *    is not asked), commits to the store, then, under mu, moves ddl_seq and takes the table's name
 *    out. So a stale row is never inserted after the change, what was inserted before goes with it,
 *    and a name that was given up is never found once somebody else may have taken it. The new name
 *    comes with the next load: two renames may reach mu in another order than the store.
 *  - refs: one for the maps, one for each borrower, one while a turn of a strand is queued.
 *  - The handles form a ring; eviction walks it (second chance) and takes only what nobody holds.
 */
#include "catalog/catalog_int.h"

#include "proto/base/assert.h"
#include "proto/base/mem.h"
#include "proto/base/path.h"

#define NAMES_MAX   64 /* of a handle, before it is given up */
#define EVICT_MAX   4  /* for one that comes in */
#define EVICT_STEPS 64 /* of the hand */

size_t table_key(char out[TABLE_KEY_MAX], const struct warehouse *w, str db, str name)
{
    if (db.len > PATH_COMPONENT_MAX || name.len > PATH_COMPONENT_MAX)
        return 0;
    memcpy(out, &w->id, 8);
    memcpy(out + 8, db.p, db.len);
    out[8 + db.len] = '\0';
    memcpy(out + 9 + db.len, name.p, name.len);
    return 9 + db.len + name.len;
}

bool object_split(str object, str *ret_name, str *ret_branch)
{
    static const char mark[] = "branch_";
    ptrdiff_t at = str_find(object, '$');
    if (at < 0) {
        *ret_name = object;
        *ret_branch = STR_LIT("main");
        return true;
    }
    str rest = str_cut(object, (size_t)at + 1);
    if (at == 0 || !str_starts(rest, STR_LIT(mark)) || rest.len == sizeof mark - 1 ||
        str_find(rest, '$') >= 0)
        return false;
    *ret_name = str_n(object.p, (size_t)at);
    *ret_branch = str_cut(rest, sizeof mark - 1);
    return true;
}

/* --- making and freeing ----------------------------------------------------------------------- */

static struct table_name *name_new(const struct warehouse *w, str db, str name)
{
    char key[TABLE_KEY_MAX];
    size_t n = table_key(key, w, db, name);
    struct table_name *tn = n ? mem_alloc(sizeof *tn + n) : NULL;
    if (!tn)
        return NULL;
    memcpy(tn->mem, key, n);
    tn->older = NULL;
    tn->key = str_n(tn->mem, n);
    tn->db = str_n(tn->mem + 8, db.len);
    tn->name = str_n(tn->mem + 9 + db.len, name.len);
    return tn;
}

static void table_free(struct table *t)
{
    for (struct branch *br = t->branches, *next; br; br = next) {
        next = br->next;
        table_branch_free(br);
    }
    for (struct table_name *n = t->name, *older; n; n = older) {
        older = n->older;
        mem_free(n);
    }
    pthread_mutex_destroy(&t->mu);
    mem_free(t->id);
    mem_free(t->dir);
    mem_free(t);
}

void table_unref(struct table *t)
{
    if (t && atomic_fetch_sub(&t->refs, 1) == 1)
        table_free(t);
}

static struct table *table_new(struct catalog *c, struct warehouse *w, const struct table_row *row,
                               const struct place *pl)
{
    struct table *t = mem_zalloc(sizeof *t);
    if (!t)
        return NULL;
    t->cat = c;
    t->wh = w;
    t->io = pl->io;
    t->external = row->external.len > 0;
    t->managed = type_managed(row->type);
    atomic_init(&t->refs, 1);
    pthread_mutex_init(&t->mu, NULL);
    t->id = str_heap(row->id);
    t->dir = str_heap(pl->dir);
    t->name = name_new(w, row->db_name, row->name);
    t->branches = table_branch_new(t, STR_LIT("main"));
    if (!t->id || !t->dir || !t->name || !t->branches) {
        table_free(t);
        return NULL;
    }
    return t;
}

/* --- the maps --------------------------------------------------------------------------------- */

static void ring_add(struct catalog *c, struct table *t)
{
    if (!c->clock_hand) {
        t->ring_next = t->ring_prev = c->clock_hand = t;
        return;
    }
    t->ring_next = c->clock_hand;
    t->ring_prev = c->clock_hand->ring_prev;
    t->ring_prev->ring_next = t;
    c->clock_hand->ring_prev = t;
}

static void ring_del(struct catalog *c, struct table *t)
{
    if (c->clock_hand == t)
        c->clock_hand = t->ring_next == t ? NULL : t->ring_next;
    t->ring_prev->ring_next = t->ring_next;
    t->ring_next->ring_prev = t->ring_prev;
}

/* The name leads to the handle no more. mu is held for writing. */
static void name_forget(struct catalog *c, struct table *t)
{
    if (map_get(&c->by_name, t->name->key) == t)
        map_del(&c->by_name, t->name->key);
}

/* Out of the maps; the caller, who holds mu for writing, drops the maps' reference afterwards. */
static void maps_del(struct catalog *c, struct table *t)
{
    name_forget(c, t);
    map_del(&c->by_id, str_of(t->id));
    ring_del(c, t);
    c->n_tables--;
}

static int maps_add(struct catalog *c, struct table *t)
{
    TRY(map_put(&c->by_id, str_of(t->id), t));
    int rc = map_put(&c->by_name, t->name->key, t);
    if (rc < 0) {
        map_del(&c->by_id, str_of(t->id));
        return rc;
    }
    ring_add(c, t);
    c->n_tables++;
    return 0;
}

/* Nobody holds it, nothing of it is unfinished. mu is held for writing: nobody can take it now. */
static bool evictable(struct table *t)
{
    if (atomic_load(&t->refs) != 1)
        return false;
    for (struct branch *br = t->branches; br; br = br->next)
        if (br->pending || br->intent_id || !strand_idle(&br->strand) || !strand_idle(&br->loads))
            return false;
    return true;
}

static struct table *evict_one(struct catalog *c)
{
    for (int steps = 0; c->clock_hand && steps < EVICT_STEPS; steps++) {
        struct table *t = c->clock_hand;
        c->clock_hand = t->ring_next;
        if (atomic_exchange(&t->used_ms, 0) != 0 || !evictable(t))
            continue;
        maps_del(c, t);
        COUNT(c, tables_evicted);
        return t;
    }
    return NULL;
}

/* The handle under this name, with a reference; NULL if none is loaded. */
static struct table *table_find(struct catalog *c, const struct warehouse *w, str db, str name)
{
    char key[TABLE_KEY_MAX];
    size_t n = table_key(key, w, db, name);
    pthread_rwlock_rdlock(&c->mu);
    bool sure = n && atomic_load(&w->names_changing) == 0;
    struct table *t = sure ? map_get(&c->by_name, str_n(key, n)) : NULL;
    if (t) {
        atomic_fetch_add(&t->refs, 1);
        atomic_store_explicit(&t->used_ms, 1, memory_order_relaxed);
    }
    pthread_rwlock_unlock(&c->mu);
    return t;
}

/* Gives the handle the name that a loader read. mu is held for writing. Takes tn over. */
static void name_move(struct catalog *c, struct table *t, struct table_name *tn)
{
    if (str_eq(t->name->key, tn->key)) {
        mem_free(tn);
    } else {
        name_forget(c, t);
        tn->older = t->name;
        t->name = tn;
        t->n_names++;
    }
    /* On no memory the handle is found by id only; the next load of the name tries again. */
    IGNORE(map_put(&c->by_name, t->name->key, t));
}

/* More than one at a time: handles that were all held once must not stay for ever. */
static size_t evict(struct catalog *c, struct table *ret[EVICT_MAX])
{
    size_t n = 0;
    while (n < EVICT_MAX && c->n_tables > c->o.tables_max && (ret[n] = evict_one(c)))
        n++;
    return n;
}

enum insert { INSERTED, RETRY, NO_MEMORY };

/* Puts a fresh handle in, or takes the one that is there. *t becomes the one to use, with a
 * reference for the caller. */
static enum insert table_insert(struct catalog *c, uint64_t seq, struct table **t)
{
    struct table *fresh = *t, *evicted[EVICT_MAX];
    size_t n_evicted = 0;
    pthread_rwlock_wrlock(&c->mu);
    enum insert res = c->ddl_seq == seq ? INSERTED : RETRY;
    struct table *there = map_get(&c->by_id, str_of(fresh->id));
    if (res == INSERTED && there) {
        struct table_name *tn = fresh->name;
        fresh->name = tn->older;
        name_move(c, there, tn);
    } else if (res == INSERTED && maps_add(c, fresh) < 0) {
        res = NO_MEMORY;
    }
    if (res == INSERTED) {
        *t = there ? there : fresh;
        atomic_fetch_add(&(*t)->refs, 1);
        atomic_store(&(*t)->used_ms, 1);
        n_evicted = evict(c, evicted);
    }
    pthread_rwlock_unlock(&c->mu);
    if (there || res != INSERTED)
        table_unref(fresh);
    else
        COUNT(c, tables_loaded);
    for (size_t i = 0; i < n_evicted; i++)
        table_unref(evicted[i]);
    return res;
}

static uint64_t ddl_seq(struct catalog *c)
{
    pthread_rwlock_rdlock(&c->mu);
    uint64_t seq = c->ddl_seq;
    pthread_rwlock_unlock(&c->mu);
    return seq;
}

static int table_load(struct ctx *cx, struct catalog *c, struct warehouse *w, str db, str name,
                      str id, struct table **ret)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        struct table_row row;
        struct place pl;
        struct schema_at at;
        uint64_t seq = ddl_seq(c);
        TRY(id.len ? STORE(c->o.store, table_by_id, cx, w->id, id, &row)
                   : STORE(c->o.store, table_get, cx, w->id, db, name, &row));
        TRY(place_of(cx, w, &row, &pl));
        schema_of_row(w, &pl, &row, &at);
        int rc = type_managed(row.type) ? schema_load(cx, &at) : 0;
        if (rc == E_NOTFOUND) { /* dropped meanwhile: the store says of what */
            ctx_reset_err(cx);
            continue;
        }
        TRY(rc);
        struct table *t = table_new(c, w, &row, &pl);
        enum insert res = t ? table_insert(c, seq, &t) : NO_MEMORY;
        if (res == NO_MEMORY)
            return ctx_nomem(cx);
        if (res == INSERTED) {
            *ret = t;
            return 0;
        }
    }
    return ctx_fail(cx, E_BUSY, RES_TABLE, name,
                    "tables are being renamed or dropped without a pause; try again");
}

int table_open(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
               struct table **ret)
{
    struct table *t = table_find(c, w, db, name);
    if (t) {
        *ret = t;
        return 0;
    }
    return table_load(cx, c, (struct warehouse *)w, db, name, STR_NONE, ret);
}

int table_open_by_id(struct ctx *cx, struct catalog *c, struct warehouse *w, str id,
                     struct table **ret)
{
    pthread_rwlock_rdlock(&c->mu);
    struct table *t = map_get(&c->by_id, id);
    if (t)
        atomic_fetch_add(&t->refs, 1);
    pthread_rwlock_unlock(&c->mu);
    if (t) {
        *ret = t;
        return 0;
    }
    return table_load(cx, c, w, STR_NONE, STR_NONE, id, ret);
}

void table_names(struct table *t, str *ret_db, str *ret_name)
{
    pthread_rwlock_rdlock(&t->cat->mu);
    *ret_db = t->name->db;
    *ret_name = t->name->name;
    pthread_rwlock_unlock(&t->cat->mu);
}

void names_change(struct warehouse *w)
{
    atomic_fetch_add(&w->names_changing, 1);
}

void names_changed(struct catalog *c, struct warehouse *w, str id)
{
    pthread_rwlock_wrlock(&c->mu);
    c->ddl_seq++;
    struct table *t = id.p ? map_get(&c->by_id, id) : NULL;
    if (t)
        name_forget(c, t);
    /* A handle keeps all names it had; one that had many makes room for a fresh one. */
    bool worn = t && t->n_names > NAMES_MAX && evictable(t);
    if (worn)
        maps_del(c, t);
    if (!id.p)
        map_done(&c->by_name);
    atomic_fetch_sub(&w->names_changing, 1);
    pthread_rwlock_unlock(&c->mu);
    if (worn)
        table_unref(t);
}

void table_forget_id(struct catalog *c, str id)
{
    pthread_rwlock_wrlock(&c->mu);
    c->ddl_seq++;
    struct table *t = map_get(&c->by_id, id);
    if (t) {
        atomic_store(&t->dead, true);
        maps_del(c, t);
    }
    pthread_rwlock_unlock(&c->mu);
    table_unref(t);
}

void tables_free(struct catalog *c)
{
    while (c->clock_hand) {
        struct table *t = c->clock_hand;
        maps_del(c, t);
        ASSERT(atomic_load(&t->refs) == 1);
        table_unref(t);
    }
    map_done(&c->by_name);
    map_done(&c->by_id);
}

/* --- what is in memory ------------------------------------------------------------------------ */

enum peek cat_head_peek(struct catalog *c, const struct warehouse *w, str db, str object,
                        struct head **ret)
{
    str name, branch;
    enum peek res = PEEK_ASK;
    if (!object_split(object, &name, &branch))
        return PEEK_ASK;
    struct table *t = table_find(c, w, db, name);
    struct branch *br = t ? table_branch_find(t, branch) : NULL;
    if (br) {
        pthread_mutex_lock(&br->mu);
        if (br->settled && !t->external) { /* clients commit to external ones in the files */
            res = br->head ? PEEK_HEAD : PEEK_EMPTY;
            if (br->head)
                *ret = head_ref(br->head);
        }
        pthread_mutex_unlock(&br->mu);
    }
    branch_unref(br);
    table_unref(t);
    return res;
}
