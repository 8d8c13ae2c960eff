/* table_ddl.c - tables made, described, renamed, altered, dropped.
 *
 * Create: (1) store: a directory that no table ever had, with a "create" intent; (2) directories
 * and schema-0, durable; (3) store: the row, the intent gone. What fails after (1) is purged, now
 * or at the next start, and the name was never taken. A directory that is there already is somebody
 * else's (a file-system catalog's table): another one is chosen, and it is never deleted.
 * Alter: a schema file is a commit point like a snapshot: create schema-N if absent, then the row.
 * Newer files than the row are adopted before anything is decided (schema_catch_up). When the row
 * fails after the file, the answer is "unknown" and the next reader adopts the file.
 * Drop: (1) store: row gone, "purge" intent; (2) the directory, in the background. */
#include "catalog/catalog_int.h"

#include "catalog/schema_change.h"
#include "manifest/layout.h"
#include "manifest/schema.h"
#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/path.h"
#include "proto/base/rand.h"
#include "proto/json/json.h"

#define SCHEMA_FILE_MAX ((size_t)64 << 20)
#define RANDOM_DIGITS   8

/* --- what both create and alter write --------------------------------------------------------- */

static int schema_text(struct ctx *cx, const struct schema *s, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    schema_encode(&o, s);
    str text = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    if (!text.p)
        return ctx_nomem(cx);
    *ret = text;
    return 0;
}

static int schema_put(struct ctx *cx, struct warehouse *w, str dir, const struct table_schema *ts,
                      enum io_put_result *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    str path = layout_schema(&cx->arena, dir, STR_LIT("main"), ts->id);
    json_out_init(&o, &b);
    schema_encode_file(&o, ts);
    if (buf_fail(&b) || !path.p)
        return ctx_nomem(cx);
    return io_put_if_absent(w->io, cx, path, buf_str(&b), ret);
}

static str type_of(const struct schema *s)
{
    str type = schema_option(s, "type");
    return type.len ? type : STR_LIT("table");
}

/* The one check for the name of a table: a '$' in it would never be found again. */
static int table_name_check(struct ctx *cx, str name)
{
    TRY(path_object_name(cx, name, "table name"));
    if (str_find(name, '$') >= 0)
        return ctx_fail(cx, E_INVAL, RES_TABLE, name,
                        "a table name has no '$': it marks branches and system tables");
    return 0;
}

/* --- create ----------------------------------------------------------------------------------- */

static int schema_accept(struct ctx *cx, const struct json *j, struct schema *s)
{
    TRY(schema_decode(cx, j, "schema", s));
    if (!str_eqz(type_of(s), "table"))
        return ctx_fail(cx, E_UNSUPPORTED, RES_TABLE, STR_NONE,
                        "tables of type '%.*s' are not served by this version of Latch; leave the "
                        "option 'type' out",
                        STR(type_of(s)));
    if (s->path.p)
        return ctx_fail(cx, E_INVAL, RES_TABLE, STR_NONE,
                        "option 'path' would make an external table, and no external root is "
                        "allowed here; leave it out and the server chooses a directory in the "
                        "warehouse");
    return schema_check_table(cx, s);
}

static int dir_base(struct ctx *cx, const struct db_row *db, str name, bool random, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    char hex[RANDOM_DIGITS + 1];
    buf_addf(&b, "%.*s/", STR(db->dir));
    path_dir_name(&b, name);
    rand_hex(hex, RANDOM_DIGITS);
    if (random)
        buf_addf(&b, "-%s", hex);
    str s = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    if (!s.p)
        return ctx_nomem(cx);
    *ret = s;
    return 0;
}

static int dir_there(struct ctx *cx, struct warehouse *w, str dir, bool *ret)
{
    struct io_stat st;
    int rc = io_stat(w->io, cx, dir, &st);
    *ret = rc != E_NOTFOUND;
    if (rc == E_NOTFOUND || rc == E_CORRUPT || rc == E_INVAL) { /* a pipe, a link: it is taken */
        ctx_reset_err(cx);
        rc = 0;
    }
    return rc;
}

/* (1). Looks before the claim, so that a crash right after it leaves no claim on what is somebody
 * else's, and after it, since the store may choose another name than `base`. */
