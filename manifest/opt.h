/* opt.h - a number that may be absent, as files and requests of Paimon have many. */
#ifndef LATCH_MANIFEST_OPT_H
#define LATCH_MANIFEST_OPT_H

#include <stdbool.h>
#include <stdint.h>

struct opt_i64 {
    bool has;
    int64_t v; /* 0 when absent */
};

#endif
