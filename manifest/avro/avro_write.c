/* avro_write.c - structs into a container file, with the schema that stock Java gives the same rows.
 *
 * Source of the format: the Avro specification; Paimon's AvroSchemaConverter for the names of types
 * (a nested record is called after its parent and its field), for null first in every union and for
 * the order of a schema's members; Avro Java's DataFileWriter for the size of blocks. Java copies
 * blocks of a manifest as they are when its layout is the one Java would write, so the layout matters
 * and names do not.
 *
 * Invariant: `out` is a whole file but for the records in `block`. */
#include "manifest/avro/avro_int.h"

#include "proto/base/assert.h"
#include "proto/base/rand.h"
#include "proto/json/json.h"

/* --- the schema's text -------------------------------------------------------------------------------- */

#define NAME_SPACE "org.apache.paimon.avro.generated"
#define NAME_MAX_  200

static void put_record(struct json_out *o, const struct avro_record *rec, const char *name,
                       bool extras);

static void put_item_type(struct json_out *o, enum avro_item item)
{
    if (item == ITEM_OPT_LONG) {
        json_arr(o);
        json_str(o, STR_LIT("null"));
        json_str(o, STR_LIT("long"));
        json_end(o);
        return;
    }
    json_str(o, item == ITEM_STRING ? STR_LIT("string")
                : item == ITEM_INT  ? STR_LIT("int")
                                    : STR_LIT("long"));
}

static void put_array(struct json_out *o, const struct avro_field *f, const char *name, bool extras)
{
    json_obj(o);
    json_kstr(o, "type", STR_LIT("array"));
    json_key(o, "items");
    if (f->type == AVRO_LIST) {
        put_item_type(o, f->item);
    } else if (f->item_optional) {
        json_arr(o);
        json_str(o, STR_LIT("null"));
        put_record(o, f->record, name, extras);
        json_end(o);
    } else {
        put_record(o, f->record, name, extras);
    }
    json_end(o);
}

static void put_number(struct json_out *o, const struct avro_field *f)
{
    str type = f->type == AVRO_INT ? STR_LIT("int") : STR_LIT("long");
    if (!f->millis) {
        json_str(o, type);
        return;
    }
    json_obj(o);
    json_kstr(o, "type", type);
    json_kstr(o, "logicalType", STR_LIT("timestamp-millis"));
    json_end(o);
}

static void put_type(struct json_out *o, const struct avro_field *f, const char *parent,
                     bool extras)
{
    char name[NAME_MAX_];
    int n = snprintf(name, sizeof name, "%s_%s", parent, f->name);
    ASSERT(n > 0 && (size_t)n < sizeof name);
    switch (f->type) {
    case AVRO_INT:
    case AVRO_LONG:
        put_number(o, f);
        break;
    case AVRO_STRING:
        json_str(o, STR_LIT("string"));
        break;
    case AVRO_BYTES:
        json_str(o, STR_LIT("bytes"));
        break;
    case AVRO_RECORD:
        put_record(o, f->record, name, extras);
        break;
    case AVRO_LIST:
    case AVRO_RECORDS:
        put_array(o, f, name, extras);
        break;
    }
}

static void put_field(struct json_out *o, const struct avro_field *f, const char *parent,
                      bool extras)
{
    json_obj(o);
    json_kstr(o, "name", str_of(f->name));
    json_key(o, "type");
    if (f->optional) {
        json_arr(o);
        json_str(o, STR_LIT("null"));
    }
    put_type(o, f, parent, extras);
    if (f->optional) {
        json_end(o);
        json_key(o, "default");
        json_null(o);
    }
    json_end(o);
}

static void put_record(struct json_out *o, const struct avro_record *rec, const char *name,
                       bool extras)
{
    json_obj(o);
    json_kstr(o, "type", STR_LIT("record"));
    json_kstr(o, "name", str_of(name));
    if (strcmp(name, "record") == 0)
        json_kstr(o, "namespace", STR_LIT(NAME_SPACE));
    json_key(o, "fields");
    json_arr(o);
    for (size_t i = 0; i < rec->n; i++)
        if (extras || !rec->fields[i].extra)
            put_field(o, &rec->fields[i], name, extras);
    json_end(o);
    json_end(o);
}

int avro_schema_text(struct ctx *cx, const struct avro_record *record, bool extras, struct buf *out)
{
    struct json_out o;
    json_out_init(&o, out);
    put_record(&o, record, "record", extras);
    return buf_fail(out) ? ctx_nomem(cx) : 0;
}

/* --- numbers and bytes -------------------------------------------------------------------------------- */

size_t avro_put(char out[AVRO_VARINT], int64_t v)
{
    uint64_t z = ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
    size_t n = 0;
    for (; z >= 0x80; z >>= 7)
        out[n++] = (char)(z | 0x80);
    out[n++] = (char)z;
    ASSERT(n <= AVRO_VARINT);
    return n;
}

void avro_add_long(struct buf *out, int64_t v)
{
    if (buf_reserve(out, AVRO_VARINT) == 0)
        out->len += avro_put(out->p + out->len, v);
}

void avro_add_bytes(struct buf *out, str s)
{
    avro_add_long(out, (int64_t)s.len);
    buf_adds(out, s);
}

/* --- records ------------------------------------------------------------------------------------------- */

static void add_record(struct buf *out, const struct avro_record *rec, const char *from,
                       bool extras);

