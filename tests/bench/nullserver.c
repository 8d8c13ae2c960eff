/* nullserver.c - the least a commit server can do: parse, fsync, link, answer. No store, no checks
 * but the base, no strands. The floor that Latch's commits are measured against.
 * Usage: nullserver PORT-FILE ROOT. Ends with its standard input. Tables are never dropped. */
#include <fcntl.h>
#include <microhttpd.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/mem.h"
#include "proto/json/json.h"

#define TABLES_MAX 4096

struct ntable {
    pthread_mutex_t mu;
    char *db, *name, *path, *schema, *head, *uuid;
    int64_t id, head_id;
};
static struct ntable *tables[TABLES_MAX];
static int n_tables;
static pthread_mutex_t tables_mu = PTHREAD_MUTEX_INITIALIZER;
static const char *root;

struct req {
    struct ctx cx;
    struct buf body;
    char *uri;
};

static struct ntable *find(str db, str name)
{
    struct ntable *t = NULL;
    pthread_mutex_lock(&tables_mu);
    for (int i = 0; i < n_tables && !t; i++)
        if (str_eqz(db, tables[i]->db) && str_eqz(name, tables[i]->name))
            t = tables[i];
    pthread_mutex_unlock(&tables_mu);
    return t;
}

static char *copy(str s)
{
    return mem_dup(s.p ? s.p : "", s.len);
}

static void file_write(const char *path, str data, bool sync)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, data.p, data.len) != (ssize_t)data.len)
        abort();
    if (sync)
        fsync(fd);
    close(fd);
}

static void dir_make(const char *base, const char *sub)
{
    char p[4096];
    snprintf(p, sizeof p, "%s%s", base, sub);
    for (char *s = p + 1; (s = strchr(s, '/')); s++) {
        *s = 0;
        mkdir(p, 0755);
        *s = '/';
    }
    mkdir(p, 0755);
}

static int create(struct req *r, str db, struct buf *out)
{
    const struct json *b, *id, *schema;
    str name;
    char p[4096];
    (void)out;
    if (json_parse(&r->cx, buf_str(&r->body), "body", &b) < 0 ||
        json_want_obj(&r->cx, b, "", "identifier", &id) < 0 ||
        json_want_str(&r->cx, id, "", "object", &name) < 0 ||
        json_want_obj(&r->cx, b, "", "schema", &schema) < 0)
        return 400;
    struct ntable *t = mem_zalloc(sizeof *t);
    if (!t)
        abort();
    pthread_mutex_init(&t->mu, NULL);
    t->db = copy(db);
    t->name = copy(name);
    t->schema = copy(schema->raw);
    snprintf(p, sizeof p, "%s/%s.db/%s", root, t->db, t->name);
    t->path = copy(str_of(p));
    dir_make(t->path, "/schema");
    dir_make(t->path, "/snapshot");
    CLEANUP(buf_done) struct buf f = {0};
    buf_addz(&f, "{\"version\":3,\"id\":0,\"highestFieldId\":10,\"timeMillis\":0,");
    buf_adds(&f, str_cut(schema->raw, 1));
    snprintf(p, sizeof p, "%s/schema/schema-0", t->path);
    file_write(p, buf_str(&f), false);
    pthread_mutex_lock(&tables_mu);
    if (n_tables == TABLES_MAX)
        abort();
    t->id = n_tables;
    tables[n_tables++] = t;
    pthread_mutex_unlock(&tables_mu);
    return 200;
}

static int describe(struct ntable *t, struct buf *out)
{
    buf_addf(out,
             "{\"id\":\"%lld\",\"database\":\"%s\",\"name\":\"%s\",\"path\":\"file://%s\","
             "\"isExternal\":false,\"schemaId\":0,\"schema\":%s,\"owner\":\"o\",\"createdAt\":0,"
             "\"createdBy\":\"o\",\"updatedAt\":0,\"updatedBy\":\"o\"}",
             (long long)t->id, t->db, t->name, t->path, t->schema);
    return 200;
}

static int snapshot(struct ntable *t, struct buf *out)
{
    pthread_mutex_lock(&t->mu);
    int code = t->head ? 200 : 404;
    if (t->head)
        buf_addf(out,
                 "{\"snapshot\":{\"snapshot\":%s,\"recordCount\":0,\"fileSizeInBytes\":0,"
                 "\"fileCount\":0,\"lastFileCreationTime\":0}}",
                 t->head);
    else
        buf_addz(out, "{\"message\":\"none\",\"resourceType\":\"SNAPSHOT\",\"resourceName\":\"\","
                      "\"code\":404}");
    pthread_mutex_unlock(&t->mu);
    return code;
}

static bool publish(struct ntable *t, int64_t id, str text)
{
    char tmp[4096], to[4096], dir[4096], hint[32];
    snprintf(tmp, sizeof tmp, "%s/snapshot/.tmp-%lld", t->path, (long long)id);
    snprintf(to, sizeof to, "%s/snapshot/snapshot-%lld", t->path, (long long)id);
    snprintf(dir, sizeof dir, "%s/snapshot", t->path);
    file_write(tmp, text, true);
    bool ok = link(tmp, to) == 0;
    unlink(tmp);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fsync(fd);
    close(fd);
    snprintf(to, sizeof to, "%s/snapshot/LATEST", t->path);
    snprintf(hint, sizeof hint, "%lld", (long long)id);
    if (ok)
        file_write(to, str_of(hint), false);
    return ok;
}

