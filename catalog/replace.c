/* replace.c - a table becomes another one in the same place (CREATE OR REPLACE TABLE).
 *
 *   (0) files: manifests that delete all that is live, lists; durable, named by nobody yet
 *   (1) store: the intent with the text of a snapshot that names them, and the new schema
 *   (2) files, each step can be repeated: the snapshot, if absent; the schema as the next one; LATEST
 *   (3) store: head and schema of the branch, the intent gone
 *
 * Before (1) nothing happened; after it both happen. Somebody else's snapshot of that number ends the intent
 * as if it had not begun. What was there stays readable by its snapshots, with the schemas that they name.
 * Partition keys and their types stay, since old manifests and new ones are read together.
 *
 * What is live is read off the strand, with whole entries, and is of one head: another one means once more.
 * The new snapshot has no index manifest, and no statistics.
 *
 * Source: paimon-core's AbstractCatalog.replaceTable. Thread rule: on main's strand, but for what is off it. */
#include "catalog/head_lists.h"
#include "catalog/meta_write.h"

#include "manifest/layout.h"
#include "proto/base/clock.h"
#include "proto/base/hash.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"
#include "proto/base/rand.h"
#include "proto/json/json.h"

#define NEED_MAX         2 /* the third time it reads on its turn */
#define SCHEMA_TRIES_MAX 10

struct replace {
    struct branch *br;
    struct schema schema;
    struct table_traits *traits; /* of the old schema */
    struct ctx own;              /* memory of what follows */
    bool read;
    uint64_t text; /* of the head that it is of */
    struct head_lists *lists;
    struct manifest_entry *live; /* DELETE entries */
    size_t n_live;
    int needs;
};

/* --- new -------------------------------------------------------------------------------------- */

static void forget(struct replace *rp)
{
    ctx_done(&rp->own);
    ctx_init(&rp->own, rp->br->table->cat->o.facts_max_bytes);
    head_lists_free(rp->lists);
    traits_unref(rp->traits);
    rp->lists = NULL;
    rp->traits = NULL;
    rp->live = NULL;
    rp->n_live = 0;
    rp->read = false;
}

static void replace_free(void *p)
{
    struct replace *rp = p;
    forget(rp);
    ctx_done(&rp->own);
}

int replace_new(struct ctx *cx, struct branch *br, const struct json *schema, struct replace **ret)
{
    struct replace *rp = ARENA_NEW(&cx->arena, struct replace);
    if (!rp)
        return ctx_nomem(cx);
    rp->br = br;
    ctx_init(&rp->own, br->table->cat->o.facts_max_bytes);
    if (arena_defer(&cx->arena, replace_free, rp) < 0)
        return ctx_nomem(cx);
    TRY(table_schema_accept(cx, schema, &rp->schema));
    if (!br->table->managed || !str_eqz(type_of(&rp->schema), "table"))
        return ctx_fail(cx, E_UNSUPPORTED, RES_TABLE, branch_object(cx, br),
                        "only a table of type 'table' can be replaced, and by one; drop it and "
                        "create the other");
    *ret = rp;
    return 0;
}

/* --- what is live ----------------------------------------------------------------------------- */

struct reading {
    struct replace *rp;
    struct table_filer filer;
    struct map dead; /* ids of what some manifest deletes, as bytes */
    size_t cap;
};

static str id_key(struct ctx *cx, uint64_t id)
{
    return str_dup(&cx->arena, str_n((const char *)&id, sizeof id));
}

static int note_dead(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct reading *r = arg;
    struct table_file f;
    if (e->kind != FILE_DELETE)
        return 0;
    TRY(table_file_of(cx, &r->filer, e, &f));
    str key = id_key(&r->rp->own, f.id);
    return key.p && map_put(&r->dead, key, r) == 0 ? 0 : ctx_nomem(cx);
}

static int room(struct ctx *cx, struct reading *r)
{
    struct replace *rp = r->rp;
    if (rp->n_live < r->cap)
        return 0;
    size_t cap = r->cap ? r->cap * 2 : 64;
    struct manifest_entry *wide = ARENA_ARRAY(&rp->own.arena, struct manifest_entry, cap);
    if (!wide)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "what is live does not fit in commit.memory; drop the table and create it "
                        "again");
    for (size_t i = 0; i < rp->n_live; i++)
        wide[i] = rp->live[i];
    rp->live = wide;
    r->cap = cap;
    return 0;
}

