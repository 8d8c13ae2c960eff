/* test_prop_partition.c - long random lives of a partitioned table beside a simple model of its totals.
 *
 * Commits with statistics and without, rollbacks, adoptions, creates, drops, marks, replays, restarts,
 * deaths of the process and failures of the store; listed at random moments, so that folding happens
 * everywhere. The model keeps the totals after each snapshot that is not folded yet, and knows when
 * they cannot be known. After each list: exactly the model's rows, or the answer that they are unknown
 * exactly when the model says so.
 *
 * The seed of each life is printed; PROP_SEED=n runs that one life, PROP_LIVES=n so many random ones. */
#include "tests/unit/catalog/fixture.h"
#include "tests/unit/catalog/prop.h"

#include "proto/api/api_partition.h"

#define STEPS    400
#define LIVE_MAX 600
#define PARTS    6

static struct fx f;
static uint64_t rng;

static uint64_t draw(uint64_t n) /* 0..n-1 */
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng % n;
}

/* --- the model -------------------------------------------------------------------------------- */

struct part {
    bool there, done;
    int64_t n[5]; /* records, bytes, files, last file, buckets */
};
struct told { /* what the commit of one snapshot said; of each partition at most once */
    bool any, named[PARTS];
    int64_t n[PARTS][5];
};
static struct {
    struct draft live[LIVE_MAX]; /* snapshots 1..head */
    struct told told[LIVE_MAX];
    int head, folded; /* folded < 0: unknown for good */
    struct part parts[PARTS];
    int commits, lists, unknown, back, deaths, changes, lost;
} m;

static void model_apply(const struct told *t)
{
    for (int i = 0; i < PARTS; i++) {
        struct part *p = &m.parts[i];
        if (!t->named[i])
            continue;
        if (!p->there)
            *p = (struct part){0};
        for (int k = 0; k < 3; k++)
            p->n[k] = p->there && p->n[k] >= 0 ? p->n[k] + t->n[i][k] : t->n[i][k];
        p->n[3] = p->there && p->n[3] > t->n[i][3] ? p->n[3] : t->n[i][3];
        p->n[4] = t->n[i][4];
        p->there = p->n[0] > 0 || p->n[1] > 0 || p->n[2] > 0;
    }
}

static bool model_known(void)
{
    if (m.folded < 0)
        return false;
    for (int i = m.folded; i < m.head; i++)
        if (!m.told[i].any)
            return false;
    return true;
}

static void model_fold(void)
{
    for (; m.folded < m.head; m.folded++)
        model_apply(&m.told[m.folded]);
}

/* A commit after one that told nothing: what was missing is missed for good. */
static void model_push(const struct draft *d, const struct told *t)
{
    assert_true(m.head < LIVE_MAX);
    if (t->any && m.folded >= 0)
        for (int i = m.folded; i < m.head; i++)
            if (!m.told[i].any && (m.folded > 0 || m.told[0].any))
                m.folded = -1;
    m.live[m.head] = *d;
    m.told[m.head++] = *t;
}

static void model_back(int to)
{
    m.head = to;
    if (m.folded > to)
        m.folded = -1;
}

/* --- looking ---------------------------------------------------------------------------------- */

static int turn_settle(struct ctx *cx, struct branch *br, void *arg)
{
    struct head *h;
    (void)arg;
    TRY(branch_head(cx, br, &h));
    head_unref(h);
    return 0;
}

static int list_rows(struct ctx *cx, struct partition_row **rows, size_t *n)
{
    struct branch *br;
    struct page_in in = {.prefix = S(""), .limit = 1000};
    TRY(cat_branch_open(cx, f.cat, f.w, S("d"), S("t"), &br));
    int rc = turn(cx, br, turn_settle, NULL);
    if (rc == 0)
        rc = branch_partitions(cx, br, &in, rows, n);
    branch_unref(br);
    return rc;
}

