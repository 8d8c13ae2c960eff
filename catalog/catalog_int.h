/* catalog_int.h - what only catalog/ (and its tests) may see: handles, branches, heads.
 *
 * Locks, in the order they may be taken:
 *   catalog.mu (rwlock: the maps) < table.mu (its list of branches) < branch.mu (its published head)
 * and catalog.tokens_mu, a leaf. None is held across I/O or the store.
 * Fields marked "strand" belong to whoever runs on the branch's strand; no lock guards them. */
#ifndef LATCH_CATALOG_CATALOG_INT_H
#define LATCH_CATALOG_CATALOG_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "catalog/catalog.h"
#include "catalog/commit_facts.h"
#include "catalog/outcome.h"
#include "catalog/table_traits.h"
#include "manifest/io/io.h"
#include "manifest/schema.h"
#include "manifest/snapshot.h"
#include "proto/base/hash.h"

struct warehouse {
    struct catalog *cat;
    int64_t id, tenant_id;
    char *tenant, *name, *prefix, *root, *options;
    struct io *io;
    _Atomic int64_t space_at_ms, space_bytes; /* what statvfs said last, and when */
    atomic_int names_changing; /* renames and drops that are under way: see table.c */
};

struct ext_root { /* of warehouse.external-roots */
    char *path;
    struct io *io;
};

struct catalog {
    struct catalog_opts o;
    char *suffix, *group, *data_dir, *state_dir;
    _Atomic int64_t space_at_ms, space_bytes; /* of data_dir: what statvfs said last, and when */
    struct warehouse **warehouses;            /* fixed after catalog_open */
    size_t n_warehouses;
    struct map by_prefix;   /* -> warehouse; fixed after catalog_open */
    struct ext_root *roots; /* fixed after catalog_open */
    size_t n_roots;

    pthread_rwlock_t mu;      /* guards what follows */
    struct map by_name;       /* key of table_key() -> table */
    struct map by_id;         /* table id -> table */
    struct table *clock_hand; /* ring of all handles, for eviction */
    uint64_t ddl_seq;         /* goes up with every change of a name: see table_load() */
    size_t n_tables;

    pthread_rwlock_t tokens_mu;
    struct map tokens; /* 32-byte hash -> struct token_entry */

    struct states {
        pthread_mutex_t mu;
        struct branch *newest, *oldest; /* by when they were used */
        size_t n, bytes;
    } states;

    struct conflict_notes *conflicts;     /* see conflict_list.c */
    _Atomic int64_t n_forked;             /* branches, of handles in memory */
    _Atomic int64_t last_after_create_ms; /* see commit_after_create_failed() */
#define X(name, help) _Atomic int64_t name;
    struct {
        CAT_COUNTS(X)
    } n;
#undef X
};
#define TOTALS_UNKNOWN   ((const struct totals){-1, -1, -1})
#define COUNT(cat, what) atomic_fetch_add_explicit(&(cat)->n.what, 1, memory_order_relaxed)

/* A name of a table. Kept until the handle is freed, since readers may hold an old one. */
struct table_name {
    struct table_name *older;
    str key, db, name; /* key: see table_key(); all point into mem */
    char mem[];
};

struct table {
    struct catalog *cat;
    struct warehouse *wh;
    atomic_int refs;  /* one is the catalog's while it is in the maps; one a queued strand turn */
    atomic_bool dead; /* dropped */
    char *id, *dir;   /* immutable; dir is below the root that `io` opens */
    struct io *io;    /* borrowed from the warehouse or an external root */
    bool external;    /* clients commit to its files without asking us */
    bool managed;     /* has schema and snapshot files, so it can be committed to */
    struct table_name *name;             /* catalog.mu; the newest of a list of all it had */
    int n_names;                         /* catalog.mu; old ones in that list */
    struct table *ring_next, *ring_prev; /* catalog.mu */
    _Atomic int64_t used_ms;
    pthread_mutex_t mu;
    struct branch *branches; /* guarded by mu; main is the first and stays */
};

/* Who a file is: it changed when one of these did. */
struct file_id {
    uint64_t ino;
    int64_t size, ctime_ns;
};

