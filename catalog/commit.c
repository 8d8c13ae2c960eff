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
 *  - The verdict does not rest on anything that prepare saw and that may have changed.
 * The steps off the strand are in commit_prepare.c, 5 to 7 in commit_make.c.
 */
#include "catalog/commit_int.h"
#include "catalog/conflict_list.h"

#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"

#define TRIES_MAX    20 /* of gathering, when the head moves all the time */
#define USERS_MAX    100000
#define USER_LEN_MAX 1024
#define VALUES_MAX   100000 /* in a snapshot; stock ones have about thirty */

void commit_done(struct commit *cm)
{
    facts_free(cm->facts);
    state_free(cm->partial);
    traits_unref(cm->traits);
}

static void done_at_last(void *p)
{
    commit_done(p);
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
    if (arena_defer(&cx->arena, done_at_last, cm) < 0)
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

void commit_said(struct ctx *cx, struct commit *cm, bool success, const char *how)
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
    commit_said(cx, cm, false, "taken");
    return true;
}

/* --- on the strand ---------------------------------------------------------------------------- */

enum say commit_replayed(struct commit *cm)
{
    struct branch *br = cm->br;
    struct evidence *ev = &cm->ev;
    const struct outcome *o = outcome_ring_find(&br->recent, cm->key);
    if (o) {
        ev->known_id = o->snapshot_id;
        return ANSWERED;
    }
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

int commit_refused(struct ctx *cx, struct commit *cm, const struct refusal *r)
{
    conflict_record(cx, cm->br, r, &cm->snap, /* accepted= */ false);
    return ctx_fail(cx, E_CONFLICT, RES_TABLE, branch_object(cx, cm->br), "%.*s", STR(r->message));
}

void commit_manifest_bad(struct ctx *cx, struct verdict *v, str message)
{
    *v = (struct verdict){.kind = VERDICT_REFUSE,
                          .refusal = {.code = CONFLICT_MANIFEST_BAD,
                                      .partition = STR_NONE,
                                      .file = STR_NONE,
                                      .other_user = STR_NONE,
                                      .message = message}};
    ctx_reset_err(cx);
}

int commit_damaged(struct ctx *cx, struct verdict *v)
{
    str why, what = str_shortened(&cx->arena, str_of(cx->err.msg), REASON_SHOWN);
    if (!what.p)
        return ctx_nomem(cx);
    TRY(ctx_text(cx, &why,
                 "manifest-bad: nothing was committed, because the table itself is damaged "
                 "(%.*s): put the file back, or roll back to a snapshot that is whole",
                 STR(what)));
    commit_manifest_bad(cx, v, why);
    return GO_ON;
}

int commit_state(struct ctx *cx, struct commit *cm, struct table_state **ret)
{
    int rc = branch_state(cx, cm->br, ret);
    if (rc != STATE_STREAM)
        return rc;
    if (cm->partial_text != head_text(cm->br->head) || (!cm->partial && !cm->damage.p))
        return NEED_MORE;
    if (cm->damage.p)
        return ctx_fail(cx, E_CORRUPT, RES_TABLE, branch_object(cx, cm->br), "%.*s",
                        STR(cm->damage));
    *ret = cm->partial;
    return GO_ON;
}

int commit_judge(struct ctx *cx, struct commit *cm, struct verdict *v)
{
    struct conflict_evidence seen = {
        .files = cm->ev.files, .schemas = cm->ev.schemas, .restore = cm->ev.restore};
    struct table_state *st = NULL;
    /* Of metadata that is damaged itself nothing else is asked, and no state is read for it. */
    int rc = cm->facts->bad.p ? GO_ON : commit_state(cx, cm, &st);
    if (rc == E_CORRUPT)
        return commit_damaged(cx, v);
    if (rc != GO_ON)
        return rc;
    TRY(conflict_check(cx, st, cm->facts, &cm->rules, &seen, v));
    cm->need = v->need;
    return v->kind == VERDICT_NEED ? NEED_MORE : GO_ON;
}

/* 4b. What state, commit and evidence say about a commit whose base is right. */
static int decide(struct ctx *cx, struct commit *cm, struct verdict *v)
{
    str why, path;
    if (!cm->ev.missing.p)
        return commit_judge(cx, cm, v);
    path = str_shortened(&cx->arena, cm->ev.missing, REASON_SHOWN);
    if (!path.p)
        return ctx_nomem(cx);
    TRY(ctx_text(cx, &why,
                 "manifest-bad: snapshot %lld names %.*s, which is no file in the warehouse; "
                 "nothing was committed: write its files before the commit, below the path of GET "
                 "table",
                 (long long)cm->snap.id, STR(path)));
    commit_manifest_bad(cx, v, why);
    return GO_ON;
}

static int answered_false(struct ctx *cx, struct commit *cm, const char *how, bool *ret_success)
{
    COUNT(cm->br->table->cat, commits_false);
    commit_said(cx, cm, false, how);
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
    return refuse ? commit_refused(cx, cm, &v->refusal) : GO_ON;
}

/* 1 to 4b. GO_ON with 5; ANSWERED: *ret_success is the answer; NEED_MORE: evidence is missing. */
static int judge(struct ctx *cx, struct commit *cm, bool *ret_success)
{
    struct branch *br = cm->br;
    struct verdict v = {.kind = VERDICT_OK};

    TRY(branch_enter(cx, br));
    enum say known = commit_replayed(cm);
    if (known == NEED_MORE)
        return NEED_MORE;
    if (known == ANSWERED) {
        COUNT(br->table->cat, commits_replayed);
        *ret_success = true;
        commit_said(cx, cm, true, "replayed");
        return ANSWERED;
    }
    TRY(branch_may_change(cx, br));
    if (!commit_base_right(cm, br->head))
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
        if (cm->needs > TRIES_MAX)
            return ctx_fail(cx, E_BUSY, RES_NONE, STR_NONE,
                            "the table changes faster than this commit can be judged; nothing was "
                            "done, try again");
        TRY(commit_prepare(cx, cm));
        rc = judge(cx, cm, &success);
    }
    if (rc == ANSWERED) {
        *ret_success = success;
        return 0;
    }
    if (rc == GO_ON) {
        IGNORE(INJECT(COMMIT_DECIDED));
        rc = commit_make(cx, cm);
        success = rc > 0; /* CREATED, ADOPTED */
        rc = rc > 0 ? 0 : rc;
        if (rc == 0 && success)
            COUNT(c, commits_true);
        else if (rc == 0)
            COUNT(c, commits_false);
        if (rc == 0)
            commit_said(cx, cm, success, success ? "created" : "lost");
    }
    if (rc == E_CONFLICT)
        COUNT(c, commits_refused);
    else if (rc < 0 && rc != E_NEED)
        COUNT(c, commits_failed);
    TRY(rc);
    *ret_success = success;
    return 0;
}
