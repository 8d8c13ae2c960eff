/* fixture.h - a catalog over a store and a warehouse that fail when a test says so.
 *
 * Both the store and the warehouse's io are wrapped: a plan lets call n of one method answer an
 * error, before or after it took effect; a hook runs at each call; `die_at` lets the process "die"
 * at the n-th call that changes something, after which every call fails until fx_restart. The
 * wrapped ones live on over restarts, as disks do; with FX_MEM a power loss can be had as well.
 *
 * Every call of the catalog goes through a context of its own, as a request does, and fx_end checks
 * what holds for each: the record says what the code says, and says nothing on success.
 *
 * Threads: asserts on the test's own thread only; plans and counters are under `mu`. Included once
 * by each test program. */
#ifndef LATCH_TESTS_UNIT_CATALOG_FIXTURE_H
#define LATCH_TESTS_UNIT_CATALOG_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catalog/catalog_int.h"
#include "manifest/layout.h"
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"
#include "proto/base/rand.h"
#include "proto/json/json.h"
#include "tests/unit/catalog/fixture_meta.h"

#define FN        static __attribute__((unused))
#define S(lit)    STR_LIT(lit)
#define FX_TOKEN  "latch-test-token"
#define PLANS_MAX 4

#define IO_OPS(X)                                                                                  \
    X(read, 0)                                                                                     \
    X(write, 1)                                                                                    \
    X(put_if_absent, 1)                                                                            \
    X(stat, 0)                                                                                     \
    X(list, 0)                                                                                     \
    X(del, 1)                                                                                      \
    X(mkdirs, 1)                                                                                   \
    X(move, 1)                                                                                     \
    X(remove_tree, 1)                                                                              \
    X(sync, 1)                                                                                     \
    X(space, 0)
#define STORE_OPS(X)                                                                               \
    X(ping, 0)                                                                                     \
    X(bootstrap, 1)                                                                                \
    X(is_empty, 0)                                                                                 \
    X(warehouses, 0)                                                                               \
    X(token_find, 0)                                                                               \
    X(db_create, 1)                                                                                \
    X(db_get, 0)                                                                                   \
    X(db_list, 0)                                                                                  \
    X(db_alter, 1)                                                                                 \
    X(db_drop, 1)                                                                                  \
    X(table_claim, 1)                                                                              \
    X(table_create, 1)                                                                             \
    X(table_place, 0)                                                                              \
    X(table_get, 0)                                                                                \
    X(table_by_id, 0)                                                                              \
    X(table_rename, 1)                                                                             \
    X(table_alter, 1)                                                                              \
    X(table_drop, 1)                                                                               \
    X(find, 0)                                                                                     \
    X(object_create, 1)                                                                            \
    X(object_get, 0)                                                                               \
    X(object_list, 0)                                                                              \
    X(object_alter, 1)                                                                             \
    X(object_rename, 1)                                                                            \
    X(object_drop, 1)                                                                              \
    X(branch_get, 0)                                                                               \
    X(commit_record, 1)                                                                            \
    X(outcome_find, 0)                                                                             \
    X(outcome_of, 0)                                                                               \
    X(intent_begin, 1)                                                                             \
    X(intent_finish, 1)                                                                            \
    X(history_finish, 1)                                                                           \
    X(branch_begin, 1)                                                                             \
    X(branch_made, 1)                                                                              \
    X(branch_drop, 1)                                                                              \
    X(branch_rename, 1)                                                                            \
    X(intents_open, 0)                                                                             \
    X(partitions_fold, 1)                                                                          \
    X(partitions_set, 1)                                                                           \
    X(partitions_list, 0)                                                                          \
    X(partitions_find, 0)                                                                          \
    X(partitions_create, 1)                                                                        \
    X(partitions_drop, 1)                                                                          \
    X(partitions_mark, 1)                                                                          \
    X(partitions_tidy, 1)                                                                          \
    X(conflict_note, 1)                                                                            \
    X(conflict_list, 0)                                                                            \
    X(conflict_get, 0)                                                                             \
    X(audit_add, 1)                                                                                \
    X(prune, 1)
enum fx_op {
#define X(name, changes) IO_##name,
    IO_OPS(X)
#undef X
#define X(name, changes) ST_##name,
        STORE_OPS(X)
#undef X
            OP_COUNT
};

struct plan {
    enum fx_op op;
    int nth, code, hits;
    bool after, sticky;
    const char *path; /* NULL: any; else only paths that hold this */
};

enum { FX_MEM = 1, FX_SQLITE = 2, FX_PUT_AFTER = 4 }; /* else: io_local, store_mem */

struct fx {
    struct io bio; /* first: the wrapped warehouse */
    struct io *io;
    struct store bst;
    struct store *st;
    unsigned kind;

    pthread_mutex_t mu;
    struct plan plans[PLANS_MAX];
    size_t n_plans;
    long steps, die_at; /* changing calls so far; 0: lives */
    bool dead;
    int calls[OP_COUNT];
    void (*hook)(struct fx *f, enum fx_op op, bool after, str path);
    _Atomic(void *) hook_arg; /* hooks read it without mu */

    struct pool *strands, *loads, *bg;
    struct catalog_opts o;
    struct catalog *cat;
    const struct principal *who;
    const struct warehouse *w;

    struct ctx cx;      /* of the test; what helpers give out lives here */
    struct err_rec err; /* of the last call */
    char root[64], data[64], db[96];
    int seq;
    atomic_int needs; /* how often a commit went back for evidence */
};

static struct fx *fx_now; /* for open_root */

/* --- plans -------------------------------------------------------------------------------------
 */

static bool op_changes(enum fx_op op)
{
    static const bool changes[OP_COUNT] = {
#define X(name, ch) [IO_##name] = ch,
        IO_OPS(X)
#undef X
#define X(name, ch) [ST_##name] = ch,
            STORE_OPS(X)
#undef X
    };
    return changes[op];
}

/* The code to answer, or 0. */
static int plan_hit(struct fx *f, enum fx_op op, bool after, str path)
{
    for (size_t i = 0; i < f->n_plans; i++) {
        struct plan *p = &f->plans[i];
        if (p->op != op || p->after != after)
            continue;
        if (p->path && (!path.p || !memmem(path.p, path.len, p->path, strlen(p->path))))
            continue;
        p->hits++;
        if (p->hits == p->nth || (p->sticky && p->hits > p->nth))
            return p->code;
    }
    return 0;
}

static int fx_before(struct fx *f, struct ctx *cx, enum fx_op op, str path)
{
    pthread_mutex_lock(&f->mu);
    void (*hook)(struct fx *, enum fx_op, bool, str) = f->hook;
    pthread_mutex_unlock(&f->mu);
    if (hook)
        hook(f, op, false, path);
    pthread_mutex_lock(&f->mu);
    f->calls[op]++;
    if (op_changes(op) && ++f->steps == f->die_at)
        f->dead = true;
    int code = f->dead ? E_IO : plan_hit(f, op, false, path);
    pthread_mutex_unlock(&f->mu);
    if (code == 0)
        return 0;
    return ctx_fail(cx, code, RES_NONE, STR_NONE, "the test lets call %d of %.*s fail", op,
                    STR(path));
}

