/* branch_fixture.h - what clients ask about branches, a table with a past to ask it of, and a text of
 * all that anybody can see of a table, so that two states can be compared as a whole.
 *
 * Uuids count up and times are left out: the same steps give the same text in every run. */
#ifndef LATCH_TESTS_UNIT_CATALOG_BRANCH_FIXTURE_H
#define LATCH_TESTS_UNIT_CATALOG_BRANCH_FIXTURE_H

#include "tests/unit/catalog/fixture.h"

/* --- calls ------------------------------------------------------------------------------------ */

static int turn_bcreate(struct ctx *cx, struct branch *br, void *arg)
{
    return branch_create(cx, br, *(const str *)arg);
}
static int turn_bdrop(struct ctx *cx, struct branch *br, void *arg)
{
    (void)arg;
    return branch_drop(cx, br);
}
static int turn_brename(struct ctx *cx, struct branch *br, void *arg)
{
    return branch_rename(cx, br, *(const str *)arg);
}
static int turn_forward(struct ctx *cx, struct branch *br, void *arg)
{
    return branch_forward(cx, br, *(const str *)arg);
}
static int turn_schema(struct ctx *cx, struct branch *br, void *arg)
{
    return branch_rollback_schema(cx, br, *(const int64_t *)arg);
}

/* A turn on the branch `name` of table t. */
static int named_turn(struct ctx *cx, struct fx *f, str name,
                      int (*fn)(struct ctx *cx, struct branch *br, void *arg), void *arg)
{
    struct branch *main, *br;
    TRY(cat_branch_open(cx, f->cat, f->w, S("d"), S("t"), &main));
    int rc = cat_branch_of(cx, main, name, &br);
    if (rc == 0) {
        rc = turn(cx, br, fn, arg);
        branch_unref(br);
    }
    branch_unref(main);
    return rc;
}

/* Without f->cx: for hooks and threads. tag NULL: without. */
/* The way of h_branch_create. */
static int do_create(struct ctx *cx, struct fx *f, const char *name, const char *tag)
{
    str t = tag ? str_of(tag) : STR_NONE;
    struct branch *main, *br;
    TRY(cat_branch_open(cx, f->cat, f->w, S("d"), S("t"), &main));
    int rc = CAT_NEED;
    for (int i = 0; rc == CAT_NEED && i < 1000; i++) {
        rc = cat_branch_new(cx, main, str_of(name), &br);
        if (rc < 0)
            break;
        rc = turn(cx, br, turn_bcreate, &t);
        branch_unref(br);
    }
    branch_unref(main);
    return rc;
}
static int do_drop(struct ctx *cx, struct fx *f, const char *name)
{
    return named_turn(cx, f, str_of(name), turn_bdrop, NULL);
}
static int do_rename(struct ctx *cx, struct fx *f, const char *name, const char *to)
{
    str s = str_of(to);
    return named_turn(cx, f, str_of(name), turn_brename, &s);
}
static int turn_settle(struct ctx *cx, struct branch *br, void *arg)
{
    (void)arg;
    return branch_settle(cx, br);
}
/* The way of h_branch_forward. */
static int do_forward(struct ctx *cx, struct fx *f, const char *name)
{
    str s = str_of(name);
    struct branch *main;
    TRY(cat_branch_open(cx, f->cat, f->w, S("d"), S("t"), &main));
    int rc = named_turn(cx, f, s, turn_settle, NULL);
    if (rc == 0)
        rc = turn(cx, main, turn_forward, &s);
    branch_unref(main);
    return rc;
}
static int do_schema(struct ctx *cx, struct fx *f, const char *object, int64_t id)
{
    return turn_on(cx, f, object, turn_schema, &id);
}

#define FX_CALL(f, call)                                                                           \
    struct ctx cx;                                                                                 \
    fx_begin(&cx);                                                                                 \
    return fx_end((f), &cx, (call))
FN int fx_bcreate(struct fx *f, const char *name, const char *tag)
{
    FX_CALL(f, do_create(&cx, f, name, tag));
}
FN int fx_bdrop(struct fx *f, const char *name)
{
    FX_CALL(f, do_drop(&cx, f, name));
}
FN int fx_brename(struct fx *f, const char *name, const char *to)
{
    FX_CALL(f, do_rename(&cx, f, name, to));
}
FN int fx_forward(struct fx *f, const char *name)
{
    FX_CALL(f, do_forward(&cx, f, name));
}
FN int fx_schema_back(struct fx *f, const char *object, int64_t id)
{
    FX_CALL(f, do_schema(&cx, f, object, id));
}

