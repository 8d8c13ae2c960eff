/* test_partition.c - partitions of a branch: which tables keep them, what they are called, what
 * commits, adoptions, rollbacks, failures and crashes make of their totals, how totals come back that
 * were not known, and the changes that clients ask for. */
#include "tests/unit/catalog/branch_fixture.h"

#include "proto/api/api_partition.h"

static struct fx f;

#define SCHEMA(keys, options)                                                                      \
    "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT\"},"                                     \
    "{\"id\":1,\"name\":\"dt\",\"type\":\"STRING\"},{\"id\":2,\"name\":\"hh\",\"type\":"           \
    "\"STRING\"}],"                                                                                \
    "\"partitionKeys\":[" keys "],\"primaryKeys\":[],\"options\":{" options "}}"
#define ON   "\"metastore.partitioned-table\":\"true\""
#define TWO  "\"dt\",\"hh\""
#define A(n) "{\"dt\":\"a\"}:" n
#define B(n) "{\"dt\":\"b\"}:" n

static void fresh(unsigned kind)
{
    fx_new(&f, kind);
    OK(&f, fx_db(&f, "d"));
    OK(&f, fx_create_as(&f, "d", "t", SCHEMA("\"dt\"", ON)));
}

static int setup(void **state)
{
    (void)state;
    fresh(FX_MEM);
    return 0;
}

