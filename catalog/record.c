/* record.c - step 6: what exists as a file becomes known to the store.
 *
 * Between the creation of a snapshot and its record the branch has a `pending`: the head in memory
 * is the new one already (readers see it: it is durable), and no change is taken until the record
 * is made. If the process dies, catch-up finds the file and makes the same record.
 *
 * A pending is `unsure` when the disk could not say whether the file is there for good. Then the
 * head in memory is still the old one, readers wait for the next turn, and that looks first. */
#include "catalog/catalog_int.h"

#include <unistd.h>

#include "manifest/layout.h"
#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"

#define EXIT_AFTER_CREATE      74
#define AFTER_CREATE_WINDOW_MS 60000
#define BUSY_TRIES             100
#define BUSY_WAIT_US           20000

void pending_free(struct commit_pending *p)
{
    if (!p)
        return;
    head_unref(p->head);
    mem_free(p->action);
    mem_free(p->tenant);
    mem_free(p->principal);
    mem_free(p->request_id);
    mem_free(p->detail);
    mem_free(p->deltas);
    mem_free(p);
}

static str put(char **at, str s)
{
    str to = str_n(*at, s.len);
    if (s.len)
        memcpy(*at, s.p, s.len);
    *at += s.len;
    return to;
}

int pending_keep(struct commit_pending *p, const struct partition_delta *d, size_t n)
{
    size_t bytes = 1;
    for (size_t i = 0; i < n; i++)
        bytes += d[i].key.len + d[i].spec_json.len;
    struct partition_delta *own = mem_alloc(n * sizeof *own + bytes);
    if (!own)
        return E_NOMEM;
    char *at = (char *)&own[n];
    for (size_t i = 0; i < n; i++) {
        own[i] = d[i];
        own[i].key = put(&at, d[i].key);
        own[i].spec_json = put(&at, d[i].spec_json);
    }
    p->deltas = own;
    p->n_deltas = n;
    return 0;
}

struct commit_pending *pending_new(struct ctx *cx, const char *action, const struct snapshot *s,
                                   const struct totals *t, int64_t expect_head_id)
{
    CLEANUP(buf_done) struct buf detail = {0};
    struct commit_pending *p = mem_zalloc(sizeof *p);
    if (!p)
        return NULL;
    buf_addf(&detail, "snapshot=%lld kind=%s user=%.*s", (long long)s->id,
             commit_kind_name(s->commit_kind), STR(s->commit_user));
    p->head = head_new(cx, s, t, clock_wall_ms());
    p->expect_head_id = expect_head_id;
    p->action = str_heap(str_of(action));
    p->tenant = str_heap(cx->tenant);
    p->principal = str_heap(cx->principal);
    p->request_id = str_heap(cx->request_id);
    p->detail = buf_take(&detail, NULL);
    if (!p->head || !p->action || !p->tenant || !p->principal || !p->request_id || !p->detail) {
        pending_free(p);
        return NULL;
    }
    return p;
}

void after_create_failed(struct ctx *cx, struct branch *br)
{
    struct catalog *c = br->table->cat;
    int64_t now = clock_mono_ms();
    if (atomic_load(&br->table->dead)) /* its files are gone, as they should be */
        return;
    int64_t last = atomic_exchange(&c->last_after_create_ms, now ? now : 1);
    COUNT(c, errors_after_create);
    log_error("catalog", "commit.unrecorded", LS("table", branch_full_name(cx, br)),
              LZ("err", cx->err.msg));
    if (last == 0 || now - last > AFTER_CREATE_WINDOW_MS)
        return;
    log_error("catalog", "process.gives-up",
              LZ("why", "the second I/O error after a snapshot was created within a minute; the "
                        "next start recovers from the files"));
    _exit(EXIT_AFTER_CREATE);
}

static int record_write(struct ctx *cx, struct branch *br, struct commit_pending *p,
                        struct outcome *o)
{
    struct audit au;
    str db, name;
    struct store_commit_in in = {.table_id = str_of(br->table->id),
                                 .branch = str_of(br->name),
                                 .expect_epoch = atomic_load(&br->epoch),
                                 .expect_head_id = p->expect_head_id,
                                 .has_deltas = p->deltas != NULL,
                                 .deltas = p->deltas,
                                 .n_deltas = p->n_deltas,
                                 .outcome = o};
    *o = (struct outcome){
        .snapshot_id = p->head->id, .recorded_ms = p->head->recorded_ms, .totals = p->head->totals};
    memcpy(o->key, p->head->key, sizeof o->key);
    head_row_fill(p->head, &br->file, &in.head);
    table_names(br->table, &db, &name);
    audit_fill(cx, &au, p->action, br->table->wh, db, name);
    au.tenant = au.tenant.len ? au.tenant : str_of(p->tenant);
    au.principal = str_of(p->principal);
    au.request_id = str_of(p->request_id);
    au.detail = str_of(p->detail);
    in.audit = au;
    return STORE(br->table->cat->o.store, commit_record, cx, &in);
}