static int note_live(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct reading *r = arg;
    struct replace *rp = r->rp;
    struct table_file f;
    if (e->kind != FILE_ADD)
        return 0;
    TRY(table_file_of(cx, &r->filer, e, &f));
    if (map_get(&r->dead, str_n((const char *)&f.id, sizeof f.id)))
        return 0;
    TRY(room(cx, r));
    struct manifest_entry *to = &rp->live[rp->n_live];
    if (avro_copy(&rp->own, &manifest_entry_record, e, to) < 0)
        return ctx_nomem(cx);
    to->kind = FILE_DELETE;
    rp->n_live++;
    return 0;
}

static int read_all(struct ctx *cx, struct replace *rp, struct reading *r)
{
    struct meta_dir dir = branch_meta_dir(rp->br);
    TRY(table_filer_init(cx, &r->filer, traits_partition(rp->traits), rp->traits->row_ids));
    for (size_t i = 0; i < rp->lists->n; i++)
        if (rp->lists->files[i].deleted)
            TRY(meta_manifest(cx, &dir, &rp->lists->files[i], note_dead, r));
    for (size_t i = 0; i < rp->lists->n; i++) {
        TRY(meta_manifest(cx, &dir, &rp->lists->files[i], note_live, r));
        TRY(ctx_check_deadline(cx));
    }
    return 0;
}

static int read_live(struct ctx *cx, struct replace *rp)
{
    struct reading r = {.rp = rp};
    map_init(&r.dead);
    int rc = read_all(cx, rp, &r);
    map_done(&r.dead);
    table_filer_done(&r.filer);
    if (rc == E_CORRUPT || rc == E_UNSUPPORTED) {
        ctx_prefix(cx, "the table is damaged, nothing was done: drop it, or put the file back");
        return cx->err.code = E_CONFLICT;
    }
    return rc;
}

int replace_prepare(struct ctx *cx, struct replace *rp)
{
    struct head *h = head_peek(rp->br);
    uint64_t text = head_text(h);
    int rc = 0;
    if (!rp->read || rp->text != text) {
        forget(rp);
        rc = branch_traits(cx, rp->br, &rp->traits);
        if (rc == 0)
            rc = head_lists_read(cx, rp->br, h, &rp->lists);
        if (rc == 0)
            rc = read_live(cx, rp);
        rp->text = text;
        rp->read = rc == 0;
    }
    head_unref(h);
    return rc;
}

/* --- (0) -------------------------------------------------------------------------------------- */

static int count(struct ctx *cx, const struct replace *rp, struct snapshot *s)
{
    bool over = false;
    for (size_t i = 0; i < rp->n_live; i++)
        over |= __builtin_sub_overflow(s->delta_record_count, rp->live[i].file.row_count,
                                       &s->delta_record_count);
    over |= __builtin_add_overflow(s->total_record_count, s->delta_record_count,
                                   &s->total_record_count);
    return over ? ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "the rows do not fit 64 bits") : 0;
}

/* All but its lists. */
static int snapshot_of(struct ctx *cx, const struct replace *rp, struct snapshot *ret)
{
    struct snapshot h;
    char uuid[UUID_LEN + 1], user[UUID_LEN + 1];
    TRY(snapshot_decode_file(cx, rp->br->head->json, STR_LIT("head"), &h));
    rand_uuid(uuid);
    rand_uuid(user);
    *ret = (struct snapshot){.version = SNAPSHOT_VERSION,
                             .id = h.id + 1,
                             .schema_id = rp->traits->schema_id,
                             .commit_identifier = INT64_MAX,
                             .commit_kind = COMMIT_OVERWRITE,
                             .time_millis = clock_wall_ms(),
                             .total_record_count = h.total_record_count,
                             .watermark = h.watermark,
                             .next_row_id = h.next_row_id,
                             .operation = STR_LIT("TRUNCATE")};
    TRY(ctx_text(cx, &ret->uuid, "%s", uuid));
    TRY(ctx_text(cx, &ret->commit_user, "replace-table-%s", user));
    return count(cx, rp, ret);
}

