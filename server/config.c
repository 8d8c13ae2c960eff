/* config.c - the settings: where they come from and which source wins.
 *
 * Every value of every source is parsed, also one that a later source covers: a wrong line in a
 * file is told at once and not on the day the variable above it goes. Keys in the file and flags
 * are ours, so an unknown one is a mistake and refuses the start; the environment is shared with
 * others, so an unknown LATCH_ variable is only logged.
 *
 * Threads: a config is written here and never again; any thread reads it. */
#include "server/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "proto/base/assert.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"
#include "proto/base/path.h"
#include "server/config_value.h"

#define FILE_MAX (1 * MIB)

const struct setting settings[SETTING_COUNT] = {
#define SETTING(field, key, type, dflt, min, max, choices, when, secret, help)                     \
    {key,         T_##type,                                                                        \
     dflt,        min,                                                                             \
     max,         choices,                                                                         \
     WHEN_##when, SECRET_##secret,                                                                 \
     help,        offsetof(struct config, field)},
#include "server/config.def"
#undef SETTING
};

/* Variables that are ours but no settings. */
static const char *const other_env[] = {"LATCH_CONFIG", "LATCH_BOOTSTRAP_TOKEN", "LATCH_INJECT",
                                        "LATCH_INJECT_COUNT"};

/* --- names ------------------------------------------------------------------------------------ */

const struct setting *config_find(str key)
{
    for (int i = 0; i < SETTING_COUNT; i++)
        if (str_eqz(key, settings[i].key))
            return &settings[i];
    return NULL;
}

#define NAME_MAX_LEN 64 /* of keys, and of what is compared with them */

/* Case and the kind of separator are slips of their own, and how variables are spelled. */
static char folded(char c)
{
    return c == '_' || c == '.' ? '-' : (char)tolower((unsigned char)c);
}

/* Levenshtein's distance, one row at a time. */
static size_t distance(str a, str b)
{
    size_t row[NAME_MAX_LEN + 1];
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t above = row[j];
            size_t change = diagonal + (folded(a.p[i - 1]) != folded(b.p[j - 1]));
            size_t step = (above < row[j - 1] ? above : row[j - 1]) + 1;
            row[j] = change < step ? change : step;
            diagonal = above;
        }
    }
    return row[b.len];
}

/* A part of a name ("threads") is nearer to it than its length tells. */
static bool is_part(str key, str name)
{
    for (size_t at = 0; key.len >= 4 && at + key.len <= name.len; at++) {
        size_t n = 0;
        while (n < key.len && folded(key.p[n]) == folded(name.p[at + n]))
            n++;
        if (n == key.len)
            return true;
    }
    return false;
}

const struct setting *config_nearest(str key)
{
    key.len = key.len > NAME_MAX_LEN ? NAME_MAX_LEN : key.len;
    const struct setting *best = &settings[0];
    size_t best_distance = SIZE_MAX;
    for (int i = 0; i < SETTING_COUNT; i++) {
        str name = str_of(settings[i].key);
        ASSERT(name.len <= NAME_MAX_LEN);
        size_t d = distance(key, name);
        if (is_part(key, name) && d > 1)
            d = 1;
        if (d < best_distance) {
            best_distance = d;
            best = &settings[i];
        }
    }
    return best;
}

void config_env_name(struct buf *b, const char *key)
{
    buf_addz(b, "LATCH_");
    for (; *key; key++)
        buf_addc(b, *key == '.' || *key == '-' ? '_' : (char)toupper((unsigned char)*key));
}

/* --- setting one value ------------------------------------------------------------------------ */

PRINTF(3, 4) static int origin(struct ctx *cx, str *ret, const char *fmt, ...)
{
    char text[4200];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    *ret = str_dup(&cx->arena, str_n(text, len));
    return ret->p ? 0 : ctx_nomem(cx);
}

static int assign(struct ctx *cx, struct config *c, const struct setting *s, str text, str from)
{
    struct value v;
    if (value_parse(cx, s, text, &v) < 0)
        return ctx_prefix(cx, "%.*s", STR(from));
    size_t id = (size_t)(s - settings);
    c->text[id] = str_dup(&c->arena, text);
    c->origin[id] = str_dup(&c->arena, from);
    if (!c->text[id].p || !c->origin[id].p)
        return ctx_nomem(cx);
    char *field = (char *)c + s->at;
    if (s->type == T_STR || s->type == T_PATH)
        memcpy(field, &c->text[id], sizeof(str));
    else
        memcpy(field, &v.i, sizeof(v.i));
    return 0;
}

static int unknown(struct ctx *cx, str key, const char *dashes, str from)
{
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "%.*s: there is no setting \"%.*s\"; the nearest is %s%s (latch serve --help "
                    "lists all)",
                    STR(from), STR(key), dashes, config_nearest(key)->key);
}

