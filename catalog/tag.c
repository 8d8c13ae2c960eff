/* tag.c - tags by the REST routes: made, deleted, listed and read.
 *
 * The folder is the truth. Table-level calls of the stock clients write, replace and delete tag
 * files behind our back, so nothing about tags is kept in memory or in the store.
 *
 * Invariants
 *  - A tag that we make appears whole, once, and survives a power loss. It names a snapshot that the
 *    branch has: creation runs on the branch's strand, as rollback does, which deletes the tags
 *    above its target.
 *  - Deleting takes the tag's file only. Data files that nothing else names any more are left to
 *    whoever removes orphans, as pypaimon leaves them.
 *  - One damaged file never fails a listing. Clients write in place, so a file may be seen half
 *    written: reading one tries again for a moment before it calls it damaged. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "manifest/tag.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/path.h"

#define TAG_NAME_MAX (PATH_COMPONENT_MAX - 4) /* its file is called tag-<name> */
/* pypaimon, which counts in days up to this many, cannot read a tag with more; and the sums that
 * Java makes of it to find out what has expired would overflow for much more. */
#define RETAINED_DAYS_MAX 999999999
#define READ_TRIES        5
#define READ_WAIT_MS      20

static struct io *io_of(struct branch *br)
{
    return br->table->io;
}

/* STR_NONE: no tag can have this name. E_NOMEM is another matter: whoever looks at all tags must not
 * pass one over. */
static int path_of(struct ctx *cx, struct branch *br, str name, str *ret)
{
    *ret = STR_NONE;
    if (name.len > TAG_NAME_MAX || !path_component_ok(name))
        return 0;
    *ret = layout_tag(&cx->arena, str_of(br->table->dir), str_of(br->name), name);
    return ret->p ? 0 : ctx_nomem(cx);
}

static str folder_of(struct ctx *cx, struct branch *br)
{
    return layout_tag_dir(&cx->arena, str_of(br->table->dir), str_of(br->name));
}

static int no_tag(struct ctx *cx, str name)
{
    ctx_reset_err(cx);
    return ctx_fail(cx, E_NOTFOUND, RES_TAG, name, "tag '%.*s' does not exist", STR(name));
}

void branch_audit(struct ctx *cx, struct branch *br, const char *action, str detail)
{
    struct audit au;
    str db, name;
    table_names(br->table, &db, &name);
    audit_fill(cx, &au, action, br->table->wh, db, name);
    au.detail = detail;
    if (STORE(br->table->cat->o.store, audit_add, cx, &au) < 0)
        log_warn("catalog", "audit.lost", LZ("action", action),
                 LS("table", branch_full_name(cx, br)), LS("detail", detail),
                 LZ("err", cx->err.msg));
    ctx_reset_err(cx);
}

/* --- create ----------------------------------------------------------------------------------- */

static int retained_of(struct ctx *cx, str text, struct duration *ret)
{
    TRY(duration_parse(cx, text, "timeRetained", ret));
    if (ret->seconds <= (int64_t)RETAINED_DAYS_MAX * 86400)
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "timeRetained is more than %d days; leave it out to keep the tag for ever",
                    RETAINED_DAYS_MAX);
}

static int no_snapshot(struct ctx *cx, struct branch *br, const struct tag_create_in *in)
{
    ctx_reset_err(cx);
    if (in->snapshot_id.has)
        return branch_no_snapshot(cx, br, in->snapshot_id.v);
    return ctx_fail(cx, E_NOTFOUND, RES_SNAPSHOT, STR_LIT("LATEST"),
                    "table %.*s has no snapshot yet that a tag could name",
                    STR(branch_full_name(cx, br)));
}

