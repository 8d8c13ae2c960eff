/* schema_columns.c - the changes of columns: added, renamed, dropped, moved, and their type,
 * nullability, comment and default value.
 *
 * Source of rules, their order and messages: Paimon's SchemaManager (generateTableSchema and its
 * NestedColumnModifier) and ColumnDirectiveUtils. Codes stand for Java's exceptions:
 * IllegalArgument E_INVAL, UnsupportedOperation E_UNSUPPORTED, IllegalState E_STATE,
 * ColumnNotExist E_NOTFOUND and ColumnAlreadyExist E_EXISTS, these two with the path as the name.
 *
 * A path leads through ROWs by field names, through an ARRAY by "element", through a MAP by
 * "value". Java does not look at those two words, so that a path to a MAP's key changes its value,
 * and dropping or renaming an element hits the whole column; here the words are checked, and only
 * type and nullability of an element can be changed, as it has nothing else. */
#include "catalog/schema_edit_int.h"

#include "manifest/default_value.h"
#include "manifest/directives.h"
#include "manifest/type_cast.h"

#define STEPS_MAX  (TYPES_DEPTH_MAX + 2) /* no type is deeper */
#define PATH_SHOWN 200                   /* bytes of a path in a message */
#define SHOWN_MAX  128                   /* bytes of a name in a message */
#define SHOWN(s)   ((s).len < SHOWN_MAX ? (int)(s).len : SHOWN_MAX), (s).p

struct path {
    str step[STEPS_MAX];
    size_t n;
};

/* Where a path ends: `column` of the level `in`; with steps into its ARRAYs and MAPs left, at what
 * these lead to. */
struct place {
    struct columns *in;
    struct column *column; /* NULL: the level has no such column */
    str name;              /* the column's */
    size_t steps;
};

/* --- paths --- */

static int want_path(struct ctx *cx, const struct json *change, struct path *ret)
{
    const struct json *arr;
    *ret = (struct path){.n = 0};
    TRY(json_want_arr(cx, change, "change", "fieldNames", &arr));
    TRY(json_check_str_arr(cx, arr, "change.fieldNames"));
    if (arr->n == 0 || arr->n > STEPS_MAX)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "change.fieldNames has %zu names; it needs 1 to %d", arr->n, STEPS_MAX);
    JSON_EACH (it, arr)
        ret->step[ret->n++] = it->s;
    return 0;
}

/* The first n steps, "a.b.c"; cut when it is long. */
static str path_text(struct ctx *cx, const struct path *p, size_t n)
{
    CLEANUP(buf_done) struct buf b = {0};
    for (size_t i = 0; i < n && b.len < PATH_SHOWN; i++)
        buf_addf(&b, "%s%.*s", i ? "." : "", SHOWN(p->step[i]));
    str s = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    return s.p ? s : p->step[0];
}

static int no_column(const struct schema_edit *e, str name)
{
    return ctx_fail(e->cx, E_NOTFOUND, RES_COLUMN, name,
                    "Column %.*s does not exist in the %.*s table.", SHOWN(name), STR(e->table));
}

static int no_path(const struct schema_edit *e, const struct path *p, size_t n)
{
    return no_column(e, path_text(e->cx, p, n));
}

static int column_exists(const struct schema_edit *e, const struct path *p, str last)
{
    struct path full = *p;
    full.step[full.n - 1] = last;
    str name = path_text(e->cx, &full, full.n);
    return ctx_fail(e->cx, E_EXISTS, RES_COLUMN, name,
                    "Column %.*s already exists in the %.*s table.", SHOWN(name), STR(e->table));
}

/* Steps from `at` on that lead into ARRAYs and MAPs of t. */
static int container_steps(const struct schema_edit *e, const struct path *p, size_t at,
                           const struct data_type *t, size_t *ret)
{
    size_t i = at;
    for (; i < p->n && (t->kind == TYPE_ARRAY || t->kind == TYPE_MAP); i++, t = t->value) {
        if (t->kind == TYPE_MAP && str_eqz(p->step[i], "key"))
            return ctx_fail(e->cx, E_UNSUPPORTED, RES_COLUMN, path_text(e->cx, p, i + 1),
                            "the key of a MAP cannot be changed; add a new column");
        if (!str_eqz(p->step[i], t->kind == TYPE_MAP ? "value" : "element"))
            return no_path(e, p, i + 1);
    }
    *ret = i - at;
    return 0;
}

