/* conflict.c - the rules, one function each, in the order in which they are asked.
 *
 * The first refusal is the answer. A rule that lacks evidence notes what it needs and passes; when no
 * rule refuses and something is needed, the answer is NEED. So a commit that is wrong for a reason that
 * is known is refused at once, and all that is missing is asked for at once.
 *
 * Every rule walks the entries of the commit, never those of the state.
 *
 * Thread rule: the branch's strand. Pure. */
#include "catalog/conflict_int.h"

#include <stdlib.h>

#include "proto/base/assert.h"
#include "proto/base/hash.h"

#define REDO     "nothing was committed: read the latest snapshot and do this again from there"
#define REWRITE  "nothing was committed: write the metadata of this commit again"
#define NEW_NAME "nothing was committed: write the data under new file names and commit those"

/* --- restores --------------------------------------------------------------------------------- */

/* Sums of a table that was wrong before may hold what its manifests come to beyond the live files. */
static bool ends_as_kept(struct check *c)
{
    if (c->ev->restore.assumed)
        return true;
    struct state_info info = state_info(c->st);
    uint64_t sum = info.live_sum;
    for (size_t i = 0; i < c->f->n_entries; i++)
        sum += c->f->entries[i].added ? c->f->entries[i].f.id : -c->f->entries[i].f.id;
    for (size_t i = 0; i < c->ev->restore.n; i++)
        if (c->ev->restore.v[i] == sum || c->ev->restore.v[i] == sum + info.left_over)
            return true;
    return false;
}

/* Asked where a rule would refuse what a restore may do: most overwrites are none, and looking for what
 * one may be a restore of takes long, so only then it is asked for. */
static bool restore_may(struct check *c)
{
    if (c->f->kind != COMMIT_OVERWRITE)
        return false;
    if (!c->ev->restore.known) {
        c->v->need.restore = true;
        return true;
    }
    if (c->restore == UNASKED)
        c->restore = ends_as_kept(c) ? RESTORE : NO_RESTORE;
    return c->restore == RESTORE;
}

/* --- manifests -------------------------------------------------------------------------------- */

static int rule_manifests_whole(struct check *c)
{
    if (!c->f->bad.p)
        return PASS;
    return refuse(c, CONFLICT_MANIFEST_BAD, NULL, NULL, REWRITE, "%.*s", (int)c->f->bad.len,
                  c->f->bad.p);
}

/* Expiry replays a delta by path: an ADD before the DELETE of its name would end in a deleted file. */
static int rule_delta_order(struct check *c)
{
    for (size_t i = 0; i < c->f->n_entries; i++) {
        const struct fact *e = &c->f->entries[i];
        if (e->fault == FAULT_ORDER)
            return refuse(c, CONFLICT_MANIFEST_BAD, &e->f, NULL, REWRITE,
                          "the delta list %s adds \"%s\" before it deletes it, so that the "
                          "next expiry of snapshots would remove the live file",
                          shown(c, c->f->delta_list), shown(c, e->f.name));
    }
    return PASS;
}

static int need_manifest(struct check *c, size_t i)
{
    struct need *n = &c->v->need;
    if (!c->asked) {
        c->asked = ARENA_ARRAY(&c->cx->arena, bool, c->f->n_base);
        n->manifests = ARENA_ARRAY(&c->cx->arena, size_t, c->f->n_base);
        if (!c->asked || !n->manifests)
            return ctx_nomem(c->cx);
    }
    if (!c->asked[i])
        ((size_t *)n->manifests)[n->n_manifests++] = i;
    c->asked[i] = true;
    return PASS;
}

/* A manifest of the base list that was read may not delete what is live, though its sum be right. */
static int base_deletes_live(struct check *c)
{
    struct state_view v;
    for (size_t i = 0; i < c->f->n_dead; i++) {
        const struct fact_dead *d = &c->f->dead[i];
        if (state_find(c->st, &d->f, &v))
            return refuse(c, CONFLICT_MANIFEST_BAD, &d->f, &v.f, REDO,
                          "the manifest %s of the base list deletes \"%s\", which is live",
                          shown(c, c->f->base[d->manifest].name), shown(c, d->f.name));
    }
    return PASS;
}