/* --- files ------------------------------------------------------------------------------------ */

FN str fx_in(struct fx *f, const char *branch, const char *rest) /* of table t */
{
    str root = layout_root(&f->cx.arena, fx_dir(f, "t"), str_of(branch));
    return fx_text(f, "%.*s/%s", STR(root), rest);
}

FN void fx_put(struct fx *f, str path, str data) /* durable, folders and all */
{
    size_t cut = path.len;
    while (path.p[cut - 1] != '/')
        cut--;
    assert_int_equal(io_mkdirs(f->io, &f->cx, str_n(path.p, cut - 1)), 0);
    assert_int_equal(io_write(f->io, &f->cx, path, data, true), 0);
}

FN str fx_names(struct fx *f) /* of the branches, as listed */
{
    struct ctx cx;
    struct branch *br;
    struct buf b = {0};
    str *names;
    size_t n;
    fx_begin(&cx);
    int rc = cat_branch_open(&cx, f->cat, f->w, S("d"), S("t"), &br);
    if (rc == 0) {
        rc = cat_branch_list(&cx, br, &names, &n);
        branch_unref(br);
    }
    for (size_t i = 0; rc == 0 && i < n; i++)
        buf_addf(&b, "%.*s ", STR(names[i]));
    OK(f, fx_end(f, &cx, rc));
    str s = str_dup(&f->cx.arena, buf_str(&b));
    buf_done(&b);
    return s;
}

static int by_entry(const void *a, const void *b)
{
    return str_cmp(((const struct io_entry *)a)->name, ((const struct io_entry *)b)->name);
}

/* The text without the digits of a time. */
static void add_timeless(struct buf *b, str text)
{
    str mark = S("\"timeMillis\":");
    const char *at = memmem(text.p, text.len, mark.p, mark.len);
    if (!at) {
        buf_adds(b, text);
        return;
    }
    size_t end = (size_t)(at - text.p) + mark.len;
    buf_adds(b, str_n(text.p, end));
    while (end < text.len && (text.p[end] == ' ' || (text.p[end] >= '0' && text.p[end] <= '9')))
        end++;
    buf_adds(b, str_cut(text, end));
}

static void add_folder(struct fx *f, struct buf *b, const char *branch, const char *folder)
{
    struct io_entry *e;
    size_t n = 0;
    str dir = fx_in(f, branch, folder);
    if (io_list(f->io, &f->cx, dir, &e, &n) != 0)
        n = 0;
    ctx_reset_err(&f->cx);
    if (n)
        qsort(e, n, sizeof *e, by_entry);
    for (size_t i = 0; i < n; i++) {
        if (e[i].is_dir || layout_is_temp(e[i].name) || str_eqz(e[i].name, "LATEST") ||
            str_eqz(e[i].name, "EARLIEST"))
            continue;
        buf_addf(b, "  %s/%.*s ", folder, STR(e[i].name));
        add_timeless(b, fx_read(f, fx_text(f, "%.*s/%.*s", STR(dir), STR(e[i].name))));
        buf_addc(b, '\n');
    }
}

/* What was begun may go on at the first request; then it must end. */
static int patient(struct fx *f, int (*call)(struct fx *f, const char *object), const char *object)
{
    int rc = call(f, object);
    for (int i = 0; rc == E_BUSY && i < 500; i++) {
        usleep(1000);
        rc = call(f, object);
    }
    return rc;
}

static int look(struct fx *f, const char *object)
{
    struct seen s;
    return fx_head(f, object, &s);
}

static void add_branch(struct fx *f, struct buf *b, const char *name)
{
    struct seen s;
    struct table_info t = {0};
    const char *object = layout_is_main(str_of(name)) ? "t" : fx_text(f, "t$branch_%s", name).p;
    buf_addf(b, "%s\n", name);
    int rc = patient(f, look, object);
    if (rc == 0)
        rc = fx_head(f, object, &s);
    if (rc == 0)
        rc = fx_get(f, object, &t);
    if (rc != 0) {
        buf_addf(b, " %s\n", err_name(rc));
        return;
    }
    buf_addf(b, " head %lld %.*s of %lld bytes, schema %lld %.*s\n", (long long)s.id, STR(s.json),
             (long long)s.totals.file_size_bytes, (long long)t.row.schema_id,
             STR(t.row.schema_json));
    static const char *const folders[] = {"schema", "snapshot", "tag", "changelog"};
    for (size_t i = 0; i < 4; i++)
        add_folder(f, b, name, folders[i]);
}

