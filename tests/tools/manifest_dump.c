/* manifest_dump.c - manifests, manifest lists and index manifests as JSON lines, and back. A tool of
 * the tests: it reads and writes with the daemon's code.
 *
 *   manifest_dump read  manifest|list|index FILE           prints one JSON object an entry
 *   manifest_dump write manifest|list|index FILE [CODEC]   makes FILE of such lines from its input
 *   manifest_dump speed FILE [SECONDS]                     reads a manifest again and again, prints
 *                                                          entries a second of one core
 *
 * Bytes are hexadecimal digits. Members that are absent are left out. */
#include "manifest/index_manifest.h"
#include "manifest/manifest.h"
#include "proto/json/json.h"

#define MEMORY ((size_t)4 << 30)

/* --- struct -> JSON -------------------------------------------------------------------------------------- */

static void put_record(struct json_out *o, const struct avro_record *rec, const char *from);

static void put_hex(struct json_out *o, str s)
{
    struct buf hex = {0};
    for (size_t i = 0; i < s.len; i++)
        buf_addf(&hex, "%02x", (unsigned char)s.p[i]);
    json_str(o, buf_str(&hex));
    buf_done(&hex);
}

static void put_list(struct json_out *o, const struct avro_field *f, struct avro_list l)
{
    str s;
    int64_t v;
    struct opt_i64 w;
    json_arr(o);
    if (f->item == ITEM_STRING)
        while (avro_list_str(&l, &s))
            json_str(o, s);
    else if (f->item == ITEM_OPT_LONG)
        while (avro_list_opt_i64(&l, &w)) {
            if (w.has)
                json_i64(o, w.v);
            else
                json_null(o);
        }
    else
        while (avro_list_i64(&l, &v))
            json_i64(o, v);
    json_end(o);
}

static void put_records(struct json_out *o, const struct avro_field *f, const struct avro_array *a)
{
    json_arr(o);
    for (size_t i = 0; i < a->n; i++)
        put_record(o, f->record, (const char *)a->items + i * f->record->size);
    json_end(o);
}

static bool absent(const struct avro_field *f, const char *from)
{
    if (!f->optional)
        return false;
    switch (f->type) {
    case AVRO_INT:
    case AVRO_LONG:
        return !((const struct opt_i64 *)(const void *)from)->has;
    case AVRO_STRING:
    case AVRO_BYTES:
        return !((const str *)(const void *)from)->p;
    case AVRO_LIST:
        return !((const struct avro_list *)(const void *)from)->has;
    case AVRO_RECORD:
        return !*(const void *const *)(const void *)from;
    case AVRO_RECORDS:
        return !((const struct avro_array *)(const void *)from)->has;
    }
    return true;
}

static int64_t number(const struct avro_field *f, const void *from)
{
    if (f->optional)
        return ((const struct opt_i64 *)from)->v;
    return f->type == AVRO_INT ? *(const int32_t *)from : *(const int64_t *)from;
}

static void put_value(struct json_out *o, const struct avro_field *f, const char *from)
{
    const void *p = from;
    switch (f->type) {
    case AVRO_INT:
    case AVRO_LONG:
        json_i64(o, number(f, p));
        break;
    case AVRO_STRING:
        json_str(o, *(const str *)p);
        break;
    case AVRO_BYTES:
        put_hex(o, *(const str *)p);
        break;
    case AVRO_LIST:
        put_list(o, f, *(const struct avro_list *)p);
        break;
    case AVRO_RECORD:
        put_record(o, f->record, f->optional ? *(const char *const *)p : from);
        break;
    case AVRO_RECORDS:
        put_records(o, f, p);
        break;
    }
}

static void put_record(struct json_out *o, const struct avro_record *rec, const char *from)
{
    json_obj(o);
    for (size_t i = 0; i < rec->n; i++) {
        const struct avro_field *f = &rec->fields[i];
        if (absent(f, from + f->at))
            continue;
        json_key(o, f->name);
        put_value(o, f, from + f->at);
    }
    json_end(o);
}

/* --- JSON -> struct -------------------------------------------------------------------------------------- */

static int get_record(struct ctx *cx, const struct json *v, const struct avro_record *rec,
                      char *to);

static int wrong(struct ctx *cx, const struct avro_field *f)
{
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s has another type", f->name);
}

static int get_hex(struct ctx *cx, const struct avro_field *f, str hex, str *ret)
{
    char *out = arena_alloc(&cx->arena, hex.len / 2 + 1);
    for (size_t i = 0; i < hex.len / 2; i++) {
        char digits[3] = {hex.p[2 * i], hex.p[2 * i + 1], 0}, *end;
        out[i] = (char)strtoul(digits, &end, 16);
        if (*end)
            return wrong(cx, f);
    }
    *ret = str_n(out, hex.len / 2);
    return 0;
}

