/* partition_path.h - the values of a partition <-> its directory, "dt=2024-01-01/h=7/".
 *
 * A value becomes a text (by the column's type and the table's options), the text is escaped, and the
 * columns are joined in the schema's order. Texts are in the arena of the ctx or borrowed from the
 * input. Nothing here blocks. */
#ifndef LATCH_MANIFEST_PARTITION_PATH_H
#define LATCH_MANIFEST_PARTITION_PATH_H

#include "manifest/binrow.h"

struct partition_naming {
    str default_name; /* option partition.default-name: null, and texts of nothing but blanks */
    bool legacy;      /* option partition.legacy-name (true unless set) */
};

/* Appends the text of one value, not escaped, as Java writes it:
 *   legacy      DATE and TIME as numbers, timestamps as "2024-03-04T10:48" with ":07.123" if not zero;
 *   else        "2024-03-04", "10:48:07.1", "2024-03-04 10:48:07.123"; TIMESTAMP_LTZ in the local zone
 *               of this process, as it is that of the JVM in Java.
 * FLOAT and DOUBLE are the shortest text that reads back, as from JDK 19 on; older ones write some
 * numbers longer, so compare such partitions by value. E_UNSUPPORTED for what has no text that is the
 * same each time: bytes with legacy names, bytes that are no UTF-8, nested types, years below 0. */
int partition_text(struct ctx *cx, const struct data_type *t, const struct binrow_value *v,
                   const struct partition_naming *naming, struct buf *b) WARN_UNUSED;
/* Appends the whole path, which ends in '/'; nothing for a table without partitions. names[i] is the
 * name of column i. E_TOOBIG or E_NOMEM when the buffer fails. */
int partition_path_write(struct ctx *cx, const struct binrow_type *t, const str *names,
                         const struct binrow_value *v, const struct partition_naming *naming,
                         struct buf *b) WARN_UNUSED;

/* Splits "k=v/k2=v2" (a '/' at the end is fine) into n texts, no longer escaped. E_INVAL unless it is
 * exactly these columns in this order. */
int partition_path_split(struct ctx *cx, str path, const str *names, size_t n,
                         str *ret_texts) WARN_UNUSED;
/* The value that Paimon reads from such a text (or from a partition spec in a request): all that Java
 * 1.4.2 takes, times with zone offsets excepted, and the legacy names of timestamps, which it writes
 * but does not read. The default name is null. E_INVAL when it is none; E_UNSUPPORTED for types that
 * have no text. Bytes point into `text` or the arena. */
int partition_value_parse(struct ctx *cx, const struct data_type *t, str text,
                          const struct partition_naming *naming,
                          struct binrow_value *ret) WARN_UNUSED;

void partition_escape(struct buf *b, str text);
/* In the arena, or `text` itself when there is nothing to do; "%" with no two digits behind it stays.
 * STR_NONE on no memory. */
str partition_unescape(struct ctx *cx, str text);

#endif
