/* state_report.c - what is in memory of a branch, and whether it is what the files say: for people who
 * look into a table, and for tests after every scenario.
 *
 * The comparison reads the manifests of the head off the strand and compares on it. When the head has
 * moved in between it is done again, at last on the turn. A table that does not fit in memory is not
 * compared: there is nothing to compare it with. */
#include "catalog/catalog_int.h"

#define DIFF_LINES 20
#define TRIES_MAX  2 /* off the strand */

struct state_check {
    struct branch *br;
    bool wanted;
    struct table_state *fresh; /* NULL: not read yet, or too large */
    uint64_t text;             /* of the head that it is of */
    int tries;
};

static void check_done(void *p)
{
    struct state_check *ck = p;
    state_free(ck->fresh);
}

int state_check_new(struct ctx *cx, struct branch *br, bool compare, struct state_check **ret)
{
    struct state_check *ck = ARENA_NEW(&cx->arena, struct state_check);
    if (!ck || arena_defer(&cx->arena, check_done, ck) < 0)
        return ctx_nomem(cx);
    ck->br = br;
    ck->wanted = compare;
    *ret = ck;
    return 0;
}

static int read_fresh(struct ctx *cx, struct state_check *ck, const struct head *h)
{
    struct table_traits *traits;
    struct meta_dir dir = branch_meta_dir(ck->br);
    struct snapshot s;
    if (h)
        TRY(snapshot_decode_file(cx, h->json, STR_LIT("head"), &s));
    TRY(branch_traits(cx, ck->br, &traits));
    struct state_opts o = branch_state_opts(ck->br, traits);
    o.max_bytes *= 2;
    o.gone_max = 0;
    state_free(ck->fresh);
    ck->fresh = NULL;
    int rc = state_load(cx, &dir, h ? &s : NULL, &o, &ck->fresh);
    traits_unref(traits);
    ck->text = head_text(h);
    if (rc == E_TOOBIG)
        ctx_reset_err(cx);
    return rc == E_TOOBIG ? 0 : rc;
}

int state_check_prepare(struct ctx *cx, struct state_check *ck)
{
    if (!ck->wanted)
        return 0;
    struct head *h = head_peek(ck->br);
    int rc = read_fresh(cx, ck, h);
    head_unref(h);
    return rc;
}

static int compare(struct ctx *cx, struct state_check *ck, const struct table_state *st,
                   struct state_report *ret)
{
    struct buf lines;
    if (ck->text != head_text(ck->br->head) && ck->tries++ < TRIES_MAX)
        return CAT_NEED;
    if (ck->text != head_text(ck->br->head))
        TRY(read_fresh(cx, ck, ck->br->head));
    if (!ck->fresh)
        return 0;
    buf_init(&lines, 1 << 20);
    int rc = state_diff(cx, st, ck->fresh, DIFF_LINES, &lines);
    ret->compared = true;
    ret->equal = lines.len == 0;
    ret->differences = str_dup(&cx->arena, buf_str(&lines));
    buf_done(&lines);
    return rc < 0 ? rc : ret->differences.p ? 0 : ctx_nomem(cx);
}

int state_check_run(struct ctx *cx, struct state_check *ck, struct state_report *ret)
{
    struct branch *br = ck->br;
    struct table_state *st;
    TRY(ctx_check_deadline(cx));
    TRY(branch_enter(cx, br));
    *ret = (struct state_report){.snapshot_id = br->head ? br->head->id : 0,
                                 .epoch = atomic_load(&br->epoch),
                                 .forked = br->forked,
                                 .differences = STR_NONE};
    int rc = branch_state(cx, br, &st);
    if (rc < 0 || rc == STATE_STREAM)
        return rc < 0 ? rc : 0;
    struct state_info in = state_info(st);
    ret->in_memory = true;
    ret->files = (int64_t)in.files;
    ret->rows = in.rows;
    ret->size_bytes = in.size_bytes;
    ret->partitions = (int64_t)in.partitions;
    ret->buckets = (int64_t)in.buckets;
    ret->manifests = (int64_t)in.manifests;
    ret->index_files = (int64_t)index_set_files(state_index(st));
    ret->vectors = (int64_t)index_set_vectors(state_index(st));
    ret->memory_bytes = (int64_t)in.bytes;
    return ck->wanted ? compare(cx, ck, st, ret) : 0;
}
