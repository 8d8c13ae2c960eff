/* schema.h - a table's schema: what a client sends to create it, what GET table answers, and the
 * file schema/schema-<id> <-> structs.
 *
 * Arrays and strings are borrowed from the JSON tree that was decoded, or live in the context's
 * arena. A struct schema may be copied by assignment; the functions that change one build new
 * arrays and leave those of its copies alone. Pure; nothing blocks. Errors are E_INVAL unless said.
 */
#ifndef LATCH_MANIFEST_SCHEMA_H
#define LATCH_MANIFEST_SCHEMA_H

#include "manifest/doc.h"
#include "manifest/types.h"

#define SCHEMA_VERSION  3    /* of the file that is written */
#define SCHEMA_KEYS_MAX 1024 /* columns in one key: what walks keys times columns stays short */

struct str_list {
    const str *items;
    size_t n;
};

struct schema {
    const struct data_field *fields;
    size_t n_fields;
    struct str_list partition_keys, primary_keys;
    struct kv_list options; /* without "path", "primary-key" and "partition" */
    str comment;            /* STR_NONE: none */
    str path;               /* what option "path" said; STR_NONE: nothing. Never written */
};

struct table_schema { /* schema/schema-<id> */
    int64_t version;  /* of the file that was read; what is written has SCHEMA_VERSION */
    int64_t id;
    int32_t highest_field_id; /* over all schemas of the table; FIELD_ID_NONE: never had a field */
    int64_t time_millis;
    struct schema schema;
};

/* The Schema of a create request, made what Java makes of it: options "primary-key" and "partition"
 * become the key lists, "path" is taken out, fields without ids are numbered, primary key columns
 * become NOT NULL (nullable with option primary-key.nullable = true). Keys name existing, distinct
 * columns; ids are distinct. `path` names the object in errors. */
int schema_decode(struct ctx *cx, const struct json *v, const char *path,
                  struct schema *ret) WARN_UNUSED;
/* The same after changes, but for the ids (pypaimon wrote some twice): key lists given as options,
 * keys that name existing columns once, nullability of the primary key. */
int schema_settle(struct ctx *cx, struct schema *s) WARN_UNUSED;
/* What Paimon refuses, beyond that, in a table with data files (type "table"): names that Paimon
 * uses itself, key columns of nested types, option values that their types cannot be read from,
 * options that exclude each other or name what is not there, types that the file format cannot hold,
 * default values that cannot be cast. E_INVAL, or E_UNSUPPORTED where Java says so. It judges the
 * whole: call it again after changes. What some line of Paimon from 1.4 on takes is taken. */
int schema_check_table(struct ctx *cx, const struct schema *s) WARN_UNUSED;
/* The Schema object: fields, partitionKeys, primaryKeys and options always, comment when set. */
void schema_encode(struct json_out *o, const struct schema *s);

/* The first schema of a new table. */
struct table_schema schema_first(const struct schema *s, int64_t time_millis);
/* The bytes of a schema file; they are copied into the arena. E_CORRUPT with the file's name,
 * E_UNSUPPORTED for a version that is not known here. Kept as they are in the file: nullability,
 * ids (pypaimon wrote some twice), keys; highest_field_id is raised to the ids that are there. */
int schema_decode_file(struct ctx *cx, str text, str file_name,
                       struct table_schema *ret) WARN_UNUSED;
void schema_encode_file(struct json_out *o, const struct table_schema *ts);

str schema_option(const struct schema *s, const char *key);              /* STR_NONE: not set */
const struct data_field *schema_field(const struct schema *s, str name); /* NULL: none */
bool schema_is_key(const struct str_list *keys, str name);

/* key and value are borrowed. E_NOMEM */
int schema_set_option(struct ctx *cx, struct schema *s, str key, str value) WARN_UNUSED;
int schema_remove_option(struct ctx *cx, struct schema *s, str key) WARN_UNUSED; /* none is fine */
void schema_set_comment(struct schema *s, str comment); /* STR_NONE: no comment */

/* `path` is not compared. */
bool schema_equal(const struct schema *a, const struct schema *b);

#endif