static int find_place(struct schema_edit *e, const struct path *p, struct place *ret)
{
    struct columns *in = e->columns.top;
    for (size_t at = 0;;) {
        size_t steps = 0;
        struct column *c = columns_find(in, p->step[at]);
        if (c)
            TRY(container_steps(e, p, at + 1, c->f.type, &steps));
        if (at + 1 + steps == p->n) {
            *ret = (struct place){in, c, p->step[at], steps};
            return 0;
        }
        if (!c)
            return no_path(e, p, at + 1);
        at += 1 + steps;
        TRY(column_open(&e->columns, c, &in));
        if (!in)
            return no_path(e, p, at + 1);
    }
}

/* Of a change of a column itself. */
static int find_column(struct schema_edit *e, const struct path *p, struct place *ret)
{
    TRY(find_place(e, p, ret));
    return ret->column && ret->steps == 0 ? 0 : no_path(e, p, p->n);
}

/* --- what may not be touched --- */

static int not_partition(const struct schema_edit *e, const struct path *p, const char *what)
{
    if (p->n > 1 || !schema_is_key(&e->old->partition_keys, p->step[0]))
        return 0;
    return ctx_fail(e->cx, E_UNSUPPORTED, RES_NONE, STR_NONE, "Cannot %s partition column: [%.*s]",
                    what, SHOWN(p->step[0]));
}

static int not_primary(const struct schema_edit *e, const struct path *p, const char *what)
{
    if (p->n > 1 || !schema_is_key(&e->old->primary_keys, p->step[0]))
        return 0;
    return ctx_fail(e->cx, E_UNSUPPORTED, RES_NONE, STR_NONE, "Cannot %s primary key", what);
}

static int not_indexed(const struct schema_edit *e, const struct path *p, const char *what)
{
    if (p->n > 1 || !map_get(&e->indexed, p->step[0]))
        return 0;
    return ctx_fail(e->cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                    "Cannot %s primary-key index column: [%.*s]", what, SHOWN(p->step[0]));
}

static int not_to_not_null(const struct schema_edit *e, const struct path *p, bool was, bool is)
{
    if (!e->null_to_not_null_off || !was || is)
        return 0;
    return ctx_fail(e->cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                    "Cannot update column type from nullable to non nullable for %.*s. You can set "
                    "table configuration option 'alter-column-null-to-not-null.disabled' = 'false' "
                    "to allow converting null columns to not null",
                    STR(path_text(e->cx, p, p->n)));
}

static int new_name_check(struct ctx *cx, str name)
{
    if (str_trim(name).len > 0)
        return 0;
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "the name of a column must not be blank");
}

/* --- moves --- */

enum move_type { MOVE_NONE, MOVE_FIRST, MOVE_AFTER, MOVE_BEFORE, MOVE_LAST };
struct move {
    enum move_type type;
    str field, reference; /* STR_NONE: not given */
};

static int want_move(struct ctx *cx, const struct json *v, struct move *ret)
{
    static const char *const names[] = {"", "FIRST", "AFTER", "BEFORE", "LAST"};
    str type;
    TRY(json_want_str(cx, v, "change.move", "type", &type));
    TRY(json_opt_str(cx, v, "change.move", "fieldName", &ret->field));
    TRY(json_opt_str(cx, v, "change.move", "referenceFieldName", &ret->reference));
    for (int i = MOVE_FIRST; i <= MOVE_LAST; i++)
        if (str_eqz(type, names[i])) {
            ret->type = (enum move_type)i;
            return 0;
        }
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "change.move.type must be FIRST, AFTER, BEFORE or LAST, not \"%.*s\"",
                    SHOWN(type));
}

static int move_itself(struct ctx *cx, str name)
{
    return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE, "Cannot move itself for column %.*s",
                    SHOWN(name));
}

