/* commit_facts.c - see commit_facts.h.
 *
 * Everything is copied into the facts' own memory, whose budget is max_bytes; the bytes of a manifest
 * are gone once it was read. Entries of one name in one bucket are looked at together (facts_pairs.c).
 * Changelog lists are read to know that they are whole; what they add lives in no state.
 *
 * Thread rule: one thread at a time; they may be read on one and judged on another. */
#include "catalog/commit_facts_int.h"

#include <stdlib.h>

#include "proto/base/mem.h"

int facts_too_big(struct ctx *cx, const struct commit_facts *f)
{
    return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                    "what the commit changes does not fit in %zu bytes of memory (commit.memory); "
                    "commit less at once",
                    f->max_bytes);
}

/* Room for one more in an array on the heap. */
static int grow(struct ctx *cx, const struct commit_facts *f, void **v, size_t n, size_t *cap,
                size_t size)
{
    if (n < *cap)
        return 0;
    size_t wide = *cap ? *cap + *cap / 2 : 8;
    if (wide * size + f->arena.used + f->more.used > f->max_bytes)
        return facts_too_big(cx, f);
    void *p = mem_realloc(*v, wide * size);
    if (!p)
        return ctx_nomem(cx);
    *v = p;
    *cap = wide;
    return 0;
}

/* --- entries ---------------------------------------------------------------------------------- */

bool facts_copy(struct arena *a, str *s)
{
    if (!s->p)
        return true;
    if (s->len == 0) {
        s->p = "";
        return true;
    }
    *s = str_dup(a, *s);
    return s->p != NULL;
}

static bool copy_file(struct commit_facts *f, struct arena *a, struct table_file *t)
{
    /* entries of one partition mostly follow each other */
    if (f->n_entries && str_eq(f->entries[f->n_entries - 1].f.partition, t->partition))
        t->partition = f->entries[f->n_entries - 1].f.partition;
    else if (!facts_copy(a, &t->partition))
        return false;
    bool one_key = str_eq(t->min_key, t->max_key);
    if (!facts_copy(a, &t->name) || !facts_copy(a, &t->min_key) ||
        (!one_key && !facts_copy(a, &t->max_key)) || !facts_copy(a, &t->external_path) ||
        !facts_copy(a, &t->extra_files.items))
        return false;
    if (one_key)
        t->max_key = t->min_key;
    t->user = f->user;
    t->snapshot = f->id;
    return true;
}

struct reading {
    struct commit_facts *f;
    struct fact_manifest *m;
    size_t number; /* of m */
};

int facts_add(struct ctx *cx, struct commit_facts *f, const struct manifest_entry *e)
{
    struct fact one = {.added = e->kind == FILE_ADD};
    TRY(table_file_of(cx, &f->filer, e, &one.f));
    TRY(grow(cx, f, (void **)&f->entries, f->n_entries, &f->cap_entries, sizeof one));
    if (!copy_file(f, &f->arena, &one.f))
        return facts_too_big(cx, f);
    f->entries[f->n_entries++] = one;
    return 0;
}

static int delta_entry(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct reading *r = arg;
    TRY(facts_add(cx, r->f, e));
    r->m->sum += fact_sum(&r->f->entries[r->f->n_entries - 1]);
    return 0;
}

static int base_entry(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct reading *r = arg;
    struct commit_facts *f = r->f;
    struct fact_dead one = {.manifest = r->number};
    TRY(table_file_of(cx, &f->filer, e, &one.f));
    r->m->sum += e->kind == FILE_ADD ? one.f.id : -one.f.id;
    if (e->kind == FILE_ADD)
        return 0;
    TRY(grow(cx, f, (void **)&f->dead, f->n_dead, &f->cap_dead, sizeof one));
    one.f.min_key = one.f.max_key = STR_NONE;
    if (!copy_file(f, &f->more, &one.f))
        return facts_too_big(cx, f);
    f->dead[f->n_dead++] = one;
    return 0;
}

