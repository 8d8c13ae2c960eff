/* test_conflict.c - every integrity rule refuses what it should and takes its neighbour. */
#include "catalog/file_evidence.h"
#include "tests/unit/catalog/state_fixture.h"

#include "proto/base/clock.h"

#define PART int_row(7)

/* The table of all cases: in bucket 0 of partition 7, a (level 0), b (level 0), c (level 5, moved there
 * from level 0 by snapshot 2), all for 4 buckets; x was there and is gone. */
static struct lists head; /* of snapshot 2 */
static struct manifest_file m_base, m_delta;
static struct table_state *st;
static struct conflict_rules rules;
static struct conflict_evidence evidence;
static struct verdict v;
static bool see_files, see_schemas;
static bool reads_all; /* also manifests that the state knows, if they are asked for */
static size_t asked_for;
static struct file_evidence seen; /* of every file */

static struct manifest_entry file(int kind, const char *name, int32_t level)
{
    return entry_of(kind, PART, 0, level, str_of(name));
}
#define ADD(name, level) file(FILE_ADD, name, level)
#define DEL(name, level) file(FILE_DELETE, name, level)

static int setup_table(void **state)
{
    static const str names[] = {{"dt", 2}};
    static const str roots[] = {{"/srv/out", 8}};
    setup(state);
    struct manifest_entry base[] = {ADD("a", 0), ADD("b", 0), ADD("c", 0), ADD("x", 0)};
    struct manifest_entry delta[] = {DEL("c", 0), ADD("c", 5), DEL("x", 0)};
    m_base = put_manifest(base, N(base));
    m_delta = put_manifest(delta, N(delta));
    struct snapshot s = snapshot_of(2, (struct lists){&m_base, 1}, (struct lists){&m_delta, 1});
    state_opts.gone_max = 100;
    st = load(&s);
    head = lists_with((struct lists){&m_base, 1}, &m_delta, 1);
    rules = (struct conflict_rules){.verify = VERIFY_SIZE,
                                    .partition_names = names,
                                    .naming = {STR_LIT("__DEFAULT_PARTITION__"), true},
                                    .roots = roots,
                                    .n_roots = 1};
    evidence = (struct conflict_evidence){0};
    see_files = see_schemas = true;
    reads_all = false;
    seen = (struct file_evidence){.seen = FILE_THERE, .size = 1000};
    return 0;
}

static int teardown_table(void **state)
{
    state_free(st);
    return teardown(state);
}

static void judge_facts(const struct commit_facts *f)
{
    struct file_evidence *files = ARENA_ARRAY(&cx.arena, struct file_evidence, f->n_entries + 1);
    enum schema_seen *schemas = ARENA_ARRAY(&cx.arena, enum schema_seen, f->n_schema_ids + 1);
    for (size_t i = 0; i < f->n_entries; i++)
        files[i] = seen;
    for (size_t i = 0; i < f->n_schema_ids; i++)
        schemas[i] = f->schema_ids[i] < 3 ? SCHEMA_THERE : SCHEMA_ABSENT;
    evidence.files = see_files ? files : NULL;
    evidence.schemas = see_schemas ? schemas : NULL;
    OK(conflict_check(&cx, st, f, &rules, &evidence, &v));
}

/* A commit of these entries onto the head's lists, or onto `base`. */
static struct commit_facts *commit_on(struct lists base, enum commit_kind kind, int64_t schema,
                                      const struct manifest_entry *e, size_t n)
{
    struct manifest_file m = put_manifest(e, n);
    struct snapshot s = snapshot_of(3, base, (struct lists){&m, 1});
    s.commit_kind = kind;
    s.schema_id = schema;
    return facts_of(&s, st);
}

static void judge_on(struct lists base, enum commit_kind kind, const struct manifest_entry *e,
                     size_t n)
{
    struct commit_facts *f = commit_on(base, kind, 0, e, n);
    read_unknown(f, st);
    judge_facts(f);
    if (reads_all && v.kind == VERDICT_NEED) {
        asked_for = v.need.n_manifests;
        OK(facts_read_base(&cx, f, v.need.manifests, v.need.n_manifests));
        judge_facts(f);
    }
    if (v.kind == VERDICT_REFUSE) { /* what it says must outlive the facts for the test */
        v.refusal.file = v.refusal.file.p ? str_dup(&cx.arena, v.refusal.file) : STR_NONE;
    }
    facts_free(f);
}
#define JUDGE(kind, ...)                                                                           \
    judge_on(head, kind, (struct manifest_entry[]){__VA_ARGS__},                                   \
             N(((struct manifest_entry[]){__VA_ARGS__})))

/* A snapshot is kept that has what the commit of these entries ends with, and `beyond` in its manifests. */
static void keep_one(uint64_t beyond, const struct manifest_entry *e, size_t n)
{
    static uint64_t sums[3];
    struct table_filer filer;
    struct table_file f;
    sums[1] = state_info(st).live_sum + beyond;
    OK(table_filer_init(&cx, &filer, state_opts.partition, state_opts.row_ids));
    for (size_t i = 0; i < n; i++) {
        OK(table_file_of(&cx, &filer, &e[i], &f));
        sums[1] += e[i].kind == FILE_ADD ? f.id : -f.id;
    }
    sums[0] = sums[1] + 1;
    sums[2] = sums[1] - 1;
    table_filer_done(&filer);
    evidence.restore = (struct restore_sums){.known = true, .v = sums, .n = 3};
}
#define KEEP(...)                                                                                  \
    keep_one(0, (struct manifest_entry[]){__VA_ARGS__}, N(((struct manifest_entry[]){__VA_ARGS__})))