static int update_position(struct schema_edit *e, const struct json *change)
{
    struct columns *cs = e->columns.top;
    const struct json *v;
    struct move m = {0};
    TRY(json_want_obj(e->cx, change, "change", "move", &v));
    TRY(want_move(e->cx, v, &m));
    struct column *c = columns_find(cs, m.field);
    if (!c)
        return ctx_fail(e->cx, E_INVAL, RES_NONE, STR_NONE, "Field name not found: %.*s",
                        SHOWN(m.field));
    size_t from = columns_index(cs, c), to = m.type == MOVE_LAST ? cs->n - 1 : 0;
    if (m.type == MOVE_AFTER || m.type == MOVE_BEFORE) {
        const struct column *ref = columns_find(cs, m.reference);
        if (!ref)
            return ctx_fail(e->cx, E_INVAL, RES_NONE, STR_NONE,
                            "Reference field name not found: %.*s", SHOWN(m.reference));
        to = columns_index(cs, ref);
        if (from == to)
            return move_itself(e->cx, m.field);
        to += m.type == MOVE_AFTER && from > to;
        to -= m.type == MOVE_BEFORE && from < to;
    } else if (from == to) {
        return move_itself(e->cx, m.field);
    }
    columns_move(cs, from, to);
    return 0;
}

/* --- adding --- */

static size_t before_partition(const struct columns *cs) /* partition columns are marked */
{
    size_t i = 0;
    while (i < cs->n && !cs->at[i]->mark)
        i++;
    return i;
}

static int insert_at(const struct schema_edit *e, const struct path *p, const struct columns *cs,
                     const struct move *m, size_t *ret)
{
    const struct column *ref;
    *ret = m->type == MOVE_FIRST ? 0 : cs->n;
    switch (m->type) {
    case MOVE_FIRST:
    case MOVE_LAST:
        return 0;
    case MOVE_NONE:
        if (e->add_before_partition && p->n == 1)
            *ret = before_partition(cs);
        return 0;
    case MOVE_AFTER:
    case MOVE_BEFORE:
        break;
    }
    ref = columns_find(cs, m->reference);
    if (!ref)
        return no_column(e, m->reference);
    *ret = columns_index(cs, ref) + (m->type == MOVE_AFTER);
    return 0;
}

static int decode_new(struct schema_edit *e, const struct json *change, const struct path *p,
                      struct data_field *f, struct move *m)
{
    struct ctx *cx = e->cx;
    const struct json *type = json_get(change, "dataType"), *move;
    f->name = p->step[p->n - 1];
    TRY(new_name_check(cx, f->name));
    if (json_is_null(type))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "change.dataType is missing");
    TRY(types_decode(cx, type, &f->type));
    TRY(json_opt_str(cx, change, "change", "comment", &f->description));
    TRY(json_opt_obj(cx, change, "change", "move", &move));
    return move ? want_move(cx, move, m) : 0;
}

static int add_column(struct schema_edit *e, const struct json *change)
{
    struct ctx *cx = e->cx;
    struct path p;
    struct data_field f = {0};
    struct move m = {0};
    struct place at;
    bool directive;
    size_t index;

    TRY(want_path(cx, change, &p));
    TRY(decode_new(e, change, &p, &f, &m));
    if (!f.type->nullable)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "Column %.*s cannot specify NOT NULL in the %.*s table.",
                        STR(path_text(cx, &p, p.n)), STR(e->table));
    TRY(directive_apply(cx, &f, &e->options, &directive));
    if (directive && p.n > 1)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "Comment directive cannot be used on a nested column %.*s.",
                        STR(path_text(cx, &p, p.n)));
    TRY(types_next_id(cx, &e->highest_id));
    f.id = e->highest_id;
    TRY(types_renumber(cx, f.type, &e->highest_id, &f.type));
    TRY(find_place(e, &p, &at));
    if (at.steps > 0)
        return no_path(e, &p, p.n);
    if (at.column)
        return column_exists(e, &p, at.name);
    TRY(insert_at(e, &p, at.in, &m, &index));
    return columns_insert(cx, at.in, index, &f);
}

/* --- renaming, dropping --- */