static int get_list(struct ctx *cx, const struct avro_field *f, const struct json *v,
                    struct avro_list *ret)
{
    str *s = ARENA_ARRAY(&cx->arena, str, v->n + 1);
    int64_t *n = ARENA_ARRAY(&cx->arena, int64_t, v->n + 1);
    struct opt_i64 *w = ARENA_ARRAY(&cx->arena, struct opt_i64, v->n + 1);
    size_t i = 0;
    JSON_EACH (it, v) {
        s[i] = it->s;
        n[i] = it->i;
        w[i++] = (struct opt_i64){it->type != JSON_NULL, it->i};
    }
    if (f->item == ITEM_STRING)
        return avro_list_of_strs(cx, s, i, ret);
    return f->item == ITEM_OPT_LONG ? avro_list_of_opts(cx, w, i, ret)
                                    : avro_list_of_i64s(cx, n, i, ret);
}

static int get_records(struct ctx *cx, const struct avro_field *f, const struct json *v,
                       struct avro_array *ret)
{
    size_t size = f->record->size, i = 0;
    char *items = arena_array(&cx->arena, size, v->n + 1);
    JSON_EACH (it, v)
        TRY(get_record(cx, it, f->record, items + i++ * size));
    *ret = (struct avro_array){true, v->n, items};
    return 0;
}

static int get_number(struct ctx *cx, const struct avro_field *f, const struct json *v, void *to)
{
    if (v->type != JSON_INT)
        return wrong(cx, f);
    if (f->optional)
        *(struct opt_i64 *)to = (struct opt_i64){true, v->i};
    else if (f->type == AVRO_INT)
        *(int32_t *)to = (int32_t)v->i;
    else
        *(int64_t *)to = v->i;
    return 0;
}

static int get_value(struct ctx *cx, const struct avro_field *f, const struct json *v, char *to)
{
    void *p = to;
    switch (f->type) {
    case AVRO_INT:
    case AVRO_LONG:
        return get_number(cx, f, v, p);
    case AVRO_STRING:
        *(str *)p = v->s;
        return v->type == JSON_STRING ? 0 : wrong(cx, f);
    case AVRO_BYTES:
        return v->type == JSON_STRING ? get_hex(cx, f, v->s, p) : wrong(cx, f);
    case AVRO_LIST:
        return v->type == JSON_ARRAY ? get_list(cx, f, v, p) : wrong(cx, f);
    case AVRO_RECORDS:
        return v->type == JSON_ARRAY ? get_records(cx, f, v, p) : wrong(cx, f);
    case AVRO_RECORD:
        if (!f->optional)
            return get_record(cx, v, f->record, to);
        *(void **)p = arena_alloc(&cx->arena, f->record->size);
        return get_record(cx, v, f->record, *(char **)p);
    }
    return wrong(cx, f);
}

static int get_record(struct ctx *cx, const struct json *v, const struct avro_record *rec, char *to)
{
    for (size_t i = 0; i < rec->n; i++) {
        const struct avro_field *f = &rec->fields[i];
        const struct json *member = json_get(v, f->name);
        if (member)
            TRY(get_value(cx, f, member, to + f->at));
        else if (!f->optional)
            return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE, "%s is missing", f->name);
    }
    return 0;
}

/* --- files ------------------------------------------------------------------------------------------------ */

static int slurp(struct ctx *cx, FILE *f, struct buf *out)
{
    static char part[1 << 16];
    size_t n;
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        buf_add(out, part, n);
    return ferror(f) || buf_fail(out) ? ctx_fail_errno(cx, E_IO, "cannot read the file") : 0;
}

static int load(struct ctx *cx, const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return ctx_fail_errno(cx, E_NOTFOUND, "cannot open %s", path);
    int rc = slurp(cx, f, out);
    fclose(f);
    return rc;
}

static int save(struct ctx *cx, const char *path, str bytes)
{
    FILE *f = fopen(path, "wb");
    size_t n = f ? fwrite(bytes.p, 1, bytes.len, f) : 0;
    if (!f || fclose(f) != 0 || n != bytes.len)
        return ctx_fail_errno(cx, E_IO, "cannot write %s", path);
    return 0;
}

static const struct avro_record *record_of(const char *kind)
{
    return strcmp(kind, "manifest") == 0 ? &manifest_entry_record
           : strcmp(kind, "list") == 0   ? &manifest_file_record
           : strcmp(kind, "index") == 0  ? &index_entry_record
                                         : NULL;
}

static int read_kind(struct ctx *cx, const char *kind, str bytes, str name, void **ret,
                     size_t *ret_n)
{
    if (*kind == 'm')
        return manifest_read(cx, bytes, name, (struct manifest_entry **)ret, ret_n);
    if (*kind == 'l')
        return manifest_list_read(cx, bytes, name, (struct manifest_file **)ret, ret_n);
    return index_manifest_read(cx, bytes, name, (struct index_entry **)ret, ret_n);
}

