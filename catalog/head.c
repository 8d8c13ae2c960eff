/* head.c - one state of a branch, as readers see it: immutable, shared, replaced as a whole.
 *
 * A head holds the snapshot's own text and the finished body of GET snapshot around it, so that a
 * reader costs a reference and nothing else. The server keeps one prebuilt response with it. */
#include "catalog/catalog_int.h"

#include "proto/base/assert.h"
#include "proto/base/hash.h"
#include "proto/base/mem.h"
#include "proto/json/json.h"

#define DECODE_MAX ((size_t)256 << 20) /* a snapshot as values */

static void body_write(struct buf *b, const struct snapshot *s, const struct totals *t)
{
    struct json_out o;
    json_out_init(&o, b);
    json_obj(&o);
    json_key(&o, "snapshot");
    json_obj(&o);
    json_kraw(&o, "snapshot", s->raw);
    json_ki64(&o, "recordCount", s->total_record_count);
    json_ki64(&o, "fileSizeInBytes", t->file_size_bytes);
    json_ki64(&o, "fileCount", t->file_count);
    json_ki64(&o, "lastFileCreationTime", t->last_file_creation_ms);
    json_end(&o);
    json_end(&o);
}

static str put(char **at, str s)
{
    char *p = *at;
    if (s.len)
        memcpy(p, s.p, s.len);
    *at += s.len;
    return str_n(p, s.len);
}

/* 0 says "none", 1 "no head". */
uint64_t text_of(str snapshot_json)
{
    return hash64(snapshot_json.p, snapshot_json.len) | 2;
}

uint64_t head_text(const struct head *h)
{
    return h ? h->text : 1;
}

struct head *head_peek(struct branch *br)
{
    pthread_mutex_lock(&br->mu);
    struct head *h = br->head ? head_ref(br->head) : NULL;
    pthread_mutex_unlock(&br->mu);
    return h;
}

uint64_t branch_version(struct branch *br)
{
    pthread_mutex_lock(&br->mu);
    uint64_t v = head_text(br->head);
    pthread_mutex_unlock(&br->mu);
    return v;
}

struct head *head_new(struct ctx *cx, const struct snapshot *s, const struct totals *t,
                      int64_t recorded_ms)
{
    CLEANUP(buf_done) struct buf body = {0};
    uint8_t key[OUTCOME_KEY_LEN];
    body_write(&body, s, t);
    if (buf_fail(&body) || outcome_key(cx, s, key) < 0)
        return NULL;
    str texts[] = {s->uuid,
                   s->raw,
                   buf_str(&body),
                   s->base_manifest_list,
                   s->delta_manifest_list,
                   s->index_manifest,
                   s->statistics};
    size_t n = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        n += texts[i].len;
    struct head *h = mem_alloc(sizeof *h + n);
    if (!h)
        return NULL;
    char *at = h->mem;
    atomic_init(&h->refs, 1);
    atomic_init(&h->view, NULL);
    h->free_view = NULL;
    h->id = s->id;
    h->schema_id = s->schema_id;
    h->total_records = s->total_record_count;
    h->recorded_ms = recorded_ms;
    h->text = text_of(s->raw);
    h->totals = *t;
    memcpy(h->key, key, sizeof h->key);
    h->uuid = put(&at, texts[0]);
    h->json = put(&at, texts[1]);
    h->body = put(&at, texts[2]);
    h->base_list = put(&at, texts[3]);
    h->delta_list = put(&at, texts[4]);
    h->index_manifest = put(&at, texts[5]);
    h->statistics = put(&at, texts[6]);
    ASSERT(at == h->mem + n);
    return h;
}

struct head *head_ref(struct head *h)
{
    atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    return h;
}

void head_unref(struct head *h)
{
    if (!h || atomic_fetch_sub(&h->refs, 1) != 1)
        return;
    void *view = atomic_load(&h->view);
    if (view)
        h->free_view(view);
    mem_free(h);
}

str head_body(const struct head *h)
{
    return h->body;
}

void *head_view(struct head *h)
{
    return atomic_load_explicit(&h->view, memory_order_acquire);
}

/* free_view is the same function for all views, so that writing it twice is harmless; it is written
 * before the view is, and read only after the view was seen. */
void *head_set_view(struct head *h, void *view, void (*free_view)(void *))
{
    void *none = NULL;
    __atomic_store_n(&h->free_view, free_view, __ATOMIC_RELAXED);
    if (atomic_compare_exchange_strong(&h->view, &none, view))
        return view;
    free_view(view);
    return none;
}

void head_row_fill(const struct head *h, const struct file_id *f, struct head_row *ret)
{
    *ret = (struct head_row){.id = h->id,
                             .uuid = h->uuid,
                             .json = h->json,
                             .recorded_ms = h->recorded_ms,
                             .file_ino = f->ino,
                             .file_size = f->size,
                             .file_ctime_ns = f->ctime_ns,
                             .totals = h->totals};
}

void branch_publish(struct branch *br, struct head *h)
{
    pthread_mutex_lock(&br->mu);
    struct head *old = br->head;
    br->head = h;
    br->settled = true;
    pthread_mutex_unlock(&br->mu);
    if (h && (!old || old->schema_id != h->schema_id)) /* perhaps one that its writer made itself */
        atomic_store(&br->schema_behind, true);
    if (old != h)
        head_unref(old);
}

/* Readers get the same snapshot with better numbers; whether it may be shown at once stays as it is. */
void branch_head_totals(struct branch *br, const struct totals *t)
{
    struct ctx own;
    struct snapshot s;
    struct head *old = br->head, *h = NULL;
    ctx_init(&own, DECODE_MAX);
    if (snapshot_decode_file(&own, old->json, STR_LIT("head"), &s) == 0)
        h = head_new(&own, &s, t, old->recorded_ms);
    ctx_done(&own);
    if (!h)
        return;
    pthread_mutex_lock(&br->mu);
    br->head = h;
    pthread_mutex_unlock(&br->mu);
    head_unref(old);
}

void branch_unsettle(struct branch *br)
{
    pthread_mutex_lock(&br->mu);
    br->settled = false;
    pthread_mutex_unlock(&br->mu);
}
