/* snappy.c - reads Google's snappy block format: a length, then literals and copies of what came
 * before.
 *
 * Source of the format: format_description.txt of the snappy project. Reading takes a screen of code
 * and the library is C++, which the daemon would otherwise not load; nothing here writes snappy.
 *
 * Invariant: out->len never passes the length that the block begins with, and the block is right
 * only when it reaches it with its last byte. */
#include "manifest/avro/snappy.h"

#define EXPANDS_MAX 22 /* a copy of 64 bytes takes three */

static bool take_length(str *in, size_t *ret)
{
    size_t v = 0;
    for (unsigned shift = 0; shift < 32 && in->len > 0; shift += 7) {
        unsigned char c = (unsigned char)in->p[0];
        *in = str_cut(*in, 1);
        v |= (size_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            *ret = v;
            return true;
        }
    }
    return false;
}

/* Little-endian, n <= 4. */
static bool take_le(str *in, size_t n, size_t *ret)
{
    size_t v = 0;
    if (in->len < n)
        return false;
    for (size_t i = 0; i < n; i++)
        v |= (size_t)(unsigned char)in->p[i] << (8 * i);
    *in = str_cut(*in, n);
    *ret = v;
    return true;
}

static bool literal(unsigned tag, str *in, size_t room, struct buf *out)
{
    size_t n = tag >> 2;
    if (n >= 60 && !take_le(in, n - 59, &n))
        return false;
    n++;
    if (n > room || n > in->len)
        return false;
    buf_add(out, in->p, n);
    *in = str_cut(*in, n);
    return true;
}

static bool copy(unsigned tag, str *in, size_t room, struct buf *out)
{
    size_t n = (tag >> 2) + 1, back;
    switch (tag & 3) {
    case 1:
        if (!take_le(in, 1, &back))
            return false;
        n = ((tag >> 2) & 7) + 4;
        back |= (size_t)(tag >> 5) << 8;
        break;
    case 2:
        if (!take_le(in, 2, &back))
            return false;
        break;
    default:
        if (!take_le(in, 4, &back))
            return false;
    }
    if (back == 0 || back > out->len || n > room)
        return false;
    for (size_t i = 0; i < n; i++, out->len++) /* may overlap: byte by byte, and room is reserved */
        out->p[out->len] = out->p[out->len - back];
    return true;
}

int snappy_unpack(str in, size_t max, struct buf *out)
{
    size_t size;
    buf_clear(out);
    if (!take_length(&in, &size) || size / EXPANDS_MAX > in.len)
        return E_CORRUPT;
    if (size > max)
        return E_TOOBIG;
    TRY(buf_reserve(out, size));
    while (in.len > 0) {
        unsigned tag = (unsigned char)in.p[0];
        in = str_cut(in, 1);
        size_t room = size - out->len;
        if (!((tag & 3) == 0 ? literal(tag, &in, room, out) : copy(tag, &in, room, out)))
            return E_CORRUPT;
    }
    return out->len == size ? 0 : E_CORRUPT;
}
