/* tag.c - the two members of a tag's file: tagCreateTime and tagTimeRetained.
 *
 * Source of the format: paimon-core's Tag, written by Jackson with jackson-datatype-jsr310, and
 * files of Java 1.3.1 and 2.1. tagCreateTime is a LocalDateTime as an array, year to minute, then
 * seconds and nanoseconds unless they and all behind them are zero; it has no zone and means that of
 * the process that wrote it, so each reader takes its own. Clients judge by it whether a tag has
 * expired: server and clients that let tags expire must agree on the zone, as clients must among
 * themselves. tagTimeRetained is a number of seconds. A tag that is kept for ever has neither, since
 * readers up to 0.7 would not take it.
 *
 * The text is edited member by member and never rebuilt from a struct: what a later release adds
 * stays. No state; any thread. */
#include "manifest/tag.h"

#include "manifest/doc.h"
#include "proto/base/assert.h"

#define CREATED  "tagCreateTime"
#define RETAINED "tagTimeRetained"
#define YEAR_MAX 9999 /* Python knows no later one */

/* --- local time ------------------------------------------------------------------------------- */

static bool same_wall_clock(const struct tm *a, const struct tm *b)
{
    return a->tm_year == b->tm_year && a->tm_mon == b->tm_mon && a->tm_mday == b->tm_mday &&
           a->tm_hour == b->tm_hour && a->tm_min == b->tm_min && a->tm_sec == b->tm_sec;
}

/* An hour that comes twice when summer time ends is taken as its first coming, as Java does. */
static time_t local_to_epoch(struct tm t)
{
    struct tm earlier, got = t;
    got.tm_isdst = -1;
    time_t at = mktime(&got), before = at - 3600;
    return localtime_r(&before, &earlier) && same_wall_clock(&earlier, &t) ? before : at;
}

static int days_of(int64_t year, int64_t month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    ASSERT(month >= 1 && month <= 12);
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

static int bad_created(struct ctx *cx)
{
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    CREATED " must be [year, month, day, hour, minute, second, nanosecond]; the "
                            "last two may be left out");
}

static int decode_created(struct ctx *cx, const struct json *v, int64_t *ret_ms)
{
    static const int64_t min[] = {1, 1, 1, 0, 0, 0, 0},
                         max[] = {YEAR_MAX, 12, 31, 23, 59, 59, 999999999};
    int64_t at[7] = {0};
    size_t n = 0;
    if (v->type != JSON_ARRAY || v->n < 5 || v->n > 7)
        return bad_created(cx);
    JSON_EACH (item, v) {
        if (item->type != JSON_INT || item->i < min[n] || item->i > max[n])
            return bad_created(cx);
        at[n++] = item->i;
    }
    if (at[2] > days_of(at[0], at[1]))
        return bad_created(cx);
    struct tm t = {.tm_year = (int)at[0] - 1900,
                   .tm_mon = (int)at[1] - 1,
                   .tm_mday = (int)at[2],
                   .tm_hour = (int)at[3],
                   .tm_min = (int)at[4],
                   .tm_sec = (int)at[5]};
    *ret_ms = (int64_t)local_to_epoch(t) * 1000 + at[6] / 1000000;
    return 0;
}

static void put_created(struct json_out *o, int64_t now_ms)
{
    time_t s = (time_t)(now_ms / 1000);
    int64_t nanos = now_ms % 1000 * 1000000;
    struct tm t = {0};
    IGNORE(localtime_r(&s, &t) == NULL);
    json_key(o, CREATED);
    json_arr(o);
    json_i64(o, t.tm_year + 1900);
    json_i64(o, t.tm_mon + 1);
    json_i64(o, t.tm_mday);
    json_i64(o, t.tm_hour);
    json_i64(o, t.tm_min);
    if (t.tm_sec || nanos)
        json_i64(o, t.tm_sec < 60 ? t.tm_sec : 59); /* Java knows no leap second */
    if (nanos)
        json_i64(o, nanos);
    json_end(o);
}

/* --- retention -------------------------------------------------------------------------------- */

static int decode_retained(struct ctx *cx, const struct json *v, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    struct duration d;
    if (v->type == JSON_STRING) { /* Jackson would read "PT24H" too */
        *ret = v->s;
        return 0;
    }
    if ((v->type != JSON_INT && v->type != JSON_DOUBLE) || !duration_of_number(v->raw, &d))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        RETAINED " must be a number of seconds that is not negative");
    duration_put(&b, &d);
    *ret = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    return ret->p ? 0 : ctx_nomem(cx);
}

static void put_retained(struct json_out *o, const struct duration *d)
{
    CLEANUP(buf_done) struct buf b = {0};
    duration_put_number(&b, d);
    if (buf_fail(&b))
        o->b->failed = buf_fail(&b);
    else
        json_kraw(o, RETAINED, buf_str(&b));
}

/* --- the text --------------------------------------------------------------------------------- */

static int decode(struct ctx *cx, const struct json *v, struct tag_extra *ret)
{
    struct tag_extra x = {0};
    const struct json *created = json_get(v, CREATED), *retained = json_get(v, RETAINED);
    if (!json_is_null(created)) {
        TRY(decode_created(cx, created, &x.created_ms));
        x.has_created = true;
    }
    if (!json_is_null(retained))
        TRY(decode_retained(cx, retained, &x.retained));
    *ret = x;
    return 0;
}

int tag_extra_decode(struct ctx *cx, str text, str file_name, struct tag_extra *ret)
{
    const struct json *v;
    int rc = doc_parse_file(cx, text, &v);
    if (rc == 0)
        rc = decode(cx, v, ret);
    return doc_file_rc(cx, rc, file_name);
}

static bool is_extra(const struct json *member)
{
    return str_eqz(member->key, CREATED) || str_eqz(member->key, RETAINED);
}

/* Stays the same text if there is nothing to take out or to add. */
static int edit(struct ctx *cx, str text, const struct duration *retained, int64_t now_ms, str *ret)
{
    const struct json *v;
    CLEANUP(buf_done) struct buf b = {0};
    struct json_out o;
    TRY(json_parse(cx, text, "snapshot", &v));
    if (!retained && !json_get(v, CREATED) && !json_get(v, RETAINED)) {
        *ret = text;
        return 0;
    }
    json_out_init(&o, &b);
    json_obj(&o);
    JSON_EACH (member, v) {
        if (is_extra(member))
            continue;
        json_keys(&o, member->key);
        json_raw(&o, member->raw);
    }
    if (retained) {
        put_created(&o, now_ms);
        put_retained(&o, retained);
    }
    json_end(&o);
    str made = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    if (!made.p)
        return ctx_nomem(cx);
    *ret = made;
    return 0;
}

int tag_encode(struct ctx *cx, str snapshot, const struct duration *retained, int64_t now_ms,
               str *ret)
{
    return edit(cx, snapshot, retained, now_ms, ret);
}

int tag_trim(struct ctx *cx, str text, str *ret)
{
    return edit(cx, text, NULL, 0, ret);
}
