/* table_index.c - see table_index.h.
 *
 * Layout: an array of files, an array of vectors, all their texts in one block, and three arrays that
 * are sorted by hash: vectors by (partition, bucket, data file), files by id and, for HASH indexes, by
 * (partition, bucket). Sorted, so that a file that says one thing a million times costs no more than
 * another. A vector takes 48 bytes and its name.
 *
 * Invariant: nothing changes after index_set_of returned.
 * Thread rule: reading from any thread; the reference count is atomic. */
#include "catalog/table_index_int.h"

#include <stdlib.h>

#include "proto/base/hash.h"
#include "proto/base/mem.h"

/* --- hashes ----------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    uint64_t pair[2] = {h, v};
    return hash64(pair, sizeof pair);
}

static uint64_t hash_str(uint64_t h, str s)
{
    return mix(h, s.p ? hash64(s.p, s.len) : 1);
}

static uint64_t place_hash(str partition, int32_t bucket)
{
    return mix(hash64(partition.p, partition.len), (uint64_t)(int64_t)bucket);
}

uint64_t index_file_id(const struct index_file *f)
{
    uint64_t h = place_hash(f->partition, f->bucket);
    return hash_str(hash_str(hash_str(h, f->type), f->name), f->external_path);
}

static uint64_t global_hash(uint64_t h, const struct global_index *g)
{
    if (!g)
        return h;
    h = mix(mix(mix(h, (uint64_t)g->first_row), (uint64_t)g->last_row), (uint64_t)g->field_id);
    return hash_str(hash_str(hash_str(h, g->extra_field_ids.items), g->meta), g->source_meta);
}

static uint64_t content_hash(const struct index_file *f, const struct index_entry *e)
{
    uint64_t h = mix(mix(f->id, (uint64_t)e->size), (uint64_t)e->row_count);
    for (size_t i = 0; i < e->dv.n; i++) {
        const struct index_dv *r = &e->dv.items[i];
        h = hash_str(h, r->data_file);
        h = mix(h, (uint64_t)(uint32_t)r->offset << 32 | (uint32_t)r->length);
        h = mix(h, r->cardinality.has ? (uint64_t)r->cardinality.v : UINT64_MAX);
    }
    return global_hash(h, e->global);
}

/* --- look-ups --------------------------------------------------------------------------------- */

static int room_for(struct index_set *s, struct lookup *t, size_t n)
{
    t->v = mem_alloc((n + 1) * sizeof *t->v);
    s->bytes += (n + 1) * sizeof *t->v;
    return t->v ? 0 : E_NOMEM;
}

static void put(struct lookup *t, uint64_t hash, size_t i)
{
    t->v[t->n++] = (struct hashed){hash, i};
}

static int by_hash(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

/* Walks the entries of this hash in the manifest's order: *step counts those that were passed. */
static bool next_of(const struct lookup *t, uint64_t hash, size_t *step, size_t *ret_i)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (t->v[mid].hash < hash)
            low = mid + 1;
        else
            high = mid;
    }
    if (low + *step >= t->n || t->v[low + *step].hash != hash)
        return false;
    *ret_i = t->v[low + (*step)++].i;
    return true;
}

/* --- making one ------------------------------------------------------------------------------- */

void index_set_unref(struct index_set *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    mem_free(s->files);
    mem_free(s->vectors);
    mem_free(s->by_vector.v);
    mem_free(s->by_file.v);
    mem_free(s->by_bucket.v);
    buf_done(&s->text);
    mem_free(s);
}

