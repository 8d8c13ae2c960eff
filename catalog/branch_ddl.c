/* branch_ddl.c - branches listed, dropped, renamed; what their names may be.
 *
 * A branch is a directory, <table>/branch/branch-<name>, that appears, goes and changes its name by
 * one rename. Around that rename there is an intent of the branch, so that its name is taken from
 * before the first file to after the last (branch_create.c makes them):
 *
 *   drop    (1) store: intent, epoch + 1 (2) the rename away, the folder deleted (3) store: row gone
 *   rename  (1) store: intent, which also holds the new name (2) the rename (3) store: the new name;
 *           one whose target directory somebody else made is given up
 *
 * Thread rule: drop and rename on the branch's own strand. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/path.h"
#include "proto/json/json.h"

#define NAME_MAX_BYTES (PATH_COMPONENT_MAX - (sizeof "branch-" - 1)) /* of a directory's name */

/* --- names ------------------------------------------------------------------------------------ */

static bool all_digits(str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return true;
}

/* Paimon's rules (BranchManager.validateBranch), and what can be part of a path and an object. */
int branch_name_check(struct ctx *cx, str name)
{
    if (layout_is_main(name) || str_trim(name).len == 0)
        return ctx_fail(cx, E_INVAL, RES_BRANCH, name,
                        "the name of a branch is neither blank nor 'main', which is the table "
                        "itself; choose another name");
    if (all_digits(name))
        return ctx_fail(cx, E_INVAL, RES_BRANCH, name,
                        "the name of a branch cannot be a number; '%.*s' is one, choose another "
                        "name",
                        STR(name));
    if (str_find(name, '$') >= 0)
        return ctx_fail(cx, E_INVAL, RES_BRANCH, name,
                        "a branch name has no '$': it marks branches and system tables");
    if (name.len > NAME_MAX_BYTES)
        return ctx_fail(cx, E_INVAL, RES_BRANCH, STR_NONE,
                        "the name of a branch has %zu bytes, it may have %zu; choose a shorter one",
                        name.len, NAME_MAX_BYTES);
    return path_component(cx, name, "branch name");
}

int branch_missing(struct ctx *cx, str name)
{
    ctx_reset_err(cx);
    return ctx_fail(cx, E_NOTFOUND, RES_BRANCH, name, "branch '%.*s' does not exist", STR(name));
}

int branch_exists(struct ctx *cx, str name)
{
    ctx_reset_err(cx);
    return ctx_fail(cx, E_EXISTS, RES_BRANCH, name, "branch '%.*s' exists already", STR(name));
}

str branch_root(struct ctx *cx, struct branch *br)
{
    return layout_root(&cx->arena, str_of(br->table->dir), str_of(br->name));
}

/* For the routes of branches, which say which branch is not there. */
static int enter_named(struct ctx *cx, struct branch *br)
{
    int rc = branch_enter(cx, br);
    return rc == E_NOTFOUND && !atomic_load(&br->table->dead) ? branch_missing(cx, str_of(br->name))
                                                              : rc;
}

int branch_settle(struct ctx *cx, struct branch *br)
{
    return enter_named(cx, br);
}

int cat_branch_of(struct ctx *cx, struct branch *main, str name, struct branch **ret)
{
    if (layout_is_main(name))
        return ctx_fail(cx, E_INVAL, RES_BRANCH, name,
                        "'main' is the table itself; it can be dropped or renamed as a table only, "
                        "and is forwarded to, not from");
    int rc = table_branch(cx, main->table, name, ret);
    return rc == E_NOTFOUND && cx->err.res == RES_BRANCH ? branch_missing(cx, name) : rc;
}

/* --- list ------------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* Could a request name it? Somebody else may have made directories that none can. */
static bool name_ok(struct ctx *cx, str name)
{
    if (branch_name_check(cx, name) == 0)
        return str_utf8_valid(name);
    ctx_reset_err(cx);
    return false;
}

int cat_branch_list(struct ctx *cx, struct branch *br, str **ret, size_t *ret_n)
{
    struct io_entry *e;
    size_t n, k = 0;
    TRY(branch_files(cx, br, layout_branch_dir(&cx->arena, str_of(br->table->dir)), &e, &n));
    str *names = ARENA_ARRAY(&cx->arena, str, n ? n : 1);
    if (!names)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++)
        if (e[i].is_dir && layout_branch_name(e[i].name, &names[k]) && name_ok(cx, names[k]))
            k++;
    if (k > 1)
        qsort(names, k, sizeof *names, by_bytes);
    *ret = names;
    *ret_n = k;
    return 0;
}

/* --- drop ------------------------------------------------------------------------------------- */

