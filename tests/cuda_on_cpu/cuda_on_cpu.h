/* cuda_on_cpu.h - what the files of the stand-in know of each other: see README
 *
 * One thread uses it all.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CUDA_ON_CPU_H
#define CUDA_ON_CPU_H

#include <functional>
#include <stddef.h>

#include <cuda_runtime.h>

/* Something illegal was done. */
[[noreturn]] void cuda_on_cpu_die(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* A number below limit, drawn from the seed. */
unsigned cuda_on_cpu_draw(unsigned limit);

/* Add work to a stream. It returns true when it is done, false to be asked again. */
void cuda_on_cpu_issue(cudaStream_t stream, const std::function<bool()> &work);

/* Do all that is under way in all streams; or none of it. */
void cuda_on_cpu_finish();
void cuda_on_cpu_abandon();

/* While it is open, the GPU's memory can be touched. */
void cuda_on_cpu_open(bool is_open);

/* These bytes are the GPU's: of one allocation, all. Pinned: likewise of the host. */
enum cuda_on_cpu_kind { CUDA_ON_CPU_NONE, CUDA_ON_CPU_DEVICE, CUDA_ON_CPU_PINNED };
enum cuda_on_cpu_kind cuda_on_cpu_kind_of(const void *memory);
void cuda_on_cpu_want(const char *what, enum cuda_on_cpu_kind kind, const void *memory,
                      size_t bytes);

/* Run a kernel's blocks, one after the other. */
void cuda_on_cpu_run(const dim3 &grid, const dim3 &block, size_t shared,
                     const std::function<void()> &thread);

#endif
