/* avro_decode.c - a record's bytes into a struct, by a plan.
 *
 * Source of the format: "Binary Encoding" of the Avro specification. This is where the time of reading
 * a manifest goes: a record is one loop over the plan, nothing is allocated for it, strings and lists
 * point into the block. Only lists that are not encoded the usual way (in several blocks, with their
 * size, with other items) are made anew in the arena.
 *
 * Nothing is believed: a length is compared with what is left before it is used, and a count too,
 * since every item has at least one byte. Recursion is as deep as the schema, which is bounded
 * (avro_schema.c). No state; any thread. */
#include "manifest/avro/avro_int.h"

#include "proto/base/assert.h"

bool avro_take_slow(struct avro_in *in, int64_t *ret)
{
    uint64_t v = 0;
    const char *at = in->at;
    for (unsigned shift = 0; shift < 64 && at < in->end; shift += 7) {
        unsigned char c = (unsigned char)*at++;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            if ((c == 0 && shift > 0) || (shift == 63 && c > 1))
                return false;
            in->at = at;
            *ret = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
            return true;
        }
    }
    return false;
}

bool avro_take_bytes(struct avro_in *in, str *ret)
{
    int64_t n;
    if (!avro_take(in, &n) || n < 0 || n > in->end - in->at)
        return false;
    *ret = str_n(in->at, (size_t)n);
    in->at += n;
    return true;
}

static bool utf8_ok(str s)
{
    size_t i = 0;
    uint64_t w;
    for (; i + sizeof w <= s.len; i += sizeof w) {
        memcpy(&w, s.p + i, sizeof w);
        if (w & 0x8080808080808080u)
            return str_utf8_valid(str_cut(s, i));
    }
    for (; i < s.len; i++)
        if ((unsigned char)s.p[i] >= 0x80)
            return str_utf8_valid(str_cut(s, i));
    return true;
}

static bool take_string(struct avro_in *in, str *ret)
{
    return avro_take_bytes(in, ret) && utf8_ok(*ret);
}

static bool take_int32(struct avro_in *in, int64_t *ret)
{
    return avro_take(in, ret) && *ret >= INT32_MIN && *ret <= INT32_MAX;
}

static bool skip_bytes(struct avro_in *in, size_t n)
{
    if (n > (size_t)(in->end - in->at))
        return false;
    in->at += n;
    return true;
}

/* The next count of an array or a map; a negative one is followed by the bytes of its items, which are
 * not needed here. */
static bool take_count(struct avro_in *in, int64_t *ret)
{
    int64_t n, bytes;
    if (!avro_take(in, &n))
        return false;
    if (n < 0) {
        if (n == INT64_MIN || !avro_take(in, &bytes) || bytes < 0)
            return false;
        n = -n;
    }
    *ret = n;
    return n <= in->end - in->at;
}

/* --- skipping what is not wanted ------------------------------------------------------------------- */

static bool skip(struct avro_in *in, const struct avro_node *n);

static bool skip_items(struct avro_in *in, const struct avro_node *n)
{
    int64_t count;
    str key;
    for (;;) {
        if (!take_count(in, &count))
            return false;
        if (count == 0)
            return true;
        for (int64_t i = 0; i < count; i++)
            if ((n->type == NODE_MAP && !avro_take_bytes(in, &key)) || !skip(in, n->kids[0]))
                return false;
    }
}

static bool skip_union(struct avro_in *in, const struct avro_node *n)
{
    int64_t branch;
    return avro_take(in, &branch) && branch >= 0 && (uint64_t)branch < n->n &&
           skip(in, n->kids[branch]);
}

static bool skip_record(struct avro_in *in, const struct avro_node *n)
{
    if (n->empty) /* of many empty ones within each other: there may be as many as it likes */
        return true;
    for (size_t i = 0; i < n->n; i++)
        if (!skip(in, n->kids[i]))
            return false;
    return true;
}

static bool skip(struct avro_in *in, const struct avro_node *n)
{
    int64_t v;
    str s;
    switch (n->type) {
    case NODE_NULL:
        return true;
    case NODE_BOOLEAN:
        return in->at < in->end && (unsigned char)*in->at++ <= 1;
    case NODE_INT:
        return take_int32(in, &v);
    case NODE_LONG:
        return avro_take(in, &v);
    case NODE_FLOAT:
        return skip_bytes(in, 4);
    case NODE_DOUBLE:
        return skip_bytes(in, 8);
    case NODE_BYTES:
        return avro_take_bytes(in, &s);
    case NODE_STRING:
        return take_string(in, &s);
    case NODE_FIXED:
        return skip_bytes(in, n->n);
    case NODE_ENUM:
        return take_int32(in, &v) && v >= 0 && (uint64_t)v < n->n;
    case NODE_UNION:
        return skip_union(in, n);
    case NODE_RECORD:
        return skip_record(in, n);
    case NODE_ARRAY:
    case NODE_MAP:
        return skip_items(in, n);
    }
    return false;
}

