/* http.c - libmicrohttpd: connections, bytes of bodies, answers. The only includer of microhttpd.h.
 *
 * A connection has one struct http_conn, made when it is accepted; its requests follow each other
 * in it, so a request costs no allocation as long as its arena stays within the seed. The stages of
 * a request, as libmicrohttpd calls on_request:
 *
 *   HEAD -> (parked for the token) -> HEAD -> BODY -> (parked for the handler) -> ANSWERED
 *                                        \-> DROP: an answer is known, the rest of the body is read
 *                                            and dropped ----------------------------^
 *
 * An answer before the body is whole makes libmicrohttpd close the connection, and with unread
 * bytes the kernel then resets it: the client would see the reset and not the answer. So a body
 * that is refused is dropped first, unless it is huge or the client waits with "Expect:
 * 100-continue". That is also why requests without a body are answered on the second call only.
 *
 * A suspended connection sees neither time-outs nor a vanished client; deadlines are dispatch.c's.
 * libmicrohttpd aborts when it is stopped with a suspended connection: `parked` counts them.
 *
 * Threads: everything here runs on the connection's HTTP thread, but http_unpark, http_counts and
 * the shared responses. Between http_park and http_unpark the request belongs to a pool. */
#include "server/http.h"

#include <microhttpd.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/mem.h"
#include "server/dispatch.h"
#include "server/server.h"

#define SEED        256 /* first bytes of a request's arena, part of the connection */
#define BODY_FIRST  ((size_t)256 << 10) /* of a body, taken before a byte has come */
#define BODY_IDLE_S 30                  /* between two pieces of a body */
#define DROP_TIMES  2 /* a refused body is read up to so many times http.body-max, then cut off */

_Static_assert(offsetof(struct request, cx) == 0, "on_uri clears what is behind it");

enum stage { STAGE_HEAD, STAGE_BODY, STAGE_DROP, STAGE_ANSWERED };

struct http_conn {
    struct request rq;
    struct http *http;
    struct MHD_Connection *mhd;
    struct buf body;
    enum stage stage;
    bool counted;       /* in in_flight */
    bool hurried;       /* BODY_IDLE_S is in force */
    int64_t body_bytes; /* of ours in http->body_bytes */
    uint64_t received;  /* of the body, kept or not */
    _Alignas(16) char seed[SEED];
};

struct http {
    struct server *srv;
    struct MHD_Daemon *mhd;
    int listen_fd;
    bool quiesced; /* then the socket is ours again; else libmicrohttpd closes it */
    _Atomic int64_t in_flight, parked, body_bytes, pieces;
    _Atomic bool cut;
};

static int64_t bump(_Atomic int64_t *n, int64_t by)
{
    return atomic_fetch_add_explicit(n, by, memory_order_relaxed) + by;
}

/* --- answers ---------------------------------------------------------------------------------- */

struct MHD_Response *http_shared_response(str body)
{
    struct MHD_Response *r =
        MHD_create_response_from_buffer(body.len, (void *)body.p, MHD_RESPMEM_PERSISTENT);
    if (r && MHD_add_response_header(r, "Content-Type", "application/json") == MHD_YES)
        return r;
    if (r)
        MHD_destroy_response(r);
    return NULL;
}

void http_shared_free(void *response)
{
    if (response)
        MHD_destroy_response(response);
}

static struct MHD_Response *response_of(struct response *res)
{
    size_t len;
    if (res->body.len == 0)
        return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    char *body = buf_take(&res->body, &len);
    struct MHD_Response *r =
        MHD_create_response_from_buffer_with_free_callback_cls(len, body, mem_free, body);
    if (!r)
        mem_free(body);
    return r;
}

static bool put_header(struct MHD_Response *r, const char *name, const char *value)
{
    return MHD_add_response_header(r, name, value) == MHD_YES;
}

static bool put_headers(struct http_conn *c, struct MHD_Response *r)
{
    struct response *res = &c->rq.res;
    char text[80];
    snprintf(text, sizeof(text), "%.*s", STR(c->rq.cx.request_id));
    bool ok = put_header(r, "X-Request-Id", text);
    ok = ok &&
         put_header(r, "Content-Type", res->content_type ? res->content_type : "application/json");
    if (res->retry_after_s) {
        snprintf(text, sizeof(text), "%d", res->retry_after_s);
        ok = ok && put_header(r, "Retry-After", text);
    }
    if (res->allow)
        ok = ok && put_header(r, "Allow", res->allow);
    if (res->status == 401)
        ok = ok && put_header(r, "WWW-Authenticate", "Bearer");
    if (srv_draining(c->http->srv))
        ok = ok && put_header(r, "Connection", "close");
    return ok;
}

/* MHD_NO (no memory) makes libmicrohttpd close the connection: the client knows nothing then, which
 * is the truth. */
