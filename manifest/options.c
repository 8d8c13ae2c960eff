/* options.c - finding options in options.def and reading their texts.
 *
 * Source of the rules: paimon-api Options, OptionsUtils, MemorySize (durations: duration.c). Java's exact key
 * comes before the former names, and only what counts is read: a wrong text under a former name
 * that is hidden by the key hurts nobody. The table is sorted (a unit test looks), so a lookup is a
 * binary search; former names and field options are few. No state; any thread. */
#include "manifest/options.h"
#include "manifest/duration.h"
#include "manifest/java_text.h"
#include "proto/base/assert.h"

#define SHOWN_MAX 64 /* bytes of a client's text in a message */
#define SHOWN(s)  ((s).len < SHOWN_MAX ? (int)(s).len : SHOWN_MAX), (s).p
/* Of a string literal or NULL, in a constant. */
#define TEXT(z)                                                                                    \
    {                                                                                              \
        (z), sizeof(z "") - 1                                                                      \
    }
#define NO_TEXT                                                                                    \
    {                                                                                              \
        NULL, 0                                                                                    \
    }

#define NULL_OR_0(z) ((z) ? sizeof(z) - 1 : 0)
#define ROW(where, key, type, dflt, values)                                                        \
    {TEXT(key),                                                                                    \
     OPT_TYPE_##type,                                                                              \
     OPT_WHERE_##where,                                                                            \
     {(dflt), NULL_OR_0(dflt)},                                                                    \
     {(values), NULL_OR_0(values)}},

static const struct option options[] = {
#define OPT ROW
#include "manifest/options.def"
};

static const struct option field_options[] = {
#define OPT_FIELD ROW
#include "manifest/options.def"
};