static void row_is(const struct partition_row *r, int i)
{
    const struct part *p = &m.parts[i];
    const struct partition_delta *s = &r->sum;
    int64_t got[] = {s->records, s->file_size_bytes, s->file_count, s->last_file_ms, s->buckets};
    SAME(s->key, fx_text(&f, "dt=p%d", i));
    for (int k = 0; k < 5; k++)
        if (got[k] != p->n[k])
            fail_msg("partition %d, number %d: %lld, the model says %lld", i, k, (long long)got[k],
                     (long long)p->n[k]);
    assert_int_equal(r->done, p->done);
}

static void check(void)
{
    struct ctx cx;
    struct partition_row *rows = NULL;
    size_t n = 0, at = 0;
    bool known = model_known();
    fx_begin(&cx);
    int rc = list_rows(&cx, &rows, &n);
    m.lists++;
    if (!known) {
        m.unknown++;
        assert_int_equal(fx_end(&f, &cx, rc), E_UNSUPPORTED);
        return;
    }
    if (rc != 0)
        fail_msg("list: %s: %s", err_name(rc), cx.err.msg);
    model_fold();
    for (int i = PARTS - 1; i >= 0; i--)
        if (m.parts[i].there) {
            assert_true(at < n);
            row_is(&rows[at++], i);
        }
    assert_int_equal(at, n);
    assert_int_equal(fx_end(&f, &cx, rc), 0);
}

/* --- steps ------------------------------------------------------------------------------------ */

static const struct draft *head_draft(void)
{
    return m.head ? &m.live[m.head - 1] : NULL;
}

static void entry_in(struct fx_entry *e, int part)
{
    static const str names[] = {STR_LIT("dt")};
    str value = fx_text(&f, "p%d", part);
    fx_partition(&f.cx, names, &value, 1, e);
}

/* Adds a file or two to partition i, and deletes one. */
static void change_files(struct draft *d, int i, const struct fx_entry *live, size_t n_live,
                         struct fx_entry *e, struct told *t)
{
    struct fx_entry of = {0};
    uint64_t deletes = draw(3), adds = draw(3);
    entry_in(&of, i);
    size_t first = d->n_entries;
    for (size_t k = 0; k < n_live && deletes > 0; k++)
        if (str_eq(live[k].folder, of.folder) && draw(2)) {
            e[d->n_entries] = live[k];
            e[d->n_entries++].del = true;
            deletes--;
        }
    for (uint64_t k = 0; k < adds; k++) {
        struct fx_entry *new = &e[d->n_entries++];
        *new = of;
        new->name = fx_text(&f, "data-%d-%d-%d.orc", d->no, i, (int)k);
        new->rows = (int64_t)draw(12);
        new->size = (int64_t)draw(12);
        new->ms = (int64_t)draw(20);
        new->buckets = 1 + (int32_t)draw(20);
    }
    for (size_t k = first; k < d->n_entries; k++) {
        int64_t sign = e[k].del ? -1 : 1;
        t->named[i] = true;
        t->n[i][0] += sign * e[k].rows;
        t->n[i][1] += sign * e[k].size;
        t->n[i][2] += sign;
        t->n[i][3] = e[k].ms > t->n[i][3] ? e[k].ms : t->n[i][3];
        t->n[i][4] = e[k].buckets;
    }
}

/* A commit, and what it tells, which is what it does: an OVERWRITE, as these may change the number of
 * buckets. */
