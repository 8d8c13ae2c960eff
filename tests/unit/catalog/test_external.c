/* test_external.c - tables at paths that a client names: created there, registered with what lies there,
 * committed to behind our back, dropped without their files; and the paths that are no places. */
#include "tests/unit/catalog/fixture.h"

#include <errno.h>

static struct fx f;
static char ext[64], ext2[64]; /* two roots that the administrator allows */
static str roots[2];
static bool memory; /* all roots are the one in memory */

static int open_root(struct ctx *cx, const struct io_local_opts *o, struct io **ret)
{
    if (!memory && !str_eqz(o->root, f.root))
        return io_local_new(cx, o, ret);
    return fx_open_root(cx, o, ret);
}

static void start(unsigned kind)
{
    fx_init(&f, kind);
    memory = kind & FX_MEM;
    fx_temp_dir(ext, sizeof ext, "ext");
    fx_temp_dir(ext2, sizeof ext2, "ext2");
    roots[0] = str_of(ext);
    roots[1] = str_of(ext2);
    f.o.open_root = open_root;
    f.o.external_roots = roots;
    f.o.n_external_roots = 2;
    OK(&f, fx_open(&f));
    OK(&f, fx_db(&f, "d"));
}

static int setup(void **state)
{
    (void)state;
    start(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    nftw(ext, rm_one, 16, FTW_DEPTH | FTW_PHYS);
    nftw(ext2, rm_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}

/* --- files of clients ------------------------------------------------------------------------- */

static void put(str path, str data) /* absolute, with its folders */
{
    char z[512];
    snprintf(z, sizeof z, "%.*s", STR(path));
    for (char *s = strchr(z + 1, '/'); s; s = strchr(s + 1, '/')) {
        *s = '\0';
        if (mkdir(z, 0777) < 0)
            assert_int_equal(errno, EEXIST);
        *s = '/';
    }
    FILE *out = fopen(z, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(data.p, 1, data.len, out), data.len);
    assert_int_equal(fclose(out), 0);
}

static bool on_disk(str path)
{
    return access(str_dupz(&f.cx.arena, path), F_OK) == 0;
}

static int n_files;
static int count_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path;
    (void)st;
    (void)type;
    (void)ftw;
    n_files++;
    return 0;
}
static int entries_below(const char *path)
{
    n_files = 0;
    nftw(path, count_one, 16, FTW_PHYS);
    return n_files;
}

static str in(const char *table, const char *rest)
{
    return fx_text(&f, "%s/%s/%s", ext, table, rest);
}

static str schema_file(int id, const char *option)
{
    return fx_text(
        &f,
        "{\"version\":3,\"id\":%d,\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT NOT "
        "NULL\"},{\"id\":1,\"name\":\"v\",\"type\":\"STRING\"}],\"highestFieldId\":1,"
        "\"partitionKeys\":[],\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"1\","
        "\"o\":\"%s\"},\"timeMillis\":1700000000000}",
        id, option);
}

static struct draft d[8];

static void put_files(const char *table, const struct draft *of)
{
    size_t n;
    struct fx_file *file = fx_named(&f, of, &n);
    for (size_t i = 0; i < n; i++)
        put(in(table, file[i].path.p), file[i].bytes);
}

static void foreign_files(const char *table, int id) /* all of a commit but the snapshot */
{
    d[id] = fx_next(&f, id > 1 ? &d[id - 1] : NULL, "u", true);
    d[id].schema_id = 1;
    d[id].no_files = true;
    put_files(table, &d[id]);
}

static void foreign(const char *table, int id) /* a commit in the files */
{
    foreign_files(table, id);
    put(in(table, fx_text(&f, "snapshot/snapshot-%d", id).p), fx_snapshot(&f, &d[id]));
}

/* Schemas 0 and 1, snapshots first..last; those before them have expired. */
static void foreign_table(const char *table, int first, int last)
{
    memset(d, 0, sizeof d);
    put(in(table, "schema/schema-0"), schema_file(0, "zero"));
    put(in(table, "schema/schema-1"), schema_file(1, "one"));
    for (int i = 1; i <= last; i++)
        if (i < first)
            foreign_files(table, i);
        else
            foreign(table, i);
}

/* --- calls ------------------------------------------------------------------------------------ */

static int create_at(const char *name, const char *path)
{
    return fx_create_as(
        &f, "d", name,
        fx_text(
            &f,
            "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT NOT NULL\"},{\"id\":1,\"name\":"
            "\"v\",\"type\":\"STRING\"}],\"partitionKeys\":[],\"primaryKeys\":[\"k\"],"
            "\"options\":{\"bucket\":\"1\",\"path\":\"%s\"},\"comment\":\"c\"}",
            path)
            .p);
}

static int register_at(const char *name, const char *path)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(&f, &cx, cat_table_register(&cx, f.cat, f.w, S("d"), str_of(name), str_of(path)));
}