static int base_differs(struct check *c, int64_t net)
{
    struct state_info info = state_info(c->st);
    if (c->f->n_base == 0)
        return refuse(c, CONFLICT_MANIFEST_BAD, NULL, NULL, REDO,
                      "its base list %s is empty, but %zu data files are live in snapshot %lld",
                      shown(c, c->f->base_list), info.files, (long long)info.snapshot_id);
    return refuse(c, CONFLICT_MANIFEST_BAD, NULL, NULL, REDO,
                  "its base list %s does not come to the live files of snapshot %lld: %lld files "
                  "when its manifests' entries are added up, %zu are live; a live file or an "
                  "outstanding deletion of a manifest that it leaves out is in no other, or one is "
                  "there that should not be",
                  shown(c, c->f->base_list), (long long)info.snapshot_id, (long long)net,
                  info.files);
}

/* Base list, net, is exactly the live files. */
static int rule_base_list(struct check *c)
{
    uint64_t sum = 0, net = 0;
    for (size_t i = 0; i < c->f->n_base; i++) {
        const struct fact_manifest *m = &c->f->base[i];
        struct state_manifest known;
        bool there = state_manifest(c->st, m->name, &known);
        if (there &&
            (known.size != m->size || known.added != m->added || known.deleted != m->deleted))
            return refuse(c, CONFLICT_MANIFEST_BAD, NULL, NULL, REWRITE,
                          "its base list %s says something else of the manifest %s than the "
                          "list before it",
                          shown(c, c->f->base_list), shown(c, m->name));
        if (!there && !m->read)
            TRY(need_manifest(c, i));
        sum += there ? known.sum : m->sum;
        net += (uint64_t)m->added - (uint64_t)m->deleted;
    }
    struct state_info info = state_info(c->st);
    if (c->v->need.n_manifests)
        return PASS;
    if (sum != info.live_sum && sum != info.live_sum + info.left_over)
        return base_differs(c, (int64_t)net);
    return base_deletes_live(c);
}

static int rule_index_known(struct check *c)
{
    str head = index_set_name(state_index(c->st));
    c->v->need.index = !c->f->index && !str_eq(c->f->index_name, head);
    return PASS;
}

/* --- files ------------------------------------------------------------------------------------ */

/* The commit that deleted a file of this name, or this very file, if it is remembered. */
static const struct table_file *who_deleted(struct check *c, const struct table_file *f,
                                            struct state_view *v)
{
    struct state_gone g;
    if (!state_find_gone(c->st, f->partition, f->bucket, f->name, &g) &&
        !state_find_deleted(c->st, f, &g))
        return NULL;
    v->f = *f;
    v->f.snapshot = g.user.p ? g.snapshot : 0;
    v->f.user = g.user;
    return &v->f;
}

static int gone(struct check *c, const struct fact *e)
{
    struct state_view v;
    if (e->fault == FAULT_GONE_TWICE)
        return refuse(c, CONFLICT_FILE_GONE, &e->f, NULL, REWRITE, "it deletes \"%s\" twice",
                      shown(c, e->f.name));
    if (!state_find_name(c->st, e->f.partition, e->f.bucket, e->f.name, &v))
        return refuse(c, CONFLICT_FILE_GONE, &e->f, who_deleted(c, &e->f, &v), REDO,
                      "it deletes \"%s\" (level %d), which is no longer live in snapshot %lld: "
                      "another commit has replaced or deleted it since this writer read the table",
                      shown(c, e->f.name), e->f.level, (long long)state_info(c->st).snapshot_id);
    if (v.f.level != e->f.level)
        return refuse(c, CONFLICT_FILE_GONE, &e->f, &v.f, REDO,
                      "it deletes \"%s\" at level %d, but another commit has moved it to level "
                      "%d",
                      shown(c, e->f.name), e->f.level, v.f.level);
    return refuse(c, CONFLICT_FILE_GONE, &e->f, &v.f, REWRITE,
                  "it deletes \"%s\", but with other extra files, embedded index, external path "
                  "or first row id than the live file of this name has",
                  shown(c, e->f.name));
}

static int rule_file_gone(struct check *c)
{
    struct state_view v;
    for (size_t i = 0; i < c->f->n_entries; i++) {
        const struct fact *e = &c->f->entries[i];
        if (!e->added && (e->fault == FAULT_GONE_TWICE || !state_find(c->st, &e->f, &v)))
            return gone(c, e);
    }
    return PASS;
}

