/* object.c - names of tables, views and functions; what views and functions have in common.
 *
 * An alteration reads the stored JSON, applies the changes in their order (a part that one change
 * adds can be dropped by the next) and stores the result on condition that nobody stored another
 * one meanwhile; else it starts again from that one. Nothing is kept in memory.
 *
 * Options and parts are looked up by hash, since both lists and changes may be long. */
#include "catalog/object_int.h"

#include "manifest/types.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/rand.h"

#define DETAILS_BYTES_MAX ((size_t)32 << 20) /* of JSON in one page */
#define ALTER_TRIES       10

static const struct object_spec *spec_of(enum object_kind k)
{
    return k == OBJECT_VIEW ? &view_spec : &function_spec;
}

/* --- named values ----------------------------------------------------------------------------- */

struct entry {
    struct entry *next;
    str key, raw; /* raw: JSON; absent: it was taken out */
};
struct entries { /* in the order they came; all in an arena but the index */
    struct entry *first, **last;
    struct map index;
};

static void entries_done(struct entries *e)
{
    map_done(&e->index);
}

static bool entries_has(const struct entries *e, str key)
{
    struct entry *at = map_get(&e->index, key);
    return at && at->raw.p;
}

static int entries_set(struct ctx *cx, struct entries *e, str key, str raw)
{
    struct entry *at = map_get(&e->index, key);
    if (at) {
        at->raw = raw;
        return 0;
    }
    at = ARENA_NEW(&cx->arena, struct entry);
    if (!at)
        return ctx_nomem(cx);
    *at = (struct entry){.key = key, .raw = raw};
    if (map_put(&e->index, at->key, at) < 0)
        return ctx_nomem(cx);
    *e->last = at;
    e->last = &at->next;
    return 0;
}

static void entries_del(struct entries *e, str key)
{
    struct entry *at = map_get(&e->index, key);
    if (at)
        at->raw = STR_NONE;
}

/* `obj` may be NULL. e must be zero or just done; it is to be done even when this fails. */
static int entries_load(struct ctx *cx, struct entries *e, const struct json *obj)
{
    map_init(&e->index);
    e->first = NULL;
    e->last = &e->first;
    if (obj)
        JSON_EACH (it, obj)
            TRY(entries_set(cx, e, it->key, it->raw));
    return 0;
}

static void entries_put(struct json_out *o, const char *key, const struct entries *e)
{
    json_key(o, key);
    json_obj(o);
    for (const struct entry *at = e->first; at; at = at->next)
        if (at->raw.p) {
            json_keys(o, at->key);
            json_raw(o, at->raw);
        }
    json_end(o);
}

/* --- the JSON of a new one -------------------------------------------------------------------- */

static const char *member(char path[128], const char *of, const char *key)
{
    snprintf(path, 128, "%s%s%s", of, of[0] ? "." : "", key);
    return path;
}

static int parts_check(struct ctx *cx, const struct object_spec *s, const struct json *parts,
                       const char *path)
{
    char at[256];
    if (parts)
        JSON_EACH (it, parts) {
            snprintf(at, sizeof(at), "%.128s.%.*s", path,
                     (int)(it->key.len < 40 ? it->key.len : 40), it->key.p);
            TRY(s->check_part(cx, it, at));
        }
    return 0;
}

static void comment_put(struct json_out *o, const struct object_spec *s, str raw)
{
    if (raw.p)
        json_kraw(o, "comment", raw);
    else if (s->comment_null)
        json_kstr(o, "comment", STR_NONE);
}

