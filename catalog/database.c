/* database.c - databases: rows in the store, and a directory name each.
 *
 * A database's directory (below the warehouse root) is made with its first table. Dropping one
 * drops its tables, views and functions in the same transaction; directories follow as purges. */
#include "catalog/catalog_int.h"

#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/path.h"
#include "proto/base/rand.h"
#include "proto/json/json.h"

#define ALTER_TRIES 50

void stamp_now(struct ctx *cx, struct stamp *s)
{
    int64_t now = clock_wall_ms();
    str who = cx->principal.len ? cx->principal : STR_LIT("latch");
    *s = (struct stamp){
        .owner = who, .created_by = who, .updated_by = who, .created_ms = now, .updated_ms = now};
}

/* The server chooses the directories. */
static int no_location(struct ctx *cx, str name, const struct json *options)
{
    if (!options || !json_get(options, "location"))
        return 0;
    return ctx_fail(
        cx, E_INVAL, RES_DATABASE, name,
        "option 'location' of a database cannot be set: the server keeps databases below "
        "the warehouse; leave it out");
}

int cat_db_create(struct ctx *cx, struct catalog *c, const struct warehouse *w, str name,
                  str options_json)
{
    char id[UUID_LEN + 1];
    const struct json *options = NULL;
    struct audit au;
    CLEANUP(buf_done) struct buf dir = {0};

    TRY(path_object_name(cx, name, "database name"));
    if (str_eqz(name, "sys"))
        return ctx_fail(cx, E_INVAL, RES_DATABASE, name,
                        "'sys' is Paimon's own system database; choose another name");
    if (options_json.len)
        TRY(json_parse(cx, options_json, "options", &options));
    TRY(no_location(cx, name, options));
    path_dir_name(&dir, name);
    buf_adds(&dir, c->o.database_suffix);
    if (buf_fail(&dir))
        return ctx_nomem(cx);
    rand_uuid(id);
    struct db_row row = {.id = str_of(id),
                         .warehouse_id = w->id,
                         .name = name,
                         .dir = buf_str(&dir),
                         .options_json = options_json.len ? options_json : STR_LIT("{}")};
    stamp_now(cx, &row.stamp);
    audit_fill(cx, &au, "database.create", w, name, STR_NONE);
    TRY(STORE(c->o.store, db_create, cx, &row, &au));
    log_info("catalog", "database.created", LS("db", name), LS("by", cx->principal),
             LS("req", cx->request_id));
    return 0;
}

int cat_db_get(struct ctx *cx, struct catalog *c, const struct warehouse *w, str name,
               struct database *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct database d;
    TRY(STORE(c->o.store, db_get, cx, w->id, name, &d.row));
    buf_addf(&b, "file://%s/%.*s", w->root, STR(d.row.dir));
    d.location = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    if (!d.location.p)
        return ctx_nomem(cx);
    *ret = d;
    return 0;
}

int list_one(struct ctx *cx, bool hit, str name, str **ret, size_t *ret_n)
{
    ctx_reset_err(cx);
    str *one = ARENA_NEW(&cx->arena, str);
    if (!one)
        return ctx_nomem(cx);
    if (hit)
        *one = name;
    *ret = one;
    *ret_n = hit ? 1 : 0;
    return 0;
}

int cat_db_list(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                const struct page_in *in, str **ret, size_t *ret_n)
{
    struct store_list_in li = {.after = in->after, .prefix = in->prefix, .limit = in->limit};
    struct db_row row;
    if (!in->exact)
        return STORE(c->o.store, db_list, cx, w->id, &li, ret, ret_n);

    int rc = STORE(c->o.store, db_get, cx, w->id, in->prefix, &row);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    return list_one(cx, rc == 0 && str_cmp(row.name, in->after) > 0, row.name, ret, ret_n);
}

/* The strings of an array, or the keys of an object, to be looked up: an option list may be long. */
static int index_of(struct ctx *cx, const struct json *j, bool keys, struct map *ret)
{
    map_init(ret);
    if (j)
        JSON_EACH (it, j)
            if (map_put(ret, keys ? it->key : it->s, (void *)it) < 0) {
                map_done(ret);
                return ctx_nomem(cx);
            }
    return 0;
}

static str *str_array(struct ctx *cx, const struct json *like)
{
    return ARENA_ARRAY(&cx->arena, str, like && like->n ? like->n : 1);
}

/* What an alteration is made of, indexed. */
struct alter {
    const struct json *old, *removals, *updates;
    struct map in_old, in_removals, in_updates;
};

static void alter_done(struct alter *a)
{
    map_done(&a->in_old);
    map_done(&a->in_removals);
    map_done(&a->in_updates);
}

