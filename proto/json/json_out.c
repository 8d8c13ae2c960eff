/* json_out.c - the JSON writer.
 *
 * Its output is valid JSON for all bytes it is given: bytes that are not UTF-8 become U+FFFD. Misuse
 * (a value where a key belongs, a level too many) is asserted. One writer, one thread. */
#include "proto/base/assert.h"
#include "proto/json/json_int.h"

#define DEPTH_OF(o) ((uint64_t)1 << ((o)->depth - 1))
_Static_assert(JSON_DEPTH_MAX <= 64, "json_out has a bit a depth");

void json_out_init(struct json_out *o, struct buf *b)
{
    *o = (struct json_out){.b = b};
}

static void put_comma(struct json_out *o)
{
    if (o->has_item & DEPTH_OF(o))
        buf_addc(o->b, ',');
    o->has_item |= DEPTH_OF(o);
}

/* What comes before each value: a comma in an array; in an object json_key has put it. */
static void begin_value(struct json_out *o)
{
    if (o->depth == 0)
        return;
    if (o->is_obj & DEPTH_OF(o))
        ASSERT(o->after_key);
    else
        put_comma(o);
    o->after_key = false;
}

static void open_nested(struct json_out *o, bool is_obj)
{
    begin_value(o);
    ASSERT(o->depth < JSON_DEPTH_MAX);
    o->depth++;
    o->has_item &= ~DEPTH_OF(o);
    o->is_obj = is_obj ? o->is_obj | DEPTH_OF(o) : o->is_obj & ~DEPTH_OF(o);
    buf_addc(o->b, is_obj ? '{' : '[');
}

void json_obj(struct json_out *o)
{
    open_nested(o, true);
}

void json_arr(struct json_out *o)
{
    open_nested(o, false);
}

void json_end(struct json_out *o)
{
    ASSERT(o->depth > 0 && !o->after_key);
    buf_addc(o->b, o->is_obj & DEPTH_OF(o) ? '}' : ']');
    o->depth--;
}

/* The byte at p cannot stand for itself. */
static void put_escape(struct buf *b, char c)
{
    static const char chars[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    const char *hit = memchr(chars, c, sizeof(chars) - 1);
    if (hit) {
        buf_addc(b, '\\');
        buf_addc(b, names[hit - chars]);
    } else if ((unsigned char)c < 0x20) {
        buf_addf(b, "\\u%04x", (unsigned)(unsigned char)c);
    } else {
        buf_adds(b, STR_LIT("\xEF\xBF\xBD"));
    }
}

/* How many bytes at p may be copied as they are: a plain one or a whole UTF-8 sequence; else 0. */
static size_t copyable(const char *p, const char *end)
{
    if ((unsigned char)*p >= 0x80)
        return json_utf8_seq(p, end);
    return json_is_plain(*p) ? 1 : 0;
}

static void put_string(struct buf *b, str s)
{
    const char *p = s.p, *end = s.p + s.len;
    buf_addc(b, '"');
    while (p < end) {
        const char *run = p;
        size_t n;
        while (p < end && (n = copyable(p, end)) > 0)
            p += n;
        buf_add(b, run, (size_t)(p - run));
        if (p < end)
            put_escape(b, *p++);
    }
    buf_addc(b, '"');
}

void json_keys(struct json_out *o, str key)
{
    ASSERT(key.p && o->depth > 0 && (o->is_obj & DEPTH_OF(o)) && !o->after_key);
    put_comma(o);
    put_string(o->b, key);
    buf_addc(o->b, ':');
    o->after_key = true;
}

void json_key(struct json_out *o, const char *key)
{
    json_keys(o, str_of(key));
}

void json_str(struct json_out *o, str s)
{
    begin_value(o);
    if (s.p)
        put_string(o->b, s);
    else
        buf_adds(o->b, STR_LIT("null"));
}

void json_i64(struct json_out *o, int64_t v)
{
    begin_value(o);
    buf_add_i64(o->b, v);
}

void json_bool(struct json_out *o, bool v)
{
    begin_value(o);
    buf_addz(o->b, v ? "true" : "false");
}

void json_null(struct json_out *o)
{
    begin_value(o);
    buf_adds(o->b, STR_LIT("null"));
}

void json_raw(struct json_out *o, str raw)
{
    ASSERT(raw.len > 0);
    begin_value(o);
    buf_adds(o->b, raw);
}

void json_members(struct json_out *o, str raw_obj)
{
    ASSERT(raw_obj.len >= 2 && raw_obj.p[0] == '{' && raw_obj.p[raw_obj.len - 1] == '}');
    ASSERT(o->depth > 0 && (o->is_obj & DEPTH_OF(o)) && !o->after_key);
    if (raw_obj.len == 2)
        return;
    put_comma(o);
    buf_adds(o->b, str_n(raw_obj.p + 1, raw_obj.len - 2));
}

void json_kstr(struct json_out *o, const char *key, str s)
{
    json_key(o, key);
    json_str(o, s);
}

void json_ki64(struct json_out *o, const char *key, int64_t v)
{
    json_key(o, key);
    json_i64(o, v);
}

void json_kbool(struct json_out *o, const char *key, bool v)
{
    json_key(o, key);
    json_bool(o, v);
}

void json_kraw(struct json_out *o, const char *key, str raw)
{
    json_key(o, key);
    json_raw(o, raw);
}
