/* table.c - table handles: one a table id in the process, found by name, counted, evicted.
 *
 * Invariants
 *  - by_id is the truth: no two handles of one id ever exist, since a branch's strand lives in one.
 *  - by_name is a shortcut past the store. A loader reads ddl_seq, then the store, and inserts only
 *    if ddl_seq is unchanged. Whoever changes a name marks the warehouse (names_changing: by_name
 * is not asked), commits to the store, then, under mu, moves ddl_seq and takes the table's name
 * out. So a stale row is never inserted after the change, what was inserted before goes with it,
 * and a name that was given up is never found once somebody else may have taken it. The new name
 *    comes with the next load: two renames may reach mu in another order than the store.
 *  - refs: one for the maps, one for each borrower, one while a turn of a strand is queued.
 *  - The handles form a ring; eviction walks it (second chance) and takes only what nobody holds.
 */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
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

/* --- making and freeing --------------------------------------------------------------------------
 */

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

static void branch_ref(struct branch *br)
{
    atomic_fetch_add(&br->table->refs, 1);
    pthread_mutex_lock(&br->table->mu);
    br->refs++;
    pthread_mutex_unlock(&br->table->mu);
}

static void strand_keep(void *owner)
{
    branch_ref(owner);
}
static void strand_drop(void *owner)
{
    branch_unref(owner);
}

static struct branch *branch_new(struct table *t, str name)
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

static void branch_free(struct branch *br)
{
    strand_done(&br->strand);
    if (br->forked)
        atomic_fetch_sub(&br->table->cat->n_forked, 1);
    pending_free(br->pending);
    partitioning_forget(br);
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

static void table_free(struct table *t)
{
    for (struct branch *br = t->branches, *next; br; br = next) {
        next = br->next;
        branch_free(br);
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
    t->branches = branch_new(t, STR_LIT("main"));
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
        if (br->pending || br->intent_id || !strand_idle(&br->strand))
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

/* --- branches of a handle --------------------------------------------------------------------- */

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

static struct branch *branch_find(struct table *t, str name)
{
    pthread_mutex_lock(&t->mu);
    struct branch *br = branch_named(t, name);
    pthread_mutex_unlock(&t->mu);
    return br;
}

int table_branch_make(struct ctx *cx, struct table *t, str name, struct branch **ret)
{
    struct branch *fresh = branch_new(t, name);
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
        branch_free(fresh);
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
    struct branch *br = branch_find(t, name);
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
        branch_free(br);
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

enum peek cat_head_peek(struct catalog *c, const struct warehouse *w, str db, str object,
                        struct head **ret)
{
    str name, branch;
    enum peek res = PEEK_ASK;
    if (!object_split(object, &name, &branch))
        return PEEK_ASK;
    struct table *t = table_find(c, w, db, name);
    struct branch *br = t ? branch_find(t, branch) : NULL;
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
