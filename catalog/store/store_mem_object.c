/* store_mem_object.c - views and functions in memory, and the names of every kind of object.
 *
 * Thread rule: under `mu`. */
#include "catalog/store/store_mem_int.h"

/* --- names ------------------------------------------------------------------------------------ */

static bool matches(const struct name_match *m, str name)
{
    return m->exact ? str_eq(name, m->text) : str_starts(name, m->text);
}

static int pair_cmp(const struct name_pair *a, const struct name_pair *b)
{
    int c = str_cmp(a->db, b->db);
    return c ? c : str_cmp(a->name, b->name);
}

static int by_pair(const void *a, const void *b)
{
    return pair_cmp(a, b);
}

static bool found(const struct store_find_in *in, const struct m_db *db, str name)
{
    struct name_pair p = {db->row.name, name};
    return db->row.warehouse_id == in->warehouse_id && matches(&in->db, p.db) &&
           matches(&in->name, name) && (in->after.db.len == 0 || pair_cmp(&p, &in->after) > 0);
}

static size_t collect(struct store_mem *s, const struct store_find_in *in, struct name_pair *to)
{
    size_t n = 0;
    for (struct m_table *t = s->tables; t && in->kind == OBJECT_TABLE; t = t->next)
        if (found(in, t->db, t->row.name) && (!in->type.len || str_eq(t->row.type, in->type)))
            to[n++] = (struct name_pair){t->db->row.name, t->row.name};
    for (struct m_object *o = s->objects; o; o = o->next)
        if (o->row.kind == in->kind && found(in, o->db, o->row.name))
            to[n++] = (struct name_pair){o->db->row.name, o->row.name};
    return n;
}

int sm_find(struct store *st, struct ctx *cx, const struct store_find_in *in,
            struct name_pair **ret, size_t *ret_n)
{
    LOCKED(st);
    size_t n = 0, limit = in->limit > 0 ? (size_t)in->limit : 0;
    for (struct m_table *t = s->tables; t; t = t->next)
        n++;
    for (struct m_object *o = s->objects; o; o = o->next)
        n++;
    struct name_pair *pairs = ARENA_ARRAY(&cx->arena, struct name_pair, n);
    if (!pairs)
        return ctx_nomem(cx);
    n = collect(s, in, pairs);
    if (n)
        qsort(pairs, n, sizeof(*pairs), by_pair);
    n = n < limit ? n : limit;
    for (size_t i = 0; i < n; i++)
        TRY(sm_lend(cx, ((str *[]){&pairs[i].db, &pairs[i].name, NULL})));
    *ret = pairs;
    *ret_n = n;
    return 0;
}

/* --- views and functions ---------------------------------------------------------------------- */

static const char *kind_name(enum object_kind k)
{
    return k == OBJECT_VIEW ? "view" : "function";
}

static enum res kind_res(enum object_kind k)
{
    return k == OBJECT_VIEW ? RES_VIEW : RES_FUNCTION;
}

static struct m_object *named(struct store_mem *s, const struct m_db *db, enum object_kind kind,
                              str name)
{
    struct m_object *o = s->objects;
    while (o && (o->db != db || o->row.kind != kind || !str_eq(o->row.name, name)))
        o = o->next;
    return o;
}

static int find_db(struct store_mem *s, struct ctx *cx, int64_t warehouse_id, str name,
                   struct m_db **ret)
{
    *ret = sm_db_named(s, warehouse_id, name);
    return *ret ? 0 : sm_db_gone(cx, name);
}

static int find_object(struct store_mem *s, struct ctx *cx, int64_t warehouse_id,
                       enum object_kind kind, str db_name, str name, struct m_object **ret)
{
    struct m_db *db;
    TRY(find_db(s, cx, warehouse_id, db_name, &db));
    *ret = named(s, db, kind, name);
    return *ret ? 0
                : ctx_fail(cx, E_NOTFOUND, kind_res(kind), name, "%s %.*s.%.*s does not exist",
                           kind_name(kind), STR(db_name), STR(name));
}

static int name_free(struct store_mem *s, struct ctx *cx, const struct m_db *db,
                     enum object_kind kind, str name)
{
    return named(s, db, kind, name)
               ? ctx_fail(cx, E_EXISTS, kind_res(kind), name, "%s %.*s.%.*s exists already",
                          kind_name(kind), STR(db->row.name), STR(name))
               : 0;
}

static void object_free(struct m_object **o)
{
    if (*o) {
        mem_free((*o)->texts);
        mem_free(*o);
    }
}

static void unlink_at(struct m_object **at)
{
    struct m_object *o = *at;
    *at = o->next;
    object_free(&o);
}

void sm_objects_unlink(struct store_mem *s, const struct m_db *db)
{
    for (struct m_object **at = &s->objects; *at;)
        if (!db || (*at)->db == db)
            unlink_at(at);
        else
            at = &(*at)->next;
}

static int give(struct ctx *cx, const struct m_object *o, struct object_row *ret)
{
    struct object_row row = o->row;
    row.db_name = o->db->row.name;
    row.warehouse_id = o->db->row.warehouse_id;
    TRY(sm_lend(cx, OBJECT_TEXTS(&row)));
    *ret = row;
    return 0;
}

