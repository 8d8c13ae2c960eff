/* facts_made.c - the facts of a snapshot that we make ourselves, from what is in memory: judged before a
 * byte is written, and then what the state goes forward by.
 *
 * Same fields, sums and pairs as facts_read gives for the files once they are written. Pure but for memory.
 * Thread rule: as commit_facts.c. */
#include "catalog/commit_facts_int.h"

#include "proto/base/assert.h"
#include "proto/base/hash.h"
#include "proto/base/mem.h"

/* --- base manifests that were read before ----------------------------------------------------- */

static int take_dead(struct ctx *cx, struct commit_facts *f, const struct commit_facts *read,
                     const size_t *at)
{
    f->dead = mem_alloc((read->n_dead + 1) * sizeof *f->dead);
    if (!f->dead)
        return ctx_nomem(cx);
    f->cap_dead = read->n_dead + 1;
    for (size_t i = 0; i < read->n_dead; i++) {
        size_t to = at[read->dead[i].manifest];
        if (to == 0)
            continue;
        f->dead[f->n_dead] = read->dead[i];
        f->dead[f->n_dead++].manifest = to - 1;
    }
    return 0;
}

/* at[i]: where manifest i of `read` is now, + 1; 0: nowhere. */
static int take_read(struct ctx *cx, struct commit_facts *f, const struct commit_facts *read)
{
    CLEANUP(map_done) struct map by_name;
    size_t *at = ARENA_ARRAY(&cx->arena, size_t, read->n_base + 1);
    map_init(&by_name);
    if (!at)
        return ctx_nomem(cx);
    for (size_t i = 0; i < read->n_base; i++)
        if (read->base[i].read && map_put(&by_name, read->base[i].name, &read->base[i]) < 0)
            return ctx_nomem(cx);
    for (size_t i = 0; i < f->n_base; i++) {
        const struct fact_manifest *was = map_get(&by_name, f->base[i].name);
        if (!was)
            continue;
        f->base[i].read = true;
        f->base[i].sum = was->sum;
        at[was - read->base] = i + 1;
    }
    return take_dead(cx, f, read, at);
}

/* --- all of it -------------------------------------------------------------------------------- */

static int make(struct ctx *cx, struct commit_facts *f, const struct facts_made *in)
{
    for (size_t i = 0; i < in->n; i++)
        TRY(facts_add(cx, f, &in->entries[i]));
    TRY(facts_manifests(cx, f, in->base, in->n_base, &f->base));
    f->n_base = in->n_base;
    if (in->read)
        TRY(take_read(cx, f, in->read));
    f->index = in->index ? index_set_ref(in->index) : NULL;
    TRY(facts_pair(cx, f));
    return facts_schemas(cx, f);
}

int facts_make(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
               const struct facts_opts *o, const struct facts_made *in, struct commit_facts **ret)
{
    struct commit_facts *f;
    TRY(facts_new(cx, d, s, o, &f));
    int rc = make(cx, f, in);
    if (rc < 0) {
        facts_free(f);
        return rc;
    }
    *ret = f;
    return 0;
}

int facts_made_names(struct ctx *cx, struct commit_facts *f, const struct snapshot *s,
                     const struct manifest_file *delta, size_t n_delta,
                     const struct manifest_file *changelog, size_t n_changelog)
{
    size_t at = 0;
    f->base_list = s->base_manifest_list;
    f->delta_list = s->delta_manifest_list;
    if (!facts_copy(&f->arena, &f->base_list) || !facts_copy(&f->arena, &f->delta_list))
        return facts_too_big(cx, f);
    TRY(facts_manifests(cx, f, delta, n_delta, &f->delta));
    TRY(facts_manifests(cx, f, changelog, n_changelog, &f->changelog));
    f->n_delta = n_delta;
    f->n_changelog = n_changelog;
    for (size_t i = 0; i < n_delta; i++) {
        struct fact_manifest *m = &f->delta[i];
        m->read = true;
        for (int64_t k = 0; k < m->added + m->deleted; k++) {
            ASSERT(at < f->n_entries);
            m->sum += fact_sum(&f->entries[at++]);
        }
    }
    ASSERT(at == f->n_entries);
    return 0;
}