static int twice_in_itself(struct check *c, const struct fact *e)
{
    if (e->fault == FAULT_ADD_TWICE)
        return refuse(c, CONFLICT_FILE_TWICE, &e->f, NULL, REWRITE, "it adds \"%s\" twice",
                      shown(c, e->f.name));
    if (e->fault == FAULT_SAME_AGAIN)
        return refuse(c, CONFLICT_FILE_TWICE, &e->f, NULL, REWRITE,
                      "it deletes \"%s\" and adds it again at the same level, which readers "
                      "take for deleted",
                      shown(c, e->f.name));
    return refuse(c, CONFLICT_FILE_TWICE, &e->f, NULL, NEW_NAME,
                  "it deletes \"%s\" and adds a file of this name with another size or number "
                  "of rows",
                  shown(c, e->f.name));
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = (*(const struct fact_dead *const *)a)->f.id;
    uint64_t y = (*(const struct fact_dead *const *)b)->f.id;
    return x < y ? -1 : x > y;
}

static int look_at_dead(struct check *c)
{
    const struct commit_facts *f = c->f;
    c->dead_seen = SEEN;
    for (size_t i = 0; i < f->n_base; i++) {
        if (f->base[i].read || f->base[i].deleted == 0)
            continue;
        c->dead_seen = MISSING;
        TRY(need_manifest(c, i));
    }
    if (c->dead_seen == MISSING)
        return PASS;
    c->dead = ARENA_ARRAY(&c->cx->arena, const struct fact_dead *, f->n_dead + 1);
    if (!c->dead)
        return ctx_nomem(c->cx);
    for (size_t i = 0; i < f->n_dead; i++)
        c->dead[i] = &f->dead[i];
    qsort(c->dead, f->n_dead, sizeof *c->dead, by_id);
    return PASS;
}

/* Readers take a file for deleted that any manifest deletes, whatever adds it again. Asked of files that are
 * known to have been deleted: then all manifests of the base list that delete anything are read. */
static int deleted_for_readers(struct check *c, const struct table_file *f,
                               const struct table_file *gone)
{
    struct fact_dead key = {.f.id = f->id};
    const struct fact_dead *k = &key, **found = NULL;
    if (c->dead_seen == UNSEEN)
        TRY(look_at_dead(c));
    if (c->dead_seen == SEEN && c->f->n_dead)
        found = bsearch(&k, c->dead, c->f->n_dead, sizeof *c->dead, by_id);
    if (!found)
        return PASS;
    return refuse(c, CONFLICT_FILE_TWICE, f, gone, REWRITE,
                  "it adds \"%s\" at level %d again, but the manifest %s of its base list "
                  "deletes it there, so that readers take it for deleted",
                  shown(c, f->name), f->level, shown(c, c->f->base[(*found)->manifest].name));
}

/* Was it live before? Files of a commit that was taken are posted again by a job that did not hear so. */
static int added_again(struct check *c, const struct fact *e)
{
    struct state_view v;
    struct state_gone g;
    if (e->level_change)
        return state_find_deleted(c->st, &e->f, &g) ? deleted_for_readers(c, &e->f, NULL) : PASS;
    const struct table_file *gone = who_deleted(c, &e->f, &v);
    if (!gone || restore_may(c))
        return gone ? deleted_for_readers(c, &e->f, gone) : PASS;
    return refuse(c, CONFLICT_FILE_TWICE, &e->f, gone, NEW_NAME,
                  "it adds \"%s\", which was committed before and has been replaced or "
                  "deleted since",
                  shown(c, e->f.name));
}

static int rule_file_twice(struct check *c)
{
    struct state_view v;
    for (size_t i = 0; i < c->f->n_entries; i++) {
        const struct fact *e = &c->f->entries[i];
        const struct table_file *f = &e->f;
        if (!e->added)
            continue;
        if (e->fault != FAULT_NONE)
            return twice_in_itself(c, e);
        bool live = e->level_change ? state_find(c->st, f, &v)
                                    : state_find_name(c->st, f->partition, f->bucket, f->name, &v);
        if (live)
            return refuse(c, CONFLICT_FILE_TWICE, f, &v.f, NEW_NAME,
                          "it adds \"%s\", which is live already at level %d", shown(c, f->name),
                          v.f.level);
        int say = added_again(c, e);
        if (say != PASS)
            return say;
    }
    return PASS;
}

/* In a context of its own, since a commit may name many. E_NOMEM. */
static int within_roots(struct check *c, str external, bool *ret)
{
    struct ctx own;
    str path;
    ctx_init(&own, 2 * external.len + 4096);
    int rc = path_absolute(&own, external, &path);
    *ret = false;
    for (size_t i = 0; rc == 0 && i < c->rules->n_roots; i++)
        *ret = *ret || path_within(c->rules->roots[i], path);
    ctx_done(&own);
    return rc == E_NOMEM ? ctx_nomem(c->cx) : PASS;
}

