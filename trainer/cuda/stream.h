/* stream.h - work in order on a GPU, and the first of it that failed
 *
 * Within cuda/ only. After a failure nothing more is begun.
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

#define STREAM_SLOTS 8 /* arrays of numbers on their way to the GPU */

struct stream_slot {
    int32_t    *host, *device;
    size_t      room;   /* numbers */
    cudaEvent_t copied; /* the host's copy is free again */
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

/* Keep this failure, if it is one and the first. true: all is well so far. */
bool stream_keep(struct stream *stream, const char *what, cudaError_t rc);

/* Memory of the GPU; NULL after a failure. */
void *stream_alloc(struct stream *stream, size_t bytes);

void stream_zero(struct stream *stream, void *memory, size_t bytes);
/* Host to GPU and back; done on return. */
void stream_write(struct stream *stream, void *memory, const void *host, size_t bytes);
void stream_read(struct stream *stream, void *host, const void *memory, size_t bytes);

/* These numbers on the GPU: the host's may change on return. They stay until STREAM_SLOTS - 1
 * more have been sent, in the order of the stream. NULL after a failure. */
const int32_t *stream_send(struct stream *stream, const int32_t *numbers, size_t count);

/* blocks of threads, with that many bytes of shared memory. Beyond what every GPU grants, the
 * kernel is allowed more. */
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
