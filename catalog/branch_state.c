/* branch_state.c - the state of a branch: who has it, how it comes and goes.
 *
 * The state belongs to the strand. Reading it may take long, so the strand does not: a turn that misses
 * it ends with E_NEED, whoever runs turns calls branch_gather off the strand, and what that read lies in
 * the branch as its *arrival* until the next turn picks it up. An arrival is of one head (by the text of
 * its snapshot): if the head has moved meanwhile it is thrown away and asked for again. Requests that
 * miss the same state queue up on the branch's second strand, `loads`, so that it is read once.
 *
 * With the state comes what the snapshot file after the head says, if there is one, so that catch-up can
 * adopt it without a look at the disk.
 *
 * A table that does not fit in state.table-max has no state: `streaming`. Each commit then reads the
 * manifests through for what it needs (commit.c).
 *
 * Invariant: state_text is the text that the state is at, or 0. */
#include "catalog/head_lists.h"

#include "manifest/layout.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"

#define GATHER_ARENA_MAX ((size_t)256 << 20)

struct arrival {
    uint64_t text; /* of the head that it is for */
    struct table_state *state;
    bool too_large;
    char *damage; /* why there is no state: the head's own files */
    struct commit_facts *next;
    uint64_t next_text; /* of the snapshot that `next` is about */
};

void arrival_free(struct arrival *a)
{
    if (!a)
        return;
    state_free(a->state);
    facts_free(a->next);
    mem_free(a->damage);
    mem_free(a);
}

struct meta_dir branch_meta_dir(struct branch *br)
{
    return (struct meta_dir){br->table->io, str_of(br->table->dir)};
}

/* --- traits ----------------------------------------------------------------------------------- */

int branch_traits(struct ctx *cx, struct branch *br, struct table_traits **ret)
{
    struct schema_at at;
    struct table_traits *fresh;
    pthread_mutex_lock(&br->mu);
    struct table_traits *t = br->traits ? traits_ref(br->traits) : NULL, *old = NULL;
    uint64_t no = br->traits_no;
    pthread_mutex_unlock(&br->mu);
    if (!t) {
        int rc = schema_of_branch(cx, br, &at);
        if (rc == E_NOTFOUND || (rc == 0 && at.id < 0)) { /* or it is being made just now */
            ctx_reset_err(cx);
            return ctx_code(branch_gone(cx, br), E_NOTFOUND);
        }
        TRY(rc);
        TRY(traits_new(cx, at.json, at.id, &fresh));
        t = fresh;
        pthread_mutex_lock(&br->mu);
        if (br->traits_no == no) { /* else the schema changed after we read it */
            old = br->traits;
            br->traits = traits_ref(t);
        }
        pthread_mutex_unlock(&br->mu);
        traits_unref(old);
    }
    *ret = t;
    return 0;
}

void branch_traits_forget(struct branch *br)
{
    pthread_mutex_lock(&br->mu);
    struct table_traits *t = br->traits;
    br->traits = NULL;
    br->traits_no++;
    pthread_mutex_unlock(&br->mu);
    traits_unref(t);
}

struct state_opts branch_state_opts(const struct branch *br, const struct table_traits *t)
{
    const struct catalog_opts *o = &br->table->cat->o;
    return (struct state_opts){.partition = traits_partition(t),
                               .row_ids = t->row_ids,
                               .max_bytes = o->state_table_max,
                               .gone_max = o->state_gone_max};
}

struct facts_opts branch_facts_opts(const struct branch *br, const struct table_traits *t)
{
    return (struct facts_opts){.partition = traits_partition(t),
                               .row_ids = t->row_ids,
                               .max_bytes = br->table->cat->o.facts_max_bytes};
}

/* --- off the strand --------------------------------------------------------------------------- */

static int load(struct ctx *cx, struct branch *br, const struct table_traits *traits,
                const struct head *h, struct table_state **ret)
{
    struct catalog *c = br->table->cat;
    struct meta_dir dir = branch_meta_dir(br);
    struct snapshot s;
    struct state_opts o = branch_state_opts(br, traits);
    if (h)
        TRY(snapshot_decode_file(cx, h->json, STR_LIT("head"), &s));
    if (state_come_back(br, h, &o, ret))
        return 0;
    TRY(state_load(cx, &dir, h ? &s : NULL, &o, ret));
    COUNT(c, states_loaded);
    return 0;
}

static int arrival_damaged(struct ctx *cx, struct arrival *a)
{
    a->damage = str_heap(str_of(cx->err.msg));
    if (!a->damage)
        return ctx_nomem(cx);
    ctx_reset_err(cx);
    return 0;
}

