/* store.h - the record of everything that is not a file in the warehouse.
 *
 * One method is one transaction: it happened, durably, when the method answers 0, and not at all
 * when it answers anything else but E_UNKNOWN. Callers never hold two. Methods block (disk); they are
 * called from worker and strand threads, never from the HTTP threads. Thread-safe.
 *
 * Rows given out live in cx's arena. Rows handed in are read before the method returns.
 * Errors common to all: E_IO, E_NOMEM, E_CORRUPT, E_BUSY (the writer's queue is full, or a foreign
 * process holds the database: nothing was done), and for changes E_UNKNOWN. A warehouse id that is
 * not there is E_NOTFOUND without a resource. An E_NOTFOUND of something that was asked for by id
 * has the id as its name.
 * Implementations: store_sqlite (the real one), store_mem (tests). tests/unit/catalog/test_store.c
 * is the contract and runs against both. */
#ifndef LATCH_CATALOG_STORE_STORE_H
#define LATCH_CATALOG_STORE_STORE_H

#include "proto/base/ctx.h"

#define OUTCOME_KEY_LEN 20 /* first bytes of a SHA-256, see catalog/outcome.h */

struct audit { /* one row a change; all-empty action = none is written */
    int64_t at_ms;
    str tenant, principal, request_id;
    str action; /* "table.create", "commit", ... */
    str object; /* "warehouse/db.table" */
    str detail; /* free text or JSON; may be empty */
};

struct warehouse_row {
    int64_t id, tenant_id;
    str tenant, name, root, options_json;
    int64_t created_ms;
};
struct principal_row {
    int64_t id, tenant_id;
    str tenant, name;
    int64_t token_expires_ms; /* 0 = never */
};
struct stamp { /* Paimon's audit members of databases and tables */
    str owner, created_by, updated_by;
    int64_t created_ms, updated_ms;
};
struct db_row {
    str id; /* uuid */
    int64_t warehouse_id;
    str name, dir /* below the warehouse root */, options_json;
    struct stamp stamp;
};
struct table_row {
    str id; /* uuid */
    str db_id, db_name;
    int64_t warehouse_id;
    str name, dir /* below the warehouse root; never used by another table, before or after */;
    str external; /* absolute directory of an external table, which has no `dir`; empty: it has */
    int64_t schema_id; /* of branch main */
    str schema_json;   /* Paimon's Schema object (fields, keys, options, comment) */
    str type;          /* option `type`, "table" when not given */
    struct stamp stamp;
};
/* A table by its id, as long as it has this name: what changes or gives up a name asks for both, so
 * that of two who do it at once the second finds nothing: E_NOTFOUND with the name. db.p NULL: whatever
 * its name is. */
struct table_named {
    str id, db, name;
};
struct totals { /* of a branch's head, from the statistics of commits; -1 = unknown */
    int64_t file_size_bytes, file_count, last_file_creation_ms;
};
struct head_row {
    int64_t id; /* 0: the branch has no snapshot */
    str uuid;   /* empty: the snapshot has none */
    str json;   /* as the client sent it, which is what the file holds */
    int64_t recorded_ms;
    uint64_t file_ino; /* of snapshot-<id> when it was recorded */
    int64_t file_size, file_ctime_ns;
    struct totals totals;
};
struct intent_row {
    int64_t id; /* 0: none */
    str table_id, branch;
    str kind; /* catalog/intent.c has the list */
    str args_json;
    str reserves; /* the name of a branch to come, which nobody else gets while the intent is open;
                     empty: none. Not given out again */
    int64_t warehouse_id, epoch, created_ms;
};
struct branch_row {
    str table_id, name;
    int64_t epoch; /* goes up with every intent that rewrites the branch's history */
    struct head_row head;
    int64_t schema_id; /* -1: not known yet, the branch is being made */
    str schema_json;
    struct intent_row open; /* open.id == 0: none */
};
struct outcome {
    uint8_t key[OUTCOME_KEY_LEN];
    int64_t snapshot_id;
    int64_t recorded_ms;
    struct totals totals; /* of the branch after this snapshot */
};

