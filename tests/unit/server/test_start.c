/* test_start.c - the pieces of a start: address, data directory, lock, first token. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/hash.h"
#include "server/bootstrap.h"
#include "server/datadir.h"
#include "server/listen.h"

static struct ctx cx;
static char root[] = "/tmp/latch-test-start-XXXXXX";

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 1 << 24);
    memcpy(root + sizeof(root) - 7, "XXXXXX", 6);
    return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char cmd[128];
    snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
    ctx_done(&cx);
    return system(cmd);
}

static str below(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    return str_dup(&cx.arena, str_of(path));
}

static unsigned mode_of(str path)
{
    struct stat st;
    return stat(path.p, &st) == 0 ? st.st_mode & 07777 : 0;
}

static str content(str path)
{
    char text[1024];
    int fd = open(path.p, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (fd >= 0)
        close(fd);
    return n < 0 ? STR_NONE : str_dup(&cx.arena, str_n(text, (size_t)n));
}

/* --- the address ------------------------------------------------------------------------------ */

static void test_listen_parse(void **state)
{
    (void)state;
    const char *good[][3] = {{"127.0.0.1:8181", "127.0.0.1", "8181"},
                             {"[::1]:0", "::1", "0"},
                             {"[::]:65535", "::", "65535"},
                             {"localhost:1", "localhost", "1"}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        str host, port;
        assert_int_equal(listen_parse(&cx, str_of(good[i][0]), &host, &port), 0);
        assert_true(str_eqz(host, good[i][1]) && str_eqz(port, good[i][2]));
    }
    const char *bad[] = {"",       ":",     ":80",  "host",     "host:",      "::1:80",
                         "[::1]",  "[]:80", "[:80", "host:-1",  "host:65536", "host:99999999999",
                         "host:x", "[::1",  "h:8 ", "host: 80", "1.2.3.4:8:9"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        str host, port;
        if (listen_parse(&cx, str_of(bad[i]), &host, &port) != E_INVAL)
            fail_msg("\"%s\" was taken", bad[i]);
    }
}

static void assert_url(const char *listen, const char *start)
{
    CLEANUP(buf_done) struct buf url = {0};
    int fd = -1;
    assert_int_equal(listen_open(&cx, str_of(listen), &fd, &url), 0);
    if (strncmp(buf_z(&url), start, strlen(start)) != 0)
        fail_msg("%s gives %s", listen, buf_z(&url));
    int64_t port = 0;
    assert_true(str_to_i64(str_cut(buf_str(&url), strlen(start)), &port));
    assert_true(port > 0 && port <= 65535);
    close(fd);
}

static void test_listen_open(void **state)
{
    (void)state;
    assert_url("127.0.0.1:0", "http://127.0.0.1:");
    assert_url("0.0.0.0:0", "http://127.0.0.1:");
}

static void test_port_in_use(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf url = {0}, other = {0};
    int fd, fd2;
    assert_int_equal(listen_open(&cx, STR_LIT("127.0.0.1:0"), &fd, &url), 0);
    assert_int_equal(listen_open(&cx, str_cut(buf_str(&url), 7), &fd2, &other), E_IO);
    assert_non_null(strstr(cx.err.msg, "in use"));
    close(fd);
}

/* --- the data directory ----------------------------------------------------------------------- */

static void test_datadir_is_made(void **state)
{
    (void)state;
    struct datadir d;
    umask(022);
    assert_int_equal(datadir_open(&cx, below("a/b/data"), &d), 0);
    assert_int_equal(mode_of(below("a/b/data")), 0711);
    assert_int_equal(mode_of(below("a/b")), 0755);
    assert_int_equal(mode_of(below("a/b/data/latch.lock")), 0600);
    assert_true(str_eq(d.path, below("a/b/data")));
    assert_int_equal(umask(022), 077);
    char pid[32];
    snprintf(pid, sizeof(pid), "%d\n", getpid());
    assert_true(str_eqz(content(below("a/b/data/latch.lock")), pid));
    datadir_close(&d);
}

static void test_datadir_of_others_keeps_its_mode(void **state)
{
    (void)state;
    struct datadir d;
    assert_int_equal(mkdir(below("mine").p, 0700), 0);
    assert_int_equal(datadir_open(&cx, below("mine"), &d), 0);
    assert_int_equal(mode_of(below("mine")), 0700);
    datadir_close(&d);
}