static void wants_restore(bool files)
{
    assert_int_equal(v.kind, VERDICT_NEED);
    assert_true(v.need.restore && v.need.files == files);
    assert_true(!v.need.schemas && !v.need.index && !v.need.n_manifests);
}

static void accepted(void)
{
    if (v.kind != VERDICT_OK)
        fail_msg("%d: %.*s", v.kind, STR(v.refusal.message));
}

static void refused(const char *word, const char *file_name, const char *because)
{
    if (v.kind != VERDICT_REFUSE)
        fail_msg("not refused (%d); wanted %s", v.kind, because);
    const struct refusal *r = &v.refusal;
    char begin[64];
    int n = snprintf(begin, sizeof begin, "%s: ", word);
    assert_string_equal(conflict_word(r->code), word);
    assert_true(str_starts(r->message, str_n(begin, (size_t)n)));
    if (!strstr(r->message.p, because) || !strstr(r->message.p, "nothing was committed"))
        fail_msg("%.*s; wanted ..%s..", STR(r->message), because);
    if (file_name) {
        assert_true(str_eqz(r->file, file_name));
        assert_true(str_eqz(r->partition, "dt=7"));
        assert_int_equal(r->bucket, 0);
        assert_non_null(strstr(r->message.p, "partition dt=7, bucket 0: "));
    } else {
        assert_null(r->file.p);
        assert_null(r->partition.p);
    }
}

static void test_what_is_right(void **state)
{
    (void)state;
    JUDGE(COMMIT_APPEND, ADD("n", 0));
    accepted();
    JUDGE(COMMIT_COMPACT, DEL("a", 0), DEL("b", 0), ADD("n", 5));
    accepted();
    JUDGE(COMMIT_COMPACT, DEL("a", 0), ADD("a", 5));
    accepted();
    JUDGE(COMMIT_OVERWRITE, DEL("a", 0), DEL("b", 0), DEL("c", 5));
    accepted();
    judge_on(head, COMMIT_ANALYZE, NULL, 0);
    accepted();
}

static void test_file_gone(void **state)
{
    (void)state;
    JUDGE(COMMIT_COMPACT, DEL("x", 0), ADD("n", 5));
    refused("file-gone", "x", "\"x\" (level 0), which is no longer live in snapshot 2");
    JUDGE(COMMIT_COMPACT, DEL("never", 0));
    refused("file-gone", "never", "no longer live");
    JUDGE(COMMIT_COMPACT, DEL("c", 0), ADD("n", 5));
    refused("file-gone", "c",
            "another commit has moved it to level 5 (snapshot 2 of commit user "
            "\"user-2\")");
    assert_int_equal(v.refusal.other_snapshot, 2);
    assert_true(str_eqz(v.refusal.other_user, "user-2"));
    JUDGE(COMMIT_COMPACT, DEL("a", 0), DEL("a", 0));
    refused("file-gone", "a", "it deletes \"a\" twice");
    struct manifest_entry other_bucket = DEL("a", 0), other_part = DEL("a", 0), extra = DEL("a", 0);
    other_bucket.bucket = 1;
    other_part.partition = int_row(8);
    JUDGE(COMMIT_COMPACT, other_bucket);
    assert_int_equal(v.refusal.code, CONFLICT_FILE_GONE);
    assert_int_equal(v.refusal.bucket, 1);
    JUDGE(COMMIT_COMPACT, other_part);
    assert_true(str_eqz(v.refusal.partition, "dt=8"));
    OK(avro_list_of_strs(&cx, &(str){"i", 1}, 1, &extra.file.extra_files));
    JUDGE(COMMIT_COMPACT, extra);
    refused("file-gone", "a", "with other extra files");
    JUDGE(COMMIT_COMPACT, DEL("c", 5), ADD("n", 5));
    accepted();
}

static str many(char c, int n)
{
    char *z = memset(arena_alloc(&cx.arena, (size_t)n + 1), c, (size_t)n);
    return str_n(z, (size_t)n);
}

/* An error record is no longer than this, and what to do stands at the end. */
static void whole_message(const char *end)
{
    str m = v.refusal.message;
    assert_int_equal(v.kind, VERDICT_REFUSE);
    if (m.len >= sizeof cx.err.msg || !str_ends(m, str_of(end)))
        fail_msg("%zu bytes: %.*s", m.len, STR(m));
    assert_true(v.refusal.what.p == m.p &&
                str_starts(str_cut(m, v.refusal.what.len), str_of("; ")));
}

