/* store_sqlite_read.c - a read-only connection for each thread that reads.
 *
 * Opened when a thread reads for the first time, closed when the thread ends or the store does,
 * whichever comes first: the thread's key gives the first, the list the second. In WAL mode readers
 * and the writer do not wait for each other, and a reader sees every transaction whose caller has
 * been answered, because the answer comes after the COMMIT.
 *
 * Thread rule: the list is guarded by readers_mu; a connection is its thread's alone. When
 * sq_readers_done runs, no thread is in a call of the store, and none that used it is just ending.
 */
#include "catalog/store/store_sqlite_int.h"

#include "proto/base/mem.h"

struct reader {
    struct conn conn;
    struct store_sqlite *owner;
    struct reader *prev, *next;
};

static void reader_free(struct reader *r)
{
    sq_conn_close(&r->conn);
    mem_free(r);
}

/* The key's destructor, on the thread that ends. */
static void on_thread_end(void *p)
{
    struct reader *r = p;
    struct store_sqlite *s = r->owner;
    ASSERT(pthread_mutex_lock(&s->readers_mu) == 0);
    if (r->next)
        r->next->prev = r->prev;
    if (r->prev)
        r->prev->next = r->next;
    else
        s->readers = r->next;
    ASSERT(pthread_mutex_unlock(&s->readers_mu) == 0);
    reader_free(r);
}

int sq_readers_init(struct ctx *cx, struct store_sqlite *s)
{
    if (pthread_key_create(&s->reader_key, on_thread_end) != 0)
        return ctx_fail(cx, E_NOMEM, RES_NONE, STR_NONE, "no thread key is left for the store");
    ASSERT(pthread_mutex_init(&s->readers_mu, NULL) == 0);
    s->readers_ready = true;
    return 0;
}

void sq_readers_done(struct store_sqlite *s)
{
    if (!s->readers_ready)
        return;
    ASSERT(pthread_key_delete(s->reader_key) == 0); /* no destructor runs from here on */
    for (struct reader *r = s->readers, *next; r; r = next) {
        next = r->next;
        reader_free(r);
    }
    s->readers = NULL;
    ASSERT(pthread_mutex_destroy(&s->readers_mu) == 0);
    s->readers_ready = false;
}

static void reader_link(struct store_sqlite *s, struct reader *r)
{
    ASSERT(pthread_mutex_lock(&s->readers_mu) == 0);
    r->next = s->readers;
    if (r->next)
        r->next->prev = r;
    s->readers = r;
    ASSERT(pthread_mutex_unlock(&s->readers_mu) == 0);
}

size_t sq_readers_count(struct store_sqlite *s)
{
    size_t n = 0;
    ASSERT(pthread_mutex_lock(&s->readers_mu) == 0);
    for (struct reader *r = s->readers; r; r = r->next)
        n++;
    ASSERT(pthread_mutex_unlock(&s->readers_mu) == 0);
    return n;
}

int sq_reader(struct store_sqlite *s, struct ctx *cx, struct conn **ret)
{
    struct reader *r = pthread_getspecific(s->reader_key);
    if (!r) {
        r = mem_zalloc(sizeof(*r));
        if (!r)
            return ctx_nomem(cx);
        r->owner = s;
        int rc = sq_conn_open(cx, &r->conn, s->path, CONN_READER);
        if (rc == 0 && pthread_setspecific(s->reader_key, r) != 0)
            rc = ctx_nomem(cx);
        if (rc < 0) {
            reader_free(r);
            return rc;
        }
        reader_link(s, r);
    }
    *ret = &r->conn;
    return 0;
}