static int commit(struct req *r, struct ntable *t, struct buf *out)
{
    const struct json *b, *s;
    str base, uuid;
    int64_t id;
    if (json_parse(&r->cx, buf_str(&r->body), "body", &b) < 0 ||
        json_opt_str(&r->cx, b, "", "baseSnapshotUuid", &base) < 0 ||
        json_want_obj(&r->cx, b, "", "snapshot", &s) < 0 ||
        json_want_i64(&r->cx, s, "", "id", &id) < 0 ||
        json_opt_str(&r->cx, s, "", "uuid", &uuid) < 0)
        return 400;
    pthread_mutex_lock(&t->mu);
    bool ok = id == t->head_id + 1 &&
              (!uuid.len || (base.p ? t->uuid && str_eqz(base, t->uuid) : !t->uuid || !*t->uuid));
    ok = ok && publish(t, id, s->raw);
    if (ok) {
        mem_free(t->head);
        mem_free(t->uuid);
        t->head = copy(s->raw);
        t->uuid = copy(uuid);
        t->head_id = id;
    }
    pthread_mutex_unlock(&t->mu);
    buf_addf(out, "{\"success\":%s}", ok ? "true" : "false");
    return 200;
}

static int route(struct req *r, const char *method, struct buf *out)
{
    str seg[8] = {{0}}, rest = str_of(r->uri), part;
    int n = 0;
    ptrdiff_t q = str_find(rest, '?');
    if (q >= 0)
        rest.len = (size_t)q;
    while (n < 8 && str_split(&rest, '/', &part))
        if (part.len)
            seg[n++] = part;
    if (n == 2) {
        buf_addz(out, "{\"defaults\":{},\"overrides\":{\"prefix\":\"p\"}}");
        return 200;
    }
    if (n == 3)
        return 200;
    if (n == 4) {
        buf_addf(
            out,
            "{\"id\":\"1\",\"name\":\"%.*s\",\"location\":\"%s\",\"options\":{},\"owner\":\"o\","
            "\"createdAt\":0,\"createdBy\":\"o\",\"updatedAt\":0,\"updatedBy\":\"o\"}",
            STR(seg[3]), root);
        return 200;
    }
    if (n == 5 && strcmp(method, "POST") == 0)
        return create(r, seg[3], out);
    struct ntable *t = n >= 6 ? find(seg[3], seg[5]) : NULL;
    if (!t) {
        buf_addz(out, "{\"message\":\"no table\",\"resourceType\":\"TABLE\",\"resourceName\":\"t\","
                      "\"code\":404}");
        return 404;
    }
    if (n == 6)
        return describe(t, out);
    if (str_eqz(seg[6], "snapshot"))
        return snapshot(t, out);
    if (str_eqz(seg[6], "commit"))
        return commit(r, t, out);
    buf_addz(out, "{\"message\":\"not here\",\"code\":501}");
    return 501;
}

static void *on_uri(void *cls, const char *uri, struct MHD_Connection *conn)
{
    struct req *r = mem_zalloc(sizeof *r);
    (void)cls, (void)conn;
    if (!r)
        abort();
    ctx_init(&r->cx, (size_t)1 << 30);
    r->uri = copy(str_of(uri));
    return r;
}

static void on_done(void *cls, struct MHD_Connection *conn, void **state,
                    enum MHD_RequestTerminationCode why)
{
    struct req *r = *state;
    (void)cls, (void)conn, (void)why;
    if (!r)
        return;
    buf_done(&r->body);
    mem_free(r->uri);
    ctx_done(&r->cx);
    mem_free(r);
    *state = NULL;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *conn, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **state)
{
    struct req *r = *state;
    (void)cls, (void)url, (void)version;
    if (*size) {
        buf_add(&r->body, data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (!r->body.max) { /* first call: headers only */
        buf_init(&r->body, BUF_MAX);
        return MHD_YES;
    }
    CLEANUP(buf_done) struct buf out = {0};
    int code = route(r, method, &out);
    struct MHD_Response *res =
        MHD_create_response_from_buffer(out.len, out.p, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(res, "Content-Type", "application/json");
    enum MHD_Result q = MHD_queue_response(conn, (unsigned)code, res);
    MHD_destroy_response(res);
    return q;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    root = argv[2];
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_THREAD_PER_CONNECTION, 0, NULL,
        NULL, on_request, NULL, MHD_OPTION_URI_LOG_CALLBACK, on_uri, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, on_done, NULL, MHD_OPTION_END);
    FILE *f = d ? fopen(argv[1], "w") : NULL;
    if (!f)
        return 1;
    fprintf(f, "%u\n", (unsigned)MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    fclose(f);
    char c;
    while (read(0, &c, 1) > 0) {
    }
    MHD_stop_daemon(d);
    return 0;
}
