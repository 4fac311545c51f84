/* zero_cuda.cu - see zero_cuda.h; memory, and copies to and from the host
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cuda/zero_cuda.h"

#include <stdlib.h>

#include "cuda/zero_loops.h"

extern "C" {
#include "xalloc.h"
}

/* One direction of copies, to the host or from it: a stream, and an event per lane. */
struct way {
    cudaStream_t stream;
    cudaEvent_t  done[ZERO_FETCH_LANES];
};

struct zero_cuda {
    struct zero_device device; /* the public part */
    struct stream      stream;
    struct zero_loops  loops;
    struct way         to_host, from_host;
    cudaEvent_t        computed, ahead;
};

static struct zero_cuda *of(struct zero_device *device)
{
    return (struct zero_cuda *)device;
}

static void zero(struct zero_device *device, void *memory, size_t bytes)
{
    stream_zero(&of(device)->stream, memory, bytes);
}

static void copy(struct zero_device *device, void *to, const void *from, size_t bytes)
{
    struct stream *stream = &of(device)->stream;

    if (!stream->failed && bytes > 0)
        stream_keep(stream, "copy", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                                                    stream->cuda));
}

static void read_from(struct zero_device *device, void *host, const void *memory, size_t bytes)
{
    stream_read(&of(device)->stream, host, memory, bytes);
}

static void write_to(struct zero_device *device, void *memory, const void *host, size_t bytes)
{
    stream_write(&of(device)->stream, memory, host, bytes);
}

static void add(struct zero_device *device, enum dtype type, void *sum, const void *more,
                size_t count)
{
    zero_loops_add(&of(device)->loops, type, sum, more, count);
}

static void add_wide(struct zero_device *device, enum dtype type, float *sum, const void *more,
                     size_t count, bool is_first)
{
    zero_loops_add_wide(&of(device)->loops, type, sum, more, count, is_first);
}

static void narrow(struct zero_device *device, enum dtype type, void *to, const float *values,
                   size_t count)
{
    zero_loops_narrow(&of(device)->loops, type, to, values, count);
}

static double squares(struct zero_device *device, enum dtype type, const void *grad, size_t count)
{
    return zero_loops_squares(&of(device)->loops, type, grad, count);
}

static size_t last_bad(struct zero_device *device, enum dtype type, const void *grad,
                       size_t count)
{
    return zero_loops_last_bad(&of(device)->loops, type, grad, count);
}

static void adam(struct zero_device *device, const struct adam *how, int64_t step, double factor,
                 const struct adam_arrays *arrays)
{
    zero_loops_adam(&of(device)->loops, how, step, factor, arrays);
}

static void *pinned(struct zero_device *device, size_t bytes, struct error *err)
{
    void       *memory = NULL;
    cudaError_t rc = cudaMallocHost(&memory, bytes > 0 ? bytes : 1);

    (void)device;
    if (rc == cudaSuccess)
        return memory;
    (void)cudaGetLastError(); /* clear the error, or later calls return it */
    err_set(err, "out of pinned memory: %zu bytes: %s", bytes, cudaGetErrorString(rc));
    return NULL;
}

static void unpin(struct zero_device *device, void *memory)
{
    (void)device;
    cudaFreeHost(memory);
}

/* ---- copies to and from the host ---- */

static void move(struct stream *stream, struct way *way, int lane, void *to, const void *from,
                 size_t bytes, enum cudaMemcpyKind kind)
{
    if (!stream->failed &&
        stream_keep(stream, "offload",
                    cudaMemcpyAsync(to, from, bytes, kind, way->stream)))
        stream_keep(stream, "offload", cudaEventRecord(way->done[lane], way->stream));
}

static void fetch(struct zero_device *device, int lane, void *host, const void *memory,
                  size_t bytes)
{
    struct zero_cuda *cuda = of(device);

    if (bytes > 0)
        move(&cuda->stream, &cuda->to_host, lane, host, memory, bytes, cudaMemcpyDeviceToHost);
}

static void fetch_behind(struct zero_device *device, int lane, void *host, const void *memory,
                         size_t bytes, void *event)
{
    struct zero_cuda *cuda = of(device);
    struct stream    *stream = &cuda->stream;

    if (stream->failed)
        return;
    if (event == NULL) {
        event = cuda->computed;
        if (!stream_keep(stream, "offload", cudaEventRecord(cuda->computed, stream->cuda)))
            return;
    }
    if (stream_keep(stream, "offload",
                    cudaStreamWaitEvent(cuda->to_host.stream, (cudaEvent_t)event, 0)))
        fetch(device, lane, host, memory, bytes);
}

static void fetched(struct zero_device *device, int lane)
{
    struct zero_cuda *cuda = of(device);

    if (!cuda->stream.failed)
        stream_keep(&cuda->stream, "offload", cudaEventSynchronize(cuda->to_host.done[lane]));
}

/* The copy waits for earlier kernels, which may read the memory; later kernels wait for the
 * copy. */
