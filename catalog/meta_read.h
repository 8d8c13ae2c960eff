/* meta_read.h - lists, manifests and index manifests of a table, read off its disk and checked
 * against what names them: is it there, has it that size, are there that many entries?
 *
 * What is wrong with them is E_CORRUPT (missing, too, and versions that are not known) and the message
 * names the file; E_IO and E_NOMEM say that nothing is known. These block on the disk. */
#ifndef LATCH_CATALOG_META_READ_H
#define LATCH_CATALOG_META_READ_H

#include "manifest/index_manifest.h"
#include "manifest/io/io.h"
#include "manifest/manifest.h"

#define META_FILE_MAX ((size_t)256 << 20) /* bytes of one of them, as it is on disk */

struct meta_dir { /* where they are */
    struct io *io;
    str dir; /* of the table */
};
#define SIZE_ANY ((struct opt_i64){0})

/* The bytes of one, into ret; `size` is what names it says. */
int meta_read(struct ctx *cx, const struct meta_dir *d, str name, struct opt_i64 size,
              struct buf *ret) WARN_UNUSED;
/* A list, in the context's arena. */
int meta_list(struct ctx *cx, const struct meta_dir *d, str name, struct opt_i64 size,
              struct manifest_file **ret, size_t *ret_n) WARN_UNUSED;
/* Every entry of a manifest goes to fn, whose negative result ends it. fn's context is not `cx` but
 * one that is gone after the call. */
typedef int meta_entry_fn(struct ctx *cx, void *arg, const struct manifest_entry *e);
int meta_manifest(struct ctx *cx, const struct meta_dir *d, const struct manifest_file *m,
                  meta_entry_fn *fn, void *arg) WARN_UNUSED;
/* An index manifest, in the context's arena. */
int meta_index(struct ctx *cx, const struct meta_dir *d, str name, struct index_entry **ret,
               size_t *ret_n) WARN_UNUSED;

#endif
