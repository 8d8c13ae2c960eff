/* inject.c - what happens at the named points of inject.def.
 *
 * The plan is written once, by inject_init, before threads start; afterwards only counters change.
 * `hits` decides which hit is the n-th; `unsaid` is what was not yet written to the file of
 * LATCH_INJECT_COUNT, so that writing twice (at exit, by hand) counts nothing twice.
 *
 * A plan that is not understood arms nothing and is E_INVAL: a test with a typing error in it must
 * not pass. So is a point that is named twice, of which one would be lost.
 *
 * Threads: inject_init from the first thread only, the rest from any. */
#include "proto/base/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "proto/base/assert.h"
#include "proto/base/buf.h"
#include "proto/base/clock.h"

enum action { ACT_NONE, ACT_KILL, ACT_FAIL, ACT_FAIL_ALL, ACT_SLEEP };

struct plan {
    enum action action;
    int64_t nth, sleep_ms;
};

static const char *const point_names[INJ_COUNT] = {
#define INJECT_POINT(id, name, what) [INJ_##id] = name,
#include "proto/base/inject.def"
#undef INJECT_POINT
};

_Atomic bool inject_armed;
static struct plan plans[INJ_COUNT];
static struct {
    int64_t hits, unsaid; /* only through __atomic builtins */
} counts[INJ_COUNT];
static char count_file[PATH_MAX]; /* empty: none */

const char *inject_name(enum inject_point p)
{
    return (unsigned)p < INJ_COUNT ? point_names[p] : NULL;
}

static bool parse_action(str word, struct plan *ret)
{
    if (str_eqz(word, "kill"))
        ret->action = ACT_KILL;
    else if (str_eqz(word, "fail"))
        ret->action = ACT_FAIL;
    else if (str_eqz(word, "fail-all"))
        ret->action = ACT_FAIL_ALL;
    else if (str_starts(word, STR_LIT("sleep"))) {
        ret->action = ACT_SLEEP;
        return str_to_i64(str_cut(word, 5), &ret->sleep_ms) && ret->sleep_ms >= 0;
    } else
        return false;
    return true;
}

/* point=action[:n] */
static int parse_one(str item, struct plan *all)
{
    str point, word, rest = item;
    if (!str_split(&rest, '=', &point) || !rest.p)
        return E_INVAL;
    int at = 0;
    while (at < INJ_COUNT && !str_eqz(point, point_names[at]))
        at++;
    if (at == INJ_COUNT || all[at].action != ACT_NONE)
        return E_INVAL;
    struct plan p = {.nth = 1};
    if (!str_split(&rest, ':', &word) || !parse_action(word, &p))
        return E_INVAL;
    if (rest.p && (!str_to_i64(rest, &p.nth) || p.nth < 1))
        return E_INVAL;
    all[at] = p;
    return 0;
}

static int parse_all(str text, struct plan *all)
{
    str item;
    if (text.len == 0)
        return 0;
    while (str_split(&text, ',', &item))
        TRY(parse_one(item, all));
    return 0;
}

static int set_count_file(const char *path)
{
    static bool registered;
    str s = str_of(path);
    if (s.len >= sizeof(count_file))
        return E_INVAL;
    if (s.len)
        memcpy(count_file, s.p, s.len);
    count_file[s.len] = 0;
    if (s.len && !registered) {
        if (atexit(inject_flush) != 0)
            return E_NOMEM;
        registered = true;
    }
    return 0;
}

int inject_init(void)
{
    __atomic_store_n((bool *)&inject_armed, false, __ATOMIC_RELAXED);
    memset(plans, 0, sizeof(plans));
    memset(counts, 0, sizeof(counts));
    count_file[0] = 0;
    struct plan all[INJ_COUNT] = {0};
    str text = str_of(getenv("LATCH_INJECT"));
    TRY(parse_all(text, all));
    TRY(set_count_file(getenv("LATCH_INJECT_COUNT")));
    memcpy(plans, all, sizeof(plans));
    if (text.len || count_file[0])
        __atomic_store_n((bool *)&inject_armed, true, __ATOMIC_RELEASE);
    return 0;
}

void inject_flush(void)
{
    if (!count_file[0])
        return;
    CLEANUP(buf_done) struct buf b = {0};
    for (int i = 0; i < INJ_COUNT; i++) {
        int64_t n = __atomic_exchange_n(&counts[i].unsaid, 0, __ATOMIC_RELAXED);
        buf_addf(&b, "%s %lld\n", point_names[i], (long long)n);
    }
    int fd = open(count_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return;
    if (!buf_fail(&b) && write(fd, b.p, b.len) < 0) {
        /* A test that reads the file sees that its lines are missing. */
    }
    close(fd);
}

_Noreturn static void kill_ourselves(void)
{
    inject_flush();
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

bool inject_hit(enum inject_point p)
{
    ASSERT((unsigned)p < INJ_COUNT);
    __atomic_add_fetch(&counts[p].unsaid, 1, __ATOMIC_RELAXED);
    int64_t hit = __atomic_add_fetch(&counts[p].hits, 1, __ATOMIC_RELAXED);
    const struct plan *plan = &plans[p];
    if (hit < plan->nth)
        return false;
    switch (plan->action) {
    case ACT_NONE:
        return false;
    case ACT_KILL:
        kill_ourselves();
    case ACT_FAIL:
        return hit == plan->nth;
    case ACT_FAIL_ALL:
        return true;
    case ACT_SLEEP:
        clock_sleep_ms(plan->sleep_ms);
        return false;
    }
    return false;
}