static int setup_sqlite(void **state)
{
    (void)state;
    fresh(FX_MEM | FX_SQLITE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Files that come to these counts: new ones, or live ones of the partition deleted. */
static size_t files_of(struct draft *d, const struct api_stat *s, struct fx_entry *ret)
{
    static const char *const keys[] = {"dt", "hh"};
    static const str names[] = {STR_LIT("dt"), STR_LIT("hh")};
    static struct fx_entry live[512];
    struct fx_entry of = {0};
    size_t n_live = d->prev ? fx_live(&f, d->prev, live, 512) : 0, n = 0, k = 0;
    str values[2];
    while (k < 2 && json_get(s->spec, keys[k])) {
        values[k] = json_get(s->spec, keys[k])->s;
        k++;
    }
    fx_partition(&f.cx, names, values, k, &of);
    for (int64_t i = 0; i < s->file_count; i++, n++) {
        ret[n] = of;
        ret[n].rows = i ? s->records / s->file_count
                        : s->records - s->records / s->file_count * (s->file_count - 1);
        ret[n].size =
            i ? s->file_size_bytes / s->file_count
              : s->file_size_bytes - s->file_size_bytes / s->file_count * (s->file_count - 1);
        ret[n].ms = s->last_file_ms;
        ret[n].buckets = (int32_t)s->buckets;
        ret[n].name = fx_text(&f, "data-%d-%zu-%lld.orc", d->no, d->n_entries, (long long)i);
    }
    for (size_t i = 0; i < n_live; i++) {
        if (!str_eq(live[i].folder, of.folder))
            continue;
        if (live[i].buckets != s->buckets)
            d->kind = "OVERWRITE"; /* only these may change the number of buckets */
        if ((int64_t)n < -s->file_count) {
            ret[n] = live[i];
            ret[n++].del = true;
        }
    }
    assert_int_equal(n, s->file_count < 0 ? -s->file_count : s->file_count);
    return n;
}

/* "spec:records,bytes,files,ms,buckets" joined by ';' */
static size_t counts(const char *texts, struct api_stat ret[16])
{
    str rest = str_of(texts), one;
    size_t k = 0;
    while (rest.len && str_split(&rest, ';', &one)) {
        long long n[5];
        const char *end = memchr(one.p, '}', one.len);
        assert_non_null(end);
        assert_int_equal(
            sscanf(end + 1, ":%lld,%lld,%lld,%lld,%lld", &n[0], &n[1], &n[2], &n[3], &n[4]), 5);
        str spec = str_dup(&f.cx.arena, str_n(one.p, (size_t)(end + 1 - one.p)));
        ret[k++] = (struct api_stat){fx_json(&f, spec.p), n[0], n[1], n[2], n[3], n[4]};
    }
    return k;
}

/* A commit that changes partitions by these counts. */
static struct draft next_of(const struct draft *prev, const char *texts)
{
    struct draft d = fx_next(&f, prev, "u", true);
    struct fx_entry *e = ARENA_ARRAY(&f.cx.arena, struct fx_entry, 64);
    struct api_stat by[16];
    size_t n = counts(texts, by);
    d.delta = 0;
    for (size_t i = 0; i < n; i++) {
        d.n_entries += files_of(&d, &by[i], e + d.n_entries);
        d.delta += by[i].records;
    }
    d.entries = e;
    d.total = (prev ? prev->total : 0) + d.delta;
    return d;
}

static struct draft commit_on(const char *object, const struct draft *prev, const char *texts)
{
    struct draft d = next_of(prev, texts);
    assert_true(fx_answer(&f, object, &d));
    return d;
}

static str rows_text(const struct partition_row *rows, size_t n)
{
    str all = S("");
    for (size_t i = 0; i < n; i++) {
        const struct partition_delta *s = &rows[i].sum;
        all = fx_text(&f, "%.*s%s%.*s=%lld,%lld,%lld,%lld,%lld%s", STR(all), i ? " " : "",
                      STR(s->key), (long long)s->records, (long long)s->file_size_bytes,
                      (long long)s->file_count, (long long)s->last_file_ms, (long long)s->buckets,
                      rows[i].done ? "!" : "");
    }
    return all;
}

static int turn_look(struct ctx *cx, struct branch *br, void *arg)
{
    struct head *h;
    (void)arg;
    TRY(branch_head(cx, br, &h));
    head_unref(h);
    return 0;
}

struct listing {
    struct page_in page;
    const struct json *specs; /* NULL: a page */
    struct partition_row *rows;
    size_t n;
    bool counted;
};

static int list_read(struct ctx *cx, struct branch *br, struct listing *l)
{
    return l->specs ? branch_partitions_named(cx, br, l->specs, &l->rows, &l->n)
                    : branch_partitions(cx, br, &l->page, &l->rows, &l->n);
}

static int turn_count(struct ctx *cx, struct branch *br, void *arg)
{
    struct listing *l = arg;
    l->counted = true;
    TRY(branch_partitions_count(cx, br));
    int rc = list_read(cx, br, l);
    assert_int_not_equal(rc, CAT_NEED); /* once is enough */
    return rc;
}

static bool was_counted; /* by the last list */

/* As the server does it: settled first, then read beside the strand, or on it when the totals must be
 * counted. */
static int list_in(const char *object, struct listing *l, str *ret)
{
    struct ctx cx;
    struct branch *br = NULL;
    fx_begin(&cx);
    int rc = cat_branch_open(&cx, f.cat, f.w, S("d"), str_of(object), &br);
    if (rc == 0 && branch_has_commits(br))
        rc = turn(&cx, br, turn_look, NULL);
    if (rc == 0)
        rc = list_read(&cx, br, l);
    if (rc == CAT_NEED)
        rc = turn(&cx, br, turn_count, l);
    if (rc == 0)
        *ret = rows_text(l->rows, l->n);
    was_counted = l->counted;
    branch_unref(br);
    return fx_end(&f, &cx, rc);
}

static int list_page(const char *object, const struct page_in *in, str *ret)
{
    struct listing l = {.page = *in};
    return list_in(object, &l, ret);
}

static int list_rc(const char *object, str *ret)
{
    struct page_in in = {.prefix = S(""), .limit = 1000};
    return list_page(object, &in, ret);
}

static str list(const char *object)
{
    str s = STR_NONE;
    OK(&f, list_rc(object, &s));
    return s;
}

/* Whose totals are known, or not known before they were counted. */
#define KNOWN(object, want)                                                                        \
    do {                                                                                           \
        SAME(list(object), S(want));                                                               \
        assert_false(was_counted);                                                                 \
    } while (0)
#define COUNTED(object, want)                                                                      \
    do {                                                                                           \
        SAME(list(object), S(want));                                                               \
        assert_true(was_counted);                                                                  \
        KNOWN(object, want);                                                                       \
    } while (0)

static str list_named(const char *object, const char *specs)
{
    str s = STR_NONE;
    struct listing l = {.specs = fx_json(&f, specs)};
    OK(&f, list_in(object, &l, &s));
    return s;
}

struct change {
    char what;
    struct partitions_create_in in;
    bool there[16];
};

static int turn_change(struct ctx *cx, struct branch *br, void *arg)
{
    struct change *ch = arg;
    if (ch->what == 'c')
        return branch_partitions_create(cx, br, &ch->in, ch->there);
    if (ch->what == 'd')
        return branch_partitions_drop(cx, br, ch->in.specs, ch->in.strict, ch->there);
    return branch_partitions_mark(cx, br, ch->in.specs);
}

/* A '+' for each that was there. */
static int change_stats(const char *object, char what, const char *specs, bool strict,
                        const char *stats, bool replace, char *ret_there)
{
    struct ctx cx;
    struct api_stat by[16];
    size_t k = counts(stats, by);
    struct change ch = {.what = what,
                        .in = {.specs = fx_json(&f, specs),
                               .strict = strict,
                               .stats = by,
                               .n_stats = k,
                               .replace = replace}};
    fx_begin(&cx);
    int rc = fx_end(&f, &cx, turn_on(&cx, &f, object, turn_change, &ch));
    size_t n = rc == 0 ? ch.in.specs->n : 0;
    for (size_t i = 0; i < n; i++)
        ret_there[i] = ch.there[i] ? '+' : '-';
    ret_there[n] = 0;
    return rc;
}

static int change(const char *object, char what, const char *specs, bool strict)
{
    char there[32];
    return change_stats(object, what, specs, strict, "", false, there);
}

#define CHANGES(what, specs, want)                                                                 \
    do {                                                                                           \
        char there_[32];                                                                           \
        OK(&f, change_stats("t", (what), (specs), false, "", false, there_));                      \
        assert_string_equal(there_, (want));                                                       \
    } while (0)

/* --- which tables ----------------------------------------------------------------------------- */

static void tables_without(void **state)
{
    (void)state;
    static const char *const schemas[] = {
        SCHEMA("\"dt\"", ""), SCHEMA("\"dt\"", "\"metastore.partitioned-table\":\"false\"")};
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        str s, name = fx_text(&f, "n%zu", i);
        OK(&f, fx_create_as(&f, "d", name.p, schemas[i]));
        struct draft d = commit_on(name.p, NULL, A("1,1,1,1,1"));
        FAILS(&f, E_UNSUPPORTED, RES_TABLE, "metastore.partitioned-table", list_rc(name.p, &s));
        assert_string_equal(f.err.res_name, name.p); /* not "d.n0" */
        FAILS(&f, E_UNSUPPORTED, RES_TABLE, "metastore.partitioned-table",
              change(name.p, 'c', "[]", false));
        FAILS(&f, E_UNSUPPORTED, RES_TABLE, "metastore.partitioned-table",
              change(name.p, 'd', "[]", false));
        FAILS(&f, E_UNSUPPORTED, RES_TABLE, "metastore.partitioned-table",
              change(name.p, 'm', "[]", false));
        (void)d;
    }
    str s;
    FAILS(&f, E_NOTFOUND, RES_TABLE, "none", list_rc("none", &s));
}

static void upper_case_option(void **state)
{
    (void)state;
    OK(&f,
       fx_create_as(&f, "d", "u", SCHEMA("\"dt\"", "\"metastore.partitioned-table\":\"TRUE\"")));
    commit_on("u", NULL, A("1,1,1,1,1"));
    SAME(list("u"), S("dt=a=1,1,1,1,1"));
}

static void without_keys(void **state)
{
    (void)state;
    OK(&f, fx_create_as(&f, "d", "u", SCHEMA("", ON)));
    SAME(list("u"), S(""));
    struct draft d = commit_on("u", NULL, "{}:1,1,1,1,1");
    commit_on("u", &d, "{}:1,1,1,1,1");
    SAME(list("u"), S("=2,2,2,1,1"));
}

/* --- names ------------------------------------------------------------------------------------ */

static void names(void **state)
{
    (void)state;
    OK(&f, fx_create_as(&f, "d", "two", SCHEMA(TWO, ON)));
    /* Whatever the order of the members; what would be another partition's name is not. */
    struct draft d = commit_on("two", NULL,
                               "{\"hh\":\"1\",\"dt\":\"x\"}:1,1,1,1,1;"
                               "{\"dt\":\"x/hh=1\",\"hh\":\"2\"}:2,2,2,2,2;"
                               "{\"dt\":\"x\",\"hh\":\"1/hh=2\"}:3,3,3,3,3;"
                               "{\"dt\":\"50%\",\"hh\":\"=\"}:4,4,4,4,4;"
                               "{\"dt\":\"50%25\",\"hh\":\"\"}:5,5,5,5,5");
    commit_on("two", &d, "{\"dt\":\"x\",\"hh\":\"1\"}:1,1,1,1,1");
    SAME(list("two"), S("dt=x/hh=1%2Fhh=2=3,3,3,3,3 dt=x/hh=1=2,2,2,1,1 "
                        "dt=x%2Fhh=1/hh=2=2,2,2,2,2 "
                        "dt=50%2525/hh=__DEFAULT_PARTITION__=5,5,5,5,5 "
                        "dt=50%25/hh===4,4,4,4,4"));
    SAME(list_named("two", "[{\"dt\":\"50%\",\"hh\":\"=\"},{\"hh\":\"1\",\"dt\":\"x\"},"
                           "{\"dt\":\"x\",\"hh\":\"1\"},{\"dt\":\"nope\",\"hh\":\"1\"}]"),
         S("dt=x/hh=1=2,2,2,1,1 dt=50%25/hh===4,4,4,4,4"));
    /* A pattern is of names as they are, without what was added to them. */
    str s = STR_NONE;
    struct page_in in = {.prefix = S("dt=50%"), .limit = 10};
    OK(&f, list_page("two", &in, &s));
    SAME(s, S("dt=50%2525/hh=__DEFAULT_PARTITION__=5,5,5,5,5 dt=50%25/hh===4,4,4,4,4"));
    in = (struct page_in){.prefix = S("dt=50%25/"), .limit = 10};
    OK(&f, list_page("two", &in, &s));
    SAME(s, S("dt=50%2525/hh=__DEFAULT_PARTITION__=5,5,5,5,5"));
    in = (struct page_in){.prefix = S("dt=x/hh=1"), .exact = true, .limit = 10};
    OK(&f, list_page("two", &in, &s));
    SAME(s, S("dt=x/hh=1=2,2,2,1,1"));
    in = (struct page_in){.prefix = S(""), .after = S("dt=x/hh=1"), .limit = 1};
    OK(&f, list_page("two", &in, &s));
    SAME(s, S("dt=x%2Fhh=1/hh=2=2,2,2,2,2"));
}

/* Null, nothing and blanks have one name, so they are one partition here, however they are counted. */
static void one_name(void **state)
{
    (void)state;
    struct draft d = commit_on("t", NULL,
                               "{\"dt\":\"\"}:1,10,1,5,1;{\"dt\":\" \"}:2,20,1,7,1;"
                               "{\"dt\":\"x\"}:4,4,1,4,1");
    KNOWN("t", "dt=x=4,4,1,4,1 dt=__DEFAULT_PARTITION__=3,30,2,7,1");
    commit_on("t", &d, A("1,1,1,1,1"));
    KNOWN("t", "dt=x=4,4,1,4,1 dt=a=1,1,1,1,1 dt=__DEFAULT_PARTITION__=3,30,2,7,1");
    OK(&f, fx_rollback(&f, "t", 1));
    COUNTED("t", "dt=x=4,4,1,4,1 dt=__DEFAULT_PARTITION__=3,30,2,7,1");
}

static void specs_that_do_not_fit(void **state)
{
    (void)state;
    OK(&f, fx_create_as(&f, "d", "two", SCHEMA(TWO, ON)));
    static const char *const bad[] = {"[{}]",
                                      "[{\"dt\":\"a\"}]",
                                      "[{\"hh\":\"1\"}]",
                                      "[{\"dt\":\"a\",\"xx\":\"1\"}]",
                                      "[{\"dt\":\"a\",\"hh\":\"1\",\"k\":\"1\"}]",
                                      "[{\"dt\":\"a\",\"hh\":\"1\"},{\"DT\":\"a\",\"hh\":\"1\"}]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FAILS(&f, E_INVAL, RES_PARTITION, "does not fit", change("two", 'c', bad[i], false));
        FAILS(&f, E_INVAL, RES_PARTITION, "(dt, hh)", change("two", 'd', bad[i], false));
        if (i != 1) /* the first keys are enough to mark */
            FAILS(&f, E_INVAL, RES_PARTITION, "does not fit", change("two", 'm', bad[i], false));
    }
    struct buf longest = {0}; /* dt=.../hh=1: 4096 bytes fit, 4097 do not */
    for (int n = 4096; n <= 4097; n++) {
        buf_clear(&longest);
        buf_addz(&longest, "[{\"hh\":\"1\",\"dt\":\"");
        for (int i = 0; i < n - 8; i++)
            buf_addc(&longest, 'x');
        buf_addz(&longest, "\"}]");
        if (n == 4096)
            OK(&f, change("two", 'c', buf_z(&longest), true));
        else
            FAILS(&f, E_INVAL, RES_PARTITION, "4096", change("two", 'c', buf_z(&longest), false));
    }
    buf_clear(&longest);
    OK(&f, change("two", 'm', "[{\"dt\":\"a\"}]", false));
    buf_done(&longest);
}

/* --- commits ---------------------------------------------------------------------------------- */

static void commits_add_up(void **state)
{
    (void)state;
    SAME(list("t"), S(""));
    struct draft d = commit_on("t", NULL, A("10,100,1,50,2") ";" B("20,200,2,60,2"));
    SAME(list("t"), S("dt=b=20,200,2,60,2 dt=a=10,100,1,50,2"));
    d = commit_on("t", &d, A("-10,-100,-1,0,2") ";" B("5,50,1,55,4"));
    SAME(list("t"), S("dt=b=25,250,3,60,4"));
    fx_restart(&f);
    SAME(list("t"), S("dt=b=25,250,3,60,4"));
    d = commit_on("t", &d, A("1,1,1,1,1"));
    fx_restart(&f); /* before it is folded */
    SAME(list("t"), S("dt=b=25,250,3,60,4 dt=a=1,1,1,1,1"));
}

static void replays_do_not_count_twice(void **state)
{
    (void)state;
    struct draft d1 = commit_on("t", NULL, A("1,1,1,1,1"));
    assert_true(fx_answer(&f, "t", &d1));
    struct draft d2 = commit_on("t", &d1, A("1,1,1,1,1"));
    assert_true(fx_answer(&f, "t", &d1));
    assert_true(fx_answer(&f, "t", &d2));
    fx_restart(&f);
    assert_true(fx_answer(&f, "t", &d2));
    SAME(list("t"), S("dt=a=2,2,2,1,1"));
    assert_true(fx_answer(&f, "t", &d2));
    struct draft lost = next_of(&d1, A("7,7,7,7,7"));
    assert_false(fx_answer(&f, "t", &lost));
    SAME(list("t"), S("dt=a=2,2,2,1,1"));
}

/* The record fails, or it is not known whether it was made: it is made at the next turn, once. */
static void record_again(void **state)
{
    (void)state;
    bool ok;
    struct draft d = commit_on("t", NULL, A("1,1,1,1,1"));
    static const struct plan plans[] = {{.op = ST_commit_record, .code = E_IO},
                                        {.op = ST_commit_record, .code = E_UNKNOWN, .after = true},
                                        {.op = IO_put_if_absent, .code = E_UNKNOWN, .after = true}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        struct draft e = next_of(&d, A("1,1,1,1,1"));
        fx_plan(&f, plans[i]);
        assert_int_equal(fx_commit(&f, "t", &e, &ok), E_UNKNOWN);
        fx_well(&f);
        assert_true(fx_answer(&f, "t", &e));
        d = e;
    }
    SAME(list("t"), S("dt=a=4,4,4,1,1"));
}

/* A commit that only moves manifests. */
static void nothing_changes(void **state)
{
    (void)state;
    struct draft d = commit_on("t", NULL, A("1,1,1,1,1"));
    struct draft e = next_of(&d, "");
    assert_true(fx_answer(&f, "t", &e));
    commit_on("t", &e, A("1,1,1,1,1"));
    SAME(list("t"), S("dt=a=2,2,2,1,1"));
}

/* Whoever wrote it: its files say what it did. */
static void adoption(void **state)
{
    (void)state;
    struct draft d = commit_on("t", NULL, A("1,1,1,1,1"));
    KNOWN("t", "dt=a=1,1,1,1,1");
    struct draft e = next_of(&d, A("1,1,1,1,1") ";" B("7,70,2,9,1"));
    fx_foreign(&f, "t", &e);
    KNOWN("t", "dt=b=7,70,2,9,1 dt=a=2,2,2,1,1");
    assert_int_equal(fx_counts(&f).adopted, 1);
    OK(&f, fx_rollback(&f, "t", 1));
    COUNTED("t", "dt=a=1,1,1,1,1");
    e = commit_on("t", &d, A("1,1,1,1,1"));
    KNOWN("t", "dt=a=2,2,2,1,1");
    struct draft g = next_of(&e, A("-1,-1,-1,1,1"));
    fx_foreign(&f, "t", &g);
    commit_on("t", &g, B("1,1,1,1,1"));
    KNOWN("t", "dt=b=1,1,1,1,1 dt=a=1,1,1,1,1");
    fx_restart(&f);
    KNOWN("t", "dt=b=1,1,1,1,1 dt=a=1,1,1,1,1");
}

/* Dead between the snapshot's creation and its record: adopted at the next start. */
static void crash_before_the_record(void **state)
{
    (void)state;
    bool ok;
    struct draft d = commit_on("t", NULL, A("1,1,1,1,1"));
    struct draft e = next_of(&d, A("1,1,1,1,1"));
    FAIL(&f, .op = ST_commit_record, .code = E_IO, .sticky = true);
    assert_int_equal(fx_commit(&f, "t", &e, &ok), E_UNKNOWN);
    fx_crash(&f, false);
    assert_true(fx_answer(&f, "t", &e));
    KNOWN("t", "dt=a=2,2,2,1,1");
}

/* Dead at any step of folding: nothing is lost or counted twice. */
static void crash_while_folding(void **state)
{
    (void)state;
    struct draft d = commit_on("t", NULL, A("1,1,1,1,1"));
    for (int i = 0; i < 5; i++)
        d = commit_on("t", &d, A("1,1,1,1,1") ";" B("2,2,2,2,2"));
    for (long k = 1; k < 4; k++) {
        str s;
        fx_die_at(&f, k);
        IGNORE(list_rc("t", &s));
        fx_crash(&f, false);
    }
    SAME(list("t"), S("dt=b=10,10,10,2,2 dt=a=6,6,6,1,1"));
    FAIL(&f, .op = ST_partitions_fold, .code = E_UNKNOWN, .after = true);
    commit_on("t", &d, A("1,1,1,1,1"));
    str s;
    assert_int_equal(list_rc("t", &s), E_UNKNOWN);
    fx_well(&f);
    SAME(list("t"), S("dt=b=10,10,10,2,2 dt=a=7,7,7,1,1"));
}

/* --- rollback --------------------------------------------------------------------------------- */

static void rollback_before_it_is_folded(void **state)
{
    (void)state;
    struct draft d1 = commit_on("t", NULL, A("1,1,1,1,1"));
    struct draft d2 = commit_on("t", &d1, A("1,1,1,9,1"));
    struct draft d3 = commit_on("t", &d2, B("1,1,1,1,1"));
    OK(&f, fx_rollback(&f, "t", 1));
    SAME(list("t"), S("dt=a=1,1,1,1,1"));
    assert_false(fx_answer(&f, "t", &d3));
    d2 = commit_on("t", &d1, B("5,5,5,5,5"));
    SAME(list("t"), S("dt=b=5,5,5,5,5 dt=a=1,1,1,1,1"));
}

/* Past what is folded: they are counted. What clients said of partitions stays with those that stay. */
static void rollback_after(void **state)
{
    (void)state;
    struct draft d1 = commit_on("t", NULL, A("1,1,1,1,1") ";{\"dt\":\"e\"}:5,5,1,3,1");
    commit_on("t", &d1, A("1,1,1,9,1") ";" B("1,1,1,1,1"));
    CHANGES('m', "[{\"dt\":\"a\"},{\"dt\":\"b\"}]", "--");
    CHANGES('c', "[{\"dt\":\"z\"}]", "-");
    CHANGES('d', "[{\"dt\":\"e\"}]", "+");
    KNOWN("t", "dt=z=-1,-1,-1,-1,-1 dt=b=1,1,1,1,1! dt=a=2,2,2,9,1!");
    OK(&f, fx_rollback(&f, "t", 1));
    COUNTED("t", "dt=z=-1,-1,-1,-1,-1 dt=e=5,5,1,3,1 dt=a=1,1,1,1,1!");
    commit_on("t", &d1, A("1,1,1,1,1"));
    KNOWN("t", "dt=z=-1,-1,-1,-1,-1 dt=e=5,5,1,3,1 dt=a=2,2,2,1,1!");
    OK(&f, fx_rollback(&f, "t", 1));
    commit_on("t", &d1, B("3,3,1,3,1")); /* nobody asked meanwhile */
    COUNTED("t", "dt=z=-1,-1,-1,-1,-1 dt=e=5,5,1,3,1 dt=b=3,3,1,3,1 dt=a=1,1,1,1,1!");
    fx_restart(&f);
    KNOWN("t", "dt=z=-1,-1,-1,-1,-1 dt=e=5,5,1,3,1 dt=b=3,3,1,3,1 dt=a=1,1,1,1,1!");
}

static void lost(struct draft *ret)
{
    *ret = commit_on("t", NULL, A("1,1,1,1,1"));
    commit_on("t", ret, A("1,1,1,1,1"));
    KNOWN("t", "dt=a=2,2,2,1,1");
    OK(&f, fx_rollback(&f, "t", 1));
}

/* The first change counts them as well, and then it is made. */
static void changes_count(void **state)
{
    (void)state;
    struct draft d;
    lost(&d);
    CHANGES('c', "[{\"dt\":\"a\"},{\"dt\":\"c\"}]", "+-");
    KNOWN("t", "dt=c=-1,-1,-1,-1,-1 dt=a=1,1,1,1,1");
    OK(&f, fx_rollback(&f, "t", 1));
    commit_on("t", &d, B("1,1,1,1,1"));
    OK(&f, fx_rollback(&f, "t", 1));
    CHANGES('m', "[{\"dt\":\"a\"}]", "-");
    KNOWN("t", "dt=c=-1,-1,-1,-1,-1 dt=a=1,1,1,1,1!");
}

/* Dead, or an error, at any step of counting: the next one who asks counts again. */
static void counting_fails(void **state)
{
    (void)state;
    struct draft d;
    str s;
    static const struct {
        struct plan plan;
        int want;
    } plans[] = {
        {{.op = ST_partitions_set, .code = E_IO}, E_IO},
        {{.op = ST_partitions_set, .code = E_BUSY}, E_BUSY},
        {{.op = ST_partitions_set, .code = E_RACE}, E_BUSY},
        {{.op = ST_partitions_set, .code = E_UNKNOWN}, E_BUSY},
    };
    lost(&d);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        fx_plan(&f, plans[i].plan);
        assert_int_equal(list_rc("t", &s), plans[i].want);
        fx_well(&f);
    }
    fx_restart(&f); /* the state must be read first */
    FAIL(&f, .op = IO_read, .code = E_IO, .path = "/manifest/");
    assert_int_equal(list_rc("t", &s), E_IO);
    fx_well(&f);
    for (long k = 1; k < 4; k++) {
        fx_die_at(&f, k);
        IGNORE(list_rc("t", &s));
        fx_crash(&f, false);
    }
    FAIL(&f, .op = ST_partitions_set, .code = E_UNKNOWN, .after = true);
    IGNORE(list_rc("t", &s));
    fx_well(&f);
    KNOWN("t", "dt=a=1,1,1,1,1");
}

