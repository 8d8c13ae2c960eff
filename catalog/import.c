/* import.c - the head of a branch whose snapshots were written before we knew it: an external table
 * that is registered, a branch directory that a file-system catalog made.
 *
 * The newest file is the head. Snapshots expire from the oldest on, so what is there has no gap; where
 * there is one, somebody is at work or files were lost, and nothing is guessed.
 *
 * Thread rule: any thread that may block. */
#include "catalog/catalog_int.h"

#include "manifest/layout.h"
#include "proto/base/clock.h"

struct span {
    int64_t first, last, n;
};

static int span_of(struct ctx *cx, struct io *io, str dir, struct span *ret)
{
    struct io_entry *e = NULL;
    size_t n = 0;
    struct span s = {INT64_MAX, 0, 0};
    int rc = dir.p ? io_list(io, cx, dir, &e, &n) : ctx_nomem(cx);
    if (rc == E_NOTFOUND)
        ctx_reset_err(cx);
    else
        TRY(rc);
    for (size_t i = 0; i < n; i++) {
        int64_t id;
        if (!layout_snapshot_id(e[i].name, &id))
            continue;
        s.first = id < s.first ? id : s.first;
        s.last = id > s.last ? id : s.last;
        s.n++;
    }
    if (s.n > 0 && s.last - s.first != s.n - 1)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "%.*s holds %lld snapshots from %lld to %lld, so some in between are "
                        "missing; put them back, or remove those before the gap",
                        STR(dir), (long long)s.n, (long long)s.first, (long long)s.last);
    *ret = s;
    return 0;
}

int head_import(struct ctx *cx, const struct catalog *c, struct io *io, str dir, str branch,
                struct head_row *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct span span;
    struct snapshot s;
    struct io_stat st;
    *ret = (struct head_row){.totals = TOTALS_UNKNOWN};
    TRY(span_of(cx, io, layout_snapshot_dir(&cx->arena, dir, branch), &span));
    if (span.n == 0)
        return 0;
    str path = layout_snapshot(&cx->arena, dir, branch, span.last);
    if (!path.p)
        return ctx_nomem(cx);
    TRY(io_sync(io, cx, &path, 1));
    TRY(io_stat(io, cx, path, &st));
    TRY(io_read(io, cx, path, c->o.snapshot_max_bytes, &b));
    TRY(snapshot_decode_file(cx, buf_str(&b), path, &s));
    if (s.id != span.last)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%.*s holds snapshot %lld", STR(path),
                        (long long)s.id);
    *ret = (struct head_row){.id = s.id,
                             .uuid = s.uuid,
                             .json = s.raw,
                             .recorded_ms = clock_wall_ms(),
                             .file_ino = st.ino,
                             .file_size = st.size,
                             .file_ctime_ns = st.ctime_ns,
                             .totals = TOTALS_UNKNOWN};
    return 0;
}