static bool commit_to(const char *name, const char *table, struct draft *last)
{
    struct draft n = fx_next(&f, last->id ? last : NULL, "v", true);
    n.schema_id = last->schema_id;
    n.no_files = true;
    put_files(table, &n);
    bool ok = fx_answer(&f, name, &n);
    if (ok)
        *last = n;
    return ok;
}

static void not_there(const char *name)
{
    assert_int_equal(fx_get(&f, name, NULL), E_NOTFOUND);
    assert_int_equal(fx_intents(&f), 0);
}

/* --- created and registered ------------------------------------------------------------------- */

static void created_at_a_path(void **state)
{
    (void)state;
    struct table_info t;
    struct draft last = {0};
    const char *path = in("a", "t").p;
    OK(&f, create_at("t", fx_text(&f, "file:%s/", path).p));
    OK(&f, fx_get(&f, "t", &t));
    SAME(t.path, fx_text(&f, "file://%s", path));
    SAME(fx_row(&f, "t").external, str_of(path));
    SAME(fx_row(&f, "t").dir, S(""));
    assert_null(memmem(t.row.schema_json.p, t.row.schema_json.len, path, strlen(path)));
    assert_true(on_disk(in("a", "t/schema/schema-0")));
    assert_int_equal(fx_head_id(&f, "t"), 0);
    assert_true(commit_to("t", "a/t", &last));
    assert_true(commit_to("t", "a/t", &last));
    assert_true(on_disk(in("a", "t/snapshot/snapshot-2")));
    OK(&f, fx_alter(&f, "t", "[{\"action\":\"setOption\",\"key\":\"k\",\"value\":\"v\"}]"));
    assert_true(on_disk(in("a", "t/schema/schema-1")));
    OK(&f, fx_rename(&f, "t", "u"));
    fx_restart(&f);
    assert_int_equal(fx_head_id(&f, "u"), 2);
    OK(&f, fx_rollback(&f, "u", 1));
    assert_false(on_disk(in("a", "t/snapshot/snapshot-2")));
    FAILS(&f, E_EXISTS, RES_TABLE, "u", create_at("u", in("b", "t").p));
    assert_false(on_disk(in("b", "")));
    assert_int_equal(fx_intents(&f), 0);
}

static void what_lies_there_is_taken(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        const char *name = how ? "registered" : "created";
        struct table_info t;
        struct seen s;
        foreign_table(name, 3, 5);
        OK(&f, how ? register_at(name, fx_text(&f, "%s/%s", ext, name).p)
                   : create_at(name, fx_text(&f, "%s/%s", ext, name).p));
        OK(&f, fx_get(&f, name, &t));
        assert_int_equal(t.row.schema_id, 1);
        assert_non_null(memmem(t.row.schema_json.p, t.row.schema_json.len, "\"one\"", 5));
        OK(&f, fx_head(&f, name, &s));
        SAME(s.json, fx_snapshot(&f, &d[5]));
        assert_int_equal(s.totals.file_count, -1);
        assert_true(fx_answer(&f, name, &d[5])); /* its writer asks again */
        struct draft last = d[5];
        assert_true(commit_to(name, name, &last));
        fx_restart(&f);
        assert_int_equal(fx_head_id(&f, name), 6);
        assert_true(fx_answer(&f, name, &last));
    }
}

