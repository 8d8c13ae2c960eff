/* store_mem_int.h - what the files of store_mem share: its lists, and how a row owns its texts.
 *
 *   store_mem.c         life, texts, audit, the first tenant
 *   store_mem_table.c   databases, tables, directories
 *   store_mem_object.c  views, functions, names of every kind
 *   store_mem_branch.c  branches, outcomes, intents, prune
 *   store_mem_ref.c     branches made, dropped, renamed
 *   store_mem_partition.c  totals of partitions
 *   store_mem_conflict.c  conflict lists */
#ifndef LATCH_CATALOG_STORE_STORE_MEM_INT_H
#define LATCH_CATALOG_STORE_STORE_MEM_INT_H

#include <pthread.h>

#include "catalog/store/store.h"
#include "proto/base/assert.h"
#include "proto/base/hash.h"
#include "proto/base/mem.h"

struct m_db {
    struct m_db *next;
    void *texts;
    struct db_row row;
};
struct m_part {
    void *texts;
    struct partition_row row;
};
struct m_deltas { /* of one commit, with all texts in one block */
    struct m_deltas *next;
    int64_t id, at_ms;
    str by;
    size_t n;
    struct partition_delta at[];
};
struct m_parts {
    int64_t folded;       /* as folded_id of the SQLite store */
    struct m_part *rows;  /* by key */
    struct m_deltas *log; /* oldest first */
    size_t n;
};
struct m_conflict {
    struct m_conflict *next;
    void *texts;
    uint8_t key[CONFLICT_KEY_LEN];
    struct conflict_row row;
};
struct m_branch {
    struct m_branch *next;
    char *name;
    int64_t epoch;
    int64_t schema_id; /* -1: none yet */
    char *schema_json;
    void *texts; /* of head */
    struct head_row head;
    struct outcome *outcomes; /* by snapshot id */
    size_t n, cap;
    struct m_parts parts;
    struct m_conflict *conflicts; /* highest id first */
};
struct m_table {
    struct m_table *next;
    void *texts;
    struct table_row row; /* db_id and db_name are taken from `db`, the schema from main */
    struct m_db *db;
    struct m_branch *branches; /* main is the last */
    int64_t names_gone;        /* of branches that were dropped or renamed */
};
struct m_object { /* a view or a function */
    struct m_object *next;
    void *texts;
    struct object_row row; /* db_name is taken from `db` */
    struct m_db *db;
};
struct m_intent {
    struct m_intent *next;
    void *texts;
    struct intent_row row;
};
struct m_audit {
    struct m_audit *next;
    int64_t at_ms;
};
struct m_dir {
    int64_t next; /* number to try for this name */
    size_t len;
    char key[]; /* "warehouse id/dir" */
};
struct store_mem {
    struct store base; /* first */
    pthread_mutex_t mu;
    bool set_up;
    void *texts; /* of the next two */
    struct warehouse_row warehouse;
    struct principal_row principal;
    uint8_t token_hash[32];
    struct m_db *dbs;
    struct m_table *tables;
    struct m_object *objects;
    struct m_intent *intents; /* by id */
    struct m_audit *audits;   /* newest first */
    struct map dirs;          /* struct m_dir */
    int64_t last_intent, last_conflict;
};

/* The fields of a row that are texts. */
#define STAMP_TEXTS(s) &(s)->owner, &(s)->created_by, &(s)->updated_by
#define DB_TEXTS(r)                                                                                \
    ((str *[]){&(r)->id, &(r)->name, &(r)->dir, &(r)->options_json, STAMP_TEXTS(&(r)->stamp), NULL})
#define OBJECT_TEXTS(r)                                                                            \
    ((str *[]){&(r)->id, &(r)->db_name, &(r)->name, &(r)->json, STAMP_TEXTS(&(r)->stamp), NULL})
#define TABLE_TEXTS(r)                                                                             \
    ((str *[]){&(r)->id, &(r)->db_id, &(r)->db_name, &(r)->name, &(r)->dir, &(r)->external,        \
               &(r)->schema_json, &(r)->type, STAMP_TEXTS(&(r)->stamp), NULL})
