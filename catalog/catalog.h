/* catalog.h - the catalog's public face: what the server may ask of state and decisions.
 *
 * Threads: functions marked (worker) may block on the disk or the store and are called from worker
 * threads; (strand) must run on the strand of the branch they name, they wait for writes only;
 * (any) never block. Errors come as negative codes with the record in cx; the codes that matter are
 * named. Strings given out live in cx's arena unless said otherwise. */
#ifndef LATCH_CATALOG_CATALOG_H
#define LATCH_CATALOG_CATALOG_H

#include "proto/base/ctx.h"
#include "proto/base/pool.h"
#include "proto/base/strand.h"
#include "catalog/conflict.h"
#include "catalog/store/store.h"
#include "manifest/io/io.h"

struct json;     /* proto/json/json.h */
struct api_stat; /* proto/api/api_partition.h */

enum commit_sync { SYNC_OFF, SYNC_METADATA, SYNC_ALL };

struct catalog_opts {
    struct store *store;     /* owned by the caller, outlives the catalog */
    struct pool *strands;    /* runs the strands */
    struct pool *loads;      /* reads what turns of strands miss */
    struct pool *background; /* purges */
    struct pool *syncs;      /* fsyncs side by side; NULL: one after another */
    size_t strand_max;       /* waiting changes a branch */
    size_t tables_max;       /* table handles kept in memory */
    enum commit_sync sync;
    str database_suffix;       /* ".db"; may be empty */
    const str *external_roots; /* directories outside the warehouses where tables may lie */
    size_t n_external_roots;
    unsigned dir_mode, file_mode;
    str group;
    str data_dir; /* whose disk the store fills; empty: not asked */
    int64_t disk_min_free_bytes;
    int64_t outcome_keep_ms, outcome_max; /* a branch */
    int64_t audit_keep_ms;
    size_t snapshot_max_bytes; /* of one snapshot file */
    enum verify_files verify;  /* of the data files that a commit adds */
    size_t state_memory;       /* of all states together, but for the one in use */
    size_t state_table_max;    /* of one; tables that need more are read through for each commit */
    str state_dir;             /* of the checkpoints of states; empty: none are kept */
    size_t state_keep_min;     /* bytes of a state that is worth one */
    int64_t state_keep_commits, state_keep_bytes; /* after so much change another one */
    int64_t history_snapshots;                    /* how many the rules look back */
    size_t state_gone_max;                        /* deleted files that one remembers */
    size_t facts_max_bytes;                       /* of what one commit says */
    bool upkeep_merge; /* many manifests are merged into fewer, by commits of our own */
    int64_t conflict_keep_ms, conflict_max; /* of a branch's conflict list */
    /* Opens a warehouse's root; NULL: io_local_new. Tests put another one in. */
    int (*open_root)(struct ctx *cx, const struct io_local_opts *o, struct io **ret);
};

struct catalog;
struct warehouse; /* immutable once loaded; lives as long as the catalog */
struct table;     /* a handle: one a table id in the process, reference counted */
struct branch;    /* lives in its table */
struct head;      /* immutable, reference counted: one state of a branch */

/* Counters since start, for /metrics. */
#define CAT_COUNTS(X)                                                                              \
    X(commits_true, "commits answered success:true for the first time")                            \
    X(commits_false, "commits answered success:false: the base had moved")                         \
    X(commits_replayed, "commits answered from their recorded outcome")                            \
    X(commits_refused, "commits refused with a reason")                                            \
    X(commits_failed, "commits that ended in an error")                                            \
    X(conflicts_lost, "conflicts that could not be put on their table's list")                     \
    X(adopted, "snapshot files adopted at catch-up")                                               \
    X(forked, "times a branch was found forked")                                                   \
    X(head_changed, "alarms: the head's file had other content than recorded")                     \
    X(believed, "heads of external tables that others took away: the newest on disk is the head")  \
    X(rollbacks, "rollbacks done")                                                                 \
    X(intents_resumed, "open intents finished at start or first use")                              \
    X(purged, "table directories deleted")                                                         \
    X(states_loaded, "states of branches read from their manifests")                               \
    X(states_restored, "states that came back from their checkpoint")                              \
    X(states_saved, "checkpoints of states written")                                               \
    X(states_evicted, "states that made room for others")                                          \
    X(states_streamed, "times the manifests of a table too large for a state were read through")   \
    X(merges_done, "snapshots that upkeep committed to merge manifests")                           \
    X(merges_given_up,                                                                             \
      "merges of manifests that came to nothing: the table had changed, or it failed")             \
    X(tables_loaded, "table handles loaded")                                                       \
    X(tables_evicted, "table handles evicted")                                                     \
    X(errors_after_create, "I/O errors between a snapshot's creation and its record")
