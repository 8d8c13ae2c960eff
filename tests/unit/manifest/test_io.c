/* test_io.c - io.h's contract against both implementations, then what only a disk (links, modes,
 * syncs, a full disk) and only memory (a power loss) can show.
 *
 * System calls that are hard to make fail are replaced here: a definition in the program wins over
 * libc's. Every test ends with a check that no descriptor and no temporary file is left. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "manifest/io/io.h"
#include "manifest/io/io_local_int.h" /* for the second line of defence */
#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/mem.h"

#define ARENA_MAX ((size_t)1 << 20)

/* --- system calls ----------------------------------------------------------------------------- */

static struct {
    int link_errno;   /* linkat answers this; 0: as it is */
    bool link_first;  /* ... after it did its work, as NFS may when the answer is lost */
    bool link_lies;   /* linkat does nothing and answers 0 */
    int rename_errno; /* renameat2 with a flag answers this */
    bool rename_first;
    int fstat_errno;
    off_t size_off; /* added to the size that fstat tells */
    int rmdir_race; /* so many times a file appears in a directory just before its rmdir */
    int fdatasync_errno, fsync_dir_errno;
    int eintr;                        /* so many fsyncs are interrupted first */
    int openat2_errno, openat2_again; /* always; the next so many answer EAGAIN */
    int read_errno, write_errno;      /* once */
    size_t io_max;                    /* read and write do at most so many bytes a call */
    bool no_types;                    /* readdir does not tell what an entry is */
    bool trace;
    char calls[4096]; /* the trace */
} hook;

#define REAL(fn) ((__typeof__(&fn))dlsym(RTLD_NEXT, #fn))

static void trace(const char *call, const char *what)
{
    size_t len = strlen(hook.calls);
    if (hook.trace)
        snprintf(hook.calls + len, sizeof(hook.calls) - len, "%s(%s) ", call, what);
}

static void trace_fd(const char *call, int fd)
{
    char link[64], path[PATH_MAX] = "";
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = hook.trace ? readlink(link, path, sizeof(path) - 1) : -1;
    const char *name = n > 0 ? strrchr(path, '/') + 1 : "";
    trace(call, name[0] == '.' ? "tmp" : name);
}

int linkat(int from, const char *a, int to, const char *b, int flags)
{
    trace("linkat", b);
    if (hook.link_lies)
        return 0;
    if (hook.link_errno && !hook.link_first) {
        errno = hook.link_errno;
        return -1;
    }
    int rc = REAL(linkat)(from, a, to, b, flags);
    if (rc == 0 && hook.link_errno) {
        errno = hook.link_errno;
        return -1;
    }
    return rc;
}

int renameat2(int from, const char *a, int to, const char *b, unsigned flags)
{
    if (hook.rename_errno && !hook.rename_first) {
        errno = hook.rename_errno;
        return -1;
    }
    int rc = REAL(renameat2)(from, a, to, b, flags);
    if (rc == 0 && hook.rename_errno) {
        errno = hook.rename_errno;
        return -1;
    }
    return rc;
}

int fstat(int fd, struct stat *st)
{
    if (hook.fstat_errno) {
        errno = hook.fstat_errno;
        return -1;
    }
    int rc = REAL(fstat)(fd, st);
    if (rc == 0)
        st->st_size += hook.size_off;
    return rc;
}

static bool is_dir_fd(int fd)
{
    struct stat st;
    return REAL(fstat)(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

int fsync(int fd)
{
    if (hook.eintr > 0) {
        hook.eintr--;
        errno = EINTR;
        return -1;
    }
    trace_fd("fsync", fd);
    if (hook.fsync_dir_errno && is_dir_fd(fd)) {
        errno = hook.fsync_dir_errno;
        return -1;
    }
    return REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    trace_fd("fdatasync", fd);
    if (hook.fdatasync_errno) {
        errno = hook.fdatasync_errno;
        return -1;
    }
    return REAL(fdatasync)(fd);
}

long syscall(long number, ...)
{
    va_list ap;
    va_start(ap, number);
    long a = va_arg(ap, long), b = va_arg(ap, long), c = va_arg(ap, long), d = va_arg(ap, long);
    va_end(ap);
    if (number == SYS_openat2 && (hook.openat2_errno || hook.openat2_again > 0)) {
        errno = hook.openat2_errno ? hook.openat2_errno : EAGAIN;
        hook.openat2_again--;
        return -1;
    }
    return REAL(syscall)(number, a, b, c, d);
}

static bool fails_once(int *sys)
{
    if (*sys == 0)
        return false;
    errno = *sys;
    *sys = 0;
    return true;
}

ssize_t read(int fd, void *p, size_t n)
{
    if (fails_once(&hook.read_errno))
        return -1;
    return REAL(read)(fd, p, hook.io_max && n > hook.io_max ? hook.io_max : n);
}

ssize_t write(int fd, const void *p, size_t n)
{
    if (fails_once(&hook.write_errno))
        return -1;
    return REAL(write)(fd, p, hook.io_max && n > hook.io_max ? hook.io_max : n);
}

struct dirent *readdir(DIR *d)
{
    struct dirent *e = REAL(readdir)(d);
    if (e && hook.no_types)
        e->d_type = DT_UNKNOWN;
    return e;
}

int unlinkat(int dir, const char *name, int flags)
{
    if (flags & AT_REMOVEDIR && hook.rmdir_race > 0) {
        hook.rmdir_race--;
        int d = openat(dir, name, O_RDONLY | O_DIRECTORY);
        int f = openat(d, "late", O_CREAT | O_WRONLY, 0600);
        close(f);
        close(d);
    }
    trace("unlinkat", name[0] == '.' ? "tmp" : name);
    return REAL(unlinkat)(dir, name, flags);
}

/* --- the fixture ------------------------------------------------------------------------------ */

struct fx {
    struct ctx cx;
    struct io *io;
    char top[64];  /* a directory of our own */
    char root[96]; /* <top>/wh, made by io_local_new */
    bool mem;
    int fds; /* open before */
};

static int count_fds(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static struct io_local_opts opts(const struct fx *f)
{
    return (struct io_local_opts){.root = str_of(f->root), .dir_mode = 02775, .file_mode = 0664};
}

static struct fx *fx_new(void)
{
    struct fx *f = calloc(1, sizeof(*f));
    ctx_init(&f->cx, ARENA_MAX);
    f->fds = count_fds();
    snprintf(f->top, sizeof(f->top), "/tmp/latch-io-XXXXXX");
    if (!mkdtemp(f->top) || chmod(f->top, 0755) != 0)
        return NULL;
    snprintf(f->root, sizeof(f->root), "%s/wh", f->top);
    return f;
}

static int set_up_local(void **state)
{
    struct fx *f = fx_new();
    struct io_local_opts o = f ? opts(f) : (struct io_local_opts){0};
    *state = f;
    return f && io_local_new(&f->cx, &o, &f->io) == 0 ? 0 : -1;
}

/* Only the directory: the test opens the root. */
static int set_up_bare(void **state)
{
    *state = fx_new();
    return *state ? 0 : -1;
}

static int set_up_mem(void **state)
{
    struct fx *f = fx_new();
    *state = f;
    if (!f)
        return -1;
    f->mem = true;
    return io_mem_new(&f->cx, &f->io) == 0 ? 0 : -1;
}

static int temps;

static int remove_each(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    temps += str_ends(str_of(path), STR_LIT(".tmp"));
    return remove(path);
}

static int tear_down(void **state)
{
    struct fx *f = *state;
    memset(&hook, 0, sizeof(hook));
    mem_fail_at(0, 0);
    unsetenv("LATCH_INJECT");
    int rc = inject_init();
    io_free(f->io);
    ctx_done(&f->cx);
    if (count_fds() != f->fds) {
        print_error("%d descriptors before, %d after\n", f->fds, count_fds());
        rc = -1;
    }
    temps = 0;
    if (nftw(f->top, remove_each, 16, FTW_DEPTH | FTW_PHYS) != 0 || temps != 0) {
        print_error("%d temporary files are left in %s\n", temps, f->top);
        rc = -1;
    }
    free(f);
    return rc;
}

static void expect_at(struct fx *f, int rc, int code, const char *expr, int line)
{
    if (rc != code)
        fail_msg("line %d: %s is %s, not %s (%s)", line, expr, rc ? err_name(rc) : "0",
                 code ? err_name(code) : "0", f->cx.err.msg);
    if (code < 0 && (f->cx.err.code != code || !f->cx.err.msg[0]))
        fail_msg("line %d: %s: the record says %s \"%s\"", line, expr, err_name(f->cx.err.code),
                 f->cx.err.msg);
    if (code < 0)
        ctx_reset_err(&f->cx);
}
#define EXPECT(expr, code) expect_at(f, (expr), (code), #expr, __LINE__)
#define OK(expr)           EXPECT(expr, 0)
/* As EXPECT, and the message holds `text`. */
#define EXPECT_SAYS(expr, code_, text)                                                             \
    do {                                                                                           \
        int rc_ = (expr);                                                                          \
        if (rc_ == (code_) && !strstr(f->cx.err.msg, text))                                        \
            fail_msg("line %d: \"%s\" does not say \"%s\"", __LINE__, f->cx.err.msg, text);        \
        EXPECT(rc_, code_);                                                                        \
    } while (0)

static void arm(const char *plan)
{
    setenv("LATCH_INJECT", plan, 1);
    assert_int_equal(inject_init(), 0);
}

#define S(z) STR_LIT(z)

static void expect_content_at(struct fx *f, str path, str want, int line)
{
    CLEANUP(buf_done) struct buf b = {0};
    int rc = io_read(f->io, &f->cx, path, 1 << 24, &b);
    if (rc < 0 || !str_eq(buf_str(&b), want))
        fail_msg("line %d: \"%.*s\" is \"%.40s\" (%zu bytes), rc %s", line, STR(path),
                 b.len ? buf_z(&b) : "", b.len, rc ? err_name(rc) : "0");
}
#define CONTENT(path, want) expect_content_at(f, path, want, __LINE__)

static bool exists(struct fx *f, str path)
{
    struct io_stat st;
    int rc = io_stat(f->io, &f->cx, path, &st);
    assert_true(rc == 0 || rc == E_NOTFOUND);
    ctx_reset_err(&f->cx);
    return rc == 0;
}

static size_t entries(struct fx *f, str dir)
{
    struct io_entry *v;
    size_t n = 999;
    OK(io_list(f->io, &f->cx, dir, &v, &n));
    return n;
}

static int put(struct fx *f, str path, str data)
{
    enum io_put_result r = (enum io_put_result)99;
    int rc = io_put_if_absent(f->io, &f->cx, path, data, &r);
    assert_true(rc == 0 ? r == IO_PUT_CREATED || r == IO_PUT_EXISTED : (int)r == 99);
    return rc < 0 ? rc : (int)r;
}

/* --- the contract ----------------------------------------------------------------------------- */

static void test_write_and_read(void **state)
{
    struct fx *f = *state;
    OK(io_write(f->io, &f->cx, S("a"), S("one"), true));
    CONTENT(S("a"), S("one"));
    OK(io_write(f->io, &f->cx, S("a"), S("second"), false));
    CONTENT(S("a"), S("second"));
    OK(io_write(f->io, &f->cx, S("empty"), S(""), true));
    CONTENT(S("empty"), S(""));
    OK(io_write(f->io, &f->cx, S("none"), STR_NONE, false));
    CONTENT(S("none"), S(""));

    size_t n = 3000001;
    char *big = malloc(n);
    for (size_t i = 0; i < n; i++)
        big[i] = (char)(i * 31 >> 3);
    OK(io_write(f->io, &f->cx, S("big"), str_n(big, n), false));
    CONTENT(S("big"), str_n(big, n));
    free(big);
    assert_int_equal(entries(f, S("")), 4);
}

static void test_read_appends_within_its_limits(void **state)
{
    struct fx *f = *state;
    OK(io_write(f->io, &f->cx, S("a"), S("12345"), false));
    CLEANUP(buf_done) struct buf b = {0};
    buf_addz(&b, "0");
    OK(io_read(f->io, &f->cx, S("a"), 5, &b));
    assert_true(str_eqz(buf_str(&b), "012345"));
    EXPECT_SAYS(io_read(f->io, &f->cx, S("a"), 4, &b), E_TOOBIG, "\"a\"");
    EXPECT(io_read(f->io, &f->cx, S("missing"), 4, &b), E_NOTFOUND);
    assert_true(str_eqz(buf_str(&b), "012345")); /* not written on failure */
    assert_int_equal(buf_fail(&b), 0);

    CLEANUP(buf_done) struct buf exact = {0}, small = {0};
    buf_init(&exact, 5);
    OK(io_read(f->io, &f->cx, S("a"), 5, &exact));
    assert_true(str_eqz(buf_str(&exact), "12345"));
    buf_init(&small, 4);
    EXPECT(io_read(f->io, &f->cx, S("a"), 5, &small), E_TOOBIG);
    assert_int_equal(small.len, 0);
}

static void test_wrong_kinds_and_missing_parents(void **state)
{
    struct fx *f = *state;
    struct io_stat st;
    struct io_entry *v;
    size_t n;
    CLEANUP(buf_done) struct buf b = {0};
    OK(io_mkdirs(f->io, &f->cx, S("d")));
    OK(io_write(f->io, &f->cx, S("file"), S("x"), false));
    EXPECT(io_read(f->io, &f->cx, S("d"), 10, &b), E_CORRUPT);
    EXPECT(io_read(f->io, &f->cx, S(""), 10, &b), E_CORRUPT);
    EXPECT(io_write(f->io, &f->cx, S("d"), S("x"), false), E_CORRUPT);
    EXPECT(io_del(f->io, &f->cx, S("d")), E_CORRUPT);
    EXPECT(io_list(f->io, &f->cx, S("file"), &v, &n), E_NOTFOUND);
    EXPECT(io_list(f->io, &f->cx, S("no"), &v, &n), E_NOTFOUND);
    EXPECT(io_mkdirs(f->io, &f->cx, S("file")), E_EXISTS);
    EXPECT(io_mkdirs(f->io, &f->cx, S("file/x")), E_EXISTS);
    const str below[] = {S("no/x"), S("file/x"), S("no/x/y")};
    for (size_t i = 0; i < 3; i++) {
        EXPECT(io_read(f->io, &f->cx, below[i], 10, &b), E_NOTFOUND);
        EXPECT(io_write(f->io, &f->cx, below[i], S("x"), true), E_NOTFOUND);
        EXPECT(put(f, below[i], S("x")), E_NOTFOUND);
        EXPECT(io_stat(f->io, &f->cx, below[i], &st), E_NOTFOUND);
        EXPECT(io_del(f->io, &f->cx, below[i]), E_NOTFOUND);
        EXPECT(io_move(f->io, &f->cx, below[i], S("y")), E_NOTFOUND);
        EXPECT(io_move(f->io, &f->cx, S("d"), below[i]), E_NOTFOUND);
        EXPECT(io_sync(f->io, &f->cx, &below[i], 1), E_NOTFOUND);
        OK(io_remove_tree(f->io, &f->cx, below[i]));
    }
    assert_int_equal(b.len, 0);
    assert_int_equal(entries(f, S("")), 2);
}

static void test_put_if_absent(void **state)
{
    struct fx *f = *state;
    OK(io_mkdirs(f->io, &f->cx, S("snapshot")));
    assert_int_equal(put(f, S("snapshot/snapshot-1"), S("mine")), IO_PUT_CREATED);
    assert_int_equal(put(f, S("snapshot/snapshot-1"), S("yours")), IO_PUT_EXISTED);
    CONTENT(S("snapshot/snapshot-1"), S("mine"));
    OK(io_mkdirs(f->io, &f->cx, S("snapshot/dir")));
    assert_int_equal(put(f, S("snapshot/dir"), S("x")), IO_PUT_EXISTED);
    assert_int_equal(put(f, S("snapshot/empty"), S("")), IO_PUT_CREATED);
    CONTENT(S("snapshot/empty"), S(""));
    OK(io_del(f->io, &f->cx, S("snapshot/snapshot-1")));
    assert_int_equal(put(f, S("snapshot/snapshot-1"), S("again")), IO_PUT_CREATED);
    CONTENT(S("snapshot/snapshot-1"), S("again"));
    assert_int_equal(entries(f, S("snapshot")), 3);
}

#define RACERS 8
#define ROUNDS 12
struct racer {
    struct fx *f;
    pthread_barrier_t *go;
    char text[32];
    int made[ROUNDS];
};

static void *race(void *p)
{
    struct racer *r = p;
    struct ctx cx;
    ctx_init(&cx, ARENA_MAX);
    for (int i = 0; i < ROUNDS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "snapshot-%d", i);
        enum io_put_result made = IO_PUT_EXISTED;
        pthread_barrier_wait(r->go);
        int rc = io_put_if_absent(r->f->io, &cx, str_of(name), str_of(r->text), &made);
        r->made[i] = rc < 0 ? rc : made == IO_PUT_CREATED;
        snprintf(name, sizeof(name), "dirs/%d/a", i);
        rc = io_mkdirs(r->f->io, &cx, str_of(name));
        r->made[i] = rc < 0 ? rc : r->made[i];
    }
    ctx_done(&cx);
    return NULL;
}

static void test_one_of_many_creates(void **state)
{
    struct fx *f = *state;
    pthread_barrier_t go;
    pthread_barrier_init(&go, NULL, RACERS);
    struct racer racers[RACERS];
    pthread_t threads[RACERS];
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){.f = f, .go = &go};
        snprintf(racers[i].text, sizeof(racers[i].text), "text of racer %d", i);
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < RACERS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&go);
    for (int round = 0; round < ROUNDS; round++) {
        int winners = 0;
        char name[32];
        snprintf(name, sizeof(name), "snapshot-%d", round);
        for (int i = 0; i < RACERS; i++) {
            assert_true(racers[i].made[round] >= 0);
            winners += racers[i].made[round];
            if (racers[i].made[round])
                CONTENT(str_of(name), str_of(racers[i].text));
        }
        assert_int_equal(winners, 1);
    }
    assert_int_equal(entries(f, S("")), ROUNDS + 1);
    assert_int_equal(entries(f, S("dirs")), ROUNDS);
}

