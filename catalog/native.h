/* native.h - commits whose metadata the server writes (design section 9): the writer names data files, we
 * make manifests, lists and the snapshot.
 *
 * Idempotent by commit user, identifier and kind: the snapshot's uuid is made of these (and the table and the
 * branch), so an earlier try is found as any other commit's is (outcome.h). A batch commit whose user the
 * server made has a uuid by chance and is never a replay. */
#ifndef LATCH_CATALOG_NATIVE_H
#define LATCH_CATALOG_NATIVE_H

#include "catalog/catalog.h"

struct api_native; /* proto/api/api_native.h */

struct native_in { /* stays alive until the commit is done */
    const struct api_native *body;
    struct buf *answer; /* room for the answer is reserved in it before the commit */
};
struct native;
int native_new(struct ctx *cx, struct branch *br, const struct native_in *in,
               struct native **ret) WARN_UNUSED; /* (worker) E_INVAL */
/* As commit_prepare. E_INVAL names the member of the body. (worker) */
int native_prepare(struct ctx *cx, struct native *nc) WARN_UNUSED;
struct native_done {
    int64_t id;    /* of the snapshot */
    bool replayed; /* an earlier request made it */
    str json;      /* STR_NONE: ask native_text */
};
/* As commit_run, but that races are lost only to be run again: 0, CAT_NEED (native_prepare, then again),
 * or an error. (strand) */
int native_run(struct ctx *cx, struct native *nc, struct native_done *ret) WARN_UNUSED;
/* The text of a snapshot that was replayed; it stays STR_NONE when it has expired. (worker) */
int native_text(struct ctx *cx, struct native *nc, struct native_done *d) WARN_UNUSED;

#endif