static void a_table_without_snapshots_is_taken(void **state)
{
    (void)state;
    struct draft last = {.schema_id = 1};
    foreign_table("t", 1,
                  0); /* as Paimon leaves a table that nobody wrote to: no folder for them */
    assert_false(on_disk(in("t", "snapshot")));
    OK(&f, register_at("t", fx_text(&f, "%s/t", ext).p));
    assert_int_equal(fx_head_id(&f, "t"), 0);
    last.id = 0;
    struct draft n = fx_next(&f, NULL, "v", true);
    n.schema_id = 1;
    n.no_files = true;
    put_files("t", &n);
    assert_true(fx_answer(&f, "t", &n));
    assert_int_equal(last.id, 0);
}

static void what_cannot_be_taken(void **state)
{
    (void)state;
    const char *path = fx_text(&f, "%s/t", ext).p;
    FAILS(&f, E_INVAL, RES_TABLE, "no schema file", register_at("t", path));
    assert_int_equal(entries_below(ext), 1); /* nothing was made */
    foreign_table("t", 3, 6);
    str gap = in("t", "snapshot/snapshot-4"), text = fx_snapshot(&f, &d[4]);
    assert_int_equal(unlink(gap.p), 0);
    FAILS(&f, E_CORRUPT, RES_NONE, "missing", register_at("t", path));
    FAILS(&f, E_CORRUPT, RES_NONE, "missing", create_at("t", path));
    not_there("t");
    put(gap, text);
    put(in("t", "snapshot/snapshot-6"), S("garbage"));
    FAILS(&f, E_CORRUPT, RES_NONE, "snapshot-6", register_at("t", path));
    put(in("t", "snapshot/snapshot-6"), fx_snapshot(&f, &d[5])); /* another number */
    FAILS(&f, E_CORRUPT, RES_NONE, "snapshot 5", register_at("t", path));
    put(in("t", "snapshot/snapshot-6"), fx_snapshot(&f, &d[6]));
    str schema = in("t", "schema/schema-1");
    put(schema, S("{}"));
    assert_true(register_at("t", path) < 0);
    put(schema, schema_file(0, "x"));
    FAILS(&f, E_CORRUPT, RES_NONE, "holds schema 0", register_at("t", path));
    put(schema, schema_file(1, "one"));
    not_there("t");
    /* Other columns than the client thinks of. */
    const char *other =
        "{\"fields\":[{\"id\":0,\"name\":\"z\",\"type\":\"INT\"}],\"partitionKeys\":[],"
        "\"primaryKeys\":[],\"options\":{\"path\":\"%s\"}}";
    CLEANUP(buf_done) struct buf b = {0};
    const char *mark = strstr(other, "%s");
    buf_adds(&b, str_n(other, (size_t)(mark - other)));
    buf_adds(&b, str_of(path));
    buf_adds(&b, str_of(mark + 2));
    FAILS(&f, E_INVAL, RES_TABLE, "other columns",
          fx_create_as(&f, "d", "t", str_dupz(&f.cx.arena, buf_str(&b))));
    not_there("t");
    OK(&f, register_at("t", path));
    assert_int_equal(fx_head_id(&f, "t"), 6);
    FAILS(&f, E_EXISTS, RES_TABLE, "t", register_at("t", path));
}

/* --- behind our back -------------------------------------------------------------------------- */

static void commits_in_the_files_are_seen_at_once(void **state)
{
    (void)state;
    struct seen s;
    struct table_info t;
    foreign_table("t", 1, 2);
    OK(&f, register_at("t", fx_text(&f, "%s/t", ext).p));
    for (int i = 3; i <= 5; i++) {
        assert_int_equal(fx_head_id(&f, "t"), i - 1);
        assert_int_equal(fx_peek(&f, "t", NULL), PEEK_ASK);
        foreign("t", i);
        OK(&f, fx_head(&f, "t", &s));
        SAME(s.json, fx_snapshot(&f, &d[i]));
    }
    put(in("t", "schema/schema-2"), schema_file(2, "two"));
    OK(&f, fx_get(&f, "t", &t));
    assert_int_equal(t.row.schema_id, 2);
    assert_int_equal(fx_row(&f, "t").schema_id, 2);
    /* Ours on theirs, theirs on ours. */
    struct draft last = d[5];
    assert_true(commit_to("t", "t", &last));
    d[6] = last;
    foreign("t", 7);
    assert_int_equal(fx_head_id(&f, "t"), 7);
    struct draft stale = fx_next(&f, &last, "w", true);
    stale.no_files = true;
    stale.schema_id = 1;
    assert_false(fx_answer(&f, "t", &stale));
    assert_int_equal(fx_counts(&f).forked, 0);
}

