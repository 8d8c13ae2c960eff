/* partition.c - partitions of a branch: what they are called, what is known of them, how they change.
 *
 * Only tables with the option metastore.partitioned-table have them here. All others are answered
 * E_UNSUPPORTED, and so are those whose totals are not known: clients then list partitions from the
 * manifests.
 *
 * A partition's key is its name, k=v/k2=v2 in the order of the partition keys, as Paimon builds it.
 * Since names are told apart by it, '/' and '%' within a value are written %2F and %25. Clients get the
 * spec, and the key as page token and in messages; patterns are matched against it.
 *
 * A commit hands its statistics to the store with its record, in one transaction, and the store folds
 * them into totals when they are asked for; see store.h. Statistics that do not fit the table (a spec
 * without one of its keys) make the totals unknown; they are no reason to refuse a commit.
 *
 * Threads: changes and commits on the branch's strand, reading on workers. What a branch is partitioned
 * by is kept with the branch and belongs to its strand. */
#include "catalog/catalog_int.h"

#include "proto/api/api_partition.h"
#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"
#include "proto/json/json.h"

#define OPTION      "metastore.partitioned-table"
#define KEY_MAX     4096 /* bytes; a path has no more */
#define KEYS_MAX    100  /* columns; each spec is searched for each of them */
#define FOLD_ROWS   5000 /* changes of totals in one transaction */
#define FOLD_ROUNDS 10000
#define TIDY_KEEP   100 /* commits of a branch that are left as they are: they may be rolled back */
#define TIDY_ROWS   2000

/* --- what a table is partitioned by ----------------------------------------------------------- */

struct partitioning {
    bool managed; /* the option is set */
    size_t n;
    str keys[]; /* their texts behind them */
};

static struct partitioning *partitioning_new(const struct json *keys, bool managed)
{
    size_t n = keys ? keys->n : 0, bytes = 0, i = 0;
    if (keys)
        JSON_EACH (it, keys)
            bytes += it->s.len;
    struct partitioning *p = mem_alloc(sizeof(*p) + n * sizeof(str) + bytes + 1);
    if (!p)
        return NULL;
    *p = (struct partitioning){.managed = managed, .n = n};
    char *at = (char *)&p->keys[n];
    if (keys)
        JSON_EACH (it, keys) {
            if (it->s.len)
                memcpy(at, it->s.p, it->s.len);
            p->keys[i++] = str_n(at, it->s.len);
            at += it->s.len;
        }
    return p;
}

/* From Paimon's Schema object. */
static int partitioning_of(struct ctx *cx, str schema_json, struct partitioning **ret)
{
    const struct json *schema, *options, *keys;
    str option;
    TRY(json_parse(cx, schema_json, "recorded schema", &schema));
    TRY(json_opt_obj(cx, schema, "", "options", &options));
    TRY(json_opt_arr(cx, schema, "", "partitionKeys", &keys));
    TRY(json_check_str_arr(cx, keys, "partitionKeys"));
    TRY(json_opt_str(cx, options, "options", OPTION, &option));
    bool on = str_ieq(str_trim(option), STR_LIT("true"));
    *ret = partitioning_new(keys, on && (!keys || keys->n <= KEYS_MAX));
    return *ret ? 0 : ctx_nomem(cx);
}

static int partitioning_load(struct ctx *cx, struct branch *br, struct partitioning **ret)
{
    struct schema_at at;
    int rc = schema_of_branch(cx, br, &at);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return branch_gone(cx, br);
    }
    TRY(rc);
    return partitioning_of(cx, at.json, ret);
}

void partitioning_forget(struct branch *br)
{
    mem_free(br->partitioning);
    br->partitioning = NULL;
}

static int no_totals(struct ctx *cx, struct branch *br, const char *why)
{
    str full = branch_full_name(cx, br);
    return ctx_fail(
        cx, E_UNSUPPORTED, RES_TABLE, branch_object(cx, br),
        "%s of table %.*s; list its partitions from the manifests, as Paimon's clients do", why,
        STR(full));
}

static int want_managed(struct ctx *cx, struct branch *br, const struct partitioning *p)
{
    return p->managed
               ? 0
               : no_totals(cx, br, "without the option " OPTION " = true there are no totals");
}

/* For workers: lives as long as the request. */
static int partitioning_read(struct ctx *cx, struct branch *br, const struct partitioning **ret)
{
    struct partitioning *p = NULL;
    TRY(partitioning_load(cx, br, &p));
    ASSERT(p);
    if (arena_defer(&cx->arena, mem_free, p) < 0)
        return ctx_nomem(cx);
    TRY(want_managed(cx, br, p));
    *ret = p;
    return 0;
}

