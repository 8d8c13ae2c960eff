/* commit_files.c - see commit_files.h. The order of the paths is of no importance; each is there once or
 * more. Thread rule: none of its own. */
#include "catalog/commit_files.h"

#include "manifest/layout.h"

struct listing {
    struct ctx *cx;
    struct branch *br;
    const struct table_traits *traits;
    struct file_layout layout;
    struct commit_facts *f;
    struct new_files *to;
    bool skip_odd;
};

static str dir_of(const struct listing *l)
{
    return str_of(l->br->table->dir);
}

static int add(struct listing *l, str path)
{
    if (!path.p)
        return ctx_nomem(l->cx);
    l->to->own[l->to->n_own++] = path;
    return 0;
}

static int add_manifest(struct listing *l, str name)
{
    return add(l, layout_manifest(&l->cx->arena, dir_of(l), name));
}

static int lists(struct listing *l, const struct snapshot *s, const struct head *h)
{
    struct arena *a = &l->cx->arena;
    TRY(add_manifest(l, s->base_manifest_list));
    TRY(add_manifest(l, s->delta_manifest_list));
    if (s->changelog_manifest_list.len)
        TRY(add_manifest(l, s->changelog_manifest_list));
    if (s->index_manifest.len && !(h && str_eq(s->index_manifest, h->index_manifest)))
        TRY(add_manifest(l, s->index_manifest));
    if (s->statistics.len && !(h && str_eq(s->statistics, h->statistics)))
        TRY(add(l, layout_statistics(a, dir_of(l), s->statistics)));
    return 0;
}

/* Of the base list only those were read that nobody knew before. */
static int manifests(struct listing *l)
{
    const struct commit_facts *f = l->f;
    for (size_t i = 0; i < f->n_delta; i++)
        TRY(add_manifest(l, f->delta[i].name));
    for (size_t i = 0; i < f->n_changelog; i++)
        TRY(add_manifest(l, f->changelog[i].name));
    for (size_t i = 0; i < f->n_base; i++)
        if (f->base[i].read)
            TRY(add_manifest(l, f->base[i].name));
    return 0;
}

static bool external(void *arg, str path, struct io **ret_io, str *ret_path)
{
    const struct branch *br = arg;
    return place_io(br->table->wh, path, ret_io, ret_path);
}

/* A file that is elsewhere; one whose path is in no root is none of ours to sync. */
static int add_external(struct listing *l, str text)
{
    str path;
    struct io *io;
    TRY(path_absolute(l->cx, text, &path));
    if (!external(l->br, path, &io, &path))
        return 0;
    l->to->elsewhere[l->to->n_elsewhere].io = io;
    l->to->elsewhere[l->to->n_elsewhere++].path = path;
    return 0;
}

static int add_sibling(struct listing *l, str path, str name)
{
    ptrdiff_t slash = (ptrdiff_t)path.len;
    while (slash > 0 && path.p[slash - 1] != '/')
        slash--;
    str sibling;
    TRY(ctx_text(l->cx, &sibling, "%.*s%.*s", (int)slash, path.p, STR(name)));
    return add(l, sibling);
}

static int data_file(struct listing *l, const struct table_file *f)
{
    struct avro_list extra = f->extra_files;
    str path, name;
    if (f->external_path.p)
        return add_external(l, f->external_path);
    TRY(table_file_path(l->cx, &l->layout, &l->f->filer.partitions, f, &path));
    TRY(add(l, path));
    while (avro_list_str(&extra, &name))
        TRY(add_sibling(l, path, name));
    return 0;
}

static int index_file(struct listing *l, const struct index_file *x)
{
    str path;
    if (x->external_path.p)
        return add_external(l, x->external_path);
    if (!l->traits->index_in_data_dir) {
        str dir = layout_index_dir(&l->cx->arena, dir_of(l));
        TRY(dir.p ? 0 : ctx_nomem(l->cx));
        TRY(path_component(l->cx, x->name, "name of an index file"));
        TRY(ctx_text(l->cx, &path, "%.*s/%.*s", STR(dir), STR(x->name)));
        return add(l, path);
    }
    struct table_file as_file = {.partition = x->partition, .bucket = x->bucket, .name = x->name};
    TRY(table_file_path(l->cx, &l->layout, &l->f->filer.partitions, &as_file, &path));
    return add(l, path);
}

