/* state_restore.c - a state from the bytes of a checkpoint; the format is in state_ckpt_int.h.
 *
 * The bytes are of a file that anything may have happened to, and a hash over them is no proof of what
 * wrote them: every length, number and reference is looked at before it is used. Records are looked at
 * whole (record_ok) and then copied as they are, since record_unpack does not check. What is derived
 * (sums, counts, hashes of names) is made again and compared with what the file says of it.
 *
 * Thread rule: any; the state is its own until it is given to a strand. Pure. */
#include "catalog/state_ckpt.h"
#include "catalog/table_index_int.h"
#include "catalog/table_state_int.h"

#include "proto/base/mem.h"

#define BUCKET_MIN   3 /* bytes of one, at least */
#define RECORD_MIN   20
#define GONE_MIN     10
#define MANIFEST_MIN 12

str ckpt_bytes(struct ckpt_in *in, size_t n)
{
    if (in->bad || n > (size_t)(in->end - in->at)) {
        in->bad = true;
        return STR_LIT("");
    }
    str s = str_n((const char *)in->at, n);
    in->at += n;
    return s;
}

str ckpt_str(struct ckpt_in *in)
{
    uint64_t n = ckpt_u(in);
    return n == 0 || in->bad ? STR_NONE : ckpt_bytes(in, n - 1);
}

size_t ckpt_count(struct ckpt_in *in, size_t each)
{
    return ckpt_max(in, (size_t)(in->end - in->at) / each);
}

static int damaged(struct ctx *cx, const char *what)
{
    return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%s", what);
}

/* --- texts ------------------------------------------------------------------------------------ */

static int texts(struct ctx *cx, struct ckpt_in *in, struct shared_set *s)
{
    size_t n = ckpt_count(in, 1);
    for (size_t i = 0; i < n && !in->bad; i++) {
        int rc = shared_put_next(s, ckpt_str(in));
        if (rc == E_NOMEM)
            return ctx_nomem(cx);
        in->bad = in->bad || rc < 0;
    }
    return in->bad ? damaged(cx, "its texts are no texts") : 0;
}

/* Of users whose deletions are not remembered any more, for one. */
static void drop_unused(struct shared_set *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->v[i] && s->v[i]->refs == 0) {
            s->v[i]->refs = 1;
            shared_give(s, s->v[i]);
        }
}

/* The text of a number; NULL and bad: there is none. */
static struct shared *text_no(struct ckpt_in *in, const struct shared_set *s, uint64_t no)
{
    struct shared *t = !in->bad && no < s->n ? s->v[no] : NULL;
    in->bad = in->bad || !t;
    return t;
}

/* --- files ------------------------------------------------------------------------------------ */

struct owns { /* the shared texts of a record; NULL: none */
    struct shared *user, *before, *after;
};

static void numbers_ok(struct ckpt_in *in, const struct table_state *st, unsigned flags,
                       struct owns *ret)
{
    ckpt_max(in, INT32_MAX); /* level */
    ckpt_i32(in);            /* buckets */
    ckpt_max(in, INT64_MAX); /* size */
    ckpt_max(in, INT64_MAX); /* rows */
    ckpt_i(in);
    ckpt_i(in); /* sequence numbers */
    ckpt_i(in); /* schema */
    ckpt_max(in, INT64_MAX);
    if (flags & HAS_USER)
        ret->user = text_no(in, &st->users, ckpt_u(in));
    for (unsigned f = HAS_CREATED; f <= HAS_SOURCE; f <<= 1)
        if (flags & f)
            ckpt_i(in);
}

static void name_ok(struct ckpt_in *in, const struct table_state *st, unsigned flags,
                    struct owns *ret)
{
    if (!(flags & NAME_PACKED)) {
        in->bad = ckpt_bytes(in, ckpt_u(in)).len == 0 || in->bad;
        return;
    }
    ret->before = text_no(in, &st->name_parts, ckpt_u(in));
    ret->after = text_no(in, &st->name_parts, ckpt_u(in));
    ckpt_bytes(in, 16);
    size_t digits = 1;
    for (uint64_t v = ckpt_max(in, NAME_NUMBER_MAX); v >= 10; v /= 10)
        digits++;
    in->bad =
        in->bad || ret->before->len + UUID_TEXT + 1 + digits + ret->after->len > PATH_COMPONENT_MAX;
}

