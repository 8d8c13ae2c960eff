/* outcome.c - see outcome.h. The ring is plain memory of the strand; only seq is shared. */
#include "catalog/outcome.h"

#include <stdatomic.h>

#include "proto/base/assert.h"
#include "proto/base/buf.h"
#include "proto/base/hash.h"

/* A part with its length before it, so that no two lists of parts give the same bytes. */
static void part(struct buf *b, str s)
{
    uint64_t n = s.len;
    buf_add(b, &n, sizeof n);
    buf_adds(b, s);
}

int outcome_key(struct ctx *cx, const struct snapshot *s, uint8_t ret[OUTCOME_KEY_LEN])
{
    uint8_t full[SHA256_LEN];
    char kind = s->uuid.len > 0 ? 'u' : 't';
    CLEANUP(buf_done) struct buf b = {0};

    buf_addc(&b, kind);
    if (s->uuid.len > 0) {
        part(&b, s->uuid);
    } else {
        part(&b, s->base_manifest_list);
        part(&b, s->delta_manifest_list);
        part(&b, s->commit_user);
        buf_add(&b, &s->commit_identifier, sizeof s->commit_identifier);
    }
    if (buf_fail(&b))
        return ctx_nomem(cx);
    sha256(b.p, b.len, full);
    memcpy(ret, full, OUTCOME_KEY_LEN);
    return 0;
}

void outcome_ring_add(struct outcome_ring *r, const struct outcome *o)
{
    int64_t seq = atomic_load_explicit(&r->seq, memory_order_relaxed);
    r->at[seq % OUTCOME_RING] = *o;
    atomic_store_explicit(&r->seq, seq + 1, memory_order_release);
}

const struct outcome *outcome_ring_find(const struct outcome_ring *r,
                                        const uint8_t key[OUTCOME_KEY_LEN])
{
    for (int i = 0; i < OUTCOME_RING; i++)
        if (r->at[i].snapshot_id > 0 && memcmp(r->at[i].key, key, OUTCOME_KEY_LEN) == 0)
            return &r->at[i];
    return NULL;
}

bool outcome_ring_covers(const struct outcome_ring *r, int64_t since_seq)
{
    int64_t seq = atomic_load_explicit(&r->seq, memory_order_relaxed);
    ASSERT(since_seq <= seq);
    return seq - since_seq <= OUTCOME_RING;
}

void outcome_ring_forget(struct outcome_ring *r, int64_t above_snapshot_id)
{
    for (int i = 0; i < OUTCOME_RING; i++)
        if (r->at[i].snapshot_id > above_snapshot_id)
            memset(&r->at[i], 0, sizeof r->at[i]);
    atomic_fetch_add_explicit(&r->seq, OUTCOME_RING + 1, memory_order_release);
}
