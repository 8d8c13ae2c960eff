/* native.c - a native commit's way: the order is that of commit.c, but the server makes the snapshot.
 *
 *   prepare  any worker: an earlier outcome; entries of the body's files, evidence of them; the lists (and
 *            the index manifest) of the head as it is then
 *   --- on the branch's strand ---
 *   catch up, replay
 *   plan     what it comes to on this head (native_plan.c); facts of that, in memory
 *   decide   conflict_check
 *   write    manifests, lists, index manifest (native_write.c)
 *   make     those files and the snapshot's, record, hint (commit_make.c)
 *
 * Nothing is written before the verdict, and a commit that is refused, or lost to somebody who wrote the
 * snapshot file himself, leaves no file behind. A race is lost only to be run again, on the new head. */
#include "catalog/native_int.h"

#include "catalog/restore.h"
#include "manifest/options.h"
#include "proto/base/hash.h"
#include "proto/base/inject.h"
#include "proto/base/mem.h"
#include "proto/base/rand.h"

#define USER_LEN_MAX 1024
#define TRIES_MAX    20
#define UPKEEP_USER  "latch-upkeep"

/* --- new -------------------------------------------------------------------------------------- */

static void native_free(void *p)
{
    struct native *nc = p;
    if (nc->probe != nc->cm.facts)
        facts_free(nc->probe);
    head_lists_free(nc->lists);
    map_done(&nc->full);
    if (nc->has_partitions)
        partitioner_done(&nc->partitions);
    index_set_unref(nc->index_set);
    commit_done(&nc->cm);
}

/* A number before each text, so that no two lists of texts give the same bytes. */
static void part(struct buf *b, str s)
{
    uint64_t n = s.len;
    buf_add(b, &n, sizeof n);
    buf_adds(b, s);
}

/* A uuid (version 8, RFC 9562) that these four and the commit's kind always give. */
static int uuid_of(struct ctx *cx, const struct native *nc, char out[UUID_LEN + 1])
{
    CLEANUP(buf_done) struct buf b = {0};
    const struct branch *br = nc->cm.br;
    const struct snapshot *s = &nc->cm.snap;
    uint8_t h[SHA256_LEN];
    char hex[2 * 16 + 1];
    part(&b, STR_LIT("latch native commit"));
    part(&b, str_of(br->table->id));
    part(&b, str_of(br->name));
    part(&b, s->commit_user);
    buf_add(&b, &s->commit_identifier, sizeof s->commit_identifier);
    part(&b, str_of(commit_kind_name(s->commit_kind)));
    if (buf_fail(&b))
        return ctx_nomem(cx);
    sha256(b.p, b.len, h);
    h[6] = (uint8_t)((h[6] & 0x0f) | 0x80);
    h[8] = (uint8_t)((h[8] & 0x3f) | 0x80);
    hex_encode(h, 16, hex);
    snprintf(out, UUID_LEN + 1, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
             hex + 20);
    return 0;
}

static enum commit_kind kind_of(str kind)
{
    if (str_eqz(kind, "OVERWRITE"))
        return COMMIT_OVERWRITE;
    return str_eqz(kind, "COMPACT") ? COMMIT_COMPACT : COMMIT_APPEND;
}

static int name_it(struct ctx *cx, struct native *nc, const struct api_native *body)
{
    struct snapshot *s = &nc->cm.snap;
    char uuid[UUID_LEN + 1];
    *s = (struct snapshot){.version = SNAPSHOT_VERSION,
                           .commit_user = body->user,
                           .commit_identifier = body->identifier,
                           .commit_kind = kind_of(body->kind),
                           .operation = body->operation};
    if (!body->user.p) {
        rand_uuid(uuid);
        s->commit_user = str_dup(&cx->arena, str_of(uuid));
        if (!s->commit_user.p)
            return ctx_nomem(cx);
    }
    if (!body->user.p && body->identifier == API_NATIVE_BATCH_IDENTIFIER)
        rand_uuid(uuid);
    else
        TRY(uuid_of(cx, nc, uuid));
    s->uuid = str_dup(&cx->arena, str_of(uuid));
    return s->uuid.p ? outcome_key(cx, s, nc->cm.key) : ctx_nomem(cx);
}

