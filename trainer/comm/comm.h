/* comm.h - the ranks of a run as one communicator
 *
 * Two backends behind one interface: comm_nccl.c (GPUs; in the plugin
 * muster-train-cuda.so, so that the program also runs without CUDA) and
 * comm_gloo.cc (CPUs). Both find the other ranks through PMI.
 *
 *     comm_open(&world, "auto", devices...) -> operations -> comm_close
 *
 * Operations are issued in the same order on all ranks and are carried out in
 * that order. An operation may still be under way when its call returns: its
 * buffers belong to the communicator until comm_wait() has returned for a mark
 * taken after it. NCCL works that way, on a stream of its own; Gloo has finished
 * when the call returns. Code written for the first is right for both.
 *
 *     comm_all_gather(comm, next_shard, next_layer, n, type, &err);
 *     mark = comm_mark(comm);
 *     ... compute this layer ...
 *     comm_wait(comm, mark, &err);
 *
 * All return 0, or -1 with the reason in err, which names the rank at fault
 * where that is known. The communicator is then broken: comm_abort and leave.
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

    /* all_gather's out, reduce_scatter's in and both of all_to_all hold count
     * elements for each rank, in rank order; all others hold count elements.
     * In place is: out == in for all_reduce, this rank's own part of the larger
     * buffer for all_gather and reduce_scatter. Otherwise buffers do not overlap.
     * A peer is another rank. */
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
    /* The host waits here until all ranks have come, and have done all before. */
    int (*barrier)(struct comm *comm, struct error *err);

    /* What is issued between the two may be carried out as one, and a send and a
     * recv do not wait for each other. Without it, two ranks that both send first
     * wait for ever. Groups do not nest. */
    int (*group_start)(struct comm *comm, struct error *err);
    int (*group_end)(struct comm *comm, struct error *err);

    /* A mark stands for everything issued up to now; waiting for it has the
     * deadline comm->timeout_s and notices a peer's death. */
    uint64_t (*mark)(struct comm *comm);
    int      (*wait)(struct comm *comm, uint64_t mark, struct error *err);

    /* Memory that the operations work on, and copies that are done on return. It
     * outlives the communicator: after a failure it must, since what is under way
     * may still write to it. */
    void *(*alloc)(struct comm *comm, size_t size, struct error *err);
    void  (*release)(void *memory);
    int   (*copy)(struct comm *comm, void *to, const void *from, size_t size,
                  enum comm_copy direction, struct error *err);

    /* Both free comm. close waits for what is under way; abort waits for nobody,
     * and operations under way fail here and, soon, on the other ranks. */
    int  (*close)(struct comm *comm, struct error *err);
    void (*abort)(struct comm *comm);

    /* The cudaStream_t for whoever computes: from now on, each operation begins after what was
     * issued there before it. NULL with err; NULL itself where there is no GPU. */
    void *(*compute_stream)(struct comm *comm, struct error *err);

    /* Each operation from now on begins after this event, a cudaEvent_t. NULL itself where there is
     * no GPU. */
    int (*after)(struct comm *comm, void *event, struct error *err);
    /* What this mark stands for as such an event, until a few marks later. */
    void *(*event)(struct comm *comm, uint64_t mark);

    /* all_reduce, in place, of a few numbers of the host's, at most COMM_NUMBERS_MAX. NULL:
     * all_reduce does it. See comm_reduce_numbers. */
    int (*reduce_numbers)(struct comm *comm, double *numbers, size_t count, enum redop op,
                          struct error *err);
};

/* What all backends have; each puts its own behind it. */
struct comm {
    const struct comm_ops *ops;
    int                    rank, size;
    enum comm_memory       memory;
    double                 timeout_s; /* for any one wait */
    bool                   timed_out; /* the failure was that deadline */
};

/* Who takes part, in what comm_open needs of it. */
struct comm_world {
    struct pmi        *pmi;
    int                rank, size, local_rank;
    const char *const *label; /* for each rank: "rank 3 on te2" */
    double             timeout_s;
};

/* A rank's GPU, as the plugin finds it. */
struct comm_device {
    bool usable;
    int  index;           /* CUDA's number of it, within CUDA_VISIBLE_DEVICES */
    int  library_version; /* NCCL's, as NCCL_VERSION_CODE; 0: none */
    char uuid[37];        /* "" without a GPU */
    char name[64];        /* "NVIDIA H100 80GB HBM3" */
    char why_not[160];    /* not usable: "no GPU: CUDA driver version is ..." */
};

struct comm_backend {
    /* Look for this rank's GPU; never fails, but says why there is none. */
    void (*probe)(int local_rank, struct comm_device *device);
    /* NULL with err; *timed_out when it was a deadline. */
    struct comm *(*open)(const struct comm_world *world, const struct comm_device *device,
                         bool *timed_out, struct error *err);
};

/* Find this rank's GPU, loading the plugin if there is one. */
void comm_probe(int local_rank, struct comm_device *device);

/* Build the communicator "nccl" or "gloo"; all ranks must ask for the same one.
 * device as comm_probe has filled it. */
struct comm *comm_open(const char *backend, const struct comm_world *world,
                       const struct comm_device *device, bool *timed_out,
                       struct error *err);

/* The backends. Gloo's is missing from a build without Gloo: open then says so. */
struct comm *comm_gloo_open(const struct comm_world *world, bool *timed_out,
                            struct error *err);
extern const struct comm_backend comm_nccl_backend; /* in the plugin */
#define COMM_PLUGIN        "muster-train-cuda.so" /* see plugin.h */
#define COMM_PLUGIN_SYMBOL "comm_nccl_backend"

#define COMM_NUMBERS_MAX 8

/* As soon as a mark has been waited for, numbers are all ranks'. */
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