struct partition_delta { /* what one commit did to one partition; the counts may be negative */
    str key;             /* names it within its table, see catalog/partition.c */
    str spec_json;       /* {"k":"v",...} as clients get it */
    int64_t records, file_size_bytes, file_count, last_file_ms, buckets;
};
struct partition_row { /* the same members, as totals: one below 0 is unknown */
    struct partition_delta sum;
    bool done;
    struct stamp stamp; /* its owner is not kept */
};

#define CONFLICT_KEY_LEN 20
struct conflict_row { /* a commit that was refused, or accepted although a rule speaks against it */
    int64_t id;       /* of one store; never comes back */
    int64_t first_ms, last_ms, count; /* when it was posted, and how often */
    str code;                         /* "file-gone", ... */
    bool accepted;                    /* it was only put on the list */
    int64_t snapshot_id;              /* that it was to become */
    str principal;                    /* who posted it; empty: nobody, it was found in the files */
    str commit_user, kind;
    int64_t identifier;
    bool placed; /* partition and bucket mean something */
    str partition;
    int32_t bucket;
    str file;               /* empty: none */
    int64_t other_snapshot; /* that stands against it; 0: none, or not known */
    str other_user;
    str message;
};

struct store_bootstrap_in {
    str tenant, warehouse, root, principal;
    uint8_t token_hash[32];
    int64_t now_ms;
};
struct
    store_list_in { /* names above `after` in byte order, at most `limit` (none when it is not above 0) */
    str after;  /* empty: from the start */
    str prefix; /* only names that begin with it; empty: all */
    int64_t limit;
};
/* What a database holds. Each kind has its own names: a table and a view may have the same one. */
enum object_kind { OBJECT_TABLE, OBJECT_VIEW, OBJECT_FUNCTION };
struct object_row { /* a view or a function */
    str id;         /* uuid */
    enum object_kind kind;
    str db_name;
    int64_t warehouse_id;
    str name;
    str json; /* what it is: catalog/view.c, catalog/function.c */
    struct stamp stamp;
};
struct name_match { /* names that begin with `text`, or with `exact` this one; empty: all */
    str text;
    bool exact;
};
struct name_pair {
    str db, name;
};
struct store_find_in { /* names by (database, name) in byte order, at most `limit` */
    int64_t warehouse_id;
    enum object_kind kind;
    struct name_match db, name;
    str type;               /* of tables only; empty: all */
    struct name_pair after; /* only those behind this pair; db empty: from the start */
    int64_t limit;
};
struct store_objects_in { /* rows of one database by name in byte order, at most `limit` */
    int64_t warehouse_id;
    enum object_kind kind; /* a view or a function */
    str db;
    struct name_match name;
    str after;
    int64_t limit;
    size_t bytes_max; /* of JSON in all rows */
};
struct store_object_rename_in {
    int64_t warehouse_id;
    enum object_kind kind;
    struct name_pair from, to;
    int64_t now_ms;
    str by;
};
struct store_commit_in {
    str table_id, branch;
    int64_t expect_epoch, expect_head_id;
    struct head_row head;
    const struct outcome *outcome; /* NULL: none (an adopted snapshot that is not unique) */
    bool
        has_deltas; /* what it did to partitions is known: the next n_deltas; else totals end here */
    const struct partition_delta *deltas;
    size_t n_deltas;
    struct audit audit;
};
struct store_intent_in {
    struct intent_row row; /* id and epoch are ignored */
    bool bump_epoch; /* table_id/branch: epoch + 1, on condition expect_epoch/expect_head_id */
    int64_t expect_epoch, expect_head_id;
    struct audit audit;
};
struct schema_set { /* a branch's schema from now on */
    int64_t id;
    str json, type;
    int64_t now_ms;
    str by;
};
struct store_history_in { /* the end of an intent that rewrote the history of a branch */
    int64_t intent_id;
    str table_id, branch;
    const struct head_row *head;     /* NULL: it stays */
    int64_t forget_above;            /* recorded outcomes above this snapshot are forgotten */
    const struct schema_set *schema; /* NULL: it stays */
    struct audit audit;
};
struct store_branch_in { /* the end of an intent about a branch as a whole */
    int64_t intent_id;
    str table_id, branch;
    struct audit audit;
};
struct store_prune_in {
    int64_t outcomes_before_ms, outcomes_per_branch_max, audit_before_ms;
    int64_t conflicts_before_ms, conflicts_per_branch_max;
    int64_t
        rows_max; /* > 0; deleted by this call at most; call again while *ret_more. Outcomes go oldest
                         snapshot first, up to the first of the branch that stays */
};

