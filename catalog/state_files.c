/* state_files.c - records by bucket and by name, and how many buckets each partition says it has.
 *
 * A bucket's records are a doubly linked list. Two tables with open addressing hold numbers
 * and hashes, 8 bytes together: records by (bucket, name), whatever their level, and buckets by
 * (partition, number). The hash is in the table so that a look-up for what is not there, as each file of
 * a load is, does not touch the memory of records. Deleting moves entries back instead of leaving marks,
 * so a table never fills with them. Buckets and partitions without files are dropped and their numbers
 * used again.
 *
 * Invariants: a bucket has a file, a partition a bucket; sums and counts are those of the records that
 * are there; a name is live at no more than NAME_LEVELS_MAX levels of one bucket, so that a look-up is
 * short whatever a manifest says.
 *
 * Thread rule: as the state's. */
#include "catalog/table_state_int.h"

#include "proto/base/assert.h"
#include "proto/base/mem.h"

#define NAME_LEVELS_MAX 64
#define REFS_MIN        16

static struct record *record_at(const struct table_state *st, uint32_t ref)
{
    return slab_at(&st->slab, ref);
}

static uint32_t name_hash(uint32_t bucket, str name)
{
    uint64_t h[2] = {hash64(name.p, name.len), bucket};
    return (uint32_t)hash64(h, sizeof h);
}

static uint32_t bucket_hash(const struct shared *partition, int32_t bucket)
{
    uint64_t h[2] = {partition->no, (uint64_t)(int64_t)bucket};
    return (uint32_t)hash64(h, sizeof h);
}

/* --- tables of numbers ------------------------------------------------------------------------ */

static void refs_place(struct refs *t, struct refs_slot s)
{
    size_t at = refs_start(t, s.hash);
    while (t->v[at].v)
        at = refs_step(t, at);
    t->v[at] = s;
}

/* Bytes by which it would grow for one more. */
static size_t refs_growth(const struct refs *t)
{
    return (t->n + 1) * 4 <= t->cap * 3 ? 0 : (t->cap ? t->cap : REFS_MIN) * sizeof *t->v;
}

int refs_room(struct refs *t)
{
    if (refs_growth(t) == 0)
        return 0;
    struct refs wide = {.cap = t->cap ? t->cap * 2 : REFS_MIN, .n = t->n};
    wide.v = mem_zalloc(wide.cap * sizeof *wide.v);
    if (!wide.v)
        return E_NOMEM;
    for (size_t i = 0; i < t->cap; i++)
        if (t->v[i].v)
            refs_place(&wide, t->v[i]);
    mem_free(t->v);
    *t = wide;
    return 0;
}

void refs_put(struct refs *t, uint32_t hash, uint32_t v)
{
    refs_place(t, (struct refs_slot){v, hash});
    t->n++;
}

void refs_remove(struct refs *t, uint32_t hash, uint32_t v)
{
    size_t mask = t->cap - 1, at = refs_start(t, hash);
    while (t->v[at].v != v) {
        ASSERT(t->v[at].v);
        at = refs_step(t, at);
    }
    /* What follows and could stand here moves back. */
    for (size_t next = refs_step(t, at); t->v[next].v; next = refs_step(t, next)) {
        size_t home = refs_start(t, t->v[next].hash);
        if (((next - home) & mask) >= ((next - at) & mask)) {
            t->v[at] = t->v[next];
            at = next;
        }
    }
    t->v[at] = (struct refs_slot){0};
    t->n--;
}

/* --- partitions and buckets ------------------------------------------------------------------- */