/* Those of a table too large for a state, or damaged, are for clients to find out. */
static void that_cannot_be_counted(void **state)
{
    (void)state;
    struct draft d;
    str s;
    size_t max = f.o.state_table_max;
    lost(&d);
    f.o.state_table_max = 1;
    fx_restart(&f);
    FAILS(&f, E_UNSUPPORTED, RES_TABLE, "state.table-max", list_rc("t", &s));
    assert_string_equal(f.err.res_name, "t");
    FAILS(&f, E_UNSUPPORTED, RES_TABLE, "state.table-max", change("t", 'c', "[]", false));
    f.o.state_table_max = max;
    fx_restart(&f);
    str manifest = fx_text(&f, "%.*s/manifest/manifest-%d", STR(fx_dir(&f, "t")), d.no);
    assert_true(fx_exists(&f, manifest));
    fx_del(&f, manifest);
    FAILS(&f, E_UNSUPPORTED, RES_TABLE, "cannot be counted", list_rc("t", &s));
    FAILS(&f, E_UNSUPPORTED, RES_TABLE, "cannot be counted", change("t", 'm', "[]", false));
    assert_true(fx_head_id(&f, "t") == 1);
    d.size = 1000;
    fx_files(&f, "t", &d); /* put back */
    COUNTED("t", "dt=a=1,1,1,1,1");
}