struct head {
    atomic_int refs;
    int64_t id, schema_id, total_records, recorded_ms;
    uint64_t text; /* hash of json; see head_text */
    struct totals totals;
    uint8_t key[OUTCOME_KEY_LEN]; /* what its commit is known by */
    str uuid, json, body, base_list, delta_list, index_manifest, statistics; /* in `mem` */
    _Atomic(void *) view;
    void (*free_view)(void *);
    char mem[];
};

struct branch {
    struct table *table;
    struct branch *next;         /* table.mu */
    int refs;                    /* table.mu; each also holds one on the table */
    char *name;                  /* immutable */
    struct strand strand, loads; /* its changes; what is read for them, one at a time */
    atomic_bool gone;          /* dropped or renamed: never found again, freed with the last ref */
    atomic_bool schema_behind; /* there may be a schema file that the store does not know */

    pthread_mutex_t mu;
    struct head *head; /* mu for reading elsewhere; written on the strand */
    bool settled;      /* mu; loaded, caught up once, no intent open: head may be shown at once */
    struct table_traits *traits; /* mu; NULL: not read yet */
    uint64_t traits_no;          /* mu; goes up whenever they are forgotten */
    struct arrival *arrival;     /* mu; what was read off the strand, see branch_state.c */
    /* catalog.states.mu: */
    struct branch *newer, *older; /* among the branches with a state */
    size_t state_bytes;           /* 0: not among them */
    bool evicting;                /* the task below is on its way */
    struct strand_task evict;

    _Atomic int64_t epoch;       /* written on the strand */
    _Atomic uint64_t state_text; /* what `state` is at; 0: none. Written on the strand */
    _Atomic uint64_t
        lists_text; /* of the head that `lists` are of; 0: none. Written on the strand */
    atomic_bool
        next_dead; /* what follows the head is judged by all that its base list deletes, too */
    atomic_bool streaming; /* too large for a state; written on the strand */
    /* strand: */
    bool loaded;
    int64_t intent_id; /* open intent of this branch, 0: none */
    char *intent_kind, *intent_args;
    struct file_id file; /* of the head's file, as it was seen last */
    bool forked;    /* snapshot files say something else than we do; no change until that ends */
    char *fork_why; /* NULL on no memory */
    struct commit_pending *pending;   /* created, not recorded */
    struct outcome_ring recent;       /* what was recorded since it was loaded */
    struct table_state *state;        /* see branch_state.c; NULL: none */
    uint64_t kept_text;               /* what its checkpoint is of; 0: not known */
    int64_t kept_commits, kept_bytes; /* since then */
    atomic_bool keeping;              /* a checkpoint is being written (any) */
    _Atomic int64_t merge_after_ms;   /* no merge of manifests before (any) */
    atomic_bool merging;              /* one is under way (any) */
    struct head_lists *lists;         /* see head_lists.h; NULL: none */
    struct map users; /* commit users answered in this epoch, by hash; keys are owned */
};

/* --- catalog.c, tenant.c, authz.c --- */
int warehouses_load(struct ctx *cx, struct catalog *c) WARN_UNUSED;
void warehouses_free(struct catalog *c);
void tokens_free(struct catalog *c);
void tables_free(struct catalog *c); /* table.c; nobody holds a handle */
int warehouse_space(
    struct ctx *cx,
    struct warehouse *w); /* 0, or E_BUSY: below disk.min-free. Blocks at most once a second */
/* The answer of a listing that asked for one whole name: it, if it is a hit. (database.c) */
int list_one(struct ctx *cx, bool hit, str name, str **ret, size_t *ret_n) WARN_UNUSED;
void stamp_now(struct ctx *cx, struct stamp *s); /* of what is made now (database.c) */
struct warehouse *warehouse_by_id(struct catalog *c, int64_t id);
void audit_fill(struct ctx *cx, struct audit *au, const char *action, const struct warehouse *w,
                str db, str object);

/* --- table.c --- */
#define TABLE_KEY_MAX (8 + 2 * 256)
size_t table_key(char out[TABLE_KEY_MAX], const struct warehouse *w, str db,
                 str name); /* 0: too long */
bool object_split(
    str object, str *ret_name,
    str *ret_branch); /* "t$branch_b" -> t, b; "t" -> t, main; false: a system table */
int table_open(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db, str name,
               struct table **ret); /* E_NOTFOUND; a reference */
int table_open_by_id(struct ctx *cx, struct catalog *c, struct warehouse *w, str id,
                     struct table **ret);
