/* schema_renames.c - where else a renamed column is named: in the primary key and in options.
 *
 * Source: applyRenameColumnsToOptions and applyNotNestedColumnRename of Paimon's SchemaManager. As
 * there, they are applied at the end, to what the request made of the options. Unlike there, names
 * that are changed twice are followed (Java refuses most of these, and gives the key to another
 * column in some), and renaming a field inside a column touches no option of the column. */
#include "catalog/schema_edit_int.h"

struct rename {
    str from, to;
};

void renames_init(struct renames *r)
{
    map_init(&r->by_old);
    map_init(&r->by_new);
}

void renames_done(struct renames *r)
{
    map_done(&r->by_old);
    map_done(&r->by_new);
}

int renames_note(struct ctx *cx, struct renames *r, str from, str to)
{
    struct rename *n = map_get(&r->by_new, from);
    if (!n && map_get(&r->by_old, from)) /* made by this request, under a name given up before */
        return 0;
    if (n) {
        IGNORE(!map_del(&r->by_new, from));
    } else {
        n = ARENA_NEW(&cx->arena, struct rename);
        if (!n)
            return ctx_nomem(cx);
        n->from = from;
    }
    n->to = to;
    if (map_put(&r->by_old, n->from, n) < 0 || map_put(&r->by_new, to, n) < 0)
        return ctx_nomem(cx);
    return 0;
}

str renames_get(const struct renames *r, str name)
{
    const struct rename *n = map_get(&r->by_old, name);
    return n ? n->to : name;
}

int renames_in_keys(struct ctx *cx, const struct renames *r, struct str_list *keys)
{
    if (r->by_old.live == 0 || keys->n == 0)
        return 0;
    str *items = ARENA_ARRAY(&cx->arena, str, keys->n);
    if (!items)
        return ctx_nomem(cx);
    for (size_t i = 0; i < keys->n; i++)
        items[i] = renames_get(r, keys->items[i]);
    keys->items = items;
    return 0;
}

/* --- options --- */

/* "a,b" as Java splits it: blanks count, commas at the end do not. */
static void put_renamed(const struct renames *r, struct buf *b, str list)
{
    str part;
    while (list.len > 0 && list.p[list.len - 1] == ',')
        list.len--;
    if (list.len == 0)
        return;
    for (size_t n = 0; str_split(&list, ',', &part); n++) {
        buf_addz(b, n > 0 ? "," : "");
        buf_adds(b, renames_get(r, part));
    }
}

static int rename_list_option(struct ctx *cx, const struct renames *r, const char *key,
                              struct options_edit *options)
{
    CLEANUP(buf_done) struct buf b = {0};
    str value = options_edit_get(options, str_of(key));
    if (str_trim(value).len == 0)
        return 0;
    put_renamed(r, &b, value);
    value = buf_fail(&b) ? STR_NONE : str_dup(&cx->arena, buf_str(&b));
    return value.p ? options_edit_set(options, str_of(key), value) : ctx_nomem(cx);
}

/* fields.<column>.<suffix> or fields.<column>,<column>.<suffix> */
static const struct field_option {
    const char *suffix;
    bool lists; /* key and value are lists of columns */
} field_options[] = {
    {".aggregate-function", false},
    {".ignore-retract", false},
    {".distinct", false},
    {".list-agg-delimiter", false},
    {".map.storage-layout", false},
    {".map.shared-shredding.max-columns", false},
    {".map.shared-shredding.column-placement-policy", false},
    {".sequence-group", true},
    {".nested-key", true},
};
#define FIELDS "fields."

struct changed { /* options to be put under another key or with another value */
    struct ctx *cx;
    const struct renames *r;
    struct change {
        str old_key, key, value;
        struct change *next;
    } * all;
};

static int note_change(struct changed *c, str key, str value, size_t name_len,
                       const struct field_option *fo)
{
    CLEANUP(buf_done) struct buf k = {0};
    CLEANUP(buf_done) struct buf v = {0};
    str name = str_n(key.p + strlen(FIELDS), name_len);
    struct change *n = ARENA_NEW(&c->cx->arena, struct change);
    buf_addz(&k, FIELDS);
    if (fo->lists)
        put_renamed(c->r, &k, name);
    else
        buf_adds(&k, renames_get(c->r, name));
    buf_addz(&k, fo->suffix);
    if (fo->lists)
        put_renamed(c->r, &v, value);
    else
        buf_adds(&v, value);
    if (!n || buf_fail(&k) || buf_fail(&v))
        return ctx_nomem(c->cx);
    if (str_eq(buf_str(&k), key) && str_eq(buf_str(&v), value))
        return 0;
    *n = (struct change){key, str_dup(&c->cx->arena, buf_str(&k)),
                         str_dup(&c->cx->arena, buf_str(&v)), c->all};
    if (!n->key.p || !n->value.p)
        return ctx_nomem(c->cx);
    c->all = n;
    return 0;
}

static int look_at_option(void *arg, str key, str value)
{
    size_t head = strlen(FIELDS);
    if (!str_starts(key, STR_LIT(FIELDS)))
        return 0;
    for (size_t i = 0; i < sizeof field_options / sizeof *field_options; i++) {
        const struct field_option *fo = &field_options[i];
        size_t tail = strlen(fo->suffix);
        if (key.len >= head + tail && str_ends(key, str_of(fo->suffix)))
            return note_change(arg, key, value, key.len - head - tail, fo);
    }
    return 0;
}

int renames_in_options(struct ctx *cx, const struct renames *r, struct options_edit *options)
{
    struct changed c = {.cx = cx, .r = r};
    if (r->by_old.live == 0)
        return 0;
    TRY(rename_list_option(cx, r, "bucket-key", options));
    TRY(rename_list_option(cx, r, "sequence.field", options));
    TRY(options_edit_each(options, look_at_option, &c));
    for (struct change *n = c.all; n; n = n->next)
        options_edit_remove(options, n->old_key);
    for (struct change *n = c.all; n; n = n->next)
        TRY(options_edit_set(options, n->key, n->value));
    return 0;
}