struct index_set *index_set_ref(struct index_set *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

str index_text_add(struct index_set *s, str t)
{
    if (!t.p)
        return STR_NONE;
    str r = {(const char *)(uintptr_t)(s->text.len + 1), t.len};
    buf_adds(&s->text, t);
    return r;
}

static str text_at(const struct index_set *s, str t)
{
    return t.p ? str_n(buf_str(&s->text).p + ((uintptr_t)t.p - 1), t.len) : STR_NONE;
}

static int add_file(struct ctx *cx, struct index_set *s, const struct index_entry *e,
                    struct partitioner *p)
{
    struct index_file *f = &s->files[s->n_files];
    str row;
    if (partition_row(cx, p, e->partition, &row) < 0)
        return ctx_prefix(cx, "the index file \"%.*s\"",
                          (int)(e->name.len > 120 ? 120 : e->name.len), e->name.p);
    *f = (struct index_file){
        .partition = row,
        .bucket = e->bucket,
        .is_vectors = str_eqz(e->type, INDEX_TYPE_DV),
        .is_hash = str_eqz(e->type, INDEX_TYPE_HASH),
        .type = e->type,
        .name = e->name,
        .external_path = e->external_path,
        .size = e->size,
        .rows = e->row_count,
        .first_vector = (uint32_t)s->n_vectors,
        .n_vectors = (uint32_t)e->dv.n,
    };
    f->id = index_file_id(f);
    f->content = content_hash(f, e);
    for (size_t i = 0; i < e->dv.n; i++) {
        const struct index_dv *r = &e->dv.items[i];
        s->vectors[s->n_vectors++] = (struct vector){
            .name_at = (uint32_t)s->text.len,
            .name_len = (uint32_t)r->data_file.len,
            .file = (uint32_t)s->n_files,
            .range = index_dv_range(r),
        };
        buf_adds(&s->text, r->data_file);
    }
    f->partition = index_text_add(s, f->partition);
    f->type = index_text_add(s, f->type);
    f->name = index_text_add(s, f->name);
    f->external_path = index_text_add(s, f->external_path);
    s->n_files++;
    return buf_fail(&s->text);
}

void index_set_finish(struct index_set *s)
{
    s->name = text_at(s, s->name);
    for (size_t i = 0; i < s->n_files; i++) {
        struct index_file *f = &s->files[i];
        f->partition = text_at(s, f->partition);
        f->type = text_at(s, f->type);
        f->name = text_at(s, f->name);
        f->external_path = text_at(s, f->external_path);
        put(&s->by_file, f->id, i);
        if (f->is_hash)
            put(&s->by_bucket, place_hash(f->partition, f->bucket), i);
    }
    for (size_t i = 0; i < s->n_vectors; i++) {
        struct index_vector v = index_set_vector(s, i);
        put(&s->by_vector, hash_str(place_hash(v.file->partition, v.file->bucket), v.data_file), i);
    }
    qsort(s->by_file.v, s->by_file.n, sizeof *s->by_file.v, by_hash);
    qsort(s->by_bucket.v, s->by_bucket.n, sizeof *s->by_bucket.v, by_hash);
    qsort(s->by_vector.v, s->by_vector.n, sizeof *s->by_vector.v, by_hash);
    s->bytes += s->text.cap;
}

int index_set_new(struct ctx *cx, str name, size_t files, size_t vectors, size_t max_bytes,
                  struct index_set **ret)
{
    CLEANUP(index_set_unrefp) struct index_set *s = mem_zalloc(sizeof *s);
    if (!s)
        return ctx_nomem(cx);
    s->refs = 1;
    s->bytes = sizeof *s + (files + 1) * sizeof *s->files + (vectors + 1) * sizeof *s->vectors;
    if (files >= UINT32_MAX / 4 || vectors >= UINT32_MAX / 4 || s->bytes > max_bytes)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "%.*s: %zu index files with %zu deletion vectors do not fit in %zu bytes",
                        STR(name), files, vectors, max_bytes);
    s->files = mem_alloc((files + 1) * sizeof *s->files);
    s->vectors = mem_alloc((vectors + 1) * sizeof *s->vectors);
    if (!s->files || !s->vectors || room_for(s, &s->by_vector, vectors) < 0 ||
        room_for(s, &s->by_file, files) < 0 || room_for(s, &s->by_bucket, files) < 0)
        return ctx_nomem(cx);
    buf_init(&s->text, max_bytes < UINT32_MAX ? max_bytes : UINT32_MAX);
    s->name = index_text_add(s, name);
    *ret = s;
    s = NULL;
    return 0;
}

