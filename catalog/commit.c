/* commit.c - a commit's way, step by step (design section 4).
 *
 *   4a prepare   any worker: look for the outcome of an earlier try, read what it names
 *   --- on the branch's strand ---
 *   1  catch up  branch_enter: what is on disk becomes what we hold
 *   2  replay    known already -> the answer given then
 *   3  base      it must be the head's successor, made on the head; else false
 *   4b decide    conflict_check: state, commit, evidence; missing evidence -> CAT_NEED, back to 4a
 *   5  create    sync what it names; snapshot-N, if absent; durable
 *   6  record    one store transaction (record.c)
 *   7  hint      LATEST; then the answer
 *
 * Invariants
 *  - false and 4xx only when nothing happened. Before 5 every error means that nothing was done.
 *  - Step 5 is the commit. After it the head in memory is the new one, whatever 6 does.
 *  - All memory that 6 needs is taken before 5.
 *  - The verdict does not rest on anything that prepare saw and that may have changed: what can
 *    change is named in `struct evidence` with the epoch and the count of outcomes it was seen at. What
 *    files say does not change.
 */
#include "catalog/commit_files.h"
#include "catalog/conflict_list.h"

#include "manifest/layout.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"

#define NEED_MAX     2 /* the third time it gathers where it is: on its turn */
#define USERS_MAX    100000
#define USER_LEN_MAX 1024
#define VALUES_MAX   100000 /* in a snapshot; stock ones have about thirty */

/* What a step on the strand says besides a negative error. */
enum say { GO_ON = 0, ANSWERED = 1, NEED_MORE = 2 };

struct evidence {
    int64_t epoch, seq; /* of the branch, before we looked */
    bool looked;        /* for an earlier outcome */
    bool known;         /* there is one: success */
    bool file_looked;   /* into the file of its number, if the head was that far */
    bool gathered;      /* what follows is there */
    str missing; /* the statistics file that it names and that is not there; p == NULL: none */
    enum schema_seen *schemas;
    struct file_evidence *files; /* NULL: not looked at */
};

struct commit {
    struct branch *br;
    struct commit_in in;
    struct snapshot snap;
    uint8_t key[OUTCOME_KEY_LEN];
    struct table_traits *traits;
    struct conflict_rules rules;
    struct commit_facts *facts;  /* NULL: not read yet */
    struct table_state *partial; /* of a table too large for a state */
    uint64_t partial_text;       /* of the head that it is of */
    struct evidence ev;
    struct need need; /* what the last verdict asked for */
    int needs;
};

static void commit_done(void *p)
{
    struct commit *cm = p;
    facts_free(cm->facts);
    state_free(cm->partial);
    traits_unref(cm->traits);
}

/* Values in a JSON tree, at most `max` of them counted. Trees are no deeper than JSON_DEPTH_MAX. */
static size_t values(const struct json *j, size_t max)
{
    size_t n = 1;
    JSON_EACH (it, j)
        if (n < max)
            n += values(it, max - n);
    return n;
}

/* What we take we must be able to read again, with the memory of one request, and to keep. */
static int bounds(struct ctx *cx, const struct commit *cm)
{
    size_t max = cm->br->table->cat->o.snapshot_max_bytes;
    if (cm->snap.raw.len > max)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "the snapshot has %zu bytes and snapshot.max-size allows %zu; nothing was "
                        "done, keep its properties short",
                        cm->snap.raw.len, max);
    if (values(cm->in.snapshot, VALUES_MAX + 1) > VALUES_MAX)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "the snapshot has more than %d values; nothing was done, keep its "
                        "properties few",
                        VALUES_MAX);
    if (cm->snap.commit_user.len > USER_LEN_MAX)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "snapshot.commitUser has %zu bytes; at most %d are taken",
                        cm->snap.commit_user.len, USER_LEN_MAX);
    return 0;
}