static int check_body(struct ctx *cx, const struct api_native *b)
{
    bool vectors = false;
    if (b->user.len > USER_LEN_MAX)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "commitUser has %zu bytes; at most %d are taken", b->user.len,
                        USER_LEN_MAX);
    for (size_t i = 0; i < b->n_index_add; i++)
        vectors = vectors || str_eqz(b->index_add[i].type, INDEX_TYPE_DV);
    if (str_eqz(b->kind, "APPEND") && (b->n_gone || b->n_index_gone || vectors))
        return ctx_fail(
            cx, E_INVAL, RES_NONE, STR_NONE,
            "kind is APPEND, which only adds: to delete files or rows, commit with kind "
            "OVERWRITE, or COMPACT if the rows of the table stay the same");
    return 0;
}

int native_new(struct ctx *cx, struct branch *br, const struct native_in *in, struct native **ret)
{
    struct native *nc = ARENA_NEW(&cx->arena, struct native);
    if (!nc)
        return ctx_nomem(cx);
    map_init(&nc->full);
    if (arena_defer(&cx->arena, native_free, nc) < 0)
        return ctx_nomem(cx);
    nc->cm.br = br;
    nc->in = *in;
    TRY(check_body(cx, in->body));
    TRY(name_it(cx, nc, in->body));
    *ret = nc;
    return 0;
}

int native_new_merge(struct ctx *cx, struct branch *br, const struct native_merge *m,
                     struct native **ret)
{
    static const struct api_native nothing = {.user = STR_LIT(UPKEEP_USER),
                                              .identifier = API_NATIVE_BATCH_IDENTIFIER,
                                              .kind = STR_LIT("COMPACT")};
    const struct native_in in = {.body = &nothing};
    char uuid[UUID_LEN + 1];
    struct native *nc;
    TRY(native_new(cx, br, &in, &nc));
    rand_uuid(uuid);
    nc->merge = m;
    nc->cm.snap.uuid = str_dup(&cx->arena, str_of(uuid));
    if (!nc->cm.snap.uuid.p)
        return ctx_nomem(cx);
    TRY(outcome_key(cx, &nc->cm.snap, nc->cm.key));
    *ret = nc;
    return 0;
}

/* --- prepare ---------------------------------------------------------------------------------- */

int native_write_options(struct ctx *cx, struct branch *br, const struct table_traits *t,
                         struct meta_write_opts *ret)
{
    *ret = (struct meta_write_opts){.dir = branch_meta_dir(br), .partition = traits_partition(t)};
    return meta_write_options(cx, &t->schema.options, ret);
}

static int read_options(struct ctx *cx, struct native *nc)
{
    const struct table_traits *t = nc->cm.traits;
    const struct kv_list *o = &t->schema.options;
    int64_t buckets;
    str mode;
    nc->o = (struct native_options){0};
    TRY(native_write_options(cx, nc->cm.br, t, &nc->o.write));
    TRY(opt_i64(cx, o, "bucket", &buckets));
    TRY(opt_bool(cx, o, "sequence.snapshot-ordering", &nc->o.snapshot_ordering));
    TRY(opt_enum(cx, o, "write.sequence-number-init-mode", &mode));
    nc->o.unaware = buckets == -1 && t->schema.primary_keys.n == 0;
    nc->o.max_sequence = str_eqz(mode, "snapshot");
    return 0;
}

/* Facts of the body alone: entries in the places that they will have. */
static int make_probe(struct ctx *cx, struct native *nc)
{
    struct meta_dir dir = branch_meta_dir(nc->cm.br);
    struct facts_opts o = branch_facts_opts(nc->cm.br, nc->cm.traits);
    struct facts_made made = {.n = nc->files.n_gone + nc->files.n_add};
    struct snapshot s = nc->cm.snap;
    struct manifest_entry *e = ARENA_ARRAY(&cx->arena, struct manifest_entry, made.n + 1);
    if (!e)
        return ctx_nomem(cx);
    for (size_t i = 0; i < nc->files.n_gone; i++) {
        const struct native_place *p = &nc->files.gone[i];
        e[i] = (struct manifest_entry){
            .kind = FILE_DELETE,
            .partition = p->partition,
            .bucket = p->bucket,
            .file = {.name = p->name, .embedded_index = STR_NONE, .external_path = STR_NONE}};
    }
    for (size_t i = 0; i < nc->files.n_add; i++)
        e[nc->files.n_gone + i] = nc->files.add[i];
    made.entries = e;
    s.schema_id = nc->cm.traits->schema_id;
    return facts_make(cx, &dir, &s, &o, &made, &nc->probe);
}