/* The state at `h`, or why there is none. */
static int load_into(struct ctx *cx, struct branch *br, const struct table_traits *traits,
                     const struct head *h, struct arrival *a)
{
    int rc = load(cx, br, traits, h, &a->state);
    IGNORE(INJECT(STATE_READ));
    if (rc == E_TOOBIG) {
        a->too_large = true;
        log_info("catalog", "state.too_large", LS("table", branch_full_name(cx, br)),
                 LZ("next", "its manifests are read through for each commit; state.table-max "
                            "allows more"));
    } else if (rc == E_CORRUPT || rc == E_UNSUPPORTED) {
        return arrival_damaged(cx, a);
    } else if (rc < 0) {
        return rc;
    }
    ctx_reset_err(cx);
    return 0;
}

/* Of the base list those manifests that the head did not have, and, if the last verdict asked for them, those
 * that delete anything. */
static int read_new_base(struct ctx *cx, struct branch *br, const struct head *h,
                         struct commit_facts *f)
{
    CLEANUP(head_lists_freep) struct head_lists *lists = NULL;
    CLEANUP(map_done) struct map known;
    bool dead = atomic_load(&br->next_dead);
    size_t n = 0, *which = ARENA_ARRAY(&cx->arena, size_t, f->n_base + 1);
    map_init(&known);
    if (!which)
        return ctx_nomem(cx);
    TRY(head_lists_read(cx, br, h, &lists));
    for (size_t i = 0; i < lists->n; i++)
        if (map_put(&known, lists->files[i].name, lists) < 0)
            return ctx_nomem(cx);
    for (size_t i = 0; i < f->n_base; i++)
        if (!map_get(&known, f->base[i].name) || (dead && f->base[i].deleted))
            which[n++] = i;
    return facts_read_base(cx, f, which, n);
}

static int read_next(struct ctx *cx, struct branch *br, const struct table_traits *traits,
                     const struct head *h, struct arrival *a)
{
    struct meta_dir dir = branch_meta_dir(br);
    struct snapshot s;
    struct facts_opts o = branch_facts_opts(br, traits);
    o.too_big_is_bad = true;
    o.known_index = h && h->index_manifest.len ? h->index_manifest : STR_NONE;
    int64_t id = (h ? h->id : 0) + 1;
    int rc = snapshot_load(cx, br, id, &s);
    if (rc == E_NOTFOUND || rc == E_CORRUPT) { /* catch-up says what is wrong with it */
        ctx_reset_err(cx);
        return 0;
    }
    TRY(rc);
    if (a->next && a->next_text == text_of(s.raw))
        return 0;
    facts_free(a->next);
    a->next = NULL;
    TRY(facts_read(cx, &dir, &s, &o, &a->next));
    a->next_text = text_of(s.raw);
    rc = a->next->bad.p ? 0 : read_new_base(cx, br, h, a->next);
    if (rc == E_CORRUPT) /* the head's own lists */
        ctx_reset_err(cx);
    return rc == E_CORRUPT ? 0 : rc;
}

/* What the next snapshot needs of a table too large for a state. */
static int read_through(struct ctx *cx, struct branch *br, const struct head *h, struct arrival *a)
{
    state_free(a->state); /* of another file that was there */
    a->state = NULL;
    int rc = branch_state_for(cx, br, h, a->next, &a->state);
    return rc == E_CORRUPT || rc == E_UNSUPPORTED ? arrival_damaged(cx, a) : rc;
}

static int gather(struct ctx *cx, struct branch *br, const struct head *h, struct arrival *a)
{
    struct table_traits *traits;
    bool streaming = atomic_load(&br->streaming);
    bool there = a->state || a->too_large || atomic_load(&br->state_text) == a->text;
    TRY(branch_traits(cx, br, &traits));
    int rc = there || streaming ? 0 : load_into(cx, br, traits, h, a);
    if (rc == 0)
        rc = read_next(cx, br, traits, h, a);
    if (rc == 0 && (streaming || a->too_large) && a->next && !a->next->bad.p)
        rc = read_through(cx, br, h, a);
    traits_unref(traits);
    return rc;
}

/* What arrived for this text, or a new one. */
static struct arrival *arrival_take(struct branch *br, uint64_t text)
{
    pthread_mutex_lock(&br->mu);
    struct arrival *a = br->arrival;
    br->arrival = NULL;
    pthread_mutex_unlock(&br->mu);
    if (a && a->text == text && !a->damage)
        return a;
    arrival_free(a);
    a = mem_zalloc(sizeof *a);
    if (a)
        a->text = text;
    return a;
}

static void arrival_put(struct branch *br, struct arrival *a)
{
    pthread_mutex_lock(&br->mu);
    struct arrival *old = br->arrival;
    br->arrival = a;
    pthread_mutex_unlock(&br->mu);
    arrival_free(old);
}