int commit_new(struct ctx *cx, struct branch *br, const struct commit_in *in, struct commit **ret)
{
    struct commit *cm = ARENA_NEW(&cx->arena, struct commit);
    if (!cm)
        return ctx_nomem(cx);
    if (arena_defer(&cx->arena, commit_done, cm) < 0)
        return ctx_nomem(cx);
    cm->br = br;
    cm->in = *in;
    if (in->table_id.p && !str_eqz(in->table_id, br->table->id))
        return branch_gone(cx, br); /* it was dropped and made anew under this name */
    TRY(snapshot_decode(cx, in->snapshot, "snapshot", &cm->snap));
    TRY(bounds(cx, cm));
    TRY(outcome_key(cx, &cm->snap, cm->key));
    *ret = cm;
    return 0;
}

/* --- 4a --------------------------------------------------------------------------------------- */

/* Was this very snapshot answered before? The store knows the recent ones, the files the older. */
static int look_back(struct ctx *cx, struct commit *cm)
{
    struct branch *br = cm->br;
    struct outcome o;

    cm->ev.epoch = atomic_load(&br->epoch);
    cm->ev.seq = atomic_load_explicit(&br->recent.seq, memory_order_acquire);
    int rc = STORE(br->table->cat->o.store, outcome_find, cx, str_of(br->table->id),
                   str_of(br->name), cm->key, &o);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    cm->ev.known = rc == 0;
    ctx_reset_err(cx);
    cm->ev.looked = true;
    cm->ev.file_looked = false;
    return 0;
}

/* Ids up to the head whose outcome is not recorded any more: the file tells, while it exists. */
static int look_into_file(struct ctx *cx, struct commit *cm, const struct head *h)
{
    struct snapshot there;
    if (cm->ev.known || !h)
        return 0;
    cm->ev.file_looked = true;
    if (cm->snap.id > h->id)
        return 0;
    int rc = snapshot_load(cx, cm->br, cm->snap.id, &there);
    if (rc == 0)
        cm->ev.known = snapshot_same(&cm->snap, &there);
    else if (rc != E_NOTFOUND && rc != E_CORRUPT)
        return rc;
    ctx_reset_err(cx);
    return 0;
}

static int read_facts(struct ctx *cx, struct commit *cm, const struct head *h)
{
    struct branch *br = cm->br;
    struct meta_dir dir = branch_meta_dir(br);
    TRY(branch_traits(cx, br, &cm->traits));
    TRY(branch_rules(cx, br, cm->traits, &cm->rules));
    struct facts_opts o = {.partition = traits_partition(cm->traits),
                           .row_ids = cm->traits->row_ids,
                           .max_bytes = br->table->cat->o.facts_max_bytes,
                           .known_index =
                               h && h->index_manifest.len ? h->index_manifest : STR_NONE};
    return facts_read(cx, &dir, &cm->snap, &o, &cm->facts);
}

/* What the last verdict asked for, of what is not read anyhow. */
static int read_needed(struct ctx *cx, struct commit *cm)
{
    struct need need = cm->need;
    cm->need = (struct need){0};
    TRY(facts_read_base(cx, cm->facts, need.manifests, need.n_manifests));
    return need.index ? facts_read_index(cx, cm->facts) : 0;
}

/* Of a table too large for a state: what is live of the files that the commit is about. */
static int read_partial(struct ctx *cx, struct commit *cm, const struct head *h)
{
    if (!atomic_load(&cm->br->streaming) || (cm->partial && cm->partial_text == head_text(h)))
        return 0;
    state_free(cm->partial);
    cm->partial = NULL;
    TRY(branch_state_for(cx, cm->br, h, cm->facts, &cm->partial));
    cm->partial_text = head_text(h);
    return 0;
}

static int look_at_statistics(struct ctx *cx, struct commit *cm, const struct head *h)
{
    struct table *t = cm->br->table;
    struct io_stat st;
    cm->ev.missing = STR_NONE;
    if (!cm->snap.statistics.len || (h && str_eq(cm->snap.statistics, h->statistics)))
        return 0;
    str path = layout_statistics(&cx->arena, str_of(t->dir), cm->snap.statistics);
    int rc = path.p ? io_stat(t->io, cx, path, &st) : ctx_nomem(cx);
    if (rc < 0 && rc != E_NOTFOUND)
        return rc;
    if (rc == E_NOTFOUND || st.is_dir)
        cm->ev.missing = path;
    ctx_reset_err(cx);
    return 0;
}

