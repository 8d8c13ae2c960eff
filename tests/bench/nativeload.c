/* nativeload.c - native commits as fast as they go, or what a commit does to files, done bare.
 *
 *   nativeload THREADS SECONDS                    bare: a line of input is the directory of a table
 *   nativeload THREADS SECONDS HOST PORT TOKEN    over HTTP: DIRECTORY and, after a blank, the path of
 *                                                 the table's route `commits`
 *
 * Thread n goes round the tables n, n + THREADS, … (modulo their number). Before each commit it writes a
 * data file of 1000 bytes, in both cases and unsynced, since that is the writer's work. A bare commit: a
 * manifest, two lists and a snapshot of usual sizes are made and synced, their directory is synced, the
 * snapshot is linked to its name, its directory is synced, LATEST is written; those of one table one
 * after the other. Prints "COMMITS RATE P50_US CPU_US": the last one is this process's
 * processor time a commit. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/buf.h"
#include "proto/base/clock.h"
#include "proto/base/rand.h"

#define TABLES_MAX  1024
#define THREADS_MAX 256
#define SAMPLES_MAX 20000

struct ltable {
    char dir[2048], route[1024];
    pthread_mutex_t mu;
    long snapshot;
};
struct worker {
    pthread_t thread;
    int n, fd;
    long commits;
    int64_t took[SAMPLES_MAX];
    char in[1 << 16];
};

static struct ltable tables[TABLES_MAX];
static struct worker workers[THREADS_MAX];
static int n_tables, n_workers, port;
static int64_t until;
static const char *host, *token;

static void die(const char *what, const char *more)
{
    fprintf(stderr, "nativeload: %s: %s (%s)\n", what, more, strerror(errno));
    exit(1);
}

/* --- files ------------------------------------------------------------------------------------------------ */

/* Open for writing; close it, or sync and close. */
static int file_new(const char *path, size_t n)
{
    static const char zeros[1 << 16];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0664);
    if (fd < 0 || write(fd, zeros, n) != (ssize_t)n)
        die("cannot write", path);
    return fd;
}

static void sync_dir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        die("cannot sync", path);
    close(fd);
}

static void hint(const char *dir, long snapshot)
{
    char path[4096], text[24];
    snprintf(path, sizeof path, "%s/snapshot/LATEST", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0664), n;
    n = snprintf(text, sizeof text, "%ld", snapshot);
    if (fd < 0 || pwrite(fd, text, (size_t)n, 0) != n)
        die("cannot write", path);
    close(fd);
}

static void commit_bare(struct ltable *t)
{
    static const struct {
        const char *name;
        size_t n;
    } parts[] = {{"manifest/manifest", 2250},
                 {"manifest/manifest-list-delta", 1130},
                 {"manifest/manifest-list-base", 2000},
                 {"snapshot/.tmp", 750}};
    char path[4096], to[4096], uuid[UUID_LEN + 1];
    int fd[4];
    rand_uuid(uuid);
    pthread_mutex_lock(&t->mu);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s-%s", t->dir, parts[i].name, uuid);
        fd[i] = file_new(path, parts[i].n);
    }
    for (int i = 0; i < 4; i++) {
        if (fdatasync(fd[i]) < 0)
            die("cannot sync", path);
        close(fd[i]);
    }
    snprintf(to, sizeof to, "%s/manifest", t->dir);
    sync_dir(to);
    snprintf(to, sizeof to, "%s/snapshot/snapshot-%ld", t->dir, ++t->snapshot);
    if (link(path, to) < 0 || unlink(path) < 0)
        die("cannot link", to);
    snprintf(to, sizeof to, "%s/snapshot", t->dir);
    sync_dir(to);
    hint(t->dir, t->snapshot);
    pthread_mutex_unlock(&t->mu);
}

/* --- HTTP ------------------------------------------------------------------------------------------------- */