/* What became of looking for a file's path. */
static int found(struct listing *l, int rc)
{
    bool odd = rc == E_INVAL || rc == E_UNSUPPORTED || rc == E_CORRUPT;
    if (!odd || !l->skip_odd)
        return rc;
    ctx_reset_err(l->cx);
    return 0;
}

static int index_files(struct listing *l, const struct table_state *st)
{
    const struct index_set *now = l->f->index;
    struct index_change c;
    size_t at = 0;
    for (size_t i = 0; now && !st && i < index_set_files(now); i++)
        TRY(found(l, index_file(l, index_set_file(now, i))));
    while (now && st && index_next_change(state_index(st), now, &at, &c))
        if (c.added)
            TRY(found(l, index_file(l, c.file)));
    return 0;
}

static size_t most(const struct commit_facts *f, bool data)
{
    size_t n = 5 + f->n_delta + f->n_base + f->n_changelog;
    n += f->index ? index_set_files(f->index) : 0;
    for (size_t i = 0; data && i < f->n_entries; i++) {
        struct avro_list extra = f->entries[i].f.extra_files;
        str name;
        n++;
        while (avro_list_str(&extra, &name))
            n++;
    }
    return n;
}

int commit_new_files(struct ctx *cx, struct branch *br, const struct table_traits *traits,
                     const struct snapshot *s, struct commit_facts *f, const struct table_state *st,
                     unsigned what, struct new_files *ret)
{
    bool data = what & NEW_DATA;
    size_t n = most(f, data);
    struct listing l = {.cx = cx,
                        .br = br,
                        .traits = traits,
                        .layout = traits_layout(traits, str_of(br->table->dir)),
                        .f = f,
                        .to = ret,
                        .skip_odd = what & NEW_SKIP_ODD};
    *ret = (struct new_files){0};
    ret->own = ARENA_ARRAY(&cx->arena, str, n);
    ret->elsewhere = arena_alloc(&cx->arena, n * sizeof *ret->elsewhere);
    if (!ret->own || !ret->elsewhere)
        return ctx_nomem(cx);
    TRY(lists(&l, s, br->head));
    TRY(manifests(&l));
    TRY(index_files(&l, st));
    for (size_t i = 0; data && i < f->n_entries; i++)
        if (f->entries[i].added && !f->entries[i].level_change)
            TRY(found(&l, data_file(&l, &f->entries[i].f)));
    return 0;
}

/* --- what the rules know ---------------------------------------------------------------------- */

int branch_rules(struct ctx *cx, struct branch *br, const struct table_traits *traits,
                 struct conflict_rules *ret)
{
    const struct catalog *c = br->table->cat;
    str *roots = ARENA_ARRAY(&cx->arena, str, c->n_roots + 1);
    if (!roots)
        return ctx_nomem(cx);
    roots[0] = str_of(br->table->wh->root);
    for (size_t i = 0; i < c->n_roots; i++)
        roots[i + 1] = str_of(c->roots[i].path);
    *ret = (struct conflict_rules){.verify = c->o.verify,
                                   .partition_names = traits->partition_names,
                                   .naming = traits->naming,
                                   .roots = roots,
                                   .n_roots = c->n_roots + 1};
    return 0;
}

int branch_file_evidence(struct ctx *cx, struct branch *br, const struct table_traits *traits,
                         struct commit_facts *f, struct file_evidence **ret)
{
    struct conflict_rules rules;
    struct file_layout l = traits_layout(traits, str_of(br->table->dir));
    TRY(branch_rules(cx, br, traits, &rules));
    return file_evidence_gather(cx, f, &rules, &l, external, br, ret);
}