#define HEAD_TEXTS(r) ((str *[]){&(r)->uuid, &(r)->json, NULL})
#define INTENT_TEXTS(r)                                                                            \
    ((str *[]){&(r)->table_id, &(r)->branch, &(r)->kind, &(r)->args_json, &(r)->reserves, NULL})
#define CONFLICT_TEXTS(r)                                                                          \
    ((str *[]){&(r)->code, &(r)->principal, &(r)->commit_user, &(r)->kind, &(r)->partition,        \
               &(r)->file, &(r)->other_user, &(r)->message, NULL})
#define SETUP_TEXTS(s)                                                                             \
    ((str *[]){&(s)->warehouse.tenant, &(s)->warehouse.name, &(s)->warehouse.root,                 \
               &(s)->warehouse.options_json, &(s)->principal.tenant, &(s)->principal.name, NULL})

/* --- store_mem.c ------------------------------------------------------------------------------ */

/* Copies the texts into a block of their own and points the fields there. */
int sm_own(struct ctx *cx, str **fields, void **ret_block) WARN_UNUSED;
/* The same in cx's arena, for a row that is given out. */
int sm_lend(struct ctx *cx, str **fields) WARN_UNUSED;
void sm_freep(void *p);
#define FREE CLEANUP(sm_freep)

struct store_mem *sm_lock(struct store *st);
void sm_unlock(struct store_mem **s);
#define LOCKED(st) CLEANUP(sm_unlock) struct store_mem *s = sm_lock(st)

/* Makes the row (none when there is nothing to say: *ret stays), and, when nothing can fail any
 * more, puts it in its place. */
int sm_audit_new(struct ctx *cx, const struct audit *au, struct m_audit **ret) WARN_UNUSED;
void sm_audit_link(struct store_mem *s, struct m_audit **au);
int sm_want_warehouse(struct store_mem *s, struct ctx *cx, int64_t id) WARN_UNUSED;

/* --- store_mem_table.c ------------------------------------------------------------------------ */

void sm_db_free(struct m_db **db);
struct m_db *sm_db_named(struct store_mem *s, int64_t warehouse_id, str name); /* NULL: none */
int sm_db_gone(struct ctx *cx, str name);                                      /* the 404 */
int sm_db_by_id(struct store_mem *s, struct ctx *cx, str id, struct m_db **ret);
int sm_table_find(struct store_mem *s, struct ctx *cx, str id, struct m_table **ret) WARN_UNUSED;
void sm_table_unlink(struct store_mem *s, struct m_table *t); /* it is gone after this */
void sm_dirs_free(struct map *dirs);

/* What a change of a branch's schema changes in the table's own row, in two steps: the first may
 * fail, the second takes its row over. */
struct m_altered {
    struct table_row row;
    void *texts;
};
int sm_table_altered(struct ctx *cx, const struct m_table *t, str branch,
                     const struct schema_set *to, struct m_altered *ret) WARN_UNUSED;
void sm_table_altered_put(struct m_table *t, struct m_altered *a);

/* --- store_mem_object.c ----------------------------------------------------------------------- */

void sm_objects_unlink(struct store_mem *s, const struct m_db *db); /* NULL: all */
/* --- store_mem_partition.c -------------------------------------------------------------------- */

void sm_parts_free(struct m_parts *p);
/* A commit's deltas to be kept, NULL when it has none; then, when nothing can fail any more, what
 * becomes of the totals. */
int sm_deltas_new(struct ctx *cx, const struct store_commit_in *in,
                  struct m_deltas **ret) WARN_UNUSED;
void sm_parts_commit(struct m_parts *p, int64_t old_head, const struct store_commit_in *in,
                     struct m_deltas **d);
void sm_parts_cut(struct m_parts *p, int64_t upto_id);

/* --- store_mem_conflict.c --------------------------------------------------------------------- */

void sm_conflicts_free(struct m_branch *b);
/* Too old ones and too many of a branch go, at most *left; true: there are more. */
bool sm_conflicts_prune(struct m_branch *b, const struct store_prune_in *in, int64_t *left);

/* --- store_mem_branch.c ----------------------------------------------------------------------- */