static void refused_everywhere(struct fx *f, str path)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct io_stat st;
    struct io_entry *v;
    size_t n;
    EXPECT(io_read(f->io, &f->cx, path, 10, &b), E_INVAL);
    EXPECT(io_write(f->io, &f->cx, path, S("x"), true), E_INVAL);
    EXPECT(put(f, path, S("x")), E_INVAL);
    EXPECT(io_stat(f->io, &f->cx, path, &st), E_INVAL);
    EXPECT(io_list(f->io, &f->cx, path, &v, &n), E_INVAL);
    EXPECT(io_del(f->io, &f->cx, path), E_INVAL);
    EXPECT(io_mkdirs(f->io, &f->cx, path), E_INVAL);
    EXPECT(io_move(f->io, &f->cx, path, S("free")), E_INVAL);
    EXPECT(io_move(f->io, &f->cx, S("file"), path), E_INVAL);
    EXPECT(io_remove_tree(f->io, &f->cx, path), E_INVAL);
    const str paths[] = {S("file"), path};
    EXPECT(io_sync(f->io, &f->cx, paths, 2), E_INVAL);
}

static void test_hostile_paths(void **state)
{
    struct fx *f = *state;
    char name[257], longest[PATH_MAX + 1];
    memset(name, 'n', sizeof(name));
    for (size_t i = 0; i < sizeof(longest); i++)
        longest[i] = i % 2 ? '/' : 'p';
    longest[PATH_MAX - 1] = 'p';
    OK(io_write(f->io, &f->cx, S("file"), S("x"), false));
    OK(io_mkdirs(f->io, &f->cx, S("a")));
    const str bad[] = {S(".."),
                       S("."),
                       S("a/../b"),
                       S("../wh/file"),
                       S("a/.."),
                       S("/file"),
                       S("/"),
                       S("//"),
                       S("a//b"),
                       S("a/"),
                       S("file/"),
                       S("./file"),
                       S("a/./b"),
                       S("file\0"),
                       S("a\0/b"),
                       S("\0"),
                       S("/etc/passwd"),
                       str_n(name, 256),
                       str_n(longest, PATH_MAX + 1),
                       str_n(longest, PATH_MAX)};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refused_everywhere(f, bad[i]);
    assert_false(exists(f, str_n(longest, PATH_MAX - 1)));
    EXPECT(io_del(f->io, &f->cx, S("")), E_INVAL);
    EXPECT(io_write(f->io, &f->cx, S(""), S("x"), false), E_INVAL);
    EXPECT(put(f, S(""), S("x")), E_INVAL);
    EXPECT(io_move(f->io, &f->cx, S(""), S("b")), E_INVAL);
    EXPECT(io_move(f->io, &f->cx, S("a"), S("")), E_INVAL);
    EXPECT(io_remove_tree(f->io, &f->cx, S("")), E_INVAL);
    assert_int_equal(entries(f, S("")), 2);
}

static void test_odd_names_that_are_fine(void **state)
{
    struct fx *f = *state;
    char name[255];
    memset(name, 'n', sizeof(name));
    char utf8[254]; /* cut for the temporary name, which must not split a character */
    for (size_t i = 0; i < sizeof(utf8); i += 2)
        memcpy(utf8 + i, "\xc3\xa4", 2);
    const str good[] = {
        S("..."),      S("..a"),         S(".hidden"),     S("a b\tc\n"), S("-rf"),
        S("pt=a%2Fb"), str_n(name, 255), str_n(utf8, 254), S("*"),        S("\xff\xfe.bin"),
        S(" ")};
    size_t n = sizeof(good) / sizeof(good[0]);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(put(f, good[i], good[i]), IO_PUT_CREATED);
        CONTENT(good[i], good[i]);
        OK(io_write(f->io, &f->cx, good[i], S("2"), true));
        CONTENT(good[i], S("2"));
    }
    assert_int_equal(entries(f, S("")), n);
}