/* --- dropped ---------------------------------------------------------------------------------- */

static void a_drop_leaves_the_files(void **state)
{
    (void)state;
    const char *path = fx_text(&f, "%s/t", ext).p;
    foreign_table("t", 1, 3);
    OK(&f, register_at("t", path));
    int before = entries_below(path);
    OK(&f, fx_drop(&f, "t"));
    assert_int_equal(fx_intents(&f), 0);
    assert_int_equal(entries_below(path), before);
    OK(&f, register_at("again", path));
    assert_int_equal(fx_head_id(&f, "again"), 3);
    OK(&f, fx_create(&f, "inside"));
    OK(&f, fx_db_drop(&f, "d"));
    assert_int_equal(fx_intents_soon(&f, 0), 0);
    assert_int_equal(entries_below(path), before);
    assert_true(fx_gone_soon(&f, S("d.db/inside")));
    OK(&f, fx_db(&f, "d"));
    OK(&f, register_at("t", path));
    assert_int_equal(fx_head_id(&f, "t"), 3);
}

static void a_drop_in_the_warehouse_leaves_them_too(void **state)
{
    (void)state;
    const char *two = fx_text(&f, "%s/d.db/mine", f.root).p, *one = fx_text(&f, "%s/one", f.root).p;
    OK(&f, create_at("two", two));
    OK(&f, create_at("one", one));
    SAME(fx_row(&f, "two").dir, S("d.db/mine"));
    OK(&f, fx_create(&f, "mine")); /* the server goes elsewhere */
    assert_false(str_eq(fx_dir(&f, "mine"), S("d.db/mine")));
    OK(&f, fx_drop(&f, "two"));
    OK(&f, fx_drop(&f, "one"));
    OK(&f, fx_drop(&f, "mine"));
    assert_int_equal(fx_intents_soon(&f, 0), 0);
    assert_true(fx_exists(&f, S("d.db/mine/schema/schema-0")));
    assert_true(fx_exists(&f, S("one/schema/schema-0")));
}

static void a_root_that_is_configured_no_more(void **state)
{
    (void)state;
    struct seen s;
    foreign_table("t", 1, 3);
    OK(&f, register_at("t", fx_text(&f, "%s/t", ext).p));
    OK(&f, fx_create(&f, "in"));
    f.o.n_external_roots = 0;
    fx_restart(&f);
    FAILS(&f, E_BUSY, RES_TABLE, "put the root back", fx_get(&f, "t", NULL));
    FAILS(&f, E_BUSY, RES_TABLE, "put the root back", fx_head(&f, "t", &s));
    FAILS(&f, E_INVAL, RES_TABLE, "no directory", create_at("u", fx_text(&f, "%s/u", ext).p));
    OK(&f, fx_get(&f, "in", NULL));
    OK(&f, fx_rename(&f, "t", "t2"));
    f.o.n_external_roots = 2;
    fx_restart(&f);
    assert_int_equal(fx_head_id(&f, "t2"), 3);
    f.o.n_external_roots = 0;
    fx_restart(&f);
    OK(&f, fx_db_drop(&f, "d")); /* what is recorded can go without its files */
    assert_true(on_disk(in("t", "snapshot/snapshot-3")));
}

/* --- places ----------------------------------------------------------------------------------- */

static void refused(const char *path)
{
    for (int how = 0; how < 2; how++) {
        int rc = how ? register_at("x", path) : create_at("x", path);
        if (rc != E_INVAL)
            fail_msg("%s: %s: %s", path, err_name(rc), f.err.msg);
    }
    not_there("x");
}

