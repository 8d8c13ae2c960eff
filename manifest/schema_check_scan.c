/* schema_check_scan.c - option scan.mode and the options that say where to start.
 *
 * Source: paimon-core SchemaValidation.validateStartupMode, CoreOptions.startupMode. Each mode has
 * options of which one must be set, and others that must not be; without a mode the options tell
 * it. The options are numbered by bits. "latest-delta", which 1.4 does not know, is not judged.
 * No state; any thread. */
#include "manifest/schema_check_int.h"

enum {
    TS_MILLIS = 1 << 0,
    TS_TEXT = 1 << 1,
    SNAPSHOT_ID = 1 << 2,
    TAG_NAME = 1 << 3,
    WATERMARK = 1 << 4,
    FILE_TIME = 1 << 5,
    BETWEEN = 1 << 6,
    BETWEEN_TS = 1 << 7,
    TO_TAG = 1 << 8,
    VERSION = 1 << 9,
    CREATION = 1 << 10,
};
#define OPTIONS     11
#define INCREMENTAL (BETWEEN | BETWEEN_TS | TO_TAG)
#define STARTS      (TS_MILLIS | TS_TEXT | SNAPSHOT_ID | TAG_NAME | FILE_TIME | INCREMENTAL)

static const char *const option_keys[OPTIONS] = {
    "scan.timestamp-millis",
    "scan.timestamp",
    "scan.snapshot-id",
    "scan.tag-name",
    "scan.watermark",
    "scan.file-creation-time-millis",
    "incremental-between",
    "incremental-between-timestamp",
    "incremental-to-auto-tag",
    "scan.version",
    "scan.creation-time-millis",
};

static const struct mode {
    const char *name;
    unsigned one_of, none_of; /* one_of 0: no option is needed */
} modes[] = {
    {"from-timestamp", TS_MILLIS | TS_TEXT, SNAPSHOT_ID | FILE_TIME | TAG_NAME | INCREMENTAL},
    {"from-snapshot", SNAPSHOT_ID | TAG_NAME | WATERMARK,
     TS_MILLIS | TS_TEXT | FILE_TIME | INCREMENTAL},
    {"incremental", INCREMENTAL, SNAPSHOT_ID | TS_MILLIS | FILE_TIME | TS_TEXT | TAG_NAME},
    {"from-snapshot-full", SNAPSHOT_ID, TS_MILLIS | TS_TEXT | FILE_TIME | TAG_NAME | INCREMENTAL},
    {"from-file-creation-time", FILE_TIME, SNAPSHOT_ID | TS_MILLIS | TAG_NAME | INCREMENTAL},
    {"from-creation-timestamp", 0, STARTS},
    {"latest-delta", 0, 0},
    {"", 0, STARTS}, /* all others */
};

static const char *mode_told_by(unsigned set)
{
    if (set & (TS_MILLIS | TS_TEXT))
        return "from-timestamp";
    if (set & (SNAPSHOT_ID | TAG_NAME | WATERMARK | VERSION))
        return "from-snapshot";
    if (set & FILE_TIME)
        return "from-file-creation-time";
    if (set & CREATION)
        return "from-creation-timestamp";
    return set & (BETWEEN | BETWEEN_TS) ? "incremental" : "latest-full";
}

static const struct mode *mode_of(str name)
{
    const struct mode *m = modes;
    while (*m->name && !str_eqz(name, m->name))
        m++;
    return m;
}

static int refuse_one_of(struct check *c, str mode, unsigned one_of)
{
    CLEANUP(buf_done) struct buf b = {0};
    for (int i = 0; i < OPTIONS; i++)
        if (one_of & (1U << i))
            buf_addf(&b, "%s%s", buf_str(&b).len ? "," : "", option_keys[i]);
    return REFUSE(c, "must set only one key in [%.*s] when you use %.*s for scan.mode",
                  STR(buf_str(&b)), STR(mode));
}

int check_scan(struct check *c)
{
    unsigned set = 0;
    str name;
    for (int i = 0; i < OPTIONS; i++)
        set |= check_set(c, option_keys[i]) ? 1U << i : 0;
    TRY(opt_enum(c->cx, c->o, "scan.mode", &name));
    if (str_eqz(name, "default"))
        name = str_of(mode_told_by(set));
    const struct mode *m = mode_of(name);
    if (m->one_of && __builtin_popcount(set & m->one_of) != 1)
        return refuse_one_of(c, name, m->one_of);
    for (int i = 0; i < OPTIONS; i++)
        if (set & m->none_of & (1U << i))
            return REFUSE(c, "%s must be null when you use %.*s for scan.mode; remove one of them",
                          option_keys[i], STR(name));
    return 0;
}