void sm_intent_free(struct m_intent **in);
#define FREE_INTENT CLEANUP(sm_intent_free)
int sm_intent_of_dir(struct ctx *cx, const struct intent_row *row, str dir,
                     struct m_intent **ret) WARN_UNUSED; /* with args {"dir":dir} */
int64_t sm_intent_link(struct store_mem *s, struct m_intent **in);
void sm_intent_unlink(struct m_intent **at);
struct m_intent **sm_intent_find(struct store_mem *s, int64_t id); /* NULL: none */
int sm_intent_new(struct ctx *cx, const struct intent_row *row, struct m_intent **ret) WARN_UNUSED;
int sm_branch_new(struct ctx *cx, str name, struct m_branch **ret) WARN_UNUSED;
void sm_branch_free(struct m_branch **b);
struct m_branch **sm_branch_at(struct m_table *t, str name); /* NULL: none */
/* E_EXISTS when a branch of this table has the name, or an open intent holds it. */
int sm_branch_name_free(struct store_mem *s, struct ctx *cx, str table_id, str name) WARN_UNUSED;
int sm_branch_find(struct store_mem *s, struct ctx *cx, str table_id, str branch,
                   struct m_branch **ret) WARN_UNUSED;
int sm_branch_expect(struct ctx *cx, const struct m_branch *b, str name, int64_t epoch,
                     int64_t head_id) WARN_UNUSED; /* E_RACE */
/* The open intent `id` of this branch. E_NOTFOUND */
int sm_intent_of(struct store_mem *s, struct ctx *cx, int64_t id, str table_id, str branch,
                 struct m_intent ***ret) WARN_UNUSED;
int sm_head_set(struct ctx *cx, struct m_branch *b, const struct head_row *head) WARN_UNUSED;

/* --- the operations, for the table in store_mem.c --------------------------------------------- */

int sm_audit_add(struct store *st, struct ctx *cx, const struct audit *au);
int sm_intent_finish(struct store *st, struct ctx *cx, int64_t id);
int sm_intents_open(struct store *st, struct ctx *cx, struct intent_row **ret, size_t *ret_n);
int sm_ping(struct store *st, struct ctx *cx);
int sm_bootstrap(struct store *st, struct ctx *cx, const struct store_bootstrap_in *in);
int sm_is_empty(struct store *st, struct ctx *cx, bool *ret);
int sm_warehouses(struct store *st, struct ctx *cx, struct warehouse_row **ret, size_t *ret_n);
int sm_token_find(struct store *st, struct ctx *cx, const uint8_t hash[32],
                  struct principal_row *ret);
int sm_db_create(struct store *st, struct ctx *cx, const struct db_row *in, const struct audit *au);
int sm_db_get(struct store *st, struct ctx *cx, int64_t warehouse_id, str name, struct db_row *ret);
int sm_db_alter(struct store *st, struct ctx *cx, str db_id, str expect_options_json,
                str options_json, int64_t now_ms, str by, const struct audit *au);
int sm_db_list(struct store *st, struct ctx *cx, int64_t warehouse_id,
               const struct store_list_in *in, str **ret, size_t *ret_n);
int sm_table_get(struct store *st, struct ctx *cx, int64_t warehouse_id, str db_name, str name,
                 struct table_row *ret);
int sm_table_by_id(struct store *st, struct ctx *cx, int64_t warehouse_id, str id,
                   struct table_row *ret);
int sm_table_create(struct store *st, struct ctx *cx, const struct table_row *in, int64_t intent_id,
                    const struct head_row *head, const struct audit *au);
int sm_table_place(struct store *st, struct ctx *cx, const struct table_row *in);
int sm_table_rename(struct store *st, struct ctx *cx, const struct table_named *named,
                    int64_t warehouse_id, str to_db, str to_name, int64_t now_ms, str by,
                    const struct audit *au);
int sm_table_alter(struct store *st, struct ctx *cx, str id, str branch, int64_t expect_schema_id,
                   const struct schema_set *to, const struct audit *au);
int sm_table_claim(struct store *st, struct ctx *cx, int64_t warehouse_id, str base, int64_t now_ms,
                   str *ret_dir, int64_t *ret_intent);
int sm_table_drop(struct store *st, struct ctx *cx, const struct table_named *named, int64_t now_ms,
                  const struct audit *au, struct intent_row *ret);
