/* comm_nccl.c - the communicator on GPUs: NCCL
 *
 * This file is part of the plugin muster-train-cuda.so. It uses NCCL in non-blocking mode,
 * because only that mode allows deadlines and abort: a call may return "in progress", and this
 * file then polls until the call has finished before it makes the next one.
 *
 * All operations use one stream of this file's own. A mark is an event on it. The caller's
 * kernels use another stream; on the GPU, each operation waits for that stream. Only wait()
 * blocks the host.
 *
 * NCCL reports that a rank is lost, but not which one: peers.h finds that out.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/comm.h"
#include "comm/comm_device.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cuda_runtime.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes" /* ncclResetDebugInit() */
#include <nccl.h>
#pragma GCC diagnostic pop

#include "clock.h"
#include "comm/iface.h"
#include "comm/peers.h"
#include "xalloc.h"

#define MARKS   64               /* events; a wait for an older mark uses a newer event */
#define NUMBERS 4
#define SPIN_NS (5 * 1000 * 1000) /* poll this long without sleep, then sleep between polls */

/* A pending reduction of the host's numbers, in pinned memory and on the GPU. */
struct numbers {
    double  *pinned, *device, *to; /* to: where the result goes; NULL: none is pending */
    size_t   count;
    uint64_t mark;
};

struct nccl_comm {
    struct comm  base; /* first: a struct comm * is cast to this */
    struct peers *peers; /* NULL: this rank is alone */
    ncclComm_t   nccl;
    cudaStream_t stream;
    cudaStream_t compute;  /* NULL: compute_stream() has not been called */
    cudaEvent_t  computed; /* the work on compute before the latest operation */
    struct numbers numbers[NUMBERS];
    unsigned     numbers_begun;
    cudaEvent_t  event[MARKS];
    uint64_t     marks;
    void        *word; /* the int32 that the barrier reduces */
    bool         in_group;
};

static const struct comm_ops nccl_ops;

static int            make_stream(struct nccl_comm *c, int device, struct error *err);
static int            listen_to_peers(struct nccl_comm *c, const struct comm_world *world,
                                      struct error *err);
static int            exchange_id(struct nccl_comm *c, const struct comm_world *world,
                                  ncclUniqueId *id, struct error *err);
static int            connect_ranks(struct nccl_comm *c, const ncclUniqueId *id,
                                    struct error *err);
static int            group_start(struct comm *comm, struct error *err);
static int            send_to(struct comm *comm, const void *in, size_t count,
                              enum dtype type, int peer, struct error *err);
static int            recv_from(struct comm *comm, void *out, size_t count,
                                enum dtype type, int peer, struct error *err);
static int            group_end(struct comm *comm, struct error *err);
static int            all_reduce(struct comm *comm, const void *in, void *out,
                                 size_t count, enum dtype type, enum redop op,
                                 struct error *err);
static int            begin(struct nccl_comm *c, struct error *err);
static int            follow(struct nccl_comm *c, struct error *err);
static void           give_numbers(struct nccl_comm *c, uint64_t until);
static ncclDataType_t type_of(enum dtype type);
static void           abort_comm(struct comm *comm);
static void           free_rest(struct nccl_comm *c);
static int            settle(struct nccl_comm *c, const char *what, ncclResult_t rc,
                             struct error *err);
static uint64_t       mark(struct comm *comm);
static int            wait(struct comm *comm, uint64_t until, struct error *err);
static struct nccl_comm *of(struct comm *comm);
static int            nccl_failed(const struct nccl_comm *c, const char *what,
                                  ncclResult_t rc, struct error *err);
static int            late(struct nccl_comm *c, const char *what, struct error *err);
static void           pause_after(int64_t waited_ns);
static int            cuda_failed(const char *what, cudaError_t rc, struct error *err);

/* ---- opening ---- */

static struct comm *open_comm(const struct comm_world *world, const struct comm_device *device,
                              bool *timed_out, struct error *err)
{
    struct nccl_comm *c = xcalloc(1, sizeof *c);
    ncclUniqueId      id;

    c->base = (struct comm){ .ops = &nccl_ops, .rank = world->rank, .size = world->size,
                             .memory = COMM_DEVICE, .timeout_s = world->timeout_s };
    if (make_stream(c, device->index, err) == 0 && listen_to_peers(c, world, err) == 0 &&
        exchange_id(c, world, &id, err) == 0 && connect_ranks(c, &id, err) == 0)
        return &c->base;
    *timed_out = c->base.timed_out || world->pmi->timed_out;
    abort_comm(&c->base);
    return NULL;
}

