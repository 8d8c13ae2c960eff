/* test_authz.c - the first start, tokens and their principals, and which warehouses they see. */
#include "tests/unit/catalog/fixture.h"

static struct fx f;

static int setup(void **state)
{
    (void)state;
    fx_new(&f, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_done(&f);
    return 0;
}

static int load(const char *token, const struct principal **ret)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(&f, &cx, cat_token_load(&cx, f.cat, str_of(token), ret));
}

/* --- first start ------------------------------------------------------------------------------ */

static int bootstrap(const char *warehouse, const char *root, bool *ret_made)
{
    struct store *st;
    struct ctx cx;
    struct store_bootstrap_in in = {.tenant = S("acme"),
                                    .warehouse = str_of(warehouse),
                                    .root = str_of(root),
                                    .principal = S("root"),
                                    .now_ms = 5};
    fx_begin(&cx);
    assert_int_equal(store_mem_new(&f.cx, &st), 0);
    int rc = cat_bootstrap(&cx, st, &in, ret_made);
    bool empty = false;
    assert_int_equal(STORE(st, is_empty, &f.cx, &empty), 0);
    assert_int_equal(empty, rc != 0); /* refused: nothing was made */
    STORE(st, free);
    return fx_end(&f, &cx, rc);
}

static void the_first_start_is_made_once(void **state)
{
    (void)state;
    bool made = true;
    struct ctx cx;
    struct store_bootstrap_in in = {.tenant = S("other"),
                                    .warehouse = S("../x"), /* not looked at: it is set up */
                                    .root = S("/other"),
                                    .principal = S("eve"),
                                    .now_ms = 5};
    fx_begin(&cx);
    OK(&f, fx_end(&f, &cx, cat_bootstrap(&cx, &f.bst, &in, &made)));
    assert_false(made);
    assert_null(cat_token_peek(f.cat, S("")));
    OK(&f, bootstrap("default", "/data/wh", &made));
    assert_true(made);
}