static int dir_claim(struct ctx *cx, struct warehouse *w, const struct db_row *db, str name,
                     str *ret_dir, int64_t *ret_intent)
{
    struct store *st = w->cat->o.store;
    bool there = false;
    for (int attempt = 0; attempt < 3; attempt++) {
        str base, dir;
        int64_t intent;
        TRY(dir_base(cx, db, name, /* random= */ there, &base));
        TRY(dir_there(cx, w, base, &there));
        if (there)
            continue;
        TRY(STORE(st, table_claim, cx, w->id, base, clock_wall_ms(), &dir, &intent));
        TRY(dir_there(cx, w, dir, &there));
        if (!there) {
            *ret_dir = dir;
            *ret_intent = intent;
            return 0;
        }
        TRY(STORE(st, intent_finish, cx, intent));
    }
    return ctx_fail(cx, E_IO, RES_TABLE, name,
                    "every directory that would do for table %.*s exists already; look into %.*s "
                    "of the warehouse",
                    STR(name), STR(db->dir));
}

/* ret_foreign: somebody else made a table there, so it is not ours to delete. */
static int files_make(struct ctx *cx, struct warehouse *w, str dir, const struct table_schema *ts,
                      bool *ret_foreign)
{
    enum io_put_result put;
    str sub[] = {layout_schema_dir(&cx->arena, dir, STR_NONE),
                 layout_snapshot_dir(&cx->arena, dir, STR_NONE),
                 layout_manifest_dir(&cx->arena, dir), layout_index_dir(&cx->arena, dir),
                 layout_statistics_dir(&cx->arena, dir)};
    for (size_t i = 0; i < sizeof sub / sizeof *sub; i++)
        TRY(sub[i].p ? io_mkdirs(w->io, cx, sub[i]) : ctx_nomem(cx));
    IGNORE(INJECT(CREATE_DIRS));
    TRY(schema_put(cx, w, dir, ts, &put));
    *ret_foreign = put != IO_PUT_CREATED;
    if (*ret_foreign)
        return ctx_fail(cx, E_IO, RES_TABLE, STR_NONE,
                        "the new directory %.*s has a schema already; somebody else writes into "
                        "this warehouse",
                        STR(dir));
    IGNORE(INJECT(CREATE_SCHEMA));
    return 0;
}

/* (2) failed. Nothing was made that anybody could find, so the answer is never "it exists", "there
 * is no database" or "unknown". */
static int files_failed(struct ctx *cx, int rc)
{
    if (rc == E_EXISTS || rc == E_NOTFOUND || rc == E_UNKNOWN)
        return cx->err.code = E_IO;
    return rc;
}

/* What was made for a table that will not be: gone in the background; cx keeps the first error. */
static void create_undo(struct catalog *c, struct warehouse *w, int64_t intent, str dir)
{
    CLEANUP(buf_done) struct buf args = {0};
    struct json_out o;
    json_out_init(&o, &args);
    json_obj(&o);
    json_kstr(&o, "dir", dir);
    json_end(&o);
    struct intent_row row = {.id = intent,
                             .kind = STR_LIT("create"),
                             .warehouse_id = w->id,
                             .args_json = buf_str(&args)};
    if (!buf_fail(&args))
        IGNORE(purge_post(c, &row)); /* else at the next start */
}

/* The directory is left to whoever owns it; cx keeps the first error. */
static void claim_give_up(struct ctx *cx, struct catalog *c, int64_t intent)
{
    struct err_rec first = cx->err;
    IGNORE(STORE(c->o.store, intent_finish, cx, intent)); /* else at the next start */
    cx->err = first;
}

static int row_make(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                    const struct db_row *db, str name, str dir, const struct schema *s,
                    int64_t intent)
{
    char id[UUID_LEN + 1];
    struct audit au;
    str who = cx->principal.len ? cx->principal : STR_LIT("latch");
    int64_t now = clock_wall_ms();
    struct table_row row = {.db_id = db->id,
                            .db_name = db->name,
                            .warehouse_id = w->id,
                            .name = name,
                            .dir = dir,
                            .type = type_of(s),
                            .stamp = {.owner = who,
                                      .created_by = who,
                                      .updated_by = who,
                                      .created_ms = now,
                                      .updated_ms = now}};
    rand_uuid(id);
    row.id = str_of(id);
    TRY(schema_text(cx, s, &row.schema_json));
    audit_fill(cx, &au, "table.create", w, db->name, name);
    return STORE(c->o.store, table_create, cx, &row, intent, &au);
}

