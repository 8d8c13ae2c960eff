/* types.c - the tree of data types: comparing, deriving, writing. Reading is types_parse.c.
 *
 * Format: the asSQLString and serializeJson methods of paimon-api's org.apache.paimon.types; what
 * is written here is read back by types_parse.c to an equal tree. Every tree came through
 * types_parse.c or was derived from one, so recursion is bounded by TYPES_DEPTH_MAX. No state; a
 * tree is read-only and may be read by any thread. */
#include "manifest/types.h"
#include "proto/base/assert.h"
#include "proto/base/mem.h"

#define SQL_SHOWN 200 /* bytes of a type in a message */

static const char *const kind_names[TYPE_KINDS] = {
    [TYPE_CHAR] = "CHAR",
    [TYPE_VARCHAR] = "VARCHAR",
    [TYPE_BOOLEAN] = "BOOLEAN",
    [TYPE_BINARY] = "BINARY",
    [TYPE_VARBINARY] = "VARBINARY",
    [TYPE_DECIMAL] = "DECIMAL",
    [TYPE_TINYINT] = "TINYINT",
    [TYPE_SMALLINT] = "SMALLINT",
    [TYPE_INT] = "INT",
    [TYPE_BIGINT] = "BIGINT",
    [TYPE_FLOAT] = "FLOAT",
    [TYPE_DOUBLE] = "DOUBLE",
    [TYPE_DATE] = "DATE",
    [TYPE_TIME] = "TIME",
    [TYPE_TIMESTAMP] = "TIMESTAMP",
    [TYPE_TIMESTAMP_LTZ] = "TIMESTAMP_LTZ",
    [TYPE_VARIANT] = "VARIANT",
    [TYPE_BLOB] = "BLOB",
    [TYPE_GEOMETRY] = "GEOMETRY",
    [TYPE_GEOGRAPHY] = "GEOGRAPHY",
    [TYPE_ARRAY] = "ARRAY",
    [TYPE_VECTOR] = "VECTOR",
    [TYPE_MULTISET] = "MULTISET",
    [TYPE_MAP] = "MAP",
    [TYPE_ROW] = "ROW",
};
static const char *const edge_names[] = {
    [EDGES_SPHERICAL] = "spherical", [EDGES_VINCENTY] = "vincenty", [EDGES_THOMAS] = "thomas",
    [EDGES_ANDOYER] = "andoyer",     [EDGES_KARNEY] = "karney",
};

const char *types_kind_name(enum type_kind k)
{
    return kind_names[k];
}

/* --- comparing, deriving --- */

static bool same(str a, str b) /* absent and empty differ */
{
    return a.p && b.p ? str_eq(a, b) : a.p == b.p;
}

bool types_field_equal(const struct data_field *a, const struct data_field *b)
{
    return a->id == b->id && str_eq(a->name, b->name) && same(a->description, b->description) &&
           same(a->default_value, b->default_value) && types_equal(a->type, b->type);
}

static bool child_equal(const struct data_type *a, const struct data_type *b)
{
    return a && b ? types_equal(a, b) : a == b;
}

bool types_equal(const struct data_type *a, const struct data_type *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->nullable != b->nullable || a->length != b->length ||
        a->precision != b->precision || a->scale != b->scale || a->edges != b->edges ||
        a->n_fields != b->n_fields || !str_ieq(a->crs, b->crs))
        return false;
    for (size_t i = 0; i < a->n_fields; i++)
        if (!types_field_equal(&a->fields[i], &b->fields[i]))
            return false;
    return child_equal(a->key, b->key) && child_equal(a->value, b->value);
}

bool types_contains(const struct data_type *t, enum type_kind kind)
{
    if (t->kind == kind)
        return true;
    for (size_t i = 0; i < t->n_fields; i++)
        if (types_contains(t->fields[i].type, kind))
            return true;
    return (t->key && types_contains(t->key, kind)) || (t->value && types_contains(t->value, kind));
}

