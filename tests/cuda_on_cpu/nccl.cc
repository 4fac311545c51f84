/* nccl.cc - collectives between processes of this machine: see README
 *
 * In a piece of shared memory each rank has a slot. An operation goes chunk by chunk: a rank fills
 * its slot when all have read the chunk before, and reads all slots when all are filled. From each
 * rank to each there is a channel for sends, which end when all has been received: so two ranks
 * that both send first, outside of a group, wait for ever, as they may on a GPU. Nobody waits here:
 * the stream asks again.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cuda_on_cpu.h"

#include <atomic>
#include <fcntl.h>
#include <memory>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nccl.h>

#define RANKS_MAX 8
#define SLOT      ((size_t)64 << 10)
#define CHANNEL   ((size_t)16 << 10)

struct channel {
    std::atomic<uint64_t> sent, received; /* chunks */
    size_t                bytes;          /* of the chunk that is there */
    char                  data[CHANNEL];
};

struct shared {
    std::atomic<int>      joined;
    std::atomic<bool>     has_left[RANKS_MAX];
    std::atomic<uint64_t> filled[RANKS_MAX], read[RANKS_MAX]; /* chunks */
    char                  slot[RANKS_MAX][SLOT];
    struct channel        channel[RANKS_MAX][RANKS_MAX]; /* from, to */
};

struct cuda_on_cpu_comm {
    struct shared *shared;
    char           name[64];
    int            rank, ranks;
    int            fd; /* with a lock on the byte of the rank's number, as long as it lives */
    bool           is_linked;
    uint64_t       chunks; /* done */
};

enum kind { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, SEND, RECV };

struct operation {
    enum kind      kind;
    const char    *in;
    char          *out;
    size_t         count, done; /* elements */
    ncclDataType_t type;
    ncclRedOp_t    op;
    int            root; /* or peer */
    ncclComm_t     comm;
    bool           has_filled; /* the chunk */
};

/* Of the group that is open: done together when it ends. */
static bool                                           in_group;
static std::vector<std::shared_ptr<struct operation>> group;
static cudaStream_t                                   group_stream;

static bool go_on(struct operation *o);

/* ---- numbers ---- */

static size_t size_of(ncclDataType_t type)
{
    static const size_t sizes[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2 };

    return sizes[type];
}

static double get(ncclDataType_t type, const void *array, size_t i)
{
    switch (type) {
    case ncclInt32:    return ((const int32_t *)array)[i];
    case ncclFloat16:  return (double)__half2float(((const __half *)array)[i]);
    case ncclBfloat16: return (double)__bfloat162float(((const __nv_bfloat16 *)array)[i]);
    case ncclFloat32:  return (double)((const float *)array)[i];
    case ncclFloat64:  return ((const double *)array)[i];
    default:           cuda_on_cpu_die("nccl: type %d is not supported", (int)type);
    }
}

static void put(ncclDataType_t type, void *array, size_t i, double value)
{
    switch (type) {
    case ncclInt32:    ((int32_t *)array)[i] = (int32_t)value; break;
    case ncclFloat16:  ((__half *)array)[i] = __float2half((float)value); break;
    case ncclBfloat16: ((__nv_bfloat16 *)array)[i] = __float2bfloat16((float)value); break;
    case ncclFloat32:  ((float *)array)[i] = (float)value; break;
    default:           ((double *)array)[i] = value; break;
    }
}

static double combine(ncclRedOp_t op, double a, double b)
{
    switch (op) {
    case ncclSum:  return a + b;
    case ncclProd: return a * b;
    case ncclMax:  return a > b ? a : b;
    default:       return a < b ? a : b;
    }
}

/* ---- operations ---- */

/* Elements of one chunk, of each part. */
static size_t chunk_of(const struct operation *o)
{
    const size_t parts = o->kind == REDUCE_SCATTER ? (size_t)o->comm->ranks : 1;
    const size_t most = SLOT / parts / size_of(o->type);

    return o->count - o->done < most ? o->count - o->done : most;
}

static void fill_slot(const struct operation *o, size_t chunk)
{
    const size_t size = size_of(o->type);
    char        *slot = o->comm->shared->slot[o->comm->rank];
    int          part;

    if (o->kind != REDUCE_SCATTER) {
        memcpy(slot, o->in + o->done * size, chunk * size);
        return;
    }
    for (part = 0; part < o->comm->ranks; part++)
        memcpy(slot + (size_t)part * chunk * size,
               o->in + ((size_t)part * o->count + o->done) * size, chunk * size);
}