/* What the totals of a branch's partitions are. KNOWN: complete up to the head. MORE: known, and not
 * all commits are folded in yet. UNKNOWN: of some commit up to the head nobody said what it did. */
enum partitions_are { PARTITIONS_KNOWN, PARTITIONS_MORE, PARTITIONS_UNKNOWN };
struct store_partitions_in { /* keys in descending byte order */
    str table_id, branch;
    str below;  /* only keys less than this; p == NULL: from the last */
    str prefix; /* only keys that begin with it */
    bool exact; /* `prefix` is the whole key */
    int64_t limit;
};
struct store_partitions_change { /* by whom, when, to what: of create, drop and mark */
    str table_id, branch;
    int64_t now_ms;
    str by;
    const struct partition_delta *parts; /* key and spec_json count */
    size_t n;
    struct audit audit;
};

struct store_conflict_in {
    str table_id, branch;
    uint8_t key[CONFLICT_KEY_LEN]; /* that of the same refusal is the same */
    struct conflict_row row;       /* id, first_ms and count are ignored; last_ms is now */
    int64_t keep_max;              /* the branch has no more rows than these afterwards */
};
struct store_conflicts_in { /* newest (highest id) first */
    str table_id, branch;
    int64_t below; /* only ids less than this; 0: from the newest */
    str code;      /* empty: all */
    int64_t limit;
};

struct store_partitions_set { /* what the partitions have at the head of this id and epoch */
    str table_id, branch;
    int64_t expect_epoch, expect_head_id, now_ms;
    str by;
    struct partition_delta *sums; /* by key, ascending, each once */
    size_t n;
};

struct store;
struct store_ops {
    void (*free)(struct store *st);
    int (*ping)(struct store *st, struct ctx *cx); /* can it read and write? */

    /* E_EXISTS when there is any tenant already. */
    int (*bootstrap)(struct store *st, struct ctx *cx, const struct store_bootstrap_in *in);
    int (*is_empty)(struct store *st, struct ctx *cx, bool *ret);
    int (*warehouses)(struct store *st, struct ctx *cx, struct warehouse_row **ret, size_t *ret_n);
    int (*token_find)(struct store *st, struct ctx *cx, const uint8_t hash[32],
                      struct principal_row *ret); /* E_NOTFOUND */

    int (*db_create)(struct store *st, struct ctx *cx, const struct db_row *in,
                     const struct audit *au); /* E_EXISTS */
    int (*db_get)(struct store *st, struct ctx *cx, int64_t warehouse_id, str name,
                  struct db_row *ret); /* E_NOTFOUND */
    int (*db_list)(struct store *st, struct ctx *cx, int64_t warehouse_id,
                   const struct store_list_in *in, str **ret, size_t *ret_n);
    int (*db_alter)(struct store *st, struct ctx *cx, str db_id, str expect_options_json,
                    str options_json, int64_t now_ms, str by,
                    const struct audit *au); /* E_NOTFOUND, E_RACE: options changed meanwhile */
    /* Deletes the database with its tables, views and functions; the directory of each table that is
     * not external gets a "purge" intent with args {"dir":…}. The rows are one for each table: first
     * the external ones, of which only the table_id is filled. E_NOTFOUND. */
    int (*db_drop)(struct store *st, struct ctx *cx, str db_id, int64_t now_ms,
                   const struct audit *au, struct intent_row **ret, size_t *ret_n);