static void store_to(struct zero_device *device, int lane, void *memory, const void *host,
                     size_t bytes)
{
    struct zero_cuda *cuda = of(device);
    struct stream    *stream = &cuda->stream;

    if (stream->failed || bytes == 0 ||
        !stream_keep(stream, "offload", cudaEventRecord(cuda->computed, stream->cuda)) ||
        !stream_keep(stream, "offload",
                     cudaStreamWaitEvent(cuda->from_host.stream, cuda->computed, 0)))
        return;
    move(stream, &cuda->from_host, lane, memory, host, bytes, cudaMemcpyHostToDevice);
    if (!stream->failed)
        stream_keep(stream, "offload",
                    cudaStreamWaitEvent(stream->cuda, cuda->from_host.done[lane], 0));
}

static void stored(struct zero_device *device, int lane)
{
    struct zero_cuda *cuda = of(device);

    if (!cuda->stream.failed)
        stream_keep(&cuda->stream, "offload", cudaEventSynchronize(cuda->from_host.done[lane]));
}

/* Later kernels do not wait for this copy: only the returned event shows when it has
 * finished. */
static void *store_ahead(struct zero_device *device, void *memory, const void *host, size_t bytes)
{
    struct zero_cuda *cuda = of(device);
    struct stream    *stream = &cuda->stream;

    if (stream->failed || bytes == 0 ||
        !stream_keep(stream, "offload", cudaEventRecord(cuda->computed, stream->cuda)) ||
        !stream_keep(stream, "offload",
                     cudaStreamWaitEvent(cuda->from_host.stream, cuda->computed, 0)) ||
        !stream_keep(stream, "offload",
                     cudaMemcpyAsync(memory, host, bytes, cudaMemcpyHostToDevice,
                                     cuda->from_host.stream)) ||
        !stream_keep(stream, "offload", cudaEventRecord(cuda->ahead, cuda->from_host.stream)))
        return NULL;
    return cuda->ahead;
}

static void way_open(struct stream *stream, struct way *way)
{
    int i;

    stream_keep(stream, "stream", cudaStreamCreateWithFlags(&way->stream, cudaStreamNonBlocking));
    for (i = 0; i < ZERO_FETCH_LANES && !stream->failed; i++)
        stream_keep(stream, "event",
                    cudaEventCreateWithFlags(&way->done[i], cudaEventDisableTiming));
}

static void way_close(struct way *way)
{
    int i;

    for (i = 0; i < ZERO_FETCH_LANES; i++)
        if (way->done[i] != NULL)
            cudaEventDestroy(way->done[i]);
    if (way->stream != NULL)
        cudaStreamDestroy(way->stream);
}

/* ---- the device ---- */

static int check(struct zero_device *device, struct error *err)
{
    struct stream    *stream = &of(device)->stream;
    const cudaError_t state = cudaStreamQuery(stream->cuda);

    if (state != cudaErrorNotReady)
        stream_keep(stream, "a step", state);
    return stream->failed ? err_set(err, "%s", stream->why.text) : 0;
}

static void close_all(struct zero_device *device)
{
    struct zero_cuda *cuda = of(device);

    stream_clear(&cuda->stream);
    zero_loops_clear(&cuda->loops);
    way_close(&cuda->to_host);
    way_close(&cuda->from_host);
    if (cuda->computed != NULL)
        cudaEventDestroy(cuda->computed);
    if (cuda->ahead != NULL)
        cudaEventDestroy(cuda->ahead);
    free(cuda);
}

struct zero_device *zero_cuda_new(void *stream, struct error *err)
{
    struct zero_cuda   *cuda = (struct zero_cuda *)xcalloc(1, sizeof *cuda);
    struct zero_device *device = &cuda->device;

    stream_init(&cuda->stream, (cudaStream_t)stream);
    zero_loops_init(&cuda->loops, &cuda->stream);
    way_open(&cuda->stream, &cuda->to_host);
    way_open(&cuda->stream, &cuda->from_host);
    stream_keep(&cuda->stream, "event",
                cudaEventCreateWithFlags(&cuda->computed, cudaEventDisableTiming));
    stream_keep(&cuda->stream, "event",
                cudaEventCreateWithFlags(&cuda->ahead, cudaEventDisableTiming));
    device->zero = zero;
    device->copy = copy;
    device->read = read_from;
    device->write = write_to;
    device->add = add;
    device->add_wide = add_wide;
    device->narrow = narrow;
    device->squares = squares;
    device->last_bad = last_bad;
    device->adam = adam;
    device->pinned = pinned;
    device->unpin = unpin;
    device->fetch = fetch;
    device->fetch_behind = fetch_behind;
    device->fetched = fetched;
    device->store = store_to;
    device->stored = stored;
    device->store_ahead = store_ahead;
    device->check = check;
    device->free = close_all;
    if (check(device, err) == 0)
        return device;
    close_all(device);
    return NULL;
}
