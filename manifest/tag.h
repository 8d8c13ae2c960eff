/* tag.h - what a tag's file has beyond the snapshot it names: when it was made and for how long it
 * is kept. The snapshot itself is snapshot.h's; these work on the text of its JSON object. Pure;
 * results live in cx's arena. */
#ifndef LATCH_MANIFEST_TAG_H
#define LATCH_MANIFEST_TAG_H

#include "manifest/duration.h"

struct tag_extra {
    bool has_created;
    int64_t created_ms; /* wall clock */
    str retained;       /* "1d"; STR_NONE: for ever */
};

/* Of a text that snapshot_decode_file took. E_CORRUPT with the file's name. */
int tag_extra_decode(struct ctx *cx, str text, str file_name, struct tag_extra *ret) WARN_UNUSED;
/* The text of a tag's file. retained NULL: for ever, and then no members are added, which is what
 * Paimon does. All other members of the snapshot stay, with the bytes they have. */
int tag_encode(struct ctx *cx, str snapshot, const struct duration *retained, int64_t now_ms,
               str *ret) WARN_UNUSED;
/* The way back: the snapshot's text out of a tag's. */
int tag_trim(struct ctx *cx, str text, str *ret) WARN_UNUSED;

#endif
