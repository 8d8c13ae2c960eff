/* avro_read.c - the container: header, blocks, sync markers.
 *
 * Source of the format: "Object Container Files" of the Avro specification. A header is "Obj" and 1,
 * a map with avro.schema and avro.codec, and 16 random bytes that also end each block. A block is a
 * count of records, a length, that many bytes in the codec, the 16 bytes.
 *
 * A file that was cut off between two blocks looks whole: whoever has its length from a manifest list or
 * a snapshot must compare it. A block without records is refused, as no writer makes one and Java
 * would stop reading there while others would go on.
 *
 * Invariant: at <= end within the unpacked block; pos is where the next block begins. */
#include "manifest/avro/avro_int.h"

#include "proto/base/assert.h"

#define META_MAX 1000 /* entries of a header's map */
#define SHOWN(s) (s).len > 160 ? 160 : (int)(s).len, (s).p ? (s).p : ""

static const char magic[4] = {'O', 'b', 'j', 1};

static int bad_file(struct ctx *cx, const struct avro_in *in, const char *what)
{
    return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%s at byte %td", what, in->at - in->start);
}

/* --- header ----------------------------------------------------------------------------------------- */

static int read_meta(struct ctx *cx, struct avro_in *in, str *ret_schema, str *ret_codec)
{
    int64_t count, total = 0;
    str key, value;
    for (;;) {
        int64_t bytes;
        if (!avro_take(in, &count) || count == INT64_MIN)
            return bad_file(cx, in, "the header ends");
        if (count == 0)
            return 0;
        if (count < 0 && (!avro_take(in, &bytes) || bytes < 0))
            return bad_file(cx, in, "the header ends");
        count = count < 0 ? -count : count;
        if (count > META_MAX || (total += count) > META_MAX)
            return bad_file(cx, in, "the header has too many entries");
        for (int64_t i = 0; i < count; i++) {
            if (!avro_take_bytes(in, &key) || !avro_take_bytes(in, &value))
                return bad_file(cx, in, "the header ends");
            if (str_eqz(key, "avro.schema"))
                *ret_schema = value;
            else if (str_eqz(key, "avro.codec"))
                *ret_codec = value;
        }
    }
}

static int read_header(struct ctx *cx, struct avro_reader *r, const struct avro_record *want)
{
    struct avro_in in = {r->bytes.p, r->bytes.p, r->bytes.p + r->bytes.len};
    str schema = STR_NONE, codec = STR_NONE;
    enum codec_kind kind;
    const struct avro_node *file;
    if (r->bytes.len < sizeof magic || memcmp(in.at, magic, sizeof magic) != 0)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%s",
                        r->bytes.len == 0 ? "the file is empty"
                                          : "it is no Avro file: it does not begin with \"Obj\" 1");
    in.at += sizeof magic;
    TRY(read_meta(cx, &in, &schema, &codec));
    if (in.end - in.at < (ptrdiff_t)sizeof r->sync)
        return bad_file(cx, &in, "the header ends");
    memcpy(r->sync, in.at, sizeof r->sync);
    r->pos = (size_t)(in.at - in.start) + sizeof r->sync;
    TRY(codec_find(cx, codec, &kind));
    codec_init(&r->codec, kind);
    if (!schema.p)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "the header has no avro.schema");
    TRY(avro_schema_parse(cx, schema, &file));
    return avro_plan_make(cx, file, want, &r->plan);
}

int avro_read_open(struct ctx *cx, struct avro_reader *r, str bytes, str name,
                   const struct avro_record *want, bool keep)
{
    *r = (struct avro_reader){.name = name, .bytes = bytes, .keep = keep};
    buf_init(&r->block, AVRO_BLOCK_MAX + 1); /* what codec_unpack wants */
    codec_init(&r->codec, CODEC_NULL);
    int rc = read_header(cx, r, want);
    return rc < 0 ? ctx_prefix(cx, "%.*s", SHOWN(name)) : 0;
}

void avro_read_done(struct avro_reader *r)
{
    codec_done(&r->codec);
    buf_done(&r->block);
    r->at = r->end = r->start = NULL;
    r->left = 0;
}

/* --- blocks ------------------------------------------------------------------------------------------ */