static int from_defaults(struct ctx *cx, struct config *c)
{
    for (int i = 0; i < SETTING_COUNT; i++)
        TRY(assign(cx, c, &settings[i], str_of(settings[i].dflt), STR_LIT("default")));
    return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

/* What is left of a line without its comment: one begins the line or follows a blank. */
static str without_comment(str line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.p[i] == '#' && (i == 0 || isblank((unsigned char)line.p[i - 1])))
            return str_trim(str_n(line.p, i));
    return str_trim(line);
}

static int from_line(struct ctx *cx, struct config *c, str line, str from, bool seen[])
{
    line = without_comment(line);
    if (line.len == 0)
        return 0;
    ptrdiff_t eq = str_find(line, '=');
    if (eq <= 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%.*s: not \"key = value\": %.*s",
                        STR(from), STR(line));
    str key = str_trim(str_n(line.p, (size_t)eq));
    const struct setting *s = config_find(key);
    if (!s)
        return unknown(cx, key, "", from);
    if (seen[s - settings])
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "%.*s: %s was set further up already; remove one of the two", STR(from),
                        s->key);
    seen[s - settings] = true;
    return assign(cx, c, s, str_trim(str_cut(line, (size_t)eq + 1)), from);
}

static int read_file(struct ctx *cx, const char *name, bool needed, struct buf *ret,
                     bool *ret_there)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    *ret_there = fd >= 0;
    if (fd < 0 && errno == ENOENT && !needed)
        return 0;
    if (fd < 0)
        return ctx_fail_errno(cx, E_INVAL, "cannot open the configuration file %s", name);
    ssize_t n = 1;
    while (n > 0 && buf_reserve(ret, 4096) == 0) {
        n = read(fd, ret->p + ret->len, 4096);
        ret->len += n > 0 ? (size_t)n : 0;
    }
    int err = errno;
    close(fd);
    errno = err;
    if (n < 0)
        return ctx_fail_errno(cx, E_IO, "cannot read the configuration file %s", name);
    if (buf_fail(ret) < 0)
        return ctx_fail(cx, buf_fail(ret), RES_NONE, STR_NONE,
                        "the configuration file %s is larger than 1 MiB", name);
    return 0;
}

static int from_file(struct ctx *cx, struct config *c, const char *name)
{
    bool seen[SETTING_COUNT] = {false}, there = false;
    CLEANUP(buf_done) struct buf text;
    buf_init(&text, FILE_MAX);
    TRY(read_file(cx, name ? name : "latch.conf", name != NULL, &text, &there));
    if (!there)
        return 0;
    name = name ? name : "latch.conf";
    c->file = str_dup(&c->arena, str_of(name));
    str rest = buf_str(&text), line, from;
    for (int n = 1; rest.p && str_split(&rest, '\n', &line); n++) {
        TRY(origin(cx, &from, "%s line %d", name, n));
        TRY(from_line(cx, c, line, from, seen));
    }
    return 0;
}

/* --- the environment -------------------------------------------------------------------------- */

static const struct setting *find_env(str variable)
{
    for (int i = 0; i < SETTING_COUNT; i++) {
        CLEANUP(buf_done) struct buf name = {0};
        config_env_name(&name, settings[i].key);
        if (str_eq(buf_str(&name), variable))
            return &settings[i];
    }
    return NULL;
}

static bool is_other_env(str variable)
{
    for (size_t i = 0; i < sizeof(other_env) / sizeof(other_env[0]); i++)
        if (str_eqz(variable, other_env[i]))
            return true;
    return false;
}

static int from_env(struct ctx *cx, struct config *c, const char *const *env)
{
    for (; env && *env; env++) {
        str rest = str_of(*env), name, from;
        if (!str_split(&rest, '=', &name) || !rest.p || !str_starts(name, STR_LIT("LATCH_")) ||
            is_other_env(name))
            continue;
        const struct setting *s = find_env(name);
        if (!s) {
            str key = str_cut(name, strlen("LATCH_"));
            log_warn("config", "config.unknown_variable", LS("variable", name),
                     LZ("nearest", config_nearest(key)->key));
            continue;
        }
        TRY(origin(cx, &from, "variable %.*s", STR(name)));
        TRY(assign(cx, c, s, rest, from));
    }
    return 0;
}

static const char *env_get(const char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

/* --- flags ------------------------------------------------------------------------------------ */

struct flag {
    str key, value;
};

/* Takes "--key=value" or "--key" "value" off the arguments. */
static int next_flag(struct ctx *cx, const struct config_in *in, int *at, struct flag *ret)
{
    str arg = str_of(in->argv[(*at)++]);
    if (!str_starts(arg, STR_LIT("--")) || arg.len == 2)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "\"%.*s\" is no flag; flags are --key value or --key=value", STR(arg));
    str rest = str_cut(arg, 2);
    ptrdiff_t eq = str_find(rest, '=');
    if (eq >= 0) {
        *ret = (struct flag){str_n(rest.p, (size_t)eq), str_cut(rest, (size_t)eq + 1)};
        return 0;
    }
    if (!str_eqz(rest, "config") && !config_find(rest))
        return unknown(cx, rest, "--", str_n(arg.p, arg.len));
    if (*at >= in->argc)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "the flag %.*s needs a value", STR(arg));
    *ret = (struct flag){rest, str_of(in->argv[(*at)++])};
    return 0;
}