static int dial(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0 || inet_pton(AF_INET, host, &a.sin_addr) != 1 ||
        connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
        die("cannot connect to", host);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* The status of an answer that is read to its end. */
static int answer(struct worker *w)
{
    size_t n = 0;
    char *end = NULL;
    while (!end) {
        ssize_t k = recv(w->fd, w->in + n, sizeof w->in - 1 - n, 0);
        if (k <= 0)
            die("the server closed", token ? "the connection" : "");
        n += (size_t)k;
        w->in[n] = 0;
        end = strstr(w->in, "\r\n\r\n");
    }
    const char *length = strcasestr(w->in, "\r\ncontent-length:");
    size_t all = (size_t)(end - w->in) + 4 + (length ? strtoul(length + 17, NULL, 10) : 0);
    if (all >= sizeof w->in)
        die("an answer is too long", w->in);
    for (ssize_t k; n < all; n += (size_t)k)
        if ((k = recv(w->fd, w->in + n, all - n, 0)) <= 0)
            die("the server closed", "within an answer");
    w->in[n] = 0;
    return (int)strtol(w->in + 9, NULL, 10);
}

static void commit_http(struct worker *w, const struct ltable *t, const char *file)
{
    char body[1024], head[2048];
    int n =
        snprintf(body, sizeof body,
                 "{\"commitUser\":\"bench-%d\",\"commitIdentifier\":%ld,\"kind\":\"APPEND\","
                 "\"add\":[{\"bucket\":0,\"fileName\":\"%s\",\"fileSize\":1000,\"rowCount\":100}]}",
                 w->n, w->commits + 1, file);
    int h = snprintf(head, sizeof head,
                     "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"
                     "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                     t->route, host, token, n, body);
    if (send(w->fd, head, (size_t)h, MSG_NOSIGNAL) != h)
        die("cannot send to", host);
    int status = answer(w);
    if (status != 200)
        die("a commit failed", w->in);
}

/* --- both ------------------------------------------------------------------------------------------------- */

static void *work(void *arg)
{
    struct worker *w = arg;
    char path[4096], file[80], uuid[UUID_LEN + 1];
    w->fd = host ? dial() : -1;
    for (int at = w->n % n_tables; clock_mono_us() < until; at = (at + n_workers) % n_tables) {
        struct ltable *t = &tables[at];
        rand_uuid(uuid);
        snprintf(file, sizeof file, "data-%s-0.parquet", uuid);
        snprintf(path, sizeof path, "%s/bucket-0/%s", t->dir, file);
        close(file_new(path, 1000));
        int64_t began = clock_mono_us();
        if (host)
            commit_http(w, t, file);
        else
            commit_bare(t);
        if (w->commits < SAMPLES_MAX)
            w->took[w->commits] = clock_mono_us() - began;
        w->commits++;
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void report(double seconds)
{
    static int64_t all[(size_t)THREADS_MAX * SAMPLES_MAX];
    size_t n = 0;
    long commits = 0;
    for (int i = 0; i < n_workers; i++) {
        commits += workers[i].commits;
        for (long k = 0; k < workers[i].commits && k < SAMPLES_MAX; k++)
            all[n++] = workers[i].took[k];
    }
    qsort(all, n, sizeof *all, by_value);
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    printf(
        "%ld %.1f %lld %.0f\n", commits, (double)commits / seconds, n ? (long long)all[n / 2] : 0,
        ((double)cpu.tv_sec * 1e6 + (double)cpu.tv_nsec / 1e3) / (double)(commits ? commits : 1));
}

static void read_tables(void)
{
    char line[4096], sub[4096];
    while (n_tables < TABLES_MAX && fgets(line, sizeof line, stdin)) {
        struct ltable *t = &tables[n_tables++];
        line[strcspn(line, "\n")] = 0;
        char *blank = strchr(line, ' ');
        snprintf(t->dir, sizeof t->dir, "%.*s", (int)strcspn(line, " "), line);
        snprintf(t->route, sizeof t->route, "%s", blank ? blank + 1 : "");
        pthread_mutex_init(&t->mu, NULL);
        for (int i = 0; i < 3; i++) {
            snprintf(sub, sizeof sub, "%s/%s", t->dir,
                     (const char *[]){"manifest", "snapshot", "bucket-0"}[i]);
            mkdir(sub, 0775);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 6)
        return 2;
    n_workers = (int)strtol(argv[1], NULL, 10);
    if (argc == 6) {
        host = argv[3];
        port = (int)strtol(argv[4], NULL, 10);
        token = argv[5];
    }
    read_tables();
    if (!n_tables || n_workers < 1 || n_workers > THREADS_MAX)
        return 2;
    int64_t began = clock_mono_us();
    until = began + (int64_t)(strtod(argv[2], NULL) * 1e6);
    for (int i = 0; i < n_workers; i++) {
        workers[i].n = i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            return 1;
    }
    for (int i = 0; i < n_workers; i++)
        pthread_join(workers[i].thread, NULL);
    report((double)(clock_mono_us() - began) / 1e6);
    return 0;
}