static void test_stat(void **state)
{
    struct fx *f = *state;
    struct io_stat a, b, d;
    OK(io_write(f->io, &f->cx, S("x"), S("12345"), true));
    OK(io_stat(f->io, &f->cx, S("x"), &a));
    assert_false(a.is_dir);
    assert_int_equal(a.size, 5);
    assert_true(a.mtime_ms > clock_wall_ms() - 60000 && a.mtime_ms < clock_wall_ms() + 60000);
    assert_true(a.ctime_ns / 1000000 > a.mtime_ms - 60000 &&
                a.ctime_ns / 1000000 < a.mtime_ms + 60000);
    OK(io_stat(f->io, &f->cx, S("x"), &b));
    assert_memory_equal(&a.ino, &b.ino, sizeof(a.ino));
    assert_true(a.ctime_ns == b.ctime_ns);
    /* The same bytes written again are another file: how a replaced head is noticed. */
    OK(io_write(f->io, &f->cx, S("x"), S("12345"), true));
    OK(io_stat(f->io, &f->cx, S("x"), &b));
    assert_true(a.ino != b.ino || a.ctime_ns != b.ctime_ns);
    OK(io_stat(f->io, &f->cx, S(""), &d));
    assert_true(d.is_dir);
    EXPECT_SAYS(io_stat(f->io, &f->cx, S("nothing"), &d), E_NOTFOUND, "\"nothing\"");
    assert_true(d.is_dir); /* not written on failure */
}

static void test_list(void **state)
{
    struct fx *f = *state;
    struct io_entry *v = NULL;
    size_t n = 7;
    OK(io_list(f->io, &f->cx, S(""), &v, &n));
    assert_int_equal(n, 0);
    OK(io_mkdirs(f->io, &f->cx, S("d/e")));
    bool seen[200] = {false};
    for (int i = 0; i < 200; i++) {
        char name[32];
        snprintf(name, sizeof(name), "d/.f%03d", i);
        OK(io_write(f->io, &f->cx, str_of(name), S("x"), false));
    }
    OK(io_list(f->io, &f->cx, S("d"), &v, &n));
    assert_int_equal(n, 201);
    for (size_t i = 0; i < n; i++) {
        int64_t at = -1;
        if (v[i].is_dir) {
            assert_true(str_eqz(v[i].name, "e"));
            continue;
        }
        assert_true(str_starts(v[i].name, S(".f")) && str_to_i64(str_cut(v[i].name, 2), &at) &&
                    at >= 0 && at < 200);
        assert_false(seen[at]);
        seen[at] = true;
    }
    /* More entries than the request may hold. */
    struct ctx small;
    ctx_init(&small, 4096);
    assert_int_equal(io_list(f->io, &small, S("d"), &v, &n), E_NOMEM);
    assert_int_equal(small.err.code, E_NOMEM);
    assert_int_equal(n, 201);
    ctx_done(&small);
}

static void test_del(void **state)
{
    struct fx *f = *state;
    OK(io_write(f->io, &f->cx, S("x"), S("1"), true));
    OK(io_del(f->io, &f->cx, S("x")));
    EXPECT(io_del(f->io, &f->cx, S("x")), E_NOTFOUND);
    assert_false(exists(f, S("x")));
    assert_int_equal(entries(f, S("")), 0);
}

static void test_mkdirs(void **state)
{
    struct fx *f = *state;
    OK(io_mkdirs(f->io, &f->cx, S("")));
    OK(io_mkdirs(f->io, &f->cx, S("a/b/c")));
    OK(io_mkdirs(f->io, &f->cx, S("a/b/c")));
    OK(io_mkdirs(f->io, &f->cx, S("a/b")));
    OK(io_mkdirs(f->io, &f->cx, S("a/b/d")));
    assert_int_equal(entries(f, S("")), 1);
    assert_int_equal(entries(f, S("a/b")), 2);
    assert_int_equal(entries(f, S("a/b/c")), 0);
}

static void test_move(void **state)
{
    struct fx *f = *state;
    OK(io_mkdirs(f->io, &f->cx, S("from/t/snapshot")));
    OK(io_mkdirs(f->io, &f->cx, S("to")));
    OK(io_write(f->io, &f->cx, S("from/t/snapshot/LATEST"), S("7"), true));
    OK(io_write(f->io, &f->cx, S("file"), S("f"), true));
    OK(io_move(f->io, &f->cx, S("from/t"), S("to/u")));
    CONTENT(S("to/u/snapshot/LATEST"), S("7"));
    assert_int_equal(entries(f, S("from")), 0);
    OK(io_move(f->io, &f->cx, S("file"), S("to/file")));
    CONTENT(S("to/file"), S("f"));
    assert_false(exists(f, S("file")));
    /* Nothing is ever replaced, not even an empty directory, nor by itself. */
    OK(io_mkdirs(f->io, &f->cx, S("from/u")));
    OK(io_write(f->io, &f->cx, S("from/f"), S("2"), true));
    EXPECT_SAYS(io_move(f->io, &f->cx, S("from/u"), S("to/u")), E_EXISTS, "\"to/u\"");
    EXPECT(io_move(f->io, &f->cx, S("to/u"), S("from/u")), E_EXISTS);
    EXPECT(io_move(f->io, &f->cx, S("from/f"), S("to/file")), E_EXISTS);
    EXPECT(io_move(f->io, &f->cx, S("from/f"), S("from/f")), E_EXISTS);
    EXPECT_SAYS(io_move(f->io, &f->cx, S("from/no"), S("to/no")), E_NOTFOUND, "\"from/no\"");
    EXPECT(io_move(f->io, &f->cx, S("to"), S("to/u/x")), E_INVAL);
    CONTENT(S("to/file"), S("f"));
    CONTENT(S("from/f"), S("2"));
    CONTENT(S("to/u/snapshot/LATEST"), S("7"));
}

static void test_remove_tree(void **state)
{
    struct fx *f = *state;
    OK(io_mkdirs(f->io, &f->cx, S("keep")));
    OK(io_mkdirs(f->io, &f->cx, S("t/a/b/c")));
    OK(io_mkdirs(f->io, &f->cx, S("t/empty")));
    for (int i = 0; i < 50; i++) {
        char name[32];
        snprintf(name, sizeof(name), "t/a/b/%d", i);
        OK(io_write(f->io, &f->cx, str_of(name), S("x"), false));
    }
    OK(io_remove_tree(f->io, &f->cx, S("t")));
    assert_false(exists(f, S("t")));
    OK(io_remove_tree(f->io, &f->cx, S("t")));
    OK(io_write(f->io, &f->cx, S("file"), S("x"), false));
    OK(io_remove_tree(f->io, &f->cx, S("file")));
    assert_int_equal(entries(f, S("")), 1);
    OK(io_mkdirs(f->io, &f->cx, S("t")));
    assert_int_equal(entries(f, S("t")), 0);
}

static void test_sync(void **state)
{
    struct fx *f = *state;
    OK(io_mkdirs(f->io, &f->cx, S("d")));
    OK(io_write(f->io, &f->cx, S("d/a"), S("x"), false));
    OK(io_write(f->io, &f->cx, S("b"), S("y"), false));
    const str paths[] = {S("d/a"), S("b"), S("d/a"), S("d"), S("")};
    OK(io_sync(f->io, &f->cx, paths, 5));
    OK(io_sync(f->io, &f->cx, NULL, 0));
    const str lost[] = {S("d/a"), S("d/lost"), S("b")};
    EXPECT_SAYS(io_sync(f->io, &f->cx, lost, 3), E_NOTFOUND, "\"d/lost\"");
}

static void test_space(void **state)
{
    struct fx *f = *state;
    int64_t bytes = -1;
    OK(io_space(f->io, &f->cx, &bytes));
    assert_true(bytes > 0);
}

/* --- faults that both know -------------------------------------------------------------------- */

static void test_put_that_fails_leaves_nothing(void **state)
{
    struct fx *f = *state;
    static const struct {
        const char *plan;
        int code;
    } cases[] = {
        {"io.write=fail", E_BUSY},
        {"io.fsync=fail", E_IO},
        {"put.written=fail", E_IO},
        {"put.synced=fail", E_IO},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        arm(cases[i].plan);
        EXPECT(put(f, S("x"), S("1")), cases[i].code);
        assert_int_equal(entries(f, S("")), 0);
        assert_int_equal(put(f, S("x"), S("2")), IO_PUT_CREATED); /* only the first hit fails */
        CONTENT(S("x"), S("2"));
        OK(io_del(f->io, &f->cx, S("x")));
    }
}

static void test_put_of_unknown_outcome(void **state)
{
    struct fx *f = *state;
    static const char *const plans[] = {"put.linked=fail", "io.fsync=fail:2"};
    for (size_t i = 0; i < 2; i++) {
        arm(plans[i]);
        EXPECT(put(f, S("x"), S("1")), E_UNKNOWN);
        CONTENT(S("x"), S("1"));
        assert_int_equal(entries(f, S("")), 1);
        assert_int_equal(put(f, S("x"), S("2")), IO_PUT_EXISTED);
        OK(io_del(f->io, &f->cx, S("x")));
    }
    arm("put.linked=fail-all"); /* a loser linked nothing */
    OK(io_write(f->io, &f->cx, S("x"), S("other"), true));
    assert_int_equal(put(f, S("x"), S("1")), IO_PUT_EXISTED);
}

static void test_write_that_fails(void **state)
{
    struct fx *f = *state;
    OK(io_write(f->io, &f->cx, S("x"), S("old"), true));
    arm("io.write=fail-all");
    EXPECT_SAYS(io_write(f->io, &f->cx, S("x"), S("new"), false), E_BUSY, "full");
    arm("io.fsync=fail");
    EXPECT(io_write(f->io, &f->cx, S("x"), S("new"), true), E_IO);
    CONTENT(S("x"), S("old"));
    arm("io.fsync=fail:2");
    EXPECT(io_write(f->io, &f->cx, S("x"), S("new"), true), E_UNKNOWN);
    CONTENT(S("x"), S("new"));
    arm("io.fsync=fail-all");
    OK(io_write(f->io, &f->cx, S("x"), S("newer"), false)); /* does not sync */
    assert_int_equal(entries(f, S("")), 1);
}

static void test_other_syncs_that_fail(void **state)
{
    struct fx *f = *state;
    arm("io.fsync=fail:2");
    EXPECT(io_mkdirs(f->io, &f->cx, S("a/b")), E_IO);
    assert_false(exists(f, S("a/b")));
    OK(io_mkdirs(f->io, &f->cx, S("a/b")));
    OK(io_write(f->io, &f->cx, S("x"), S("1"), false));
    const str x = S("x");
    static const char *const plans[] = {"io.fsync=fail:1", "io.fsync=fail:2"};
    for (size_t i = 0; i < 2; i++) { /* the file, then its directory; both directories of a move */
        arm(plans[i]);
        EXPECT(io_sync(f->io, &f->cx, &x, 1), E_IO);
        OK(io_sync(f->io, &f->cx, &x, 1));
        arm(plans[i]);
        EXPECT(io_move(f->io, &f->cx, x, S("a/x")), E_UNKNOWN);
        assert_true(exists(f, S("a/x")));
        OK(io_move(f->io, &f->cx, S("a/x"), x));
    }
}

