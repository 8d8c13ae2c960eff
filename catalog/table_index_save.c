/* table_index_save.c - an index set to the bytes of a checkpoint and back.
 *
 *   name, how many files, how many vectors; each file: partition, bucket, type, name, external path,
 *   size, rows, content (8 bytes), how many vectors; each vector: data file, offset, length, cardinality
 *
 * The hash of content is kept as it was, since a global index says more in its manifest than a set
 * knows. Pure. */
#include "catalog/table_index_int.h"

#define FILE_MIN   16 /* bytes of one, at least */
#define VECTOR_MIN 4

static void save_file(const struct index_set *s, const struct index_file *f, struct buf *out)
{
    ckpt_add_str(out, f->partition);
    ckpt_add_i(out, f->bucket);
    ckpt_add_str(out, f->type);
    ckpt_add_str(out, f->name);
    ckpt_add_str(out, f->external_path);
    ckpt_add_u(out, (uint64_t)f->size);
    ckpt_add_u(out, (uint64_t)f->rows);
    ckpt_add_u64(out, f->content);
    ckpt_add_u(out, f->n_vectors);
    for (size_t i = f->first_vector; i < f->first_vector + f->n_vectors; i++) {
        struct index_vector v = index_set_vector(s, i);
        char *p = ckpt_room(out, 4 * CKPT_VARINT + v.data_file.len);
        if (!p)
            return;
        p = ckpt_put_u(p, v.data_file.len);
        p = ckpt_put_bytes(p, v.data_file.p, v.data_file.len);
        p = ckpt_put_u(p, (uint64_t)v.range.offset);
        p = ckpt_put_u(p, (uint64_t)v.range.length);
        ckpt_upto(out, ckpt_put_i(p, v.range.cardinality));
    }
}

void index_set_save(const struct index_set *s, struct buf *out)
{
    ckpt_add_str(out, s->name);
    ckpt_add_u(out, s->n_files);
    ckpt_add_u(out, s->n_vectors);
    for (size_t i = 0; i < s->n_files; i++)
        save_file(s, &s->files[i], out);
}

static void restore_vectors(struct ckpt_in *in, struct index_set *s, uint32_t n)
{
    for (uint32_t i = 0; i < n && !in->bad; i++) {
        str name = ckpt_bytes(in, ckpt_count(in, 1));
        struct vector v = {.name_at = (uint32_t)s->text.len,
                           .name_len = (uint32_t)name.len,
                           .file = (uint32_t)s->n_files};
        v.range.offset = (int32_t)ckpt_max(in, INT32_MAX);
        v.range.length = (int32_t)ckpt_max(in, INT32_MAX);
        v.range.cardinality = ckpt_i(in);
        in->bad = in->bad || v.range.cardinality < -1;
        buf_adds(&s->text, name);
        s->vectors[s->n_vectors++] = v;
    }
}

static int restore_file(struct ctx *cx, struct ckpt_in *in, struct index_set *s, size_t vectors,
                        struct partitioner *p)
{
    str row;
    struct index_file *f = &s->files[s->n_files];
    *f = (struct index_file){.partition = ckpt_str(in)};
    f->bucket = ckpt_i32(in);
    f->type = ckpt_str(in);
    f->name = ckpt_str(in);
    f->external_path = ckpt_str(in);
    f->size = (int64_t)ckpt_max(in, INT64_MAX);
    f->rows = (int64_t)ckpt_max(in, INT64_MAX);
    f->content = ckpt_u64(in);
    f->first_vector = (uint32_t)s->n_vectors;
    f->n_vectors = (uint32_t)ckpt_max(in, vectors - s->n_vectors);
    in->bad = in->bad || !f->partition.p || !f->type.p || !f->name.p;
    if (in->bad)
        return 0;
    TRY(partition_row(cx, p, f->partition, &row));
    in->bad = !str_eq(row, f->partition);
    f->is_vectors = str_eqz(f->type, INDEX_TYPE_DV);
    f->is_hash = str_eqz(f->type, INDEX_TYPE_HASH);
    f->id = index_file_id(f);
    restore_vectors(in, s, f->n_vectors);
    f->partition = index_text_add(s, f->partition);
    f->type = index_text_add(s, f->type);
    f->name = index_text_add(s, f->name);
    f->external_path = index_text_add(s, f->external_path);
    s->n_files++;
    return 0;
}

int index_set_restore(struct ctx *cx, struct ckpt_in *in, struct partitioner *p, size_t max_bytes,
                      struct index_set **ret)
{
    CLEANUP(index_set_unrefp) struct index_set *s = NULL;
    str name = ckpt_str(in);
    size_t files = ckpt_count(in, FILE_MIN), vectors = ckpt_count(in, VECTOR_MIN);
    TRY(index_set_new(cx, name, files, vectors, max_bytes, &s));
    for (size_t i = 0; i < files && !in->bad; i++)
        TRY(restore_file(cx, in, s, vectors, p));
    if (in->bad || s->n_vectors != vectors)
        return ctx_fail(cx, E_CORRUPT, RES_NONE, STR_NONE, "its index files are no index files");
    if (buf_fail(&s->text) == E_TOOBIG)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "%.*s: what it says does not fit in %zu bytes", STR(name), max_bytes);
    if (buf_fail(&s->text))
        return ctx_nomem(cx);
    index_set_finish(s);
    *ret = s;
    s = NULL;
    return 0;
}
