/* comm.h - the ranks of a run as one communicator
 *
 * The interface has two backends: comm_nccl.c (GPUs) and comm_gloo.cc (CPUs). Each is a
 * plugin (plugin.h), so that the program also runs where the libraries of one of them are
 * missing. Both find the other ranks through PMI.
 *
 *     comm_open(&world, "auto", devices...) -> operations -> comm_close
 *
 * All ranks issue operations in the same order, and the communicator carries them
 * out in that order. An operation may still be running when its call returns: its
 * buffers belong to the communicator until comm_wait() has returned for a mark
 * taken after it. NCCL works that way, on its own stream; Gloo has finished when
 * the call returns. Code written for NCCL is correct for both.
 *
 *     comm_all_gather(comm, next_shard, next_layer, n, type, &err);
 *     mark = comm_mark(comm);
 *     ... compute this layer ...
 *     comm_wait(comm, mark, &err);
 *
 * All return 0, or -1 with the reason in err, which names the rank at fault if
 * it is known. After a failure the communicator is broken: call comm_abort and exit.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COMM_H
#define MUSTER_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "err.h"
#include "comm/pmi_client.h"

enum comm_memory { COMM_HOST, COMM_DEVICE };
enum comm_copy { COMM_TO_HOST, COMM_FROM_HOST };

struct comm;

struct comm_ops {
    const char *name; /* "nccl", "gloo" */

    /* all_gather's out, reduce_scatter's in and both buffers of all_to_all hold
     * count elements for each rank, in rank order; all other buffers hold count
     * elements. An operation is in place if out == in (all_reduce) or if the
     * smaller buffer is this rank's part of the larger one (all_gather and
     * reduce_scatter). Otherwise the buffers must not overlap. A peer is another
     * rank. */
    int (*all_reduce)(struct comm *comm, const void *in, void *out, size_t count,
                      enum dtype type, enum redop op, struct error *err);
    int (*reduce_scatter)(struct comm *comm, const void *in, void *out, size_t count,
                          enum dtype type, enum redop op, struct error *err);
    int (*all_gather)(struct comm *comm, const void *in, void *out, size_t count,
                      enum dtype type, struct error *err);
    int (*all_to_all)(struct comm *comm, const void *in, void *out, size_t count,
                      enum dtype type, struct error *err);
    int (*broadcast)(struct comm *comm, void *buffer, size_t count, enum dtype type,
                     int root, struct error *err);
    int (*send)(struct comm *comm, const void *in, size_t count, enum dtype type, int peer,
                struct error *err);
    int (*recv)(struct comm *comm, void *out, size_t count, enum dtype type, int peer,
                struct error *err);
    /* Blocks the host until all ranks have reached the barrier and have finished all
     * operations issued before it. */
    int (*barrier)(struct comm *comm, struct error *err);

    /* The operations issued between these calls may be carried out as one, and a send
     * and a recv do not wait for each other. Without a group, two ranks that both send
     * first wait for ever. Groups do not nest. */
    int (*group_start)(struct comm *comm, struct error *err);
    int (*group_end)(struct comm *comm, struct error *err);

    /* A mark covers every operation issued so far. Waiting for it has the deadline
     * comm->timeout_s and fails when a peer dies. */
    uint64_t (*mark)(struct comm *comm);
    int      (*wait)(struct comm *comm, uint64_t mark, struct error *err);

    /* Memory that the operations work on. copy has finished when it returns. The memory
     * outlives the communicator: after a failure, running operations may still write
     * to it. */
    void *(*alloc)(struct comm *comm, size_t size, struct error *err);
    void  (*release)(void *memory);
    int   (*copy)(struct comm *comm, void *to, const void *from, size_t size,
                  enum comm_copy direction, struct error *err);

    /* Both free comm. close waits for running operations. abort does not wait: running
     * operations fail on this rank and, soon after, on the other ranks. */
    int  (*close)(struct comm *comm, struct error *err);
    void (*abort)(struct comm *comm);

    /* Returns the cudaStream_t for the caller's kernels: from now on, each operation starts
     * after the work that was issued to this stream before it. NULL with err on failure. The
     * pointer is NULL in a backend without GPUs. */
    void *(*compute_stream)(struct comm *comm, struct error *err);

    /* From now on, each operation starts after this event, a cudaEvent_t. The pointer is NULL
     * in a backend without GPUs. */
    int (*after)(struct comm *comm, void *event, struct error *err);
    /* Returns the cudaEvent_t of a mark; it is valid only until a few marks later. */
    void *(*event)(struct comm *comm, uint64_t mark);

    /* all_reduce, in place, of at most COMM_NUMBERS_MAX numbers in host memory. NULL:
     * comm_reduce_numbers() calls all_reduce instead. */
    int (*reduce_numbers)(struct comm *comm, double *numbers, size_t count, enum redop op,
                          struct error *err);
};

/* The common part of all backends; each backend appends its own fields. */
struct comm {
    const struct comm_ops *ops;
    int                    rank, size;
    enum comm_memory       memory;
    double                 timeout_s; /* for each wait */
    bool                   timed_out; /* the failure was a timeout */
};

/* The ranks that take part, as comm_open needs to know them. */
struct comm_world {
    struct pmi        *pmi;
    int                rank, size, local_rank;
    const char *const *label; /* for each rank: "rank 3 on te2" */
    double             timeout_s;
};

/* A rank's GPU, as the plugin for NCCL reports it. */
struct comm_device {
    bool usable;
    int  index;           /* CUDA's device number, within CUDA_VISIBLE_DEVICES */
    int  library_version; /* NCCL's, as NCCL_VERSION_CODE; 0: none */
    char uuid[37];        /* "" without a GPU */
    char name[64];        /* "NVIDIA H100 80GB HBM3" */
    char why_not[160];    /* not usable: "no GPU: CUDA driver version is ..." */
};

struct comm_backend {
    /* Looks for this rank's GPU. Never fails: device->why_not says why there is none. NULL:
     * the backend needs none. */
    void (*probe)(int local_rank, struct comm_device *device);
    /* NULL with err on failure; *timed_out: the failure was a timeout. */
    struct comm *(*open)(const struct comm_world *world, const struct comm_device *device,
                         bool *timed_out, struct error *err);
};

/* Finds this rank's GPU. Loads the plugin for NCCL if it is installed. */
void comm_probe(int local_rank, struct comm_device *device);

/* Loads the backend's plugin, without using it. Returns -1 with err, which may be NULL. */
int comm_can_load(const char *backend, struct error *err);

/* Opens the communicator "nccl" or "gloo"; all ranks must ask for the same one.
 * comm_probe must have filled device. */
struct comm *comm_open(const char *backend, const struct comm_world *world,
                       const struct comm_device *device, bool *timed_out,
                       struct error *err);

/* The backends, in their plugins. */
extern const struct comm_backend comm_nccl_backend, comm_gloo_backend;

#define COMM_NUMBERS_MAX 8

/* Reduces numbers over all ranks, in place. The result is there after a wait for a mark. */
static inline int comm_reduce_numbers(struct comm *comm, double *numbers, size_t count,
                                      enum redop op, struct error *err)
{
    if (comm->ops->reduce_numbers != NULL)
        return comm->ops->reduce_numbers(comm, numbers, count, op, err);
    return comm->ops->all_reduce(comm, numbers, numbers, count, DTYPE_DOUBLE, op, err);
}

#ifdef __cplusplus
}
#endif

#endif
