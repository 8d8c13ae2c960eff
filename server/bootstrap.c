/* bootstrap.c - the first start, and what a person needs right after it.
 *
 * A generated token is written to root.token before the store learns its hash: a crash between the
 * two leaves a file that the next first start replaces, never a tenant whose token nobody has. The
 * token is printed nowhere, because logs travel further than files of mode 0600.
 *
 * Threads: main, at start. */
#include "server/bootstrap.h"

#include <ctype.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/path.h"
#include "proto/base/rand.h"

#define TOKEN_MIN  16
#define TOKEN_MAX  512
#define TOKEN_HEX  64 /* 256 bit */
#define TOKEN_FILE "root.token"

bool bootstrap_token_ok(str token)
{
    if (token.len < TOKEN_MIN || token.len > TOKEN_MAX)
        return false;
    for (size_t i = 0; i < token.len; i++)
        if (!isalnum((unsigned char)token.p[i]) && !strchr("-._~+/=", token.p[i]))
            return false;
    return true;
}

/* Absolute, as clients will see it: the setting, from the current directory on, or the default. */
static int warehouse_root_path(struct ctx *cx, const struct config *c, const struct datadir *d,
                               str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    if (c->warehouse_root.len == 0)
        return datadir_path(cx, d, "warehouse", ret);
    if (c->warehouse_root.p[0] != '/' && !str_starts(c->warehouse_root, STR_LIT("file:"))) {
        char cwd[4096];
        if (!getcwd(cwd, sizeof(cwd)))
            return ctx_fail_errno(cx, E_IO,
                                  "cannot tell the current directory; give "
                                  "default-warehouse.root as an absolute path");
        buf_addf(&b, "%s/", cwd);
    }
    buf_adds(&b, c->warehouse_root);
    if (buf_fail(&b) < 0)
        return ctx_nomem(cx);
    if (path_absolute(cx, buf_str(&b), ret) < 0)
        return ctx_prefix(cx, "default-warehouse.root");
    return 0;
}

static int generate(struct ctx *cx, const struct datadir *d, str *ret_token, str *ret_file)
{
    char *hex = arena_alloc(&cx->arena, TOKEN_HEX + 2);
    if (!hex)
        return ctx_nomem(cx);
    rand_hex(hex, TOKEN_HEX);
    hex[TOKEN_HEX] = '\n';
    TRY(datadir_path(cx, d, TOKEN_FILE, ret_file));
    TRY(file_replace(cx, *ret_file, str_n(hex, TOKEN_HEX + 1), 0600));
    *ret_token = str_n(hex, TOKEN_HEX);
    return 0;
}

static int token_of(struct ctx *cx, const struct datadir *d, str given, str *ret_token,
                    str *ret_file)
{
    if (!given.p)
        return generate(cx, d, ret_token, ret_file);
    if (!bootstrap_token_ok(given))
        return ctx_fail(
            cx, E_INVAL, RES_NONE, STR_NONE,
            BOOTSTRAP_TOKEN_VARIABLE
            " must have %d to %d characters out of A-Z a-z 0-9 - . _ ~ + / =; unset it to "
            "have one made",
            TOKEN_MIN, TOKEN_MAX);
    *ret_token = given;
    *ret_file = STR_LIT("");
    return 0;
}

static int first_start(struct ctx *cx, const struct config *c, const struct datadir *d,
                       struct store *st, str given, struct bootstrap_out *ret)
{
    str token = STR_NONE, root = STR_NONE, file = STR_NONE;
    TRY(warehouse_root_path(cx, c, d, &root));
    TRY(token_of(cx, d, given, &token, &file));
    struct store_bootstrap_in in = {.tenant = STR_LIT("default"),
                                    .warehouse = c->warehouse_name,
                                    .root = root,
                                    .principal = STR_LIT("root"),
                                    .now_ms = clock_wall_ms()};
    cat_token_hash(token, in.token_hash);
    bool made;
    TRY(cat_bootstrap(cx, st, &in, &made));
    log_info("server", "bootstrap.done", LS("warehouse", in.warehouse), LS("root", root),
             LS("token_file", file));
    *ret = (struct bootstrap_out){.made = made, .token_file = file};
    return 0;
}

