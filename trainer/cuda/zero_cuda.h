/* zero_cuda.h - what zero's arrays are computed with on a GPU
 *
 * In the plugin of ops_cuda.h. Adam rounds as it does on CPUs, but for FLT_MIN: see zero/adam.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ZERO_CUDA_H
#define MUSTER_ZERO_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "zero/zero_device.h"

/* stream, a cudaStream_t of the current device, is borrowed. NULL with err. */
typedef struct zero_device *zero_cuda_new_fn(void *stream, struct error *err);
zero_cuda_new_fn            zero_cuda_new;

#define ZERO_CUDA_SYMBOL "zero_cuda_new"

#ifdef __cplusplus
}
#endif

#endif