static enum MHD_Result send_answer(struct http_conn *c)
{
    struct response *res = &c->rq.res;
    if (res->shared)
        return MHD_queue_response(c->mhd, (unsigned)res->status, res->shared);
    struct MHD_Response *r = response_of(res);
    if (!r)
        return MHD_NO;
    enum MHD_Result ok = MHD_NO;
    if (put_headers(c, r))
        ok = MHD_queue_response(c->mhd, (unsigned)res->status, r);
    MHD_destroy_response(r);
    return ok;
}

/* --- the body --------------------------------------------------------------------------------- */

static void drop_body(struct http_conn *c)
{
    buf_done(&c->body);
    if (c->body_bytes)
        bump(&c->http->body_bytes, -c->body_bytes);
    c->body_bytes = 0;
}

/* The answer is known, but the client still sends. */
static void refuse(struct http_conn *c, int rc)
{
    drop_body(c);
    rq_fail(&c->rq, rc);
    c->stage = STAGE_DROP;
}

static int keep(struct http_conn *c, const char *p, size_t n)
{
    struct ctx *cx = &c->rq.cx;
    size_t max = rq_body_max(&c->rq);
    if (n > max - c->body.len)
        return ctx_fail(cx, E_TOOBIG, RES_NONE, STR_NONE,
                        "the body has more than the %zu bytes that are taken here", max);
    c->body_bytes += (int64_t)n;
    if (bump(&c->http->body_bytes, (int64_t)n) > srv_config(c->http->srv)->inflight_max)
        return ctx_fail(cx, E_BUSY, RES_NONE, STR_NONE,
                        "the server holds too many request bodies and did nothing; try again");
    buf_add(&c->body, p, n);
    return buf_fail(&c->body) < 0 ? ctx_nomem(cx) : 0;
}

static int64_t drop_max(struct http_conn *c)
{
    return DROP_TIMES * srv_config(c->http->srv)->body_max;
}

/* MHD_NO cuts the connection: nothing else can be said in the middle of a body. */
static enum MHD_Result on_bytes(struct http_conn *c, const char *p, size_t n)
{
    c->received += n;
    bump(&c->http->pieces, 1);
    if (clock_mono_us() - c->rq.start_us > srv_config(c->http->srv)->body_timeout_ms * 1000) {
        log_debug("http", "http.body_timeout", LS("path", c->rq.raw_path),
                  LI("received", c->received));
        return MHD_NO;
    }
    if (c->stage == STAGE_BODY && rq_takes_body(&c->rq)) {
        int rc = keep(c, p, n);
        if (rc < 0)
            refuse(c, rc);
        return MHD_YES;
    }
    if (c->stage == STAGE_BODY && c->received > rq_body_max(&c->rq))
        refuse(c, ctx_fail(&c->rq.cx, E_TOOBIG, RES_NONE, STR_NONE, "no body is expected here"));
    return c->received > (uint64_t)drop_max(c) ? MHD_NO : MHD_YES;
}

/* --- the head --------------------------------------------------------------------------------- */

str http_header(struct http_conn *c, const char *name)
{
    const char *value = NULL;
    size_t len = 0;
    if (MHD_lookup_connection_value_n(c->mhd, MHD_HEADER_KIND, name, strlen(name), &value, &len) !=
            MHD_YES ||
        !value)
        return STR_NONE;
    return str_n(value, len);
}

/* -1: the client does not say (chunked). libmicrohttpd has refused what is no number. */
static int64_t content_length(struct http_conn *c)
{
    int64_t n = 0;
    if (http_header(c, "Transfer-Encoding").p)
        return -1;
    str text = http_header(c, "Content-Length");
    if (text.p && !str_to_i64(str_trim(text), &n))
        return INT64_MAX;
    return n;
}

/* libmicrohttpd reads with edge-triggered epoll and takes a short read for the last one; when a
 * client sends and closes at once, the end is seen by the time-out only. */
static void hurry(struct http_conn *c, bool on)
{
    unsigned idle = (unsigned)(srv_config(c->http->srv)->idle_timeout_ms / 1000);
    unsigned seconds = on && idle > BODY_IDLE_S ? BODY_IDLE_S : idle;
    if (on != c->hurried)
        IGNORE(MHD_set_connection_option(c->mhd, MHD_CONNECTION_OPTION_TIMEOUT, seconds) == MHD_NO);
    c->hurried = on;
}

static enum MHD_Result count_length(void *cls, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    (void)kind, (void)value;
    if (name && strcasecmp(name, "Content-Length") == 0)
        ++*(int *)cls;
    return MHD_YES;
}

/* Two lengths, or a length beside an encoding: proxies and we might cut the stream differently
 * (RFC 9112, 6.3). libmicrohttpd 0.9.75 takes the first of them. */