static int write_files(struct ctx *cx, const struct replace *rp, struct meta_writer *w,
                       struct snapshot *s)
{
    struct manifest_file *made;
    size_t n;
    TRY(meta_write_manifests(cx, w, rp->live, rp->n_live, &made, &n));
    s->base_size.has = s->delta_size.has = true;
    TRY(meta_write_list(cx, w, rp->lists->files, rp->lists->n, &s->base_manifest_list,
                        &s->base_size.v));
    TRY(meta_write_list(cx, w, made, n, &s->delta_manifest_list, &s->delta_size.v));
    str *paths = ARENA_ARRAY(&cx->arena, str, w->n + 1);
    if (!paths)
        return ctx_nomem(cx);
    for (size_t i = 0; i < w->n; i++)
        if (!(paths[i] = layout_manifest(&cx->arena, w->o->dir.dir, w->names[i])).p)
            return ctx_nomem(cx);
    return io_sync(w->o->dir.io, cx, paths, w->n);
}

static int args_of(struct ctx *cx, const struct replace *rp, const struct snapshot *s,
                   int64_t schema_id, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    json_out_init(&o, &b);
    json_obj(&o);
    json_ki64(&o, "schemaId", schema_id);
    json_ki64(&o, "timeMillis", clock_wall_ms());
    json_key(&o, "schema");
    schema_encode(&o, &rp->schema);
    if (s) {
        json_key(&o, "snapshot");
        snapshot_encode(&o, s);
    }
    json_end(&o);
    *ret = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    return ret->p ? 0 : ctx_nomem(cx);
}

/* (0) and (1). Of what fails nothing is left, unless nobody knows whether it failed. */
static int begin(struct ctx *cx, struct replace *rp, int64_t schema_id)
{
    struct branch *br = rp->br;
    struct meta_write_opts wo = {.dir = branch_meta_dir(br),
                                 .partition = traits_partition(rp->traits)};
    struct meta_writer w;
    struct snapshot s;
    str args;
    TRY(meta_write_options(cx, &rp->traits->schema.options, &wo));
    meta_write_begin(&w, &wo);
    int rc = br->head ? snapshot_of(cx, rp, &s) : 0;
    if (rc == 0 && br->head)
        rc = write_files(cx, rp, &w, &s);
    if (rc == 0)
        rc = args_of(cx, rp, br->head ? &s : NULL, schema_id, &args);
    if (rc == 0)
        rc = intent_write(cx, br, "replace", args, /* bump_epoch= */ false, STR_NONE,
                          "table.replace");
    if (rc < 0 && rc != E_UNKNOWN)
        meta_write_undo(&w, 0);
    return rc;
}

/* --- (2), (3) --------------------------------------------------------------------------------- */

static int somebody_else(struct ctx *cx, struct branch *br, int64_t id)
{
    TRY(intent_give_up(cx, br));
    return ctx_fail(cx, E_BUSY, RES_TABLE, branch_object(cx, br),
                    "snapshot %lld was written by somebody else meanwhile; nothing was replaced, "
                    "try again",
                    (long long)id);
}

static int put_snapshot(struct ctx *cx, struct branch *br, const struct snapshot *s)
{
    struct table *t = br->table;
    struct snapshot there;
    enum io_put_result put;
    str path = layout_snapshot(&cx->arena, str_of(t->dir), str_of(br->name), s->id);
    if (!path.p)
        return ctx_nomem(cx);
    TRY(io_put_if_absent(t->io, cx, path, s->raw, &put));
    if (put == IO_PUT_CREATED)
        return 0;
    int rc = snapshot_load(cx, br, s->id, &there);
    if (rc < 0 && rc != E_CORRUPT && rc != E_NOTFOUND)
        return rc;
    if (rc == 0 && str_eq(there.raw, s->raw))
        return io_sync(t->io, cx, &path, 1);
    return somebody_else(cx, br, s->id);
}

/* Another schema file of this number came first: ours is the next one. */
static int put_schema(struct ctx *cx, const struct schema_at *at, struct table_schema *ts)
{
    struct table_schema there;
    enum io_put_result put;
    for (int i = 0; i < SCHEMA_TRIES_MAX; i++, ts->id++) {
        TRY(schema_put(cx, at, ts, &put));
        if (put == IO_PUT_CREATED)
            return 0;
        int found = schema_read(cx, at, ts->id, &there);
        TRY(found);
        if (found && schema_equal(&there.schema, &ts->schema) &&
            there.time_millis == ts->time_millis)
            return 0;
    }
    return ctx_fail(cx, E_BUSY, RES_NONE, STR_NONE,
                    "somebody else writes schema files of this table all the time");
}