static void paths_that_are_no_places(void **state)
{
    (void)state;
    str w = str_of(f.root), e = str_of(ext);
    put(fx_text(&f, "%.*s/d.db/keep/x", STR(w)), S("x"));
    int before =
        entries_below(f.root) + entries_below(ext) + entries_below("/tmp/latch-no-such-dir");
    str bad[] = {
        S("/etc/x"),
        S("relative/x"),
        S(""),
        S("/"),
        S("file://host/tmp/x"),
        S("s3://bucket/x"),
        e, /* a root itself */
        fx_text(&f, "%.*s/", STR(e)),
        w,
        fx_text(&f, "%.*s/../x", STR(e)),
        fx_text(&f, "%.*s/a/../../etc", STR(e)),
        fx_text(&f, "%.*s/./x", STR(e)),
        fx_text(&f, "%.*s//x", STR(e)),
        fx_text(&f, "%.*sx/t", STR(e)), /* begins with the root's name */
        fx_text(&f, "%.*s/a%%2fb", STR(e)),
        fx_text(&f, "%.*s/a#b", STR(e)),
        fx_text(&f, "%.*s/a?b", STR(e)),
        fx_text(&f, "%.*s/a\\u0001b", STR(e)),
        fx_text(&f, "%.*s/d.db/keep/x", STR(w)), /* deeper than a table */
        fx_text(&f, "%.*s/d.db", STR(w)),        /* where a database lies, or may come to lie */
        fx_text(&f, "%.*s/other.db", STR(w)),
        fx_text(&f, "%.*s/.latch-trash", STR(w)),
        fx_text(&f, "%.*s/.latch-trash/1", STR(w)),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(str_dupz(&f.cx.arena, bad[i]));
    assert_int_equal(entries_below(f.root) + entries_below(ext) +
                         entries_below("/tmp/latch-no-such-dir"),
                     before);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    char target[64];
    fx_temp_dir(target, sizeof target, "target");
    assert_int_equal(symlink(target, fx_text(&f, "%s/link", ext).p), 0);
    static const char *const paths[] = {"link", "link/t", "link/a/t"};
    for (int i = 0; i < 3; i++) {
        const char *path = fx_text(&f, "%s/%s", ext, paths[i]).p;
        int rc = create_at("x", path);
        assert_true(rc < 0 && rc != E_UNKNOWN);
        assert_true(register_at("x", path) < 0);
        not_there("x");
    }
    assert_int_equal(entries_below(target), 1); /* itself */
    rmdir(target);
    put(fx_text(&f, "%s/file", ext), S("x"));
    assert_true(create_at("x", fx_text(&f, "%s/file", ext).p) < 0);
    assert_true(create_at("x", fx_text(&f, "%s/file/t", ext).p) < 0);
    not_there("x");
}

/* Not one file is written where another table's are. */
static void places_of_other_tables(void **state)
{
    (void)state;
    const char *path = fx_text(&f, "%s/a/t", ext).p;
    OK(&f, create_at("t", path));
    OK(&f, fx_create(&f, "in"));
    int before = entries_below(ext), inside = entries_below(f.root);
    static const char *const near[] = {"a/t", "a/t/", "a/t/x", "a/t/branch/branch-x", "a"};
    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        refused(fx_text(&f, "%s/%s", ext, near[i]).p);
    refused(fx_text(&f, "%s/d.db/in", f.root).p);
    assert_int_equal(entries_below(ext), before);
    assert_int_equal(entries_below(f.root), inside);
    OK(&f, fx_rename(&f, "t", "t2"));
    refused(fx_text(&f, "%s/a/t/x", ext).p);
    OK(&f, create_at("u", fx_text(&f, "%s/a/tt", ext).p));
    OK(&f, create_at("v", fx_text(&f, "%s/t", ext2).p));
    OK(&f, fx_drop(&f, "t2"));
    OK(&f, register_at("t", path));
}

/* A root around the warehouse, or in it, does not change what the warehouse's directories are for. */
static void roots_around_and_in_the_warehouse(void **state)
{
    (void)state;
    str up = str_of(f.root), slash = up;
    while (slash.p[slash.len - 1] != '/')
        slash.len--;
    slash.len--;
    roots[0] = str_dup(&f.cx.arena, slash);
    roots[1] = fx_text(&f, "%s/d.db", f.root);
    OK(&f, fx_create(&f, "in"));
    fx_restart(&f);
    refused(fx_text(&f, "%s/d.db/in", f.root).p);
    refused(fx_text(&f, "%s/d.db/in/x", f.root).p);
    refused(fx_text(&f, "%s/d.db/in/branch/branch-x", f.root).p);
    refused(fx_text(&f, "%s/a/b/c", f.root).p);
    refused(fx_text(&f, "%s/d.db", f.root).p);
    refused(f.root);
    refused(roots[0].p); /* around the warehouse */
    OK(&f, create_at("two", fx_text(&f, "%s/d.db/mine", f.root).p));
    SAME(fx_row(&f, "two").dir, S("d.db/mine"));
    OK(&f, create_at("beside", fx_text(&f, "%s/t", ext).p));
    OK(&f, fx_drop(&f, "two"));
    assert_true(fx_exists(&f, S("d.db/mine/schema/schema-0")));
}

/* --- death ------------------------------------------------------------------------------------ */

static void a_crash_anywhere_in_create(void **state)
{
    for (int power = 0; power < 2; power++) {
        bool lived = false;
        for (long k = 1; !lived; k++) {
            teardown(state);
            start(FX_MEM);
            const char *path = fx_text(&f, "%s/t", ext).p;
            fx_die_at(&f, k);
            int rc = create_at("t", path);
            lived = !fx_dead(&f);
            fx_crash(&f, power);
            assert_int_equal(fx_intents(&f), 0);
            int there = fx_get(&f, "t", NULL);
            if (rc == 0)
                assert_int_equal(there, 0);
            if (there != 0) {
                assert_int_equal(there, E_NOTFOUND);
                OK(&f, k & 1 || !fx_exists(&f, S("t/schema/schema-0")) ? create_at("t", path)
                                                                       : register_at("t", path));
            }
            assert_true(fx_exists(&f, S("t/schema/schema-0")));
            assert_int_equal(fx_head_id(&f, "t"), 0);
            if (power)
                io_mem_crash(f.io);
            assert_true(fx_exists(&f, S("t/snapshot")));
            assert_true(fx_exists(&f, S("t/schema/schema-0")));
            assert_true(k < 50);
        }
    }
}

static void a_failure_anywhere_in_create(void **state)
{
    static const int codes[] = {E_IO, E_BUSY, E_NOMEM};
    int hits = 0;
    for (enum fx_op op = 0; op < OP_COUNT; op++)
        for (size_t c = 0; c < 3; c++)
            for (int nth = 1;; nth++) {
                teardown(state);
                start(FX_MEM);
                const char *path = fx_text(&f, "%s/t", ext).p;
                FAIL(&f, .op = op, .nth = nth, .code = codes[c]);
                int rc = create_at("t", path);
                bool hit = f.plans[0].hits >= nth;
                fx_well(&f);
                if (!hit)
                    break;
                hits++;
                assert_true(rc == 0 || rc == codes[c]);
                assert_int_equal(fx_get(&f, "t", NULL), rc == 0 ? 0 : E_NOTFOUND);
                if (rc != 0)
                    OK(&f, create_at("t", path));
                assert_int_equal(fx_head_id(&f, "t"), 0);
            }
    assert_true(hits > 20);
    for (int after = 0; after < 2; after++) {
        teardown(state);
        start(FX_MEM);
        const char *path = fx_text(&f, "%s/t", ext).p;
        FAIL(&f, .op = ST_table_create, .code = E_UNKNOWN, .after = after);
        FAILS(&f, E_UNKNOWN, RES_NONE, "the test", create_at("t", path));
        fx_well(&f);
        assert_int_equal(fx_get(&f, "t", NULL), after ? 0 : E_NOTFOUND);
        assert_int_equal(create_at("t", path), after ? E_EXISTS : 0);
    }
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(created_at_a_path),
        T(what_lies_there_is_taken),
        T(a_table_without_snapshots_is_taken),
        T(what_cannot_be_taken),
        T(commits_in_the_files_are_seen_at_once),
        T(a_drop_leaves_the_files),
        T(a_drop_in_the_warehouse_leaves_them_too),
        T(a_root_that_is_configured_no_more),
        T(paths_that_are_no_places),
        T(links_are_not_followed),
        T(places_of_other_tables),
        T(roots_around_and_in_the_warehouse),
        T(a_crash_anywhere_in_create),
        T(a_failure_anywhere_in_create),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
