/* constserver.c - libmicrohttpd answering one constant: the ceiling of GET snapshot.
 * Usage: constserver PORT-FILE BYTES THREADS. Ends with its standard input. */
#include <microhttpd.h>
#include <unistd.h>

static struct MHD_Response *answer;

static enum MHD_Result on_request(void *cls, struct MHD_Connection *conn, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **state)
{
    static int seen;
    (void)cls, (void)url, (void)method, (void)version, (void)data, (void)size;
    if (!*state) { /* headers are there; answer at the second call, as servers with bodies do */
        *state = &seen;
        return MHD_YES;
    }
    return MHD_queue_response(conn, MHD_HTTP_OK, answer);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    size_t n = (size_t)strtoul(argv[2], NULL, 10);
    char *body = malloc(n + 1);
    if (!body)
        return 1;
    memset(body, 'x', n);
    answer = MHD_create_response_from_buffer(n, body, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(answer, "Content-Type", "application/json");
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, NULL, MHD_OPTION_THREAD_POOL_SIZE,
        (unsigned)strtoul(argv[3], NULL, 10), MHD_OPTION_CONNECTION_LIMIT, 2000u, MHD_OPTION_END);
    FILE *f = d ? fopen(argv[1], "w") : NULL;
    if (!f)
        return 1;
    fprintf(f, "%u\n", (unsigned)MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    fclose(f);
    char c;
    while (read(0, &c, 1) > 0) {
    }
    MHD_stop_daemon(d);
    MHD_destroy_response(answer);
    free(body);
    return 0;
}