struct cat_counts {
#define X(name, help) int64_t name;
    CAT_COUNTS(X)
#undef X
    int64_t tables_cached, branches_forked, states, state_bytes; /* now */
};

/* --- the whole -------------------------------------------------------------------------------- */
/* Loads tenants and warehouses, opens their roots, resumes open intents in the background. */
int catalog_open(struct ctx *cx, const struct catalog_opts *o, struct catalog **ret) WARN_UNUSED;
/* All strands idle, nothing of it in the background pool, no handle held outside. NULL is fine. */
void catalog_close(struct catalog *c);
void catalog_counts(struct catalog *c, struct cat_counts *ret); /* (any) */
int catalog_ready(struct ctx *cx, struct catalog *c)
    WARN_UNUSED; /* (worker) store, roots, disk: 0 or E_BUSY with what is wrong */
int catalog_prune(struct ctx *cx,
                  struct catalog *c) WARN_UNUSED; /* (worker) old outcomes, conflicts, audit rows */

/* --- who asks (authz.c) ----------------------------------------------------------------------- */
struct principal { /* immutable, lives as long as the catalog */
    int64_t id, tenant_id;
    const char *tenant, *name;
    int64_t token_expires_ms;
};
/* The principal of a bearer token, if it was seen before; NULL: ask cat_token_load. (any) */
const struct principal *cat_token_peek(struct catalog *c, str token);
int cat_token_load(struct ctx *cx, struct catalog *c, str token,
                   const struct principal **ret) WARN_UNUSED; /* (worker) E_UNAUTH */
/* First start: makes tenant, warehouse, principal and token, when the store is empty. */
int cat_bootstrap(struct ctx *cx, struct store *st, const struct store_bootstrap_in *in,
                  bool *ret_made) WARN_UNUSED;
void cat_token_hash(str token, uint8_t out[32]);

/* --- warehouses (tenant.c) -------------------------------------------------------------------- */
/* By prefix "<tenant>.<warehouse>"; NULL: none, or not this principal's. (any) */
const struct warehouse *cat_warehouse(struct catalog *c, const struct principal *who, str prefix);
/* By the `warehouse` option of a client: a name, taken as given or form-decoded once more; empty: the
 * tenant's only one, else the one called "default". E_NOTFOUND. (any) */
int cat_warehouse_find(struct ctx *cx, struct catalog *c, const struct principal *who, str name,
                       const struct warehouse **ret) WARN_UNUSED;
str warehouse_prefix(const struct warehouse *w);
str warehouse_name(const struct warehouse *w);
str warehouse_root(const struct warehouse *w);
str warehouse_options(const struct warehouse *w); /* a JSON object */

/* --- databases (database.c), all (worker) ----------------------------------------------------- */
struct database {
    struct db_row row;
    str location;
};
struct page_in {
    str after, prefix;
    bool exact;
    int64_t limit;
}; /* exact: `prefix` is the whole name */
int cat_db_create(struct ctx *cx, struct catalog *c, const struct warehouse *w, str name,
                  str options_json) WARN_UNUSED; /* E_EXISTS */
int cat_db_get(struct ctx *cx, struct catalog *c, const struct warehouse *w, str name,
               struct database *ret) WARN_UNUSED; /* E_NOTFOUND */