void table_unref(struct table *t);
/* A change of names in the store goes between these two: until the second, names are asked of the
 * store. names_changed forgets the name of the table `id` (of a drop, table_forget_id did);
 * STR_NONE: all names, since nobody knows which. */
void names_change(struct warehouse *w);
void names_changed(struct catalog *c, struct warehouse *w, str id);
void table_forget_id(struct catalog *c, str id); /* dropped: dead, out of the maps */
void table_names(struct table *t, str *ret_db,
                 str *ret_name); /* as they are now; live as long as the handle */
/* The branch of this name that the store or the directory knows; the reference, given back with
 * branch_unref, holds t too. E_NOTFOUND (RES_BRANCH) */
int table_branch(struct ctx *cx, struct table *t, str branch, struct branch **ret) WARN_UNUSED;
/* The same, without asking whether there is one: for whoever is about to make it. */
int table_branch_make(struct ctx *cx, struct table *t, str branch, struct branch **ret) WARN_UNUSED;
void table_branch_gone(struct branch *br); /* from now on another one has its name */
/* For table.c: not yet in the list, NULL on no memory; the one in the list with a reference, or NULL. */
struct branch *table_branch_new(struct table *t, str name);
struct branch *table_branch_find(struct table *t, str name);
void table_branch_free(struct branch *br);

void branch_forget_users(struct branch *br);

/* --- place.c ---------------------------------------------------------------------------------- */
struct place {
    struct io *io; /* borrowed, lives as long as the catalog */
    str dir;       /* below it */
    str path;      /* absolute; not of a table's own row when the server chose the directory */
    bool in_warehouse;
};
int places_open(struct ctx *cx, struct catalog *c) WARN_UNUSED;
void places_close(struct catalog *c);
/* Where an external table may lie that a client wants at `text`. E_INVAL */
int place_find(struct ctx *cx, const struct warehouse *w, str text, struct place *ret) WARN_UNUSED;
/* Where a table lies. E_BUSY: its external root is not configured any more. */
int place_of(struct ctx *cx, const struct warehouse *w, const struct table_row *row,
             struct place *ret) WARN_UNUSED;
/* Which root an absolute path of a data file is in, and what it is there; false: in none. */
bool place_io(const struct warehouse *w, str path, struct io **ret_io, str *ret_path);

/* --- schema_file.c (any thread that may block) ------------------------------------------------- */
/* The schema files of one branch, and what the store says about it. */
struct schema_at {
    const struct warehouse *w;
    struct io *io;
    str dir, branch;        /* where the files are */
    str table_id, db, name; /* for the store, the audit and messages */
    int64_t id;             /* in force, as the store says; -1: none yet */
    str json;
};
str type_of(const struct schema *s); /* option `type`, "table" when not given */
bool type_managed(str type);         /* has schema and snapshot files that the server writes */
int schema_text(struct ctx *cx, const struct schema *s, str *ret) WARN_UNUSED;
int schema_put(struct ctx *cx, const struct schema_at *at, const struct table_schema *ts,
               enum io_put_result *ret) WARN_UNUSED;
/* Reads schema-<id>. 1: it is there, 0: not. */
int schema_read(struct ctx *cx, const struct schema_at *at, int64_t id,
                struct table_schema *ret) WARN_UNUSED;
/* The newest schema file. 1: there is one, 0: not. */
int schema_newest(struct ctx *cx, const struct schema_at *at, struct table_schema *ret) WARN_UNUSED;
/* Adopts files that are newer than what the store says; `at` follows. */
int schema_catch_up(struct ctx *cx, struct schema_at *at) WARN_UNUSED;
/* The same for who only reads: a file that cannot be read keeps nobody from reading the table. */
int schema_load(struct ctx *cx, struct schema_at *at) WARN_UNUSED;
void schema_of_row(const struct warehouse *w, const struct place *pl, const struct table_row *row,
                   struct schema_at *ret); /* of main */
/* Of a branch, as the store says now. E_NOTFOUND */
int schema_of_branch(struct ctx *cx, struct branch *br, struct schema_at *ret) WARN_UNUSED;

/* --- table_ddl.c, table_external.c -------------------------------------------------------------- */
int table_name_check(struct ctx *cx, str name) WARN_UNUSED; /* of a new table; E_INVAL */
/* From the Schema of a request. Tables whose files are the clients' own have any schema; the others must be
 * such that clients can open them, which a type that Paimon does not know is not. */
