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
#include "catalog/outcome.h"
#include "manifest/io/io.h"
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

struct catalog {
    struct catalog_opts o;
    char *suffix, *group, *data_dir;
    _Atomic int64_t space_at_ms, space_bytes; /* of data_dir: what statvfs said last, and when */
    struct warehouse **warehouses;            /* fixed after catalog_open */
    size_t n_warehouses;
    struct map by_prefix; /* -> warehouse; fixed after catalog_open */

    pthread_rwlock_t mu;      /* guards what follows */
    struct map by_name;       /* key of table_key() -> table */
    struct map by_id;         /* table id -> table */
    struct table *clock_hand; /* ring of all handles, for eviction */
    uint64_t ddl_seq;         /* goes up with every change of a name: see table_load() */
    size_t n_tables;

    pthread_rwlock_t tokens_mu;
    struct map tokens; /* 32-byte hash -> struct token_entry */

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
    atomic_bool schema_behind; /* there may be a schema file that the store does not know */
    char *id, *dir;            /* immutable */
    struct table_name *name;   /* catalog.mu; the newest of a list of all it had */
    int n_names;               /* catalog.mu; old ones in that list */
    struct table *ring_next, *ring_prev; /* catalog.mu */
    _Atomic int64_t used_ms;
    pthread_mutex_t mu;
    struct branch *branches; /* guarded by mu; entries live as long as the table */
};

/* Who a file is: it changed when one of these did. */
struct file_id {
    uint64_t ino;
    int64_t size, ctime_ns;
};

struct head {
    atomic_int refs;
    int64_t id, schema_id, total_records, recorded_ms;
    struct totals totals;
    uint8_t key[OUTCOME_KEY_LEN]; /* what its commit is known by */
    str uuid, json, body, base_list, delta_list, index_manifest, statistics; /* in `mem` */
    _Atomic(void *) view;
    void (*free_view)(void *);
    char mem[];
};

struct branch {
    struct table *table;
    struct branch *next; /* table.mu */
    char *name;          /* immutable */
    struct strand strand;

    pthread_mutex_t mu;
    struct head *head; /* mu for reading elsewhere; written on the strand */
    bool settled;      /* mu; loaded, caught up once, no intent open: head may be shown at once */