/* Settings of the first start that come too late: said, because they look as if they worked. */
static int tell_ignored(struct ctx *cx, const struct config *c, const struct datadir *d,
                        struct store *st, str given)
{
    struct warehouse_row *rows = NULL;
    size_t n = 0;
    str root = STR_NONE;
    if (given.p)
        log_info("server", "bootstrap.ignored", LZ("variable", BOOTSTRAP_TOKEN_VARIABLE),
                 LZ("why", "it counts at the first start only; the tokens of that day are in use"));
    TRY(STORE(st, warehouses, cx, &rows, &n));
    TRY(warehouse_root_path(cx, c, d, &root));
    for (size_t i = 0; i < n; i++)
        if (str_eq(rows[i].name, c->warehouse_name) && str_eq(rows[i].root, root))
            return 0;
    log_warn("server", "bootstrap.ignored",
             LZ("key", "default-warehouse.name, default-warehouse.root"),
             LZ("why", "they count at the first start only; another warehouse is in use"),
             LS("name", n ? rows[0].name : STR_NONE), LS("root", n ? rows[0].root : STR_NONE));
    return 0;
}

int bootstrap(struct ctx *cx, const struct config *c, const struct datadir *d, struct store *st,
              struct bootstrap_out *ret)
{
    str given = str_of(getenv(BOOTSTRAP_TOKEN_VARIABLE));
    given = given.p ? str_dup(&cx->arena, given) : given;
    unsetenv(BOOTSTRAP_TOKEN_VARIABLE);
    bool empty;
    TRY(STORE(st, is_empty, cx, &empty));
    if (empty)
        return first_start(cx, c, d, st, given, ret);
    *ret = (struct bootstrap_out){0};
    return tell_ignored(cx, c, d, st, given);
}

void bootstrap_paste(struct buf *b, const struct config *c, const struct bootstrap_out *o, str url)
{
    bool file = o->token_file.len > 0;
    const char *var = BOOTSTRAP_TOKEN_VARIABLE;
    buf_addf(b, "\nLatch serves Paimon tables at %.*s\n", STR(url));
    if (file)
        buf_addf(b, "The token of the user root is in %.*s\n", STR(o->token_file));
    else
        buf_addf(b, "The token of the user root is the value of %s\n", var);
    buf_addz(b, "\nPython (pip install pypaimon):\n"
                "  from pypaimon import CatalogFactory\n");
    if (file)
        buf_addf(b, "  token = open(\"%.*s\").read().strip()\n", STR(o->token_file));
    else
        buf_addf(b, "  import os; token = os.environ[\"%s\"]\n", var);
    buf_addf(b,
             "  catalog = CatalogFactory.create({\"metastore\": \"rest\", \"uri\": \"%.*s\",\n"
             "      \"warehouse\": \"%.*s\", \"token.provider\": \"bear\", \"token\": token})\n",
             STR(url), STR(c->warehouse_name));
    buf_addf(
        b,
        "\nFlink SQL:\n"
        "  CREATE CATALOG latch WITH ('type' = 'paimon', 'metastore' = 'rest', 'uri' = '%.*s',\n"
        "      'warehouse' = '%.*s', 'token.provider' = 'bear', 'token' = '<the token>');\n",
        STR(url), STR(c->warehouse_name));
    buf_addf(b,
             "\nSpark SQL:\n"
             "  spark-sql --conf spark.sql.catalog.latch=org.apache.paimon.spark.SparkCatalog \\\n"
             "      --conf spark.sql.catalog.latch.metastore=rest \\\n"
             "      --conf spark.sql.catalog.latch.uri=%.*s \\\n"
             "      --conf spark.sql.catalog.latch.warehouse=%.*s \\\n"
             "      --conf spark.sql.catalog.latch.token.provider=bear \\\n",
             STR(url), STR(c->warehouse_name));
    if (file)
        buf_addf(b, "      --conf spark.sql.catalog.latch.token=\"$(cat %.*s)\"\n\n",
                 STR(o->token_file));
    else
        buf_addf(b, "      --conf spark.sql.catalog.latch.token=\"$%s\"\n\n", var);
}
