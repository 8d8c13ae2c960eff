/* tenant.c - tenants and their warehouses: loaded once at start, immutable after.
 *
 * The prefix of Paimon's routes is "<tenant>.<warehouse>". A tenant's name has no dot, so the first
 * dot divides the two. What belongs to another tenant does not exist for a principal. */
#include "catalog/catalog_int.h"

#include <sys/statvfs.h>

#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/mem.h"
#include "proto/base/path.h"

#define SPACE_GOOD_MS 1000

static int bootstrap_check(struct ctx *cx, const struct store_bootstrap_in *in)
{
    TRY(path_component(cx, in->warehouse, "warehouse name (default-warehouse.name)"));
    for (size_t i = 0; i < in->root.len; i++) {
        unsigned char ch = (unsigned char)in->root.p[i];
        if (ch < 0x20 || ch == 0x7f || strchr("%#?", ch))
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "the warehouse root '%.*s' has a '%%', '#', '?' or control byte, which "
                            "Paimon's clients read differently; choose another directory "
                            "(default-warehouse.root)",
                            STR(in->root));
    }
    return 0;
}

int cat_bootstrap(struct ctx *cx, struct store *st, const struct store_bootstrap_in *in,
                  bool *ret_made)
{
    bool empty = false;
    TRY(STORE(st, is_empty, cx, &empty));
    if (empty) {
        TRY(bootstrap_check(cx, in));
        TRY(STORE(st, bootstrap, cx, in));
    }
    *ret_made = empty;
    return 0;
}

static void warehouse_free(struct warehouse *w)
{
    if (!w)
        return;
    io_free(w->io);
    mem_free(w->tenant);
    mem_free(w->name);
    mem_free(w->prefix);
    mem_free(w->root);
    mem_free(w->options);
    mem_free(w);
}

static int warehouse_new(struct ctx *cx, struct catalog *c, const struct warehouse_row *row,
                         struct warehouse **ret)
{
    CLEANUP(buf_done) struct buf prefix = {0};
    struct warehouse *w = mem_zalloc(sizeof *w);
    if (!w)
        return ctx_nomem(cx);
    buf_addf(&prefix, "%.*s.%.*s", STR(row->tenant), STR(row->name));
    w->cat = c;
    w->id = row->id;
    w->tenant_id = row->tenant_id;
    w->tenant = str_heap(row->tenant);
    w->name = str_heap(row->name);
    w->root = str_heap(row->root);
    w->options = row->options_json.len ? str_heap(row->options_json) : str_heap(STR_LIT("{}"));
    w->prefix = buf_take(&prefix, NULL);
    if (!w->tenant || !w->name || !w->root || !w->options || !w->prefix) {
        warehouse_free(w);
        return ctx_nomem(cx);
    }
    struct io_local_opts o = {.root = row->root,
                              .dir_mode = c->o.dir_mode,
                              .file_mode = c->o.file_mode,
                              .group = c->o.group,
                              .syncs = c->o.syncs};
    int rc = (c->o.open_root ? c->o.open_root : io_local_new)(cx, &o, &w->io);
    if (rc < 0) {
        warehouse_free(w);
        return ctx_prefix(cx, "warehouse '%.*s'", STR(row->name));
    }
    *ret = w;
    return 0;
}

int warehouses_load(struct ctx *cx, struct catalog *c)
{
    struct warehouse_row *rows;
    size_t n;
    TRY(STORE(c->o.store, warehouses, cx, &rows, &n));
    c->warehouses = mem_zalloc((n ? n : 1) * sizeof *c->warehouses);
    if (!c->warehouses)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++) {
        struct warehouse *w = NULL;
        TRY(warehouse_new(cx, c, &rows[i], &w));
        ASSERT(w);
        c->warehouses[c->n_warehouses++] = w;
        if (map_put(&c->by_prefix, str_of(w->prefix), w) < 0)
            return ctx_nomem(cx);
    }
    return 0;
}

void warehouses_free(struct catalog *c)
{
    for (size_t i = 0; i < c->n_warehouses; i++)
        warehouse_free(c->warehouses[i]);
    mem_free(c->warehouses);
    map_done(&c->by_prefix);
}

const struct warehouse *cat_warehouse(struct catalog *c, const struct principal *who, str prefix)
{
    const struct warehouse *w = map_get(&c->by_prefix, prefix);
    return w && w->tenant_id == who->tenant_id ? w : NULL;
}