static void forget_schema(struct native *nc)
{
    if (nc->probe != nc->cm.facts)
        facts_free(nc->probe);
    facts_free(nc->cm.facts);
    nc->cm.facts = nc->probe = NULL;
    nc->cm.ev.files = NULL;
    state_free(nc->cm.partial);
    nc->cm.partial = NULL;
    traits_unref(nc->cm.traits);
    nc->cm.traits = NULL;
}

/* What the body says, in the words of the schema that is in force now. */
static int read_body(struct ctx *cx, struct native *nc)
{
    struct table_traits *t;
    TRY(branch_traits(cx, nc->cm.br, &t));
    bool same = nc->cm.traits && nc->cm.traits->schema_id == t->schema_id;
    if (!same)
        forget_schema(nc);
    traits_unref(t);
    if (same && nc->probe)
        return 0;
    TRY(commit_traits(cx, &nc->cm));
    TRY(read_options(cx, nc));
    if (nc->has_partitions)
        partitioner_done(&nc->partitions);
    nc->has_partitions = true;
    TRY(partitioner_init(cx, &nc->partitions, traits_partition(nc->cm.traits)));
    if (nc->in.body)
        TRY(native_files_of(cx, nc->cm.br, nc->cm.traits, nc->in.body, &nc->files));
    return make_probe(cx, nc);
}

static int read_lists(struct ctx *cx, struct native *nc, const struct head *h)
{
    uint64_t text = head_text(h);
    if (atomic_load(&nc->cm.br->lists_text) == text || (nc->lists && nc->lists->text == text))
        return 0;
    head_lists_free(nc->lists);
    nc->lists = NULL;
    return head_lists_read(cx, nc->cm.br, h, &nc->lists);
}

static int read_index(struct ctx *cx, struct native *nc, const struct head *h)
{
    struct meta_dir dir = branch_meta_dir(nc->cm.br);
    str name = h && h->index_manifest.len ? h->index_manifest : STR_NONE;
    if (!native_changes_index(nc) || (nc->index.read && str_eq(nc->index.name, name)))
        return 0;
    nc->index = (struct native_head_index){0};
    if (name.p && !(name = str_dup(&cx->arena, name)).p)
        return ctx_nomem(cx);
    if (name.p)
        TRY(meta_index(cx, &dir, name, &nc->index.entries, &nc->index.n));
    nc->index.name = name;
    nc->index.read = true;
    return 0;
}

/* --- whole entries of files that go ----------------------------------------------------------- */

struct looking {
    struct ctx *cx;
    struct native *nc;
    struct table_filer filer;
    struct map names;
};

static int keep_full(struct ctx *cx, void *arg, const struct manifest_entry *e)
{
    struct looking *l = arg;
    struct table_file f;
    if (e->kind != FILE_ADD || !map_get(&l->names, e->file.name))
        return 0;
    TRY(table_file_of(cx, &l->filer, e, &f));
    struct full_entry *full = ARENA_NEW(&l->cx->arena, struct full_entry);
    if (!full)
        return ctx_nomem(cx);
    full->id = f.id;
    TRY(avro_copy(l->cx, &manifest_entry_record, e, &full->e));
    str key = str_n((const char *)&full->id, sizeof full->id);
    return map_put(&l->nc->full, key, full) < 0 ? ctx_nomem(cx) : 0;
}

static int look_through(struct ctx *cx, struct looking *l, const struct head *h)
{
    struct native *nc = l->nc;
    struct meta_dir dir = branch_meta_dir(nc->cm.br);
    struct head_lists *lists;
    TRY(table_filer_init(cx, &l->filer, traits_partition(nc->cm.traits), nc->cm.traits->row_ids));
    for (size_t i = 0; i < nc->files.n_gone; i++)
        if (map_put(&l->names, nc->files.gone[i].name, nc) < 0)
            return ctx_nomem(cx);
    TRY(head_lists_read(cx, nc->cm.br, h, &lists));
    int rc = 0;
    for (size_t i = 0; i < lists->n && rc == 0; i++)
        rc = meta_manifest(cx, &dir, &lists->files[i], keep_full, l);
    head_lists_free(lists);
    return rc;
}

/* A state does not keep embedded indexes, which are part of what a file is. */
static int read_full(struct ctx *cx, struct native *nc, const struct head *h)
{
    struct looking l = {.cx = cx, .nc = nc};
    if (!nc->need_full)
        return 0;
    map_init(&l.names);
    map_done(&nc->full);
    map_init(&nc->full);
    int rc = look_through(cx, &l, h);
    map_done(&l.names);
    table_filer_done(&l.filer);
    nc->need_full = false;
    return rc;
}

