/* h_partition.c - partitions of a table: listed, by name or filter; made, dropped, marked as done.
 *
 * 501 is an answer of the protocol, for tables whose totals are not kept or cannot be known: clients then
 * list the partitions from the manifests. Reading is done on a worker once the branch is settled, or,
 * when it turns out that the totals must be counted first, in the same turn on the branch's strand.
 * Changes have an order with commits and run there. A filter is a predicate that
 * clients apply once more themselves, so an answer may hold more than it matches. */
#include "proto/api/api_partition.h"
#include "server/handler/handlers.h"
#include "server/server.h"

/* --- reading ---------------------------------------------------------------------------------- */

struct listing {
    struct h_settled settled; /* first */
    struct page_in page;
    const struct json *specs;
    int (*read)(struct request *rq);
};

/* limit 0: not a page. The token of the key "", of a table without partition keys, would be taken for
 * the start; nothing comes after it. */
static int answer(struct request *rq, const struct partition_row *rows, size_t n, int64_t limit)
{
    struct api_partition *out = ARENA_ARRAY(&rq->cx.arena, struct api_partition, n + 1);
    if (!out)
        return ctx_nomem(&rq->cx);
    for (size_t i = 0; i < n; i++)
        out[i] = (struct api_partition){.spec_json = rows[i].sum.spec_json,
                                        .records = rows[i].sum.records,
                                        .file_size_bytes = rows[i].sum.file_size_bytes,
                                        .file_count = rows[i].sum.file_count,
                                        .last_file_ms = rows[i].sum.last_file_ms,
                                        .buckets = rows[i].sum.buckets,
                                        .done = rows[i].done,
                                        .created_ms = rows[i].stamp.created_ms,
                                        .updated_ms = rows[i].stamp.updated_ms,
                                        .created_by = rows[i].stamp.created_by,
                                        .updated_by = rows[i].stamp.updated_by};
    bool full = n > 0 && n == (size_t)limit && rows[n - 1].sum.key.len > 0;
    return api_partitions_encode(&rq->cx, &rq->res.body, out, n,
                                 full ? rows[n - 1].sum.key : STR_NONE);
}

static int count_turn(struct request *rq)
{
    struct listing *l = rq->state;
    TRY(branch_partitions_count(&rq->cx, l->settled.br));
    return l->read(rq);
}

static int read_begin(struct request *rq)
{
    struct listing *l = rq->state;
    int rc = l->read(rq);
    return rc == CAT_NEED ? h_to_strand(rq, l->settled.br, count_turn) : rc;
}

static int read_settled(struct request *rq, struct listing *l, int (*read)(struct request *rq))
{
    l->read = read;
    TRY(h_open_branch(rq, &l->settled.br));
    if (branch_has_commits(l->settled.br))
        return h_settle(rq, &l->settled, read_begin);
    rq->state = l;
    return read_begin(rq);
}

static int read_page(struct request *rq)
{
    struct listing *l = rq->state;
    struct partition_row *rows;
    size_t n;
    int rc = branch_partitions(&rq->cx, l->settled.br, &l->page, &rows, &n);
    if (rc != 0)
        return rc;
    return answer(rq, rows, n, l->page.limit);
}

int h_partition_list(struct request *rq)
{
    struct listing *l = ARENA_NEW(&rq->cx.arena, struct listing);
    if (!l)
        return ctx_nomem(&rq->cx);
    TRY(h_page(rq, "partitionNamePattern", &l->page));
    return read_settled(rq, l, read_page);
}

int h_partition_filter(struct request *rq)
{
    const struct json *body;
    struct api_partitions_filter in;
    struct listing *l = ARENA_NEW(&rq->cx.arena, struct listing);
    if (!l)
        return ctx_nomem(&rq->cx);
    TRY(rq_json(rq, &body));
    TRY(api_partitions_filter_decode(&rq->cx, body, &in));
    l->page.limit = rq_limit(in.max_results);
    l->page.after = in.token;
    TRY(rq_pattern_of(rq, "partitionNamePattern", in.pattern, &l->page.prefix, &l->page.exact));
    return read_settled(rq, l, read_page);
}