static void take_slots(const struct operation *o, size_t chunk)
{
    const struct shared *shared = o->comm->shared;
    const size_t         size = size_of(o->type), bytes = chunk * size;
    const size_t         from = o->kind == REDUCE_SCATTER ? (size_t)o->comm->rank * chunk : 0;
    double               value;
    size_t               i;
    int                  rank;

    if (o->kind == BROADCAST) {
        memcpy(o->out + o->done * size, shared->slot[o->root], bytes);
        return;
    }
    if (o->kind == ALL_GATHER) {
        for (rank = 0; rank < o->comm->ranks; rank++)
            memcpy(o->out + ((size_t)rank * o->count + o->done) * size, shared->slot[rank],
                   bytes);
        return;
    }
    for (i = 0; i < chunk; i++) {
        value = get(o->type, shared->slot[0], from + i);
        for (rank = 1; rank < o->comm->ranks; rank++)
            value = combine(o->op, value, get(o->type, shared->slot[rank], from + i));
        put(o->type, o->out, o->done + i, value);
    }
}

static bool all_at(const struct cuda_on_cpu_comm *comm, const std::atomic<uint64_t> *counts,
                   uint64_t least)
{
    int rank;

    for (rank = 0; rank < comm->ranks; rank++)
        if (counts[rank] < least)
            return false;
    return true;
}

/* It is over when the peer has taken all. */
static bool go_on_sending(struct operation *o)
{
    struct channel &c = o->comm->shared->channel[o->comm->rank][o->root];
    const size_t    size = size_of(o->type), most = CHANNEL / size;
    size_t          chunk;

    while (c.sent == c.received && o->done < o->count) {
        chunk = o->count - o->done < most ? o->count - o->done : most;
        memcpy(c.data, o->in + o->done * size, chunk * size);
        c.bytes = chunk * size;
        o->done += chunk;
        c.sent++;
    }
    return c.sent == c.received;
}

static bool go_on_receiving(struct operation *o)
{
    struct channel &c = o->comm->shared->channel[o->root][o->comm->rank];
    const size_t    size = size_of(o->type);

    while (c.sent != c.received && o->done < o->count) {
        if (c.bytes > (o->count - o->done) * size)
            cuda_on_cpu_die("nccl: rank %d sends more than is received", o->root);
        memcpy(o->out + o->done * size, c.data, c.bytes);
        o->done += c.bytes / size;
        c.received++;
    }
    return o->done == o->count;
}

static bool go_on(struct operation *o)
{
    struct cuda_on_cpu_comm *comm = o->comm;
    struct shared           *shared = comm->shared;
    size_t                   chunk;

    if (o->kind == SEND)
        return go_on_sending(o);
    if (o->kind == RECV)
        return go_on_receiving(o);
    while (o->done < o->count) {
        chunk = chunk_of(o);
        if (!o->has_filled) {
            if (!all_at(comm, shared->read, comm->chunks))
                return false;
            fill_slot(o, chunk);
            shared->filled[comm->rank] = comm->chunks + 1;
            o->has_filled = true;
        }
        if (!all_at(comm, shared->filled, comm->chunks + 1))
            return false;
        take_slots(o, chunk);
        shared->read[comm->rank] = ++comm->chunks;
        o->has_filled = false;
        o->done += chunk;
    }
    return true;
}

static ncclResult_t issue(const struct operation &what, cudaStream_t stream)
{
    const auto   o = std::make_shared<struct operation>(what);
    const size_t bytes = o->count * size_of(o->type), ranks = (size_t)o->comm->ranks;

    if (o->kind != RECV)
        cuda_on_cpu_want("nccl: in", CUDA_ON_CPU_DEVICE, o->in,
                         o->kind == REDUCE_SCATTER ? ranks * bytes : bytes);
    if (o->kind != SEND)
        cuda_on_cpu_want("nccl: out", CUDA_ON_CPU_DEVICE, o->out,
                         o->kind == ALL_GATHER ? ranks * bytes : bytes);
    if (in_group && o->kind != SEND && o->kind != RECV)
        cuda_on_cpu_die("nccl: a group of others than sends and receives is not supported");
    if (!in_group) {
        cuda_on_cpu_issue(stream, [o] { return go_on(o.get()); });
        return ncclSuccess;
    }
    group.push_back(o);
    group_stream = stream;
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *in, void *out, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return issue({ ALL_REDUCE, (const char *)in, (char *)out, count, 0, type, op, 0, comm, false },
                 stream);
}