static int check_framing(struct http_conn *c)
{
    int lengths = 0;
    bool coded = http_header(c, "Transfer-Encoding").p != NULL;
    if (!http_header(c, "Content-Length").p)
        return 0;
    MHD_get_connection_values(c->mhd, MHD_HEADER_KIND, count_length, &lengths);
    if (lengths == 1 && !coded)
        return 0;
    return ctx_fail(&c->rq.cx, E_INVAL, RES_NONE, STR_NONE,
                    "the request has more than one length; send one Content-Length, or one "
                    "Transfer-Encoding without it");
}

static enum MHD_Result on_head(struct http_conn *c)
{
    if (check_framing(c) < 0) { /* answered before the body is read: the connection is closed */
        rq_fail(&c->rq, E_INVAL);
        c->stage = STAGE_ANSWERED;
        return send_answer(c);
    }
    int64_t length = content_length(c);
    hurry(c, length != 0);
    switch (rq_on_head(&c->rq, length)) {
    case RQ_PARKED:
        return MHD_YES;
    case RQ_READ:
        c->stage = STAGE_BODY;
        if (length > 0 && rq_takes_body(&c->rq))
            IGNORE(
                buf_reserve(&c->body, (size_t)length < BODY_FIRST ? (size_t)length : BODY_FIRST));
        return MHD_YES;
    case RQ_ANSWER:
        break;
    }
    if (length > drop_max(c) || http_header(c, "Expect").p) {
        c->stage = STAGE_ANSWERED;
        return send_answer(c);
    }
    c->stage = STAGE_DROP;
    return MHD_YES;
}

static enum MHD_Result on_end(struct http_conn *c)
{
    c->rq.body = buf_str(&c->body);
    c->stage = STAGE_ANSWERED; /* when we are asked again */
    if (rq_on_end(&c->rq) == RQ_PARKED)
        return MHD_YES;
    if (!c->rq.parked)
        return send_answer(c);
    http_unpark(c); /* it was parked, but no pool took it */
    return MHD_YES;
}

/* --- libmicrohttpd's calls -------------------------------------------------------------------- */

static void begin(struct http_conn *c, const char *method, const char *path)
{
    c->counted = true;
    atomic_fetch_add(&c->http->in_flight,
                     1); /* before srv_draining is asked: drain.c counts on it */
    c->rq.method = str_of(method);
    c->rq.raw_path = str_of(path);
    c->rq.start_us = clock_mono_us();
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *mhd, const char *path,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *bytes_n, void **con_cls)
{
    (void)cls, (void)mhd, (void)version;
    struct http_conn *c = *con_cls;
    if (!c)
        return MHD_NO; /* no memory when it was accepted */
    if (!c->counted)
        begin(c, method, path);
    if (c->stage == STAGE_HEAD)
        return on_head(c);
    if (*bytes_n) {
        size_t n = *bytes_n;
        *bytes_n = 0;
        return on_bytes(c, bytes, n);
    }
    return c->stage == STAGE_BODY ? on_end(c) : send_answer(c);
}

static struct http_conn *conn_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return i ? i->socket_context : NULL;
}

/* The first call of a request, with the URI as it came: libmicrohttpd cuts the query up in place
 * right after this. The path it hands to on_request stays whole, as on_unescape changes nothing. */
static void *on_uri(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    (void)cls;
    struct http_conn *c = conn_of(mhd);
    if (!c)
        return NULL;
    struct request *rq = &c->rq;
    size_t after_cx = offsetof(struct request, cx) + sizeof(rq->cx); /* ctx_init clears that */
    memset((char *)rq + after_cx, 0, sizeof(*rq) - after_cx);
    rq->srv = c->http->srv;
    rq->http = c;
    ctx_init(&rq->cx, (size_t)srv_config(rq->srv)->request_memory);
    memset(c->seed, 0, sizeof(c->seed));
    arena_seed(&rq->cx.arena, c->seed, sizeof(c->seed));
    c->stage = STAGE_HEAD;
    c->received = 0;
    const char *query = uri ? strchr(uri, '?') : NULL;
    rq->raw_query = query ? str_dup(&rq->cx.arena, str_of(query + 1)) : STR_NONE;
    return query && !rq->raw_query.p ? NULL : c;
}

static size_t on_unescape(void *cls, struct MHD_Connection *mhd, char *text)
{
    (void)cls, (void)mhd;
    return strlen(text);
}

static void on_completed(void *cls, struct MHD_Connection *mhd, void **con_cls,
                         enum MHD_RequestTerminationCode code)
{
    (void)cls, (void)con_cls;
    struct http_conn *c = conn_of(mhd);
    if (!c)
        return;
    drop_body(c);
    buf_done(&c->rq.res.body);
    ctx_done(&c->rq.cx);
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK) /* the connection may live on */
        hurry(c, false);
    if (c->counted)
        bump(&c->http->in_flight, -1);
    c->counted = false;
}

