/* dv.c - the vectors themselves: a list of (high word, 32-bit bitmap). The only includer of CRoaring;
 * blocks and index files are dv_file.c's, which asks for bytes through dv_int.h.
 *
 * Debian's CRoaring 0.2.66 has no bitmap of 64 bits and no check of what it reads, hence the list and
 * roaring_check.c. Invariants: high words ascend; no bitmap is empty, so that equal sets are equal
 * lists. Source of the semantics: paimon-core BitmapDeletionVector and Bitmap64DeletionVector. */
#include "manifest/dv.h"

#include <roaring/roaring.h>

#include "manifest/dv_int.h"
#include "proto/base/assert.h"
#include "proto/base/mem.h"

struct part {
    uint32_t high;
    roaring_bitmap_t *low;
};
struct dv {
    struct part *parts;
    size_t n, cap;
};

struct dv *dv_new(void)
{
    return mem_zalloc(sizeof(struct dv));
}

void dv_free(struct dv *dv)
{
    if (!dv)
        return;
    for (size_t i = 0; i < dv->n; i++)
        roaring_bitmap_free(dv->parts[i].low);
    mem_free(dv->parts);
    mem_free(dv);
}

/* Where the high word is, or would be. */
static size_t find(const struct dv *dv, uint32_t high)
{
    size_t low = 0, n = dv->n;
    while (n > 0) {
        size_t half = n / 2;
        if (dv->parts[low + half].high < high) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

static const roaring_bitmap_t *part_of(const struct dv *dv, uint32_t high)
{
    size_t i = find(dv, high);
    return i < dv->n && dv->parts[i].high == high ? dv->parts[i].low : NULL;
}

/* Takes `low`; frees it when it fails. */
static int insert(struct dv *dv, size_t at, uint32_t high, roaring_bitmap_t *low)
{
    if (!low)
        return E_NOMEM;
    if (dv->n == dv->cap) {
        size_t cap = dv->cap ? dv->cap * 2 : 1;
        struct part *parts = mem_realloc(dv->parts, cap * sizeof *parts);
        if (!parts) {
            roaring_bitmap_free(low);
            return E_NOMEM;
        }
        dv->parts = parts;
        dv->cap = cap;
    }
    memmove(dv->parts + at + 1, dv->parts + at, (dv->n - at) * sizeof *dv->parts);
    dv->parts[at] = (struct part){.high = high, .low = low};
    dv->n++;
    return 0;
}

int dv_add(struct dv *dv, uint64_t position)
{
    uint32_t high = (uint32_t)(position >> 32);
    if (position > DV_POSITION_MAX)
        return E_INVAL;
    size_t i = find(dv, high);
    if (i == dv->n || dv->parts[i].high != high)
        TRY(insert(dv, i, high, roaring_bitmap_create()));
    roaring_bitmap_add(dv->parts[i].low, (uint32_t)position);
    return 0;
}

int dv_or(struct dv *dv, const struct dv *other)
{
    for (size_t k = 0; k < other->n; k++) {
        size_t i = find(dv, other->parts[k].high);
        if (i < dv->n && dv->parts[i].high == other->parts[k].high)
            roaring_bitmap_or_inplace(dv->parts[i].low, other->parts[k].low);
        else
            TRY(insert(dv, i, other->parts[k].high, roaring_bitmap_copy(other->parts[k].low)));
    }
    return 0;
}

uint64_t dv_cardinality(const struct dv *dv)
{
    uint64_t n = 0;
    for (size_t i = 0; i < dv->n; i++)
        n += roaring_bitmap_get_cardinality(dv->parts[i].low);
    return n;
}

bool dv_contains(const struct dv *dv, uint64_t position)
{
    const roaring_bitmap_t *low = part_of(dv, (uint32_t)(position >> 32));
    return low && roaring_bitmap_contains(low, (uint32_t)position);
}

bool dv_subset(const struct dv *a, const struct dv *b)
{
    for (size_t i = 0; i < a->n; i++) {
        const roaring_bitmap_t *low = part_of(b, a->parts[i].high);
        if (!low || !roaring_bitmap_is_subset(a->parts[i].low, low))
            return false;
    }
    return true;
}

bool dv_equal(const struct dv *a, const struct dv *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->parts[i].high != b->parts[i].high ||
            !roaring_bitmap_equals(a->parts[i].low, b->parts[i].low))
            return false;
    return true;
}

bool dv_lost(const struct dv *before, const struct dv *after, uint64_t *ret_first, uint64_t *ret_n)
{
    uint64_t n = 0;
    for (size_t i = 0; i < before->n; i++) {
        const struct part *p = &before->parts[i];
        const roaring_bitmap_t *low = part_of(after, p->high);
        if (low && roaring_bitmap_is_subset(p->low, low))
            continue;
        roaring_bitmap_t *rest = low ? roaring_bitmap_andnot(p->low, low) : NULL;
        if (n == 0)
            *ret_first = (uint64_t)p->high << 32 | roaring_bitmap_minimum(rest ? rest : p->low);
        n += roaring_bitmap_get_cardinality(rest ? rest : p->low);
        if (rest)
            roaring_bitmap_free(rest);
    }
    if (ret_n)
        *ret_n = n;
    return n > 0;
}

size_t dv_positions(const struct dv *dv, uint64_t from, uint64_t *ret, size_t cap)
{
    size_t n = 0;
    for (size_t i = find(dv, (uint32_t)(from >> 32)); i < dv->n && n < cap; i++) {
        const struct part *p = &dv->parts[i];
        roaring_uint32_iterator_t it;
        roaring_init_iterator(p->low, &it);
        if (p->high == from >> 32)
            roaring_move_uint32_iterator_equalorlarger(&it, (uint32_t)from);
        for (; it.has_value && n < cap; roaring_advance_uint32_iterator(&it))
            ret[n++] = (uint64_t)p->high << 32 | it.current_value;
    }
    return n;
}

int dv_take_bitmap(struct dv *dv, uint32_t high, str checked)
{
    roaring_bitmap_t *low = roaring_bitmap_portable_deserialize_safe(checked.p, checked.len);
    if (low && roaring_bitmap_is_empty(low)) {
        roaring_bitmap_free(low);
        return 0;
    }
    ASSERT(dv->n == 0 || dv->parts[dv->n - 1].high < high);
    return insert(dv, dv->n, high, low);
}

size_t dv_bitmap_count(const struct dv *dv)
{
    return dv->n;
}

static int put_bitmap(const roaring_bitmap_t *low, struct buf *b)
{
    size_t n = roaring_bitmap_portable_size_in_bytes(low);
    TRY(buf_reserve(b, n));
    b->len += roaring_bitmap_portable_serialize(low, b->p + b->len);
    return 0;
}

/* In the shortest form: values are copied, as a const bitmap cannot be changed. */
int dv_put_bitmap(const struct dv *dv, size_t i, struct buf *b)
{
    if (i >= dv->n) { /* an empty vector is an empty bitmap in V1 */
        roaring_bitmap_t *none = roaring_bitmap_create();
        int rc = none ? put_bitmap(none, b) : E_NOMEM;
        if (none)
            roaring_bitmap_free(none);
        return rc;
    }
    roaring_bitmap_t *low = roaring_bitmap_copy(dv->parts[i].low);
    if (!low)
        return E_NOMEM;
    roaring_bitmap_run_optimize(low);
    int rc = put_bitmap(low, b);
    roaring_bitmap_free(low);
    return rc;
}

uint32_t dv_high(const struct dv *dv, size_t i)
{
    return dv->parts[i].high;
}