int cat_db_list(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                const struct page_in *in, str **ret, size_t *ret_n) WARN_UNUSED;
struct db_alter_out {
    str *removed, *updated, *missing;
    size_t n_removed, n_updated, n_missing;
};
int cat_db_alter(struct ctx *cx, struct catalog *c, const struct warehouse *w, str name,
                 const struct json *removals /* array of strings, or NULL */,
                 const struct json *updates /* object of strings, or NULL */,
                 struct db_alter_out *ret) WARN_UNUSED;
int cat_db_drop(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                str name) WARN_UNUSED; /* with all that is in it */

/* --- tables (table.c) ------------------------------------------------------------------------- */
struct table_info {
    struct table_row row; /* with the schema of the branch that was asked for */
    str path;
};
int cat_table_create(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
                     const struct json *schema)
    WARN_UNUSED; /* (worker) E_EXISTS, E_NOTFOUND, E_INVAL */
/* Takes in the table that is at `path`, with its snapshots, as an external one. E_INVAL also when
 * another table lies there. (worker) */
int cat_table_register(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db,
                       str name, str path) WARN_UNUSED;
/* `object` is "t" or "t$branch_b". (worker) E_NOTFOUND with DATABASE or TABLE. CAT_NEED: a branch that
 * must take a turn on its strand first (branch_head): a crash left it half made, or somebody else made
 * its directory. */
int cat_table_get(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str object,
                  struct table_info *ret) WARN_UNUSED;
int cat_table_by_id(struct ctx *cx, struct catalog *c, const struct warehouse *w, str id,
                    struct table_info *ret) WARN_UNUSED; /* (worker) */
int cat_table_rename(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
                     str to_db, str to_name) WARN_UNUSED; /* (worker) */

/* --- names of tables, views and functions (object.c), all (worker) ---------------------------- */
/* In all databases of the warehouse; in->warehouse_id is not looked at. */
int cat_find(struct ctx *cx, struct catalog *c, const struct warehouse *w,
             const struct store_find_in *in, struct name_pair **ret, size_t *ret_n) WARN_UNUSED;
/* In one database: E_NOTFOUND (DATABASE). type: of tables; empty: all. */
int cat_names(struct ctx *cx, struct catalog *c, const struct warehouse *w, enum object_kind kind,
              str db, const struct page_in *in, str type, str **ret, size_t *ret_n) WARN_UNUSED;

/* --- views and functions (view.c, function.c, object.c), all (worker) ------------------------- */
/* E_NOTFOUND with DATABASE, VIEW or FUNCTION. ret->json: a ViewSchema; of a function the members of
 * GetFunctionResponse that are not in the row. */
int cat_object_get(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                   enum object_kind kind, str db, str name, struct object_row *ret) WARN_UNUSED;
int cat_object_drop(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                    enum object_kind kind, str db, str name) WARN_UNUSED; /* E_NOTFOUND */
/* E_NOTFOUND (DATABASE); E_INVAL when the page is too large to be answered. */
int cat_object_details(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                       enum object_kind kind, str db, const struct page_in *in,
                       struct object_row **ret, size_t *ret_n) WARN_UNUSED;
/* E_EXISTS, E_NOTFOUND (DATABASE), E_INVAL, E_TOOBIG. */
int cat_view_create(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
                    const struct json *schema) WARN_UNUSED;
int cat_function_create(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db,
                        str name, const struct json *function) WARN_UNUSED;
/* `changes`: an array. E_NOTFOUND (also DIALECT, DEFINITION), E_EXISTS (these two), E_INVAL, E_TOOBIG,
 * E_BUSY: nothing was done. */
int cat_view_alter(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
                   const struct json *changes) WARN_UNUSED;
int cat_function_alter(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db,
                       str name, const struct json *changes) WARN_UNUSED;
int cat_view_rename(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
                    str to_db, str to_name) WARN_UNUSED; /* E_NOTFOUND, E_EXISTS */

/* --- branches: the way to everything that has an order (branch.c) ----------------------------- */
/* Finds or loads the handle of db.object and its branch; the reference is given back by branch_unref,
 * or at the end of cx's arena with branch_defer_unref. (worker) E_NOTFOUND */
