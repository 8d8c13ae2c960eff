/* table_ddl.c - tables made, described, listed, renamed, dropped.
 *
 * Create: (1) store: a directory that no table ever had, with a "create" intent; (2) directories
 * and schema-0, durable; (3) store: the row, the intent gone. What fails after (1) is purged, now
 * or at the next start, and the name was never taken. A directory that is there already is somebody
 * else's (a file-system catalog's table): another one is chosen, and it is never deleted.
 * A table at a path that the client names is table_external.c's.
 * Drop: (1) store: row gone, "purge" intent; (2) the directory, in the background. */
#include "catalog/catalog_int.h"

#include "manifest/directives.h"
#include "manifest/layout.h"
#include "manifest/schema.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/path.h"
#include "proto/base/rand.h"
#include "proto/json/json.h"

#define RANDOM_DIGITS 8

/* The one check for the name of a table: a '$' in it would never be found again. */
int table_name_check(struct ctx *cx, str name)
{
    TRY(path_object_name(cx, name, "table name"));
    if (str_find(name, '$') >= 0)
        return ctx_fail(cx, E_INVAL, RES_TABLE, name,
                        "a table name has no '$': it marks branches and system tables");
    return 0;
}

/* --- create ----------------------------------------------------------------------------------- */

int table_schema_accept(struct ctx *cx, const struct json *j, struct schema *s)
{
    TRY(schema_decode(cx, j, "schema", s));
    if (!type_managed(type_of(s)))
        return 0;
    TRY(directives_apply(cx, s));
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
    struct schema_at at = {.w = w, .io = w->io, .dir = dir};
    if (!type_managed(type_of(&ts->schema))) {
        TRY(io_mkdirs(w->io, cx, dir));
        IGNORE(INJECT(CREATE_DIRS));
        return 0;
    }
    str sub[] = {layout_schema_dir(&cx->arena, dir, STR_NONE),
                 layout_snapshot_dir(&cx->arena, dir, STR_NONE),
                 layout_manifest_dir(&cx->arena, dir), layout_index_dir(&cx->arena, dir),
                 layout_statistics_dir(&cx->arena, dir)};
    for (size_t i = 0; i < sizeof sub / sizeof *sub; i++)
        TRY(sub[i].p ? io_mkdirs(w->io, cx, sub[i]) : ctx_nomem(cx));
    IGNORE(INJECT(CREATE_DIRS));
    TRY(schema_put(cx, &at, ts, &put));
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

int table_row_fill(struct ctx *cx, const struct warehouse *w, const struct db_row *db, str name,
                   const struct schema *s, struct table_row *ret)
{
    char id[UUID_LEN + 1];
    str who = cx->principal.len ? cx->principal : STR_LIT("latch");
    int64_t now = clock_wall_ms();
    *ret = (struct table_row){.db_id = db->id,
                              .db_name = db->name,
                              .warehouse_id = w->id,
                              .name = name,
                              .type = type_of(s),
                              .stamp = {.owner = who,
                                        .created_by = who,
                                        .updated_by = who,
                                        .created_ms = now,
                                        .updated_ms = now}};
    rand_uuid(id);
    TRY(ctx_text(cx, &ret->id, "%s", id));
    return schema_text(cx, s, &ret->schema_json);
}

static int row_make(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                    const struct db_row *db, str name, str dir, const struct schema *s,
                    int64_t intent)
{
    struct audit au;
    struct table_row row;
    TRY(table_row_fill(cx, w, db, name, s, &row));
    row.dir = dir;
    audit_fill(cx, &au, "table.create", w, db->name, name);
    return STORE(c->o.store, table_create, cx, &row, intent, NULL, &au);
}

int table_name_free(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name)
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

static int create_here(struct ctx *cx, struct catalog *c, struct warehouse *w,
                       const struct db_row *db, str name, const struct schema *s)
{
    str dir;
    int64_t intent = 0;
    bool foreign = false;

    TRY(dir_claim(cx, w, db, name, &dir, &intent));
    struct table_schema ts = schema_first(s, clock_wall_ms());
    int rc = files_make(cx, w, dir, &ts, &foreign);
    rc = rc < 0 ? files_failed(cx, rc) : row_make(cx, c, w, db, name, dir, s, intent);
    if (foreign)
        claim_give_up(cx, c, intent);
    else if (rc < 0 && rc != E_UNKNOWN) /* the row may be there: the next start knows */
        create_undo(c, w, intent, dir);
    TRY(rc);
    log_info("catalog", "table.created", LS("db", db->name), LS("table", name), LS("dir", dir),
             LS("by", cx->principal), LS("req", cx->request_id));
    return 0;
}

int cat_table_create(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
                     const struct json *schema)
{
    struct db_row dbr;
    struct schema s;
    TRY(table_name_check(cx, name));
    TRY(STORE(c->o.store, db_get, cx, w->id, db, &dbr));
    TRY(table_name_free(cx, c, w, db, name));
    TRY(table_schema_accept(cx, schema, &s));
    TRY(warehouse_space(cx, (struct warehouse *)w));
    TRY(s.path.p ? table_create_external(cx, c, w, &dbr, name, &s)
                 : create_here(cx, c, (struct warehouse *)w, &dbr, name, &s));
    IGNORE(INJECT(CREATE_RECORDED));
    return 0;
}

/* --- describe, rename ------------------------------------------------------------------------- */

static int info_fill(struct ctx *cx, const struct warehouse *w, const struct table_row *row,
                     struct table_info *ret)
{
    ret->row = *row;
    return row->external.len ? ctx_text(cx, &ret->path, "file://%.*s", STR(row->external))
                             : ctx_text(cx, &ret->path, "file://%s/%.*s", w->root, STR(row->dir));
}

/* Opening the handle adopts schema files that a crash left without their row; an alter whose row
 * failed, and a commit with a schema that is new to us, leave word in the branch. */
static int schema_now(struct ctx *cx, struct branch *br, struct table_row *row)
{
    struct schema_at at;
    bool behind = atomic_exchange(&br->schema_behind, false);
    if (!behind && !br->table->external && layout_is_main(str_of(br->name)))
        return 0;
    int rc = schema_of_branch(cx, br, &at);
    int64_t before = rc == 0 ? at.id : 0;
    if (rc == 0)
        rc = schema_load(cx, &at);
    if (rc < 0 || at.id != before)
        branch_traits_forget(br);
    if (rc < 0) {
        atomic_store(&br->schema_behind, behind);
        return rc;
    }
    row->schema_id = at.id;
    row->schema_json = at.json;
    return 0;
}

static int row_read(struct ctx *cx, struct branch *br, struct table_row *ret)
{
    struct table *t = br->table;
    TRY(STORE(t->cat->o.store, table_by_id, cx, t->wh->id, str_of(t->id), ret));
    return t->managed ? schema_now(cx, br, ret) : 0;
}

int cat_table_get(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str object,
                  struct table_info *ret)
{
    struct branch *br;
    struct table_row row;
    TRY(cat_branch_open(cx, c, w, db, object, &br));
    int rc = row_read(cx, br, &row);
    if (rc == E_NOTFOUND && cx->err.res == RES_BRANCH && !atomic_load(&br->gone)) {
        ctx_reset_err(cx); /* perhaps one that was not taken in yet: its turn tells */
        rc = CAT_NEED;
    }
    if (rc < 0)
        rc = branch_error(cx, br, db, object, rc);
    branch_unref(br);
    TRY(rc);
    if (rc == CAT_NEED || row.schema_id < 0) /* a branch whose creation a crash interrupted */
        return CAT_NEED;
    return info_fill(cx, w, &row, ret);
}

int cat_table_by_id(struct ctx *cx, struct catalog *c, const struct warehouse *w, str id,
                    struct table_info *ret)
{
    struct table *t;
    struct table_row row;
    TRY(table_open_by_id(cx, c, (struct warehouse *)w, id, &t));
    int rc = t->wh == w ? row_read(cx, t->branches, &row) /* the first is main */
                        : ctx_fail(cx, E_NOTFOUND, RES_TABLE, id, "no table has the id '%.*s' here",
                                   STR(id));
    table_unref(t);
    TRY(rc);
    return info_fill(cx, w, &row, ret);
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
    if (purge.id)
        IGNORE(purge_post(t->cat, &purge)); /* else at the next start */
    return 0;
}