/* Is it a body that record_unpack can read? */
static bool record_ok(const struct table_state *st, str body, struct owns *ret)
{
    struct ckpt_in in = {(const unsigned char *)body.p, (const unsigned char *)body.p + body.len,
                         false};
    unsigned flags = (unsigned)ckpt_max(&in, RECORD_FLAGS);
    *ret = (struct owns){0};
    numbers_ok(&in, st, flags, ret);
    name_ok(&in, st, flags, ret);
    ckpt_bytes(&in, ckpt_u(&in));
    if (!(flags & ONE_KEY))
        ckpt_bytes(&in, ckpt_u(&in));
    if (flags & HAS_EXTERNAL)
        ckpt_bytes(&in, ckpt_u(&in));
    if (flags & HAS_EXTRA) {
        struct avro_list l = {.has = true, .n = (uint32_t)ckpt_max(&in, body.len)};
        l.items = ckpt_bytes(&in, ckpt_u(&in));
        in.bad = in.bad || l.n == 0 || !avro_list_strs_ok(&l);
    }
    return !in.bad && in.at == in.end;
}

static int file(struct ctx *cx, struct ckpt_in *in, struct table_state *st, uint32_t bucket)
{
    struct owns own;
    uint64_t id = ckpt_u64(in);
    str body = ckpt_bytes(in, ckpt_u(in));
    size_t len = offsetof(struct record, body) + body.len;
    if (in->bad || len > SLAB_MAX || !record_ok(st, body, &own))
        return damaged(cx, "a file is no file");
    uint32_t ref = slab_take(&st->slab, len);
    if (!ref)
        return ctx_nomem(cx);
    struct record *r = slab_at(&st->slab, ref);
    *r = (struct record){.id = id, .len = (uint32_t)len};
    memcpy(r->body, body.p, body.len);
    TRY(files_put_record(cx, st, bucket, ref));
    if (own.user)
        own.user->refs++;
    if (own.before) {
        own.before->refs++;
        own.after->refs++;
    }
    return 0;
}

static int bucket(struct ctx *cx, struct ckpt_in *in, struct table_state *st)
{
    const struct shared *p = text_no(in, &st->partitions, ckpt_u(in));
    int32_t number = ckpt_i32(in);
    size_t n = ckpt_count(in, RECORD_MIN);
    uint32_t i;
    str row;
    if (in->bad || n == 0)
        return damaged(cx, "a bucket is no bucket");
    str partition = str_n(p->p, p->len);
    TRY(partition_row(cx, &st->partitions_of, partition, &row));
    if (!str_eq(row, partition))
        return damaged(cx, "a partition is no partition");
    TRY(state_room(cx, st, n * sizeof(struct record)));
    TRY(files_put_bucket(cx, st, partition, number, &i));
    while (n-- > 0)
        TRY(file(cx, in, st, i));
    return 0;
}

static int buckets(struct ctx *cx, struct ckpt_in *in, struct table_state *st, size_t files)
{
    if (files > (size_t)(in->end - in->at) / RECORD_MIN)
        return damaged(cx, "it has fewer files than it says");
    TRY(files_reserve(cx, st, files));
    size_t n = ckpt_count(in, BUCKET_MIN);
    while (n-- > 0)
        TRY(bucket(cx, in, st));
    return in->bad ? damaged(cx, "its buckets are no buckets") : 0;
}

/* --- the rest --------------------------------------------------------------------------------- */