int cat_branch_open(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db,
                    str object, struct branch **ret) WARN_UNUSED;
void branch_unref(struct branch *br); /* (any) */
int branch_defer_unref(struct ctx *cx,
                       struct branch *br) WARN_UNUSED; /* E_NOMEM: given back at once */
struct strand *branch_strand(struct branch *br);
/* Every function marked (strand) may answer E_NEED: nothing was done, it misses what must be read first.
 * Then call branch_gather on branch_loads, or when that did not help a few times on the strand itself, and
 * the function again. */
struct strand *branch_loads(struct branch *br);
/* Another number after each change of the head: a turn that missed something came further. (any) */
uint64_t branch_version(struct branch *br);
struct branch *branch_of_strand(struct strand *s); /* of its strand */
/* Reads what the last turn missed. Blocks as long as that takes, whatever cx's deadline is. */
int branch_gather(struct ctx *cx, struct branch *br) WARN_UNUSED;
/* The error to tell of a request to db.object: `rc`, or E_NOTFOUND if the table was dropped meanwhile;
 * whatever else went wrong is then a consequence (its files are gone). (any) */
int branch_error(struct ctx *cx, struct branch *br, str db, str object, int rc) WARN_UNUSED;

/* The head of a branch that is in memory and settled (no intent open, nothing to recover).
 * PEEK_HEAD: *ret has a reference; PEEK_EMPTY: no snapshot yet; PEEK_ASK: open it and go through the
 * strand (branch_head). (any) */
enum peek { PEEK_ASK, PEEK_EMPTY, PEEK_HEAD };
enum peek cat_head_peek(struct catalog *c, const struct warehouse *w, str db, str object,
                        struct head **ret);
/* The same, after catching up. *ret is NULL when there is no snapshot. (strand) */
int branch_head(struct ctx *cx, struct branch *br, struct head **ret) WARN_UNUSED;
void head_unref(struct head *h); /* (any), NULL is fine */
str head_body(
    const struct head *h); /* the finished body of GET snapshot; lives as long as the head */
/* A view the server builds from a head once and keeps with it (a prebuilt HTTP response). Returns the
 * one that won; a loser is freed with `free_view` at once, the winner with the head. (any) */
void *head_view(struct head *h);
void *head_set_view(struct head *h, void *view, void (*free_view)(void *));

/* --- changes ---------------------------------------------------------------------------------- */
struct commit_in {               /* strings stay alive until the commit is done */
    str table_id;                /* STR_NONE: not given */
    str base_uuid;               /* STR_NONE: null */
    const struct json *snapshot; /* the object as parsed; its raw text is what is kept */
};
struct commit;
enum { CAT_NEED = 1 }; /* go back to commit_prepare (worker), then run again */
/* 4a: everything that does not need the branch's order. May be called again after CAT_NEED. (worker) */
int commit_new(struct ctx *cx, struct branch *br, const struct commit_in *in,
               struct commit **ret) WARN_UNUSED;
int commit_prepare(struct ctx *cx, struct commit *cm) WARN_UNUSED;
/* Is it plain without any of that that the race is lost? Then the answer is false. Of many who commit
 * to one table most find this out, so it costs nothing: no I/O, no turn. (any) */
bool commit_lost(struct ctx *cx, struct commit *cm);
/* Steps 1 to 7. 0 with the answer, CAT_NEED, or an error: E_BUSY/E_TIMEOUT (nothing was done),
 * E_NOTFOUND, E_INVAL, E_CONFLICT (refused), E_UNKNOWN (it may have happened), E_IO. (strand) */
int commit_run(struct ctx *cx, struct commit *cm, bool *ret_success) WARN_UNUSED;

/* What is known of a branch's live files (state_report.c). */
struct state_report {
    int64_t snapshot_id, epoch;
    bool forked, in_memory; /* false: the table is too large, and nothing that follows is known */
    int64_t files, rows, size_bytes, partitions, buckets, manifests, index_files, vectors,
        memory_bytes;
    bool compared, equal; /* with what the manifests say */
    str differences;      /* lines */
};
struct state_check; /* in cx's arena */
int state_check_new(struct ctx *cx, struct branch *br, bool compare,
                    struct state_check **ret) WARN_UNUSED;
