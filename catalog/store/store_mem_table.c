/* store_mem_table.c - tables and their directories in memory; dropping, of databases too.
 *
 * The number that a directory name continues with is kept with the name, as in the SQLite store, so
 * both give out the same names. Dropping frees the outcomes at once: nobody can see the difference.
 *
 * Thread rule: under `mu`. */
#include "catalog/store/store_mem_int.h"

#include "proto/base/buf.h"

/* --- tables ----------------------------------------------------------------------------------- */

static struct m_table *table_named(struct store_mem *s, const struct m_db *db, str name)
{
    struct m_table *t = s->tables;
    while (t && (t->db != db || !str_eq(t->row.name, name)))
        t = t->next;
    return t;
}

int sm_table_find(struct store_mem *s, struct ctx *cx, str id, struct m_table **ret)
{
    for (struct m_table *t = s->tables; t; t = t->next)
        if (str_eq(t->row.id, id)) {
            *ret = t;
            return 0;
        }
    return ctx_fail(cx, E_NOTFOUND, RES_TABLE, id,
                    "the table with id %.*s does not exist (any more)", STR(id));
}

static int table_in(struct store_mem *s, struct ctx *cx, int64_t warehouse_id, str id,
                    struct m_table **ret)
{
    struct m_table *t;
    TRY(sm_table_find(s, cx, id, &t));
    if (t->db->row.warehouse_id != warehouse_id)
        return ctx_fail(cx, E_NOTFOUND, RES_TABLE, id,
                        "the table with id %.*s does not exist (any more)", STR(id));
    *ret = t;
    return 0;
}

static void table_free(struct m_table **t)
{
    if (!*t)
        return;
    while ((*t)->branches) {
        struct m_branch *b = (*t)->branches;
        (*t)->branches = b->next;
        sm_branch_free(&b);
    }
    mem_free((*t)->texts);
    mem_free(*t);
}

static struct m_branch *main_of(struct m_table *t)
{
    return *sm_branch_at(t, STR_LIT("main"));
}

static int table_give(struct ctx *cx, struct m_table *t, struct table_row *ret)
{
    struct table_row row = t->row;
    row.schema_id = main_of(t)->schema_id;
    row.schema_json = str_of(main_of(t)->schema_json);
    row.db_id = t->db->row.id;
    row.db_name = t->db->row.name;
    row.warehouse_id = t->db->row.warehouse_id;
    TRY(sm_lend(cx, TABLE_TEXTS(&row)));
    *ret = row;
    return 0;
}

static int table_name_free(struct store_mem *s, struct ctx *cx, const struct m_db *db, str name)
{
    return table_named(s, db, name)
               ? ctx_fail(cx, E_EXISTS, RES_TABLE, name, "table %.*s exists already", STR(name))
               : 0;
}

int sm_table_get(struct store *st, struct ctx *cx, int64_t warehouse_id, str db_name, str name,
                 struct table_row *ret)
{
    LOCKED(st);
    struct m_db *db = sm_db_named(s, warehouse_id, db_name);
    if (!db)
        return sm_db_gone(cx, db_name);
    struct m_table *t = table_named(s, db, name);
    if (!t)
        return ctx_fail(cx, E_NOTFOUND, RES_TABLE, name, "table %.*s.%.*s does not exist",
                        STR(db_name), STR(name));
    return table_give(cx, t, ret);
}

int sm_table_by_id(struct store *st, struct ctx *cx, int64_t warehouse_id, str id,
                   struct table_row *ret)
{
    LOCKED(st);
    struct m_table *t;
    TRY(table_in(s, cx, warehouse_id, id, &t));
    return table_give(cx, t, ret);
}

static int dir_key(struct ctx *cx, struct buf *b, int64_t warehouse_id, str base, int64_t n)
{
    buf_clear(b);
    buf_add_i64(b, warehouse_id);
    buf_addc(b, '/');
    buf_adds(b, base);
    if (n) {
        buf_addc(b, '-');
        buf_add_i64(b, n);
    }
    return buf_fail(b) ? ctx_nomem(cx) : 0;
}

