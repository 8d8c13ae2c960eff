/* table_file.c - manifest entries -> table files, with partitions in one form and a hash of identity.
 *
 * Entries of one partition follow each other in manifests, so the last row that was turned is kept:
 * most calls compare a few bytes and are done. The identity is data_file_id's; its 64-bit hash stands
 * for it in sums and look-ups, as hashes of keys do elsewhere: two different files of one table are
 * taken for one with a probability of n^2 / 2^65.
 *
 * Thread rule: a partitioner and a filer belong to one thread at a time. */
#include "catalog/table_file.h"

#include "proto/base/hash.h"
#include "proto/base/mem.h"

int partitioner_init(struct ctx *cx, struct partitioner *p, const struct binrow_type *t)
{
    size_t n = t ? t->n : 0;
    *p = (struct partitioner){0};
    /* pointers, then types, then values; one block, owned through `values` of the last part */
    struct data_type *types = mem_alloc(n * (sizeof(struct data_type) + sizeof(void *)) + 1);
    struct binrow_value *values = mem_alloc((n + 1) * sizeof *values);
    if (!types || !values) {
        mem_free(types);
        mem_free(values);
        return ctx_nomem(cx);
    }
    const struct data_type **at = (const struct data_type **)(types + n);
    for (size_t i = 0; i < n; i++) {
        types[i] = *t->types[i];
        at[i] = &types[i];
    }
    p->type = (struct binrow_type){at, n};
    p->values = values;
    return 0;
}

void partitioner_done(struct partitioner *p)
{
    if (p->values)
        mem_free((char *)p->type.types - p->type.n * sizeof(struct data_type));
    mem_free(p->values);
    buf_done(&p->raw);
    buf_done(&p->row);
    *p = (struct partitioner){0};
}

int partition_row(struct ctx *cx, struct partitioner *p, str raw, str *ret)
{
    if (!p->has || !str_eq(raw, buf_str(&p->raw))) {
        p->has = false;
        if (binrow_read(cx, &p->type, raw, p->values) < 0)
            return ctx_prefix(cx, "its partition");
        buf_clear(&p->raw);
        buf_clear(&p->row);
        buf_adds(&p->raw, raw);
        binrow_write(&p->row, &p->type, p->values);
        if (buf_fail(&p->raw) || buf_fail(&p->row))
            return ctx_nomem(cx);
        p->has = true;
    }
    *ret = buf_str(&p->row);
    return 0;
}

int table_filer_init(struct ctx *cx, struct table_filer *f, const struct binrow_type *t,
                     bool with_row_id)
{
    *f = (struct table_filer){.with_row_id = with_row_id};
    return partitioner_init(cx, &f->partitions, t);
}

void table_filer_done(struct table_filer *f)
{
    partitioner_done(&f->partitions);
    buf_done(&f->id);
}

int table_file_of(struct ctx *cx, struct table_filer *f, const struct manifest_entry *e,
                  struct table_file *ret)
{
    const struct data_file *d = &e->file;
    str row = STR_NONE;
    if (partition_row(cx, &f->partitions, e->partition, &row) < 0)
        return ctx_prefix(cx, "the data file \"%.*s\"",
                          (int)(d->name.len > 120 ? 120 : d->name.len), d->name.p);
    buf_clear(&f->id);
    data_file_id(&f->id, row, e->bucket, d, f->with_row_id);
    if (buf_fail(&f->id))
        return ctx_nomem(cx);
    *ret = (struct table_file){
        .partition = row,
        .bucket = e->bucket,
        .total_buckets = e->total_buckets,
        .level = d->level,
        .name = d->name,
        .size = d->size,
        .rows = d->row_count,
        .min_seq = d->min_seq,
        .max_seq = d->max_seq,
        .schema_id = d->schema_id,
        .min_key = d->min_key,
        .max_key = d->max_key,
        .created_ms = d->creation_ms,
        .delete_rows = d->delete_row_count,
        .first_row_id = d->first_row_id,
        .source = d->source,
        .external_path = d->external_path,
        .extra_files = d->extra_files,
        .id = hash64(f->id.p, f->id.len),
        .user = STR_NONE,
    };
    return 0;
}
