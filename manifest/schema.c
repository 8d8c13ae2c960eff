/* schema.c - decoding, normalising and encoding schemas.
 *
 * Source of the format and the rules: paimon-api Schema, TableSchema and SchemaSerializer; files of
 * Java 1.3.1, 2.1 and pypaimon 2.1.0. What is refused beyond the shape is schema_check.c.
 *
 * Written so that all clients can read it back: description, defaultValue and comment are left out
 * when there is none (Java makes the text "null" of a JSON null), options and both key lists are
 * always there (Java refuses a schema without them), types are in Java's canonical text (pypaimon
 * and paimon-rust do not know every spelling that Java takes). No state; any thread. */
#include "manifest/schema.h"
#include "manifest/options.h"
#include "proto/base/assert.h"
#include "proto/base/mem.h"

#define SHOWN_MAX  64 /* bytes of a client's text in a message */
#define SHOWN(s)   ((s).len < SHOWN_MAX ? (int)(s).len : SHOWN_MAX), (s).p
#define PATH_SHOWN 128

/* --- looking things up --- */

str schema_option(const struct schema *s, const char *key)
{
    return kv_get(&s->options, key);
}

const struct data_field *schema_field(const struct schema *s, str name)
{
    for (size_t i = 0; i < s->n_fields; i++)
        if (str_eq(s->fields[i].name, name))
            return &s->fields[i];
    return NULL;
}

bool schema_is_key(const struct str_list *keys, str name)
{
    for (size_t i = 0; i < keys->n; i++)
        if (str_eq(keys->items[i], name))
            return true;
    return false;
}

/* --- changing --- */

int schema_set_option(struct ctx *cx, struct schema *s, str key, str value)
{
    size_t at, n = s->options.n;
    ASSERT(key.p && value.p);
    bool there = kv_find(&s->options, key, &at);
    struct kv *items = ARENA_ARRAY(&cx->arena, struct kv, n + 1);
    if (!items)
        return ctx_nomem(cx);
    for (size_t i = 0; i < at; i++)
        items[i] = s->options.items[i];
    items[at] = (struct kv){key, value};
    for (size_t i = at + there; i < n; i++)
        items[i + !there] = s->options.items[i];
    s->options = (struct kv_list){items, n + !there};
    return 0;
}

int schema_remove_option(struct ctx *cx, struct schema *s, str key)
{
    size_t at, n = s->options.n;
    if (!kv_find(&s->options, key, &at))
        return 0;
    struct kv *items = ARENA_ARRAY(&cx->arena, struct kv, n);
    if (!items)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++)
        if (i != at)
            items[i - (i > at)] = s->options.items[i];
    s->options = (struct kv_list){items, n - 1};
    return 0;
}

void schema_set_comment(struct schema *s, str comment)
{
    s->comment = comment;
}

static bool list_equal(const struct str_list *a, const struct str_list *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!str_eq(a->items[i], b->items[i]))
            return false;
    return true;
}

bool schema_equal(const struct schema *a, const struct schema *b)
{
    bool commented = a->comment.p && b->comment.p;
    if (a->n_fields != b->n_fields ||
        !(commented ? str_eq(a->comment, b->comment) : a->comment.p == b->comment.p))
        return false;
    for (size_t i = 0; i < a->n_fields; i++)
        if (!types_field_equal(&a->fields[i], &b->fields[i]))
            return false;
    return list_equal(&a->partition_keys, &b->partition_keys) &&
           list_equal(&a->primary_keys, &b->primary_keys) && kv_equal(&a->options, &b->options);
}

/* --- decoding what requests and files share --- */

static int decode_list(struct ctx *cx, const struct json *v, const char *path, const char *key,
                       struct str_list *ret)
{
    const struct json *arr;
    char at[PATH_SHOWN];
    TRY(json_opt_arr(cx, v, path, key, &arr));
    if (!arr || arr->n == 0) {
        *ret = (struct str_list){0};
        return 0;
    }
    snprintf(at, sizeof at, "%s.%s", path, key);
    TRY(json_check_str_arr(cx, arr, at));
    str *items = ARENA_ARRAY(&cx->arena, str, arr->n);
    size_t n = 0;
    if (!items)
        return ctx_nomem(cx);
    JSON_EACH (it, arr)
        items[n++] = it->s;
    *ret = (struct str_list){items, n};
    return 0;
}

static int decode_members(struct ctx *cx, const struct json *v, const char *path, bool need_ids,
                          struct schema *s)
{
    const struct json *fields;
    char at[PATH_SHOWN];
    if (v->type != JSON_OBJECT)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s must be an object", path);
    TRY(json_want_arr(cx, v, path, "fields", &fields));
    snprintf(at, sizeof at, "%s.fields", path);
    TRY(types_decode_fields(cx, fields, at, need_ids, &s->fields, &s->n_fields));
    TRY(decode_list(cx, v, path, "partitionKeys", &s->partition_keys));
    TRY(decode_list(cx, v, path, "primaryKeys", &s->primary_keys));
    snprintf(at, sizeof at, "%s.options", path);
    TRY(kv_decode(cx, json_get(v, "options"), at, &s->options));
    TRY(doc_text(cx, v, path, "comment", &s->comment));
    s->path = schema_option(s, "path");
    return s->path.p ? schema_remove_option(cx, s, STR_LIT("path")) : 0;
}