    /* Picks a directory for a new table that no table of this warehouse ever had: `base`, else base-2,
     * base-3, ...; remembers it for ever and opens a "create" intent with args {"dir":…}. */
    int (*table_claim)(struct store *st, struct ctx *cx, int64_t warehouse_id, str base,
                       int64_t now_ms, str *ret_dir, int64_t *ret_intent);
    /* Inserts the table and its branch "main" (no head, epoch 0), removes the create intent (0: there is none). E_EXISTS,
     * E_NOTFOUND (db gone), E_RACE (the intent is gone: somebody may be deleting the directory).
     * For an external table, whose directory may hold snapshots already, main begins at `head` (NULL:
     * none); E_CONFLICT when another table lies there, above or below it. One inside a warehouse also
     * has its path below the root as `dir`, which no table of the server's own choice gets any more. */
    int (*table_create)(struct store *st, struct ctx *cx, const struct table_row *in,
                        int64_t intent_id, const struct head_row *head, const struct audit *au);
    /* Would an external table find its place free now? Asked before files are written there. Of `in`
     * warehouse_id, name, external and dir are read. E_CONFLICT */
    int (*table_place)(struct store *st, struct ctx *cx, const struct table_row *in);
    int (*table_get)(struct store *st, struct ctx *cx, int64_t warehouse_id, str db, str name,
                     struct table_row *ret); /* E_NOTFOUND with res TABLE or DATABASE */
    int (*table_by_id)(struct store *st, struct ctx *cx, int64_t warehouse_id, str id,
                       struct table_row *ret); /* E_NOTFOUND */
    /* E_NOTFOUND (table or target database), E_EXISTS (target name). */
    int (*table_rename)(struct store *st, struct ctx *cx, const struct table_named *t,
                        int64_t warehouse_id, str to_db, str to_name, int64_t now_ms, str by,
                        const struct audit *au);
    /* E_RACE when the branch's schema id is not expect_schema_id any more. The table's type is main's. */
    int (*table_alter)(struct store *st, struct ctx *cx, str id, str branch,
                       int64_t expect_schema_id, const struct schema_set *to,
                       const struct audit *au);
    /* Deletes the table, its branches and their open intents; outcomes go with prune. Opens a purge
     * intent for its directory; ret->id is 0 for an external table, whose files stay. */
    int (*table_drop)(struct store *st, struct ctx *cx, const struct table_named *t, int64_t now_ms,
                      const struct audit *au, struct intent_row *ret);

    /* Names of one kind, in one database or in all. A page costs what it gives out, and a look into each
     * database that it passes. A database that is not there has none. */
    int (*find)(struct store *st, struct ctx *cx, const struct store_find_in *in,
                struct name_pair **ret, size_t *ret_n);

    /* Views and functions; res is VIEW or FUNCTION. */
    int (*object_create)(struct store *st, struct ctx *cx, const struct object_row *in,
                         const struct audit *au); /* E_EXISTS, E_NOTFOUND (DATABASE) */
    int (*object_get)(struct store *st, struct ctx *cx, int64_t warehouse_id, enum object_kind kind,
                      str db, str name,
                      struct object_row *ret); /* E_NOTFOUND: the object or DATABASE */
    /* E_INVAL when they have more than bytes_max. A database that is not there has none. */
    int (*object_list)(struct store *st, struct ctx *cx, const struct store_objects_in *in,
                       struct object_row **ret, size_t *ret_n);
    /* On condition that its JSON is still expect_json: E_RACE. E_NOTFOUND. */
    int (*object_alter)(struct store *st, struct ctx *cx, enum object_kind kind, str id,
                        str expect_json, str json, int64_t now_ms, str by, const struct audit *au);
    int (*object_rename)(struct store *st, struct ctx *cx, const struct store_object_rename_in *in,
                         const struct audit *au); /* E_NOTFOUND, E_EXISTS */
    int (*object_drop)(struct store *st, struct ctx *cx, int64_t warehouse_id,
                       enum object_kind kind, str db, str name,
                       const struct audit *au); /* E_NOTFOUND */