int state_check_prepare(struct ctx *cx, struct state_check *ck) WARN_UNUSED; /* (worker) */
/* CAT_NEED: back to state_check_prepare. (strand) */
int state_check_run(struct ctx *cx, struct state_check *ck, struct state_report *ret) WARN_UNUSED;

struct rollback_in {
    int64_t snapshot_id;
    str tag;
    int64_t from_snapshot;
}; /* tag.p NULL: by id; from 0: no guard */
int branch_rollback(struct ctx *cx, struct branch *br,
                    const struct rollback_in *in) WARN_UNUSED; /* (strand) */
int table_alter(struct ctx *cx, struct branch *br,
                const struct json *changes) WARN_UNUSED; /* (strand) */
/* Another table in the same place: a snapshot without files, then this schema as the next one. What was
 * there stays readable by its snapshots. E_UNSUPPORTED: other partition keys, or no table with snapshots of
 * its own. Phases as of a commit: replace_prepare, replace_run, again after CAT_NEED. */
struct replace; /* in cx's arena */
int replace_new(struct ctx *cx, struct branch *br, const struct json *schema,
                struct replace **ret) WARN_UNUSED;                   /* (worker) E_INVAL */
int replace_prepare(struct ctx *cx, struct replace *rp) WARN_UNUSED; /* (worker) */
int replace_run(struct ctx *cx, struct replace *rp) WARN_UNUSED;     /* (strand) */
/* Back to schema `target`. E_STATE: there is none, or a newer one is in use. (strand) */
int branch_rollback_schema(struct ctx *cx, struct branch *br, int64_t target) WARN_UNUSED;

/* --- branches as a whole (branch_create.c, branch_ddl.c, forward.c) ----------------------------- */
/* Names of the table's branches but main, sorted. (worker) */
int cat_branch_list(struct ctx *cx, struct branch *br, str **ret, size_t *ret_n) WARN_UNUSED;
/* The one that is about to be made: a reference, whether there is such a branch or not. (worker)
 * E_INVAL: no name for a branch; E_UNSUPPORTED: main is no table with branches. */
int cat_branch_new(struct ctx *cx, struct branch *main, str name, struct branch **ret) WARN_UNUSED;
/* tag.p NULL: without one. E_EXISTS (BRANCH), E_NOTFOUND (TAG). CAT_NEED: another branch has the name
 * by now, or had; ask cat_branch_new again. (strand of br) */
int branch_create(struct ctx *cx, struct branch *br, str tag) WARN_UNUSED;
int branch_settle(struct ctx *cx, struct branch *br) WARN_UNUSED; /* E_NOTFOUND (BRANCH) (strand) */
int branch_drop(struct ctx *cx, struct branch *br) WARN_UNUSED;   /* (strand of br) */
int branch_rename(struct ctx *cx, struct branch *br, str to) WARN_UNUSED; /* (strand of br) */
/* Main takes over the history of branch `from`. (strand of main) */
int branch_forward(struct ctx *cx, struct branch *main, str from) WARN_UNUSED;
/* Another branch of main's table, but not main itself; the reference is the caller's. (worker)
 * E_NOTFOUND (BRANCH) */
int cat_branch_of(struct ctx *cx, struct branch *main, str name, struct branch **ret) WARN_UNUSED;
/* Of the table that is still called db.name; db.p NULL: whatever its name is. (strand of main) */
int table_drop(struct ctx *cx, struct branch *br, str db, str name) WARN_UNUSED;

/* --- tags (tag.c) and consumers (consumer.c): files, which clients write, replace and delete as well - */
struct tag_create_in {
    str name;
    struct {
        bool has;
        int64_t v;
    } snapshot_id;     /* none: the head */
    str time_retained; /* a duration of Paimon's; STR_NONE: for ever */
};
struct tag_info {
    str snapshot_json;
    bool has_created;
    int64_t created_ms;
    str time_retained; /* STR_NONE: for ever */
};
/* E_EXISTS; E_NOTFOUND with SNAPSHOT; E_INVAL. (strand) */
int branch_tag_create(struct ctx *cx, struct branch *br,
                      const struct tag_create_in *in) WARN_UNUSED;
