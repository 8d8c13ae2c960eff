/* folder.c - what is in a folder of a branch: the files' ids, or their names.
 *
 * A folder that is not there is empty: clients and we make it with its first file. What a file's
 * name says is up to the caller's `parse`; what it does not take is not listed. No state; any thread
 * that may block. */
#include "catalog/catalog_int.h"

int branch_files(struct ctx *cx, struct branch *br, str folder, struct io_entry **ret,
                 size_t *ret_n)
{
    *ret = NULL;
    *ret_n = 0;
    int rc = folder.p ? io_list(br->table->io, cx, folder, ret, ret_n) : ctx_nomem(cx);
    if (rc != E_NOTFOUND)
        return rc;
    ctx_reset_err(cx);
    return 0;
}

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

int branch_ids(struct ctx *cx, struct branch *br, str folder, bool (*parse)(str, int64_t *),
               int64_t above, int64_t up_to, struct ids *ret)
{
    struct io_entry *e;
    size_t n;
    TRY(branch_files(cx, br, folder, &e, &n));
    ret->n = 0;
    ret->at = ARENA_ARRAY(&cx->arena, int64_t, n ? n : 1);
    if (!ret->at)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++) {
        int64_t id;
        if (parse(e[i].name, &id) && id > above && id <= up_to)
            ret->at[ret->n++] = id;
    }
    qsort(ret->at, ret->n, sizeof *ret->at, newest_first);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static bool wanted(const struct page_in *in, str name)
{
    return str_starts(name, in->prefix) && (!in->after.len || str_cmp(name, in->after) > 0) &&
           str_utf8_valid(name);
}

int branch_names(struct ctx *cx, struct branch *br, str folder, bool (*parse)(str, str *),
                 const struct page_in *in, str **ret, size_t *ret_n)
{
    struct io_entry *e;
    size_t n, k = 0;
    TRY(branch_files(cx, br, folder, &e, &n));
    str *names = ARENA_ARRAY(&cx->arena, str, n ? n : 1);
    if (!names)
        return ctx_nomem(cx);
    for (size_t i = 0; i < n; i++)
        if (!e[i].is_dir && parse(e[i].name, &names[k]) && wanted(in, names[k]))
            k++;
    qsort(names, k, sizeof *names, by_name);
    *ret = names;
    *ret_n = k < (size_t)in->limit ? k : (size_t)in->limit;
    return 0;
}
