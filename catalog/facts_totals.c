/* facts_totals.c - the counts of a branch and of its partitions: what a commit does to them, and what the
 * live files come to.
 *
 * They come from files, not from the statistics that a client posts beside them: so they are the same
 * for a commit that was adopted, and nobody can make them lie. As in Paimon a DELETE counts down, and the
 * newest file is that of any entry. Creation times are a wall clock without a zone; like Paimon's clients
 * we take it for the zone of this process.
 *
 * Partitions are grouped by value and then by name: null and a text of blanks have the same one.
 *
 * Thread rule: the branch's strand. Source: paimon-core's PartitionEntry. */
#include "catalog/catalog_int.h"

#include <time.h>

#include "manifest/partition_path.h"
#include "proto/base/assert.h"
#include "proto/base/mem.h"
#include "proto/json/json.h"

/* Seconds that the zone is ahead of UTC then. */
static int64_t ahead_at(int64_t s)
{
    time_t t = (time_t)s;
    struct tm tm;
    return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

/* "As if it were UTC" -> since 1970, as Java's LocalDateTime.atZone: of two times the earlier one; one that
 * a change of the clock leaves out is as much later. Not by mktime, which looks for the zone's file each
 * time. */
static int64_t local_ms(int64_t wall_ms)
{
    int64_t day = 86400, max = INT64_MAX / 1000 - 2 * day, s = wall_ms / 1000;
    if (s > max || s < -max)
        return wall_ms;
    int64_t before = ahead_at(s - day), after = ahead_at(s + day);
    bool is_after =
        before != after && ahead_at(s - before) != before && ahead_at(s - after) == after;
    return wall_ms - (is_after ? after : before) * 1000;
}

/* *at + v, or - v; false: the sum is no number any more (a manifest may say what no disk holds). */
static bool add_up(int64_t *at, int64_t v, bool plus)
{
    return plus ? !__builtin_add_overflow(*at, v, at) : !__builtin_sub_overflow(*at, v, at);
}

static bool count(struct partition_delta *d, const struct fact *e)
{
    bool fits = add_up(&d->records, e->f.rows, e->added);
    fits = add_up(&d->file_size_bytes, e->f.size, e->added) && fits;
    d->file_count += e->added ? 1 : -1;
    if (e->f.created_ms.has && (d->last_file_ms == 0 || e->f.created_ms.v > d->last_file_ms))
        d->last_file_ms = e->f.created_ms.v; /* local, until all are counted */
    d->buckets = e->f.total_buckets;
    return fits;
}

static void delta_done(struct partition_delta *d)
{
    d->last_file_ms = d->last_file_ms ? local_ms(d->last_file_ms) : 0;
}

/* --- the branch ------------------------------------------------------------------------------- */

struct totals totals_of_state(const struct table_state *st)
{
    struct partition_delta all = {0};
    struct state_cursor at;
    struct state_view v;
    state_all(st, &at);
    while (state_next(st, &at, &v)) {
        struct fact e = {.added = true, .f = v.f};
        if (!count(&all, &e))
            return TOTALS_UNKNOWN;
    }
    delta_done(&all);
    return (struct totals){all.file_size_bytes, all.file_count, all.last_file_ms};
}

/* What the head has: recorded with it, or counted now. */
static struct totals totals_before(struct branch *br)
{
    const struct head *h = br->head;
    if (!h)
        return (struct totals){0, 0, 0};
    if (h->totals.file_count >= 0)
        return h->totals;
    if (!br->state || atomic_load(&br->state_text) != head_text(h))
        return TOTALS_UNKNOWN;
    return totals_of_state(br->state);
}

struct totals totals_after(struct branch *br, const struct commit_facts *f)
{
    struct totals t = totals_before(br);
    struct partition_delta all = {0};
    bool fits = true;
    for (size_t i = 0; i < f->n_entries; i++)
        fits = count(&all, &f->entries[i]) && fits;
    delta_done(&all);
    if (!fits || t.file_count < 0 ||
        __builtin_add_overflow(t.file_size_bytes, all.file_size_bytes, &t.file_size_bytes) ||
        __builtin_add_overflow(t.file_count, all.file_count, &t.file_count) ||
        t.file_size_bytes < 0 || t.file_count < 0)
        return TOTALS_UNKNOWN;
    if (all.last_file_ms > t.last_file_creation_ms)
        t.last_file_creation_ms = all.last_file_ms;
    return t;
}

/* --- its partitions --------------------------------------------------------------------------- */

/* Its key ("k=v/k2=v2") and its spec, an object of texts, as a client would name it. */
static int names(struct ctx *cx, const struct table_traits *t, const struct binrow_value *v,
                 struct partition_delta *ret)
{
    CLEANUP(buf_done) struct buf key = {0}, spec = {0}, value = {0};
    struct json_out o;
    json_out_init(&o, &spec);
    json_obj(&o);
    for (size_t i = 0; i < t->partition.n; i++) {
        buf_clear(&value);
        TRY(partition_text(cx, t->partition.types[i], &v[i], &t->naming, &value));
        partition_key_add(&key, i, t->partition_names[i], buf_str(&value));
        json_keys(&o, t->partition_names[i]);
        json_str(&o, buf_str(&value));
    }
    json_end(&o);
    if (buf_fail(&key) || buf_fail(&spec) || buf_fail(&value))
        return ctx_nomem(cx);
    ret->key = str_dup(&cx->arena, buf_str(&key));
    ret->spec_json = str_dup(&cx->arena, buf_str(&spec));
    return ret->key.p && ret->spec_json.p ? 0 : ctx_nomem(cx);
}

static int named(struct ctx *cx, const struct table_traits *t, str row, struct partition_delta *ret)
{
    struct binrow_value *v = ARENA_ARRAY(&cx->arena, struct binrow_value, t->partition.n + 1);
    if (!v)
        return ctx_nomem(cx);
    TRY(binrow_read(cx, &t->partition, row, v));
    TRY(names(cx, t, v, ret));
    if (ret->key.len <= PARTITION_KEY_MAX)
        return 0;
    return ctx_fail(cx, E_TOOBIG, RES_PARTITION, STR_NONE,
                    "a partition's name has %zu bytes, and %d are kept", ret->key.len,
                    PARTITION_KEY_MAX);
}

static int too_much(struct ctx *cx)
{
    return ctx_fail(cx, E_TOOBIG, RES_PARTITION, STR_NONE,
                    "the files of one partition say that they have more than 64 bits count");
}

struct groups {        /* in the context's arena */
    struct map by_row; /* rows are borrowed */
    struct partition_delta *at;
    size_t n, cap;
};

static void groups_done(struct groups *g)
{
    map_done(&g->by_row);
}

/* Room for `cap` partitions. */
static int groups_init(struct ctx *cx, struct groups *g, size_t cap)
{
    map_init(&g->by_row);
    g->at = ARENA_ARRAY(&cx->arena, struct partition_delta, cap + 1);
    g->n = 0;
    g->cap = cap;
    return g->at ? 0 : ctx_nomem(cx);
}

static int group_of(struct ctx *cx, const struct table_traits *t, struct groups *g, str row,
                    struct partition_delta **ret)
{
    struct partition_delta *d = map_get(&g->by_row, row);
    if (!d) {
        ASSERT(g->n < g->cap);
        d = &g->at[g->n++];
        *d = (struct partition_delta){0};
        TRY(named(cx, t, row, d));
        if (map_put(&g->by_row, row, d) < 0)
            return ctx_nomem(cx);
    }
    *ret = d;
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const struct partition_delta *x = a, *y = b;
    return str_cmp(x->key, y->key);
}

static bool join(struct partition_delta *into, const struct partition_delta *d)
{
    bool fits = add_up(&into->records, d->records, true);
    fits = add_up(&into->file_size_bytes, d->file_size_bytes, true) && fits;
    into->file_count += d->file_count;
    if (d->last_file_ms > into->last_file_ms)
        into->last_file_ms = d->last_file_ms;
    if (d->buckets > into->buckets)
        into->buckets = d->buckets;
    return fits;
}

/* Sorted by name, each once. */
static int groups_end(struct ctx *cx, struct groups *g)
{
    size_t k = 0;
    if (g->n > 1)
        qsort(g->at, g->n, sizeof *g->at, by_key);
    for (size_t i = 0; i < g->n; i++) {
        delta_done(&g->at[i]);
        if (!k || !str_eq(g->at[k - 1].key, g->at[i].key))
            g->at[k++] = g->at[i];
        else if (!join(&g->at[k - 1], &g->at[i]))
            return too_much(cx);
    }
    g->n = k;
    return 0;
}

static int by_partition(struct ctx *cx, const struct table_traits *t, const struct commit_facts *f,
                        struct partition_delta **ret, size_t *ret_n)
{
    CLEANUP(groups_done) struct groups g;
    TRY(groups_init(cx, &g, f->n_entries));
    for (size_t i = 0; i < f->n_entries; i++) {
        struct partition_delta *d;
        TRY(group_of(cx, t, &g, f->entries[i].f.partition, &d));
        if (!count(d, &f->entries[i]))
            return too_much(cx);
    }
    TRY(groups_end(cx, &g));
    *ret = g.at;
    *ret_n = g.n;
    return 0;
}

/* Files come in no order: of several bucket counts it has the greatest. */
static bool count_live(struct partition_delta *d, const struct table_file *f)
{
    struct fact e = {.added = true, .f = *f};
    int64_t before = d->file_count ? d->buckets : INT64_MIN;
    bool fits = count(d, &e);
    if (before > d->buckets)
        d->buckets = before;
    return fits;
}

int state_sums(struct ctx *cx, const struct table_traits *t, const struct table_state *st,
               struct partition_delta **ret, size_t *ret_n)
{
    CLEANUP(groups_done) struct groups g;
    struct state_cursor at;
    struct state_view v;
    TRY(groups_init(cx, &g, state_info(st).partitions));
    state_all(st, &at);
    while (state_next(st, &at, &v)) {
        struct partition_delta *d;
        TRY(group_of(cx, t, &g, v.f.partition, &d));
        if (!count_live(d, &v.f))
            return too_much(cx);
    }
    TRY(groups_end(cx, &g));
    *ret = g.at;
    *ret_n = g.n;
    return 0;
}

int commit_deltas(struct ctx *cx, struct branch *br, const struct commit_facts *f,
                  struct commit_pending *p)
{
    struct table_traits *t;
    struct partition_delta *d = NULL;
    size_t n = 0;
    TRY(branch_traits(cx, br, &t));
    int rc = t->partition_totals ? by_partition(cx, t, f, &d, &n) : E_UNSUPPORTED;
    traits_unref(t);
    if (rc == E_UNSUPPORTED || rc == E_TOOBIG || rc == E_CORRUPT) {
        ctx_reset_err(cx); /* one that has no name: the totals are not known from here on */
        return 0;
    }
    TRY(rc);
    return pending_keep(p, d, n) < 0 ? ctx_nomem(cx) : 0;
}
