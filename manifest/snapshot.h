/* snapshot.h - a snapshot's JSON (also a tag's and a long-lived changelog's) <-> a struct.
 *
 * The text is what counts: `raw` keeps it byte for byte and is what gets stored and answered, so
 * members that this struct does not know survive. Pure; nothing blocks. */
#ifndef LATCH_MANIFEST_SNAPSHOT_H
#define LATCH_MANIFEST_SNAPSHOT_H

#include "manifest/doc.h"
#include "manifest/opt.h"

#define SNAPSHOT_VERSION  3
#define SNAPSHOT_FIRST_ID 1

enum commit_kind { COMMIT_APPEND, COMMIT_COMPACT, COMMIT_OVERWRITE, COMMIT_ANALYZE };

struct snapshot {
    int64_t version; /* 1..SNAPSHOT_VERSION */
    int64_t id;      /* >= SNAPSHOT_FIRST_ID */
    int64_t schema_id;
    str uuid; /* STR_NONE: written by a client up to 1.4 */
    /* Names in the manifest folder; each is a path_component. STR_NONE: none. */
    str base_manifest_list, delta_manifest_list; /* always there */
    str changelog_manifest_list, index_manifest;
    str statistics;                                       /* name in the statistics folder */
    struct opt_i64 base_size, delta_size, changelog_size; /* bytes of the lists */
    str commit_user;
    int64_t commit_identifier;
    enum commit_kind commit_kind;
    int64_t time_millis;
    int64_t total_record_count, delta_record_count;
    struct opt_i64 changelog_record_count;
    struct opt_i64 watermark; /* INT64_MIN occurs */
    struct opt_i64 next_row_id;
    struct kv_list properties;
    str operation, writer_version; /* STR_NONE: not given; any text */
    str raw;                       /* the JSON object exactly as it came */
};

/* From a parsed object, e.g. the member of a commit request that `path` names. Borrows from the
 * tree and its text. E_INVAL names the member; E_UNSUPPORTED: a version that is not known here. */
int snapshot_decode(struct ctx *cx, const struct json *v, const char *path,
                    struct snapshot *ret) WARN_UNUSED;
/* From the bytes of a snapshot, tag or changelog file; the text is copied into the arena. E_CORRUPT
 * with the file's name; E_UNSUPPORTED as above. */
int snapshot_decode_file(struct ctx *cx, str text, str file_name, struct snapshot *ret) WARN_UNUSED;
/* The members of the struct in Java's order, absent ones left out. For snapshots that Latch makes:
 * what a client posted is written from `raw`. */
void snapshot_encode(struct json_out *o, const struct snapshot *s);

/* Is it the same commit? Equal uuids when both have one; when none has one, equal ids, list names,
 * commit user and identifier; false when only one has a uuid. */
bool snapshot_same(const struct snapshot *a, const struct snapshot *b);

const char *commit_kind_name(enum commit_kind k);

#endif
