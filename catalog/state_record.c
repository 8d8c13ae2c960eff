/* state_record.c - a live file <-> its packed record, and the texts that many records share.
 *
 * A record is numbers of variable length (7 bits a byte, signed ones as zigzag), then name and keys:
 *   flags level total_buckets size rows min_seq (max_seq - min_seq) schema snapshot [user]
 *   [created] [delete_rows] [first_row_id] [source] name keys [external path] [extra files]
 * A name with a UUID in it, "data-<uuid>-7.parquet", is kept as the number of the text before and after
 * ("data-" and ".parquet", shared), 16 bytes and a number: 19 bytes instead of 52. Equal keys are kept
 * once, as those of append tables are.
 *
 * Shared texts are counted and go with the last record that has them; numbers are used again.
 *
 * Thread rule: as the state's. What is unpacked was packed here, so it is not checked. */
#include "catalog/table_state_int.h"

#include "proto/base/assert.h"
#include "proto/base/mem.h"

#define VARINT_MAX  10
#define NUMBERS_MAX 14
#define TEXTS_MAX                                                                                  \
    8 /* lengths and numbers among the texts; a packed name is shorter than the text */

/* --- shared texts ----------------------------------------------------------------------------- */

struct shared *shared_find(const struct shared_set *s, str text)
{
    return map_get(&s->by_text, text);
}

static bool shared_room(struct shared_set *s)
{
    if (s->n < s->cap)
        return true;
    uint32_t cap = s->cap ? s->cap * 2 : 8;
    struct shared **v = mem_realloc(s->v, cap * sizeof *v);
    if (!v)
        return false;
    s->v = v;
    uint32_t *spares = mem_realloc(s->spares, cap * sizeof *spares);
    if (!spares)
        return false;
    s->spares = spares;
    s->bytes += (cap - s->cap) * (sizeof *v + sizeof *spares);
    s->cap = cap;
    return true;
}

/* In the map, without a number; there is room for one. */
static struct shared *shared_new(struct shared_set *s, str text)
{
    struct shared *t = mem_alloc(sizeof *t + text.len + 1);
    if (!t || !shared_room(s)) {
        mem_free(t);
        return NULL;
    }
    *t = (struct shared){.len = text.len};
    memcpy(t->p, text.len ? text.p : "", text.len);
    if (map_put(&s->by_text, str_n(t->p, t->len), t) < 0) {
        mem_free(t);
        return NULL;
    }
    s->bytes += sizeof *t + text.len + 1 + 16; /* and what malloc adds */
    return t;
}

struct shared *shared_take(struct shared_set *s, str text)
{
    struct shared *t = map_get(&s->by_text, text);
    if (!t) {
        t = shared_new(s, text);
        if (!t)
            return NULL;
        t->no = s->spare ? s->spares[--s->spare] : s->n++;
        s->v[t->no] = t;
    }
    t->refs++;
    return t;
}

int shared_put_next(struct shared_set *s, str text)
{
    if (!text.p) {
        if (!shared_room(s))
            return E_NOMEM;
        s->v[s->n] = NULL;
        s->spares[s->spare++] = s->n++;
        return 0;
    }
    if (shared_find(s, text))
        return E_CORRUPT;
    struct shared *t = shared_new(s, text);
    if (!t)
        return E_NOMEM;
    t->no = s->n++;
    s->v[t->no] = t;
    return 0;
}

void shared_give(struct shared_set *s, struct shared *t)
{
    if (--t->refs)
        return;
    map_del(&s->by_text, str_n(t->p, t->len));
    s->v[t->no] = NULL;
    s->spares[s->spare++] = t->no;
    s->bytes -= sizeof *t + t->len + 1 + 16 + t->cap_counts * sizeof *t->counts;
    mem_free(t->counts);
    mem_free(t);
}

void shared_done(struct shared_set *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->v[i]) {
            mem_free(s->v[i]->counts);
            mem_free(s->v[i]);
        }
    mem_free(s->v);
    mem_free(s->spares);
    map_done(&s->by_text);
    *s = (struct shared_set){0};
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* What writes has the room: pack_room. */
static char *put_u(char *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (char)(v | 0x80);
    *p++ = (char)v;
    return p;
}

