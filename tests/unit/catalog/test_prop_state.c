/* test_prop_state.c - random lives of a table against a naive model: every commit is taken, the state
 * that went forward by it equals a fresh load and the model; commits that were broken on the way are
 * refused. What a state of one commit's files says of a commit, right or wrong, is what the whole one
 * says. Now and then the state is put into a checkpoint and goes on as what comes out of it.
 *
 * PROP_SEED=n runs that one life, PROP_LIVES=n so many random ones. */
#include "catalog/conflict.h"
#include "catalog/state_ckpt.h"
#include "tests/unit/catalog/state_fixture.h"

#include <stdlib.h>

#include "proto/base/rand.h"

#define FILES_MAX 4096
#define STEPS     60

static uint64_t rng;

static unsigned any(unsigned n) /* 0..n-1 */
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (unsigned)(rng >> 20) % n;
}

static bool chance(unsigned percent)
{
    return any(100) < percent;
}

/* --- the model -------------------------------------------------------------------------------- */

struct mfile {
    struct manifest_entry e; /* its ADD */
    bool live;
    int64_t snapshot;
};
struct mmanifest {
    struct manifest_file meta;
    struct manifest_entry *e;
    size_t n;
};
struct model {
    struct mfile *files;
    size_t n_files;
    struct mmanifest *head; /* base and delta */
    size_t n_head;
    struct index_entry index[8];
    size_t n_index;
    str index_name;
    int64_t id;
    const struct snapshot *snapshot; /* of the head; NULL: none */
    int32_t total[4];                /* buckets of each partition */
};

static struct mmanifest written(const struct manifest_entry *e, size_t n)
{
    struct mmanifest m = {.e = ARENA_ARRAY(&cx.arena, struct manifest_entry, n + 1), .n = n};
    memcpy(m.e, e, n * sizeof *e);
    m.meta = put_manifest(e, n);
    return m;
}

/* --- a commit --------------------------------------------------------------------------------- */

struct commit {
    enum commit_kind kind;
    struct manifest_entry *e;
    size_t n;
    struct mmanifest *base;
    size_t n_base;
};

static void delete_file(struct commit *c, struct mfile *f)
{
    c->e[c->n] = f->e;
    c->e[c->n].kind = FILE_DELETE;
    if (chance(10)) /* as of a writer who goes by the table's bucket count, not the file's */
        c->e[c->n].total_buckets = 16;
    c->n++;
    f->live = false;
}

static struct mfile *new_file(struct model *m, struct commit *c, int part, int bucket, int level)
{
    struct mfile *f = &m->files[m->n_files];
    char id[UUID_LEN + 1];
    rand_uuid(id);
    str name = chance(80) ? text("data-%s-%u.parquet", id, any(20)) : text("f-%zu", m->n_files);
    f->e = entry_of(FILE_ADD, int_row(part), bucket, level, name);
    f->e.total_buckets = m->total[part];
    f->e.file.size = any(1u << 20);
    f->e.file.row_count = any(1000);
    f->e.file.min_seq = (int64_t)any(100000);
    f->e.file.max_seq = f->e.file.min_seq + any(1000);
    f->e.file.embedded_index = chance(10) ? text("%0100d", (int)any(1000)) : STR_NONE;
    if (chance(10))
        OK(avro_list_of_strs(&cx, &(str){"x.index", 7}, 1, &f->e.file.extra_files));
    f->live = true;
    f->snapshot = m->id + 1;
    m->n_files++;
    c->e[c->n++] = f->e;
    return f;
}

static void append(struct model *m, struct commit *c)
{
    c->kind = COMMIT_APPEND;
    for (unsigned n = 1 + any(6); n-- > 0;)
        new_file(m, c, (int)any(4), (int)any(3), 0);
}

