/* place.c - where a table's files may lie: below its warehouse's root, or below one of the roots that
 * the administrator allows for external tables (warehouse.external-roots).
 *
 * A path that a client gives is text until it was found below one of these; from then on it is a
 * place, an open root and a path below it, and only places are ever opened. A path in no root is
 * refused without a look at the disk.
 *
 * Inside its own warehouse an external table lies where a table would (<database>/<table>) or directly
 * below the root, but not where a database would; deeper, it could come to lie inside a table that the
 * server makes. That holds also where an external root is around the warehouse or in it. Other
 * warehouses, and what lies around a warehouse, are no places.
 *
 * Threads: the list of roots is fixed after places_open. */
#include "catalog/catalog_int.h"

#include "proto/base/mem.h"
#include "proto/base/path.h"

#define DEPTH_IN_WAREHOUSE 2

static int root_open(struct ctx *cx, struct catalog *c, str path, struct ext_root *ret)
{
    struct io_local_opts o = {.root = path,
                              .dir_mode = c->o.dir_mode,
                              .file_mode = c->o.file_mode,
                              .group = c->o.group,
                              .syncs = c->o.syncs};
    char *text = str_heap(path);
    if (!text)
        return ctx_nomem(cx);
    int rc = (c->o.open_root ? c->o.open_root : io_local_new)(cx, &o, &ret->io);
    if (rc < 0) {
        mem_free(text);
        return ctx_prefix(cx, "external root (warehouse.external-roots)");
    }
    ret->path = text;
    return 0;
}

int places_open(struct ctx *cx, struct catalog *c)
{
    size_t n = c->o.n_external_roots;
    c->roots = mem_zalloc((n ? n : 1) * sizeof *c->roots);
    if (!c->roots)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++) {
        str path;
        TRY(path_absolute(cx, c->o.external_roots[i], &path));
        TRY(root_open(cx, c, path, &c->roots[i]));
        c->n_roots++;
    }
    return 0;
}

void places_close(struct catalog *c)
{
    for (size_t i = 0; i < c->n_roots; i++) {
        io_free(c->roots[i].io);
        mem_free(c->roots[i].path);
    }
    mem_free(c->roots);
}

static str below(str root, str path)
{
    return path.len > root.len ? str_cut(path, root.len + 1) : STR_LIT("");
}

/* The deepest external root around the path. */
static const struct ext_root *root_of(const struct catalog *c, str path)
{
    const struct ext_root *best = NULL;
    for (size_t i = 0; i < c->n_roots; i++) {
        const struct ext_root *r = &c->roots[i];
        if (path_within(str_of(r->path), path) && (!best || strlen(r->path) > strlen(best->path)))
            best = r;
    }
    return best;
}

static size_t depth(str rel)
{
    size_t n = rel.len > 0;
    for (size_t i = 0; i < rel.len; i++)
        n += rel.p[i] == '/';
    return n;
}

/* Another warehouse's, or around any. */
static bool of_warehouses(const struct warehouse *w, str path)
{
    for (size_t i = 0; i < w->cat->n_warehouses; i++) {
        const struct warehouse *other = w->cat->warehouses[i];
        if (path_within(path, str_of(other->root)) ||
            (other != w && path_within(str_of(other->root), path)))
            return true;
    }
    return false;
}

/* False: it lies in none of the roots. */
static bool place_at(const struct warehouse *w, str path, struct place *ret)
{
    const struct ext_root *r = root_of(w->cat, path);
    if (path_within(str_of(w->root), path))
        *ret = (struct place){
            .io = w->io, .dir = below(str_of(w->root), path), .path = path, .in_warehouse = true};
    else if (r)
        *ret = (struct place){.io = r->io, .dir = below(str_of(r->path), path), .path = path};
    else
        return false;
    return true;
}

bool place_io(const struct warehouse *w, str path, struct io **ret_io, str *ret_path)
{
    struct place pl;
    if (!place_at(w, path, &pl))
        return false;
    *ret_io = pl.io;
    *ret_path = pl.dir;
    return true;
}

/* Would the server itself put something else there: a database, its own trash? */
static bool is_reserved(const struct warehouse *w, str dir)
{
    str suffix = w->cat->o.database_suffix;
    bool database = str_find(dir, '/') < 0 && str_ends(dir, suffix);
    return database || str_starts(dir, STR_LIT(".latch-"));
}

static int no_place(struct ctx *cx, str path)
{
    return ctx_fail(cx, E_INVAL, RES_TABLE, STR_NONE,
                    "the path '%.*s' lies in no directory that tables may lie in; ask the "
                    "administrator to add one around it to warehouse.external-roots, or leave the "
                    "path out and the server chooses a directory in the warehouse",
                    STR(path));
}

/* Bytes that Paimon's clients read differently in a path, and what a log or a header would suffer. */
static int path_plain(struct ctx *cx, str path)
{
    for (size_t i = 0; i < path.len; i++) {
        unsigned char ch = (unsigned char)path.p[i];
        if (ch < 0x20 || ch == 0x7f || strchr("%#?", ch))
            return ctx_fail(cx, E_INVAL, RES_TABLE, STR_NONE,
                            "the path '%.*s' has a '%%', '#', '?' or control byte, which Paimon's "
                            "clients read differently; choose another directory",
                            STR(path));
    }
    return 0;
}

int place_find(struct ctx *cx, const struct warehouse *w, str text, struct place *ret)
{
    struct place p;
    str path;
    TRY(path_plain(cx, text));
    TRY(path_absolute(cx, text, &path));
    if (!place_at(w, path, &p) || (p.dir.len > 0 && of_warehouses(w, path)))
        return no_place(cx, path);
    if (p.dir.len > 0)
        TRY(io_path_check(cx, p.dir));
    size_t n = depth(p.dir);
    if (n == 0 || (p.in_warehouse && (n > DEPTH_IN_WAREHOUSE || is_reserved(w, p.dir))))
        return ctx_fail(cx, E_INVAL, RES_TABLE, STR_NONE,
                        "the path '%.*s' is no place for a table: give a directory below the root, "
                        "and in a warehouse one of the form <database>/<table>",
                        STR(path));
    *ret = p;
    return 0;
}

int place_of(struct ctx *cx, const struct warehouse *w, const struct table_row *row,
             struct place *ret)
{
    *ret = (struct place){.io = w->io, .dir = row->dir, .in_warehouse = true};
    if (!row->external.len)
        return 0;
    if (!place_at(w, row->external, ret))
        return ctx_fail(cx, E_BUSY, RES_TABLE, row->name,
                        "external table %.*s lies in %.*s, which is in no root of "
                        "warehouse.external-roots any more; put the root back",
                        STR(row->name), STR(row->external));
    return 0;
}