static char *put_i(char *p, int64_t v)
{
    return put_u(p, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

static char *put_bytes(char *p, const void *from, size_t n)
{
    if (n)
        memcpy(p, from, n);
    return p + n;
}

static char *put_str(char *p, str s)
{
    return put_bytes(put_u(p, s.len), s.p, s.len);
}

static uint64_t get_u(const unsigned char **p)
{
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        unsigned char c = *(*p)++;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80))
            return v;
    }
}

static int64_t get_i(const unsigned char **p)
{
    uint64_t v = get_u(p);
    return (int64_t)(v >> 1 ^ -(v & 1));
}

static str get_str(const unsigned char **p)
{
    size_t n = get_u(p);
    str s = str_n((const char *)*p, n);
    *p += n;
    return s;
}

/* --- names ------------------------------------------------------------------------------------ */

struct name_parts {
    str before, after; /* of "<uuid>-<number>" */
    unsigned char uuid[16];
    uint64_t number;
};

/* 16 + the digit, 0 for what is none: a branch for each would be guessed wrong every third time. */
static const unsigned char hex_of[256] = {
    ['0'] = 16, ['1'] = 17, ['2'] = 18, ['3'] = 19, ['4'] = 20, ['5'] = 21, ['6'] = 22, ['7'] = 23,
    ['8'] = 24, ['9'] = 25, ['a'] = 26, ['b'] = 27, ['c'] = 28, ['d'] = 29, ['e'] = 30, ['f'] = 31,
};

static bool uuid_at(const char *p, unsigned char *ret)
{
    static const unsigned char places[16] = {0,  2,  4,  6,  9,  11, 14, 16,
                                             19, 21, 24, 26, 28, 30, 32, 34};
    unsigned all = 16;
    if (p[8] != '-' || p[13] != '-' || p[18] != '-' || p[23] != '-')
        return false;
    for (size_t i = 0; i < 16; i++) {
        unsigned high = hex_of[(unsigned char)p[places[i]]],
                 low = hex_of[(unsigned char)p[places[i] + 1]];
        all &= high & low;
        ret[i] = (unsigned char)(high << 4 | (low & 15));
    }
    return all != 0;
}

/* "-7.parquet": the number as its only text, and what follows it. */
static bool number_at(str s, struct name_parts *ret)
{
    size_t i = 1;
    uint64_t v = 0;
    if (s.len < 2 || s.p[0] != '-')
        return false;
    for (; i < s.len && i < 10 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        v = v * 10 + (uint64_t)(s.p[i] - '0');
    if (i == 1 || (s.p[1] == '0' && i > 2))
        return false;
    ret->number = v;
    ret->after = str_cut(s, i);
    return ret->after.len == 0 || ret->after.p[0] < '0' || ret->after.p[0] > '9';
}

/* The last UUID counts: names of the postpone bucket have one of the user before it. */
static bool name_split(str name, struct name_parts *ret)
{
    if (name.len > PATH_COMPONENT_MAX || name.len < UUID_TEXT)
        return false;
    for (size_t at = name.len - UUID_TEXT + 1; at-- > 0;)
        if (uuid_at(name.p + at, ret->uuid)) {
            ret->before = str_n(name.p, at);
            return number_at(str_cut(name, at + UUID_TEXT), ret);
        }
    return false;
}

static str name_join(struct state_view *v, const struct shared *before, const unsigned char *uuid,
                     uint64_t number, const struct shared *after)
{
    static const char digits[] = "0123456789abcdef";
    char *p = v->name;
    memcpy(p, before->p, before->len);
    p += before->len;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *p++ = '-';
        *p++ = digits[uuid[i] >> 4];
        *p++ = digits[uuid[i] & 15];
    }
    char text[24];
    size_t n = sizeof text;
    do
        text[--n] = (char)('0' + number % 10);
    while (number /= 10);
    *p++ = '-';
    memcpy(p, text + n, sizeof text - n);
    p += sizeof text - n;
    memcpy(p, after->p, after->len);
    return str_n(v->name, (size_t)(p - v->name) + after->len);
}

