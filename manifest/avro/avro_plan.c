/* avro_plan.c - from a file's schema and the struct that is wanted to the steps of reading a record.
 *
 * Fields are matched by name, as every Paimon client does: files of 0.9 lack fields that 2.1 has, and
 * those of later releases will have some that are not known here. A type that is wanted may come as
 * itself or in a union with null, in either order. Records within records become steps of the outer
 * one, so that reading a manifest entry is one loop. No state; any thread. */
#include "manifest/avro/avro_int.h"

#include "proto/base/assert.h"

struct maker {
    struct ctx *cx;
    struct avro_op *ops;
    size_t n, cap;
};

static int make_plan(struct ctx *cx, const struct avro_node *file, const struct avro_record *want,
                     const struct avro_plan **ret);

static int no_fit(struct ctx *cx, const struct avro_field *f, const struct avro_node *n)
{
    return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                    "in avro.schema, the field %s has a type that does not fit: %s", f->name,
                    avro_node_name(n));
}

static int add_op(struct maker *m, struct avro_op op)
{
    if (m->n == m->cap) {
        size_t cap = m->cap ? m->cap * 2 : 32;
        struct avro_op *more = ARENA_ARRAY(&m->cx->arena, struct avro_op, cap);
        if (!more)
            return ctx_nomem(m->cx);
        if (m->n > 0)
            memcpy(more, m->ops, m->n * sizeof *more);
        m->ops = more;
        m->cap = cap;
    }
    m->ops[m->n++] = op;
    return 0;
}

/* The type itself, and which branch is null when it is a union of the two. */
static const struct avro_node *strip_null(const struct avro_node *n, uint8_t *ret_null)
{
    *ret_null = NO_UNION;
    if (n->type != NODE_UNION || n->n != 2)
        return n;
    for (uint8_t i = 0; i < 2; i++)
        if (n->kids[i]->type == NODE_NULL && n->kids[1 - i]->type != NODE_NULL) {
            *ret_null = i;
            return n->kids[1 - i];
        }
    return n;
}

static bool item_fits(enum avro_item want, const struct avro_node *item, bool *ret_as_is)
{
    uint8_t null_branch;
    const struct avro_node *n = strip_null(item, &null_branch);
    bool number = n->type == NODE_INT || n->type == NODE_LONG;
    if (want == ITEM_OPT_LONG) {
        *ret_as_is = null_branch == 0;
        return number;
    }
    *ret_as_is = null_branch == NO_UNION;
    if (want == ITEM_STRING)
        return n->type == NODE_STRING;
    return number;
}

static int op_list(struct ctx *cx, struct avro_op *op)
{
    op->code = OP_LIST;
    if (op->node->type != NODE_ARRAY || !item_fits(op->field->item, op->node->kids[0], &op->as_is))
        return no_fit(cx, op->field, op->node);
    return 0;
}

static int op_record(struct ctx *cx, struct avro_op *op)
{
    op->code = OP_RECORD;
    if (op->node->type != NODE_RECORD)
        return no_fit(cx, op->field, op->node);
    return make_plan(cx, op->node, op->field->record, &op->plan);
}

static int op_records(struct ctx *cx, struct avro_op *op)
{
    op->code = OP_RECORDS;
    if (op->node->type != NODE_ARRAY)
        return no_fit(cx, op->field, op->node);
    op->node = strip_null(op->node->kids[0], &op->item_null);
    if (op->node->type != NODE_RECORD)
        return no_fit(cx, op->field, op->node);
    return make_plan(cx, op->node, op->field->record, &op->plan);
}

static int op_scalar(struct ctx *cx, struct avro_op *op)
{
    enum node_type t = op->node->type;
    bool number = t == NODE_INT || t == NODE_LONG, text = t == NODE_STRING || t == NODE_BYTES;
    switch (op->field->type) {
    case AVRO_INT:
    case AVRO_LONG:
        op->code = op->field->type == AVRO_INT ? OP_INT32 : OP_INT64;
        op->range32 = op->field->type == AVRO_INT || t == NODE_INT;
        return number ? 0 : no_fit(cx, op->field, op->node);
    default:
        op->code = op->field->type == AVRO_STRING ? OP_STRING : OP_BYTES;
        return text ? 0 : no_fit(cx, op->field, op->node);
    }
}

