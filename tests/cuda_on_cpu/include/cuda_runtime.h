/* cuda_runtime.h - stands in for CUDA's, for tests: see ../README
 *
 * Names and meanings are CUDA's; numbers need not be.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CUDA_ON_CPU_RUNTIME_H
#define CUDA_ON_CPU_RUNTIME_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cudaError {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorMemoryAllocation,
    cudaErrorNotReady = 600,
} cudaError_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
};

struct cudaFuncAttributes {
    int ptxVersion; /* 80: of sm_80 */
};

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

typedef struct cuda_on_cpu_stream *cudaStream_t;
typedef struct cuda_on_cpu_event  *cudaEvent_t;

struct cudaDeviceProp {
    char   name[256];
    struct {
        char bytes[16];
    } uuid;
    size_t totalGlobalMem;
};

#define cudaStreamNonBlocking  1
#define cudaEventDisableTiming 2

const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError(void);

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);

cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **memory, size_t bytes);
cudaError_t cudaFreeHost(void *memory);

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function);
cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute which, int value);

#ifdef __cplusplus
}

#include <functional>
#include <math.h>
#include <string.h>
#include <tuple>

#define __global__
#define __device__
#define __host__
#define __shared__
#define __align__(bytes)
#define __launch_bounds__(...)

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

extern uint3 threadIdx, blockIdx;
extern dim3  blockDim, gridDim;

void     __syncthreads();
void     __syncwarp(unsigned mask = 0xffffffffu);
unsigned cuda_on_cpu_shuffle(unsigned mask, unsigned bits, int lane);

/* What all lanes of the warp gave. */
const unsigned (*cuda_on_cpu_exchange(const unsigned mine[6]))[6];

static inline float __shfl_xor_sync(unsigned mask, float value, int lane)
{
    unsigned bits;

    memcpy(&bits, &value, sizeof bits);
    bits = cuda_on_cpu_shuffle(mask, bits, (int)(threadIdx.x % 32) ^ lane);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

struct cudaLaunchConfig_t {
    dim3         gridDim, blockDim;
    size_t       dynamicSmemBytes;
    cudaStream_t stream;
};

cudaError_t cuda_on_cpu_launch(const cudaLaunchConfig_t &config, const void *function,
                               const std::function<void()> &thread);

template <typename... P, typename... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...),
                               A &&...args)
{
    const std::tuple<P...> values(args...);

    return cuda_on_cpu_launch(*config, (const void *)kernel,
                              [kernel, values] { std::apply(kernel, values); });
}

#endif

#endif