/* Too long for a key: whoever wants to know about partitions asks the manifests, until it is gone. */
static void without_a_name(void **state)
{
    (void)state;
    str s;
    struct draft d = commit_on("t", NULL, A("1,1,1,1,1"));
    struct buf texts = {0};
    buf_addz(&texts, "{\"dt\":\"");
    for (int i = 0; i < 4999; i++)
        buf_addc(&texts, 'x');
    size_t spec = texts.len + 2;
    buf_addz(&texts, "\"}:1,1,1,1,1;" B("2,2,1,2,1"));
    struct draft e = next_of(&d, buf_z(&texts));
    ((struct fx_entry *)e.entries)[0].no_file = true; /* no file has such a path */
    fx_foreign(&f, "t", &e);
    for (int i = 0; i < 2; i++) {
        FAILS(&f, E_UNSUPPORTED, RES_TABLE, "5002", list_rc("t", &s));
        FAILS(&f, E_UNSUPPORTED, RES_TABLE, "5002", change("t", 'm', "[]", false));
    }
    texts.len = spec;
    buf_addz(&texts, ":-1,-1,-1,1,1");
    struct draft g = next_of(&e, buf_z(&texts));
    buf_done(&texts);
    assert_true(fx_answer(&f, "t", &g));
    COUNTED("t", "dt=b=2,2,1,2,1 dt=a=1,1,1,1,1");
}