/* The block's bytes, unpacked, to where they may stay. */
static int unpack(struct ctx *cx, struct avro_reader *r, str packed)
{
    str data = packed;
    if (r->codec.kind != CODEC_NULL) {
        TRY(codec_unpack(cx, &r->codec, packed, AVRO_BLOCK_MAX, &r->block));
        data = buf_str(&r->block);
    }
    r->unpacked += data.len;
    if (r->unpacked > AVRO_FILE_MAX)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "it unpacks to more than %llu bytes",
                        (unsigned long long)AVRO_FILE_MAX);
    if (r->keep) {
        data = str_dup(&cx->arena, data);
        if (!data.p)
            return ctx_nomem(cx);
    }
    r->start = r->at = data.p;
    r->end = data.p + data.len;
    return 0;
}

/* 1: a block is open; 0: the file ends here. */
static int next_block(struct ctx *cx, struct avro_reader *r)
{
    struct avro_in in = {r->bytes.p, r->bytes.p + r->pos, r->bytes.p + r->bytes.len};
    int64_t count;
    str packed;
    r->block_at = r->pos;
    if (in.at == in.end)
        return 0;
    if (!avro_take(&in, &count) || count <= 0)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "it has no count of records");
    if (!avro_take_bytes(&in, &packed) || in.end - in.at < (ptrdiff_t)sizeof r->sync)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "it is cut off");
    if (memcmp(in.at, r->sync, sizeof r->sync) != 0)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "it does not end with the file's sync marker");
    r->pos = (size_t)(in.at - in.start) + sizeof r->sync;
    TRY(unpack(cx, r, packed));
    if (count > r->end - r->start)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "it has %td bytes for %lld records",
                        r->end - r->start, (long long)count);
    r->left = count;
    return 1;
}

static int next_record(struct ctx *cx, struct avro_reader *r, void *record)
{
    if (r->left == 0) {
        int rc = next_block(cx, r);
        if (rc <= 0)
            return rc;
    }
    struct avro_in in = {r->start, r->at, r->end};
    TRY(avro_decode(cx, &in, r->plan, record));
    r->at = in.at;
    if (--r->left == 0 && r->at != r->end)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%td bytes follow its last record",
                        r->end - r->at);
    return 1;
}

int avro_read_next(struct ctx *cx, struct avro_reader *r, void *record)
{
    ASSERT(r->plan && r->at <= r->end);
    int rc = next_record(cx, r, record);
    return rc < 0 ? ctx_prefix(cx, "%.*s: the block at byte %zu", SHOWN(r->name), r->block_at) : rc;
}

/* --- all at once -------------------------------------------------------------------------------------- */

struct growing {
    char *items;
    size_t n, cap;
};

static int add_item(struct ctx *cx, struct growing *g, const void *item, size_t size)
{
    if (g->n == g->cap) {
        size_t cap = g->cap ? g->cap * 2 : 16;
        char *moved = arena_array(&cx->arena, size, cap);
        if (!moved)
            return ctx_nomem(cx);
        if (g->n > 0)
            memcpy(moved, g->items, g->n * size);
        g->items = moved;
        g->cap = cap;
    }
    memcpy(g->items + g->n++ * size, item, size);
    return 0;
}

static int read_all(struct ctx *cx, struct avro_reader *r, const struct avro_record *want,
                    struct growing *ret)
{
    void *record = arena_alloc(&cx->arena, want->size);
    int rc;
    if (!record)
        return ctx_nomem(cx);
    while ((rc = avro_read_next(cx, r, record)) > 0)
        TRY(add_item(cx, ret, record, want->size));
    return rc;
}

int avro_read_all(struct ctx *cx, str bytes, str name, const struct avro_record *want, void **ret,
                  size_t *ret_n)
{
    CLEANUP(avro_read_done) struct avro_reader r;
    struct growing g = {0};
    TRY(avro_read_open(cx, &r, bytes, name, want, true));
    TRY(read_all(cx, &r, want, &g));
    *ret = g.items;
    *ret_n = g.n;
    return 0;
}

int avro_read_checked(struct ctx *cx, str bytes, str name, const struct avro_record *want,
                      avro_check_fn *check, void **ret, size_t *ret_n)
{
    void *all;
    size_t n;
    TRY(avro_read_all(cx, bytes, name, want, &all, &n));
    for (size_t i = 0; i < n; i++)
        TRY(check(cx, (const char *)all + i * want->size, name));
    *ret = all;
    *ret_n = n;
    return 0;
}
