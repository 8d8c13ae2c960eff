/* config.h - the settings of the process: default < file < environment < flags.
 *
 * A struct config is immutable once it is made; SIGHUP makes a new one (config_reload). */
#ifndef LATCH_SERVER_CONFIG_H
#define LATCH_SERVER_CONFIG_H

#include "proto/base/buf.h"
#include "proto/base/ctx.h"

#define KIB    ((int64_t)1024)
#define MIB    (1024 * KIB)
#define GIB    (1024 * MIB)
#define TIB    (1024 * GIB)
#define DAY_MS ((int64_t)86400000)

enum setting_type { T_STR, T_PATH, T_INT, T_BYTES, T_DURATION, T_MODE, T_BOOL, T_ENUM };
enum setting_when { WHEN_START, WHEN_RELOAD };
enum setting_secret { SECRET_OPEN, SECRET_SECRET };

struct setting { /* a row of config.def */
    const char *key;
    enum setting_type type;
    const char *dflt;
    int64_t min, max;
    const char *choices;
    enum setting_when when;
    enum setting_secret secret;
    const char *help;
    size_t at; /* of the field in struct config */
};

enum setting_id {
#define SETTING(field, key, type, dflt, min, max, choices, when, secret, help) SET_##field,
#include "server/config.def"
#undef SETTING
    SETTING_COUNT
};
extern const struct setting settings[SETTING_COUNT];

struct config {
#define CONFIG_T_STR      str
#define CONFIG_T_PATH     str
#define CONFIG_T_INT      int64_t
#define CONFIG_T_BYTES    int64_t
#define CONFIG_T_DURATION int64_t /* milliseconds */
#define CONFIG_T_MODE     int64_t
#define CONFIG_T_BOOL     int64_t
#define CONFIG_T_ENUM     int64_t
#define SETTING(field, key, type, dflt, min, max, choices, when, secret, help)                     \
    CONFIG_T_##type field;
#include "server/config.def"
#undef SETTING
    str text[SETTING_COUNT];   /* as it was given */
    str origin[SETTING_COUNT]; /* "default", "flag --listen", "variable LATCH_LISTEN", "latch.conf
                                  line 3" */
    str file;                  /* that was read; empty: none */
    struct arena arena;        /* all of the texts */
    struct config *older; /* the one before a reload: others may still read it; freed with this */
};

struct config_in {
    const char *const *argv; /* after the subcommand; argc of them */
    int argc;
    const char *const *env; /* "KEY=value"; NULL-terminated */
};
/* --config FILE and LATCH_CONFIG name the file (empty: none); without them ./latch.conf is read if
 * there is one.
 * E_INVAL (a key, a value or a combination that is wrong, with what to change), E_IO, E_NOMEM.
 * Unknown LATCH_* variables are logged as warnings. May block. The caller frees. */
int config_load(struct ctx *cx, const struct config_in *in, struct config **ret) WARN_UNUSED;
/* Loads again; what needs a restart keeps the value of `old`. Logs what changed and what needs a
 * restart. On success *ret owns old. */
int config_reload(struct ctx *cx, const struct config_in *in, struct config *old,
                  struct config **ret) WARN_UNUSED;
void config_free(struct config *c); /* with the older ones; NULL is fine */

/* Logs what differs from the defaults, and where it came from; secrets as ***. */
void config_log(const struct config *c);
void config_help(struct buf *b); /* the table of `latch serve --help` */
void config_file(struct buf *b); /* deploy/latch.conf: every setting, commented, with its default */
/* Name of the variable that sets a key: "LATCH_HTTP_BODY_MAX". */
void config_env_name(struct buf *b, const char *key);
const struct setting *config_find(str key);    /* NULL: there is none of that name */
const struct setting *config_nearest(str key); /* by edit distance */

#endif