/* --- lists ------------------------------------------------------------------------------------------ */

/* Over n items that have the encoding of a list. */
static bool skip_plain_items(struct avro_in *in, enum avro_item item, int64_t n)
{
    int64_t v;
    str s;
    for (int64_t i = 0; i < n; i++) {
        bool ok = true;
        if (item == ITEM_STRING)
            ok = take_string(in, &s);
        else if (item == ITEM_INT)
            ok = take_int32(in, &v);
        else if (item == ITEM_LONG)
            ok = avro_take(in, &v);
        else
            ok = avro_take(in, &v) && (v == 0 || (v == 1 && avro_take(in, &v)));
        if (!ok)
            return false;
    }
    return true;
}

/* One item of any encoding. Returns false for a null where none may be. */
static bool take_item(struct avro_in *in, enum avro_item item, const struct avro_node *n,
                      struct opt_i64 *ret, str *ret_s)
{
    int64_t branch;
    *ret = (struct opt_i64){.has = true};
    if (n->type == NODE_UNION) {
        if (!avro_take(in, &branch) || branch < 0 || branch > 1)
            return false;
        n = n->kids[branch];
        if (n->type == NODE_NULL) {
            ret->has = false;
            return item == ITEM_OPT_LONG;
        }
    }
    if (item == ITEM_STRING)
        return take_string(in, ret_s);
    return n->type == NODE_INT || item == ITEM_INT ? take_int32(in, &ret->v)
                                                   : avro_take(in, &ret->v);
}

static size_t put_item(char *out, enum avro_item item, struct opt_i64 v, str s)
{
    size_t n = 0;
    if (item == ITEM_STRING) {
        n = avro_put(out, (int64_t)s.len);
        memcpy(out + n, s.p, s.len);
        return n + s.len;
    }
    if (item == ITEM_OPT_LONG)
        n = avro_put(out, v.has ? 1 : 0);
    return v.has ? n + avro_put(out + n, v.v) : n;
}

/* A list that is encoded otherwise, from its first count on: its items once more, the usual way. An item
 * grows by the byte of its union at most. */
static int take_odd_list(struct ctx *cx, struct avro_in *in, const struct avro_op *op,
                         struct avro_list *ret)
{
    struct avro_in look = *in;
    const struct avro_node *item = op->node->kids[0];
    if (!skip_items(&look, op->node))
        return E_CORRUPT;
    size_t cap = 2 * (size_t)(look.at - in->at) + AVRO_VARINT, len = 0;
    char *out = arena_alloc(&cx->arena, cap);
    if (!out)
        return ctx_nomem(cx);
    ret->n = 0;
    for (;;) {
        int64_t count;
        if (!take_count(in, &count))
            return E_CORRUPT;
        if (count == 0)
            break;
        for (int64_t i = 0; i < count; i++, ret->n++) {
            struct opt_i64 v;
            str s = STR_NONE;
            if (!take_item(in, op->field->item, item, &v, &s))
                return E_CORRUPT;
            len += put_item(out + len, op->field->item, v, s);
            ASSERT(len <= cap);
        }
    }
    ret->items = str_n(out, len);
    return 0;
}

static int take_list(struct ctx *cx, struct avro_in *in, const struct avro_op *op,
                     struct avro_list *ret)
{
    struct avro_in began = *in;
    int64_t n, end = 0;
    ret->has = true;
    if (op->as_is && avro_take(in, &n) && n >= 0 && n <= in->end - in->at) {
        const char *items = in->at;
        if (!skip_plain_items(in, op->field->item, n))
            return E_CORRUPT;
        ret->items = str_n(items, (size_t)(in->at - items));
        ret->n = (uint32_t)n;
        if (n == 0)
            return 0;
        if (!avro_take(in, &end))
            return E_CORRUPT;
        if (end == 0)
            return 0;
    }
    *in = began;
    return take_odd_list(cx, in, op, ret);
}

/* --- records ------------------------------------------------------------------------------------------ */

static int run(struct ctx *cx, struct avro_in *in, const struct avro_plan *p, char *to);

static int wrong(struct ctx *cx, const struct avro_in *in, const struct avro_op *op)
{
    return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "%s%s is wrong at byte %td of its data",
                    op->field ? "the field " : "a field that is not known here",
                    op->field ? op->field->name : "", in->at - in->start);
}

static int take_record_behind(struct ctx *cx, struct avro_in *in, const struct avro_op *op,
                              char *to)
{
    if (!op->optional)
        return run(cx, in, op->plan, to);
    void *made = arena_alloc(&cx->arena, op->plan->size);
    if (!made)
        return ctx_nomem(cx);
    memcpy(to, &made, sizeof made);
    return run(cx, in, op->plan, made);
}