int table_schema_accept(struct ctx *cx, const struct json *j, struct schema *ret) WARN_UNUSED;
int table_name_free(struct ctx *cx, struct catalog *c, const struct warehouse *w, str db,
                    str name) WARN_UNUSED; /* E_EXISTS */
/* A new row, but for where it lies and the id of its schema. */
int table_row_fill(struct ctx *cx, const struct warehouse *w, const struct db_row *db, str name,
                   const struct schema *s, struct table_row *ret) WARN_UNUSED;
int table_create_external(struct ctx *cx, struct catalog *c, const struct warehouse *w,
                          const struct db_row *db, str name, const struct schema *s) WARN_UNUSED;

/* --- import.c --------------------------------------------------------------------------------- */
/* What a directory that somebody else filled has as its newest snapshot: ret->id 0 when it has none.
 * E_CORRUPT when it cannot be told. (any thread that may block) */
int head_import(struct ctx *cx, const struct catalog *c, struct io *io, str dir, str branch,
                struct head_row *ret) WARN_UNUSED;

/* --- head.c --- */
/* From the parsed snapshot and its own text; NULL: no memory. One reference. */
struct head *head_new(struct ctx *cx, const struct snapshot *s, const struct totals *t,
                      int64_t recorded_ms);
struct head *head_ref(struct head *h);
void head_row_fill(const struct head *h, const struct file_id *f, struct head_row *ret);
void branch_publish(struct branch *br,
                    struct head *h); /* takes h over; shown at once from now on */
/* The head's own totals become these. Best effort. (strand) */
void branch_head_totals(struct branch *br, const struct totals *t);
void branch_unsettle(struct branch *br); /* readers must ask the strand */

/* A hash of the head's text, never 0: states and what is read off the strand are of one text. */
uint64_t head_text(const struct head *h);
uint64_t text_of(str snapshot_json);
struct head *head_peek(struct branch *br); /* with a reference; NULL: none (any thread) */

/* --- branch_state.c --------------------------------------------------------------------------- */
/* With a reference. (any thread that may block) */
int branch_traits(struct ctx *cx, struct branch *br, struct table_traits **ret) WARN_UNUSED;
/* What states and facts of this branch are made with; `known_index` is not set. They borrow from t. */
struct state_opts branch_state_opts(const struct branch *br, const struct table_traits *t);
struct facts_opts branch_facts_opts(const struct branch *br, const struct table_traits *t);
void branch_traits_forget(struct branch *br); /* the schema changed */
/* The live files at the head, after branch_enter. E_NEED; E_CORRUPT: its own files are damaged (a
 * message for people). STATE_STREAM: it is too large to be held. (strand) */
enum { STATE_STREAM = 1 };
int branch_state(struct ctx *cx, struct branch *br, struct table_state **ret) WARN_UNUSED;
/* The state goes forward to the head that was just published, by what its commit says; when that fails
 * it is dropped, and loaded again when it is needed. (strand) */
void branch_state_forward(struct ctx *cx, struct branch *br, const struct commit_facts *f);
/* The totals of the head, if they are not known (of a rollback, imported, forwarded), from its state. (strand) */
void branch_state_count(struct branch *br);
void branch_state_drop(struct branch *br); /* (strand, or nobody holds it) */
/* What was read of the snapshot after the head, whose text is `text`; false: read it first (E_NEED). Both
 * are the caller's; *ret_partial is NULL unless the table is too large for a state. (strand) */
bool branch_next_take(struct branch *br, uint64_t text, struct commit_facts **ret,
                      struct table_state **ret_partial);
/* For a table that is too large: what is live at `h` of the files that `f` is about. Reads all manifests.
 * (any thread that may block) */
int branch_state_for(struct ctx *cx, struct branch *br, const struct head *h,
                     const struct commit_facts *f, struct table_state **ret) WARN_UNUSED;
void arrival_free(struct arrival *a); /* NULL is fine */
/* Where the files that this branch's snapshots name are. */
struct meta_dir branch_meta_dir(struct branch *br);

/* --- state_keep.c ------------------------------------------------------------------------------ */
int states_dir_make(struct ctx *cx, struct catalog *c) WARN_UNUSED;
/* The state went forward by so many bytes: is it time for a checkpoint? (strand) */
void state_keep(struct branch *br, size_t change);
void state_keep_now(struct branch *br); /* it is about to go; blocks (strand, or nobody holds it) */
/* The state at `h` from its checkpoint and what came after; false: read the manifests. Blocks. */
bool state_come_back(struct branch *br, const struct head *h, const struct state_opts *o,
                     struct table_state **ret);