int branch_gather(struct ctx *cx, struct branch *br)
{
    struct ctx own;
    struct head *h = head_peek(br);
    struct arrival *a = arrival_take(br, head_text(h));
    if (!a) {
        head_unref(h);
        return ctx_nomem(cx);
    }
    /* One request's deadline does not end it: it serves others too. */
    ctx_init(&own, GATHER_ARENA_MAX);
    int rc = gather(&own, br, h, a);
    if (rc < 0) {
        cx->err = own.err;
        arrival_free(a);
    } else {
        arrival_put(br, a);
    }
    ctx_done(&own);
    head_unref(h);
    return rc;
}

int branch_state_for(struct ctx *cx, struct branch *br, const struct head *h,
                     const struct commit_facts *f, struct table_state **ret)
{
    struct table_traits *traits;
    struct meta_dir dir = branch_meta_dir(br);
    struct snapshot s;
    TRY(branch_traits(cx, br, &traits));
    struct state_opts o = branch_state_opts(br, traits);
    int rc = h ? snapshot_decode_file(cx, h->json, STR_LIT("head"), &s) : 0;
    if (rc == 0)
        rc = state_load_for(cx, &dir, h ? &s : NULL, &o, f, ret);
    if (rc == 0)
        COUNT(br->table->cat, states_streamed);
    traits_unref(traits);
    return rc;
}

/* --- on the strand ---------------------------------------------------------------------------- */

void branch_state_drop(struct branch *br)
{
    atomic_store(&br->state_text, 0);
    atomic_store(&br->streaming, false);
    branch_lists_drop(br);
    if (!br->state)
        return;
    states_remove(br);
    state_free(br->state);
    br->state = NULL;
}

void branch_state_count(struct branch *br)
{
    if (!br->state || !br->head || br->head->totals.file_count >= 0)
        return;
    struct totals t = totals_of_state(br->state);
    if (t.file_count >= 0)
        branch_head_totals(br, &t);
}

static void install(struct branch *br, struct table_state *st, uint64_t text)
{
    branch_state_drop(br);
    br->state = st;
    atomic_store(&br->state_text, text);
    states_touch(br);
    branch_state_count(br);
}

/* The files of the head itself cannot be read: it says which, once for each time it was tried. */
static int damaged(struct ctx *cx, struct branch *br, struct arrival *a)
{
    IGNORE(ctx_fail(cx, E_CORRUPT, RES_TABLE, branch_object(cx, br), "%s", a->damage));
    arrival_free(a);
    return cx->err.code;
}

int branch_state(struct ctx *cx, struct branch *br, struct table_state **ret)
{
    uint64_t text = head_text(br->head);
    if (br->state && atomic_load(&br->state_text) == text) {
        *ret = br->state;
        return 0;
    }
    bool streaming = atomic_load(&br->streaming);
    pthread_mutex_lock(&br->mu);
    struct arrival *a = br->arrival;
    bool right = a && a->text == text;
    struct table_state *st = right && !a->too_large && !streaming ? a->state : NULL;
    if (st)
        a->state = NULL;
    if (right && a->damage)
        br->arrival = NULL;
    pthread_mutex_unlock(&br->mu);
    if (right && a->damage)
        return damaged(cx, br, a);
    if (streaming)
        return STATE_STREAM;
    if (right && a->too_large) {
        branch_state_drop(br);
        atomic_store(&br->streaming, true);
        return STATE_STREAM;
    }
    if (!st)
        return E_NEED;
    install(br, st, text);
    *ret = st;
    return 0;
}

bool branch_next_take(struct branch *br, uint64_t text, struct commit_facts **ret,
                      struct table_state **ret_partial)
{
    pthread_mutex_lock(&br->mu);
    struct arrival *a = br->arrival;
    bool there = a && a->text == head_text(br->head) && a->next && a->next_text == text;
    if (there) {
        *ret = a->next;
        a->next = NULL;
        bool partial = a->too_large || atomic_load(&br->streaming);
        *ret_partial = partial ? a->state : NULL;
        a->state = partial ? NULL : a->state;
    }
    pthread_mutex_unlock(&br->mu);
    return there;
}

void branch_state_forward(struct ctx *cx, struct branch *br, const struct commit_facts *f)
{
    struct ctx own;
    if (!br->state)
        return;
    ctx_init(&own, (size_t)1 << 20);
    int rc = state_apply(&own, br->state, f);
    if (rc < 0) {
        log_warn("catalog", "state.dropped", LS("table", branch_full_name(cx, br)),
                 LI("snapshot", f->id), LZ("err", own.err.msg),
                 LZ("next", "it is loaded again when it is needed"));
        branch_state_drop(br);
    } else {
        atomic_store(&br->state_text, head_text(br->head));
        state_forget_gone(br->state, f->id - br->table->cat->o.history_snapshots);
        states_touch(br);
        state_keep(br, f->arena.used);
    }
    ctx_done(&own);
}