const struct data_type *types_with_nullable(struct arena *a, const struct data_type *t,
                                            bool nullable)
{
    if (t->nullable == nullable)
        return t;
    struct data_type *copy = ARENA_NEW(a, struct data_type);
    if (!copy)
        return NULL;
    *copy = *t;
    copy->nullable = nullable;
    return copy;
}

int types_levels(const struct data_type *t)
{
    int inner = 0, levels = t->kind == TYPE_ROW ? 3 : t->kind >= TYPE_ARRAY;
    const struct data_type *const below[] = {t->key, t->value};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        int n = below[i] ? types_levels(below[i]) : 0;
        inner = n > inner ? n : inner;
    }
    for (size_t i = 0; i < t->n_fields; i++) {
        int n = types_levels(t->fields[i].type);
        inner = n > inner ? n : inner;
    }
    return levels + inner;
}

/* --- names and ids --- */

static int by_name(const void *pa, const void *pb)
{
    return str_cmp(*(const str *)pa, *(const str *)pb);
}

static void free_strs(str **p)
{
    mem_free(*p);
}

int types_check_names(struct ctx *cx, const struct data_field *fields, size_t n)
{
    if (n < 2)
        return 0;
    CLEANUP(free_strs) str *names = mem_alloc(n * sizeof *names);
    if (!names)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++)
        names[i] = fields[i].name;
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 1; i < n; i++)
        if (str_eq(names[i - 1], names[i]))
            return ctx_fail(cx, E_INVAL, RES_COLUMN, names[i],
                            "column names must be unique, \"%.*s\" is there twice; rename one",
                            STR(names[i]));
    return 0;
}

/* Calls fn for every field below, outer ones first. */
static void each_field(const struct data_field *fields, size_t n,
                       void (*fn)(const struct data_field *f, void *arg), void *arg);

static void each_in_type(const struct data_type *t,
                         void (*fn)(const struct data_field *f, void *arg), void *arg)
{
    each_field(t->fields, t->n_fields, fn, arg);
    if (t->key)
        each_in_type(t->key, fn, arg);
    if (t->value)
        each_in_type(t->value, fn, arg);
}

static void each_field(const struct data_field *fields, size_t n,
                       void (*fn)(const struct data_field *f, void *arg), void *arg)
{
    for (size_t i = 0; i < n; i++) {
        fn(&fields[i], arg);
        each_in_type(fields[i].type, fn, arg);
    }
}

static void take_highest(const struct data_field *f, void *arg)
{
    int32_t *highest = arg;
    if (f->id < FIELD_ID_SYSTEM && f->id > *highest)
        *highest = f->id;
}

int32_t types_highest_id(const struct data_field *fields, size_t n)
{
    int32_t highest = FIELD_ID_NONE;
    each_field(fields, n, take_highest, &highest);
    return highest;
}

struct ids {
    int32_t *ids; /* NULL: only count */
    size_t n;
};

static void take_id(const struct data_field *f, void *arg)
{
    struct ids *all = arg;
    if (all->ids)
        all->ids[all->n] = f->id;
    all->n++;
}

static int by_id(const void *pa, const void *pb)
{
    int32_t a = *(const int32_t *)pa, b = *(const int32_t *)pb;
    return (a > b) - (a < b);
}

static void free_ids(struct ids *all)
{
    mem_free(all->ids);
}

int types_check_ids(struct ctx *cx, const struct data_field *fields, size_t n)
{
    CLEANUP(free_ids) struct ids all = {0};
    each_field(fields, n, take_id, &all);
    if (all.n == 0)
        return 0;
    all.ids = mem_alloc(all.n * sizeof *all.ids);
    if (!all.ids)
        return ctx_nomem(cx);
    all.n = 0;
    each_field(fields, n, take_id, &all);
    qsort(all.ids, all.n, sizeof *all.ids, by_id);
    for (size_t i = 1; i < all.n; i++)
        if (all.ids[i - 1] == all.ids[i])
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                            "field ids must be unique, %d is there twice (fields of nested types "
                            "share the ids of the table); number the fields anew or send no ids",
                            (int)all.ids[i]);
    if (all.ids[all.n - 1] >= FIELD_ID_SYSTEM)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "the field id %d is too high, ids from %d on are Paimon's own; number the "
                        "fields anew or send no ids",
                        (int)all.ids[all.n - 1], FIELD_ID_SYSTEM);
    return 0;
}