static bool item_is_null(struct avro_in *in, const struct avro_op *op)
{
    int64_t branch;
    if (op->item_null == NO_UNION)
        return false;
    return !avro_take(in, &branch) || branch != 1 - op->item_null;
}

/* Room for `more` items; the array moves. */
static int grow(struct ctx *cx, const struct avro_plan *p, char **items, size_t n, size_t *cap,
                size_t more)
{
    if (more <= *cap - n)
        return 0;
    size_t want = n + more > *cap * 2 ? n + more : *cap * 2;
    char *moved = arena_array(&cx->arena, p->size, want);
    if (!moved)
        return ctx_nomem(cx);
    if (n > 0)
        memcpy(moved, *items, n * p->size);
    *items = moved;
    *cap = want;
    return 0;
}

static int take_records(struct ctx *cx, struct avro_in *in, const struct avro_op *op, char *to)
{
    const struct avro_plan *p = op->plan;
    char *items = NULL;
    size_t n = 0, cap = 0, least = p->item_bytes + (op->item_null != NO_UNION);
    for (;;) {
        int64_t count;
        if (!take_count(in, &count) || (uint64_t)count > (size_t)(in->end - in->at) / least)
            return wrong(cx, in, op);
        if (count == 0)
            break;
        TRY(grow(cx, p, &items, n, &cap, (size_t)count));
        for (int64_t i = 0; i < count; i++, n++) {
            if (item_is_null(in, op))
                return wrong(cx, in, op);
            TRY(run(cx, in, p, items + n * p->size));
        }
    }
    struct avro_array made = {true, n, items};
    memcpy(to, &made, sizeof made);
    return 0;
}

static void set_null(const struct avro_op *op, char *to)
{
    switch (op->code) {
    case OP_INT32:
    case OP_INT64:
        *(struct opt_i64 *)(void *)to = (struct opt_i64){0};
        break;
    case OP_STRING:
    case OP_BYTES:
        *(str *)(void *)to = STR_NONE;
        break;
    case OP_LIST:
        *(struct avro_list *)(void *)to = (struct avro_list){0};
        break;
    case OP_RECORD:
        *(const void **)(void *)to = NULL;
        break;
    default:
        memset(to, 0, sizeof(struct avro_array));
    }
}

static inline bool take_number(struct avro_in *in, const struct avro_op *op, char *to)
{
    int64_t v;
    if (!avro_take(in, &v) || (op->range32 && (v < INT32_MIN || v > INT32_MAX)))
        return false;
    if (op->optional)
        *(struct opt_i64 *)(void *)to = (struct opt_i64){true, v};
    else if (op->code == OP_INT32)
        *(int32_t *)(void *)to = (int32_t)v;
    else
        *(int64_t *)(void *)to = v;
    return true;
}

/* What is not a number or bytes. */
static int take_other(struct ctx *cx, struct avro_in *in, const struct avro_op *op, char *to)
{
    int rc;
    switch (op->code) {
    case OP_LIST:
        rc = take_list(cx, in, op, (struct avro_list *)(void *)to);
        return rc == E_CORRUPT ? wrong(cx, in, op) : rc;
    case OP_RECORD:
        return take_record_behind(cx, in, op, to);
    case OP_RECORDS:
        return take_records(cx, in, op, to);
    default:
        return skip(in, op->node) ? 0 : wrong(cx, in, op);
    }
}

/* Fills the struct at `to`, which is as long as p->size says. */
static int run(struct ctx *cx, struct avro_in *in, const struct avro_plan *p, char *to)
{
    const struct avro_op *end = p->ops + p->n;
    for (const struct avro_op *op = p->ops; op < end; op++) {
        char *member = to + op->at;
        bool ok = true;
        int64_t branch;
        if (op->null_branch != NO_UNION) {
            if (!avro_take(in, &branch) || branch < 0 || branch > 1 ||
                (branch == op->null_branch && !op->optional))
                return wrong(cx, in, op);
            if (branch == op->null_branch) {
                set_null(op, member);
                continue;
            }
        }
        switch (op->code) {
        case OP_INT32:
        case OP_INT64:
            ok = take_number(in, op, member);
            break;
        case OP_STRING:
            ok = take_string(in, (str *)(void *)member);
            break;
        case OP_BYTES:
            ok = avro_take_bytes(in, (str *)(void *)member);
            break;
        default:
            TRY(take_other(cx, in, op, member));
        }
        if (!ok)
            return wrong(cx, in, op);
    }
    return 0;
}

int avro_decode(struct ctx *cx, struct avro_in *in, const struct avro_plan *plan, void *ret_record)
{
    int64_t branch;
    if (plan->null_branch != NO_UNION &&
        (!avro_take(in, &branch) || branch != 1 - plan->null_branch))
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "the record at byte %td is null",
                        in->at - in->start);
    return run(cx, in, plan, ret_record);
}
