/* judge_fixture.h - a partitioned table whose commits are judged by their files, and what must hold of it
 * at any time: what was refused left nothing behind, and a state in memory is what its files say.
 *
 * Table t: partition dt, key (dt, k), 4 buckets. Snapshot 1 adds a and b to partition p, c and x to q;
 * snapshot 2 moves c to level 5 and deletes x. A table whose state does not fit has more: FILLERS files in
 * partition z, of one byte. Included once by each test program, in place of fixture.h. */
#ifndef LATCH_TESTS_UNIT_CATALOG_JUDGE_FIXTURE_H
#define LATCH_TESTS_UNIT_CATALOG_JUDGE_FIXTURE_H

#include "tests/unit/catalog/fixture.h"

#define PARTITIONED                                                                                \
    "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT NOT NULL\"},"                            \
    "{\"id\":1,\"name\":\"dt\",\"type\":\"STRING NOT NULL\"},"                                     \
    "{\"id\":2,\"name\":\"v\",\"type\":\"STRING\"}],\"partitionKeys\":[\"dt\"],"                   \
    "\"primaryKeys\":[\"dt\",\"k\"],\"options\":{\"bucket\":\"4\"},\"comment\":\"\"}"

#define FILLERS  300
#define LIVE_MAX 4000
static struct fx f;
static size_t fillers; /* that the table has */

/* Its state is in memory and goes forward; it is read anew before each commit; it fits in none. */
enum mode { WARM, COLD, STREAM };

FN struct fx_entry file_in(const char *dt, const char *name)
{
    static const str names[] = {{"dt", 2}};
    str value = str_of(dt);
    struct fx_entry e = {.rows = 10, .size = 100, .buckets = 4, .ms = 1000};
    fx_partition(&f.cx, names, &value, 1, &e);
    e.name = fx_text(&f, "%s", name);
    return e;
}

FN struct fx_entry del(struct fx_entry e)
{
    e.del = true;
    return e;
}

FN struct fx_entry level(struct fx_entry e, int32_t n)
{
    e.level = n;
    return e;
}

/* A commit on prev of these entries. */
FN struct draft commit_of(const struct draft *prev, const char *kind, const struct fx_entry *e,
                          size_t n)
{
    struct draft d = fx_next(&f, prev, "u", true);
    struct fx_entry *own = ARENA_ARRAY(&f.cx.arena, struct fx_entry, n + 1);
    assert_non_null(own);
    d.kind = kind;
    d.delta = d.total = 0;
    for (size_t i = 0; i < n; i++) {
        own[i] = e[i];
        d.delta += e[i].del ? -e[i].rows : e[i].rows;
    }
    d.total = (prev ? prev->total : 0) + d.delta;
    d.entries = own;
    d.n_entries = n;
    return d;
}
#define COMMIT(prev, kind, ...)                                                                    \
    commit_of((prev), (kind), (struct fx_entry[]){__VA_ARGS__},                                    \
              sizeof((struct fx_entry[]){__VA_ARGS__}) / sizeof(struct fx_entry))

/* One more file, as a well behaved client adds it. */
FN struct draft good(const struct draft *prev)
{
    return COMMIT(prev, "APPEND", file_in("p", fx_text(&f, "new-%d", f.seq).p));
}

FN str in_manifest(str name)
{
    return layout_manifest(&f.cx.arena, fx_dir(&f, "t"), name);
}

/* One manifest of all that is live, in place of those that the head has. */
FN struct draft merged(const struct draft *h, const char *name, size_t leave_out)
{
    static struct fx_entry live[LIVE_MAX];
    struct draft d = good(h);
    struct manifest_file *m = ARENA_NEW(&f.cx.arena, struct manifest_file);
    size_t n = fx_live(&f, h, live, LIVE_MAX);
    str bytes = manifest_of(&f.cx, live, n - leave_out, str_of(name), m);
    fx_write(&f, in_manifest(str_of(name)), bytes);
    d.own_base = true;
    d.bases = m;
    d.n_bases = 1;
    return d;
}

FN void take(const char *object, struct draft *head, struct draft d)
{
    assert_true(fx_answer(&f, object, &d));
    *head = d;
}

FN void two_snapshots(const char *object, struct draft *head)
{
    struct fx_entry c = file_in("q", "c"), x = file_in("q", "x"), first[FILLERS + 4];
    size_t n = 0;
    first[n++] = file_in("p", "a");
    first[n++] = file_in("p", "b");
    first[n++] = c;
    first[n++] = x;
    for (size_t i = 0; i < fillers; i++) {
        first[n] = file_in("z", fx_text(&f, "filler-%d", (int)i).p);
        first[n++].size = 1;
    }
    take(object, head, commit_of(NULL, "APPEND", first, n));
    take(object, head, COMMIT(head, "COMPACT", del(c), level(c, 5), del(x)));
}

/* After fx_init. */
FN void table_in(enum mode mode, struct draft *head)
{
    fillers = mode == STREAM ? FILLERS : 0;
    if (mode == STREAM)
        f.o.state_table_max = 24 << 10;
    OK(&f, fx_open(&f));
    OK(&f, fx_db(&f, "d"));
    OK(&f, fx_create_as(&f, "d", "t", PARTITIONED));
    *head = (struct draft){0};
    f.seq = 100; /* so that no name of a manifest begins another's */
    two_snapshots("t", head);
}

