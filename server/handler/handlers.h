/* handlers.h - the handlers that routes.def names, and what several of them share.
 *
 * A handler decodes (proto/api), makes one cat_* call and encodes; phases and threads are as
 * request.h says. */
#ifndef LATCH_SERVER_HANDLER_HANDLERS_H
#define LATCH_SERVER_HANDLER_HANDLERS_H

#include "proto/api/api_common.h"
#include "server/request.h"

/* int h_config(struct request *rq); and so on: every handler of routes.def. */
#define ROUTE(method, pattern, auth, cap, where, handler)                                          \
    int handler(struct request *rq) WARN_UNUSED;
#include "proto/api/routes.def"
#undef ROUTE

/* maxResults, pageToken and the name pattern that comes as parameter `pattern`. */
int h_page(struct request *rq, const char *pattern, struct page_in *ret) WARN_UNUSED;
/* The same in all databases, with databaseNamePattern, for objects of this kind. */
int h_find_page(struct request *rq, const char *pattern, enum object_kind kind,
                struct store_find_in *ret) WARN_UNUSED;
/* Answers such a page as `member`. */
int h_answer_pairs(struct request *rq, const char *member, const struct name_pair *pairs, size_t n,
                   int64_t limit) WARN_UNUSED;
struct api_audit h_audit(const struct stamp *s); /* borrows from s */
/* The branch that {database}/{table} names, held until the request ends. (worker) E_NOTFOUND */
int h_open_branch(struct request *rq, struct branch **ret) WARN_UNUSED;
/* The same for what can be done to main only. E_UNSUPPORTED for another branch. (worker) */
int h_open_main(struct request *rq, struct branch **ret) WARN_UNUSED;
/* For what is read of a branch on a worker: opens it and lets `read` run there as soon as the branch is
 * settled, which takes a turn on its strand at most. Becomes rq->state; may be the first member of
 * something larger. (worker) */
struct h_settled {
    struct branch *br;
    int (*read)(struct request *rq);
};
int h_settle(struct request *rq, struct h_settled *s, int (*read)(struct request *rq)) WARN_UNUSED;
/* Makes `next` run on br's strand. The return value is the handler's. */
int h_to_strand(struct request *rq, struct branch *br, int (*next)(struct request *rq)) WARN_UNUSED;

#endif