/* The head's own files are damaged. */
static int damaged(struct ctx *cx, int rc)
{
    if (rc != E_CORRUPT && rc != E_UNSUPPORTED)
        return rc;
    ctx_prefix(cx, "manifest-bad: nothing was committed, because the table itself is damaged: put "
                   "the file back, or roll back to a snapshot that is whole");
    return cx->err.code = E_CONFLICT;
}

static int read_head(struct ctx *cx, struct native *nc, const struct head *h)
{
    int rc = read_lists(cx, nc, h);
    if (rc == 0)
        rc = read_index(cx, nc, h);
    if (rc == 0)
        rc = read_full(cx, nc, h);
    return damaged(cx, rc);
}

static int gather(struct ctx *cx, struct native *nc, const struct head *h)
{
    TRY(warehouse_space(cx, nc->cm.br->table->wh));
    TRY(read_body(cx, nc));
    TRY(read_head(cx, nc, h));
    if (nc->cm.need.restore && nc->cm.facts != nc->probe)
        TRY(restore_gather(cx, nc->cm.br, nc->cm.facts, &nc->cm.ev.restore));
    nc->cm.need = (struct need){0};
    if (nc->cm.facts != nc->probe)
        facts_free(nc->cm.facts);
    nc->cm.facts = nc->probe;
    TRY(commit_gather(cx, &nc->cm, h));
    nc->cm.ev.gathered = true;
    return 0;
}

int native_prepare(struct ctx *cx, struct native *nc)
{
    TRY(commit_look_back(cx, &nc->cm));
    nc->cm.ev.file_looked = true; /* it has no number to look under */
    if (!nc->cm.br->table->managed)
        return 0; /* its turn says so */
    struct head *h = head_peek(nc->cm.br);
    int rc = nc->cm.ev.known ? 0 : gather(cx, nc, h);
    head_unref(h);
    IGNORE(INJECT(COMMIT_PREPARED));
    return rc;
}

/* --- on the strand ---------------------------------------------------------------------------- */

static int replayed(struct ctx *cx, struct native *nc, struct native_done *ret)
{
    const struct head *h = nc->cm.br->head;
    struct native_done d = {.id = nc->cm.ev.known_id, .replayed = true, .json = STR_NONE};
    COUNT(nc->cm.br->table->cat, commits_replayed);
    nc->cm.snap.id = d.id;
    commit_said(cx, &nc->cm, true, "replayed");
    if (h && h->id == d.id) {
        d.json = str_dup(&cx->arena, h->json);
        if (!d.json.p)
            return ctx_nomem(cx);
    }
    *ret = d;
    return ANSWERED;
}

/* Is what was read of the head still its own? Then nc->base is its base list to be. */
static int head_known(struct ctx *cx, struct native *nc)
{
    const struct head *h = nc->cm.br->head;
    struct table_traits *t;
    TRY(branch_traits(cx, nc->cm.br, &t));
    bool same = nc->cm.traits && nc->cm.traits->schema_id == t->schema_id;
    traits_unref(t);
    const struct head_lists *l = branch_lists(nc->cm.br);
    if (!l && nc->lists && nc->lists->text == head_text(h))
        l = nc->lists;
    str index = h && h->index_manifest.len ? h->index_manifest : STR_NONE;
    if (!same || !l ||
        (native_changes_index(nc) && !(nc->index.read && str_eq(nc->index.name, index))))
        return NEED_MORE;
    int rc = native_base(cx, nc, l);
    TRY(rc);
    if (rc == 0)
        return ctx_fail(cx, E_RACE, RES_NONE, STR_NONE,
                        "a manifest that was merged is not in the table any more");
    return GO_ON;
}

/* Facts of what it comes to on this head. */
static int state_facts(struct ctx *cx, struct native *nc)
{
    struct commit *cm = &nc->cm;
    struct meta_dir dir = branch_meta_dir(cm->br);
    struct facts_opts o = branch_facts_opts(nc->cm.br, nc->cm.traits);
    struct facts_made made = {.entries = nc->delta,
                              .n = nc->n_delta,
                              .base = nc->base,
                              .n_base = nc->n_base,
                              .read = nc->merge ? nc->merge->read : NULL,
                              .index = nc->index_set};
    struct commit_facts *facts;
    TRY(facts_make(cx, &dir, &cm->snap, &o, &made, &facts));
    if (cm->facts != nc->probe)
        facts_free(cm->facts);
    cm->facts = facts;
    return 0;
}