void state_unkeep(struct branch *br); /* there is no such branch any more */
void states_tidy(struct catalog *c);  /* checkpoints of tables that are gone. Blocks */

/* --- states.c --------------------------------------------------------------------------------- */
void states_init(struct catalog *c);
void states_close(struct catalog *c);
void states_touch(struct branch *br);  /* it has a state and used it: others make room (strand) */
void states_remove(struct branch *br); /* it has none any more */
/* A reference, unless it is about to be freed. For states.c (table_branch.c) */
bool branch_try_ref(struct branch *br);
void branch_ref(struct branch *br); /* by who has one (table_branch.c) */

/* --- branch.c (strand) --- */
#define BRANCH_STAGE                                                                               \
    ".latch-" /* folders beside the branches' where one is put together or taken apart */
/* Start of every turn: not dropped, loaded, pending record made, intent finished, caught up. A forked
 * branch passes; a change then asks branch_may_change. */
int branch_enter(struct ctx *cx, struct branch *br) WARN_UNUSED;
int branch_may_change(struct ctx *cx, struct branch *br) WARN_UNUSED; /* E_BUSY when forked */
int branch_gone(struct ctx *cx, struct branch *br); /* the 404 of a dropped table */
int branch_set_intent(struct branch *br, int64_t id, str kind, str args); /* E_NOMEM; id 0 clears */
/* The store may hold something else than we do: the next turn reads the branch again. */
void branch_forget(struct branch *br);
/* As clients ask for it: "t" or "t$branch_b". The name of the resource in errors. */
str branch_object(struct ctx *cx, struct branch *br);
str branch_full_name(struct ctx *cx, struct branch *br); /* "db.t$branch_b", for messages */

/* --- catchup.c (strand; snapshot_load: any thread that may block) --- */
int branch_catch_up(struct ctx *cx, struct branch *br) WARN_UNUSED;
/* The schemas that a commit names, one answer each, in the context's arena. (any thread that may block) */
int branch_schemas_seen(struct ctx *cx, struct branch *br, const struct commit_facts *f,
                        enum schema_seen **ret) WARN_UNUSED;
/* Is there a file schema-<schema_id>? (any thread that may block) */
int branch_schema_known(struct ctx *cx, struct branch *br, int64_t schema_id,
                        bool *ret) WARN_UNUSED;
/* Reads snapshot-<id>; the struct points into cx's arena. E_NOTFOUND, E_CORRUPT. */
int snapshot_load(struct ctx *cx, struct branch *br, int64_t id, struct snapshot *ret) WARN_UNUSED;
void branch_file_seen(struct ctx *cx, struct branch *br,
                      int64_t id); /* the head's file is snapshot-<id> as it is now */
struct file_id file_id_of(const struct io_stat *st);
bool file_id_eq(const struct file_id *a, const struct file_id *b);

/* --- believe.c (strand) --- */
/* The head's file is gone or another: the newest snapshot on disk becomes the head. 1: it is; 0: none can
 * be, *ret_why says why. E_UNKNOWN: it is begun. */
int branch_believe(struct ctx *cx, struct branch *br, str *ret_why) WARN_UNUSED;

/* --- record.c (strand) --- */
struct commit_pending { /* a snapshot that is a file and not in the store yet */
    struct head *head;  /* a reference */
    int64_t expect_head_id;
    struct partition_delta *deltas; /* NULL: not known */
    size_t n_deltas;
    bool unsure; /* the file may not be on disk, or not be there at all; readers are not shown it */
    char *action, *tenant, *principal, *request_id, *detail;
};
struct commit_pending *pending_new(struct ctx *cx, const char *action, const struct snapshot *s,
                                   const struct totals *t, int64_t expect_head_id);
void pending_free(struct commit_pending *p);
/* Gives it what the commit did to partitions, by copy. E_NOMEM */
int pending_keep(struct commit_pending *p, const struct partition_delta *d, size_t n) WARN_UNUSED;
/* Step 6. Takes p over: on failure it stays as br->pending and is tried again at the next turn. */
int branch_record(struct ctx *cx, struct branch *br, struct commit_pending *p) WARN_UNUSED;
int branch_record_pending(struct ctx *cx,
                          struct branch *br) WARN_UNUSED; /* E_BUSY while it cannot */
