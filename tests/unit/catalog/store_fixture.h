/* store_fixture.h - a store of either kind for one test, and short forms for what tests ask of it.
 *
 * A test gets a store that was set up: tenant "acme", warehouse "wh" (id in env.wh), principal
 * "ann". Included once by each test program. */
#ifndef LATCH_TESTS_UNIT_CATALOG_STORE_FIXTURE_H
#define LATCH_TESTS_UNIT_CATALOG_STORE_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <unistd.h>

#include "catalog/store/store.h"
#include "proto/base/mem.h"

#define UNUSED_FN __attribute__((unused))
#define S(lit)    STR_LIT(lit)
#define N(a)      (sizeof(a) / sizeof((a)[0]))

struct env {
    struct store *st;
    struct ctx cx;
    int64_t wh;
    char dir[64], path[96]; /* of the SQLite kind */
};

/* The call must succeed; its error is printed when it does not. */
#define OK(e, call)                                                                                \
    do {                                                                                           \
        int ok_rc_ = (call);                                                                       \
        if (ok_rc_ != 0)                                                                           \
            fail_msg("%s: %s: %s", #call, err_name(ok_rc_), (e)->cx.err.msg);                      \
        assert_int_equal((e)->cx.err.code, 0);                                                     \
    } while (0)
/* The call must fail with this code, resource and name, and say something. */
#define FAILS(e, want, want_res, want_name, call)                                                  \
    do {                                                                                           \
        assert_string_equal(err_name(call), err_name(want));                                       \
        assert_int_equal((e)->cx.err.code, (want));                                                \
        assert_int_equal((e)->cx.err.res, (want_res));                                             \
        assert_string_equal((e)->cx.err.res_name, (want_name));                                    \
        assert_true(strlen((e)->cx.err.msg) > 10);                                                 \
        ctx_reset_err(&(e)->cx);                                                                   \
    } while (0)
#define SAME(a, b) assert_str((a), (b), __FILE__, __LINE__)

static UNUSED_FN void assert_str(str a, str b, const char *file, int line)
{
    if (!str_eq(a, b)) {
        print_error("\"%.*s\" != \"%.*s\"\n", STR(a), STR(b));
        _fail(file, line);
    }
}

static UNUSED_FN str text(struct env *e, const char *fmt, ...) PRINTF(2, 3);
static UNUSED_FN str text(struct env *e, const char *fmt, ...)
{
    char z[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(z, sizeof(z), fmt, ap);
    va_end(ap);
    assert_true(n >= 0 && n < (int)sizeof(z));
    return str_dup(&e->cx.arena, str_n(z, (size_t)n));
}

static UNUSED_FN void env_setup_tenant(struct env *e)
{
    struct store_bootstrap_in in = {.tenant = S("acme"),
                                    .warehouse = S("wh"),
                                    .root = S("/data/wh"),
                                    .principal = S("ann"),
                                    .token_hash = {7, 7, 7},
                                    .now_ms = 1000};
    struct warehouse_row *rows;
    size_t n;
    OK(e, STORE(e->st, bootstrap, &e->cx, &in));
    OK(e, STORE(e->st, warehouses, &e->cx, &rows, &n));
    assert_int_equal(n, 1);
    e->wh = rows[0].id;
}

static UNUSED_FN void env_mem(struct env *e)
{
    *e = (struct env){0};
    ctx_init(&e->cx, (size_t)256 << 20);
    OK(e, store_mem_new(&e->cx, &e->st));
}

static UNUSED_FN int env_open(struct env *e)
{
    struct store_sqlite_opts o = {
        .path = str_of(e->path), .queue_max = 1000, .checkpoint_bytes = 4 << 20};
    return store_sqlite_new(&e->cx, &o, &e->st);
}

static UNUSED_FN void env_dir(struct env *e)
{
    *e = (struct env){0};
    ctx_init(&e->cx, (size_t)256 << 20);
    /* In memory where there is such a place: what is tested is not how fast the disk syncs. */
    snprintf(e->dir, sizeof(e->dir), "%s/latch-store-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(e->dir));
    snprintf(e->path, sizeof(e->path), "%s/latch.db", e->dir);
}

static UNUSED_FN void env_sqlite(struct env *e)
{
    env_dir(e);
    OK(e, env_open(e));
}

static UNUSED_FN void env_close(struct env *e)
{
    if (e->st)
        STORE(e->st, free);
    e->st = NULL;
}

static UNUSED_FN void env_done(struct env *e)
{
    env_close(e);
    ctx_done(&e->cx);
    DIR *d = e->dir[0] ? opendir(e->dir) : NULL;
    struct dirent *f;
    while (d && (f = readdir(d)))
        unlinkat(dirfd(d), f->d_name, 0);
    if (d)
        closedir(d);
    if (e->dir[0])
        rmdir(e->dir);
}

/* Lets each allocation of `call` fail in turn: every try must fail with E_NOMEM and leave `same`
 * true, until the call is served. */
#define TORTURE(e, call, same)                                                                     \
    do {                                                                                           \
        int tort_rc_ = E_NOMEM, tort_n_ = 0;                                                       \
        while (tort_rc_ == E_NOMEM) {                                                              \
            assert_true(++tort_n_ < 1000);                                                         \
            ctx_reset_err(&(e)->cx);                                                               \
            arena_done(&(e)->cx.arena);                                                            \
            mem_fail_at(tort_n_, 0);                                                               \
            tort_rc_ = (call);                                                                     \
            mem_fail_at(0, 0);                                                                     \
            if (tort_rc_ == E_NOMEM)                                                               \
                assert_true(same);                                                                 \
        }                                                                                          \
        OK((e), tort_rc_);                                                                         \
        assert_true(tort_n_ > 1);                                                                  \
    } while (0)

/* --- short forms ------------------------------------------------------------------------------ */

#define T0 1700000000000 /* a time */

static UNUSED_FN str db_make(struct env *e, str name)
{
    struct db_row row = {.id = text(e, "db-%.*s", STR(name)),
                         .warehouse_id = e->wh,
                         .name = name,
                         .dir = text(e, "%.*s.db", STR(name)),
                         .options_json = S("{\"a\":\"1\"}"),
                         .stamp = {S("ann"), S("ann"), S("ann"), T0, T0 + 1}};
    OK(e, STORE(e->st, db_create, &e->cx, &row, NULL));
    return row.id;
}

static UNUSED_FN int64_t claim(struct env *e, str base, str *ret_dir)
{
    int64_t intent = 0;
    OK(e, STORE(e->st, table_claim, &e->cx, e->wh, base, T0, ret_dir, &intent));
    assert_true(intent > 0);
    return intent;
}

static UNUSED_FN struct table_row table_in(struct env *e, str db_id, str name, str id)
{
    return (struct table_row){.id = id,
                              .db_id = db_id,
                              .db_name = S("the-db"),
                              .warehouse_id = e->wh,
                              .name = name,
                              .dir = text(e, "d/%.*s", STR(id)),
                              .schema_id = 0,
                              .schema_json = S("{\"fields\":[]}"),
                              .type = S("table"),
                              .stamp = {S("ann"), S("bob"), S("cy"), T0, T0 + 1}};
}

/* A table whose id is its name. */
static UNUSED_FN void table_make(struct env *e, str db_id, str name)
{
    struct table_row row = table_in(e, db_id, name, name);
    OK(e, STORE(e->st, table_create, &e->cx, &row, 0, NULL, NULL));
}

/* Names of tables in one database. */
static UNUSED_FN struct store_find_in tables_of(struct env *e, str db, str after, str prefix,
                                                int64_t limit, str type)
{
    return (struct store_find_in){.warehouse_id = e->wh,
                                  .kind = OBJECT_TABLE,
                                  .db = {db, true},
                                  .name = {prefix, false},
                                  .type = type,
                                  .after = {after.len ? db : STR_NONE, after},
                                  .limit = limit};
}

static UNUSED_FN struct outcome outcome_for(int64_t id, int64_t ms)
{
    struct outcome o = {.snapshot_id = id, .recorded_ms = ms, .totals = {id * 10, id, ms}};
    memcpy(o.key, &id, sizeof(id));
    return o;
}

static UNUSED_FN int commit_rc(struct env *e, str table, int64_t epoch, int64_t head, int64_t ms)
{
    struct outcome o = outcome_for(head + 1, ms);
    struct store_commit_in in = {.table_id = table,
                                 .branch = S("main"),
                                 .expect_epoch = epoch,
                                 .expect_head_id = head,
                                 .head = {.id = head + 1,
                                          .uuid = S("u"),
                                          .json = S("{}"),
                                          .recorded_ms = ms,
                                          .totals = o.totals},
                                 .outcome = &o,
                                 .audit = {.at_ms = ms, .action = S("commit")}};
    return STORE(e->st, commit_record, &e->cx, &in);
}

static UNUSED_FN void commit(struct env *e, str table, int64_t head, int64_t ms)
{
    OK(e, commit_rc(e, table, 0, head, ms));
}

static UNUSED_FN struct branch_row branch(struct env *e, str table)
{
    struct branch_row b = {0};
    OK(e, STORE(e->st, branch_get, &e->cx, table, S("main"), &b));
    return b;
}

/* --- every test against both implementations -------------------------------------------------- */

struct store_test {
    const char *name;
    void (*fn)(struct env *e);
    bool bare;        /* without the first tenant */
    bool sqlite_only; /* it looks into the file */
};
#define TEST(f)                                                                                    \
    {                                                                                              \
        .name = #f, .fn = f                                                                        \
    }
#define TEST_BARE(f)                                                                               \
    {                                                                                              \
        .name = #f, .fn = f, .bare = true                                                          \
    }
#define TEST_SQLITE(f)                                                                             \
    {                                                                                              \
        .name = #f, .fn = f, .sqlite_only = true                                                   \
    }

static UNUSED_FN void store_test_run(const struct store_test *t, void (*make_env)(struct env *))
{
    struct env e;
    make_env(&e);
    if (!t->bare)
        env_setup_tenant(&e);
    t->fn(&e);
    env_done(&e);
}

static UNUSED_FN void store_test_mem(void **state)
{
    store_test_run(*state, env_mem);
}

static UNUSED_FN void store_test_sqlite(void **state)
{
    store_test_run(*state, env_sqlite);
}

#define STORE_TESTS_MAX 128

/* `alone`: tests that open what they need themselves. */
static UNUSED_FN int store_tests_run(const char *group, const struct store_test *tests, size_t n,
                                     const struct CMUnitTest *alone, size_t n_alone)
{
    static struct CMUnitTest all[STORE_TESTS_MAX];
    static char names[STORE_TESTS_MAX][64];
    size_t k = 0;
    if (2 * n + n_alone > STORE_TESTS_MAX)
        return 1;
    for (size_t i = 0; i < 2 * n; i++) {
        const struct store_test *t = &tests[i / 2];
        bool sqlite = i % 2;
        if (t->sqlite_only && !sqlite)
            continue;
        snprintf(names[k], sizeof(names[k]), "%s (%s)", t->name, sqlite ? "sqlite" : "mem");
        all[k] = (struct CMUnitTest){.name = names[k],
                                     .test_func = sqlite ? store_test_sqlite : store_test_mem,
                                     .initial_state = (void *)(uintptr_t)t};
        k++;
    }
    for (size_t i = 0; i < n_alone; i++)
        all[k++] = alone[i];
    return _cmocka_run_group_tests(group, all, k, NULL, NULL);
}

#endif
