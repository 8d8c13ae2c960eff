/* state_keep.c - states that outlive memory: one checkpoint file a branch below state_dir.
 *
 * It is written when a state makes room or the process ends, and on the way after so many commits or so
 * much change (then beside the strand: the bytes are made on it, which takes about as long as copying
 * them). Coming back is that file and the snapshots after it, each by its facts. A checkpoint whose
 * snapshot is not the one on disk any more (rolled back, expired, another text) is of no use, and neither is
 * one that any later snapshot does not go on from: then the manifests are read.
 *
 * Thread rule: state_keep and state_keep_now on the strand, or when nothing runs; state_come_back on any
 * thread that may block. One file is written at a time (`keeping`). */
#include "catalog/catalog_int.h"
#include "catalog/state_ckpt.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"

#define DELTAS_MAX 2000 /* snapshots after the checkpoint: past that, manifests are quicker */
#define SUFFIX     ".ckpt"
#define ID_LEN     36 /* of a table */

int states_dir_make(struct ctx *cx, struct catalog *c)
{
    if (!c->state_dir[0] || mkdir(c->state_dir, 0700) == 0 || errno == EEXIST)
        return 0;
    return ctx_fail_errno(cx, E_IO, "cannot make the directory %s", c->state_dir);
}

static int path_of(struct ctx *cx, const struct branch *br, str *ret)
{
    str name = str_of(br->name);
    return ctx_text(cx, ret, "%s/%s-%016llx" SUFFIX, br->table->cat->state_dir, br->table->id,
                    (unsigned long long)hash64(name.p, name.len));
}

/* --- writing ---------------------------------------------------------------------------------- */

struct keeping { /* bytes on their way to the disk */
    struct pool_item item;
    struct branch *br; /* a reference; NULL: the caller waits */
    char *path;
    struct buf bytes;
};

static void keeping_free(struct keeping *k)
{
    buf_done(&k->bytes);
    mem_free(k->path);
    mem_free(k);
}

static void write_it(struct keeping *k, struct branch *br)
{
    struct ctx cx;
    ctx_init(&cx, 1 << 16);
    if (state_ckpt_write(&cx, str_of(k->path), buf_str(&k->bytes)) < 0)
        log_warn("catalog", "state.unsaved", LZ("path", k->path), LZ("err", cx.err.msg),
                 LZ("next", "the table is read from its manifests when it is needed again"));
    else
        COUNT(br->table->cat, states_saved);
    ctx_done(&cx);
    atomic_store(&br->keeping, false);
}

static void keep_run(struct pool_item *it)
{
    struct keeping *k = (struct keeping *)it;
    write_it(k, k->br);
    branch_unref(k->br);
    keeping_free(k);
}

/* NULL: not now. */
static struct keeping *keeping_new(struct branch *br)
{
    struct ctx cx;
    str path;
    struct keeping *k = mem_zalloc(sizeof *k);
    ctx_init(&cx, 1 << 16);
    if (k) {
        buf_init(&k->bytes, 2 * br->table->cat->o.state_table_max);
        k->path = path_of(&cx, br, &path) == 0 ? str_heap(path) : NULL;
        uint64_t text = atomic_load(&br->state_text);
        if (!k->path || state_save(&cx, br->state, atomic_load(&br->epoch), text, &k->bytes) < 0) {
            keeping_free(k);
            k = NULL;
        }
    }
    ctx_done(&cx);
    return k;
}

static bool worth_keeping(const struct branch *br)
{
    const struct catalog *c = br->table->cat;
    return c->state_dir[0] && br->state && br->kept_text != atomic_load(&br->state_text) &&
           !atomic_load(&br->gone) && !atomic_load(&br->table->dead) &&
           state_info(br->state).bytes >= c->o.state_keep_min;
}

/* Begins a file; false: another one is being written, or it is not worth one. */
static struct keeping *begin(struct branch *br)
{
    if (!worth_keeping(br) || atomic_exchange(&br->keeping, true))
        return NULL;
    struct keeping *k = keeping_new(br);
    if (!k) {
        atomic_store(&br->keeping, false);
        return NULL;
    }
    br->kept_text = atomic_load(&br->state_text);
    br->kept_commits = br->kept_bytes = 0;
    return k;
}

void state_keep_now(struct branch *br)
{
    struct keeping *k = begin(br);
    if (!k)
        return;
    write_it(k, br);
    keeping_free(k);
}

void state_keep(struct branch *br, size_t change)
{
    struct catalog *c = br->table->cat;
    br->kept_commits++;
    br->kept_bytes += (int64_t)change;
    if (br->kept_commits < c->o.state_keep_commits && br->kept_bytes < c->o.state_keep_bytes)
        return;
    br->kept_commits = br->kept_bytes = 0;
    struct keeping *k = begin(br);
    if (!k)
        return;
    k->item.fn = keep_run;
    k->br = br;
    branch_ref(br);
    if (pool_post(c->o.background, STR_LIT("-"), &k->item) == 0)
        return;
    branch_unref(br);
    atomic_store(&br->keeping, false);
    keeping_free(k);
}

/* --- coming back ------------------------------------------------------------------------------ */

