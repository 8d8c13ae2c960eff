/* conflict_list.c - from a verdict to the conflict list in the store, beside the branch's order.
 *
 * A verdict is given on the strand, which must not wait for the store because a commit was refused. So
 * the note is copied onto a queue and a background thread writes it, one small transaction each, a
 * bounded number in one turn of the pool. A reader first sees to it that everything that was queued
 * before it asked is written, by itself if need be, so whoever was refused finds the row.
 *
 * Best effort: a note that finds the queue full, no memory, or the store unable, is counted and logged
 * as lost. Nothing here changes the answer to the commit.
 *
 * Bounds: the queue; the length of each text; the rows of a branch (conflict.list-max, which the store
 * keeps with each new row) and their age (conflict.keep).
 *
 * The key of a row, by which the store knows that a commit was posted before: code, commit user,
 * identifier, partition, bucket, file. Not the snapshot's id or lists, which are new in each try, and
 * not table and branch, to which the row belongs whatever their names are.
 *
 * Locks: `mu` is a leaf, never held across the store. */
#include "catalog/conflict_list.h"

#include "catalog/catalog_int.h"
#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"

#define QUEUE_MAX  1000 /* notes that wait */
#define TURN_MAX   64   /* of them in one turn of the pool */
#define NOTE_ARENA ((size_t)1 << 20)
#define NAME_LEN   256 /* bytes that are kept of a text */
#define PLACE_LEN  512
#define WORDS_LEN  2000

struct note {
    struct note *next;
    uint64_t seq;
    struct store_conflict_in in; /* texts are in mem */
    char mem[];
};
struct conflict_notes {
    struct catalog *cat;
    struct pool_item item;
    pthread_mutex_t mu; /* guards what follows, to the counters */
    pthread_cond_t written;
    uint64_t seq;               /* of the last note that was queued */
    struct note *first, **last; /* that wait, oldest first */
    struct note *being_written; /* by whom it does not matter */
    size_t waiting;
    bool posted; /* the item is in the pool */
    _Atomic int64_t refused[CONFLICT_CODES], accepted[CONFLICT_CODES];
};

/* --- the queue -------------------------------------------------------------------------------- */

static void lost(struct catalog *c, const struct store_conflict_in *in, const char *why)
{
    COUNT(c, conflicts_lost);
    log_warn("catalog", "conflict.lost", LS("table_id", in->table_id), LS("branch", in->branch),
             LS("code", in->row.code), LS("user", in->row.commit_user), LZ("err", why));
}

/* The oldest, if it is not younger than `upto`; NULL: all up to that is written. Waits while another
 * one is being written: ids are in the order of the verdicts. */
static struct note *note_take(struct conflict_notes *q, uint64_t upto)
{
    pthread_mutex_lock(&q->mu);
    while (q->being_written && q->being_written->seq <= upto)
        pthread_cond_wait(&q->written, &q->mu);
    struct note *n = q->first;
    if (n && n->seq <= upto) {
        q->first = n->next;
        if (!q->first)
            q->last = &q->first;
        q->waiting--;
        q->being_written = n;
    } else {
        n = NULL;
    }
    pthread_mutex_unlock(&q->mu);
    return n;
}

static void note_done(struct conflict_notes *q, struct note *n)
{
    pthread_mutex_lock(&q->mu);
    ASSERT(q->being_written == n);
    q->being_written = NULL;
    pthread_cond_broadcast(&q->written);
    pthread_mutex_unlock(&q->mu);
    mem_free(n);
}

/* A branch or table that was dropped meanwhile has no list. */
static void note_write(struct conflict_notes *q, struct note *n)
{
    struct ctx cx;
    ctx_init(&cx, NOTE_ARENA);
    int rc = STORE(q->cat->o.store, conflict_note, &cx, &n->in);
    if (rc < 0 && rc != E_NOTFOUND)
        lost(q->cat, &n->in, cx.err.msg);
    ctx_done(&cx);
    note_done(q, n);
}

static void post(struct conflict_notes *q);

/* In the background, the pool's item. */
static void write_some(struct pool_item *it)
{
    struct conflict_notes *q =
        (struct conflict_notes *)(void *)((char *)it - offsetof(struct conflict_notes, item));
    struct note *n;
    for (int i = 0; i < TURN_MAX && (n = note_take(q, UINT64_MAX)); i++)
        note_write(q, n);
    pthread_mutex_lock(&q->mu);
    q->posted = false; /* not before: one thread of the pool is enough */
    pthread_mutex_unlock(&q->mu);
    post(q);
}

