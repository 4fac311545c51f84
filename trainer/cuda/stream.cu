/* stream.cu - see stream.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cuda/stream.h"

#include <string.h>

static bool slot_fit(struct stream *stream, struct stream_slot *slot, size_t count);
static void slot_clear(struct stream_slot *slot);

void stream_init(struct stream *stream, cudaStream_t cuda)
{
    memset(stream, 0, sizeof *stream);
    stream->cuda = cuda;
}

void stream_clear(struct stream *stream)
{
    int i;

    cudaStreamSynchronize(stream->cuda);
    for (i = 0; i < STREAM_SLOTS; i++)
        slot_clear(&stream->slot[i]);
}

bool stream_keep(struct stream *stream, const char *what, cudaError_t rc)
{
    if (rc != cudaSuccess && !stream->failed) {
        stream->failed = true;
        err_set(&stream->why, "%s: CUDA: %s", what, cudaGetErrorString(rc));
    }
    return !stream->failed;
}

void *stream_alloc(struct stream *stream, size_t bytes)
{
    void       *memory = NULL;
    cudaError_t rc;

    if (stream->failed)
        return NULL;
    rc = cudaMalloc(&memory, bytes > 0 ? bytes : 1);
    if (rc == cudaSuccess)
        return memory;
    (void)cudaGetLastError(); /* clear the error, or later calls return it */
    stream->failed = true;
    err_set(&stream->why, "out of GPU memory: %zu bytes: %s", bytes, cudaGetErrorString(rc));
    return NULL;
}

void stream_zero(struct stream *stream, void *memory, size_t bytes)
{
    if (!stream->failed && bytes > 0)
        stream_keep(stream, "zero", cudaMemsetAsync(memory, 0, bytes, stream->cuda));
}

void stream_write(struct stream *stream, void *memory, const void *host, size_t bytes)
{
    if (stream->failed || bytes == 0)
        return;
    if (stream_keep(stream, "copy to the GPU",
                    cudaMemcpyAsync(memory, host, bytes, cudaMemcpyHostToDevice, stream->cuda)))
        stream_keep(stream, "copy to the GPU", cudaStreamSynchronize(stream->cuda));
}

void stream_read(struct stream *stream, void *host, const void *memory, size_t bytes)
{
    if (stream->failed || bytes == 0)
        return;
    if (stream_keep(stream, "copy from the GPU",
                    cudaMemcpyAsync(host, memory, bytes, cudaMemcpyDeviceToHost, stream->cuda)))
        stream_keep(stream, "copy from the GPU", cudaStreamSynchronize(stream->cuda));
}

const int32_t *stream_send(struct stream *stream, const int32_t *numbers, size_t count)
{
    struct stream_slot *slot = &stream->slot[stream->sent++ % STREAM_SLOTS];

    if (stream->failed || !slot_fit(stream, slot, count) ||
        !stream_keep(stream, "numbers to the GPU", cudaEventSynchronize(slot->copied)))
        return NULL;
    memcpy(slot->host, numbers, count * sizeof *numbers);
    if (!stream_keep(stream, "numbers to the GPU",
                     cudaMemcpyAsync(slot->device, slot->host, count * sizeof *numbers,
                                     cudaMemcpyHostToDevice, stream->cuda)) ||
        !stream_keep(stream, "numbers to the GPU", cudaEventRecord(slot->copied, stream->cuda)))
        return NULL;
    return slot->device;
}

/* The old memory is not in use any more, because freeing memory waits for the GPU. */
static bool slot_fit(struct stream *stream, struct stream_slot *slot, size_t count)
{
    const size_t room = count + count / 4 + 1024, bytes = room * sizeof *slot->host;

    if (count <= slot->room)
        return true;
    slot_clear(slot);
    if (!stream_keep(stream, "pinned memory", cudaMallocHost((void **)&slot->host, bytes)) ||
        (slot->device = (int32_t *)stream_alloc(stream, bytes)) == NULL)
        return false;
    slot->room = room;
    return stream_keep(stream, "event",
                       cudaEventCreateWithFlags(&slot->copied, cudaEventDisableTiming));
}

static void slot_clear(struct stream_slot *slot)
{
    if (slot->copied != NULL) {
        cudaEventSynchronize(slot->copied);
        cudaEventDestroy(slot->copied);
    }
    cudaFreeHost(slot->host);
    cudaFree(slot->device);
    memset(slot, 0, sizeof *slot);
}