static int read_base(struct ctx *cx, const struct table_state *st, struct commit_facts *f)
{
    size_t n = 0, *which = ARENA_ARRAY(&cx->arena, size_t, f->n_base + 1);
    struct state_manifest m;
    if (!which)
        return ctx_nomem(cx);
    for (size_t i = 0; i < f->n_base; i++)
        if (!state_manifest(st, f->base[i].name, &m))
            which[n++] = i;
    return facts_read_base(cx, f, which, n);
}

static int forward_by(struct ctx *cx, struct branch *br, const struct snapshot *s,
                      struct table_state *st)
{
    CLEANUP(facts_freep) struct commit_facts *f = NULL;
    struct meta_dir dir = branch_meta_dir(br);
    const struct state_opts *so = state_options(st);
    struct facts_opts o = {.partition = so->partition,
                           .row_ids = so->row_ids,
                           .max_bytes = br->table->cat->o.facts_max_bytes,
                           .known_index = index_set_name(state_index(st))};
    TRY(facts_read(cx, &dir, s, &o, &f));
    if (!f->bad.p)
        TRY(read_base(cx, st, f));
    return state_apply(cx, st, f);
}

/* One snapshot in a context of its own, since there may be many. */
static int step(struct ctx *cx, struct branch *br, const struct head *h, int64_t id,
                struct table_state *st)
{
    struct ctx own;
    struct snapshot s;
    ctx_init(&own, (size_t)256 << 20);
    int rc = id == h->id ? snapshot_decode_file(&own, h->json, STR_LIT("head"), &s)
                         : snapshot_load(&own, br, id, &s);
    if (rc == 0)
        rc = forward_by(&own, br, &s, st);
    if (rc < 0)
        cx->err = own.err;
    ctx_done(&own);
    return rc;
}

/* Is its snapshot still the one that it was made of? */
static int still_true(struct ctx *cx, struct branch *br, const struct head *h,
                      const struct ckpt_head *ck)
{
    struct snapshot s;
    uint64_t text = h->text;
    if (ck->snapshot_id != h->id) {
        TRY(snapshot_load(cx, br, ck->snapshot_id, &s));
        text = text_of(s.raw);
    }
    return text == ck->text_hash
               ? 0
               : ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                          "the checkpoint is of another snapshot %lld", (long long)ck->snapshot_id);
}

static int come_back(struct ctx *cx, struct branch *br, const struct head *h,
                     const struct state_opts *o, struct table_state **ret)
{
    CLEANUP(state_freep) struct table_state *st = NULL;
    struct ckpt_head ck;
    str path;
    TRY(path_of(cx, br, &path));
    TRY(state_ckpt_read(cx, path, o, &ck, &st));
    IGNORE(INJECT(CKPT_READ));
    if (ck.snapshot_id > h->id || h->id - ck.snapshot_id > DELTAS_MAX)
        return ctx_fail(cx, E_NOTFOUND, RES_NONE, STR_NONE, "the checkpoint is of snapshot %lld",
                        (long long)ck.snapshot_id);
    TRY(still_true(cx, br, h, &ck));
    for (int64_t id = ck.snapshot_id + 1; id <= h->id; id++)
        TRY(step(cx, br, h, id, st));
    *ret = st;
    st = NULL;
    return 0;
}

bool state_come_back(struct branch *br, const struct head *h, const struct state_opts *o,
                     struct table_state **ret)
{
    struct ctx own;
    if (!h || !br->table->cat->state_dir[0])
        return false;
    ctx_init(&own, (size_t)16 << 20);
    int rc = come_back(&own, br, h, o, ret);
    if (rc < 0 && rc != E_NOTFOUND)
        log_info("catalog", "state.checkpoint_unused", LS("table", branch_full_name(&own, br)),
                 LZ("why", own.err.msg));
    ctx_done(&own);
    if (rc == 0)
        COUNT(br->table->cat, states_restored);
    return rc == 0;
}

/* --- going ------------------------------------------------------------------------------------ */

void state_unkeep(struct branch *br)
{
    struct ctx cx;
    str path;
    if (!br->table->cat->state_dir[0])
        return;
    ctx_init(&cx, 1 << 16);
    if (path_of(&cx, br, &path) == 0) {
        char *z = str_dupz(&cx.arena, path);
        IGNORE(z && unlink(z) < 0);
    }
    ctx_done(&cx);
}

/* Of a table that is in no warehouse any more? Not known: no. */
static bool left_behind(struct ctx *cx, struct catalog *c, const char *name)
{
    size_t len = strlen(name);
    struct table_row row;
    if (len <= ID_LEN || name[ID_LEN] != '-')
        return false;
    for (size_t i = 0; i < c->n_warehouses; i++) {
        int rc =
            STORE(c->o.store, table_by_id, cx, c->warehouses[i]->id, str_n(name, ID_LEN), &row);
        ctx_reset_err(cx);
        if (rc != E_NOTFOUND)
            return false;
    }
    return true;
}

void states_tidy(struct catalog *c)
{
    DIR *d = c->state_dir[0] ? opendir(c->state_dir) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct ctx cx;
        ctx_init(&cx, (size_t)64 << 20);
        if (left_behind(&cx, c, e->d_name))
            IGNORE(unlinkat(dirfd(d), e->d_name, 0) < 0);
        ctx_done(&cx);
    }
    if (d)
        closedir(d);
}