/* Is the file of an unsure pending there? Then it is made durable. */
static int look(struct ctx *cx, struct branch *br, const struct commit_pending *p, bool *ret)
{
    struct table *t = br->table;
    struct snapshot there;
    str path = layout_snapshot(&cx->arena, str_of(t->dir), str_of(br->name), p->head->id);
    int rc = path.p ? snapshot_load(cx, br, p->head->id, &there) : ctx_nomem(cx);
    bool ours = rc == 0 && str_eq(there.raw, p->head->json);
    if (ours)
        rc = io_sync(t->io, cx, &path, 1);
    *ret = ours && rc == 0;
    if (rc < 0 && rc != E_NOTFOUND && rc != E_CORRUPT)
        return rc;
    ctx_reset_err(cx); /* nothing there, or another one: catch-up's to judge */
    return 0;
}

/* The store's queue may be full for a moment; now that the file is there, it is worth waiting. */
static int record_patiently(struct ctx *cx, struct branch *br, struct commit_pending *p,
                            struct outcome *o)
{
    int rc = record_write(cx, br, p, o);
    for (int i = 0; rc == E_BUSY && i < BUSY_TRIES; i++) {
        ctx_reset_err(cx);
        usleep(BUSY_WAIT_US);
        rc = record_write(cx, br, p, o);
    }
    return rc;
}

/* The head was not what we expected: because an earlier try of this very record went through after
 * all? */
static int record_there(struct ctx *cx, struct branch *br, const struct commit_pending *p)
{
    struct branch_row row;
    char why[sizeof cx->err.msg];
    memcpy(why, cx->err.msg, sizeof why);
    ctx_reset_err(cx);
    TRY(STORE(br->table->cat->o.store, branch_get, cx, str_of(br->table->id), str_of(br->name),
              &row));
    if (row.head.id == p->head->id && str_eq(row.head.json, p->head->json))
        return 0;
    return ctx_fail(cx, E_INTERNAL, RES_NONE, STR_NONE, "the store has another head: %s", why);
}

int branch_record(struct ctx *cx, struct branch *br, struct commit_pending *p)
{
    struct outcome o;
    ASSERT(!br->pending || br->pending == p);
    br->pending = p;
    int rc = record_patiently(cx, br, p, &o);
    if (rc == E_RACE)
        rc = record_there(cx, br, p);
    if (rc == E_NOTFOUND) { /* dropped meanwhile: there is nothing to record it in */
        br->pending = NULL;
        pending_free(p);
        ctx_reset_err(cx);
        return branch_gone(cx, br);
    }
    TRY(rc);
    outcome_ring_add(&br->recent, &o);
    br->pending = NULL;
    pending_free(p);
    return 0;
}

/* Ends the doubt: the pending is gone, or its head is the branch's. */
static int settle(struct ctx *cx, struct branch *br, bool *ret_there)
{
    struct commit_pending *p = br->pending;
    TRY(look(cx, br, p, ret_there));
    p->unsure = false;
    if (*ret_there) {
        branch_file_seen(cx, br, p->head->id);
        branch_publish(br, head_ref(p->head));
    } else {
        br->pending = NULL;
        pending_free(p);
    }
    return 0;
}

int branch_record_pending(struct ctx *cx, struct branch *br)
{
    bool there = true;
    int rc = br->pending->unsure ? settle(cx, br, &there) : 0;
    if (rc == 0 && there)
        rc = branch_record(cx, br, br->pending);
    if (rc == 0 || rc == E_NOTFOUND)
        return rc;
    after_create_failed(cx, br);
    ctx_prefix(cx, "the newest snapshot of this table is not in the store yet, nothing was done");
    return cx->err.code = E_BUSY;
}

void branch_hint(struct ctx *cx, struct branch *br)
{
    struct table *t = br->table;
    if (!br->head)
        return;
    str path = layout_latest(&cx->arena, str_of(t->dir), str_of(br->name));
    str text = layout_hint_text(&cx->arena, br->head->id);
    if (path.p && text.p && io_hint(t->io, cx, path, text) < 0) {
        log_debug("catalog", "hint.failed", LZ("err", cx->err.msg));
        ctx_reset_err(cx);
    }
}
