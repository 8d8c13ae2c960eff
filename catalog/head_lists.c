/* head_lists.c - see head_lists.h.
 *
 * What the branch keeps only grows while its commits follow each other: the head's lists plus one more delta
 * are what the next head names. Whatever else happens to the branch makes it another text, and the next
 * commit reads the lists anew.
 *
 * Thread rule: head_lists_read anywhere; what hangs on the branch belongs to its strand, but for lists_text. */
#include "catalog/head_lists.h"

#include "proto/base/mem.h"

#define LISTS_MAX_BYTES ((size_t)256 << 20)

void head_lists_free(struct head_lists *l)
{
    if (!l)
        return;
    ctx_done(&l->own);
    mem_free(l);
}

static struct head_lists *lists_new(uint64_t text)
{
    struct head_lists *l = mem_zalloc(sizeof *l);
    if (!l)
        return NULL;
    ctx_init(&l->own, LISTS_MAX_BYTES);
    l->text = text;
    return l;
}

static int room(struct head_lists *l, size_t more)
{
    if (l->n + more <= l->cap)
        return 0;
    size_t cap = (l->n + more) * 2;
    struct manifest_file *wide = ARENA_ARRAY(&l->own.arena, struct manifest_file, cap);
    if (!wide)
        return E_NOMEM;
    for (size_t i = 0; i < l->n; i++)
        wide[i] = l->files[i];
    l->files = wide;
    l->cap = cap;
    return 0;
}

static int append(struct head_lists *l, const struct manifest_file *files, size_t n)
{
    TRY(room(l, n));
    for (size_t i = 0; i < n; i++)
        TRY(avro_copy(&l->own, &manifest_file_record, &files[i], &l->files[l->n + i]));
    l->n += n;
    return 0;
}

static int read_one(struct ctx *cx, struct head_lists *l, const struct meta_dir *d, str name)
{
    struct manifest_file *files;
    size_t n;
    int rc = meta_list(&l->own, d, name, SIZE_ANY, &files, &n);
    if (rc < 0) {
        cx->err = l->own.err;
        return rc;
    }
    if (room(l, n) < 0)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++)
        l->files[l->n++] = files[i];
    return 0;
}

int head_lists_read(struct ctx *cx, struct branch *br, const struct head *h,
                    struct head_lists **ret)
{
    struct meta_dir dir = branch_meta_dir(br);
    struct head_lists *l = lists_new(head_text(h));
    if (!l)
        return ctx_nomem(cx);
    int rc = h ? read_one(cx, l, &dir, h->base_list) : 0;
    if (rc == 0 && h)
        rc = read_one(cx, l, &dir, h->delta_list);
    if (rc < 0) {
        head_lists_free(l);
        return rc;
    }
    *ret = l;
    return 0;
}

/* --- on the strand ---------------------------------------------------------------------------- */

void branch_lists_drop(struct branch *br)
{
    atomic_store(&br->lists_text, 0);
    head_lists_free(br->lists);
    br->lists = NULL;
}

const struct head_lists *branch_lists(const struct branch *br)
{
    return br->lists && br->lists->text == head_text(br->head) ? br->lists : NULL;
}

void branch_lists_forward(struct branch *br, uint64_t before, const struct manifest_file *base,
                          size_t n_base, const struct manifest_file *delta, size_t n_delta)
{
    bool grows = br->lists && br->lists->text == before && br->lists->files == base;
    struct head_lists *l = grows ? br->lists : lists_new(0);
    bool ok = l && (grows || append(l, base, n_base) == 0) && append(l, delta, n_delta) == 0;
    if (!grows) { /* base may be of the old ones */
        branch_lists_drop(br);
        br->lists = l;
    }
    if (!ok) {
        branch_lists_drop(br);
        return;
    }
    l->text = head_text(br->head);
    atomic_store(&br->lists_text, l->text);
}