static int do_read(struct ctx *cx, const char *kind, const char *path)
{
    const struct avro_record *rec = record_of(kind);
    CLEANUP(buf_done) struct buf bytes = {0};
    CLEANUP(buf_done) struct buf line = {0};
    void *all;
    size_t n;
    TRY(load(cx, path, &bytes));
    TRY(read_kind(cx, kind, buf_str(&bytes), str_of(path), &all, &n));
    for (size_t i = 0; i < n; i++) {
        struct json_out o;
        buf_clear(&line);
        json_out_init(&o, &line);
        put_record(&o, rec, (const char *)all + i * rec->size);
        printf("%.*s\n", STR(buf_str(&line)));
    }
    return 0;
}

static int write_manifest(struct ctx *cx, const struct manifest_entry *e, size_t n,
                          enum codec_kind codec, const char *path)
{
    CLEANUP(manifest_write_done) struct manifest_writer w;
    struct manifest_file meta;
    str bytes;
    TRY(manifest_write_open(cx, &w, codec, 1));
    for (size_t i = 0; i < n; i++)
        TRY(manifest_write_add(cx, &w, &e[i]));
    TRY(manifest_write_end(cx, &w, &bytes, &meta));
    return save(cx, path, bytes);
}

static int parse_lines(struct ctx *cx, const struct avro_record *rec, str text, char **ret,
                       size_t *ret_n)
{
    size_t lines = 1, n = 0;
    for (size_t i = 0; i < text.len; i++)
        lines += text.p[i] == '\n';
    char *all = arena_array(&cx->arena, rec->size, lines);
    if (!all)
        return ctx_nomem(cx);
    for (str line; str_split(&text, '\n', &line);) {
        const struct json *v;
        if (line.len == 0)
            continue;
        TRY(json_parse(cx, line, "a line", &v));
        TRY(get_record(cx, v, rec, all + n++ * rec->size));
    }
    *ret = all;
    *ret_n = n;
    return 0;
}

static int do_write(struct ctx *cx, const char *kind, const char *path, const char *codec_option)
{
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(buf_done) struct buf out = {0};
    enum codec_kind codec = codec_to_write(str_of(codec_option));
    char *all;
    size_t n;
    TRY(slurp(cx, stdin, &text));
    TRY(parse_lines(cx, record_of(kind), buf_str(&text), &all, &n));
    if (*kind == 'm')
        return write_manifest(cx, (void *)all, n, codec, path);
    if (*kind == 'l')
        TRY(manifest_list_write(cx, (void *)all, n, codec, 1, &out));
    else
        TRY(index_manifest_write(cx, (void *)all, n, codec, 1, &out));
    return save(cx, path, buf_str(&out));
}

/* --- speed ------------------------------------------------------------------------------------------------ */

static int pass(struct ctx *cx, str bytes, str name, int64_t *entries)
{
    CLEANUP(manifest_done) struct manifest_reader r;
    const struct manifest_entry *e;
    int rc;
    TRY(manifest_open(cx, &r, bytes, name));
    while ((rc = manifest_next(cx, &r, &e)) > 0)
        ++*entries;
    return rc;
}

/* Of this process, so that what else runs on the machine matters little. */
static int64_t cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int do_speed(struct ctx *cx, const char *path, int64_t ms)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    int64_t entries = 0, began, took;
    TRY(load(cx, path, &bytes));
    began = cpu_ms();
    do {
        struct ctx one;
        ctx_init(&one, MEMORY);
        int rc = pass(&one, buf_str(&bytes), str_of(path), &entries);
        if (rc < 0)
            fprintf(stderr, "%s\n", one.err.msg);
        ctx_done(&one);
        TRY(rc);
    } while ((took = cpu_ms() - began) < ms);
    printf("%lld entries a second\n", (long long)(entries * 1000 / (took ? took : 1)));
    return 0;
}

int main(int argc, char **argv)
{
    struct ctx cx;
    int rc = 0;
    ctx_init(&cx, MEMORY);
    if (argc == 4 && strcmp(argv[1], "read") == 0 && record_of(argv[2]))
        rc = do_read(&cx, argv[2], argv[3]);
    else if (argc >= 4 && strcmp(argv[1], "write") == 0 && record_of(argv[2]))
        rc = do_write(&cx, argv[2], argv[3], argc > 4 ? argv[4] : "zstd");
    else if (argc >= 3 && strcmp(argv[1], "speed") == 0)
        rc = do_speed(&cx, argv[2], argc > 3 ? strtol(argv[3], NULL, 10) * 1000 : 1000);
    else
        rc =
            ctx_fail(&cx, E_INVAL, RES_NONE, STR_NONE,
                     "usage: read|write manifest|list|index FILE [CODEC], or speed FILE [SECONDS]");
    if (rc < 0)
        fprintf(stderr, "manifest_dump: %s: %s\n", err_name(rc), cx.err.msg);
    ctx_done(&cx);
    return rc < 0;
}