int sm_object_create(struct store *st, struct ctx *cx, const struct object_row *in,
                     const struct audit *au)
{
    LOCKED(st);
    struct m_db *db;
    FREE struct m_audit *audit = NULL;
    TRY(find_db(s, cx, in->warehouse_id, in->db_name, &db));
    TRY(name_free(s, cx, db, in->kind, in->name));
    CLEANUP(object_free) struct m_object *o = mem_zalloc(sizeof(*o));
    if (!o)
        return ctx_nomem(cx);
    o->row = *in;
    o->db = db;
    TRY(sm_own(cx, OBJECT_TEXTS(&o->row), &o->texts));
    TRY(sm_audit_new(cx, au, &audit));
    o->next = s->objects;
    s->objects = o;
    o = NULL;
    sm_audit_link(s, &audit);
    return 0;
}

int sm_object_get(struct store *st, struct ctx *cx, int64_t warehouse_id, enum object_kind kind,
                  str db, str name, struct object_row *ret)
{
    LOCKED(st);
    struct m_object *o;
    TRY(find_object(s, cx, warehouse_id, kind, db, name, &o));
    return give(cx, o, ret);
}

static int by_name(const void *a, const void *b)
{
    const struct m_object *const *x = a, *const *y = b;
    return str_cmp((*x)->row.name, (*y)->row.name);
}

static size_t rows_of(struct store_mem *s, const struct store_objects_in *in, struct m_object **to)
{
    size_t n = 0;
    for (struct m_object *o = s->objects; o; o = o->next)
        if (o->row.kind == in->kind && o->db->row.warehouse_id == in->warehouse_id &&
            str_eq(o->db->row.name, in->db) && matches(&in->name, o->row.name) &&
            (in->after.len == 0 || str_cmp(o->row.name, in->after) > 0))
            to[n++] = o;
    if (n)
        qsort(to, n, sizeof(struct m_object *), by_name);
    return n;
}

int sm_object_list(struct store *st, struct ctx *cx, const struct store_objects_in *in,
                   struct object_row **ret, size_t *ret_n)
{
    LOCKED(st);
    size_t n = 0, bytes = 0, limit = in->limit > 0 ? (size_t)in->limit : 0;
    for (struct m_object *o = s->objects; o; o = o->next)
        n++;
    struct m_object **at = ARENA_ARRAY(&cx->arena, struct m_object *, n);
    struct object_row *rows = ARENA_ARRAY(&cx->arena, struct object_row, n);
    if (!at || !rows)
        return ctx_nomem(cx);
    n = rows_of(s, in, at);
    n = n < limit ? n : limit;
    for (size_t i = 0; i < n; i++) {
        bytes += at[i]->row.json.len;
        if (bytes > in->bytes_max)
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "the answer is larger than %zu bytes; ask for fewer items with "
                            "maxResults",
                            in->bytes_max);
        TRY(give(cx, at[i], &rows[i]));
    }
    *ret = rows;
    *ret_n = n;
    return 0;
}

/* Puts the changed copy in the place of the object's row. */
static int replace(struct ctx *cx, struct m_object *o, struct object_row *row)
{
    void *texts;
    TRY(sm_own(cx, OBJECT_TEXTS(row), &texts));
    mem_free(o->texts);
    o->texts = texts;
    o->row = *row;
    return 0;
}

int sm_object_alter(struct store *st, struct ctx *cx, enum object_kind kind, str id,
                    str expect_json, str json, int64_t now_ms, str by, const struct audit *au)
{
    LOCKED(st);
    FREE struct m_audit *audit = NULL;
    struct m_object *o = s->objects;
    while (o && (o->row.kind != kind || !str_eq(o->row.id, id)))
        o = o->next;
    if (!o)
        return ctx_fail(cx, E_NOTFOUND, kind_res(kind), id,
                        "the %s with id %.*s does not exist (any more)", kind_name(kind), STR(id));
    if (!str_eq(o->row.json, expect_json))
        return ctx_fail(cx, E_RACE, kind_res(kind), id, "the %s changed meanwhile; read it again",
                        kind_name(kind));
    TRY(sm_audit_new(cx, au, &audit));
    struct object_row row = o->row;
    row.json = json;
    row.stamp.updated_ms = now_ms;
    row.stamp.updated_by = by;
    TRY(replace(cx, o, &row));
    sm_audit_link(s, &audit);
    return 0;
}

int sm_object_rename(struct store *st, struct ctx *cx, const struct store_object_rename_in *in,
                     const struct audit *au)
{
    LOCKED(st);
    struct m_object *o;
    struct m_db *db;
    FREE struct m_audit *audit = NULL;
    TRY(find_object(s, cx, in->warehouse_id, in->kind, in->from.db, in->from.name, &o));
    TRY(find_db(s, cx, in->warehouse_id, in->to.db, &db));
    TRY(name_free(s, cx, db, in->kind, in->to.name));
    TRY(sm_audit_new(cx, au, &audit));
    struct object_row row = o->row;
    row.name = in->to.name;
    row.stamp.updated_ms = in->now_ms;
    row.stamp.updated_by = in->by;
    TRY(replace(cx, o, &row));
    o->db = db;
    sm_audit_link(s, &audit);
    return 0;
}

int sm_object_drop(struct store *st, struct ctx *cx, int64_t warehouse_id, enum object_kind kind,
                   str db, str name, const struct audit *au)
{
    LOCKED(st);
    struct m_object *o;
    FREE struct m_audit *audit = NULL;
    TRY(find_object(s, cx, warehouse_id, kind, db, name, &o));
    TRY(sm_audit_new(cx, au, &audit));
    struct m_object **at = &s->objects;
    while (*at != o)
        at = &(*at)->next;
    unlink_at(at);
    sm_audit_link(s, &audit);
    return 0;
}
