/* meta_write.c - see meta_write.h.
 *
 * A manifest ends where Paimon ends it: every 1000 entries the bytes so far are compared with the
 * target size. It is whole in memory until then, so target sizes are bounded. A name is noted before
 * its file is written, so that whatever is half there is taken back as well. What is only held is never
 * deleted: a file with that name would be somebody else's.
 *
 * Source: paimon-core's FileStorePathFactory (names), RollingFileWriterImpl and ManifestFile.
 * Thread rule: any thread that may block; one at a time uses a writer. */
#include "catalog/meta_write.h"

#include "manifest/layout.h"
#include "manifest/options.h"

#define CHECK_EVERY 1000 /* entries */

int meta_write_options(struct ctx *cx, const struct kv_list *options, struct meta_write_opts *ret)
{
    int64_t level, target;
    str codec = opt_text(options, "manifest.compression");
    TRY(opt_i64(cx, options, "file.compression.zstd-level", &level));
    TRY(opt_i64(cx, options, "manifest.target-file-size", &target));
    ret->codec = codec_to_write(codec);
    ret->level = (int)level; /* an option of 32 bits */
    ret->target_size = target < META_TARGET_MAX ? target : META_TARGET_MAX;
    return 0;
}

void meta_write_begin(struct meta_writer *w, const struct meta_write_opts *o)
{
    *w = (struct meta_writer){.o = o};
    rand_uuid(w->uuid);
}

/* --- files ------------------------------------------------------------------------------------ */

static int note(struct ctx *cx, struct meta_writer *w, str name, str path, str held)
{
    if (w->n == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 16;
        str *names = ARENA_ARRAY(&cx->arena, str, cap);
        struct io_new *files = ARENA_ARRAY(&cx->arena, struct io_new, cap);
        if (!names || !files)
            return ctx_nomem(cx);
        for (size_t i = 0; i < w->n; i++) {
            names[i] = w->names[i];
            files[i] = w->files[i];
        }
        w->names = names;
        w->files = files;
        w->cap = cap;
    }
    w->names[w->n] = name;
    w->files[w->n++] = (struct io_new){path, held};
    w->held += held.len;
    return 0;
}

static int put(struct ctx *cx, struct meta_writer *w, str name, str bytes)
{
    const struct meta_dir *d = &w->o->dir;
    str path = layout_manifest(&cx->arena, d->dir, name);
    if (!path.p)
        return ctx_nomem(cx);
    if (bytes.len > META_FILE_MAX)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "%.*s would have %zu bytes; at most %zu can be read again", STR(path),
                        bytes.len, META_FILE_MAX);
    if (w->hold && bytes.len <= META_HOLD_MAX - w->held) {
        str kept = str_dup(&cx->arena, bytes);
        if (kept.p) /* else the request's memory has no room for it, the disk may */
            return note(cx, w, name, path, kept);
    }
    TRY(note(cx, w, name, path, STR_NONE));
    int rc = io_write(d->io, cx, path, bytes, false);
    if (rc == E_NOTFOUND) { /* a table of a client that makes folders when it needs them */
        TRY(io_mkdirs(d->io, cx, layout_manifest_dir(&cx->arena, d->dir)));
        ctx_reset_err(cx);
        rc = io_write(d->io, cx, path, bytes, false);
    }
    return rc;
}

static int put_or_undo(struct ctx *cx, struct meta_writer *w, str name, str bytes)
{
    size_t before = w->n;
    int rc = put(cx, w, name, bytes);
    if (rc < 0)
        meta_write_undo(w, before);
    return rc;
}

/* In contexts of their own: the caller's error stays, and its memory is not taken. */
void meta_write_undo(struct meta_writer *w, size_t keep)
{
    for (; w->n > keep; w->n--) {
        struct ctx own;
        const struct io_new *f = &w->files[w->n - 1];
        w->held -= f->data.len;
        if (f->data.p)
            continue;
        ctx_init(&own, (size_t)1 << 16);
        IGNORE(io_del(w->o->dir.io, &own, f->path));
        ctx_done(&own);
    }
}

int meta_write_held(struct ctx *cx, const struct meta_writer *w, struct io_new **ret, size_t *ret_n)
{
    size_t n = 0;
    struct io_new *v = ARENA_ARRAY(&cx->arena, struct io_new, w->n + 1);
    if (!v)
        return ctx_nomem(cx);
    for (size_t i = 0; i < w->n; i++)
        if (w->files[i].data.p)
            v[n++] = w->files[i];
    *ret = v;
    *ret_n = n;
    return 0;
}

void meta_write_made(struct meta_writer *w)
{
    for (size_t i = 0; i < w->n; i++)
        w->files[i].data = STR_NONE;
    w->held = 0;
}

