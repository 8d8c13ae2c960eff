/* test_prop_partition.c - long random lives of a partitioned table beside a simple model of its totals.
 *
 * Commits, rollbacks, adoptions, creates, drops, marks, replays, restarts, deaths of the process and
 * failures of the store; listed at random moments, so that folding happens everywhere. The model is the
 * live files: it knows what each commit added and deleted, and after a rollback past what was folded
 * it counts what is left, as we must. After each list: exactly the model's rows; a partition that no
 * client ever dropped has exactly what its live files come to, and so has the branch.
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
    bool loose;   /* a client dropped it while it had files: its numbers are of what came after */
    int64_t n[5]; /* records, bytes, files, last file, buckets */
};
struct did { /* by one commit */
    bool named[PARTS];
    int64_t n[PARTS][5];
};
static struct {
    struct draft live[LIVE_MAX]; /* snapshots 1..head */
    struct did did[LIVE_MAX];
    int head, folded; /* folded < 0: not known, until they are counted */
    struct part parts[PARTS];
    int commits, lists, counted, back, deaths, changes, lives;
} m;

static void model_apply(const struct did *t)
{
    for (int i = 0; i < PARTS; i++) {
        struct part *p = &m.parts[i];
        if (!t->named[i])
            continue;
        if (!p->there)
            *p = (struct part){.loose = p->loose};
        for (int k = 0; k < 3; k++)
            p->n[k] = p->there && p->n[k] >= 0 ? p->n[k] + t->n[i][k] : t->n[i][k];
        p->n[3] = p->there && p->n[3] > t->n[i][3] ? p->n[3] : t->n[i][3];
        p->n[4] = t->n[i][4];
        p->there = p->n[0] > 0 || p->n[1] > 0 || p->n[2] > 0;
    }
}

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

static size_t live_files(const struct fx_entry **ret)
{
    static struct fx_entry live[4 * LIVE_MAX];
    *ret = live;
    return m.head ? fx_live(&f, head_draft(), live, sizeof live / sizeof *live) : 0;
}

/* What partition i has in live files. */
static struct part counted(int i)
{
    const struct fx_entry *e;
    struct fx_entry of = {0};
    struct part p = {0};
    size_t n = live_files(&e);
    entry_in(&of, i);
    for (size_t k = 0; k < n; k++) {
        if (!str_eq(e[k].folder, of.folder))
            continue;
        p.n[0] += e[k].rows;
        p.n[1] += e[k].size;
        p.n[2]++;
        p.n[3] = e[k].ms > p.n[3] ? e[k].ms : p.n[3];
        p.n[4] = !p.there || e[k].buckets > p.n[4] ? e[k].buckets : p.n[4];
        p.there = true;
    }
    return p;
}

/* What was registered and never measured stays. */
static void model_count(void)
{
    for (int i = 0; i < PARTS; i++) {
        struct part *p = &m.parts[i], c = counted(i);
        c.done = p->there && p->done;
        if (c.there || !(p->there && p->n[0] < 0 && p->n[1] < 0 && p->n[2] < 0))
            *p = c;
    }
    m.folded = m.head;
    m.counted++;
}

/* As whoever lists or changes them finds them. */
static void model_fold(void)
{
    if (m.folded < 0)
        model_count();
    for (; m.folded < m.head; m.folded++)
        model_apply(&m.did[m.folded]);
}