static int make_stream(struct nccl_comm *c, int device, struct error *err)
{
    cudaError_t rc = cudaSetDevice(device);
    int         i;

    if (rc == cudaSuccess)
        rc = cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking);
    for (i = 0; i < MARKS && rc == cudaSuccess; i++)
        rc = cudaEventCreateWithFlags(&c->event[i], cudaEventDisableTiming);
    if (rc == cudaSuccess)
        rc = cudaMalloc(&c->word, sizeof(int));
    return rc == cudaSuccess ? 0 : cuda_failed("nccl", rc, err);
}

/* Listens on the interface that NCCL uses for its own TCP connections. */
static int listen_to_peers(struct nccl_comm *c, const struct comm_world *world, struct error *err)
{
    struct iface chosen;

    if (world->size == 1)
        return 0;
    if (iface_choose("nccl", &chosen, err) < 0)
        return -1;
    c->peers = peers_listen(&chosen.socket_address, world->rank, world->size, world->label, err);
    return c->peers != NULL ? peers_publish(c->peers, world->pmi, err) : -1;
}

static int exchange_id(struct nccl_comm *c, const struct comm_world *world, ncclUniqueId *id,
                       struct error *err)
{
    char         hex[2 * sizeof id->internal + 1];
    ncclResult_t rc;

    if (world->rank == 0) {
        rc = ncclGetUniqueId(id);
        if (rc != ncclSuccess)
            return err_set(err, "nccl: cannot get a unique id: %s", ncclGetErrorString(rc));
        hex_encode(id->internal, sizeof id->internal, hex);
        if (pmi_put(world->pmi, "nccl-id", hex, err) < 0)
            return -1;
    }
    if (pmi_barrier(world->pmi, err) < 0 ||
        (c->peers != NULL && peers_meet(c->peers, world->pmi, err) < 0))
        return -1;
    if (world->rank == 0)
        return 0;
    if (pmi_get(world->pmi, "nccl-id", hex, sizeof hex, err) < 0)
        return -1;
    if (hex_decode(hex, id->internal, sizeof id->internal) != (int)sizeof id->internal)
        return err_set(err, "nccl: rank 0 has published no valid unique id");
    return 0;
}

static int connect_ranks(struct nccl_comm *c, const ncclUniqueId *id, struct error *err)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    const char  *iface = getenv("NCCL_SOCKET_IFNAME");
    struct error why;
    ncclResult_t rc;

    config.blocking = 0;
    rc = ncclCommInitRankConfig(&c->nccl, c->base.size, *id, c->base.rank, &config);
    if (settle(c, "connecting", rc, &why) == 0)
        return 0;
    return err_set(err, "nccl: %s (NCCL_SOCKET_IFNAME is %s; NCCL_DEBUG=INFO shows more)",
                   why.text, iface != NULL ? iface : "not set");
}

/* ---- operations ---- */

_Static_assert((int)DTYPE_INT8 == ncclInt8 && (int)DTYPE_UINT64 == ncclUint64 &&
               (int)DTYPE_HALF == ncclFloat16 && (int)DTYPE_DOUBLE == ncclFloat64 &&
               (int)DTYPE_BFLOAT16 == 9, "NCCL's numbers of the types");
_Static_assert((int)REDOP_SUM == ncclSum && (int)REDOP_PROD == ncclProd &&
               (int)REDOP_MAX == ncclMax && (int)REDOP_MIN == ncclMin,
               "NCCL's numbers of the operations");

static int reduce_scatter(struct comm *comm, const void *in, void *out, size_t count,
                          enum dtype type, enum redop op, struct error *err)
{
    struct nccl_comm *c = of(comm);

    if (begin(c, err) < 0)
        return -1;
    return settle(c, "reduce_scatter", ncclReduceScatter(in, out, count, type_of(type),
                                                         (ncclRedOp_t)op, c->nccl, c->stream),
                  err);
}

static int all_gather(struct comm *comm, const void *in, void *out, size_t count,
                      enum dtype type, struct error *err)
{
    struct nccl_comm *c = of(comm);

    if (begin(c, err) < 0)
        return -1;
    return settle(c, "all_gather",
                  ncclAllGather(in, out, count, type_of(type), c->nccl, c->stream), err);
}