static int dir_use(struct store_mem *s, struct ctx *cx, int64_t warehouse_id, str dir)
{
    CLEANUP(buf_done) struct buf key = {0};
    TRY(dir_key(cx, &key, warehouse_id, dir, 0));
    if (map_get(&s->dirs, buf_str(&key)))
        return 0;
    FREE struct m_dir *d = mem_zalloc(sizeof(*d) + key.len);
    if (!d)
        return ctx_nomem(cx);
    d->next = 2;
    d->len = key.len;
    memcpy(d->key, key.p, key.len);
    if (map_put(&s->dirs, str_n(d->key, d->len), d) < 0)
        return ctx_nomem(cx);
    d = NULL;
    return 0;
}

static bool within(str outer, str inner)
{
    return str_starts(inner, outer) && (inner.len == outer.len || inner.p[outer.len] == '/');
}

/* Has a table the directory now, or one that is being made or deleted? */
static int dir_lives(struct store_mem *s, struct ctx *cx, int64_t warehouse_id, str dir, bool *ret)
{
    FREE_INTENT struct m_intent *like = NULL;
    struct intent_row row = {.warehouse_id = warehouse_id};
    *ret = false;
    if (!dir.len)
        return 0;
    TRY(sm_intent_of_dir(cx, &row, dir, &like));
    for (struct m_table *t = s->tables; t; t = t->next)
        *ret |= t->db->row.warehouse_id == warehouse_id && str_eq(t->row.dir, dir);
    for (struct m_intent *in = s->intents; in; in = in->next)
        *ret |= in->row.warehouse_id == warehouse_id && !in->row.branch.len &&
                str_eq(in->row.args_json, like->row.args_json);
    return 0;
}

/* Is the directory of an external table its own? */
static int place_free(struct store_mem *s, struct ctx *cx, const struct table_row *in)
{
    bool taken = false;
    if (in->external.len)
        TRY(dir_lives(s, cx, in->warehouse_id, in->dir, &taken));
    for (struct m_table *t = s->tables; in->external.len && t; t = t->next)
        taken |= t->row.external.len &&
                 (within(t->row.external, in->external) || within(in->external, t->row.external));
    if (!taken)
        return 0;
    return ctx_fail(cx, E_CONFLICT, RES_TABLE, in->name,
                    "%.*s is, holds or lies in the directory of another table; two tables cannot "
                    "share files, choose another path or drop the other table first",
                    STR(in->external));
}

int sm_table_place(struct store *st, struct ctx *cx, const struct table_row *in)
{
    LOCKED(st);
    return place_free(s, cx, in);
}

static int main_make(struct ctx *cx, struct m_table *t, const struct table_row *in,
                     const struct head_row *head)
{
    TRY(sm_branch_new(cx, STR_LIT("main"), &t->branches));
    t->branches->schema_id = in->schema_id;
    t->branches->schema_json = str_heap(in->schema_json);
    if (!t->branches->schema_json)
        return ctx_nomem(cx);
    return head ? sm_head_set(cx, t->branches, head) : 0;
}