/* Each call with its n-th allocation failing: an error or the right answer, and nothing leaks. */
static int many_calls(struct fx *f)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct io_entry *v;
    size_t n;
    enum io_put_result r;
    const str paths[] = {S("t/a"), S("t/b")};
    TRY(io_mkdirs(f->io, &f->cx, S("t")));
    TRY(io_write(f->io, &f->cx, S("t/a"), S("a"), true));
    TRY(io_put_if_absent(f->io, &f->cx, S("t/b"), S("b"), &r));
    TRY(io_sync(f->io, &f->cx, paths, 2));
    TRY(io_list(f->io, &f->cx, S("t"), &v, &n));
    TRY(io_read(f->io, &f->cx, S("t/a"), 100, &b));
    TRY(io_move(f->io, &f->cx, S("t/a"), S("t/c")));
    TRY(io_del(f->io, &f->cx, S("t/c")));
    return io_remove_tree(f->io, &f->cx, S("t"));
}

static int open_again(struct fx *f)
{
    struct io_local_opts o = opts(f);
    char group[16];
    snprintf(group, sizeof(group), "%u", getegid());
    o.group = str_of(group);
    struct io *io;
    TRY(f->mem ? io_mem_new(&f->cx, &io) : io_local_new(&f->cx, &o, &io));
    io_free(io);
    return 0;
}

static void no_memory(struct fx *f, int (*fn)(struct fx *f))
{
    int n = 0, rc;
    do {
        ctx_done(&f->cx); /* the arena's next block is an allocation again */
        ctx_init(&f->cx, ARENA_MAX);
        mem_fail_at(++n, 0);
        rc = fn(f);
        mem_fail_at(0, 0);
        if (rc < 0)
            EXPECT(rc, E_NOMEM);
        if (fn == many_calls)
            OK(io_remove_tree(f->io, &f->cx, S("t")));
        assert_true(n < 1000);
    } while (rc < 0);
    assert_true(n > 1);
    assert_int_equal(entries(f, S("")), 0);
}

static void test_no_memory(void **state)
{
    no_memory(*state, many_calls);
    no_memory(*state, open_again);
}

/* --- memory only: a power loss ---------------------------------------------------------------- */

static void test_crash_keeps_what_was_synced(void **state)
{
    struct fx *f = *state;
    const str later = S("t/later");
    OK(io_mkdirs(f->io, &f->cx, S("t/snapshot")));
    assert_int_equal(put(f, S("t/snapshot/snapshot-1"), S("1")), IO_PUT_CREATED);
    OK(io_write(f->io, &f->cx, S("t/synced"), S("s"), true));
    OK(io_write(f->io, &f->cx, later, S("l"), false));
    OK(io_sync(f->io, &f->cx, &later, 1));
    OK(io_move(f->io, &f->cx, S("t/synced"), S("t/moved")));
    io_mem_crash(f->io);
    CONTENT(S("t/snapshot/snapshot-1"), S("1"));
    CONTENT(S("t/moved"), S("s"));
    CONTENT(later, S("l"));
    assert_int_equal(entries(f, S("t")), 3);
    io_mem_crash(f->io); /* nothing more to lose */
    assert_int_equal(entries(f, S("t")), 3);
}

static void test_crash_drops_what_was_not(void **state)
{
    struct fx *f = *state;
    OK(io_mkdirs(f->io, &f->cx, S("t")));
    OK(io_write(f->io, &f->cx, S("t/LATEST"), S("1"), true));
    OK(io_write(f->io, &f->cx, S("t/LATEST"), S("2"), false));
    OK(io_write(f->io, &f->cx, S("t/gone"), S("x"), false));
    io_mem_crash(f->io);
    CONTENT(S("t/LATEST"), S("1"));
    assert_false(exists(f, S("t/gone")));

    OK(io_write(f->io, &f->cx, S("t/hollow"), S("x"), false));
    assert_int_equal(put(f, S("t/snapshot-1"), S("1")), IO_PUT_CREATED); /* syncs the directory */
    io_mem_crash(f->io);
    CONTENT(S("t/hollow"), S(""));
    CONTENT(S("t/snapshot-1"), S("1"));

    arm("put.linked=fail");
    EXPECT(put(f, S("t/snapshot-2"), S("2")), E_UNKNOWN);
    assert_true(exists(f, S("t/snapshot-2")));
    io_mem_crash(f->io);
    assert_false(exists(f, S("t/snapshot-2")));
}

static void test_crash_undoes_deletions(void **state)
{
    struct fx *f = *state;
    const str dir = S("t");
    OK(io_mkdirs(f->io, &f->cx, S("t/d")));
    OK(io_write(f->io, &f->cx, S("t/a"), S("a"), true));
    OK(io_write(f->io, &f->cx, S("t/d/b"), S("b"), true));
    OK(io_del(f->io, &f->cx, S("t/a")));
    OK(io_remove_tree(f->io, &f->cx, S("t/d")));
    assert_int_equal(entries(f, dir), 0);
    io_mem_crash(f->io);
    CONTENT(S("t/a"), S("a"));
    CONTENT(S("t/d/b"), S("b"));
    OK(io_del(f->io, &f->cx, S("t/a")));
    OK(io_remove_tree(f->io, &f->cx, S("t/d")));
    OK(io_sync(f->io, &f->cx, &dir, 1));
    io_mem_crash(f->io);
    assert_int_equal(entries(f, dir), 0);
}

/* --- disk only: links ------------------------------------------------------------------------- */

static void outside(const struct fx *f, char out[PATH_MAX], const char *name)
{
    snprintf(out, PATH_MAX, "%s/%s", f->top, name);
}

static void make_file(const struct fx *f, const char *name, const char *text)
{
    char path[PATH_MAX];
    outside(f, path, name);
    FILE *fp = fopen(path, "w");
    assert_non_null(fp);
    fputs(text, fp);
    fclose(fp);
}

static void make_link(const struct fx *f, const char *target, const char *name)
{
    char path[PATH_MAX];
    outside(f, path, name);
    assert_int_equal(symlink(target, path), 0);
}

static mode_t mode_of(const struct fx *f, const char *name, gid_t *ret_gid)
{
    struct stat st;
    char path[PATH_MAX];
    outside(f, path, name);
    assert_int_equal(lstat(path, &st), 0);
    if (ret_gid)
        *ret_gid = st.st_gid;
    return st.st_mode & 07777;
}

static void make_links(struct fx *f)
{
    char path[PATH_MAX];
    outside(f, path, "out");
    assert_int_equal(mkdir(path, 0755), 0);
    make_file(f, "out/secret", "secret");
    OK(io_mkdirs(f->io, &f->cx, S("sub")));
    OK(io_write(f->io, &f->cx, S("sub/x"), S("x"), false));
    OK(io_write(f->io, &f->cx, S("file"), S("f"), false));
    make_link(f, path, "wh/abs");
    make_link(f, "../out", "wh/rel");
    make_link(f, "sub", "wh/inner");
    make_link(f, "..", "wh/up");
    make_link(f, "/proc/self/root", "wh/magic");
}

static void test_links_lead_nowhere(void **state)
{
    struct fx *f = *state;
    make_links(f);
    make_link(f, "../out/secret", "wh/flink");
    make_link(f, "sub/x", "wh/xlink");
    make_link(f, "nowhere", "wh/dangling");
    static const char *const dirs[] = {"abs", "rel", "inner", "up", "magic"};
    for (size_t i = 0; i < 5; i++) {
        static const char *const last[] = {"secret", "x", "new", "deep/er", "out/secret", "etc"};
        for (size_t k = 0; k < 6; k++) {
            char path[64];
            snprintf(path, sizeof(path), "%s/%s", dirs[i], last[k]);
            refused_everywhere(f, str_of(path));
        }
        struct io_entry *v;
        size_t n;
        EXPECT_SAYS(io_list(f->io, &f->cx, str_of(dirs[i]), &v, &n), E_INVAL, "symbolic");
        EXPECT(io_mkdirs(f->io, &f->cx, str_of(dirs[i])), E_INVAL);
    }
    static const char *const files[] = {"flink", "xlink", "dangling", "rel"};
    for (size_t i = 0; i < 4; i++) {
        CLEANUP(buf_done) struct buf b = {0};
        struct io_stat st;
        str path = str_of(files[i]);
        EXPECT(io_read(f->io, &f->cx, path, 10, &b), E_INVAL);
        EXPECT(io_write(f->io, &f->cx, path, S("x"), true), E_INVAL);
        EXPECT(io_del(f->io, &f->cx, path), E_INVAL);
        EXPECT(io_stat(f->io, &f->cx, path, &st), E_INVAL);
        EXPECT(io_move(f->io, &f->cx, path, S("y")), E_INVAL);
        EXPECT(io_move(f->io, &f->cx, S("file"), path), E_EXISTS);
        EXPECT(io_sync(f->io, &f->cx, &path, 1), E_INVAL);
        assert_int_equal(put(f, path, S("x")), IO_PUT_EXISTED);
    }
    CONTENT(S("sub/x"), S("x"));
    assert_int_equal(entries(f, S("")), 10); /* the links are listed, and nothing was added */
}

/* What io_path_check refuses, the kernel refuses once more. */
static void test_second_line_of_defence(void **state)
{
    struct fx *f = *state;
    const struct io_local *l = (const struct io_local *)f->io;
    make_file(f, "secret", "x");
    static const char *const bad[] = {"../secret", "..", "/etc/passwd", "/"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(iol_open(l->root, bad[i], O_PATH), -1);
        assert_int_equal(errno, EXDEV);
    }
}

static void test_temporary_names(void **state)
{
    (void)state;
    char a[256], b[256], longest[256] = "";
    iol_temp_name("snapshot-1", a);
    iol_temp_name("snapshot-1", b);
    assert_true(str_starts(str_of(a), S(".snapshot-1.")) && str_ends(str_of(a), S(".tmp")));
    assert_int_equal(strlen(a), strlen(".snapshot-1..tmp") + 36);
    assert_string_not_equal(a, b);
    for (size_t shift = 0; shift < 3; shift++) { /* the cut falls on each byte of a character */
        memset(longest, 'x', shift);
        for (size_t i = shift; i + 3 < sizeof(longest); i += 3)
            memcpy(longest + i, "\xe2\x82\xac", 4);
        assert_true(str_utf8_valid(str_of(longest)) && strlen(longest) > 250);
        iol_temp_name(longest, a);
        assert_true(strlen(a) <= 255 && strlen(a) > 250);
        assert_true(str_utf8_valid(str_of(a)));
    }
}

