/* snappy.h - reads Google's snappy block format. Pure; nothing blocks. Private to the codec. */
#ifndef LATCH_MANIFEST_AVRO_SNAPPY_H
#define LATCH_MANIFEST_AVRO_SNAPPY_H

#include "proto/base/buf.h"

/* The text of a block into *out, which is emptied first. E_CORRUPT: no such block; E_TOOBIG:
 * one of more than `max` bytes; E_NOMEM. */
int snappy_unpack(str in, size_t max, struct buf *out) WARN_UNUSED;

#endif
