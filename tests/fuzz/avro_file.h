/* avro_file.h - for fuzz targets: a container file around bytes, so that a mutation gets past the header,
 * the sync markers and the codec to where records are read. */
#ifndef LATCH_TESTS_FUZZ_AVRO_FILE_H
#define LATCH_TESTS_FUZZ_AVRO_FILE_H

#include "manifest/avro/avro_int.h"

/* One block of `count` records with the data as it is. To be freed with buf_done. */
static inline struct buf avro_file(str schema, int64_t count, str data)
{
    struct buf b = {0};
    static const char sync[16] = "0123456789abcdef";
    buf_add(&b, "Obj\1", 4);
    avro_add_long(&b, 1);
    avro_add_bytes(&b, STR_LIT("avro.schema"));
    avro_add_bytes(&b, schema);
    avro_add_long(&b, 0);
    buf_add(&b, sync, sizeof sync);
    avro_add_long(&b, count);
    avro_add_bytes(&b, data);
    buf_add(&b, sync, sizeof sync);
    return b;
}

#endif
