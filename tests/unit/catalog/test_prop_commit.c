/* test_prop_commit.c - long random lives of one table beside a simple model of it.
 *
 * Several users commit with fresh and stale bases, with uuids and without, post old bodies again,
 * roll back; foreign writers leave files; the store and the disk fail, the process restarts and
 * dies. After each step: ids without a gap, the head is the model's byte for byte in memory, in the
 * store and on disk, and every answer is the one the model gives. What was acknowledged exists
 * exactly once until it is rolled back.
 *
 * The seed of each life is printed; PROP_SEED=n runs that one life, PROP_LIVES=n so many random
 * ones. */
#include "tests/unit/catalog/fixture.h"
#include "tests/unit/catalog/prop.h"

#define STEPS     300
#define LIVE_MAX  600
#define USERS     6
#define POSTS_MAX 2000

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

static struct {
    struct draft live[LIVE_MAX]; /* snapshots 1..head */
    int head;
    int64_t epoch;
    bool asked[USERS];             /* told once in this epoch to read again */
    struct draft posts[POSTS_MAX]; /* every body that was ever sent */
    int n_posts;
    int trues, falses, replays, refused, unknowns, rollbacks, adopted, crashes;
} m;

static const struct draft *model_head(void)
{
    return m.head ? &m.live[m.head - 1] : NULL;
}

static bool same_commit(const struct draft *a, const struct draft *b)
{
    if (a->uuid[0] || b->uuid[0])
        return strcmp(a->uuid, b->uuid) == 0;
    return strcmp(a->base, b->base) == 0 && strcmp(a->dlist, b->dlist) == 0 &&
           strcmp(a->user, b->user) == 0 && a->ident == b->ident;
}

static bool is_live(const struct draft *d)
{
    for (int i = 0; i < m.head; i++)
        if (same_commit(d, &m.live[i]))
            return true;
    return false;
}

static void push(const struct draft *d)
{
    assert_true(m.head < LIVE_MAX);
    assert_false(is_live(d)); /* exactly once */
    assert_int_equal(d->id, m.head + 1);
    m.live[m.head++] = *d;
}

/* The answer to a body whose files are there. Every body says truly what it was made on, by its files. */
enum said { FALSE, REPLAY, NEW, REFUSED };
static enum said expected(const struct draft *d)
{
    const struct draft *h = model_head();
    bool right, fits = fx_follows(d, h), *asked = &m.asked[d->user[1] - '0'];
    if (is_live(d))
        return REPLAY;
    if (d->has_base)
        right = h && h->uuid[0] && strcmp(d->base_uuid, h->uuid) == 0;
    else
        right = !h || !h->uuid[0] || !d->uuid[0];
    if (d->id != m.head + 1 || !right)
        return FALSE;
    if (fits)
        return NEW;
    if (!d->has_base && h && m.epoch > 0 && !*asked) {
        *asked = true;
        return FALSE;
    }
    return REFUSED;
}

static void forgotten_users(void)
{
    memset(m.asked, 0, sizeof m.asked);
}

/* --- looking at the real one ------------------------------------------------------------------ */

static void check(bool all)
{
    struct seen s;
    struct branch_row row;
    const struct draft *h = model_head();
    OK(&f, fx_head(&f, "t", &s));
    assert_int_equal(s.id, m.head);
    assert_int_equal(STORE(f.st, branch_get, &f.cx, fx_row(&f, "t").id, S("main"), &row), 0);
    assert_int_equal(row.head.id, m.head);
    assert_int_equal(row.epoch, m.epoch);
    assert_int_equal(row.open.id, 0);
    if (h) {
        SAME(s.json, fx_snapshot(&f, h));
        SAME(row.head.json, s.json);
        assert_int_equal(fx_peek(&f, "t", &s), PEEK_HEAD);
        assert_int_equal(s.id, m.head);
    }
    assert_int_equal(fx_counts(&f).forked, 0);
    assert_int_equal(fx_counts(&f).head_changed, 0);
    if (m.head)
        fx_snapshots_are(&f, "t", 1, m.head);
    for (int i = all ? 0 : m.head - 1; h && i < m.head; i++)
        SAME(fx_read(&f, fx_snapshot_path(&f, "t", i + 1)), fx_snapshot(&f, &m.live[i]));
}

