/* avro_schema.c - the schema that a file carries, as a tree.
 *
 * Source of the format: "Schema Declaration" and "Names" of the Avro specification. Names of types
 * only matter where another place of the schema refers to them; then the tree shares the node. A type
 * that contains itself is refused: Paimon has none, and without it the depth of every value is known.
 *
 * Bounds: types and named types are counted, since a file may come from anybody; the depth is counted
 * with references followed, so whoever walks a value may recurse. An array whose items have no bytes
 * is refused, since its count would be bounded by nothing. No state; any thread. */
#include "manifest/avro/avro_int.h"

#include "proto/base/assert.h"
#include "proto/json/json.h"

struct named {
    str name;                     /* with its namespace */
    const struct avro_node *node; /* NULL: it is being read */
};
struct parser {
    struct ctx *cx;
    struct named *named;
    size_t n_named, n_nodes;
};

static const char *const type_names[] = {
    [NODE_NULL] = "null",     [NODE_BOOLEAN] = "boolean", [NODE_INT] = "int",
    [NODE_LONG] = "long",     [NODE_FLOAT] = "float",     [NODE_DOUBLE] = "double",
    [NODE_BYTES] = "bytes",   [NODE_STRING] = "string",   [NODE_FIXED] = "fixed",
    [NODE_ENUM] = "enum",     [NODE_ARRAY] = "array",     [NODE_MAP] = "map",
    [NODE_UNION] = "a union", [NODE_RECORD] = "record",
};
enum { PRIMITIVES = NODE_STRING + 1 };

static int parse(struct parser *p, const struct json *v, str space, const struct avro_node **ret);

const char *avro_node_name(const struct avro_node *n)
{
    return type_names[n->type];
}

#define SHOWN(s)    (s).len > 80 ? 80 : (int)(s).len, (s).p ? (s).p : ""
#define bad(p, ...) ctx_fail((p)->cx, E_CORRUPT, RES_NONE, STR_NONE, "in avro.schema, " __VA_ARGS__)

static int new_node(struct parser *p, enum node_type type, size_t kids, struct avro_node **ret)
{
    if (++p->n_nodes > AVRO_NODES_MAX || kids > AVRO_NODES_MAX)
        return ctx_fail(p->cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "avro.schema has more than %d types", AVRO_NODES_MAX);
    struct avro_node *n = ARENA_NEW(&p->cx->arena, struct avro_node);
    if (!n)
        return ctx_nomem(p->cx);
    *n = (struct avro_node){.type = type, .depth = 1, .n = kids, .empty = type == NODE_NULL};
    if (kids > 0 && !(n->kids = ARENA_ARRAY(&p->cx->arena, const struct avro_node *, kids)))
        return ctx_nomem(p->cx);
    *ret = n;
    return 0;
}

/* Once its kids are there. */
static int set_depth(struct parser *p, struct avro_node *n)
{
    for (size_t i = 0; i < n->n && n->kids; i++)
        if (n->kids[i]->depth >= n->depth)
            n->depth = n->kids[i]->depth + 1;
    if (n->depth > AVRO_DEPTH_MAX)
        return ctx_fail(p->cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "avro.schema has types within types more than %d deep", AVRO_DEPTH_MAX);
    return 0;
}

/* --- names ----------------------------------------------------------------------------------------- */

static int full_name(struct parser *p, str name, str space, str *ret)
{
    if (space.len == 0 || memchr(name.p, '.', name.len)) {
        *ret = name;
        return 0;
    }
    return ctx_text(p->cx, ret, "%.*s.%.*s", STR(space), STR(name));
}

static struct named *find_named(struct parser *p, str name)
{
    for (size_t i = 0; i < p->n_named; i++)
        if (str_eq(p->named[i].name, name))
            return &p->named[i];
    return NULL;
}

