/* store_sqlite_admin.c - tenants, principals, tokens, warehouses, the audit, and whether we live.
 *
 * Tokens are kept and looked up as SHA-256; the token itself never reaches the store.
 *
 * Thread rule: reads on the caller's thread, functions named tx_* on the writer's. */
#include "catalog/store/store_sqlite_int.h"

#include "proto/base/clock.h"

/* --- alive ------------------------------------------------------------------------------------ */

static const char SQL_READ[] = "SELECT at_ms FROM alive";
static const char SQL_WRITE[] = "UPDATE alive SET n = n + 1, at_ms = ?1";

static int tx_ping(struct conn *c, struct ctx *cx, void *io)
{
    (void)io;
    return SQL_RUN(cx, c, SQL_WRITE, NULL, AI(clock_wall_ms()));
}

int sq_ping(struct store *st, struct ctx *cx)
{
    struct conn *c;
    int64_t at_ms = 0;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(SQL_I64(cx, c, SQL_READ, &at_ms));
    return sq_write(sqlite_of(st), cx, tx_ping, NULL);
}

/* --- the audit -------------------------------------------------------------------------------- */

static const char SQL_AUDIT[] =
    "INSERT INTO audit (at_ms, n, tenant, principal, request_id, action, object, detail)"
    " SELECT ?1, 1 + coalesce((SELECT max(n) FROM audit WHERE at_ms = ?1), 0),"
    " ?2, ?3, ?4, ?5, ?6, ?7";

int sq_audit_write(struct conn *c, struct ctx *cx, const struct audit *au)
{
    if (!au || au->action.len == 0)
        return 0;
    return SQL_RUN(cx, c, SQL_AUDIT, NULL, AI(au->at_ms), AT(au->tenant), AT(au->principal),
                   AT(au->request_id), AT(au->action), AT(au->object), AT(au->detail));
}

static int tx_audit(struct conn *c, struct ctx *cx, void *io)
{
    return sq_audit_write(c, cx, io);
}

int sq_audit_add(struct store *st, struct ctx *cx, const struct audit *au)
{
    struct audit copy = *au;
    return sq_write(sqlite_of(st), cx, tx_audit, &copy);
}

/* --- the first tenant ------------------------------------------------------------------------- */

static const char SQL_ANY_TENANT[] = "SELECT 1 FROM tenants LIMIT 1";
static const char SQL_ADD_TENANT[] = "INSERT INTO tenants (name, created_ms) VALUES (?1, ?2)";
static const char SQL_ADD_WAREHOUSE[] =
    "INSERT INTO warehouses (tenant_id, name, root, created_ms, options_json)"
    " VALUES (?1, ?2, ?3, ?4, '{}')";
static const char SQL_ADD_PRINCIPAL[] =
    "INSERT INTO principals (tenant_id, name, created_ms) VALUES (?1, ?2, ?3)";
static const char SQL_ADD_TOKEN[] =
    "INSERT INTO tokens (hash, principal_id, created_ms, expires_ms) VALUES (?1, ?2, ?3, 0)";

static int tx_bootstrap(struct conn *c, struct ctx *cx, void *io)
{
    const struct store_bootstrap_in *in = io;
    int64_t one;
    int there = SQL_I64(cx, c, SQL_ANY_TENANT, &one);
    TRY(there);
    if (there)
        return ctx_fail(cx, E_EXISTS, RES_NONE, STR_NONE,
                        "the store has a tenant already; it can be set up only while it is empty");
    TRY(SQL_RUN(cx, c, SQL_ADD_TENANT, NULL, AT(in->tenant), AI(in->now_ms)));
    int64_t tenant = sqlite3_last_insert_rowid(c->db);
    TRY(SQL_RUN(cx, c, SQL_ADD_WAREHOUSE, NULL, AI(tenant), AT(in->warehouse), AT(in->root),
                AI(in->now_ms)));
    TRY(SQL_RUN(cx, c, SQL_ADD_PRINCIPAL, NULL, AI(tenant), AT(in->principal), AI(in->now_ms)));
    int64_t principal = sqlite3_last_insert_rowid(c->db);
    return SQL_RUN(cx, c, SQL_ADD_TOKEN, NULL, AB(in->token_hash, sizeof(in->token_hash)),
                   AI(principal), AI(in->now_ms));
}

int sq_bootstrap(struct store *st, struct ctx *cx, const struct store_bootstrap_in *in)
{
    struct store_bootstrap_in copy = *in;
    return sq_write(sqlite_of(st), cx, tx_bootstrap, &copy);
}

int sq_is_empty(struct store *st, struct ctx *cx, bool *ret)
{
    struct conn *c;
    int64_t one;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    int there = SQL_I64(cx, c, SQL_ANY_TENANT, &one);
    TRY(there);
    *ret = !there;
    return 0;
}

/* --- warehouses and tokens -------------------------------------------------------------------- */

static const char SQL_WAREHOUSES[] =
    "SELECT w.id, w.tenant_id, t.name, w.name, w.root, w.created_ms, w.options_json"
    " FROM warehouses w JOIN tenants t ON t.id = w.tenant_id ORDER BY w.id";

static int warehouse_cols(struct ctx *cx, sqlite3_stmt *st, struct warehouse_row *ret)
{
    struct cols c = sq_cols(cx, st);
    ret->id = sq_col_i64(&c);
    ret->tenant_id = sq_col_i64(&c);
    ret->tenant = sq_col_str(&c);
    ret->name = sq_col_str(&c);
    ret->root = sq_col_str(&c);
    ret->created_ms = sq_col_i64(&c);
    ret->options_json = sq_col_str(&c);
    return sq_cols_end(&c);
}

int sq_warehouses(struct store *st, struct ctx *cx, struct warehouse_row **ret, size_t *ret_n)
{
    struct conn *c;
    STMT q = NULL;
    struct warehouse_row *rows = NULL;
    size_t n = 0, cap = 0;
    int row;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(SQL_OPEN(cx, c, SQL_WAREHOUSES, &q));
    while ((row = sq_step(cx, c, q)) > 0) {
        rows = sq_grow(cx, rows, n, &cap, sizeof(*rows));
        if (!rows)
            return ctx_nomem(cx);
        TRY(warehouse_cols(cx, q, &rows[n++]));
    }
    TRY(row);
    *ret = rows;
    *ret_n = n;
    return 0;
}

static const char SQL_TOKEN[] =
    "SELECT p.id, p.tenant_id, t.name, p.name, k.expires_ms FROM tokens k"
    " JOIN principals p ON p.id = k.principal_id JOIN tenants t ON t.id = p.tenant_id"
    " WHERE k.hash = ?1";

int sq_token_find(struct store *st, struct ctx *cx, const uint8_t hash[32],
                  struct principal_row *ret)
{
    struct conn *c;
    STMT q = NULL;
    struct principal_row p;
    TRY(sq_reader(sqlite_of(st), cx, &c));
    TRY(SQL_OPEN(cx, c, SQL_TOKEN, &q, AB(hash, 32)));
    int row = sq_step(cx, c, q);
    TRY(row);
    if (!row)
        return ctx_fail(cx, E_NOTFOUND, RES_NONE, STR_NONE, "no such token");
    struct cols cols = sq_cols(cx, q);
    p.id = sq_col_i64(&cols);
    p.tenant_id = sq_col_i64(&cols);
    p.tenant = sq_col_str(&cols);
    p.name = sq_col_str(&cols);
    p.token_expires_ms = sq_col_i64(&cols);
    TRY(sq_cols_end(&cols));
    *ret = p;
    return 0;
}