/* An I/O error after a snapshot was created. The second within a minute ends the process, so that
 * recovery runs. */
void after_create_failed(struct ctx *cx, struct branch *br);
void branch_hint(struct ctx *cx, struct branch *br); /* LATEST := the head, best effort */

/* --- partition_key.c -------------------------------------------------------------------------- */
#define PARTITION_KEY_MAX 4096 /* bytes; a path has no more */
/* Appends column i of a partition's key. */
void partition_key_add(struct buf *key, size_t i, str name, str value);
/* The same for the text of a pattern, which is of names as they are. */
void partition_key_pattern(struct buf *key, str text);

/* --- facts_totals.c (strand) ------------------------------------------------------------------ */
/* Puts into p what the commit does to its partitions, if the table keeps totals. */
int commit_deltas(struct ctx *cx, struct branch *br, const struct commit_facts *f,
                  struct commit_pending *p) WARN_UNUSED;
/* What each partition has that has live files: ascending, each name once. E_UNSUPPORTED, E_TOOBIG: one
 * has no name. */
int state_sums(struct ctx *cx, const struct table_traits *t, const struct table_state *st,
               struct partition_delta **ret, size_t *ret_n) WARN_UNUSED;
/* Of the branch with the commit on top of its head, before the head moves. */
struct totals totals_after(struct branch *br, const struct commit_facts *f);
struct totals totals_of_state(const struct table_state *st);

/* --- partition.c ------------------------------------------------------------------------------ */
int partitions_tidy(struct ctx *cx, struct catalog *c) WARN_UNUSED;

/* --- snapshots.c ------------------------------------------------------------------------------ */
int branch_no_snapshot(struct ctx *cx, struct branch *br, int64_t id); /* the 404 */
/* Gives `raw` of a tag's snapshot the text of a snapshot file, without the members of a tag. */
int snapshot_trim(struct ctx *cx, struct snapshot *s) WARN_UNUSED;

/* --- folder.c --------------------------------------------------------------------------------- */
/* Whatever is in a folder. One that is not there is empty, in all of these. (any thread that may
 * block) */
int branch_files(struct ctx *cx, struct branch *br, str folder, struct io_entry **ret,
                 size_t *ret_n) WARN_UNUSED;
struct ids { /* in the context's arena */
    int64_t *at;
    size_t n;
};
/* The ids of the files of a folder, above < id <= up_to, newest first. A folder that is not there is
 * empty. (any thread that may block) */
int branch_ids(struct ctx *cx, struct branch *br, str folder, bool (*parse)(str, int64_t *),
               int64_t above, int64_t up_to, struct ids *ret) WARN_UNUSED;
/* The names of a folder's files, as `parse` takes them off the file names: a page, ascending. A
 * folder that is not there is empty. Names that are no UTF-8 cannot be asked for and are left out.
 * (any thread that may block) */
int branch_names(struct ctx *cx, struct branch *br, str folder, bool (*parse)(str, str *),
                 const struct page_in *in, str **ret, size_t *ret_n) WARN_UNUSED;

/* --- tag.c ------------------------------------------------------------------------------------ */
/* The snapshot of a tag; `raw` is the tag's own text, until snapshot_trim gives it the text of a
 * snapshot file, without the members that only tags have. E_NOTFOUND (RES_TAG). */
int tag_load(struct ctx *cx, struct branch *br, str tag, struct snapshot *ret) WARN_UNUSED;
struct tag_at {
    str name;
    int64_t id, schema_id; /* of the snapshot that it names */
};
struct tags { /* in the context's arena */
    struct tag_at *at;
    size_t n;
};
/* All tag files that can be read. They are read one by one with memory of their own: however many and
 * large they are, an intent that looks at them can be finished. (any thread that may block) */
int branch_tags(struct ctx *cx, struct branch *br, struct tags *ret) WARN_UNUSED;
/* A row for a change that is a file and needs no other row. Best effort: the change is done. */
void branch_audit(struct ctx *cx, struct branch *br, const char *action, str detail);

/* --- rollback.c, history.c, branch_ddl.c, forward.c, purge.c, intent.c --- */
int intent_finish(struct ctx *cx,
                  struct branch *br) WARN_UNUSED; /* the open one of this branch (strand) */
