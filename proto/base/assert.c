/* assert.c - the last words of a process that found a bug in itself.
 *
 * Writes one line in the log's format and the stack to stderr, with write(2) only: the bug may be
 * in the log or in the heap, so neither is used for the line. backtrace(3) may allocate the first
 * time, hence the stack comes after. Then abort(), so that there is a core to look at.
 *
 * Threads: any. Two threads may fail at once; each line is one write. */
#include "proto/base/assert.h"

#include <execinfo.h>
#include <unistd.h>

#define STACK_MAX 64

/* A failed write cannot be helped: we are about to abort. */
static void say(const char *text, size_t n)
{
    if (write(STDERR_FILENO, text, n) < 0)
        return;
}

/* An expression with a string in it would break the quotes around it. */
static void soften_quotes(char *dst, size_t cap, const char *src)
{
    size_t i = 0;
    for (; i + 1 < cap && src[i]; i++)
        dst[i] = src[i] == '"' ? '\'' : src[i];
    dst[i] = 0;
}

void assert_fail(const char *expr, const char *file, int line, const char *fn)
{
    char shown[256], text[1024];
    soften_quotes(shown, sizeof(shown), expr);
    int n = snprintf(text, sizeof(text),
                     "lvl=error mod=assert ev=assert.fail expr=\"%s\" at=%s:%d fn=%s\n", shown,
                     file, line, fn);
    if (n > 0)
        say(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
    void *stack[STACK_MAX];
    int depth = backtrace(stack, STACK_MAX);
    backtrace_symbols_fd(stack, depth, STDERR_FILENO);
    abort();
}