    int (*branch_get)(struct store *st, struct ctx *cx, str table_id, str branch,
                      struct branch_row *ret); /* E_NOTFOUND */
    /* Step 6 of a commit. E_RACE when epoch or head are not what was expected, E_NOTFOUND when the
     * branch is gone. E_UNKNOWN when the database cannot say whether it is durable. An outcome of the
     * same snapshot is replaced; of two with one key outcome_find gives the newest snapshot's. */
    int (*commit_record)(struct store *st, struct ctx *cx, const struct store_commit_in *in);
    int (*outcome_find)(struct store *st, struct ctx *cx, str table_id, str branch,
                        const uint8_t key[OUTCOME_KEY_LEN], struct outcome *ret); /* E_NOTFOUND */
    /* The outcome that made snapshot `snapshot_id`. E_NOTFOUND. */
    int (*outcome_of)(struct store *st, struct ctx *cx, str table_id, str branch,
                      int64_t snapshot_id, struct outcome *ret);

    /* A branch has one open intent at most: E_RACE. Without a branch nothing is checked and the epoch
     * is 0; with one and without bump_epoch the intent carries the branch's epoch. bump_epoch needs a
     * branch. E_EXISTS (BRANCH): the name it reserves is a branch's or reserved. */
    int (*intent_begin)(struct store *st, struct ctx *cx, const struct store_intent_in *in,
                        int64_t *ret_id, int64_t *ret_epoch); /* E_RACE, E_NOTFOUND */
    int (*intent_finish)(struct store *st, struct ctx *cx,
                         int64_t id); /* removes it; gone already is fine */
    /* E_NOTFOUND: the intent or the branch is gone; nothing was done. */
    int (*history_finish)(struct store *st, struct ctx *cx, const struct store_history_in *in);

    /* A new branch: from now on its name is taken, it has no head and schema -1, and the intent
     * `row` (of this branch) is open. E_EXISTS and E_NOTFOUND (table) with their resources. */
    int (*branch_begin)(struct store *st, struct ctx *cx, const struct intent_row *row,
                        const struct audit *au, int64_t *ret_id);
    /* Ends of such an intent; E_NOTFOUND when it or the branch is gone. branch_drop also ends the
     * drop of a branch: the row goes, its outcomes go with prune. `to` of branch_rename is what the intent
     * reserved. A name that comes back is another branch: once a table gave up the name of a branch, those
     * that get one begin in an epoch above 0, so that who names no base is sent back once. */
    int (*branch_made)(struct store *st, struct ctx *cx, const struct store_branch_in *in,
                       const struct head_row *head /* id 0: none */,
                       const struct schema_set *schema);
    int (*branch_drop)(struct store *st, struct ctx *cx, const struct store_branch_in *in);
    int (*branch_rename)(struct store *st, struct ctx *cx, const struct store_branch_in *in,
                         str to);
    int (*intents_open)(struct store *st, struct ctx *cx, struct intent_row **ret, size_t *ret_n);