static void test_remove_tree_unlinks_links(void **state)
{
    struct fx *f = *state;
    char path[PATH_MAX];
    make_links(f);
    OK(io_mkdirs(f->io, &f->cx, S("t/in")));
    make_link(f, "../../../out", "wh/t/in/link");
    outside(f, path, "out");
    make_link(f, path, "wh/t/abs");
    OK(io_remove_tree(f->io, &f->cx, S("t")));
    OK(io_remove_tree(f->io, &f->cx, S("rel")));
    assert_false(exists(f, S("t")));
    outside(f, path, "wh/rel");
    assert_int_equal(access(path, F_OK), -1);
    outside(f, path, "out/secret");
    assert_int_equal(access(path, F_OK), 0);
}

static void test_special_files(void **state)
{
    struct fx *f = *state;
    char path[PATH_MAX];
    CLEANUP(buf_done) struct buf b = {0};
    struct io_stat st;
    const str fifo = S("fifo");
    outside(f, path, "wh/fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    EXPECT(io_read(f->io, &f->cx, fifo, 10, &b), E_CORRUPT); /* and does not hang */
    EXPECT(io_stat(f->io, &f->cx, fifo, &st), E_CORRUPT);
    EXPECT(io_sync(f->io, &f->cx, &fifo, 1), E_CORRUPT);
    assert_int_equal(put(f, fifo, S("x")), IO_PUT_EXISTED);
    assert_int_equal(entries(f, S("")), 1);
    OK(io_remove_tree(f->io, &f->cx, fifo));
}

/* --- disk only: reading and removing while others change it ----------------------------------- */

static void test_size_is_checked_before_reading(void **state)
{
    struct fx *f = *state;
    char path[PATH_MAX];
    CLEANUP(buf_done) struct buf b = {0};
    make_file(f, "wh/huge", "x");
    outside(f, path, "wh/huge");
    assert_int_equal(truncate(path, (off_t)1 << 40), 0); /* all holes */
    EXPECT(io_read(f->io, &f->cx, S("huge"), 1 << 20, &b), E_TOOBIG);
    assert_int_equal(b.cap, 0);
}

static void test_file_grows_or_shrinks_while_read(void **state)
{
    struct fx *f = *state;
    static char text[20001];
    memset(text, 't', sizeof(text));
    str all = str_n(text, sizeof(text));
    CLEANUP(buf_done) struct buf b = {0};
    OK(io_write(f->io, &f->cx, S("x"), all, false));
    hook.size_off = -15000; /* 15000 bytes were added after fstat */
    CONTENT(S("x"), all);
    EXPECT(io_read(f->io, &f->cx, S("x"), 20000, &b), E_TOOBIG);
    assert_int_equal(b.len, 0);
    assert_true(b.cap >= 5001); /* it was read, not refused by its size */
    OK(io_read(f->io, &f->cx, S("x"), 20001, &b));
    assert_int_equal(b.len, 20001);
    CLEANUP(buf_done) struct buf small = {0};
    buf_init(&small, 20000);
    EXPECT(io_read(f->io, &f->cx, S("x"), 1 << 20, &small), E_TOOBIG);
    assert_int_equal(small.len, 0);
    hook.size_off = 500000; /* as many were cut off */
    buf_clear(&b);
    OK(io_read(f->io, &f->cx, S("x"), 1 << 20, &b));
    assert_true(str_eq(buf_str(&b), all) && b.cap >= 520001);
    hook.size_off = 0;
}

static void test_short_and_interrupted_calls(void **state)
{
    struct fx *f = *state;
    CLEANUP(buf_done) struct buf b = {0};
    hook.io_max = 3;
    hook.write_errno = hook.read_errno = EINTR;
    hook.openat2_again = 5;
    assert_int_equal(put(f, S("x"), S("written in parts")), IO_PUT_CREATED);
    CONTENT(S("x"), S("written in parts"));
    assert_int_equal(hook.read_errno | hook.write_errno, 0);
    hook.read_errno = EIO;
    buf_addz(&b, "kept");
    EXPECT_SAYS(io_read(f->io, &f->cx, S("x"), 100, &b), E_IO, "\"x\"");
    assert_true(str_eqz(buf_str(&b), "kept"));
    hook.write_errno = EDQUOT;
    EXPECT_SAYS(io_write(f->io, &f->cx, S("x"), S("new"), true), E_BUSY, "quota");
    CONTENT(S("x"), S("written in parts"));
    hook.openat2_again = INT_MAX; /* it does not try for ever */
    EXPECT(io_read(f->io, &f->cx, S("x"), 100, &b), E_IO);
    hook.openat2_again = 0;
}

static void test_list_without_types(void **state)
{
    hook.no_types = true;
    test_list(state);
}

static void test_deep_tree(void **state)
{
    struct fx *f = *state;
    char path[PATH_MAX];
    outside(f, path, "wh/deep");
    assert_int_equal(mkdir(path, 0755), 0);
    int dir = open(path, O_PATH | O_DIRECTORY);
    for (int i = 0; i < 560; i++) { /* deeper than 16 sweeps raise */
        assert_int_equal(mkdirat(dir, "level", 0755), 0);
        int next = openat(dir, "level", O_PATH | O_DIRECTORY);
        close(openat(dir, "file", O_CREAT | O_WRONLY, 0600));
        close(dir);
        dir = next;
    }
    close(dir);
    struct rlimit old, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = (struct rlimit){.rlim_cur = 128, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int rc = io_remove_tree(f->io, &f->cx, S("deep"));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    OK(rc);
    assert_int_equal(entries(f, S("")), 0);
}

static void test_remove_tree_while_files_appear(void **state)
{
    struct fx *f = *state;
    OK(io_mkdirs(f->io, &f->cx, S("t/a")));
    hook.rmdir_race = 5;
    OK(io_remove_tree(f->io, &f->cx, S("t")));
    assert_int_equal(hook.rmdir_race, 0);
    assert_int_equal(entries(f, S("")), 0);
    OK(io_mkdirs(f->io, &f->cx, S("t/a")));
    hook.rmdir_race = INT_MAX;
    EXPECT_SAYS(io_remove_tree(f->io, &f->cx, S("t")), E_IO, "keeps creating");
    hook.rmdir_race = 0;
    OK(io_remove_tree(f->io, &f->cx, S("t")));
}

/* --- disk only: modes, group, permissions ----------------------------------------------------- */

static void test_modes_whatever_the_umask(void **state)
{
    struct fx *f = *state;
    char path[PATH_MAX];
    outside(f, path, "parent/wh");
    struct io_local_opts o = opts(f);
    o.root = str_of(path);
    mode_t before = umask(077);
    int rc = io_local_new(&f->cx, &o, &f->io);
    OK(rc);
    OK(io_mkdirs(f->io, &f->cx, S("db.db/t")));
    OK(io_write(f->io, &f->cx, S("w"), S("x"), true));
    assert_int_equal(put(f, S("db.db/t/p"), S("x")), IO_PUT_CREATED);
    outside(f, path, "parent/wh/theirs");
    assert_int_equal(mkdir(path, 0700), 0);
    OK(io_mkdirs(f->io, &f->cx, S("theirs/ours")));
    umask(before);
    static const char *const dirs[] = {"parent", "parent/wh", "parent/wh/db.db",
                                       "parent/wh/db.db/t", "parent/wh/theirs/ours"};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(mode_of(f, dirs[i], NULL), 02775);
    assert_int_equal(mode_of(f, "parent/wh/theirs", NULL), 02700); /* as mkdir made it */
    assert_int_equal(mode_of(f, "parent/wh/w", NULL), 0664);
    assert_int_equal(mode_of(f, "parent/wh/db.db/t/p", NULL), 0664);
    umask(0); /* and no more than asked for */
    OK(io_write(f->io, &f->cx, S("w2"), S("x"), true));
    umask(before);
    assert_int_equal(mode_of(f, "parent/wh/w2", NULL), 0664);
}

static void test_group(void **state)
{
    struct fx *f = *state;
    gid_t want = geteuid() == 0 ? 54321 : getegid(), got;
    char text[32];
    struct io_local_opts o = opts(f);
    snprintf(text, sizeof(text), "%u", want);
    o.group = str_of(text);
    OK(io_local_new(&f->cx, &o, &f->io));
    OK(io_mkdirs(f->io, &f->cx, S("d")));
    assert_int_equal(put(f, S("d/p"), S("x")), IO_PUT_CREATED);
    OK(io_write(f->io, &f->cx, S("d/w"), S("x"), false));
    static const char *const made[] = {"wh", "wh/d", "wh/d/p", "wh/d/w"};
    for (size_t i = 0; i < 4; i++) {
        mode_t mode = mode_of(f, made[i], &got);
        assert_int_equal(mode, i < 2 ? 02775 : 0664); /* the chown did not clear 02000 */
        assert_int_equal(got, want);
    }
    io_free(f->io);
    f->io = NULL;
    const struct group *g = getgrgid(getegid());
    assert_non_null(g);
    o.group = str_of(g->gr_name);
    OK(io_local_new(&f->cx, &o, &f->io));
    OK(io_write(f->io, &f->cx, S("named"), S("x"), false));
    mode_of(f, "wh/named", &got);
    assert_int_equal(got, getegid());
}

static void test_options_that_cannot_work(void **state)
{
    struct fx *f = *state;
    struct io *io;
    struct io_local_opts good = opts(f), o;
    const str groups[] = {S("no-such-group"), S("-1"),      S("4294967295"),
                          S("99999999999"),   S("root\0x"), S("1x")};
    for (size_t i = 0; i < 6; i++) {
        o = good;
        o.group = groups[i];
        EXPECT_SAYS(io_local_new(&f->cx, &o, &io), E_INVAL, "group");
    }
    const str roots[] = {S(""), S("relative/dir"), S("/tmp/../etc/x"), S("/tmp//x"), STR_NONE};
    for (size_t i = 0; i < 5; i++) {
        o = good;
        o.root = roots[i];
        EXPECT(io_local_new(&f->cx, &o, &io), E_INVAL);
    }
    static const unsigned modes[][2] = {{0075, 0664}, {0, 0664}, {010775, 0664},
                                        {0775, 0064}, {0775, 0}, {0775, 01664}};
    for (size_t i = 0; i < 6; i++) {
        o = good;
        o.dir_mode = modes[i][0];
        o.file_mode = modes[i][1];
        EXPECT_SAYS(io_local_new(&f->cx, &o, &io), E_INVAL, "mode");
    }
    assert_int_equal(access(f->root, F_OK), -1); /* nothing was made */
}

/* Runs fn in a child; it answers what went wrong, or NULL. */
static void in_child(struct fx *f, const char *(*fn)(struct fx *f))
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        const char *wrong = fn(f);
        if (wrong)
            fprintf(stderr, "child: %s (%s)\n", wrong, f->cx.err.msg);
        _exit(wrong ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static const char *open_without_rights(struct fx *f)
{
    struct io *io;
    struct io_local_opts o = opts(f);
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return "cannot become nobody";
    char who[32];
    snprintf(who, sizeof(who), "uid %u", geteuid());
    if (io_local_new(&f->cx, &o, &io) != E_IO || !strstr(f->cx.err.msg, f->root) ||
        !strstr(f->cx.err.msg, who))
        return "wrong answer for a root that is not ours";
    char deeper[PATH_MAX];
    outside(f, deeper, "wh/new");
    o.root = str_of(deeper);
    if (io_local_new(&f->cx, &o, &io) != E_IO || !strstr(f->cx.err.msg, deeper) ||
        !strstr(f->cx.err.msg, who) || f->cx.err.sys_errno != EACCES)
        return "wrong answer for a root that we may not make";
    return NULL;
}

static const char *open_with_a_foreign_group(struct fx *f)
{
    struct io *io;
    struct io_local_opts o = opts(f);
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
        return "cannot become nobody";
    o.group = S("4242");
    return io_local_new(&f->cx, &o, &io) == E_IO && strstr(f->cx.err.msg, f->root) &&
                   strstr(f->cx.err.msg, "group")
               ? NULL
               : "wrong answer for a group that is not ours";
}

static void test_group_that_is_not_ours(void **state)
{
    struct fx *f = *state;
    assert_int_equal(mkdir(f->root, 0755), 0);
    if (geteuid() == 0)
        assert_int_equal(chown(f->root, 65534, 65534), 0);
    in_child(f, open_with_a_foreign_group);
    assert_int_equal(rmdir(f->root), 0); /* it was left empty */
}

static void test_no_permission(void **state)
{
    struct fx *f = *state;
    assert_int_equal(mkdir(f->root, 0755), 0);
    assert_int_equal(chmod(f->root, 0555), 0);
    in_child(f, open_without_rights);
    assert_int_equal(chmod(f->root, 0755), 0);
}

/* --- disk only: the root and what its file system can do -------------------------------------- */

static void test_root_through_a_link(void **state)
{
    struct fx *f = *state;
    char path[PATH_MAX];
    outside(f, path, "real");
    assert_int_equal(mkdir(path, 0755), 0);
    make_link(f, "real", "link");
    outside(f, path, "link/a/wh");
    struct io_local_opts o = opts(f);
    o.root = str_of(path);
    OK(io_local_new(&f->cx, &o, &f->io));
    OK(io_write(f->io, &f->cx, S("x"), S("1"), true));
    outside(f, path, "real/a/wh/x");
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(entries(f, S("")), 1); /* nothing is left of the probe */

    struct io *io;
    make_file(f, "file", "x");
    outside(f, path, "file");
    o.root = str_of(path);
    EXPECT(io_local_new(&f->cx, &o, &io), E_NOTFOUND); /* a file, not a directory */
}

static void test_file_system_without_links(void **state)
{
    struct fx *f = *state;
    struct io_local_opts o = opts(f);
    static const int errnos[] = {EPERM, EOPNOTSUPP, EMLINK, ENOSYS};
    for (size_t i = 0; i < 4; i++) {
        hook.link_errno = errnos[i];
        OK(io_local_new(&f->cx, &o, &f->io));
        assert_int_equal(put(f, S("x"), S("1")), IO_PUT_CREATED);
        assert_int_equal(put(f, S("x"), S("2")), IO_PUT_EXISTED);
        CONTENT(S("x"), S("1"));
        hook.rename_errno = EIO; /* it worked, the answer is lost */
        hook.rename_first = true;
        assert_int_equal(put(f, S("y"), S("1")), IO_PUT_CREATED);
        hook.rename_first = false;
        EXPECT(put(f, S("z"), S("1")), E_IO);
        assert_int_equal(entries(f, S("")), 2);
        hook.rename_errno = 0;
        OK(io_del(f->io, &f->cx, S("x")));
        OK(io_del(f->io, &f->cx, S("y")));
        io_free(f->io);
        f->io = NULL;
    }
    hook.link_errno = 0;
    hook.link_lies = true; /* says yes, makes no link */
    OK(io_local_new(&f->cx, &o, &f->io));
    assert_int_equal(put(f, S("x"), S("1")), IO_PUT_CREATED);
    CONTENT(S("x"), S("1"));
}

static void test_file_system_that_cannot(void **state)
{
    struct fx *f = *state;
    struct io *io;
    struct io_local_opts o = opts(f);
    hook.link_errno = EPERM;
    hook.rename_errno = EINVAL;
    EXPECT_SAYS(io_local_new(&f->cx, &o, &io), E_UNSUPPORTED, f->root);
    hook.link_errno = ENOSPC; /* no reason to think that there are no links */
    EXPECT(io_local_new(&f->cx, &o, &io), E_BUSY);
    memset(&hook, 0, sizeof(hook));
    static const int errnos[] = {ENOSYS, EPERM}; /* an old kernel, an old seccomp profile */
    for (size_t i = 0; i < 2; i++) {
        hook.openat2_errno = errnos[i];
        EXPECT_SAYS(io_local_new(&f->cx, &o, &io), E_UNSUPPORTED, "openat2");
    }
}

static void test_move_without_noreplace(void **state)
{
    hook.rename_errno = EINVAL;
    test_move(state);
}

static void test_directories_that_cannot_be_synced(void **state)
{
    struct fx *f = *state;
    hook.fsync_dir_errno = EINVAL; /* CIFS: there is no such call */
    OK(io_mkdirs(f->io, &f->cx, S("d")));
    assert_int_equal(put(f, S("d/x"), S("1")), IO_PUT_CREATED);
    hook.fsync_dir_errno = EIO;
    EXPECT(put(f, S("d/y"), S("1")), E_UNKNOWN);
    EXPECT(io_mkdirs(f->io, &f->cx, S("e")), E_IO);
    assert_false(exists(f, S("e")));
}

/* --- disk only: what a put and a sync do, in order -------------------------------------------- */

static void test_lost_answers_of_link(void **state)
{
    struct fx *f = *state;
    hook.link_first = true;
    hook.link_errno = EIO;
    assert_int_equal(put(f, S("a"), S("1")), IO_PUT_CREATED);
    hook.link_errno = EEXIST; /* asked twice: the second answer is about our own link */
    assert_int_equal(put(f, S("b"), S("1")), IO_PUT_CREATED);
    hook.link_first = false;
    hook.link_errno = EIO;
    EXPECT(put(f, S("c"), S("1")), E_IO);
    hook.link_errno = ENOSPC;
    EXPECT_SAYS(put(f, S("c"), S("1")), E_BUSY, "full");
    hook.link_errno = EDQUOT;
    EXPECT_SAYS(put(f, S("c"), S("1")), E_BUSY, "quota");
    hook.fstat_errno = ESTALE; /* nor can it be seen whether it worked */
    EXPECT(put(f, S("c"), S("1")), E_UNKNOWN);
    hook.fstat_errno = 0;
    hook.link_errno = EIO; /* a name that somebody else's file has is not ours */
    EXPECT(put(f, S("b"), S("2")), E_IO);
    CONTENT(S("b"), S("1"));
    assert_int_equal(entries(f, S("")), 2);
}

static void test_order_of_a_put(void **state)
{
    struct fx *f = *state;
    OK(io_mkdirs(f->io, &f->cx, S("snapshot")));
    hook.trace = true;
    assert_int_equal(put(f, S("snapshot/snapshot-1"), S("1")), IO_PUT_CREATED);
    assert_string_equal(hook.calls, "fsync(tmp) linkat(snapshot-1) unlinkat(tmp) fsync(snapshot) ");
    hook.calls[0] = 0;
    OK(io_write(f->io, &f->cx, S("snapshot/LATEST"), S("1"), true));
    assert_string_equal(hook.calls, "fsync(tmp) fsync(snapshot) ");
    hook.calls[0] = 0;
    OK(io_write(f->io, &f->cx, S("snapshot/LATEST"), S("1"), false));
    assert_string_equal(hook.calls, "");
    OK(io_mkdirs(f->io, &f->cx, S("snapshot/a/b")));
    /* The entry of what was there already too: whoever made it may not have synced it. */
    assert_string_equal(hook.calls, "fsync(wh) fsync(snapshot) fsync(a) ");
    hook.calls[0] = 0;
    OK(io_move(f->io, &f->cx, S("snapshot/a/b"), S("snapshot/c")));
    assert_string_equal(hook.calls, "fsync(snapshot) fsync(a) ");
    hook.calls[0] = 0;
    hook.eintr = 3;
    OK(io_move(f->io, &f->cx, S("snapshot/c"), S("snapshot/d")));
    assert_string_equal(hook.calls, "fsync(snapshot) ");
    assert_int_equal(hook.eintr, 0);
}

static void test_order_of_a_sync(void **state)
{
    struct fx *f = *state;
    OK(io_mkdirs(f->io, &f->cx, S("bucket-0")));
    OK(io_mkdirs(f->io, &f->cx, S("manifest")));
    const str paths[] = {S("manifest/m1"), S("bucket-0/d1"), S("manifest/m2"), S("top"),
                         S("manifest/m3")};
    for (size_t i = 0; i < 5; i++)
        OK(io_write(f->io, &f->cx, paths[i], S("x"), false));
    hook.trace = true;
    OK(io_sync(f->io, &f->cx, paths, 5));
    assert_string_equal(hook.calls, "fdatasync(m1) fdatasync(d1) fdatasync(m2) fdatasync(top) "
                                    "fdatasync(m3) fsync(wh) fsync(bucket-0) fsync(manifest) ");
    hook.fdatasync_errno = EIO;
    EXPECT_SAYS(io_sync(f->io, &f->cx, paths, 5), E_IO, "manifest/m1");
}

static void test_hint(void **state)
{
    struct fx *f = *state;
    static const char *const texts[] = {"9", "10", "10", "2", "123456789"};
    struct io_stat before, st;
    OK(io_mkdirs(f->io, &f->cx, S("snapshot")));
    for (size_t i = 0; i < 5; i++) {
        OK(io_hint(f->io, &f->cx, S("snapshot/LATEST"), str_of(texts[i])));
        CONTENT(S("snapshot/LATEST"), str_of(texts[i]));
        assert_int_equal(entries(f, S("snapshot")), 1);
    }
    OK(io_stat(f->io, &f->cx, S("snapshot/LATEST"), &before));
    OK(io_hint(f->io, &f->cx, S("snapshot/LATEST"), S("987654321")));
    OK(io_stat(f->io, &f->cx, S("snapshot/LATEST"), &st));
    assert_int_equal(st.ino, before.ino); /* written over, not replaced */
    EXPECT(io_hint(f->io, &f->cx, S("no/LATEST"), S("1")), E_NOTFOUND);
    EXPECT(io_hint(f->io, &f->cx, S("../LATEST"), S("1")), E_INVAL);
    make_link(f, "elsewhere", "wh/snapshot/EARLIEST");
    EXPECT(io_hint(f->io, &f->cx, S("snapshot/EARLIEST"), S("1")), E_INVAL);
}

/* What a snapshot needs and the snapshot itself become durable before it has a name. */
static void test_put_after(void **state)
{
    struct fx *f = *state;
    enum io_put_result r;
    const str needs[] = {S("manifest/l1"), S("manifest/l2")};
    OK(io_mkdirs(f->io, &f->cx, S("manifest")));
    OK(io_mkdirs(f->io, &f->cx, S("snapshot")));
    OK(io_write(f->io, &f->cx, needs[0], S("x"), false));
    EXPECT_SAYS(io_put_after(f->io, &f->cx, &(struct io_needs){.there = needs, .n_there = 2},
                             S("snapshot/s"), S("1"), &r),
                E_NOTFOUND, "manifest/l2");
    OK(io_write(f->io, &f->cx, needs[1], S("x"), false));
    hook.fdatasync_errno = EIO;
    EXPECT(io_put_after(f->io, &f->cx, &(struct io_needs){.there = needs, .n_there = 2},
                        S("snapshot/s"), S("1"), &r),
           E_IO);
    assert_int_equal(entries(f, S("snapshot")), 0);
    hook.fdatasync_errno = 0;
    hook.trace = true;
    OK(io_put_after(f->io, &f->cx, &(struct io_needs){.there = needs, .n_there = 2},
                    S("snapshot/s"), S("1"), &r));
    assert_int_equal(r, IO_PUT_CREATED);
    assert_string_equal(hook.calls, "fdatasync(l1) fdatasync(l2) fsync(manifest) fsync(tmp) "
                                    "linkat(s) unlinkat(tmp) fsync(snapshot) ");
    hook.trace = false;
    OK(io_put_after(f->io, &f->cx, &(struct io_needs){.there = needs, .n_there = 2},
                    S("snapshot/s"), S("2"), &r));
    assert_int_equal(r, IO_PUT_EXISTED);
    CONTENT(S("snapshot/s"), S("1"));
}

/* The same with threads that sync side by side, many puts at once. */
struct puts {
    struct fx *f;
    struct io *io;
    int k, rc;
};

static void *many_puts(void *arg)
{
    struct puts *p = arg;
    struct ctx cx;
    ctx_init(&cx, 1 << 20);
    const str needs[] = {S("manifest/l1"), S("manifest/l2")};
    for (int i = 0; i < 20 && p->rc == 0; i++) {
        char name[32];
        enum io_put_result r;
        snprintf(name, sizeof(name), "snapshot/%d-%d", p->k, i);
        p->rc = io_put_after(p->io, &cx, &(struct io_needs){.there = needs, .n_there = 2},
                             str_of(name), S("1"), &r);
        if (p->rc == 0 && r != IO_PUT_CREATED)
            p->rc = E_EXISTS;
    }
    ctx_done(&cx);
    return NULL;
}

static void test_syncs_side_by_side(void **state)
{
    struct fx *f = *state;
    struct pool_opts po = {.name = "sync", .threads = 3, .queue_max = 4};
    struct io_local_opts o = opts(f);
    struct io *io;
    pthread_t th[4];
    struct puts p[4];
    assert_int_equal(pool_new(&po, &o.syncs), 0);
    OK(io_local_new(&f->cx, &o, &io));
    OK(io_mkdirs(io, &f->cx, S("manifest")));
    OK(io_mkdirs(io, &f->cx, S("snapshot")));
    OK(io_write(io, &f->cx, S("manifest/l1"), S("x"), false));
    OK(io_write(io, &f->cx, S("manifest/l2"), S("x"), false));
    for (int k = 0; k < 4; k++) {
        p[k] = (struct puts){f, io, k, 0};
        assert_int_equal(pthread_create(&th[k], NULL, many_puts, &p[k]), 0);
    }
    for (int k = 0; k < 4; k++) {
        pthread_join(th[k], NULL);
        assert_int_equal(p[k].rc, 0);
    }
    assert_int_equal(entries(f, S("snapshot")), 80);
    hook.fdatasync_errno = EIO; /* of any thread is seen by the caller */
    enum io_put_result r;
    const str needs[] = {S("manifest/l1")};
    EXPECT(io_put_after(io, &f->cx, &(struct io_needs){.there = needs, .n_there = 1},
                        S("snapshot/no"), S("1"), &r),
           E_IO);
    hook.fdatasync_errno = 0;
    assert_int_equal(entries(f, S("snapshot")), 80);
    io_free(io);
    pool_free(o.syncs);
}

static void test_sync_of_many_files(void **state)
{
    struct fx *f = *state;
    enum { MANY = 70 }; /* more than are open at a time */
    static char names[MANY][16];
    str paths[MANY];
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "%d", i);
        paths[i] = str_of(names[i]);
        OK(io_write(f->io, &f->cx, paths[i], S("x"), false));
    }
    hook.trace = true;
    OK(io_sync(f->io, &f->cx, paths, MANY));
    int syncs = 0, dirs = 0;
    for (const char *p = hook.calls; (p = strstr(p, "fdatasync(")); p++)
        syncs++;
    for (const char *p = hook.calls; (p = strstr(p, " fsync(wh)")); p++)
        dirs++;
    assert_int_equal(syncs, MANY);
    assert_int_equal(dirs, 1);
    OK(io_del(f->io, &f->cx, S("69")));
    EXPECT_SAYS(io_sync(f->io, &f->cx, paths, MANY), E_NOTFOUND, "\"69\"");
}

/* --- put_after with files to make ------------------------------------------------------------- */

static const struct io_new to_make[] = {{STR_LIT("manifest/a-1"), STR_LIT("first")},
                                        {STR_LIT("manifest/a-2"), STR_LIT("second")},
                                        {STR_LIT("manifest/deep/a-3"), STR_LIT("third")},
                                        {STR_LIT("manifest/a-4"), STR_LIT("")}};
static const struct io_needs makes = {.make = to_make, .n_make = 4};

static int put_making(struct fx *f, str path, str data)
{
    enum io_put_result r = (enum io_put_result)99;
    int rc = io_put_after(f->io, &f->cx, &makes, path, data, &r);
    assert_true(rc == 0 ? r == IO_PUT_CREATED || r == IO_PUT_EXISTED : (int)r == 99);
    return rc < 0 ? rc : (int)r;
}

static void all_made(struct fx *f)
{
    for (size_t i = 0; i < 4; i++)
        CONTENT(to_make[i].path, to_make[i].data);
}

static void unmake_all(struct fx *f)
{
    for (size_t i = 0; i < 4; i++)
        OK(io_del(f->io, &f->cx, to_make[i].path));
}

/* A directory of what is made may be missing, and may stay; no file does. */
static void nothing_made(struct fx *f)
{
    for (size_t i = 0; i < 4; i++)
        assert_false(exists(f, to_make[i].path));
}

static void test_put_makes(void **state)
{
    struct fx *f = *state;
    EXPECT(put_making(f, S("snapshot/s"), S("1")), E_NOTFOUND); /* no directory of its own */
    nothing_made(f);
    OK(io_mkdirs(f->io, &f->cx, S("snapshot")));
    assert_int_equal(put_making(f, S("snapshot/s"), S("1")), IO_PUT_CREATED);
    all_made(f);
    CONTENT(S("snapshot/s"), S("1"));
    assert_int_equal(entries(f, S("manifest")), 4);
    assert_int_equal(entries(f, S("snapshot")), 1);
    unmake_all(f);
    assert_int_equal(put_making(f, S("snapshot/s"), S("2")), IO_PUT_EXISTED);
    all_made(f); /* the caller's, who may find that s is his */
    CONTENT(S("snapshot/s"), S("1"));
}

static void test_put_makes_no_second(void **state)
{
    struct fx *f = *state;
    OK(io_mkdirs(f->io, &f->cx, S("manifest/deep")));
    for (size_t i = 0; i < 4; i++) {
        OK(io_write(f->io, &f->cx, to_make[i].path, S("another's"), true));
        EXPECT_SAYS(put_making(f, S("s"), S("1")), E_EXISTS, "there already");
        CONTENT(to_make[i].path, S("another's"));
        OK(io_del(f->io, &f->cx, to_make[i].path));
        nothing_made(f);
        assert_false(exists(f, S("s")));
    }
    assert_int_equal(put_making(f, S("s"), S("1")), IO_PUT_CREATED);
}

static void test_put_makes_odd_paths(void **state)
{
    struct fx *f = *state;
    static const str bad[] = {STR_LIT(""), STR_LIT("../x"), STR_LIT("a//b"), STR_LIT("/a")};
    enum io_put_result r;
    for (size_t i = 0; i < 4; i++) {
        const struct io_new v[] = {{S("good"), S("x")}, {bad[i], S("x")}};
        const struct io_needs n = {.make = v, .n_make = 2};
        int rc = io_put_after(f->io, &f->cx, &n, S("s"), S("1"), &r);
        assert_true(rc == E_INVAL || (rc == E_EXISTS && bad[i].len == 0));
        ctx_reset_err(&f->cx);
        assert_int_equal(entries(f, S("")), 0);
    }
    OK(io_write(f->io, &f->cx, S("file"), S("x"), false));
    const struct io_new in_file[] = {{S("good"), S("x")}, {S("file/a"), S("x")}};
    const struct io_needs n = {.make = in_file, .n_make = 2};
    EXPECT(io_put_after(f->io, &f->cx, &n, S("s"), S("1"), &r), E_EXISTS);
    assert_int_equal(entries(f, S("")), 1);
}

/* Every write and sync of it fails once: before the link nothing is left, after it all is there. */
static void test_put_makes_and_fails(void **state)
{
    struct fx *f = *state;
    static const char *const points[] = {"io.write", "io.fsync", "put.written", "put.synced",
                                         "put.linked"};
    OK(io_mkdirs(f->io, &f->cx, S("manifest/deep")));
    for (size_t i = 0; i < 5; i++)
        for (int nth = 1;; nth++) {
            char plan[32];
            snprintf(plan, sizeof(plan), "%s=fail:%d", points[i], nth);
            arm(plan);
            int rc = put_making(f, S("s"), S("1"));
            arm("");
            ctx_reset_err(&f->cx);
            assert_int_equal(exists(f, S("s")), rc == 0 || rc == E_UNKNOWN);
            if (rc == 0 || rc == E_UNKNOWN) {
                all_made(f);
                unmake_all(f);
                OK(io_del(f->io, &f->cx, S("s")));
            }
            nothing_made(f);
            if (rc == 0) {
                int calls = i == 0 ? 4 : i > 1 ? 1 : f->mem ? 10 : 8; /* that can fail */
                assert_int_equal(nth, calls + 1);
                break;
            }
            assert_int_equal(rc, i == 0                               ? E_BUSY
                                 : i == 4                             ? E_UNKNOWN
                                 : i == 1 && nth == (f->mem ? 10 : 8) ? E_UNKNOWN
                                                                      : E_IO);
        }
}

static int makes_in_little_memory(struct fx *f)
{
    enum io_put_result r;
    TRY(io_mkdirs(f->io, &f->cx, S("t")));
    const struct io_new v[] = {{S("t/a"), S("a")}, {S("t/d/b"), S("b")}};
    const struct io_needs n = {.make = v, .n_make = 2};
    return io_put_after(f->io, &f->cx, &n, S("t/s"), S("1"), &r);
}

static void test_put_makes_without_memory(void **state)
{
    struct fx *f = *state;
    int n = 0, rc;
    do {
        ctx_done(&f->cx);
        ctx_init(&f->cx, ARENA_MAX);
        mem_fail_at(++n, 0);
        rc = makes_in_little_memory(f);
        mem_fail_at(0, 0);
        bool there = exists(f, S("t/s"));
        if (rc < 0)
            ctx_reset_err(&f->cx);
        assert_true(rc == 0 || rc == E_NOMEM || (rc == E_UNKNOWN && there));
        if (!there) {
            assert_false(exists(f, S("t/a")));
            assert_false(exists(f, S("t/d/b")));
        }
        OK(io_remove_tree(f->io, &f->cx, S("t")));
        assert_true(n < 200);
    } while (rc < 0);
    assert_true(n > 2);
}

/* A power loss after any answer: what has its name has all that it needs. */
static void test_crash_after_put_makes(void **state)
{
    struct fx *f = *state;
    static const char *const points[] = {"io.write", "io.fsync", "put.written", "put.synced",
                                         "put.linked"};
    for (size_t i = 0; i < 5; i++)
        for (int nth = 1;; nth++) {
            char plan[32];
            OK(io_mkdirs(f->io, &f->cx, S("t/snapshot")));
            snprintf(plan, sizeof(plan), "%s=fail:%d", points[i], nth);
            arm(plan);
            int rc = put_making(f, S("t/snapshot/s"), S("1"));
            arm("");
            ctx_reset_err(&f->cx);
            io_mem_crash(f->io);
            bool there = exists(f, S("t/snapshot/s"));
            if (there || rc == 0)
                all_made(f);
            if (there)
                CONTENT(S("t/snapshot/s"), S("1"));
            assert_true(rc != 0 || there);
            OK(io_remove_tree(f->io, &f->cx, S("t")));
            OK(io_remove_tree(f->io, &f->cx, S("manifest")));
            if (rc == 0)
                break;
            assert_true(nth < 20);
        }
}

static void test_order_of_put_makes(void **state)
{
    struct fx *f = *state;
    enum io_put_result r;
    const str there[] = {S("manifest/l1"), S("data/d1")};
    struct io_needs n = makes;
    n.there = there;
    n.n_there = 2;
    OK(io_mkdirs(f->io, &f->cx, S("manifest/deep")));
    OK(io_mkdirs(f->io, &f->cx, S("data")));
    OK(io_mkdirs(f->io, &f->cx, S("snapshot")));
    OK(io_write(f->io, &f->cx, there[0], S("x"), false));
    hook.trace = true;
    EXPECT_SAYS(io_put_after(f->io, &f->cx, &n, S("snapshot/s"), S("1"), &r), E_NOTFOUND,
                "data/d1");
    hook.trace = false;
    nothing_made(f);
    OK(io_write(f->io, &f->cx, there[1], S("x"), false));
    hook.calls[0] = 0;
    hook.trace = true;
    OK(io_put_after(f->io, &f->cx, &n, S("snapshot/s"), S("1"), &r));
    assert_string_equal(hook.calls,
                        "fdatasync(l1) fdatasync(d1) fsync(data) fdatasync(a-1) fdatasync(a-2) "
                        "fdatasync(a-3) fdatasync(a-4) fsync(manifest) fsync(deep) fsync(tmp) "
                        "linkat(s) unlinkat(tmp) fsync(snapshot) ");
    hook.trace = false;
    unmake_all(f);
    hook.link_errno = EIO; /* before the link: nothing is left */
    EXPECT(io_put_after(f->io, &f->cx, &n, S("snapshot/t"), S("1"), &r), E_IO);
    nothing_made(f);
    hook.link_first = true; /* it worked, says the name */
    OK(io_put_after(f->io, &f->cx, &n, S("snapshot/t"), S("1"), &r));
    assert_int_equal(r, IO_PUT_CREATED);
    all_made(f);
    hook.link_errno = 0;
    hook.link_first = false;
}

/* More files than stay open at a time, each synced once. */
static void test_put_makes_many(void **state)
{
    struct fx *f = *state;
    enum { MANY = 100 };
    static char names[MANY][24];
    struct io_new v[MANY];
    enum io_put_result r;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "m/%d", i);
        v[i] = (struct io_new){str_of(names[i]), S("x")};
    }
    const struct io_needs n = {.make = v, .n_make = MANY};
    hook.trace = true;
    OK(io_put_after(f->io, &f->cx, &n, S("s"), S("1"), &r));
    hook.trace = false;
    int syncs = 0;
    for (const char *p = hook.calls; (p = strstr(p, "fdatasync(")); p++)
        syncs++;
    assert_int_equal(syncs, MANY);
    assert_int_equal(entries(f, S("m")), MANY);
    EXPECT(io_put_after(f->io, &f->cx, &n, S("s2"), S("1"), &r), E_EXISTS);
    assert_int_equal(entries(f, S("m")), MANY);
    hook.fdatasync_errno = EIO;
    OK(io_remove_tree(f->io, &f->cx, S("m")));
    EXPECT(io_put_after(f->io, &f->cx, &n, S("s2"), S("1"), &r), E_IO);
    assert_int_equal(entries(f, S("m")), 0);
}