int object_tail(struct ctx *cx, const struct object_spec *s, const struct json *in,
                const char *path, struct json_out *o)
{
    char at[128];
    const struct json *parts, *options;
    str comment;
    TRY(json_opt_obj(cx, in, path, s->parts, &parts));
    TRY(parts_check(cx, s, parts, member(at, path, s->parts)));
    TRY(json_opt_obj(cx, in, path, "options", &options));
    TRY(json_check_str_map(cx, options, member(at, path, "options")));
    TRY(json_opt_str(cx, in, path, "comment", &comment));
    json_kraw(o, s->parts, parts ? parts->raw : STR_LIT("{}"));
    json_kraw(o, "options", options ? options->raw : STR_LIT("{}"));
    comment_put(o, s, comment.p ? json_get(in, "comment")->raw : STR_NONE);
    return 0;
}

int object_fields_put(struct ctx *cx, const struct json *arr, const char *path, const char *key,
                      struct json_out *o)
{
    const struct data_field *fields;
    size_t n;
    if (!arr) {
        json_kstr(o, key, STR_NONE);
        return 0;
    }
    TRY(types_decode_fields(cx, arr, path, false, &fields, &n));
    json_key(o, key);
    json_arr(o);
    for (size_t i = 0; i < n; i++)
        types_encode_field(o, &fields[i]);
    json_end(o);
    return 0;
}

/* --- create ----------------------------------------------------------------------------------- */

int object_db_check(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db)
{
    struct db_row row;
    return STORE(c->o.store, db_get, cx, w->id, db, &row);
}

static int json_size(struct ctx *cx, const struct object_spec *s, const struct buf *json, str name)
{
    if (buf_fail(json))
        return ctx_nomem(cx);
    if (json->len <= OBJECT_JSON_MAX)
        return 0;
    return ctx_fail(cx, E_TOOBIG, s->res, name,
                    "%s %.*s would have %zu bytes of JSON; at most %zu are kept, make it smaller",
                    s->name, STR(name), json->len, OBJECT_JSON_MAX);
}

int object_create(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                  const struct object_spec *s, str db, str name, const struct buf *json)
{
    char id[UUID_LEN + 1];
    struct audit au;
    TRY(json_size(cx, s, json, name));
    rand_uuid(id);
    struct object_row row = {.id = str_of(id),
                             .kind = s->kind,
                             .db_name = db,
                             .warehouse_id = w->id,
                             .name = name,
                             .json = buf_str(json)};
    stamp_now(cx, &row.stamp);
    audit_fill(cx, &au, s->created.audit, w, db, name);
    TRY(STORE(c->o.store, object_create, cx, &row, &au));
    log_info("catalog", s->created.event, LS("db", db), LS("name", name), LS("by", cx->principal),
             LS("req", cx->request_id));
    return 0;
}

/* --- alter ------------------------------------------------------------------------------------ */

struct altered { /* what the changes work on */
    const struct object_spec *s;
    struct entries parts, options;
    str comment; /* raw; STR_NONE: none */
};

static void altered_done(struct altered *a)
{
    entries_done(&a->parts);
    entries_done(&a->options);
}

static int altered_load(struct ctx *cx, struct altered *a, const struct json *stored)
{
    const struct json *comment = json_get(stored, "comment");
    a->comment = json_is_null(comment) ? STR_NONE : comment->raw;
    TRY(entries_load(cx, &a->parts, json_get(stored, a->s->parts)));
    return entries_load(cx, &a->options, json_get(stored, "options"));
}

static int part_there(struct ctx *cx, const struct altered *a, str key, bool want)
{
    if (entries_has(&a->parts, key) == want)
        return 0;
    if (want)
        return ctx_fail(cx, E_NOTFOUND, a->s->part_res, key, "the %s has no %s '%.*s'", a->s->name,
                        a->s->part, STR(key));
    return ctx_fail(cx, E_EXISTS, a->s->part_res, key, "the %s has a %s '%.*s' already", a->s->name,
                    a->s->part, STR(key));
}