/* --- steps ------------------------------------------------------------------------------------ */

static void note(const struct draft *d)
{
    if (m.n_posts < POSTS_MAX)
        m.posts[m.n_posts++] = *d;
}

static void post_it(const struct draft *d)
{
    bool got = false;
    note(d);
    enum said want = expected(d);
    int rc = fx_commit(&f, "t", d, &got);
    if (rc != (want == REFUSED ? E_CONFLICT : 0) || got != (want == NEW || want == REPLAY))
        fail_msg("snapshot %lld of %s answered %s, the model says %d: %s", (long long)d->id,
                 d->user, got ? "true" : "false", want, f.err.msg);
    if (want == REFUSED)
        if (!strstr(f.err.msg, "base list"))
            fail_msg("snapshot %lld is refused for another reason: %s", (long long)d->id,
                     f.err.msg);
    m.trues += want == NEW;
    m.falses += want == FALSE;
    m.replays += want == REPLAY;
    m.refused += want == REFUSED;
    if (want == NEW)
        push(d);
}

/* Users 0..2 are new clients, 3..5 are old ones, which send no uuid. */
static struct draft draft_on(const struct draft *base)
{
    char name[] = "u0";
    int u = (int)draw(USERS);
    name[1] = (char)('0' + u);
    struct draft d = fx_next(&f, base, name, u < 3);
    d.ident = draw(2) ? INT64_MAX : (int64_t)draw(1000);
    return d;
}

static void step_fresh(void)
{
    struct draft d = draft_on(model_head());
    post_it(&d);
}

static void step_stale(void)
{
    struct draft d = draft_on(m.head ? &m.live[draw((uint64_t)m.head)] : NULL);
    switch (draw(5)) {
    case 0:
        d.id = m.head + 1;
        d.total = (m.head ? model_head()->total : 0) + d.delta;
        break;
    case 1:
        rand_uuid(d.base_uuid);
        d.has_base = true;
        break;
    case 2:
        d.has_base = false;
        break;
    case 3: /* the head's number and uuid, other files */
        d.id = m.head + 1;
        d.has_base = m.head && model_head()->uuid[0];
        if (d.has_base)
            memcpy(d.base_uuid, model_head()->uuid, sizeof d.base_uuid);
        break;
    default:
        break;
    }
    post_it(&d);
}

static void step_replay(void)
{
    if (m.n_posts == 0)
        return;
    /* Mostly a recent one. */
    uint64_t span = draw(2) && m.n_posts > 10 ? 10 : (uint64_t)m.n_posts;
    struct draft d = m.posts[(uint64_t)m.n_posts - 1 - draw(span)];
    post_it(&d);
}

static void step_race(void) /* the same body twice, and a rival on the same base */
{
    struct draft d = draft_on(model_head()), rival = draft_on(model_head());
    post_it(&d);
    post_it(&d);
    post_it(&rival);
}

static void truncate_to(int64_t id)
{
    if (id == m.head)
        return;
    m.head = (int)id;
    m.epoch++;
    m.rollbacks++;
    forgotten_users();
}

static int64_t target(void)
{
    int64_t back = (int64_t)draw(draw(4) ? 4 : 30);
    return m.head - back < 1 ? 1 : m.head - back;
}

static void step_rollback(void)
{
    if (m.head == 0)
        return;
    int64_t id = target();
    OK(&f, fx_rollback(&f, "t", id));
    truncate_to(id);
}

static void step_restart(void)
{
    fx_restart(&f);
    forgotten_users();
}

static void step_foreign(void)
{
    for (uint64_t n = 1 + draw(3); n > 0; n--) {
        struct draft d = draft_on(model_head());
        fx_foreign(&f, "t", &d);
        note(&d);
        push(&d);
        m.adopted++;
    }
}

static void step_prune(void)
{
    struct ctx cx;
    fx_begin(&cx);
    clock_wall_shift_ms(90000000);
    OK(&f, fx_end(&f, &cx, catalog_prune(&cx, f.cat)));
    clock_wall_shift_ms(0);
}

static void step_evict(void)
{
    struct seen s;
    OK(&f, fx_head(&f, "x", &s));
    OK(&f, fx_head(&f, "y", &s));
    OK(&f, fx_head(&f, "x", &s));
    if (fx_peek(&f, "t", NULL) == PEEK_ASK) /* it was in memory until now */
        forgotten_users();
}

