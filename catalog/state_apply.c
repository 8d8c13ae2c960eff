/* state_apply.c - a state goes forward by one commit.
 *
 * First all is looked at that can be wrong, then memory changes: what fails in between (no memory)
 * leaves a broken state, which is loaded again. DELETEs go first, so that an upgrade whose ADD comes
 * first in its list (which no commit through us has) ends the same.
 *
 * Thread rule: the branch's strand. */
#include "catalog/commit_facts.h"
#include "catalog/table_state_int.h"

#include "proto/base/assert.h"
#include "proto/base/mem.h"

#define SHOWN(s) (int)((s).len > 120 ? 120 : (s).len), ((s).p ? (s).p : "")

static int not_on(struct ctx *cx, const struct commit_facts *f, const char *what, str name)
{
    return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                    "snapshot %lld does not go on from what is live before it: it %s \"%.*s\"",
                    (long long)f->id, what, SHOWN(name));
}

static int check_entries(struct ctx *cx, const struct table_state *st, const struct commit_facts *f)
{
    for (size_t i = 0; i < f->n_entries; i++) {
        const struct fact *e = &f->entries[i];
        bool live = files_find(st, &e->f) != 0;
        if (e->added && live)
            return not_on(cx, f, "adds a file that is live,", e->f.name);
        if (!e->added && !live)
            return not_on(cx, f, "deletes a file that is not live,", e->f.name);
        if (e->fault == FAULT_ADD_TWICE || e->fault == FAULT_GONE_TWICE)
            return not_on(cx, f, "adds or deletes a file twice,", e->f.name);
    }
    return 0;
}

/* What its lists name, in words of the state. */
static int resolve(struct ctx *cx, const struct table_state *st, const struct commit_facts *f,
                   const struct fact_manifest *m, struct state_manifest *ret)
{
    struct state_manifest known;
    *ret = (struct state_manifest){m->name, m->size, m->added, m->deleted, m->sum};
    if (m->read)
        return 0;
    if (!state_manifest(st, m->name, &known))
        return not_on(cx, f, "names a manifest that was not read,", m->name);
    ret->sum = known.sum;
    return 0;
}

static int check(struct ctx *cx, const struct table_state *st, const struct commit_facts *f)
{
    struct state_manifest m;
    uint64_t sum = 0;
    if (f->bad.p)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "snapshot %lld: %.*s", (long long)f->id,
                        STR(f->bad));
    if (f->id <= st->snapshot_id)
        return not_on(cx, f, "has the id of an older one,", STR_NONE);
    for (size_t i = 0; i < f->n_base; i++) {
        TRY(resolve(cx, st, f, &f->base[i], &m));
        sum += m.sum;
    }
    if (sum != st->live_sum && sum != st->manifest_sum)
        return not_on(cx, f, "is based on other files, in", f->base_list);
    if (!f->index && !str_eq(f->index_name, index_set_name(st->index)))
        return not_on(cx, f, "names an index manifest that was not read,", f->index_name);
    return check_entries(cx, st, f);
}

static int change_files(struct ctx *cx, struct table_state *st, const struct commit_facts *f)
{
    for (size_t i = 0; i < f->n_entries; i++) {
        const struct fact *e = &f->entries[i];
        if (e->added)
            continue;
        files_remove(st, files_find(st, &e->f));
        TRY(e->level_change ? gone_put(cx, st, e->f.id, f->id, f->user)
                            : gone_note(cx, st, &e->f, f->id, f->user));
    }
    for (size_t i = 0; i < f->n_entries; i++)
        if (f->entries[i].added && f->entries[i].fault != FAULT_SAME_AGAIN)
            TRY(files_add(cx, st, &f->entries[i].f));
    return 0;
}

static int keep_all(struct ctx *cx, struct table_state *st, const struct state_manifest *m,
                    size_t n)
{
    manifests_begin(st);
    for (size_t i = 0; i < n; i++)
        TRY(manifests_keep(cx, st, &m[i]));
    manifests_end(st);
    return 0;
}

static int change_manifests(struct ctx *cx, struct table_state *st, const struct commit_facts *f)
{
    size_t n = 0;
    struct state_manifest *m = mem_alloc((f->n_base + f->n_delta + 1) * sizeof *m);
    if (!m)
        return ctx_nomem(cx);
    int rc = 0;
    for (size_t i = 0; i < f->n_base && rc == 0; i++)
        rc = resolve(cx, st, f, &f->base[i], &m[n++]);
    for (size_t i = 0; i < f->n_delta && rc == 0; i++)
        rc = resolve(cx, st, f, &f->delta[i], &m[n++]);
    if (rc == 0)
        rc = keep_all(cx, st, m, n);
    mem_free(m);
    return rc;
}

int state_apply(struct ctx *cx, struct table_state *st, const struct commit_facts *f)
{
    ASSERT(!st->partial);
    TRY(check(cx, st, f));
    st->broken = true;
    TRY(change_files(cx, st, f));
    TRY(change_manifests(cx, st, f));
    if (f->index) {
        index_set_unref(st->index);
        st->index = index_set_ref(f->index);
    }
    TRY(state_room(cx, st, 0));
    state_set_snapshot(st, f->id, f->schema_id, f->total_records, f->next_row_id);
    st->broken = false;
    return 0;
}
