/* test_inject.c - the plan's grammar, each action, the counts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/err.h"
#include "proto/base/inject.h"

static char count_path[] = "/tmp/test_inject.XXXXXX";

static int init(const char *plan, const char *count)
{
    if (plan)
        setenv("LATCH_INJECT", plan, 1);
    else
        unsetenv("LATCH_INJECT");
    if (count)
        setenv("LATCH_INJECT_COUNT", count, 1);
    else
        unsetenv("LATCH_INJECT_COUNT");
    return inject_init();
}

static int setup(void **state)
{
    (void)state;
    int fd = mkstemp(count_path);
    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    (void)state;
    int rc = unlink(count_path);
    memcpy(count_path + sizeof(count_path) - 7, "XXXXXX", 6);
    return init(NULL, NULL) | rc;
}

/* The sum of what the file says about a point; -1: not a word. */
static long counted(const char *point)
{
    FILE *f = fopen(count_path, "r");
    assert_non_null(f);
    char name[64];
    long n, sum = -1;
    while (fscanf(f, "%63s %ld\n", name, &n) == 2)
        if (str_eqz(str_of(name), point))
            sum = sum < 0 ? n : sum + n;
    assert_true(feof(f)); /* nothing else is in it */
    fclose(f);
    return sum;
}

static void is_off_without_a_plan(void **state)
{
    (void)state;
    assert_int_equal(init(NULL, NULL), 0);
    assert_false(inject_armed);
    assert_false(INJECT(PUT_LINKED));
    assert_int_equal(init("", ""), 0);
    assert_false(inject_armed);
    inject_flush(); /* has nowhere to write to */
    assert_int_equal(counted("put.linked"), -1);
}

static void names_its_points(void **state)
{
    (void)state;
    assert_string_equal(inject_name(INJ_COMMIT_PREPARED), "commit.prepared");
    assert_string_equal(inject_name(INJ_IO_WRITE), "io.write");
    assert_null(inject_name(INJ_COUNT));
    for (int a = 0; a < INJ_COUNT; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(inject_name((enum inject_point)a),
                                    inject_name((enum inject_point)b));
}

static void fails_at_the_nth(void **state)
{
    (void)state;
    assert_int_equal(
        init("put.synced=fail:3,io.fsync=fail-all:2,io.write=fail,put.linked=fail-all", NULL), 0);
    for (int hit = 1; hit <= 6; hit++) {
        assert_int_equal(INJECT(PUT_SYNCED), hit == 3);
        assert_int_equal(INJECT(IO_FSYNC), hit >= 2);
        assert_int_equal(INJECT(IO_WRITE), hit == 1);
        assert_true(INJECT(PUT_LINKED));
        assert_false(INJECT(PUT_WRITTEN)); /* not in the plan */
    }
    assert_int_equal(init("put.synced=fail", NULL), 0); /* starts to count anew, forgets the rest */
    assert_true(INJECT(PUT_SYNCED));
    assert_false(INJECT(IO_FSYNC));
}

static void refuses_what_it_does_not_know(void **state)
{
    (void)state;
    static const char *const bad[] = {"put.sinced=fail",
                                      "put.synced",
                                      "put.synced=",
                                      "=fail",
                                      "put.synced=explode",
                                      "put.synced=fail:0",
                                      "put.synced=fail:-1",
                                      "put.synced=fail:",
                                      "put.synced=fail:x",
                                      "put.synced=fail:1:2",
                                      "put.synced=fail:99999999999999999999",
                                      "put.synced=sleep",
                                      "put.synced=sleep-5",
                                      "put.synced=sleepy",
                                      "put.synced=fail,",
                                      ",put.synced=fail",
                                      "put.synced=fail,,io.write=fail",
                                      "put.synced=fail io.write=fail",
                                      " put.synced=fail",
                                      "put.synced=fail,nowhere=kill",
                                      "put.synced=fail,put.synced=kill",
                                      "PUT.SYNCED=fail",
                                      "PUT_SYNCED=fail",
                                      "put.synced=FAIL",
                                      "put.synced=fail-al",
                                      ",",
                                      "="};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(init("put.synced=fail", NULL), 0);
        assert_int_equal(init(bad[i], NULL), E_INVAL);
        assert_false(inject_armed); /* nothing of it is armed, nor what was before */
        assert_false(INJECT(PUT_SYNCED));
    }
    static char longest[5000];
    memset(longest, 'x', sizeof(longest) - 1);
    assert_int_equal(init(NULL, longest), E_INVAL);
}

