/* native_write.c - the files of a native commit: manifests, lists, an index manifest, the snapshot's text.
 *
 * Made after the verdict, in memory: io_put_after makes the files before the snapshot (commit_make.c). With
 * commit.sync=off, or if they are large, they are written here.
 * Thread rule: the branch's strand. */
#include "catalog/native_int.h"

#include "proto/base/inject.h"
#include "proto/api/api_native.h"

static int write_lists(struct ctx *cx, struct native *nc)
{
    struct snapshot *s = &nc->cm.snap;
    const struct native_files *f = &nc->files;
    TRY(meta_write_manifests(cx, &nc->w, nc->delta, nc->n_delta, &nc->delta_files,
                             &nc->n_delta_files));
    s->base_size.has = s->delta_size.has = true;
    TRY(meta_write_list(cx, &nc->w, nc->base, nc->n_base, &s->base_manifest_list, &s->base_size.v));
    TRY(meta_write_list(cx, &nc->w, nc->delta_files, nc->n_delta_files, &s->delta_manifest_list,
                        &s->delta_size.v));
    if (f->n_changelog) {
        TRY(meta_write_manifests(cx, &nc->w, f->changelog, f->n_changelog, &nc->changelog_files,
                                 &nc->n_changelog_files));
        s->changelog_size.has = true;
        TRY(meta_write_list(cx, &nc->w, nc->changelog_files, nc->n_changelog_files,
                            &s->changelog_manifest_list, &s->changelog_size.v));
    }
    if (nc->index_set)
        TRY(meta_write_index(cx, &nc->w, nc->index_entries, nc->n_index, &s->index_manifest));
    return 0;
}

static int encode(struct ctx *cx, struct native *nc)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    struct snapshot *s = &nc->cm.snap;
    size_t max = nc->cm.br->table->cat->o.snapshot_max_bytes;
    json_out_init(&o, &b);
    snapshot_encode(&o, s);
    s->raw = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    if (!s->raw.p)
        return ctx_nomem(cx);
    if (s->raw.len > max)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "the snapshot would have %zu bytes and snapshot.max-size allows %zu; "
                        "nothing was done, keep its properties short",
                        s->raw.len, max);
    if (nc->in.answer && buf_reserve(nc->in.answer, s->raw.len + API_NATIVE_ANSWER_MORE) < 0)
        return ctx_nomem(cx);
    return 0;
}

static int write(struct ctx *cx, struct native *nc)
{
    struct io_new *make;
    nc->w.hold = nc->cm.br->table->cat->o.sync != SYNC_OFF;
    nc->cm.made = false;
    TRY(write_lists(cx, nc));
    TRY(encode(cx, nc));
    TRY(meta_write_held(cx, &nc->w, &make, &nc->cm.n_make));
    nc->cm.make = make;
    return facts_made_names(cx, nc->cm.facts, &nc->cm.snap, nc->delta_files, nc->n_delta_files,
                            nc->changelog_files, nc->n_changelog_files);
}

int native_write(struct ctx *cx, struct native *nc)
{
    int rc = write(cx, nc);
    if (rc < 0)
        meta_write_undo(&nc->w, 0);
    return rc;
}
