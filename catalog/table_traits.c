/* table_traits.c - see table_traits.h. Thread rule: none of its own; the reference count is atomic. */
#include "catalog/table_traits.h"

#include "manifest/options.h"
#include "proto/base/mem.h"
#include "proto/json/json.h"

#define TRAITS_MAX_BYTES ((size_t)256 << 20)
#define TOTALS_KEYS_MAX  100 /* columns; each spec of a request is searched for each of them */

static int columns(struct ctx *cx, struct table_traits *t)
{
    const struct str_list *keys = &t->schema.partition_keys;
    const struct data_type **types = ARENA_ARRAY(&cx->arena, const struct data_type *, keys->n + 1);
    if (!types)
        return ctx_nomem(cx);
    for (size_t i = 0; i < keys->n; i++) {
        const struct data_field *f = schema_field(&t->schema, keys->items[i]);
        if (!f)
            return ctx_fail(cx, E_INVAL, RES_COLUMN, keys->items[i],
                            "the partition key '%.*s' is no column of schema %lld",
                            STR(keys->items[i]), (long long)t->schema_id);
        types[i] = f->type;
    }
    t->partition = (struct binrow_type){types, keys->n};
    t->partition_names = keys->items;
    return 0;
}

static int options(struct ctx *cx, struct table_traits *t)
{
    const struct kv_list *o = &t->schema.options;
    TRY(opt_bool(cx, o, "partition.legacy-name", &t->naming.legacy));
    TRY(opt_bool(cx, o, "row-tracking.enabled", &t->row_ids));
    TRY(opt_bool(cx, o, "metastore.partitioned-table", &t->partition_totals));
    t->partition_totals &= t->partition.n <= TOTALS_KEYS_MAX;
    TRY(opt_bool(cx, o, "index-file-in-data-file-dir", &t->index_in_data_dir));
    t->naming.default_name = opt_text(o, "partition.default-name");
    if (!t->naming.default_name.p)
        t->naming.default_name = STR_LIT("__DEFAULT_PARTITION__");
    t->path_directory = opt_text(o, "data-file.path-directory");
    return 0;
}

static int decode(struct ctx *cx, str schema_json, struct table_traits *t)
{
    const struct json *j;
    str text = str_dup(&cx->arena, schema_json);
    if (!text.p)
        return ctx_nomem(cx);
    TRY(json_parse(cx, text, "recorded schema", &j));
    TRY(schema_decode(cx, j, "recorded schema", &t->schema));
    TRY(columns(cx, t));
    return options(cx, t);
}

int traits_new(struct ctx *cx, str schema_json, int64_t schema_id, struct table_traits **ret)
{
    struct table_traits *t = mem_zalloc(sizeof *t);
    if (!t)
        return ctx_nomem(cx);
    atomic_init(&t->refs, 1);
    ctx_init(&t->own, TRAITS_MAX_BYTES);
    t->schema_id = schema_id;
    int rc = decode(&t->own, schema_json, t);
    if (rc < 0) {
        cx->err = t->own.err;
        traits_unref(t);
        return rc;
    }
    *ret = t;
    return 0;
}

struct table_traits *traits_ref(struct table_traits *t)
{
    atomic_fetch_add(&t->refs, 1);
    return t;
}

void traits_unref(struct table_traits *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
        return;
    ctx_done(&t->own);
    mem_free(t);
}

struct file_layout traits_layout(const struct table_traits *t, str dir)
{
    return (struct file_layout){.dir = dir,
                                .path_directory = t->path_directory,
                                .partition_names = t->partition_names,
                                .naming = t->naming};
}