static int broadcast(struct comm *comm, void *buffer, size_t count, enum dtype type, int root,
                     struct error *err)
{
    struct nccl_comm *c = of(comm);

    if (begin(c, err) < 0)
        return -1;
    return settle(c, "broadcast", ncclBroadcast(buffer, buffer, count, type_of(type), root,
                                                c->nccl, c->stream), err);
}

static int all_to_all(struct comm *comm, const void *in, void *out, size_t count,
                      enum dtype type, struct error *err)
{
    const size_t bytes = count * dtype_size(type);
    int          peer;

    peers_count(of(comm)->peers);
    if (group_start(comm, err) < 0)
        return -1;
    for (peer = 0; peer < comm->size; peer++)
        if (send_to(comm, (const char *)in + (size_t)peer * bytes, count, type, peer, err) < 0 ||
            recv_from(comm, (char *)out + (size_t)peer * bytes, count, type, peer, err) < 0)
            return -1;
    return group_end(comm, err);
}

static int group_start(struct comm *comm, struct error *err)
{
    of(comm)->in_group = true;
    return settle(of(comm), "group", ncclGroupStart(), err);
}

static int send_to(struct comm *comm, const void *in, size_t count, enum dtype type, int peer,
                   struct error *err)
{
    struct nccl_comm *c = of(comm);

    if (follow(c, err) < 0)
        return -1;
    return settle(c, "send", ncclSend(in, count, type_of(type), peer, c->nccl, c->stream), err);
}

static int recv_from(struct comm *comm, void *out, size_t count, enum dtype type, int peer,
                     struct error *err)
{
    struct nccl_comm *c = of(comm);

    if (follow(c, err) < 0)
        return -1;
    return settle(c, "recv", ncclRecv(out, count, type_of(type), peer, c->nccl, c->stream), err);
}

static int group_end(struct comm *comm, struct error *err)
{
    of(comm)->in_group = false;
    return settle(of(comm), "group", ncclGroupEnd(), err);
}

static int barrier(struct comm *comm, struct error *err)
{
    struct nccl_comm *c = of(comm);

    if (all_reduce(comm, c->word, c->word, 1, DTYPE_INT32, REDOP_MAX, err) < 0)
        return -1;
    return wait(comm, mark(comm), err);
}

static int all_reduce(struct comm *comm, const void *in, void *out, size_t count,
                      enum dtype type, enum redop op, struct error *err)
{
    struct nccl_comm *c = of(comm);

    if (begin(c, err) < 0)
        return -1;
    return settle(c, "all_reduce", ncclAllReduce(in, out, count, type_of(type), (ncclRedOp_t)op,
                                                 c->nccl, c->stream), err);
}

/* Begins an operation in which all ranks take part. */
static int begin(struct nccl_comm *c, struct error *err)
{
    peers_count(c->peers);
    return follow(c, err);
}

/* Makes the next operation wait for the work issued to the compute stream. */
static int follow(struct nccl_comm *c, struct error *err)
{
    cudaError_t rc;

    if (c->compute == NULL)
        return 0;
    rc = cudaEventRecord(c->computed, c->compute);
    if (rc == cudaSuccess)
        rc = cudaStreamWaitEvent(c->stream, c->computed, 0);
    return rc == cudaSuccess ? 0 : cuda_failed("nccl", rc, err);
}

static int reduce_numbers(struct comm *comm, double *numbers, size_t count, enum redop op,
                          struct error *err)
{
    struct nccl_comm *c = of(comm);
    struct numbers   *n = &c->numbers[c->numbers_begun++ % NUMBERS];
    const size_t      bytes = count * sizeof *numbers;
    cudaError_t       rc = cudaSuccess;

    if (n->to != NULL && wait(comm, n->mark, err) < 0)
        return -1;
    if (n->pinned == NULL)
        rc = cudaMallocHost((void **)&n->pinned, COMM_NUMBERS_MAX * sizeof *numbers);
    if (rc == cudaSuccess && n->device == NULL)
        rc = cudaMalloc((void **)&n->device, COMM_NUMBERS_MAX * sizeof *numbers);
    if (rc == cudaSuccess) {
        memcpy(n->pinned, numbers, bytes);
        rc = cudaMemcpyAsync(n->device, n->pinned, bytes, cudaMemcpyHostToDevice, c->stream);
    }
    if (rc != cudaSuccess)
        return cuda_failed("numbers", rc, err);
    if (all_reduce(comm, n->device, n->device, count, DTYPE_DOUBLE, op, err) < 0)
        return -1;
    rc = cudaMemcpyAsync(n->pinned, n->device, bytes, cudaMemcpyDeviceToHost, c->stream);
    if (rc != cudaSuccess)
        return cuda_failed("numbers", rc, err);
    n->to = numbers;
    n->count = count;
    n->mark = mark(comm);
    return 0;
}

