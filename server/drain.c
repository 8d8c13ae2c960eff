/* drain.c - SIGTERM: finish what runs, start nothing.
 *
 * libmicrohttpd aborts when it is stopped while a connection is suspended, and the store must not
 * go while a change runs. So: no new connections, new requests get 503, then wait until no request
 * is left. A request counts itself in flight before it asks whether the server stops, and we say
 * that it stops before we read the count, both in one order (seq_cst): none can slip through.
 *
 * When time is up the process just ends. That is safe, a crash at any point is; the clients of the
 * requests that are cut off see a closed connection, which they take for "outcome unknown".
 *
 * An alarm guards what follows here: pools finish what they hold, which may be the deletion of a
 * large table. That is an open intent, and the next start goes on with it. */
#include "server/drain.h"

#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/inject.h"
#include "proto/base/log.h"

#define POLL_NS        20000000
#define CLIENT_IDLE_MS 5000
#define CUT_MS         1000
#define REST_SECONDS   10 /* beyond drain.timeout, for all that comes after the requests */

static void on_alarm(int sig)
{
    static const char text[] = "latch: background work did not end in time; the next start goes on "
                               "with it\n";
    (void)sig;
    IGNORE(write(STDERR_FILENO, text, sizeof(text) - 1) < 0);
    _exit(0);
}

static void guard(int64_t timeout_ms)
{
    struct sigaction sa = {.sa_handler = on_alarm};
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGALRM);
    sigaction(SIGALRM, &sa, NULL);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    alarm((unsigned)(timeout_ms / 1000 + REST_SECONDS));
}

_Noreturn static void give_up(const char *why, const struct http_counts *n)
{
    log_error("server", "server.cut", LZ("why", why), LI("in_flight", n->in_flight),
              LI("parked", n->parked));
    inject_flush();
    _exit(1);
}

/* Requests are left, but none is worked on and no client has moved for a while: they are gone, or
 * wait for something that will not come. */
struct idle {
    struct http_counts last;
    int64_t since_ms;
};

static bool all_idle(struct idle *i, const struct http_counts *now)
{
    int64_t ms = clock_mono_ms();
    bool same = now->parked == 0 && now->in_flight == i->last.in_flight &&
                now->pieces == i->last.pieces && i->since_ms;
    if (!same)
        *i = (struct idle){*now, ms};
    return same && ms - i->since_ms >= CLIENT_IDLE_MS;
}

void drain(struct server *srv, const sigset_t *stop)
{
    int64_t timeout_ms = srv_config(srv)->drain_timeout_ms;
    int64_t until_ms = clock_mono_ms() + timeout_ms;
    const struct timespec poll = {.tv_nsec = POLL_NS};
    struct http_counts n;
    struct idle idle = {.since_ms = 0};
    atomic_store(&srv->draining, true);
    http_quiesce(srv->http);
    guard(timeout_ms);
    http_counts(srv->http, &n);
    log_info("server", "server.draining", LI("in_flight", n.in_flight),
             LI("timeout_ms", timeout_ms));
    while ((n.in_flight > 0 || n.parked > 0) && !all_idle(&idle, &n) &&
           clock_mono_ms() < until_ms) {
        if (sigtimedwait(stop, NULL, &poll) > 0)
            give_up("a second signal came", &n);
        http_counts(srv->http, &n);
    }
    http_cut(srv->http);
    until_ms = clock_mono_ms() + CUT_MS; /* what was parked a moment ago is nearly done */
    for (http_counts(srv->http, &n); n.parked > 0 && clock_mono_ms() < until_ms;
         http_counts(srv->http, &n))
        nanosleep(&poll, NULL);
    if (n.parked > 0)
        give_up("drain.timeout is over", &n);
    if (n.in_flight > 0)
        log_warn("server", "server.clients_cut", LI("in_flight", n.in_flight));
}