static int fx_after(struct fx *f, struct ctx *cx, enum fx_op op, str path, int rc)
{
    pthread_mutex_lock(&f->mu);
    void (*hook)(struct fx *, enum fx_op, bool, str) = f->hook;
    int code = rc < 0 ? 0 : plan_hit(f, op, true, path);
    pthread_mutex_unlock(&f->mu);
    if (hook)
        hook(f, op, true, path);
    if (code == 0)
        return rc;
    return ctx_fail(cx, code, RES_NONE, STR_NONE, "the test hides that call %d of %.*s worked", op,
                    STR(path));
}

FN void fx_plan(struct fx *f, struct plan p)
{
    pthread_mutex_lock(&f->mu);
    if (p.nth == 0)
        p.nth = 1;
    f->plans[f->n_plans++] = p;
    pthread_mutex_unlock(&f->mu);
}
#define FAIL(f, ...) fx_plan((f), (struct plan){__VA_ARGS__})

FN void fx_well(struct fx *f)
{
    pthread_mutex_lock(&f->mu);
    f->n_plans = 0;
    f->hook = NULL;
    f->dead = false;
    f->die_at = 0;
    pthread_mutex_unlock(&f->mu);
    if (f->cat)
        atomic_store(&f->cat->last_after_create_ms, 0);
}

FN bool fx_dead(struct fx *f)
{
    pthread_mutex_lock(&f->mu);
    bool dead = f->dead;
    pthread_mutex_unlock(&f->mu);
    return dead;
}

/* The process dies at the k-th changing call from now on. */
FN void fx_die_at(struct fx *f, long k)
{
    pthread_mutex_lock(&f->mu);
    f->die_at = f->steps + k;
    pthread_mutex_unlock(&f->mu);
}

FN void fx_hook(struct fx *f, void (*hook)(struct fx *, enum fx_op, bool, str), void *arg)
{
    pthread_mutex_lock(&f->mu);
    f->hook = hook;
    f->hook_arg = arg;
    pthread_mutex_unlock(&f->mu);
}

FN int fx_calls(struct fx *f, enum fx_op op)
{
    pthread_mutex_lock(&f->mu);
    int n = f->calls[op];
    pthread_mutex_unlock(&f->mu);
    return n;
}

/* --- the wrapped warehouse -------------------------------------------------------------------- */

static struct fx *of_io(struct io *io)
{
    return (struct fx *)(void *)io;
}

