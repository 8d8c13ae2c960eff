/* test_config.c - settings: precedence, ranges, unknown keys, the example file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "proto/base/log.h"
#include "server/config.h"
#include "server/config_value.h"

#define FILE_NAME "/tmp/latch-test-config.conf"

static struct ctx cx;
static struct config *made;
static char log_name[] = "/tmp/latch-test-config-log-XXXXXX";
static int log_fd = -1;

static int setup(void **state)
{
    (void)state;
    ctx_init(&cx, 1 << 22);
    made = NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    config_free(made);
    ctx_done(&cx);
    unlink(FILE_NAME);
    return 0;
}

static void write_file(const char *text)
{
    int fd = open(FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* Flags as one text, parted by blanks. */
static int load(const char *file, const char *const *env, const char *flags)
{
    static const char *argv[16];
    int argc = 0;
    if (file) {
        write_file(file);
        argv[argc++] = "--config=" FILE_NAME;
    }
    str rest = str_of(flags), one;
    while (rest.len && str_split(&rest, ' ', &one))
        argv[argc++] = str_dupz(&cx.arena, one);
    config_free(made);
    made = NULL;
    struct config_in in = {argv, argc, env};
    return config_load(&cx, &in, &made);
}

#define ENV(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_says(const char *part)
{
    if (!strstr(cx.err.msg, part))
        fail_msg("\"%s\" is not in \"%s\"", part, cx.err.msg);
}

static void assert_refused(int rc, const char *part)
{
    assert_int_equal(rc, E_INVAL);
    assert_null(made);
    assert_says(part);
}

static void test_defaults(void **state)
{
    (void)state;
    assert_int_equal(load(NULL, ENV("LATCH_CONFIG="), ""), 0);
    assert_true(str_eqz(made->listen, "127.0.0.1:8181"));
    assert_true(str_eqz(made->data_dir, "latch-data"));
    assert_int_equal(made->ready_file.len, 0);
    assert_true(str_eqz(made->database_suffix, ".db"));
    assert_int_equal(made->dir_mode, 02775);
    assert_int_equal(made->file_mode, 0664);
    assert_int_equal(made->commit_sync, 1);
    assert_int_equal(made->body_max, 64 * MIB);
    assert_int_equal(made->body_max_small, 1 * MIB);
    assert_int_equal(made->outcome_keep_ms, 24 * 3600 * 1000);
    assert_int_equal(made->outcome_max, 100000);
    assert_int_equal(made->log_level, LOG_INFO);
    assert_int_equal(made->log_access, 0);
    assert_true(str_eqz(made->origin[SET_listen], "default"));
}

/* Every default lies in its own range, and is written the way values are written. */
static void test_defaults_are_canonical(void **state)
{
    (void)state;
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *s = &settings[i];
        struct value v;
        assert_int_equal(value_parse(&cx, s, str_of(s->dflt), &v), 0);
        assert_true(s->help[0] != 0 && s->help[strlen(s->help) - 1] == '.');
        if (s->type == T_STR || s->type == T_PATH || strcmp(s->key, "commit.timeout") == 0 ||
            strcmp(s->key, "outcome.keep") == 0)
            continue;
        CLEANUP(buf_done) struct buf b = {0};
        value_format(&b, s, v.i);
        assert_string_equal(buf_z(&b), s->dflt);
    }
}

static void test_no_two_settings_share_a_variable(void **state)
{
    (void)state;
    for (int i = 0; i < SETTING_COUNT; i++)
        for (int j = 0; j < i; j++) {
            CLEANUP(buf_done) struct buf a = {0}, b = {0};
            config_env_name(&a, settings[i].key);
            config_env_name(&b, settings[j].key);
            assert_string_not_equal(buf_z(&a), buf_z(&b));
        }
}

static void test_precedence(void **state)
{
    (void)state;
    const char *file = "# a comment\n\n  http.threads = 3   # and another\nqueue.max=10\r\n"
                       "store.queue-max = 5\nlog.level = debug\n";
    assert_int_equal(load(file, ENV("LATCH_QUEUE_MAX=20", "LATCH_STORE_QUEUE_MAX=6", "PATH=/bin"),
                          "--store.queue-max 7 --log.level=error"),
                     0);
    assert_int_equal(made->http_threads, 3);
    assert_int_equal(made->queue_max, 20);
    assert_int_equal(made->store_queue_max, 7);
    assert_int_equal(made->log_level, LOG_ERROR);
    assert_int_equal(made->worker_threads, 8);
    assert_true(str_eqz(made->origin[SET_http_threads], FILE_NAME " line 3"));
    assert_true(str_eqz(made->origin[SET_queue_max], "variable LATCH_QUEUE_MAX"));
    assert_true(str_eqz(made->origin[SET_store_queue_max], "flag --store.queue-max"));
    assert_true(str_eqz(made->file, FILE_NAME));
}

