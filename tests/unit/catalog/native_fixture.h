/* native_fixture.h - native commits as h_native makes them, from the text of a body. Included after
 * fixture.h, once by a test program. */
#ifndef LATCH_TESTS_UNIT_CATALOG_NATIVE_FIXTURE_H
#define LATCH_TESTS_UNIT_CATALOG_NATIVE_FIXTURE_H

#include "catalog/meta_read.h"
#include "catalog/native.h"
#include "proto/api/api_native.h"

struct nat { /* an answer, in fx's memory */
    int64_t id;
    bool replayed;
    str json; /* STR_NONE: only the id */
};
struct nat_turn {
    struct native *nc;
    struct native_done done;
};

static int turn_native(struct ctx *cx, struct branch *br, void *arg)
{
    struct nat_turn *t = arg;
    (void)br;
    return native_run(cx, t->nc, &t->done);
}

static int nat_way(struct ctx *cx, struct fx *f, struct branch *br, str body, struct buf *answer,
                   struct nat_turn *t)
{
    const struct json *j;
    struct api_native *in = ARENA_NEW(&cx->arena, struct api_native);
    struct native_in ni = {.body = in, .answer = answer};
    assert_non_null(in);
    TRY(json_parse(cx, body, "test", &j));
    TRY(api_native_decode(cx, j, in));
    TRY(native_new(cx, br, &ni, &t->nc));
    for (int turns = 1;; turns++) {
        TRY(native_prepare(cx, t->nc));
        int rc = turn(cx, br, turn_native, t);
        f->needs += rc == CAT_NEED;
        if (rc != CAT_NEED)
            return rc < 0 ? rc : native_text(cx, t->nc, &t->done);
        assert_true(turns < 10);
    }
}

FN int nat_by(struct fx *f, const char *object, const char *body, int64_t deadline_ms,
              struct nat *ret)
{
    struct ctx cx;
    struct branch *br = NULL;
    struct buf answer = {0};
    struct nat_turn t = {0};
    fx_begin(&cx);
    cx.deadline_ms = deadline_ms;
    int rc = cat_branch_open(&cx, f->cat, f->w, S("d"), str_of(object), &br);
    if (rc == 0)
        rc = nat_way(&cx, f, br, str_of(body), &answer, &t);
    if (rc == 0 && ret) {
        *ret = (struct nat){.id = t.done.id, .replayed = t.done.replayed, .json = STR_NONE};
        if (t.done.json.p)
            ret->json = str_dup(&f->cx.arena, t.done.json);
        size_t had = answer.cap;
        assert_int_equal(api_native_encode(&cx, &answer, t.done.json, t.done.id, t.done.replayed),
                         0);
        assert_true(t.done.replayed || answer.cap == had); /* its room was there before */
    }
    buf_done(&answer);
    rc = fx_end(f, &cx, rc); /* the native's memory goes before the branch */
    if (br)
        branch_unref(br);
    return rc;
}

FN int nat(struct fx *f, const char *object, const char *body, struct nat *ret)
{
    return nat_by(f, object, body, 0, ret);
}

/* --- the state -------------------------------------------------------------------------------- */

static int turn_check(struct ctx *cx, struct branch *br, void *arg)
{
    struct state_report *r;
    void **p = arg;
    (void)br;
    r = p[1];
    return state_check_run(cx, p[0], r);
}

/* It is what a fresh load gives. */
FN void nat_state_right(struct fx *f, const char *object)
{
    struct ctx cx;
    struct branch *br = NULL;
    struct state_check *ck;
    struct state_report r = {0};
    fx_begin(&cx);
    OK(f, cat_branch_open(&cx, f->cat, f->w, S("d"), str_of(object), &br));
    int rc = state_check_new(&cx, br, true, &ck);
    for (int i = 0; rc == 0 && i < 10; i++) {
        rc = state_check_prepare(&cx, ck);
        void *p[] = {ck, &r};
        if (rc == 0)
            rc = turn(&cx, br, turn_check, p);
        if (rc != CAT_NEED)
            break;
        rc = 0;
    }
    if (rc != 0 || !r.compared || !r.equal)
        fail_msg("state: %s %.*s", err_name(rc), STR(r.differences));
    (void)fx_end(f, &cx, rc);
    branch_unref(br);
}

/* --- files ------------------------------------------------------------------------------------ */

FN struct meta_dir nat_dir(struct fx *f, const char *table)
{
    return (struct meta_dir){f->io, fx_dir(f, table)};
}

FN size_t nat_files(struct fx *f, const char *table) /* in its manifest folder */
{
    return fx_count(f, layout_manifest_dir(&f->cx.arena, fx_dir(f, table)));
}

/* A data file of so many bytes. */
FN void nat_data(struct fx *f, const char *table, const char *path, int64_t size)
{
    str at = fx_text(f, "%.*s/%s", STR(fx_dir(f, table)), path);
    size_t cut = at.len;
    while (at.p[cut - 1] != '/')
        cut--;
    assert_int_equal(io_mkdirs(f->io, &f->cx, str_n(at.p, cut - 1)), 0);
    fx_write(f, at, fx_data(f, size));
}

FN struct snapshot nat_snapshot(struct fx *f, str json)
{
    struct snapshot s;
    assert_int_equal(snapshot_decode_file(&f->cx, json, S("answer"), &s), 0);
    return s;
}

/* All entries of the manifests of one list. */
FN struct manifest_entry *nat_entries(struct fx *f, const char *table, str list, size_t *ret_n)
{
    struct meta_dir d = nat_dir(f, table);
    struct manifest_file *m;
    struct manifest_entry *all = ARENA_ARRAY(&f->cx.arena, struct manifest_entry, 10000), *e;
    size_t n, k, at = 0;
    assert_int_equal(meta_list(&f->cx, &d, list, SIZE_ANY, &m, &n), 0);
    for (size_t i = 0; i < n; i++) {
        struct buf b = {0};
        assert_int_equal(meta_read(&f->cx, &d, m[i].name, (struct opt_i64){true, m[i].size}, &b),
                         0);
        assert_int_equal(manifest_read(&f->cx, buf_str(&b), m[i].name, &e, &k), 0);
        assert_int_equal(m[i].added + m[i].deleted, k);
        for (size_t j = 0; j < k; j++)
            all[at++] = e[j];
        buf_done(&b);
    }
    *ret_n = at;
    return all;
}

#endif