/* Names are all that counts: they must be parts of paths. */
static int changelog_entry(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    (void)arg;
    if (e->kind == FILE_ADD && path_component_ok(e->file.name))
        return 0;
    return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                    "an entry is a DELETE, or its name is none of a file");
}

/* --- lists ------------------------------------------------------------------------------------ */

/* What cannot be right becomes words; other failures stay failures. */
static int into_words(struct ctx *cx, struct commit_facts *f, int rc)
{
    if (rc != E_CORRUPT && !(rc == E_TOOBIG && f->too_big_is_bad))
        return rc;
    f->bad = str_dup(&f->arena, str_of(cx->err.msg));
    ctx_reset_err(cx);
    return f->bad.p ? 0 : ctx_nomem(cx);
}

int facts_manifests(struct ctx *cx, struct commit_facts *f, const struct manifest_file *m, size_t n,
                    struct fact_manifest **ret)
{
    struct fact_manifest *v = ARENA_ARRAY(&f->arena, struct fact_manifest, n + 1);
    if (!v)
        return facts_too_big(cx, f);
    for (size_t i = 0; i < n; i++) {
        v[i] = (struct fact_manifest){
            .name = m[i].name, .size = m[i].size, .added = m[i].added, .deleted = m[i].deleted};
        if (!facts_copy(&f->arena, &v[i].name))
            return facts_too_big(cx, f);
    }
    *ret = v;
    return 0;
}

static int read_list(struct ctx *cx, struct commit_facts *f, str name, struct opt_i64 size,
                     struct fact_manifest **ret, size_t *ret_n)
{
    struct manifest_file *m;
    size_t n;
    TRY(meta_list(cx, &f->dir, name, size, &m, &n));
    TRY(facts_manifests(cx, f, m, n, ret));
    *ret_n = n;
    return 0;
}

static int read_one(struct ctx *cx, struct commit_facts *f, struct fact_manifest *m, size_t number,
                    meta_entry_fn *fn)
{
    struct reading r = {f, m, number};
    struct manifest_file mf = {
        .name = m->name, .size = m->size, .added = m->added, .deleted = m->deleted};
    m->sum = 0;
    TRY(meta_manifest(cx, &f->dir, &mf, fn, &r));
    m->read = true;
    return ctx_check_deadline(cx);
}

static int read_all(struct ctx *cx, struct commit_facts *f, struct fact_manifest *m, size_t n,
                    meta_entry_fn *fn)
{
    for (size_t i = 0; i < n; i++)
        TRY(read_one(cx, f, &m[i], i, fn));
    return 0;
}

static int read_lists(struct ctx *cx, struct commit_facts *f, const struct snapshot *s)
{
    TRY(read_list(cx, f, s->delta_manifest_list, s->delta_size, &f->delta, &f->n_delta));
    TRY(read_all(cx, f, f->delta, f->n_delta, delta_entry));
    TRY(read_list(cx, f, s->base_manifest_list, s->base_size, &f->base, &f->n_base));
    if (!s->changelog_manifest_list.len)
        return 0;
    TRY(read_list(cx, f, s->changelog_manifest_list, s->changelog_size, &f->changelog,
                  &f->n_changelog));
    return read_all(cx, f, f->changelog, f->n_changelog, changelog_entry);
}

/* Lists are read in a context of their own: what they take is given back. */
static int read_in_own(struct ctx *cx, struct commit_facts *f, const struct snapshot *s)
{
    struct ctx own;
    ctx_init(&own, f->max_bytes);
    own.deadline_ms = cx->deadline_ms;
    int rc = read_lists(&own, f, s);
    rc = into_words(&own, f, rc);
    if (rc < 0)
        cx->err = own.err;
    ctx_done(&own);
    return rc;
}