/* For the strand. */
static int partitioning_here(struct ctx *cx, struct branch *br, const struct partitioning **ret)
{
    if (!br->partitioning)
        TRY(partitioning_load(cx, br, &br->partitioning));
    *ret = br->partitioning;
    return 0;
}

/* --- keys ------------------------------------------------------------------------------------- */

static void add_value(struct buf *b, str v)
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

/* Writes key and spec of the first `n` keys of p, which must be all members of `spec`. False: they are
 * not. */
static bool write_key(const struct partitioning *p, const struct json *spec, struct buf *key,
                      struct json_out *o)
{
    size_t n = spec ? spec->n : 0;
    if (n > p->n)
        return false;
    json_obj(o);
    for (size_t i = 0; i < n; i++) {
        const struct json *v = NULL;
        JSON_EACH (it, spec)
            if (str_eq(it->key, p->keys[i]))
                v = it;
        if (!v)
            return false;
        if (i)
            buf_addc(key, '/');
        buf_adds(key, p->keys[i]);
        buf_addc(key, '=');
        add_value(key, v->s);
        json_keys(o, v->key);
        json_str(o, v->s);
    }
    json_end(o);
    if (n < p->n)
        buf_addc(key, '/');
    return true;
}

enum fit { FITS, PREFIX, NO_FIT }; /* PREFIX: it has the first keys only; its key ends in '/' */

/* Fills key and spec_json of *ret. */
static int key_make(struct ctx *cx, const struct partitioning *p, const struct json *spec,
                    struct partition_delta *ret, enum fit *ret_fit)
{
    CLEANUP(buf_done) struct buf key = {0}, text = {0};
    struct json_out o;
    json_out_init(&o, &text);
    *ret_fit = NO_FIT;
    if (!write_key(p, spec, &key, &o) || key.len > KEY_MAX)
        return 0;
    if (buf_fail(&key) || buf_fail(&text))
        return ctx_nomem(cx);
    ret->key = str_dup(&cx->arena, buf_str(&key));
    ret->spec_json = str_dup(&cx->arena, buf_str(&text));
    if (!ret->key.p || !ret->spec_json.p)
        return ctx_nomem(cx);
    *ret_fit = (spec ? spec->n : 0) == p->n ? FITS : PREFIX;
    return 0;
}

static int no_fit(struct ctx *cx, const struct partitioning *p, const struct json *spec)
{
    CLEANUP(buf_done) struct buf keys = {0};
    for (size_t i = 0; i < p->n; i++)
        buf_addf(&keys, "%s%.*s", i ? ", " : "", STR(p->keys[i]));
    return ctx_fail(cx, E_INVAL, RES_PARTITION, STR_NONE,
                    "the spec %.*s does not fit: it must have exactly the table's partition keys "
                    "(%.*s), and its name at most %d bytes",
                    API_SHOWN(spec->raw), API_SHOWN(buf_str(&keys)), KEY_MAX);
}

