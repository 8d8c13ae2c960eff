/* avro_int.h - what the files of this folder share: the schema of a file as a tree, the plan of a
 * reader, numbers as bytes. */
#ifndef LATCH_MANIFEST_AVRO_AVRO_INT_H
#define LATCH_MANIFEST_AVRO_AVRO_INT_H

#include "manifest/avro/avro.h"

#define AVRO_NODES_MAX 10000 /* types in a schema */
#define AVRO_NAMED_MAX 500   /* of them with a name */
#define AVRO_DEPTH_MAX 64    /* of types within types, once names are followed */
#define AVRO_VARINT    10    /* bytes of a long at most */

/* --- the file's schema ---------------------------------------------------------------------------- */

enum node_type {
    NODE_NULL,
    NODE_BOOLEAN,
    NODE_INT,
    NODE_LONG,
    NODE_FLOAT,
    NODE_DOUBLE,
    NODE_BYTES,
    NODE_STRING,
    NODE_FIXED,
    NODE_ENUM,
    NODE_ARRAY,
    NODE_MAP,
    NODE_UNION,
    NODE_RECORD,
};
struct avro_node {
    enum node_type type;
    unsigned depth; /* 1 for a leaf */
    bool empty;     /* a value has no bytes */
    size_t n;       /* kids; NODE_FIXED: bytes; NODE_ENUM: symbols */
    const struct avro_node **kids;
    str *names; /* of a record's fields */
};
/* The text of avro.schema. The tree is in the context's arena and may share nodes; it has no loop. */
int avro_schema_parse(struct ctx *cx, str text, const struct avro_node **ret) WARN_UNUSED;
const char *avro_node_name(const struct avro_node *n); /* of its type */

/* --- the plan: what to do with each field, in the order of the file --------------------------------- */

enum op_code {
    OP_SKIP,
    OP_INT32,
    OP_INT64,
    OP_STRING,
    OP_BYTES,
    OP_LIST,
    OP_RECORD,  /* in place, or for an optional one behind a pointer */
    OP_RECORDS, /* `node` is the item's record; item_null its union */
};
enum { NO_UNION = 2 }; /* beside 0 and 1: which branch is null */
struct avro_op {
    uint8_t code;
    uint8_t null_branch;
    uint8_t item_null; /* as null_branch, for OP_RECORDS */
    bool optional, range32;
    bool as_is;  /* OP_LIST: the file's items have the encoding that a list has */
    uint32_t at; /* offset in the struct */
    const struct avro_node *node;
    const struct avro_field *field; /* NULL: OP_SKIP */
    const struct avro_plan *plan;   /* OP_RECORD, OP_RECORDS */
};
struct avro_plan {
    struct avro_op *ops;
    size_t n;
    size_t size;       /* of the struct */
    size_t item_bytes; /* that a record of this has in the file at least */
    uint8_t
        null_branch; /* of the whole file: pypaimon-rust's schemas are unions of null and the record */
};
int avro_plan_make(struct ctx *cx, const struct avro_node *file, const struct avro_record *want,
                   const struct avro_plan **ret) WARN_UNUSED;

/* --- bytes of one block ------------------------------------------------------------------------------ */

struct avro_in {
    const char *start, *at, *end;
};
/* Runs the plan over the next record. E_CORRUPT names the field and the byte of the block. */
int avro_decode(struct ctx *cx, struct avro_in *in, const struct avro_plan *plan,
                void *ret_record) WARN_UNUSED;

/* A long (also an int) off *in; false: it is cut off, too long, or has a longer encoding than it needs. */
bool avro_take_slow(struct avro_in *in, int64_t *ret);
static inline bool avro_take(struct avro_in *in, int64_t *ret)
{
    if (in->at < in->end) {
        unsigned char c = (unsigned char)*in->at;
        if (c < 0x80) {
            in->at++;
            *ret = (int64_t)(c >> 1) ^ -(int64_t)(c & 1);
            return true;
        }
    }
    return avro_take_slow(in, ret);
}
/* A length and so many bytes. */
bool avro_take_bytes(struct avro_in *in, str *ret);

size_t avro_put(char out[AVRO_VARINT], int64_t v); /* bytes written */
void avro_add_long(struct buf *out, int64_t v);
void avro_add_bytes(struct buf *out, str s);

#endif
