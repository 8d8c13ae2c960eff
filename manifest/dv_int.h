/* dv_int.h - between dv.c (bitmaps) and dv_file.c (their bytes). */
#ifndef LATCH_MANIFEST_DV_INT_H
#define LATCH_MANIFEST_DV_INT_H

#include "manifest/dv.h"

/* Adds a bitmap from bytes that roaring_check took whole, with a higher word than all before; an empty
 * one is left out. E_NOMEM. */
int dv_take_bitmap(struct dv *dv, uint32_t high, str checked) WARN_UNUSED;
size_t dv_bitmap_count(const struct dv *dv);
uint32_t dv_high(const struct dv *dv, size_t i);
/* Appends bitmap i, run-length encoded where that is shorter; an empty one past the end. */
int dv_put_bitmap(const struct dv *dv, size_t i, struct buf *b) WARN_UNUSED;

#endif
