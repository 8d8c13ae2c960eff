/* partition.c - partitions of a branch: what is known of them, how they change.
 *
 * Only tables with the option metastore.partitioned-table have them here. All others are answered
 * E_UNSUPPORTED: clients then list partitions from the manifests. partition_key.c says what they are
 * called; clients get the spec, and the key as page token and in messages, and patterns are matched
 * against it.
 *
 * A commit hands what it did to partitions (facts_totals.c) to the store with its record, in one
 * transaction, and the store folds it into totals when they are asked for; see store.h. Where that chain
 * is broken - a rollback past what was folded, a forward, the option switched on after the first
 * snapshot - whoever asks takes a turn and the live files are counted.
 *
 * Threads: changes, commits and counting on the branch's strand, reading on workers. */
#include "catalog/catalog_int.h"

#include "proto/api/api_partition.h"
#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"
#include "proto/json/json.h"

#define OPTION      "metastore.partitioned-table"
#define FOLD_ROWS   5000 /* changes of totals in one transaction */
#define FOLD_ROUNDS 10000
#define TIDY_KEEP   100 /* commits of a branch that are left as they are: they may be rolled back */
#define TIDY_ROWS   2000

/* --- what a table is partitioned by ----------------------------------------------------------- */

static int no_totals(struct ctx *cx, struct branch *br, const char *why)
{
    str full = branch_full_name(cx, br);
    return ctx_fail(
        cx, E_UNSUPPORTED, RES_TABLE, branch_object(cx, br),
        "%s of table %.*s; list its partitions from the manifests, as Paimon's clients do", why,
        STR(full));
}

static void unref(void *t)
{
    traits_unref(t);
}