static int make_op(struct ctx *cx, struct avro_op *op)
{
    switch (op->field->type) {
    case AVRO_LIST:
        return op_list(cx, op);
    case AVRO_RECORD:
        return op_record(cx, op);
    case AVRO_RECORDS:
        return op_records(cx, op);
    default:
        return op_scalar(cx, op);
    }
}

static const struct avro_field *find_field(const struct avro_record *want, str name)
{
    for (size_t i = 0; i < want->n; i++)
        if (str_eqz(name, want->fields[i].name))
            return &want->fields[i];
    return NULL;
}

static int missing_fields(struct ctx *cx, const struct avro_node *file,
                          const struct avro_record *want)
{
    for (size_t i = 0; i < want->n; i++) {
        bool there = want->fields[i].optional;
        for (size_t k = 0; k < file->n && !there; k++)
            there = str_eqz(file->names[k], want->fields[i].name);
        if (!there)
            return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                            "avro.schema has no field %s: it is another kind of file",
                            want->fields[i].name);
    }
    return 0;
}

/* Adds the steps of `file`, a record, which goes to offset `base` of the struct. */
static int add_record(struct maker *m, const struct avro_node *file, const struct avro_record *want,
                      size_t base)
{
    TRY(missing_fields(m->cx, file, want));
    for (size_t i = 0; i < file->n; i++) {
        struct avro_op op = {.code = OP_SKIP, .null_branch = NO_UNION, .node = file->kids[i]};
        op.field = find_field(want, file->names[i]);
        if (op.field) {
            op.at = (uint32_t)(base + op.field->at);
            op.optional = op.field->optional;
            op.node = strip_null(file->kids[i], &op.null_branch);
            if (op.field->type == AVRO_RECORD && op.node->type == NODE_RECORD && !op.optional &&
                op.null_branch == NO_UNION) {
                TRY(add_record(m, op.node, op.field->record, op.at));
                continue;
            }
            TRY(make_op(m->cx, &op));
        }
        TRY(add_op(m, op));
    }
    return 0;
}

/* Bytes of a value at least; the depth of a schema is bounded, its width by the count of types. */
static size_t least_bytes(const struct avro_plan *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        n += p->ops[i].code == OP_SKIP ? !p->ops[i].node->empty : 1;
    return n;
}

static int make_plan(struct ctx *cx, const struct avro_node *file, const struct avro_record *want,
                     const struct avro_plan **ret)
{
    struct maker m = {.cx = cx};
    struct avro_plan *p = ARENA_NEW(&cx->arena, struct avro_plan);
    if (!p)
        return ctx_nomem(cx);
    TRY(add_record(&m, file, want, 0));
    *p = (struct avro_plan){.ops = m.ops, .n = m.n, .size = want->size, .null_branch = NO_UNION};
    p->item_bytes = least_bytes(p);
    *ret = p;
    return 0;
}

int avro_plan_make(struct ctx *cx, const struct avro_node *file, const struct avro_record *want,
                   const struct avro_plan **ret)
{
    uint8_t null_branch;
    const struct avro_node *record = strip_null(file, &null_branch);
    if (record->type != NODE_RECORD)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE,
                        "avro.schema is of %s and not of a record", avro_node_name(file));
    const struct avro_plan *made;
    TRY(make_plan(cx, record, want, &made));
    if (made->item_bytes == 0)
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "avro.schema is of records without bytes");
    struct avro_plan *p = ARENA_NEW(&cx->arena, struct avro_plan);
    if (!p)
        return ctx_nomem(cx);
    *p = *made;
    p->null_branch = null_branch;
    *ret = p;
    return 0;
}
