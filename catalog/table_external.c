/* table_external.c - tables at a path that the client names: created there, or registered.
 *
 * The files stay the client's: what is there already (schema files, snapshots) is taken as it is, and a
 * drop leaves it. Where no schema file is, schema-0 is written, since Java's commits need one. The row
 * comes last, with the head that was found; a crash before it leaves only files that a second try
 * finds.
 *
 * Two tables never share files: the store refuses a path in, at or around another table's.
 *
 * Thread rule: any thread that may block. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"

/* Are the columns and keys that the client thinks of those of the files? */
static bool same_columns(const struct schema *a, const struct schema *b)
{
    if (a->n_fields != b->n_fields || a->primary_keys.n != b->primary_keys.n ||
        a->partition_keys.n != b->partition_keys.n)
        return false;
    for (size_t i = 0; i < a->n_fields; i++)
        if (!str_eq(a->fields[i].name, b->fields[i].name) ||
            a->fields[i].type->kind != b->fields[i].type->kind)
            return false;
    for (size_t i = 0; i < a->primary_keys.n; i++)
        if (!str_eq(a->primary_keys.items[i], b->primary_keys.items[i]))
            return false;
    for (size_t i = 0; i < a->partition_keys.n; i++)
        if (!str_eq(a->partition_keys.items[i], b->partition_keys.items[i]))
            return false;
    return true;
}

/* Before a file is written: what another table's directory would get cannot be taken back. */
static int place_ask(struct ctx *cx, struct catalog *c, const struct warehouse *w, str name,
                     const struct place *pl)
{
    struct table_row row = {.warehouse_id = w->id,
                            .name = name,
                            .external = pl->path,
                            .dir = pl->in_warehouse ? pl->dir : STR_LIT("")};
    int rc = STORE(c->o.store, table_place, cx, &row);
    return rc == E_CONFLICT ? (cx->err.code = E_INVAL) : rc;
}

static int folders_make(struct ctx *cx, const struct place *pl)
{
    str sub[] = {layout_schema_dir(&cx->arena, pl->dir, STR_NONE),
                 layout_snapshot_dir(&cx->arena, pl->dir, STR_NONE),
                 layout_manifest_dir(&cx->arena, pl->dir)};
    for (size_t i = 0; i < sizeof sub / sizeof *sub; i++)
        TRY(sub[i].p ? io_mkdirs(pl->io, cx, sub[i]) : ctx_nomem(cx));
    return 0;
}

/* The schema in force there; `wanted` (NULL: whatever it is) is written when there is none. */
static int schema_there(struct ctx *cx, const struct warehouse *w, const struct place *pl,
                        const struct schema *wanted, struct table_schema *ret)
{
    struct schema_at at = {.w = w, .io = pl->io, .dir = pl->dir, .branch = STR_LIT("main")};
    enum io_put_result put;
    int rc = schema_newest(cx, &at, ret);
    TRY(rc);
    if (rc > 0 || wanted) /* commits need them; Paimon makes them with the first */
        TRY(folders_make(cx, pl));
    if (rc == 0 && !wanted)
        return ctx_fail(cx, E_INVAL, RES_TABLE, STR_NONE,
                        "there is no Paimon table at '%.*s' (no schema file); create a table there "
                        "instead of registering one",
                        STR(pl->path));
    if (rc == 0) {
        *ret = schema_first(wanted, clock_wall_ms());
        TRY(schema_put(cx, &at, ret, &put));
        if (put == IO_PUT_CREATED)
            return 0;
        rc = schema_newest(cx, &at, ret); /* somebody was first */
        TRY(rc);
    }
    if (rc == 0 || (wanted && wanted->n_fields > 0 && !same_columns(wanted, &ret->schema)))
        return ctx_fail(cx, E_INVAL, RES_TABLE, STR_NONE,
                        "the table at '%.*s' has other columns or keys than the ones given; leave "
                        "them out to take the table as it is",
                        STR(pl->path));
    return 0;
}

static int row_make(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                    const struct db_row *db, str name, const struct place *pl,
                    const struct schema *s, int64_t schema_id)
{
    struct audit au;
    struct table_row row;
    struct head_row head = {.totals = TOTALS_UNKNOWN};
    TRY(table_row_fill(cx, w, db, name, s, &row));
    row.external = pl->path;
    row.dir = pl->in_warehouse ? pl->dir : STR_LIT("");
    row.schema_id = schema_id;
    if (type_managed(row.type))
        TRY(head_import(cx, c, pl->io, pl->dir, STR_LIT("main"), &head));
    audit_fill(cx, &au, "table.create", w, db->name, name);
    au.detail = pl->path;
    int rc = STORE(c->o.store, table_create, cx, &row, 0, head.id ? &head : NULL, &au);
    if (rc == E_CONFLICT) /* not of the name: clients read a 409 as "this table exists" */
        return cx->err.code = E_INVAL;
    TRY(rc);
    log_info("catalog", "table.created", LS("db", db->name), LS("table", name),
             LS("path", pl->path), LI("snapshot", head.id), LS("by", cx->principal),
             LS("req", cx->request_id));
    return 0;
}

static int take_in(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                   const struct db_row *db, str name, const struct place *pl,
                   const struct schema *wanted)
{
    struct table_schema ts;
    TRY(schema_there(cx, w, pl, wanted, &ts));
    IGNORE(INJECT(CREATE_SCHEMA));
    return row_make(cx, c, w, db, name, pl, &ts.schema, ts.id);
}

int table_create_external(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                          const struct db_row *db, str name, const struct schema *s)
{
    struct place pl;
    TRY(place_find(cx, w, s->path, &pl));
    TRY(place_ask(cx, c, w, name, &pl));
    if (type_managed(type_of(s)))
        return take_in(cx, c, w, db, name, &pl, s);
    TRY(io_mkdirs(pl.io, cx, pl.dir));
    return row_make(cx, c, w, db, name, &pl, s, 0);
}

int cat_table_register(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db,
                       str name, str path)
{
    struct db_row dbr;
    struct place pl;
    TRY(table_name_check(cx, name));
    TRY(STORE(c->o.store, db_get, cx, w->id, db, &dbr));
    TRY(table_name_free(cx, c, w, db, name));
    TRY(place_find(cx, w, path, &pl));
    TRY(place_ask(cx, c, w, name, &pl));
    return take_in(cx, c, w, &dbr, name, &pl, NULL);
}