/* Main becomes what the branch was. */
static void forward(void **state)
{
    (void)state;
    struct draft d = commit_on("t", NULL, A("1,1,1,1,1"));
    commit_on("t", &d, A("1,1,1,1,1"));
    KNOWN("t", "dt=a=2,2,2,1,1");
    OK(&f, fx_bcreate(&f, "b", NULL));
    d = commit_on("t$branch_b", NULL, B("5,50,1,5,1"));
    KNOWN("t$branch_b", "dt=b=5,50,1,5,1");
    OK(&f, fx_forward(&f, "b"));
    COUNTED("t", "dt=b=5,50,1,5,1");
    commit_on("t", &d, A("1,1,1,1,1"));
    KNOWN("t", "dt=b=5,50,1,5,1 dt=a=1,1,1,1,1");
}

/* The background leaves the newest hundred alone. */
static void tidied(void **state)
{
    (void)state;
    struct ctx cx;
    struct draft d = commit_on("t", NULL, A("1,1,1,1,1"));
    for (int i = 1; i < 230; i++)
        d = commit_on("t", &d, A("1,1,1,1,1"));
    fx_begin(&cx);
    OK(&f, fx_end(&f, &cx, catalog_prune(&cx, f.cat)));
    OK(&f, fx_rollback(&f, "t", 130));
    SAME(list("t"), S("dt=a=130,130,130,1,1"));
    OK(&f, fx_rollback(&f, "t", 129));
    COUNTED("t", "dt=a=129,129,129,1,1");
}