static const struct {
    str key, other;
} formers[] = {
#define OPT_WAS(key, other) {TEXT(key), TEXT(other)},
#include "manifest/options.def"
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* --- finding ---------------------------------------------------------------------------------- */

static const struct option *find_exact(str key)
{
    size_t lo = 0, hi = COUNT(options);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = str_cmp(key, options[mid].key);
        if (c == 0)
            return &options[mid];
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

static const struct option *find_field_option(str key)
{
    if (!str_starts(key, STR_LIT("fields.")))
        return NULL;
    str rest = str_cut(key, sizeof "fields." - 1);
    for (size_t i = 0; i < COUNT(field_options); i++) {
        str suffix = field_options[i].key;
        if (rest.len > suffix.len && rest.p[rest.len - suffix.len - 1] == '.' &&
            str_ends(rest, suffix))
            return &field_options[i];
    }
    return NULL;
}

const struct option *opt_find(str key)
{
    const struct option *opt = find_exact(key);
    for (size_t i = 0; !opt && i < COUNT(formers); i++)
        if (str_eq(formers[i].other, key))
            opt = find_exact(formers[i].key);
    return opt ? opt : find_field_option(key);
}

static str text_of(const struct kv_list *o, str key)
{
    size_t at;
    return kv_find(o, key, &at) ? o->items[at].value : STR_NONE;
}

static str effective(const struct kv_list *o, str key)
{
    str v = text_of(o, key);
    for (size_t i = 0; !v.p && i < COUNT(formers); i++)
        if (str_eq(formers[i].key, key))
            v = text_of(o, formers[i].other);
    return v;
}

str opt_text(const struct kv_list *o, const char *key)
{
    ASSERT(find_exact(str_of(key)));
    return effective(o, str_of(key));
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool read_bool(str s, bool *ret)
{
    *ret = str_ieq(s, STR_LIT("true"));
    return *ret || str_ieq(s, STR_LIT("false"));
}

/* "64 mb" -> 64, "mb". False: no digits in front, or too many. */
static bool split_unit(str s, int64_t *ret_n, str *ret_unit)
{
    size_t digits = 0;
    s = java_trim(s);
    while (digits < s.len && s.p[digits] >= '0' && s.p[digits] <= '9')
        digits++;
    *ret_unit = java_trim(str_cut(s, digits));
    return java_int(str_n(s.p, digits), 0, INT64_MAX, ret_n);
}

/* Case does not matter; *ret is the spelling of the list. */
static bool read_enum(str s, str values, str *ret)
{
    str rest = values, v;
    while (str_split(&rest, ' ', &v))
        if (str_ieq(s, v)) {
            *ret = v;
            return true;
        }
    return false;
}

static bool read_memory(str s, int64_t *ret)
{
    static const struct {
        const char *names;
        int shift;
    } units[] = {{"b bytes", 0},
                 {"k kb kibibytes", 10},
                 {"m mb mebibytes", 20},
                 {"g gb gibibytes", 30},
                 {"t tb tebibytes", 40}};
    str unit;
    int64_t n;
    if (!split_unit(s, &n, &unit))
        return false;
    *ret = n;
    if (unit.len == 0)
        return true;
    for (size_t i = 0; i < COUNT(units); i++)
        if (read_enum(unit, str_of(units[i].names), &unit))
            return !__builtin_mul_overflow(n, INT64_C(1) << units[i].shift, ret);
    return false;
}

static bool read_duration(str s, int64_t *ret_ms)
{
    struct duration d;
    bool ok = duration_of_text(s, &d);
    if (ok)
        *ret_ms = duration_ms(&d);
    return ok;
}

/* Items separated by ',', each with one ':'. Quotes may hide either, so what has them passes. */
static bool read_map(str s)
{
    str rest = s, item;
    if (s.len == 0 || str_find(s, '\'') >= 0 || str_find(s, '"') >= 0)
        return true;
    while (str_split(&rest, ',', &item)) {
        ptrdiff_t colon = str_find(item, ':');
        if (item.len > 0 && (colon < 0 || str_find(str_cut(item, (size_t)colon + 1), ':') >= 0))
            return false;
    }
    return true;
}

static bool readable(const struct option *opt, str s)
{
    int64_t n;
    bool b;
    switch (opt->type) {
    case OPT_TYPE_STRING:
        return true;
    case OPT_TYPE_BOOL:
        return read_bool(s, &b);
    case OPT_TYPE_INT:
        return java_int(s, INT32_MIN, INT32_MAX, &n);
    case OPT_TYPE_LONG:
        return java_int(s, INT64_MIN, INT64_MAX, &n);
    case OPT_TYPE_FLOAT:
    case OPT_TYPE_DOUBLE:
        return java_is_double(s);
    case OPT_TYPE_DURATION:
        return read_duration(s, &n);
    case OPT_TYPE_MEMORY:
        return read_memory(s, &n);
    case OPT_TYPE_ENUM:
        return read_enum(s, opt->values, &s);
    case OPT_TYPE_MAP:
        return read_map(s);
    }
    return false;
}

/* --- saying no -------------------------------------------------------------------------------- */

static const char *allowed(const struct option *opt)
{
    switch (opt->type) {
    case OPT_TYPE_BOOL:
        return "true or false";
    case OPT_TYPE_INT:
        return "a whole number from -2147483648 to 2147483647";
    case OPT_TYPE_LONG:
        return "a whole number of 64 bits";
    case OPT_TYPE_FLOAT:
    case OPT_TYPE_DOUBLE:
        return "a number";
    case OPT_TYPE_DURATION:
        return "a number with one of the units d, h, min, s, ms, micro, ns, like \"10 min\"";
    case OPT_TYPE_MEMORY:
        return "a number with one of the units b, kb, mb, gb, tb, like \"64 mb\"";
    case OPT_TYPE_MAP:
        return "pairs like \"0:avro,5:parquet\"";
    case OPT_TYPE_ENUM:
        return opt->values.p;
    case OPT_TYPE_STRING:
        break;
    }
    return "any text";
}

static int unreadable(struct ctx *cx, const struct option *opt, str key, str text)
{
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "Could not parse value '%.*s' for key '%.*s': it must be %s%s", SHOWN(text),
                    SHOWN(key), opt->type == OPT_TYPE_ENUM ? "one of " : "", allowed(opt));
}

int opt_check_value(struct ctx *cx, const struct option *opt, str key, str text)
{
    return readable(opt, text) ? 0 : unreadable(cx, opt, key, text);
}

int opt_check_all(struct ctx *cx, const struct kv_list *o)
{
    for (size_t i = 0; i < o->n; i++) {
        const struct kv *it = &o->items[i];
        const struct option *opt = opt_find(it->key);
        if (!opt || opt->where != OPT_WHERE_BOTH)
            continue;
        bool hidden = !str_eq(opt->key, it->key) && find_exact(opt->key) == opt &&
                      effective(o, opt->key).p != it->value.p;
        if (!hidden)
            TRY(opt_check_value(cx, opt, it->key, it->value));
    }
    return 0;
}

/* --- typed values ----------------------------------------------------------------------------- */

static const struct option *known(const char *key, const struct kv_list *o, str *ret_text)
{
    const struct option *opt = find_exact(str_of(key));
    ASSERT(opt);
    str set = effective(o, opt->key);
    *ret_text = set.p ? set : opt->dflt;
    ASSERT(ret_text->p);
    return opt;
}

int opt_i64(struct ctx *cx, const struct kv_list *o, const char *key, int64_t *ret)
{
    str text;
    const struct option *opt = known(key, o, &text);
    bool ok = opt->type == OPT_TYPE_INT    ? java_int(text, INT32_MIN, INT32_MAX, ret)
              : opt->type == OPT_TYPE_LONG ? java_int(text, INT64_MIN, INT64_MAX, ret)
                                           : read_memory(text, ret);
    ASSERT(opt->type == OPT_TYPE_INT || opt->type == OPT_TYPE_LONG || opt->type == OPT_TYPE_MEMORY);
    return ok ? 0 : unreadable(cx, opt, opt->key, text);
}

int opt_bool(struct ctx *cx, const struct kv_list *o, const char *key, bool *ret)
{
    str text;
    bool v;
    const struct option *opt = known(key, o, &text);
    ASSERT(opt->type == OPT_TYPE_BOOL);
    if (!read_bool(text, &v))
        return unreadable(cx, opt, opt->key, text);
    *ret = v;
    return 0;
}

int opt_duration_ms(struct ctx *cx, const struct kv_list *o, const char *key, int64_t *ret)
{
    str text;
    const struct option *opt = known(key, o, &text);
    ASSERT(opt->type == OPT_TYPE_DURATION);
    return read_duration(text, ret) ? 0 : unreadable(cx, opt, opt->key, text);
}

int opt_enum(struct ctx *cx, const struct kv_list *o, const char *key, str *ret)
{
    str text;
    const struct option *opt = known(key, o, &text);
    ASSERT(opt->type == OPT_TYPE_ENUM);
    return read_enum(text, opt->values, ret) ? 0 : unreadable(cx, opt, opt->key, text);
}
