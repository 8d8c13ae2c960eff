/* authz.c - who asks: bearer tokens and the principals behind them.
 *
 * The store holds SHA-256 hashes of tokens, never a token. A token that was seen is kept in memory
 * as hash -> principal, so that the HTTP threads can let a request in without the store; principals
 * live as long as the catalog. An unknown token is always asked of the store: refusals are not
 * cached. tokens_mu guards the map.
 *
 * A principal that was given out never changes, so what the store says later about the end of its
 * token is kept beside it. */
#include "catalog/catalog_int.h"

#include "proto/base/clock.h"
#include "proto/base/mem.h"

struct token_entry {
    uint8_t hash[SHA256_LEN];
    _Atomic int64_t expires_ms; /* as the store said last; 0: never */
    struct principal who;
};

void cat_token_hash(str token, uint8_t out[32])
{
    _Static_assert(SHA256_LEN == 32, "the store keeps 32 bytes");
    sha256(token.p, token.len, out);
}

static bool expired(struct token_entry *e)
{
    int64_t at = atomic_load(&e->expires_ms);
    return at != 0 && at <= clock_wall_ms();
}

const struct principal *cat_token_peek(struct catalog *c, str token)
{
    uint8_t hash[SHA256_LEN];
    cat_token_hash(token, hash);
    pthread_rwlock_rdlock(&c->tokens_mu);
    struct token_entry *e = map_get(&c->tokens, str_n((char *)hash, sizeof hash));
    pthread_rwlock_unlock(&c->tokens_mu);
    return e && !expired(e) ? &e->who : NULL;
}

static void entry_free(struct token_entry *e)
{
    if (!e)
        return;
    mem_free((char *)e->who.tenant);
    mem_free((char *)e->who.name);
    mem_free(e);
}

static struct token_entry *entry_new(const uint8_t hash[SHA256_LEN],
                                     const struct principal_row *row)
{
    struct token_entry *e = mem_zalloc(sizeof *e);
    if (!e)
        return NULL;
    memcpy(e->hash, hash, SHA256_LEN);
    atomic_init(&e->expires_ms, row->token_expires_ms);
    e->who = (struct principal){
        .id = row->id,
        .tenant_id = row->tenant_id,
        .tenant = str_heap(row->tenant),
        .name = str_heap(row->name),
        .token_expires_ms = row->token_expires_ms,
    };
    if (!e->who.tenant || !e->who.name) {
        entry_free(e);
        return NULL;
    }
    return e;
}

/* Keeps the first entry of a hash, since others may point at it. */
static struct token_entry *entry_keep(struct catalog *c, struct token_entry *e)
{
    str key = str_n((char *)e->hash, sizeof e->hash);
    pthread_rwlock_wrlock(&c->tokens_mu);
    struct token_entry *there = map_get(&c->tokens, key);
    int rc = there ? 0 : map_put(&c->tokens, key, e);
    pthread_rwlock_unlock(&c->tokens_mu);
    if (there || rc < 0)
        entry_free(e);
    return there ? there : rc < 0 ? NULL : e;
}

static int unauth(struct ctx *cx)
{
    return ctx_fail(cx, E_UNAUTH, RES_NONE, STR_NONE,
                    "the bearer token is not known here or has expired; set the catalog option "
                    "'token' to one that this server gave out");
}

int cat_token_load(struct ctx *cx, struct catalog *c, str token, const struct principal **ret)
{
    uint8_t hash[SHA256_LEN];
    struct principal_row row;

    cat_token_hash(token, hash);
    int rc = STORE(c->o.store, token_find, cx, hash, &row);
    if (rc == E_NOTFOUND) {
        ctx_reset_err(cx);
        return unauth(cx);
    }
    TRY(rc);
    struct token_entry *e = entry_new(hash, &row);
    e = e ? entry_keep(c, e) : NULL;
    if (!e)
        return ctx_nomem(cx);
    atomic_store(&e->expires_ms, row.token_expires_ms);
    if (expired(e))
        return unauth(cx);
    *ret = &e->who;
    return 0;
}

void tokens_free(struct catalog *c)
{
    size_t pos = 0;
    str key;
    void *e;
    while (map_next(&c->tokens, &pos, &key, &e))
        entry_free(e);
    map_done(&c->tokens);
}