static int name_free(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name)
{
    struct table_row row;
    int rc = STORE(c->o.store, table_get, cx, w->id, db, name, &row);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return 0;
    }
    TRY(rc);
    return ctx_fail(cx, E_EXISTS, RES_TABLE, name, "table %.*s.%.*s exists already", STR(db),
                    STR(name));
}

int cat_table_create(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
                     const struct json *schema)
{
    struct warehouse *ww = (struct warehouse *)w;
    struct db_row dbr;
    struct schema s;
    str dir;
    int64_t intent = 0;
    bool foreign = false;

    TRY(table_name_check(cx, name));
    TRY(STORE(c->o.store, db_get, cx, w->id, db, &dbr));
    TRY(name_free(cx, c, w, db, name));
    TRY(schema_accept(cx, schema, &s));
    TRY(warehouse_space(cx, ww));
    TRY(dir_claim(cx, ww, &dbr, name, &dir, &intent));
    struct table_schema ts = schema_first(&s, clock_wall_ms());
    int rc = files_make(cx, ww, dir, &ts, &foreign);
    rc = rc < 0 ? files_failed(cx, rc) : row_make(cx, c, w, &dbr, name, dir, &s, intent);
    if (foreign)
        claim_give_up(cx, c, intent);
    else if (rc < 0 && rc != E_UNKNOWN) /* the row may be there: the next start knows */
        create_undo(c, ww, intent, dir);
    TRY(rc);
    IGNORE(INJECT(CREATE_RECORDED));
    log_info("catalog", "table.created", LS("db", db), LS("table", name), LS("dir", dir),
             LS("by", cx->principal), LS("req", cx->request_id));
    return 0;
}

/* --- describe, list, rename ------------------------------------------------------------------- */

static int info_fill(struct ctx *cx, const struct warehouse *w, const struct table_row *row,
                     struct table_info *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    ret->row = *row;
    buf_addf(&b, "file://%s/%.*s", w->root, STR(row->dir));
    ret->path = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    return ret->path.p ? 0 : ctx_nomem(cx);
}

/* Opening the handle adopts schema files that a crash left without their row; an alter whose row
 * failed leaves word in the handle. */
static int row_read(struct ctx *cx, struct table *t, struct table_row *ret)
{
    TRY(STORE(t->cat->o.store, table_by_id, cx, t->wh->id, str_of(t->id), ret));
    if (atomic_exchange(&t->schema_behind, false)) {
        int rc = schema_load(cx, t->wh, ret);
        if (rc < 0)
            atomic_store(&t->schema_behind, true);
        return rc;
    }
    return 0;
}

int cat_table_get(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str object,
                  struct table_info *ret)
{
    struct branch *br;
    struct table_row row;
    TRY(cat_branch_open(cx, c, w, db, object, &br));
    int rc = row_read(cx, br->table, &row);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        rc = branch_gone(cx, br);
    }
    branch_unref(br);
    TRY(rc);
    return info_fill(cx, w, &row, ret);
}

int cat_table_by_id(struct ctx *cx, struct catalog *c, const struct warehouse *w, str id,
                    struct table_info *ret)
{
    struct table *t;
    struct table_row row;
    TRY(table_open_by_id(cx, c, (struct warehouse *)w, id, &t));
    int rc = t->wh == w ? row_read(cx, t, &row)
                        : ctx_fail(cx, E_NOTFOUND, RES_TABLE, id, "no table has the id '%.*s' here",
                                   STR(id));
    table_unref(t);
    TRY(rc);
    return info_fill(cx, w, &row, ret);
}

static int list_exact(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db,
                      const struct page_in *in, str type, str **ret, size_t *ret_n)
{
    struct table_row row;
    int rc = STORE(c->o.store, table_get, cx, w->id, db, in->prefix, &row);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    bool hit = rc == 0 && str_cmp(row.name, in->after) > 0 && (!type.len || str_eq(row.type, type));
    return list_one(cx, hit, row.name, ret, ret_n);
}

int cat_table_list(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db,
                   const struct page_in *in, str type, str **ret, size_t *ret_n)
{
    struct db_row dbr;
    struct store_list_in li = {.after = in->after, .prefix = in->prefix, .limit = in->limit};
    TRY(STORE(c->o.store, db_get, cx, w->id, db, &dbr));
    if (in->exact)
        return list_exact(cx, c, w, db, in, type, ret, ret_n);
    return STORE(c->o.store, table_list, cx, dbr.id, &li, type, ret, ret_n);
}

