/* ops_cuda.h - the operations of a model on a GPU
 *
 * cuBLASLt computes matrix products; all other operations are kernels of this program. They run
 * in one stream, so the host can run ahead of the GPU. The order of every sum is deterministic:
 * the same numbers give the same bits on the same GPU.
 *
 * The code is in the plugin muster-train-model-cuda.so, so that the program also runs without
 * CUDA.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OPS_CUDA_H
#define MUSTER_OPS_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "comm/dtype.h"
#include "err.h"
#include "model/ops.h"

/* type: float, half or bfloat16. stream: a cudaStream_t of the current device, borrowed. NULL
 * with err. */
typedef struct ops *ops_cuda_new_fn(enum dtype type, void *stream, struct error *err);
ops_cuda_new_fn     ops_cuda_new;

#define OPS_CUDA_PLUGIN "muster-train-model-cuda.so"
#define OPS_CUDA_SYMBOL "ops_cuda_new"

#ifdef __cplusplus
}
#endif

#endif