static int gather(struct ctx *cx, struct commit *cm, const struct head *h)
{
    struct branch *br = cm->br;
    struct conflict_evidence none = {0};
    TRY(warehouse_space(cx, br->table->wh));
    if (!cm->facts)
        TRY(read_facts(cx, cm, h));
    TRY(look_at_statistics(cx, cm, h));
    if (!cm->facts->bad.p) {
        TRY(read_needed(cx, cm));
        TRY(branch_schemas_seen(cx, br, cm->facts, &cm->ev.schemas));
        if (!cm->ev.files)
            TRY(branch_file_evidence(cx, br, cm->traits, cm->facts, &none, &cm->ev.files));
        TRY(read_partial(cx, cm, h));
    }
    cm->ev.gathered = true;
    return 0;
}

/* Is it the head's successor, made on the head? */
static bool base_right(const struct commit *cm, const struct head *h)
{
    const struct snapshot *s = &cm->snap;
    if (s->id != (h ? h->id : 0) + 1)
        return false;
    if (cm->in.base_uuid.p)
        return h && h->uuid.len > 0 && str_eq(cm->in.base_uuid, h->uuid);
    return !h || h->uuid.len == 0 || s->uuid.len == 0;
}

int commit_prepare(struct ctx *cx, struct commit *cm)
{
    TRY(look_back(cx, cm));
    struct head *h = head_peek(cm->br);
    int rc = look_into_file(cx, cm, h);
    /* A base that has moved already is answered false; nothing else about it matters. A branch
     * that is not loaded yet may have any head. */
    if (rc == 0 && !cm->ev.known && (!h || base_right(cm, h)))
        rc = gather(cx, cm, h);
    head_unref(h);
    IGNORE(INJECT(COMMIT_PREPARED));
    return rc;
}

static void done(struct ctx *cx, struct commit *cm, bool success, const char *how)
{
    enum log_level lvl = success ? LOG_INFO : LOG_DEBUG; /* a lost race is nobody's news */
    LOG_AT(lvl, "catalog", success ? "commit.done" : "commit.false",
           LS("table", branch_full_name(cx, cm->br)), LI("snapshot", cm->snap.id), LZ("how", how),
           LZ("kind", commit_kind_name(cm->snap.commit_kind)), LS("user", cm->snap.commit_user),
           LS("req", cx->request_id));
}

/* The head has the number that this one wants, and is another. The head is right as long as it is
 * settled; that it is the head is true at this moment, and at this moment the answer is given.
 * Nothing else says that a number is taken: of one below the head it is not plain whose it was. */
bool commit_lost(struct ctx *cx, struct commit *cm)
{
    struct branch *br = cm->br;
    pthread_mutex_lock(&br->mu);
    const struct head *h = br->settled ? br->head : NULL;
    bool lost = h && h->id == cm->snap.id && memcmp(h->key, cm->key, sizeof h->key) != 0;
    pthread_mutex_unlock(&br->mu);
    if (!lost || atomic_load(&br->table->dead))
        return false;
    COUNT(br->table->cat, commits_false);
    done(cx, cm, false, "taken");
    return true;
}

/* --- on the strand ---------------------------------------------------------------------------- */

/* 2. ANSWERED: it is known, GO_ON: it is not, NEED_MORE: what we saw is too old to tell. */
static enum say replayed(const struct commit *cm)
{
    struct branch *br = cm->br;
    const struct evidence *ev = &cm->ev;
    if (outcome_ring_find(&br->recent, cm->key))
        return ANSWERED;
    if (!ev->looked || ev->epoch != atomic_load(&br->epoch) ||
        !outcome_ring_covers(&br->recent, ev->seq))
        return NEED_MORE;
    if (ev->known)
        return ANSWERED;
    /* The branch was not loaded when we looked: its files may know more than the store. */
    bool old = br->head && cm->snap.id <= br->head->id;
    return old && !ev->file_looked ? NEED_MORE : GO_ON;
}

/* A null base says nothing about which snapshot N it was made on, and after a rollback there are two of
 * one number. What its files say tells mostly; where they do not, or say that it does not fit, each commit
 * user is sent back once, to read the head again. */
