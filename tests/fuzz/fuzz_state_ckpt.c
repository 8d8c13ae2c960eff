/* fuzz_state_ckpt.c - any bytes as a checkpoint: refused with a message, or read to a state that can be
 * asked, saved and read back, and emptied.
 *
 * The first byte: bit 0: the hash and the head are made right first, so that the rest gets past them;
 * bit 1: a table without partitions; bit 2: one that remembers few deleted files. */
#include "catalog/state_ckpt.h"
#include "catalog/state_ckpt_int.h"
#include "catalog/table_state_int.h"
#include "proto/base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY ((size_t)64 << 20)

static const struct data_type int_type = {.kind = TYPE_INT, .nullable = true};
static const struct data_type *const one_int[] = {&int_type};
static const struct binrow_type INT_ROW = {one_int, 1};

static void ask(struct table_state *st)
{
    struct state_cursor at;
    struct state_view v, w;
    struct state_gone g;
    size_t n = 0, counts;
    state_all(st, &at);
    while (state_next(st, &at, &v)) {
        struct avro_list l = v.f.extra_files;
        str item;
        while (avro_list_str(&l, &item))
            ASSERT(item.len <= v.f.extra_files.items.len);
        ASSERT(v.f.level >= 0 && v.f.size >= 0 && v.f.rows >= 0 && v.f.name.len > 0);
        ASSERT(state_find(st, &v.f, &w) && w.f.id == v.f.id);
        ASSERT(state_find_name(st, v.f.partition, v.f.bucket, v.f.name, &w));
        IGNORE(state_find_gone(st, v.f.partition, v.f.bucket, v.f.name, &g));
        ASSERT(state_max_seq(st, v.f.partition, v.f.bucket) >= v.f.max_seq || v.f.max_seq < -1);
        ASSERT(state_bucket_counts(st, v.f.partition, &counts) && counts > 0);
        n++;
    }
    ASSERT(n == state_info(st).files);
    const struct index_set *x = state_index(st);
    for (size_t i = 0; i < index_set_vectors(x); i++) {
        struct index_vector found, is = index_set_vector(x, i);
        size_t step = 0;
        ASSERT(
            index_find_vector(x, is.file->partition, is.file->bucket, is.data_file, &step, &found));
    }
}

/* Files go one by one: what is counted comes to nothing. */
static void empty(struct table_state *st)
{
    for (uint32_t i = 1; i < st->n_buckets; i++)
        while (st->buckets[i].partition)
            files_remove(st, st->buckets[i].first);
    struct state_info s = state_info(st);
    ASSERT(s.files == 0 && s.rows == 0 && s.size_bytes == 0 && s.live_sum == 0);
    ASSERT(s.partitions == 0 && s.buckets == 0);
    state_forget_gone(st, INT64_MAX);
    for (uint32_t i = 0; i < st->users.n; i++)
        ASSERT(!st->users.v[i] || st->gone.n);
    for (uint32_t i = 0; i < st->name_parts.n; i++)
        ASSERT(!st->name_parts.v[i]);
}

static void works(struct ctx *cx, struct table_state *st, const struct ckpt_head *h)
{
    struct buf b;
    struct ckpt_head again;
    struct table_state *back;
    struct state_opts o = *state_options(st);
    buf_init(&b, MEMORY);
    ask(st);
    ASSERT(state_save(cx, st, h->epoch, h->text_hash, &b) == 0);
    o.max_bytes *= 2;
    ASSERT(state_restore(cx, buf_str(&b), &o, &again, &back) == 0);
    ASSERT(again.epoch == h->epoch && again.snapshot_id == h->snapshot_id &&
           again.text_hash == h->text_hash);
    ask(back);
    empty(back);
    state_free(back);
    buf_done(&b);
}

static void as_checkpoint(char *bytes, size_t n, const struct state_opts *o, bool seal)
{
    struct ctx cx;
    struct ckpt_head h;
    struct table_state *st;
    struct ckpt_fixed fixed;
    ctx_init(&cx, MEMORY);
    if (seal && n >= sizeof fixed) {
        memcpy(&fixed, bytes, sizeof fixed);
        fixed.opts = ckpt_opts_hash(o);
        memcpy(bytes, &fixed, sizeof fixed);
        ckpt_seal(bytes, n);
    }
    int rc = state_restore(&cx, str_n(bytes, n), o, &h, &st);
    if (rc < 0) {
        ASSERT(rc == E_CORRUPT || rc == E_TOOBIG || rc == E_NOMEM);
        ASSERT(cx.err.code == rc && cx.err.msg[0]);
    } else {
        works(&cx, st, &h);
        state_free(st);
    }
    ctx_done(&cx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct state_opts o = {.partition = data[0] & 2 ? NULL : &INT_ROW,
                           .max_bytes = MEMORY,
                           .gone_max = data[0] & 4 ? 1 : 50};
    char *copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    as_checkpoint(copy, size - 1, &o, data[0] & 1);
    free(copy);
    return 0;
}
