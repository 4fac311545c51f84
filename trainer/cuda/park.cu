/* park.cu - see ops_cuda.h; copies between the model's memory and the host's, beside the model
 *
 *     model    block 1     block 2     block 3
 *     copies               park 1      park 2
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cuda/ops_state.h"

static void copy(struct ops *ops, int lane, void *to, const void *from, size_t bytes,
                 enum cudaMemcpyKind kind);
static bool has_copies(struct ops_cuda *cuda);

static void *host_alloc(struct ops *ops, size_t bytes)
{
    struct stream *stream = stream_of(ops);
    void          *memory = NULL;
    cudaError_t    rc;

    if (stream->failed)
        return NULL;
    rc = cudaMallocHost(&memory, bytes > 0 ? bytes : 1);
    if (rc == cudaSuccess)
        return memory;
    (void)cudaGetLastError(); /* clear the error, or later calls return it */
    stream->failed = true;
    err_set(&stream->why, "out of pinned memory: %zu bytes for activations: %s", bytes,
            cudaGetErrorString(rc));
    return NULL;
}

static void host_release(struct ops *ops, void *memory)
{
    (void)ops;
    cudaFreeHost(memory);
}

static void park(struct ops *ops, int lane, void *host, const void *memory, size_t bytes)
{
    copy(ops, lane, host, memory, bytes, cudaMemcpyDeviceToHost);
}

static void bring(struct ops *ops, int lane, void *memory, const void *host, size_t bytes)
{
    copy(ops, lane, memory, host, bytes, cudaMemcpyHostToDevice);
}

static void copy(struct ops *ops, int lane, void *to, const void *from, size_t bytes,
                 enum cudaMemcpyKind kind)
{
    struct ops_cuda *cuda = (struct ops_cuda *)ops;
    struct stream   *stream = &cuda->stream;
    const char      *what = "activations to the host and back";

    if (!has_copies(cuda) ||
        !stream_keep(stream, what, cudaEventRecord(cuda->computed, stream->cuda)) ||
        !stream_keep(stream, what, cudaStreamWaitEvent(cuda->copies, cuda->computed, 0)) ||
        !stream_keep(stream, what, cudaMemcpyAsync(to, from, bytes, kind, cuda->copies)))
        return;
    stream_keep(stream, what, cudaEventRecord(cuda->copied[lane], cuda->copies));
}

/* Few models are asked for this, so the stream comes with the first copy. */
static bool has_copies(struct ops_cuda *cuda)
{
    struct stream *stream = &cuda->stream;
    const char    *what = "a stream for copies";
    int            i;

    if (stream->failed || cuda->copies != NULL)
        return !stream->failed;
    stream_keep(stream, what, cudaStreamCreateWithFlags(&cuda->copies, cudaStreamNonBlocking));
    stream_keep(stream, what,
                cudaEventCreateWithFlags(&cuda->computed, cudaEventDisableTiming));
    for (i = 0; i < OPS_LANES; i++)
        stream_keep(stream, what,
                    cudaEventCreateWithFlags(&cuda->copied[i], cudaEventDisableTiming));
    return !stream->failed;
}

static void settle(struct ops *ops, int lane)
{
    struct ops_cuda *cuda = (struct ops_cuda *)ops;
    struct stream   *stream = &cuda->stream;

    if (!stream->failed && cuda->copies != NULL)
        stream_keep(stream, "activations to the host and back",
                    cudaStreamWaitEvent(stream->cuda, cuda->copied[lane], 0));
}

void park_fill(struct ops *ops)
{
    ops->host_alloc = host_alloc;
    ops->host_release = host_release;
    ops->park = park;
    ops->bring = bring;
    ops->settle = settle;
}

void park_clear(struct ops_cuda *cuda)
{
    int i;

    if (cuda->copies == NULL)
        return;
    cudaStreamSynchronize(cuda->copies);
    for (i = 0; i < OPS_LANES; i++)
        if (cuda->copied[i] != NULL)
            cudaEventDestroy(cuda->copied[i]);
    if (cuda->computed != NULL)
        cudaEventDestroy(cuda->computed);
    cudaStreamDestroy(cuda->copies);
}