/* --- records ---------------------------------------------------------------------------------- */

struct taken { /* shared texts of a record that is being packed */
    struct shared *user, *before, *after;
};

static void give_back(struct table_state *st, const struct taken *t)
{
    if (t->user)
        shared_give(&st->users, t->user);
    if (t->before)
        shared_give(&st->name_parts, t->before);
    if (t->after)
        shared_give(&st->name_parts, t->after);
}

static bool take_all(struct table_state *st, const struct table_file *f,
                     const struct name_parts *parts, struct taken *t)
{
    *t = (struct taken){0};
    if (f->user.p && !(t->user = shared_take(&st->users, f->user)))
        return false;
    if (!parts)
        return true;
    t->before = shared_take(&st->name_parts, parts->before);
    t->after = t->before ? shared_take(&st->name_parts, parts->after) : NULL;
    return t->after != NULL;
}

static unsigned flags_of(const struct table_file *f, bool packed)
{
    return (f->user.p ? HAS_USER : 0u) | (f->created_ms.has ? HAS_CREATED : 0u) |
           (f->delete_rows.has ? HAS_DELETE_ROWS : 0u) | (f->first_row_id.has ? HAS_ROW_ID : 0u) |
           (f->source.has ? HAS_SOURCE : 0u) | (f->external_path.p ? HAS_EXTERNAL : 0u) |
           (f->extra_files.n ? HAS_EXTRA : 0u) | (packed ? NAME_PACKED : 0u) |
           (str_eq(f->min_key, f->max_key) ? ONE_KEY : 0u);
}

static char *put_opt(char *p, struct opt_i64 v)
{
    return v.has ? put_i(p, v.v) : p;
}

static char *pack_numbers(char *p, const struct table_file *f, const struct taken *t,
                          unsigned flags)
{
    p = put_u(p, flags);
    p = put_u(p, (uint64_t)f->level);
    p = put_i(p, f->total_buckets);
    p = put_u(p, (uint64_t)f->size);
    p = put_u(p, (uint64_t)f->rows);
    p = put_i(p, f->min_seq);
    p = put_i(p, (int64_t)((uint64_t)f->max_seq - (uint64_t)f->min_seq));
    p = put_i(p, f->schema_id);
    p = put_u(p, (uint64_t)f->snapshot);
    if (t->user)
        p = put_u(p, t->user->no);
    p = put_opt(p, f->created_ms);
    p = put_opt(p, f->delete_rows);
    p = put_opt(p, f->first_row_id);
    return put_opt(p, f->source);
}

static char *pack_texts(char *p, const struct table_file *f, const struct taken *t,
                        const struct name_parts *parts, unsigned flags)
{
    if (t->before) {
        p = put_u(p, t->before->no);
        p = put_u(p, t->after->no);
        p = put_bytes(p, parts->uuid, sizeof parts->uuid);
        p = put_u(p, parts->number);
    } else {
        p = put_str(p, f->name);
    }
    p = put_str(p, f->min_key);
    if (!(flags & ONE_KEY))
        p = put_str(p, f->max_key);
    if (f->external_path.p)
        p = put_str(p, f->external_path);
    if (f->extra_files.n) {
        p = put_u(p, f->extra_files.n);
        p = put_str(p, f->extra_files.items);
    }
    return p;
}

/* No record of f is longer. */
static size_t pack_room(const struct table_file *f)
{
    return sizeof(struct record) + (NUMBERS_MAX + TEXTS_MAX) * VARINT_MAX + f->name.len +
           f->min_key.len + f->max_key.len + f->external_path.len + f->extra_files.items.len;
}

static void pack(struct buf *out, const struct table_file *f, const struct taken *t,
                 const struct name_parts *parts)
{
    struct record head = {.id = f->id};
    unsigned flags = flags_of(f, t->before != NULL);
    buf_clear(out);
    if (buf_reserve(out, pack_room(f)) < 0)
        return;
    char *p = put_bytes(out->p, &head, offsetof(struct record, body));
    p = pack_numbers(p, f, t, flags);
    p = pack_texts(p, f, t, parts, flags);
    out->len = (size_t)(p - out->p);
}

