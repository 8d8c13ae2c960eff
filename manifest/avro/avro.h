/* avro.h - Avro object container files (what Paimon's manifests are) <-> C structs.
 *
 * A table (struct avro_record) says which field of the file is which member of a struct. It drives
 * all: reading by the file's own schema, whatever else that has and in whatever order; writing; the
 * schema text of what is written; copying. See data_file.c for one.
 *
 *   member of the struct           type          optional: ["null", T], null when not there
 *   int32_t                        AVRO_INT      struct opt_i64
 *   int64_t                        AVRO_LONG     struct opt_i64
 *   str                            AVRO_STRING   str, STR_NONE
 *   str                            AVRO_BYTES    str, STR_NONE
 *   struct avro_list               AVRO_LIST     struct avro_list, !has
 *   the struct itself              AVRO_RECORD   const pointer, NULL
 *   bool has; size_t n; pointer    AVRO_RECORDS  the same, !has  (struct avro_array's members)
 *
 * A field that is optional may also be missing from the file, one that is not may not. Source of the
 * format: the Avro 1.11 specification; names and layouts as Paimon's AvroSchemaConverter makes them.
 *
 * Bytes are strict: every length, count and depth is bounded by what is there, numbers have one
 * encoding, strings are UTF-8, a block ends where its last record ends. What is wrong is E_CORRUPT
 * (E_UNSUPPORTED: right, but nothing that this reads) with the file's name and the offset. Nothing
 * here blocks; one thread at a time uses a reader or a writer. */
#ifndef LATCH_MANIFEST_AVRO_AVRO_H
#define LATCH_MANIFEST_AVRO_AVRO_H

#include "manifest/avro/codec.h"
#include "manifest/opt.h"

#define AVRO_BLOCK_MAX  ((size_t)64 << 20)  /* bytes of one block, unpacked */
#define AVRO_FILE_MAX   ((uint64_t)4 << 30) /* bytes of all blocks, unpacked */
#define AVRO_SCHEMA_MAX ((size_t)1 << 20)
#define AVRO_BLOCK_SIZE ((size_t)64000) /* a block is written once it has so many: Avro Java's */

enum avro_type {
    AVRO_INT,
    AVRO_LONG,
    AVRO_STRING,
    AVRO_BYTES,
    AVRO_LIST,
    AVRO_RECORD,
    AVRO_RECORDS,
};
enum avro_item { ITEM_STRING, ITEM_INT, ITEM_LONG, ITEM_OPT_LONG };

struct avro_record;
struct avro_field {
    const char *name;
    enum avro_type type;
    bool optional;
    bool millis;         /* the schema calls the number a timestamp-millis */
    bool extra;          /* read always; written only when the writer is asked for extras */
    bool item_optional;  /* AVRO_RECORDS: the items are ["null", record], which none may be */
    enum avro_item item; /* AVRO_LIST */
    size_t at;           /* offsetof the member */
    const struct avro_record *record; /* AVRO_RECORD, AVRO_RECORDS */
};
struct avro_record {
    const struct avro_field *fields;
    size_t n;
    size_t size; /* sizeof the struct */
};

/* A list of numbers or strings, as it is in the file: n items one after another, each in its only
 * encoding, so that lists are equal when their bytes are. Borrowed. All zero: no list. */
struct avro_list {
    bool has;
    uint32_t n;
    str items;
};
/* Walk a list that was read or made here: each takes the next item off *l, false at the end. */
bool avro_list_str(struct avro_list *l, str *ret);
bool avro_list_i64(struct avro_list *l, int64_t *ret);            /* ITEM_INT, ITEM_LONG */
bool avro_list_opt_i64(struct avro_list *l, struct opt_i64 *ret); /* ITEM_OPT_LONG */
/* Make one in the context's arena. E_NOMEM. */
int avro_list_of_strs(struct ctx *cx, const str *v, size_t n, struct avro_list *ret) WARN_UNUSED;
int avro_list_of_i64s(struct ctx *cx, const int64_t *v, size_t n,
                      struct avro_list *ret) WARN_UNUSED;
