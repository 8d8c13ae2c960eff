/* avro_value.c - lists as values, and copies and comparison of structs by their table.
 *
 * A list's items were checked when they were read, or made here, so walking it cannot fail: what is
 * wrong in one is a bug of ours. No state; any thread. */
#include "manifest/avro/avro_int.h"

#include "proto/base/assert.h"

/* --- lists -------------------------------------------------------------------------------------------- */

static struct avro_in begin(const struct avro_list *l)
{
    return (struct avro_in){l->items.p, l->items.p, l->items.p + l->items.len};
}

static void advance(struct avro_list *l, const struct avro_in *in)
{
    l->items = str_n(in->at, (size_t)(in->end - in->at));
    l->n--;
}

bool avro_list_str(struct avro_list *l, str *ret)
{
    if (l->n == 0)
        return false;
    struct avro_in in = begin(l);
    ASSERT(avro_take_bytes(&in, ret));
    advance(l, &in);
    return true;
}

bool avro_list_strs_ok(const struct avro_list *l)
{
    struct avro_in in = begin(l);
    str item;
    for (uint32_t i = 0; i < l->n; i++)
        if (!avro_take_bytes(&in, &item))
            return false;
    return in.at == in.end;
}

bool avro_list_i64(struct avro_list *l, int64_t *ret)
{
    if (l->n == 0)
        return false;
    struct avro_in in = begin(l);
    ASSERT(avro_take(&in, ret));
    advance(l, &in);
    return true;
}

bool avro_list_opt_i64(struct avro_list *l, struct opt_i64 *ret)
{
    int64_t branch, v = 0;
    if (l->n == 0)
        return false;
    struct avro_in in = begin(l);
    ASSERT(avro_take(&in, &branch) && (branch == 0 || avro_take(&in, &v)));
    *ret = (struct opt_i64){branch != 0, v};
    advance(l, &in);
    return true;
}

static char *room(struct ctx *cx, size_t n, size_t each, size_t bytes)
{
    if (n > UINT32_MAX || n > (SIZE_MAX - bytes) / each)
        return NULL;
    return arena_alloc(&cx->arena, n * each + bytes + 1);
}

int avro_list_of_strs(struct ctx *cx, const str *v, size_t n, struct avro_list *ret)
{
    size_t bytes = 0, len = 0;
    for (size_t i = 0; i < n; i++)
        bytes += v[i].len;
    char *out = room(cx, n, AVRO_VARINT, bytes);
    if (!out)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++) {
        len += avro_put(out + len, (int64_t)v[i].len);
        memcpy(out + len, v[i].len ? v[i].p : "", v[i].len);
        len += v[i].len;
    }
    *ret = (struct avro_list){true, (uint32_t)n, str_n(out, len)};
    return 0;
}

int avro_list_of_i64s(struct ctx *cx, const int64_t *v, size_t n, struct avro_list *ret)
{
    size_t len = 0;
    char *out = room(cx, n, AVRO_VARINT, 0);
    if (!out)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++)
        len += avro_put(out + len, v[i]);
    *ret = (struct avro_list){true, (uint32_t)n, str_n(out, len)};
    return 0;
}

int avro_list_of_opts(struct ctx *cx, const struct opt_i64 *v, size_t n, struct avro_list *ret)
{
    size_t len = 0;
    char *out = room(cx, n, AVRO_VARINT + 1, 0);
    if (!out)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++) {
        len += avro_put(out + len, v[i].has);
        if (v[i].has)
            len += avro_put(out + len, v[i].v);
    }
    *ret = (struct avro_list){true, (uint32_t)n, str_n(out, len)};
    return 0;
}

bool avro_list_eq(const struct avro_list *a, const struct avro_list *b)
{
    return a->has == b->has && a->n == b->n && str_eq(a->items, b->items);
}

/* --- copies --------------------------------------------------------------------------------------------- */

static int copy_text(struct ctx *cx, str *s)
{
    if (!s->p)
        return 0;
    *s = str_dup(&cx->arena, *s);
    return s->p ? 0 : ctx_nomem(cx);
}