static bool names_ok(const struct table_file *f, str *ret_bad)
{
    struct avro_list l = f->extra_files;
    *ret_bad = f->name;
    if (!path_component_ok(f->name))
        return false;
    while (avro_list_str(&l, ret_bad))
        if (!path_component_ok(*ret_bad))
            return false;
    return true;
}

static int stays_inside(struct check *c, const struct table_file *f)
{
    bool within = true;
    str bad;
    if (!names_ok(f, &bad))
        return refuse(c, CONFLICT_PATH_OUTSIDE, f, NULL, NEW_NAME,
                      "\"%s\" is no name of a file in a directory", shown(c, bad));
    if (f->external_path.p)
        TRY(within_roots(c, f->external_path, &within));
    if (within)
        return PASS;
    return refuse(c, CONFLICT_PATH_OUTSIDE, f, NULL,
                  "nothing was committed: write into the table's own directory, or ask the "
                  "administrator to add the path to warehouse.external-roots",
                  "the external path \"%s\" is in no directory that this table may use",
                  shown(c, f->external_path));
}

static int rule_path_outside(struct check *c)
{
    struct index_change x;
    size_t at = 0;
    int say = PASS;
    for (size_t i = 0; i < c->f->n_entries && say == PASS; i++)
        if (c->f->entries[i].added)
            say = stays_inside(c, &c->f->entries[i].f);
    while (say == PASS && c->f->index &&
           index_next_change(state_index(c->st), c->f->index, &at, &x)) {
        struct table_file f = {.partition = x.file->partition,
                               .bucket = x.file->bucket,
                               .name = x.file->name,
                               .external_path = x.file->external_path};
        if (x.added)
            say = stays_inside(c, &f);
    }
    return say;
}

bool conflict_wants_file(const struct conflict_rules *r, const struct fact *e)
{
    return e->added && !e->level_change && r->verify != VERIFY_OFF;
}

static bool file_whole(const struct check *c, const struct fact *e, const struct file_evidence *s)
{
    return s->seen == FILE_THERE && (c->rules->verify != VERIFY_SIZE || s->size == e->f.size);
}

static int refuse_file(struct check *c, const struct table_file *f,
                       const struct file_evidence *seen)
{
    if (seen->seen == FILE_MISSING)
        return refuse(c, CONFLICT_FILE_MISSING, f, NULL,
                      "nothing was committed: is the client's warehouse directory the server's, "
                      "and were the files of a failed commit deleted? Write the data again",
                      "it adds \"%s\", which is not there", shown(c, f->name));
    if (seen->seen == FILE_UNREADABLE)
        return refuse(c, CONFLICT_FILE_BAD, f, NULL,
                      "nothing was committed: give the server leave to read it, or write the data "
                      "again",
                      "it adds \"%s\", which cannot be read: %s", shown(c, f->name),
                      shown(c, seen->why));
    return refuse(c, CONFLICT_FILE_BAD, f, NULL, "nothing was committed: write the data again",
                  "it adds \"%s\" with %lld bytes, but the file has %lld", shown(c, f->name),
                  (long long)f->size, (long long)seen->size);
}

/* What a kept snapshot or tag holds is not looked at once it is known that this is a restore of it. */
static int rule_files_there(struct check *c)
{
    static const struct file_evidence unseen;
    if (c->ev->restore.known && restore_may(c))
        return PASS;
    for (size_t i = 0; i < c->f->n_entries; i++) {
        const struct fact *e = &c->f->entries[i];
        const struct file_evidence *seen = c->ev->files ? &c->ev->files[i] : &unseen;
        if (!conflict_wants_file(c->rules, e) || file_whole(c, e, seen))
            continue;
        if (seen->seen == FILE_UNSEEN)
            c->v->need.files = true;
        else if (!restore_may(c))
            return refuse_file(c, &e->f, seen);
    }
    return PASS;
}

/* --- schema and buckets ----------------------------------------------------------------------- */

static const struct table_file *file_of_schema(const struct commit_facts *f, int64_t id)
{
    for (size_t i = 0; i < f->n_entries; i++)
        if (f->entries[i].added && f->entries[i].f.schema_id == id)
            return &f->entries[i].f;
    return NULL;
}