static uint32_t count_at(const struct shared *p, int32_t total)
{
    uint32_t low = 0, high = p->n_counts;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (p->counts[mid].total_buckets < total)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int count_add(struct ctx *cx, struct table_state *st, struct shared *p, int32_t total)
{
    uint32_t at = count_at(p, total);
    if (at < p->n_counts && p->counts[at].total_buckets == total) {
        p->counts[at].files++;
        return 0;
    }
    if (p->n_counts == BUCKET_COUNTS_MAX)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "the files of one partition have more than %d different bucket counts",
                        BUCKET_COUNTS_MAX);
    if (p->n_counts == p->cap_counts) {
        uint32_t cap = p->cap_counts ? p->cap_counts * 2 : 1;
        struct bucket_count *v = mem_realloc(p->counts, cap * sizeof *v);
        if (!v)
            return ctx_nomem(cx);
        st->partitions.bytes += (cap - p->cap_counts) * sizeof *v;
        p->counts = v;
        p->cap_counts = cap;
    }
    memmove(&p->counts[at + 1], &p->counts[at], (p->n_counts - at) * sizeof *p->counts);
    p->counts[at] = (struct bucket_count){total, 1};
    p->n_counts++;
    return 0;
}

static void count_remove(struct shared *p, int32_t total)
{
    uint32_t at = count_at(p, total);
    ASSERT(at < p->n_counts && p->counts[at].total_buckets == total);
    if (--p->counts[at].files)
        return;
    p->n_counts--;
    memmove(&p->counts[at], &p->counts[at + 1], (p->n_counts - at) * sizeof *p->counts);
}

uint32_t bucket_find(const struct table_state *st, str partition, int32_t bucket)
{
    const struct shared *p = shared_find(&st->partitions, partition);
    const struct refs *t = &st->by_bucket;
    if (!p || t->cap == 0)
        return 0;
    uint32_t hash = bucket_hash(p, bucket);
    for (size_t at = refs_start(t, hash); t->v[at].v; at = refs_step(t, at))
        if (st->buckets[t->v[at].v].partition == p && st->buckets[t->v[at].v].bucket == bucket)
            return t->v[at].v;
    return 0;
}

static bool buckets_room(struct table_state *st)
{
    if (st->n_spare || st->n_buckets < st->cap_buckets)
        return true;
    uint32_t cap = st->cap_buckets ? st->cap_buckets + st->cap_buckets / 2 : 4;
    struct bucket *v = mem_realloc(st->buckets, cap * sizeof *v);
    if (!v)
        return false;
    st->buckets = v;
    uint32_t *spare = mem_realloc(st->spare_buckets, cap * sizeof *spare);
    if (!spare)
        return false;
    st->spare_buckets = spare;
    st->cap_buckets = cap;
    if (st->n_buckets == 0)
        st->buckets[st->n_buckets++] = (struct bucket){0}; /* 0 is "none" */
    return true;
}

static int bucket_get(struct ctx *cx, struct table_state *st, str partition, int32_t bucket,
                      uint32_t *ret)
{
    uint32_t i = bucket_find(st, partition, bucket);
    if (i == 0) {
        if (!buckets_room(st) || refs_room(&st->by_bucket) < 0)
            return ctx_nomem(cx);
        struct shared *p = shared_take(&st->partitions, partition);
        if (!p)
            return ctx_nomem(cx);
        i = st->n_spare ? st->spare_buckets[--st->n_spare] : st->n_buckets++;
        st->buckets[i] =
            (struct bucket){.partition = p, .bucket = bucket, .max_seq = -1, .max_known = true};
        refs_put(&st->by_bucket, bucket_hash(p, bucket), i);
        st->live_buckets++;
    }
    *ret = i;
    return 0;
}