/* GO_ON; NEED_MORE; E_CONFLICT. */
static int decide(struct ctx *cx, struct native *nc)
{
    struct commit *cm = &nc->cm;
    struct table_state *st = NULL;
    struct verdict v = {.kind = VERDICT_OK};
    int rc = commit_state(cx, cm, &st);
    if (rc == E_CORRUPT) {
        rc = commit_damaged(cx, &v);
    } else {
        if (rc == GO_ON)
            rc = native_plan(cx, nc, st);
        if (rc == GO_ON)
            rc = state_facts(cx, nc);
        if (rc == GO_ON)
            rc = commit_judge(cx, cm, &v);
    }
    if (rc != GO_ON)
        return rc;
    return v.kind == VERDICT_REFUSE ? commit_refused(cx, cm, &v.refusal) : GO_ON;
}

static int judge(struct ctx *cx, struct native *nc, struct native_done *ret)
{
    struct commit *cm = &nc->cm;
    TRY(ctx_check_deadline(cx));
    TRY(branch_enter(cx, cm->br));
    enum say known = commit_replayed(cm);
    if (known == NEED_MORE)
        return NEED_MORE;
    if (known == ANSWERED)
        return replayed(cx, nc, ret);
    TRY(branch_may_change(cx, cm->br));
    if (!cm->ev.gathered)
        return NEED_MORE;
    meta_write_begin(&nc->w, &nc->o.write);
    int rc = head_known(cx, nc);
    return rc == GO_ON ? decide(cx, nc) : rc;
}

/* 5 to 7 and the files before. ANSWERED; NEED_MORE: somebody else's snapshot came first. */
static int make(struct ctx *cx, struct native *nc, struct native_done *ret)
{
    struct commit *cm = &nc->cm;
    uint64_t before = head_text(cm->br->head);
    TRY(native_write(cx, nc));
    int rc = commit_make(cx, cm);
    if (cm->made)
        meta_write_made(&nc->w);
    if (rc != CREATED && rc != E_UNKNOWN)
        meta_write_undo(&nc->w, 0);
    if (rc == ADOPTED) {
        enum say known = commit_replayed(cm);
        return known == ANSWERED ? replayed(cx, nc, ret) : NEED_MORE;
    }
    if (rc == LOST)
        return NEED_MORE;
    TRY(rc);
    branch_lists_forward(cm->br, before, nc->base, nc->n_base, nc->delta_files, nc->n_delta_files);
    COUNT(cm->br->table->cat, commits_true);
    commit_said(cx, cm, true, "created");
    *ret = (struct native_done){.id = cm->snap.id, .json = cm->snap.raw};
    return ANSWERED;
}

static int run(struct ctx *cx, struct native *nc, struct native_done *ret)
{
    int rc = judge(cx, nc, ret);
    if (rc != GO_ON)
        return rc;
    IGNORE(INJECT(COMMIT_DECIDED));
    return make(cx, nc, ret);
}

int native_run(struct ctx *cx, struct native *nc, struct native_done *ret)
{
    struct catalog *c = nc->cm.br->table->cat;
    struct native_done d = {0};
    int rc = run(cx, nc, &d);
    while (rc == NEED_MORE) {
        if (nc->cm.needs++ < NEED_MAX)
            return CAT_NEED;
        if (nc->cm.needs > TRIES_MAX)
            return ctx_fail(cx, E_BUSY, RES_NONE, STR_NONE,
                            "the table changes faster than this commit can be made; nothing was "
                            "done, try again");
        TRY(native_prepare(cx, nc));
        rc = run(cx, nc, &d);
    }
    if (rc == E_CONFLICT)
        COUNT(c, commits_refused);
    else if (rc < 0 && rc != E_NEED && rc != E_RACE)
        COUNT(c, commits_failed);
    TRY(rc);
    *ret = d;
    return 0;
}

int native_text(struct ctx *cx, struct native *nc, struct native_done *d)
{
    struct snapshot s;
    if (d->json.p)
        return 0;
    int rc = snapshot_load(cx, nc->cm.br, d->id, &s);
    if (rc == 0 && str_eq(s.uuid, nc->cm.snap.uuid))
        d->json = s.raw;
    else if (rc < 0 && rc != E_NOTFOUND && rc != E_CORRUPT)
        return rc;
    ctx_reset_err(cx);
    return 0;
}
