/* binrow_write.c - writing rows (see binrow.h).
 *
 * Source: paimon-common BinaryRowWriter and AbstractBinaryWriter, pypaimon's GenericRowSerializer. One
 * value has one image: padding and unused bytes are zero, decimals minimal, NaN the one that Java's
 * floatToIntBits gives. No state; any thread. */
#include "manifest/binrow_int.h"
#include "proto/base/assert.h"

static size_t padded(size_t n)
{
    return (n + 7) / 8 * 8;
}

static void store_le(char *p, uint64_t v)
{
    for (size_t i = 0; i < 8; i++)
        p[i] = (char)(v >> (8 * i));
}

static bool has_room_when_null(const struct data_type *t)
{
    return (t->kind == TYPE_DECIMAL && t->precision > DECIMAL_SMALL) ||
           ((t->kind == TYPE_TIMESTAMP || t->kind == TYPE_TIMESTAMP_LTZ) &&
            t->precision > STAMP_SMALL);
}

/* Where the image begins, and whether the buffer still takes bytes: a failed one is left alone. */
struct writer {
    struct buf *b;
    size_t start, slots;
    enum binrow_form form;
};

static void set_slot(struct writer *w, size_t i, uint64_t v)
{
    if (buf_fail(w->b) == 0)
        store_le(w->b->p + w->start + w->slots + i * SLOT, v);
}

static void zeros(struct buf *b, size_t n)
{
    static const char none[64];
    for (size_t part; n > 0; n -= part) {
        part = n < sizeof none ? n : sizeof none;
        buf_add(b, none, part);
    }
}

static uint64_t at_end(const struct writer *w, uint64_t low)
{
    return (uint64_t)(w->b->len - w->start) << 32 | low;
}

static void write_item(struct writer *w, size_t i, str bytes, size_t room)
{
    set_slot(w, i, at_end(w, bytes.len));
    buf_adds(w->b, bytes);
    zeros(w->b, room - bytes.len);
}

static void write_bytes(struct writer *w, size_t i, str bytes)
{
    if (bytes.len > INLINE_MAX) {
        write_item(w, i, bytes, padded(bytes.len));
        return;
    }
    uint64_t slot = bytes.len ? binrow_load_le(bytes.p, bytes.len) : 0;
    set_slot(w, i, slot | (uint64_t)(0x80 | bytes.len) << 56);
}

/* Bytes that Python's (bit_length + 8) / 8 gives: one more than needed for -2^7, -2^15, ... */
static size_t decimal_len(__int128 v, enum binrow_form form)
{
    size_t n = 1;
    __int128 low = -128;
    for (; n < DECIMAL_SLOT; n++, low *= 256) {
        if (v >= low && v <= -(low + 1) && !(form == BINROW_PYTHON && v == low))
            break;
    }
    return n;
}

static void write_decimal(struct writer *w, size_t i, const struct data_type *t, __int128 v)
{
    char bytes[DECIMAL_SLOT];
    if (t->precision <= DECIMAL_SMALL) {
        set_slot(w, i, (uint64_t)v);
        return;
    }
    size_t n = decimal_len(v, w->form);
    for (size_t k = 0; k < n; k++)
        bytes[n - 1 - k] = (char)(v >> (8 * k));
    write_item(w, i, str_n(bytes, n), DECIMAL_SLOT);
}

static void write_timestamp(struct writer *w, size_t i, const struct data_type *t,
                            const struct binrow_value *v)
{
    char ms[SLOT];
    if (t->precision <= STAMP_SMALL) {
        set_slot(w, i, (uint64_t)v->ts.ms);
        return;
    }
    set_slot(w, i, at_end(w, (uint64_t)v->ts.ns));
    store_le(ms, (uint64_t)v->ts.ms);
    buf_add(w->b, ms, sizeof ms);
}

static void write_variant(struct writer *w, size_t i, const struct binrow_value *v)
{
    size_t len = 4 + v->variant.value.len + v->variant.metadata.len;
    char size[8];
    store_le(size, v->variant.value.len);
    set_slot(w, i, at_end(w, len));
    buf_add(w->b, size, 4);
    buf_adds(w->b, v->variant.value);
    buf_adds(w->b, v->variant.metadata);
    zeros(w->b, padded(len) - len);
}

static uint64_t real_bits(const struct binrow_value *v)
{
    uint64_t wide = NAN_DOUBLE;
    uint32_t narrow = NAN_FLOAT;
    if (v->tag == BV_FLOAT) {
        if (v->f == v->f)
            memcpy(&narrow, &v->f, sizeof narrow);
        return narrow;
    }
    if (v->d == v->d)
        memcpy(&wide, &v->d, sizeof wide);
    return wide;
}

static void write_null(struct writer *w, size_t i, const struct data_type *t)
{
    size_t bit = i + 8;
    if (buf_fail(w->b) == 0)
        w->b->p[w->start + bit / 8] |= (char)(1 << (bit % 8));
    if (w->form == BINROW_PYTHON || !has_room_when_null(t))
        return;
    set_slot(w, i, at_end(w, 0));
    zeros(w->b, t->kind == TYPE_DECIMAL ? DECIMAL_SLOT : SLOT);
}

static void write_value(struct writer *w, size_t i, const struct data_type *t,
                        const struct binrow_value *v)
{
    if (v->tag == BV_NULL) {
        write_null(w, i, t);
        return;
    }
    ASSERT(v->tag == binrow_tag_of(t));
    size_t width = binrow_int_width(t->kind);
    switch (v->tag) {
    case BV_BOOL:
        set_slot(w, i, v->b);
        break;
    case BV_INT:
        set_slot(w, i, width == 8 ? (uint64_t)v->i : (uint64_t)v->i & ((1ull << 8 * width) - 1));
        break;
    case BV_FLOAT:
    case BV_DOUBLE:
        set_slot(w, i, real_bits(v));
        break;
    case BV_DECIMAL:
        write_decimal(w, i, t, v->dec);
        break;
    case BV_TIMESTAMP:
        write_timestamp(w, i, t, v);
        break;
    case BV_BYTES:
        write_bytes(w, i, v->bytes);
        break;
    case BV_VARIANT:
        write_variant(w, i, v);
        break;
    default:
        write_item(w, i, v->bytes, padded(v->bytes.len));
        break;
    }
}

void binrow_write_image(struct buf *b, const struct binrow_type *t, const struct binrow_value *v,
                        enum binrow_form form)
{
    struct writer w = {.b = b, .start = b->len, .slots = binrow_null_bytes(t->n), .form = form};
    zeros(b, binrow_fixed_size(t->n));
    for (size_t i = 0; i < t->n; i++)
        write_value(&w, i, t->types[i], &v[i]);
}

void binrow_write(struct buf *b, const struct binrow_type *t, const struct binrow_value *v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_addc(b, (char)(t->n >> shift));
    binrow_write_image(b, t, v, BINROW_JAVA);
}
