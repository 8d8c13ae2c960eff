/* conflict.h - may this commit go onto this state? One pure question (design section 6).
 *
 * Here are the integrity rules, which no policy switches off:
 *   file-gone file-twice file-missing file-bad path-outside manifest-bad schema-unknown bucket-count
 * The state is read on its strand; nothing blocks; the same arguments give the same answer. */
#ifndef LATCH_CATALOG_CONFLICT_H
#define LATCH_CATALOG_CONFLICT_H

#include "catalog/commit_facts.h"
#include "manifest/partition_path.h"

enum conflict_code {
    CONFLICT_FILE_GONE,
    CONFLICT_FILE_TWICE,
    CONFLICT_FILE_MISSING,
    CONFLICT_FILE_BAD,
    CONFLICT_PATH_OUTSIDE,
    CONFLICT_MANIFEST_BAD,
    CONFLICT_SCHEMA_UNKNOWN,
    CONFLICT_BUCKET_COUNT,
};
enum { CONFLICT_CODES = CONFLICT_BUCKET_COUNT + 1 };
const char *conflict_word(enum conflict_code c); /* "file-gone" */

enum verify_files { VERIFY_OFF, VERIFY_EXISTS, VERIFY_SIZE }; /* commit.verify-files */

struct conflict_rules { /* of the table */
    enum verify_files verify;
    const str *partition_names; /* as many as partition columns */
    struct partition_naming naming;
    const str *roots; /* where external paths may lie, as path_absolute gives them */
    size_t n_roots;
};

enum file_seen { FILE_UNSEEN, FILE_THERE, FILE_MISSING, FILE_UNREADABLE };
struct file_evidence {
    enum file_seen seen;
    int64_t size; /* FILE_THERE */
    str why;      /* FILE_UNREADABLE, in words */
};
enum schema_seen { SCHEMA_UNSEEN, SCHEMA_THERE, SCHEMA_ABSENT };
/* Snapshots and tags that are kept and that an OVERWRITE may be a restore of: those with its index
 * manifest and number of records. See restore.h. */
struct restore_sums {
    bool known;        /* they were looked for */
    bool assumed;      /* nobody looks: an overwrite may do what a restore may */
    const uint64_t *v; /* of the live files of each, as in table_state.h */
    size_t n;
};
struct conflict_evidence {
    const struct file_evidence
        *files;                      /* one for each of facts->entries; NULL: none was looked at */
    const enum schema_seen *schemas; /* one for each of facts->schema_ids; NULL: likewise */
    struct restore_sums restore;
};
/* Is evidence of this entry's file asked for? */
bool conflict_wants_file(const struct conflict_rules *r, const struct fact *e);

enum verdict_kind { VERDICT_OK, VERDICT_REFUSE, VERDICT_NEED };
struct refusal { /* texts are in the context's arena or borrowed from state and facts */
    enum conflict_code code;
    str partition; /* as in its path, "dt=2024-01-01"; "": not partitioned; STR_NONE: of no file */
    int32_t bucket;
    str file;               /* STR_NONE: none */
    int64_t other_snapshot; /* that stands against it; 0: not known, or none */
    str other_user;         /* STR_NONE: likewise */
    str message;            /* all of it, for the log of a stock client */
    str what;               /* the part that says what is wrong, not what to do */
};
struct need { /* what must be gathered before it can be judged */
    bool files, schemas, index, restore;
    const size_t *manifests; /* for facts_read_base */
    size_t n_manifests;
};
struct verdict {
    enum verdict_kind kind;
    struct refusal refusal; /* VERDICT_REFUSE */
    struct need need;       /* VERDICT_NEED */
};

/* `st` is not looked at, and may be NULL, when the facts are bad. E_NOMEM only. The state serves the facts. */
int conflict_check(struct ctx *cx, const struct table_state *st, const struct commit_facts *f,
                   const struct conflict_rules *rules, const struct conflict_evidence *ev,
                   struct verdict *ret) WARN_UNUSED;

#endif