int sm_table_create(struct store *st, struct ctx *cx, const struct table_row *in, int64_t intent_id,
                    const struct head_row *head, const struct audit *au)
{
    LOCKED(st);
    struct m_db *db;
    FREE struct m_audit *audit = NULL;
    if (sm_db_by_id(s, cx, in->db_id, &db) < 0)
        return sm_db_gone(cx, in->db_name);
    TRY(table_name_free(s, cx, db, in->name));
    struct m_intent **claim = intent_id ? sm_intent_find(s, intent_id) : NULL;
    if (intent_id && !claim)
        return ctx_fail(cx, E_RACE, RES_TABLE, in->name,
                        "the directory claimed for table %.*s was given up meanwhile; create "
                        "the table again",
                        STR(in->name));
    TRY(place_free(s, cx, in));
    CLEANUP(table_free) struct m_table *t = mem_zalloc(sizeof(*t));
    if (!t)
        return ctx_nomem(cx);
    t->row = *in;
    t->db = db;
    TRY(sm_own(cx, TABLE_TEXTS(&t->row), &t->texts));
    TRY(main_make(cx, t, in, head));
    TRY(sm_audit_new(cx, au, &audit));
    if (in->external.len && in->dir.len)
        TRY(dir_use(s, cx, in->warehouse_id, in->dir));
    if (claim)
        sm_intent_unlink(claim);
    t->next = s->tables;
    s->tables = t;
    t = NULL;
    sm_audit_link(s, &audit);
    return 0;
}

/* Puts the changed copy in the place of the table's row. */
static int table_replace(struct ctx *cx, struct m_table *t, struct table_row *row)
{
    void *texts;
    TRY(sm_own(cx, TABLE_TEXTS(row), &texts));
    mem_free(t->texts);
    t->texts = texts;
    t->row = *row;
    return 0;
}

static int still_named(struct store_mem *s, struct ctx *cx, const struct table_named *named)
{
    if (!named->db.p)
        return 0;
    for (struct m_table *t = s->tables; t; t = t->next)
        if (str_eq(t->row.id, named->id) && str_eq(t->db->row.name, named->db) &&
            str_eq(t->row.name, named->name))
            return 0;
    return ctx_fail(cx, E_NOTFOUND, RES_TABLE, named->name, "table %.*s.%.*s does not exist",
                    STR(named->db), STR(named->name));
}

int sm_table_rename(struct store *st, struct ctx *cx, const struct table_named *named,
                    int64_t warehouse_id, str to_db, str to_name, int64_t now_ms, str by,
                    const struct audit *au)
{
    LOCKED(st);
    struct m_table *t;
    FREE struct m_audit *audit = NULL;
    TRY(still_named(s, cx, named));
    TRY(table_in(s, cx, warehouse_id, named->id, &t));
    struct m_db *db = sm_db_named(s, warehouse_id, to_db);
    if (!db)
        return sm_db_gone(cx, to_db);
    TRY(table_name_free(s, cx, db, to_name));
    TRY(sm_audit_new(cx, au, &audit));
    struct table_row row = t->row;
    row.name = to_name;
    row.stamp.updated_ms = now_ms;
    row.stamp.updated_by = by;
    TRY(table_replace(cx, t, &row));
    t->db = db;
    sm_audit_link(s, &audit);
    return 0;
}

int sm_table_altered(struct ctx *cx, const struct m_table *t, str branch,
                     const struct schema_set *to, struct m_altered *ret)
{
    struct table_row row = t->row;
    if (str_eqz(branch, "main"))
        row.type = to->type;
    row.stamp.updated_ms = to->now_ms;
    row.stamp.updated_by = to->by;
    TRY(sm_own(cx, TABLE_TEXTS(&row), &ret->texts));
    ret->row = row;
    return 0;
}

void sm_table_altered_put(struct m_table *t, struct m_altered *a)
{
    mem_free(t->texts);
    t->texts = a->texts;
    t->row = a->row;
}

