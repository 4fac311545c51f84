/* gpu.c - see gpu.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/gpu.h"

#include "comm/plugin.h"
#include "cuda/ops_cuda.h"
#include "cuda/zero_cuda.h"

struct ops *gpu_ops(struct comm *comm, enum dtype type, struct error *err)
{
    ops_cuda_new_fn *make = (ops_cuda_new_fn *)plugin_symbol(OPS_CUDA_PLUGIN, OPS_CUDA_SYMBOL,
                                                             err);
    void            *stream = make != NULL ? comm->ops->compute_stream(comm, err) : NULL;

    return stream != NULL ? make(type, stream, err) : NULL;
}

struct zero_device *gpu_zero(struct comm *comm, struct error *err)
{
    zero_cuda_new_fn *make = (zero_cuda_new_fn *)plugin_symbol(OPS_CUDA_PLUGIN, ZERO_CUDA_SYMBOL,
                                                               err);
    void             *stream = make != NULL ? comm->ops->compute_stream(comm, err) : NULL;

    return stream != NULL ? make(stream, err) : NULL;
}