static void sleeps(void **state)
{
    (void)state;
    assert_int_equal(init("store.commit=sleep30:2", NULL), 0);
    int64_t took_us[4];
    for (int i = 0; i < 4; i++) {
        int64_t start = clock_mono_us();
        assert_false(INJECT(STORE_COMMIT));
        took_us[i] = clock_mono_us() - start;
    }
    for (int i = 1; i < 4; i++)
        assert_true(took_us[i] >= 30000);
    assert_true(took_us[0] < took_us[1] + took_us[2] + took_us[3]);
    assert_int_equal(init("store.commit=sleep0", NULL), 0);
    assert_false(INJECT(STORE_COMMIT));
}

static void counts_without_a_plan(void **state)
{
    (void)state;
    assert_int_equal(init(NULL, count_path), 0);
    for (int i = 0; i < 5; i++)
        assert_false(INJECT(DROP_RECORDED));
    assert_int_equal(counted("drop.recorded"), -1); /* not before the end */
    inject_flush();
    assert_int_equal(counted("drop.recorded"), 5);
    for (int p = 0; p < INJ_COUNT; p++) /* a point that was never hit is there, with 0 */
        assert_int_equal(counted(inject_name((enum inject_point)p)),
                         p == INJ_DROP_RECORDED ? 5 : 0);
    assert_false(INJECT(DROP_RECORDED));
    inject_flush();
    inject_flush();
    assert_int_equal(counted("drop.recorded"), 6); /* each hit is said once */
}

static void counts_do_not_disturb_the_nth(void **state)
{
    (void)state;
    assert_int_equal(init("io.write=fail:3", count_path), 0);
    for (int hit = 1; hit <= 5; hit++) {
        assert_int_equal(INJECT(IO_WRITE), hit == 3);
        inject_flush();
    }
    assert_int_equal(counted("io.write"), 5);
}

static void kills_at_the_nth_and_says_the_counts(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        if (init("commit.created=kill:3", count_path) != 0)
            _exit(2);
        for (int i = 0; i < 10; i++) {
            IGNORE(INJECT(COMMIT_DECIDED));
            IGNORE(INJECT(COMMIT_CREATED));
        }
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(counted("commit.created"), 3);
    assert_int_equal(counted("commit.decided"), 3);
}

static void says_the_counts_at_exit(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        if (init(NULL, count_path) != 0)
            _exit(2);
        IGNORE(INJECT(ALTER_SCHEMA));
        exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(counted("alter.schema"), 1);
}

enum { THREADS = 4, HITS = 5000 };

static void *hit_often(void *arg)
{
    int *failed = arg;
    for (int i = 0; i < HITS; i++)
        *failed += INJECT(PURGE_MOVED);
    return NULL;
}

static void one_thread_gets_the_nth(void **state)
{
    (void)state;
    assert_int_equal(init("purge.moved=fail:7777", count_path), 0);
    pthread_t ids[THREADS];
    int failed[THREADS] = {0}, sum = 0;
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&ids[t], NULL, hit_often, &failed[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(ids[t], NULL), 0);
        sum += failed[t];
    }
    assert_int_equal(sum, 1);
    inject_flush();
    assert_int_equal(counted("purge.moved"), THREADS * HITS);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(is_off_without_a_plan),
        T(names_its_points),
        T(fails_at_the_nth),
        T(refuses_what_it_does_not_know),
        T(sleeps),
        T(counts_without_a_plan),
        T(counts_do_not_disturb_the_nth),
        T(kills_at_the_nth_and_says_the_counts),
        T(says_the_counts_at_exit),
        T(one_thread_gets_the_nth),
    };
    return cmocka_run_group_tests_name("inject", tests, NULL, NULL);
}
