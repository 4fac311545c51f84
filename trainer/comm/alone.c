/* alone.c - see alone.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/alone.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static const struct comm_ops alone_ops;

struct comm *comm_alone(double timeout_s)
{
    struct comm *comm = xcalloc(1, sizeof *comm);

    *comm = (struct comm){ .ops = &alone_ops, .size = 1, .memory = COMM_HOST,
                           .timeout_s = timeout_s };
    return comm;
}

static int keep(struct comm *comm, const void *in, void *out, size_t count, enum dtype type,
                struct error *err)
{
    (void)comm;
    (void)err;
    if (in != out)
        memcpy(out, in, count * dtype_size(type));
    return 0;
}

static int keep_reduced(struct comm *comm, const void *in, void *out, size_t count,
                        enum dtype type, enum redop op, struct error *err)
{
    (void)op;
    return keep(comm, in, out, count, type, err);
}

static int broadcast(struct comm *comm, void *buffer, size_t count, enum dtype type, int root,
                     struct error *err)
{
    (void)root;
    return keep(comm, buffer, buffer, count, type, err);
}

static int no_peer(struct error *err)
{
    return err_set(err, "there is no other rank");
}

static int send_to(struct comm *comm, const void *in, size_t count, enum dtype type, int peer,
                   struct error *err)
{
    (void)comm;
    (void)in;
    (void)count;
    (void)type;
    (void)peer;
    return no_peer(err);
}

static int recv_from(struct comm *comm, void *out, size_t count, enum dtype type, int peer,
                     struct error *err)
{
    (void)comm;
    (void)out;
    (void)count;
    (void)type;
    (void)peer;
    return no_peer(err);
}

static int nothing(struct comm *comm, struct error *err)
{
    (void)comm;
    (void)err;
    return 0;
}

static uint64_t mark(struct comm *comm)
{
    (void)comm;
    return 0;
}

static int wait_for(struct comm *comm, uint64_t until, struct error *err)
{
    (void)until;
    return nothing(comm, err);
}

static void *alloc(struct comm *comm, size_t size, struct error *err)
{
    void *memory;

    (void)comm;
    if (posix_memalign(&memory, 64, size > 0 ? size : 1) == 0)
        return memory;
    err_set(err, "out of memory: %zu bytes", size);
    return NULL;
}

static int copy(struct comm *comm, void *to, const void *from, size_t size,
                enum comm_copy direction, struct error *err)
{
    (void)direction;
    return keep(comm, from, to, size, DTYPE_UINT8, err);
}

static int close_comm(struct comm *comm, struct error *err)
{
    (void)err;
    free(comm);
    return 0;
}

static void abort_comm(struct comm *comm)
{
    free(comm);
}

static const struct comm_ops alone_ops = {
    .name = "alone",
    .all_reduce = keep_reduced,
    .reduce_scatter = keep_reduced,
    .all_gather = keep,
    .all_to_all = keep,
    .broadcast = broadcast,
    .send = send_to,
    .recv = recv_from,
    .barrier = nothing,
    .group_start = nothing,
    .group_end = nothing,
    .mark = mark,
    .wait = wait_for,
    .alloc = alloc,
    .release = free,
    .copy = copy,
    .close = close_comm,
    .abort = abort_comm,
};