/* Copies the results that are complete at this mark to their destinations. */
static void give_numbers(struct nccl_comm *c, uint64_t until)
{
    struct numbers *n;

    for (n = c->numbers; n < c->numbers + NUMBERS; n++) {
        if (n->to == NULL || n->mark > until)
            continue;
        memcpy(n->to, n->pinned, n->count * sizeof *n->to);
        n->to = NULL;
    }
}

static void *compute_stream(struct comm *comm, struct error *err)
{
    struct nccl_comm *c = of(comm);
    cudaError_t       rc;

    if (c->compute != NULL)
        return c->compute;
    rc = cudaEventCreateWithFlags(&c->computed, cudaEventDisableTiming);
    if (rc == cudaSuccess)
        rc = cudaStreamCreateWithFlags(&c->compute, cudaStreamNonBlocking);
    if (rc == cudaSuccess)
        return c->compute;
    cuda_failed("stream", rc, err);
    return NULL;
}

static int after(struct comm *comm, void *event, struct error *err)
{
    cudaError_t rc = cudaStreamWaitEvent(of(comm)->stream, (cudaEvent_t)event, 0);

    return rc == cudaSuccess ? 0 : cuda_failed("nccl", rc, err);
}

static void *event_of(struct comm *comm, uint64_t mark)
{
    return of(comm)->event[mark % MARKS];
}

/* dtype.h and NCCL have the same numbers; nccl.h hides bfloat16 from some
 * compilers, so there is no table of names. */
static ncclDataType_t type_of(enum dtype type)
{
    return (ncclDataType_t)type;
}

/* ---- memory, close and abort ---- */

static void *alloc(struct comm *comm, size_t size, struct error *err)
{
    void       *memory = NULL;
    cudaError_t rc = cudaMalloc(&memory, size > 0 ? size : 1);

    (void)comm;
    if (rc == cudaSuccess)
        return memory;
    cuda_failed("device memory", rc, err);
    return NULL;
}

static void release(void *memory)
{
    cudaFree(memory);
}

/* Copies on the communicator's stream, so after all earlier operations, and waits with its
 * deadline. */
static int copy(struct comm *comm, void *to, const void *from, size_t size,
                enum comm_copy direction, struct error *err)
{
    cudaError_t rc = cudaMemcpyAsync(to, from, size,
                                     direction == COMM_TO_HOST ? cudaMemcpyDeviceToHost
                                                               : cudaMemcpyHostToDevice,
                                     of(comm)->stream);

    if (rc != cudaSuccess)
        return cuda_failed("copy", rc, err);
    return wait(comm, mark(comm), err);
}

static int close_comm(struct comm *comm, struct error *err)
{
    struct nccl_comm *c = of(comm);

    if (wait(comm, mark(comm), err) < 0 ||
        settle(c, "closing", ncclCommFinalize(c->nccl), err) < 0) {
        abort_comm(comm);
        return -1;
    }
    ncclCommDestroy(c->nccl);
    free_rest(c);
    return 0;
}

/* Stops NCCL's kernels before memory is freed; otherwise cudaFree would wait for them. */
static void abort_comm(struct comm *comm)
{
    struct nccl_comm *c = of(comm);

    if (c->nccl != NULL)
        ncclCommAbort(c->nccl);
    free_rest(c);
}

static void free_rest(struct nccl_comm *c)
{
    int i;

    for (i = 0; i < MARKS; i++)
        if (c->event[i] != NULL)
            cudaEventDestroy(c->event[i]);
    if (c->word != NULL)
        cudaFree(c->word);
    for (i = 0; i < NUMBERS; i++) {
        cudaFreeHost(c->numbers[i].pinned);
        cudaFree(c->numbers[i].device);
    }
    if (c->computed != NULL)
        cudaEventDestroy(c->computed);
    if (c->compute != NULL)
        cudaStreamDestroy(c->compute);
    if (c->stream != NULL)
        cudaStreamDestroy(c->stream);
    peers_close(c->peers);
    free(c);
}