int cat_table_rename(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
                     str to_db, str to_name)
{
    struct warehouse *ww = (struct warehouse *)w;
    struct table_row row;
    struct audit au;
    TRY(table_name_check(cx, to_name));
    TRY(STORE(c->o.store, table_get, cx, w->id, db, name, &row));
    audit_fill(cx, &au, "table.rename", w, db, name);
    au.detail = to_name;
    names_change(ww);
    struct table_named named = {row.id, db, name};
    int rc = STORE(c->o.store, table_rename, cx, &named, w->id, to_db, to_name, clock_wall_ms(),
                   cx->principal, &au);
    names_changed(c, ww, row.id);
    TRY(rc);
    log_info("catalog", "table.renamed", LS("db", db), LS("table", name), LS("to_db", to_db),
             LS("to", to_name), LS("by", cx->principal), LS("req", cx->request_id));
    return 0;
}

/* --- alter ------------------------------------------------------------------------------------ */

/* Reads schema-<id> if it is there. 1: yes. */
static int schema_read(struct ctx *cx, struct warehouse *w, str dir, int64_t id,
                       struct table_schema *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    str path = layout_schema(&cx->arena, dir, STR_LIT("main"), id);
    int rc = path.p ? io_read(w->io, cx, path, SCHEMA_FILE_MAX, &b) : ctx_nomem(cx);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return 0;
    }
    TRY(rc);
    TRY(schema_decode_file(cx, buf_str(&b), path, ret));
    if (ret->id != id)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%.*s holds schema %lld", STR(path),
                        (long long)ret->id);
    return 1;
}

/* Whoever made the file may have died before it was on disk. */
static int schema_sync(struct ctx *cx, struct warehouse *w, str dir, int64_t id)
{
    str path = layout_schema(&cx->arena, dir, STR_LIT("main"), id);
    return path.p ? io_sync(w->io, cx, &path, 1) : ctx_nomem(cx);
}

static int schema_catch_up(struct ctx *cx, struct warehouse *w, struct table_row *row)
{
    for (;;) {
        struct table_schema ts;
        struct audit au;
        str text;
        int rc = schema_read(cx, w, row->dir, row->schema_id + 1, &ts);
        if (rc <= 0)
            return rc;
        TRY(schema_sync(cx, w, row->dir, ts.id));
        TRY(schema_text(cx, &ts.schema, &text));
        audit_fill(cx, &au, "schema.adopt", w, row->db_name, row->name);
        rc = STORE(w->cat->o.store, table_alter, cx, row->id, row->schema_id, row->schema_id + 1,
                   text, type_of(&ts.schema), clock_wall_ms(), STR_LIT("latch"), &au);
        if (rc < 0 && rc != E_RACE) /* of the caller's own request nothing is unknown */
            return rc == E_UNKNOWN ? (cx->err.code = E_BUSY) : rc;
        ctx_reset_err(cx);
        TRY(STORE(w->cat->o.store, table_by_id, cx, w->id, row->id, row));
        log_info("catalog", "schema.adopted", LS("table", row->name), LI("schema", row->schema_id));
    }
}

/* A schema file that cannot be read keeps nobody from reading the table. */
int schema_load(struct ctx *cx, struct warehouse *w, struct table_row *row)
{
    int rc = schema_catch_up(cx, w, row);
    if (rc != E_CORRUPT && rc != E_UNSUPPORTED && rc != E_TOOBIG && rc != E_INVAL)
        return rc;
    log_warn("catalog", "schema.unreadable", LS("db", row->db_name), LS("table", row->name),
             LZ("err", cx->err.msg));
    ctx_reset_err(cx);
    return 0;
}

/* schema-<id> may be there without its row: whoever reads the table next looks. */
static int alter_unsure(struct ctx *cx, struct branch *br, int64_t id)
{
    atomic_store(&br->table->schema_behind, true);
    ctx_prefix(cx, "schema %lld may be in force, read the table again to find out", (long long)id);
    return cx->err.code = E_UNKNOWN;
}