static void map_id(const char *file, unsigned id)
{
    FILE *fp = fopen(file, "w");
    if (fp) {
        fprintf(fp, "%u %u 1", id, id);
        fclose(fp);
    }
}

static bool mount_small(const char *dir)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWNS | (uid == 0 ? 0 : CLONE_NEWUSER)) != 0)
        return false;
    if (uid != 0) {
        FILE *fp = fopen("/proc/self/setgroups", "w");
        if (fp) {
            fputs("deny", fp);
            fclose(fp);
        }
        map_id("/proc/self/uid_map", uid);
        map_id("/proc/self/gid_map", gid);
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", dir, "tmpfs", 0, "size=64k") == 0;
}

/* A file system of 64 KiB. NULL also when we may not mount: the injected test covers the answer. */
static const char *fill_a_disk(struct fx *f)
{
    if (mkdir(f->root, 0755) != 0)
        return "mkdir";
    if (!mount_small(f->root)) {
        fprintf(stderr, "no mount here: skipped\n");
        return NULL;
    }
    static char big[1 << 20];
    struct io_local_opts o = opts(f);
    int64_t bytes = -1;
    enum io_put_result r;
    if (io_local_new(&f->cx, &o, &f->io) != 0)
        return "new";
    if (io_write(f->io, &f->cx, S("x"), S("old"), true) != 0)
        return "write";
    if (io_space(f->io, &f->cx, &bytes) != 0 || bytes <= 0 || bytes > 65536)
        return "space";
    if (io_put_if_absent(f->io, &f->cx, S("p"), str_n(big, sizeof(big)), &r) != E_BUSY ||
        !strstr(f->cx.err.msg, "disk is full"))
        return "put";
    if (io_write(f->io, &f->cx, S("x"), str_n(big, sizeof(big)), false) != E_BUSY)
        return "full write";
    const struct io_new two[] = {{S("m-1"), S("small")}, {S("m-2"), str_n(big, sizeof(big))}};
    const struct io_needs needs = {.make = two, .n_make = 2};
    if (io_put_after(f->io, &f->cx, &needs, S("p"), S("small"), &r) != E_BUSY)
        return "full make";
    struct io_entry *v;
    size_t n;
    if (io_list(f->io, &f->cx, S(""), &v, &n) != 0 || n != 1)
        return "something is left";
    CLEANUP(buf_done) struct buf b = {0};
    if (io_read(f->io, &f->cx, S("x"), 10, &b) != 0 || !str_eqz(buf_str(&b), "old"))
        return "the old file";
    if (io_put_if_absent(f->io, &f->cx, S("p"), S("small"), &r) != 0)
        return "what fits";
    return NULL;
}