static void names_that_clients_could_not_use(void **state)
{
    (void)state;
    bool made = false;
    FAILS(&f, E_INVAL, RES_NONE, "default-warehouse.name", bootstrap("a/b", "/data", &made));
    FAILS(&f, E_INVAL, RES_NONE, "default-warehouse.name", bootstrap("", "/data", &made));
    static const char *const roots[] = {"/a%b", "/a#b", "/a?b", "/a\nb", "/a\x7f", "/\x01"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        FAILS(&f, E_INVAL, RES_NONE, "default-warehouse.root", bootstrap("wh", roots[i], &made));
    assert_false(made);
    OK(&f, bootstrap("w h", "/data/\xc3\xa4 b", &made));
}

/* --- tokens ----------------------------------------------------------------------------------- */

static void a_token_is_a_sha256(void **state)
{
    (void)state;
    uint8_t out[32];
    char hex[65];
    cat_token_hash(S("abc"), out);
    hex_encode(out, 32, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void a_known_token_is_kept_in_memory(void **state)
{
    (void)state;
    const struct principal *who = NULL, *again = NULL;
    fx_restart(&f);
    fx_close(&f);
    OK(&f, fx_open(&f)); /* loads FX_TOKEN */
    int asked = fx_calls(&f, ST_token_find);
    who = cat_token_peek(f.cat, S(FX_TOKEN));
    assert_non_null(who);
    assert_string_equal(who->name, "ann");
    assert_string_equal(who->tenant, "acme");
    assert_int_equal(who->tenant_id, 1);
    assert_int_equal(fx_calls(&f, ST_token_find), asked);
    OK(&f, load(FX_TOKEN, &again));
    assert_ptr_equal(who, again); /* one principal a token, for as long as the catalog */
}

static void unknown_tokens(void **state)
{
    (void)state;
    static const char *const none[] = {"", "x", FX_TOKEN "x", "latch-test-toke",
                                       "LATCH-TEST-TOKEN"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        const struct principal *who = (void *)1;
        assert_null(cat_token_peek(f.cat, str_of(none[i])));
        FAILS(&f, E_UNAUTH, RES_NONE, "'token'", load(none[i], &who));
        assert_ptr_equal(who, (void *)1);
        assert_null(cat_token_peek(f.cat, str_of(none[i]))); /* refusals are not cached */
        if (strlen(none[i]) > 5)
            assert_null(strstr(f.err.msg, none[i])); /* nor shown */
    }
    int asked = fx_calls(&f, ST_token_find);
    const struct principal *who;
    FAILS(&f, E_UNAUTH, RES_NONE, "", load("x", &who));
    assert_int_equal(fx_calls(&f, ST_token_find), asked + 1);
    FAIL(&f, .op = ST_token_find, .code = E_IO);
    FAILS(&f, E_IO, RES_NONE, "the test", load("x", &who)); /* not 401: nobody looked */
}

static int64_t expiry;

static int find_expiring(struct store *st, struct ctx *cx, const uint8_t hash[32],
                         struct principal_row *ret)
{
    (void)st;
    (void)cx;
    (void)hash;
    *ret = (struct principal_row){
        .id = 9, .tenant_id = 1, .tenant = S("acme"), .name = S("bob"), .token_expires_ms = expiry};
    return 0;
}

static void tokens_expire(void **state)
{
    (void)state;
    struct store_ops ops = *f.bst.ops;
    ops.token_find = find_expiring;
    f.bst.ops = &ops;
    const struct principal *who;
    expiry = clock_wall_ms() - 1;
    FAILS(&f, E_UNAUTH, RES_NONE, "expired", load("old", &who));
    assert_null(cat_token_peek(f.cat, S("old")));
    expiry = clock_wall_ms() + 60000;
    OK(&f, load("new", &who));
    assert_string_equal(who->name, "bob");
    assert_ptr_equal(cat_token_peek(f.cat, S("new")), who);
    clock_wall_shift_ms(61000);
    assert_null(cat_token_peek(f.cat, S("new")));
    FAILS(&f, E_UNAUTH, RES_NONE, "expired", load("new", &who));
    expiry = clock_wall_ms() + 60000; /* made longer in the store meanwhile */
    OK(&f, load("new", &who));
    assert_non_null(cat_token_peek(f.cat, S("new")));
    clock_wall_shift_ms(0);
    expiry = 0; /* never */
    OK(&f, load("forever", &who));
    assert_non_null(cat_token_peek(f.cat, S("forever")));
}

static void no_memory_for_a_token(void **state)
{
    (void)state;
    fx_close(&f);
    OK(&f, fx_open(&f));
    struct store_ops ops = *f.bst.ops;
    ops.token_find = find_expiring;
    f.bst.ops = &ops;
    expiry = 0;
    const struct principal *who;
    for (long n = 1;; n++) {
        struct ctx cx;
        fx_begin(&cx);
        mem_fail_at(n, 0);
        int rc = cat_token_load(&cx, f.cat, S("mine"), &who);
        mem_fail_at(0, 0);
        if (fx_end(&f, &cx, rc) == 0)
            break;
        assert_int_equal(rc, E_NOMEM);
        assert_null(cat_token_peek(f.cat, S("mine")));
        assert_true(n < 100);
    }
    assert_ptr_equal(cat_token_peek(f.cat, S("mine")), who);
}

static _Atomic long bad;
static const struct principal *_Atomic first;

static void *loader(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++) {
        struct ctx cx;
        const struct principal *who = NULL;
        fx_begin(&cx);
        if (!(i & 3) && cat_token_load(&cx, f.cat, S(FX_TOKEN), &who) < 0)
            bad++;
        if (!who)
            who = cat_token_peek(f.cat, S(FX_TOKEN));
        const struct principal *none = NULL;
        if (who && !atomic_compare_exchange_strong(&first, &none, who) && none != who)
            bad++;
        ctx_done(&cx);
    }
    return NULL;
}

static void many_threads_and_one_token(void **state)
{
    (void)state;
    pthread_t t[4];
    first = NULL;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, loader, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(bad, 0);
    assert_non_null(first);
}

/* --- warehouses ------------------------------------------------------------------------------- */

static int find(const struct principal *who, const char *name, const struct warehouse **ret)
{
    struct ctx cx;
    fx_begin(&cx);
    return fx_end(&f, &cx, cat_warehouse_find(&cx, f.cat, who, str_of(name), ret));
}

static void warehouses_by_prefix_and_name(void **state)
{
    (void)state;
    const struct warehouse *w = NULL;
    struct principal stranger = {.id = 5, .tenant_id = 2, .tenant = "evil", .name = "eve"};
    SAME(warehouse_prefix(f.w), S("acme.wh"));
    SAME(warehouse_name(f.w), S("wh"));
    SAME(warehouse_root(f.w), str_of(f.root));
    SAME(warehouse_options(f.w), S("{}"));
    assert_ptr_equal(cat_warehouse(f.cat, f.who, S("acme.wh")), f.w);
    assert_null(cat_warehouse(f.cat, f.who, S("acme.other")));
    assert_null(cat_warehouse(f.cat, f.who, S("wh")));
    assert_null(cat_warehouse(f.cat, f.who, S("")));
    assert_null(cat_warehouse(f.cat, &stranger, S("acme.wh"))); /* does not exist for others */
    OK(&f, find(f.who, "wh", &w));
    assert_ptr_equal(w, f.w);
    OK(&f, find(f.who, "", &w)); /* the only one */
    assert_ptr_equal(w, f.w);
    OK(&f, find(f.who, "%77h", &w)); /* encoded once more by the client */
    assert_ptr_equal(w, f.w);
    FAILS(&f, E_NOTFOUND, RES_NONE, "no warehouse 'x'", find(f.who, "x", &w));
    FAILS(&f, E_NOTFOUND, RES_NONE, "no warehouse '%zz'", find(f.who, "%zz", &w));
    FAILS(&f, E_NOTFOUND, RES_NONE, "no warehouse", find(&stranger, "wh", &w));
    FAILS(&f, E_NOTFOUND, RES_NONE, "no warehouse", find(&stranger, "", &w));
}

static struct warehouse_row several[3];

static int three_warehouses(struct store *st, struct ctx *cx, struct warehouse_row **ret, size_t *n)
{
    (void)st;
    (void)cx;
    *ret = several;
    *n = 3;
    return 0;
}

static void the_default_among_several(void **state)
{
    (void)state;
    const struct warehouse *w = NULL;
    struct principal one = {.tenant_id = 1}, two = {.tenant_id = 2}, three = {.tenant_id = 3};
    several[0] = (struct warehouse_row){1, 1, S("acme"), S("lake"), S("/l"), S("{}"), 1};
    several[1] = (struct warehouse_row){2, 1, S("acme"), S("default"), S("/d"), S(""), 1};
    several[2] =
        (struct warehouse_row){3, 2, S("other"), S("lake"), S("/o"), S("{\"a\":\"b\"}"), 1};
    fx_close(&f);
    struct store_ops ops = *f.bst.ops;
    ops.warehouses = three_warehouses;
    f.bst.ops = &ops;
    OK(&f, fx_open(&f));
    OK(&f, find(&one, "", &w));
    SAME(warehouse_name(w), S("default"));
    SAME(warehouse_options(w), S("{}"));
    OK(&f, find(&one, "lake", &w));
    SAME(warehouse_root(w), S("/l"));
    OK(&f, find(&two, "", &w));
    SAME(warehouse_root(w), S("/o"));
    OK(&f, find(&two, "lake", &w));
    SAME(warehouse_prefix(w), S("other.lake"));
    FAILS(&f, E_NOTFOUND, RES_NONE, "no warehouse", find(&two, "default", &w));
    FAILS(&f, E_NOTFOUND, RES_NONE, "no warehouse", find(&three, "", &w));
    assert_null(cat_warehouse(f.cat, &two, S("acme.lake")));
    assert_non_null(cat_warehouse(f.cat, &one, S("acme.lake")));
    several[1].name = S("none"); /* no default: then there is none */
    fx_close(&f);
    OK(&f, fx_open(&f));
    FAILS(&f, E_NOTFOUND, RES_NONE, "no warehouse", find(&one, "", &w));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(the_first_start_is_made_once),
        T(names_that_clients_could_not_use),
        T(a_token_is_a_sha256),
        T(a_known_token_is_kept_in_memory),
        T(unknown_tokens),
        T(tokens_expire),
        T(no_memory_for_a_token),
        T(many_threads_and_one_token),
        T(warehouses_by_prefix_and_name),
        T(the_default_among_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