int avro_list_of_opts(struct ctx *cx, const struct opt_i64 *v, size_t n,
                      struct avro_list *ret) WARN_UNUSED;
bool avro_list_eq(const struct avro_list *a, const struct avro_list *b);
/* Of a list of strings that was kept elsewhere: are its bytes such a list? Ask before walking it. */
bool avro_list_strs_ok(const struct avro_list *l);

/* What AVRO_RECORDS is in memory. */
struct avro_array {
    bool has;
    size_t n;
    const void *items;
};

/* --- reading ------------------------------------------------------------------------------------- */

struct avro_plan;
struct avro_reader {
    str name;  /* of the file, for messages; borrowed */
    str bytes; /* all of the file; borrowed */
    size_t pos;
    const struct avro_plan *plan;
    struct codec codec;
    unsigned char sync[16];
    struct buf block; /* the block that is being read, unpacked */
    const char *start, *at, *end;
    int64_t left;      /* records of the block */
    size_t block_at;   /* its offset in the file */
    uint64_t unpacked; /* bytes so far */
    bool keep;
};

/* Reads the header and compiles the way from the file's schema to `want` (plan in the context's
 * arena). `keep`: what records point to lives as long as the context; else a record is only good until
 * the next one is read, and `bytes` must outlive it. avro_read_done in any case, also after a failure. */
int avro_read_open(struct ctx *cx, struct avro_reader *r, str bytes, str name,
                   const struct avro_record *want, bool keep) WARN_UNUSED;
/* 1: *record is the next one; 0: there are no more; < 0: see above. `record` is a struct of `want`,
 * zeroed before the first call and not changed between calls: what the file has no field for is left
 * alone. */
int avro_read_next(struct ctx *cx, struct avro_reader *r, void *record) WARN_UNUSED;
void avro_read_done(struct avro_reader *r);
/* All records, as an array in the context's arena together with what they point to. */
int avro_read_all(struct ctx *cx, str bytes, str name, const struct avro_record *want, void **ret,
                  size_t *ret_n) WARN_UNUSED;
/* The same when `check` says 0 to each; its error is the result. */
typedef int avro_check_fn(struct ctx *cx, const void *record, str name);
int avro_read_checked(struct ctx *cx, str bytes, str name, const struct avro_record *want,
                      avro_check_fn *check, void **ret, size_t *ret_n) WARN_UNUSED;

/* --- writing ------------------------------------------------------------------------------------- */

struct avro_writer {
    const struct avro_record *record;
    bool extras;
    int level;
    struct codec codec;
    unsigned char sync[16];
    struct buf out, block, packed;
    int64_t n;       /* records of the block that is being filled */
    int64_t records; /* of the file */
};

/* Starts a file with Java's schema for `record`. `level` is zstandard's. avro_write_done in any
 * case. E_NOMEM. */
int avro_write_open(struct ctx *cx, struct avro_writer *w, const struct avro_record *record,
                    bool extras, enum codec_kind codec, int level) WARN_UNUSED;
/* E_NOMEM, E_TOOBIG. Numbers and strings are the caller's to have checked. */
int avro_write_add(struct ctx *cx, struct avro_writer *w, const void *record) WARN_UNUSED;
/* Closes the block that is being filled, if it has records: all added so far is in `out`, which then
 * is a whole file. */
int avro_write_flush(struct ctx *cx, struct avro_writer *w) WARN_UNUSED;
void avro_write_done(struct avro_writer *w);
/* The text of the schema that is written. E_NOMEM. */
int avro_schema_text(struct ctx *cx, const struct avro_record *record, bool extras,
                     struct buf *out) WARN_UNUSED;

/* --- memory -------------------------------------------------------------------------------------- */

/* A copy that lives as long as the arena, with all that it points to. E_NOMEM. */
int avro_copy(struct ctx *cx, const struct avro_record *record, const void *from,
              void *ret) WARN_UNUSED;
/* Equal by value? */
bool avro_equal(const struct avro_record *record, const void *a, const void *b);

#endif