static void test_long_names_leave_room_for_what_to_do(void **state)
{
    (void)state;
    struct manifest_entry e = ADD("a", 0), live = ADD("a", 0);
    e.file.name = live.file.name = many('n', 255);
    live.file.level = 3;
    m_delta = put_manifest(&live, 1);
    struct snapshot s = snapshot_of(2, (struct lists){&m_base, 1}, (struct lists){&m_delta, 1});
    s.commit_user = many('u', 1000);
    state_free(st);
    st = load(&s);
    head = lists_with((struct lists){&m_base, 1}, &m_delta, 1);
    JUDGE(COMMIT_APPEND, e);
    whole_message("; nothing was committed: write the data under new file names and commit those");
    refused("file-twice", e.file.name.p, "nnn...nnn");
    assert_non_null(strstr(v.refusal.message.p, "which is live already at level 3 (snapshot 2 of"));
    assert_non_null(strstr(v.refusal.message.p, "uuu...uuu"));
    e.kind = FILE_DELETE;
    JUDGE(COMMIT_APPEND, e);
    whole_message("; nothing was committed: read the latest snapshot and do this again from there");
    assert_non_null(strstr(v.refusal.message.p, "has moved it to level 3 (snapshot 2 of"));
    e = ADD("e", 0);
    e.file.external_path = many('/', 3000);
    JUDGE(COMMIT_APPEND, e);
    whole_message("or ask the administrator to add the path to warehouse.external-roots");
    JUDGE(COMMIT_COMPACT, ADD("o", 0), DEL("o", 0));
    assert_int_equal(v.refusal.code, CONFLICT_MANIFEST_BAD);
    whole_message("; nothing was committed: write the metadata of this commit again");
    judge_on((struct lists){0}, COMMIT_APPEND, NULL, 0);
    whole_message("; nothing was committed: read the latest snapshot and do this again from there");
}

static void test_file_twice(void **state)
{
    (void)state;
    struct manifest_entry bigger = ADD("a", 5), elsewhere = ADD("a", 0);
    JUDGE(COMMIT_APPEND, ADD("a", 0));
    refused("file-twice", "a", "live already at level 0");
    JUDGE(COMMIT_APPEND, ADD("c", 0)); /* another level is the same file on disk */
    refused("file-twice", "c", "live already at level 5 (snapshot 2 of commit user \"user-2\")");
    JUDGE(COMMIT_APPEND, ADD("n", 0), ADD("n", 0));
    refused("file-twice", "n", "it adds \"n\" twice");
    JUDGE(COMMIT_APPEND, ADD("n", 0), ADD("n", 3));
    refused("file-twice", "n", "it adds \"n\" twice");
    JUDGE(COMMIT_OVERWRITE, DEL("a", 0), ADD("a", 0));
    refused("file-twice", "a", "adds it again at the same level");
    bigger.file.size = 1001;
    JUDGE(COMMIT_COMPACT, DEL("a", 0), bigger);
    refused("file-twice", "a", "with another size");
    elsewhere.bucket = 1;
    JUDGE(COMMIT_APPEND, elsewhere); /* a name counts within its bucket */
    accepted();
    JUDGE(COMMIT_APPEND,
          ADD("x", 0)); /* gone before: the manifests say so, and the delta list who */
    refused("file-twice", "x", "deleted since (snapshot 2 of commit user \"user-2\")");
    reads_all = true;
    JUDGE(COMMIT_COMPACT, DEL("c", 5), ADD("c", 0)); /* it was moved away from there */
    assert_int_equal(asked_for, 1);                  /* of two manifests one deletes */
    refused("file-twice", "c", "it adds \"c\" at level 0 again, but the manifest ");
}

/* Snapshot 3 replaces a and moves b: a state that saw it knows. */
static void test_what_was_seen_to_go(void **state)
{
    (void)state;
    struct manifest_entry e[] = {DEL("a", 0), DEL("b", 0), ADD("b", 5), ADD("n", 5)};
    struct manifest_file m = put_manifest(e, N(e));
    struct snapshot s = snapshot_of(3, head, (struct lists){&m, 1});
    struct commit_facts *f = facts_of(&s, st);
    OK(state_apply(&cx, st, f));
    facts_free(f);
    head = lists_with(head, &m, 1);
    JUDGE(COMMIT_COMPACT, DEL("a", 0));
    refused("file-gone", "a",
            "no longer live in snapshot 3: another commit has replaced or deleted "
            "it since this writer read the table (snapshot 3 of commit user "
            "\"user-0\")");
    JUDGE(COMMIT_APPEND, ADD("a", 0));
    refused("file-twice", "a",
            "which was committed before and has been replaced or deleted since "
            "(snapshot 3 of commit user \"user-0\")");
    JUDGE(COMMIT_COMPACT, DEL("b", 5), ADD("b", 4)); /* moving is not deleting */
    accepted();
    struct state_gone g;
    assert_true(state_find_gone(st, PART, 0, STR_LIT("a"), &g));
    assert_false(state_find_gone(st, PART, 0, STR_LIT("b"), &g));
    state_forget_gone(st, 3);
    JUDGE(COMMIT_APPEND, ADD("a", 0));
    accepted();
}