/* --- normalising a create request --- */

/* "a, b,," -> a b */
static int split_list(struct ctx *cx, str text, struct str_list *ret)
{
    str rest = text, part;
    size_t max = 1, n = 0;
    for (size_t i = 0; i < text.len; i++)
        max += text.p[i] == ',';
    str *items = ARENA_ARRAY(&cx->arena, str, max);
    if (!items)
        return ctx_nomem(cx);
    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (part.len)
            items[n++] = part;
    }
    *ret = (struct str_list){items, n};
    return 0;
}

/* A key list given as an option moves to where the others are. */
static int take_key_option(struct ctx *cx, struct schema *s, const char *option,
                           struct str_list *keys, const char *member)
{
    str text = schema_option(s, option);
    if (!text.p)
        return 0;
    if (keys->n > 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "%s and the option %s are both given; leave one of them out", member,
                        option);
    TRY(split_list(cx, text, keys));
    return schema_remove_option(cx, s, str_of(option));
}

static int by_text(const void *pa, const void *pb)
{
    return str_cmp(*(const str *)pa, *(const str *)pb);
}

static void free_strs(str **p)
{
    mem_free(*p);
}

/* Both as sorted copies: every key once, and among the columns. */
static int check_sorted_keys(struct ctx *cx, const str *keys, size_t n, const str *columns,
                             size_t n_columns, const char *what)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && str_eq(keys[i - 1], keys[i]))
            return ctx_fail(cx, E_INVAL, RES_COLUMN, keys[i],
                            "the %s keys name the column \"%.*s\" twice; name it once", what,
                            SHOWN(keys[i]));
        while (at < n_columns && str_cmp(columns[at], keys[i]) < 0)
            at++;
        if (at == n_columns || !str_eq(columns[at], keys[i]))
            return ctx_fail(cx, E_INVAL, RES_COLUMN, keys[i],
                            "the %s keys name the column \"%.*s\", which is not among the fields; "
                            "add the column or take it out of the keys",
                            what, SHOWN(keys[i]));
    }
    return 0;
}

static int check_keys(struct ctx *cx, const struct schema *s, const struct str_list *keys,
                      const char *what)
{
    if (keys->n == 0)
        return 0;
    if (keys->n > SCHEMA_KEYS_MAX)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "there are %zu %s keys; at most %d are taken", keys->n, what,
                        SCHEMA_KEYS_MAX);
    CLEANUP(free_strs) str *all = mem_alloc((keys->n + s->n_fields) * sizeof *all);
    if (!all)
        return ctx_nomem(cx);
    str *columns = all + keys->n;
    memcpy(all, keys->items, keys->n * sizeof *all);
    for (size_t i = 0; i < s->n_fields; i++)
        columns[i] = s->fields[i].name;
    qsort(all, keys->n, sizeof *all, by_text);
    qsort(columns, s->n_fields, sizeof *all, by_text);
    return check_sorted_keys(cx, all, keys->n, columns, s->n_fields, what);
}

static int set_key_nullability(struct ctx *cx, struct schema *s, bool nullable)
{
    struct data_field *fields = ARENA_ARRAY(&cx->arena, struct data_field, s->n_fields);
    if (!fields)
        return ctx_nomem(cx);
    memcpy(fields, s->fields, s->n_fields * sizeof *fields);
    for (size_t i = 0; i < s->n_fields; i++) {
        if (!schema_is_key(&s->primary_keys, fields[i].name))
            continue;
        fields[i].type = types_with_nullable(&cx->arena, fields[i].type, nullable);
        if (!fields[i].type)
            return ctx_nomem(cx);
    }
    s->fields = fields;
    return 0;
}

int schema_settle(struct ctx *cx, struct schema *s)
{
    bool nullable = false;
    TRY(take_key_option(cx, s, "partition", &s->partition_keys, "partitionKeys"));
    TRY(take_key_option(cx, s, "primary-key", &s->primary_keys, "primaryKeys"));
    TRY(check_keys(cx, s, &s->partition_keys, "partition"));
    TRY(check_keys(cx, s, &s->primary_keys, "primary"));
    TRY(opt_bool(cx, &s->options, "primary-key.nullable", &nullable));
    if (s->primary_keys.n > 0)
        return set_key_nullability(cx, s, nullable);
    return 0;
}