/* When the pool takes nothing, the next note, reader or the end of the catalog sees to it. */
static void post(struct conflict_notes *q)
{
    pthread_mutex_lock(&q->mu);
    bool wanted = q->first && !q->posted;
    q->posted |= wanted;
    pthread_mutex_unlock(&q->mu);
    if (!wanted || pool_post_forced(q->cat->o.background, STR_LIT("-"), &q->item) == 0)
        return;
    pthread_mutex_lock(&q->mu);
    q->posted = false;
    pthread_mutex_unlock(&q->mu);
}

static bool push(struct conflict_notes *q, struct note *n)
{
    pthread_mutex_lock(&q->mu);
    bool room = q->waiting < QUEUE_MAX;
    if (room) {
        q->waiting++;
        n->seq = ++q->seq;
        n->next = NULL;
        *q->last = n;
        q->last = &n->next;
    }
    pthread_mutex_unlock(&q->mu);
    return room;
}

/* Until all that was queued before is in the store, or lost. (worker) */
static void write_all(struct conflict_notes *q)
{
    struct note *n;
    pthread_mutex_lock(&q->mu);
    uint64_t upto = q->seq;
    pthread_mutex_unlock(&q->mu);
    while ((n = note_take(q, upto)))
        note_write(q, n);
}

int conflict_notes_new(struct ctx *cx, struct catalog *c, struct conflict_notes **ret)
{
    struct conflict_notes *q = mem_zalloc(sizeof *q);
    if (!q)
        return ctx_nomem(cx);
    q->cat = c;
    q->item.fn = write_some;
    q->last = &q->first;
    ASSERT(pthread_mutex_init(&q->mu, NULL) == 0 && pthread_cond_init(&q->written, NULL) == 0);
    *ret = q;
    return 0;
}

void conflict_notes_free(struct conflict_notes *q)
{
    if (!q)
        return;
    write_all(q);
    ASSERT(!q->being_written && !q->posted);
    ASSERT(pthread_cond_destroy(&q->written) == 0 && pthread_mutex_destroy(&q->mu) == 0);
    mem_free(q);
}

/* --- a note ----------------------------------------------------------------------------------- */

static str cut_to(str s, size_t max)
{
    if (!s.p || s.len <= max)
        return s;
    while (max > 0 && ((unsigned char)s.p[max] & 0xC0) == 0x80) /* not within a character */
        max--;
    return str_n(s.p, max);
}

static int key_of(const struct refusal *r, const struct snapshot *s, uint8_t ret[CONFLICT_KEY_LEN])
{
    CLEANUP(buf_done) struct buf b = {0};
    uint8_t full[SHA256_LEN];
    const str parts[] = {str_of(conflict_word(r->code)), s->commit_user, r->partition, r->file};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        buf_addf(&b, "%d:%zu:", parts[i].p != NULL, parts[i].len);
        buf_adds(&b, parts[i]);
    }
    buf_addf(&b, "%lld:%d", (long long)s->commit_identifier, r->partition.p ? r->bucket : 0);
    if (buf_fail(&b))
        return E_NOMEM;
    sha256(b.p, b.len, full);
    memcpy(ret, full, CONFLICT_KEY_LEN);
    return 0;
}

static struct conflict_row row_of(struct ctx *cx, const struct refusal *r, const struct snapshot *s,
                                  bool accepted)
{
    bool other = r->other_snapshot > 0;
    return (struct conflict_row){
        .last_ms = clock_wall_ms(),
        .code = str_of(conflict_word(r->code)),
        .accepted = accepted,
        .snapshot_id = s->id,
        .principal = cut_to(cx->principal, NAME_LEN),
        .commit_user = cut_to(s->commit_user, NAME_LEN),
        .kind = str_of(commit_kind_name(s->commit_kind)),
        .identifier = s->commit_identifier,
        .placed = r->partition.p != NULL,
        .partition = cut_to(r->partition, PLACE_LEN),
        .bucket = r->partition.p ? r->bucket : 0,
        .file = cut_to(r->file, PLACE_LEN),
        .other_snapshot = other ? r->other_snapshot : 0,
        .other_user = other ? cut_to(r->other_user, NAME_LEN) : STR_NONE,
        .message = cut_to(r->message, WORDS_LEN),
    };
}