/* Writes down what is about to be done to a branch and keeps readers away until it is (strand).
 * bump_epoch: its history is rewritten. reserves: a name of a branch (STR_NONE: none). */
int intent_write(struct ctx *cx, struct branch *br, const char *kind, str args, bool bump_epoch,
                 str reserves, const char *action) WARN_UNUSED;
/* The open intent ends as if it had not begun; the error of before is forgotten. */
int intent_give_up(struct ctx *cx, struct branch *br) WARN_UNUSED;
/* After intent_write: runs the steps of the open intent; a failure is E_UNKNOWN, since the next turn
 * goes on with it. */
int intent_carry_out(struct ctx *cx, struct branch *br) WARN_UNUSED;
int intent_args(struct ctx *cx, struct branch *br, const struct json **ret) WARN_UNUSED;
int rollback_finish(struct ctx *cx, struct branch *br) WARN_UNUSED;
int schema_rollback_finish(struct ctx *cx, struct branch *br) WARN_UNUSED;
int branch_create_finish(struct ctx *cx, struct branch *br) WARN_UNUSED;
int branch_drop_finish(struct ctx *cx, struct branch *br) WARN_UNUSED;
int branch_rename_finish(struct ctx *cx, struct branch *br) WARN_UNUSED;
int forward_finish(struct ctx *cx, struct branch *br) WARN_UNUSED;
int replace_finish(struct ctx *cx, struct branch *br) WARN_UNUSED;
int believe_finish(struct ctx *cx, struct branch *br) WARN_UNUSED;
/* Files of a branch above an id (history.c); each can be repeated. */
int history_delete_snapshots(struct ctx *cx, struct branch *br, int64_t above) WARN_UNUSED;
int history_delete_changelogs(struct ctx *cx, struct branch *br, int64_t above) WARN_UNUSED;
int history_delete_tags(struct ctx *cx, struct branch *br, int64_t above) WARN_UNUSED;
int history_hint(struct ctx *cx, struct branch *br, str path, int64_t id) WARN_UNUSED;
int history_sync(struct ctx *cx, struct branch *br) WARN_UNUSED; /* what was deleted stays so */
/* The end of an intent: head (NULL: it stays; with these totals, NULL: those recorded for it) and schema
 * (NULL: it stays) from now on, outcomes above forget_above forgotten. */
int history_apply(struct ctx *cx, struct branch *br, const struct snapshot *head,
                  const struct totals *tot, int64_t forget_above, const struct schema_set *schema,
                  const char *action) WARN_UNUSED;
int purge_post(struct catalog *c, const struct intent_row *in) WARN_UNUSED; /* in the background */
int intents_resume(struct ctx *cx, struct catalog *c) WARN_UNUSED;

/* --- branch_ddl.c ------------------------------------------------------------------------------ */
int branch_name_check(struct ctx *cx, str name) WARN_UNUSED; /* E_INVAL */
int branch_missing(struct ctx *cx, str name);                /* the 404 of a branch */
int branch_exists(struct ctx *cx, str name);                 /* the 409 */
str branch_root(struct ctx *cx, struct branch *br); /* its directory; STR_NONE on no memory */
/* The end of an intent after which there is no such branch. (strand) */
int branch_unmade(struct ctx *cx, struct branch *br, const char *action) WARN_UNUSED;

/* --- stage.c ---------------------------------------------------------------------------------- */
int stage_path(struct ctx *cx, struct table *t, str name, str *ret) WARN_UNUSED;
int stage_args(struct ctx *cx, str *ret_name,
               str *ret_args) WARN_UNUSED; /* {"stage":name}, a new one */
/* Of the open intent; STR_NONE when it has none. */
int stage_of_intent(struct ctx *cx, struct branch *br, str *ret) WARN_UNUSED;
struct staged { /* files that were written and are not durable yet */
    str *paths;
    size_t n, cap;
};
int stage_room(struct ctx *cx, struct staged *st, size_t n) WARN_UNUSED;
int stage_put(struct ctx *cx, struct io *io, struct staged *st, str dir, str file,
              str data) WARN_UNUSED;
int stage_copy(struct ctx *cx, struct io *io, struct staged *st, str from_dir, str file,
               str to_dir) WARN_UNUSED;

#endif
