/* main.c - the subcommands of `latch`. */
#include "server/config.h"
#include "server/serve.h"
#include "server/version.h"

static int print(struct buf *b)
{
    return buf_fail(b) == 0 && fwrite(b->p, 1, b->len, stdout) == b->len && fflush(stdout) == 0 ? 0
                                                                                                : 1;
}

static void usage(struct buf *b)
{
    buf_addf(b,
             "latch %s - a commit and metadata server for Apache Paimon tables\n\n"
             "usage:\n"
             "  latch serve [--config FILE] [--KEY VALUE]...   run the server\n"
             "  latch version                                  print version and commit\n"
             "  latch help                                     print this\n"
             "  latch help serve                               print all settings\n"
             "  latch help config                              print a commented latch.conf\n\n"
             "To try it: latch serve, then paste what it prints.\n",
             latch_version());
}

static int help(int argc, const char *const *argv)
{
    CLEANUP(buf_done) struct buf b = {0};
    if (argc == 0) {
        usage(&b);
    } else if (strcmp(argv[0], "serve") == 0) {
        config_help(&b);
    } else if (strcmp(argv[0], "config") == 0) {
        config_file(&b);
    } else {
        fprintf(stderr, "latch: there is no help on \"%s\"; try: latch help\n", argv[0]);
        return 2;
    }
    return print(&b);
}

static int version(void)
{
    CLEANUP(buf_done) struct buf b = {0};
    buf_addf(&b, "latch %s (%s)\n", latch_version(), latch_commit());
    return print(&b);
}

static bool is(const char *arg, const char *name, const char *flag)
{
    return strcmp(arg, name) == 0 || (flag && strcmp(arg, flag) == 0);
}

int main(int argc, char **argv)
{
    const char *const *rest = (const char *const *)argv + 2;
    if (argc < 2) {
        CLEANUP(buf_done) struct buf b = {0};
        usage(&b);
        IGNORE(fwrite(b.p, 1, b.len, stderr) != b.len);
        return 2;
    }
    if (is(argv[1], "serve", NULL))
        return serve(argc - 2, rest);
    if (is(argv[1], "version", "--version"))
        return version();
    if (is(argv[1], "help", "--help") || is(argv[1], "help", "-h"))
        return help(argc - 2, rest);
    fprintf(stderr, "latch: there is no command \"%s\"; there are serve, version and help\n",
            argv[1]);
    return 2;
}