/* The text of the snapshot that the tag is to name. */
static int snapshot_of(struct ctx *cx, struct branch *br, const struct tag_create_in *in, str *ret,
                       int64_t *ret_id)
{
    struct snapshot s;
    int64_t id = in->snapshot_id.has ? in->snapshot_id.v : br->head ? br->head->id : 0;
    int rc = id < 1 || !br->head || id > br->head->id ? E_NOTFOUND : snapshot_load(cx, br, id, &s);
    if (rc == E_NOTFOUND)
        return no_snapshot(cx, br, in);
    TRY(rc);
    *ret = s.raw;
    *ret_id = id;
    return 0;
}

/* The folder comes with the first tag, but not back once the table is dropped. */
static int put(struct ctx *cx, struct branch *br, str path, str text, enum io_put_result *ret)
{
    str folder = folder_of(cx, br);
    int rc = io_put_if_absent(io_of(br), cx, path, text, ret);
    if (rc == E_NOTFOUND && folder.p && !atomic_load(&br->table->dead)) {
        ctx_reset_err(cx);
        TRY(io_mkdirs(io_of(br), cx, folder));
        rc = io_put_if_absent(io_of(br), cx, path, text, ret);
    }
    if (rc == E_UNKNOWN)
        return ctx_prefix(cx, "the tag may have been made, read it to find out");
    return rc;
}

static int create(struct ctx *cx, struct branch *br, const struct tag_create_in *in,
                  const struct duration *retained)
{
    str snapshot = STR_NONE, text, path;
    int64_t id = 0;
    enum io_put_result made;
    TRY(path_of(cx, br, in->name, &path));
    TRY(snapshot_of(cx, br, in, &snapshot, &id));
    TRY(tag_encode(cx, snapshot, retained, clock_wall_ms(), &text));
    if (!path.p)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "'%.*s' cannot be the name of a tag",
                        STR(in->name));
    TRY(put(cx, br, path, text, &made));
    if (made == IO_PUT_EXISTED)
        return ctx_fail(cx, E_EXISTS, RES_TAG, in->name,
                        "tag '%.*s' already exists; delete it first, or take another name",
                        STR(in->name));
    log_info("catalog", "tag.created", LS("table", branch_full_name(cx, br)), LS("tag", in->name),
             LI("snapshot", id), LS("by", cx->principal), LS("req", cx->request_id));
    branch_audit(cx, br, "tag.create", in->name);
    return 0;
}

int branch_tag_create(struct ctx *cx, struct branch *br, const struct tag_create_in *in)
{
    struct duration d;
    TRY(ctx_check_deadline(cx));
    if (in->time_retained.p)
        TRY(retained_of(cx, in->time_retained, &d));
    TRY(branch_enter(cx, br));
    TRY(branch_may_change(cx, br));
    TRY(warehouse_space(cx, br->table->wh));
    return create(cx, br, in, in->time_retained.p ? &d : NULL);
}

/* --- delete ----------------------------------------------------------------------------------- */

int branch_tag_delete(struct ctx *cx, struct branch *br, str name)
{
    TRY(ctx_check_deadline(cx));
    TRY(branch_enter(cx, br));
    TRY(branch_may_change(cx, br));
    str path, folder = folder_of(cx, br);
    TRY(path_of(cx, br, name, &path));
    if (!folder.p)
        return ctx_nomem(cx);
    int rc = path.p ? io_del(io_of(br), cx, path) : E_NOTFOUND;
    if (rc == E_NOTFOUND)
        return no_tag(cx, name);
    if (rc == E_INVAL) /* a folder with its name, say: not what the client sent */
        return cx->err.code = E_CORRUPT;
    TRY(rc);
    IGNORE(INJECT(TAG_DELETED));
    if (io_sync(io_of(br), cx, &folder, 1) < 0) {
        IGNORE(ctx_prefix(cx, "the tag is deleted, but may be back after a power loss"));
        return cx->err.code = E_UNKNOWN;
    }
    log_info("catalog", "tag.deleted", LS("table", branch_full_name(cx, br)), LS("tag", name),
             LS("by", cx->principal), LS("req", cx->request_id));
    branch_audit(cx, br, "tag.delete", name);
    return 0;
}