    _Atomic int64_t epoch; /* written on the strand */
    /* strand: */
    bool loaded;
    int64_t intent_id; /* open intent of this branch, 0: none */
    char *intent_kind, *intent_args;
    struct file_id file; /* of the head's file, as it was seen last */
    bool forked;    /* snapshot files say something else than we do; no change until that ends */
    char *fork_why; /* NULL on no memory */
    struct commit_pending *pending; /* created, not recorded */
    struct outcome_ring recent;     /* what was recorded since it was loaded */
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
int schema_load(struct ctx *cx, struct warehouse *w,
                struct table_row *row); /* adopts newer schema files */
void table_names(struct table *t, str *ret_db,
                 str *ret_name); /* as they are now; live as long as the handle */
int table_branch(struct ctx *cx, struct table *t, str branch,
                 struct branch **ret); /* borrowed from t */

void branch_forget_users(struct branch *br);

/* --- head.c --- */
/* From the parsed snapshot and its own text; NULL: no memory. One reference. */
struct head *head_new(struct ctx *cx, const struct snapshot *s, const struct totals *t,
                      int64_t recorded_ms);
struct head *head_ref(struct head *h);
void head_row_fill(const struct head *h, const struct file_id *f, struct head_row *ret);
void branch_publish(struct branch *br,
                    struct head *h);     /* takes h over; shown at once from now on */
void branch_unsettle(struct branch *br); /* readers must ask the strand */

/* --- branch.c (strand) --- */
/* Start of every turn: not dropped, loaded, pending record made, intent finished, caught up. A forked
 * branch passes; a change then asks branch_may_change. */
int branch_enter(struct ctx *cx, struct branch *br) WARN_UNUSED;
int branch_may_change(struct ctx *cx, struct branch *br) WARN_UNUSED; /* E_BUSY when forked */
int branch_gone(struct ctx *cx, struct branch *br); /* the 404 of a dropped table */
int branch_set_intent(struct branch *br, int64_t id, str kind, str args); /* E_NOMEM; id 0 clears */
/* The store may hold something else than we do: the next turn reads the branch again. */
void branch_forget(struct branch *br);
str branch_object(struct ctx *cx, struct branch *br); /* "db.t" or "db.t$branch_b", for messages */

/* --- catchup.c (strand; snapshot_load: any thread that may block) --- */
int branch_catch_up(struct ctx *cx, struct branch *br) WARN_UNUSED;
/* Is there a file schema-<schema_id>? (any thread that may block) */
int branch_schema_known(struct ctx *cx, struct branch *br, int64_t schema_id,
                        bool *ret) WARN_UNUSED;
/* Reads snapshot-<id>; the struct points into cx's arena. E_NOTFOUND, E_CORRUPT. */
int snapshot_load(struct ctx *cx, struct branch *br, int64_t id, struct snapshot *ret) WARN_UNUSED;
void branch_file_seen(struct ctx *cx, struct branch *br,
                      int64_t id); /* the head's file is snapshot-<id> as it is now */
struct file_id file_id_of(const struct io_stat *st);
bool file_id_eq(const struct file_id *a, const struct file_id *b);

/* --- record.c (strand) --- */
struct commit_pending { /* a snapshot that is a file and not in the store yet */
    struct head *head;  /* a reference */
    int64_t expect_head_id;
    bool unsure; /* the file may not be on disk, or not be there at all; readers are not shown it */
    char *action, *tenant, *principal, *request_id, *detail;
};
struct commit_pending *pending_new(struct ctx *cx, const char *action, const struct snapshot *s,
                                   const struct totals *t, int64_t expect_head_id);
void pending_free(struct commit_pending *p);
/* Step 6. Takes p over: on failure it stays as br->pending and is tried again at the next turn. */
int branch_record(struct ctx *cx, struct branch *br, struct commit_pending *p) WARN_UNUSED;
int branch_record_pending(struct ctx *cx,
                          struct branch *br) WARN_UNUSED; /* E_BUSY while it cannot */
/* An I/O error after a snapshot was created. The second within a minute ends the process, so that
 * recovery runs. */
void after_create_failed(struct ctx *cx, struct branch *br);
void branch_hint(struct ctx *cx, struct branch *br); /* LATEST := the head, best effort */

/* --- snapshots.c ------------------------------------------------------------------------------ */
/* The snapshot of a tag; `raw` is the tag's own text, until snapshot_trim gives it the text of a
 * snapshot file, without the members that only tags have. E_NOTFOUND (RES_TAG). */
int tag_load(struct ctx *cx, struct branch *br, str tag, struct snapshot *ret) WARN_UNUSED;
int snapshot_trim(struct ctx *cx, struct snapshot *s) WARN_UNUSED;
struct ids { /* in the context's arena */
    int64_t *at;
    size_t n;
};
/* The ids of the files of a folder, above < id <= up_to, newest first. A folder that is not there is
 * empty. (any thread that may block) */
int branch_ids(struct ctx *cx, struct branch *br, str dir, bool (*parse)(str, int64_t *),
               int64_t above, int64_t up_to, struct ids *ret) WARN_UNUSED;

/* --- rollback.c, purge.c, intent.c --- */
int intent_finish(struct ctx *cx,
                  struct branch *br) WARN_UNUSED; /* the open one of this branch (strand) */
int rollback_finish(struct ctx *cx, struct branch *br) WARN_UNUSED;
int purge_post(struct catalog *c, const struct intent_row *in) WARN_UNUSED; /* in the background */
int intents_resume(struct ctx *cx, struct catalog *c) WARN_UNUSED;

#endif