static int rule_schema_known(struct check *c)
{
    const char *todo =
        "nothing was committed: was the schema rolled back? Load the table again and "
        "write with its latest schema";
    for (size_t i = 0; i < c->f->n_schema_ids; i++) {
        enum schema_seen seen = c->ev->schemas ? c->ev->schemas[i] : SCHEMA_UNSEEN;
        int64_t id = c->f->schema_ids[i];
        if (seen == SCHEMA_UNSEEN)
            c->v->need.schemas = true;
        if (seen != SCHEMA_ABSENT)
            continue;
        if (id == c->f->schema_id)
            return refuse(c, CONFLICT_SCHEMA_UNKNOWN, NULL, NULL, todo,
                          "the snapshot's schema %lld does not exist in this branch",
                          (long long)id);
        const struct table_file *f = file_of_schema(c->f, id);
        return refuse(c, CONFLICT_SCHEMA_UNKNOWN, f, NULL, todo,
                      "\"%s\" was written with schema %lld, which does not exist in this branch",
                      shown(c, f->name), (long long)id);
    }
    return PASS;
}

/* Is n one of the live files' counts, or is there none above 0? */
static bool count_fits(const struct table_state *st, str partition, int32_t n, int32_t *ret_live)
{
    size_t n_counts;
    const struct bucket_count *v = state_bucket_counts(st, partition, &n_counts);
    *ret_live = 0;
    for (size_t i = 0; i < n_counts; i++) {
        if (v[i].total_buckets == n)
            return true;
        if (v[i].total_buckets > 0)
            *ret_live = v[i].total_buckets;
    }
    return *ret_live == 0;
}

static int bucket_count_of(struct check *c, struct map *first_of, const struct table_file *f)
{
    int32_t live;
    const char *todo = "nothing was committed: load the table again and write with its bucket "
                       "count; to rescale a partition, overwrite it";
    if (!count_fits(c->st, f->partition, f->total_buckets, &live))
        return refuse(c, CONFLICT_BUCKET_COUNT, f, NULL, todo,
                      "\"%s\" was written for %d buckets, the partition's live files have %d",
                      shown(c, f->name), f->total_buckets, live);
    const struct table_file *first = map_get(first_of, f->partition);
    if (first && first->total_buckets != f->total_buckets)
        return refuse(c, CONFLICT_BUCKET_COUNT, f, NULL, todo,
                      "\"%s\" was written for %d buckets and \"%s\" for %d", shown(c, f->name),
                      f->total_buckets, shown(c, first->name), first->total_buckets);
    if (!first && map_put(first_of, f->partition, (void *)f) < 0)
        return ctx_nomem(c->cx);
    return PASS;
}

static int rule_bucket_count(struct check *c)
{
    CLEANUP(map_done) struct map first_of;
    map_init(&first_of);
    if (c->f->kind == COMMIT_OVERWRITE) /* every restore is one */
        return PASS;
    for (size_t i = 0; i < c->f->n_entries; i++) {
        const struct fact *e = &c->f->entries[i];
        if (!e->added || e->f.total_buckets <= 0)
            continue;
        int say = bucket_count_of(c, &first_of, &e->f);
        if (say != PASS)
            return say;
    }
    return PASS;
}

/* --- all of them ------------------------------------------------------------------------------ */

static int (*const rules_in_order[])(struct check *) = {
    rule_manifests_whole, rule_delta_order,  rule_file_gone,   rule_file_twice, rule_path_outside,
    rule_schema_known,    rule_bucket_count, rule_index_known, rule_base_list,  rule_files_there,
};

int conflict_check(struct ctx *cx, const struct table_state *st, const struct commit_facts *f,
                   const struct conflict_rules *rules, const struct conflict_evidence *ev,
                   struct verdict *ret)
{
    struct check c = {.cx = cx, .st = st, .f = f, .rules = rules, .ev = ev, .v = ret};
    ASSERT(f->bad.p || state_serves(st, f));
    *ret = (struct verdict){.kind = VERDICT_OK};
    for (size_t i = 0; i < sizeof rules_in_order / sizeof *rules_in_order; i++) {
        int say = rules_in_order[i](&c);
        if (say != PASS)
            return say < 0 ? say : 0;
    }
    const struct need *n = &ret->need;
    if (n->files || n->schemas || n->index || n->restore || n->n_manifests)
        ret->kind = VERDICT_NEED;
    return 0;
}
