/* facts_totals.c - what a commit does to the counts of its branch and of its partitions.
 *
 * They come from its files, not from the statistics that a client posts beside them: so they are the same
 * for a commit that was adopted, and nobody can make them lie. As in Paimon a DELETE counts down, and the
 * newest file is that of any entry. Creation times are a wall clock without a zone; like Paimon's clients
 * we take it for the zone of this process.
 *
 * Thread rule: the branch's strand. Source: paimon-core's PartitionEntry. */
#include "catalog/catalog_int.h"

#include <time.h>

#include "manifest/partition_path.h"
#include "proto/base/assert.h"
#include "proto/base/mem.h"
#include "proto/json/json.h"

#define KEY_MAX 4096 /* bytes; a path has no more */

/* "As if it were UTC" -> since 1970. */
static int64_t local_ms(int64_t wall_ms)
{
    int64_t s = wall_ms / 1000, rest = wall_ms % 1000;
    struct tm tm;
    if (rest < 0) {
        rest += 1000;
        s--;
    }
    time_t t = (time_t)s;
    if (!gmtime_r(&t, &tm))
        return wall_ms;
    tm.tm_isdst = -1;
    int64_t ms = 0;
    if (__builtin_mul_overflow((int64_t)mktime(&tm), 1000, &ms) ||
        __builtin_add_overflow(ms, rest, &ms))
        return wall_ms;
    return ms;
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

static struct totals totals_of_state(const struct table_state *st)
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

static void add_escaped(struct buf *b, str v)
{
    for (size_t i = 0; i < v.len; i++) {
        if (v.p[i] == '/')
            buf_addz(b, "%2F");
        else if (v.p[i] == '%')
            buf_addz(b, "%25");
        else
            buf_addc(b, v.p[i]);
    }
}

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
        buf_addf(&key, "%s%.*s=", i ? "/" : "", STR(t->partition_names[i]));
        add_escaped(&key, buf_str(&value));
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

int partition_delta_names(struct ctx *cx, const struct table_traits *t, str row,
                          struct partition_delta *ret)
{
    struct binrow_value *v = ARENA_ARRAY(&cx->arena, struct binrow_value, t->partition.n + 1);
    if (!v)
        return ctx_nomem(cx);
    TRY(binrow_read(cx, &t->partition, row, v));
    TRY(names(cx, t, v, ret));
    return ret->key.len <= KEY_MAX ? 0 : E_TOOBIG;
}

/* Entries by partition; *ret_n of them in the arena. */
static int by_partition(struct ctx *cx, const struct table_traits *t, const struct commit_facts *f,
                        struct partition_delta **ret, size_t *ret_n)
{
    CLEANUP(map_done) struct map seen;
    struct partition_delta *d = ARENA_ARRAY(&cx->arena, struct partition_delta, f->n_entries + 1);
    size_t n = 0;
    map_init(&seen);
    if (!d)
        return ctx_nomem(cx);
    for (size_t i = 0; i < f->n_entries; i++) {
        const struct fact *e = &f->entries[i];
        struct partition_delta *at = map_get(&seen, e->f.partition);
        if (!at) {
            at = &d[n++];
            *at = (struct partition_delta){0};
            TRY(partition_delta_names(cx, t, e->f.partition, at));
            if (map_put(&seen, e->f.partition, at) < 0)
                return ctx_nomem(cx);
        }
        if (!count(at, e))
            return E_TOOBIG;
    }
    for (size_t i = 0; i < n; i++)
        delta_done(&d[i]);
    *ret = d;
    *ret_n = n;
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
