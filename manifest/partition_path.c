/* partition_path.c - the path: escaping, joining, splitting. The texts of values are made in
 * partition_text.c and read in partition_parse.c.
 *
 * Source: paimon-core PartitionPathUtils. Characters above U+007F are never escaped, so working on the
 * bytes of UTF-8 gives what Java gets from its chars. No state; any thread. */
#include "manifest/partition_path.h"

#include "proto/base/hash.h"

#define SHOWN(s) ((s).len < 100 ? (int)(s).len : 100), (s).p

static bool must_escape(unsigned char c)
{
    return c < ' ' || (c < 0x80 && memchr("\"#%'*/:=?\\\x7f{}[]^", c, 17));
}

void partition_escape(struct buf *b, str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (must_escape(c))
            buf_addf(b, "%%%02X", c);
        else
            buf_addc(b, (char)c);
    }
}

/* "%E9" is the character U+00E9 to Java, which are two bytes. */
static size_t put_char(char *at, int code)
{
    if (code < 0x80) {
        at[0] = (char)code;
        return 1;
    }
    at[0] = (char)(0xc0 | code >> 6);
    at[1] = (char)(0x80 | (code & 0x3f));
    return 2;
}

str partition_unescape(struct ctx *cx, str text)
{
    if (str_find(text, '%') < 0)
        return text;
    char *p = arena_alloc(&cx->arena, text.len); /* three bytes become two at most */
    size_t n = 0;
    if (!p)
        return STR_NONE;
    for (size_t i = 0; i < text.len; i++) {
        int high = -1, low = -1;
        if (text.p[i] == '%' && i + 2 < text.len) {
            high = hex_digit(text.p[i + 1]);
            low = hex_digit(text.p[i + 2]);
        }
        if (high < 0 || low < 0) {
            p[n++] = text.p[i];
            continue;
        }
        n += put_char(p + n, high * 16 + low);
        i += 2;
    }
    return str_n(p, n);
}

int partition_path_write(struct ctx *cx, const struct binrow_type *t, const str *names,
                         const struct binrow_value *v, const struct partition_naming *naming,
                         struct buf *b)
{
    CLEANUP(buf_done) struct buf text = {0};
    for (size_t i = 0; i < t->n; i++) {
        buf_clear(&text);
        TRY(partition_text(cx, t->types[i], &v[i], naming, &text));
        partition_escape(b, names[i]);
        buf_addc(b, '=');
        partition_escape(b, buf_str(&text));
        buf_addc(b, '/');
    }
    return buf_fail(b) == 0 ? 0
                            : ctx_fail(cx, buf_fail(b), RES_NONE, STR_NONE,
                                       "the path of a partition is too long");
}

int partition_path_split(struct ctx *cx, str path, const str *names, size_t n, str *ret_texts)
{
    str rest = path, part;
    if (str_ends(path, STR_LIT("/")))
        rest.len--;
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t eq = -1;
        if (!str_split(&rest, '/', &part) || (eq = str_find(part, '=')) < 1 ||
            (size_t)eq + 1 == part.len)
            return ctx_fail(cx, E_INVAL, RES_PARTITION, path,
                            "'%.*s' is no partition: %zu parts of the form column=value are needed",
                            SHOWN(path), n);
        str key = partition_unescape(cx, str_n(part.p, (size_t)eq));
        str text = partition_unescape(cx, str_cut(part, (size_t)eq + 1));
        if (!key.p || !text.p)
            return ctx_nomem(cx);
        if (!str_eq(key, names[i]))
            return ctx_fail(cx, E_INVAL, RES_PARTITION, path,
                            "partition '%.*s' names column '%.*s' where '%.*s' is expected",
                            SHOWN(path), SHOWN(key), SHOWN(names[i]));
        ret_texts[i] = text;
    }
    if (rest.p && (n > 0 || rest.len > 0))
        return ctx_fail(
            cx, E_INVAL, RES_PARTITION, path,
            "partition '%.*s' has more parts than the table has partition columns (%zu)",
            SHOWN(path), n);
    return 0;
}