/* --- read ------------------------------------------------------------------------------------- */

int tag_load(struct ctx *cx, struct branch *br, str tag, struct snapshot *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    size_t max = br->table->cat->o.snapshot_max_bytes;
    str path;
    TRY(path_of(cx, br, tag, &path));
    int rc = path.p ? io_read(io_of(br), cx, path, max, &b) : E_NOTFOUND;
    if (rc == E_NOTFOUND)
        return no_tag(cx, tag);
    if (rc == 0)
        rc = snapshot_decode_file(cx, buf_str(&b), path, ret);
    /* A link, a file that is too large, the version of a later Paimon: not what the client sent. */
    if (rc == E_TOOBIG || rc == E_INVAL || rc == E_UNSUPPORTED)
        return cx->err.code = E_CORRUPT;
    return rc;
}

/* What a tag names; its text is let go. */
static int tag_look(struct ctx *cx, struct branch *br, struct tag_at *tag)
{
    struct ctx one;
    struct snapshot s;
    ctx_init(&one, cx->arena.max);
    int rc = tag_load(&one, br, tag->name, &s);
    if (rc == 0) {
        tag->id = s.id;
        tag->schema_id = s.schema_id;
    } else {
        cx->err = one.err;
    }
    ctx_done(&one);
    return rc;
}

int branch_tags(struct ctx *cx, struct branch *br, struct tags *ret)
{
    struct io_entry *e;
    size_t n;
    TRY(branch_files(cx, br, folder_of(cx, br), &e, &n));
    struct tags tags = {.at = ARENA_ARRAY(&cx->arena, struct tag_at, n ? n : 1)};
    if (!tags.at)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++) {
        struct tag_at *tag = &tags.at[tags.n];
        if (!layout_tag_name(e[i].name, &tag->name))
            continue;
        int rc = tag_look(cx, br, tag);
        if (rc == E_NOMEM || rc == E_IO || rc == E_BUSY)
            return rc;
        if (rc == 0)
            tags.n++;
        else /* no tag, whatever it is: not ours to judge */
            ctx_reset_err(cx);
    }
    *ret = tags;
    return 0;
}

static bool damaged(int rc)
{
    return rc == E_CORRUPT || rc == E_TOOBIG || rc == E_INVAL || rc == E_UNSUPPORTED;
}

static int get_once(struct ctx *cx, struct branch *br, str name, str path, struct tag_info *ret)
{
    struct snapshot s = {0};
    struct tag_extra x;
    TRY(tag_load(cx, br, name, &s));
    TRY(tag_extra_decode(cx, s.raw, path, &x));
    TRY(snapshot_trim(cx, &s));
    *ret = (struct tag_info){.snapshot_json = s.raw,
                             .has_created = x.has_created,
                             .created_ms = x.created_ms,
                             .time_retained = x.retained};
    return 0;
}

int branch_tag_get(struct ctx *cx, struct branch *br, str name, struct tag_info *ret)
{
    str path;
    TRY(path_of(cx, br, name, &path));
    if (!path.p)
        return no_tag(cx, name);
    int rc = get_once(cx, br, name, path, ret);
    for (int n = 1; rc == E_CORRUPT && n < READ_TRIES; n++) {
        clock_sleep_ms(READ_WAIT_MS);
        ctx_reset_err(cx);
        rc = get_once(cx, br, name, path, ret);
    }
    if (damaged(rc)) {
        IGNORE(ctx_prefix(cx, "tag '%.*s' cannot be read: delete or replace it", STR(name)));
        return cx->err.code = E_CORRUPT;
    }
    return rc;
}

/* --- list ------------------------------------------------------------------------------------- */

int branch_tag_names(struct ctx *cx, struct branch *br, const struct page_in *in, str **ret,
                     size_t *ret_n)
{
    return branch_names(cx, br, folder_of(cx, br), layout_tag_name, in, ret, ret_n);
}