/* Some files of a bucket become one, or move up. DELETEs first, as writers do it. */
static void compact(struct model *m, struct commit *c)
{
    int part = (int)any(4), bucket = (int)any(3);
    struct mfile *up[FILES_MAX];
    size_t n_up = 0, gone = 0;
    str row = int_row(part);
    c->kind = COMMIT_COMPACT;
    for (size_t i = 0; i < m->n_files; i++) {
        struct mfile *f = &m->files[i];
        if (!f->live || f->e.bucket != bucket || !str_eq(f->e.partition, row) || chance(40))
            continue;
        delete_file(c, f);
        if (f->e.file.level < 5 && chance(30))
            up[n_up++] = f;
        else
            gone++;
    }
    for (size_t i = 0; i < n_up; i++) {
        up[i]->e.file.level += 1 + (int)any(4);
        up[i]->live = true;
        up[i]->snapshot = m->id + 1;
        c->e[c->n++] = up[i]->e;
    }
    if (gone)
        new_file(m, c, part, bucket, 5);
}

static void overwrite(struct model *m, struct commit *c)
{
    int part = (int)any(4);
    str row = int_row(part);
    c->kind = COMMIT_OVERWRITE;
    for (size_t i = 0; i < m->n_files; i++)
        if (m->files[i].live && str_eq(m->files[i].e.partition, row))
            delete_file(c, &m->files[i]);
    m->total[part] = 4 << any(3);
    for (unsigned n = any(4); n-- > 0;)
        new_file(m, c, part, (int)any(3), 0);
}

/* --- base lists ------------------------------------------------------------------------------- */

static bool cancels(const struct manifest_entry *a, const struct manifest_entry *b)
{
    return a->kind != b->kind && manifest_entry_same(a, b, false);
}

/* The entries of some manifests, those that cancel taken out. */
static struct mmanifest merged(const struct mmanifest *m, size_t n)
{
    size_t total = 0, k = 0;
    for (size_t i = 0; i < n; i++)
        total += m[i].n;
    struct manifest_entry *e = ARENA_ARRAY(&cx.arena, struct manifest_entry, total + 1);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m[i].n; j++) {
            size_t at = 0;
            while (at < k && !cancels(&e[at], &m[i].e[j]))
                at++;
            if (at == k)
                e[k++] = m[i].e[j];
            else
                memmove(&e[at], &e[at + 1], (--k - at) * sizeof *e);
        }
    return written(e, k);
}

static void base_of(struct model *m, struct commit *c)
{
    c->base = ARENA_ARRAY(&cx.arena, struct mmanifest, m->n_head + 2);
    c->n_base = 0;
    size_t from = 0, n = 0;
    if (m->n_head > 1 && (chance(30) || m->n_head > 40)) {
        from = chance(40) ? 0 : any((unsigned)m->n_head);
        n = from == 0 && chance(40) ? m->n_head : 1 + any((unsigned)(m->n_head - from));
    }
    for (size_t i = 0; i < m->n_head;)
        if (n && i == from) {
            c->base[c->n_base++] = merged(&m->head[i], n);
            i += n;
        } else {
            c->base[c->n_base++] = m->head[i++];
        }
}

static struct lists metas(const struct mmanifest *m, size_t n)
{
    struct lists l = {0};
    for (size_t i = 0; i < n; i++)
        l = lists_with(l, &m[i].meta, 1);
    return l;
}

/* --- index manifests -------------------------------------------------------------------------- */

static void new_index(struct model *m)
{
    m->n_index = any(5);
    for (size_t i = 0; i < m->n_index; i++) {
        struct index_entry *x = &m->index[i];
        size_t n = any(6), k = 0;
        struct index_dv *r = ARENA_ARRAY(&cx.arena, struct index_dv, n + 1);
        for (size_t j = 0; j < n && m->n_files; j++)
            r[k++] = (struct index_dv){m->files[any((unsigned)m->n_files)].e.file.name,
                                       (int32_t)any(1000),
                                       (int32_t)any(1000),
                                       {chance(80), 0}};
        bool hash = chance(30);
        *x = (struct index_entry){.partition = int_row(any(4)),
                                  .bucket = (int32_t)any(3),
                                  .type = str_of(hash ? INDEX_TYPE_HASH : INDEX_TYPE_DV),
                                  .name = text("index-%d", serial++),
                                  .size = any(1000),
                                  .row_count = (int64_t)k};
        if (!hash)
            x->dv = (struct index_dvs){true, k, r};
    }
    m->index_name = m->n_index || chance(50) ? put_index(m->index, m->n_index) : STR_NONE;
}