static struct draft draft_new(struct told *t)
{
    static struct fx_entry live[4 * LIVE_MAX];
    struct draft d = fx_next(&f, head_draft(), "u", true);
    size_t n_live = d.prev ? fx_live(&f, d.prev, live, sizeof live / sizeof *live) : 0;
    struct api_stat *s = ARENA_ARRAY(&f.cx.arena, struct api_stat, PARTS);
    struct fx_entry *e = ARENA_ARRAY(&f.cx.arena, struct fx_entry, (size_t)5 * PARTS);
    *t = (struct told){.any = draw(40) != 0};
    d.kind = "OVERWRITE";
    d.entries = e;
    d.delta = 0;
    while (d.n_entries == 0)
        for (int i = 0; i < PARTS; i++)
            if (draw(3) == 0)
                change_files(&d, i, live, n_live, e, t);
    for (int i = 0; i < PARTS; i++) {
        d.delta += t->n[i][0];
        if (t->named[i] && t->any)
            s[d.n_partitions++] =
                (struct api_stat){fx_json(&f, fx_text(&f, "{\"dt\":\"p%d\"}", i).p),
                                  t->n[i][0],
                                  t->n[i][1],
                                  t->n[i][2],
                                  t->n[i][3],
                                  t->n[i][4]};
    }
    d.total = (d.prev ? d.prev->total : 0) + d.delta;
    d.stats = (struct stat_delta){.known = t->any};
    d.partitions = s;
    return d;
}

static void step_commit(void)
{
    struct told t;
    struct draft d = draft_new(&t);
    assert_true(fx_answer(&f, "t", &d));
    model_push(&d, &t);
    m.commits++;
    if (draw(4) == 0)
        assert_true(fx_answer(&f, "t", &d)); /* again */
}

static void step_commits(void)
{
    for (uint64_t n = 1 + draw(6); n > 0; n--)
        step_commit();
}

static void step_replay(void)
{
    if (m.head)
        assert_true(fx_answer(&f, "t", &m.live[draw((uint64_t)m.head)]));
}

static void step_rollback(void)
{
    int back = 1 + (int)draw(3);
    if (m.head <= back)
        return;
    OK(&f, fx_rollback(&f, "t", m.head - back));
    model_back(m.head - back);
    m.back++;
}

static void step_foreign(void)
{
    if (draw(4))
        return;
    struct told t;
    struct draft d = draft_new(&t);
    fx_foreign(&f, "t", &d);
    model_push(&d, &(struct told){0});
    assert_int_equal(fx_head_id(&f, "t"), m.head);
}

/* The answer is "unknown" and the commit is there; the same process makes its record. */
static void step_record_fails(void)
{
    static const struct plan plans[] = {{.op = ST_commit_record, .code = E_IO},
                                        {.op = ST_commit_record, .code = E_UNKNOWN, .after = true}};
    struct told t;
    bool ok;
    struct draft d = draft_new(&t);
    fx_plan(&f, plans[draw(2)]);
    assert_int_equal(fx_commit(&f, "t", &d, &ok), E_UNKNOWN);
    fx_well(&f);
    model_push(&d, &t);
    m.commits++;
    assert_true(fx_answer(&f, "t", &d));
}

/* Dead during a commit. Was its record made? Then with what it told; else it is adopted, untold. */
static void step_die_in_commit(void)
{
    struct told t;
    bool ok;
    struct draft d = draft_new(&t);
    struct branch_row row;
    fx_files(&f, "t", &d);
    d.no_files = true;
    fx_die_at(&f, 1 + (long)draw(5));
    IGNORE(fx_commit(&f, "t", &d, &ok));
    fx_crash(&f, (f.kind & FX_MEM) && draw(2));
    assert_int_equal(STORE(f.st, branch_get, &f.cx, fx_row(&f, "t").id, S("main"), &row), 0);
    bool recorded = row.head.id == m.head + 1;
    if (fx_head_id(&f, "t") == m.head + 1)
        model_push(&d, recorded ? &t : &(struct told){0});
    m.deaths++;
}

static void step_die_in_list(void)
{
    struct ctx cx;
    struct partition_row *rows;
    size_t n;
    bool known = model_known();
    fx_begin(&cx);
    fx_die_at(&f, 1);
    int rc = list_rows(&cx, &rows, &n);
    IGNORE(fx_end(&f, &cx, rc));
    fx_crash(&f, false);
    if (known && rc == 0)
        model_fold();
    m.deaths++;
}

static void step_restart(void)
{
    fx_restart(&f);
}

