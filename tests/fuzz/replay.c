/* replay.c - runs a fuzz target over the files of a folder, as a plain test (gcc, no libFuzzer).
 * Usage: <target> FOLDER; prints "SUITE name: N passed, 0 failed". A crash is the failure. */
#include <dirent.h>
#include <stdint.h>

#include "proto/base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    CLEANUP(buf_done) struct buf b = {0};
    char part[4096];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "cannot read %s\n", path);
        return -1;
    }
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        buf_add(&b, part, n);
    fclose(f);
    if (buf_fail(&b))
        return -1;
    /* Exactly as long as the input: reading past it is an error that ASan sees. */
    uint8_t *copy = malloc(b.len ? b.len : 1);
    if (!copy)
        return -1;
    if (b.len)
        memcpy(copy, b.p, b.len);
    LLVMFuzzerTestOneInput(copy, b.len);
    free(copy);
    return 0;
}

int main(int argc, char **argv)
{
    int n = 0;
    DIR *d = argc == 2 ? opendir(argv[1]) : NULL;
    if (!d) {
        fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
        return 2;
    }
    for (struct dirent *e; (e = readdir(d));) {
        char path[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        if (run_file(path) < 0)
            return 1;
        n++;
    }
    closedir(d);
    const char *name = strrchr(argv[0], '/');
    printf("SUITE replay/%s: %d passed, 0 failed\n", name ? name + 1 : argv[0], n);
    return n > 0 ? 0 : 1;
}
