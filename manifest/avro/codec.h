/* codec.h - the compressions of Avro blocks that stock Paimon clients can be told to use for
 * manifests (`manifest.compression`): null, deflate, snappy, zstandard, bzip2, xz. Avro knows no
 * others that Paimon's writers could name.
 *
 * Pure; nothing blocks. A codec is used by one thread at a time. */
#ifndef LATCH_MANIFEST_AVRO_CODEC_H
#define LATCH_MANIFEST_AVRO_CODEC_H

#include "proto/base/buf.h"
#include "proto/base/ctx.h"

enum codec_kind {
    CODEC_NULL,
    CODEC_DEFLATE,
    CODEC_SNAPPY,
    CODEC_ZSTANDARD,
    CODEC_BZIP2,
    CODEC_XZ,
};

struct codec {
    enum codec_kind kind;
    void *packer, *unpacker; /* zstandard's state, kept from block to block */
};

/* By the name that a file's header has under avro.codec ("" is null). E_UNSUPPORTED. */
int codec_find(struct ctx *cx, str name, enum codec_kind *ret) WARN_UNUSED;
/* The codec in which to write for a table whose `manifest.compression` says this: null, deflate and
 * zstandard ("zstd"); for whatever else zstandard, which every client reads, since readers go by the
 * file's header and not by the option. */
enum codec_kind codec_to_write(str option);
const char *codec_name(enum codec_kind k); /* as in the header */

void codec_init(struct codec *c, enum codec_kind kind); /* allocates nothing */
void codec_done(struct codec *c);                       /* may be called twice */

/* One block's bytes into *out, which is emptied first; its memory is used again, and its maximum is to
 * be `max` + 1 at least. E_CORRUPT: they are not what the codec makes, or more than `max` bytes come of them; E_NOMEM. */
int codec_unpack(struct ctx *cx, struct codec *c, str in, size_t max, struct buf *out) WARN_UNUSED;
/* Appends to *out. `level` is zstandard's and is taken as the nearest one there is; Paimon's default
 * is 1. Only for what codec_to_write gives. E_NOMEM, E_TOOBIG. */
int codec_pack(struct ctx *cx, struct codec *c, int level, str in, struct buf *out) WARN_UNUSED;

#endif
