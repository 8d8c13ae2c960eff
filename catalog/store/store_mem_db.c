/* store_mem_db.c - databases in memory, and pages of names.
 *
 * Thread rule: under `mu`. */
#include "catalog/store/store_mem_int.h"

/* --- databases -------------------------------------------------------------------------------- */

struct m_db *sm_db_named(struct store_mem *s, int64_t warehouse_id, str name)
{
    struct m_db *db = s->dbs;
    while (db && (db->row.warehouse_id != warehouse_id || !str_eq(db->row.name, name)))
        db = db->next;
    return db;
}

int sm_db_gone(struct ctx *cx, str name)
{
    return ctx_fail(cx, E_NOTFOUND, RES_DATABASE, name, "database %.*s does not exist", STR(name));
}

int sm_db_by_id(struct store_mem *s, struct ctx *cx, str id, struct m_db **ret)
{
    for (struct m_db *db = s->dbs; db; db = db->next)
        if (str_eq(db->row.id, id)) {
            *ret = db;
            return 0;
        }
    return sm_db_gone(cx, id);
}

void sm_db_free(struct m_db **db)
{
    if (*db) {
        mem_free((*db)->texts);
        mem_free(*db);
    }
}

int sm_db_create(struct store *st, struct ctx *cx, const struct db_row *in, const struct audit *au)
{
    LOCKED(st);
    FREE struct m_audit *audit = NULL;
    if (sm_db_named(s, in->warehouse_id, in->name))
        return ctx_fail(cx, E_EXISTS, RES_DATABASE, in->name, "database %.*s exists already",
                        STR(in->name));
    TRY(sm_want_warehouse(s, cx, in->warehouse_id));
    CLEANUP(sm_db_free) struct m_db *db = mem_zalloc(sizeof(*db));
    if (!db)
        return ctx_nomem(cx);
    db->row = *in;
    TRY(sm_own(cx, DB_TEXTS(&db->row), &db->texts));
    TRY(sm_audit_new(cx, au, &audit));
    db->next = s->dbs;
    s->dbs = db;
    db = NULL;
    sm_audit_link(s, &audit);
    return 0;
}

int sm_db_get(struct store *st, struct ctx *cx, int64_t warehouse_id, str name, struct db_row *ret)
{
    LOCKED(st);
    struct m_db *db = sm_db_named(s, warehouse_id, name);
    if (!db)
        return sm_db_gone(cx, name);
    struct db_row row = db->row;
    TRY(sm_lend(cx, DB_TEXTS(&row)));
    *ret = row;
    return 0;
}

int sm_db_alter(struct store *st, struct ctx *cx, str db_id, str expect_options_json,
                str options_json, int64_t now_ms, str by, const struct audit *au)
{
    LOCKED(st);
    struct m_db *db;
    FREE struct m_audit *audit = NULL;
    TRY(sm_db_by_id(s, cx, db_id, &db));
    if (!str_eq(db->row.options_json, expect_options_json))
        return ctx_fail(cx, E_RACE, RES_DATABASE, db_id,
                        "the options of the database changed meanwhile; read them again");
    struct db_row row = db->row;
    row.options_json = options_json;
    row.stamp.updated_ms = now_ms;
    row.stamp.updated_by = by;
    TRY(sm_audit_new(cx, au, &audit));
    void *texts;
    TRY(sm_own(cx, DB_TEXTS(&row), &texts));
    mem_free(db->texts);
    db->texts = texts;
    db->row = row;
    sm_audit_link(s, &audit);
    return 0;
}

/* --- lists of names --------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static bool listed(const struct store_list_in *in, str name)
{
    return (in->after.len == 0 || str_cmp(name, in->after) > 0) && str_starts(name, in->prefix);
}

/* `names` holds n names of the lists; sorts them, cuts them to the limit and copies their bytes. */
static int names_give(struct ctx *cx, const struct store_list_in *in, str *names, size_t n,
                      str **ret, size_t *ret_n)
{
    size_t limit = in->limit > 0 ? (size_t)in->limit : 0;
    if (n)
        qsort(names, n, sizeof(*names), by_bytes);
    n = n < limit ? n : limit;
    for (size_t i = 0; i < n; i++)
        TRY(sm_lend(cx, ((str *[]){&names[i], NULL})));
    *ret = names;
    *ret_n = n;
    return 0;
}

int sm_db_list(struct store *st, struct ctx *cx, int64_t warehouse_id,
               const struct store_list_in *in, str **ret, size_t *ret_n)
{
    LOCKED(st);
    size_t n = 0;
    for (struct m_db *db = s->dbs; db; db = db->next)
        n++;
    str *names = ARENA_ARRAY(&cx->arena, str, n);
    if (!names)
        return ctx_nomem(cx);
    n = 0;
    for (struct m_db *db = s->dbs; db; db = db->next)
        if (db->row.warehouse_id == warehouse_id && listed(in, db->row.name))
            names[n++] = db->row.name;
    return names_give(cx, in, names, n, ret, ret_n);
}