static void add_number(struct buf *out, const struct avro_field *f, const char *from)
{
    if (f->optional) {
        const struct opt_i64 *v = (const void *)from;
        ASSERT(!v->has || f->type == AVRO_LONG || (v->v >= INT32_MIN && v->v <= INT32_MAX));
        avro_add_long(out, v->has);
        if (v->has)
            avro_add_long(out, v->v);
    } else {
        avro_add_long(out, f->type == AVRO_INT ? *(const int32_t *)(const void *)from
                                               : *(const int64_t *)(const void *)from);
    }
}

static void add_text(struct buf *out, const struct avro_field *f, const char *from)
{
    const str *s = (const void *)from;
    if (f->optional)
        avro_add_long(out, s->p != NULL);
    if (!f->optional || s->p)
        avro_add_bytes(out, *s);
}

/* The count before the items; the 0 behind them ends the array. */
static void add_list(struct buf *out, const struct avro_field *f, const char *from)
{
    const struct avro_list *l = (const void *)from;
    if (f->optional)
        avro_add_long(out, l->has);
    if (f->optional && !l->has)
        return;
    if (l->n > 0) {
        avro_add_long(out, l->n);
        buf_adds(out, l->items);
    }
    avro_add_long(out, 0);
}

static void add_records(struct buf *out, const struct avro_field *f, const char *from, bool extras)
{
    struct avro_array a;
    memcpy(&a, from, sizeof a);
    if (f->optional)
        avro_add_long(out, a.has);
    if (f->optional && !a.has)
        return;
    if (a.n > 0)
        avro_add_long(out, (int64_t)a.n);
    for (size_t i = 0; i < a.n; i++) {
        if (f->item_optional)
            avro_add_long(out, 1);
        add_record(out, f->record, (const char *)a.items + i * f->record->size, extras);
    }
    avro_add_long(out, 0);
}

static void add_nested(struct buf *out, const struct avro_field *f, const char *from, bool extras)
{
    if (f->optional) {
        const char *behind;
        memcpy(&behind, from, sizeof behind);
        avro_add_long(out, behind != NULL);
        if (!behind)
            return;
        from = behind;
    }
    add_record(out, f->record, from, extras);
}

static void add_record(struct buf *out, const struct avro_record *rec, const char *from,
                       bool extras)
{
    for (size_t i = 0; i < rec->n; i++) {
        const struct avro_field *f = &rec->fields[i];
        if (f->extra && !extras)
            continue;
        switch (f->type) {
        case AVRO_INT:
        case AVRO_LONG:
            add_number(out, f, from + f->at);
            break;
        case AVRO_STRING:
        case AVRO_BYTES:
            add_text(out, f, from + f->at);
            break;
        case AVRO_LIST:
            add_list(out, f, from + f->at);
            break;
        case AVRO_RECORD:
            add_nested(out, f, from + f->at, extras);
            break;
        case AVRO_RECORDS:
            add_records(out, f, from + f->at, extras);
            break;
        }
    }
}

/* --- the file -------------------------------------------------------------------------------------------- */

static int failed(struct ctx *cx, const struct buf *b)
{
    if (buf_fail(b) == E_TOOBIG)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "a file or one of its records would be over 2 GiB");
    return buf_fail(b) ? ctx_nomem(cx) : 0;
}

int avro_write_open(struct ctx *cx, struct avro_writer *w, const struct avro_record *record,
                    bool extras, enum codec_kind codec, int level)
{
    CLEANUP(buf_done) struct buf schema = {0};
    *w = (struct avro_writer){.record = record, .extras = extras, .level = level};
    codec_init(&w->codec, codec);
    TRY(avro_schema_text(cx, record, extras, &schema));
    rand_bytes(w->sync, sizeof w->sync);
    buf_add(&w->out, "Obj\1", 4);
    avro_add_long(&w->out, 2);
    avro_add_bytes(&w->out, STR_LIT("avro.schema"));
    avro_add_bytes(&w->out, buf_str(&schema));
    avro_add_bytes(&w->out, STR_LIT("avro.codec"));
    avro_add_bytes(&w->out, str_of(codec_name(codec)));
    avro_add_long(&w->out, 0);
    buf_add(&w->out, w->sync, sizeof w->sync);
    return failed(cx, &w->out);
}

int avro_write_flush(struct ctx *cx, struct avro_writer *w)
{
    if (w->n == 0)
        return 0;
    buf_clear(&w->packed);
    TRY(codec_pack(cx, &w->codec, w->level, buf_str(&w->block), &w->packed));
    avro_add_long(&w->out, w->n);
    avro_add_bytes(&w->out, buf_str(&w->packed));
    buf_add(&w->out, w->sync, sizeof w->sync);
    buf_clear(&w->block);
    w->n = 0;
    return failed(cx, &w->out);
}

int avro_write_add(struct ctx *cx, struct avro_writer *w, const void *record)
{
    add_record(&w->block, w->record, record, w->extras);
    TRY(failed(cx, &w->block));
    w->n++;
    w->records++;
    return w->block.len >= AVRO_BLOCK_SIZE ? avro_write_flush(cx, w) : 0;
}

void avro_write_done(struct avro_writer *w)
{
    codec_done(&w->codec);
    buf_done(&w->out);
    buf_done(&w->block);
    buf_done(&w->packed);
}
