/* config_value.c - values of settings, by type.
 *
 * Sizes are powers of 1024 whatever the spelling (Paimon and Flink read "64 mb" the same way).
 * Durations need a unit, so that nobody has to guess; only a plain 0 goes without. Modes are octal.
 *
 * Pure; any thread. */
#include "server/config_value.h"

#include <ctype.h>

struct unit {
    const char *name; /* lower case */
    int64_t factor;
};
static const struct unit byte_units[] = {
    {"tib", TIB}, {"gib", GIB}, {"mib", MIB}, {"kib", KIB}, {"b", 1},   {"tb", TIB}, {"gb", GIB},
    {"mb", MIB},  {"kb", KIB},  {"t", TIB},   {"g", GIB},   {"m", MIB}, {"k", KIB},  {"", 1}};
static const struct unit duration_units[] = {{"d", DAY_MS},  {"h", 3600000}, {"m", 60000},
                                             {"min", 60000}, {"s", 1000},    {"ms", 1}};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* "64 MiB": digits, blanks, one of the units in any case. */
static bool parse_units(str text, const struct unit *units, size_t n, int64_t *ret)
{
    size_t digits = 0;
    while (digits < text.len && isdigit((unsigned char)text.p[digits]))
        digits++;
    int64_t number;
    if (!str_to_i64(str_n(text.p, digits), &number))
        return false;
    str unit = str_trim(str_cut(text, digits));
    for (size_t i = 0; i < n; i++)
        if (str_ieq(unit, str_of(units[i].name)))
            return !__builtin_mul_overflow(number, units[i].factor, ret);
    return false;
}

static bool parse_octal(str text, int64_t *ret)
{
    if (text.len == 0 || text.len > 6)
        return false;
    *ret = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] < '0' || text.p[i] > '7')
            return false;
        *ret = *ret * 8 + (text.p[i] - '0');
    }
    return true;
}

static bool parse_bool(str text, int64_t *ret)
{
    static const char *const words[] = {"false", "true", "off", "on", "no", "yes", "0", "1"};
    for (size_t i = 0; i < COUNT(words); i++)
        if (str_ieq(text, str_of(words[i]))) {
            *ret = (int64_t)(i & 1);
            return true;
        }
    return false;
}

static bool parse_choice(const char *choices, str text, int64_t *ret)
{
    str rest = str_of(choices), one;
    for (int64_t i = 0; str_split(&rest, '|', &one); i++)
        if (str_ieq(text, one)) {
            *ret = i;
            return true;
        }
    return false;
}

static bool parse_number(const struct setting *s, str text, int64_t *ret)
{
    switch (s->type) {
    case T_INT:
        return str_to_i64(text, ret);
    case T_BYTES:
        return parse_units(text, byte_units, COUNT(byte_units), ret);
    case T_DURATION:
        if (str_eqz(text, "0")) {
            *ret = 0;
            return true;
        }
        return parse_units(text, duration_units, COUNT(duration_units), ret);
    case T_MODE:
        return parse_octal(text, ret);
    case T_BOOL:
        return parse_bool(text, ret);
    case T_ENUM:
        return parse_choice(s->choices, text, ret);
    case T_STR:
    case T_PATH:
        break;
    }
    return false;
}

static bool is_text(const struct setting *s)
{
    return s->type == T_STR || s->type == T_PATH;
}

static bool in_range(const struct setting *s, int64_t v)
{
    return s->type == T_BOOL || s->type == T_ENUM || (v >= s->min && v <= s->max);
}

static bool text_ok(const struct setting *s, str text)
{
    return in_range(s, (int64_t)text.len) && str_utf8_valid(text) && str_find(text, 0) < 0 &&
           str_find(text, '\n') < 0;
}

int value_parse(struct ctx *cx, const struct setting *s, str text, struct value *ret)
{
    int64_t v = 0;
    if (is_text(s) ? text_ok(s, text) : parse_number(s, text, &v) && in_range(s, v)) {
        *ret = (struct value){text, v};
        return 0;
    }
    CLEANUP(buf_done) struct buf allowed = {0};
    value_allowed(&allowed, s);
    str got = s->secret ? STR_LIT("***") : text;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s is \"%.*s\"; allowed: %.*s", s->key,
                    STR(got), STR(buf_str(&allowed)));
}

/* The largest unit that divides v; the tables begin with the units that are written. */
static void format_units(struct buf *b, int64_t v, const struct unit *units,
                         const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v != 0 && v % units[i].factor == 0) {
            buf_addf(b, "%lld%s", (long long)(v / units[i].factor), names[i]);
            return;
        }
    buf_add_i64(b, v);
}

static void format_choice(struct buf *b, const char *choices, int64_t v)
{
    str rest = str_of(choices), one;
    while (str_split(&rest, '|', &one))
        if (v-- == 0)
            buf_adds(b, one);
}

void value_format(struct buf *b, const struct setting *s, int64_t v)
{
    static const char *const bytes[] = {"TiB", "GiB", "MiB", "KiB"};
    static const struct unit times[] = {
        {"d", DAY_MS}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    static const char *const time_names[] = {"d", "h", "m", "s", "ms"};
    switch (s->type) {
    case T_BYTES:
        format_units(b, v, byte_units, bytes, COUNT(bytes));
        return;
    case T_DURATION:
        format_units(b, v, times, time_names, COUNT(times));
        return;
    case T_MODE:
        buf_addf(b, "%04llo", (unsigned long long)v);
        return;
    case T_BOOL:
        buf_addz(b, v ? "true" : "false");
        return;
    case T_ENUM:
        format_choice(b, s->choices, v);
        return;
    case T_INT:
    case T_STR:
    case T_PATH:
        buf_add_i64(b, v);
        return;
    }
}

void value_allowed(struct buf *b, const struct setting *s)
{
    static const char *const kinds[] = {[T_STR] = "a text of ",
                                        [T_PATH] = "a path of ",
                                        [T_INT] = "",
                                        [T_BYTES] = "a size from ",
                                        [T_DURATION] = "a time from ",
                                        [T_MODE] = "an octal mode from "};
    if (s->type == T_BOOL) {
        buf_addz(b, "true, false");
        return;
    }
    if (s->type == T_ENUM) {
        for (const char *c = s->choices; *c; c++) {
            if (*c == '|')
                buf_addz(b, ", ");
            else
                buf_addc(b, *c);
        }
        return;
    }
    buf_addz(b, kinds[s->type]);
    value_format(b, s, s->min);
    buf_addz(b, " to ");
    value_format(b, s, s->max);
    if (is_text(s))
        buf_addz(b, " bytes");
}