/* ---- waiting ---- */

/* Waits until an NCCL call has finished. Within a group, group_end() waits instead. */
static int settle(struct nccl_comm *c, const char *what, ncclResult_t rc, struct error *err)
{
    int64_t      start_ns = clock_now_ns(), waited_ns = 0;
    ncclResult_t asked;

    if (rc == ncclInProgress && c->in_group)
        return 0;
    while (rc == ncclInProgress && (double)waited_ns < c->base.timeout_s * NS_PER_S) {
        pause_after(waited_ns);
        waited_ns = clock_now_ns() - start_ns;
        asked = ncclCommGetAsyncError(c->nccl, &rc);
        if (asked != ncclSuccess)
            rc = asked;
    }
    if (rc == ncclInProgress)
        return late(c, what, err);
    return rc == ncclSuccess ? 0 : nccl_failed(c, what, rc, err);
}

static uint64_t mark(struct comm *comm)
{
    struct nccl_comm *c = of(comm);

    /* If this fails, the stream is broken, and the next wait reports it. */
    (void)cudaEventRecord(c->event[c->marks % MARKS], c->stream);
    return c->marks++;
}

/* If a peer dies, this rank's kernel spins for ever; only NCCL reports the death. */
static int wait(struct comm *comm, uint64_t until, struct error *err)
{
    struct nccl_comm *c = of(comm);
    int64_t           start_ns = clock_now_ns(), waited_ns;
    ncclResult_t      rc, asked;
    cudaError_t       state;

    while ((state = cudaEventQuery(c->event[until % MARKS])) == cudaErrorNotReady) {
        waited_ns = clock_now_ns() - start_ns;
        asked = ncclCommGetAsyncError(c->nccl, &rc);
        if (asked != ncclSuccess)
            rc = asked;
        if (rc != ncclSuccess && rc != ncclInProgress)
            return nccl_failed(c, "nccl", rc, err);
        if ((double)waited_ns > c->base.timeout_s * NS_PER_S)
            return late(c, "nccl", err);
        pause_after(waited_ns);
    }
    if (state != cudaSuccess)
        return cuda_failed("nccl", state, err);
    give_numbers(c, until);
    return 0;
}

static struct nccl_comm *of(struct comm *comm)
{
    return (struct nccl_comm *)comm;
}

/* Another rank may have caused an ncclRemoteError, or an ncclSystemError when it closed its
 * connection. */
static int nccl_failed(const struct nccl_comm *c, const char *what, ncclResult_t rc,
                       struct error *err)
{
    const char *last = c->nccl != NULL ? ncclGetLastError(c->nccl) : "";
    char        why[sizeof err->text];

    snprintf(why, sizeof why, "%s%s%s", ncclGetErrorString(rc), *last ? ": " : "", last);
    if (rc != ncclRemoteError && rc != ncclSystemError)
        return err_set(err, "%s: %s", what, why);
    return peers_blame(c->peers, what, why, 0, err);
}

static int late(struct nccl_comm *c, const char *what, struct error *err)
{
    c->base.timed_out = true;
    return peers_blame(c->peers, what, "all ranks answer", c->base.timeout_s, err);
}

static void pause_after(int64_t waited_ns)
{
    const struct timespec moment = { .tv_nsec = 50000 };

    if (waited_ns < SPIN_NS)
        sched_yield();
    else
        nanosleep(&moment, NULL);
}

static int cuda_failed(const char *what, cudaError_t rc, struct error *err)
{
    return err_set(err, "%s: CUDA: %s", what, cudaGetErrorString(rc));
}

static const struct comm_ops nccl_ops = {
    .name = "nccl",
    .all_reduce = all_reduce,
    .reduce_scatter = reduce_scatter,
    .all_gather = all_gather,
    .all_to_all = all_to_all,
    .broadcast = broadcast,
    .send = send_to,
    .recv = recv_from,
    .barrier = barrier,
    .compute_stream = compute_stream,
    .after = after,
    .event = event_of,
    .reduce_numbers = reduce_numbers,
    .group_start = group_start,
    .group_end = group_end,
    .mark = mark,
    .wait = wait,
    .alloc = alloc,
    .release = release,
    .copy = copy,
    .close = close_comm,
    .abort = abort_comm,
};

const struct comm_backend comm_nccl_backend = { .probe = comm_device_probe, .open = open_comm };