    /* Totals of partitions. A commit's deltas are kept as they came (commit_record) and folded into rows
     * here, in the order of snapshots, each exactly once: sums, where a total below 0 is replaced; the
     * later file; the last bucket count. A partition whose three counts are not above 0 after a commit
     * that named it is gone. Stops after the commit that reaches rows_max changes, and before the
     * newest `keep` commits. rollback_finish forgets what was not folded above its target; if more was
     * folded, or a commit came without deltas, the totals are unknown until partitions_set. */
    int (*partitions_fold)(struct store *st, struct ctx *cx, str table_id, str branch, int64_t keep,
                           int64_t rows_max, enum partitions_are *ret); /* E_NOTFOUND */
    /* The totals are these, whatever was known before; nothing is left to fold. Rows that stay keep who
     * made them and `done`; those whose numbers stay are not touched; a row that is not named stays if
     * nobody ever measured it (all three counts below 0), else it goes. E_RACE, E_NOTFOUND. */
    int (*partitions_set)(struct store *st, struct ctx *cx, const struct store_partitions_set *in);
    /* Of what is folded. E_UNSUPPORTED when the totals are unknown. */
    int (*partitions_list)(struct store *st, struct ctx *cx, const struct store_partitions_in *in,
                           struct partition_row **ret, size_t *ret_n);
    /* Those of the n keys that are there, in the order of the keys. E_UNSUPPORTED as above. */
    int (*partitions_find)(struct store *st, struct ctx *cx, str table_id, str branch,
                           const str *keys, size_t n, struct partition_row **ret, size_t *ret_n);
    /* Makes those that are not there, every total -1; ret_there[i]: parts[i] was (also one that is
     * named twice). `strict`: any that is there is E_EXISTS and nothing is done. Then the n_stats
     * statistics, if all of them are of partitions that are there now; else none: `replace` sets each
     * member that is not below 0, else it is added (the later file); bucket counts stay. This and the
     * next two: E_UNSUPPORTED when the totals are unknown, E_RACE when not all is folded. */
    int (*partitions_create)(struct store *st, struct ctx *cx,
                             const struct store_partitions_change *in, bool strict,
                             const struct partition_delta *stats, size_t n_stats, bool replace,
                             bool *ret_there);
    /* `strict`: any that is not there is E_NOTFOUND and nothing is done. */
    int (*partitions_drop)(struct store *st, struct ctx *cx,
                           const struct store_partitions_change *in, bool strict, bool *ret_there);
    /* Sets `done` of each that is there; a key that ends in '/' stands for all that begin with it. */
    int (*partitions_mark)(struct store *st, struct ctx *cx,
                           const struct store_partitions_change *in);
    /* Folds what is older than the newest `keep` commits of branches that have more than twice as many
     * unfolded, and deletes what is left of branches that are gone: rows_max changes, roughly. */
    int (*partitions_tidy)(struct store *st, struct ctx *cx, int64_t keep, int64_t rows_max,
                           bool *ret_more);

    /* The conflict list of a branch. A row is found by its key: what was said before counts one more, is
     * said now in the new words, and keeps its id. A new one may push out the lowest ids. All rows of a
     * branch that is gone are gone, and one that is renamed takes its rows along. E_NOTFOUND: the table
     * or the branch. */
    int (*conflict_note)(struct store *st, struct ctx *cx, const struct store_conflict_in *in);
    int (*conflict_list)(struct store *st, struct ctx *cx, const struct store_conflicts_in *in,
                         struct conflict_row **ret, size_t *ret_n);
    int (*conflict_get)(struct store *st, struct ctx *cx, str table_id, str branch, int64_t id,
                        struct conflict_row *ret); /* E_NOTFOUND (CONFLICT) */

    int (*audit_add)(struct store *st, struct ctx *cx, const struct audit *au);
    int (*prune)(struct store *st, struct ctx *cx, const struct store_prune_in *in, bool *ret_more);
};
struct store {
    const struct store_ops *ops;
};
#define STORE(st, fn, ...) ((st)->ops->fn((st), ##__VA_ARGS__))

struct store_sqlite_opts {
    str path;                 /* the file; its directory exists, 0700-like */
    size_t queue_max;         /* transactions waiting for the writer */
    int64_t checkpoint_bytes; /* of WAL, after which the checkpoint thread folds it in */
};
struct store_counts { /* since start, for metrics */
    int64_t transactions, groups, group_max, checkpoints, failures;
    int64_t queue_waiting, wal_bytes;
};
/* Opens or makes the database; runs the migrations that are missing, after a backup beside it
 * (<path>.bak-<version>). E_UNSUPPORTED when a newer Latch wrote it. */
int store_sqlite_new(struct ctx *cx, const struct store_sqlite_opts *o,
                     struct store **ret) WARN_UNUSED;
void store_sqlite_counts(struct store *st, struct store_counts *ret);
int store_mem_new(struct ctx *cx, struct store **ret) WARN_UNUSED;

#endif