/* The row of a schema whose file is there. */
static int alter_record(struct ctx *cx, struct branch *br, const struct table_row *row,
                        const struct table_schema *ts, str text)
{
    struct table *t = br->table;
    struct store *st = t->cat->o.store;
    struct audit au;
    struct table_row now;
    audit_fill(cx, &au, "table.alter", t->wh, row->db_name, row->name);
    int rc = STORE(st, table_alter, cx, row->id, row->schema_id, ts->id, text, type_of(&ts->schema),
                   ts->time_millis, cx->principal, &au);
    if (rc == E_RACE) { /* somebody who loaded the table found the file first */
        ctx_reset_err(cx);
        rc = STORE(st, table_by_id, cx, t->wh->id, row->id, &now);
        if (rc == 0 && now.schema_id < ts->id)
            rc = ctx_fail(cx, E_INTERNAL, RES_TABLE, row->name, "the store has an older schema");
    }
    if (rc == E_NOTFOUND) { /* dropped meanwhile */
        ctx_reset_err(cx);
        return branch_gone(cx, br);
    }
    return rc < 0 ? alter_unsure(cx, br, ts->id) : 0;
}

static int alter_once(struct ctx *cx, struct branch *br, const struct json *changes, bool *ret_done)
{
    struct table *t = br->table;
    struct store *st = t->cat->o.store;
    struct table_row row;
    struct table_schema ts;
    enum io_put_result put;
    str text;

    TRY(STORE(st, table_by_id, cx, t->wh->id, str_of(t->id), &row));
    TRY(schema_catch_up(cx, t->wh, &row));
    int rc = schema_read(cx, t->wh, row.dir, row.schema_id, &ts);
    TRY(rc);
    if (rc == 0)
        return ctx_fail(cx, E_CORRUPT, RES_TABLE, row.name,
                        "schema file %lld of table %.*s is gone; put it back before you alter it",
                        (long long)row.schema_id, STR(row.name));
    TRY(schema_change_apply(cx, changes, br->head != NULL, &ts.schema));
    TRY(schema_check_table(cx, &ts.schema));
    ts.id = row.schema_id + 1;
    ts.time_millis = clock_wall_ms();
    TRY(schema_text(cx, &ts.schema, &text));
    rc = schema_put(cx, t->wh, row.dir, &ts, &put);
    if (rc == E_UNKNOWN)
        return alter_unsure(cx, br, ts.id);
    TRY(rc);
    *ret_done = put == IO_PUT_CREATED;
    if (!*ret_done) /* somebody else's file: adopt it and apply the changes to it */
        return 0;
    IGNORE(INJECT(ALTER_SCHEMA));
    return alter_record(cx, br, &row, &ts, text);
}

int table_alter(struct ctx *cx, struct branch *br, const struct json *changes)
{
    bool done = false;
    TRY(ctx_check_deadline(cx));
    TRY(branch_enter(cx, br));
    TRY(branch_may_change(cx, br));
    TRY(warehouse_space(cx, br->table->wh));
    for (int attempt = 0; !done && attempt < 10; attempt++)
        TRY(alter_once(cx, br, changes, &done));
    if (!done)
        return ctx_fail(cx, E_BUSY, RES_TABLE, branch_object(cx, br),
                        "somebody else writes schema files of this table all the time; try again");
    log_info("catalog", "table.altered", LS("table", branch_object(cx, br)),
             LS("by", cx->principal), LS("req", cx->request_id));
    return 0;
}

/* --- drop ------------------------------------------------------------------------------------- */

int table_drop(struct ctx *cx, struct branch *br, str as_db, str as_name)
{
    struct table *t = br->table;
    struct audit au;
    struct intent_row purge;
    str db, name;

    TRY(ctx_check_deadline(cx));
    if (atomic_load(&t->dead))
        return branch_gone(cx, br);
    table_names(t, &db, &name);
    audit_fill(cx, &au, "table.drop", t->wh, db, name);
    names_change(t->wh);
    struct table_named named = {str_of(t->id), as_db, as_name};
    int rc = STORE(t->cat->o.store, table_drop, cx, &named, clock_wall_ms(), &au, &purge);
    if (rc == 0)
        table_forget_id(t->cat, str_of(t->id));
    names_changed(t->cat, t->wh, str_of(t->id));
    if (rc == E_NOTFOUND && !as_db.p) {
        ctx_reset_err(cx);
        return branch_gone(cx, br);
    }
    TRY(rc);
    IGNORE(INJECT(DROP_RECORDED));
    log_info("catalog", "table.dropped", LS("db", db), LS("table", name), LZ("dir", t->dir),
             LS("by", cx->principal), LS("req", cx->request_id));
    IGNORE(purge_post(t->cat, &purge)); /* else at the next start */
    return 0;
}
