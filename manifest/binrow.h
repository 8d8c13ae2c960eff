/* binrow.h - Paimon's BinaryRow: the bytes of a partition, a key or a row of statistics <-> values.
 *
 * Serialized (as in manifests): int32 big endian number of fields, then the image, little endian:
 * [row kind byte | null bits] of ((n + 63 + 8) / 64) * 8 bytes, one slot of 8 bytes a field, then the
 * variable part, each item padded with zeros to 8. Hashes and buckets are over the image alone.
 *
 * Two writers may encode one value in two ways (pypaimon reserves no room for a null big DECIMAL or
 * TIMESTAMP and writes some negative decimals a byte longer), so nothing here compares bytes: values
 * are read, compared, and hashed over the one image that Java would write.
 *
 * Values borrow: texts and bytes point into the row that was read. Nothing here blocks. */
#ifndef LATCH_MANIFEST_BINROW_H
#define LATCH_MANIFEST_BINROW_H

#include "manifest/types.h"

enum binrow_tag {
    BV_NULL,
    BV_BOOL,      /* BOOLEAN */
    BV_INT,       /* TINYINT SMALLINT INT BIGINT, DATE (days since 1970), TIME (ms of the day) */
    BV_FLOAT,     /* NaN is always the same one */
    BV_DOUBLE,    /* likewise */
    BV_DECIMAL,   /* unscaled; the scale is the type's */
    BV_TIMESTAMP, /* both kinds */
    BV_BYTES,     /* CHAR VARCHAR (UTF-8, not checked), BINARY VARBINARY BLOB GEOMETRY GEOGRAPHY */
    BV_VARIANT,
    BV_NESTED, /* ARRAY VECTOR MULTISET MAP ROW: their bytes, not looked into */
};

struct binrow_value {
    enum binrow_tag tag;
    union {
        bool b;
        int64_t i;
        float f;
        double d;
        __int128 dec;
        struct {
            int64_t ms; /* since 1970-01-01T00:00 UTC (or of no zone) */
            int32_t ns; /* of that millisecond, 0..999999 */
        } ts;
        str bytes;
        struct {
            str value, metadata;
        } variant;
    };
};

/* The columns of a row; borrowed. Nullability does not matter here. */
struct binrow_type {
    const struct data_type *const *types;
    size_t n;
};

/* How nulls of DECIMAL(>18) and TIMESTAMP(>3) are laid out. It matters for the bucket hash alone. */
enum binrow_form { BINROW_JAVA, BINROW_PYTHON };

enum binrow_tag binrow_tag_of(const struct data_type *t); /* of what is not null */

/* ret_values has room for t->n. E_CORRUPT, with the byte where, when the number of fields is another,
 * something lies outside, is longer together than the row, or is no value of its type. Ignored, as by
 * Java: the row kind, bits and bytes that no field uses. */
int binrow_read(struct ctx *cx, const struct binrow_type *t, str row,
                struct binrow_value *ret_values) WARN_UNUSED;
/* The number of fields that the row says it has. E_CORRUPT if it is too short for them. */
int binrow_arity(struct ctx *cx, str row, size_t *ret_n) WARN_UNUSED;

/* Append the row; failures stick to the buffer. Each value must be of its column's tag and in its
 * range, or null. */
void binrow_write(struct buf *b, const struct binrow_type *t, const struct binrow_value *v);
void binrow_write_image(struct buf *b, const struct binrow_type *t, const struct binrow_value *v,
                        enum binrow_form form);

/* Paimon's order of keys: nulls first, texts and bytes by unsigned byte, -0.0 before 0.0, NaN last,
 * false before true. VARIANT and nested ones by bytes. <0, 0, >0; 0 is equality by value. */
int binrow_cmp_value(const struct binrow_value *a, const struct binrow_value *b);
int binrow_cmp(const struct binrow_value *a, const struct binrow_value *b, size_t n);
/* Are two serialized rows the same by value? Equal bytes are not read. E_CORRUPT. */
int binrow_same(struct ctx *cx, const struct binrow_type *t, str a, str b, bool *ret) WARN_UNUSED;

/* XXH3 of the image as Java writes it: the hash that goes into a keyset. `scratch` is overwritten;
 * E_NOMEM, E_TOOBIG. */
int binrow_hash(const struct binrow_type *t, const struct binrow_value *v, struct buf *scratch,
                uint64_t *ret) WARN_UNUSED;
/* Java's BinaryRow.hashCode: Murmur3 x86 32, seed 42, over an image (whole words of 4 bytes). */
uint32_t binrow_murmur(str image);

#endif