/* With c == NULL it only looks for --config. */
static int from_flags(struct ctx *cx, struct config *c, const struct config_in *in,
                      const char **ret_file)
{
    for (int at = 0; at < in->argc;) {
        struct flag f = {STR_NONE, STR_NONE};
        str from = STR_NONE;
        TRY(next_flag(cx, in, &at, &f));
        TRY(origin(cx, &from, "flag --%.*s", STR(f.key)));
        if (str_eqz(f.key, "config")) {
            *ret_file = f.value.p; /* to the end of its argument: NUL-terminated */
            continue;
        }
        const struct setting *s = config_find(f.key);
        if (!s)
            return unknown(cx, f.key, "--", from);
        if (c)
            TRY(assign(cx, c, s, f.value, from));
    }
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int check_names(struct ctx *cx, const struct config *c)
{
    TRY(path_component(cx, c->warehouse_name, "value of default-warehouse.name"));
    for (size_t i = 0; i < c->database_suffix.len; i++) {
        char ch = c->database_suffix.p[i];
        if (!isalnum((unsigned char)ch) && ch != '.' && ch != '_' && ch != '-')
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "warehouse.database-suffix is \"%.*s\"; allowed are letters, digits, "
                            "'.', '_' and '-'",
                            STR(c->database_suffix));
    }
    return 0;
}

static int check_together(struct ctx *cx, const struct config *c)
{
    TRY(check_names(cx, c));
    if (c->inflight_max < c->body_max)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "http.inflight-max is less than http.body-max: no body of that size could "
                        "be taken; raise the first or lower the second");
    if (c->body_max < c->body_max_small)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "http.body-max is less than http.body-max-small; raise the first or lower "
                        "the second");
    return 0;
}

static int load(struct ctx *cx, const struct config_in *in, struct config *c)
{
    const char *file = env_get(in->env, "LATCH_CONFIG");
    TRY(from_flags(cx, NULL, in, &file));
    TRY(from_defaults(cx, c));
    if (!file || *file) /* set to nothing: no file at all */
        TRY(from_file(cx, c, file));
    TRY(from_env(cx, c, in->env));
    TRY(from_flags(cx, c, in, &file));
    return check_together(cx, c);
}

int config_load(struct ctx *cx, const struct config_in *in, struct config **ret)
{
    struct config *c = mem_zalloc(sizeof(*c));
    if (!c)
        return ctx_nomem(cx);
    arena_init(&c->arena, 4 * FILE_MAX);
    int rc = load(cx, in, c);
    if (rc < 0) {
        config_free(c);
        return rc;
    }
    *ret = c;
    return 0;
}

void config_free(struct config *c)
{
    while (c) {
        struct config *older = c->older;
        arena_done(&c->arena);
        mem_free(c);
        c = older;
    }
}

static str shown(const struct config *c, int id)
{
    return settings[id].secret ? STR_LIT("***") : c->text[id];
}

/* The value of `old` stays: its bytes and its texts, which live as long as old does. */
static void keep_old(struct config *c, const struct config *old, int id)
{
    const struct setting *s = &settings[id];
    size_t n = s->type == T_STR || s->type == T_PATH ? sizeof(str) : sizeof(int64_t);
    memcpy((char *)c + s->at, (const char *)old + s->at, n);
    c->text[id] = old->text[id];
    c->origin[id] = old->origin[id];
}

int config_reload(struct ctx *cx, const struct config_in *in, struct config *old,
                  struct config **ret)
{
    struct config *c = NULL;
    TRY(config_load(cx, in, &c));
    ASSERT(c);
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (str_eq(c->text[i], old->text[i]))
            continue;
        bool now = settings[i].when == WHEN_RELOAD;
        log_info("config", now ? "config.changed" : "config.restart_needed",
                 LZ("key", settings[i].key), LS("old", shown(old, i)), LS("new", shown(c, i)),
                 LS("from", c->origin[i]));
        if (!now)
            keep_old(c, old, i);
    }
    int rc = check_together(cx, c);
    if (rc < 0) {
        config_free(c);
        return rc;
    }
    c->older = old;
    *ret = c;
    return 0;
}

void config_log(const struct config *c)
{
    if (c->file.len)
        log_info("config", "config.file", LS("file", c->file));
    for (int i = 0; i < SETTING_COUNT; i++)
        if (!str_eqz(c->origin[i], "default"))
            log_info("config", "config.set", LZ("key", settings[i].key), LS("value", shown(c, i)),
                     LS("from", c->origin[i]));
}