int schema_decode(struct ctx *cx, const struct json *v, const char *path, struct schema *ret)
{
    struct schema s = {0};
    TRY(decode_members(cx, v, path, /* need_ids= */ false, &s));
    int rc = types_check_ids(cx, s.fields, s.n_fields);
    if (rc == 0)
        rc = schema_settle(cx, &s);
    if (rc < 0)
        return ctx_prefix(cx, "%s", path);
    *ret = s;
    return 0;
}

/* --- writing --- */

static void put_list(struct json_out *o, const char *key, const struct str_list *l)
{
    json_key(o, key);
    json_arr(o);
    for (size_t i = 0; i < l->n; i++)
        json_str(o, l->items[i]);
    json_end(o);
}

static void put_fields(struct json_out *o, const struct schema *s)
{
    json_key(o, "fields");
    json_arr(o);
    for (size_t i = 0; i < s->n_fields; i++)
        types_encode_field(o, &s->fields[i]);
    json_end(o);
}

static void put_rest(struct json_out *o, const struct schema *s)
{
    put_list(o, "partitionKeys", &s->partition_keys);
    put_list(o, "primaryKeys", &s->primary_keys);
    json_key(o, "options");
    kv_encode(o, &s->options);
    if (s->comment.p)
        json_kstr(o, "comment", s->comment);
}

void schema_encode(struct json_out *o, const struct schema *s)
{
    json_obj(o);
    put_fields(o, s);
    put_rest(o, s);
    json_end(o);
}

void schema_encode_file(struct json_out *o, const struct table_schema *ts)
{
    ASSERT(ts->id >= 0 &&
           ts->highest_field_id >= types_highest_id(ts->schema.fields, ts->schema.n_fields));
    json_obj(o);
    json_ki64(o, "version", SCHEMA_VERSION);
    json_ki64(o, "id", ts->id);
    put_fields(o, &ts->schema);
    json_ki64(o, "highestFieldId", ts->highest_field_id);
    put_rest(o, &ts->schema);
    json_ki64(o, "timeMillis", ts->time_millis);
    json_end(o);
}

/* --- the file --- */

struct table_schema schema_first(const struct schema *s, int64_t time_millis)
{
    return (struct table_schema){
        .version = SCHEMA_VERSION,
        .id = 0,
        .highest_field_id = types_highest_id(s->fields, s->n_fields),
        .time_millis = time_millis,
        .schema = *s,
    };
}

static int decode_version(struct ctx *cx, const struct json *v, int64_t *ret)
{
    TRY(json_opt_i64(cx, v, "schema", "version", 1, ret));
    TRY(doc_range(cx, "schema", "version", *ret, 1, INT32_MAX));
    if (*ret > SCHEMA_VERSION)
        return ctx_fail(cx, E_UNSUPPORTED, RES_NONE, STR_NONE,
                        "schema.version is %d; this server knows schemas up to version %d",
                        (int)*ret, SCHEMA_VERSION);
    return 0;
}

/* What the defaults were when the file was written becomes an option. */
static int keep_old_defaults(struct ctx *cx, struct table_schema *ts)
{
    struct schema *s = &ts->schema;
    if (ts->version <= 1 && !schema_option(s, "bucket").p)
        TRY(schema_set_option(cx, s, STR_LIT("bucket"), STR_LIT("1")));
    if (ts->version <= 2 && !schema_option(s, "file.format").p)
        TRY(schema_set_option(cx, s, STR_LIT("file.format"), STR_LIT("orc")));
    return 0;
}

static int decode_table_schema(struct ctx *cx, const struct json *v, struct table_schema *ts)
{
    int64_t highest;
    TRY(decode_members(cx, v, "schema", /* need_ids= */ true, &ts->schema));
    TRY(decode_version(cx, v, &ts->version));
    TRY(json_want_i64(cx, v, "schema", "id", &ts->id));
    TRY(doc_range(cx, "schema", "id", ts->id, 0, INT64_MAX));
    TRY(json_want_i64(cx, v, "schema", "highestFieldId", &highest));
    TRY(doc_range(cx, "schema", "highestFieldId", highest, FIELD_ID_NONE, INT32_MAX));
    TRY(json_opt_i64(cx, v, "schema", "timeMillis", 0, &ts->time_millis));
    ts->highest_field_id = types_highest_id(ts->schema.fields, ts->schema.n_fields);
    if (highest > ts->highest_field_id)
        ts->highest_field_id = (int32_t)highest;
    TRY(check_keys(cx, &ts->schema, &ts->schema.partition_keys, "partition"));
    TRY(check_keys(cx, &ts->schema, &ts->schema.primary_keys, "primary"));
    return keep_old_defaults(cx, ts);
}

int schema_decode_file(struct ctx *cx, str text, str file_name, struct table_schema *ret)
{
    const struct json *v;
    struct table_schema ts = {0};
    int rc = doc_parse_file(cx, text, &v);
    if (rc == 0)
        rc = decode_table_schema(cx, v, &ts);
    if (rc < 0)
        return doc_file_rc(cx, rc, file_name);
    *ret = ts;
    return 0;
}
