/* listen.c - HOST:PORT to a listening socket, and back to a URL.
 *
 * The socket is ours and not libmicrohttpd's, so that a port in use is told as such and so that
 * port 0 can be asked what it became. Runs once, at start. */
#include "server/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/base/assert.h"

#define BACKLOG 1024

static int bad(struct ctx *cx, str hostport)
{
    return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                    "listen is \"%.*s\"; it must be HOST:PORT, as 127.0.0.1:8181, [::1]:8181 or "
                    "0.0.0.0:8181, with a port from 0 to 65535",
                    STR(hostport));
}

int listen_parse(struct ctx *cx, str hostport, str *ret_host, str *ret_port)
{
    size_t colon = hostport.len;
    while (colon > 0 && hostport.p[colon - 1] != ':')
        colon--;
    if (colon <= 1) /* no ':', or nothing before it */
        return bad(cx, hostport);
    str host = str_n(hostport.p, colon - 1), port = str_cut(hostport, colon);
    int64_t number;
    if (port.len > 5 || !str_to_i64(port, &number) || number < 0 || number > 65535)
        return bad(cx, hostport);
    if (host.p[0] == '[') {
        if (host.len < 3 || host.p[host.len - 1] != ']')
            return bad(cx, hostport);
        host = str_n(host.p + 1, host.len - 2);
    } else if (str_find(host, ':') >= 0) {
        return bad(cx, hostport);
    }
    *ret_host = host;
    *ret_port = port;
    return 0;
}

static int resolve(struct ctx *cx, str host, str port, struct addrinfo **ret)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    char *host_z = str_dupz(&cx->arena, host), *port_z = str_dupz(&cx->arena, port);
    if (!host_z || !port_z)
        return ctx_nomem(cx);
    int rc = getaddrinfo(host_z, port_z, &hints, ret);
    if (rc != 0)
        return ctx_fail(cx, E_INVAL, RES_NONE, STR_NONE,
                        "listen: cannot resolve the host \"%s\": %s", host_z, gai_strerror(rc));
    return 0;
}

static int bind_to(struct ctx *cx, const struct addrinfo *a, str hostport, int *ret_fd)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return ctx_fail_errno(cx, E_IO, "cannot make a socket for %.*s", STR(hostport));
    int on = 1;
    IGNORE(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
    if (a->ai_family == AF_INET6)
        IGNORE(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)));
    if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        int rc = ctx_fail_errno(cx, E_IO, "cannot listen on %.*s (setting listen)", STR(hostport));
        close(fd);
        return rc;
    }
    *ret_fd = fd;
    return 0;
}

static void put_v4(struct buf *url, const struct sockaddr_in *a)
{
    char text[INET_ADDRSTRLEN] = "127.0.0.1";
    if (a->sin_addr.s_addr != htonl(INADDR_ANY))
        inet_ntop(AF_INET, &a->sin_addr, text, sizeof(text));
    buf_addf(url, "http://%s:%u", text, ntohs(a->sin_port));
}

static void put_v6(struct buf *url, const struct sockaddr_in6 *a)
{
    char text[INET6_ADDRSTRLEN] = "::1";
    if (!IN6_IS_ADDR_UNSPECIFIED(&a->sin6_addr))
        inet_ntop(AF_INET6, &a->sin6_addr, text, sizeof(text));
    buf_addf(url, "http://[%s]:%u", text, ntohs(a->sin6_port));
}

static int put_url(struct ctx *cx, int fd, struct buf *url)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a = {.any = {0}};
    socklen_t len = sizeof(a);
    if (getsockname(fd, &a.any, &len) < 0)
        return ctx_fail_errno(cx, E_IO, "cannot ask the socket for its address");
    if (a.any.sa_family == AF_INET6)
        put_v6(url, &a.v6);
    else
        put_v4(url, &a.v4);
    return buf_fail(url) < 0 ? ctx_nomem(cx) : 0;
}

int listen_open(struct ctx *cx, str hostport, int *ret_fd, struct buf *ret_url)
{
    str host = STR_NONE, port = STR_NONE;
    struct addrinfo *list = NULL;
    TRY(listen_parse(cx, hostport, &host, &port));
    TRY(resolve(cx, host, port, &list));
    ASSERT(list);
    int fd = -1;
    int rc = bind_to(cx, list, hostport, &fd);
    freeaddrinfo(list);
    TRY(rc);
    rc = put_url(cx, fd, ret_url);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    *ret_fd = fd;
    return 0;
}
