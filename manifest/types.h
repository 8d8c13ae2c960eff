/* types.h - Paimon's data types: their JSON and SQL text <-> a tree in an arena.
 *
 * An atomic type is a string in JSON ("DECIMAL(9, 2) NOT NULL"), a nested one an object
 * ({"type":"ARRAY NOT NULL","element":"INT"}). A tree is never changed once it was handed out: what
 * differs is built anew and shares the rest. Strings are borrowed from the JSON tree that was
 * decoded; keep it as long as the types. Nothing here blocks. Errors are E_INVAL (or E_NOMEM) and
 * name the column, what is wrong and what is allowed. */
#ifndef LATCH_MANIFEST_TYPES_H
#define LATCH_MANIFEST_TYPES_H

#include "proto/json/json.h"

enum type_kind {
    TYPE_CHAR,
    TYPE_VARCHAR, /* length TYPE_LENGTH_MAX is STRING */
    TYPE_BOOLEAN,
    TYPE_BINARY,
    TYPE_VARBINARY, /* length TYPE_LENGTH_MAX is BYTES */
    TYPE_DECIMAL,
    TYPE_TINYINT,
    TYPE_SMALLINT,
    TYPE_INT,
    TYPE_BIGINT,
    TYPE_FLOAT,
    TYPE_DOUBLE,
    TYPE_DATE,
    TYPE_TIME,
    TYPE_TIMESTAMP,
    TYPE_TIMESTAMP_LTZ,
    TYPE_VARIANT,
    TYPE_BLOB,
    TYPE_GEOMETRY,
    TYPE_GEOGRAPHY,
    TYPE_ARRAY,
    TYPE_VECTOR,
    TYPE_MULTISET,
    TYPE_MAP,
    TYPE_ROW,
};
enum { TYPE_KINDS = TYPE_ROW + 1 };

enum type_edges { EDGES_SPHERICAL, EDGES_VINCENTY, EDGES_THOMAS, EDGES_ANDOYER, EDGES_KARNEY };

#define TYPE_LENGTH_MAX INT32_MAX
/* Ids from here on are Paimon's own (_KEY_x, _ROW_ID, ...). */
#define FIELD_ID_SYSTEM (INT32_MAX / 2)
#define FIELD_ID_NONE   (-1)
/* JSON levels that one type may nest (a ROW takes 3, the others 1). It leaves room for the envelope
 * of every answer that holds a schema below JSON_DEPTH_MAX, where the writer would stop us. */
#define TYPES_DEPTH_MAX 50

struct data_field;
struct data_type {
    enum type_kind kind;
    bool nullable;
    int32_t length;                  /* CHAR VARCHAR BINARY VARBINARY VECTOR */
    int32_t precision, scale;        /* DECIMAL; precision of TIME TIMESTAMP TIMESTAMP_LTZ too */
    str crs;                         /* GEOMETRY GEOGRAPHY; compared without case */
    enum type_edges edges;           /* GEOGRAPHY */
    const struct data_type *key;     /* MAP */
    const struct data_type *value;   /* MAP; the element of ARRAY VECTOR MULTISET */
    const struct data_field *fields; /* ROW */
    size_t n_fields;
};
struct data_field {
    int32_t id;
    str name;
    const struct data_type *type;
    str description;   /* STR_NONE: none */
    str default_value; /* STR_NONE: none */
};

/* A type from JSON: a string or an object. ROW fields without any ids are numbered from 0, each
 * before those inside it. */
int types_decode(struct ctx *cx, const struct json *v, const struct data_type **ret) WARN_UNUSED;
/* A type from its SQL text. Also takes the suffix notation "INT ARRAY" and "VECTOR<FLOAT, 3>". */
int types_parse(struct ctx *cx, str text, const struct data_type **ret) WARN_UNUSED;

/* The columns of a table. Ids must be there for all fields, nested ones included, or for none; then
 * they are numbered from 0, unless `need_ids`. Names are not blank and differ within a level.
 * Whether ids differ is types_highest_id's to say. */
int types_decode_fields(struct ctx *cx, const struct json *arr, const char *path, bool need_ids,
                        const struct data_field **ret, size_t *ret_n) WARN_UNUSED;
/* E_INVAL when two fields of one level have the same name. */
int types_check_names(struct ctx *cx, const struct data_field *fields, size_t n) WARN_UNUSED;
/* The highest id, nested ones included, Paimon's own left out; FIELD_ID_NONE without fields. */
int32_t types_highest_id(const struct data_field *fields, size_t n);
/* E_INVAL when an id is there twice, anywhere, or is one of Paimon's own. */
int types_check_ids(struct ctx *cx, const struct data_field *fields, size_t n) WARN_UNUSED;

/* The same type with this nullability, itself if it has it already; NULL on no memory. */
const struct data_type *types_with_nullable(struct arena *a, const struct data_type *t,
                                            bool nullable);
/* A copy in which the fields of all ROWs are numbered from *highest + 1 on, those inside a field
 * before the field itself, as Java does it for a new column. *highest becomes the last number given.
 * E_UNSUPPORTED when the numbers run out. */
int types_renumber(struct ctx *cx, const struct data_type *t, int32_t *highest,
                   const struct data_type **ret) WARN_UNUSED;
int types_next_id(struct ctx *cx, int32_t *highest) WARN_UNUSED; /* one more; E_UNSUPPORTED */
/* E_INVAL unless the element of the VECTOR t is of a type that it may have. */
int types_check_vector(struct ctx *cx, const struct data_type *t) WARN_UNUSED;
/* JSON levels that t nests; what is made from parts must keep to TYPES_DEPTH_MAX. */
int types_levels(const struct data_type *t);
/* Is there a type of this kind in t, itself included? */
bool types_contains(const struct data_type *t, enum type_kind kind);
bool types_equal(const struct data_type *a, const struct data_type *b); /* ids and comments too */
bool types_field_equal(const struct data_field *a, const struct data_field *b);

/* Paimon's canonical text, the one that Java writes. */
void types_encode(struct json_out *o, const struct data_type *t);
void types_encode_field(struct json_out *o, const struct data_field *f);
/* For messages: as Java prints it, nested types as "ARRAY<INT>", "ROW<`x` INT>". */
void types_sql(struct buf *b, const struct data_type *t);
str types_sql_str(struct arena *a,
                  const struct data_type *t); /* cut at 200 bytes; never STR_NONE */
const char *types_kind_name(enum type_kind k);

#endif