/* For as long as the request lives. E_UNSUPPORTED: the table keeps no totals. */
static int partitioning(struct ctx *cx, struct branch *br, const struct table_traits **ret)
{
    struct table_traits *t;
    TRY(branch_traits(cx, br, &t));
    if (arena_defer(&cx->arena, unref, t) < 0)
        return ctx_nomem(cx);
    if (!t->partition_totals)
        return no_totals(cx, br, "without the option " OPTION " = true there are no totals");
    *ret = t;
    return 0;
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Writes key and spec of the first `n` keys of t, which must be all members of `spec`. False: they are
 * not. */
static bool write_key(const struct table_traits *t, const struct json *spec, struct buf *key,
                      struct json_out *o)
{
    size_t n = spec ? spec->n : 0;
    if (n > t->partition.n)
        return false;
    json_obj(o);
    for (size_t i = 0; i < n; i++) {
        const struct json *v = NULL;
        JSON_EACH (it, spec)
            if (str_eq(it->key, t->partition_names[i]))
                v = it;
        if (!v)
            return false;
        partition_key_add(key, i, t->partition_names[i], v->s);
        json_keys(o, v->key);
        json_str(o, v->s);
    }
    json_end(o);
    if (n < t->partition.n)
        buf_addc(key, '/');
    return true;
}

enum fit { FITS, PREFIX, NO_FIT }; /* PREFIX: it has the first keys only; its key ends in '/' */

/* Fills key and spec_json of *ret. */
static int key_make(struct ctx *cx, const struct table_traits *t, const struct json *spec,
                    struct partition_delta *ret, enum fit *ret_fit)
{
    CLEANUP(buf_done) struct buf key = {0}, text = {0};
    struct json_out o;
    json_out_init(&o, &text);
    *ret_fit = NO_FIT;
    if (!write_key(t, spec, &key, &o) || key.len > PARTITION_KEY_MAX)
        return 0;
    if (buf_fail(&key) || buf_fail(&text))
        return ctx_nomem(cx);
    ret->key = str_dup(&cx->arena, buf_str(&key));
    ret->spec_json = str_dup(&cx->arena, buf_str(&text));
    if (!ret->key.p || !ret->spec_json.p)
        return ctx_nomem(cx);
    *ret_fit = (spec ? spec->n : 0) == t->partition.n ? FITS : PREFIX;
    return 0;
}

static int no_fit(struct ctx *cx, const struct table_traits *t, const struct json *spec)
{
    CLEANUP(buf_done) struct buf keys = {0};
    for (size_t i = 0; i < t->partition.n; i++)
        buf_addf(&keys, "%s%.*s", i ? ", " : "", STR(t->partition_names[i]));
    return ctx_fail(cx, E_INVAL, RES_PARTITION, STR_NONE,
                    "the spec %.*s does not fit: it must have exactly the table's partition keys "
                    "(%.*s), and its name at most %d bytes",
                    API_SHOWN(spec->raw), API_SHOWN(buf_str(&keys)), PARTITION_KEY_MAX);
}

/* The n items of `specs`, each of which must fit. */
static int keys_make(struct ctx *cx, const struct table_traits *t, const struct json *specs,
                     bool prefix_fits, struct partition_delta **ret)
{
    size_t i = 0;
    struct partition_delta *parts = ARENA_ARRAY(&cx->arena, struct partition_delta, specs->n + 1);
    if (!parts)
        return ctx_nomem(cx);
    JSON_EACH (it, specs) {
        enum fit fit;
        TRY(key_make(cx, t, it, &parts[i++], &fit));
        if (fit == NO_FIT || (fit == PREFIX && !(prefix_fits && it->n > 0)))
            return no_fit(cx, t, it);
    }
    *ret = parts;
    return 0;
}

static void stat_fill(struct partition_delta *d, const struct api_stat *s)
{
    d->records = s->records;
    d->file_size_bytes = s->file_size_bytes;
    d->file_count = s->file_count;
    d->last_file_ms = s->last_file_ms;
    d->buckets = s->buckets;
}

/* Without its key; NO_FIT: one of them does not fit. */
static int stats_make(struct ctx *cx, const struct table_traits *t, const struct api_stat *stats,
                      size_t n, struct partition_delta **ret, enum fit *ret_fit)
{
    struct partition_delta *parts = ARENA_ARRAY(&cx->arena, struct partition_delta, n + 1);
    if (!parts)
        return ctx_nomem(cx);
    *ret_fit = FITS;
    for (size_t i = 0; i < n && *ret_fit == FITS; i++) {
        TRY(key_make(cx, t, stats[i].spec, &parts[i], ret_fit));
        stat_fill(&parts[i], &stats[i]);
    }
    *ret = parts;
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int gone(struct ctx *cx, struct branch *br)
{
    ctx_reset_err(cx);
    return branch_gone(cx, br);
}

/* All commits up to now are in the totals after this, if it says KNOWN. */
static int fold(struct ctx *cx, struct branch *br, enum partitions_are *ret)
{
    enum partitions_are is = PARTITIONS_MORE;
    struct store *st = br->table->cat->o.store;
    for (int i = 0; i < FOLD_ROUNDS && is == PARTITIONS_MORE; i++) {
        int rc = STORE(st, partitions_fold, cx, str_of(br->table->id), str_of(br->name), 0,
                       FOLD_ROWS, &is);
        if (rc == E_NOTFOUND)
            return ctx_code(gone(cx, br), E_NOTFOUND);
        TRY(rc);
    }
    *ret = is;
    return 0;
}

/* For readers. CAT_NEED: the totals are not known. */
static int fold_to_read(struct ctx *cx, struct branch *br)
{
    enum partitions_are is;
    TRY(fold(cx, br, &is));
    return is == PARTITIONS_UNKNOWN ? CAT_NEED : 0;
}

/* What the store said to a reader: it may have become unknown since they were folded. */
static int read_end(struct ctx *cx, struct branch *br, int rc)
{
    if (rc == E_NOTFOUND)
        return gone(cx, br);
    if (rc != E_UNSUPPORTED)
        return rc;
    ctx_reset_err(cx);
    return CAT_NEED;
}

static int prefix_key(struct ctx *cx, str name, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    partition_key_pattern(&b, name);
    str s = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    if (!s.p)
        return ctx_nomem(cx);
    *ret = s;
    return 0;
}

bool branch_has_commits(const struct branch *br)
{
    return br->table->managed;
}

int branch_partitions(struct ctx *cx, struct branch *br, const struct page_in *in,
                      struct partition_row **ret, size_t *ret_n)
{
    const struct table_traits *t;
    struct store_partitions_in li = {.table_id = str_of(br->table->id),
                                     .branch = str_of(br->name),
                                     .below = in->after,
                                     .exact = in->exact,
                                     .limit = in->limit};
    TRY(partitioning(cx, br, &t));
    TRY(prefix_key(cx, in->prefix, &li.prefix));
    int rc = fold_to_read(cx, br);
    if (rc != 0)
        return rc;
    return read_end(cx, br, STORE(br->table->cat->o.store, partitions_list, cx, &li, ret, ret_n));
}

static int last_first(const void *a, const void *b)
{
    return str_cmp(*(const str *)b, *(const str *)a);
}

/* Their keys, each once, in the order of a listing. */
static int keys_sorted(struct ctx *cx, const struct partition_delta *parts, size_t n, str **ret,
                       size_t *ret_n)
{
    size_t k = 0;
    str *keys = ARENA_ARRAY(&cx->arena, str, n + 1);
    if (!keys)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++)
        keys[i] = parts[i].key;
    qsort(keys, n, sizeof *keys, last_first);
    for (size_t i = 0; i < n; i++)
        if (k == 0 || !str_eq(keys[k - 1], keys[i]))
            keys[k++] = keys[i];
    *ret = keys;
    *ret_n = k;
    return 0;
}

int branch_partitions_named(struct ctx *cx, struct branch *br, const struct json *specs,
                            struct partition_row **ret, size_t *ret_n)
{
    const struct table_traits *t;
    struct partition_delta *parts = NULL;
    str *keys;
    size_t n;
    TRY(partitioning(cx, br, &t));
    TRY(keys_make(cx, t, specs, false, &parts));
    TRY(keys_sorted(cx, parts, specs->n, &keys, &n));
    int rc = fold_to_read(cx, br);
    if (rc != 0)
        return rc;
    return read_end(cx, br,
                    STORE(br->table->cat->o.store, partitions_find, cx, str_of(br->table->id),
                          str_of(br->name), keys, n, ret, ret_n));
}

/* --- counting --------------------------------------------------------------------------------- */

/* Why they cannot be known, in the words of who found out. */
static int uncounted(struct ctx *cx, struct branch *br)
{
    char why[sizeof cx->err.msg + 64];
    snprintf(why, sizeof why, "its files cannot be counted (%s), so nobody knows the totals",
             cx->err.msg);
    ctx_reset_err(cx);
    return no_totals(cx, br, why);
}

/* What the live files come to. */
static int sums(struct ctx *cx, struct branch *br, const struct table_traits *t,
                struct store_partitions_set *in)
{
    struct table_state *st = NULL;
    int rc = branch_state(cx, br, &st);
    if (rc == STATE_STREAM)
        return no_totals(cx, br,
                         "its files do not fit in state.table-max, so nobody knows the totals");
    if (rc == 0)
        rc = state_sums(cx, t, st, &in->sums, &in->n);
    if (rc == E_CORRUPT || rc == E_UNSUPPORTED || rc == E_TOOBIG)
        return uncounted(cx, br);
    return rc;
}

/* After branch_enter, unless the table has no commits. */
static int count(struct ctx *cx, struct branch *br, const struct table_traits *t)
{
    enum partitions_are is;
    TRY(fold(cx, br, &is));
    if (is != PARTITIONS_UNKNOWN)
        return 0;
    struct store_partitions_set in = {.table_id = str_of(br->table->id),
                                      .branch = str_of(br->name),
                                      .expect_epoch = atomic_load(&br->epoch),
                                      .expect_head_id = br->head ? br->head->id : 0,
                                      .now_ms = clock_wall_ms()};
    in.by = cx->principal.len ? cx->principal : STR_LIT("latch");
    TRY(sums(cx, br, t, &in));
    int rc = STORE(br->table->cat->o.store, partitions_set, cx, &in);
    if (rc == E_NOTFOUND)
        return gone(cx, br);
    if (rc == E_RACE || rc == E_UNKNOWN) /* of the caller's own request nothing is unknown */
        return cx->err.code = E_BUSY;
    TRY(rc);
    log_info("catalog", "partitions.counted", LS("table", branch_full_name(cx, br)),
             LI("snapshot", in.expect_head_id), LI("n", (int64_t)in.n), LS("req", cx->request_id));
    return 0;
}

int branch_partitions_count(struct ctx *cx, struct branch *br)
{
    const struct table_traits *t;
    TRY(branch_enter(cx, br));
    TRY(partitioning(cx, br, &t));
    return count(cx, br, t);
}

/* --- changes ---------------------------------------------------------------------------------- */

/* A table whose files are the clients' own has no commits, but partitions may be registered. */
static int enter(struct ctx *cx, struct branch *br)
{
    if (br->table->managed) {
        TRY(branch_enter(cx, br));
        return branch_may_change(cx, br);
    }
    return atomic_load(&br->table->dead) || atomic_load(&br->gone) ? branch_gone(cx, br) : 0;
}

/* The start of each: what it is partitioned by, all folded, who and when. */
static int change_begin(struct ctx *cx, struct branch *br, const char *action,
                        const struct json *specs, const struct table_traits **ret_t,
                        struct store_partitions_change *ret)
{
    CLEANUP(buf_done) struct buf detail = {0};
    str db, name;
    TRY(ctx_check_deadline(cx));
    TRY(enter(cx, br));
    TRY(partitioning(cx, br, ret_t));
    TRY(count(cx, br, *ret_t));
    *ret = (struct store_partitions_change){.table_id = str_of(br->table->id),
                                            .branch = str_of(br->name),
                                            .now_ms = clock_wall_ms(),
                                            .n = specs->n};
    ret->by = cx->principal.len ? cx->principal : STR_LIT("latch");
    table_names(br->table, &db, &name);
    audit_fill(cx, &ret->audit, action, br->table->wh, db, name);
    buf_addf(&detail, "partitions=%zu branch=%s", specs->n, br->name);
    ret->audit.detail = buf_fail(&detail) ? STR_NONE : str_dup(&cx->arena, buf_str(&detail));
    return 0;
}

/* What the store said, in the words of a branch. */
static int change_end(struct ctx *cx, struct branch *br, const struct store_partitions_change *in,
                      int rc)
{
    if (rc == E_NOTFOUND && cx->err.res != RES_PARTITION)
        return gone(cx, br);
    if (rc == E_RACE || rc == E_UNSUPPORTED) /* nothing of ours comes in between on the strand */
        return cx->err.code = E_BUSY;
    TRY(rc);
    log_info("catalog", "partitions.changed", LS("table", branch_full_name(cx, br)),
             LS("what", in->audit.action), LI("n", (int64_t)in->n), LS("by", in->by),
             LS("req", cx->request_id));
    return 0;
}

int branch_partitions_create(struct ctx *cx, struct branch *br,
                             const struct partitions_create_in *in, bool *ret_there)
{
    const struct table_traits *t;
    struct partition_delta *parts = NULL, *stats = NULL;
    struct store_partitions_change ch;
    enum fit fit;
    TRY(change_begin(cx, br, "partitions.create", in->specs, &t, &ch));
    TRY(keys_make(cx, t, in->specs, false, &parts));
    /* Of a partition that cannot be there nothing is taken, and then of none. */
    TRY(stats_make(cx, t, in->stats, in->n_stats, &stats, &fit));
    ch.parts = parts;
    int rc = STORE(br->table->cat->o.store, partitions_create, cx, &ch, in->strict, stats,
                   fit == FITS ? in->n_stats : 0, in->replace, ret_there);
    return change_end(cx, br, &ch, rc);
}

int branch_partitions_drop(struct ctx *cx, struct branch *br, const struct json *specs, bool strict,
                           bool *ret_there)
{
    const struct table_traits *t;
    struct partition_delta *parts = NULL;
    struct store_partitions_change ch;
    TRY(change_begin(cx, br, "partitions.drop", specs, &t, &ch));
    TRY(keys_make(cx, t, specs, false, &parts));
    ch.parts = parts;
    int rc = STORE(br->table->cat->o.store, partitions_drop, cx, &ch, strict, ret_there);
    return change_end(cx, br, &ch, rc);
}

static int by_key(const void *a, const void *b)
{
    const struct partition_delta *x = a, *y = b;
    return str_cmp(x->key, y->key);
}

/* Takes out what another one covers: else a long list of one prefix would keep the store's only writer
 * busy with all partitions below it, once for each. Returns how many are left. */
static size_t parts_apart(struct partition_delta *parts, size_t n)
{
    size_t k = 0;
    ASSERT(parts || n == 0);
    if (n > 1)
        qsort(parts, n, sizeof *parts, by_key);
    for (size_t i = 0; i < n; i++) {
        str last = k ? parts[k - 1].key : STR_NONE;
        bool covered = k && (str_eq(last, parts[i].key) ||
                             (str_ends(last, STR_LIT("/")) && str_starts(parts[i].key, last)));
        if (!covered)
            parts[k++] = parts[i];
    }
    return k;
}

int branch_partitions_mark(struct ctx *cx, struct branch *br, const struct json *specs)
{
    const struct table_traits *t;
    struct partition_delta *parts = NULL;
    struct store_partitions_change ch;
    TRY(change_begin(cx, br, "partitions.mark", specs, &t, &ch));
    TRY(keys_make(cx, t, specs, true, &parts));
    ch.parts = parts;
    ch.n = parts_apart(parts, specs->n);
    int rc = STORE(br->table->cat->o.store, partitions_mark, cx, &ch);
    return change_end(cx, br, &ch, rc);
}

int partitions_tidy(struct ctx *cx, struct catalog *c)
{
    bool more = true;
    while (more)
        TRY(STORE(c->o.store, partitions_tidy, cx, TIDY_KEEP, TIDY_ROWS, &more));
    return 0;
}