/* Copies the texts behind the note. NULL: no memory. */
static struct note *note_new(const struct store_conflict_in *in)
{
    struct store_conflict_in own = *in;
    str *texts[] = {&own.table_id,        &own.branch,     &own.row.code,      &own.row.principal,
                    &own.row.commit_user, &own.row.kind,   &own.row.partition, &own.row.file,
                    &own.row.other_user,  &own.row.message};
    size_t n = sizeof texts / sizeof texts[0], bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += texts[i]->len;
    struct note *note = mem_alloc(sizeof *note + bytes);
    if (!note)
        return NULL;
    char *to = note->mem;
    for (size_t i = 0; i < n; i++) {
        if (texts[i]->len)
            memcpy(to, texts[i]->p, texts[i]->len);
        *texts[i] = str_n(to, texts[i]->len);
        to += texts[i]->len;
    }
    note->in = own;
    return note;
}

static void say(struct ctx *cx, const struct branch *br, const struct conflict_row *row)
{
    log_info("catalog", row->accepted ? "conflict.accepted" : "commit.refused",
             LS("table_id", str_of(br->table->id)), LZ("branch", br->name), LS("code", row->code),
             LI("snapshot", row->snapshot_id), LS("kind", row->kind), LS("user", row->commit_user),
             LS("why", row->message), LS("req", cx->request_id));
}

void conflict_record(struct ctx *cx, struct branch *br, const struct refusal *r,
                     const struct snapshot *s, bool accepted)
{
    struct catalog *c = br->table->cat;
    struct conflict_notes *q = c->conflicts;
    struct store_conflict_in in = {.table_id = str_of(br->table->id),
                                   .branch = str_of(br->name),
                                   .row = row_of(cx, r, s, accepted),
                                   .keep_max = c->o.conflict_max};
    ASSERT((unsigned)r->code < CONFLICT_CODES);
    atomic_fetch_add_explicit(accepted ? &q->accepted[r->code] : &q->refused[r->code], 1,
                              memory_order_relaxed);
    say(cx, br, &in.row);
    int rc = key_of(r, s, in.key);
    struct note *n = rc == 0 ? note_new(&in) : NULL;
    if (!n) {
        lost(c, &in, "out of memory");
    } else if (!push(q, n)) {
        lost(c, &in, "too many conflicts wait to be listed");
        mem_free(n);
    } else {
        post(q);
    }
}

void conflict_counts(struct catalog *c, struct conflict_counts *ret)
{
    for (int i = 0; i < CONFLICT_CODES; i++) {
        ret->refused[i] = atomic_load_explicit(&c->conflicts->refused[i], memory_order_relaxed);
        ret->accepted[i] = atomic_load_explicit(&c->conflicts->accepted[i], memory_order_relaxed);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

static int code_check(struct ctx *cx, str code)
{
    CLEANUP(buf_done) struct buf b = {0};
    for (int i = 0; i < CONFLICT_CODES; i++) {
        const char *word = conflict_word((enum conflict_code)i);
        if (str_eqz(code, word))
            return 0;
        buf_addf(&b, "%s%s", i ? ", " : "", word);
    }
    if (buf_fail(&b))
        return ctx_nomem(cx);
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "there is no conflict with the code \"%.*s\"; the codes are %.*s",
                    (int)(code.len > 64 ? 64 : code.len), code.p, (int)b.len, b.p);
}

int branch_conflicts(struct ctx *cx, struct branch *br, const struct conflicts_in *in,
                     struct conflict_row **ret, size_t *ret_n)
{
    struct catalog *c = br->table->cat;
    struct store_conflicts_in q = {.table_id = str_of(br->table->id),
                                   .branch = str_of(br->name),
                                   .below = in->below,
                                   .code = in->code,
                                   .limit = in->limit};
    if (in->code.len)
        TRY(code_check(cx, in->code));
    write_all(c->conflicts);
    return STORE(c->o.store, conflict_list, cx, &q, ret, ret_n);
}

int branch_conflict(struct ctx *cx, struct branch *br, int64_t id, struct conflict_row *ret)
{
    struct catalog *c = br->table->cat;
    write_all(c->conflicts);
    return STORE(c->o.store, conflict_get, cx, str_of(br->table->id), str_of(br->name), id, ret);
}
