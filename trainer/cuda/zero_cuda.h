/* zero_cuda.h - the device that stores zero's arrays on a GPU and computes with them
 *
 * It is in the plugin of ops_cuda.h. Adam rounds as on CPUs, except below FLT_MIN: see
 * zero/adam.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ZERO_CUDA_H
#define MUSTER_ZERO_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "zero/zero_device.h"

/* stream: a cudaStream_t of the current device, borrowed. NULL with err. */
typedef struct zero_device *zero_cuda_new_fn(void *stream, struct error *err);
zero_cuda_new_fn            zero_cuda_new;

#define ZERO_CUDA_SYMBOL "zero_cuda_new"

#ifdef __cplusplus
}
#endif

#endif
