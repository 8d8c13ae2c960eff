/* purge.c - the directory of a table that is gone, deleted in the background.
 *
 * First one rename into <root>/.latch-trash/<intent id>: from then on no path leads there. Then all
 * below it is deleted, then the intent is crossed out. Each step can be repeated. Only directories
 * that this server chose and recorded are ever named here. */
#include "catalog/catalog_int.h"

#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"
#include "proto/json/json.h"

#define PURGE_ARENA_MAX ((size_t)256 << 20)

struct purge {
    struct pool_item item;
    struct catalog *cat;
    struct warehouse *wh;
    int64_t intent_id;
    char *dir;
};

static int purge_files(struct ctx *cx, const struct purge *p)
{
    struct io *io = p->wh->io;
    char trash[64];
    snprintf(trash, sizeof trash, ".latch-trash/%lld", (long long)p->intent_id);
    TRY(io_mkdirs(io, cx, STR_LIT(".latch-trash")));
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
    str folder = STR_LIT(".latch-trash");
    TRY(io_sync(io, cx, &folder, 1)); /* gone for good before the intent is */
    IGNORE(INJECT(PURGE_DELETED));
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
    if (purge_files(&cx, p) < 0) {
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
    *ret = mem_dup(dir.p, dir.len);
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
    if (rc == 0)
        rc = pool_post_forced(c->o.background, str_of(w->tenant), &p->item);
    if (rc < 0)
        purge_free(p);
    return rc;
}
