/* stream.h - runs work in order on a GPU, and keeps the first failure
 *
 * For use only in cuda/. After a failure, no more work is started.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STREAM_H
#define MUSTER_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime.h>

extern "C" {
#include "err.h"
}

#define STREAM_SLOTS 8 /* arrays of numbers that are being copied to the GPU */

struct stream_slot {
    int32_t    *host, *device;
    size_t      room;   /* numbers */
    cudaEvent_t copied; /* the host's array is free again */
};

struct stream {
    cudaStream_t       cuda;
    bool               failed;
    struct error       why;
    struct stream_slot slot[STREAM_SLOTS];
    unsigned           sent;
};

/* cuda is borrowed. */
void stream_init(struct stream *stream, cudaStream_t cuda);
void stream_clear(struct stream *stream);

/* If rc is the first failure, keeps it. Returns true if nothing has failed so far. */
bool stream_keep(struct stream *stream, const char *what, cudaError_t rc);

/* Allocates GPU memory; NULL after a failure. */
void *stream_alloc(struct stream *stream, size_t bytes);

void stream_zero(struct stream *stream, void *memory, size_t bytes);
/* Copy from the host to the GPU and back; finished on return. */
void stream_write(struct stream *stream, void *memory, const void *host, size_t bytes);
void stream_read(struct stream *stream, void *host, const void *memory, size_t bytes);

/* Copies numbers to the GPU and returns the copy. The caller may change its array on return. In
 * the order of the stream, the copy is valid until STREAM_SLOTS - 1 more have been sent. NULL
 * after a failure. */
const int32_t *stream_send(struct stream *stream, const int32_t *numbers, size_t count);

/* Launches a kernel with this number of blocks and threads per block, and shared bytes of
 * shared memory. Raises the kernel's limit if it needs more than the 48 KiB that every GPU
 * allows. */
template <typename... P, typename... A>
static void stream_launch(struct stream *stream, const char *what, void (*kernel)(P...),
                          size_t blocks, unsigned threads, size_t shared, A... args)
{
    cudaLaunchConfig_t config = {};

    if (stream->failed || blocks == 0)
        return;
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = stream->cuda;
    if (shared > 48 * 1024 &&
        !stream_keep(stream, what,
                     cudaFuncSetAttribute((const void *)kernel,
                                          cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)shared)))
        return;
    stream_keep(stream, what, cudaLaunchKernelEx(&config, kernel, (P)args...));
}

#endif
