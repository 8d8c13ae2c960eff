/* h_table.c - tables: list (of a database, of all), details, create, register, get, by id, rename,
 * alter, drop, replace.
 *
 * Alter, drop and replace have an order with the table's commits, so their change runs on the strand of the
 * branch that is altered, or of main; the rest is done on a worker. Create, register, rename, alter,
 * drop and replace answer 200 with an empty body, which is what Paimon's clients expect. */
#include "proto/api/api_table.h"
#include "server/handler/handlers.h"
#include "server/server.h"

int h_table_list(struct request *rq)
{
    struct page_in in;
    str type, *names;
    size_t n;
    TRY(h_page(rq, "tableNamePattern", &in));
    TRY(rq_query(rq, "tableType", &type));
    TRY(cat_names(&rq->cx, rq->srv->cat, rq->warehouse, OBJECT_TABLE, rq->params[1], &in, type,
                  &names, &n));
    return api_names_encode(&rq->cx, &rq->res.body, "tables", names, n, in.limit);
}

int h_table_find(struct request *rq)
{
    struct store_find_in in;
    struct name_pair *pairs;
    size_t n;
    TRY(h_find_page(rq, "tableNamePattern", OBJECT_TABLE, &in));
    TRY(cat_find(&rq->cx, rq->srv->cat, rq->warehouse, &in, &pairs, &n));
    return h_answer_pairs(rq, "tables", pairs, n, in.limit);
}

int h_table_create(struct request *rq)
{
    const struct json *body;
    struct api_table_create in;
    TRY(rq_json(rq, &body));
    TRY(api_table_create_decode(&rq->cx, body, rq->params[1], &in));
    return cat_table_create(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], in.name,
                            in.schema);
}

int h_table_register(struct request *rq)
{
    const struct json *body;
    struct api_table_register in;
    TRY(rq_json(rq, &body));
    TRY(api_table_register_decode(&rq->cx, body, rq->params[1], &in));
    return cat_table_register(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], in.name,
                              in.path);
}

static struct api_table described(const struct table_info *t, str object)
{
    return (struct api_table){.id = t->row.id,
                              .database = t->row.db_name,
                              .object = object,
                              .path = t->path,
                              .external = t->row.external.len > 0,
                              .schema_id = t->row.schema_id,
                              .schema_json = t->row.schema_json,
                              .audit = h_audit(&t->row.stamp)};
}

static int answer_table(struct request *rq, const struct table_info *t, str object)
{
    struct api_table out = described(t, object);
    return api_table_encode(&rq->cx, &rq->res.body, &out);
}

static int get_turn(struct request *rq)
{
    struct head *h;
    TRY(branch_head(&rq->cx, rq->state, &h));
    head_unref(h);
    rq->next = h_table_get;
    return STEP_WORKER;
}

int h_table_get(struct request *rq)
{
    struct table_info t;
    struct branch *br;
    str object = rq->params[2];
    int rc = cat_table_get(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], object, &t);
    TRY(rc);
    if (rc == 0)
        return answer_table(rq, &t, object);
    TRY(h_open_branch(rq, &br)); /* CAT_NEED */
    rq->state = br;
    return h_to_strand(rq, br, get_turn);
}

/* Those of the page that were dropped since it was read are left out. */
int h_table_details(struct request *rq)
{
    struct page_in in;
    str type, *names;
    size_t n, k = 0;
    TRY(h_page(rq, "tableNamePattern", &in));
    TRY(rq_query(rq, "tableType", &type));
    TRY(cat_names(&rq->cx, rq->srv->cat, rq->warehouse, OBJECT_TABLE, rq->params[1], &in, type,
                  &names, &n));
    struct api_table *out = ARENA_ARRAY(&rq->cx.arena, struct api_table, n ? n : 1);
    if (!out)
        return ctx_nomem(&rq->cx);
    for (size_t i = 0; i < n; i++) {
        struct table_info t;
        int rc = cat_table_get(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], names[i], &t);
        if (rc < 0 && rc != E_NOTFOUND)
            return rc;
        ctx_reset_err(&rq->cx);
        if (rc == 0)
            out[k++] = described(&t, names[i]);
    }
    return api_table_details_encode(&rq->cx, &rq->res.body, out, k,
                                    n == (size_t)in.limit ? names[n - 1] : STR_NONE);
}

int h_table_by_id(struct request *rq)
{
    struct table_info t;
    TRY(cat_table_by_id(&rq->cx, rq->srv->cat, rq->warehouse, rq->params[1], &t));
    return answer_table(rq, &t, t.row.name);
}

int h_table_rename(struct request *rq)
{
    const struct json *body;
    struct api_table_rename in;
    TRY(rq_json(rq, &body));
    TRY(api_table_rename_decode(&rq->cx, body, &in));
    return cat_table_rename(&rq->cx, rq->srv->cat, rq->warehouse, in.source.database,
                            in.source.object, in.destination.database, in.destination.object);
}

struct alter {
    struct branch *br;
    const struct json *changes; /* in the request's arena */
};

static int alter_turn(struct request *rq)
{
    struct alter *a = rq->state;
    return table_alter(&rq->cx, a->br, a->changes);
}

/* Java's alterTable takes every 404 but that of a table or column for success. */
static int open_to_alter(struct request *rq, struct branch **ret)
{
    int rc = h_open_branch(rq, ret);
    if (rc == E_NOTFOUND && rq->cx.err.res == RES_DATABASE)
        return ctx_fail(&rq->cx, E_NOTFOUND, RES_TABLE, rq->params[2],
                        "table %.*s does not exist: there is no database %.*s",
                        API_SHOWN(rq->params[2]), API_SHOWN(rq->params[1]));
    return rc;
}

int h_table_alter(struct request *rq)
{
    const struct json *body;
    struct alter *a = ARENA_NEW(&rq->cx.arena, struct alter);
    if (!a)
        return ctx_nomem(&rq->cx);
    TRY(open_to_alter(rq, &a->br));
    TRY(rq_json(rq, &body));
    TRY(api_changes_decode(&rq->cx, body, &a->changes));
    rq->state = a;
    return h_to_strand(rq, a->br, alter_turn);
}

static int drop_turn(struct request *rq)
{
    return table_drop(&rq->cx, rq->state, rq->params[1], rq->params[2]);
}

int h_table_drop(struct request *rq)
{
    struct branch *br;
    TRY(h_open_main(rq, &br));
    rq->state = br;
    return h_to_strand(rq, br, drop_turn);
}

struct replacing {
    struct branch *br;
    struct replace *rp;
};

static int replace_on_worker(struct request *rq);

static int replace_turn(struct request *rq)
{
    struct replacing *r = rq->state;
    int rc = replace_run(&rq->cx, r->rp);
    if (rc != CAT_NEED)
        return rc;
    rq->next = replace_on_worker;
    return STEP_WORKER;
}

static int replace_on_worker(struct request *rq)
{
    struct replacing *r = rq->state;
    TRY(replace_prepare(&rq->cx, r->rp));
    return h_to_strand(rq, r->br, replace_turn);
}

int h_table_replace(struct request *rq)
{
    const struct json *body, *schema;
    struct replacing *r = ARENA_NEW(&rq->cx.arena, struct replacing);
    if (!r)
        return ctx_nomem(&rq->cx);
    TRY(h_open_main(rq, &r->br));
    TRY(rq_json(rq, &body));
    TRY(api_table_replace_decode(&rq->cx, body, &schema));
    TRY(replace_new(&rq->cx, r->br, schema, &r->rp));
    rq->state = r;
    return replace_on_worker(rq);
}