/* The n items of `specs`, each of which must fit. */
static int keys_make(struct ctx *cx, const struct partitioning *p, const struct json *specs,
                     bool prefix_fits, struct partition_delta **ret)
{
    size_t i = 0;
    struct partition_delta *parts = ARENA_ARRAY(&cx->arena, struct partition_delta, specs->n + 1);
    if (!parts)
        return ctx_nomem(cx);
    JSON_EACH (it, specs) {
        enum fit fit;
        TRY(key_make(cx, p, it, &parts[i++], &fit));
        if (fit == NO_FIT || (fit == PREFIX && !(prefix_fits && it->n > 0)))
            return no_fit(cx, p, it);
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
static int stats_make(struct ctx *cx, const struct partitioning *p, const struct api_stat *stats,
                      size_t n, struct partition_delta **ret, enum fit *ret_fit)
{
    struct partition_delta *parts = ARENA_ARRAY(&cx->arena, struct partition_delta, n + 1);
    if (!parts)
        return ctx_nomem(cx);
    *ret_fit = FITS;
    for (size_t i = 0; i < n && *ret_fit == FITS; i++) {
        TRY(key_make(cx, p, stats[i].spec, &parts[i], ret_fit));
        stat_fill(&parts[i], &stats[i]);
    }
    *ret = parts;
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int unknown(struct ctx *cx, struct branch *br)
{
    ctx_reset_err(cx);
    return no_totals(cx, br, "the totals are not known");
}

/* All commits up to now are in the totals after this. */
static int fold(struct ctx *cx, struct branch *br)
{
    enum partitions_are is = PARTITIONS_MORE;
    struct store *st = br->table->cat->o.store;
    for (int i = 0; i < FOLD_ROUNDS && is == PARTITIONS_MORE; i++) {
        int rc = STORE(st, partitions_fold, cx, str_of(br->table->id), str_of(br->name), 0,
                       FOLD_ROWS, &is);
        if (rc == E_NOTFOUND) {
            ctx_reset_err(cx);
            return branch_gone(cx, br);
        }
        TRY(rc);
    }
    return is == PARTITIONS_UNKNOWN ? unknown(cx, br) : 0;
}

/* A name's '%' is a byte of a value here, and written as one. */
static int prefix_key(struct ctx *cx, str name, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    for (size_t i = 0; i < name.len; i++) {
        buf_addc(&b, name.p[i]);
        if (name.p[i] == '%')
            buf_addz(&b, "25");
    }
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
    const struct partitioning *by;
    struct store_partitions_in li = {.table_id = str_of(br->table->id),
                                     .branch = str_of(br->name),
                                     .below = in->after,
                                     .exact = in->exact,
                                     .limit = in->limit};
    TRY(partitioning_read(cx, br, &by));
    TRY(prefix_key(cx, in->prefix, &li.prefix));
    TRY(fold(cx, br));
    int rc = STORE(br->table->cat->o.store, partitions_list, cx, &li, ret, ret_n);
    return rc == E_UNSUPPORTED ? unknown(cx, br) : rc;
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
    const struct partitioning *by;
    struct partition_delta *parts = NULL;
    str *keys;
    size_t n;
    TRY(partitioning_read(cx, br, &by));
    TRY(keys_make(cx, by, specs, false, &parts));
    TRY(keys_sorted(cx, parts, specs->n, &keys, &n));
    TRY(fold(cx, br));
    int rc = STORE(br->table->cat->o.store, partitions_find, cx, str_of(br->table->id),
                   str_of(br->name), keys, n, ret, ret_n);
    return rc == E_UNSUPPORTED ? unknown(cx, br) : rc;
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
                        const struct json *specs, const struct partitioning **ret_by,
                        struct store_partitions_change *ret)
{
    CLEANUP(buf_done) struct buf detail = {0};
    str db, name;
    TRY(ctx_check_deadline(cx));
    TRY(enter(cx, br));
    TRY(partitioning_here(cx, br, ret_by));
    TRY(want_managed(cx, br, *ret_by));
    TRY(fold(cx, br));
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
    if (rc == E_UNSUPPORTED)
        return unknown(cx, br);
    if (rc == E_NOTFOUND && cx->err.res != RES_PARTITION) {
        ctx_reset_err(cx);
        return branch_gone(cx, br);
    }
    if (rc == E_RACE) /* nothing of ours comes in between on the strand */
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
    const struct partitioning *by;
    struct partition_delta *parts = NULL, *stats = NULL;
    struct store_partitions_change ch;
    enum fit fit;
    TRY(change_begin(cx, br, "partitions.create", in->specs, &by, &ch));
    TRY(keys_make(cx, by, in->specs, false, &parts));
    /* Of a partition that cannot be there nothing is taken, and then of none. */
    TRY(stats_make(cx, by, in->stats, in->n_stats, &stats, &fit));
    ch.parts = parts;
    int rc = STORE(br->table->cat->o.store, partitions_create, cx, &ch, in->strict, stats,
                   fit == FITS ? in->n_stats : 0, in->replace, ret_there);
    return change_end(cx, br, &ch, rc);
}

int branch_partitions_drop(struct ctx *cx, struct branch *br, const struct json *specs, bool strict,
                           bool *ret_there)
{
    const struct partitioning *by;
    struct partition_delta *parts = NULL;
    struct store_partitions_change ch;
    TRY(change_begin(cx, br, "partitions.drop", specs, &by, &ch));
    TRY(keys_make(cx, by, specs, false, &parts));
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
    const struct partitioning *by;
    struct partition_delta *parts = NULL;
    struct store_partitions_change ch;
    TRY(change_begin(cx, br, "partitions.mark", specs, &by, &ch));
    TRY(keys_make(cx, by, specs, true, &parts));
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
