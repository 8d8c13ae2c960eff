/* fault_io.h - a warehouse before another one, whose n-th call of a kind fails. */
#ifndef LATCH_TESTS_UNIT_CATALOG_FAULT_IO_H
#define LATCH_TESTS_UNIT_CATALOG_FAULT_IO_H

#include "manifest/io/io.h"

struct fault_io {
    struct io io; /* first */
    struct io *under;
    int write_in, read_in; /* how many calls until one fails; 0: none does */
    int after;             /* a write that fails has written */
    int writes, reads, dels;
};

static bool fault_now(int *in)
{
    return *in > 0 && --*in == 0;
}

static int fault_read(struct io *self, struct ctx *c, str path, size_t max, struct buf *ret)
{
    struct fault_io *f = (struct fault_io *)self;
    f->reads++;
    if (fault_now(&f->read_in))
        return ctx_fail(c, E_IO, RES_NONE, STR_NONE, "made to fail");
    return io_read(f->under, c, path, max, ret);
}

static int fault_write(struct io *self, struct ctx *c, str path, str data, bool sync)
{
    struct fault_io *f = (struct fault_io *)self;
    bool now = fault_now(&f->write_in);
    f->writes++;
    if (!now || f->after)
        TRY(io_write(f->under, c, path, data, sync));
    return now ? ctx_fail(c, E_IO, RES_NONE, STR_NONE, "made to fail") : 0;
}

static int fault_del(struct io *self, struct ctx *c, str path)
{
    struct fault_io *f = (struct fault_io *)self;
    f->dels++;
    return io_del(f->under, c, path);
}

static int fault_mkdirs(struct io *self, struct ctx *c, str path)
{
    return io_mkdirs(((struct fault_io *)self)->under, c, path);
}

static struct fault_io fault_io_of(struct io *under)
{
    static const struct io_ops ops = {
        .read = fault_read, .write = fault_write, .del = fault_del, .mkdirs = fault_mkdirs};
    return (struct fault_io){.io = {&ops}, .under = under};
}

#endif
