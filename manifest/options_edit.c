/* options_edit.c - see options_edit.h.
 *
 * An option is a node in the arena, found by its key. A value that is edited as a list has its text
 * in a buffer of its own, which grows in place, and the set of its names; any other change of it
 * drops both. Commas in lists: as Java's String.split and trim have it. */
#include "manifest/options_edit.h"

struct option_edit {
    str key, value; /* value: STR_NONE when removed */
    bool is_list;   /* value is the text of the buffer */
    struct buf text;
    struct map names; /* in the list; the values mean nothing */
    struct option_edit *next;
};

static struct option_edit *find(const struct options_edit *o, str key)
{
    return map_get(&o->by_key, key);
}

static void list_end(struct option_edit *e)
{
    buf_done(&e->text);
    map_done(&e->names);
    map_init(&e->names);
    e->is_list = false;
}

static void put(struct options_edit *o, struct option_edit *e, str value)
{
    o->n += (value.p != NULL);
    o->n -= (e->value.p != NULL);
    e->value = value;
}

static int need(struct options_edit *o, str key, struct option_edit **ret)
{
    *ret = find(o, key);
    if (*ret)
        return 0;
    struct option_edit *e = ARENA_NEW(&o->cx->arena, struct option_edit);
    if (!e)
        return ctx_nomem(o->cx);
    e->key = key;
    map_init(&e->names);
    if (map_put(&o->by_key, key, e) < 0)
        return ctx_nomem(o->cx);
    e->next = o->all;
    o->all = e;
    *ret = e;
    return 0;
}

int options_edit_init(struct ctx *cx, const struct kv_list *from, struct options_edit *ret)
{
    *ret = (struct options_edit){.cx = cx};
    map_init(&ret->by_key);
    for (size_t i = 0; i < from->n; i++)
        TRY(options_edit_set(ret, from->items[i].key, from->items[i].value));
    return 0;
}

void options_edit_done(struct options_edit *o)
{
    for (struct option_edit *e = o->all; e; e = e->next)
        list_end(e);
    map_done(&o->by_key);
    *o = (struct options_edit){0};
}

str options_edit_get(const struct options_edit *o, str key)
{
    const struct option_edit *e = find(o, key);
    return e ? e->value : STR_NONE;
}

int options_edit_set(struct options_edit *o, str key, str value)
{
    struct option_edit *e;
    TRY(need(o, key, &e));
    put(o, e, value);
    list_end(e);
    return 0;
}

void options_edit_remove(struct options_edit *o, str key)
{
    struct option_edit *e = find(o, key);
    if (!e)
        return;
    put(o, e, STR_NONE);
    list_end(e);
}

static void list_append(struct option_edit *e, str name)
{
    if (e->text.len > 0)
        buf_addc(&e->text, ',');
    buf_adds(&e->text, name);
}

/* `name` is not NULL and outlives the list. */
static int list_put(struct options_edit *o, struct option_edit *e, str name)
{
    if (map_get(&e->names, name))
        return 0;
    list_append(e, name);
    if (buf_fail(&e->text) || map_put(&e->names, name, e) < 0)
        return ctx_nomem(o->cx);
    return 0;
}

static int list_begin(struct options_edit *o, struct option_edit *e)
{
    str rest = e->value, part;
    e->is_list = true;
    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (part.len > 0)
            TRY(list_put(o, e, part));
    }
    return 0;
}

int options_edit_list_add(struct options_edit *o, str key, str name)
{
    struct option_edit *e;
    TRY(need(o, key, &e));
    if (!e->is_list)
        TRY(list_begin(o, e));
    TRY(list_put(o, e, name));
    put(o, e, buf_str(&e->text));
    return 0;
}

int options_edit_list_remove(struct options_edit *o, str key, str name)
{
    struct option_edit *e = find(o, key);
    struct buf left = {0};
    if (!e || e->value.len == 0)
        return 0;
    if (!e->is_list)
        TRY(list_begin(o, e));
    if (map_del(&e->names, name)) {
        str rest = buf_str(&e->text), part;
        while (str_split(&rest, ',', &part))
            if (!str_eq(part, name)) {
                buf_addz(&left, left.len > 0 ? "," : "");
                buf_adds(&left, part);
            }
        buf_done(&e->text);
        e->text = left;
    }
    put(o, e, buf_str(&e->text));
    if (buf_fail(&e->text))
        return ctx_nomem(o->cx);
    if (e->text.len == 0)
        options_edit_remove(o, key);
    return 0;
}

static int by_key(const void *pa, const void *pb)
{
    return str_cmp(((const struct kv *)pa)->key, ((const struct kv *)pb)->key);
}

int options_edit_result(struct options_edit *o, struct kv_list *ret)
{
    size_t n = 0;
    *ret = (struct kv_list){0};
    if (o->n == 0)
        return 0;
    struct kv *items = ARENA_ARRAY(&o->cx->arena, struct kv, o->n);
    if (!items)
        return ctx_nomem(o->cx);
    for (struct option_edit *e = o->all; e; e = e->next) {
        if (!e->value.p)
            continue;
        str value = e->is_list ? str_dup(&o->cx->arena, e->value) : e->value;
        if (!value.p)
            return ctx_nomem(o->cx);
        items[n++] = (struct kv){e->key, value};
    }
    qsort(items, n, sizeof *items, by_key);
    *ret = (struct kv_list){items, n};
    return 0;
}

int options_edit_each(struct options_edit *o, int (*fn)(void *arg, str key, str value), void *arg)
{
    for (struct option_edit *e = o->all; e; e = e->next)
        if (e->value.p)
            TRY(fn(arg, e->key, e->value));
    return 0;
}