static int read_named(struct request *rq)
{
    struct listing *l = rq->state;
    struct partition_row *rows;
    size_t n;
    int rc = branch_partitions_named(&rq->cx, l->settled.br, l->specs, &rows, &n);
    if (rc != 0)
        return rc;
    return answer(rq, rows, n, 0);
}

int h_partition_named(struct request *rq)
{
    const struct json *body;
    struct listing *l = ARENA_NEW(&rq->cx.arena, struct listing);
    if (!l)
        return ctx_nomem(&rq->cx);
    TRY(rq_json(rq, &body));
    TRY(api_partitions_specs_decode(&rq->cx, body, API_PARTITIONS_NAMED_MAX, &l->specs));
    return read_settled(rq, l, read_named);
}

/* --- changes ---------------------------------------------------------------------------------- */

struct change {
    struct branch *br;
    struct partitions_create_in in; /* of drop and mark: specs and strict */
    bool *there;
};

static int begin(struct request *rq, struct change **ret, const struct json **ret_body)
{
    *ret = ARENA_NEW(&rq->cx.arena, struct change);
    if (!*ret)
        return ctx_nomem(&rq->cx);
    return rq_json(rq, ret_body);
}

static int to_strand(struct request *rq, struct change *ch, int (*turn)(struct request *rq))
{
    ch->there = ARENA_ARRAY(&rq->cx.arena, bool, ch->in.specs->n + 1);
    if (!ch->there)
        return ctx_nomem(&rq->cx);
    TRY(h_open_branch(rq, &ch->br));
    rq->state = ch;
    return h_to_strand(rq, ch->br, turn);
}

static int create_turn(struct request *rq)
{
    struct change *ch = rq->state;
    TRY(branch_partitions_create(&rq->cx, ch->br, &ch->in, ch->there));
    return api_partitions_split_encode(&rq->cx, &rq->res.body, ch->in.specs, ch->there, "existed",
                                       "created");
}

int h_partition_create(struct request *rq)
{
    const struct json *body;
    struct api_partitions_create in;
    struct change *ch;
    TRY(begin(rq, &ch, &body));
    TRY(api_partitions_create_decode(&rq->cx, body, &in));
    ch->in = (struct partitions_create_in){.specs = in.specs,
                                           .strict = !in.ignore_if_exists,
                                           .stats = in.stats,
                                           .n_stats = in.n_stats,
                                           .replace = in.replace};
    return to_strand(rq, ch, create_turn);
}

static int drop_turn(struct request *rq)
{
    struct change *ch = rq->state;
    TRY(branch_partitions_drop(&rq->cx, ch->br, ch->in.specs, ch->in.strict, ch->there));
    return api_partitions_split_encode(&rq->cx, &rq->res.body, ch->in.specs, ch->there, "dropped",
                                       "missing");
}

int h_partition_drop(struct request *rq)
{
    const struct json *body;
    struct api_partitions_drop in;
    struct change *ch;
    TRY(begin(rq, &ch, &body));
    TRY(api_partitions_drop_decode(&rq->cx, body, &in));
    ch->in = (struct partitions_create_in){.specs = in.specs, .strict = !in.ignore_if_not_exists};
    return to_strand(rq, ch, drop_turn);
}

static int mark_turn(struct request *rq)
{
    struct change *ch = rq->state;
    return branch_partitions_mark(&rq->cx, ch->br, ch->in.specs);
}

int h_partition_mark(struct request *rq)
{
    const struct json *body;
    struct change *ch;
    TRY(begin(rq, &ch, &body));
    TRY(api_partitions_specs_decode(&rq->cx, body, API_PARTITIONS_MAX, &ch->in.specs));
    return to_strand(rq, ch, mark_turn);
}