#define BIO(op, path_, ...)                                                                        \
    do {                                                                                           \
        struct fx *f_ = of_io(io);                                                                 \
        str p_ = (path_);                                                                          \
        int rc_ = fx_before(f_, cx, IO_##op, p_);                                                  \
        if (rc_ < 0)                                                                               \
            return rc_;                                                                            \
        rc_ = f_->io->ops->op(f_->io, cx, __VA_ARGS__);                                            \
        return fx_after(f_, cx, IO_##op, p_, rc_);                                                 \
    } while (0)

static void bio_free(struct io *io)
{
    (void)io;
}
static int bio_read(struct io *io, struct ctx *cx, str path, size_t max, struct buf *ret)
{
    BIO(read, path, path, max, ret);
}
static int bio_write(struct io *io, struct ctx *cx, str path, str data, bool sync)
{
    BIO(write, path, path, data, sync);
}
static int bio_put(struct io *io, struct ctx *cx, str path, str data, enum io_put_result *ret)
{
    BIO(put_if_absent, path, path, data, ret);
}
static int bio_put_after(struct io *io, struct ctx *cx, const struct io_needs *needs, str path,
                         str data, enum io_put_result *ret)
{
    struct fx *f = of_io(io);
    TRY(fx_before(f, cx, IO_put_if_absent, path));
    return fx_after(f, cx, IO_put_if_absent, path, io_put_after(f->io, cx, needs, path, data, ret));
}
static int bio_stat(struct io *io, struct ctx *cx, str path, struct io_stat *ret)
{
    BIO(stat, path, path, ret);
}
static int bio_list(struct io *io, struct ctx *cx, str path, struct io_entry **ret, size_t *ret_n)
{
    BIO(list, path, path, ret, ret_n);
}
static int bio_del(struct io *io, struct ctx *cx, str path)
{
    BIO(del, path, path);
}
static int bio_mkdirs(struct io *io, struct ctx *cx, str path)
{
    BIO(mkdirs, path, path);
}
static int bio_move(struct io *io, struct ctx *cx, str from, str to)
{
    BIO(move, from, from, to);
}
static int bio_remove_tree(struct io *io, struct ctx *cx, str path)
{
    BIO(remove_tree, path, path);
}
static int bio_sync(struct io *io, struct ctx *cx, const str *paths, size_t n)
{
    if (n == 0)
        return 0;
    BIO(sync, paths[0], paths, n);
}
static int bio_space(struct io *io, struct ctx *cx, int64_t *ret)
{
    BIO(space, STR_NONE, ret);
}
#define BIO_OPS                                                                                    \
    .free = bio_free, .read = bio_read, .write = bio_write, .put_if_absent = bio_put,              \
    .stat = bio_stat, .list = bio_list, .del = bio_del, .mkdirs = bio_mkdirs, .move = bio_move,    \
    .remove_tree = bio_remove_tree, .sync = bio_sync, .space = bio_space
static const struct io_ops bio_ops = {BIO_OPS};
/* In one call, as io_local has it; without this flag the two steps can fail one by one. */
static const struct io_ops bio_ops_one = {BIO_OPS, .put_after = bio_put_after};

static int fx_open_root(struct ctx *cx, const struct io_local_opts *o, struct io **ret)
{
    (void)cx;
    (void)o;
    *ret = &fx_now->bio;
    return 0;
}

/* --- the wrapped store ------------------------------------------------------------------------ */

static struct fx *of_store(struct store *st)
{
    return (struct fx *)(void *)((char *)st - offsetof(struct fx, bst));
}

#define BST(op, ...)                                                                               \
    do {                                                                                           \
        struct fx *f_ = of_store(st);                                                              \
        int rc_ = fx_before(f_, cx, ST_##op, STR_NONE);                                            \
        if (rc_ < 0)                                                                               \
            return rc_;                                                                            \
        rc_ = STORE(f_->st, op, cx __VA_OPT__(, ) __VA_ARGS__);                                    \
        return fx_after(f_, cx, ST_##op, STR_NONE, rc_);                                           \
    } while (0)

static int bst_ping(struct store *st, struct ctx *cx)
{
    BST(ping);
}
static int bst_bootstrap(struct store *st, struct ctx *cx, const struct store_bootstrap_in *in)
{
    BST(bootstrap, in);
}
static int bst_is_empty(struct store *st, struct ctx *cx, bool *ret)
{
    BST(is_empty, ret);
}
static int bst_warehouses(struct store *st, struct ctx *cx, struct warehouse_row **ret, size_t *n)
{
    BST(warehouses, ret, n);
}
static int bst_token_find(struct store *st, struct ctx *cx, const uint8_t hash[32],
                          struct principal_row *ret)
{
    BST(token_find, hash, ret);
}
static int bst_db_create(struct store *st, struct ctx *cx, const struct db_row *in,
                         const struct audit *au)
{
    BST(db_create, in, au);
}
static int bst_db_get(struct store *st, struct ctx *cx, int64_t w, str name, struct db_row *ret)
{
    BST(db_get, w, name, ret);
}
static int bst_db_list(struct store *st, struct ctx *cx, int64_t w, const struct store_list_in *in,
                       str **ret, size_t *n)
{
    BST(db_list, w, in, ret, n);
}
static int bst_db_alter(struct store *st, struct ctx *cx, str id, str expect, str options,
                        int64_t now, str by, const struct audit *au)
{
    BST(db_alter, id, expect, options, now, by, au);
}
static int bst_db_drop(struct store *st, struct ctx *cx, str id, int64_t now,
                       const struct audit *au, struct intent_row **ret, size_t *n)
{
    BST(db_drop, id, now, au, ret, n);
}
static int bst_table_claim(struct store *st, struct ctx *cx, int64_t w, str base, int64_t now,
                           str *ret_dir, int64_t *ret_intent)
{
    BST(table_claim, w, base, now, ret_dir, ret_intent);
}
static int bst_table_create(struct store *st, struct ctx *cx, const struct table_row *in,
                            int64_t intent, const struct head_row *head, const struct audit *au)
{
    BST(table_create, in, intent, head, au);
}
static int bst_table_place(struct store *st, struct ctx *cx, const struct table_row *in)
{
    BST(table_place, in);
}
static int bst_table_get(struct store *st, struct ctx *cx, int64_t w, str db, str name,
                         struct table_row *ret)
{
    BST(table_get, w, db, name, ret);
}
static int bst_table_by_id(struct store *st, struct ctx *cx, int64_t w, str id,
                           struct table_row *ret)
{
    BST(table_by_id, w, id, ret);
}
static int bst_table_rename(struct store *st, struct ctx *cx, const struct table_named *t,
                            int64_t w, str db, str name, int64_t now, str by,
                            const struct audit *au)
{
    BST(table_rename, t, w, db, name, now, by, au);
}
static int bst_table_alter(struct store *st, struct ctx *cx, str id, str branch, int64_t expect,
                           const struct schema_set *to, const struct audit *au)
{
    BST(table_alter, id, branch, expect, to, au);
}
static int bst_table_drop(struct store *st, struct ctx *cx, const struct table_named *t,
                          int64_t now, const struct audit *au, struct intent_row *ret)
{
    BST(table_drop, t, now, au, ret);
}
static int bst_find(struct store *st, struct ctx *cx, const struct store_find_in *in,
                    struct name_pair **ret, size_t *n)
{
    BST(find, in, ret, n);
}
static int bst_object_create(struct store *st, struct ctx *cx, const struct object_row *in,
                             const struct audit *au)
{
    BST(object_create, in, au);
}
static int bst_object_get(struct store *st, struct ctx *cx, int64_t w, enum object_kind k, str db,
                          str name, struct object_row *ret)
{
    BST(object_get, w, k, db, name, ret);
}
static int bst_object_list(struct store *st, struct ctx *cx, const struct store_objects_in *in,
                           struct object_row **ret, size_t *n)
{
    BST(object_list, in, ret, n);
}
static int bst_object_alter(struct store *st, struct ctx *cx, enum object_kind k, str id,
                            str expect, str json, int64_t now, str by, const struct audit *au)
{
    BST(object_alter, k, id, expect, json, now, by, au);
}
static int bst_object_rename(struct store *st, struct ctx *cx,
                             const struct store_object_rename_in *in, const struct audit *au)
{
    BST(object_rename, in, au);
}
static int bst_object_drop(struct store *st, struct ctx *cx, int64_t w, enum object_kind k, str db,
                           str name, const struct audit *au)
{
    BST(object_drop, w, k, db, name, au);
}
static int bst_branch_get(struct store *st, struct ctx *cx, str id, str branch,
                          struct branch_row *ret)
{
    BST(branch_get, id, branch, ret);
}
static int bst_commit_record(struct store *st, struct ctx *cx, const struct store_commit_in *in)
{
    BST(commit_record, in);
}
static int bst_outcome_find(struct store *st, struct ctx *cx, str id, str branch,
                            const uint8_t key[OUTCOME_KEY_LEN], struct outcome *ret)
{
    BST(outcome_find, id, branch, key, ret);
}
static int bst_outcome_of(struct store *st, struct ctx *cx, str id, str branch, int64_t snapshot,
                          struct outcome *ret)
{
    BST(outcome_of, id, branch, snapshot, ret);
}
static int bst_intent_begin(struct store *st, struct ctx *cx, const struct store_intent_in *in,
                            int64_t *ret_id, int64_t *ret_epoch)
{
    BST(intent_begin, in, ret_id, ret_epoch);
}
static int bst_intent_finish(struct store *st, struct ctx *cx, int64_t id)
{
    BST(intent_finish, id);
}
static int bst_history_finish(struct store *st, struct ctx *cx, const struct store_history_in *in)
{
    BST(history_finish, in);
}
static int bst_branch_begin(struct store *st, struct ctx *cx, const struct intent_row *row,
                            const struct audit *au, int64_t *ret)
{
    BST(branch_begin, row, au, ret);
}
static int bst_branch_made(struct store *st, struct ctx *cx, const struct store_branch_in *in,
                           const struct head_row *head, const struct schema_set *schema)
{
    BST(branch_made, in, head, schema);
}
static int bst_branch_drop(struct store *st, struct ctx *cx, const struct store_branch_in *in)
{
    BST(branch_drop, in);
}
static int bst_branch_rename(struct store *st, struct ctx *cx, const struct store_branch_in *in,
                             str to)
{
    BST(branch_rename, in, to);
}
static int bst_intents_open(struct store *st, struct ctx *cx, struct intent_row **ret, size_t *n)
{
    BST(intents_open, ret, n);
}
static int bst_partitions_fold(struct store *st, struct ctx *cx, str id, str branch, int64_t keep,
                               int64_t max, enum partitions_are *ret)
{
    BST(partitions_fold, id, branch, keep, max, ret);
}
static int bst_partitions_set(struct store *st, struct ctx *cx,
                              const struct store_partitions_set *in)
{
    BST(partitions_set, in);
}
static int bst_partitions_list(struct store *st, struct ctx *cx,
                               const struct store_partitions_in *in, struct partition_row **ret,
                               size_t *n)
{
    BST(partitions_list, in, ret, n);
}
static int bst_partitions_find(struct store *st, struct ctx *cx, str id, str branch,
                               const str *keys, size_t k, struct partition_row **ret, size_t *n)
{
    BST(partitions_find, id, branch, keys, k, ret, n);
}
static int bst_partitions_create(struct store *st, struct ctx *cx,
                                 const struct store_partitions_change *in, bool strict,
                                 const struct partition_delta *stats, size_t n, bool replace,
                                 bool *ret)
{
    BST(partitions_create, in, strict, stats, n, replace, ret);
}
static int bst_partitions_drop(struct store *st, struct ctx *cx,
                               const struct store_partitions_change *in, bool strict, bool *ret)
{
    BST(partitions_drop, in, strict, ret);
}
static int bst_partitions_mark(struct store *st, struct ctx *cx,
                               const struct store_partitions_change *in)
{
    BST(partitions_mark, in);
}
static int bst_partitions_tidy(struct store *st, struct ctx *cx, int64_t keep, int64_t max,
                               bool *ret)
{
    BST(partitions_tidy, keep, max, ret);
}
static int bst_conflict_note(struct store *st, struct ctx *cx, const struct store_conflict_in *in)
{
    BST(conflict_note, in);
}
static int bst_conflict_list(struct store *st, struct ctx *cx, const struct store_conflicts_in *in,
                             struct conflict_row **ret, size_t *n)
{
    BST(conflict_list, in, ret, n);
}
static int bst_conflict_get(struct store *st, struct ctx *cx, str id, str branch, int64_t conflict,
                            struct conflict_row *ret)
{
    BST(conflict_get, id, branch, conflict, ret);
}
static int bst_audit_add(struct store *st, struct ctx *cx, const struct audit *au)
{
    BST(audit_add, au);
}
static int bst_prune(struct store *st, struct ctx *cx, const struct store_prune_in *in, bool *ret)
{
    BST(prune, in, ret);
}
static void bst_free(struct store *st)
{
    (void)st;
}
static const struct store_ops bst_ops = {.free = bst_free,
#define X(name, changes) .name = bst_##name,
                                         STORE_OPS(X)
#undef X
};

/* --- life ------------------------------------------------------------------------------------- */

#define OK(f, call)                                                                                \
    do {                                                                                           \
        int ok_rc_ = (call);                                                                       \
        if (ok_rc_ != 0)                                                                           \
            fail_msg("%s: %s: %s", #call, err_name(ok_rc_), (f)->err.msg);                         \
    } while (0)
/* The call must fail with this code and resource; its message holds `part`. */
#define FAILS(f, want, want_res, part, call)                                                       \
    do {                                                                                           \
        int rc_ = (call);                                                                          \
        if (rc_ != (want) || (f)->err.res != (want_res) || !strstr((f)->err.msg, (part)))          \
            fail_msg("%s: %s, res %d, \"%s\" (%s:%d)", #call, err_name(rc_), (f)->err.res,         \
                     (f)->err.msg, (f)->err.file ? (f)->err.file : "", (f)->err.line);             \
    } while (0)
#define SAME(a, b) assert_same((a), (b), __FILE__, __LINE__)

FN void assert_same(str a, str b, const char *file, int line)
{
    if (!str_eq(a, b)) {
        print_error("\"%.*s\" != \"%.*s\"\n", STR(a), STR(b));
        _fail(file, line);
    }
}

FN str fx_text(struct fx *f, const char *fmt, ...) PRINTF(2, 3);
FN str fx_text(struct fx *f, const char *fmt, ...)
{
    char z[16384];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(z, sizeof z, fmt, ap);
    va_end(ap);
    assert_true(n >= 0 && n < (int)sizeof z);
    return str_dup(&f->cx.arena, str_n(z, (size_t)n));
}

static void fx_begin(struct ctx *cx)
{
    ctx_init(cx, (size_t)64 << 20);
    cx->tenant = S("acme");
    cx->principal = S("ann");
    cx->request_id = S("r-1");
}

/* What every call owes its caller. Gives rc back. */
static int fx_end(struct fx *f, struct ctx *cx, int rc)
{
    f->err = cx->err;
    ctx_done(cx);
    if (f->err.code != (rc < 0 ? rc : 0))
        fail_msg("the call answered %s, its record says %s: %s", err_name(rc),
                 err_name(f->err.code), f->err.msg);
    if (rc < 0 && strlen(f->err.msg) < 10)
        fail_msg("%s without a message", err_name(rc));
    return rc;
}

static void fx_pools(struct fx *f)
{
    struct pool_opts s = {.name = "strand", .threads = 4, .queue_max = 1000};
    struct pool_opts l = {.name = "load", .threads = 2, .queue_max = 1000};
    struct pool_opts b = {.name = "back", .threads = 1, .queue_max = 1000};
    assert_int_equal(pool_new(&s, &f->strands), 0);
    assert_int_equal(pool_new(&l, &f->loads), 0);
    assert_int_equal(pool_new(&b, &f->bg), 0);
    f->o.loads = f->loads;
    f->o.strands = f->strands;
    f->o.background = f->bg;
}

FN int fx_open(struct fx *f)
{
    struct ctx cx;
    fx_begin(&cx);
    fx_pools(f);
    int rc = catalog_open(&cx, &f->o, &f->cat);
    if (rc == 0) {
        rc = cat_token_load(&cx, f->cat, S(FX_TOKEN), &f->who);
        f->w = rc == 0 ? cat_warehouse(f->cat, f->who, S("acme.wh")) : NULL;
    }
    return fx_end(f, &cx, rc);
}

/* Lets everything that was begun end. */
FN void fx_close(struct fx *f)
{
    pool_free(f->loads);
    pool_free(f->strands);
    pool_free(f->bg);
    catalog_close(f->cat);
    f->strands = f->loads = f->bg = NULL;
    f->cat = NULL;
}

static void fx_store_open(struct fx *f)
{
    struct store_sqlite_opts o = {
        .path = str_of(f->db), .queue_max = 1000, .checkpoint_bytes = 4 << 20};
    int rc =
        f->kind & FX_SQLITE ? store_sqlite_new(&f->cx, &o, &f->st) : store_mem_new(&f->cx, &f->st);
    if (rc != 0)
        fail_msg("store: %s", f->cx.err.msg);
}

/* The same disks, another process. */
FN void fx_restart(struct fx *f)
{
    fx_close(f);
    fx_well(f);
    if (f->kind & FX_SQLITE) {
        STORE(f->st, free);
        fx_store_open(f);
    }
    OK(f, fx_open(f));
}

/* Nothing that was begun goes on; `power`: what was not synced is lost (FX_MEM). */
FN void fx_crash(struct fx *f, bool power)
{
    pthread_mutex_lock(&f->mu);
    f->dead = true;
    f->n_plans = 0;
    f->hook = NULL;
    pthread_mutex_unlock(&f->mu);
    atomic_store(&f->cat->last_after_create_ms, 0);
    fx_close(f);
    if (power)
        io_mem_crash(f->io);
    fx_well(f);
    OK(f, fx_open(f));
}

static void fx_first_start(struct fx *f)
{
    struct store_bootstrap_in in = {.tenant = S("acme"),
                                    .warehouse = S("wh"),
                                    .root = str_of(f->root),
                                    .principal = S("ann"),
                                    .now_ms = 1000};
    bool made = false;
    cat_token_hash(S(FX_TOKEN), in.token_hash);
    assert_int_equal(cat_bootstrap(&f->cx, f->st, &in, &made), 0);
    assert_true(made);
}

static void fx_temp_dir(char *to, size_t cap, const char *what)
{
    const char *base = getenv("TMPDIR");
    snprintf(to, cap, "%s/latch-%s-XXXXXX", base ? base : "/tmp", what);
    assert_non_null(mkdtemp(to));
}

/* Everything but the catalog itself: tests may change f->o before fx_open. */
FN void fx_init(struct fx *f, unsigned kind)
{
    *f = (struct fx){.kind = kind};
    log_set_level(LOG_ERROR);
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    pthread_mutex_init(&f->mu, NULL);
    ctx_init(&f->cx, (size_t)512 << 20);
    fx_temp_dir(f->root, sizeof f->root, "wh");
    fx_temp_dir(f->data, sizeof f->data, "data");
    snprintf(f->db, sizeof f->db, "%s/latch.db", f->data);
    struct io_local_opts lo = {
        .root = str_of(f->root), .dir_mode = 02775, .file_mode = 0664, .group = S("")};
    int rc = kind & FX_MEM ? io_mem_new(&f->cx, &f->io) : io_local_new(&f->cx, &lo, &f->io);
    if (rc != 0)
        fail_msg("warehouse: %s", f->cx.err.msg);
    f->bio.ops = kind & FX_PUT_AFTER ? &bio_ops_one : &bio_ops;
    f->bst.ops = &bst_ops;
    fx_store_open(f);
    fx_first_start(f);
    f->o = (struct catalog_opts){.store = &f->bst,
                                 .strand_max = 1000,
                                 .tables_max = 100,
                                 .sync = SYNC_METADATA,
                                 .database_suffix = S(".db"),
                                 .dir_mode = 02775,
                                 .file_mode = 0664,
                                 .group = S(""),
                                 .data_dir = str_of(f->root),
                                 .disk_min_free_bytes = 0,
                                 .outcome_keep_ms = 86400000,
                                 .outcome_max = 100000,
                                 .audit_keep_ms = 86400000,
                                 .conflict_keep_ms = 86400000,
                                 .conflict_max = 1000,
                                 .snapshot_max_bytes = 1 << 20,
                                 .verify = VERIFY_SIZE,
                                 .state_memory = 64 << 20,
                                 .state_table_max = 32 << 20,
                                 .state_gone_max = 1000,
                                 .history_snapshots = 1000,
                                 .facts_max_bytes = 64 << 20,
                                 .open_root = fx_open_root};
    fx_now = f;
}

FN void fx_new(struct fx *f, unsigned kind)
{
    fx_init(f, kind);
    OK(f, fx_open(f));
}

static int rm_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

FN void fx_done(struct fx *f)
{
    fx_well(f);
    fx_close(f);
    STORE(f->st, free);
    io_free(f->io);
    ctx_done(&f->cx);
    pthread_mutex_destroy(&f->mu);
    nftw(f->root, rm_one, 16, FTW_DEPTH | FTW_PHYS);
    nftw(f->data, rm_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- files, past the plans -------------------------------------------------------------------- */

FN bool fx_exists(struct fx *f, str path)
{
    struct io_stat st;
    int rc = io_stat(f->io, &f->cx, path, &st);
    ctx_reset_err(&f->cx);
    return rc == 0;
}

FN void fx_write(struct fx *f, str path, str data)
{
    if (io_write(f->io, &f->cx, path, data, false) != 0)
        fail_msg("write: %s", f->cx.err.msg);
}

FN str fx_read(struct fx *f, str path)
{
    struct buf b = {0};
    if (io_read(f->io, &f->cx, path, 1 << 24, &b) != 0)
        fail_msg("read: %s", f->cx.err.msg);
    str s = str_dup(&f->cx.arena, buf_str(&b));
    buf_done(&b);
    return s;
}

FN void fx_del(struct fx *f, str path)
{
    if (io_del(f->io, &f->cx, path) != 0)
        fail_msg("delete: %s", f->cx.err.msg);
}

FN size_t fx_count(struct fx *f, str dir) /* entries; 0 when it is not there */
{
    struct io_entry *e;
    size_t n = 0;
    if (io_list(f->io, &f->cx, dir, &e, &n) != 0)
        n = 0;
    ctx_reset_err(&f->cx);
    return n;
}

FN bool fx_gone_soon(struct fx *f, str path) /* the background deletes it */
{
    for (int i = 0; i < 5000; i++) {
        if (!fx_exists(f, path))
            return true;
        usleep(1000);
    }
    return false;
}

FN size_t fx_intents(struct fx *f) /* open ones */
{
    struct intent_row *rows;
    size_t n = 0;
    assert_int_equal(STORE(f->st, intents_open, &f->cx, &rows, &n), 0);
    return n;
}

FN size_t fx_intents_soon(struct fx *f, size_t want)
{
    for (int i = 0; i < 5000 && fx_intents(f) != want; i++)
        usleep(1000);
    return fx_intents(f);
}

FN void fx_drop_in_store(struct fx *f, str id) /* past the catalog */
{
    struct audit au = {0};
    struct table_named t = {.id = id};
    struct intent_row purge;
    struct ctx cx;
    ctx_init(&cx, 1 << 20);
    if (STORE(f->st, table_drop, &cx, &t, 1, &au, &purge) < 0)
        abort();
    ctx_done(&cx);
}

FN struct table_row fx_row(struct fx *f, const char *table) /* as the store has it */
{
    struct table_row row;
    if (STORE(f->st, table_get, &f->cx, f->w->id, S("d"), str_of(table), &row) != 0)
        fail_msg("%s: %s", table, f->cx.err.msg);
    return row;
}

FN str fx_dir(struct fx *f, const char *table)
{
    return fx_row(f, table).dir;
}

FN str fx_snapshot_path(struct fx *f, const char *table, int64_t id)
{
    return layout_snapshot(&f->cx.arena, fx_dir(f, table), S("main"), id);
}

FN str fx_tag_path(struct fx *f, const char *table, const char *tag)
{
    return layout_tag(&f->cx.arena, fx_dir(f, table), S("main"), str_of(tag));
}

FN const struct json *fx_json(struct fx *f, const char *text)
{
    const struct json *j;
    if (json_parse(&f->cx, str_of(text), "test", &j) != 0)
        fail_msg("%s: %s", text, f->cx.err.msg);
    return j;
}

/* --- calls ------------------------------------------------------------------------------------ */

FN int fx_db(struct fx *f, const char *name)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(f, &cx, cat_db_create(&cx, f->cat, f->w, str_of(name), STR_NONE));
}

FN int fx_db_drop(struct fx *f, const char *name)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(f, &cx, cat_db_drop(&cx, f->cat, f->w, str_of(name)));
}

#define FX_SCHEMA                                                                                  \
    "{\"fields\":[{\"id\":0,\"name\":\"k\",\"type\":\"INT NOT NULL\"},"                            \
    "{\"id\":1,\"name\":\"v\",\"type\":\"STRING\"}],\"partitionKeys\":[],"                         \
    "\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"1\"},\"comment\":\"c\"}"

FN int fx_create_as(struct fx *f, const char *db, const char *name, const char *schema)
{
    struct ctx cx;
    fx_begin(&cx);
    int rc = cat_table_create(&cx, f->cat, f->w, str_of(db), str_of(name), fx_json(f, schema));
    return fx_end(f, &cx, rc);
}

FN int fx_create(struct fx *f, const char *name)
{
    return fx_create_as(f, "d", name, FX_SCHEMA);
}

FN void fx_table(struct fx *f, const char *name) /* database d, and a table in it */
{
    struct db_row row;
    if (STORE(f->st, db_get, &f->cx, f->w->id, S("d"), &row) < 0)
        OK(f, fx_db(f, "d"));
    ctx_reset_err(&f->cx);
    OK(f, fx_create(f, name));
}

FN int fx_get(struct fx *f, const char *object, struct table_info *ret) /* ret lives in f->cx */
{
    struct ctx cx;
    struct table_info in;
    fx_begin(&cx);
    int rc = cat_table_get(&cx, f->cat, f->w, S("d"), str_of(object), &in);
    if (rc == 0 && ret) {
        *ret = in;
        ret->row.id = str_dup(&f->cx.arena, in.row.id);
        ret->row.name = str_dup(&f->cx.arena, in.row.name);
        ret->row.dir = str_dup(&f->cx.arena, in.row.dir);
        ret->row.schema_json = str_dup(&f->cx.arena, in.row.schema_json);
        ret->row.type = str_dup(&f->cx.arena, in.row.type);
        ret->path = str_dup(&f->cx.arena, in.path);
    }
    return fx_end(f, &cx, rc);
}

FN int fx_rename(struct fx *f, const char *from, const char *to)
{
    struct ctx cx;
    fx_begin(&cx);
    int rc = cat_table_rename(&cx, f->cat, f->w, S("d"), str_of(from), S("d"), str_of(to));
    return fx_end(f, &cx, rc);
}

FN int fx_branch(struct fx *f, const char *object, struct branch **ret) /* give it back */
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(f, &cx, cat_branch_open(&cx, f->cat, f->w, S("d"), str_of(object), ret));
}

/* One turn on the strand. */
struct turn {
    struct strand_task task; /* first */
    int (*fn)(struct ctx *cx, struct branch *br, void *arg);
    struct ctx *cx;
    struct branch *br;
    void *arg;
    int rc;
    sem_t done;
};

static void turn_run(struct strand_task *task)
{
    struct turn *t = (struct turn *)task;
    t->rc = t->fn(t->cx, t->br, t->arg);
    sem_post(&t->done);
}

static int turn_once(struct turn *t, struct strand *s)
{
    static atomic_uint turns;
    t->task.fn = turn_run;
    sem_init(&t->done, 0, 0);
    bool here = atomic_fetch_add(&turns, 1) & 1; /* the server does both */
    int rc = here ? strand_run(s, &t->task) : strand_post(s, &t->task);
    if (rc < 0)
        return ctx_fail(t->cx, rc, RES_NONE, STR_NONE, "the strand takes no task");
    while (sem_wait(&t->done) < 0) {
    }
    sem_destroy(&t->done);
    return t->rc;
}

static int gather_turn(struct ctx *cx, struct branch *br, void *arg)
{
    (void)arg;
    return branch_gather(cx, br);
}

/* As the server does it: what a turn misses is read off the strand, then it runs again. */
static int turn(struct ctx *cx, struct branch *br,
                int (*fn)(struct ctx *cx, struct branch *br, void *arg), void *arg)
{
    struct turn t = {.fn = fn, .cx = cx, .br = br, .arg = arg};
    struct turn gather = {.fn = gather_turn, .cx = cx, .br = br};
    int rc = turn_once(&t, branch_strand(br));
    uint64_t at = branch_version(br);
    for (int i = 0; rc == E_NEED; i++) {
        if (branch_version(br) != at)
            i = 0; /* it went on */
        at = branch_version(br);
        assert_true(i < 20);
        rc = turn_once(&gather, i < 10 ? branch_loads(br) : branch_strand(br));
        if (rc == 0)
            rc = turn_once(&t, branch_strand(br));
    }
    return rc;
}

/* Opens the branch, takes a turn on it, gives it back. */
static int turn_on(struct ctx *cx, struct fx *f, const char *object,
                   int (*fn)(struct ctx *cx, struct branch *br, void *arg), void *arg)
{
    struct branch *br;
    TRY(cat_branch_open(cx, f->cat, f->w, S("d"), str_of(object), &br));
    int rc = turn(cx, br, fn, arg);
    branch_unref(br);
    return rc;
}

static int turn_drop(struct ctx *cx, struct branch *br, void *arg)
{
    return table_drop(cx, br, arg ? S("d") : STR_NONE, str_of(arg)); /* arg: its name, or any */
}

FN int fx_drop(struct fx *f, const char *object)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(f, &cx, turn_on(&cx, f, object, turn_drop, (void *)object));
}

static int turn_alter(struct ctx *cx, struct branch *br, void *arg)
{
    return table_alter(cx, br, arg);
}

FN int fx_alter(struct fx *f, const char *object, const char *changes)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(f, &cx, turn_on(&cx, f, object, turn_alter, (void *)fx_json(f, changes)));
}

static int turn_head(struct ctx *cx, struct branch *br, void *arg)
{
    return branch_head(cx, br, arg);
}

struct seen {   /* a head, as a reader has it */
    int64_t id; /* 0: none */
    str json, uuid, body;
    struct totals totals;
};

static struct seen seen_of(struct fx *f, struct head *h)
{
    struct seen s = {0};
    if (h)
        s = (struct seen){.id = h->id,
                          .json = str_dup(&f->cx.arena, h->json),
                          .uuid = h->uuid.len ? str_dup(&f->cx.arena, h->uuid) : STR_NONE,
                          .body = str_dup(&f->cx.arena, head_body(h)),
                          .totals = h->totals};
    return s;
}

FN int fx_head(struct fx *f, const char *object, struct seen *ret)
{
    struct ctx cx;
    struct head *h = NULL;
    fx_begin(&cx);
    int rc = turn_on(&cx, f, object, turn_head, &h);
    if (rc == 0)
        *ret = seen_of(f, h);
    head_unref(h);
    return fx_end(f, &cx, rc);
}

FN int64_t fx_head_id(struct fx *f, const char *object)
{
    struct seen s;
    OK(f, fx_head(f, object, &s));
    return s.id;
}

FN enum peek fx_peek(struct fx *f, const char *object, struct seen *ret)
{
    struct head *h = NULL;
    enum peek p = cat_head_peek(f->cat, f->w, S("d"), str_of(object), &h);
    if (ret)
        *ret = seen_of(f, h);
    head_unref(h);
    return p;
}

static int turn_rollback(struct ctx *cx, struct branch *br, void *arg)
{
    return branch_rollback(cx, br, arg);
}

FN int fx_rollback_in(struct fx *f, const char *object, struct rollback_in in)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(f, &cx, turn_on(&cx, f, object, turn_rollback, &in));
}

FN int fx_rollback(struct fx *f, const char *object, int64_t id)
{
    return fx_rollback_in(f, object, (struct rollback_in){.snapshot_id = id});
}

FN struct cat_counts fx_counts(struct fx *f)
{
    struct cat_counts c;
    catalog_counts(f->cat, &c);
    return c;
}

/* --- commits ---------------------------------------------------------------------------------- */

struct draft { /* a snapshot and its commit request */
    int64_t id, schema_id, ident, total, delta;
    char uuid[40], user[64], base[64], dlist[64]; /* uuid "": none */
    char base_uuid[40];
    bool has_base; /* base_uuid is sent */
    const char *index, *statistics, *changelog, *kind;
    const char *extra;     /* more members: ",\"x\":1" */
    const char *long_user; /* instead of user */
    str table_id;
    int64_t size, ms;    /* of the file that it adds, unless `entries` says what it does */
    bool no_files;       /* what it names is not written */
    int64_t deadline_ms; /* of the request */

    /* What its lists say. */
    int no;                         /* in names */
    const struct draft *prev;       /* that it follows; NULL: none */
    const struct fx_entry *entries; /* of its delta; NULL: one file added, unless delta is 0 */
    size_t n_entries;
    const struct index_entry *index_files; /* in its index manifest */
    size_t n_index;
    bool own_base; /* its base list holds these, whatever it follows */
    const struct manifest_file *bases;
    size_t n_bases;
    struct manifest_file manifest; /* of what is a prev: the one of its delta, if it has entries */
};

static str fx_manifest(struct fx *f, const struct draft *d, struct manifest_file *ret);

static const struct draft *fx_past_of(struct fx *f, const struct draft *d)
{
    if (!d)
        return NULL;
    assert_int_not_equal(d->no, 0); /* its lists are known */
    struct draft *own = ARENA_NEW(&f->cx.arena, struct draft);
    assert_non_null(own);
    *own = *d;
    (void)fx_manifest(f, d, &own->manifest);
    return own;
}

/* The successor of `prev` (NULL: the first snapshot), as a writer would make it. */
FN struct draft fx_next(struct fx *f, const struct draft *prev, const char *user, bool uuid)
{
    struct draft d = {.id = prev ? prev->id + 1 : 1,
                      .ident = INT64_MAX,
                      .total = prev ? prev->total + 10 : 10,
                      .delta = 10,
                      .kind = "APPEND",
                      .size = 1000,
                      .ms = 5000 + f->seq};
    d.no = ++f->seq;
    d.prev = fx_past_of(f, prev);
    snprintf(d.user, sizeof d.user, "%s", user);
    snprintf(d.base, sizeof d.base, "manifest-list-%d-0", f->seq);
    snprintf(d.dlist, sizeof d.dlist, "manifest-list-%d-1", f->seq);
    if (uuid)
        rand_uuid(d.uuid);
    if (uuid && prev && prev->uuid[0]) {
        d.has_base = true;
        memcpy(d.base_uuid, prev->uuid, sizeof d.base_uuid);
    }
    return d;
}

static void add_name(struct buf *b, const char *key, const char *value)
{
    if (value)
        buf_addf(b, ",\"%s\":\"%s\"", key, value);
}

FN str fx_snapshot(struct fx *f, const struct draft *d)
{
    struct buf b = {0};
    buf_addf(&b, "{\"version\":3,\"id\":%lld,\"schemaId\":%lld", (long long)d->id,
             (long long)d->schema_id);
    if (d->uuid[0])
        add_name(&b, "uuid", d->uuid);
    add_name(&b, "baseManifestList", d->base);
    add_name(&b, "deltaManifestList", d->dlist);
    add_name(&b, "changelogManifestList", d->changelog);
    add_name(&b, "indexManifest", d->index);
    add_name(&b, "statistics", d->statistics);
    add_name(&b, "commitUser", d->long_user ? d->long_user : d->user);
    add_name(&b, "commitKind", d->kind);
    buf_addf(&b,
             ",\"commitIdentifier\":%lld,\"timeMillis\":1700000000000,\"totalRecordCount\":%lld,"
             "\"deltaRecordCount\":%lld%s}",
             (long long)d->ident, (long long)d->total, (long long)d->delta,
             d->extra ? d->extra : "");
    str s = str_dup(&f->cx.arena, buf_str(&b));
    assert_int_equal(buf_fail(&b), 0);
    buf_done(&b);
    return s;
}

/* The draft that d follows, and so on: the one of snapshot `id`. */
FN const struct draft *fx_back(const struct draft *d, int64_t id)
{
    while (d && d->id != id)
        d = d->prev;
    assert_non_null(d);
    return d;
}

/* Does d's base list hold what is live at `head` (NULL: nothing is)? */
FN bool fx_follows(const struct draft *d, const struct draft *head)
{
    if (!d->prev || !head)
        return !d->prev && !head;
    return d->prev->no == head->no;
}

/* The entries of its delta list, in its manifest. */
FN const struct fx_entry *fx_entries(struct fx *f, const struct draft *d, size_t *ret_n)
{
    assert_true(d->size >= 0 && d->size <= FX_SIZE_MAX);
    *ret_n = d->n_entries;
    if (d->entries || d->delta == 0)
        return d->entries;
    struct fx_entry *e = ARENA_NEW(&f->cx.arena, struct fx_entry);
    assert_non_null(e);
    *e = (struct fx_entry){.rows = d->delta > 0 && d->delta < 1000000 ? d->delta : 10,
                           .size = d->size,
                           .ms = d->ms,
                           .schema_id = d->schema_id,
                           .name = fx_text(f, "data-%d-0.orc", d->no)};
    *ret_n = 1;
    return e;
}

static str fx_manifest(struct fx *f, const struct draft *d, struct manifest_file *ret)
{
    size_t n;
    const struct fx_entry *e = fx_entries(f, d, &n);
    *ret = (struct manifest_file){.name = STR_NONE};
    return n ? manifest_of(&f->cx, e, n, fx_text(f, "manifest-%d", d->no), ret) : STR_NONE;
}

static str fx_base_list(struct fx *f, const struct draft *d)
{
    size_t n = 0;
    if (d->own_base)
        return list_of(&f->cx, d->bases, d->n_bases);
    for (const struct draft *p = d->prev; p; p = p->prev)
        n += p->manifest.name.p != NULL;
    struct manifest_file *m = ARENA_ARRAY(&f->cx.arena, struct manifest_file, n + 1);
    assert_non_null(m);
    size_t at = n;
    for (const struct draft *p = d->prev; p; p = p->prev)
        if (p->manifest.name.p)
            m[--at] = p->manifest;
    return list_of(&f->cx, m, n);
}

/* Which files are live at d: those that the commits up to it added and did not delete. */
FN size_t fx_live(struct fx *f, const struct draft *d, struct fx_entry *ret, size_t cap)
{
    size_t n = 0, k;
    if (d->prev)
        n = fx_live(f, d->prev, ret, cap);
    const struct fx_entry *e = fx_entries(f, d, &k);
    for (size_t i = 0; i < k; i++) {
        size_t at = 0;
        while (at < n && !(str_eq(ret[at].name, e[i].name) && ret[at].level == e[i].level))
            at++;
        assert_int_equal(at < n, e[i].del);
        assert_true(at < cap);
        if (e[i].del)
            memmove(&ret[at], &ret[at + 1], (--n - at) * sizeof *ret);
        else
            ret[n++] = e[i];
    }
    return n;
}

struct fx_file { /* what a snapshot names, below its table's directory */
    str path, bytes;
};

static str fx_data(struct fx *f, int64_t size)
{
    char *z = arena_alloc(&f->cx.arena, (size_t)size + 1);
    assert_non_null(z);
    memset(z, 'd', (size_t)size);
    return str_n(z, (size_t)size);
}

/* All of them: the base list, the delta list, the delta's manifest, data files, ... */
FN struct fx_file *fx_named(struct fx *f, const struct draft *d, size_t *ret_n)
{
    size_t n = 0, k;
    const struct fx_entry *e = fx_entries(f, d, &k);
    struct fx_file *file = ARENA_ARRAY(&f->cx.arena, struct fx_file, 2 * k + d->n_index + 6);
    struct manifest_file m;
    assert_non_null(file);
    str manifest = fx_manifest(f, d, &m);
    file[n++] = (struct fx_file){fx_text(f, "manifest/%s", d->base), fx_base_list(f, d)};
    file[n++] = (struct fx_file){fx_text(f, "manifest/%s", d->dlist),
                                 list_of(&f->cx, &m, manifest.p ? 1 : 0)};
    if (manifest.p)
        file[n++] = (struct fx_file){fx_text(f, "manifest/%.*s", STR(m.name)), manifest};
    if (d->index)
        file[n++] = (struct fx_file){fx_text(f, "manifest/%s", d->index),
                                     index_of(&f->cx, d->index_files, d->n_index)};
    for (size_t i = 0; i < d->n_index; i++)
        file[n++] = (struct fx_file){fx_text(f, "index/%.*s", STR(d->index_files[i].name)),
                                     fx_data(f, d->index_files[i].size)};
    if (d->changelog)
        file[n++] =
            (struct fx_file){fx_text(f, "manifest/%s", d->changelog), list_of(&f->cx, NULL, 0)};
    if (d->statistics)
        file[n++] = (struct fx_file){fx_text(f, "statistics/%s", d->statistics), S("statistics")};
    for (size_t i = 0; i < k; i++) {
        if (e[i].del || e[i].no_file || e[i].external.p)
            continue;
        str at = fx_text(f, "%.*sbucket-%d", STR(e[i].folder.p ? e[i].folder : S("")), e[i].bucket);
        file[n++] = (struct fx_file){fx_text(f, "%.*s/%.*s", STR(at), STR(e[i].name)),
                                     fx_data(f, e[i].size)};
        if (e[i].extra.p)
            file[n++] =
                (struct fx_file){fx_text(f, "%.*s/%.*s", STR(at), STR(e[i].extra)), S("extra")};
    }
    *ret_n = n;
    return file;
}

/* Is it there, and not what a power loss leaves of an unsynced file? */
static bool fx_whole(struct fx *f, str path)
{
    struct io_stat st = {0};
    int rc = io_stat(f->io, &f->cx, path, &st);
    ctx_reset_err(&f->cx);
    return rc == 0 && st.size > 0;
}

/* Writes what the snapshot names and is not there, as a client does: not synced. */
FN void fx_files(struct fx *f, const char *table, const struct draft *d)
{
    size_t n;
    struct fx_file *file = fx_named(f, d, &n);
    str dir = fx_dir(f, table);
    for (size_t i = 0; i < n; i++) {
        str path = fx_text(f, "%.*s/%.*s", STR(dir), STR(file[i].path));
        if (fx_whole(f, path))
            continue;
        size_t cut = path.len;
        while (path.p[cut - 1] != '/')
            cut--;
        assert_int_equal(io_mkdirs(f->io, &f->cx, str_n(path.p, cut - 1)), 0);
        fx_write(f, path, file[i].bytes);
    }
}

/* A foreign writer's snapshot: files and all, without asking anybody. */
FN void fx_foreign(struct fx *f, const char *table, const struct draft *d)
{
    fx_files(f, table, d);
    fx_write(f, fx_snapshot_path(f, table, d->id), fx_snapshot(f, d));
}

struct posted {
    struct commit *cm;
    bool success;
};

static int turn_commit(struct ctx *cx, struct branch *br, void *arg)
{
    struct posted *p = arg;
    (void)br;
    return commit_run(cx, p->cm, &p->success);
}

/* The way of h_commit. */
static int post(struct ctx *cx, struct fx *f, const char *object, const struct commit_in *in,
                bool *ret_success)
{
    struct branch *br;
    struct posted p = {0};
    TRY(cat_branch_open(cx, f->cat, f->w, S("d"), str_of(object), &br));
    int rc = commit_new(cx, br, in, &p.cm);
    for (int turns = 1; rc == 0; turns++) {
        rc = commit_prepare(cx, p.cm);
        if (rc == 0)
            rc = turn(cx, br, turn_commit, &p);
        f->needs += rc == CAT_NEED;
        if (rc != CAT_NEED)
            break;
        assert_true(turns < 10);
        rc = 0;
    }
    branch_unref(br);
    *ret_success = p.success;
    return rc;
}

FN int fx_commit(struct fx *f, const char *object, const struct draft *d, bool *ret_success)
{
    struct ctx cx;
    const char *dollar = strchr(object, '$');
    str table = dollar ? str_n(object, (size_t)(dollar - object)) : str_of(object);
    if (!d->no_files)
        fx_files(f, str_dupz(&f->cx.arena, table), d);
    fx_begin(&cx);
    cx.deadline_ms = d->deadline_ms;
    struct commit_in in = {.table_id = d->table_id,
                           .base_uuid = d->has_base ? str_of(d->base_uuid) : STR_NONE};
    str text = fx_snapshot(f, d);
    int rc = json_parse(&cx, text, "test", &in.snapshot);
    if (rc == 0)
        rc = post(&cx, f, object, &in, ret_success);
    return fx_end(f, &cx, rc);
}

/* It must be answered without an error; the answer. */
FN bool fx_answer(struct fx *f, const char *object, const struct draft *d)
{
    bool success = false;
    int rc = fx_commit(f, object, d, &success);
    if (rc != 0)
        fail_msg("commit of snapshot %lld: %s: %s", (long long)d->id, err_name(rc), f->err.msg);
    return success;
}

/* Commits n snapshots on top of *last (id 0: on an empty table). */
FN void fx_grow(struct fx *f, const char *object, struct draft *last, int n, bool uuid)
{
    for (int i = 0; i < n; i++) {
        struct draft d = fx_next(f, last->id ? last : NULL, "u", uuid);
        if (!fx_answer(f, object, &d))
            fail_msg("snapshot %lld was answered false", (long long)d.id);
        *last = d;
    }
}

/* Files snapshot-1..n are there and no other. */
FN void fx_snapshots_are(struct fx *f, const char *table, int64_t first, int64_t last)
{
    str dir = layout_snapshot_dir(&f->cx.arena, fx_dir(f, table), S("main"));
    struct io_entry *e;
    size_t n;
    int64_t id, found = 0;
    assert_int_equal(io_list(f->io, &f->cx, dir, &e, &n), 0);
    for (size_t i = 0; i < n; i++) {
        if (!layout_snapshot_id(e[i].name, &id))
            continue;
        if (id < first || id > last)
            fail_msg("there is a snapshot-%lld", (long long)id);
        found++;
    }
    assert_int_equal(found, last - first + 1);
}

#endif