static int by_name(struct parser *p, str name, str space, const struct avro_node **ret)
{
    for (int t = 0; t < PRIMITIVES; t++)
        if (str_eqz(name, type_names[t])) {
            struct avro_node *n;
            TRY(new_node(p, (enum node_type)t, 0, &n));
            *ret = n;
            return 0;
        }
    str full;
    TRY(full_name(p, name, space, &full));
    struct named *found = find_named(p, full);
    if (!found)
        return bad(p, "the type \"%.*s\" is not known", SHOWN(name));
    if (!found->node)
        return ctx_fail(p->cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "in avro.schema, the type \"%.*s\" contains itself", SHOWN(name));
    *ret = found->node;
    return 0;
}

/* Enters the name of a record, enum or fixed; *ret_space is what names within it are relative to. */
static int declare(struct parser *p, const struct json *v, str space, size_t *ret_at,
                   str *ret_space)
{
    const struct json *name = json_get(v, "name"), *own = json_get(v, "namespace");
    if (!name || name->type != JSON_STRING || name->s.len == 0)
        return bad(p, "a type has no name");
    if (own && own->type == JSON_STRING)
        space = own->s;
    if (p->n_named == AVRO_NAMED_MAX)
        return ctx_fail(p->cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "avro.schema has more than %d types with names", AVRO_NAMED_MAX);
    str full;
    TRY(full_name(p, name->s, space, &full));
    if (find_named(p, full))
        return bad(p, "the type \"%.*s\" is declared twice", SHOWN(full));
    p->named[p->n_named] = (struct named){.name = full};
    *ret_at = p->n_named++;
    const char *dot = memrchr(full.p, '.', full.len);
    *ret_space = str_n(full.p, dot ? (size_t)(dot - full.p) : 0);
    return 0;
}

/* --- types of each kind ----------------------------------------------------------------------------- */

static int parse_field(struct parser *p, const struct json *f, str space, struct avro_node *n,
                       size_t at)
{
    ASSERT(n->kids && at < n->n);
    const struct json *name = json_get(f, "name"), *type = json_get(f, "type");
    if (f->type != JSON_OBJECT || !name || name->type != JSON_STRING || !type)
        return bad(p, "a field has no name or no type");
    for (size_t i = 0; i < at; i++)
        if (str_eq(n->names[i], name->s))
            return bad(p, "the field \"%.*s\" is there twice", SHOWN(name->s));
    n->names[at] = name->s;
    TRY(parse(p, type, space, &n->kids[at]));
    n->empty = n->empty && n->kids[at]->empty;
    return 0;
}

static int parse_record(struct parser *p, const struct json *v, str space, struct avro_node **ret)
{
    const struct json *fields = json_get(v, "fields");
    struct avro_node *n;
    size_t self, at = 0;
    if (!fields || fields->type != JSON_ARRAY)
        return bad(p, "a record has no fields");
    if (fields->n > 1000)
        return ctx_fail(p->cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "avro.schema has a record of more than 1000 fields");
    TRY(declare(p, v, space, &self, &space));
    TRY(new_node(p, NODE_RECORD, fields->n, &n));
    n->empty = true;
    n->names = ARENA_ARRAY(&p->cx->arena, str, fields->n);
    if (!n->names && fields->n > 0)
        return ctx_nomem(p->cx);
    JSON_EACH (f, fields)
        TRY(parse_field(p, f, space, n, at++));
    TRY(set_depth(p, n));
    p->named[self].node = n;
    *ret = n;
    return 0;
}

static int parse_sized(struct parser *p, const struct json *v, str space, enum node_type type,
                       struct avro_node **ret)
{
    const struct json *size = json_get(v, type == NODE_ENUM ? "symbols" : "size");
    struct avro_node *n;
    size_t self;
    TRY(declare(p, v, space, &self, &space));
    TRY(new_node(p, type, 0, &n));
    if (type == NODE_ENUM && size && size->type == JSON_ARRAY && size->n > 0)
        n->n = size->n;
    else if (type == NODE_FIXED && size && size->type == JSON_INT && size->i >= 0 &&
             size->i <= (int64_t)AVRO_BLOCK_MAX)
        n->n = (size_t)size->i;
    else
        return bad(p, "a type %s has no %s", type_names[type],
                   type == NODE_ENUM ? "symbols" : "size");
    n->empty = type == NODE_FIXED && n->n == 0;
    p->named[self].node = n;
    *ret = n;
    return 0;
}

