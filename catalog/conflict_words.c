/* conflict_words.c - a refusal in words that the user of a stock client reads in their own log: the
 * code, where, what, whose commit stands against it, and what to do.
 *
 * An error record holds MESSAGE_MAX bytes, and what to do stands at the end. So long names lose their
 * middle, and if that is not enough, what is wrong does. Pure. */
#include "catalog/conflict_int.h"

#include <stdarg.h>

static const char *const words[CONFLICT_CODES] = {
    [CONFLICT_FILE_GONE] = "file-gone",           [CONFLICT_FILE_TWICE] = "file-twice",
    [CONFLICT_FILE_MISSING] = "file-missing",     [CONFLICT_FILE_BAD] = "file-bad",
    [CONFLICT_PATH_OUTSIDE] = "path-outside",     [CONFLICT_MANIFEST_BAD] = "manifest-bad",
    [CONFLICT_SCHEMA_UNKNOWN] = "schema-unknown", [CONFLICT_BUCKET_COUNT] = "bucket-count",
};

#define MESSAGE_MAX (sizeof((struct err_rec *)0)->msg - 1)
#define NAME_SHOWN  80 /* stock names are shorter */
#define USER_SHOWN  48

const char *conflict_word(enum conflict_code c)
{
    return words[c];
}

static void hex_of(struct buf *b, str row)
{
    for (size_t i = 0; i < row.len; i++)
        buf_addf(b, "%02x", (unsigned char)row.p[i]);
}

static int values_of(struct ctx *cx, const struct binrow_type *t, str row,
                     struct binrow_value **ret)
{
    *ret = ARENA_ARRAY(&cx->arena, struct binrow_value, t->n + 1);
    return *ret ? binrow_read(cx, t, row, *ret) : ctx_nomem(cx);
}

/* "dt=2024-01-01/h=7"; values that have no text are shown as the row's bytes. */
static int partition_words(struct check *c, str row, str *ret)
{
    CLEANUP(buf_done) struct buf b = {0};
    const struct binrow_type *t = state_options(c->st)->partition;
    struct binrow_value *v;
    *ret = STR_LIT("");
    if (t->n == 0)
        return 0;
    int rc = values_of(c->cx, t, row, &v);
    if (rc == 0)
        rc = partition_path_write(c->cx, t, c->rules->partition_names, v, &c->rules->naming, &b);
    if (rc == E_NOMEM)
        return rc;
    ctx_reset_err(c->cx);
    if (rc < 0) {
        buf_clear(&b);
        hex_of(&b, row);
    }
    str text = buf_str(&b);
    if (text.len && text.p[text.len - 1] == '/')
        text.len--;
    *ret = str_dup(&c->cx->arena, text);
    return ret->p ? 0 : ctx_nomem(c->cx);
}

static const char *shortened(struct check *c, str s, size_t max)
{
    str z = str_shortened(&c->cx->arena, s, max);
    return z.p ? z.p : "?";
}

const char *shown(struct check *c, str s)
{
    return shortened(c, s, NAME_SHOWN);
}

static void where(struct check *c, struct buf *b, const struct refusal *r)
{
    if (r->partition.len)
        buf_addf(b, "partition %s, ", shown(c, r->partition));
    buf_addf(b, "bucket %d: ", r->bucket);
}

static void whose(struct check *c, struct buf *b, const struct refusal *r)
{
    if (r->other_snapshot)
        buf_addf(b, " (snapshot %lld of commit user \"%s\")", (long long)r->other_snapshot,
                 shortened(c, r->other_user, USER_SHOWN));
}

/* "<code>: <where><text><whose>; <what to do>". *ret_what: how much of it is before the semicolon. */
static void compose(struct check *c, struct buf *b, const struct refusal *r, str text,
                    const char *what_to_do, size_t *ret_what)
{
    buf_addf(b, "%s: ", words[r->code]);
    if (r->partition.p)
        where(c, b, r);
    buf_adds(b, text);
    whose(c, b, r);
    *ret_what = b->len;
    buf_addf(b, "; %s", what_to_do);
}

int refuse(struct check *c, enum conflict_code code, const struct table_file *file,
           const struct table_file *other, const char *what_to_do, const char *why, ...)
{
    CLEANUP(buf_done) struct buf b = {0};
    char full[1024]; /* names are short by now */
    size_t what;
    va_list ap;
    va_start(ap, why);
    vsnprintf(full, sizeof full, why, ap);
    va_end(ap);
    str text = str_of(full);
    struct refusal *r = &c->v->refusal;
    *r = (struct refusal){
        .code = code, .partition = STR_NONE, .file = STR_NONE, .other_user = STR_NONE};
    if (file) {
        TRY(partition_words(c, file->partition, &r->partition));
        r->bucket = file->bucket;
        r->file = file->name;
    }
    if (other && other->snapshot) {
        r->other_snapshot = other->snapshot;
        r->other_user = str_dup(&c->cx->arena, other->user);
    }
    compose(c, &b, r, text, what_to_do, &what);
    if (b.len > MESSAGE_MAX) {
        size_t others = b.len - text.len, room = MESSAGE_MAX > others ? MESSAGE_MAX - others : 0;
        text = str_shortened(&c->cx->arena, text, room);
        buf_clear(&b);
        compose(c, &b, r, text, what_to_do, &what);
    }
    r->message = str_dup(&c->cx->arena, buf_str(&b));
    r->what = str_n(r->message.p, what);
    if (buf_fail(&b) || !r->message.p || !text.p)
        return ctx_nomem(c->cx);
    c->v->kind = VERDICT_REFUSE;
    return REFUSED;
}