int sm_table_alter(struct store *st, struct ctx *cx, str id, str branch, int64_t expect_schema_id,
                   const struct schema_set *to, const struct audit *au)
{
    LOCKED(st);
    struct m_table *t;
    struct m_branch *b;
    struct m_altered altered;
    FREE struct m_audit *audit = NULL;
    TRY(sm_table_find(s, cx, id, &t));
    TRY(sm_branch_find(s, cx, id, branch, &b));
    if (b->schema_id != expect_schema_id)
        return ctx_fail(cx, E_RACE, RES_TABLE, id,
                        "the table's schema is %lld by now, not %lld; read it again",
                        (long long)b->schema_id, (long long)expect_schema_id);
    TRY(sm_audit_new(cx, au, &audit));
    char *json = str_heap(to->json);
    int rc = json ? sm_table_altered(cx, t, branch, to, &altered) : ctx_nomem(cx);
    if (rc < 0) {
        mem_free(json);
        return rc;
    }
    sm_table_altered_put(t, &altered);
    mem_free(b->schema_json);
    b->schema_json = json;
    b->schema_id = to->id;
    sm_audit_link(s, &audit);
    return 0;
}

/* --- directories ------------------------------------------------------------------------------ */

/* Leaves in `key` the first name that is free; *ret_n is its number, 0 for base itself. */
static int dir_search(struct store_mem *s, struct ctx *cx, int64_t warehouse_id, str base,
                      struct buf *key, struct m_dir **ret_base, int64_t *ret_n)
{
    TRY(dir_key(cx, key, warehouse_id, base, 0));
    *ret_n = 0;
    *ret_base = map_get(&s->dirs, buf_str(key));
    if (!*ret_base)
        return 0;
    *ret_n = (*ret_base)->next;
    for (;; (*ret_n)++) {
        TRY(dir_key(cx, key, warehouse_id, base, *ret_n));
        if (!map_get(&s->dirs, buf_str(key)))
            return 0;
    }
}

int sm_table_claim(struct store *st, struct ctx *cx, int64_t warehouse_id, str base, int64_t now_ms,
                   str *ret_dir, int64_t *ret_intent)
{
    LOCKED(st);
    CLEANUP(buf_done) struct buf key = {0};
    struct m_dir *of_base;
    int64_t n;
    TRY(sm_want_warehouse(s, cx, warehouse_id));
    TRY(dir_search(s, cx, warehouse_id, base, &key, &of_base, &n));
    str dir = str_cut(buf_str(&key), (size_t)str_find(buf_str(&key), '/') + 1);
    struct intent_row row = {
        .kind = STR_LIT("create"), .warehouse_id = warehouse_id, .created_ms = now_ms};
    FREE_INTENT struct m_intent *intent = NULL;
    TRY(sm_intent_of_dir(cx, &row, dir, &intent));
    str given = str_dup(&cx->arena, dir);
    if (!given.p)
        return ctx_nomem(cx);
    TRY(dir_use(s, cx, warehouse_id, dir));
    if (of_base)
        of_base->next = n + 1;
    *ret_intent = sm_intent_link(s, &intent);
    *ret_dir = given;
    return 0;
}

void sm_dirs_free(struct map *dirs)
{
    size_t pos = 0;
    str key;
    void *d;
    while (map_next(dirs, &pos, &key, &d))
        mem_free(d);
    map_done(dirs);
}

/* --- drop ------------------------------------------------------------------------------------- */

static int purge_new(struct ctx *cx, const struct m_table *t, int64_t now_ms, struct m_intent **ret)
{
    struct intent_row row = {.kind = STR_LIT("purge"),
                             .table_id = t->row.id,
                             .warehouse_id = t->db->row.warehouse_id,
                             .created_ms = now_ms};
    return sm_intent_of_dir(cx, &row, t->row.dir, ret);
}

/* The table is gone after this; nothing of it can fail. */
void sm_table_unlink(struct store_mem *s, struct m_table *t)
{
    struct m_table **at = &s->tables;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    for (struct m_intent **in = &s->intents; *in;)
        if ((*in)->row.branch.len && str_eq((*in)->row.table_id, t->row.id))
            sm_intent_unlink(in);
        else
            in = &(*in)->next;
    table_free(&t);
}