/* --- judging ---------------------------------------------------------------------------------- */

static enum verdict_kind judge(const struct table_state *st, struct commit_facts *f,
                               struct verdict *ret)
{
    static const str names[] = {{"p", 1}};
    const struct conflict_rules rules = {
        .verify = VERIFY_SIZE, .partition_names = names, .naming = {STR_LIT("null"), true}};
    struct file_evidence *files = ARENA_ARRAY(&cx.arena, struct file_evidence, f->n_entries + 1);
    enum schema_seen schemas[] = {SCHEMA_THERE};
    struct conflict_evidence ev = {.files = files, .schemas = schemas};
    for (size_t i = 0; i < f->n_entries; i++)
        files[i] = (struct file_evidence){FILE_THERE, f->entries[i].f.size, STR_NONE};
    OK(conflict_check(&cx, st, f, &rules, &ev, ret));
    if (ret->kind == VERDICT_NEED) {
        assert_true(ret->need.n_manifests > 0 && !ret->need.files && !ret->need.index);
        OK(facts_read_base(&cx, f, ret->need.manifests, ret->need.n_manifests));
        OK(conflict_check(&cx, st, f, &rules, &ev, ret));
    }
    return ret->kind;
}

static struct snapshot posted(struct model *m, const struct commit *c)
{
    size_t cut = c->n > 2 && chance(30) ? 1 + any((unsigned)c->n - 1) : c->n;
    struct mmanifest d[2] = {written(c->e, cut)};
    size_t n = 1;
    if (cut < c->n)
        d[n++] = written(c->e + cut, c->n - cut);
    struct snapshot s = snapshot_of(m->id + 1, metas(c->base, c->n_base), metas(d, n));
    s.commit_kind = c->kind;
    s.index_manifest = m->index_name;
    m->head = ARENA_ARRAY(&cx.arena, struct mmanifest, c->n_base + n);
    memcpy(m->head, c->base, c->n_base * sizeof *c->base);
    memcpy(m->head + c->n_base, d, n * sizeof *d);
    m->n_head = c->n_base + n;
    return s;
}

/* By a whole state and by one of its files only; both know what is on disk and no more. */
static void judged_alike(const struct model *m, const struct snapshot *s)
{
    struct table_state *whole = load(m->snapshot), *part = NULL;
    struct commit_facts *f = facts_of(s, whole), *g = facts_of(s, whole);
    struct verdict v, w;
    if (chance(30))
        read_unknown(g, whole);
    OK(state_load_for(&cx, &dir, m->snapshot, &state_opts, g, &part));
    assert_true(state_partial(part) == (m->snapshot != NULL) && state_serves(part, g));
    assert_true(judge(whole, f, &v) == judge(part, g, &w));
    if (v.kind == VERDICT_REFUSE &&
        (v.refusal.code != w.refusal.code || !str_eq(v.refusal.message, w.refusal.message)))
        fail_msg("whole: %.*s\npart: %.*s", STR(v.refusal.message), STR(w.refusal.message));
    struct state_info a = state_info(whole), b = state_info(part);
    assert_true(a.files == b.files && a.rows == b.rows && a.size_bytes == b.size_bytes);
    assert_true(a.live_sum == b.live_sum && a.left_over == b.left_over);
    assert_true(a.manifests == b.manifests && a.snapshot_id == b.snapshot_id);
    facts_free(f);
    facts_free(g);
    state_free(part);
    state_free(whole);
}