/* The answer is "unknown"; `made`: in fact it is there. */
static void step_unknown(void)
{
    static const struct plan plans[] = {{.op = ST_commit_record, .code = E_IO},
                                        {.op = ST_commit_record, .code = E_UNKNOWN, .after = true},
                                        {.op = IO_put_if_absent, .code = E_UNKNOWN, .after = true},
                                        {.op = IO_put_if_absent, .code = E_UNKNOWN}};
    uint64_t which = draw(4);
    bool ok = false;
    struct draft d = draft_on(model_head());
    enum said want = expected(&d);
    note(&d);
    fx_plan(&f, plans[which]);
    int rc = fx_commit(&f, "t", &d, &ok);
    fx_well(&f);
    if (want == FALSE) {
        assert_int_equal(rc, 0);
        assert_false(ok);
        return;
    }
    assert_int_equal(want, NEW); /* it was made on the head */
    assert_int_equal(rc, E_UNKNOWN);
    m.unknowns++;
    if (which != 3)
        push(&d);
    if (draw(3) == 0)
        step_restart();
    if (draw(2) == 0)
        post_it(&d);
}

/* The process dies in the middle of something. What is there afterwards is all or nothing. */
static void step_crash(void)
{
    bool ok = false, power = (f.kind & FX_MEM) && draw(2);
    struct draft d = draft_on(model_head());
    m.crashes++;
    if (m.head > 0 && draw(3) == 0) {
        int64_t to = target();
        fx_die_at(&f, 1 + (long)draw(12));
        int rc = fx_rollback(&f, "t", to);
        fx_crash(&f, power);
        int64_t now = fx_head_id(&f, "t");
        assert_true(now == to || (now == m.head && rc != 0));
        truncate_to(now);
    } else {
        enum said want = expected(&d);
        note(&d);
        fx_files(&f, "t", &d);
        d.no_files = true;
        fx_die_at(&f, 1 + (long)draw(6));
        int rc = fx_commit(&f, "t", &d, &ok);
        fx_crash(&f, power);
        int64_t now = fx_head_id(&f, "t");
        if (rc == 0)
            assert_int_equal(ok, want == NEW);
        if (now == m.head + 1) {
            assert_true(want == NEW && (rc == 0 || rc == E_UNKNOWN));
            push(&d);
        } else {
            assert_int_equal(now, m.head);
            assert_false(rc == 0 && ok);
        }
    }
    forgotten_users();
}

static void step(void)
{
    static void (*const steps[])(void) = {
        step_fresh,   step_fresh,  step_fresh,  step_fresh,   step_stale,    step_stale,
        step_replay,  step_replay, step_replay, step_race,    step_rollback, step_restart,
        step_foreign, step_prune,  step_evict,  step_unknown, step_crash};
    steps[draw(sizeof steps / sizeof *steps)]();
}

static void live(uint64_t seed, unsigned kind, int steps)
{
    print_message("seed %llu kind %u\n", (unsigned long long)seed, kind);
    memset(&m, 0, sizeof m);
    rng = seed * 2654435761u + 88172645463325252u;
    fx_init(&f, kind);
    f.o.tables_max = 1;
    OK(&f, fx_open(&f));
    fx_table(&f, "t");
    OK(&f, fx_create(&f, "x"));
    OK(&f, fx_create(&f, "y"));
    for (int i = 0; i < steps && m.head < LIVE_MAX - 10; i++) {
        step();
        check(i % 20 == 0);
    }
    check(true);
    for (int i = 0; i < m.head; i++) /* each of them is still known */
        assert_true(fx_answer(&f, "t", &m.live[i]));
    step_restart();
    check(true);
    print_message("  head %d, %d new, %d false, %d replayed, %d refused, %d unknown, %d back, "
                  "%d adopted, %d crashes\n",
                  m.head, m.trues, m.falses, m.replays, m.refused, m.unknowns, m.rollbacks,
                  m.adopted, m.crashes);
    fx_done(&f);
}

static unsigned any_kind(void)
{
    return FX_MEM;
}

int main(void)
{
    struct prop p = {live, any_kind, STEPS, 60};
    return prop_run(&p);
}
