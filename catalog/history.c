/* history.c - what rewrites the past of a branch: files above an id deleted, the head and the schema set
 * back or over, as steps that can be repeated and one end.
 *
 * Newest first, so that a reader without Latch never sees a gap. Data files stay. Used while an intent
 * of the branch is open: readers are not answered and nothing is committed.
 *
 * Thread rule: on the branch's strand. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"

/* --- files ------------------------------------------------------------------------------------ */

static int del_quiet(struct ctx *cx, struct branch *br, str path)
{
    int rc = path.p ? io_del(br->table->io, cx, path) : ctx_nomem(cx);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        rc = 0;
    }
    return rc;
}

int history_delete_snapshots(struct ctx *cx, struct branch *br, int64_t above)
{
    str dir = str_of(br->table->dir), b = str_of(br->name);
    struct ids ids;
    TRY(branch_ids(cx, br, layout_snapshot_dir(&cx->arena, dir, b), layout_snapshot_id, above,
                   INT64_MAX, &ids));
    for (size_t i = 0; i < ids.n; i++) {
        TRY(del_quiet(cx, br, layout_snapshot(&cx->arena, dir, b, ids.at[i])));
        IGNORE(INJECT(ROLLBACK_DELETED));
    }
    return 0;
}

/* The hint of the changelog folder follows: the newest that is left, or -1 when none is. */
int history_delete_changelogs(struct ctx *cx, struct branch *br, int64_t above)
{
    str dir = str_of(br->table->dir), b = str_of(br->name);
    str folder = layout_changelog_dir(&cx->arena, dir, b);
    struct ids ids;
    size_t n = 0; /* of those above: they come first */
    CLEANUP(buf_done) struct buf hint = {0}, text = {0};
    TRY(branch_ids(cx, br, folder, layout_changelog_id, 0, INT64_MAX, &ids));
    while (n < ids.n && ids.at[n] > above)
        n++;
    if (n == 0)
        return 0;
    buf_addf(&hint, "%.*s/LATEST", STR(folder));
    buf_add_i64(&text, n < ids.n ? ids.at[n] : -1);
    if (buf_fail(&hint) || buf_fail(&text))
        return ctx_nomem(cx);
    TRY(io_write(br->table->io, cx, buf_str(&hint), buf_str(&text), false));
    for (size_t i = 0; i < n; i++)
        TRY(del_quiet(cx, br, layout_changelog(&cx->arena, dir, b, ids.at[i])));
    return 0;
}

int history_delete_tags(struct ctx *cx, struct branch *br, int64_t above)
{
    struct tags tags;
    TRY(branch_tags(cx, br, &tags));
    for (size_t i = 0; i < tags.n; i++)
        if (tags.at[i].id > above)
            TRY(del_quiet(
                cx, br,
                layout_tag(&cx->arena, str_of(br->table->dir), str_of(br->name), tags.at[i].name)));
    return 0;
}

int history_hint(struct ctx *cx, struct branch *br, str path, int64_t id)
{
    str text = layout_hint_text(&cx->arena, id);
    if (!path.p || !text.p)
        return ctx_nomem(cx);
    return io_write(br->table->io, cx, path, text, /* sync= */ true);
}

/* Before the intent goes: a deletion that a power loss takes back would be adopted as a commit. */
int history_sync(struct ctx *cx, struct branch *br)
{
    str dir = str_of(br->table->dir), b = str_of(br->name);
    str folders[] = {layout_snapshot_dir(&cx->arena, dir, b),
                     layout_changelog_dir(&cx->arena, dir, b), layout_tag_dir(&cx->arena, dir, b)};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int rc = folders[i].p ? io_sync(br->table->io, cx, &folders[i], 1) : ctx_nomem(cx);
        if (rc == E_NOTFOUND) /* most tables have no changelogs and no tags */
            ctx_reset_err(cx);
        else
            TRY(rc);
    }
    return 0;
}

/* --- the end ---------------------------------------------------------------------------------- */

static int totals_of(struct ctx *cx, struct branch *br, int64_t id, struct totals *ret)
{
    struct outcome o;
    int rc = STORE(br->table->cat->o.store, outcome_of, cx, str_of(br->table->id), str_of(br->name),
                   id, &o);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    *ret = rc == 0 ? o.totals : TOTALS_UNKNOWN;
    return 0;
}

static int target_identity(struct ctx *cx, struct branch *br, int64_t id, struct file_id *ret)
{
    struct io_stat st;
    str path = layout_snapshot(&cx->arena, str_of(br->table->dir), str_of(br->name), id);
    if (!path.p)
        return ctx_nomem(cx);
    TRY(io_stat(br->table->io, cx, path, &st));
    *ret = file_id_of(&st);
    return 0;
}

static int head_over(struct ctx *cx, struct branch *br, const struct snapshot *to,
                     const struct totals *known, struct head **ret)
{
    struct totals tot = known ? *known : TOTALS_UNKNOWN;
    if (!known)
        TRY(totals_of(cx, br, to->id, &tot));
    TRY(target_identity(cx, br, to->id, &br->file));
    *ret = head_new(cx, to, &tot, clock_wall_ms());
    return *ret ? 0 : ctx_nomem(cx);
}

static void head_freep(struct head **h)
{
    head_unref(*h);
}

int history_apply(struct ctx *cx, struct branch *br, const struct snapshot *to,
                  const struct totals *tot, int64_t forget_above, const struct schema_set *schema,
                  const char *action)
{
    struct store_history_in in = {.intent_id = br->intent_id,
                                  .table_id = str_of(br->table->id),
                                  .branch = str_of(br->name),
                                  .forget_above = forget_above,
                                  .schema = schema};
    struct head_row row;
    CLEANUP(head_freep) struct head *h = NULL;
    str db, name;
    if (to) {
        TRY(head_over(cx, br, to, tot, &h));
        head_row_fill(h, &br->file, &row);
        in.head = &row;
    }
    table_names(br->table, &db, &name);
    audit_fill(cx, &in.audit, action, br->table->wh, db, name);
    int rc = STORE(br->table->cat->o.store, history_finish, cx, &in);
    if (rc < 0) { /* done or not: the store knows */
        branch_forget(br);
        return rc;
    }
    IGNORE(branch_set_intent(br, 0, STR_NONE, STR_NONE));
    outcome_ring_forget(&br->recent, forget_above);
    branch_forget_users(br);
    branch_traits_forget(br);
    branch_publish(br, h ? head_ref(h) : br->head);
    if (atomic_load(&br->state_text) != head_text(br->head))
        branch_state_drop(br);
    branch_state_count(br);
    log_info("catalog", action, LS("table", branch_full_name(cx, br)),
             LI("snapshot", br->head ? br->head->id : 0), LS("by", cx->principal),
             LS("req", cx->request_id));
    return 0;
}
