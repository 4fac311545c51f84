/* world.c - see world.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/world.h"

#include <string.h>

#include "comm/alone.h"
#include "comm/background.h"

static bool wants_gpu(const char *device);
static int  connect_all(struct world *world, double timeout_s, struct error *err);

int world_open(struct world *world, const char *device, double timeout_s, struct error *err)
{
    struct error why;

    *world = (struct world){ .size = 1 };
    if (pmi_init(&world->pmi, timeout_s, err) < 0)
        return -1;
    world->rank = world->pmi.rank;
    world->size = world->pmi.size;
    if (roster_exchange(&world->roster, &world->pmi, err) < 0 ||
        roster_verify(&world->roster, err) < 0)
        return -1;
    world->on_gpu = wants_gpu(device) && roster_gpus(&world->roster, &why) == 0;
    if (strcmp(device, "cuda") == 0 && !world->on_gpu)
        return err_set(err, "--device cuda: %s", why.text);
    if (world->size > 1 || world->on_gpu)
        return connect_all(world, timeout_s, err);
    world->comm = comm_alone(timeout_s);
    return 0;
}

/* "auto" uses no GPU if the build has no kernels for it. */
static bool wants_gpu(const char *device)
{
#ifdef HAVE_NVCC
    return strcmp(device, "cpu") != 0;
#else
    return strcmp(device, "cuda") == 0;
#endif
}

static int connect_all(struct world *world, double timeout_s, struct error *err)
{
    const struct roster_rank *self = &world->roster.rank[world->rank];
    const struct comm_world   how = {
        .pmi = &world->pmi,
        .rank = world->rank,
        .size = world->size,
        .local_rank = self->local_rank >= 0 ? self->local_rank : 0,
        .label = (const char *const *)world->roster.label,
        .timeout_s = timeout_s,
    };
    bool         timed_out;
    struct comm *comm =
        comm_open(world->on_gpu ? "nccl" : "gloo", &how, &self->device, &timed_out, err);

    if (comm == NULL)
        return -1;
    if (world->on_gpu) { /* NCCL needs no thread: its calls do not block the host */
        world->comm = comm;
        return 0;
    }
    world->comm = comm_background(comm, err);
    if (world->comm != NULL)
        return 0;
    comm->ops->abort(comm);
    return -1;
}

int world_close(struct world *world, struct error *err)
{
    struct comm *comm = world->comm;

    world->comm = NULL;
    if (comm->ops->close(comm, err) < 0 || pmi_barrier(&world->pmi, err) < 0 ||
        pmi_finalize(&world->pmi, err) < 0)
        return -1;
    roster_clear(&world->roster);
    return 0;
}

void world_abort(struct world *world)
{
    if (world->comm != NULL)
        world->comm->ops->abort(world->comm);
    world->comm = NULL;
}

int world_sum_begin(struct world *world, double *numbers, size_t count, uint64_t *mark,
                    struct error *err)
{
    struct comm *comm = world->comm;

    if (comm_reduce_numbers(comm, numbers, count, REDOP_SUM, err) < 0)
        return -1;
    *mark = comm->ops->mark(comm);
    return 0;
}

int world_sum_end(struct world *world, uint64_t mark, struct error *err)
{
    return world->comm->ops->wait(world->comm, mark, err);
}

/* A double holds 52 bits of the hash. The sum is rank 0's hash, because the others add 0. */
int world_agree(struct world *world, uint64_t hash, const char *what, struct error *err)
{
    const double mine = (double)(hash >> 12);
    double       first = world->rank == 0 ? mine : 0;
    uint64_t     mark;

    if (world_sum_begin(world, &first, 1, &mark, err) < 0 || world_sum_end(world, mark, err) < 0)
        return -1;
    if (first == mine)
        return 0;
    return err_set(err,
                   "%s on this rank differs from rank 0's; do all nodes have the same one, and "
                   "all ranks the same options?",
                   what);
}

const char *world_label(const struct world *world)
{
    return world->roster.label != NULL ? world->roster.label[world->rank] : "rank 0";
}
