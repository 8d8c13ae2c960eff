/* log.h - one logfmt line an event on stderr (or the descriptor of log_set_fd): ts lvl mod ev, then fields.
 *
 * Event names are stable ("commit.done"): tests and people grep them. Values are quoted when they
 * need it, control bytes are escaped, so a client cannot forge a line. Secrets are never passed.
 * Each call is one write(2): lines of threads do not mix. Library layers log at debug only; the one
 * who handles an error logs it. */
#ifndef LATCH_PROTO_BASE_LOG_H
#define LATCH_PROTO_BASE_LOG_H

#include "proto/base/err.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_set_level(enum log_level lvl);
bool log_on(enum log_level lvl);
void log_set_fd(int fd); /* default 2 */

/* Field values: the macro keeps types checked. Keys are literals. */
enum log_kind { LOG_END, LOG_STR, LOG_INT, LOG_SKIP /* only lends its comma */ };
struct log_field {
    enum log_kind kind;
    const char *key;
    str s;
    int64_t i;
};
#define LS(k, v) ((struct log_field){LOG_STR, (k), (v), 0})       /* v: str */
#define LZ(k, v) ((struct log_field){LOG_STR, (k), str_of(v), 0}) /* v: const char * */
#define LI(k, v) ((struct log_field){LOG_INT, (k), STR_NONE, (int64_t)(v)})

void log_write(enum log_level lvl, const char *mod, const char *ev, const struct log_field *fields);
#define LOG_AT(lvl, mod, ev, ...)                                                                  \
    do {                                                                                           \
        if (log_on(lvl))                                                                           \
            log_write(lvl, mod, ev,                                                                \
                      &((const struct log_field[]){                                                \
                          {LOG_SKIP, 0, {0}, 0}, ##__VA_ARGS__, {LOG_END, 0, {0}, 0}})[1]);        \
    } while (0)
#define log_debug(mod, ev, ...) LOG_AT(LOG_DEBUG, mod, ev, ##__VA_ARGS__)
#define log_info(mod, ev, ...)  LOG_AT(LOG_INFO, mod, ev, ##__VA_ARGS__)
#define log_warn(mod, ev, ...)  LOG_AT(LOG_WARN, mod, ev, ##__VA_ARGS__)
#define log_error(mod, ev, ...) LOG_AT(LOG_ERROR, mod, ev, ##__VA_ARGS__)

#endif