/* As many of the newest as are to be remembered now. */
static int gone(struct ctx *cx, struct ckpt_in *in, struct table_state *st)
{
    size_t n = ckpt_count(in, GONE_MIN);
    for (size_t i = 0; i < n && !in->bad; i++) {
        uint64_t place = ckpt_u64(in);
        int64_t snapshot = ckpt_i(in);
        uint64_t user = ckpt_u(in);
        struct shared *who = user ? text_no(in, &st->users, user - 1) : NULL;
        if (in->bad || n - i > st->o.gone_max)
            continue;
        TRY(gone_put(cx, st, place, snapshot, who ? str_n(who->p, who->len) : STR_NONE));
    }
    return in->bad ? damaged(cx, "its deleted files are no files") : 0;
}

static int manifests(struct ctx *cx, struct ckpt_in *in, struct table_state *st)
{
    size_t n = ckpt_count(in, MANIFEST_MIN);
    manifests_begin(st);
    for (size_t i = 0; i < n; i++) {
        struct state_manifest m = {.name = ckpt_str(in)};
        m.size = ckpt_i(in);
        m.added = ckpt_i(in);
        m.deleted = ckpt_i(in);
        m.sum = ckpt_u64(in);
        if (in->bad || !path_component_ok(m.name) || manifest_of(st, m.name))
            return damaged(cx, "its manifests are no manifests");
        TRY(manifests_keep(cx, st, &m));
    }
    return in->bad ? damaged(cx, "its manifests are no manifests") : 0;
}

static int all(struct ctx *cx, struct ckpt_in *in, const struct ckpt_fixed *h,
               struct table_state *st)
{
    TRY(texts(cx, in, &st->users));
    TRY(texts(cx, in, &st->name_parts));
    TRY(texts(cx, in, &st->partitions));
    TRY(buckets(cx, in, st, h->files));
    TRY(gone(cx, in, st));
    TRY(manifests(cx, in, st));
    size_t used = state_bytes(st), left = used < st->o.max_bytes ? st->o.max_bytes - used : 0;
    TRY(index_set_restore(cx, in, &st->partitions_of, left, &st->index));
    if (in->at != in->end)
        return damaged(cx, "there is something after its end");
    if (st->n_files != h->files || (uint64_t)st->rows != h->rows || (uint64_t)st->size != h->size ||
        st->live_sum != h->live_sum)
        return damaged(cx, "its files are not those that it counts");
    drop_unused(&st->users);
    drop_unused(&st->name_parts);
    drop_unused(&st->partitions);
    struct opt_i64 next = {h->has_next_row_id != 0, h->next_row_id};
    state_set_snapshot(st, h->snapshot_id, h->schema_id, h->total_records, next);
    return state_room(cx, st, 0);
}

static int head(struct ctx *cx, str bytes, const struct state_opts *o, struct ckpt_fixed *ret)
{
    if (bytes.len < sizeof *ret)
        return damaged(cx, "it is too short for a checkpoint");
    memcpy(ret, bytes.p, sizeof *ret);
    if (memcmp(ret->magic, CKPT_MAGIC, sizeof ret->magic) != 0 || ret->version != CKPT_VERSION)
        return damaged(cx, "it is no checkpoint of this version");
    if (ret->length != bytes.len ||
        ret->check != hash64(bytes.p + CKPT_CHECKED, bytes.len - CKPT_CHECKED))
        return damaged(cx, "its bytes are not those that were written");
    if (ret->opts != ckpt_opts_hash(o))
        return damaged(cx, "the table has other partition columns or row ids than it had");
    if (ret->has_next_row_id != 0 && ret->has_next_row_id != 1)
        return damaged(cx, "its head is no head");
    return 0;
}

int state_restore(struct ctx *cx, str bytes, const struct state_opts *o, struct ckpt_head *ret_head,
                  struct table_state **ret)
{
    CLEANUP(state_freep) struct table_state *st = NULL;
    struct ckpt_fixed h;
    TRY(head(cx, bytes, o, &h));
    TRY(state_new(cx, o, &st));
    struct ckpt_in in = {(const unsigned char *)bytes.p + sizeof h,
                         (const unsigned char *)bytes.p + bytes.len, false};
    TRY(all(cx, &in, &h, st));
    *ret_head = (struct ckpt_head){h.epoch, h.snapshot_id, h.text_hash};
    *ret = st;
    st = NULL;
    return 0;
}