static void test_set_to_nothing_is_set(void **state)
{
    (void)state;
    assert_int_equal(
        load("warehouse.database-suffix = .x\n", ENV("LATCH_WAREHOUSE_DATABASE_SUFFIX="), ""), 0);
    assert_int_equal(made->database_suffix.len, 0);
    assert_int_equal(load("warehouse.database-suffix =\n", ENV("A=b"), ""), 0);
    assert_int_equal(made->database_suffix.len, 0);
    assert_refused(load(NULL, ENV("LATCH_HTTP_THREADS="), ""), "1 to 64");
    assert_says("variable LATCH_HTTP_THREADS");
}

static void test_the_last_flag_wins(void **state)
{
    (void)state;
    assert_int_equal(load(NULL, ENV("A=b"), "--http.threads 2 --http.threads=9"), 0);
    assert_int_equal(made->http_threads, 9);
}

static void test_unknown_keys(void **state)
{
    (void)state;
    assert_refused(load(NULL, ENV("A=b"), "--lisen 1"), "--listen");
    assert_refused(load(NULL, ENV("A=b"), "--lisen=1"), "--listen");
    assert_refused(load("http.body_max = 1\n", ENV("A=b"), ""), "http.body-max");
    assert_says(" line 1");
    assert_refused(load(NULL, ENV("A=b"), "listen"), "no flag");
    assert_refused(load(NULL, ENV("A=b"), "-x"), "no flag");
    assert_refused(load(NULL, ENV("A=b"), "--"), "no flag");
    assert_refused(load(NULL, ENV("A=b"), "--listen"), "needs a value");
    assert_refused(load("no equals sign\n", ENV("A=b"), ""), "key = value");
    assert_refused(load("= 1\n", ENV("A=b"), ""), "key = value");
    assert_refused(load("queue.max = 1\n\nqueue.max = 2\n", ENV("A=b"), ""), "line 3");
}

static void test_nearest(void **state)
{
    (void)state;
    assert_string_equal(config_nearest(STR_LIT("data_dir"))->key, "data-dir");
    assert_string_equal(config_nearest(STR_LIT("thread"))->key, "http.threads");
    assert_string_equal(config_nearest(STR_LIT("DRAIN_TIMEOUTT"))->key, "drain.timeout");
    assert_string_equal(config_nearest(STR_LIT("body-max-smal"))->key, "http.body-max-small");
    assert_string_equal(config_nearest(STR_LIT("listne"))->key, "listen");
    assert_string_equal(config_nearest(STR_LIT("drain.timeouts"))->key, "drain.timeout");
    char longer[200];
    memset(longer, 'x', sizeof(longer));
    assert_non_null(config_nearest(str_n(longer, sizeof(longer))));
    assert_non_null(config_nearest(STR_LIT("")));
    assert_null(config_find(STR_LIT("")));
    assert_null(config_find(STR_LIT("listen.")));
}