/* --- alter ------------------------------------------------------------------------------------ */

#define SET(v)                                                                                     \
    "[{\"action\":\"setOption\",\"key\":\"metastore.partitioned-table\",\"value\":\"" v "\"}]"

static void switched_on(void **state)
{
    (void)state;
    OK(&f, fx_create_as(&f, "d", "empty", SCHEMA("\"dt\"", "")));
    OK(&f, fx_create_as(&f, "d", "late", SCHEMA("\"dt\"", "")));
    struct draft d = commit_on("late", NULL, A("1,1,1,1,1"));
    OK(&f, fx_alter(&f, "late", SET("true")));
    d = commit_on("late", &d, A("1,1,1,1,1"));
    COUNTED("late", "dt=a=2,2,2,1,1");
    commit_on("late", &d, A("1,1,1,1,1"));
    KNOWN("late", "dt=a=3,3,3,1,1");
    OK(&f, fx_alter(&f, "empty", SET("true"))); /* before its first snapshot */
    commit_on("empty", NULL, A("1,1,1,1,1"));
    SAME(list("empty"), S("dt=a=1,1,1,1,1"));
}

static void switched_off(void **state)
{
    (void)state;
    str s;
    struct draft d = commit_on("t", NULL, A("1,1,1,1,1"));
    OK(&f, fx_alter(&f, "t", SET("false")));
    FAILS(&f, E_UNSUPPORTED, RES_TABLE, "without the option", list_rc("t", &s));
    OK(&f, fx_alter(&f, "t", SET("true"))); /* nothing happened meanwhile */
    SAME(list("t"), S("dt=a=1,1,1,1,1"));
    OK(&f, fx_alter(&f, "t", SET("false")));
    d = commit_on("t", &d, A("1,1,1,1,1"));
    OK(&f, fx_alter(&f, "t", SET("true")));
    COUNTED("t", "dt=a=2,2,2,1,1");
}