/* Snapshot 3 replaces a; an overwrite that brings it back must end with what is kept. */
static void test_restores(void **state)
{
    (void)state;
    struct manifest_entry e[] = {DEL("a", 0), ADD("n", 5)};
    struct manifest_file m = put_manifest(e, N(e));
    struct snapshot s = snapshot_of(3, head, (struct lists){&m, 1});
    struct commit_facts *f = facts_of(&s, st);
    OK(state_apply(&cx, st, f));
    facts_free(f);
    struct lists as_it_is = lists_with(head, &m, 1);
    struct manifest_entry live[] = {ADD("b", 0), ADD("c", 5), ADD("n", 5)};
    struct manifest_file merged = put_manifest(live, N(live)); /* as Paimon does it */
    head = (struct lists){&merged, 1};
    JUDGE(COMMIT_OVERWRITE, DEL("n", 5), ADD("a", 0));
    wants_restore(false);
    evidence.restore.known = true;
    JUDGE(COMMIT_OVERWRITE, DEL("n", 5), ADD("a", 0));
    refused("file-twice", "a", "which was committed before");
    KEEP(DEL("n", 5));
    JUDGE(COMMIT_OVERWRITE, DEL("n", 5), ADD("a", 0));
    refused("file-twice", "a", "which was committed before");
    KEEP(DEL("n", 5), ADD("a", 0));
    JUDGE(COMMIT_OVERWRITE, DEL("n", 5), ADD("a", 0));
    accepted();
    JUDGE(COMMIT_OVERWRITE, DEL("n", 5), ADD("a", 0), ADD("o", 0));
    refused("file-twice", "a", "which was committed before");
    JUDGE(COMMIT_APPEND, DEL("n", 5), ADD("a", 0)); /* of no other kind */
    refused("file-twice", "a", "which was committed before");
    /* readers take it for deleted as long as a manifest says so */
    head = as_it_is;
    reads_all = true;
    JUDGE(COMMIT_OVERWRITE, DEL("n", 5), ADD("a", 0));
    assert_int_equal(asked_for, 2);
    refused("file-twice", "a", "it adds \"a\" at level 0 again, but the manifest ");
    /* nobody looks what a foreign one may restore */
    head = (struct lists){&merged, 1};
    evidence.restore = (struct restore_sums){.known = true, .assumed = true};
    JUDGE(COMMIT_OVERWRITE, DEL("n", 5), ADD("a", 0), ADD("o", 0));
    accepted();
    JUDGE(COMMIT_APPEND, DEL("n", 5), ADD("a", 0));
    refused("file-twice", "a", "which was committed before");
    /* what is wrong with any commit is wrong with a restore */
    KEEP(DEL("n", 5), ADD("b", 0));
    JUDGE(COMMIT_OVERWRITE, DEL("n", 5), ADD("b", 0));
    refused("file-twice", "b", "live already");
}

/* A table with a deletion of nothing: what is kept comes to it as well. */
static void test_restore_of_a_table_that_was_wrong(void **state)
{
    (void)state;
    struct manifest_entry more = DEL("never", 0);
    struct manifest_file m = put_manifest(&more, 1);
    head = lists_with(head, &m, 1);
    struct snapshot s = snapshot_of(2, head, (struct lists){0});
    state_free(st);
    st = load(&s);
    uint64_t beyond = state_info(st).left_over;
    assert_int_not_equal(beyond, 0);
    seen.seen = FILE_MISSING;
    struct manifest_entry back = ADD("n", 0);
    for (uint64_t i = 0; i < 3; i++) {
        keep_one(i * beyond, &back, 1);
        JUDGE(COMMIT_OVERWRITE, ADD("n", 0));
        if (i < 2)
            accepted();
        else
            refused("file-missing", "n", "which is not there");
    }
}

static void test_files_there(void **state)
{
    (void)state;
    seen.seen = FILE_MISSING;
    JUDGE(COMMIT_APPEND, ADD("n", 0));
    refused("file-missing", "n", "which is not there");
    JUDGE(COMMIT_COMPACT, DEL("a", 0), ADD("a", 5)); /* moved, not added */
    accepted();
    JUDGE(COMMIT_COMPACT, DEL("a", 0));
    accepted();
    JUDGE(COMMIT_OVERWRITE, ADD("n", 0));
    wants_restore(false);
    KEEP(ADD("n", 0));
    JUDGE(COMMIT_OVERWRITE, ADD("n", 0));
    accepted();
    see_files = false; /* then nobody looks */
    JUDGE(COMMIT_OVERWRITE, ADD("n", 0));
    accepted();
    JUDGE(COMMIT_OVERWRITE, ADD("m", 0));
    assert_true(v.kind == VERDICT_NEED && v.need.files && !v.need.restore);
    evidence.restore = (struct restore_sums){0}; /* files first: most overwrites are no restores */
    JUDGE(COMMIT_OVERWRITE, ADD("n", 0));
    assert_true(v.kind == VERDICT_NEED && v.need.files && !v.need.restore);
    see_files = true;
    rules.verify = VERIFY_OFF;
    JUDGE(COMMIT_APPEND, ADD("n", 0));
    accepted();
    rules.verify = VERIFY_EXISTS;
    JUDGE(COMMIT_APPEND, ADD("n", 0));
    refused("file-missing", "n", "which is not there");
    seen = (struct file_evidence){.seen = FILE_THERE, .size = 999};
    JUDGE(COMMIT_APPEND, ADD("n", 0));
    accepted();
    rules.verify = VERIFY_SIZE;
    JUDGE(COMMIT_APPEND, ADD("n", 0));
    refused("file-bad", "n", "with 1000 bytes, but the file has 999");
    seen = (struct file_evidence){.seen = FILE_UNREADABLE, .why = STR_LIT("Permission denied")};
    JUDGE(COMMIT_APPEND, ADD("n", 0));
    refused("file-bad", "n", "cannot be read: Permission denied");
}

static bool external_io(void *arg, str path, struct io **ret_io, str *ret_path)
{
    (void)arg;
    if (!str_starts(path, STR_LIT("/srv/out/")))
        return false;
    *ret_io = io;
    *ret_path = str_cut(path, 5);
    return true;
}