static void test_ranges(void **state)
{
    (void)state;
    const char *bad[][2] = {{"--http.threads=0", "1 to 64"},
                            {"--http.threads=65", "1 to 64"},
                            {"--http.threads=x", "1 to 64"},
                            {"--http.threads=1.5", "1 to 64"},
                            {"--http.threads=", "1 to 64"},
                            {"--http.threads=99999999999999999999", "1 to 64"},
                            {"--commit.sync=some", "off, metadata, all"},
                            {"--commit.sync=", "off, metadata, all"},
                            {"--log.level=trace", "debug, info, warn, error"},
                            {"--warehouse.dir-mode=0778", "0700 to 7777"},
                            {"--warehouse.dir-mode=0077", "0700 to 7777"},
                            {"--warehouse.dir-mode=17777", "0700 to 7777"},
                            {"--warehouse.file-mode=rw", "0600 to 0777"},
                            {"--http.body-max=2GiB", "64KiB to 1GiB"},
                            {"--http.body-max=64Q", "64KiB to 1GiB"},
                            {"--http.body-max=-1", "64KiB to 1GiB"},
                            {"--http.body-max=9999999999TiB", "64KiB to 1GiB"},
                            {"--commit.timeout=60", "1s to 1h"},
                            {"--commit.timeout=500ms", "1s to 1h"},
                            {"--commit.timeout=2h", "1s to 1h"},
                            {"--log.access=maybe", "true, false"},
                            {"--listen=a", "3 to 300 bytes"},
                            {"--data-dir=", "1 to 4000 bytes"},
                            {"--data-dir=a\xff", "1 to 4000 bytes"},
                            {"--outcome.keep=59s", "1m to 3650d"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_refused(load(NULL, ENV("A=b"), bad[i][0]), bad[i][1]);
        assert_says("flag --");
    }
}

static void test_spellings(void **state)
{
    (void)state;
    assert_int_equal(load(NULL, ENV("LATCH_HTTP_BODY_MAX=64 mb", "LATCH_HTTP_INFLIGHT_MAX=1g"),
                          "--disk.min-free=0 --snapshot.max-size=65536 --store.checkpoint-size=1M "
                          "--commit.timeout=1m --drain.timeout=0 --audit.keep=2D --log.access=ON "
                          "--log.level=WARN --warehouse.dir-mode=770 --http.idle-timeout=1500ms"),
                     0);
    assert_int_equal(made->body_max, 64 * MIB);
    assert_int_equal(made->inflight_max, GIB);
    assert_int_equal(made->disk_min_free, 0);
    assert_int_equal(made->snapshot_max, 65536);
    assert_int_equal(made->checkpoint_size, MIB);
    assert_int_equal(made->commit_timeout_ms, 60000);
    assert_int_equal(made->drain_timeout_ms, 0);
    assert_int_equal(made->audit_keep_ms, 2 * DAY_MS);
    assert_int_equal(made->log_access, 1);
    assert_int_equal(made->log_level, LOG_WARN);
    assert_int_equal(made->dir_mode, 0770);
    assert_int_equal(made->idle_timeout_ms, 1500);
}

static void test_combinations(void **state)
{
    (void)state;
    assert_refused(load(NULL, ENV("A=b"), "--http.inflight-max=1MiB"), "http.inflight-max");
    assert_refused(load(NULL, ENV("A=b"), "--http.body-max=64KiB"), "http.body-max-small");
    assert_refused(load(NULL, ENV("A=b"), "--warehouse.database-suffix=/x"), "database-suffix");
    assert_refused(load(NULL, ENV("A=b"), "--default-warehouse.name=.."), "default-warehouse.name");
    assert_refused(load(NULL, ENV("A=b"), "--default-warehouse.name=a/b"),
                   "default-warehouse.name");
}

/* A wrong line is told even where a later source covers it. */
static void test_covered_values_are_checked(void **state)
{
    (void)state;
    assert_refused(load("http.threads = 0\n", ENV("LATCH_HTTP_THREADS=4"), ""), "line 1");
}

static void test_files(void **state)
{
    (void)state;
    assert_refused(load(NULL, ENV("A=b"), "--config /nonexistent/latch.conf"),
                   "/nonexistent/latch.conf");
    assert_refused(load(NULL, ENV("LATCH_CONFIG=/nonexistent/x"), ""), "/nonexistent/x");
    write_file("http.threads = 5\n");
    assert_int_equal(load(NULL, ENV("LATCH_CONFIG=" FILE_NAME), ""), 0);
    assert_int_equal(made->http_threads, 5);
    assert_int_equal(load(NULL, ENV("LATCH_CONFIG=" FILE_NAME), "--config="), 0);
    assert_int_equal(made->http_threads, 2);
    assert_int_equal(load("listen = a#b:1 # c", ENV("A=b"), ""), 0); /* no blank, no comment */
    assert_true(str_eqz(made->listen, "a#b:1"));
}

static const char *logged(void)
{
    static char text[8192];
    ssize_t n = pread(log_fd, text, sizeof(text) - 1, 0);
    text[n < 0 ? 0 : n] = 0;
    return text;
}

static void log_to_file(void)
{
    if (log_fd < 0) {
        log_fd = mkstemp(log_name);
        unlink(log_name);
    }
    assert_true(log_fd >= 0);
    assert_int_equal(ftruncate(log_fd, 0), 0);
    lseek(log_fd, 0, SEEK_SET);
    log_set_fd(log_fd);
}

static void test_unknown_variables_are_logged(void **state)
{
    (void)state;
    log_to_file();
    assert_int_equal(load(NULL,
                          ENV("LATCH_LISTENN=x", "LATCH_INJECT=y", "LATCH_BOOTSTRAP_TOKEN=secret",
                              "LATCH_INJECT_COUNT=f", "OTHER=z"),
                          ""),
                     0);
    log_set_fd(2);
    assert_non_null(strstr(logged(), "ev=config.unknown_variable variable=LATCH_LISTENN"));
    assert_null(strstr(logged(), "INJECT"));
    assert_null(strstr(logged(), "secret"));
    assert_null(strstr(logged(), "OTHER"));
}

static void test_reload(void **state)
{
    (void)state;
    assert_int_equal(load("log.level = info\nhttp.threads = 2\n", ENV("A=b"), ""), 0);
    struct config *old = made, *c;
    const char *argv[] = {"--config", FILE_NAME};
    struct config_in in = {argv, 2, ENV("A=b")};
    write_file("log.level = debug\nhttp.threads = 4\nhttp.body-max = 2MiB\n");
    log_to_file();
    assert_int_equal(config_reload(&cx, &in, old, &c), 0);
    log_set_fd(2);
    made = c; /* owns old */
    assert_int_equal(c->log_level, LOG_DEBUG);
    assert_int_equal(c->body_max, 2 * MIB);
    assert_int_equal(c->http_threads, 2);
    assert_int_equal(old->log_level, LOG_INFO);
    assert_non_null(strstr(logged(), "ev=config.changed key=log.level old=info new=debug"));
    assert_non_null(strstr(logged(), "ev=config.restart_needed key=http.threads old=2 new=4"));
    assert_null(strstr(logged(), "key=queue.max"));
    write_file("log.level = loud\n");
    assert_int_equal(config_reload(&cx, &in, made, &c), E_INVAL);
    assert_ptr_equal(made->older, old);
}

/* The variable counts at a reload as at the start, so a line of the file below it changes nothing.
 */
static void test_reload_keeps_precedence(void **state)
{
    (void)state;
    assert_int_equal(load("log.level = info\n", ENV("LATCH_LOG_LEVEL=warn"), ""), 0);
    const char *argv[] = {"--config", FILE_NAME};
    struct config_in in = {argv, 2, ENV("LATCH_LOG_LEVEL=warn")};
    struct config *c;
    write_file("log.level = debug\n");
    assert_int_equal(config_reload(&cx, &in, made, &c), 0);
    made = c;
    assert_int_equal(c->log_level, LOG_WARN);
}

static void test_example_file_is_fresh(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf want = {0}, have = {0};
    config_file(&want);
    int fd = open("deploy/latch.conf", O_RDONLY);
    assert_true(fd >= 0);
    char text[4096];
    ssize_t n;
    while ((n = read(fd, text, sizeof(text))) > 0)
        buf_add(&have, text, (size_t)n);
    close(fd);
    if (strcmp(buf_z(&want), buf_z(&have)) != 0)
        fail_msg(
            "deploy/latch.conf is stale; run: build/release/latch help config > deploy/latch.conf");
}

/* With every '#' before a key taken off, the example sets every setting to its default. */
static void test_example_file_loads(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf example = {0}, file = {0};
    config_file(&example);
    str rest = buf_str(&example), line;
    int keys = 0;
    while (str_split(&rest, '\n', &line)) {
        bool key = line.len > 1 && line.p[0] == '#' && line.p[1] != ' ';
        keys += key;
        buf_adds(&file, key ? str_cut(line, 1) : line);
        buf_addc(&file, '\n');
    }
    assert_int_equal(keys, SETTING_COUNT);
    assert_int_equal(load(buf_z(&file), ENV("A=b"), ""), 0);
    for (int i = 0; i < SETTING_COUNT; i++) {
        assert_true(str_eqz(made->text[i], settings[i].dflt));
        assert_false(str_eqz(made->origin[i], "default"));
    }
}

static void test_help_names_all(void **state)
{
    (void)state;
    CLEANUP(buf_done) struct buf b = {0};
    config_help(&b);
    for (int i = 0; i < SETTING_COUNT; i++) {
        char flag[80];
        snprintf(flag, sizeof(flag), "  --%s (default: ", settings[i].key);
        assert_non_null(strstr(buf_z(&b), flag));
    }
    str rest = buf_str(&b), line;
    while (str_split(&rest, '\n', &line))
        assert_true(line.len <= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_defaults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_defaults_are_canonical, setup, teardown),
        cmocka_unit_test(test_no_two_settings_share_a_variable),
        cmocka_unit_test_setup_teardown(test_precedence, setup, teardown),
        cmocka_unit_test_setup_teardown(test_set_to_nothing_is_set, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_last_flag_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nearest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(test_spellings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_combinations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_covered_values_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_variables_are_logged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reload, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reload_keeps_precedence, setup, teardown),
        cmocka_unit_test_setup_teardown(test_example_file_is_fresh, setup, teardown),
        cmocka_unit_test_setup_teardown(test_example_file_loads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_help_names_all, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