struct change {
    char what;
    const struct json *specs;
    bool there[4];
};

static int turn_change(struct ctx *cx, struct branch *br, void *arg)
{
    struct change *ch = arg;
    struct partitions_create_in in = {.specs = ch->specs};
    if (ch->what == 'c')
        return branch_partitions_create(cx, br, &in, ch->there);
    if (ch->what == 'd')
        return branch_partitions_drop(cx, br, ch->specs, false, ch->there);
    return branch_partitions_mark(cx, br, ch->specs);
}

static void model_change(char what, int i, bool *ret_there)
{
    struct part *p = &m.parts[i];
    *ret_there = p->there;
    if (what == 'c' && !p->there)
        *p = (struct part){.there = true, .n = {-1, -1, -1, -1, -1}};
    else if (what == 'd')
        p->there = false;
    else if (what == 'm' && p->there)
        p->done = true;
}

static void step_change(void)
{
    int a = (int)draw(PARTS), b = (a + 1 + (int)draw(PARTS - 1)) % PARTS;
    struct change ch = {.what = "cccddm"[draw(6)]};
    struct ctx cx;
    bool there[2] = {false};
    ch.specs = fx_json(&f, fx_text(&f, "[{\"dt\":\"p%d\"},{\"dt\":\"p%d\"}]", a, b).p);
    bool known = model_known();
    fx_begin(&cx);
    int rc = fx_end(&f, &cx, turn_on(&cx, &f, "t", turn_change, &ch));
    assert_int_equal(rc, known ? 0 : E_UNSUPPORTED);
    if (!known)
        return;
    m.changes++;
    model_fold();
    model_change(ch.what, a, &there[0]);
    model_change(ch.what, b, &there[1]);
    for (int i = 0; i < 2 && ch.what != 'm'; i++)
        assert_int_equal(ch.there[i], there[i]);
}

/* A table whose totals are lost stays so: another life begins in it. */
static void anew(void)
{
    if (model_known() || draw(6))
        return;
    OK(&f, fx_drop(&f, "t"));
    OK(&f,
       fx_create_as(&f, "d", "t",
                    "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT\"},"
                    "{\"id\":1,\"name\":\"dt\",\"type\":\"STRING\"}],\"partitionKeys\":[\"dt\"],"
                    "\"primaryKeys\":[],\"options\":{\"metastore.partitioned-table\":\"true\"}}"));
    m.head = m.folded = 0;
    m.lost++;
    memset(m.parts, 0, sizeof m.parts);
}

static void step(void)
{
    static void (*const steps[])(void) = {
        step_commit,  step_commits, step_commits, step_commits,      step_replay,
        step_change,  step_change,  step_restart, step_record_fails, step_rollback,
        step_foreign, check,        check,        step_die_in_list};
    if (draw(60) == 0)
        step_die_in_commit();
    else
        steps[draw(sizeof steps / sizeof *steps)]();
    anew();
}

static void live(uint64_t seed, unsigned kind, int steps)
{
    print_message("seed %llu kind %u\n", (unsigned long long)seed, kind);
    memset(&m, 0, sizeof m);
    m.folded = -1;
    rng = seed * 2654435761u + 88172645463325252u;
    fx_new(&f, kind);
    fx_table(&f, "t");
    while (!model_known())
        anew();
    for (int i = 0; i < steps && m.head < LIVE_MAX - 20; i++)
        step();
    step_restart();
    check();
    print_message("  %d commits, %d lists, %d of them unknown, %d back, %d deaths, %d changes, "
                  "%d tables\n",
                  m.commits, m.lists, m.unknown, m.back, m.deaths, m.changes, m.lost);
    assert_true(m.lists > m.unknown);
    fx_done(&f);
}

static unsigned any_kind(void)
{
    return draw(4) ? FX_MEM : FX_MEM | FX_SQLITE;
}

int main(void)
{
    struct prop p = {live, any_kind, STEPS, 150};
    return prop_run(&p);
}