int sm_db_drop(struct store *st, struct ctx *cx, str db_id, int64_t now_ms, const struct audit *au,
               struct intent_row **ret, size_t *ret_n);
int sm_find(struct store *st, struct ctx *cx, const struct store_find_in *in,
            struct name_pair **ret, size_t *ret_n);
int sm_object_create(struct store *st, struct ctx *cx, const struct object_row *in,
                     const struct audit *au);
int sm_object_get(struct store *st, struct ctx *cx, int64_t warehouse_id, enum object_kind kind,
                  str db, str name, struct object_row *ret);
int sm_object_list(struct store *st, struct ctx *cx, const struct store_objects_in *in,
                   struct object_row **ret, size_t *ret_n);
int sm_object_alter(struct store *st, struct ctx *cx, enum object_kind kind, str id,
                    str expect_json, str json, int64_t now_ms, str by, const struct audit *au);
int sm_object_rename(struct store *st, struct ctx *cx, const struct store_object_rename_in *in,
                     const struct audit *au);
int sm_object_drop(struct store *st, struct ctx *cx, int64_t warehouse_id, enum object_kind kind,
                   str db, str name, const struct audit *au);
int sm_branch_get(struct store *st, struct ctx *cx, str table_id, str branch,
                  struct branch_row *ret);
int sm_commit_record(struct store *st, struct ctx *cx, const struct store_commit_in *in);
int sm_outcome_find(struct store *st, struct ctx *cx, str table_id, str branch,
                    const uint8_t key[OUTCOME_KEY_LEN], struct outcome *ret);
int sm_outcome_of(struct store *st, struct ctx *cx, str table_id, str branch, int64_t snapshot_id,
                  struct outcome *ret);
int sm_intent_begin(struct store *st, struct ctx *cx, const struct store_intent_in *in,
                    int64_t *ret_id, int64_t *ret_epoch);
int sm_history_finish(struct store *st, struct ctx *cx, const struct store_history_in *in);
int sm_branch_begin(struct store *st, struct ctx *cx, const struct intent_row *row,
                    const struct audit *au, int64_t *ret_id);
int sm_branch_made(struct store *st, struct ctx *cx, const struct store_branch_in *in,
                   const struct head_row *head, const struct schema_set *schema);
int sm_branch_drop(struct store *st, struct ctx *cx, const struct store_branch_in *in);
int sm_branch_rename(struct store *st, struct ctx *cx, const struct store_branch_in *in, str to);
int sm_prune(struct store *st, struct ctx *cx, const struct store_prune_in *in, bool *ret_more);
int sm_partitions_fold(struct store *st, struct ctx *cx, str table_id, str branch, int64_t keep,
                       int64_t rows_max, enum partitions_are *ret);
int sm_partitions_set(struct store *st, struct ctx *cx, const struct store_partitions_set *in);
int sm_partitions_list(struct store *st, struct ctx *cx, const struct store_partitions_in *in,
                       struct partition_row **ret, size_t *ret_n);
int sm_partitions_find(struct store *st, struct ctx *cx, str table_id, str branch, const str *keys,
                       size_t n, struct partition_row **ret, size_t *ret_n);
int sm_partitions_create(struct store *st, struct ctx *cx, const struct store_partitions_change *in,
                         bool strict, const struct partition_delta *stats, size_t n_stats,
                         bool replace, bool *ret_there);
int sm_partitions_drop(struct store *st, struct ctx *cx, const struct store_partitions_change *in,
                       bool strict, bool *ret_there);
int sm_partitions_mark(struct store *st, struct ctx *cx, const struct store_partitions_change *in);
int sm_partitions_tidy(struct store *st, struct ctx *cx, int64_t keep, int64_t rows_max,
                       bool *ret_more);
int sm_conflict_note(struct store *st, struct ctx *cx, const struct store_conflict_in *in);
int sm_conflict_list(struct store *st, struct ctx *cx, const struct store_conflicts_in *in,
                     struct conflict_row **ret, size_t *ret_n);
int sm_conflict_get(struct store *st, struct ctx *cx, str table_id, str branch, int64_t id,
                    struct conflict_row *ret);

#endif
