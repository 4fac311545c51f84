/* ops_cuda.h - the operations of a model on a GPU
 *
 * Products are cuBLASLt's, all else are kernels of our own, in one stream, so that the host is
 * ahead of the GPU. Nothing is summed in an order that depends on chance: the same numbers give
 * the same bits on the same GPU.
 *
 * It is the plugin muster-train-model-cuda.so, so that the program also runs without CUDA.
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

/* stream, a cudaStream_t of the current device, is borrowed. float, half or bfloat16. NULL with
 * err. */
typedef struct ops *ops_cuda_new_fn(enum dtype type, void *stream, struct error *err);
ops_cuda_new_fn     ops_cuda_new;

#define OPS_CUDA_PLUGIN "muster-train-model-cuda.so"
#define OPS_CUDA_SYMBOL "ops_cuda_new"

#ifdef __cplusplus
}
#endif

#endif