static void test_datadir_refuses_a_file(void **state)
{
    (void)state;
    struct datadir d;
    assert_int_equal(file_replace(&cx, below("file"), STR_LIT("x"), 0600), 0);
    assert_int_equal(datadir_open(&cx, below("file"), &d), E_IO);
    assert_int_equal(datadir_open(&cx, below("file/below"), &d), E_IO);
}

/* flock belongs to the open file, so a second one of this process is refused like another's. */
static void test_lock(void **state)
{
    (void)state;
    struct datadir first, second;
    assert_int_equal(datadir_open(&cx, below("data"), &first), 0);
    assert_int_equal(datadir_open(&cx, below("data"), &second), E_BUSY);
    char pid[64];
    snprintf(pid, sizeof(pid), "by the process %d;", getpid());
    assert_non_null(strstr(cx.err.msg, pid));
    datadir_close(&first);
    assert_int_equal(datadir_open(&cx, below("data"), &second), 0);
    datadir_close(&second);
}

/* A dead daemon's lock is free, whatever the file says. */
static void test_lock_of_a_dead_process(void **state)
{
    (void)state;
    struct datadir d;
    pid_t child = fork();
    if (child == 0)
        _exit(datadir_open(&cx, below("data"), &d) == 0 ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(content(below("data/latch.lock")).len > 1);
    assert_int_equal(datadir_open(&cx, below("data"), &d), 0);
    datadir_close(&d);
}

static void test_file_replace(void **state)
{
    (void)state;
    umask(077);
    assert_int_equal(file_replace(&cx, below("f"), STR_LIT("one"), 0644), 0);
    assert_int_equal(mode_of(below("f")), 0644);
    assert_int_equal(file_replace(&cx, below("f"), STR_LIT("2"), 0600), 0);
    assert_int_equal(mode_of(below("f")), 0600);
    assert_true(str_eqz(content(below("f")), "2"));
    assert_int_equal(file_replace(&cx, below("none/f"), STR_LIT("x"), 0600), E_IO);
    char cmd[128];
    snprintf(cmd, sizeof(cmd), "test $(ls -A %s | wc -l) = 1",
             root); /* no temporary file is left */
    assert_int_equal(system(cmd), 0);
}

/* --- the first start -------------------------------------------------------------------------- */

static struct config *config_of(const char *flag)
{
    const char *argv[] = {"--config=", flag};
    struct config_in in = {argv, flag ? 2 : 1, NULL};
    struct config *c = NULL;
    assert_int_equal(config_load(&cx, &in, &c), 0);
    return c;
}

static void test_token_ok(void **state)
{
    (void)state;
    assert_true(bootstrap_token_ok(STR_LIT("0123456789abcdef")));
    assert_true(bootstrap_token_ok(STR_LIT("AZaz09-._~+/=AZaz")));
    const char *bad[] = {"",
                         "0123456789abcde",
                         "0123456789abcde ",
                         "0123456789abcde\n",
                         "0123456789\"bcdef",
                         "0123456789abcde\xc3\xa4"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(bootstrap_token_ok(str_of(bad[i])));
    char longer[513];
    memset(longer, 'a', sizeof(longer));
    assert_true(bootstrap_token_ok(str_n(longer, 512)));
    assert_false(bootstrap_token_ok(str_n(longer, 513)));
}

static void assert_knows(struct store *st, str token)
{
    uint8_t hash[SHA256_LEN];
    struct principal_row row;
    cat_token_hash(token, hash);
    assert_int_equal(STORE(st, token_find, &cx, hash, &row), 0);
    assert_true(str_eqz(row.name, "root") && str_eqz(row.tenant, "default"));
}

static void test_first_start_makes_a_token(void **state)
{
    (void)state;
    struct datadir d;
    struct store *st;
    struct bootstrap_out out;
    struct config *c = config_of(NULL);
    unsetenv(BOOTSTRAP_TOKEN_VARIABLE);
    assert_int_equal(store_mem_new(&cx, &st), 0);
    assert_int_equal(datadir_open(&cx, below("data"), &d), 0);
    assert_int_equal(bootstrap(&cx, c, &d, st, &out), 0);
    assert_true(out.made);
    assert_true(str_eq(out.token_file, below("data/root.token")));
    assert_int_equal(mode_of(out.token_file), 0600);
    str token = str_trim(content(out.token_file));
    assert_int_equal(token.len, 64);
    assert_knows(st, token);

    struct warehouse_row *rows;
    size_t n;
    assert_int_equal(STORE(st, warehouses, &cx, &rows, &n), 0);
    assert_int_equal(n, 1);
    assert_true(str_eqz(rows[0].name, "default") && str_eq(rows[0].root, below("data/warehouse")));

    CLEANUP(buf_done) struct buf paste = {0};
    bootstrap_paste(&paste, c, &out, STR_LIT("http://h:1"));
    assert_null(strstr(buf_z(&paste), str_dupz(&cx.arena, token)));
    assert_non_null(strstr(buf_z(&paste), out.token_file.p));
    assert_non_null(strstr(buf_z(&paste), "http://h:1"));

    assert_int_equal(bootstrap(&cx, c, &d, st, &out), 0); /* the second start */
    assert_false(out.made);
    assert_true(str_eq(str_trim(content(below("data/root.token"))), token));
    st->ops->free(st);
    datadir_close(&d);
    config_free(c);
}

static void test_first_start_takes_the_variable(void **state)
{
    (void)state;
    struct datadir d;
    struct store *st;
    struct bootstrap_out out;
    struct config *c = config_of("--default-warehouse.root=relative/wh");
    setenv(BOOTSTRAP_TOKEN_VARIABLE, "a-token-of-sixteen", 1);
    assert_int_equal(store_mem_new(&cx, &st), 0);
    assert_int_equal(datadir_open(&cx, below("data"), &d), 0);
    assert_int_equal(bootstrap(&cx, c, &d, st, &out), 0);
    assert_true(out.made);
    assert_int_equal(out.token_file.len, 0);
    assert_null(content(below("data/root.token")).p);
    assert_null(getenv(BOOTSTRAP_TOKEN_VARIABLE));
    assert_knows(st, STR_LIT("a-token-of-sixteen"));

    struct warehouse_row *rows;
    size_t n;
    assert_int_equal(STORE(st, warehouses, &cx, &rows, &n), 0);
    char cwd[2000], want[2100];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(want, sizeof(want), "%s/relative/wh", cwd);
    assert_true(str_eqz(rows[0].root, want));
    st->ops->free(st);
    datadir_close(&d);
    config_free(c);
}

static void assert_no_start(const char *token, const char *flag)
{
    struct datadir d;
    struct store *st;
    struct bootstrap_out out;
    struct config *c = config_of(flag);
    bool empty = false;
    if (token)
        setenv(BOOTSTRAP_TOKEN_VARIABLE, token, 1);
    assert_int_equal(store_mem_new(&cx, &st), 0);
    assert_int_equal(datadir_open(&cx, below("data"), &d), 0);
    assert_int_equal(bootstrap(&cx, c, &d, st, &out), E_INVAL);
    assert_int_equal(STORE(st, is_empty, &cx, &empty), 0);
    assert_true(empty);
    assert_null(getenv(BOOTSTRAP_TOKEN_VARIABLE));
    st->ops->free(st);
    datadir_close(&d);
    config_free(c);
}

static void test_bad_first_starts_leave_nothing(void **state)
{
    (void)state;
    assert_no_start("short", NULL);
    assert_no_start("", NULL); /* set to nothing is set */
    assert_no_start("a token with blanks", NULL);
    assert_no_start(NULL, "--default-warehouse.root=/a/../b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_listen_parse, setup, teardown),
        cmocka_unit_test_setup_teardown(test_listen_open, setup, teardown),
        cmocka_unit_test_setup_teardown(test_port_in_use, setup, teardown),
        cmocka_unit_test_setup_teardown(test_datadir_is_made, setup, teardown),
        cmocka_unit_test_setup_teardown(test_datadir_of_others_keeps_its_mode, setup, teardown),
        cmocka_unit_test_setup_teardown(test_datadir_refuses_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lock_of_a_dead_process, setup, teardown),
        cmocka_unit_test_setup_teardown(test_file_replace, setup, teardown),
        cmocka_unit_test_setup_teardown(test_token_ok, setup, teardown),
        cmocka_unit_test_setup_teardown(test_first_start_makes_a_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_first_start_takes_the_variable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_first_starts_leave_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
