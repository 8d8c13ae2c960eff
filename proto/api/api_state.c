/* api_state.c - see api_state.h. The format is our own. Pure. */
#include "proto/api/api_state.h"

static void number(struct json_out *o, const char *key, bool known, int64_t v)
{
    json_key(o, key);
    if (known)
        json_i64(o, v);
    else
        json_null(o);
}

static void lines(struct json_out *o, str text)
{
    str rest = text, line;
    json_key(o, "differences");
    json_arr(o);
    while (str_split(&rest, '\n', &line))
        if (line.len)
            json_str(o, line);
    json_end(o);
}

int api_state_encode(struct ctx *cx, struct buf *out, const struct api_state *s)
{
    struct json_out o;
    json_out_init(&o, out);
    json_obj(&o);
    number(&o, "snapshotId", s->snapshot_id > 0, s->snapshot_id);
    json_ki64(&o, "epoch", s->epoch);
    json_kbool(&o, "forked", s->forked);
    json_kbool(&o, "inMemory", s->in_memory);
    number(&o, "files", s->in_memory, s->files);
    number(&o, "rows", s->in_memory, s->rows);
    number(&o, "sizeInBytes", s->in_memory, s->size_bytes);
    number(&o, "partitions", s->in_memory, s->partitions);
    number(&o, "buckets", s->in_memory, s->buckets);
    number(&o, "manifests", s->in_memory, s->manifests);
    number(&o, "indexFiles", s->in_memory, s->index_files);
    number(&o, "deletionVectors", s->in_memory, s->vectors);
    number(&o, "memoryInBytes", s->in_memory, s->memory_bytes);
    if (s->compared) {
        json_kbool(&o, "equal", s->equal);
        lines(&o, s->differences);
    }
    json_end(&o);
    return api_out_end(cx, out);
}
