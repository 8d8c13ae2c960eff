/* err.h - the error codes of every layer, and the record that says what went wrong.
 *
 * Functions return 0 or a negative code. The record rides in the context (ctx.h): one error a
 * request, set where it is found; higher layers may prefix context but never replace the code. */
#ifndef LATCH_PROTO_BASE_ERR_H
#define LATCH_PROTO_BASE_ERR_H

#include "proto/base/str.h"

enum err {
    E_OK = 0,
    E_INVAL = -1,        /* the caller's input is wrong: 400 */
    E_UNAUTH = -2,       /* who are you: 401 */
    E_DENIED = -3,       /* you may not: 403 */
    E_NOTFOUND = -4,     /* 404 */
    E_EXISTS = -5,       /* 409 */
    E_CONFLICT = -6,     /* refused with a reason: 409 */
    E_RACE = -7,         /* a moved base: 200 {"success":false} on commit, else 409 */
    E_TOOBIG = -8,       /* body or field over its cap: 413 */
    E_BUSY = -9,         /* nothing was done, try again: 503 + Retry-After */
    E_TIMEOUT = -10,     /* nothing was done within the deadline: 503 + Retry-After */
    E_UNSUPPORTED = -11, /* 501 */
    E_METHOD = -12,      /* known path, wrong method: 405 */
    E_IO = -13,          /* the disk or the store failed; nothing was done: 500 */
    E_CORRUPT = -14,     /* bytes on disk are not what they should be: 500 */
    E_NOMEM = -15,       /* 500 */
    E_INTERNAL = -16,    /* a bug of ours: 500 */
    E_UNKNOWN = -17,     /* it may have happened; only a later read can tell: 500 */
    E_NEED = -19,        /* nothing was done yet: something must be read off the strand first. Never
                            answered: whoever runs turns gathers it and runs the turn again */
    E_STATE = -18,       /* what is there does not allow it (Java's IllegalStateException); nothing
                            was done: 500, which is what Paimon's clients expect for it */
};
enum { ERR_CODES = 20 };

/* What Paimon's error body calls resourceType. */
enum res {
    RES_NONE,
    RES_DATABASE,
    RES_TABLE,
    RES_PARTITION,
    RES_COLUMN,
    RES_SNAPSHOT,
    RES_BRANCH,
    RES_TAG,
    RES_VIEW,
    RES_DIALECT,
    RES_FUNCTION,
    RES_DEFINITION,
    RES_CONFLICT /* not Paimon's: of our own routes */
};

struct err_rec {
    int code;         /* 0 while all is well */
    int sys_errno;    /* errno where the system said no, else 0 */
    const char *file; /* where it was found (a literal) */
    int line;
    enum res res;
    char res_name[256];
    char msg[512]; /* for a person: what is wrong and what to change; always NUL-terminated */
};

const char *err_name(int code);   /* "E_INVAL"; "E_?" for a number that is no code */
const char *res_name(enum res r); /* "DATABASE"; NULL for RES_NONE */

#define WARN_UNUSED  __attribute__((warn_unused_result))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))

/* An int result that may be ignored on purpose: it greps, and gcc does not warn. */
#define IGNORE(expr)                                                                               \
    do {                                                                                           \
        if (expr) {                                                                                \
        }                                                                                          \
    } while (0)

#define TRY(expr)                                                                                  \
    do {                                                                                           \
        int try_rc_ = (expr);                                                                      \
        if (try_rc_ < 0)                                                                           \
            return try_rc_;                                                                        \
    } while (0)

#define CLEANUP(fn) __attribute__((cleanup(fn)))

#endif
