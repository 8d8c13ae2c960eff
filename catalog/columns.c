/* columns.c - see columns_int.h.
 *
 * Nodes live in the arena of the context, lists of pointers and maps on the heap until
 * column_tree_done. Recursion follows types: each was within TYPES_DEPTH_MAX when it was decoded, and
 * a change reaches no deeper than that many steps to put another below. */
#include "catalog/columns_int.h"

#include "proto/base/assert.h"
#include "proto/base/mem.h"

static struct columns *columns_new(struct column_tree *t)
{
    struct columns *cs = ARENA_NEW(&t->cx->arena, struct columns);
    if (!cs)
        return NULL;
    map_init(&cs->by_name);
    cs->next = t->all;
    t->all = cs;
    return cs;
}

static int columns_fill(struct column_tree *t, const struct data_field *fields, size_t n,
                        struct columns **ret)
{
    struct columns *cs = columns_new(t);
    struct column *all = ARENA_ARRAY(&t->cx->arena, struct column, n);
    if (!cs || (!all && n > 0))
        return ctx_nomem(t->cx);
    cs->cap = n + 8;
    cs->at = mem_alloc(cs->cap * sizeof *cs->at);
    if (!cs->at)
        return ctx_nomem(t->cx);
    for (size_t i = 0; i < n; i++) {
        all[i].f = fields[i];
        cs->at[cs->n++] = &all[i];
        if (map_put(&cs->by_name, fields[i].name, &all[i]) < 0)
            return ctx_nomem(t->cx);
    }
    *ret = cs;
    return 0;
}

int column_tree_init(struct ctx *cx, const struct data_field *fields, size_t n,
                     struct column_tree *ret)
{
    *ret = (struct column_tree){.cx = cx};
    return columns_fill(ret, fields, n, &ret->top);
}

void column_tree_done(struct column_tree *t)
{
    for (struct columns *cs = t->all; cs; cs = cs->next) {
        mem_free(cs->at);
        map_done(&cs->by_name);
    }
    *t = (struct column_tree){0};
}

/* --- one level --- */

struct column *columns_find(const struct columns *cs, str name)
{
    return map_get(&cs->by_name, name);
}

size_t columns_index(const struct columns *cs, const struct column *c)
{
    size_t i = 0;
    while (i < cs->n && cs->at[i] != c)
        i++;
    ASSERT(i < cs->n);
    return i;
}

static int columns_grow(struct ctx *cx, struct columns *cs)
{
    if (cs->n < cs->cap)
        return 0;
    size_t cap = cs->cap * 2;
    struct column **at = mem_realloc(cs->at, cap * sizeof *at);
    if (!at)
        return ctx_nomem(cx);
    cs->at = at;
    cs->cap = cap;
    return 0;
}

int columns_insert(struct ctx *cx, struct columns *cs, size_t at, const struct data_field *f)
{
    ASSERT(at <= cs->n && !columns_find(cs, f->name));
    struct column *c = ARENA_NEW(&cx->arena, struct column);
    if (!c)
        return ctx_nomem(cx);
    c->f = *f;
    TRY(columns_grow(cx, cs));
    if (map_put(&cs->by_name, f->name, c) < 0)
        return ctx_nomem(cx);
    memmove(cs->at + at + 1, cs->at + at, (cs->n - at) * sizeof *cs->at);
    cs->at[at] = c;
    cs->n++;
    return 0;
}

void columns_remove(struct columns *cs, struct column *c)
{
    size_t at = columns_index(cs, c);
    IGNORE(!map_del(&cs->by_name, c->f.name));
    cs->n--;
    memmove(cs->at + at, cs->at + at + 1, (cs->n - at) * sizeof *cs->at);
}

void columns_move(struct columns *cs, size_t from, size_t to)
{
    ASSERT(from < cs->n && to < cs->n);
    struct column *c = cs->at[from];
    if (from < to)
        memmove(cs->at + from, cs->at + from + 1, (to - from) * sizeof *cs->at);
    else
        memmove(cs->at + to + 1, cs->at + to, (from - to) * sizeof *cs->at);
    cs->at[to] = c;
}

int columns_rename(struct ctx *cx, struct columns *cs, struct column *c, str name)
{
    ASSERT(!columns_find(cs, name));
    if (map_put(&cs->by_name, name, c) < 0)
        return ctx_nomem(cx);
    IGNORE(!map_del(&cs->by_name, c->f.name));
    c->f.name = name;
    return 0;
}

/* --- the levels below --- */

static const struct data_type *bottom(const struct data_type *t)
{
    while (t->kind == TYPE_ARRAY || t->kind == TYPE_MAP)
        t = t->value;
    return t;
}

int column_open(struct column_tree *t, struct column *c, struct columns **ret)
{
    const struct data_type *row = bottom(c->f.type);
    *ret = NULL;
    if (row->kind != TYPE_ROW)
        return 0;
    if (!c->inner)
        TRY(columns_fill(t, row->fields, row->n_fields, &c->inner));
    *ret = c->inner;
    return 0;
}

static int freeze(struct ctx *cx, const struct columns *cs, const struct data_field **ret)
{
    struct data_field *fields = ARENA_ARRAY(&cx->arena, struct data_field, cs->n);
    if (!fields && cs->n > 0)
        return ctx_nomem(cx);
    for (size_t i = 0; i < cs->n; i++) {
        TRY(column_settle(cx, cs->at[i]));
        fields[i] = cs->at[i]->f;
    }
    *ret = fields;
    return 0;
}

int column_settle(struct ctx *cx, struct column *c)
{
    const struct data_field *fields = NULL;
    struct data_type *copy = NULL, *above = NULL;
    const struct data_type *t = c->f.type, *new_type = NULL;
    if (!c->inner)
        return 0;
    TRY(freeze(cx, c->inner, &fields));
    for (;; t = t->value) { /* copies of what is above the ROW, and of it */
        copy = ARENA_NEW(&cx->arena, struct data_type);
        if (!copy)
            return ctx_nomem(cx);
        *copy = *t;
        if (above)
            above->value = copy;
        else
            new_type = copy;
        if (t->kind == TYPE_ROW)
            break;
        above = copy;
    }
    copy->fields = fields;
    copy->n_fields = c->inner->n;
    c->f.type = new_type;
    return 0;
}

int column_tree_result(const struct column_tree *t, const struct data_field **ret, size_t *ret_n)
{
    const struct data_field *fields;
    TRY(freeze(t->cx, t->top, &fields));
    for (size_t i = 0; i < t->top->n; i++)
        if (t->top->at[i]->inner && types_levels(fields[i].type) > TYPES_DEPTH_MAX)
            return ctx_fail(t->cx, E_INVAL, RES_COLUMN, fields[i].name,
                            "types are nested too deep in column %.*s; flatten it",
                            STR(fields[i].name));
    *ret = fields;
    *ret_n = t->top->n;
    return 0;
}
