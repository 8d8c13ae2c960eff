/* options.h - the options of a table: which Paimon knows, and what their texts mean.
 *
 * options.def is the list. A text is read by the type of its option with Paimon's rules: "64 mb",
 * "10min", "TRUE", " 1 d". An option that is not set under its own key is looked for under the
 * names that it had before. Options that no line of Paimon knows are nobody's business here.
 * Errors are E_INVAL and name the option, the value and what is allowed. Pure; nothing blocks. */
#ifndef LATCH_MANIFEST_OPTIONS_H
#define LATCH_MANIFEST_OPTIONS_H

#include "manifest/doc.h"

enum opt_type {
    OPT_TYPE_STRING,
    OPT_TYPE_BOOL,
    OPT_TYPE_INT,  /* 32 bits */
    OPT_TYPE_LONG, /* 64 bits */
    OPT_TYPE_FLOAT,
    OPT_TYPE_DOUBLE,
    OPT_TYPE_DURATION,
    OPT_TYPE_MEMORY, /* a size in bytes */
    OPT_TYPE_ENUM,
    OPT_TYPE_MAP /* "0:avro,5:parquet" */
};

enum opt_where { OPT_WHERE_ONE, OPT_WHERE_BOTH }; /* see options.def */

struct option {
    str key; /* of a field option: what follows "fields.<column>." */
    enum opt_type type;
    enum opt_where where;
    str dflt;   /* STR_NONE: no default */
    str values; /* ENUM: separated by blanks; the first spelling is the one that opt_enum gives */
};

/* By its key, by a name it had before, or as "fields.<column>.<suffix>". NULL: not known. */
const struct option *opt_find(str key);
/* What is set for the option `key`, under whichever of its names counts; STR_NONE: nothing. */
str opt_text(const struct kv_list *o, const char *key);
/* E_INVAL when some option that the whole of Paimon knows has a text that it cannot read. */
int opt_check_all(struct ctx *cx, const struct kv_list *o) WARN_UNUSED;
/* Does `text` say something for the type of this option? */
int opt_check_value(struct ctx *cx, const struct option *opt, str key, str text) WARN_UNUSED;

/* The value, or the default of options.def. `key` is an option of the right type that is set or has
 * a default (asserted): ask opt_text first where there is none. */
int opt_i64(struct ctx *cx, const struct kv_list *o, const char *key, int64_t *ret) WARN_UNUSED;
int opt_bool(struct ctx *cx, const struct kv_list *o, const char *key, bool *ret) WARN_UNUSED;
/* Rounded down; what is longer than INT64_MAX ms is INT64_MAX. */
int opt_duration_ms(struct ctx *cx, const struct kv_list *o, const char *key,
                    int64_t *ret) WARN_UNUSED;
/* As options.def spells it. */
int opt_enum(struct ctx *cx, const struct kv_list *o, const char *key, str *ret) WARN_UNUSED;

#endif
