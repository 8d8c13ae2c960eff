/* schema_check_int.h - private to schema_check*.c: the state of one check, and the rules by theme.
 *
 * Each rule returns 0, E_INVAL or E_UNSUPPORTED, the latter where Java throws
 * UnsupportedOperationException. A rule is here only when every line of Paimon from 1.4 on refuses
 * what it refuses. */
#ifndef LATCH_MANIFEST_SCHEMA_CHECK_INT_H
#define LATCH_MANIFEST_SCHEMA_CHECK_INT_H

#include "manifest/options.h"
#include "manifest/schema.h"
#include "proto/base/hash.h"

#define SHOWN_MAX 64 /* bytes of a client's text in a message */
#define SHOWN(s)  ((s).len < SHOWN_MAX ? (int)(s).len : SHOWN_MAX), ((s).p ? (s).p : "")

struct check {
    struct ctx *cx;
    const struct schema *s;
    const struct kv_list *o; /* = &s->options */
    struct map columns;      /* name -> const struct data_field *: lookups in a wide table */
    int64_t bucket;
    str engine, producer; /* merge-engine, changelog-producer */
    bool keyed, vectors;  /* has primary keys; deletion-vectors.enabled */
};

/* NULL: no such column. */
const struct data_field *check_column(const struct check *c, str name);
/* Is that boolean option true? All options were read once before, so it can be. */
bool check_on(const struct check *c, const char *key);
bool check_set(const struct check *c, const char *key);
#define REFUSE(c, ...)      ctx_fail((c)->cx, E_INVAL, RES_NONE, STR_NONE, __VA_ARGS__)
#define UNSUPPORTED(c, ...) ctx_fail((c)->cx, E_UNSUPPORTED, RES_NONE, STR_NONE, __VA_ARGS__)

int check_bucket(struct check *c) WARN_UNUSED;   /* bucket, bucket-key */
int check_scan(struct check *c) WARN_UNUSED;     /* scan.mode and what goes with it */
int check_sequence(struct check *c) WARN_UNUSED; /* sequence.field */
int check_engine(struct check *c) WARN_UNUSED;   /* merge-engine and the options of fields */
int check_producer(struct check *c) WARN_UNUSED; /* changelog-producer */
int check_format(struct check *c) WARN_UNUSED;   /* file formats; BLOB and VECTOR columns */
int check_features(struct check *c) WARN_UNUSED; /* row tracking, clustering, chains, ... */

#endif
