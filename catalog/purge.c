/* purge.c - the directory of a table that is gone, deleted in the background.
 *
 * First one rename into <root>/.latch-trash/<intent id>: from then on no path leads there. Then all
 * below it is deleted, then the intent is crossed out. Each step can be repeated. Only directories
 * that this server chose and recorded are ever named here.
 *
 * Of a create that did not reach its row it is not known whether it came so far as to make the
 * directory; if somebody else made one there since, it is not ours. So there only what a create
 * leaves is deleted: schema-0 and empty directories. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"
#include "proto/json/json.h"

#define PURGE_ARENA_MAX ((size_t)256 << 20)
#define TRASH           ".latch-trash" /* no database directory begins with a dot */

struct purge {
    struct pool_item item;
    struct catalog *cat;
    struct warehouse *wh;
    int64_t intent_id;
    bool create; /* not a drop */
    char *dir;
};

/* Is `dir`/`name` something that a create makes? */
static int is_ours(struct ctx *cx, struct io *io, str dir, str name, bool *ret)
{
    CLEANUP(buf_done) struct buf path = {0};
    bool schema = str_eqz(name, "schema");
    struct io_entry *e = NULL;
    size_t n = 0;

    *ret = schema || str_eqz(name, "snapshot") || str_eqz(name, "manifest") ||
           str_eqz(name, "index") || str_eqz(name, "statistics");
    buf_addf(&path, "%.*s/%.*s", STR(dir), STR(name));
    if (buf_fail(&path))
        return ctx_nomem(cx);
    if (*ret)
        TRY(io_list(io, cx, buf_str(&path), &e, &n));
    for (size_t i = 0; i < n; i++)
        if (!layout_is_temp(e[i].name) && !(schema && str_eqz(e[i].name, "schema-0")))
            *ret = false;
    return 0;
}

/* E_NOTFOUND: there is nothing. */
static int all_ours(struct ctx *cx, struct io *io, str dir, bool *ret)
{
    struct io_entry *e;
    size_t n;
    bool ours = true;
    TRY(io_list(io, cx, dir, &e, &n));
    for (size_t i = 0; i < n && ours; i++)
        TRY(is_ours(cx, io, dir, e[i].name, &ours));
    *ret = ours;
    return 0;
}

static int purge_files(struct ctx *cx, const struct purge *p)
{
    struct io *io = p->wh->io;
    char trash[64];
    str folder = STR_LIT(TRASH);
    snprintf(trash, sizeof trash, TRASH "/%lld", (long long)p->intent_id);
    TRY(io_mkdirs(io, cx, folder));
    int rc = io_move(io, cx, str_of(p->dir), str_of(trash));
    if (rc == E_EXISTS) { /* moved before, and somebody made files under the old name since */
        ctx_reset_err(cx);
        TRY(io_remove_tree(io, cx, str_of(trash)));
        rc = io_move(io, cx, str_of(p->dir), str_of(trash));
    }
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    IGNORE(INJECT(PURGE_MOVED));
    TRY(io_remove_tree(io, cx, str_of(trash)));
    TRY(io_sync(io, cx, &folder, 1)); /* gone for good before the intent is */
    IGNORE(INJECT(PURGE_DELETED));
    return 0;
}

static int purge(struct ctx *cx, const struct purge *p)
{
    bool ours = true;
    int rc = p->create ? all_ours(cx, p->wh->io, str_of(p->dir), &ours) : 0;
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    if (ours)
        TRY(purge_files(cx, p));
    else
        log_warn("catalog", "purge.foreign", LZ("dir", p->dir),
                 LZ("why", "a create stopped here, but what is there was made by somebody else"));
    return STORE(p->cat->o.store, intent_finish, cx, p->intent_id);
}

static void purge_free(struct purge *p)
{
    mem_free(p->dir);
    mem_free(p);
}

static void purge_run(struct pool_item *it)
{
    struct purge *p = (struct purge *)it;
    struct ctx cx;
    ctx_init(&cx, PURGE_ARENA_MAX);
    if (purge(&cx, p) < 0) {
        log_warn("catalog", "purge.waits", LZ("dir", p->dir), LZ("err", cx.err.msg),
                 LZ("next", "tried again at the next start"));
    } else {
        COUNT(p->cat, purged);
        log_info("catalog", "purge.done", LZ("dir", p->dir));
    }
    ctx_done(&cx);
    purge_free(p);
}

static int dir_of(struct ctx *cx, const struct intent_row *in, char **ret)
{
    const struct json *args;
    str dir;
    TRY(json_parse(cx, in->args_json, "intent", &args));
    TRY(json_want_str(cx, args, "", "dir", &dir));
    *ret = str_heap(dir);
    return *ret ? 0 : E_NOMEM;
}

int purge_post(struct catalog *c, const struct intent_row *in)
{
    struct ctx cx;
    struct warehouse *w = warehouse_by_id(c, in->warehouse_id);
    struct purge *p = w ? mem_zalloc(sizeof *p) : NULL;
    if (!p)
        return w ? E_NOMEM : E_NOTFOUND;
    ctx_init(&cx, PURGE_ARENA_MAX);
    int rc = dir_of(&cx, in, &p->dir);
    ctx_done(&cx);
    p->item.fn = purge_run;
    p->cat = c;
    p->wh = w;
    p->intent_id = in->id;
    p->create = str_eqz(in->kind, "create");
    if (rc == 0)
        rc = pool_post_forced(c->o.background, str_of(w->tenant), &p->item);
    if (rc < 0)
        purge_free(p);
    return rc;
}