/* --- schema ids ------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

int facts_schemas(struct ctx *cx, struct commit_facts *f)
{
    size_t n = 0, k = 0;
    int64_t *v = ARENA_ARRAY(&f->arena, int64_t, f->n_entries + 1);
    if (!v)
        return facts_too_big(cx, f);
    v[n++] = f->schema_id;
    for (size_t i = 0; i < f->n_entries; i++)
        if (f->entries[i].added && f->entries[i].f.schema_id != v[n - 1])
            v[n++] = f->entries[i].f.schema_id;
    qsort(v, n, sizeof *v, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || v[i] != v[k - 1])
            v[k++] = v[i];
    f->schema_ids = v;
    f->n_schema_ids = k;
    return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

int facts_read_index(struct ctx *cx, struct commit_facts *f)
{
    if (f->index || f->bad.p)
        return 0;
    return into_words(
        cx, f,
        index_set_load(cx, &f->dir, f->index_name, &f->filer.partitions, f->max_bytes, &f->index));
}

int facts_read_base(struct ctx *cx, struct commit_facts *f, const size_t *which, size_t n)
{
    for (size_t i = 0; i < n && !f->bad.p; i++) {
        struct fact_manifest *m = &f->base[which[i]];
        if (!m->read)
            TRY(into_words(cx, f, read_one(cx, f, m, which[i], base_entry)));
    }
    return 0;
}

/* Words of the snapshot that outlive it. */
static int copy_snapshot(struct ctx *cx, struct commit_facts *f, const struct snapshot *s)
{
    f->id = s->id;
    f->schema_id = s->schema_id;
    f->identifier = s->commit_identifier;
    f->total_records = s->total_record_count;
    f->next_row_id = s->next_row_id;
    f->kind = s->commit_kind;
    f->user = s->commit_user;
    f->base_list = s->base_manifest_list;
    f->delta_list = s->delta_manifest_list;
    f->index_name = s->index_manifest.len ? s->index_manifest : STR_NONE;
    bool ok = facts_copy(&f->arena, &f->user) && facts_copy(&f->arena, &f->base_list) &&
              facts_copy(&f->arena, &f->delta_list) && facts_copy(&f->arena, &f->index_name);
    return ok ? 0 : ctx_nomem(cx);
}

static int read_facts(struct ctx *cx, struct commit_facts *f, const struct snapshot *s,
                      const struct facts_opts *o)
{
    TRY(read_in_own(cx, f, s));
    if (f->bad.p)
        return 0;
    TRY(facts_pair(cx, f));
    TRY(facts_schemas(cx, f));
    bool same = o->known_index.p && f->index_name.p && str_eq(o->known_index, f->index_name);
    return same ? 0 : facts_read_index(cx, f);
}

static int begin(struct ctx *cx, struct commit_facts *f, const struct meta_dir *d,
                 const struct snapshot *s, const struct facts_opts *o)
{
    if (d->dir.len && !(f->dir.dir = str_dup(&f->arena, d->dir)).p)
        return ctx_nomem(cx);
    TRY(table_filer_init(cx, &f->filer, o->partition, o->row_ids));
    return copy_snapshot(cx, f, s);
}

int facts_new(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
              const struct facts_opts *o, struct commit_facts **ret)
{
    struct commit_facts *f = mem_zalloc(sizeof *f);
    if (!f)
        return ctx_nomem(cx);
    arena_init(&f->arena, o->max_bytes);
    arena_init(&f->more, o->max_bytes);
    f->max_bytes = o->max_bytes;
    f->too_big_is_bad = o->too_big_is_bad;
    f->bad = STR_NONE;
    f->dir = *d;
    int rc = begin(cx, f, d, s, o);
    if (rc < 0) {
        facts_free(f);
        return rc;
    }
    *ret = f;
    return 0;
}

int facts_read(struct ctx *cx, const struct meta_dir *d, const struct snapshot *s,
               const struct facts_opts *o, struct commit_facts **ret)
{
    struct commit_facts *f;
    TRY(facts_new(cx, d, s, o, &f));
    int rc = read_facts(cx, f, s, o);
    if (rc < 0) {
        facts_free(f);
        return rc;
    }
    *ret = f;
    return 0;
}

void facts_free(struct commit_facts *f)
{
    if (!f)
        return;
    index_set_unref(f->index);
    table_filer_done(&f->filer);
    mem_free(f->entries);
    mem_free(f->dead);
    arena_done(&f->more);
    arena_done(&f->arena);
    mem_free(f);
}