/* --- what clients change ---------------------------------------------------------------------- */

static void create_drop_mark(void **state)
{
    (void)state;
    CHANGES('c', "[{\"dt\":\"a\"},{\"dt\":\"b\"}]", "--");
    CHANGES('c', "[{\"dt\":\"b\"},{\"dt\":\"c\"}]", "+-");
    FAILS(&f, E_EXISTS, RES_PARTITION, "dt=a",
          change("t", 'c', "[{\"dt\":\"z\"},{\"dt\":\"a\"}]", true));
    assert_string_equal(f.err.res_name, "dt=a");
    SAME(list("t"), S("dt=c=-1,-1,-1,-1,-1 dt=b=-1,-1,-1,-1,-1 dt=a=-1,-1,-1,-1,-1"));
    FAILS(&f, E_NOTFOUND, RES_PARTITION, "dt=x",
          change("t", 'd', "[{\"dt\":\"a\"},{\"dt\":\"x\"}]", true));
    assert_string_equal(f.err.res_name, "dt=x");
    CHANGES('d', "[{\"dt\":\"a\"},{\"dt\":\"x\"}]", "+-");
    CHANGES('m', "[{\"dt\":\"b\"},{\"dt\":\"x\"}]", "--");
    SAME(list("t"), S("dt=c=-1,-1,-1,-1,-1 dt=b=-1,-1,-1,-1,-1!"));
    /* Commits go on from there. */
    struct draft d = commit_on("t", NULL, B("5,50,1,9,3") ";{\"dt\":\"d\"}:1,1,1,1,1");
    SAME(list("t"), S("dt=d=1,1,1,1,1 dt=c=-1,-1,-1,-1,-1 dt=b=5,50,1,9,3!"));
    CHANGES('d', "[{\"dt\":\"b\"}]", "+");
    commit_on("t", &d, B("1,1,1,1,1"));
    SAME(list("t"), S("dt=d=1,1,1,1,1 dt=c=-1,-1,-1,-1,-1 dt=b=1,1,1,1,1"));
    CHANGES('c', "[]", "");
    CHANGES('d', "[]", "");
    CHANGES('m', "[]", "");
}

static void reports(void **state)
{
    (void)state;
    char there[32];
    OK(&f, change_stats("t", 'c', "[{\"dt\":\"a\"}]", false, A("3,300,1,1000,7"), false, there));
    SAME(list("t"), S("dt=a=3,300,1,1000,-1"));
    OK(&f, change_stats("t", 'c', "[{\"dt\":\"b\"}]", false,
                        A("9,9,9,9,9") ";{\"dt\":\"z\"}:1,1,1,1,1", true, there));
    SAME(list("t"), S("dt=b=-1,-1,-1,-1,-1 dt=a=3,300,1,1000,-1"));
    OK(&f, change_stats("t", 'c', "[]", false, A("9,9,9,9,9") ";{\"xx\":\"z\"}:1,1,1,1,1", true,
                        there)); /* one that cannot be there */
    SAME(list("t"), S("dt=b=-1,-1,-1,-1,-1 dt=a=3,300,1,1000,-1"));
    OK(&f, change_stats("t", 'c', "[]", false, A("9,9,9,9,9"), true, there));
    SAME(list("t"), S("dt=b=-1,-1,-1,-1,-1 dt=a=9,9,9,9,-1"));
}

/* What is not folded yet comes before. */
static void changes_after_commits(void **state)
{
    (void)state;
    struct draft d = commit_on("t", NULL, A("1,1,1,1,1"));
    CHANGES('c', "[{\"dt\":\"a\"}]", "+");
    d = commit_on("t", &d, A("1,1,1,1,1"));
    CHANGES('d', "[{\"dt\":\"a\"}]", "+");
    d = commit_on("t", &d, A("1,1,1,1,1"));
    CHANGES('m', "[{\"dt\":\"a\"}]", "-");
    SAME(list("t"), S("dt=a=1,1,1,1,1!"));
}