static int part_change(struct ctx *cx, struct altered *a, const struct json *change,
                       const char *path, str action)
{
    const struct object_spec *s = a->s;
    char at[128];
    str key;
    TRY(json_want_str(cx, change, path, s->part_key, &key));
    if (str_eqz(action, s->drop)) {
        TRY(part_there(cx, a, key, true));
        entries_del(&a->parts, key);
        return 0;
    }
    const struct json *value = json_get(change, s->part_value);
    member(at, path, s->part_value);
    if (json_is_null(value))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s is missing", at);
    TRY(s->check_part(cx, value, at));
    TRY(part_there(cx, a, key, str_eqz(action, s->update)));
    return entries_set(cx, &a->parts, key, value->raw);
}

static int option_change(struct ctx *cx, struct altered *a, const struct json *change,
                         const char *path, bool set)
{
    str key, value;
    TRY(json_want_str(cx, change, path, "key", &key));
    if (!set) {
        entries_del(&a->options, key);
        return 0;
    }
    TRY(json_want_str(cx, change, path, "value", &value));
    return entries_set(cx, &a->options, key, json_get(change, "value")->raw);
}

static int change_apply(struct ctx *cx, struct altered *a, const struct json *change,
                        const char *path)
{
    const struct object_spec *s = a->s;
    str action, comment;
    TRY(json_want_str(cx, change, path, "action", &action));
    bool set = str_eqz(action, "setOption");
    if (set || str_eqz(action, "removeOption"))
        return option_change(cx, a, change, path, set);
    if (str_eqz(action, s->add) || str_eqz(action, s->update) || str_eqz(action, s->drop))
        return part_change(cx, a, change, path, action);
    if (!str_eqz(action, "updateComment"))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "%s.action is \"%.*s\"; a %s takes setOption, removeOption, updateComment, "
                        "%s, %s, %s",
                        path, (int)(action.len < 64 ? action.len : 64), action.p, s->name, s->add,
                        s->update, s->drop);
    TRY(json_opt_str(cx, change, path, "comment", &comment));
    a->comment = comment.p ? json_get(change, "comment")->raw : STR_NONE;
    return 0;
}

static int changes_apply(struct ctx *cx, struct altered *a, const struct json *changes)
{
    size_t i = 0;
    JSON_EACH (it, changes) {
        char path[48];
        snprintf(path, sizeof(path), "changes[%zu]", i++);
        TRY(change_apply(cx, a, it, path));
    }
    return 0;
}

static int altered_text(struct ctx *cx, const struct altered *a, const struct json *stored,
                        str name, struct buf *out)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    JSON_EACH (it, stored)
        if (str_eqz(it->key, a->s->parts)) {
            entries_put(&o, a->s->parts, &a->parts);
        } else if (str_eqz(it->key, "options")) {
            entries_put(&o, "options", &a->options);
        } else if (!str_eqz(it->key, "comment")) {
            json_keys(&o, it->key);
            json_raw(&o, it->raw);
        }
    comment_put(&o, a->s, a->comment);
    json_end(&o);
    return json_size(cx, a->s, out, name);
}

/* 0, an error, or E_RACE: somebody else was faster. */
static int alter_once(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                      const struct object_spec *s, str db, str name, const struct json *changes)
{
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(altered_done) struct altered a = {.s = s};
    struct object_row row;
    const struct json *stored;
    struct audit au;
    TRY(STORE(c->o.store, object_get, cx, w->id, s->kind, db, name, &row));
    TRY(ctx_check_deadline(cx));
    TRY(json_parse(cx, row.json, "stored object", &stored));
    TRY(altered_load(cx, &a, stored));
    TRY(changes_apply(cx, &a, changes));
    TRY(altered_text(cx, &a, stored, name, &text));
    audit_fill(cx, &au, s->altered.audit, w, db, name);
    int rc = STORE(c->o.store, object_alter, cx, s->kind, row.id, row.json, buf_str(&text),
                   clock_wall_ms(), cx->principal, &au);
    return rc == E_NOTFOUND ? E_RACE : rc; /* gone meanwhile: the next look says so */
}