ncclResult_t ncclReduceScatter(const void *in, void *out, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return issue({ REDUCE_SCATTER, (const char *)in, (char *)out, count, 0, type, op, 0, comm,
                   false }, stream);
}

ncclResult_t ncclAllGather(const void *in, void *out, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    return issue({ ALL_GATHER, (const char *)in, (char *)out, count, 0, type, ncclSum, 0, comm,
                   false }, stream);
}

ncclResult_t ncclBroadcast(const void *in, void *out, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    return issue({ BROADCAST, (const char *)in, (char *)out, count, 0, type, ncclSum, root, comm,
                   false }, stream);
}

ncclResult_t ncclSend(const void *in, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return issue({ SEND, (const char *)in, NULL, count, 0, type, ncclSum, peer, comm, false },
                 stream);
}

ncclResult_t ncclRecv(void *out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return issue({ RECV, NULL, (char *)out, count, 0, type, ncclSum, peer, comm, false }, stream);
}

ncclResult_t ncclGroupStart(void)
{
    in_group = true;
    return ncclSuccess;
}

/* None waits for another, but all are over before what follows begins. */
ncclResult_t ncclGroupEnd(void)
{
    const auto all = std::move(group);

    group.clear();
    in_group = false;
    if (!all.empty())
        cuda_on_cpu_issue(group_stream, [all] {
            bool is_over = true;

            for (const std::shared_ptr<struct operation> &o : all)
                is_over &= go_on(o.get());
            return is_over;
        });
    return ncclSuccess;
}

/* ---- beginning and end ---- */

static struct flock lock_of(int rank)
{
    struct flock lock = {};

    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = rank;
    lock.l_len = 1;
    return lock;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    unsigned long number;
    int           fd, rc;

    memset(id, 0, sizeof *id);
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return ncclSystemError;
    snprintf(id->internal, sizeof id->internal, "/cuda_on_cpu.%lx", number);
    fd = shm_open(id->internal, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return ncclSystemError;
    rc = ftruncate(fd, sizeof(struct shared));
    close(fd);
    return rc == 0 ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    struct flock             lock = lock_of(rank);
    struct cuda_on_cpu_comm *c;
    void                    *memory;
    int                      fd;

    if (ranks > RANKS_MAX || config->blocking != 0)
        return ncclInvalidArgument;
    fd = shm_open(id.internal, O_RDWR, 0);
    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0)
        return ncclSystemError;
    memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return ncclSystemError;
    *comm = c = new cuda_on_cpu_comm();
    c->fd = fd;
    c->shared = (struct shared *)memory;
    c->rank = rank;
    c->ranks = ranks;
    snprintf(c->name, sizeof c->name, "%.63s", id.internal);
    c->is_linked = true;
    c->shared->joined++;
    return ncclInProgress;
}

/* A rank that ended without leaving is found out. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result)
{
    struct flock lock;
    int          rank;

    *result = comm->shared->joined < comm->ranks ? ncclInProgress : ncclSuccess;
    if (*result == ncclSuccess && comm->is_linked) {
        shm_unlink(comm->name);
        comm->is_linked = false;
    }
    for (rank = 0; rank < comm->ranks && *result == ncclSuccess; rank++) {
        lock = lock_of(rank);
        if (rank != comm->rank && fcntl(comm->fd, F_OFD_GETLK, &lock) == 0 &&
            lock.l_type == F_UNLCK && !comm->shared->has_left[rank])
            *result = ncclRemoteError;
    }
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    comm->shared->has_left[comm->rank] = true;
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    cuda_on_cpu_finish();
    munmap(comm->shared, sizeof *comm->shared);
    close(comm->fd);
    delete comm;
    return ncclSuccess;
}

/* The process is about to end: what is under way is left as it is. */
ncclResult_t ncclCommAbort(ncclComm_t)
{
    cuda_on_cpu_abandon();
    return ncclSuccess;
}

ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclRemoteError ? "remote process exited or there was a network error"
                                     : "invalid usage";
}

const char *ncclGetLastError(ncclComm_t)
{
    return "";
}