FN void judged_table(unsigned kind, enum mode mode, struct draft *head)
{
    fx_init(&f, kind);
    table_in(mode, head);
}

/* --- what must hold --------------------------------------------------------------------------- */

/* All that a commit may change, as one text: snapshot files, the head, the store's row, the hint. */
FN str everything(const char *object)
{
    struct buf b = {0};
    struct seen s;
    struct branch_row row;
    struct io_entry *e;
    size_t n;
    str dir = fx_dir(&f, object);
    OK(&f, fx_head(&f, object, &s));
    assert_int_equal(STORE(f.st, branch_get, &f.cx, fx_row(&f, object).id, S("main"), &row), 0);
    buf_addf(&b, "%.*s\n%lld %.*s %lld %lld %lld %lld\n", STR(s.body), (long long)row.head.id,
             STR(row.head.json), (long long)row.head.totals.file_count,
             (long long)row.head.totals.file_size_bytes, (long long)row.epoch,
             (long long)row.open.id);
    str snapshots = layout_snapshot_dir(&f.cx.arena, dir, S("main"));
    assert_int_equal(io_list(f.io, &f.cx, snapshots, &e, &n), 0);
    for (size_t i = 0; i < n; i++)
        buf_addf(&b, "%.*s: %.*s\n", STR(e[i].name),
                 STR(fx_read(&f, fx_text(&f, "%.*s/%.*s", STR(snapshots), STR(e[i].name)))));
    assert_int_equal(fx_intents(&f), 0);
    str all = str_dup(&f.cx.arena, buf_str(&b));
    assert_int_equal(buf_fail(&b), 0);
    buf_done(&b);
    return all;
}

struct state_seen {
    bool there, equal;
    uint64_t at, head;
    struct buf diff;
};

static int state_anew(struct ctx *cx, struct branch *br, struct table_state **ret)
{
    struct snapshot s;
    struct meta_dir dir = {f.io, str_of(br->table->dir)};
    struct state_opts roomy = *state_options(br->state); /* it may be at the very limit */
    roomy.max_bytes = (size_t)1 << 30;
    if (br->head)
        TRY(snapshot_decode_file(cx, br->head->json, S("head"), &s));
    return state_load(cx, &dir, br->head ? &s : NULL, &roomy, ret);
}

/* On the strand, to which the state belongs: an eviction may be under way. No catch-up. */
static int turn_state(struct ctx *cx, struct branch *br, void *arg)
{
    struct state_seen *seen = arg;
    struct table_state *st;
    *seen = (struct state_seen){.there = br->state != NULL,
                                .at = atomic_load(&br->state_text),
                                .head = head_text(br->head)};
    if (!br->state)
        return 0;
    TRY(state_anew(cx, br, &st));
    seen->equal = state_equal(br->state, st) && !state_broken(br->state);
    int rc = state_diff(cx, br->state, st, 10, &seen->diff);
    state_free(st);
    return rc;
}

/* A state in memory is that of its head, and what its files say. Gives back whether there is one. */
FN bool state_is_right(const char *object)
{
    struct ctx cx;
    struct state_seen seen = {0};
    fx_begin(&cx);
    OK(&f, fx_end(&f, &cx, turn_on(&cx, &f, object, turn_state, &seen)));
    if (seen.there && !seen.equal)
        fail_msg("the state is not what the files say:\n%.*s", STR(buf_str(&seen.diff)));
    buf_done(&seen.diff);
    assert_int_equal(seen.at, seen.there ? seen.head : 0);
    return seen.there;
}

static char said[sizeof((struct err_rec *)0)->msg];

/* Refused for this reason: nothing is left behind, and the same again gets the same answer. */
FN void refused(const char *object, const struct draft *d, const char *code, const char *part)
{
    bool ok = true;
    str before = everything(object);
    struct cat_counts had = fx_counts(&f);
    FAILS(&f, E_CONFLICT, RES_TABLE, part, fx_commit(&f, object, d, &ok));
    if (strncmp(f.err.msg, code, strlen(code)) != 0 || f.err.msg[strlen(code)] != ':')
        fail_msg("refused by another rule than %s: %s", code, f.err.msg);
    if (!strstr(f.err.msg, "nothing was committed"))
        fail_msg("it does not say that nothing was committed: %s", f.err.msg);
    memcpy(said, f.err.msg, sizeof said);
    SAME(everything(object), before);
    FAILS(&f, E_CONFLICT, RES_TABLE, part, fx_commit(&f, object, d, &ok));
    assert_string_equal(f.err.msg, said);
    SAME(everything(object), before);
    struct cat_counts has = fx_counts(&f);
    assert_int_equal(has.commits_refused, had.commits_refused + 2);
    assert_int_equal(has.commits_true, had.commits_true);
    assert_int_equal(has.commits_false, had.commits_false);
    state_is_right(object);
}

#endif