static int user_is_new(struct ctx *cx, struct commit *cm, bool *ret)
{
    struct branch *br = cm->br;
    uint8_t full[SHA256_LEN];
    str key = str_n((char *)full, OUTCOME_KEY_LEN);
    *ret = false;
    if (cm->in.base_uuid.p || !br->head || atomic_load(&br->epoch) == 0)
        return 0;
    sha256(cm->snap.commit_user.p, cm->snap.commit_user.len, full);
    if (map_get(&br->users, key))
        return 0;
    if (br->users.live >= USERS_MAX) /* each is sent back once more, which is no harm */
        branch_forget_users(br);
    char *own = mem_dup(key.p, key.len);
    if (!own || map_put(&br->users, str_n(own, key.len), own) < 0) {
        mem_free(own);
        return ctx_nomem(cx);
    }
    *ret = true;
    return 0;
}

/* A refusal of no file, by what is not there to be judged. */
static int manifest_bad(struct ctx *cx, struct verdict *v, str message)
{
    *v = (struct verdict){.kind = VERDICT_REFUSE,
                          .refusal = {.code = CONFLICT_MANIFEST_BAD,
                                      .partition = STR_NONE,
                                      .file = STR_NONE,
                                      .other_user = STR_NONE,
                                      .message = message}};
    ctx_reset_err(cx);
    return GO_ON;
}

/* The state to judge by. E_NEED: it must be loaded; NEED_MORE: what was read through is of another head;
 * E_CORRUPT: the table is damaged. */
static int state_to_judge_by(struct ctx *cx, struct commit *cm, struct table_state **ret)
{
    int rc = branch_state(cx, cm->br, ret);
    if (rc != STATE_STREAM)
        return rc;
    if (cm->partial && cm->partial_text == head_text(cm->br->head)) {
        *ret = cm->partial;
        return 0;
    }
    return NEED_MORE;
}

/* 4b. What state, commit and evidence say about a commit whose base is right. */
static int decide(struct ctx *cx, struct commit *cm, struct verdict *v)
{
    struct evidence *ev = &cm->ev;
    struct conflict_evidence seen = {.files = ev->files, .schemas = ev->schemas};
    struct table_state *st = NULL;
    str why;
    if (ev->missing.p) {
        TRY(ctx_text(cx, &why,
                     "manifest-bad: snapshot %lld names %.*s, which is no file in the warehouse; "
                     "write its files before the commit, below the path of GET table",
                     (long long)cm->snap.id, STR(ev->missing)));
        return manifest_bad(cx, v, why);
    }
    int rc = state_to_judge_by(cx, cm, &st);
    if (rc == E_CORRUPT) {
        TRY(ctx_text(cx, &why,
                     "manifest-bad: nothing was committed, because the table itself is damaged "
                     "(%s): put the file back, or roll back to a snapshot that is whole",
                     cx->err.msg));
        return manifest_bad(cx, v, why);
    }
    if (rc != 0)
        return rc;
    TRY(conflict_check(cx, st, cm->facts, &cm->rules, &seen, v));
    cm->need = v->need;
    return v->kind == VERDICT_NEED ? NEED_MORE : GO_ON;
}

/* What became of snapshot-N: another's; made by us now; ours by an earlier try, and adopted now. */
enum made { LOST = 0, CREATED = 1, ADOPTED = 2 };

/* The name was taken between catch-up and link: catch up again, then see whether that was us. By
 * this very text (NFS may tell so of our own link) it is CREATED, with its statistics. */
static int somebody_was_first(struct ctx *cx, struct commit *cm, str path)
{
    struct branch *br = cm->br;
    struct snapshot there;
    int rc = snapshot_load(cx, br, cm->snap.id, &there);
    if (rc == 0 && str_eq(cm->snap.raw, there.raw)) {
        rc = io_sync(br->table->io, cx, &path, 1);
        return rc < 0 ? (cx->err.code = E_UNKNOWN) : CREATED;
    }
    if (rc < 0 && rc != E_CORRUPT && rc != E_NOTFOUND) /* whose it is cannot be told */
        return cx->err.code = E_UNKNOWN;
    bool same = rc == 0 && snapshot_same(&cm->snap, &there);
    ctx_reset_err(cx);
    rc = branch_catch_up(cx, br);
    if (rc == E_NEED &&
        same) /* it is ours, and told as such: it must not end in "nothing was done" */
        rc = branch_gather(cx, br) < 0 ? E_IO : branch_catch_up(cx, br);
    if (rc < 0)
        return same ? (cx->err.code = E_UNKNOWN) : rc;
    return outcome_ring_find(&br->recent, cm->key) ? ADOPTED : LOST;
}