static int alter_init(struct ctx *cx, struct alter *a)
{
    TRY(index_of(cx, a->old, true, &a->in_old));
    TRY(index_of(cx, a->removals, false, &a->in_removals));
    TRY(index_of(cx, a->updates, true, &a->in_updates));
    if (a->updates)
        JSON_EACH (it, a->updates)
            if (map_get(&a->in_removals, it->key))
                return ctx_fail(cx, E_INVAL, RES_DATABASE, it->key,
                                "option '%.*s' is in removals and in updates; keep one of the two",
                                STR(it->key));
    return 0;
}

/* The options after removals and updates, as JSON text; tells what happened to each key. */
static int options_apply(struct ctx *cx, const struct alter *a, struct buf *out,
                         struct db_alter_out *ret)
{
    struct json_out o;
    ret->removed = str_array(cx, a->removals);
    ret->missing = str_array(cx, a->removals);
    ret->updated = str_array(cx, a->updates);
    if (!ret->removed || !ret->missing || !ret->updated)
        return ctx_nomem(cx);
    json_out_init(&o, out);
    json_obj(&o);
    JSON_EACH (it, a->old)
        if (!map_get(&a->in_updates, it->key) && !map_get(&a->in_removals, it->key)) {
            json_keys(&o, it->key);
            json_str(&o, it->s);
        }
    if (a->updates)
        JSON_EACH (it, a->updates) {
            json_keys(&o, it->key);
            json_str(&o, it->s);
            ret->updated[ret->n_updated++] = it->key;
        }
    json_end(&o);
    if (a->removals)
        JSON_EACH (it, a->removals) {
            if (map_get(&a->in_old, it->s))
                ret->removed[ret->n_removed++] = it->s;
            else
                ret->missing[ret->n_missing++] = it->s;
        }
    return buf_fail(out) ? ctx_nomem(cx) : 0;
}

/* The store was asked by the id that the name had a moment ago; the caller knows the name only. */
static int gone(struct ctx *cx, int rc, str name)
{
    if (rc != E_NOTFOUND)
        return rc;
    return ctx_fail(cx, E_NOTFOUND, RES_DATABASE, name, "database %.*s does not exist", STR(name));
}

/* Another alter came in between. One of those who race always gets through, so all do in the end; each
 * waits a little longer than the last time. */
static int alter_again(struct ctx *cx, str name, int attempt)
{
    if (attempt == ALTER_TRIES)
        return ctx_fail(
            cx, E_BUSY, RES_DATABASE, name,
            "too many change the options of database %.*s at once and nothing was done; "
            "try again",
            STR(name));
    ctx_reset_err(cx);
    usleep((useconds_t)(rand_u64() % (200u * (unsigned)(attempt + 1))));
    return 0;
}

int cat_db_alter(struct ctx *cx, struct catalog *c, const struct warehouse *w, str name,
                 const struct json *removals, const struct json *updates, struct db_alter_out *ret)
{
    TRY(no_location(cx, name, updates));
    for (int attempt = 1;; attempt++) {
        CLEANUP(buf_done) struct buf text = {0};
        struct db_row row;
        struct db_alter_out out = {0};
        CLEANUP(alter_done) struct alter a = {.removals = removals, .updates = updates};
        struct audit au;

        TRY(STORE(c->o.store, db_get, cx, w->id, name, &row));
        TRY(ctx_check_deadline(cx));
        TRY(json_parse(cx, row.options_json, "stored options", &a.old));
        TRY(alter_init(cx, &a));
        TRY(options_apply(cx, &a, &text, &out));
        audit_fill(cx, &au, "database.alter", w, name, STR_NONE);
        int rc = STORE(c->o.store, db_alter, cx, row.id, row.options_json, buf_str(&text),
                       clock_wall_ms(), cx->principal, &au);
        if (rc == E_RACE) {
            TRY(alter_again(cx, name, attempt));
            continue;
        }
        TRY(gone(cx, rc, name));
        log_info("catalog", "database.altered", LS("db", name), LS("by", cx->principal),
                 LS("req", cx->request_id));
        *ret = out;
        return 0;
    }
}

int cat_db_drop(struct ctx *cx, struct catalog *c, const struct warehouse *w, str name)
{
    struct db_row row;
    struct intent_row *purges;
    size_t n;
    struct audit au;

    TRY(STORE(c->o.store, db_get, cx, w->id, name, &row));
    audit_fill(cx, &au, "database.drop", w, name, STR_NONE);
    names_change((struct warehouse *)w);
    int rc = STORE(c->o.store, db_drop, cx, row.id, clock_wall_ms(), &au, &purges, &n);
    for (size_t i = 0; rc == 0 && i < n; i++)
        table_forget_id(c, purges[i].table_id);
    names_changed(c, (struct warehouse *)w, rc == E_UNKNOWN ? STR_NONE : STR_LIT(""));
    TRY(gone(cx, rc, name));
    log_info("catalog", "database.dropped", LS("db", name), LI("tables", n),
             LS("by", cx->principal), LS("req", cx->request_id));
    for (size_t i = 0; i < n; i++)
        if (purges[i].id)
            IGNORE(
                purge_post(c, &purges[i])); /* what cannot be queued is resumed at the next start */
    return 0;
}