int object_alter(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                 const struct object_spec *s, str db, str name, const struct json *changes)
{
    int rc = E_RACE;
    for (int tries = 0; rc == E_RACE && tries < ALTER_TRIES; tries++) {
        ctx_reset_err(cx);
        rc = alter_once(cx, c, w, s, db, name, changes);
    }
    if (rc == E_RACE)
        return ctx_fail(cx, E_BUSY, s->res, name,
                        "others alter %s %.*s all the time and nothing was done; try again",
                        s->name, STR(name));
    TRY(rc);
    log_info("catalog", s->altered.event, LS("db", db), LS("name", name), LS("by", cx->principal),
             LS("req", cx->request_id));
    return 0;
}

/* --- rename, drop, get ------------------------------------------------------------------------ */

int object_rename(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                  const struct object_spec *s, const struct name_pair *from,
                  const struct name_pair *to)
{
    struct audit au;
    struct store_object_rename_in in = {.warehouse_id = w->id,
                                        .kind = s->kind,
                                        .from = *from,
                                        .to = *to,
                                        .now_ms = clock_wall_ms(),
                                        .by = cx->principal};
    audit_fill(cx, &au, s->renamed.audit, w, from->db, from->name);
    au.detail = to->name;
    TRY(STORE(c->o.store, object_rename, cx, &in, &au));
    log_info("catalog", s->renamed.event, LS("db", from->db), LS("name", from->name),
             LS("to_db", to->db), LS("to", to->name), LS("by", cx->principal),
             LS("req", cx->request_id));
    return 0;
}

int cat_object_drop(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                    enum object_kind kind, str db, str name)
{
    const struct object_spec *s = spec_of(kind);
    struct audit au;
    audit_fill(cx, &au, s->dropped.audit, w, db, name);
    TRY(STORE(c->o.store, object_drop, cx, w->id, kind, db, name, &au));
    log_info("catalog", s->dropped.event, LS("db", db), LS("name", name), LS("by", cx->principal),
             LS("req", cx->request_id));
    return 0;
}

int cat_object_get(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                   enum object_kind kind, str db, str name, struct object_row *ret)
{
    return STORE(c->o.store, object_get, cx, w->id, kind, db, name, ret);
}

/* --- lists ------------------------------------------------------------------------------------ */

int cat_find(struct ctx *cx, struct catalog *c, const struct warehouse *w,
             const struct store_find_in *in, struct name_pair **ret, size_t *ret_n)
{
    struct store_find_in here = *in;
    here.warehouse_id = w->id;
    return STORE(c->o.store, find, cx, &here, ret, ret_n);
}

int cat_names(struct ctx *cx, struct catalog *c, const struct warehouse *w, enum object_kind kind,
              str db, const struct page_in *in, str type, str **ret, size_t *ret_n)
{
    struct name_pair *pairs;
    size_t n;
    struct store_find_in fi = {.kind = kind,
                               .db = {db, true},
                               .name = {in->prefix, in->exact},
                               .type = type,
                               .after = {db, in->after},
                               .limit = in->limit};
    TRY(object_db_check(cx, c, w, db));
    TRY(cat_find(cx, c, w, &fi, &pairs, &n));
    str *names = ARENA_ARRAY(&cx->arena, str, n + 1);
    if (!names)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++)
        names[i] = pairs[i].name;
    *ret = names;
    *ret_n = n;
    return 0;
}

int cat_object_details(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                       enum object_kind kind, str db, const struct page_in *in,
                       struct object_row **ret, size_t *ret_n)
{
    struct store_objects_in oi = {.warehouse_id = w->id,
                                  .kind = kind,
                                  .db = db,
                                  .name = {in->prefix, in->exact},
                                  .after = in->after,
                                  .limit = in->limit,
                                  .bytes_max = DETAILS_BYTES_MAX};
    TRY(object_db_check(cx, c, w, db));
    return STORE(c->o.store, object_list, cx, &oi, ret, ret_n);
}