static void model_push(const struct draft *d, const struct did *t)
{
    assert_true(m.head < LIVE_MAX);
    m.live[m.head] = *d;
    m.did[m.head++] = *t;
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

struct listing {
    struct page_in page;
    struct partition_row *rows;
    size_t n;
};

static int turn_count(struct ctx *cx, struct branch *br, void *arg)
{
    struct listing *l = arg;
    TRY(branch_partitions_count(cx, br));
    int rc = branch_partitions(cx, br, &l->page, &l->rows, &l->n);
    assert_int_not_equal(rc, CAT_NEED);
    return rc;
}

static int list_rows(struct ctx *cx, struct partition_row **rows, size_t *n)
{
    struct branch *br;
    struct listing l = {.page = {.prefix = S(""), .limit = 1000}};
    TRY(cat_branch_open(cx, f.cat, f.w, S("d"), S("t"), &br));
    int rc = turn(cx, br, turn_settle, NULL);
    if (rc == 0)
        rc = branch_partitions(cx, br, &l.page, &l.rows, &l.n);
    if (rc == 0)
        assert_true(m.folded >= 0);
    if (rc == CAT_NEED) {
        assert_true(m.folded < 0);
        rc = turn(cx, br, turn_count, &l);
    }
    branch_unref(br);
    *rows = l.rows;
    *n = l.n;
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

/* The model itself, and the numbers of the branch. */
static void live_is_right(void)
{
    const struct fx_entry *e;
    size_t n = live_files(&e);
    int64_t bytes = 0;
    struct seen seen;
    for (size_t k = 0; k < n; k++)
        bytes += e[k].size;
    for (int i = 0; i < PARTS; i++) {
        const struct part *p = &m.parts[i], c = counted(i);
        if (p->loose)
            continue;
        for (int k = 0; k < 3; k++)
            assert_int_equal(p->there && p->n[k] > 0 ? p->n[k] : 0, c.n[k]);
    }
    OK(&f, fx_head(&f, "t", &seen));
    if (m.head == 0 || seen.totals.file_count == -1)
        return;
    assert_int_equal(seen.totals.file_count, n);
    assert_int_equal(seen.totals.file_size_bytes, bytes);
}

static void check(void)
{
    struct ctx cx;
    struct partition_row *rows = NULL;
    size_t n = 0, at = 0;
    fx_begin(&cx);
    int rc = list_rows(&cx, &rows, &n);
    m.lists++;
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
    live_is_right();
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Adds a file or two to partition i, and deletes one. */
static void change_files(struct draft *d, int i, const struct fx_entry *live, size_t n_live,
                         struct fx_entry *e, struct did *t)
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

/* A commit, and what it does: an OVERWRITE, as these may change the number of buckets. */
static struct draft draft_new(struct did *t)
{
    const struct fx_entry *live;
    size_t n_live = live_files(&live);
    struct draft d = fx_next(&f, head_draft(), "u", true);
    struct fx_entry *e = ARENA_ARRAY(&f.cx.arena, struct fx_entry, (size_t)5 * PARTS);
    *t = (struct did){0};
    d.kind = "OVERWRITE";
    d.entries = e;
    d.delta = 0;
    while (d.n_entries == 0)
        for (int i = 0; i < PARTS; i++)
            if (draw(3) == 0)
                change_files(&d, i, live, n_live, e, t);
    for (int i = 0; i < PARTS; i++)
        d.delta += t->n[i][0];
    d.total = (d.prev ? d.prev->total : 0) + d.delta;
    return d;
}

static void step_commit(void)
{
    struct did t;
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

/* A careful one: what it names is on disk before it is named. */
static void foreign_synced(const struct draft *d)
{
    size_t n;
    struct fx_file *file = fx_named(&f, d, &n);
    fx_files(&f, "t", d);
    for (size_t i = 0; i < n; i++) {
        str path = fx_text(&f, "%.*s/%.*s", STR(fx_dir(&f, "t")), STR(file[i].path));
        assert_int_equal(io_sync(f.io, &f.cx, &path, 1), 0);
    }
    fx_foreign(&f, "t", d);
}

static void step_foreign(void)
{
    if (draw(4))
        return;
    struct did t;
    struct draft d = draft_new(&t);
    foreign_synced(&d);
    model_push(&d, &t);
    assert_int_equal(fx_head_id(&f, "t"), m.head);
}

/* The answer is "unknown" and the commit is there; the same process makes its record. */
static void step_record_fails(void)
{
    static const struct plan plans[] = {{.op = ST_commit_record, .code = E_IO},
                                        {.op = ST_commit_record, .code = E_UNKNOWN, .after = true}};
    struct did t;
    bool ok;
    struct draft d = draft_new(&t);
    fx_plan(&f, plans[draw(2)]);
    assert_int_equal(fx_commit(&f, "t", &d, &ok), E_UNKNOWN);
    fx_well(&f);
    model_push(&d, &t);
    m.commits++;
    assert_true(fx_answer(&f, "t", &d));
}

/* Dead during a commit. Whether its record was made, or it is adopted: its files say what it did. */
static void step_die_in_commit(void)
{
    struct did t;
    bool ok;
    struct draft d = draft_new(&t);
    fx_files(&f, "t", &d);
    d.no_files = true;
    fx_die_at(&f, 1 + (long)draw(5));
    IGNORE(fx_commit(&f, "t", &d, &ok));
    fx_crash(&f, (f.kind & FX_MEM) && draw(2));
    if (fx_head_id(&f, "t") == m.head + 1)
        model_push(&d, &t);
    m.deaths++;
}

static bool store_knows(void)
{
    struct store_partitions_in in = {
        .table_id = fx_row(&f, "t").id, .branch = S("main"), .prefix = S(""), .limit = 1};
    struct partition_row *rows;
    size_t n;
    int rc = STORE(f.st, partitions_list, &f.cx, &in, &rows, &n);
    ctx_reset_err(&f.cx);
    return rc == 0;
}

static void step_die_in_list(void)
{
    struct ctx cx;
    struct partition_row *rows;
    size_t n;
    fx_begin(&cx);
    fx_die_at(&f, m.folded < 0 ? 1 + (long)draw(3) : 1);
    int rc = list_rows(&cx, &rows, &n);
    IGNORE(fx_end(&f, &cx, rc));
    fx_crash(&f, false);
    if (rc == 0 || (m.folded < 0 && store_knows()))
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
        *p = (struct part){.there = true, .loose = p->loose, .n = {-1, -1, -1, -1, -1}};
    else if (what == 'd')
        *p = (struct part){.loose = p->loose || counted(i).there};
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
    fx_begin(&cx);
    OK(&f, fx_end(&f, &cx, turn_on(&cx, &f, "t", turn_change, &ch)));
    m.changes++;
    model_fold();
    model_change(ch.what, a, &there[0]);
    model_change(ch.what, b, &there[1]);
    for (int i = 0; i < 2 && ch.what != 'm'; i++)
        assert_int_equal(ch.there[i], there[i]);
}

/* Another life begins in a table of the same name. */
static void anew(void)
{
    OK(&f, fx_drop(&f, "t"));
    OK(&f,
       fx_create_as(&f, "d", "t",
                    "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT\"},"
                    "{\"id\":1,\"name\":\"dt\",\"type\":\"STRING\"}],\"partitionKeys\":[\"dt\"],"
                    "\"primaryKeys\":[],\"options\":{\"metastore.partitioned-table\":\"true\"}}"));
    m.head = m.folded = 0;
    m.lives++;
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
    if (draw(150) == 0)
        anew();
}

static void live(uint64_t seed, unsigned kind, int steps)
{
    print_message("seed %llu kind %u\n", (unsigned long long)seed, kind);
    memset(&m, 0, sizeof m);
    rng = seed * 2654435761u + 88172645463325252u;
    fx_new(&f, kind);
    fx_table(&f, "t");
    anew();
    for (int i = 0; i < steps && m.head < LIVE_MAX - 20; i++)
        step();
    step_restart();
    check();
    print_message("  %d commits, %d lists, %d times counted, %d back, %d deaths, %d changes, "
                  "%d tables\n",
                  m.commits, m.lists, m.counted, m.back, m.deaths, m.changes, m.lives);
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