static int rename_column(struct schema_edit *e, const struct json *change)
{
    struct ctx *cx = e->cx;
    struct path p;
    struct place at;
    str name;
    TRY(want_path(cx, change, &p));
    TRY(json_want_str(cx, change, "change", "newName", &name));
    TRY(not_partition(e, &p, "rename"));
    TRY(not_indexed(e, &p, "rename"));
    const struct column *top = columns_find(e->columns.top, p.step[0]);
    if (p.n == 1 && top && type_is_blob_file(top->f.type))
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE, "Cannot rename BLOB column: [%.*s]",
                        SHOWN(p.step[0]));
    TRY(find_column(e, &p, &at));
    if (columns_find(at.in, name))
        return column_exists(e, &p, name);
    TRY(new_name_check(cx, name));
    if (p.n == 1)
        TRY(renames_note(cx, &e->renames, p.step[0], name));
    return columns_rename(cx, at.in, at.column, name);
}

static int drop_column(struct schema_edit *e, const struct json *change)
{
    struct ctx *cx = e->cx;
    struct path p;
    struct place at;
    TRY(want_path(cx, change, &p));
    if (p.n == 1 && (schema_is_key(&e->old->partition_keys, p.step[0]) ||
                     schema_is_key(&e->old->primary_keys, p.step[0])))
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "Cannot drop partition key or primary key: [%.*s]", SHOWN(p.step[0]));
    TRY(not_indexed(e, &p, "drop"));
    TRY(find_column(e, &p, &at));
    if (p.n == 1)
        TRY(directive_forget(cx, &at.column->f, &e->options));
    if (at.in->n == 1)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "Cannot drop all fields in table");
    columns_remove(at.in, at.column);
    return 0;
}

/* --- type, nullability --- */

/* The type that `steps` lead to. */
static const struct data_type *type_at(const struct data_type *t, size_t steps)
{
    for (; steps > 0; steps--)
        t = t->value;
    return t;
}

/* t with `inner` where the steps lead; NULL: no memory */
static const struct data_type *type_with(struct arena *a, const struct data_type *t, size_t steps,
                                         const struct data_type *inner)
{
    if (steps == 0)
        return inner;
    struct data_type *copy = ARENA_NEW(a, struct data_type);
    if (!copy)
        return NULL;
    *copy = *t;
    copy->value = type_with(a, t->value, steps - 1, inner);
    return copy->value ? copy : NULL;
}

static int set_type(struct schema_edit *e, const struct place *at, const struct data_type *inner)
{
    struct column *c = at->column;
    const struct data_type *t = type_with(&e->cx->arena, c->f.type, at->steps, inner);
    if (!t)
        return ctx_nomem(e->cx);
    c->f.type = t;
    return 0;
}

static int not_blob_change(const struct schema_edit *e, const struct path *p,
                           const struct data_type *to)
{
    struct ctx *cx = e->cx;
    const struct column *c = columns_find(e->columns.top, p->step[0]);
    if (p->n > 1 || !c || (!type_is_blob_file(c->f.type) && !type_is_blob_file(to)))
        return 0;
    return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                    "Cannot change column type involving BLOB: [%.*s] %.*s -> %.*s",
                    SHOWN(p->step[0]), STR(types_sql_str(&cx->arena, c->f.type)),
                    STR(types_sql_str(&cx->arena, to)));
}

static int not_convertible(struct schema_edit *e, const struct place *at,
                           const struct data_type *to)
{
    struct ctx *cx = e->cx;
    TRY(column_settle(cx, at->column));
    /* "loosing": word for word what the released Paimon says, whose suite compares it. */
    return ctx_fail(
        cx, E_STATE, RES_NONE, STR_NONE,
        "Column type %.*s[%.*s] cannot be converted to %.*s without loosing information.",
        SHOWN(at->name), STR(types_sql_str(&cx->arena, type_at(at->column->f.type, at->steps))),
        STR(types_sql_str(&cx->arena, to)));
}

static int decode_new_type(struct ctx *cx, const struct json *change, const struct data_type **ret,
                           bool *ret_keep)
{
    const struct json *v = json_get(change, "newDataType");
    if (json_is_null(v))
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "change.newDataType is missing");
    TRY(types_decode(cx, v, ret));
    return json_opt_bool(cx, change, "change", "keepNullability", false, ret_keep);
}

