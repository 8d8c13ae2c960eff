/* stage.c - folders beside the branches', <table>/branch/.latch-<uuid>, where the files of one intent are
 * put together before one rename shows them, or taken apart after one rename hid them.
 *
 * Readers list the folder `branch` by the prefix "branch-" and see none of it. What a crash leaves is
 * swept when the table is opened next (branch.c).
 *
 * Thread rule: any thread that may block; the name belongs to one intent. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/assert.h"
#include "proto/base/rand.h"
#include "proto/json/json.h"

#define COPY_MAX ((size_t)64 << 20) /* bytes of one metadata file */

int stage_path(struct ctx *cx, struct table *t, str name, str *ret)
{
    str dir = layout_branch_dir(&cx->arena, str_of(t->dir));
    return dir.p ? ctx_text(cx, ret, "%.*s/%.*s", STR(dir), STR(name)) : ctx_nomem(cx);
}

static int name_new(struct ctx *cx, str *ret)
{
    char id[UUID_LEN + 1];
    rand_uuid(id);
    return ctx_text(cx, ret, BRANCH_STAGE "%s", id);
}

int stage_args(struct ctx *cx, str *ret_name, str *ret_args)
{
    TRY(name_new(cx, ret_name));
    return ctx_text(cx, ret_args, "{\"stage\":\"%.*s\"}", STR(*ret_name));
}

int stage_of_intent(struct ctx *cx, struct branch *br, str *ret)
{
    const struct json *args;
    str name;
    TRY(intent_args(cx, br, &args));
    TRY(json_opt_str(cx, args, "", "stage", &name));
    *ret = STR_NONE;
    return name.p ? stage_path(cx, br->table, name, ret) : 0;
}

int stage_put(struct ctx *cx, struct io *io, struct staged *st, str dir, str file, str data)
{
    str path;
    ASSERT(st->n < st->cap);
    TRY(ctx_text(cx, &path, "%.*s/%.*s", STR(dir), STR(file)));
    TRY(io_write(io, cx, path, data, /* sync= */ false));
    st->paths[st->n++] = path;
    return 0;
}

int stage_room(struct ctx *cx, struct staged *st, size_t n)
{
    str *paths = ARENA_ARRAY(&cx->arena, str, n ? n : 1);
    if (!paths)
        return ctx_nomem(cx);
    *st = (struct staged){.paths = paths, .cap = n};
    return 0;
}

int stage_copy(struct ctx *cx, struct io *io, struct staged *st, str from_dir, str file, str to_dir)
{
    CLEANUP(buf_done) struct buf b = {0};
    str from;
    TRY(ctx_text(cx, &from, "%.*s/%.*s", STR(from_dir), STR(file)));
    TRY(io_read(io, cx, from, COPY_MAX, &b));
    return stage_put(cx, io, st, to_dir, file, buf_str(&b));
}