static void bucket_drop_empty(struct table_state *st, uint32_t i)
{
    struct bucket *b = &st->buckets[i];
    if (b->n)
        return;
    refs_remove(&st->by_bucket, bucket_hash(b->partition, b->bucket), i);
    shared_give(&st->partitions, b->partition);
    *b = (struct bucket){0};
    st->spare_buckets[st->n_spare++] = i;
    st->live_buckets--;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Is there room for one more of this name? */
static bool name_room(const struct refs *t, uint32_t hash)
{
    int same = 0;
    for (size_t at = refs_start(t, hash); t->v[at].v; at = refs_step(t, at))
        same += t->v[at].hash == hash;
    return same < NAME_LEVELS_MAX;
}

static void count_in(struct table_state *st, const struct table_file *f)
{
    st->n_files++;
    st->rows = (int64_t)((uint64_t)st->rows + (uint64_t)f->rows);
    st->size = (int64_t)((uint64_t)st->size + (uint64_t)f->size);
    st->live_sum += f->id;
}

static void link_in(struct table_state *st, uint32_t ref, struct record *r, uint32_t hash,
                    const struct table_file *f)
{
    struct bucket *b = &st->buckets[r->bucket];
    r->prev = 0;
    r->next = b->first;
    if (b->first)
        record_at(st, b->first)->prev = ref;
    b->first = ref;
    b->n++;
    if (f->max_seq > b->max_seq)
        b->max_seq = f->max_seq;
    refs_put(&st->by_name, hash, ref);
    count_in(st, f);
}

static int add_to(struct ctx *cx, struct table_state *st, uint32_t bucket,
                  const struct table_file *f)
{
    if (refs_room(&st->by_name) < 0)
        return ctx_nomem(cx);
    uint32_t hash = name_hash(bucket, f->name);
    if (!name_room(&st->by_name, hash))
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "the data file \"%.*s\" is live at more than %d levels of one bucket",
                        (int)(f->name.len > 120 ? 120 : f->name.len), f->name.p, NAME_LEVELS_MAX);
    TRY(record_pack(cx, st, f, &st->scratch));
    uint32_t ref = slab_take(&st->slab, st->scratch.len);
    struct record *packed = (struct record *)(void *)st->scratch.p;
    if (!ref || count_add(cx, st, st->buckets[bucket].partition, f->total_buckets) < 0) {
        record_release(st, packed);
        if (!ref)
            return ctx_nomem(cx);
        slab_give(&st->slab, ref, st->scratch.len);
        return cx->err.code;
    }
    struct record *r = record_at(st, ref);
    memcpy(r, packed, st->scratch.len);
    r->bucket = bucket;
    r->len = (uint32_t)st->scratch.len;
    link_in(st, ref, r, hash, f);
    return 0;
}

int files_add(struct ctx *cx, struct table_state *st, const struct table_file *f)
{
    uint32_t bucket;
    TRY(state_room(cx, st, refs_growth(&st->by_name) * 3 + f->name.len + f->min_key.len * 2));
    TRY(bucket_get(cx, st, f->partition, f->bucket, &bucket));
    int rc = add_to(cx, st, bucket, f);
    bucket_drop_empty(st, bucket);
    return rc;
}

int files_count_only(struct ctx *cx, struct table_state *st, const struct table_file *f)
{
    struct shared *p = shared_find(&st->partitions, f->partition);
    if (p)
        TRY(count_add(cx, st, p, f->total_buckets));
    count_in(st, f);
    return 0;
}

/* --- from a checkpoint ------------------------------------------------------------------------ */

int files_reserve(struct ctx *cx, struct table_state *st, size_t n)
{
    struct refs *t = &st->by_name;
    size_t cap = REFS_MIN;
    ASSERT(t->n == 0);
    while (n * 4 > cap * 3)
        cap *= 2;
    struct refs_slot *v = mem_zalloc(cap * sizeof *v);
    if (!v)
        return ctx_nomem(cx);
    mem_free(t->v);
    *t = (struct refs){.v = v, .cap = cap};
    return 0;
}

int files_put_bucket(struct ctx *cx, struct table_state *st, str partition, int32_t bucket,
                     uint32_t *ret)
{
    if (bucket_find(st, partition, bucket))
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "a bucket is there twice");
    return bucket_get(cx, st, partition, bucket, ret);
}

int files_put_record(struct ctx *cx, struct table_state *st, uint32_t bucket, uint32_t ref)
{
    struct record *r = record_at(st, ref);
    struct state_view v;
    if (refs_room(&st->by_name) < 0)
        return ctx_nomem(cx);
    r->bucket = bucket;
    record_unpack(st, r, &v);
    uint32_t hash = name_hash(bucket, v.f.name);
    if (!name_room(&st->by_name, hash))
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "a file is there too many times");
    TRY(count_add(cx, st, st->buckets[bucket].partition, v.f.total_buckets));
    link_in(st, ref, r, hash, &v.f);
    return 0;
}