int index_set_of(struct ctx *cx, str name, const struct index_entry *e, size_t n,
                 struct partitioner *p, size_t max_bytes, struct index_set **ret)
{
    size_t vectors = 0;
    CLEANUP(index_set_unrefp) struct index_set *s = NULL;
    for (size_t i = 0; i < n; i++)
        vectors += e[i].dv.n;
    TRY(index_set_new(cx, name, n, vectors, max_bytes, &s));
    for (size_t i = 0; i < n; i++) {
        int rc = add_file(cx, s, &e[i], p);
        if (rc == E_TOOBIG)
            return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                            "%.*s: what it says does not fit in %zu bytes", STR(name), max_bytes);
        if (rc < 0)
            return rc == E_NOMEM ? ctx_nomem(cx) : ctx_prefix(cx, "%.*s", STR(name));
    }
    if (buf_fail(&s->text))
        return ctx_nomem(cx);
    index_set_finish(s);
    *ret = s;
    s = NULL;
    return 0;
}

static int load_in(struct ctx *cx, struct ctx *own, const struct meta_dir *d, str name,
                   struct partitioner *p, size_t max_bytes, struct index_set **ret)
{
    struct index_entry *e = NULL;
    size_t n = 0;
    int rc = name.p ? meta_index(own, d, name, &e, &n) : 0;
    if (rc == 0)
        rc = index_set_of(own, name, e, n, p, max_bytes, ret);
    if (rc < 0)
        cx->err = own->err;
    return rc;
}

int index_set_load(struct ctx *cx, const struct meta_dir *d, str name, struct partitioner *p,
                   size_t max_bytes, struct index_set **ret)
{
    struct ctx own;
    ctx_init(&own, META_FILE_MAX * 4);
    own.deadline_ms = cx->deadline_ms;
    int rc = load_in(cx, &own, d, name, p, max_bytes, ret);
    ctx_done(&own);
    return rc;
}

/* --- asking one ------------------------------------------------------------------------------- */

str index_set_name(const struct index_set *s)
{
    return s->name;
}

size_t index_set_bytes(const struct index_set *s)
{
    return s->bytes;
}

size_t index_set_files(const struct index_set *s)
{
    return s->n_files;
}

size_t index_set_vectors(const struct index_set *s)
{
    return s->n_vectors;
}

const struct index_file *index_set_file(const struct index_set *s, size_t i)
{
    return &s->files[i];
}

struct index_vector index_set_vector(const struct index_set *s, size_t i)
{
    const struct vector *v = &s->vectors[i];
    return (struct index_vector){
        .data_file = str_n(buf_str(&s->text).p + v->name_at, v->name_len),
        .file = &s->files[v->file],
        .range = v->range,
    };
}

bool index_find_vector(const struct index_set *s, str partition, int32_t bucket, str data_file,
                       size_t *at, struct index_vector *ret)
{
    uint64_t hash = hash_str(place_hash(partition, bucket), data_file);
    size_t i;
    while (next_of(&s->by_vector, hash, at, &i)) {
        struct index_vector v = index_set_vector(s, i);
        if (str_eq(v.data_file, data_file) && v.file->bucket == bucket &&
            str_eq(v.file->partition, partition)) {
            *ret = v;
            return true;
        }
    }
    return false;
}

const struct index_file *index_find_file(const struct index_set *s, uint64_t id)
{
    size_t step = 0, i;
    while (next_of(&s->by_file, id, &step, &i))
        if (s->files[i].id == id)
            return &s->files[i];
    return NULL;
}

const struct index_file *index_find_hash(const struct index_set *s, str partition, int32_t bucket,
                                         size_t *at)
{
    size_t i;
    while (next_of(&s->by_bucket, place_hash(partition, bucket), at, &i)) {
        const struct index_file *f = &s->files[i];
        if (f->bucket == bucket && str_eq(f->partition, partition))
            return f;
    }
    return NULL;
}

static bool in_both(const struct index_set *other, const struct index_file *f)
{
    const struct index_file *there = index_find_file(other, f->id);
    return there && there->content == f->content;
}

bool index_next_change(const struct index_set *before, const struct index_set *after, size_t *at,
                       struct index_change *ret)
{
    while (*at < before->n_files + after->n_files) {
        size_t i = (*at)++;
        bool added = i >= before->n_files;
        const struct index_file *f = added ? &after->files[i - before->n_files] : &before->files[i];
        if (in_both(added ? before : after, f))
            continue;
        *ret = (struct index_change){added, f};
        return true;
    }
    return false;
}

bool index_set_equal(const struct index_set *a, const struct index_set *b)
{
    struct index_change c;
    size_t at = 0;
    return a->n_files == b->n_files && a->n_vectors == b->n_vectors &&
           !index_next_change(a, b, &at, &c);
}