static void mark_below(void **state)
{
    (void)state;
    OK(&f, fx_create_as(&f, "d", "two", SCHEMA(TWO, ON)));
    OK(&f, change("two", 'c',
                  "[{\"dt\":\"1\",\"hh\":\"1\"},{\"dt\":\"1\",\"hh\":\"2\"},"
                  "{\"dt\":\"10\",\"hh\":\"1\"}]",
                  true));
    OK(&f, change("two", 'm', "[{\"dt\":\"1\"}]", false));
    SAME(list("two"), S("dt=10/hh=1=-1,-1,-1,-1,-1 dt=1/hh=2=-1,-1,-1,-1,-1! "
                        "dt=1/hh=1=-1,-1,-1,-1,-1!"));
}

/* The files are the clients' own: nothing is committed, partitions are registered. */
static void format_table(void **state)
{
    (void)state;
    char there[32];
    OK(&f, fx_create_as(&f, "d", "csv",
                        SCHEMA("\"dt\"", ON ",\"type\":\"format-table\",\"file.format\":\"csv\"")));
    OK(&f, change("csv", 'c', "[{\"dt\":\"a\"},{\"dt\":\"b\"}]", true));
    OK(&f, change_stats("csv", 'c', "[]", false, A("1,1,1,1,1"), false, there));
    OK(&f, change("csv", 'm', "[{\"dt\":\"b\"}]", false));
    SAME(list_named("csv", "[{\"dt\":\"a\"},{\"dt\":\"b\"}]"),
         S("dt=b=-1,-1,-1,-1,-1! dt=a=1,1,1,1,-1"));
    fx_restart(&f);
    OK(&f, change("csv", 'd', "[{\"dt\":\"b\"}]", true));
    SAME(list_named("csv", "[{\"dt\":\"a\"},{\"dt\":\"b\"}]"), S("dt=a=1,1,1,1,-1"));
    OK(&f, fx_create_as(&f, "d", "csv2", SCHEMA("\"dt\"", "\"type\":\"format-table\"")));
    FAILS(&f, E_UNSUPPORTED, RES_TABLE, "without the option", change("csv2", 'c', "[]", false));
    OK(&f, fx_drop(&f, "csv"));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "csv", change("csv", 'c', "[]", false));
}

static void store_fails(void **state)
{
    (void)state;
    static const struct {
        enum fx_op op;
        char what;
    } ops[] = {{ST_partitions_create, 'c'}, {ST_partitions_drop, 'd'}, {ST_partitions_mark, 'm'}};
    for (size_t i = 0; i < 3; i++) {
        FAIL(&f, .op = ops[i].op, .code = E_IO);
        assert_int_equal(change("t", ops[i].what, "[{\"dt\":\"a\"}]", false), E_IO);
        fx_well(&f);
        FAIL(&f, .op = ops[i].op, .code = E_UNKNOWN, .after = true);
        assert_int_equal(change("t", ops[i].what, "[{\"dt\":\"a\"}]", false), E_UNKNOWN);
        fx_well(&f);
    }
    OK(&f, change("t", 'c', "[{\"dt\":\"a\"}]", true)); /* the drop was the last word */
    FAIL(&f, .op = ST_partitions_list, .code = E_IO);
    str s;
    assert_int_equal(list_rc("t", &s), E_IO);
    fx_well(&f);
    bool ok;
    struct draft d = next_of(NULL, A("1,1,1,1,1"));
    fx_restart(&f);
    assert_int_equal(fx_head_id(&f, "t"), 0);
    FAIL(&f, .op = ST_branch_get, .code = E_IO); /* of its schema: nothing was done then */
    int rc = fx_commit(&f, "t", &d, &ok);
    assert_int_equal(rc, E_IO);
    fx_well(&f);
    assert_int_equal(fx_head_id(&f, "t"), 0);
    assert_true(fx_answer(&f, "t", &d));
    SAME(list("t"), S("dt=a=1,1,1,1,1"));
}

static void dropped(void **state)
{
    (void)state;
    str s;
    commit_on("t", NULL, A("1,1,1,1,1"));
    OK(&f, change("t", 'c', "[{\"dt\":\"z\"}]", false));
    OK(&f, fx_drop(&f, "t"));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t", list_rc("t", &s));
    FAILS(&f, E_NOTFOUND, RES_TABLE, "t", change("t", 'c', "[{\"dt\":\"a\"}]", false));
    OK(&f, fx_create_as(&f, "d", "t", SCHEMA("\"dt\"", ON)));
    SAME(list("t"), S(""));
    commit_on("t", NULL, B("1,1,1,1,1"));
    OK(&f, fx_rename(&f, "t", "t2"));
    SAME(list("t2"), S("dt=b=1,1,1,1,1"));
}

#define T(fn)                                                                                      \
    cmocka_unit_test_setup_teardown(fn, setup, teardown),                                          \
    {                                                                                              \
#fn "_sqlite", fn, setup_sqlite, teardown, NULL                                            \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(tables_without),
        T(upper_case_option),
        T(without_keys),
        T(names),
        T(one_name),
        T(specs_that_do_not_fit),
        T(commits_add_up),
        T(replays_do_not_count_twice),
        T(record_again),
        T(nothing_changes),
        T(adoption),
        T(crash_before_the_record),
        T(crash_while_folding),
        T(rollback_before_it_is_folded),
        T(rollback_after),
        T(changes_count),
        T(counting_fails),
        T(that_cannot_be_counted),
        T(without_a_name),
        T(forward),
        T(tidied),
        T(switched_on),
        T(switched_off),
        T(create_drop_mark),
        T(reports),
        T(changes_after_commits),
        T(mark_below),
        T(format_table),
        T(store_fails),
        T(dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