int types_next_id(struct ctx *cx, int32_t *highest)
{
    if (*highest >= FIELD_ID_SYSTEM - 1)
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "the table has used up its field ids (the highest is %d); copy it into a "
                        "new table",
                        (int)*highest);
    ++*highest;
    return 0;
}

int types_renumber(struct ctx *cx, const struct data_type *t, int32_t *highest,
                   const struct data_type **ret)
{
    *ret = t;
    if (t->kind < TYPE_ARRAY)
        return 0;
    struct data_type *copy = ARENA_NEW(&cx->arena, struct data_type);
    struct data_field *fields = ARENA_ARRAY(&cx->arena, struct data_field, t->n_fields);
    if (!copy || (!fields && t->n_fields > 0))
        return ctx_nomem(cx);
    *copy = *t;
    if (t->key)
        TRY(types_renumber(cx, t->key, highest, &copy->key));
    if (t->value)
        TRY(types_renumber(cx, t->value, highest, &copy->value));
    for (size_t i = 0; i < t->n_fields; i++) {
        fields[i] = t->fields[i];
        TRY(types_renumber(cx, t->fields[i].type, highest, &fields[i].type));
        TRY(types_next_id(cx, highest));
        fields[i].id = *highest;
    }
    copy->fields = fields;
    *ret = copy;
    return 0;
}

/* --- writing --- */

/* Twice each `quote` in s, and one on both ends. */
static void put_quoted(struct buf *b, str s, char quote)
{
    buf_addc(b, quote);
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == quote)
            buf_addc(b, quote);
        buf_addc(b, s.p[i]);
    }
    buf_addc(b, quote);
}

/* A CRS goes without quotes only where Java's tokenizer takes it for one identifier. */
static bool crs_is_word(str crs)
{
    static const char delimiters[] = "<>(),.'`";
    if (crs.p[0] >= '0' && crs.p[0] <= '9')
        return false;
    for (size_t i = 0; i < crs.len; i++) {
        unsigned char c = (unsigned char)crs.p[i];
        if (c <= ' ' || c >= 0x7F || memchr(delimiters, c, sizeof delimiters - 1))
            return false;
    }
    return true;
}

static void put_crs(struct buf *b, str crs)
{
    ASSERT(crs.len > 0);
    if (crs_is_word(crs))
        buf_adds(b, crs);
    else
        put_quoted(b, crs, '\'');
}

static void put_length(struct buf *b, const struct data_type *t, const char *name_at_max)
{
    if (name_at_max && t->length == TYPE_LENGTH_MAX)
        buf_addz(b, name_at_max);
    else
        buf_addf(b, "%s(%d)", kind_names[t->kind], (int)t->length);
}

static void put_atomic(struct buf *b, const struct data_type *t)
{
    switch (t->kind) {
    case TYPE_CHAR:
    case TYPE_BINARY:
        put_length(b, t, NULL);
        break;
    case TYPE_VARCHAR:
        put_length(b, t, "STRING");
        break;
    case TYPE_VARBINARY:
        put_length(b, t, "BYTES");
        break;
    case TYPE_DECIMAL:
        buf_addf(b, "DECIMAL(%d, %d)", (int)t->precision, (int)t->scale);
        break;
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
        buf_addf(b, "%s(%d)", kind_names[t->kind], (int)t->precision);
        break;
    case TYPE_TIMESTAMP_LTZ:
        buf_addf(b, "TIMESTAMP(%d) WITH LOCAL TIME ZONE", (int)t->precision);
        break;
    case TYPE_GEOMETRY:
    case TYPE_GEOGRAPHY:
        buf_addf(b, "%s(", kind_names[t->kind]);
        put_crs(b, t->crs);
        if (t->kind == TYPE_GEOGRAPHY)
            buf_addf(b, ", %s", edge_names[t->edges]);
        buf_addc(b, ')');
        break;
    default:
        buf_addz(b, kind_names[t->kind]);
    }
}

