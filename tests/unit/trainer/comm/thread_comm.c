/* thread_comm.c - see thread_comm.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "unit/trainer/comm/thread_comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "thread.h"
#include "xalloc.h"

#define RANKS_MAX 16

struct world {
    int               size;
    pthread_barrier_t meeting;
    const void       *in[RANKS_MAX];
    thread_rank_main *rank_main;
    void             *arg;
};

struct thread_comm {
    struct comm   base;
    struct world *world;
    pthread_t     thread;
    const char   *wrong;
    int           operations;
};

struct thread_comm_counts thread_comm_counts;
int                       thread_comm_fail_at = -1;
int64_t                   thread_comm_delay_ns;

static struct thread_comm *self_of(struct comm *comm)
{
    return (struct thread_comm *)comm;
}

static int begin(struct comm *comm, struct error *err)
{
    const struct timespec delay = { .tv_nsec = thread_comm_delay_ns };

    if (self_of(comm)->operations++ == thread_comm_fail_at)
        return err_set(err, "rank 1 on nowhere is gone");
    if (thread_comm_delay_ns > 0)
        nanosleep(&delay, NULL);
    return 0;
}

static void count(struct comm *comm, int *which, size_t bytes)
{
    if (comm->rank != 0)
        return;
    ++*which;
    thread_comm_counts.bytes += bytes;
}

/* All show what they bring, and may take it back when all have left. */
static void show(struct comm *comm, const void *in)
{
    self_of(comm)->world->in[comm->rank] = in;
    pthread_barrier_wait(&self_of(comm)->world->meeting);
}

static void leave(struct comm *comm)
{
    pthread_barrier_wait(&self_of(comm)->world->meeting);
}

/* The elements from first on of all ranks, reduced in rank order, in new memory. */
static void *reduced(struct comm *comm, size_t first, size_t n, enum dtype type, enum redop op)
{
    struct world *world = self_of(comm)->world;
    size_t        size = dtype_size(type);
    char         *sum = xmemdup((const char *)world->in[0] + first * size, n * size);
    int           rank;

    for (rank = 1; rank < world->size; rank++)
        dtype_reduce(type, op, sum, sum, (const char *)world->in[rank] + first * size, n);
    return sum;
}

static int all_reduce(struct comm *comm, const void *in, void *out, size_t n, enum dtype type,
                      enum redop op, struct error *err)
{
    void *sum;

    if (begin(comm, err) < 0)
        return -1;
    count(comm, &thread_comm_counts.all_reduce, 2 * n * dtype_size(type));
    show(comm, in);
    sum = reduced(comm, 0, n, type, op);
    leave(comm);
    memcpy(out, sum, n * dtype_size(type));
    free(sum);
    return 0;
}

static int reduce_scatter(struct comm *comm, const void *in, void *out, size_t n,
                          enum dtype type, enum redop op, struct error *err)
{
    void *sum;

    if (begin(comm, err) < 0)
        return -1;
    count(comm, &thread_comm_counts.reduce_scatter, n * (size_t)comm->size * dtype_size(type));
    show(comm, in);
    sum = reduced(comm, n * (size_t)comm->rank, n, type, op);
    leave(comm);
    memcpy(out, sum, n * dtype_size(type));
    free(sum);
    return 0;
}

static int all_gather(struct comm *comm, const void *in, void *out, size_t n, enum dtype type,
                      struct error *err)
{
    size_t bytes = n * dtype_size(type);
    void  *own;
    int    rank;

    if (begin(comm, err) < 0)
        return -1;
    count(comm, &thread_comm_counts.all_gather, bytes * (size_t)comm->size);
    own = xmemdup(in, bytes);
    show(comm, own);
    for (rank = 0; rank < comm->size; rank++)
        memcpy((char *)out + (size_t)rank * bytes, self_of(comm)->world->in[rank], bytes);
    leave(comm);
    free(own);
    return 0;
}

static int barrier(struct comm *comm, struct error *err)
{
    if (begin(comm, err) < 0)
        return -1;
    leave(comm);
    return 0;
}

static uint64_t mark(struct comm *comm)
{
    (void)comm;
    return 0;
}

static int wait_for(struct comm *comm, uint64_t until, struct error *err)
{
    (void)comm;
    (void)until;
    (void)err;
    return 0;
}

static void *alloc(struct comm *comm, size_t size, struct error *err)
{
    (void)comm;
    (void)err;
    return xmalloc(size > 0 ? size : 1);
}

static int copy(struct comm *comm, void *to, const void *from, size_t size,
                enum comm_copy direction, struct error *err)
{
    (void)comm;
    (void)direction;
    (void)err;
    memcpy(to, from, size);
    return 0;
}

static int close_comm(struct comm *comm, struct error *err)
{
    (void)comm;
    (void)err;
    return 0;
}

static void abort_comm(struct comm *comm)
{
    (void)comm;
}

static const struct comm_ops thread_ops = {
    .name = "threads",
    .all_reduce = all_reduce,
    .reduce_scatter = reduce_scatter,
    .all_gather = all_gather,
    .barrier = barrier,
    .mark = mark,
    .wait = wait_for,
    .alloc = alloc,
    .release = free,
    .copy = copy,
    .close = close_comm,
    .abort = abort_comm,
};

static void *run(void *arg)
{
    struct thread_comm *self = arg;

    self->wrong = self->world->rank_main(&self->base, self->world->arg);
    return NULL;
}

const char *thread_comm_run(int size, thread_rank_main *rank_main, void *arg)
{
    struct world       world = { .size = size, .rank_main = rank_main, .arg = arg };
    struct thread_comm ranks[RANKS_MAX] = { 0 };
    const char        *wrong = NULL;
    int                rank;

    memset(&thread_comm_counts, 0, sizeof thread_comm_counts);
    pthread_barrier_init(&world.meeting, NULL, (unsigned)size);
    for (rank = 0; rank < size; rank++) {
        ranks[rank].base = (struct comm){ .ops = &thread_ops, .rank = rank, .size = size,
                                          .memory = COMM_HOST, .timeout_s = 10 };
        ranks[rank].world = &world;
        if (thread_start(&ranks[rank].thread, run, &ranks[rank]) != 0)
            abort();
    }
    for (rank = 0; rank < size; rank++) {
        pthread_join(ranks[rank].thread, NULL);
        if (wrong == NULL)
            wrong = ranks[rank].wrong;
    }
    pthread_barrier_destroy(&world.meeting);
    return wrong;
}