int branch_tag_delete(struct ctx *cx, struct branch *br,
                      str name) WARN_UNUSED; /* (strand) E_NOTFOUND with TAG */
int branch_tag_get(struct ctx *cx, struct branch *br, str name,
                   struct tag_info *ret) WARN_UNUSED; /* (worker) E_NOTFOUND with TAG, E_CORRUPT */
int branch_tag_names(struct ctx *cx, struct branch *br, const struct page_in *in, str **ret,
                     size_t *ret_n) WARN_UNUSED; /* (worker) names, damaged ones too */

struct consumer_info {
    str id;
    int64_t next_snapshot;
};
/* Those whose files can be read, by id. (worker) */
int branch_consumers(struct ctx *cx, struct branch *br, const struct page_in *in,
                     struct consumer_info **ret, size_t *ret_n) WARN_UNUSED;
/* The next snapshot it reads: one that is there, or the one to come (head + 1). Makes the consumer
 * if there is none. E_NOTFOUND with SNAPSHOT. (strand) */
int branch_consumer_reset(struct ctx *cx, struct branch *br, str id,
                          int64_t next_snapshot) WARN_UNUSED;
int branch_consumer_delete(struct ctx *cx, struct branch *br,
                           str id) WARN_UNUSED; /* gone already is fine (strand) */
/* --- partitions (partition.c) ----------------------------------------------------------------- */
/* All of them: E_UNSUPPORTED when the table does not keep them here or their totals cannot be known.
 * `specs` are arrays of objects of strings; one that does not have the table's partition keys is
 * E_INVAL. Rows come in descending order of keys; `after` of a page is a key. */
bool branch_has_commits(const struct branch *br); /* else it is never settled (any) */
/* CAT_NEED of these two: branch_partitions_count first, and then again in the same turn. (worker, or
 * strand) */
int branch_partitions(struct ctx *cx, struct branch *br, const struct page_in *in,
                      struct partition_row **ret, size_t *ret_n) WARN_UNUSED;
int branch_partitions_named(struct ctx *cx, struct branch *br, const struct json *specs,
                            struct partition_row **ret, size_t *ret_n) WARN_UNUSED;
/* Counts the live files if the totals are not known. (strand) */
int branch_partitions_count(struct ctx *cx, struct branch *br) WARN_UNUSED;
struct partitions_create_in {
    const struct json *specs;
    bool strict;                  /* one that is there already is E_EXISTS, and none is made */
    const struct api_stat *stats; /* taken if all are of partitions that are there then */
    size_t n_stats;
    bool replace;
};
/* ret_there: for each spec, was it there? (strand) */
int branch_partitions_create(struct ctx *cx, struct branch *br,
                             const struct partitions_create_in *in, bool *ret_there) WARN_UNUSED;
/* strict: one that is not there is E_NOTFOUND (RES_PARTITION), and none is dropped. No file is
 * touched. (strand) */
int branch_partitions_drop(struct ctx *cx, struct branch *br, const struct json *specs, bool strict,
                           bool *ret_there) WARN_UNUSED;
/* A spec with the first keys only stands for all partitions below it. (strand) */
int branch_partitions_mark(struct ctx *cx, struct branch *br, const struct json *specs) WARN_UNUSED;

/* --- snapshots that are files (snapshots.c), (worker) ----------------------------------------- */
/* JSON texts of the snapshots below `below` (0: from the newest), newest first. */
int branch_snapshots(struct ctx *cx, struct branch *br, int64_t below, int64_t limit, str **ret,
                     int64_t **ret_ids, size_t *ret_n) WARN_UNUSED;
/* version: EARLIEST, LATEST, an id, or a tag's name. E_NOTFOUND with SNAPSHOT. */
int branch_snapshot_at(struct ctx *cx, struct branch *br, str version, str *ret_json) WARN_UNUSED;

#endif