int branch_unmade(struct ctx *cx, struct branch *br, const char *action)
{
    struct table *t = br->table;
    str db, name;
    struct store_branch_in in = {
        .intent_id = br->intent_id, .table_id = str_of(t->id), .branch = str_of(br->name)};
    table_names(t, &db, &name);
    audit_fill(cx, &in.audit, action, t->wh, db, name);
    in.audit.detail = str_of(br->name);
    int rc = STORE(t->cat->o.store, branch_drop, cx, &in);
    if (rc < 0 && rc != E_NOTFOUND) {
        branch_forget(br);
        return rc;
    }
    ctx_reset_err(cx);
    branch_forget(br);
    IGNORE(branch_set_intent(br, 0, STR_NONE, STR_NONE));
    table_branch_gone(br);
    return 0;
}

int branch_drop_finish(struct ctx *cx, struct branch *br)
{
    struct table *t = br->table;
    str stage, root = branch_root(cx, br), folder = layout_branch_dir(&cx->arena, str_of(t->dir));
    if (!root.p || !folder.p)
        return ctx_nomem(cx);
    TRY(stage_of_intent(cx, br, &stage));
    if (!stage.p)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "the drop of a branch names no folder");
    TRY(io_remove_tree(t->io, cx, stage)); /* of an earlier try, before files came back */
    int rc = io_move(t->io, cx, root, stage);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    IGNORE(INJECT(BRANCH_AWAY));
    TRY(io_remove_tree(t->io, cx, stage));
    rc = io_sync(t->io, cx, &folder, 1);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    log_info("catalog", "branch.dropped", LS("table", branch_full_name(cx, br)),
             LS("by", cx->principal), LS("req", cx->request_id));
    return branch_unmade(cx, br, "branch.dropped");
}

int branch_drop(struct ctx *cx, struct branch *br)
{
    str name, args;
    TRY(ctx_check_deadline(cx));
    TRY(enter_named(cx, br));
    TRY(stage_args(cx, &name, &args));
    TRY(intent_write(cx, br, "branch-drop", args, /* bump_epoch= */ true, STR_NONE, "branch.drop"));
    IGNORE(INJECT(BRANCH_INTENT));
    return intent_carry_out(cx, br);
}

/* --- rename ----------------------------------------------------------------------------------- */

static int record_name(struct ctx *cx, struct branch *br, str to)
{
    struct table *t = br->table;
    str db, name;
    struct store_branch_in in = {
        .intent_id = br->intent_id, .table_id = str_of(t->id), .branch = str_of(br->name)};
    table_names(t, &db, &name);
    audit_fill(cx, &in.audit, "branch.renamed", t->wh, db, name);
    TRY(ctx_text(cx, &in.audit.detail, "%s to %.*s", br->name, STR(to)));
    int rc = STORE(t->cat->o.store, branch_rename, cx, &in, to);
    if (rc < 0) /* done or not: the store knows */
        branch_forget(br);
    return rc;
}

/* Somebody else made a directory of that name: as if it had not begun. */
static int give_up(struct ctx *cx, struct branch *br, str to)
{
    TRY(intent_give_up(cx, br));
    return branch_exists(cx, to);
}

int branch_rename_finish(struct ctx *cx, struct branch *br)
{
    struct table *t = br->table;
    const struct json *args;
    str to;
    TRY(intent_args(cx, br, &args));
    TRY(json_want_str(cx, args, "", "to", &to));
    str from_dir = branch_root(cx, br), to_dir = layout_root(&cx->arena, str_of(t->dir), to);
    str folder = layout_branch_dir(&cx->arena, str_of(t->dir));
    if (!from_dir.p || !to_dir.p || !folder.p)
        return ctx_nomem(cx);
    int rc = io_move(t->io, cx, from_dir, to_dir);
    if (rc == E_EXISTS)
        return give_up(cx, br, to);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    if (rc == E_NOTFOUND) /* moved before, perhaps by a try that did not come to make it durable */
        TRY(io_sync(t->io, cx, &folder, 1));
    IGNORE(INJECT(BRANCH_MOVED));
    TRY(record_name(cx, br, to));
    log_info("catalog", "branch.renamed", LS("table", branch_full_name(cx, br)), LS("to", to),
             LS("by", cx->principal), LS("req", cx->request_id));
    branch_forget(br);
    IGNORE(branch_set_intent(br, 0, STR_NONE, STR_NONE));
    table_branch_gone(br);
    return 0;
}

static int rename_args(struct ctx *cx, str to, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    json_obj(&o);
    json_kstr(&o, "to", to);
    json_end(&o);
    *ret = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    return ret->p ? 0 : ctx_nomem(cx);
}

int branch_rename(struct ctx *cx, struct branch *br, str to)
{
    str args;
    TRY(ctx_check_deadline(cx));
    TRY(branch_name_check(cx, to));
    TRY(enter_named(cx, br));
    TRY(branch_may_change(cx, br));
    TRY(rename_args(cx, to, &args));
    TRY(intent_write(cx, br, "branch-rename", args, /* bump_epoch= */ false, to, "branch.rename"));
    IGNORE(INJECT(BRANCH_INTENT));
    return intent_carry_out(cx, br);
}