/* What is new with it is on disk after this, but for what io_put_after takes. */
static int make_durable(struct ctx *cx, struct commit *cm, struct new_files *ret)
{
    struct branch *br = cm->br;
    enum commit_sync sync = br->table->cat->o.sync;
    *ret = (struct new_files){0};
    if (sync == SYNC_OFF)
        return 0;
    TRY(commit_new_files(cx, br, cm->traits, &cm->snap, cm->facts, br->state, sync == SYNC_ALL,
                         ret));
    for (size_t i = 0; i < ret->n_elsewhere; i++)
        TRY(io_sync(ret->elsewhere[i].io, cx, &ret->elsewhere[i].path, 1));
    return 0;
}

/* 5. An enum made, or an error; E_UNKNOWN: the file may be there. */
static int create(struct ctx *cx, struct commit *cm)
{
    struct branch *br = cm->br;
    struct table *t = br->table;
    enum io_put_result put;
    str path = layout_snapshot(&cx->arena, str_of(t->dir), str_of(br->name), cm->snap.id);
    struct new_files nf;

    if (!path.p)
        return ctx_nomem(cx);
    TRY(make_durable(cx, cm, &nf));
    TRY(io_put_after(t->io, cx, nf.own, nf.n_own, path, cm->snap.raw, &put));
    return put == IO_PUT_CREATED ? CREATED : somebody_was_first(cx, cm, path);
}

/* A file or directory that was there a moment ago: the table was dropped, or somebody cleans. */
static int create_checked(struct ctx *cx, struct commit *cm)
{
    int rc = create(cx, cm);
    if (rc != E_NOTFOUND)
        return rc;
    if (atomic_load(&cm->br->table->dead)) {
        ctx_reset_err(cx);
        return branch_gone(cx, cm->br);
    }
    ctx_prefix(cx, "manifest-bad: a file of the commit is gone");
    return cx->err.code = E_CONFLICT;
}

static int perhaps(struct ctx *cx, struct commit *cm)
{
    after_create_failed(cx, cm->br);
    ctx_prefix(cx, "snapshot %lld may be committed, read the latest snapshot to find out",
               (long long)cm->snap.id);
    return cx->err.code = E_UNKNOWN;
}

/* 6 and 7, once the file is there. */
static int make_known(struct ctx *cx, struct commit *cm, struct commit_pending *p)
{
    struct branch *br = cm->br;
    IGNORE(INJECT(COMMIT_CREATED));
    branch_file_seen(cx, br, cm->snap.id);
    branch_publish(br, head_ref(p->head));
    branch_state_forward(cx, br, cm->facts);
    int rc = branch_record(cx, br, p);
    /* The table was dropped: there is nothing left to commit to. An external one's files stay, and with
     * them the snapshot. */
    if (rc == E_NOTFOUND && br->table->external) {
        ctx_prefix(cx, "snapshot %lld is in the files of the table", (long long)cm->snap.id);
        return cx->err.code = E_UNKNOWN;
    }
    if (rc == E_NOTFOUND)
        return rc;
    if (rc < 0)
        return perhaps(cx, cm);
    IGNORE(INJECT(COMMIT_RECORDED));
    branch_hint(cx, br);
    IGNORE(INJECT(COMMIT_HINTED));
    return 0;
}

/* The disk said no a moment ago, or that it does not know: the next turn looks. */
static int make_unsure(struct ctx *cx, struct commit *cm, struct commit_pending *p)
{
    p->unsure = true;
    cm->br->pending = p;
    branch_unsettle(cm->br);
    return perhaps(cx, cm);
}