/* --- look-ups --------------------------------------------------------------------------------- */

uint32_t files_find(const struct table_state *st, const struct table_file *f)
{
    const struct refs *t = &st->by_name;
    uint32_t bucket = bucket_find(st, f->partition, f->bucket);
    if (!bucket)
        return 0;
    uint32_t hash = name_hash(bucket, f->name);
    for (size_t at = refs_start(t, hash); t->v[at].v; at = refs_step(t, at))
        if (t->v[at].hash == hash && record_at(st, t->v[at].v)->id == f->id)
            return t->v[at].v;
    return 0;
}

bool state_find_name(const struct table_state *st, str partition, int32_t bucket, str name,
                     struct state_view *ret)
{
    const struct refs *t = &st->by_name;
    uint32_t b = bucket_find(st, partition, bucket);
    if (!b)
        return false;
    uint32_t hash = name_hash(b, name);
    for (size_t at = refs_start(t, hash); t->v[at].v; at = refs_step(t, at)) {
        if (t->v[at].hash != hash)
            continue;
        const struct record *r = record_at(st, t->v[at].v);
        if (r->bucket != b)
            continue;
        record_unpack(st, r, ret);
        if (str_eq(ret->f.name, name))
            return true;
    }
    return false;
}

void files_remove(struct table_state *st, uint32_t ref)
{
    struct record *r = record_at(st, ref);
    struct bucket *b = &st->buckets[r->bucket];
    struct state_view v;
    record_unpack(st, r, &v);
    refs_remove(&st->by_name, name_hash(r->bucket, v.f.name), ref);
    if (r->next)
        record_at(st, r->next)->prev = r->prev;
    if (r->prev)
        record_at(st, r->prev)->next = r->next;
    else
        b->first = r->next;
    b->n--;
    b->max_known = b->max_known && v.f.max_seq < b->max_seq;
    count_remove(b->partition, v.f.total_buckets);
    st->n_files--;
    st->rows = (int64_t)((uint64_t)st->rows - (uint64_t)v.f.rows);
    st->size = (int64_t)((uint64_t)st->size - (uint64_t)v.f.size);
    st->live_sum -= v.f.id;
    record_release(st, r);
    bucket_drop_empty(st, r->bucket);
    slab_give(&st->slab, ref, r->len);
}

int64_t state_max_seq(struct table_state *st, str partition, int32_t bucket)
{
    uint32_t i = bucket_find(st, partition, bucket);
    if (!i)
        return -1;
    struct bucket *b = &st->buckets[i];
    if (!b->max_known) {
        struct state_view v;
        b->max_seq = -1;
        for (uint32_t ref = b->first; ref; ref = record_at(st, ref)->next) {
            record_unpack(st, record_at(st, ref), &v);
            if (v.f.max_seq > b->max_seq)
                b->max_seq = v.f.max_seq;
        }
        b->max_known = true;
    }
    return b->max_seq;
}

const struct bucket_count *state_bucket_counts(const struct table_state *st, str partition,
                                               size_t *ret_n)
{
    const struct shared *p = shared_find(&st->partitions, partition);
    *ret_n = p ? p->n_counts : 0;
    return p ? p->counts : NULL;
}

static size_t map_bytes(const struct map *m)
{
    return m->cap * sizeof(struct map_slot);
}

size_t files_bytes(const struct table_state *st)
{
    return st->slab.bytes + (st->by_name.cap + st->by_bucket.cap) * sizeof(struct refs_slot) +
           st->cap_buckets * (sizeof(struct bucket) + sizeof(uint32_t)) + st->users.bytes +
           st->name_parts.bytes + st->partitions.bytes + map_bytes(&st->users.by_text) +
           map_bytes(&st->name_parts.by_text) + map_bytes(&st->partitions.by_text);
}

void files_done(struct table_state *st)
{
    slab_done(&st->slab);
    shared_done(&st->users);
    shared_done(&st->name_parts);
    shared_done(&st->partitions);
    mem_free(st->buckets);
    mem_free(st->spare_buckets);
    mem_free(st->by_name.v);
    mem_free(st->by_bucket.v);
}