static void test_evidence_is_gathered(void **state)
{
    (void)state;
    static const str names[] = {{"dt", 2}};
    const struct file_layout l = {DIR, STR_NONE, names, rules.naming},
                             l2 = {DIR, STR_LIT("data"), names, rules.naming};
    static const char *const there[] = {"t/dt=7/bucket-0/n", "t/dt=7/bucket-0/dir/x",
                                        "t/dt=7/bucket-postpone/p", "out/far",
                                        "t/data/dt=__DEFAULT_PARTITION__/bucket-3/q"};
    struct manifest_entry postpone = ADD("p", 0), far = ADD("far", 0), farther = ADD("x", 0),
                          null = ADD("q", 0);
    struct file_evidence *got = NULL;
    struct buf row = {0};
    struct binrow_value none = {.tag = BV_NULL};
    binrow_write(&row, &INT_ROW, &none);
    postpone.bucket = -2;
    null.bucket = 3;
    null.partition = buf_str(&row);
    far.file.external_path = STR_LIT("file:/srv/out/far");
    farther.file.external_path = STR_LIT("/srv/in/x");
    for (size_t i = 0; i < N(there); i++) {
        str path = str_of(there[i]);
        size_t end = path.len;
        while (path.p[end - 1] != '/')
            end--;
        OK(io_mkdirs(io, &cx, str_n(path.p, end - 1)));
        OK(io_write(io, &cx, path, STR_LIT("12345"), false));
    }
    struct manifest_entry e[] = {ADD("n", 0), ADD("dir", 0), ADD("gone", 0), postpone,
                                 far,         farther,       DEL("a", 0),    ADD("a", 5),
                                 null,        ADD("../n", 0)};
    struct commit_facts *f = commit_on(head, COMMIT_APPEND, 0, e, N(e));
    OK(file_evidence_gather(&cx, f, &rules, &l, external_io, NULL, &got));
    assert_true(got[0].seen == FILE_THERE && got[0].size == 5);
    assert_true(got[1].seen == FILE_UNREADABLE && strstr(got[1].why.p, "directory"));
    assert_true(got[2].seen == FILE_MISSING);
    assert_true(got[3].seen == FILE_THERE && got[4].seen == FILE_THERE);
    assert_true(got[5].seen == FILE_UNREADABLE);
    assert_true(got[6].seen == FILE_UNSEEN && got[7].seen == FILE_UNSEEN);
    assert_true(got[8].seen == FILE_MISSING); /* it is below data/ */
    assert_true(got[9].seen == FILE_UNREADABLE);
    OK(file_evidence_gather(&cx, f, &rules, &l2, NULL, NULL, &got));
    assert_true(got[8].seen == FILE_THERE && got[0].seen == FILE_MISSING);
    facts_free(f);
    buf_done(&row);
}

static void test_path_outside(void **state)
{
    (void)state;
    static const struct {
        const char *name, *external;
        bool ok;
    } cases[] = {
        {"n", NULL, true},
        {"../n", NULL, false},
        {"..", NULL, false},
        {"a/n", NULL, false},
        {"n", "file:/srv/out/n", true},
        {"n", "/srv/out/d/n", true},
        {"n", "/srv/outer/n", false},
        {"n", "/srv/out/../x/n", false},
        {"n", "s3://bucket/n", false},
        {"n", "", false},
    };
    for (size_t i = 0; i < N(cases); i++) {
        struct manifest_entry e = ADD(cases[i].name, 0);
        e.file.external_path = str_of(cases[i].external);
        JUDGE(COMMIT_APPEND, e);
        if (cases[i].ok)
            accepted();
        else
            refused("path-outside", cases[i].name, cases[i].external ? "external path" : "no name");
    }
    struct manifest_entry e = ADD("n", 0);
    OK(avro_list_of_strs(&cx, &(str){"../i", 4}, 1, &e.file.extra_files));
    JUDGE(COMMIT_APPEND, e);
    refused("path-outside", "n", "\"../i\" is no name");
}

static void test_delta_order(void **state)
{
    (void)state;
    JUDGE(COMMIT_COMPACT, ADD("a", 5), DEL("a", 0));
    refused("manifest-bad", "a", "before it deletes it");
    JUDGE(COMMIT_COMPACT, DEL("a", 0), ADD("a", 5), DEL("a", 5));
    refused("manifest-bad", "a", "before it deletes it");
    JUDGE(COMMIT_COMPACT, ADD("n", 5), DEL("a", 0)); /* other names in any order */
    accepted();
}

