/* partition_key.c - what a partition is called within its table.
 *
 * Format: k=v/k2=v2 in the order of the partition keys, as Paimon builds the name. Names are told apart
 * by it, so '/' and '%' within a value are written %2F and %25. Columns have names that clients chose,
 * but a table has them in one order only. Pure; any thread. */
#include "catalog/catalog_int.h"

void partition_key_add(struct buf *key, size_t i, str name, str value)
{
    if (i)
        buf_addc(key, '/');
    buf_adds(key, name);
    buf_addc(key, '=');
    for (size_t k = 0; k < value.len; k++) {
        if (value.p[k] == '/')
            buf_addz(key, "%2F");
        else if (value.p[k] == '%')
            buf_addz(key, "%25");
        else
            buf_addc(key, value.p[k]);
    }
}

/* A '/' may be the one between two columns; a '%' can be of a value only. */
void partition_key_pattern(struct buf *key, str text)
{
    for (size_t i = 0; i < text.len; i++) {
        buf_addc(key, text.p[i]);
        if (text.p[i] == '%')
            buf_addz(key, "25");
    }
}