static int update_type(struct schema_edit *e, const struct json *change)
{
    struct ctx *cx = e->cx;
    const struct data_type *to;
    struct path p;
    struct place at;
    bool keep;

    TRY(want_path(cx, change, &p));
    TRY(decode_new_type(cx, change, &to, &keep));
    TRY(not_partition(e, &p, "update"));
    TRY(not_primary(e, &p, "update"));
    TRY(not_indexed(e, &p, "update type of"));
    TRY(not_blob_change(e, &p, to));
    TRY(find_place(e, &p, &at));
    if (!at.column)
        return no_path(e, &p, p.n);
    const struct data_type *from = type_at(at.column->f.type, at.steps);
    if (keep)
        to = types_with_nullable(&cx->arena, to, from->nullable);
    else
        TRY(not_to_not_null(e, &p, from->nullable, to->nullable));
    if (!to)
        return ctx_nomem(cx);
    if (!types_may_cast(from, to, !e->explicit_casts_off))
        return not_convertible(e, &at, to);
    TRY(set_type(e, &at, to));
    at.column->inner = NULL; /* what may be cast to is atomic: if there was a ROW, it is gone */
    return default_value_check(cx, &at.column->f);
}

static int update_nullability(struct schema_edit *e, const struct json *change)
{
    struct path p;
    struct place at;
    bool nullable;
    TRY(want_path(e->cx, change, &p));
    TRY(json_opt_bool(e->cx, change, "change", "newNullability", false, &nullable));
    if (nullable)
        TRY(not_primary(e, &p, "change nullability of"));
    TRY(find_place(e, &p, &at));
    if (!at.column)
        return no_path(e, &p, p.n);
    const struct data_type *t = type_at(at.column->f.type, at.steps);
    TRY(not_to_not_null(e, &p, t->nullable, nullable));
    t = types_with_nullable(&e->cx->arena, t, nullable);
    return t ? set_type(e, &at, t) : ctx_nomem(e->cx);
}

/* --- comment, default value --- */

static int update_comment(struct schema_edit *e, const struct json *change)
{
    struct path p;
    struct place at;
    str comment;
    bool directive;
    TRY(want_path(e->cx, change, &p));
    TRY(json_opt_str(e->cx, change, "change", "newComment", &comment));
    TRY(directive_is(e->cx, comment, &directive));
    if (directive)
        return ctx_fail(e->cx, E_INVAL, RES_NONE, STR_NONE,
                        "Should not alter existing field's type through column directives: %.*s",
                        SHOWN(comment));
    TRY(find_column(e, &p, &at));
    at.column->f.description = comment;
    return 0;
}

static int update_default(struct schema_edit *e, const struct json *change)
{
    struct path p;
    struct place at;
    str value;
    TRY(want_path(e->cx, change, &p));
    TRY(json_opt_str(e->cx, change, "change", "newDefaultValue", &value));
    TRY(find_column(e, &p, &at));
    if (value.p)
        TRY(column_settle(e->cx, at.column));
    at.column->f.default_value = value;
    return default_value_check(e->cx, &at.column->f);
}

/* --- */

static int open_columns(struct schema_edit *e)
{
    const struct str_list *keys = &e->old->partition_keys;
    if (e->columns.top)
        return 0;
    TRY(column_tree_init(e->cx, e->old->fields, e->old->n_fields, &e->columns));
    for (size_t i = 0; i < keys->n; i++) {
        struct column *c = columns_find(e->columns.top, keys->items[i]);
        if (c)
            c->mark = true;
    }
    return 0;
}

int schema_columns_apply(struct schema_edit *e, str action, const struct json *change, bool *ret)
{
    static const struct action {
        const char *name;
        int (*fn)(struct schema_edit *e, const struct json *change);
    } actions[] = {
        {"addColumn", add_column},
        {"renameColumn", rename_column},
        {"dropColumn", drop_column},
        {"updateColumnType", update_type},
        {"updateColumnNullability", update_nullability},
        {"updateColumnComment", update_comment},
        {"updateColumnDefaultValue", update_default},
        {"updateColumnPosition", update_position},
    };
    *ret = false;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (!str_eqz(action, actions[i].name))
            continue;
        *ret = true;
        TRY(open_columns(e));
        return actions[i].fn(e, change);
    }
    return 0;
}