static int apply(struct ctx *cx, struct branch *br, const struct snapshot *s,
                 const struct table_schema *ts)
{
    static const struct totals nothing = {0, 0, 0};
    struct schema_set schema = {.id = ts->id,
                                .type = type_of(&ts->schema),
                                .now_ms = clock_wall_ms(),
                                .by = cx->principal.len ? cx->principal : STR_LIT("latch")};
    TRY(schema_text(cx, &ts->schema, &schema.json));
    TRY(history_apply(cx, br, s, s ? &nothing : NULL, INT64_MAX, &schema, "table.replaced"));
    branch_state_drop(br);
    branch_hint(cx, br);
    return 0;
}

int replace_finish(struct ctx *cx, struct branch *br)
{
    const struct json *args, *snapshot, *schema;
    struct table_schema ts;
    struct schema_at at;
    struct schema new;
    struct snapshot s;
    int64_t id, time;
    TRY(intent_args(cx, br, &args));
    TRY(json_want_i64(cx, args, "", "schemaId", &id));
    TRY(json_want_i64(cx, args, "", "timeMillis", &time));
    TRY(json_want_obj(cx, args, "", "schema", &schema));
    TRY(json_opt_obj(cx, args, "", "snapshot", &snapshot));
    TRY(schema_decode(cx, schema, "schema", &new));
    if (snapshot) {
        TRY(snapshot_decode(cx, snapshot, "snapshot", &s));
        TRY(put_snapshot(cx, br, &s));
        IGNORE(INJECT(REPLACE_SNAPSHOT));
    }
    TRY(schema_of_branch(cx, br, &at));
    ts = schema_first(&new, time);
    ts.id = id;
    TRY(put_schema(cx, &at, &ts));
    IGNORE(INJECT(REPLACE_SCHEMA));
    return apply(cx, br, snapshot ? &s : NULL, &ts);
}

/* --- the turn --------------------------------------------------------------------------------- */

static bool same_keys(const struct schema *a, const struct schema *b)
{
    if (a->partition_keys.n != b->partition_keys.n)
        return false;
    for (size_t i = 0; i < a->partition_keys.n; i++) {
        const struct data_field *x = schema_field(a, a->partition_keys.items[i]);
        const struct data_field *y = schema_field(b, b->partition_keys.items[i]);
        if (!x || !y || !str_eq(x->name, y->name) || x->type->kind != y->type->kind ||
            x->type->length != y->type->length || x->type->precision != y->type->precision ||
            x->type->scale != y->type->scale)
            return false;
    }
    return true;
}

static int replace_once(struct ctx *cx, struct replace *rp)
{
    struct branch *br = rp->br;
    struct schema_at at;
    struct table_schema old;
    TRY(ctx_check_deadline(cx));
    TRY(branch_enter(cx, br));
    TRY(branch_may_change(cx, br));
    TRY(warehouse_space(cx, br->table->wh));
    TRY(schema_of_branch(cx, br, &at));
    TRY(schema_catch_up(cx, &at));
    if (!rp->read || rp->text != head_text(br->head) || rp->traits->schema_id != at.id) {
        branch_traits_forget(br);
        rp->read = false;
        return CAT_NEED;
    }
    int rc = schema_read(cx, &at, at.id, &old);
    TRY(rc);
    if (rc == 0)
        return ctx_fail(cx, E_CORRUPT, RES_TABLE, at.name, "schema file %lld is gone",
                        (long long)at.id);
    if (!same_keys(&old.schema, &rp->schema))
        return ctx_fail(cx, E_UNSUPPORTED, RES_TABLE, at.name,
                        "a table that replaces another one has its partition keys, of the same "
                        "types; drop it and create the other");
    TRY(begin(cx, rp, at.id + 1));
    IGNORE(INJECT(REPLACE_INTENT));
    return intent_carry_out(cx, br);
}

int replace_run(struct ctx *cx, struct replace *rp)
{
    int rc = replace_once(cx, rp);
    while (rc == CAT_NEED) {
        if (rp->needs++ < NEED_MAX)
            return CAT_NEED;
        TRY(replace_prepare(cx, rp));
        rc = replace_once(cx, rp);
    }
    return rc;
}