static int copy_behind(struct ctx *cx, const struct avro_field *f, char *to)
{
    const void *from;
    memcpy(&from, to, sizeof from);
    if (!from)
        return 0;
    void *made = arena_alloc(&cx->arena, f->record->size);
    if (!made)
        return ctx_nomem(cx);
    memcpy(to, &made, sizeof made);
    return avro_copy(cx, f->record, from, made);
}

static int copy_records(struct ctx *cx, const struct avro_field *f, char *to)
{
    struct avro_array a;
    size_t size = f->record->size;
    memcpy(&a, to, sizeof a);
    if (a.n == 0)
        return 0;
    char *made = arena_array(&cx->arena, size, a.n);
    if (!made)
        return ctx_nomem(cx);
    for (size_t i = 0; i < a.n; i++)
        TRY(avro_copy(cx, f->record, (const char *)a.items + i * size, made + i * size));
    a.items = made;
    memcpy(to, &a, sizeof a);
    return 0;
}

int avro_copy(struct ctx *cx, const struct avro_record *record, const void *from, void *ret)
{
    memmove(ret, from, record->size);
    for (size_t i = 0; i < record->n; i++) {
        const struct avro_field *f = &record->fields[i];
        char *to = (char *)ret + f->at;
        switch (f->type) {
        case AVRO_INT:
        case AVRO_LONG:
            break;
        case AVRO_STRING:
        case AVRO_BYTES:
            TRY(copy_text(cx, (str *)(void *)to));
            break;
        case AVRO_LIST:
            TRY(copy_text(cx, &((struct avro_list *)(void *)to)->items));
            break;
        case AVRO_RECORD:
            TRY(f->optional ? copy_behind(cx, f, to)
                            : avro_copy(cx, f->record, (const char *)from + f->at, to));
            break;
        case AVRO_RECORDS:
            TRY(copy_records(cx, f, to));
            break;
        }
    }
    return 0;
}

/* --- comparison ----------------------------------------------------------------------------------------- */

static bool number_equal(const struct avro_field *f, const void *a, const void *b)
{
    if (!f->optional)
        return memcmp(a, b, f->type == AVRO_INT ? sizeof(int32_t) : sizeof(int64_t)) == 0;
    const struct opt_i64 *x = a, *y = b;
    return x->has == y->has && (!x->has || x->v == y->v);
}

static bool records_equal(const struct avro_field *f, const void *a, const void *b)
{
    struct avro_array x, y;
    size_t size = f->record->size;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (x.has != y.has || x.n != y.n)
        return false;
    for (size_t i = 0; i < x.n; i++)
        if (!avro_equal(f->record, (const char *)x.items + i * size,
                        (const char *)y.items + i * size))
            return false;
    return true;
}

static bool nested_equal(const struct avro_field *f, const void *a, const void *b)
{
    if (!f->optional)
        return avro_equal(f->record, a, b);
    const void *x, *y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x && y ? avro_equal(f->record, x, y) : x == y;
}

static bool field_equal(const struct avro_field *f, const void *a, const void *b)
{
    const str *s = a, *t = b;
    switch (f->type) {
    case AVRO_INT:
    case AVRO_LONG:
        return number_equal(f, a, b);
    case AVRO_STRING:
    case AVRO_BYTES:
        return (s->p && t->p) || !f->optional ? str_eq(*s, *t) : s->p == t->p;
    case AVRO_LIST:
        return avro_list_eq(a, b);
    case AVRO_RECORD:
        return nested_equal(f, a, b);
    case AVRO_RECORDS:
        return records_equal(f, a, b);
    }
    return false;
}

bool avro_equal(const struct avro_record *record, const void *a, const void *b)
{
    for (size_t i = 0; i < record->n; i++) {
        size_t at = record->fields[i].at;
        if (!field_equal(&record->fields[i], (const char *)a + at, (const char *)b + at))
            return false;
    }
    return true;
}