static int parse_items(struct parser *p, const struct json *v, str space, enum node_type type,
                       struct avro_node **ret)
{
    const struct json *item = json_get(v, type == NODE_ARRAY ? "items" : "values");
    struct avro_node *n;
    if (!item)
        return bad(p, "a type %s does not say of what", type_names[type]);
    TRY(new_node(p, type, 1, &n));
    TRY(parse(p, item, space, &n->kids[0]));
    if (type == NODE_ARRAY && n->kids[0]->empty)
        return ctx_fail(p->cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "avro.schema has an array of items without bytes");
    *ret = n;
    return set_depth(p, n);
}

static int parse_union(struct parser *p, const struct json *v, str space, struct avro_node **ret)
{
    struct avro_node *n;
    size_t i = 0;
    if (v->n == 0)
        return bad(p, "a union has no types");
    TRY(new_node(p, NODE_UNION, v->n, &n));
    ASSERT(n->kids && n->n == v->n);
    JSON_EACH (branch, v)
        TRY(parse(p, branch, space, &n->kids[i++]));
    *ret = n;
    return set_depth(p, n);
}

static int parse_object(struct parser *p, const struct json *v, str space,
                        const struct avro_node **ret)
{
    const struct json *type = json_get(v, "type");
    struct avro_node *n = NULL;
    int rc;
    if (!type)
        return bad(p, "a type has no \"type\"");
    if (type->type != JSON_STRING)
        return parse(p, type, space, ret);
    if (str_eqz(type->s, "record") || str_eqz(type->s, "error"))
        rc = parse_record(p, v, space, &n);
    else if (str_eqz(type->s, "array"))
        rc = parse_items(p, v, space, NODE_ARRAY, &n);
    else if (str_eqz(type->s, "map"))
        rc = parse_items(p, v, space, NODE_MAP, &n);
    else if (str_eqz(type->s, "enum"))
        rc = parse_sized(p, v, space, NODE_ENUM, &n);
    else if (str_eqz(type->s, "fixed"))
        rc = parse_sized(p, v, space, NODE_FIXED, &n);
    else
        return by_name(p, type->s, space, ret); /* logical types stay what they are built on */
    TRY(rc);
    *ret = n;
    return 0;
}

/* Recurses no deeper than JSON_DEPTH_MAX. */
static int parse(struct parser *p, const struct json *v, str space, const struct avro_node **ret)
{
    struct avro_node *n;
    switch (v->type) {
    case JSON_STRING:
        return by_name(p, v->s, space, ret);
    case JSON_OBJECT:
        return parse_object(p, v, space, ret);
    case JSON_ARRAY:
        TRY(parse_union(p, v, space, &n));
        *ret = n;
        return 0;
    default:
        return bad(p, "a type is neither a text nor an object nor a list");
    }
}

int avro_schema_parse(struct ctx *cx, str text, const struct avro_node **ret)
{
    struct parser p = {.cx = cx};
    const struct json *v;
    if (text.len > AVRO_SCHEMA_MAX)
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "avro.schema has %zu bytes, over %zu", text.len, AVRO_SCHEMA_MAX);
    int rc = json_parse(cx, text, "avro.schema", &v);
    if (rc == E_INVAL || rc == E_TOOBIG)
        rc = cx->err.code = E_CORRUPT;
    TRY(rc);
    p.named = ARENA_ARRAY(&cx->arena, struct named, AVRO_NAMED_MAX);
    if (!p.named)
        return ctx_nomem(cx);
    const struct avro_node *n;
    TRY(parse(&p, v, STR_NONE, &n));
    ASSERT(n->depth <= AVRO_DEPTH_MAX);
    *ret = n;
    return 0;
}