/* All that anybody can see of table t. Opens each branch, so what was begun has ended. */
FN str fx_state(struct fx *f)
{
    static const char *const names[] = {"main", "b", "c", "n", "x"};
    struct branch_row row;
    struct buf b = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add_branch(f, &b, names[i]);
    buf_addf(&b, "listed %.*s\nrows ", STR(fx_names(f)));
    for (size_t i = 1; i < sizeof names / sizeof *names; i++)
        if (STORE(f->st, branch_get, &f->cx, fx_row(f, "t").id, str_of(names[i]), &row) == 0)
            buf_addf(&b, "%s ", names[i]);
    ctx_reset_err(&f->cx);
    str s = str_dup(&f->cx.arena, buf_str(&b));
    assert_int_equal(buf_fail(&b), 0);
    buf_done(&b);
    assert_int_equal(fx_intents_soon(f, 0), 0);
    return s;
}

/* --- a table with a past ---------------------------------------------------------------------- */

FN struct draft fx_step(struct fx *f, const struct draft *prev, int64_t schema)
{
    struct draft d = fx_next(f, prev && prev->id ? prev : NULL, "u", true);
    snprintf(d.uuid, sizeof d.uuid, "00000000-0000-4000-8000-%012d", f->seq);
    d.size = 100;
    d.schema_id = schema;
    return d;
}

FN void fx_on(struct fx *f, const char *object, struct draft *last, int n, int64_t schema)
{
    for (int i = 0; i < n; i++) {
        struct draft d = fx_step(f, last, schema);
        if (!fx_answer(f, object, &d))
            fail_msg("%s: snapshot %lld was answered false", object, (long long)d.id);
        *last = d;
    }
}

FN void fx_set(struct fx *f, const char *object, const char *value)
{
    str changes = fx_text(f, "[{\"action\":\"setOption\",\"key\":\"k\",\"value\":\"%s\"}]", value);
    OK(f, fx_alter(f, object, changes.p));
}

FN void fx_tag(struct fx *f, const char *branch, const char *name, const struct draft *of)
{
    struct draft t = *of;
    t.extra = ",\"tagCreateTime\":[2026,1,2,3,4,5,6],\"tagTimeRetained\":60.0";
    fx_put(f, fx_in(f, branch, fx_text(f, "tag/tag-%s", name).p), fx_snapshot(f, &t));
}

struct past {
    struct draft m[8], b[8]; /* by id: main's, and those of b from 3 on */
};

/* main: 1 2 | schema 1 | 3 4 5 | schemas 2, 3 that no snapshot has; tags v1 v3 v5, changelogs 2 4.
 * b: from tag v3 on 4' 5' | schema 2' | 6'; tag bt of 5'. */
FN void fx_past(struct fx *f, unsigned kind, struct past *p)
{
    *p = (struct past){0};
    fx_new(f, kind);
    enum commit_sync sync = f->cat->o.sync;
    if (!(kind & FX_MEM)) /* no power is lost on a disk, and each test makes a past */
        f->cat->o.sync = SYNC_OFF;
    fx_table(f, "t");
    for (int i = 1; i <= 5; i++) {
        p->m[i] = p->m[i - 1];
        if (i == 3)
            fx_set(f, "t", "one");
        fx_on(f, "t", &p->m[i], 1, i >= 3);
    }
    fx_tag(f, "main", "v1", &p->m[1]);
    fx_tag(f, "main", "v3", &p->m[3]);
    fx_tag(f, "main", "v5", &p->m[5]);
    fx_put(f, fx_in(f, "main", "changelog/changelog-2"), fx_snapshot(f, &p->m[2]));
    fx_put(f, fx_in(f, "main", "changelog/changelog-4"), fx_snapshot(f, &p->m[4]));
    OK(f, fx_bcreate(f, "b", "v3"));
    p->b[3] = p->m[3];
    for (int i = 4; i <= 6; i++) {
        p->b[i] = p->b[i - 1];
        if (i == 6)
            fx_set(f, "t$branch_b", "two-b");
        fx_on(f, "t$branch_b", &p->b[i], 1, i == 6 ? 2 : 1);
    }
    fx_tag(f, "b", "bt", &p->b[5]);
    fx_set(f, "t", "two");
    fx_set(f, "t", "three");
    f->cat->o.sync = sync;
}

#endif
