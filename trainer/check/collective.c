/* collective.c - see collective.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/collective.h"

static double but_own_part(int ranks);

static int run_broadcast(struct comm *comm, const struct transfer *t, struct error *err)
{
    return comm->ops->broadcast(comm, t->out, t->count, t->type, 0, err);
}

static int64_t want_broadcast(const struct pattern *pattern, const struct comm *comm,
                              size_t count, size_t i)
{
    (void)comm, (void)count;
    return pattern_value(pattern, 0, i);
}

/* Each rank sends to the next rank and receives from the previous one, all at the same time. */
static int run_sendrecv(struct comm *comm, const struct transfer *t, struct error *err)
{
    int next = (comm->rank + 1) % comm->size;
    int before = (comm->rank + comm->size - 1) % comm->size;

    if (comm->ops->group_start(comm, err) < 0 ||
        comm->ops->send(comm, t->in, t->count, t->type, next, err) < 0 ||
        comm->ops->recv(comm, t->out, t->count, t->type, before, err) < 0)
        return -1;
    return comm->ops->group_end(comm, err);
}

static int64_t want_sendrecv(const struct pattern *pattern, const struct comm *comm,
                             size_t count, size_t i)
{
    (void)count;
    return pattern_value(pattern, (comm->rank + comm->size - 1) % comm->size, i);
}

static int run_barrier(struct comm *comm, const struct transfer *t, struct error *err)
{
    (void)t;
    return comm->ops->barrier(comm, err);
}

static int run_all_reduce(struct comm *comm, const struct transfer *t, struct error *err)
{
    return comm->ops->all_reduce(comm, t->in, t->out, t->count, t->type, t->op, err);
}

static int64_t want_all_reduce(const struct pattern *pattern, const struct comm *comm,
                               size_t count, size_t i)
{
    (void)comm, (void)count;
    return pattern_reduced(pattern, i);
}

static int run_all_gather(struct comm *comm, const struct transfer *t, struct error *err)
{
    return comm->ops->all_gather(comm, t->in, t->out, t->count, t->type, err);
}

static int64_t want_all_gather(const struct pattern *pattern, const struct comm *comm,
                               size_t count, size_t i)
{
    (void)comm;
    return pattern_value(pattern, (int)(i / count), i % count);
}

static int run_reduce_scatter(struct comm *comm, const struct transfer *t, struct error *err)
{
    return comm->ops->reduce_scatter(comm, t->in, t->out, t->count, t->type, t->op, err);
}

static int64_t want_reduce_scatter(const struct pattern *pattern, const struct comm *comm,
                                   size_t count, size_t i)
{
    return pattern_reduced(pattern, (size_t)comm->rank * count + i);
}

static int run_alltoall(struct comm *comm, const struct transfer *t, struct error *err)
{
    return comm->ops->all_to_all(comm, t->in, t->out, t->count, t->type, err);
}

static int64_t want_alltoall(const struct pattern *pattern, const struct comm *comm,
                             size_t count, size_t i)
{
    return pattern_value(pattern, (int)(i / count), (size_t)comm->rank * count + i % count);
}

/* These factors are derived in doc/PERFORMANCE.md of nccl-tests. */
static double all_of_it(int ranks)
{
    (void)ranks;
    return 1;
}

static double there_and_back(int ranks)
{
    return 2 * but_own_part(ranks);
}

static double but_own_part(int ranks)
{
    return (double)(ranks - 1) / ranks;
}

const struct collective collectives[] = {
    { .name = "broadcast", .root = 0, .ranks_min = 1, .run = run_broadcast,
      .want = want_broadcast, .bus_factor = all_of_it },
    { .name = "sendrecv", .root = -1, .ranks_min = 2, .run = run_sendrecv,
      .want = want_sendrecv, .bus_factor = all_of_it },
    { .name = "barrier", .root = -1, .ranks_min = 1, .run = run_barrier },
    { .name = "all_reduce", .root = -1, .ranks_min = 1, .reduces = true, .in_place = true,
      .run = run_all_reduce, .want = want_all_reduce, .bus_factor = there_and_back },
    { .name = "all_gather", .root = -1, .ranks_min = 1, .out_all = true, .in_place = true,
      .run = run_all_gather, .want = want_all_gather, .bus_factor = but_own_part },
    { .name = "reduce_scatter", .root = -1, .ranks_min = 1, .reduces = true, .in_all = true,
      .in_place = true, .run = run_reduce_scatter, .want = want_reduce_scatter,
      .bus_factor = but_own_part },
    { .name = "alltoall", .root = -1, .ranks_min = 1, .in_all = true, .out_all = true,
      .run = run_alltoall, .want = want_alltoall, .bus_factor = but_own_part },
    { 0 },
};
_Static_assert(sizeof collectives / sizeof collectives[0] <= COLLECTIVES_MAX,
               "COLLECTIVES_MAX");