static void test_full_disk(void **state)
{
    in_child(*state, fill_a_disk);
}

/* --- all of them ------------------------------------------------------------------------------ */

#define ROW(fn, on, set_up) ((struct CMUnitTest){#fn on, fn, set_up, tear_down, NULL})
#define LOCAL(fn)           ROW(fn, " (local)", set_up_local)
#define BARE(fn)            ROW(fn, " (local)", set_up_bare)
#define MEM(fn)             ROW(fn, " (mem)", set_up_mem)
#define BOTH(fn)            LOCAL(fn), MEM(fn)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(test_write_and_read),
        BOTH(test_read_appends_within_its_limits),
        BOTH(test_wrong_kinds_and_missing_parents),
        BOTH(test_put_if_absent),
        BOTH(test_one_of_many_creates),
        BOTH(test_hostile_paths),
        BOTH(test_odd_names_that_are_fine),
        BOTH(test_stat),
        BOTH(test_list),
        BOTH(test_del),
        BOTH(test_mkdirs),
        BOTH(test_move),
        BOTH(test_remove_tree),
        BOTH(test_sync),
        BOTH(test_space),
        BOTH(test_put_that_fails_leaves_nothing),
        BOTH(test_put_of_unknown_outcome),
        BOTH(test_write_that_fails),
        BOTH(test_other_syncs_that_fail),
        BOTH(test_no_memory),
        MEM(test_crash_keeps_what_was_synced),
        MEM(test_crash_drops_what_was_not),
        MEM(test_crash_undoes_deletions),
        LOCAL(test_links_lead_nowhere),
        LOCAL(test_second_line_of_defence),
        BARE(test_temporary_names),
        LOCAL(test_remove_tree_unlinks_links),
        LOCAL(test_special_files),
        LOCAL(test_size_is_checked_before_reading),
        LOCAL(test_file_grows_or_shrinks_while_read),
        LOCAL(test_short_and_interrupted_calls),
        LOCAL(test_list_without_types),
        LOCAL(test_deep_tree),
        LOCAL(test_remove_tree_while_files_appear),
        BARE(test_modes_whatever_the_umask),
        BARE(test_group),
        BARE(test_options_that_cannot_work),
        BARE(test_no_permission),
        BARE(test_group_that_is_not_ours),
        BARE(test_root_through_a_link),
        BARE(test_file_system_without_links),
        BARE(test_file_system_that_cannot),
        LOCAL(test_move_without_noreplace),
        LOCAL(test_directories_that_cannot_be_synced),
        LOCAL(test_lost_answers_of_link),
        LOCAL(test_order_of_a_put),
        LOCAL(test_order_of_a_sync),
        LOCAL(test_sync_of_many_files),
        LOCAL(test_hint),
        LOCAL(test_put_after),
        BOTH(test_put_makes),
        BOTH(test_put_makes_no_second),
        BOTH(test_put_makes_odd_paths),
        BOTH(test_put_makes_and_fails),
        BOTH(test_put_makes_without_memory),
        MEM(test_crash_after_put_makes),
        LOCAL(test_order_of_put_makes),
        LOCAL(test_put_makes_many),
        LOCAL(test_syncs_side_by_side),
        BARE(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