int meta_write_list(struct ctx *cx, struct meta_writer *w, const struct manifest_file *files,
                    size_t n, str *ret_name, int64_t *ret_size)
{
    CLEANUP(buf_done) struct buf b = {0};
    str name;
    TRY(ctx_text(cx, &name, "manifest-list-%s-%u", w->uuid, w->lists++));
    TRY(manifest_list_write(cx, files, n, w->o->codec, w->o->level, &b));
    TRY(put_or_undo(cx, w, name, buf_str(&b)));
    *ret_name = name;
    *ret_size = (int64_t)b.len;
    return 0;
}

int meta_index_name(struct ctx *cx, const struct meta_writer *w, str *ret)
{
    return ctx_text(cx, ret, "index-manifest-%s-%u", w->uuid, w->indexes);
}

int meta_write_index(struct ctx *cx, struct meta_writer *w, const struct index_entry *entries,
                     size_t n, str *ret_name)
{
    CLEANUP(buf_done) struct buf b = {0};
    str name;
    TRY(meta_index_name(cx, w, &name));
    w->indexes++;
    TRY(index_manifest_write(cx, entries, n, w->o->codec, w->o->level, &b));
    TRY(put_or_undo(cx, w, name, buf_str(&b)));
    *ret_name = name;
    return 0;
}

/* --- manifests -------------------------------------------------------------------------------- */

int meta_roll_open(struct ctx *cx, struct meta_roll *r, struct meta_writer *w)
{
    *r = (struct meta_roll){.w = w};
    return partition_stats_init(cx, &r->stats, w->o->partition);
}

void meta_roll_done(struct meta_roll *r)
{
    if (r->open)
        manifest_write_done(&r->file);
    partition_stats_done(&r->stats);
    r->open = false;
}

static int keep(struct ctx *cx, struct meta_roll *r, const struct manifest_file *meta)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 4;
        struct manifest_file *wide = ARENA_ARRAY(&cx->arena, struct manifest_file, cap);
        if (!wide)
            return ctx_nomem(cx);
        for (size_t i = 0; i < r->n; i++)
            wide[i] = r->files[i];
        r->files = wide;
        r->cap = cap;
    }
    r->files[r->n++] = *meta;
    return 0;
}

static int end_file(struct ctx *cx, struct meta_roll *r)
{
    struct manifest_file meta;
    str bytes;
    TRY(manifest_write_end(cx, &r->file, &bytes, &meta));
    TRY(ctx_text(cx, &meta.name, "manifest-%s-%u", r->w->uuid, r->w->manifests++));
    TRY(partition_stats_raw(cx, &r->stats, &meta.partition_stats));
    TRY(put_or_undo(cx, r->w, meta.name, bytes));
    TRY(keep(cx, r, &meta));
    manifest_write_done(&r->file);
    partition_stats_clear(&r->stats);
    r->open = false;
    r->entries = 0;
    return 0;
}

int meta_roll_add(struct ctx *cx, struct meta_roll *r, const struct manifest_entry *e)
{
    if (!r->open) {
        r->open = true; /* also when it fails half way */
        TRY(manifest_write_open(cx, &r->file, r->w->o->codec, r->w->o->level));
    }
    TRY(manifest_write_add(cx, &r->file, e));
    TRY(partition_stats_add(cx, &r->stats, e->partition));
    if (++r->entries % CHECK_EVERY == 0 && (int64_t)manifest_size(&r->file) >= r->w->o->target_size)
        return end_file(cx, r);
    return 0;
}

int meta_roll_end(struct ctx *cx, struct meta_roll *r, struct manifest_file **ret, size_t *ret_n)
{
    if (r->open)
        TRY(end_file(cx, r));
    *ret = r->files;
    *ret_n = r->n;
    return 0;
}

static int roll_all(struct ctx *cx, struct meta_roll *r, const struct manifest_entry *e, size_t n,
                    struct manifest_file **ret, size_t *ret_n)
{
    for (size_t i = 0; i < n; i++)
        TRY(meta_roll_add(cx, r, &e[i]));
    return meta_roll_end(cx, r, ret, ret_n);
}

int meta_write_manifests(struct ctx *cx, struct meta_writer *w, const struct manifest_entry *e,
                         size_t n, struct manifest_file **ret, size_t *ret_n)
{
    CLEANUP(meta_roll_done) struct meta_roll r;
    size_t before = w->n;
    int rc = meta_roll_open(cx, &r, w);
    if (rc == 0)
        rc = roll_all(cx, &r, e, n, ret, ret_n);
    if (rc < 0)
        meta_write_undo(w, before);
    return rc;
}