/* One entry of it is changed; whether it is still right is not said. */
static void spoil(struct model *m, struct commit *c)
{
    struct mfile *f = m->n_files ? &m->files[any((unsigned)m->n_files)] : NULL;
    size_t at = c->n ? any((unsigned)c->n) : 0;
    switch (any(8)) {
    case 0: /* an old file, live or not, goes or comes */
    case 1:
        if (!f)
            return;
        c->e[c->n] = f->e;
        c->e[c->n++].kind = chance(50) ? FILE_ADD : FILE_DELETE;
        return;
    case 2:
        if (f)
            c->e[c->n++] = entry_of(FILE_ADD, f->e.partition, f->e.bucket, 0, f->e.file.name);
        return;
    case 3:
        c->e[c->n++] = entry_of(FILE_ADD, int_row(any(4)), 0, 0, text("new-%d", serial++));
        c->e[c->n - 1].total_buckets = 1 << any(5);
        return;
    case 4:
        if (c->n)
            c->e[at].file.level += 1;
        return;
    case 5:
        if (c->n)
            c->e[at].total_buckets = 7;
        return;
    case 6:
        if (c->n)
            c->e[c->n++] = c->e[at];
        return;
    default:
        if (c->n)
            c->e[at].file.name = text("other-%d", serial++);
    }
}

static struct snapshot posted(struct model *m, const struct commit *c);

static void spoiled_is_judged_alike(const struct model *m, const struct commit *right)
{
    struct commit c = *right;
    struct model scratch = *m;
    c.e = ARENA_ARRAY(&cx.arena, struct manifest_entry, FILES_MAX * 2);
    memcpy(c.e, right->e, right->n * sizeof *c.e);
    for (unsigned n = any(4); n-- > 0;)
        spoil(&scratch, &c);
    struct snapshot s = posted(&scratch, &c);
    judged_alike(m, &s);
}

/* The same commit with a base list or an entry that is wrong in one place. */
static void broken_is_refused(const struct model *m, const struct table_state *st,
                              const struct commit *right)
{
    struct commit c = *right;
    struct verdict v;
    struct model scratch = {.id = state_info(st).snapshot_id,
                            .index_name = index_set_name(state_index(st))};
    c.base = ARENA_ARRAY(&cx.arena, struct mmanifest, c.n_base + 1);
    memcpy(c.base, right->base, c.n_base * sizeof *c.base);
    size_t at = c.n_base ? any((unsigned)c.n_base) : 0;
    if (c.n_base == 0 || c.base[at].n == 0)
        return;
    struct mmanifest less = c.base[at];
    switch (any(4)) {
    case 0: /* leaves one entry out */
        c.base[at] = written(less.e + 1, less.n - 1);
        break;
    case 1: /* leaves a manifest out */
        if (merged(&less, 1).n == 0)
            return;
        memmove(&c.base[at], &c.base[at + 1], (--c.n_base - at) * sizeof *c.base);
        break;
    case 2: /* names one twice */
        if (merged(&less, 1).n == 0)
            return;
        c.base[c.n_base++] = less;
        break;
    default: /* another level in one entry */
        less.e = written(less.e, less.n).e;
        less.e[0].file.level += 7;
        c.base[at] = written(less.e, less.n);
    }
    struct snapshot s = posted(&scratch, &c);
    struct commit_facts *f = facts_of(&s, st);
    if (judge(st, f, &v) != VERDICT_REFUSE || v.refusal.code != CONFLICT_MANIFEST_BAD)
        fail_msg("a broken base list was taken");
    facts_free(f);
    judged_alike(m, &s);
}

static void like_the_model(const struct model *m, struct table_state *st)
{
    size_t live = 0;
    struct state_view v;
    for (size_t i = 0; i < m->n_files; i++) {
        const struct mfile *f = &m->files[i];
        bool found = state_find_name(st, f->e.partition, f->e.bucket, f->e.file.name, &v);
        assert_true(found == f->live);
        if (!found)
            continue;
        live++;
        assert_true(v.f.level == f->e.file.level && v.f.size == f->e.file.size &&
                    v.f.rows == f->e.file.row_count && v.f.max_seq == f->e.file.max_seq);
        assert_true(v.f.snapshot == f->snapshot);
        assert_true(str_eq(v.f.user, text("user-%d", (int)(f->snapshot % 3))));
    }
    assert_int_equal(state_info(st).files, live);
    assert_int_equal(state_info(st).left_over, 0);
    assert_int_equal(index_set_files(state_index(st)), m->index_name.p ? m->n_index : 0);
}