int record_pack(struct ctx *cx, struct table_state *st, const struct table_file *f, struct buf *out)
{
    struct name_parts parts;
    struct taken t;
    bool packed = name_split(f->name, &parts);
    if (!take_all(st, f, packed ? &parts : NULL, &t)) {
        give_back(st, &t);
        return ctx_nomem(cx);
    }
    pack(out, f, &t, &parts);
    int rc = buf_fail(out) ? ctx_nomem(cx) : 0;
    if (rc == 0 && out->len > SLAB_MAX)
        rc =
            ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                     "the keys and names of the data file \"%.*s\" have %zu bytes; at most %zu can "
                     "be kept",
                     (int)(f->name.len > 120 ? 120 : f->name.len), f->name.p, out->len, SLAB_MAX);
    if (rc < 0)
        give_back(st, &t);
    return rc;
}

static struct opt_i64 get_opt(const unsigned char **p, bool has)
{
    return has ? (struct opt_i64){true, get_i(p)} : (struct opt_i64){0};
}

static void unpack_numbers(const struct table_state *st, const unsigned char **p, unsigned flags,
                           struct table_file *f)
{
    f->level = (int32_t)get_u(p);
    f->total_buckets = (int32_t)get_i(p);
    f->size = (int64_t)get_u(p);
    f->rows = (int64_t)get_u(p);
    f->min_seq = get_i(p);
    f->max_seq = (int64_t)((uint64_t)f->min_seq + (uint64_t)get_i(p));
    f->schema_id = get_i(p);
    f->snapshot = (int64_t)get_u(p);
    f->user = STR_NONE;
    if (flags & HAS_USER) {
        const struct shared *u = st->users.v[get_u(p)];
        f->user = str_n(u->p, u->len);
    }
    f->created_ms = get_opt(p, flags & HAS_CREATED);
    f->delete_rows = get_opt(p, flags & HAS_DELETE_ROWS);
    f->first_row_id = get_opt(p, flags & HAS_ROW_ID);
    f->source = get_opt(p, flags & HAS_SOURCE);
}

static str unpack_name(const struct table_state *st, const unsigned char **p, unsigned flags,
                       struct state_view *v)
{
    if (!(flags & NAME_PACKED))
        return get_str(p);
    const struct shared *before = st->name_parts.v[get_u(p)];
    const struct shared *after = st->name_parts.v[get_u(p)];
    const unsigned char *uuid = *p;
    *p += 16;
    return name_join(v, before, uuid, get_u(p), after);
}

void record_unpack(const struct table_state *st, const struct record *r, struct state_view *ret)
{
    const unsigned char *p = r->body;
    unsigned flags = (unsigned)get_u(&p);
    const struct bucket *b = &st->buckets[r->bucket];
    struct table_file *f = &ret->f;
    f->id = r->id;
    f->partition = str_n(b->partition->p, b->partition->len);
    f->bucket = b->bucket;
    unpack_numbers(st, &p, flags, f);
    f->name = unpack_name(st, &p, flags, ret);
    f->min_key = get_str(&p);
    f->max_key = flags & ONE_KEY ? f->min_key : get_str(&p);
    f->external_path = flags & HAS_EXTERNAL ? get_str(&p) : STR_NONE;
    f->extra_files = (struct avro_list){.has = true, .items = {"", 0}};
    if (flags & HAS_EXTRA) {
        f->extra_files.n = (uint32_t)get_u(&p);
        f->extra_files.items = get_str(&p);
    }
}

void record_release(struct table_state *st, const struct record *r)
{
    const unsigned char *p = r->body;
    struct table_file f;
    unsigned flags = (unsigned)get_u(&p);
    unpack_numbers(st, &p, flags, &f);
    struct taken t = {0};
    if (flags & HAS_USER)
        t.user = shared_find(&st->users, f.user);
    if (flags & NAME_PACKED) {
        t.before = st->name_parts.v[get_u(&p)];
        t.after = st->name_parts.v[get_u(&p)];
    }
    give_back(st, &t);
}