static const struct warehouse *find_named(struct catalog *c, const struct principal *who, str name)
{
    for (size_t i = 0; i < c->n_warehouses; i++) {
        struct warehouse *w = c->warehouses[i];
        if (w->tenant_id == who->tenant_id && str_eqz(name, w->name))
            return w;
    }
    return NULL;
}

/* Without a name: the tenant's only warehouse, else the one called "default". */
static const struct warehouse *find_implied(struct catalog *c, const struct principal *who)
{
    const struct warehouse *only = NULL;
    size_t n = 0;
    for (size_t i = 0; i < c->n_warehouses; i++) {
        if (c->warehouses[i]->tenant_id == who->tenant_id) {
            only = c->warehouses[i];
            n++;
        }
    }
    return n == 1 ? only : find_named(c, who, STR_LIT("default"));
}

int cat_warehouse_find(struct ctx *cx, struct catalog *c, const struct principal *who, str name,
                       const struct warehouse **ret)
{
    const struct warehouse *w = name.len ? find_named(c, who, name) : find_implied(c, who);
    str again;
    if (!w && name.len) { /* pypaimon and Java up to 1.4 encode the name twice */
        if (path_form_decode(cx, name, &again) == 0)
            w = find_named(c, who, again);
        else
            ctx_reset_err(cx);
    }
    if (!w)
        return ctx_fail(cx, E_NOTFOUND, RES_NONE, name,
                        "there is no warehouse '%.*s' here; set the catalog option 'warehouse' to "
                        "the name of one (the first one is called 'default')",
                        STR(name));
    *ret = w;
    return 0;
}

str warehouse_prefix(const struct warehouse *w)
{
    return str_of(w->prefix);
}
str warehouse_name(const struct warehouse *w)
{
    return str_of(w->name);
}
str warehouse_root(const struct warehouse *w)
{
    return str_of(w->root);
}
str warehouse_options(const struct warehouse *w)
{
    return str_of(w->options);
}

struct warehouse *warehouse_by_id(struct catalog *c, int64_t id)
{
    for (size_t i = 0; i < c->n_warehouses; i++)
        if (c->warehouses[i]->id == id)
            return c->warehouses[i];
    return NULL;
}

static int too_full(struct ctx *cx, struct catalog *c, const char *whose, const char *name,
                    int64_t space)
{
    return ctx_fail(cx, E_BUSY, RES_NONE, STR_NONE,
                    "the disk of %s%s has %lld bytes left and disk.min-free asks for %lld; nothing "
                    "was done, free space and try again",
                    whose, name, (long long)space, (long long)c->o.disk_min_free_bytes);
}

/* Is what was seen at `at_ms` too old? */
static bool ask_again(_Atomic int64_t *at_ms)
{
    int64_t at = atomic_load(at_ms);
    return at == 0 || clock_mono_ms() - at > SPACE_GOOD_MS;
}

static void seen(_Atomic int64_t *at_ms, _Atomic int64_t *bytes, int64_t space)
{
    int64_t now = clock_mono_ms();
    atomic_store(bytes, space);
    atomic_store(at_ms, now ? now : 1);
}

/* A snapshot that exists and cannot be recorded is the worst of all: the store's disk counts too. */
static int store_space(struct ctx *cx, struct catalog *c)
{
    struct statvfs st;
    if (!*c->data_dir)
        return 0;
    if (ask_again(&c->space_at_ms)) {
        if (statvfs(c->data_dir, &st) < 0)
            return ctx_fail_errno(cx, E_IO, "cannot ask for the space of the data directory");
        seen(&c->space_at_ms, &c->space_bytes, (int64_t)(st.f_bavail * st.f_frsize));
    }
    int64_t space = atomic_load(&c->space_bytes);
    return space < c->o.disk_min_free_bytes ? too_full(cx, c, "the data directory", "", space) : 0;
}

int warehouse_space(struct ctx *cx, struct warehouse *w)
{
    int64_t space = 0;
    TRY(store_space(cx, w->cat));
    if (ask_again(&w->space_at_ms)) {
        TRY(io_space(w->io, cx, &space));
        seen(&w->space_at_ms, &w->space_bytes, space);
    }
    space = atomic_load(&w->space_bytes);
    return space < w->cat->o.disk_min_free_bytes
               ? too_full(cx, w->cat, "warehouse ", w->name, space)
               : 0;
}