static void same_gone(const struct model *m, const struct table_state *a,
                      const struct table_state *b)
{
    struct state_gone x, y;
    for (size_t i = 0; i < m->n_files; i++) {
        const struct manifest_entry *e = &m->files[i].e;
        bool known = state_find_gone(a, e->partition, e->bucket, e->file.name, &x);
        assert_true(known == state_find_gone(b, e->partition, e->bucket, e->file.name, &y));
        assert_true(!known || (x.snapshot == y.snapshot && str_eq(x.user, y.user)));
    }
}

static void through_a_checkpoint(const struct model *m, struct table_state **st)
{
    struct buf b;
    struct ckpt_head h;
    struct table_state *back = NULL;
    buf_init(&b, (size_t)1 << 24);
    OK(state_save(&cx, *st, m->id * 3, (uint64_t)m->id, &b));
    OK(state_restore(&cx, buf_str(&b), &state_opts, &h, &back));
    assert_true(h.epoch == m->id * 3 && h.snapshot_id == m->id && h.text_hash == (uint64_t)m->id);
    same_state(*st, back);
    like_the_model(m, back);
    same_gone(m, *st, back);
    buf_done(&b);
    state_free(*st);
    *st = back;
}

static void step(struct model *m, struct table_state *st)
{
    struct commit c = {.e = ARENA_ARRAY(&cx.arena, struct manifest_entry, FILES_MAX * 2)};
    struct verdict v;
    unsigned what = any(10);
    if (what < 5)
        append(m, &c);
    else if (what < 8)
        compact(m, &c);
    else if (what < 9)
        overwrite(m, &c);
    else
        c.kind = COMMIT_ANALYZE;
    base_of(m, &c);
    if (chance(60))
        broken_is_refused(m, st, &c);
    if (chance(60))
        spoiled_is_judged_alike(m, &c);
    if (chance(25))
        new_index(m);
    struct snapshot s = posted(m, &c);
    struct commit_facts *f = facts_of(&s, st);
    if (judge(st, f, &v) != VERDICT_OK)
        fail_msg("refused: %.*s", STR(v.refusal.message));
    judged_alike(m, &s);
    OK(state_apply(&cx, st, f));
    facts_free(f);
    m->id++;
    struct snapshot *head = ARENA_NEW(&cx.arena, struct snapshot);
    *head = s;
    m->snapshot = head;
    struct table_state *fresh = load(&s);
    same_state(st, fresh);
    state_free(fresh);
    like_the_model(m, st);
}

static void live(uint64_t seed)
{
    struct model m = {.files = ARENA_ARRAY(&cx.arena, struct mfile, FILES_MAX),
                      .index_name = STR_NONE,
                      .total = {4, 4, 4, 4}};
    struct table_state *st = load(NULL);
    print_message("PROP_SEED=%llu\n", (unsigned long long)seed);
    rng = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < STEPS; i++) {
        step(&m, st);
        if (chance(20))
            through_a_checkpoint(&m, &st);
    }
    state_free(st);
}

static void one_life(uint64_t seed)
{
    void *none = NULL;
    setup(&none);
    live(seed);
    teardown(&none);
}

static void test_lives(void **state)
{
    (void)state;
    const char *seed = getenv("PROP_SEED"), *many = getenv("PROP_LIVES");
    int64_t n = 0;
    if (seed && str_to_i64(str_of(seed), &n)) {
        one_life((uint64_t)n);
        return;
    }
    if (many && str_to_i64(str_of(many), &n)) {
        while (n-- > 0)
            one_life(rand_u64() >> 20);
        return;
    }
    for (uint64_t s = 1; s <= 5; s++)
        one_life(s);
    one_life(rand_u64() >> 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lives)};
    state_opts.partition = &INT_ROW;
    state_opts.gone_max = 50;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