/* 5, 6 and 7. */
static int make(struct ctx *cx, struct commit *cm, bool *ret_success)
{
    struct branch *br = cm->br;
    struct totals tot = totals_after(br, cm->facts);
    struct commit_pending *p =
        pending_new(cx, "commit", &cm->snap, &tot, br->head ? br->head->id : 0);
    if (!p)
        return ctx_nomem(cx);
    int rc = commit_deltas(cx, br, cm->facts, p);
    if (rc == 0)
        rc = create_checked(cx, cm);
    if (rc == CREATED) {
        TRY(make_known(cx, cm, p));
        *ret_success = true;
        return 0;
    }
    if (rc == E_UNKNOWN && !br->pending)
        return make_unsure(cx, cm, p);
    pending_free(p);
    TRY(rc);
    *ret_success = rc == ADOPTED;
    return 0;
}

static int answered_false(struct ctx *cx, struct commit *cm, const char *how, bool *ret_success)
{
    COUNT(cm->br->table->cat, commits_false);
    done(cx, cm, false, how);
    *ret_success = false;
    return ANSWERED;
}

/* What the verdict makes of it. After a rollback a null base may be one that is gone: what does not fit is
 * then sent back once instead of refused, and so is what has not the head's index. */
static int conclude(struct ctx *cx, struct commit *cm, const struct verdict *v, bool *ret_success)
{
    struct branch *br = cm->br;
    bool sent_back = false, refuse = v->kind == VERDICT_REFUSE;
    str index = br->head ? br->head->index_manifest : STR_NONE;
    if (refuse || !str_eq(cm->facts->index_name, index))
        TRY(user_is_new(cx, cm, &sent_back));
    if (sent_back)
        return answered_false(cx, cm, "epoch", ret_success);
    if (!refuse)
        return GO_ON;
    conflict_record(cx, br, &v->refusal, &cm->snap, /* accepted= */ false);
    return ctx_fail(cx, E_CONFLICT, RES_TABLE, branch_object(cx, br), "%.*s",
                    STR(v->refusal.message));
}

/* 1 to 4b. GO_ON with 5; ANSWERED: *ret_success is the answer; NEED_MORE: evidence is missing. */
static int judge(struct ctx *cx, struct commit *cm, bool *ret_success)
{
    struct branch *br = cm->br;
    struct verdict v = {.kind = VERDICT_OK};

    TRY(branch_enter(cx, br));
    enum say known = replayed(cm);
    if (known == NEED_MORE)
        return NEED_MORE;
    if (known == ANSWERED) {
        COUNT(br->table->cat, commits_replayed);
        *ret_success = true;
        done(cx, cm, true, "replayed");
        return ANSWERED;
    }
    TRY(branch_may_change(cx, br));
    if (!base_right(cm, br->head))
        return answered_false(cx, cm, "base", ret_success);
    if (!cm->ev.gathered)
        return NEED_MORE;
    int rc = decide(cx, cm, &v);
    return rc == GO_ON ? conclude(cx, cm, &v, ret_success) : rc;
}

int commit_run(struct ctx *cx, struct commit *cm, bool *ret_success)
{
    struct catalog *c = cm->br->table->cat;
    bool success = false;
    TRY(ctx_check_deadline(cx));
    int rc = judge(cx, cm, &success);
    while (rc == NEED_MORE) {
        if (cm->needs++ < NEED_MAX)
            return CAT_NEED;
        TRY(commit_prepare(cx, cm));
        rc = judge(cx, cm, &success);
    }
    if (rc == ANSWERED) {
        *ret_success = success;
        return 0;
    }
    if (rc == GO_ON) {
        IGNORE(INJECT(COMMIT_DECIDED));
        rc = make(cx, cm, &success);
        if (rc == 0 && success)
            COUNT(c, commits_true);
        else if (rc == 0)
            COUNT(c, commits_false);
        if (rc == 0)
            done(cx, cm, success, success ? "created" : "lost");
    }
    if (rc == E_CONFLICT)
        COUNT(c, commits_refused);
    else if (rc < 0 && rc != E_NEED)
        COUNT(c, commits_failed);
    TRY(rc);
    *ret_success = success;
    return 0;
}