/* What base lists may leave out and must take in again. m_base: +a +b +c +x; m_delta: -c +c5 -x. */
static void test_base_list(void **state)
{
    (void)state;
    struct manifest_entry live[] = {ADD("a", 0), ADD("b", 0), ADD("c", 5)};
    struct manifest_entry half[] = {ADD("a", 0)}, other_half[] = {ADD("b", 0), ADD("c", 5)};
    struct manifest_entry delta_again[] = {DEL("c", 0), DEL("x", 0), ADD("c", 5)};
    struct manifest_entry no_del_x[] = {DEL("c", 0), ADD("c", 5)};
    struct manifest_entry base_again[] = {ADD("x", 0), ADD("c", 0), ADD("b", 0), ADD("a", 0)};
    struct manifest_entry none_of_x[] = {ADD("c", 0), ADD("b", 0), ADD("a", 0)};
    struct manifest_entry lost[] = {ADD("a", 0), ADD("c", 5)};
    struct manifest_entry ghost[] = {ADD("a", 0), ADD("b", 0), ADD("c", 5), ADD("ghost", 0)};
    struct manifest_entry back[] = {ADD("a", 0), ADD("b", 0), ADD("c", 5), ADD("x", 0)};
    struct manifest_entry wrong_level[] = {ADD("a", 0), ADD("b", 0), ADD("c", 0)};
    struct manifest_entry twice[] = {ADD("a", 0), ADD("a", 0), ADD("b", 0), ADD("c", 5)};
    struct manifest_entry kills[] = {DEL("a", 0), ADD("a", 0), ADD("a", 0), ADD("b", 0),
                                     ADD("c", 5)};
#define M(e) put_manifest(e, N(e))
    const struct {
        struct manifest_file m[3];
        size_t n;
        const char *because; /* NULL: right */
    } cases[] = {
        {{m_base, m_delta}, 2, NULL},
        {{m_delta, m_base}, 2, NULL},               /* order does not matter */
        {{M(live)}, 1, NULL},                       /* fully merged */
        {{M(half), M(other_half)}, 2, NULL},        /* in two */
        {{m_base, M(delta_again)}, 2, NULL},        /* the outstanding DELETEs are kept */
        {{M(base_again), m_delta}, 2, NULL},        /* so are the ADDs they wait for */
        {{M(base_again), M(delta_again)}, 2, NULL}, /* all new, not cancelled */
        {{m_base}, 1, "does not come to the live files of snapshot 2: 4 files"},
        {{m_base, M(no_del_x)}, 2, "does not come"},   /* x would be back */
        {{M(none_of_x), m_delta}, 2, "does not come"}, /* a DELETE waits for nothing */
        {{M(lost)}, 1, "2 files when its manifests' entries are added up, 3 are live"},
        {{M(ghost)}, 1, "does not come"},
        {{M(back)}, 1, "does not come"},
        {{M(wrong_level)}, 1, "does not come"},
        {{M(twice)}, 1, "does not come"},
        {{m_base, m_base, m_delta}, 3, "does not come"},
        {{m_base, m_delta, M(half)}, 3, "does not come"},
        {{m_base, M(live)}, 2, "does not come"},
        {{M(kills)}, 1, "of the base list deletes \"a\", which is live"},
        {{m_base}, 0, "is empty, but 3 data files are live"},
    };
    struct manifest_entry n = ADD("n", 0);
    for (size_t i = 0; i < N(cases); i++) {
        struct lists base = lists_with((struct lists){0}, cases[i].m, cases[i].n);
        judge_on(base, COMMIT_APPEND, &n, 1);
        if (cases[i].because)
            refused("manifest-bad", i == 18 ? "a" : NULL, cases[i].because);
        else
            accepted();
    }
    struct manifest_file liar = m_base;
    liar.size++;
    struct lists base = lists_with(lists_with((struct lists){0}, &liar, 1), &m_delta, 1);
    judge_on(base, COMMIT_APPEND, &n, 1);
    refused("manifest-bad", NULL, "says something else of the manifest");
}

static void test_an_empty_base_of_an_empty_table(void **state)
{
    (void)state;
    struct manifest_entry n = ADD("n", 0), never = ADD("never", 0);
    struct manifest_file m = put_manifest(&never, 1);
    struct table_state *full = st;
    st = load(NULL);
    judge_on((struct lists){0}, COMMIT_APPEND, &n, 1);
    accepted();
    judge_on((struct lists){&m, 1}, COMMIT_APPEND, &n, 1);
    refused("manifest-bad", NULL, "1 files when its manifests' entries are added up, 0 are live");
    state_free(st);
    st = full;
}

/* A table that came to us with a DELETE of nothing goes on: its writers keep it, or merge it away. */
static void test_what_was_wrong_before(void **state)
{
    (void)state;
    struct manifest_entry base[] = {ADD("a", 0), DEL("never", 0)}, clean = ADD("a", 0),
                          n = ADD("n", 0), other = DEL("other", 0);
    struct manifest_file m[] = {put_manifest(base, 2), put_manifest(&clean, 1),
                                put_manifest(&other, 1)};
    struct snapshot s = snapshot_of(2, (struct lists){&m[0], 1}, (struct lists){0});
    state_free(st);
    st = load(&s);
    assert_true(state_info(st).left_over != 0);
    judge_on((struct lists){&m[0], 1}, COMMIT_APPEND, &n, 1);
    accepted();
    judge_on((struct lists){&m[1], 1}, COMMIT_APPEND, &n, 1);
    accepted();
    judge_on((struct lists){&m[1], 2}, COMMIT_APPEND, &n, 1);
    refused("manifest-bad", NULL, "does not come");
}

