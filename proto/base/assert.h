/* assert.h - ASSERT stays on in every build: it names a bug of ours, logs the place and aborts.
 * Bytes from a client or a file are never asserted; they are E_INVAL or E_CORRUPT.
 * DASSERT is for checks too dear for release builds. */
#ifndef LATCH_PROTO_BASE_ASSERT_H
#define LATCH_PROTO_BASE_ASSERT_H

_Noreturn void assert_fail(const char *expr, const char *file, int line, const char *fn);

#define ASSERT(expr) ((expr) ? (void)0 : assert_fail(#expr, __FILE__, __LINE__, __func__))

#ifdef LATCH_DEBUG
#define DASSERT(expr) ASSERT(expr)
#else
#define DASSERT(expr) ((void)sizeof(expr))
#endif

#endif