static void on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        mem_free(*socket_context);
        *socket_context = NULL;
        return;
    }
    struct http_conn *c = mem_zalloc(sizeof(*c));
    if (c) {
        c->http = cls;
        c->mhd = mhd;
    }
    *socket_context = c;
}

/* What libmicrohttpd has to say is about clients that went away or sent nonsense. */
static void on_log(void *cls, const char *fmt, va_list ap)
{
    (void)cls;
    if (!log_on(LOG_DEBUG))
        return;
    char text[256];
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    log_debug("http", "http.library", LS("msg", str_trim(str_n(text, len))));
}

/* A broken invariant inside the library, or of our use of it. */
static void on_panic(void *cls, const char *file, unsigned int line, const char *reason)
{
    (void)cls;
    assert_fail(reason ? reason : "libmicrohttpd", file, (int)line, "libmicrohttpd");
}

/* --- parking ---------------------------------------------------------------------------------- */

/* Counted first, then asked, and http_cut the other way round: one of the two sees the other. */
int http_park(struct http_conn *c)
{
    atomic_fetch_add(&c->http->parked, 1);
    if (atomic_load(&c->http->cut)) {
        atomic_fetch_sub(&c->http->parked, 1);
        return E_BUSY;
    }
    MHD_suspend_connection(c->mhd);
    return 0;
}

void http_cut(struct http *h)
{
    atomic_store(&h->cut, true);
}

void http_unpark(struct http_conn *c)
{
    struct http *h = c->http; /* c may be gone after the resume */
    MHD_resume_connection(c->mhd);
    atomic_fetch_sub(&h->parked, 1); /* our last use of h: http_stop may free it now */
}

/* --- the daemon ------------------------------------------------------------------------------- */

static struct MHD_Daemon *start(struct http *h, const struct config *cf)
{
    unsigned flags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG;
    unsigned threads = cf->http_threads > 1 ? (unsigned)cf->http_threads : 0; /* 0: no pool */
    return MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, h,             /* the logger must be the first option */
        MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,        /**/
        MHD_OPTION_LISTEN_SOCKET, h->listen_fd,          /**/
        MHD_OPTION_THREAD_POOL_SIZE, threads,            /**/
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, h,          /**/
        MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, NULL, /**/
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,    /**/
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,  /**/
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)cf->connections_max,            /**/
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(cf->idle_timeout_ms / 1000), /**/
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)cf->header_max,            /**/
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

int http_start(struct ctx *cx, struct server *srv, int listen_fd, struct http **ret)
{
    struct http *h = mem_zalloc(sizeof(*h));
    if (!h) {
        close(listen_fd);
        return ctx_nomem(cx);
    }
    h->srv = srv;
    h->listen_fd = listen_fd;
    MHD_set_panic_func(on_panic, NULL);
    h->mhd = start(h, srv_config(srv));
    if (!h->mhd) { /* it has closed the socket */
        mem_free(h);
        return ctx_fail(cx, E_IO, RES_NONE, STR_NONE,
                        "the HTTP server did not start; is the limit of open files (ulimit -n) or "
                        "of threads too low?");
    }
    *ret = h;
    return 0;
}

/* The socket is shut down, not closed: an HTTP thread may still be on its way to accept on this
 * number. */
void http_quiesce(struct http *h)
{
    if (h->quiesced)
        return;
    h->quiesced = true;
    IGNORE(MHD_quiesce_daemon(h->mhd) == MHD_INVALID_SOCKET);
    IGNORE(shutdown(h->listen_fd, SHUT_RDWR));
}

void http_stop(struct http *h)
{
    if (!h)
        return;
    ASSERT(atomic_load(&h->parked) == 0);
    http_quiesce(h);
    MHD_stop_daemon(h->mhd);
    close(h->listen_fd);
    ASSERT(atomic_load(&h->in_flight) == 0 && atomic_load(&h->body_bytes) == 0);
    mem_free(h);
}

int64_t http_body_bytes(struct http_conn *c)
{
    return atomic_load_explicit(&c->http->body_bytes, memory_order_relaxed);
}

void http_counts(struct http *h, struct http_counts *ret)
{
    const union MHD_DaemonInfo *i =
        MHD_get_daemon_info(h->mhd, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    *ret = (struct http_counts){
        .connections = i ? (int64_t)i->num_connections : 0,
        .in_flight = atomic_load_explicit(&h->in_flight, memory_order_relaxed),
        .parked = atomic_load(&h->parked),
        .body_bytes = atomic_load_explicit(&h->body_bytes, memory_order_relaxed),
        .pieces = atomic_load_explicit(&h->pieces, memory_order_relaxed),
    };
}
