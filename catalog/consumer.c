/* consumer.c - consumers: how far each streaming reader has come, a file for each.
 *
 * Source of the format: paimon-core's Consumer and ConsumerManager: consumer/consumer-<id> below the
 * branch's root holds {"nextSnapshot":n}, the next snapshot to be read. Readers write these files
 * themselves at each checkpoint, in place, and snapshot expiry keeps n and what follows for them. So
 * the folder is the truth, a file may be seen half written, and one that cannot be read is left out
 * of a listing (which would have nothing to say of it) and logged.
 *
 * A reset runs on the branch's strand, where the head stands still. */
#include "catalog/catalog_int.h"

#include "manifest/doc.h"
#include "manifest/layout.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/path.h"

#define CONSUMER_ID_MAX (PATH_COMPONENT_MAX - 9) /* its file is called consumer-<id> */
#define FILE_MAX        (64 << 10)
/* Second looks at files that seem damaged, in one listing. */
#define LOOKS_MAX    5
#define LOOK_WAIT_MS 20

static struct io *io_of(struct branch *br)
{
    return br->table->io;
}

static str folder_of(struct ctx *cx, struct branch *br)
{
    return layout_consumer_dir(&cx->arena, str_of(br->table->dir), str_of(br->name));
}

/* E_INVAL: no consumer can have this id. */
static int path_of(struct ctx *cx, struct branch *br, str id, str *ret)
{
    if (id.len > CONSUMER_ID_MAX || !path_component_ok(id))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "'%.*s' cannot be the id of a consumer",
                        STR(id));
    *ret = layout_consumer(&cx->arena, str_of(br->table->dir), str_of(br->name), id);
    return ret->p ? 0 : ctx_nomem(cx);
}

/* --- list ------------------------------------------------------------------------------------- */

static int load(struct ctx *cx, struct branch *br, str id, int64_t *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    const struct json *v;
    str path;
    TRY(path_of(cx, br, id, &path));
    TRY(io_read(io_of(br), cx, path, FILE_MAX, &b));
    int rc = doc_parse_file(cx, buf_str(&b), &v);
    if (rc == 0)
        rc = json_want_i64(cx, v, "", "nextSnapshot", ret);
    return doc_file_rc(cx, rc, path);
}

/* 1: *ret is filled; 0: there is nothing to show. */
static int look(struct ctx *cx, struct branch *br, str id, int *looks, struct consumer_info *ret)
{
    int64_t next = 0;
    int rc = load(cx, br, id, &next);
    for (; rc == E_CORRUPT && *looks > 0; (*looks)--) {
        clock_sleep_ms(LOOK_WAIT_MS);
        ctx_reset_err(cx);
        rc = load(cx, br, id, &next);
    }
    if (rc == 0) {
        *ret = (struct consumer_info){id, next};
        return 1;
    }
    if (rc != E_NOTFOUND && rc != E_CORRUPT && rc != E_TOOBIG && rc != E_INVAL)
        return rc;
    if (rc != E_NOTFOUND) /* else it was deleted since it was listed */
        log_warn("catalog", "consumer.unreadable", LS("table", branch_full_name(cx, br)),
                 LS("consumer", id), LZ("err", cx->err.msg));
    ctx_reset_err(cx);
    return 0;
}

int branch_consumers(struct ctx *cx, struct branch *br, const struct page_in *in,
                     struct consumer_info **ret, size_t *ret_n)
{
    struct page_in all = *in;
    str *ids;
    size_t n, k = 0;
    int looks = LOOKS_MAX;
    all.limit = INT64_MAX; /* what cannot be read takes no place on the page */
    TRY(branch_names(cx, br, folder_of(cx, br), layout_consumer_name, &all, &ids, &n));
    struct consumer_info *page = ARENA_ARRAY(&cx->arena, struct consumer_info, n ? n : 1);
    if (!page)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n && (int64_t)k < in->limit; i++) {
        int there = look(cx, br, ids[i], &looks, &page[k]);
        TRY(there);
        k += (size_t)there;
    }
    *ret = page;
    *ret_n = k;
    return 0;
}

/* --- reset ------------------------------------------------------------------------------------ */

/* Is there something it could read next? */
static int check_next(struct ctx *cx, struct branch *br, int64_t next)
{
    struct snapshot s;
    int64_t head = br->head ? br->head->id : 0;
    char name[24];
    if (next >= 1 && next - 1 == head)
        return 0;
    int rc = next < 1 || next > head ? E_NOTFOUND : snapshot_load(cx, br, next, &s);
    if (rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    snprintf(name, sizeof name, "%lld", (long long)next);
    return ctx_fail(cx, E_NOTFOUND, RES_SNAPSHOT, str_of(name),
                    "snapshot %s does not exist; the next snapshot of a consumer is one that is "
                    "there, or the one after %lld, which is yet to come",
                    name, (long long)head);
}

static int write_file(struct ctx *cx, struct branch *br, str path, str text)
{
    str folder = folder_of(cx, br);
    int rc = io_write(io_of(br), cx, path, text, /* sync= */ true);
    /* It comes with the first consumer, but not back once the table is dropped. */
    if (rc == E_NOTFOUND && folder.p && !atomic_load(&br->table->dead)) {
        ctx_reset_err(cx);
        TRY(io_mkdirs(io_of(br), cx, folder));
        rc = io_write(io_of(br), cx, path, text, true);
    }
    if (rc == E_INVAL) /* a folder with its name, say: not what the client sent */
        return cx->err.code = E_CORRUPT;
    return rc;
}

static void done(struct ctx *cx, struct branch *br, const char *action, str id)
{
    log_info("catalog", action, LS("table", branch_full_name(cx, br)), LS("consumer", id),
             LS("by", cx->principal), LS("req", cx->request_id));
    branch_audit(cx, br, action, id);
}

int branch_consumer_reset(struct ctx *cx, struct branch *br, str id, int64_t next_snapshot)
{
    char text[48];
    TRY(ctx_check_deadline(cx));
    str path;
    TRY(path_of(cx, br, id, &path));
    TRY(branch_enter(cx, br));
    TRY(branch_may_change(cx, br));
    TRY(warehouse_space(cx, br->table->wh));
    TRY(check_next(cx, br, next_snapshot));
    snprintf(text, sizeof text, "{\"nextSnapshot\":%lld}", (long long)next_snapshot);
    TRY(write_file(cx, br, path, str_of(text)));
    done(cx, br, "consumer.reset", id);
    return 0;
}

int branch_consumer_delete(struct ctx *cx, struct branch *br, str id)
{
    TRY(ctx_check_deadline(cx));
    str path, folder = folder_of(cx, br);
    TRY(path_of(cx, br, id, &path));
    if (!folder.p)
        return ctx_nomem(cx);
    TRY(branch_enter(cx, br));
    TRY(branch_may_change(cx, br));
    int rc = io_del(io_of(br), cx, path);
    if (rc == E_NOTFOUND) { /* Paimon deletes quietly */
        ctx_reset_err(cx);
        return 0;
    }
    if (rc == E_INVAL)
        return cx->err.code = E_CORRUPT;
    TRY(rc);
    if (io_sync(io_of(br), cx, &folder, 1) < 0) {
        IGNORE(ctx_prefix(cx, "the consumer is deleted, but may be back after a power loss"));
        return cx->err.code = E_UNKNOWN;
    }
    done(cx, br, "consumer.delete", id);
    return 0;
}