/* What was merged away is not known any more: naming it again asks for its entries. */
static void test_a_manifest_of_before(void **state)
{
    (void)state;
    struct manifest_entry live[] = {ADD("a", 0), ADD("b", 0), ADD("c", 5)}, n = ADD("n", 0);
    struct manifest_file merged = put_manifest(live, 3), m = put_manifest(&n, 1);
    struct snapshot s = snapshot_of(3, (struct lists){&merged, 1}, (struct lists){&m, 1});
    struct commit_facts *f = facts_of(&s, st);
    struct state_manifest known;
    read_unknown(f, st);
    judge_facts(f);
    accepted();
    OK(state_apply(&cx, st, f));
    facts_free(f);
    assert_false(state_manifest(st, m_base.name, &known));
    assert_true(state_manifest(st, merged.name, &known));
    assert_int_equal(state_info(st).manifests, 2);
    f = commit_on(lists_with(head, &m, 1), COMMIT_ANALYZE, 0, NULL, 0);
    judge_facts(f);
    assert_int_equal(v.kind, VERDICT_NEED);
    assert_int_equal(v.need.n_manifests, 2);
    OK(facts_read_base(&cx, f, v.need.manifests, 2));
    judge_facts(f); /* they are right, but delete nothing that is live and come to the same */
    accepted();
    facts_free(f);
}

/* Whatever a commit says a thousand times takes no longer than a thousand different things. */
static void test_one_thing_many_times(void **state)
{
    (void)state;
    enum { MANY = 60000 };
    struct manifest_entry *e = ARENA_ARRAY(&cx.arena, struct manifest_entry, MANY);
    struct index_entry *x = ARENA_ARRAY(&cx.arena, struct index_entry, MANY);
    for (int i = 0; i < MANY; i++) {
        e[i] = i % 2 ? ADD("same", i) : DEL("same", i);
        e[i].total_buckets = i;
        x[i] = (struct index_entry){.partition = PART,
                                    .type = STR_LIT(INDEX_TYPE_HASH),
                                    .name = STR_LIT("h"),
                                    .size = 4,
                                    .row_count = 1};
    }
    struct manifest_file m = put_manifest(e, MANY);
    struct snapshot s = snapshot_of(3, head, (struct lists){&m, 1});
    s.index_manifest = put_index(x, MANY);
    int64_t before = clock_mono_ms();
    struct commit_facts *f = facts_of(&s, st);
    judge_facts(f);
    assert_int_equal(v.kind, VERDICT_REFUSE);
    facts_free(f);
    for (int i = 0; i < MANY; i++)
        e[i].kind = FILE_ADD;
    m = put_manifest(e, MANY);
    s = snapshot_of(3, (struct lists){0}, (struct lists){&m, 1});
    struct table_state *none = NULL;
    refused_with(state_load(&cx, &dir, &s, &state_opts, &none), E_CORRUPT, "more than 64 levels");
    for (int i = 0; i < MANY; i++)
        e[i].file.name = text("f%d", i);
    m = put_manifest(e, MANY);
    s = snapshot_of(3, (struct lists){0}, (struct lists){&m, 1});
    refused_with(state_load(&cx, &dir, &s, &state_opts, &none), E_TOOBIG,
                 "different bucket counts");
    assert_true(clock_mono_ms() - before < 10000);
}

static void test_facts_have_a_cap(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    struct manifest_entry *e = ARENA_ARRAY(&cx.arena, struct manifest_entry, MANY);
    struct commit_facts *f = NULL;
    for (int i = 0; i < MANY; i++)
        e[i] = entry_of(FILE_ADD, PART, 0, 0, text("f%d", i));
    struct manifest_file m = put_manifest(e, MANY);
    struct snapshot s = snapshot_of(3, head, (struct lists){&m, 1});
    struct facts_opts o = {.partition = &INT_ROW, .max_bytes = 1 << 20};
    refused_with(facts_read(&cx, &dir, &s, &o, &f), E_TOOBIG, "commit less at once");
    o.max_bytes = 8 << 20;
    OK(facts_read(&cx, &dir, &s, &o, &f));
    assert_int_equal(f->n_added, MANY);
    facts_free(f);
}

static void test_manifests_that_are_bad(void **state)
{
    (void)state;
    struct manifest_entry e = ADD("n", 0), no_row = ADD("n", 0), del = DEL("n", 0);
    struct manifest_file good = put_manifest(&e, 1), gone = good, lies = good, torn = good,
                         small = good;
    no_row.partition = EMPTY_ROW;
    struct manifest_file alien = put_manifest(&no_row, 1), changelog_del = put_manifest(&del, 1);
    gone.name = STR_LIT("manifest-gone");
    lies.deleted = 1;
    torn.name = STR_LIT("manifest-torn");
    put_file(torn.name, text("%*d", (int)good.size, 7));
    small.size = 3;
    const struct {
        const struct manifest_file *m;
        const char *because;
    } cases[] = {
        {&gone, "t/manifest/manifest-gone does not exist"},
        {&lies, "its list says 1 and 1"},
        {&torn, "manifest-torn"},
        {&small, "what names it says 3"},
        {&alien, "its partition"},
    };
    for (size_t i = 0; i < N(cases); i++) {
        struct snapshot s = snapshot_of(3, head, (struct lists){(void *)cases[i].m, 1});
        struct commit_facts *f = facts_of(&s, st);
        judge_facts(f);
        refused("manifest-bad", NULL, cases[i].because);
        facts_free(f);
    }
    for (int i = 0; i < 5; i++) {
        struct snapshot s = snapshot_of(3, head, (struct lists){&good, 1});
        struct opt_i64 size;
        const char *because[] = {"list-none does not exist", "list-none does not exist",
                                 "list-none does not exist", "index-none does not exist",
                                 "is a DELETE"};
        if (i == 0)
            s.base_manifest_list = STR_LIT("list-none");
        if (i == 1)
            s.delta_manifest_list = STR_LIT("list-none");
        if (i == 2)
            s.changelog_manifest_list = STR_LIT("list-none");
        if (i == 3)
            s.index_manifest = STR_LIT("index-none");
        if (i == 4)
            s.changelog_manifest_list = put_list(&changelog_del, 1, &size);
        struct commit_facts *f = facts_of(&s, st);
        judge_facts(f);
        refused("manifest-bad", NULL, because[i]);
        facts_free(f);
    }
}