static void put_row_fields(struct buf *b, const struct data_type *t)
{
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct data_field *f = &t->fields[i];
        buf_addz(b, i ? ", " : "");
        put_quoted(b, f->name, '`');
        buf_addc(b, ' ');
        types_sql(b, f->type);
        if (f->description.len) {
            buf_addz(b, " COMMENT ");
            put_quoted(b, f->description, '\'');
        }
        if (f->default_value.p) {
            buf_addz(b, " DEFAULT ");
            buf_adds(b, f->default_value);
        }
    }
}

static void put_nested(struct buf *b, const struct data_type *t)
{
    buf_addf(b, "%s<", kind_names[t->kind]);
    if (t->kind == TYPE_ROW)
        put_row_fields(b, t);
    if (t->key) {
        types_sql(b, t->key);
        buf_addz(b, ", ");
    }
    if (t->value)
        types_sql(b, t->value);
    if (t->kind == TYPE_VECTOR)
        buf_addf(b, ", %d", (int)t->length);
    buf_addc(b, '>');
}

void types_sql(struct buf *b, const struct data_type *t)
{
    if (t->kind >= TYPE_ARRAY)
        put_nested(b, t);
    else
        put_atomic(b, t);
    if (!t->nullable)
        buf_addz(b, " NOT NULL");
}

str types_sql_str(struct arena *a, const struct data_type *t)
{
    CLEANUP(buf_done) struct buf b = {0};
    types_sql(&b, t);
    str s = buf_str(&b);
    if (s.len > SQL_SHOWN) {
        s.len = SQL_SHOWN;
        while (s.len > 0 && (s.p[s.len] & 0xC0) == 0x80) /* not inside a character */
            s.len--;
    }
    str copy = buf_fail(&b) ? STR_NONE : str_dup(a, s);
    return copy.p ? copy : str_of(kind_names[t->kind]);
}

static void encode_nested(struct json_out *o, const struct data_type *t)
{
    json_obj(o);
    char head[32];
    int n =
        snprintf(head, sizeof head, "%s%s", kind_names[t->kind], t->nullable ? "" : " NOT NULL");
    ASSERT(n > 0 && (size_t)n < sizeof head);
    json_kstr(o, "type", str_n(head, (size_t)n));
    if (t->kind == TYPE_MAP) {
        json_key(o, "key");
        types_encode(o, t->key);
    }
    if (t->kind != TYPE_ROW) {
        json_key(o, t->kind == TYPE_MAP ? "value" : "element");
        types_encode(o, t->value);
    }
    if (t->kind == TYPE_VECTOR)
        json_ki64(o, "length", t->length);
    if (t->kind == TYPE_ROW) {
        json_key(o, "fields");
        json_arr(o);
        for (size_t i = 0; i < t->n_fields; i++)
            types_encode_field(o, &t->fields[i]);
        json_end(o);
    }
    json_end(o);
}

void types_encode(struct json_out *o, const struct data_type *t)
{
    if (t->kind >= TYPE_ARRAY) {
        encode_nested(o, t);
        return;
    }
    CLEANUP(buf_done) struct buf b = {0};
    types_sql(&b, t);
    json_str(o, buf_str(&b));
    if (buf_fail(&b) && !o->b->failed) /* a text that is cut must not pass for a whole one */
        o->b->failed = buf_fail(&b);
}

void types_encode_field(struct json_out *o, const struct data_field *f)
{
    json_obj(o);
    json_ki64(o, "id", f->id);
    json_kstr(o, "name", f->name);
    json_key(o, "type");
    types_encode(o, f->type);
    if (f->description.p)
        json_kstr(o, "description", f->description);
    if (f->default_value.p)
        json_kstr(o, "defaultValue", f->default_value);
    json_end(o);
}