int sm_table_drop(struct store *st, struct ctx *cx, const struct table_named *named, int64_t now_ms,
                  const struct audit *au, struct intent_row *ret)
{
    LOCKED(st);
    struct m_table *t;
    FREE struct m_audit *audit = NULL;
    FREE_INTENT struct m_intent *purge = NULL;
    TRY(still_named(s, cx, named));
    TRY(sm_table_find(s, cx, named->id, &t));
    TRY(sm_audit_new(cx, au, &audit));
    struct intent_row row = {0};
    if (!t->row.external.len) {
        TRY(purge_new(cx, t, now_ms, &purge));
        row = purge->row;
        TRY(sm_lend(cx, INTENT_TEXTS(&row)));
        row.id = sm_intent_link(s, &purge);
    }
    sm_table_unlink(s, t);
    sm_audit_link(s, &audit);
    *ret = row;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    struct m_table *const *x = a, *const *y = b;
    return str_cmp((*x)->row.name, (*y)->row.name);
}

/* What a drop of a database needs, made before anything is changed. */
struct db_drop {
    size_t n, n_purges, n_external;
    struct m_table **tables;
    struct m_intent **purges; /* owned until they are linked */
    struct intent_row *rows;
};

static void drop_done(struct db_drop *d)
{
    for (size_t i = 0; d->purges && i < d->n_purges; i++)
        sm_intent_free(&d->purges[i]);
}

static int drop_prepare(struct store_mem *s, struct ctx *cx, const struct m_db *db, int64_t now_ms,
                        struct db_drop *d)
{
    size_t n = 0;
    for (struct m_table *t = s->tables; t; t = t->next)
        n += t->db == db;
    d->tables = ARENA_ARRAY(&cx->arena, struct m_table *, n);
    d->rows = ARENA_ARRAY(&cx->arena, struct intent_row, n);
    d->purges = ARENA_ARRAY(&cx->arena, struct m_intent *, n);
    if (!d->tables || !d->rows || !d->purges)
        return ctx_nomem(cx);
    for (struct m_table *t = s->tables; t; t = t->next)
        if (t->db == db)
            d->tables[d->n++] = t;
    if (n)
        qsort(d->tables, n, sizeof(struct m_table *), by_name);
    for (size_t i = 0; i < n; i++)
        if (d->tables[i]->row.external.len) {
            struct intent_row *row = &d->rows[d->n_external++];
            *row = (struct intent_row){.table_id = d->tables[i]->row.id};
            TRY(sm_lend(cx, INTENT_TEXTS(row)));
        }
    for (size_t i = 0; i < n; i++) {
        if (d->tables[i]->row.external.len)
            continue;
        TRY(purge_new(cx, d->tables[i], now_ms, &d->purges[d->n_purges]));
        struct intent_row *row = &d->rows[d->n_external + d->n_purges];
        *row = d->purges[d->n_purges++]->row;
        TRY(sm_lend(cx, INTENT_TEXTS(row)));
    }
    return 0;
}

int sm_db_drop(struct store *st, struct ctx *cx, str db_id, int64_t now_ms, const struct audit *au,
               struct intent_row **ret, size_t *ret_n)
{
    LOCKED(st);
    struct m_db *db;
    FREE struct m_audit *audit = NULL;
    CLEANUP(drop_done) struct db_drop d = {0};
    TRY(sm_db_by_id(s, cx, db_id, &db));
    TRY(sm_audit_new(cx, au, &audit));
    TRY(drop_prepare(s, cx, db, now_ms, &d));
    for (size_t i = 0; i < d.n_purges; i++)
        d.rows[d.n_external + i].id = sm_intent_link(s, &d.purges[i]);
    for (size_t i = 0; i < d.n; i++)
        sm_table_unlink(s, d.tables[i]);
    sm_objects_unlink(s, db);
    struct m_db **at = &s->dbs;
    while (*at != db)
        at = &(*at)->next;
    *at = db->next;
    sm_db_free(&db);
    sm_audit_link(s, &audit);
    *ret = d.rows;
    *ret_n = d.n;
    return 0;
}