static void test_schema_unknown(void **state)
{
    (void)state;
    struct manifest_entry known = ADD("n", 0), unknown = ADD("o", 0), gone = DEL("a", 0);
    known.file.schema_id = 2;
    JUDGE(COMMIT_APPEND, known);
    accepted();
    unknown.file.schema_id = 3;
    JUDGE(COMMIT_APPEND, known, unknown);
    refused("schema-unknown", "o", "written with schema 3");
    gone.file.schema_id = 9; /* what is deleted may be of any */
    JUDGE(COMMIT_OVERWRITE, gone);
    accepted();
    struct commit_facts *f = commit_on(head, COMMIT_APPEND, 4, &known, 1);
    judge_facts(f);
    refused("schema-unknown", NULL, "the snapshot's schema 4");
    facts_free(f);
}

static void test_bucket_count(void **state)
{
    (void)state;
    struct manifest_entry eight = ADD("n", 0), dynamic = ADD("d", 0), fresh4 = ADD("p", 0),
                          fresh8 = ADD("q", 0);
    eight.total_buckets = 8;
    dynamic.total_buckets = -1;
    fresh4.partition = fresh8.partition = int_row(99);
    fresh8.total_buckets = 8;
    JUDGE(COMMIT_APPEND, eight);
    refused("bucket-count", "n", "written for 8 buckets, the partition's live files have 4");
    JUDGE(COMMIT_COMPACT, eight);
    refused("bucket-count", "n", "written for 8 buckets");
    JUDGE(COMMIT_OVERWRITE, eight);
    accepted();
    JUDGE(COMMIT_APPEND, dynamic); /* 0 and below are no counts */
    accepted();
    JUDGE(COMMIT_APPEND, fresh8);
    accepted();
    JUDGE(COMMIT_APPEND, fresh4, ADD("n", 0), fresh8);
    assert_int_equal(v.kind, VERDICT_REFUSE);
    assert_int_equal(v.refusal.code, CONFLICT_BUCKET_COUNT);
    assert_non_null(strstr(v.refusal.message.p,
                           "partition dt=99, bucket 0: \"q\" was written for 8 "
                           "buckets and \"p\" for 4"));
}

static void test_needs_all_at_once(void **state)
{
    (void)state;
    struct manifest_entry live[] = {ADD("a", 0), ADD("b", 0), ADD("c", 5)}, n = ADD("n", 0);
    struct manifest_file merged = put_manifest(live, 3), m = put_manifest(&n, 1);
    struct snapshot s = snapshot_of(3, (struct lists){&merged, 1}, (struct lists){&m, 1});
    struct commit_facts *f = facts_of(&s, st);
    see_files = see_schemas = false;
    f->index_name = STR_LIT("another");
    index_set_unref(f->index);
    f->index = NULL;
    judge_facts(f);
    assert_int_equal(v.kind, VERDICT_NEED);
    assert_true(v.need.files && v.need.schemas && v.need.index);
    assert_int_equal(v.need.n_manifests, 1);
    assert_int_equal(v.need.manifests[0], 0);
    OK(facts_read_base(&cx, f, v.need.manifests, 1));
    f->index_name = STR_NONE;
    see_files = see_schemas = true;
    judge_facts(f);
    accepted();
    facts_free(f);
    /* What is wrong anyway is refused without asking. */
    see_files = see_schemas = false;
    JUDGE(COMMIT_APPEND, ADD("a", 0));
    refused("file-twice", "a", "live already");
    /* A base manifest that turns out to be bad. */
    merged.added = 9;
    s = snapshot_of(3, (struct lists){&merged, 1}, (struct lists){&m, 1});
    f = facts_of(&s, st);
    read_unknown(f, st);
    judge_facts(f);
    refused("manifest-bad", NULL, "its list says 9");
    facts_free(f);
}

#define C(fn) cmocka_unit_test_setup_teardown(fn, setup_table, teardown_table)

int main(void)
{
    const struct CMUnitTest tests[] = {
        C(test_what_is_right),
        C(test_file_gone),
        C(test_file_twice),
        C(test_long_names_leave_room_for_what_to_do),
        C(test_what_was_seen_to_go),
        C(test_restores),
        C(test_restore_of_a_table_that_was_wrong),
        C(test_files_there),
        C(test_evidence_is_gathered),
        C(test_path_outside),
        C(test_delta_order),
        C(test_base_list),
        C(test_an_empty_base_of_an_empty_table),
        C(test_manifests_that_are_bad),
        C(test_what_was_wrong_before),
        C(test_a_manifest_of_before),
        C(test_one_thing_many_times),
        C(test_facts_have_a_cap),
        C(test_schema_unknown),
        C(test_bucket_count),
        C(test_needs_all_at_once),
    };
    state_opts.partition = &INT_ROW;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
